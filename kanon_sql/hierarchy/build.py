"""Hierarchies built from the data: a query that gives every distinct value the labels of all its levels.

1. ``column_facts``: what a rule must know of the column (extremes, lengths). 2. ``bind_rule``: bounds that the rule
leaves to the data. 3. ``built_query``: the query.

Each rule yields levels that nest, so that a label has one parent: widths divide each other, rounding goes on from the
level before, a shorter prefix is a prefix of a longer one. What has no label of its own (NULL, NaN, infinity) goes to
the root. No floating point decides about the bounds of an interval.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.equality import published
from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.expressions import (
    NUMBERS,
    ROOT,
    VALUE,
    distinct_values_query,
    exact_number,
    exact_places,
    number_literal,
    number_text,
    root_if_null,
    value_as_written,
    value_text,
    with_levels,
)
from kanon_sql.hierarchy.rules import ColumnExtremes, is_dashed
from kanon_sql.hierarchy.rules.bounds import BoundsRule, QuantileRule, StepRule
from kanon_sql.hierarchy.rules.texts import CutRule, PrefixesRule
from kanon_sql.hierarchy.spec import BuiltRule, DateRule, DateUnit, FlatRule, IntervalRule, MaskRule, RoundRule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine


def column_facts(
    engine: Engine, source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]
) -> dict[str, ColumnExtremes]:
    """Return by name what the rules of columns need to know (None: what choosing a rule needs), in one statement."""
    needed = [(column.name, fact) for column, rule in columns for fact in _needed_facts(column, rule)]
    answers: tuple[Any, ...] = ()
    if (query := facts_query(source, columns)) is not None:
        answers = engine.row(query, "extremes of the columns that get a hierarchy built")
    known: dict[str, dict[str, Any]] = {column.name: {} for column, _ in columns}
    for (name, fact), answer in zip(needed, answers, strict=True):
        if answer is not None:
            known[name][fact] = Decimal(str(answer)) if fact in {"minimum", "maximum"} else answer
    return {name: ColumnExtremes(**facts) for name, facts in known.items()}


def facts_query(source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]) -> exp.Select | None:
    """Return the query behind ``column_facts``; None if nothing must be known."""
    needed = [expression for column, rule in columns for expression in _needed_facts(column, rule).values()]
    return exp.select(*needed).from_(sql.aliased(source, "source")) if needed else None


def _needed_facts(column: Column, rule: BuiltRule | None) -> dict[str, exp.Expr]:
    """Return the aggregates that a rule needs, by the fact that each tells: to write values as text takes long."""
    value = sql.column(column.name, "source")
    if isinstance(rule, MaskRule) or (isinstance(rule, PrefixesRule) and not rule.lengths):
        return {"longest": exp.Max(this=_length(value))}
    if rule is None and column.family == "text":
        return {
            "shortest": exp.Min(this=_length(value)),
            "longest": exp.Max(this=_length(value)),
            "most_bytes": exp.Max(this=exp.func("STRLEN", sql.cast(value.copy(), "VARCHAR"))),
        }
    if (rule is None or isinstance(rule, IntervalRule | StepRule)) and column.family in NUMBERS:
        number = exact_number(value, column)
        return {"minimum": exp.Min(this=number), "maximum": exp.Max(this=number.copy())}
    return {}


def _length(value: exp.Expr) -> exp.Expr:
    return exp.Length(this=sql.cast(value.copy(), "VARCHAR"))


def bind_rule(
    engine: Engine, source: exp.Table, column: Column, rule: BuiltRule, facts: ColumnExtremes
) -> tuple[BuiltRule, str, tuple[str, ...]]:
    """Return a rule with the bounds that it leaves to the data, the name of the hierarchy, and notes on the bounds."""
    match rule:
        case QuantileRule():
            note = (
                "its bounds were chosen by the data. They are rounded as far as the gaps between values allow, but one "
                "may still be the value of a person, and other data give other bounds"
            )
            return rule.settled(engine, source, column), f"{rule} (bounds chosen by the data)", (note,)
        case PrefixesRule() if not rule.lengths:
            found = rule.settled(engine, source, column, facts.longest)
            said = "its prefixes were chosen by the data: give their lengths to have the same for other data"
            return found, f"{found} (lengths chosen by the data)", (said,)
        case _:
            return rule, str(rule), ()


def settled_rule(rule: BuiltRule, column: Column, facts: ColumnExtremes) -> BuiltRule | None:
    """Return the rule that gives a value the same labels whatever other values there are; None if no rule does.

    Labels of a mask are as long as the longest value, and ranges of whole numbers have brackets where one is negative.
    """
    match rule:
        case BoundsRule() | QuantileRule():
            return None
        case PrefixesRule(lengths=()):  # none was worth a level
            return FlatRule()
        case MaskRule(length=None):
            return replace(rule, length=max(1, facts.longest))
        case IntervalRule(form=None) if _can_be_dashed(rule, column):
            return replace(rule, form="dashes" if _lowest_bound(rule, facts) >= 0 else "brackets")
        case StepRule(form=None) if rule.can_be_dashed(column):
            return replace(rule, form="brackets" if facts.minimum is not None and facts.minimum < 0 else "dashes")
        case _:
            return rule


DATES = frozenset({"date", "timestamp"})
"""Families of types whose values are dates."""


def built_query(rule: BuiltRule, column: Column, source: exp.Table, facts: ColumnExtremes) -> exp.Query:
    """Return the query that makes the lookup relation of a rule from the distinct values of a column."""
    require_fit(rule, column)
    values = distinct_values_query(column, source)
    match rule:
        case IntervalRule():
            return _intervals(rule, column, values, facts)
        case RoundRule():
            return (_cut_to_digits if rule.kind == "truncate" else _rounded)(rule, column, values)
        case MaskRule():
            labels = _masks(rule, column, facts.longest)
        case DateRule():
            labels = [_date_label(unit) for unit in rule.units]
        case StepRule():
            labels = rule.labels(column, facts)
        case BoundsRule():
            labels = rule.labels(column)
        case CutRule():
            labels = rule.labels(column)
        case PrefixesRule():
            labels = rule.labels()
        case _:
            labels = []
    return with_levels(exp.select(sql.column(VALUE)), labels).from_("present").with_("present", as_=values)


def require_fit(rule: BuiltRule, column: Column) -> None:
    """Raise if a rule is for columns of another type: every value would go to the root, or the query would fail."""
    match rule:
        case IntervalRule() | RoundRule() | StepRule() | QuantileRule():
            wanted, families = "numbers", NUMBERS
        case PrefixesRule():
            wanted, families = "texts", frozenset({"text"})
        case DateRule():
            wanted, families = "dates", DATES
        case _:
            return
    if column.family not in families:
        raise HierarchyError(
            f"The hierarchy of column {column.name!r} ({rule}) needs {wanted}, but the column is {column.type}: "
            f"{_instead(column, wanted)}."
        )


def _instead(column: Column, wanted: str) -> str:
    """Return what to do about a column that does not hold the numbers or dates that its rule wants."""
    if column.family in DATES:
        return "use a date rule, such as date:month,year"
    if wanted == "texts":
        return "use mask, or intervals of numbers"
    if wanted == "dates":
        others = "use intervals or mask" if column.family in NUMBERS else "use mask or flat"
        return f"cast the column to DATE, or {others}"
    if column.family == "text":
        return "cast the column to a number type, such as INTEGER, or use mask or flat"
    return "use mask or flat"


# Intervals


def _intervals(rule: IntervalRule, column: Column, values: exp.Query, facts: ColumnExtremes) -> exp.Query:
    """Return the steps: the values, each as an exact number, the bounds of its intervals, their labels."""
    limits = [limit for limit in (rule.bottom, rule.top) if limit is not None]
    scale = max(_scale(number) for number in [*rule.widths, rule.origin, *limits])
    places = exact_places(column, scale)
    digits = _digits(rule, facts, places)
    dashed = is_dashed(rule.form, column, can_be=_can_be_dashed(rule, column) and _lowest_bound(rule, facts) >= 0)
    data_type = f"DECIMAL({digits}, {scale})"
    value, number = sql.column(VALUE), sql.column("number")
    numbers = exp.select(value, sql.named(exact_number(value_as_written(column), column, scale, digits), "number"))
    lower, upper, labels = [], [], []
    for level, width in enumerate(rule.widths, start=1):
        above = exp.Add(this=sql.column(f"lower_{level}"), expression=number_literal(width))
        lower.append(sql.named(_lower_bound(rule, width, data_type), f"lower_{level}"))
        upper.append(sql.named(sql.cast(above, data_type), f"upper_{level}"))
        labels.append(_interval_label(rule, level, scale, dashed=dashed, single=width == 1))
    query = with_levels(exp.select(value.copy()), labels).from_("intervals", copy=False)
    query = query.with_("present", as_=values, copy=False)
    query = query.with_("numbers", as_=numbers.from_("present"), copy=False)
    if column.family == "float":
        floored = sql.named(_floored(column, f"DECIMAL({digits}, {places})", places, towards_zero=False), "number")
        query = query.with_("floored", as_=exp.select(value.copy(), floored).from_("numbers"), copy=False)
    lower_bounds = exp.select(value.copy(), number, *lower).from_("floored" if column.family == "float" else "numbers")
    bounds = exp.select("*", *upper).from_("lower_bounds")
    return query.with_("lower_bounds", as_=lower_bounds, copy=False).with_("intervals", as_=bounds, copy=False)


def _floored(column: Column, data_type: str, places: int, *, towards_zero: bool) -> exp.Expr:
    """Return a number that was rounded to some places, one unit back where it was rounded up, maybe over a bound.

    With ``towards_zero``, a number below zero goes back where it was rounded down.
    """
    number, value = sql.column("number"), sql.column(VALUE)
    rounded, last = sql.cast(number, column.type), Decimal(1).scaleb(-places)
    unit, zero = exp.Case(), sql.literal(0)
    too_high: exp.Expr = exp.GT(this=rounded, expression=value)
    if towards_zero:
        too_low = exp.LT(this=rounded.copy(), expression=value.copy())
        unit = unit.when(exp.and_(exp.LT(this=number.copy(), expression=zero), too_low), number_literal(-last))
        too_high = exp.and_(exp.GT(this=number.copy(), expression=zero.copy()), too_high)
    unit = unit.when(too_high, number_literal(last)).else_(zero.copy())
    return sql.cast(exp.Sub(this=number.copy(), expression=unit), data_type)


def _can_be_dashed(rule: IntervalRule, column: Column) -> bool:
    """Tell whether the labels of values that are not negative can be written with dashes."""
    limits = [limit for limit in (rule.bottom, rule.top) if limit is not None]
    return column.family == "integer" and not any(_scale(number) for number in [*rule.widths, rule.origin, *limits])


def _lowest_bound(rule: IntervalRule, facts: ColumnExtremes) -> int:
    """Return the lowest bound that any label of whole numbers can show."""
    if facts.minimum is None:
        return 0
    minimum = int(facts.minimum)  # in whole numbers of Python, of any size; a Decimal has 28 digits
    lowest = minimum - (minimum - int(rule.origin)) % int(rule.widths[-1])
    return lowest if rule.bottom is None else max(lowest, int(rule.bottom))


def _lower_bound(rule: IntervalRule, width: Decimal, data_type: str) -> exp.Expr:
    """Return the lower bound of a number's interval: the number less what it is past the bound."""
    number, step = sql.column("number"), number_literal(width)
    past_origin = (
        exp.Paren(this=exp.Sub(this=number, expression=number_literal(rule.origin))) if rule.origin else number
    )
    # % takes the sign of its left side in every dialect: add the width once, then take the remainder again.
    remainder = exp.Add(this=exp.Mod(this=past_origin, expression=step), expression=step.copy())
    past_bound = exp.Mod(this=exp.Paren(this=remainder), expression=step.copy())
    return sql.cast(exp.Sub(this=number.copy(), expression=past_bound), data_type)


