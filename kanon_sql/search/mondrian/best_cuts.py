"""The cut of each part that saves most: of all columns and all places, or of the medians of all columns.

1. Groups: the tuples of a part that have the same place in a column; under a tree also those under the same label.
2. Before and after each group: what is known of the groups of the column on either side of it, by window functions.
3. Cuts: of numbers and ranges, up to a group against all after it; at the nodes of a tree, and of NULLs, the group
   against all others. Those that leave too few rows on a side are dropped.
4. What both sides would lose; the cut after which a part loses least wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.measures.places import PART, Places, node_name
from kanon_sql.models.counted import N
from kanon_sql.search.mondrian.spans import ALL, tried_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.search.mondrian.parts import Parts
    from kanon_sql.search.mondrian.side_costs import SideCosts

_TOTAL = "total"
_BY_COLUMN = ("part", "column_number", "level")


def best_cuts(parts: Parts, costs: SideCosts) -> None:
    """Make the best cut of each part that has one."""
    k = parts.problem.k
    # 1. Groups.
    parts.make(
        "kanon_histogram",
        "groups of tuples with the same place, and what is known of them",
        lambda: _groups(parts, costs),
    )
    if any(_by_node(parts, column) and column.hierarchy.height > 1 for column in parts.places):
        parts.insert("kanon_histogram", "groups under the same label", lambda: _node_groups(parts, costs))
    # 2. and 3. Cuts.
    parts.make("kanon_children", "all cuts that leave enough rows on both sides", lambda: _cuts(parts, costs, k))
    # 4. The best.
    parts.make("kanon_chosen", "the cut of each part that saves most", lambda: _best(parts, costs))
    columns = ("part", "column_number", "at_null", "from_place", "to_place", "position", "allowed")
    parts.make("kanon_round", "cuts of the round", lambda: exp.select(*columns).from_(parts["kanon_chosen"].copy()))


def _by_node(parts: Parts, column: Places) -> bool:
    return parts.cutting.cut == "node" and not column.ordered


def _groups(parts: Parts, costs: SideCosts) -> exp.Query:
    tuples = parts["kanon_tuples"]
    total = exp.Window(this=exp.Sum(this=sql.column(N)), partition_by=[sql.column(PART)])
    names = [*(column.place for column in parts.places), N, *costs.names()]
    large = exp.GTE(this=sql.column(_TOTAL), expression=sql.literal(2 * parts.problem.k))
    counted = exp.select(PART, *names, sql.named(total, _TOTAL)).from_(tuples.copy())
    working = exp.select("*").from_(counted.subquery("counted")).where(large)
    queries = []
    for column in parts.places:
        place = sql.column(column.place)
        ends = [sql.named(place.copy(), "from_place"), sql.named(place.copy(), "to_place")]
        numbers = [sql.named(sql.literal(column.number + 1), "column_number"), sql.named(sql.literal(0), "level")]
        rows = [sql.named(exp.Min(this=sql.column(_TOTAL)), _TOTAL), sql.named(sql.sum_of(sql.column(N)), N)]
        query = exp.select(PART, *numbers, *ends, *rows, *costs.summed(grouped=False)).from_("working")
        queries.append(query.group_by(PART, place.copy()))
    # Materialized: else the window over the tuples would be computed for each column.
    return sql.union_all(queries).with_("working", as_=working, materialized=True)


def _node_groups(parts: Parts, costs: SideCosts) -> exp.Query:
    queries = []
    for column in parts.places:
        if not _by_node(parts, column):
            continue
        for level in range(1, column.hierarchy.height):
            first, leaves = sql.column(node_name(level), "places"), sql.column(f"leaves_{level}", "places")
            last = exp.Sub(this=exp.Add(this=first, expression=leaves), expression=sql.literal(1))
            numbers = [
                sql.named(sql.literal(column.number + 1), "column_number"),
                sql.named(sql.literal(level), "level"),
                sql.named(first.copy(), "from_place"),
                sql.named(sql.cast(last, "INTEGER"), "to_place"),
            ]
            own = parts["kanon_histogram"]
            rows = [
                sql.named(exp.Min(this=sql.column(_TOTAL)), _TOTAL),
                sql.named(sql.sum_of(sql.column(N, own.name)), N),
            ]
            same = exp.EQ(this=sql.column("place", "places"), expression=sql.column("from_place", own.name))
            its_own = exp.EQ(this=sql.column("column_number", own.name), expression=sql.literal(column.number + 1))
            query = exp.select(PART, *numbers, *rows, *costs.summed(grouped=True)).from_(own.copy())
            query = query.join(sql.aliased(column.relation, "places"), on=same).where(its_own)
            queries.append(query.group_by(PART, first.copy(), leaves.copy()))
    return sql.union_all(queries)


def _cuts(parts: Parts, costs: SideCosts, k: int) -> exp.Query:
    names = costs.group_names()
    before = _window("UNBOUNDED", "PRECEDING", 1, "PRECEDING")
    after = _window(1, "FOLLOWING", "UNBOUNDED", "FOLLOWING")
    up_to = _window("UNBOUNDED", "PRECEDING", "CURRENT ROW", None)
    up_to.set("this", exp.Sum(this=sql.column(N)))
    following = _window(1, "FOLLOWING", 1, "FOLLOWING")
    following.set("this", exp.Sum(this=sql.column(N)))
    medians = not parts.cutting.every_cut
    known = exp.select(*_BY_COLUMN, "from_place", "to_place", _TOTAL, N, *names)
    known = known.select(*(costs.over(name, before, "before") for name in names))
    known = known.select(*(costs.over(name, after, "after") for name in names))
    known = known.select(sql.named(sql.cast(up_to, "BIGINT"), "up_to"))
    if medians:
        known = known.select(sql.named(sql.cast(following, "BIGINT"), "next_n"))
    known = known.from_(parts["kanon_histogram"].copy())
    queries = []
    by_node = [column for column in parts.places if _by_node(parts, column)]
    others = [column for column in parts.places if not _by_node(parts, column)]
    if others:
        queries.append(_prefixes(costs, others, k, medians=medians))
    alone: list[tuple[Places, int | None]] = [(column, None) for column in by_node]
    alone += [(column, column.null) for column in others if column.null is not None and not column.ordered]
    queries += [_alone(costs, column, place, k) for column, place in alone]
    return sql.union_all(queries).with_("known", as_=known, materialized=True)


def _prefixes(costs: SideCosts, columns: list[Places], k: int, *, medians: bool) -> exp.Select:
    """Return the cuts of each group and all before it against all after it."""
    inside, outside = sql.column("up_to"), exp.Sub(this=sql.column(_TOTAL), expression=sql.column("up_to"))
    query = exp.select(PART, "column_number", sql.named(sql.literal(0), "from_place"), "to_place")
    query = query.select(sql.named(inside, "inside_rows"), sql.named(outside, "outside_rows"))
    for name in costs.group_names():
        query = query.select(
            sql.named(costs.together(name, ["", "before"]), f"inside_{name}"),
            sql.named(costs.together(name, ["after"]), f"outside_{name}"),
        )
    numbers = [sql.literal(column.number + 1) for column in columns]
    query = query.from_("known").where(sql.column("column_number").isin(*numbers), *_enough(inside, outside, k))
    if not medians:
        return query
    twice = exp.Mul(this=sql.literal(2), expression=sql.column("up_to"))
    total = sql.column(_TOTAL)
    before = exp.Mul(
        this=sql.literal(2), expression=exp.Paren(this=exp.Sub(this=sql.column("up_to"), expression=sql.column(N)))
    )
    last = exp.EQ(this=exp.Add(this=sql.column("up_to"), expression=sql.column("next_n")), expression=total)
    is_median = exp.or_(exp.GTE(this=twice, expression=total.copy()), last)
    return query.where(exp.LT(this=before, expression=total.copy()), is_median)


def _alone(costs: SideCosts, column: Places, place: int | None, k: int) -> exp.Select:
    """Return the cuts of each group against all others, or of the one at a place."""
    inside, outside = sql.column(N), exp.Sub(this=sql.column(_TOTAL), expression=sql.column(N))
    query = exp.select(PART, "column_number", "from_place", "to_place")
    query = query.select(sql.named(inside, "inside_rows"), sql.named(outside, "outside_rows"))
    for name in costs.group_names():
        query = query.select(
            sql.named(costs.together(name, [""]), f"inside_{name}"),
            sql.named(costs.together(name, ["before", "after"]), f"outside_{name}"),
        )
    its_own = exp.EQ(this=sql.column("column_number"), expression=sql.literal(column.number + 1))
    query = query.from_("known").where(its_own, *_enough(inside, outside, k))
    return query if place is None else query.where(sql.column("from_place").eq(place))


def _enough(inside: exp.Expr, outside: exp.Expr, k: int) -> list[exp.Expr]:
    return [exp.GTE(this=side.copy(), expression=sql.literal(k)) for side in (inside, outside)]


def _best(parts: Parts, costs: SideCosts) -> exp.Select:
    """Return the cut of each part after which it loses least; of equal ones, the first."""
    query = exp.select(*(sql.column(name, "cuts") for name in ("part", "column_number", "from_place", "to_place")))
    query = query.from_(sql.aliased(parts["kanon_children"], "cuts"))
    total: exp.Expr | None = None
    for side in ("inside", "outside"):
        query, cost = costs.cost(query, side)
        rows = sql.column(f"{side}_rows", "cuts")
        lost = exp.Mul(this=rows, expression=exp.Paren(this=cost))
        total = lost if total is None else exp.Add(this=total, expression=lost)
    query = query.select(sql.named(total or sql.literal(0), "lost"))
    if not parts.problem.only_counts_rows:
        query = _untried(parts, query)
    order = [sql.column(name) for name in ("lost", "column_number", "from_place", "to_place")]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[sql.column(PART)],
        order=exp.Order(expressions=[exp.Ordered(this=item) for item in order]),
    )
    ranked = exp.select("*", sql.named(rank, "rank")).from_(query.subquery("lost"))
    at_null = sql.named(exp.false(), "at_null")
    position = sql.named(sql.cast(exp.null(), "BIGINT"), "position")
    allowed = sql.named(exp.true(), "allowed")
    best = exp.select(PART, "column_number", at_null, "from_place", "to_place", position, allowed, "lost")
    return best.from_(ranked.subquery("ranked")).where(sql.column("rank").eq(1))


def _untried(parts: Parts, query: exp.Select) -> exp.Select:
    """Leave out columns whose best cut left a side that the models refuse."""
    tried = parts["kanon_tried"]
    same = exp.EQ(this=sql.column(PART, tried.name), expression=sql.column(PART, "cuts"))
    what = exp.Case(this=sql.column("column_number", "cuts"))
    for column in parts.places:
        what = what.when(sql.literal(column.number + 1), sql.column(tried_name(column), tried.name), copy=False)
    return query.join(tried.copy(), on=same).where(exp.LT(this=what, expression=sql.literal(ALL)))


def _window(start: str | int, start_side: str, end: str | int, end_side: str | None) -> exp.Window:
    """Return a frame over the groups of a column in their order; its aggregate is set later."""
    frame = exp.WindowSpec(
        kind="ROWS",
        start=start if isinstance(start, str) else sql.literal(start),
        start_side=start_side,
        end=end if isinstance(end, str) else sql.literal(end),
        end_side=end_side,
    )
    order = exp.Order(expressions=[exp.Ordered(this=sql.column("from_place"))])
    return exp.Window(partition_by=[sql.column(name) for name in _BY_COLUMN], order=order, spec=frame)
