"""The lookup relation of a column: ``(value, level_1, ..., level_h, code)``, with one row for every value and for NULL.

NULL is a value like any other. Where a file gives it no row, it gets one that goes to the root at level 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import ComputationError, HierarchyError
from kanon_sql.hierarchy.build import built_query, interval_query, require_fit
from kanon_sql.hierarchy.check import count_tree, require_tree, untyped_query
from kanon_sql.hierarchy.expressions import ROOT, VALUE, level_name
from kanon_sql.hierarchy.facts import bind_rule
from kanon_sql.hierarchy.formats import read_hierarchy, read_levels
from kanon_sql.hierarchy.formats.intervals import IntervalTree
from kanon_sql.hierarchy.lookup_relation import Hierarchy, code_words, coded_query
from kanon_sql.hierarchy.prefix_file import prefix_columns, prefix_values, prefixed_query, require_prefixes
from kanon_sql.hierarchy.spec import BuiltRule, FileRule, FlatRule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.lookup_relation import StoredHierarchy
    from kanon_sql.hierarchy.prefix_file import PrefixRule
    from kanon_sql.hierarchy.rules import ColumnExtremes


def levels_columns(height: int) -> list[exp.Expr]:
    """Return the columns of a lookup relation without its codes."""
    return [sql.column(VALUE), *(sql.column(level_name(level)) for level in range(1, height + 1))]


def build_hierarchy(
    engine: Engine, source: exp.Table, column: Column, rule: BuiltRule, facts: ColumnExtremes, *, chosen: bool = False
) -> Hierarchy:
    """Return a hierarchy built from the values of a column.

    Raises:
        HierarchyError: the rule is for columns of another type, or has no labels for some values, or the levels do not
            nest.
    """
    require_fit(rule, column)
    try:
        settled = bind_rule(engine, source, column, rule, facts)
        query = built_query(settled.rule, column, source, facts)
        height = len(query.selects) - 1
        made = _coded(engine, column, query, height, ROOT, settled.origin, definition=query, chosen=chosen)
        return replace(made, notes=settled.notes)
    except ComputationError:
        if chosen and not isinstance(rule, FlatRule):  # this rule was not given
            return build_hierarchy(engine, source, column, FlatRule(), facts, chosen=True)
        raise HierarchyError(
            f"The hierarchy of column {column.name!r} ({rule}) cannot be computed: the column is {column.type}, and "
            "some of its values, or of the bounds between them, have more digits than numbers can have. Round or "
            "cast the column in a view, or use mask or flat."
        ) from None


def load_hierarchy(engine: Engine, source: exp.Table, column: Column, rule: FileRule) -> Hierarchy:
    """Return a hierarchy read from a file; of a tree of intervals, the values are those of the source.

    Raises:
        SourceError: the file cannot be opened.
        HierarchyError: it is no hierarchy, its values are not of the column's type, or it is no tree.
    """
    rows = read_hierarchy(rule.path, column.name)
    if isinstance(rows, IntervalTree):
        query = interval_query(rows, column, source, str(rule))
        made = _coded(engine, column, query, rows.height, ROOT, str(rule), definition=query)
        return replace(made, format=rows.format, notes=rows.notes)
    file = engine.temporary_name(f"kanon_file_{column.name}")
    height = len(rows.levels)
    columns = {VALUE: rows.values} | {level_name(n): labels for n, labels in enumerate(rows.levels, 1)}
    engine.load(file, columns, "load a hierarchy")
    notes = rows.notes
    if column.lookup_type != "VARCHAR":
        title = f"type of the values in the hierarchy of {column.name}"
        untyped, beyond = engine.row(untyped_query(file, column), title)
        if untyped:
            raise HierarchyError(
                f"The hierarchy of column {column.name!r} ({rule}): {untyped:,} of its {len(rows.values):,} "
                f"values cannot be read as {column.type}, the type of the column. Write them as the column has them"
                f"{', or remove the header line' if untyped == 1 and not rows.header else ''}."
            )
        if beyond:
            left_out = "1 value is" if beyond == 1 else f"{beyond:,} values are"
            notes = (*notes, f"{left_out} beyond what {column.type} can hold, and left out")
    definition = _with_row_for_null(file, height, column)
    hierarchy = _coded(engine, column, definition, height, rows.levels[-1][0], str(rule))
    engine.run(sql.drop(file), "drop the rows of the file")
    return replace(hierarchy, format=rows.format, notes=notes)


def load_prefixed(engine: Engine, source: exp.Table, column: Column, rule: PrefixRule) -> Hierarchy:
    """Return a hierarchy of the values of a column, each with the levels that a file gives to its first characters.

    Values whose first characters are not in the file get no row, as those that are not in another file.

    Raises:
        SourceError: the file cannot be opened.
        HierarchyError: it is no hierarchy of such prefixes, or the column does not hold text.
    """
    rows = read_levels(rule.path, column.name)
    require_prefixes(rule, rows, column)
    prefixes = engine.temporary_name(f"kanon_prefixes_{column.name}")
    engine.load(prefixes, prefix_columns(rows), "load a hierarchy")
    query = prefixed_query(rule, rows, column, source, sql.aliased(prefixes, "prefixes"))
    definition = prefixed_query(rule, rows, column, source, prefix_values(rows))
    height = len(query.selects) - 1
    hierarchy = _coded(engine, column, query, height, rows.levels[-1][0], str(rule), definition=definition)
    engine.run(sql.drop(prefixes), "drop the rows of the file")
    return hierarchy


def use_stored(engine: Engine, column: Column, stored: StoredHierarchy) -> Hierarchy:
    """Return a hierarchy that was loaded into the database before.

    Raises:
        HierarchyError: it has no levels, or is no tree any more.
    """
    stored.require_levels()
    levels = [sql.column(level_name(level)) for level in range(1, stored.height + 1)]
    value = exp.TryCast(this=sql.column(VALUE), to=exp.DataType.build(column.lookup_type, dialect=engine.dialect))
    query = exp.select(sql.named(value, VALUE), *levels).from_(stored.relation.copy())
    root = exp.select(sql.named(exp.Min(this=levels[-1].copy()), "root")).from_(stored.relation.copy())
    (label,) = engine.row(root, f"root of the hierarchy of {column.name}")
    return _coded(engine, column, query, stored.height, label or ROOT, stored.origin, stored=stored.relation)


def _with_row_for_null(file: exp.Table, height: int, column: Column) -> exp.Query:
    """Return the rows of a file, typed, with a row that sends NULL to the root unless the file has its own.

    Values that the type of the column cannot hold have no row: no row of the table can have them.
    """
    typed = exp.TryCast(this=sql.column(VALUE), to=exp.DataType.build(column.lookup_type, dialect="duckdb"))
    given = exp.select(sql.named(typed, VALUE), *levels_columns(height)[1:]).from_(file.copy())
    held = exp.or_(sql.column(VALUE).is_(exp.null()), typed.copy().is_(exp.null()).not_())
    given = given.where(held)
    root = exp.select(sql.named(exp.Min(this=sql.column(level_name(height))), "root")).from_(file.copy())
    has_null = exp.select("1").from_(file.copy()).where(sql.column(VALUE).is_(exp.null()))
    null_row = (
        exp.select(
            sql.named(exp.null(), VALUE),
            *(sql.named(sql.column("root", "top"), level_name(level)) for level in range(1, height + 1)),
        )
        .from_(root.subquery("top"))
        .where(exp.Exists(this=has_null).not_())
    )
    return exp.union(given, null_row, distinct=False)


def _coded(  # noqa: PLR0913 - the parts of a Hierarchy, passed through
    engine: Engine,
    column: Column,
    query: exp.Query,
    height: int,
    root: str,
    origin: str,
    *,
    definition: exp.Query | None = None,
    stored: exp.Table | None = None,
    chosen: bool = False,
) -> Hierarchy:
    """Return the hierarchy of a query of values and levels, checked and with codes."""
    # 1. Values and levels, made once.
    levels = engine.temporary_name(f"kanon_levels_{column.name}")
    engine.run(sql.create_table(levels, query, temporary=True), f"levels of {column.name}")
    # 2. They must form a tree.
    counts = count_tree(engine, levels, height, column.name)
    require_tree(counts, height, column.name, origin)
    # 3. The tree gets its codes.
    words = code_words(counts.children)
    relation = engine.temporary_name(f"kanon_hierarchy_{column.name}")
    coded = coded_query(levels, height, words)
    engine.run(sql.create_table(relation, coded, temporary=True), f"prefix codes of {column.name}")
    engine.run(sql.drop(levels), "drop the levels without codes")
    return Hierarchy(column, height, relation, words, root, origin, definition, stored, chosen)
