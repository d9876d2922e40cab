"""Where releases are remembered: the table ``kanon.releases`` beside the data that they were made from."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from kanon_sql.engine.sources.open_source import RELEASES
from kanon_sql.errors import NoRightError, SourceError, UsageError
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.release.ledger.entry import Entry, entry_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

    from kanon_sql.engine.duckdb.engine import DuckDBEngine


def ledger_table() -> exp.Table:
    """Return the table of the ledger."""
    return sql.relation(RELEASES, SCHEMA)


def entries_of(engine: DuckDBEngine) -> list[Entry]:
    """Return the releases that a database remembers, in the order in which they were made.

    Raises:
        SourceError: the table of the ledger is not one of ours.
    """
    newest = engine.newest_entries
    if engine.kind_of(ledger_table()) is None and not newest:
        return []
    _require_readable(engine)
    try:
        rows = engine.rows(sql.statement("ledger/entries"), "earlier releases") if newest is None else newest
        return [entry_of(row) for row in rows]
    except (SourceError, ValueError, KeyError, TypeError):
        raise SourceError(
            f"Table {SCHEMA}.{RELEASES} cannot be read as the ledger of releases: rename or drop it if it is yours."
        ) from None


def _require_readable(engine: DuckDBEngine) -> None:
    if not engine.may_read(ledger_table()):
        raise NoRightError(
            f"The ledger, {SCHEMA}.{RELEASES}, may not be read by this user: ask its owner for that, so that a new "
            "release can be checked against earlier ones."
        )


@contextmanager
def alone(engine: DuckDBEngine) -> Iterator[None]:
    """Keep other runs from the ledger until the end, and read it as it is now.

    A DuckDB file is open for writing here alone; in a warehouse, others may have written since its rows were searched.

    Raises:
        SourceError: the ledger cannot be read.
    """
    _require_readable(engine)
    with engine.alone(ledger_table(), sql.query("ledger/entries")):
        yield


def remember(engine: DuckDBEngine, entry: Entry) -> None:
    """Write an entry into the ledger, which is made if there is none."""
    for place in engine.keepers:
        place.run(sql.statement("ledger/schema"), "the schema of the ledger")
        place.run(sql.statement("ledger/create"), "the ledger")
        place.run(sql.statement("ledger/record", values=entry.values()), "remember the release")


def take_back(engine: DuckDBEngine, entry: Entry) -> None:
    """Take an entry out of the ledger that was written a moment ago; one of another run with its number stays."""
    written = entry.values()
    values = {name: written[name] for name in ("id", "made_at", "target_name", "fingerprint")}
    for place in engine.keepers:
        place.run(sql.statement("ledger/take_back", values=values), "forget the release")


def forget_statements(entries: list[Entry]) -> list[exp.Expr]:
    """Return the statements that forget releases."""
    return [sql.statement("ledger/forget", values={"id": entry.number}) for entry in entries]


def forget_entries(engine: DuckDBEngine, entries: list[Entry]) -> None:
    """Take entries out of the ledger, all or none."""
    with engine.keeping():
        for place in engine.keepers:
            for statement in forget_statements(entries):
                place.run(statement, "forget a release")


def forgotten(entries: list[Entry], which: str) -> list[Entry]:
    """Return the entries that a person means: one by its number, or all that have a name or path.

    Raises:
        UsageError: there is none.
    """
    named = [entry for entry in entries if folded(which) in {folded(entry.name), folded(entry.target[1])}]
    found = named or [entry for entry in entries if str(entry.number) == which]
    if not found:
        known = ", ".join(dict.fromkeys(entry.name for entry in entries)) or "none"
        raise UsageError(f"The ledger has no release {which!r}. Remembered: {known}.")
    return found
