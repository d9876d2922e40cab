"""The hierarchy that ``kanon init`` writes for a quasi-identifier: chosen in one place, and told in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.hierarchy.choose import chosen_rule
from kanon_sql.hierarchy.facts import column_facts
from kanon_sql.hierarchy.spec import DateRule, FileRule, FlatRule, IntervalRule, MaskRule, RoundRule, parse_rule
from kanon_sql.hierarchy.store import stored_hierarchies
from kanon_sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources import Source


def hierarchies_for(source: Source, columns: Sequence[Column]) -> dict[str, str]:
    """Return by name the rules of columns that have no hierarchy of their own in the database."""
    stored = stored_hierarchies(source.engine)
    return {column.name: hierarchy_for(source, column) for column in columns if folded(column.name) not in stored}


def hierarchy_for(source: Source, column: Column) -> str:
    """Return the rule of a hierarchy for a column of a source, as ``kanon.toml`` has it."""
    facts = column_facts(source.engine, source.relation, [(column, None)])
    return str(chosen_rule(column, facts[column.name]))


def in_words(rule: str) -> str:
    """Return what a rule makes of a value, level by level."""
    match parse_rule(rule):
        case IntervalRule(widths=widths):
            return f"intervals of {', '.join(format(width, 'f') for width in widths)}, then *"
        case DateRule(units=units):
            return f"{', '.join(units)}, then *"
        case MaskRule():
            return "its characters replaced by * one after the other"
        case RoundRule():
            return "rounded, more at each level, then *"
        case FlatRule():
            return "the value itself, or *; a file of groups would keep more (docs/hierarchies.md)"
        case FileRule():
            return "the groups in this file"
        case other:
            return str(other)
