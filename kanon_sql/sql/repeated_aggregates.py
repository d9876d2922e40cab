"""Queries whose aggregates are named once, however often what is made from them repeats them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import is_aggregate
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Sequence


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
