"""All measures of a recoding, from its classes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import roll_up_query
from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import classes_query, coded_columns, coded_members, is_published
from kanon_sql.measures.average_class_size import average_class_size, average_rows
from kanon_sql.measures.boxes import box_measures
from kanon_sql.measures.costs import hidden_costs
from kanon_sql.measures.discernibility import discernibility
from kanon_sql.measures.labels import label_of_class, labels_alias
from kanon_sql.models.counted import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Node
    from kanon_sql.measures.boxes import BoxMeasures
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel


@dataclass(frozen=True)
class ClassCounts:
    """Sizes of the classes of a node.

    Attributes:
        published: classes that satisfy all models.
        rows: rows in them.
        squares: the sum of the squares of their sizes.
        smallest: rows of the smallest of them; None if there is none.
        suppressed: rows in the other classes.
        worst: for each model, the measure of the worst published class; None if there is none.
        labels: for each column, how many labels of its level the table has; of
            a table in parts, how many are written; None for a local recoding.
    """

    published: int
    rows: int
    squares: int
    smallest: int | None
    suppressed: int
    worst: tuple[int | float | None, ...]
    labels: tuple[int, ...] | None


def measure_node(
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
    row = engine.row(class_counts_query(frequency, relation, node, models), "sizes of the classes")
    labelled = tuple(column[level] for column, level in zip(costs[0].labels, node, strict=True))
    published, rows, squares, smallest, suppressed, *worst = row
    counts = ClassCounts(
        published, int(rows or 0), int(squares or 0), smallest, int(suppressed or 0), tuple(worst), labelled
    )
    hidden = hidden_costs(frequency, relation, node, models, labels, costs)
    boxes = box_measures(frequency, _labelled(frequency, relation, node, models, labels), labels, counts.suppressed)
    engine.run(sql.drop(relation), "drop the classes of the release")
    values: dict[str, float | None] = {
        cost.measure.name: cost.value(cost.with_suppression(node, counts.suppressed, charged))
        for cost, charged in zip(costs, hidden, strict=True)
    }
    return all_measures(values, counts, boxes, distortion(node, labels), frequency.rows, k), counts


def _labelled(
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


def count_classes(frequency: FrequencySet, classes: exp.Table, models: Sequence[PrivacyModel]) -> ClassCounts:
    """Return the sizes of classes that stand in a table of their own, all of them published; the rest is suppressed."""
    n = sql.column(N)
    counted = exp.select(
        sql.count_rows(),
        exp.Sum(this=n),
        exp.Sum(this=exp.Mul(this=n.copy(), expression=n.copy())),
        exp.Min(this=n.copy()),
        *(model.worst(sql.column(f"measure_{number}")) for number, model in enumerate(models)),
    ).from_(classes.copy())
    published, rows, squares, smallest, *worst = frequency.engine.row(counted, "sizes of the classes")
    suppressed = frequency.rows - int(rows or 0)
    return ClassCounts(published, int(rows or 0), int(squares or 0), smallest, suppressed, tuple(worst), None)


def count_written_classes(
    frequency: FrequencySet,
    classes: exp.Table,
    models: Sequence[PrivacyModel],
    written: exp.Select,
    members: exp.Select,
    own: Mapping[str, exp.Expr],
) -> ClassCounts:
    """Return the sizes of the classes that a reader of the release counts: those that are written alike are one.

    Labels of different nodes of a hierarchy can be the same text: NULL goes to the root at level 1 already; a value may
    be called like a group.

    Args:
        frequency: the frequency set.
        classes: the classes of the recoding with their measures, in a table of their own.
        models: what every class satisfies.
        written: the query of what identifies each class, and of how its cells are written.
        members: the published rows of the frequency set: a query that selects nothing yet.
        own: what identifies the class of a member, by its name in ``written``.
    """
    engine = frequency.engine
    counts = count_classes(frequency, classes, models)
    # 1. How many classes differ in writing.
    labels = [sql.column(item.alias_or_name) for item in written.selects if item.alias_or_name not in own]
    alike = exp.select(*labels).distinct().from_(written.subquery("written"))
    counted = exp.select(sql.count_rows()).from_(alike.subquery("alike"))
    (different,) = engine.row(counted, "classes as they are written")
    if different == counts.published:
        return counts
    # 2. Those that do not are one: a number for each, and its members measured together.
    numbered = engine.temporary_name("kanon_numbered")
    order = exp.Order(expressions=[exp.Ordered(this=label.copy()) for label in labels])
    number = sql.named(exp.Window(this=exp.DenseRank(expressions=[]), order=order), "class_number")
    query = exp.select(*(sql.column(name) for name in own), number).from_(written.subquery("written"))
    engine.run(sql.create_table(numbered, query, temporary=True), "classes that are written alike are one")
    same = [exp.EQ(this=sql.column(name, "numbered"), expression=key) for name, key in own.items()]
    rows = members.join(sql.aliased(numbered, "numbered"), on=sql.all_of(same))
    together = engine.temporary_name("kanon_together")
    named = sql.named(sql.column("class_number", "numbered"), "class_number")
    measured = measured_query(coded_members(rows, [named]), models, coded_columns(models, kept=True))
    engine.run(sql.create_table(together, measured, temporary=True), "classes as they are written, and their measures")
    counts = count_classes(frequency, together, models)
    for table in (numbered, together):
        engine.run(sql.drop(table), "drop the classes as they are written")
    return counts


def distortion(levels: Sequence[int], labels: Sequence[Labels]) -> float:
    """Return how far up their hierarchies the columns of a full-domain recoding are: 0 to 1, as a mean over columns."""
    shares = [Fraction(level, column.height) for level, column in zip(levels, labels, strict=True)]
    return float(sum(shares, Fraction(0)) / len(shares))


def all_measures(
    cells: Mapping[str, float | None],
    counts: ClassCounts,
    boxes: BoxMeasures,
    distortion: float | None,
    rows: int,
    k: int,
) -> dict[str, float | None]:
    """Return all measures: those over cells, those that the sizes of the classes give, and those that boxes give."""
    return {
        **cells,
        "distortion": distortion,
        "discernibility": discernibility(counts.squares, counts.suppressed, rows),
        "average_class_size": average_class_size(counts.rows, counts.published, k),
        "average_rows_per_class": average_rows(counts.rows, counts.published),
        **boxes.values(),
    }


def class_counts_query(
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
