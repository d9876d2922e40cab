"""Sizes of the classes of a release, and all measures by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import coded_columns, coded_members
from kanon_sql.measures.class_measures import average_class_size, average_rows, discernibility
from kanon_sql.models.counted import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.measures.boxes import BoxMeasures
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
