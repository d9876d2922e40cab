"""How far two sensitive values are from one another, and the features by which distributions are compared for it.

    features(value, feature, share, total, scale)

A value has one row for each of its features: under the *ordered* distance the first i values of the table, for every
i from its own rank; under the *hierarchical* one its label on every level below the root. Features are numbered.
``share`` is the feature's share of the table, ``total`` the sum of the shares of all features, and ``scale`` what the
sum of their differences is divided by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column

Distance = Literal["equal", "ordered", "hierarchical"]

FEATURES = ("share", "total", "scale")
"""Columns that tell of a feature, beside its number."""
LARGEST = 10_000_000
"""Rows of features that are made at most: of m ordered values there are m (m + 1) / 2."""

_ORDERED_TYPES = [
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "INTERVAL",
]


def natural_distance(column: Column) -> Distance:
    """Return the distance that is meant where none was named: ordered for numbers, dates and times, else equal."""
    kind = folded(column.type).upper()
    return "ordered" if kind.startswith(tuple(_ORDERED_TYPES)) else "equal"


def require_few(values: int, column: str) -> None:
    """Raise where an ordered distance over so many values would never end.

    Raises:
        UsageError: there are too many.
    """
    if values * (values + 1) // 2 > LARGEST:
        raise UsageError(
            f"The ordered distance compares the first 1, 2, 3, ... values of column {column!r}, which has {values:,} "
            "different ones: round them in a view first, or use the equal distance."
        )


def ordered_features(shares: exp.Table, value: str, place: str | None = None) -> exp.Select:
    """Return the query of the features of the ordered distance.

    Args:
        shares: a relation (value, share, ...) with one row for each value of the table.
        value: its column of values.
        place: its column that the values are ordered by, if that is not the value itself; NULL comes first.
    """
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(place or value), nulls_first=True)])
    frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    up_to = exp.Window(this=exp.Sum(this=sql.column("share")), order=order, spec=frame)
    rank = exp.Window(this=exp.RowNumber(), order=order.copy())
    ranked = exp.select(sql.named(sql.column(value), "value"), sql.named(rank, "rank"), sql.named(up_to, "up_to"))
    ranked = ranked.from_(shares.copy())
    facts = exp.select(
        sql.named(exp.Sum(this=sql.column("up_to")), "total"),
        sql.named(exp.Sub(this=sql.count_rows(), expression=sql.literal(1)), "scale"),
    ).from_("ranked")
    at_or_after = exp.GTE(this=sql.column("rank", "later"), expression=sql.column("rank", "own"))
    return (
        exp.select(sql.column("value", "own"))
        .select(sql.named(sql.column("rank", "later"), "feature"), sql.named(sql.column("up_to", "later"), "share"))
        .select(sql.column("total", "facts"), sql.column("scale", "facts"))
        .from_(sql.aliased(sql.relation("ranked"), "own"))
        .join(sql.aliased(sql.relation("ranked"), "later"), on=at_or_after)
        .join("facts", join_type="cross")
        .with_("ranked", as_=ranked)
        .with_("facts", as_=facts)
    )


def hierarchical_features(
    shares: exp.Table, value: str, code: str, lookup: exp.Table, height: int, family: str | None = None
) -> exp.Query:
    """Return the query of the features of the hierarchical distance.

    Args:
        shares: a relation (value, share, ...) with one row for each value of the table.
        value: its column of values, to look up in the hierarchy.
        code: its column that is to be the value of the features.
        lookup: the hierarchy of the column.
        height: its levels above the values.
        family: of the types of the values, where they may have to be compared with NULLs.
    """
    labels: list[exp.Query] = []
    for level in range(height):
        label = sql.column(VALUE if level == 0 else level_name(level), "lookup")
        text = sql.cast(label, "VARCHAR")
        same = sql.same(sql.column(value, "shares"), sql.column(VALUE, "lookup"), family)
        labels.append(
            exp.select(sql.named(sql.column(code, "shares"), "value"), sql.named(sql.literal(level), "level"))
            .select(sql.named(text, "label"), sql.column("share", "shares"))
            .from_(sql.aliased(shares, "shares"))
            .join(sql.aliased(lookup, "lookup"), on=same)
        )
    of_label = [sql.column("level"), sql.column("label")]
    share = exp.Window(this=exp.Sum(this=sql.column("share")), partition_by=[column.copy() for column in of_label])
    order = exp.Order(expressions=[exp.Ordered(this=column, nulls_first=True) for column in of_label])
    number = exp.Window(this=exp.DenseRank(), order=order)
    total, scale = sql.cast(sql.literal(height), "DOUBLE"), sql.literal(2 * height)
    return (
        exp.select("value", sql.named(number, "feature"), sql.named(share, "share"))
        .select(sql.named(total, "total"), sql.named(scale, "scale"))
        .from_("labels")
        .with_("labels", as_=sql.union_all(labels))
    )
