"""Exact aggregates in SQL over the rows of a question; the contribution of each person is bounded.

Values first become whole numbers of steps, clamped to their bounds. So every sum is exact and independent of the order
of rows: sums of floating-point numbers have no reliable sensitivity (Casacuberta et al. 2022). The contribution of a
person depends on the rows of that person alone: never on the number of other people, the order of rows, or chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from kanon_sql.dp.condition import SOURCE
from kanon_sql.engine.base import resolve_columns
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import NUMBERS
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column


Unit = Literal["rows", "people"]


@dataclass(frozen=True)
class QueriedRows:
    """The rows of a table that a question is about."""

    relation: exp.Table
    name: str
    columns: tuple[Column, ...]
    person: Column | None  # the column of the people; None if each row is a person
    most_rows: int  # the number of rows of a person that count
    conditions: tuple[exp.Expr, ...]
    group: tuple[str, str] | None  # the column and value of its rows, if they are a group

    def column(self, name: str) -> Column:
        (found,) = resolve_columns([name], self.columns, self.name)
        return found

    @property
    def unit(self) -> Unit:
        """The unit of the count: people if each of them counts once."""
        return "people" if self.person is not None and self.most_rows == 1 else "rows"

    @property
    def owner(self) -> exp.Column:
        """The person of a row of ``source``."""
        if self.person is None:
            raise TypeError("There is no column of people")
        return sql.column(self.person.name, SOURCE)

    def rows(self, *expressions: exp.Expr, there: Column | None = None) -> exp.Select:
        """Return the query of named expressions over the rows of ``source``, without those where ``there`` is NULL."""
        conditions = list(self.conditions)
        if there is not None:
            conditions.append(sql.negated(exp.Is(this=sql.column(there.name, SOURCE), expression=exp.null())))
        query = exp.select(*expressions).from_(sql.aliased(self.relation, SOURCE))
        return query.where(*(each.copy() for each in conditions)) if conditions else query


_WHOLE = "DECIMAL(38, 0)"  # sums of whole numbers: no table is long enough to overflow it
_STEPS = 9  # digits kept of values that are not whole: steps in the larger bound
_LARGEST = 2**53  # whole numbers up to this are exact as floating-point numbers


@dataclass(frozen=True)
class Bounds:
    """The bounds that values are clamped to, in steps."""

    low: int
    high: int
    step: Decimal

    @property
    def width(self) -> int:
        return self.high - self.low

    @property
    def farthest(self) -> int:
        """The largest distance from 0 of a value within the bounds, in steps."""
        return max(abs(self.low), abs(self.high))

    def value(self, steps: float | Decimal) -> Decimal:
        return Decimal(steps) * self.step


def bounds_in_steps(
    bounds: tuple[Decimal, Decimal], column: Column, step: Decimal | None = None, *, means: bool = False
) -> Bounds:
    """Return bounds in steps: of 1 for whole numbers, and of a thousand-millionth of the larger bound for others.

    ``means`` means that means of the values are rounded to steps too, for which 1 is too coarse.
    """
    low, high = bounds
    if column.family not in NUMBERS:
        raise UsageError(f"Column {column.name!r} has no numbers, which this question is about.")
    if step is None:
        exponent = math.floor((max(abs(low), abs(high)) or Decimal(1)).log10()) + 1 - _STEPS
        step = Decimal(10) ** exponent
        if column.family == "integer":
            step = min(step, Decimal(1)) if means else Decimal(1)
    first = int((low / step).to_integral_value(ROUND_FLOOR))
    last = int((high / step).to_integral_value(ROUND_CEILING))
    if not first < last or max(abs(first), abs(last)) > _LARGEST:
        raise UsageError(f"The bounds {low} and {high} cannot be used with steps of {step}: give a smaller interval.")
    return Bounds(first, last, step)


def in_steps(column: Column, bounds: Bounds) -> exp.Expr:
    """Return the expression of a value in steps, clamped to its bounds; NaN becomes the upper bound."""
    value = sql.cast(sql.column(column.name, SOURCE), "DOUBLE")
    low, high = (double_of(bounds.value(bound)) for bound in (bounds.low, bounds.high))
    cut = sql.least([sql.greatest([value, low]), high])
    if bounds.step != 1:
        cut = exp.Div(this=cut, expression=double_of(bounds.step))
    steps = sql.cast(_rounded(cut), "BIGINT")
    return _cut(steps, bounds.low, bounds.high)


def row_count(queried: QueriedRows) -> exp.Query:
    """Return the query of the number of rows, at most ``most_rows`` of each person."""
    if queried.person is None:
        return queried.rows(sql.named(sql.count_rows(), "n"))
    people = queried.rows(sql.named(sql.count_rows(), "n")).group_by(queried.owner)
    total = _total(sql.least([sql.column("n", "people"), sql.literal(queried.most_rows)]))
    return exp.select(sql.named(total, "n")).from_(people.subquery("people"))


def total_steps(queried: QueriedRows, column: Column, bounds: Bounds) -> exp.Query:
    """Return the query of the sum of a column in steps.

    A person with more than ``most_rows`` rows contributes ``most_rows`` times their mean.
    """
    if queried.person is None:
        steps = queried.rows(sql.named(in_steps(column, bounds), "steps"), there=column)
        return exp.select(sql.named(_total(sql.column("steps", "cut")), "total")).from_(steps.subquery("cut"))
    low, high = (queried.most_rows * bound for bound in (min(bounds.low, 0), max(bounds.high, 0)))
    own = _cut(_of_most_rows(queried.most_rows), low, high)
    people = _people(queried, column, bounds, offset=0)
    return exp.select(sql.named(_total(own), "total")).from_(people.subquery("people"))


def sides_of_mean(queried: QueriedRows, column: Column, bounds: Bounds) -> exp.Query:
    """Return the query of two sums in steps: how far values are above the lower bound, and below the upper one.

    A row adds ``width`` to both together, whatever its value: they change together by no more than that.
    """
    width = bounds.width
    if queried.person is None:
        above = exp.Sub(this=in_steps(column, bounds), expression=sql.literal(bounds.low))
        people: exp.Query = queried.rows(sql.named(above, "above"), sql.named(sql.literal(1), "counted"), there=column)
    else:
        counted = sql.least([sql.column("n", "people"), sql.literal(queried.most_rows)])
        own = _of_most_rows(queried.most_rows)
        whole = exp.Mul(this=counted.copy(), expression=sql.literal(width))
        cut = sql.greatest([sql.least([own, whole]), sql.literal(0)])
        inner = _people(queried, column, bounds, offset=bounds.low)
        people = exp.select(sql.named(cut, "above"), sql.named(counted, "counted")).from_(inner.subquery("people"))
    up, rows = sql.column("above", "sides"), sql.column("counted", "sides")
    below = exp.Sub(this=exp.Mul(this=rows, expression=sql.literal(width)), expression=up.copy())
    return exp.select(sql.named(_total(up), "above"), sql.named(_total(below), "below")).from_(people.subquery("sides"))


def counts_of_keys(
    queried: QueriedRows, key: exp.Expr, wanted: Sequence[str] | None = None, there: Column | None = None
) -> exp.Query:
    """Return the query of the number of rows by key; a person has at most ``most_rows`` in all keys together.

    A digest of the person and the key chooses the rows of a person that count; the choice depends on nothing else. Rows
    with keys that are not ``wanted`` are counted together, under NULL; None means all keys. Rows where ``there`` is
    NULL do not count.
    """
    rows = queried.rows(
        sql.named(key, "key"), *([] if queried.person is None else [sql.named(queried.owner, "person")]), there=there
    )
    counted: exp.Query = rows
    if queried.person is not None:
        texts = [sql.cast(sql.column(name, "keyed"), "VARCHAR") for name in ("person", "key")]
        person, own = (exp.Coalesce(this=text, expressions=[sql.literal("")]) for text in texts)
        digest = exp.MD5(this=exp.DPipe(this=exp.DPipe(this=person, expression=sql.literal(":")), expression=own))
        order = exp.Order(expressions=[exp.Ordered(this=digest), exp.Ordered(this=sql.column("key", "keyed"))])
        place = exp.Window(this=exp.RowNumber(), partition_by=[sql.column("person", "keyed")], order=order)
        numbered = exp.select(sql.column("key", "keyed"), sql.named(place, "place")).from_(rows.subquery("keyed"))
        within = exp.LTE(this=sql.column("place", "numbered"), expression=sql.literal(queried.most_rows))
        counted = exp.select(sql.column("key", "numbered")).from_(numbered.subquery("numbered")).where(within)
    found: exp.Expr = sql.column("key", "counted")
    if wanted is not None:
        listed = exp.In(this=found.copy(), expressions=[sql.literal(each) for each in wanted])
        found = exp.Case(ifs=[exp.If(this=listed, true=found)]) if wanted else sql.cast(exp.null(), "VARCHAR")
    labelled = exp.select(sql.named(found, "key")).from_(counted.subquery("counted"))
    grouped = exp.select(sql.column("key", "labelled"), sql.named(sql.count_rows(), "n"))
    return grouped.from_(labelled.subquery("labelled")).group_by(sql.column("key", "labelled"))


def _people(queried: QueriedRows, column: Column, bounds: Bounds, offset: int) -> exp.Select:
    """Return the query of each person's number of rows ``n`` and sum ``total`` of values less an offset, in steps."""
    steps = in_steps(column, bounds)
    if offset:
        steps = exp.Sub(this=steps, expression=sql.literal(offset))
    rows = queried.rows(sql.named(queried.owner, "person"), sql.named(steps, "steps"), there=column)
    total = exp.Sum(this=sql.cast(sql.column("steps", "cut"), _WHOLE))
    counted = exp.select(sql.named(sql.count_rows(), "n"), sql.named(total, "total"))
    return counted.from_(rows.subquery("cut")).group_by(sql.column("person", "cut"))


