"""Samarati (2001), AG-TS: the lowest height of the lattice at which some node suppresses few enough rows.

The height of a node is the sum of its levels. A node above a good one suppresses no more rows. So every height from
the lowest good one up has a good node, and binary search finds the lowest.

1. Halve the range of heights: if some node of the middle height is good, continue below, else above.
2. Of the good nodes of the lowest height, return the cheapest (``samarati``), or the first one in tuple order, so last
   columns are generalized first (``samarati-first``: the paper leaves the choice open).

Minimal height is not minimal loss: one step in a column of thousands of values counts as one in a column of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.measures.class_measures import IMPOSSIBLE
from kanon_sql.search.problem import require_listable, require_monotone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.classes.lattice import Lattice, Node
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.search.full_domain.evidence import Evidence
    from kanon_sql.search.problem import SearchProgress


def samarati(evidence: Evidence, progress: SearchProgress | None = None) -> Node:
    best: Node | None = None
    least: Cost | float = IMPOSSIBLE
    height = _lowest_height(evidence, progress)
    for node in sorted(_nodes_of_height(evidence.problem.lattice, height), key=evidence.problem.costs.generalization):
        # The evidence bounds the cost of the node before it is tested.
        if evidence.least_cost(node, evidence.suppresses_at_least(node)) >= least or not evidence.satisfies(node):
            continue
        if (cost := evidence.cost(node)) < least:
            best, least = node, cost
    return evidence.problem.lattice.top if best is None else best


def samarati_first(evidence: Evidence, progress: SearchProgress | None = None) -> Node:
    lattice = evidence.problem.lattice
    height = _lowest_height(evidence, progress)
    return next((node for node in _nodes_of_height(lattice, height) if evidence.satisfies(node)), lattice.top)


def _nodes_of_height(lattice: Lattice, height: int) -> Iterator[Node]:
    """Return the nodes whose levels add up to a height, in the order of their levels."""
    return _levels(lattice.heights, height)


def _levels(heights: tuple[int, ...], total: int) -> Iterator[Node]:
    if not heights:
        if total == 0:
            yield ()
        return
    first, *others = heights
    rest = tuple(others)
    for level in range(max(0, total - sum(rest)), min(first, total) + 1):
        for tail in _levels(rest, total - level):
            yield (level, *tail)


def _lowest_height(evidence: Evidence, progress: SearchProgress | None) -> int:
    problem = evidence.problem
    require_monotone(problem, "samarati")
    require_listable(problem.lattice, "samarati")
    # 1. The top is good: the lowest height is between 0 and its height.
    low, high = 0, sum(problem.lattice.heights)
    while low < high:
        middle = (low + high) // 2
        if any(evidence.satisfies(node) for node in _nodes_of_height(problem.lattice, middle)):
            high = middle
        else:
            low = middle + 1
        if progress is not None:
            progress(evidence.nodes_tested, None, None)
    return low
