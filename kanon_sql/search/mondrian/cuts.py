"""One round of cuts: in the column in which the values of a part span most, at medians, in halves, or at nodes.

    kanon_ends(number_of_1, node_1_of_2, leaves_1_of_2, ...)                   attributes of every place, as lists
    kanon_chosen(part, total, column_number, low, high, null_place, level)     parts that can be cut
    kanon_round(part, column_number, at_null, from_place, to_place, position, allowed)     their cuts

``low`` and ``high`` are the first and the last place of the part in that column. If cuts are made at nodes, ``level``
is the level of the lowest label over all of the part. A part that has NULLs and other values in a column is first cut
between them (``null_place``), then like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import coded_columns, coded_members, is_published
from kanon_sql.hierarchy.lookup_relation import WORD_BITS
from kanon_sql.measures.labels import PART, Places, node_name
from kanon_sql.models.base import N
from kanon_sql.search.mondrian.parts import ALL, of_column, tried_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kanon_sql.classes.recoding import Cutting
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.search.mondrian.parts import Parts

_LEAST = 1e-12  # least width of a span that is not empty
_MODULUS, _FACTORS = 2_147_483_647, (1_103_515_245, 12_820_163, 69_069)
_MANY = 100_000  # tuples from which binning first is faster
_BINS = ((1_000, 64), (40, 16))  # tuples of a part, and the number of bins for its places


# The column of each part


def choose_columns(parts: Parts) -> None:
    parts.make_once("kanon_ends", "facts of every place", lambda: _ends_query(parts))
    parts.make("kanon_chosen", "the column in which each part spans most", lambda: _chosen_query(parts))


def _ends_query(parts: Parts) -> exp.Select:
    """Return a row with lists of the attributes of every place, in their order, for ``_at_place``.

    Joining the places of both ends of every column would take longer to plan than the rest of a round.
    """
    lists = [sql.named(sql.literal(0), "nothing")]
    for column in parts.places:
        for name in _needed_of_ends(column, parts.cutting):
            in_order = exp.Order(this=sql.column(name), expressions=[exp.Ordered(this=sql.column("place"))])
            own = exp.select(exp.ArrayAgg(this=in_order)).from_(column.relation.copy())
            lists.append(sql.named(own.where(sql.column("place") > 0).subquery(), _list_of(column, name)))
    return exp.select(*lists)


def _at_place(column: Places, name: str, place: exp.Expr) -> exp.Expr:
    """Return an attribute of a place of a column; NULL at place 0."""
    own = sql.column(_list_of(column, name), "ends")
    return exp.Anonymous(this="LIST_EXTRACT", expressions=[own, place.copy()])


def _list_of(column: Places, name: str) -> str:
    return f"{name}_of_{column.number + 1}"


def _chosen_query(parts: Parts) -> exp.Select:
    tuples, tried = parts["kanon_tuples"], parts["kanon_tried"]
    places, cutting, k = parts.places, parts.cutting, parts.problem.k
    # 1. The span of each part in each column.
    spans = exp.select(PART, sql.named(sql.sum_of(sql.column(N)), "total")).from_(tuples.copy())
    for column in places:
        spans = spans.select(*_span(column, cutting), copy=False)
    spans = spans.group_by(PART).having(exp.Sum(this=sql.column(N)) >= sql.literal(2 * k))
    # 2. Its width; NULL if everything was tried.
    widths = exp.select(sql.column(PART, "spans"), "total").from_("spans")
    widths = widths.join(sql.aliased(tried, "tried"), on=_same(PART, "spans", "tried"))
    widths = widths.join(sql.aliased(parts["kanon_ends"], "ends"), join_type="cross")
    for column in places:
        all_tried = sql.column(tried_name(column)).eq(ALL)
        empty = _low(column).eq(_high(column))
        width = exp.Case().when(exp.or_(all_tried, empty), sql.literal(0.0)).else_(_width(column, cutting))
        widths = widths.select(_low(column), _high(column), sql.named(width, f"width_{column.number + 1}"), copy=False)
        if column.null is not None:
            untried = sql.column(tried_name(column)).eq(0)
            first = exp.Case().when(exp.and_(_has_null(column), untried), sql.literal(column.null))
            widths = widths.select(sql.named(first, f"null_{column.number + 1}"), copy=False)
        if cutting.cut == "node" and not column.ordered:
            widths = widths.select(sql.named(_level(column), f"level_{column.number + 1}"), copy=False)
    # 3. The widest column; the first of equal ones.
    named = [sql.column(f"width_{column.number + 1}") for column in places]
    ranked = exp.select("*", sql.named(sql.greatest(named), "widest")).from_("widths")
    number = exp.Case()
    for column, its_width in zip(places, named, strict=True):
        is_widest = sql.column(its_width.name).eq(sql.column("widest"))
        number = number.when(is_widest, sql.literal(column.number + 1), copy=False)
    chosen = exp.select("*", sql.named(number, "column_number")).from_("ranked")
    chosen = chosen.where(sql.column("widest") > 0)
    null_place = of_column({c.number: sql.column(f"null_{c.number + 1}") for c in places if c.null is not None})
    by_tree = [c for c in places if cutting.cut == "node" and not c.ordered]
    level = of_column({c.number: sql.column(f"level_{c.number + 1}") for c in by_tree})
    return (
        exp.select(
            PART,
            "total",
            "column_number",
            *(
                sql.named(of_column({c.number: sql.column(f"{end}_{c.number + 1}") for c in places}), end)
                for end in ("low", "high")
            ),
            sql.named(sql.cast(null_place, "INTEGER"), "null_place"),
            sql.named(sql.cast(level, "INTEGER"), "level"),
        )
        .from_("chosen")
        .with_("spans", as_=spans)
        .with_("widths", as_=widths)
        .with_("ranked", as_=ranked)
        .with_("chosen", as_=chosen)
    )


def _span(column: Places, cutting: Cutting) -> list[exp.Expr]:
    place, number = sql.column(column.place), column.number + 1
    found: list[exp.Expr] = [
        sql.named(exp.Min(this=place), f"low_{number}"),
        sql.named(exp.Max(this=place.copy()), f"high_{number}"),
    ]
    if _counts_values(column, cutting):
        if column.labels.leaves <= WORD_BITS:
            bit = exp.BitwiseLeftShift(this=sql.cast(sql.literal(1), "BIGINT"), expression=place.copy())
            several: exp.Expr = exp.BitwiseCount(this=exp.BitwiseOrAgg(this=bit))
        else:
            several = sql.count_distinct(place.copy())
        found.append(sql.named(several, f"different_{number}"))
    if column.null is not None and not column.ordered:
        is_null = place.eq(column.null)
        found.append(sql.named(exp.LogicalOr(this=is_null), f"has_null_{number}"))
    return found


def _counts_values(column: Places, cutting: Cutting) -> bool:
    by_set = cutting.choose == "range" and cutting.labels == "set" and not column.ordered
    return cutting.choose == "distinct" or by_set


def _needed_of_ends(column: Places, cutting: Cutting) -> list[str]:
    """Return the attributes needed of the lowest and the highest place of a part in a column."""
    if column.ordered:
        return ["number"] if cutting.choose == "range" else []
    if cutting.cut != "node" and (cutting.choose, cutting.labels) != ("range", "tree"):
        return []
    return [name for level in range(1, column.hierarchy.height) for name in (node_name(level), f"leaves_{level}")]


def _width(column: Places, cutting: Cutting) -> exp.Expr:
    """Return the width of a part's values, 0 to 1: the global certainty penalty of their label."""
    number, labels = column.number + 1, column.labels
    if cutting.choose == "random":
        return _random(column, cutting.seed)
    different = sql.cast(sql.column(f"different_{number}"), "DOUBLE")
    if cutting.choose == "distinct":
        return different / float(column.different)
    if column.ordered and labels.lower is not None and labels.upper is not None:
        low, high = (_at_place(column, "number", end) for end in (_low(column), _high(column)))
        # Halves, because the difference of two large numbers may overflow.
        half = labels.upper / 2 - labels.lower / 2
        width = exp.Paren(this=exp.Sub(this=_halved(high), expression=_halved(low)))
        share: exp.Expr = exp.Div(this=width, expression=sql.literal(half)) if half else sql.literal(1.0)
        no_distance = exp.or_(low.copy().is_(exp.null()), high.copy().is_(exp.null()))
        share = sql.greatest([share, sql.literal(_LEAST)])
        return exp.Case().when(no_distance, sql.literal(1.0)).else_(share)
    if cutting.labels == "set":
        return different / float(labels.leaves)
    if cutting.labels == "range":
        places = exp.Add(this=_high(column) - _low(column), expression=sql.literal(1))
        return sql.cast(exp.Paren(this=places), "DOUBLE") / float(labels.leaves)
    tree = exp.Case()
    for level in range(1, column.hierarchy.height):
        leaves = sql.cast(_at_place(column, f"leaves_{level}", _low(column)), "DOUBLE")
        share = leaves / float(labels.leaves)
        tree = tree.when(_is_under_one(column, level), share, copy=False)
    return tree.else_(sql.literal(1.0), copy=False) if column.hierarchy.height > 1 else sql.literal(1.0)


