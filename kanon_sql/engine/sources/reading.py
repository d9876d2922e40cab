"""CSV files: the layout is found by one rule, and DuckDB is told it; nothing is skipped, padded or guessed.

1. The header is the first line that is not blank, behind ``sep=;`` if there is one. The delimiter is the one of
   ``, ; tab |`` that splits it into most names such that all other lines have as many fields.
2. All columns are looked at as texts. A column is of numbers, dates or times if all of its values are written in one
   way that loses nothing (``sql/files/kinds.sql``); else it is text.
3. The files are read with these types, and the rows are compared with a plain count of the records.

``docs/how-to/read-a-file.md`` states the rule; ``layout`` has what can be stated in place of it.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import re
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.sources.layout import Layout, say
from kanon_sql.errors import NoRoomError, SourceError, UsageError, counted
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Column, Engine

PACKED = {".gz", ".zst"}
BLOCK = 1 << 22
EVERY_LINE = (1 << 63) - 1
QUOTE = '"'
_LONGEST_LINE = 64 * 1024 * 1024
_SHOWN = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "|"}
_SEPARATOR_LINE = re.compile(r"\s*\"?sep=(?P<sign>.)\"?\s*", re.IGNORECASE)
_LINES_OF_HEADER = 100
_NO_DELIMITER = "\x1f"
_FEW = 3  # values that are no numbers or dates: so few are said to be why a column is text
_SAMPLE = 512  # rows of which the kinds are tried; the rest is then tried for one kind only
_DATA = re.compile(r"\s*[-+]?[0-9.,:/ T-]*[0-9][0-9.,:/ T-]*\s*")
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


def read_from(reader: str, place: str | exp.Expr, settings: Mapping[str, exp.Expr]) -> exp.Table:
    given = [exp.EQ(this=exp.column(name), expression=value) for name, value in settings.items()]
    return exp.Table(this=exp.Anonymous(this=reader, expressions=[sql.literal(place), *given]))


def unreadable(path: Path) -> SourceError:
    kind = path.suffix.lstrip(".")
    return SourceError(f"{path} cannot be read as {kind}. Is it whole, and is it what its suffix says?")


def text_reader(
    path: Path, types: Mapping[str, str], *, csv: bool, header: bool = True, delimiter: str = ","
) -> exp.Anonymous:
    """Return the function that reads a file of text with these columns."""
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
            "max_line_size": sql.literal(_LONGEST_LINE),
            "new_line": sql.literal("\\n"),  # else another end of a line in a name could be taken for that of lines
        }
    named = [exp.EQ(this=exp.var(name), expression=value) for name, value in settings.items()]
    return exp.Anonymous(this="read_csv" if csv else "read_json", expressions=[sql.literal(str(path)), *named])


def columns_of_types(types: Mapping[str, str]) -> exp.Struct:
    """Return the argument ``columns`` of a function that reads files: each name with its type."""
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=sql.literal(name), expression=sql.literal(kind)) for name, kind in types.items()
        ]
    )


class NotUtf8Error(SourceError):
    """A text file is in another encoding."""


def _not_utf8(file: Path) -> NotUtf8Error:
    first = "unpack it, and state" if file.suffix.lower() in PACKED else "state"
    return NotUtf8Error(f"{file} is not UTF-8: {first} the encoding, --read encoding=NAME.")


@dataclass(frozen=True)
class _Head:
    """What the first lines of a file say: by each delimiter, the fields of the header; and the lines above it."""

    fields: Mapping[str, tuple[str, ...]]
    skip: int


@dataclass(frozen=True)
class _Part:
    """Files of the same header.

    Attributes:
        place: as DuckDB takes it.
        files: that are there.
        names: of their columns.
        skip: lines above the header.
        nameless: columns behind the first one that have no name in the file.
    """

    place: exp.Expr
    files: tuple[Path, ...]
    names: tuple[str, ...]
    skip: int
    nameless: frozenset[str]


@dataclass(frozen=True)
class FileRead:
    """What a file was read into.

    Attributes:
        create: the statement that made the table.
        columns: of the table.
        layout: what is known of the layout now: what was stated, the encoding, the decimal sign.
        delimiter: of a CSV file; else a comma.
        formats: how dates are written that are not written as in SQL, by column.
        sheet: of an Excel file with several.
    """

    create: exp.Create
    columns: tuple[Column, ...]
    layout: Layout
    delimiter: str = ","
    formats: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None


def read_csv(
    engine: Engine,
    path: Path,
    pattern: str,
    files: Sequence[Path],
    relation: exp.Table,
    layout: Layout,
    *,
    as_text: bool,
) -> FileRead:
    """Make CSV files a table.

    Args:
        engine: reads them.
        path: what a person pointed at.
        pattern: the same as DuckDB takes it.
        files: those that it stands for.
        relation: the table.
        layout: what is stated.
        as_text: whether all values stay as they are written.

    Raises:
        SourceError: a line has other fields than the header, or the rows are not the records of the files.
        UsageError: the header may be a row, or has columns of the same name that must not be.
    """
    heads = {file: head for file in files if (head := _head(engine, file, layout)).fields}
    if not heads:
        raise SourceError(f"{path} has no header and no rows. Was it written to its end?")
    first, *others = heads.values()
    wrong: SourceError | None = None
    for delimiter in [sign for sign in first.fields if all(sign in other.fields for other in others)]:
        found = replace(layout, delim=delimiter)
        try:
            parts = _parts(path, pattern, files, heads, found)
            reading = _Reading(engine, path, parts, found, as_text=as_text)
            try:
                create, kinds = reading.into(relation)
            except NoRoomError:  # which says nothing of the file
                raise
            except SourceError:
                for part in parts:
                    for file in part.files:
                        _require_even(engine, file, part, found)
                # DuckDB refuses lines that end in two ways, and long ones; Python's csv found nothing wrong in them.
                create, kinds = replace(reading, strict=False).into(relation)
        except (NoRoomError, NotUtf8Error):
            raise
        except SourceError as error:
            wrong = wrong or error
        else:
            _parts(path, pattern, files, heads, found, tell=not as_text)  # once it is known that they are the names
            is_comma = {kind for kind in kinds.values() if kind in {"point", "comma"}} == {"comma"}
            known = replace(layout, decimal_separator="," if is_comma else layout.decimal_separator)
            formats = {name: getattr(layout, kind) for name, kind in kinds.items() if kind.endswith("format")}
            return FileRead(create, engine.columns(relation), known, delimiter, formats)
    raise wrong or SourceError(f"The headers in {path} have different delimiters: read the files one by one.")


@dataclass(frozen=True)
class _Reading:
    """How files are to be read.

    Attributes:
        engine: reads them.
        path: what a person pointed at.
        parts: the files, by their headers.
        layout: with the delimiter.
        as_text: whether all values stay as they are written.
        strict: whether DuckDB refuses what is not as the standard has it.
    """

    engine: Engine
    path: Path
    parts: Sequence[_Part]
    layout: Layout
    as_text: bool
    strict: bool = True

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for part in self.parts for name in part.names))

    def into(self, relation: exp.Table) -> tuple[exp.Create, dict[str, str]]:
        """Read the files into a table; return the statement, and the kinds of columns that are no text."""
        self.layout.require_drops(self.names, self.path)
        kinds = self._kinds_by_first_rows()
        # Blank lines at the end are no rows of a file of one column; there is none to see in others.
        limit = self._records() if len(self.names) == 1 and len(self.parts) == 1 else None
        try:
            self.engine.run(self._create(relation, kinds, limit, checked=True), f"read {self.path.name}")
        except NoRoomError:
            raise
        except SourceError:
            if not kinds:
                raise
            # A later value is of another kind; or a line is malformed, which the next statement says.
            kinds = self._told(self._looked_at(dict.fromkeys(kinds, tuple(self._kinds()))))
            self.engine.run(self._create(relation, kinds, limit, checked=True), f"read {self.path.name}")
        try:
            self._require_all(relation)
        except SourceError:
            self.engine.run(sql.drop(relation), f"forget {self.path.name}")
            raise
        return self._create(relation, kinds, limit), kinds

    def _create(
        self, relation: exp.Table, kinds: Mapping[str, str], limit: int | None, *, checked: bool = False
    ) -> exp.Create:
        query = self.query(kinds, checked=checked)
        query = query if limit is None else query.limit(limit)
        return sql.create_table(relation, query, temporary=True)

    def _records(self) -> int:
        """Return how many records Python's csv finds behind the headers."""
        return sum(_counted_records(self.engine, file, part, self.layout) for part in self.parts for file in part.files)

    def _require_all(self, relation: exp.Table) -> None:
        """Raise unless each record of the files is a row, or was left out as it was asked for."""
        (rows,) = self.engine.row(sql.select_count(relation), "count the rows that were read")
        if self.layout.drops is not None:
            query = self.query({}, dropped=True)
            (left_out,) = self.engine.row(exp.select(sql.count_rows()).from_(query.subquery()), "count the others")
            if not self.as_text:
                self.layout.say_left_out(left_out, self.path)
            rows += left_out
        header = self.layout.header is not False
        lines = sum(
            _lines_with_ends(file, self.layout) - part.skip - header for part in self.parts for file in part.files
        )
        # Ends of lines are counted fast. They are no fewer than records, but for quotes inside of values.
        if rows != lines and rows != (records := self._records()):
            raise SourceError(
                f"{self.path} has {counted(records, 'record')}, and {counted(rows, 'row')} were read. State how it is "
                "laid out: --read quote=SIGN, escape=SIGN, comment=SIGN or skip=LINES."
            )

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
            query = query.from_(read_from("read_csv", part.place, self._settings(part)))
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
        else:
            settings["nullstr"] = exp.Array(
                expressions=[sql.literal(text) for text in ("", *_behind_blanks(layout.nullstr))]
            )
        if not self.strict:
            settings |= {"strict_mode": exp.false(), "max_line_size": sql.literal(_LONGEST_LINE)}
        return settings

    def _text(self, name: str) -> exp.Expr:
        text: exp.Expr = sql.column(name)
        return text if self.layout.thousands is None else sql.replaced(text, self.layout.thousands, "")

    def _value(self, name: str, kind: str, *, checked: bool) -> exp.Expr:
        """Return the value that a text of a kind is; of a release, whose values stay texts, with a decimal point."""
        text = self._text(name)
        is_blank = exp.EQ(this=exp.Trim(this=text.copy()), expression=sql.literal(""))
        value: exp.Expr = text if checked else exp.Case().when(sql.negated(is_blank), text)
        if kind == "comma":
            value = sql.replaced(value, ",", ".")
        elif kind.endswith("format"):
            value = exp.Anonymous(this="strptime", expressions=[value, sql.literal(getattr(self.layout, kind))])
        value = value if self.as_text else sql.cast(value, _TYPES[kind])
        if not checked:
            return value
        other = exp.Anonymous(this="error", expressions=[sql.literal(f"{name} has a value of another kind")])
        return exp.Case().when(self._predicate(name, kind), value.copy()).when(sql.negated(is_blank), other)

    def _kinds_by_first_rows(self) -> dict[str, str]:
        """Return the kinds of columns by their first values; of those that do not tell, by all of them."""
        if self.as_text:
            comma = self.layout.decimal_separator == ","
            return self._told(self._looked_at(dict.fromkeys(self.names, ("comma",)))) if comma else {}
        rows = exp.select(*(sql.named(self._text(name), name) for name in self.names))
        rows = rows.from_(self.query({}).subquery("texts")).limit(_SAMPLE)
        statement = sql.statement("files/kinds", values=self._formats, relations={"sample": rows.subquery()})
        first = {name: _First(*counts) for name, *counts in self.engine.rows(statement, "what the first values may be")}
        if self.layout.may_lack_header:
            self._require_header(first)
        kinds, unsure = {}, {}
        for name in self.names:
            found = first.get(name, _First())
            fitting = tuple(kind for kind in self._kinds() if found.of(kind) == found.values)
            near = tuple(kind for kind in self._kinds() if found.values - _FEW <= found.of(kind) > found.values / 2)
            if fitting and found.values and not found.codes and (found.clear or fitting[0] not in {"comma", "point"}):
                kinds[name] = fitting[0]
            elif fitting or near:
                unsure[name] = fitting or near
        return kinds | (self._told(self._looked_at(unsure)) if unsure else {})

    def _told(self, looks: Mapping[str, _Look]) -> dict[str, str]:
        """Return the kinds that were found, and say why a column is text that nearly is of a kind."""
        # Three digits behind a point are decimals, unless the file is written as where commas are decimal signs.
        as_points = self.layout.delim != ";" and not any(look.kind == "comma" and look.clear for look in looks.values())
        kinds = {}
        for name, look in looks.items():
            unclear = look.kind == "comma" or (look.kind == "point" and not as_points)
            if look.kind is not None and look.codes:
                say(f"{name} is text because of {counted(look.codes, 'value')}: --read nullstr={look.code}")
            elif unclear and not look.clear and self.layout.decimal_separator is None:
                sign, word = (",", "comma") if look.kind == "comma" else (".", "point")
                say(
                    f"{name} is text: if its {word}s are decimal signs, --read decimal_separator={word}; if they stand "
                    f"between thousands, --read thousands={sign}"
                )
            elif look.kind is not None:
                kinds[name] = look.kind
            elif 0 < look.others <= _FEW:
                few = f"{counted(look.others, 'value')} (a total, or a code?)"
                say(f"{name} is text because of {few}: --read skip_footer=LINES or nullstr=TEXT")
        return kinds

    def _kinds(self) -> list[str]:
        """Return the kinds that values may be of, in the order in which they are tried."""
        none = {kind for kind in ("dateformat", "timestampformat") if getattr(self.layout, kind) is None}
        none |= {",": {"point"}, ".": {"comma"}}.get(self.layout.decimal_separator or "", set())
        return [kind for kind in _TYPES if kind not in none]

    def _predicate(self, name: str, kind: str) -> exp.Expr:
        columns = {"value": self._text(name)}
        found = sql.selected("files/kinds", kind, values=self._formats, columns=columns, part="kinds")
        if self.layout.thousands is None or kind == "code":
            return found
        sign, own = re.escape(self.layout.thousands), sql.column(name)
        has_none = sql.negated(sql.matches(own, sign))
        return exp.and_(
            found, exp.or_(has_none, sql.matches(own, rf"^ *-?[0-9]{{1,3}}({sign}[0-9]{{3}})+([.,][0-9]+)? *$"))
        )

    @property
    def _formats(self) -> dict[str, sql.Value]:
        return {"dateformat": self.layout.dateformat, "timestampformat": self.layout.timestampformat}

    def _looked_at(self, asked: Mapping[str, Sequence[str]]) -> dict[str, _Look]:
        """Return what all texts of columns are, of those kinds that are asked for."""
        # By value: NULL if it is of the kind, else whether it says that a value is missing.
        others: list[exp.Expr] = []
        facts: list[exp.Expr] = []
        for name, kinds in asked.items():
            text, blank = sql.column(name), exp.Trim(this=sql.column(name)).eq(sql.literal(""))
            facts.append(exp.Count(this=exp.Case().when(sql.negated(blank), text)))
            for kind in kinds:
                is_of_kind = exp.or_(text.copy().is_(exp.null()), blank.copy(), self._predicate(name, kind))
                others.append(exp.Case().when(is_of_kind, exp.null()).else_(self._predicate(name, "code")))
                other = sql.column(f"other_{len(others)}", "kinds")
                is_decimal = kind in {"comma", "point"}
                facts += [
                    exp.Count(this=other),
                    sql.where(exp.Count(this=other.copy()), other.copy()),
                    sql.where(exp.Count(this=other.copy()), sql.matches(text, "[0-9]")),
                    sql.where(exp.Min(this=exp.Trim(this=text.copy())), other.copy()),
                    exp.LogicalOr(this=self._predicate(name, "clear")) if is_decimal else exp.true(),
                ]
        kinds_of = [sql.named(other, f"other_{number}") for number, other in enumerate(others, start=1)]
        texts = exp.select("*", *kinds_of).from_(self.query({}).subquery("texts"))
        query = exp.select(*facts).from_(texts.subquery("kinds"))
        found = iter(self.engine.row(query, "what all values are"))
        looks = {}
        for name, kinds in asked.items():
            looks[name], values = _Look(), next(found)
            for kind in kinds:
                number, codes, with_digits, code, clear = islice(found, 5)
                look, few = looks[name], 0 if with_digits else number - codes
                if look.kind is None and number == codes < values:
                    looks[name] = _Look(kind, codes, code, clear=bool(clear))
                elif look.kind is None and number < values and (not look.others or few < look.others):
                    looks[name] = _Look(others=few)
        return looks

    def _require_header(self, first: Mapping[str, _First]) -> None:
        """Raise if a name may be a value (a number, a date, or a value that its own column has), or is not there."""
        for part in self.parts:
            own = {name for name, found in first.items() if found.names or name in part.nameless}
            data = [name for name in part.names if name in own or may_be_data(name)]
            if data:
                raise refuse_header(str(self.path), len(data), len(part.names))


