"""Loss metric, LM (Iyengar 2002): how many of the other leaves a cell could be.

A cell whose label has M of the N leaves of its hierarchy costs (M - 1)/(N - 1); a suppressed cell costs 1; a column
with one leaf costs nothing. The loss of a release is the mean over all n*d cells: 0 is the original table.

The unit of a cost is one leaf, so that sums are whole numbers and two nodes are compared exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from fractions import Fraction

    from kanon_sql.measures.labels import Labels


@dataclass(frozen=True)
class Loss:
    """Iyengar's loss metric."""

    name: str = "loss"
    charges_originals: bool = False

    def full(self, labels: Labels) -> int:
        """Return N - 1."""
        return max(0, labels.leaves - 1)

    def cost(self, labels: Labels) -> exp.Expr:  # noqa: ARG002 - the same for every column
        """Return M - 1."""
        return exp.Sub(this=sql.column("leaves"), expression=sql.literal(1))

    def value(self, mean: Fraction) -> float:
        """Return the mean."""
        return float(mean)
