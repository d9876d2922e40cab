"""Columns as rules make them, before anything else is done with a table: casts, dates, decimals, codes of NULL.

    kanon_prepared    a temporary view: each column of the source as its rules make it, then the new columns

All that follows reads the view instead of the source: roles, hierarchies, the search, the release and its script.

    trim               without white space at either end
    lower              in lower case
    null:-9,NA         NULL for these values
    decimal:,          a number with this decimal sign; signs of thousands, white space and currencies are left out
    date:%d.%m.%Y      a date, or a timestamp where the format has a time of day
    cast:BIGINT        another type

The last three may end in ``or null``: then what cannot be read is NULL. If not, it is an error, which says how many
values these are. A text for a column that the table does not have is an expression over the others: a new column.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Literal

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engine.base import Column, bounds_of, find_column, named_once, resolve_columns
from kanon_sql.engine.sources.allowed_functions import ALLOWED_FUNCTIONS
from kanon_sql.engine.sources.data_files import files_at, read_as_text, reader_of
from kanon_sql.engine.sources.open_source import Preparation
from kanon_sql.errors import ComputationError, SourceError, UsageError, counted
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kanon_sql.engine.sources.open_source import Source

Rules = tuple[str, ...]
"""What happens to a column, in this order; or the one expression of a new column."""

_Kind = Literal["trim", "lower", "null", "decimal", "date", "cast"]
_PLAIN: tuple[_Kind, ...] = ("trim", "lower")
_READING: tuple[_Kind, ...] = ("decimal", "date", "cast")
_OF_TEXTS: tuple[_Kind, ...] = (*_PLAIN, "decimal", "date")
_NUMBERS = frozenset({"integer", "decimal", "float"})
_RULE = re.compile(r"(?P<kind>null|decimal|date|cast)\s*:\s*(?P<argument>.*)", re.DOTALL | re.IGNORECASE)
_CAST = re.compile(r"[A-Za-z]+|DECIMAL\s*\(\s*([0-9]+)\s*,\s*([0-9]+)\s*\)", re.IGNORECASE)
_MOST_DIGITS = 38
_OR_NULL = re.compile(r"\s+or\s+null\s*$", re.IGNORECASE)
_SIGNS = (",", ".")
_HOURS = re.compile(r"%-?[HIMSfgnpzZcXs]")
# Classes of characters are written out, and patterns end in \z, so that all engines read them alike.
_SPACE = r"[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]"
_CURRENCY = (
    "(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩\uff04￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|"
    r"USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)"
)
_GROUPS = "|".join(rf"(?:{sign}[0-9]{{3}}){{1,4}}" for sign in ("[THOUSANDS]", r"['\x{2019}]", _SPACE))
_NUMBER = (
    rf"^{_SPACE}*(?:[+-]?{_SPACE}*{_CURRENCY}?|{_CURRENCY}{_SPACE}*[+-]?){_SPACE}*"
    rf"(?:[1-9][0-9]{{0,2}}(?:{_GROUPS})|[0-9]{{1,15}})(?:[SIGN][0-9]*)?{_SPACE}*{_CURRENCY}?{_SPACE}*\z"
)
_ABBREVIATED = "[A-Za-z][.]"
"""The points in currencies, which are no decimal sign."""
_MOST_CHARACTERS = 300
"""Of a number: more decimals change no DOUBLE, and some engines cannot read those that are nearly zero."""
_FIRST = "1000-01-01"
_TYPE = exp.DataType.Type
_CASTS = {
    **{kind: kind.name for kind in (_TYPE.TINYINT, _TYPE.SMALLINT, _TYPE.BIGINT, _TYPE.FLOAT, _TYPE.DOUBLE)},
    **{kind: kind.name for kind in (_TYPE.DATE, _TYPE.BOOLEAN, _TYPE.TIMESTAMP)},
    _TYPE.TIMESTAMPNTZ: "TIMESTAMP",
    _TYPE.INT: "INTEGER",
    _TYPE.TEXT: "VARCHAR",
    _TYPE.VARCHAR: "VARCHAR",
}
_VALUES = {"decimal": "a number", "date": "a date", "cast": "a value of that type"}


@dataclass(frozen=True)
class Rule:
    """A rule for a column.

    Attributes:
        kind: what it does.
        argument: what stands behind the colon; empty where nothing does.
        or_null: whether what cannot be read is NULL.
    """

    kind: _Kind
    argument: str = ""
    or_null: bool = False

    def __str__(self) -> str:
        text = f"{self.kind}:{self.argument}" if self.argument else self.kind
        return f"{text} or null" if self.or_null else text

    @property
    def needs_text(self) -> bool:
        """Whether the rule reads a value as it is written."""
        return self.kind in {*_PLAIN, "decimal", "date"} or (self.kind == "cast" and self.type.family == "text")

    @property
    def type(self) -> Column:
        """The type that a value has by a rule that reads it, as that of a column."""
        if self.kind == "decimal":
            return Column("", "DOUBLE")
        if self.kind == "date":
            return Column("", "TIMESTAMP" if _HOURS.search(self.argument) else "DATE")
        kind = exp.DataType.build(self.argument, dialect="duckdb")
        return Column("", _CASTS.get(kind.this, kind.sql(dialect="duckdb")))


def rules_of(given: Mapping[str, str | Sequence[str]]) -> dict[str, Rules]:
    """Return the rules of columns in their one form; a UsageError where one is none that is known."""
    if not hasattr(given, "items"):
        raise UsageError("What prepares columns is a mapping of names to rules, such as {'cost': 'decimal:,'}.")
    found = {}
    for name, rules in given.items():
        if not isinstance(name, str) or not name:
            raise UsageError("A rule of [prepare] has no column: write COLUMN=RULE.")
        texts = (rules,) if isinstance(rules, str) else tuple(rules) if isinstance(rules, list | tuple) else ()
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise UsageError(f"What prepares column {name!r} is not a rule, or a list of rules: {_known()}.")
        if len(texts) > 1 and (unknown := [text for text in texts if parse_preparing(text, name) is None]):
            raise UsageError(f"{unknown[0]!r} is no rule that prepares column {name!r}: {_known()}.")
        found[name] = tuple(text.strip() for text in texts)
    return found


def _known() -> str:
    return "rules are trim, lower, null:VALUES, decimal:SIGN, date:FORMAT and cast:TYPE"


def parse_preparing(text: str, column: str) -> Rule | None:
    """Return the rule that a text is; None where it is none, and could be an expression."""
    stripped = text.strip()
    kind = next((plain for plain in _PLAIN if plain == stripped.lower()), None)
    if kind is not None:
        return Rule(kind)
    found = _RULE.fullmatch(stripped)
    if found is None:
        return None
    rule = Rule(found["kind"].lower(), found["argument"])  # type: ignore[arg-type]  # one of the four
    if rule.kind in _READING and (match := _OR_NULL.search(rule.argument)):
        rule = replace(rule, argument=rule.argument[: match.start()], or_null=True)
    _require_argument(rule, column)
    return rule


def _require_argument(rule: Rule, column: str) -> None:
    where = f"Column {column!r}, {str(rule)!r}"
    match rule.kind:
        case "decimal" if rule.argument not in _SIGNS:
            raise UsageError(f"{where}: the decimal sign is a comma or a point: decimal:, or decimal:.")
        case "date" if "%" not in rule.argument:
            raise UsageError(f"{where}: write how dates are written, such as date:%d.%m.%Y or date:%Y年%m月%d日.")
        case "date" if re.search("%[zZ]", rule.argument):
            raise UsageError(f"{where}: time zones are not read, as a time of day would differ from place to place.")
        case "date" if not re.search("%-?[yYcx]", rule.argument):
            raise UsageError(f"{where}: a date without a year is none; write %Y or %y where the year stands.")
        case "null" if not _values_of(rule) or _OR_NULL.search(rule.argument):
            raise UsageError(f"{where}: write the values that are NULL, such as null:-9,NA, and no more.")
        case "cast" if not is_cast(rule.argument):
            raise UsageError(f"{where}: cast is to a type such as BIGINT, DOUBLE, DECIMAL(18,2), DATE or VARCHAR.")
        case _:
            pass


def is_cast(kind: str) -> bool:
    """Tell whether a type is one that a rule ``cast`` can be to."""
    match = _CAST.fullmatch(kind)
    if match is None:
        return False
    if match[1] is not None:
        return int(match[2]) <= int(match[1]) and 0 < int(match[1]) <= _MOST_DIGITS
    try:
        return exp.DataType.build(kind, dialect="duckdb").this in _CASTS
    except (SqlglotError, ValueError):
        return False


def _values_of(rule: Rule) -> list[str]:
    """Return the values of a rule ``null``, which are written as in a line of a CSV file."""
    try:
        return [value.strip() for value in next(csv.reader([rule.argument], skipinitialspace=True), [])]
    except csv.Error:  # a line has an end
        return []


def with_prepared(source: Source, given: Mapping[str, Rules]) -> Source:
    """Return what stands for a source once its columns are prepared; the source itself where nothing is to be.

    1. Read the columns of CSV files whose rules read texts as they are written.
    2. Count the values that cannot be read, all columns by one scan.
    3. Make the view.

    Raises:
        UsageError: a rule does not fit its column, a value cannot be read, or an expression is none that may be.
    """
    if not given:
        return source
    known = {name: [rule for text in texts if (rule := parse_preparing(text, name))] for name, texts in given.items()}
    ruled = {name: rules for name, rules in known.items() if rules}
    columns = resolve_columns(ruled, source.columns, source.name)
    if twice := [name for name in ruled if sum(folded(name) == folded(other) for other in ruled) > 1]:
        raise UsageError(f"Column {twice[0]!r} is prepared twice: write its rules in one list.")
    steps = {column.name: rules for column, rules in zip(columns, ruled.values(), strict=True)}
    steps_as_texts = {column.name: given[name] for column, name in zip(columns, ruled, strict=True)}
    expressions = {name: given[name][0] for name, rules in known.items() if not rules}
    for name, text in expressions.items():
        source.refuse_in_warehouse(
            f"and the new column {name!r} is made by an expression of DuckDB's SQL: make it in a view there, and name "
            "that."
        )
        if find_column(name, source.columns) is not None:
            raise UsageError(
                f"{text!r} is no rule that prepares column {name!r}: {_known()}. An expression makes a "
                "new column: give it another name."
            )
    # 1. Texts as they are written.
    raw = _with_texts(source, steps)
    # 2. What cannot be read.
    place = raw.warehouse.kind if raw.warehouse is not None else None
    values = {column.name: Value(column, steps.get(column.name, []), place) for column in raw.columns}
    _require_formats(raw, steps)
    if raw.in_warehouse:
        query = exp.select(*(sql.named(value.value.copy(), name) for name, value in values.items()))
        # Made first, since what is counted is then read in the snapshot in which all that follows is read.
        create = raw.workbench.keep_view("kanon_prepared", query.from_(sql.aliased(raw.relation, "source")), TITLE)
        unread, idle = _unread(raw, values)
        return replace(
            raw,
            relation=create.this,
            columns=(),
            preparation=Preparation(raw, steps_as_texts, {}, create, unread, idle),
        )
    unread, idle = _unread(raw, values)
    # 3. The view.
    query = exp.select(*(sql.named(value.value.copy(), name) for name, value in values.items()))
    query = inner = query.from_(sql.aliased(raw.relation, "source"))
    reads: dict[str, tuple[str, ...]] = {}
    if expressions:
        named_once([*values, *expressions], source.name)
        columns = list(raw.engine.columns(inner.subquery()))
        new = {name: _expression(raw, text, name, columns, expressions) for name, text in expressions.items()}
        for name, made in new.items():
            _require_no_time_zone(raw, inner, made, _where(expressions[name], name))
        reads = {
            name: tuple(dict.fromkeys(one.name for one in made.find_all(exp.Column))) for name, made in new.items()
        }
        known_columns = [sql.column(name, _INNER) for name in values]
        query = exp.select(*known_columns, *(sql.named(one, name) for name, one in new.items()))
        query = query.from_(inner.subquery(_INNER))
    view = raw.engine.temporary_name("kanon_prepared")
    # Of rows that were read into a table, the rules are computed once.
    is_copy = raw.file is not None and raw.setup and reader_of(files_at(raw.file)[0]) != "read_parquet"
    create = (sql.create_table if is_copy else sql.create_view)(view, query, temporary=True)
    try:
        raw.engine.run(create, TITLE)
    except ComputationError:
        raise UsageError(
            "An expression of a new column cannot be computed for all rows: a value does not fit a cast or a function. "
            "Where it may be NULL, write TRY_CAST."
        ) from None
    rules = {**steps_as_texts, **{name: (text,) for name, text in expressions.items()}}
    preparation = Preparation(raw, rules, reads, create, unread, idle)
    prepared = replace(raw, relation=view, columns=(), preparation=preparation)
    _require_computable(prepared, expressions)
    return prepared


_INNER = "prepared"
TITLE = "The columns as the policy prepares them; what cannot be read is NULL"
COUNTED = "values that cannot be read as they are to be"


def _require_formats(source: Source, steps: Mapping[str, Sequence[Rule]]) -> None:
    """Raise where DuckDB does not know how a date is written."""
    for name, rules in steps.items():
        for rule in rules:
            if rule.kind != "date":
                continue
            tried = exp.Anonymous(this="TRY_STRPTIME", expressions=[sql.literal("1"), sql.literal(rule.argument)])
            try:
                source.engine.row(exp.select(tried), f"is {name} written so?")
            except SourceError:
                raise UsageError(
                    f"Column {name!r}, {str(rule)!r}: DuckDB does not know this format. Its letters are those of "
                    "strptime: %d, %m, %Y, %H, %M, %S and others."
                ) from None


def _require_computable(prepared: Source, expressions: Mapping[str, str]) -> None:
    """Raise where an expression fails for a value, before any work is done with it."""
    for name, text in expressions.items():
        query = exp.select(exp.Count(this=sql.column(name))).from_(prepared.relation.copy())
        try:
            prepared.engine.row(query, f"compute {name}")
        except ComputationError:
            raise UsageError(
                f"The expression {text!r} of the new column {name!r} cannot be computed for all rows: a value does not "
                "fit a cast or a function. Where it may be NULL, write TRY_CAST."
            ) from None


def _with_texts(source: Source, steps: Mapping[str, Sequence[Rule]]) -> Source:
    """Return a source whose CSV files are read as texts where rules need them; raise where they do and cannot be."""
    typed = [
        column.name
        for column in source.columns
        if column.family != "text" and any(rule.needs_text for rule in steps.get(column.name, ()))
    ]
    if not typed:
        return source
    if source.file is not None and source.setup:
        again = read_as_text(source.engine, source.file, source.setup[-1], typed, source.layout)
        if again is not None:
            create, columns = again
            return replace(source, setup=(*source.setup[:-1], create), columns=columns)
    for name in typed:
        column = next(column for column in source.columns if column.name == name)
        rule = next(rule for rule in steps[name] if rule.needs_text)
        if column.family != "text" and rule.kind != "cast":
            raise UsageError(
                f"Column {name!r} is of type {column.kind} already, and {str(rule)!r} reads texts: leave the rule out."
            )
    return source


class Value:
    """The value of a column by its rules.

    Attributes:
        value: of all rules.
        read: each rule that may make values NULL, with the value before and after it.
    """

    def __init__(self, column: Column, rules: Sequence[Rule], place: str | None = None) -> None:
        """Make the value; in a ``place``, a warehouse, by what all engines do alike, or raise a UsageError."""
        self.value: exp.Expr = sql.column(column.name, "source")
        if place is not None and rules and column.family == "text":  # CHAR(5) and ENUM are compared in other ways
            self.value = sql.cast(self.value, "VARCHAR")
        self.read: list[tuple[Rule, exp.Expr, exp.Expr]] = []
        for rule in rules:
            is_text = column.family == "text"
            if rule.kind in _OF_TEXTS and not is_text:
                raise UsageError(
                    f"Column {column.name!r} is of type {column.kind} where {str(rule)!r} is to read texts: leave the "
                    "rule out, or write it before those that make another type."
                )
            if place is not None and (why := _why_not_there(rule, column)):
                raise UsageError(
                    f"Column {column.name!r}, {str(rule)!r}: {place} does not do this exactly as DuckDB does: {why}. "
                    "Or make the column in a view there, and name that."
                )
            before = _without_blank(self.value) if is_text and rule.kind in _READING else self.value
            if rule.kind in _PLAIN:
                self.value = _changed(rule, self.value)
                continue
            if rule.kind == "null":
                self.value = _nulled(rule, self.value, column)
            else:
                # Some patterns leave white space out by themselves.
                read = _read if place is None else _read_there
                trims = rule.kind == "decimal" or (rule.kind == "date" and place is not None)
                self.value = read(rule, self.value if trims else before, column)
                column = replace(rule.type, name=column.name)
            if place is not None and column.family == "decimal":  # PostgreSQL forgets the digits of a CASE
                self.value = sql.cast(self.value, column.type)
            self.read.append((rule, before, self.value))


def _without_blank(text: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=_trimmed(text), expression=sql.literal(""))


def _trimmed(text: exp.Expr) -> exp.Expr:
    return _without(text, rf"^{_SPACE}+|{_SPACE}+\z")


def _without(text: exp.Expr, pattern: str) -> exp.Expr:
    return exp.func("REGEXP_REPLACE", text.copy(), *map(sql.literal, (pattern, "", "g")), dialect="duckdb")


def _changed(rule: Rule, text: exp.Expr) -> exp.Expr:
    return _trimmed(text) if rule.kind == "trim" else exp.Lower(this=text.copy())


def _nulled(rule: Rule, value: exp.Expr, column: Column) -> exp.Expr:
    texts = _values_of(rule)
    listed: list[exp.Expr] = [sql.literal(text) for text in texts]
    if column.family in {"integer", "decimal", "float"}:  # 1.5 is no whole number, to which it would be rounded
        listed = [exp.Literal.number(str(Decimal(text))) for text in texts if _is_number(text)]
    elif column.family != "text":
        listed = [exp.TryCast(this=text, to=_type_of(column.type)) for text in listed]
    if not listed:
        return value.copy()
    return exp.Case().when(exp.In(this=value.copy(), expressions=listed), exp.null()).else_(value.copy())


def _type_of(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb")


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _read(rule: Rule, value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value by a rule that reads it: NULL where that cannot be done without a change."""
    if rule.kind == "decimal":
        return _number_of(rule.argument, value)
    if rule.kind == "date":
        parsed: exp.Expr = exp.Anonymous(this="TRY_STRPTIME", expressions=[value.copy(), sql.literal(rule.argument)])
        has_year = "%Y" in rule.argument
        return sql.cast(_as_a_day(parsed, value, has_year=has_year), rule.type.type)
    read = exp.TryCast(this=value.copy(), to=_type_of(rule.argument))
    family = rule.type.family
    if column.family == "text" and family in {"date", "timestamp"}:
        offset = sql.matches(value, r"[0-9]:[0-9.:]+\s*([+-]|[A-Za-z])")
        return exp.Case().when(exp.Not(this=offset), _as_a_day(read, value, has_year=True))
    if column.family == "text" and family in {"integer", "decimal"}:
        decimals = 0 if family == "integer" else int((_CAST.fullmatch(rule.argument) or [0, 0, 0])[2] or 0)
        is_exact = sql.matches(value, rf"^[+-]?[0-9]+(\.[0-9]{{0,{decimals}}}0*)?\z")
        return exp.Case().when(is_exact, read)
    if column.family in _NUMBERS and family in {*_NUMBERS, "boolean"}:  # what is rounded is another number
        back = exp.TryCast(this=read.copy(), to=_type_of(column.type))
        return exp.Case().when(exp.EQ(this=back, expression=value.copy()), read)
    return read


