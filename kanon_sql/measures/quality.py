"""All measures of a release, from the labels of its classes and their rows.

1. The classes, and their sizes as a reader of the release counts them: those that are written alike are one.
2. What cells cost by each measure, of classes by their labels and of suppressed rows (``costs``).
3. What the boxes of the classes say, and what their sizes say (``class_measures``).

The box of a class is the part of the space of all values that its labels cover:

    kanon_boxes(mask_0, [mask_1, ...], key_0, [key_1, ...], n, volume)

A tuple of values lies in a box if its masked keys are those of the box. A label that reads like the root covers its
whole column, on whatever level it is: its bits are masked away. ``volume`` is the product, over the columns, of how
many leaves the label has. Suppressed rows are in the box of everything: they are as good as published at the root.
Two measures are made from boxes:

- ambiguity (Goldberger & Tassa 2010): how many combinations of values a row could be, as a mean over all rows;
- KL divergence (Machanavajjhala et al. 2007): in bits, how far the distribution that a reader can rebuild, the rows of
  each box spread evenly over it, is from that of the table. Boxes of a local recoding may overlap: they add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
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
_DENSITY = "density"
MOST_PAIRS, MOST_TUPLES = 5_000_000, 200_000
"""Pairs of tuples and patterns of masks, and tuples of the frequency set, up to which the divergence is computed by
default: at a million tuples it takes as long as the search."""
_PAIRS_IN_A_STATEMENT = 5_000_000


@dataclass(frozen=True)
class ClassCounts:
    """Sizes of the classes of a release."""

    published: int  # classes that satisfy all models
    rows: int  # rows in them
    squares: int  # the sum of the squares of their sizes
    smallest: int | None  # rows of the smallest of them; None if there is none
    suppressed: int  # rows in the other classes
    # for each model, the measure of the worst published class; None if there is none
    worst: tuple[int | float | None, ...]
    # for each column, how many labels of its level the table has; of a table in parts, how many are written; None for a
    # local recoding
    labels: tuple[int, ...] | None


@dataclass(frozen=True)
class PartTables:
    """A table in parts."""

    parts: exp.Table  # ``(part, n, measure_0, ...)``, with the measure of each privacy model
    # for each quasi-identifier, what is published of each part (see ``measures.sets_and_ranges``)
    cells: tuple[exp.Table, ...]
    tuples: exp.Table  # the tuples of codes as places, each with its part
    disjoint: bool  # whether no combination of values is covered by the labels of two parts

    @property
    def tables(self) -> tuple[exp.Table, ...]:
        return (self.parts, *self.cells, self.tuples)


def measure_recoding(
    frequency: FrequencySet,
    relation: exp.Table | PartTables,
    recoding: Recoding,
    models: Sequence[PrivacyModel],
    hierarchies: Sequence[Hierarchy],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> tuple[Measures, ClassCounts]:
    """Return every measure of a recoding, by name, and the sizes of its classes.

    ``relation`` is, for a node, what its classes are counted from; for a local recoding, the tuples with their step,
    NULL if they are suppressed; for a multidimensional one, its parts. ``k`` is the class size in whose units the
    average is given.
    """
    if isinstance(relation, PartTables):
        counts, labelled = _classes_of_parts(frequency, relation, models, labels)
        values = _cell_values(frequency, labelled, labels, costs, counts.suppressed)
        boxes = _box_measures_of_parts(frequency, relation, labelled, labels)
        return all_measures(values, counts, boxes, None, frequency.rows, k), counts
    if not recoding.nodes:
        counts = ClassCounts(0, 0, 0, None, frequency.rows, (None,) * len(models), None)
        values = {cost.measure.name: cost.value(frequency.rows * sum(cost.full)) for cost in costs}
        return all_measures(values, counts, _NO_BOXES, None, frequency.rows, k), counts
    height = None
    if isinstance(recoding, FullDomain):
        node = recoding.node
        classes = _classes_of_node(frequency, relation, node, models)
        labels_of_levels = tuple(column[level] for column, level in zip(costs[0].labels, node, strict=True))
        counts = replace(count_classes(frequency, classes, models), labels=labels_of_levels)
        height = distortion(node, labels)
    else:
        classes, counts = _classes_of_steps(frequency, relation, recoding.nodes, models, hierarchies, labels)
    labelled = _labelled(classes, labels)
    values = _cell_values(frequency, labelled, labels, costs, counts.suppressed)
    boxes = box_measures(frequency, labelled, labels, counts.suppressed)
    frequency.engine.run(sql.drop(classes), "drop the classes of the release")
    return all_measures(values, counts, boxes, height, frequency.rows, k), counts


def local_cost(
    frequency: FrequencySet, relation: exp.Table, recoding: Local, labels: Sequence[Labels], costs: Costs
) -> int:
    """Return what a local recoding with one step at least costs by one measure, in the measure's common unit."""
    classes = _make_classes(frequency, _assigned(frequency, relation, recoding.nodes), labels, [])
    suppressed = count_classes(frequency, classes, []).suppressed
    (charged,) = costs_of_columns(frequency.engine, _labelled(classes, labels), labels, [costs], suppressed)
    frequency.engine.run(sql.drop(classes), "drop the classes of the local recoding")
    return sum(charged)


