"""The proven optimum of full-domain recoding: branch and bound on intervals of the lattice.

The cost of a node is ``generalization(v) + suppression(v)``. The first part depends on each column's level alone and
only grows upwards; what a node suppresses only falls upwards. In an interval ``[a, b]`` therefore every node
suppresses at least the rows that ``b`` does, and every row that is left costs at least what it costs at ``a``:

    cost(v) >= generalization(a) + sum over the rows that b suppresses of (full - cost of the row at a)

for all v in the interval, from a single test, that of ``b``. The rows' cost at ``a`` is not asked for: it is at most
what the costliest labels of ``a`` charge for so many rows (``Costs.most_hidden``).

1. Test the top: if it suppresses too much, everything does. Begin with the interval of the whole lattice.
2. Take the interval of the smallest bound. If that bound reaches the best node found, the best node is the optimum.
3. Tighten: lower the upper end, column by column, past levels whose generalization alone costs too much. Test the upper
   end (probe it first where it may have very many classes); repeat until nothing changes.
4. Split the column in which the costs of the two ends differ most, where the cost is half way.
5. Where the search has not ended after some tests, look for a better node by descent and by local search from the best
   node, so that more intervals are done with.
6. At the end, undo generalization that costs nothing (a column with one value).

The lattice is never listed: an interval is two nodes. The design's first version of this search used the suppression
cost at ``b`` for the bound and neither tightened nor split by cost; on Adult it needs about twice as many tests.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

from kanon_sql.engine.base import DeadlineReachedError
from kanon_sql.errors import NoSolutionError, SearchInterruptedError, UsageError
from kanon_sql.lattice import with_level
from kanon_sql.search.base import SearchResult, Stopped
from kanon_sql.search.descent import descend, improve
from kanon_sql.search.evidence import Evidence

if TYPE_CHECKING:
    from kanon_sql.lattice import Node
    from kanon_sql.search.base import Problem, SearchProgress

_PATIENCE = 400  # tests of branch and bound before descent is worth its own tests
_LARGE = 1_000_000  # nodes of a lattice in which descent comes first

Interval = tuple[float, int, "Node", "Node"]
"""Bound, order of arrival (negative: the newest first), lower end, upper end."""


def search_optimal(
    problem: Problem, *, deadline: float | None = None, progress: SearchProgress | None = None
) -> SearchResult:
    """Return the node that costs least, with proof; or the best so far when time is up or Ctrl-C is pressed.

    Args:
        problem: what is searched.
        deadline: ``time.monotonic()`` at which the search ends.
        progress: told after every interval.

    Raises:
        UsageError: a model is not monotone, so that what is pruned here could hold the optimum.
        NoSolutionError: even the top suppresses too much.
        SearchInterruptedError: interrupted before the first node was tested.
    """
    if stubborn := [model.name for model in problem.models if not model.monotone]:
        raise UsageError(f"The optimal search needs monotone privacy models; {', '.join(stubborn)} is not.")
    evidence = Evidence(problem)
    stopped: Stopped | None = None
    try:
        # 1. The top, however short the time; then the whole lattice.
        _require_top(evidence)
        evidence.deadline = deadline
        _prove(evidence, progress)
        # 6. Undo what costs nothing.
        _lower_for_free(evidence)
    except (KeyboardInterrupt, DeadlineReachedError) as reason:
        stopped = "interrupt" if isinstance(reason, KeyboardInterrupt) else "time limit"
    return _best_so_far(evidence, stopped)


def _prove(evidence: Evidence, progress: SearchProgress | None) -> None:
    """Work the open intervals off, smallest bound first.

    No interval has a smaller bound than the one in hand, and none that comes later will: wherever this is stopped,
    ``evidence.proven`` is the bound of the one in hand.
    """
    open_intervals: list[Interval] = [(0, 0, evidence.problem.lattice.bottom, evidence.problem.lattice.top)]
    arrival = count(1)
    descended = False
    best_known = evidence.best_cost
    # 2. The interval of the smallest bound.
    while open_intervals and open_intervals[0][0] < evidence.best_cost:
        bound, _, lower, upper = heapq.heappop(open_intervals)
        evidence.proven = bound
        # 3. Tighten it.
        tightened = _tighten(evidence, lower, upper)
        # 4. Split it.
        if tightened is not None and tightened[0] != tightened[1]:
            for half in _split(evidence, *tightened):
                least = evidence.least_cost(half[0], evidence.suppresses_at_least(half[1]))
                if least < evidence.best_cost:
                    heapq.heappush(open_intervals, (max(bound, least), -next(arrival), *half))
        # 5. A better node.
        if not descended and (evidence.nodes_tested >= _PATIENCE or evidence.problem.lattice.size >= _LARGE):
            descend(evidence, evidence.problem.lattice.top)
            improve(evidence)
            descended, best_known = True, evidence.best_cost
        elif descended and evidence.best_cost < best_known:
            improve(evidence)
            best_known = evidence.best_cost
        if progress is not None and evidence.best is not None:
            progress(evidence.nodes_tested, evidence.best[2], int(bound))
    evidence.proven = evidence.best_cost


def _require_top(evidence: Evidence) -> None:
    """Test the top of the lattice, where the whole table is one class.

    Raises:
        NoSolutionError: it would be suppressed; then so would be all of every other node.
    """
    problem = evidence.problem
    suppressed = evidence.test(problem.lattice.top)
    if problem.frequency.rows and suppressed:
        required = max(model.required for model in problem.models)
        members = "different people" if problem.frequency.counts_people else "rows"
        raise NoSolutionError(
            f"The table has fewer than {required:,} {members} (it has {problem.frequency.rows:,} rows), so that no "
            f"release of it can be {required:,}-anonymous. Lower k, or take a larger table."
        )


def _tighten(evidence: Evidence, lower: Node, upper: Node) -> tuple[Node, Node] | None:
    """Return the part of an interval that may hold a better node than the best, its upper end tested; None if none."""
    while True:
        suppressed = evidence.suppresses_at_least(upper)
        if evidence.least_cost(lower, suppressed) >= evidence.best_cost:
            return None
        if (lowered := _lower_upper_end(evidence, lower, upper, suppressed)) != upper:
            upper = lowered
        elif upper in evidence.tested:
            return lower, upper
        elif evidence.worth_probing(upper):
            evidence.probe(upper)
        else:
            evidence.test(upper)
            evidence.roll_ups.scanned(lower, evidence.deadline)


def _lower_upper_end(evidence: Evidence, lower: Node, upper: Node, suppressed: int) -> Node:
    """Return the upper end without levels at which a column alone makes every node cost too much."""
    for column in range(len(upper)):
        while upper[column] > lower[column] and (
            evidence.least_cost(with_level(lower, column, upper[column]), suppressed) >= evidence.best_cost
        ):
            upper = with_level(upper, column, upper[column] - 1)
    return upper


def _split(evidence: Evidence, lower: Node, upper: Node) -> tuple[tuple[Node, Node], tuple[Node, Node]]:
    """Return the two halves of an interval: the upper one has a higher lower end, the lower one a lower upper end."""
    totals = evidence.problem.costs.totals
    open_columns = [column for column in range(len(lower)) if lower[column] < upper[column]]
    column = max(open_columns, key=lambda i: (totals[i][upper[i]] - totals[i][lower[i]], upper[i] - lower[i]))
    levels = range(lower[column], upper[column])
    half = totals[column][lower[column]] + totals[column][upper[column]]
    middle = max((level for level in levels if 2 * totals[column][level] <= half), default=lower[column])
    return (with_level(lower, column, middle + 1), upper), (lower, with_level(upper, column, middle))


def _lower_for_free(evidence: Evidence) -> None:
    """Go down from the best node where that costs nothing: generalization without a reason helps no one."""
    if evidence.best is None:
        return
    node, suppressed, cost = evidence.best
    totals = evidence.problem.costs.totals
    for column in range(len(node)):
        while node[column] and totals[column][node[column]] == totals[column][node[column] - 1]:
            lowered = with_level(node, column, node[column] - 1)
            if evidence.cost(lowered) > cost:
                break
            node, suppressed = lowered, evidence.tested[lowered]
    evidence.best = (node, suppressed, cost)


def _best_so_far(evidence: Evidence, stopped: Stopped | None) -> SearchResult:
    if evidence.best is None:
        raise SearchInterruptedError("Stopped before a first release was found; nothing was written.")
    node, suppressed, cost = evidence.best
    bound = int(min(cost, evidence.proven))
    return SearchResult(
        node,
        suppressed,
        cost,
        bound,
        evidence.nodes_tested,
        evidence.classes_of_best(),
        None if bound >= cost else stopped,
    )
