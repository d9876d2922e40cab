"""What every format becomes: rows of equal length, leaf first, checked with the place in the file that is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.pieces import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence


class BrokenError(Exception):
    """A file is not what its format asks for; ``read`` says in which file.

    Attributes:
        place: where, as in ``line 3``; None if it is about the whole file.
        reason: what is wrong, and what to do about it, without a cell value; of a whole file it begins with a verb.
    """

    def __init__(self, place: str | None, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason


@dataclass(frozen=True)
class HierarchyRows:
    """The rows of a hierarchy file, leaf first, all of the same length.

    Attributes:
        values: the leaves; None is the row that the file gives to NULL.
        levels: for each level from 1 to the root, the label of each row.
        header: whether the first line was taken as a header.
        format: the format that was recognised.
        notes: what was done to the rows that a person should know.
    """

    values: list[str | None]
    levels: list[list[str]]
    header: bool = False
    format: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A row of a file: where it stands, the value (None if there is none) and the labels after it."""

    place: str
    value: str | None
    labels: Sequence[str]


def line_place(number: int) -> str:
    """Return how a line is called in messages."""
    return f"line {number:,}"


def rows_of(lines: Sequence[Line], name: str, *, header: bool = False, add_root: bool = False) -> HierarchyRows:
    """Return rows of equal length: a gap keeps the label below it, a short row gets its last label again.

    Args:
        lines: the rows, one at least, with one label at least.
        name: what the format is called.
        header: whether a header was left out of them.
        add_root: whether the format leaves the root out, so that ``*`` goes on top of them all.

    Raises:
        BrokenError: a value has two rows, a label two parents, or some rows do not end in the root of the others.
    """
    height = max(len(line.labels) for line in lines)
    # Equal rows say the same: the first of them counts.
    different: dict[tuple[str | None, ...], tuple[Line, list[str]]] = {}
    for line in lines:
        own = _padded(line, height)
        different.setdefault((line.value, *own), (line, own))
    lines, padded = [line for line, _ in different.values()], [own for _, own in different.values()]
    levels = [list(labels) for labels in zip(*padded, strict=True)]
    notes: tuple[str, ...] = ()
    roots = Counter(levels[-1])
    if add_root:
        levels.append([ROOT] * len(lines))
    elif len(roots) > 1:
        if ROOT in roots:
            row = next(row for row, label in enumerate(levels[-1]) if label != ROOT)
            raise BrokenError(
                lines[row].place,
                f"this row does not end in the root * as others do ({_rows(len(lines) - roots[ROOT])} in all). "
                "Add the labels that are missing",
            )
        levels.append([ROOT] * len(lines))
        notes = (f"it has {len(roots):,} roots, and a common root * was put above them",)
    _check(lines, levels)
    return HierarchyRows([line.value for line in lines], levels, header=header, format=name, notes=notes)


def _padded(line: Line, height: int) -> list[str]:
    given = [*line.labels, *([""] * (height - len(line.labels)))]
    last = next((label for label in reversed(given) if label), line.value or "")
    below, padded = line.value, []
    for level, label in enumerate(given):
        if label:
            below = label
        elif below is None or not any(given[level:]):
            below = last
        padded.append(below)
    return padded


def _check(lines: Sequence[Line], levels: list[list[str]]) -> None:
    """Raise at the first row that keeps the rows from being a tree."""
    seen: dict[str | None, int] = {}
    for row, line in enumerate(lines):
        first = seen.setdefault(line.value, row)
        if first != row:
            raise BrokenError(
                line.place,
                f"this value has a row already ({lines[first].place}). {_again(len(lines) - _distinct(lines))} "
                "Keep one row per value",
            )
    root = levels[-1][0]
    for level, (labels, above) in enumerate(pairwise(levels), start=1):
        parents: dict[str, int] = {}
        for row, (label, parent) in enumerate(zip(labels, above, strict=True)):
            if label == root != parent:
                raise BrokenError(
                    lines[row].place,
                    f"the label of the root stands at level {level}, and another one above it. Nothing stands above "
                    "the root: repeat its label up to the last level",
                )
            first = parents.setdefault(label, row)
            if above[first] != parent:
                raise BrokenError(
                    lines[row].place,
                    f"the label of level {level} has another parent than before ({lines[first].place}). Give the "
                    "label a different name under each parent",
                )


def _distinct(lines: Sequence[Line]) -> int:
    return len({line.value for line in lines})


def _again(number: int) -> str:
    return f"{_rows(number)} of the file {'is' if number == 1 else 'are'} for a value that came before."


def _rows(number: int) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'}"
