"""Rows of equal length, leaf first, that form a tree; errors name the place in the file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kanon_sql.hierarchy.expressions import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class BrokenError(Exception):
    """A file violates its format.

    ``place`` is, for example, ``line 3``, or None for the whole file; ``reason`` is the defect and its fix, without a
    cell value.
    """

    def __init__(self, place: str | None, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason


Path = tuple[str, ...]
"""The labels above a value, from level 1 to the root."""


@dataclass(frozen=True)
class HierarchyRows:
    """The rows of a hierarchy file, leaf first, all of the same length."""

    values: list[str | None]  # the leaves; None is the file's row for NULL
    paths: list[Path]  # the distinct paths, in row order; in a long file, far fewer than values
    path_of: list[int]  # for each row, the number of its path
    header: bool = False  # whether the first line was read as a header
    format: str = ""
    notes: tuple[str, ...] = ()  # changes to the rows that users should know of

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

    @property
    def rows(self) -> list[tuple[str | None, ...]]:
        """Each value with its label at each level."""
        return list(zip(self.values, *self.levels, strict=True))


class Line(NamedTuple):
    """A row of a file: its line or other place, the value (or None), and its labels."""

    at: int | str
    value: str | None
    labels: tuple[str, ...]

    @property
    def place(self) -> str:
        return line_place(self.at) if isinstance(self.at, int) else self.at


_LABELS = attrgetter("labels")


def line_place(number: int) -> str:
    return f"line {number:,}"


def rows_of(lines: Sequence[Line], name: str, *, header: bool = False) -> HierarchyRows:
    """Return rows of equal length: a gap repeats the label below it, a short row repeats its last label.

    ``name`` is the name of the format.
    """
    # 1. Rows of equal length; of duplicate rows, the first counts.
    height = max(map(len, map(_LABELS, lines)))
    numbers: dict[Path, int] = {}
    path_of: list[int] = []
    first: list[Line] = []  # for each path, its first line
    for line in lines:
        number = numbers.setdefault(_padded(line, height), len(numbers))
        if number == len(first):
            first.append(line)
        path_of.append(number)
    values = [line.value for line in lines]
    if len(set(values)) < len(values):
        different: dict[tuple[str | None, int], Line] = {}
        for row, line in zip(zip(values, path_of, strict=True), lines, strict=True):
            different.setdefault(row, line)
        values, path_of = [value for value, _ in different], [number for _, number in different]
        _require_one_row_each(values, list(different.values()))
    # 2. A root above them all.
    paths = list(numbers)
    notes: tuple[str, ...] = ()
    roots = {path[-1] for path in paths}
    if len(roots) > 1:
        if ROOT in roots:
            without = next(line for line, path in zip(first, paths, strict=True) if path[-1] != ROOT)
            others = sum(paths[number][-1] != ROOT for number in path_of)
            raise BrokenError(
                without.place,
                f"this row does not end in the root * as others do ({others:,} {'row' if others == 1 else 'rows'} in "
                "all). Add the labels that are missing",
            )
        notes = (f"it has {len(roots):,} roots, and a common root * was put above them",)
        paths = [(*path, ROOT) for path in paths]
    # 3. They must form a tree.
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
    """Raise at the first row of a value that already has one."""
    again = len(values) - len(set(values))
    if not again:
        return
    seen: dict[str | None, int] = {}
    row = next(row for row, value in enumerate(values) if seen.setdefault(value, row) != row)
    raise BrokenError(
        lines[row].place,
        f"this value has a row already ({lines[seen[values[row]]].place}). {again:,} "
        f"{'row is' if again == 1 else 'rows are'} for a value that came before. Keep one row per value",
    )


def _require_tree(paths: Sequence[Path], lines: Sequence[Line]) -> None:
    """Raise at the first path that keeps the rows from being a tree; ``lines`` has the first line of each path."""
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


def rows_of_pairs(pairs: Iterable[Line], name: str, *, header: bool = False) -> HierarchyRows:
    """Return the rows of a tree of child,parent pairs: a row for every child that is not a parent."""
    parents: dict[str | None, str] = {}
    places: dict[str | None, str] = {}
    for pair in pairs:
        child, (parent,) = pair.value, pair.labels
        if child == parent:
            continue
        if not parent:
            raise BrokenError(pair.place, "the parent is missing")
        if parents.setdefault(child, parent) != parent:
            raise BrokenError(pair.place, f"this label already has another parent ({places[child]}). Keep one of them")
        places.setdefault(child, pair.place)
    _require_no_circle(parents, places)
    inner = set(parents.values())
    lines = []
    for child, parent in parents.items():
        if child not in inner:
            labels = [parent]
            while labels[-1] in parents:
                labels.append(parents[labels[-1]])
            lines.append(Line(places[child], child, tuple(labels)))
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