def _as_a_day(parsed: exp.Expr, text: exp.Expr, *, has_year: bool) -> exp.Expr:
    """Return a date that is written in digits: infinity is none, and 04.03.90 is not in the year 90."""
    is_one: exp.Expr = sql.matches(text, "[0-9]")
    if has_year:
        first = exp.GTE(this=parsed.copy(), expression=sql.cast(sql.literal(_FIRST), "DATE"))
        is_one = exp.and_(is_one, first)
    return exp.Case().when(is_one, parsed)


def _number_of(sign: str, text: exp.Expr) -> exp.Expr:
    """Return the number that a text is, with a decimal sign; its whole part has at most the 15 digits of a DOUBLE."""
    other = next(each for each in _SIGNS if each != sign)
    pattern = _NUMBER.replace("THOUSANDS", other).replace("SIGN", sign)
    number = _without(_without(text, _ABBREVIATED), f"[^0-9{sign}+-]")
    point = exp.Left(this=sql.replaced(number, sign, "."), expression=sql.literal(_MOST_CHARACTERS))
    return exp.Case().when(sql.matches(text, pattern), sql.cast(point, "DOUBLE"))


# In warehouses: what all engines do alike

_WRITTEN_ALIKE = frozenset({"text", "integer", "decimal", "float", "boolean", "date"})
_DIRECTIVES = {"Y": "[0-9]{4}", **dict.fromkeys("mdHMS", "(?:[0-9]{2}|[0-9](?![0-9]))")}
_DATE_COLUMNS = {"Y": "y", "m": "m", "d": "d", "H": "h", "M": "mi", "S": "s"}
"""By letter of a format, what sql/prepare/date.sql calls the number."""
_BLANK = r"[ \t\n\x0B\f\r]+"


