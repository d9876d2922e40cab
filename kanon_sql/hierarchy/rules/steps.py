"""Money and counts in steps of 1, 2 and 5: narrow where numbers are small, wide where they are large.

level 1    0   1   2-4   5-9   10-19   20-49   50-99   100-199 ...
level 2    0   1-9             10-99                   100-999 ...
level 3    0   1-99                                    100-9999 ...
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from kanon_sql.hierarchy.pieces import ROOT
from kanon_sql.hierarchy.rules.base import MOST_DIGITS, plain, require
from kanon_sql.hierarchy.rules.bounds import Cut, between, label_of_cuts

if TYPE_CHECKING:
    from sqlglot import exp

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.rules.base import Facts

_STEPS: tuple[tuple[int, ...], ...] = ((1, 2, 5), (1,), (1,))  # within a power of ten, for each level
_POWERS = (1, 1, 2)  # powers of ten from one to the next, for each level


@dataclass(frozen=True)
class StepRule:
    """Steps of 1, 2 and 5; then powers of ten; then of a hundred. Negative numbers have the same, mirrored.

    Attributes:
        start: the first bound above 0, a power of ten; what lies between 0 and it has one label, and 0 its own.
    """

    start: Decimal = Decimal(1)
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
        return "steps" if self.start == 1 else f"steps:from={plain(self.start)}"

    def labels(self, column: Column, facts: Facts) -> list[exp.Expr]:
        """Return the label of a value at each level but the root, as far as the numbers of the column reach."""
        extremes = [bound for bound in (facts.minimum, facts.maximum) if bound is not None]
        largest = max((abs(bound) for bound in extremes), default=Decimal(0))
        negative = any(bound < 0 for bound in extremes)
        dashed = column.family == "integer" and self.start >= 1 and not negative
        return [
            label_of_cuts(column, _cuts(self._bounds(level, largest), negative=negative, dashed=dashed), ROOT)
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
    """Return the rule that was written after ``steps``.

    Raises:
        RuleError: it is written wrong.
    """
    require(len(parts) <= 1, "after steps there may be from=, as in steps:from=100")
    if not parts:
        return StepRule()
    name, _, value = parts[0].partition("=")
    require(name == "from", "the one setting of steps is from=, as in steps:from=100")
    return StepRule(Decimal(value))


def _cuts(bounds: list[Decimal], *, negative: bool, dashed: bool) -> list[Cut]:
    """Return the cuts from the lowest number to the highest: those below 0 hold their upper bound, as in a mirror."""
    first = bounds[0]
    ranges = list(pairwise(bounds))
    cuts: list[Cut] = []
    if negative:
        cuts.append(Cut(-bounds[-1], with_bound=True, label=ROOT))
        for low, high in reversed(ranges):
            cuts.append(Cut(-low, with_bound=True, label=f"({plain(-high)}, {plain(-low)}]"))
        cuts.append(Cut(Decimal(0), with_bound=False, label=f"({plain(-first)}, 0)"))
    else:
        cuts.append(Cut(Decimal(0), with_bound=False, label=ROOT))
    cuts.append(Cut(Decimal(0), with_bound=True, label="0"))
    small = between(Decimal(1), first, dashed=True) if dashed else f"(0, {plain(first)})"
    cuts.append(Cut(first, with_bound=False, label=small))
    cuts.extend(Cut(high, with_bound=False, label=between(low, high, dashed=dashed)) for low, high in ranges)
    return cuts
