"""The proven optimum of full-domain recoding: branch and bound on intervals of the lattice.

The cost of a node is ``generalization(v) + suppression(v)``. The first part depends on each column's level alone and
only grows upwards. The number of suppressed rows only falls upwards. In an interval ``[a, b]`` therefore every node
suppresses at least the rows that ``b`` does, and every remaining row costs at least what it costs at ``a``:

    cost(v) >= generalization(a) + sum over the rows that b suppresses of (full - cost of the row at a)

for all v in the interval, from a single test, that of ``b``. The rows' cost at ``a`` is not queried: it is at most
what the costliest labels of ``a`` charge for that many rows (``Costs.most_hidden``).

1. The top was tested: if it suppresses too much, everything does. Start with the interval of the whole lattice.
2. Take the interval of the smallest bound. If that bound reaches the best node found, the best node is the optimum.
3. Tighten: lower the upper end, column by column, past levels whose generalization alone costs too much. Test the
   upper end (probe it first if it may have very many classes). Repeat until nothing changes. If there are few tuples,
   the tests expected next run in the same statement, which takes longer to plan than to run.
4. Split the column in which the costs of the two ends differ most, where the cost is half way.
5. If the search has not ended after some tests, look for a better node by descent and by local search from the best
   node, to close more intervals.
6. At the end, undo generalization that costs nothing (a column with one value).

If a model is not monotone, suppression may grow upwards. Then the upper end counts for the rows that no node
below it can publish (``kanon_sql.classes.of_node``), which only fall upwards; and each node is judged by its own test.

The lattice is never listed: an interval is two nodes. The first version of this search used the suppression
cost at ``b`` for the bound and neither tightened nor split by cost; on the Adult census table it needs about twice as
many tests.

In a lattice that is too large to list, rounds of annealing alternate with the proof, instead of 5. A good node is
worth as much to the proof as a good bound: it closes every interval whose bound reaches it. The columns are also
grouped into sets whose own lattices can be listed. The searches for the optima of these sets alternate with the search
over all columns. Let ``w`` have the levels of a node ``v`` in the columns of a set, and be at the top in all others.
Under monotone models ``v`` suppresses the rows that ``w`` suppresses, and maybe more. A suppressed cell costs no less
than a published one. So the cells of the set cost at ``v`` at least as much as at ``w``, and ``v`` costs no less than
the sum of the optima of disjoint sets.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import count, islice
from typing import TYPE_CHECKING

from kanon_sql.classes.lattice import steps_down, with_level
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.search.full_domain.annealing import anneal
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.problem import LISTABLE, require_sizes_enough

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kanon_sql.classes.lattice import Lattice, Node
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.search.problem import SearchProgress

_PATIENCE = 400  # tests of branch and bound before descent is worth its own tests
_ENDED = object()
_ROUNDS_OF_K = 2  # rounds of annealing under k of all columns
_AHEAD = 32  # open intervals searched for the nodes to test next

Interval = tuple["Cost", int, "Node", "Node"]
"""Bound, order of arrival (negative: the newest first), lower end, upper end."""


def optimal(evidence: Evidence, progress: SearchProgress | None = None) -> Node:
    """Return the node that costs least. ``evidence.proven`` holds the bound proven so far."""
    require_sizes_enough(evidence.problem)
    evidence.proven = evidence.problem.objective.least
    shared = evidence.problem.shared_tests
    if shared is not None:
        evidence.recall(shared)
    # 1. The top, which was tested before; then the whole lattice.
    if evidence.problem.lattice.size > LISTABLE:
        proof = _prove(evidence, progress, evidence.problem.lattice.start, improve=False)
        rounds = anneal(evidence) if evidence.known is None else _from_k_of_all(evidence)
        _in_turn(evidence, rounds, _beside(evidence, proof, proofs_of_sets(evidence)))
    else:
        for _ in _prove(evidence, progress, evidence.problem.lattice.start, improve=True):
            pass
    # 6. Undo what costs nothing.
    node = lower_for_free(evidence)
    if shared is not None:
        shared.optima.insert(0, node)
    return node


def _from_k_of_all(evidence: Evidence) -> Iterator[None]:
    """Search round by round if k is required of some of the columns and a test takes long.

    A class with k rows by all columns has k rows by some. So start at a good node under k-anonymity, whose tests are
    quick. Go down from there, column by column, as long as that costs less; then try neighbours.
    """
    problem = evidence.problem
    k = tuple(KAnonymity(int(model.required), model.entity) for model in problem.models)
    by_all = Evidence(replace(problem, models=k, shared_tests=None))
    by_all.test(problem.lattice.top)
    for _ in islice(anneal(by_all), _ROUNDS_OF_K):
        pass
    evidence.test(by_all.the_best()[0])
    by_all.roll_ups.drop_all_but(problem.frequency.relation)
    improved = True
    while improved and evidence.best is not None:
        improved = False
        node, _, cost = evidence.best
        saved = {step: problem.costs.generalization(step) for step in steps_down(node)}
        for step in sorted(saved, key=saved.__getitem__):
            evidence.test(step)
            yield
            if evidence.best_cost < cost:
                improved = True
                break
    yield from anneal(evidence, at_best=True)


def _in_turn(evidence: Evidence, rounds: Iterator[None], proof: Iterator[None]) -> None:
    """After each round of annealing, continue the proof for as many tests as the round took; at last to its end."""
    before = evidence.nodes_tested
    for _ in rounds:
        turn = 2 * evidence.nodes_tested - before
        while evidence.nodes_tested < turn:
            if next(proof, _ENDED) is _ENDED:
                return
        before = evidence.nodes_tested
    for _ in proof:
        pass


def proofs_of_sets(evidence: Evidence) -> list[Iterator[None]]:
    """Return the searches for the optima of disjoint sets of columns; none if these give no bound.

    Each set takes as many columns as its lattice can have and still be listed.
    """
    if not (evidence.monotone and evidence.bounds_are_free):
        return []
    heights, size = evidence.problem.lattice.heights, 1
    start = evidence.problem.lattice.start
    sets: list[list[int]] = [[]]
    for column, height in enumerate(heights):
        size *= height + 1
        if sets[-1] and size > LISTABLE:
            sets.append([])
            size = height + 1
        sets[-1].append(column)
    lowest = [tuple(start[i] if i in own else height for i, height in enumerate(heights)) for own in sets]
    return [
        _prove(evidence.of_columns(own), None, lower, improve=True) for own, lower in zip(sets, lowest, strict=True)
    ]


def _beside(evidence: Evidence, proof: Iterator[None], others: list[Iterator[None]]) -> Iterator[None]:
    """Advance a proof, and those of sets in turn, until together they prove that the best node is the optimum."""
    for _ in proof:
        yield
        for other in others[:]:
            if next(other, _ENDED) is _ENDED:
                others.remove(other)
            yield
        if evidence.bound is not None and evidence.bound >= evidence.best_cost:
            return


def _prove(evidence: Evidence, progress: SearchProgress | None, lowest: Node, *, improve: bool) -> Iterator[None]:
    """Process the open intervals above a node, smallest bound first, one after each ``next``.

    No interval has a smaller bound than the current one, and none that comes later will: wherever this is stopped,
    ``evidence.proven`` is the bound of the current one.
    """
    lattice = evidence.problem.lattice
    open_intervals: list[Interval] = [(evidence.proven or 0, 0, lowest, lattice.top)]
    arrival = count(1)
    descended = False
    best_known = evidence.best_cost
    # 2. The interval of the smallest bound.
    while open_intervals and open_intervals[0][0] < evidence.best_cost:
        bound, _, lower, upper = heapq.heappop(open_intervals)
        evidence.proven = bound
        # 3. Tighten it.
        tightened = _tighten(evidence, lower, upper, open_intervals)
        # 4. Split it.
        if tightened is not None and tightened[0] != tightened[1]:
            for half in _halves(evidence, bound, *tightened):
                heapq.heappush(open_intervals, (half[0], -next(arrival), *half[1:]))
        # 5. A better node.
        if improve and not descended and evidence.nodes_tested >= _PATIENCE:
            _descend(evidence, lattice.top)
            _improve(evidence)
            descended, best_known = True, evidence.best_cost
        elif descended and evidence.best_cost < best_known:
            _improve(evidence)
            best_known = evidence.best_cost
        if progress is not None and evidence.best is not None:
            progress(evidence.nodes_tested, evidence.best[2], evidence.bound)
        yield
    *_, evidence.proven = evidence.the_best()


def _tighten(evidence: Evidence, lower: Node, upper: Node, others: list[Interval]) -> tuple[Node, Node] | None:
    """Return the part of an interval that may hold a better node than the best, its upper end tested; None if empty."""
    while (narrowed := _narrowed(evidence, lower, upper)) is not None:
        upper = narrowed
        if upper in evidence.tested:
            evidence.test(upper)
            return lower, upper
        if evidence.worth_probing(upper):
            evidence.probe(upper)
            continue
        if evidence.bounds_are_free and evidence.looks_ahead(upper):
            evidence.look_ahead(_next_tests(evidence, [(0, 0, lower, upper), *others]))
        evidence.test(upper)
        evidence.roll_ups.scanned(lower)
    return None


def _narrowed(evidence: Evidence, lower: Node, upper: Node) -> Node | None:
    """Return the upper end of the part of an interval that may hold a better node than the best; None if empty."""
    while True:
        suppressed = evidence.suppresses_at_least(upper)
        least = evidence.least_cost(lower, suppressed)
        if least >= evidence.best_cost:
            return None
        room = evidence.best_cost - least
        lowered = _lower_upper_end(evidence, lower, upper, suppressed, room) if evidence.bounds_are_free else upper
        if lowered == upper:
            return upper
        upper = lowered


def _lower_upper_end(evidence: Evidence, lower: Node, upper: Node, suppressed: int, room: Cost | float) -> Node:
    """Lower the upper end past levels at which a column alone adds ``room`` or more to the least cost."""
    costs = evidence.problem.costs
    for column in range(len(upper)):
        least = costs.least_of_column(column, lower[column], suppressed)
        while upper[column] > lower[column] and (
            costs.least_of_column(column, upper[column], suppressed) - least >= room
        ):
            upper = with_level(upper, column, upper[column] - 1)
    return upper


def _next_tests(evidence: Evidence, intervals: list[Interval]) -> Iterator[Node]:
    """Return, in order, the upper ends that are tested next if all tests before them prove too much suppression."""
    waiting = heapq.nsmallest(_AHEAD, intervals)
    arrival = count(1 - min(order for _, order, *_ in waiting))
    while waiting:
        bound, _, lower, upper = heapq.heappop(waiting)
        narrowed = _narrowed(evidence, lower, upper)
        if narrowed is None:
            continue
        if not evidence.knows(narrowed):
            yield narrowed
        elif lower != narrowed:
            for half in _halves(evidence, bound, lower, narrowed):
                heapq.heappush(waiting, (half[0], -next(arrival), *half[1:]))


def _halves(evidence: Evidence, bound: Cost, lower: Node, upper: Node) -> Iterator[tuple[Cost, Node, Node]]:
    """Return the halves of an interval that may hold a better node than the best, each after its bound."""
    for half in split(evidence.problem.costs.totals, lower, upper):
        least = evidence.least_cost(half[0], evidence.suppresses_at_least(half[1]))
        if least < evidence.best_cost and not isinstance(least, float):
            yield max(bound, least), *half


def split(totals: Sequence[Sequence[int]], lower: Node, upper: Node) -> tuple[tuple[Node, Node], tuple[Node, Node]]:
    """Return the two halves of an interval: the upper one has a higher lower end, the lower one a lower upper end."""
    open_columns = [column for column in range(len(lower)) if lower[column] < upper[column]]
    column = max(open_columns, key=lambda i: (totals[i][upper[i]] - totals[i][lower[i]], upper[i] - lower[i]))
    levels = range(lower[column], upper[column])
    half = totals[column][lower[column]] + totals[column][upper[column]]
    middle = max((level for level in levels if 2 * totals[column][level] <= half), default=lower[column])
    return (with_level(lower, column, middle + 1), upper), (lower, with_level(upper, column, middle))


def lower_for_free(evidence: Evidence) -> Node:
    """Return the best node, lowered where that costs nothing: needless generalization helps nobody."""
    node, suppressed, cost = evidence.the_best()
    totals = evidence.problem.costs.totals
    for column in range(len(node)):
        while node[column]:
            free = totals[column][node[column]] == totals[column][node[column] - 1]
            lowered = with_level(node, column, node[column] - 1)
            if (evidence.bounds_are_free and not free) or evidence.cost(lowered) > cost:
                break
            node, suppressed = lowered, evidence.tested[lowered]
            evidence.best = (node, suppressed, cost)
    return node


def _descend(evidence: Evidence, start: Node) -> None:
    """Go down from a node, one level of one column at a time, each time to the cheapest node."""
    node, cost = start, evidence.cost(start)
    while True:
        steps = [step for step in steps_down(node) if _may_cost_less(evidence, step, cost)]
        evidence.look_ahead(steps)
        below = [(evidence.cost(step), step) for step in steps]
        if not below or min(below)[0] >= cost:
            return
        cost, node = min(below)


def _improve(evidence: Evidence) -> None:
    """From the best node, go to better neighbours until there is none."""
    improved = True
    while improved and evidence.best is not None:
        improved = False
        node, _, cost = evidence.best
        near = sorted(neighbours(evidence.problem.lattice, node), key=evidence.problem.costs.generalization)
        evidence.look_ahead(each for each in near if _may_cost_less(evidence, each, evidence.best_cost))
        for neighbour in near:
            if _may_cost_less(evidence, neighbour, evidence.best_cost):
                evidence.test(neighbour)
        improved = evidence.best_cost < cost


def _may_cost_less(evidence: Evidence, node: Node, cost: Cost | float) -> bool:
    return evidence.least_cost(node, evidence.suppresses_at_least(node)) < cost


def neighbours(lattice: Lattice, node: Node) -> Iterator[Node]:
    """Return the nodes that differ by one level of one column, or by one down in one column and one up in another."""
    lower = list(steps_down(node))
    higher = [column for column, level in enumerate(node) if level < lattice.heights[column]]
    yield from lower
    for column in higher:
        yield with_level(node, column, node[column] + 1)
    for step in lower:
        for column in higher:
            if step[column] == node[column]:
                yield with_level(step, column, node[column] + 1)
