"""The hierarchy that ``kanon init`` writes for a quasi-identifier: chosen in one place, and told in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.hierarchy.ready import READY, ready_made
from kanon_sql.hierarchy.spec import DateRule, FlatRule, IntervalRule, MaskRule, parse_rule
from kanon_sql.hierarchy.store import stored_hierarchies
from kanon_sql.hierarchy.suggest import suggestions_for
from kanon_sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources import Source


def hierarchies_for(source: Source, columns: Sequence[Column]) -> dict[str, str]:
    """Return by name the rules of columns that have no hierarchy of their own in the database.

    Each gets the best that is suggested for it and has all of its values: a ready-made one, else one by its type.
    """
    stored = stored_hierarchies(source.engine)
    wanted = [column for column in columns if folded(column.name) not in stored]
    return {
        column: next(suggestion.rule for suggestion in suggestions if suggestion.covers)
        for column, suggestions in suggestions_for(source, wanted).items()
    }


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
            return "the value itself, or *; a file of groups would keep more (docs/hierarchies.md)"
        case other:
            return str(other)