def _why_not_there(rule: Rule, column: Column) -> str | None:
    """Return why a rule is refused in warehouses; None where it is done there."""
    family = column.family
    if rule.kind == "lower":
        return "which letters are capitals depends on its settings"
    if rule.kind == "null" and family not in {"text", *_NUMBERS}:
        return "values are compared there with texts and numbers alone"
    if rule.kind == "date" and _fields_of(rule.argument) is None:
        return "of formats it has those with %d, %m, %Y and maybe %H, %M, %S, each once, and other characters between"
    if rule.kind != "cast" or _is_cast_alike(column, rule.type):
        return None
    if family == "text":
        return "texts are cast to whole numbers and DECIMAL alone; decimal:. makes a DOUBLE, and date:%Y-%m-%d a date"
    return f"{column.kind} is not cast to {rule.type.type} there"


def _is_cast_alike(column: Column, to: Column) -> bool:
    if to.family == "text":
        return column.family in _WRITTEN_ALIKE
    if column.family in {"integer", "decimal"} and to.family in {"integer", "decimal"}:
        (whole, decimals), (whole_to, decimals_to) = _digits(column), _digits(to)
        return max(whole, whole_to) + max(decimals, decimals_to) <= _MOST_DIGITS  # or they cannot be compared
    pairs = {("text", "integer"), ("text", "decimal"), ("float", "integer"), ("boolean", "integer")}
    numbers_to_boolean = column.family in _NUMBERS and to.family == "boolean"
    is_double = column.family == "integer" and to.type == "DOUBLE"
    return (column.family, to.family) in pairs or numbers_to_boolean or is_double or column.type == to.type


