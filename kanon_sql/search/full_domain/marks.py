"""Marks: what tested nodes prove about the nodes below them, looked up in a few operations on whole numbers.

A mark says that its node, and every node below it, suppresses at least so many rows. Marks are numbered, the largest
number of rows first. For each column and level there is the set of the marks whose node is lower in that column, one
bit for each mark: a node lies below or at a mark that is in none of the sets of its levels. So a look at thousands of
marks is one operation for each column.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kanon_sql.classes.lattice import Lattice, Node


class Marks:
    def __init__(self, lattice: Lattice) -> None:
        self._suppressed: list[int] = []  # negative, so that the largest comes first in ascending order
        self._lower = [[0] * (height + 1) for height in lattice.heights]

    def add(self, node: Node, suppressed: int) -> None:
        """Take note that a node and all below it suppress at least so many rows."""
        place = bisect_left(self._suppressed, -suppressed)
        self._suppressed.insert(place, -suppressed)
        before = (1 << place) - 1
        for level, sets in zip(node, self._lower, strict=True):
            for at, marks in enumerate(sets):
                sets[at] = (marks & before) | ((marks >> place) << (place + 1)) | ((level < at) << place)

    def suppressed(self, node: Node) -> int:
        """Return the most rows that a mark at or above a node promises; 0 if there is none."""
        lower = 0
        for level, sets in zip(node, self._lower, strict=True):
            lower |= sets[level]
        first = (~lower & (lower + 1)).bit_length() - 1  # the lowest bit that is not set
        return -self._suppressed[first] if first < len(self._suppressed) else 0
