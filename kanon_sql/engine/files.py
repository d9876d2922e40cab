"""Data files: from a path to the statement that reads it, and what it was called in there."""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import TYPE_CHECKING

from kanon_sql import sql
from kanon_sql.engine.csv_files import read_csv
from kanon_sql.engine.csv_layout import SAMPLE
from kanon_sql.engine.reading import PACKED, reading, unreadable
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.names import folded
from kanon_sql.roles import named_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Column, Engine

READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
_RENAMED = re.compile(r"(.*)_\d+")


def reader_of(path: Path) -> str:
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
        path: the file; where there is none of that name, ``*``, ``?`` and ``[...]`` in it stand for several.
        relation: what it is to be called.
        as_text: whether the values of a CSV file are to be taken as they are written.

    Raises:
        SourceError: there is no such file, or it cannot be read.
    """
    reader = reader_of(path)
    pattern = _pattern(path)
    if not glob.glob(pattern):  # noqa: PTH207 - a pattern of a full path, which Path.glob refuses
        raise SourceError(f"{path} does not exist.")
    if reader == "read_csv":
        create = read_csv(engine, path, pattern, relation, as_text=as_text)
    else:
        create = reading(reader, pattern, relation, {})
        try:
            engine.run(create, f"read {path.name}")
        except NoRoomError:  # which says nothing of the file
            raise
        except SourceError:
            raise unreadable(path) from None
    _require_own_names(engine, reader, path, engine.columns(relation))
    if reader == "read_parquet":
        engine.watch(lambda: sorted(Path(name) for name in glob.glob(pattern)))  # noqa: PTH207 - as above
    return create


def is_among(path: Path, file: Path) -> bool:
    """Tell whether a file is one of those that a path, or the pattern in it, stands for."""
    return file.exists() and any(file.samefile(name) for name in glob.glob(_pattern(path)))  # noqa: PTH207 - as above


def _pattern(path: Path) -> str:
    """Return a path as DuckDB takes it: the name of a file that is there means that file and no other."""
    return glob.escape(str(path)) if path.exists() else str(path)


def _require_own_names(engine: Engine, reader: str, path: Path, columns: Sequence[Column]) -> None:
    """Raise if DuckDB gave a column another name because two are the same to SQL.

    Raises:
        UsageError: a role that is given to the one could fall to the other.
    """
    names = {folded(column.name) for column in columns}
    if not any((match := _RENAMED.fullmatch(name)) and match[1] in names for name in names):
        return
    pattern = _pattern(path)
    first = min(glob.glob(pattern))  # noqa: PTH207 - as above
    values: dict[str, sql.Value | exp.Expr] = {"path": glob.escape(first), "sample": SAMPLE}
    if reader == "read_csv":
        delimiter, skip, header = engine.row(sql.statement("layout_of_csv", values=values), "layout of the file")
        values |= {"delimiter": delimiter, "skip": skip}
        lines = engine.rows(sql.statement("raw_names_of_csv", values=values), "names in the file") if header else []
        raw = [str(name) for line in lines for name in line]
    elif reader == "read_parquet":
        raw = [
            name for (name,) in engine.rows(sql.statement("raw_names_of_parquet", values=values), "names in the file")
        ]
    else:
        raw = [name for (name,) in engine.rows(sql.statement("raw_names_of_json", values=values), "names in the file")]
    named_once(raw, path.name)
