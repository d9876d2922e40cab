"""Data files and data frames: build the statement that reads a path or a frame.

CSV files are read by a layout (see ``reading``). ``""`` is an empty text, and nothing between two delimiters is NULL;
in a column of numbers, dates or times both are NULL.
"""

from __future__ import annotations

import glob
import re
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

import duckdb
from sqlglot import exp

from kanon_sql.engine.base import named_once
from kanon_sql.engine.sources.addresses import path_in
from kanon_sql.engine.sources.encodings import (
    PACKED,
    as_plain_text,
    is_utf8,
    marked_encoding,
    require_utf8,
    unreadable,
)
from kanon_sql.engine.sources.layout import CSV, EXCEL, JSON, NOT_STATED, PARQUET, READERS, STATISTICS, UTF_8, Layout
from kanon_sql.engine.sources.lines import read_by_library
from kanon_sql.engine.sources.reading import FileRead, Files, read_csv, read_from
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.engine import DuckDBEngine

_ANY_DEPTH = "**"
_RENAMED = re.compile(r"(.*)_\d+")


def reader_of(path: PurePath, layout: Layout = NOT_STATED) -> str:
    """Return the reader of a file: by the stated format, or else by its suffix."""
    inner = path.with_suffix("") if path.suffix.lower() in PACKED else path
    reader = READERS.get(layout.suffix or inner.suffix.lower())
    if reader is None:
        raise UsageError(
            f"{path} is neither a DuckDB database nor a data file that is known here: {', '.join(READERS)}. If it is "
            "one of these under another suffix, say which: --read format=csv."
        )
    return reader


def read_file(
    engine: DuckDBEngine,
    path: Path,
    relation: exp.Table,
    layout: Layout = NOT_STATED,
    likely: Layout = NOT_STATED,
    *,
    usual: Layout = NOT_STATED,
    as_text: bool = False,
    texts: Collection[str] = (),
) -> FileRead:
    """Load a data file as a relation.

    Text is parsed once, into a table; Parquet is read in place, column by column. The path may be a directory of files
    of one kind, or a pattern with ``*``, ``**``, ``?`` and ``[...]``. Columns of several files are matched by name.

    The ``layout`` is stated for this file, and ``usual`` for files in general, whatever their format. ``likely`` is the
    layout of the file beside it: its decimal sign is used, and its encoding is tried if the file is not UTF-8. With
    ``as_text``, CSV values stay unchanged, as do JSON values that would be floats or dates; so do the CSV columns in
    ``texts``.
    """
    pattern = _pattern(path, layout.over(usual))
    reader = reader_of(Path(pattern) if path.is_dir() else path, layout.over(usual))
    layout.require_for(reader, str(path))
    layout = usual.fitting(reader).over(layout)
    files = matching(pattern)
    if not files:
        raise SourceError(f"{path} does not exist.")
    if reader in {EXCEL, STATISTICS}:
        if len(files) > 1:
            raise UsageError(f"{path} is not one file: of such files, one is read at a time. Name it.")
        return read_by_library(engine, files[0], relation, layout)
    if reader == CSV:
        layout = layout.over(Layout(decimal_separator=likely.decimal_separator))
    if reader in {CSV, JSON} and layout.encoding is None:
        at_hand = [file for file in files if file.is_file()]
        found = next(filter(None, map(marked_encoding, at_hand)), None)
        if found is None and likely.encoding is not None and not all(map(is_utf8, at_hand)):
            found = likely.encoding
        layout = replace(layout, encoding=found)
    try:
        with as_plain_text(engine, pattern, files, layout) as (plain, copies, name_original):
            read = Files(engine, path, plain, copies, layout, as_text, texts)
            made = read_csv(read, relation) if reader == CSV else _read_typed(read, reader, relation)
            name_original(made.create)
            return made
    except SourceError as error:
        if reader in {CSV, JSON} and layout.encoding in {None, UTF_8} and not isinstance(error, NoRoomError):
            for file in filter(Path.is_file, files):
                require_utf8(path, file)
        raise


def _read_typed(read: Files, reader: str, relation: exp.Table) -> FileRead:
    """Load Parquet or JSON files as a relation, with the types that DuckDB infers."""
    engine = read.engine
    # By default DuckDB uses the columns of one of several files, and drops those that only others have.
    settings: dict[str, Any] = {"union_by_name": True if len(read.files) > 1 else None}
    try:
        create = make_from_file(engine, reader, read.pattern, relation, settings)
    except SourceError as error:
        raise error if isinstance(error, NoRoomError) else unreadable(read.path) from None
    columns = engine.columns(relation)
    # Numbers beyond 64 bits would become floats, and dates in several formats one: different values could become equal.
    loose = {column.name for column in columns if column.family in {"float", "date", "timestamp"}}
    if reader == JSON and read.as_text and loose:
        types = {column.name: "VARCHAR" if column.name in loose else column.type for column in columns}
        engine.run(sql.drop(relation), "read once more")
        create = make_from_file(engine, reader, read.pattern, relation, settings | {"columns": types})
        columns = engine.columns(relation)
    require_names(engine, reader, sql.literal(glob.escape(str(read.files[0]))), columns, read.path.name)
    if reader == PARQUET:
        engine.watch(lambda: matching(read.pattern))
    return FileRead(create, columns, read.layout, reader=reader)


