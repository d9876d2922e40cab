"""All measures of a release, from its classes by their labels: of a search result, or of a published table.

1. The classes, each with the label of every column: at the levels of a recoding, of its part, or as in a published
   table. Their sizes are those that a reader of the release counts: classes with the same text are one.
2. The costs of cells by each measure, of classes by their labels and of suppressed rows (``costs``).
3. The measures of the sizes of classes (``class_measures``) and of their boxes.

The box of a class is the part of the space of all values that its labels cover:

    boxes(mask_0, [mask_1, ...], key_0, [key_1, ...], n, volume)

A tuple of values lies in a box if its masked keys are those of the box. A label that reads like the root covers its
whole column, whatever its level: its bits are masked away. ``volume`` is the product, over the columns, of the
number of leaves of the label. Suppressed rows are in the box of everything, as if published at the root.
Two measures use boxes:

- ambiguity (Goldberger & Tassa 2010): how many combinations of values a row could be, as a mean over all rows;
- KL divergence (Machanavajjhala et al. 2007): the distance, in bits, of the distribution that a reader can rebuild
  from that of the table. The reader spreads the rows of each box evenly over it. Boxes of a local recoding may
  overlap: they add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import mean
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import key_name, mask_name
from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import classes_query, coded_columns, coded_members, is_published
from kanon_sql.classes.recoding import FullDomain
from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.class_measures import average_class_size, average_rows, discernibility
from kanon_sql.measures.costs import costs_of_columns
from kanon_sql.measures.labels import (
    LABEL,
    PART,
    class_level,
    is_label_of_class,
    labels_alias,
    place_name,
    written_labels_query,
)
from kanon_sql.measures.released_labels import label_name, meaning_of, published_classes_query
from kanon_sql.models.base import N
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Node
    from kanon_sql.classes.recoding import Local, Recoding
    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.models.base import PrivacyModel

    Measures = dict[str, float | None]

STEP = "step"
"""Column of an assigned frequency set: the number of the step, from 1, at which a tuple is published."""
_VOLUME = "volume"
MOST_PAIRS, MOST_TUPLES = 5_000_000, 200_000
"""Pairs of tuples and patterns of masks, and tuples of the frequency set, up to which the divergence is computed by
default: at a million tuples it takes as long as the search.
"""
_PAIRS_IN_A_STATEMENT = 5_000_000


@dataclass(frozen=True)
class ClassCounts:
    published: int  # classes that satisfy all models
    rows: int  # rows in them
    squares: int  # the sum of the squares of their sizes
    smallest: int | None  # rows of the smallest of them; None if there is none
    suppressed: int  # rows in the other classes
    # for each model, the measure of the worst published class; None if there is none
    worst: tuple[int | float | None, ...]
    # for each column, the number of labels of its level in the table; for a table in parts, the number of published
    # labels; None for a local recoding
    labels: tuple[int, ...] | None = None


@dataclass(frozen=True)
class PartTables:
    parts: exp.Table  # ``(part, n, measure_0, ...)``, with the measure of each privacy model
    # for each quasi-identifier, the published cell of each part (see ``measures.sets_and_ranges``)
    cells: tuple[exp.Table, ...]
    tuples: exp.Table  # the tuples of codes as places, each with its part
    disjoint: bool  # whether no combination of values is covered by the labels of two parts

    @property
    def tables(self) -> tuple[exp.Table, ...]:
        return (self.parts, *self.cells, self.tuples)


@dataclass(frozen=True)
class Original:
    """A table that releases are measured against."""

    frequency: FrequencySet
    hierarchies: Sequence[Hierarchy]
    labels: Sequence[Labels]
    costs: Sequence[Costs]  # by each measure of cells, with equal weights
    weights: Sequence[int]
    k: int  # the unit of the average class size
    asks_divergence: bool = True  # whether the KL divergence is measured, which takes as long as the rest


@dataclass(frozen=True)
class Quality:
    values: Measures  # by name
    counts: ClassCounts
    by_column: dict[str, tuple[float, ...]]  # of cells, for each column
    # for a published table, the level of each column; None for one with labels on several levels or on none
    levels: tuple[int | None, ...] = ()


def measure_recoding(
    original: Original, relation: exp.Table | PartTables, recoding: Recoding, models: Sequence[PrivacyModel]
) -> Quality:
    """Measure a recoding.

    ``relation`` is, for a node, the relation for counting its classes; for a local recoding, the tuples with their
    step, NULL if they are suppressed; for a multidimensional one, its parts.
    """
    frequency, labels = original.frequency, original.labels
    if isinstance(relation, PartTables):
        labelled, counts = _classes_of_parts(frequency, relation, models, labels)
        divergence = None
        if original.asks_divergence:
            divergence = _divergence_of_parts(frequency, relation, labelled, labels)
        return _quality(original, labelled, counts, divergence)
    if not recoding.nodes:
        return _quality(original, None, ClassCounts(0, 0, 0, None, frequency.rows, (None,) * len(models)), None)
    distortion = None
    if isinstance(recoding, FullDomain):
        node = recoding.node
        classes = _classes_of_node(frequency, relation, node, models)
        of_levels = tuple(column[level] for column, level in zip(original.costs[0].labels, node, strict=True))
        counts = replace(_count_classes(frequency, classes, models), labels=of_levels)
        distortion = _distortion(node, labels)
    else:
        classes, counts = _classes_of_steps(original, relation, recoding.nodes, models)
    labelled = _with_labels_of_levels(classes, labels)
    divergence = None
    if original.asks_divergence:
        divergence = _divergence(frequency, labelled, labels, counts.suppressed)
    found = _quality(original, labelled, counts, divergence, distortion)
    frequency.engine.run(sql.drop(classes), "drop the classes of the release")
    return found


def measure_published(original: Original, release: exp.Table, columns: Sequence[Column]) -> Quality:
    """Measure a published table with these quasi-identifiers."""
    frequency, labels = original.frequency, original.labels
    # 1. The classes: distinct rows of labels. If the original has more rows, the rest were suppressed.
    query = published_classes_query(release, dict(enumerate(columns)))
    classes = make_table(frequency.engine, "kanon_published", query, "classes of the release")
    counts = _count_classes(frequency, classes, [])
    if counts.suppressed < 0:
        raise UsageError(
            f"The release has {counts.rows:,} rows and its original {frequency.rows:,}: is it a release of that table?"
        )
    # 2. The meanings of their labels. A label without a meaning ends the measuring.
    of_columns = zip(labels, original.hierarchies, strict=True)
    found = [meaning_of(frequency, classes, column, hierarchy) for column, hierarchy in of_columns]
    meanings = [meaning for meaning, _, _ in found]
    levels = tuple(level for _, level, _ in found)
    same_label = [
        sql.same(sql.column(LABEL, labels_alias(column)), sql.column(label_name(column.number), "classes"))
        for column in labels
    ]
    labelled = _joined(classes, labels, meanings, same_label)
    # 3. The measures. Sets and ranges have no codes for looking up the tuples that they cover.
    divergence = None
    if not any(has_sets_or_ranges for _, _, has_sets_or_ranges in found):
        divergence = _divergence(frequency, labelled, labels, counts.suppressed, patiently=True)
    known = [level for level in levels if level is not None]
    distortion = _distortion(known, labels) if len(known) == len(levels) else None
    quality = _quality(original, labelled, counts, divergence, distortion)
    for table in (classes, *meanings):
        frequency.engine.run(sql.drop(table), "drop the classes of the release and what their labels stand for")
    return replace(quality, levels=levels)


def local_cost(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, labels: Sequence[Labels], costs: Costs
) -> int:
    """Return the cost of a local recoding with at least one step by one measure, in the measure's common unit."""
    classes = _make_classes(frequency, _assigned(frequency, relation, recoding.nodes), labels, [])
    suppressed = _count_classes(frequency, classes, []).suppressed
    labelled = _with_labels_of_levels(classes, labels)
    ((charged,), _) = costs_of_columns(frequency.engine, labelled, labels, [costs], suppressed)
    frequency.engine.run(sql.drop(classes), "drop the classes of the local recoding")
    return sum(charged)


