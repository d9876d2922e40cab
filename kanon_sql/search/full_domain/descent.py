"""Good nodes early, for lattices too large to be searched to the end: descent and local search.

A good node is worth as much to the proof as a good bound: every interval whose bound reaches it is done with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.classes.lattice import steps_down, with_level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.classes.lattice import Lattice, Node
    from kanon_sql.measures.base import Cost
    from kanon_sql.search.full_domain.evidence import Evidence


def descend(evidence: Evidence, start: Node) -> None:
    """Go down from a node, one level of one column at a time and each time to where it costs least."""
    node, cost = start, evidence.cost(start)
    while True:
        steps = [step for step in steps_down(node) if _may_cost_less(evidence, step, cost)]
        evidence.look_ahead(steps)
        below = [(evidence.cost(step), step) for step in steps]
        if not below or min(below)[0] >= cost:
            return
        cost, node = min(below)


def improve(evidence: Evidence) -> None:
    """From the best node, go to better neighbours until there is none.

    Neighbours differ by one level of one column, or by one level down in one column and one up in another.
    """
    improved = True
    while improved and evidence.best is not None:
        improved = False
        node, _, cost = evidence.best
        neighbours = sorted(_neighbours(evidence.problem.lattice, node), key=evidence.problem.costs.generalization)
        evidence.look_ahead(each for each in neighbours if _may_cost_less(evidence, each, evidence.best_cost))
        for neighbour in neighbours:
            if _may_cost_less(evidence, neighbour, evidence.best_cost):
                evidence.test(neighbour)
        improved = evidence.best_cost < cost


def _may_cost_less(evidence: Evidence, node: Node, cost: Cost | float) -> bool:
    return evidence.least_cost(node, evidence.suppresses_at_least(node)) < cost


def _neighbours(lattice: Lattice, node: Node) -> Iterator[Node]:
    lower = list(steps_down(node))
    higher = [column for column, level in enumerate(node) if level < lattice.heights[column]]
    yield from lower
    for column in higher:
        yield with_level(node, column, node[column] + 1)
    for step in lower:
        for column in higher:
            if step[column] == node[column]:
                yield with_level(step, column, node[column] + 1)
