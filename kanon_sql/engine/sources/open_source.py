"""Open a file, connection, address or data frame as a relation in an engine."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from kanon_sql.engine.base import chosen_table, closed_on_error, named_once
from kanon_sql.engine.capabilities import require
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.sources.addresses import (
    SQLITE_HEAD,
    Address,
    DatabaseAddress,
    ObjectAddress,
    head_of,
    is_warehouse,
    open_warehouse,
    path_in,
    place_of,
    shown_source,
    sqlite_at,
    warehouse_of,
)
from kanon_sql.engine.sources.data_files import FrameKind, read_file, read_frame, reader_of
from kanon_sql.engine.sources.layout import CSV, EXCEL, NOT_STATED, READERS, Layout, layout_of, stated
from kanon_sql.engine.sources.lines import read_by_library
from kanon_sql.engine.sources.reading import FileRead
from kanon_sql.engine.sources.remote import read_objects
from kanon_sql.engine.warehouse.warehouse import N
from kanon_sql.engine.warehouse.workbench import SCHEMA, Workbench
from kanon_sql.errors import SourceError, UsageError, VerificationError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.warehouse.warehouse import Warehouse

_DATABASES = {".duckdb", ".db", ".ddb"}
_SMALL = 1 << 22  # bytes of text up to which one thread is as fast as several
_NO_FILE = FileRead(exp.Create(), (), NOT_STATED)
RELEASES = "releases"
"""The table of the ledger, in kanon's own schema."""


@dataclass(frozen=True)
class Preparation:
    """The preparation of the columns of a source (see ``kanon_sql.engine.sources.preparing``)."""

    source: Source  # the table before
    rules: Mapping[str, tuple[str, ...]]  # of each column, in order; or the expression of a new one
    reads: Mapping[str, tuple[str, ...]]  # by new column, the columns that its expression reads
    statement: exp.Create  # makes the view that replaces the table
    unread: Mapping[str, int]  # by column, the number of values that became NULL because they could not be read
    idle: Sequence[str] = ()  # columns with a rule ``null`` that matched no value

    def digests(self) -> dict[str, str]:
        """Return, by column, a digest of its rules and of those of the columns that it reads."""
        own = {name: repr(rules) for name, rules in self.rules.items()}
        made_of = {name: [rules, *(own.get(read) for read in self.reads.get(name, ()))] for name, rules in own.items()}
        return {name: hashlib.sha256(repr(parts).encode()).hexdigest() for name, parts in made_of.items()}


@dataclass(frozen=True)
class HeldOut:
    """Rows of a source that are kept apart from a release of the rest (see ``kanon_sql.release.hold_out``)."""

    source: Source
    relation: exp.Table
    rows: int
    people: int | None  # None if rows are counted


