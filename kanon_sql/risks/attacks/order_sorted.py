"""Which of its own columns a release is sorted by, one after the other: such an order gives nothing away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.risks.attacks.people import copied_name, position
from kanon_sql.risks.attacks.released import never_null
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine

_AFTER_ALL = ">"
"""Comes after every text that begins with the mark of a value."""


@dataclass(frozen=True)
class Shown:
    """A column that a release shows.

    Attributes:
        column: that of the original.
        number: of the column in the copy of the release (see ``released``).
        name: of the column in the items (see ``order_tests``).
    """

    column: Column
    number: int
    name: str


def sorted_by(engine: Engine, copy: exp.Table, labels: int, shown: Sequence[Shown]) -> list[Shown]:
    """Return the columns that a release is sorted by: all of it by the first one, rows alike in that by the next.

    Upwards or downwards, as text or, where all are numbers, as numbers; NULLs first or last. A column that is the same
    in all rows is none.

    Args:
        engine: holds the copy.
        copy: the release in its order; labels first, then the other columns, never NULL.
        labels: how many labels there are.
        shown: its columns.
    """
    found: list[Shown] = []
    left = list(shown)
    while left:
        query = _steps_query(copy, labels, found, left)
        steps = engine.row(query, "whether the release is sorted")
        per_column = len(steps) // len(left)
        grouped = [steps[place * per_column : (place + 1) * per_column] for place in range(len(left))]
        ordered = [own for own, counted in zip(left, grouped, strict=True) if _is_sorted(counted)]
        left = [own for own, counted in zip(left, grouped, strict=True) if not _is_constant(counted)]
        if not ordered:
            break
        found.append(ordered[0])
        left = [own for own in left if own not in found]
    return found


def _is_constant(counted: Sequence[int]) -> bool:
    ups, downs, *_ = counted
    return ups == downs == 0


def _is_sorted(counted: Sequence[int]) -> bool:
    """Tell whether one of the ways to compare goes in one direction only.

    Args:
        counted: steps up and down, of texts with NULLs first, of texts with NULLs last, of numbers, and between NULLs
            and others; then how many values are no numbers.
    """
    *steps, no_numbers = counted
    *ways, nulls = zip(steps[::2], steps[1::2], strict=True)
    if no_numbers or all(nulls):
        ways = ways[:-1]
    return any(bool(ups) != bool(downs) for ups, downs in ways)


def _steps_query(copy: exp.Table, labels: int, found: Sequence[Shown], left: Sequence[Shown]) -> exp.Select:
    """Return the query of how often each column goes up and down from one row to the next.

    Rows that are alike in the columns that were found stand together, so that only neighbours are compared.
    """
    counts: list[exp.Expr] = []
    for own in left:
        now, before = (_keys(own, labels, alias) for alias in ("now", "before"))
        for here, there in zip(now, before, strict=True):
            steps = (exp.GT(this=here, expression=there), exp.LT(this=here.copy(), expression=there.copy()))
            counts += [sql.where(sql.count_rows(), step) for step in steps]
        text, _, number, _ = now
        odd = exp.and_(exp.NEQ(this=text.copy(), expression=sql.literal("")), number.copy().is_(exp.null()))
        counts.append(sql.where(sql.count_rows(), odd))
    next_row = exp.EQ(this=position("now"), expression=exp.Add(this=position("before"), expression=sql.literal(1)))
    names = [copied_name(own.number) for own in found]
    alike = [sql.same(sql.column(name, "now"), sql.column(name, "before"), sql.TWINS) for name in names]
    query = exp.select(*counts).from_(sql.aliased(copy, "now"))
    return query.join(sql.aliased(copy, "before"), on=sql.all_of([next_row, *alike]))


def _keys(own: Shown, labels: int, alias: str) -> list[exp.Expr]:
    """Return what is compared of a row: its text, NULL first or last; its number; whether it is NULL."""
    text: exp.Expr = sql.column(copied_name(own.number), alias)
    if own.number < labels:
        text = never_null(text)
    nothing = exp.EQ(this=text.copy(), expression=sql.literal(""))
    last = exp.Case().when(nothing, sql.literal(_AFTER_ALL)).else_(text.copy())
    bare = exp.func("SUBSTRING", text.copy(), sql.literal(2), dialect="duckdb")
    number = exp.TryCast(this=bare, to=exp.DataType.build("DOUBLE", dialect="duckdb"))
    null = exp.Case().when(nothing.copy(), sql.literal(1)).else_(sql.literal(0))
    return [text, last, number, null]
