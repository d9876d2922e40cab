"""Trees of intervals: they have no values of their own, so that the rows come from the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.expressions import ROOT
from kanon_sql.hierarchy.formats.rows import BrokenError
from kanon_sql.hierarchy.rules import MOST_DIGITS, decimal_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

DEEPEST = 100
"""Levels that a tree may have."""


@dataclass(frozen=True)
class Interval:
    """The numbers from a lower bound, which belongs to it, to an upper one, which does unless it is open there."""

    low: Decimal
    high: Decimal
    high_open: bool = True

    def __str__(self) -> str:
        return f"[{decimal_text(self.low)}, {decimal_text(self.high)}{')' if self.high_open else ']'}"

    @property
    def is_empty(self) -> bool:
        """Whether no number lies in it."""
        return self.low > self.high or (self.low == self.high and self.high_open)

    def within(self, other: Interval) -> bool:
        """Tell whether all of its numbers lie in another one."""
        high = self.high < other.high or (self.high == other.high and (self.high_open or not other.high_open))
        return self.low >= other.low and high

    def meets(self, later: Interval) -> bool:
        """Tell whether it shares a number with one that begins later."""
        return self.high > later.low or (self.high == later.low and not self.high_open)


@dataclass(frozen=True)
class IntervalNode:
    """An interval with those inside it, in their order, and where it stands in its file."""

    interval: Interval
    children: tuple[IntervalNode, ...]
    place: str


@dataclass(frozen=True)
class IntervalTree:
    """A tree of intervals.

    Attributes:
        root: the interval that holds all others.
        format: the format that was recognised.
        notes: what was done that a person should know.
    """

    root: IntervalNode
    format: str
    notes: tuple[str, ...] = ()

    @cached_property
    def height(self) -> int:
        """The number of levels, the root being the last."""
        return max(depth for _, depth in self.nodes()) + 1

    def nodes(self) -> Iterator[tuple[IntervalNode, int]]:
        """Return all intervals with their depth (0 of the root), from low to high and from the outside in."""
        waiting = [(self.root, 0)]
        while waiting:
            node, depth = waiting.pop()
            yield node, depth
            waiting.extend((child, depth + 1) for child in reversed(node.children))

    def paths(self) -> list[list[str]]:
        """Return for each lowest interval its label at every level; one that ends early keeps its label above it."""
        found = []
        way: list[str] = []
        for node, depth in self.nodes():
            way[depth:] = [str(node.interval)]
            if not node.children:
                lowest = [way[-1]] * (self.height - len(way))
                found.append([*lowest, *reversed(way[1:]), ROOT])
        return found


def tree_of(root: IntervalNode, name: str, notes: tuple[str, ...] = ()) -> IntervalTree:
    """Return a tree of intervals.

    Args:
        root: the outermost interval.
        name: what the format is called.
        notes: what was done that a person should know.

    Raises:
        BrokenError: an interval is empty, is not within its parent, or overlaps another one.
    """
    tree = IntervalTree(_ordered(root, 0), name, notes)
    if not tree.root.children:
        raise BrokenError(root.place, "the root has no intervals under it, so that there is nothing to generalize to")
    for node, _ in tree.nodes():
        _check(node)
    return tree


def _ordered(node: IntervalNode, depth: int) -> IntervalNode:
    if depth > DEEPEST:
        raise BrokenError(node.place, f"the tree is more than {DEEPEST} levels high")
    children = sorted(node.children, key=lambda child: child.interval.low)
    return IntervalNode(node.interval, tuple(_ordered(child, depth + 1) for child in children), node.place)


def _check(node: IntervalNode) -> None:
    own = node.interval
    if own.is_empty:
        raise BrokenError(node.place, "no number lies in this interval: its lower bound must lie below its upper one")
    for bound in (own.low, own.high):
        fraction = decimal_text(bound).partition(".")[2]
        if bound.adjusted() >= MOST_DIGITS or len(fraction) > MOST_DIGITS:
            raise BrokenError(
                node.place, f"bounds have at most {MOST_DIGITS} digits before the point and as many after it"
            )
    for child in node.children:
        if not child.interval.within(own):
            raise BrokenError(child.place, "this interval is not within the one above it")
    for lower, upper in zip(node.children, node.children[1:], strict=False):
        if lower.interval.meets(upper.interval):
            raise BrokenError(upper.place, "this interval overlaps the one before it")
