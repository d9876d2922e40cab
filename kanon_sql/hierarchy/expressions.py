"""Expressions shared by the queries of all rules: names, labels, codes in comparable form, exact numbers.

Whole numbers and DECIMALs are compared with an equivalent bound in their own scale, floating-point numbers with the
bound as a floating-point number: this matches how people read both.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column

ROOT = "*"
"""The top label, which all values share, of hierarchies that kanon builds."""

VALUE = "value"
"""Name of the lookup column that holds the values of the source."""


def level_name(level: int) -> str:
    return f"level_{level}"


def levels_columns(height: int) -> list[exp.Expr]:
    """Return the columns of a lookup relation without its codes."""
    return [sql.column(VALUE), *(sql.column(level_name(level)) for level in range(1, height + 1))]


def distinct_values_query(column: Column, source: exp.Table) -> exp.Query:
    """Return the distinct values of a column and NULL: every lookup has a row for NULL."""
    value: exp.Expr = sql.column(column.name, "source")
    if column.type != column.lookup_type:
        value = sql.cast(value, column.lookup_type)
    present = exp.select(sql.named(value, VALUE)).from_(sql.aliased(source, "source"))
    return exp.union(present, exp.select(sql.named(sql.cast(exp.null(), column.lookup_type), VALUE)), distinct=True)


def root_if_null(tested: exp.Expr) -> exp.Case:
    """Start a CASE that maps a value without a label of its own to the root."""
    return exp.Case().when(exp.Is(this=tested, expression=exp.null()), sql.literal(ROOT))


def number_text(number: exp.Expr, places: int) -> exp.Expr:
    """Return an exact number as text, with the same decimal places in every dialect."""
    text = sql.cast(number, "VARCHAR")
    text.meta["places"] = places
    return text


def value_text(value: exp.Expr, family: str) -> exp.Expr:
    """Return a value as text for labels; dialects that would write it differently refuse."""
    text = sql.float_as_text(value) if family == "float" else sql.cast(value, "VARCHAR")
    text.meta["label_of"] = family
    return text


def number_literal(number: Decimal) -> exp.Expr:
    return exp.Literal.number(f"{number:f}") if number >= 0 else exp.Neg(this=exp.Literal.number(f"{-number:f}"))


def value_as_written(column: Column) -> exp.Expr:
    """Return a value as people read it: a FLOAT of 0.7 is stored as 0.699999988."""
    value = sql.column(VALUE)
    return sql.cast(value, "VARCHAR") if column.type == "FLOAT" else value


_IGNORED = ".- "


def compared(text: str) -> str:
    """Return a text in comparable form (``compared_value`` in SQL)."""
    return re.sub(f"[{re.escape(_IGNORED)}]", "", text).upper()


def compared_value(value: exp.Expr, family: str = "text") -> exp.Expr:
    """Return the expression of a value's comparable form, by its family of types."""
    text = value_text(value, family)
    for character in _IGNORED:
        text = exp.Replace(this=text, expression=sql.literal(character), replacement=sql.literal(""))
    return exp.Upper(this=text)


def matches_whole(pattern: str, code: exp.Expr) -> exp.Expr:
    return exp.RegexpLike(this=code.copy(), expression=sql.literal(f"^({pattern})$"))


NUMBERS = frozenset({"integer", "decimal", "float"})
"""Families of numeric types."""
DATES = frozenset({"date", "timestamp"})
"""Families of date types."""

EXACT_PLACES = 10
"""Decimal places that are kept of a floating-point number; intervals and rounding are exact to this."""

_EXACT = Context(prec=80)


def exact_number(value: exp.Expr, column: Column, places: int = 0, digits: int = 38) -> exp.Expr:
    """Return a value as a decimal rounded to ``exact_places``; NULL for NaN, infinity and too large values."""
    kept = exact_places(column, places)
    number = exp.TryCast(this=value, to=exp.DataType.build(f"DECIMAL({digits}, {kept})", dialect="duckdb"))
    number.meta["exact"] = column.family  # other dialects cannot cast other types this way
    return number


def exact_places(column: Column, places: int) -> int:
    """Return how many decimal places of a column are kept if a rule needs some: all, except for floating point."""
    match column.family:
        case "integer":
            return places
        case "decimal":
            return max(places, _scale(column))
        case _:
            return max(places, EXACT_PLACES)


def _scale(column: Column) -> int:
    """Return the decimal places of a DECIMAL type; by default, those kept of floating-point numbers."""
    parameters = exp.DataType.build(column.type, dialect="duckdb").expressions
    return int(parameters[1].name) if len(parameters) > 1 else EXACT_PLACES


def no_number(column: Column) -> exp.Expr:
    """Return True if a value is NULL, infinite or NaN, which is greater than all numbers."""
    missing = exp.Is(this=sql.column(VALUE), expression=exp.null())
    if column.family != "float":
        return missing
    return exp.or_(missing, exp.not_(sql.finite(sql.column(VALUE), "float")))


def is_below(column: Column, bound: Decimal, *, with_bound: bool) -> exp.Expr:
    return (exp.LTE if with_bound else exp.LT)(
        this=_number(column), expression=_bound(bound, column, ROUND_FLOOR if with_bound else ROUND_CEILING)
    )


def _number(column: Column) -> exp.Expr:
    return sql.cast(value_as_written(column), "DOUBLE") if column.type == "FLOAT" else sql.column(VALUE)


def _bound(bound: Decimal, column: Column, rounding: str) -> exp.Expr:
    """Return an equivalent bound for the numbers of a column, with the decimal places of the column."""
    if column.family == "float":
        return sql.cast(sql.literal(f"{bound:f}"), "DOUBLE")
    unit = Decimal(1).scaleb(-exact_places(column, 0))
    return number_literal(bound.quantize(unit, rounding=rounding, context=_EXACT))
