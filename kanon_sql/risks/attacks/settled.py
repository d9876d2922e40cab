"""The classes that a person can be in, of those whose labels cover the person: classes that others fill are ruled out.

Every row of a release is a row of its original.

1. If a class has as many rows as fit it, it has them all, and they are in no other class. If a class is filled by rows
   that fit no other class, it has no room for others. SQL repeats this until nothing changes (``settled_pairs``), which
   settles releases of local recoding if no row was left out.
2. The rest is settled exactly if that takes few steps (``_possible_classes``). Rows that fit the same classes are a
   set; each of its rows is in one of these classes, or left out. An assignment gives each class as many rows as it has.
   One is made by augmenting paths. Any other one differs from it by cycles. So a pair of a set and a class that it does
   not have is possible if and only if both ends are in the same strongly connected component of the possible moves.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.models.base import N
from kanon_sql.risks.temporary import TemporaryTables
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Engine

    Node = tuple[bool, int]

_MOST_STEPS = 10_000_000
"""Number of pairs to check before the search gives up: a few seconds."""
_OUT = -1
"""The class of rows that are left out."""


class _TooLongError(Exception):
    """No answer within the limit of steps."""


class _NoAssignmentError(Exception):
    """The rows of the release cannot all be rows of this original."""


def _possible_classes(
    sets: Sequence[tuple[int, Sequence[int]]], sizes: Mapping[int, int], left_out: int
) -> list[list[int]] | None:
    """Return for each set of rows the classes that its rows are in by some assignment; None after too many steps.

    A set has a number of rows and the classes that they fit. Raises _NoAssignmentError if no assignment exists.
    """
    assignment = _Assignment(sets, dict(sizes) | {_OUT: left_out})
    try:
        if not assignment.fill():
            raise _NoAssignmentError
        own_set, own_class = assignment.components()
    except _TooLongError:
        return None
    return [
        [each for each in classes if assignment.rows[number].get(each) or own_class[each] == own_set[number]]
        for number, (_, classes) in enumerate(sets)
    ]


class _Assignment:
    """The number of rows of each set in each class."""

    def __init__(self, sets: Sequence[tuple[int, Sequence[int]]], sizes: dict[int, int]) -> None:
        self.fits = [[*classes, _OUT] for _, classes in sets]
        self.waiting = [rows for rows, _ in sets]
        self.room = sizes
        self.rows: list[dict[int, int]] = [{} for _ in sets]
        self.inside: dict[int, set[int]] = {each: set() for each in sizes}
        self.fitting: dict[int, list[int]] = {each: [] for each in sizes}
        for number, classes in enumerate(self.fits):
            for each in classes:
                self.fitting[each].append(number)
        self._steps = 0

    def fill(self) -> bool:
        if sum(self.waiting) != sum(self.room.values()) or self.room[_OUT] < 0:
            return False
        for number in sorted(range(len(self.fits)), key=lambda number: len(self.fits[number])):
            for each in self.fits[number]:
                self._move(number, each, min(self.waiting[number], self.room[each]))
        return all(self._place(number) for number in range(len(self.fits)))

    def components(self) -> tuple[list[int], dict[int, int]]:
        """Return the number of the strongly connected component of each set, and of each class (Kosaraju 1978)."""
        every: list[Node] = [(True, number) for number in range(len(self.fits))]
        every += [(False, each) for each in self.room]
        ended = [node for walk in self._walks(every, self._next) for node in walk]
        component: dict[Node, int] = {}
        for number, walk in enumerate(self._walks(reversed(ended), self._before)):
            component.update(dict.fromkeys(walk, number))
        of_sets = [component[True, number] for number in range(len(self.fits))]
        return of_sets, {each: component[False, each] for each in self.room}

    def _walks(self, roots: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> Iterator[list[Node]]:
        """Search depth-first from each root that was not visited yet; yield the visited nodes in postorder."""
        seen: set[Node] = set()
        for root in roots:
            if root in seen:
                continue
            seen.add(root)
            left, way = [], [(root, iter(following(root)))]
            while way:
                node, others = way[-1]
                other = next((each for each in others if each not in seen), None)
                if other is None:
                    left.append(node)
                    way.pop()
                else:
                    seen.add(other)
                    way.append((other, iter(following(other))))
            yield left

    def _next(self, node: Node) -> Iterator[Node]:
        """Yield where a row can be moved: from a set to a class that it fits, from there to a set that is in it."""
        is_set, number = node
        for other in self.fits[number] if is_set else self.inside[number]:
            self._step()
            yield not is_set, other

    def _before(self, node: Node) -> Iterator[Node]:
        is_set, number = node
        for other in [each for each, rows in self.rows[number].items() if rows] if is_set else self.fitting[number]:
            self._step()
            yield not is_set, other

    def _place(self, number: int) -> bool:
        """Place the waiting rows of a set by moving others; return True if that is possible."""
        while self.waiting[number]:
            before: dict[int, int] = {}  # class: the set from which it was reached
            came: dict[int, int] = {}  # set: the class from which it was reached
            found = self._reach(number, before, came)
            if found is None:
                return False
            path, most, each = [], self.room[found], found
            while True:
                taker = before[each]
                path.append((taker, each))
                if taker == number:
                    break
                each = came[taker]
                most = min(most, self.rows[taker][each])
            most = min(most, self.waiting[number])
            for taker, each in path:
                if taker != number:
                    self._leave(taker, came[taker], most)
                self._move(taker, each, most)
        return True

    def _reach(self, number: int, before: dict[int, int], came: dict[int, int]) -> int | None:
        """Return a class with room that rows of a set can reach."""
        waiting = deque([number])
        while waiting:
            own = waiting.popleft()
            for each in self.fits[own]:
                self._step()
                if each in before:
                    continue
                before[each] = own
                if self.room[each]:
                    return each
                for other in self.inside[each]:
                    self._step()
                    if other != number and other not in came:
                        came[other] = each
                        waiting.append(other)
        return None

    def _move(self, number: int, each: int, rows: int) -> None:
        if rows:
            self.waiting[number] -= rows
            self.room[each] -= rows
            self.rows[number][each] = self.rows[number].get(each, 0) + rows
            self.inside[each].add(number)

    def _leave(self, number: int, each: int, rows: int) -> None:
        self.waiting[number] += rows
        self.room[each] += rows
        self.rows[number][each] -= rows
        if not self.rows[number][each]:
            self.inside[each].remove(number)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooLongError


_CLASS, _NUMBER = "class", "number"
_MOST_PAIRS = 1_000_000
"""Number of pairs of tuples and classes up to which they are settled exactly."""


@dataclass(frozen=True)
class Settled:
    """The classes that tuples can be in."""

    pairs: exp.Table  # each tuple with each of its remaining classes
    exact: bool  # whether each of them is possible, given where all other rows must be
    certain: bool  # whether no tuple has several
    contradicted: bool  # True if the rows of the release are seen not to be all rows of this original


def settle(engine: Engine, people_tuples: exp.Table, classes: exp.Table, covered: exp.Table) -> Settled:
    """Return the classes that tuples can be in.

    If the rows of the release cannot all be rows of this original, nothing is ruled out. ``covered`` has each tuple
    with each class whose labels cover it; it is dropped, unless nothing is ruled out.
    """
    tables = TemporaryTables(engine, tuples=people_tuples, classes=classes, pairs=covered)
    fit, published, too_many = tables.row("attacks/settled/room", "rows that classes have room for")
    spare, (number, tuples) = fit - published, _count(tables)
    if spare < 0 or too_many:
        return Settled(covered, exact=number == tuples, certain=number == tuples, contradicted=True)
    try:
        # 1. Conclusions from single classes.
        number = _rule_out_class_by_class(tables, spare)
        # 2. Conclusions from several classes together.
        exact = number == tuples
        if not exact and number <= _MOST_PAIRS and _rule_out_together(tables, spare):
            exact, (number, tuples) = True, _count(tables)
    except _NoAssignmentError:
        tables.drop()
        return Settled(covered, exact=False, certain=False, contradicted=True)
    if (pairs := tables.known["pairs"]) is not covered:
        engine.run(sql.drop(covered), "drop the classes that cover tuples")
    return Settled(pairs, exact, number == tuples, contradicted=False)


def _rule_out_class_by_class(tables: TemporaryTables, spare: int) -> int:
    """Keep the pairs of a tuple and a class that are possible by single classes; return their number.

    Raises _NoAssignmentError if some tuple that fits a class has none left, or some class has too few.
    """
    before, (number, tuples) = None, _count(tables)
    while number not in {tuples, before}:
        query = tables.query("attacks/settled/pairs", {"spare": spare})
        tables.replace("pairs", query, "classes that tuples can still be in")
        before, (number, left) = number, _count(tables)
        _, _, too_many = tables.row("attacks/settled/room", "rows that classes still have room for")
        if left < tuples or too_many:
            raise _NoAssignmentError
    return number


def _rule_out_together(tables: TemporaryTables, spare: int) -> bool:
    """Keep the pairs that some assignment of rows to classes has; return False if that was not computed."""
    engine = tables.engine
    sets = tables.make("attacks/settled/sets", "tuples that can be in the same classes")
    query = exp.select(_NUMBER, "classes", sql.sum_of(sql.column(N))).from_(sets.copy()).group_by(_NUMBER, "classes")
    found = engine.rows(query.order_by(_NUMBER), "how many rows can be in the same classes")
    sizes = dict(engine.rows(exp.select(_CLASS, N).from_(tables.known["classes"].copy()), "rows of each class"))
    fitting = [(int(rows), [int(each) for each in text.split(",")]) for _, text, rows in found]
    possible = _possible_classes(fitting, sizes, spare)
    if possible is not None:
        chosen = tables.known["chosen"] = engine.temporary_name("kanon_settled_classes")
        both = [(number, each) for (number, _, _), own in zip(found, possible, strict=True) for each in own]
        columns = {_NUMBER: [number for number, _ in both], _CLASS: [each for _, each in both]}
        engine.load(chosen, columns, "classes that are possible", "BIGINT")
        tables.replace("pairs", tables.query("attacks/settled/chosen"), "classes that tuples can be in")
        tables.drop("chosen")
    tables.drop("sets")
    return possible is not None


def _count(tables: TemporaryTables) -> tuple[int, int]:
    counts = exp.select(sql.count_rows(), sql.count_distinct(sql.column("tuple"))).from_(tables.known["pairs"].copy())
    number, tuples = tables.engine.row(counts, "tuples and their classes")
    return int(number), int(tuples)
