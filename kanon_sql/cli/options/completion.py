"""What a shell offers behind TAB: the tables of a database, the columns of a table. It only ever reads.

Whatever cannot be opened offers nothing: a shell has no place for an error, and the command will tell it.
"""

from __future__ import annotations

from pathlib import Path

import typer  # noqa: TC002 - typer reads the annotations of these functions when it runs

from kanon_sql.engine.sources.addresses import is_remote
from kanon_sql.engine.sources.open_source import is_database, open_database, open_source
from kanon_sql.errors import KanonError
from kanon_sql.sql import build as sql


def tables(context: typer.Context, incomplete: str) -> list[str]:
    """Return the tables of SOURCE that begin like what was typed."""
    source = context.params.get("source")
    if source is None or is_remote(source):
        return []
    try:
        if not is_database(Path(source)):
            return []
        with open_database(Path(source), writable=False) as engine:
            found = [name for _, _, name, _ in engine.rows(sql.statement("catalog/tables"), "tables of the database")]
    except KanonError:
        return []
    return [name for name in found if name.startswith(incomplete)]


def columns(context: typer.Context, incomplete: str) -> list[str]:
    """Return lists of columns of the table that begin like what was typed: ``a``, or ``a,b`` after ``a,``."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",")
    return [f"{before}{comma}{name}" for name in _columns(context) if name.startswith(last) and name not in named]


def column(context: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the table that begin like what was typed."""
    return [name for name in _columns(context) if name.startswith(incomplete)]


def _columns(context: typer.Context) -> list[str]:
    # Behind an option that waits for its value, what was typed before stays unread: it is in args.
    unread = [*context.args, None, None]
    source = context.params.get("source") or unread[0]
    if source is None or is_remote(source):
        return []
    try:
        opened = open_source(source, context.params.get("table") or unread[1])
    except KanonError:
        return []
    with opened.engine:
        return [found.name for found in opened.columns]
