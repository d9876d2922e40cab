"""The statements that read data files, and the error for one that cannot be read."""

from __future__ import annotations

import codecs
import re
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import SourceError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_UNKNOWN = "ENCODING"
_MOST = 0.8  # of what is looked at
PACKED = {".gz", ".zst"}


def read_from(reader: str, pattern: str | exp.Expr, settings: Mapping[str, exp.Expr]) -> exp.Table:
    """Return a call of a table function of DuckDB that reads files."""
    given = [exp.EQ(this=exp.column(name), expression=value) for name, value in settings.items()]
    return exp.Table(this=exp.Anonymous(this=reader, expressions=[sql.literal(pattern), *given]))


def reading(reader: str, pattern: str | exp.Expr, relation: exp.Table, settings: Mapping[str, exp.Expr]) -> exp.Create:
    """Return the statement that makes files a relation: a table, or a view of Parquet."""
    read = read_from(reader, pattern, settings)
    create = sql.create_table(relation, exp.select("*").from_(read), temporary=True)
    if reader == "read_parquet":
        create.set("kind", "VIEW")
    return create


def unreadable(path: Path) -> SourceError:
    """Return the error for a file that cannot be read, with what to do about it as far as that can be told."""
    kind = path.suffix.lstrip(".")
    encoding = other_encoding(path)
    if encoding is not None:
        name, new = (shlex.quote(_not_an_option(text)) for text in (str(path), f"{path}.utf8{path.suffix}"))
        command = f"iconv -f {encoding} -t UTF-8 {name} > {new}"
        if encoding == _UNKNOWN:
            return SourceError(
                f"{path} is not UTF-8 text, and its bytes do not say what else it is. Convert it first, with the name "
                f"of its encoding (iconv -l lists them): {command}"
            )
        return SourceError(f"{path} is not UTF-8 text, and seems to be {encoding}. Convert it first: {command}")
    return SourceError(f"{path} cannot be read as {kind}. Is it whole, and is it what its suffix says?")


def _not_an_option(path: str) -> str:
    """Return a path that a command does not take for an option of its own."""
    return f"./{path}" if path.startswith("-") else path


def other_encoding(path: Path) -> str | None:
    """Return what the text of a file seems to be coded in, as iconv calls it; None where that is UTF-8, or no text."""
    if not path.is_file() or path.suffix.lower() in {*PACKED, ".parquet"}:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            if file.read(2) in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
                return "UTF-16"
            file.seek(0)
            while block := file.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        with path.open("rb") as file:
            return _likely_encoding(file.read(1 << 20))
    return None


def _likely_encoding(sample: bytes) -> str:
    """Return what text that is not UTF-8 seems to be coded in, by how bytes over 127 stand together.

    Letters with accents of Western Europe stand alone between others; Chinese characters of GB18030 have two such
    bytes each, nearly always. Cyrillic, Greek and other encodings cannot be told apart by that.
    """
    if b"\0" in sample:
        pairs = len(sample) // 2
        if sample[1::2].count(0) > pairs / 4:
            return "UTF-16LE"
        return "UTF-16BE" if sample[::2].count(0) > pairs / 4 else _UNKNOWN
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", sample)]
    if sum(length == 1 for length in runs) >= _MOST * len(runs):
        return "LATIN1"
    is_paired = sum(length % 2 == 0 for length in runs) >= _MOST * len(runs)
    with suppress(UnicodeDecodeError):
        text = codecs.getincrementaldecoder("gb18030")().decode(sample)
        if is_paired and sum("\u4e00" <= character <= "\u9fff" for character in text) >= _MOST * sum(runs) / 2:
            return "GB18030"
    return _UNKNOWN


_LONGEST_LINE = 64 * 1024 * 1024


def text_reader(path: Path, types: Mapping[str, str], *, csv: bool, header: bool = True) -> exp.Anonymous:
    """Return the function that reads a file of text.

    Args:
        path: the file.
        types: of its columns, by name.
        csv: whether it is CSV; else JSON.
        header: whether the first line of CSV has the names.
    """
    text = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=sql.literal(name), expression=sql.literal(kind)) for name, kind in types.items()
        ]
    )
    settings: dict[str, exp.Expr] = {"columns": text}
    if csv:
        settings |= {
            "header": exp.true() if header else exp.false(),
            "auto_detect": exp.false(),
            "delim": sql.literal(","),
            "quote": sql.literal('"'),
            "escape": sql.literal('"'),
            "allow_quoted_nulls": exp.false(),
            # Of 2 MB by itself, which a text of a row may exceed; more is room that is taken as it is needed.
            "max_line_size": sql.literal(_LONGEST_LINE),
            "new_line": sql.literal("\\n"),  # else another end of a line in a name could be taken for that of lines
        }
    named = [exp.EQ(this=exp.var(name), expression=value) for name, value in settings.items()]
    return exp.Anonymous(this="read_csv" if csv else "read_json", expressions=[sql.literal(str(path)), *named])
