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
    """A hierarchy that comes with kanon-sql.

    Attributes:
        name: what it is called after ``ready:``.
        title: what it generalizes.
        levels: what stands at each level, in words.
        source: where its facts are from.
        licence: under which they may be used.
        as_of: the date of the source, where it has one.
        kinds: the kinds of columns it is for.
        path: its file; None if it is a rule.
        rule: its rule; None if it is a file.
        prefix: by how many first characters values are matched with the file, most first; empty: by all.
        hide: whether the prefixes are no levels.
        values: a regular expression for what a value must look like; None: anything.
        examples: values that show what a rule does.
        weak: whether its values say so little that it is only for columns whose name agrees.
        names: parts of the names of columns for which it goes before others of its kind.
        after: whether others that fit as well go before it.
    """

    name: str
    title: str
    levels: str
    source: str
    licence: str
    as_of: date | None
    kinds: tuple[str, ...]
    path: Path | None = None
    rule: str | None = None
    prefix: tuple[int, ...] = ()
    hide: bool = False
    values: str | None = None
    examples: tuple[str | int | date, ...] = ()
    weak: bool = False
    names: tuple[str, ...] = ()
    after: bool = False

    @property
    def has_every_value(self) -> bool:
        """Whether it is a rule for anything that its type of column can hold."""
        return self.rule is not None and self.values is None and not self.weak


def ready_made(name: str) -> ReadyMade:
    known = catalogue()
    if name not in known:
        raise UsageError(f"There is no ready-made hierarchy {name!r}. There are: {', '.join(known)}.")
    return known[name]


def ready_made_names() -> list[str]:
    return list(catalogue())


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
