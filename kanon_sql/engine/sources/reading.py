"""CSV files: one rule detects the layout and passes it to DuckDB; nothing is skipped, padded or guessed.

1. The header is the first line that is not blank, after ``sep=;`` if there is one. The delimiter is the one of
   ``, ; tab |`` that splits it into most names such that all other lines have as many fields (``records``).
2. All columns are read as texts first. A column has numbers, dates or times if all of its values have one format that
   loses nothing (``sql/files/kinds.sql``); else it is text.
3. The files are read with these types, and the rows are compared with a plain count of the records (``records``).

``docs/how-to/read-a-file.md`` states the rule; ``layout`` has the settings that override it.
"""

from __future__ import annotations

import glob
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlglot import exp

from kanon_sql.engine.sources.layout import CSV, Layout, say
from kanon_sql.engine.sources.records import (
    LONGEST_LINE,
    QUOTE,
    Header,
    counted_records,
    ended_lines,
    header_of,
    names_of_columns,
    require_header,
)
from kanon_sql.errors import NoRoomError, SourceError, counted
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.engine import DuckDBEngine

_FEW = 3  # most values other than numbers or dates that a note gives as the reason for a text column
_SAMPLE = 512  # rows that are tried for all kinds; the rest is then read as one kind
_TYPES = {
    "timestampformat": "TIMESTAMP",
    "dateformat": "DATE",
    "integer": "BIGINT",
    "point": "DOUBLE",
    "comma": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "zoned": "TIMESTAMP WITH TIME ZONE",
    "time": "TIME",
}
"""The type of each kind in ``sql/files/kinds.sql``, in the order of trial."""
_DECIMALS = {"point": ".", "comma": ","}


def read_from(reader: str, place: str | exp.Expr, settings: Mapping[str, Any]) -> exp.Table:
    """Return the relation of files: ``reader(place, setting = value, ...)``, without settings that are None."""
    given = {name: value for name, value in settings.items() if value is not None}
    if types := given.get("columns"):
        pairs = [exp.PropertyEQ(this=sql.literal(name), expression=sql.literal(kind)) for name, kind in types.items()]
        given["columns"] = exp.Struct(expressions=pairs)
    assigned = [exp.EQ(this=exp.var(name), expression=sql.literal(value)) for name, value in given.items()]
    return exp.Table(this=exp.Anonymous(this=reader, expressions=[sql.literal(place), *assigned]))


def text_reader(
    path: Path, types: Mapping[str, str], *, csv: bool, header: bool = True, delimiter: str = ","
) -> exp.Table:
    """Return the relation of a text file with these columns."""
    settings: dict[str, Any] = {"columns": types}
    if csv:
        settings |= {
            "header": header,
            "auto_detect": False,
            "delim": delimiter,
            "quote": QUOTE,
            "escape": QUOTE,
            "allow_quoted_nulls": False,
            # The default is 2 MB, which a text can exceed; larger values only allocate memory when needed.
            "max_line_size": LONGEST_LINE,
            "new_line": "\\n",  # otherwise another line end in a name could count as the line end
        }
    return read_from(CSV if csv else "read_json", str(path), settings)


@dataclass(frozen=True)
class Files:
    """Files that make up one table."""

    engine: DuckDBEngine
    path: Path
    pattern: str  # the same as a DuckDB pattern
    files: Sequence[Path]
    layout: Layout
    as_text: bool  # CSV values stay unchanged, and JSON values that would be floats or dates
    texts: Collection[str] = ()  # CSV columns that stay unchanged


@dataclass(frozen=True)
class FileRead:
    """How a file was read."""

    create: exp.Create
    columns: tuple[Column, ...]
    layout: Layout  # with the detected encoding and decimal sign
    delimiter: str = ","  # of a CSV file
    formats: Mapping[str, str] = field(default_factory=dict)  # by column, of dates that are not in SQL's format
    sheet: str | None = None  # of an Excel file with several
    reader: str | None = None  # see ``layout.READERS``; None if no file on this machine was read