@dataclass
class Source:
    """A relation in an engine, and its origin."""

    engine: DuckDBEngine
    relation: exp.Table
    name: str  # in messages
    columns: tuple[Column, ...] = ()
    database: Path | None = None  # the DuckDB file that contains it
    file: Path | None = None  # the data file, or the pattern of several
    read: FileRead = _NO_FILE  # how data files were read
    frame_kind: FrameKind | None = None
    setup: tuple[exp.Expr, ...] = ()  # statements at the start of a script that create the relation
    address: Address | None = None
    gone: bool = False  # True once the table was anonymized in place
    warehouse: Warehouse | None = None  # contains the table; the engine is then the workbench
    preparation: Preparation | None = None  # the relation is then a temporary view
    held_out: HeldOut | None = None  # the relation is then a temporary table of the other rows

    def __post_init__(self) -> None:
        if not self.columns:
            self.columns = self.engine.columns(self.relation)
        named_once([column.name for column in self.columns], self.name)  # warehouse names can differ in case alone
        self.engine.require_time_zone(self.columns, self.name)

    @property
    def time_zone(self) -> str | None:
        """The time zone of labels and texts of its columns; None if no column needs one."""
        return self.engine.time_zone if any(column.is_zoned for column in self.columns) else None

    @property
    def table(self) -> exp.Table:
        """The relation before preparation of its columns and before rows were held out."""
        before = self.held_out or self.preparation
        return self.relation if before is None else before.source.relation

    def name_beside(self, other: Source) -> str:
        """Return the name, with the schema if the other table has the same name."""
        return f"{self.table.db}.{self.name}" if self.name == other.name and self.table.db else self.name

    def refuse_prepared(self, why: str) -> None:
        if self.preparation is not None:
            raise UsageError(f"The columns of {self.name} are prepared, {why}")

    def refuse_held_out(self, why: str) -> None:
        if self.held_out is not None:
            raise UsageError(f"Rows of {self.name} are held out, {why}")

    def require(self, row: str, called: str | None = None, error: type[UsageError] = UsageError) -> None:
        """Raise if its warehouse lacks a capability (``engine.capabilities``)."""
        if self.warehouse is not None:
            require(row, self.warehouse.kind, called, error)

    def require_rows(self) -> None:
        if self.gone:
            raise UsageError(f"{self.name} was anonymized in place: the rows that it had are gone. Open it again.")

    @property
    def in_database(self) -> bool:
        """True if it is one of several tables, so that a command must name it."""
        if self.warehouse is not None:
            return self.frame_kind is None
        return self.database is not None or self.read.sheet is not None or isinstance(self.address, DatabaseAddress)

    @property
    def home(self) -> object:
        """The database that may have other tables, for ``open_beside``; None for files and data frames."""
        if self.warehouse is not None:
            return self.warehouse
        if self.file is not None or self.frame_kind is not None or isinstance(self.address, ObjectAddress):
            return None
        return self.database or (self.engine.connection if self.address is None else self.address.given)

    @property
    def place(self) -> str:
        """The database of the table, for messages and commands."""
        return str(self.database) if self.warehouse is None else self.warehouse.place

    @property
    def in_warehouse(self) -> bool:
        return self.warehouse is not None

    @property
    def holder(self) -> DuckDBEngine | Warehouse:
        """The engine or warehouse that has the rows and answers queries of all of them in place."""
        return self.engine if self.warehouse is None else self.warehouse

    @property
    def workbench(self) -> Workbench:
        """The engine beside its warehouse. Raises TypeError if it is in none."""
        if not isinstance(self.engine, Workbench):
            raise TypeError("The source is in no warehouse")
        return self.engine

    @property
    def keeps_tables(self) -> bool:
        """True if kanon's own tables can be kept beside it for other runs: in a DuckDB file, or in a warehouse."""
        return self.holder.forgets is None and (self.database is not None or self.in_warehouse)

    @property
    def written_name(self) -> str:
        """Its name in commands and policy files: with the schema if the name alone is ambiguous."""
        found = self.table
        return f"{found.db}.{self.name}" if found.db and self.address is None and self.in_database else self.name

    @property
    def on_command_line(self) -> tuple[str, ...]:
        """The arguments that name the table in commands."""
        if self.database is not None:
            return (str(self.database), self.written_name)
        if self.address is not None:
            return (self.address.shown, *([self.name] if isinstance(self.address, DatabaseAddress) else []))
        if self.file is not None:
            return (shown_source(str(self.file)), *filter(None, [self.read.sheet]))
        return ("SOURCE", *([self.written_name] if self.frame_kind is None else []))

    @property
    def is_csv(self) -> bool:
        return self.file is not None and self.read.reader == CSV

    def why_unordered(self) -> str | None:
        """Return why the order of its rows has no meaning; None if it may have one."""
        if self.warehouse is not None:
            return f"is in {self.warehouse.kind}, where rows have no order of their own"
        if self.file is not None or self.frame_kind is not None:
            return None
        values = {"name": self.table.name, "schema": self.table.db or None, "catalog": self.table.catalog or None}
        (views,) = self.engine.row(sql.statement("catalog/is_view", values=values), "is it a view?")
        return "is a view: its rows have no order of their own" if views else None

    @property
    def tuples(self) -> exp.Table:
        """The table of its distinct rows if they were fetched from a warehouse, else the table itself."""
        found = self.engine.tuples_of(self.relation) if isinstance(self.engine, Workbench) else None
        return self.relation if found is None else found

    @property
    def weight(self) -> exp.Column | None:
        """The column of ``tuples`` that counts the rows of the table; None if each is one row."""
        return None if self.tuples is self.relation else sql.column(N)

    def bring(self, columns: Iterable[Column], person: Column | None = None) -> None:
        """Fetch columns from the warehouse, if there is one, in one scan; names of people stay there."""
        if self.in_warehouse:
            self.workbench.bring(self.relation, columns, person)

    def make_writable(self, of_rows: Callable[[], str] | None = None) -> None:
        """Open the database for writing, once other processes have closed it.

        Raises a VerificationError if one changed the file; or, with ``of_rows``, the fingerprint of the rows.
        """
        if self.engine.is_writable:
            return
        before = None if of_rows is None else of_rows()
        if self.engine.make_writable() and (of_rows is None or of_rows() != before):
            raise VerificationError(
                f"Another process changed {self.database} after it was read; nothing was written. Run it again."
            )


