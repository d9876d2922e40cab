"""Data files and data frames: from a path or a frame to the statement that reads it, and the names in it."""

from __future__ import annotations

import glob
import re
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

import duckdb
from sqlglot import exp

from kanon_sql.engine.base import named_once
from kanon_sql.engine.sources.csv_layout import SAMPLE, layout_of
from kanon_sql.engine.sources.csv_read import read_csv
from kanon_sql.engine.sources.reading import PACKED, reading, unreadable
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine

READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
_ANY_DEPTH = "**"
_RENAMED = re.compile(r"(.*)_\d+")


def reader_of(path: PurePath) -> str:
    """Return the table function that reads a file, by its suffix.

    Raises:
        UsageError: the suffix is not known.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    reader = READERS.get(suffixes[-1]) if suffixes else None
    if reader is None:
        raise UsageError(
            f"{path} is neither a DuckDB database nor a data file that is known here: {', '.join(READERS)}."
        )
    return reader


def read_file(engine: Engine, path: Path, relation: exp.Table, *, as_text: bool = False) -> exp.Create:
    """Make a data file a relation, and return the statement that did.

    Text is parsed once, into a table; Parquet is read where it lies, column by column.

    Args:
        engine: reads it.
        path: the file, or a directory of files of one kind; where there is none of that name, ``*``, ``**``, ``?`` and
            ``[...]`` in it stand for several. Columns of several are matched by their names.
        relation: what it is to be called.
        as_text: whether the values of a CSV file are to be taken as they are written.

    Raises:
        SourceError: there is no such file, or it cannot be read.
    """
    pattern = _pattern(path)
    reader = reader_of(Path(pattern) if path.is_dir() else path)
    files = matching(pattern)
    if not files:
        raise SourceError(f"{path} does not exist.")
    # DuckDB would take the columns of one of several files, and leave out what only others have.
    settings: dict[str, exp.Expr] = {"union_by_name": exp.true()} if len(files) > 1 else {}
    if reader == "read_csv":
        create = read_csv(engine, path, pattern, files, relation, settings, as_text=as_text)
    else:
        create = reading(reader, pattern, relation, settings)
        try:
            engine.run(create, f"read {path.name}")
        except NoRoomError:  # which says nothing of the file
            raise
        except SourceError:
            raise unreadable(path) from None
    first = glob.escape(str(files[0]))
    named_once(raw_names(engine, reader, sql.literal(first), engine.columns(relation)), path.name)
    if reader == "read_parquet":
        engine.watch(lambda: matching(pattern))
    return create


def is_among(path: Path, file: Path) -> bool:
    """Tell whether a file is one of those that a path, or the pattern in it, stands for; or would be, were it there."""
    pattern = _pattern(path)
    if file.exists() and any(file.samefile(other) for other in matching(pattern)):
        return True
    if not fnmatch(file.name, Path(pattern).name):
        return False
    if _ANY_DEPTH in pattern:
        base = path if path.is_dir() else Path(re.split(r"[*?[]", pattern, maxsplit=1)[0].rpartition("/")[0] or ".")
        return base.resolve() in file.resolve().parents
    return file.resolve().parent in {other.resolve().parent for other in matching(pattern)}


def matching(pattern: str) -> list[Path]:
    """Return the files that a pattern stands for, as DuckDB finds them: hidden directories are looked into as well."""
    found = glob.glob(pattern, recursive=True, include_hidden=_ANY_DEPTH in pattern)  # noqa: PTH207 - a pattern of a full path, which Path.glob refuses
    return sorted(path for name in found if not (path := Path(name)).is_dir())


def _pattern(path: Path) -> str:
    """Return a path as DuckDB takes it: the name of a file that is there means that file and no other.

    Raises:
        UsageError: it is a directory without data files, or with several kinds of them, or of a table format.
    """
    if not path.is_dir():
        return glob.escape(str(path)) if path.exists() else str(path)
    if (path / "_delta_log").is_dir() or any((path / "metadata").glob("*.metadata.json")):
        raise UsageError(
            f"{path} is a table of Delta Lake or Iceberg, whose files hold rows that were deleted too: write its rows "
            "to a DuckDB or Parquet file first."
        )
    kinds = {file.suffix.lower() for file in path.rglob("*") if file.suffix.lower() in READERS and file.is_file()}
    if len(kinds) != 1:
        what = (
            f"data files of several kinds ({', '.join(sorted(kinds))})" if kinds else "no data file that is known here"
        )
        raise UsageError(f"{path} is a directory with {what}: write which are meant, such as {path}/**/*.parquet.")
    return f"{glob.escape(str(path))}/{_ANY_DEPTH}/*{kinds.pop()}"


def raw_names(engine: Engine, reader: str, place: exp.Expr, columns: Sequence[Column]) -> list[str]:
    """Return the names of columns as a file has them, if DuckDB seems to have given one another name; else none.

    It does so where two are the same to SQL; a role that is given to the one could fall to the other.

    Args:
        engine: has read the file.
        reader: the table function that did.
        place: the file.
        columns: as they are called now.
    """
    names = {folded(column.name) for column in columns}
    if not any((match := _RENAMED.fullmatch(name)) and match[1] in names for name in names):
        return []
    values: dict[str, sql.Value | exp.Expr] = {"path": place, "sample": SAMPLE}
    if reader == "read_csv":
        layout = layout_of(engine, place, len(columns), SAMPLE)
        values |= {"delimiter": layout.separator, "skip": layout.skipped}
        read = sql.statement("files/raw_names_of_csv", values=values)
        lines = engine.rows(read, "names in the file") if layout.header else []
        return [str(name) for line in lines for name in line]
    statement = "files/raw_names_of_parquet" if reader == "read_parquet" else "files/raw_names_of_json"
    return [name for (name,) in engine.rows(sql.statement(statement, values=values), "names in the file")]


FrameKind = Literal["pandas", "polars", "arrow", "spark"]


def frame_kind(value: Any) -> FrameKind | None:  # noqa: ANN401 - asks what kind of value this is
    """Return which kind of data frame a value is, without importing any library for it."""
    kinds: dict[tuple[str, str], FrameKind] = {
        ("pandas", "DataFrame"): "pandas",
        ("polars", "DataFrame"): "polars",
        ("polars", "LazyFrame"): "polars",
        ("pyarrow", "Table"): "arrow",
    }
    return kinds.get((type(value).__module__.partition(".")[0], type(value).__name__))


def read_frame(engine: DuckDBEngine, frame: Any, kind: FrameKind) -> exp.Table:  # noqa: ANN401 - of a library that need not be installed
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
