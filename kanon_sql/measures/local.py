"""All measures of a local recoding, from the frequency set with the step of each tuple."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import key_name, mask_name
from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import coded_columns, coded_members
from kanon_sql.measures.boxes import BoxMeasures, box_measures
from kanon_sql.measures.costs import costs_of_classes
from kanon_sql.measures.labels import LABEL, label_of_step, labels_alias, written_labels_query
from kanon_sql.measures.summary import ClassCounts, all_measures, count_classes, count_written_classes
from kanon_sql.models.counted import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.recoding import Local
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel

STEP = "step"
"""Column of an assigned frequency set: the number of the step, from 1, at which a tuple is published."""


def measure_local(
    frequency: FrequencySet,
    relation: exp.Table,
    recoding: Local,
    models: Sequence[PrivacyModel],
    hierarchies: Sequence[Hierarchy],
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
        hierarchies: of each quasi-identifier.
        labels: the labels of each quasi-identifier.
        costs: what each measure that is a mean over cells charges.
        k: the class size in whose units the average is given.
    """
    if not recoding.steps:
        counts = ClassCounts(0, 0, 0, None, frequency.rows, (None,) * len(models), None)
        values = {cost.measure.name: cost.value(frequency.rows * sum(cost.full)) for cost in costs}
        return all_measures(values, counts, BoxMeasures(None, None), None, frequency.rows, k), counts
    engine = frequency.engine
    # 1. The classes, from which everything else is measured.
    classes = _make_classes(frequency, relation, recoding, models)
    written, own = _written(frequency, classes, recoding, labels, hierarchies)
    counts = count_written_classes(frequency, classes, models, written, _assigned(frequency, relation, recoding), own)
    # 2. The measures.
    labelled = _labelled(classes, labels)
    totals = costs_of_classes(engine, labelled, labels, costs, counts.suppressed)
    values = {cost.measure.name: cost.value(total) for cost, total in zip(costs, totals, strict=True)}
    boxes = box_measures(frequency, labelled, labels, counts.suppressed)
    engine.run(sql.drop(classes), "drop the classes of the local recoding")
    return all_measures(values, counts, boxes, None, frequency.rows, k), counts


def local_cost(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, labels: Sequence[Labels], costs: Costs
) -> int:
    """Return what a local recoding with one step at least costs by one measure, in the measure's common unit."""
    engine = frequency.engine
    classes = _make_classes(frequency, relation, recoding, [])
    suppressed = count_classes(frequency, classes, []).suppressed
    (total,) = costs_of_classes(engine, _labelled(classes, labels), labels, [costs], suppressed)
    engine.run(sql.drop(classes), "drop the classes of the local recoding")
    return total


def _make_classes(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, models: Sequence[PrivacyModel]
) -> exp.Table:
    """Make a table of the published classes, and return it."""
    classes = frequency.engine.temporary_name("kanon_classes")
    query = classes_of_steps(frequency, relation, recoding, models)
    frequency.engine.run(sql.create_table(classes, query, temporary=True), "classes of the local recoding")
    return classes


def _labelled(classes: exp.Table, labels: Sequence[Labels]) -> exp.Select:
    """Return the classes, each with its labels: those of the levels that its step has. Nothing is selected yet."""
    query = exp.select().from_(sql.aliased(classes, "classes"))
    for column in labels:
        condition = label_of_step(column, sql.column(_level_name(column.number), "classes"))
        query = query.join(sql.aliased(column.relation, labels_alias(column)), on=condition, copy=False)
    return query


def classes_of_steps(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, models: Sequence[PrivacyModel]
) -> exp.Select:
    """Return the query of the published classes, with the levels of their step: those of a step share masked keys."""
    columns = range(len(recoding.steps[0]))
    levels = [sql.named(sql.column(_level_name(column), "steps"), _level_name(column)) for column in columns]
    named = [sql.named(key, name) for name, key in _class_of_member(frequency).items()]
    members = coded_members(_assigned(frequency, relation, recoding), [*named, *levels])
    return measured_query(members, models, coded_columns(models, kept=True))


def _assigned(frequency: FrequencySet, relation: exp.Table, recoding: Local) -> exp.Select:
    """Return the published tuples as ``part``, each with the masks and levels of its step. Nothing is selected yet."""
    masks = [mask_name(key) for key in range(frequency.keys)]
    names = [STEP, *masks, *map(_level_name, range(len(recoding.steps[0])))]
    rows = [(number, *frequency.masks(node), *node) for number, node in enumerate(recoding.steps, start=1)]
    same_step = exp.EQ(this=sql.column(STEP, "part"), expression=sql.column(STEP, "steps"))
    return exp.select().from_(sql.aliased(relation, "part")).join(sql.values("steps", names, rows), on=same_step)


def _class_of_member(frequency: FrequencySet) -> dict[str, exp.Expr]:
    """Return what identifies the class of an assigned tuple, by name: its step, and its keys under the step's masks."""
    masked = {
        key_name(key): exp.BitwiseAnd(
            this=sql.column(key_name(key), "part"), expression=sql.column(mask_name(key), "steps")
        )
        for key in range(frequency.keys)
    }
    return {STEP: sql.column(STEP, "part"), **masked}


def _written(
    frequency: FrequencySet,
    classes: exp.Table,
    recoding: Local,
    labels: Sequence[Labels],
    hierarchies: Sequence[Hierarchy],
) -> tuple[exp.Select, dict[str, exp.Expr]]:
    """Return the query of how classes are written, and what identifies the class of a member by its name there."""
    own = {f"own_{name}": key for name, key in _class_of_member(frequency).items()}
    query = exp.select(*(sql.named(sql.column(name.removeprefix("own_"), "classes"), name) for name in own))
    query = query.from_(sql.aliased(classes, "classes"))
    for column, hierarchy in zip(labels, hierarchies, strict=True):
        alias = f"written_{column.number + 1}"
        texts = written_labels_query(column, hierarchy, recoding.levels_of(column.number))
        condition = label_of_step(column, sql.column(_level_name(column.number), "classes"), alias)
        query = query.join(texts.subquery(alias), on=condition)
        query = query.select(sql.named(sql.column(LABEL, alias), f"label_{column.number + 1}"))
    return query, own


def rows_by_step(relation: exp.Table) -> exp.Select:
    """Return the query of the rows of each step; of NULL, those that are suppressed."""
    return exp.select(STEP, sql.sum_of(sql.column(N))).from_(relation.copy()).group_by(STEP)


def _level_name(column: int) -> str:
    return f"level_{column + 1}"