def _digits(column: Column) -> tuple[int, int]:
    """Return how many digits a number has before and behind its point at most."""
    _, most = bounds_of(column) or ("", "")
    whole, _, decimals = most.partition(".")
    return len(whole), len(decimals)


def _read_there(rule: Rule, value: exp.Expr, column: Column) -> exp.Expr:
    """Return what ``_read`` does, without the functions that only DuckDB has."""
    if rule.kind == "decimal":
        return _number_of(rule.argument, value)
    if rule.kind == "date":
        return _date_there(rule, value)
    to = rule.type
    if to.type == column.type:
        return value.copy()
    if to.family == "text":
        return sql.float_as_text(value.copy()) if column.family == "float" else sql.cast(value.copy(), to.type)
    return (
        _truth_there(value, column, to) if "boolean" in {column.family, to.family} else _number_there(value, column, to)
    )


def _truth_there(value: exp.Expr, column: Column, to: Column) -> exp.Expr:
    """Return a number as a truth value, or the other way round."""
    if column.family == "boolean":
        number = exp.Case().when(value.copy(), sql.literal(1)).when(exp.Not(this=value.copy()), sql.literal(0))
        return sql.cast(number, to.type)
    zero, one = (exp.EQ(this=value.copy(), expression=sql.literal(number)) for number in (0, 1))
    return exp.Case().when(zero, exp.false()).when(one, exp.true())


