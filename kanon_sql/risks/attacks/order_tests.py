"""The tests of ``order``, in SQL.

kanon_ranks(position, rank_1, ...)                       the rank of each row of the original by each column
kanon_items(item, class, told_1, ..., size, place)       rows of the release that are alike in every column
kanon_scores(item, class, ..., size, place, score_0, score_1, ...)
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.risks.attacks.candidates import CLASS, SIZE, label_name
from kanon_sql.risks.attacks.order import Follows, Order, follows, limits, not_tested
from kanon_sql.risks.attacks.order_sorted import Shown, sorted_by
from kanon_sql.risks.attacks.people import POSITION, TUPLE, position
from kanon_sql.risks.attacks.released import told_name, truth
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.people import OriginalRows
    from kanon_sql.risks.attacks.released import Released

_ITEM, _PLACE = "item", "place"
_OF_POSITION = 0
POSITION_TEST = "position"
WITHIN_CLASSES = "position within classes"
_NOTHING = 1e-9
"""What is left of no variance at all when it is computed in floating point; that of ranks is greater."""


def order_of(
    engine: Engine,
    people: OriginalRows,
    candidates: Candidates,
    released: Released,
    quasi_identifiers: Sequence[Column],
) -> Order:
    """Return what the order of the rows of a release says.

    Args:
        engine: holds everything.
        people: the rows of the original, with every column by which it might be sorted.
        candidates: the classes that they can be in.
        released: the rows of the release.
        quasi_identifiers: of the original.
    """
    (rows,) = engine.row(exp.select(sql.count_rows()).from_(released.relation.copy()), "rows of the release")
    if not rows:
        return not_tested("the release has no rows", 0)
    columns = [column for column in people.columns if column.family != "other"]
    shown = [
        *(Shown(column, number, label_name(number)) for number, column in enumerate(quasi_identifiers)),
        *(
            Shown(both.original, len(quasi_identifiers) + number, told_name(number))
            for number, both in enumerate(released.shared)
        ),
    ]
    sorted_first = sorted_by(engine, released.copy, len(quasi_identifiers), shown)
    # 1. Items and their scores.
    ranks = engine.temporary_name("kanon_ranks")
    engine.run(sql.create_table(ranks, _ranks_query(people, columns), temporary=True), "ranks by each column")
    items = engine.temporary_name("kanon_items")
    engine.run(sql.create_table(items, _items_query(released), temporary=True), "rows that are alike in every column")
    scores = engine.temporary_name("kanon_scores")
    query = _scores_query(people, candidates, released, ranks, items, len(columns))
    engine.run(sql.create_table(scores, query, temporary=True), "where the original has what each of them could be")
    # 2. The tests.
    strata = [own.name for own in sorted_first]
    (whole,) = _follows(engine, scores, [*strata, SIZE], [_OF_POSITION])
    numbers = range(len(columns) + 1)
    within = _follows(engine, scores, [CLASS, *strata, SIZE], numbers)
    turned = _turned(engine, scores, released, [CLASS, *strata], numbers)
    within = [replace(order, **own) for order, own in zip(within, turned, strict=True)]
    orders = {POSITION_TEST: whole, WITHIN_CLASSES: within[0]}
    orders |= {column.name: found for column, found in zip(columns, within[1:], strict=True)}
    query = _neighbours_query(scores, [*strata, SIZE])
    neighbours, by_chance = engine.row(query, "rows that follow each other in both tables")
    distinct = exp.select(sql.count_rows()).from_(items.copy())
    distinct = distinct.where(exp.EQ(this=sql.column(SIZE), expression=sql.literal(1)))
    (alone,) = engine.row(distinct, "rows that are like no other")
    for table in (scores, items, ranks):
        engine.run(sql.drop(table), "drop what the order was tested with")
    by_chance = float(by_chance or 0)
    named = tuple(own.column.name for own in sorted_first)
    return Order(None, rows, alone, named, orders, neighbours or 0, by_chance, *limits(len(orders), by_chance))


def _score(number: int) -> str:
    return f"score_{number}"


def _rank(number: int) -> str:
    return f"rank_{number + 1}"


def _ranks_query(people: OriginalRows, columns: Sequence[Column]) -> exp.Select:
    """Return the query of ranks: how many rows have a smaller value, counted once for each different value."""
    query = exp.select(sql.named(position("original"), POSITION)).from_(sql.aliased(people.copy, "original"))
    for number, column in enumerate(columns):
        value, alias = people.value(column), f"values_{number + 1}"
        counted = exp.select(sql.named(value, "value"), sql.named(sql.count_rows(), "n")).from_(people.copy.copy())
        order = exp.Order(expressions=[exp.Ordered(this=sql.column("value"), nulls_first=True)])
        frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
        up_to = exp.Window(this=exp.Sum(this=sql.column("n")), order=order, spec=frame)
        smaller = sql.cast(exp.Sub(this=up_to, expression=sql.column("n")), "BIGINT")
        ranked = exp.select("value", sql.named(smaller, _rank(number)))
        ranked = ranked.from_(counted.group_by(value.copy()).subquery("counted"))
        same = sql.same(people.value(column, "original"), sql.column("value", alias))
        query = query.select(sql.column(_rank(number), alias)).join(ranked.subquery(alias), on=same)
    return query


def _items_query(released: Released) -> exp.Select:
    """Return the query of the items, numbered by what they show."""
    shown = [CLASS, *(told_name(number) for number in range(len(released.shared)))]
    grouped = exp.select(
        *shown, sql.named(sql.count_rows(), SIZE), sql.named(exp.Avg(this=sql.column(POSITION)), _PLACE)
    )
    grouped = grouped.from_(released.relation.copy()).group_by(*shown)
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(name)) for name in shown])
    number = sql.named(exp.Window(this=exp.RowNumber(), order=order), _ITEM)
    return exp.select(number, *shown, SIZE, _PLACE).from_(grouped.subquery("grouped"))


def _scores_query(
    people: OriginalRows, candidates: Candidates, released: Released, ranks: exp.Table, items: exp.Table, columns: int
) -> exp.Select:
    """Return the query of items with their labels and scores: means over the rows of the original that could be it."""
    told = [told_name(number) for number in range(len(released.shared))]
    means = [sql.named(exp.Avg(this=sql.column(POSITION, "ranks")), _score(_OF_POSITION))]
    means += [
        sql.named(exp.Avg(this=sql.column(_rank(number), "ranks")), _score(number + 1)) for number in range(columns)
    ]
    query = exp.select(sql.column(_ITEM, "items"), *means).from_(sql.aliased(people.copy, "original"))
    of_class = [exp.EQ(this=sql.column(CLASS, "items"), expression=sql.column(CLASS, "pairs"))]
    of_class += [
        exp.EQ(this=sql.column(name, "items"), expression=truth(people.value(both.original, "original"), both.original))
        for name, both in zip(told, released.shared, strict=True)
    ]
    for alias, relation, condition in (
        ("ranks", ranks, exp.EQ(this=sql.column(POSITION, "ranks"), expression=position("original"))),
        ("people", people.relation, exp.EQ(this=sql.column(POSITION, "people"), expression=position("original"))),
        ("pairs", candidates.pairs, exp.EQ(this=sql.column(TUPLE, "pairs"), expression=sql.column(TUPLE, "people"))),
        ("items", items, sql.all_of(of_class)),
    ):
        query = query.join(sql.aliased(relation, alias), on=condition)
    scored = query.group_by(sql.column(_ITEM, "items"))
    labels = [label_name(number) for number in candidates.labels]
    scores = [_score(number) for number in range(columns + 1)]
    same_item = exp.EQ(this=sql.column(_ITEM, "items"), expression=sql.column(_ITEM, "scored"))
    same_class = exp.EQ(this=sql.column(CLASS, "classes"), expression=sql.column(CLASS, "items"))
    return (
        exp.select(*(sql.column(name, "items") for name in (_ITEM, CLASS, *told, SIZE, _PLACE)))
        .select(*(sql.column(name, "classes") for name in labels), *(sql.column(name, "scored") for name in scores))
        .from_(sql.aliased(items, "items"))
        .join(scored.subquery("scored"), on=same_item)
        .join(sql.aliased(candidates.classes, "classes"), on=same_class)
    )


def _follows(engine: Engine, scores: exp.Table, groups: Sequence[str], numbers: Sequence[int]) -> list[Follows]:
    """Return how far places follow each score among the items of a group."""
    place = sql.column(_PLACE)
    deviations = [sql.named(sql.count_rows(), "n"), sql.named(exp.Variance(this=place), "of_places")]
    for number in numbers:
        score = sql.column(_score(number))
        deviations.append(sql.named(exp.CovarSamp(this=score, expression=place.copy()), f"both_{number}"))
        deviations.append(sql.named(exp.Variance(this=score.copy()), f"own_{number}"))
    grouped = exp.select(*deviations).from_(scores.copy()).group_by(*groups)
    grouped = grouped.having(exp.GT(this=sql.count_rows(), expression=sql.literal(1)))
    freedom = exp.Paren(this=exp.Sub(this=sql.column("n"), expression=sql.literal(1)))

    def total(*factors: str) -> exp.Expr:
        product: exp.Expr = freedom.copy()
        for factor in factors:
            product = exp.Mul(this=product, expression=sql.column(factor))
        return exp.Coalesce(this=exp.Sum(this=product), expressions=[sql.literal(0.0)])

    query = exp.select(total("of_places")).from_(grouped.subquery("groups"))
    for number in numbers:
        own = f"own_{number}"
        query = query.select(total(f"both_{number}"), total(own, "of_places"), total(own))
    of_places, *found = engine.row(query, "how far the release follows an order")
    return [
        follows(float(both), float(variance), float(own), float(of_places))
        for both, variance, own in zip(found[::3], found[1::3], found[2::3], strict=True)
    ]


def _turned(
    engine: Engine, scores: exp.Table, released: Released, groups: Sequence[str], numbers: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the correlations of rows within groups, added up, and over all: what turning groups round would change."""
    shown = [CLASS, *(told_name(number) for number in range(len(released.shared)))]
    same = sql.all_of(exp.EQ(this=sql.column(name, "scores"), expression=sql.column(name, "rows")) for name in shown)
    place = sql.column(POSITION, "rows")
    moments = [
        sql.named(sql.count_rows(), "n"),
        sql.named(sql.count_distinct(sql.column(_ITEM, "scores")), "items"),
        sql.named(exp.Variance(this=place), "of_places"),
    ]
    for number in numbers:
        score = sql.column(_score(number), "scores")
        moments.append(sql.named(exp.CovarSamp(this=score, expression=place.copy()), f"both_{number}"))
        moments.append(sql.named(exp.Variance(this=score.copy()), f"own_{number}"))
    grouped = exp.select(*moments).from_(sql.aliased(released.relation, "rows"))
    grouped = grouped.join(sql.aliased(scores, "scores"), on=same)
    grouped = grouped.group_by(*(sql.column(name, "scores") for name in groups))
    several = exp.GT(this=sql.count_distinct(sql.column(_ITEM, "scores")), expression=sql.literal(1))
    query = exp.select().from_(grouped.having(several).subquery("groups"))
    for number in numbers:
        query = query.select(*_turned_sums(f"both_{number}", f"own_{number}"))
    found = engine.row(query, "how far classes follow an order")
    return [_turned_of(*(float(total or 0) for total in found[place : place + 5])) for place in range(0, len(found), 5)]


