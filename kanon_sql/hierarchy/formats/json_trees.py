"""Trees in JSON: mosaicrown's nested categories, and what Amnesia exports.

{"cat": "World", "subcats": [{"cat": "Europe", "subcats": [{"cat": "Greece", "subcats": null}]}]}
{"hierType": "distinct", "name": "marital", "type": "string", "height": "3",
 "level1": {"NotMarried": ["Single", "Divorced"]}, "level2": {"*": ["NotMarried", "Married"]}}
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kanon_sql.hierarchy.formats.amnesia import Relation, read_distinct, read_ranges
from kanon_sql.hierarchy.formats.jsons import Array, Object
from kanon_sql.hierarchy.formats.rows import BrokenError, HierarchyRows, Line, line_place, rows_of

if TYPE_CHECKING:
    from kanon_sql.hierarchy.formats.intervals import IntervalTree

_RANGE = re.compile(r"\s*(-?[\d.]+(?:[eE]-?\d+)?)\s*[,-]\s*(-?[\d.]+(?:[eE]-?\d+)?)\s*")


def is_nested(document: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether a document is a tree of categories, or a list of such trees."""
    roots = document if isinstance(document, Array) else [document]
    return bool(roots) and all(isinstance(root, Object) and {"cat", "subcats"} & root.keys() for root in roots)


def read_nested(document: Any) -> HierarchyRows:  # noqa: ANN401 - any JSON value
    """Return the rows of a tree of categories.

    Raises:
        BrokenError: a category has no name, or its subcategories are no list.
    """
    roots = document if isinstance(document, Array) else [document]
    lines: list[Line] = []
    waiting: list[tuple[Any, list[str], str]] = [(root, [], line_place(1)) for root in reversed(roots)]
    while waiting:
        node, above, above_place = waiting.pop()
        if not isinstance(node, Object):
            raise BrokenError(above_place, "among the subcats is something that is no category in braces")
        place = line_place(node.line)
        name, children = node.get("cat"), node.get("subcats")
        if not isinstance(name, str):
            raise BrokenError(place, "a category has no cat, which is its name")
        if children is not None and not isinstance(children, Array):
            raise BrokenError(place, "subcats is a list of categories, or null")
        if children:
            waiting.extend((child, [name, *above], place) for child in reversed(children))
        elif above:
            lines.append(Line(place, name, above))
        else:
            raise BrokenError(place, "the tree is one category without others under it")
    return rows_of(lines, "mosaicrown JSON tree")


def is_amnesia(document: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether Amnesia exported a document."""
    return isinstance(document, Object) and "hierType" in document


def read_amnesia_json(document: Object) -> HierarchyRows | IntervalTree:
    """Return the hierarchy of an export of Amnesia.

    Raises:
        BrokenError: a level is no object of lists, or the tree is broken.
    """
    relations = list(_relations(document))
    if not relations:
        raise BrokenError(line_place(document.line), "there is no level1, so that no value has a parent")
    height = document.get("height")
    stated = (line_place(document.line), height) if isinstance(height, str) else None
    if document["hierType"] == "distinct":
        return read_distinct(relations, stated, "Amnesia JSON")
    return read_ranges([_with_commas(relation) for relation in relations], stated, "Amnesia JSON, ranges")


def _relations(document: Object) -> list[Relation]:
    found = []
    for name, level in document.items():
        if re.fullmatch(r"level\d+", name) is None:
            continue
        if not isinstance(level, Object):
            raise BrokenError(line_place(document.line), f"{name} is no object of parents with their children")
        for parent, children in level.items():
            if not isinstance(children, Array) or not all(isinstance(child, str) for child in children):
                raise BrokenError(line_place(level.line), f"the children of a parent of {name} are no list of texts")
            found.append(Relation(line_place(children.line), parent, tuple(children)))
    return found


def _with_commas(relation: Relation) -> Relation:
    """Return a relation of ranges that are written ``0.0-20.0`` as the text format writes them: ``0.0,20.0``."""
    names = [_RANGE.sub(r"\1,\2", name) for name in (relation.parent, *relation.children)]
    return Relation(relation.place, names[0], tuple(names[1:]))
