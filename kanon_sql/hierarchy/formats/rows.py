"""What every format becomes: rows of equal length, leaf first, or a tree of intervals.

Both are checked here, with the place in the file that is wrong. A tree of intervals has no values of its own: its rows
come from the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kanon_sql.hierarchy.expressions import ROOT
from kanon_sql.hierarchy.rules import MOST_DIGITS, decimal_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal


class BrokenError(Exception):
    """A file is not what its format requires; ``read`` says in which file.

    Attributes:
        place: where, as in ``line 3``; None if it is about the whole file.
        reason: what is wrong, and what to do about it, without a cell value; of a whole file it begins with a verb.
    """

    def __init__(self, place: str | None, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason


Path = tuple[str, ...]
"""The labels above a value, from level 1 to the root."""


@dataclass(frozen=True)
class HierarchyRows:
    """The rows of a hierarchy file, leaf first, all of the same length.

    Attributes:
        values: the leaves; None is the row that the file gives to NULL.
        paths: the different paths, in the order of the rows; there are far fewer than values in a long file.
        path_of: for each row, the number of its path.
        header: whether the first line was taken as a header.
        notes: changes to the rows that a person should know.
    """

    values: list[str | None]
    paths: list[Path]
    path_of: list[int]
    header: bool = False
    format: str = ""
    notes: tuple[str, ...] = ()

    @property
    def height(self) -> int:
        return len(self.paths[0])

    @property
    def root(self) -> str:
        return self.paths[0][-1]

    @cached_property
    def levels(self) -> list[list[str]]:
        """For each level from 1 to the root, the label of each row."""
        return [[labels[number] for number in self.path_of] for labels in zip(*self.paths, strict=True)]


class Line(NamedTuple):
    """A row of a file: its line or where else it stands, the value (None if there is none), the labels after it."""

    at: int | str
    value: str | None
    labels: tuple[str, ...]

    @property
    def place(self) -> str:
        return line_place(self.at) if isinstance(self.at, int) else self.at


_LABELS = attrgetter("labels")


def line_place(number: int) -> str:
    return f"line {number:,}"


def rows_of(lines: Sequence[Line], name: str, *, header: bool = False, add_root: bool = False) -> HierarchyRows:
    """Return rows of equal length: a gap keeps the label below it, a short row gets its last label again.

    ``add_root`` puts ``*`` on top of them all, for formats that leave the root out; ``name`` is what the format is
    called.
    """
    # 1. Rows of equal length. Many lines have the same labels: a path is made once.
    height = max(map(len, map(_LABELS, lines)))
    numbers: dict[Path, int] = {}
    known: dict[tuple[str, ...] | tuple[str | None, tuple[str, ...]], int] = {}
    path_of: list[int] = []
    first: list[Line] = []  # for each path, the line that has it first
    for line in lines:
        labels = line.labels
        own = labels if labels and labels[0] else (line.value, labels)  # the value stands for labels that are missing
        if (number := known.get(own)) is None:
            number = known[own] = numbers.setdefault(_padded(line, height), len(numbers))
            if number == len(first):
                first.append(line)
        path_of.append(number)
    values = [line.value for line in lines]
    if len(set(values)) < len(values):  # equal rows say the same: the first of them counts
        different: dict[tuple[str | None, int], Line] = {}
        for row, line in zip(zip(values, path_of, strict=True), lines, strict=True):
            different.setdefault(row, line)
        lines = list(different.values())
        values, path_of = [value for value, _ in different], [number for _, number in different]
    # 2. A root above them all.
    paths = list(numbers)
    notes: tuple[str, ...] = ()
    roots = {path[-1] for path in paths}
    if not add_root and len(roots) > 1:
        if ROOT in roots:
            without = next(line for line, path in zip(first, paths, strict=True) if path[-1] != ROOT)
            others = sum(paths[number][-1] != ROOT for number in path_of)
            raise BrokenError(
                without.place,
                f"this row does not end in the root * as others do ({_rows(others)} in all). "
                "Add the labels that are missing",
            )
        notes = (f"it has {len(roots):,} roots, and a common root * was put above them",)
    if add_root or notes:
        paths = [(*path, ROOT) for path in paths]
    # 3. They must form a tree.
    _require_one_row_each(values, lines)
    _require_tree(paths, first)
    return HierarchyRows(values, paths, path_of, header=header, format=name, notes=notes)


def _padded(line: Line, height: int) -> Path:
    if len(line.labels) == height and all(line.labels):
        return line.labels
    given = [*line.labels, *([""] * (height - len(line.labels)))]
    last = next((label for label in reversed(given) if label), line.value or "")
    below, padded = line.value, []
    for level, label in enumerate(given):
        if label:
            below = label
        elif below is None or not any(given[level:]):
            below = last
        padded.append(below)
    return tuple(padded)


def _require_one_row_each(values: Sequence[str | None], lines: Sequence[Line]) -> None:
    """Raise at the first row of a value that has one already."""
    again = len(values) - len(set(values))
    if not again:
        return
    seen: dict[str | None, int] = {}
    row = next(row for row, value in enumerate(values) if seen.setdefault(value, row) != row)
    raise BrokenError(
        lines[row].place,
        f"this value has a row already ({lines[seen[values[row]]].place}). {_again(again)} Keep one row per value",
    )


def _require_tree(paths: Sequence[Path], lines: Sequence[Line]) -> None:
    """Raise at the first path that keeps the rows from being a tree; ``lines`` are those that have them first."""
    root = paths[0][-1]
    for level in range(1, len(paths[0])):
        parents: dict[str, int] = {}
        for number, path in enumerate(paths):
            label, parent = path[level - 1], path[level]
            if label == root != parent:
                raise BrokenError(
                    lines[number].place,
                    f"the label of the root stands at level {level}, and another one above it. Nothing stands above "
                    "the root: repeat its label up to the last level",
                )
            first = parents.setdefault(label, number)
            if paths[first][level] != parent:
                raise BrokenError(
                    lines[number].place,
                    f"the label of level {level} has another parent than before ({lines[first].place}). Give the "
                    "label a different name under each parent",
                )


def _again(number: int) -> str:
    return f"{_rows(number)} of the file {'is' if number == 1 else 'are'} for a value that came before."


def _rows(number: int) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'}"


@dataclass(frozen=True)
class Pair:
    place: str
    child: str | None
    parent: str


def rows_of_pairs(pairs: Iterable[Pair], name: str, *, header: bool = False) -> HierarchyRows:
    """Return the rows of a tree of child,parent pairs: a row for every child that is no parent."""
    parents: dict[str | None, str] = {}
    places: dict[str | None, str] = {}
    for pair in pairs:
        if pair.child == pair.parent:
            continue
        if not pair.parent:
            raise BrokenError(pair.place, "the parent is missing")
        if parents.setdefault(pair.child, pair.parent) != pair.parent:
            raise BrokenError(
                pair.place,
                f"this label already has another parent ({places[pair.child]}). Keep one of the two",
            )
        places.setdefault(pair.child, pair.place)
    _require_no_circle(parents, places)
    inner = set(parents.values())
    lines = [Line(places[child], child, _ancestors(parents, child)) for child in parents if child not in inner]
    return rows_of(lines, name, header=header)


def _require_no_circle(parents: dict[str | None, str], places: dict[str | None, str]) -> None:
    safe: set[str | None] = set()
    for child in parents:
        way: dict[str | None, None] = {}
        node: str | None = child
        while node in parents and node not in safe:
            if node in way:
                raise BrokenError(places[node], "this label is its own ancestor (a circle of children and parents)")
            way[node] = None
            node = parents[node]
        safe.update(way)


def _ancestors(parents: dict[str | None, str], value: str | None) -> tuple[str, ...]:
    chain: list[str] = []
    parent = parents.get(value)
    while parent is not None:
        chain.append(parent)
        parent = parents.get(parent)
    return tuple(chain)


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
        return self.low > self.high or (self.low == self.high and self.high_open)

    def within(self, other: Interval) -> bool:
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
    """Return a tree of intervals in their order; none is empty, outside of its parent, or overlaps another."""
    tree = IntervalTree(_ordered(root, 0), name, notes)
    if not tree.root.children:
        raise BrokenError(root.place, "the root has no intervals under it, so that there is nothing to generalize to")
    for node, _ in tree.nodes():
        _require_nested(node)
    return tree


def _ordered(node: IntervalNode, depth: int) -> IntervalNode:
    if depth > DEEPEST:
        raise BrokenError(node.place, f"the tree is more than {DEEPEST} levels high")
    children = sorted(node.children, key=lambda child: child.interval.low)
    return IntervalNode(node.interval, tuple(_ordered(child, depth + 1) for child in children), node.place)


def _require_nested(node: IntervalNode) -> None:
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
