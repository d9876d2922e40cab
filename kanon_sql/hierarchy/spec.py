"""Specification of a hierarchy: a file, levels from Python, or a rule; docs/hierarchies.md lists the rules.

age.csv                           a file, in any of the formats of docs/hierarchies.md
ready:us_state                    a hierarchy shipped with kanon-sql
prefix:3,2:hide:provinces.csv     a file that is looked up by the first characters of a value
intervals:5,10:bottom=18:top=90   a rule, with its settings

A rule can be a table of kanon.toml, which ``rule_text`` converts to such a text:

age = { intervals = [5, 10], bottom = 18, top = 90 }
area = { file = "provinces.csv", prefix = [3, 2], hide = true }
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import InvalidOperation
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.formats import lines_of, read_hierarchy, read_lines
from kanon_sql.hierarchy.ready import ready_made
from kanon_sql.hierarchy.rules import BuiltRule, FlatRule, ListedRule, RuleError, joined, require
from kanon_sql.hierarchy.rules.bounds import QuantileRule, StepRule
from kanon_sql.hierarchy.rules.dates import DateRule
from kanon_sql.hierarchy.rules.intervals import IntervalRule, RoundRule
from kanon_sql.hierarchy.rules.texts import CutRule, MaskRule, PrefixesRule, PrefixRule

if TYPE_CHECKING:
    from kanon_sql.hierarchy.formats.rows import HierarchyRows, Line


RULES = (
    "intervals:5,10  mask  cut:2,3  date:month,year  round:1,2  truncate:1,2  steps  quantiles:16,8,4  prefixes  flat  "
    "ready:NAME  prefix:3:FILE"
)
"""An example of each rule, for messages."""

_LIKE_A_RULE = re.compile(r"[A-Za-z_]+(:.*)?", re.DOTALL)


@dataclass(frozen=True)
class FileRule(ListedRule):
    def read(self, column: str) -> HierarchyRows:
        return read_hierarchy(self.path, column)


@dataclass(frozen=True)
class LevelsRule:
    """Levels of a mapping or a data frame, as lines of a file."""

    lines: tuple[Line, ...] = field(repr=False)

    def __str__(self) -> str:
        return "levels from Python"

    def read(self, column: str) -> HierarchyRows:
        return read_lines(self.lines, f"The hierarchy of column {column!r} ({self})")


FromFile = FileRule | PrefixRule | LevelsRule
"""Rules that list values, instead of computing the labels of any."""
Rule = FromFile | BuiltRule
Given = str | LevelsRule
"""A hierarchy in a policy: the text of a rule, the name of a file, or levels from Python."""
Hierarchies = Mapping[str, Any] | str | os.PathLike[str]
"""Hierarchies of public calls: by column a rule, a file, a mapping or a data frame; or a directory of files."""


def as_given(hierarchy: Any) -> Given:  # noqa: ANN401 - what a public call takes
    """Return a rule or a file as text, and a mapping or a data frame as its levels."""
    if isinstance(hierarchy, LevelsRule):
        return hierarchy
    return str(hierarchy) if isinstance(hierarchy, str | os.PathLike) else LevelsRule(lines_of(hierarchy))


def all_given(hierarchies: Mapping[str, Any]) -> dict[str, Given]:
    return {column: as_given(hierarchy) for column, hierarchy in hierarchies.items()}


@dataclass(frozen=True, kw_only=True)
class GivenHierarchies:
    """The given hierarchies for the columns of a table."""

    hierarchies: Mapping[str, Given] = field(default_factory=dict)  # by column
    hierarchy_directory: Path | None = None  # has files for other columns
    directory: Path = field(default_factory=Path, compare=False)  # the base of relative paths

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", all_given(self.hierarchies))


def by_column_or_directory(hierarchies: Hierarchies | None) -> tuple[dict[str, Given], Path | None]:
    """Return the hierarchies that a public call gives by column, and the directory that it gives instead."""
    if hierarchies is None or isinstance(hierarchies, Mapping):
        return all_given(hierarchies or {}), None
    return {}, Path(hierarchies)


def require_in_files(hierarchies: Mapping[str, Given], where: str) -> None:
    """Raise if a hierarchy is only in memory, so that a file could not name it."""
    if lost := [column for column, given in hierarchies.items() if isinstance(given, LevelsRule)]:
        raise UsageError(
            f"The hierarchy of column {lost[0]!r} is levels from Python, which {where} cannot name. Write it to a file "
            "with export_hierarchy(source, column=..., hierarchy=..., out=...), and give that file."
        )


def parse_rule(text: Given, relative_to: Path | None = None) -> Rule:
    if isinstance(text, LevelsRule):
        return text
    kind, *parts = text.split(":")
    try:
        if kind in _PARSERS:
            return _PARSERS[kind](parts)
        if kind == "prefix":
            return PrefixRule.parse(parts, relative_to or Path())
    except (InvalidOperation, ValueError):
        raise UsageError(f"Hierarchy {text!r}: a number is expected where something else stands.") from None
    except RuleError as error:
        raise UsageError(f"Hierarchy {text!r}: {error}.") from None
    if "\0" in text:
        raise UsageError(f"Hierarchy {text!r} has a NUL, which no file name has.")
    rule = FileRule((relative_to or Path()) / text)
    if _LIKE_A_RULE.fullmatch(text) and not rule.path.exists():
        raise UsageError(f"Hierarchy {text!r} is neither a rule nor a file that exists. Rules are: {RULES}.")
    return rule


def _ready(parts: list[str]) -> Rule:
    require(len(parts) == 1, "ready needs a name, as in ready:us_state")
    ready = ready_made(parts[0])
    if ready.path is None:
        return parse_rule(ready.rule or "")
    if ready.prefix:
        return PrefixRule(ready.path, ready.prefix, ready.hide, ready.values)
    return FileRule(ready.path)


_PARSERS: dict[str, Callable[[list[str]], Rule]] = {
    "intervals": IntervalRule.parse,
    "mask": MaskRule.parse,
    "cut": CutRule.parse,
    "date": DateRule.parse,
    "flat": FlatRule.parse,
    "ready": _ready,
    "round": RoundRule.parse,
    "truncate": partial(RoundRule.parse, kind="truncate"),
    "steps": StepRule.parse,
    "quantiles": QuantileRule.parse,
    "prefixes": PrefixesRule.parse,
}


# A rule as a table of kanon.toml


def rule_text(value: Any, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    """Return the rule text of a setting in kanon.toml: the text itself, or a table converted to text.

    ``where`` is the name of the setting in messages.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be a text, or a table such as {{ intervals = [5, 10] }}.")
    kinds = [kind for kind in _TABLES if kind in value]
    if len(kinds) != 1:
        said = " and ".join(kinds) or "nothing of it"
        raise UsageError(f"{where} must say one of {', '.join(_TABLES)}; it says {said}.")
    (kind,) = kinds
    kinds_of_value, settings = _TABLES[kind]
    if unknown := [name for name in value if name not in {kind, *settings}]:
        known = f" Besides {kind} there may be {', '.join(settings)}." if settings else ""
        raise UsageError(f"{where} has no setting {', '.join(unknown)}.{known}")
    if kind == "file":  # it need not exist yet
        return _file_text(value, where)
    is_true = value[kind] is True and "true" in kinds_of_value
    text = kind if is_true else f"{kind}:{_written(value[kind], kinds_of_value[-1], f'{where}.{kind}')}"
    for name, (before, kind_of_setting) in settings.items():
        if name in value:
            text += before + _written(value[name], kind_of_setting, f"{where}.{name}")
    try:
        parse_rule(text)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    return text