def _level(column: Places) -> exp.Expr:
    """Return the level of the lowest label over a part's values."""
    case = exp.Case().when(_low(column).eq(_high(column)), sql.literal(0), copy=False)
    for level in range(1, column.hierarchy.height):
        case = case.when(_is_under_one(column, level), sql.literal(level), copy=False)
    return case.else_(sql.literal(column.hierarchy.height), copy=False)


def _has_null(column: Places) -> exp.Expr:
    """Return the condition that a part has NULLs. The caller ensures that it has other values too."""
    if column.ordered:
        return _low(column).eq(column.null)
    return sql.column(f"has_null_{column.number + 1}")


def _random(column: Places, seed: int) -> exp.Expr:
    """Return a number between 0 and 1 that depends only on the seed, the part and the column."""
    by_part, by_column, by_seed = _FACTORS
    start = sql.literal((by_column * (column.number + 1) + by_seed * seed) % _MODULUS)
    part = exp.Mod(this=sql.cast(sql.column(PART, "spans"), "BIGINT"), expression=sql.literal(_MODULUS))
    mixed = exp.Add(this=exp.Paren(this=part) * by_part, expression=start)
    once = exp.Mod(this=exp.Paren(this=mixed), expression=sql.literal(_MODULUS))
    twice = exp.Mod(
        this=exp.Paren(this=exp.Paren(this=once) * exp.Paren(this=once.copy())),
        expression=sql.literal(_MODULUS),
    )
    number = sql.cast(twice, "DOUBLE") + 1.0
    return exp.Paren(this=number) / float(_MODULUS)


