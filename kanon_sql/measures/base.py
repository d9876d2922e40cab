"""Quality measures: a sum over cells, or a number made from the sizes of classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

    from kanon_sql.measures.labels import Labels

Cost = int | Fraction
"""What is minimized: an exact number, so that two nodes are compared without rounding."""
IMPOSSIBLE = math.inf
"""The cost of what no release can be."""


class CellMeasure:
    """A mean over all cells of what each cell lost: from 0 (nothing) to 1 (everything).

    A cell costs what its label costs. A cell at the root, like every cell of a suppressed row, costs ``full``. On the
    way up a cell's cost only grows: the bounds of the search rest on that.

    Attributes:
        charges_originals: whether original values have a cost, from which the cost of a cell is counted; else it is 0.
    """

    name: str
    charges_originals = False

    def full(self, labels: Labels) -> int:
        """Return the cost of a cell at the root, in the measure's own unit; 0 if the column has nothing to lose."""
        raise NotImplementedError

    def cost(self, labels: Labels) -> exp.Expr:
        """Return the cost of a cell with a label below the root, over the columns of the labels relation."""
        raise NotImplementedError

    def value(self, mean: Fraction) -> float:
        """Return the measure for a mean cost per cell between 0 and 1."""
        return float(mean)


@dataclass(frozen=True)
class ClassSizes:
    """The sizes of the classes of a node."""

    rows: int
    k: int  # rows that a published class has at least
    too_small: int  # rows that a suppressed class has at most
    published: int  # classes that satisfy all models
    suppressed: int  # rows in the other classes
    squares: int  # the sum of the squared sizes of the published classes, in rows
    suppressed_squares: int  # the same of the other classes


class ClassMeasure:
    """A measure made from the sizes of the classes of a node."""

    name: str

    def cost(self, sizes: ClassSizes) -> Cost | float:
        """Return the exact cost of a node; ``IMPOSSIBLE`` if it publishes nothing that could be measured."""
        raise NotImplementedError

    def least(self, lower: ClassSizes, suppressed: int) -> Cost | float:
        """Return a cost that no node at or above ``lower`` is below, if the ``suppressed`` rows of a node above it go.

        ``suppressed`` may be some of these rows, in whole classes.
        """
        raise NotImplementedError

    def value(self, cost: Cost) -> float:
        """Return the measure for a cost."""
        return float(cost)
