"""Columns to prepare before their values can be used: numbers and dates written as texts, codes of missing values.

1. Trim texts with white space at an end.
2. In the first rows, find text columns with a digit in every value except codes of missing values.
3. Try each way to read them on these rows. Propose one that reads all values, after ``null`` for the codes. If two do,
   as with 03/04/1990, a note says so and a person decides.
4. Check on all rows that no value remains unread.
5. In numbers, including those of step 3, a negative code that occurs twice is missing if no other number is negative.
   999 and 9999 are missing if all others are at most 199 and 1,999.
6. In other text columns, a note counts the codes and a person decides, since ``unknown`` may be a category.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import find_column, written_name
from kanon_sql.engine.sources.layout import say
from kanon_sql.engine.sources.preparing import Value, parse_preparing, with_prepared
from kanon_sql.errors import counted
from kanon_sql.hierarchy.given import columns_with_hierarchy
from kanon_sql.hierarchy.vocabulary import kinds_of_name, role_of_kind
from kanon_sql.policy.profile.patterns import IDENTITY_OF_CHINA
from kanon_sql.policy.profile.result import PreparedColumn, ToPrepare
from kanon_sql.policy.profile.words import NO_NUMBERS
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
_ONCE = 1  # a single -9 may be a temperature
_NEGATIVE = (-9, -99, -999, -9999)
_LARGE = (999, 9999)
_TIMES_LARGER = 5
_NUMBERS = (*_NEGATIVE, *_LARGE)
_BESIDE = {"never negative": _NEGATIVE, "far smaller": _LARGE}
_FAMILIES = frozenset({"integer", "decimal", "float"})
_DATES = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y年%m月%d日"),
    *("%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%Y-%m-%d %H:%M:%S"),
)
_DECIMAL = {"decimal:,": "with a decimal comma", "decimal:.": "with a decimal point"}
_READINGS = (*_DECIMAL, "cast:BIGINT", *(f"date:{written}" for written in _DATES))


def columns_to_prepare(source: Source, but: Sequence[str] = ()) -> ToPrepare:
    """Return how to prepare the columns of a table, except ``but``; nothing for a table in a warehouse."""
    if source.in_warehouse:
        return ToPrepare()
    others = [column for column in source.columns if column.name not in but]
    texts = [column for column in others if column.family == "text"]
    padded, coded = _padded_and_coded(source, texts)
    trims: dict[str, Rules] = {column.name: ("trim",) if column in padded else () for column in texts}
    codes = {column.name: _codes_in(source, column) if column in coded else {} for column in texts}
    digits, identities = _with_digits(source, texts)
    notes = [_parts_of_identity(column) for column in identities]
    found: dict[str, PreparedColumn] = {}
    numbers: dict[str, exp.Expr] = {
        column.name: sql.column(column.name, "source") for column in others if column.family in _FAMILIES
    }
    for column in digits:
        missing = [code for code in codes[column.name] if code in _CODES]
        read = _way_to_read(source, column, trims[column.name], missing, notes)
        if read is not None:
            found[column.name] = read
            if not read.rules[-1].startswith("date:"):
                numbers[column.name] = _as_read(column, read.rules).value
    for name, (rule, reason) in _codes_of_numbers(source, numbers).items():
        before = found.get(name, PreparedColumn(name, (), ""))
        reasons = "; ".join(filter(None, [before.reason, reason]))
        found[name] = PreparedColumn(name, (*before.rules, rule), reasons)
    for column in texts:
        name = column.name
        if name in found:
            continue
        if column in padded:
            found[name] = PreparedColumn(name, trims[name], "white space at the ends of values")
        if codes[name]:
            notes.append(_note_on_codes(name, codes[name], trims[name]))
    ordered = (found[column.name] for column in others if column.name in found)
    return ToPrepare(tuple(ordered), tuple(notes))


def _note_on_codes(name: str, codes: Mapping[str, int], before: Rules) -> str:
    rules = (*before, f"null:{','.join(codes)}")
    stands = ", ".join(f"{code} in {counted(rows, 'row')}" for code, rows in codes.items())
    option = " ".join(shlex.join(["--prepare", f"{written_name(name)}={rule}"]) for rule in rules)
    return f"{name}: {stands}. If it stands for a missing value, write {rules[-1]} under [prepare], or {option}"


def _with_digits(source: Source, columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """Return the text columns whose values in the first rows are codes of missing values or have a digit.

    The second result has the columns of Chinese identity numbers, which are useless as numbers.
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
    row = _asked(source, checks, "which texts have digits?", first=True)
    identities = [column for column, has in zip(columns, row[2::3], strict=True) if has]
    with_digits = [column for column, *has in zip(columns, row[::3], row[1::3], strict=True) if all(has)]
    # A name may suggest a code, or a number that identifies: of a telephone or of a person.
    kinds = {one: next(iter(kinds_of_name(one.name)), None) for one in with_digits if one not in identities}
    numbers = [one for one, kind in kinds.items() if kind is None or role_of_kind(kind) != "identifying"]
    return [one for one in numbers if kinds[one] not in NO_NUMBERS], identities


