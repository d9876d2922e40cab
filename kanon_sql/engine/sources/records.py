"""The records of a CSV file, as Python finds them: the header, a plain count, and the line that is malformed."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import re
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from kanon_sql.errors import SourceError, UsageError, counted
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.layout import Layout

PACKED = {".gz", ".zst"}
QUOTE = '"'
SHOWN = {"\t": "tabs", "|": "|", ";": "semicolons", ",": "commas"}
"""Delimiters that are tried, as messages name them: a comma comes last, as names and numbers have some."""
LONGEST_LINE = 64 * 1024 * 1024
_BLOCK = 1 << 22
_EVERY_LINE = (1 << 63) - 1
_SEPARATOR_LINE = re.compile(r"\s*\"?sep=(?P<sign>.)\"?\s*", re.IGNORECASE)
_LINES_OF_HEADER = 100
_NO_DELIMITER = "\x1f"
_DATA = re.compile(r"\s*[-+]?[0-9.,:/ T-]*[0-9][0-9.,:/ T-]*\s*")
_ZSTD, _SKIPPABLE = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)


class NotUtf8Error(SourceError):
    """A text file is in another encoding."""

    def __init__(self, file: Path) -> None:
        first = "unpack it, and state" if file.suffix.lower() in PACKED else "state"
        super().__init__(f"{file} is not UTF-8: {first} the encoding, --read encoding=NAME.")


def unreadable(path: Path) -> SourceError:
    kind = path.suffix.lstrip(".")
    return SourceError(f"{path} cannot be read as {kind}. Is it whole, and is it what its suffix says?")


@contextmanager
def lines_of(engine: DuckDBEngine, path: Path, limit: int = _EVERY_LINE) -> Iterator[Iterator[str]]:
    """Open a file of UTF-8 for reading line by line; a file of .zst is read by DuckDB, at once."""
    if path.suffix.lower() == ".zst":
        require_whole(path)
        values: dict[str, sql.Value] = {"path": glob.escape(str(path)), "limit": limit}
        rows = engine.rows(sql.statement("files/lines_of_csv", values=values), "lines of the file")
        yield (f"{line or ''}\n" for (line,) in rows)
        return
    try:
        with _unpacked(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield iter(text)
    except UnicodeDecodeError:
        raise NotUtf8Error(path) from None


@contextmanager
def _unpacked(file: Path) -> Iterator[io.BufferedReader | gzip.GzipFile]:
    try:
        with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as opened:
            yield opened
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise unreadable(file) from None


def require_whole(file: Path) -> None:
    """Raise if a file of .zst ends before its last block (RFC 8878, section 3.1): DuckDB reads what is there."""
    with file.open("rb") as opened:
        while magic := int.from_bytes(opened.read(4), "little"):
            if magic in _SKIPPABLE:
                opened.seek(int.from_bytes(opened.read(4), "little"), io.SEEK_CUR)
                continue
            (descriptor,) = opened.read(1) or b"\x00"
            single, size = descriptor >> 5 & 1, descriptor >> 6
            opened.seek((not single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[size], io.SEEK_CUR)
            is_last = False
            while not is_last:
                header = opened.read(3)
                block = int.from_bytes(header, "little")
                is_last, length = bool(block & 1), 1 if block >> 1 & 3 == 1 else block >> 3
                if magic != _ZSTD or len(header) < len("xyz") or len(opened.read(length)) < length:
                    raise unreadable(file)
            opened.seek(4 * (descriptor >> 2 & 1), io.SEEK_CUR)


def ended_lines(file: Path, layout: Layout) -> int:
    """Return how many lines of a file end outside of quotes; -1 of one of .zst.

    Raises:
        SourceError: a carriage return alone ends lines beside other ends, which DuckDB reads as something else.
    """
    if file.suffix.lower() == ".zst":
        return -1
    quote = (QUOTE if layout.quote is None else layout.quote).encode()
    all_else = bytes(byte for byte in range(256) if byte not in b"\r\n" + quote)
    lines, alone, inside, last = 0, 0, False, b"\n"
    with _unpacked(file) as opened:
        while block := opened.read(_BLOCK):
            while block.endswith(b"\r") and (more := opened.read(1)):  # its line feed may follow
                block += more
            has_alone = b"\r" in block and block.count(b"\r") > block.count(b"\r\n")
            parts = [block]
            if quote and quote in block:
                # Nothing ends between two quotes; a carriage return before them may be alone.
                signs = block if has_alone else block.translate(None, all_else).replace(2 * quote, b"")
                parts = signs.split(quote)
            outside = quote.join(parts[inside::2])
            inside ^= len(parts) % 2 == 0
            lines += outside.count(b"\n")
            alone += has_alone and outside.count(b"\r") - outside.count(b"\r\n")
            last = block
    if alone > 0 and lines:
        raise SourceError(
            f"{file} has lines that end in a carriage return alone, and others: save it with one end of line."
        )
    return lines + (not last.endswith(b"\n"))


@contextmanager
def csv_records(lines: Iterable[str], layout: Layout, *, strict: bool = False) -> Iterator[Any]:
    """Open lines for reading by Python's csv, whose fields may be as long as lines of DuckDB."""
    quote, escape, limit = QUOTE if layout.quote is None else layout.quote, layout.escape, csv.field_size_limit()
    csv.field_size_limit(LONGEST_LINE)
    try:
        yield csv.reader(
            lines,
            delimiter=(layout.delim or ",")[0],  # blanks behind it are skipped below
            quotechar=quote or None,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            escapechar=escape if escape not in {None, "", quote} else None,
            doublequote=escape in {None, quote},
            skipinitialspace=True,
            strict=strict,
        )
    finally:
        csv.field_size_limit(limit)


