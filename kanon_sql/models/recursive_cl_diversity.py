"""Recursive (c,l)-diversity: no sensitive value is too frequent in a class (Machanavajjhala et al. 2007).

With the counts of a class in descending order ``r_1 >= r_2 >= ... >= r_m``: ``r_1 < c * (r_l + ... + r_m)``. The
measure is ``r_1 / (r_l + ... + r_m)``, the c that the class has: it must stay below c. It is infinite where a class
has fewer than l values.

A union of classes that satisfy the model satisfies it: its r_1 is at most the sum of theirs, and what is left without
l - 1 values is at least the sum of what is left in each without its own l - 1 largest. Not monotone with suppression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from kanon_sql.models.options import ModelOption
from kanon_sql.models.sensitive import (
    SensitiveModel,
    Weighed,
    as_double,
    below,
    checked_count,
    checked_number,
    infinity,
    number,
    total_where,
)
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import sum_of_largest

_FEW = 16  # values whose rows a search keeps for each class; more of them are ranked


@dataclass(frozen=True)
class RecursiveCLDiversity(SensitiveModel):
    """In every class the most frequent value has fewer than ``c`` times the rows of all but the l - 1 most frequent.

    Attributes:
        c: above 0.
        l: a whole number of at least 1.
    """

    c: float
    l: int  # noqa: E741 - the name that the field has in the literature
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
        """What c must stay below."""
        return self.c

    @property
    def least_rows(self) -> int:
        """As many rows as values."""
        return self.l

    @property
    def ranks_values(self) -> bool:
        """Whether so many values count that a search ranks them."""
        return self.l > _FEW

    def _tail(self, weighed: Weighed) -> exp.Expr:
        if self.l <= 2:  # noqa: PLR2004 - all rows, or all but the most frequent value: no ranks are needed
            if self.l == 1:
                return weighed.rows
            return exp.Paren(this=exp.Sub(this=weighed.rows, expression=exp.Max(this=weighed.n)))
        if weighed.coded and not self.ranks_values:
            return exp.Paren(this=exp.Sub(this=weighed.rows, expression=sum_of_largest(weighed.n, self.l - 1)))
        return total_where(weighed.n, exp.GTE(this=weighed.place, expression=sql.literal(self.l)))

    def measure(self, weighed: Weighed) -> exp.Expr:
        """Return the c that the class has."""
        tail = self._tail(weighed)
        has_tail = exp.GT(this=tail.copy(), expression=sql.literal(0))
        ratio = exp.Div(this=as_double(exp.Max(this=weighed.n)), expression=tail)
        return exp.Case().when(has_tail, ratio).else_(infinity())

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return the rows left when the l - 1 most frequent values are cut down to c times the others.

        What is left without the l - 1 largest counts is never more in a part of the class; none of these counts may
        reach c times that.
        """
        tail = self._tail(weighed)
        # In one aggregate: a count among the l - 1 largest is cut down to c times the tail, which is a sum itself.
        longest = exp.Mul(this=number(self.c), expression=tail.copy())
        head = exp.Mul(this=sql.literal(self.l - 1), expression=exp.Paren(this=longest))
        all_of_them = exp.Sub(this=weighed.rows, expression=exp.Paren(this=tail.copy()))
        return exp.Add(this=as_double(tail), expression=sql.least([as_double(all_of_them), head]))

    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return ``measure < c``."""
        return below(measure, self.c)

    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the largest c of a class."""
        return exp.Max(this=measure)


OPTIONS = (
    ModelOption(
        "recursive",
        RecursiveCLDiversity,
        ("c", "l"),
        "C,L",
        "The most frequent value has under C times the rows of the L-th and rarer ones.",
        whole=("l",),
    ),
)
