"""The statements that read data files, and whether a CSV file was read by the layout that it has.

DuckDB looks for a separator by which all lines have the same number of fields. If one line has a field too many, no
separator does that but one that is in no line (each line is then one column), or one that is inside values, as the
comma of 4384,11 is (the header is then skipped, and a row gives the names).

It is misled about quotes too. It takes an apostrophe for one where that too makes even lines: the lines from one value
of a single apostrophe to the next are then one value. And it sees no quotes where the first are after the rows that it
looked at, so that they become part of the values.
"""

from __future__ import annotations

import csv
import glob
import gzip
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import NoRoomError, SourceError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Column, Engine

PACKED = {".gz", ".zst"}
BLOCK = 1 << 22


def read_from(reader: str, pattern: str | exp.Expr, settings: Mapping[str, exp.Expr]) -> exp.Table:
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
    kind = path.suffix.lstrip(".")
    return SourceError(f"{path} cannot be read as {kind}. Is it whole, and is it what its suffix says?")


_LONGEST_LINE = 64 * 1024 * 1024


def text_reader(
    path: Path, types: Mapping[str, str], *, csv: bool, header: bool = True, delimiter: str = ","
) -> exp.Anonymous:
    """Return the function that reads a file of text with these columns."""
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
            "delim": sql.literal(delimiter),
            "quote": sql.literal('"'),
            "escape": sql.literal('"'),
            "allow_quoted_nulls": exp.false(),
            # Of 2 MB by itself, which a text of a row may exceed; more is room that is taken as it is needed.
            "max_line_size": sql.literal(_LONGEST_LINE),
            "new_line": sql.literal("\\n"),  # else another end of a line in a name could be taken for that of lines
        }
    named = [exp.EQ(this=exp.var(name), expression=value) for name, value in settings.items()]
    return exp.Anonymous(this="read_csv" if csv else "read_json", expressions=[sql.literal(str(path)), *named])


SAMPLE = 20_480  # how many rows DuckDB looks at by default
_SEPARATORS = (",", ";", "\t", "|")
_SHOWN = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "|"}
EVERY_LINE = (1 << 63) - 1
_QUOTINGS = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)  # the second for a quotation mark that is none
_NEARLY_ALL = 0.9
_SEVERAL = 2


@dataclass(frozen=True)
class Layout:
    """What DuckDB made of a file.

    Attributes:
        separator: of values.
        quote: what may stand around them.
        skipped: lines left out at the beginning.
        header: whether the next has the names.
        columns: how many there are.
        date_format: how dates are written, where that is not as in SQL.
        timestamp_format: the same of timestamps.
    """

    separator: str
    quote: str
    skipped: int
    header: bool
    columns: int
    date_format: str | None = None
    timestamp_format: str | None = None


@dataclass(frozen=True)
class Widths:
    """The lines of a file by their number of fields.

    Attributes:
        counts: how many have each number of fields, the first line among them.
        odd: line number and number of fields of the first that differs from the first line.
        where_read: the number of fields of the line at which DuckDB began to read.
    """

    counts: Counter[int]
    odd: tuple[int, int] | None
    where_read: int

    def follow(self, width: int) -> bool:
        """Whether the first line looks like a header: no other number of fields is more common than its own."""
        own = self.counts[width]
        return own > self.counts[1] and own == max(self.counts.values())

    @property
    def commonest(self) -> int:
        return self.counts.most_common(1)[0][0]

    def follow_another(self, width: int) -> bool:
        """Whether nearly all lines have one number of fields, and the first line another."""
        others = self.counts.total() - 1
        return self.commonest not in {1, width} and self.counts[self.commonest] >= _NEARLY_ALL * others


def is_blank(engine: Engine, path: Path) -> bool:
    return not _first_fields(engine, path)


