"""Rows of levels in JSON: IBM's Data Privacy Toolkit, ARXaaS, and the embedded hierarchies of SAP HANA.

    {"terms": [["Single", "Alone", "*"], ["Married", "In marriage", "*"]]}       IBM
    [["male", "*"], ["female", "*"]]                                             ARXaaS, IBM on Spark
    {"embedded": [["Paris", "France"], ["Munich", "Germany"]]}                   HANA: the root is left out

IBM's documentation says "from top node to leaf" and shows the leaf first: the rows themselves tell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kanon_sql.hierarchy.formats.jsons import Array, Object
from kanon_sql.hierarchy.formats.rows import BrokenError, HierarchyRows, Line, line_place, rows_of

_IN_THE_DATABASE = {"view": "a view", "function": "a function"}


def is_rows(document: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether a document has rows of levels."""
    if isinstance(document, Object):
        hana = document.get("hierarchy", document)
        return bool({"terms"} & document.keys()) or (
            isinstance(hana, Object) and bool({"embedded", *_IN_THE_DATABASE} & hana.keys())
        )
    return isinstance(document, Array) and not any(isinstance(item, Object) for item in document)


def read_rows(document: Any) -> HierarchyRows:  # noqa: ANN401 - any JSON value
    """Return the rows of a document.

    Raises:
        BrokenError: it has none, or they are no tree.
    """
    if isinstance(document, Array):
        return _either_way(_lines(document), "rows in JSON (ARXaaS)")
    if "terms" in document:
        terms = document["terms"]
        if isinstance(terms, str):
            raise BrokenError(
                line_place(document.line),
                "terms is the name of a hierarchy that is built into IBM's toolkit, not the hierarchy itself. Export "
                "its rows, or take one of kanon hierarchy list",
            )
        return _either_way(_lines(terms), "IBM Data Privacy Toolkit JSON")
    hana = document.get("hierarchy", document)
    for name, what in _IN_THE_DATABASE.items():
        if name in hana:
            raise BrokenError(
                line_place(hana.line),
                f"the hierarchy is {what} in the HANA database, not in this file. Select its rows there into a CSV "
                "file with the value first",
            )
    return rows_of(_lines(hana["embedded"]), "SAP HANA embedded JSON", add_root=True)


def _lines(rows: Any) -> list[Line]:  # noqa: ANN401 - any JSON value
    if not isinstance(rows, Array) or not rows:
        raise BrokenError(None, 'has no rows. They are written [["value", "level 1", "*"], ...]')
    lines = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Array):
            raise BrokenError(line_place(rows.line), f"entry {number:,} is no row in brackets")
        place = f"{line_place(row.line)}, entry {number:,}"
        if any(isinstance(cell, Array | Object) for cell in row):
            raise BrokenError(place, "a row holds texts and numbers, and no brackets of its own")
        if len(row) < 2:  # noqa: PLR2004 - a value and a label
            raise BrokenError(place, "a row needs the value and at least one level")
        value, *labels = [_text(cell) for cell in row]
        lines.append(Line(place, value, [label or "" for label in labels]))
    return lines


def _text(cell: Any) -> str | None:  # noqa: ANN401 - a plain JSON value
    return str(cell).lower() if isinstance(cell, bool) else cell


def _either_way(lines: list[Line], name: str) -> HierarchyRows:
    """Return rows that begin with the leaf, or with the root: at the root, fewer labels differ."""
    firsts = {line.value for line in lines}
    lasts = {line.labels[-1] for line in lines}
    if len(firsts) >= len(lasts):
        return rows_of(lines, name)
    turned = []
    for line in lines:
        value, *labels = [*reversed(line.labels), line.value or ""]
        turned.append(Line(line.place, value or None, labels))
    rows = rows_of(turned, name)
    return replace(rows, notes=(*rows.notes, "its rows go from the root to the leaf, and were turned"))
