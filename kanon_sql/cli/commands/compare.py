"""``kanon compare``: several algorithms and k side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kanon_sql.cli.options.command_line_policy import base_policy, prepared_table
from kanon_sql.cli.options.conflicts import check_options
from kanon_sql.cli.options.model_options import RequestedModels, with_models
from kanon_sql.cli.options.options import (
    ChooseOption,
    CountOption,
    CutOption,
    DialectOption,
    EntityOption,
    FormatOption,
    HierarchiesOption,
    HierarchyOption,
    LabelsOption,
    MeasureOption,
    NumbersOption,
    PairsOption,
    PolicyOption,
    QiOption,
    QuietOption,
    SensitiveOption,
    SourceArgument,
    SqlOption,
    TableArgument,
    VerboseOption,
)
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import Share, figure, print_json, print_prose, print_sql, print_table, visible
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import UsageError
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.release.script import logged_script

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kanon_sql.release.prepared_table import Compared, Comparison

Item = TypeVar("Item")


@with_models
def compare_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    quasi_identifiers: QiOption = None,
    sensitive: SensitiveOption = None,
    entity: EntityOption = None,
    count: CountOption = None,
    k: Annotated[str, typer.Option("-k", metavar="K,K,...", help="The smallest classes to compare.")] = "2,5,10,50",
    max_suppressed: Annotated[
        str | None,
        typer.Option(
            "--max-suppressed",
            metavar="LIMIT,...",
            help="The limits to compare: shares of the rows, 0 to 1, or '25 rows', or 'k rows'.",
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm", metavar="NAME,...", help=f"Which to compare (default: all): {', '.join(ALGORITHMS)}."
        ),
    ] = None,
    measure: MeasureOption = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="Of each search alone."),
    ] = None,
    choose: ChooseOption = None,
    cut: CutOption = None,
    labels: LabelsOption = None,
    numbers: NumbersOption = None,
    pairs: PairsOption = None,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    policy_file: PolicyOption = None,
    plot_file: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw loss and time over k into a .svg, .png or .html file."),
    ] = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    *,
    models: RequestedModels,
    population: str | None,
) -> None:
    """Compare algorithms, k and limits of suppression on one table; every release is made, verified and dropped."""
    check_options(context, {("sql", "plot_file"): "--sql prints what is run and draws nothing"})
    sizes = _listed(k, "-k", _whole_number)
    limits = None if max_suppressed is None else _listed(max_suppressed, "--max-suppressed", str)
    names = None if algorithm is None else _listed(algorithm, "--algorithm", str)
    if plot_file is not None:
        from kanon_sql.evidence.report.comparison_plot import check_plot

        check_plot(plot_file)
    base = base_policy(policy_file)
    opened = open_source(source, table)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        talk.follow(opened.engine)
        prepared = prepared_table(
            opened,
            base,
            talk,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            models=models,
            entity=entity,
            hierarchy=hierarchy,
            hierarchies=hierarchies,
            settings={"count": count, "population": population, "measure": measure, "time_limit": time_limit},
        )
        cutting = {"choose": choose, "cut": cut, "labels": labels, "numbers": numbers, "pairs": pairs}
        said = {name: value for name, value in cutting.items() if value is not None}
        comparison = prepared.compare(algorithms=names, k=sizes, max_suppressed=limits, progress=talk, **said)
        if sql:
            print_sql(logged_script(opened.engine.statements, dialect))
            return
    if plot_file is not None:
        from kanon_sql.evidence.report.comparison_plot import plot

        plot(comparison, plot_file)
    if output_format == "json":
        print_json(comparison.summary())
        return
    _print_comparison(comparison)


def _print_comparison(comparison: Comparison) -> None:
    by = "" if comparison.measure == "loss" else f"; {comparison.measure} was minimized"
    of = f"{visible(comparison.source)}: {comparison.rows:,} rows"
    print_prose(f"{of}; k counts {comparison.counted}; what loses least comes first{by}")
    shown = list(dict.fromkeys(["loss", "precision", "gcp", comparison.measure]))
    headers = ["algorithm", "k", "limit", "loss, drawn", *shown, "suppressed", "classes", "smallest"]
    losses = [result.measures["loss"] or 0.0 for result in comparison.results if result.measures is not None]
    most = max(losses, default=0.0) or 1.0
    rows = [_row(result, shown, most) for result in comparison.results]
    print_table(
        [*headers, "nodes tested", "search s", "proven"],
        rows,
        spare=("loss, drawn", "nodes tested", "precision", "gcp", "classes", "proven"),
    )
    for problem in dict.fromkeys(result.problem for result in comparison.results if result.problem):
        print_prose(problem)


def _row(result: Compared, shown: Sequence[str], most: float) -> tuple[object, ...]:
    """Return what a table shows of a release.

    Args:
        result: the release; of one that was not found, why.
        shown: the measures.
        most: the loss of the release that loses most.
    """
    if result.measures is None:
        nothing = Share(0.0), "no solution", *[""] * (len(shown) + 5)
        return (result.algorithm, result.k, str(result.max_suppressed), *nothing)
    figures = [Share((result.measures["loss"] or 0.0) / most), *(figure(result.measures[name]) for name in shown)]
    return (
        result.algorithm,
        result.k,
        str(result.max_suppressed),
        *figures,
        result.rows_suppressed,
        result.classes,
        result.smallest,
        result.nodes_tested,
        f"{result.seconds:.2f}",
        "yes" if result.optimal else "",
    )


def _whole_number(text: str) -> int:
    return int(text)


def _listed(text: str, option: str, read: Callable[[str], Item]) -> list[Item]:
    """Return the items of a list with commas between.

    Raises:
        UsageError: one cannot be read, or there is none.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        items = [read(part) for part in parts]
    except ValueError:
        raise UsageError(f"{option} is a list of whole numbers, such as 2,5,10; not {text!r}.") from None
    if not items:
        raise UsageError(f"{option} is an empty list.")
    return items
