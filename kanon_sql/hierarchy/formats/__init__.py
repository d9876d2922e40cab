"""Hierarchy files: lines of levels, or child,parent pairs, whatever they are called.

``docs/hierarchies.md`` lists what is understood. A file becomes rows of equal length that form a tree; whether they
cover the values of a column shows when the frequency set is made.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kanon_sql.errors import HierarchyError, SourceError
from kanon_sql.hierarchy.formats.rows import BrokenError
from kanon_sql.hierarchy.formats.separated import read_separated, rows_of_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kanon_sql.hierarchy.formats.rows import HierarchyRows, Line

_NOT_READ = re.compile(
    r"""\s*(<(\?xml\b|!--|!DOCTYPE\b|config\b)                  # XML; a label such as <18 is none
    |\[\s*[\[{\]"]|\{\s*["}]|"embedded"\s*:                     # JSON; [15, 20[;* is a line of levels
    |(distinct|range)[ \t]*\r?\n\s*name\b)                      # Amnesia
    """,
    re.IGNORECASE | re.VERBOSE,
)


def read_hierarchy(path: Path, column: str) -> HierarchyRows:
    """Return the hierarchy in a file; an error names the line.

    A first line that begins with the name of the column is a header.
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
    """Return the hierarchy of lines that are no file; errors call them by a name."""
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
