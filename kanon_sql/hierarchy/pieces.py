"""Parts that the queries of all rules are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from decimal import Decimal

    from kanon_sql.engine.base import Column

ROOT = "*"
"""The label under which everything is the same, in hierarchies that are built here."""

VALUE = "value"
"""Name of the lookup column that holds the values of the source."""


def level_name(level: int) -> str:
    """Return the name of the lookup column that holds the labels of a level (from 1)."""
    return f"level_{level}"


def distinct_values(column: Column, source: exp.Table) -> exp.Query:
    """Return the distinct values of a column, and NULL in any case: every lookup has a row for NULL."""
    value: exp.Expr = sql.column(column.name, "source")
    if column.type != column.lookup_type:
        value = sql.cast(value, column.lookup_type)
    present = exp.select(sql.named(value, VALUE)).from_(sql.aliased(source, "source"))
    return exp.union(present, exp.select(sql.named(sql.cast(exp.null(), column.lookup_type), VALUE)), distinct=True)


def with_levels(query: exp.Select, labels: list[exp.Expr]) -> exp.Select:
    """Return the query with its levels and the root above them."""
    levels = [*labels, sql.literal(ROOT)]
    return query.select(*(sql.named(label, level_name(level)) for level, label in enumerate(levels, start=1)))


def root_if_null(tested: exp.Expr) -> exp.Case:
    """Begin a CASE that sends a value without a label of its own to the root."""
    return exp.Case().when(exp.Is(this=tested, expression=exp.null()), sql.literal(ROOT))


def text_of(*parts: str | exp.Expr) -> exp.Expr:
    """Return the parts put one after the other as text."""
    whole, *rest = [sql.literal(part) for part in parts]
    for part in rest:
        whole = exp.DPipe(this=whole, expression=part, safe=True)
    return whole


def number_text(number: exp.Expr, places: int) -> exp.Expr:
    """Return an exact number as text, with so many decimal places in every dialect."""
    text = sql.cast(number, "VARCHAR")
    text.meta["places"] = places
    return text


def value_text(value: exp.Expr, family: str) -> exp.Expr:
    """Return a value as text, of which labels are made: a dialect that writes it in another way refuses."""
    text = sql.float_as_text(value) if family == "float" else sql.cast(value, "VARCHAR")
    text.meta["label_of"] = family
    return text


def number_literal(number: Decimal) -> exp.Expr:
    """Return a number as it is, negative or not."""
    return exp.Literal.number(f"{number:f}") if number >= 0 else exp.Neg(this=exp.Literal.number(f"{-number:f}"))


def as_written(column: Column) -> exp.Expr:
    """Return a value as a person reads it: a FLOAT of 0.7 is 0.699999988, which nobody sees."""
    value = sql.column(VALUE)
    return sql.cast(value, "VARCHAR") if column.type == "FLOAT" else value
