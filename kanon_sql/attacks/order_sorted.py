"""Which of its own columns a release is sorted by, one after the other: such an order gives nothing away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.attacks.people import copied_name, position
from kanon_sql.attacks.released import never_null

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
        counted: steps up and down, of texts with NULLs first, of texts with NULLs last, and of numbers; then how many
            values are no numbers.
    """
    *steps, no_numbers = counted
    ways = list(zip(steps[::2], steps[1::2], strict=True))
    if no_numbers:
        ways = ways[:-1]
    return any(bool(ups) != bool(downs) for ups, downs in ways)


def _steps_query(copy: exp.Table, labels: int, found: Sequence[Shown], left: Sequence[Shown]) -> exp.Select:
    """Return the query of how often each column goes up and down from one row to the next."""
    before = [sql.column(copied_name(own.number)) for own in found]
    keys: list[exp.Expr] = []
    counts: list[exp.Expr] = []
    for own in left:
        text: exp.Expr = sql.column(copied_name(own.number))
        if own.number < labels:
            text = never_null(text)
        nothing = exp.EQ(this=text.copy(), expression=sql.literal(""))
        last = exp.Case().when(nothing, sql.literal(_AFTER_ALL)).else_(text.copy())
        bare = exp.func("SUBSTRING", text.copy(), sql.literal(2), dialect="duckdb")
        number = exp.TryCast(this=bare, to=exp.DataType.build("DOUBLE", dialect="duckdb"))
        for key in (text, last, number):
            name = f"key_{len(keys)}"
            if key is number:  # each beside the last one that is a number
                apart = [*before, number.copy().is_(exp.null())]
                no_number = exp.and_(nothing.copy().not_(), number.copy().is_(exp.null()))
                keys += [sql.named(no_number, f"odd_{len(keys)}"), *_with_last(number, apart, name)]
                odd = keys[-3].alias
            else:
                keys += _with_last(key, before, name)
            up = exp.GT(this=sql.column(name), expression=sql.column(f"{name}_before"))
            down = exp.LT(this=sql.column(name), expression=sql.column(f"{name}_before"))
            counts += [sql.where(sql.count_rows(), step) for step in (up, down)]
        counts.append(sql.where(sql.count_rows(), sql.column(odd)))
    return exp.select(*counts).from_(exp.select(*keys).from_(copy.copy()).subquery("steps"))


def _with_last(key: exp.Expr, apart: Sequence[exp.Expr], name: str) -> list[exp.Alias]:
    """Return a key of a row under a name, and that of the row before it among those that are alike in others."""
    order = exp.Order(expressions=[exp.Ordered(this=position())])
    before = exp.Window(
        this=exp.Lag(this=key.copy()), partition_by=[other.copy() for other in apart] or None, order=order
    )
    return [sql.named(key, name), sql.named(before, f"{name}_before")]
