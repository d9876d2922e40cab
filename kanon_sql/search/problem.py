"""The input and the result of every search."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kanon_sql.errors import UnsuitableError, UsageError
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.policy.algorithms import GREEDY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Lattice, Node
    from kanon_sql.classes.recoding import Cutting, Recoding
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.measures.costs import Costs, Objective
    from kanon_sql.measures.labels import Labels, Places
    from kanon_sql.measures.quality import PartTables
    from kanon_sql.models.base import PrivacyModel

Stopped = Literal["time limit", "interrupt"]

LISTABLE = 1_000_000
"""Nodes of a lattice that can be listed."""
UNLISTED_SECONDS = 10
"""Duration of a search for the optimum in a larger lattice, if no time limit is set."""


@dataclass
class SharedTests:
    """Results of node tests for several k at once, shared by searches that differ only in k."""

    sizes: tuple[int, ...]
    # for each node that was tested, the rows that it suppresses with each k
    suppressed: dict[Node, tuple[int, ...]] = field(default_factory=dict)
    optima: list[Node] = field(default_factory=list)  # the optima of the k searched so far, the last one first


@dataclass(frozen=True)
class Problem:
    """A table, the models that its release must satisfy and the loss to minimize."""

    frequency: FrequencySet
    lattice: Lattice
    models: Sequence[PrivacyModel]  # every published class must satisfy them
    objective: Objective
    labels: Sequence[Labels]
    limit: int  # how many rows may be suppressed
    options: Mapping[str, Any] = field(default_factory=dict)  # the settings of this algorithm alone
    cutting: Cutting | None = None  # how the table is cut into parts; None for algorithms that do not
    places: Sequence[Places] = ()  # the values of each quasi-identifier in their order, for cutting
    # node tests shared with searches with other k; None if there are no others
    shared_tests: SharedTests | None = None
    prove: bool = False  # whether to prove a lower bound for a local recoding
    levels_are_bounded: bool = False  # whether some levels of some columns may not be chosen
    choice: str = GREEDY  # how models of sensitive values decide about classes

    @property
    def costs(self) -> Costs:
        """Costs of cells: to minimize, or to guide the search."""
        return self.objective.costs

    @property
    def k(self) -> int:
        """Minimum number of rows of a published class, even if k counts people."""
        return max((model.least_rows for model in self.models), default=1)

    @property
    def about_sensitive(self) -> list[SensitiveModel]:
        """The models that read sensitive values."""
        return [model for model in self.models if isinstance(model, SensitiveModel)]

    @property
    def is_all_or_none(self) -> bool:
        """True if sensitive values are read and no decision based on them may make a value certain."""
        return self.choice != GREEDY and bool(self.about_sensitive)

    @property
    def only_counts_rows(self) -> bool:
        """True if a class's number of rows alone decides whether it may be published."""
        return not self.frequency.counts_people and all(isinstance(model, KAnonymity) for model in self.models)


class Proof:
    """The cost of a recoding, and the proven lower bound for recodings of its kind."""

    cost: Cost | None
    bound: Cost | None

    @property
    def optimal(self) -> bool:
        """True if it is proven that no recoding of its kind costs less."""
        return self.bound is not None and self.cost is not None and self.bound >= self.cost

    def gap_above(self, least: Cost) -> float | None:
        """Return (cost - bound) / (cost - least possible cost): 0 if optimal, None if unknown."""
        if self.cost is None or self.bound is None:
            return None
        return float((self.cost - self.bound) / (self.cost - least)) if self.cost > self.bound else 0.0


@dataclass(frozen=True)
class SearchResult(Proof):
    """The recoding that an algorithm chose, and the proof about it."""

    recoding: Recoding
    suppressed: int
    cost: Cost | None  # its cost, in units of ``Problem.objective``; None for a local recoding without a bound
    bound: Cost | None  # no recoding of its kind costs less than this; None if nothing is proven
    nodes_tested: int  # lattice nodes whose classes were counted
    # the smallest relation from which the classes can be counted; for a local recoding, with the steps; for a
    # multidimensional one, its parts
    classes: exp.Table | PartTables
    stopped: Stopped | None = None  # why the search ended before it was complete; None if it is complete
    published: tuple[int, ...] = ()  # rows published at each step of a local recoding
    path_seconds: float | None = None  # time to choose SPOLG's path; None for other algorithms
    # the algorithm whose recoding ``local`` took because it costs less; None if the recoding is its own
    instead: str | None = None
    # why the proof of a local recoding ended before the bound was as high as possible; None if it was complete or
    # there was none
    proof_stopped: Stopped | None = None
    # the models as conditions on the classes of the node; None if they are those of the problem
    models: Sequence[PrivacyModel] | None = None


