"""The table that a person means, among those that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.engine.sources.remote import OF_THE_SERVER
from kanon_sql.engine.warehouse.workbench import SCHEMA
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from kanon_sql.engine.duckdb.engine import DuckDBEngine

RELEASES = "releases"
"""The table of the ledger, in the schema of kanon's own."""


def find_table(
    engine: DuckDBEngine,
    wanted: str | None,
    place: str,
    catalog: str | None = None,
    first: str | None = None,
    *,
    original: bool = False,
) -> tuple[exp.Table, str]:
    """Return a table by its name, and the name as it is.

    Args:
        engine: has it.
        wanted: the name; None for the only table that there is.
        place: what messages call the database.
        catalog: the database, if it was attached for it.
        first: the schema of it that is looked at first.
        original: whether the table is one that a release is made from, so that its releases are not meant.
    """
    listed = engine.rows(sql.statement("catalog/tables"), "find the table")
    if catalog is not None:
        listed = [row for row in listed if row[0] == catalog and row[1] not in OF_THE_SERVER]
        named = wanted is not None and "." in wanted
        own = [row for row in listed if row[1] == first]
        listed = listed if named or not own else own
    return chosen_table(listed, wanted, place, (lambda: _releases(engine)) if original else None)


def _releases(engine: DuckDBEngine) -> list[tuple[Any, ...]]:
    """Return which releases of which tables the ledger of a database has; none where it cannot be read."""
    ledger = sql.statement("catalog/kind_of_relation", values={"name": RELEASES, "schema": SCHEMA})
    if not engine.rows(ledger, "is there a ledger?"):
        return []
    try:
        return engine.rows(sql.statement("ledger/targets"), "releases")
    except SourceError:  # a table of that name which is not ours
        return []


def chosen_table(
    listed: list[tuple[Any, ...]],
    wanted: str | None,
    place: str,
    releases: Callable[[], list[tuple[Any, ...]]] | None = None,
) -> tuple[exp.Table, str]:
    """Return the table of a name among those that are listed.

    Args:
        listed: of each its catalog, schema, name, and how near it is.
        wanted: the name; None for the only table that there is.
        place: what messages call the database.
        releases: returns schema and name of a table, and schema and name of a release of it. Where given, a table
            beside which there are only releases of it is the only one.
    """
    if wanted is None:
        matches = listed
        if len(listed) > 1 and releases is not None:
            made = releases()
            matches = [row for row in listed if all(each is row or _is_release(each, row, made) for each in listed)]
        if len(matches) != 1:
            raise UsageError(f"{place} has {len(listed)} tables and views: name the one to use{_list(listed)}.")
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


def _is_release(row: tuple[Any, ...], original: tuple[Any, ...], made: list[tuple[Any, ...]]) -> bool:
    return row[0] == original[0] and (*original[1:3], *row[1:3]) in made


def _list(listed: list[tuple[Any, ...]]) -> str:
    shown = 20
    names = ", ".join(str(row[2]) for row in listed[:shown])
    return f". There: {names}{', ...' if len(listed) > shown else ''}" if listed else ""
