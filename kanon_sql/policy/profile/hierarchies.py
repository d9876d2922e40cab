"""The hierarchy that ``kanon init`` writes for a quasi-identifier: chosen in one place, and described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.given import stored_hierarchies
from kanon_sql.hierarchy.ready import READY, ready_made
from kanon_sql.hierarchy.spec import DateRule, FlatRule, IntervalRule, MaskRule, parse_rule
from kanon_sql.hierarchy.suggest import best_fitting, suggestions_for
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.suggest import Suggestion

_FEW_MISSING = 0.2  # share of the values, up to which it is worth to mend them


@dataclass(frozen=True)
class NearlyFitting:
    """A ready-made hierarchy that has most values of a column, but not all.

    Attributes:
        rule: how to ask for it.
        missing: distinct values of the column that it does not have.
        distinct: distinct values of the column.
    """

    rule: str
    missing: int
    distinct: int


def hierarchies_for(source: Source, columns: Sequence[Column]) -> tuple[dict[str, str], dict[str, NearlyFitting]]:
    """Return by name the rules of columns that have no hierarchy of their own in the database, and what nearly fits.

    Each gets the best that is suggested for it and has all of its values: a ready-made one, else one by its type. For
    the latter the second result names a ready-made one that has 80 % of its values or more.
    """
    stored = stored_hierarchies(source.engine)
    wanted = [column for column in columns if folded(column.name) not in stored]
    rules, nearly = {}, {}
    for column, suggestions in suggestions_for(source, wanted).items():
        rules[column] = best_fitting(suggestions).rule
        if not rules[column].startswith(READY) and (near := _nearly_fitting(suggestions)):
            nearly[column] = near
    return rules, nearly


def _nearly_fitting(suggestions: Sequence[Suggestion]) -> NearlyFitting | None:
    for suggestion in suggestions:
        missing, distinct = suggestion.values_missing, suggestion.distinct or 0
        if not suggestion.covers and missing <= _FEW_MISSING * distinct:
            return NearlyFitting(suggestion.rule, missing, distinct)
    return None


def in_words(rule: str) -> str:
    """Return what a rule makes of a value, level by level."""
    if rule.startswith(READY):
        ready = ready_made(rule.removeprefix(READY))
        return f"{ready.title}: {ready.levels}"
    match parse_rule(rule):
        case IntervalRule(widths=widths):
            return f"intervals of {', '.join(format(width, 'f') for width in widths)}, then *"
        case DateRule(units=units):
            return f"{', '.join(units)}, then *"
        case MaskRule():
            return "its characters replaced by * one after the other"
        case FlatRule():
            return "the value itself, or *; a file of groups would keep more (kanon hierarchy suggest)"
        case other:
            return str(other)
