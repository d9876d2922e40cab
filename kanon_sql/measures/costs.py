"""Costs of cells, added up: for each level of each column once, for the suppressed rows of a node when needed.

A lattice node's total cost is a sum over columns: what all rows lose at the column's level, plus what suppressed
rows lose on top (their cells cost ``full`` instead). The first part depends on the level alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.classes.frequency import key_name, mask_name
from kanon_sql.classes.of_node import classes_query, failing_people, is_published
from kanon_sql.engine.progress import check_deadline
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.labels import NUMBER, label_of_class, labels_alias
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Node
    from kanon_sql.classes.packing import Packing
    from kanon_sql.engine.base import Engine
    from kanon_sql.measures.base import CellMeasure, ClassMeasure, Cost
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel


@dataclass(frozen=True)
class Costs:
    """What a measure charges for the levels of each column, in whole numbers of one common unit.

    Attributes:
        measure: the measure.
        rows: rows of the table.
        totals: for each column and level, the cost of all rows at that level.
        largest: for each column and level, the largest cost of a label that has rows.
        labels: for each column and level, how many labels there are.
        full: for each column, the cost of a cell at the root.
        weights: for each column, common units in one unit of the measure.
        unit: common units in a mean cost of 1 per cell.
    """

    measure: CellMeasure
    rows: int
    totals: tuple[tuple[int, ...], ...]
    largest: tuple[tuple[int, ...], ...]
    labels: tuple[tuple[int, ...], ...]
    full: tuple[int, ...]
    weights: tuple[int, ...]
    unit: int

    def generalization(self, node: Node) -> int:
        """Return what all rows cost at a node, before any is suppressed."""
        check_deadline()  # here, because searches order many nodes by it, and each takes a while with many columns
        return sum(totals[level] for totals, level in zip(self.totals, node, strict=True))

    def with_suppression(self, node: Node, suppressed: int, hidden: Sequence[int]) -> int:
        """Return the cost of a node; published, its suppressed rows would cost ``hidden`` in each column."""
        return self.generalization(node) + suppressed * sum(self.full) - sum(hidden)

    def least_of_column(self, column: int, level: int, suppressed: int) -> int:
        """Return the least that a column can cost at a level if ``suppressed`` rows go, but for what these cost."""
        total = self.totals[column][level]
        return total - min(suppressed * self.largest[column][level], total)

    def most_hidden(self, node: Node, suppressed: int) -> list[int]:
        """Return, for each column, the most that some ``suppressed`` rows can cost at a node."""
        return [
            min(suppressed * largest[level], totals[level])
            for totals, largest, level in zip(self.totals, self.largest, node, strict=True)
        ]

    def of_columns(self, columns: Container[int]) -> Costs:
        """Return what is charged for the cells of some columns, those of all others being free."""

        def own(charged: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
            return tuple(costs if i in columns else (0,) * len(costs) for i, costs in enumerate(charged))

        return replace(
            self,
            totals=own(self.totals),
            largest=own(self.largest),
            full=tuple(cost if i in columns else 0 for i, cost in enumerate(self.full)),
            weights=tuple(weight if i in columns else 0 for i, weight in enumerate(self.weights)),
        )

    @property
    def original(self) -> int:
        return sum(totals[0] for totals in self.totals)

    def mean(self, cost: Cost) -> Fraction:
        """Return a cost as a mean per cell: 0 for the original table, 1 where every cell is lost."""
        everything = self.rows * len(self.full) * self.unit - self.original
        return Fraction(cost - self.original, everything) if everything else Fraction(0)

    def value(self, cost: Cost) -> float:
        return self.measure.value(self.mean(cost))

    def values_of_columns(self, charged: Sequence[int]) -> tuple[float, ...]:
        originals = [totals[0] for totals in self.totals]
        everything = [self.rows * self.unit - original for original in originals]
        means = [
            Fraction(cost - original, most) if most else Fraction(0)
            for cost, original, most in zip(charged, originals, everything, strict=True)
        ]
        return tuple(map(self.measure.value, means))


@dataclass(frozen=True)
class Objective:
    """What is minimized.

    Attributes:
        costs: what cells cost: by the measure that is minimized; or by loss, which then breaks ties in the order of a
            search and is not what its result is compared by.
        of_classes: the measure that is minimized, if it is made from the sizes of classes.
    """

    costs: Costs
    of_classes: ClassMeasure | None = None

    @property
    def name(self) -> str:
        return (self.of_classes or self.costs.measure).name

    def value(self, cost: Cost) -> float:
        return self.costs.value(cost) if self.of_classes is None else self.of_classes.value(cost)

    @property
    def least(self) -> int:
        """A cost that nothing is below: that of the original table, where cells are what costs."""
        return self.costs.original if self.of_classes is None else 0

    def gap(self, cost: Cost, bound: Cost) -> float:
        """Return how far a bound is below a cost, as a share of the cost: 0 when they are equal."""
        return float((cost - bound) / (cost - self.least)) if cost > bound else 0.0


def level_costs(
    engine: Engine, labels: Sequence[Labels], measures: Sequence[CellMeasure], rows: int
) -> tuple[Costs, ...]:
    """Return what measures charge for the levels of each column: all of them by one statement."""
    answers = engine.rows(_level_costs_query(labels, measures), "costs of every level")
    found = {(number, level): (labelled, charged) for number, level, labelled, *charged in answers}
    return tuple(_costs_of(place, measure, labels, found, rows) for place, measure in enumerate(measures))


def _costs_of(
    place: int,
    measure: CellMeasure,
    labels: Sequence[Labels],
    found: Mapping[tuple[int, int], tuple[int, Sequence[Any]]],
    rows: int,
) -> Costs:
    full = [measure.full(column) for column in labels]
    unit = lcm(*(cost for cost in full if cost))
    weights = tuple(unit // cost if cost else 0 for cost in full)
    totals, largest, labelled = [], [], []
    for column, weight in zip(labels, weights, strict=True):
        levels = [found.get((column.number, level), (0, ())) for level in range(column.height + 1)]
        charged = [costs[2 * place : 2 * place + 2] or (0, 0) for _, costs in levels]
        totals.append(tuple(int(total or 0) * weight for total, _ in charged))
        largest.append(tuple(int(most or 0) * weight for _, most in charged))
        labelled.append(tuple(number for number, _ in levels))
    common = tuple(cost * weight for cost, weight in zip(full, weights, strict=True))
    return Costs(measure, rows, tuple(totals), tuple(largest), tuple(labelled), common, weights, unit)


def hidden_costs(  # noqa: PLR0913 - where the classes are, under what they fail, what is charged
    frequency: FrequencySet,
    relation: exp.Table,
    node: Node,
    models: Sequence[PrivacyModel],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    packing: Packing | None = None,
    statements: dict[tuple[Any, ...], exp.Query] | None = None,
    *,
    merged: bool = False,
    few_apart: bool = False,
) -> list[list[int]]:
    """Return, for each measure, what suppressed rows would cost in each column, in the measure's common unit.

    Original values cost nothing by most measures, and are not looked up then.

    Args:
        frequency: the frequency set.
        relation: from which the classes of the node are counted.
        node: the node.
        models: under which they are suppressed.
        labels: of each quasi-identifier.
        costs: what each measure charges.
        packing: where counts stand in the relation, if they stand side by side.
        statements: where statements are kept for nodes to come; they differ by levels and masks, which are bound.
        merged: whether the relation is the frequency set of this very node.
        few_apart: whether classes are tested by ``people_query``.
    """
    measures = [cost.measure for cost in costs]
    lowest = _lowest_charged(measures)
    charged = {
        column.number
        for column in labels
        if node[column.number] >= lowest and any(cost.weights[column.number] for cost in costs)
    }
    found: dict[int, list[int]] = {}
    if charged:
        masks = frequency.masks(node)
        shape = ("hidden costs", relation.name, merged, few_apart, *(mask != 0 for mask in masks))
        kept = {} if statements is None else statements
        if shape not in kept:
            bound_masks = [exp.Placeholder(this=mask_name(key)) if mask else 0 for key, mask in enumerate(masks)]
            if few_apart:
                (k,) = {int(model.required) for model in models}
                classes = failing_people(relation, bound_masks, k)
            else:
                query = classes_query(relation, bound_masks, models, packing=packing, merged=merged)
                classes = [("classes", query)]
            fails = exp.true() if few_apart else sql.negated(is_published(models))
            kept[shape] = _hidden_costs_query(classes, fails, masks, labels, measures)
        bound = {mask_name(key): mask for key, mask in enumerate(masks) if mask}
        for column in labels:
            level = node[column.number]
            bound[_level_of(column)] = level if column.number in charged else _NO_LEVEL
            for word, placement in enumerate(column.placements):
                bound[_mask_of(column, word)] = placement.word.mask(level) if column.number in charged else 0
        answers = frequency.engine.rows(kept[shape], f"what suppressed rows lose at {node}", bound)
        found = {number: [int(total) for total in totals] for number, *totals in answers}
    free = [0] * len(costs)
    return [
        [found.get(column.number, free)[place] * cost.weights[column.number] for column in labels]
        for place, cost in enumerate(costs)
    ]


_NO_LEVEL = -1
"""The level of columns in which nothing is looked up."""


def _hidden_costs_query(
    classes: list[tuple[str, exp.Query]],
    fails: exp.Expr,
    masks: Sequence[int],
    labels: Sequence[Labels],
    measures: Sequence[CellMeasure],
) -> exp.Query:
    """Return the query of what suppressed rows would cost: a row for each column in which labels are looked up.

    Levels and masks are placeholders, but for keys that are masked away altogether.

    Args:
        classes: the steps that lead to classes.
        fails: the condition of those that are suppressed.
        masks: of each key.
        labels: of each quasi-identifier.
        measures: what is charged.
    """
    keys = [key for key, mask in enumerate(masks) if mask] or [0]
    words = range(max(len(column.placements) for column in labels))
    in_levels = [name for word in words for name in (f"key_{word}", f"shift_{word}", mask_name(word))]
    rows: list[list[sql.Value | exp.Expr]] = []
    for column in labels:
        row: list[sql.Value | exp.Expr] = [column.number, exp.Placeholder(this=_level_of(column))]
        for word, placement in enumerate(column.placements):
            key = placement.key if placement.key in keys else keys[0]  # of which nothing is left by its mask
            row += [key, placement.shift, exp.Placeholder(this=_mask_of(column, word))]
        shorter = len(words) - len(column.placements)  # the codes of others have more words
        rows.append([*row, *[keys[0], 0, 0] * shorter])
    total = [
        sql.named(_charged(_cost_by_number(labels, measure, "labels"), "cells"), measure.name) for measure in measures
    ]
    return sql.query(
        "measures/hidden_costs",
        values={
            "charged": total,
            "codes": [sql.named(_code_of_class(keys, word), code_name(word)) for word in words],
            "fails": fails,
            "same_codes": sql.all_of(
                sql.column(code_name(word), "labels").eq(sql.column(code_name(word), "cells")) for word in words
            ),
        },
        steps={"classes": [*classes[:-1], ("classes", classes[-1][1])]},
        relations={
            "levels": sql.values("levels", [NUMBER, "level", *in_levels], rows),
            "labels": sql.aliased(labels[0].facts, "labels"),
        },
    )


def _code_of_class(keys: Sequence[int], word: int) -> exp.Expr:
    """Return a word of the code of a class in a column, from the keys of the class and what says where it stands."""
    key: exp.Expr = sql.column(key_name(keys[0]), "classes")
    if len(keys) > 1:
        key = exp.Case(this=sql.column(f"key_{word}", "levels"))
        for number in keys:
            key.when(sql.literal(number), sql.column(key_name(number), "classes"), copy=False)
    shifted = exp.Paren(this=exp.BitwiseRightShift(this=key, expression=sql.column(f"shift_{word}", "levels")))
    return exp.BitwiseAnd(this=shifted, expression=sql.column(mask_name(word), "levels"))


def _level_of(column: Labels) -> str:
    return f"level_of_{column.number}"


def _mask_of(column: Labels, word: int) -> str:
    return f"mask_of_{column.number}_{word}"


def costs_of_classes(
    engine: Engine, labelled: exp.Select, labels: Sequence[Labels], costs: Sequence[Costs], suppressed: int
) -> list[int]:
    """Return what the cells of classes and of suppressed rows cost by each measure, in its common unit.

    ``labelled`` is the published classes, as ``classes``, joined to their labels: a query that selects nothing yet.
    """
    return [sum(columns) for columns in costs_of_columns(engine, labelled, labels, costs, suppressed)]


def costs_of_columns(
    engine: Engine, labelled: exp.Select, labels: Sequence[Labels], costs: Sequence[Costs], suppressed: int
) -> list[list[int]]:
    """Return the same as ``costs_of_classes`` for each column by itself."""
    charged = [
        _charged(cell_cost(column, cost.measure, labels_alias(column)), "classes")
        for cost in costs
        for column in labels
    ]
    answers = iter(engine.row(labelled.select(*charged), "what the cells of the classes cost"))
    return [
        [
            int(next(answers) or 0) * weight + suppressed * full
            for weight, full in zip(cost.weights, cost.full, strict=True)
        ]
        for cost in costs
    ]


def costs_in(
    frequency: FrequencySet,
    relation: exp.Table,
    costs: Costs,
    labels: Sequence[Labels],
) -> list[list[int]]:
    """Return, for each column and level, what the rows of a part of the frequency set cost, in the common unit."""
    queries = [
        _cells_query(relation, column, level, costs.measure)
        for column in labels
        for level in range(_lowest_charged([costs.measure]), column.height)
    ]
    rows = exp.select(sql.sum_of(sql.column(N))).from_(relation.copy())
    (count,) = frequency.engine.row(rows, "rows of the sample")
    found = {}
    if queries:
        answers = frequency.engine.rows(sql.union_all(queries), "costs of the sample")
        found = {(number, level): int(total or 0) for number, level, total in answers}
    return [
        [
            *(found.get((column.number, level), 0) * weight for level in range(column.height)),
            int(count or 0) * full,
        ]
        for column, weight, full in zip(labels, costs.weights, costs.full, strict=True)
    ]


def costs_of_labels(engine: Engine, labels: Sequence[Labels], costs: Costs) -> list[dict[tuple[int, ...], int]]:
    """Return, for each column, what a row costs in the common unit by its level and the words of its label's code."""
    found = []
    for column, weight in zip(labels, costs.weights, strict=True):
        words = [sql.column(code_name(placement.number)) for placement in column.placements]
        charged = cell_cost(column, costs.measure, None)
        query = exp.select(sql.column("level"), *words, charged).from_(column.relation.copy())
        rows = engine.rows(query, f"what labels of column {column.number + 1} cost")
        found.append({tuple(map(int, code)): int(cost) * weight for *code, cost in rows})
    return found