def layout_of(engine: Engine, place: Path | exp.Expr, columns: int, sample: int) -> Layout:
    """Return how DuckDB read a file, of which it looked at ``sample`` rows; -1 for all."""
    path = place if isinstance(place, exp.Expr) else glob.escape(str(place))
    values: dict[str, sql.Value | exp.Expr] = {"path": path, "sample": sample}
    separator, quote, skipped, header, date_format, timestamp_format = engine.row(
        sql.statement("files/layout_of_csv", values=values), "layout of the file"
    )
    return Layout(separator, quote, skipped, header, columns, date_format, timestamp_format)


def delimiter_of(engine: Engine, path: Path, names: Sequence[str], encoding: str | None = None) -> str:
    """Return what separates the values of a CSV file whose first line has these names; a comma where none does."""
    fields = _first_fields(engine, path, encoding)
    return next((separator for separator, first in fields.items() if first == list(names)), ",")


def separator_beside_commas(engine: Engine, path: Path) -> str | None:
    """Return what separates the names in the first line of a file whose commas are decimal signs; None if nothing."""
    fields = _first_fields(engine, path)
    return next((separator for separator, first in fields.items() if separator != "," and len(first) > 1), None)


def lost_separator(engine: Engine, path: Path, names: Sequence[str], sample: int) -> str | None:
    """Return the separator by which a file has a header that DuckDB did not see; None if it was read as it is.

    It raises a SourceError where a line has another number of fields than the first one: no header fits it.
    """
    fields = _first_fields(engine, path)
    if list(names) in fields.values() or all(len(first) < _SEVERAL for first in fields.values()):
        return None
    layout = layout_of(engine, path, len(names), sample)
    for separator, first in fields.items():
        if separator == layout.separator and layout.skipped == 0 and layout.columns > 1:
            return None
        if _is_lost(engine, path, separator, len(first), layout):
            return separator
    return None


def require_even(engine: Engine, path: Path) -> None:
    """Raise if a line of a file that DuckDB cannot read has another number of fields than its first one."""
    for separator, first in _first_fields(engine, path).items():
        _is_lost(engine, path, separator, len(first), None)


def _is_lost(engine: Engine, path: Path, separator: str, width: int, layout: Layout | None) -> bool:
    """Tell whether all lines have as many fields as the first, by a separator that DuckDB did not take."""
    for quoting in _QUOTINGS if layout is None or layout.columns == 1 else _QUOTINGS[:1]:
        try:
            found = _widths(engine, path, separator, width, layout.skipped if layout else 0, quoting)
        except csv.Error:  # a field without an end
            continue
        if layout and _is_as_meant(found, separator, width, layout):
            continue
        alone = found.follow_another(width) and (layout is None or layout.columns < found.commonest)
        if found.odd is None and found.follow(width):
            return layout is None or layout.columns < width or separator == layout.separator
        if found.odd is not None and (alone or found.follow(width)):
            line, fields = found.odd
            raise SourceError(
                f"{path}, line {line:,} has {_counted(fields)}, and its first line has {width:,} (separated by "
                f"{_SHOWN[separator]}). Mend the line: a separator inside a value needs quotes around the value."
            )
    return False


def _is_as_meant(found: Widths, separator: str, width: int, layout: Layout) -> bool:
    """Tell whether DuckDB seems to be right about a file whose first line is not the names of its columns.

    A file of one column may have a separator in its name and in some values. In other files, what the first line says
    may stand above the header.
    """
    own = found.counts[width]
    if layout.columns == 1:
        return width == _SEVERAL and found.counts[1] > max(1, (1 - _NEARLY_ALL) * found.counts.total())
    if own <= max((count for fields, count in found.counts.items() if fields != width), default=0):
        # No header to follow, unless it is itself what is malformed.
        return separator == layout.separator or width <= layout.columns
    if separator == layout.separator or width > layout.columns:
        return False
    # The decimal commas of n columns make n + 1.
    return found.where_read == 1 or width + 1 < layout.columns


def _counted(fields: int) -> str:
    return f"{fields:,} field" + ("s" if fields != 1 else "")


