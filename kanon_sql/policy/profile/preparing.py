"""Columns that have to be prepared before their values mean what they are: numbers and dates written as texts, codes.

1. Of the first rows, look for columns of texts that have a digit in every value but for codes of missing values.
2. Try each way to read them on these rows. One that reads all values is proposed; where two do, as with 03/04/1990, a
   note says so and a person decides.
3. Count on all rows that nothing is left unread. In columns of numbers, look for codes such as -9 beside numbers that
   are never negative.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import find_column
from kanon_sql.engine.sources.layout import say
from kanon_sql.engine.sources.preparing import Value, parse_preparing, with_prepared
from kanon_sql.hierarchy.given import columns_with_hierarchy
from kanon_sql.hierarchy.vocabulary import kinds_of_name, role_of_kind
from kanon_sql.policy.profile.patterns import IDENTITY_OF_CHINA
from kanon_sql.policy.profile.result import PreparedColumn, ToPrepare
from kanon_sql.policy.profile.words import NO_NUMBERS
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.sources.preparing import Rules
    from kanon_sql.policy.policy import Policy

_LOOKED_AT = 5_000  # rows
_CODES = (
    *("NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "-", "--", "?", "."),
    *("unknown", "Unknown", "missing", "unbekannt", "Unbekannt", "k. A.", "k.A.", "keine Angabe"),
    *("inconnu", "Inconnu", "n.d.", "nd", "NR", "non renseigné", "不详", "未知", "无", "缺失"),
)
_ONCE = 1  # a temperature of -9 may be one
_NEGATIVE = (-9, -99, -999, -9999)
_DATES = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y年%m月%d日"),
    *("%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%Y-%m-%d %H:%M:%S"),
)
_DECIMAL = {"decimal:,": "with a decimal comma", "decimal:.": "with a decimal point"}
_READINGS = (*_DECIMAL, "cast:BIGINT", *(f"date:{written}" for written in _DATES))


def columns_to_prepare(source: Source, but: Sequence[str] = ()) -> ToPrepare:
    """Return how columns of a table are to be prepared, those ``but`` some; nothing of a table in a warehouse."""
    if source.in_warehouse:
        return ToPrepare()
    others = [column for column in source.columns if column.name not in but]
    texts, identities = _with_digits(source, [column for column in others if column.family == "text"])
    found: dict[str, PreparedColumn] = {}
    notes = [_parts_of_identity(column) for column in identities]
    for column, rules, reason in _ways_to_read(source, texts, notes):
        found[column.name] = PreparedColumn(column.name, rules, reason)
    for name, codes in _negative_codes(source, [column for column in others if column.is_numeric]).items():
        rule = f"null:{','.join(map(str, codes))}"
        found[name] = PreparedColumn(name, (rule,), f"{_listed(codes)} beside numbers that are never negative")
    ordered = (found[column.name] for column in others if column.name in found)
    return ToPrepare(tuple(ordered), tuple(notes))


def _is_no_number(name: str) -> bool:
    """Tell whether a name says a code, or a number that is a name: of a telephone, of a person."""
    return any(kind in NO_NUMBERS or role_of_kind(kind) == "identifying" for kind in kinds_of_name(name)[:1])


def _with_digits(source: Source, columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """Return the columns of texts whose values, in the first rows, are codes of missing values or have a digit.

    And those of identity numbers of China. They are of no use as numbers.
    """
    if not columns:
        return [], []
    checks: list[exp.Expr] = []
    for column in columns:
        value = _value(column)
        digit = exp.Anonymous(this="REGEXP_MATCHES", expressions=[value.copy(), sql.literal("[0-9]")])
        checks += [
            exp.LogicalAnd(this=exp.or_(digit, _is_code(value))),
            exp.LogicalOr(this=digit.copy()),
            exp.LogicalAnd(this=_matches(value, f"^({IDENTITY_OF_CHINA})$")),
        ]
    row = source.engine.row(exp.select(*checks).from_(_first_rows(source)), "which texts have digits?")
    facts = list(zip(columns, row[::3], row[1::3], row[2::3], strict=True))
    digits = [
        column
        for column, every, some, identity in facts
        if every and some and not identity and not _is_no_number(column.name)
    ]
    return digits, [column for column, _, _, identity in facts if identity]


def _parts_of_identity(column: Column) -> str:
    name = sql.identifier(column.name).sql(dialect="duckdb")
    parts = {
        "region": f"left({name}, 6)",
        "birth_date": f"try_cast(try_strptime(substr({name}, 7, 8), '%Y%m%d') AS DATE)",
    }
    options = " ".join(shlex.join(["--prepare", f"{part}={made}"]) for part, made in parts.items())
    return (
        f"{column.name}: identity numbers of China, whose first six digits are a region and the next eight a date of "
        f"birth. Columns of these, to be generalized, are made under [prepare], or by {options}."
    )


def _first_rows(source: Source) -> exp.Subquery:
    return exp.select("*").from_(source.relation.copy()).limit(_LOOKED_AT).subquery("source")


def _value(column: Column) -> exp.Expr:
    """Return a text without white space around it; NULL for one of nothing else."""
    return exp.Nullif(this=exp.Trim(this=sql.column(column.name, "source")), expression=sql.literal(""))


def _is_code(value: exp.Expr) -> exp.Expr:
    return exp.In(this=value.copy(), expressions=[sql.literal(code) for code in _CODES])


def _ways_to_read(source: Source, columns: Sequence[Column], notes: list[str]) -> list[tuple[Column, Rules, str]]:
    """Return columns of texts with the one way to read all of their values, and why."""
    found = []
    for column in columns:
        codes = _codes_in(source, column)
        before: Rules = (f"null:{','.join(codes)}",) if codes else ()
        ways = _that_read_all(source, column, before)
        if len(ways) > 1:
            notes.append(
                f"{column.name}: its values can be read by {' and by '.join(ways)}, and are left as texts. Say which "
                f"is right, under [prepare] or as --prepare '{column.name}={ways[0]}'."
            )
        if len(ways) != 1:
            continue
        rules: Rules = (*before, *ways)
        if ways[0] in _DECIMAL and _are_whole(source, column, rules):
            rules = (*rules, "cast:BIGINT")
        found.append((column, rules, _reason(ways[0], codes)))
    return found


def _codes_in(source: Source, column: Column) -> list[str]:
    value = _value(column)
    query = exp.select(value).distinct().from_(sql.aliased(source.relation, "source")).where(_is_code(value))
    present = {text for (text,) in source.engine.rows(query, f"codes of missing values in {column.name}")}
    return [code for code in _CODES if code in present]


def _that_read_all(source: Source, column: Column, before: Rules) -> list[str]:
    """Return the ways that read every value of the first rows, then of all rows, and are told by a sign in them."""
    tried = [way for way in _READINGS if way != "cast:BIGINT" or before]
    values = {way: _as_read(column, (*before, way)) for way in tried}
    text = values[tried[0]].read[-1][1]
    # Telephone numbers and postal codes begin with a zero. $20,000 is a price of thousands, and € 1.859 one of petrol.
    patterns = ("^0[0-9]", r"[\p{L}\p{Sc}]", "[0-9],[0-9]", r"[0-9]\.[0-9]", r"\p{Sc}\s*[0-9]{2,3}[,.][0-9]{3}$")
    signs = [exp.LogicalOr(this=_matches(text, pattern)) for pattern in patterns]
    engine = source.engine
    query = exp.select(*(_all_read(value) for value in values.values()), *signs).from_(_first_rows(source))
    *facts, leading, currency, comma, point, long_groups = engine.row(query, f"ways to read {column.name}")
    ways = [way for way, reads in zip(tried, facts, strict=True) if reads]
    dates = [way for way in ways if way.startswith("date:")]
    if not dates and leading:
        return []
    numbers = [way for way in ways if way in _DECIMAL]
    signs_of = {"decimal:,": comma, "decimal:.": point}
    if len(numbers) == 1 and not (currency or signs_of[numbers[0]]):
        numbers = []  # 192.168.100.101, 444.806.657
    elif not (currency or comma or point):
        numbers = []
    elif len(numbers) > 1 and (long_groups or not (comma or point)):
        numbers = ["decimal:," if point else "decimal:."]
    if not numbers and not dates and "cast:BIGINT" in ways:
        numbers = ["cast:BIGINT"]
    kept = dates or numbers
    if not kept:
        return []
    query = exp.select(*(_all_read(values[way]) for way in kept)).from_(sql.aliased(source.relation, "source"))
    read_all = engine.row(query, f"is all of {column.name} read?")
    return [way for way, reads in zip(kept, read_all, strict=True) if reads]


def _as_read(column: Column, rules: Rules) -> Value:
    return Value(column, [rule for text in rules if (rule := parse_preparing(text, column.name))])


def _all_read(value: Value) -> exp.Expr:
    """Return whether a rule reads all values of a column."""
    *_, (_, before, after) = value.read
    return exp.EQ(this=exp.Count(this=before.copy()), expression=exp.Count(this=after.copy()))


def _matches(text: exp.Expr, pattern: str) -> exp.Expr:
    return exp.Anonymous(this="REGEXP_MATCHES", expressions=[text.copy(), sql.literal(pattern)])


def _are_whole(source: Source, column: Column, rules: Rules) -> bool:
    value = _as_read(column, rules).value
    whole = exp.LogicalAnd(this=exp.EQ(this=exp.Floor(this=value.copy()), expression=value.copy()))
    return bool(source.engine.row(exp.select(whole).from_(sql.aliased(source.relation, "source")), "whole numbers?")[0])


def _reason(way: str, codes: Sequence[str]) -> str:
    beside = f", beside {_listed(codes)}" if codes else ""
    if way in _DECIMAL:
        return f"numbers {_DECIMAL[way]}, or with signs of thousands or of a currency{beside}"
    return f"whole numbers{beside}" if way == "cast:BIGINT" else f"dates as texts{beside}"


def _listed(codes: Sequence[object]) -> str:
    return f"{', '.join(map(str, codes))} for what is missing"


def _negative_codes(source: Source, columns: Sequence[Column]) -> dict[str, list[int]]:
    """Return the codes in columns of numbers that have no other number below zero."""
    numbers = [column for column in columns if column.family in {"integer", "decimal", "float"}]
    if not numbers:
        return {}
    found: list[exp.Expr] = []
    for column in numbers:
        value = sql.column(column.name, "source")
        equal = [exp.EQ(this=value.copy(), expression=sql.literal(code)) for code in _NEGATIVE]
        found += [exp.GT(this=exp.CountIf(this=one), expression=sql.literal(_ONCE)) for one in equal]
        is_code = exp.In(this=value.copy(), expressions=[sql.literal(code) for code in _NEGATIVE])
        other = exp.and_(exp.LT(this=value.copy(), expression=sql.literal(0)), exp.Not(this=is_code))
        found += [exp.LogicalOr(this=other)]
    row = source.engine.row(exp.select(*found).from_(sql.aliased(source.relation, "source")), "codes among numbers")
    size = len(_NEGATIVE) + 1
    codes = {}
    for number, column in enumerate(numbers):
        *present, others = row[number * size : (number + 1) * size]
        if any(present) and not others:
            codes[column.name] = [code for code, there in zip(_NEGATIVE, present, strict=True) if there]
    return codes


def with_dates(source: Source, policy: Policy) -> tuple[Source, Policy]:
    """Return a prepared table in which texts are dates, and its policy with the rules by which they are.

    A quasi-identifier of texts that are all dates, in one form, is read as dates if it has no rule and no hierarchy:
    ``kanon init`` proposes the same.
    """
    quasi = [find_column(name, source.columns) for name in policy.columns.quasi_identifiers]
    ruled = set(map(folded, policy.prepare))
    texts = [one for one in quasi if one is not None and one.family == "text" and folded(one.name) not in ruled]
    if not texts or source.in_warehouse:
        return source, policy
    with_digits, _ = _with_digits(source, texts)
    with_hierarchy = columns_with_hierarchy(source, with_digits, policy)
    left = [column for column in with_digits if column not in with_hierarchy]
    found = {column.name: rules for column, rules, _ in _ways_to_read(source, left, [])}
    dates = {name: rules for name, rules in found.items() if rules[0].startswith("date:")}
    for name, rules in dates.items():
        option = shlex.join(["--prepare", f"{name}={rules[0]}"])
        say(f"{name}: texts that are dates in one form are read as dates, as by {option}")
    if not dates:
        return source, policy
    policy = replace(policy, prepare={**policy.prepare, **dates})
    raw = source if source.preparation is None else source.preparation.source
    return with_prepared(raw, policy.prepare), policy