def _interval_label(rule: IntervalRule, level: int, scale: int, *, dashed: bool, single: bool) -> exp.Expr:
    """Return ``20-24`` for whole numbers that cannot be negative (``20`` for a single one), else ``[20, 25)``."""
    number = sql.column("number")
    lower: exp.Expr = sql.column(f"lower_{level}")
    upper: exp.Expr = sql.column(f"upper_{level}")
    case = root_if_null(number)
    if rule.bottom is not None:
        below = exp.LT(this=number.copy(), expression=number_literal(rule.bottom))
        case = case.when(below, sql.literal(f"<{rule.bottom:f}"))
        lower = sql.greatest([lower, number_literal(rule.bottom)])
    if rule.top is not None:
        above = exp.GTE(this=number.copy(), expression=number_literal(rule.top))
        case = case.when(above, sql.literal(f">={rule.top:f}"))
        upper = sql.least([upper, number_literal(rule.top)])
    if dashed and single:
        return case.else_(number_text(lower, 0))
    if dashed:
        last = exp.Sub(this=upper, expression=sql.literal(1))
        return case.else_(sql.concatenated(number_text(lower, 0), "-", number_text(last, 0)))
    return case.else_(sql.concatenated("[", number_text(lower, scale), ", ", number_text(upper, scale), ")"))


