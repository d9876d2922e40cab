"""Hierarchy files: rows of levels (leaf first), or child,parent pairs.

What is out there differs in separator, header, quoting, line ends and depth; ``docs/hierarchies.md`` lists what
is understood. A file becomes rows of equal length; whether they form a tree is checked later, in SQL.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.errors import HierarchyError, SourceError

if TYPE_CHECKING:
    from pathlib import Path

_LEAF_NAMES = {"value", "leaf", "level_0", "level0", "level 0", "original", "child"}
_SAMPLE = 1000  # lines that decide about the separator


@dataclass(frozen=True)
class HierarchyRows:
    """The rows of a hierarchy file, leaf first, all of the same length.

    Attributes:
        values: the leaves; None is the row that the file gives to NULL.
        levels: for each level from 1 to the root, the label of each row.
        header: whether the first line was taken as a header.
    """

    values: list[str | None]
    levels: list[list[str]]
    header: bool = False


@dataclass(frozen=True)
class _Line:
    """A line of a file: its number, the value (None if there is none) and the labels after it."""

    number: int
    value: str | None
    labels: list[str]


def read_hierarchy(path: Path, column: str) -> HierarchyRows:
    """Return the rows of a hierarchy file.

    Args:
        path: the file.
        column: the column it is for; a first line that begins with this name is a header.

    Raises:
        SourceError: it cannot be opened.
        HierarchyError: it cannot be read as a hierarchy; the message names the line.
    """
    lines = _parse(path, _text_of(path))
    if not lines:
        raise HierarchyError(f"{path} has no rows. A hierarchy has a line per value: value;level 1;...;root.")
    header = _is_header(lines, column)
    body = lines[1:] if header else lines
    height = max((len(line.labels) for line in body), default=0)
    if height == 0:
        raise HierarchyError(
            f"{path} has one field per line. A line needs the value and at least one level, separated by ; or ,"
        )
    if _are_pairs(body):
        return _from_pairs(path, body, header=header)
    return _from_levels(body, height, header=header)


def _text_of(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(f"Hierarchy file {path} does not exist.") from None
    except OSError as error:
        raise SourceError(f"Hierarchy file {path} cannot be read: {error.strerror}.") from None
    if raw.startswith((b"\xac\xed", b"PK")):
        raise HierarchyError(
            f"{path} is a binary file of ARX (.ahs or .deid). In ARX, export the hierarchy as CSV and give that file."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HierarchyError(f"{path} is not UTF-8 text. Convert it, for example with iconv -t utf-8.") from None


def _parse(path: Path, text: str) -> list[_Line]:
    """Return the lines that have content, split by the separator that splits the first of them best."""
    raw = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    try:
        separator = max(";,\t", key=lambda candidate: _regularity(_split(raw[:_SAMPLE], candidate)))
        return _split(raw, separator)
    except csv.Error as error:
        raise HierarchyError(f"{path} cannot be read as CSV: {error}.") from None


def _split(raw: list[str], separator: str) -> list[_Line]:
    reader = csv.reader((line + "\n" for line in raw), delimiter=separator, quotechar='"', doublequote=True)
    lines, first = [], 1
    for record in reader:
        # An empty field without quotes is no value; an empty text is written "".
        quoted = raw[first - 1].lstrip().startswith('"')
        if any(record):
            value = record[0] if record[0] or quoted else None
            lines.append(_Line(first, value, [label.strip() for label in record[1:]]))
        first = reader.line_num + 1
    return lines


def _regularity(lines: list[_Line]) -> tuple[float, float]:
    """Return how well a separator fits: the share of lines that it splits, then how alike the lines are."""
    if not lines:
        return (0.0, 0.0)
    sizes = [1 + len(line.labels) for line in lines]
    split = sum(size > 1 for size in sizes) / len(sizes)
    usual = max(set(sizes), key=sizes.count)
    return (split, sizes.count(usual) / len(sizes))


def _is_header(lines: list[_Line], column: str) -> bool:
    first, *rest = [[line.value or "", *line.labels] for line in lines]
    if not rest:
        return False
    roots = {fields[-1] for fields in rest}
    if first[-1] in roots:  # it ends as other lines do: a value may well be called like its column
        return False
    if first[0].strip().casefold() in _LEAF_NAMES | {column.casefold()}:
        return True
    # All other lines end in the same root, and nothing of the first line comes again in its place.
    if len(rest) == 1 or len(roots) > 1 or any(len(fields) != len(first) for fields in rest):
        return False
    return all(name not in labels for name, labels in zip(first, map(set, zip(*rest, strict=True)), strict=True))


def _are_pairs(lines: list[_Line]) -> bool:
    """Tell whether lines are child,parent pairs: two fields, and some parent is itself a child."""
    if any(len(line.labels) != 1 for line in lines):
        return False
    children = {line.value for line in lines if line.value != line.labels[0]}
    return any(line.labels[0] in children for line in lines)


def _from_levels(lines: list[_Line], height: int, *, header: bool) -> HierarchyRows:
    """Return rows of equal length: a gap keeps the label below it, a short row gets its last label again."""
    values: list[str | None] = []
    levels: list[list[str]] = [[] for _ in range(height)]
    for line in lines:
        given = line.labels + [""] * (height - len(line.labels))
        last = next((label for label in reversed(given) if label), line.value or "")
        values.append(line.value)
        below = last if line.value is None else line.value
        for level, label in enumerate(given):
            below = label or (last if not any(given[level:]) else below)
            levels[level].append(below)
    return HierarchyRows(values, levels, header=header)


def _from_pairs(path: Path, lines: list[_Line], *, header: bool) -> HierarchyRows:
    parents: dict[str | None, str] = {}
    for line in lines:
        child, parent = line.value, line.labels[0]
        if child == parent:
            continue
        if not parent:
            raise HierarchyError(f"{path}, line {line.number}: the parent is missing.")
        if parents.setdefault(child, parent) != parent:
            raise HierarchyError(
                f"{path}, line {line.number}: this label already has another parent. Keep one of the two lines."
            )
    inner = set(parents.values())
    values = [child for child in parents if child not in inner]
    chains = [_ancestors(parents, value) for value in values]
    longest = max(map(len, chains), default=0)
    if longest > len(parents) or len(set(values).union(*chains)) < len(parents):
        raise HierarchyError(f"{path}: some labels are their own ancestors (a circle of child,parent lines).")
    full = [chain + chain[-1:] * (longest - len(chain)) for chain in chains]
    return HierarchyRows(values, [[chain[level] for chain in full] for level in range(longest)], header=header)


def _ancestors(parents: dict[str | None, str], value: str | None) -> list[str]:
    """Return the labels above a leaf, up to its root; in a circle, more labels than there are."""
    chain: list[str] = []
    parent = parents.get(value)
    while parent is not None and len(chain) <= len(parents):
        chain.append(parent)
        parent = parents.get(parent)
    return chain
