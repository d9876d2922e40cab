"""The configuration of the UTD Anonymization Toolbox: XML with the hierarchies of several attributes.

    <config method='Datafly' k='5'>
     <qid>
      <att index='12' name='sex'>
       <map><entry cat='Female' int='0'/><entry cat='Male' int='1'/></map><vgh value='[0:1]'/>
      </att>
      <att index='0' name='age'><vgh value='[0:100)'><node value='[0:50)'/><node value='[50:100)'/></vgh></att>
     </qid>
    </config>

Categories are mapped to numbers, and intervals of these numbers stand for sets of categories.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.formats.intervals import Interval, IntervalNode, IntervalTree, tree_of
from kanon_sql.hierarchy.formats.rows import BrokenError, HierarchyRows, Line, rows_of
from kanon_sql.hierarchy.formats.xml import Element, parse_xml
from kanon_sql.hierarchy.pieces import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME = "UTD XML"
_FIRST = re.compile(r"\s*<(\?xml|!|config\b)")
_NUMBER = r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*"
_INTERVAL = re.compile(rf"\s*([\[(]){_NUMBER}(?::{_NUMBER})?([\])])\s*")


@dataclass(frozen=True)
class _Category:
    """A category and the number that stands for it."""

    place: str
    name: str
    number: Decimal


def is_xml(text: str) -> bool:
    """Tell whether a text is XML; a label such as ``<18`` is none."""
    return _FIRST.match(text) is not None


def read_utd(text: str, column: str, part: str | None) -> HierarchyRows | IntervalTree:
    """Return the hierarchy of one attribute.

    Args:
        text: the file.
        column: the column it is for.
        part: the name or index of the attribute; by default the one that is called like the column, or the only one.

    Raises:
        BrokenError: there is no such attribute, or its hierarchy is broken.
    """
    root = parse_xml(text)
    if root.name != "config":
        raise BrokenError(root.place, "this XML is no configuration of the UTD Anonymization Toolbox")
    attributes = [
        attribute
        for section in root.named("qid")
        for attribute in section.named("att")
        if attribute.named("vgh") or attribute.named("map")
    ]
    if not attributes:
        raise BrokenError(root.place, "no attribute under qid has a hierarchy (vgh)")
    attribute = attributes[chosen([_names(attribute) for attribute in attributes], column, part)]
    return _hierarchy(attribute)


def chosen(attributes: Sequence[Sequence[str]], column: str, part: str | None) -> int:
    """Return which of the attributes of a file is meant.

    Args:
        attributes: for each its names; the first is shown in messages.
        column: the column that the file is for.
        part: the name that a person gave; by default the attribute is called like the column, or the only one.

    Raises:
        BrokenError: none is, or several are.
    """
    wanted = column if part is None else part
    found = [
        number for number, names in enumerate(attributes) if wanted.casefold() in {name.casefold() for name in names}
    ]
    if len(found) == 1:
        return found[0]
    if part is None and len(attributes) == 1:
        return 0
    listed = ", ".join(names[0] for names in attributes)
    raise BrokenError(None, f"has hierarchies of these attributes: {listed}. Say which after the name: FILE#attribute")


def _names(attribute: Element) -> list[str]:
    names = [attribute.attributes.get(name, "").strip() for name in ("name", "index")]
    return [name for name in names if name] or ["without a name"]


def _hierarchy(attribute: Element) -> HierarchyRows | IntervalTree:
    trees = attribute.named("vgh")
    if len(trees) != 1:
        raise BrokenError(attribute.place, f"an attribute has one vgh, and this one has {len(trees)}")
    categories = [_category(entry) for mapping in attribute.named("map") for entry in mapping.named("entry")]
    if not categories:
        return tree_of(_node(trees[0], 0), _NAME)
    return _rows(categories, trees[0])


def _category(entry: Element) -> _Category:
    name, number = entry.attributes.get("cat"), entry.attributes.get("int", "")
    if name is None or re.fullmatch(r"\s*-?\d{1,18}\s*", number) is None:
        raise BrokenError(entry.place, "an entry of a map needs cat, and int with a whole number")
    return _Category(entry.place, name, Decimal(number.strip()))


def _node(element: Element, depth: int) -> IntervalNode:
    most = 100
    if depth > most:
        raise BrokenError(element.place, f"the tree is more than {most} levels high")
    children = tuple(_node(child, depth + 1) for child in element.named("node"))
    return IntervalNode(_interval(element), children, element.place)


def _interval(element: Element) -> Interval:
    found = _INTERVAL.fullmatch(element.attributes.get("value", ""))
    if found is None:
        raise BrokenError(element.place, "value must be an interval, such as [0:50) or [7]")
    left, low, high, right = found.groups()
    return Interval(Decimal(low), Decimal(high or low), low_open=left == "(", high_open=right == ")")


def _rows(categories: list[_Category], tree: Element) -> HierarchyRows:
    """Return a row for each category: the intervals that hold its number, from the inside out."""
    numbers: dict[Decimal, _Category] = {}
    for category in categories:
        if category.number in numbers:
            raise BrokenError(
                category.place, f"another category has this int already ({numbers[category.number].place})"
            )
        numbers[category.number] = category
    if not tree.named("node"):  # the bounds decide nothing then: the sample of the toolbox has wrong ones
        return rows_of([Line(category.place, category.name, [ROOT]) for category in categories], _NAME)
    root = tree_of(_node(tree, 0), _NAME).root
    return rows_of([Line(category.place, category.name, _labels(category, root)) for category in categories], _NAME)


def _labels(category: _Category, root: IntervalNode) -> list[str]:
    if not root.interval.holds(category.number):
        raise BrokenError(category.place, "the int of this category lies outside of the vgh")
    labels = [ROOT]
    node = root
    while inner := [child for child in node.children if child.interval.holds(category.number)]:
        (node,) = inner
        if node.children or node.interval.low != node.interval.high:  # else it is the category itself
            labels.append(f"[{node.interval.low}:{node.interval.high}]" if _closed(node) else str(node.interval))
    return labels[::-1]


def _closed(node: IntervalNode) -> bool:
    return not node.interval.low_open and not node.interval.high_open
