"""Columns that a proposed policy leaves out or replaces to meet the rules of standards."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import sqlglot

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.vocabulary import kinds_of_name, parts_of_name
from kanon_sql.policy.policy import DEFAULT_K
from kanon_sql.policy.profile.result import PreparedColumn
from kanon_sql.policy.standards import PARTS_OF_YEARS, standard_named
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.profile.result import ColumnProfile, Profile
    from kanon_sql.policy.standards import Replacement, Standard, StandardRule

_DATES = frozenset({"date", "timestamp"})


@dataclass
class ColumnChanges:
    """Changes to a proposal by standards: new columns; by name, the reason to leave one out, and its replacement."""

    new: list[PreparedColumn] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    instead: dict[str, str] = field(default_factory=dict)


def changes_for(source: Source, profile: Profile, standards: Iterable[Standard]) -> ColumnChanges:
    """Return the changes that the rules of standards require. A column with a named role is only ever replaced."""
    changes = ColumnChanges()
    kinds = {column.name: {column.kind, *kinds_of_name(column.name)[:1]} for column in profile.columns}
    columns = {column.name: column for column in source.columns}
    for standard in standards:
        for rule in standard.rules:
            for found in profile.columns:
                column = columns[found.name]
                if found.name in changes.left_out or not _is_against(rule, found, kinds[found.name], column):
                    continue
                title = f"{standard.title}, {rule.id}"
                new = _replacement(rule.replace, column, kinds, [one.name for one in changes.new], f"for {title}")
                if new is not None:
                    changes.left_out[found.name] = f"{title}: {new.name} is published instead"
                    changes.instead[found.name] = new.name
                    changes.new.append(new)
                elif not found.named:
                    changes.left_out[found.name] = f"{title}: {rule.text}"
    return changes


def smallest_class_for(k: int | None, standards: Iterable[str]) -> int:
    """Return the smallest class of a proposal. Raises a UsageError if a standard requires a larger one."""
    asked = {name: standard_named(name).k for name in standards}
    most = max(asked, key=lambda name: asked[name], default=None)
    least = 1 if most is None else asked[most]
    if k is not None and k < least:
        raise UsageError(f"{most} asks for classes of {least} or more: give -k {least}, or leave -k out.")
    return max(DEFAULT_K, least) if k is None else k


def _is_against(rule: StandardRule, found: ColumnProfile, kinds: set[str | None], column: Column) -> bool:
    """Return True if a column that would be published, or may be, violates a rule."""
    if found.role == "identifying":
        return False
    words, is_of = set(parts_of_name(found.name)), bool(kinds.intersection(rule.kinds))
    if rule.check == "gone":
        is_of = bool(kinds.intersection(rule.kinds) - {"reference"})  # many rows may share a reference
        return (is_of or bool(words.intersection(rule.words))) and not words.intersection(rule.not_words)
    if rule.check == "dates":  # numbers may be years, or days since a date
        is_part = column.family == "integer" and bool(words & PARTS_OF_YEARS)
        return column.family in _DATES or is_part or (is_of and column.family == "text")
    return is_of and rule.check in {"zip", "ages"}


def _replacement(
    replacements: Sequence[Replacement],
    column: Column,
    kinds: dict[str, set[str | None]],
    new: Sequence[str],
    reason: str,
) -> PreparedColumn | None:
    """Return the column that is published in place of another one; None if there is none."""
    name = column.name
    elsewhere = {kind for one in replacements for kind in one.kinds}
    others = {kind for other, found in kinds.items() if other != name for kind in found}
    for one in replacements:
        of_kind = kinds[name].intersection(one.kinds) or ("any" in one.kinds and not kinds[name] & elsewhere)
        is_for = of_kind and column.family in one.families and "TIME ZONE" not in column.type
        if not is_for or others.intersection(one.unless):
            continue
        called = unused_name(one.name.format(column=name), [*kinds, *new])
        today = dt.datetime.now(tz=dt.UTC).date().isoformat()
        expression = sql.bound(
            sqlglot.parse_one(one.expression, read="duckdb"), {"column": sql.column(name), "today": today}
        )
        return PreparedColumn(called, (render(expression, "duckdb"),), reason)
    return None
