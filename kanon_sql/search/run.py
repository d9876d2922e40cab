"""Run an algorithm on a problem: to the end, to the time limit, or to Ctrl-C."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from kanon_sql.classes.lattice import Lattice
from kanon_sql.classes.recoding import COMPARED, FullDomain, Local
from kanon_sql.engine.progress import DeadlineReachedError, until
from kanon_sql.errors import UnsuitableError
from kanon_sql.measures.class_measures import CLASS_MEASURES
from kanon_sql.models.population import PopulationModel
from kanon_sql.policy.algorithms import ALGORITHMS, algorithms_of
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.problem import (
    SearchResult,
    Stopped,
    require_cell_measure,
    require_choice_suits,
    require_known_suits,
)

if TYPE_CHECKING:
    from kanon_sql.classes.lattice import Node
    from kanon_sql.classes.recoding import Cutting
    from kanon_sql.search.local.remaining import Remaining
    from kanon_sql.search.problem import Problem, SearchProgress


_SECONDS_OF_A_STEP = 0.02


class NodeAlgorithm(Protocol):
    """Chooses a node of the lattice."""

    def __call__(self, evidence: Evidence, progress: SearchProgress | None = None, /) -> Node:
        """Return the node. The top has been tested, and is allowed."""


class LocalAlgorithm(Protocol):
    """Publishes rows step by step."""

    def __call__(self, remaining: Remaining, progress: SearchProgress | None = None, /) -> None:
        """Publish until no rows remain or none can be published; the remaining rows go to the root."""


def _function(name: str) -> Any:  # noqa: ANN401 - a NodeAlgorithm or a LocalAlgorithm, by its kind
    """Return the function of an algorithm. Only its module is imported."""
    module, _, function = ALGORITHMS[name].place.partition(":")
    return getattr(import_module(f"kanon_sql.search.{module}"), function)


def names_for(measure: str) -> tuple[str, ...]:
    """Return the algorithms that can minimize a measure, or whose releases can be measured by it."""
    if measure in CLASS_MEASURES:
        return (*algorithms_of("full-domain"), "mondrian")
    return tuple(name for name in ALGORITHMS if measure in COMPARED or name != "mondrian-plus")


def search(
    problem: Problem, algorithm: str, *, deadline: float | None = None, progress: SearchProgress | None = None
) -> SearchResult:
    """Return the recoding that an algorithm chooses, or the best so far when time is up or Ctrl-C is pressed.

    ``deadline`` is a time of ``time.monotonic()``.
    """
    require_known_suits(problem, algorithm)
    require_choice_suits(problem, algorithm)
    of_population = [model.name for model in problem.models if isinstance(model, PopulationModel)]
    kind = ALGORITHMS[algorithm].kind
    if of_population and kind != "full-domain":
        raise UnsuitableError(
            f"{of_population[0]} compares the classes of a node with those of the population at the same node, which "
            f"{algorithm} does not have: use --algorithm optimal."
        )
    if problem.cutting is not None:
        return _search_parts(problem, problem.cutting, deadline, progress)
    if kind == "local":
        require_cell_measure(problem.objective, algorithm)
        return _search_steps(problem, _function(algorithm), deadline, progress)
    return _search_node(problem, _function(algorithm), deadline, progress)


def _search_node(
    problem: Problem, algorithm: NodeAlgorithm, deadline: float | None, progress: SearchProgress | None
) -> SearchResult:
    evidence = Evidence(problem)
    stopped: Stopped | None = None
    try:
        evidence.require_top()  # however short the time
        with until(deadline):
            evidence.expect_many()
            node = algorithm(evidence, progress)
    except (KeyboardInterrupt, DeadlineReachedError) as reason:
        stopped = _why(reason)
        node, *_ = evidence.the_best(stopped)
    cost = evidence.cost(node)
    if isinstance(cost, float):
        raise TypeError(f"{algorithm} returned a node that suppresses too much: {node}")
    classes = evidence.classes_of(node)
    evidence.roll_ups.drop_all_but(classes)
    bound = None if evidence.bound is None else min(cost, evidence.bound)
    return SearchResult(
        FullDomain(node),
        evidence.tested[node],
        cost,
        bound,
        evidence.nodes_tested,
        classes,
        None if bound == cost else stopped,
        models=None if evidence.known is None else evidence.models_of(node),
    )


def remaining_of(evidence: Evidence) -> Remaining:
    """Return the rows of a problem, none of them published yet."""
    if evidence.known is None:
        from kanon_sql.search.local.remaining import Remaining

        return Remaining(evidence.problem)
    from kanon_sql.search.local.known_remaining import KnownRemaining  # needs numpy

    return KnownRemaining(evidence, evidence.known)


def _search_steps(
    problem: Problem, algorithm: LocalAlgorithm, deadline: float | None, progress: SearchProgress | None
) -> SearchResult:
    problem = _free_at_root(problem)
    evidence = Evidence(problem)
    evidence.require_top()
    end_of_search = deadline
    if problem.prove:
        from kanon_sql.search.local.lower_bound import prove, require_provable  # needs numpy and a solver

        require_provable(problem)
        end_of_search = None if deadline is None else (time.monotonic() + deadline) / 2
    stopped: Stopped | None = None
    remaining = remaining_of(evidence)
    try:
        with until(end_of_search):
            algorithm(remaining, progress)
    except (KeyboardInterrupt, DeadlineReachedError) as reason:
        stopped = _why(reason)
    remaining.finish()
    cost = bound = None
    proof_stopped: Stopped | None = stopped if problem.prove and stopped == "interrupt" else None
    if problem.prove and proof_stopped is None:
        found = cost = remaining.cost()

        def tell(bound: int) -> None:
            if progress is not None:
                progress(remaining.tested, found, bound)

        # The release repeats each step, which takes time on a slow machine.
        end_of_proof = None if deadline is None else deadline - _SECONDS_OF_A_STEP * len(remaining.steps)
        bound, proof_stopped = prove(problem, cost, end_of_proof, tell)
    remaining.close()
    return SearchResult(
        Local(tuple(remaining.steps)),
        remaining.rows,
        cost,
        bound,
        remaining.tested,
        remaining.relation,
        stopped,
        remaining.published,
        remaining.seconds.get("path"),
        remaining.instead,
        proof_stopped,
    )


def _free_at_root(problem: Problem) -> Problem:
    """Return a problem whose nodes have columns of weight 0 at the root: that is free, and makes classes large."""
    heights = problem.lattice.heights
    if all(problem.costs.weights):
        return problem
    start = tuple(0 if weight else height for weight, height in zip(problem.costs.weights, heights, strict=True))
    return replace(problem, lattice=Lattice(heights, start))


def _search_parts(
    problem: Problem, cutting: Cutting, deadline: float | None, progress: SearchProgress | None
) -> SearchResult:
    from kanon_sql.search.mondrian.boxes import recoding_of
    from kanon_sql.search.mondrian.mondrian import begin

    evidence = Evidence(problem)
    evidence.require_top()
    evidence.require_whole_table()
    stopped: Stopped | None = None
    cut = begin(problem, cutting)
    parts = cut.tables
    try:
        with until(deadline):
            cut.search(progress)
    except (KeyboardInterrupt, DeadlineReachedError) as reason:
        if not parts.whole:
            raise
        stopped = _why(reason)
    cut.write()
    recoding, tables = recoding_of(parts)
    parts.close()
    return SearchResult(recoding, 0, None, None, 1, tables, stopped)


def _why(reason: BaseException) -> Stopped:
    return "interrupt" if isinstance(reason, KeyboardInterrupt) else "time limit"