def _first_fields(engine: Engine, path: Path, encoding: str | None = None) -> dict[str, list[str]]:
    """Return the fields of the first line by each separator that is in it, the most fields first.

    A line without any of them is one field, whatever separates the others; a file without lines has none.
    """
    fields: dict[str, list[str]] = {}
    for separator in _SEPARATORS:
        with lines_of(engine, path, limit=100, encoding=encoding) as lines:
            try:
                fields[separator] = next((record for _, record in _records(lines, separator, csv.QUOTE_MINIMAL)), [])
            except csv.Error:
                continue
    several = {separator: record for separator, record in fields.items() if len(record) > 1}
    if not several:
        return {separator: record for separator, record in list(fields.items())[:1] if record}
    return dict(sorted(several.items(), key=lambda item: -len(item[1])))


def _widths(engine: Engine, path: Path, separator: str, width: int, skipped: int, quoting: int) -> Widths:
    """Count the fields of each line. A separator at the end of a line that begins no value is none, as to DuckDB."""
    counts: Counter[int] = Counter()
    odd, where_read = None, 0
    with lines_of(engine, path) as lines:
        for line, record in _records(lines, separator, quoting):
            fields = width if len(record) == width + 1 and not record[-1] else len(record)
            counts[fields] += 1
            if odd is None and fields != width:
                odd = line, fields
            if not where_read and line > skipped:
                where_read = fields
    return Widths(counts, odd, where_read)


