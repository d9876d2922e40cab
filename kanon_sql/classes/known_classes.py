"""Classes under k-anonymity of every m columns: which are left, and by how many members they are shared.

They are counted on arrays, not by a statement: it takes a count for each of the subsets of m columns, 2,024 for three
of 24.

1. Begin with classes by all columns; each column has small numbers for its labels. Of a column with one label a subset
   says no more than without it.
2. Count the members of each class by m columns, subset by subset, and take out at once what is in one of fewer than k:
   it does not count in the subsets that follow.
3. Again, until nothing is taken out.
4. The members of the smallest class by m columns that each class is part of.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from kanon_sql.engine.progress import check_deadline
from kanon_sql.models.base import ENTITY, PERSONS, N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from kanon_sql.engine.base import Engine

    Numbers = NDArray[np.int64]
    Chosen = NDArray[np.bool_]

_DENSE = 1 << 18  # numbers up to which classes are counted in an array of that length
_LISTED = 1 << 22  # numbers up to which those that occur are found in such an array, and not by sorting


@dataclass(frozen=True)
class Classes:
    """Classes by all columns."""

    codes: Sequence[Numbers]  # of each column, the labels of the classes as numbers from 0
    n: Numbers  # the rows of each class
    members: Numbers  # its rows; or the people who are in no other class
    # the class of each person in several, once for each of her classes; and her number, from 0
    movers: tuple[Numbers, Numbers] | None = None

    def some(self, chosen: Chosen) -> Classes:
        """Return some of the classes, in their order."""
        movers = None
        if self.movers is not None:
            place, person = self.movers
            stay = chosen[place]
            movers = np.cumsum(chosen)[place[stay]] - 1, person[stay]
        codes = [code[chosen] for code in self.codes]
        return Classes(codes, self.n[chosen], self.members[chosen], movers)

    def counted(self, key: Numbers, size: int, stay: Chosen, members: NDArray[Any]) -> NDArray[np.float64]:
        """Return the members by each value of a key, of the classes that stay; ``members`` are 0 of the others."""
        found = np.bincount(key, members, size).astype(np.float64, copy=False)
        if self.movers is not None and len(self.movers[0]):
            place, person = self.movers
            some, several = stay[place], int(person.max()) + 1
            each = np.unique(key[place[some]] * several + person[some])
            found += np.bincount(each // several, minlength=size)
        return found


def shared_members(classes: Classes, m: int, k: int) -> Numbers:
    """Return, for each class, the members of the smallest class by m columns that it is part of, or 0."""
    left = left_of(classes, m, k)
    shared = np.zeros(len(left), dtype=np.int64)
    own = classes.some(left)
    stay = np.ones(len(own.n), dtype=np.bool_)
    smallest = np.full(len(own.n), np.inf)
    # 4. What is left, once more.
    for key, size in _subsets(own, m):
        np.minimum(smallest, own.counted(key, size, stay, own.members)[key], out=smallest)
    shared[left] = smallest
    return shared


def left_of(classes: Classes, m: int, k: int, most: float = np.inf) -> Chosen:
    """Return which classes are left; where more than ``most`` rows are not, some of those that are not may be missing.

    See the plan of this file.
    """
    places, own, out = np.arange(len(classes.n)), classes, True
    rows = int(classes.n.sum())
    # 3. Until nothing is taken out.
    while out and len(places):
        stay, members = np.ones(len(places), dtype=np.bool_), own.members.astype(np.float64)
        # 2. Subset by subset.
        for key, size in _subsets(own, m):
            counted = own.counted(key, size, stay, members)
            too_small = counted < k
            if own.movers is None:  # none is left that has no members
                too_small &= counted > 0
            if not too_small.any():
                continue
            gone = stay & too_small[key]
            if gone.any():
                stay &= ~gone
                members[gone] = 0
                few = 2 * np.count_nonzero(stay) < len(stay)  # what is left is counted sooner without the others
                if few or rows - int(own.n[stay].sum()) > most:
                    break
        out = not stay.all()
        places, own = places[stay], own.some(stay) if out else own
        out = out and rows - int(own.n.sum()) <= most
    left = np.zeros(len(classes.n), dtype=np.bool_)
    left[places] = True
    return left


def _subsets(classes: Classes, m: int) -> Iterator[tuple[Numbers, int]]:
    """Yield for each subset of m columns a number for each class, and the number above all of them."""
    codes, rows = classes.codes, len(classes.n)
    sizes = [int(code.max(initial=0)) + 1 for code in codes]
    several = [column for column, size in enumerate(sizes) if size > 1]
    begun: tuple[int, ...] | None = None
    key, size = np.zeros(rows, dtype=np.int64), 1
    for chosen in itertools.combinations(several, min(m, len(several))):
        *first, last = chosen or (0,)
        if begun != tuple(first):  # all but the last column are those of the subset before
            check_deadline()
            begun = tuple(first)
            key, size = combined_codes([codes[column] for column in first], [sizes[column] for column in first], rows)
            if size > rows:
                key, size = dense(key, size)
        found, total = key * sizes[last] + codes[last], size * sizes[last]
        yield (found, total) if total <= _DENSE else dense(found, total)


def combined_codes(codes: Sequence[Numbers], sizes: Sequence[int], rows: int) -> tuple[Numbers, int]:
    """Return a number for each combination of codes, and the number above all of them."""
    key, total = np.zeros(rows, dtype=np.int64), 1
    for code, size in zip(codes, sizes, strict=True):
        if total * size > _DENSE:
            key, total = dense(key, total)
        key, total = key * size + code, total * size
    return key, total


def dense(key: Numbers, size: int) -> tuple[Numbers, int]:
    """Return numbers below ``size`` as numbers from 0 without a gap, in the same order."""
    if size > _LISTED:
        values, places = np.unique(key, return_inverse=True)
        return places, len(values)
    occurs = np.zeros(size, dtype=np.int64)
    occurs[key] = 1
    place = np.cumsum(occurs)
    return place[key] - 1, int(place[-1])


def fetched(engine: Engine, tuples: exp.Select, codes: Sequence[exp.Expr], title: str, *, people: bool) -> Classes:
    """Return tuples of a frequency set as classes, of which several may have the same codes.

    ``tuples``: the query of them, which selects nothing yet; ``codes``: the whole numbers that they have in each
    column.
    """
    query = tuples.select(*codes, sql.column(N))
    if people:  # who has one tuple has no number there
        number = exp.Coalesce(this=sql.column(ENTITY), expressions=[sql.literal(-1)])
        query = query.select(sql.column(PERSONS), number)
    found = np.array(engine.rows(query, title), dtype=np.int64).reshape(-1, len(query.selects)).T
    columns, n = list(found[: len(codes)]), found[len(codes)]
    if not people:
        return Classes(columns, n, n)
    several = np.flatnonzero(found[-1] >= 0)
    return Classes(columns, n, found[-2], (several, found[-1][several]))