def _parts_of_identity(column: Column) -> str:
    name = sql.identifier(column.name).sql(dialect="duckdb")
    parts = {
        "region": f"left({name}, 6)",
        "birth_date": f"try_cast(try_strptime(substr({name}, 7, 8), '%Y%m%d') AS DATE)",
    }
    options = " ".join(shlex.join(["--prepare", f"{written_name(part)}={made}"]) for part, made in parts.items())
    return (
        f"{column.name}: identity numbers of China, whose first six digits are a region and the next eight a date of "
        f"birth. Columns of these, to be generalized, are made under [prepare], or by {options}."
    )


def _padded_and_coded(source: Source, columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """Return the text columns with white space at an end of a value, and those with a code of missing values."""
    if not columns:
        return [], []
    checks: list[exp.Expr] = []
    for column in columns:
        value = sql.column(column.name, "source")
        checks += [
            exp.LogicalOr(this=exp.NEQ(this=value, expression=_trimmed(column))),
            exp.LogicalOr(this=_is_code(_trimmed(column), (*_CODES, *map(str, _NUMBERS)))),
        ]
    row = _asked(source, checks, "texts with white space or codes")
    padded = [column for column, has in zip(columns, row[::2], strict=True) if has]
    return padded, [column for column, has in zip(columns, row[1::2], strict=True) if has]


def _asked(source: Source, values: Sequence[exp.Expr], title: str, *, first: bool = False) -> Sequence[Any]:
    """Return the results of aggregates over the rows, or over the first of them."""
    rows = exp.select("*").from_(source.relation.copy()).limit(_LOOKED_AT).subquery("source")
    return source.engine.row(
        exp.select(*values).from_(rows if first else sql.aliased(source.relation, "source")), title
    )


def _trimmed(column: Column) -> exp.Expr:
    return _as_read(column, ("trim",)).value.copy()


def _value(column: Column) -> exp.Expr:
    """Return a text without white space around it; NULL if nothing remains."""
    return exp.Nullif(this=_trimmed(column), expression=sql.literal(""))


def _is_code(value: exp.Expr, codes: Sequence[str] = _CODES) -> exp.Expr:
    return exp.In(this=value.copy(), expressions=[sql.literal(code) for code in codes])


def _way_to_read(
    source: Source, column: Column, trim: Rules, codes: Sequence[str], notes: list[str]
) -> PreparedColumn | None:
    """Return the only way to read all values of a text column, with the reason."""
    before: Rules = (*trim, f"null:{','.join(codes)}") if codes else trim
    ways = _that_read_all(source, column, before, has_codes=bool(codes))
    if len(ways) > 1:
        notes.append(
            f"{column.name}: its values can be read by {' and by '.join(ways)}, and are left as texts. Say which "
            f"is right, under [prepare] or as --prepare '{written_name(column.name)}={ways[0]}'."
        )
    if len(ways) != 1:
        return None
    rules: Rules = (*before, *ways)
    value = _as_read(column, rules).value
    whole = exp.LogicalAnd(this=exp.EQ(this=exp.Floor(this=value.copy()), expression=value.copy()))
    if ways[0] in _DECIMAL and _asked(source, [whole], "whole numbers?")[0]:
        rules = (*rules, "cast:BIGINT")
    return PreparedColumn(column.name, rules, _reason(ways[0], codes))


def _codes_in(source: Source, column: Column) -> dict[str, int]:
    """Return the codes of missing values in a column, with their rows, in the order of the codes."""
    known = (*_CODES, *map(str, _NUMBERS))
    value = _trimmed(column)
    query = exp.select(value, sql.count_rows()).from_(sql.aliased(source.relation, "source"))
    query = query.where(_is_code(value, known)).group_by(value.copy())
    present = dict(source.engine.rows(query, f"codes of missing values in {column.name}"))
    return {code: present[code] for code in known if code in present}


def _that_read_all(source: Source, column: Column, before: Rules, *, has_codes: bool) -> list[str]:
    """Return the ways that read every value of the first rows, then of all rows, and have a sign in the values."""
    tried = [way for way in _READINGS if way != "cast:BIGINT" or has_codes]
    values = {way: _as_read(column, (*before, way)) for way in tried}
    text = values[tried[0]].read[-1][1]
    # Telephone numbers and postal codes start with a zero. $20,000 is a price of thousands, and € 1.859 one of petrol.
    patterns = ("^0[0-9]", r"[\p{L}\p{Sc}]", "[0-9],[0-9]", r"[0-9]\.[0-9]", r"\p{Sc}\s*[0-9]{2,3}[,.][0-9]{3}$")
    signs = [exp.LogicalOr(this=_matches(text, pattern)) for pattern in patterns]
    asked = [*map(_all_read, values.values()), *signs]
    answers = _asked(source, asked, f"ways to read {column.name}", first=True)
    *facts, leading, currency, comma, point, long_groups = answers
    ways = [way for way, reads in zip(tried, facts, strict=True) if reads]
    dates = [way for way in ways if way.startswith("date:")]
    if not dates and leading:
        return []
    numbers = [way for way in ways if way in _DECIMAL]
    signs_of = {"decimal:,": comma, "decimal:.": point}
    if not (currency or any(signs_of[way] for way in (numbers if len(numbers) == 1 else signs_of))):
        numbers = []  # 192.168.100.101, 444.806.657
    elif len(numbers) > 1 and (long_groups or not (comma or point)):
        numbers = ["decimal:," if point else "decimal:."]
    if not numbers and not dates and "cast:BIGINT" in ways:
        numbers = ["cast:BIGINT"]
    kept = dates or numbers
    if not kept:
        return []
    read_all = _asked(source, [_all_read(values[way]) for way in kept], f"is all of {column.name} read?")
    return [way for way, reads in zip(kept, read_all, strict=True) if reads]


def _as_read(column: Column, rules: Rules) -> Value:
    return Value(column, [rule for text in rules if (rule := parse_preparing(text, column.name))])


def _all_read(value: Value) -> exp.Expr:
    """Return the condition that a rule reads all values of a column."""
    *_, (_, before, after) = value.read
    return exp.EQ(this=exp.Count(this=before.copy()), expression=exp.Count(this=after.copy()))


def _matches(text: exp.Expr, pattern: str) -> exp.Expr:
    return exp.Anonymous(this="REGEXP_MATCHES", expressions=[text.copy(), sql.literal(pattern)])


def _reason(way: str, codes: Sequence[str]) -> str:
    beside = f", beside {_listed(codes)}" if codes else ""
    if way in _DECIMAL:
        return f"numbers {_DECIMAL[way]}, or with signs of thousands or of a currency{beside}"
    return f"whole numbers{beside}" if way == "cast:BIGINT" else f"dates as texts{beside}"


def _listed(codes: Sequence[object]) -> str:
    return f"{', '.join(map(str, codes))} for missing values"


def _codes_of_numbers(source: Source, numbers: Mapping[str, exp.Expr]) -> dict[str, tuple[str, str]]:
    """Return a rule and its reason for the columns of numbers that have codes of missing values, by name."""
    if not numbers:
        return {}
    found: list[exp.Expr] = []
    for value in numbers.values():
        equal = [exp.EQ(this=value.copy(), expression=sql.literal(code)) for code in _NUMBERS]
        is_code = exp.In(this=value.copy(), expressions=[sql.literal(code) for code in _NUMBERS])
        other = exp.Case().when(exp.Not(this=is_code), value.copy())
        found += [exp.GT(this=exp.CountIf(this=one), expression=sql.literal(_ONCE)) for one in equal]
        found += [exp.LT(this=exp.Min(this=other), expression=sql.literal(0))]
        found += [
            exp.LTE(this=exp.Max(this=other.copy()), expression=sql.literal(code // _TIMES_LARGER)) for code in _LARGE
        ]
    row = _asked(source, found, "codes among numbers")
    size = len(found) // len(numbers)
    rules = {}
    for place, name in enumerate(numbers):
        facts = row[place * size : (place + 1) * size]
        present, (some_negative, *larger) = facts[: len(_NUMBERS)], facts[len(_NUMBERS) :]
        stands_apart = [some_negative is False] * len(_NEGATIVE) + larger
        codes = [code for code, there, apart in zip(_NUMBERS, present, stands_apart, strict=True) if there and apart]
        if codes:
            beside = [text for text, listed in _BESIDE.items() if set(listed) & set(codes)]
            reason = f"{_listed(codes)} beside numbers that are {' and '.join(beside)}"
            rules[name] = (f"null:{','.join(map(str, codes))}", reason)
    return rules


def with_dates(source: Source, policy: Policy) -> tuple[Source, Policy]:
    """Read texts as dates in a prepared table, and add the rules for that to its policy.

    A quasi-identifier of texts that are all dates in one format is read as dates if it has no rule and no hierarchy.
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
    ways = {column.name: tuple(_that_read_all(source, column, (), has_codes=False)) for column in left}
    dates: dict[str, Rules] = {name: way for name, way in ways.items() if len(way) == 1 and way[0].startswith("date:")}
    for name, (rule,) in dates.items():
        option = shlex.join(["--prepare", f"{written_name(name)}={rule}"])
        say(f"{name}: texts that are dates in one form are read as dates, as by {option}")
    if not dates:
        return source, policy
    policy = replace(policy, prepare={**policy.prepare, **dates})
    raw = source if source.preparation is None else source.preparation.source
    return with_prepared(raw, policy.prepare), policy
