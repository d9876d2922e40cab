"""Amnesia's text format: which parent has which children, from the lowest level up.

    distinct
    name marital
    type string
    height 3

    NotMarried has Single Divorced
    Married has Spouse

    * has NotMarried Married

Of ranges, ``0.0,20.0 has 0.0,10.0 10.0,20.0``. Labels are separated by spaces, so that a label with a space cannot be
distinguished from two labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.formats.rows import (
    DEEPEST,
    BrokenError,
    HierarchyRows,
    Interval,
    IntervalNode,
    IntervalTree,
    Pair,
    line_place,
    rows_of_pairs,
    tree_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_HAS = "has"


@dataclass(frozen=True)
class Relation:
    """A parent and its children, as they are written."""

    place: str
    parent: str
    children: tuple[str, ...]


def read_amnesia_text(text: str) -> HierarchyRows | IntervalTree:
    lines = [(line_place(number), line.split()) for number, line in enumerate(text.splitlines(), start=1)]
    lines = [(place, tokens) for place, tokens in lines if tokens]
    kind = lines[0][1][0].lower()
    stated: dict[str, tuple[str, str]] = {}
    relations: list[Relation] = []
    for place, tokens in lines[1:]:
        if not relations and tokens[0] in {"name", "type", "height"} and _HAS not in tokens[1:2]:
            stated[tokens[0]] = (place, " ".join(tokens[1:]))
        else:
            relations.append(_relation(place, tokens))
    if not relations:
        raise BrokenError(None, "has no relations, as in: parent has child child")
    if kind == "distinct":
        return read_distinct(relations, stated.get("height"), "Amnesia text")
    place, data_type = stated.get("type", (lines[0][0], ""))
    if data_type.lower() == "date":
        raise BrokenError(
            place, "ranges of dates are not read. Use a rule of dates instead, such as date:month,year,decade"
        )
    return read_ranges(relations, stated.get("height"), "Amnesia text, ranges")


def _relation(place: str, tokens: list[str]) -> Relation:
    if tokens.count(_HAS) != 1 or tokens[0] == _HAS:
        raise BrokenError(place, "this is no relation, which is written: parent has child child")
    if tokens[1] != _HAS:
        raise BrokenError(
            place,
            "the parent has a space in it. Amnesia separates labels by spaces, so that it cannot be told where one "
            "ends: export the hierarchy as JSON",
        )
    return Relation(place, tokens[0], tuple(tokens[2:]))


def read_distinct(relations: Sequence[Relation], height: tuple[str, str] | None, name: str) -> HierarchyRows:
    pairs = [Pair(relation.place, child, relation.parent) for relation in relations for child in relation.children]
    if not pairs:
        raise BrokenError(relations[0].place, "no parent has a child")
    rows = rows_of_pairs(pairs, name)
    _require_height(height, len(rows.levels) + 1 - len(rows.notes))
    return rows


def read_ranges(relations: Sequence[Relation], height: tuple[str, str] | None, name: str) -> IntervalTree:
    """Return a tree of ranges; of a bound that two of them share, the number belongs to the upper one."""
    children: dict[tuple[Decimal, Decimal], Relation] = {}
    below: set[tuple[Decimal, Decimal]] = set()
    for relation in relations:
        bounds = _bounds(relation.place, relation.parent)
        if bounds is None or bounds in children:
            raise BrokenError(relation.place, "this range has its children already, or is none")
        children[bounds] = relation
        below.update(known for child in relation.children if (known := _bounds(relation.place, child)) is not None)
    roots = [bounds for bounds in children if bounds not in below]
    if len(roots) != 1:
        raise BrokenError(relations[-1].place, f"there are {len(roots)} ranges without a parent instead of one root")

    def node(bounds: tuple[Decimal, Decimal], place: str, depth: int, *, closed: bool) -> IntervalNode:
        if depth > DEEPEST:
            raise BrokenError(place, f"the tree is more than {DEEPEST} levels high, or a range is its own ancestor")
        relation = children.get(bounds)
        own = Interval(*bounds, high_open=not closed)
        if relation is None:
            return IntervalNode(own, (), place)
        known = [_bounds(relation.place, child) for child in relation.children]
        ranges = [found for found in known if found is not None]
        begins = {low for low, _ in ranges}
        nodes = [
            node(found, relation.place, depth + 1, closed=found[1] not in begins and (closed or found[1] < bounds[1]))
            for found in ranges
        ]
        return IntervalNode(own, tuple(nodes), relation.place)

    tree = tree_of(node(roots[0], children[roots[0]].place, 0, closed=True), name)
    _require_height(height, tree.height)
    return tree


def _bounds(place: str, text: str) -> tuple[Decimal, Decimal] | None:
    """Return the bounds of a range; None of the range of missing values, NaN,NaN."""
    low, comma, high = text.partition(",")
    try:
        bounds = Decimal(low), Decimal(high)
    except InvalidOperation:
        bounds = None
    if bounds is None or not comma:
        raise BrokenError(place, "a range is written with its bounds, as in 0.0,20.0")
    if all(bound.is_nan() for bound in bounds):
        return None
    if not all(bound.is_finite() for bound in bounds):
        raise BrokenError(place, "the bounds of a range must be finite")
    return bounds


def _require_height(stated: tuple[str, str] | None, found: int) -> None:
    if stated is not None and stated[1] != str(found):
        raise BrokenError(
            stated[0],
            f"the height is said to be another one than what is there, which is {found}. Lines are missing, or a "
            "label has a space in it",
        )
