"""The rows of an original, of a control group and of a release as codes, which every attack with a control group reads.

    kanon_sides(record, is_control, person, place_1, ...)    rows of the original, then of the control group
    kanon_targets(is_control, person, rank, record)         each person with one of their rows, in drawn order
    kanon_coded(record, label_1, ...)                        rows of the release, numbered from 1
    covers (label, place)                                 which labels cover which values, for each column

Columns are numbered: first the quasi-identifiers, in their order, then the other columns that the release and the
original both have. The place of a quasi-identifier's value is that of ``measures.labels``, and its labels are those
that ``candidates`` numbered; values of the control group that the original does not have get the labels that the
hierarchy gives them. The value of another column is compared as text (see ``released``): its place and its label are
the number of that text in the release, and 0 stands for a text that the release does not have.

A person is a row, or everyone with the same value of the column of people; a row without a name is a person of its own.
Which row of a person is taken, and the order of people, is drawn by MD5 of the seed and the number of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import build_frequency
from kanon_sql.engine.base import make_table
from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.hierarchy.given import for_other_rows
from kanon_sql.measures.labels import make_labels, make_places, place_name
from kanon_sql.measures.released_labels import Covers, label_name, make_covers
from kanon_sql.risks.attacks.candidates import CLASS, POSITION, position
from kanon_sql.risks.attacks.released import shared_name, truth
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.released import Released

RECORD, PERSON, IS_CONTROL, _TEXT, _CODE = "record", "person", "is_control", "text", "code"


@dataclass(frozen=True)
class Coded:
    """The tables above: ``columns`` and ``covers`` by number, of which the first are ``quasi_identifiers``."""

    engine: Engine
    columns: tuple[str, ...]
    quasi_identifiers: int
    sides: exp.Table
    targets: exp.Table
    release: exp.Table
    covers: tuple[Covers, ...]
    people: int
    control_people: int
    rows: int
    seed: int


def code_tables(
    engine: Engine,
    original: exp.Table,
    control: exp.Table,
    hierarchies: Sequence[Hierarchy],
    candidates: Candidates,
    released: Released,
    entity: Column | None,
    seed: int,
) -> Coded:
    """Return the codes of an original, a control group with the same columns, and a release.

    ``hierarchies`` were made for the original. ``entity`` is None if each row is a person; a release that has the
    column does not get it coded.

    Raises:
        HierarchyError: a hierarchy has no row for a value of the control group.
    """
    known = [hierarchy.column for hierarchy in hierarchies]
    others = [number for number, both in enumerate(released.shared) if both.original != entity]
    values = [released.shared[number].original for number in others]
    # 1. The rows of both sides, and their places.
    both, flag = _both_sides(engine, original, control, [*known, *values], entity)
    own = [for_other_rows(engine, hierarchy, both) for hierarchy in hierarchies]
    try:
        frequency = build_frequency(engine, both, own, None)
    except HierarchyError as error:
        raise HierarchyError(f"{error} These are values of the original and of the control group together.") from None
    places = make_places(frequency, own, make_labels(frequency, own))
    # 2. The other columns: every text of the release gets a number.
    texts = [_texts(engine, released, number) for number in others]
    # 3. Rows as codes.
    person: exp.Expr = exp.null() if entity is None else sql.column(entity.name, "source")
    row = sql.cast(position("source"), "VARCHAR")
    named = sql.concatenated("=", sql.cast(person, "VARCHAR"))
    query = exp.select(
        sql.named(position("source"), RECORD),
        sql.named(sql.column(flag, "source"), IS_CONTROL),
        sql.named(exp.Coalesce(this=named, expressions=[row]), PERSON),
    ).from_(sql.aliased(both, "source"))
    for found in places:
        alias = f"lookup_{found.number + 1}"
        value = sql.column(found.hierarchy.column.name, "source")
        query = query.select(sql.named(sql.column("place", alias), found.place), copy=False)
        query = query.join(sql.aliased(found.relation, alias), on=sql.same(value, sql.column(VALUE, alias)), copy=False)
    for number, (column, relation) in enumerate(zip(values, texts, strict=True), start=len(known)):
        alias = f"texts_{number + 1}"
        code = exp.Coalesce(this=sql.column(_CODE, alias), expressions=[sql.literal(0)])
        query = query.select(sql.named(code, place_name(number)), copy=False)
        same = exp.EQ(this=sql.column(_TEXT, alias), expression=truth(sql.column(column.name, "source"), column))
        query = query.join(sql.aliased(relation, alias), on=same, join_type="left", copy=False)
    sides = make_table(engine, "kanon_sides", query, "rows of the original and of the control group, as codes")
    drawn = sql.query("attacks/control/targets", values={"seed": str(seed)}, tables={"sides": sides})
    targets = make_table(engine, "kanon_targets", drawn, "people in drawn order, each with one row")
    query = _release_query(candidates, released, others, texts, len(known))
    release = make_table(engine, "kanon_coded", query, "the release as codes")
    # 4. What labels cover.
    covers = [
        make_covers(engine, candidates.labels[found.number], found, one_level=candidates.assumed) for found in places
    ]
    covers += [
        Covers(number, _themselves(engine, relation), functional=True, assumed=False, nested=True)
        for number, relation in enumerate(texts, start=len(known))
    ]
    counted = [sql.select_count(targets).where(sql.column(IS_CONTROL).eq(side)) for side in (False, True)]
    counts = exp.select(*(each.subquery() for each in (*counted, sql.select_count(release))))
    people, control_people, rows = engine.row(counts, "how many people and rows there are")
    for relation in (both, *texts):
        engine.run(sql.drop(relation), "drop values that have codes")
    return Coded(
        engine,
        tuple(column.name for column in (*known, *values)),
        len(known),
        sides,
        targets,
        release,
        tuple(covers),
        people,
        control_people,
        rows,
        seed,
    )


def _both_sides(
    engine: Engine, original: exp.Table, control: exp.Table, columns: Sequence[Column], entity: Column | None
) -> tuple[exp.Table, str]:
    """Return the rows of both tables with the columns that are needed, and the name of the control group's flag."""
    needed = [*columns, *([entity] if entity is not None and entity not in columns else [])]
    flag = unused_name("kanon_is_control", [column.name for column in needed])
    sides = [
        exp.select(
            *(sql.column(column.name) for column in needed),
            sql.named(exp.true() if is_control else exp.false(), flag),
        ).from_(table.copy())
        for table, is_control in ((original, False), (control, True))
    ]
    return make_table(engine, "kanon_both_sides", sql.union_all(sides), "the original and the control group"), flag


