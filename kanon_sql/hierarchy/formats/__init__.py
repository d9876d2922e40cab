"""Hierarchy files: opened, recognised by what they hold, and read by the format that fits.

``docs/hierarchies.md`` lists what is understood. A file becomes rows of equal length that form a tree, or a tree of
intervals; whether they cover the values of a column shows when the frequency set is made.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kanon_sql.errors import HierarchyError, SourceError
from kanon_sql.hierarchy.formats.rows import BrokenError, HierarchyRows, IntervalTree
from kanon_sql.hierarchy.formats.separated import read_separated

if TYPE_CHECKING:
    from pathlib import Path

_XML = re.compile(r"\s*<(\?xml\b|!--|!DOCTYPE\b|config\b)")  # a label such as <18 is none
_AMNESIA = re.compile(r"\s*(distinct|range)[ \t]*\r?\n\s*name\b", re.IGNORECASE)
_CONFIG_LINE = re.compile(r"\s*qid\s+(hei|cat)\s+\S+\s+[^;]+")


def read_hierarchy(path: Path, column: str) -> HierarchyRows | IntervalTree:
    """Return the hierarchy in a file; an error names the line.

    A first line that begins with the name of the column is a header.
    """
    text = _text_of(path)
    try:
        return _read(text, column)
    except BrokenError as error:
        where = f"{path} " if error.place is None else f"{path}, {error.place}: "
        raise HierarchyError(f"{where}{error.reason}.") from None


def read_levels(path: Path, column: str) -> HierarchyRows:
    """Return the rows of a hierarchy file, where a tree of intervals will not do."""
    read = read_hierarchy(path, column)
    if isinstance(read, IntervalTree):
        raise HierarchyError(f"{path} is a tree of intervals; rows of labels are needed here: value;level 1;...;root.")
    return read


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


def _read(text: str, column: str) -> HierarchyRows | IntervalTree:
    """Return what a text holds, by the first format that knows it; those of UTD were read up to version 0.1."""
    if _XML.match(text) or ("qid" in text and any(map(_CONFIG_LINE.fullmatch, text.splitlines()))):
        raise BrokenError(
            None,
            "is XML, or a config.txt, of the UTD Anonymization Toolbox, which is not read any more. Read are CSV "
            "(value;level 1;...;root, or child,parent pairs), JSON, and text of Amnesia: write one of these for each "
            "attribute, or use a rule such as intervals:5,10,20",
        )
    if _AMNESIA.match(text):
        from kanon_sql.hierarchy.formats.amnesia import read_amnesia_text

        return read_amnesia_text(text)
    if _is_json(text):
        from kanon_sql.hierarchy.formats.json_files import read_json

        return read_json(text)
    return read_separated(text, column)


def _is_json(text: str) -> bool:
    """Tell whether a text is meant as JSON; ``[15, 20[;*`` is a line of levels, and so is ``{a};*``."""
    start = text.lstrip()
    if start.startswith('"embedded"'):
        return start.removeprefix('"embedded"').lstrip().startswith(":")
    bracket, after = start[:1], start[1:].lstrip()[:1]
    return (bracket == "[" and after in {"[", "{", "]", '"'}) or (bracket == "{" and after in {'"', "}"})
