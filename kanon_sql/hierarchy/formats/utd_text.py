"""The ``config.txt`` of rohit-jamuar's Data-Anonymization-Tool, made after that of the UTD toolbox.

    qid hei 0   0:100,0:50-0:25-25:50,50:100-50:75-75:100
    qid cat 12  Female=0,Male=1

The first interval is the root; each of the others stands with those under it, between dashes. As in the toolbox, an
interval holds its lower bound and not its upper one.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.formats.intervals import Interval, IntervalNode, IntervalTree, tree_of
from kanon_sql.hierarchy.formats.rows import BrokenError, HierarchyRows, Line, line_place, rows_of
from kanon_sql.hierarchy.formats.utd import chosen
from kanon_sql.hierarchy.pieces import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME = "UTD config.txt"
_QID = re.compile(r"qid\s+(hei|cat)\s+(\S+)\s+(.+)")
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_INTERVAL = re.compile(rf"{_NUMBER}:{_NUMBER}")


def is_utd_text(text: str) -> bool:
    """Tell whether a text has lines of quasi-identifiers, and no separators of other formats."""
    return ";" not in text and any(_QID.fullmatch(line.strip()) for line in text.splitlines())


def read_utd_text(text: str, column: str, part: str | None) -> HierarchyRows | IntervalTree:
    """Return the hierarchy of one attribute; arguments as for ``read_utd``.

    Raises:
        BrokenError: there is no such attribute, or its hierarchy is broken.
    """
    attributes = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip().startswith("qid"):
            found = _QID.fullmatch(line.strip())
            if found is None:
                raise BrokenError(line_place(number), "a quasi-identifier is written: qid hei INDEX INTERVALS")
            attributes.append((line_place(number), *found.groups()))
    place, kind, _, content = attributes[chosen([[index] for _, _, index, _ in attributes], column, part)]
    return _categories(place, content) if kind == "cat" else _intervals(place, content)


def _categories(place: str, content: str) -> HierarchyRows:
    pairs = [entry.strip().rpartition("=") for entry in content.split(",")]
    if not all(name and re.fullmatch(r"-?\d+", number.strip()) for name, _, number in pairs):
        raise BrokenError(place, "categories are written Female=0,Male=1")
    return rows_of([Line(place, name.strip(), [ROOT]) for name, _, _ in pairs], _NAME)


def _intervals(place: str, content: str) -> IntervalTree:
    first, *groups = content.split(",")
    families = [[_interval(place, text) for text in _parts(group)] for group in groups]
    (root,) = [_interval(place, text) for text in [first]]
    nodes = [_node(place, parent, [_node(place, child) for child in children]) for parent, *children in families]
    return tree_of(_node(place, root, nodes), _NAME)


def _parts(group: str) -> list[str]:
    """Return the intervals between dashes; a dash may also be the sign of a bound."""
    return re.split(r"(?<=\d)-(?=-?\d)", group.strip())


def _interval(place: str, text: str) -> Interval:
    found = _INTERVAL.fullmatch(text.strip())
    if found is None:
        raise BrokenError(place, "intervals are written 0:100,0:50-0:25-25:50,50:100-50:75-75:100")
    return Interval(Decimal(found[1]), Decimal(found[2]))


def _node(place: str, interval: Interval, children: Sequence[IntervalNode] = ()) -> IntervalNode:
    return IntervalNode(interval, tuple(children), place)
