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

An order can follow the original without following it from one end to the other: rotated, in shuffled blocks as several
writers leave them, first every other row. Neighbours are neighbours then. So, in groups of many items, the squared
differences of the ranks of neighbours' scores are added up. Their sum has the mean n (n^2 - 1) / 6, whatever the scores
are, and the variance of Bartels (1982, "The rank version of von Neumann's ratio test for randomness"); z again, normal
in good approximation from some 50 items on.

A release that is sorted by columns that it shows is tested among rows that are alike in these: to be sorted by what
everyone sees gives nothing away. The test raises a false alarm with a probability of 1 in a million.

Few items have no place of their own in the mean, be their rows as many as they may. So, where the release is not sorted
and has as many rows as find a class, it is also counted how many rows stand where the original, without the rows that
were left out, has one that they can be. By chance these are ``m`` in the mean; ``m + t`` with a probability of at most
2 exp(-t^2 / (4 m + 2 t)) (Chatterjee 2007, for a random permutation), and all of them with one of at most the product
of (r!)^(1/r) over all rows, divided by n!, where r rows of the release can be a row (Bregman 1973). Together with these
the probability of a false alarm stays 1 in a million.

    kanon_items(item, class, published_1, ..., size, place)  rows of the release that are alike in every column
    kanon_scores(item, class, published_1, ..., size, place, label_1, ..., score)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp as to_the_power
from math import lgamma, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.measures.published import label_name, never_null
from kanon_sql.risks.attacks.candidates import CLASS, POSITION, SIZE, TUPLE, copied_name, position
from kanon_sql.risks.attacks.released import shared_name, truth
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.risks.attacks.candidates import Candidates, OriginalRows
    from kanon_sql.risks.attacks.released import Released

