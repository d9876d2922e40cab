"""What each label of a hierarchy stands for in a table: leaves, rows, extremes.

    kanon_labels_<column>(level, code, [code_2, ...], n, leaves, at_root, lower, upper)

One row for each label of each level, found by the prefix that its values have in common; those of level 0 are the
leaves themselves. ``n`` counts the rows of the table under the label, ``leaves`` the values of the hierarchy (NULL is
one where the table has NULLs), ``lower`` and ``upper`` are the extremes of those values where they are numbers or
dates. A label that reads like the root (NULL or a short branch at a low level) is at the root: who sees it learns no
more than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import FrequencySet, Placement, key_name, mask_name
from kanon_sql.engine.base import make_table
from kanon_sql.engine.equality import as_text
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.lookup_relation import Hierarchy


LABEL = "label"
"""Column with the text of a label."""


@dataclass(frozen=True)
class Labels:
    """The labels of one quasi-identifier.

    Attributes:
        number: number of the quasi-identifier.
        relation: the temporary table above.
        height: height of the hierarchy.
        rows: rows of the table.
        placements: where its codes are in the keys.
        leaves: leaves of the hierarchy; 0 for a table without rows.
        numeric: whether its values have a distance.
        lower, upper: extremes of the values in the table, if they have a distance.
    """

    number: int
    relation: exp.Table
    height: int
    rows: int
    placements: tuple[Placement, ...]
    leaves: int
    numeric: bool
    lower: float | None
    upper: float | None


def make_labels(frequency: FrequencySet, hierarchies: Sequence[Hierarchy]) -> tuple[Labels, ...]:
    """Return the labels of every quasi-identifier, made from the frequency set without another scan."""
    engine = frequency.engine
    relations = []
    for number, hierarchy in enumerate(hierarchies):
        query = _labels_query(frequency, hierarchy, number)
        relation = make_table(
            engine, f"kanon_labels_{hierarchy.column.name}", query, f"labels of {hierarchy.column.name}"
        )
        relations.append(relation)
    roots = [
        exp.select(sql.named(sql.literal(number), "number"), "leaves", "lower", "upper")
        .from_(relation.copy())
        .where(sql.column("level").eq(hierarchy.height))
        for number, (relation, hierarchy) in enumerate(zip(relations, hierarchies, strict=True))
    ]
    facts = {row[0]: row[1:] for row in engine.rows(sql.union_all(roots), "leaves of the hierarchies")}
    return tuple(
        Labels(
            number,
            relation,
            hierarchy.height,
            frequency.rows,
            _placements(frequency, number),
            *_leaves_and_numeric(facts.get(number), hierarchy.column),
        )
        for number, (relation, hierarchy) in enumerate(zip(relations, hierarchies, strict=True))
    )


def _labels_query(frequency: FrequencySet, hierarchy: Hierarchy, number: int) -> exp.Query:
    placements = _placements(frequency, number)
    codes = [code_name(placement.number) for placement in placements]
    # 1. Rows of the table with each value: from the frequency set.
    own = [code_in_key(placement, placement.word.mask(0)) for placement in placements]
    named = [sql.named(code, name) for code, name in zip(own, codes, strict=True)]
    rows = sql.named(exp.Sum(this=sql.column(N)), N)
    marginal = exp.select(*named, rows).from_(frequency.relation.copy(), copy=False)
    marginal = marginal.group_by(*(code.copy() for code in own), copy=False)
    # 2. The leaves: every value of the hierarchy, and NULL where the table has it.
    present = exp.Coalesce(this=sql.column(N, "marginal"), expressions=[sql.literal(0)])
    is_leaf = exp.or_(
        sql.column(VALUE, "lookup").is_(exp.null()).not_(),
        sql.column(N, "marginal") > 0,
    )
    leaves = (
        exp.select(
            *(sql.column(name, "lookup") for name in codes),
            sql.named(_root_level(hierarchy), "root_level"),
            sql.named(_as_number(hierarchy.column), "number"),
            sql.named(present, N),
        )
        .from_(sql.aliased(hierarchy.relation, "lookup"), copy=False)
        .join(
            sql.relation("marginal"),
            on=sql.all_of(sql.column(name, "lookup").eq(sql.column(name, "marginal")) for name in codes),
            join_type="left",
            copy=False,
        )
        .where(is_leaf, copy=False)
    )
    # 3. The labels of each level: leaves that share a prefix. The range of the root is that of the values in the table.
    masks = [mask_name(placement.number) for placement in placements]
    levels = [
        (level, *(placement.word.mask(level) for placement in placements)) for level in range(hierarchy.height + 1)
    ]
    prefixes = [
        sql.named(exp.BitwiseAnd(this=sql.column(name), expression=sql.column(mask)), name)
        for name, mask in zip(codes, masks, strict=True)
    ]
    level = sql.column("level")
    in_range = exp.or_(exp.LT(this=level, expression=sql.literal(hierarchy.height)), sql.column(N) > 0)
    labels = exp.select(
        level,
        *prefixes,
        sql.named(sql.sum_of(sql.column(N)), N),
        sql.named(sql.count_rows(), "leaves"),
        # An original value is what it is, however the root is called.
        sql.named(exp.LTE(this=exp.Min(this=sql.column("root_level")), expression=level.copy()), "at_root"),
        sql.named(sql.where(exp.Min(this=sql.column("number")), in_range), "lower"),
        sql.named(sql.where(exp.Max(this=sql.column("number")), in_range.copy()), "upper"),
    )
    labels = labels.from_(sql.relation("leaves"), copy=False)
    labels = labels.join(sql.values("levels", ["level", *masks], levels), join_type="cross", copy=False)
    labels = labels.group_by(level.copy(), *(prefix.this.copy() for prefix in prefixes), copy=False)
    return labels.with_("marginal", as_=marginal, copy=False).with_("leaves", as_=leaves, copy=False)


def _root_level(hierarchy: Hierarchy) -> exp.Expr:
    """Return the level from which on a label reads like the root; nothing else stands above that."""
    below = range(1, hierarchy.height)
    case = exp.Case()
    for level in below:
        case = case.when(sql.column(level_name(level), "lookup").eq(hierarchy.root), sql.literal(level))
    top = sql.literal(hierarchy.height)
    return case.else_(top) if below else top


def code_in_key(placement: Placement, mask: int) -> exp.Expr:
    """Return a word of a column's code, taken out of its key and masked."""
    key = sql.shifted_right(sql.column(key_name(placement.key)), placement.shift)
    return sql.bits(key, mask)


