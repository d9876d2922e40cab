"""The combinations of values of a table, each with its rows: read once, and asked many times.

Whatever is asked of the classes of a table, or of the classes by some of its columns, is asked of a temporary table
with a row for each combination of quasi-identifiers as it is written, which is smaller than the table and has no other
column. Where people are counted it has a row for each combination and person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine

N, PERSON, MEMBERS, ONLY = "n", "person", "members", "only_person"
_SOURCE = "source"


@dataclass(frozen=True)
class Tuples:
    """The combinations of quasi-identifiers of a table in a temporary table.

    Attributes:
        engine: that has it.
        relation: the temporary table: ``value_0``, ``value_1``, ..., ``person`` where people are counted, and ``n``.
        columns: the quasi-identifiers.
        counts_people: whether the members of a class are people.
    """

    engine: Engine
    relation: exp.Table
    columns: tuple[Column, ...]
    counts_people: bool

    def classes(
        self, places: Sequence[int] | None = None, *, with_values: bool = False, with_person: bool = False
    ) -> exp.Select:
        """Return the query for the members of each class.

        Args:
            places: which of the quasi-identifiers make a class; by default all of them.
            with_values: whether the values that make the class are selected too.
            with_person: whether a person of the class is selected too, where people are counted: of a class of one
                the person who it is; NULL if its rows name no person.
        """
        values = [sql.column(value_name(place)) for place in (range(len(self.columns)) if places is None else places)]
        selected = [value.copy() for value in values] if with_values else []
        if places is None and not self.counts_people:  # they are counted already
            return exp.select(*selected, sql.named(sql.column(N), MEMBERS)).from_(self.relation.copy())
        members = people(sql.column(PERSON)) if self.counts_people else sql.sum_of(sql.column(N))
        query = exp.select(*selected, sql.named(members, MEMBERS)).from_(self.relation.copy()).group_by(*values)
        return query.select(sql.named(exp.Max(this=sql.column(PERSON)), ONLY)) if with_person else query

    def sizes_query(self) -> exp.Select:
        """Return the query for how many classes there are of each size."""
        return (
            exp.select(sql.column(MEMBERS), sql.named(sql.count_rows(), "classes"))
            .from_(self.classes().subquery("class_sizes"))
            .group_by(sql.column(MEMBERS))
            .order_by(sql.column(MEMBERS))
        )

    def sizes(self) -> SizeCounts:
        """Return how many classes there are of each size."""
        return SizeCounts(
            {int(size): int(n) for size, n in self.engine.rows(self.sizes_query(), "sizes of the classes")}
        )

    def drop(self) -> None:
        """Drop the temporary table."""
        self.engine.run(sql.drop(self.relation), "drop the combinations of quasi-identifiers")


def value_name(place: int) -> str:
    """Return what the values of a quasi-identifier are called in the temporary table."""
    return f"value_{place}"


def people(person: exp.Expr) -> exp.Expr:
    """Return the people in a class as an aggregate.

    Who is not named (NULL) is nobody that could be counted. A class of such rows alone is still somebody's, of whom it
    is not known that there are two: one person.
    """
    return sql.greatest([sql.count_distinct(person), sql.literal(1)])


def grouped_values(columns: Sequence[Column]) -> list[exp.Expr]:
    """Return what classes are made of, for rows of a table that is called ``source`` in the query."""
    # Qualified, because a column of the table may be called like a column of ours.
    return [written(sql.column(column.name, _SOURCE), column) for column in columns]


def from_source(selected: Sequence[exp.Expr], table: exp.Table) -> exp.Select:
    """Return a query on a table that is called ``source`` in it."""
    return exp.select(*selected).from_(sql.aliased(table, _SOURCE))


def collect(engine: Engine, table: exp.Table, columns: Sequence[Column], entity: Column | None = None) -> Tuples:
    """Read a table once; return its combinations of quasi-identifiers.

    Args:
        engine: that has the table.
        table: the table.
        columns: its quasi-identifiers, of which there is one at least.
        entity: the column that names the person, where people are counted.
    """
    relation = engine.temporary_name("kanon_tuples")
    engine.run(
        sql.create_table(relation, tuples_query(table, columns, entity), temporary=True),
        "combinations of quasi-identifiers",
    )
    return Tuples(engine, relation, tuple(columns), entity is not None)


def tuples_query(table: exp.Table, columns: Sequence[Column], entity: Column | None) -> exp.Select:
    """Return the query for the combinations of quasi-identifiers of a table."""
    values = grouped_values(columns)
    selected = [sql.named(value, value_name(place)) for place, value in enumerate(values)]
    grouped = [value.copy() for value in values]
    if entity is not None:
        person = written(sql.column(entity.name, _SOURCE), entity)
        selected.append(sql.named(person, PERSON))
        grouped.append(person.copy())
    return from_source([*selected, sql.named(sql.count_rows(), N)], table).group_by(*grouped)


_FROM = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Bin:
    """Classes of similar sizes.

    Attributes:
        least, most: sizes from and to; the last bin has no end.
        classes: classes of these sizes.
        members: rows in them; where people are counted, records: a person in two classes is two.
    """

    least: int
    most: int | None
    classes: int
    members: int

    @property
    def name(self) -> str:
        """The sizes as people write them: 1, 3-4, 100+."""
        if self.most is None:
            return f"{self.least}+"
        return str(self.least) if self.most == self.least else f"{self.least}-{self.most}"


@dataclass(frozen=True)
class SizeCounts:
    """The classes of a table by their size.

    Attributes:
        classes_of: for each size that occurs, how many classes have it.
    """

    classes_of: Mapping[int, int]

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return sum(self.classes_of.values())

    @property
    def members(self) -> int:
        """Rows in all classes; where people are counted, records: a person in two classes is two."""
        return sum(size * classes for size, classes in self.classes_of.items())

    @property
    def smallest(self) -> int | None:
        """The size of the smallest class; None if there is none."""
        return min(self.classes_of, default=None)

    @property
    def uniques(self) -> int:
        """Members that are alone in their class."""
        return self.classes_of.get(1, 0)

    def members_where(self, holds: Callable[[int], bool]) -> int:
        """Return how many members are in classes of sizes for which something holds."""
        return sum(size * classes for size, classes in self.classes_of.items() if holds(size))

    def histogram(self) -> tuple[Bin, ...]:
        """Return the classes in bins of similar sizes, also in those that are empty."""
        ends: list[int | None] = [start - 1 for start in _FROM[1:]]
        return tuple(self._bin(least, most) for least, most in zip(_FROM, [*ends, None], strict=True))

    def _bin(self, least: int, most: int | None) -> Bin:
        last = math.inf if most is None else most
        inside = {size: classes for size, classes in self.classes_of.items() if least <= size <= last}
        return Bin(least, most, sum(inside.values()), sum(size * classes for size, classes in inside.items()))
