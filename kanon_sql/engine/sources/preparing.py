"""Prepare columns by the rules of [prepare] (docs/prepare.md): casts, dates, decimals, codes of NULL, new columns.

    kanon_prepared    a temporary view: each column of the source after its rules, then the new columns

All later steps read the view instead of the source: roles, hierarchies, the search, the release and its script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engine.base import NUMBERS, Column, find_column, named_once, resolve_columns, split_values
from kanon_sql.engine.sources.data_files import files_at, read_file
from kanon_sql.engine.sources.layout import NOT_STATED, reading_as
from kanon_sql.engine.sources.open_source import Preparation
from kanon_sql.errors import ComputationError, UsageError, counted
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.sources.open_source import Source

Rules = tuple[str, ...]
"""The rules of a column, in order; or the one expression of a new column."""

KNOWN_RULES = "rules are trim, lower, null:VALUES, decimal:SIGN, date:FORMAT and cast:TYPE"
_INNER = "prepared"
_UNFIT = (
    "is not one expression that DuckDB reads.",
    "has an alias: the column is called as it stands before the equals sign.",
    "has a part of the kind {}: it is to be a scalar expression over columns.",
    "names a schema: functions and types of DuckDB's own are called without one.",
    "calls {}(), which is not allowed: docs/prepare.md lists the functions that are, which read their arguments alone.",
)
"""By column of sql/prepare/expression.sql, the error message if it is neither false nor NULL."""
TITLE = "The columns as the policy prepares them; what cannot be read is NULL"
_RULE = re.compile(r"(trim|lower)|(null|decimal|date|cast)\s*:\s*(.*?)(\s+or\s+null)?", re.DOTALL | re.IGNORECASE)
_OF_TEXTS = ("trim", "lower", "decimal", "date")
_ARGUMENTS = {
    "null": (r'([^\r\n"]|"[^"]*"?)+', "write the values that are NULL, such as null:-9,NA, and no more."),
    "decimal": ("[,.]", "the decimal sign is a comma or a point: decimal:, or decimal:."),
    "date": (
        "(?=.*%-?[yYcx])([^%]|%-?[HIMSdjmy]|%[%ABGTUVWXYabcfghnpuwx])*",
        "write how dates are written, with a year and no time zone, by letters of DuckDB's strptime: date:%d.%m.%Y.",
    ),
    "cast": (".+", "cast is to a type such as BIGINT, DOUBLE, DECIMAL(18,2), DATE or VARCHAR."),
}
"""By kind of rule, a pattern of its argument, and the error message if it does not match."""
_CODE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_MOST_DIGITS = 38
_NAMES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN", "VARCHAR")
"""The types of casts except DECIMAL, by their names in DuckDB."""

# Character classes are written out, and patterns end in \z, so that all engines read them the same.
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
_CASTS = {
    "text": {"integer": "number", "decimal": "number", "date": "day", "timestamp": "day"},
    **{family: {"boolean": "truth", **dict.fromkeys(NUMBERS, "same")} for family in NUMBERS},
}
"""By families of a column and of a type, the column of sql/prepare/values.sql that checks a cast."""


@dataclass(frozen=True)
class Rule:
    """A rule for a column."""

    text: str
    kind: str  # trim, lower, null, decimal, date or cast
    argument: str  # after the colon
    or_null: bool  # unreadable values become NULL
    makes: str  # the type that it parses to; empty if it parses nothing


def type_of_cast(text: str) -> str | None:
    """Return DuckDB's name of the type of a rule ``cast``; None if no rule casts to it."""
    try:
        kind = exp.DataType.build(text, dialect="duckdb")
        if text.isalpha():
            return next((name for name in _NAMES if exp.DataType.build(name, dialect="duckdb") == kind), None)
        digits, decimals = (int(size.name) for size in kind.expressions)
    except (SqlglotError, ValueError):
        return None
    is_known = kind.is_type("DECIMAL") and decimals <= digits and 0 < digits <= _MOST_DIGITS
    return kind.sql(dialect="duckdb") if is_known else None


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
    """Parse a rule; None if the text is not one and could be an expression."""
    text = text.strip()
    if (found := _RULE.fullmatch(text)) is None:
        return None
    plain, kind, argument, or_null = found.groups("")
    kind = (plain or kind).lower()
    day = "TIMESTAMP" if re.search("%-?[HIMSfgnpzZcXs]", argument) else "DATE"
    makes = type_of_cast(argument) if kind == "cast" else {"decimal": "DOUBLE", "date": day}.get(kind, "")
    pattern, needed = _ARGUMENTS.get(kind, ("", ""))
    if makes is None or (kind == "null" and or_null) or not re.fullmatch(pattern, argument, re.DOTALL):
        raise UsageError(f"Column {column!r}, {text!r}: {needed}")
    return Rule(text, kind, argument, bool(or_null), makes)


