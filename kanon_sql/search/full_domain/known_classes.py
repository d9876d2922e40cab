"""The classes of a node under k-anonymity of every m columns: which are left, and by how many members they are shared.

A node is tested on arrays of the frequency set, not by a statement: it takes a count for each of the subsets of m
columns, 2,024 for three of 24.

1. Begin with what is left at a node above that was tested: nothing else is left here (see
   ``kanon_sql.models.known_subsets``). Take the classes of that at the node by all columns; each column has small
   numbers for its labels. Of a column with one label a subset says no more than without it.
2. Count the members of each class by m columns, subset by subset, and take out at once what is in one of fewer than k:
   it does not count in the subsets that follow.
3. Again, until nothing is taken out.
4. The members of the smallest class by m columns that each class is part of.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from kanon_sql.classes.frequency import key_name
from kanon_sql.engine.progress import check_deadline
from kanon_sql.models.base import ENTITY, PERSONS, N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Node
    from kanon_sql.models.known_subsets import KnownSubsets

    Numbers = NDArray[np.int64]
    Chosen = NDArray[np.bool_]

_DENSE = 1 << 18  # numbers up to which classes are counted in an array of that length
_LISTED = 1 << 22  # numbers up to which those that occur are found in such an array, and not by sorting
_KEPT = 200  # nodes of which it is kept what is left there


@dataclass(frozen=True)
class Classes:
    """Classes by all columns.

    Attributes:
        codes: of each column, the labels of the classes as numbers from 0.
        n: the rows of each class.
        members: its rows; or the people who are in no other class.
        movers: the class of each person in several, once for each of her classes; and her number, from 0.
    """

    codes: Sequence[Numbers]
    n: Numbers
    members: Numbers
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
    """Return, for each class, the members of the smallest class by m columns that it is part of; 0 if it is left out.

    Args:
        classes: by all columns.
        m: how many columns are known.
        k: the fewest members of a class by m columns.
    """
    left = _left(classes, m, k)
    shared = np.zeros(len(left), dtype=np.int64)
    own = classes.some(left)
    stay = np.ones(len(own.n), dtype=np.bool_)
    smallest = np.full(len(own.n), np.inf)
    # 4. What is left, once more.
    for key, size in _subsets(own, m):
        np.minimum(smallest, own.counted(key, size, stay, own.members)[key], out=smallest)
    shared[left] = smallest
    return shared


def _left(classes: Classes, m: int, k: int, most: float = np.inf) -> Chosen:
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
                if rows - int(own.n[stay].sum()) > most:
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
            key, size = _combined([codes[column] for column in first], [sizes[column] for column in first], rows)
            if size > rows:
                key, size = _dense(key, size)
        found, total = key * sizes[last] + codes[last], size * sizes[last]
        yield (found, total) if total <= _DENSE else _dense(found, total)


def _combined(codes: Sequence[Numbers], sizes: Sequence[int], rows: int) -> tuple[Numbers, int]:
    """Return a number for each combination of codes, and the number above all of them."""
    key, total = np.zeros(rows, dtype=np.int64), 1
    for code, size in zip(codes, sizes, strict=True):
        if total * size > _DENSE:
            key, total = _dense(key, total)
        key, total = key * size + code, total * size
    return key, total


def _dense(key: Numbers, size: int) -> tuple[Numbers, int]:
    """Return numbers below ``size`` as numbers from 0 without a gap, in the same order."""
    if size > _LISTED:
        values, dense = np.unique(key, return_inverse=True)
        return dense, len(values)
    occurs = np.zeros(size, dtype=np.int64)
    occurs[key] = 1
    place = np.cumsum(occurs)
    return place[key] - 1, int(place[-1])


class KnownClasses:
    """Tests nodes on arrays of the frequency set, and tells the database what it found.

    Attributes:
        model: what is required.
    """

    def __init__(self, frequency: FrequencySet, model: KnownSubsets) -> None:
        self._frequency, self.model = frequency, model
        people = [PERSONS, ENTITY] if frequency.counts_people else []
        names = [*map(key_name, range(frequency.keys)), N, *people]
        query = exp.select(*map(sql.column, names)).from_(frequency.relation.copy())
        if people:  # who has one tuple has no number there
            number = exp.Coalesce(this=sql.column(ENTITY), expressions=[sql.literal(-1)])
            query.set("expressions", [*map(sql.column, names[:-1]), number])
        rows = frequency.engine.rows(query, "the frequency set as arrays")
        found = np.array(rows, dtype=np.int64).reshape(-1, len(names))
        self._keys, self._n = found[:, : frequency.keys], found[:, frequency.keys]
        self._members = found[:, frequency.keys + 1] if people else self._n
        self._person = found[:, -1] if people else None
        self._codes: dict[tuple[int, int], Numbers] = {}
        self._left: OrderedDict[Node, Chosen] = OrderedDict()
        self._shared: tuple[Node, exp.Table] | None = None

    def suppressed(self, node: Node, most: int) -> int:
        """Return how many rows are left out at a node; where it is more than ``most``, some number above that."""
        tuples = self._begin(node)
        gone = int(self._n.sum() - self._n[tuples].sum())
        if gone > most:
            return gone
        place, classes = self._classes(node, tuples)
        left = _left(classes, self.model.m, self.model.required, most - gone)
        found = np.zeros(len(self._n), dtype=np.bool_)
        found[np.flatnonzero(tuples)[left[place]]] = True
        suppressed = int(self._n.sum() - self._n[found].sum())
        if suppressed <= most:
            self._left[node] = found
            if len(self._left) > _KEPT:
                self._left.popitem(last=False)
        return suppressed

    def shared(self, node: Node) -> exp.Table:
        """Return a table of the classes of a node, by their masked keys; ``n`` is by how many each is shared."""
        if self._shared is not None and self._shared[0] == node:
            return self._shared[1]
        place, classes = self._classes(node, np.ones(len(self._n), dtype=np.bool_))
        shared = shared_members(classes, self.model.m, self.model.required)
        _, one = np.unique(place, return_index=True)  # a tuple of each class
        masks = np.array(self._frequency.masks(node), dtype=np.int64)
        columns = {key_name(key): (self._keys[one, key] & masks[key]).tolist() for key in range(len(masks))}
        engine = self._frequency.engine
        table = engine.temporary_name("kanon_shared")
        engine.load(table, {**columns, N: shared.tolist()}, f"by how many the classes of {node} are shared", "BIGINT")
        if self._shared is not None:
            engine.run(sql.drop(self._shared[1]), "drop by how many classes of another node are shared")
        self._shared = (node, table)
        return table

    def _begin(self, node: Node) -> Chosen:
        """Return the tuples that are left at some node above: of those that are known, where they have fewest rows."""
        above = [left for other, left in self._left.items() if all(map(int.__ge__, other, node))]
        everything = np.ones(len(self._n), dtype=np.bool_)
        return min(above, key=lambda left: int(self._n[left].sum()), default=everything)

    def _classes(self, node: Node, tuples: Chosen) -> tuple[Numbers, Classes]:
        """Return the class of each of some tuples, and the classes."""
        codes = [self._code(column, level)[tuples] for column, level in enumerate(node)]
        key, _ = _combined(codes, [int(code.max(initial=0)) + 1 for code in codes], int(tuples.sum()))
        _, one, place = np.unique(key, return_index=True, return_inverse=True)
        n, members = (np.bincount(place, own[tuples], len(one)).astype(np.int64) for own in (self._n, self._members))
        own = [_dense(code[one], int(code.max(initial=0)) + 1)[0] for code in codes]
        if self._person is None:
            return place, Classes(own, n, members)
        person = self._person[tuples]
        return place, Classes(own, n, members, (place[person >= 0], person[person >= 0]))

    def _code(self, column: int, level: int) -> Numbers:
        """Return a number for the label of each tuple."""
        if (column, level) not in self._codes:
            words = [
                _dense((self._keys[:, own.key] & own.mask(level)) >> own.shift, 1 << own.word.bits)
                for own in self._frequency.placements
                if own.column == column
            ]
            codes, sizes = zip(*words, strict=True)
            self._codes[column, level], _ = _combined(codes, sizes, len(self._n))
        return self._codes[column, level]