# The measures of labelled classes


def _quality(
    original: Original,
    labelled: exp.Select | None,
    counts: ClassCounts,
    divergence: float | None,
    distortion: float | None = None,
) -> Quality:
    """Return every measure of classes joined to their labels (``_joined``); None if no class is published."""
    frequency, labels, costs = original.frequency, original.labels, original.costs
    rows, suppressed = frequency.rows, counts.suppressed
    charged, ambiguity = [[suppressed * full for full in cost.full] for cost in costs], None
    if labelled is not None:
        possible = exp.Sum(this=exp.Mul(this=sql.column(N, "classes"), expression=_volume(labels)))
        charged, (total,) = costs_of_columns(frequency.engine, labelled, labels, costs, suppressed, possible)
        ambiguity = (float(total or 0) + suppressed * _everywhere(labels)) / rows if rows else None
    of_cells = {cost.measure.name: (cost, own) for cost, own in zip(costs, charged, strict=True)}
    values: Measures = {
        **{name: cost.weighted_value(own, original.weights) for name, (cost, own) in of_cells.items()},
        "distortion": distortion,
        "discernibility": discernibility(counts.squares, suppressed, rows),
        "average_class_size": average_class_size(counts.rows, counts.published, original.k),
        "average_rows_per_class": average_rows(counts.rows, counts.published),
        "ambiguity": ambiguity,
        "kl_divergence": divergence,
    }
    return Quality(values, counts, {name: cost.values_of_columns(own) for name, (cost, own) in of_cells.items()})


