"""The levels that a search may choose: ``{ zip = 2 }`` allows one, ``"..2"``, ``"1.."`` and ``"1..2"`` a range.

A node below the lowest allowed level counts as one that suppresses every row: nodes above it may still be good.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kanon_sql.classes.lattice import Lattice
from kanon_sql.errors import UsageError
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.hierarchy.lookup_relation import Hierarchy

_FORM = re.compile(r"(\d{1,4})|(\d{1,4})?\.\.(\d{1,4})?")


def levels_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Normalize the levels of columns as texts."""
    found = {}
    for column, value in given.items():
        text = "" if isinstance(value, bool) or not isinstance(value, int | str) else str(value).replace(" ", "")
        if not _FORM.fullmatch(text) or text == "..":
            raise UsageError(
                f'The levels of column {column!r} are a whole number, or a range such as "..2", "1.." or "1..2", with '
                f"0 for the values themselves; not {value!r}."
            )
        found[column] = text
    return found


def allowed_nodes(lattice: Lattice, hierarchies: Sequence[Hierarchy], levels: Mapping[str, str]) -> Lattice:
    """Return the part of a lattice with allowed levels; the whole lattice if no levels are given."""
    if not levels:
        return lattice
    lowest, heights = list(lattice.bottom), list(lattice.heights)
    places = {folded(hierarchy.column.name): place for place, hierarchy in enumerate(hierarchies)}
    for column, text in levels.items():
        if (place := places.get(folded(column))) is None:
            raise UsageError(f"Levels are given for column {column!r}, which is not a quasi-identifier.")
        low, dots, high = text.partition("..")
        height = lattice.heights[place]
        first = int(low or 0)
        last = int(high) if high else height if dots else first
        if not first <= last <= height:
            raise UsageError(f"Column {column!r} has levels 0 to {height}, not {text}.")
        lowest[place], heights[place] = first, last
    return Lattice(tuple(heights), tuple(lowest))
