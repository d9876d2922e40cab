"""Prepare columns by the rules of [prepare] (docs/prepare.md): casts, dates, decimals, codes of NULL, new columns.

    kanon_prepared    a temporary view: each column of the source as its rules make it, then the new columns

All that follows reads the view instead of the source: roles, hierarchies, the search, the release and its script.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engine.base import Column, bounds_of, find_column, resolve_columns
from kanon_sql.engine.sources.data_files import files_at, read_as_text, reader_of
from kanon_sql.engine.sources.new_columns import KNOWN_RULES, with_new_columns
from kanon_sql.engine.sources.open_source import Preparation
from kanon_sql.errors import UsageError, counted
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.sources.open_source import Source

Rules = tuple[str, ...]
"""What happens to a column, in this order; or the one expression of a new column."""

_Kind = Literal["trim", "lower", "null", "decimal", "date", "cast"]
TITLE = "The columns as the policy prepares them; what cannot be read is NULL"
_RULE = re.compile(r"(trim|lower)|(null|decimal|date|cast)\s*:\s*(.*?)(\s+or\s+null)?", re.DOTALL | re.IGNORECASE)
_OF_TEXTS = ("trim", "lower", "decimal", "date")
_READS = {"decimal": "a number", "date": "a date", "cast": "a value of that type"}
"""The rules that read values, and what they read them as."""
_NUMBERS = frozenset({"integer", "decimal", "float"})
_FORMAT = "([^%]|%-?[HIMSdjmy]|%[%ABGTUVWXYZabcfghnpuwxz])*"  # of DuckDB's strptime
_ARGUMENTS = (
    ("decimal", "[,.]", "the decimal sign is a comma or a point: decimal:, or decimal:."),
    ("date", ".*%.*", "write how dates are written, such as date:%d.%m.%Y or date:%Y年%m月%d日."),
    ("date", "(?!.*%[zZ]).*", "time zones are not read, as a time of day would differ from place to place."),
    ("date", ".*%-?[yYcx].*", "a date without a year is none; write %Y or %y where the year stands."),
    ("date", _FORMAT, "DuckDB does not read this format: its letters are those of strptime, such as %d, %m and %Y."),
)
"""By kind of rule, a pattern of its argument, and what an error says if it does not match."""
_CODE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_MOST_DIGITS = 38
_DECIMAL = re.compile(r"DECIMAL\s*\(\s*([0-9]+)\s*,\s*([0-9]+)\s*\)", re.IGNORECASE)
_TYPES = {
    **{name: name for name in ("TINYINT", "SMALLINT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "BOOLEAN", "TIMESTAMP")},
    "INT": "INTEGER",
    "TEXT": "VARCHAR",
    "VARCHAR": "VARCHAR",
    "TIMESTAMPNTZ": "TIMESTAMP",
}
"""By the name that sqlglot has for a type that a rule may cast to, DuckDB's."""

# Classes of characters are written out, and patterns end in \z, so that all engines read them alike.
_SPACE = r"[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]"
_AROUND = rf"^{_SPACE}+|{_SPACE}+\z"
_CURRENCY = (
    "(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩\uff04￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|"
    r"USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)"
)
_GROUPS = "|".join(rf"(?:{sign}[0-9]{{3}}){{1,4}}" for sign in ("[THOUSANDS]", r"['\x{2019}]", _SPACE))
_NUMBER = (  # a DOUBLE has 15 digits
    rf"^{_SPACE}*(?:[+-]?{_SPACE}*{_CURRENCY}?|{_CURRENCY}{_SPACE}*[+-]?){_SPACE}*"
    rf"(?:[1-9][0-9]{{0,2}}(?:{_GROUPS})|[0-9]{{1,15}})(?:[SIGN][0-9]*)?{_SPACE}*{_CURRENCY}?{_SPACE}*\z"
)
_BLANK = r"[ \t\n\x0B\f\r]"
"""White space as strptime reads it."""
_IN_FORMAT = re.compile(r"%(?P<letter>.)|(?P<blank>\s+)|(?P<text>[^%\s]+)", re.ASCII)
_PARTS = {"Y": "y", "m": "m", "d": "d", "H": "h", "M": "mi", "S": "s"}
"""The letters of the formats that warehouses read, with the columns of sql/prepare/date.sql."""


