"""JSON: rows of levels (IBM, ARXaaS, SAP HANA), and trees (mosaicrown, Amnesia).

{"terms": [["Single", "Alone", "*"], ["Married", "In marriage", "*"]]}       IBM Data Privacy Toolkit
[["male", "*"], ["female", "*"]]                                             ARXaaS, IBM on Spark
{"embedded": [["Paris", "France"], ["Munich", "Germany"]]}                   HANA: the root is left out
{"cat": "World", "subcats": [{"cat": "Europe", "subcats": [{"cat": "Greece", "subcats": null}]}]}
{"hierType": "distinct", "name": "marital", "type": "string", "height": "3",
 "level1": {"NotMarried": ["Single", "Divorced"]}, "level2": {"*": ["NotMarried", "Married"]}}

IBM's documentation says "from top node to leaf" and shows the leaf first: the rows themselves tell.
"""

from __future__ import annotations

import json
import json.decoder
import json.scanner
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kanon_sql.hierarchy.formats.amnesia import Relation, read_distinct, read_ranges
from kanon_sql.hierarchy.formats.rows import BrokenError, HierarchyRows, Line, line_place, rows_of

if TYPE_CHECKING:
    from kanon_sql.hierarchy.formats.rows import IntervalTree


class _Array(list[Any]):
    """An array, with the line where it begins."""

    line: int = 0


class _Object(dict[str, Any]):
    """An object, with the line where it begins."""

    line: int = 0


class _Decoder(json.JSONDecoder):
    """Reads arrays and objects that know their line.

    The standard decoder's own functions read them; only its scanner in Python, not the one in C, calls them.
    """

    def __init__(self, text: str) -> None:
        super().__init__(parse_float=str, parse_int=str, parse_constant=str)
        self._line_ends = [place for place, character in enumerate(text) if character == "\n"]
        # The parts of the standard decoder are public by name, but type checkers do not know them.
        decoder: Any = json.decoder
        scanner: Any = json.scanner
        self._array, self._object = decoder.JSONArray, decoder.JSONObject
        self.parse_array = self._located_array
        self.parse_object = self._located_object
        self.scan_once = scanner.py_make_scanner(self)

    def _located_array(self, text_and_end: tuple[str, int], scan_once: Any) -> tuple[_Array, int]:  # noqa: ANN401 - the scanner
        items, end = self._array(text_and_end, scan_once)
        array = _Array(items)
        array.line = self._line(text_and_end[1])
        return array, end

    def _located_object(self, text_and_end: tuple[str, int], *settings: Any) -> tuple[_Object, int]:  # noqa: ANN401 - of the scanner
        strict, scan_once, _, _, memo = settings
        line = self._line(text_and_end[1])
        pairs, end = self._object(text_and_end, strict, scan_once, None, list, memo)
        found = _Object(pairs)
        if len(found) < len(pairs):
            raise BrokenError(line_place(line), "an object has two entries of the same name. Keep one of them")
        found.line = line
        return found, end

    def _line(self, place: int) -> int:
        from bisect import bisect_left

        return bisect_left(self._line_ends, place) + 1


def read_json(text: str) -> HierarchyRows | IntervalTree:
    # HANA's documentation shows the entry alone, without the braces around it.
    document = _parse("{" + text + "}" if text.lstrip().startswith('"') else text)
    if isinstance(document, _Object) and "hierType" in document:
        return _read_amnesia(document)
    if _is_category_tree(document):
        return _read_category_tree(document)
    if _is_rows(document):
        return _read_rows(document)
    raise BrokenError(
        None,
        "is JSON, but no hierarchy of a kind that is known: rows in brackets, terms, embedded, cat and subcats, "
        "or an export of Amnesia",
    )


