"""``kanon dp``: answers with noise, paid for by a budget."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kanon_sql.cli.options.conflicts import check_options
from kanon_sql.cli.options.dp_options import Asking, BudgetOption, DeltaOption, SourceArgument, with_question
from kanon_sql.cli.options.options import (
    DialectOption,
    FormatOption,
    QuietOption,
    SqlOption,
    TableArgument,
    VerboseOption,
    complete_columns,
)
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import print_json, print_pairs, print_prose, print_sql, print_table, visible
from kanon_sql.dp.account import Budget, short_probability, without_zeros
from kanon_sql.dp.asking import budget_sql, limits_of, open_budgeted, read_in, set_in
from kanon_sql.dp.questions.counts import Count as CountQuestion
from kanon_sql.dp.questions.counts import Histogram, MostFrequent
from kanon_sql.dp.questions.numbers import Mean, Quantile, Sum
from kanon_sql.errors import UsageError
from kanon_sql.policy.policy import Count

ColumnOption = Annotated[
    str,
    typer.Option(
        "--column", metavar="COLUMN", help="What it is about.", show_default=False, autocompletion=complete_columns
    ),
]
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
    str | None,
    typer.Option("--keys", metavar="A,B,...", help="The values that are told apart, known without the table."),
]
BinsOption = Annotated[
    str | None,
    typer.Option("--bins", metavar="A,B,...", help="Edges of bins of numbers, each from one edge to below the next."),
]
LevelsOfOption = Annotated[
    str | None,
    typer.Option("--hierarchy", metavar="FILE|ready:NAME", help="A hierarchy, whose labels are the keys."),
]
LevelOption = Annotated[
    int | None, typer.Option("--level", metavar="N", help="The level of the hierarchy; 0 is the values that it lists.")
]


@with_question
def count_command(
    context: typer.Context, source: SourceArgument, table: TableArgument = None, *, asking: Asking
) -> None:
    """Say how many rows, or people, there are."""
    asking.run(context, source, table, CountQuestion)


@with_question
def sum_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    *,
    column: ColumnOption,
    bounds: BoundsOption,
    asking: Asking,
) -> None:
    """Say the sum of a column."""
    asking.run(context, source, table, lambda **common: Sum(column=column, bounds=_bounds(bounds), **common))


@with_question
def mean_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    *,
    column: ColumnOption,
    bounds: BoundsOption,
    asking: Asking,
) -> None:
    """Say the mean of a column."""
    asking.run(context, source, table, lambda **common: Mean(column=column, bounds=_bounds(bounds), **common))


@with_question
def quantile_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    *,
    column: ColumnOption,
    bounds: BoundsOption,
    share: Annotated[
        str, typer.Option("--quantile", metavar="SHARE", help="The share of the values below it; 0.5 is the median.")
    ] = "0.5",
    step: Annotated[
        str | None,
        typer.Option(
            "--step", metavar="STEP", help="Between values that can be the answer (default: 10,000 in the bounds)."
        ),
    ] = None,
    asking: Asking,
) -> None:
    """Say the value below which a share of the values lies."""
    asking.run(
        context,
        source,
        table,
        lambda **common: Quantile(column=column, bounds=_bounds(bounds), share=share, step=step, **common),
    )


@with_question
def histogram_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    *,
    column: ColumnOption,
    keys: KeysOption = None,
    bins: BinsOption = None,
    hierarchy: LevelsOfOption = None,
    level: LevelOption = None,
    asking: Asking,
) -> None:
    """Say how many rows each key has: given keys, bins, labels of a hierarchy, or (with a delta) frequent keys."""
    ways: dict[str, Any] = {"keys": _listed(keys), "bins": _listed(bins), "hierarchy": hierarchy, "level": level}
    asking.run(context, source, table, lambda **common: Histogram(column=column, **ways, **common))


@with_question
def most_frequent_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    *,
    column: ColumnOption,
    keys: KeysOption = None,
    bins: BinsOption = None,
    hierarchy: LevelsOfOption = None,
    level: LevelOption = None,
    asking: Asking,
) -> None:
    """Say which of the given keys most rows have."""
    ways: dict[str, Any] = {"keys": _listed(keys), "bins": _listed(bins), "hierarchy": hierarchy, "level": level}
    asking.run(context, source, table, lambda **common: MostFrequent(column=column, **ways, **common))


def budget_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", metavar="E", help="Set what all answers about the table may cost together."),
    ] = None,
    delta: DeltaOption = None,
    entity: Annotated[
        str | None,
        typer.Option(
            "--entity",
            metavar="COLUMN",
            help="Names the people that all answers protect; without it, each row is a person.",
        ),
    ] = None,
    count: Annotated[
        Count | None,
        typer.Option(
            "--count",
            help="What is protected: people (default), for which a table with several rows of one person needs "
            "--entity; or rows, also where several are of one person.",
        ),
    ] = None,
    budget: BudgetOption = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show what was spent on a table, or set what may be spent; what was spent stays spent."""
    check_options(context)
    if epsilon is None and (delta is not None or entity is not None or count is not None):
        raise UsageError("A budget has an epsilon: --epsilon 1 --delta 1e-6 --entity patient_id")
    limits = None if epsilon is None else limits_of(epsilon, delta, entity)
    if sql:
        print_sql(budget_sql(source, table, limits=limits, budget=budget, dialect=dialect))
        return
    opened = open_budgeted(source, table, budget)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        talk.follow(opened.engine)
        found = read_in(opened, budget) if limits is None else set_in(opened, limits, budget, count=count or "people")
    if output_format == "json":
        print_json(found.summary())
    else:
        _print_budget(found)


def _bounds(text: str) -> tuple[str, str]:
    """Return two bounds that a person wrote with a comma between.

    Raises:
        UsageError: there are not two.
    """
    low, separator, high = text.partition(",")
    if not separator or "," in high:
        raise UsageError("Bounds are two numbers with a comma between: --bounds 0,100")
    return low, high


def _listed(text: str | None) -> list[str] | None:
    """Return a list that a person wrote with commas between; a value with a comma stands in double quotes."""
    import csv

    return None if text is None else [each.strip() for each in next(csv.reader([text], skipinitialspace=True), [])]


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
