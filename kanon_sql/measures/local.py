"""All measures of a local recoding, from the frequency set with the step of each tuple."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.frequency import N, key_name, masks_of
from kanon_sql.measures.boxes import BoxMeasures, box_columns, box_measures
from kanon_sql.measures.costs import cells_query, levels_charged
from kanon_sql.measures.labels import label_of_step, labels_alias
from kanon_sql.measures.summary import ClassCounts, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.frequency import FrequencySet
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.recoding import Local

STEP = "step"
"""Column of an assigned frequency set: the number of the step, from 1, at which a tuple is published."""


def measure_local(
    frequency: FrequencySet,
    relation: exp.Table,
    recoding: Local,
    models: Sequence[PrivacyModel],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> tuple[dict[str, float | None], ClassCounts]:
    """Return every measure of a local recoding, by name, and the sizes of its classes.

    Args:
        frequency: the frequency set.
        relation: its tuples with their step; NULL is suppressed.
        recoding: the node of each step.
        models: what a published class satisfies.
        labels: the labels of each quasi-identifier.
        costs: what each measure that is a mean over cells charges.
        k: the class size in whose units the average is given.
    """
    engine = frequency.engine
    counts = ClassCounts(0, 0, 0, None, frequency.rows, (None,) * len(models), None)
    if recoding.steps:
        row = engine.row(class_counts_query(frequency, relation, recoding, models), "sizes of the classes")
        published, rows, squares, smallest, *worst = row
        counts = ClassCounts(
            published, int(rows or 0), int(squares or 0), smallest, frequency.rows - int(rows or 0), tuple(worst), None
        )
    totals = local_costs(frequency, relation, recoding, labels, costs)
    values = {cost.measure.name: cost.value(total) for cost, total in zip(costs, totals, strict=True)}
    boxes = BoxMeasures(None, None)
    if recoding.steps:
        boxes = box_measures(frequency, boxes_query(frequency, relation, recoding, labels), labels, counts.suppressed)
    return values_of(values, counts, boxes, None, frequency.rows, k), counts


def local_costs(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, labels: Sequence[Labels], costs: Sequence[Costs]
) -> list[int]:
    """Return what a local recoding costs by each measure, in the measure's common unit."""
    engine = frequency.engine
    measures = [cost.measure for cost in costs]
    # 1. Cells below the root: each column and level once, over the rows of the steps that have it.
    queries = []
    for column in labels:
        for level in levels_charged(column, measures):
            numbers = [n for n, node in enumerate(recoding.steps, start=1) if node[column.number] == level]
            if numbers:
                condition = sql.column(STEP, "part").isin(*numbers)
                queries.append(cells_query(relation, column, level, measures, condition))
    answers = engine.rows(sql.union_all(queries), "costs of the local recoding") if queries else []
    # 2. Cells at the root, those of suppressed rows among them.
    by_step = dict(engine.rows(rows_by_step(relation), "rows of each step"))
    totals = []
    for place, cost in enumerate(costs):
        below = sum(int(answer[2 + place] or 0) * cost.weights[answer[0]] for answer in answers)
        at_root = 0
        for column in labels:
            rows = sum(
                int(number)
                for step, number in by_step.items()
                if step is None or recoding.steps[step - 1][column.number] == column.height
            )
            at_root += rows * cost.full[column.number]
        totals.append(below + at_root)
    return totals


def boxes_query(frequency: FrequencySet, relation: exp.Table, recoding: Local, labels: Sequence[Labels]) -> exp.Select:
    """Return the query of the boxes of the published classes (see ``measures.boxes``)."""
    names = [f"level_{column.number + 1}" for column in labels]
    rows = [
        exp.Tuple(expressions=[sql.literal(number), *(sql.literal(level) for level in node)])
        for number, node in enumerate(recoding.steps, start=1)
    ]
    alias = exp.TableAlias(this=sql.identifier("steps"), columns=[sql.identifier(name) for name in (STEP, *names)])
    same_step = exp.EQ(this=sql.column(STEP, "classes"), expression=sql.column(STEP, "steps"))
    classes = classes_of_steps(frequency, relation, recoding, []).subquery("classes")
    query = exp.select(*box_columns(frequency, labels), sql.column(N, "classes")).from_(classes)
    query = query.join(exp.Values(expressions=rows, alias=alias), on=same_step)
    for column, name in zip(labels, names, strict=True):
        condition = label_of_step(column, sql.column(name, "steps"))
        query = query.join(sql.aliased(column.relation, labels_alias(column)), on=condition)
    return query


def classes_of_steps(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, models: Sequence[PrivacyModel]
) -> exp.Select:
    """Return the query of the published classes: those of a step share its masked keys."""
    keys = range(frequency.keys)
    masks = masks_of([(number, frequency.masks(node)) for number, node in enumerate(recoding.steps, start=1)], STEP)
    masked = [
        exp.BitwiseAnd(this=sql.column(key_name(key), "part"), expression=sql.column(f"mask_{key}", "masks"))
        for key in keys
    ]
    measures = [sql.named(model.coded_measure(), f"measure_{number}") for number, model in enumerate(models)]
    step = sql.column(STEP, "part")
    named = [sql.named(key.copy(), key_name(number)) for number, key in enumerate(masked)]
    return (
        exp.select(step, *named, sql.named(sql.sum_of(sql.column(N)), N), *measures)
        .from_(sql.aliased(relation, "part"))
        .join(masks, on=exp.EQ(this=step.copy(), expression=sql.column(STEP, "masks")))
        .group_by(step.copy(), *masked)
    )


def class_counts_query(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, models: Sequence[PrivacyModel]
) -> exp.Select:
    """Return the query of the sizes of the published classes: those of a step share its masked keys."""
    classes = classes_of_steps(frequency, relation, recoding, models)
    n = sql.column(N)
    return exp.select(
        sql.count_rows(),
        exp.Sum(this=n),
        exp.Sum(this=exp.Mul(this=n.copy(), expression=n.copy())),
        exp.Min(this=n.copy()),
        *(model.worst(sql.column(f"measure_{number}")) for number, model in enumerate(models)),
    ).from_(classes.subquery("classes"))


def rows_by_step(relation: exp.Table) -> exp.Select:
    """Return the query of the rows of each step; of NULL, those that are suppressed."""
    return exp.select(STEP, sql.sum_of(sql.column(N))).from_(relation.copy()).group_by(STEP)
