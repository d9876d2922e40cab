"""``ledger`` and ``forget``: which releases a database remembers, and letting go of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.engine.sources.open_source import is_database, open_beside_warehouse, open_database
from kanon_sql.errors import KanonError, UsageError
from kanon_sql.release.ledger.earlier import is_as_it_was
from kanon_sql.release.ledger.ledger import source_fingerprint
from kanon_sql.release.ledger.store import entries_of, forget_entries, forgotten
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import os

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.release.ledger.entry import Entry


@dataclass(frozen=True)
class Remembered:
    """A release that a database remembers, as it is today.

    Attributes:
        entry: what is remembered.
        as_it_was: whether the release is still what it was; None if it is gone.
        source_as_it_was: whether the quasi-identifiers of its table are; None if they are gone.
    """

    entry: Entry
    as_it_was: bool | None
    source_as_it_was: bool | None

    def summary(self) -> dict[str, Any]:
        """Return it as plain values: what ``--format json`` prints."""
        entry = self.entry
        return {
            "number": entry.number,
            "made_at": f"{entry.made_at.isoformat(timespec='seconds')}Z",
            "source": entry.source_name,
            "kind": entry.kind,
            "destination": entry.name,
            "rows_in": entry.rows_in,
            "rows_out": entry.rows_out,
            "k": entry.k,
            "levels": entry.levels,
            "policy": entry.policy,
            "hierarchies": {kept.column: kept.rule for kept in entry.hierarchies},
            "as_it_was": self.as_it_was,
            "source_as_it_was": self.source_as_it_was,
        }


def ledger(source: str | os.PathLike[str]) -> list[Remembered]:
    """Return the releases that a database remembers, in the order in which they were made.

    Args:
        source: path of a DuckDB file, or the URL of a warehouse.

    Raises:
        SourceError: it cannot be opened.
        UsageError: it is no database.
    """
    with open_ledger(source, writable=False) as engine:
        return remembered_in(engine)


def forget(source: str | os.PathLike[str], which: str | int) -> list[Entry]:
    """Remove a release that was given to no one from the ledger; return what was forgotten.

    Args:
        source: as for ``ledger``.
        which: the number of the release, or its name or path; with a name, all that had it.

    Raises:
        SourceError: it cannot be opened for writing.
        UsageError: it is no database, or does not remember such a release.
    """
    with open_ledger(source, writable=True) as engine:
        return forget_in(engine, str(which))


def open_ledger(source: str | os.PathLike[str], *, writable: bool) -> DuckDBEngine:
    """Return an engine on a database.

    Raises:
        SourceError: it cannot be opened.
        UsageError: it is no database.
    """
    if is_warehouse(source):
        return open_beside_warehouse(source)
    path = Path(source)
    if path.is_file() and not is_database(path):
        raise UsageError(f"{path} is not a DuckDB database, and only a database has a ledger.")
    return open_database(path, writable=writable)


def remembered_in(engine: DuckDBEngine) -> list[Remembered]:
    """Return the releases that a database remembers."""
    return [Remembered(entry, is_as_it_was(engine, entry), _source_is(engine, entry)) for entry in entries_of(engine)]


def forget_in(engine: DuckDBEngine, which: str) -> list[Entry]:
    """Forget a release; return what was forgotten.

    Raises:
        UsageError: there is no such release.
    """
    entries = forgotten(entries_of(engine), which)
    forget_entries(engine, entries)
    return entries


def _source_is(engine: DuckDBEngine, entry: Entry) -> bool | None:
    """Tell whether the quasi-identifiers of the table are what they were."""
    schema, name = entry.source
    source = sql.relation(name, schema)
    try:
        if engine.kind_of(source) is None:
            return None
        now = source_fingerprint(engine, source, entry.quasi_identifiers)
    except KanonError:
        return None
    return now == entry.source_fingerprint
