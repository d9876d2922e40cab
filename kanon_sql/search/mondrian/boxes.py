"""The boxes of a multidimensional recoding in terms of the table's own values: what scripts show and releases join.

    kanon_order_<column>(value, place)                    texts in the order in which they are cut
    kanon_cuts(box, column_name, age, zip_from, zip_to, [position], inside, outside)
    kanon_boxes(box, age_from, age_to, age_null, zip_from, zip_to, age, zip)

The table is box 1. Boxes that are cut have the lower numbers, those that are published the higher ones. A cut sends
rows of its box inside, if their value in its column is no greater than the one that the cut has there (NULL is smaller
than any), or stands from .._from to .._to in the column's order; all others go outside. A box that is not cut has what
is published of it, and from which values to which it goes.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.measures.labels import LABEL
from kanon_sql.measures.places import PART
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.places import Places


class BoxColumns:
    """Names of the columns of cuts and boxes, of which no two are the same."""

    def __init__(self, hierarchies: Sequence[Hierarchy]) -> None:
        """Choose the names."""
        own = [hierarchy.column.name for hierarchy in hierarchies]
        suffixes = ("from", "to", "null", "label", "place")
        of_all = ("box", "column_name", "position", "inside", "outside")
        wanted = [f"{column}_{suffix}" for suffix in suffixes for column in own]
        names = iter(unused_names([*wanted, *of_all], own))
        self.labels = own
        self.low, self.high, self.null, self.published, self.place = (list(islice(names, len(own))) for _ in suffixes)
        self.box, self.cut_column, self.position, self.inside, self.outside = names


def order_query(column: Places) -> exp.Select:
    """Return the query of the texts of a column in their order."""
    return exp.select(VALUE, "place").from_(column.relation.copy())


def numbers_query(cuts: exp.Table, parts: exp.Table) -> exp.Select:
    """Return the query of the numbers of all parts: first those that were cut, with part 1 as number 1, then boxes."""
    cut = exp.select(sql.named(sql.literal(1), "kind"), PART).from_(cuts.copy())
    boxes = exp.select(sql.named(sql.literal(2), "kind"), PART).from_(parts.copy())
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(name)) for name in ("kind", PART)])
    number = sql.cast(exp.Window(this=exp.RowNumber(), order=order), "INTEGER")
    return exp.select(PART, sql.named(number, "number")).from_(
        exp.union(cut.distinct(), boxes, distinct=False).subquery("parts")
    )


def cuts_query(
    cuts: exp.Table, numbers: exp.Table, places: Sequence[Places], names: BoxColumns, *, relaxed: bool
) -> exp.Select:
    """Return the query of the cuts in terms of values."""
    column_name = exp.Case(this=sql.column("column_number", "cuts"))
    for column in places:
        own = column.hierarchy.column.name
        column_name = column_name.when(sql.literal(column.number + 1), sql.literal(own), copy=False)
    query = exp.select(sql.named(sql.column("number", "own"), names.box), sql.named(column_name, names.cut_column))
    query = query.from_(sql.aliased(cuts, "cuts"))
    for alias, part in (("own", PART), ("inside", "inside"), ("outside", "outside")):
        same = exp.EQ(this=sql.column(PART, alias), expression=sql.column(part, "cuts"))
        query = query.join(sql.aliased(numbers, alias), on=same)
    for column in places:
        number, alias = column.number, f"places_{column.number + 1}"
        its_own = exp.EQ(this=sql.column("column_number", "cuts"), expression=sql.literal(number + 1))
        if column.ordered:
            there = exp.and_(
                its_own, exp.EQ(this=sql.column("place", alias), expression=sql.column("to_place", "cuts"))
            )
            query = query.join(sql.aliased(column.relation, alias), on=there, join_type="left", copy=False)
            query = query.select(sql.named(sql.column(VALUE, alias), names.labels[number]), copy=False)
            continue
        for name, end in ((names.low[number], "from_place"), (names.high[number], "to_place")):
            query = query.select(sql.named(exp.Case().when(its_own, sql.column(end, "cuts")), name), copy=False)
    if relaxed:
        query = query.select(sql.named(sql.column("position", "cuts"), names.position))
    return query.select(
        sql.named(sql.column("number", "inside"), names.inside),
        sql.named(sql.column("number", "outside"), names.outside),
    )


def boxes_query(
    parts: exp.Table,
    numbers: exp.Table,
    cells: Sequence[exp.Table],
    places: Sequence[Places],
    names: BoxColumns,
    types: Mapping[int, str | None],
) -> exp.Select:
    """Return the query of the boxes: their bounds, and what is published of them.

    Args:
        parts: the parts.
        numbers: of the parts.
        cells: for each column, the labels of the parts.
        places: of the columns.
        names: of the columns of the result.
        types: for each column, the type of its labels; None where every part has one value.
    """
    query = exp.select(sql.named(sql.column("number", "own"), names.box)).from_(sql.aliased(parts, "parts"))
    own = exp.EQ(this=sql.column(PART, "own"), expression=sql.column(PART, "parts"))
    query = query.join(sql.aliased(numbers, "own"), on=own)
    labels = []
    for column, relation in zip(places, cells, strict=True):
        number = column.number
        alias, low, high = (f"{prefix}_{number + 1}" for prefix in ("cells", "low", "high"))
        same = exp.EQ(this=sql.column(PART, alias), expression=sql.column(PART, "parts"))
        query = query.join(sql.aliased(relation, alias), on=same, copy=False)
        if column.ordered:
            for end, place in ((low, "low"), (high, "high")):
                there = exp.EQ(this=sql.column("place", end), expression=sql.column(place, alias))
                query = query.join(sql.aliased(column.relation, end), on=there, join_type="left", copy=False)
            bounds = [sql.column(VALUE, low), sql.column(VALUE, high)]
        else:
            bounds = [sql.column("low", alias), sql.column("high", alias)]
        for name, bound in zip((names.low[number], names.high[number]), bounds, strict=True):
            query = query.select(sql.named(bound, name), copy=False)
        if column.ordered and column.null is not None:
            query = query.select(sql.named(sql.column("has_null", alias), names.null[number]), copy=False)
        if types[number] is not None:
            labels.append(sql.named(sql.column(LABEL, alias), names.labels[number]))
    return query.select(*labels)


def has_several_values(column: Places) -> exp.Expr:
    """Return whether some part has several values of a column, as an aggregate over its labels."""
    differ: exp.Expr = exp.NullSafeNEQ(this=sql.column("low"), expression=sql.column("high"))
    if column.ordered and column.null is not None:
        with_null = exp.and_(sql.column("has_null"), sql.column("low").is_(exp.null()).not_())
        differ_too = exp.and_(sql.column("low").is_(exp.null()).not_(), differ)
        differ = exp.or_(with_null, differ_too)
    return exp.Coalesce(this=exp.LogicalOr(this=differ), expressions=[exp.false()])
