"""What all questions of ``kanon dp`` take, and how their answers are printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.cli.options.added_options import with_options
from kanon_sql.cli.options.conflicts import check_options
from kanon_sql.cli.options.options import DialectName, FormatOption, QuietOption, VerboseOption
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import print_json, print_pairs, print_prose, print_sql, print_table, visible
from kanon_sql.dp.account import short_probability, without_zeros
from kanon_sql.dp.asking import answered, ask_sql, open_budgeted
from kanon_sql.dp.questions.base import Answer, Figure, rounded_text
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from kanon_sql.dp.questions.base import Question

_COST, _ROWS = "Cost", "Rows and people"
_OTHER, _NOTHING = "(any other)", "(no value)"

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A DuckDB file; Parquet files; a warehouse: postgresql://, spark:, sc://; or another address: mysql://, "
        "s3://, https://. CSV and JSON are refused: the types of their columns are guessed from the values.",
        show_default=False,
    ),
]
EpsilonOption = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        metavar="E",
        help="What the answer may cost: by one person, no answer becomes likelier by more than a factor of e^E.",
        rich_help_panel=_COST,
    ),
]
DeltaOption = Annotated[
    str | None,
    typer.Option(
        "--delta", metavar="D", help="With this probability the bound may fail, such as 1e-6.", rich_help_panel=_COST
    ),
]
BudgetOption = Annotated[
    Path | None,
    typer.Option(
        "--budget",
        metavar="FILE",
        help="The DuckDB file that keeps the budget, where the database of the table cannot: of data files and Spark.",
        rich_help_panel=_COST,
    ),
]
_OPTIONS: dict[str, Any] = {
    "epsilon": EpsilonOption,
    "delta": DeltaOption,
    "noise": Annotated[
        Literal["laplace", "gaussian"],
        typer.Option("--noise", help="Which noise; gaussian takes a --delta.", rich_help_panel=_COST),
    ],
    "budget": BudgetOption,
    "where": Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="Which rows, in SQL: comparisons of columns, joined by AND, OR and NOT.",
            rich_help_panel=_ROWS,
        ),
    ],
    "group": Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COLUMN=VALUE",
            help="The rows of one group: answers about different groups of a column cost what the dearest does.",
            rich_help_panel=_ROWS,
        ),
    ],
    "entity": Annotated[
        str | None,
        typer.Option(
            "--entity",
            metavar="COLUMN",
            help="Names the person, who may have several rows (default: as the budget says, or each row is one).",
            rich_help_panel=_ROWS,
        ),
    ],
    "max_rows": Annotated[
        int,
        typer.Option("--max-rows", metavar="N", help="How many rows of a person count.", rich_help_panel=_ROWS),
    ],
    "sql": Annotated[bool, typer.Option("--sql", help="Print the SQL; ask and spend nothing.")],
    "dialect": Annotated[
        DialectName | None,
        typer.Option("--dialect", help="The dialect of the SQL that is printed (default: that of where the table is)."),
    ],
    "output_format": FormatOption,
    "quiet": QuietOption,
    "verbose": VerboseOption,
}
_DEFAULTS: dict[str, Any] = {
    "noise": "laplace",
    "max_rows": 1,
    "sql": False,
    "output_format": "table",
    "quiet": False,
    "verbose": False,
}
_OF_QUESTION = ("epsilon", "delta", "noise", "where", "group", "entity", "max_rows")


@dataclass(frozen=True)
class Asking:
    """What a command line says about any question, and what becomes of it.

    Attributes:
        given: by parameter, the values of the options that all questions take.
    """

    given: dict[str, Any]

    def run(self, context: typer.Context, source: str, table: str | None, question_of: Callable[..., Question]) -> None:
        """Ask a question and print its answer, or print its SQL.

        Args:
            context: of the command.
            source: the database or file.
            table: the table of it.
            question_of: makes the question, given what all of them take.
        """
        check_options(context)
        given = self.given
        if given["epsilon"] is None:
            raise UsageError("Say what the answer may cost: --epsilon 0.1, or less where more will be asked.")
        common = {name: given[name] for name in _OF_QUESTION}
        question = question_of(**{**common, "delta": given["delta"] or 0, "group": group_of(given["group"])})
        if given["sql"]:
            print_sql(ask_sql(source, table, question, budget=given["budget"], dialect=given["dialect"]))
            return
        opened = open_budgeted(source, table, given["budget"])
        with opened.engine, Talk(quiet=given["quiet"], verbose=given["verbose"]) as talk:
            talk.follow(opened.engine)
            answer = answered(opened, question, given["budget"])
            if answer.unit == "people":
                talk.note(
                    "Each person counts once (--max-rows 1): where people have several rows, the answer is not about "
                    "rows. If it is to be, say with --max-rows how many rows of a person count, from what you know "
                    "without the table; more of them take more noise."
                )
        if given["output_format"] == "json":
            print_json(answer.summary())
        else:
            print_answer(answer)


def with_question(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes what all questions take, as its parameter ``asking``."""

    def call(asked: dict[str, Any], given: dict[str, Any]) -> None:
        command(**given, asking=Asking(asked))

    return with_options(command, _OPTIONS, call, gathered=("asking",), defaults=_DEFAULTS)


def group_of(text: str | None) -> tuple[str, str] | None:
    """Return the column and the value of a group.

    Raises:
        UsageError: there is no = between them.
    """
    if text is None:
        return None
    column, separator, value = text.partition("=")
    if not separator or not column:
        raise UsageError("A group is a column and a value of it: --group sex=F")
    return column, value


def print_answer(answer: Answer) -> None:
    """Print an answer for people."""
    print_prose(f"{visible(answer.table)}: {visible(answer.question)}")
    print_prose(f"Counted: {visible(answer.counted)}.\n")
    pairs = []
    if (only := answer.single) is not None:
        error = answer.expected_error
        value = _key(only) if only.value is None else rounded_text(only.value, error)
        pairs.append(("answer", f"{value} {answer.unit}" if answer.is_count else value))
        if only.low is not None:
            pairs.append(("interval", f"{rounded_text(only.low, error)} to {rounded_text(only.high, error)} (95 %)"))
    elif answer.figures:
        rows = [(_key(each), each.value, each.low, each.high) for each in answer.figures]
        print_table(["key", answer.unit, "from (95 %)", "to"], rows)
    else:
        print_prose("No key has enough rows to be shown.\n")
    pairs += [("accuracy", answer.accuracy), ("mechanism", f"{answer.mechanism}, scale {rounded_text(answer.scale)}")]
    pairs.append(("cost", _price(answer.epsilon, answer.delta)))
    if answer.budget is not None:
        epsilon, delta = answer.budget.composed
        spent = f"epsilon {without_zeros(epsilon)} of {without_zeros(answer.budget.epsilon)} spent"
        if answer.budget.delta:
            spent += f", delta {short_probability(delta)} of {short_probability(answer.budget.delta)}"
        pairs.append(("budget", spent))
    pairs += [("assumes" if not number else "", text) for number, text in enumerate(answer.assumes)]
    print_pairs(pairs)


def _price(epsilon: Decimal, delta: Decimal) -> str:
    return f"epsilon {without_zeros(epsilon)}" + (f", delta {short_probability(delta)}" if delta else "")


def _key(figure: Figure) -> str:
    if figure.key is None:
        return _OTHER if figure.other else _NOTHING
    return visible(figure.key)