def with_prepared(source: Source, given: Mapping[str, Rules]) -> Source:
    """Return a source with prepared columns; the source itself if there are no rules.

    1. Read CSV columns as unchanged texts if their rules parse texts.
    2. Make the view.
    3. Count the values that cannot be read, for all columns in one scan.
    """
    if not given:
        return source
    source.require("prepare")
    steps: dict[str, list[Rule]] = {}
    every: dict[str, Rules] = {}
    expressions: dict[str, str] = {}
    for name, said in given.items():
        if rules := [rule for text in said if (rule := parse_preparing(text, name))]:
            (column,) = resolve_columns([name], source.columns, source.name)
            if column.name in steps:
                raise UsageError(f"Column {name!r} is prepared twice: write its rules in one list.")
            steps[column.name], every[column.name] = rules, said
            continue
        if find_column(name, source.columns) is not None:
            raise UsageError(
                f"{said[0]!r} is no rule that prepares column {name!r}: {KNOWN_RULES}. An expression makes a new "
                "column: give it another name."
            )
        expressions[name], every[name] = said[0], said
    raw = _with_texts(source, steps)
    values = {column.name: Value(column, steps.get(column.name, [])) for column in raw.columns}
    query = exp.select(*(sql.named(value.value.copy(), name) for name, value in values.items()))
    query = query.from_(sql.aliased(raw.relation, "source"))
    query, reads = _with_new_columns(raw, query, expressions) if expressions else (query, {})
    # Compute the rules only once if the rows were loaded into a table.
    is_copy = raw.file is not None and raw.read.create.kind == "TABLE"
    make = sql.create_table if is_copy else sql.create_view
    create = make(raw.engine.temporary_name("kanon_prepared"), query, temporary=True)
    raw.engine.run(create, TITLE)
    preparation = Preparation(raw, every, reads, create, *_unread(raw, values))
    return replace(raw, relation=create.this, columns=(), preparation=preparation)


def _with_new_columns(
    source: Source, query: exp.Select, expressions: Mapping[str, str]
) -> tuple[exp.Select, dict[str, Rules]]:
    """Add new columns to the query of the rows, and return the columns that each of them reads."""
    rows = query.subquery(_INNER)
    columns = source.engine.columns(rows)
    named_once([*(column.name for column in columns), *expressions], source.name)
    query = exp.select(*(sql.column(column.name, _INNER) for column in columns)).from_(rows)
    reads = {}
    for name, text in expressions.items():
        where = f"The expression {text!r} of the new column {name!r}"
        made = _expression(source, text, name, where, columns, expressions)
        # Functions of times with a time zone return the session's values.
        parts = [sql.named(part.copy(), f"part_{n}") for n, part in enumerate(made.find_all(exp.Column, exp.Func))]
        typed = source.engine.columns(exp.select(*parts).from_(rows).subquery())
        if any(zone in column.type for column in typed for zone in ("TIME ZONE", "TIMESTAMPTZ")):
            raise UsageError(f"{where} has a time of a time zone in it, which differs from place to place.")
        try:
            source.engine.row(exp.select(exp.Count(this=made.copy())).from_(rows), f"compute {name}")
        except ComputationError:
            raise UsageError(
                f"{where} cannot be computed for all rows: a value does not fit a cast or a function. Where it may be "
                "NULL, write TRY_CAST."
            ) from None
        query = query.select(sql.named(made, name))
        reads[name] = tuple(dict.fromkeys(one.name for one in made.find_all(exp.Column)))
    return query, reads


def _expression(
    source: Source, text: str, name: str, where: str, columns: Sequence[Column], others: Mapping[str, str]
) -> exp.Expr:
    """Parse the expression of a new column, and check that it reads only the table."""
    try:
        query = exp.select(sqlglot.parse_one(text, read="duckdb"))
        render(query.copy(), "duckdb")
    except (SqlglotError, RecursionError):
        raise UsageError(
            f"{source.name} has no column {name!r}, and {text!r} is neither a rule nor an expression that would make "
            f"one: {KNOWN_RULES}."
        ) from None
    for found in [*query.find_all(exp.Column)]:
        if found.table:
            raise UsageError(f"{where} names a table: write names of columns alone.")
        if find_column(found.name, columns) is None and found.name in others:
            raise UsageError(f"{where} reads the new column {found.name!r}: an expression reads columns of the table.")
        (column,) = resolve_columns([found.name], columns, source.name)
        found.replace(sql.column(column.name, _INNER))
    check = sql.query("prepare/expression", values={"written": render(query.copy(), "duckdb")})
    for found, said in zip(source.engine.row(check, "the expression, as DuckDB parses it"), _UNFIT, strict=True):
        if found:
            raise UsageError(f"{where} {said.format(found)}")
    expression: exp.Expr = query.selects[0].pop()
    return expression


def _with_texts(source: Source, steps: Mapping[str, Sequence[Rule]]) -> Source:
    """Return a source with CSV columns read as texts if rules need them."""
    typed = [
        column.name
        for column in source.columns
        if column.family != "text"
        and any(rule.kind in _OF_TEXTS or rule.makes == "VARCHAR" for rule in steps.get(column.name, ()))
    ]
    if typed and source.is_csv and all(map(Path.is_file, files_at(source.file or Path()))):
        source.engine.run(sql.drop(source.relation), f"read {source.name} again")
        with reading_as(NOT_STATED, lambda _: None):  # the findings were already reported
            read = read_file(source.engine, source.file or Path(), source.relation, source.read.layout, texts=typed)
        return replace(source, setup=(read.create,), columns=read.columns, read=read)
    return source


