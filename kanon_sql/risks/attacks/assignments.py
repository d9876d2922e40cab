"""Which of its classes each row can be in, when all rows of a release are rows of the original.

Rows that fit the same classes are a set; each of its rows is in one of these classes, or left out. An assignment gives
each class as many rows as it has. Which pairs of a set and a class some assignment has is found exactly: one assignment
is made by augmenting paths; another one differs from it by cycles, so that a pair that it does not have is possible if
and only if both ends are in the same strongly connected component of what can be moved.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Node = tuple[bool, int]

_MOST_STEPS = 10_000_000
"""Pairs that are looked at before the search gives up: a few seconds."""
_OUT = -1
"""The class of those who are left out."""


class _TooLongError(Exception):
    """There is no answer after so many steps."""


def possible_classes(
    sets: Sequence[tuple[int, Sequence[int]]], sizes: Mapping[int, int], left_out: int
) -> list[list[int]] | None:
    """Return for each set of rows the classes that its rows are in by some assignment.

    Args:
        sets: how many rows it has, and the classes that they fit.
        sizes: rows of each class.
        left_out: how many rows are in no class.

    Returns:
        None if no assignment exists, or none was found in so many steps.
    """
    assignment = _Assignment(sets, dict(sizes) | {_OUT: left_out})
    try:
        if not assignment.fill():
            return None
        own_set, own_class = assignment.components()
    except _TooLongError:
        return None
    return [
        [each for each in classes if assignment.rows[number].get(each) or own_class[each] == own_set[number]]
        for number, (_, classes) in enumerate(sets)
    ]


class _Assignment:
    """How many rows of each set are in each class."""

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
        """Give every row a place; return whether that is possible."""
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
        return [component[True, number] for number in range(len(self.fits))], {
            each: component[False, each] for each in self.room
        }

    def _walks(self, roots: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> Iterator[list[Node]]:
        """Walk in depth from each root that no walk before has seen; yield what is seen, in the order of leaving it."""
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
        """Yield where a row can be moved to: from a set to a class that it fits, from there to a set that is in it."""
        is_set, number = node
        for other in self.fits[number] if is_set else self.inside[number]:
            self._step()
            yield not is_set, other

    def _before(self, node: Node) -> Iterator[Node]:
        """Yield from where a row can be moved to a node."""
        is_set, number = node
        for other in [each for each, rows in self.rows[number].items() if rows] if is_set else self.fitting[number]:
            self._step()
            yield not is_set, other

    def _place(self, number: int) -> bool:
        """Place the rows of a set that wait, by moving others; return whether that is possible."""
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
