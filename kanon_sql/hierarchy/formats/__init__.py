"""Hierarchy files: lines of levels or child,parent pairs, with any name; and levels from Python.

``docs/hierarchies.md`` lists the formats. A file becomes rows of equal length that form a tree; whether they cover the
values of a column is checked when the frequency set is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.sources.data_files import frame_kind
from kanon_sql.errors import HierarchyError, SourceError, UsageError
from kanon_sql.hierarchy.formats.rows import BrokenError, Line
from kanon_sql.hierarchy.formats.separated import read_separated, rows_of_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from kanon_sql.hierarchy.formats.rows import HierarchyRows

_NOT_READ = re.compile(
    r"""\s*(<(\?xml\b|!--|!DOCTYPE\b|config\b)                  # XML; a label such as <18 is none
    |\[\s*[\[{\]"]|\{\s*["}]|"embedded"\s*:                     # JSON; [15, 20[;* is a line of levels
    |(distinct|range)[ \t]*\r?\n\s*name\b)                      # Amnesia
    """,
    re.IGNORECASE | re.VERBOSE,
)


def read_hierarchy(path: Path, column: str) -> HierarchyRows:
    """Read the hierarchy in a file; errors name the line.

    A first line that starts with the name of the column is a header.
    """
    text = _text_of(path)
    if _NOT_READ.match(text):
        raise HierarchyError(
            f"{path} is XML, JSON or a file of Amnesia, and kanon reads CSV and text: write one line for each value "
            "(value;level 1;...;root), or one child,parent pair for each label."
        )
    with _named(str(path)):
        return read_separated(text, column)


def read_lines(lines: Sequence[Line], name: str) -> HierarchyRows:
    """Return the hierarchy of lines that are not from a file; errors refer to ``name``."""
    with _named(name):
        return rows_of_lines(lines, "levels")


@contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenError as error:
        where = f"{name} " if error.place is None else f"{name}, {error.place}: "
        raise HierarchyError(f"{where}{error.reason}.") from None


def _text_of(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(f"Hierarchy file {path} does not exist.") from None
    except OSError as error:
        raise SourceError(f"Hierarchy file {path} cannot be read: {error.strerror}.") from None
    if raw.startswith((b"\xac\xed", b"PK\x03\x04")):
        raise HierarchyError(
            f"{path} is a binary file of ARX (.ahs or .deid). In ARX, export the hierarchy as CSV and give that file."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise HierarchyError(
            f"{path}, line {line:,}: this is not UTF-8 text. Convert it, for example with iconv -t utf-8."
        ) from None


# Levels from Python


def lines_of(levels: Any) -> tuple[Line, ...]:  # noqa: ANN401 - a mapping, or a data frame
    """Return levels as lines of a file: a value, and its labels up to the root.

    >>> lines_of({"f": "person", 25: ["20s", "*"]})
    (Line(at='entry 1', value='f', labels=('person',)), Line(at='entry 2', value='25', labels=('20s', '*')))
    """
    if isinstance(levels, Mapping):
        rows: Iterable[Any] = (
            (value, *(labels if isinstance(labels, list | tuple) else [labels])) for value, labels in levels.items()
        )
    else:
        rows = _rows_of_frame(levels)
    lines = []
    for number, row in enumerate(rows, start=1):
        value, *labels = map(_text, row)
        lines.append(Line(f"entry {number:,}", value, tuple(label or "" for label in labels)))
    return tuple(lines)


def _rows_of_frame(frame: Any) -> Iterable[Any]:  # noqa: ANN401 - of a library that need not be installed
    kind = frame_kind(frame)
    if kind == "pandas":
        rows: Iterable[Any] = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    elif kind == "polars":
        rows = frame.lazy().collect().iter_rows()
    elif kind == "arrow":
        rows = zip(*(column.to_pylist() for column in frame.columns), strict=True)
    else:
        raise UsageError(
            "A hierarchy is a rule, a file, a mapping from a value to its label or its list of labels, or a data frame "
            f"whose first column is the value; not {type(frame).__name__}."
        )
    return rows


def _text(cell: Any) -> str | None:  # noqa: ANN401 - any cell
    """Return a value as a file would contain it; None for a missing value and NaN."""
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return None
    return str(cell).lower() if isinstance(cell, bool) else str(cell)
