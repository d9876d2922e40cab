"""``kanon check``: does this table satisfy this policy? Exit code 1 if not."""

from __future__ import annotations

import typer

from kanon_sql.checker import CheckResult, check_source, check_sql
from kanon_sql.cli.conflicts import check_options
from kanon_sql.cli.diagnostics import Talk
from kanon_sql.cli.model_options import AskedModels
from kanon_sql.cli.options import (
    DialectOption,
    EntityOption,
    FormatOption,
    HierarchyOption,
    IdOption,
    KOption,
    PolicyOption,
    QiOption,
    QuietOption,
    SensitiveOption,
    SourceArgument,
    SqlOption,
    TableArgument,
    VerboseOption,
    assignments,
    overridden,
)
from kanon_sql.cli.output import (
    about,
    counted,
    print_json,
    print_pairs,
    print_prose,
    print_sql,
    print_table,
    threshold,
    visible,
)
from kanon_sql.cli.prepared import policy_in
from kanon_sql.engine.sources import open_source


def check_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    identifying: IdOption = None,
    quasi_identifiers: QiOption = None,
    sensitive: SensitiveOption = None,
    entity: EntityOption = None,
    k: KOption = None,
    hierarchy: HierarchyOption = None,
    policy_file: PolicyOption = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    *,
    models: AskedModels,
    population: str | None,
) -> None:
    """Tell whether a table satisfies a policy as it is; exit code 1 if not."""
    check_options(context)
    base = policy_in(policy_file)
    opened = open_source(source, table, as_text=True)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        talk.follow(opened.engine)
        policy = overridden(
            base,
            opened.columns,
            roles={"identifying": identifying, "quasi_identifiers": quasi_identifiers, "sensitive": sensitive},
            entity=entity,
            k=k,
            models=models,
            hierarchies=assignments(hierarchy, "--hierarchy", opened.columns),
            settings={"population": population},
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
        found = "there are no rows" if model.measured is None else f"worst class has {threshold(model.measured)}"
        if model.model == "k-anonymity" and model.measured is not None:
            found = f"smallest class has {model.measured:,}"
        asked = f"{model.letter} = {threshold(model.required)} {'holds' if model.holds else 'DOES NOT HOLD'}"
        pairs.append((about(model.model, model.sensitive), f"{asked}: {found}"))
    if result.classes_failing:
        pairs.append(("failing" if len(result.models) > 1 else "too small", _failing(result)))
    for tied in result.pseudonyms:
        alike = "has none" if tied.fewest is None else f"ties what {tied.fewest:,} or more have alike"
        pairs.append(("pseudonyms", f"{tied.column} {alike}" + (": TOO FEW" if tied.failing else "")))
    if result.hidden_rows:
        came_later = f"{counted(result.hidden_rows, 'row')} of the table behind the view, with values that came later"
        pairs.append(("left out", f"{came_later}: make the view again (--replace) to show them"))
    if result.identifying:
        pairs.append(("identifying", f"columns that must not be there: {', '.join(result.identifying)}"))
    print_prose(f"{visible(result.table)} {'satisfies' if result.holds else 'DOES NOT SATISFY'} the policy")
    print_pairs(pairs)
    if result.worst:
        print_table(
            ["worst classes by", "measured", "rows"],
            [(about(one.model, one.sensitive), threshold(one.measured), one.rows) for one in result.worst],
        )


def _failing(result: CheckResult) -> str:
    failing = counted(result.classes_failing, "class", "classes")
    return f"{failing} with {counted(result.rows_failing, 'row')}"
