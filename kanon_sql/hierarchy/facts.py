"""What a rule must know about a column's values before it can say what the levels are."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine

EXACT_PLACES = 10
"""Decimal places that a value with a fraction keeps; intervals and rounding are exact to this."""


@dataclass(frozen=True)
class Facts:
    """Extremes of a column.

    Attributes:
        minimum, maximum: of numbers; None for other types or where there is no number.
        shortest, longest: lengths in characters of values as text; 0 where there is no value.
    """

    minimum: Decimal | None
    maximum: Decimal | None
    shortest: int
    longest: int


def exact_number(value: exp.Expr, column: Column, places: int = 0, digits: int = 38) -> exp.Expr:
    """Return a value as an exact decimal; NULL where it has none (NaN, infinity, out of range)."""
    kept = exact_places(column, places)
    return exp.TryCast(this=value, to=exp.DataType.build(f"DECIMAL({digits}, {kept})", dialect="duckdb"))


def exact_places(column: Column, places: int) -> int:
    """Return how many decimal places values of a column keep, where a rule needs some."""
    return places if column.family == "integer" else max(places, EXACT_PLACES)


def column_facts(engine: Engine, source: exp.Table, columns: Sequence[Column]) -> dict[str, Facts]:
    """Return the facts of several columns, asked in one statement."""
    if not columns:
        return {}
    asked = [expression for column in columns for expression in _asked(column)]
    query = exp.select(*asked).from_(sql.aliased(source, "source"))
    answers = iter(engine.row(query, "extremes of the columns that get a hierarchy built"))
    facts = {}
    for column in columns:
        minimum, maximum, shortest, longest = (next(answers) for _ in range(4))
        facts[column.name] = Facts(_decimal(minimum), _decimal(maximum), shortest or 0, longest or 0)
    return facts


def _asked(column: Column) -> list[exp.Expr]:
    value = sql.column(column.name, "source")
    if column.family in {"integer", "decimal", "float"}:
        number = exact_number(value, column)
        return [exp.Min(this=number), exp.Max(this=number.copy()), *_lengths(value)]
    return [exp.null(), exp.null(), *_lengths(value)]


def _lengths(value: exp.Expr) -> list[exp.Expr]:
    length = exp.Length(this=sql.cast(value.copy(), "VARCHAR"))
    return [exp.Min(this=length), exp.Max(this=length.copy())]


def _decimal(number: object) -> Decimal | None:
    return None if number is None else Decimal(str(number))