def _turned_sums(both: str, own: str) -> list[exp.Expr]:
    """Return sums over groups: of correlations and of their squares, weighted; of covariations and variations."""
    there = exp.GT(this=sql.column(own), expression=sql.literal(_NOTHING))
    product = exp.Paren(this=exp.Mul(this=sql.column(own), expression=sql.column("of_places")))
    square = exp.Div(this=exp.Mul(this=sql.column(both), expression=sql.column(both)), expression=product)
    correlation = exp.Div(this=sql.column(both), expression=exp.Sqrt(this=product.copy()))
    freedom = exp.Paren(this=exp.Sub(this=sql.column("items"), expression=sql.literal(1)))
    rows = exp.Paren(this=exp.Sub(this=sql.column("n"), expression=sql.literal(1)))
    terms = [
        exp.Mul(this=correlation, expression=exp.Sqrt(this=freedom)),
        exp.Mul(this=square, expression=freedom.copy()),
        *(exp.Mul(this=rows.copy(), expression=sql.column(name)) for name in (both, own, "of_places")),
    ]
    return [sql.where(exp.Sum(this=term), there.copy()) for term in terms]


def _turned_of(correlations: float, squares: float, both: float, of_scores: float, of_places: float) -> dict[str, Any]:
    if squares <= 0:
        return {"correlation": None, "turned": 0.0}
    return {"correlation": both / sqrt(of_scores * of_places), "turned": correlations / sqrt(squares)}


