"""Every algorithm on many worlds of one small table, without a statement for each: for ``oracles/choice.py``.

Full-domain and local recoding are kanon's own search functions (``optimal``, ``local``, ``Remaining.finish``, ...) on
classes that are counted here in plain Python instead of in the database. Mondrian decides in SQL, and is written again
in ``choice_cuts.py``. ``tests/risks/test_choice_oracle.py`` compares all of them with ``kanon.anonymize``.

To measure a new version of an algorithm, write a function from a world to a release (``choice.each``), or a subclass of
``Replay``. Quasi-identifiers are texts with a tree each, no NULLs; a label stands on one level of its tree only.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brute_force
import duckdb
from choice import People, published
from choice_cuts import BestCuts, MedianCuts
from rows import create_table, released_rows
from sqlglot import exp
from strategies import write_hierarchy

import kanon_sql as kanon
from kanon_sql.classes.frequency import key_name
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.local.local import local
from kanon_sql.search.local.remaining import Publishable, Remaining
from kanon_sql.search.local.spolg import path
from kanon_sql.search.prepare import problem_of
from kanon_sql.search.run import _function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from fractions import Fraction
    from random import Random
    from typing import Self

    from choice import Counts, Release, Row, World

    from kanon_sql.classes.lattice import Node
    from kanon_sql.search.problem import Problem

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Asked:
    """What a release has to satisfy.

    Attributes:
        k: rows of a class at least.
        l: different values of a class at least.
        alpha: the largest share of a value, if it is asked.
        max_suppressed: rows that may be suppressed.
    """

    k: int
    l: int = 1  # noqa: E741 - its name
    alpha: float | None = None
    max_suppressed: int = 0

    @property
    def models(self) -> list[Any]:
        models: list[Any] = [kanon.KAnonymity(self.k)]
        if self.l > 1:
            models.append(kanon.DistinctLDiversity(l=self.l))
        if self.alpha is not None:
            models.append(kanon.AlphaKAnonymity(alpha=self.alpha))
        return models

    def may_try(self, counts: Counts, sizes: Sequence[int]) -> bool:
        """Return True if a part with these values may be cut into sides of these sizes (choice "all-or-none").

        Either no side can fail, or each person has as many possible values as is asked if one does.
        """
        alpha = 1 if self.alpha is None else ceil(1 / self.alpha - TOLERANCE)
        wanted = max(2, self.l, alpha)
        ranked = sorted((value for value, n in enumerate(counts) if n), key=lambda value: (-counts[value], value))
        own, left = [0] * len(sizes), [0] * len(sizes)
        for side, size in enumerate(sizes):
            for lead in ranked[:wanted]:
                filled, room = [0] * len(counts), size
                for value in [lead, *(value for value in ranked if value != lead)]:
                    filled[value] = min(room, counts[value])
                    room -= filled[value]
                if not self.met(tuple(filled)):
                    own[side] += 1
                    left[side] = max(left[side], sum(n > taken for n, taken in zip(counts, filled, strict=True)))
        if not any(own):
            return True
        others = [max(left[:side] + left[side + 1 :]) for side in range(len(sizes))]
        return all(max(one, other) >= wanted for one, other in zip(own, others, strict=True))

    def met(self, counts: Counts) -> bool:
        """Return True if a class with these values may be published."""
        rows = sum(counts)
        if rows < self.k or sum(map(bool, counts)) < self.l:
            return False
        return self.alpha is None or max(counts) / rows <= self.alpha + TOLERANCE


@dataclass
class Table:
    """A small table.

    Attributes:
        rows: the quasi-identifiers of each row.
        sensitive: the sensitive value of each: 0, 1, ...
        trees: of the quasi-identifiers.
    """

    rows: list[Row]
    sensitive: list[int]
    trees: list[brute_force.Hierarchy]
    people: People = field(init=False)
    truth: World = field(init=False)

    def __post_init__(self) -> None:
        self.people, self.truth = People.of(self.rows, self.sensitive)

    @property
    def names(self) -> list[str]:
        return [f"q{number}" for number in range(len(self.trees))]

    @property
    def whole(self) -> Counts:
        """The sensitive values of the whole table."""
        return tuple(self.sensitive.count(value) for value in range(self.people.values))

    @cached_property
    def nodes(self) -> list[Node]:
        return brute_force.all_nodes(self.trees)

    @cached_property
    def labels(self) -> dict[Node, list[Row]]:
        """The labels of each tuple at each node."""
        return {
            node: [brute_force.label_of(self.trees, own, node) for own in self.people.tuples] for node in self.nodes
        }

    def costs(self, tuple_number: int, node: Node) -> list[Fraction]:
        """Return the loss of each cell of a tuple at a node."""
        return [
            brute_force.cell_cost(tree, set(tree), level, cell)
            for tree, level, cell in zip(self.trees, node, self.labels[node][tuple_number], strict=True)
        ]

    def rows_of(self, world: World) -> tuple[list[Row], list[int]]:
        """Return the rows of a world, and the sensitive value of each."""
        rows, sensitive = [], []
        for own, counts in zip(self.people.tuples, world, strict=True):
            for value, count in enumerate(counts):
                rows += [own] * count
                sensitive += [value] * count
        return rows, sensitive


def random_table(random: Random, *, values: int, rows: tuple[int, int] = (8, 14)) -> Table:
    """Return a table with one or two quasi-identifiers, and at most so many sensitive values of unequal frequency."""
    trees = [_random_tree(random, letter) for letter in "ab"[: random.choice([1, 2, 2])]]
    n = random.randint(*rows)
    weights = [[random.random() + 0.2 for _ in tree] for tree in trees]
    columns = [random.choices(list(tree), own, k=n) for tree, own in zip(trees, weights, strict=True)]
    odds = [random.random() + 0.3 for _ in range(values)]
    drawn = random.choices(range(values), odds, k=n)
    numbers = {value: number for number, value in enumerate(sorted(set(drawn)))}
    return Table(list(zip(*columns, strict=True)), [numbers[value] for value in drawn], trees)


def _random_tree(random: Random, letter: str) -> brute_force.Hierarchy:
    """Return a tree of two to six values and one to three levels."""
    leaves = random.randint(2, 6)
    height = random.randint(1, 3 if leaves > 3 else 2 if leaves > 2 else 1)
    groups = list(range(leaves))
    above: list[list[str]] = [[] for _ in groups]
    for level in range(1, height):
        count = max(2, (len(set(groups)) + 1) // 2)
        map_to = {group: place if place < count else random.randrange(count) for place, group in enumerate(
            random.sample(sorted(set(groups)), len(set(groups))))}  # fmt: skip
        groups = [map_to[group] for group in groups]
        for leaf, group in enumerate(groups):
            above[leaf].append(f"{letter.upper()}{level}{group}")
    return {f"{letter}{leaf}": [*above[leaf], "*"] for leaf in range(leaves)}


def by_kanon(
    table: Table, asked: Asked, algorithm: str, world: World, choice: str = "greedy", **settings: Any
) -> Release | None:
    """Return the release that kanon makes of a world; None if it refuses it."""
    rows, sensitive = table.rows_of(world)
    with tempfile.TemporaryDirectory() as directory, _database(table, rows, sensitive) as connection:
        try:
            release = kanon.anonymize(
                connection, "people", algorithm=algorithm, choice=choice, seed=1,
                **_asked(table, asked, Path(directory)), max_suppressed=f"{asked.max_suppressed} rows", **settings,
            )  # fmt: skip
        except kanon.NoSolutionError:
            return None
        with release:
            found: dict[Row, list[int]] = {}
            for *labels, value in released_rows(release):
                found.setdefault(tuple(labels), [0] * table.people.values)[int(value)] += 1
    return frozenset((label, tuple(counts)) for label, counts in found.items())


def _database(table: Table, rows: list[Row], sensitive: list[int]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    columns = {name: ("VARCHAR", [row[n] for row in rows]) for n, name in enumerate(table.names)}
    create_table(connection, "people", {**columns, "s": ("VARCHAR", [str(value) for value in sensitive])})
    return connection


def _asked(table: Table, asked: Asked, directory: Path) -> dict[str, Any]:
    paths = {}
    for name, tree in zip(table.names, table.trees, strict=True):
        paths[name] = str(directory / f"{name}.csv")
        write_hierarchy(directory / f"{name}.csv", tree)
    return {
        "quasi_identifiers": table.names,
        "sensitive": ["s"],
        "hierarchies": paths,
        "models": asked.models,
        "count": "rows",
    }


class Replay:
    """An algorithm on the worlds of one table; close it at the end."""

    def __init__(self, table: Table, asked: Asked) -> None:
        self.table, self.asked = table, asked
        with tempfile.TemporaryDirectory() as directory:
            self._connection = _database(table, table.rows, table.sensitive)
            given = _asked(table, asked, Path(directory))
            self._prepared = kanon.prepare(self._connection, "people", **given)
            policy = kanon.Policy(
                columns=kanon.NamedColumns(quasi_identifiers=tuple(table.names), sensitive=("s",)),
                models=tuple(asked.models),
                hierarchies=given["hierarchies"],
                max_suppressed=f"{asked.max_suppressed} rows",
                algorithm="optimal",
                count="rows",
            )
            self.problem = problem_of(self._prepared.prepared, policy)
        self._classes = {node: _classes(labels) for node, labels in table.labels.items()}
        full = self.problem.costs.full
        self.cost_of = {
            node: [
                [int(share * one) for share, one in zip(table.costs(number, node), full, strict=True)]
                for number in range(len(table.people.tuples))
            ]
            for node in table.nodes
        }
        for node in table.nodes:
            total = sum(n * sum(own) for n, own in zip(table.people.counts, self.cost_of[node], strict=True))
            assert total == self.problem.costs.generalization(node)
        self._nodes_by_signature: dict[tuple[str, Any], Node | None] = {}

    def close(self) -> None:
        self._prepared.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def releases_of(
        self, algorithm: str, choice: str = "greedy"
    ) -> Callable[[Sequence[World]], Iterable[Release | None]]:
        """Return a function from worlds to releases, for ``choice.outcome``."""
        self._choice = choice
        one = {"local": self._local, "multidimensional": self._cut, "full-domain": self._full_domain}[
            ALGORITHMS[algorithm].kind
        ]

        def releases(worlds: Sequence[World]) -> Iterator[Release | None]:
            for world in worlds:
                labels = one(algorithm, world)
                yield None if labels is None else published(labels, world)

        return releases

    def steps_of(self, algorithm: str) -> list[Node]:
        """Return the steps that local recoding takes in the true world."""
        assert self._local(algorithm, self.table.truth) is not None
        return self._steps

    def tuples_query(self) -> exp.Select:
        """Return the query of the codes of all tuples: quasi-identifiers, sensitive value, rows."""
        frequency = self.problem.frequency
        (code,) = [model.coding.code for model in self.problem.models if isinstance(model, SensitiveModel)]
        return exp.select(*map(key_name, range(frequency.keys)), code, "n").from_(frequency.relation.copy())

    # Full-domain recoding

    def _full_domain(self, algorithm: str, world: World) -> list[Row | None] | None:
        tests = {}
        for node, classes in self._classes.items():
            tests[node] = tuple(_judged(self.asked, _summed(world, numbers)) for numbers in classes.values())
        signature = tuple(tests.values())
        if (algorithm, signature) not in self._nodes_by_signature:
            self._nodes_by_signature[algorithm, signature] = self._node(algorithm, tests)
        chosen = self._nodes_by_signature[algorithm, signature]
        if chosen is None:
            return None
        labels: list[Row | None] = list(self.table.labels[chosen])
        for numbers, (_, met, _) in zip(self._classes[chosen].values(), tests[chosen], strict=True):
            if not met:
                for number in numbers:
                    labels[number] = None
        return labels

    def _node(self, algorithm: str, tests: dict[Node, tuple[Judged, ...]]) -> Node | None:
        evidence = _PlainEvidence(self.problem, self, tests)
        try:
            evidence.require_top()
            evidence._expects_many = True  # noqa: SLF001 - what expect_many does beside tables
            node: Node = _function(algorithm)(evidence, None)
            assert not isinstance(evidence.cost(node), float)
        except kanon.NoSolutionError:
            return None
        return node

    def hidden(self, node: Node, tests: tuple[Judged, ...]) -> list[int]:
        """Return what the suppressed rows of a node would cost in each column."""
        hidden = [0] * len(node)
        for numbers, (_, met, _) in zip(self._classes[node].values(), tests, strict=True):
            for number in () if met else numbers:
                for column, cost in enumerate(self.cost_of[node][number]):
                    hidden[column] += self.table.people.counts[number] * cost
        return hidden

    # Local recoding

    @cached_property
    def spolg_path(self) -> list[Node]:
        return path(self.problem)

    def _local(self, algorithm: str, world: World) -> list[Row | None] | None:
        top = _summed(world, range(len(world)))
        if _judged(self.asked, top)[2] == 0 and sum(top) > self.problem.limit:
            return None
        if self.asked.alpha is None and not self.asked.met(top):
            return None
        if sum(top) - _judged(self.asked, top)[2] > self.problem.limit:
            return None
        remaining = PlainRemaining(self, world)
        try:
            if algorithm == "local":
                local(remaining)
            else:
                for node in self.spolg_path:
                    if remaining.tuples:
                        remaining.publish(node)
            remaining.finish()
        except kanon.NoSolutionError:
            return None
        self._steps = list(remaining.steps)
        return [
            None if step is None else self.table.labels[remaining.steps[step - 1]][number]
            for number, step in enumerate(remaining.assigned)
        ]

    # Mondrian

    def _cut(self, algorithm: str, world: World) -> list[Row | None] | None:
        whole = frozenset(range(len(world)))
        if not self.asked.met(_summed(world, whole)):
            return None
        cuts = self._plus if algorithm == "mondrian-plus" else self._plain

        def may_try(part: frozenset[int], sides: tuple[frozenset[int], ...]) -> bool:
            return self.asked.may_try(_summed(world, part), [cuts.size(side) for side in sides])

        met = lambda part: self.asked.met(_summed(world, part))  # noqa: E731 - beside the one above
        parts = cuts.parts(met, None if self._choice == "greedy" else may_try)
        labels: list[Row | None] = [None] * len(world)
        for part in parts:
            label = cuts.label(part)
            for number in part:
                labels[number] = label
        return labels

    @cached_property
    def _k(self) -> int:
        return self.problem.k

    @cached_property
    def _plain(self) -> MedianCuts:
        return MedianCuts(self.table, self._k)

    @cached_property
    def _plus(self) -> BestCuts:
        return BestCuts(self.table, self._k)


Judged = tuple[int, bool, int]
"""Rows of a class, whether it may be published, and how many of its rows any node below can publish at most."""


def _judged(asked: Asked, counts: Counts) -> Judged:
    rows, met = sum(counts), asked.met(counts)
    if met:
        return rows, True, rows
    if rows < asked.k or sum(map(bool, counts)) < asked.l or asked.alpha is None:
        return rows, False, 0
    bound = (rows - max(counts)) / (1 - asked.alpha - 4 * TOLERANCE)
    most = min(rows - 1, bound)
    least = max(asked.k, asked.models[-1].least_rows)
    return rows, False, 0 if most < least - 1e-6 else int(most + 1e-6)


def _classes(labels: list[Row]) -> dict[Row, list[int]]:
    classes: dict[Row, list[int]] = {}
    for number, label in enumerate(labels):
        classes.setdefault(label, []).append(number)
    return classes


def _summed(world: World, numbers: Iterable[int]) -> Counts:
    return tuple(map(sum, zip(*(world[number] for number in numbers), strict=True)))


class _PlainEvidence(Evidence):
    """Tests of nodes whose classes were counted before."""

    def __init__(self, problem: Problem, replay: Replay, tests: dict[Node, tuple[Judged, ...]]) -> None:
        super().__init__(problem)
        self._joins_masks = False
        self._replay, self._tests = replay, tests

    def _why_not(self) -> str:
        return ""

    def _count_suppressed(
        self, node: Node, classes: Any, *, probe: bool = False, of_rows: Sequence[Any] = ()
    ) -> tuple[int, int]:
        assert classes is None
        assert not probe
        if of_rows:
            suppressed = sum(rows for rows, _, _ in self._tests[node] if rows < self._replay.asked.k)
            return suppressed, suppressed
        suppressed = sum(rows for rows, met, _ in self._tests[node] if not met)
        below = sum(rows - most for rows, _, most in self._tests[node])
        return suppressed, suppressed if self.monotone else below

    def _exact_cost(self, node: Node, suppressed: int, classes: Any) -> int:
        assert classes is None
        costs = self.problem.costs
        return costs.with_suppression(node, suppressed, self._replay.hidden(node, self._tests[node]))


class PlainRemaining(Remaining):
    """The rows that are not published yet, as a list with the step of each tuple."""

    def __init__(self, replay: Replay, world: World) -> None:  # none of the tables of a Remaining
        self.problem = replay.problem
        self.replay, self.world = replay, world
        self.steps: list[Node] = []
        self.instead = None
        self.seconds = {}
        self._tested = set()
        self.assigned: list[int | None] = [None] * len(world)
        self.tuples = len(world)

    def _publishable(self, node: Node) -> list[int]:
        labels = self.replay.table.labels[node]
        classes: dict[Row, list[int]] = {}
        for number, step in enumerate(self.assigned):
            if step is None:
                classes.setdefault(labels[number], []).append(number)
        return [
            number
            for numbers in classes.values()
            if self.replay.asked.met(_summed(self.world, numbers))
            for number in numbers
        ]

    @property
    def published(self) -> tuple[int, ...]:
        return tuple(map(self.rows_of, range(1, len(self.steps) + 1)))

    def rows_of(self, step: int) -> int:
        counts = self.replay.table.people.counts
        return sum(n for n, own in zip(counts, self.assigned, strict=True) if own == step)

    def will_test(self, nodes: Sequence[Node]) -> None:
        pass

    def publishable(self, nodes: Sequence[Node]) -> list[Publishable]:
        counts = self.replay.table.people.counts
        found = [self._publishable(node) for node in nodes]
        return [Publishable(sum(counts[number] for number in numbers), len(numbers)) for numbers in found]

    def publish(self, node: Node) -> int:
        found = self._publishable(node)
        for number in found:
            self.assigned[number] = len(self.steps) + 1
        if found:
            self.steps.append(node)
            self.tuples -= len(found)
        return len(found)

    def forget_later_steps(self) -> None:
        self.assigned = [step if step is not None and step <= len(self.steps) else None for step in self.assigned]
        self.tuples = sum(step is None for step in self.assigned)

    def cost(self) -> int:
        counts, full = self.replay.table.people.counts, sum(self.problem.costs.full)
        return sum(
            n * (full if step is None else sum(self.replay.cost_of[self.steps[step - 1]][number]))
            for number, (n, step) in enumerate(zip(counts, self.assigned, strict=True))
        )


def random_world(random: Random, people: People) -> World:
    """Return a world in which each person has any value."""
    world = []
    for n in people.counts:
        drawn = random.choices(range(people.values), k=n)
        world.append(tuple(drawn.count(value) for value in range(people.values)))
    return tuple(world)


def settings(algorithm: str, asked: Iterable[Asked]) -> Iterator[Asked]:
    """Return those of some settings that an algorithm takes."""
    for one in asked:
        if one.alpha is not None and one.max_suppressed and algorithm in {"incognito", "samarati", "samarati-first"}:
            continue
        if one.max_suppressed and ALGORITHMS[algorithm].kind == "multidimensional":
            continue  # nothing is suppressed
        yield one
