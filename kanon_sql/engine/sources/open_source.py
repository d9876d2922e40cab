"""From what a person points at (file, connection, data frame) to a relation in an engine."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from kanon_sql.engine.base import chosen_table, closed_on_error
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.sources.addresses import (
    SQLITE_HEAD,
    Address,
    DatabaseAddress,
    ObjectAddress,
    address_of,
    is_postgres,
    is_warehouse,
    open_warehouse,
    path_in,
    written_address,
)
from kanon_sql.engine.sources.data_files import (
    FileRead,
    FrameKind,
    files_at,
    frame_kind,
    read_file,
    read_frame,
    reader_of,
)
from kanon_sql.engine.sources.layout import CSV, EXCEL, NOT_STATED, READERS, Layout, layout_of, stated
from kanon_sql.engine.sources.remote import OF_THE_SERVER, attached, copied, read_objects
from kanon_sql.engine.sources.sqlite import read_table, tables_of
from kanon_sql.engine.warehouse.warehouse import N
from kanon_sql.engine.warehouse.workbench import SCHEMA, Workbench
from kanon_sql.errors import SourceError, UsageError, VerificationError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.spark.warehouse import SparkWarehouse
    from kanon_sql.engine.warehouse.warehouse import Warehouse


_DATABASES = {".duckdb", ".db", ".ddb"}
_SMALL = 1 << 22  # bytes of a text with which there is too little to do for several threads
RELEASES = "releases"
"""The table of the ledger, in the schema of kanon's own."""


@dataclass(frozen=True)
class Preparation:
    """How the columns of a source were prepared (see ``kanon_sql.engine.sources.preparing``).

    Attributes:
        source: the table as it was.
        rules: of each column, in their order; or the expression of a new one.
        reads: by new column, the columns that its expression reads.
        statement: makes the view that stands for the table.
        unread: by column, how many values are NULL because they could not be read, where the rules allow that.
        idle: columns with a rule ``null`` that found none of its values.
    """

    source: Source
    rules: Mapping[str, tuple[str, ...]]
    reads: Mapping[str, tuple[str, ...]]
    statement: exp.Create
    unread: Mapping[str, int]
    idle: Sequence[str] = ()

    def digests(self) -> dict[str, str]:
        """Return, by column, what tells one way to prepare it from another, with the columns that it is made of."""
        own = {name: repr(rules) for name, rules in self.rules.items()}
        made_of = {name: [rules, *(own.get(read) for read in self.reads.get(name, ()))] for name, rules in own.items()}
        return {name: hashlib.sha256(repr(parts).encode()).hexdigest() for name, parts in made_of.items()}


@dataclass(frozen=True)
class HeldOut:
    """Rows of a table that are kept apart from a release of the rest (see ``kanon_sql.release.hold_out``).

    Attributes:
        source: the table as it was.
        relation: the rows that are held out.
        rows: how many they are.
        people: of how many people; None where rows are counted.
    """

    source: Source
    relation: exp.Table
    rows: int
    people: int | None


