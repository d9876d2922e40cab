"""A tree of intervals from a file, over the values of a column: the query that makes its lookup relation."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.facts import NUMBERS, exact_places
from kanon_sql.hierarchy.pieces import ROOT, VALUE, as_written, distinct_values, number_literal, with_levels

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.formats.intervals import Interval, IntervalTree

_LARGEST = "1.7976931348623157e308"
_EXACT = Context(prec=80)


def interval_query(tree: IntervalTree, column: Column, source: exp.Table, origin: str) -> exp.Query:
    """Return the query of values and labels; values outside of the root interval get no row.

    At each level a value has the label of the innermost interval that is not below this level, so that an interval
    without others under it keeps its label. What is no number (NULL, NaN, infinity) goes to the root. Whole numbers and
    DECIMALs are compared with bounds of their own scale, floating point numbers with the bound as such a number: as a
    person reads both.

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
        case = exp.Case().when(_no_number(column), sql.literal(ROOT))
        depth = tree.height - level
        # From the inside out: an interval comes after those inside it.
        for node, own in sorted(nodes, key=lambda item: -item[1]):
            if 0 < own <= depth:
                case = case.when(_inside(node.interval, column), sql.literal(str(node.interval)))
        labels.append(case.else_(sql.literal(ROOT)))
    known = exp.or_(_no_number(column), _inside(tree.root.interval, column))
    query = with_levels(exp.select(sql.column(VALUE)), labels).from_("present").where(known)
    return query.with_("present", as_=distinct_values(column, source))


def _no_number(column: Column) -> exp.Expr:
    """Return whether a value is NULL, infinite or NaN, which is greater than all numbers."""
    missing = exp.Is(this=sql.column(VALUE), expression=exp.null())
    if column.family != "float":
        return missing
    largest = sql.cast(sql.literal(_LARGEST), "DOUBLE")
    smallest = sql.cast(sql.literal(f"-{_LARGEST}"), "DOUBLE")
    above = exp.GT(this=_number(column), expression=largest)
    below = exp.LT(this=_number(column), expression=smallest)
    return exp.or_(missing, above, below)


def _number(column: Column) -> exp.Expr:
    return sql.cast(as_written(column), "DOUBLE") if column.type == "FLOAT" else sql.column(VALUE)


def _inside(interval: Interval, column: Column) -> exp.Expr:
    low = (exp.GT if interval.low_open else exp.GTE)(
        this=_number(column), expression=_bound(interval.low, column, up=not interval.low_open)
    )
    high = (exp.LT if interval.high_open else exp.LTE)(
        this=_number(column), expression=_bound(interval.high, column, up=interval.high_open)
    )
    return exp.Paren(this=exp.and_(low, high))


def _bound(bound: Decimal, column: Column, *, up: bool) -> exp.Expr:
    """Return a bound that divides the numbers of a column as the given one does, in digits that the column has."""
    if column.family == "float":
        return sql.cast(sql.literal(f"{bound:f}"), "DOUBLE")
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    unit = Decimal(1).scaleb(-exact_places(column, 0))
    return number_literal(bound.quantize(unit, rounding=rounding, context=_EXACT))
