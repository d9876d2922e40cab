"""``kanon check``: does this table satisfy this policy? Exit code 1 if not."""

from __future__ import annotations

import typer

from kanon_sql.checker import CheckResult, check_source, check_sql
from kanon_sql.cli.conflicts import check_options
from kanon_sql.cli.diagnostics import Talk
from kanon_sql.cli.options import (
    DialectOption,
    EntityOption,
    FormatOption,
    IdOption,
    KOption,
    PolicyOption,
    QiOption,
    QuietOption,
    SourceArgument,
    SqlOption,
    TableArgument,
    VerboseOption,
    overridden,
)
from kanon_sql.cli.output import counted, print_json, print_pairs, print_prose, print_sql, visible
from kanon_sql.cli.prepared import policy_in
from kanon_sql.engine.sources import open_source


def check_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    identifying: IdOption = None,
    quasi_identifiers: QiOption = None,
    entity: EntityOption = None,
    k: KOption = None,
    policy_file: PolicyOption = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Tell whether a table satisfies a policy as it is; exit code 1 if not.

    [bold]kanon check clinic.duckdb patients_k5 --qi age,zip,sex -k 5[/bold]
    """
    check_options(context)
    base = policy_in(policy_file)
    opened = open_source(source, table, as_text=True)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        opened.engine.listener = talk.statement
        policy = overridden(
            base,
            opened.columns,
            roles={"identifying": identifying, "quasi_identifiers": quasi_identifiers},
            entity=entity,
            k=k,
        )
        if sql:
            print_sql(check_sql(opened, policy, dialect))
            return
        result = check_source(opened, policy)
    if output_format == "json":
        print_json(result.summary())
    else:
        _print_result(result)
    if not result.holds:
        raise typer.Exit(1)


def _print_result(result: CheckResult) -> None:
    pairs = [("rows", f"{result.rows:,} in {counted(result.classes, 'class', 'classes')}")]
    for model in result.models:
        found = "there are no rows" if model.measured is None else f"smallest class has {model.measured:,}"
        pairs.append((model.model, f"k = {model.required} {'holds' if model.holds else 'DOES NOT HOLD'}: {found}"))
    if result.classes_failing:
        pairs.append(("too small", _too_small(result)))
    if result.identifying:
        pairs.append(("identifying", f"columns that must not be there: {', '.join(result.identifying)}"))
    print_prose(f"{visible(result.table)} {'satisfies' if result.holds else 'DOES NOT SATISFY'} the policy")
    print_pairs(pairs)


def _too_small(result: CheckResult) -> str:
    failing = counted(result.classes_failing, "class", "classes")
    return f"{failing} with {counted(result.rows_failing, 'row')}"
