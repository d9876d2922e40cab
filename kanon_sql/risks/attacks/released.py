"""The rows of a release beside its original: the class of each row, columns that both have, the people of each class.

    kanon_released(position, class, published_1, ...)  rows in order; published_i is never NULL, equal for equal values
    kanon_persons(tuple, person, n)               rows of the original by tuple and person
    kanon_members(class, person, n, up_to)        people who can have rows in a class (``attacks/people.sql``)
    kanon_in_classes(class, n, possible, at_least, at_most)    people of each class

A value is compared as text, in the form of the original: 5.0, which a data frame may have made from 5, is 5 again if
the column of the original holds whole numbers. NULL counts as a value.

A release does not name people. Its rows are matched with those of the original by their labels, as an attacker would do
(see ``candidates``). If a class has as many rows as can be in it, these are the rows of the class, and its people are
known. The other classes leave a choice: of suppressed rows that look like those of a class, or of classes with
overlapping labels. There the people are counted on the safe side, as if those with most rows had been published
(``at_least``), and the other way round (``at_most``). If the release has the column of people itself (as pseudonyms,
for example), people are counted by it, unless it has more people than its original.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.measures.released_labels import as_original, never_null
from kanon_sql.measures.sets_and_ranges import text_of
from kanon_sql.models.base import N
from kanon_sql.risks.attacks.candidates import (
    CLASS,
    copied_name,
    copy_of,
    find_candidates,
    labels_of,
    make_people,
    on_any_level,
)
from kanon_sql.risks.temporary import TemporaryTables
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.measures.labels import Places
    from kanon_sql.risks.attacks.candidates import Candidates, OriginalRows
    from kanon_sql.risks.temporary import Joins, Values


@dataclass(frozen=True)
class Shared:
    """A column that the release has unchanged: in the release, and in the original."""

    released: Column
    original: Column


@dataclass(frozen=True)
class Released:
    """The rows of a release: ``kanon_released``, and the columns ``published_1`` and so on."""

    relation: exp.Table
    shared: tuple[Shared, ...]


def shared_name(number: int) -> str:
    return f"published_{number + 1}"


def truth(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value of the original in the form in which it is compared."""
    return never_null(text_of(value, column))


def make_released(candidates: Candidates, shared: Sequence[Shared]) -> Released:
    engine, release = candidates.engine, candidates.release
    labels = [text_of(sql.column(column.name), column) for column in candidates.columns]
    values = [as_original(both.released, both.original) for both in shared]
    copy = copy_of(engine, release, [*labels, *values], "kanon_release", "the release, in its order")
    copied = [sql.column(copied_name(number), "written") for number in range(len(labels) + len(values))]
    same, joins = _by_class(candidates, copied[: len(labels)])
    published: list[exp.Expr] = [
        sql.named(value, shared_name(number)) for number, value in enumerate(copied[len(labels) :])
    ]
    tables = TemporaryTables(engine, written=copy, classes=candidates.classes)
    given: Values = {"published": published, "same": same}
    relation = tables.make("attacks/released/released", "the class of each row of the release", given, joins)
    tables.drop("written")
    return Released(relation, tuple(shared))


def class_values(candidates: Candidates, shown: Shared) -> exp.Query:
    """Return the query of the values of a column in each class, classes from 1, as ``(class, value, n)``."""
    names = [copied_name(number) for number in range(len(candidates.columns))]
    texts = [text_of(sql.column(column.name), column) for column in candidates.columns]
    same, joins = _by_class(candidates, [sql.column(name, "written") for name in names])
    return sql.query(
        "attacks/released/class_values",
        values={
            "labels": [sql.named(text, name) for text, name in zip(texts, names, strict=True)],
            "value": as_original(shown.released, shown.original),
            "same": same,
        },
        tables={"release": candidates.release, "classes": candidates.classes},
        joins=joins,
    )


def _by_class(candidates: Candidates, texts: Sequence[exp.Expr]) -> tuple[exp.Expr, Joins]:
    """Return the condition that ``classes`` have the given labels as texts, and the joins that it needs."""
    numbers, joins = labels_of(candidates.labels, texts)
    same = (exp.EQ(this=sql.column(one.alias, "classes"), expression=one.unalias()) for one in numbers)
    return sql.all_of(same), joins


_PERSON, _UP_TO, _AT_LEAST, _AT_MOST = "person", "up_to", "at_least", "at_most"


@dataclass(frozen=True)
class ClassPeople:
    """The people of the classes of a release.

    Attributes:
        smallest, smallest_at_most: people of the class with the fewest; None for a release without rows.
        settled: whether it is known who is in which class.
        one_row_each: whether every person has one row, so that rows are people, whichever were published.
    """

    entity: str
    smallest: int | None
    smallest_at_most: int | None
    settled: bool
    one_row_each: bool
    members: exp.Table
    sizes: exp.Table

    @property
    def exact(self) -> bool:
        return self.smallest == self.smallest_at_most


def persons_of(engine: Engine, people: OriginalRows, entity: Column) -> exp.Table:
    query = sql.query(
        "attacks/people/of_tuples",
        values={_PERSON: people.value(entity, "original")},
        tables={"people": people.relation, "original": people.copy},
    )
    return make_table(engine, "kanon_persons", query, "who has which tuples")