def _cells_query(relation: exp.Table, column: Labels, level: int, measure: CellMeasure) -> exp.Select:
    """Return the query of what cells of a column cost at a level below the root: ``(number, level, total)``."""
    return (
        exp.select(
            sql.named(sql.literal(column.number), "number"),
            sql.named(sql.literal(level), "level"),
            sql.named(_charged(cell_cost(column, measure, labels_alias(column)), "part"), "total"),
        )
        .from_(sql.aliased(relation, "part"))
        .join(sql.aliased(column.relation, labels_alias(column)), on=label_of_class(column, level))
    )


def _lowest_charged(measures: Sequence[CellMeasure]) -> int:
    """Return the lowest level at which some measure has to look up what a label costs."""
    return 0 if any(measure.charges_originals for measure in measures) else 1


def _level_costs_query(labels: Sequence[Labels], measures: Sequence[CellMeasure]) -> exp.Select:
    """Return the query of the labels of every level, and what they cost by each measure: in all, and at most."""
    number, level = sql.column(NUMBER), sql.column("level")
    cells = exp.select(
        number.copy(),
        level.copy(),
        sql.column(N),
        *(sql.named(_cost_by_number(labels, measure), measure.name) for measure in measures),
    ).from_(labels[0].facts.copy(), copy=False)
    has_rows = sql.column(N) > 0
    charged = [
        part
        for measure in measures
        for part in (
            _charged(sql.column(measure.name)),
            sql.where(exp.Max(this=sql.column(measure.name)), has_rows.copy()),
        )
    ]
    labelled = sql.where(sql.count_rows(), has_rows)
    return (
        exp.select(number, level.copy(), labelled, *charged)
        .from_(cells.subquery("cells", copy=False), copy=False)
        .group_by(number.copy(), level.copy(), copy=False)
    )


