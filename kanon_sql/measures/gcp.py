"""Global certainty penalty, GCP, from NCP (Xu et al. 2006): how wide the cells became.

A cell of a numeric column (dates count as numbers) costs the width of the values under its label over the range
of the column in the table; a cell of another column costs nothing with a single leaf and M/N with M of N leaves; a
suppressed cell costs 1. The mean over all cells: 0 is the original table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from fractions import Fraction

    from kanon_sql.measures.labels import Labels

_UNIT = 10**9
"""Costs are whole numbers of this fraction, so that a sum does not depend on the order of its terms."""


@dataclass(frozen=True)
class GlobalCertaintyPenalty:
    """Normalised certainty penalty, as a mean over all cells."""

    name: str = "gcp"
    charges_originals: bool = False

    def full(self, labels: Labels) -> int:
        """Return the cost of a full cell; 0 where the table has one value only."""
        if labels.numeric:
            return _UNIT if labels.lower != labels.upper else 0
        return _UNIT if labels.leaves > 1 else 0

    def cost(self, labels: Labels) -> exp.Expr:
        """Return the width of the label within the column's range, or its share of the leaves."""
        if labels.numeric and labels.lower is not None and labels.upper is not None:
            if labels.lower == labels.upper:
                return sql.literal(0)
            upper = sql.least([sql.column("upper"), sql.literal(labels.upper)])
            lower = sql.greatest([sql.column("lower"), sql.literal(labels.lower)])
            # Halves, because the difference of two large numbers may be too large for one.
            width = exp.Paren(this=exp.Sub(this=_half(upper), expression=_half(lower)))
            wider = exp.Div(this=width, expression=sql.literal(labels.upper / 2 - labels.lower / 2))
            share = sql.greatest([wider, sql.literal(0)])  # of a label all of whose values are beyond the range
            # NULL is no number, and neither is NaN: a label of nothing else has no width.
            without_width = sql.column("lower").is_(exp.null())
            return exp.Case().when(without_width, sql.literal(0)).else_(_whole(share))
        of_leaves = exp.Div(this=sql.column("leaves"), expression=sql.literal(float(max(1, labels.leaves))))
        single = exp.EQ(this=sql.column("leaves"), expression=sql.literal(1))
        return exp.Case().when(single, sql.literal(0)).else_(_whole(of_leaves))

    def value(self, mean: Fraction) -> float:
        """Return the mean."""
        return float(mean)


def _half(number: exp.Expr) -> exp.Expr:
    return exp.Div(this=number, expression=sql.literal(2))


def _whole(share: exp.Expr) -> exp.Expr:
    return sql.cast(exp.Round(this=exp.Mul(this=share, expression=sql.literal(_UNIT))), "BIGINT")