def labels_alias(column: Labels) -> str:
    return f"labels_{column.number + 1}"


def label_of_class(column: Labels, level: int) -> exp.Expr:
    """Return the condition that a label is that of a class at a level: they have a prefix in common."""
    alias = labels_alias(column)
    same_level = sql.column("level", alias).eq(level)
    return sql.all_of([same_level, *_prefixes(column, level)])


def label_of_step(column: Labels, level: exp.Expr, alias: str | None = None) -> exp.Expr:
    """Return the condition that a label is that of a class whose keys are masked, at a level that a column holds."""
    same_level = exp.EQ(this=sql.column("level", alias or labels_alias(column)), expression=level)
    return sql.all_of([same_level, *_prefixes(column, 0, alias)])


def written_labels_query(column: Labels, hierarchy: Hierarchy, levels: Iterable[int]) -> exp.Query:
    """Return the query of how labels are written: ``(level, label, code, [code_2, ...])``, each label once."""
    queries = []
    for level in levels:
        text = sql.column(level_name(level)) if level else as_text(sql.column(VALUE), hierarchy.column)
        prefixes = []
        for placement in column.placements:
            name = code_name(placement.number)
            prefixes.append(sql.named(sql.bits(sql.column(name), placement.word.mask(level)), name))
        number = sql.named(sql.literal(level), "level")
        query = exp.select(number, sql.named(text, LABEL), *prefixes).distinct()
        queries.append(query.from_(hierarchy.relation.copy()))
    return sql.union_all(queries)


def _prefixes(column: Labels, level: int, alias: str | None = None) -> list[exp.Expr]:
    return [
        exp.EQ(
            this=sql.column(code_name(placement.number), alias or labels_alias(column)),
            expression=code_in_key(placement, placement.word.mask(level)),
        )
        for placement in column.placements
        if placement.word.mask(level)
    ]


def _as_number(column: Column) -> exp.Expr:
    """Return a value as a number, dates in seconds; NULL where it is none that others have a distance from."""
    value = sql.column(VALUE, "lookup")
    match column.family:
        case "integer" | "decimal":
            return sql.cast(value, "DOUBLE")
        case "float" | "date" | "timestamp":
            finite = sql.finite(value, column.family)
            seconds = exp.Extract(this=exp.var("epoch"), expression=value.copy())
            number = value.copy() if column.family == "float" else seconds
            return exp.Case().when(finite, sql.cast(number, "DOUBLE"))
        case _:
            return sql.cast(exp.null(), "DOUBLE")


def _placements(frequency: FrequencySet, number: int) -> tuple[Placement, ...]:
    return tuple(placement for placement in frequency.placements if placement.column == number)


def _leaves_and_numeric(
    root: tuple[int, float | None, float | None] | None, column: Column
) -> tuple[int, bool, float | None, float | None]:
    leaves, lower, upper = root or (0, None, None)
    return leaves, column.is_numeric and lower is not None, lower, upper