@dataclass
class Source:
    """A relation in an engine, and where it came from.

    Attributes:
        engine: runs statements on it.
        relation: how statements refer to it.
        name: what messages call it.
        columns: its columns in their order.
        database: the DuckDB file that it lives in, if it lives in one.
        file: the data file that was read, or the pattern of several.
        sheet: of it, where it is an Excel file with several.
        layout: how a file is written, as far as that was stated or found.
        delimiter: what separates values where the table is a CSV file, and a comma elsewhere.
        frame_kind: the kind of data frame that was handed in, if one was.
        setup: statements that a script must begin with to have the relation.
        address: the database of another kind, or the files on another machine, that were read.
        writable: whether tables can be made in the database.
        gone: whether a release has taken its place, so that its rows are no more.
        warehouse: where the table is, if it is not in the engine: that is then the workbench beside it.
        preparation: how its columns were prepared, if they were; the relation is a temporary view then.
        held_out: rows that are kept apart, if some are; the relation is a temporary table of the others then.
    """

    engine: DuckDBEngine
    relation: exp.Table
    name: str
    columns: tuple[Column, ...] = ()
    database: Path | None = None
    file: Path | None = None
    sheet: str | None = None
    layout: Layout = NOT_STATED
    delimiter: str = ","
    frame_kind: FrameKind | None = None
    setup: tuple[exp.Expr, ...] = ()
    address: Address | None = None
    writable: bool = True
    gone: bool = False
    warehouse: Warehouse | None = None
    preparation: Preparation | None = None
    held_out: HeldOut | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            self.columns = self.engine.columns(self.relation)
        self.engine.require_time_zone(self.columns, self.name)

    @property
    def time_zone(self) -> str | None:
        """The time zone in which labels and texts of its columns are computed; None if no column has one."""
        return self.engine.time_zone if any(column.is_zoned for column in self.columns) else None

    @property
    def table(self) -> exp.Table:
        """The relation as it was before its columns were prepared, or rows of it were held out."""
        if self.held_out is not None:
            return self.held_out.source.relation
        return self.relation if self.preparation is None else self.preparation.source.relation

    def name_beside(self, other: Source) -> str:
        """Return the name, with the schema where another table has the same name."""
        return f"{self.table.db}.{self.name}" if self.name == other.name and self.table.db else self.name

    def refuse_prepared(self, why: str) -> None:
        """Raise where columns are prepared, with what follows on ``The columns of patients are prepared, ``."""
        if self.preparation is not None:
            raise UsageError(f"The columns of {self.name} are prepared, {why}")

    def refuse_held_out(self, why: str) -> None:
        """Raise where rows are held out, with what follows on ``Rows of patients are held out, ``."""
        if self.held_out is not None:
            raise UsageError(f"Rows of {self.name} are held out, {why}")

    @property
    def in_database(self) -> bool:
        """Whether it is a table among others, which a command has to name."""
        in_warehouse = self.warehouse is not None and self.frame_kind is None
        in_file = self.database is not None or self.sheet is not None
        return in_file or in_warehouse or isinstance(self.address, DatabaseAddress)

    def require_rows(self) -> None:
        """Raise where a release has taken the place of the table."""
        if self.gone:
            raise UsageError(f"{self.name} was anonymized in place: the rows that it had are gone. Open it anew.")

    @property
    def place(self) -> str:
        """The database that the table is in, as messages and commands name it; without a password."""
        return str(self.database) if self.warehouse is None else self.warehouse.place

    @property
    def in_warehouse(self) -> bool:
        return self.warehouse is not None

    @property
    def holder(self) -> DuckDBEngine | Warehouse:
        """What has the rows of the table, and answers queries of all of them without moving any."""
        return self.engine if self.warehouse is None else self.warehouse

    @property
    def workbench(self) -> Workbench:
        """The engine beside the warehouse that the table is in; a TypeError where it is in none."""
        if not isinstance(self.engine, Workbench):
            raise TypeError("The source is in no warehouse")
        return self.engine

    @property
    def spark(self) -> SparkWarehouse:
        """The Spark that has the table; a UsageError where it is elsewhere."""
        from kanon_sql.engine.spark.warehouse import SparkWarehouse

        if not isinstance(self.warehouse, SparkWarehouse):
            raise UsageError(f"{self.name} is not in Spark: take to_pandas(), to_polars() or to_arrow().")
        return self.warehouse

    @property
    def keeps_tables(self) -> bool:
        """Whether tables of kanon's own can be kept beside it for other runs: in a DuckDB file, or in a warehouse."""
        return self.database is not None or (self.warehouse is not None and self.forgets is None)

    @property
    def forgets(self) -> str | None:
        """Why its warehouse keeps no tables for other runs, as a sentence; None if it does, or if there is none."""
        return None if self.warehouse is None else self.warehouse.forgets

    def refuse_in_warehouse(self, why: str) -> None:
        """Raise where the table is in a warehouse, with what follows on ``patients is in PostgreSQL, ``."""
        if self.warehouse is not None:
            raise UsageError(f"{self.name} is in {self.warehouse.kind}, {why}")

    def place_of_its_own(self) -> str | None:
        """Return what tells its place from those of other tables; None where it has no place that can be named."""
        if self.warehouse is not None:
            return self.warehouse.place
        if self.address is not None:
            return self.address.shown
        found = self.file or self.database
        return None if found is None else str(Path(found).resolve())

    @property
    def written_name(self) -> str:
        """Its name as commands and policy files find it again: with its schema, where the name alone is not enough."""
        found = self.table
        return f"{found.db}.{self.name}" if found.db and self.address is None and self.in_database else self.name

    @property
    def is_csv(self) -> bool:
        files = [] if self.file is None else files_at(self.file)
        return bool(files) and reader_of(files[0], self.layout) == CSV

    def why_unordered(self) -> str | None:
        """Return why the order of its rows means nothing; None if it may mean something."""
        if self.warehouse is not None:
            return f"is in {self.warehouse.kind}, where rows have no order of their own"
        if self.file is None and self.frame_kind is None and self._is_view():
            return "is a view: its rows have no order of their own"
        return None

    def _is_view(self) -> bool:
        table = self.table
        values = {"name": table.name, "schema": table.db or None, "catalog": table.catalog or None}
        (views,) = self.engine.row(sql.statement("catalog/is_view", values=values), "is it a view?")
        return bool(views)

    def sampled_by(self, sample: exp.Table) -> Source:
        """Return what stands for the table once a sample of it is in the engine: the sample, if the table is not."""
        return self if self.warehouse is None else replace(self, relation=sample, warehouse=None)

    @property
    def dialect(self) -> str:
        return self.holder.dialect

    @property
    def tuples(self) -> exp.Table:
        """What has the same different rows as the table; of one in a warehouse, what was fetched of it."""
        found = self.engine.tuples_of(self.relation) if isinstance(self.engine, Workbench) else None
        return self.relation if found is None else found

    @property
    def weight(self) -> exp.Column | None:
        """The column of ``tuples`` that says how many rows of the table each of its rows is; None if it is one."""
        return None if self.tuples is self.relation else sql.column(N)

    def bring(self, columns: Iterable[Column], person: Column | None = None) -> None:
        """Fetch columns from the warehouse by one scan, if there is one; names of people stay there."""
        if self.warehouse is not None and isinstance(self.engine, Workbench):
            self.engine.bring(self.relation, columns, person)

    def make_writable(self, of_rows: Callable[[], str] | None = None) -> None:
        """Open the database for writing if it was opened for reading, when other processes let go of it.

        With ``of_rows``, which returns a fingerprint of the rows of the table, others may have changed the file since
        it was read, but not these rows; without it, not the file.

        Raises:
            SourceError: another process has the file open for too long, or it cannot be written.
            VerificationError: another process changed the file, or the rows, before it could be opened again.
        """
        if self.writable:
            return
        before = None if of_rows is None else of_rows()
        changed = self.engine.make_writable()
        self.writable = True
        if changed and (of_rows is None or of_rows() != before):
            raise VerificationError(
                f"Another process changed {self.database} after it was read; nothing was written. Run it again."
            )