def _file_text(table: dict[str, Any], where: str) -> str:
    path = _written(table["file"], "text", f"{where}.file")
    path = path if "/" in path or "\\" in path else f"./{path}"  # a file may have the name of a rule
    if "hide" in table:
        _written(table["hide"], "true", f"{where}.hide")
    if "prefix" in table:
        lengths = _written(table["prefix"], "numbers", f"{where}.prefix")
        return f"prefix:{lengths}{':hide' if 'hide' in table else ''}:{path}"
    if "hide" in table:
        raise UsageError(f"{where}.hide is for prefixes: add prefix, or leave it out.")
    return path


_Kind = Literal["number", "numbers", "text", "texts", "true", "side"]
_MUST_BE: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "number": (
        "a number, or where there are levels a list of numbers",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    ),
    "text": ("a text", lambda value: isinstance(value, str) and bool(value)),
    "true": ("true; leave it out otherwise", lambda value: value is True),
    "side": ('"right" or "left"', lambda value: value in ("right", "left")),
}


def _written(value: Any, kind: _Kind, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    """Return a setting as rule text: empty for true, the shortest text for a number."""
    several = kind.removesuffix("s")
    given = value if isinstance(value, list) and several != kind else [value]
    must_be, is_right = _MUST_BE[several]
    if not all(map(is_right, given)):
        raise UsageError(f"{where} must be {must_be}.")
    return "" if kind == "true" else joined(given)


_TABLES: dict[str, tuple[tuple[_Kind, ...], dict[str, tuple[str, _Kind]]]] = {
    "intervals": (
        ("numbers",),
        {
            **{name: (f":{name}=", "number") for name in ("bottom", "top", "origin")},
            "labels": (":labels=", "text"),
        },
    ),
    "mask": (("side",), {"counts": (":", "numbers"), "length": (":length=", "number")}),
    "cut": (("numbers",), {"letters": (",letters", "true")}),
    "date": (("texts",), {}),
    "round": (("numbers",), {}),
    "truncate": (("numbers",), {}),
    "steps": (("true",), {"from": (":from=", "number"), "labels": (":labels=", "text")}),
    "quantiles": (("numbers",), {}),
    "prefixes": (("true", "numbers"), {}),
    "flat": (("true",), {}),
    "ready": (("text",), {}),
    "file": (("text",), {"prefix": ("", "numbers"), "hide": ("", "true")}),
}
"""By kind of hierarchy: the type of its value, and for each setting its prefix in the text and its type."""
