"""Columns that tell each other: a code and its text, an age and a date of birth.

A column determines another one where there are as many pairs of values of both as values of the first. Then who
publishes the first as it is publishes the second, whatever is done to that one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.policy.profile.figures import Figures

_AT_MOST = 60  # pairs that are looked at
_SHARED = 50  # rows that must share a value with others: else one column determines another by chance
_SKEWED = 0.9  # share of the most frequent value, from which on a column is determined by chance


@dataclass(frozen=True)
class Dependency:
    """A column whose values tell those of another one, in every row that was looked at.

    Attributes:
        column: the one that tells.
        told: the one that is told.
        both_ways: whether the second tells the first too.
    """

    column: str
    told: str
    both_ways: bool


def candidate_pairs(
    columns: Sequence[Column], guarded: Sequence[Column], figures: Mapping[str, Figures]
) -> list[tuple[Column, Column]]:
    """Return the pairs worth asking: one of them is guarded, and one of them repeats enough to tell by rule.

    Args:
        columns: those that would be published in some form.
        guarded: those of them that are quasi-identifying or sensitive.
        figures: of every column.
    """
    usable = [column for column in columns if _usable(figures[column.name])]
    kept = set(guarded)
    pairs = [pair for pair in itertools.combinations(usable, 2) if kept.intersection(pair)]
    return pairs[:_AT_MOST]


def find_dependencies(
    engine: Engine, table: exp.Table, pairs: Sequence[tuple[Column, Column]], figures: Mapping[str, Figures]
) -> tuple[Dependency, ...]:
    """Return which of the pairs of columns tell each other."""
    if not pairs:
        return ()
    counts = engine.rows(pairs_query(table, pairs), "columns that determine each other")
    by_place = {int(place): int(n) for place, n in counts}
    found = []
    for place, (one, other) in enumerate(pairs):
        first = by_place[place] == figures[one.name].classes and _repeats(figures[one.name], figures[other.name])
        second = by_place[place] == figures[other.name].classes and _repeats(figures[other.name], figures[one.name])
        if first or second:
            told = (one, other) if first else (other, one)
            found.append(Dependency(told[0].name, told[1].name, first and second))
    return tuple(found)


def pairs_query(table: exp.Table, pairs: Sequence[tuple[Column, Column]]) -> exp.Query:
    """Return the query for the distinct pairs of values of columns: a row for each pair of columns, and how many."""
    queries = []
    for place, pair in enumerate(pairs):
        values = [written(sql.column(column.name, "source"), column) for column in pair]
        named = [sql.named(value, f"value_{number}") for number, value in enumerate(values)]
        distinct = exp.select(*named).distinct().from_(sql.aliased(table, "source")).subquery("pairs")
        queries.append(
            exp.select(sql.named(sql.literal(place), "place"), sql.named(sql.count_rows(), "n")).from_(distinct)
        )
    return sql.union_all(queries)


def _usable(figures: Figures) -> bool:
    return figures.classes > 1 and figures.looked_at >= _SHARED


def _repeats(tells: Figures, told: Figures) -> bool:
    """Tell whether a column repeats often enough, and the other varies enough, to rule out chance."""
    return tells.looked_at - tells.classes >= _SHARED and told.largest <= _SKEWED * told.looked_at