def _low(column: Places) -> exp.Expr:
    return sql.column(f"low_{column.number + 1}", "spans")


def _high(column: Places) -> exp.Expr:
    return sql.column(f"high_{column.number + 1}", "spans")


def _is_under_one(column: Places, level: int) -> exp.Expr:
    """Return the condition that the values of a part are under one label of a level."""
    low, high = (_at_place(column, node_name(level), end) for end in (_low(column), _high(column)))
    return exp.EQ(this=low, expression=high)


def _halved(number: exp.Expr) -> exp.Expr:
    return exp.Div(this=number, expression=sql.literal(2))


def _same(name: str, left: str, right: str) -> exp.Expr:
    return sql.column(name, left).eq(sql.column(name, right))


# The cuts


def propose_cuts(parts: Parts) -> None:
    """Make the cuts of a round. Whether a cut is allowed depends on the number of rows on its sides."""
    k, cut = parts.problem.k, parts.cutting.cut
    bins = 0 if cut == "node" else _bins(parts)
    if bins:
        parts.make("kanon_binned", "rows in each bin of places", lambda: parts.query("mondrian/binned"), bins=bins)
        parts.make("kanon_bins", "the bins with the median", lambda: parts.query("mondrian/bins"), bins=bins)
        histogram, title = "mondrian/binned_histogram", "rows at each place of these bins"
    else:
        histogram, title = "mondrian/histogram", "rows at each place of the chosen column"
    parts.make("kanon_histogram", title, lambda: parts.query(histogram))
    if cut == "relaxed":
        parts.make("kanon_round", "halves", lambda: parts.query("mondrian/halves", k=k))
    elif cut == "node":
        parts.make("kanon_children", "children of each label", lambda: _children_query(parts))
        parts.make("kanon_round", "sides at nodes, or at medians", lambda: _nodes_query(parts, k))
    else:
        parts.make("kanon_round", "the median, and the rows on both sides", lambda: parts.query("mondrian/cuts", k=k))


def forbid_by(parts: Parts, models: Sequence[PrivacyModel]) -> None:
    """Forbid the cuts that leave a side in violation of the models."""
    forbid_parts(parts, lambda: failing_parts(parts, models), "cuts whose sides satisfy the models")


def forbid_parts(parts: Parts, failing: Callable[[], exp.Query], title: str) -> None:
    def forbidden() -> exp.Select:
        fails = exp.In(this=sql.column(PART), query=failing().subquery())
        names = ("part", "column_number", "at_null", "from_place", "to_place", "position")
        holds = exp.and_(sql.column("allowed"), exp.Not(this=fails))
        return exp.select(*names, sql.named(holds, "allowed")).from_(parts["kanon_round"].copy())

    parts.replace("kanon_round", title, forbidden)