def _texts(engine: Engine, released: Released, number: int) -> exp.Table:
    own = sql.column(shared_name(number))
    distinct = exp.select(sql.named(own, _TEXT)).distinct().from_(released.relation.copy())
    # In their order: what is drawn by these numbers must not depend on how many threads there are.
    query = exp.select(sql.named(sql.over(exp.RowNumber(), order=[_TEXT]), _CODE), _TEXT).from_(
        distinct.subquery("distinct_texts")
    )
    name = released.shared[number].original.name
    return make_table(engine, "kanon_texts", query, f"values of {name} in the release")


def _themselves(engine: Engine, texts: exp.Table) -> exp.Table:
    query = exp.select(sql.named(sql.column(_CODE), "label"), sql.named(sql.column(_CODE), "place")).from_(texts.copy())
    return make_table(engine, "kanon_covers_texts", query, "each value covers itself")


def _release_query(
    candidates: Candidates, released: Released, others: Sequence[int], texts: Sequence[exp.Table], known: int
) -> exp.Select:
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(POSITION, "released"))])
    query = exp.select(sql.named(exp.Window(this=exp.RowNumber(), order=order), RECORD))
    query = query.select(*(sql.column(label_name(number), "classes") for number in range(known)), copy=False)
    same_class = exp.EQ(this=sql.column(CLASS, "classes"), expression=sql.column(CLASS, "released"))
    query = query.from_(sql.aliased(released.relation, "released"), copy=False)
    query = query.join(sql.aliased(candidates.classes, "classes"), on=same_class, copy=False)
    for number, (shared, relation) in enumerate(zip(others, texts, strict=True), start=known):
        alias = f"texts_{number + 1}"
        query = query.select(sql.named(sql.column(_CODE, alias), label_name(number)), copy=False)
        same = exp.EQ(this=sql.column(_TEXT, alias), expression=sql.column(shared_name(shared), "released"))
        query = query.join(sql.aliased(relation, alias), on=same, copy=False)
    return query