def _digits(rule: IntervalRule, facts: ColumnExtremes, places: int) -> int:
    """Return the digits that decimals need: 18 fit into a machine word, which is much faster than 38."""
    shown = [rule.widths[-1], rule.origin, *(bound for bound in (facts.minimum, facts.maximum) if bound is not None)]
    largest = max(abs(number) for number in shown)
    in_a_word = 18
    return in_a_word if largest < Decimal(10) ** (in_a_word - 1 - places) / 4 else 38


def _scale(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


# Rounding


def _rounded(rule: RoundRule, column: Column, values: exp.Query) -> exp.Query:
    number: exp.Expr = exact_number(value_as_written(column), column, max(0, -rule.digits[0]))
    labels: list[exp.Expr] = []
    for digits in rule.digits:
        number = exp.Round(this=number.copy(), decimals=sql.literal(-digits))
        places = max(0, -digits)
        rounded = number_text(sql.cast(number.copy(), f"DECIMAL(38, {places})"), places)
        labels.append(exp.Coalesce(this=rounded, expressions=[sql.literal(ROOT)]))
    return with_levels(exp.select(sql.column(VALUE)), labels).from_("present").with_("present", as_=values)


def _cut_to_digits(rule: RoundRule, column: Column, values: exp.Query) -> exp.Query:
    """Return the steps: the values, each as an exact number, and the number less what it is past each power of ten."""
    places = exact_places(column, max(0, -rule.digits[0]))
    width = 37 if column.family == "float" else 38  # differences have one more digit, and Spark would drop a decimal
    value, number = sql.column(VALUE), sql.column("number")
    exact = exact_number(value_as_written(column), column, places, width)
    numbers = exp.select(value, sql.named(exact, "number"))
    labels: list[exp.Expr] = []
    for digits in rule.digits:
        # % takes the sign of its left side in every dialect, so that this goes towards zero.
        past = exp.Mod(this=number.copy(), expression=number_literal(Decimal(1).scaleb(digits)))
        cut = exp.Sub(this=number.copy(), expression=exp.Paren(this=past))
        text = number_text(sql.cast(cut, f"DECIMAL(38, {max(0, -digits)})"), max(0, -digits))
        labels.append(exp.Coalesce(this=text, expressions=[sql.literal(ROOT)]))
    last = "floored" if column.family == "float" else "numbers"
    query = with_levels(exp.select(value.copy()), labels).from_(last).with_("present", as_=values)
    query = query.with_("numbers", as_=numbers.from_("present"), copy=False)
    if column.family == "float":
        floored = sql.named(_floored(column, f"DECIMAL({width}, {places})", places, towards_zero=True), "number")
        query = query.with_("floored", as_=exp.select(value.copy(), floored).from_("numbers"), copy=False)
    return query


# Masks


def _masks(rule: MaskRule, column: Column, longest: int) -> list[exp.Expr]:
    if rule.length is not None:
        if longest > rule.length:
            raise HierarchyError(
                f"The hierarchy of column {column.name!r} ({rule}) is of values of up to {rule.length} characters, and "
                f"the longest has {longest}: give the length of the longest, or leave length out."
            )
        longest = rule.length
    counts = rule.counts or range(1, longest)
    value = published(sql.column(VALUE), column)  # -0.0 is 0.0
    text = value if column.family == "text" else value_text(value, column.family)
    return [_mask(rule.side, text, longest, longest - count) for count in counts if count < longest]


def _mask(side: str, text: exp.Expr, length: int, kept: int) -> exp.Expr:
    """Return the first (last) ``kept`` characters, filled up with ``*`` to the common length."""
    keep = (exp.Left if side == "right" else exp.Right)(this=text.copy(), expression=sql.literal(kept))
    filled = exp.Pad(this=keep, expression=sql.literal(length), fill_pattern=sql.literal("*"), is_left=side == "left")
    return exp.Coalesce(this=filled, expressions=[sql.literal(ROOT)])


# Dates


def _date_label(unit: DateUnit) -> exp.Expr:
    """Return the label of a date; NULL and infinity have none."""
    return exp.Case().when(sql.finite(sql.column(VALUE), "date"), _truncated(unit)).else_(sql.literal(ROOT))


def _truncated(unit: DateUnit) -> exp.Expr:
    match unit:
        case "day":
            return _formatted("%Y-%m-%d")
        case "week":
            week = exp.Pad(
                this=_part_as_text("week"),
                expression=sql.literal(2),
                fill_pattern=sql.literal("0"),
                is_left=True,
            )
            return sql.concatenated(_part_as_text("isoyear"), "-W", week)
        case "month":
            return _formatted("%Y-%m")
        case "quarter":
            return sql.concatenated(_formatted("%Y"), "-Q", _part_as_text("quarter"))
        case "year":
            return _formatted("%Y")
        case "decade":
            tenths = exp.Div(this=_part("year"), expression=sql.literal(10.0))
            decade = exp.Mul(this=exp.Floor(this=tenths), expression=sql.literal(10))
            return sql.concatenated(sql.cast(sql.cast(decade, "INTEGER"), "VARCHAR"), "s")


def _formatted(pattern: str) -> exp.Expr:
    return exp.TimeToStr(this=sql.column(VALUE), format=sql.literal(pattern))


def _part(unit: str) -> exp.Expr:
    return exp.Extract(this=exp.var(unit), expression=sql.column(VALUE))


def _part_as_text(unit: str) -> exp.Expr:
    return sql.cast(_part(unit), "VARCHAR")
