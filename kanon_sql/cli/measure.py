"""``kanon measure``: what a published table is worth against its original."""

from __future__ import annotations

from typing import Annotated

import typer

from kanon_sql.cli.conflicts import check_options
from kanon_sql.cli.diagnostics import Talk
from kanon_sql.cli.options import (
    DialectOption,
    FormatOption,
    HierarchiesOption,
    HierarchyOption,
    KOption,
    PolicyOption,
    QiOption,
    QuietOption,
    SourceArgument,
    SqlOption,
    TableArgument,
    VerboseOption,
)
from kanon_sql.cli.output import counted, figure, print_json, print_pairs, print_prose, print_sql, print_table, visible
from kanon_sql.cli.prepared import generalizing_policy, policy_in
from kanon_sql.engine.sources import open_beside, open_source
from kanon_sql.errors import UsageError
from kanon_sql.measurer import Measured, measure_against, measure_alone, open_original
from kanon_sql.plan import logged_script


def measure_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    original: Annotated[
        str | None,
        typer.Option(
            "--original", metavar="TABLE|FILE", help="What it was made from: a table of the same database, or a file."
        ),
    ] = None,
    original_table: Annotated[
        str | None,
        typer.Option("--original-table", metavar="TABLE", help="The table, where --original is another database."),
    ] = None,
    quasi_identifiers: QiOption = None,
    k: KOption = None,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    policy_file: PolicyOption = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Measure how much of its original a published table keeps, by its labels as they are written there.

    [bold]kanon measure clinic.duckdb patients_k5 --original patients --qi age,zip,sex[/bold]
    """
    check_options(context)
    if original is None and (hierarchy or hierarchies or original_table):
        raise UsageError("Hierarchies say what labels stand for in the original: name it with --original.")
    base = policy_in(policy_file)
    opened = (
        open_source(source, table, as_text=True)
        if original is None
        else open_original(source, original, original_table)
    )
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        opened.engine.listener = talk.statement
        policy = generalizing_policy(
            opened, base, quasi_identifiers=quasi_identifiers, hierarchy=hierarchy, hierarchies=hierarchies, k=k
        )
        if original is None:
            result = measure_alone(opened, policy)
        else:
            result = measure_against(opened, open_beside(opened, source, table, as_text=True), policy, talk)
        if sql:
            print_sql(logged_script(opened.engine.statements, dialect))
            return
    if output_format == "json":
        print_json(result.summary())
    else:
        _print_measured(result)


def _print_measured(result: Measured) -> None:
    against = "" if result.original is None else f" against {visible(result.original)}"
    print_prose(f"{visible(result.table)}{against}")
    if result.levels is not None:
        levels = [(column, "several" if level is None else level) for column, level in result.levels.items()]
        print_table(["column", "level"], levels)
    rows = counted(result.rows_out, "row")
    if result.rows_in:
        suppressed = result.rows_in - result.rows_out
        share = f"{suppressed:,} suppressed ({suppressed / result.rows_in:.2%})"
        rows = f"{result.rows_in:,} in, {result.rows_out:,} out, {share}"
    smallest = "" if result.smallest_class is None else f", the smallest has {counted(result.smallest_class, 'row')}"
    pairs = [("rows", rows), ("classes", f"{result.classes:,}{smallest}")]
    pairs += [(name, figure(value)) for name, value in result.measures.items() if value is not None]
    print_pairs(pairs)
