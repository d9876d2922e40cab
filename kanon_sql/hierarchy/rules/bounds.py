"""Rules that cut numbers at bounds: steps of 1, 2 and 5, and groups of about equal counts.

steps:     level 1    0   1   2-4   5-9   10-19   20-49   50-99   100-199 ...
           level 2    0   1-9             10-99                   100-999 ...
           level 3    0   1-99                                    100-9999 ...

quantiles: a bound is the roundest number between the values allowed on its two sides. Its group may be up to an eighth
of a group larger or smaller than the target, so that the bound need not be a value of the table. Equal values stay
together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Context, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from kanon_sql.hierarchy.expressions import NUMBERS, ROOT, exact_number, is_below, no_number
from kanon_sql.hierarchy.rules import (
    MOST_DIGITS,
    BuiltRule,
    LabelForm,
    decimal_text,
    is_dashed,
    joined,
    label_form,
    read_settings,
    require,
    suffix_of,
    whole_numbers,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.rules import ColumnExtremes


@dataclass(frozen=True)
class Cut:
    """Numbers up to a bound (included or not) from the end of the cut before, and their label."""

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
class BoundsRule(BuiltRule):
    """Numbers cut at fixed bounds: a quantile rule with the bounds of the data.

    ``levels`` has the bounds of each level, from low to high; they are a subset of those of the level below.
    """

    origin: str
    levels: tuple[tuple[Decimal, ...], ...]

    def __str__(self) -> str:
        return self.origin

    def settled(self, column: Column, facts: ColumnExtremes) -> None:
        del column, facts

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        """Return the labels of a value; below and above all bounds they name only one bound."""
        del facts
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
class StepRule(BuiltRule):
    """Steps of 1, 2 and 5; then powers of ten; then of a hundred. Negative numbers mirror them."""

    # the first bound above 0, a power of ten; numbers between 0 and it share a label, and 0 has its own
    start: Decimal = Decimal(1)
    form: LabelForm | None = None  # the format of steps; None if it depends on the values
    families: ClassVar = NUMBERS
    needs: ClassVar = "extremes"

    def __post_init__(self) -> None:
        digits = self.start.normalize()
        require(
            self.start.is_finite() and self.start > 0 and digits.as_tuple().digits == (1,),
            "the first step must be a power of ten, as in steps:from=100",
        )
        require(abs(digits.adjusted()) < MOST_DIGITS, f"the first step has at most {MOST_DIGITS} digits")

    @classmethod
    def parse(cls, parts: list[str]) -> StepRule:
        settings = read_settings("steps", parts, {"from": Decimal, "labels": label_form})
        return cls(settings.get("from", Decimal(1)), settings.get("labels"))

    def __str__(self) -> str:
        start = "" if self.start == 1 else f":from={decimal_text(self.start)}"
        return f"steps{start}{suffix_of(labels=self.form)}"

    @property
    def height(self) -> int:
        return len(_STEPS) + 1

    def settled(self, column: Column, facts: ColumnExtremes) -> StepRule:
        if self.form is not None or not self._is_whole(column):
            return self
        return replace(self, form="brackets" if facts.minimum is not None and facts.minimum < 0 else "dashes")

    def _is_whole(self, column: Column) -> bool:
        """Return True if the labels of values that are not negative can be written with dashes."""
        return column.family == "integer" and self.start >= 1

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        """Return the labels of a value, within the range of the column."""
        extremes = [facts.minimum or Decimal(0), facts.maximum or Decimal(0)]
        largest = max(map(abs, extremes))
        negative = min(extremes) < 0
        dashed = is_dashed(self.form, column, can_be=self._is_whole(column) and not negative)
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


def _cuts_of_steps(bounds: list[Decimal], *, negative: bool, dashed: bool) -> list[Cut]:
    """Return the cuts from low to high; those below 0 are mirrored: they include their upper bound."""
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
_EXACT = Context(prec=80)


@dataclass(frozen=True)
class QuantileRule(BuiltRule):
    """Groups of about equal counts; their number at each level divides the one before, so that levels nest."""

    groups: tuple[int, ...]
    families: ClassVar = NUMBERS

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

    @classmethod
    def parse(cls, parts: list[str]) -> QuantileRule:
        require(len(parts) == 1, "quantiles need numbers of groups, as in quantiles:16,8,4")
        return cls(whole_numbers(parts))

    def __str__(self) -> str:
        return f"quantiles:{joined(self.groups)}"

    def bind(
        self, engine: Engine, source: exp.Table, column: Column, facts: ColumnExtremes
    ) -> tuple[BoundsRule, str, tuple[str, ...]]:
        """Return the rule with bounds from the data; fewer if there are too few values."""
        del facts
        value = sql.column(column.name, "source")
        number = exact_number(sql.cast(value, "VARCHAR") if column.type == "FLOAT" else value, column)
        query = sql.query(
            "hierarchy/quantiles",
            values={"number": number, "groups": self.groups[0]},
            tables={"source": source},
            relations={"borders": sql.values("bounds", ["bound"], [[number] for number in range(1, self.groups[0])])},
        )
        rows = engine.rows(query, f"quantiles of {column.name}")
        bounds: dict[int, Decimal] = {}
        for number, low, high, wanted in rows:
            if low is not None and wanted is not None:  # else all values are on one side
                bounds[int(number)] = roundest(Decimal(str(low)), Decimal(str(high)), Decimal(str(wanted)))
        levels = []
        for groups in self.groups:
            own = {bounds[number] for number in bounds if number % (self.groups[0] // groups) == 0}
            levels.append(tuple(sorted(own)))
        note = (
            "its bounds were chosen by the data. They are rounded as far as the gaps between values allow, but one "
            "may still be the value of a person, and other data give other bounds"
        )
        bound = BoundsRule(str(self), tuple(level for level in levels if level))
        return bound, f"{self} (bounds chosen by the data)", (note,)

    def settled(self, column: Column, facts: ColumnExtremes) -> None:
        del column, facts


def roundest(low: Decimal, high: Decimal, wanted: Decimal) -> Decimal:
    """Return the roundest number above ``low`` and up to ``high``.

    It is a multiple of the largest 1, 2 or 5 times a power of ten. If there are several, it is the nearest to
    ``wanted``, which counts as ``high`` if it is above it.
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
