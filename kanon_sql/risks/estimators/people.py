"""Distinct people, where people are counted: somebody who is alone in three classes is one person who is alone.

Sizes of classes do not tell: they count a person once in each of her classes. Whom the rows of a class do not name
(NULL) is known to be somebody where the class has nobody else: one person for each such class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.risks.estimators.tuples import MEMBERS, ONLY, PERSON, value_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.risks.estimators.tuples import Tuples


@dataclass(frozen=True)
class PeopleAtRisk:
    """Distinct people of a table.

    Attributes:
        everybody: all of them.
        alone: those who are alone in some class.
        above_threshold: those who are in some class that is too small.
    """

    everybody: int
    alone: int
    above_threshold: int


NAMED = "named"
"""How many people the rows of a class name."""


def records_query(tuples: Tuples) -> exp.Select:
    """Return the query of the records: what one person has in one class, and how many members the class has.

    Its columns are the values, ``person``, ``named`` and ``members``.
    """
    values = [sql.column(value_name(place)) for place in range(len(tuples.columns))]
    named = exp.Window(
        this=exp.Count(this=sql.column(PERSON)), partition_by=[value.copy() for value in values]
    )  # a combination has one row for each person: they are distinct
    each = exp.select(*values, sql.column(PERSON), sql.named(named, NAMED)).from_(tuples.relation.copy())
    members = sql.greatest([sql.column(NAMED), sql.literal(1)])
    selected = [*(value.copy() for value in values), sql.column(PERSON), sql.column(NAMED), sql.named(members, MEMBERS)]
    return exp.select(*selected).from_(each.subquery("each_record"))


def distinct_people(table: str, condition: exp.Expr | None = None) -> exp.Expr:
    """Return the distinct people among records as an aggregate; with a condition, of those that satisfy it."""
    nobody_named: exp.Condition = exp.EQ(this=sql.column(NAMED, table), expression=sql.literal(0))
    named: exp.Expr = sql.count_distinct(sql.column(PERSON, table))
    if condition is not None:
        named = sql.where(named, condition.copy())
        nobody_named = exp.and_(nobody_named, condition.copy())
    return exp.Add(this=named, expression=sql.where(sql.count_rows(), nobody_named))


def count_people(tuples: Tuples, k: int) -> PeopleAtRisk:
    """Return the distinct people of a table, and those in classes of one and of fewer than k."""
    table = "records"
    members = sql.column(MEMBERS, table)
    query = exp.select(
        sql.named(distinct_people(table), "all_people"),
        sql.named(distinct_people(table, exp.EQ(this=members, expression=sql.literal(1))), "alone"),
        sql.named(distinct_people(table, exp.LT(this=members.copy(), expression=sql.literal(k))), "above_threshold"),
    ).from_(records_query(tuples).subquery(table))
    return PeopleAtRisk(*map(int, tuples.engine.row(query, "people in small classes")))


def people_alone() -> exp.Expr:
    """Return the distinct people who are alone in a class as an aggregate over classes with their ``only_person``."""
    alone = exp.EQ(this=sql.column(MEMBERS), expression=sql.literal(1))
    return exp.Add(this=sql.where(sql.count_distinct(sql.column(ONLY)), alone), expression=nobody_named())


def nobody_named() -> exp.Expr:
    """Return the classes whose rows name nobody as an aggregate over classes with their ``only_person``."""
    return sql.where(sql.count_rows(), exp.Is(this=sql.column(ONLY), expression=exp.null()))


def all_named(tuples: Tuples) -> int:
    """Return how many distinct people the table names."""
    query = exp.select(sql.named(sql.count_distinct(sql.column(PERSON)), "people")).from_(tuples.relation.copy())
    (people,) = tuples.engine.row(query, "people who are named")
    return int(people)
