"""l-diversity: every class has several sensitive values (Machanavajjhala et al. 2007), in three forms.

*Distinct*: at least l different values. Monotone, with suppression: a merged class has all values of each of its
parts.

*Entropy*: values spread as evenly as l equally frequent ones, ``-sum p_i ln p_i >= ln l``. The measure is reported as
``exp`` of the entropy: the number of equally frequent values with the same entropy, to be compared with l itself. With
class counts ``n_i`` and their sum N the entropy is ``ln N - (sum n_i ln n_i) / N``, in one pass. Entropy is concave,
so a union of classes that satisfy the model satisfies it. Not monotone with suppression: a class may merge with a
one-sided one that was suppressed, and fail.

*Recursive (c,l)*: no value is too frequent. With the counts of a class in descending order ``r_1 >= r_2 >= ... >=
r_m``: ``r_1 < c * (r_l + ... + r_m)``. The measure is ``r_1 / (r_l + ... + r_m)``, the c that the class has: it must
stay below c. It is infinite if a class has fewer than l values. A union of classes that satisfy the model satisfies
it: its r_1 is at most the sum of theirs, and its sum without l - 1 values is at least the sum over the classes, each
without its own l - 1 largest. Not monotone with suppression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from kanon_sql.models.options import ModelOption
from kanon_sql.models.sensitive import (
    TOLERANCE,
    SensitiveModel,
    Weighed,
    as_double,
    at_least,
    checked_count,
    checked_number,
    total_where,
)
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import sum_of_largest


@dataclass(frozen=True)
class DistinctLDiversity(SensitiveModel):
    """Every class has at least ``l`` different values of the sensitive column."""

    l: int  # noqa: E741 - the name that the field has in the literature
    name: ClassVar[str] = "distinct l-diversity"
    file: ClassVar[str] = "models/distinct_l_diversity"
    letter: ClassVar[str] = "l"
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_count(self.l, "l")

    @property
    def required(self) -> int:
        return self.l

    @property
    def least_rows(self) -> int:
        """At least one row per value."""
        return self.l

    def most(self, weighed: Weighed) -> exp.Expr:  # noqa: ARG002 - the bound holds for every class
        """Return 0: if a class has too few values, so has every part of it."""
        return sql.literal(0)


@dataclass(frozen=True)
class EntropyLDiversity(SensitiveModel):
    """The entropy of the sensitive column in every class is at least ``ln l``.

    Attributes:
        l: number of equally frequent values with that entropy; may be fractional.
    """

    l: float  # noqa: E741 - the name that the field has in the literature
    name: ClassVar[str] = "entropy l-diversity"
    file: ClassVar[str] = "models/entropy_l_diversity"
    letter: ClassVar[str] = "l"

    def __post_init__(self) -> None:
        checked_number(self.l, "l of entropy l-diversity", least=1)

    @property
    def required(self) -> float:
        return self.l

    @property
    def least_rows(self) -> int:
        """At least one row per value: fewer than l values cannot have that entropy."""
        return math.ceil(self.l - 4 * TOLERANCE)

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return a bound from the most frequent value: its share is at most p if the entropy is ``ln l``.

        With m values in the table, a share of p leaves an entropy of at most ``h(p) + (1 - p) ln(m - 1)``. So of N
        rows, M of them with the most frequent value, at most ``(N - M) / (1 - p)`` can be published together. With
        fewer than l values none can.
        """
        # Entropy is flat at its maximum: the tolerance on l becomes thousands of times larger on a share.
        largest = largest_share(self.l - 4 * TOLERANCE, weighed.values_of_table or 1)
        others = exp.Sub(this=weighed.rows, expression=exp.Max(this=weighed.n))
        bound = exp.Div(this=as_double(exp.Paren(this=others)), expression=sql.double(max(1 - largest, 1e-12)))
        enough = at_least(sql.count_rows(), self.l)
        return exp.Case().when(enough, bound).else_(sql.literal(0))


