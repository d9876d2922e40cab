"""The figures of a column: values, NULLs, how far it tells rows apart, and what its values look like.

Rows, NULLs and distinct values are those of the whole table, exact, from one statement for all columns. All else is
computed from the distinct values of each column, with their rows, in the table or in a sample of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
    looks_like,
    spelling_aggregates,
    spelling_of,
    year_of_text,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine

_N, _VALUE = "n", "value"
FIRST_YEAR = 1900
_GROWN_UP = 18  # years: dates of birth go back further than dates of what a table is about
_DIGITS_CHECKED = 10_000  # values whose check digits are checked, chosen by their hash
_CHECKED = 0.5  # share of values that look like numbers with check digits, from which on the digits are checked
_DATES = frozenset({"date", "timestamp"})
_WITH_DECIMALS = frozenset({"decimal", "float"})


@dataclass(frozen=True)
class Years:
    """The years in a column of dates.

    Attributes:
        plausible: the share of distinct values whose year is from 1900 to now.
        long_ago: the share of distinct values that are 18 years old or more.
        spread: years from the first to the last of those that are plausible.
    """

    plausible: float = 0.0
    long_ago: float = 0.0
    spread: int = 0


@dataclass(frozen=True)
class ColumnFigures:
    """The figures of one column.

    Attributes:
        rows: of the table.
        nulls: rows without a value.
        distinct: distinct values in the table; NULL is none.
        looked_at: rows that the figures below are of: those of the table, or of a sample.
        classes: different values in them, NULL being one.
        uniques: rows that are alone with their value.
        largest: rows of the most frequent value.
        separation: the share of pairs of rows that differ in the column; None where there is no pair.
        average_length: of the distinct values, in characters.
        longest: the length of the longest value.
        shares: by the name of a pattern, the share of the distinct values that are of it.
        years: of dates.
        spelling: how texts are written.
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
    longest: int = 0
    shares: Mapping[str, float] = field(default_factory=dict)
    years: Years = field(default_factory=Years)
    spelling: Spelling = field(default_factory=Spelling)

    @property
    def null_share(self) -> float:
        """The share of rows without a value."""
        return self.nulls / self.rows if self.rows else 0.0

    @property
    def distinctness(self) -> float:
        """Distinct values by rows that have a value."""
        return self.distinct / (self.rows - self.nulls) if self.rows > self.nulls else 0.0


def counts_query(table: exp.Table, columns: Sequence[Column]) -> exp.Select:
    """Return the query for the rows of a table and, for each column, its values and distinct values."""
    counts: list[exp.Expr] = [sql.count_rows()]
    for column in columns:
        value = sql.column(column.name, "source")
        counts += [exp.Count(this=value), sql.count_distinct(written(value.copy(), column))]
    return exp.select(*counts).from_(sql.aliased(table, "source"))


def _values_query(table: exp.Table, column: Column, this_year: int) -> exp.Select:
    """Return the query for the figures of the distinct values of a column and their rows."""
    value = written(sql.column(column.name, "source"), column)
    present = (
        exp.select(sql.named(value, _VALUE), sql.named(sql.count_rows(), _N))
        .from_(sql.aliased(table, "source"))
        .group_by(value.copy())
        .subquery("present")
    )
    asked = _asked(column, this_year)
    text = exp.Trim(this=sql.cast(sql.column(_VALUE), "VARCHAR"))
    texts = exp.select(sql.named(text, TEXT), sql.column(_N)).from_(present).subquery("texts")
    return exp.select(*(sql.named(aggregate, name) for name, aggregate in asked.items())).from_(texts)


def table_figures(
    engine: Engine,
    table: exp.Table,
    looked_at: exp.Table,
    columns: Sequence[Column],
    this_year: int,
    counted: Sequence[int] | None = None,
) -> dict[str, ColumnFigures]:
    """Return the figures of all columns by name.

    Args:
        engine: that has the table.
        table: the table.
        looked_at: the table, or a sample of it.
        columns: of the table.
        this_year: the year that is now.
        counted: what ``counts_query`` says of the table, where it was asked already.
    """
    rows, *counts = counted or engine.row(
        counts_query(table, columns), "rows, NULLs and distinct values of every column"
    )
    found = {}
    for place, column in enumerate(columns):
        values, distinct = counts[2 * place : 2 * place + 2]
        names = list(_asked(column, this_year))
        answers = engine.row(_values_query(looked_at, column, this_year), f"values of {column.name}")
        asked = {name: answer or 0 for name, answer in zip(names, answers, strict=True)}
        shares = _shares(engine, looked_at, column, asked)
        found[column.name] = _figures(int(rows), int(rows) - int(values), int(distinct), asked, shares)
    return found


