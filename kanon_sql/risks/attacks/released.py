"""The rows of a release, in its order: the class of each, and the columns that the original has too.

    kanon_released(position, class, told_1, ...)       told_i is never NULL, and equal where the values are

A value is compared as text, in the form in which the original writes it: 5.0, which a data frame may have made of 5, is
5 again, if the column of the original holds whole numbers. NULL is a value of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.measures.labels import LABEL
from kanon_sql.measures.part_labels import text_of
from kanon_sql.measures.published import read_as
from kanon_sql.models.counted import N
from kanon_sql.risks.attacks.candidates import CLASS, label_name
from kanon_sql.risks.attacks.covers import NUMBER
from kanon_sql.risks.attacks.people import POSITION, copied_name, copy_of, position
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.risks.attacks.candidates import Candidates


@dataclass(frozen=True)
class Shared:
    """A column that the release has as the original has it: in the release, and in the original."""

    released: Column
    original: Column


@dataclass(frozen=True)
class Released:
    """The rows of a release.

    Attributes:
        relation: the temporary table above.
        copy: labels as they are written, then the shared columns as text; in the order of the release.
        shared: its columns ``told_1`` and so on.
    """

    relation: exp.Table
    copy: exp.Table
    shared: tuple[Shared, ...]


def told_name(number: int) -> str:
    """Return the name of a shared column."""
    return f"told_{number + 1}"


def never_null(text: exp.Expr) -> exp.Expr:
    """Return a text that is different for every text and for NULL."""
    marked = exp.DPipe(this=sql.literal("="), expression=text, safe=True)
    return exp.Coalesce(this=marked, expressions=[sql.literal("")])


def truth(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value of the original in the form in which it is compared."""
    return never_null(text_of(value, column))


def make_released(
    engine: Engine, release: exp.Table, columns: Sequence[Column], shared: Sequence[Shared], candidates: Candidates
) -> Released:
    """Return the rows of a release.

    Args:
        engine: holds it.
        release: the release.
        columns: its quasi-identifiers, in the order of the labels.
        shared: the columns that are compared with those of the original.
        candidates: its classes.
    """
    labels = [text_of(sql.column(column.name), column) for column in columns]
    told = [_told(both) for both in shared]
    copy = copy_of(engine, release, [*labels, *told], "kanon_release", "the release, in its order")
    query = exp.select(
        sql.named(position("written"), POSITION),
        sql.column(CLASS, "classes"),
        *(
            sql.named(sql.column(copied_name(len(labels) + number), "written"), told_name(number))
            for number in range(len(told))
        ),
    ).from_(sql.aliased(copy, "written"))
    query = _with_classes(query, candidates)
    relation = engine.temporary_name("kanon_released")
    engine.run(sql.create_table(relation, query, temporary=True), "the class of each row of the release")
    return Released(relation, copy, tuple(shared))


def class_values(
    engine: Engine,
    release: exp.Table,
    columns: Sequence[Column],
    released: Column,
    original: Column,
    candidates: Candidates,
) -> exp.Table:
    """Return the values of a column in each class of a release, classes from 1, as ``(class, value, n)``.

    Args:
        engine: holds the release.
        release: the release.
        columns: its quasi-identifiers, in the order of the labels.
        released: the column.
        original: the column of the original.
        candidates: the classes.
    """
    labels = [sql.named(text_of(sql.column(column.name), column), copied_name(n)) for n, column in enumerate(columns)]
    value = sql.named(_told(Shared(released, original)), "value")
    written = exp.select(*labels, value, sql.named(sql.count_rows(), N)).from_(release.copy())
    written = written.group_by(*(each.this.copy() for each in (*labels, value)))
    number = exp.Add(this=sql.column(CLASS, "classes"), expression=sql.literal(1))
    query = exp.select(
        sql.named(number, CLASS), sql.column("value", "written"), sql.named(sql.sum_of(sql.column(N, "written")), N)
    ).from_(written.subquery("written"))
    query = _with_classes(query, candidates).group_by(sql.column(CLASS, "classes"), sql.column("value", "written"))
    relation = engine.temporary_name("kanon_class_values")
    engine.run(sql.create_table(relation, query, temporary=True), f"{original.name} in classes of the release")
    return relation


def _with_classes(query: exp.Select, candidates: Candidates) -> exp.Select:
    """Return a query of labels as they are written, joined with the classes that have them."""
    same = []
    for place, (number, numbered) in enumerate(candidates.labels.items()):
        alias = f"labels_{number + 1}"
        written = sql.column(copied_name(place), "written")
        query = query.join(sql.aliased(numbered, alias), on=sql.same(sql.column(LABEL, alias), written))
        same.append(exp.EQ(this=sql.column(label_name(number), "classes"), expression=sql.column(NUMBER, alias)))
    return query.join(sql.aliased(candidates.classes, "classes"), on=sql.all_of(same))


def _told(both: Shared) -> exp.Expr:
    """Return a value of the release as the original would write it, where it can."""
    text = text_of(sql.column(both.released.name), both.released)
    if both.original.type != "VARCHAR" and both.original.family != "other":
        value, is_value = read_as(text.copy(), both.original)
        text = exp.Case().when(is_value, text_of(value, both.original)).else_(text)
    return never_null(text)