def open_source(
    source: Any,  # noqa: ANN401 - anything may be handed in; what is not understood is refused below
    table: str | None = None,
    *,
    writable: bool = False,
    as_text: bool = False,
    resources: Resources | None = None,
) -> Source:
    """Return the relation that a person points at.

    Args:
        source: path of a DuckDB, SQLite, CSV, Parquet, JSON or Excel file, or of a directory of data files; a
            ``DataFile``, whose encoding is stated; the address of a database or of data files (see ``addresses``); a
            DuckDB connection; or a pandas, polars or Arrow table.
        table: the table in a database, or the sheet in an Excel file; may be left out where there is just one.
        writable: whether a table will be created in the database.
        as_text: whether it is a published table: the values of a CSV file are taken as they are written, not as numbers
            or dates. If not, a table is the only one of a database also where there are releases of it.
        resources: what may be taken of the machine; a connection has settings of its own.

    Raises:
        SourceError: it cannot be opened or read.
        UsageError: it is nothing that can be opened, or the table is not there; or it is a connection, whose settings
            are its owner's.
    """
    if isinstance(source, duckdb.DuckDBPyConnection):
        shared = _on_connection(source, resources)
        return _from_engine(shared, table, "the connection", None, original=not as_text)
    if is_warehouse(source):
        with closed_on_error(open_beside_warehouse(source, resources)) as bench:
            return _in_warehouse(bench, source, table, original=not as_text)
    address = address_of(source)
    path = None if address is not None else _path_of(source)
    if layout_of(source) != NOT_STATED and path is not None and is_database(path):
        raise UsageError(f"{source} is a database: leave out how a file is laid out.")
    layout, usual = layout_of(source), stated()
    form = layout.format or usual.format
    if path is not None and form == "sqlite":
        address, path = written_address(f"sqlite:{path}"), None
    if path is not None and is_database(path):
        engine = open_database(path, writable=writable, resources=resources)
        return _from_engine(engine, table, str(path), path, writable=writable, original=not as_text)
    with closed_on_error(DuckDBEngine.in_memory(resources)) as engine:
        if address is not None:
            return _read_at(engine, address, table, usual.over(layout), as_text=as_text)
        if path is not None and (form == "csv" or READERS.get(path.suffix.lower()) == CSV) and path.is_file():
            engine.work_alone(alone=path.stat().st_size <= _SMALL)
        return _read(engine, source, table, layout, usual=usual, as_text=as_text)


