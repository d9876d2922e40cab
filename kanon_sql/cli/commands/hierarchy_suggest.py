"""``kanon hierarchy suggest``: which hierarchies would fit the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.cli.options.command_line_policy import overridden
from kanon_sql.cli.options.conflicts import refuse_contradictions
from kanon_sql.cli.options.options import DialectOption, FormatOption, QiOption, QuietOption, SqlOption, VerboseOption
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import command, print_command, print_json, print_prose, print_sql, print_table
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.hierarchy.suggest import columns_to_suggest, suggestion_statements, suggestions_for
from kanon_sql.policy.policy import Policy
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.suggest import Suggestion


def suggest_command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A DuckDB file, or a data file.", show_default=False)],
    table: Annotated[str | None, typer.Argument(metavar="TABLE", show_default=False)] = None,
    quasi_identifiers: QiOption = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Suggest hierarchies for columns, by their names, values and types, and tell what is missing.

    Looks at the columns named with --qi; without it, at all but those whose names say that they identify a person.
    """
    refuse_contradictions(output_format=output_format, sql=sql, dialect=dialect, quiet=quiet, verbose=verbose)
    opened = open_source(source, table)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        talk.follow(opened.engine)
        policy = overridden(
            Policy(), opened.columns, roles={"quasi_identifiers": quasi_identifiers}, hierarchies={}, settings={}
        )
        columns = columns_to_suggest(opened, policy.columns.quasi_identifiers)
        left_out = [column.name for column in opened.columns if column not in columns]
        if left_out and not quasi_identifiers:
            talk.note(f"left out, because their names say that they identify a person: {', '.join(left_out)}")
        if sql:
            print_sql(script(suggestion_statements(opened, columns), dialect))
            return
        found = suggestions_for(opened, columns)
    if output_format == "json":
        print_json({name: [suggestion.summary() for suggestion in listed] for name, listed in found.items()})
    else:
        _print_suggestions(found, source, opened)


def _print_suggestions(found: dict[str, tuple[Suggestion, ...]], source: str, opened: Source) -> None:
    if not found:
        print_prose("No column of the table could have a hierarchy. Name one with --qi.")
        return
    print_table(
        ["column", "suggestion", "covers", "values missing", "rows missing", "why"],
        [
            (
                name,
                suggestion.rule,
                suggestion.covers,
                suggestion.values_missing,
                suggestion.rows_missing,
                suggestion.reason,
            )
            for name, listed in found.items()
            for suggestion in listed
        ],
        prose="why",
        spare=("rows missing", "values missing"),
    )
    print_prose("The first of each column fits best: use it with --hierarchy COLUMN=SUGGESTION.")
    lacking = [(name, listed[0]) for name, listed in found.items() if not listed[0].covers]
    if lacking:
        name, suggestion = lacking[0]
        print_prose("This prints the query that lists the values which it lacks, here for the first that lacks some:")
        assignment = f"{name}={suggestion.rule}"
        print_command(command("hierarchy check", source, opened, "--hierarchy", assignment, "--sql"))
