"""t-closeness: sensitive values of every class are spread as in the whole table (Li, Li & Venkatasubramanian 2007).

The distance of both distributions is the earth mover's, for one of three distances between values:

- *equal*: all values are equally far apart. ``1/2 sum |p_i - q_i|``.
- *ordered*: values are as far apart as their ranks. ``1/(m-1) sum_i |sum_{j<=i} (p_j - q_j)|`` over the m values of
  the table.
- *hierarchical*: the distance of two values is the level of their lowest common label, as a share of H levels. On a
  tree whose leaves are equally deep that is ``1/(2H)`` times the sum over all labels below the root, and all values, of
  the difference of their shares: mass that must leave the subtree of a label passes its edge once, and climbs
  ``1/(2H)`` on it.

All three compare the shares of *features*: single values, the first i values, the labels of a tree. With f over
features::

    D = (2 sum over f of max(0, p_f - q_f) - sum p_f + sum q_f) / scale

since |x| = 2 max(0, x) - x. A feature that the class lacks adds nothing to the first two sums, so it needs no
row. The scale is 2, m - 1 or 2H.

The distance is convex, so a union of classes that satisfy the model satisfies it. Not monotone with suppression.

**Features** are stored as a relation

    features(value, feature, share, total, scale)

A value has one row for each of its features: under the *ordered* distance the first i values of the table, for every
i from its own rank; under the *hierarchical* one its label on every level below the root. Features are numbered.
``share`` is the feature's share of the table, ``total`` the sum of the shares of all features, and ``scale`` the
divisor of the sum of their differences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeGuard, get_args

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.models.options import ModelOption, Variant
from kanon_sql.models.sensitive import (
    SensitiveModel,
    Weighed,
    as_double,
    checked_number,
    leniently,
    total_where,
)
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.models.base import PrivacyModel

Distance = Literal["equal", "ordered", "hierarchical"]

_FILES = {
    "equal": "models/t_closeness_equal",
    "ordered": "models/t_closeness_ordered",
    "hierarchical": "models/t_closeness_hierarchical",
}
FEATURES = ("share", "total", "scale")
"""Columns of a feature, besides its number."""
_MOST_FEATURES = 10_000_000
"""Maximum number of rows of features: m ordered values have m (m + 1) / 2."""

_ORDERED_TYPE = re.compile("U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL|DATE|TIME|INTERVAL")


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
        """With its distance, once it is known."""
        return f"t-closeness, {self.distance} distance" if self.distance else "t-closeness"

    @property
    def required(self) -> float:
        return self.t

    def most(self, weighed: Weighed) -> exp.Expr:
        """Return the rows that can be published at most, by the equal distance.

        Let S be the values that are rarer in the class than in the table. Of x published rows, at most the class's own
        rows in S are in S; and they must be at least ``(q_S - t) x``.
        """
        enough = exp.GTE(this=weighed.share_of_class, expression=weighed.share)
        rows = total_where(weighed.n, sql.negated(exp.Paren(this=enough)))
        lacking = exp.Sub(this=sql.double(1 - leniently(self.t)), expression=total_where(weighed.share, enough.copy()))
        bounded = exp.GT(this=lacking, expression=sql.double(1e-9))
        bound = exp.Div(this=as_double(rows), expression=exp.Paren(this=lacking.copy()))
        return exp.Case().when(bounded, bound).else_(as_double(weighed.rows))

    @property
    def file(self) -> str:
        """One for each distance."""
        return _FILES[self.distance or "equal"]

    # Over features: rows (p, share, total, scale, class_n) of a class

    def spread_measure(self, p: exp.Expr, share: exp.Expr, total: exp.Expr, scale: exp.Expr) -> exp.Expr:
        """Return the distance as an aggregate over the features that a class has.

        Arguments: the shares of a feature in the class and in the table, the sum of all shares of the table, and the
        divisor of the sum of differences, which is 0 if there is only one value.
        """
        return self.measured({"p": p, "share": share, "total": total, "scale": scale})

    def spread_most(self, p: exp.Expr, share: exp.Expr, total: exp.Expr, scale: exp.Expr, rows: exp.Expr) -> exp.Expr:
        """Return the rows of a class that can be published at most, over its features.

        With the signs s_f of ``p_f - q_f`` in the class, the published rows must satisfy ``sum s_f (p_f - q_f) <= t
        scale``. That sum is linear in the shares of values. A value's weight is the sum of the signs of its features,
        at most W, the number of positive ones (of the levels, in a tree). With ``A = sum s_f p_f`` and ``E = sum |p_f
        - q_f|`` of the class, x of N rows need ``x (W - A + E - t scale) <= N (W - A)``.
        """
        above = exp.GT(this=p, expression=share)
        positive: exp.Expr = as_double(sql.where(sql.count_rows(), above))
        if self.distance == "hierarchical":  # a value has no more features than the tree has levels
            positive = sql.least([positive, exp.Div(this=as_double(exp.Max(this=scale)), expression=sql.literal(2))])
        signed = exp.Sub(
            this=exp.Mul(this=sql.double(2), expression=total_where(p, above.copy())),
            expression=exp.Sum(this=p.copy()),
        )
        room = exp.Paren(this=exp.Sub(this=positive, expression=exp.Paren(this=signed)))
        excess = exp.Sub(
            this=exp.Paren(this=_differences(p, share, total)),
            expression=exp.Mul(this=sql.double(leniently(self.t)), expression=exp.Max(this=scale)),
        )
        needed = exp.Add(this=room.copy(), expression=exp.Paren(this=excess))
        bounded = exp.GT(this=needed, expression=sql.double(1e-9))
        n = as_double(exp.Max(this=rows))
        share_left = exp.Div(this=exp.Mul(this=n, expression=room), expression=exp.Paren(this=needed.copy()))
        return exp.Case().when(bounded, share_left).else_(n.copy())


def _differences(p: exp.Expr, share: exp.Expr, total: exp.Expr) -> exp.Expr:
    """Return ``sum |p_f - q_f|`` over all features of the table, as an aggregate over those of the class."""
    above = exp.Sum(this=sql.greatest([sql.double(0), exp.Sub(this=p.copy(), expression=share.copy())]))
    twice = exp.Mul(this=sql.double(2), expression=above)
    without = exp.Sub(this=twice, expression=exp.Sum(this=p.copy()))
    return exp.Paren(this=exp.Add(this=without, expression=exp.Max(this=total.copy())))


def compares_features(model: PrivacyModel) -> TypeGuard[TCloseness]:
    """Return True if a model compares features of values, not values."""
    return isinstance(model, TCloseness) and model.distance in {"ordered", "hierarchical"}


def natural_distance(column: Column) -> Distance:
    """Return the default distance: ordered for numbers, dates and times, else equal."""
    return "ordered" if _ORDERED_TYPE.match(folded(column.type).upper()) else "equal"


def require_few(values: int, column: str) -> None:
    """Raise if there are too many values for an ordered distance."""
    if values * (values + 1) // 2 > _MOST_FEATURES:
        raise UsageError(
            f"The ordered distance compares the first 1, 2, 3, ... values of column {column!r}, which has {values:,} "
            "different ones: round them in a view first, or use the equal distance."
        )


def ordered_features(shares: exp.Table) -> exp.Select:
    """Return the features of the ordered distance, from a relation (value, share, ...) of all values."""
    return sql.select(_FILES["ordered"], part="features", relations={"shares": shares})


def hierarchical_features(
    shares: exp.Table, value: str, code: str, lookup: exp.Table, height: int, family: str | None = None
) -> exp.Query:
    """Return the features of the hierarchical distance.

    ``shares``: a relation (value, share, ...) with one row for each value of the table; ``value``: its column of
    values, to look up in the hierarchy; ``code``: its column that becomes the value of the features; ``lookup``: the
    hierarchy of the column; ``height``: its levels above the values; ``family``: of the types of the values, if they
    may have to be compared with NULLs.
    """
    labels: list[exp.Query] = []
    for level in range(height):
        label = sql.column(VALUE if level == 0 else level_name(level), "lookup")
        same = sql.same(sql.column(value, "shares"), sql.column(VALUE, "lookup"), family)
        rows = sql.select(
            _FILES["hierarchical"],
            part="labels",
            values={"level": level, "label": label},
            tables={"shares": shares},
            joins={"lookup": [(sql.aliased(lookup, "lookup"), same)]},
        )
        rows.selects[0].set("this", sql.column(code, "shares"))
        labels.append(rows)
    return sql.query(
        _FILES["hierarchical"],
        part="features",
        values={"height": height, "twice_height": 2 * height},
        steps={"labels": [("labels", sql.union_all(labels))]},
    )


OPTIONS = (
    ModelOption(
        "t",
        TCloseness,
        ("t",),
        "T",
        "In each class, the distribution is within distance T of the table's.",
        is_shown=True,
        variant=Variant(
            "distance",
            get_args(Distance),
            "t-closeness",
            "KIND",
            "Of --t: equal, ordered (the default for numbers and dates) or hierarchical (by --hierarchy COLUMN=FILE).",
        ),
    ),
)
