r"""Labels that are made of values: what is published of each part of a table, and how it is read again.

    kanon_cells_<column>(part, label, level, n, leaves, at_root, lower, upper, low, high, [has_null])

One row for each part. ``label`` is what is written; ``low`` and ``high`` are the places that it goes from and to, which
for numbers leave out NULL (``low_value`` and ``high_value``, if they are selected, are the values there). The columns
between them are those of a labels relation, so that all measures of cells read them alike: ``n`` rows of the table and
``leaves`` of the hierarchy are under the label, ``lower`` and ``upper`` are its extremes if it has some, ``level`` is
the lowest one of the hierarchy whose label would cover it.

Every text label that is no label of a hierarchy is made here, from the values of a part:

one value        as it is: 34, Doctorate; NULL stays NULL
a range          [20-34] of numbers, [2024-01-31 to 2024-03-02] of dates, [Bachelors to Doctorate] of texts
several values   {Bachelors, Doctorate}: in the order of the texts; a comma or a backslash in a value gets a backslash,
                 and so does " to " in a text at the end of a range
NULL and others  {\N, [20-34]} and {\N, Bachelors}: beside other values NULL is \N

Labels of a release are turned into places again, as if these were a part of the table; the same query then says what
that part stands for. Of a range the places of its two ends are enough.

    kanon_unread_<column>(number, label, released)     labels to read, and the rows of the release with each
    kanon_read_<column>(part, number, place_k)         places of each reading; column k is the quasi-identifier

A text can often be read in several ways, for a value may have the separator in it: [a to b to c] goes from "a" to
"b to c", or from "a to b" to "c". Every way is tried, and counts if both ends are values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.recoding import Cutting
from kanon_sql.engine.base import make_table
from kanon_sql.engine.equality import published
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.measures.labels import LABEL, LOWER, PART, UPPER, make_places, same_label
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.labels import Labels, Places

NULL = r"\N"
"""NULL beside other values."""
SEPARATOR = ", "
"""Between the values of a set."""
_BESIDE_NULL = "{" + NULL + SEPARATOR
RELEASED = "released"
"""Column with the rows of the release that have it."""
LOW_VALUE, HIGH_VALUE = "low_value", "high_value"
_LOW, _HIGH, _NULL = "low_end", "high_end", "null_end"
_LOWEST, _HIGHEST = "lowest_number", "highest_number"
_MICROSECONDS = 1_000_000
_MEANING = ("level", N, "leaves", "at_root", "lower", "upper")


def part_labels_query(tuples: exp.Table, column: Places, cutting: Cutting) -> exp.Select:
    if column.ordered:
        return _numbers(tuples, column, cutting)
    return _set(tuples, column) if cutting.labels == "set" else _texts(tuples, column, cutting)


def bounds(column: Places) -> list[exp.Expr]:
    """Return the values that the labels of numbers go from and to, which ``part_labels_query`` can select as well."""
    ends = ((_LOW, LOW_VALUE), (_HIGH, HIGH_VALUE))
    return [sql.named(sql.column(VALUE, end), name) for end, name in ends if column.ordered]


def label_type(column: Places, cutting: Cutting) -> str:
    """Return the type of the labels of a column in which some part has several values."""
    if not column.ordered or cutting.numbers == "range":
        return "VARCHAR"
    of_numbers = column.hierarchy.column.family in {"integer", "decimal", "float"}
    return "DOUBLE" if of_numbers and cutting.numbers == "mean" else column.hierarchy.column.type


def _numbers(tuples: exp.Table, column: Places, cutting: Cutting) -> exp.Select:
    """Return the labels of numbers and dates: ranges, means or medians."""
    place, own = sql.column(column.place), column.hierarchy.column
    with_values = place > 0
    spans = exp.select(PART, sql.named(sql.where(exp.Min(this=place.copy()), with_values), "low"))
    spans = spans.select(sql.named(exp.Max(this=place.copy()), "high"))
    if column.null is not None:
        is_null = exp.Min(this=place.copy()).eq(column.null)
        spans = spans.select(sql.named(is_null, "has_null"))
    spans = spans.from_(tuples.copy()).group_by(PART)
    query = _with_ends(exp.select(sql.column(PART, "spans")).from_("spans"), column).with_("spans", as_=spans)
    low, high = sql.column(VALUE, _LOW), sql.column(VALUE, _HIGH)
    single = sql.column("low", "spans").eq(sql.column("high", "spans"))
    only_null = sql.column("low", "spans").is_(exp.null())
    # What is written.
    if cutting.numbers == "range":
        ends = [text_of(end, own) for end in (low, high)]
        label: exp.Expr = exp.Case().when(single, ends[0]).else_(_range_of(ends[0].copy(), ends[1], own))
        if column.null is not None:
            has_null = exp.and_(sql.column("has_null", "spans"), only_null.copy().not_())
            label = (
                exp.Case()
                .when(only_null, exp.null())
                .when(has_null, sql.concatenated(_BESIDE_NULL, label, "}"))
                .else_(label.copy())
            )
    else:
        middle = _means(tuples, column) if cutting.numbers == "mean" else _medians(tuples, column)
        same = sql.column(PART, "middle").eq(sql.column(PART, "spans"))
        query = query.join("middle", on=same, join_type="left").with_("middle", as_=middle)
        kind = label_type(column, cutting)
        label = exp.Case().when(single, sql.cast(published(low, own), kind))
        label = label.else_(sql.cast(sql.column("middle", "middle"), kind))
    # What it stands for.
    places = sql.column("high", "spans") - sql.column("low", "spans")
    rows: exp.Expr = exp.Coalesce(this=_up_to_high(_LOW), expressions=[sql.literal(0)])
    leaves: exp.Expr = exp.Add(this=places, expression=sql.literal(1))
    leaves = exp.Coalesce(this=leaves, expressions=[sql.literal(0)])
    if column.null is not None:
        has_null = sql.column("has_null", "spans")
        rows = exp.Add(this=rows, expression=_if(has_null, sql.column(N, _NULL)))
        leaves = exp.Add(this=leaves, expression=_if(has_null.copy(), sql.literal(1)))
    lower = sql.column("number", _LOW if column.finite is None else _LOWEST)
    upper = sql.column("number", _HIGH if column.finite is None else _HIGHEST)
    return _cells(query, column, label, rows, leaves, exp.false(), (lower, upper))


def _texts(tuples: exp.Table, column: Places, cutting: Cutting) -> exp.Select:
    """Return the labels of texts: the lowest label of the tree over all of them, or a range in its order."""
    place, own = sql.column(column.place), column.hierarchy.column
    spans = exp.select(
        PART, sql.named(exp.Min(this=place), "low"), sql.named(exp.Max(this=place.copy()), "high")
    ).from_(tuples.copy())
    query = _with_ends(exp.select(sql.column(PART, "spans")).from_("spans"), column)
    query = query.with_("spans", as_=spans.group_by(PART, copy=False), copy=False)
    single = sql.column("low", "spans").eq(sql.column("high", "spans"))
    value = text_of(sql.column(VALUE, _LOW), own)
    level = _level(column)
    if cutting.labels == "range":
        low, high = (end_of_range(sql.column(VALUE, end), own) for end in (_LOW, _HIGH))
        label: exp.Expr = exp.Case().when(single, value).else_(_range_of(low, high, own))
        places = sql.column("high", "spans") - sql.column("low", "spans")
        leaves: exp.Expr = exp.Add(this=places, expression=sql.literal(1))
        rows = _up_to_high(_LOW)
        at_root: exp.Expr = exp.false()
    else:
        names = [f"leaves_{above}" for above in range(1, column.hierarchy.height)]
        inner = [sql.column(level_name(above), _LOW) for above in range(1, column.hierarchy.height)]
        root = sql.literal(column.hierarchy.root)
        label = _by_level(level, [value, *inner, root])
        leaves = _by_level(
            level, [sql.literal(1), *(sql.column(name, _LOW) for name in names), sql.literal(column.labels.leaves)]
        )
        under = [sql.column(f"rows_{above}", _LOW) for above in range(1, column.hierarchy.height)]
        rows = _by_level(level, [sql.column(N, _LOW), *under, sql.literal(column.labels.rows)])
        like_root = [exp.EQ(this=item.copy(), expression=root.copy()) for item in inner]
        at_root = _by_level(level, [exp.false(), *like_root, exp.true()])
    extremes = _extremes(level, column) if column.by_tree and column.labels.numeric else _no_numbers()
    return _cells(query, column, label, rows, leaves, at_root, extremes)


def _cells(
    query: exp.Select,
    column: Places,
    label: exp.Expr,
    rows: exp.Expr,
    leaves: exp.Expr,
    at_root: exp.Expr,
    extremes: tuple[exp.Expr, exp.Expr],
) -> exp.Select:
    """Return the query with the columns of cells."""
    values = {LABEL: label, "level": _level(column), N: sql.cast(rows, "BIGINT"), "leaves": sql.cast(leaves, "BIGINT")}
    values |= {"at_root": at_root, LOWER: extremes[0], UPPER: extremes[1]}
    ends = ["low", "high", *(["has_null"] if column.ordered and column.null is not None else [])]
    return query.select(
        *(sql.named(value, name) for name, value in values.items()), *(sql.column(end, "spans") for end in ends)
    )


def _no_numbers() -> tuple[exp.Expr, exp.Expr]:
    return sql.cast(exp.null(), "DOUBLE"), sql.cast(exp.null(), "DOUBLE")


def _extremes(level: exp.Expr, column: Places) -> tuple[exp.Expr, exp.Expr]:
    """Return the extremes under the labels of numbers that are published by their tree."""

    def extreme(name: str, of_all: float | None) -> exp.Expr:
        inner = [sql.column(f"{name}_{above}", _LOW) for above in range(1, column.hierarchy.height)]
        root = exp.null() if of_all is None else sql.literal(of_all)
        return _by_level(level, [sql.column("number", _LOW), *inner, root])

    return extreme(LOWER, column.labels.lower), extreme(UPPER, column.labels.upper)


def _set(tuples: exp.Table, column: Places) -> exp.Select:
    """Return the labels of texts as sets of values."""
    own, value = column.hierarchy.column, sql.column(VALUE, "places")
    members = exp.select(PART, sql.named(sql.column(column.place), "place")).distinct().from_(tuples.copy())
    same = sql.column("place", "places").eq(sql.column("place", "members"))
    order = exp.Order(this=member(value, own), expressions=[exp.Ordered(this=value.copy(), nulls_first=True)])
    listed = exp.GroupConcat(this=order, separator=sql.literal(SEPARATOR))
    spans = (
        exp.select(
            PART,
            sql.named(exp.Min(this=sql.column("place", "members")), "low"),
            sql.named(exp.Max(this=sql.column("place", "members")), "high"),
            sql.named(sql.sum_of(sql.column(N, "places")), N),
            sql.named(sql.count_rows(), "leaves"),
            sql.named(listed, "members"),
            sql.named(exp.Min(this=text_of(value.copy(), own)), "single"),
        )
        .from_("members")
        .join(sql.aliased(column.relation, "places"), on=same)
        .group_by(PART)
    )
    query = _with_ends(exp.select(sql.column(PART, "spans")).from_("spans"), column)
    alone, several = sql.column("leaves", "spans").eq(1), sql.concatenated("{", sql.column("members", "spans"), "}")
    label = exp.Case().when(alone, sql.column("single", "spans")).else_(several)
    query = query.with_("members", as_=members).with_("spans", as_=spans)
    rows, leaves = sql.column(N, "spans"), sql.column("leaves", "spans")
    return _cells(query, column, label, rows, leaves, exp.false(), _no_numbers())


def _means(tuples: exp.Table, column: Places) -> exp.Select:
    """Return the mean of each part: rows are counted by value first, and the products added in the order of the values.

    Sums of DOUBLE depend on their order, and tuples are by sensitive values too: their order would tell who has which.
    """
    number, n = sql.column("number", "places"), sql.column(N, "counted")
    there = number.is_(exp.null()).not_()
    own, rows_of = sql.named(sql.column(column.place), "place"), sql.named(sql.sum_of(sql.column(N)), N)
    counted = exp.select(PART, own, rows_of).from_(tuples.copy()).group_by(PART, sql.column(column.place))
    in_order = exp.Order(this=number.copy() * n, expressions=[exp.Ordered(this=sql.column("place", "counted"))])
    total = sql.where(exp.Sum(this=in_order), there)
    rows = exp.Nullif(this=sql.where(exp.Sum(this=n.copy()), there.copy()), expression=sql.literal(0))
    mean: exp.Expr = total / rows
    if column.hierarchy.column.family in {"date", "timestamp"}:  # numbers are seconds there
        whole = sql.cast(exp.Round(this=exp.Paren(this=mean) * _MICROSECONDS), "BIGINT")
        mean = exp.Anonymous(this="MAKE_TIMESTAMP", expressions=[whole])
    same = sql.column("place", "places").eq(sql.column("place", "counted"))
    query = exp.select(sql.column(PART, "counted"), sql.named(mean, "middle")).from_(counted.subquery("counted"))
    return query.join(sql.aliased(column.relation, "places"), on=same).group_by(sql.column(PART, "counted"))


def _medians(tuples: exp.Table, column: Places) -> exp.Select:
    """Return the lower median of each part: the smallest value that at least half of the rows do not exceed."""
    here = sql.column("place") > 0
    up_to = sql.over(exp.Sum(this=sql.column(N)), by=[PART], order=["place"], running=True)
    total = sql.over(exp.Sum(this=sql.column(N)), by=[PART])
    placed = exp.select(PART, sql.named(sql.column(column.place), "place"), N).from_(tuples.copy())
    counted = exp.select(PART, "place", sql.named(up_to, "up_to"), sql.named(total, "total"))
    counted = counted.from_(placed.subquery("placed")).where(here)
    half = exp.GTE(this=2 * sql.column("up_to"), expression=sql.column("total"))
    least = exp.select(PART, sql.named(exp.Min(this=sql.column("place")), "place"))
    least = least.from_(counted.subquery("counted")).where(half).group_by(PART)
    same = sql.column("place", "places").eq(sql.column("place", "least"))
    middle = sql.named(sql.column(VALUE, "places"), "middle")
    query = exp.select(sql.column(PART, "least"), middle).from_(least.subquery("least"))
    return query.join(sql.aliased(column.relation, "places"), on=same)


def _with_ends(query: exp.Select, column: Places) -> exp.Select:
    """Join the places that a span goes from and to; and NULL, where numbers leave it out."""
    for alias, name in ((_LOW, "low"), (_HIGH, "high")):
        condition = sql.column("place", alias).eq(sql.column(name, "spans"))
        query = query.join(sql.aliased(column.relation, alias), on=condition, join_type="left", copy=False)
    if column.ordered and column.finite is not None:  # the ends that have a number
        lowest = sql.greatest([sql.column("low", "spans"), sql.literal(column.finite[0])])
        highest = sql.least([sql.column("high", "spans"), sql.literal(column.finite[1])])
        some = lowest <= highest
        for alias, place in ((_LOWEST, lowest), (_HIGHEST, highest)):
            there = exp.and_(some.copy(), exp.EQ(this=sql.column("place", alias), expression=place.copy()))
            query = query.join(sql.aliased(column.relation, alias), on=there, join_type="left", copy=False)
    if column.ordered and column.null is not None:
        is_null = sql.column("place", _NULL).eq(column.null)
        query = query.join(sql.aliased(column.relation, _NULL), on=is_null, join_type="left", copy=False)
    return query


def _level(column: Places) -> exp.Expr:
    """Return the lowest level whose label covers a span, as far as its ends tell."""
    single: exp.Expr = sql.column("low", "spans").eq(sql.column("high", "spans"))
    with_null = column.ordered and column.null is not None
    if with_null:
        only_null = sql.column("low", "spans").is_(exp.null())
        single = exp.or_(only_null, exp.and_(single, exp.Not(this=sql.column("has_null", "spans"))))
    case = exp.Case().when(single, sql.literal(0), copy=False)
    for level in range(1, column.hierarchy.height):
        same = same_label(column, level, _LOW, _HIGH)
        if with_null:
            too = same_label(column, level, _NULL, _HIGH)
            same = exp.and_(same, exp.or_(exp.Not(this=sql.column("has_null", "spans")), too))
        case = case.when(same, sql.literal(level), copy=False)
    return case.else_(sql.literal(column.hierarchy.height), copy=False)


def _by_level(level: exp.Expr, values: list[exp.Expr]) -> exp.Expr:
    case = exp.Case(this=exp.Paren(this=level.copy()))
    for number, value in enumerate(values[:-1]):
        case = case.when(sql.literal(number), value, copy=False)
    return case.else_(values[-1], copy=False)


def _up_to_high(low: str) -> exp.Expr:
    """Return the rows of the table from the low place to the high one."""
    before = sql.column("up_to", low) - sql.column(N, low)
    return sql.column("up_to", _HIGH) - exp.Paren(this=before)


def _if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Case().when(condition, value).else_(sql.literal(0)))


def text_of(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value of a column as text, in the one form of all that are equal to it; NULL is NULL."""
    return value if column.type == "VARCHAR" else sql.cast(published(value, column), "VARCHAR")


