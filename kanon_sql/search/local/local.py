"""``local``: local recoding that visits the nodes of the lattice in ascending order of loss.

SPOLG follows one path. Here every node is a step, so rows are published at the cheapest node at which their class is
large enough. In ascending order of the loss of all rows at a node, those rows are published whose class, among the
remaining rows, satisfies the models.

1. Nodes come from a heap in ascending order of loss. If there are more than 10,000, the nodes of least loss lie near
   the bottom, where hardly any class is large enough: then ``priced.py`` finds the steps.
2. A step that publishes few of the remaining rows is skipped at first: it would cost a statement and save next
   to nothing. A second pass over the remaining rows has a lower threshold.
3. Several nodes are tested by one statement. If many tuples remain, each node is tested by a probe of a sample of the
   classes.
4. The remaining rows go up a path to the root like SPOLG's, chosen by the loss of the whole table.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.classes.lattice import with_level
from kanon_sql.search.local.priced import publish_by_price
from kanon_sql.search.local.spolg import cheapest_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.classes.lattice import Node
    from kanon_sql.search.local.remaining import Publishable, Remaining
    from kanon_sql.search.problem import Problem, SearchProgress

_MANY = 200_000  # tuples from which a probe is cheaper than a test
_AT_ONCE = (32, 256)  # nodes tested by one statement: fewer after several became steps, more after none did
_PAIRS = 1_000_000  # of tuples and nodes that one statement processes at most


@dataclass(frozen=True)
class _Threshold:
    """How many rows a step must publish: a share of the remaining rows, and of all rows."""

    of_left: float
    of_all: float

    def rows(self, remaining: Remaining) -> int:
        """Return it as a number of rows, if the remaining tuples have as many rows each as those of the table."""
        frequency = remaining.problem.frequency
        left = remaining.tuples / max(1, frequency.tuples) * frequency.rows
        return max(1, int(self.of_left * left), int(self.of_all * frequency.rows))


_PASSES = (_Threshold(0.005, 0.0003), _Threshold(0, 0.0002))
_PASSES_OF_MANY = (_Threshold(0.03, 0.003), _Threshold(0, 0.001))  # if steps take as long as they have tuples


def local(remaining: Remaining, progress: SearchProgress | None = None) -> None:
    """Publish at the nodes of the lattice in ascending order of their loss."""
    others = remaining.begin(progress)
    if remaining.problem.lattice.size > remaining.nodes_at_most:
        publish_by_price(remaining, progress, others)
        return
    try:
        _publish_at_all(remaining, progress)
    finally:
        if others:
            remaining.take_cheapest(others)


def _publish_at_all(remaining: Remaining, progress: SearchProgress | None) -> None:
    problem = remaining.problem
    passes = _PASSES_OF_MANY if remaining.tuples >= _MANY else _PASSES
    # 1. The nodes. If nothing could be published at a node, nothing can be later: the remaining rows only become
    # fewer.
    nodes = list(_nodes_by_cost(problem))
    way = cheapest_path(problem, problem.costs.totals)
    remaining.will_test(list(dict.fromkeys([*nodes, *way])))
    for threshold in passes:
        nodes = _go_through(remaining, nodes, threshold, progress)
    # 4. The remaining rows.
    if remaining.tuples:
        for node, could in zip(way, remaining.publishable(way), strict=True):
            if could.rows:
                remaining.publish(node)


def _go_through(
    remaining: Remaining,
    nodes: list[Node],
    threshold: _Threshold,
    progress: SearchProgress | None,
) -> list[Node]:
    """Publish at nodes where that is enough rows. Return the others at which something could be published."""
    promising: list[Node] = []
    size, most = _AT_ONCE
    while nodes and remaining.tuples:
        # 3. Several nodes in one statement, or one by a probe.
        by_probe = remaining.tuples >= _MANY
        several = max(1, min(size, _PAIRS // remaining.tuples))
        batch, nodes = nodes[:several], nodes[several:]
        if by_probe:
            publishable = [remaining.publishable_by_probe(node) for node in batch]
        else:
            publishable = remaining.publishable(batch)
        # 2. Enough for a step: when the nodes were tested, and still after those before it were published.
        before = len(remaining.steps)
        enough = threshold.rows(remaining)
        for node, could in zip(batch, publishable, strict=True):
            if could.rows >= enough and _is_step(remaining, node, could, enough):
                continue
            if could.rows or by_probe:
                promising.append(node)
        steps = len(remaining.steps) - before
        size = min(most, 2 * size) if steps == 0 else max(_AT_ONCE[0], size // 2) if steps > 1 else size
        if progress is not None:
            progress(remaining.tested, None, None)
    return promising


def _is_step(remaining: Remaining, node: Node, could: Publishable, enough: int) -> bool:
    """Publish at a node unless that is too few rows by now. Return True if it was done."""
    tuples = remaining.publish(node)
    if tuples == could.tuples or tuples >= enough or not tuples:
        return bool(tuples)
    if remaining.rows_of(len(remaining.steps)) >= enough:
        return True
    remaining.take_back()
    return False


def _nodes_by_cost(problem: Problem) -> Iterator[Node]:
    """Return nodes in ascending order of the loss of all rows, the lowest one first."""
    costs, heights = problem.costs, problem.lattice.heights
    start = problem.lattice.start
    heap = [(costs.generalization(start), start)]
    seen = {start}
    while heap:
        _, node = heapq.heappop(heap)
        yield node
        for column, level in enumerate(node):
            if level < heights[column]:
                step = with_level(node, column, level + 1)
                if step not in seen:
                    seen.add(step)
                    heapq.heappush(heap, (costs.generalization(step), step))
