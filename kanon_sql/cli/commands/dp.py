"""``kanon dp``: answers with noise, paid for by a budget."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.shared import check_options, option, with_options
from kanon_sql.cli.output.output import print_pairs, print_prose, print_sql, print_table, visible
from kanon_sql.dp.account import Budget, short_probability, without_zeros
from kanon_sql.dp.asking import answered, ask_sql, budget_sql, limits_of, open_budgeted, read_in, set_in
from kanon_sql.dp.questions.base import Answer, Figure, Question, rounded_text
from kanon_sql.dp.questions.counts import Count as CountQuestion
from kanon_sql.dp.questions.counts import Histogram, MostFrequent
from kanon_sql.dp.questions.numbers import Mean, Quantile, Sum
from kanon_sql.errors import UsageError
from kanon_sql.policy.policy import Count

_OTHER, _NOTHING = "(any other)", "(no value)"

EpsilonOption = Annotated[
    str | None,
    option(
        "--epsilon",
        "E",
        "The budget of the answer: one person changes the probability of any answer by at most a factor of e^E.",
    ),
]
DeltaOption = Annotated[
    str | None, option("--delta", "D", "The probability with which the bound may fail, such as 1e-6.")
]
BudgetOption = Annotated[
    Path | None,
    option(
        "--budget",
        "FILE",
        "The DuckDB file that keeps the budget, where the database of the table cannot: of data files and Spark.",
    ),
]
ColumnOption = Annotated[str, option("--column", "COLUMN", "The column that the answer is about.", show_default=False)]
BoundsOption = Annotated[
    str,
    typer.Option(
        "--bounds",
        metavar="LOW,HIGH",
        help="The values that are possible, from what you know of such values and not from the table: values beyond "
        "are cut to them.",
        show_default=False,
    ),
]
KeysOption = Annotated[
    str | None, option("--keys", "A,B,...", "The values that are counted separately, known without the table.")
]
BinsOption = Annotated[
    str | None, option("--bins", "A,B,...", "Edges of bins of numbers, each from one edge to below the next.")
]
LevelsOfOption = Annotated[
    str | None, option("--hierarchy", "FILE|ready:NAME", "A hierarchy, whose labels are the keys.")
]
LevelOption = Annotated[
    int | None, option("--level", "N", "The level of the hierarchy; 0 is the values that it lists.")
]


_OPTIONS: dict[str, Any] = {
    "context": typer.Context,
    "source": shared.DpSourceArgument,
    "table": shared.TableArgument,
    "epsilon": EpsilonOption,
    "delta": DeltaOption,
    "noise": Annotated[
        Literal["laplace", "gaussian"], typer.Option("--noise", help="Which noise; gaussian takes a --delta.")
    ],
    "budget": BudgetOption,
    "where": Annotated[
        str | None,
        option("--where", "CONDITION", "Which rows, in SQL: comparisons of columns, joined by AND, OR and NOT."),
    ],
    "group": Annotated[
        str | None,
        option(
            "--group",
            "COLUMN=VALUE",
            "The rows of one group: answers about different groups of one column cost as much as the most expensive.",
        ),
    ],
    "entity": Annotated[
        str | None,
        option(
            "--entity",
            "COLUMN",
            "Names the person, who may have several rows (default: as the budget says, or each row is one).",
        ),
    ],
    "max_rows": Annotated[int, option("--max-rows", "N", "How many rows of a person count.")],
    **shared.OUTPUT,
    "sql": Annotated[bool, typer.Option("--sql", help="Print the SQL; ask and spend nothing.")],
    "dialect": Annotated[
        shared.DialectName | None,
        typer.Option("--dialect", help="The dialect of the SQL that is printed (default: that of where the table is)."),
    ],
}
_DEFAULTS = {
    **shared.OUTPUT_DEFAULTS,
    "source": inspect.Parameter.empty,
    "noise": "laplace",
    "max_rows": 1,
    "dialect": None,
}
_OF_QUESTION = ("epsilon", "delta", "noise", "where", "group", "entity", "max_rows")


def _with_question(made: Callable[..., Callable[..., Question]]) -> Callable[..., None]:
    """Return a command for a question; ``made`` returns the function that makes it from the common options."""

    def call(given: dict[str, Any], own: dict[str, Any]) -> None:
        check_options(given["context"])
        _ask(made(**own), **given)

    return with_options(cast("Any", made), _OPTIONS, call, defaults=_DEFAULTS)


def _ask(question_of: Callable[..., Question], source: str, table: str | None, **given: Any) -> None:  # noqa: ANN401 - see _OPTIONS
    """Ask a question and print its answer, or print its SQL."""
    if given["epsilon"] is None:
        raise UsageError("Say what the answer may cost: --epsilon 0.1, or less where more will be asked.")
    common = {name: given[name] for name in _OF_QUESTION}
    question = question_of(**{**common, "delta": given["delta"] or 0, "group": _group(given["group"])})
    output = shared.Output(**{name: given[name] for name in shared.OUTPUT})
    if output.sql:
        print_sql(ask_sql(source, table, question, budget=given["budget"], dialect=given["dialect"]))
        return
    opened = open_budgeted(source, table, given["budget"])
    with opened.engine, output.talk(opened.engine) as talk:
        answer = answered(opened, question, given["budget"])
        if answer.unit == "people":
            talk.note(
                "Each person counts once (--max-rows 1): where people have several rows, the answer is not about "
                "rows. If it is to be, say with --max-rows how many rows of a person count, from what you know "
                "without the table; more of them take more noise."
            )
    output.show(answer.summary(), _print_answer, answer)


@_with_question
def count_command() -> Callable[..., Question]:
    """Say how many rows, or people, there are."""
    return CountQuestion


@_with_question
def sum_command(column: ColumnOption, bounds: BoundsOption) -> Callable[..., Question]:
    """Say the sum of a column."""
    return partial(Sum, column=column, bounds=_bounds(bounds))


@_with_question
def mean_command(column: ColumnOption, bounds: BoundsOption) -> Callable[..., Question]:
    """Say the mean of a column."""
    return partial(Mean, column=column, bounds=_bounds(bounds))


@_with_question
def quantile_command(
    column: ColumnOption,
    bounds: BoundsOption,
    share: Annotated[
        str, option("--quantile", "SHARE", "The share of the values below it; 0.5 is the median.")
    ] = "0.5",
    step: Annotated[
        str | None,
        option("--step", "STEP", "Distance between possible answers (default: 10,000 of them within the bounds)."),
    ] = None,
) -> Callable[..., Question]:
    """Say the value below which a share of the values lies."""
    return partial(Quantile, column=column, bounds=_bounds(bounds), share=share, step=step)


@_with_question
def histogram_command(
    column: ColumnOption,
    keys: KeysOption = None,
    bins: BinsOption = None,
    hierarchy: LevelsOfOption = None,
    level: LevelOption = None,
) -> Callable[..., Question]:
    """Say how many rows each key has: given keys, bins, labels of a hierarchy, or (with a delta) frequent keys."""
    return partial(Histogram, column=column, keys=_listed(keys), bins=_listed(bins), hierarchy=hierarchy, level=level)


@_with_question
def most_frequent_command(
    column: ColumnOption,
    keys: KeysOption = None,
    bins: BinsOption = None,
    hierarchy: LevelsOfOption = None,
    level: LevelOption = None,
) -> Callable[..., Question]:
    """Say which of the given keys most rows have."""
    return partial(
        MostFrequent, column=column, keys=_listed(keys), bins=_listed(bins), hierarchy=hierarchy, level=level
    )


@shared.with_output()
def budget_command(
    source: shared.DpSourceArgument,
    table: shared.TableArgument = None,
    epsilon: Annotated[
        str | None, option("--epsilon", "E", "Set what all answers about the table may cost together.")
    ] = None,
    delta: DeltaOption = None,
    entity: Annotated[
        str | None,
        option("--entity", "COLUMN", "Names the people that all answers protect; without it, each row is a person."),
    ] = None,
    count: Annotated[
        Count | None,
        typer.Option(
            "--count",
            help="The unit that is protected: people (default; a table with several rows of one person needs "
            "--entity), or rows, even if several are of one person.",
        ),
    ] = None,
    budget: BudgetOption = None,
    *,
    output: shared.Output,
) -> None:
    """Show the budget spent on a table, or set the budget; spent budget stays spent."""
    if epsilon is None and (delta is not None or entity is not None or count is not None):
        raise UsageError("A budget has an epsilon: --epsilon 1 --delta 1e-6 --entity patient_id")
    limits = None if epsilon is None else limits_of(epsilon, delta, entity)
    if output.sql:
        print_sql(budget_sql(source, table, limits=limits, budget=budget, dialect=output.dialect))
        return
    opened = open_budgeted(source, table, budget)
    with opened.engine, output.talk(opened.engine):
        found = read_in(opened, budget) if limits is None else set_in(opened, limits, budget, count=count or "people")
    output.show(found.summary(), _print_budget, found)


def _bounds(text: str) -> tuple[str, str]:
    low, separator, high = text.partition(",")
    if not separator or "," in high:
        raise UsageError("Bounds are two numbers with a comma between: --bounds 0,100")
    return low, high


def _listed(text: str | None) -> list[str] | None:
    """Return the items of a comma-separated list; an item that contains a comma is in double quotes."""
    import csv

    return None if text is None else [each.strip() for each in next(csv.reader([text], skipinitialspace=True), [])]


def _group(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    column, separator, value = text.partition("=")
    if not separator or not column:
        raise UsageError("A group is a column and a value of it: --group sex=F")
    return column, value


def _print_answer(answer: Answer) -> None:
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
    and_delta = f", delta {short_probability(answer.delta)}" if answer.delta else ""
    pairs.append(("cost", f"epsilon {without_zeros(answer.epsilon)}{and_delta}"))
    if answer.budget is not None:
        epsilon, delta = answer.budget.composed
        spent = f"epsilon {without_zeros(epsilon)} of {without_zeros(answer.budget.epsilon)} spent"
        if answer.budget.delta:
            spent += f", delta {short_probability(delta)} of {short_probability(answer.budget.delta)}"
        pairs.append(("budget", spent))
    pairs += [("assumes" if not number else "", text) for number, text in enumerate(answer.assumes)]
    print_pairs(pairs)


def _key(figure: Figure) -> str:
    if figure.key is None:
        return _OTHER if figure.other else _NOTHING
    return visible(figure.key)


def _print_budget(budget: Budget) -> None:
    epsilon, delta = budget.composed
    print_prose(f"{visible(budget.table)}: budget of differentially private answers\n")
    if budget.spent:
        columns = ["", "when (UTC)", "question", "epsilon", "delta", "group"]
        rows = [
            (
                each.number,
                each.at.isoformat(" ", timespec="seconds"),
                each.charge.question,
                without_zeros(each.charge.epsilon),
                short_probability(each.charge.delta),
                "" if each.charge.group is None else "=".join(each.charge.group),
            )
            for each in budget.spent
        ]
        print_table(columns, rows, spare=["group", "delta"])
    print_pairs(
        [
            ("epsilon", f"{without_zeros(epsilon)} spent of {without_zeros(budget.epsilon)}"),
            ("delta", f"{short_probability(delta)} spent of {short_probability(budget.delta)}"),
            ("for", "each row" if budget.entity is None else f"the people that {visible(budget.entity)} names"),
        ]
    )