def _neighbours_query(scores: exp.Table, groups: Sequence[str]) -> exp.Select:
    """Return the query of pairs of items that follow each other in both tables, and how many chance gives."""
    keys = [sql.column(name) for name in groups]

    def numbered(by: str) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=sql.column(by)), exp.Ordered(this=sql.column(_ITEM))])
        return exp.Window(this=exp.RowNumber(), partition_by=[key.copy() for key in keys], order=order)

    each = exp.select(
        *groups, sql.named(numbered(_score(_OF_POSITION)), "in_original"), sql.named(numbered(_PLACE), "in_release")
    ).from_(scores.copy())
    order = exp.Order(expressions=[exp.Ordered(this=sql.column("in_original"))])
    before = exp.Window(
        this=exp.Lag(this=sql.column("in_release")), partition_by=[key.copy() for key in keys], order=order
    )
    step = exp.Sub(this=sql.column("in_release"), expression=before)
    stepped = exp.select(*groups, sql.named(step, "step")).from_(each.subquery("each_item"))
    follows_it = exp.EQ(this=sql.column("step"), expression=sql.literal(1))
    pairs = exp.select(
        sql.named(sql.where(sql.count_rows(), follows_it), "pairs"), sql.named(sql.count_rows(), "n")
    ).from_(stepped.subquery("stepped"))
    grouped = pairs.group_by(*(key.copy() for key in keys)).subquery("groups")
    n = sql.column("n")
    expected = exp.Div(this=exp.Paren(this=exp.Sub(this=n, expression=sql.literal(1.0))), expression=n.copy())
    return exp.select(sql.sum_of(sql.column("pairs")), exp.Sum(this=expected)).from_(grouped)
