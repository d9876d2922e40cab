"""Figures of columns: of each by itself, and of columns together.

Each column: values, NULLs, how well it distinguishes rows, and the patterns of its values. Rows, NULLs and distinct
values are exact counts of the whole table, from one statement for all columns. The rest is computed from the distinct
values of each column, with their rows, in the table or in a sample of it.

Together: the rows or people that are alone in a class. A person with several rows is in several classes and may be
alone in each of them. Each person counts once, so there are never more people alone than people.

Dependencies: a column determines another one, as a code does its text, if there are as many pairs of their values as
values of the first. Publishing the first unchanged then publishes the second, whatever is done to the second.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.policy.profile.patterns import (
    BY_KIND,
    OF_NUMBERS,
    PATTERNS,
    TEXT,
    Spelling,
    has_inner_values,
    has_patterns,
    has_right_digits,
    looks_like,
    spelling_aggregates,
    spelling_of,
    year_of_text,
)
from kanon_sql.risks.estimators.subsets import Subsets, largest_subsets, subset_risks
from kanon_sql.risks.estimators.tuples import MEMBERS, PERSON, collect, people, value_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.risks.estimators.subsets import SubsetRisk
    from kanon_sql.risks.estimators.tuples import Tuples

FIRST_YEAR = 1900
_GROWN_UP = 18  # years: dates of birth go back further than the dates of a table's events
_DIGITS_CHECKED = 10_000  # values whose check digits are checked, chosen by their hash
_CHECKED = 0.5  # minimum share of values that look like numbers with check digits, to check the digits
_DATES = frozenset({"date", "timestamp"})
_WITH_DECIMALS = frozenset({"decimal", "float"})

_AT_MOST = 100  # pairs that are compared
_SHARED = 50  # rows that must share a value with others; with fewer, one column determines another by chance
_SKEWED = 0.9  # share of the most frequent value; from there, a column is determined by chance


@dataclass(frozen=True)
class Years:
    plausible: float = 0.0  # share of distinct values with a year from 1900 to now
    long_ago: float = 0.0  # share of distinct values that are at least 18 years old
    spread: int = 0  # years from the first to the last plausible one


@dataclass(frozen=True)
class ColumnFigures:
    """The figures of one column.

    Attributes:
        rows, nulls, distinct: counts for the table; NULL is not a value.
        looked_at: rows that the figures below describe: those of the table, or of a sample.
        classes: distinct values in these rows, counting NULL as one.
        uniques: rows whose value no other row has.
        largest: rows of the most frequent value.
        separation: the share of pairs of rows that differ in the column; None if there is no pair.
        average_length: characters of the distinct values, on average.
        shares: by the name of a pattern, the share of the distinct values that match it.
    """

    rows: int
    nulls: int
    distinct: int
    looked_at: int = 0
    classes: int = 0
    uniques: int = 0
    largest: int = 0
    separation: float | None = None
    average_length: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    years: Years = field(default_factory=Years)
    spelling: Spelling = field(default_factory=Spelling)

    @property
    def null_share(self) -> float:
        return self.nulls / self.rows if self.rows else 0.0

    @property
    def distinctness(self) -> float:
        """Distinct values divided by rows that have a value."""
        return self.distinct / (self.rows - self.nulls) if self.rows > self.nulls else 0.0


def counts_query(table: exp.Table, columns: Sequence[Column]) -> exp.Select:
    """Return the query that counts the rows of a table and, for each column, its values and distinct values."""
    return sql.select_counts(table, [written(sql.column(one.name, "source"), one) for one in columns])


def table_figures(
    engine: Engine,
    table: exp.Table,
    looked_at: exp.Table,
    columns: Sequence[Column],
    this_year: int,
    counted: Sequence[int] | None = None,
) -> dict[str, ColumnFigures]:
    """Return the figures of all columns by name, for a table or the sample of it in ``looked_at``.

    ``counted`` is the result of ``counts_query``, if it is known already.
    """
    title = "rows, NULLs and distinct values of every column"
    rows, *counts = counted or engine.row(counts_query(table, columns), title)
    found = {}
    for place, column in enumerate(columns):
        values, distinct = counts[2 * place : 2 * place + 2]
        aggregates = _aggregates(column, this_year)
        named: list[Any] = [sql.named(aggregate, name) for name, aggregate in aggregates.items()]
        value = written(sql.column(column.name, "source"), column)
        query = sql.select("profile/values", values={"value": value, "aggregates": named}, tables={"source": looked_at})
        row = engine.row(query, f"values of {column.name}")
        answers = {name: answer or 0 for name, answer in zip(aggregates, row, strict=True)}
        shares = _shares(engine, looked_at, column, answers)
        found[column.name] = _figures(int(rows), int(rows) - int(values), int(distinct), answers, shares)
    return found


def _aggregates(column: Column, this_year: int) -> dict[str, exp.Expr]:
    """Return the aggregates over the distinct values of a column by name."""
    n, text = sql.column("n"), sql.column(TEXT)
    found: dict[str, exp.Expr] = {
        "classes": sql.count_rows(),
        "rows": exp.Sum(this=n),
        "squares": exp.Sum(this=n * n),
        "largest": exp.Max(this=n.copy()),
        "uniques": sql.where(sql.count_rows(), n.eq(1)),
        "values": exp.Count(this=text),
    }
    if not has_inner_values(column):
        found["average_length"] = exp.Avg(this=exp.Length(this=text.copy()))
    if has_patterns(column):
        found |= {pattern.kind: sql.where(sql.count_rows(), looks_like(pattern)) for pattern in PATTERNS}
    if column.family in {*_WITH_DECIMALS, "text"}:
        found[OF_NUMBERS.kind] = sql.where(sql.count_rows(), looks_like(OF_NUMBERS))
    if column.family == "text":
        found |= spelling_aggregates()
    if column.family in {*_DATES, "text"}:
        year = year_of_text()
        plausible = exp.Between(this=year, low=sql.literal(FIRST_YEAR), high=sql.literal(this_year))
        old = exp.LTE(this=year.copy(), expression=sql.literal(this_year - _GROWN_UP))
        found["plausible"] = sql.where(sql.count_rows(), plausible)
        found["long_ago"] = sql.where(sql.count_rows(), exp.and_(plausible.copy(), old))
        found["first"] = sql.where(exp.Min(this=year.copy()), plausible.copy())
        found["last"] = sql.where(exp.Max(this=year.copy()), plausible.copy())
    return found


def _shares(engine: Engine, table: exp.Table, column: Column, answers: Mapping[str, Any]) -> dict[str, float]:
    """Return the share of distinct values that match each pattern, and valid check digits where the kind has them."""
    if not answers["values"]:
        return {}
    counts = {kind: int(answers[kind]) for kind in (*BY_KIND, OF_NUMBERS.kind) if kind in answers}
    for kind in [kind for kind in ("iban", "credit_card") if kind in counts]:
        if counts[kind] >= _CHECKED * answers["values"]:
            counts[kind] = min(counts[kind], round(_with_right_digits(engine, table, column, kind) * answers["values"]))
        else:
            counts[kind] = 0
    return {kind: count / int(answers["values"]) for kind, count in counts.items() if count}


def _with_right_digits(engine: Engine, table: exp.Table, column: Column, kind: str) -> float:
    """Return the share of values with valid check digits; of many values, check those with the smallest hash.

    Payment cards by Luhn (ISO/IEC 7812-1), bank accounts modulo 97 (ISO 13616). No value is kept.
    """
    text = sql.cast(sql.column(column.name, "source"), "VARCHAR")
    some = sql.query("profile/digits", values={"value": text, "most": _DIGITS_CHECKED}, tables={"source": table})
    right = [has_right_digits(kind, value) for (value,) in engine.rows(some, f"check digits of {column.name}")]
    return sum(right) / len(right)


def _figures(
    rows: int, nulls: int, distinct: int, answers: Mapping[str, Any], shares: Mapping[str, float]
) -> ColumnFigures:
    looked_at, values = int(answers["rows"]), int(answers["values"])
    pairs = looked_at * (looked_at - 1)
    alike = int(answers["squares"]) - looked_at
    years = Years()
    if values and "plausible" in answers and answers["plausible"]:
        spread = int(answers["last"]) - int(answers["first"])
        years = Years(int(answers["plausible"]) / values, int(answers["long_ago"]) / values, spread)
    return ColumnFigures(
        *(rows, nulls, distinct, looked_at),
        **{name: int(answers.get(name, 0)) for name in ("classes", "uniques", "largest")},
        separation=1 - alike / pairs if pairs else None,
        average_length=float(answers.get("average_length", 0)),
        shares=shares,
        years=years,
        spelling=spelling_of(answers),
    )


def who_is_alone(
    engine: Engine, table: exp.Table, quasi: Sequence[Column], entity: Column | None, members: int
) -> Subsets | None:
    """Return the classes by subsets of the quasi-identifiers; None if there are none.

    If people are counted, the uniques of a subset are the people who are alone in at least one class by it. ``members``
    are the rows or people in the table.
    """
    if not quasi:
        return None
    tuples = collect(engine, table, quasi, entity)
    found = subset_risks(tuples, largest_subsets(None, len(quasi)))
    if entity is not None:
        found = replace(found, found=_of_people(tuples, found.found, members))
    tuples.drop()
    return found


def _of_people(tuples: Tuples, found: Sequence[SubsetRisk], members: int) -> tuple[SubsetRisk, ...]:
    """Return the classes by each subset with the people who are alone in them, those with the most first."""
    by_name = {column.name: place for place, column in enumerate(tuples.columns)}
    counted = []
    for subset in found:
        if not subset.uniques:
            counted.append(subset)
            continue
        keys: list[Any] = [sql.column(value_name(by_name[name])) for name in subset.columns]
        values = {"keys": keys, "people": [sql.named(people(sql.column(PERSON)), MEMBERS)]}
        query = sql.query("profile/alone", values=values, relations={"coded": tuples.relation})
        (alone,) = tuples.engine.row(query, f"people alone by {', '.join(subset.columns)}")
        share = int(alone) / members if members else None
        counted.append(replace(subset, uniques=int(alone), share_unique=share))
    return tuple(sorted(counted, key=lambda one: (-one.uniques, one.smallest_class or math.inf, len(one.columns))))


@dataclass(frozen=True)
class Dependency:
    """A column whose values determine those of another one, ``told``, in every row; or each the other's."""

    column: str
    told: str
    both_ways: bool


