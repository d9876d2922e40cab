"""In which of the classes whose labels cover a person she can be: those that others fill are ruled out.

Every row of a release is a row of its original. So a class with as many rows as fit it has them all, and they are in no
other one; a class that is filled by those who fit no other one has no room for others. This is repeated by SQL until
nothing changes (``settled_pairs``), and settles releases of local recoding as far as no row was left out. What is still
open is settled exactly where that takes few steps (see ``assignments``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.models.counted import N
from kanon_sql.risks.attacks.assignments import possible_classes
from kanon_sql.risks.attacks.people import TUPLE
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine
    from kanon_sql.risks.attacks.people import OriginalRows

_CLASS, _NUMBER = "class", "number"
_MOST_PAIRS = 1_000_000
"""Of tuples and classes: more of them are not settled exactly."""


@dataclass(frozen=True)
class Settled:
    """The classes that tuples can be in.

    Attributes:
        pairs: each tuple with each class that is left to it.
        exact: whether each of them is possible, by who else must be where.
        certain: whether no tuple has several.
    """

    pairs: exp.Table
    exact: bool
    certain: bool


def settle(engine: Engine, people: OriginalRows, classes: exp.Table, covered: exp.Table) -> Settled:
    """Return the classes that tuples can be in.

    Where the rows of the release cannot all be rows of this original, nothing is ruled out.

    Args:
        engine: holds all relations.
        people: the rows of the original.
        classes: the classes of the release.
        covered: each tuple with each class whose labels cover it; dropped, unless nothing is ruled out.
    """
    tables = {"tuples": people.tuples, "classes": classes}
    room = sql.query("attacks/settled_room", tables=tables | {"pairs": covered})
    fit, published, too_many = engine.row(room, "rows that classes have room for")
    spare, (number, tuples) = fit - published, _count(engine, covered)
    if spare < 0 or too_many:
        return Settled(covered, exact=number == tuples, certain=number == tuples)
    # 1. What follows class by class.
    pairs, before = covered, None
    while number not in {tuples, before}:
        fewer = engine.temporary_name("kanon_settled")
        query = sql.query("attacks/settled_pairs", values={"spare": spare}, tables=tables | {"pairs": pairs})
        engine.run(sql.create_table(fewer, query, temporary=True), "classes that tuples can still be in")
        before, (number, left) = number, _count(engine, fewer)
        if left < tuples:
            for table in {fewer, pairs} - {covered}:
                engine.run(sql.drop(table), "drop what contradicts itself")
            return Settled(covered, exact=False, certain=False)
        if pairs is not covered:
            engine.run(sql.drop(pairs), "drop the pairs before")
        pairs = fewer
    # 2. What follows from several classes together.
    exact = number == tuples
    if not exact and number <= _MOST_PAIRS:
        possible = _possible(engine, people, classes, pairs, spare)
        if possible is not None:
            exact = True
            if pairs is not covered:
                engine.run(sql.drop(pairs), "drop the pairs before")
            pairs = possible
            number, tuples = _count(engine, pairs)
    if pairs is not covered:
        engine.run(sql.drop(covered), "drop the classes that cover tuples")
    return Settled(pairs, exact, number == tuples)


def _possible(
    engine: Engine, people: OriginalRows, classes: exp.Table, pairs: exp.Table, spare: int
) -> exp.Table | None:
    """Return the pairs that some assignment of rows to classes has; None where that was not found out."""
    sets = engine.temporary_name("kanon_settled_sets")
    query = sql.query("attacks/settled_sets", tables={"pairs": pairs, "tuples": people.tuples})
    engine.run(sql.create_table(sets, query, temporary=True), "tuples that can be in the same classes")
    query = exp.select(_NUMBER, "classes", sql.sum_of(sql.column(N))).from_(sets.copy()).group_by(_NUMBER, "classes")
    found = engine.rows(query.order_by(_NUMBER), "how many rows can be in the same classes")
    sizes = dict(engine.rows(exp.select(_CLASS, N).from_(classes.copy()), "rows of each class"))
    fitting = [(int(rows), [int(each) for each in text.split(",")]) for _, text, rows in found]
    possible = possible_classes(fitting, sizes, spare)
    table = None
    if possible is not None:
        chosen = engine.temporary_name("kanon_settled_classes")
        both = [(number, each) for (number, _, _), own in zip(found, possible, strict=True) for each in own]
        columns = {_NUMBER: [number for number, _ in both], _CLASS: [each for _, each in both]}
        engine.load(chosen, columns, "classes that are possible", "BIGINT")
        table = engine.temporary_name("kanon_settled")
        same = exp.EQ(this=sql.column(_NUMBER, "chosen"), expression=sql.column(_NUMBER, "sets"))
        query = exp.select(sql.column(TUPLE, "sets"), sql.column(_CLASS, "chosen"))
        query = query.from_(sql.aliased(sets, "sets")).join(sql.aliased(chosen, "chosen"), on=same)
        engine.run(sql.create_table(table, query, temporary=True), "classes that tuples can be in")
        engine.run(sql.drop(chosen), "drop the classes that are possible")
    engine.run(sql.drop(sets), "drop the sets of tuples")
    return table


def _count(engine: Engine, pairs: exp.Table) -> tuple[int, int]:
    counts = exp.select(sql.count_rows(), sql.count_distinct(sql.column(TUPLE))).from_(pairs.copy())
    number, tuples = engine.row(counts, "tuples and their classes")
    return int(number), int(tuples)
