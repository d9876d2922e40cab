"""One round of cuts, in the columns that were chosen: at medians, in halves, or at the nodes of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import coded_columns, coded_members, is_published
from kanon_sql.measures.places import PART, node_name
from kanon_sql.models.counted import N
from kanon_sql.search.mondrian.parts import START
from kanon_sql.search.mondrian.spans import of_column
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.search.mondrian.parts import Parts


_MANY = 100_000  # tuples from which a look at the bins first is faster
_BINS = ((1_000, 64), (40, 16))  # tuples of a part, and into how many bins their places are divided


def propose_cuts(parts: Parts) -> None:
    """Make the cuts of a round, each allowed or not by the number of rows on its sides."""
    k, cut = parts.problem.k, parts.cutting.cut
    bins = 0 if cut == "node" else _bins(parts)
    if bins:
        parts.make("kanon_binned", "rows in each bin of places", lambda: _binned_query(parts), bins=bins)
        parts.make("kanon_bins", "the bins with the median", lambda: parts.query("mondrian/bins"), bins=bins)
        title = "rows at each place of these bins"
        parts.make("kanon_histogram", title, lambda: _histogram_of_bins_query(parts))
    else:
        parts.make("kanon_histogram", "rows at each place of the chosen column", lambda: histogram_query(parts))
    if cut == "relaxed":
        parts.make("kanon_round", "halves", lambda: _halves_query(parts, k))
    elif cut == "node":
        parts.make("kanon_children", "children of each label", lambda: _children_query(parts))
        parts.make("kanon_round", "sides at nodes, or at medians", lambda: _nodes_query(parts, k))
    else:
        parts.make("kanon_round", "the median, and the rows on both sides", lambda: parts.query("mondrian/cuts", k=k))


def make(parts: Parts) -> None:
    """Send the tuples of each part to its sides, and take note of the cuts."""
    if parts.cutting.cut == "relaxed":
        parts.replace("kanon_tuples", "cut in halves", lambda: _halved_query(parts))
    elif parts.cutting.cut == "node" and parts.costs is None:
        parts.replace("kanon_tuples", "cut at nodes", lambda: _parted_query(parts))
    else:
        parts.replace("kanon_tuples", "cut in two", lambda: _cut_query(parts))
    parts.take_note()


def histogram_query(parts: Parts) -> exp.Select:
    """Return the query of the rows at each place of the column that was chosen for a part."""
    part, place = parts.of_tuple(PART), parts.place()
    rows = sql.named(sql.sum_of(parts.of_tuple(N)), N)
    below = sql.named(sql.cast(sql.literal(0), "BIGINT"), "below")
    return parts.tuples_with("kanon_chosen", part, sql.named(place, "place"), rows, below).group_by(
        part.copy(), place.copy()
    )


def _bins(parts: Parts) -> int:
    """Return into how many bins the places of a part are divided to find its median; 0 if it has few tuples."""
    if parts.problem.frequency.tuples < _MANY:
        return 0
    tuples_of_part = parts.problem.frequency.tuples / parts.cuttable
    return next((bins for enough, bins in _BINS if tuples_of_part >= enough), 0)


def _bin(parts: Parts) -> exp.Expr:
    """Return the bin of a tuple: in which of several equal ranges of its part's places it lies."""
    chosen = parts["kanon_chosen"].name
    low, high = sql.column("low", chosen), sql.column("high", chosen)
    distance = exp.Mul(
        this=exp.Paren(this=exp.Sub(this=parts.place(), expression=low)), expression=exp.Placeholder(this="bins")
    )
    width = exp.Paren(this=exp.Add(this=exp.Sub(this=high, expression=low.copy()), expression=sql.literal(1)))
    return sql.cast(exp.Floor(this=exp.Div(this=distance, expression=sql.cast(width, "DOUBLE"))), "INTEGER")


def _binned_query(parts: Parts) -> exp.Select:
    """Return the rows in each bin of a part that is cut at its median."""
    part, chosen = parts.of_tuple(PART), parts["kanon_chosen"].name
    bin_of_tuple = _bin(parts)
    rows = sql.named(sql.sum_of(parts.of_tuple(N)), N)
    binned = parts.tuples_with("kanon_chosen", part, sql.named(bin_of_tuple, "bin"), rows)
    return binned.where(sql.column("null_place", chosen).is_(exp.null())).group_by(part.copy(), bin_of_tuple.copy())


