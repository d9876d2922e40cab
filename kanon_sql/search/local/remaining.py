"""Local recoding, step by step, on a copy of the frequency set: published rows leave, the rest enters the next step.

kanon_assigned(key_0, [key_1, ...], n, [persons, entity], step)     step is NULL for remaining rows; plus the counts
                                                                     side by side (kanon_sql.classes.packing)
kanon_remaining                                                      the remaining rows, as a view
kanon_nodes(node, mask_0, [mask_1, ...])                             nodes that are tested, several at once
kanon_priced(key_0, [key_1, ...], n, [persons, entity], price, worth)   all rows, the loss of a row and of the tuple
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import TUPLES, key_name, mask_name
from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import (
    NODE,
    PROBED,
    classes_query,
    coded_columns,
    coded_members,
    is_published,
    node_query,
)
from kanon_sql.classes.packing import pack, pays
from kanon_sql.classes.recoding import Local
from kanon_sql.errors import NoSolutionError
from kanon_sql.measures.quality import STEP, local_cost
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

_LATE = 30  # steps from the end among which one may be left out
_TRIES = 6  # steps among these that are tried
_NODES = 10_000  # nodes of a lattice that is searched node by node
_PRICE, _WORTH = "price", "worth"

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.search.problem import Problem, SearchProgress


@dataclass(frozen=True)
class Publishable:
    """Rows and tuples that could be published at a node."""

    rows: int
    tuples: int | None  # tuples of the frequency set; None if unknown


@dataclass(frozen=True)
class Other:
    """The steps of another algorithm, to the end, and their cost."""

    algorithm: str
    steps: tuple[Node, ...]
    cost: int


def _listed(*names: str) -> exp.Select:
    """Return a query of rows whose columns are lists of integers, given by placeholders of the same names."""
    lists = (exp.Explode(this=sql.cast(exp.Placeholder(this=name), "BIGINT[]")) for name in names)
    return exp.select(*map(sql.named, lists, names))


class Remaining:
    """The rows that are not published yet."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.engine = problem.frequency.engine
        self.relation = self.engine.temporary_name("kanon_assigned")
        self._left = self.engine.temporary_name("kanon_remaining")
        self.steps: list[Node] = []
        self.instead: str | None = None
        self.seconds: dict[str, float] = {}
        self._tested: set[Node] = set()
        self._nodes: exp.Table | None = None
        self._numbers: dict[Node, int] = {}
        self._statements: dict[tuple[int, ...], exp.Update] = {}
        self.tuples = problem.frequency.tuples
        self._packing = pack(problem.frequency, problem.models)
        names = [*map(key_name, range(problem.frequency.keys)), *problem.frequency.counted]
        nothing = sql.named(sql.cast(exp.null(), "INTEGER"), STEP)
        everything = exp.select(*map(sql.column, names), nothing).from_(sql.aliased(problem.frequency.relation, TUPLES))
        if self._packing is not None:
            everything = self._packing.joined(everything.select(*self._packing.added()))
            names += self._packing.names
        self._names = names
        self.engine.run(sql.create_table(self.relation, everything, temporary=True), "all rows are left")
        left = exp.select(*map(sql.column, names)).from_(self.relation.copy())
        view = sql.create_table(self._left, left.where(sql.column(STEP).is_(exp.null())), temporary=True)
        view.set("kind", "VIEW")
        self.engine.run(view, "what is left")
        self._priced = self.engine.temporary_name("kanon_priced")

    neighbours = 60
    """Neighbours drawn per search for a step."""
    begins_with_path = False
    """True if the search for steps starts from the SPOLG steps that publish most; False if it starts from none."""

    @property
    def nodes_at_most(self) -> int:
        """Maximum size of a lattice that is searched node by node."""
        return _NODES

    @property
    def rows(self) -> int:
        return self.problem.frequency.rows - sum(self.published)

    @property
    def published(self) -> tuple[int, ...]:
        query = exp.select(STEP, sql.sum_of(sql.column(N))).from_(self.relation.copy()).group_by(STEP)
        rows = dict(self.engine.rows(query, "rows of each step"))
        return tuple(int(rows[number]) for number in range(1, len(self.steps) + 1))

    def rows_of(self, step: int) -> int:
        of_step = sql.column(STEP).eq(step)
        counted = exp.select(exp.Sum(this=sql.column(N))).from_(self.relation.copy()).where(of_step)
        (rows,) = self.engine.row(counted, f"rows of step {step}")
        return int(rows or 0)

    @property
    def tested(self) -> int:
        return len(self._tested)

    @cached_property
    def _saved_by(self) -> tuple[exp.Select, exp.Select]:
        """The query of the saving of one node, and that of several."""
        rows = exp.select().from_(sql.aliased(self._priced, "left_over"))
        price = sql.column(_PRICE, "left_over")
        names = [mask_name(key) for key in range(self.problem.frequency.keys)]
        late = exp.GT(this=price, expression=exp.Placeholder(this=_PRICE))
        one = [exp.Placeholder(this=name) for name in names]
        several = rows.join(_listed(NODE, _PRICE, *names).subquery("masks"), join_type="cross")
        of_each = [sql.column(name, "masks") for name in names]
        late_of_each = exp.GT(this=price.copy(), expression=sql.column(_PRICE, "masks"))
        return (
            self._publishable_query(rows.where(late), one, weight=sql.column(_WORTH)),
            self._by_node(several.where(late_of_each), of_each, weight=sql.column(_WORTH)),
        )

    def set_prices(self, prices: Sequence[int]) -> None:
        """Set the price of every row: that of its step, or the last price if it remains."""
        given = _listed(STEP, _PRICE).subquery("prices")
        step = exp.Coalesce(this=sql.column(STEP, self.relation.name), expressions=[exp.Placeholder(this="last")])
        worth = exp.Mul(this=sql.column(N), expression=sql.column(_PRICE))
        query = exp.select(*map(sql.column, [*self._names, _PRICE]), sql.named(worth, _WORTH)).from_(
            self.relation.copy()
        )
        query = query.join(given, on=sql.column(STEP, "prices").eq(step))
        values = {STEP: list(range(1, len(prices) + 1)), _PRICE: list(prices), "last": len(prices)}
        self.engine.run(sql.drop(self._priced), "drop what all rows lost")
        self.engine.rows(sql.create_table(self._priced, query, temporary=True), "what all rows lose", values)

    def worth(self, nodes: Sequence[Node], prices: Sequence[int]) -> list[tuple[int, int]]:
        """Return, for each node, the number of rows it would publish that have a higher price, and the sum of prices.

        One statement for all of them.
        """
        self._tested.update(nodes)
        masks = zip(*map(self.problem.frequency.masks, nodes), strict=True)
        values = {NODE: list(range(len(nodes))), _PRICE: list(prices)}
        values |= {mask_name(key): list(own) for key, own in enumerate(masks)}
        if len(nodes) == 1:
            own = {name: one for name, (one,) in values.items() if name != NODE}
            rows, worth = self.engine.row(self._saved_by[0], f"what {nodes[0]} would save", own)
            return [(int(rows or 0), int(worth or 0))]
        found = self.engine.rows(self._saved_by[1], f"what {len(nodes)} nodes would save", values)
        answers = {number: (int(rows), int(worth)) for rows, worth, number in found}
        return [answers.get(number, (0, 0)) for number in range(len(nodes))]

    def will_test(self, nodes: Sequence[Node]) -> None:
        frequency = self.problem.frequency
        self._nodes = self.engine.temporary_name("kanon_nodes")
        self._numbers = {node: number for number, node in enumerate(nodes)}
        masks = list(zip(*(frequency.masks(node) for node in nodes), strict=True))
        columns = {NODE: range(len(nodes))} | {mask_name(key): masks[key] for key in range(frequency.keys)}
        self.engine.load(self._nodes, columns, "masks of the nodes", "BIGINT")
        numbers = exp.select(exp.Explode(this=sql.cast(exp.Placeholder(this="nodes"), "BIGINT[]")))
        some = exp.select("*").from_(self._nodes.copy())
        some = some.where(exp.In(this=sql.column(NODE), query=numbers.subquery()))
        rows = exp.select().from_(sql.aliased(self._left, "left_over")).join(some.subquery("masks"), join_type="cross")
        names = [sql.column(mask_name(key), "masks") for key in range(frequency.keys)]
        self._test = self._by_node(rows, names)

    def publishable(self, nodes: Sequence[Node]) -> list[Publishable]:
        """Return how much could be published at each of several nodes of ``will_test``, in one statement."""
        self._tested.update(nodes)
        numbers = [self._numbers[node] for node in nodes]
        found = self.engine.rows(self._test, f"test {len(nodes)} nodes", {"nodes": numbers})
        answers = {number: Publishable(int(rows), int(tuples)) for rows, tuples, number in found}
        return [answers.get(number, Publishable(0, 0)) for number in numbers]

    def publishable_by_probe(self, node: Node) -> Publishable:
        """Estimate how many rows could be published at a node, from a sample of its classes."""
        self._tested.add(node)
        masks = self.problem.frequency.masks(node)
        query = node_query(self._left, masks, self.problem.models, probe=True, packing=self._packing)
        counted = query.select(sql.where(exp.Sum(this=sql.column(N)), is_published(self.problem.models)))
        *_, rows = self.engine.row(counted, f"probe the remaining rows at {node}")
        return Publishable(int(rows or 0) * PROBED, None)

    def _by_node(self, rows: exp.Select, masks: Sequence[exp.Expr], weight: exp.Expr | None = None) -> exp.Select:
        """Return ``_publishable_query`` of several nodes, each with its number, of rows joined to their masks."""
        node = sql.column(NODE, "masks")
        query = self._publishable_query(rows, masks, [sql.named(node, NODE)], weight)
        return query.select(sql.column(NODE)).group_by(sql.column(NODE))

    def _publishable_query(
        self, rows: exp.Select, masks: Sequence[exp.Expr], node: Sequence[exp.Expr] = (), weight: exp.Expr | None = None
    ) -> exp.Select:
        """Return the query of rows, and tuples or their weights, in classes that could be published, for each node."""
        models = self.problem.models
        keys = [sql.column(key_name(key), "left_over") for key in range(len(masks))]
        masked = [exp.BitwiseAnd(this=key, expression=mask) for key, mask in zip(keys, masks, strict=True)]
        named = [sql.named(key, key_name(number)) for number, key in enumerate(masked)]
        members = coded_members(rows, [*node, *named], packing=self._packing, weight=weight)
        classes = measured_query(members, models, coded_columns(models, tuples=True))
        totals = [exp.Sum(this=sql.column(N)), exp.Sum(this=sql.column("tuples"))]
        return exp.select(*totals).from_(classes.subquery("classes")).where(is_published(models))

    def publish(self, node: Node) -> int:
        """Publish at a node, as the next step. Return the number of published tuples; with none, it is not a step."""
        self._tested.add(node)
        masks = self.problem.frequency.masks(node)
        kept = tuple(key for key, mask in enumerate(masks) if mask) or (0,)
        if kept not in self._statements:  # hundreds of steps share a statement
            self._statements[kept] = self._update(kept)
        number = len(self.steps) + 1
        values = {STEP: number} | {mask_name(key): masks[key] for key in kept}
        title = f"step {number}: publish at {node}"
        (changed,) = self.engine.row(self._statements[kept], title, values)  # updated tuples
        if changed:
            self.steps.append(node)
            self.tuples -= changed
        return int(changed)

    def _update(self, kept: tuple[int, ...]) -> exp.Update:
        """Return the statement of a step, for nodes whose masks keep some bits of these keys."""
        models = self.problem.models
        places = [exp.Placeholder(this=mask_name(key)) if key in kept else 0 for key in range(max(kept) + 1)]
        packing = self._packing if pays(models, self.tuples) else None
        classes = classes_query(self._left, places, models, packing=packing).subquery("classes")
        large = exp.select(*(sql.column(key_name(key)) for key in kept)).from_(classes).where(is_published(models))
        same = []
        for key in kept:
            own = exp.BitwiseAnd(
                this=sql.column(key_name(key), self.relation.name), expression=sql.literal(places[key])
            )
            same.append(sql.column(key_name(key), "large").eq(exp.Paren(this=own)))
        found = exp.select(sql.literal(1)).from_(large.subquery("large")).where(*same)
        left = sql.column(STEP).is_(exp.null())
        return exp.Update(
            this=self.relation.copy(),
            expressions=[sql.column(STEP).eq(exp.Placeholder(this=STEP))],
            where=exp.Where(this=exp.and_(left, exp.Exists(this=found))),
        )

    def take_back(self) -> None:
        """Undo the last step: its rows remain again."""
        self.steps.pop()
        self.forget_later_steps()

    def forget_later_steps(self) -> None:
        """Reset the step of tuples whose step is not, or no longer, among the steps."""
        later = sql.column(STEP) > len(self.steps)
        update = exp.update(self.relation.copy(), {STEP: exp.null()}, where=later)
        (changed,) = self.engine.row(update, f"take back what comes after step {len(self.steps)}")
        self.tuples += changed

    def finish(self) -> None:
        """Publish the remaining rows at the root. If too many rows remain even then, drop the steps that caused it.

        1. At the root all remaining rows are one class. It may be too small to publish and too large to suppress.
        2. Then leave one of the last steps out: its rows go to later steps and to the root. Among the steps with the
           fewest rows, drop the one without which the recoding costs least.
        3. If no single step will do, undo steps from the end: without any, all rows are one class.
        """
        top = self.problem.lattice.top
        # 0. The statement of a step may have ended just when the search was stopped.
        self.forget_later_steps()
        # 1. The root.
        self.publish(top)
        if self.rows <= self.problem.limit:
            return
        # 2. Without one step.
        whole = [node for node in self.steps if node != top]
        late = range(max(0, len(whole) - _LATE), len(whole))  # leaving out an early step repeats many
        published = self.published
        fewest = sorted(late, key=lambda number: published[number])[:_TRIES]
        found = []
        for number in fewest:
            steps = [*whole[:number], *whole[number + 1 :], top]
            self.go(steps)
            if self.rows <= self.problem.limit:
                found.append((self.cost(), steps))
        if found:
            self.go(min(found)[1])
            return
        # 3. Without the last ones.
        for kept in range(len(whole) - 1, -1, -1):
            self.go([*whole[:kept], top])
            if self.rows <= self.problem.limit:
                return
        raise NoSolutionError(
            "The rows left at the end form no class that the privacy models allow, and more than may be suppressed: "
            "use --algorithm optimal, ask for less, or allow more to be suppressed."
        )

    def finished(self, algorithm: str) -> list[Other]:
        """Return the steps, with the remaining rows at the root, as those of another algorithm; none if impossible."""
        try:
            self.finish()
        except NoSolutionError:
            return []
        return [Other(algorithm, tuple(self.steps), self.cost())]

    def begin(self, progress: SearchProgress | None) -> list[Other]:  # noqa: ARG002 - a subclass reports by it
        """Return the steps of an algorithm that is run before ``local``, if there is one."""
        return []

    def begin_again(self) -> None:
        """Reset: all rows remain."""
        self.go([])

    def take_cheapest(self, others: Sequence[Other]) -> None:
        """Replace the steps by those of another algorithm if these cost less in the end; record its name."""
        own = self.finished("local")
        best = min([*own, *others], key=lambda one: one.cost, default=None)
        if best is not None and best not in own:
            self.go(best.steps)
            self.instead = best.algorithm

    def cost(self) -> int:
        """Return the cost of the steps and the remaining rows, in units of ``Problem.costs``."""
        problem = self.problem
        if not self.steps:
            return problem.frequency.rows * sum(problem.costs.full)
        recoding = Local(tuple(self.steps))
        return local_cost(problem.frequency, self.relation, recoding, problem.labels, problem.costs)

    def go(self, steps: Sequence[Node]) -> None:
        """Switch to other steps, from the first difference to the current ones."""
        common = next(
            (place for place, (one, other) in enumerate(zip(self.steps, steps, strict=False)) if one != other),
            min(len(self.steps), len(steps)),
        )
        del self.steps[common:]
        self.forget_later_steps()
        for node in steps[common:]:
            self.publish(node)

    def close(self) -> None:
        """Drop the view, the nodes and the prices; the copy is kept for measuring."""
        self.engine.run(sql.drop(self._priced), "drop what all rows lost")
        if self._nodes is not None:
            self.engine.run(sql.drop(self._nodes), "drop the masks of the nodes")
        if self._packing is not None:
            self._packing.drop(self.engine)
        self.engine.run(exp.Drop(tables=[self._left.copy()], kind="VIEW", exists=True), "drop the rows that were left")
