"""The measures of the sizes of classes: a search of full-domain recodings can minimize them.

To add a measure, add a class here and a name to ``CLASS_MEASURES``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

Cost = int | Fraction
"""The quantity to minimize: an exact number, so two nodes are compared without rounding."""
IMPOSSIBLE = math.inf
"""The cost of an impossible release."""


@dataclass(frozen=True)
class ClassSizes:
    """The sizes of the classes of a node."""

    rows: int
    k: int  # of the smallest class that may be published, in rows
    too_small: int  # of the largest class that may be suppressed, in rows
    published: int  # classes that satisfy all models
    suppressed: int  # rows in the other classes
    squares: int  # sum of the squared sizes of published classes
    suppressed_squares: int  # the same of the other classes


class ClassMeasure:
    """A measure of the sizes of the classes of a node."""

    name: str

    def cost(self, sizes: ClassSizes) -> Cost | float:
        """Return the exact cost of a node; ``IMPOSSIBLE`` if it publishes nothing to measure."""
        raise NotImplementedError

    def least(self, lower: ClassSizes, suppressed: int) -> Cost | float:
        """Return a lower bound of the cost of nodes at or above ``lower``, given the rows that a node above suppresses.

        ``suppressed`` counts these rows, or some of them in whole classes.
        """
        raise NotImplementedError

    def value(self, cost: Cost) -> float:
        """Return the measure for a cost."""
        return float(cost)


class Discernibility(ClassMeasure):
    """Discernibility metric, DM (Bayardo & Agrawal 2005): each row pays for all rows that are indistinguishable.

    The sum over classes of size squared, plus the size of the table for every suppressed row.
    """

    name = "discernibility"

    def cost(self, sizes: ClassSizes) -> int:
        return discernibility(sizes.squares, sizes.suppressed, sizes.rows)

    def least(self, lower: ClassSizes, suppressed: int) -> Cost:
        """Bound the cost of every node at or above ``lower``, as follows.

        Let v be a node with lower <= v <= upper, where ``upper`` suppresses s rows. With Q(v) as the sum of squares
        over *all* classes of v, and n rows in the table, ::

            cost(v) = Q(v) + sum over the rows that v suppresses of (n - size of the row's class at v)

        1. Classes of v are unions of classes of ``lower``, and (x + y)^2 >= x^2 + y^2, so Q(v) >= Q(lower).
        2. v suppresses the rows that ``upper`` suppresses, and a class at v is part of the one at ``upper``: for each
           of the s rows, n - size at v >= n - size at upper. A class that ``upper`` suppresses has at most s rows, and
           no more than ``too_small``.
        3. All other terms are not negative.
        """
        largest = min(suppressed, lower.too_small)
        return lower.squares + lower.suppressed_squares + suppressed * (lower.rows - largest)

    def value(self, cost: Cost) -> int:
        return int(cost)


class AverageClassSize(ClassMeasure):
    """Average class size, C_avg (LeFevre 2006): how much larger classes are than they had to be.

    The mean size of the published classes in units of k: 1 is the best.
    """

    name = "average_class_size"

    def cost(self, sizes: ClassSizes) -> Cost | float:
        if not sizes.published:
            return IMPOSSIBLE if sizes.rows else 0
        return Fraction(sizes.rows - sizes.suppressed, sizes.published * sizes.k)

    def least(self, lower: ClassSizes, suppressed: int) -> Cost | float:
        """Bound the cost of every node at or above ``lower``, as follows.

        Let ``lower`` publish P rows in B classes and suppress the other t. Let v >= lower suppress u of these rows, at
        least s, and publish x = t - u of them.

        1. Every published class of v is a union of classes of ``lower``. Either one of the B is among them, or it
           consists of the x rows alone, and has at least k of them. So v has at most B + floor(x/k) classes.
        2. v publishes P + x rows: its mean class has at least (P + x)/(B + floor(x/k)) rows. Between two multiples of k
           this grows with x, and from one multiple to the next it does not grow, because P >= k*B. So it is least for
           the largest multiple of k up to t - s.
        """
        if not lower.rows:
            return 0
        more = (lower.suppressed - suppressed) // lower.k
        if lower.published + more <= 0:
            return IMPOSSIBLE
        rows = lower.rows - lower.suppressed + more * lower.k
        return Fraction(rows, (lower.published + more) * lower.k)


CLASS_MEASURES: dict[str, ClassMeasure] = {measure.name: measure for measure in (Discernibility(), AverageClassSize())}


def discernibility(squares: int, suppressed: int, rows: int) -> int:
    """Return the metric from the squared sizes of the published classes and the suppressed rows."""
    return squares + suppressed * rows


def average_class_size(rows: int, classes: int, k: int) -> float | None:
    """Return the mean size of the published classes in units of k; None without classes."""
    return rows / classes / k if classes else None


def average_rows(rows: int, classes: int) -> float | None:
    """Return the mean size of the published classes in rows (AECS in ARX); None without classes."""
    return rows / classes if classes else None
