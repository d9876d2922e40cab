"""Shape and fit of hierarchies: their size, whether they fit a table, and examples of ready-made ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.check import count_missing
from kanon_sql.hierarchy.expressions import VALUE, compared, level_name, levels_columns
from kanon_sql.hierarchy.formats import read_hierarchy
from kanon_sql.hierarchy.given import build_hierarchy
from kanon_sql.hierarchy.ready import READY, ReadyMade
from kanon_sql.hierarchy.rules import BuiltRule, column_facts
from kanon_sql.hierarchy.spec import FileRule, parse_rule
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.formats.rows import HierarchyRows
    from kanon_sql.hierarchy.lookup_relation import Hierarchy


@dataclass(frozen=True)
class Shape:
    """The size of a hierarchy."""

    name: str
    height: int | None  # number of levels above the values; None for a rule whose levels depend on the values
    leaves: int | None  # number of values without NULL, or of prefixes if values are looked up by them; None for a rule
    labels: tuple[int, ...]  # number of labels at each level from 1, without that of NULL; empty for a rule
    origin: str
    by_prefix: bool = False  # whether its values are prefixes by which values of a column are looked up
    format: str | None = None
    notes: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "levels": self.height,
            "values": self.leaves,
            "labels_per_level": list(self.labels),
            "origin": self.origin,
            "format": self.format,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Fit:
    """The fit of a hierarchy to a column; a number is None if the hierarchy could not be read."""

    column: str
    origin: str
    height: int | None = None
    values_missing: int | None = None  # distinct values of the column without a row
    rows_missing: int | None = None  # rows of the table with such a value
    problem: str | None = None  # the problem and its fix; None if it fits
    format: str | None = None
    notes: tuple[str, ...] = ()


def shape_of_rows(rows: HierarchyRows, rule: FileRule, name: str) -> Shape:
    present = [place for place, value in enumerate(rows.values) if value is not None]
    labels = tuple(len({level[place] for place in present}) for level in rows.levels)
    return Shape(name, rows.height, len(present), labels, str(rule), format=rows.format, notes=rows.notes)


def shape_query(relation: exp.Table, height: int) -> exp.Select:
    labels = [sql.count_distinct(sql.column(level_name(level))) for level in range(1, height + 1)]
    present = exp.Is(this=sql.column(VALUE), expression=exp.null()).not_()
    return exp.select(sql.count_rows(), *labels).from_(relation.copy()).where(present)


def shape_of_relation(engine: Engine, relation: exp.Table, height: int, name: str, origin: str) -> Shape:
    leaves, *labels = engine.row(shape_query(relation, height), f"shape of the hierarchy of {name}")
    return Shape(name, height, leaves, tuple(labels), origin)


def shape_of_hierarchy(engine: Engine, made: Hierarchy) -> Shape:
    shape = shape_of_relation(engine, made.relation, made.height, made.column.name, made.origin)
    return replace(shape, format=made.format, notes=made.notes)


def fit(engine: Engine, source: exp.Table, column: Column, origin: str, make: Callable[[], Hierarchy]) -> Fit:
    """Return the fit of the hierarchy from ``make``: it fits if it is a tree with a row for every value."""
    try:
        made = make()
    except HierarchyError as error:
        return Fit(column.name, origin, problem=str(error))
    missing = count_missing(engine, source, made)
    counts = (missing.values, missing.rows, missing.message)
    return Fit(column.name, made.origin, made.height, *counts, made.format, made.notes)


def missing_values_query(source: exp.Table, lookup: exp.Table, column: Column) -> exp.Query:
    """Return the query of the values without a row in a hierarchy, the most frequent first."""
    return sql.query(
        "hierarchy/missing_values",
        values={"value": sql.column(column.name, "source")},
        tables={"source": source, "lookup": lookup},
        names={"rows_missing": unused_name("rows_missing", [column.name])},
    )


def rows_query(relation: exp.Table, height: int, limit: int | None = None, *, as_text: bool = False) -> exp.Select:
    """Return the query of the rows of a lookup relation, ordered by value; optionally with values as text."""
    _, *levels = levels_columns(height)
    value: exp.Expr = sql.column(VALUE, relation.name)
    shown = sql.named(sql.cast(value, "VARCHAR"), VALUE) if as_text else value
    query = exp.select(shown, *levels).from_(relation.copy())
    query = query.order_by(exp.Ordered(this=value.copy(), nulls_first=True))
    return query if limit is None else query.limit(limit)


def ready_shape(ready: ReadyMade) -> Shape:
    name = f"{READY}{ready.name}"
    if ready.path is None:
        rule = _rule_of(ready)
        return Shape(name, rule.height, None, (), str(rule))
    rows = ready_rows(ready)
    labels = tuple(len(set(level)) for level in list(zip(*rows, strict=True))[1:])
    return Shape(name, len(labels), len(rows), labels, name, by_prefix=bool(ready.prefix))


def ready_rows(ready: ReadyMade) -> list[tuple[str | None, ...]]:
    """Return the rows of a ready-made hierarchy: value, levels, root. For a rule, those of its examples."""
    if ready.path is None:
        return _of_examples(ready)
    rows = read_hierarchy(ready.path, ready.name).rows
    if not ready.prefix or ready.hide:
        return rows
    return [(value, *(compared(value or "")[:length] for length in ready.prefix), *labels) for value, *labels in rows]


def _rule_of(ready: ReadyMade) -> BuiltRule:
    rule = parse_rule(ready.rule or "")
    assert isinstance(rule, BuiltRule)  # noqa: S101 - our own catalogue
    return rule


def _of_examples(ready: ReadyMade) -> list[tuple[str | None, ...]]:
    """Apply a rule to the examples of the catalogue; no user table is read."""
    kind = {int: "INTEGER", str: "VARCHAR"}.get(type(ready.examples[0]), "DATE")
    with DuckDBEngine.in_memory() as engine:
        table = engine.temporary_name("kanon_examples")
        texts = sql.values("examples", ["text"], [[str(example)] for example in ready.examples])
        value = sql.named(sql.cast(sql.column("text"), kind), "value")
        engine.run(sql.create_table(table, exp.select(value).from_(texts), temporary=True), "examples")
        (column,) = engine.columns(table)
        rule = _rule_of(ready)
        facts = column_facts(engine, table, [(column, rule)])["value"]
        built = build_hierarchy(engine, table, column, rule, facts)
        rows = engine.rows(rows_query(built.relation, built.height, None), "labels of the examples")
    return [(str(value), *labels) for value, *labels in rows if value is not None]
