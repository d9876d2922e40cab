"""``kanon clean``: rewrites a database file without deleted, replaced or dropped data."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.destination_options import BackupOption
from kanon_sql.cli.options.shared import option
from kanon_sql.cli.output.diagnostics import interrupted_after
from kanon_sql.cli.output.output import print_pairs, print_prose, print_sql, visible
from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.errors import UsageError, counted
from kanon_sql.release.in_place.clean import Cleaned, clean, clean_statements
from kanon_sql.sql.dialects import script


@shared.with_output({("sql", "backup"): "--sql changes nothing"})
def clean_command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A DuckDB file.", show_default=False)],
    drop: Annotated[
        list[str] | None, option("--drop", "TABLE", "Leave this table out: the raw one, once its release is made.")
    ] = None,
    backup: BackupOption = None,
    *,
    output: shared.Output,
) -> None:
    """Rewrite a database file so that its bytes keep nothing that was deleted or changed."""
    if is_warehouse(source):
        raise UsageError(
            "What a warehouse keeps on its disks is its own: kanon clean rewrites DuckDB files. Drop the table there, "
            "and ask who runs the warehouse about its logs and backups."
        )
    if output.sql and output.dialect != "duckdb":
        raise UsageError("Only a DuckDB file is rewritten: leave --dialect out.")
    if output.sql:
        print_sql(script(clean_statements(source, drop=drop or ()), output.dialect))
        return
    with output.talk() as talk:
        cleaned = clean(source, drop=drop or (), backup=backup, listener=talk.statement)
        with interrupted_after(f"{source} is rewritten"):
            talk.end()
            if cleaned.hierarchies:
                talk.note(
                    f"Hierarchies in schema kanon list values of columns: {', '.join(cleaned.hierarchies)}. "
                    "kanon hierarchy list shows them; DROP TABLE and a second clean remove them."
                )
            output.show(cleaned.summary(), _print_cleaned, cleaned)


def _print_cleaned(cleaned: Cleaned) -> None:
    sizes = f"{cleaned.bytes_before / 1e6:,.1f} MB -> {cleaned.bytes_after / 1e6:,.1f} MB"
    print_prose(f"{visible(str(cleaned.file))} is rewritten")
    pairs = [("file", f"{sizes}, {counted(cleaned.tables, 'table')}, {cleaned.seconds:.2f} seconds")]
    if cleaned.dropped:
        pairs.append(("left out", ", ".join(cleaned.dropped)))
    for name, rows in cleaned.waiting.items():
        stays = f"{counted(rows, 'raw row')} in {visible(name)}: kept until a batch takes them"
        pairs.append(("waiting", f"{stays}, or --drop {visible(quote(name))}"))
    if cleaned.backup is not None:
        pairs.append(("backup", f"{cleaned.backup}: a copy of the file as it was, with all that was in it"))
    print_pairs(pairs)