def _number_there(value: exp.Expr, column: Column, to: Column) -> exp.Expr:
    """Return a number in another type, without an error where that does not have it, or rounds it."""
    made: exp.Expr = sql.cast(value.copy(), to.type)
    if column.family == "text":
        decimals = _digits(to)[1]
        whole = _MOST_DIGITS - decimals
        digits = f"[0-9]{{1,{whole}}}" if whole else "0"
        pattern = rf"^[+-]?0*{digits}(\.[0-9]{{0,{decimals}}}0*)?\z"
        number = sql.cast(value.copy(), f"DECIMAL({_MOST_DIGITS},{decimals})")
        read = exp.Case().when(_between(number, to), sql.cast(number, to.type))
        return exp.Case().when(sql.matches(value, pattern), read)
    if "float" in {column.family, to.family}:
        floating, integer = (value, to) if column.family == "float" else (made, column)
        least, most = map(int, bounds_of(integer) or ())
        over = exp.LT(this=floating.copy(), expression=sql.double(float(most + 1)))
        fits: exp.Expr = exp.and_(exp.GTE(this=floating.copy(), expression=sql.double(float(least))), over)
        back: exp.Expr = sql.cast(floating.copy(), integer.type)
    else:
        fits, back = _between(value, to), made
    return exp.Case().when(fits, exp.Case().when(exp.EQ(this=back.copy(), expression=value.copy()), made.copy()))


