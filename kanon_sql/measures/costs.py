"""Costs of cells, added up: for each level of each column once, for the suppressed rows of a node when needed.

A lattice node's total cost is a sum over columns: the loss of all rows at the column's level, plus the extra loss of
suppressed rows (their cells cost ``full`` instead). The first part depends on the level alone. Weights of columns
multiply the terms (``Costs.weighted``). Bounds and proofs use the same terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from operator import mul
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.classes.frequency import key_name, mask_name
from kanon_sql.classes.of_node import classes_query, failing_people, is_published
from kanon_sql.engine.progress import check_deadline
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.labels import NUMBER, labels_alias
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Node
    from kanon_sql.classes.packing import Packing
    from kanon_sql.engine.base import Engine
    from kanon_sql.measures.cell_measures import CellMeasure
    from kanon_sql.measures.class_measures import ClassMeasure, Cost
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel

    _At = tuple[Labels, int | exp.Expr, Sequence[int | exp.Expr]]


@dataclass(frozen=True)
class Costs:
    """The costs of the levels of each column under a measure, in integers of one common unit."""

    measure: CellMeasure
    rows: int
    totals: tuple[tuple[int, ...], ...]  # for each column and level, the cost of all rows at that level
    largest: tuple[tuple[int, ...], ...]  # for each column and level, the largest cost of a label that has rows
    labels: tuple[tuple[int, ...], ...]  # for each column and level, the number of labels
    full: tuple[int, ...]  # for each column, the cost of a cell at the root
    units: tuple[int, ...]  # for each column, common units in one unit of the measure
    unit: int  # common units in a mean cost of 1 per cell
    weights: tuple[int, ...]

    def generalization(self, node: Node) -> int:
        """Return the cost of all rows at a node, before any is suppressed."""
        check_deadline()  # here, because searches order many nodes by it, and each takes a while with many columns
        return sum(totals[level] for totals, level in zip(self.totals, node, strict=True))

    def with_suppression(self, node: Node, suppressed: int, hidden: Sequence[int]) -> int:
        """Return the cost of a node. ``hidden``: the cost by column of its suppressed rows if published."""
        return self.generalization(node) + suppressed * sum(self.full) - sum(hidden)

    def least_of_column(self, column: int, level: int, suppressed: int) -> int:
        """Return the minimum cost of a column at a level with ``suppressed`` rows, without their own cost."""
        total = self.totals[column][level]
        return total - min(suppressed * self.largest[column][level], total)

    def most_hidden(self, node: Node, suppressed: int) -> list[int]:
        """Return, for each column, the maximum cost of any ``suppressed`` rows at a node."""
        return [
            min(suppressed * largest[level], totals[level])
            for totals, largest, level in zip(self.totals, self.largest, node, strict=True)
        ]

    def weighted(self, weights: Sequence[int]) -> Costs:
        """Return the costs with each column multiplied by its weight."""

        def times(charged: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(cost * weight for cost, weight in zip(charged, weights, strict=True))

        def of_levels(charged: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
            return tuple(tuple(cost * weight for cost in own) for own, weight in zip(charged, weights, strict=True))

        totals, largest = of_levels(self.totals), of_levels(self.largest)
        full, units, own = times(self.full), times(self.units), times(self.weights)
        return replace(self, totals=totals, largest=largest, full=full, units=units, weights=own)

    def of_columns(self, columns: Container[int]) -> Costs:
        """Return the costs of the cells of some columns; all others are free."""
        return self.weighted([int(column in columns) for column in range(len(self.full))])

    @property
    def original(self) -> int:
        return sum(totals[0] for totals in self.totals)

    def mean(self, cost: Cost) -> Fraction:
        """Return a cost as a mean per cell: 0 for the original table, 1 if every cell is lost."""
        everything = self.rows * sum(self.weights) * self.unit - self.original
        return Fraction(cost - self.original, everything) if everything else Fraction(0)

    def value(self, cost: Cost) -> float:
        return self.measure.value(self.mean(cost))

    def weighted_value(self, charged: Sequence[int], weights: Sequence[int]) -> float:
        """Return the measure of the costs of each column, under weights."""
        return self.weighted(weights).value(sum(map(mul, charged, weights)))

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
    """The quantity to minimize."""

    # costs of cells: by the minimized measure; or by loss, which then only breaks ties in the order of a search and
    # does not rank its result
    costs: Costs
    of_classes: ClassMeasure | None = None  # the minimized measure, if it depends on the sizes of classes

    @property
    def name(self) -> str:
        return (self.of_classes or self.costs.measure).name

    def value(self, cost: Cost) -> float:
        return self.costs.value(cost) if self.of_classes is None else self.of_classes.value(cost)

    @property
    def least(self) -> int:
        """A lower bound of all costs: that of the original table, if cells are charged."""
        return self.costs.original if self.of_classes is None else 0


def level_costs(
    engine: Engine, labels: Sequence[Labels], measures: Sequence[CellMeasure], rows: int
) -> tuple[Costs, ...]:
    """Return the costs of the levels of each column under the measures, by one statement."""
    has_rows = sql.column(N) > 0
    cost_of = {measure: sql.column(measure.name) for measure in measures}
    query = sql.query(
        "measures/levels",
        values={
            "costs": [sql.named(_cost_by_number(labels, measure), measure.name) for measure in measures],
            "charged": [
                part for cost in cost_of.values() for part in (_charged(cost), sql.where(exp.Max(this=cost), has_rows))
            ],
        },
        relations={"labels": labels[0].facts},
    )
    found = {(number, level): rest for number, level, *rest in engine.rows(query, "costs of every level")}
    return tuple(_costs_of(place, measure, labels, found, rows) for place, measure in enumerate(measures))


def _costs_of(
    place: int,
    measure: CellMeasure,
    labels: Sequence[Labels],
    found: Mapping[tuple[int, int], Sequence[Any]],
    rows: int,
) -> Costs:
    """Return the costs under a measure. ``found``: the number of labels of a level, and the costs by each measure."""
    full = [measure.full(column) for column in labels]
    unit = lcm(*(cost for cost in full if cost))
    units = tuple(unit // cost if cost else 0 for cost in full)
    nothing = (0,) * (2 * place + 3)
    totals, largest, labelled = [], [], []
    for column, own in zip(labels, units, strict=True):
        levels = [found.get((column.number, level), nothing) for level in range(column.height + 1)]
        totals.append(tuple(int(level[2 * place + 1] or 0) * own for level in levels))
        largest.append(tuple(int(level[2 * place + 2] or 0) * own for level in levels))
        labelled.append(tuple(level[0] for level in levels))
    common = tuple(map(mul, full, units))
    return Costs(measure, rows, tuple(totals), tuple(largest), tuple(labelled), common, units, unit, (1,) * len(labels))


def hidden_costs(  # noqa: PLR0913 - the classes, their models, the costs
    frequency: FrequencySet,
    relation: exp.Table,
    node: Node,
    models: Sequence[PrivacyModel],
    labels: Sequence[Labels],
    costs: Costs,
    packing: Packing | None,
    statements: dict[tuple[Any, ...], exp.Query],
    *,
    merged: bool,
    few_apart: bool,
) -> list[int]:
    """Return the cost that suppressed rows would have in each column, in the common unit.

    Original values cost nothing by most measures, and are not looked up then.

    ``relation``: the relation for counting the classes of the node; ``models``: the models that suppress them;
    ``packing``: positions of counts in the relation, if they are stored side by side; ``statements``: keeps statements
    for later nodes: they differ by levels and masks, which are bound; ``merged``: whether the relation is the
    frequency set of this very node; ``few_apart``: whether classes are tested by ``people_query``.
    """
    lowest = 0 if costs.measure.charges_originals else 1
    charged = {number for number, unit in enumerate(costs.units) if unit and node[number] >= lowest}
    if not charged:
        return [0] * len(labels)
    masks = frequency.masks(node)
    bound = {mask_name(key): mask for key, mask in enumerate(masks) if mask}
    at: list[_At] = []
    for column in labels:
        is_charged, level = column.number in charged, node[column.number]
        own = {
            f"mask_of_{column.number}_{placement.number}": placement.word.mask(level) if is_charged else 0
            for placement in column.placements
        }
        level_name = f"level_of_{column.number}"
        bound |= {level_name: level if is_charged else _NO_LEVEL, **own}
        at.append((column, exp.Placeholder(this=level_name), [exp.Placeholder(this=name) for name in own]))
    shape = ("hidden costs", relation.name, merged, few_apart, *(mask != 0 for mask in masks))
    if shape not in statements:
        bound_masks = [exp.Placeholder(this=mask_name(key)) if mask else 0 for key, mask in enumerate(masks)]
        if few_apart:
            (k,) = {int(model.required) for model in models}
            classes = failing_people(relation, bound_masks, k)
        else:
            query = classes_query(relation, bound_masks, models, packing=packing, merged=merged)
            classes = [("classes", query)]
        fails = exp.true() if few_apart else sql.negated(is_published(models))
        keys = [key for key, mask in enumerate(masks) if mask] or [0]
        statements[shape] = _cells_query(classes, fails, keys, at, labels, costs.measure)
    answers = frequency.engine.rows(statements[shape], f"what suppressed rows lose at {node}", bound)
    found = {number: int(total) for number, _, total in answers}
    return [found.get(number, 0) * unit for number, unit in enumerate(costs.units)]


def costs_in(frequency: FrequencySet, relation: exp.Table, costs: Costs, labels: Sequence[Labels]) -> list[list[int]]:
    """Return, for each column and level, the cost of the rows of a part of the frequency set, in the common unit."""
    at: list[_At] = [
        (column, level, [placement.word.mask(level) for placement in column.placements])
        for column in labels
        for level in range(column.height + 1)
    ]
    steps = [("classes", exp.select("*").from_(relation.copy()))]
    query = _cells_query(steps, exp.true(), range(frequency.keys), at, labels, costs.measure)
    found = {tuple(place): int(total) for *place, total in frequency.engine.rows(query, "costs of the sample")}
    return [
        [found.get((column.number, level), 0) * unit for level in range(column.height + 1)]
        for column, unit in zip(labels, costs.units, strict=True)
    ]


_NO_LEVEL = -1
"""The level of columns without lookups."""


def _cells_query(
    classes: sql.Steps,
    counted: exp.Expr,
    keys: Sequence[int],
    at: Sequence[_At],
    labels: Sequence[Labels],
    measure: CellMeasure,
) -> exp.Query:
    """Return the costs of cells of classes: ``(number, level, total)`` of columns that have some.

    ``classes`` are the steps that lead to classes with these ``keys``; only the ``counted`` ones are charged; ``at``
    has, for each column and level where labels are looked up, the mask of each word of the codes.
    """
    words = range(max(len(column.placements) for column in labels))
    in_levels = [name for word in words for name in (f"key_{word}", f"shift_{word}", mask_name(word))]
    rows: list[list[sql.Value | exp.Expr]] = []
    for column, level, masks in at:
        row: list[sql.Value | exp.Expr] = [column.number, level]
        for placement, mask in zip(column.placements, masks, strict=True):
            key = placement.key if placement.key in keys else keys[0]  # its mask clears all bits
            row += [key, placement.shift, mask]
        shorter = len(words) - len(column.placements)  # the codes of others have more words
        rows.append([*row, *[keys[0], 0, 0] * shorter])
    return sql.query(
        "measures/cells",
        values={
            "charged": _charged(_cost_by_number(labels, measure, "labels"), "cells"),
            "codes": [sql.named(_code_of_class(keys, word), code_name(word)) for word in words],
            "counted": counted,
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
    """Return a word of the code of a class in a column, from the keys of the class and the position of the word."""
    key: exp.Expr = sql.column(key_name(keys[0]), "classes")
    if len(keys) > 1:
        key = exp.Case(this=sql.column(f"key_{word}", "levels"))
        for number in keys:
            key.when(sql.literal(number), sql.column(key_name(number), "classes"), copy=False)
    shifted = exp.Paren(this=exp.BitwiseRightShift(this=key, expression=sql.column(f"shift_{word}", "levels")))
    return exp.BitwiseAnd(this=shifted, expression=sql.column(mask_name(word), "levels"))


def costs_of_columns(
    engine: Engine,
    labelled: exp.Select,
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    suppressed: int,
    *beside: exp.Expr,
) -> tuple[list[list[int]], list[Any]]:
    """Return the costs of cells by each measure and column, in its common unit, and the values of ``beside``.

    ``labelled`` is the published classes, as ``classes``, joined to their labels: a query that selects nothing yet. It
    must not be used again.
    """
    charged = [
        _charged(cell_cost(column, cost.measure, labels_alias(column)), "classes")
        for cost in costs
        for column in labels
    ]
    found = engine.row(labelled.select(*charged, *beside, copy=False), "what the cells of the classes cost")
    answers = iter(found)
    return [
        [int(next(answers) or 0) * unit + suppressed * full for unit, full in zip(cost.units, cost.full, strict=True)]
        for cost in costs
    ], list(answers)


def costs_of_labels(engine: Engine, labels: Sequence[Labels], costs: Costs) -> list[dict[tuple[int, ...], int]]:
    """Return, for each column, the cost of a row in the common unit by its level and the words of its label's code."""
    found = []
    for column, unit in zip(labels, costs.units, strict=True):
        words = [sql.column(code_name(placement.number)) for placement in column.placements]
        charged = cell_cost(column, costs.measure, None)
        query = exp.select(sql.column("level"), *words, charged).from_(column.relation.copy())
        rows = engine.rows(query, f"what labels of column {column.number + 1} cost")
        found.append({tuple(map(int, code)): int(cost) * unit for *code, cost in rows})
    return found


def _charged(cost: exp.Expr, relation: str | None = None) -> exp.Expr:
    """Return the total cost of cells: the cost of each, for all rows that have it."""
    return exp.Sum(this=exp.Mul(this=sql.column(N, relation), expression=exp.Paren(this=cost)))


def _cost_by_number(labels: Sequence[Labels], measure: CellMeasure, relation: str | None = None) -> exp.Expr:
    """Return the cost of a cell with a label of any column."""
    full = _by_number({column.number: sql.literal(measure.full(column)) for column in labels})
    below = _by_number({column.number: measure.cost(column) for column in labels})
    return _cost_with_root(full, below, relation)


def _by_number(values: Mapping[int, exp.Expr]) -> exp.Expr:
    """Return the value for the column of a label."""
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