def read_csv(read: Files, relation: exp.Table) -> FileRead:
    """Load CSV files as a table.

    Raises:
        SourceError: a line has other fields than the header, or the rows are not the records of the files.
        UsageError: the header may be a row, or has columns of the same name although that is an error.
    """
    layout = read.layout
    parts: dict[tuple[Any, ...], _Part] = {}
    spelled: dict[str, str] = {}
    for file in read.files:
        header = header_of(file, layout)
        given, notes = names_of_columns(str(read.path), header.fields, layout)
        names = tuple(spelled.setdefault(folded(name), name) for name in given)  # spelled as in its first file
        is_alone = len(names) == 1  # then blank lines at the end are not records
        part = parts.setdefault((header, names, file if is_alone else None), _Part([], header, names, notes))
        part.files.append(file)
    for strict in (True, False):  # DuckDB refuses mixed line ends and long lines; Python's csv does not
        reading = _Reading(**vars(read), parts=[*parts.values()], strict=strict)
        try:
            create, kinds = reading.into(relation)
            break
        except SourceError as error:
            if isinstance(error, NoRoomError) or not (strict and reading.records):
                raise
    for note in [] if read.as_text else [note for part in reading.parts for note in part.notes]:
        say(note)
    is_comma = {kind for kind in kinds.values() if kind in _DECIMALS} == {"comma"}
    known = replace(layout, decimal_separator="," if is_comma else layout.decimal_separator)
    formats = {name: getattr(layout, kind) for name, kind in kinds.items() if kind.endswith("format")}
    delimiter = reading.parts[0].header.delimiter
    return FileRead(create, read.engine.columns(relation), known, delimiter, formats, reader=CSV)


class _Part(NamedTuple):
    """Files of the same header; a file of one column is always alone."""

    files: list[Path]
    header: Header
    names: tuple[str, ...]  # of columns
    notes: Sequence[str]  # on names that were changed


class _Facts(NamedTuple):
    """Counts of the texts of a column by kind; blank ones do not count (see ``sql/files/kinds.sql``)."""

    values: int = 0  # all but codes
    codes: int = 0  # of a missing value
    code: str | None = None  # one of them
    names: int = 0  # equal to the name of the column
    clear: int = 0  # with a sign that can only be a decimal sign
    with_digits: int = 0
    of_kind: Mapping[str, int] = dict.fromkeys(_TYPES, 0)

    @property
    def kind(self) -> str | None:
        """The first kind of all values; None if there is none."""
        return next((kind for kind, number in self.of_kind.items() if 0 < self.values == number), None)

    @property
    def words(self) -> int:
        """The number of values that are words, if all others are of a kind; else 0."""
        return min((self.values - n for n in self.of_kind.values() if self.with_digits <= n > 0), default=0)