ERROR_PROBABILITY = 1e-6
"""How often a release in random order is accused."""
_NEIGHBOURS_PROBABILITY = 1e-7
"""How often one is accused by its neighbours: a tenth of the above."""
_NEIGHBOURS_LIMIT = NormalDist().inv_cdf(1 - _NEIGHBOURS_PROBABILITY / 2)
_MANY_ITEMS = 50
Z_LIMIT = NormalDist().inv_cdf(1 - ERROR_PROBABILITY / 2)
"""What z must exceed, upwards or downwards."""
_IN_PLACE_PROBABILITY = 1e-9
"""How often one is accused by the number of rows that stand in their place: a thousandth of the above."""
_TOO_FEW = "too few rows of the release differ: an order that follows the original could be chance"
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
        rows_in_place: those that stand where the original has one that they can be; None where that was not counted.
        chance: a probability that as many do by chance, or a larger one.
        z_neighbours: how many standard deviations the scores of neighbours are nearer (below 0) than chance makes them.
    """

    reason: str | None
    rows: int
    rows_distinct: int = 0
    sorted_by: tuple[str, ...] = ()
    correlation: float | None = None
    z: float = 0.0
    rows_in_place: int | None = None
    chance: float = 1.0
    z_neighbours: float = 0.0
    name: ClassVar[str] = "order"

    @property
    def succeeded(self) -> bool:
        return self.follows or self.neighbours or self.chance <= _IN_PLACE_PROBABILITY

    @property
    def follows(self) -> bool:
        """Whether the order follows that of the original from one end to the other, or backwards."""
        return abs(self.z) > Z_LIMIT

    @property
    def neighbours(self) -> bool:
        """Whether neighbours were neighbours in the original, or the opposite, more often than by chance."""
        return abs(self.z_neighbours) > _NEIGHBOURS_LIMIT

    @property
    def stopped_by(self) -> str:
        return "random order, in which kanon anonymize publishes; ORDER BY random() when you copy a release"

    def figures(self) -> dict[str, Any]:
        tested = self.reason in {None, _TOO_FEW}
        return {
            "reason": self.reason,
            "followed": ["position"] if self.succeeded else [],
            "rows": self.rows,
            "rows_distinct": self.rows_distinct,
            "sorted_by": list(self.sorted_by),
            "orders": {"position": {"correlation": self.correlation, "z": self.z}} if tested else {},
            "rows_in_place": self.rows_in_place,
            "z_neighbours": self.z_neighbours,
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
    items = make_table(engine, "kanon_items", _items_query(released), "rows that are alike in every column")
    query = _scores_query(people, candidates, released, items)
    scores = make_table(engine, "kanon_scores", query, "where the original has what each of them could be")
    # 2. The test.
    found = engine.row(_test_query(scores, [*(own.name for own in sorted_by), SIZE]), "how far it follows the original")
    steps = _neighbours_query(scores, [*(own.name for own in sorted_by), SIZE])
    z_neighbours = _z_of_neighbours(engine.rows(steps, "how near neighbours were to each other"))
    covariation, variance, of_scores, of_places, most = map(float, found)
    alone = sql.where(sql.count_rows(), exp.EQ(this=sql.column(SIZE), expression=sql.literal(1)))
    counts = exp.select(sql.count_rows(), alone).from_(items.copy())
    different, distinct = engine.row(counts, "different rows, and rows that are like no other")
    # 3. The rows that stand in their place.
    in_place = None if sorted_by else _rows_in_place(engine, people, candidates, released, items, rows)
    for table in (scores, items):
        engine.run(sql.drop(table), "drop what the order was tested with")
    named = tuple(own.column.name for own in sorted_by)
    correlation, z = None, 0.0
    if variance > 0 and of_scores > 0 and of_places > 0:
        correlation, z = covariation / sqrt(of_scores * of_places), covariation / sqrt(variance)
    number, chance, least_chance = (None, 1.0, 1.0) if in_place is None else in_place
    could = least_chance <= _IN_PLACE_PROBABILITY or (variance > 0 and most / sqrt(variance) > Z_LIMIT)
    reason = None if sorted_by or could or different == 1 else _TOO_FEW
    return Order(reason, rows, distinct, named, correlation, z, number, chance, z_neighbours)


def _neighbours_query(scores: exp.Table, groups: Sequence[str]) -> exp.Query:
    """Return the query of squared differences of the ranks of neighbours: of groups by their number of items."""
    of_group = [sql.column(name) for name in groups]
    return sql.query(
        "attacks/neighbours", values={"of_group": of_group, "many": _MANY_ITEMS}, tables={"scores": scores}
    )


def _z_of_neighbours(groups: Sequence[Sequence[float]]) -> float:
    """Return how many standard deviations neighbours are nearer than by chance, over all groups.

    ``groups`` has numbers of items, how many groups have so many, and the sum of their squared differences.
    """
    difference = variance = 0.0
    for items, number, squares in groups:
        n = float(items)
        mean = n * (n * n - 1) / 6
        of_ratio = 4 * (n - 2) * (5 * n * n - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
        difference += float(squares) - number * mean
        variance += number * of_ratio * (mean / 2) ** 2
    return difference / sqrt(variance) if variance else 0.0


def _rows_in_place(
    engine: Engine, people: OriginalRows, candidates: Candidates, released: Released, items: exp.Table, rows: int
) -> tuple[int, float, float] | None:
    """Return how many rows stand in their place, how probable that is by chance, and how it would be of all rows.

    None where other rows than these find a class: then it is not known which place is whose.
    """
    rooms = _could_be(people, candidates, released, items).select(
        sql.named(exp.Sum(this=sql.column(SIZE, "items")), SIZE)
    )
    rooms = rooms.group_by(sql.column(POSITION, "people"), copy=False)
    size = sql.cast(sql.column(SIZE), "DOUBLE")
    of_all = exp.Div(this=exp.func("LGAMMA", size + 1, dialect="duckdb"), expression=size.copy())
    query = exp.select(sql.count_rows(), sql.sum_of(sql.column(SIZE)), exp.Sum(this=of_all))
    placed, fitting, most_ways = engine.row(query.from_(rooms.subquery("rooms")), "how many rows each row can be")
    if placed != rows:
        return None
    query = _in_place_query(people, candidates, released, items)
    (found,) = engine.row(query, "how many rows stand in their place")
    expected = int(fitting) / rows

    def chance(number: int) -> float:
        more = number - expected
        bound = log(2) - more * more / (4 * expected + 2 * more) if more > 0 else 0.0
        return min(bound, float(most_ways) - lgamma(rows + 1)) if number == rows else bound

    of_found, of_all_rows = (to_the_power(min(chance(number), 0.0)) for number in (int(found), rows))
    return int(found), of_found, of_all_rows


def _in_place_query(people: OriginalRows, candidates: Candidates, released: Released, items: exp.Table) -> exp.Select:
    """Return the query of how many rows stand where the original has one that they can be."""

    def place(rank: type[exp.Func], alias: str) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=sql.column(POSITION, alias))])
        return sql.named(exp.Window(this=rank(), order=order), _PLACE)

    there = _could_be(people, candidates, released, items)
    there = there.select(sql.column(_ITEM, "items"), place(exp.DenseRank, "people"), copy=False)
    shown = [CLASS, *(shared_name(number) for number in range(len(released.shared)))]
    same = sql.all_of(exp.EQ(this=sql.column(n, "items"), expression=sql.column(n, "released")) for n in shown)
    here = exp.select(sql.column(_ITEM, "items"), place(exp.RowNumber, "released"))
    here = here.from_(sql.aliased(released.relation, "released"), copy=False).join(
        sql.aliased(items, "items"), on=same, copy=False
    )
    both = sql.all_of(exp.EQ(this=sql.column(n, "here"), expression=sql.column(n, "there")) for n in (_ITEM, _PLACE))
    return exp.select(sql.count_rows()).from_(here.subquery("here")).join(there.subquery("there"), on=both)


def _items_query(released: Released) -> exp.Select:
    """Return the query of the items, numbered by what they show."""
    shown = [CLASS, *(shared_name(number) for number in range(len(released.shared)))]
    grouped = exp.select(
        *shown, sql.named(sql.count_rows(), SIZE), sql.named(exp.Avg(this=sql.column(POSITION)), _PLACE)
    )
    grouped = grouped.from_(released.relation.copy(), copy=False).group_by(*shown, copy=False)
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(name)) for name in shown])
    number = sql.named(exp.Window(this=exp.RowNumber(), order=order), _ITEM)
    return exp.select(number, *shown, SIZE, _PLACE).from_(grouped.subquery("grouped"))


def _scores_query(people: OriginalRows, candidates: Candidates, released: Released, items: exp.Table) -> exp.Select:
    """Return the query of items with their labels, and the mean place of the rows of the original that could be it."""
    shared = [shared_name(number) for number in range(len(released.shared))]
    score = sql.named(exp.Avg(this=sql.column(POSITION, "people")), _SCORE)
    query = _could_be(people, candidates, released, items).select(sql.column(_ITEM, "items"), score)
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


def _could_be(people: OriginalRows, candidates: Candidates, released: Released, items: exp.Table) -> exp.Select:
    """Return the query of the rows of the original, each with the items that it can be; it selects nothing yet."""
    shared = [shared_name(number) for number in range(len(released.shared))]
    query = exp.select().from_(sql.aliased(people.copy, "original"))
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
        query = query.join(sql.aliased(relation, alias), on=condition, copy=False)
    return query


def _test_query(scores: exp.Table, groups: Sequence[str]) -> exp.Select:
    """Return the query of the test within groups of items, each a sum over the groups.

    They are: products of deviations, their variance by chance, squared deviations of scores and of places, and the most
    that the first can be.
    """
    score, place = sql.column(_SCORE), sql.column(_PLACE)
    grouped = exp.select(
        sql.named(sql.count_rows(), "n"),
        sql.named(exp.CovarSamp(this=score, expression=place), "both"),
        sql.named(exp.Variance(this=score.copy()), "of_scores"),
        sql.named(exp.Variance(this=place.copy()), "of_places"),
    )
    grouped = grouped.from_(scores.copy(), copy=False).group_by(*groups, copy=False)
    grouped = grouped.having(exp.GT(this=sql.count_rows(), expression=sql.literal(1)))
    freedom = exp.Paren(this=exp.Sub(this=sql.column("n"), expression=sql.literal(1)))

    def total(*factors: str) -> exp.Expr:
        product: exp.Expr = freedom.copy()
        for factor in factors:
            product = exp.Mul(this=product, expression=sql.column(factor))
        return exp.Coalesce(this=exp.Sum(this=product), expressions=[sql.literal(0.0)])

    both = exp.Sqrt(this=exp.Mul(this=sql.column("of_scores"), expression=sql.column("of_places")))
    most = exp.Coalesce(
        this=exp.Sum(this=exp.Mul(this=freedom.copy(), expression=both)), expressions=[sql.literal(0.0)]
    )
    sums = (total("both"), total("of_scores", "of_places"), total("of_scores"), total("of_places"), most)
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