@dataclass(frozen=True)
class OpenDatabase:
    """A database and its tables.

    Attributes:
        engine: that was opened for it; to be closed.
        place: what messages call it.
        schema: the current one.
        tables: schema and name of each table; no views, none in kanon's own schema, no releases.
        catalog: of a connection that was handed in, which may have temporary tables of the same names; else None.
    """

    engine: DuckDBEngine
    place: str
    schema: str
    tables: tuple[tuple[str, str], ...]
    catalog: str | None = None

    @property
    def holder(self) -> DuckDBEngine | Warehouse:
        """What has the rows, and answers queries of all of them without moving any."""
        return self.engine.warehouse if isinstance(self.engine, Workbench) else self.engine

    def relation(self, table: tuple[str, str]) -> exp.Table:
        schema, name = table
        bare = schema == self.schema and self.catalog is None
        return sql.relation(name) if bare else sql.relation(name, schema, self.catalog)

    def name(self, table: tuple[str, str]) -> str:
        """Return what messages and policy files call a table: with its schema, where that is not the current one."""
        return table[1] if table[0] == self.schema else ".".join(table)

    @property
    def file(self) -> Path | None:
        """The file of a DuckDB database that was opened by its path; else None."""
        return Path(self.place) if self.catalog is None and not isinstance(self.engine, Workbench) else None

    def source(self, table: tuple[str, str]) -> Source:
        """Return one of the tables as a source, in the engine of the database."""
        if isinstance(self.engine, Workbench):
            return _in_warehouse(self.engine, None, ".".join(table))
        return Source(self.engine, self.relation(table), self.name(table), database=self.file)

    def relations(self) -> list[tuple[str, str]]:
        """Return schema and name of each table and view, releases among them; but for those of kanon's own schema."""
        if isinstance(self.engine, Workbench):
            listed = self.engine.warehouse.relations()
            return [(each.schema, each.name) for each in listed if each.schema != SCHEMA and not each.is_partition]
        return self.engine.rows(sql.statement("catalog/relations"), "tables and views of the database")


def open_tables(source: Any, resources: Resources | None = None) -> OpenDatabase | None:  # noqa: ANN401 - as for ``open_source``
    """Return a DuckDB or PostgreSQL database with its tables; None where a source is none.

    Raises:
        SourceError: it cannot be opened.
    """
    catalog = None
    if isinstance(source, duckdb.DuckDBPyConnection):
        engine, place = _on_connection(source, resources), "the connection"
        ((catalog,),) = engine.rows(exp.select(exp.Anonymous(this="current_database")), "the database we are in")
    elif is_warehouse(source):
        if not is_postgres(source):
            return None
        engine = open_beside_warehouse(source, resources)
        place = engine.warehouse.place
    else:
        path = _path_of(source) if address_of(source) is None else None
        if path is None or not is_database(path):
            return None
        engine, place = open_database(path, writable=False, resources=resources), str(path)
    with closed_on_error(engine):
        if isinstance(engine, Workbench):
            schema, made = engine.warehouse.schema, _releases_there(engine.warehouse)
            there = [each for each in engine.warehouse.relations() if each.schema != SCHEMA and not each.is_partition]
            listed = [(each.schema, each.name) for each in there if each.kind == "TABLE"]
        else:
            schema, made = engine.current_schema(), _releases(engine)
            listed = engine.rows(sql.statement("catalog/base_tables"), "tables of the database")
        releases = {row[2:] for row in made}
        tables = tuple(table for table in listed if table not in releases)
        return OpenDatabase(engine, place, schema, tables, catalog)


def open_original(
    source: Any,  # noqa: ANN401 - as for ``open_source``
    original: Any,  # noqa: ANN401 - the same, or the name of a table
    original_table: str | None = None,
    resources: Resources | None = None,
) -> Source:
    """Return the original of a published table: a table beside it in its database, or a source of its own."""
    is_name = isinstance(original, str) and original_table is None and path_in(original) == original
    if is_name and not (Path(original).suffix and Path(original).exists()):
        in_file = isinstance(source, str | os.PathLike) and (is_warehouse(source) or holds_tables(source))
        if in_file or not isinstance(source, str | os.PathLike):
            return open_source(source, original, resources=resources)
    return open_source(original, original_table, resources=resources)


