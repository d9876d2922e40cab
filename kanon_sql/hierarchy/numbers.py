"""Numbers without rounding: values of a column as exact decimals, and compared with exact bounds.

Whole numbers and DECIMALs are compared with a bound in their own scale that divides them in the same way; floating
point numbers with the bound as such a number: as a person reads both.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.pieces import VALUE, as_written, number_literal
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column

NUMBERS = frozenset({"integer", "decimal", "float"})
"""Families of types whose values are numbers."""

EXACT_PLACES = 10
"""Decimal places that a floating point number keeps; intervals and rounding are exact to this."""

_EXACT = Context(prec=80)


def exact_number(value: exp.Expr, column: Column, places: int = 0, digits: int = 38) -> exp.Expr:
    """Return a value as a decimal of ``exact_places``, rounded; NULL where there is none (NaN, infinity, too large)."""
    kept = exact_places(column, places)
    number = exp.TryCast(this=value, to=exp.DataType.build(f"DECIMAL({digits}, {kept})", dialect="duckdb"))
    number.meta["exact"] = column.family  # other dialects have no such cast of what is no decimal
    return number


def exact_places(column: Column, places: int) -> int:
    """Return how many decimal places values of a column keep, where a rule needs some: all, but for floating point."""
    match column.family:
        case "integer":
            return places
        case "decimal":
            return max(places, _scale(column))
        case _:
            return max(places, EXACT_PLACES)


def _scale(column: Column) -> int:
    """Return the decimal places of a DECIMAL type; of one that does not say, those that floating point keeps."""
    parameters = exp.DataType.build(column.type, dialect="duckdb").expressions
    return int(parameters[1].name) if len(parameters) > 1 else EXACT_PLACES


def no_number(column: Column) -> exp.Expr:
    """Return whether a value is NULL, infinite or NaN, which is greater than all numbers."""
    missing = exp.Is(this=sql.column(VALUE), expression=exp.null())
    if column.family != "float":
        return missing
    return exp.or_(missing, exp.not_(sql.finite(sql.column(VALUE), "float")))


def is_above(column: Column, bound: Decimal, *, with_bound: bool) -> exp.Expr:
    """Return ``value >= bound``, or ``value > bound`` without the bound itself."""
    return (exp.GTE if with_bound else exp.GT)(
        this=_number(column), expression=_bound(bound, column, ROUND_CEILING if with_bound else ROUND_FLOOR)
    )


def is_below(column: Column, bound: Decimal, *, with_bound: bool) -> exp.Expr:
    """Return ``value <= bound``, or ``value < bound`` without the bound itself."""
    return (exp.LTE if with_bound else exp.LT)(
        this=_number(column), expression=_bound(bound, column, ROUND_FLOOR if with_bound else ROUND_CEILING)
    )


def _number(column: Column) -> exp.Expr:
    return sql.cast(as_written(column), "DOUBLE") if column.type == "FLOAT" else sql.column(VALUE)


def _bound(bound: Decimal, column: Column, rounding: str) -> exp.Expr:
    """Return a bound that divides the numbers of a column as the given one does, in digits that the column has."""
    if column.family == "float":
        return sql.cast(sql.literal(f"{bound:f}"), "DOUBLE")
    unit = Decimal(1).scaleb(-exact_places(column, 0))
    return number_literal(bound.quantize(unit, rounding=rounding, context=_EXACT))
