"""CSV files: one rule finds the layout, and DuckDB gets it; nothing is skipped, padded or guessed.

1. The header is the first line that is not blank, behind ``sep=;`` if there is one. The delimiter is the one of
   ``, ; tab |`` that splits it into most names such that all other lines have as many fields (``records``).
2. All columns are read as texts first. A column is of numbers, dates or times if all of its values are written in one
   way that loses nothing (``sql/files/kinds.sql``); else it is text.
3. The files are read with these types, and the rows are compared with a plain count of the records (``records``).

``docs/how-to/read-a-file.md`` states the rule; ``layout`` has what can be stated in place of it.
"""

from __future__ import annotations

import glob
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.sources.layout import Layout, say
from kanon_sql.engine.sources.records import (
    LONGEST_LINE,
    QUOTE,
    NotUtf8Error,
    counted_records,
    ended_lines,
    header_of,
    may_be_data,
    names_of_columns,
    refuse_header,
    require_even,
)
from kanon_sql.errors import NoRoomError, SourceError, counted
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.records import Head

_FEW = 3  # values that are no numbers or dates: a note gives so few as the reason for a text column
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
"""The type of each kind in ``sql/files/kinds.sql``, in the order in which they are tried."""
_DECIMALS = {"point", "comma"}


def read_from(reader: str, place: str | exp.Expr, settings: Mapping[str, exp.Expr]) -> exp.Table:
    """Return the relation of files: ``reader(place, setting = value, ...)``."""
    given = [exp.EQ(this=exp.var(name), expression=value) for name, value in settings.items()]
    return exp.Table(this=exp.Anonymous(this=reader, expressions=[sql.literal(place), *given]))


def text_reader(
    path: Path, types: Mapping[str, str], *, csv: bool, header: bool = True, delimiter: str = ","
) -> exp.Table:
    """Return the relation of a file of text with these columns."""
    settings: dict[str, exp.Expr] = {"columns": columns_of_types(types)}
    if csv:
        settings |= {
            "header": exp.true() if header else exp.false(),
            "auto_detect": exp.false(),
            "delim": sql.literal(delimiter),
            "quote": sql.literal(QUOTE),
            "escape": sql.literal(QUOTE),
            "allow_quoted_nulls": exp.false(),
            # Of 2 MB by itself, which a text of a row may exceed; more is room that is taken as it is needed.
            "max_line_size": sql.literal(LONGEST_LINE),
            "new_line": sql.literal("\\n"),  # else another end of a line in a name could be taken for that of lines
        }
    return read_from("read_csv" if csv else "read_json", str(path), settings)


def columns_of_types(types: Mapping[str, str]) -> exp.Struct:
    """Return the argument ``columns`` of a function that reads files: each name with its type."""
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=sql.literal(name), expression=sql.literal(kind)) for name, kind in types.items()
        ]
    )


@dataclass(frozen=True)
class Files:
    """Files that are one table."""

    engine: DuckDBEngine
    path: Path  # as given
    pattern: str  # the same as DuckDB takes it
    files: Sequence[Path]
    layout: Layout
    as_text: bool  # values of CSV stay as they are written, and those of JSON that would be floats or dates


@dataclass(frozen=True)
class _Part:
    """Files of the same header."""

    place: exp.Expr  # as DuckDB takes it
    files: Sequence[Path]
    names: tuple[str, ...]  # of columns
    notes: Sequence[str]  # on names that were changed
    records: int | None  # of a file of one column, where blank lines at the end are no records; else None
    skip: int  # lines above the header
    nameless: frozenset[str]  # columns behind the first one that have no name in the file


@dataclass(frozen=True)
class FileRead:
    """How a file was read."""

    create: exp.Create  # makes the table
    columns: tuple[Column, ...]
    layout: Layout  # with the encoding and the decimal sign that were found
    delimiter: str = ","  # of a CSV file
    formats: Mapping[str, str] = field(default_factory=dict)  # by column, of dates that are not written as in SQL
    sheet: str | None = None  # of an Excel file with several