def _between(number: exp.Expr, column: Column) -> exp.Expr:
    """Return whether the type of a column has a number."""
    low, high = map(_literal, bounds_of(column) or ())
    return exp.Between(this=number.copy(), low=low, high=high)


def _literal(number: str) -> exp.Expr:
    literal = exp.Literal.number(number.removeprefix("-"))
    return exp.Neg(this=literal) if number.startswith("-") else literal


def _fields_of(written: str) -> list[tuple[str, str]] | None:
    """Return the letters of a format, each with the text before it, and the text at its end; None if it has others."""
    *fields, (end, rest) = re.findall(r"([^%]*)(?:%(.)|$)", written)[: written.count("%") + 1]
    letters = [letter for _, letter in fields]
    known = {*"Ymd"} <= {*letters} <= _DIRECTIVES.keys() and len({*letters}) == len(letters) and not rest
    return [(letter, before) for before, letter in fields] + [("", end)] if known else None


def _literally(text: str) -> str:
    """Return the pattern of a text in which white space is any white space, as strptime reads it."""
    parts = re.split(r"(\s+)", text, flags=re.ASCII)
    return "".join(_BLANK if number % 2 else re.sub(r"([^\w])", r"\\\1", part) for number, part in enumerate(parts))


def _date_there(rule: Rule, text: exp.Expr) -> exp.Expr:
    """Return a date, or a timestamp, put together from the parts of a text; NULL where there is no such day."""
    fields = _fields_of(rule.argument) or []

    def pattern(wanted: str = "") -> str:
        parts = [
            _literally(before)
            + (f"({_DIRECTIVES[letter]})" if letter and letter == wanted else _DIRECTIVES.get(letter, ""))
            for letter, before in fields
        ]
        return rf"^{_SPACE}*{_BLANK[:-1]}*{''.join(parts)}{_BLANK[:-1]}*{_SPACE}*\z"

    def part(letter: str) -> exp.Expr:
        return exp.func("REGEXP_EXTRACT", text.copy(), sql.literal(pattern(letter)), sql.literal(1), dialect="duckdb")

    letters = {letter for letter, _ in fields}
    parts = {
        column: part(letter) if letter in letters else sql.literal("0") for letter, column in _DATE_COLUMNS.items()
    }
    columns = {"is_written": sql.matches(text, pattern()), **parts}
    day = sql.selected("prepare/date", "day", columns=columns)
    return day if rule.type.type == "DATE" else sql.selected("prepare/date", "moment", columns={**columns, "day": day})