def open_source(
    source: object,
    table: str | None = None,
    *,
    writable: bool = False,
    as_text: bool = False,
    resources: Resources | None = None,
) -> Source:
    """Open a table of a path, a ``DataFile``, an address (see ``addresses``), a connection or a data frame.

    ``table`` is optional if there is only one; its releases do not count. Open a published table ``as_text``: values of
    a CSV file stay unchanged, and releases count. ``writable`` is for a DuckDB file.
    """
    if (database := _open_database_at(source, resources, writable=writable)) is not None:
        with closed_on_error(engine := database.engine):
            if isinstance(engine, Workbench):
                return _in_warehouse(engine, source, table, original=not as_text)
            named = _find_table(engine, table, database.place, original=not as_text)
            return Source(engine, *named, database=database.file)
    with closed_on_error(DuckDBEngine.in_memory(resources)) as engine:
        if isinstance(source, str | os.PathLike) and (path := Path(source)).is_file():
            suffix = layout_of(source).over(stated()).suffix or path.suffix.lower()
            is_small = READERS.get(suffix) == CSV and path.stat().st_size <= _SMALL
            engine.work_alone(alone=is_small)
        return _read(engine, source, table, usual=stated(), as_text=as_text)


def open_beside(opened: Source, source: object, table: str | None = None, *, as_text: bool = False) -> Source:
    """Open a second table in the engine of the first; its database or connection is not opened again."""
    engine, warehouse = opened.engine, opened.warehouse
    engine.work_alone(alone=False)  # the second table may have any size
    if is_warehouse(source) or source is warehouse:
        if warehouse is None:
            raise UsageError(f"{opened.name} is not in a warehouse, and the other table is: export one to a file.")
        if source is not warehouse and getattr(source, "sparkSession", source) not in warehouse.given:
            raise UsageError(f"Two warehouses cannot be read together: {warehouse.place} and another one.")
        return _in_warehouse(opened.workbench, source, table)
    if isinstance(source, duckdb.DuckDBPyConnection):
        if source is not engine.connection:
            raise UsageError("Two connections cannot be read together: give both tables from the same connection.")
        return Source(engine, *_find_table(engine, table, "the connection"))
    if isinstance(path := place_of(source), Path):
        # Do not read the head of an open database: closing the file would drop DuckDB's lock on it (see ``place_of``).
        is_open = opened.database is not None and path.exists() and path.samefile(opened.database)
        if is_open or engine.has_attached(path) or is_database(path):
            catalog = None if is_open else engine.attach(_existing(path))
            return Source(engine, *_find_table(engine, table, str(path), catalog), database=path)
    return _read(engine, source, table, likely=stated().over(opened.read.layout), as_text=as_text)


def open_named(
    opened: Source, name: object, table: str | None = None, *, beside: Source | None = None, as_text: bool = False
) -> Source:
    """Open a table by name in an open database (its own or a second one), or a separate source."""
    home = (beside or opened).home
    if isinstance(name, str) and table is None and home is not None and not is_elsewhere(name):
        return open_beside(opened, home, name)
    return open_beside(opened, name, table, as_text=as_text)


def is_elsewhere(name: str) -> bool:
    """Return True if a text is a path, a pattern or an address, and not the name of a table."""
    path = Path(name)
    is_path = bool(path.suffix or os.sep in name) and (path.exists() or any(sign in name for sign in "*?["))
    return is_path or path_in(name) != name


