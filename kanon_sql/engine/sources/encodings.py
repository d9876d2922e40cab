"""Convert text files (CSV, JSON) to what DuckDB reads: plain UTF-8, without comments and footer.

Compressed files, pipes, and files in another encoding or with a footer are first copied to a private directory. The
copy is read instead and then removed. The encoding is the stated one, or that of a byte order mark.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import shutil
import zlib
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, cast

from sqlglot import exp

from kanon_sql.engine.duckdb.connection import in_force, spill_directory
from kanon_sql.engine.files import stamps_of
from kanon_sql.engine.sources.layout import UTF_8, Layout, say
from kanon_sql.engine.sources.records import QUOTE
from kanon_sql.errors import SourceError, UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from kanon_sql.engine.duckdb.engine import DuckDBEngine

PACKED = {".gz", ".zst"}
_BLOCK = 1 << 16
_LINES_TRIED, _SHOWN = 4_096, 6
_STATE = "State which it is: --read encoding=NAME"
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""UTF-32 comes first: one of its marks starts like one of UTF-16."""
_USUAL = ("cp1252", "gb18030", "cp932", "euc_jp", "cp949", "big5", "cp1250", "cp1251", "cp1254", "cp1253", "koi8_r")
"""Encodings that are suggested first."""


def unreadable(path: Path) -> SourceError:
    return SourceError(
        f"{path} cannot be read as {path.suffix.lstrip('.')}. Is it whole, and is it what its suffix says?"
    )


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    if file.suffix.lower() == ".zst":
        raise UsageError(f"{file} is packed by zstd, which is not read here: unpack it first (zstd -d).")
    try:
        with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as opened:
            yield cast("BinaryIO", opened)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise unreadable(file) from None


def marked_encoding(file: Path) -> str | None:
    """Return the encoding of a byte order mark; None if there is no mark, or that of UTF-8."""
    with _opened(file) as opened:
        head = opened.read(4)
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)


def is_utf8(file: Path) -> bool:
    with suppress(UnicodeDecodeError), _opened(file) as opened, io.TextIOWrapper(opened, UTF_8, newline="") as text:
        while text.read(_BLOCK):
            pass
        return True
    return False


def require_utf8(path: Path, file: Path) -> None:
    """Raise a SourceError with likely encodings if a file at a path is not UTF-8.

    None is chosen, since bytes do not determine it: a German file in cp850 is valid text in cp932 too.
    """
    if is_utf8(file):
        return
    from charset_normalizer import from_bytes  # imported here, as nearly all files are UTF-8

    with _opened(file) as lines:
        others = (one for one in enumerate(lines, start=1) if one[1].decode(UTF_8, "ignore").encode() != one[1])
        tried = list(islice(others, _LINES_TRIED))
    matches = from_bytes(b"".join(line for _, line in tried))
    found = [name for match in matches for name in (match.encoding, *match.could_be_from_charset)]
    likely = [*dict.fromkeys([*(name for name in _USUAL if name in found), *found])][:_SHOWN]
    which = f" It may be {', '.join(likely)}." if likely else ""
    raise SourceError(f"{path} is not UTF-8 (line {tried[0][0]:,}).{which} {_STATE}.")


# Copying


@contextmanager
def as_plain_text(
    engine: DuckDBEngine, pattern: str, files: Sequence[Path], layout: Layout
) -> Iterator[tuple[str, Sequence[Path], Callable[[exp.Expr], None]]]:
    """Yield the pattern of text files and the files in a form that DuckDB reads: themselves, or copies if necessary.

    Each copy keeps the file's name and directories, some of which may be values of a column (year=2024). The copies are
    deleted on exit. The third item is a function that makes a statement name the original files; on exit, it is called
    for all logged statements.
    """
    must_change = layout.encoding not in {None, UTF_8} or layout.skip_footer or layout.comment
    if not must_change and all(file.is_file() and file.suffix.lower() not in PACKED for file in files):
        yield pattern, files, lambda _: None
        return
    ran = len(engine.statements)
    with spill_directory(in_force(None).directory, None) as private:
        copies = _copied(files, private.path, layout)
        copied = f"{glob.escape(str(private.path))}/**/*" if len(copies) > 1 else glob.escape(str(next(iter(copies))))
        names = {glob.escape(str(copy)): glob.escape(str(file)) for copy, file in copies.items()} | {copied: pattern}

        def name_original(statement: exp.Expr) -> None:
            for place in statement.find_all(exp.Literal):
                if place.name in names:
                    place.set("this", names[place.name])
                    if must_change:
                        statement.comments = [f"Before this, make the file plain UTF-8: {', '.join(layout.texts)}"]

        try:
            yield copied, [*copies], name_original
        except (SourceError, UsageError) as error:
            for copy, file in copies.items():
                error.args = tuple(str(part).replace(str(copy), str(file)) for part in error.args)
            raise
    for logged in engine.statements[ran:]:
        name_original(logged.statement)


def _copied(files: Sequence[Path], directory: Path, layout: Layout) -> dict[Path, Path]:
    """Copy files as plain text below a directory, without comments and footer; return each file by its copy."""
    before, copies = stamps_of(files), {}
    for file in files:
        plain = file.with_suffix("") if file.suffix.lower() in PACKED else file
        copy = directory / plain.absolute().relative_to(file.absolute().anchor)
        copy.parent.mkdir(parents=True, exist_ok=True)
        decode(file, copy, layout.encoding or UTF_8)
        if layout.skip_footer or layout.comment:
            _leave_out(copy, layout)
        copies[copy] = file
    if stamps_of(files) != before:
        raise SourceError(f"{files[0]} was changed while it was read. Run it again.")
    return copies


def _leave_out(file: Path, layout: Layout) -> None:
    """Remove comments and the footer from a file; blank lines after the last line do not count."""
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
    """Write a file as plain UTF-8. Raises SourceError if it does not have the encoding."""
    try:
        _write_as(file, encoding, copy, UTF_8, without="\ufeff")
    except UnicodeError:
        if encoding == UTF_8:
            require_utf8(file, file)
        raise SourceError(f"{file} is not valid {encoding}. {_STATE}.") from None
    except OSError as error:
        raise SourceError(f"{error.filename or file} cannot be read as {encoding}: {error.strerror}.") from None


def _write_as(file: Path, encoding: str, target: Path, into: str, *, without: str = "") -> None:
    with (
        _opened(file) as opened,
        io.TextIOWrapper(opened, encoding, newline="") as text,
        target.open("w", encoding=into, newline="") as new,
    ):
        new.write(text.read(_BLOCK).removeprefix(without))
        shutil.copyfileobj(text, new, _BLOCK)


# Writing


def encode(file: Path, target: Path, encoding: str) -> None:
    """Write a UTF-8 file in another encoding. Raises UsageError, without quoting a character, if it cannot."""
    try:
        _write_as(file, UTF_8, target, encoding)
    except UnicodeError:
        raise UsageError(
            f"{encoding} lacks characters that the release has: write it as UTF-8 (--out-encoding utf-8, or encoding = "
            '"utf-8" under [release]), or in another encoding that has them.'
        ) from None