def _histogram_of_bins_query(parts: Parts) -> exp.Query:
    """Return the histogram of the bins with the median; of parts that are cut at their NULLs, that of the NULLs."""
    bins, chosen = parts["kanon_bins"].name, parts["kanon_chosen"].name
    part, place = parts.of_tuple(PART), parts.place()
    rows = sql.named(sql.sum_of(parts.of_tuple(N)), N)
    below = sql.column("below", bins)
    of_bins = parts.tuples_with("kanon_bins", part, sql.named(place, "place"), rows, below)
    of_bins = of_bins.where(parts.is_inside("kanon_bins")).group_by(part.copy(), place.copy(), below.copy())
    if all(column.null is None for column in parts.places):
        return of_bins
    none = sql.named(sql.cast(sql.literal(0), "BIGINT"), "below")
    of_nulls = parts.tuples_with("kanon_chosen", part.copy(), sql.named(place.copy(), "place"), rows.copy(), none)
    of_nulls = of_nulls.where(exp.EQ(this=place.copy(), expression=sql.column("null_place", chosen)))
    return sql.union_all([of_bins, of_nulls.group_by(part.copy(), place.copy())])


def _cut_query(parts: Parts) -> exp.Select:
    sides = parts["kanon_sides"].name
    part = exp.Case().when(exp.Not(this=sql.column("allowed", sides)), parts.of_tuple(PART))
    part = part.when(parts.is_inside("kanon_sides"), sql.column("inside", sides))
    part = part.else_(sql.column("outside", sides))
    return parts.tuples_with("kanon_sides", sql.named(part, PART), *parts.others())


def _halves_query(parts: Parts, k: int) -> exp.Select:
    """Return the cuts in halves, each with the position up to which rows of the median go inside."""
    halves = parts.query("mondrian/halves", k=k)
    # Tuples at the median, in their order.
    frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    start, n = parts.of_tuple(START), parts.of_tuple(N)
    order = exp.Order(expressions=[exp.Ordered(this=start.copy())])
    up_to = exp.Window(this=exp.Sum(this=n.copy()), partition_by=[sql.column(PART, "halves")], order=order, spec=frame)
    same = exp.EQ(this=sql.column(PART, "halves"), expression=parts.of_tuple(PART))
    equal = (
        exp.select(sql.column(PART, "halves"), "from_median", start, n, sql.named(up_to, "up_to"))
        .from_(parts["kanon_tuples"].copy())
        .join("halves", on=same)
        .where(exp.EQ(this=parts.place(), expression=sql.column("to_place", "halves")))
        .where(sql.column("from_median", "halves").is_(exp.null()).not_())
    )
    # The one in which the half is full.
    before = exp.Paren(this=exp.Sub(this=sql.column("up_to"), expression=sql.column(N)))
    wanted = sql.column("from_median")
    last = exp.Sub(this=exp.Add(this=sql.column(START), expression=wanted), expression=before)
    full = (
        exp.select(PART, sql.named(sql.cast(last, "BIGINT"), "position"))
        .from_("equal")
        .where(exp.LT(this=before.copy(), expression=wanted.copy()))
        .where(exp.LTE(this=wanted.copy(), expression=sql.column("up_to")))
    )
    in_order = exp.Coalesce(this=sql.column("position", "full_half"), expressions=[sql.literal(0)])
    position = exp.Case().when(sql.column("from_median", "halves").is_(exp.null()).not_(), in_order)
    names = ("column_number", "at_null", "from_place", "to_place", "allowed")
    return (
        exp.select(sql.column(PART, "halves"), *names, sql.named(position, "position"))
        .from_("halves")
        .join(
            "full_half",
            on=exp.EQ(this=sql.column(PART, "full_half"), expression=sql.column(PART, "halves")),
            join_type="left",
        )
        .with_("halves", as_=halves)
        .with_("equal", as_=equal)
        .with_("full_half", as_=full)
    )


def _nodes_query(parts: Parts, k: int) -> exp.Query:
    """Return the cuts of columns with a tree at its nodes, and of the others at their medians."""
    queries = [parts.query(name, k=k) for name in ("mondrian/cuts", "mondrian/children")]
    return sql.union_all([exp.select("*").from_(query.subquery("cuts")) for query in queries])


