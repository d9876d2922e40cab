"""The header of a CSV file or a sheet: which line it is, the delimiter that splits it, and the names of the columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import TYPE_CHECKING

from kanon_sql.engine.sources.records import SHOWN, csv_reader, lines_of, not_utf8
from kanon_sql.errors import SourceError, UsageError, counted
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.layout import Layout

_SEPARATOR_LINE = re.compile(r"\s*\"?sep=(?P<sign>.)\"?\s*", re.IGNORECASE)
_LINES_OF_HEADER = 100
_NO_DELIMITER = "\x1f"
_DATA = re.compile(r"\s*[-+]?[0-9.,:/ T-]*[0-9][0-9.,:/ T-]*\s*")


@dataclass(frozen=True)
class Head:
    """What the first lines of a file say: by each delimiter, the fields of the header; and the lines above it."""

    fields: Mapping[str, tuple[str, ...]]
    skip: int


def header_of(engine: DuckDBEngine, file: Path, layout: Layout) -> Head:
    delimiters = [*SHOWN] if layout.delim is None else [layout.delim]
    with lines_of(engine, file, limit=layout.above + _LINES_OF_HEADER) as lines:
        try:
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
                return Head({}, skip)
        except UnicodeDecodeError:
            raise not_utf8(file) from None
    fields = {sign: tuple(_first_record(first, sign, layout)) for sign in delimiters}
    several = {sign: found for sign, found in fields.items() if len(found) > 1}
    by_most = dict(sorted(several.items(), key=lambda item: -len(item[1])))
    if not by_most and layout.delim is None:
        _require_no_title(file, first, skip, layout)
    # A file of one column: nothing stands between values.
    return Head(by_most or {layout.delim or _NO_DELIMITER: tuple(_first_record(first, _NO_DELIMITER, layout))}, skip)


def _require_no_title(file: Path, lines: Sequence[str], skip: int, layout: Layout) -> None:
    """Raise if the first line has one field by any delimiter, and most others as many as each other by one of them."""
    found = []
    for sign, shown in SHOWN.items():
        with suppress(csv.Error):
            records = enumerate(csv_reader(lines[1:], replace(layout, delim=sign)), start=skip + 2)
            widths = [(len(record), line) for line, record in records if record]
            (width, number), *_ = Counter(width for width, _ in widths).most_common(1) or [(1, 0)]
            if width > 1 and 2 * number > len(widths):
                found.append((width, shown, next(line for own, line in widths if own == width)))
    if found:
        width, shown, line = max(found)
        raise SourceError(
            f"{file}, line {skip + 1:,} has 1 field, and others have {width:,} (separated by {shown}). If the header "
            f"is another line, state it: --read header={line}. If the file has one column, state a delimiter that no "
            "line has: --read delim=pipe."
        )


def _first_record(lines: Iterable[str], delimiter: str, layout: Layout) -> list[str]:
    try:
        return next(csv_reader(lines, replace(layout, delim=delimiter)), [])
    except csv.Error:  # a quote without an end: ``require_even`` names its line
        return next(iter(lines), "").split(delimiter)


def names_of_columns(place: str, fields: Sequence[str], layout: Layout) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of columns, and notes on those that were changed.

    Names have no blanks around them, each is there once, and ``column_1`` stands where there is none.
    """
    given = list(fields)
    if layout.names is not None:
        if len(layout.names) != len(fields):
            raise UsageError(
                f"--read names has {counted(len(layout.names), 'name')}, and {place} has "
                f"{counted(len(fields), 'column')}."
            )
        given = list(layout.names)
    elif layout.header is False:
        given = [""] * len(fields)
    if len({folded(own) for own in given}) == 1 and given[2:] and layout.may_lack_header:  # a title in each cell
        raise refuse_header(place, len(given), len(given))
    names, notes = list[str](), list[str]()
    for number, own in enumerate(given, start=1):
        name = own.strip() or unused_name(f"column_{number}", [*given, *names])
        if any(folded(name) == folded(other) for other in names):
            if layout.duplicates == "error":
                raise UsageError(
                    f"{place} has two columns {name!r}: rename one, or state --read header=true and names=..."
                )
            taken = {folded(other.strip()) for other in [*given, *names]}
            new = next(new for again in count(2) if folded(new := f"{name}_{again}") not in taken)
            notes.append(f"{place}: a second column {name!r} is read as {new!r}.")
            name = new
        elif not own.strip() and layout.header is not False:
            notes.append(f"{place}: column {number} has no name and is read as {name!r}.")
        names.append(name)
    return tuple(names), notes


def may_be_data(name: str) -> bool:
    """Return True if the name of a column may be a value: a number or a date.

    >>> may_be_data("17.5"), may_be_data("2024-01-31"), may_be_data("age"), may_be_data("x1")
    (True, True, False, False)
    """
    return _DATA.fullmatch(name) is not None


def refuse_header(place: str, doubtful: int, names: int) -> UsageError:
    """Return the error of a first line that may be a row."""
    return UsageError(
        f"The first line of {place} may be a row, and not the header: {doubtful} of its {counted(names, 'name')} could "
        "be values (numbers, dates, texts that their columns have) or are missing. If the header is another line, "
        "state it: --read header=LINE. If it is this one, --read header=true. If there is none, --read header=false."
    )
