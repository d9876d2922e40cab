"""Which columns single people out: the classes by every single quasi-identifier, by every pair, by every triple.

Who looks for a person seldom knows all of her quasi-identifiers. A class by some of the columns is at least as large as
each class by all of them that is part of it, so that what is asked here is where the risk comes from.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.risks.estimators.population import all_named, nobody_named, people_alone
from kanon_sql.risks.estimators.tuples import MEMBERS
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.risks.estimators.tuples import Tuples

_LARGEST = 3  # columns of a subset, by default
_AT_MOST = 500  # subsets that are looked at unasked; each is a statement


@dataclass(frozen=True)
class SubsetRisk:
    """The classes by some of the quasi-identifiers.

    Attributes:
        columns: which.
        classes: how many there are.
        smallest_class: members of the smallest; None for a table without rows.
        uniques: rows that are alone in their class; where people are counted, distinct people who are alone in some.
        share_unique: their share of all rows, or of all people; None for a table without rows.
    """

    columns: tuple[str, ...]
    classes: int
    smallest_class: int | None
    uniques: int
    share_unique: float | None


@dataclass(frozen=True)
class Subsets:
    """What was asked about subsets of the quasi-identifiers, and what was not.

    Attributes:
        largest: columns of the largest subsets that were looked at; 0 if none was.
        not_looked_at: subsets that have more columns.
        found: the classes by each subset that was looked at, those that single out most people first.
    """

    largest: int
    not_looked_at: int
    found: tuple[SubsetRisk, ...]


def largest_subsets(asked: int | None, width: int) -> int:
    """Return how many columns the largest subsets have that are looked at.

    Args:
        asked: what was asked for; None is up to three, as long as there are no more than 500 subsets.
        width: the number of quasi-identifiers.

    Raises:
        UsageError: more columns were asked for than there are.
    """
    if asked is None:
        sizes = range(1, min(_LARGEST, width) + 1)
        return max((size for size in sizes if _up_to(size, width) <= _AT_MOST), default=1)
    if isinstance(asked, bool) or not 0 <= asked <= width:
        raise UsageError(
            f"Subsets have from 1 to as many columns as there are quasi-identifiers, here {width} (0 looks at none), "
            f"not {asked}."
        )
    return asked


def subset_risks(tuples: Tuples, largest: int) -> Subsets:
    """Return the classes by each subset of the quasi-identifiers of up to so many columns."""
    width = len(tuples.columns)
    places = [chosen for size in range(1, largest + 1) for chosen in itertools.combinations(range(width), size)]
    named = all_named(tuples) if tuples.counts_people and places else 0
    found = sorted((_of_subset(tuples, chosen, named) for chosen in places), key=_worst_first)
    return Subsets(largest, 2**width - 1 - len(found), tuple(found))


def subset_query(tuples: Tuples, places: Sequence[int]) -> exp.Select:
    """Return the query for the classes by some quasi-identifiers: how many, the smallest, who is alone, all members.

    Where people are counted, ``all_members`` are those without a name: a person is in several classes, and how many
    are named is the same for every subset.
    """
    members = sql.column(MEMBERS)
    query = exp.select(
        sql.named(sql.count_rows(), "classes"), sql.named(exp.Min(this=members.copy()), "smallest_class")
    ).from_(tuples.classes(places, with_person=tuples.counts_people).subquery("class_sizes"))
    if not tuples.counts_people:
        alone = exp.EQ(this=members, expression=sql.literal(1))
        return query.select(
            sql.named(sql.where(sql.count_rows(), alone), "uniques"),
            sql.named(exp.Sum(this=members.copy()), "all_members"),
        )
    return query.select(sql.named(people_alone(), "uniques"), sql.named(nobody_named(), "all_members"))


def _of_subset(tuples: Tuples, places: Sequence[int], named: int) -> SubsetRisk:
    columns = tuple(tuples.columns[place].name for place in places)
    row = tuples.engine.row(subset_query(tuples, places), f"classes by {', '.join(columns)}")
    classes, smallest, uniques, members = (None if number is None else int(number) for number in row)
    everybody = named + (members or 0)
    return SubsetRisk(columns, classes or 0, smallest, uniques or 0, (uniques or 0) / everybody if everybody else None)


def _worst_first(found: SubsetRisk) -> tuple[int, float, int]:
    smallest = math.inf if found.smallest_class is None else found.smallest_class
    return -found.uniques, smallest, len(found.columns)


def _up_to(size: int, width: int) -> int:
    return sum(math.comb(width, chosen) for chosen in range(1, size + 1))