@dataclass(frozen=True)
class Rule:
    """A rule for a column: its kind, the text after the colon, and whether what cannot be read is NULL."""

    kind: _Kind
    argument: str = ""
    or_null: bool = False

    def __str__(self) -> str:
        text = f"{self.kind}:{self.argument}" if self.argument else self.kind
        return f"{text} or null" if self.or_null else text

    @property
    def reads_text(self) -> bool:
        return self.kind in _OF_TEXTS or (self.kind == "cast" and self.type.family == "text")

    @property
    def type(self) -> Column:
        """The type that a rule makes of what it reads, as that of a column."""
        if self.kind == "decimal":
            return Column("", "DOUBLE")
        if self.kind == "date":
            return Column("", "TIMESTAMP" if re.search("%-?[HIMSfgnpzZcXs]", self.argument) else "DATE")
        return Column("", type_of_cast(self.argument) or "")


def type_of_cast(text: str) -> str | None:
    """Return the type of a rule ``cast`` as DuckDB writes it; None if no rule casts to it."""
    try:
        kind = exp.DataType.build(text, dialect="duckdb")
    except (SqlglotError, ValueError):
        return None
    if found := _DECIMAL.fullmatch(text):
        digits, decimals = int(found[1]), int(found[2])
        return kind.sql(dialect="duckdb") if decimals <= digits and 0 < digits <= _MOST_DIGITS else None
    return _TYPES.get(kind.this.name) if re.fullmatch("[A-Za-z]+", text) else None


def _codes(rule: Rule) -> list[str]:
    """Return the values of a rule ``null``, which are written as a line of a CSV file."""
    try:
        return [value.strip() for value in next(csv.reader([rule.argument], skipinitialspace=True), [])]
    except csv.Error:  # a line has an end
        return []


def rules_of(given: Mapping[str, str | Sequence[str]]) -> dict[str, Rules]:
    """Normalize the rules of columns. Raises UsageError for an unknown rule."""
    if not hasattr(given, "items"):
        raise UsageError("What prepares columns is a mapping of names to rules, such as {'cost': 'decimal:,'}.")
    found = {}
    for name, rules in given.items():
        if not isinstance(name, str) or not name:
            raise UsageError("A rule of [prepare] has no column: write COLUMN=RULE.")
        texts = (rules,) if isinstance(rules, str) else tuple(rules) if isinstance(rules, list | tuple) else ()
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise UsageError(f"What prepares column {name!r} is not a rule, or a list of rules: {KNOWN_RULES}.")
        if len(texts) > 1 and (unknown := [text for text in texts if parse_preparing(text, name) is None]):
            raise UsageError(f"{unknown[0]!r} is no rule that prepares column {name!r}: {KNOWN_RULES}.")
        found[name] = tuple(text.strip() for text in texts)
    return found