def read_csv(read: Files, relation: exp.Table) -> FileRead:
    """Make CSV files a table.

    Raises:
        SourceError: a line has other fields than the header, or the rows are not the records of the files.
        UsageError: the header may be a row, or has columns of the same name that must not be.
    """
    layout = read.layout
    heads = {file: head for file in read.files if (head := header_of(read.engine, file, layout)).fields}
    if not heads:
        raise SourceError(f"{read.path} has no header and no rows. Was it written to its end?")
    first, *others = heads.values()
    wrong: SourceError | None = None
    for delimiter in [sign for sign in first.fields if all(sign in other.fields for other in others)]:
        found = replace(read, layout=replace(layout, delim=delimiter))
        try:
            reading = _Reading(found, _parts(found, heads))
            try:
                create, kinds = reading.into(relation)
            except NoRoomError:  # which says nothing of the file
                raise
            except SourceError:
                reading.require_even()
                # DuckDB refuses lines that end in two ways, and long ones; Python's csv found nothing wrong in them.
                create, kinds = replace(reading, strict=False).into(relation)
        except (NoRoomError, NotUtf8Error):
            raise
        except SourceError as error:
            wrong = wrong or error
        else:
            for note in [] if read.as_text else [note for part in reading.parts for note in part.notes]:
                say(note)
            is_comma = {kind for kind in kinds.values() if kind in _DECIMALS} == {"comma"}
            known = replace(layout, decimal_separator="," if is_comma else layout.decimal_separator)
            formats = {name: getattr(layout, kind) for name, kind in kinds.items() if kind.endswith("format")}
            return FileRead(create, read.engine.columns(relation), known, delimiter, formats)
    raise wrong or SourceError(f"The headers in {read.path} have different delimiters: read the files one by one.")


def _parts(read: Files, heads: Mapping[Path, Head]) -> list[_Part]:
    """Return the files by their headers, with names that SQL can tell apart."""
    alike: dict[tuple[tuple[str, ...], int, Path | None], list[Path]] = {}
    for file, head in heads.items():
        fields = head.fields[str(read.layout.delim)]
        alike.setdefault((fields, head.skip, file if len(fields) == 1 else None), []).append(file)
    parts, spelled = [], dict[str, str]()
    for (fields, skip, alone), of_them in alike.items():
        given, notes = names_of_columns(str(read.path), fields, read.layout)
        names = tuple(spelled.setdefault(folded(name), name) for name in given)  # as in the first file that has it
        place: exp.Expr = sql.literal(read.pattern)
        if len(of_them) < len(read.files):
            places = [sql.literal(glob.escape(str(file))) for file in of_them]
            place = places[0] if len(places) == 1 else exp.Array(expressions=places)
        records = None if alone is None else counted_records(read.engine, alone, skip, read.layout, one_column=True)
        is_nameless = [not own.strip() and place > 0 for place, own in enumerate(fields)]
        nameless = frozenset(name for name, without in zip(names, is_nameless, strict=True) if without)
        parts.append(_Part(place, of_them, names, notes, records, skip, nameless))
    return parts


@dataclass(frozen=True)
class _Facts:
    """How many texts of a column are what; blank ones do not count."""

    values: int  # all but codes
    codes: int  # of a missing value
    code: str | None  # one of them
    names: int  # equal to the name of the column
    clear: int  # with a sign that can only be that of decimals
    with_digits: int
    of_kind: Mapping[str, int]

    @property
    def has_commas(self) -> bool:
        """True if commas can only be the decimal signs of all values."""
        commas, points = (self.of_kind.get(kind, 0) for kind in ("comma", "point"))
        return self.clear > 0 and points < commas == self.values

    def others(self, kind: str) -> int:
        """Return how many values are words, if all others are of a kind; else 0."""
        number = self.of_kind[kind]
        return self.values - number if number and self.with_digits <= number else 0


_NOTHING = _Facts(0, 0, None, 0, 0, 0, dict.fromkeys(_TYPES, 0))


