"""Rules that cut numbers at bounds: steps of 1, 2 and 5, and groups of about equal counts.

steps:     level 1    0   1   2-4   5-9   10-19   20-49   50-99   100-199 ...
           level 2    0   1-9             10-99                   100-999 ...
           level 3    0   1-99                                    100-9999 ...

quantiles: a bound is the roundest number between the values that may stand on its two sides. Its group may be an eighth
of a group larger or smaller than it would be, so that the bound need not be a value of the table. Equal values stay
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from kanon_sql.hierarchy.expressions import ROOT, VALUE, exact_number, is_below, no_number, value_as_written
from kanon_sql.hierarchy.rules import (
    MOST_DIGITS,
    LabelForm,
    comma_separated,
    decimal_text,
    is_dashed,
    label_form,
    require,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.rules import ColumnExtremes


@dataclass(frozen=True)
class Cut:
    """Numbers up to a bound (included or not), from where the cut before it ends, and their label."""

    bound: Decimal
    with_bound: bool
    label: str


def _label_of_cuts(column: Column, cuts: Sequence[Cut], beyond: str) -> exp.Expr:
    case = exp.Case().when(no_number(column), sql.literal(ROOT))
    for cut in cuts:
        case = case.when(is_below(column, cut.bound, with_bound=cut.with_bound), sql.literal(cut.label))
    return case.else_(sql.literal(beyond))


def between(low: Decimal, high: Decimal, *, dashed: bool) -> str:
    """Return the label of numbers from a bound to below another: ``20-49`` of whole numbers, else ``[20, 50)``."""
    if not dashed:
        return f"[{decimal_text(low)}, {decimal_text(high)})"
    last = int(high) - 1
    return decimal_text(low) if last == low else f"{decimal_text(low)}-{last}"


@dataclass(frozen=True)
class BoundsRule:
    """Numbers cut at the same bounds whatever their values: a rule of quantiles with the bounds that the data have.

    ``levels`` has the bounds of each level, from low to high; those of a level are among those of the level below.
    """

    origin: str
    levels: tuple[tuple[Decimal, ...], ...]

    def __str__(self) -> str:
        return self.origin

    def labels(self, column: Column) -> list[exp.Expr]:
        """Return the label of a value at each level but the root; below and above all bounds it names one only."""
        return [_label_of_cuts(column, *_cuts_at(column, bounds)) for bounds in self.levels]


def _cuts_at(column: Column, bounds: tuple[Decimal, ...]) -> tuple[list[Cut], str]:
    dashed = column.family == "integer" and bounds[0] >= 0
    cuts = [Cut(bounds[0], with_bound=False, label=f"<{decimal_text(bounds[0])}")]
    for low, high in pairwise(bounds):
        cuts.append(Cut(high, with_bound=False, label=between(low, high, dashed=dashed)))
    return cuts, f">={decimal_text(bounds[-1])}"


_STEPS: tuple[tuple[int, ...], ...] = ((1, 2, 5), (1,), (1,))  # within a power of ten, for each level
_POWERS = (1, 1, 2)  # powers of ten from one to the next, for each level


@dataclass(frozen=True)
class StepRule:
    """Steps of 1, 2 and 5; then powers of ten; then of a hundred. Negative numbers have the same, mirrored.

    Attributes:
        start: the first bound above 0, a power of ten; what lies between 0 and it has one label, and 0 its own.
        form: how steps are written; None where the values say which.
    """

    start: Decimal = Decimal(1)
    form: LabelForm | None = None
    height: ClassVar[int] = len(_STEPS) + 1
    """Levels above the value."""

    def __post_init__(self) -> None:
        digits = self.start.normalize()
        require(
            self.start.is_finite() and self.start > 0 and digits.as_tuple().digits == (1,),
            "the first step must be a power of ten, as in steps:from=100",
        )
        require(abs(digits.adjusted()) < MOST_DIGITS, f"the first step has at most {MOST_DIGITS} digits")

    def __str__(self) -> str:
        start = "" if self.start == 1 else f":from={decimal_text(self.start)}"
        return f"steps{start}" if self.form is None else f"steps{start}:labels={self.form}"

    def can_be_dashed(self, column: Column) -> bool:
        """Tell whether the labels of values that are not negative can be written with dashes."""
        return column.family == "integer" and self.start >= 1

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        """Return the label of a value at each level but the root, as far as the numbers of the column reach."""
        extremes = [bound for bound in (facts.minimum, facts.maximum) if bound is not None]
        largest = max((abs(bound) for bound in extremes), default=Decimal(0))
        negative = any(bound < 0 for bound in extremes)
        dashed = is_dashed(self.form, column, can_be=self.can_be_dashed(column) and not negative)
        return [
            _label_of_cuts(column, _cuts_of_steps(self._bounds(level, largest), negative=negative, dashed=dashed), ROOT)
            for level in range(len(_STEPS))
        ]

    def _bounds(self, level: int, largest: Decimal) -> list[Decimal]:
        """Return the bounds of a level above 0, the last one above the largest number."""
        bounds: list[Decimal] = []
        power = self.start.normalize().adjusted()
        while not bounds or bounds[-1] <= largest:
            bounds += [Decimal(step).scaleb(power) for step in _STEPS[level]]
            power += _POWERS[level]
        return bounds


def parse_steps(parts: list[str]) -> StepRule:
    settings = dict(part.partition("=")[::2] for part in parts)
    require(
        len(settings) == len(parts) and settings.keys() <= {"from", "labels"},
        "the settings of steps are from= and labels=, as in steps:from=100:labels=brackets",
    )
    form = label_form(settings["labels"]) if "labels" in settings else None
    return StepRule(Decimal(settings.get("from", "1")), form)


def _cuts_of_steps(bounds: list[Decimal], *, negative: bool, dashed: bool) -> list[Cut]:
    """Return the cuts from the lowest number to the highest: those below 0 hold their upper bound, as in a mirror."""
    first = bounds[0]
    ranges = list(pairwise(bounds))
    cuts: list[Cut] = []
    if negative:
        cuts.append(Cut(-bounds[-1], with_bound=True, label=ROOT))
        for low, high in reversed(ranges):
            cuts.append(Cut(-low, with_bound=True, label=f"({decimal_text(-high)}, {decimal_text(-low)}]"))
        cuts.append(Cut(Decimal(0), with_bound=False, label=f"({decimal_text(-first)}, 0)"))
    else:
        cuts.append(Cut(Decimal(0), with_bound=False, label=ROOT))
    cuts.append(Cut(Decimal(0), with_bound=True, label="0"))
    small = between(Decimal(1), first, dashed=True) if dashed else f"(0, {decimal_text(first)})"
    cuts.append(Cut(first, with_bound=False, label=small))
    cuts.extend(Cut(high, with_bound=False, label=between(low, high, dashed=dashed)) for low, high in ranges)
    return cuts


_MOST_GROUPS = 256
_SLACK = 8  # a bound may move by this part of a group
_EXACT = Context(prec=80)


@dataclass(frozen=True)
class QuantileRule:
    """Groups of about equal counts; their number at each level divides the one before, so that levels nest."""

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
        rows = engine.rows(_quantile_query(self.groups[0], column, source), f"quantiles of {column.name}")
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
    require(len(parts) == 1, "quantiles need numbers of groups, as in quantiles:16,8,4")
    return QuantileRule(tuple(int(number) for number in comma_separated(parts[0])))


def _quantile_query(groups: int, column: Column, source: exp.Table) -> exp.Query:
    """Return the query of the bounds between groups: one row for each, ``(bound, low, high, wanted)``.

    With ``before`` the rows whose value is smaller, a value is in group ``floor(before * groups / rows)``. The bound
    ``i`` may be any number above ``low`` and up to ``high``; ``wanted`` is the smallest value of group ``i``. Counts
    are whole numbers throughout.
    """
    value = sql.named(sql.column(column.name, "source"), VALUE)
    values = exp.select(value).from_(sql.aliased(source, "source"))
    numbers = exp.select(sql.named(exact_number(value_as_written(column), column), "number")).from_("present")
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
    first, last = least // step + 1, most // step
    if first > last:
        return None
    nearest: Sequence[int] = [middle // step, middle // step + 1]
    candidates = [min(max(number, first), last) for number in nearest]
    return min((number * step for number in candidates), key=lambda number: abs(number - middle))
