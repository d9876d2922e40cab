"""Meanings of the labels of a published table: looked up in its hierarchies, or read as sets or ranges.

Anyone can do this: it uses nothing about how the table was made. **Meanings** are for measures: a label is looked up
in the hierarchy of its column, on the level that all labels of the column share: the lowest one, if there are several.
If there is none (a local recoding), each label is looked up by itself; a text that is a label on several levels counts
as the label with the most leaves. A label cannot mean a group that has fewer rows in the original than the release has
with the label. Labels that are not in the hierarchy may be sets and ranges of values (``measures.sets_and_ranges``).
As a rule, a column with sets and ranges has no labels of the hierarchy, so any other label there that can be a value
is a value.

**Covers** are for attacks: which values of the original each label may stand for.

    kanon_labels_<column>(number, label, released)     labels of the release as they are written, and their rows
    kanon_covers_<column>(label, place)                the values that a label covers
    kanon_spans_<column>(label, low, high)             the same as spans of ranks
    kanon_ranks_<column>(place, rank)                  the values of the original, numbered in their order

If all labels of a column can be on one level, the release is read on that level (if there are several such levels, on
each of them), and a value has at most one label. Otherwise, or if the caller asks for it, every label covers all its
possible readings: a value, a label on any level, a set or a range. So a row of the original is always among those that
its own class covers. Only values of the original count.

One level is an assumption if a label occurs on several levels, like the root, which is the label of NULL on every
level. A release of local recoding can look like that, with the label from another level. ``risks.attacks.candidates``
drops the assumption if the rows of the classes contradict it. People are counted without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import mask_name
from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.labels import LABEL, NUMBER, make_places, written_labels_query
from kanon_sql.measures.sets_and_ranges import is_in_span, part_labels_query, read_sets_and_ranges, text_of
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.labels import Labels, Places

PLACE = "place"
_MEANING = ("level", N, "leaves", "at_root", "lower", "upper")


def published_classes_query(release: exp.Table, columns: Mapping[int, Column]) -> exp.Select:
    """Return the classes of a published table: labels as text, one column for each, and their rows."""
    return grouped_query(release, {number: text_of(sql.column(own.name), own) for number, own in columns.items()})


def grouped_query(release: exp.Table, texts: Mapping[int, exp.Expr]) -> exp.Select:
    """Return the distinct rows of texts, as ``label_1`` and so on, and how many rows have each."""
    named = [sql.named(text, label_name(number)) for number, text in texts.items()]
    query = exp.select(*named, sql.named(sql.count_rows(), N)).from_(release.copy())
    return query.group_by(*(text.copy() for text in texts.values()))


def number_labels(engine: Engine, classes: exp.Table, number: int, name: str) -> exp.Table:
    """Return the labels of a column, ``(number, label, released)``, of classes that have them as text."""
    own = sql.column(label_name(number))
    released = exp.select(sql.named(own, LABEL), sql.named(exp.Sum(this=sql.column(N)), "released"))
    released = released.from_(classes.copy()).group_by(own.copy())
    every = exp.select(sql.named(sql.over(exp.RowNumber(), order=[LABEL]), NUMBER), LABEL, "released")
    query = every.from_(released.subquery("released"))
    return make_table(engine, f"kanon_labels_{name}", query, f"labels of {name} in the release")


def numbered_query(classes: exp.Table, labels: Mapping[int, exp.Table]) -> exp.Select:
    """Return the query of classes with numbers for their labels: those of ``number_labels``, by column."""
    query = exp.select(sql.column(N, "written")).from_(sql.aliased(classes, "written"))
    for number, own in labels.items():
        name, alias = label_name(number), f"labels_{number + 1}"
        same = sql.same(sql.column(LABEL, alias), sql.column(name, "written"))
        query = query.select(sql.named(sql.column(NUMBER, alias), name), copy=False)
        query = query.join(sql.aliased(own, alias), on=same, copy=False)
    return query


def label_name(number: int) -> str:
    return f"label_{number + 1}"


def _readings_query(labels: exp.Table, column: Labels, hierarchy: Hierarchy) -> exp.Subquery:
    """Return the levels that have the labels, and their codes there: read as labels, or as values."""
    codes = [code_name(placement.number) for placement in column.placements]
    value: exp.Expr = sql.column(LABEL)
    is_value: exp.Expr = exp.false()
    if hierarchy.column.type != "VARCHAR":
        value, is_value = read_as(value, hierarchy.column)
    query = sql.query(
        "measures/released/readings",
        values={
            "as_original": text_of(value, hierarchy.column),
            "is_value": is_value,
            "codes": [sql.column(name, "written") for name in codes],
        },
        relations={"labels": labels},
        steps={"written": [("written", written_labels_query(column, hierarchy, range(column.height + 1)))]},
    )
    return query.subquery("readings")


def read_as(text: exp.Expr, column: Column) -> tuple[exp.Expr, exp.Expr]:
    """Return a text as a value of a column, and the condition that it is one."""
    value = exp.TryCast(this=text, to=exp.DataType.build(column.lookup_type, dialect="duckdb"))
    is_value: exp.Expr = value.copy().is_(exp.null()).not_()
    if column.family == "integer":  # a cast would turn the mean 33.5 into 34
        exactly = exp.TryCast(this=text.copy(), to=exp.DataType.build("DOUBLE", dialect="duckdb"))
        is_value = exp.and_(is_value, exactly.eq(exp.Round(this=exactly.copy())))
    return value, is_value


def never_null(text: exp.Expr) -> exp.Expr:
    """Return a text that is different for every text and for NULL, so that NULL is counted."""
    marked = sql.concatenated("=", text)
    return exp.Coalesce(this=marked, expressions=[sql.literal("")])


def as_original(released: Column, original: Column) -> exp.Expr:
    """Return a value of a release as the original would write it, if possible; never NULL."""
    text = text_of(sql.column(released.name), released)
    if original.type != "VARCHAR" and original.family != "other":
        value, is_value = read_as(text.copy(), original)
        text = exp.Case().when(is_value, text_of(value, original)).else_(text)
    return never_null(text)


# Meanings


def meaning_of(
    frequency: FrequencySet, classes: exp.Table, column: Labels, hierarchy: Hierarchy
) -> tuple[exp.Table, int | None, bool]:
    """Return the meaning of each label of a column, the level of the column, and whether some are sets or ranges."""
    engine, name = frequency.engine, hierarchy.column.name
    codes = [code_name(placement.number) for placement in column.placements]
    # 1. Their possible meanings in the hierarchy.
    labels = number_labels(engine, classes, column.number, name)
    same_codes = [sql.column(code, "facts").eq(sql.column(code, "readings")) for code in codes]
    query = sql.query(
        "measures/released/possible",
        values={"codes": [sql.column(code, "facts") for code in codes], "same_codes": sql.all_of(same_codes)},
        relations={
            "readings": _readings_query(labels, column, hierarchy),
            "facts": sql.aliased(column.relation, "facts"),
        },
    )
    possible = make_table(engine, f"kanon_possible_{name}", query, f"what labels of {name} can stand for")
    # 2. Labels without a meaning: they may be sets and ranges.
    standing = sql.query("measures/released/standing", relations={"labels": labels, "possible": possible})
    there, found = engine.row(standing, f"labels of {name}, and those that are known")
    if has_others := found < there:
        (places,) = make_places(frequency, [hierarchy], [column])
        explained = exp.select(NUMBER).from_(possible.copy()).where(sql.column("enough"))
        for unread, read, cutting in read_sets_and_ranges(engine, labels, explained, places):
            query = sql.query(
                "measures/released/add_sets_and_ranges",
                tables={"unread": unread},
                relations={"read": read, "cells": part_labels_query(read, places, cutting).subquery("cells")},
            )
            added = exp.insert(query, possible.copy(), columns=[NUMBER, "released", "enough", *_MEANING])
            engine.run(added, f"what labels of {name} as {cutting.labels}s can stand for")
        engine.run(sql.drop(places.relation), f"drop places of {name}")
        there, found = engine.row(standing, f"labels of {name}, and those that are known")
    if found < there:
        means = ""
        if column.numeric:
            means = " The means and medians of several values cannot be measured: they do not say which these were."
        raise UsageError(
            f"Column {name!r} of the release has {there:,} different labels, and {there - found:,} of them are neither "
            "values of the original nor labels of its hierarchy nor sets or ranges of its values, or have more rows "
            "than the original has under them. Is it a release of that table? Then name the hierarchy that it was made "
            f"with: --hierarchy{', or its time zone: --time-zone' if hierarchy.column.is_zoned else ''}.{means}"
        )
    # 3. The lowest level that has them all; the root, if there is no other.
    by_level = engine.rows(sql.query("measures/released/levels", relations={"possible": possible}), f"levels of {name}")
    common = [level if below else column.height for level, labelled, below in by_level if labelled == there]
    level = min(common, default=None) if there and not has_others else None
    query = sql.query(
        "measures/released/meanings",
        values={
            "codes": [sql.column(code, "ranked") for code in codes],
            # In a column with sets and ranges, a label that is a value in enough rows of the original is that value.
            "is_value": exp.and_(sql.column("enough"), sql.column("level").eq(0)) if has_others else exp.false(),
            "is_on_level": exp.true() if level is None else sql.column("level").eq(level),
        },
        tables={"labels": labels},
        relations={"possible": possible},
    )
    meaning = make_table(engine, f"kanon_meaning_{name}", query, f"what labels of {name} stand for")
    for table in (possible, labels):
        engine.run(sql.drop(table), f"drop what labels of {name} can stand for")
    return meaning, level, has_others


# Covers


@dataclass(frozen=True)
class Covers:
    """The values that the labels of one quasi-identifier cover."""

    number: int
    relation: exp.Table
    functional: bool  # whether no value has two labels: then looking up a value is an equality join
    assumed: bool  # whether labels were read on one level although others fit, on which they would cover more
    # whether at most one label covers more on another level, and no label (except one that covers everything) covers
    # less there than on the level that was read
    nested: bool
    spans: exp.Table | None = None  # of the ranks that labels cover; None if each covers itself
    ranks: exp.Table | None = None  # of the places, if there are spans
    is_view: bool = False  # whether the relation is a view: it may have as many rows as there are labels times values

    def drop(self, engine: Engine) -> None:
        engine.run(sql.drop(self.relation, "VIEW" if self.is_view else "TABLE"), "drop what labels cover")
        for table in (self.spans, self.ranks):
            if table is not None:
                engine.run(sql.drop(table), "drop what labels cover as spans")


def make_covers(engine: Engine, labels: exp.Table, places: Places, *, one_level: bool) -> Covers:
    """Return the values that labels cover: on one level if all of them can be on it and ``one_level`` is set."""
    name, of_places = places.hierarchy.column.name, {"places": places.relation}
    # 1. Their possible meanings in the hierarchy.
    query = _values_query(labels, places)
    readings = make_table(engine, f"kanon_readings_{name}", query, f"what labels of {name} may be in the hierarchy")
    # 2. On the levels that all of them are on; else all possible meanings of each.
    (there,) = engine.row(sql.select_count(labels), f"labels of {name}")
    enough = sql.select("measures/released/enough", relations={"readings": readings}).subquery("enough")
    query = exp.select("level", sql.count_rows()).from_(enough).group_by("level").order_by("level")
    common = [level for level, found in engine.rows(query, f"levels of {name}") if found == there]
    ends = [sql.named(sql.column(PLACE), end) for end in ("low", "high")]
    query = exp.select(LABEL, *ends).distinct().from_(readings.copy())
    if common and one_level:
        query = query.where(exp.In(this=sql.column("level"), expressions=[sql.literal(level) for level in common]))
    found = make_table(engine, f"kanon_found_spans_{name}", query, f"values under labels of {name}")
    wider, apart = 0, 0
    if common and one_level:
        read = exp.select(LABEL, sql.named(sql.column("low"), PLACE)).from_(found.copy()).subquery("covers")
        query = sql.query("attacks/covers/wider", tables={"readings": readings}, relations={"covers": read})
        wider, apart = engine.row(query, f"labels of {name} on other levels")
    # 3. Labels that the hierarchy does not explain: sets, and ranges with the NULL beside them.
    if not common and there:
        explained = exp.select(LABEL).from_(enough)
        for _, read_table, cutting in read_sets_and_ranges(engine, labels, explained, places):
            query = sql.query(
                "measures/released/range_spans" if cutting.labels == "range" else "measures/released/set_spans",
                values={
                    "is_in_span": is_in_span(places, places.place),
                    "null_place": places.null if places.null_is_beside else None,
                },
                relations={"read": read_table},
                names={"place_1": places.place},
            )
            engine.run(exp.insert(query, found.copy()), f"values under labels of {name} as {cutting.labels}s")
    engine.run(sql.drop(readings), f"drop what labels of {name} may be in the hierarchy")
    # 4. As spans of ranks, and value by value: in a view, if that may be as many rows as there are labels times
    # values.
    query = sql.query("attacks/covers/spans", tables=of_places | {"found_spans": found})
    spans = make_table(engine, f"kanon_spans_{name}", query, f"values under labels of {name} as spans")
    (wide,) = engine.row(sql.select_count(found).where(sql.column("low") < sql.column("high")), f"ranges of {name}")
    engine.run(sql.drop(found), f"drop values under labels of {name}")
    query = sql.query("attacks/covers/ranks", tables=of_places)
    ranks = make_table(engine, f"kanon_ranks_{name}", query, f"values of {name} in their order")
    _require_all(engine, spans, there, name)
    tables = {"spans": spans, "ranks": ranks}
    (most,) = engine.row(sql.query("attacks/covers/most", tables=tables), f"labels of a value of {name}")
    functional = most is None or most <= 1
    is_view = bool(wide) and not functional
    covers = engine.temporary_name(f"kanon_covers_{name}")
    create = sql.create_view if is_view else sql.create_table
    query = sql.query("attacks/covers/places", tables=tables)
    engine.run(create(covers, query, temporary=True), f"values under labels of {name}")
    return Covers(
        places.number,
        covers,
        functional=functional,
        assumed=wider > 0,
        nested=wider <= 1 and not apart,
        spans=spans,
        ranks=ranks,
        is_view=is_view,
    )


def _values_query(labels: exp.Table, places: Places) -> exp.Query:
    """Return the values under each label, on each level that has it."""
    placements = places.labels.placements
    codes = [code_name(placement.number) for placement in placements]
    masks = [mask_name(placement.number) for placement in placements]
    prefixes = [
        sql.named(exp.BitwiseAnd(this=sql.column(code, "places"), expression=sql.column(mask, "levels")), code)
        for code, mask in zip(codes, masks, strict=True)
    ]
    levels = [
        (level, *(placement.word.mask(level) for placement in placements))
        for level in range(places.hierarchy.height + 1)
    ]
    return sql.query(
        "measures/released/values",
        values={
            "prefixes": prefixes,
            "same_codes": sql.all_of(sql.column(code, "prefixes").eq(sql.column(code, "readings")) for code in codes),
        },
        tables={"places": places.relation},
        relations={
            "readings": _readings_query(labels, places.labels, places.hierarchy),
            "levels": sql.values("levels", ["level", *masks], levels),
        },
    )


def spans_of(covers: Covers) -> dict[str, exp.Table]:
    """Return the spans of labels and their ranks, as statements call them."""
    if covers.spans is None or covers.ranks is None:
        raise TypeError("Labels that cover themselves have no spans")
    return {"spans": covers.spans, "ranks": covers.ranks}


def _require_all(engine: Engine, covers: exp.Table, there: int, name: str) -> None:
    """Raise if some label covers nothing: an attack that cannot read the release proves nothing about it."""
    (read,) = engine.row(
        exp.select(sql.count_distinct(sql.column(LABEL))).from_(covers.copy()), f"labels of {name} that can be read"
    )
    if read < there:
        raise UsageError(
            f"Column {name!r} of the release has {there:,} different labels, and {there - read:,} of them are neither "
            "values of the original nor labels of its hierarchy nor sets or ranges of its values, so that nobody can "
            "look anyone up under them. Name the hierarchy that the release was made with: --hierarchy. (Means and "
            "medians of several values do not say which these were.)"
        )
