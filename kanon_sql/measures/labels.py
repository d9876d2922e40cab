"""What each label of a hierarchy stands for in a table: leaves, rows, extremes.

    kanon_label_facts(number, level, code, [code_2, ...], n, leaves, at_root, lower, upper)

``number`` is that of the quasi-identifier. One row for each label of each level, found by the prefix that its values
have in common; those of level 0 are the leaves themselves. ``n`` counts the rows of the table under the label,
``leaves`` the values of the hierarchy (NULL is one where the table has NULLs), ``lower`` and ``upper`` are the extremes
of those values where they are numbers or dates. A label that reads like the root (NULL or a short branch at a low
level) is at the root: who sees it learns no more than that.
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
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.lookup_relation import Hierarchy


LABEL = "label"
"""Column with the text of a label."""
NUMBER = "number"
"""Column with the number of the quasi-identifier."""


@dataclass(frozen=True)
class Labels:
    """The labels of one quasi-identifier.

    Attributes:
        number: number of the quasi-identifier.
        facts: the temporary table above, which has the labels of all quasi-identifiers.
        height: height of the hierarchy.
        rows: rows of the table.
        placements: where its codes are in the keys.
        leaves: leaves of the hierarchy; 0 for a table without rows.
        numeric: whether its values have a distance.
        lower, upper: extremes of the values in the table, if they have a distance.
    """

    number: int
    facts: exp.Table
    height: int
    rows: int
    placements: tuple[Placement, ...]
    leaves: int
    numeric: bool
    lower: float | None
    upper: float | None

    @property
    def relation(self) -> exp.Subquery:
        """Its part of the table."""
        own = exp.select("*").from_(self.facts.copy()).where(sql.column(NUMBER).eq(self.number))
        return own.subquery("labels", copy=False)


def make_labels(
    frequency: FrequencySet,
    hierarchies: Sequence[Hierarchy],
    others: Mapping[int, tuple[FrequencySet, int]] | None = None,
) -> tuple[Labels, ...]:
    """Return the labels of every quasi-identifier, made from the frequency set without another scan.

    Args:
        frequency: the frequency set.
        hierarchies: of the quasi-identifiers.
        others: for the number of a quasi-identifier of which no rows need be counted, a smaller frequency set that has
            all of its values, and its number there.
    """
    engine = frequency.engine
    query = _labels_query(frequency, hierarchies, others or {})
    relation = make_table(engine, "kanon_label_facts", query, "labels of the hierarchies")
    roots = [
        exp.and_(sql.column(NUMBER).eq(number), sql.column("level").eq(hierarchy.height))
        for number, hierarchy in enumerate(hierarchies)
    ]
    found = exp.select(NUMBER, "leaves", "lower", "upper").from_(relation.copy()).where(exp.or_(*roots))
    facts = {row[0]: row[1:] for row in engine.rows(found, "leaves of the hierarchies")}
    return tuple(
        Labels(
            number,
            relation,
            hierarchy.height,
            frequency.rows,
            _placements(frequency, number),
            *_leaves_and_numeric(facts.get(number), hierarchy.column),
        )
        for number, hierarchy in enumerate(hierarchies)
    )


def _labels_query(
    frequency: FrequencySet, hierarchies: Sequence[Hierarchy], others: Mapping[int, tuple[FrequencySet, int]]
) -> exp.Query:
    columns = [_placements(frequency, number) for number in range(len(hierarchies))]
    words = range(max(map(len, columns)))
    codes, masks = [code_name(word) for word in words], [mask_name(word) for word in words]
    lookups, marginals, levels = [], [], []
    for number, (hierarchy, placements) in enumerate(zip(hierarchies, columns, strict=True)):
        shorter = [sql.literal(0)] * (len(words) - len(placements))  # the codes of others have more words
        # 1. The values of the hierarchy.
        own: list[exp.Expr] = [sql.column(code_name(placement.number)) for placement in placements]
        of_lookup: dict[str, sql.Given] = {
            "number": number,
            "codes": [sql.named(code.copy(), name) for code, name in zip([*own, *shorter], codes, strict=True)],
            "root_level": _root_level(hierarchy),
            "as_number": as_number(sql.column(VALUE), hierarchy.column),
        }
        lookups.append(
            sql.select("measures/labels", part="lookups", values=of_lookup, tables={"lookup": hierarchy.relation})
        )
        # 2. Rows of the table with each value: from the frequency set.
        counted, there = others.get(number, (frequency, number))
        own = [code_in_key(placement, placement.word.mask(0)) for placement in _placements(counted, there)]
        of_rows: dict[str, sql.Given] = {
            "number": number,
            "codes_in_keys": [sql.named(code.copy(), name) for code, name in zip([*own, *shorter], codes, strict=True)],
            "grouped": own,
        }
        relations = {"kanon_frequency": counted.relation}
        marginals.append(sql.select("measures/labels", part="marginals", values=of_rows, relations=relations))
        # 3. What the levels leave of codes.
        for level in range(hierarchy.height + 1):
            left = [placement.word.mask(level) for placement in placements] + [0] * len(shorter)
            levels.append((number, level, level < hierarchy.height, *left))
    same = [sql.column(name, "lookups").eq(sql.column(name, "marginals")) for name in (NUMBER, *codes)]
    prefixes = [
        sql.named(exp.BitwiseAnd(this=sql.column(name, "leaves"), expression=sql.column(mask, "levels")), name)
        for name, mask in zip(codes, masks, strict=True)
    ]
    return sql.query(
        "measures/labels",
        values={
            "codes_of_leaves": [sql.column(name, "lookups") for name in codes],
            "is_value": sql.all_of(same),
            "prefixes": prefixes,
        },
        steps={
            "lookups": [("lookups", sql.union_all(lookups))],
            "marginals": [("marginals", sql.union_all(marginals))],
        },
        relations={"levels": sql.values("levels", [NUMBER, "level", "below_root", *masks], levels)},
    )


def _root_level(hierarchy: Hierarchy) -> exp.Expr:
    """Return the level from which on a label reads like the root; nothing else stands above that."""
    below = range(1, hierarchy.height)
    case = exp.Case()
    for level in below:
        case = case.when(sql.column(level_name(level)).eq(hierarchy.root), sql.literal(level))
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


def as_number(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value of a column as a number, dates in seconds; NULL where no other has a distance from it."""
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
