"""(alpha,k)-anonymity: no sensitive value has more than a share alpha of a class (Wong et al. 2006).

The k part is ``KAnonymity``, which is required in addition. A union of classes that satisfy the model satisfies it,
because a share of the union is between the shares of its parts. Not monotone with suppression.
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
    checked_number,
    leniently,
)
from kanon_sql.sql import build as sql


@dataclass(frozen=True)
class AlphaKAnonymity(SensitiveModel):
    """Every value of the sensitive column has at most a share ``alpha`` of every class."""

    alpha: float
    name: ClassVar[str] = "(alpha,k)-anonymity"
    file: ClassVar[str] = "models/alpha_k_anonymity"
    letter: ClassVar[str] = "alpha"

    def __post_init__(self) -> None:
        checked_number(self.alpha, "alpha", least=1e-6, most=1)

    @property
    def required(self) -> float:
        return self.alpha

    @property
    def least_rows(self) -> int:
        """A row has a share of at least 1/n."""
        return max(1, math.ceil(1 / leniently(self.alpha) - TOLERANCE))

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return the rows that remain after the most frequent value is cut down to its share: others / (1 - alpha)."""
        others = exp.Sub(this=weighed.rows, expression=exp.Max(this=weighed.n))
        return exp.Div(
            this=as_double(exp.Paren(this=others)), expression=sql.double(max(1 - leniently(self.alpha), TOLERANCE))
        )


OPTIONS = (ModelOption("alpha", AlphaKAnonymity, ("alpha",), "SHARE", "No value has more than this share of a class."),)
