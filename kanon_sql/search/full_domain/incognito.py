"""Incognito (LeFevre, DeWitt & Ramakrishnan 2005): all nodes that suppress few enough rows.

Fewer columns make larger classes. So a node can only be good if its levels are good for every subset of the columns
(the subset property). Every node above a good one is good (the generalization property).

1. For subsets of 1, 2, ... all columns: the candidates are the combinations of levels whose parts with one column less
   are all good.
2. Go through them from the lowest. A candidate directly above a good one is good without a test. The others are
   tested, on a roll-up of the frequency set to the columns of the subset if that pays off (its super-root).
3. The good combinations of all columns are the answer. The optimum is the cheapest of them. Nodes whose levels alone
   cost more than the best so far are skipped.

A combination of levels of a subset is the node with all other columns at the root, so testing it is a mask like
any other.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from kanon_sql.classes.lattice import steps_down, with_level
from kanon_sql.engine.progress import check_deadline
from kanon_sql.search.full_domain.optimal import lower_for_free
from kanon_sql.search.problem import require_listable, require_monotone

if TYPE_CHECKING:
    from kanon_sql.classes.lattice import Lattice, Node
    from kanon_sql.search.full_domain.evidence import Evidence
    from kanon_sql.search.problem import SearchProgress

Columns = tuple[int, ...]

_WORTH_A_ROLL_UP = 8  # candidates of a subset from which a roll-up to its columns is made


def incognito(evidence: Evidence, progress: SearchProgress | None = None) -> Node:
    """Return the optimum: the cheapest node among all that suppress few enough rows."""
    good = good_nodes(evidence, progress)
    # 3. The cheapest one.
    generalization = evidence.problem.costs.generalization
    for node in sorted(good, key=generalization):
        if evidence.bounds_are_free and generalization(node) >= evidence.best_cost:
            break
        if evidence.least_cost(node, evidence.suppresses_at_least(node)) < evidence.best_cost:
            evidence.test(node)
    *_, evidence.proven = evidence.the_best()
    return lower_for_free(evidence)


def good_nodes(evidence: Evidence, progress: SearchProgress | None = None) -> set[Node]:
    problem = evidence.problem
    require_monotone(problem, "incognito")
    require_listable(problem.lattice, "incognito")
    everything = tuple(range(len(problem.lattice.heights)))
    good: dict[Columns, set[Node]] = {(): {problem.lattice.top}}
    for size in range(1, len(everything) + 1):
        smaller, good = good, {}
        for columns in combinations(everything, size):
            # 1. The candidates.
            check_deadline("nodes whose parts are good")
            candidates = _candidates(problem.lattice, columns, smaller)
            # 2. The good ones among them.
            good[columns] = _good_among(evidence, columns, candidates)
            if progress is not None:
                progress(evidence.nodes_tested, None, None)
    return good[everything]


def minimal_nodes(nodes: set[Node]) -> set[Node]:
    """Return the nodes that stand above no other of the set: of all good nodes, the minimal ones."""
    return {node for node in nodes if not any(step in nodes for step in steps_down(node))}


def _candidates(lattice: Lattice, columns: Columns, smaller: dict[Columns, set[Node]]) -> list[Node]:
    """Return the nodes of a subset of columns whose parts with one column less are all good, the lowest first."""
    *others, last = columns
    joined = [
        with_level(node, last, level) for node in smaller[tuple(others)] for level in range(lattice.heights[last] + 1)
    ]
    parts = [(column, smaller[tuple(c for c in columns if c != column)]) for column in others]
    found = [
        node
        for node in joined
        if all(with_level(node, column, lattice.heights[column]) in nodes for column, nodes in parts)
    ]
    return sorted(found, key=lambda node: (sum(node), node))


def _good_among(evidence: Evidence, columns: Columns, candidates: list[Node]) -> set[Node]:
    lattice = evidence.problem.lattice
    super_root = tuple(0 if column in columns else height for column, height in enumerate(lattice.heights))
    roll_up = None
    if len(candidates) >= _WORTH_A_ROLL_UP and len(columns) < len(super_root):
        roll_up = evidence.roll_ups.make(super_root)
        evidence.roll_ups.keep(roll_up)
    good: set[Node] = set()
    height = None
    for node in candidates:
        if sum(node) != height:  # nodes of the same height imply nothing about each other
            height = sum(node)
            evidence.look_ahead(
                each
                for each in candidates
                if sum(each) == height and not any(step in good for step in steps_down(each))
            )
        if any(step in good for step in steps_down(node)) or evidence.satisfies(node):
            good.add(node)
    if roll_up is not None:
        evidence.roll_ups.drop(roll_up)
    return good