def people_by_original(candidates: Candidates, persons: exp.Table, entity: Column) -> ClassPeople:
    """Return the people of each class of a release, as far as the original shows.

    kanon assumes that all labels are on one level if each class then has exactly the rows that fit it, no label of a
    column except the root covers more on another level, and none covers less (except one that covers everything). A
    release that leaves out whole classes is then read as it was made: a row with the root from another level would be
    missing in its own class, and people who fit a published class were not left out. Otherwise labels are read on any
    level, because rows that were left out may fit a class on one level as well as those that are in it.
    """
    counts = exp.select(sql.sum_of(sql.column(N)), sql.count_distinct(sql.column(_PERSON))).from_(persons.copy())
    engine = candidates.engine
    rows, named = engine.row(counts, "rows and people of the original")

    def in_pairs(pairs: exp.Table) -> ClassPeople:
        query = sql.query("attacks/people/members", tables={"pairs": pairs, "persons": persons})
        return _counted(candidates, query, entity, one_row_each=rows == named)

    found = in_pairs(candidates.pairs)
    if not candidates.assumed or (candidates.believed and found.settled):
        return found
    for table in (found.members, found.sizes):
        engine.run(sql.drop(table), "drop people by labels on one level")
    own = (candidates.people, candidates.places, candidates.classes, candidates.labels)
    return in_pairs(on_any_level(engine, *own).pairs)


def people_by_release(
    candidates: Candidates, entity: Column, persons: exp.Table, by_original: ClassPeople
) -> ClassPeople | None:
    """Return the people of each class of a release that has the column that names them, or its pseudonyms.

    None if the column has more people than the original, in total or in one class: for example, row numbers under the
    name of a person's number.
    """
    released = make_released(candidates, (Shared(entity, entity),))
    person = exp.Nullif(this=sql.column(shared_name(0)), expression=sql.literal(""))
    rows_of_each = (
        exp.select("class", sql.named(person, _PERSON), sql.named(sql.count_rows(), N))
        .from_(released.relation.copy())
        .group_by("class", person.copy())
    )
    query = sql.query("attacks/people/members", steps={"members": [("members", rows_of_each)]})
    found = _counted(candidates, query, entity)
    query = sql.query(
        "attacks/people/more_people",
        tables={
            "members": found.members,
            "persons": persons,
            "by_release": found.sizes,
            "by_original": by_original.sizes,
        },
    )
    (more,) = candidates.engine.row(query, "does the release tell more people apart than its original?")
    return None if more else found


def with_people(candidates: Candidates, kept: Sequence[Column], found: ClassPeople) -> exp.Table:
    """Return a copy of a release with the column that names people: each class has as many as are known to be in it.

    The assignment of rows to people within a class is unknown, and does not matter for counts by class. If it is not
    settled who is in a class, its people get separate names.
    """
    texts = [text_of(sql.column(column.name, "written"), column) for column in candidates.columns]
    same, joins = _by_class(candidates, texts)
    person: exp.Expr = sql.column(_PERSON, "members")
    if not found.settled:
        parts = (sql.cast(sql.column(name, "members"), "VARCHAR") for name in (CLASS, _UP_TO))
        own_name = sql.concatenated(*parts, by="/")
        person = exp.Case().when(exp.Is(this=person, expression=exp.null()).not_(), own_name)
    names = [column.name for column in kept]
    query = sql.query(
        "attacks/released/with_people",
        values={
            "written": [sql.column(name, "written") for name in names],
            "kept": [sql.column(name, "numbered") for name in names],
            "person": person,
            "same": same,
        },
        tables={"release": candidates.release, "classes": candidates.classes, "members": found.members},
        joins=joins,
        names={
            "kanon_entity": found.entity,
            **{one: unused_name(one, names) for one in ("kanon_class", "kanon_number")},
        },
    )
    return make_table(
        candidates.engine, "kanon_release_with_people", query, "the release with the people of its classes"
    )


def name_people(
    engine: Engine,
    original: exp.Table,
    places: Sequence[Places],
    entity: Column,
    release: exp.Table,
    columns: Sequence[Column],
    kept: Sequence[Column],
    own: Column | None = None,
) -> tuple[exp.Table, ClassPeople] | None:
    """Return a copy of a release with the column that names people, and the known facts about them.

    ``columns`` are the quasi-identifiers of the release in the order of the places; ``kept`` are the columns of the
    copy; ``own`` is the release's own column of people. None if people are to be counted by that column.
    """
    known = [own.hierarchy.column for own in places]
    people = make_people(engine, original, [*known, entity], places)
    candidates = find_candidates(engine, people, places, release, columns)
    persons = persons_of(engine, people, entity)
    found = people_by_original(candidates, persons, entity)
    if own is not None and people_by_release(candidates, own, persons, found) is not None:
        return None
    return with_people(candidates, kept, found), found


def _counted(candidates: Candidates, query: exp.Query, entity: Column, *, one_row_each: bool = False) -> ClassPeople:
    engine = candidates.engine
    members = make_table(engine, "kanon_members", query, "who can have rows in each class")
    query = sql.query("attacks/people/in_classes", tables={"classes": candidates.classes, "members": members})
    sizes = make_table(engine, "kanon_in_classes", query, "people in each class")
    fewest = [exp.Min(this=sql.column(name)) for name in (_AT_LEAST, _AT_MOST)]
    unlike = [kind(this=sql.column("possible"), expression=sql.column(N)) for kind in (exp.LT, exp.GT)]
    query = exp.select(*fewest, *(sql.where(sql.count_rows(), each) for each in unlike)).from_(sizes.copy())
    smallest, at_most, foreign, unsettled = engine.row(query, "the class with the fewest people")
    if foreign:
        raise UsageError(
            f"{foreign:,} classes of the release have more rows than the original has under their labels, so that "
            "people cannot be counted: is it a release of that table, made with these hierarchies?"
        )
    return ClassPeople(entity.name, smallest, at_most, not unsettled, one_row_each, members, sizes)
