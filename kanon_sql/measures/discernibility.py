"""Discernibility metric, DM (Bayardo & Agrawal 2005): each row pays for all that it cannot be told from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kanon_sql.measures.base import ClassSizes, Cost


@dataclass(frozen=True)
class Discernibility:
    """The sum over classes of size squared, plus the size of the table for every suppressed row."""

    name: str = "discernibility"

    def cost(self, sizes: ClassSizes) -> int:
        """Return the sum of squares, and the table for every suppressed row."""
        return discernibility(sizes.squares, sizes.suppressed, sizes.rows)

    def least(self, lower: ClassSizes, suppressed: int) -> Cost:
        """Return a cost that no node at or above ``lower`` is below, if the ``suppressed`` rows of a node above it go.

        Let v be a node with lower <= v <= upper, where ``upper`` suppresses s rows. With Q(v) as the sum of squares
        over *all* classes of v, and n rows in the table, ::

            cost(v) = Q(v) + sum over the rows that v suppresses of (n - size of the row's class at v)

        1. Classes of v are unions of classes of ``lower``, and (x + y)^2 >= x^2 + y^2, so that Q(v) >= Q(lower).
        2. v suppresses the rows that ``upper`` suppresses, and a class at v is part of the one at ``upper``: for each
           of the s rows, n - size at v >= n - size at upper. A class that ``upper`` suppresses has at most s rows, and
           no more than ``too_small``.
        3. All other terms are not negative.
        """
        largest = min(suppressed, lower.too_small)
        return lower.squares + lower.suppressed_squares + suppressed * (lower.rows - largest)

    def value(self, cost: Cost) -> int:
        """Return the cost."""
        return int(cost)


def discernibility(squares: int, suppressed: int, rows: int) -> int:
    """Return the sum of squares, and the table for every suppressed row.

    Args:
        squares: sum over the published classes of their size squared.
        suppressed: rows that are suppressed.
        rows: rows of the table.
    """
    return squares + suppressed * rows
