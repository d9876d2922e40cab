"""Node tests on the frequency set, and what they imply for other nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.classes.frequency import mask_name
from kanon_sql.classes.lattice import Marks
from kanon_sql.classes.of_node import (
    MOST_SKETCHED,
    NODE,
    classes_query,
    listed,
    measure_name,
    node_query,
    nodes_query,
    people_query,
    prunes_by_suppression,
    rows_by_size_query,
    screens,
)
from kanon_sql.engine.progress import check_deadline
from kanon_sql.errors import NoSolutionError, SearchInterruptedError, TimeLimitError, counted
from kanon_sql.measures.class_measures import IMPOSSIBLE, ClassSizes
from kanon_sql.measures.costs import hidden_costs
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import KnownSubsets, known_subsets_of
from kanon_sql.models.population import PopulationModel
from kanon_sql.search.full_domain.roll_ups import MIN_TUPLES_PER_CLASS_TO_ROLL_UP, RollUp, RollUps
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.classes.packing import Packing
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.models.base import PrivacyModel, RowModel
    from kanon_sql.search.full_domain.known_nodes import KnownNodes
    from kanon_sql.search.problem import Problem, SharedTests, Stopped

TUPLES_PER_STATEMENT = 300_000
"""Number of tuples that take about as long to read as a statement takes to plan.

