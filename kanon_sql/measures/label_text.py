r"""How the values of a part of a table are written: every text label that is no label of a hierarchy is made here.

one value        as it is: 34, Doctorate; NULL stays NULL
a range          [20-34] of numbers, [2024-01-31 to 2024-03-02] of dates, [Bachelors to Doctorate] of texts
several values   {Bachelors, Doctorate}: in the order of the texts; a comma or a backslash in a value gets a backslash,
                 and so does " to " in a text at the end of a range
NULL and others  {\N, [20-34]} and {\N, Bachelors}: beside other values NULL is \N
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.equality import published
from kanon_sql.sql import build as sql

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


def end_of_range(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a text as it is written at an end of a range: as in a set, and never with what stands between the ends."""
    between = separator(column)
    apart = sql.literal(between.replace(" ", " \\", 1))
    return exp.func("REPLACE", member(value, column), sql.literal(between), apart, dialect="duckdb")


def set_of(members: exp.Expr) -> exp.Expr:
    """Return a set, from its members with separators between them."""
    return joined("{", members, "}")


def range_of(low: exp.Expr, high: exp.Expr, column: Column) -> exp.Expr:
    """Return a range, from its ends as text."""
    return joined("[", low, separator(column), high, "]")


def with_null(text: exp.Expr) -> exp.Expr:
    """Return NULL and what else there is as a set."""
    return joined("{" + NULL + SEPARATOR, text, "}")


def separator(column: Column) -> str:
    """Return what stands between the ends of a range."""
    return "-" if column.family in {"integer", "decimal", "float"} else " to "


def is_range(text: exp.Expr) -> exp.Expr:
    """Return the condition that a text may be a range."""
    return exp.Like(this=text, expression=sql.literal("[%]"))


def is_set(text: exp.Expr) -> exp.Expr:
    """Return the condition that a text may be a set."""
    return exp.Like(this=text, expression=sql.literal("{%}"))


def is_with_null(text: exp.Expr) -> exp.Expr:
    """Return the condition that a text may be NULL and what else there is."""
    return exp.Like(this=text, expression=sql.literal("{" + NULL + SEPARATOR + "%}"))


def beside_null(text: exp.Expr) -> exp.Expr:
    """Return what else there is, of a text that ``with_null`` wrote."""
    return _between(text, len("{" + NULL + SEPARATOR))


def inside(text: exp.Expr) -> exp.Expr:
    """Return what stands between the brackets of a set or a range."""
    return _between(text, 1)


def members_of(listed: exp.Expr) -> exp.Expr:
    """Return the members between the brackets of a set as a list, as they are written there.

    A comma of a member has a backslash before it, so that one without is a separator. Joined again, the list is the
    text; else that was no set.
    """
    ended = exp.DPipe(this=listed, expression=sql.literal(SEPARATOR), safe=True)
    pattern = sql.literal(r"((?:[^\\,]|\\[\\,N])*)" + SEPARATOR)
    return exp.func("REGEXP_EXTRACT_ALL", ended, pattern, sql.literal(1), dialect="duckdb")


def _between(text: exp.Expr, before: int) -> exp.Expr:
    """Return a text without its first characters and without the last one."""
    length = exp.Sub(this=exp.Length(this=text.copy()), expression=sql.literal(before + 1))
    return exp.func("SUBSTRING", text, sql.literal(before + 1), length, dialect="duckdb")


def joined(*parts: str | exp.Expr) -> exp.Expr:
    """Return texts one after the other; NULL if one of them is."""
    whole: exp.Expr | None = None
    for part in parts:
        text = sql.literal(part)
        whole = text if whole is None else exp.DPipe(this=whole, expression=text, safe=True)
    return whole or sql.literal("")
