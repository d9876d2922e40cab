r"""Labels built from values: the published cells of each part of a table, and reading such labels back.

    kanon_cells_<column>(part, label, level, n, leaves, at_root, lower, upper, low, high, has_null)

One row for each part. ``label`` is the published text; ``low`` and ``high`` are its first and last place.
For numbers these leave out NULL (``low_value`` and ``high_value``, if requested, are the values there). The
columns between them are those of a labels relation, so all measures of cells read them alike: ``n`` rows of the
table and ``leaves`` of the hierarchy are under the label, ``lower`` and ``upper`` are its extremes if it has some,
``level`` is the lowest one of the hierarchy whose label would cover it.

Every text label that is not a label of a hierarchy is made here, from the values of a part:

one value        unchanged: 34, Doctorate; NULL stays NULL
a range          [20-34] of numbers, [2024-01-31 to 2024-03-02] of dates, [Bachelors to Doctorate] of texts
several values   {Bachelors, Doctorate}: in the order of the texts; a comma or a backslash in a value gets a backslash,
                 and so does " to " in a text at the end of a range
NULL and others  {\N, [20-34]} and {\N, Bachelors}: beside other values NULL is \N

To read labels of a release, they are turned into places again, as if these were a part of the table. The same query
then returns the meaning of that part. For a range the places of its two ends are enough.

    kanon_unread_<column>(number, label, released)     labels to read, and the rows of the release with each
    kanon_read_<column>(part, number, place_k)         places of each reading; column k is the quasi-identifier

A text can often be read in several ways, because a value may contain the separator: [a to b to c] goes from "a" to
"b to c", or from "a to b" to "c". Every way is tried, and counts if both ends are values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.recoding import Cutting
from kanon_sql.engine.base import make_table
from kanon_sql.engine.equality import published
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.measures.labels import LABEL, LOWER, PART, UPPER, same_label
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.measures.labels import Places

NULL = r"\N"
"""NULL in a set with other values."""
LOW_VALUE, HIGH_VALUE = "low_value", "high_value"
_LOW, _HIGH, _NULL = "low_end", "high_end", "null_end"
_LOWEST, _HIGHEST = "lowest_number", "highest_number"


def part_labels_query(tuples: exp.Table, column: Places, cutting: Cutting, *, with_bounds: bool = False) -> exp.Select:
    """Return the published cells of a column, one for each part of the ``tuples``.

    ``with_bounds`` adds the first and last values of the labels of numbers.
    """
    middle: exp.Query | None = None
    if column.ordered:
        cell = _number(column, cutting)
        if cutting.numbers != "range":
            middle = _middle(tuples, column, cutting)
    else:
        cell = _set() if cutting.labels == "set" else _text(column, cutting)
    bounds = [sql.named(sql.column(VALUE, end), name) for end, name in ((_LOW, LOW_VALUE), (_HIGH, HIGH_VALUE))]
    ends = _ends(column)
    if middle is not None:
        ends.append((middle.subquery("middle"), sql.column(PART, "middle").eq(sql.column(PART, "spans"))))
    return sql.select(
        "measures/sets_and_ranges/cells",
        values={"level": _level(column), "bounds": bounds if with_bounds and column.ordered else [], **cell},
        steps={"spans": [("spans", _spans(tuples, column, cutting))]},
        joins={"ends": ends},
    )


def label_type(column: Places, cutting: Cutting) -> str:
    """Return the type of the labels of a column in which some part has several values."""
    if not column.ordered or cutting.numbers == "range":
        return "VARCHAR"
    of_numbers = column.hierarchy.column.family in {"integer", "decimal", "float"}
    return "DOUBLE" if of_numbers and cutting.numbers == "mean" else column.hierarchy.column.type


def is_in_span(column: Places, place: str) -> exp.Expr:
    """Return the condition that a place is not that of a NULL beside a range of numbers."""
    return sql.column(place) > 0 if column.ordered else exp.true()


def _spans(tuples: exp.Table, column: Places, cutting: Cutting) -> exp.Query:
    own = column.hierarchy.column
    if not column.ordered and cutting.labels == "set":
        value = sql.column(VALUE, "places")
        return sql.query(
            "measures/sets_and_ranges/sets",
            values={"member": member(value, own), "text": text_of(value, own)},
            tables={"places": column.relation},
            relations={"tuples": tuples},
            names={"place_1": column.place},
        )
    place = sql.column(column.place)
    has_null = exp.Min(this=place).eq(column.null) if column.null_is_beside else exp.false()
    return sql.query(
        "measures/sets_and_ranges/spans",
        values={"is_in_span": is_in_span(column, column.place), "has_null": has_null},
        relations={"tuples": tuples},
        names={"place_1": column.place},
    )


def _number(column: Places, cutting: Cutting) -> dict[str, sql.Given]:
    """Return the labels of numbers and dates (ranges, means or medians), and their meanings."""
    own = column.hierarchy.column
    low, high = sql.column(VALUE, _LOW), sql.column(VALUE, _HIGH)
    single = sql.column("low", "spans").eq(sql.column("high", "spans"))
    has_null = sql.column("has_null", "spans")
    if cutting.numbers == "range":
        label: exp.Expr = _if(single, text_of(low, own), _range_of(text_of(low, own), text_of(high, own), own))
        if column.null_is_beside:  # alone, it stays NULL
            label = _if(has_null, sql.concatenated("{", NULL, ", ", label, "}"), label)
    else:
        kind = label_type(column, cutting)
        label = _if(single, sql.cast(published(low, own), kind), sql.cast(sql.column("middle", "middle"), kind))
    rows: exp.Expr = exp.Coalesce(this=_rows(), expressions=[sql.literal(0)])
    leaves: exp.Expr = exp.Coalesce(this=_places(), expressions=[sql.literal(0)])
    if column.null_is_beside:
        rows = rows + exp.Paren(this=_if(has_null, sql.column(N, _NULL), sql.literal(0)))
        leaves = leaves + exp.Paren(this=_if(has_null, sql.literal(1), sql.literal(0)))
    lowest, highest = (_LOW, _HIGH) if column.finite is None else (_LOWEST, _HIGHEST)
    return {
        "label": label,
        "rows": rows,
        "leaves": leaves,
        "at_root": exp.false(),
        "lower": sql.column("number", lowest),
        "upper": sql.column("number", highest),
    }


def _middle(tuples: exp.Table, column: Places, cutting: Cutting) -> exp.Query:
    """Return the mean or the lower median of each part, as ``middle``."""
    values: dict[str, sql.Given] = {}
    if cutting.numbers == "mean":
        mean: exp.Expr = sql.column("mean")
        if column.hierarchy.column.family in {"date", "timestamp"}:  # numbers are seconds there
            microseconds = sql.cast(exp.Round(this=mean * 1_000_000), "BIGINT")
            mean = exp.Anonymous(this="MAKE_TIMESTAMP", expressions=[microseconds])
        values["middle"] = mean
    return sql.query(
        "measures/sets_and_ranges/means" if cutting.numbers == "mean" else "measures/sets_and_ranges/medians",
        values=values,
        tables={"places": column.relation},
        relations={"tuples": tuples},
        names={"place_1": column.place},
    )


def _text(column: Places, cutting: Cutting) -> dict[str, sql.Given]:
    """Return the labels of texts (the lowest label of the tree over all of them, or a range in its order)."""
    own, value = column.hierarchy.column, sql.column(VALUE, _LOW)
    level = _level(column)
    cell: dict[str, sql.Given] = dict.fromkeys((LOWER, UPPER), sql.cast(exp.null(), "DOUBLE"))
    if column.by_tree and column.labels.numeric:
        of_all = {LOWER: column.labels.lower, UPPER: column.labels.upper}
        number = sql.column("number", _LOW)
        cell = {name: _of_level(level, number, name, column, extreme) for name, extreme in of_all.items()}
    if cutting.labels == "range":
        low, high = (end_of_range(sql.column(VALUE, end), own) for end in (_LOW, _HIGH))
        single = sql.column("low", "spans").eq(sql.column("high", "spans"))
        label = _if(single, text_of(value, own), _range_of(low, high, own))
        return cell | {"label": label, "rows": _rows(), "leaves": _places(), "at_root": exp.false()}
    root = sql.literal(column.hierarchy.root)
    like_root = [sql.column(level_name(above), _LOW).eq(root) for above in range(1, column.hierarchy.height)]
    return cell | {
        "label": _of_level(level, text_of(value, own), "level", column, root),
        "rows": _of_level(level, sql.column(N, _LOW), "rows", column, column.labels.rows),
        "leaves": _of_level(level, sql.literal(1), "leaves", column, column.labels.leaves),
        "at_root": _by_level(level, [exp.false(), *like_root, exp.true()]),
    }


def _set() -> dict[str, sql.Given]:
    """Return the labels of texts as sets of values."""
    leaves = sql.column("leaves", "spans")
    several = sql.concatenated("{", sql.column("members", "spans"), "}")
    return {
        "label": _if(leaves.eq(1), sql.column("single", "spans"), several),
        "rows": sql.column(N, "spans"),
        "leaves": leaves,
        "at_root": exp.false(),
        **dict.fromkeys(("lower", "upper"), sql.cast(exp.null(), "DOUBLE")),
    }


def _ends(column: Places) -> list[tuple[exp.Expr, exp.Expr]]:
    """Return the first and last place of a span, as joins; and NULL, if numbers leave it out."""
    low, high = sql.column("low", "spans"), sql.column("high", "spans")
    ends: dict[str, exp.Expr] = {_LOW: sql.column("place", _LOW).eq(low), _HIGH: sql.column("place", _HIGH).eq(high)}
    if column.ordered and column.finite is not None:  # the ends that have a number
        lowest = sql.greatest([low, sql.literal(column.finite[0])])
        highest = sql.least([high, sql.literal(column.finite[1])])
        for alias, place in ((_LOWEST, lowest), (_HIGHEST, highest)):
            ends[alias] = exp.and_(lowest <= highest, sql.column("place", alias).eq(place))
    if column.null_is_beside:
        ends[_NULL] = sql.column("place", _NULL).eq(column.null)
    return [(sql.aliased(column.relation, alias), condition) for alias, condition in ends.items()]


def _level(column: Places) -> exp.Expr:
    """Return the lowest level whose label covers a span, judged by its ends."""
    single: exp.Expr = sql.column("low", "spans").eq(sql.column("high", "spans"))
    no_null = exp.Not(this=sql.column("has_null", "spans"))
    if column.null_is_beside:
        single = exp.or_(sql.column("low", "spans").is_(exp.null()), exp.and_(single, no_null))
    case = exp.Case().when(single, sql.literal(0), copy=False)
    for level in range(1, column.hierarchy.height):
        same = same_label(column, level, _LOW, _HIGH)
        if column.null_is_beside:
            same = exp.and_(same, exp.or_(no_null, same_label(column, level, _NULL, _HIGH)))
        case = case.when(same, sql.literal(level), copy=False)
    return case.else_(sql.literal(column.hierarchy.height), copy=False)


def _of_level(
    level: exp.Expr, of_value: exp.Expr, name: str, column: Places, of_root: exp.Expr | float | None
) -> exp.Expr:
    """Return an attribute of a place for its label on a level: ``name_1``, ``name_2``, ... between value and root."""
    inner = [sql.column(f"{name}_{above}", _LOW) for above in range(1, column.hierarchy.height)]
    return _by_level(level, [of_value, *inner, sql.literal(of_root)])


def _by_level(level: exp.Expr, values: list[exp.Expr]) -> exp.Expr:
    case = exp.Case(this=exp.Paren(this=level.copy()))
    for number, value in enumerate(values[:-1]):
        case = case.when(sql.literal(number), value, copy=False)
    return case.else_(values[-1], copy=False)


def _rows() -> exp.Expr:
    """Return the rows of the table from the low place to the high one."""
    before = sql.column("up_to", _LOW) - sql.column(N, _LOW)
    return sql.column("up_to", _HIGH) - exp.Paren(this=before)


def _places() -> exp.Expr:
    return sql.column("high", "spans") - sql.column("low", "spans") + 1


def _if(condition: exp.Expr, yes: exp.Expr, no: exp.Expr) -> exp.Case:
    return exp.Case().when(condition, yes).else_(no)


# Writing values


def text_of(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value of a column as text, in one form for all equal values; NULL is NULL."""
    return value if column.type == "VARCHAR" else sql.cast(published(value, column), "VARCHAR")