def _cell_values(
    frequency: FrequencySet, labelled: exp.Select, labels: Sequence[Labels], costs: Sequence[Costs], suppressed: int
) -> Measures:
    """Return the measures of cells; ``labelled`` is the published classes, as ``classes``, joined to their labels."""
    charged = costs_of_columns(frequency.engine, labelled, labels, costs, suppressed)
    return {cost.measure.name: cost.value(sum(columns)) for cost, columns in zip(costs, charged, strict=True)}


def distortion(levels: Sequence[int], labels: Sequence[Labels]) -> float:
    """Return how far up their hierarchies the columns of a node are: 0 to 1, as a mean over columns."""
    shares = [Fraction(level, column.height) for level, column in zip(levels, labels, strict=True)]
    return float(sum(shares, Fraction(0)) / len(shares))


def all_measures(
    cells: Measures, counts: ClassCounts, boxes: Measures, distortion: float | None, rows: int, k: int
) -> Measures:
    return {
        **cells,
        "distortion": distortion,
        "discernibility": discernibility(counts.squares, counts.suppressed, rows),
        "average_class_size": average_class_size(counts.rows, counts.published, k),
        "average_rows_per_class": average_rows(counts.rows, counts.published),
        **boxes,
    }


# The classes of a node and of steps: masked keys, the level of each column, rows, and the measure of each model


def _classes_of_node(
    frequency: FrequencySet, relation: exp.Table, node: Node, models: Sequence[PrivacyModel]
) -> exp.Table:
    classes = classes_query(relation, frequency.masks(node), models)
    masked_away = [key for key in map(key_name, range(frequency.keys)) if key not in classes.named_selects]
    constants = {**dict.fromkeys(masked_away, 0), **{class_level(column): level for column, level in enumerate(node)}}
    named = [sql.named(sql.literal(value), name) for name, value in constants.items()]
    query = exp.select("*", *named).from_(classes.subquery("classes")).where(is_published(models))
    return make_table(frequency.engine, "kanon_classes", query, f"classes of the release, {node}")


def _classes_of_steps(
    frequency: FrequencySet,
    relation: exp.Table,
    steps: Sequence[Node],
    models: Sequence[PrivacyModel],
    hierarchies: Sequence[Hierarchy],
    labels: Sequence[Labels],
) -> tuple[exp.Table, ClassCounts]:
    known = known_subsets_of(models)
    models = models if known is None else []  # it stands alone, and is no measure of a class
    members = _assigned(frequency, relation, steps)
    classes = _make_classes(frequency, members, labels, models)
    # How they are written, and what identifies the class of a member by its name there.
    own = {f"own_{name}": key for name, key in _class_of_member(frequency).items()}
    written = exp.select(*(sql.named(sql.column(name.removeprefix("own_"), "classes"), name) for name in own))
    written = written.from_(sql.aliased(classes, "classes"))
    for column, hierarchy in zip(labels, hierarchies, strict=True):
        alias = f"written_{column.number + 1}"
        texts = written_labels_query(column, hierarchy, sorted({node[column.number] for node in steps}))
        written = written.join(texts.subquery(alias), on=is_label_of_class(column, alias))
        written = written.select(sql.named(sql.column(LABEL, alias), f"label_{column.number + 1}"))
    counts = _count_written_classes(frequency, classes, models, written, members, own)
    if known is not None:
        counts = replace(counts, worst=(_smallest_by_some(frequency, members, written, own, known.m),))
    return classes, counts


