"""An estimate of how many people are unique in a population, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

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
        """Members of the sample."""
        return sum(size * classes for size, classes in self.classes_of.items())

    @property
    def classes(self) -> int:
        """Classes of the sample."""
        return sum(self.classes_of.values())

    @property
    def uniques(self) -> int:
        """Members of the sample that are alone in their class."""
        return self.classes_of.get(1, 0)

    @property
    def pairs(self) -> int:
        """Classes of two."""
        return self.classes_of.get(2, 0)

    @property
    def fraction(self) -> float:
        """The share of the population that is in the sample."""
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
    """Return that there is none, and why."""
    return Estimate(None, None, reason)
