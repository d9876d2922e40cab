"""Simulated annealing (Kirkpatrick et al. 1983) over the nodes of a lattice that is too large to list.

A neighbour of a node differs by one level in one or two columns, or by two levels in one. Nodes that suppress too much
are never visited.

1. The first round starts at the top. A round after a better node was found starts at the best node, at a lower
   temperature. After failed rounds, starts alternate between the top and the best node. Each round is twice as long as
   the one before. Temperatures are shares of the maximum cost of all cells, and fall evenly on a logarithmic scale.
2. Draw a neighbour and the most that it may cost: the cost of the current node plus a random multiple of the
   temperature, exponential with mean 1 (the rule of Metropolis, with its chance drawn first). If its known suppression
   already makes it cost more, it is rejected without a test.
3. Collect several neighbours that need a test, test them in one statement, and go to the first accepted one.
4. Estimates assume that the labels of suppressed rows would have cost as much as those of other rows, which needs no
   statement (``Evidence.estimate``). The best node of a round is measured exactly.
5. Stop when several rounds in a row have found nothing better. No step depends on the clock: with more time, a search
   continues on the same path and finds no worse node.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kanon_sql.classes.lattice import Lattice, Node
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.search.full_domain.evidence import Evidence
    from kanon_sql.search.problem import Problem

HOT, WARM, COLD = 0.02, 0.005, 0.0002
"""Temperatures at the start of a round from the top, at the start of a later round, and at the end of each round."""
_STEPS = 500  # in the first round
_IN_VAIN = 5  # rounds in a row without a better node, before the search stops
_PAIRS = 0.6  # share of draws that take two steps, in two columns or in one; they may lead back to the node
_DRAWN = 200  # neighbours after which those that need a test are tested, however few


class Estimates(Protocol):
    """Cost estimates that guide a walk: ``Evidence``, or another source."""

    problem: Problem

    @property
    def most_together(self) -> int: ...

    def estimate(self, node: Node) -> Cost | float: ...

    def estimate_at_least(self, node: Node) -> Cost | float: ...

    def knows(self, node: Node) -> bool: ...

    def look_ahead(self, nodes: Iterable[Node]) -> None: ...


def anneal(evidence: Evidence, *, at_best: bool = False) -> Iterator[None]:
    """Search for a cheap node, round by round. ``at_best``: start the first round at the best node, too."""
    draw = random.Random(0)  # noqa: S311 - searches are deterministic
    steps, in_vain = 2 * _STEPS if at_best else _STEPS, 0
    # 5. Until several rounds have found nothing better.
    while in_vain < _IN_VAIN:
        before = evidence.best_cost
        # 1. At the top, or at the best node.
        afresh = steps == _STEPS or in_vain % 2 == 1 or evidence.best is None
        node, hot = (evidence.problem.lattice.top, HOT) if afresh else (evidence.the_best()[0], WARM)
        walk(evidence, draw, node, hot, steps)
        # 4. The best node of the round.
        evidence.measure_promising()
        in_vain = 0 if evidence.best_cost < before else in_vain + 1
        steps *= 2
        yield


def walk(evidence: Estimates, draw: random.Random, node: Node, hot: float, steps: int, cold: float = COLD) -> Node:
    """Walk the given number of steps, from hot to cold. Return the best node by its estimate."""
    lattice = evidence.problem.lattice
    cost = evidence.estimate(node)
    everything = evidence.problem.frequency.rows * sum(evidence.problem.costs.full)
    best, step = (cost, node), 0
    while step < steps:
        temperature = everything * hot * (cold / hot) ** (step / steps)
        # 2. Neighbours, and the maximum cost of each.
        drawn: list[tuple[Node, float]] = []
        unknown: dict[Node, None] = {}
        for _ in range(_DRAWN):
            neighbour = _neighbour(lattice, node, draw)
            most = cost - temperature * math.log(1 - draw.random())
            step += 1
            if neighbour == node or evidence.estimate_at_least(neighbour) > most:
                continue
            drawn.append((neighbour, most))
            if evidence.knows(neighbour):
                break
            unknown[neighbour] = None
            if len(unknown) == evidence.most_together:
                break
        # 3. Those that need a test, and the first accepted one.
        evidence.look_ahead(unknown)
        for neighbour, most in drawn:
            if (found := evidence.estimate(neighbour)) <= most:
                node, cost = neighbour, found
                best = min(best, (cost, node))
                break
    return best[1]


def _neighbour(lattice: Lattice, node: Node, draw: random.Random) -> Node:
    levels = list(node)
    for _ in range(1 + (draw.random() < _PAIRS)):
        column = draw.randrange(len(levels))
        levels[column] = min(lattice.heights[column], max(0, levels[column] + draw.choice((-1, 1))))
    return tuple(levels)