def _distortion(levels: Sequence[int], labels: Sequence[Labels]) -> float:
    """Return how far up their hierarchies the columns of a node are: 0 to 1, as a mean over columns."""
    return float(mean(Fraction(level, column.height) for level, column in zip(levels, labels, strict=True)))


# Classes and their labels


def _joined(
    classes: exp.Table,
    labels: Sequence[Labels],
    relations: Sequence[exp.Table | exp.Subquery],
    conditions: Sequence[exp.Expr],
) -> exp.Select:
    """Return the ``classes``, each with its label of every column as ``labels_alias``. Nothing is selected yet."""
    query = exp.select().from_(sql.aliased(classes, "classes"))
    for column, relation, condition in zip(labels, relations, conditions, strict=True):
        query = query.join(sql.aliased(relation, labels_alias(column)), on=condition, copy=False)
    return query


def _with_labels_of_levels(classes: exp.Table, labels: Sequence[Labels]) -> exp.Select:
    conditions = [is_label_of_class(column, labels_alias(column)) for column in labels]
    return _joined(classes, labels, [column.relation for column in labels], conditions)


def _classes_of_node(
    frequency: FrequencySet, relation: exp.Table, node: Node, models: Sequence[PrivacyModel]
) -> exp.Table:
    """Make the table of the classes of a node: masked keys, the level of each column, rows, measures of the models."""
    classes = classes_query(relation, frequency.masks(node), models)
    masked_away = [key for key in map(key_name, range(frequency.keys)) if key not in classes.named_selects]
    constants = {**dict.fromkeys(masked_away, 0), **{class_level(column): level for column, level in enumerate(node)}}
    named = [sql.named(sql.literal(value), name) for name, value in constants.items()]
    query = exp.select("*", *named).from_(classes.subquery("classes")).where(is_published(models))
    return make_table(frequency.engine, "kanon_classes", query, f"classes of the release, {node}")


def _classes_of_steps(
    original: Original, relation: exp.Table, steps: Sequence[Node], models: Sequence[PrivacyModel]
) -> tuple[exp.Table, ClassCounts]:
    frequency, labels = original.frequency, original.labels
    known = known_subsets_of(models)
    models = models if known is None else []  # k of some columns is counted alone: it has no measure for each class
    members = _assigned(frequency, relation, steps)
    classes = _make_classes(frequency, members, labels, models)
    # Their texts, and the columns that identify the class of a member, by their names there.
    own = {f"own_{name}": key for name, key in _class_of_member(frequency).items()}
    written = exp.select(*(sql.named(sql.column(name.removeprefix("own_"), "classes"), name) for name in own))
    written = written.from_(sql.aliased(classes, "classes"))
    for column, hierarchy in zip(labels, original.hierarchies, strict=True):
        alias = f"written_{column.number + 1}"
        texts = written_labels_query(column, hierarchy, sorted({node[column.number] for node in steps}))
        written = written.join(texts.subquery(alias), on=is_label_of_class(column, alias))
        written = written.select(sql.named(sql.column(LABEL, alias), label_name(column.number)))
    counts = _count_written_classes(frequency, classes, models, written, members, own)
    if known is not None:
        counts = replace(counts, worst=(_smallest_by_some(frequency, members, written, own, known.m),))
    return classes, counts