_MOST_FOR_FINISHING = 0.8  # of the time that remains when the search begins


def end_of_search(
    limit: float | None, begun: float, finishing: float, statements: float = 0.0, *, is_endless: bool
) -> float | None:
    """Return when a search must end to publish its result within a time limit that began at ``begun``.

    Publishing takes ``finishing`` seconds, plus up to ``statements`` seconds for long statements (at most half of the
    remaining time); in all at most 80% of it. Without a limit, only a search that may take years (``is_endless``) has
    an end.
    """
    now = time.monotonic()
    if limit is None:
        return now + UNLISTED_SECONDS if is_endless else None
    left = begun + limit - now
    return now + left - min(finishing + min(statements, left / 2), _MOST_FOR_FINISHING * left)


class SearchProgress(Protocol):
    """Callback for the progress of a search."""

    def __call__(self, nodes_tested: int, best: Cost | None, bound: Cost | None) -> None:
        """Handle progress: nodes tested, the best cost so far, the lower bound proven so far."""


def require_monotone(problem: Problem, algorithm: str) -> None:
    """Raise unless every node above a good one is good, as an algorithm requires.

    A good node suppresses few enough rows. The condition holds under monotone models. If nothing may be suppressed, it
    also holds under other models, provided that a union of classes that satisfy the model satisfies it.
    """
    stubborn = [model.name for model in problem.models if not model.monotone and (problem.limit or not model.unites)]
    if stubborn:
        raise UnsuitableError(
            f"Algorithm {algorithm} relies on rows that are published at a node being published above it, which "
            f"{', '.join(dict.fromkeys(stubborn))} does not promise where rows may be suppressed: use --algorithm "
            "optimal" + (", or --max-suppressed 0." if problem.limit else ".")
        )


def require_known_suits(problem: Problem, algorithm: str) -> None:
    """Raise if k is required of only some of the columns, and an algorithm does not support that."""
    known = known_subsets_of(problem.models)
    if known is None:
        return
    if problem.cutting is not None:
        raise UnsuitableError(
            f"{known.name} is what rows of different classes share by some of their columns, and {algorithm} makes "
            f"each class by itself: it would make one of k rows by all columns. Use --algorithm optimal or local, or "
            "leave --known out, which promises more."
        )
    if problem.prove:
        raise UnsuitableError(
            f"A proof bounds the loss if k is required of all columns together, and {known.name} may lose less "
            "than that: leave --prove out, or --known."
        )


def require_choice_suits(problem: Problem, algorithm: str) -> None:
    """Raise if choosing class by class could reveal sensitive values and the policy forbids that (``all_or_none``)."""
    if problem.is_all_or_none and problem.cutting is None:
        models = dict.fromkeys(model.name for model in problem.about_sensitive)
        raise UnsuitableError(
            f"{algorithm} decides class by class whether {' and '.join(models)} holds, and the choices that it "
            "rejected give sensitive values away to someone who knows the algorithm. Use --algorithm mondrian or "
            "mondrian-plus, which choose so that nobody's value becomes certain; or accept it with --choice greedy."
        )


def require_sizes_enough(problem: Problem) -> None:
    """Raise if the bounds of a measure of class sizes do not hold: they require monotone models."""
    if problem.objective.of_classes is not None:
        require_monotone(problem, f"optimal with measure {problem.objective.name}")


def require_cell_measure(objective: Objective, algorithm: str) -> None:
    """Raise unless the minimized measure is a sum over cells, so that part of a table has a cost of its own."""
    if objective.of_classes is not None:
        raise UsageError(
            f"Algorithm {algorithm} goes by what cells lose, which {objective.name} does not say: use --measure loss, "
            "or --algorithm optimal."
        )


def require_listable(lattice: Lattice, algorithm: str) -> None:
    """Raise if there are too many nodes for an algorithm that lists them."""
    if lattice.size > LISTABLE:
        raise UnsuitableError(
            f"Algorithm {algorithm} lists nodes of the lattice, and this one has {lattice.size:,} (at most "
            f"{LISTABLE:,}): use --algorithm optimal, which never lists it, or hierarchies with fewer levels."
        )
