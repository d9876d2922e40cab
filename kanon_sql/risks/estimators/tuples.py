"""The classes of a table, of some of its columns, and in a population: counted on one temporary table.

That table has a row for each combination of quasi-identifiers as it is written: the source is read once, and it is
smaller and has no other column. Where people are counted it has a row for each combination and person.

1. The classes of the table, by size.
2. The same classes in the population that the table was drawn from.
3. Distinct people: sizes of classes count a person once in each of her classes, these count her once. A class whose
   rows name no person (NULL) is one person.

Classes by some of the columns alone are counted from the same combinations (``kanon_sql.risks.estimators.subsets``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.engine.equality import written
from kanon_sql.errors import UsageError
from kanon_sql.risks.estimators.estimate import SizeCounts
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine


# 1. Classes by size

N, PERSON, MEMBERS, ONLY = "n", "person", "members", "only_person"
_SOURCE = "source"


@dataclass(frozen=True)
class Tuples:
    """The combinations of quasi-identifiers of a table in a temporary table.

    Its columns are ``value_0``, ``value_1``, ..., ``person`` if people are counted, and ``n``.
    """

    engine: Engine
    relation: exp.Table
    columns: tuple[Column, ...]
    counts_people: bool

    def classes(self, *, with_values: bool = False) -> exp.Select:
        """Return the query for the members of each class, and the values that make it if they are wanted."""
        values = [sql.column(value_name(place)) for place in range(len(self.columns))]
        members = people(sql.column(PERSON)) if self.counts_people else sql.column(N)
        selected = [value.copy() for value in values] if with_values else []
        query = exp.select(*selected, sql.named(members, MEMBERS)).from_(self.relation.copy())
        return query.group_by(*values) if self.counts_people else query  # rows are counted already

    def sizes(self) -> SizeCounts:
        query = (
            exp.select(sql.column(MEMBERS), sql.named(sql.count_rows(), "classes"))
            .from_(self.classes().subquery("class_sizes"))
            .group_by(sql.column(MEMBERS))
            .order_by(sql.column(MEMBERS))
        )
        return SizeCounts({int(size): int(n) for size, n in self.engine.rows(query, "sizes of the classes")})

    def drop(self) -> None:
        self.engine.run(sql.drop(self.relation), "drop the combinations of quasi-identifiers")


def value_name(place: int) -> str:
    return f"value_{place}"


def people(person: exp.Expr) -> exp.Expr:
    """Return the people in a class as an aggregate.

    Rows without a name (NULL) name no person that could be counted. A class of such rows alone has one person:
    it is not known that there are two.
    """
    return sql.greatest([sql.count_distinct(person), sql.literal(1)])


def _grouped_values(columns: Sequence[Column]) -> list[exp.Expr]:
    # Qualified, because a column of the table may be called like a column of ours.
    return [written(sql.column(column.name, _SOURCE), column) for column in columns]


def _from_source(selected: Sequence[exp.Expr], table: exp.Table) -> exp.Select:
    return exp.select(*selected).from_(sql.aliased(table, _SOURCE))


def collect(engine: Engine, table: exp.Table, columns: Sequence[Column], entity: Column | None = None) -> Tuples:
    """Read a table once; return its combinations of quasi-identifiers."""
    values = _grouped_values([*columns, *([] if entity is None else [entity])])
    names = [*map(value_name, range(len(columns))), PERSON]
    selected = [sql.named(value, name) for value, name in zip(values, names, strict=False)]
    query = _from_source([*selected, sql.named(sql.count_rows(), N)], table)
    query = query.group_by(*(value.copy() for value in values))
    relation = make_table(engine, "kanon_tuples", query, "combinations of quasi-identifiers")
    return Tuples(engine, relation, tuple(columns), entity is not None)


# 2. In a population

_TABLE, _POPULATION = "in_table", "in_population"


@dataclass(frozen=True)
class Population:
    """A table of all people that the rows of another table could be about, in the same engine.

    Its ``columns`` are in the order of those of the other table; ``entity`` names the person where people are counted.
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
    """
    # Values of unlike types are compared as texts.
    pairs = zip(tuples.columns, population.columns, strict=True)
    alike = [folded(column.type) == folded(other.type) for column, other in pairs]
    query = _population_classes(population, alike)
    classes = make_table(tuples.engine, "kanon_population", query, "classes of the population")
    rows = tuples.engine.rows(_matched(tuples, classes, alike), "classes of the table in the population")
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


def _population_classes(population: Population, alike: list[bool]) -> exp.Select:
    values = _as_compared(_grouped_values(population.columns), alike)
    selected = [sql.named(value, value_name(place)) for place, value in enumerate(values)]
    person = None if population.entity is None else sql.column(population.entity.name, "source")
    members = sql.count_rows() if person is None else people(person)
    query = _from_source([*selected, sql.named(members, MEMBERS)], population.relation)
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
        exp.select(sql.named(_distinct_people(_TABLE), "people"), sql.named(_distinct_people(_TABLE, few), "above"))
        .from_(_records_query(tuples).subquery(_TABLE))
        .join(sql.aliased(classes, _POPULATION), on=_same_class(alike), join_type="left")
    )


def _same_class(alike: list[bool]) -> exp.Expr:
    own = _as_compared([sql.column(value_name(place), _TABLE) for place in range(len(alike))], alike)
    return sql.all_of(sql.same(value, sql.column(value_name(place), _POPULATION)) for place, value in enumerate(own))


def _as_compared(values: Sequence[exp.Expr], alike: Sequence[bool]) -> list[exp.Expr]:
    return [value if same_type else sql.cast(value, "VARCHAR") for value, same_type in zip(values, alike, strict=True)]


# 3. Distinct people


@dataclass(frozen=True)
class PeopleAtRisk:
    """Distinct people: all, those who are alone in some class, and those in some class that is too small."""

    everybody: int
    alone: int
    above_threshold: int


NAMED = "named"
"""How many people the rows of a class name."""


def _records_query(tuples: Tuples) -> exp.Select:
    """Return the query of the records: what one person has in one class, and how many members the class has.

    Its columns are the values, ``person``, ``named`` and ``members``.
    """
    values = [sql.column(value_name(place)) for place in range(len(tuples.columns))]
    # A combination has one row for each person: they are distinct.
    named = exp.Window(this=exp.Count(this=sql.column(PERSON)), partition_by=[value.copy() for value in values])
    each = exp.select(*values, sql.column(PERSON), sql.named(named, NAMED)).from_(tuples.relation.copy())
    members = sql.greatest([sql.column(NAMED), sql.literal(1)])
    selected = [*(value.copy() for value in values), sql.column(PERSON), sql.column(NAMED), sql.named(members, MEMBERS)]
    return exp.select(*selected).from_(each.subquery("each_record"))


def _distinct_people(table: str, condition: exp.Expr | None = None) -> exp.Expr:
    """Return the distinct people among records as an aggregate; with a condition, of those that satisfy it."""
    unnamed: exp.Condition = exp.EQ(this=sql.column(NAMED, table), expression=sql.literal(0))
    named: exp.Expr = sql.count_distinct(sql.column(PERSON, table))
    if condition is not None:
        named = sql.where(named, condition.copy())
        unnamed = exp.and_(unnamed, condition.copy())
    return exp.Add(this=named, expression=sql.where(sql.count_rows(), unnamed))


def count_people(tuples: Tuples, k: int) -> PeopleAtRisk:
    """Return the distinct people of a table, and those in classes of one and of fewer than k."""
    table = "records"
    members = sql.column(MEMBERS, table)
    query = exp.select(
        sql.named(_distinct_people(table), "all_people"),
        sql.named(_distinct_people(table, exp.EQ(this=members, expression=sql.literal(1))), "alone"),
        sql.named(_distinct_people(table, exp.LT(this=members.copy(), expression=sql.literal(k))), "above_threshold"),
    ).from_(_records_query(tuples).subquery(table))
    return PeopleAtRisk(*map(int, tuples.engine.row(query, "people in small classes")))
