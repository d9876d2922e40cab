"""Sensitive columns for the search: their values as codes, and what each value's share of the table is.

    kanon_sensitive(original, value, share, values)      value is the code

The frequency set is made in one scan of the table with the values themselves, and then again from itself with their
codes, so that the search groups by small numbers and no sensitive value stays in it. NULL is a value like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column, Engine


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column in the frequency set.

    Attributes:
        column: the column of the table.
        code: the column of the frequency set that holds the codes of its values.
        shares: the relation of its values.
        values: how many there are.
        features: for each distance that was asked for, what values are compared by.
    """

    column: Column
    code: str
    shares: exp.Table
    values: int
    features: dict[str, exp.Table] = field(default_factory=dict, repr=False)


def code_column(number: int) -> str:
    """Return the name of the column of the frequency set that holds the codes of a sensitive column."""
    return f"sensitive_{number}"


def shares_query(table: exp.Table | exp.Subquery, value: exp.Expr, rows: exp.Expr, *, coded: bool) -> exp.Select:
    """Return the query of the different values of a column: each with its share of the table, and how many there are.

    Args:
        table: where the values are.
        value: the value.
        rows: the rows that it stands for, as an aggregate.
        coded: whether the values are to be codes, in the order of the values; the original is told beside it then.
    """
    share = exp.Div(this=sql.cast(rows, "DOUBLE"), expression=exp.Window(this=exp.Sum(this=rows.copy())))
    query = exp.select().from_(table.copy()).group_by(value.copy())
    if coded:
        order = exp.Order(expressions=[exp.Ordered(this=value.copy(), nulls_first=True)])
        code = sql.cast(exp.Window(this=exp.RowNumber(), order=order), "INTEGER")
        query = query.select(sql.named(value.copy(), "original"), sql.named(code, "value"))
    else:
        query = query.select(sql.named(value.copy(), "value"))
    values = exp.Window(this=exp.Count(this=exp.Star()))
    return query.select(sql.named(share, "share"), sql.named(values, "values"))


def code_sensitive(
    engine: Engine, staged: exp.Table, relation: exp.Table, columns: list[Column], others: list[str], n: str
) -> tuple[SensitiveColumn, ...]:
    """Make the frequency set from one that still has sensitive values, with their codes instead.

    Args:
        engine: holds both.
        staged: the frequency set with values, each under the name of its ``code_column``.
        relation: the one that is made.
        columns: the sensitive columns.
        others: the other columns of the frequency set.
        n: the one of them that holds the rows of a tuple.

    Returns:
        How each column is coded.
    """
    found = []
    query = exp.select(*(sql.column(name, "staged") for name in others)).from_(sql.aliased(staged, "staged"))
    for number, column in enumerate(columns):
        code, alias = code_column(number), f"shares_{number + 1}"
        shares = engine.temporary_name(f"kanon_sensitive_{column.name}")
        rows = exp.Sum(this=sql.column(n))
        coded = shares_query(staged, sql.column(code), rows, coded=True)
        engine.run(sql.create_table(shares, coded, temporary=True), f"values of the sensitive column {column.name}")
        (values,) = engine.row(exp.select(sql.count_rows()).from_(shares.copy()), f"how many values {column.name} has")
        query = query.select(sql.named(sql.column("value", alias), code), copy=False)
        same = sql.same(sql.column(code, "staged"), sql.column("original", alias))
        query = query.join(sql.aliased(shares, alias), on=same, copy=False)
        found.append(SensitiveColumn(column, code, shares, int(values)))
    engine.run(sql.create_table(relation, query, temporary=True), "frequency set with codes of the sensitive values")
    engine.run(sql.drop(staged), "drop the frequency set with values")
    return tuple(found)
