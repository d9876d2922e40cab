"""Earlier releases in their present state: the entries of the ledger, and the rows of a release.

A table, view or file is read if it is unchanged. A release that is gone or changed is not made again: only its own rows
show what people received.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import find_column
from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.engine.sources.open_source import is_database, open_beside, open_beside_warehouse, open_database
from kanon_sql.engine.time_zones import UTC
from kanon_sql.errors import KanonError, UsageError
from kanon_sql.hierarchy.given import make_hierarchy
from kanon_sql.hierarchy.rules.texts import PrefixRule
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.policy.policy import Policy
from kanon_sql.release.append.store import batches_of
from kanon_sql.release.ledger import fingerprint
from kanon_sql.release.ledger.store import entries_of, forget_statements, forgotten
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import os

    from sqlglot import exp

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.ledger.store import Entry, KeptHierarchy


_KINDS = {"TABLE": "table", "VIEW": "view", "MATERIALIZED VIEW": "table"}
"""The kind of a relation in an entry. A materialized view counts as a table because it stores its rows."""


@dataclass(frozen=True)
class Remembered:
    """A release that a database remembers, with its present state.

    Attributes:
        as_it_was: whether the release is unchanged; None if it is gone.
        appended: the number of batches that were appended to its table (see ``kanon_sql.release.append``); None if
            none were, or if anything else changed.
        source_as_it_was: whether the columns of its source table are unchanged; None if they are gone, or cannot be
            compared because they were prepared or rows were held out.
    """

    entry: Entry
    as_it_was: bool | None
    source_as_it_was: bool | None
    appended: int | None = None

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, as ``--format json`` prints them."""
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
            "appended": self.appended,
            "source_as_it_was": self.source_as_it_was,
        }


def ledger(source: str | os.PathLike[str]) -> list[Remembered]:
    """Return the releases that a database remembers, oldest first.

    Args:
        source: path of a DuckDB file, or the URL of a warehouse.

    Raises:
        SourceError: it cannot be opened.
        UsageError: it is not a database.
    """
    with open_ledger(source, writable=False) as engine:
        return remembered_in(engine)


def forget(source: str | os.PathLike[str], which: str | int) -> list[Entry]:
    """Remove from the ledger a release that was given to nobody; return the removed entries.

    Args:
        source: as for ``ledger``.
        which: the number of the release, or its name or path. A name removes all releases that had it.

    Raises:
        SourceError: it cannot be opened for writing.
        UsageError: it is not a database, or does not remember such a release.
    """
    with open_ledger(source, writable=True) as engine:
        return forget_in(engine, str(which))


def open_ledger(source: str | os.PathLike[str], *, writable: bool) -> DuckDBEngine:
    if is_warehouse(source):
        return open_beside_warehouse(source)
    path = Path(source)
    if path.is_file() and not is_database(path):
        raise UsageError(f"{path} is not a DuckDB database, and only a database has a ledger.")
    return open_database(path, writable=writable)


def remembered_in(engine: DuckDBEngine) -> list[Remembered]:
    found = []
    for entry in entries_of(engine):
        for place in engine.keepers:  # the fingerprint contains texts of its time zone
            place.use_time_zone(entry.time_zone or UTC)
        print_now = _is_as_it_was(engine, entry)
        found.append(Remembered(entry, print_now, _source_is(engine, entry), _appended(engine, entry)))
    return found


def forget_in(engine: DuckDBEngine, which: str) -> list[Entry]:
    """Forget releases of an open database, all or none; return the removed entries."""
    entries = forgotten(entries_of(engine), which)
    with engine.keeping():
        for place in engine.keepers:
            for statement in forget_statements(entries):
                place.run(statement, "forget a release")
    return entries


def _is_as_it_was(engine: DuckDBEngine, entry: Entry) -> bool | None:
    """Return True if a release is unchanged; None if it is gone."""
    if entry.kind == "file":
        path = Path(entry.target[1])
        try:
            return fingerprint.of_file(path) == entry.fingerprint if path.is_file() else None
        except OSError:
            return None
    target = _target_of(entry)
    kind = engine.kind_of(target)
    if kind is None or _KINDS.get(kind) != entry.kind:
        return None
    if entry.kind == "view":
        return fingerprint.of_view(engine, target) == entry.fingerprint
    # Version 0.1.0 fingerprinted quasi-identifiers only.
    of_members = [entry.sensitive, []] if entry.sensitive else [[]]
    return any(_print_now(engine, entry, members) == entry.fingerprint for members in of_members)


