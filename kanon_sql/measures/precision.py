"""Precision, Prec (Sweeney 2002): how far up their hierarchies the cells are.

One minus the mean over all cells of level/height; a suppressed cell is at the root: 1 is the original table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from fractions import Fraction

    from sqlglot import exp

    from kanon_sql.measures.labels import Labels


@dataclass(frozen=True)
class Precision:
    """Sweeney's precision."""

    name: str = "precision"
    charges_originals: bool = False

    def full(self, labels: Labels) -> int:
        """Return the height of the hierarchy."""
        return labels.height

    def cost(self, labels: Labels) -> exp.Expr:  # noqa: ARG002 - the same for every column
        """Return the level of the cell."""
        return sql.column("level")

    def value(self, mean: Fraction) -> float:
        """Return one minus the mean."""
        return float(1 - mean)
