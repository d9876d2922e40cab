"""From what a person points at (file, connection, data frame) to a relation in an engine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb
from sqlglot import exp

from kanon_sql import sql
from kanon_sql.engine.duckdb import DuckDBEngine
from kanon_sql.engine.files import read_file
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.names import folded
from kanon_sql.roles import named_once

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.resources import Resources

FrameKind = Literal["pandas", "polars", "arrow"]

_DATABASES = {".duckdb", ".db", ".ddb"}


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
        frame_kind: the kind of data frame that was handed in, if one was.
        setup: statements that a script must begin with to have the relation.
        writable: whether tables can be made in the database.
        gone: whether a release has taken its place, so that its rows are no more.
    """

    engine: DuckDBEngine
    relation: exp.Table
    name: str
    columns: tuple[Column, ...] = ()
    database: Path | None = None
    file: Path | None = None
    frame_kind: FrameKind | None = None
    setup: tuple[exp.Expr, ...] = ()
    writable: bool = True
    gone: bool = False

    def __post_init__(self) -> None:
        if not self.columns:
            self.columns = self.engine.columns(self.relation)

    def require_rows(self) -> None:
        """Raise where a release has taken the place of the table.

        Raises:
            UsageError: it has.
        """
        if self.gone:
            raise UsageError(f"{self.name} was anonymized in place: the rows that it had are gone. Open it anew.")

    def make_writable(self) -> None:
        """Open the database for writing if it was opened for reading.

        Raises:
            SourceError: another process has the file open.
        """
        if not self.writable:
            self.engine.make_writable()
            self.writable = True


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
        source: path of a DuckDB, CSV, Parquet or JSON file; a DuckDB connection; or a pandas, polars or Arrow
            table.
        table: the table in a database; may be left out where there is just one.
        writable: whether a table will be created in the database.
        as_text: whether the values of a CSV file are to be taken as they are written, not as numbers or dates.
        resources: what may be taken of the machine; a connection has settings of its own.

    Raises:
        SourceError: it cannot be opened or read.
        UsageError: it is nothing that can be opened, or the table is not there; or it is a connection, whose settings
            are its owner's.
    """
    if isinstance(source, duckdb.DuckDBPyConnection):
        if resources is not None:
            raise UsageError(
                "The connection has its own memory limit, threads and temporary directory: set them there "
                "(SET memory_limit = ...), and leave resources out."
            )
        return _from_engine(DuckDBEngine(source, owned=False), table, "the connection", None)
    path = _path_of(source)
    if path is not None and is_database(path):
        engine = open_database(path, writable=writable, resources=resources)
        return _from_engine(engine, table, str(path), path, writable=writable)
    engine = DuckDBEngine.in_memory(resources)
    try:
        return _read(engine, source, table, as_text=as_text)
    except BaseException:
        engine.close()
        raise


def open_beside(
    opened: Source,
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None = None,
    *,
    as_text: bool = False,
) -> Source:
    """Return a second relation that a person points at, in the engine of one that is open.

    Args:
        opened: the first one.
        source: as for ``open_source``; the database or connection of the first one is not opened again.
        table: the table in a database.
        as_text: whether the values of a CSV file are to be taken as they are written.

    Raises:
        SourceError: it cannot be opened or read.
        UsageError: it is nothing that can be opened, or the table is not there.
    """
    engine = opened.engine
    if isinstance(source, duckdb.DuckDBPyConnection):
        if source is not engine.connection:
            raise UsageError("Two connections cannot be read together: give both tables from the same connection.")
        return Source(engine, *_find_table(engine, table, "the connection"))
    path = _path_of(source)
    # Not looked into: when any descriptor of a file is closed, POSIX takes all locks of the process on it away.
    if path is not None and opened.database is not None and path.exists() and path.samefile(opened.database):
        return Source(engine, *_find_table(engine, table, str(path)), database=path)
    if path is None or not (engine.has_attached(path) or is_database(path)):
        return _read(engine, source, table, as_text=as_text)
    _require_existing(path)
    catalog = engine.attach(path)
    return Source(engine, *_find_table(engine, table, str(path), catalog), database=path)


def open_database(path: Path, *, writable: bool, resources: Resources | None = None) -> DuckDBEngine:
    """Return an engine on a DuckDB file, whatever tables it has.

    Raises:
        SourceError: the file is missing or cannot be opened.
    """
    _require_existing(path)
    return DuckDBEngine.from_file(path, writable=writable, resources=resources)


def _require_existing(path: Path) -> None:
    if not path.exists():
        raise SourceError(f"{path} does not exist.")


def is_database(path: Path) -> bool:
    """Tell whether a path names a DuckDB database: by its content, or by its suffix when it does not exist."""
    if not path.is_file():
        return path.suffix.lower() in _DATABASES
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(b"SQLite format 3"):
        raise SourceError(f"{path} is an SQLite database; copy the table into DuckDB (ATTACH ... (TYPE sqlite)) first.")
    return head[8:12] == b"DUCK" or path.suffix.lower() in _DATABASES


def frame_kind(value: Any) -> FrameKind | None:  # noqa: ANN401 - asks what kind of value this is
    """Return which kind of data frame a value is, without importing any library for it."""
    kinds: dict[tuple[str, str], FrameKind] = {
        ("pandas", "DataFrame"): "pandas",
        ("polars", "DataFrame"): "polars",
        ("polars", "LazyFrame"): "polars",
        ("pyarrow", "Table"): "arrow",
    }
    return kinds.get((type(value).__module__.partition(".")[0], type(value).__name__))


def _path_of(source: Any) -> Path | None:  # noqa: ANN401 - as for open_source
    """Return the path that a source is; None where it is something else."""
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
    *,
    as_text: bool,
) -> Source:
    """Return what is in no database, a data file or a data frame, as a relation in an engine."""
    path = _path_of(source)
    if path is not None:
        if table is not None:
            raise UsageError(f"{path} is a data file and has no tables: leave {table!r} out.")
        relation = engine.temporary_name("kanon_source")
        create = read_file(engine, path, relation, as_text=as_text)
        return Source(engine, relation, path.name, file=path, setup=(create,))
    kind = frame_kind(source)
    if kind is None:
        raise UsageError(
            f"Cannot read a {type(source).__name__}. Give the path of a DuckDB, CSV, Parquet or JSON file, a DuckDB "
            "connection, or a pandas, polars or Arrow table."
        )
    if table is not None:
        raise UsageError("A data frame has no tables: leave the table name out.")
    return Source(engine, _read_frame(engine, source, kind), f"the {kind} table", frame_kind=kind)


def _from_engine(
    engine: DuckDBEngine, table: str | None, place: str, database: Path | None, *, writable: bool = True
) -> Source:
    try:
        relation, name = _find_table(engine, table, place)
        return Source(engine, relation, name, database=database, writable=writable)
    except BaseException:
        engine.close()
        raise


def _find_table(
    engine: DuckDBEngine, wanted: str | None, place: str, catalog: str | None = None
) -> tuple[exp.Table, str]:
    """Return a table by its name, and the name as it is; ``catalog`` is the database, if it was attached for it."""
    listed = engine.rows(sql.statement("tables"), "find the table")
    if catalog is not None:
        listed = [row for row in listed if row[0] == catalog]
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
    return (sql.relation(name) if nearness else sql.relation(name, schema, catalog)), name


def _list(listed: list[tuple[Any, ...]]) -> str:
    shown = 20
    names = ", ".join(str(row[2]) for row in listed[:shown])
    return f". There: {names}{', ...' if len(listed) > shown else ''}" if listed else ""


def _read_frame(engine: DuckDBEngine, frame: Any, kind: FrameKind) -> exp.Table:  # noqa: ANN401 - of a library that need not be installed
    """Return a temporary table with the rows of a data frame."""
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    names = frame.column_names if kind == "arrow" else frame.columns
    if not len(names):
        raise UsageError(f"The {kind} table has no columns.")
    named_once([str(name) for name in names], f"The {kind} table")
    try:
        engine.connection.register("kanon_frame", frame)
    except duckdb.Error:
        raise SourceError(f"The {kind} table cannot be read: a column holds values of several types.") from None
    relation = engine.temporary_name("kanon_source")
    copy = exp.select("*").from_(sql.relation("kanon_frame"))
    engine.run(sql.create_table(relation, copy, temporary=True), "read the data frame")
    engine.connection.unregister("kanon_frame")
    return relation
