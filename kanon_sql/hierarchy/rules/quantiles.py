"""Numbers in groups of about equal counts: the data say where the bounds are.

A bound is the roundest number between the values that may stand on its two sides: its group may be an eighth of a group
larger or smaller than it would be, so that the bound need not be somebody's value. Values that are equal stay together.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.numbers import exact_number
from kanon_sql.hierarchy.pieces import VALUE, as_written
from kanon_sql.hierarchy.rules.base import listed, require
from kanon_sql.hierarchy.rules.bounds import BoundsRule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine

_MOST_GROUPS = 256
_SLACK = 8  # a bound may move by this part of a group
_EXACT = Context(prec=80)


@dataclass(frozen=True)
class QuantileRule:
    """Groups of about equal counts.

    Attributes:
        groups: how many there are at each level; each a divisor of the one before, so that the levels nest.
    """

    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        require(
            bool(self.groups) and all(1 < number <= _MOST_GROUPS for number in self.groups),
            f"quantiles need numbers of groups from 2 to {_MOST_GROUPS}, as in quantiles:16,8,4",
        )
        for many, few in zip(self.groups, self.groups[1:], strict=False):
            require(
                few < many and many % few == 0,
                f"{few} groups cannot be put together from {many}: each number must divide the one before",
            )

    def __str__(self) -> str:
        return f"quantiles:{','.join(map(str, self.groups))}"

    def settled(self, engine: Engine, source: exp.Table, column: Column) -> BoundsRule:
        """Return the rule with the bounds that the data ask for; fewer where there are not so many values."""
        rows = engine.rows(quantile_query(self.groups[0], column, source), f"quantiles of {column.name}")
        bounds: dict[int, Decimal] = {}
        for number, low, high, wanted in rows:
            if low is not None and wanted is not None:  # else all values are on one side
                bounds[int(number)] = roundest(Decimal(str(low)), Decimal(str(high)), Decimal(str(wanted)))
        levels = []
        for groups in self.groups:
            own = {bounds[number] for number in bounds if number % (self.groups[0] // groups) == 0}
            levels.append(tuple(sorted(own)))
        return BoundsRule(str(self), tuple(level for level in levels if level))


def parse_quantiles(parts: list[str]) -> QuantileRule:
    """Return the rule that was written after ``quantiles``.

    Raises:
        RuleError: it is written wrong.
    """
    require(len(parts) == 1, "quantiles need numbers of groups, as in quantiles:16,8,4")
    return QuantileRule(tuple(int(number) for number in listed(parts[0])))


def quantile_query(groups: int, column: Column, source: exp.Table) -> exp.Query:
    """Return the query of the bounds between groups: one row for each, ``(bound, low, high, wanted)``.

    With ``before`` the rows whose value is smaller, a value is in group ``floor(before * groups / rows)``. The bound
    ``i`` may be any number above ``low`` and up to ``high``; ``wanted`` is the smallest value of group ``i``. Counts
    are whole numbers throughout.
    """
    value = sql.named(sql.column(column.name, "source"), VALUE)
    values = exp.select(value).from_(sql.aliased(source, "source"))
    numbers = exp.select(sql.named(exact_number(as_written(column), column), "number")).from_("present")
    counted = (
        exp.select(sql.column("number"), sql.named(sql.count_rows(), "n"))
        .from_("numbers")
        .where(exp.Is(this=sql.column("number"), expression=exp.null()).not_())
        .group_by(sql.column("number"))
    )
    order = exp.Order(expressions=[exp.Ordered(this=sql.column("number"))])
    upto = exp.Window(this=exp.Sum(this=sql.column("n")), order=order)
    before = exp.Sub(this=upto, expression=sql.column("n"))
    total = exp.Window(this=exp.Sum(this=sql.column("n")))
    ranked = exp.select(
        sql.column("number"),
        sql.named(sql.cast(before, "BIGINT"), "before"),
        sql.named(sql.cast(total, "BIGINT"), "total"),
    ).from_("counted")
    bounds = sql.values("bounds", ["bound"], [[number] for number in range(1, groups)])
    number = sql.column("number", "ranked")
    low = exp.Max(this=number)
    high = exp.Max(this=number.copy())
    wanted = exp.Min(this=number.copy())
    query = (
        exp.select(
            sql.column("bound", "bounds"),
            sql.named(sql.where(low, _rank(exp.LT, groups, -1)), "low"),
            sql.named(sql.where(high, _rank(exp.LTE, groups, 1)), "high"),
            sql.named(sql.where(wanted, _rank(exp.GTE, groups, 0)), "wanted"),
        )
        .from_(bounds)
        .join("ranked", join_type="cross")
        .group_by(sql.column("bound", "bounds"))
        .order_by(sql.column("bound", "bounds"))
    )
    for name, part in (("present", values), ("numbers", numbers), ("counted", counted), ("ranked", ranked)):
        query = query.with_(name, as_=part)
    return query


def _rank(compare: type[exp.Binary], groups: int, slack: int) -> exp.Expr:
    """Return whether the rows before a value are fewer than (or as many as) those before a bound moved by a slack."""
    before = exp.Mul(this=sql.column("before", "ranked"), expression=sql.literal(_SLACK * groups))
    eighths = exp.Mul(this=sql.column("bound", "bounds"), expression=sql.literal(_SLACK))
    moved: exp.Expr = exp.Paren(this=exp.Add(this=eighths, expression=sql.literal(slack))) if slack else eighths
    return compare(this=before, expression=exp.Mul(this=moved, expression=sql.column("total", "ranked")))


def roundest(low: Decimal, high: Decimal, wanted: Decimal) -> Decimal:
    """Return the roundest number above ``low`` and up to ``high``.

    It is a multiple of the largest 1, 2 or 5 times a power of ten; of several, the one that is nearest to ``wanted``,
    which counts as ``high`` where it is above it.
    """
    highest = max(high, wanted)
    places = max(0, *(-int(number.as_tuple().exponent) for number in (low, highest, wanted)))
    least, most, middle = (int(number.scaleb(places, context=_EXACT)) for number in (low, highest, wanted))
    if least < 0 <= most:
        return Decimal(0)
    unit = 10 ** len(str(max(abs(least), abs(most))))
    while True:
        for step in (unit, unit // 2, unit // 5):
            if step and (found := _multiple(step, least, most, middle)) is not None:
                return Decimal(found).scaleb(-places, context=_EXACT)
        unit //= 10


def _multiple(step: int, least: int, most: int, middle: int) -> int | None:
    """Return the multiple of a step above ``least`` and up to ``most`` that is nearest to ``middle``."""
    first, last = least // step + 1, most // step
    if first > last:
        return None
    nearest: Sequence[int] = [middle // step, middle // step + 1]
    candidates = [min(max(number, first), last) for number in nearest]
    return min((number * step for number in candidates), key=lambda number: abs(number - middle))
