"""The remaining rows if k is required of every m columns: on arrays, like the tests of nodes under that model.

A step publishes the greatest set of the remaining rows in which every class by m columns has k members. Each class of
the release by m columns contains all rows of a class of some step, so it has k members too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from kanon_sql.classes.frequency import key_name
from kanon_sql.engine.progress import DeadlineReachedError, next_deadline, until
from kanon_sql.measures.quality import STEP
from kanon_sql.search.full_domain.optimal import optimal
from kanon_sql.search.local.remaining import Other, Publishable, Remaining
from kanon_sql.search.problem import LISTABLE, UNLISTED_SECONDS
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.known_classes import Chosen
    from kanon_sql.classes.lattice import Node
    from kanon_sql.search.full_domain.evidence import Evidence
    from kanon_sql.search.full_domain.known_nodes import KnownNodes
    from kanon_sql.search.problem import SearchProgress

_WORK = 5_000_000_000  # members of classes by m columns, counted over all nodes, at most
_KEPT = 200  # sequences of steps for which the rows published by the last one are kept
_OF_OPTIMAL = 0.15  # of the time until a limit


class KnownRemaining(Remaining):
    """The rows that are not published yet. Their table is brought up to date before it is read."""

    begins_with_path = True  # from nothing it would take many steps
    neighbours = 20  # each takes a second if there are many tuples and columns

    def __init__(self, evidence: Evidence, known: KnownNodes) -> None:
        super().__init__(evidence.problem)
        self._evidence, self._known = evidence, known
        self._step = np.zeros(len(known.tuples.n), dtype=np.int64)  # of each tuple; 0 if it remains
        self._price = self._step
        self._before: dict[tuple[Node, ...], Chosen] = {}

    @property
    def published(self) -> tuple[int, ...]:
        rows = np.bincount(self._step, self._known.tuples.n, len(self.steps) + 1)
        return tuple(map(int, rows[1 : len(self.steps) + 1]))

    def rows_of(self, step: int) -> int:
        return self._rows(self._step == step)

    def set_prices(self, prices: Sequence[int]) -> None:
        self._price = np.array([prices[-1], *prices], dtype=np.int64)[self._step]

    def worth(self, nodes: Sequence[Node], prices: Sequence[int]) -> list[tuple[int, int]]:
        self._tested.update(nodes)
        chosen = [self._known.left(node, self._price > price) for node, price in zip(nodes, prices, strict=True)]
        n = self._known.tuples.n
        return [(self._rows(own), int((n[own] * self._price[own]).sum())) for own in chosen]

    def will_test(self, nodes: Sequence[Node]) -> None:
        """Prepare nothing."""

    def publishable(self, nodes: Sequence[Node]) -> list[Publishable]:
        self._tested.update(nodes)
        chosen = [self._known.left(node, self._step == 0) for node in nodes]
        return [Publishable(self._rows(own), int(own.sum())) for own in chosen]

    def publishable_by_probe(self, node: Node) -> Publishable:
        return self.publishable([node])[0]

    def publish(self, node: Node) -> int:
        self._tested.add(node)
        steps = (*self.steps, node)
        if steps not in self._before:  # the same steps are taken many times
            if len(self._before) == _KEPT:
                self._before.clear()
            self._before[steps] = self._known.left(node, self._step == 0)
        found = self._before[steps]
        changed = int(found.sum())
        if changed:
            self._step[found] = len(steps)
            self.steps.append(node)
            self.tuples -= changed
        return changed

    def forget_later_steps(self) -> None:
        self._step[self._step > len(self.steps)] = 0
        self.tuples = int((self._step == 0).sum())

    def cost(self) -> int:
        self._tell()
        return super().cost()

    def close(self) -> None:
        self._tell()
        super().close()

    @property
    def nodes_at_most(self) -> int:
        """Limited by time: a node costs tuples times subsets of m columns. A time limit leaves few steps."""
        if next_deadline() is not None:
            return 0
        subsets = self._known.model.subsets(len(self.problem.lattice.heights))
        return min(super().nodes_at_most, _WORK // max(1, len(self._step) * subsets))

    def begin(self, progress: SearchProgress | None) -> list[Other]:
        """Take the step of ``optimal``: the best node that it finds in part of the time."""
        now, at = time.monotonic(), next_deadline()
        end = None if at is None else now + _OF_OPTIMAL * (at - now)
        if end is None and self.problem.lattice.size > LISTABLE:
            end = now + UNLISTED_SECONDS
        try:
            with until(end):
                optimal(self._evidence, progress)
        except DeadlineReachedError:
            pass
        finally:
            best = self._evidence.best
            self._evidence.roll_ups.drop_all_but(self.problem.frequency.relation)
            if best is not None:
                self.go([best[0]])
        others = [] if best is None else self.finished("optimal")
        self.begin_again()
        return others

    def _rows(self, chosen: Chosen) -> int:
        return int(self._known.tuples.n[chosen].sum())

    def _tell(self) -> None:
        """Write the step of each tuple to the table."""
        published = np.flatnonzero(self._step)
        names = [key_name(key) for key in range(self.problem.frequency.keys)]
        own = np.stack([*self._known.tuples.codes, self._step])[:, published]
        columns = dict(zip([*names, STEP], np.unique(own, axis=1).tolist(), strict=True))
        steps = self.engine.temporary_name("kanon_steps")
        self.engine.load(steps, columns, "the steps of tuples", "BIGINT")
        same = [sql.column(name, steps.name).eq(sql.column(name, self.relation.name)) for name in names]
        found = exp.select(sql.column(STEP, steps.name)).from_(steps.copy()).where(*same)
        self.engine.run(exp.update(self.relation.copy(), {STEP: found.subquery()}), "each tuple has its step")
        self.engine.run(sql.drop(steps), "drop the steps of tuples")
