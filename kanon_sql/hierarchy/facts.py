"""What a rule must know about a column's values before it can say what the levels are."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.hierarchy.numbers import NUMBERS, exact_number
from kanon_sql.hierarchy.rules.base import Facts
from kanon_sql.hierarchy.rules.prefixes import PrefixesRule
from kanon_sql.hierarchy.rules.steps import StepRule
from kanon_sql.hierarchy.spec import IntervalRule, MaskRule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.spec import BuiltRule


def column_facts(
    engine: Engine, source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]
) -> dict[str, Facts]:
    """Return by name what the rules of columns need to know, asked in one statement; in none if they need nothing.

    Args:
        engine: holds the table.
        source: the table.
        columns: each with its rule; None where one is to be chosen.
    """
    asked = [(column.name, fact) for column, rule in columns for fact in _asked(column, rule)]
    answers: tuple[Any, ...] = ()
    if (query := facts_query(source, columns)) is not None:
        answers = engine.row(query, "extremes of the columns that get a hierarchy built")
    known: dict[str, dict[str, Any]] = {column.name: {} for column, _ in columns}
    for (name, fact), answer in zip(asked, answers, strict=True):
        if answer is not None:
            known[name][fact] = Decimal(str(answer)) if fact in {"minimum", "maximum"} else answer
    return {name: Facts(**facts) for name, facts in known.items()}


def facts_query(source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]) -> exp.Select | None:
    """Return the query behind ``column_facts``; None if nothing must be known."""
    asked = [expression for column, rule in columns for expression in _asked(column, rule).values()]
    return exp.select(*asked).from_(sql.aliased(source, "source")) if asked else None


def _asked(column: Column, rule: BuiltRule | None) -> dict[str, exp.Expr]:
    """Return the aggregates that a rule needs, by the fact that each tells: to write values as text takes long."""
    value = sql.column(column.name, "source")
    if isinstance(rule, MaskRule) or (isinstance(rule, PrefixesRule) and not rule.lengths):
        return {"longest": exp.Max(this=_length(value))}
    if rule is None and column.family == "text":
        return {
            "shortest": exp.Min(this=_length(value)),
            "longest": exp.Max(this=_length(value)),
            "most_bytes": exp.Max(this=exp.func("STRLEN", sql.cast(value.copy(), "VARCHAR"))),
        }
    if (rule is None or isinstance(rule, IntervalRule | StepRule)) and column.family in NUMBERS:
        number = exact_number(value, column)
        return {"minimum": exp.Min(this=number), "maximum": exp.Max(this=number.copy())}
    return {}


def _length(value: exp.Expr) -> exp.Expr:
    return exp.Length(this=sql.cast(value.copy(), "VARCHAR"))
