"""All measures of a table in parts, from the parts and what is published of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.measures.boxes import ambiguity_alone, volume_of
from kanon_sql.measures.costs import costs_of_classes
from kanon_sql.measures.labels import LABEL, labels_alias
from kanon_sql.measures.places import PART, place_name
from kanon_sql.measures.summary import ClassCounts, all_measures, count_written_classes
from kanon_sql.models.counted import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.measures.boxes import BoxMeasures
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel


@dataclass(frozen=True)
class PartTables:
    """A table in parts.

    Attributes:
        parts: ``(part, n, measure_0, ...)``, with the measure of each privacy model.
        cells: for each quasi-identifier, what is published of each part (see ``measures.part_labels``).
        tuples: the tuples of codes as places, each with its part.
        disjoint: whether no combination of values is covered by the labels of two parts.
    """

    parts: exp.Table
    cells: tuple[exp.Table, ...]
    tuples: exp.Table
    disjoint: bool

    @property
    def tables(self) -> tuple[exp.Table, ...]:
        """All of them."""
        return (self.parts, *self.cells, self.tuples)


def measure_partition(
    frequency: FrequencySet,
    tables: PartTables,
    models: Sequence[PrivacyModel],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> tuple[dict[str, float | None], ClassCounts]:
    """Return every measure of a table in parts, by name, and the sizes of its classes.

    Args:
        frequency: the frequency set.
        tables: the parts.
        models: what every part satisfies.
        labels: the labels of each quasi-identifier.
        costs: what each measure that is a mean over cells charges.
        k: the class size in whose units the average is given.
    """
    different = [
        exp.select(sql.named(sql.literal(number), "number"), sql.named(sql.count_rows(), "labels")).from_(
            exp.select(LABEL).distinct().from_(cells.copy()).subquery("written")
        )
        for number, cells in enumerate(tables.cells)
    ]
    labelled = dict(frequency.engine.rows(sql.union_all(different), "how many labels each column has"))
    query = exp.select().from_(sql.aliased(tables.parts, "classes"))
    for column, cells in zip(labels, tables.cells, strict=True):
        same = exp.EQ(this=sql.column(PART, labels_alias(column)), expression=sql.column(PART, "classes"))
        query = query.join(sql.aliased(cells, labels_alias(column)), on=same)
    texts = [sql.named(sql.column(LABEL, labels_alias(column)), f"label_{column.number + 1}") for column in labels]
    written = query.select(sql.named(sql.column(PART, "classes"), "own_part"), *texts)
    members = exp.select().from_(sql.aliased(tables.tuples, "tuples"))
    own = {"own_part": sql.column(PART, "tuples")}
    counts = replace(
        count_written_classes(frequency, tables.parts, models, written, members, own),
        labels=tuple(labelled[number] for number in sorted(labelled)),
    )
    totals = costs_of_classes(frequency.engine, query, labels, costs, counts.suppressed)
    values = {cost.measure.name: cost.value(total) for cost, total in zip(costs, totals, strict=True)}
    boxes = _box_measures(frequency, tables, query, labels)
    return all_measures(values, counts, boxes, None, frequency.rows, k), counts


def _box_measures(
    frequency: FrequencySet, tables: PartTables, labelled: exp.Select, labels: Sequence[Labels]
) -> BoxMeasures:
    """Return ambiguity, and the KL divergence where the boxes of no two parts overlap: each tuple is in one of them."""
    measured = ambiguity_alone(frequency, labelled, labels, 0)
    if frequency.rows == 0 or not tables.disjoint:
        return measured
    # 1. How many combinations of values each part covers.
    volume = sql.named(volume_of(labels), "volume")
    boxes = labelled.select(sql.column(PART, "classes"), sql.column(N, "classes"), volume)
    # 2. Rows of a tuple against those that its box spreads over it.
    own = [PART, *(place_name(column.number) for column in labels)]
    rows = sql.named(sql.sum_of(sql.column(N)), N)
    tuples = exp.select(*own, rows).from_(tables.tuples.copy()).group_by(*own)
    same = exp.EQ(this=sql.column(PART, "boxes"), expression=sql.column(PART, "tuples"))
    n, spread = sql.column(N, "tuples"), sql.column(N, "boxes")
    ratio = exp.Div(this=exp.Mul(this=n, expression=sql.column("volume", "boxes")), expression=spread)
    term = exp.Mul(this=n.copy(), expression=exp.Paren(this=sql.log2(sql.cast(ratio, "DOUBLE"))))
    divergence = exp.select(exp.Sum(this=term)).from_(tuples.subquery("tuples")).join(boxes.subquery("boxes"), on=same)
    (bits,) = frequency.engine.row(divergence, "KL divergence")
    return replace(measured, kl_divergence=max(0.0, float(bits) / frequency.rows))