def open_original(
    source: object, original: object, original_table: str | None = None, resources: Resources | None = None
) -> Source:
    """Open the original of a published table: a table in the same database, or a separate source."""
    place = place_of(source)
    is_path = isinstance(place, Path) and not is_database(place) and head_of(place) != SQLITE_HEAD
    is_alone = is_path or isinstance(place, ObjectAddress) or original_table is not None
    if isinstance(original, str) and not is_alone and not is_elsewhere(original):
        return open_source(source, original, resources=resources)
    return open_source(original, original_table, resources=resources)


@dataclass(frozen=True)
class OpenDatabase:
    """A database and its tables."""

    engine: DuckDBEngine
    place: str
    schema: str = ""
    tables: tuple[tuple[str, str], ...] = ()  # schema and name of each table that is not a release
    catalog: str | None = None  # of a connection, which may have temporary tables of the same names
    file: Path | None = None

    @property
    def holder(self) -> DuckDBEngine | Warehouse:
        """The engine or warehouse that has the rows and answers queries of all of them in place."""
        return self.engine.warehouse if isinstance(self.engine, Workbench) else self.engine

    def relation(self, table: tuple[str, str]) -> exp.Table:
        schema, name = table
        bare = schema == self.schema and self.catalog is None
        return sql.relation(name) if bare else sql.relation(name, schema, self.catalog)

    def name(self, table: tuple[str, str]) -> str:
        """Return the name of a table in messages and policy files: with its schema unless that is the current one."""
        return table[1] if table[0] == self.schema else ".".join(table)

    def source(self, table: tuple[str, str]) -> Source:
        if isinstance(self.engine, Workbench):
            return _in_warehouse(self.engine, None, ".".join(table))
        return Source(self.engine, self.relation(table), self.name(table), database=self.file)

    def relations(self, kind: str | None = None) -> list[tuple[str, str]]:
        """Return schema and name of all tables and views, or of one kind, without those of kanon's own schema."""
        listed = _listed(self.engine)
        return [(schema, name) for _, schema, name, _, own, is_here in listed if is_here and kind in {None, own}]


def open_tables(source: object, resources: Resources | None = None) -> OpenDatabase | None:
    """Open a DuckDB or PostgreSQL database; None if a source is neither."""
    if warehouse_of(source) == "spark" or (found := _open_database_at(source, resources)) is None:
        return None
    with closed_on_error(engine := found.engine):
        catalog = None
        if isinstance(source, duckdb.DuckDBPyConnection):
            (catalog,) = engine.row(exp.select(exp.Anonymous(this="current_database")), "the database we are in")
        schema = engine.warehouse.schema if isinstance(engine, Workbench) else engine.current_schema()
        releases = {row[2:] for row in _releases(engine)}
        tables = tuple(table for table in found.relations("TABLE") if table not in releases)
        return replace(found, schema=schema, tables=tables, catalog=catalog)


def _open_database_at(source: object, resources: Resources | None, *, writable: bool = False) -> OpenDatabase | None:
    """Open a connection, a warehouse or a DuckDB file, without listing its tables; None if a source is none of them."""
    if isinstance(source, duckdb.DuckDBPyConnection):
        if resources is not None:
            raise UsageError("The connection has its own memory limit and threads (SET ...): leave resources out.")
        shared = DuckDBEngine(source, owned=False)
        shared.require_builtin_functions("The connection")
        return OpenDatabase(shared, "the connection")
    if is_warehouse(source):
        bench = open_beside_warehouse(source, resources)
        return OpenDatabase(bench, bench.warehouse.place)
    path = place_of(source)
    if not isinstance(path, Path) or not is_database(path):
        return None
    if layout_of(source) != NOT_STATED:
        raise UsageError(f"{source} is a database: leave out how a file is laid out.")
    if stated().format == "sqlite":
        return None
    return OpenDatabase(open_database(path, writable=writable, resources=resources), str(path), file=path)


def open_beside_warehouse(source: object, resources: Resources | None = None) -> Workbench:
    with closed_on_error(open_warehouse(source)) as warehouse:
        return Workbench.beside(warehouse, resources)


def open_database(path: Path, *, writable: bool, resources: Resources | None = None) -> DuckDBEngine:
    return DuckDBEngine.from_file(_existing(path), writable=writable, resources=resources)


def _existing(path: Path) -> Path:
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(path), re.IGNORECASE):
        raise UsageError("An address is a source of rows and no more: name a DuckDB file here.")
    if not path.exists():
        raise SourceError(f"{path} does not exist.")
    return path