def largest_share(l: float, values: int) -> float:  # noqa: E741 - as above
    """Return the largest possible share of one of ``values`` values if the entropy is at least ``ln l``."""
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


def _ranked_tail(n: exp.Expr, place: exp.Expr, l: int) -> exp.Expr:  # noqa: E741 - as above
    return total_where(n, exp.GTE(this=place, expression=sql.literal(l)))


_FEW = 16  # values whose rows a search keeps for each class; with more, values are ranked


@dataclass(frozen=True)
class RecursiveCLDiversity(SensitiveModel):
    """In every class the most frequent value has fewer than ``c`` times the rows of all but the l - 1 most frequent.

    Attributes:
        c: above 0.
        l: an integer of at least 1.
    """

    c: float
    l: int  # noqa: E741 - the name that the field has in the literature
    file: ClassVar[str] = "models/recursive_cl_diversity"
    letter: ClassVar[str] = "c"

    def __post_init__(self) -> None:
        checked_number(self.c, "c of recursive (c,l)-diversity", least=0, open_end=True)
        checked_count(self.l, "l of recursive (c,l)-diversity")

    @property
    def name(self) -> str:
        """With its l: the threshold is c."""
        return f"recursive (c,{self.l})-diversity"

    @property
    def required(self) -> float:
        return self.c

    @property
    def least_rows(self) -> int:
        """At least one row per value."""
        return self.l

    @property
    def ranks_values(self) -> bool:
        """True if l is so large that a search ranks the values."""
        return self.l > _FEW

    def _tail(self, weighed: Weighed) -> exp.Expr:
        if self.l <= 2:  # noqa: PLR2004 - all rows, or all but the most frequent value: no ranks are needed
            if self.l == 1:
                return weighed.rows
            return exp.Paren(this=exp.Sub(this=weighed.rows, expression=exp.Max(this=weighed.n)))
        if weighed.coded and not self.ranks_values:
            return exp.Paren(this=exp.Sub(this=weighed.rows, expression=sum_of_largest(weighed.n, self.l - 1)))
        return _ranked_tail(weighed.n, weighed.place, self.l)

    def measure(self, weighed: Weighed) -> exp.Expr:
        """Return the c that the class has: as in the file, but without ranks if they are not needed."""
        ranked, tail = _ranked_tail(sql.column("n"), sql.column("place"), self.l), self._tail(weighed)

        def replaced(node: exp.Expr) -> exp.Expr:
            return weighed.columns.get(node.name, node) if isinstance(node, exp.Column) else node

        return self.measured({}).transform(lambda node: tail.copy() if node == ranked else replaced(node))

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return the rows that remain after the l - 1 most frequent values are cut down to c times the others.

        The sum without the l - 1 largest counts is never larger in a part of the class, and none of these counts may
        reach c times that sum.
        """
        tail = self._tail(weighed)
        # In one aggregate: a count among the l - 1 largest is cut down to c times the tail, which is a sum itself.
        longest = exp.Mul(this=sql.double(self.c), expression=tail.copy())
        head = exp.Mul(this=sql.literal(self.l - 1), expression=exp.Paren(this=longest))
        all_of_them = exp.Sub(this=weighed.rows, expression=exp.Paren(this=tail.copy()))
        return exp.Add(this=as_double(tail), expression=sql.least([as_double(all_of_them), head]))


OPTIONS = (
    ModelOption(
        "l",
        DistinctLDiversity,
        ("l",),
        "L",
        "Each class has L different values of the sensitive column.",
        whole=("l",),
        is_shown=True,
    ),
    ModelOption(
        "entropy_l",
        EntropyLDiversity,
        ("l",),
        "L",
        "Values as evenly spread in each class as L equally frequent ones.",
    ),
    ModelOption(
        "recursive",
        RecursiveCLDiversity,
        ("c", "l"),
        "C,L",
        "The most frequent value has under C times the rows of the L-th and rarer ones.",
        whole=("l",),
    ),
)