@dataclass(frozen=True)
class _Reading(Files):
    """One attempt to read CSV files."""

    parts: Sequence[_Part] = ()
    strict: bool = True  # DuckDB refuses violations of the CSV standard

    @cached_property
    def records(self) -> dict[Path, int]:
        """The number of records of each file by Python's csv. Raises a SourceError that names a malformed line."""
        return {file: counted_records(file, part.header, self.layout) for part in self.parts for file in part.files}

    @property
    def kinds(self) -> list[str]:
        """The possible kinds of values, in the order of trial."""
        layout = self.layout
        if self.as_text:
            return ["comma"] if layout.decimal_separator == "," else []
        unstated = {kind for kind, value in self._formats.items() if value is None}
        no_decimals = {{".": ",", ",": "."}.get(layout.decimal_separator or ""), layout.thousands} - {None}
        return [kind for kind in _TYPES if kind not in unstated and _DECIMALS.get(kind) not in no_decimals]

    @property
    def _formats(self) -> dict[str, sql.Value]:
        return {"dateformat": self.layout.dateformat, "timestampformat": self.layout.timestampformat}

    def into(self, relation: exp.Table) -> tuple[exp.Create, dict[str, str]]:
        """Read the files into a table; return the statement, and the kinds of columns that are not text."""
        names = list(dict.fromkeys(name for part in self.parts for name in part.names))
        self.layout.require_drops(names, self.path)
        facts = self._looked_at(names) if self.kinds else {}
        kinds = self._told(facts, [name for name in facts if name not in self.texts])
        with ThreadPoolExecutor(max_workers=1) as beside:
            lines = beside.submit(self._lines)
            try:
                self._make(relation, kinds)
            except SourceError as error:
                if not kinds or isinstance(error, NoRoomError):
                    raise
                # A later value is of another kind; or a line is malformed, which the next statement reports.
                facts |= self._facts(kinds)
                kinds = self._told(facts, kinds)
                self._make(relation, kinds)
            try:
                self._require_all(relation, lines.result())
            except SourceError:
                self.engine.run(sql.drop(relation), f"forget {self.path.name}")
                raise
        return sql.create_table(relation, self.query(kinds), temporary=True), kinds

    def _make(self, relation: exp.Table, kinds: Mapping[str, str]) -> None:
        create = sql.create_table(relation, self.query(kinds, checked=True), temporary=True)
        self.engine.run(create, f"read {self.path.name}")

    def _lines(self) -> int:
        """Count the line ends after the headers, outside quotes; this is fast."""
        header = self.layout.header is not False
        return sum(
            ended_lines(file, self.layout) - part.header.above - header for part in self.parts for file in part.files
        )

    def _require_all(self, relation: exp.Table, lines: int) -> None:
        """Raise unless each record of the files is a row, or was left out on request."""
        (rows,) = (kept,) = self.engine.row(sql.select_count(relation), "count the rows that were read")
        if self.layout.drops is not None:
            (rows,) = self.engine.row(
                exp.select(sql.count_rows()).from_(self.query({}, whole=True).subquery()), "count all rows"
            )
            if not self.as_text:
                self.layout.say_left_out(rows - kept, self.path)
        # There are at least as many lines as records, except for quotes inside values.
        if rows != lines and rows != (records := sum(self.records.values())):
            raise SourceError(
                f"{self.path} has {counted(records, 'record')}, and {counted(rows, 'row')} were read. State how it is "
                "laid out: --read quote=SIGN, escape=SIGN, comment=SIGN or skip=LINES."
            )

    def query(self, kinds: Mapping[str, str], *, checked: bool = False, whole: bool = False) -> exp.Query:
        """Return the query of the files, with columns of these kinds; the others are texts.

        If it is ``checked``, a value of another kind is an error. If it is ``whole``, no row is left out.
        """
        queries = []
        for part in self.parts:
            places = [sql.literal(glob.escape(str(file))) for file in part.files]
            place = places[0] if len(places) == 1 else exp.Array(expressions=places)
            rows: exp.Expr = read_from(CSV, self.pattern if len(self.parts) == 1 else place, self._settings(part))
            if len(part.names) == 1:
                rows = exp.select("*").from_(rows).limit(self.records[part.files[0]]).subquery("records")
            values = [
                sql.named(self._value(name, kinds[name], checked=checked), name) for name in part.names if name in kinds
            ]
            query = exp.select(exp.Star(replace=values) if values else exp.Star()).from_(rows)
            if self.layout.drops is not None and not whole:
                text = exp.func("COALESCE", sql.cast(sql.column(self.layout.drops), "VARCHAR"), sql.literal(""))
                query = query.where(exp.NEQ(this=text, expression=sql.literal("")))
            queries.append(query)
        union = sql.union_all(queries)
        for each in list(union.find_all(exp.Union)):
            each.set("by_name", value=True)
        return union

    def _settings(self, part: _Part) -> dict[str, Any]:
        layout = self.layout
        # Texts of missing values, unchanged, and after a delimiter and a blank.
        missing = [written for text in layout.nullstr or () for written in (text, f" {text}")]
        return {
            "auto_detect": False,
            "header": layout.header is not False,
            "delim": part.header.delimiter,
            "columns": dict.fromkeys(part.names, "VARCHAR"),
            "skip": part.header.above or None,
            "quote": layout.quote,
            "escape": layout.quote if layout.escape is None else layout.escape,
            "allow_quoted_nulls": None if missing else False,
            "nullstr": ["", *missing] if missing else None,
            "strict_mode": None if self.strict else False,
            "max_line_size": None if self.strict else LONGEST_LINE,
        }

    def _text(self, name: str) -> exp.Expr:
        """Return the text of a column; for numbers, without thousands separators."""
        own: exp.Expr = sql.column(name)
        if self.layout.thousands is None:
            return own
        decimals = "".join(sign for sign in ".," if sign != self.layout.thousands)
        grouped = rf"^ *-?[0-9]{{1,3}}({re.escape(self.layout.thousands)}[0-9]{{3}})+([{decimals}][0-9]+)? *$"
        without = sql.replaced(own.copy(), self.layout.thousands, "")
        return exp.Case().when(sql.matches(own.copy(), grouped), without).else_(own)

    def _value(self, name: str, kind: str, *, checked: bool) -> exp.Expr:
        """Return the typed value of a text; in a release, whose values stay texts, with a decimal point."""
        text = self._text(name)
        is_blank = exp.EQ(this=exp.Trim(this=text.copy()), expression=sql.literal(""))
        value: exp.Expr = text if checked else exp.Case().when(sql.negated(is_blank), text)
        if kind == "comma":
            value = sql.replaced(value, ",", ".")
        elif kind.endswith("format"):
            value = exp.Anonymous(this="strptime", expressions=[value, sql.literal(self._formats[kind])])
        if not self.as_text:  # if checked, the cast equals that of the predicate, and DuckDB computes it once
            cast = exp.TryCast if checked else exp.Cast
            value = cast(this=value, to=exp.DataType.build(_TYPES[kind], dialect="duckdb"))
        if not checked:
            return value
        columns = {"value": text}
        is_of_kind = sql.selected("files/kinds", kind, values=self._formats, columns=columns, part="kinds")
        other = exp.Anonymous(this="error", expressions=[sql.literal(f"{name} has a value of another kind")])
        return exp.Case().when(is_of_kind, value.copy()).when(sql.negated(is_blank), other)

    def _facts(self, names: Iterable[str], limit: int | None = None) -> dict[str, _Facts]:
        """Return facts about the texts of columns, in the first rows or in all."""
        rows = exp.select(*(sql.named(self._text(name), name) for name in names))
        rows = rows.from_(self.query({}).subquery("texts"))
        relations = {"sample": (rows if limit is None else rows.limit(limit)).subquery()}
        statement = sql.statement("files/kinds", values=self._formats, relations=relations)
        title = "what all values are" if limit is None else "what the first values may be"
        found = dict.fromkeys(names, _Facts())
        for name, *counts in self.engine.rows(statement, title):
            own = _Facts(*counts)
            found[name] = own._replace(of_kind={kind: own.of_kind[kind] for kind in self.kinds})
        return found

    def _looked_at(self, names: Sequence[str]) -> dict[str, _Facts]:
        """Return facts about columns that may not be text: from their first texts, or all if inconclusive."""
        first = self._facts(names, limit=_SAMPLE)
        if self.layout.may_lack_header and not self.as_text:
            self._require_header(first)
        sure, unsure = {}, []
        for name, own in first.items():
            if own.kind and not own.codes and (own.clear or own.kind not in _DECIMALS):
                sure[name] = own
            elif own.kind or not own.values or own.values - _FEW <= max(own.of_kind.values()) > own.values / 2:
                unsure.append(name)
        return sure | (self._facts(unsure) if unsure else {})

    def _told(self, facts: Mapping[str, _Facts], names: Iterable[str]) -> dict[str, str]:
        """Return the kinds of columns; report why a column is text although nearly all values are of one kind."""
        # Three digits after a point are decimals, unless the file appears to use decimal commas.
        as_points = all(part.header.delimiter != ";" for part in self.parts) and not any(
            own.clear and own.kind == "comma" for own in facts.values()
        )
        kinds_of = {}
        for name in names:
            own, kind = facts[name], facts[name].kind
            unclear = kind == "comma" or (kind == "point" and not as_points)
            if kind is not None and own.codes:
                say(f"{name} is text because of {counted(own.codes, 'value')}: --read nullstr={own.code}")
            elif kind is not None and unclear and not own.clear and self.layout.decimal_separator is None:
                say(
                    f"{name} is text: if its {kind}s are decimal signs, --read decimal_separator={kind}; if they stand "
                    f"between thousands, --read thousands={_DECIMALS[kind]}"
                )
            elif kind is not None:
                kinds_of[name] = kind
            elif 0 < own.words <= _FEW:
                words = f"{counted(own.words, 'value')} (a total, or a code?)"
                say(f"{name} is text because of {words}: --read skip_footer=LINES or nullstr=TEXT")
        return kinds_of

    def _require_header(self, first: Mapping[str, _Facts]) -> None:
        """Raise if a name is missing or may be a value (a number, a date, or a value of its own column)."""
        for part in self.parts:
            may_be_values = (
                first[name].names or (place > 0 and not field.strip() and first[name].values + first[name].codes)
                for place, (name, field) in enumerate(zip(part.names, part.header.fields, strict=True))
            )
            require_header(str(self.path), part.names, may_be_values)