def is_database(path: Path) -> bool:
    """Return True if a path is a DuckDB database: by its content, or by its suffix if that is inconclusive."""
    head = head_of(path)
    return head[8:12] == b"DUCK" or (path.suffix.lower() in _DATABASES and head != SQLITE_HEAD)


def _find_table(
    engine: DuckDBEngine, wanted: str | None, place: str, catalog: str | None = None, *, original: bool = False
) -> tuple[exp.Table, str]:
    """Return a table by its name, and its exact name; without a name, the only table.

    Releases do not count if an ``original`` is wanted.
    """
    listed = _listed(engine)
    if catalog is not None:
        rows = engine.rows(sql.statement("catalog/tables"), "find the table")
        listed = [row for row in rows if row[0] == catalog]
    return chosen_table(listed, wanted, place, (lambda: _releases(engine)) if original else None)


def _listed(engine: DuckDBEngine) -> list[tuple[Any, ...]]:
    """Return the tables and views that can be named, by ``sql/catalog.sql``."""
    if not isinstance(engine, Workbench):
        return engine.rows(sql.statement("catalog/tables"), "find the table")
    here, there = engine.warehouse.schema, [one for one in engine.warehouse.relations() if one.schema != SCHEMA]
    return [("", one.schema, one.name, int(one.schema == here), one.kind, not one.is_partition) for one in there]


def _releases(engine: DuckDBEngine) -> list[tuple[Any, ...]]:
    """Return the recorded releases of tables in a database; none if its ledger cannot be read."""
    ledger = sql.statement("catalog/kind_of_relation", values={"name": RELEASES, "schema": SCHEMA})
    if not engine.rows(ledger, "is there a ledger?"):
        return []
    try:
        return engine.rows(sql.statement("ledger/targets"), "releases")
    except SourceError:  # another table of that name
        return []


def _in_warehouse(engine: Workbench, source: object, table: str | None, *, original: bool = False) -> Source:
    warehouse = engine.warehouse
    kind: FrameKind | None = None
    if (found := warehouse.pointed_at(source, table)) is None:
        relation, name = _find_table(engine, table, warehouse.place, original=original)
    else:
        relation, name = found, table or "the Spark data frame"
        kind = "spark" if table is None else None
    columns = engine.mirror(relation).columns
    if not columns:
        raise UsageError(f"{name} has no columns.")
    if any(folded(column.name) == N for column in columns):
        raise UsageError(f"{name} has a column {N!r}, a name that is taken: rename it in a view.")
    return Source(engine, relation, name, columns, frame_kind=kind, warehouse=warehouse)


def _read(
    engine: DuckDBEngine,
    source: object,
    table: str | None,
    *,
    usual: Layout = NOT_STATED,
    likely: Layout = NOT_STATED,
    as_text: bool,
) -> Source:
    """Read a data frame, or a file or table at a path or an address, into an engine (see ``read_file``)."""
    layout, place = layout_of(source), place_of(source)
    if isinstance(place, Path) and (layout.over(usual).format == "sqlite" or head_of(place) == SQLITE_HEAD):
        place = sqlite_at(place)
    if place is None:
        relation, kind = read_frame(engine, source, table)
        return Source(engine, relation, f"the {kind} table", frame_kind=kind)
    relation = engine.temporary_name("kanon_source")
    if isinstance(place, DatabaseAddress):
        found = read_by_library(engine, place.file, relation, Layout(format="sqlite", sheet=table))
        return Source(engine, relation, str(found.sheet), found.columns, setup=(found.create,), address=place)
    if table is not None:
        path = place if isinstance(place, Path) else Path(place.path)
        if path.is_dir() or reader_of(path, layout.over(usual)) != EXCEL:
            raise UsageError(f"{path} is a data file and has no tables: leave {table!r} out.")
        layout = replace(layout, sheet=table)
    if isinstance(place, Path):
        read = read_file(engine, place, relation, layout, likely, usual=usual, as_text=as_text)
        name = read.sheet or place.name
        return Source(engine, relation, name, read.columns, file=place, read=read, setup=(read.create,))
    read, before = read_objects(engine, place, relation, layout.over(usual))
    setup = (before, read.create)
    return Source(engine, relation, place.path.name, read.columns, read=read, setup=setup, address=place)
