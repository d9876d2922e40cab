"""Order: does the order of the release's rows say which of them is whose?

Rows of a class are alike in their quasi-identifiers and may differ in other columns. If they stand in the order of the
original, or sorted by a value that was generalized or left out, then who knows that order knows which of them is whose
(Sweeney's unsorted matching attack).

What is tested. Rows of the release that are alike in every column are one item. An item's place is the mean place of
its rows; its score is the mean rank of those rows of the original that could be it, by position or by a column of the
original. If the order says nothing, then which of the places goes to which of several items of equally many rows is a
matter of chance: so it is when rows are in random order, and when they are sorted by a hash of what they show. Within
groups of items of one size, of n items, the sum of products of the deviations of score and place has the mean 0 and
the variance SS(score) SS(place) / (n - 1), whatever the scores are; summed over all groups and divided by its
standard deviation it is z, normal in good approximation where there are many items.

- ``position``: items of the whole release, in the order of the original;
- ``position within classes``, and each column of the original: items of one class only. (Classes in the order of
  their labels say nothing that the labels do not say.) Classes in which all items are of different sizes have nothing
  to exchange; so the correlations of the classes are also added up as they are. Turning the order of a class round is
  as likely as not, so that the sum divided by the root of the sum of squares exceeds t with a probability of 2
  exp(-t^2/2) at most (Hoeffding): that is ``turned``.
- neighbours: pairs of items that follow each other in the original and in the release. By chance there is about one
  in a group, and their number has no longer tail than Poisson's distribution. It finds an order that was cut and
  shuffled in pieces.

A release that is sorted by columns that it shows is tested among rows that are alike in these: to be sorted by what
everybody sees gives nothing away. All tests together raise a false alarm with a probability of 1 in a million.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ERROR_PROBABILITY = 1e-6
"""How often a release in random order is accused."""


@dataclass(frozen=True)
class Follows:
    """How far places in the release follow an order.

    Attributes:
        correlation: of score and place among items that chance could exchange; None where there are none.
        z: how many standard deviations that is from what chance gives.
        turned: the sum of the classes' correlations over the root of the sum of their squares; 0 for ``position``.
    """

    correlation: float | None
    z: float
    turned: float = 0.0


@dataclass(frozen=True)
class Order:
    """What the order of the rows says.

    Attributes:
        reason: why there is nothing to test; None if there is.
        rows: rows of the release.
        rows_distinct: those that are like no other row of the release: an order would give them away one by one.
        sorted_by: columns of the release that it is sorted by, one after the other.
        orders: by the name of each order that was tested, how far the release follows it.
        neighbours: pairs of items that follow each other in both tables.
        neighbours_by_chance: how many of them chance gives.
        z_limit: what a z must exceed.
        turned_limit: what ``turned`` must exceed.
        neighbours_limit: what the pairs must exceed.
    """

    reason: str | None
    rows: int
    rows_distinct: int
    sorted_by: tuple[str, ...]
    orders: Mapping[str, Follows]
    neighbours: int
    neighbours_by_chance: float
    z_limit: float
    turned_limit: float
    neighbours_limit: int
    name: str = "order"

    @property
    def followed(self) -> tuple[str, ...]:
        """The orders that the release follows."""
        found = [
            name
            for name, order in self.orders.items()
            if abs(order.z) > self.z_limit or abs(order.turned) > self.turned_limit
        ]
        if self.reason is None and self.neighbours > self.neighbours_limit:
            found.append("neighbours")
        return tuple(found)

    @property
    def succeeded(self) -> bool:
        """Whether the release follows an order."""
        return bool(self.followed)

    @property
    def stopped_by(self) -> str:
        """What stops it."""
        return "random order, in which kanon anonymize publishes; ORDER BY random() when you copy a release"

    def figures(self) -> dict[str, Any]:
        """Return what was found, as plain values."""
        return {
            "reason": self.reason,
            "followed": list(self.followed),
            "rows": self.rows,
            "rows_distinct": self.rows_distinct,
            "sorted_by": list(self.sorted_by),
            "orders": {
                name: {"correlation": order.correlation, "z": order.z, "turned": order.turned}
                for name, order in self.orders.items()
            },
            "z_limit": self.z_limit,
            "turned_limit": self.turned_limit,
            "neighbours": self.neighbours,
            "neighbours_by_chance": self.neighbours_by_chance,
            "neighbours_limit": self.neighbours_limit,
            "error_probability": ERROR_PROBABILITY,
        }


def not_tested(reason: str, rows: int) -> Order:
    """Return that there is no order to test."""
    return Order(reason, rows, 0, (), {}, 0, 0.0, 0.0, 0.0, 0)


def follows(covariation: float, variance: float, of_scores: float, of_places: float) -> Follows:
    """Return how far places follow scores.

    Args:
        covariation: the sum of products of deviations.
        variance: the variance that it has by chance.
        of_scores: the sum of squares of the deviations of scores.
        of_places: the same of places.
    """
    if variance <= 0 or of_scores <= 0 or of_places <= 0:
        return Follows(None, 0.0)
    return Follows(covariation / sqrt(of_scores * of_places), covariation / sqrt(variance))


def limits(orders: int, neighbours_by_chance: float) -> tuple[float, float, int]:
    """Return what z, ``turned`` and neighbours must exceed so that all tests together keep the error probability."""
    each = ERROR_PROBABILITY / (2 * orders)  # one of them has no classes to turn round; the neighbours take its place
    z_limit = NormalDist().inv_cdf(1 - each / 2)
    return z_limit, sqrt(2 * log(2 / each)), _poisson_limit(neighbours_by_chance, each)


def _poisson_limit(mean: float, error: float) -> int:
    """Return the least number that Poisson's distribution exceeds with no more than a small probability.

    The tail above x is at most the term of x + 1 over 1 - mean / (x + 2), a geometric series.
    """
    number = int(mean)
    while mean > 0:
        term = exp((number + 1) * log(mean) - mean - lgamma(number + 2))
        if term / (1 - mean / (number + 2)) <= error:
            break
        number += 1
    return number
