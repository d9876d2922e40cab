"""What a quality measure is: a sum over cells, or a number made from the sizes of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fractions import Fraction

    from sqlglot import exp

    from kanon_sql.measures.labels import Labels


class CellMeasure(Protocol):
    """A measure that is the mean over all cells of what each cell lost: from 0 (nothing) to 1 (everything).

    A cell with its original value costs nothing. A cell at the root, like every cell of a suppressed row, costs
    ``full``. On the way up a cell's cost only grows: the bounds of the search rest on that.
    """

    @property
    def name(self) -> str:
        """As it is called in reports."""

    def full(self, labels: Labels) -> int:
        """Return the cost of a cell at the root, in the measure's own unit; 0 if the column has nothing to lose."""

    def cost(self, labels: Labels) -> exp.Expr:
        """Return the cost of a cell with a label below the root, over the columns of the labels relation."""

    def value(self, mean: Fraction) -> float:
        """Return the measure for a mean cost per cell between 0 and 1."""
