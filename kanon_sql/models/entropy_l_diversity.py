"""Entropy l-diversity: the sensitive values of every class are spread as evenly as l equally frequent ones.

``-sum p_i ln p_i >= ln l`` (Machanavajjhala et al. 2007). The measure is reported as ``exp`` of the entropy: the
number of equally frequent values with the same entropy, to be compared with l itself. With class counts ``n_i`` and
their sum N the entropy is ``ln N - (sum n_i ln n_i) / N``, in one pass.

Entropy is concave, so that a union of classes that satisfy the model satisfies it. Not monotone with suppression: a
class may merge with a one-sided one that was suppressed, and fail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from kanon_sql.models.options import ModelOption
from kanon_sql.models.sensitive import TOLERANCE, SensitiveModel, Weighed, as_double, at_least, checked_number, number
from kanon_sql.sql import build as sql


@dataclass(frozen=True)
class EntropyLDiversity(SensitiveModel):
    """The entropy of the sensitive column in every class is at least ``ln l``.

    Attributes:
        l: how many equally frequent values have that entropy; need not be whole.
    """

    l: float  # noqa: E741 - the name that the field has in the literature
    name: ClassVar[str] = "entropy l-diversity"
    letter: ClassVar[str] = "l"

    def __post_init__(self) -> None:
        checked_number(self.l, "l of entropy l-diversity", least=1)

    @property
    def required(self) -> float:
        """How many equally frequent values have that entropy."""
        return self.l

    @property
    def least_rows(self) -> int:
        """As many rows as values: no fewer than l of them have that entropy."""
        return math.ceil(self.l - 4 * TOLERANCE)

    def measure(self, weighed: Weighed) -> exp.Expr:
        """Return how many equally frequent values have the entropy of the class."""
        weight = exp.Mul(this=weighed.n, expression=exp.Ln(this=as_double(weighed.n)))
        mean = exp.Div(this=exp.Sum(this=weight), expression=weighed.rows)
        return exp.Exp(this=exp.Sub(this=exp.Ln(this=as_double(weighed.rows)), expression=mean))

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return a bound from the most frequent value: its share is at most p where the entropy is that of ln l.

        With m values in the table, a share of p leaves at most ``h(p) + (1 - p) ln(m - 1)``. So of the N rows, M of
        which have the most frequent value, at most ``(N - M) / (1 - p)`` can be published together. With fewer than l
        values none can.
        """
        # At its highest entropy is flat: what the tolerance makes of l makes thousands of times more of a share.
        largest = largest_share(self.l - 4 * TOLERANCE, weighed.values_of_table or 1)
        others = exp.Sub(this=weighed.rows, expression=exp.Max(this=weighed.n))
        bound = exp.Div(this=as_double(exp.Paren(this=others)), expression=number(max(1 - largest, 1e-12)))
        enough = at_least(sql.count_rows(), self.l)
        return exp.Case().when(enough, bound).else_(sql.literal(0))

    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return ``measure >= l``."""
        return at_least(measure, self.l)

    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the lowest entropy of a class."""
        return exp.Min(this=measure)


def largest_share(l: float, values: int) -> float:  # noqa: E741 - as above
    """Return the largest share that one of so many values can have where the entropy is at least ``ln l``."""
    if l <= 1:
        return 1.0

    def entropy(share: float) -> float:
        rest = 1 - share
        own = -(share * math.log(share)) - (rest * math.log(rest) if rest > 0 else 0)
        return own + (rest * math.log(values - 1) if values > 1 else 0)

    low, high = 1 / max(values, 1), 1.0  # entropy falls from ln m at 1/m to 0 at 1
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if entropy(middle) >= math.log(l) else (low, middle)
    return high


OPTIONS = (
    ModelOption(
        "entropy_l",
        EntropyLDiversity,
        ("l",),
        "L",
        "Values as evenly spread in each class as L equally frequent ones.",
    ),
)
