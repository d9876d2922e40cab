"""How many values of a column each ready-made hierarchy has: one statement per column, for all hierarchies at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.build import DATES
from kanon_sql.hierarchy.compared import compared, compared_value, matches
from kanon_sql.hierarchy.numbers import NUMBERS
from kanon_sql.hierarchy.read import read_levels
from kanon_sql.hierarchy.ready import ReadyMade, catalogue
from kanon_sql.hierarchy.spec import DateRule, IntervalRule, MaskRule, RoundRule, parse_rule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Column, Engine

_ALL = ""
_KNOWN = ("hierarchy", "value", "label")


@dataclass(frozen=True)
class Present:
    """Values of a column, NULL not counted.

    Attributes:
        values: distinct values.
        rows: rows that have one.
        labels: different labels that a hierarchy gives them at its first level; None where nobody counted them.
    """

    values: int
    rows: int
    labels: int | None = None


def entries_for(column: Column) -> list[ReadyMade]:
    """Return the ready-made hierarchies that a column of this type can have."""
    return [entry for entry in catalogue().values() if _fits_type(entry, column)]


def load_known(engine: Engine, entries: Iterable[ReadyMade]) -> exp.Table:
    """Return a temporary table of the values that ready-made files have: ``(hierarchy, value, label)``."""
    known = engine.temporary_name("kanon_ready")
    rows = known_rows(entries)
    loaded = {name: [row[place] for row in rows] for place, name in enumerate(_KNOWN)}
    engine.load(known, loaded, "ready-made values")
    return known


def known_rows(entries: Iterable[ReadyMade]) -> list[tuple[str, str, str]]:
    """Return the values of ready-made files and the label above each; prefixes as they are compared."""
    wanted = {entry.name: entry for entry in entries if entry.path is not None}
    return [
        (name, value, label)
        for name, entry in sorted(wanted.items())
        for value, label in zip(values_of(entry), first_labels(entry), strict=True)
    ]


def known_statement(known: exp.Table, entries: Iterable[ReadyMade]) -> exp.Create:
    """Return the statement that makes the table of ``load_known``, for a script."""
    values = sql.values("known", list(_KNOWN), known_rows(entries))
    query = exp.select(*(sql.column(name) for name in _KNOWN)).from_(values)
    return sql.create_table(known.copy(), query, temporary=True)


def count_covered(
    engine: Engine, source: exp.Table, column: Column, entries: Sequence[ReadyMade], known: exp.Table
) -> tuple[Present, dict[str, Present]]:
    """Return what a column has, and how much of it each of some ready-made hierarchies has that has some of it."""
    rows = engine.rows(
        covered_query(source, column, entries, known), f"which ready-made hierarchies fit {column.name}?"
    )
    found = {name: Present(int(values), int(n or 0), labels) for name, values, n, labels in rows}
    return found.pop(_ALL), found


def covered_query(source: exp.Table, column: Column, entries: Sequence[ReadyMade], known: exp.Table) -> exp.Query:
    """Return the query behind ``count_covered``: ``(hierarchy, n_values, n_rows, n_labels)``; the column is ``''``."""
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
        label = sql.column("label", "known")
        joined = exp.select(hierarchy, *_counts(label)).from_("coded").join(sql.aliased(known, "known"), on=same)
        parts.append(joined.where(hierarchy.copy().isin(*exact)).group_by(hierarchy.copy()))
    parts += [_by_pattern(entry, known) for entry in entries if entry.prefix or entry.values is not None]
    parts += [_if_equally_long(entry) for entry in entries if _needs_one_length(entry)]
    query: exp.Query = sql.union_all(parts)
    return query.with_("present", as_=present).with_("coded", as_=coded)


def _counts(label: exp.Expr | None = None) -> list[exp.Expr]:
    """Return the aggregates: values, rows, and the labels of the first level, where there is one to count."""
    labels = sql.cast(exp.null(), "BIGINT") if label is None else sql.count_distinct(label)
    return [
        sql.named(sql.count_rows(), "n_values"),
        sql.named(sql.sum_of(sql.column("n", "coded")), "n_rows"),
        sql.named(labels, "n_labels"),
    ]


def _counted(name: str, label: exp.Expr | None = None) -> exp.Select:
    return exp.select(sql.named(sql.literal(name), "hierarchy"), *_counts(label)).from_("coded")


def _by_pattern(entry: ReadyMade, known: exp.Table) -> exp.Select:
    """Return how many values look as an entry wants them, and have a known prefix."""
    code = sql.column("code", "coded")
    is_level = bool(entry.prefix) and not entry.hide  # then the first characters are the labels of the first level
    label = exp.Left(this=code.copy(), expression=sql.literal(entry.prefix[0])) if is_level else None
    query = _counted(entry.name, label)
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


def first_labels(entry: ReadyMade) -> tuple[str, ...]:
    """Return the label above each value of the file of an entry."""
    assert entry.path is not None  # noqa: S101 - callers ask for files only
    return tuple(label for _, label in _read_pairs(entry.path))


@cache
def _read_values(path: Path, by_prefix: bool) -> tuple[str, ...]:
    values = (value for value, _ in _read_pairs(path))
    return tuple(map(compared, values)) if by_prefix else tuple(values)


@cache
def _read_pairs(path: Path) -> tuple[tuple[str, str], ...]:
    """Return the values of a file, NULL left out, each with its label at the first level."""
    rows = read_levels(path, "value")
    return tuple((value, label) for value, label in zip(rows.values, rows.levels[0], strict=True) if value is not None)