def failing_parts(parts: Parts, models: Sequence[PrivacyModel]) -> exp.Select:
    """Return the parts with a side that fails a model."""
    members = coded_members(*rows_of_sides(parts))
    measured = measured_query(members, models, coded_columns(models))
    met = exp.Paren(this=is_published(models))
    return exp.select(PART).from_(measured.subquery("measured")).where(exp.Not(this=met))


def rows_of_sides(parts: Parts) -> tuple[exp.Select, list[exp.Expr]]:
    """Return the rows of all parts, and their part and side as columns. Side -1 is outside of all cuts."""
    cuts = parts["kanon_round"]
    there = exp.and_(
        sql.column("allowed", cuts.name),
        sql.column(PART, cuts.name).eq(parts.of_tuple(PART)),
        parts.is_inside("kanon_round"),
    )
    rows = exp.select().from_(parts["kanon_tuples"].copy()).join(cuts.copy(), on=there, join_type="left")
    side = exp.Coalesce(this=sql.column("from_place", cuts.name), expressions=[sql.literal(-1)])
    return rows, [sql.named(parts.of_tuple(PART), PART), sql.named(side, "side")]


def make(parts: Parts) -> None:
    """Send the tuples of each part to its sides, and record the cuts."""
    if parts.cutting.cut == "relaxed":
        parts.replace("kanon_tuples", "cut in halves", lambda: parts.query("mondrian/halved"))
    elif parts.cutting.cut == "node":
        parts.replace("kanon_tuples", "cut at nodes", lambda: parts.query("mondrian/parted"))
    else:
        parts.replace("kanon_tuples", "cut in two", lambda: parts.query("mondrian/cut"))
    parts.take_note()


def _bins(parts: Parts) -> int:
    """Return the number of bins used to find the median of a part; 0 if it has few tuples."""
    if parts.problem.frequency.tuples < _MANY:
        return 0
    tuples_of_part = parts.problem.frequency.tuples / parts.cuttable
    return next((bins for enough, bins in _BINS if tuples_of_part >= enough), 0)


def _nodes_query(parts: Parts, k: int) -> exp.Query:
    """Return the cuts: at the nodes of columns with a tree, at the medians of the others."""
    queries = [parts.query(name, k=k) for name in ("mondrian/cuts", "mondrian/children")]
    return sql.union_all([exp.select("*").from_(query.subquery("cuts")) for query in queries])


def _children_query(parts: Parts) -> exp.Select:
    """Return the children of each part's label: their places, and the rows under them."""
    histogram, chosen = parts["kanon_histogram"].name, parts["kanon_chosen"].name
    same = sql.column(PART, chosen).eq(sql.column(PART, histogram))
    place = sql.column("place", histogram)
    query = exp.select().from_(parts["kanon_histogram"].copy()).join(parts["kanon_chosen"].copy(), on=same)
    first, leaves = {}, {}
    for column in parts.places:
        if column.ordered or column.hierarchy.height == 1:
            continue
        alias = f"places_{column.number + 1}"
        there = exp.and_(
            sql.column("column_number", chosen).eq(column.number + 1),
            sql.column("place", alias).eq(place),
        )
        query = query.join(sql.aliased(column.relation, alias), on=there, join_type="left", copy=False)
        nodes = exp.Case(this=sql.column("level", chosen)).when(sql.literal(1), place.copy())
        under = exp.Case(this=sql.column("level", chosen)).when(sql.literal(1), sql.literal(1))
        for level in range(1, column.hierarchy.height):
            nodes = nodes.when(sql.literal(level + 1), sql.column(node_name(level), alias), copy=False)
            under = under.when(sql.literal(level + 1), sql.column(f"leaves_{level}", alias), copy=False)
        first[column.number], leaves[column.number] = nodes, under
    from_place = exp.Coalesce(this=of_column(first), expressions=[place.copy()]) if first else place.copy()
    size = exp.Coalesce(this=of_column(leaves), expressions=[sql.literal(1)]) if first else sql.literal(1)
    to_place = exp.Sub(this=exp.Add(this=from_place.copy(), expression=size), expression=sql.literal(1))
    part, number = sql.column(PART, chosen), sql.column("column_number", chosen)
    by_tree = exp.and_(
        exp.Not(this=sql.column("level", chosen).is_(exp.null())), sql.column("null_place", chosen).is_(exp.null())
    )
    return (
        query.select(part, number, sql.named(sql.cast(from_place, "INTEGER"), "from_place"))
        .select(sql.named(sql.cast(to_place, "INTEGER"), "to_place"))
        .select(sql.named(sql.sum_of(sql.column(N, histogram)), N))
        .where(by_tree)
        .group_by(part.copy(), number.copy(), from_place.copy(), to_place.copy())
    )
