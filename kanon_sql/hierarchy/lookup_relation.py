"""A hierarchy as a relation with the labels and the prefix code of each value.

Prefix codes number a tree so that an ancestor is a bit prefix. Among its siblings, a label of level ``l`` has an
ordinal, counted from 0 in the order of the smallest value under each. The code of a value is the ordinals on the path
from the root to the leaf, each in a field as wide as the largest family at its level needs:

    value            level 1      level 2        ordinals   code (level 2 | level 1 | value)
    Bachelors        Undergrad    Higher         0, 0, 0    0 0 00
    Masters          Graduate     Higher         0, 1, 0    0 1 00

Clearing the fields below level ``l`` then leaves the same bits for two values exactly if they share their label at
level ``l``. Fields fill words of 62 bits, which fit a signed BIGINT without its sign; a column that needs more has its
code in several words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.hierarchy.expressions import VALUE, distinct_values_query, level_name, levels_columns
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.spec import Rule


@dataclass(frozen=True)
class StoredHierarchy:
    """A hierarchy in schema ``kanon`` of a database; its height is 0 if the table is not a hierarchy."""

    column: str
    relation: exp.Table
    height: int
    origin: str

    def require_levels(self) -> None:
        if self.height == 0:
            table = f"{self.relation.db}.{self.relation.name}"
            raise HierarchyError(
                f"Table {table} does not have the columns of a hierarchy (value, level_1, ...): drop it, or load or "
                f"build the hierarchy of column {self.column!r} again with --replace."
            )


@dataclass(frozen=True)
class Hierarchy:
    """The hierarchy of a quasi-identifier, ready for joins."""

    column: Column
    height: int  # number of levels above the values; level ``height`` is the root
    relation: exp.Table  # the lookup relation with values, levels and codes
    words: tuple[CodeWord, ...]
    root: str
    origin: str  # the rule or file as given
    # the query that makes values and levels from the source; None for a file
    definition: exp.Query | None = None
    stored: exp.Table | None = None  # the table in schema ``kanon`` that stores it, if any
    chosen: bool = False  # True if it was chosen because none was given
    format: str | None = None  # of its file
    notes: tuple[str, ...] = ()
    rule: Rule | None = None  # a rule or file that gives a value the same labels in any table, if any

    @property
    def readable(self) -> exp.Table:
        """The relation that published SQL joins: the stored one if there is one."""
        return self.stored or self.relation


WORD_BITS = 62
"""Bits of a word of codes."""


@dataclass(frozen=True)
class Field:
    """The bits of a word that distinguish the labels of one level under their parent."""

    level: int
    shift: int
    bits: int

    @property
    def mask(self) -> int:
        return ((1 << self.bits) - 1) << self.shift


@dataclass(frozen=True)
class CodeWord:
    """One word of the codes of a column, with its fields, lowest level first."""

    fields: tuple[Field, ...]

    @property
    def bits(self) -> int:
        return sum(field.bits for field in self.fields)

    def mask(self, level: int) -> int:
        """Return the bits that remain after a value is generalized to a level."""
        return sum(field.mask for field in self.fields if field.level >= level)


def code_name(word: int) -> str:
    """Return the name of the lookup column for a word of the code (from 0): ``code``, ``code_2``, ..."""
    return "code" if word == 0 else f"code_{word + 1}"


def code_words(children: tuple[int, ...]) -> tuple[CodeWord, ...]:
    """Return the layout of a column's codes.

    ``children`` is for each level from 0 to below the root the largest number of its labels under one parent.
    """
    words: list[CodeWord] = []
    fields: list[Field] = []
    used = 0
    for level, siblings in enumerate(children):
        bits = max(0, siblings - 1).bit_length()
        if used + bits > WORD_BITS:
            words.append(CodeWord(tuple(fields)))
            fields, used = [], 0
        if bits:
            fields.append(Field(level, used, bits))
            used += bits
    words.append(CodeWord(tuple(fields)))
    return tuple(words)


def coded_query(levels: exp.Table, height: int, words: tuple[CodeWord, ...]) -> exp.Query:
    def family(level: int) -> exp.Query:
        values = {"label": sql.column(level_name(level)), "parent": sql.column(level_name(level + 1))}
        names = {"ordinal": f"ordinal_{level}"}
        return sql.query("hierarchy/coded", part="families", values=values, relations={"lookup": levels}, names=names)

    def is_label(level: int) -> exp.Expr:
        return sql.same(sql.column(level_name(level), "levels"), sql.column(level_name(level), f"labels_{level}"))

    labels = levels_columns(height)[1:]
    grouped = [field.level for word in words for field in word.fields if field.level > 0]
    ordinals = (
        [sql.shifted_left(sql.column(f"ordinal_{field.level}"), field.shift) for field in word.fields] for word in words
    )
    codes = [sql.named(sql.cast(sql.combined(own), "BIGINT"), code_name(number)) for number, own in enumerate(ordinals)]
    return sql.query(
        "hierarchy/coded",
        values={
            "labels": labels,
            "qualified": [sql.column(label.name, "levels") for label in labels],
            "codes": codes,
        },
        relations={"lookup": levels},
        steps={"families": [(f"labels_{level}", family(level)) for level in grouped]},
        joins={"families": [(sql.relation(f"labels_{level}"), is_label(level)) for level in grouped]},
    )


@dataclass(frozen=True)
class CodedPaths:
    """The paths of a tree that was read from a file, with their values and the shared part of their codes."""

    paths: list[tuple[str, ...]]  # the labels above values, from level 1 to the root
    values: list[list[str | None]]  # the values of each path, in order
    codes: list[list[int]]  # for each word of the codes, its value in each path
    words: tuple[CodeWord, ...]


def coded_paths(values: Sequence[str | None], paths: Sequence[tuple[str, ...]], path_of: Sequence[int]) -> CodedPaths:
    """Return the codes of a tree, equal to those of ``coded_query``.

    ``values`` are in order, with NULL first; ``path_of`` has the path number of each value.
    """
    members: dict[int, list[str | None]] = {}
    for value, number in zip(values, path_of, strict=True):
        if (own := members.get(number)) is None:
            own = members[number] = []
        own.append(value)
    # 1. The ordinal of each label among its siblings, in the order of the smallest value under each. NULL does not
    #    count
    # under a label with other values; a label with only NULL comes first.
    of_null = paths[path_of[0]]
    with_values = [paths[number] for number in dict.fromkeys(path_of[1:])]
    ordinals: list[dict[str, int]] = []
    children = [max(map(len, members.values()))]
    for level in range(1, len(of_null)):
        parents = {path[level - 1]: path[level] for path in with_values}
        null, above_null = of_null[level - 1 : level + 1]
        if null not in parents:
            parents = {null: above_null, **parents}
        siblings: Counter[str] = Counter()
        ordinals.append({})
        for label, parent in parents.items():
            ordinals[-1][label] = siblings[parent]
            siblings[parent] += 1
        children.append(max(siblings.values()))
    # 2. The ordinals side by side.
    words = code_words(tuple(children))
    kept = [paths[number] for number in members]
    codes = [
        [
            sum(ordinals[part.level - 1][path[part.level - 1]] << part.shift for part in word.fields if part.level)
            for path in kept
        ]
        for word in words
    ]
    return CodedPaths(kept, list(members.values()), codes, words)


def load_paths(engine: Engine, relation: exp.Table, coded: CodedPaths, value_type: str, title: str) -> None:
    """Create the lookup relation of a hierarchy file."""
    labels = [level_name(level) for level in range(1, len(coded.paths[0]) + 1)]
    codes = [code_name(number) for number in range(len(coded.words))]
    kinds = {"members": "VARCHAR[][]", **dict.fromkeys(labels, "VARCHAR[]"), **dict.fromkeys(codes, "BIGINT[]")}
    lists = {name: exp.Explode(this=sql.cast(exp.Placeholder(this=name), kind)) for name, kind in kinds.items()}
    value = exp.Explode(this=sql.column("members"))
    query = sql.query(
        "hierarchy/paths",
        values={
            "value": value if value_type == "VARCHAR" else sql.cast(value, value_type),
            "labels": [*map(sql.column, labels)],
            "further_words": [*map(sql.column, codes[1:])],
            "lists": [sql.named(given, name) for name, given in lists.items()],
        },
    )
    parameters = dict(zip(kinds, [coded.values, *map(list, zip(*coded.paths, strict=True)), *coded.codes], strict=True))
    engine.rows(sql.create_table(relation, query, temporary=True), title, parameters)


def lookup_statement(
    engine: Engine,
    hierarchy: Hierarchy,
    *,
    dialect: str = "duckdb",
    levels: Sequence[int] | None = None,
    source: exp.Table | None = None,
    only: exp.Expr | None = None,
) -> exp.Create:
    """Return the statement that makes a lookup relation: its rule over the source, or its rows, read from ``engine``.

    ``levels`` are the needed ones, ``source`` the relation that the rule reads (None: the original one), and ``only`` a
    condition on rows that are written out.
    """
    rows = rule_query(hierarchy, dialect, levels, source)
    if rows is None:
        needed = range(1, hierarchy.height + 1) if levels is None else levels
        rows = _literal_rows(engine, hierarchy, needed, only)
    elif source is not None:
        rows = reading(rows, source)
    return sql.create_table(hierarchy.relation.copy(), rows, temporary=True)


def rule_query(
    hierarchy: Hierarchy, dialect: str, levels: Sequence[int] | None, source: exp.Table | None
) -> exp.Query | None:
    """Return the query that makes some levels of a hierarchy from the source; None if the dialect cannot express it."""
    query = hierarchy.definition
    levels = range(1, hierarchy.height + 1) if levels is None else levels
    if not levels and source is not None:  # only the values, so their labels do not matter
        query = distinct_values_query(hierarchy.column, source)
    if query is None or (dialect != "duckdb" and query.find(exp.Values) is not None):
        return None
    kept = {VALUE, *map(level_name, levels)}
    query = query.copy()
    for part in query.find_all(exp.Select, bfs=True) if isinstance(query, exp.SetOperation) else [query]:
        if part is query or part.parent is query:
            part.set("expressions", [item for item in part.selects if item.alias_or_name in kept])
    try:
        rendered(query, dialect)
    except UsageError:
        return None
    return query


def reading(query: exp.Query, table: exp.Table | exp.Subquery) -> exp.Query:
    """Return the query of a hierarchy's rule over another table."""
    query = query.copy()
    for source in [source for source in query.find_all(exp.Table) if source.alias == "source"]:
        source.replace(sql.aliased(table, "source"))
    return query


def _literal_rows(engine: Engine, hierarchy: Hierarchy, levels: Sequence[int], only: exp.Expr | None) -> exp.Query:
    names = [VALUE, *map(level_name, levels)]
    labels = [sql.column(name) for name in names[1:]]
    as_text = [sql.named(sql.cast(sql.column(VALUE), "VARCHAR"), VALUE), *labels]
    query = exp.select(*as_text).from_(hierarchy.relation.copy()).order_by(sql.column(VALUE, hierarchy.relation.name))
    rows = engine.rows(
        query if only is None else query.where(only), f"rows of the hierarchy of {hierarchy.column.name}"
    )
    held = {hierarchy.column.name: frozenset(row[0] for row in rows if row[0] is not None)}
    return sql.written_out(names, rows, [hierarchy.column.lookup_type, *("VARCHAR" for _ in labels)], held)
