"""``kanon compare`` and ``kanon lattice``: alternatives for a release, without publishing anything.

``compare`` makes releases by several algorithms, k and limits; ``lattice`` lists the nodes that satisfy one policy.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.case_options import end_with, with_table
from kanon_sql.cli.options.policy_options import RequestedPolicy, note_findings
from kanon_sql.cli.options.shared import RequestedModels, check_options, with_models
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import Share, figure, print_json, print_prose, print_sql, print_table, visible
from kanon_sql.cli.output.utility import about_cells, utility_cells
from kanon_sql.engine.base import Column, find_column, resolve_columns
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.engine.sources.preparing import with_prepared
from kanon_sql.errors import UsageError, counted
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.policy.destination import named_table
from kanon_sql.policy.policy import COUNTS_ROWS, SETTINGS
from kanon_sql.policy.weights import in_json, stated_weights, weights_said
from kanon_sql.release.prepared_table import PreparedTable
from kanon_sql.release.script import logged_script
from kanon_sql.release.utility import utility_settings
from kanon_sql.search.prepare import prepare_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kanon_sql.release.prepared_table import Compared, Comparison, SatisfyingNode

_CUTTING = ("choice", "choose", "cut", "labels", "numbers", "pairs")
_OF_COMPARISON = {*_CUTTING, "k", "max_suppressed", "algorithm"}  # not part of the policy that prepares the table


@with_models
@with_table(
    sensitive=shared.SensitiveOption,
    weight=shared.WeightOption,
    measure=shared.MeasureOption,
    choice=shared.ChoiceOption,
    choose=shared.ChooseOption,
    cut=shared.CutOption,
    labels=shared.LabelsOption,
    numbers=shared.NumbersOption,
    pairs=shared.PairsOption,
    time_limit=Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="Time limit for all releases together, with preparation."),
    ],
)
def compare_command(
    context: typer.Context,
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
    plot_file: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw loss and time over k into a .svg, .png or .html file."),
    ] = None,
    utility: shared.UtilityOption = False,
    target: shared.TargetOption = None,
    spread: shared.SpreadOption = None,
    *,
    models: RequestedModels,
    population: str | None,
) -> None:
    """Compare algorithms, k and limits of suppression on one table; every release is made, verified and dropped."""
    begun, params = time.monotonic(), context.params
    check_options(context, {("sql", "plot_file"): "--sql prints the statements and draws nothing"})
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
    requested = RequestedPolicy(
        {name: value for name, value in params.items() if name not in _OF_COMPARISON}, models, population
    )
    with _prepared(requested, params, target) as (prepared, talk):
        said: dict[str, Any] = {name: params[name] for name in _CUTTING if params[name] is not None}
        said |= {"utility": utility, "target": target, "spread": spread}
        if (limit := prepared.policy.time_limit) is not None:
            said["time_limit"] = begun + limit - time.monotonic()
        comparison = prepared.compare(algorithms=names, k=sizes, max_suppressed=limits, progress=talk, **said)
        if params["sql"]:
            print_sql(logged_script(prepared.prepared.source.engine.statements, params["dialect"]))
            return
    if plot_file is not None:
        from kanon_sql.evidence.report.comparison_plot import plot

        plot(comparison, plot_file)
    end_with(comparison, _print_comparison, params["output_format"])


def _print_comparison(comparison: Comparison) -> None:
    by = "" if comparison.measure == "loss" else f"; {comparison.measure} was minimized"
    of = f"{visible(comparison.source)}: {comparison.rows:,} rows"
    print_prose(f"{of}; k counts {comparison.counted}; what loses least comes first{by}{_weights(comparison.weights)}")
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
    if stopped := sum(result.stopped is not None for result in comparison.results):
        print_prose(
            f"{counted(stopped, 'search', 'searches')} stopped by the time limit, which all releases share: their "
            "figures can be far from the best. Allow more time (--time-limit) or compare fewer."
        )
    for problem in dict.fromkeys(result.problem for result in comparison.results if result.problem):
        print_prose(problem)


def _row(result: Compared, shown: Sequence[str], of_utility: Sequence[str], most: float) -> tuple[object, ...]:
    """Return the cells of a release: the measures and figures to show; ``most`` is the largest loss of one."""
    if result.measures is None:
        nothing = Share(0.0), "no release", *[""] * (len(shown) + 5 + len(of_utility))
        return (result.algorithm, result.k, str(result.max_suppressed), *nothing)
    figures = [Share((result.measures["loss"] or 0.0) / most), *(figure(result.measures[name]) for name in shown)]
    cells = {} if result.utility is None else utility_cells(result.utility)
    return (
        *(result.algorithm, result.k, str(result.max_suppressed), *figures),
        *(result.rows_suppressed, result.classes, result.smallest, *(cells.get(name, "") for name in of_utility)),
        *(result.nodes_tested, f"{result.seconds:.2f}", "yes" if result.optimal else "stopped" * bool(result.stopped)),
    )


def _weights(weights: Mapping[str, int | str]) -> str:
    return f"; weights: {visible(weights_said(weights))}" if weights else ""


def _listed(text: str, option: str) -> list[str]:
    """Return the items of a comma-separated list."""
    items = [part.strip() for part in text.split(",") if part.strip()]
    if not items:
        raise UsageError(f"{option} is an empty list.")
    return items


@with_models
@with_table(
    sensitive=shared.SensitiveOption,
    k=shared.KOption,
    max_suppressed=shared.setting_option(SETTINGS["max_suppressed"]),
    measure=shared.MeasureOption,
    weight=shared.WeightOption,
)
def lattice_command(
    context: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every node that satisfies, not only the minimal ones.")
    ] = False,
    *,
    models: RequestedModels,
    population: str | None,
) -> None:
    """List the minimal nodes of the lattice that satisfy a policy, by Incognito: no node below satisfies it."""
    check_options(context)
    params = context.params
    with _prepared(RequestedPolicy(params, models, population), params) as (prepared, talk):
        nodes = prepared.lattice(everything=everything, progress=talk)
        measure, size, source = prepared.policy.measure, prepared.prepared.lattice.size, prepared.prepared.source
        members = "people" if prepared.prepared.frequency.counts_people else "rows"
        weights = stated_weights(prepared.policy.weights)
        if params["sql"]:
            print_sql(logged_script(source.engine.statements, params["dialect"]))
            return
    if params["output_format"] == "json":
        listed = [*map(asdict, nodes)]
        print_json(
            {"source": source.name, "counted": members, "lattice_size": size, "measure": measure, "nodes": listed}
            | in_json(weights)
        )
        return
    kind = "satisfying" if everything else "minimal satisfying"
    print_prose(
        f"{visible(source.name)}: {counted(len(nodes), f'{kind} node')} of {size:,}, the best by {measure} first; "
        f"k counts {members}{_weights(weights)}"
    )
    _print_nodes(nodes, measure, everything=everything)


def _print_nodes(nodes: list[SatisfyingNode], measure: str, *, everything: bool) -> None:
    minimal = ["minimal"] if everything else []
    headers = [*(nodes[0].levels if nodes else []), "suppressed", measure, *minimal]
    rows = [
        (
            *node.levels.values(),
            node.rows_suppressed,
            figure(node.value),
            *("yes" if node.minimal else "" for _ in minimal),
        )
        for node in nodes
    ]
    print_table(headers, rows)


@contextmanager
def _prepared(
    requested: RequestedPolicy, params: Mapping[str, Any], target: str | None = None
) -> Iterator[tuple[PreparedTable, Talk]]:
    """Open the table that a command names, and prepare it under the policy of the command.

    A target without a role is published unchanged: releases are compared by it.
    """
    base, _ = requested.read()
    policy = requested.over(base, generalizing=True)
    opened = open_source(*named_table(params["source"], params["table"], policy.origin))
    with opened.engine, Talk(opened.engine, quiet=params["quiet"], verbose=params["verbose"]) as talk:
        opened = with_prepared(opened, policy.prepare)
        if target is not None:
            (own,) = resolve_columns([target], opened.columns, opened.name)
            roles = policy.columns
            named = (*roles.quasi_identifiers, *roles.sensitive, *roles.insensitive, *roles.identifying)
            if find_column(own.name, [Column(name, "") for name in named]) is None:
                policy = replace(policy, columns=replace(roles, insensitive=(*roles.insensitive, own.name)))
        prepared = prepare_source(opened, policy, talk)
        if policy.count == "rows":
            talk.note(COUNTS_ROWS)
        note_findings(prepared.findings, talk)
        yield PreparedTable(prepared, policy), talk
