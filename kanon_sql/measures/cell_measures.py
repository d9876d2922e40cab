"""The measures that are a mean over cells: any of them can be minimized.

Each charges the full cost for a cell at the root or in a suppressed row, and costs only grow on the way up. The
proofs of ``search.optimal`` need no more than that. To add a measure, add a class here and a name to ``CELL_MEASURES``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from fractions import Fraction

    from kanon_sql.measures.labels import Labels

_UNIT = 10**9
"""Costs are integer multiples of this fraction, so a sum does not depend on the order of its terms."""
_BITS_UNIT = 10**8
"""The same, as a fraction of a bit."""


class CellMeasure:
    """A mean over all cells of the loss of each cell: from 0 (nothing) to 1 (everything).

    A cell costs what its label costs. A cell at the root, like every cell of a suppressed row, costs ``full``. On the
    way up a cell's cost only grows: the bounds of the search rely on that.

    Attributes:
        charges_originals: whether original values have a cost, which is subtracted from the cost of a cell; else it is
            0.
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


class Loss(CellMeasure):
    """Loss metric, LM (Iyengar 2002): how many other leaves a cell could be.

    A cell whose label has M of the N leaves of its hierarchy costs (M - 1)/(N - 1); a suppressed cell costs 1; a
    column with one leaf costs nothing. The loss of a release is the mean over all n*d cells: 0 is the original table.

    The unit of a cost is one leaf, so sums are integers and two nodes are compared exactly.
    """

    name = "loss"

    def full(self, labels: Labels) -> int:
        return max(0, labels.leaves - 1)

    def cost(self, labels: Labels) -> exp.Expr:  # noqa: ARG002 - the same for every column
        return sql.column("leaves") - 1


class GlobalCertaintyPenalty(CellMeasure):
    """Global certainty penalty, GCP, from NCP (Xu et al. 2006): how wide the cells became.

    A cell of a numeric column (dates count as numbers) costs the width of the values under its label over the range
    of the column in the table. A cell of another column costs nothing with a single leaf and M/N with M of N leaves. A
    suppressed cell costs 1. The mean over all cells: 0 is the original table.
    """

    name = "gcp"

    def full(self, labels: Labels) -> int:
        if labels.numeric:
            return _UNIT if labels.lower != labels.upper else 0
        return _UNIT if labels.leaves > 1 else 0

    def cost(self, labels: Labels) -> exp.Expr:
        if labels.numeric and labels.lower is not None and labels.upper is not None:
            if labels.lower == labels.upper:
                return sql.literal(0)
            upper = sql.least([sql.column("upper"), sql.literal(labels.upper)])
            lower = sql.greatest([sql.column("lower"), sql.literal(labels.lower)])
            # Halves, because the difference of two large numbers may overflow.
            width = exp.Paren(this=exp.Sub(this=upper / 2, expression=lower / 2))
            wider = exp.Div(this=width, expression=sql.literal(labels.upper / 2 - labels.lower / 2))
            share = sql.greatest([wider, sql.literal(0)])  # for a label whose values are all beyond the range
            # NULL and NaN are not numbers: a label of nothing else has no width.
            without_width = sql.column("lower").is_(exp.null())
            return _if(without_width, sql.literal(0), _whole(share))
        of_leaves = sql.column("leaves") / float(max(1, labels.leaves))
        single = sql.column("leaves").eq(1)
        return _if(single, sql.literal(0), _whole(of_leaves))


class Precision(CellMeasure):
    """Precision, Prec (Sweeney 2002): how far up their hierarchies the cells are.

    One minus the mean over all cells of level/height; a suppressed cell is at the root: 1 is the original table.
    """

    name = "precision"

    def full(self, labels: Labels) -> int:
        return labels.height

    def cost(self, labels: Labels) -> exp.Expr:  # noqa: ARG002 - the same for every column
        return sql.column("level")

    def value(self, mean: Fraction) -> float:
        return float(1 - mean)


class NonUniformEntropy(CellMeasure):
    """Non-uniform entropy (De Waal & Willenborg 1999; Gionis & Tassa 2009): the bits needed to guess the values.

    A cell whose value v became the label V costs -log2(n(v)/n(V)), where n counts the rows of the table with the value
    and with any value under the label: how surprising v is to someone who knows V and how frequent values are in the
    column. A suppressed cell is at the root. The sum over all cells is normalised by the sum with every cell at
    the root: 0 is the original table, 1 means that no information remains.

    The cost splits into log2 n(V), which depends on the label alone, and log2 n(v), which no recoding changes. Labels
    are charged the first term, original values too, and the second is subtracted from the sum.
    """

    name = "nonuniform_entropy"
    charges_originals = True

    def full(self, labels: Labels) -> int:
        return round(math.log(labels.rows) / math.log(2) * _BITS_UNIT) if labels.rows else 0

    def cost(self, labels: Labels) -> exp.Expr:
        bits = sql.log2(sql.cast(sql.column("n"), "DOUBLE"))
        whole = sql.cast(exp.Round(this=exp.Mul(this=bits, expression=sql.literal(_BITS_UNIT))), "BIGINT")
        # Rounding must not lift the label of all rows above the root.
        least = sql.least([whole, sql.literal(self.full(labels))])
        has_rows = sql.column("n") > 0
        return _if(has_rows, least, sql.literal(0))


CELL_MEASURES: dict[str, CellMeasure] = {
    measure.name: measure for measure in (Loss(), GlobalCertaintyPenalty(), Precision(), NonUniformEntropy())
}


def _if(condition: exp.Expr, yes: exp.Expr, no: exp.Expr) -> exp.Case:
    return exp.Case().when(condition, yes, copy=False).else_(no, copy=False)


def _whole(share: exp.Expr) -> exp.Expr:
    return sql.cast(exp.Round(this=exp.Mul(this=share, expression=sql.literal(_UNIT))), "BIGINT")
