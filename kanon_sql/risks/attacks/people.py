"""What the attacker knows: the quasi-identifier values of every row of the original.

    kanon_original(column_1, column_2, ...)        the columns that are needed, in the order of the original
    kanon_people(position, tuple)                  each row: where it stands in the original, and its tuple
    kanon_tuples(tuple, place_1, ..., n)           each different tuple of quasi-identifiers, and how many rows have it

Tuples are what is looked up, for rows that are alike find the same classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.models.counted import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.measures.places import Places

TUPLE = "tuple"
POSITION = "position"
_ROWID = "rowid"


@dataclass(frozen=True)
class OriginalRows:
    """The rows of the original, as an attacker knows them.

    Attributes:
        copy: the columns of the original that are needed, in its order.
        columns: these columns; the first is ``column_1`` of the copy.
        relation: each row with its position and its tuple.
        tuples: the different tuples.
    """

    copy: exp.Table
    columns: tuple[Column, ...]
    relation: exp.Table
    tuples: exp.Table

    def value(self, column: Column, table: str | None = None) -> exp.Column:
        """Return the reference to a column of the original in the copy."""
        return sql.column(copied_name(self.columns.index(column)), table)


def copied_name(number: int) -> str:
    """Return the name of a column in the copy of a table."""
    return f"column_{number + 1}"


def position(table: str | None = None) -> exp.Column:
    """Return the place of a row in a copy: the engine numbers rows as they came in."""
    return exp.column(_ROWID, table=table)


def copy_of(engine: Engine, relation: exp.Table, columns: Sequence[exp.Expr], wanted: str, title: str) -> exp.Table:
    """Return a temporary table with columns of a relation under names of our own, its rows in the same order."""
    copy = engine.temporary_name(wanted)
    named = [sql.named(column, copied_name(number)) for number, column in enumerate(columns)]
    engine.run(sql.create_table(copy, exp.select(*named).from_(relation.copy()), temporary=True), title)
    return copy


def make_people(engine: Engine, source: exp.Table, columns: Sequence[Column], places: Sequence[Places]) -> OriginalRows:
    """Return the rows of the original.

    Args:
        engine: holds the original.
        source: the original.
        columns: those that are needed, quasi-identifiers among them.
        places: the values of each quasi-identifier.
    """
    values = [sql.column(column.name) for column in columns]
    copy = copy_of(engine, source, values, "kanon_original", "the original, in its order")
    # 1. Each value as its place.
    placed = engine.temporary_name("kanon_placed")
    query = exp.select(sql.named(position("source"), POSITION)).from_(sql.aliased(copy, "source"))
    for own in places:
        alias, number = f"lookup_{own.number + 1}", columns.index(own.hierarchy.column)
        same = sql.same(sql.column(copied_name(number), "source"), sql.column(VALUE, alias))
        query = query.select(sql.named(sql.column("place", alias), own.place))
        query = query.join(sql.aliased(own.relation, alias), on=same)
    engine.run(sql.create_table(placed, query, temporary=True), "places of the values of each row")
    # 2. Different tuples.
    tuples = engine.temporary_name("kanon_tuples")
    names = [own.place for own in places]
    distinct = exp.select(*names, sql.named(sql.count_rows(), N)).from_(placed.copy()).group_by(*names)
    numbered = exp.select(sql.named(exp.Window(this=exp.RowNumber()), TUPLE), *names, N)
    query = numbered.from_(distinct.subquery("distinct_tuples"))
    engine.run(sql.create_table(tuples, query, temporary=True), "tuples of quasi-identifiers")
    # 3. Which row has which.
    people = engine.temporary_name("kanon_people")
    same = sql.all_of(exp.EQ(this=sql.column(name, "tuples"), expression=sql.column(name, "placed")) for name in names)
    query = exp.select(sql.column(POSITION, "placed"), sql.column(TUPLE, "tuples"))
    query = query.from_(sql.aliased(placed, "placed")).join(sql.aliased(tuples, "tuples"), on=same)
    engine.run(sql.create_table(people, query, temporary=True), "the tuple of each row")
    engine.run(sql.drop(placed), "drop places of the values of each row")
    return OriginalRows(copy, tuple(columns), people, tuples)
