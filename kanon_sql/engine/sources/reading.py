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
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.sources.layout import DELIMITERS, Layout, say
from kanon_sql.errors import NoRoomError, SourceError, UsageError, counted
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Engine

PACKED = {".gz", ".zst"}
BLOCK = 1 << 22
EVERY_LINE = (1 << 63) - 1
QUOTE = '"'
_LONGEST_LINE = 64 * 1024 * 1024
_SHOWN = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "|"}
_SEPARATOR_LINE = re.compile(r"\s*\"?sep=(?P<sign>.)\"?\s*", re.IGNORECASE)
_LINES_OF_HEADER = 100
_SAMPLE = 2048  # rows of which the kinds are tried; the rest is then tried for one kind only
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
    settings: dict[str, exp.Expr] = {"columns": _struct(types)}
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


def _struct(types: Mapping[str, str]) -> exp.Struct:
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=sql.literal(name), expression=sql.literal(kind)) for name, kind in types.items()
        ]
    )


class NotUtf8Error(SourceError):
    """A text file is in another encoding."""


@dataclass(frozen=True)
class _Head:
    """What the first lines of a file say: by each delimiter, the fields of the header; and the lines above it."""

    fields: Mapping[str, tuple[str, ...]]
    skip: int


@dataclass(frozen=True)
class _Part:
    """Files of the same header: their place for DuckDB, the files, the names, and the lines above the header."""

    place: exp.Expr
    files: tuple[Path, ...]
    names: tuple[str, ...]
    skip: int