def member(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value as it is written in a set."""
    text = text_of(value, column)
    for special in ("\\", ","):
        text = exp.func("REPLACE", text, sql.literal(special), sql.literal(f"\\{special}"), dialect="duckdb")
    return exp.Coalesce(this=text, expressions=[sql.literal(NULL)])


def end_of_range(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a text as it is written at an end of a range: as in a set, and never with what stands between the ends."""
    between = separator(column)
    apart = sql.literal(between.replace(" ", " \\", 1))
    return exp.func("REPLACE", member(value, column), sql.literal(between), apart, dialect="duckdb")


def _range_of(low: exp.Expr, high: exp.Expr, column: Column) -> exp.Expr:
    return sql.concatenated("[", low, separator(column), high, "]")


def separator(column: Column) -> str:
    """Return what stands between the ends of a range."""
    return "-" if column.family in {"integer", "decimal", "float"} else " to "


def _is_like(text: exp.Expr, pattern: str) -> exp.Expr:
    return exp.Like(this=text.copy(), expression=sql.literal(pattern))


def _members_of(listed: exp.Expr) -> exp.Expr:
    """Return the members between the brackets of a set as a list, as they are written there.

    A comma of a member has a backslash before it, so that one without is a separator. Joined again, the list is the
    text; else that was no set.
    """
    ended = sql.concatenated(listed, SEPARATOR)
    pattern = sql.literal(r"((?:[^\\,]|\\[\\,N])*)" + SEPARATOR)
    return exp.func("REGEXP_EXTRACT_ALL", ended, pattern, sql.literal(1), dialect="duckdb")


def _between(text: exp.Expr, before: int) -> exp.Expr:
    """Return a text without its first characters and without the last one."""
    length = exp.Length(this=text.copy()) - sql.literal(before + 1)
    return exp.func("SUBSTRING", text, sql.literal(before + 1), length, dialect="duckdb")


# Reading


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
    between, label = separator(places.hierarchy.column), sql.column(LABEL)
    # 1. Without the NULL beside it.
    with_null = places.ordered and places.null is not None
    beside = _is_like(label, f"{_BESIDE_NULL}%}}") if with_null else exp.false()
    inside = exp.Case().when(sql.column("beside"), _between(label.copy(), len(_BESIDE_NULL))).else_(label.copy())
    marked = exp.select("number", LABEL, sql.named(beside, "beside")).from_(unread.copy())
    bodies = exp.select("number", "beside", sql.named(inside, "body")).from_("marked")
    # 2. The ends, once for each place where the separator stands.
    body, at = sql.column("body"), sql.column("at")
    length = exp.Length(this=body)
    stop = length - sql.literal(len(between) - 1)
    every_place = exp.func("RANGE", sql.literal(2), stop, dialect="duckdb")
    splits = exp.select("*", sql.named(exp.Explode(this=every_place), "at")).from_("bodies")
    splits = splits.where(_is_like(body, "[%]"))
    low = _substring(body, sql.literal(2), at - 2)
    after = at + len(between)
    high = _substring(body, after, length - exp.Paren(this=after.copy()))
    here = _substring(body, at.copy(), sql.literal(len(between)))
    ends = exp.select("number", "beside", sql.named(low, "low"), sql.named(high, "high")).from_("splits")
    ends = ends.where(exp.EQ(this=here, expression=sql.literal(between)))
    single = exp.select("number", "beside", sql.named(body.copy(), "low"), sql.named(body.copy(), "high"))
    single = single.from_("bodies").where(sql.column("beside"))
    # 3. Their places.
    found: list[exp.Expr] = [sql.column("place", "low_end"), sql.column("place", "high_end")]
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
        .with_("ends", as_=sql.union_all([ends, single]))
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
    sets = exp.select("number", sql.named(_between(label, 1), "body")).from_(unread.copy())
    sets = sets.where(_is_like(label, "{%}"))
    lists = exp.select("number", "body", sql.named(_members_of(body), "members")).from_("sets")
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
