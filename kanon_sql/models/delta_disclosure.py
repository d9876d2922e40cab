"""Delta-disclosure privacy: a class reveals little about any sensitive value (Brickell & Shmatikov 2008).

``|ln(p_i / q_i)| < delta`` for every value of the table, where p is the value's share of the class and q its share of
the table. A value that a class does not have violates it: its p is 0.

These are bounds on shares from both sides, so a union of classes that satisfy them satisfies them. Not monotone
with suppression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from kanon_sql.models.beta_likeness import most_under_caps
from kanon_sql.models.options import ModelOption
from kanon_sql.models.sensitive import (
    SensitiveModel,
    Weighed,
    as_double,
    checked_number,
)
from kanon_sql.sql import build as sql


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """The absolute logarithm of the ratio of a value's share of a class to its share of the table is below ``delta``.

    Attributes:
        delta: from a millionth to 700, where every share except 0 is allowed.
    """

    delta: float
    name: ClassVar[str] = "delta-disclosure privacy"
    file: ClassVar[str] = "models/delta_disclosure"
    letter: ClassVar[str] = "delta"
    compares_shares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_number(self.delta, "delta", least=1e-6, most=700)

    @property
    def required(self) -> float:
        return self.delta

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return the rows under the caps ``q e^delta``, and so few that each value reaches ``q e^-delta``."""
        capped = most_under_caps(weighed, exp.Mul(this=sql.double(math.exp(self.delta)), expression=weighed.share))
        floor = exp.Mul(this=sql.double(math.exp(-self.delta)), expression=weighed.share)
        reached = exp.Min(this=exp.Div(this=as_double(weighed.n), expression=exp.Paren(this=floor)))
        complete = exp.EQ(this=sql.count_rows(), expression=exp.Max(this=weighed.values))
        return exp.Case().when(complete, sql.least([capped, reached])).else_(sql.literal(0))


OPTIONS = (
    ModelOption(
        "delta",
        DeltaDisclosure,
        ("delta",),
        "DELTA",
        "The logarithm of a value's gain or loss of share stays below DELTA.",
    ),
)
