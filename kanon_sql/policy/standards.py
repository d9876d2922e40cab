"""Standards: rule packs in ``standards/*.toml``, by name (see ``standards/README.md``)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.errors import UsageError, did_you_mean
from kanon_sql.sql.build import data_directory

if TYPE_CHECKING:
    from collections.abc import Iterable

Check = Literal["gone", "zip", "dates", "ages", "class", "distinct", "cells", "policy", "person"]
PARTS_OF_YEARS = frozenset({"month", "week", "weekday", "quarter", "monat", "woche", "quartal", "mois", "mes"})
"""Words in the names of columns whose numbers are months, weeks or quarters."""
Mark = Literal["primary", "secondary", "partly secondary"]


@dataclass(frozen=True)
class Replacement:
    """A new column that a proposed policy publishes in place of columns of some kinds (``standards/README.md``)."""

    kinds: tuple[str, ...]
    families: tuple[str, ...]
    name: str
    expression: str
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class StandardRule:
    """A rule of a standard; ``standards/README.md`` explains each setting."""

    id: str
    text: str
    check: Check
    source: str
    kinds: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    not_words: tuple[str, ...] = ()
    k: int = 1
    risk: float | None = None
    least: int = 1
    restricted: tuple[str, ...] = ()
    unique: bool = False
    free_text: bool = False
    person: bool = False
    cannot: str = ""
    replace: tuple[Replacement, ...] = ()


@dataclass(frozen=True)
class Standard:
    """A standard, with the thresholds of one of its settings if it has several.

    ``mark`` tells if the source itself was read.
    """

    name: str
    title: str
    source: str
    mark: Mark
    rules: tuple[StandardRule, ...]

    @property
    def k(self) -> int:
        """The smallest class that any of its rules allows."""
        return max((max(rule.k, rule.least if rule.check == "cells" else 1) for rule in self.rules), default=1)


def standard_names() -> list[str]:
    """Return the names of all standards, including each setting."""
    return [
        f"{name}:{setting}" if setting else name
        for name, document in _documents().items()
        for setting in document.get("settings", [""])
    ]


def standard_named(name: str) -> Standard:
    """Return a standard by name, or raise a UsageError."""
    known = standard_names()
    if name not in known:
        if settings := [one for one in known if one.partition(":")[0] == name]:
            raise UsageError(f"Standard {name!r} depends on who gets the table: write {', '.join(settings)}.")
        raise UsageError(f"There is no standard {name!r}.{did_you_mean(name, known)} There is: {', '.join(known)}.")
    stem, _, setting = name.partition(":")
    document = _documents()[stem]
    return Standard(
        name,
        document["title"] + (f", {setting}" if setting else ""),
        document["source"],
        document["mark"],
        tuple(_rule(rule, document["source"], setting) for rule in document["rules"]),
    )


def values_asked_for(names: Iterable[str]) -> int:
    """Return how many values of a sensitive column each class needs by some standards; 1 if none requires any."""
    rules = [rule for name in names for rule in standard_named(name).rules if rule.check == "distinct"]
    return max((rule.least for rule in rules), default=1)


def standards_named(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of standards, each once. Raises an error for an unknown name."""
    return tuple(dict.fromkeys(standard_named(name).name for name in names))


def _rule(document: dict[str, Any], source: str, setting: str) -> StandardRule:
    settings = {"source": source, **document}
    if isinstance(settings.get("k"), dict):
        settings["k"] = settings["k"][setting]
    settings["replace"] = [Replacement(**_in_tuples(one)) for one in settings.get("replace", [])]
    return StandardRule(**_in_tuples(settings))


def _in_tuples(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


@cache
def _documents() -> dict[str, dict[str, Any]]:
    directory = data_directory("standards")
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.toml"))}