def _on_connection(connection: duckdb.DuckDBPyConnection, resources: Resources | None) -> DuckDBEngine:
    if resources is not None:
        raise UsageError(
            "The connection has its own memory limit, threads and temporary directory: set them there "
            "(SET memory_limit = ...), and leave resources out."
        )
    shared = DuckDBEngine(connection, owned=False)
    shared.require_builtin_functions("The connection")
    return shared


def open_beside(
    opened: Source,
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None = None,
    *,
    as_text: bool = False,
) -> Source:
    """Return a second relation, in the engine of one that is open; its database or connection is not opened again.

    Other arguments are those of ``open_source``.
    """
    engine = opened.engine
    engine.work_alone(alone=False)  # the other one may be of any size
    if is_warehouse(source) or source is opened.warehouse:
        return _beside_warehouse(opened, source, table)
    if isinstance(source, duckdb.DuckDBPyConnection):
        if source is not engine.connection:
            raise UsageError("Two connections cannot be read together: give both tables from the same connection.")
        return Source(engine, *_find_table(engine, table, "the connection"))
    path = _path_of(source) if written_address(source) is None else None
    # Not looked into: when any descriptor of a file is closed, POSIX takes all locks of the process on it away.
    if path is not None and opened.database is not None and path.exists() and path.samefile(opened.database):
        return Source(engine, *_find_table(engine, table, str(path)), database=path)
    known = path is not None and engine.has_attached(path)
    if not known and (address := address_of(source)) is not None:
        return _read_at(engine, address, table, layout_of(source), as_text=as_text)
    if path is None or not (known or is_database(path)):
        return _read(engine, source, table, layout_of(source), stated().over(opened.layout), as_text=as_text)
    _require_existing(path)
    catalog = engine.attach(path)
    return Source(engine, *_find_table(engine, table, str(path), catalog), database=path)


def open_database(path: Path, *, writable: bool, resources: Resources | None = None) -> DuckDBEngine:
    _require_existing(path)
    return DuckDBEngine.from_file(path, writable=writable, resources=resources)


def _require_existing(path: Path) -> None:
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(path), re.IGNORECASE):
        raise UsageError("An address is a source of rows and no more: name a DuckDB file here.")
    if not path.exists():
        raise SourceError(f"{path} does not exist.")


def is_database(path: Path) -> bool:
    """Tell whether a path names a DuckDB database: by its content, or by its suffix when it does not exist."""
    if not path.is_file():
        return path.suffix.lower() in _DATABASES
    with path.open("rb") as file:
        head = file.read(16)
    return head[8:12] == b"DUCK" or (path.suffix.lower() in _DATABASES and head != SQLITE_HEAD)


def holds_tables(source: str | os.PathLike[str]) -> bool:
    """Tell whether what a person points at is a database, in which other tables can be named."""
    address = address_of(source)
    return is_database(Path(source)) if address is None else isinstance(address, DatabaseAddress)


