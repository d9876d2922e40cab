"""Beta-likeness: no sensitive value is much more frequent in a class than in the table (Cao & Karras 2012).

*Basic*: ``(p_i - q_i) / q_i <= beta`` for every value with ``p_i > q_i``, where p is the value's share of the class
and q its share of the table. *Enhanced*: ``(p_i - q_i) / q_i <= min(beta, -ln q_i)``, so frequent values may gain
less.

Both are upper bounds on shares, ``p_i <= u_i``, so a union of classes that satisfy them satisfies them. Not
monotone with suppression.
"""

from __future__ import annotations

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
    total_where,
)
from kanon_sql.sql import build as sql


def most_under_caps(weighed: Weighed, cap: exp.Expr) -> exp.Expr:
    """Return how many rows of a class can be published at most if each value's share has a cap.

    Of the values S that exceed their caps in the class, x published rows have at most ``x * (sum of the caps of
    S)``. So x is at most the number of rows with other values, divided by ``1 - (sum of the caps of S)``; unbounded if
    that is not positive.
    """
    allowed = exp.Mul(this=exp.Paren(this=cap), expression=weighed.class_n)
    above = exp.GT(this=as_double(weighed.n), expression=allowed)
    others = exp.Sub(this=weighed.rows, expression=total_where(weighed.n, above))
    left = exp.Sub(this=sql.double(1), expression=total_where(cap.copy(), above.copy()))
    bounded = exp.GT(this=left, expression=sql.double(TOLERANCE))
    bound = exp.Div(this=as_double(exp.Paren(this=others)), expression=exp.Paren(this=left.copy()))
    return exp.Case().when(bounded, bound).else_(as_double(weighed.rows))


@dataclass(frozen=True)
class _BetaLikeness(SensitiveModel):
    """A bound on the gain of a value in a class, by its measure."""

    beta: float
    letter: ClassVar[str] = "beta"
    compares_shares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_number(self.beta, "beta", least=0, open_end=True)

    @property
    def required(self) -> float:
        return self.beta


@dataclass(frozen=True)
class BasicBetaLikeness(_BetaLikeness):
    """No sensitive value gains more than ``beta`` times its share of the table in any class."""

    name: ClassVar[str] = "basic beta-likeness"
    file: ClassVar[str] = "models/basic_beta_likeness"

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return the rows under the caps ``(1 + beta) q_i``."""
        return most_under_caps(weighed, exp.Mul(this=sql.double(1 + leniently(self.beta)), expression=weighed.share))


@dataclass(frozen=True)
class EnhancedBetaLikeness(_BetaLikeness):
    """No value gains more than ``beta`` times its share, nor more than ``-ln`` of its share, in any class."""

    name: ClassVar[str] = "enhanced beta-likeness"
    file: ClassVar[str] = "models/enhanced_beta_likeness"

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return the rows under the caps ``(1 + min(beta, -ln q_i)) q_i``."""
        gain = sql.least([sql.double(leniently(self.beta)), exp.Neg(this=exp.Ln(this=weighed.share))])
        allowed = exp.Paren(this=exp.Add(this=sql.double(leniently(1)), expression=gain))
        return most_under_caps(weighed, exp.Mul(this=weighed.share, expression=allowed))


OPTIONS = (
    ModelOption(
        "beta",
        BasicBetaLikeness,
        ("beta",),
        "BETA",
        "No value is over 1 + BETA times as frequent in a class as in the table.",
    ),
    ModelOption(
        "enhanced_beta",
        EnhancedBetaLikeness,
        ("beta",),
        "BETA",
        "The same, and frequent values gain at most -ln of their share.",
    ),
)
