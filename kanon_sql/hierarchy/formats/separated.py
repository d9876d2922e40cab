"""Lines of levels (ARX, kaylode, qiyuangong, anjana), leaf first, or child,parent pairs (Samarati).

Existing files differ in separator, header, quoting, line ends and depth.
"""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.formats.rows import BrokenError, HierarchyRows, Line, line_place, rows_of, rows_of_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAF_NAMES = {"value", "leaf", "level_0", "level0", "level 0", "original", "child"}
_SAMPLE = 1000  # number of lines that determine the separator
_SEPARATORS = {";": "semicolons", ",": "commas", "\t": "tabs"}


def read_separated(text: str, column: str) -> HierarchyRows:
    """Return the rows of a text; a first line that starts with the name of the column is a header."""
    raw = list(StringIO(text, newline=""))
    separator = max(_SEPARATORS, key=lambda candidate: _regularity(_sample(raw, candidate)))
    lines = _split(raw, separator, whole=True)
    header = bool(lines) and _is_header(lines, column)
    body = lines[1:] if header else lines
    jagged = len({len(line.labels) for line in body}) > 1
    return rows_of_lines(body, _name(separator, header=header, jagged=jagged), header=header)


def rows_of_lines(lines: Sequence[Line], name: str, *, header: bool = False) -> HierarchyRows:
    """Return the rows of lines of levels, or of child,parent pairs."""
    if not lines:
        raise BrokenError(None, "has no rows. A hierarchy has a line per value: value;level 1;...;root")
    if not any(line.labels for line in lines):
        raise BrokenError(
            None, "has one field per line. A line needs the value and at least one level, separated by ; or ,"
        )
    if _are_pairs(lines):
        return rows_of_pairs(lines, "child,parent pairs", header=header)
    return rows_of(lines, name, header=header)


def _name(separator: str, *, header: bool, jagged: bool) -> str:
    if separator == ";" and not header and not jagged:
        return "ARX CSV"
    more = [", with a header" if header else "", ", rows of different length" if jagged else ""]
    return f"levels between {_SEPARATORS[separator]}{''.join(more)}"


def _sample(raw: list[str], separator: str) -> list[Line]:
    """Return the first lines; for a longer file, without the last record, which may be incomplete."""
    try:
        lines = _split(raw[:_SAMPLE], separator, whole=False)
    except BrokenError:
        return []
    return lines if len(raw) <= _SAMPLE else lines[:-1]


def _split(raw: list[str], separator: str, *, whole: bool) -> list[Line]:
    reader = csv.reader(raw, delimiter=separator)
    known: dict[str, tuple[str, ...]] = {}  # many lines without quotes have the same labels
    lines, first, begun, written = [], 1, 1, ""
    try:
        for record in reader:
            begun, first, written = first, reader.line_num + 1, "".join(raw[first - 1 : reader.line_num])
            if not any(record):
                continue
            value, *rest = record
            if '"' in written:
                labels = tuple(_label(label, written) for label in rest)
            else:
                after = written[len(value) :]
                if after not in known:
                    known[after] = tuple(map(str.strip, rest))
                labels = known[after]
            # An empty field without quotes is a missing value; an empty text is written "".
            lines.append(Line(begun, value if value or written.lstrip(" ").startswith('"') else None, labels))
    except csv.Error as error:
        raise BrokenError(line_place(first), f"this cannot be read as CSV ({error})") from None
    # A record that ends inside quotes continues: only the end of the file can have ended it.
    next_line = f"{separator}\n"
    if whole and written.count('"') % 2 and len(list(csv.reader([written, next_line], delimiter=separator))) == 1:
        raise BrokenError(line_place(begun), "a quote is opened here and not closed")
    return lines


def _label(label: str, written: str) -> str:
    """Return a label without the spaces around it, unless they are inside quotes."""
    bare = label.strip()
    if bare == label or '"{}"'.format(label.replace('"', '""')) in written:
        return label
    return bare


def _regularity(lines: list[Line]) -> tuple[float, float]:
    """Return the fit of a separator: the share of lines that it splits, then how similar the lines are."""
    if not lines:
        return (0.0, 0.0)
    sizes = [1 + len(line.labels) for line in lines]
    split = sum(size > 1 for size in sizes) / len(sizes)
    usual = max(set(sizes), key=sizes.count)
    return (split, sizes.count(usual) / len(sizes))


def _is_header(lines: list[Line], column: str) -> bool:
    first, rest = _fields(lines[0]), lines[1:]
    if not rest:
        return False
    roots = {line.labels[-1] if line.labels else line.value or "" for line in rest}
    if first[-1] in roots:  # it ends like other lines: a value may have the name of its column
        return False
    if first[0].strip().casefold() in _LEAF_NAMES | {column.casefold()}:
        return True
    # All other lines end in the same root, and nothing of the first line recurs in its position.
    if len(rest) == 1 or len(roots) > 1 or any(len(line.labels) != len(lines[0].labels) for line in rest):
        return False
    columns = zip(*map(_fields, rest), strict=True)
    return all(name not in labels for name, labels in zip(first, map(set, columns), strict=True))


def _fields(line: Line) -> list[str]:
    return [line.value or "", *line.labels]


def _are_pairs(lines: Sequence[Line]) -> bool:
    """Return True if lines are child,parent pairs: two fields, and some parent is also a child."""
    if any(len(line.labels) != 1 for line in lines):
        return False
    children = {line.value for line in lines if line.value != line.labels[0]}
    return any(line.labels[0] in children for line in lines)
