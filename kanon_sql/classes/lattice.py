"""The generalization lattice: a node is one level per quasi-identifier."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Node = tuple[int, ...]
"""A level for each quasi-identifier, in their order: 0 is the value itself, the height of its hierarchy is the root."""


@dataclass(frozen=True)
class Lattice:
    """All nodes between the original table and the one in which every value is the root.

    Nodes are ordered column by column: ``a`` lies below ``b`` if no level of ``a`` is higher. The lattice is never
    listed; each question costs a few operations, however large it is.
    """

    # height of the hierarchy of each quasi-identifier; less if higher levels are not allowed
    heights: tuple[int, ...]
    lowest: Node | None = None  # every node to choose is at or above this one; None is the original table

    @cached_property
    def bottom(self) -> Node:
        """The original table."""
        return (0,) * len(self.heights)

    @cached_property
    def top(self) -> Node:
        """The table of roots; or of the highest levels that are allowed."""
        return self.heights

    @cached_property
    def start(self) -> Node:
        """The lowest node to choose from."""
        return self.bottom if self.lowest is None else self.lowest

    def allows(self, node: Node) -> bool:
        """Return True if a node may be chosen: it is at or above ``start``."""
        return self.lowest is None or all(map(int.__ge__, node, self.lowest))

    @cached_property
    def size(self) -> int:
        return math.prod(height + 1 - level for height, level in zip(self.heights, self.start, strict=True))

    @cached_property
    def _offsets(self) -> tuple[int, ...]:
        return tuple(accumulate(self.heights, initial=0))

    def steps(self, node: Node) -> int:
        """Return the node as a set of steps taken from the bottom, one bit for each.

        ``a`` lies below or at ``b`` exactly if ``steps(a) & ~steps(b) == 0``: one operation on integers.
        """
        return sum(((1 << level) - 1) << offset for level, offset in zip(node, self._offsets, strict=False))


class Marks:
    """Lower bounds of suppression that tested nodes prove for the nodes below, looked up in a few integer operations.

    A mark says that its node, and every node below it, suppresses at least so many rows. Marks are numbered, the
    largest number of rows first. For each column and level there is the set of the marks whose node is lower in that
    column, one bit for each mark. A node lies below or at a mark if the mark is in none of the sets of its levels. So
    a search of thousands of marks is one operation for each column.
    """

    def __init__(self, lattice: Lattice) -> None:
        self._suppressed: list[int] = []  # negative: the largest comes first in ascending order
        self._lower = [[0] * (height + 1) for height in lattice.heights]

    def add(self, node: Node, suppressed: int) -> None:
        """Record a lower bound of the rows that a node and all below it suppress."""
        place = bisect_left(self._suppressed, -suppressed)
        self._suppressed.insert(place, -suppressed)
        before = (1 << place) - 1
        for level, sets in zip(node, self._lower, strict=True):
            for at, marks in enumerate(sets):
                sets[at] = (marks & before) | ((marks >> place) << (place + 1)) | ((level < at) << place)

    def suppressed(self, node: Node) -> int:
        """Return the highest bound of a mark at or above a node; 0 if there is none."""
        lower = 0
        for level, sets in zip(node, self._lower, strict=True):
            lower |= sets[level]
        first = (~lower & (lower + 1)).bit_length() - 1  # the lowest unset bit
        return -self._suppressed[first] if first < len(self._suppressed) else 0


def steps_down(node: Node) -> Iterator[Node]:
    """Return the direct specializations of a node: one level of one column lower."""
    return (with_level(node, column, level - 1) for column, level in enumerate(node) if level > 0)


def with_level(node: Node, column: int, level: int) -> Node:
    """Return the node with the level of one column changed."""
    return (*node[:column], level, *node[column + 1 :])