With fewer tuples, several nodes are tested together. With more, a probe, a table of the classes or
``people_query`` is worth a statement of its own.
"""
FEWEST_TOGETHER, MOST_TOGETHER = 4, 12
"""Nodes that are tested in one statement: three times as many as were needed of the last one, because the next tests
depend on the results. If a lattice has only a few times as many nodes, each gets a statement that is easy to read."""
MOST_TUPLES_JOINED = 30_000
"""Most tuples to join to the masks of nodes. With more, each node has its own query if only rows are counted."""


def require_not_stopped(stopped: Stopped | None) -> None:
    """Raise if a search stopped without a result."""
    if stopped == "interrupt":
        raise SearchInterruptedError("Interrupted before a first release was found; nothing was written.")
    if stopped == "time limit":
        raise TimeLimitError(
            "The time limit ended the search before a first release was found; nothing was written: give it more time "
            "(--time-limit), or leave the limit out."
        )


@dataclass
class Evidence:
    """Node tests and their consequences.

    Upwards, suppression never rises, and loss (for class measures: class size) never falls. So a node suppresses at
    least as many rows as any tested node above it. These counts are kept as marks
    (``kanon_sql.classes.lattice.Marks``). If a model is not monotone, suppression may rise. Then a mark counts the rows
    that no node below publishes (``kanon_sql.classes.of_node``), which may be fewer.
    """

    problem: Problem
    # no node costs less than this; None until something is proven
    proven: Cost | None = field(default=None, init=False)
    best: tuple[Node, int, Cost] | None = field(default=None, init=False)
    tested: dict[Node, int] = field(default_factory=dict, init=False)
    # the unmeasured node with the least ``estimate``, after its estimate
    promising: tuple[Cost | float, Node] | None = field(default=None, init=False)
    # evidence for the cost of the cells of disjoint sets of columns, if any (``of_columns``)
    sets: list[Evidence] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.roll_ups = RollUps(self.problem.frequency, self.problem.lattice)
        problem = self.problem
        self._joins_masks = (
            problem.frequency.engine.joins_masks
            and known_subsets_of(problem.models) is None
            and problem.lattice.size >= MOST_TOGETHER**2
            and problem.shared_tests is None  # shared tests are kept for each k
            and not any(isinstance(model, PopulationModel) for model in problem.models)  # it has its own classes
        )
        self._packing: Packing | None = None
        self._expects_many = False
        self._probed: set[Node] = set()
        self._marks = Marks(self.problem.lattice)
        self._pass_screens: list[int] = []
        self._statements: dict[tuple[Any, ...], exp.Query] = {}
        self._best_classes: RollUp | None = None
        self._counted: set[Node] = set()
        self._exact: dict[Node, Cost | float] = {}
        self._sizes: dict[Node, ClassSizes] = {}
        self._ahead: dict[Node, tuple[Any, ...]] = {}
        self._screens_ahead: dict[Node, int] = {}
        self._looked_at: list[Node] = []

    def expect_many(self) -> None:
        """Make many tests faster: count sensitive values side by side, and screen by rows alone.

        If the deadline passes before this is done, the tests stay as they are.
        """
        self._expects_many = True
        frequency, models = self.problem.frequency, self.problem.models
        if not frequency.sensitive:
            return
        from kanon_sql.classes.packing import pack, pays

        if pays(models, frequency.tuples) and (packing := pack(frequency, models)) is not None:
            self.roll_ups.drop_all_but(frequency.relation)  # the others have no such counts
            self._best_classes = None
            self.roll_ups.count_side_by_side(packing)
            self._packing = packing

    def of_columns(self, columns: Container[int]) -> Evidence:
        """Return evidence for the cost of the cells of some columns. It shares the marks and roll-ups of this one."""
        objective = replace(self.problem.objective, costs=self.problem.costs.of_columns(columns))
        own = Evidence(replace(self.problem, objective=objective, shared_tests=None))
        own.roll_ups, own._marks, own._statements = self.roll_ups, self._marks, self._statements
        own.known = self.known
        own._expects_many, own._packing = self._expects_many, self._packing
        own.proven = objective.least
        self.sets.append(own)
        return own

    @cached_property
    def known(self) -> KnownNodes | None:
        """The tester of nodes if k is required of only some of the columns; else None."""
        model = known_subsets_of(self.problem.models)
        if model is None:
            return None
        from kanon_sql.search.full_domain.known_nodes import KnownNodes  # needs numpy

        return KnownNodes(self.problem.frequency, model)

    @property
    def bound(self) -> Cost | None:
        """No node costs less than this: proven for all columns, or for disjoint sets of them together."""
        if self.proven is None or not self.sets:
            return self.proven
        return max(self.proven, sum(own.proven or 0 for own in self.sets))

    @property
    def monotone(self) -> bool:
        """True if rows that a node suppresses are suppressed at every node below it."""
        return prunes_by_suppression(self.problem.models)

    @property
    def nodes_tested(self) -> int:
        own = len(self.tested) + sum(node not in self.tested for node in self._probed)
        return own + sum(each.nodes_tested for each in self.sets)

    def the_best(self, stopped: Stopped | None = None) -> tuple[Node, int, Cost]:
        """Return the best node so far, its suppressed rows and its cost. Raises if there is none.

        ``stopped`` is why the search ended early. None means that no node was skipped without a proof.
        """
        self.measure_promising()
        if self.best is not None:
            return self.best
        require_not_stopped(stopped)
        raise NoSolutionError(
            f"Every full-domain recoding suppresses more than {self.problem.limit:,} of the "
            f"{self.problem.frequency.rows:,} rows under these privacy models: {self._advice()}."
        )

    def _advice(self) -> str:
        """Return advice if too many rows are suppressed. The limit must be below the number of rows."""
        if self.problem.limit >= self.problem.frequency.rows - 1:
            return "ask for less"
        return "ask for less, or allow more to be suppressed with --max-suppressed"

    @property
    def best_cost(self) -> Cost | float:
        return IMPOSSIBLE if self.best is None else self.best[2]

    def require_top(self) -> None:
        """Test the top of the lattice, where the whole table is one class. Raises if it is suppressed.

        Then all rows of every other node would be suppressed too.
        """
        problem, rows = self.problem, self.problem.frequency.rows
        suppressed = self.test(problem.lattice.top)
        too_many = suppressed > problem.limit if problem.levels_are_bounded else suppressed
        hopeless = too_many if self.monotone else self.suppresses_at_least(problem.lattice.top) > problem.limit
        if not (rows and hopeless):
            return
        if problem.levels_are_bounded:
            raise NoSolutionError(
                f"At the highest levels that --levels allows, {suppressed:,} of the {rows:,} rows would be suppressed, "
                f"and {problem.limit:,} may be: allow higher levels, or more to be suppressed with --max-suppressed."
            )
        if not all(isinstance(model, KAnonymity | KnownSubsets) for model in problem.models):
            raise NoSolutionError(self._why_not())
        required = max(int(model.required) for model in problem.models)
        entity = next((model.entity for model in problem.models if model.entity is not None), None)
        members = "rows" if entity is None else f"different people, counted by {entity}"
        raise NoSolutionError(
            f"The table has fewer than {required:,} {members} (it has {counted(rows, 'row')}), so that no release of "
            f"it can be {required:,}-anonymous. Lower k, or take a larger table."
        )

    def require_whole_table(self) -> None:
        """Raise unless the table as one class satisfies the models."""
        if self.problem.frequency.rows and self.test(self.problem.lattice.top):
            raise NoSolutionError(self._why_not())

    def _why_not(self) -> str:
        """Return the models that the table as a whole fails, and by how much."""
        problem = self.problem
        names = [sql.column(measure_name(number)) for number in range(len(problem.models))]
        classes = classes_query(
            problem.frequency.relation, problem.frequency.masks(problem.lattice.top), problem.models
        )
        met = [model.is_met(name.copy()) for model, name in zip(problem.models, names, strict=True)]
        found = problem.frequency.engine.row(
            exp.select(*names, *met).from_(classes.subquery("classes")), "the whole table"
        )
        measured, holds = found[: len(names)], found[len(names) :]
        failing = [
            f"{model.name} asks for {model.letter} = {model.required:g}"
            + (f" of {model.sensitive!r}" if model.sensitive else "")
            + f", and the whole table has {value:,.4g}"
            for model, value, holding in zip(problem.models, measured, holds, strict=True)
            if not holding
        ]
        if self.monotone:  # if the whole table fails a model, each part of it does
            return f"{'; '.join(failing)}: no release of it can satisfy that, however much is suppressed. Ask for less."
        why = f"{'; '.join(failing)}: no release of it can satisfy that with so few rows suppressed"
        return f"{why}: {self._advice()}."

    def satisfies(self, node: Node) -> bool:
        """Return True if a node suppresses no more than the limit. Tests the node only if the answer is unknown."""
        limit = self.problem.limit
        return self.suppresses_at_least(node) <= limit and self.test(node) <= limit

    def test(self, node: Node) -> int:
        """Return how many rows a node suppresses. The node becomes the best so far if it costs least.

        If a node suppresses too much, only the rows that k suppresses may be counted.
        """
        if node not in self.tested or node in self._counted:
            classes = self._roll_up_if_small(node)
            suppressed = self._count(node, classes)
            self._counted.discard(node)
            best = self.best
            if suppressed <= self.problem.limit and self._may_be_best(node, suppressed):
                cost = self._exact_cost(node, suppressed, classes)
                if cost < self.best_cost and not isinstance(cost, float):
                    self.best = (node, suppressed, cost)
            self._keep_if_best(classes, became_best=self.best is not best)
        return self.tested[node]

    def _count(self, node: Node, classes: RollUp | None) -> int:
        if node not in self.tested:
            if self.problem.lattice.allows(node):
                suppressed, below = self._screened(node, classes) or self._count_suppressed(node, classes)
            else:  # more than any limit, and so does every node below
                suppressed = below = self.problem.frequency.rows + 1
            self.tested[node] = suppressed
            self._mark(node, below)
        return self.tested[node]

    def estimate(self, node: Node) -> Cost | float:
        """Test a node and return its approximate cost; impossible if it suppresses too much.

        The estimate assumes that the labels of suppressed rows would have cost as much as those of other rows.
        """
        if node not in self.tested:
            self._count(node, None)
            self._counted.add(node)
        suppressed = self.tested[node]
        if suppressed > self.problem.limit:
            return IMPOSSIBLE
        estimate = self._estimated(node, suppressed)
        if node in self._counted and estimate < (self.best_estimate if self.promising is None else self.promising[0]):
            self.promising = (estimate, node)
        return estimate

    def estimate_at_least(self, node: Node) -> Cost | float:
        """Return a lower bound of ``estimate`` that needs no test."""
        if node in self.tested:
            return self.estimate(node)
        if not self.bounds_are_free:
            return 0
        suppressed, rows = self.suppresses_at_least(node), self.problem.frequency.rows
        if suppressed > self.problem.limit:
            return IMPOSSIBLE
        return min(self._estimated(node, suppressed), self._estimated(node, rows))

    def _estimated(self, node: Node, suppressed: int) -> Cost | float:
        if (measure := self.problem.objective.of_classes) is not None:
            return measure.cost(self._sizes[node])
        costs, published = self.problem.costs, self.problem.frequency.rows - suppressed
        lost = published * costs.generalization(node) // max(1, costs.rows)
        return lost + suppressed * sum(costs.full)

    @property
    def best_estimate(self) -> Cost | float:
        return IMPOSSIBLE if self.best is None else self._estimated(self.best[0], self.best[1])

    def measure_promising(self) -> None:
        """Measure the most promising node exactly: it becomes the best so far if it costs least."""
        if self.promising is not None:
            _, node = self.promising
            self.promising = None
            self.test(node)

    def look_ahead(self, nodes: Iterable[Node]) -> None:
        """Test in one statement several nodes that will probably be needed, if that is faster than one by one.

        Results are kept until a node is tested. They change neither the search nor the number of tested nodes.
        """
        unknown = (node for node in nodes if not self.knows(node))
        if (first := next(unknown, None)) is not None and (several := self._most_together(first)) > 1:
            if not self.problem.frequency.engine.tests_together:
                needed = sum(node not in self._ahead for node in self._looked_at)
                several = min(several, max(FEWEST_TOGETHER, 3 * needed))
            source = self.roll_ups.source(first)
            alike = (node for node in unknown if self.roll_ups.source(node) is source)
            self._looked_at = [first, *islice(alike, several - 1)]
            if len(self._looked_at) > 1:
                self._test_together(source, self._looked_at)

    def knows(self, node: Node) -> bool:
        """Return True if a node was tested or looked ahead to, or if it is not allowed."""
        return node in self.tested or node in self._ahead or not self.problem.lattice.allows(node)

    @property
    def most_together(self) -> int:
        """The number of nodes worth testing in one statement, if all of them are needed."""
        return self._most_together(self.problem.lattice.top)

    def looks_ahead(self, node: Node) -> bool:
        """Return True if a node should be tested in one statement with others that will probably be needed."""
        return not self.knows(node) and self._joins_masks and self._most_together(node) > 1

    def _most_together(self, node: Node) -> int:
        """Return how many nodes, counted on this node's source, are worth testing in one statement."""
        if self.problem.frequency.engine.tests_together:
            return MOST_TOGETHER
        tuples = max(1, self.roll_ups.source(node).tuples)
        return max(1, min(MOST_TOGETHER, TUPLES_PER_STATEMENT // tuples)) if self._joins_masks else 1

    def _test_together(self, source: RollUp, nodes: list[Node]) -> None:
        """Test nodes by one statement: join tuples to the masks of each, or use one query per node."""
        problem, relation, with_sizes = self.problem, source.relation, not self.bounds_are_free
        masks = [problem.frequency.masks(node) for node in nodes]
        is_joined = self._joins_masks and not (source.tuples > MOST_TUPLES_JOINED and problem.only_counts_rows)
        if is_joined:
            shape: tuple[Any, ...] = ("nodes", relation.name)
            values: dict[str, Any] = listed(masks)
            if shape not in self._statements:
                self._statements[shape] = nodes_query(
                    relation, problem.frequency.keys, problem.models, with_sizes=with_sizes, packing=self._packing
                )
        else:
            shape = ("union", relation.name, *(bool(mask) for own in masks for mask in own))
            named = [
                {f"{mask_name(key)}_{place}": mask for key, mask in enumerate(own)} for place, own in enumerate(masks)
            ]
            values = {name: mask for own in named for name, mask in own.items() if mask}
            if shape not in self._statements:
                tests = []
                for place, own in enumerate(named):
                    bound = [exp.Placeholder(this=name) if mask else 0 for name, mask in own.items()]
                    test = node_query(relation, bound, problem.models, with_sizes=with_sizes)
                    test.set("expressions", [sql.named(sql.literal(place), NODE), *test.selects])
                    tests.append(test)
                self._statements[shape] = sql.union_all(tests)
        title = f"test nodes {', '.join(map(str, nodes))}"
        for place, *found in problem.frequency.engine.rows(self._statements[shape], title, values):
            if is_joined and not self.monotone:
                self._screens_ahead[nodes[place]] = int(found.pop())
            self._ahead[nodes[place]] = tuple(found)

    def worth_probing(self, node: Node) -> bool:
        """Return True if a node may have so many classes that a probe is far cheaper than a test."""
        if self.known is not None:
            return False
        source = self.roll_ups.source(node)
        return source.tuples >= TUPLES_PER_STATEMENT and node not in self._probed and not self._has_few_classes(node)

    def probe(self, node: Node) -> None:
        """Count a sample of the classes of a node. It suppresses at least the rows suppressed among these."""
        self._probed.add(node)
        _, below = self._count_suppressed(node, None, probe=True)
        self._mark(node, below)

    def cost(self, node: Node) -> Cost | float:
        """Return the exact cost of a node; impossible if it suppresses too much or cannot be measured."""
        suppressed = self.test(node)
        return IMPOSSIBLE if suppressed > self.problem.limit else self._exact_cost(node, suppressed, None)

    def classes_of(self, node: Node) -> exp.Table:
        """Return the smallest relation with sensitive values from which the classes of a node can be counted."""
        return self.problem.frequency.relation if self._packing else self.roll_ups.source(node).relation

    def models_of(self, node: Node) -> Sequence[PrivacyModel]:
        """Return the models as conditions on the classes of one node."""
        if self.known is None:
            return self.problem.models
        return [self.known.model.of_node(self.known.shared(node))]

    def suppresses_at_least(self, node: Node) -> int:
        """Return the most rows that this node is known to suppress, from any tested node at or above it."""
        check_deadline()  # here, because searches visit many nodes that need no test
        return self._marks.suppressed(node)

    @property
    def bounds_are_free(self) -> bool:
        """True if ``least_cost`` runs no query."""
        return self.problem.objective.of_classes is None

    def least_cost(self, lower: Node, suppressed: int) -> Cost | float:
        """Return a lower bound of the cost of nodes at or above ``lower`` with at least so many suppressed rows.

        For a measure of cells, every row costs at least its cost at ``lower``. A suppressed row costs ``full`` in
        every column instead, and it would have cost at most as much as the costliest rows there. For a measure of
        classes, the measure proves a bound from the sizes of the classes at ``lower``, which is tested for them.
        """
        if suppressed > self.problem.limit:
            return IMPOSSIBLE
        if (measure := self.problem.objective.of_classes) is not None:
            self.test(lower)
            if lower not in self._sizes:  # one of its levels is not allowed
                return IMPOSSIBLE
            return measure.least(self._sizes[lower], suppressed)
        costs = self.problem.costs
        return costs.with_suppression(lower, suppressed, costs.most_hidden(lower, suppressed))

    def _may_be_best(self, node: Node, suppressed: int) -> bool:
        return not self.bounds_are_free or self.least_cost(node, suppressed) < self.best_cost

    def _screened(self, node: Node, classes: RollUp | None) -> tuple[int, int] | None:
        """Return the rows suppressed by models of rows alone if too many: a fraction of the time of a test."""
        if not self._expects_many or self.monotone or not self.bounds_are_free:
            return None
        of_rows = screens(self.problem.models)
        if not of_rows:
            return None
        steps = self.problem.lattice.steps(node)
        if any(not below & ~steps for below in self._pass_screens):  # then so does every node above
            return None
        if (suppressed := self._screens_ahead.pop(node, None)) is None:
            suppressed, _ = self._count_suppressed(node, classes, of_rows=of_rows)
        if suppressed > self.problem.limit:
            return suppressed, suppressed
        self._pass_screens = [below for below in self._pass_screens if steps & ~below] + [steps]
        return None

    def _count_suppressed(
        self, node: Node, classes: RollUp | None, *, probe: bool = False, of_rows: Sequence[RowModel] = ()
    ) -> tuple[int, int]:
        """Return the rows that a node suppresses, and those that every node at or below it suppresses.

        ``probe`` counts a sample of the classes; ``of_rows`` are monotone models that are tested instead of all.
        """
        if self.known is not None:
            suppressed = self.known.suppressed(node, self.problem.limit)
            return suppressed, suppressed
        shared = self.problem.shared_tests
        if shared is not None and self._shares_tests(shared) and not (probe or of_rows):
            suppressed = self._shared_test(shared, node, classes)
            return suppressed, suppressed
        source, merged = self._source(node, classes)
        if of_rows and classes is None:
            relation, merged = self.roll_ups.rows_alone(node), False
        else:
            relation = source.relation
        kind = "probe" if probe else "screen" if of_rows else "test"
        found = self._ahead.pop(node, None) if kind == "test" else None
        if found is None:
            statement, values = self._masked(
                node,
                relation,
                f"{kind} of people apart" if merged else kind,
                lambda masks: (
                    people_query(relation, masks, self.problem.k, probe=probe)
                    if self._sketches_people(source, merged=merged)
                    else node_query(
                        relation,
                        masks,
                        of_rows or self.problem.models,
                        probe=probe,
                        with_sizes=not (probe or self.bounds_are_free),
                        packing=self._packing,
                        merged=merged,
                    )
                ),
            )
            found = self.problem.frequency.engine.row(statement, f"{kind} node {node}", values)
        _, suppressed, *more = found
        below, sizes = (suppressed, more) if self.monotone or of_rows else (more[0], more[1:])
        if sizes:
            published, *squares = map(int, sizes)
            rows, k = self.problem.frequency.rows, self.problem.k
            # A class that fails a model may be as large as the table, unless the only model is k rows.
            too_small = k - 1 if self.problem.only_counts_rows else rows
            self._sizes[node] = ClassSizes(rows, k, too_small, published, int(suppressed), *squares)
        return int(suppressed), int(below)

    def _source(self, node: Node, classes: RollUp | None) -> tuple[RollUp, bool]:
        """Return the source for counting the classes of a node, and whether it has each person in a class once."""
        source = classes or self.roll_ups.source(node)
        same = source.steps == self.problem.lattice.steps(node)
        return source, same and self.problem.frequency.has_people_once

    def _sketches_people(self, source: RollUp, *, merged: bool = False) -> bool:
        """Return True if ``people_query`` tests nodes on a relation; not if that has each person in a class once."""
        problem = self.problem
        return (
            not merged
            and 3 * source.tuples >= TUPLES_PER_STATEMENT  # detecting people takes longer
            and problem.frequency.has_people_once
            and problem.k <= MOST_SKETCHED
            and problem.frequency.engine.joins_masks
            and self.bounds_are_free
            and len(problem.models) == 1
            and isinstance(problem.models[0], KAnonymity)
        )

    def _masked(
        self, node: Node, relation: exp.Table, kind: str, query: Callable[[list[exp.Expr | int]], exp.Select]
    ) -> tuple[exp.Query, dict[str, int]]:
        """Return a query on the masks of a node, shared by all nodes that keep the same keys, and its masks."""
        masks = self.problem.frequency.masks(node)
        shape = (kind, relation.name, tuple(mask != 0 for mask in masks))
        if shape not in self._statements:
            self._statements[shape] = query(
                [exp.Placeholder(this=mask_name(key)) if mask else 0 for key, mask in enumerate(masks)]
            )
        return self._statements[shape], {mask_name(key): mask for key, mask in enumerate(masks) if mask}

    def _shares_tests(self, shared: SharedTests) -> bool:
        return self.problem.only_counts_rows and self.bounds_are_free and self.problem.k in shared.sizes

    def recall(self, shared: SharedTests) -> None:
        """Start with the results of searches with other k: good nodes, and lower bounds of suppression."""
        for node in shared.optima:
            self.test(node)
        for node, suppressed in shared.suppressed.items() if self._shares_tests(shared) else ():
            self._mark(node, suppressed[shared.sizes.index(self.problem.k)])

    def _shared_test(self, shared: SharedTests, node: Node, classes: RollUp | None) -> int:
        """Return the rows that a node suppresses, by one test for every k."""
        if node not in shared.suppressed:
            relation = (classes or self.roll_ups.source(node)).relation
            statement, values = self._masked(
                node, relation, "each k", lambda masks: rows_by_size_query(relation, masks, shared.sizes)
            )
            found = self.problem.frequency.engine.row(statement, f"test node {node} for each k", values)
            shared.suppressed[node] = tuple(map(int, found))
        return shared.suppressed[node][shared.sizes.index(self.problem.k)]

    def _exact_cost(self, node: Node, suppressed: int, classes: RollUp | None) -> Cost | float:
        problem = self.problem
        if (measure := problem.objective.of_classes) is not None:
            return measure.cost(self._sizes[node])
        if suppressed == 0:
            return problem.costs.generalization(node)
        if node not in self._exact:
            source, merged = self._source(node, classes)
            hidden = hidden_costs(
                problem.frequency,
                source.relation,
                node,
                self.models_of(node),
                problem.labels,
                problem.costs,
                self._packing,
                self._statements if self.known is None else {},
                merged=merged,
                few_apart=self._sketches_people(source, merged=merged),
            )
            self._exact[node] = problem.costs.with_suppression(node, suppressed, hidden)
        return self._exact[node]

    def _has_few_classes(self, node: Node) -> bool:
        """Return True if a table of the classes of a node costs next to nothing compared to counting them."""
        most = math.prod(labels[level] for labels, level in zip(self.problem.costs.labels, node, strict=True))
        return most <= self.roll_ups.source(node).tuples / MIN_TUPLES_PER_CLASS_TO_ROLL_UP

    def _roll_up_if_small(self, node: Node) -> RollUp | None:
        """Return the classes of a node as a table, if that costs no more than counting them and serves twice."""
        source = self.roll_ups.source(node)
        if self.known is not None or source.tuples < TUPLES_PER_STATEMENT or self._sketches_people(source):
            return None  # a test is cheaper
        return self.roll_ups.make(node) if self._has_few_classes(node) else None

    def _keep_if_best(self, classes: RollUp | None, *, became_best: bool) -> None:
        if became_best and self._best_classes is not None:
            self.roll_ups.drop(self._best_classes)
            self._best_classes = None
        if classes is not None and became_best:
            self.roll_ups.keep(classes)
            self._best_classes = classes
        elif classes is not None:
            self.roll_ups.drop(classes)

    def _mark(self, node: Node, suppressed: int) -> None:
        """Record a lower bound of the rows that a node suppresses, if that matters."""
        enough = min(suppressed, self._enough())
        if enough > self.suppresses_at_least(node):
            self._marks.add(node, enough)

    def _enough(self) -> int:
        """Return the number of suppressed rows that rules a node out at any level. More make no difference."""
        over_limit = self.problem.limit + 1
        if not self.bounds_are_free or self.best is None or not (full := sum(self.problem.costs.full)):
            return over_limit
        return min(over_limit, -int(-self.best[2] // full))
