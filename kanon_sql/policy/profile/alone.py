"""Who is alone in a class by some of the quasi-identifiers: rows, or different people.

A person with several rows is in several classes, and may be alone in each of them. Here she is one person: nobody is
counted twice, so that there are never more people alone than there are people.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.risks.estimators.subsets import Subsets, largest_subsets, subset_risks
from kanon_sql.risks.estimators.tuples import MEMBERS, PERSON, collect, people, value_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.risks.estimators.subsets import SubsetRisk
    from kanon_sql.risks.estimators.tuples import Tuples

_SOMEBODY = "somebody"


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
    """Return the query for the people who are alone in one class at least. Who is not named (NULL) is nobody."""
    person = sql.column(PERSON)
    one = exp.EQ(this=sql.column(MEMBERS), expression=sql.literal(1))
    classes = (
        exp.select(sql.named(exp.Min(this=person), _SOMEBODY), sql.named(people(person.copy()), MEMBERS))
        .from_(tuples.relation.copy())
        .group_by(*(sql.column(value_name(place)) for place in places))
    )
    # In a class of one person the smallest name is hers.
    somebody = sql.count_distinct(sql.column(_SOMEBODY))
    return exp.select(sql.named(sql.where(somebody, one), "n")).from_(classes.subquery("classes"))


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