class Value:
    """The value of a column by its rules; and each rule that may produce NULLs, with the value before and after."""

    def __init__(self, column: Column, rules: Sequence[Rule]) -> None:
        self.value: exp.Expr = sql.column(column.name, "source")
        self.read: list[tuple[Rule, exp.Expr, exp.Expr]] = []
        for rule in rules:
            if rule.kind in _OF_TEXTS and column.family != "text":
                raise UsageError(
                    f"Column {column.name!r} is of type {column.kind} already, and {rule.text!r} reads texts: leave "
                    "the rule out, or write it before those that make another type."
                )
            value, to = self.value, Column(column.name, rule.makes or column.type)
            before = _made("stripped", value=value) if column.family == "text" and rule.makes else value
            match rule.kind:
                case "null":
                    self.value = _nulled(rule, value, column)
                case "cast":
                    self.value = _cast(before, column, to)
                case "date":
                    self.value = sql.cast(_made("date", rule.argument, value=before), to.type)
                case _:
                    self.value = _made(rule.kind, rule.argument, value=value)
            column = to
            if rule.kind not in {"trim", "lower"}:
                self.read.append((rule, before, self.value))


def _made(wanted: str, argument: str = "", digits: str = "", **columns: exp.Expr) -> exp.Expr:
    """Return a column of sql/prepare/values.sql for a rule's argument, with expressions for the columns there."""
    number = _NUMBER.replace("THOUSANDS", "." if argument == "," else ",").replace("SIGN", argument)
    given = {"around": _AROUND, "number": number, "others": f"[^0-9{argument}+-]", "digits": digits}
    return sql.selected("prepare/values", wanted, values={**given, "argument": argument}, columns=columns)


def _nulled(rule: Rule, value: exp.Expr, column: Column) -> exp.Expr:
    texts = split_values(rule.argument)
    codes: list[exp.Expr] = [sql.literal(text) for text in texts]
    if column.family in NUMBERS:  # 1.5 would be rounded to a whole number
        codes = [exp.Literal.number(str(Decimal(text))) for text in texts if _CODE.fullmatch(text)]
    elif column.family != "text":
        codes = [_try_cast(text, column) for text in codes]
    if not codes:
        return value.copy()
    return exp.Case().when(exp.In(this=value.copy(), expressions=codes), exp.null()).else_(value.copy())


def _try_cast(value: exp.Expr, to: Column) -> exp.Expr:
    return exp.TryCast(this=value.copy(), to=exp.DataType.build(to.type, dialect="duckdb"))


def _cast(value: exp.Expr, column: Column, to: Column) -> exp.Expr:
    """Cast a value to another type; NULL if the result is a different value."""
    if to.type == column.type:
        return value.copy()
    if to.family == "text":
        return sql.float_as_text(value.copy()) if column.family == "float" else sql.cast(value.copy(), to.type)
    if column.family == "boolean":  # through a number
        return _cast(sql.cast(value.copy(), "INTEGER"), Column(column.name, "INTEGER"), to)
    made: exp.Expr = _try_cast(value, to)
    back: exp.Expr = _try_cast(made, column)
    if (wanted := _CASTS.get(column.family, {}).get(to.family)) is None:
        return made
    whole = _MOST_DIGITS - to.decimals
    digits = rf"^[+-]?0*{f'[0-9]{{1,{whole}}}' if whole else '0'}(\.[0-9]{{0,{to.decimals}}}0*)?\z"
    return _made(wanted, digits=digits, value=value, made=made, back=back)


def _unread(source: Source, values: Mapping[str, Value]) -> tuple[dict[str, int], list[str]]:
    """Count the values that became NULL because a rule could not read them; find rules ``null`` without a match."""
    read = [(name, *step) for name, value in values.items() for step in value.read]
    if not read:
        return {}, []
    counts = [(exp.Count(this=before.copy()), exp.Count(this=after.copy())) for *_, before, after in read]
    lost = [exp.Sub(this=before, expression=after) for before, after in counts]
    query = exp.select(sql.count_rows(), *lost).from_(sql.aliased(source.relation, "source"))
    ((rows, *numbers),) = source.engine.rows(query, "values that cannot be read as they are to be")
    unread: dict[str, int] = {}
    idle = []
    for (name, rule, *_), number in zip(read, numbers, strict=True):
        if number and rule.makes:
            if not rule.or_null:
                raise UsageError(
                    f"Column {name!r} of {source.name}: {counted(number, 'value')} in {counted(rows, 'row')} cannot be "
                    f"read by {rule.text!r}. Name codes of missing values in a rule before it (null:-9,NA), or write "
                    f"'{rule.text} or null' to make them NULL."
                )
            unread[name] = unread.get(name, 0) + number
        elif not number and not rule.makes:
            idle.append(name)
    return unread, idle