def member(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value as it is written in a set."""
    text = text_of(value, column)
    for special in ("\\", ","):
        text = sql.replaced(text, special, f"\\{special}")
    return exp.Coalesce(this=text, expressions=[sql.literal(NULL)])


def end_of_range(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a text as it is written at an end of a range: as in a set, with the separator escaped."""
    between = separator(column)
    return sql.replaced(member(value, column), between, between.replace(" ", " \\", 1))


def _range_of(low: exp.Expr, high: exp.Expr, column: Column) -> exp.Expr:
    return sql.concatenated("[", low, separator(column), high, "]")


def separator(column: Column) -> str:
    """Return the separator between the ends of a range."""
    return "-" if column.family in {"integer", "decimal", "float"} else " to "


# Reading values


def read_sets_and_ranges(
    engine: Engine, labels: exp.Table, explained: exp.Query, places: Places
) -> Iterator[tuple[exp.Table, exp.Table, Cutting]]:
    """Yield the labels that nothing else explains, the places of the readable ones, and how: as ranges, as sets.

    ``labels`` are ``(number, label, released)``; ``explained`` is the query of the numbers of those that need not be
    read. Both tables exist until the next are requested. Numbers and dates are never written as sets.
    """
    name = places.hierarchy.column.name
    # NULL is not a text.
    others = exp.Not(this=exp.In(this=sql.column("number"), query=explained.subquery()))
    query = exp.select("*").from_(labels.copy()).where(sql.column(LABEL).is_(exp.null()).not_(), others)
    unread = make_table(engine, f"kanon_unread_{name}", query, f"labels of {name} that may be sets or ranges")
    readings = {"range": _ranges_query(unread, places)}
    if not places.ordered:
        readings["set"] = sql.query(
            "measures/sets_and_ranges/members",
            values={"member": member(sql.column(VALUE, "places"), places.hierarchy.column)},
            tables={"places": places.relation},
            relations={"unread": unread},
            names={"place_1": places.place},
        )
    for cutting in (Cutting(labels="range"), Cutting(labels="set")):
        if cutting.labels not in readings:
            continue
        title = f"labels of {name} as {cutting.labels}s"
        read = make_table(engine, f"kanon_read_{name}", readings[cutting.labels], title)
        yield unread, read, cutting
        engine.run(sql.drop(read), f"drop {title}")
    engine.run(sql.drop(unread), f"drop labels of {name} that may be sets or ranges")


def _ranges_query(unread: exp.Table, places: Places) -> exp.Query:
    own = places.hierarchy.column

    def is_end(end: str, alias: str) -> exp.Expr:
        text, value = sql.column(end, "ends"), sql.column(VALUE, alias)
        if own.family in {"date", "timestamp"} and places.ordered:  # whatever their time zone in the text
            return exp.TryCast(this=text, to=exp.DataType.build(own.lookup_type, dialect="duckdb")).eq(value)
        return text.eq(text_of(value, own) if places.ordered else end_of_range(value, own))

    return sql.query(
        "measures/sets_and_ranges/ranges",
        values={
            "may_have_null": exp.true() if places.null_is_beside else exp.false(),
            "null_place": places.null,
            "separator": separator(own),
            "is_low": is_end("low", _LOW),
            "is_high": is_end("high", _HIGH),
        },
        tables={"places": places.relation},
        relations={"unread": unread},
        names={"place_1": places.place},
    )
