"""Hierarchies that are given as child and parent, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.formats.rows import BrokenError, HierarchyRows, Line, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Pair:
    """A child and its parent, and where they stand."""

    place: str
    child: str | None
    parent: str


def rows_of_pairs(pairs: Iterable[Pair], name: str, *, header: bool = False) -> HierarchyRows:
    """Return the rows of a tree of child,parent pairs: a row for every child that is nobody's parent.

    Raises:
        BrokenError: a child has no parent or two, or is its own ancestor.
    """
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


def _ancestors(parents: dict[str | None, str], value: str | None) -> list[str]:
    """Return the labels above a leaf, up to its root."""
    chain: list[str] = []
    parent = parents.get(value)
    while parent is not None:
        chain.append(parent)
        parent = parents.get(parent)
    return chain
