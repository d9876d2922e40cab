"""Order: does the order of the release's rows follow the order of the original?

Rows of a class are alike in their quasi-identifiers and may differ in other columns. If they are in the order of the
original, an attacker who knows that order knows which row belongs to whom (Sweeney's unsorted matching attack).

**The rank test.** Rows of the release that are alike in every column are one item. An item's place is the mean place of
its rows; its score is the mean place of the rows of the original that could be it. If the order reveals nothing, chance
decides which of the places each of several items with equally many rows gets: this holds if rows are in random order,
and if they are sorted by a hash of their published values. Within groups of items of one size, of n items, the sum of
products of the deviations of score and place has the mean 0 and the variance SS(score) SS(place) / (n - 1), whatever
the scores are. Summed over all groups and divided by its standard deviation it is z, approximately normal if there are
many items. It raises a false alarm with a probability of 1 in a million.

**Rows in place.** If there are few items, their mean places differ little, however many rows they have. So, if as many
rows of the original find a class as the release has rows, this test counts the rows of the release at whose position
the original, without the rows that were left out, has a row that they can be. By chance these are ``m`` in the mean;
``m + t`` with a probability of at most 2 exp(-t^2 / (4 m + 2 t)) (Chatterjee 2007, for a random permutation), and all
of them with one of at most the product of (r!)^(1/r) over all rows, divided by n!, where r rows of the release can be a
row (Bregman 1973). Together with these the probability of a false alarm stays 1 in a million.

Not tested: orders that follow the original in parts (rotated, in shuffled blocks). A release that is sorted by a column
that it shows follows an original that is sorted by it too.

    kanon_items(item, class, published_1, ..., size, place)  rows of the release that are alike in every column
    kanon_possible(position, item, size, place)              rows of the original, with the items that they can be
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp as to_the_power
from math import lgamma, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import counted
from kanon_sql.risks.attacks.candidates import SIZE
from kanon_sql.risks.attacks.released import shared_name, truth
from kanon_sql.risks.attacks.verdicts import Attack
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.released import Released

ERROR_PROBABILITY = 1e-6
"""Probability of a false alarm for a release in random order."""
Z_LIMIT = NormalDist().inv_cdf(1 - ERROR_PROBABILITY / 2)
"""Limit of the absolute value of z."""
_IN_PLACE_PROBABILITY = 1e-9
"""Probability of a false alarm by the number of rows in place: a thousandth of the above."""
_TOO_FEW = "too few rows of the release differ: an order that follows the original could be chance"
_FOLLOW = "the rows follow position"


@dataclass(frozen=True)
class Order(Attack):
    """What the order of the rows reveals."""

    reason: str | None  # why there is nothing to test; None if there is
    rows: int = 0
    rows_distinct: int = 0  # rows unlike any other row of the release: an order would reveal them one by one
    # of score and place among items that chance could exchange; None if there are none
    correlation: float | None = None
    z: float = 0.0  # how many standard deviations the correlation is from the mean of chance
    # rows at whose position the original has a row that they can be; None if not counted
    rows_in_place: int | None = None
    chance: float = 1.0  # an upper bound of the probability that as many rows are in place by chance
    name = "order"

    @property
    def succeeded(self) -> bool:
        return self.follows or self.chance <= _IN_PLACE_PROBABILITY

    @property
    def follows(self) -> bool:
        """True if the order follows that of the original from one end to the other, or backwards."""
        return abs(self.z) > Z_LIMIT

    def sentence(self) -> str:
        if not self.succeeded:
            return self.public_sentence()
        if not self.follows or self.correlation is None:
            return f"{_FOLLOW}: {self.rows_in_place or 0:,} stand where the original has one like them"
        distinct = f"{counted(self.rows_distinct, 'row')} of the release are unique by their place"
        return f"{_FOLLOW} (correlation {self.correlation:.2f}); {distinct}"

    def public_sentence(self) -> str:
        return _FOLLOW if self.succeeded else "the rows do not follow the order of the original"

    def remedy(self, _sensitive: int) -> str:
        return "random order, in which kanon anonymize publishes; ORDER BY random() when you copy a release"

    def figures(self) -> dict[str, Any]:
        tested = self.reason in {None, _TOO_FEW}
        return {
            "reason": self.reason,
            "followed": ["position"] if self.succeeded else [],
            "rows": self.rows,
            "rows_distinct": self.rows_distinct,
            "orders": {"position": {"correlation": self.correlation, "z": self.z}} if tested else {},
            "rows_in_place": self.rows_in_place,
            "z_limit": Z_LIMIT if tested else 0.0,
            "error_probability": ERROR_PROBABILITY,
        }

    def public_figures(self) -> dict[str, Any]:
        """Return the figures that do not depend on who has which value.

        With names in their order, a few decimals of a correlation leave one assignment.
        """
        shown = {"reason", "followed", "rows", "z_limit", "error_probability"}
        return {name: figure for name, figure in self.figures().items() if name in shown}


def order_of(candidates: Candidates, released: Released) -> Order:
    engine, people = candidates.engine, candidates.people
    if not (rows := candidates.rows):
        return Order("the release has no rows", 0)
    shown = [sql.column(shared_name(number)) for number in range(len(released.shared))]
    # 1. Items, and the rows of the original that can be each of them.
    query = sql.query("attacks/order/items", values={"shown": shown}, tables={"released": released.relation})
    items = make_table(engine, "kanon_items", query, "rows that are alike in every column")
    true = [truth(people.value(both.original, "original"), both.original) for both in released.shared]
    query = sql.query(
        "attacks/order/possible",
        values={"same": _same_as_items(true)},
        tables={"original": people.copy, "people": people.relation, "pairs": candidates.pairs, "items": items},
    )
    possible = make_table(engine, "kanon_possible", query, "where the original has what each of them could be")
    alone = sql.where(sql.count_rows(), exp.EQ(this=sql.column(SIZE), expression=sql.literal(1)))
    counts = exp.select(sql.count_rows(), alone).from_(items.copy())
    different, distinct = engine.row(counts, "different rows, and rows that are like no other")
    # 2. The rank test.
    query = sql.query("attacks/order/test", tables={"possible": possible})
    found = engine.row(query, "how far it follows the original")
    covariation, variance, of_scores, of_places, most = map(float, found)
    correlation, z = None, 0.0
    if variance > 0 and of_scores > 0 and of_places > 0:
        correlation, z = covariation / sqrt(of_scores * of_places), covariation / sqrt(variance)
    could_succeed = variance > 0 and most / sqrt(variance) > Z_LIMIT
    # 3. The rows in place. If other rows find a class, it is not known which place belongs to which row.
    query = sql.query(
        "attacks/order/in_place",
        values={"same": _same_as_items([sql.column(name.name, "released") for name in shown])},
        tables={"released": released.relation, "items": items, "possible": possible},
    )
    in_place, placed, fitting, ways = engine.row(query, "how many rows stand in their place")
    number, chance = None, 1.0
    if placed == rows:
        number, chance = in_place, _chance(in_place, rows, fitting, ways)
        could_succeed = could_succeed or _chance(rows, rows, fitting, ways) <= _IN_PLACE_PROBABILITY
    for table in (possible, items):
        engine.run(sql.drop(table), "drop what the order was tested with")
    reason = None if could_succeed or different == 1 else _TOO_FEW
    return Order(reason, rows, distinct, correlation, z, number, chance)


def _same_as_items(shown: Sequence[exp.Expr]) -> exp.Expr:
    """Return the condition that a row shows the same values as an item."""
    return sql.all_of(
        exp.EQ(this=sql.column(shared_name(number), "items"), expression=value) for number, value in enumerate(shown)
    )


def _chance(in_place: int, rows: int, fitting: float, ways: float) -> float:
    """Return the bound of the probability that this many rows are in place by chance (see above)."""
    expected = fitting / rows
    more = in_place - expected
    bound = log(2) - more * more / (4 * expected + 2 * more) if more > 0 else 0.0
    if in_place == rows:
        bound = min(bound, ways - lgamma(rows + 1))
    return to_the_power(min(bound, 0.0))