def _make_classes(
    frequency: FrequencySet, members: exp.Select, labels: Sequence[Labels], models: Sequence[PrivacyModel]
) -> exp.Table:
    # Those of a step share masked keys; all have the levels of their step.
    made_of = _class_of_member(frequency) | {
        name: sql.column(name, "steps") for name in map(class_level, range(len(labels)))
    }
    grouped = coded_members(members, [sql.named(column, name) for name, column in made_of.items()])
    query = measured_query(grouped, models, coded_columns(models, kept=True))
    return make_table(frequency.engine, "kanon_classes", query, "classes of the local recoding")


def _labelled(classes: exp.Table, labels: Sequence[Labels]) -> exp.Select:
    """Return the classes, each with the labels of its levels. Nothing is selected yet."""
    query = exp.select().from_(sql.aliased(classes, "classes"))
    for column in labels:
        alias = labels_alias(column)
        query = query.join(sql.aliased(column.relation, alias), on=is_label_of_class(column, alias), copy=False)
    return query


def _assigned(frequency: FrequencySet, relation: exp.Table, steps: Sequence[Node]) -> exp.Select:
    """Return the published tuples as ``part``, each with the masks and levels of its step. Nothing is selected yet."""
    names = [STEP, *map(mask_name, range(frequency.keys)), *map(class_level, range(len(steps[0])))]
    rows = [(number, *frequency.masks(node), *node) for number, node in enumerate(steps, start=1)]
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


# The classes of a table in parts


def _classes_of_parts(
    frequency: FrequencySet, tables: PartTables, models: Sequence[PrivacyModel], labels: Sequence[Labels]
) -> tuple[ClassCounts, exp.Select]:
    """Return the sizes of the parts, and the parts joined to their labels."""
    different = [
        exp.select(sql.named(sql.literal(number), "number"), sql.named(sql.count_rows(), "labels")).from_(
            exp.select(LABEL).distinct().from_(cells.copy()).subquery("written")
        )
        for number, cells in enumerate(tables.cells)
    ]
    found = sorted(frequency.engine.rows(sql.union_all(different), "how many labels each column has"))
    labelled = exp.select().from_(sql.aliased(tables.parts, "classes"))
    written = [sql.named(sql.column(PART, "classes"), "own_part")]
    for column, cells in zip(labels, tables.cells, strict=True):
        alias = labels_alias(column)
        same = sql.column(PART, alias).eq(sql.column(PART, "classes"))
        labelled = labelled.join(sql.aliased(cells, alias), on=same, copy=False)
        written.append(sql.named(sql.column(LABEL, alias), f"label_{column.number + 1}"))
    members = exp.select().from_(sql.aliased(tables.tuples, "tuples"))
    own = {"own_part": sql.column(PART, "tuples")}
    counts = _count_written_classes(frequency, tables.parts, models, labelled.select(*written), members, own)
    return replace(counts, labels=tuple(count for _, count in found)), labelled


# Sizes of classes


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


# Boxes


_NO_BOXES: Measures = {"ambiguity": None, "kl_divergence": None}


