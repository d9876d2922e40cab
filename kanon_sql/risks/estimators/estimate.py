"""An estimate of how many people are unique in a population, or why there is none.

And sums and ratios that the estimators need, exact to about twelve digits where the plain forms would lose them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_ROUNDED = 1e-9


@dataclass(frozen=True)
class Sample:
    """A table as a sample of a population.

    Attributes:
        classes_of: for each size of a class of the table, how many classes have it.
        population: members of the population.
    """

    classes_of: dict[int, int]
    population: int

    @property
    def members(self) -> int:
        return sum(size * classes for size, classes in self.classes_of.items())

    @property
    def classes(self) -> int:
        return sum(self.classes_of.values())

    @property
    def uniques(self) -> int:
        return self.classes_of.get(1, 0)

    @property
    def pairs(self) -> int:
        return self.classes_of.get(2, 0)

    @property
    def fraction(self) -> float:
        return self.members / self.population


@dataclass(frozen=True)
class Estimate:
    """What an estimator says.

    Attributes:
        uniques: members of the population that are alone in their class there; None where there is no estimate.
        share: their share of the population.
        reason: why there is no estimate.
    """

    uniques: float | None
    share: float | None
    reason: str | None = None


def estimated(uniques: float, sample: Sample) -> Estimate:
    """Return an estimate of so many uniques; none if it is nothing that can be."""
    if not 0 <= uniques <= sample.population * (1 + _ROUNDED):
        return no_estimate("the estimate is not between nobody and everybody")
    uniques = min(uniques, sample.population)
    return Estimate(uniques, uniques / sample.population)


def no_estimate(reason: str) -> Estimate:
    return Estimate(None, None, reason)


_SERIES_FROM = 20.0  # from here on three terms of the series are exact to the last digit
_STIRLING_FROM = 100.0
_HALVINGS = 80  # halve a range of a hundred down to the spacing of floating-point numbers


def sum_of_reciprocals(start: float, count: int) -> float:
    """Return ``1/start + 1/(start + 1) + ... + 1/(start + count - 1)``, in constant time; ``start`` is above 0.

    By the Euler-Maclaurin formula: the difference of two digamma functions, taken term by term, so that nothing is lost
    where both are nearly equal.
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


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function changes its sign between two points, at the first of which it is above 0."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def falls_through_zero(function: Callable[[float], float], points: list[float]) -> list[tuple[float, float]]:
    """Return each pair of neighbouring points between which a function goes from above 0 to 0 or below."""
    values = [function(point) for point in points]
    return [
        (points[place], points[place + 1]) for place in range(len(points) - 1) if values[place] > 0 >= values[place + 1]
    ]