# 1. The header and the delimiter


def _head(engine: Engine, file: Path, layout: Layout) -> _Head:
    # Where several fit, a comma comes last: names and numbers have some.
    delimiters = [layout.delim] if layout.delim is not None else ["\t", "|", ";", ","]
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
                return _Head({}, skip)
        except UnicodeDecodeError:
            raise _not_utf8(file) from None
    fields = {sign: tuple(_first_record(first, sign, layout)) for sign in delimiters}
    several = {sign: found for sign, found in fields.items() if len(found) > 1}
    by_most = dict(sorted(several.items(), key=lambda item: -len(item[1])))
    if not by_most and layout.delim is None:
        _require_no_title(file, first, skip, layout)
    # A file of one column: nothing stands between values.
    return _Head(by_most or {layout.delim or _NO_DELIMITER: tuple(_first_record(first, _NO_DELIMITER, layout))}, skip)


def _require_no_title(file: Path, lines: Sequence[str], skip: int, layout: Layout) -> None:
    """Raise if the first line has one field by any delimiter, and most others as many as each other by one of them."""
    found = []
    for sign, shown in _SHOWN.items():
        with suppress(csv.Error):
            records = enumerate(_csv_reader(lines[1:], replace(layout, delim=sign)), start=skip + 2)
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
        return next(_csv_reader(lines, replace(layout, delim=delimiter)), [])
    except csv.Error:  # a quote without an end, which is said when all is read
        return next(iter(lines), "").split(delimiter)


