"""A tree of intervals from a file, over the values of a column: the query that makes its lookup relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.numbers import NUMBERS, is_above, is_below, no_number
from kanon_sql.hierarchy.pieces import ROOT, VALUE, distinct_values, with_levels
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.formats.intervals import Interval, IntervalTree


def interval_query(tree: IntervalTree, column: Column, source: exp.Table, origin: str) -> exp.Query:
    """Return the query of values and labels; values outside of the root interval get no row.

    At each level a value has the label of the innermost interval that is not below this level, so that an interval
    without others under it keeps its label. What is no number (NULL, NaN, infinity) goes to the root.

    Args:
        tree: the intervals.
        column: the column.
        source: the table.
        origin: what messages call the hierarchy.

    Raises:
        HierarchyError: the column does not hold numbers.
    """
    if column.family not in NUMBERS:
        raise HierarchyError(
            f"The hierarchy of column {column.name!r} ({origin}) is a tree of intervals and needs numbers, but the "
            f"column is {column.type}: cast the column, or use another hierarchy."
        )
    nodes = list(tree.nodes())
    labels: list[exp.Expr] = []
    for level in range(1, tree.height):
        case = exp.Case().when(no_number(column), sql.literal(ROOT))
        depth = tree.height - level
        # From the inside out: an interval comes after those inside it.
        for node, own in sorted(nodes, key=lambda item: -item[1]):
            if 0 < own <= depth:
                case = case.when(_inside(node.interval, column), sql.literal(str(node.interval)))
        labels.append(case.else_(sql.literal(ROOT)))
    known = exp.or_(no_number(column), _inside(tree.root.interval, column))
    query = with_levels(exp.select(sql.column(VALUE)), labels).from_("present").where(known)
    return query.with_("present", as_=distinct_values(column, source))


def _inside(interval: Interval, column: Column) -> exp.Expr:
    low = is_above(column, interval.low, with_bound=True)
    return exp.Paren(this=exp.and_(low, is_below(column, interval.high, with_bound=not interval.high_open)))
