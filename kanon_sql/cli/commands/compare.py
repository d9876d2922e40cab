"""``kanon compare`` and ``kanon lattice``: what could be released instead, without publishing anything.

``compare`` makes releases by several algorithms, k and limits; ``lattice`` lists the nodes that satisfy one policy.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.policy_options import generalizing_policy, note_findings, policy_in, prepared_by
from kanon_sql.cli.options.shared import RequestedModels, check_options, with_models
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import Share, figure, print_json, print_prose, print_sql, print_table, visible
from kanon_sql.cli.output.utility import about_cells, utility_cells
from kanon_sql.engine.base import Column, find_column, resolve_columns
from kanon_sql.engine.progress import Progress
from kanon_sql.engine.sources.open_source import Source, open_source
from kanon_sql.errors import UsageError, counted
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.policy.destination import named_table
from kanon_sql.policy.policy import COUNTS_ROWS, SETTINGS, Policy
from kanon_sql.release.prepared_table import PreparedTable
from kanon_sql.release.script import logged_script
from kanon_sql.release.utility import utility_settings
from kanon_sql.search.prepare import prepare_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.release.prepared_table import Compared, Comparison, SatisfyingNode


@with_models
def compare_command(
    context: typer.Context,
    source: shared.NamedSourceArgument = None,
    table: shared.TableArgument = None,
    quasi_identifiers: shared.QiOption = None,
    sensitive: shared.SensitiveOption = None,
    entity: shared.EntityOption = None,
    count: shared.CountOption = None,
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
    measure: shared.MeasureOption = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="Of all releases together, preparing included."),
    ] = None,
    choice: shared.ChoiceOption = None,
    choose: shared.ChooseOption = None,
    cut: shared.CutOption = None,
    labels: shared.LabelsOption = None,
    numbers: shared.NumbersOption = None,
    pairs: shared.PairsOption = None,
    prepare: shared.PrepareOption = None,
    hierarchy: shared.HierarchyOption = None,
    hierarchies: shared.HierarchiesOption = None,
    policy_file: shared.PolicyOption = None,
    plot_file: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw loss and time over k into a .svg, .png or .html file."),
    ] = None,
    utility: shared.UtilityOption = False,
    target: shared.TargetOption = None,
    spread: shared.SpreadOption = None,
    sql: shared.SqlOption = False,
    dialect: shared.DialectOption = "duckdb",
    output_format: shared.FormatOption = "table",
    quiet: shared.QuietOption = False,
    verbose: shared.VerboseOption = False,
    *,
    models: RequestedModels,
    population: str | None,
) -> None:
    """Compare algorithms, k and limits of suppression on one table; every release is made, verified and dropped."""
    begun = time.monotonic()
    check_options(context, {("sql", "plot_file"): "--sql prints what is run and draws nothing"})
    try:
        sizes = [int(size) for size in _listed(k, "-k")]
    except ValueError:
        raise UsageError(f"-k is a list of whole numbers, such as 2,5,10; not {k!r}.") from None
    limits = None if max_suppressed is None else _listed(max_suppressed, "--max-suppressed")
    names = None if algorithm is None else _listed(algorithm, "--algorithm")
    if plot_file is not None:
        from kanon_sql.evidence.report.comparison_plot import check_plot

        check_plot(plot_file)
    utility_settings(utility=utility, target=target, spread=spread)
    base, _ = policy_in(policy_file)
    opened = open_source(*named_table(source, table, base.origin))
    with opened.engine, Talk(opened.engine, quiet=quiet, verbose=verbose) as talk:
        opened, base = prepared_by(opened, base, prepare)
        prepared = _prepared(
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
            target=target,
        )
        cutting = {"choice": choice, "choose": choose, "cut": cut, "labels": labels, "numbers": numbers, "pairs": pairs}
        said: dict[str, Any] = {name: value for name, value in cutting.items() if value is not None}
        said |= {"utility": utility, "target": target, "spread": spread}
        if (limit := prepared.policy.time_limit) is not None:
            said["time_limit"] = begun + limit - time.monotonic()
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
    measured = next((result.utility for result in comparison.results if result.utility is not None), None)
    of_utility = [] if measured is None else list(utility_cells(measured))
    rows = [_row(result, shown, of_utility, most) for result in comparison.results]
    print_table(
        [*headers, *of_utility, "nodes tested", "search s", "proven"],
        rows,
        spare=("loss, drawn", "nodes tested", "precision", "gcp", "classes", "proven"),
    )
    if measured is not None:
        print_prose(about_cells(measured))
    for problem in dict.fromkeys(result.problem for result in comparison.results if result.problem):
        print_prose(problem)


def _row(result: Compared, shown: Sequence[str], of_utility: Sequence[str], most: float) -> tuple[object, ...]:
    """Return the cells of a release.

    Args:
        result: the release.
        shown: the measures that are shown.
        of_utility: the figures of utility that are shown.
        most: the largest loss of a release.
    """
    if result.measures is None:
        nothing = Share(0.0), "no release", *[""] * (len(shown) + 5 + len(of_utility))
        return (result.algorithm, result.k, str(result.max_suppressed), *nothing)
    figures = [Share((result.measures["loss"] or 0.0) / most), *(figure(result.measures[name]) for name in shown)]
    cells = {} if result.utility is None else utility_cells(result.utility)
    return (
        result.algorithm,
        result.k,
        str(result.max_suppressed),
        *figures,
        result.rows_suppressed,
        result.classes,
        result.smallest,
        *(cells.get(name, "") for name in of_utility),
        result.nodes_tested,
        f"{result.seconds:.2f}",
        "yes" if result.optimal else "",
    )


def _listed(text: str, option: str) -> list[str]:
    """Return the items of a list with commas between."""
    items = [part.strip() for part in text.split(",") if part.strip()]
    if not items:
        raise UsageError(f"{option} is an empty list.")
    return items


@with_models
def lattice_command(
    context: typer.Context,
    source: shared.NamedSourceArgument = None,
    table: shared.TableArgument = None,
    quasi_identifiers: shared.QiOption = None,
    sensitive: shared.SensitiveOption = None,
    entity: shared.EntityOption = None,
    count: shared.CountOption = None,
    k: shared.KOption = None,
    max_suppressed: Annotated[str | None, shared.of_setting(SETTINGS["max_suppressed"])] = None,
    measure: shared.MeasureOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every node that satisfies, not only the minimal ones.")
    ] = False,
    prepare: shared.PrepareOption = None,
    hierarchy: shared.HierarchyOption = None,
    hierarchies: shared.HierarchiesOption = None,
    policy_file: shared.PolicyOption = None,
    sql: shared.SqlOption = False,
    dialect: shared.DialectOption = "duckdb",
    output_format: shared.FormatOption = "table",
    quiet: shared.QuietOption = False,
    verbose: shared.VerboseOption = False,
    *,
    models: RequestedModels,
    population: str | None,
) -> None:
    """List the minimal nodes of the lattice that satisfy a policy, found by Incognito: none below them does."""
    check_options(context)
    base, _ = policy_in(policy_file)
    opened = open_source(*named_table(source, table, base.origin))
    with opened.engine, Talk(opened.engine, quiet=quiet, verbose=verbose) as talk:
        opened, base = prepared_by(opened, base, prepare)
        prepared = _prepared(
            opened,
            base,
            talk,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            models=models,
            entity=entity,
            hierarchy=hierarchy,
            hierarchies=hierarchies,
            k=k,
            settings={"count": count, "population": population, "max_suppressed": max_suppressed, "measure": measure},
        )
        policy = prepared.policy
        nodes = prepared.lattice(everything=everything, progress=talk)
        size = prepared.prepared.lattice.size
        members = "people" if prepared.prepared.frequency.counts_people else "rows"
        if sql:
            print_sql(logged_script(opened.engine.statements, dialect))
            return
        name = opened.name
    if output_format == "json":
        listed = [*map(asdict, nodes)]
        print_json(
            {"source": name, "counted": members, "lattice_size": size, "measure": policy.measure, "nodes": listed}
        )
        return
    kind = "satisfying" if everything else "minimal satisfying"
    print_prose(
        f"{visible(name)}: {counted(len(nodes), f'{kind} node')} of {size:,}, the best by {policy.measure} first; "
        f"k counts {members}"
    )
    _print_nodes(nodes, policy.measure, everything=everything)


def _print_nodes(nodes: list[SatisfyingNode], measure: str, *, everything: bool) -> None:
    columns = list(nodes[0].levels) if nodes else []
    headers = [*columns, "suppressed", measure, *(["minimal"] if everything else [])]
    rows = [
        (
            *node.levels.values(),
            node.rows_suppressed,
            figure(node.value),
            *(["yes" if node.minimal else ""] if everything else []),
        )
        for node in nodes
    ]
    print_table(headers, rows)


def _prepared(
    opened: Source,
    base: Policy,
    talk: Talk,
    target: str | None = None,
    **said: Any,  # noqa: ANN401 - see the policy
) -> PreparedTable:
    """Return an open source, prepared under ``generalizing_policy(base, **said)``.

    A target without a role is published as it is: releases are compared by it.
    """
    policy = generalizing_policy(base, **said)
    if target is not None:
        (own,) = resolve_columns([target], opened.columns, opened.name)
        roles = policy.columns
        named = (*roles.quasi_identifiers, *roles.sensitive, *roles.insensitive, *roles.identifying)
        if find_column(own.name, [Column(name, "") for name in named]) is None:
            policy = replace(policy, columns=replace(roles, insensitive=(*roles.insensitive, own.name)))
    prepared = prepare_source(opened, policy, lambda doing: talk(Progress(doing)))
    if policy.count == "rows":
        talk.note(COUNTS_ROWS)
    note_findings(prepared.findings, talk)
    return PreparedTable(prepared, policy)