def _asked(column: Column, this_year: int) -> dict[str, exp.Expr]:
    """Return the aggregates over the distinct values of a column by name."""
    n, text = sql.column(_N), sql.column(TEXT)
    one = exp.EQ(this=n.copy(), expression=sql.literal(1))
    asked: dict[str, exp.Expr] = {
        "classes": sql.count_rows(),
        "rows": exp.Sum(this=n),
        "squares": exp.Sum(this=exp.Mul(this=n.copy(), expression=n.copy())),
        "largest": exp.Max(this=n.copy()),
        "uniques": sql.where(sql.count_rows(), one),
        "values": exp.Count(this=text),
    }
    if not has_inner_values(column):
        asked["average_length"] = exp.Avg(this=exp.Length(this=text.copy()))
        asked["longest"] = exp.Max(this=exp.Length(this=text.copy()))
    if has_patterns(column):
        asked |= {pattern.kind: sql.where(sql.count_rows(), looks_like(pattern)) for pattern in PATTERNS}
    if column.family in {*_WITH_DECIMALS, "text"}:
        asked[OF_NUMBERS.kind] = sql.where(sql.count_rows(), looks_like(OF_NUMBERS))
    if column.family == "text":
        asked |= spelling_aggregates()
    if column.family in {*_DATES, "text"}:
        year = year_of_text()
        plausible = exp.Between(this=year, low=sql.literal(FIRST_YEAR), high=sql.literal(this_year))
        old = exp.LTE(this=year.copy(), expression=sql.literal(this_year - _GROWN_UP))
        asked["plausible"] = sql.where(sql.count_rows(), plausible)
        asked["long_ago"] = sql.where(sql.count_rows(), exp.and_(plausible.copy(), old))
        asked["first"] = sql.where(exp.Min(this=year.copy()), plausible.copy())
        asked["last"] = sql.where(exp.Max(this=year.copy()), plausible.copy())
    return asked


def _shares(engine: Engine, table: exp.Table, column: Column, asked: Mapping[str, Any]) -> dict[str, float]:
    """Return the share of the distinct values that are of each pattern; numbers with check digits by these."""
    if not asked["values"]:
        return {}
    counts = {kind: int(asked[kind]) for kind in (*BY_KIND, OF_NUMBERS.kind) if kind in asked}
    for kind in [kind for kind in ("iban", "credit_card") if kind in counts]:
        if counts[kind] >= _CHECKED * asked["values"]:
            counts[kind] = min(counts[kind], round(_with_right_digits(engine, table, column, kind) * asked["values"]))
        else:
            counts[kind] = 0
    return {kind: count / int(asked["values"]) for kind, count in counts.items() if count}


def _with_right_digits(engine: Engine, table: exp.Table, column: Column, kind: str) -> float:
    """Return the share of the values whose check digits are right; of many values, those with the smallest hash.

    Payment cards by Luhn (ISO/IEC 7812-1), bank accounts modulo 97 (ISO 13616). No value is kept.
    """
    from stdnum import luhn
    from stdnum.iso7064 import mod_97_10
    from stdnum.util import clean

    text = sql.cast(sql.column(column.name, "source"), "VARCHAR")
    has_value = exp.Not(this=exp.Is(this=text.copy(), expression=exp.Null()))
    values = exp.select(sql.named(text, TEXT)).distinct().from_(sql.aliased(table, "source"))
    some = (
        exp.select(TEXT)
        .from_(values.where(has_value).subquery("present"))
        .order_by(exp.MD5(this=sql.column(TEXT)))
        .limit(_DIGITS_CHECKED)
    )
    found = [clean(value, " -").upper() for (value,) in engine.rows(some, f"check digits of {column.name}")]
    if kind == "iban":
        right = [mod_97_10.is_valid(number[4:] + number[:4]) for number in found]
    else:
        right = [luhn.is_valid(number) for number in found]
    return sum(right) / len(right)


def _figures(
    rows: int, nulls: int, distinct: int, asked: Mapping[str, Any], shares: Mapping[str, float]
) -> ColumnFigures:
    looked_at, values = int(asked["rows"]), int(asked["values"])
    pairs = looked_at * (looked_at - 1)
    alike = int(asked["squares"]) - looked_at
    years = Years()
    if values and "plausible" in asked and asked["plausible"]:
        spread = int(asked["last"]) - int(asked["first"])
        years = Years(int(asked["plausible"]) / values, int(asked["long_ago"]) / values, spread)
    return ColumnFigures(
        rows=rows,
        nulls=nulls,
        distinct=distinct,
        looked_at=looked_at,
        classes=int(asked["classes"]),
        uniques=int(asked["uniques"]),
        largest=int(asked["largest"]),
        separation=1 - alike / pairs if pairs else None,
        average_length=float(asked.get("average_length", 0)),
        longest=int(asked.get("longest", 0)),
        shares=shares,
        years=years,
        spelling=spelling_of(asked),
    )