def _make_classes(
    frequency: FrequencySet, members: exp.Select, labels: Sequence[Labels], models: Sequence[PrivacyModel]
) -> exp.Table:
    # Classes of a step share masked keys; all have the levels of their step.
    levels = [class_level(column.number) for column in labels]
    made_of = _class_of_member(frequency) | {name: sql.column(name, "steps") for name in levels}
    grouped = coded_members(members, [sql.named(column, name) for name, column in made_of.items()])
    query = measured_query(grouped, models, coded_columns(models, kept=True))
    return make_table(frequency.engine, "kanon_classes", query, "classes of the local recoding")


def _assigned(frequency: FrequencySet, relation: exp.Table, steps: Sequence[Node]) -> exp.Select:
    """Return the published tuples as ``part``, each with the masks and levels of its step. Nothing is selected yet."""
    names = [STEP, *map(mask_name, range(frequency.keys)), *map(class_level, range(len(steps[0])))]
    rows = [(number, *frequency.masks(node), *node) for number, node in enumerate(steps, start=1)]
    same_step = sql.column(STEP, "part").eq(sql.column(STEP, "steps"))
    return exp.select().from_(sql.aliased(relation, "part")).join(sql.values("steps", names, rows), on=same_step)


def _class_of_member(frequency: FrequencySet) -> dict[str, exp.Expr]:
    """Return the columns that identify the class of an assigned tuple, by name: its step, and its keys masked by it."""
    keys = [(key_name(key), mask_name(key)) for key in range(frequency.keys)]
    masked = {
        key: exp.BitwiseAnd(this=sql.column(key, "part"), expression=sql.column(mask, "steps")) for key, mask in keys
    }
    return {STEP: sql.column(STEP, "part"), **masked}


def _smallest_by_some(
    frequency: FrequencySet, members: exp.Select, written: exp.Select, own: Mapping[str, exp.Expr], m: int
) -> int | None:
    """Return the members of the smallest class by m columns, by published texts; see ``_count_written_classes``."""
    from kanon_sql.classes.known_classes import fetched, shared_members

    labels = [name for name in written.named_selects if name not in own]
    numbers = [sql.named(sql.over(exp.DenseRank(expressions=[]), order=[label]) - 1, label) for label in labels]
    numbered = exp.select(*own, *numbers).from_(written.subquery("written"))
    same = [sql.column(name, "numbered").eq(key) for name, key in own.items()]
    rows = members.join(numbered.subquery("numbered"), on=sql.all_of(same))
    codes = [sql.column(label, "numbered") for label in labels]
    title = "classes by their labels, as arrays"
    shared = shared_members(fetched(frequency.engine, rows, codes, title, people=frequency.counts_people), m, 1)
    return int(shared.min()) if len(shared) else None


def _classes_of_parts(
    frequency: FrequencySet, tables: PartTables, models: Sequence[PrivacyModel], labels: Sequence[Labels]
) -> tuple[exp.Select, ClassCounts]:
    """Return the parts joined to their labels, and their sizes."""
    different = [
        exp.select(sql.count_rows()).from_(exp.select(LABEL).distinct().from_(cells.copy()).subquery("written"))
        for cells in tables.cells
    ]
    counted = exp.select(*(count.subquery() for count in different))
    found = frequency.engine.row(counted, "how many labels each column has")
    of_part = [sql.column(PART, labels_alias(column)).eq(sql.column(PART, "classes")) for column in labels]
    labelled = _joined(tables.parts, labels, tables.cells, of_part)
    texts = [sql.named(sql.column(LABEL, labels_alias(column)), label_name(column.number)) for column in labels]
    written = labelled.select(sql.named(sql.column(PART, "classes"), "own_part"), *texts)
    members = exp.select().from_(sql.aliased(tables.tuples, "tuples"))
    own = {"own_part": sql.column(PART, "tuples")}
    counts = _count_written_classes(frequency, tables.parts, models, written, members, own)
    return labelled, replace(counts, labels=tuple(found))


def _count_classes(frequency: FrequencySet, classes: exp.Table, models: Sequence[PrivacyModel]) -> ClassCounts:
    """Return the sizes of classes in a table of their own, all of them published; other rows are suppressed."""
    n = sql.column(N)
    worst_of = [model.worst(sql.column(f"measure_{number}")) for number, model in enumerate(models)]
    sizes = [sql.count_rows(), exp.Sum(this=n), exp.Sum(this=n * n), exp.Min(this=n.copy())]
    counted = exp.select(*sizes, *worst_of).from_(classes.copy())
    published, rows, squares, smallest, *worst = frequency.engine.row(counted, "sizes of the classes")
    rows = int(rows or 0)
    return ClassCounts(published, rows, int(squares or 0), smallest, frequency.rows - rows, tuple(worst))