def _behind_blanks(texts: Iterable[str]) -> list[str]:
    """Return texts as they are, and as they stand behind a delimiter and a blank."""
    return [written for text in texts for written in (text, f" {text}")]


def _csv_reader(lines: Iterable[str], layout: Layout, *, strict: bool = False) -> Any:  # noqa: ANN401 - csv has no type for it
    quote, escape = QUOTE if layout.quote is None else layout.quote, layout.escape
    return csv.reader(
        lines,
        delimiter=(layout.delim or ",")[0],  # blanks behind it are skipped below
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        escapechar=escape if escape not in {None, "", quote} else None,
        doublequote=escape in {None, quote},
        skipinitialspace=True,
        strict=strict,
    )


def _parts(
    path: Path, pattern: str, files: Sequence[Path], heads: Mapping[Path, _Head], layout: Layout, *, tell: bool = False
) -> list[_Part]:
    """Return the files by their headers, with names that SQL can tell apart."""
    alike: dict[tuple[tuple[str, ...], int], list[Path]] = {}
    for file, head in heads.items():
        alike.setdefault((head.fields[str(layout.delim)], head.skip), []).append(file)
    parts = []
    for (fields, skip), of_them in alike.items():
        names = names_of_columns(str(path), fields, layout, tell=tell)
        place: exp.Expr = sql.literal(pattern)
        if len(of_them) < len(files):
            places = [sql.literal(glob.escape(str(file))) for file in of_them]
            place = places[0] if len(places) == 1 else exp.Array(expressions=places)
        is_nameless = [not own.strip() and place > 0 for place, own in enumerate(fields)]
        nameless = frozenset(name for name, without in zip(names, is_nameless, strict=True) if without)
        parts.append(_Part(place, tuple(of_them), names, skip, nameless))
    return parts


