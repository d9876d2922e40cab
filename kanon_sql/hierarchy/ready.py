"""The hierarchies that come with kanon-sql: what ``hierarchies/catalogue.toml`` says of each."""

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
"""What stands before the name of a ready-made hierarchy."""


@dataclass(frozen=True)
class ReadyMade:
    """A hierarchy that comes with kanon-sql."""

    name: str  # what it is called after ``ready:``
    title: str  # what it generalizes
    levels: str  # what stands at each level, in words
    source: str  # where its facts are from
    licence: str  # under which they may be used
    as_of: date | None  # the date of the source, where it has one
    kinds: tuple[str, ...]  # the kinds of columns it is for
    path: Path | None = None  # its file; None if it is a rule
    rule: str | None = None  # its rule; None if it is a file
    # by how many first characters values are matched with the file, most first; empty: by all
    prefix: tuple[int, ...] = ()
    hide: bool = False  # whether the prefixes are no levels
    values: str | None = None  # a regular expression for what a value must look like; None: anything
    examples: tuple[str | int | date, ...] = ()  # values that show what a rule does
    weak: bool = False  # whether its values say so little that it is only for columns whose name agrees
    names: tuple[str, ...] = ()  # one of these must be in the name of a column; empty: its kind is enough
    after: bool = False  # whether others that fit as well go before it

    @property
    def has_every_value(self) -> bool:
        """Whether it is a rule for anything that its type of column can hold."""
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
    """Return an entry; a setting that does not exist is a TypeError, which a test of the catalogue meets."""
    said = dict(table)
    file = said.pop("file", None)
    lists = {key: tuple(value) for key, value in said.items() if isinstance(value, list)}
    said = {"as_of": None, **said, **lists, "path": None if file is None else directory / str(file)}
    return ReadyMade(name, **said)  # type: ignore[arg-type]  # the types of our own file, which a test reads whole
