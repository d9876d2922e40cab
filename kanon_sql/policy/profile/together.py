"""What columns say together: which rows, or people, are alone in a class, and which column determines another one.

A person with several rows is in several classes, and may be alone in each of them. Here she is one person, so that
there are never more people alone than there are people.

A column determines another one where there are as many pairs of values of both as values of the first, such as a code
and its text. Publishing the first as it is then publishes the second, whatever is done to that one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.risks.estimators.tuples import (
    MEMBERS,
    PERSON,
    Subsets,
    collect,
    largest_subsets,
    people,
    subset_risks,
    value_name,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.policy.profile.figures import ColumnFigures
    from kanon_sql.risks.estimators.tuples import SubsetRisk, Tuples

_ONE_PERSON = "one_person"


def who_is_alone(
    engine: Engine, table: exp.Table, quasi: Sequence[Column], entity: Column | None, members: int
) -> Subsets | None:
    """Return the classes by subsets of the quasi-identifiers; None where there is none.

    Where people are counted, the uniques of a subset are the people who are alone in one class by it at least.

    Args:
        engine: that has the table.
        table: the table, or a sample of it.
        quasi: its quasi-identifiers.
        entity: the column that names the person, where people are counted.
        members: rows or people in the table.
    """
    if not quasi:
        return None
    tuples = collect(engine, table, quasi, entity)
    found = subset_risks(tuples, largest_subsets(None, len(quasi)))
    if entity is not None:
        found = replace(found, found=_of_people(tuples, found.found, members))
    tuples.drop()
    return found


def alone_query(tuples: Tuples, places: Sequence[int]) -> exp.Select:
    """Return the query for the people who are alone in one class at least; a row without a name is of none."""
    person = sql.column(PERSON)
    one = exp.EQ(this=sql.column(MEMBERS), expression=sql.literal(1))
    classes = (
        exp.select(sql.named(exp.Min(this=person), _ONE_PERSON), sql.named(people(person.copy()), MEMBERS))
        .from_(tuples.relation.copy())
        .group_by(*(sql.column(value_name(place)) for place in places))
    )
    # In a class of one person the smallest name is hers.
    alone = sql.count_distinct(sql.column(_ONE_PERSON))
    return exp.select(sql.named(sql.where(alone, one), "n")).from_(classes.subquery("classes"))


def _of_people(tuples: Tuples, found: Sequence[SubsetRisk], members: int) -> tuple[SubsetRisk, ...]:
    """Return the classes by each subset with the people who are alone in them, those first that single out most."""
    by_name = {column.name: place for place, column in enumerate(tuples.columns)}
    counted = []
    for subset in found:
        if not subset.uniques:
            counted.append(subset)
            continue
        query = alone_query(tuples, [by_name[name] for name in subset.columns])
        (alone,) = tuples.engine.row(query, f"people alone by {', '.join(subset.columns)}")
        share = int(alone) / members if members else None
        counted.append(replace(subset, uniques=int(alone), share_unique=share))
    return tuple(sorted(counted, key=_worst_first))


def _worst_first(found: SubsetRisk) -> tuple[int, float, int]:
    smallest = math.inf if found.smallest_class is None else found.smallest_class
    return -found.uniques, smallest, len(found.columns)


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
    columns: Sequence[Column], guarded: Sequence[Column], figures: Mapping[str, ColumnFigures]
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
    engine: Engine, table: exp.Table, pairs: Sequence[tuple[Column, Column]], figures: Mapping[str, ColumnFigures]
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


def _usable(figures: ColumnFigures) -> bool:
    return figures.classes > 1 and figures.looked_at >= _SHARED


def _repeats(tells: ColumnFigures, told: ColumnFigures) -> bool:
    """Tell whether a column repeats often enough, and the other varies enough, to rule out chance."""
    return tells.looked_at - tells.classes >= _SHARED and told.largest <= _SKEWED * told.looked_at