def _count_written_classes(
    frequency: FrequencySet,
    classes: exp.Table,
    models: Sequence[PrivacyModel],
    written: exp.Select,
    members: exp.Select,
    own: Mapping[str, exp.Expr],
) -> ClassCounts:
    """Return the sizes of the classes that a reader of the release counts: classes with the same text are one.

    Labels of different nodes of a hierarchy can be the same text: NULL is the root at level 1 already, or a value has
    the name of a group. ``classes`` is the table of the recoding's classes with their measures; ``written`` the
    query of the identity and the published texts of each; ``members`` the published rows of the frequency
    set, a query that selects nothing yet; ``own`` the columns that identify the class of a member, by name in
    ``written``.
    """
    engine = frequency.engine
    counts = _count_classes(frequency, classes, models)
    # 1. How many classes have different texts.
    labels = [name for name in written.named_selects if name not in own]
    alike = exp.select(*labels).distinct().from_(written.subquery("written"))
    counted = exp.select(sql.count_rows()).from_(alike.subquery("alike"))
    (different,) = engine.row(counted, "classes by their labels")
    if different == counts.published:
        return counts
    # 2. Classes with the same text are one: give each text a number, and measure its members together.
    number = sql.named(sql.over(exp.DenseRank(expressions=[]), order=labels), "class_number")
    query = exp.select(*own, number).from_(written.subquery("written"))
    numbered = make_table(engine, "kanon_numbered", query, "classes that are written alike are one")
    same = [sql.column(name, "numbered").eq(key) for name, key in own.items()]
    rows = members.join(sql.aliased(numbered, "numbered"), on=sql.all_of(same))
    named = sql.named(sql.column("class_number", "numbered"), "class_number")
    measured = measured_query(coded_members(rows, [named]), models, coded_columns(models, kept=True))
    together = make_table(engine, "kanon_together", measured, "classes by their labels, and their measures")
    counts = _count_classes(frequency, together, models)
    for table in (numbered, together):
        engine.run(sql.drop(table), "drop the classes by their labels")
    return counts


# Boxes


def _volume(labels: Sequence[Labels]) -> exp.Expr:
    """Return how many combinations of values the labels of a class cover, each under its ``labels_alias``."""
    volume: exp.Expr = sql.double(1)
    for column in labels:
        alias = labels_alias(column)
        leaves = _unless_root(alias, sql.column("leaves", alias), column.leaves)
        volume = exp.Mul(this=volume, expression=sql.cast(leaves, "DOUBLE"))
    return volume


def _everywhere(labels: Sequence[Labels]) -> float:
    return math.prod((column.leaves for column in labels), start=1.0)


def _unless_root(alias: str, value: exp.Expr, at_root: int) -> exp.Expr:
    at_top = exp.Case().when(sql.column("at_root", alias), sql.literal(at_root), copy=False)
    return at_top.else_(value, copy=False)


def _divergence_of_parts(
    frequency: FrequencySet, tables: PartTables, labelled: exp.Select, labels: Sequence[Labels]
) -> float | None:
    """Return the KL divergence if no two boxes overlap: each tuple is in the box of its part."""
    if not frequency.rows or not tables.disjoint:
        return None
    boxes = labelled.select(sql.column(PART, "classes"), sql.column(N, "classes"), sql.named(_volume(labels), _VOLUME))
    query = sql.query(
        "measures/divergence/of_parts",
        values={"places": [sql.column(place_name(column.number)) for column in labels], "rows": frequency.rows},
        tables={"tuples": tables.tuples},
        relations={"boxes": boxes.subquery("boxes")},
    )
    (bits,) = frequency.engine.row(query, "KL divergence")
    return max(0.0, float(bits))


