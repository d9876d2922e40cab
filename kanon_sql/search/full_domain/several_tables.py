"""The proven optimum of full-domain recoding of several tables that are released together.

The lattice has the levels of the columns of all tables. The cost of a node is a sum over *parts*: the table of people,
and each table of events. The classes of a part have more columns than its own: an attacker knows an event with the
published data of its person and of its parent events. So these columns, too, decide which rows of its table are
suppressed. Only its own columns count for the cost of its cells.

With one event known (``km`` = 1) a kind of event is published if k people of a class have it, that is, in a class of
k people of the joined rows: a part is one table under k-anonymity, with the tests, marks and roll-ups of
``Evidence``. In an interval ``[a, b]`` each part suppresses at least what it does at ``b`` and generalizes at least as
at ``a``, and so do all together:

    cost(v) >= sum over the parts of least cost(a, suppressed at b)         for all v in the interval

1. The top must be possible. Start with the interval of the whole lattice.
2. Take the interval of the smallest bound. If that bound reaches the best node, the best node is the optimum.
3. Lower its upper end, column by column, past levels whose generalization alone costs too much; test it.
4. Measure the upper end exactly, if it may be better than the best.
5. Split the interval in the column in which the costs of the two ends differ most, where the cost is half way.
6. At the end, undo generalization that costs nothing.

With more events known, more is suppressed than with one: these bounds hold, and ``measure`` gives the cost of a node.
It has better bounds, which take longer, and are computed only if these do not suffice. The search then starts at a
good node, found by local search from the top.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, product
from typing import TYPE_CHECKING, Protocol

from kanon_sql.classes.lattice import Lattice, with_level
from kanon_sql.engine.progress import DeadlineReachedError, check_deadline, until
from kanon_sql.errors import NoSolutionError, counted
from kanon_sql.measures.class_measures import IMPOSSIBLE
from kanon_sql.search.full_domain.evidence import Evidence, require_not_stopped
from kanon_sql.search.full_domain.optimal import neighbours, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.measures.costs import Costs
    from kanon_sql.search.problem import SearchProgress, Stopped


@dataclass(kw_only=True)
class Part(Evidence):
    """A table among those that are released together: tests of its nodes, with costs of its own columns."""

    name: str
    hierarchies: tuple[Hierarchy, ...]  # of all columns that an attacker knows its rows by: those of its lattice
    columns: tuple[int, ...]  # the place of each column of its lattice in the lattice of all tables
    own: frozenset[int]  # the places of its own columns there
    weight: int = 1  # common units in one unit of its cost: tables count by their weights, not by their rows

    @property
    def rows(self) -> int:
        """Number of its rows that belong to people."""
        return self.problem.frequency.rows

    @property
    def costs(self) -> Costs:
        return self.problem.costs

    @property
    def whole(self) -> int:
        """The cost of all of its cells in common units."""
        return self.weight * self.rows * sum(self.costs.weights) * self.costs.unit

    def common(self, cost: Cost | float) -> Cost | float:
        """Return a cost in common units; impossible stays impossible."""
        return cost if cost == IMPOSSIBLE else cost * self.weight

    @property
    def own_columns(self) -> list[int]:
        """The places of its own columns in its own lattice."""
        return [column for column, place in enumerate(self.columns) if place in self.own]

    def node(self, node: Node) -> Node:
        """Return its own part of a node of the lattice of all tables."""
        return tuple(node[place] for place in self.columns)

    def least_of_column(self, place: int, level: int, suppressed: int) -> int:
        return self.costs.least_of_column(self.columns.index(place), level, suppressed) * self.weight

    def probe_if_worth(self, node: Node) -> None:
        if self.worth_probing(node):
            self.probe(node)

    def _may_be_best(self, node: Node, suppressed: int) -> bool:  # noqa: ARG002 - as in ``Evidence``
        return False  # none of its nodes is the best by itself

    def _enough(self) -> int:
        return self.problem.limit + 1


class Measure(Protocol):
    """Measures nodes if more must be suppressed than for one known event."""

    def cost(self, node: Node, most: Cost | float) -> Cost | float:
        """Return the exact cost, or any cost above ``most`` if it is more. Impossible if too much is suppressed."""

    def least(self, lower: Node, upper: Node) -> Cost | float:
        """Return a lower bound of the costs in an interval; impossible if all nodes suppress too much."""


@dataclass
class TablesSearch:
    parts: Sequence[Part]
    lattice: Lattice
    measure: Measure | None = None  # None if the cost of a node is the sum of the parts alone
    best: tuple[Node, Cost] | None = None
    bound: Cost = 0
    stopped: Stopped | None = None  # why it ended before the proof was complete
    _costs: dict[Node, Cost | float] = field(default_factory=dict, repr=False)
    _bounded: set[Node] = field(default_factory=set, repr=False)

    def run(self, deadline: float | None = None, progress: SearchProgress | None = None) -> tuple[Node, Cost]:
        """Search until the proof, the deadline or Ctrl-C. Raises if no node was measured by then."""
        for part in self.parts:
            k, limit, suppressed = part.problem.k, part.problem.limit, part.test(part.problem.lattice.top)
            if suppressed > limit:  # all rows or none
                raise NoSolutionError(
                    f"{part.name} has rows of fewer than {k:,} people ({counted(suppressed, 'row')} in all), so that "
                    f"none could be released, and {limit:,} may be suppressed: lower k, raise --max-suppressed, or "
                    'leave the table out (rows = "dropped").'
                )
        try:
            with until(deadline):
                for part in self.parts:
                    part.expect_many()
                if self.measure is not None:
                    self._improve()
                self._prove(progress)
                self._lower_for_free()
        except (KeyboardInterrupt, DeadlineReachedError) as reason:
            self.stopped = "interrupt" if isinstance(reason, KeyboardInterrupt) else "time limit"
        if self.best is None:
            require_not_stopped(self.stopped)
            raise NoSolutionError(
                "Every recoding of these tables suppresses too much of one of them: ask for less, or allow more to be "
                "suppressed (--max-suppressed)."
            )
        if self.bound >= self.best[1]:
            self.bound, self.stopped = self.best[1], None
        return self.best

    @property
    def nodes_tested(self) -> int:
        """Number of tested nodes: of parts, or of all tables if ``measure`` tests them."""
        return sum(part.nodes_tested for part in self.parts) + len(self._bounded)

    def _prove(self, progress: SearchProgress | None) -> None:
        # 1. The whole lattice.
        waiting: list[tuple[Cost, int, Node, Node]] = [(0, 0, self.lattice.bottom, self.lattice.top)]
        arrival = count(1)
        # 2. The interval of the smallest bound.
        while waiting:
            check_deadline()
            bound, _, lower, upper = heapq.heappop(waiting)
            self.bound = bound
            if bound >= self._best_cost:
                return
            # 3. Tighten it, and 4. measure its upper end.
            upper_end = self._tightened(lower, upper)
            if upper_end is None:
                continue
            self._measure_if_better(upper_end)
            # 5. Split it.
            for half in split(self._totals, lower, upper_end) if lower != upper_end else ():
                least = max(bound, self._least(*half), self._least_measured(half[0], upper_end))
                if least < self._best_cost and not isinstance(least, float):
                    heapq.heappush(waiting, (least, -next(arrival), *half))
            if progress is not None and self.best is not None:
                progress(self.nodes_tested, self.best[1], bound)
        if self.best is not None:
            self.bound = self.best[1]

    def _measure_if_better(self, node: Node) -> None:
        if self._least(node, node) < self._best_cost and self._least_measured(node, node) < self._best_cost:
            cost = self._cost(node)
            if cost < self._best_cost and not isinstance(cost, float):
                self.best = (node, cost)

    @property
    def _best_cost(self) -> Cost | float:
        return IMPOSSIBLE if self.best is None else self.best[1]

    def _least(self, lower: Node, upper: Node) -> Cost | float:
        """Return a lower bound of the costs in an interval."""
        return sum(
            part.common(part.least_cost(part.node(lower), part.suppresses_at_least(part.node(upper))))
            for part in self.parts
        )

    def _least_measured(self, lower: Node, upper: Node) -> Cost | float:
        if self.measure is None:
            return 0
        self._bounded.add(upper)
        return self.measure.least(lower, upper)

    def _improve(self) -> None:
        """From the top, go to better neighbours until there is none."""
        self._measure_if_better(self.lattice.top)
        improved = True
        while improved and self.best is not None:
            begun = self.best
            for neighbour in neighbours(self.lattice, begun[0]):
                check_deadline()
                self._measure_if_better(neighbour)
            improved = self.best != begun

    def _tightened(self, lower: Node, upper: Node) -> Node | None:
        """Return the tested upper end of the part that may hold a better node than the best; None if there is none."""
        while True:
            least = self._least(lower, upper)
            if least >= self._best_cost:
                return None
            lowered = self._lowered(lower, upper, self._best_cost - least)
            if self.measure is not None:  # its bounds are better than tests of parts
                narrowed = self._narrowed(self.measure, lower, lowered)
                if narrowed is None or narrowed == upper:
                    return narrowed
                upper = narrowed
                continue
            untested = [part for part in self.parts if part.node(lowered) not in part.tested]
            if lowered == upper and not untested:
                return upper
            upper = lowered
            for test, part in product((Part.probe_if_worth, Part.test), untested):
                test(part, part.node(upper))
                if self._least(lower, upper) >= self._best_cost:
                    return None

    def _lowered(self, lower: Node, upper: Node, room: Cost | float) -> Node:
        """Lower the upper end past levels at which a column alone adds ``room`` or more to the least cost."""
        for part in self.parts:
            suppressed = part.suppresses_at_least(part.node(upper))
            for place in part.own:
                least = part.least_of_column(place, lower[place], suppressed)
                while upper[place] > lower[place] and (
                    part.least_of_column(place, upper[place], suppressed) - least >= room
                ):
                    upper = with_level(upper, place, upper[place] - 1)
        return upper

    def _narrowed(self, measure: Measure, lower: Node, upper: Node) -> Node | None:
        """Lower the upper end past levels at which a column alone is too much. None if nothing remains."""
        self._bounded.add(upper)
        if measure.least(lower, upper) >= self._best_cost:
            return None
        narrowed = upper
        for place in range(len(upper)):
            while narrowed[place] > lower[place] and (
                measure.least(with_level(lower, place, narrowed[place]), upper) >= self._best_cost
            ):
                narrowed = with_level(narrowed, place, narrowed[place] - 1)
        return narrowed

    @cached_property
    def _totals(self) -> list[list[int]]:
        """The cost of all rows in each column of the lattice at each of its levels."""
        found = {
            part.columns[column]: [total * part.weight for total in part.costs.totals[column]]
            for part in self.parts
            for column in part.own_columns
        }
        return [found[place] for place in sorted(found)]

    def _cost(self, node: Node) -> Cost | float:
        if node not in self._costs:
            if self.measure is None:
                self._costs[node] = sum(part.common(part.cost(part.node(node))) for part in self.parts)
            else:
                self._costs[node] = self.measure.cost(node, self._best_cost)
        return self._costs[node]

    def _lower_for_free(self) -> None:
        """Lower the levels of the best node where that costs nothing: needless generalization helps nobody."""
        for place in (place for part in self.parts for place in part.own):
            while self.best is not None and self.best[0][place]:
                node, cost = self.best
                lowered = with_level(node, place, node[place] - 1)
                if self._least(lowered, lowered) > cost or self._cost(lowered) > cost:
                    break
                self.best = (lowered, cost)
