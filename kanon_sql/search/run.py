"""Any algorithm, from a problem to its result: to the end, to the time limit, or to Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kanon_sql.engine.base import DeadlineReachedError
from kanon_sql.search.base import SearchResult, Stopped
from kanon_sql.search.datafly import datafly
from kanon_sql.search.evidence import Evidence
from kanon_sql.search.incognito import incognito
from kanon_sql.search.optimal import optimal
from kanon_sql.search.samarati import samarati, samarati_first

if TYPE_CHECKING:
    from kanon_sql.lattice import Node
    from kanon_sql.search.base import Problem, SearchProgress


class Algorithm(Protocol):
    """Chooses a node of the lattice."""

    def __call__(self, evidence: Evidence, progress: SearchProgress | None = None, /) -> Node:
        """Return the node; the top has been tested, and is allowed."""


ALGORITHMS: dict[str, Algorithm] = {
    "optimal": optimal,
    "incognito": incognito,
    "samarati": samarati,
    "samarati-first": samarati_first,
    "datafly": datafly,
}
"""Every algorithm, by the name that a person gives it."""


def search(
    problem: Problem, algorithm: str, *, deadline: float | None = None, progress: SearchProgress | None = None
) -> SearchResult:
    """Return the node that an algorithm chooses; or the best so far when time is up or Ctrl-C is pressed.

    Args:
        problem: what is searched.
        algorithm: a name in ``ALGORITHMS``.
        deadline: ``time.monotonic()`` at which the search ends.
        progress: told from time to time how far it has come.

    Raises:
        NoSolutionError: even the top suppresses too much.
        UsageError: the algorithm cannot search this problem.
        SearchInterruptedError: interrupted before the first node was tested.
    """
    evidence = Evidence(problem)
    stopped: Stopped | None = None
    try:
        evidence.require_top()  # however short the time
        evidence.deadline = deadline
        node = ALGORITHMS[algorithm](evidence, progress)
    except (KeyboardInterrupt, DeadlineReachedError) as reason:
        stopped = "interrupt" if isinstance(reason, KeyboardInterrupt) else "time limit"
        node, *_ = evidence.the_best()
    evidence.deadline = None
    cost = evidence.the_best()[2] if evidence.the_best()[0] == node else int(evidence.cost(node))
    classes = evidence.classes_of(node)
    evidence.roll_ups.drop_all_but(classes)
    bound = None if evidence.proven is None else int(min(cost, evidence.proven))
    return SearchResult(
        node,
        evidence.tested[node],
        cost,
        bound,
        evidence.nodes_tested,
        classes,
        None if bound == cost else stopped,
    )