def counting(relation: exp.Table, values: Mapping[str, Value]) -> exp.Select:
    """Return the query of the rows, and of how many values each rule that reads cannot read."""
    lost = [
        exp.Sub(this=exp.Count(this=before.copy()), expression=exp.Count(this=after.copy()))
        for value in values.values()
        for _, before, after in value.read
    ]
    return exp.select(sql.count_rows(), *lost).from_(sql.aliased(relation, "source"))


def _unread(source: Source, values: Mapping[str, Value]) -> tuple[dict[str, int], list[str]]:
    """Return how many values are NULL because their rule could not read them, and which rules ``null`` found none.

    Raises:
        UsageError: a value cannot be read, and its rule does not say ``or null``.
    """
    read = [(name, rule) for name, value in values.items() for rule, *_ in value.read]
    if not read:
        return {}, []
    ((rows, *lost),) = source.holder.rows(counting(source.relation, values), COUNTED)
    unread: dict[str, int] = {}
    for (name, rule), number in zip(read, lost, strict=True):
        if number and rule.kind != "null" and not rule.or_null:
            raise UsageError(
                f"Column {name!r} of {source.name}: {counted(number, 'value')} in {counted(rows, 'row')} cannot be "
                f"read by {str(rule)!r} as {_VALUES[rule.kind]}. Name codes of missing values in a rule before it "
                f"(null:-9,NA), or write '{rule} or null' to make them NULL."
            )
        if rule.kind != "null":
            unread[name] = unread.get(name, 0) + number
    idle = [name for (name, rule), number in zip(read, lost, strict=True) if rule.kind == "null" and not number]
    return {name: number for name, number in unread.items() if number}, idle


# New columns

_NODES = frozenset(
    {
        *("FUNCTION", "COLUMN_REF", "CONSTANT", "CASE", "CAST", "COMPARISON", "CONJUNCTION", "OPERATOR", "BETWEEN"),
        *("TYPE", "LAMBDA"),  # the arrow of json_extract is parsed as a lambda; no allowed function takes one
    }
)


