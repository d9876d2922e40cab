"""Hierarchies kept in the database: tables ``kanon.hierarchy_<column>`` beside the data they generalize."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.warehouse.sending import shape_of, written_rows
from kanon_sql.hierarchy.build import VALUE, level_name
from kanon_sql.hierarchy.code import coded_query
from kanon_sql.hierarchy.lookup_relation import Hierarchy, StoredHierarchy
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.warehouse.workbench import Workbench

SCHEMA = "kanon"
REMEMBERING = frozenset({"releases", "dp_budgets", "dp_spent"})
"""Tables of it that remember what was told of others: they outlive the rows that it was told of."""
_PREFIX = "hierarchy_"


def stored_hierarchies(engine: Engine) -> dict[str, StoredHierarchy]:
    """Return the hierarchies in the schema ``kanon``, by the folded name of their column."""
    found = {}
    for name, origin, columns in engine.rows(sql.statement("hierarchy/stored"), "hierarchies in the database"):
        column = str(name).removeprefix(_PREFIX)
        found[folded(column)] = StoredHierarchy(
            column, sql.relation(name, SCHEMA), _height(columns), origin or f"{SCHEMA}.{name}"
        )
    return found


def _height(columns: list[str]) -> int:
    """Return how many levels a table with these columns has; 0 if it is no lookup relation at all."""
    names = {folded(column) for column in columns}
    if VALUE not in names:
        return 0
    return next(level for level in count(1) if level_name(level) not in names) - 1


def store_statements(hierarchy: Hierarchy, *, replace: bool) -> list[exp.Expr]:
    """Return the statements that keep a hierarchy in the database, codes and all, with its origin as a comment."""
    query = coded_query(hierarchy.relation, hierarchy.height, hierarchy.words)
    return _kept_statements(hierarchy, query, replace=replace)


def keep_in_warehouse(bench: Workbench, source: exp.Table, hierarchy: Hierarchy, *, replace: bool) -> None:
    """Keep a hierarchy that the workbench has in the warehouse: its rows are carried over, then are a table there.

    Args:
        bench: has the hierarchy.
        source: the table of the warehouse that has its column: values have the type that they have there.
        hierarchy: to be kept.
        replace: whether one that is there goes.
    """
    coded = bench.temporary_name("kanon_coded")
    title = f"keep the hierarchy of {hierarchy.column.name}"
    query = coded_query(hierarchy.relation, hierarchy.height, hierarchy.words)
    bench.run(sql.create_table(coded, query, temporary=True), title)
    kinds = {column.name: column.type for column in bench.columns(coded)}
    rows = written_rows(bench, coded, kinds, title)
    shape = shape_of(source, {**kinds, VALUE: sql.column(hierarchy.column.name, "source")})
    bench.warehouse.upload(coded, shape, [*kinds], rows, title)
    kept = exp.select(*(sql.column(name) for name in kinds)).from_(coded.copy())
    for statement in _kept_statements(hierarchy, kept, replace=replace):
        bench.warehouse.run(statement, title)


def _kept_statements(hierarchy: Hierarchy, query: exp.Query, *, replace: bool) -> list[exp.Expr]:
    table = sql.relation(f"{_PREFIX}{hierarchy.column.name}", SCHEMA)
    schema = exp.Create(this=exp.Table(db=sql.identifier(SCHEMA)), kind="SCHEMA", exists=True)
    create = sql.create_table(table, query)
    comment = exp.Comment(this=table.copy(), kind="TABLE", expression=sql.literal(hierarchy.origin))
    return [schema, *([sql.drop(table)] if replace else []), create, comment]
