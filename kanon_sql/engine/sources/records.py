"""The records of a UTF-8 CSV file by Python's csv: the header, a count, and the malformed line."""

from __future__ import annotations

import csv
import re
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kanon_sql.errors import SourceError, UsageError, counted
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from kanon_sql.engine.sources.layout import Layout

QUOTE = '"'
_DELIMITERS = {"\t": "tabs", "|": "|", ";": "semicolons", ",": "commas"}
"""Delimiters in the order of trial, with names for messages: commas come last, as names and numbers have some."""
LONGEST_LINE = 64 * 1024 * 1024
_BLOCK = 1 << 22
_SEPARATOR_LINE = re.compile(r"\s*\"?sep=(?P<sign>.)\"?\s*", re.IGNORECASE)
_FIRST_LINES = 100
_NO_DELIMITER = "\x1f"
_DATA = re.compile(r"\s*[-+]?[0-9.,:/ T-]*[0-9][0-9.,:/ T-]*\s*")


class Header(NamedTuple):
    """The position and content of the first line of a table."""

    above: int  # lines above it
    delimiter: str
    fields: tuple[str, ...]


@contextmanager
def _lines_of(path: Path) -> Iterator[Iterator[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            yield iter(text)
    except UnicodeDecodeError:
        raise SourceError(f"{path} is not UTF-8: state the encoding, --read encoding=NAME.") from None


@contextmanager
def csv_records(lines: Iterable[str], layout: Layout, *, strict: bool = False) -> Iterator[Any]:
    """Read lines with Python's csv; fields may be as long as DuckDB's lines."""
    quote, escape, limit = QUOTE if layout.quote is None else layout.quote, layout.escape, csv.field_size_limit()
    csv.field_size_limit(LONGEST_LINE)
    try:
        yield csv.reader(
            lines,
            delimiter=(layout.delim or ",")[0],  # blanks after it are skipped below
            quotechar=quote or None,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            escapechar=escape if escape not in {None, "", quote} else None,
            doublequote=escape in {None, quote},
            skipinitialspace=True,
            strict=strict,
        )
    finally:
        csv.field_size_limit(limit)


def _width(record: Sequence[str], wanted: int) -> int:
    """Return the number of fields of a record; as in DuckDB, a trailing delimiter starts no value."""
    return wanted if len(record) == wanted + 1 and not record[-1] else len(record)


def ended_lines(file: Path, layout: Layout) -> int:
    """Count the lines of a file that end outside quotes.

    Raises:
        SourceError: some lines end in a lone carriage return and others do not, which DuckDB reads differently.
    """
    quote = (QUOTE if layout.quote is None else layout.quote).encode()
    all_else = bytes(byte for byte in range(256) if byte not in b"\r\n" + quote)
    lines, alone, inside, last = 0, 0, False, b"\n"
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            while block.endswith(b"\r") and (more := opened.read(1)):  # its line feed may follow
                block += more
            has_alone = b"\r" in block and block.count(b"\r") > block.count(b"\r\n")
            parts = [block]
            if quote and quote in block:
                # No line ends between two quotes; a carriage return before them may be alone.
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


def counted_records(file: Path, header: Header, layout: Layout) -> int:
    """Count the records after the header by Python's csv.

    In a file of one column, blank lines are records too, except at the end.

    Raises:
        SourceError: a line has another number of fields than the header, or a quote has no end.
    """
    above, width = header.above, len(header.fields)
    found, blank, line, begins = 0 if layout.header is False else -1, 0, above + 1, above + 1
    layout = replace(layout, delim=header.delimiter)
    try:
        with _lines_of(file) as lines, csv_records(islice(lines, above, None), layout, strict=True) as records:
            for record in records:
                line, begins = begins, above + records.line_num + 1
                if not record:
                    blank += width == 1
                    continue
                found, blank = found + 1 + blank, 0
                if (fields := _width(record, width)) != width:
                    separator = _DELIMITERS.get(header.delimiter, repr(header.delimiter))
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


def header_of(file: Path, layout: Layout) -> Header:
    """Return the first line of a table, split by the stated delimiter or the best fit for the lines below it."""
    delimiters, first = [*_DELIMITERS] if layout.delim is None else [layout.delim], list[str]()
    with _lines_of(file) as lines:
        above = sum(1 for _ in islice(lines, layout.above))
        for line in lines:
            separator = _SEPARATOR_LINE.fullmatch(line)
            if separator is not None and layout.delim is None:
                delimiters = [separator["sign"]]
            elif line.strip():
                first = [line, *islice(lines, _FIRST_LINES)]
                break
            above += 1
    if not first:
        raise SourceError(f"{file} has no header and no rows. Was it written to its end?")
    split = {sign: _split(first, sign, layout) for sign in delimiters}
    several = [sign for sign, (header, *_) in split.items() if len(header) > 1]
    if several:
        widths = {sign: {_width(own, len(split[sign][0])) for own in split[sign] if own} for sign in several}
        fitting = [sign for sign in several if len(widths[sign]) == 1]
        delimiter = max(fitting or several, key=lambda sign: len(split[sign][0]))
        return Header(above, delimiter, tuple(split[delimiter][0]))
    if layout.delim is None:
        _require_no_title(file, split, above)
    # A file of one column has no delimiter.
    return Header(above, layout.delim or _NO_DELIMITER, tuple(_split(first, _NO_DELIMITER, layout)[0]))


def _split(lines: Sequence[str], delimiter: str, layout: Layout) -> list[list[str]]:
    """Return the records of the first lines, up to a quote without an end, which ``counted_records`` reports."""
    records = []
    with suppress(csv.Error), csv_records(lines, replace(layout, delim=delimiter)) as found:
        for record in found:
            records.append(record)  # noqa: PERF402 - those before an error are kept
    is_cut = len(lines) > _FIRST_LINES and len(records) > 1  # the last one may be incomplete
    return records[:-1] if is_cut else records or [lines[0].split(delimiter)]


def _require_no_title(file: Path, split: dict[str, list[list[str]]], above: int) -> None:
    """Raise if the first line has one field by any delimiter, but most others agree on more by one of them."""
    for sign, records in split.items():
        widths = [len(record) for record in records[1:] if record]
        ((width, lines),) = Counter(widths).most_common(1) or [(1, 0)]
        if width > 1 and 2 * lines > len(widths):
            line = above + 1 + [len(record) for record in records].index(width)
            raise SourceError(
                f"{file}, line {above + 1:,} has 1 field, and others have {width:,} (separated by "
                f"{_DELIMITERS.get(sign, sign)}). If the header is another line, state it: --read header={line}. If "
                "the file has one column, state a delimiter that no line has: --read delim=pipe."
            )


def names_of_columns(place: str, fields: Sequence[str], layout: Layout) -> tuple[tuple[str, ...], list[str]]:
    """Return the column names, and notes on those that were changed.

    Names are unique and have no blanks around them; a missing name becomes ``column_1`` and so on.
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
            new = unused_name(name or f"column_{number}", [*(other.strip() for other in given), *names])
            if is_second or layout.header is not False:
                what = f"a second column {name!r}" if is_second else f"column {number} has no name and"
                notes.append(f"{place}: {what} is read as {new!r}.")
            name = new
        names[folded(name)] = name
    return tuple(names.values()), notes


def require_header(place: str, names: Sequence[str], may_be_values: Iterable[object]) -> None:
    """Raise if a name may be a value: a number, a date, or according to ``may_be_values``."""
    doubtful = sum(1 for name, may_be in zip(names, may_be_values, strict=True) if may_be or _DATA.fullmatch(name))
    if doubtful:
        raise UsageError(
            f"The first line of {place} may be a row, and not the header: {doubtful} of its "
            f"{counted(len(names), 'name')} could be values (numbers, dates, texts that their columns have) or are "
            "missing. If the header is another line, state it: --read header=LINE. If it is this one, --read "
            "header=true. If there is none, --read header=false."
        )
