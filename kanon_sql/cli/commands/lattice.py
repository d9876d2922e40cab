"""``kanon lattice``: the nodes that satisfy a policy, instead of a single choice."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.cli.options.command_line_policy import base_policy, prepared_table
from kanon_sql.cli.options.conflicts import check_options
from kanon_sql.cli.options.model_options import RequestedModels, with_models
from kanon_sql.cli.options.options import (
    CountOption,
    DialectOption,
    EntityOption,
    FormatOption,
    HierarchiesOption,
    HierarchyOption,
    KOption,
    MaxSuppressedOption,
    MeasureOption,
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
from kanon_sql.cli.output.output import figure, print_json, print_prose, print_sql, print_table, visible
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import counted
from kanon_sql.release.script import logged_script

if TYPE_CHECKING:
    from kanon_sql.release.prepared_table import SatisfyingNode


@with_models
def lattice_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    quasi_identifiers: QiOption = None,
    sensitive: SensitiveOption = None,
    entity: EntityOption = None,
    count: CountOption = None,
    k: KOption = None,
    max_suppressed: MaxSuppressedOption = None,
    measure: MeasureOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every node that satisfies, not only the minimal ones.")
    ] = False,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    policy_file: PolicyOption = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    *,
    models: RequestedModels,
    population: str | None,
) -> None:
    """List the minimal nodes of the lattice that satisfy a policy, found by Incognito: none below them does."""
    check_options(context)
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
