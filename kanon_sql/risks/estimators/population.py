"""The classes of a table in the population that it was drawn from.

Distinct people, where people are counted: sizes of classes count a person once in each of her classes. A class whose
rows name no person (NULL) is one person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.risks.estimators.tuples import MEMBERS, ONLY, PERSON, from_source, grouped_values, people, value_name
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.risks.estimators.tuples import Tuples

_TABLE, _POPULATION = "in_table", "in_population"


@dataclass(frozen=True)
class Population:
    """A table of all people that the rows of another table could be about.

    Attributes:
        relation: the table, in the engine of the other.
        name: what messages call it.
        columns: its quasi-identifiers, in the order of those of the other table.
        entity: the column that names the person, where it has one and people are counted.
    """

    relation: exp.Table
    name: str
    columns: tuple[Column, ...]
    entity: Column | None = None


def members_by_population_class(
    tuples: Tuples, population: Population, k: int
) -> tuple[dict[int, int], tuple[int, int] | None]:
    """Return, for each size of a class of the population, how many members of the table are in such classes.

    And, where people are counted, the distinct people of the table, and those with a class of fewer than k there.

    Raises:
        UsageError: a class of the table is not in the population, or has fewer members there.
    """
    classes = tuples.engine.temporary_name("kanon_population")
    alike = [_alike(*pair) for pair in zip(tuples.columns, population.columns, strict=True)]
    tuples.engine.run(
        sql.create_table(classes, _population_classes(population, alike), temporary=True), "classes of the population"
    )
    query = _matched(tuples, classes, alike)
    rows = tuples.engine.rows(query, "classes of the table in the population")
    found = None
    if tuples.counts_people:
        everybody, above = tuples.engine.row(_people_query(tuples, classes, alike, k), "people in the population")
        found = (int(everybody), int(above))
    tuples.engine.run(sql.drop(classes), "drop the classes of the population")
    if wrong := sum(too_few for *_, too_few in rows):
        raise UsageError(
            f"{population.name} does not contain the table: {wrong:,} classes of the table are not in it, or have "
            "fewer members there. A population has everybody, and its values are written like those of the table."
        )
    return {int(size): int(members) for size, members, _ in rows}, found


def _alike(column: Column, other: Column) -> bool:
    """Tell whether values of two columns can be compared as they are; otherwise their texts are."""
    return folded(column.type) == folded(other.type)


def _population_classes(population: Population, alike: list[bool]) -> exp.Select:
    values = [
        value if same_type else sql.cast(value, "VARCHAR")
        for value, same_type in zip(grouped_values(population.columns), alike, strict=True)
    ]
    selected = [sql.named(value, value_name(place)) for place, value in enumerate(values)]
    person = None if population.entity is None else sql.column(population.entity.name, "source")
    members = sql.count_rows() if person is None else people(person)
    query = from_source([*selected, sql.named(members, MEMBERS)], population.relation)
    return query.group_by(*(value.copy() for value in values))


def _matched(tuples: Tuples, classes: exp.Table, alike: list[bool]) -> exp.Select:
    """Return the query: for each size of a class of the population, the members of the table, and classes amiss."""
    here, there = sql.column(MEMBERS, _TABLE), sql.column(MEMBERS, _POPULATION)
    missing = exp.Is(this=there.copy(), expression=exp.null())
    too_few = exp.or_(missing, exp.LT(this=there.copy(), expression=here.copy()))
    return (
        exp.select(
            sql.named(there.copy(), "population_members"),
            sql.named(sql.sum_of(here.copy()), "table_members"),
            sql.named(sql.where(sql.count_rows(), too_few), "too_few"),
        )
        .from_(tuples.classes(with_values=True).subquery(_TABLE))
        .join(sql.aliased(classes, _POPULATION), on=_same_class(alike), join_type="left")
        .group_by(there.copy())
    )


def _people_query(tuples: Tuples, classes: exp.Table, alike: list[bool], k: int) -> exp.Select:
    """Return the query of the distinct people of the table, and of those who are among fewer than k there."""
    few = exp.LT(this=sql.column(MEMBERS, _POPULATION), expression=sql.literal(k))
    return (
        exp.select(sql.named(distinct_people(_TABLE), "people"), sql.named(distinct_people(_TABLE, few), "above"))
        .from_(records_query(tuples).subquery(_TABLE))
        .join(sql.aliased(classes, _POPULATION), on=_same_class(alike), join_type="left")
    )


def _same_class(alike: list[bool]) -> exp.Expr:
    return sql.all_of(
        sql.same(_value(place, same_type=same_type), sql.column(value_name(place), _POPULATION))
        for place, same_type in enumerate(alike)
    )


def _value(place: int, *, same_type: bool) -> exp.Expr:
    value = sql.column(value_name(place), _TABLE)
    return value if same_type else sql.cast(value, "VARCHAR")


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
    """Return the classes whose rows name no person, as an aggregate over classes with their ``only_person``."""
    return sql.where(sql.count_rows(), exp.Is(this=sql.column(ONLY), expression=exp.null()))


def all_named(tuples: Tuples) -> int:
    """Return how many distinct people the table names."""
    query = exp.select(sql.named(sql.count_distinct(sql.column(PERSON)), "people")).from_(tuples.relation.copy())
    (people,) = tuples.engine.row(query, "people who are named")
    return int(people)