def _parse(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON text: None, bool, str (numbers too), ``_Array`` or ``_Object``."""
    try:
        return _Decoder(text).decode(text)
    except json.JSONDecodeError as error:
        raise BrokenError(line_place(error.lineno), f"this is not JSON ({error.msg})") from None
    except RecursionError:
        raise BrokenError(None, "is JSON that is nested too deeply") from None


_IN_THE_DATABASE = {"view": "a view", "function": "a function"}


def _is_rows(document: Any) -> bool:  # noqa: ANN401 - any JSON value
    if isinstance(document, _Object):
        hana = document.get("hierarchy", document)
        return bool({"terms"} & document.keys()) or (
            isinstance(hana, _Object) and bool({"embedded", *_IN_THE_DATABASE} & hana.keys())
        )
    return isinstance(document, _Array) and not any(isinstance(item, _Object) for item in document)


def _read_rows(document: Any) -> HierarchyRows:  # noqa: ANN401 - any JSON value
    if isinstance(document, _Array):
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
    if not isinstance(rows, _Array) or not rows:
        raise BrokenError(None, 'has no rows. They are written [["value", "level 1", "*"], ...]')
    lines = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, _Array):
            raise BrokenError(line_place(rows.line), f"entry {number:,} is no row in brackets")
        place = f"{line_place(row.line)}, entry {number:,}"
        if any(isinstance(cell, _Array | _Object) for cell in row):
            raise BrokenError(place, "a row holds texts and numbers, and no brackets of its own")
        if len(row) < 2:  # noqa: PLR2004 - a value and a label
            raise BrokenError(place, "a row needs the value and at least one level")
        value, *labels = [_text(cell) for cell in row]
        lines.append(Line(place, value, tuple(label or "" for label in labels)))
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
        turned.append(Line(line.at, value or None, tuple(labels)))
    rows = rows_of(turned, name)
    return replace(rows, notes=(*rows.notes, "its rows go from the root to the leaf, and were turned"))


_RANGE = re.compile(r"\s*(-?[\d.]+(?:[eE]-?\d+)?)\s*[,-]\s*(-?[\d.]+(?:[eE]-?\d+)?)\s*")


def _is_category_tree(document: Any) -> bool:  # noqa: ANN401 - any JSON value
    roots = document if isinstance(document, _Array) else [document]
    return bool(roots) and all(isinstance(root, _Object) and {"cat", "subcats"} & root.keys() for root in roots)


def _read_category_tree(document: Any) -> HierarchyRows:  # noqa: ANN401 - any JSON value
    roots = document if isinstance(document, _Array) else [document]
    lines: list[Line] = []
    waiting: list[tuple[Any, list[str], str]] = [(root, [], line_place(1)) for root in reversed(roots)]
    while waiting:
        node, above, above_place = waiting.pop()
        if not isinstance(node, _Object):
            raise BrokenError(above_place, "among the subcats is something that is no category in braces")
        place = line_place(node.line)
        name, children = node.get("cat"), node.get("subcats")
        if not isinstance(name, str):
            raise BrokenError(place, "a category has no cat, which is its name")
        if children is not None and not isinstance(children, _Array):
            raise BrokenError(place, "subcats is a list of categories, or null")
        if children:
            waiting.extend((child, [name, *above], place) for child in reversed(children))
        elif above:
            lines.append(Line(place, name, tuple(above)))
        else:
            raise BrokenError(place, "the tree is one category without others under it")
    return rows_of(lines, "mosaicrown JSON tree")


def _read_amnesia(document: _Object) -> HierarchyRows | IntervalTree:
    relations = list(_relations(document))
    if not relations:
        raise BrokenError(line_place(document.line), "there is no level1, so that no value has a parent")
    height = document.get("height")
    stated = (line_place(document.line), height) if isinstance(height, str) else None
    if document["hierType"] == "distinct":
        return read_distinct(relations, stated, "Amnesia JSON")
    return read_ranges([_with_commas(relation) for relation in relations], stated, "Amnesia JSON, ranges")


def _relations(document: _Object) -> list[Relation]:
    found = []
    for name, level in document.items():
        if re.fullmatch(r"level\d+", name) is None:
            continue
        if not isinstance(level, _Object):
            raise BrokenError(line_place(document.line), f"{name} is no object of parents with their children")
        for parent, children in level.items():
            if not isinstance(children, _Array) or not all(isinstance(child, str) for child in children):
                raise BrokenError(line_place(level.line), f"the children of a parent of {name} are no list of texts")
            found.append(Relation(line_place(children.line), parent, tuple(children)))
    return found


def _with_commas(relation: Relation) -> Relation:
    """Return a relation of ranges that are written ``0.0-20.0`` as the text format writes them: ``0.0,20.0``."""
    names = [_RANGE.sub(r"\1,\2", name) for name in (relation.parent, *relation.children)]
    return Relation(relation.place, names[0], tuple(names[1:]))