def _charged(cost: exp.Expr, relation: str | None = None) -> exp.Expr:
    """Return what cells cost together: the cost of each, for all rows that have it."""
    return exp.Sum(this=exp.Mul(this=sql.column(N, relation), expression=exp.Paren(this=cost)))


def _cost_by_number(labels: Sequence[Labels], measure: CellMeasure, relation: str | None = None) -> exp.Expr:
    """Return the cost of a cell with a label, whichever column it is of."""
    full = _by_number({column.number: sql.literal(measure.full(column)) for column in labels})
    below = _by_number({column.number: measure.cost(column) for column in labels})
    return _cost_with_root(full, below, relation)


def _by_number(values: Mapping[int, exp.Expr]) -> exp.Expr:
    """Return the value of the column that a label is of."""
    alike: dict[exp.Expr, list[int]] = {}
    for number, value in values.items():
        alike.setdefault(value, []).append(number)
    *others, last = alike
    case = exp.Case()
    for value in others:
        case.when(sql.column(NUMBER).isin(*alike[value]), value, copy=False)
    return case.else_(last, copy=False) if others else last


def cell_cost(column: Labels, measure: CellMeasure, relation: str | None) -> exp.Expr:
    """Return the cost of a cell with a label, over the columns of the labels relation."""
    return _cost_with_root(sql.literal(measure.full(column)), measure.cost(column), relation)


def _cost_with_root(full: exp.Expr, below: exp.Expr, relation: str | None) -> exp.Expr:
    case = exp.Case().when(sql.column("at_root"), full, copy=False).else_(below, copy=False)
    return case if relation is None else sql.qualified(case, relation)
