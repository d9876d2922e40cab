"""Tests of nodes under k-anonymity of every m columns, on arrays of the frequency set.

The rows that remain at a node also remain at every node above (see ``kanon_sql.models.known_subsets``). So a test
starts from the rows that remain at a tested node above.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from kanon_sql.classes.frequency import key_name
from kanon_sql.classes.known_classes import Classes, combined_codes, dense, fetched, left_of, shared_members
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.known_classes import Chosen, Numbers
    from kanon_sql.classes.lattice import Node
    from kanon_sql.models.known_subsets import KnownSubsets

_KEPT = 200  # nodes whose remaining tuples are kept


class KnownNodes:
    """Tests nodes on arrays of the frequency set, and writes the results to the database.

    Attributes:
        tuples: the frequency set, with its keys as codes.
    """

    def __init__(self, frequency: FrequencySet, model: KnownSubsets) -> None:
        self._frequency, self.model = frequency, model
        tuples = exp.select().from_(frequency.relation.copy())
        keys = [sql.column(key_name(key)) for key in range(frequency.keys)]
        title = "the frequency set as arrays"
        self.tuples = fetched(frequency.engine, tuples, keys, title, people=frequency.counts_people)
        self._codes: dict[tuple[int, int], Numbers] = {}
        self._left: OrderedDict[Node, Chosen] = OrderedDict()
        self._shared: tuple[Node, exp.Table] | None = None

    def suppressed(self, node: Node, most: int) -> int:
        """Return how many rows are suppressed at a node.

        If that is more than ``most``, the result may be too small, but it is more than ``most``.
        """
        found = self.left(node, most=most)
        suppressed = int(self.tuples.n.sum() - self.tuples.n[found].sum())
        if suppressed <= most:
            self._left[node] = found
            if len(self._left) > _KEPT:
                self._left.popitem(last=False)
        return suppressed

    def left(self, node: Node, among: Chosen | None = None, most: float = np.inf) -> Chosen:
        """Return which tuples remain at a node, among all or some; see ``left_of`` for ``most``."""
        tuples = self._begin(node)
        everything = int(self.tuples.n.sum())
        if among is not None:
            tuples, everything = tuples & among, int(self.tuples.n[among].sum())
        gone = everything - int(self.tuples.n[tuples].sum())
        if gone > most:
            return tuples
        place, classes = self._classes(node, tuples)
        left = left_of(classes, self.model.m, self.model.required, most - gone)
        found = np.zeros(len(tuples), dtype=np.bool_)
        found[np.flatnonzero(tuples)[left[place]]] = True
        return found

    def shared(self, node: Node) -> exp.Table:
        """Return a table of the classes of a node, by their masked keys.

        ``n``: the members of the smallest class by m columns that contains it, or 0.
        """
        if self._shared is not None and self._shared[0] == node:
            return self._shared[1]
        place, classes = self._classes(node, np.ones(len(self.tuples.n), dtype=np.bool_))
        shared = shared_members(classes, self.model.m, self.model.required)
        _, one = np.unique(place, return_index=True)
        masks = np.array(self._frequency.masks(node), dtype=np.int64)
        columns = {key_name(key): (self.tuples.codes[key][one] & masks[key]).tolist() for key in range(len(masks))}
        engine = self._frequency.engine
        table = engine.temporary_name("kanon_shared")
        engine.load(table, {**columns, N: shared.tolist()}, f"by how many the classes of {node} are shared", "BIGINT")
        if self._shared is not None:
            engine.run(sql.drop(self._shared[1]), "drop by how many classes of another node are shared")
        self._shared = (node, table)
        return table

    def _begin(self, node: Node) -> Chosen:
        """Return the tuples that remain at a node above: of the known nodes, the one with the fewest rows."""
        above = [left for other, left in self._left.items() if all(map(int.__ge__, other, node))]
        everything = np.ones(len(self.tuples.n), dtype=np.bool_)
        return min(above, key=lambda left: int(self.tuples.n[left].sum()), default=everything)

    def _classes(self, node: Node, tuples: Chosen) -> tuple[Numbers, Classes]:
        """Return the class of each of some tuples, and the classes."""
        some = self.tuples.some(tuples)
        codes = [self._code(column, level)[tuples] for column, level in enumerate(node)]
        key, _ = combined_codes(codes, [int(code.max(initial=0)) + 1 for code in codes], len(some.n))
        _, one, place = np.unique(key, return_index=True, return_inverse=True)
        n, members = (np.bincount(place, own, len(one)).astype(np.int64) for own in (some.n, some.members))
        own = [dense(code[one], int(code.max(initial=0)) + 1)[0] for code in codes]
        movers = None if some.movers is None else (place[some.movers[0]], some.movers[1])
        return place, Classes(own, n, members, movers)

    def _code(self, column: int, level: int) -> Numbers:
        """Return a number for the label of each tuple."""
        if (column, level) not in self._codes:
            words = [
                dense((self.tuples.codes[own.key] & own.mask(level)) >> own.shift, 1 << own.word.bits)
                for own in self._frequency.placements
                if own.column == column
            ]
            codes, sizes = zip(*words, strict=True)
            self._codes[column, level], _ = combined_codes(codes, sizes, len(self.tuples.n))
        return self._codes[column, level]