def _box_measures_of_parts(
    frequency: FrequencySet, tables: PartTables, labelled: exp.Select, labels: Sequence[Labels]
) -> Measures:
    """Return ambiguity, and the KL divergence if no two boxes overlap: each tuple is in one of them."""
    measured = ambiguity_alone(frequency, labelled, labels, 0)
    if frequency.rows == 0 or not tables.disjoint:
        return measured
    # 1. How many combinations of values each part covers.
    boxes = labelled.select(sql.column(PART, "classes"), sql.column(N, "classes"), sql.named(_volume(labels), _VOLUME))
    # 2. Rows of a tuple against those that its box spreads over it.
    own = [PART, *(place_name(column.number) for column in labels)]
    rows = sql.named(sql.sum_of(sql.column(N)), N)
    tuples = exp.select(*own, rows).from_(tables.tuples.copy()).group_by(*own)
    same = sql.column(PART, "boxes").eq(sql.column(PART, "tuples"))
    n, spread = sql.column(N, "tuples"), sql.column(N, "boxes")
    ratio = exp.Div(this=n * sql.column(_VOLUME, "boxes"), expression=spread)
    term = n * exp.Paren(this=sql.log2(sql.cast(ratio, "DOUBLE")))
    divergence = exp.select(exp.Sum(this=term)).from_(tuples.subquery("tuples")).join(boxes.subquery("boxes"), on=same)
    (bits,) = frequency.engine.row(divergence, "KL divergence")
    return measured | {"kl_divergence": max(0.0, float(bits) / frequency.rows)}


def ambiguity_alone(
    frequency: FrequencySet, labelled: exp.Select, labels: Sequence[Labels], suppressed: int
) -> Measures:
    """Return the ambiguity of classes whose labels may be sets or ranges: they have no prefix, and no divergence."""
    if frequency.rows == 0:
        return _NO_BOXES
    possible = exp.Sum(this=exp.Mul(this=sql.column(N, "classes"), expression=_volume(labels)))
    (total,) = frequency.engine.row(labelled.select(possible), "ambiguity")
    return _NO_BOXES | {"ambiguity": (float(total or 0) + suppressed * _everywhere(labels)) / frequency.rows}


def box_measures(
    frequency: FrequencySet,
    labelled: exp.Select,
    labels: Sequence[Labels],
    suppressed: int,
    *,
    patiently: bool = False,
) -> Measures:
    """Return what the boxes of the published classes say; ``labelled`` is of no use afterwards.

    The divergence takes long (each tuple looks up the boxes that cover it once for each pattern of masks, of which a
    local recoding has one for each step): a large table gets it only ``patiently``.
    """
    if frequency.rows == 0:
        return _NO_BOXES
    engine = frequency.engine
    # 1. The boxes, and that of everything.
    boxes: exp.Query = labelled.select(*_box_columns(frequency, labels), sql.column(N, "classes"), copy=False)
    if suppressed:
        zero = [sql.named(sql.literal(0), name(key)) for name in (mask_name, key_name) for key in range(frequency.keys)]
        volume = sql.named(sql.literal(_everywhere(labels)), _VOLUME)
        boxes = sql.union_all([boxes, exp.select(*zero, volume, sql.named(sql.literal(suppressed), N))])
    relation = make_table(engine, "kanon_boxes", boxes, "what each class covers")
    possible = exp.Sum(this=sql.column(N) * sql.column(_VOLUME))
    (total,) = engine.row(exp.select(possible).from_(relation.copy()), "ambiguity")
    # 2. How densely rows lie where a tuple is.
    patterns = exp.select(*_masks(frequency)).distinct().from_(relation.copy())
    found = sorted(engine.rows(patterns, "patterns of masks"))  # the same statements every time
    divergence = None
    if patiently or (frequency.tuples <= MOST_TUPLES and len(found) * frequency.tuples <= MOST_PAIRS):
        divergence = _divergence(frequency, relation, found)
    engine.run(sql.drop(relation), "drop the boxes")
    return {"ambiguity": float(total) / frequency.rows, "kl_divergence": divergence}


def _box_columns(frequency: FrequencySet, labels: Sequence[Labels]) -> list[exp.Expr]:
    """Return the columns of a box but for n, over the labels of a class, each under its ``labels_alias``."""
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


