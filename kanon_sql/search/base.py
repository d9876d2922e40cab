"""What every search is given and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.frequency import FrequencySet
    from kanon_sql.lattice import Lattice, Node
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel

Stopped = Literal["time limit", "interrupt"]


@dataclass(frozen=True)
class Problem:
    """A table, what its release must satisfy and what it should lose least of.

    Attributes:
        frequency: the frequency set of the table.
        lattice: the nodes to choose from.
        models: what every published class must satisfy.
        costs: what is minimized.
        labels: the labels of each quasi-identifier.
        limit: how many rows may be suppressed.
    """

    frequency: FrequencySet
    lattice: Lattice
    models: Sequence[PrivacyModel]
    costs: Costs
    labels: Sequence[Labels]
    limit: int


@dataclass(frozen=True)
class SearchResult:
    """The best node that was found, and what is proven about it.

    Attributes:
        node: the node.
        suppressed: rows that it suppresses.
        cost: its cost, in units of ``Problem.costs``.
        bound: no node costs less than this.
        nodes_tested: lattice nodes whose classes were counted.
        classes: the smallest relation from which the classes of the node can be counted.
        stopped: why the search ended before the proof was complete; None if it is complete.
    """

    node: Node
    suppressed: int
    cost: int
    bound: int
    nodes_tested: int
    classes: exp.Table
    stopped: Stopped | None = None

    @property
    def optimal(self) -> bool:
        """Whether no node costs less."""
        return self.bound >= self.cost


class SearchProgress(Protocol):
    """Told from time to time how far a search has come."""

    def __call__(self, nodes_tested: int, best: int | None, bound: int) -> None:
        """Take note: nodes tested, the best cost so far, the cost that none can be below."""


def rows_allowed(max_suppressed: float, rows: int) -> int:
    """Return how many rows a fraction allows; 0.29 of 100 is 29, as a person would say, not 28."""
    return int(Fraction(str(max_suppressed)) * rows)
