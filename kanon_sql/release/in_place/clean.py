"""Rewrite a database so that its file contains no deleted or changed data."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.sources.open_source import is_database, open_database
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.given import SCHEMA, WAITING, stored_hierarchies
from kanon_sql.release.in_place.facts import facts_of_table, tables_of
from kanon_sql.release.in_place.publish import InPlaceSink, TablesInPlace, bytes_used, check_backup, require_room
from kanon_sql.release.in_place.rewrite import (
    current_database,
    in_order,
    require_copyable,
    rewrite_of,
)
from kanon_sql.release.publish.publisher import Published, Releasing, publish
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Engine, Logged
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.release.in_place.facts import OtherTable, TableFacts
    from kanon_sql.release.in_place.rewrite import Rewrite


@dataclass(frozen=True)
class Cleaned:
    """A database file that was rewritten.

    Attributes:
        dropped: names of the tables that were left out.
        hierarchies: names of columns whose hierarchies are in the file: these list values.
        waiting: names of tables of raw rows that wait to be appended to a release, with the number of rows. They stay
            unless ``drop`` names them.
        backup: the copy of the original file; None if there is none.
    """

    file: Path
    bytes_before: int
    bytes_after: int
    tables: int
    dropped: tuple[str, ...]
    hierarchies: tuple[str, ...]
    waiting: dict[str, int]
    backup: Path | None
    seconds: float

    def summary(self) -> dict[str, Any]:
        """Return the result as plain values, as ``--format json`` prints it."""
        return {
            **asdict(self),
            "file": str(self.file),
            "backup": None if self.backup is None else str(self.backup),
            "seconds": round(self.seconds, 4),
        }


def clean(
    source: str | os.PathLike[str],
    *,
    drop: Sequence[str] = (),
    backup: str | os.PathLike[str] | None = None,
    listener: Callable[[Logged], None] | None = None,
) -> Cleaned:
    """Rewrite a DuckDB file, so that its bytes no longer contain deleted, replaced or dropped data.

    A new file with the present contents of the database replaces the old one in one step.

    Args:
        source: path of the database.
        drop: names of tables to leave out. A table of waiting rows is called kanon.waiting_RELEASE.
        backup: a new file to copy the original file to first, with all its data.
        listener: called with every statement before it runs.

    Raises:
        UsageError: it is not a database, a table does not exist, or something else depends on it.
        SourceError: another process has the file open, or it cannot be written.
    """
    path, copy = Path(source), None if backup is None else Path(backup)
    begin = time.monotonic()
    if path.is_file() and not is_database(path):
        raise UsageError(f"{path} is not a DuckDB database, and only a database keeps deleted rows.")
    with open_database(path, writable=True) as engine:
        engine.listener = listener
        check_backup(path, copy)
        require_room(path, bytes_used(engine), None)
        left_out = _facts(engine, drop)
        going = {(facts.schema, facts.name) for facts in left_out}
        staying = [table for table in tables_of(engine) if (table.schema, table.name) not in going]
        require_copyable(engine, staying)
        hierarchies = tuple(tree.column for tree in stored_hierarchies(engine).values())
        waiting = _waiting(engine, staying)

        def rewrite(new: str) -> Rewrite:
            return rewrite_of(engine, (), new, left_out)

        tables = TablesInPlace(_Nothing(engine), str(path), {}, rewrite, lambda: None)
        outcome = publish(InPlaceSink(tables, path, copy, dry_run=False)).in_place
    if outcome is None:
        raise TypeError("The new database was not described")
    return Cleaned(
        path,
        outcome.bytes_before,
        outcome.bytes_after,
        len([table for table in staying if table.schema != SCHEMA]),
        tuple(facts.name for facts in left_out),
        hierarchies,
        waiting,
        copy,
        time.monotonic() - begin,
    )


class _Nothing(Releasing[Published]):
    """No table: the contents of a database are copied or left out."""

    published, names = Published, ()

    def __init__(self, engine: DuckDBEngine) -> None:
        self.engine = engine

    def query(self, name: str) -> exp.Query:
        raise KeyError(name)

    def table_in(self, name: str, database: str) -> exp.Table:  # noqa: ARG002 - no table is released
        raise KeyError(name)

    def verified(self, outputs: Mapping[str, exp.Expr]) -> SimpleNamespace:  # noqa: ARG002 - no table is made
        return SimpleNamespace(rows={})


def clean_statements(source: str | os.PathLike[str], *, drop: Sequence[str] = ()) -> list[exp.Expr]:
    """Return the statements that make the new database, which then gets the name of the old one."""
    path = Path(source)
    with open_database(path, writable=False) as engine:
        left_out = _facts(engine, drop)
        rewrite = rewrite_of(engine, (), engine.unused_database("kanon_new"), left_out)
        return [*rewrite.statements(path, current_database(engine))]


def _waiting(engine: Engine, tables: Sequence[OtherTable]) -> dict[str, int]:
    """Return the tables whose rows wait to be appended to a release, each with its number of rows."""
    found = {}
    for table in tables:
        if table.schema == SCHEMA and table.name.startswith(WAITING):
            waiting = sql.relation(table.name, SCHEMA)
            (found[f"{SCHEMA}.{table.name}"],) = engine.row(sql.select_count(waiting), "how many rows wait?")
    return found


def _facts(engine: Engine, drop: Sequence[str]) -> list[TableFacts]:
    """Return the facts of tables to leave out; tables that refer to others come first."""
    there = tables_of(engine)
    chosen = []
    for wanted in drop:
        found = [
            table for table in there if folded(wanted) in {folded(table.name), folded(f"{table.schema}.{table.name}")}
        ]
        if len(found) != 1:
            listed = ", ".join(table.name for table in there if table.schema != SCHEMA)
            many = f"names {len(found)} tables: write SCHEMA.TABLE" if found else f"is no table here. There: {listed}"
            raise UsageError(f"{wanted!r} {many}.")
        chosen += found
    going = frozenset((table.schema, table.name) for table in chosen)
    last_first = reversed(in_order(chosen))
    return [facts_of_table(engine, table.schema, table.name, going) for table in last_first]