def _halved_query(parts: Parts) -> exp.Query:
    """Return the tuples after a cut in halves: one at the median may be in both, with a part of its rows in each."""
    sides = parts["kanon_sides"].name
    place, position = parts.place(), sql.column("position", sides)
    start, n = parts.of_tuple(START), parts.of_tuple(N)
    at_median = exp.and_(position.is_(exp.null()).not_(), exp.EQ(this=place, expression=sql.column("to_place", sides)))
    allowed = sql.column("allowed", sides)
    end = exp.Add(this=start.copy(), expression=n.copy())
    places = [parts.of_tuple(column.place) for column in parts.places]

    def half(side: str, first: exp.Expr, last: exp.Expr, condition: exp.Expr) -> exp.Select:
        rows = exp.Sub(this=last, expression=exp.Paren(this=first.copy()))
        columns = [sql.named(rows, N), sql.named(first, START)]
        query = parts.tuples_with("kanon_sides", sql.named(sql.column(side, sides), PART), *places, *columns)
        return query.where(allowed.copy(), condition)

    to = exp.Case().when(at_median, sql.least([end, position.copy()])).else_(end.copy())
    since = exp.Case().when(at_median.copy(), sql.greatest([start, position.copy()]))
    since = since.else_(start.copy())
    inside = exp.and_(
        parts.is_inside("kanon_sides"),
        exp.or_(exp.Not(this=exp.Paren(this=at_median.copy())), exp.LT(this=start.copy(), expression=position.copy())),
    )
    outside = exp.or_(
        exp.Not(this=exp.Paren(this=parts.is_inside("kanon_sides"))),
        exp.and_(at_median.copy(), exp.GT(this=exp.Paren(this=end.copy()), expression=position.copy())),
    )
    kept = parts.tuples_with("kanon_sides", parts.of_tuple(PART), *parts.others())
    return sql.union_all(
        [
            kept.where(exp.Not(this=allowed.copy())),
            half("inside", start.copy(), to, inside),
            half("outside", since, end.copy(), outside),
        ]
    )


def _children_query(parts: Parts) -> exp.Select:
    """Return the children of each part's label: their places, and the rows under them."""
    histogram, chosen = parts["kanon_histogram"].name, parts["kanon_chosen"].name
    same = exp.EQ(this=sql.column(PART, chosen), expression=sql.column(PART, histogram))
    place = sql.column("place", histogram)
    query = exp.select().from_(parts["kanon_histogram"].copy()).join(parts["kanon_chosen"].copy(), on=same)
    first, leaves = {}, {}
    for column in parts.places:
        if column.ordered or column.hierarchy.height == 1:
            continue
        alias = f"places_{column.number + 1}"
        there = exp.and_(
            exp.EQ(this=sql.column("column_number", chosen), expression=sql.literal(column.number + 1)),
            exp.EQ(this=sql.column("place", alias), expression=place.copy()),
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


def _parted_query(parts: Parts) -> exp.Select:
    """Return the tuples after cuts of which a part may have several."""
    sides = parts["kanon_sides"]
    there = exp.and_(
        sql.column("allowed", sides.name),
        exp.EQ(this=sql.column(PART, sides.name), expression=parts.of_tuple(PART)),
        parts.is_inside("kanon_sides"),
    )
    rests = exp.select(PART, "allowed", "rest").distinct().from_(sides.copy()).subquery("rests")
    same = exp.EQ(this=sql.column(PART, "rests"), expression=parts.of_tuple(PART))
    part = exp.Case().when(exp.Not(this=sql.column("allowed", "rests")), parts.of_tuple(PART))
    part = part.else_(exp.Coalesce(this=sql.column("inside", sides.name), expressions=[sql.column("rest", "rests")]))
    query = exp.select(sql.named(part, PART), *parts.others()).from_(parts["kanon_tuples"].copy())
    return query.join(rests, on=same).join(sides.copy(), on=there, join_type="left")


def forbid(parts: Parts) -> None:
    """Forbid the cuts of parts that would leave some side without what the models ask for."""

    def sides() -> exp.Select:
        cuts = parts["kanon_round"]
        models = parts.problem.models
        there = exp.and_(
            sql.column("allowed", cuts.name),
            exp.EQ(this=sql.column(PART, cuts.name), expression=parts.of_tuple(PART)),
            parts.is_inside("kanon_round"),
        )
        rows = exp.select().from_(parts["kanon_tuples"].copy()).join(cuts.copy(), on=there, join_type="left")
        side = exp.Coalesce(this=sql.column("from_place", cuts.name), expressions=[sql.literal(-1)])
        members = coded_members(rows, [sql.named(parts.of_tuple(PART), PART), sql.named(side, "side")])
        return measured_query(members, models, coded_columns(models))

    def forbidden() -> exp.Select:
        met = exp.Paren(this=is_published(parts.problem.models))
        failing = exp.select(PART).from_(sides().subquery("measured")).where(exp.Not(this=met))
        fails = exp.In(this=sql.column(PART), query=failing.subquery())
        names = ("part", "column_number", "at_null", "from_place", "to_place", "position")
        holds = exp.and_(sql.column("allowed"), exp.Not(this=fails))
        return exp.select(*names, sql.named(holds, "allowed")).from_(parts["kanon_round"].copy())

    parts.replace("kanon_round", "cuts whose sides satisfy the models", forbidden)