def _volume(labels: Sequence[Labels]) -> exp.Expr:
    """Return how many combinations of values the labels of a class cover, each under its ``labels_alias``."""
    volume: exp.Expr = sql.cast(sql.literal(1), "DOUBLE")
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


def _divergence(frequency: FrequencySet, boxes: exp.Table, patterns: Sequence[tuple[int, ...]]) -> float:
    """Return the KL divergence: the mean over all rows of log2(share of the tuple / density of rows there).

    1. Rows for each combination of values, box by box.
    2. Each tuple with the boxes that cover it: one look-up for each pattern of masks, some patterns at a time, so that
       no statement goes through more than so many pairs.
    3. What the boxes say of a tuple adds up; both are counts of rows, so that the size of the table cancels out.
    """
    engine = frequency.engine
    densities, covered = (engine.temporary_name(f"kanon_{name}") for name in ("densities", "covered"))
    # 1. Rows for each combination of values.
    engine.run(sql.create_table(densities, _densities_query(frequency, boxes), temporary=True), "density of each box")
    # 2. Each tuple with the boxes that cover it.
    several = max(1, _PAIRS_IN_A_STATEMENT // max(1, frequency.tuples))
    for first in range(0, len(patterns), several):
        query = _covered_query(frequency, densities, patterns[first : first + several])
        statement = exp.insert(query, covered.copy()) if first else sql.create_table(covered, query, temporary=True)
        engine.run(statement, "boxes that cover each tuple")
    # 3. The mean.
    divergence, rows = engine.row(_divergence_query(frequency, covered), "KL divergence")
    if int(rows or 0) != frequency.rows:
        raise UsageError(
            f"No class of the release covers {frequency.rows - int(rows or 0):,} of the {frequency.rows:,} rows of the "
            "original, and none is missing: is it a release of that table, under these hierarchies?"
        )
    engine.run(sql.drop(densities), "drop the densities")
    engine.run(sql.drop(covered), "drop the boxes that cover each tuple")
    # 0 is the least there is, whatever the rounding of many small terms.
    return max(0.0, float(divergence))


def _covered_query(frequency: FrequencySet, densities: exp.Table, patterns: Sequence[tuple[int, ...]]) -> exp.Select:
    """Return the query of tuples with their rows, and the density of each box with one of these patterns over them."""
    keys = range(frequency.keys)
    own = [sql.column(key_name(key)) for key in keys]
    # Each tuple once: people have a row for each of theirs in the frequency set.
    tuples = exp.select(*own, sql.named(sql.sum_of(sql.column(N)), N)).from_(frequency.relation.copy())
    tuples = tuples.group_by(*(key.copy() for key in own))
    values = sql.values("patterns", [mask_name(key) for key in keys], patterns)
    masked = [
        sql.named(
            exp.BitwiseAnd(this=sql.column(key_name(key), "tuples"), expression=sql.column(mask_name(key), "patterns")),
            f"masked_{key}",
        )
        for key in keys
    ]
    pairs = exp.select(
        *(sql.column(key_name(key), "tuples") for key in keys),
        sql.column(N, "tuples"),
        *(sql.column(mask_name(key), "patterns") for key in keys),
        *masked,
    )
    pairs = pairs.from_("tuples").join(values, join_type="cross")
    same = [
        sql.column(own_name, "pairs").eq(sql.column(name, "densities"))
        for key in keys
        for own_name, name in ((mask_name(key), mask_name(key)), (f"masked_{key}", key_name(key)))
    ]
    return (
        exp.select(
            *(sql.column(key_name(key), "pairs") for key in keys),
            sql.column(N, "pairs"),
            sql.column(_DENSITY, "densities"),
        )
        .from_("pairs")
        .join(sql.aliased(densities, "densities"), on=sql.all_of(same))
        .with_("tuples", as_=tuples)
        # Materialized: else the planner may join every tuple with every box before it compares keys.
        .with_("pairs", as_=pairs, materialized=True)
    )


def _divergence_query(frequency: FrequencySet, covered: exp.Table) -> exp.Select:
    """Return the query of the mean over all rows of log2(rows of the tuple / density there)."""
    own = [sql.column(key_name(key)) for key in range(frequency.keys)]
    rebuilt = exp.select(N, sql.named(exp.Sum(this=sql.column(_DENSITY)), _DENSITY)).from_(covered.copy())
    rebuilt = rebuilt.group_by(*own, N)
    ratio = sql.cast(sql.column(N), "DOUBLE") / sql.column(_DENSITY)
    total = exp.Sum(this=sql.column(N) * exp.Paren(this=sql.log2(ratio)))
    rows = sql.cast(sql.literal(frequency.rows), "DOUBLE")
    mean = total / rows
    return exp.select(mean, exp.Sum(this=sql.column(N))).from_(rebuilt.subquery("rebuilt"))


def _densities_query(frequency: FrequencySet, boxes: exp.Table) -> exp.Select:
    columns = [*_masks(frequency), *(sql.column(key_name(key)) for key in range(frequency.keys))]
    spread = sql.column(N) / sql.column(_VOLUME)
    query = exp.select(*columns, sql.named(exp.Sum(this=spread), _DENSITY)).from_(boxes.copy())
    return query.group_by(*(column.copy() for column in columns))


def _masks(frequency: FrequencySet) -> list[exp.Column]:
    return [sql.column(mask_name(key)) for key in range(frequency.keys)]


# A published table


@dataclass(frozen=True)
class PublishedMeasures:
    """What was measured in a published table."""

    values: Measures  # every measure, by name
    counts: ClassCounts
    # the level of each column; None for a column whose labels are on several levels, or that has none
    levels: tuple[int | None, ...]
    by_column: dict[str, tuple[float, ...]]  # measures of cells, by name: of each column alone


def measure_published(
    frequency: FrequencySet,
    release: exp.Table,
    columns: Sequence[Column],
    hierarchies: Sequence[Hierarchy],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> PublishedMeasures:
    """Return every measure of a published table; all but ``release`` and its ``columns`` is of the original.

    ``k`` is the class size in whose units the average is given.
    """
    engine = frequency.engine
    # 1. The classes: different rows of labels.
    query = published_classes_query(release, columns)
    classes = make_table(engine, "kanon_published", query, "classes of the release")
    counts = count_classes(frequency, classes, [])
    if counts.suppressed < 0:
        raise UsageError(
            f"The release has {counts.rows:,} rows and its original {frequency.rows:,}: is it a release of that table?"
        )
    # 2. What their labels stand for; one that can stand for nothing ends the measuring.
    levels: list[int | None] = []
    has_sets_or_ranges = False
    labelled = exp.select().from_(sql.aliased(classes, "classes"))
    for column, hierarchy in zip(labels, hierarchies, strict=True):
        meaning, level, has_others = meaning_of(frequency, classes, column, hierarchy)
        alias = labels_alias(column)
        same_label = sql.same(sql.column(LABEL, alias), sql.column(label_name(column.number), "classes"))
        labelled = labelled.join(sql.aliased(meaning, alias), on=same_label)
        levels.append(level)
        has_sets_or_ranges = has_sets_or_ranges or has_others
    # 3. The measures. Rows that the original has more are suppressed rows.
    charged = costs_of_columns(engine, labelled, labels, costs, counts.suppressed)
    cells: Measures = {}
    by_column = {}
    for cost, columns_charged in zip(costs, charged, strict=True):
        cells[cost.measure.name] = cost.value(sum(columns_charged))
        by_column[cost.measure.name] = cost.values_of_columns(columns_charged)
    if has_sets_or_ranges:  # they have no codes by which the tuples that they cover could be looked up
        boxes = ambiguity_alone(frequency, labelled, labels, counts.suppressed)
    else:
        boxes = box_measures(frequency, labelled, labels, counts.suppressed, patiently=True)
    known = [level for level in levels if level is not None]
    height = distortion(known, labels) if len(known) == len(levels) else None
    engine.run(sql.drop(classes), "drop the classes of the release")
    return PublishedMeasures(
        all_measures(cells, counts, boxes, height, frequency.rows, k), counts, tuple(levels), by_column
    )