def make_from_file(
    engine: DuckDBEngine, reader: str, place: str | exp.Expr, relation: exp.Table, settings: Mapping[str, Any]
) -> exp.Create:
    """Create a table from JSON files, or a view of Parquet files; return the statement."""
    create = sql.create_table(relation, exp.select("*").from_(read_from(reader, place, settings)), temporary=True)
    if reader == PARQUET:
        create.set("kind", "VIEW")
    engine.run(create, "read the files")
    return create


def require_names(engine: DuckDBEngine, reader: str, place: exp.Expr, columns: Sequence[Column], source: str) -> None:
    """Raise if two columns of a file have the same name in SQL.

    DuckDB renames one of them, so a role for one could go to the other.
    """
    names = {folded(column.name) for column in columns}
    if any((match := _RENAMED.fullmatch(name)) and match[1] in names for name in names):
        statement = "files/raw_names_of_parquet" if reader == PARQUET else "files/raw_names_of_json"
        found = engine.rows(sql.statement(statement, values={"path": place}), "names in the file")
        named_once([name for (name,) in found], source)


def is_among(path: Path, file: Path) -> bool:
    """Return True if a path, or the pattern in it, matches a file, which need not exist."""
    pattern = _pattern(path)
    if file.exists() and any(file.samefile(other) for other in matching(pattern)):
        return True
    if not fnmatch(file.name, Path(pattern).name):
        return False
    if _ANY_DEPTH in pattern:
        base = path if path.is_dir() else Path(re.split(r"[*?[]", pattern, maxsplit=1)[0].rpartition("/")[0] or ".")
        return base.resolve() in file.resolve().parents
    return file.resolve().parent in {other.resolve().parent for other in matching(pattern)}


def require_not_read(path: Path, *read: object) -> None:
    """Raise if a file to be written is also read by the same command, alone or among others."""
    for source in read:
        place = path_in(source) if isinstance(source, str) else source
        if isinstance(place, str | Path) and place and is_among(Path(place), path):
            raise UsageError(f"{path} is read by this command, and cannot be written by it too: give another name.")


def matching(pattern: str) -> list[Path]:
    """Return the files that match a pattern as in DuckDB, which also looks into hidden directories."""
    found = glob.glob(pattern, recursive=True, include_hidden=_ANY_DEPTH in pattern)  # noqa: PTH207 - a pattern of a full path, which Path.glob refuses
    return sorted(path for name in found if not (path := Path(name)).is_dir())


def files_at(path: Path) -> list[Path]:
    """Return the data files at a path; none if it is a pipe."""
    return [file for file in matching(_pattern(path)) if file.is_file()]


def _pattern(path: Path, layout: Layout = NOT_STATED) -> str:
    """Return a path as a DuckDB pattern; the name of an existing file matches that file only."""
    if not path.is_dir():
        return glob.escape(str(path)) if path.exists() else str(path)
    if (path / "_delta_log").is_dir() or any((path / "metadata").glob("*.metadata.json")):
        raise UsageError(
            f"{path} is a table of Delta Lake or Iceberg, whose files hold rows that were deleted too: write its rows "
            "to a DuckDB or Parquet file first."
        )
    suffixes = {file.suffix.lower() for file in path.rglob("*") if file.is_file()}
    kinds = suffixes if layout.suffix else suffixes & READERS.keys()
    if len(kinds) != 1:
        what = (
            f"data files of several kinds ({', '.join(sorted(kinds))})" if kinds else "no data file that is known here"
        )
        raise UsageError(f"{path} is a directory with {what}: write which are meant, such as {path}/**/*.parquet.")
    return f"{glob.escape(str(path))}/{_ANY_DEPTH}/*{kinds.pop()}"


FrameKind = Literal["pandas", "polars", "arrow", "spark"]
_FRAMES: Mapping[tuple[str, str], FrameKind] = {
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "polars",
    ("pyarrow", "Table"): "arrow",
}


def frame_kind(value: Any) -> FrameKind | None:  # noqa: ANN401 - accepts anything
    """Return the kind of a data frame, without importing any library for it."""
    return _FRAMES.get((type(value).__module__.partition(".")[0], type(value).__name__))


def read_frame(engine: DuckDBEngine, frame: Any, table: str | None) -> tuple[exp.Table, FrameKind]:  # noqa: ANN401 - of a library that need not be installed
    """Copy a data frame to a temporary table; return that, and the kind of the frame."""
    if (kind := frame_kind(frame)) is None:
        raise UsageError(
            f"Cannot read a {type(frame).__name__}. Give the path of a DuckDB, CSV, Parquet, JSON or Excel file, a "
            "DuckDB connection, or a pandas, polars or Arrow table."
        )
    if table is not None:
        raise UsageError("A data frame has no tables: leave the table name out.")
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
    return relation, kind