def read_csv(
    engine: Engine,
    path: Path,
    pattern: str,
    files: Sequence[Path],
    relation: exp.Table,
    layout: Layout,
    *,
    as_text: bool,
) -> tuple[exp.Create, Layout, str]:
    """Make CSV files a table; return the statement that did, what is known of their layout now, and the delimiter.

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
            parts = _parts(path, pattern, files, heads, found, tell=not as_text)
            reading = _Reading(engine, path, parts, found, as_text=as_text)
            try:
                create, sign = reading.into(relation)
            except NoRoomError:  # which says nothing of the file
                raise
            except SourceError:
                for part in parts:
                    for file in part.files:
                        _require_even(engine, file, part, found)
                # DuckDB refuses lines that end in two ways, and long ones; Python's csv found nothing wrong in them.
                create, sign = replace(reading, strict=False).into(relation)
        except (NoRoomError, NotUtf8Error):
            raise
        except SourceError as error:
            wrong = wrong or error
        else:
            return create, replace(layout, decimal_separator=sign), delimiter
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

    def into(self, relation: exp.Table) -> tuple[exp.Create, str | None]:
        """Read the files into a table; return the statement, and the decimal sign if it is known."""
        if self.layout.drops is not None and self.layout.drops not in self.names:
            raise UsageError(
                f"--read incomplete_rows must be error or a column of {self.path}. Got {self.layout.drops!r}."
            )
        looks = self._looks()
        kinds = {name: look.kind for name, look in looks.items() if look.kind is not None}
        query = self.query(kinds, {name for name, look in looks.items() if look.has_empty})
        records = sum(self._records(part, file) for part in self.parts for file in part.files)
        if len(self.names) == 1 and len(self.parts) == 1:  # blank lines at the end are no rows of a file of one column
            query = query.limit(records)
        create = sql.create_table(relation, query, temporary=True)
        self.engine.run(create, f"read {self.path.name}")
        try:
            self._require_all(relation, records)
        except SourceError:
            self.engine.run(sql.drop(relation), f"forget {self.path.name}")
            raise
        signs = {kind for kind in kinds.values() if kind in {"point", "comma"}}
        return create, "," if signs == {"comma"} else self.layout.decimal_separator

    def _require_all(self, relation: exp.Table, records: int) -> None:
        """Raise unless each record of the files is a row, or was left out as it was asked for."""
        (rows,) = self.engine.row(sql.select_count(relation), "count the rows that were read")
        column = self.layout.drops
        if column is not None:
            query = self.query({}, set(), dropped=True)
            (left_out,) = self.engine.row(exp.select(sql.count_rows()).from_(query.subquery()), "count the others")
            if left_out and not self.as_text:
                say(f"{self.path}: left out {counted(left_out, 'row')} without a value of {column}.")
            rows += left_out
        if rows != records:
            raise SourceError(
                f"{self.path} has {counted(records, 'record')}, and {counted(rows, 'row')} were read. State how it is "
                "laid out: --read quote=SIGN, escape=SIGN, comment=SIGN or skip=LINES."
            )

    def query(self, kinds: Mapping[str, str], with_empty: set[str], *, dropped: bool = False) -> exp.Query:
        """Return the query of the files, with columns of these kinds; the others are texts."""
        queries = []
        for part in self.parts:
            types, replaced = {}, []
            for name in part.names:
                kind = kinds.get(name)
                native = kind is None or (
                    kind not in {"comma", "dateformat", "timestampformat"}
                    and name not in with_empty
                    and self.layout.thousands is None
                )
                types[name] = "VARCHAR" if kind is None or not native else _TYPES[kind]
                if kind is not None and not native:
                    replaced.append(sql.named(self._value(name, kind), name))
            query = exp.select(exp.Star(replace=replaced) if replaced else exp.Star())
            query = query.from_(read_from("read_csv", part.place, self._settings(part, types)))
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

    def _settings(self, part: _Part, types: Mapping[str, str]) -> dict[str, exp.Expr]:
        layout = self.layout
        settings: dict[str, exp.Expr] = {
            "auto_detect": exp.false(),
            "header": exp.false() if layout.header is False else exp.true(),
            "delim": sql.literal(layout.delim),
            "columns": _struct(types),
        }
        settings |= {"skip": sql.literal(part.skip)} if part.skip else {}
        for key in ("quote", "escape", "comment"):
            if (sign := getattr(layout, key)) is not None:
                settings[key] = sql.literal(sign)
        if layout.quote is not None and layout.escape is None:
            settings["escape"] = sql.literal(layout.quote)
        if layout.nullstr is None:
            settings["allow_quoted_nulls"] = exp.false()
        else:
            settings["nullstr"] = exp.Array(expressions=[sql.literal(text) for text in ("", *layout.nullstr)])
        if not self.strict:
            settings |= {"strict_mode": exp.false(), "max_line_size": sql.literal(_LONGEST_LINE)}
        return settings

    def _text(self, name: str) -> exp.Expr:
        text: exp.Expr = sql.column(name)
        return text if self.layout.thousands is None else sql.replaced(text, self.layout.thousands, "")

    def _value(self, name: str, kind: str) -> exp.Expr:
        """Return the value that a text of a kind is; of a release, whose values stay texts, with a decimal point."""
        text: exp.Expr = exp.Nullif(this=self._text(name), expression=sql.literal(""))
        if kind == "comma":
            text = sql.replaced(text, ",", ".")
        elif kind in {"dateformat", "timestampformat"}:
            text = exp.Anonymous(this="strptime", expressions=[text, sql.literal(getattr(self.layout, kind))])
        return text if self.as_text else sql.cast(text, _TYPES[kind])

    def _looks(self) -> dict[str, _Look]:
        """Return what the columns are: by the first rows, then by all of them."""
        if self.as_text:
            comma = self.layout.decimal_separator == ","
            return self._looked_at(dict.fromkeys(self.names, ("comma",))) if comma else {}
        counts = self._counts_of_sample()
        kinds = self._kinds()
        asked = {}
        for name in self.names:
            # What has a value of no kind among the first rows is text already.
            fit = [kind for kind in kinds if counts[name][kind] == counts[name]["values"]] if name in counts else kinds
            asked[name] = tuple(fit[:1] if name in counts else fit)
        looks = self._looked_at(asked)
        again = {name: tuple(kinds) for name in counts if asked[name] and looks[name].is_mixed}
        looks |= self._looked_at(again) if again else {}
        if self.layout.header is None:
            self._require_header(looks)
        # Three digits behind a point are decimals, unless the file is written as where commas are decimal signs.
        if self.layout.delim != ";" and not any(look.kind == "comma" and look.is_clear for look in looks.values()):
            looks = {
                name: replace(look, is_clear=look.is_clear or look.kind == "point") for name, look in looks.items()
            }
        found = {}
        for name, look in looks.items():
            unclear = look.kind in {"comma", "point"} and not look.is_clear and self.layout.decimal_separator is None
            found[name] = replace(look, kind=None) if unclear or look.codes else look
            if look.codes and look.kind is not None:
                say(f"{name} is text because of {counted(look.codes, 'value')}: --read nullstr={look.code}")
            elif unclear:
                say(f"{name} is text: does it have decimal signs or thousands? --read decimal_separator=comma or point")
        return found

    def _kinds(self) -> list[str]:
        """Return the kinds that values may be of, in the order in which they are tried."""
        none = {kind for kind in ("dateformat", "timestampformat") if getattr(self.layout, kind) is None}
        none |= {",": {"point"}, ".": {"comma"}}.get(self.layout.decimal_separator or "", set())
        return [kind for kind in _TYPES if kind not in none]

    def _predicate(self, name: str, kind: str) -> exp.Expr:
        columns = {"value": self._text(name)}
        return sql.selected("files/kinds", kind, values=self._formats, columns=columns, part="kinds")

    @property
    def _formats(self) -> dict[str, str]:
        layout = self.layout
        return {"dateformat": layout.dateformat or "%x", "timestampformat": layout.timestampformat or "%c"}

    def _counts_of_sample(self) -> dict[str, dict[str, int]]:
        """Return, by column, how many of its first values are of each kind."""
        rows = exp.select(*(sql.named(self._text(name), name) for name in self.names))
        rows = rows.from_(self.query({}, set()).subquery("texts")).limit(_SAMPLE)
        statement = sql.statement("files/kinds", values=self._formats, relations={"sample": rows.subquery()})
        kinds = ["values", *_TYPES]
        found = self.engine.rows(statement, "what the first values may be")
        return {name: dict(zip(kinds, counts, strict=True)) for name, *counts in found if counts[0]}

    def _looked_at(self, asked: Mapping[str, Sequence[str]]) -> dict[str, _Look]:
        """Return what all texts of columns are, of those kinds that are asked for."""
        # By value: NULL if it is of the kind, else whether it says that a value is missing.
        others: list[exp.Expr] = []
        facts: list[exp.Expr] = []
        for name, kinds in asked.items():
            text, is_empty = sql.column(name), exp.EQ(this=sql.column(name), expression=sql.literal(""))
            facts.append(exp.LogicalOr(this=exp.EQ(this=text, expression=sql.literal(name))))
            facts += [
                exp.LogicalOr(this=is_empty),
                exp.Count(this=exp.Nullif(this=text.copy(), expression=sql.literal(""))),
            ]
            for kind in kinds:
                is_of_kind = exp.or_(is_empty.copy(), text.copy().is_(exp.null()), self._predicate(name, kind))
                others.append(exp.Case().when(is_of_kind, exp.null()).else_(self._predicate(name, "code")))
                other = sql.column(f"other_{len(others)}", "kinds")
                is_clear = kind in {"comma", "point"}
                facts += [
                    exp.Count(this=other),
                    sql.where(exp.Count(this=other.copy()), other.copy()),
                    sql.where(exp.Min(this=text.copy()), other.copy()),
                    exp.LogicalOr(this=self._predicate(name, "clear")) if is_clear else exp.true(),
                ]
        kinds_of = [sql.named(other, f"other_{number}") for number, other in enumerate(others, start=1)]
        texts = exp.select("*", *kinds_of).from_(self.query({}, set()).subquery("texts"))
        query = exp.select(*facts).from_(texts.subquery("kinds"))
        found = iter(self.engine.row(query, "what all values are"))
        looks = {}
        for name, kinds in asked.items():
            has_name, has_empty, values = islice(found, 3)
            look = _Look(has_name=bool(has_name), has_empty=bool(has_empty), is_mixed=bool(kinds))
            for kind in kinds:
                number, codes, code, is_clear = islice(found, 4)
                if look.kind is None and values and number == codes < values:
                    look = replace(look, kind=kind, codes=codes, code=code, is_clear=bool(is_clear), is_mixed=False)
            looks[name] = look
        return looks

    def _require_header(self, looks: Mapping[str, _Look]) -> None:
        """Raise if a name may be a value: a number, a date, or a value that its own column has."""
        for part in self.parts:
            data = [name for name in part.names if may_be_data(name) or looks[name].has_name]
            if data:
                raise refuse_header(str(self.path), len(data), len(part.names))

    def _records(self, part: _Part, file: Path) -> int:
        """Return how many records a file has behind its header, by a plain count."""
        header = 0 if self.layout.header is False else 1
        is_plain = self.layout.comment is None and self.layout.escape in {None, self.layout.quote or QUOTE}
        if is_plain and file.suffix.lower() != ".zst":
            lines = _lines_with_records(file, QUOTE if self.layout.quote is None else self.layout.quote)
            if lines is not None:
                return lines - part.skip - header
        return _counted_records(self.engine, file, part, self.layout) - header


# 1. The header and the delimiter


def _head(engine: Engine, file: Path, layout: Layout) -> _Head:
    # Where several fit, a comma comes last: names and numbers have some.
    delimiters = [layout.delim] if layout.delim is not None else ["\t", "|", ";", ","]
    with lines_of(engine, file, limit=layout.above + _LINES_OF_HEADER) as lines:
        try:
            # DuckDB skips so many lines that are no comments.
            skip = sum(not _is_comment(line, layout) for line in islice(lines, layout.above))
            for line in lines:
                separator = _SEPARATOR_LINE.fullmatch(line)
                if separator is not None and layout.delim is None:
                    delimiters = [separator["sign"]]
                elif line.strip() and not _is_comment(line, layout):
                    first = [line, *islice(lines, _LINES_OF_HEADER)]
                    break
                skip += not _is_comment(line, layout)
            else:
                return _Head({}, skip)
        except UnicodeDecodeError:
            raise NotUtf8Error(f"{file} is not UTF-8. State which encoding it has: --read encoding=NAME.") from None
    fields = {sign: tuple(_first_record(first, sign, layout)) for sign in delimiters}
    several = {sign: found for sign, found in fields.items() if len(found) > 1}
    by_most = dict(sorted(several.items(), key=lambda item: -len(item[1])))
    if not by_most:
        _require_no_title(file, first, skip, layout)
    return _Head(by_most or dict(list(fields.items())[-1:]), skip)


def _require_no_title(file: Path, lines: Sequence[str], skip: int, layout: Layout) -> None:
    """Raise if the first line has one field by any delimiter, and all others have several by one of them."""
    for sign in DELIMITERS.values() if layout.delim is None else ():
        with suppress(csv.Error):
            widths = {len(record) for record in _csv_reader(lines[1:], replace(layout, delim=sign)) if record}
            if len(widths) == 1 and (width := widths.pop()) > 1:
                raise SourceError(
                    f"{file}, line {skip + 1:,} has 1 field, and the others have {width:,} (separated by "
                    f"{_SHOWN[sign]}). If it stands above the header, say where that is: --read header={skip + 2}. If "
                    "it is the header of one column, state another delimiter: --read delim=SIGN."
                )


def _is_comment(line: str, layout: Layout) -> bool:
    return bool(layout.comment) and line.startswith(str(layout.comment))


def _first_record(lines: Iterable[str], delimiter: str, layout: Layout) -> list[str]:
    try:
        return next(_csv_reader(lines, replace(layout, delim=delimiter)), [])
    except csv.Error:  # a quote without an end, which is said when all is read
        return next(iter(lines), "").split(delimiter)


def _csv_reader(lines: Iterable[str], layout: Layout, *, strict: bool = False) -> Any:  # noqa: ANN401 - csv has no type for it
    quote, escape = QUOTE if layout.quote is None else layout.quote, layout.escape
    return csv.reader(
        lines,
        delimiter=layout.delim or ",",
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        escapechar=escape if escape not in {None, "", quote} else None,
        doublequote=escape in {None, quote},
        skipinitialspace=True,
        strict=strict,
    )


def _parts(
    path: Path, pattern: str, files: Sequence[Path], heads: Mapping[Path, _Head], layout: Layout, *, tell: bool
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
        parts.append(_Part(place, tuple(of_them), names, skip))
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
    names: list[str] = []
    for number, field in enumerate(given, start=1):
        name = field.strip() or unused_name(f"column_{number}", [*given, *names])
        if any(folded(name) == folded(other) for other in names):
            if layout.duplicates == "error":
                raise UsageError(f"{place} has two columns {name!r}: name them, --read names=..., or rename one.")
            taken = {folded(other.strip()) for other in [*given, *names]}
            new = next(new for again in count(2) if folded(new := f"{name}_{again}") not in taken)
            if tell:
                say(f"{place}: a second column {name!r} is read as {new!r}.")
            name = new
        elif not field.strip() and layout.header is not False and tell:
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
        "be values (numbers, dates, or texts that their columns have). Say which it is: --read header=true or "
        "--read header=false."
    )


# 2. What the columns are


@dataclass(frozen=True)
class _Look:
    """What the texts of a column are.

    Attributes:
        kind: the first kind that all of them are of, but for codes; None if there is none.
        codes: how many of them say that a value is missing.
        code: one such text.
        has_name: whether one is the name of the column.
        has_empty: whether one is empty, in quotes.
        is_mixed: whether they are of no kind that was asked for.
        is_clear: whether a sign in them can only be that of decimals.
    """

    kind: str | None = None
    codes: int = 0
    code: str | None = None
    has_name: bool = False
    has_empty: bool = False
    is_mixed: bool = False
    is_clear: bool = False


# 3. The records


def _lines_with_records(file: Path, quote: str) -> int | None:
    """Return how many lines of a file end outside of quotes; None if a plain count does not tell, as of blank lines."""
    sign = quote.encode()
    quoted = re.compile(re.escape(sign) + b"[^" + re.escape(sign) + b"]*" + re.escape(sign)) if sign else None
    lines, inside, last = 0, False, b"\n"
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as opened:
        while block := opened.read(BLOCK):
            seam = last[-3:] + block
            if b"\n\n" in seam or b"\n\r" in seam or (b"\r" in block and block.count(b"\r\n") != block.count(b"\r")):
                return None
            outside = block
            if quoted is not None and (inside or sign in block):
                outside, opening, _ = quoted.sub(b"", sign + block if inside else block).partition(sign)
                inside = bool(opening)
            lines += outside.count(b"\n")
            last = block
    return None if inside else lines + (not last.endswith(b"\n"))


def _counted_records(engine: Engine, file: Path, part: _Part, layout: Layout) -> int:
    """Return how many records Python's csv finds from the header on; a blank line is one in a file of one column."""
    blank = count = 0
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
        numbered = ((number, line) for number, line in enumerate(lines, start=1) if not _is_comment(line, layout))
        last = 0

        def rows() -> Iterator[str]:
            nonlocal last
            for number, line in islice(numbered, part.skip, None):
                last = number
                yield line

        begins = part.skip + 1
        for record in _csv_reader(rows(), layout, strict=strict):
            yield begins, record
            begins = last + 1

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
                        f"{file}, line {line:,} has {counted(fields, 'field')}, and its first line has {width:,} "
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
        raise NotUtf8Error(f"{file} is not UTF-8. State which encoding it has: --read encoding=NAME.") from None


@contextmanager
def lines_of(engine: Engine, path: Path, limit: int = EVERY_LINE) -> Iterator[Iterator[str]]:
    """Open a file of UTF-8 for reading line by line; a file of .zst is read by DuckDB, at once."""
    suffix = path.suffix.lower()
    if suffix == ".zst":
        values: dict[str, sql.Value] = {"path": glob.escape(str(path)), "limit": limit}
        rows = engine.rows(sql.statement("files/lines_of_csv", values=values), "lines of the file")
        yield (f"{line or ''}\n" for (line,) in rows)
    elif suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield iter(file)
    else:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield iter(file)
