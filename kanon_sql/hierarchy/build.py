"""The facts about a column that building or choosing a hierarchy needs: extremes and lengths, in one statement."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.hierarchy.expressions import NUMBERS, exact_number
from kanon_sql.hierarchy.rules import BuiltRule, ColumnExtremes
from kanon_sql.hierarchy.rules.texts import PrefixesRule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine


def column_facts(
    engine: Engine, source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]
) -> dict[str, ColumnExtremes]:
    """Return by name what the rules of columns need to know (None: what choosing a rule needs), in one statement."""
    needed = [(column.name, fact) for column, rule in columns for fact in _needed_facts(column, rule)]
    answers: tuple[Any, ...] = ()
    if (query := facts_query(source, columns)) is not None:
        answers = engine.row(query, "extremes of the columns that get a hierarchy built")
    known: dict[str, dict[str, Any]] = {column.name: {} for column, _ in columns}
    for (name, fact), answer in zip(needed, answers, strict=True):
        if answer is not None:
            known[name][fact] = Decimal(str(answer)) if fact in {"minimum", "maximum"} else answer
    return {name: ColumnExtremes(**facts) for name, facts in known.items()}


def facts_query(source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]) -> exp.Select | None:
    """Return the query behind ``column_facts``; None if nothing must be known."""
    needed = [expression for column, rule in columns for expression in _needed_facts(column, rule).values()]
    return exp.select(*needed).from_(sql.aliased(source, "source")) if needed else None


def _needed_facts(column: Column, rule: BuiltRule | None) -> dict[str, exp.Expr]:
    """Return the aggregates that a rule needs, by the fact that each tells: to write values as text takes long."""
    value = sql.column(column.name, "source")
    needs = rule.needs if rule is not None else "extremes" if column.family in NUMBERS else column.family
    if needs == "longest" and not (isinstance(rule, PrefixesRule) and rule.lengths):
        return {"longest": exp.Max(this=_length(value))}
    if needs == "text":
        return {
            "shortest": exp.Min(this=_length(value)),
            "longest": exp.Max(this=_length(value)),
            "most_bytes": exp.Max(this=exp.func("STRLEN", sql.cast(value.copy(), "VARCHAR"))),
        }
    if needs == "extremes" and column.family in NUMBERS:
        number = exact_number(value, column)
        return {"minimum": exp.Min(this=number), "maximum": exp.Max(this=number.copy())}
    return {}


def _length(value: exp.Expr) -> exp.Expr:
    return exp.Length(this=sql.cast(value.copy(), "VARCHAR"))
