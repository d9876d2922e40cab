"""The classes of a table, of some of its columns, and in a population: counted on one temporary table.

That table has a row for each combination of quasi-identifiers as written: the source is read once, and the table is
smaller and has no other column. If people are counted, it has a row for each combination and person.

Sizes of classes count a person once in each of their classes; distinct people are counted once. Classes by only some of
the columns are counted from the same combinations (``kanon_sql.risks.estimators.subsets``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import make_table
from kanon_sql.engine.equality import written
from kanon_sql.errors import UsageError
from kanon_sql.risks.estimators.estimate import SizeCounts
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Column, Engine


N, PERSON, MEMBERS = "n", "person", "members"


@dataclass(frozen=True)
class Tuples:
    """The combinations of quasi-identifiers of a table in a temporary table.

    Its columns are ``value_0``, ``value_1``, ..., ``person`` if people are counted, and ``n``.
    """

    engine: Engine
    relation: exp.Table
    columns: tuple[Column, ...]
    counts_people: bool

    @property
    def by_class(self) -> dict[str, Any]:
        """The values that define a class, and its members."""
        members = people(sql.column(PERSON)) if self.counts_people else sql.sum_of(sql.column(N))
        return {"values": [sql.column(value_name(place)) for place in range(len(self.columns))], "members": members}

    def sizes(self) -> SizeCounts:
        query = sql.query("risks/sizes", values=self.by_class, tables={"tuples": self.relation})
        return SizeCounts({int(size): int(n) for size, n in self.engine.rows(query, "sizes of the classes")})

    def drop(self) -> None:
        self.engine.run(sql.drop(self.relation), "drop the combinations of quasi-identifiers")


def value_name(place: int) -> str:
    return f"value_{place}"


def people(person: exp.Expr) -> exp.Expr:
    return sql.greatest([sql.count_distinct(person), sql.literal(1)])


def _grouped_values(columns: Sequence[Column]) -> list[exp.Expr]:
    # Qualified, because a column of the table may have the name of one of ours.
    return [written(sql.column(column.name, "source"), column) for column in columns]


def collect(engine: Engine, table: exp.Table, columns: Sequence[Column], entity: Column | None = None) -> Tuples:
    """Read a table once; return its combinations of quasi-identifiers."""
    values = _grouped_values([*columns, *([] if entity is None else [entity])])
    names = [*map(value_name, range(len(columns))), PERSON]
    selected = [sql.named(value, name) for value, name in zip(values, names, strict=False)]
    query = sql.query("risks/tuples", values={"written": selected}, tables={"source": table})
    relation = make_table(engine, "kanon_tuples", query, "combinations of quasi-identifiers")
    return Tuples(engine, relation, tuple(columns), entity is not None)


@dataclass(frozen=True)
class PeopleAtRisk:
    """Distinct people: all, people alone in some class, and people in some class that is too small."""

    everybody: int
    alone: int
    above_threshold: int


def count_people(tuples: Tuples, k: int) -> PeopleAtRisk:
    """Return the distinct people of a table, and those in classes of one and of fewer than k."""
    values = {"values": tuples.by_class["values"], "k": k}
    query = sql.query("risks/people", values=values, tables={"tuples": tuples.relation})
    return PeopleAtRisk(*map(int, tuples.engine.row(query, "people in small classes")))


@dataclass(frozen=True)
class Population:
    """A table of all people that the rows of another table could be about, in the same engine.

    Its ``columns`` are in the order of those of the other table; ``entity`` names the person if people are counted.
    """

    relation: exp.Table
    name: str
    columns: tuple[Column, ...]
    entity: Column | None = None


def members_by_population_class(
    tuples: Tuples, population: Population, k: int
) -> tuple[dict[int, int], tuple[int, int] | None]:
    """Return, for each size of a class of the population, how many members of the table are in such classes.

    If people are counted, also the distinct people of the table, and those with a class of fewer than k there.
    """
    engine, classes = tuples.engine, tuples.by_class
    # Values of different types are compared as texts.
    pairs = zip(tuples.columns, population.columns, strict=True)
    alike = [folded(column.type) == folded(other.type) for column, other in pairs]
    values = _as_compared(_grouped_values(population.columns), alike)
    person = None if population.entity is None else sql.column(population.entity.name, "source")
    query = sql.query(
        "risks/population",
        values={
            "written": [sql.named(value, value_name(place)) for place, value in enumerate(values)],
            "members": sql.count_rows() if person is None else people(person),
        },
        tables={"source": population.relation},
    )
    there = make_table(engine, "kanon_population", query, "classes of the population")
    own = _as_compared([sql.column(name.name, "in_table") for name in classes["values"]], alike)
    same = (sql.same(value, sql.column(value_name(place), "in_population")) for place, value in enumerate(own))
    tables, same_class = {"tuples": tuples.relation, "in_population": there}, sql.all_of(same)
    query = sql.query("risks/in_population", values=classes | {"same_class": same_class}, tables=tables)
    rows = engine.rows(query, "classes of the table in the population")
    found = None
    if tuples.counts_people:
        given = {"values": classes["values"], "same_class": same_class, "k": k}
        query = sql.query("risks/people_in_population", values=given, tables=tables)
        everybody, above = engine.row(query, "people in the population")
        found = (int(everybody), int(above))
    engine.run(sql.drop(there), "drop the classes of the population")
    if wrong := sum(too_few for *_, too_few in rows):
        raise UsageError(
            f"{population.name} does not contain the table: {wrong:,} classes of the table are not in it, or have "
            "fewer members there. A population has everybody, and its values are written like those of the table."
        )
    return {int(size): int(members) for size, members, _ in rows}, found


def _as_compared(values: Sequence[exp.Expr], alike: Sequence[bool]) -> list[exp.Expr]:
    return [value if same_type else sql.cast(value, "VARCHAR") for value, same_type in zip(values, alike, strict=True)]