@dataclass(frozen=True)
class _Reading:
    """A way to read files."""

    read: Files  # with the delimiter in the layout
    parts: Sequence[_Part]
    strict: bool = True  # DuckDB refuses what the standard for CSV does not allow

    @property
    def layout(self) -> Layout:
        return self.read.layout

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for part in self.parts for name in part.names))

    def into(self, relation: exp.Table) -> tuple[exp.Create, dict[str, str]]:
        """Read the files into a table; return the statement, and the kinds of columns that are no text."""
        engine, name = self.read.engine, self.read.path.name
        self.layout.require_drops(self.names, self.read.path)
        facts, asked = self._looked_at()
        kinds = self._told(facts, asked)
        with ThreadPoolExecutor(max_workers=1) as beside:
            lines = beside.submit(self._lines)
            try:
                engine.run(self._create(relation, kinds, checked=True), f"read {name}")
            except NoRoomError:
                raise
            except SourceError:
                if not kinds:
                    raise
                # A later value is of another kind; or a line is malformed, which the next statement says.
                facts |= self._facts(kinds, self._kinds())
                kinds = self._told(facts, dict.fromkeys(kinds, self._kinds()))
                engine.run(self._create(relation, kinds, checked=True), f"read {name}")
            try:
                self._require_all(relation, lines.result())
            except SourceError:
                engine.run(sql.drop(relation), f"forget {name}")
                raise
        return self._create(relation, kinds), kinds

    def _create(self, relation: exp.Table, kinds: Mapping[str, str], *, checked: bool = False) -> exp.Create:
        return sql.create_table(relation, self.query(kinds, checked=checked), temporary=True)

    def _records(self) -> int:
        """Count the records behind the headers by Python's csv."""
        return sum(
            counted_records(self.read.engine, file, part.skip, self.layout, one_column=False)
            if part.records is None
            else part.records
            for part in self.parts
            for file in part.files
        )

    def _lines(self) -> int:
        """Count the ends of lines behind the headers, outside of quotes, which is fast."""
        header = self.layout.header is not False
        return sum(ended_lines(file, self.layout) - part.skip - header for part in self.parts for file in part.files)

    def _require_all(self, relation: exp.Table, lines: int) -> None:
        """Raise unless each record of the files is a row, or was left out on request."""
        engine, path = self.read.engine, self.read.path
        (rows,) = engine.row(sql.select_count(relation), "count the rows that were read")
        if self.layout.drops is not None:
            query = self.query({}, dropped=True)
            (left_out,) = engine.row(exp.select(sql.count_rows()).from_(query.subquery()), "count the others")
            if not self.read.as_text:
                self.layout.say_left_out(left_out, path)
            rows += left_out
        # Lines are no fewer than records, but for quotes inside of values.
        if rows != lines and rows != (records := self._records()):
            raise SourceError(
                f"{path} has {counted(records, 'record')}, and {counted(rows, 'row')} were read. State how it is laid "
                "out: --read quote=SIGN, escape=SIGN, comment=SIGN or skip=LINES."
            )

    def require_even(self) -> None:
        """Raise if a line has another number of fields than the header."""
        for part in self.parts:
            for file in part.files:
                require_even(self.read.engine, file, part.skip, len(part.names), self.layout)

    def query(self, kinds: Mapping[str, str], *, checked: bool = False, dropped: bool = False) -> exp.Query:
        """Return the query of the files, with columns of these kinds; the others are texts.

        If it is ``checked``, it ends with an error at a value of another kind. Of rows that are left out, it returns
        those that are ``dropped``, or the others.
        """
        queries = []
        for part in self.parts:
            values = [
                sql.named(self._value(name, kinds[name], checked=checked), name) for name in part.names if name in kinds
            ]
            query = exp.select(exp.Star(replace=values) if values else exp.Star())
            rows: exp.Expr = read_from("read_csv", part.place, self._settings(part))
            if part.records is not None:
                rows = exp.select("*").from_(rows).limit(part.records).subquery("records")
            query = query.from_(rows)
            if self.layout.drops is not None:
                text = exp.func("COALESCE", sql.cast(sql.column(self.layout.drops), "VARCHAR"), sql.literal(""))
                has_value = exp.NEQ(this=text, expression=sql.literal(""))
                query = query.where(sql.negated(has_value) if dropped else has_value)
            queries.append(query)
        if len(queries) == 1:
            return queries[0]
        union = sql.union_all(queries)
        for each in [union, *union.find_all(exp.Union)]:
            each.set("by_name", value=True)
        return union

    def _settings(self, part: _Part) -> dict[str, exp.Expr]:
        layout = self.layout
        settings: dict[str, exp.Expr] = {
            "auto_detect": exp.false(),
            "header": exp.false() if layout.header is False else exp.true(),
            "delim": sql.literal(layout.delim),
            "columns": columns_of_types(dict.fromkeys(part.names, "VARCHAR")),
        }
        settings |= {"skip": sql.literal(part.skip)} if part.skip else {}
        for key in ("quote", "escape"):
            if (sign := getattr(layout, key)) is not None:
                settings[key] = sql.literal(sign)
        if layout.quote is not None and layout.escape is None:
            settings["escape"] = sql.literal(layout.quote)
        if layout.nullstr is None:
            settings["allow_quoted_nulls"] = exp.false()
        else:  # as they are, and as they stand behind a delimiter and a blank
            texts = ["", *(written for text in layout.nullstr for written in (text, f" {text}"))]
            settings["nullstr"] = exp.Array(expressions=[*map(sql.literal, texts)])
        if not self.strict:
            settings |= {"strict_mode": exp.false(), "max_line_size": sql.literal(LONGEST_LINE)}
        return settings

    def _text(self, name: str) -> exp.Expr:
        """Return the text of a column; of a number with thousands, without the signs between them."""
        own: exp.Expr = sql.column(name)
        if self.layout.thousands is None:
            return own
        decimals = "".join(sign for sign in ".," if sign != self.layout.thousands)
        grouped = rf"^ *-?[0-9]{{1,3}}({re.escape(self.layout.thousands)}[0-9]{{3}})+([{decimals}][0-9]+)? *$"
        without = sql.replaced(own.copy(), self.layout.thousands, "")
        return exp.Case().when(sql.matches(own.copy(), grouped), without).else_(own)

    def _value(self, name: str, kind: str, *, checked: bool) -> exp.Expr:
        """Return the value that a text of a kind is; of a release, whose values stay texts, with a decimal point."""
        text = self._text(name)
        is_blank = exp.EQ(this=exp.Trim(this=text.copy()), expression=sql.literal(""))
        value: exp.Expr = text if checked else exp.Case().when(sql.negated(is_blank), text)
        if kind == "comma":
            value = sql.replaced(value, ",", ".")
        elif kind.endswith("format"):
            value = exp.Anonymous(this="strptime", expressions=[value, sql.literal(getattr(self.layout, kind))])
        if not self.read.as_text:  # checked, a value is cast as the predicate casts it, which DuckDB does once
            cast = exp.TryCast if checked else exp.Cast
            value = cast(this=value, to=exp.DataType.build(_TYPES[kind], dialect="duckdb"))
        if not checked:
            return value
        columns = {"value": text}
        is_of_kind = sql.selected("files/kinds", kind, values=self._formats, columns=columns, part="kinds")
        other = exp.Anonymous(this="error", expressions=[sql.literal(f"{name} has a value of another kind")])
        return exp.Case().when(is_of_kind, value.copy()).when(sql.negated(is_blank), other)

    def _looked_at(self) -> tuple[dict[str, _Facts], dict[str, list[str]]]:
        """Return facts of the first texts of columns, or of all if these do not decide; and the kinds that fit."""
        if self.read.as_text:
            asked = {name: ["comma"] for name in self.names if self.layout.decimal_separator == ","}
            return self._facts(asked, ["comma"]) if asked else {}, asked
        facts = self._facts(self.names, self._kinds(), limit=_SAMPLE)
        if self.layout.may_lack_header:
            self._require_header(facts)
        sure, unsure = {}, {}
        for name, found in facts.items():
            fitting = [kind for kind in self._kinds() if found.of_kind[kind] == found.values]
            near = [kind for kind in self._kinds() if found.values - _FEW <= found.of_kind[kind] > found.values / 2]
            if fitting and found.values and not found.codes and (found.clear or fitting[0] not in _DECIMALS):
                sure[name] = fitting
            elif fitting or near:
                unsure[name] = fitting or near
        if unsure:
            facts |= self._facts(unsure, self._kinds())
        return facts, sure | unsure

    def _facts(self, names: Collection[str], kinds: Sequence[str], limit: int | None = None) -> dict[str, _Facts]:
        """Return what texts of columns are: whether they are of these kinds, in the first rows or in all."""
        rows = exp.select(*(sql.named(self._text(name), name) for name in names))
        rows = rows.from_(self.query({}).subquery("texts"))
        of_kind = []
        for kind in kinds:
            is_of_kind = exp.and_(sql.negated(sql.column("code")), sql.column(kind))
            rows_of_kind = exp.Case().when(is_of_kind, sql.column("n")).else_(sql.literal(0))
            of_kind.append(sql.named(exp.Sum(this=rows_of_kind), kind))
        statement = sql.statement(
            "files/kinds",
            values={**self._formats, "of_kind": of_kind},
            relations={"sample": (rows if limit is None else rows.limit(limit)).subquery()},
        )
        title = "what all values are" if limit is None else "what the first values may be"
        facts = dict.fromkeys(names, _NOTHING)
        for name, values, codes, code, own, clear, digits, *by_kind in self.read.engine.rows(statement, title):
            facts[name] = _Facts(values, codes, code, own, clear, digits, dict(zip(kinds, by_kind, strict=True)))
        return facts

    def _told(self, facts: Mapping[str, _Facts], asked: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Return the kinds of columns, of those asked for, and say why a column is text that nearly is of a kind."""
        # Three digits behind a point are decimals, unless the file is written as where commas are decimal signs.
        as_points = self.layout.delim != ";" and not any(own.has_commas for own in facts.values())
        kinds_of = {}
        for name, kinds in asked.items():
            own = facts[name]
            kind = next((kind for kind in kinds if own.values and own.of_kind[kind] == own.values), None)
            unclear = kind == "comma" or (kind == "point" and not as_points)
            if kind is not None and own.codes:
                say(f"{name} is text because of {counted(own.codes, 'value')}: --read nullstr={own.code}")
            elif unclear and not own.clear and self.layout.decimal_separator is None:
                sign, word = (",", "comma") if kind == "comma" else (".", "point")
                say(
                    f"{name} is text: if its {word}s are decimal signs, --read decimal_separator={word}; if they stand "
                    f"between thousands, --read thousands={sign}"
                )
            elif kind is not None:
                kinds_of[name] = kind
            elif 0 < (few := min(filter(None, map(own.others, kinds)), default=0)) <= _FEW:
                words = f"{counted(few, 'value')} (a total, or a code?)"
                say(f"{name} is text because of {words}: --read skip_footer=LINES or nullstr=TEXT")
        return kinds_of

    def _kinds(self) -> list[str]:
        """Return the kinds that values may be of, in the order in which they are tried."""
        none = {kind for kind in ("dateformat", "timestampformat") if getattr(self.layout, kind) is None}
        none |= {",": {"point"}, ".": {"comma"}}.get(self.layout.decimal_separator or "", set())
        none |= {",": {"comma"}, ".": {"point"}}.get(self.layout.thousands or "", set())
        return [kind for kind in _TYPES if kind not in none]

    @property
    def _formats(self) -> dict[str, sql.Value]:
        return {"dateformat": self.layout.dateformat, "timestampformat": self.layout.timestampformat}

    def _require_header(self, first: Mapping[str, _Facts]) -> None:
        """Raise if a name may be a value (a number, a date, or a value that its own column has), or is not there."""
        for part in self.parts:
            own = {
                name
                for name, found in first.items()
                if found.names or (name in part.nameless and found.values + found.codes)
            }
            data = [name for name in part.names if name in own or may_be_data(name)]
            if data:
                raise refuse_header(str(self.read.path), len(data), len(part.names))
