"""Steps of ``local`` where it cannot go through all nodes: those that annealing finds by a price of what is left.

A step leaves rows for later ones, and how much these will lose is not known: a row that a node does not publish is
charged a share of what it would lose if all its cells were lost. At the full price the node costs least that would be
the only step; at a low price those at which some rows are published with little loss.

1. For each price from the full one to the lowest: anneal on what is left, beginning at the node of the price before.
2. After the first node, take SPOLG's steps, note what they cost, and begin again; note what the node alone costs.
3. Publish at the nodes of the lower prices, the one that generalizes least first. A step that publishes few rows is
   taken back: its rows lose little more at a later one, and each step is a rule that is read.
4. Again with what is left, until a round publishes few rows, or time is up: then publish at all nodes of the round.
5. Where SPOLG's steps, or the first node alone, cost less than these, take them instead.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from kanon_sql.engine.progress import DeadlineReachedError
from kanon_sql.search.full_domain.annealing import HOT, WARM, walk
from kanon_sql.search.local.remaining import Other
from kanon_sql.search.local.spolg import path

if TYPE_CHECKING:
    from kanon_sql.classes.lattice import Node
    from kanon_sql.search.full_domain.evidence import Evidence
    from kanon_sql.search.local.remaining import Remaining
    from kanon_sql.search.problem import SearchProgress

_PRICES = (1.0, 0.85, 0.72, 0.6, 0.5, 0.42, 0.35, 0.29, 0.24, 0.2)
_LAST = 2  # of the prices, the highest: rows are published at their nodes in the last round only
_FIRST, _LATER = 1_000, 250  # steps of annealing
_FEW = 0.0005  # of all rows: a step that publishes fewer is none
_ENOUGH = 0.01  # of all rows: a round that publishes fewer is the last one


def publish_by_price(remaining: Remaining, progress: SearchProgress | None = None) -> None:
    """Publish in rounds, at several nodes in each."""
    others: list[Other] = []
    try:
        _publish_in_rounds(remaining, others, progress)
    finally:
        # 5. What costs least.
        remaining.take_cheapest(others)


def _publish_in_rounds(remaining: Remaining, others: list[Other], progress: SearchProgress | None) -> None:
    draw = random.Random(0)  # noqa: S311 - the same search takes the same way
    node, hot, steps = remaining.problem.lattice.top, HOT, _FIRST
    rows = left = remaining.problem.frequency.rows
    few = int(_FEW * rows)
    # 4. Round by round.
    while left:
        found: list[Node] = []
        with remaining.evidence() as evidence:
            try:
                # 1. A node for each price.
                for price in _PRICES:
                    evidence.price = price
                    node = walk(evidence, draw, node, hot, steps)
                    found.append(node)
                    # 2. What others lose.
                    if hot == HOT:
                        others += _others(remaining, evidence, node)
                    hot, steps = WARM, _LATER
                    if progress is not None:
                        progress(remaining.tested + evidence.nodes_tested, None, None)
            except (DeadlineReachedError, KeyboardInterrupt):
                remaining.forget_later_steps()  # a statement of a step may have ended just when the search was stopped
                promising = node if evidence.promising is None else evidence.promising[1]
                _publish(remaining, found or [promising], 0)
                raise
        node = found[0]
        # 3. The steps.
        before = left
        left = _publish(remaining, found[_LAST:], few)
        if before - left <= _ENOUGH * rows:
            _publish(remaining, found, few)
            return


def _others(remaining: Remaining, evidence: Evidence, node: Node) -> list[Other]:
    """Return what other algorithms find: SPOLG's steps, and the node as the only step if it leaves out few enough."""
    limit = remaining.problem.limit
    alone = [Other("optimal", (node,), int(evidence.cost(node)))] if evidence.test(node) <= limit else []
    for step in path(remaining.problem):
        remaining.publish(step)
    found = remaining.finished("spolg")
    remaining.begin_again()
    return [*alone, *found]


def _publish(remaining: Remaining, nodes: list[Node], few: int) -> int:
    """Publish at nodes, the one that generalizes least first; return how many rows are left."""
    for node in sorted(dict.fromkeys(nodes), key=remaining.problem.costs.generalization):
        if remaining.publish(node) and remaining.rows_of(len(remaining.steps)) < few:
            remaining.take_back()
    return remaining.rows
