"""What the data decide of a rule: extremes of columns, bounds that are left open, and the rule of a type."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.hierarchy.expressions import NUMBERS, exact_number
from kanon_sql.hierarchy.rules import ColumnExtremes
from kanon_sql.hierarchy.rules.numbers import QuantileRule, StepRule
from kanon_sql.hierarchy.rules.texts import PrefixesRule
from kanon_sql.hierarchy.spec import BuiltRule, DateRule, FlatRule, IntervalRule, MaskRule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine


def column_facts(
    engine: Engine, source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]
) -> dict[str, ColumnExtremes]:
    """Return by name what the rules of columns need to know, asked in one statement; in none if they need nothing.

    Args:
        engine: holds the table.
        source: the table.
        columns: each with its rule; None where one is to be chosen.
    """
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


@dataclass(frozen=True)
class BoundRule:
    """A rule that knows its bounds.

    Attributes:
        rule: with its bounds.
        origin: what the hierarchy is called.
        notes: what a person should know about the bounds.
    """

    rule: BuiltRule
    origin: str
    notes: tuple[str, ...] = ()


def bind_rule(engine: Engine, source: exp.Table, column: Column, rule: BuiltRule, facts: ColumnExtremes) -> BoundRule:
    """Return a rule with the bounds that the data ask for, where it does not say them itself."""
    match rule:
        case QuantileRule():
            note = (
                "its bounds were chosen by the data. They are rounded as far as the gaps between values allow, but one "
                "may still be a value of somebody, and other data give other bounds"
            )
            return BoundRule(rule.settled(engine, source, column), f"{rule} (bounds chosen by the data)", (note,))
        case PrefixesRule() if not rule.lengths:
            found = rule.settled(engine, source, column, facts.longest)
            said = "its prefixes were chosen by the data: give their lengths to have the same for other data"
            return BoundRule(found, f"{found} (lengths chosen by the data)", (said,))
        case _:
            return BoundRule(rule, str(rule))


_INTERVALS_AT_FIRST_LEVEL = 16
_LEVELS_CHOSEN = 4
_CODE_LENGTHS = range(2, 13)


def chosen_rule(column: Column, facts: ColumnExtremes) -> BuiltRule:
    """Return a rule for a column.

    Numbers get intervals of 1, 2, 4 and 8 times a round width, about 16 of them at the first level. Dates get
    months, quarters, years and decades (timestamps days before that). Text whose values are all of the same
    length, 2 to 12 characters of ASCII, is a code like a ZIP and is masked from the right. All else is flat: a name
    of two Chinese characters is no code, and its first character no group.
    """
    match column.family:
        case "integer" | "decimal" | "float":
            return _chosen_intervals(column, facts)
        case "date":
            return DateRule(("month", "quarter", "year", "decade"))
        case "timestamp":
            return DateRule(("day", "month", "quarter", "year", "decade"))
        case "text" if facts.shortest == facts.longest == facts.most_bytes and facts.longest in _CODE_LENGTHS:
            return MaskRule()
        case _:
            return FlatRule()


def _chosen_intervals(column: Column, facts: ColumnExtremes) -> BuiltRule:
    if facts.minimum is None or facts.maximum is None:
        return FlatRule()
    spread = facts.maximum - facts.minimum
    smallest = Decimal(2) if column.family == "integer" else Decimal("1e-9")
    width = max(smallest, _round_up(spread / _INTERVALS_AT_FIRST_LEVEL)) if spread else smallest
    widths = [width * 2**doubling for doubling in range(_LEVELS_CHOSEN) if width * 2**doubling < spread]
    return IntervalRule(tuple(widths)) if widths else FlatRule()


def _round_up(number: Decimal) -> Decimal:
    """Return the smallest of 1, 2 or 5 times a power of ten that is not below the number."""
    power = Decimal(1).scaleb(number.adjusted())
    return next(step * power for step in (Decimal(1), Decimal(2), Decimal(5), Decimal(10)) if step * power >= number)
