"""All measures of any recoding: of a node from its classes, of steps and of parts from tables of their classes.

1. The classes, and their sizes as a reader of the release counts them: those that are written alike are one.
2. What cells cost by each measure, of classes by their labels and of suppressed rows (``costs``).
3. What the boxes of the classes say (``boxes``), and what their sizes say (``class_measures``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import key_name, mask_name, roll_up_query
from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import classes_query, coded_columns, coded_members, is_published
from kanon_sql.classes.recoding import FullDomain, Local
from kanon_sql.engine.base import make_table
from kanon_sql.measures.boxes import BoxMeasures, ambiguity_alone, box_measures, volume_of
from kanon_sql.measures.class_measures import average_class_size, average_rows, discernibility
from kanon_sql.measures.costs import costs_of_classes, hidden_costs
from kanon_sql.measures.labels import LABEL, label_of_class, label_of_step, labels_alias, written_labels_query
from kanon_sql.measures.places import PART, place_name
from kanon_sql.models.base import N
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Node
    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel

STEP = "step"
"""Column of an assigned frequency set: the number of the step, from 1, at which a tuple is published."""


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

    ``classes`` are, for a node, the relation to count them from; for a local recoding, the tuples with their step; for
    a multidimensional one, its parts. ``k`` is the class size in whose units the average is given.
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
    """Measure a node from the frequency set, or from what was rolled up from it: one roll-up serves all measures."""
    engine = frequency.engine
    roll_up = roll_up_query(frequency, source, node, people_together=frequency.has_people_once)
    relation = make_table(engine, "kanon_classes", roll_up, f"classes of the release, {node}")
    row = engine.row(_class_counts_query(frequency, relation, node, models), "sizes of the classes")
    labelled = tuple(column[level] for column, level in zip(costs[0].labels, node, strict=True))
    published, rows, squares, smallest, suppressed, *worst = row
    counts = ClassCounts(
        published, int(rows or 0), int(squares or 0), smallest, int(suppressed or 0), tuple(worst), labelled
    )
    hidden = [[0] * len(labels)] * len(costs)
    if counts.suppressed:
        hidden = hidden_costs(frequency, relation, node, models, labels, costs)
    labelled_classes = _labelled_classes(frequency, relation, node, models, labels)
    boxes = box_measures(frequency, labelled_classes, labels, counts.suppressed, node=node)
    engine.run(sql.drop(relation), "drop the classes of the release")
    values: dict[str, float | None] = {
        cost.measure.name: cost.value(cost.with_suppression(node, counts.suppressed, charged))
        for cost, charged in zip(costs, hidden, strict=True)
    }
    return all_measures(values, counts, boxes, distortion(node, labels), frequency.rows, k), counts


def _labelled_classes(
    frequency: FrequencySet, relation: exp.Table, node: Node, models: Sequence[PrivacyModel], labels: Sequence[Labels]
) -> exp.Select:
    """Return the published classes of a node, each with its labels between value and root. Nothing is selected yet."""
    classes = classes_query(relation, frequency.masks(node), models).subquery("classes")
    query = exp.select().from_(classes)
    for column, level in zip(labels, node, strict=True):
        if 0 < level < column.height:
            named = sql.aliased(column.relation, labels_alias(column))
            query = query.join(named, on=label_of_class(column, level), copy=False)
    return query.where(is_published(models))


def _class_counts_query(
    frequency: FrequencySet, relation: exp.Table, node: Node, models: Sequence[PrivacyModel]
) -> exp.Select:
    classes = classes_query(relation, frequency.masks(node), models).subquery("classes")
    published = is_published(models)
    n = sql.column(N)
    counted = [
        sql.where(sql.count_rows(), published),
        sql.where(exp.Sum(this=n), published.copy()),
        sql.where(exp.Sum(this=n * n), published.copy()),
        sql.where(exp.Min(this=n.copy()), published.copy()),
        sql.where(exp.Sum(this=n.copy()), sql.negated(published.copy())),
        *(
            sql.where(model.worst(sql.column(f"measure_{number}")), published.copy())
            for number, model in enumerate(models)
        ),
    ]
    return exp.select(*counted).from_(classes)


def distortion(levels: Sequence[int], labels: Sequence[Labels]) -> float:
    """Return how far up their hierarchies the columns of a node are: 0 to 1, as a mean over columns."""
    shares = [Fraction(level, column.height) for level, column in zip(levels, labels, strict=True)]
    return float(sum(shares, Fraction(0)) / len(shares))


# A local recoding, from the frequency set with the step of each tuple


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
    """Measure a local recoding from ``relation``: the tuples with their step, NULL for those that are suppressed."""
    if not recoding.steps:
        counts = ClassCounts(0, 0, 0, None, frequency.rows, (None,) * len(models), None)
        values = {cost.measure.name: cost.value(frequency.rows * sum(cost.full)) for cost in costs}
        return all_measures(values, counts, BoxMeasures(None, None), None, frequency.rows, k), counts
    engine = frequency.engine
    # 1. The classes, from which everything else is measured.
    known = known_subsets_of(models)
    models = models if known is None else []  # it stands alone, and is no measure of a class
    classes = _make_classes(frequency, relation, recoding, models)
    written, own = _written(frequency, classes, recoding, labels, hierarchies)
    members = _assigned(frequency, relation, recoding)
    counts = _count_written_classes(frequency, classes, models, written, members, own)
    if known is not None:
        counts = replace(counts, worst=(_smallest_by_some(frequency, members, written, own, known.m),))
    # 2. The measures.
    labelled = _labelled_steps(classes, labels)
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
    (total,) = costs_of_classes(engine, _labelled_steps(classes, labels), labels, [costs], suppressed)
    engine.run(sql.drop(classes), "drop the classes of the local recoding")
    return total


def _make_classes(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, models: Sequence[PrivacyModel]
) -> exp.Table:
    # Those of a step share masked keys; all have the levels of their step.
    columns = range(len(recoding.steps[0]))
    levels = [sql.named(sql.column(_level_name(column), "steps"), _level_name(column)) for column in columns]
    named = [sql.named(key, name) for name, key in _class_of_member(frequency).items()]
    members = coded_members(_assigned(frequency, relation, recoding), [*named, *levels])
    query = measured_query(members, models, coded_columns(models, kept=True))
    return make_table(frequency.engine, "kanon_classes", query, "classes of the local recoding")


def _labelled_steps(classes: exp.Table, labels: Sequence[Labels]) -> exp.Select:
    """Return the classes, each with the labels of the levels that its step has. Nothing is selected yet."""
    query = exp.select().from_(sql.aliased(classes, "classes"))
    for column in labels:
        condition = label_of_step(column, sql.column(_level_name(column.number), "classes"))
        query = query.join(sql.aliased(column.relation, labels_alias(column)), on=condition, copy=False)
    return query


def _assigned(frequency: FrequencySet, relation: exp.Table, recoding: Local) -> exp.Select:
    """Return the published tuples as ``part``, each with the masks and levels of its step. Nothing is selected yet."""
    masks = [mask_name(key) for key in range(frequency.keys)]
    names = [STEP, *masks, *map(_level_name, range(len(recoding.steps[0])))]
    rows = [(number, *frequency.masks(node), *node) for number, node in enumerate(recoding.steps, start=1)]
    same_step = sql.column(STEP, "part").eq(sql.column(STEP, "steps"))
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


def _smallest_by_some(
    frequency: FrequencySet, members: exp.Select, written: exp.Select, own: Mapping[str, exp.Expr], m: int
) -> int | None:
    """Return the members of the smallest class by m columns, as they are written; see ``_count_written_classes``."""
    from kanon_sql.classes.known_classes import fetched, shared_members

    labels = [item.alias_or_name for item in written.selects if item.alias_or_name not in own]
    numbers = [sql.named(sql.over(exp.DenseRank(expressions=[]), order=[label]) - 1, label) for label in labels]
    numbered = exp.select(*map(sql.column, own), *numbers).from_(written.subquery("written"))
    same = [exp.EQ(this=sql.column(name, "numbered"), expression=key) for name, key in own.items()]
    rows = members.join(numbered.subquery("numbered"), on=sql.all_of(same))
    codes = [sql.column(label, "numbered") for label in labels]
    title = "classes as they are written, as arrays"
    shared = shared_members(fetched(frequency.engine, rows, codes, title, people=frequency.counts_people), m, 1)
    return int(shared.min()) if len(shared) else None


def rows_by_step(relation: exp.Table) -> exp.Select:
    """Return the query of the rows of each step; step NULL has those that are suppressed."""
    return exp.select(STEP, sql.sum_of(sql.column(N))).from_(relation.copy()).group_by(STEP)


def _level_name(column: int) -> str:
    return f"level_{column + 1}"


# A table in parts


def _measure_partition(
    frequency: FrequencySet,
    tables: PartTables,
    models: Sequence[PrivacyModel],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> tuple[dict[str, float | None], ClassCounts]:
    different = [
        exp.select(sql.named(sql.literal(number), "number"), sql.named(sql.count_rows(), "labels")).from_(
            exp.select(LABEL).distinct().from_(cells.copy()).subquery("written")
        )
        for number, cells in enumerate(tables.cells)
    ]
    labelled = dict(frequency.engine.rows(sql.union_all(different), "how many labels each column has"))
    query = exp.select().from_(sql.aliased(tables.parts, "classes"))
    for column, cells in zip(labels, tables.cells, strict=True):
        same = sql.column(PART, labels_alias(column)).eq(sql.column(PART, "classes"))
        query = query.join(sql.aliased(cells, labels_alias(column)), on=same, copy=False)
    texts = [sql.named(sql.column(LABEL, labels_alias(column)), f"label_{column.number + 1}") for column in labels]
    written = query.select(sql.named(sql.column(PART, "classes"), "own_part"), *texts)
    members = exp.select().from_(sql.aliased(tables.tuples, "tuples"))
    own = {"own_part": sql.column(PART, "tuples")}
    counts = replace(
        _count_written_classes(frequency, tables.parts, models, written, members, own),
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
    same = sql.column(PART, "boxes").eq(sql.column(PART, "tuples"))
    n, spread = sql.column(N, "tuples"), sql.column(N, "boxes")
    ratio = exp.Div(this=n * sql.column("volume", "boxes"), expression=spread)
    term = n * exp.Paren(this=sql.log2(sql.cast(ratio, "DOUBLE")))
    divergence = exp.select(exp.Sum(this=term)).from_(tuples.subquery("tuples")).join(boxes.subquery("boxes"), on=same)
    (bits,) = frequency.engine.row(divergence, "KL divergence")
    return replace(measured, kl_divergence=max(0.0, float(bits) / frequency.rows))


# Sizes of classes, and all measures by name


def count_classes(frequency: FrequencySet, classes: exp.Table, models: Sequence[PrivacyModel]) -> ClassCounts:
    """Return the sizes of classes that stand in a table of their own, all of them published; the rest is suppressed."""
    n = sql.column(N)
    counted = exp.select(
        sql.count_rows(),
        exp.Sum(this=n),
        exp.Sum(this=n * n),
        exp.Min(this=n.copy()),
        *(model.worst(sql.column(f"measure_{number}")) for number, model in enumerate(models)),
    ).from_(classes.copy())
    published, rows, squares, smallest, *worst = frequency.engine.row(counted, "sizes of the classes")
    suppressed = frequency.rows - int(rows or 0)
    return ClassCounts(published, int(rows or 0), int(squares or 0), smallest, suppressed, tuple(worst), None)


def _count_written_classes(
    frequency: FrequencySet,
    classes: exp.Table,
    models: Sequence[PrivacyModel],
    written: exp.Select,
    members: exp.Select,
    own: Mapping[str, exp.Expr],
) -> ClassCounts:
    """Return the sizes of the classes that a reader of the release counts: those that are written alike are one.

    Labels of different nodes of a hierarchy can be the same text: NULL goes to the root at level 1 already; a value may
    be called like a group. ``classes`` is the table of the recoding's classes with their measures; ``written`` the
    query of what identifies each, and of how its cells are written; ``members`` the published rows of the frequency
    set, a query that selects nothing yet; ``own`` what identifies the class of a member, by its name in ``written``.
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
    number = sql.named(sql.over(exp.DenseRank(expressions=[]), order=labels), "class_number")
    query = exp.select(*(sql.column(name) for name in own), number).from_(written.subquery("written"))
    numbered = make_table(engine, "kanon_numbered", query, "classes that are written alike are one")
    same = [exp.EQ(this=sql.column(name, "numbered"), expression=key) for name, key in own.items()]
    rows = members.join(sql.aliased(numbered, "numbered"), on=sql.all_of(same))
    named = sql.named(sql.column("class_number", "numbered"), "class_number")
    measured = measured_query(coded_members(rows, [named]), models, coded_columns(models, kept=True))
    together = make_table(engine, "kanon_together", measured, "classes as they are written, and their measures")
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
    return {
        **cells,
        "distortion": distortion,
        "discernibility": discernibility(counts.squares, counts.suppressed, rows),
        "average_class_size": average_class_size(counts.rows, counts.published, k),
        "average_rows_per_class": average_rows(counts.rows, counts.published),
        **boxes.values(),
    }
