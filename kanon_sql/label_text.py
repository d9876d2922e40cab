r"""How the values of a part of a table are written: every text label that is no label of a hierarchy is made here.

one value        as it is: 34, Doctorate; NULL stays NULL
a range          [20-34] of numbers, [2024-01-31 to 2024-03-02] of dates, [Bachelors to Doctorate] of texts
several values   {Bachelors, Doctorate}: in the order of the texts; a comma or a backslash in a value gets a backslash
NULL and others  {\N, [20-34]} and {\N, Bachelors}: beside other values NULL is \N
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.identity import published

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column

NULL = r"\N"
"""NULL beside other values."""
SEPARATOR = ", "
"""Between the values of a set."""


def text_of(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value of a column as text, in the one form of all that are equal to it; NULL is NULL."""
    return value if column.type == "VARCHAR" else sql.cast(published(value, column), "VARCHAR")


def member(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value as it is written in a set."""
    text = text_of(value, column)
    for special in ("\\", ","):
        text = exp.func("REPLACE", text, sql.literal(special), sql.literal(f"\\{special}"), dialect="duckdb")
    return exp.Coalesce(this=text, expressions=[sql.literal(NULL)])


def set_of(members: exp.Expr) -> exp.Expr:
    """Return a set, from its members with separators between them."""
    return joined("{", members, "}")


def range_of(low: exp.Expr, high: exp.Expr, column: Column) -> exp.Expr:
    """Return a range, from its ends as text."""
    numbers = column.family in {"integer", "decimal", "float"}
    return joined("[", low, "-" if numbers else " to ", high, "]")


def with_null(text: exp.Expr) -> exp.Expr:
    """Return NULL and what else there is as a set."""
    return joined("{" + NULL + SEPARATOR, text, "}")


def joined(*parts: str | exp.Expr) -> exp.Expr:
    """Return texts one after the other; NULL if one of them is."""
    whole: exp.Expr | None = None
    for part in parts:
        text = sql.literal(part)
        whole = text if whole is None else exp.DPipe(this=whole, expression=text, safe=True)
    return whole or sql.literal("")
