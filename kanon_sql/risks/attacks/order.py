"""Order: does the order of the release's rows follow the order of the original?

Rows of a class are alike in their quasi-identifiers and may differ in other columns. If they stand in the order of the
original, then who knows that order knows which of them is whose (Sweeney's unsorted matching attack).

What is tested. Rows of the release that are alike in every column are one item. An item's place is the mean place of
its rows; its score is the mean place of those rows of the original that could be it. If the order says nothing, then
which of the places goes to which of several items of equally many rows is a matter of chance: so it is when rows are in
random order, and when they are sorted by a hash of what they show. Within groups of items of one size, of n items, the
sum of products of the deviations of score and place has the mean 0 and the variance SS(score) SS(place) / (n - 1),
whatever the scores are; summed over all groups and divided by its standard deviation it is z, normal in good
approximation where there are many items.

A release that is sorted by columns that it shows is tested among rows that are alike in these: to be sorted by what
everyone sees gives nothing away. The test raises a false alarm with a probability of 1 in a million.

    kanon_items(item, class, published_1, ..., size, place)  rows of the release that are alike in every column
    kanon_scores(item, class, published_1, ..., size, place, label_1, ..., score)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from kanon_sql.risks import temporary_table
from kanon_sql.risks.attacks.candidates import CLASS, POSITION, SIZE, TUPLE, copied_name, label_name, position
from kanon_sql.risks.attacks.released import never_null, shared_name, truth
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.risks.attacks.candidates import Candidates, OriginalRows
    from kanon_sql.risks.attacks.released import Released

ERROR_PROBABILITY = 1e-6
"""How often a release in random order is accused."""
Z_LIMIT = NormalDist().inv_cdf(1 - ERROR_PROBABILITY / 2)
"""What z must exceed, upwards or downwards."""
_ITEM, _PLACE, _SCORE = "item", "place", "score"
_AFTER_ALL = ">"
"""Comes after every text that begins with the mark of a value."""


@dataclass(frozen=True)
class Order:
    """What the order of the rows says.

    Attributes:
        reason: why there is nothing to test; None if there is.
        rows_distinct: those that are like no other row of the release: an order would give them away one by one.
        sorted_by: columns of the release that it is sorted by, one after the other.
        correlation: of score and place among items that chance could exchange; None where there are none.
        z: how many standard deviations that is from what chance gives.
    """

    reason: str | None
    rows: int
    rows_distinct: int = 0
    sorted_by: tuple[str, ...] = ()
    correlation: float | None = None
    z: float = 0.0
    name: ClassVar[str] = "order"

    @property
    def succeeded(self) -> bool:
        return abs(self.z) > Z_LIMIT

    @property
    def stopped_by(self) -> str:
        return "random order, in which kanon anonymize publishes; ORDER BY random() when you copy a release"

    def figures(self) -> dict[str, Any]:
        tested = self.reason is None
        return {
            "reason": self.reason,
            "followed": ["position"] if self.succeeded else [],
            "rows": self.rows,
            "rows_distinct": self.rows_distinct,
            "sorted_by": list(self.sorted_by),
            "orders": {"position": {"correlation": self.correlation, "z": self.z}} if tested else {},
            "z_limit": Z_LIMIT if tested else 0.0,
            "error_probability": ERROR_PROBABILITY,
        }


def order_of(
    engine: Engine,
    people: OriginalRows,
    candidates: Candidates,
    released: Released,
    quasi_identifiers: Sequence[Column],
) -> Order:
    (rows,) = engine.row(exp.select(sql.count_rows()).from_(released.relation.copy()), "rows of the release")
    if not rows:
        return Order("the release has no rows", 0)
    labels = len(quasi_identifiers)
    shown = [_Shown(column, number, label_name(number)) for number, column in enumerate(quasi_identifiers)]
    shown += [
        _Shown(both.original, labels + number, shared_name(number)) for number, both in enumerate(released.shared)
    ]
    sorted_by = _sorted_by(engine, released.copy, labels, shown)
    # 1. Items and their scores.
    items = temporary_table(engine, "kanon_items", _items_query(released), "rows that are alike in every column")
    query = _scores_query(people, candidates, released, items)
    scores = temporary_table(engine, "kanon_scores", query, "where the original has what each of them could be")
    # 2. The test.
    found = engine.row(_test_query(scores, [*(own.name for own in sorted_by), SIZE]), "how far it follows the original")
    covariation, variance, of_scores, of_places = map(float, found)
    alone = exp.select(sql.count_rows()).from_(items.copy())
    alone = alone.where(exp.EQ(this=sql.column(SIZE), expression=sql.literal(1)))
    (distinct,) = engine.row(alone, "rows that are like no other")
    for table in (scores, items):
        engine.run(sql.drop(table), "drop what the order was tested with")
    named = tuple(own.column.name for own in sorted_by)
    if variance <= 0 or of_scores <= 0 or of_places <= 0:
        return Order(None, rows, distinct, named)
    return Order(None, rows, distinct, named, covariation / sqrt(of_scores * of_places), covariation / sqrt(variance))


def _items_query(released: Released) -> exp.Select:
    """Return the query of the items, numbered by what they show."""
    shown = [CLASS, *(shared_name(number) for number in range(len(released.shared)))]
    grouped = exp.select(
        *shown, sql.named(sql.count_rows(), SIZE), sql.named(exp.Avg(this=sql.column(POSITION)), _PLACE)
    )
    grouped = grouped.from_(released.relation.copy()).group_by(*shown)
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(name)) for name in shown])
    number = sql.named(exp.Window(this=exp.RowNumber(), order=order), _ITEM)
    return exp.select(number, *shown, SIZE, _PLACE).from_(grouped.subquery("grouped"))


def _scores_query(people: OriginalRows, candidates: Candidates, released: Released, items: exp.Table) -> exp.Select:
    """Return the query of items with their labels, and the mean place of the rows of the original that could be it."""
    shared = [shared_name(number) for number in range(len(released.shared))]
    score = sql.named(exp.Avg(this=sql.column(POSITION, "people")), _SCORE)
    query = exp.select(sql.column(_ITEM, "items"), score).from_(sql.aliased(people.copy, "original"))
    of_class = [exp.EQ(this=sql.column(CLASS, "items"), expression=sql.column(CLASS, "pairs"))]
    of_class += [
        exp.EQ(this=sql.column(name, "items"), expression=truth(people.value(both.original, "original"), both.original))
        for name, both in zip(shared, released.shared, strict=True)
    ]
    for alias, relation, condition in (
        ("people", people.relation, exp.EQ(this=sql.column(POSITION, "people"), expression=position("original"))),
        ("pairs", candidates.pairs, exp.EQ(this=sql.column(TUPLE, "pairs"), expression=sql.column(TUPLE, "people"))),
        ("items", items, sql.all_of(of_class)),
    ):
        query = query.join(sql.aliased(relation, alias), on=condition)
    scored = query.group_by(sql.column(_ITEM, "items"))
    labels = [label_name(number) for number in candidates.labels]
    same_item = exp.EQ(this=sql.column(_ITEM, "items"), expression=sql.column(_ITEM, "scored"))
    same_class = exp.EQ(this=sql.column(CLASS, "classes"), expression=sql.column(CLASS, "items"))
    return (
        exp.select(*(sql.column(name, "items") for name in (_ITEM, CLASS, *shared, SIZE, _PLACE)))
        .select(*(sql.column(name, "classes") for name in labels), sql.column(_SCORE, "scored"))
        .from_(sql.aliased(items, "items"))
        .join(scored.subquery("scored"), on=same_item)
        .join(sql.aliased(candidates.classes, "classes"), on=same_class)
    )


def _test_query(scores: exp.Table, groups: Sequence[str]) -> exp.Select:
    """Return the query of the test within groups of items, each a sum over the groups.

    They are: products of deviations, their variance by chance, and squared deviations of scores and of places.
    """
    score, place = sql.column(_SCORE), sql.column(_PLACE)
    grouped = exp.select(
        sql.named(sql.count_rows(), "n"),
        sql.named(exp.CovarSamp(this=score, expression=place), "both"),
        sql.named(exp.Variance(this=score.copy()), "of_scores"),
        sql.named(exp.Variance(this=place.copy()), "of_places"),
    )
    grouped = grouped.from_(scores.copy()).group_by(*groups)
    grouped = grouped.having(exp.GT(this=sql.count_rows(), expression=sql.literal(1)))
    freedom = exp.Paren(this=exp.Sub(this=sql.column("n"), expression=sql.literal(1)))

    def total(*factors: str) -> exp.Expr:
        product: exp.Expr = freedom.copy()
        for factor in factors:
            product = exp.Mul(this=product, expression=sql.column(factor))
        return exp.Coalesce(this=exp.Sum(this=product), expressions=[sql.literal(0.0)])

    sums = (total("both"), total("of_scores", "of_places"), total("of_scores"), total("of_places"))
    return exp.select(*sums).from_(grouped.subquery("groups"))


@dataclass(frozen=True)
class _Shown:
    """A column that a release shows.

    Attributes:
        number: of the column in the copy of the release (see ``released``).
        name: of the column in the items.
    """

    column: Column
    number: int
    name: str


def _sorted_by(engine: Engine, copy: exp.Table, labels: int, shown: Sequence[_Shown]) -> list[_Shown]:
    """Return the columns that a release is sorted by: all of it by the first one, rows alike in that by the next.

    Upwards or downwards, as text or, where all are numbers, as numbers; NULLs first or last. A column that is the same
    in all rows is none. The copy has ``labels`` labels first, then the other columns, never NULL.
    """
    found: list[_Shown] = []
    left = list(shown)
    while left:
        query = _steps_query(copy, labels, found, left)
        steps = engine.row(query, "whether the release is sorted")
        per_column = len(steps) // len(left)
        grouped = [steps[place * per_column : (place + 1) * per_column] for place in range(len(left))]
        ordered = [own for own, counted in zip(left, grouped, strict=True) if _is_sorted(counted)]
        left = [own for own, counted in zip(left, grouped, strict=True) if not _is_constant(counted)]
        if not ordered:
            break
        found.append(ordered[0])
        left = [own for own in left if own not in found]
    return found


def _is_constant(counted: Sequence[int]) -> bool:
    ups, downs, *_ = counted
    return ups == downs == 0


def _is_sorted(counted: Sequence[int]) -> bool:
    """Tell whether one of the ways to compare goes in one direction only.

    ``counted`` has steps up and down, of texts with NULLs first, of texts with NULLs last, of numbers, and between
    NULLs and others; then how many values are no numbers.
    """
    *steps, no_numbers = counted
    *ways, nulls = zip(steps[::2], steps[1::2], strict=True)
    if no_numbers or all(nulls):
        ways = ways[:-1]
    return any(bool(ups) != bool(downs) for ups, downs in ways)


def _steps_query(copy: exp.Table, labels: int, found: Sequence[_Shown], left: Sequence[_Shown]) -> exp.Select:
    """Return the query of how often each column goes up and down from one row to the next.

    Rows that are alike in the columns that were found stand together, so that only neighbours are compared.
    """
    counts: list[exp.Expr] = []
    for own in left:
        now, before = (_keys(own, labels, alias) for alias in ("now", "before"))
        for here, there in zip(now, before, strict=True):
            steps = (exp.GT(this=here, expression=there), exp.LT(this=here.copy(), expression=there.copy()))
            counts += [sql.where(sql.count_rows(), step) for step in steps]
        text, _, number, _ = now
        odd = exp.and_(exp.NEQ(this=text.copy(), expression=sql.literal("")), number.copy().is_(exp.null()))
        counts.append(sql.where(sql.count_rows(), odd))
    next_row = exp.EQ(this=position("now"), expression=exp.Add(this=position("before"), expression=sql.literal(1)))
    names = [copied_name(own.number) for own in found]
    alike = [sql.same(sql.column(name, "now"), sql.column(name, "before"), sql.SAME_TYPE) for name in names]
    query = exp.select(*counts).from_(sql.aliased(copy, "now"))
    return query.join(sql.aliased(copy, "before"), on=sql.all_of([next_row, *alike]))


def _keys(own: _Shown, labels: int, alias: str) -> list[exp.Expr]:
    """Return what is compared of a row: its text, NULL first or last; its number; whether it is NULL."""
    text: exp.Expr = sql.column(copied_name(own.number), alias)
    if own.number < labels:
        text = never_null(text)
    nothing = exp.EQ(this=text.copy(), expression=sql.literal(""))
    last = exp.Case().when(nothing, sql.literal(_AFTER_ALL)).else_(text.copy())
    bare = exp.func("SUBSTRING", text.copy(), sql.literal(2), dialect="duckdb")
    number = exp.TryCast(this=bare, to=exp.DataType.build("DOUBLE", dialect="duckdb"))
    null = exp.Case().when(nothing.copy(), sql.literal(1)).else_(sql.literal(0))
    return [text, last, number, null]
