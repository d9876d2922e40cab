"""The cuts that save most: of each part, and of pairs of parts.

``best_cuts`` makes the cut of each part that saves most: of all columns and all places, or of the medians of all
columns.

1. Groups: the tuples of a part that have the same place in a column; under a tree also those under the same label.
2. Before and after each group: what is known of the groups of the column on either side of it, by window functions.
3. Cuts: of numbers and ranges, up to a group against all after it; at the nodes of a tree, and of NULLs, the group
   against all others. Those that leave too few rows on a side are dropped.
4. What both sides would lose; the cut after which a part loses least wins.

Greedy cuts part what later turns out to belong together. Each pass of ``recut_pairs``

1. puts the parts in the order of the tree of cuts, and in blocks of neighbours;
2. finds for every part the few others of its block that it could be merged with at the least cost;
3. cuts every such pair where it saves most, as ``best_cuts`` cuts a part;
4. keeps those cuts that save more than nothing and are the best for both of their parts;
5. makes them. A side with rows enough for two is cut further.

Two boxes that are cut alike send their rows into the same two boxes: the walk of a release goes on as before. Blocks
are laid again in every pass, half a block further, so that their borders keep no two parts from being a pair for good.
What is given away by that is little: with all pairs of Adult in one block, five passes save 18 % at k = 5 instead of
15 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.measures.labels import PART, Places, node_name
from kanon_sql.models.base import N
from kanon_sql.search.mondrian.all_or_none import forbid
from kanon_sql.search.mondrian.parts import ALL, tried_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.search.mondrian.parts import Parts
    from kanon_sql.search.mondrian.side_costs import SideCosts

_TOTAL = "total"
_BY_COLUMN = ("part", "column_number", "level")

BLOCK = 512  # parts among which all pairs are looked at
NEAREST = 2  # of them, those that are cut together: a third saves a thousandth of the loss in a sixth more time
LEAST_GAIN = 0.002  # of what is lost, below which another pass is not worth its time
SMALL = 1e-9
_CUT = ("column_number", "from_place", "to_place")


# Of each part


def best_cuts(parts: Parts, costs: SideCosts) -> None:
    k = parts.problem.k
    parts.know_ends(costs.needed_of_ends)
    # 1. Groups.
    parts.make(
        "kanon_histogram",
        "groups of tuples with the same place, and what is known of them",
        lambda: _groups(parts, costs),
    )
    if any(_by_node(parts, column) and column.hierarchy.height > 1 for column in parts.places):
        parts.insert("kanon_histogram", "groups under the same label", lambda: _node_groups(parts, costs))
    # 2. and 3. Cuts.
    parts.make("kanon_children", "all cuts that leave enough rows on both sides", lambda: _all_cuts(parts, costs, k))
    # 4. The best.
    parts.make("kanon_chosen", "the cut of each part that saves most", lambda: _best(parts, costs))
    columns = ("part", "column_number", "at_null", "from_place", "to_place", "position", "allowed")
    parts.make("kanon_round", "cuts of the round", lambda: exp.select(*columns).from_(parts["kanon_chosen"].copy()))


def _by_node(parts: Parts, column: Places) -> bool:
    return parts.cutting.cut == "node" and not column.ordered


def _groups(parts: Parts, costs: SideCosts) -> exp.Query:
    tuples = parts["kanon_tuples"]
    total = sql.over(exp.Sum(this=sql.column(N)), by=[PART])
    names = [*(column.place for column in parts.places), N, *costs.names()]
    large = sql.column(_TOTAL) >= sql.literal(2 * parts.problem.k)
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
            last = exp.Sub(this=first + leaves, expression=sql.literal(1))
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
            same = sql.column("place", "places").eq(sql.column("from_place", own.name))
            its_own = sql.column("column_number", own.name).eq(column.number + 1)
            query = exp.select(PART, *numbers, *rows, *costs.summed(grouped=True)).from_(own.copy())
            query = query.join(sql.aliased(column.relation, "places"), on=same).where(its_own)
            queries.append(query.group_by(PART, first.copy(), leaves.copy()))
    return sql.union_all(queries)


def _all_cuts(parts: Parts, costs: SideCosts, k: int) -> exp.Query:
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
    inside, outside = sql.column("up_to"), sql.column(_TOTAL) - sql.column("up_to")
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
    twice = 2 * sql.column("up_to")
    total = sql.column(_TOTAL)
    before = 2 * (sql.column("up_to") - sql.column(N))
    last = exp.EQ(this=sql.column("up_to") + sql.column("next_n"), expression=total)
    is_median = exp.or_(exp.GTE(this=twice, expression=total.copy()), last)
    return query.where(exp.LT(this=before, expression=total.copy()), is_median)


def _alone(costs: SideCosts, column: Places, place: int | None, k: int) -> exp.Select:
    """Return the cuts of each group against all others, or of the one at a place."""
    inside, outside = sql.column(N), sql.column(_TOTAL) - sql.column(N)
    query = exp.select(PART, "column_number", "from_place", "to_place")
    query = query.select(sql.named(inside, "inside_rows"), sql.named(outside, "outside_rows"))
    for name in costs.group_names():
        query = query.select(
            sql.named(costs.together(name, [""]), f"inside_{name}"),
            sql.named(costs.together(name, ["before", "after"]), f"outside_{name}"),
        )
    its_own = sql.column("column_number").eq(column.number + 1)
    query = query.from_("known").where(its_own, *_enough(inside, outside, k))
    return query if place is None else query.where(sql.column("from_place").eq(place))


def _enough(inside: exp.Expr, outside: exp.Expr, k: int) -> list[exp.Expr]:
    return [exp.GTE(this=side.copy(), expression=sql.literal(k)) for side in (inside, outside)]


def _best(parts: Parts, costs: SideCosts) -> exp.Select:
    """Return the cut of each part after which it loses least; of equal ones, the first."""
    query = exp.select(*(sql.column(name, "cuts") for name in ("part", "column_number", "from_place", "to_place")))
    query = parts.with_ends(query.from_(sql.aliased(parts["kanon_children"], "cuts")))
    total: exp.Expr | None = None
    for side in ("inside", "outside"):
        lost = sql.column(f"{side}_rows", "cuts") * exp.Paren(this=costs.cost(side))
        total = lost if total is None else exp.Add(this=total, expression=lost)
    query = query.select(sql.named(total or sql.literal(0), "lost"))
    if not parts.problem.only_counts_rows:
        query = _untried(parts, query)
    rank = sql.over(exp.RowNumber(), by=[PART], order=("lost", "column_number", "from_place", "to_place"))
    ranked = exp.select("*", sql.named(rank, "rank")).from_(query.subquery("lost"))
    at_null = sql.named(exp.false(), "at_null")
    position = sql.named(sql.cast(exp.null(), "BIGINT"), "position")
    allowed = sql.named(exp.true(), "allowed")
    best = exp.select(PART, "column_number", at_null, "from_place", "to_place", position, allowed, "lost")
    return best.from_(ranked.subquery("ranked")).where(sql.column("rank").eq(1))


def _untried(parts: Parts, query: exp.Select) -> exp.Select:
    """Leave out columns whose best cut left a side that the models refuse."""
    tried = parts["kanon_tried"]
    same = sql.column(PART, tried.name).eq(sql.column(PART, "cuts"))
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


# Of pairs of parts


def recut_pairs(parts: Parts, number: int, costs: SideCosts) -> bool:
    """Go through the pairs once, where all parts are finished; return whether another pass may be worth it.

    Sides that may be cut further are not finished any more.
    """
    parts.all_finished = True
    # 1. and 2. Pairs that could be merged at little cost.
    parts.make(
        "kanon_leaves", "parts in the order of the tree, and what they lose", lambda: _leaves_query(parts, costs)
    )
    shift = number % 2 * BLOCK // 2
    title = "pairs that could be merged at little cost"
    parts.make("kanon_pairs", title, lambda: _pairs_query(parts, costs), shift=shift)
    # 3. The best cut of each.
    parts.make("kanon_tuples", "tuples of both parts of a pair", lambda: _pair_tuples_query(parts))
    parts.make("kanon_tried", "nothing was tried with pairs", lambda: parts.untried("kanon_pairs", "pair"))
    best_cuts(parts, costs)
    if not parts.problem.only_counts_rows:
        forbid(parts)
    # 4. Those that save something, and are the best for both.
    title = "cuts of pairs that save most"
    parts.make("kanon_better", title, lambda: _better_query(parts), next=parts.numbers + 1)
    counted = exp.select(sql.count_rows(), exp.Sum(this=sql.column("gain"))).from_(parts["kanon_better"].copy())
    pairs, gain = parts.engine.row(counted, "pairs that are cut anew")
    total = exp.select(exp.Sum(this=sql.column("lost"))).from_(parts["kanon_leaves"].copy())
    (lost,) = parts.engine.row(total, "what all parts lose")
    # 5. The new sides.
    k = parts.problem.k
    with parts.together():
        parts.insert("kanon_cuts_made", "both parts of a pair are cut alike", lambda: _pair_cuts_query(parts))
        parts.replace("kanon_finished", "tuples of pairs that were cut anew", lambda: _recut_query(parts))
        parts.make("kanon_tuples", "sides with rows enough for two", lambda: _large_query(parts, k))
        parts.make("kanon_tried", "nothing was tried with sides", lambda: parts.untried("kanon_tuples", PART))
        parts.replace("kanon_finished", "other parts are finished", lambda: _others_query(parts))
    parts.numbers += 2 * int(pairs)
    parts.all_finished = False
    return bool(pairs) and float(gain) > LEAST_GAIN * float(lost)


def _leaves_query(parts: Parts, costs: SideCosts) -> exp.Query:
    """Return the parts with their number in the order of the tree, what is known of them, and what they lose."""
    names = costs.group_names()
    finished = parts["kanon_finished"]
    known = exp.select(PART, sql.named(sql.sum_of(sql.column(N)), N), *costs.summed(grouped=False))
    known = known.from_(finished.copy()).group_by(PART)
    tree = sql.query("mondrian/tree", tables=parts.tables)
    own = [sql.named(sql.column(name), f"own_{name}") for name in names]
    renamed = exp.select(PART, N, *(sql.column(name) for name in names), *own).from_(known.subquery("known"))
    query = exp.select(sql.column(PART, "cuts"), sql.column(N, "cuts"), *(sql.column(name, "cuts") for name in names))
    query = parts.with_ends(query.from_(renamed.subquery("cuts")))
    lost = sql.column(N, "cuts") * exp.Paren(this=costs.cost("own"))
    number = sql.over(exp.RowNumber(), order=[sql.column("path", "tree"), sql.column(PART, "cuts")])
    same = sql.column(PART, "tree").eq(sql.column(PART, "cuts"))
    return query.select(sql.named(lost, "lost"), sql.named(number, "number")).join(tree.subquery("tree"), on=same)


def _pairs_query(parts: Parts, costs: SideCosts) -> exp.Query:
    """Return, for each part, the pairs with the others of its block that cost least more together than apart."""
    names = costs.group_names()
    leaves = parts["kanon_leaves"]
    shifted = sql.column("number") + exp.Placeholder(this="shift")
    block = sql.cast(exp.Floor(this=exp.Paren(this=shifted) / float(BLOCK)), "INTEGER")
    blocks = exp.select("*", sql.named(block, "block")).from_(leaves.copy())
    same = exp.and_(
        sql.column("block", "one").eq(sql.column("block", "other")),
        sql.column("number", "one") < sql.column("number", "other"),
    )
    both = [
        sql.named(costs.merged(name, sql.column(name, "one"), sql.column(name, "other")), f"both_{name}")
        for name in names
    ]
    rows = sql.column(N, "one") + sql.column(N, "other")
    lost = sql.column("lost", "one") + sql.column("lost", "other")
    paired = exp.select(
        sql.named(sql.column(PART, "one"), "one"),
        sql.named(sql.column(PART, "other"), "other"),
        sql.named(rows, N),
        sql.named(lost, "lost"),
        *both,
    )
    blocked = sql.relation("blocks")
    paired = paired.from_(sql.aliased(blocked, "one")).join(sql.aliased(blocked, "other"), on=same)
    query = exp.select("one", "other", sql.column("lost", "cuts")).from_(paired.subquery("cuts"))
    query = parts.with_ends(query)
    together = sql.column(N, "cuts") * exp.Paren(this=costs.cost("both"))
    more = exp.Paren(this=exp.Sub(this=together, expression=sql.column("lost", "cuts"))) / sql.column(N, "cuts")
    weighed = query.select(sql.named(more, "more"))
    ranks = []
    for part in ("one", "other"):
        rank = sql.over(exp.RowNumber(), by=[part], order=("more", "one", "other"))
        ranks.append(sql.named(rank, f"rank_{part}"))
    ranked = exp.select("*", *ranks).from_(weighed.subquery("weighed"))
    near = [sql.column(f"rank_{part}") <= NEAREST for part in ("one", "other")]
    pair = sql.cast(sql.over(exp.RowNumber(), order=("one", "other")), "INTEGER")
    found = exp.select(sql.named(pair, "pair"), "one", "other", "lost").from_(ranked.subquery("ranked"))
    return found.where(exp.or_(*near)).with_("blocks", as_=blocks, materialized=True)


def _pair_tuples_query(parts: Parts) -> exp.Select:
    finished, pairs = parts["kanon_finished"], parts["kanon_pairs"]
    others = [sql.column(name, finished.name) for name in parts.tuple_names()]
    members = _members(pairs, "member", "pair")
    same = sql.column("member", "members").eq(sql.column(PART, finished.name))
    query = exp.select(sql.named(sql.column("pair", "members"), PART), *others).from_(finished.copy())
    return query.join(members.subquery("members"), on=same)


def _better_query(parts: Parts) -> exp.Query:
    """Return the pairs to cut again, with their cut, what it saves, and numbers for its sides."""
    pairs, chosen, allowed = parts["kanon_pairs"], parts["kanon_chosen"], parts["kanon_round"]
    of_pair = sql.column(PART, chosen.name).eq(sql.column("pair", pairs.name))
    still = sql.column(PART, allowed.name).eq(sql.column(PART, chosen.name))
    gain = sql.column("lost", pairs.name) - sql.column("lost", chosen.name)
    cut = [sql.column(name, chosen.name) for name in _CUT]
    gained = (
        exp.select("one", "other", *cut, sql.named(gain, "gain"))
        .from_(pairs.copy())
        .join(chosen.copy(), on=of_pair)
        .join(allowed.copy(), on=still)
        .where(sql.column("allowed", allowed.name))
        .where(exp.GT(this=gain.copy(), expression=sql.literal(SMALL)))
    )
    # A part is in pairs as the one and as the other: of all of them one is its best.
    sides = _members(sql.relation("gained"), "member", "one", "other", "gain")
    most_first = exp.Ordered(this=sql.column("gain"), desc=True)
    rank = sql.over(exp.RowNumber(), by=["member"], order=[most_first, "one", "other"])
    ranked = exp.select("one", "other", sql.named(rank, "rank")).from_(sides.subquery("sides"))
    first = exp.select("one", "other").from_(ranked.subquery("ranked")).where(sql.column("rank").eq(1))
    mutual = first.group_by("one", "other").having(sql.count_rows().eq(2))
    number = sql.over(exp.RowNumber(), order=[sql.column("one", "gained")]) - 1
    low = exp.Add(this=exp.Placeholder(this="next"), expression=2 * number)
    high = low + 1
    same = [sql.column(part, "mutual").eq(sql.column(part, "gained")) for part in ("one", "other")]
    return (
        exp.select(exp.Column(this=exp.Star(), table=sql.identifier("gained")))
        .select(sql.named(sql.cast(low, "INTEGER"), "inside"), sql.named(sql.cast(high, "INTEGER"), "outside"))
        .from_("gained")
        .join(mutual.subquery("mutual"), on=exp.and_(*same))
        .with_("gained", as_=gained, materialized=True)
    )


def _pair_cuts_query(parts: Parts) -> exp.Query:
    position = sql.named(sql.cast(exp.null(), "BIGINT"), "position")
    return _members(parts["kanon_better"], PART, *_CUT, position, "inside", "outside")


def _members(pairs: exp.Table, name: str, *columns: str | exp.Expr) -> exp.Query:
    """Return the query of both parts of every pair under a name, each with columns of the pair."""
    parts = [exp.select(sql.named(sql.column(part), name), *columns).from_(pairs.copy()) for part in ("one", "other")]
    return sql.union_all(parts)


def _recut_query(parts: Parts) -> exp.Select:
    """Return the finished tuples, those of pairs that were cut again in their new parts."""
    finished = parts["kanon_finished"].name
    cuts = _members(parts["kanon_better"], "member", *_CUT, "inside", "outside")
    inside = exp.Between(
        this=parts.place(finished), low=sql.column("from_place", "cuts"), high=sql.column("to_place", "cuts")
    )
    part = exp.Case().when(sql.column("member", "cuts").is_(exp.null()), sql.column(PART, finished))
    part = part.when(inside, sql.column("inside", "cuts")).else_(sql.column("outside", "cuts"))
    others = [sql.column(name, finished) for name in parts.tuple_names()]
    same = sql.column("member", "cuts").eq(sql.column(PART, finished))
    query = exp.select(sql.named(part, PART), *others).from_(parts["kanon_finished"].copy())
    return query.join(cuts.subquery("cuts"), on=same, join_type="left")


def _large_query(parts: Parts, k: int) -> exp.Select:
    """Return the tuples of new sides that may be cut further."""
    finished, better = parts["kanon_finished"], parts["kanon_better"]
    new = [exp.select(sql.named(sql.column(side), PART)).from_(better.copy()) for side in ("inside", "outside")]
    total = exp.Sum(this=sql.column(N)) >= sql.literal(2 * k)
    is_new = exp.In(this=sql.column(PART), query=sql.union_all(new).subquery())
    large = exp.select(PART).from_(finished.copy()).where(is_new).group_by(PART).having(total)
    return exp.select("*").from_(finished.copy()).where(exp.In(this=sql.column(PART), query=large.subquery()))


def _others_query(parts: Parts) -> exp.Select:
    finished, tuples = parts["kanon_finished"], parts["kanon_tuples"]
    same = sql.column(PART, tuples.name).eq(sql.column(PART, finished.name))
    there = exp.Exists(this=exp.select("1").from_(tuples.copy()).where(same))
    return exp.select("*").from_(finished.copy()).where(there.not_())
