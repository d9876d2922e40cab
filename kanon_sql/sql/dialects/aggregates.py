"""Aggregates: which expressions are some, sums of the largest values, and queries that name each aggregate once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.sql.dialects.capabilities import Capabilities

_LARGEST = "kanon_largest"


def sum_of_largest(number: exp.Expr, how_many: int) -> exp.Expr:
    """Return the sum of the largest so many numbers of a group, as an aggregate; of all where there are fewer.

    Without it they would have to be ranked in a step before, which sorts every group.

    Args:
        number: never NULL.
        how_many: at least 1.
    """
    return exp.Anonymous(this=_LARGEST, expressions=[number, sql.literal(how_many)])


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether a node is an aggregate as a whole, with its filter."""
    return isinstance(node, exp.AggFunc | exp.Filter) or (isinstance(node, exp.Anonymous) and node.name == _LARGEST)


def summed(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return what sums the largest numbers in a dialect where a node stands for that.

    Raises:
        UsageError: the dialect is none of those that search.
    """
    if not isinstance(node, exp.Anonymous) or node.name != _LARGEST:
        return node
    number, how_many = node.expressions
    if capabilities.name == "duckdb":
        largest = exp.Anonymous(this="MAX", expressions=[number, how_many])
        return exp.Anonymous(this="LIST_SUM", expressions=[largest])
    falling = [exp.Ordered(this=number, desc=True)]
    if capabilities.name == "postgres":
        ranked = exp.Paren(this=exp.ArrayAgg(this=exp.Order(this=number, expressions=falling)))
        first = exp.Bracket(this=ranked, expressions=[exp.Slice(this=sql.literal(1), expression=how_many)])
        rows = exp.Table(this=exp.Anonymous(this="UNNEST", expressions=[first]), alias=_alias("largest", "n"))
        return exp.Subquery(this=exp.select(exp.Sum(this=sql.column("n", "largest"))).from_(rows))
    if capabilities.name == "spark":
        listed = exp.Anonymous(this="COLLECT_LIST", expressions=[number])
        ranking = exp.Anonymous(this="SORT_ARRAY", expressions=[listed, exp.false()])
        most = exp.Anonymous(this="SLICE", expressions=[ranking, sql.literal(1), how_many])
        added = exp.Lambda(this=exp.Add(this=exp.column("a"), expression=exp.column("b")), expressions=_names("a", "b"))
        zero = sql.cast(sql.literal(0), "BIGINT")
        return exp.Anonymous(this="AGGREGATE", expressions=[most, zero, added])
    raise UsageError(f"{capabilities.title} cannot sum the largest numbers of a group.")


def _alias(table: str, column: str) -> exp.TableAlias:
    return exp.TableAlias(this=sql.identifier(table), columns=[sql.identifier(column)])


def _names(*names: str) -> list[exp.Identifier]:
    return [exp.to_identifier(name) for name in names]


def each_once(query: exp.Select, groups: Sequence[str]) -> exp.Select:
    """Return a query of groups that names each of its aggregates once, under those that are made from them.

    Bounds repeat them many times, and to read a statement takes as long as to count a small table.

    Args:
        query: selects columns that it is grouped by, and what is made from aggregates; it becomes part of the answer.
        groups: the names of these columns.
    """
    found: dict[str, exp.Alias] = {}

    def named(node: exp.Expr) -> exp.Expr:
        if not is_aggregate(node):
            return node
        if isinstance(node, exp.Max | exp.Min) and _is_same(node.this, groups):
            value: exp.Expr = node.this.copy()
            return value
        total = found.setdefault(node.sql(), sql.named(node.copy(), unused_name(f"total_{len(found)}", groups)))
        return sql.column(total.alias, "totals")

    made = [
        sql.named(value.unalias().transform(named), value.alias)
        for value in query.selects
        if value.alias_or_name not in groups
    ]
    query.set("expressions", [*(sql.column(name) for name in groups), *found.values()])
    outer = exp.select(*(sql.column(name, "totals") for name in groups), *made, copy=False)
    return outer.from_(query.subquery("totals", copy=False), copy=False)


def _is_same(value: exp.Expr, groups: Sequence[str]) -> bool:
    """Tell whether a value is the same in all rows of a group."""
    return isinstance(value, exp.Literal) or (isinstance(value, exp.Column) and value.name in groups)