def _where(text: str, name: str) -> str:
    return f"The expression {text!r} of the new column {name!r}"


def _expression(
    source: Source, text: str, name: str, columns: Sequence[Column], others: Iterable[str] = ()
) -> exp.Expr:
    """Return the expression of a new column, over the columns as their rules make them.

    It is checked as DuckDB parses it: no subquery, aggregate, window or lambda, and the names of all functions are in
    ``ALLOWED_FUNCTIONS``.
    """
    where = _where(text, name)
    try:
        parsed = sqlglot.parse_one(text, read="duckdb")
        render(exp.select(parsed.copy()), source.engine.dialect)
    except (SqlglotError, RecursionError):
        raise UsageError(
            f"{source.name} has no column {name!r}, and {text!r} is neither a rule nor an expression that would make "
            f"one: {_known()}."
        ) from None
    if isinstance(parsed, exp.Alias):
        raise UsageError(f"{where} has an alias: the column is called as it stands before the equals sign.")
    for found in [*parsed.find_all(exp.Column)]:
        if found.table:
            raise UsageError(f"{where} names a table: write names of columns alone.")
        column = find_column(found.name, columns)
        if column is None and found.name in others:
            raise UsageError(f"{where} reads the new column {found.name!r}: an expression reads columns of the table.")
        column = column or resolve_columns([found.name], columns, source.name)[0]
        own = sql.column(column.name, _INNER)
        if found is parsed:
            parsed = own
        else:
            found.replace(own)
    _require_scalar(source, where, render(exp.select(parsed.copy()), source.engine.dialect))
    return parsed


def _require_scalar(source: Source, where: str, written: str) -> None:
    """Raise unless a query selects one scalar expression over columns, as DuckDB parses it."""
    query = exp.select(exp.Anonymous(this="JSON_SERIALIZE_SQL", expressions=[sql.literal(written)]))
    (serialized,) = source.engine.row(query, "the expression of a new column, as DuckDB parses it")
    selects = [one["node"] for one in json.loads(serialized).get("statements", [])]
    if len(selects) != 1 or len(selects[0].get("select_list", [])) != 1:
        raise UsageError(f"{where} is not one expression that DuckDB reads.")
    nodes = list(_nodes(selects[0]["select_list"][0]))
    if unfit := next((one["class"] for one in nodes if one["class"] not in _NODES), None):
        raise UsageError(f"{where} has a part of the kind {unfit}: it is to be a scalar expression over columns.")
    if any(one.get("schema") or one.get("catalog") for one in nodes):
        raise UsageError(f"{where} names a schema: functions and types of DuckDB's own are called without one.")
    # A name that is not a column is a function without parentheses, such as current_date: none of these is allowed.
    bare = [folded(one["column_names"][0]) for one in nodes if one["class"] == "COLUMN_REF"]
    called = [folded(one["function_name"]) for one in nodes if one["class"] == "FUNCTION"]
    allowed = frozenset().union(*ALLOWED_FUNCTIONS.values())
    unknown = [name for name in bare if name != _INNER] + [name for name in called if name not in allowed]
    if unknown:
        raise UsageError(
            f"{where} calls {unknown[0]}(), which is not allowed. Allowed are functions for text, numbers, dates, "
            "conditions, casts, lists and JSON that read nothing but their arguments; docs/prepare.md lists them."
        )


def _require_no_time_zone(source: Source, rows: exp.Select, expression: exp.Expr, where: str) -> None:
    """Raise if a part of an expression is a time of a time zone, of which functions return what their session has."""
    parts = [part.copy() for part in expression.find_all(exp.Column, exp.Func)]
    query = exp.select(*(sql.named(part, f"part_{place}") for place, part in enumerate(parts)))
    types = [column.type for column in source.engine.columns(query.from_(rows.subquery(_INNER)).subquery())]
    if any(zone in each for each in types for zone in ("TIME ZONE", "TIMESTAMPTZ")):
        raise UsageError(f"{where} has a time of a time zone in it, which differs from place to place.")


def _nodes(part: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - what JSON holds
    """Yield the expressions in a tree of DuckDB's parser."""
    if isinstance(part, dict):
        if "class" in part:
            yield part
        for inner in part.values():
            yield from _nodes(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _nodes(inner)