def candidate_pairs(
    columns: Sequence[Column], guarded: Sequence[Column], figures: Mapping[str, ColumnFigures]
) -> list[tuple[Column, Column]]:
    """Return the pairs of published columns worth a query: one is guarded, and one repeats enough to rule out chance.

    Guarded columns are quasi-identifying or sensitive; pairs of two of them come first.
    """
    usable = [one for one in columns if figures[one.name].classes > 1 and figures[one.name].looked_at >= _SHARED]
    pairs = [pair for pair in itertools.combinations(usable, 2) if not set(guarded).isdisjoint(pair)]
    return sorted(pairs, key=lambda pair: not set(pair) <= set(guarded))[:_AT_MOST]


def find_dependencies(
    engine: Engine, table: exp.Table, pairs: Sequence[tuple[Column, Column]], figures: Mapping[str, ColumnFigures]
) -> tuple[Dependency, ...]:
    if not pairs:
        return ()
    counts = engine.rows(_pairs_query(table, pairs), "columns that determine each other")
    by_place = {int(place): int(n) for place, n in counts}
    found = []
    for place, (one, other) in enumerate((one.name, other.name) for one, other in pairs):
        first = by_place[place] == figures[one].classes and _repeats(figures[one], figures[other])
        second = by_place[place] == figures[other].classes and _repeats(figures[other], figures[one])
        if first or second:
            found.append(Dependency(*((one, other) if first else (other, one)), first and second))
    return tuple(found)


def _pairs_query(table: exp.Table, pairs: Sequence[tuple[Column, Column]]) -> exp.Query:
    """Return the query that counts the distinct pairs of values: one row for each pair of columns."""
    queries = []
    for place, pair in enumerate(pairs):
        values = [written(sql.column(column.name, "source"), column) for column in pair]
        named = [sql.named(value, f"value_{number}") for number, value in enumerate(values)]
        queries.append(sql.query("profile/pairs", values={"place": place, "values": named}, tables={"source": table}))
    return sql.union_all(queries)


def _repeats(tells: ColumnFigures, told: ColumnFigures) -> bool:
    """Return True if a column repeats often enough, and the other varies enough, to rule out chance."""
    return tells.looked_at - tells.classes >= _SHARED and told.largest <= _SKEWED * told.looked_at
