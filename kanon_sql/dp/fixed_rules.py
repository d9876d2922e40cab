"""Hierarchies that do not depend on the data: a label is a function of the rule and of the value, and of nothing else.

SafePub asks for it: were one more row to change the labels of others, or the levels that there are, or whether there is
a release at all, no sampling would hide that row.

- What is chosen by the data is refused: quantiles, masks (as long as the longest value), prefixes without lengths,
  hierarchies that are not given, and those in the database, whose origin is unknown.
- What rules need of a column, its least and its greatest number, comes from its type. So intervals of a type that
  has negative numbers are written [20, 25), also where no number is negative.
- What a rule has no label for counts as missing, at every level: values that a file does not list, numbers of 10^18
  and more, infinity, and years before 1 and after 9999. An error would tell that such a value is there.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.equality import published
from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.hierarchy.build import require_fit
from kanon_sql.hierarchy.expressions import VALUE, number_literal
from kanon_sql.hierarchy.given import given_rules
from kanon_sql.hierarchy.lookup import build_hierarchy, load_hierarchy, load_prefixed
from kanon_sql.hierarchy.prefix_file import PrefixRule
from kanon_sql.hierarchy.rules import ColumnExtremes
from kanon_sql.hierarchy.rules.numbers import QuantileRule, StepRule
from kanon_sql.hierarchy.rules.texts import PrefixesRule
from kanon_sql.hierarchy.spec import DateRule, FileRule, IntervalRule, MaskRule, RoundRule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.hierarchy.spec import Rule
    from kanon_sql.policy.policy import Policy

_MOST_DIGITS = 18  # of a number before the point: with as many after it, no step of a rule overflows
_MOST = Decimal(10) ** _MOST_DIGITS
_DIGITS = {
    "TINYINT": 3,
    "UTINYINT": 3,
    "SMALLINT": 5,
    "USMALLINT": 5,
    "INTEGER": 10,
    "UINTEGER": 10,
}
_INSTEAD = {
    MaskRule: "masks are as long as the longest value of the table: use prefixes:3,1 or cut:1,2",
    QuantileRule: "the data say its bounds: use intervals:5,10 or steps",
    PrefixesRule: "the data say how long its prefixes are: give their lengths, as in prefixes:3,1",
}


def fixed_rules(source: Source, columns: Sequence[Column], policy: Policy) -> dict[str, Rule]:
    """Return by column the rules that a policy gives, all of which know nothing of the data.

    Raises:
        UsageError: a column has no rule, or one that the data would have a say in.
        HierarchyError: a rule is for columns of another type.
    """
    rules = given_rules(source, columns, policy)
    for column in columns:
        rule = rules.get(column.name)
        if rule is None:
            raise UsageError(
                f"Column {column.name!r} was given no hierarchy, and one that is chosen here, or is in the database, "
                "may say something of the data: give a rule or a file, as in --hierarchy "
                f"{column.name}={'intervals:5,10,20' if column.is_numeric else 'flat'}."
            )
        by_data = type(rule) in _INSTEAD and not (isinstance(rule, PrefixesRule) and rule.lengths)
        if by_data:
            raise UsageError(
                f"The hierarchy of column {column.name!r} ({rule}) depends on the data, so that one row more could "
                f"change the labels of others: {_INSTEAD[type(rule)]}."
            )
        if not isinstance(rule, FileRule | PrefixRule):
            require_fit(rule, column)
        _require_room(column, rule)
    return rules


def copied_value(column: Column, rule: Rule) -> exp.Expr:
    """Return a value of ``source`` as it is published; NULL where its rule, as such, has no label for it."""
    value = sql.column(column.name, "source")
    kept = published(value, column)
    if (known := _has_label(column, rule, value)) is None:
        return kept
    return exp.Case().when(known, kept).else_(exp.null())


def make_fixed(
    engine: Engine, copy: exp.Table, columns: Sequence[Column], rules: Mapping[str, Rule]
) -> tuple[Hierarchy, ...]:
    """Return the hierarchies of a copy of some rows; values of the copy that they do not list become NULL.

    Args:
        engine: holds the copy.
        copy: what ``copied_value`` made.
        columns: its columns.
        rules: of each of them.

    Raises:
        HierarchyError: a file is no hierarchy, or a rule is for columns of another type.
        SourceError: a file cannot be opened.
    """
    hierarchies = tuple(_made(engine, copy, column, rules[column.name]) for column in columns)
    for hierarchy in hierarchies:
        if lists_values(rules[hierarchy.column.name]):
            engine.run(unlisted_statement(copy, hierarchy), f"unlisted values of {hierarchy.column.name}")
    return hierarchies


def lists_values(rule: Rule) -> bool:
    """Tell whether a rule has labels for some values only."""
    return isinstance(rule, FileRule | PrefixRule)


def unlisted_statement(copy: exp.Table, hierarchy: Hierarchy) -> exp.Update:
    """Return the statement that makes NULL of values of a copy that a hierarchy does not list."""
    name = hierarchy.column.name
    value = sql.same(sql.column(VALUE, "listed"), sql.column(name, copy.name))
    listed = exp.Exists(this=exp.select("1").from_(sql.aliased(hierarchy.relation, "listed")).where(value))
    becomes = exp.EQ(this=sql.column(name), expression=exp.null())
    return exp.Update(this=copy.copy(), expressions=[becomes], where=exp.Where(this=listed.not_()))


def _made(engine: Engine, copy: exp.Table, column: Column, rule: Rule) -> Hierarchy:
    if isinstance(rule, FileRule):
        return load_hierarchy(engine, copy, column, rule)
    if isinstance(rule, PrefixRule):
        return load_prefixed(engine, copy, column, rule)
    return build_hierarchy(engine, copy, column, rule, facts_of_type(column))


def facts_of_type(column: Column) -> ColumnExtremes:
    """Return the extremes of a column, as far as its type says them."""
    return ColumnExtremes(Decimal(0) if column.type.startswith("U") else -_MOST, _MOST)


def _has_label(column: Column, rule: Rule, value: exp.Expr) -> exp.Expr | None:
    """Return whether a rule has a label for a value, by the value alone; None where it has one for all of the type."""
    if isinstance(rule, IntervalRule | RoundRule | StepRule) and _digits(column) > _MOST_DIGITS:
        kind = "DOUBLE" if column.family == "float" else "BIGINT"
        low, high = (sql.cast(number_literal(bound), kind) for bound in (-_MOST, _MOST))
        above = exp.GT(this=value.copy(), expression=low)
        return exp.and_(above, exp.LT(this=value.copy(), expression=high))
    if isinstance(rule, DateRule):
        year = exp.Extract(this=exp.var("year"), expression=value.copy())
        return exp.Between(this=year, low=sql.literal(1), high=sql.literal(9999))
    return None


def _digits(column: Column) -> int:
    """Return how many digits before the point numbers of a column can have."""
    if column.family == "decimal":
        width, places = _decimal_digits(column)
        return width - places
    return _DIGITS.get(column.type, _MOST_DIGITS + 1)  # of other types more than anybody needs


def _require_room(column: Column, rule: Rule) -> None:
    """Raise where steps of a rule could overflow for some values of a type: that would be an error about a value.

    Raises:
        HierarchyError: they could.
    """
    if not isinstance(rule, IntervalRule | RoundRule | StepRule) or column.family != "decimal":
        return
    if _decimal_digits(column)[1] > _MOST_DIGITS:
        raise HierarchyError(
            f"The hierarchy of column {column.name!r} ({rule}) is for numbers of up to {_MOST_DIGITS} decimal places, "
            f"but the column is {column.type}: round it in a view."
        )


def _decimal_digits(column: Column) -> tuple[int, int]:
    parameters = exp.DataType.build(column.type, dialect="duckdb").expressions
    width, places = (int(parameter.name) for parameter in parameters) if parameters else (18, 3)
    return width, places