def _find_table(
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
        wanted: the name; None for the only table.
        place: what messages call the database.
        catalog: the database, if it was attached for it.
        first: the schema of it that is looked at first.
        original: whether a release is made from the table, so that its releases are not meant.
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


def _path_of(source: Any) -> Path | None:  # noqa: ANN401 - as for open_source
    if not isinstance(source, str | os.PathLike):
        return None
    text = os.fspath(source)
    scheme, separator, _ = text.partition("://")
    if separator:
        raise UsageError(f"{scheme} sources are not supported by this version: export the table to Parquet or DuckDB.")
    return Path(text)


def _read(
    engine: DuckDBEngine,
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None,
    layout: Layout,
    likely: Layout = NOT_STATED,
    *,
    usual: Layout = NOT_STATED,
    as_text: bool,
) -> Source:
    """Return a data file or a data frame as a relation in an engine; see ``read_file`` for the layouts."""
    path = _path_of(source)
    if path is not None:
        if table is not None:
            if path.is_dir() or reader_of(path, usual.over(layout)) != EXCEL:
                raise UsageError(f"{path} is a data file and has no tables: leave {table!r} out.")
            layout = replace(layout, sheet=table)
        relation = engine.temporary_name("kanon_source")
        found = read_file(engine, path, relation, layout, likely, usual=usual, as_text=as_text)
        return _of_file(engine, relation, found, found.sheet or path.name, (found.create,), file=path)
    kind = frame_kind(source)
    if kind is None:
        raise UsageError(
            f"Cannot read a {type(source).__name__}. Give the path of a DuckDB, CSV, Parquet, JSON or Excel file, a "
            "DuckDB connection, or a pandas, polars or Arrow table."
        )
    if table is not None:
        raise UsageError("A data frame has no tables: leave the table name out.")
    return Source(engine, read_frame(engine, source, kind), f"the {kind} table", frame_kind=kind)


def _of_file(
    engine: DuckDBEngine,
    relation: exp.Table,
    found: FileRead,
    name: str,
    setup: tuple[exp.Expr, ...],
    *,
    file: Path | None = None,
    address: Address | None = None,
) -> Source:
    return Source(
        engine,
        relation,
        name,
        found.columns,
        file=file,
        sheet=found.sheet,
        layout=found.layout,
        delimiter=found.delimiter,
        setup=setup,
        address=address,
    )


def _read_at(engine: DuckDBEngine, address: Address, table: str | None, layout: Layout, *, as_text: bool) -> Source:
    if isinstance(address, ObjectAddress):
        if table is not None:
            raise UsageError(f"{address.shown} is a data file and has no tables: leave {table!r} out.")
        relation, setup, found = read_objects(engine, address, layout, as_text=as_text)
        return _of_file(engine, relation, found, address.name, setup, address=address)
    if address.kind == "sqlite":
        path = Path(address.connection)
        _, name = chosen_table(tables_of(path), table, address.shown)
        relation = engine.temporary_name("kanon_source")
        create = read_table(engine, path, name, relation)
        return Source(engine, relation, name, setup=(create,), address=address)
    with attached(engine, address) as (catalog, statements):
        found_table, name = _find_table(engine, table, address.shown, catalog, address.schema)
        relation, create = copied(engine, found_table)
    return Source(engine, relation, name, setup=(*statements, create), address=address)


def _from_engine(
    engine: DuckDBEngine,
    table: str | None,
    place: str,
    database: Path | None,
    *,
    writable: bool = True,
    original: bool,
) -> Source:
    with closed_on_error(engine):
        relation, name = _find_table(engine, table, place, original=original)
        return Source(engine, relation, name, database=database, writable=writable)


def open_beside_warehouse(source: Any, resources: Resources | None = None) -> Workbench:  # noqa: ANN401 - as above
    with closed_on_error(open_warehouse(source)) as warehouse:
        return Workbench.beside(warehouse, resources)


def _beside_warehouse(opened: Source, source: Any, table: str | None) -> Source:  # noqa: ANN401 - as above
    warehouse = opened.warehouse
    if warehouse is None or not isinstance(opened.engine, Workbench):
        raise UsageError(
            f"{opened.name} is not in a warehouse, and cannot be read together with a table that is in one: export one "
            "of them to a file."
        )
    if source is not warehouse and not warehouse.is_at(source):
        raise UsageError(f"Two warehouses cannot be read together: {warehouse.place} and another one.")
    return _in_warehouse(opened.engine, source, table)


def _in_warehouse(
    engine: Workbench,
    source: Any,  # noqa: ANN401 - as above
    table: str | None,
    *,
    original: bool = False,
) -> Source:
    warehouse = engine.warehouse
    if (pointed_at := warehouse.pointed_at(source, table)) is not None:
        mirror = engine.mirror(pointed_at)
        kind: FrameKind | None = "spark" if table is None else None
        name = table or "the Spark data frame"
        return Source(engine, pointed_at, name, mirror.columns, frame_kind=kind, warehouse=warehouse)
    listed = [listed for listed in warehouse.relations() if listed.schema != SCHEMA]
    rows = [("", one.schema, one.name, int(one.schema == warehouse.schema)) for one in listed]
    relation, name = chosen_table(
        rows, table, warehouse.place, (lambda: _releases_there(warehouse)) if original else None
    )
    mirror = engine.mirror(relation)
    if not mirror.columns:
        raise UsageError(f"{name} has no columns.")
    if any(folded(column.name) == N for column in mirror.columns):
        raise UsageError(
            f"{name} has a column {N!r}, which is how the rows of a tuple are counted: rename it in a view."
        )
    return Source(engine, relation, name, mirror.columns, warehouse=warehouse)


def _releases_there(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    """Return which releases of which tables the ledger of a warehouse has; none where it cannot be read."""
    if warehouse.kind_of(sql.relation(RELEASES, SCHEMA)) is None:
        return []
    try:
        return warehouse.rows(sql.query("ledger/targets"), "releases")
    except SourceError:  # it may not be read by this user, or is not ours
        return []
