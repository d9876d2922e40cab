"""Classes under k-anonymity of every m columns: which remain, and how many members share them.

They are counted on arrays, not by a statement, because each of the subsets of m columns needs a count: 2,024 for three
of 24 columns.

1. Start with classes by all columns; each column has small numbers for its labels. A column with only one label adds
   nothing to a subset.
2. Count the members of each class by m columns, subset by subset. Remove at once the classes with fewer than k
   members: they do not count in the subsets that follow.
3. Repeat until nothing is removed.
4. For each class, the members of the smallest class by m columns that it is part of.
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
_LISTED = 1 << 22  # numbers up to which the existing ones are found in such an array, not by sorting


@dataclass(frozen=True)
class Classes:
    """Classes by all columns."""

    codes: Sequence[Numbers]  # for each column, the labels of the classes as numbers from 0
    n: Numbers
    members: Numbers  # its rows; or the people who are in no other class
    # for people in several classes: each of their classes, and the person's number, from 0
    movers: tuple[Numbers, Numbers] | None = None

    def some(self, chosen: Chosen) -> Classes:
        movers = None
        if self.movers is not None:
            place, person = self.movers
            stay = chosen[place]
            movers = np.cumsum(chosen)[place[stay]] - 1, person[stay]
        codes = [code[chosen] for code in self.codes]
        return Classes(codes, self.n[chosen], self.members[chosen], movers)

    def counted(self, key: Numbers, size: int, stay: Chosen, members: NDArray[Any]) -> NDArray[np.float64]:
        """Return the members by each value of a key, of the classes that stay. The others have 0 ``members``."""
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
    # 4. The remaining classes, once more.
    for key, size in _subsets(own, m):
        np.minimum(smallest, own.counted(key, size, stay, own.members)[key], out=smallest)
    shared[left] = smallest
    return shared


def left_of(classes: Classes, m: int, k: int, most: float = np.inf) -> Chosen:
    """Return which classes remain.

    If more than ``most`` rows are removed, the result may still include classes that should be removed.
    See the plan of this file.
    """
    places, own, out = np.arange(len(classes.n)), classes, True
    rows = int(classes.n.sum())
    # 3. Until nothing is removed.
    while out and len(places):
        stay, members = np.ones(len(places), dtype=np.bool_), own.members.astype(np.float64)
        # 2. Subset by subset.
        for key, size in _subsets(own, m):
            counted = own.counted(key, size, stay, members)
            too_small = counted < k
            if own.movers is None:
                too_small &= counted > 0
            if not too_small.any():
                continue
            gone = stay & too_small[key]
            if gone.any():
                stay &= ~gone
                members[gone] = 0
                few = 2 * np.count_nonzero(stay) < len(stay)  # counting is faster without the others
                if few or rows - int(own.n[stay].sum()) > most:
                    break
        out = not stay.all()
        places, own = places[stay], own.some(stay) if out else own
        out = out and rows - int(own.n.sum()) <= most
    left = np.zeros(len(classes.n), dtype=np.bool_)
    left[places] = True
    return left


def _subsets(classes: Classes, m: int) -> Iterator[tuple[Numbers, int]]:
    """Yield for each subset of m columns a number for each class, and an upper bound of the numbers."""
    codes, rows = classes.codes, len(classes.n)
    sizes = [int(code.max(initial=0)) + 1 for code in codes]
    several = [column for column, size in enumerate(sizes) if size > 1]
    begun: tuple[int, ...] | None = None
    key, size = np.zeros(rows, dtype=np.int64), 1
    for chosen in itertools.combinations(several, min(m, len(several))):
        *first, last = chosen or (0,)
        if begun != tuple(first):  # all columns but the last are those of the previous subset
            check_deadline()
            begun = tuple(first)
            key, size = combined_codes([codes[column] for column in first], [sizes[column] for column in first], rows)
            if size > rows:
                key, size = dense(key, size)
        found, total = key * sizes[last] + codes[last], size * sizes[last]
        yield (found, total) if total <= _DENSE else dense(found, total)


def combined_codes(codes: Sequence[Numbers], sizes: Sequence[int], rows: int) -> tuple[Numbers, int]:
    """Return a number for each combination of codes, and an upper bound of the numbers."""
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
    """Return tuples of a frequency set as classes. Several of them may have the same codes.

    ``tuples``: their query, which selects nothing yet; ``codes``: the integers that they have in each
    column.
    """
    query = tuples.select(*codes, sql.column(N))
    if people:  # a person with one tuple has no number there
        number = exp.Coalesce(this=sql.column(ENTITY), expressions=[sql.literal(-1)])
        query = query.select(sql.column(PERSONS), number)
    found = np.array(engine.rows(query, title), dtype=np.int64).reshape(-1, len(query.selects)).T
    columns, n = list(found[: len(codes)]), found[len(codes)]
    if not people:
        return Classes(columns, n, n)
    several = np.flatnonzero(found[-1] >= 0)
    return Classes(columns, n, found[-2], (several, found[-1][several]))
