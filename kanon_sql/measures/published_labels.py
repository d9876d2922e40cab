r"""What the labels of a published table stand for that are no labels of a hierarchy: sets and ranges of values.

They are read as ``part_labels`` writes them. Each is turned into places in the order of its column (see
``measures.places``), as if these were a part of the table; ``measures.part_labels`` then says what that part stands
for, as it did before publishing. Of a range the places of its two ends are enough.

    kanon_unread_<column>(number, label, released)     labels that are to be read, and the rows of the release with each
    kanon_read_<column>(part, number, place_k)         places of each reading; column k is the quasi-identifier

A text can often be read in several ways, for a value may have the separator in it: [a to b to c] goes from "a" to
"b to c", or from "a to b" to "c". Every way is tried, and counts if both ends are values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.recoding import Cutting
from kanon_sql.engine.base import make_table
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.measures.labels import LABEL
from kanon_sql.measures.part_labels import (
    SEPARATOR,
    beside_null,
    end_of_range,
    inside,
    is_range,
    is_set,
    is_with_null,
    member,
    members_of,
    part_labels_query,
    separator,
    text_of,
)
from kanon_sql.measures.places import PART, make_places
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.labels import Labels
    from kanon_sql.measures.places import Places

RELEASED = "released"
"""Column with the rows of the release that have it."""
_MEANING = ("level", N, "leaves", "at_root", "lower", "upper")


def read_labels(
    frequency: FrequencySet, released: exp.Query, possible: exp.Table, column: Labels, hierarchy: Hierarchy
) -> None:
    """Add to ``possible`` what labels can stand for as sets and ranges, where they can stand for nothing else."""
    engine, name = frequency.engine, hierarchy.column.name
    # 1. Labels that nothing in the original has enough rows for.
    query = _unread_query(released, possible)
    unread = make_table(engine, f"kanon_unread_{name}", query, f"labels of {name} that may be sets or ranges")
    # 2. Their places.
    (places,) = make_places(frequency, [hierarchy], [column])
    # 3. What is there.
    for reading, cutting in readings_of(unread, places):
        title = f"labels of {name} as {cutting.labels}s"
        read = make_table(engine, f"kanon_read_{name}", reading, title)
        columns = [LABEL, RELEASED, "enough", *_MEANING]
        meant = _meant_query(unread, read, places, cutting)
        engine.run(exp.insert(meant, possible.copy(), columns=columns), f"what {title} can stand for")
        engine.run(sql.drop(read), f"drop {title}")
    engine.run(sql.drop(places.relation), f"drop places of {name}")
    engine.run(sql.drop(unread), f"drop labels of {name} that may be sets or ranges")


def readings_of(unread: exp.Table, places: Places) -> list[tuple[exp.Query, Cutting]]:
    """Return the queries of the places of labels, read as ranges and as sets.

    Numbers and dates are ordered by themselves and are never written as sets.
    """
    readings: list[tuple[exp.Query, Cutting]] = [(_ranges_query(unread, places), Cutting(labels="range"))]
    if not places.ordered:
        readings.append((_sets_query(unread, places), Cutting(labels="set")))
    return readings


def _unread_query(released: exp.Query, possible: exp.Table) -> exp.Select:
    """Return the query of labels that are neither values nor labels of the hierarchy, with numbers."""
    explained = exp.select(LABEL).from_(possible.copy())
    explained = explained.where(sql.column("enough"), sql.column(LABEL).is_(exp.null()).not_())
    is_explained = exp.In(this=sql.column(LABEL), query=explained.subquery())
    query = exp.select(sql.named(exp.Window(this=exp.RowNumber()), "number"), LABEL, RELEASED)
    # NULL is no text. It is left out before NOT IN, which says nothing of it.
    return query.from_(released.subquery(RELEASED)).where(
        sql.column(LABEL).is_(exp.null()).not_(), exp.Not(this=is_explained)
    )


def _ranges_query(unread: exp.Table, places: Places) -> exp.Select:
    """Return the query of the places of labels that are ranges: the two ends, and NULL beside them."""
    own = places.hierarchy.column
    between, with_null = separator(own), places.ordered and places.null is not None
    label = sql.column(LABEL)
    # 1. Without the NULL beside it.
    beside = is_with_null(label) if with_null else exp.false()
    body = exp.Case().when(sql.column("beside"), beside_null(label.copy())).else_(label.copy()) if with_null else label
    marked = exp.select("number", LABEL, sql.named(beside, "beside")).from_(unread.copy())
    bodies = exp.select("number", "beside", sql.named(body, "body")).from_("marked")
    # 2. The ends, once for each place where the separator stands.
    body, at = sql.column("body"), sql.column("at")
    length = exp.Length(this=body)
    stop = length - sql.literal(len(between) - 1)
    every_place = exp.func("RANGE", sql.literal(2), stop, dialect="duckdb")
    splits = exp.select("*", sql.named(exp.Explode(this=every_place), "at")).from_("bodies")
    splits = splits.where(is_range(body.copy()))
    low = _substring(body, sql.literal(2), at - 2)
    after = at + len(between)
    high = _substring(body, after, length - exp.Paren(this=after.copy()))
    here = _substring(body, at.copy(), sql.literal(len(between)))
    ends: exp.Query = exp.select("number", "beside", sql.named(low, "low"), sql.named(high, "high")).from_("splits")
    ends = ends.where(exp.EQ(this=here, expression=sql.literal(between)))
    if with_null:  # a single value
        alone = exp.select("number", "beside", sql.named(body.copy(), "low"), sql.named(body.copy(), "high"))
        ends = sql.union_all([ends, alone.from_("bodies").where(sql.column("beside"))])
    # 3. Their places.
    found: list[exp.Expr] = [sql.column("place", "low_end"), sql.column("place", "high_end")]
    if with_null:
        null = exp.Case().when(sql.column("beside", "ends"), sql.literal(places.null))
        found.append(null.else_(found[0].copy()))
    query = exp.select(
        sql.named(exp.Window(this=exp.RowNumber()), PART),
        sql.column("number", "ends"),
        sql.named(exp.Array(expressions=found), "places"),
    ).from_("ends")
    for alias, end in (("low_end", "low"), ("high_end", "high")):
        query = query.join(sql.aliased(places.relation, alias), on=_is_end(sql.column(end, "ends"), alias, places))
    query = query.where(exp.LTE(this=found[0].copy(), expression=found[1].copy()))
    return (
        exp.select(PART, "number", sql.named(exp.Explode(this=sql.column("places")), places.place))
        .from_("spans")
        .with_("marked", as_=marked)
        .with_("bodies", as_=bodies)
        .with_("splits", as_=splits)
        .with_("ends", as_=ends)
        .with_("spans", as_=query)
    )


def _is_end(end: exp.Expr, alias: str, places: Places) -> exp.Expr:
    own, value = places.hierarchy.column, sql.column(VALUE, alias)
    if own.family in {"date", "timestamp"} and places.ordered:  # however the time zone writes them
        kind = exp.DataType.build(own.lookup_type, dialect="duckdb")
        return exp.TryCast(this=end, to=kind).eq(value)
    return exp.EQ(this=end, expression=text_of(value, own) if places.ordered else end_of_range(value, own))


def _sets_query(unread: exp.Table, places: Places) -> exp.Select:
    """Return the query of the places of labels that are sets: all members, if each of them is a value.

    Only the number of a label goes along with its members: its text may be as long as all of them together.
    """
    body, members = sql.column("body"), sql.column("members")
    label = sql.column(LABEL)
    sets = exp.select("number", sql.named(inside(label), "body")).from_(unread.copy()).where(is_set(label.copy()))
    lists = exp.select("number", "body", sql.named(members_of(body), "members")).from_("sets")
    whole = exp.EQ(
        this=exp.func("ARRAY_TO_STRING", members, sql.literal(SEPARATOR), dialect="duckdb"), expression=body.copy()
    )
    listed = exp.select(
        "number",
        sql.named(exp.Length(this=members.copy()), "size"),
        sql.named(exp.Explode(this=members.copy()), "written"),
    )
    listed = listed.from_("lists").where(whole)
    of_set = sql.over(exp.Count(this=exp.Star()), by=[sql.column("number", "listed")])
    is_value = exp.EQ(
        this=sql.column("written", "listed"), expression=member(sql.column(VALUE, "places"), places.hierarchy.column)
    )
    found = exp.select(
        sql.column("number", "listed"),
        sql.column("size", "listed"),
        sql.column("place", "places"),
        sql.named(of_set, "found"),
    )
    found = found.from_("listed").join(sql.aliased(places.relation, "places"), on=is_value)
    return (
        exp.select(sql.named(sql.column("number"), PART), "number", sql.named(sql.column("place"), places.place))
        .from_("found")
        .where(sql.column("found").eq(sql.column("size")))
        .with_("sets", as_=sets)
        .with_("lists", as_=lists)
        .with_("listed", as_=listed)
        .with_("found", as_=found)
    )


def _meant_query(unread: exp.Table, read: exp.Table, places: Places, cutting: Cutting) -> exp.Select:
    """Return the query of what readings stand for, and whether the original has so many rows under them."""
    numbers = exp.select(PART, "number").distinct().from_(read.copy())
    same_part = sql.column(PART, "cells").eq(sql.column(PART, "numbers"))
    same_label = sql.column("number", "unread").eq(sql.column("number", "numbers"))
    enough = sql.column(N, "cells") >= sql.column(RELEASED, "unread")
    return (
        exp.select(sql.column(LABEL, "unread"), sql.column(RELEASED, "unread"), sql.named(enough, "enough"))
        .select(*(sql.column(name, "cells") for name in _MEANING))
        .from_(part_labels_query(read, places, cutting).subquery("cells"))
        .join(numbers.subquery("numbers"), on=same_part)
        .join(sql.aliased(unread, "unread"), on=same_label)
    )


def _substring(text: exp.Expr, start: exp.Expr, length: exp.Expr) -> exp.Expr:
    return exp.func("SUBSTRING", text.copy(), start, length, dialect="duckdb")