def names_of_columns(place: str, fields: Sequence[str], layout: Layout, *, tell: bool) -> tuple[str, ...]:
    """Return the names of columns: without blanks around them, each once, ``column_1`` where there is none."""
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
    names: list[str] = []
    for number, own in enumerate(given, start=1):
        name = own.strip() or unused_name(f"column_{number}", [*given, *names])
        if any(folded(name) == folded(other) for other in names):
            if layout.duplicates == "error":
                raise UsageError(
                    f"{place} has two columns {name!r}: rename one, or state --read header=true and names=..."
                )
            taken = {folded(other.strip()) for other in [*given, *names]}
            new = next(new for again in count(2) if folded(new := f"{name}_{again}") not in taken)
            if tell:
                say(f"{place}: a second column {name!r} is read as {new!r}.")
            name = new
        elif not own.strip() and layout.header is not False and tell:
            say(f"{place}: column {number} has no name and is read as {name!r}.")
        names.append(name)
    return tuple(names)


def may_be_data(name: str) -> bool:
    """Tell whether the name of a column may be a value: a number or a date.

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


# 2. What the columns are


@dataclass(frozen=True)
class _Look:
    """What all texts of a column are.

    Attributes:
        kind: the first kind that all of them are of, but for codes; None if there is none.
        codes: how many of them say that a value is missing.
        code: one such text.
        clear: whether a sign in one of them can only be that of decimals.
        others: how many are words, and no codes, where all others are of one kind.
    """

    kind: str | None = None
    codes: int = 0
    code: str | None = None
    clear: bool = False
    others: int = 0


class _First:
    """What the first texts of a column are, as ``sql/files/kinds.sql`` counts them."""

    def __init__(self, values: int = 0, codes: int = 0, names: int = 0, clear: int = 0, *of_kinds: int) -> None:
        self.values, self.codes, self.names, self.clear = values, codes, names, clear
        self._of_kinds = dict(zip(_TYPES, of_kinds or [0] * len(_TYPES), strict=True))

    def of(self, kind: str) -> int:
        return self._of_kinds[kind]


# 3. The records


def _lines_with_ends(file: Path, layout: Layout) -> int:
    """Return how many lines of a file end outside of quotes; -1 of one of .zst.

    Raises:
        SourceError: a carriage return alone ends lines beside other ends, which DuckDB reads as something else.
    """
    if file.suffix.lower() == ".zst":
        return -1
    sign = (QUOTE if layout.quote is None else layout.quote).encode()
    quoted = re.compile(re.escape(sign) + b"[^" + re.escape(sign) + b"]*" + re.escape(sign)) if sign else None
    all_else = bytes(byte for byte in range(256) if byte not in b"\r\n" + sign)
    lines, alone, inside, last = 0, 0, False, b"\n"
    with _unpacked(file) as opened:
        while block := opened.read(BLOCK):
            while block.endswith(b"\r") and (more := opened.read(1)):  # its line feed may follow
                block += more
            has_alone = block.count(b"\r") > block.count(b"\r\n")
            outside = block
            if quoted is not None and (inside or sign in block):
                signs = block if has_alone else block.translate(None, all_else)
                outside, opening, _ = quoted.sub(b"", sign + signs if inside else signs).partition(sign)
                inside = bool(opening)
            lines += outside.count(b"\n")
            alone += has_alone and outside.count(b"\r") - outside.count(b"\r\n")
            last = block
    if alone > 0 and lines:
        raise SourceError(
            f"{file} has lines that end in a carriage return alone, and others: save it with one end of line."
        )
    return lines + (not last.endswith(b"\n"))


@contextmanager
def _unpacked(file: Path) -> Iterator[io.BufferedReader | gzip.GzipFile]:
    try:
        with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as opened:
            yield opened
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise unreadable(file) from None


def _counted_records(engine: Engine, file: Path, part: _Part, layout: Layout) -> int:
    """Return how many records Python's csv finds behind the header; a blank line is one in a file of one column."""
    blank, count = 0, 0 if layout.header is False else -1
    with _records_of(engine, file, part, layout) as records:
        for _, record in records:
            if record:
                count += 1 + (blank if len(part.names) == 1 else 0)
                blank = 0
            else:
                blank += 1
    return count