def _print_now(engine: DuckDBEngine, entry: Entry, members: list[str]) -> str | None:
    """Return the fingerprint of the table of a release; None if it has other columns."""
    target, names = _target_of(entry), entry.quasi_identifiers
    columns = engine.columns(target)
    if any(find_column(name, columns) is None for name in [*names, *members]):
        return None
    return fingerprint.of_rows(engine, target, names, "is the earlier release what it was?", members)


def _appended(engine: DuckDBEngine, entry: Entry) -> int | None:
    """Return how many batches were appended to a table; None if none were, or if anything else changed."""
    target = _target_of(entry)
    batches = batches_of(engine, target) if entry.kind == "table" and engine.kind_of(target) == "TABLE" else []
    return len(batches) if batches and _print_now(engine, entry, entry.sensitive) == batches[-1].release else None


def _source_is(engine: DuckDBEngine, entry: Entry) -> bool | None:
    """Return True if the columns of the source table are unchanged; None if its quasi-identifiers are gone."""
    schema, name = entry.source
    source = sql.relation(name, schema)
    if entry.prepared or entry.hold_out:  # its fingerprint is of prepared columns, or of some of the rows
        return None
    try:
        if engine.kind_of(source) is None:
            return None
        columns = engine.columns(source)
        return any(
            fingerprint.of_source(engine, source, names) == entry.source_fingerprint
            for names in dict.fromkeys(map(tuple, (entry.fingerprinted_source, entry.quasi_identifiers)))
            if [*names] == entry.quasi_identifiers or all(find_column(name, columns) is not None for name in names)
        )
    except KanonError:
        return None


def _target_of(entry: Entry) -> exp.Table:
    schema, name = entry.target
    return sql.relation(name, schema)


# The rows of an earlier release


class CannotBeCheckedError(Exception):
    """An earlier release cannot be read; the text says why. Always caught, never shown by itself."""

    def __init__(self, why: str = "", way_out: str = "Put it back as it was") -> None:
        super().__init__(why)
        self.way_out = way_out


def read_earlier(source: Source, entry: Entry) -> exp.Table:
    needed = f"the {entry.kind} {entry.name} is needed for that, and"
    as_it_was = _is_as_it_was(source.engine, entry)
    if not as_it_was:
        raise CannotBeCheckedError(f"{needed} {'is gone' if as_it_was is None else 'was changed'}")
    if entry.kind != "file":
        return _target_of(entry)
    try:
        return open_beside(source, Path(entry.target[1]), as_text=True).relation
    except KanonError:
        raise CannotBeCheckedError(f"{needed} cannot be read") from None


def column_of(source: Source, kept: KeptHierarchy) -> Column:
    column = find_column(kept.column, source.columns)
    if column is None:
        raise CannotBeCheckedError(f"its column {kept.column!r} is not in the table any more")
    return column


def hierarchy_again(source: Source, kept: KeptHierarchy) -> Hierarchy:
    """Return the hierarchy that a release was made with, to look up its labels."""
    column = column_of(source, kept)
    rules = {} if kept.rule is None else {column.name: kept.rule}
    needed = f"the hierarchy of its column {kept.column!r}{'' if kept.rule is None else f' ({kept.rule})'}"
    try:
        made = make_hierarchy(source, column, Policy(hierarchies=rules))
    except KanonError:
        raise CannotBeCheckedError(f"{needed} cannot be read any more") from None
    # A hierarchy that is built from the values of the column grows with them, but labels of existing values stay. A
    # user's file of prefixes may have changed.
    rule = None if kept.rule is None else parse_rule(kept.rule)
    own_prefixes = isinstance(rule, PrefixRule) and not rule.is_ready_made
    grows = made.definition is not None and not own_prefixes
    if not grows and fingerprint.of_hierarchy(source.engine, made) != kept.fingerprint:
        raise CannotBeCheckedError(f"{needed} is another one now")
    return made
