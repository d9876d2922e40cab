"""How many values of a column each ready-made hierarchy has: one statement per column, for all hierarchies at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.hierarchy.build import DATES
from kanon_sql.hierarchy.compared import compared, compared_value, matches
from kanon_sql.hierarchy.facts import NUMBERS
from kanon_sql.hierarchy.ready import ReadyMade, catalogue, rows_of_file
from kanon_sql.hierarchy.spec import DateRule, IntervalRule, MaskRule, RoundRule, parse_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Column, Engine

_ALL = ""


@dataclass(frozen=True)
class Present:
    """Values of a column, NULL not counted.

    Attributes:
        values: distinct values.
        rows: rows that have one.
    """

    values: int
    rows: int


def entries_for(column: Column) -> list[ReadyMade]:
    """Return the ready-made hierarchies that a column of this type can have."""
    return [entry for entry in catalogue().values() if _fits_type(entry, column)]


def load_known(engine: Engine, entries: Iterable[ReadyMade]) -> exp.Table:
    """Return a temporary table of the values that the files of ready-made hierarchies have: ``(hierarchy, value)``."""
    known = engine.temporary_name("kanon_ready")
    rows = known_rows(entries)
    engine.load(known, {"hierarchy": [row[0] for row in rows], "value": [row[1] for row in rows]}, "ready-made values")
    return known


def known_rows(entries: Iterable[ReadyMade]) -> list[tuple[str, str]]:
    """Return the values that the files of ready-made hierarchies have; prefixes as they are compared."""
    wanted = {entry.name: entry for entry in entries if entry.path is not None}
    return [(name, value) for name, entry in sorted(wanted.items()) for value in values_of(entry)]


def known_statement(known: exp.Table, entries: Iterable[ReadyMade]) -> exp.Create:
    """Return the statement that makes the table of ``load_known``, for a script."""
    values = sql.values("known", ["hierarchy", "value"], known_rows(entries))
    query = exp.select(sql.column("hierarchy"), sql.column("value")).from_(values)
    return sql.create_table(known.copy(), query, temporary=True)


def count_covered(
    engine: Engine, source: exp.Table, column: Column, entries: Sequence[ReadyMade], known: exp.Table
) -> tuple[Present, dict[str, Present]]:
    """Return what a column has, and how much of it each of some ready-made hierarchies has that has some of it."""
    rows = engine.rows(
        covered_query(source, column, entries, known), f"which ready-made hierarchies fit {column.name}?"
    )
    found = {name: Present(int(values), int(n or 0)) for name, values, n in rows}
    return found.pop(_ALL), found


def covered_query(source: exp.Table, column: Column, entries: Sequence[ReadyMade], known: exp.Table) -> exp.Query:
    """Return the query behind ``count_covered``: ``(hierarchy, n_values, n_rows)``; the column itself is ``''``."""
    own = sql.column(column.name, "source")
    value = sql.cast(own, "VARCHAR")
    present = (
        exp.select(sql.named(value, "value"), sql.named(sql.count_rows(), "n"))
        .from_(sql.aliased(source, "source"))
        .where(own.is_(exp.null()).not_())
        .group_by(value.copy())
    )
    coded = exp.select("value", "n", sql.named(compared_value(sql.column("value")), "code")).from_("present")
    parts = [_counted(_ALL)]
    if exact := [entry.name for entry in entries if entry.path is not None and not entry.prefix]:
        hierarchy = sql.column("hierarchy", "known")
        same = exp.EQ(this=sql.column("value", "known"), expression=sql.column("value", "coded"))
        joined = exp.select(hierarchy, *_counts()).from_("coded").join(sql.aliased(known, "known"), on=same)
        parts.append(joined.where(hierarchy.copy().isin(*exact)).group_by(hierarchy.copy()))
    parts += [_by_pattern(entry, known) for entry in entries if entry.prefix or entry.values is not None]
    parts += [_if_equally_long(entry) for entry in entries if _needs_one_length(entry)]
    query: exp.Query = sql.union_all(parts)
    return query.with_("present", as_=present).with_("coded", as_=coded)


def _counts() -> list[exp.Expr]:
    return [sql.named(sql.count_rows(), "n_values"), sql.named(sql.sum_of(sql.column("n", "coded")), "n_rows")]


def _counted(name: str) -> exp.Select:
    return exp.select(sql.named(sql.literal(name), "hierarchy"), *_counts()).from_("coded")


def _by_pattern(entry: ReadyMade, known: exp.Table) -> exp.Select:
    """Return how many values look as an entry wants them, and have a known prefix."""
    code = sql.column("code", "coded")
    query = _counted(entry.name)
    if entry.values is not None:
        query = query.where(matches(entry.values, code))
    if entry.prefix:
        first = exp.Left(this=code.copy(), expression=sql.literal(entry.prefix[-1]))
        own = exp.EQ(this=sql.column("hierarchy", "known"), expression=sql.literal(entry.name))
        same = exp.EQ(this=sql.column("value", "known"), expression=first)
        query = query.where(exp.Exists(this=exp.select("1").from_(sql.aliased(known, "known")).where(own, same)))
    return query


def _if_equally_long(entry: ReadyMade) -> exp.Select:
    length = exp.Length(this=sql.column("value", "coded"))
    equal = exp.EQ(this=exp.Min(this=length), expression=exp.Max(this=length.copy()))
    return _counted(entry.name).having(equal)


def _needs_one_length(entry: ReadyMade) -> bool:
    return entry.rule is not None and entry.values is None and isinstance(parse_rule(entry.rule), MaskRule)


def _fits_type(entry: ReadyMade, column: Column) -> bool:
    """Tell whether a column of this type can have a hierarchy."""
    if entry.rule is not None:
        match parse_rule(entry.rule):
            case IntervalRule() | RoundRule():
                return column.family in NUMBERS
            case DateRule():
                return column.family in DATES
            case _:
                return column.family == "text" or (column.family == "integer" and entry.values is not None)
    if entry.prefix:
        return column.family == "text" or (column.family == "integer" and entry.values is not None)
    return column.family == "text" or (column.family == "integer" and all(map(str.isdecimal, values_of(entry))))


def values_of(entry: ReadyMade) -> tuple[str, ...]:
    """Return the values of the file of an entry, prefixes as they are compared."""
    assert entry.path is not None  # noqa: S101 - callers ask for files only
    return _read_values(entry.path, bool(entry.prefix))


@cache
def _read_values(path: Path, by_prefix: bool) -> tuple[str, ...]:
    values = [value for value in rows_of_file(path).values if value is not None]
    return tuple(map(compared, values)) if by_prefix else tuple(values)
