"""``kanon hierarchy export``: any hierarchy as a CSV file of ARX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kanon_sql.cli.commands.hierarchy import print_shapes
from kanon_sql.cli.options.command_line_policy import assignments
from kanon_sql.cli.options.conflicts import refuse_contradictions
from kanon_sql.cli.options.options import (
    DialectOption,
    FormatOption,
    QuietOption,
    ReplaceOption,
    SqlOption,
    VerboseOption,
)
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import print_sql
from kanon_sql.engine.columns import find_column
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.engine.whole_files import write_whole
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.export import check_target, exportable, file_as_arx
from kanon_sql.sql.dialects import script

_MOST_ARGUMENTS = 2


def export_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A hierarchy file, ready:NAME, a DuckDB file or a data file.", show_default=False
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE] COLUMN[=...]",
            help="Of a database or data file: the table, if it has several, and the column, with a file or rule unless "
            "its hierarchy is in the database.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The CSV file to write.", show_default=False)
    ] = None,
    null: Annotated[
        str, typer.Option("--null", metavar="TEXT", help="What stands for NULL (default: an empty field).")
    ] = "",
    replace: ReplaceOption = False,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Write a hierarchy as a CSV file of ARX: no header, ; between labels, the value first, the root last."""
    refuse_contradictions(output_format=output_format, sql=sql, dialect=dialect, quiet=quiet, verbose=verbose)
    if sql:
        if not arguments:
            raise UsageError("A file is exported without SQL: --sql is for a table or a database.")
    elif out is None:
        raise UsageError("Say which file to write: --out FILE.csv.")
    else:
        check_target(out, replace=replace)
    with Talk(quiet=quiet, verbose=verbose) as talk:
        if not arguments:
            shape, text = file_as_arx(source, null)
        else:
            table, column, rule = _column(source, arguments)
            with exportable(source, table, column, rule, talk.statement) as found:
                if sql:
                    print_sql(script([*found.statements, found.query], dialect))
                    return
                shape, text = found.shape, found.text(null)
        if out is not None:
            write_whole(out, text, "The hierarchy")
    print_shapes([shape], output_format)


def _column(source: str, arguments: list[str]) -> tuple[str | None, str, str | None]:
    """Return the table, the column and the rule of the column, whose name may hold an equals sign."""
    *tables, last = arguments
    if len(arguments) > _MOST_ARGUMENTS:
        raise UsageError("Export writes the hierarchy of one column: name one.")
    table = next(iter(tables), None)
    if "=" not in last:
        return table, last, None
    opened = open_source(source, table)
    with opened.engine:
        if find_column(last, opened.columns) is not None:
            return table, last, None
        ((column, rule),) = assignments([last], "The hierarchy", opened.columns).items()
    return table, column, rule