@contextmanager
def _records_of(
    engine: Engine, file: Path, part: _Part, layout: Layout, *, strict: bool = False
) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Hand out the records from the header on, each with the number of the line at which it begins."""

    def records(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        reader = _csv_reader(islice(lines, part.skip, None), layout, strict=strict)
        begins = part.skip + 1
        for record in reader:
            yield begins, record
            begins = part.skip + reader.line_num + 1

    limit = csv.field_size_limit(_LONGEST_LINE)
    try:
        with lines_of(engine, file) as lines:
            yield records(lines)
    finally:
        csv.field_size_limit(limit)


def _require_even(engine: Engine, file: Path, part: _Part, layout: Layout) -> None:
    """Raise if a line has another number of fields than the first one, or a quote without an end."""
    width, line = len(part.names), part.skip + 1
    try:
        with _records_of(engine, file, part, layout, strict=True) as records:
            for line, record in records:
                # A delimiter at the end of a line begins no value, as to DuckDB.
                fields = width if len(record) == width + 1 and not record[-1] else len(record)
                if record and fields != width:
                    delimiter = _SHOWN.get(str(layout.delim), repr(layout.delim))
                    raise SourceError(
                        f"{file}, line {line:,}{' (without comments)' if layout.comment else ''} has "
                        f"{counted(fields, 'field')}, and its first line has {width:,} "
                        f"(separated by {delimiter}). Mend the line (a delimiter inside a value needs quotes around "
                        "the value), or state the layout: --read delim=SIGN, quote=SIGN, comment=SIGN, skip=LINES or "
                        "skip_footer=LINES."
                    )
    except csv.Error:
        raise SourceError(
            f"{file}, behind line {line:,}: a quote has no end, or text stands behind it. Mend it, or "
            "state what quotes are: --read quote=SIGN (none if there are none) or escape=SIGN."
        ) from None
    except UnicodeDecodeError:
        raise _not_utf8(file) from None


_ZSTD, _SKIPPABLE = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)


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


@contextmanager
def lines_of(engine: Engine, path: Path, limit: int = EVERY_LINE) -> Iterator[Iterator[str]]:
    """Open a file of UTF-8 for reading line by line; a file of .zst is read by DuckDB, at once."""
    suffix = path.suffix.lower()
    if suffix == ".zst":
        require_whole(path)
        values: dict[str, sql.Value] = {"path": glob.escape(str(path)), "limit": limit}
        rows = engine.rows(sql.statement("files/lines_of_csv", values=values), "lines of the file")
        yield (f"{line or ''}\n" for (line,) in rows)
    else:
        with _unpacked(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield iter(text)