def counted_records(
    engine: DuckDBEngine, file: Path, above: int, width: int, layout: Layout, *, strict: bool = False
) -> int:
    """Count the records behind the header by Python's csv; in a file of one column, blank lines but for the last ones.

    If it is ``strict``, a line with another number of fields than the first one, or an open quote, is an error.
    """
    found, blank, line, begins = 0 if layout.header is False else -1, 0, above + 1, above + 1
    try:
        with lines_of(engine, file) as lines, csv_records(islice(lines, above, None), layout, strict=strict) as records:
            for record in records:
                line, begins = begins, above + records.line_num + 1
                if not record:
                    blank += width == 1
                    continue
                found, blank = found + 1 + blank, 0
                # A delimiter at the end of a line begins no value, as to DuckDB.
                fields = width if len(record) == width + 1 and not record[-1] else len(record)
                if strict and fields != width:
                    separator = SHOWN.get(str(layout.delim), repr(layout.delim))
                    raise SourceError(
                        f"{file}, line {line:,}{' (without comments)' if layout.comment else ''} has "
                        f"{counted(fields, 'field')}, and its first line has {width:,} (separated by {separator}). "
                        "Mend the line (a delimiter inside a value needs quotes around the value), or state the "
                        "layout: --read delim=SIGN, quote=SIGN, comment=SIGN, skip=LINES or skip_footer=LINES."
                    )
    except csv.Error:
        raise SourceError(
            f"{file}, behind line {line:,}: a quote has no end, or text stands behind it. Mend it, or "
            "state what quotes are: --read quote=SIGN (none if there are none) or escape=SIGN."
        ) from None
    return found


# The header: which line it is, the delimiter that splits it, and the names of the columns