def _records(lines: Iterable[str], separator: str, quoting: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not blank with the number of the line at which it begins."""
    reader = csv.reader(lines, delimiter=separator, quoting=quoting)  # type: ignore[arg-type]  # a constant of csv
    begins = 1
    for record in reader:
        if record:
            yield begins, record
        begins = reader.line_num + 1


@contextmanager
def lines_of(
    engine: Engine, path: Path, limit: int = EVERY_LINE, encoding: str | None = None
) -> Iterator[Iterable[str]]:
    """Open a file of text for reading line by line; a file of .zst is read by DuckDB, at once."""
    suffix = path.suffix.lower()
    if suffix == ".zst":
        values: dict[str, sql.Value] = {"path": glob.escape(str(path)), "limit": limit}
        yield [
            f"{line or ''}\n"
            for (line,) in engine.rows(sql.statement("files/lines_of_csv", values=values), "lines of the file")
        ]
    elif suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
            yield file
    else:
        with path.open(
            encoding="utf-8-sig" if encoding in {None, "utf-8"} else encoding, errors="replace", newline=""
        ) as file:
            yield file


_QUOTE = '"'
_APOSTROPHE = "'"
_MAY_QUOTE = (_QUOTE.encode(), _APOSTROPHE.encode(), b"\\")
_WORTH_LOOKING = 1 << 25  # bytes: to look for quotes in more takes longer than DuckDB's trials


def quotes_of_none(files: Sequence[Path]) -> dict[str, exp.Expr]:
    """Return the settings of the usual quotes, where no file has any quote or escape; none where one may have.

    They say nothing of such files, but without them DuckDB tries others on the first rows, which is half of the time
    that it takes to read a small file.
    """
    if not files or any(file.suffix.lower() in PACKED for file in files):
        return {}
    try:
        if sum(file.stat().st_size for file in files) > _WORTH_LOOKING:
            return {}
        if any(_has_any(file, _MAY_QUOTE) for file in files):
            return {}
    except OSError:  # said when it is read
        return {}
    return {"quote": sql.literal(_QUOTE), "escape": sql.literal(_QUOTE)}


@dataclass(frozen=True)
class TableRead:
    """What files were read into.

    Attributes:
        relation: the table.
        columns: its columns.
        rows: how many it has.
        has_nulls: whether a text is NULL.
        has_quotes: whether a text begins with a quote.
    """

    relation: exp.Table
    columns: tuple[Column, ...]
    rows: int
    has_nulls: bool
    has_quotes: bool

    @property
    def texts(self) -> list[Column]:
        return [column for column in self.columns if column.family == "text"]


def look_at(engine: Engine, relation: exp.Table) -> TableRead:
    """Return what must be known of a table that was read, in one scan."""
    columns = engine.columns(relation)
    texts = [sql.column(column.name) for column in columns if column.family == "text"]
    nulls = exp.or_(exp.false(), *(text.is_(exp.null()) for text in texts))
    quotes = exp.or_(exp.false(), *(exp.Like(this=text.copy(), expression=sql.literal(f"{_QUOTE}%")) for text in texts))
    facts = exp.select(sql.count_rows(), exp.LogicalOr(this=nulls), exp.LogicalOr(this=quotes)).from_(relation.copy())
    rows, has_nulls, has_quotes = engine.row(facts, "count rows; look for empty texts, and for quotes around values")
    return TableRead(relation, columns, int(rows), bool(has_nulls), bool(has_quotes))


def quotes_of(
    engine: Engine,
    files: Sequence[Path],
    pattern: str,
    table: TableRead,
    settings: Mapping[str, exp.Expr],
    sample: int,
) -> dict[str, exp.Expr]:
    """Return the setting that names what quotes values, where files were read by something else; none where not."""
    quote: dict[str, exp.Expr] = {"quote": sql.literal(_QUOTE)}
    apostrophes = any(_apostrophes_quote(engine, file, sample) for file in files)
    may_be_late = files and sample != -1 and table.rows > SAMPLE
    if not apostrophes and not (may_be_late and table.has_quotes):
        return {}
    by_quotes = _by_quotes(engine, pattern, table, {**settings, **quote})
    if by_quotes is None:
        return {}
    # What was one value by the apostrophes is lines of its own; quotes that are values' own hold no lines together.
    rows, begin, end = by_quotes
    return quote if (rows > table.rows and not 0 < begin == end if apostrophes else rows == table.rows) else {}


def _apostrophes_quote(engine: Engine, path: Path, sample: int) -> bool:
    """Tell whether a file was read with apostrophes as quotes; most have none, and are not looked at further."""
    limit = EVERY_LINE if sample == -1 else sample
    if path.suffix.lower() not in PACKED and not _has_any(path, (_APOSTROPHE.encode(),), limit):
        return False
    with lines_of(engine, path, limit) as lines:
        if not any(_APOSTROPHE in line for line in islice(lines, limit)):
            return False
    return layout_of(engine, path, 0, sample).quote == _APOSTROPHE


def _has_any(path: Path, marks: Sequence[bytes], lines: int = EVERY_LINE) -> bool:
    """Tell whether a file has one of these marks in its first lines, or in the block in which they end."""
    with path.open("rb") as file:
        while lines > 0 and (block := file.read(BLOCK)):
            if any(mark in block for mark in marks):
                return True
            lines -= block.count(b"\n")
    return False


def _by_quotes(
    engine: Engine, pattern: str, table: TableRead, settings: Mapping[str, exp.Expr]
) -> tuple[int, int, int] | None:
    """Return how many rows there are by the usual quotes; None if they cannot be read so, or have other columns.

    And how many values only begin with an apostrophe, and only end with one: as many, where apostrophes do quote values
    that go over several lines, which are taken apart now.
    """
    read = engine.temporary_name("kanon_requoted")
    try:
        engine.run(reading("read_csv", pattern, read, settings), "read by the usual quotes")
    except NoRoomError:
        raise
    except SourceError:
        return None
    columns = [table.columns, engine.columns(read)]
    halves: list[exp.Expr] = [sql.literal(0), sql.literal(0)]
    for column in columns[1]:
        if column.family == "text":
            begins, ends = (
                exp.Like(this=sql.column(column.name), expression=sql.literal(where))
                for where in (f"{_APOSTROPHE}%", f"%{_APOSTROPHE}")
            )
            for half, (has, lacks) in enumerate(((begins, ends), (ends, begins))):
                only = exp.and_(has.copy(), sql.negated(lacks.copy()))
                halves[half] = exp.Add(this=halves[half], expression=sql.where(sql.count_rows(), only))
    rows, begin, end = engine.row(
        exp.select(sql.count_rows(), *halves).from_(read.copy()), "count rows by the usual quotes"
    )
    engine.run(sql.drop(read), "count rows by the usual quotes")
    own, other = ([column.name for column in of] for of in columns)
    return (int(rows), int(begin), int(end)) if own == other else None
