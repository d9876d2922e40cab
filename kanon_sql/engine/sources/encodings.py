"""Encodings of text files (CSV, TSV, JSON): UTF-8, what a byte order mark says, or what is stated.

DuckDB reads UTF-8. A file in another encoding, or with a footer, and a pipe are copied as UTF-8 to a private directory
first. The copy is read in their place and then removed.
"""

from __future__ import annotations

import codecs
import glob
import shlex
import shutil
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.duckdb.connection import in_force, spill_directory
from kanon_sql.engine.files import stamps_of
from kanon_sql.engine.sources.layout import NOT_STATED, UTF_8, Layout, say
from kanon_sql.engine.sources.records import PACKED, QUOTE, csv_records
from kanon_sql.errors import SourceError, UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from kanon_sql.engine.duckdb.engine import DuckDBEngine

_BLOCK = 1 << 16
_LINES_TRIED, _SHOWN = 4_096, 6
_STATE = "State which it is: --read encoding=NAME"
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Those of UTF-32 first: one of them begins as one of UTF-16 does."""
_USUAL = {
    "cp1252": "Windows, Western Europe",
    "gb18030": "Chinese",
    "cp932": "Japanese",
    "euc_jp": "Japanese",
    "cp949": "Korean",
    "big5": "Chinese, traditional",
    "cp1250": "Windows, Central Europe",
    "cp1251": "Windows, Cyrillic",
    "cp1254": "Turkish",
    "cp1253": "Greek",
    "koi8_r": "Russian",
}
"""Encodings that are proposed first, and what they are for."""


def is_utf8(file: Path) -> bool:
    with suppress(UnicodeDecodeError), file.open(encoding=UTF_8, newline="") as text:
        while text.read(_BLOCK):
            pass
        return True
    return False


def encoding_of(path: Path, file: Path) -> str:
    """Return the encoding of a file at a path, which is not UTF-8, if a byte order mark says it.

    Raises:
        SourceError: it has to be stated. Bytes do not tell it: a German file in cp850 is text in cp932 too.
    """
    with file.open("rb") as opened:
        head = opened.read(4)
    if (marked := next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)) is not None:
        return marked
    from charset_normalizer import from_bytes  # here, as nearly all files are UTF-8

    with file.open("rb") as lines:
        others = (one for one in enumerate(lines, start=1) if not _has(one[1], UTF_8))
        tried = list(islice(others, _LINES_TRIED))
    matches = from_bytes(b"".join(line for _, line in tried))
    found = [name for match in matches for name in (match.encoding, *match.could_be_from_charset)]
    likely = [*dict.fromkeys([*(name for name in _USUAL if name in found), *found])][:_SHOWN]
    shown = [f"{name} ({_USUAL[name]})" if name in _USUAL else name for name in likely]
    which = f" It may be {', '.join(shown)}." if shown else ""
    raise SourceError(f"{path} is not UTF-8 (line {tried[0][0]:,}).{which} {_STATE}.")


def _has(text: str | bytes, encoding: str) -> bool:
    """Return True if an encoding has a text, or bytes are text in it."""
    try:
        text.encode(encoding) if isinstance(text, str) else text.decode(encoding)
    except UnicodeError:
        return False
    return True


# The copy


@contextmanager
def as_utf8(
    engine: DuckDBEngine, path: Path, pattern: str, files: Sequence[Path], layout: Layout
) -> Iterator[tuple[str, Sequence[Path], Callable[[exp.Expr], None]]]:
    """Yield text files as UTF-8, without comments and footer, and their pattern: themselves, or copies if need be.

    Each file keeps its name and its directories in the copy, some of which may be values of a column (year=2024). The
    copies are deleted on exit. The function that comes with them lets a statement name what has to be read when it is
    run again; on exit, it is called for all statements that were logged.
    """
    encoding, is_part = layout.encoding or UTF_8, layout.skip_footer or layout.comment
    if encoding == UTF_8 and not is_part and all(file.is_file() for file in files):
        yield pattern, files, lambda _: None
        return
    if packed := [file for file in files if file.suffix.lower() in PACKED]:
        raise UsageError(f"{packed[0]} is packed, and read only if it is UTF-8 without comments and footer: unpack it.")
    ran = len(engine.statements)
    with spill_directory(in_force(None).directory, None) as private:
        copies = _copied(files, private.path, encoding, layout)
        above = glob.escape(str(private.path))
        new, command = conversion(path, encoding, layout=layout)
        again, copied = glob.escape(new), glob.escape(str(next(iter(copies))))
        if not path.is_file():
            command = f"convert each file of {path} (iconv -f {iconv_name(encoding)} -t UTF-8), into a directory utf8"
            again, copied = "utf8/**/*", copied if len(copies) == 1 else f"{above}/**/*"

        def name_original(statement: exp.Expr) -> None:
            for place in statement.find_all(exp.Literal):
                if place.name.startswith(above):
                    place.set("this", again)
                    statement.comments = [f"Before this: {command}"]

        try:
            yield copied, [*copies], name_original
        except (SourceError, UsageError) as error:
            for copy, file in copies.items():
                error.args = tuple(str(part).replace(str(copy), str(file)) for part in error.args)
            raise
    for logged in engine.statements[ran:]:
        name_original(logged.statement)


def _copied(files: Sequence[Path], directory: Path, encoding: str, layout: Layout) -> dict[Path, Path]:
    """Copy files as UTF-8 below a directory, without comments and footer; return each file by its copy."""
    before, copies = stamps_of(files), {}
    for file in files:
        copy = directory / file.absolute().relative_to(file.absolute().anchor)
        copy.parent.mkdir(parents=True, exist_ok=True)
        decode(file, copy, encoding)
        if layout.skip_footer or layout.comment:
            _leave_out(copy, layout)
        copies[copy] = file
    if stamps_of(files) != before:
        raise SourceError(f"{files[0]} was changed while it was read. Run it again.")
    return copies


def _leave_out(file: Path, layout: Layout) -> None:
    """Remove comments from a file, and lines at its end; blank lines behind the last one are not counted."""
    quote, inside, kept, comments = QUOTE if layout.quote is None else layout.quote, False, list[str](), 0
    with file.open(encoding=UTF_8, newline="") as opened:
        for line in opened:
            if layout.comment and not inside and line.startswith(layout.comment):
                comments += 1
                continue
            kept.append(line)
            inside ^= bool(quote) and bool(line.count(quote) % 2)
    while kept and not kept[-1].strip():
        kept.pop()
    footer = min(len(kept), layout.skip_footer or 0)
    with file.open("w", encoding=UTF_8, newline="") as opened:
        opened.writelines(kept[: len(kept) - footer])
    say(f"{file.name}: left out {counted(footer, 'line')} at the end and {counted(comments, 'comment')}.")


def decode(file: Path, copy: Path, encoding: str) -> None:
    """Write a file as UTF-8. Raises SourceError if it is not so encoded."""
    try:
        _write_as(file, encoding, copy, UTF_8, without="\ufeff")
    except UnicodeError:
        line = 1
        with suppress(UnicodeError), file.open(encoding=encoding, errors="replace", newline="") as text:
            line = next((number for number, line in enumerate(text, start=1) if "\ufffd" in line), 1)
        raise SourceError(f"{file} is not valid {encoding} near line {line:,}. {_STATE}.") from None
    except OSError as error:
        raise SourceError(f"{error.filename or file} cannot be read as {encoding}: {error.strerror}.") from None


def _write_as(file: Path, encoding: str, target: Path, into: str, *, without: str = "") -> None:
    with file.open(encoding=encoding, newline="") as text, target.open("w", encoding=into, newline="") as new:
        new.write(text.read(_BLOCK).removeprefix(without))
        shutil.copyfileobj(text, new, _BLOCK)


def conversion(path: Path, encoding: str, into: str = UTF_8, layout: Layout = NOT_STATED) -> tuple[str, str]:
    """Return the path of a file in another encoding, without comments and a footer, and the command that makes it."""
    new = f"{path}.{into.replace('-', '')}{path.suffix}"
    name, target = (shlex.quote(f"./{text}" if text.startswith("-") else text) for text in (str(path), new))
    steps = [f"iconv -f {iconv_name(encoding)} -t {iconv_name(into)} {name}"]
    steps += [] if layout.comment is None else [f"grep -v {shlex.quote(f'^[{layout.comment}]')}"]
    steps += [f"head -n -{layout.skip_footer}"] if layout.skip_footer else []
    return new, f"{' | '.join(steps)} > {target}"


def iconv_name(encoding: str) -> str:
    return {"mac-roman": "MACINTOSH", "utf-8-sig": "UTF-8"}.get(encoding, encoding.replace("_", "-").upper())


# What is written


def encode(file: Path, target: Path, encoding: str, delimiter: str) -> None:
    """Write a CSV file of UTF-8 in another encoding. Raises UsageError if that lacks characters; it quotes none."""
    with suppress(UnicodeError):
        _write_as(file, UTF_8, target, encoding)
        return
    names: list[str] = []
    columns: dict[str, None] = {}
    lines = 0
    with file.open(encoding=UTF_8, newline="") as text, csv_records(text, Layout(delim=delimiter)) as rows:
        for row in rows:
            names = names or row
            # A missing value of one column is a blank line, which has no values.
            lacking = [name for name, value in zip(names, row, strict=False) if not _has(value, encoding)]
            columns |= dict.fromkeys(lacking)
            lines += bool(lacking)
    listed = ", ".join(map(repr, sorted(columns, key=names.index)))
    raise UsageError(
        f"{encoding} lacks characters that the release has, in {counted(len(columns), 'column')} ({listed}) and "
        f'{counted(lines, "line")} of it: write it as UTF-8 (--out-encoding utf-8, or encoding = "utf-8" under '
        "[release]), or in another encoding that has them."
    )
