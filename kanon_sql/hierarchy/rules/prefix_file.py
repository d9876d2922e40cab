"""Files that are looked up by the first characters of a value: E11.9 -> E11 -> what the file says of E11."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.ready import READY
from kanon_sql.hierarchy.rules.base import listed, require, rises, seen_from_here

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class PrefixRule:
    """A CSV file of levels that is looked up by the first characters of a value.

    Values are compared in capitals, without dots, hyphens and spaces.

    Attributes:
        path: the file; its values are prefixes.
        lengths: of the prefixes that stand below the file's levels, longest first; the last is looked up.
        hide: whether the prefixes are no levels.
        values: a regular expression for what a value must look like, as it is compared; None: anything.
        name: of a ready-made hierarchy; None for a file of the person's own.
    """

    path: Path
    lengths: tuple[int, ...]
    hide: bool = False
    values: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        falls = bool(self.lengths) and rises(self.lengths[::-1], above=0)
        require(falls, "the lengths of prefixes must fall, as in prefix:3,2:provinces.csv")
        require(not self.hide or len(self.lengths) == 1, "prefixes that are no levels have one length")

    def __str__(self) -> str:
        return f"{READY}{self.name}" if self.name is not None else self.with_path(seen_from_here(self.path))

    def absolute(self) -> str:
        """Return the rule as text that means the same from any directory."""
        return str(self) if self.name is not None else self.with_path(str(self.path.absolute()))

    def with_path(self, path: str) -> str:
        """Return the rule as text, with its file written as given."""
        return f"prefix:{','.join(map(str, self.lengths))}{':hide' if self.hide else ''}:{path}"


def parse_prefix(parts: list[str], directory: Path) -> PrefixRule:
    """Return the rule that stands after ``prefix:``, with the path of its file from a directory.

    Raises:
        RuleError: it is written wrong.
    """
    lengths, *rest = parts or [""]
    hide = rest[:1] == ["hide"] and len(rest) > 1
    file = ":".join(rest[1:] if hide else rest)  # a path may have a colon
    written = bool(file) and all(re.fullmatch(r"[0-9]+", length) for length in listed(lengths))
    require(written, "prefix needs a number of characters and a file, as in prefix:3:codes.csv")
    return PrefixRule(directory / file, tuple(int(length) for length in listed(lengths)), hide)
