"""``kanon measure``: what a published table is worth against its original, and who could be found in both."""

from __future__ import annotations

from typing import Annotated

import typer

from kanon_sql.cli.options.command_line_policy import base_policy, generalizing_policy, note_repeated_columns
from kanon_sql.cli.options.conflicts import check_options
from kanon_sql.cli.options.options import (
    CountOption,
    DialectOption,
    FormatOption,
    HierarchiesOption,
    HierarchyOption,
    KOption,
    OriginalOption,
    OriginalTableOption,
    PolicyOption,
    QiOption,
    QuietOption,
    SourceArgument,
    SqlOption,
    TableArgument,
    VerboseOption,
)
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import figure, print_json, print_pairs, print_prose, print_sql, print_table, visible
from kanon_sql.cli.output.risks import print_risks
from kanon_sql.engine.sources.open_source import open_beside, open_original, open_source
from kanon_sql.errors import UsageError, counted
from kanon_sql.evidence.measure import Measured, MeasuredPeople, measure_against, measure_alone
from kanon_sql.evidence.risk import opened_population, require_entity
from kanon_sql.measures.shares import read_share
from kanon_sql.release.script import logged_script
from kanon_sql.risks.estimators.assessment import DEFAULT_THRESHOLD, PRESETS, RiskSettings, threshold_of


def measure_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    original: OriginalOption = None,
    original_table: OriginalTableOption = None,
    quasi_identifiers: QiOption = None,
    k: KOption = None,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    policy_file: PolicyOption = None,
    entity: Annotated[
        str | None,
        typer.Option(
            "--entity",
            metavar="COLUMN",
            help="Names the person: the risk is that of people, not of rows. A release is counted by its original.",
        ),
    ] = None,
    count: CountOption = None,
    threshold: Annotated[
        str,
        typer.Option(
            "--threshold",
            metavar="NAME|RISK",
            help="The risk above which rows are counted: a number such as 0.2, 20% or 1/5, or "
            f"{', '.join(preset.name for preset in PRESETS)}.",
        ),
    ] = DEFAULT_THRESHOLD,
    subsets: Annotated[
        int | None,
        typer.Option(
            "--subsets",
            metavar="N",
            help="Look at all subsets of up to N quasi-identifiers (default: 3, less where that is over 500; 0: none).",
        ),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        typer.Option(
            "--sampling-fraction",
            metavar="SHARE",
            parser=read_share,
            help="The share of the population that the table (its original) has: estimates who is unique there.",
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population",
            metavar="TABLE|FILE",
            help="A table of all people that the rows could be about, with values written like those of the table.",
        ),
    ] = None,
    population_table: Annotated[
        str | None,
        typer.Option("--population-table", metavar="TABLE", help="The table, where --population is another database."),
    ] = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Measure who could be found in a table, and how much of its original it keeps."""
    check_options(context)
    if original is None and (hierarchy or hierarchies or original_table):
        raise UsageError("Hierarchies say what labels stand for in the original: name it with --original.")
    base = base_policy(policy_file)
    asked = RiskSettings(threshold_of(threshold), subsets, sampling_fraction)
    opened = (
        open_source(source, table, as_text=True)
        if original is None
        else open_original(source, original, original_table)
    )
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        talk.follow(opened.engine)
        policy = generalizing_policy(
            opened,
            base,
            quasi_identifiers=quasi_identifiers,
            hierarchy=hierarchy,
            hierarchies=hierarchies,
            entity=entity,
            k=k,
            settings={"count": count},
        )
        release = opened if original is None else open_beside(opened, source, table, as_text=True)
        require_entity(entity, *([opened] if original is None else [opened, release]))
        everybody = opened_population(opened, source, population, population_table)
        if original is None:
            result = measure_alone(opened, policy, asked, everybody)
        else:
            result = measure_against(opened, release, policy, talk, asked, everybody)
        if sql:
            print_sql(logged_script(opened.engine.statements, dialect))
            return
        note_repeated_columns(result.repeated, talk)
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
    smallest = "" if result.smallest_class is None else f", the smallest has {_smallest(result)}"
    pairs = [("rows", rows), ("classes", f"{result.classes:,}{smallest}")]
    pairs += [(name, figure(value)) for name, value in result.measures.items() if value is not None]
    print_pairs(pairs)
    print_risks(result.risk, result.risk_before)
    if result.people is not None and (said := _uncounted(result.people)):
        print_prose(said)
    if (people := result.people_repeat) is not None:
        of = visible(result.original or result.table)
        print_prose(
            f"Rows were counted, not people, and {of} has several rows of one person: {visible(people.found())}. A "
            f"class of many rows may be one person, and no threshold is known to be met. {visible(people.ways_on())}"
        )


def _smallest(result: Measured) -> str:
    """Return the smallest class in rows, and in people where they are known: they may be different classes."""
    rows, people = counted(result.smallest_class or 0, "row"), result.people
    if people is None:
        return rows
    if people.smallest_class is None:
        return f"{rows}, of how many people is not known"
    fewest, most = counted(people.smallest_class, "person", "people"), people.smallest_class_at_most or 0
    if most == people.smallest_class:
        return f"{rows}; by people, {fewest} ({visible(people.entity)})"
    return f"{rows}; by people, at least {fewest} and at most {most:,} ({visible(people.entity)})"


def _uncounted(people: MeasuredPeople) -> str | None:
    """Return what is not known about people, and what the figures are therefore."""
    if people.settled:
        return None
    if people.smallest_class is None:
        return (
            f"The table has no column {people.entity} to count people by: the figures are of rows, and a class of many "
            "rows may be one person. Name the table that it was made from with --original."
        )
    return (
        "Which rows were published cannot be told from the labels: the release is counted as if each class had the "
        "fewest people possible, and who may be in two classes is counted in both. Subsets are not looked at."
    )
