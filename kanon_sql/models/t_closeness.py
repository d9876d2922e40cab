"""t-closeness: sensitive values of every class are spread as in the whole table (Li, Li & Venkatasubramanian 2007).

The distance of both distributions is the earth mover's, for one of three distances between values:

- *equal*: all values are equally far apart. ``1/2 sum |p_i - q_i|``.
- *ordered*: values are as far apart as their ranks. ``1/(m-1) sum_i |sum_{j<=i} (p_j - q_j)|`` over the m values of
the table.
- *hierarchical*: values are as far apart as the level of their lowest common label is high, of H levels. On a tree
  whose leaves are equally deep that is ``1/(2H)`` times the sum over all labels below the root, and all values, of
  the difference of their shares: mass that must leave the subtree of a label passes its edge once, and climbs
  ``1/(2H)`` on it.

All three compare the shares of *features*: single values, the first i values, the labels of a tree. With f over
features::

    D = (2 sum over f of max(0, p_f - q_f) - sum p_f + sum q_f) / scale

since |x| = 2 max(0, x) - x; a feature that the class lacks adds nothing to the first two sums, so that it needs no
row. The scale is 2, m - 1 or 2H.

The distance is convex, so that a union of classes that satisfy the model satisfies it. Not monotone with suppression.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeGuard, get_args

from sqlglot import exp

from kanon_sql.models.distances import Distance
from kanon_sql.models.options import ModelOption, Variant
from kanon_sql.models.sensitive import (
    SensitiveModel,
    Weighed,
    as_double,
    at_most,
    checked_number,
    leniently,
    number,
    total_where,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.models.base import PrivacyModel


@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """The distribution of the sensitive column in every class is at most ``t`` from that in the table.

    Attributes:
        t: from 0 to 1.
        distance: "equal", "ordered" or "hierarchical"; None is ordered for numbers, dates and times, and equal for
            others.
    """

    t: float
    distance: Distance | None = field(default=None)
    letter: ClassVar[str] = "t"
    compares_shares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_number(self.t, "t", least=0, most=1)

    @property
    def name(self) -> str:
        """With its distance, once that is known."""
        return f"t-closeness, {self.distance} distance" if self.distance else "t-closeness"

    @property
    def required(self) -> float:
        """The largest distance."""
        return self.t

    def measure(self, weighed: Weighed) -> exp.Expr:
        """Return the equal distance: what values have above their shares of the table."""
        above = exp.Sub(this=weighed.share_of_class, expression=weighed.share)
        return exp.Sum(this=sql.greatest([number(0), above]))

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return the rows that can be published at most, by the equal distance.

        Let S be the values that the class has too few of. Of x published rows, at most those that the class has in S
        are in S; and they must be at least ``(q_S - t) x``.
        """
        enough = exp.GTE(this=weighed.share_of_class, expression=weighed.share)
        rows = total_where(weighed.n, sql.negated(exp.Paren(this=enough)))
        lacking = exp.Sub(this=number(1 - leniently(self.t)), expression=total_where(weighed.share, enough.copy()))
        bounded = exp.GT(this=lacking, expression=number(1e-9))
        bound = exp.Div(this=as_double(rows), expression=exp.Paren(this=lacking.copy()))
        return exp.Case().when(bounded, bound).else_(as_double(weighed.rows))

    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return ``measure <= t``."""
        return at_most(measure, self.t)

    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the largest distance of a class."""
        return exp.Max(this=measure)

    # Over features: rows (p, share, total, scale, class_n) of a class

    def spread_measure(self, p: exp.Expr, share: exp.Expr, total: exp.Expr, scale: exp.Expr) -> exp.Expr:
        """Return the distance as an aggregate over the features that a class has: their shares of it and of the table.

        Args:
            p: the feature's share of the class.
            share: its share of the table.
            total: the sum of the shares of all features of the table.
            scale: what the sum of differences is divided by; 0 where there is only one value.
        """
        return (
            exp.Case()
            .when(
                exp.GT(this=exp.Max(this=scale), expression=sql.literal(0)),
                exp.Div(this=_differences(p, share, total), expression=exp.Max(this=scale.copy())),
            )
            .else_(number(0))
        )

    def spread_most(self, p: exp.Expr, share: exp.Expr, total: exp.Expr, scale: exp.Expr, rows: exp.Expr) -> exp.Expr:
        """Return the rows of a class that can be published at most, over its features.

        With the signs s_f of ``p_f - q_f`` in the class, ``sum s_f (p_f - q_f) <= t scale`` must hold in what is
        published. That sum is linear in the shares of values; a value's weight is the sum of the signs of its
        features, at most W, the number of positive ones (of the
        levels, in a tree). With ``A = sum s_f p_f`` and ``E = sum |p_f - q_f|`` of the
        class, x of N rows need ``x (W - A + E - t scale) <= N (W - A)``.
        """
        above = exp.GT(this=p, expression=share)
        positive: exp.Expr = as_double(sql.where(sql.count_rows(), above))
        if self.distance == "hierarchical":  # a value has no more features than the tree has levels
            positive = sql.least([positive, exp.Div(this=as_double(exp.Max(this=scale)), expression=sql.literal(2))])
        signed = exp.Sub(
            this=exp.Mul(this=number(2), expression=total_where(p, above.copy())), expression=exp.Sum(this=p.copy())
        )
        room = exp.Paren(this=exp.Sub(this=positive, expression=exp.Paren(this=signed)))
        excess = exp.Sub(
            this=exp.Paren(this=_differences(p, share, total)),
            expression=exp.Mul(this=number(leniently(self.t)), expression=exp.Max(this=scale)),
        )
        needed = exp.Add(this=room.copy(), expression=exp.Paren(this=excess))
        bounded = exp.GT(this=needed, expression=number(1e-9))
        n = as_double(exp.Max(this=rows))
        share_left = exp.Div(this=exp.Mul(this=n, expression=room), expression=exp.Paren(this=needed.copy()))
        return exp.Case().when(bounded, share_left).else_(n.copy())


def _differences(p: exp.Expr, share: exp.Expr, total: exp.Expr) -> exp.Expr:
    """Return ``sum |p_f - q_f|`` over all features of the table, as an aggregate over those of the class."""
    above = exp.Sum(this=sql.greatest([number(0), exp.Sub(this=p.copy(), expression=share.copy())]))
    twice = exp.Mul(this=number(2), expression=above)
    without = exp.Sub(this=twice, expression=exp.Sum(this=p.copy()))
    return exp.Paren(this=exp.Add(this=without, expression=exp.Max(this=total.copy())))


def compares_features(model: PrivacyModel) -> TypeGuard[TCloseness]:
    """Tell whether a model compares features of values, and not values."""
    return isinstance(model, TCloseness) and model.distance in {"ordered", "hierarchical"}


OPTIONS = (
    ModelOption(
        "t",
        TCloseness,
        ("t",),
        "T",
        "Values of each class are spread as in the table, but for a distance of T.",
        variant=Variant(
            "distance",
            get_args(Distance),
            "t-closeness",
            "KIND",
            "Of --t: equal, ordered (the default for numbers and dates) or hierarchical (by --hierarchy COLUMN=FILE).",
        ),
    ),
)