def _of_most_rows(most_rows: int) -> exp.Expr:
    """Return the contribution of a person: the sum of the rows, or ``most_rows`` times their mean if there are more."""
    n, total = sql.column("n", "people"), sql.column("total", "people")
    mean = exp.Div(
        this=exp.Mul(this=sql.cast(total.copy(), "DOUBLE"), expression=double_of(Decimal(most_rows))),
        expression=sql.cast(n.copy(), "DOUBLE"),
    )
    few = exp.LTE(this=n, expression=sql.literal(most_rows))
    return exp.Case(ifs=[exp.If(this=few, true=total)], default=sql.cast(_rounded(mean), _WHOLE))


def _rounded(value: exp.Expr) -> exp.Expr:
    """Return the nearest whole number, halves up: ROUND differs between engines."""
    return exp.Floor(this=exp.Add(this=value, expression=double_of(Decimal("0.5"))))


def _total(value: exp.Expr) -> exp.Expr:
    total = exp.Sum(this=sql.cast(value, _WHOLE))
    return exp.Coalesce(this=total, expressions=[sql.literal(0)])


def _cut(value: exp.Expr, low: int, high: int) -> exp.Expr:
    return sql.least([sql.greatest([value, sql.literal(low)]), sql.literal(high)])


def double_of(value: Decimal) -> exp.Expr:
    plain = exp.Literal.number(f"{abs(value):f}")
    return sql.cast(exp.Neg(this=plain) if value < 0 else plain, "DOUBLE")
