"""The boxes of a multidimensional recoding in terms of the table's values. Scripts show them, releases join them.

    kanon_order_<column>(value, place)                    texts in the order in which they are cut
    kanon_cuts(box, column_name, age, zip_from, zip_to, [position], inside, outside)
    kanon_boxes(box, age_from, age_to, age_null, zip_from, zip_to, age, zip)

The table is box 1. Boxes that are cut have the lower numbers, published boxes the higher ones. A cut sends a row of
its box inside if the row's value in the cut's column is no greater than the value of the cut (NULL is smaller than
any), or lies between .._from and .._to in the column's order. All other rows go outside. A published box has its
labels and the values that bound it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import coded_columns, coded_members
from kanon_sql.classes.recoding import Multidimensional
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.measures.labels import LABEL, PART
from kanon_sql.measures.quality import PartTables
from kanon_sql.measures.sets_and_ranges import HIGH_VALUE, LOW_VALUE, label_type, part_labels_query
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.recoding import Cutting
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.labels import Places
    from kanon_sql.search.mondrian.parts import Parts


class BoxColumns:
    """Unique names for the columns of cuts and boxes."""

    def __init__(self, hierarchies: Sequence[Hierarchy]) -> None:
        own = [hierarchy.column.name for hierarchy in hierarchies]
        suffixes = ("from", "to", "null", "label", "place")
        of_all = ("box", "column_name", "position", "inside", "outside")
        wanted = [f"{column}_{suffix}" for suffix in suffixes for column in own]
        names = iter(unused_names([*wanted, *of_all], own))
        self.labels = own
        self.low, self.high, self.null, self.published, self.place = (list(islice(names, len(own))) for _ in suffixes)
        self.box, self.cut_column, self.position, self.inside, self.outside = names


def recoding_of(parts: Parts) -> tuple[Multidimensional, PartTables]:
    """Return the recoding that cuts into these parts, and the parts with their published labels.

    If the search was stopped, unfinished tuples keep their current parts.
    """
    engine, places, cutting = parts.engine, parts.places, parts.cutting

    def create(relation: exp.Table, query: exp.Query, title: str) -> None:
        engine.run(sql.create_table(relation.copy(), query, temporary=True), title)

    finished, tuples = parts["kanon_finished"], parts["kanon_tuples"]
    if not parts.all_finished:
        done = exp.In(this=sql.column(PART), query=exp.select(PART).from_(finished.copy()).subquery())
        left = exp.select("*").from_(tuples.copy()).where(exp.Not(this=done))
        parts.insert("kanon_finished", "finish the remaining parts", lambda: left)
    # 1. The parts and the statistics that the models need.
    table = engine.temporary_name("kanon_parts")
    models = parts.problem.models
    members = coded_members(exp.select().from_(finished.copy()), [sql.named(sql.column(PART), PART)])
    query = measured_query(members, models, coded_columns(models, kept=True))
    create(table, query, "the parts")
    # 2. The published labels.
    cells, several = [], []
    for column in places:
        name = column.hierarchy.column.name
        relation = engine.temporary_name(f"kanon_cells_{name}")
        query = part_labels_query(finished, column, cutting, with_bounds=True)
        create(relation, query, f"published values of {name}")
        several.append(exp.select(sql.literal(column.number), _has_several_values()).from_(relation.copy()))
        cells.append(relation)
    differ = dict(engine.rows(sql.union_all(several), "which columns have several values in some part?"))
    types = {column.number: label_type(column, cutting) if differ[column.number] else None for column in places}
    # 3. In terms of values.
    names = BoxColumns([column.hierarchy for column in places])
    made = {name: engine.temporary_name(f"kanon_{name}") for name in ("cuts", "boxes")}
    numbers = engine.temporary_name("kanon_numbers")
    create(numbers, _numbers_query(parts["kanon_cuts_made"], table), "numbers of cuts and boxes")
    cuts = _cuts_query(parts["kanon_cuts_made"], numbers, places, names, relaxed=cutting.cut == "relaxed")
    create(made["cuts"], cuts, "the cuts, in terms of values")
    create(made["boxes"], _boxes_query(table, numbers, cells, places, names, types), "the boxes")
    orders: list[exp.Table | None] = []
    for column in places:
        order = None
        if not column.ordered:
            order = engine.temporary_name(f"kanon_order_{column.hierarchy.column.name}")
            in_order = exp.select(VALUE, "place").from_(column.relation.copy())
            create(order, in_order, f"the order of {column.hierarchy.column.name}")
        orders.append(order)
    (boxes_made,) = engine.row(sql.select_count(table), "how many boxes")
    (cuts_made,) = engine.row(sql.select_count(made["cuts"]), "how many cuts")
    recoding = Multidimensional(
        cutting,
        int(boxes_made),
        int(cuts_made),
        parts.rounds,
        made["cuts"],
        made["boxes"],
        tuple(orders),
        tuple(types[column.number] for column in places),
        tuple(column.null_is_beside for column in places),
    )
    for passing in (parts["kanon_cuts_made"], numbers):
        engine.run(sql.drop(passing), "drop the cuts in terms of places")
    return recoding, PartTables(table, tuple(cells), finished, _are_disjoint(cutting, places))


def _are_disjoint(cutting: Cutting, places: Sequence[Places]) -> bool:
    """Return True if no combination of values is covered by the labels of two parts.

    Ranges and sets stay within the sides of strict cuts. At nodes only sets do: the outside of such a cut has a gap.
    The label of a tree covers more than the part has. Relaxed cuts may separate equal rows. Pairs that were
    cut again are not boxes.
    """
    if cutting.cut == "relaxed" or cutting.pairs:
        return False
    texts = [column for column in places if not column.ordered]
    return not texts or cutting.labels == "set" or (cutting.labels == "range" and cutting.cut == "strict")


def _numbers_query(cuts: exp.Table, parts: exp.Table) -> exp.Select:
    """Return the numbers of all parts: first those that were cut, starting with part 1, then boxes."""
    cut = exp.select(sql.named(sql.literal(1), "kind"), PART).from_(cuts.copy())
    boxes = exp.select(sql.named(sql.literal(2), "kind"), PART).from_(parts.copy())
    number = sql.cast(sql.over(exp.RowNumber(), order=("kind", PART)), "INTEGER")
    return exp.select(PART, sql.named(number, "number")).from_(
        exp.union(cut.distinct(), boxes, distinct=False).subquery("parts")
    )


def _cuts_query(
    cuts: exp.Table, numbers: exp.Table, places: Sequence[Places], names: BoxColumns, *, relaxed: bool
) -> exp.Select:
    column_name = exp.Case(this=sql.column("column_number", "cuts"))
    for column in places:
        own = column.hierarchy.column.name
        column_name = column_name.when(sql.literal(column.number + 1), sql.literal(own), copy=False)
    query = exp.select(sql.named(sql.column("number", "own"), names.box), sql.named(column_name, names.cut_column))
    query = query.from_(sql.aliased(cuts, "cuts"))
    for alias, part in (("own", PART), ("inside", "inside"), ("outside", "outside")):
        same = sql.column(PART, alias).eq(sql.column(part, "cuts"))
        query = query.join(sql.aliased(numbers, alias), on=same)
    for column in places:
        number, alias = column.number, f"places_{column.number + 1}"
        its_own = sql.column("column_number", "cuts").eq(number + 1)
        if column.ordered:
            there = exp.and_(its_own, sql.column("place", alias).eq(sql.column("to_place", "cuts")))
            query = query.join(sql.aliased(column.relation, alias), on=there, join_type="left", copy=False)
            query = query.select(sql.named(sql.column(VALUE, alias), names.labels[number]), copy=False)
            continue
        for name, end in ((names.low[number], "from_place"), (names.high[number], "to_place")):
            query = query.select(sql.named(exp.Case().when(its_own, sql.column(end, "cuts")), name), copy=False)
    if relaxed:
        query = query.select(sql.named(sql.column("position", "cuts"), names.position))
    return query.select(
        sql.named(sql.column("number", "inside"), names.inside),
        sql.named(sql.column("number", "outside"), names.outside),
    )


def _boxes_query(
    parts: exp.Table,
    numbers: exp.Table,
    cells: Sequence[exp.Table],
    places: Sequence[Places],
    names: BoxColumns,
    types: Mapping[int, str | None],
) -> exp.Select:
    """Return the boxes: their bounds and their published labels.

    ``cells`` has the labels of the parts for each column, ``types`` the type of these labels, or None if every part
    has one value.
    """
    query = exp.select(sql.named(sql.column("number", "own"), names.box)).from_(sql.aliased(parts, "parts"))
    own = sql.column(PART, "own").eq(sql.column(PART, "parts"))
    query = query.join(sql.aliased(numbers, "own"), on=own)
    labels = []
    for column, relation in zip(places, cells, strict=True):
        number = column.number
        alias = f"cells_{number + 1}"
        same = sql.column(PART, alias).eq(sql.column(PART, "parts"))
        query = query.join(sql.aliased(relation, alias), on=same, copy=False)
        ends = (LOW_VALUE, HIGH_VALUE) if column.ordered else ("low", "high")
        for name, end in zip((names.low[number], names.high[number]), ends, strict=True):
            query = query.select(sql.named(sql.column(end, alias), name), copy=False)
        if column.null_is_beside:
            query = query.select(sql.named(sql.column("has_null", alias), names.null[number]), copy=False)
        if types[number] is not None:
            labels.append(sql.named(sql.column(LABEL, alias), names.labels[number]))
    return query.select(*labels)


def _has_several_values() -> exp.Expr:
    """Return, as an aggregate over its labels, whether any part has several values of a column."""
    differ = exp.or_(sql.column("has_null"), exp.NEQ(this=sql.column("low"), expression=sql.column("high")))
    has_some = sql.column("low").is_(exp.null()).not_()
    return exp.Coalesce(this=exp.LogicalOr(this=exp.and_(has_some, differ)), expressions=[exp.false()])
