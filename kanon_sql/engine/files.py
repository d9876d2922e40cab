"""Data files: from a path to the statement that reads it, and what it was called in there."""

from __future__ import annotations

import codecs
import glob
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.names import folded
from kanon_sql.roles import named_once

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_PACKED = {".gz", ".zst"}
_RENAMED = re.compile(r"(.*)_\d+")


def reader_of(path: Path) -> str:
    """Return the table function that reads a file, by its suffix.

    Raises:
        UsageError: the suffix is not known.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
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
    settings: dict[str, exp.Expr] = {}
    if as_text and reader == "read_csv":  # an empty text in quotes is written otherwise than nothing at all
        settings = {"all_varchar": exp.true(), "allow_quoted_nulls": exp.false()}
    create = _reading(reader, pattern, relation, settings)
    try:
        engine.run(create, f"read {path.name}")
    except NoRoomError:  # which says nothing of the file
        raise
    except SourceError:
        if reader != "read_csv" or as_text:
            raise _unreadable(path) from None
        # The first rows misled about a type: look at all of them.
        create = _reading(reader, pattern, relation, {"sample_size": sql.literal(-1)})
        try:
            engine.run(create, f"read {path.name}")
        except NoRoomError:
            raise
        except SourceError:
            raise _unreadable(path) from None
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


def _reading(reader: str, pattern: str, relation: exp.Table, settings: dict[str, exp.Expr]) -> exp.Create:
    given = [exp.EQ(this=exp.column(name), expression=value) for name, value in settings.items()]
    read = exp.Table(this=exp.Anonymous(this=reader, expressions=[sql.literal(pattern), *given]))
    create = sql.create_table(relation, exp.select("*").from_(read), temporary=True)
    if reader == "read_parquet":
        create.set("kind", "VIEW")
    return create


def _unreadable(path: Path) -> SourceError:
    """Return the error for a file that cannot be read, with what to do about it as far as that can be told."""
    kind = path.suffix.lstrip(".")
    if path.is_file() and path.suffix.lower() not in {*_PACKED, ".parquet"} and not _is_utf8(path):
        return SourceError(
            f"{path} is not UTF-8 text. Convert it first: iconv -f LATIN1 -t UTF-8, or save it as UTF-8."
        )
    return SourceError(f"{path} cannot be read as {kind}. Is it whole, and is it what its suffix says?")


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


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
    values: dict[str, sql.Value | exp.Expr] = {"path": glob.escape(first)}
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
