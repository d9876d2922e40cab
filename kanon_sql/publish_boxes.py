"""A multidimensional recoding in readable SQL: the cuts lead every row to its box, and the box has its labels.

    walk          each combination of values, from box to box
    arrived       those that have come to a box that is not cut, if they lie in its bounds, with its labels
    generalized   every row of the source with the labels of its combination
    too_small     in a view, the classes that do not satisfy the privacy models any more

Rows that are alike stay together, so that combinations are led, not rows; with relaxed cuts rows that are alike may
part, and each row is led by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.boxes import BoxColumns
from kanon_sql.dialect import shuffled
from kanon_sql.hierarchy.build import VALUE
from kanon_sql.hierarchy.store import SCHEMA
from kanon_sql.names import unused_name
from kanon_sql.publish_local import as_published
from kanon_sql.recoding import Multidimensional

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine
    from kanon_sql.publication import Publication

_BOXES, _CUT = "boxes", "cut"


def step_name(publication: Publication, step: str) -> str:
    """Return the name of a step, which the source must not have: the step would read itself."""
    return unused_name(step, [publication.source.name])


def walk_query(publication: Publication, recoding: Multidimensional) -> exp.Query:
    """Return the query that leads every combination of values, or every row, from box 1 to where it is published."""
    walk = step_name(publication, "walk")
    names = BoxColumns(publication.hierarchies)
    carried = _carried(publication, recoding)
    relaxed = recoding.cutting.cut == "relaxed"
    # 1. Where the walk begins.
    begin = exp.select(*(sql.column(name, "source") for name in carried))
    if relaxed:
        begin = begin.from_(sql.aliased(publication.source, "source"))
    else:
        distinct = exp.select(*(sql.column(name) for name in carried)).distinct().from_(publication.source.copy())
        begin = begin.from_(distinct.subquery("source"))
    order = []
    for number, hierarchy in enumerate(publication.hierarchies):
        value = sql.column(hierarchy.column.name, "source")
        if (table := recoding.orders[number]) is None:
            order.append(exp.Ordered(this=value, nulls_first=True))
            continue
        alias = f"order_{number + 1}"
        begin = begin.join(sql.aliased(table, alias), on=sql.same(value, sql.column(VALUE, alias)))
        begin = begin.select(sql.named(sql.column("place", alias), names.place[number]))
        order.append(exp.Ordered(this=sql.column("place", alias)))
    if relaxed:  # rows that are alike stand in an order that says nothing
        published = [sql.column(column.name, "source") for column in publication.columns]
        order.append(exp.Ordered(this=shuffled(published, publication.seed)))
        position = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
        begin = begin.select(sql.named(position, names.position))
    begin = begin.select(sql.named(sql.literal(1), names.box))
    # 2. A step.
    places = [names.place[number] for number, table in enumerate(recoding.orders) if table is not None]
    kept = [*carried, *places, *([names.position] if relaxed else [])]
    goes = exp.Case().when(_goes_inside(publication, recoding, names), sql.column(names.inside, _CUT))
    step = (
        exp.select(*(sql.column(name, walk) for name in kept))
        .select(sql.named(goes.else_(sql.column(names.outside, _CUT)), names.box))
        .from_(walk)
        .join(
            sql.aliased(recoding.cuts_table, _CUT),
            on=exp.EQ(this=sql.column(names.box, _CUT), expression=sql.column(names.box, walk)),
        )
    )
    return exp.union(begin, step, distinct=False)


def boxed_query(publication: Publication, recoding: Multidimensional, *, with_entity: bool = True) -> exp.Select:
    """Return the query of all rows with the labels of their boxes, over the steps of ``walk_steps``."""
    names = BoxColumns(publication.hierarchies)
    relaxed = recoding.cutting.cut == "relaxed"
    arrived = step_name(publication, "arrived")
    rows = arrived if relaxed else "source"
    numbers = {name: number for number, name in enumerate(publication.quasi_identifiers)}
    query = exp.select()
    for column in publication.columns:
        number = numbers.get(column.name)
        if number is not None and recoding.types[number] is not None:
            query = query.select(sql.named(sql.column(names.published[number], arrived), column.name))
        else:
            query = query.select(as_published(column, rows))
    entity = publication.roles.entity
    if entity is not None and with_entity:
        query = query.select(sql.named(sql.column(entity.name, rows), publication.entity_name))
    if relaxed:
        return query.from_(sql.relation(arrived))
    same = sql.all_of(sql.same(sql.column(name, "source"), sql.column(name, arrived)) for name in names.labels)
    return query.from_(sql.aliased(publication.source, "source")).join(sql.relation(arrived), on=same)


def with_walk(query: exp.Select, publication: Publication, recoding: Multidimensional) -> exp.Select:
    """Return a query with the steps that ``boxed_query`` needs before it.

    What has arrived is kept in between: else the engine may join the source to every step of the walk.
    """
    names = BoxColumns(publication.hierarchies)
    walk = step_name(publication, "walk")
    labels = [
        sql.named(sql.column(names.labels[number], _BOXES), names.published[number])
        for number, kind in enumerate(recoding.types)
        if kind is not None
    ]
    in_box = exp.EQ(this=sql.column(names.box, _BOXES), expression=sql.column(names.box, walk))
    arrived = exp.select(*(sql.column(name, walk) for name in _carried(publication, recoding)), *labels)
    arrived = arrived.from_(sql.relation(walk)).join(
        sql.aliased(recoding.boxes_table, _BOXES), on=sql.all_of([in_box, *_within(publication, recoding, names)])
    )
    query = query.with_(walk, as_=walk_query(publication, recoding), recursive=True)
    return query.with_(step_name(publication, "arrived"), as_=arrived, materialized=True, recursive=True)


def box_statements(engine: Engine, publication: Publication) -> tuple[exp.Expr, ...]:
    """Return the statements that make the orders, the cuts and the boxes, with their rows written out."""
    recoding = publication.recoding
    if not isinstance(recoding, Multidimensional):
        return ()
    names = BoxColumns(publication.hierarchies)
    tables = [order for order in recoding.orders if order is not None]
    sorted_by = {recoding.cuts_table.name: names.box, recoding.boxes_table.name: names.box}
    return tuple(
        _written_out(engine, table, sorted_by.get(table.name, "place"))
        for table in (*tables, recoding.cuts_table, recoding.boxes_table)
    )


def of_view(publication: Publication, view: str) -> Publication:
    """Return what is published by a view: with boxes of its own in the schema ``kanon``."""
    recoding = publication.recoding
    if not isinstance(recoding, Multidimensional):
        return publication

    def own(name: str) -> exp.Table:
        return sql.relation(f"{view}..{name}", SCHEMA)  # two dots: no column is called so

    orders = tuple(
        None if order is None else own(f"order_{number}") for number, order in enumerate(recoding.orders, start=1)
    )
    return replace(
        publication, recoding=replace(recoding, cuts_table=own("cuts"), boxes_table=own("boxes"), orders=orders)
    )


def copies(publication: Publication, of_its_own: Publication) -> list[tuple[exp.Table, exp.Table]]:
    """Return the tables of a recoding, each with the one that a view has in its place."""
    ours, theirs = publication.recoding, of_its_own.recoding
    if not isinstance(ours, Multidimensional) or not isinstance(theirs, Multidimensional):
        return []
    pairs = [*zip(ours.orders, theirs.orders, strict=True)]
    found = [(one, other) for one, other in pairs if one is not None and other is not None]
    return [*found, (ours.cuts_table, theirs.cuts_table), (ours.boxes_table, theirs.boxes_table)]


def _carried(publication: Publication, recoding: Multidimensional) -> list[str]:
    """Return the columns of the source that the walk carries along."""
    if recoding.cutting.cut == "relaxed":
        return [column.name for column in publication.columns]
    return publication.quasi_identifiers


def _goes_inside(publication: Publication, recoding: Multidimensional, names: BoxColumns) -> exp.Expr:
    """Return the condition that a step of the walk goes inside its cut."""
    walk, relaxed = step_name(publication, "walk"), recoding.cutting.cut == "relaxed"
    case = exp.Case(this=sql.column(names.cut_column, _CUT))
    for number, hierarchy in enumerate(publication.hierarchies):
        own = hierarchy.column.name
        if recoding.orders[number] is None:
            value, bound = sql.column(own, walk), sql.column(own, _CUT)
            below: exp.Expr = exp.or_(value.is_(exp.null()), exp.LTE(this=value.copy(), expression=bound))
        else:
            value, bound = sql.column(names.place[number], walk), sql.column(names.high[number], _CUT)
            below = exp.Between(this=value, low=sql.column(names.low[number], _CUT), high=bound)
        if relaxed:  # of the rows that have the median some go inside
            position = sql.column(names.position, _CUT)
            parting = exp.and_(sql.same(value.copy(), bound.copy()), position.is_(exp.null()).not_())
            early = exp.LTE(this=sql.column(names.position, walk), expression=position.copy())
            below = exp.Case().when(parting, early).else_(below)
        case = case.when(sql.literal(own), below, copy=False)
    return case


def _within(publication: Publication, recoding: Multidimensional, names: BoxColumns) -> list[exp.Expr]:
    """Return the conditions that a row lies between the bounds of its box."""
    walk = step_name(publication, "walk")
    conditions: list[exp.Expr] = []
    for number, hierarchy in enumerate(publication.hierarchies):
        low, high = sql.column(names.low[number], _BOXES), sql.column(names.high[number], _BOXES)
        if recoding.orders[number] is not None:
            conditions.append(exp.Between(this=sql.column(names.place[number], walk), low=low, high=high))
            continue
        value = sql.column(hierarchy.column.name, walk)
        between: exp.Expr = exp.Between(this=value, low=low, high=high)
        if recoding.nulls[number]:
            has_null = sql.column(names.null[number], _BOXES)
            between = exp.or_(between, exp.and_(value.copy().is_(exp.null()), has_null))
        conditions.append(between)
    return conditions


def _written_out(engine: Engine, table: exp.Table, sorted_by: str) -> exp.Create:
    columns = engine.columns(table)
    as_text = [sql.named(sql.cast(sql.column(column.name), "VARCHAR"), column.name) for column in columns]
    query = exp.select(*as_text).from_(table.copy()).order_by(sql.column(sorted_by, table.name))
    rows = engine.rows(query, f"rows of {table.name}")
    typed = [sql.named(sql.cast(sql.column(column.name, "lines"), column.type), column.name) for column in columns]
    if not rows:
        nothing = [sql.named(sql.cast(exp.null(), column.type), column.name) for column in columns]
        return sql.create_table(table.copy(), exp.select(*nothing).where(exp.false()), temporary=True)
    values = sql.values("lines", [column.name for column in columns], rows)
    return sql.create_table(table.copy(), exp.select(*typed).from_(values), temporary=True)


def labels_of(publication: Publication, number: int, recoding: Multidimensional) -> exp.Select:
    """Return the query of all labels that a quasi-identifier may have."""
    names = BoxColumns(publication.hierarchies)
    label = sql.named(sql.column(names.labels[number]), "label")
    return exp.select(label).from_(recoding.boxes_table.copy())
