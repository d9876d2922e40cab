"""Rewriting a database so that nothing is left in its file of what was deleted or changed."""

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
        hierarchies: names of columns whose hierarchies are in it: these list values.
        waiting: names of tables of raw rows that wait to be appended to a release, with the number of rows. They stay
            unless ``drop`` names them.
        backup: the copy of the file as it was; None without one.
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
        """Return it as plain values: what ``--format json`` prints."""
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
    """Rewrite a DuckDB file: what was deleted, replaced or dropped in it is not in its bytes any more.

    A new file is made with all that is in the database now, and takes the name of the old one in one step.

    Args:
        source: path of the database.
        drop: names of tables to leave out. One of rows that wait is kanon.waiting_RELEASE.
        backup: a new file, to which the file is copied first, with all that was in it.
        listener: called with every statement before it runs.

    Raises:
        UsageError: it is no database, there is no such table, or something else rests on it.
        SourceError: another process has the file open, or it cannot be written.
    """
    path, copy = Path(source), None if backup is None else Path(backup)
    begin = time.monotonic()
    if path.is_file() and not is_database(path):
        raise UsageError(f"{path} is not a DuckDB database, and only a database keeps what was deleted.")
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
    """No table: all that is in a database goes on, or is left out."""

    published, names = Published, ()

    def __init__(self, engine: DuckDBEngine) -> None:
        self.engine = engine

    def query(self, name: str) -> exp.Query:
        raise KeyError(name)

    def table_in(self, name: str, database: str) -> exp.Table:  # noqa: ARG002 - no table goes anywhere
        raise KeyError(name)

    def verified(self, outputs: Mapping[str, exp.Expr]) -> SimpleNamespace:  # noqa: ARG002 - no table is made
        return SimpleNamespace(rows={})


def clean_statements(source: str | os.PathLike[str], *, drop: Sequence[str] = ()) -> list[exp.Expr]:
    """Return the statements that make the new database, which is then given the name of the old one."""
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
    """Return what stands around tables that are to be left out; those that refer to others first."""
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
