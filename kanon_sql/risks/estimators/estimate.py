"""The classes of a table by their size, and estimates based on them of how many people are unique in a population.

Also sums and ratios that the estimators need, exact to about twelve digits where the plain forms would lose them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ROUNDED = 1e-9


_FROM = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Bin:
    """Classes of similar sizes, from ``least`` to ``most``; the last bin has no end."""

    least: int
    most: int | None
    classes: int
    members: int

    @property
    def name(self) -> str:
        """The sizes as text: 1, 3-4, 100+."""
        if self.most is None:
            return f"{self.least}+"
        return str(self.least) if self.most == self.least else f"{self.least}-{self.most}"


@dataclass(frozen=True)
class SizeCounts:
    """The classes of a table by their size: for each size that occurs, how many classes have it."""

    classes_of: Mapping[int, int]

    @property
    def classes(self) -> int:
        return sum(self.classes_of.values())

    @property
    def members(self) -> int:
        """Rows in all classes; if people are counted, records: a person in two classes counts twice."""
        return sum(size * classes for size, classes in self.classes_of.items())

    @property
    def smallest(self) -> int | None:
        return min(self.classes_of, default=None)

    @property
    def uniques(self) -> int:
        return self.classes_of.get(1, 0)

    def members_where(self, holds: Callable[[int], bool]) -> int:
        return sum(size * classes for size, classes in self.classes_of.items() if holds(size))

    def histogram(self) -> tuple[Bin, ...]:
        """Return the classes in bins of similar sizes, including empty bins."""
        bins = []
        for least, after in zip_longest(_FROM, _FROM[1:]):
            inside = SizeCounts({size: n for size, n in self.classes_of.items() if least <= size < (after or math.inf)})
            bins.append(Bin(least, after and after - 1, inside.classes, inside.members))
        return tuple(bins)


@dataclass(frozen=True)
class Sample(SizeCounts):
    """A table as a sample of a population with a known number of members."""

    population: int

    @property
    def pairs(self) -> int:
        return self.classes_of.get(2, 0)

    @property
    def fraction(self) -> float:
        return self.members / self.population


@dataclass(frozen=True)
class Estimate:
    """The number of population uniques; or the reason why there is no estimate."""

    uniques: float | None
    share: float | None
    reason: str | None = None


def estimated(uniques: float, sample: Sample) -> Estimate:
    """Return an estimate of ``uniques``; no estimate if that number is impossible."""
    if not 0 <= uniques <= sample.population * (1 + _ROUNDED):
        return no_estimate("the estimate is not between nobody and everybody")
    uniques = min(uniques, sample.population)
    return Estimate(uniques, uniques / sample.population)


def no_estimate(reason: str) -> Estimate:
    return Estimate(None, None, reason)


_SERIES_FROM = 20.0  # from here on, three terms of the series are exact to the last digit
_STIRLING_FROM = 100.0
_HALVINGS = 80  # halve a range of a hundred down to the spacing of floating-point numbers


def sum_of_reciprocals(start: float, count: int) -> float:
    """Return ``1/start + 1/(start + 1) + ... + 1/(start + count - 1)``, in constant time; ``start`` is above 0.

    By the Euler-Maclaurin formula: the difference of two digamma functions, taken term by term, so that no digits are
    lost if both are nearly equal.
    """
    total = 0.0
    while count > 0 and start < _SERIES_FROM:
        total += 1 / start
        start += 1
        count -= 1
    if count <= 0:
        return total
    return total + math.log1p(count / start) + _series(start + count) - _series(start)


def _series(at: float) -> float:
    """Return the digamma function without its logarithm."""
    square = at * at
    return -1 / (2 * at) - (1 / 12 - (1 / 120 - 1 / (252 * square)) / square) / square


def log_gamma_ratio(start: float, step: float) -> float:
    """Return ``log(gamma(start + step)/gamma(start))``; ``start`` is above 0, ``step`` at least 0."""
    end = start + step
    if start < _STIRLING_FROM:
        return math.lgamma(end) - math.lgamma(start)
    growth = (start - 0.5) * math.log1p(step / start) + step * math.log(end) - step
    return growth + (1 / end - 1 / start) / 12 - (1 / end**3 - 1 / start**3) / 360


def root_between(function: Callable[[float], float], low: float, high: float, halvings: int = _HALVINGS) -> float:
    """Return where a function changes its sign between two points; at the first it is above 0."""
    for _ in range(halvings):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def falls_through_zero(function: Callable[[float], float], points: list[float]) -> list[tuple[float, float]]:
    """Return each pair of neighbouring points between which a function goes from above 0 to 0 or below."""
    values = [(point, function(point)) for point in points]
    return [(low, high) for (low, above), (high, below) in pairwise(values) if above > 0 >= below]
