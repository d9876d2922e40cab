"""All measures of any recoding: of a node from its classes, of a table in parts from what is published of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import roll_up_query
from kanon_sql.classes.of_node import classes_query, is_published
from kanon_sql.classes.recoding import FullDomain, Local
from kanon_sql.measures.boxes import ambiguity_alone, box_measures, volume_of
from kanon_sql.measures.costs import costs_of_classes, hidden_costs
from kanon_sql.measures.labels import LABEL, label_of_class, labels_alias
from kanon_sql.measures.local import measure_local
from kanon_sql.measures.places import PART, place_name
from kanon_sql.measures.summary import ClassCounts, all_measures, count_written_classes
from kanon_sql.models.counted import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Node
    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
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


def measure_recoding(
    frequency: FrequencySet,
    classes: exp.Table | PartTables,
    recoding: Recoding,
    models: Sequence[PrivacyModel],
    hierarchies: Sequence[Hierarchy],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> tuple[dict[str, float | None], ClassCounts]:
    """Return every measure of a recoding, by name, and the sizes of its classes.

    Args:
        frequency: the frequency set.
        classes: for a node, the relation to count its classes from; for a local recoding, the tuples with their step;
            for a multidimensional one, its parts.
        recoding: the recoding.
        models: what a published class must satisfy.
        hierarchies: of each quasi-identifier.
        labels: the labels of each quasi-identifier.
        costs: what each measure that is a mean over cells charges.
        k: the class size in whose units the average is given.
    """
    if isinstance(classes, PartTables):
        return _measure_partition(frequency, classes, models, labels, costs, k)
    match recoding:
        case FullDomain(node):
            return _measure_node(frequency, classes, node, models, labels, costs, k)
        case Local():
            return measure_local(frequency, classes, recoding, models, hierarchies, labels, costs, k)
        case _:
            raise TypeError("A multidimensional recoding is measured from its parts")


def _measure_node(
    frequency: FrequencySet,
    source: exp.Table,
    node: Node,
    models: Sequence[PrivacyModel],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> tuple[dict[str, float | None], ClassCounts]:
    """Return every measure of a node, by name, and the sizes of its classes.

    Args:
        frequency: the frequency set.
        source: it, or a relation rolled up from it to a node at or below this one; one roll-up of it serves all
            measures.
        node: the node.
        models: what a published class must satisfy.
        labels: the labels of each quasi-identifier.
        costs: what each measure that is a mean over cells charges.
        k: the class size in whose units the average is given.
    """
    engine = frequency.engine
    relation = engine.temporary_name("kanon_classes")
    roll_up = roll_up_query(frequency, source, node)
    engine.run(sql.create_table(relation, roll_up, temporary=True), f"classes of the release, {node}")
    row = engine.row(_class_counts_query(frequency, relation, node, models), "sizes of the classes")
    labelled = tuple(column[level] for column, level in zip(costs[0].labels, node, strict=True))
    published, rows, squares, smallest, suppressed, *worst = row
    counts = ClassCounts(
        published, int(rows or 0), int(squares or 0), smallest, int(suppressed or 0), tuple(worst), labelled
    )
    hidden = hidden_costs(frequency, relation, node, models, labels, costs)
    boxes = box_measures(
        frequency, _labelled_classes(frequency, relation, node, models, labels), labels, counts.suppressed
    )
    engine.run(sql.drop(relation), "drop the classes of the release")
    values: dict[str, float | None] = {
        cost.measure.name: cost.value(cost.with_suppression(node, counts.suppressed, charged))
        for cost, charged in zip(costs, hidden, strict=True)
    }
    return all_measures(values, counts, boxes, distortion(node, labels), frequency.rows, k), counts


def _labelled_classes(
    frequency: FrequencySet, relation: exp.Table, node: Node, models: Sequence[PrivacyModel], labels: Sequence[Labels]
) -> exp.Select:
    """Return the published classes, each with its labels. Nothing is selected yet."""
    classes = classes_query(relation, frequency.masks(node), models).subquery("classes")
    query = exp.select().from_(classes)
    for column, level in zip(labels, node, strict=True):
        query = query.join(
            sql.aliased(column.relation, labels_alias(column)), on=label_of_class(column, level), copy=False
        )
    return query.where(is_published(models))


def _class_counts_query(
    frequency: FrequencySet, relation: exp.Table, node: Node, models: Sequence[PrivacyModel]
) -> exp.Select:
    """Return the query of ``ClassCounts``."""
    classes = classes_query(relation, frequency.masks(node), models).subquery("classes")
    published = is_published(models)
    n = sql.column(N)
    counted = [
        sql.where(sql.count_rows(), published),
        sql.where(exp.Sum(this=n), published.copy()),
        sql.where(exp.Sum(this=exp.Mul(this=n.copy(), expression=n.copy())), published.copy()),
        sql.where(exp.Min(this=n.copy()), published.copy()),
        sql.where(exp.Sum(this=n.copy()), sql.negated(published.copy())),
        *(
            sql.where(model.worst(sql.column(f"measure_{number}")), published.copy())
            for number, model in enumerate(models)
        ),
    ]
    return exp.select(*counted).from_(classes)


def distortion(levels: Sequence[int], labels: Sequence[Labels]) -> float:
    """Return how far up their hierarchies the columns of a full-domain recoding are: 0 to 1, as a mean over columns."""
    shares = [Fraction(level, column.height) for level, column in zip(levels, labels, strict=True)]
    return float(sum(shares, Fraction(0)) / len(shares))


def _measure_partition(
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
    boxes = _box_measures_of_parts(frequency, tables, query, labels)
    return all_measures(values, counts, boxes, None, frequency.rows, k), counts


def _box_measures_of_parts(
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