def header_of(engine: DuckDBEngine, file: Path, layout: Layout) -> tuple[int, dict[str, tuple[str, ...]]]:
    """Return how many lines are above the header, and its fields by each delimiter that may be meant; none if empty."""
    delimiters = [*SHOWN] if layout.delim is None else [layout.delim]
    with lines_of(engine, file, limit=layout.above + _LINES_OF_HEADER) as lines:
        skip = sum(1 for _ in islice(lines, layout.above))
        for line in lines:
            separator = _SEPARATOR_LINE.fullmatch(line)
            if separator is not None and layout.delim is None:
                delimiters = [separator["sign"]]
            elif line.strip():
                first = [line, *islice(lines, _LINES_OF_HEADER)]
                break
            skip += 1
        else:
            return skip, {}
    split = {sign: _split(first, sign, layout) for sign in delimiters}
    by_most = sorted(split.items(), key=lambda own: -len(own[1][0]))
    if several := {sign: tuple(header) for sign, (header, *_) in by_most if len(header) > 1}:
        return skip, several
    if layout.delim is None:
        _require_no_title(file, split, skip)
    # A file of one column: nothing stands between values.
    return skip, {layout.delim or _NO_DELIMITER: tuple(_split(first, _NO_DELIMITER, layout)[0])}


def _split(lines: Sequence[str], delimiter: str, layout: Layout) -> list[list[str]]:
    """Return the records of the first lines, up to a quote without an end, which ``counted_records`` names."""
    records = []
    with suppress(csv.Error), csv_records(lines, replace(layout, delim=delimiter)) as found:
        for record in found:
            records.append(record)  # noqa: PERF402 - those before an error are kept
    return records or [lines[0].split(delimiter)]


def _require_no_title(file: Path, split: Mapping[str, list[list[str]]], skip: int) -> None:
    """Raise if the first line has one field by any delimiter, and most others as many as each other by one of them."""
    found = []
    for sign, (_, *records) in split.items():
        widths = [(len(record), line) for line, record in enumerate(records, start=skip + 2) if record]
        (width, number), *_ = Counter(width for width, _ in widths).most_common(1) or [(1, 0)]
        if width > 1 and 2 * number > len(widths):
            found.append((width, SHOWN.get(sign, sign), next(line for own, line in widths if own == width)))
    if found:
        width, shown, line = max(found)
        raise SourceError(
            f"{file}, line {skip + 1:,} has 1 field, and others have {width:,} (separated by {shown}). If the header "
            f"is another line, state it: --read header={line}. If the file has one column, state a delimiter that no "
            "line has: --read delim=pipe."
        )


def names_of_columns(place: str, fields: Sequence[str], layout: Layout) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of columns, and notes on those that were changed.

    Names have no blanks around them, each is there once, and ``column_1`` stands where there is none.
    """
    given = layout.names or ([""] * len(fields) if layout.header is False else fields)
    if len(given) != len(fields):
        raise UsageError(
            f"--read names has {counted(len(given), 'name')}, and {place} has {counted(len(fields), 'column')}."
        )
    if len({folded(own) for own in given}) == 1 and given[2:] and layout.may_lack_header:  # a title in each cell
        require_header(place, given, [True] * len(given))
    names: dict[str, str] = {}  # by the name as SQL compares it
    notes = []
    for number, own in enumerate(given, start=1):
        name = own.strip()
        is_second = folded(name) in names
        if is_second and layout.duplicates == "error":
            raise UsageError(f"{place} has two columns {name!r}: rename one, or state --read header=true and names=...")
        if is_second or not name:
            taken = [*(other.strip() for other in given), *names]
            new = unused_name(name or f"column_{number}", taken)
            if is_second:
                notes.append(f"{place}: a second column {name!r} is read as {new!r}.")
            elif layout.header is not False:
                notes.append(f"{place}: column {number} has no name and is read as {new!r}.")
            name = new
        names[folded(name)] = name
    return tuple(names.values()), notes


def require_header(place: str, names: Sequence[str], may_be_values: Iterable[object]) -> None:
    """Raise if a name may be a value: a number or a date, or what ``may_be_values`` says of it."""
    doubtful = sum(1 for name, may_be in zip(names, may_be_values, strict=True) if may_be or _DATA.fullmatch(name))
    if doubtful:
        raise UsageError(
            f"The first line of {place} may be a row, and not the header: {doubtful} of its "
            f"{counted(len(names), 'name')} could be values (numbers, dates, texts that their columns have) or are "
            "missing. If the header is another line, state it: --read header=LINE. If it is this one, --read "
            "header=true. If there is none, --read header=false."
        )