def parse_preparing(text: str, column: str) -> Rule | None:
    """Return the rule that a text is; None if it is none, and could be an expression."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        return None
    plain, kind, argument, or_null = found.groups("")
    rule = Rule((plain or kind).lower(), argument, or_null=bool(or_null))  # type: ignore[arg-type]  # one of the six
    where = f"Column {column!r}, {str(rule)!r}"
    for of_kind, pattern, needed in _ARGUMENTS:
        if of_kind == rule.kind and not re.fullmatch(pattern, argument, re.DOTALL):
            raise UsageError(f"{where}: {needed}")
    if rule.kind == "null" and (rule.or_null or not _codes(rule)):
        raise UsageError(f"{where}: write the values that are NULL, such as null:-9,NA, and no more.")
    if rule.kind == "cast" and type_of_cast(argument) is None:
        raise UsageError(f"{where}: cast is to a type such as BIGINT, DOUBLE, DECIMAL(18,2), DATE or VARCHAR.")
    return rule


def with_prepared(source: Source, given: Mapping[str, Rules]) -> Source:
    """Return a source whose columns are prepared; the source itself if there are no rules.

    1. Read the columns of CSV files whose rules read texts as they are written.
    2. Count the values that cannot be read, all columns by one scan.
    3. Make the view.
    """
    if not given:
        return source
    steps: dict[str, list[Rule]] = {}
    texts: dict[str, Rules] = {}
    expressions: dict[str, str] = {}
    for name, said in given.items():
        rules = [rule for text in said if (rule := parse_preparing(text, name))]
        if not rules:
            source.refuse_in_warehouse(
                f"and the new column {name!r} is made by an expression of DuckDB's SQL: make it in a view there, and "
                "name that."
            )
            if find_column(name, source.columns) is not None:
                raise UsageError(
                    f"{said[0]!r} is no rule that prepares column {name!r}: {KNOWN_RULES}. An expression makes a new "
                    "column: give it another name."
                )
            expressions[name] = said[0]
            continue
        (column,) = resolve_columns([name], source.columns, source.name)
        if column.name in steps:
            raise UsageError(f"Column {name!r} is prepared twice: write its rules in one list.")
        steps[column.name], texts[column.name] = rules, said
    # 1. Texts as they are written.
    raw = _with_texts(source, steps)
    # 2. What cannot be read.
    place = raw.warehouse.kind if raw.warehouse is not None else None
    values = {column.name: Value(column, steps.get(column.name, []), place) for column in raw.columns}
    query = exp.select(*(sql.named(value.value.copy(), name) for name, value in values.items()))
    query = query.from_(sql.aliased(raw.relation, "source"))
    reads: dict[str, tuple[str, ...]] = {}
    if raw.in_warehouse:
        # Made first, since what is counted is then read in the snapshot in which all that follows is read.
        create = raw.workbench.keep_view("kanon_prepared", query, TITLE)
        unread, idle = _unread(raw, values)
    else:
        unread, idle = _unread(raw, values)
        # 3. The view. Of rows that were read into a table, the rules are computed once.
        if expressions:
            query, reads = with_new_columns(raw, query, list(values), expressions)
        is_copy = raw.file is not None and raw.setup and reader_of(files_at(raw.file)[0]) != "read_parquet"
        make = sql.create_table if is_copy else sql.create_view
        create = make(raw.engine.temporary_name("kanon_prepared"), query, temporary=True)
        raw.engine.run(create, TITLE)
    every = {**texts, **{name: (text,) for name, text in expressions.items()}}
    preparation = Preparation(raw, every, reads, create, unread, idle)
    return replace(raw, relation=create.this, columns=(), preparation=preparation)


def _with_texts(source: Source, steps: Mapping[str, Sequence[Rule]]) -> Source:
    """Return a source whose CSV files are read as texts where rules need them."""
    typed = [
        column.name
        for column in source.columns
        if column.family != "text" and any(rule.reads_text for rule in steps.get(column.name, ()))
    ]
    if typed and source.file is not None and source.setup:
        again = read_as_text(source.engine, source.file, source.setup[-1], typed, source.read.layout)
        if again is not None:
            create, columns = again
            return replace(source, setup=(*source.setup[:-1], create), columns=columns)
    return source


class Value:
    """The value of a column by its rules; and each rule that may make values NULL, with the value before and after."""

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
                    f"Column {column.name!r} is of type {column.kind} already, and {str(rule)!r} reads texts: leave "
                    "the rule out, or write it before those that make another type."
                )
            if place is not None and (why := _why_not_there(rule, column)):
                raise UsageError(
                    f"Column {column.name!r}, {str(rule)!r}: {place} does not do this exactly as DuckDB does: {why}. "
                    "Or make the column in a view there, and name that."
                )
            before = _made("stripped", value=self.value) if is_text and rule.kind in _READS else self.value
            self.value = _by_rule(rule, self.value, before, column, place)
            if rule.kind in _READS:
                column = replace(rule.type, name=column.name)
            if place is not None and column.family == "decimal":  # PostgreSQL forgets the digits of a CASE
                self.value = sql.cast(self.value, column.type)
            if rule.kind not in {"trim", "lower"}:
                self.read.append((rule, before, self.value))


def _by_rule(rule: Rule, value: exp.Expr, before: exp.Expr, column: Column, place: str | None) -> exp.Expr:
    """Return a value by a rule; ``before`` is the value without white space around it, if the rule reads texts."""
    match rule.kind:
        case "null":
            return _nulled(rule, value, column)
        case "cast":
            return (_cast if place is None else _cast_there)(before, column, rule.type)
        case "date" if place is not None:
            return _date_there(rule, value)
        case "date":
            return sql.cast(_made("date", rule.argument, value=before), rule.type.type)
        case _:
            return _made(rule.kind, rule.argument, value=value)


def _made(wanted: str, argument: str = "", digits: str = "", **columns: exp.Expr) -> exp.Expr:
    """Return a column of sql/prepare/values.sql by the argument of a rule, with expressions for the columns there."""
    number = _NUMBER.replace("THOUSANDS", "." if argument == "," else ",").replace("SIGN", argument)
    given = {"around": _AROUND, "number": number, "others": f"[^0-9{argument}+-]", "digits": digits}
    return sql.selected("prepare/values", wanted, values={**given, "argument": argument}, columns=columns)


def _nulled(rule: Rule, value: exp.Expr, column: Column) -> exp.Expr:
    codes: list[exp.Expr] = [sql.literal(text) for text in _codes(rule)]
    if column.family in _NUMBERS:  # 1.5 is no whole number, to which it would be rounded
        codes = [exp.Literal.number(str(Decimal(text))) for text in _codes(rule) if _CODE.fullmatch(text)]
    elif column.family != "text":
        codes = [_try_cast(text, column) for text in codes]
    if not codes:
        return value.copy()
    return exp.Case().when(exp.In(this=value.copy(), expressions=codes), exp.null()).else_(value.copy())


def _try_cast(value: exp.Expr, to: Column) -> exp.Expr:
    return exp.TryCast(this=value.copy(), to=exp.DataType.build(to.type, dialect="duckdb"))


def _cast(value: exp.Expr, column: Column, to: Column) -> exp.Expr:
    """Return a value in another type; NULL if that is another value."""
    made = _try_cast(value, to)
    if column.family == "text" and to.family in {"date", "timestamp"}:
        return _made("date_of_text", value=value, made=made)
    if column.family == "text" and to.family in {"integer", "decimal"}:
        is_exact = sql.matches(value, rf"^[+-]?[0-9]+(\.[0-9]{{0,{to.decimals}}}0*)?\z")
        return exp.Case().when(is_exact, made)
    if column.family in _NUMBERS and to.family in {*_NUMBERS, "boolean"}:
        return _made("same", value=value, made=made, back=_try_cast(made, column))
    return made


def _unread(source: Source, values: Mapping[str, Value]) -> tuple[dict[str, int], list[str]]:
    """Return how many values are NULL because their rule could not read them, and which rules ``null`` found none."""
    read = [(name, *step) for name, value in values.items() for step in value.read]
    if not read:
        return {}, []
    counts = [(exp.Count(this=before.copy()), exp.Count(this=after.copy())) for *_, before, after in read]
    lost = [exp.Sub(this=before, expression=after) for before, after in counts]
    query = exp.select(sql.count_rows(), *lost).from_(sql.aliased(source.relation, "source"))
    ((rows, *numbers),) = source.holder.rows(query, "values that cannot be read as they are to be")
    unread: dict[str, int] = {}
    idle = []
    for (name, rule, *_), number in zip(read, numbers, strict=True):
        if rule.kind == "null":
            if not number:
                idle.append(name)
        elif number and not rule.or_null:
            raise UsageError(
                f"Column {name!r} of {source.name}: {counted(number, 'value')} in {counted(rows, 'row')} cannot be "
                f"read by {str(rule)!r} as {_READS[rule.kind]}. Name codes of missing values in a rule before it "
                f"(null:-9,NA), or write '{rule} or null' to make them NULL."
            )
        elif number:
            unread[name] = unread.get(name, 0) + number
    return unread, idle


# In warehouses: what all engines do alike

_CASTS_ALIKE = {
    "text": {"text": "text", "integer": "number_of_text", "decimal": "number_of_text"},
    "integer": {"text": "text", "integer": "number", "decimal": "number", "float": "number", "boolean": "truth"},
    "decimal": {"text": "text", "integer": "number", "decimal": "number", "boolean": "truth"},
    "float": {"text": "text", "integer": "number", "boolean": "truth"},
    "boolean": {"text": "text", "integer": "number_of_truth"},
    "date": {"text": "text"},
}
"""By family of a column, the families that it is cast to, and the column of sql/prepare/values.sql that does it."""


def _why_not_there(rule: Rule, column: Column) -> str | None:
    """Return why a rule is refused in warehouses; None if it is not."""
    family = column.family
    if rule.kind == "lower":
        return "which letters are capitals depends on its settings"
    if rule.kind == "null" and family not in {"text", *_NUMBERS}:
        return "values are compared there with texts and numbers alone"
    letters = re.findall("%(.?)", rule.argument)
    is_known = {*"Ymd"} <= {*letters} <= _PARTS.keys() and len({*letters}) == len(letters)
    if rule.kind == "date" and not is_known:
        return "of formats it has those with %d, %m, %Y and maybe %H, %M, %S, each once, and other characters between"
    if rule.kind != "cast" or _is_cast_alike(column, rule.type):
        return None
    if family == "text":
        return "texts are cast to whole numbers and DECIMAL alone; decimal:. makes a DOUBLE, and date:%Y-%m-%d a date"
    return f"{column.kind} is not cast to {rule.type.type} there"


def _is_cast_alike(column: Column, to: Column) -> bool:
    if column.type == to.type:
        return True
    if {column.family, to.family} <= {"integer", "decimal"}:  # with more digits they cannot be compared
        largest = [most for _, most in filter(None, map(bounds_of, (column, to)))]
        digits = max(len(most.partition(".")[0]) for most in largest)
        return digits + max(column.decimals, to.decimals) <= _MOST_DIGITS
    return to.family in _CASTS_ALIKE.get(column.family, ()) and to.type != "FLOAT"


def _cast_there(value: exp.Expr, column: Column, to: Column) -> exp.Expr:
    """Return what ``_cast`` does, without the functions that only DuckDB has."""
    if to.type == column.type:
        return value.copy()
    if to.family == "text":
        return sql.float_as_text(value.copy()) if column.family == "float" else sql.cast(value.copy(), to.type)
    wanted = _CASTS_ALIKE[column.family][to.family]
    number = sql.cast(value.copy(), f"DECIMAL({_MOST_DIGITS},{to.decimals})") if column.family == "text" else value
    made: exp.Expr = sql.cast(number.copy(), to.type)
    back = made
    least, most = bounds_of(column if to.family == "float" else to) or ("0", "1")
    low: exp.Expr = sql.cast(sql.literal(least), to.type)
    high: exp.Expr = sql.cast(sql.literal(most), to.type)
    if "float" in {column.family, to.family}:  # the largest whole number itself may not be a DOUBLE
        low, high = sql.double(float(least)), sql.double(math.nextafter(float(int(most) + 1), 0))
    if to.family == "float":
        number, back = made, sql.cast(made.copy(), column.type)
    whole = _MOST_DIGITS - to.decimals
    digits = rf"^[+-]?0*{f'[0-9]{{1,{whole}}}' if whole else '0'}(\.[0-9]{{0,{to.decimals}}}0*)?\z"
    found = _made(wanted, digits=digits, value=value, number=number, made=made, back=back, low=low, high=high)
    return sql.cast(found, to.type) if column.family == "boolean" else found


def _date_there(rule: Rule, text: exp.Expr) -> exp.Expr:
    """Return a date, or a timestamp, put together from the parts of a text; NULL if there is no such day."""
    columns = {"is_written": sql.matches(text, _pattern_of(rule.argument))}
    for letter, column in _PARTS.items():
        part = (text.copy(), sql.literal(_pattern_of(rule.argument, letter)), sql.literal(1))
        is_there = f"%{letter}" in rule.argument
        columns[column] = exp.func("REGEXP_EXTRACT", *part, dialect="duckdb") if is_there else sql.literal("0")
    columns["day"] = sql.selected("prepare/date", "day", columns=columns)
    return columns["day"] if rule.type.type == "DATE" else sql.selected("prepare/date", "moment", columns=columns)


def _pattern_of(written: str, wanted: str = "") -> str:
    """Return the pattern of a format of dates, with a group around the part of one letter."""

    def pattern(found: re.Match[str]) -> str:
        if letter := found["letter"]:
            digits = "[0-9]{4}" if letter == "Y" else "(?:[0-9]{2}|[0-9](?![0-9]))"
            return f"({digits})" if letter == wanted else digits
        return f"{_BLANK}+" if found["blank"] else re.sub(r"([^\w])", r"\\\1", found["text"])

    return rf"^{_SPACE}*{_BLANK}*{_IN_FORMAT.sub(pattern, written)}{_BLANK}*{_SPACE}*\z"
