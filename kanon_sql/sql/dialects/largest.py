"""The sum of the largest numbers of a group, which engines say in ways of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
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
