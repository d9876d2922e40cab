"""The lookup relation of a hierarchy as a statement of a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.build import VALUE, distinct_values, level_name
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy


def lookup_statement(
    engine: Engine,
    hierarchy: Hierarchy,
    *,
    dialect: str = "duckdb",
    levels: Sequence[int] | None = None,
    source: exp.Table | None = None,
    only: exp.Expr | None = None,
) -> exp.Create:
    """Return the statement that makes a lookup relation: its rule over the source, or its rows.

    Args:
        engine: holds the rows.
        hierarchy: what is looked up.
        dialect: of the script; a rule that it cannot say gives rows.
        levels: those that are needed; None for all.
        source: the relation that a rule reads, where that is not the one that it was made for.
        only: which of the rows are written out; None for all.
    """
    if (rule := rule_of(hierarchy, dialect, levels, source)) is not None:
        if source is not None:
            rule.transform(_read_from, source, copy=False)
        return sql.create_table(hierarchy.relation.copy(), rule, temporary=True)
    needed = range(1, hierarchy.height + 1) if levels is None else levels
    rows = _literal_rows(engine, hierarchy, needed, only)
    return sql.create_table(hierarchy.relation.copy(), rows, temporary=True)


def rule_of(
    hierarchy: Hierarchy, dialect: str, levels: Sequence[int] | None, source: exp.Table | None
) -> exp.Query | None:
    """Return the query that makes some levels of a hierarchy from the source, if a dialect can say it; else None."""
    query = hierarchy.definition
    levels = range(1, hierarchy.height + 1) if levels is None else levels
    if not levels and source is not None:  # the values alone, whatever says their labels
        query = distinct_values(hierarchy.column, source)
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


def _read_from(node: exp.Expr, source: exp.Table) -> exp.Expr:
    return sql.aliased(source, "source") if isinstance(node, exp.Table) and node.alias == "source" else node


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
