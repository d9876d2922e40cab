"""Non-uniform entropy (De Waal & Willenborg 1999; Gionis & Tassa 2009): the bits that it takes to guess the values.

A cell whose value v became the label V costs -log2(n(v)/n(V)), where n counts the rows of the table with the value and
with any value under the label: how surprising v is to someone who knows V and how frequent values are in the column. A
suppressed cell is at the root. The sum over all cells is normalised by what it is when every cell is at the root: 0
is the original table, 1 says nothing.

The cost splits into log2 n(V), which depends on the label alone, and log2 n(v), which no recoding changes: what is
charged for a label is the first, for original values too, and the second is taken off the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from fractions import Fraction

    from kanon_sql.measures.labels import Labels

_UNIT = 10**8
"""Costs are whole numbers of this fraction of a bit, so that a sum does not depend on the order of its terms."""


@dataclass(frozen=True)
class NonUniformEntropy:
    """Non-uniform entropy, as a share of that of the table of roots."""

    name: str = "nonuniform_entropy"
    charges_originals: bool = True

    def full(self, labels: Labels) -> int:
        """Return the bits of a choice among all rows of the table."""
        return round(math.log(labels.rows) / math.log(2) * _UNIT) if labels.rows else 0

    def cost(self, labels: Labels) -> exp.Expr:
        """Return the bits of a choice among the rows under the label."""
        bits = sql.log2(sql.cast(sql.column("n"), "DOUBLE"))
        whole = sql.cast(exp.Round(this=exp.Mul(this=bits, expression=sql.literal(_UNIT))), "BIGINT")
        # Rounding must not lift the label of all rows above the root.
        least = sql.least([whole, sql.literal(self.full(labels))])
        has_rows = exp.GT(this=sql.column("n"), expression=sql.literal(0))
        return exp.Case().when(has_rows, least).else_(sql.literal(0))

    def value(self, mean: Fraction) -> float:
        """Return the mean."""
        return float(mean)
