"""Each published class as a box: the part of the space of all values that its labels cover, and the rows in it.

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

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import key_name, mask_name
from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.labels import labels_alias
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.frequency import FrequencySet, Placement
    from kanon_sql.classes.lattice import Node
    from kanon_sql.measures.labels import Labels

_VOLUME = "volume"
_DENSITY = "density"
_PAIRS = 5_000_000  # of tuples and patterns of masks that are compared by default
_TUPLES = 200_000  # of the frequency set, likewise: at a million the divergence takes as long as the search
_AT_ONCE = 5_000_000  # of these pairs in one statement


@dataclass(frozen=True)
class BoxMeasures:
    """What boxes say.

    Attributes:
        ambiguity: combinations of values that a row could be, as a mean; None for a table without rows.
        kl_divergence: in bits; None for a table without rows, and where it would take long and need not be computed.
    """

    ambiguity: float | None
    kl_divergence: float | None

    def values(self) -> dict[str, float | None]:
        return {"ambiguity": self.ambiguity, "kl_divergence": self.kl_divergence}


def _box_columns(frequency: FrequencySet, labels: Sequence[Labels], node: Node | None) -> list[exp.Expr]:
    """Return the columns of a box but for n.

    They are over the labels of a class, each under its ``labels_alias``; of a node, values and roots need no label.
    """
    masks: list[list[exp.Expr]] = [[] for _ in range(frequency.keys)]
    keys: list[list[exp.Expr]] = [[] for _ in range(frequency.keys)]
    for column in labels:
        alias = labels_alias(column)
        level = None if node is None else node[column.number]
        if level == column.height:
            continue
        for placement in column.placements:
            if level == 0:
                mask = placement.mask(0)
                masks[placement.key].append(sql.literal(mask))
                if mask:
                    keys[placement.key].append(sql.bits(sql.column(key_name(placement.key), "classes"), mask))
            else:
                masks[placement.key].append(_mask(column, placement, alias))
                keys[placement.key].append(_key(placement, alias))
    return [
        *(sql.named(sql.combined(parts), mask_name(key)) for key, parts in enumerate(masks)),
        *(sql.named(sql.combined(parts), key_name(key)) for key, parts in enumerate(keys)),
        sql.named(volume_of(labels, node), _VOLUME),
    ]


def volume_of(labels: Sequence[Labels], node: Node | None = None) -> exp.Expr:
    """Return how many combinations of values the labels of a class cover, each under its ``labels_alias``.

    Of a node, a value covers itself, and a root everything.
    """
    volume: exp.Expr = sql.cast(sql.literal(1), "DOUBLE")
    for column in labels:
        alias = labels_alias(column)
        level = None if node is None else node[column.number]
        if level == 0:
            continue
        leaves: exp.Expr = sql.literal(column.leaves)
        if level != column.height:
            leaves = _unless_root(alias, sql.column("leaves", alias), column.leaves)
        volume = exp.Mul(this=volume, expression=sql.cast(leaves, "DOUBLE"))
    return volume


def box_measures(
    frequency: FrequencySet,
    labelled: exp.Select,
    labels: Sequence[Labels],
    suppressed: int,
    *,
    node: Node | None = None,
    patiently: bool = False,
) -> BoxMeasures:
    """Return what the boxes of a recoding say.

    ``labelled`` is the published classes, as ``classes``, joined to their labels (of a ``node``, those between value
    and root): a query that selects nothing yet, and is of no use afterwards. The divergence takes long (each tuple
    looks up the boxes that cover it once for each pattern of masks, of which a local recoding has one for each step):
    a large table gets it only ``patiently``.
    """
    if frequency.rows == 0:
        return BoxMeasures(None, None)
    engine = frequency.engine
    # 1. The boxes, and that of everything.
    boxes: exp.Query = labelled.select(*_box_columns(frequency, labels, node), sql.column(N, "classes"), copy=False)
    if suppressed:
        boxes = sql.union_all([boxes, _everything(frequency, labels, suppressed)])
    relation = make_table(engine, "kanon_boxes", boxes, "what each class covers")
    possible = exp.Sum(this=sql.column(N) * sql.column(_VOLUME))
    (total,) = engine.row(exp.select(possible).from_(relation.copy()), "ambiguity")
    # 2. How densely rows lie where a tuple is.
    patterns = exp.select(*_masks(frequency)).distinct().from_(relation.copy())
    found = sorted(engine.rows(patterns, "patterns of masks"))  # the same statements every time
    divergence = None
    if patiently or (frequency.tuples <= _TUPLES and len(found) * frequency.tuples <= _PAIRS):
        divergence = _divergence(frequency, relation, found)
    engine.run(sql.drop(relation), "drop the boxes")
    return BoxMeasures(float(total) / frequency.rows, divergence)


def ambiguity_alone(
    frequency: FrequencySet, labelled: exp.Select, labels: Sequence[Labels], suppressed: int
) -> BoxMeasures:
    """Return the ambiguity of classes whose labels may be sets or ranges: they have no prefix, and no divergence."""
    if frequency.rows == 0:
        return BoxMeasures(None, None)
    possible = exp.Sum(this=exp.Mul(this=sql.column(N, "classes"), expression=volume_of(labels)))
    (total,) = frequency.engine.row(labelled.select(possible), "ambiguity")
    return BoxMeasures((float(total or 0) + suppressed * _everywhere(labels)) / frequency.rows, None)


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
    several = max(1, _AT_ONCE // max(1, frequency.tuples))
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


def _everything(frequency: FrequencySet, labels: Sequence[Labels], rows: int) -> exp.Select:
    """Return the box of suppressed rows."""
    zero = [sql.named(sql.literal(0), name(key)) for name in (mask_name, key_name) for key in range(frequency.keys)]
    return exp.select(*zero, sql.named(sql.literal(_everywhere(labels)), _VOLUME), sql.named(sql.literal(rows), N))


def _everywhere(labels: Sequence[Labels]) -> float:
    volume = 1.0
    for column in labels:
        volume *= column.leaves
    return volume


def _mask(column: Labels, placement: Placement, alias: str) -> exp.Expr:
    """Return the bits of its key that a label leaves: by its level."""
    case = exp.Case(this=sql.column("level", alias))
    for level in range(column.height):
        case = case.when(sql.literal(level), sql.literal(placement.mask(level)), copy=False)
    return _unless_root(alias, case.else_(sql.literal(0), copy=False), 0)


def _key(placement: Placement, alias: str) -> exp.Expr:
    """Return the bits of its key that a label has."""
    code = sql.column(code_name(placement.number), alias)
    return _unless_root(alias, sql.shifted_left(code, placement.shift), 0)


def _unless_root(alias: str, value: exp.Expr, at_root: int) -> exp.Expr:
    at_top = exp.Case().when(sql.column("at_root", alias), sql.literal(at_root), copy=False)
    return at_top.else_(value, copy=False)
