"""The hierarchies shipped with kanon-sql, as described in ``hierarchies/catalogue.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from kanon_sql.errors import UsageError
from kanon_sql.sql.build import data_directory

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

READY = "ready:"
"""Prefix of the name of a ready-made hierarchy."""


@dataclass(frozen=True)
class ReadyMade:
    """A hierarchy shipped with kanon-sql."""

    name: str  # after ``ready:``
    title: str  # a description of the values it generalizes
    levels: str  # a description of its levels
    source: str
    licence: str
    as_of: date | None  # the date of the source, if it has one
    kinds: tuple[str, ...]  # the kinds of columns it is for
    path: Path | None = None  # its file; None if it is a rule
    rule: str | None = None  # its rule; None if it is a file
    # numbers of first characters to look up in the file, most first; empty: the whole value
    prefix: tuple[int, ...] = ()
    hide: bool = False  # whether the prefixes are not levels
    values: str | None = None  # a regular expression for values; None: anything
    examples: tuple[str | int | date, ...] = ()  # values that show the effect of a rule
    weak: bool = False  # whether its values are so unspecific that the column's name must agree
    names: tuple[str, ...] = ()  # one of these must be in the column's name; empty: its kind is enough
    after: bool = False  # whether others that fit equally well come before it

    @property
    def has_every_value(self) -> bool:
        """Whether it is a rule that covers every value of its type of column."""
        return self.rule is not None and self.values is None and not self.weak


def ready_made(name: str) -> ReadyMade:
    known = catalogue()
    if name not in known:
        raise UsageError(f"There is no ready-made hierarchy {name!r}. There are: {', '.join(known)}.")
    return known[name]


@cache
def catalogue() -> dict[str, ReadyMade]:
    import tomllib

    directory = data_directory("hierarchies")
    text = (directory / "catalogue.toml").read_text(encoding="utf-8")
    return {name: _entry(name, table, directory) for name, table in sorted(tomllib.loads(text).items())}


def _entry(name: str, table: dict[str, object], directory: Path) -> ReadyMade:
    """Return an entry; an unknown setting is a TypeError, which a test of the catalogue would find."""
    said = dict(table)
    file = said.pop("file", None)
    lists = {key: tuple(value) for key, value in said.items() if isinstance(value, list)}
    said = {"as_of": None, **said, **lists, "path": None if file is None else directory / str(file)}
    return ReadyMade(name, **said)  # type: ignore[arg-type]  # the types of our own file, which a test reads whole
