"""What a ready-made hierarchy looks like: its shape, its rows, and what a rule does to examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.hierarchy.compared import compared
from kanon_sql.hierarchy.facts import column_facts
from kanon_sql.hierarchy.lookup import build_hierarchy
from kanon_sql.hierarchy.read import read_levels
from kanon_sql.hierarchy.ready import READY, ReadyMade
from kanon_sql.hierarchy.report import Shape, rows_query
from kanon_sql.hierarchy.rules.cut import CutRule
from kanon_sql.hierarchy.rules.steps import StepRule
from kanon_sql.hierarchy.spec import DateRule, IntervalRule, MaskRule, RoundRule, parse_rule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.hierarchy.spec import BuiltRule

Row = tuple[str | None, ...]


def ready_shape(ready: ReadyMade) -> Shape:
    """Return the shape of a ready-made hierarchy."""
    name = f"{READY}{ready.name}"
    if ready.path is None:
        rule = _rule_of(ready)
        return Shape(name, _height(rule), None, (), str(rule))
    rows = ready_rows(ready)
    labels = tuple(len(set(level)) for level in list(zip(*rows, strict=True))[1:])
    return Shape(name, len(labels), len(rows), labels, name, by_prefix=bool(ready.prefix))


def ready_rows(ready: ReadyMade) -> list[Row]:
    """Return the rows of a ready-made hierarchy: value, levels, root. Of a rule: those of its examples."""
    if ready.path is None:
        return _of_examples(ready)
    read = read_levels(ready.path, ready.name)
    rows = list(zip(read.values, *read.levels, strict=True))
    if not ready.prefix or ready.hide:
        return rows
    return [(value, *(compared(value or "")[:length] for length in ready.prefix), *labels) for value, *labels in rows]


def _rule_of(ready: ReadyMade) -> BuiltRule:
    rule = parse_rule(ready.rule or "")
    assert isinstance(rule, IntervalRule | MaskRule | CutRule | DateRule | RoundRule | StepRule)  # noqa: S101 - our own catalogue
    return rule


def _height(rule: BuiltRule) -> int | None:
    """Return the levels of a rule; None where the length of the values decides."""
    match rule:
        case IntervalRule(widths=parts) | DateRule(units=parts) | RoundRule(digits=parts):
            return len(parts) + 1
        case MaskRule():
            return len(rule.counts) + 1 if rule.counts else None
        case CutRule():
            return len(rule.counts) + rule.letters + 1
        case StepRule():
            return StepRule.height
        case _:
            return 1


def _of_examples(ready: ReadyMade) -> list[Row]:
    """Return what a rule does to the examples of the catalogue; nothing of any person's table is read."""
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