def _divergence(
    frequency: FrequencySet,
    labelled: exp.Select,
    labels: Sequence[Labels],
    suppressed: int,
    *,
    patiently: bool = False,
) -> float | None:
    """Return the KL divergence: the mean over all rows of log2(share of the tuple / density of rows there).

    Each tuple looks up the boxes that cover it once for each pattern of masks, some patterns at a time; a local
    recoding has a pattern for each step. The densities of the boxes over a tuple add up. Both are counts of rows: the
    size of the table cancels out. This takes long: for large tables only if ``patiently``.
    """
    if not frequency.rows:
        return None
    engine = frequency.engine
    keys, masks = (list(map(name, range(frequency.keys))) for name in (key_name, mask_name))
    columns: dict[str, sql.Given] = {"keys": list(map(sql.column, keys)), "masks": list(map(sql.column, masks))}
    # 1. The boxes, and the box of everything.
    boxes: exp.Query = labelled.select(*_box_columns(frequency, labels), sql.column(N, "classes"))
    if suppressed:
        everything = {**dict.fromkeys((*masks, *keys), 0), _VOLUME: _everywhere(labels), N: suppressed}
        boxes = sql.union_all(
            [boxes, exp.select(*(sql.named(sql.literal(value), name) for name, value in everything.items()))]
        )
    query = sql.query("measures/divergence/densities", values=columns, relations={"boxes": boxes.subquery("boxes")})
    densities = make_table(engine, "kanon_densities", query, "density of the box of each class")
    tables = {"densities": densities}
    query = sql.query("measures/divergence/patterns", values={"masks": columns["masks"]}, tables=tables)
    patterns = engine.rows(query, "patterns of masks")
    bits = None
    if patiently or (frequency.tuples <= MOST_TUPLES and len(patterns) * frequency.tuples <= MOST_PAIRS):
        # 2. Each tuple with the boxes that cover it. The number of pairs per statement is limited.
        masked = [
            sql.named(exp.BitwiseAnd(this=sql.column(key), expression=sql.column(mask)), f"masked_{key}")
            for key, mask in zip(keys, masks, strict=True)
        ]
        compared = [*zip(masks, masks, strict=True), *((f"masked_{key}", key) for key in keys)]
        in_box = [sql.column(own, "pairs").eq(sql.column(name, "densities")) for own, name in compared]
        values: dict[str, sql.Given] = {
            **columns,
            "masked_keys": masked,
            "keys_of_pairs": [sql.column(key, "pairs") for key in keys],
            "is_in_box": sql.all_of(in_box),
        }
        covered = engine.temporary_name("kanon_covered")
        several = max(1, _PAIRS_IN_A_STATEMENT // max(1, frequency.tuples))
        for first in range(0, len(patterns), several):
            listed = sql.values("patterns", masks, patterns[first : first + several])
            query = sql.query(
                "measures/divergence/covered",
                values=values,
                tables=tables | {"kanon_frequency": frequency.relation},
                relations={"patterns": listed},
            )
            statement = exp.insert(query, covered.copy()) if first else sql.create_table(covered, query, temporary=True)
            engine.run(statement, "boxes that cover each tuple")
        # 3. The mean.
        of_rows: dict[str, sql.Given] = {"keys": columns["keys"], "rows": frequency.rows}
        query = sql.query("measures/divergence/of_tuples", values=of_rows, relations={"covered": covered})
        bits, rows = engine.row(query, "KL divergence")
        if int(rows or 0) != frequency.rows:
            raise UsageError(
                f"No class of the release covers {frequency.rows - int(rows or 0):,} of the {frequency.rows:,} rows of "
                "the original, and none is missing: is it a release of that table, under these hierarchies?"
            )
        engine.run(sql.drop(covered), "drop the boxes that cover each tuple")
    engine.run(sql.drop(densities), "drop the densities")
    # 0 is the minimum; the rounding of many small terms may go below.
    return None if bits is None else max(0.0, float(bits))


def _box_columns(frequency: FrequencySet, labels: Sequence[Labels]) -> list[exp.Expr]:
    """Return the columns of a box except n, over the labels of a class, each under its ``labels_alias``."""
    masks: list[list[exp.Expr]] = [[] for _ in range(frequency.keys)]
    keys: list[list[exp.Expr]] = [[] for _ in range(frequency.keys)]
    for column in labels:
        alias = labels_alias(column)
        for placement in column.placements:
            mask = exp.Case(this=sql.column("level", alias))
            for level in range(column.height):
                mask = mask.when(sql.literal(level), sql.literal(placement.mask(level)), copy=False)
            code = sql.shifted_left(sql.column(code_name(placement.number), alias), placement.shift)
            masks[placement.key].append(_unless_root(alias, mask.else_(sql.literal(0), copy=False), 0))
            keys[placement.key].append(_unless_root(alias, code, 0))
    return [
        *(sql.named(sql.combined(parts), mask_name(key)) for key, parts in enumerate(masks)),
        *(sql.named(sql.combined(parts), key_name(key)) for key, parts in enumerate(keys)),
        sql.named(_volume(labels), _VOLUME),
    ]
