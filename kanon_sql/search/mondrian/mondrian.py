"""Mondrian (LeFevre et al. 2006), set at a time: a round cuts every part that can be cut, in a handful of statements.

Begin with the whole table as one part. Then, round by round:

1. For every part, the column in which its values span most, of those that were not tried in vain. Parts without one
   are finished.
2. The histogram of that column in each part; its cumulative counts give the median and the rows on both sides.
3. A cut is allowed if all sides satisfy the models. Of a part whose cut is not, the column was tried in vain.
4. The tuples of each part that was cut go to its sides.

Where cuts are compared by what they save, 1 and 2 are ``best_cuts`` instead.

Parts do not depend on each other: cutting all of them in a round gives the same as cutting the largest one first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import coded_columns, coded_members
from kanon_sql.classes.recoding import Multidimensional
from kanon_sql.errors import UnsuitableError
from kanon_sql.measures.part_labels import label_type, part_labels_query
from kanon_sql.measures.places import PART
from kanon_sql.measures.recoding import PartTables
from kanon_sql.search.mondrian.best_cuts import best_cuts
from kanon_sql.search.mondrian.boxes import (
    BoxColumns,
    boxes_query,
    cuts_query,
    has_several_values,
    numbers_query,
    order_query,
)
from kanon_sql.search.mondrian.cuts import forbid, make, propose_cuts
from kanon_sql.search.mondrian.pairs import recut_pairs
from kanon_sql.search.mondrian.parts import Parts
from kanon_sql.search.mondrian.side_costs import SideCosts
from kanon_sql.search.mondrian.spans import chosen_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.cutting import Cutting
    from kanon_sql.measures.places import Places
    from kanon_sql.search.problem import Problem, SearchProgress


def mondrian(parts: Parts, progress: SearchProgress | None = None) -> None:
    """Cut until no part can be cut; then, where it is asked for, cut pairs of parts again."""
    _cut(parts, progress)
    if parts.costs is None:
        return
    for number in range(parts.cutting.pairs):
        more = recut_pairs(parts, number, parts.costs)
        _cut(parts, progress)
        if not more:
            return


def _cut(parts: Parts, progress: SearchProgress | None) -> None:
    """Cut until no part can be cut."""

    def chosen() -> exp.Select:
        tables = parts["kanon_tuples"], parts["kanon_tried"]
        return chosen_query(*tables, parts.places, parts.cutting, parts.problem.k)

    while True:
        if parts.costs is None:
            # 1. The column of each part.
            parts.make("kanon_chosen", "the column in which each part spans most", chosen)
            parts.finish_others()
            # 2. The cuts.
            propose_cuts(parts)
        else:
            best_cuts(parts, parts.costs)
            parts.finish_others()
        # 3. Which of them are allowed.
        if not parts.problem.only_counts_rows:
            forbid(parts)
        if not parts.number_sides():
            return
        # 4. The sides.
        with parts.together():
            make(parts)
        if progress is not None:
            progress(parts.rounds, None, None)


def begin(problem: Problem, cutting: Cutting) -> Parts:
    """Return the table as one part.

    Raises:
        UnsuitableError: rows of one tuple were to part, and it matters which of them.
    """
    if not problem.only_counts_rows and cutting.cut == "relaxed":
        raise UnsuitableError(
            "Relaxed cuts part rows that are alike, and what is counted does not say whose they are, nor their "
            "sensitive values: leave cut relaxed out, or all models but k."
        )
    costs = None
    if cutting.choose == "loss":
        costs = SideCosts(problem.places, problem.objective.name, cutting.labels)
    return Parts(problem, cutting, problem.places, costs)


def recoding_of(parts: Parts) -> tuple[Multidimensional, PartTables]:
    """Return the recoding that cuts into these parts, and the parts with what is published of them.

    Tuples that were not finished when the search was stopped are finished as they are.
    """
    engine, places, cutting = parts.engine, parts.places, parts.cutting
    finished, tuples = parts["kanon_finished"], parts["kanon_tuples"]
    if not parts.all_finished:
        done = exp.In(this=sql.column(PART), query=exp.select(PART).from_(finished.copy()).subquery())
        left = exp.select("*").from_(tuples.copy()).where(exp.Not(this=done))
        parts.insert("kanon_finished", "what is left is finished", lambda: left)
    # 1. The parts, and what the models measure in them.
    table = engine.temporary_name("kanon_parts")
    models = parts.problem.models
    members = coded_members(exp.select().from_(finished.copy()), [sql.named(sql.column(PART), PART)])
    query = measured_query(members, models, coded_columns(models, kept=True))
    engine.run(sql.create_table(table.copy(), query, temporary=True), "the parts")
    # 2. What is published of them.
    cells = []
    types: dict[int, str | None] = {}
    for column in places:
        name = column.hierarchy.column.name
        relation = engine.temporary_name(f"kanon_cells_{name}")
        labels = part_labels_query(finished, column, cutting)
        engine.run(sql.create_table(relation.copy(), labels, temporary=True), f"what is published of {name}")
        (several,) = engine.row(
            exp.select(has_several_values(column)).from_(relation.copy()), f"has some part several values of {name}?"
        )
        types[column.number] = label_type(column, cutting) if several else None
        cells.append(relation)
    # 3. In terms of values.
    names = BoxColumns([column.hierarchy for column in places])
    made = {name: engine.temporary_name(f"kanon_{name}") for name in ("cuts", "boxes")}
    numbers = engine.temporary_name("kanon_numbers")
    numbered = numbers_query(parts["kanon_cuts_made"], table)
    engine.run(sql.create_table(numbers.copy(), numbered, temporary=True), "numbers of cuts and boxes")
    cuts = cuts_query(parts["kanon_cuts_made"], numbers, places, names, relaxed=cutting.cut == "relaxed")
    engine.run(sql.create_table(made["cuts"].copy(), cuts, temporary=True), "the cuts, in terms of values")
    boxes = boxes_query(table, numbers, cells, places, names, types)
    engine.run(sql.create_table(made["boxes"].copy(), boxes, temporary=True), "the boxes")
    orders: list[exp.Table | None] = []
    for column in places:
        order = None
        if not column.ordered:
            order = engine.temporary_name(f"kanon_order_{column.hierarchy.column.name}")
            title = f"the order of {column.hierarchy.column.name}"
            engine.run(sql.create_table(order.copy(), order_query(column), temporary=True), title)
        orders.append(order)
    (boxes_made,) = engine.row(exp.select(sql.count_rows()).from_(table.copy()), "how many boxes")
    (cuts_made,) = engine.row(exp.select(sql.count_rows()).from_(made["cuts"].copy()), "how many cuts")
    recoding = Multidimensional(
        cutting,
        int(boxes_made),
        int(cuts_made),
        parts.rounds,
        made["cuts"],
        made["boxes"],
        tuple(orders),
        tuple(types[column.number] for column in places),
        tuple(column.ordered and column.null is not None for column in places),
    )
    for passing in (parts["kanon_cuts_made"], numbers):
        engine.run(sql.drop(passing), "drop the cuts in terms of places")
    return recoding, PartTables(table, tuple(cells), finished, _are_disjoint(cutting, places))


def _are_disjoint(cutting: Cutting, places: Sequence[Places]) -> bool:
    """Tell whether no combination of values is covered by the labels of two parts.

    Ranges and sets go no further than the sides of strict cuts; sets no further than those at nodes, whose outside has
    a gap. The label of a tree covers more than the part has, rows that are alike may part in a relaxed cut, and pairs
    that were cut again are no boxes.
    """
    if cutting.cut == "relaxed" or cutting.pairs:
        return False
    texts = [column for column in places if not column.ordered]
    return not texts or cutting.labels == "set" or (cutting.labels == "range" and cutting.cut == "strict")
