"""What the labels of a published table stand for: in its hierarchies and as sets or ranges, as anyone can look it up.

Nothing is known of how the table was made. **Meanings** are what measures need: what a label stands for is looked up in
the hierarchy of its column, on the level that all labels of the column have in common: the lowest one, if there are
several. If there is none (a local recoding), each label is looked up by itself; one that is written alike on several
levels is taken for the one that stands for most. A label cannot stand for what fewer rows of the original have than
the release has with it. Labels that are not in the hierarchy may be sets and ranges of values
(``measures.sets_and_ranges``). A column that has some has no labels of the hierarchy as a rule, so that beside them
whatever can be a value is one.

**Covers** are what attacks need: which values of the original each label may stand for.

    kanon_labels_<column>(number, label, released)     labels of the release as they are written, and their rows
    kanon_covers_<column>(label, place)                the values that a label covers
    kanon_spans_<column>(label, low, high)             the same, if values have several labels, as spans of ranks
    kanon_ranks_<column>(place, rank)                  the values that the original has, numbered in their order

If all labels of a column can be on one level, the release is read on that level (on several such levels: on each of
them), and a value has one label at most. Else, and wherever the caller wants it, every label covers whatever it can be
read as: a value, a label on any level, a set or a range. So a row of the original is always among those that its own
class covers. Only values that the original has are regarded.

One level is an assumption if a label stands on several, as the root does that is the label of NULL on every level: a
release of local recoding can look like that, and have it from another one. ``risks.attacks.candidates`` drops the
assumption if the rows of the classes contradict it; people are counted without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.labels import LABEL, NUMBER, written_labels_query
from kanon_sql.measures.sets_and_ranges import RELEASED, read_labels, readings_of, text_of
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.labels import Labels, Places

PLACE = "place"


def published_classes_query(release: exp.Table, columns: Sequence[Column]) -> exp.Select:
    """Return the query of the classes of a published table: labels as text, one column for each, and their rows."""
    written = [text_of(sql.column(column.name), column) for column in columns]
    named = [sql.named(label, label_name(number)) for number, label in enumerate(written)]
    query = exp.select(*named, sql.named(sql.count_rows(), N)).from_(release.copy())
    return query.group_by(*(label.copy() for label in written))


def released_query(classes: exp.Table, number: int) -> exp.Select:
    """Return the query of the labels of a column of the release, and how many rows have each."""
    own = sql.column(label_name(number))
    query = exp.select(sql.named(own, LABEL), sql.named(exp.Sum(this=sql.column(N)), RELEASED))
    return query.from_(classes.copy()).group_by(own.copy())


def _meanings_query(classes: exp.Table, column: Labels, hierarchy: Hierarchy) -> exp.Select:
    """Return the query of what the labels of a column can stand for: their text, and rows of its labels relation."""
    codes = [code_name(placement.number) for placement in column.placements]
    # 1. How each label of each level is written.
    written = written_labels_query(column, hierarchy, range(column.height + 1))
    # 2. Those that the release has, and their rows; also as the original would write them, if they are values of it.
    released = released_query(classes, column.number)
    spellings = spellings_query(hierarchy.column)
    same_code = [sql.column(name, "written").eq(sql.column(name, "labels")) for name in ("level", *codes)]
    value_or_label = exp.or_(
        exp.Not(this=sql.column("as_value", "spellings")),
        sql.column("level", "written").eq(0),
    )
    # 3. Whether the original has so many rows under it; what reads like the root stands for all.
    enough = exp.or_(
        sql.column("at_root", "labels"),
        sql.column(N, "labels") >= sql.column(RELEASED, "spellings"),
    )
    same_spelling = sql.same(sql.column(LABEL, "written"), sql.column("spelled", "spellings"))
    every_column = exp.Column(this=exp.Star(), table=sql.identifier("labels"))
    facts = [sql.column(RELEASED, "spellings"), sql.named(enough, "enough"), every_column]
    return (
        exp.select(sql.column(LABEL, "spellings"), *facts)
        .from_("spellings")
        .join("written", on=sql.all_of([same_spelling, value_or_label]))
        .join(sql.aliased(column.relation, "labels"), on=sql.all_of(same_code))
        .with_(RELEASED, as_=released)
        .with_("spellings", as_=spellings)
        .with_("written", as_=written)
    )


def spellings_query(column: Column) -> exp.Query:
    """Return the query of how the labels in ``released`` may be written in a hierarchy.

    As they are; and, where they can be values of the original, as it would write them (``as_value``).
    """
    spelled = exp.select(sql.column(LABEL), RELEASED, sql.named(sql.column(LABEL), "spelled"))
    spelled = spelled.select(sql.named(exp.false(), "as_value")).from_(RELEASED)
    if column.type == "VARCHAR":
        return spelled
    value, is_value = read_as(sql.column(LABEL), column)
    as_value = exp.select(sql.column(LABEL), RELEASED, sql.named(text_of(value, column), "spelled"))
    as_value = as_value.select(sql.named(exp.true(), "as_value")).from_(RELEASED).where(is_value)
    return sql.union_all([spelled, as_value])


def read_as(text: exp.Expr, column: Column) -> tuple[exp.Expr, exp.Expr]:
    """Return a text as a value of a column, and the condition that it is one."""
    value = exp.TryCast(this=text, to=exp.DataType.build(column.lookup_type, dialect="duckdb"))
    is_value: exp.Expr = value.copy().is_(exp.null()).not_()
    if column.family == "integer":  # of the mean 33.5 a cast would make 34
        exactly = exp.TryCast(this=text.copy(), to=exp.DataType.build("DOUBLE", dialect="duckdb"))
        is_value = exp.and_(is_value, exactly.eq(exp.Round(this=exactly.copy())))
    return value, is_value


def meaning_of(
    frequency: FrequencySet, classes: exp.Table, column: Labels, hierarchy: Hierarchy
) -> tuple[exp.Table, int | None, bool]:
    """Return what each label of a column stands for, the level of the column, and whether some are sets or ranges."""
    engine, name = frequency.engine, hierarchy.column.name
    query = _meanings_query(classes, column, hierarchy)
    possible = make_table(engine, f"kanon_possible_{name}", query, f"what labels of {name} can stand for")
    # 2. Labels that stand for nothing.
    own = sql.column(label_name(column.number))
    total = exp.select(sql.count_distinct(never_null(own))).from_(classes.copy())
    in_original = exp.Sum(this=sql.column(N)) >= exp.Max(this=sql.column(RELEASED))
    at_root = sql.where(sql.count_rows(), sql.column("at_root")) > 0
    standing = exp.select(LABEL).from_(possible.copy()).group_by(LABEL).having(exp.or_(in_original, at_root))
    known = exp.select(sql.count_rows()).from_(standing.subquery("standing"))
    (there,) = engine.row(total, f"labels of {name}")
    (found,) = engine.row(known, f"labels of {name} that are known")
    if has_others := found < there:
        read_labels(frequency, released_query(classes, column.number), possible, column, hierarchy)
        (found,) = engine.row(known, f"labels of {name} that are known")
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
    # 3. The lowest level that has them all; the root, where there is nothing else.
    lower = exp.select(
        "level",
        sql.count_distinct(never_null(sql.column(LABEL))),
        sql.where(sql.count_rows(), sql.negated(sql.column("at_root"))),
    )
    lower = lower.from_(possible.copy()).where(sql.column("enough")).group_by("level")
    by_level = engine.rows(lower.order_by("level"), f"levels of {name}")
    common = [level if below else column.height for level, labels, below in by_level if labels == there]
    level = min(common, default=None) if there and not has_others else None
    chosen = _chosen_query(possible, level, values_first=has_others)
    meaning = make_table(engine, f"kanon_meaning_{name}", chosen, f"what labels of {name} stand for")
    engine.run(sql.drop(possible), f"drop what labels of {name} can stand for")
    return meaning, level, has_others


def _chosen_query(possible: exp.Table, level: int | None, *, values_first: bool) -> exp.Select:
    """Return one meaning for each label: on the level that all are on, else the one that stands for most leaves.

    With ``values_first`` a label that the original has as a value, in enough rows, is that value.
    """
    is_value = exp.and_(sql.column("enough"), sql.column("level").eq(0))
    best = [sql.column("enough"), *([is_value] if values_first else []), sql.column("at_root"), sql.column("leaves")]
    order = [*(exp.Ordered(this=term, desc=True) for term in best), sql.column("level")]
    rank = sql.over(exp.RowNumber(), by=[LABEL], order=order)
    ranked = exp.select("*", sql.named(rank, "rank")).from_(possible.copy())
    if level is not None:
        ranked = ranked.where(sql.column("level").eq(level))
    first = sql.column("rank").eq(1)
    return exp.select("*").from_(ranked.subquery("ranked")).where(first)


def never_null(text: exp.Expr) -> exp.Expr:
    """Return a text that is different for every text and for NULL, so that NULL is counted."""
    marked = sql.concatenated("=", text)
    return exp.Coalesce(this=marked, expressions=[sql.literal("")])


def as_original(released: Column, original: Column) -> exp.Expr:
    """Return a value of a release as the original would write it, where it can; never NULL."""
    text = text_of(sql.column(released.name), released)
    if original.type != "VARCHAR" and original.family != "other":
        value, is_value = read_as(text.copy(), original)
        text = exp.Case().when(is_value, text_of(value, original)).else_(text)
    return never_null(text)


def label_name(number: int) -> str:
    return f"label_{number + 1}"


# Covers


@dataclass(frozen=True)
class Covers:
    """What the labels of one quasi-identifier cover."""

    number: int
    relation: exp.Table
    functional: bool  # whether no value has two labels, so that looking up a value is an equality join
    assumed: bool  # whether labels were read on one level that could be read on others too, and would cover more there
    # whether that is one label at most, and no label but one that covers everything covers on some level less than on
    # the one that was read
    nested: bool
    # of the ranks that labels cover, where it is not functional or ranges are among the labels
    spans: exp.Table | None = None
    ranks: exp.Table | None = None  # of the places, where there are spans
    is_view: bool = False  # whether the relation is a view: it may have as many rows as there are labels times values

    def drop(self, engine: Engine) -> None:
        engine.run(sql.drop(self.relation, "VIEW" if self.is_view else "TABLE"), "drop what labels cover")
        for table in (self.spans, self.ranks):
            if table is not None:
                engine.run(sql.drop(table), "drop what labels cover as spans")


def number_labels(engine: Engine, classes: exp.Table, number: int, name: str) -> exp.Table:
    """Return the labels of a column, ``(number, label, released)``, of classes that have them as text."""
    every = exp.select(sql.named(sql.over(exp.RowNumber(), order=[LABEL]), NUMBER), LABEL, RELEASED)
    every = every.from_(released_query(classes, number).subquery(RELEASED))
    return make_table(engine, f"kanon_labels_{name}", every, f"labels of {name} in the release")


def make_covers(engine: Engine, labels: exp.Table, places: Places, *, one_level: bool) -> Covers:
    """Return what labels cover: on one level if all of them can be on it and ``one_level`` is set."""
    name = places.hierarchy.column.name
    # 1. What they can be in the hierarchy.
    query = _readings_query(labels, places)
    readings = make_table(engine, f"kanon_readings_{name}", query, f"what labels of {name} may be in the hierarchy")
    # 2. On the levels that all of them are on; else whatever each of them may be.
    (there,) = engine.row(exp.select(sql.count_rows()).from_(labels.copy()), f"labels of {name}")
    by_level = engine.rows(_levels_query(labels, readings), f"levels of {name}")
    common = [level for level, found in by_level if found == there]
    query = exp.select(LABEL, PLACE).distinct().from_(readings.copy())
    if common and one_level:
        query = query.where(exp.In(this=sql.column("level"), expressions=[sql.literal(level) for level in common]))
    covers = make_table(engine, f"kanon_covers_{name}", query, f"values under labels of {name}")
    wider, apart = 0, 0
    ranges: exp.Table | None = None
    if common and one_level:
        tables = {"readings": readings, "covers": covers}
        wider, apart = engine.row(sql.query("attacks/covers/wider", tables=tables), f"labels of {name} on other levels")
    if not common and there:
        ranges = _add_sets_and_ranges(engine, labels, readings, covers, places)
    engine.run(sql.drop(readings), f"drop what labels of {name} may be in the hierarchy")
    read = Covers(places.number, covers, functional=True, assumed=wider > 0, nested=wider <= 1 and not apart)
    # 3. As spans, where values have several labels, or ranges are among these.
    if ranges is None:
        _require_all(engine, covers, there, name)
        return read if _is_functional(engine, _most_query(covers), name) else _in_spans(engine, read, places)
    return _with_ranges(engine, read, ranges, places, there)


def _in_spans(engine: Engine, read: Covers, places: Places, ranges: exp.Table | None = None) -> Covers:
    """Return what labels cover as spans too, with ranges ``(label, low, high)`` of places beside the values."""
    name, place = places.hierarchy.column.name, sql.column(PLACE)
    ends = [sql.named(place.copy(), end) for end in ("low", "high")]
    found = [exp.select(LABEL, *ends).from_(read.relation.copy())]
    found += [] if ranges is None else [exp.select("*").from_(ranges.copy())]
    of_places = {"places": places.relation}
    query = sql.query(
        "attacks/covers/spans",
        tables=of_places,
        relations={"found_spans": sql.union_all(found).subquery("found_spans")},
    )
    spans = make_table(engine, f"kanon_spans_{name}", query, f"values under labels of {name} as spans")
    query = sql.query("attacks/covers/ranks", tables=of_places)
    ranks = make_table(engine, f"kanon_ranks_{name}", query, f"values of {name} in their order")
    return replace(read, functional=False, spans=spans, ranks=ranks)


def _with_ranges(engine: Engine, read: Covers, ranges: exp.Table, places: Places, there: int) -> Covers:
    """Return what labels cover with ranges among them: a table where no value has two labels, else a view."""
    name = places.hierarchy.column.name
    covers = _in_spans(engine, read, places, ranges)
    for table in (ranges, read.relation):
        engine.run(sql.drop(table), f"drop ranges of {name}, and values without them")
    spans = spans_of(covers)
    _require_all(engine, spans["spans"], there, name)
    functional = _is_functional(engine, sql.query("attacks/covers/most", tables=spans), name)
    create = sql.create_table if functional else sql.create_view
    query = sql.query("attacks/covers/places", tables=spans)
    engine.run(create(covers.relation, query, temporary=True), f"values under labels of {name}")
    return replace(covers, functional=functional, is_view=not functional)


def spans_of(covers: Covers) -> dict[str, exp.Table]:
    """Return the spans of labels, and the ranks that they are of, as statements call them."""
    if covers.spans is None or covers.ranks is None:
        raise TypeError("Where no value has two labels, there may be no spans")
    return {"spans": covers.spans, "ranks": covers.ranks}


def _readings_query(labels: exp.Table, places: Places) -> exp.Select:
    """Return the query ``(label, level, place, n)``: the values under each label, on each level that has it."""
    column, height = places.hierarchy.column, places.hierarchy.height
    present = exp.GT(this=sql.column(N), expression=sql.literal(0))
    written = []
    for level in range(height + 1):
        label: exp.Expr = sql.column(level_name(level))
        if level in {0, height}:
            label = sql.literal(places.hierarchy.root) if level else text_of(sql.column(VALUE), column)
        number = sql.named(sql.literal(level), "level")
        rows = exp.select(number, sql.named(label, LABEL), PLACE, N).from_(places.relation.copy())
        written.append(rows.where(present.copy()))
    same_spelling = sql.same(sql.column(LABEL, "written"), sql.column("spelled", "spellings"))
    value_or_label = exp.or_(
        exp.Not(this=sql.column("as_value", "spellings")),
        exp.EQ(this=sql.column("level", "written"), expression=sql.literal(0)),
    )
    same_label = sql.same(sql.column(LABEL, "spellings"), sql.column(LABEL, "labels"))
    return (
        exp.select(sql.named(sql.column(NUMBER, "labels"), LABEL))
        .select(*(sql.column(name, "written") for name in ("level", PLACE, N)))
        .distinct()
        .from_("spellings")
        .join("written", on=sql.all_of([same_spelling, value_or_label]))
        .join(sql.aliased(labels, "labels"), on=same_label)
        .with_(RELEASED, as_=exp.select(LABEL, RELEASED).from_(labels.copy()))
        .with_("spellings", as_=spellings_query(column))
        .with_("written", as_=sql.union_all(written))
    )


def _enough_query(labels: exp.Table, readings: exp.Table) -> exp.Select:
    """Return the query ``(level, label)`` of labels that have no more rows in the release than the original has."""
    same = exp.EQ(this=sql.column(NUMBER, "labels"), expression=sql.column(LABEL, "readings"))
    keys = [sql.column("level", "readings"), sql.column(LABEL, "readings")]
    rows = exp.Sum(this=sql.column(N, "readings"))
    enough = exp.GTE(this=rows, expression=exp.Max(this=sql.column(RELEASED, "labels")))
    query = exp.select(*keys).from_(sql.aliased(readings, "readings")).join(sql.aliased(labels, "labels"), on=same)
    return query.group_by(*(key.copy() for key in keys)).having(enough)


def _levels_query(labels: exp.Table, readings: exp.Table) -> exp.Select:
    """Return the query of the levels, and how many labels of the release can be on each."""
    enough = _enough_query(labels, readings).subquery("enough")
    return exp.select("level", sql.count_rows()).from_(enough).group_by("level").order_by("level")


def _add_sets_and_ranges(
    engine: Engine, labels: exp.Table, readings: exp.Table, covers: exp.Table, places: Places
) -> exp.Table | None:
    """Add the values of sets, for labels that the hierarchy does not explain; return the ranges, if there are some.

    What is returned has spans ``(label, low, high)``, from place to place.
    """
    name = places.hierarchy.column.name
    explained = exp.select(LABEL).from_(_enough_query(labels, readings).subquery("enough"))
    query = exp.select("*").from_(labels.copy())
    query = query.where(
        sql.column(LABEL).is_(exp.null()).not_(),
        exp.Not(this=exp.In(this=sql.column(NUMBER), query=explained.subquery())),
    )
    unread = make_table(engine, f"kanon_unread_{name}", query, f"labels of {name} that may be sets or ranges")
    ranges: exp.Table | None = None
    for reading, cutting in readings_of(unread, places):
        title = f"labels of {name} as {cutting.labels}s"
        read = make_table(engine, f"kanon_read_{name}", reading, title)
        if cutting.labels == "range":
            ranges = make_table(engine, f"kanon_ranges_{name}", _in_ranges(read, places), f"values under {title}")
            (number,) = engine.row(sql.select_count(ranges), f"ranges of {name}")
            if not number:
                engine.run(sql.drop(ranges), "there are none")
                ranges = None
        else:
            found = exp.insert(_in_sets(read, places), covers.copy(), columns=[LABEL, PLACE])
            engine.run(found, f"values under {title}")
        engine.run(sql.drop(read), f"drop {title}")
    engine.run(sql.drop(unread), f"drop labels of {name} that may be sets or ranges")
    return ranges


def _in_sets(read: exp.Table, places: Places) -> exp.Select:
    """Return the query ``(label, place)`` of the values in sets that the original has."""
    in_set = exp.EQ(this=sql.column(places.place, "read"), expression=sql.column(PLACE, "places"))
    query = (
        exp.select(sql.column(NUMBER, "read"), sql.column(PLACE, "places")).distinct().from_(sql.aliased(read, "read"))
    )
    query = query.join(sql.aliased(places.relation, "places"), on=in_set)
    return query.where(exp.GT(this=sql.column(N, "places"), expression=sql.literal(0)))


def _in_ranges(read: exp.Table, places: Places) -> exp.Query:
    """Return the query ``(label, low, high)`` of the ends of ranges, and of the NULL beside them."""
    place = sql.column(places.place)
    low: exp.Expr = exp.Min(this=place)
    if places.ordered:  # NULL has place 0 there, and is beside the range
        low = sql.where(low, exp.GT(this=place.copy(), expression=sql.literal(0)))
    ends = [sql.named(low, "low"), sql.named(exp.Max(this=place.copy()), "high")]
    spans = exp.select("part", NUMBER, *ends).from_(read.copy()).group_by("part", NUMBER)
    label = sql.named(sql.column(NUMBER), LABEL)
    queries = [exp.select(label, "low", "high").from_(spans.subquery("spans"))]
    if places.ordered and places.null is not None:
        beside = [sql.named(place.copy(), end) for end in ("low", "high")]
        is_null = exp.EQ(this=place.copy(), expression=sql.literal(places.null))
        queries.append(exp.select(label.copy(), *beside).from_(read.copy()).where(is_null))
    return sql.union_all(queries)


def _is_functional(engine: Engine, most_query: exp.Query, name: str) -> bool:
    (most,) = engine.row(most_query, f"labels of a value of {name}")
    return most is None or most <= 1


def _most_query(covers: exp.Table) -> exp.Select:
    distinct = exp.select(LABEL, PLACE).distinct().from_(covers.copy()).subquery("distinct_pairs")
    counted = exp.select(sql.named(sql.count_rows(), "labels")).from_(distinct).group_by(PLACE)
    return exp.select(exp.Max(this=sql.column("labels"))).from_(counted.subquery("counted"))


def _require_all(engine: Engine, covers: exp.Table, there: int, name: str) -> None:
    """Raise if some label covers nothing: an attack that cannot read the release says nothing about it."""
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
