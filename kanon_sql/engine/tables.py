"""The table that a person means, among those that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql import sql
from kanon_sql.engine.attached import OF_THE_SERVER
from kanon_sql.errors import UsageError
from kanon_sql.names import folded

if TYPE_CHECKING:
    from sqlglot import exp

    from kanon_sql.engine.duckdb import DuckDBEngine


def find_table(
    engine: DuckDBEngine, wanted: str | None, place: str, catalog: str | None = None, first: str | None = None
) -> tuple[exp.Table, str]:
    """Return a table by its name, and the name as it is.

    Args:
        engine: has it.
        wanted: the name; None for the only table that there is.
        place: what messages call the database.
        catalog: the database, if it was attached for it.
        first: the schema of it that is looked at first.
    """
    listed = engine.rows(sql.statement("tables"), "find the table")
    if catalog is not None:
        listed = [row for row in listed if row[0] == catalog and row[1] not in OF_THE_SERVER]
        named = wanted is not None and "." in wanted
        own = [row for row in listed if row[1] == first]
        listed = listed if named or not own else own
    return chosen_table(listed, wanted, place)


def chosen_table(listed: list[tuple[Any, ...]], wanted: str | None, place: str) -> tuple[exp.Table, str]:
    """Return the table of a name among those that are listed: catalog, schema, name, and how near it is."""
    if wanted is None:
        if len(listed) != 1:
            raise UsageError(f"{place} has {len(listed)} tables and views: name the one to use{_list(listed)}.")
        matches = listed
    else:
        matches = [
            row
            for row in listed
            if folded(wanted) in {folded(row[2]), folded(f"{row[1]}.{row[2]}"), folded(".".join(row[:3]))}
        ]
        if len(matches) > 1:
            matches = [row for row in matches if row[2] == wanted] or matches
            nearest = max(row[3] for row in matches)
            matches = [row for row in matches if row[3] == nearest]
    if not matches:
        raise UsageError(f"{place} has no table or view {wanted!r}{_list(listed)}.")
    if len(matches) > 1:
        raise UsageError(f"{wanted!r} names {len(matches)} tables in {place}: write SCHEMA.TABLE.")
    catalog, schema, name, nearness = matches[0]
    return (sql.relation(name) if nearness else sql.relation(name, schema, catalog or None)), name


def _list(listed: list[tuple[Any, ...]]) -> str:
    shown = 20
    names = ", ".join(str(row[2]) for row in listed[:shown])
    return f". There: {names}{', ...' if len(listed) > shown else ''}" if listed else ""
