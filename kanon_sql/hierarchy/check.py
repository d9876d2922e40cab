"""Check in SQL, by counts, that a lookup relation is a tree over the values of its column.

It counts: values with several rows; for each level, labels with several parents, and labels that equal the root but
have another parent; labels at the top level (there must be one); and, for the codes, the largest number of children of
a label at each level.

A label that equals the root keeps no more information than the root, and costs as much (``measures.labels``). A parent
that keeps more would make further generalization cheaper, which must not happen during a search.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.expressions import level_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kanon_sql.engine.base import Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy

_SOURCE = ("SOURCE", "TABLE")
_ADD_LINES = "Add a line for each"
_MAKE_AGAIN = "It is in the database: build it again, or complete its file and load it again, with --replace"


Counts = Mapping[tuple[str, int], int]
"""Numbers by count of ``sql/hierarchy/tree.sql`` and level."""


def _tree_query(lookup: exp.Table, height: int) -> exp.Query:
    """Return the query behind ``require_tree``: one row per count, ``(what, level, n)``."""

    def count(what: str, level: int) -> exp.Query:
        label, parent = level_name(level), level_name(level + 1)
        values: dict[str, exp.Expr] = {
            "label": sql.column(label),
            "parent": sql.column(parent),
            "own_label": sql.column(label, "lookup"),
            "own_parent": sql.column(parent, "lookup"),
            "root": sql.column(level_name(height)),
            "children": sql.count_distinct(sql.column(label)) if level else sql.count_rows(),
        }
        counted = sql.query(
            "hierarchy/tree", part=what, values=values, relations={"levels": lookup}, tables={"lookup": lookup}
        )
        named = [sql.named(sql.literal(what), "what"), sql.named(sql.literal(level), "level")]
        return exp.select(*named, "n").from_(counted.subquery("counted", copy=False), copy=False)

    parts = [count("repeated", 0), count("roots", height)]
    for level in range(1, height):
        parts += [count("several_parents", level), count("early_roots", level)]
    return sql.union_all([*parts, *(count("children", level) for level in range(height))])


def _problem(what: str, level: int, number: int) -> str | None:
    """Return the problem that a count reveals, with its fix; None if there is none."""
    one = number == 1
    match what:
        case "repeated" if number:
            return f"{number:,} {'value has' if one else 'values have'} more than one row: keep one row per value"
        case "several_parents" if number:
            return (
                f"{number:,} {'label' if one else 'labels'} of level {level} {'has' if one else 'have'} more than one "
                f"parent at level {level + 1}: give the label a different name under each parent"
            )
        case "early_roots" if number:
            return (
                f"{number:,} {'row has' if one else 'rows have'} the label of the root at level {level} and another "
                f"one at level {level + 1}: nothing stands above the root, so repeat its label up to the last level"
            )
        case "roots" if number > 1:
            return (
                f"the last level has {number} labels instead of one root: add a level that is the same for all, "
                f"such as * (level {level + 1})"
            )
    return None


def require_counts(counts: Counts, column: str, origin: str) -> None:
    """Raise if counts show that a hierarchy is not a tree."""
    if problems := list(filter(None, (_problem(*at, number) for at, number in counts.items()))):
        raise HierarchyError(f"The hierarchy of column {column!r} ({origin}) is not a tree: {'; '.join(problems)}.")


def require_tree(engine: Engine, lookup: exp.Table, height: int, column: str, origin: str) -> tuple[int, ...]:
    """Raise unless a lookup relation is a tree.

    Return for each level from 0 to below the root the largest number of its labels under one parent.
    """
    rows = engine.rows(_tree_query(lookup, height), f"is the hierarchy of {column} a tree?")
    counts = {(what, level): int(n or 0) for what, level, n in rows}
    require_counts(counts, column, origin)
    return tuple(counts["children", level] for level in range(height))


@dataclass(frozen=True)
class Missing:
    """The gaps of a hierarchy: distinct values of its column without a row, table rows with them, and the fix."""

    values: int
    rows: int
    message: str | None


def missing_messages(
    engine: Engine, source: exp.Table, hierarchies: Iterable[Hierarchy], called: Sequence[str] = _SOURCE
) -> str:
    """Describe the values that hierarchies lack, with fixes; ``called`` is how commands name the table."""
    messages = [count_missing(engine, source, hierarchy, called).message for hierarchy in hierarchies]
    return " ".join(message for message in messages if message)


def count_missing(engine: Engine, source: exp.Table, hierarchy: Hierarchy, called: Sequence[str] = _SOURCE) -> Missing:
    """Count the values and rows of its column that a hierarchy lacks."""
    column = hierarchy.column
    query = sql.query(
        "hierarchy/missing",
        values={"value": sql.column(column.name, "source")},
        tables={"source": source, "lookup": hierarchy.relation},
    )
    found = engine.row(query, f"values that the hierarchy of {column.name} misses")
    rows, values, spaces, numbers = map(int, found)
    if not values:
        return Missing(0, 0, None)
    if spaces == values:
        advice = "All are there but for surrounding spaces: trim the column."
    elif numbers == values:
        advice = f"All are there as numbers but the column is {column.type}: cast it, or write the values alike."
    else:
        command = f"{shlex.join(['kanon', 'hierarchy', 'check', *called])} --sql, with this hierarchy,"
        remedy = _ADD_LINES if hierarchy.stored is None else _MAKE_AGAIN
        advice = f"{remedy}; {command} prints the query that lists them."
    message = (
        f"The hierarchy of column {column.name!r} ({hierarchy.origin}) has no row for "
        f"{_plural(values, 'value', 'values')} of the column ({_plural(rows, 'row', 'rows')} of the table). {advice}"
    )
    return Missing(values, rows, message)


def _plural(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
