"""Rows of an original and of its release as records that a model can learn from.

A record of the original has its values. A record of the release has values drawn from those that its labels cover, by
their shares (``spread``), each column independently: as an analyst with only the release would fill them in.
Random choices depend on the seed alone.

If there are more than ``MOST_ROWS`` rows, records are a sample of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kanon_sql.measures.utility.spread import original_tuples_query
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sqlglot import exp

    from kanon_sql.measures.utility.spread import Comparable, Dimension

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

MOST_ROWS = 50_000
_MOST_TUPLES = 200_000
_LARGEST = 1e100


@dataclass(frozen=True)
class Records:
    """Records, one row each."""

    places: tuple[Integers, ...]  # for each column, the place of each value in the order of the column
    # the same as numbers, NaN if a value is not a number; None for columns whose values have no distance
    numbers: tuple[Floats | None, ...]

    def __len__(self) -> int:
        return len(self.places[0])

    def take(self, rows: NDArray[np.intp]) -> Records:
        return Records(
            tuple(column[rows] for column in self.places),
            tuple(None if column is None else column[rows] for column in self.numbers),
        )

    def without(self, number: int) -> Records:
        kept = [place for place in range(len(self.places)) if place != number]
        return Records(tuple(self.places[place] for place in kept), tuple(self.numbers[place] for place in kept))


def original_records(compared: Comparable, chosen: np.random.Generator) -> Records:
    rows = _rows(compared, compared.original, [one.place for one in compared.dimensions], chosen)
    return _with_numbers(compared, list(rows.astype(np.int64).T))


def other_records(compared: Comparable, rows: exp.Subquery, chosen: np.random.Generator) -> Records:
    """Return records of a table like the original. A value that the original does not have has the place 0."""
    query = original_tuples_query(rows, compared.dimensions, unseen=True)
    found = _rows(compared, query.subquery("tuples"), [name for name in query.named_selects if name != N], chosen)
    numbers = [_usable(found[:, 2 * one.number + 1]) if one.column.numeric else None for one in compared.dimensions]
    return Records(tuple(found[:, ::2].astype(np.int64).T), tuple(numbers))


def released_records(compared: Comparable, chosen: np.random.Generator) -> Records:
    rows = _rows(compared, compared.released, [one.label for one in compared.dimensions], chosen).astype(np.int64)
    drawn = [_drawn(compared, one, rows[:, one.number], chosen) for one in compared.dimensions]
    return _with_numbers(compared, drawn)


def _rows(
    compared: Comparable, tuples: exp.Table | exp.Subquery, columns: Sequence[str], chosen: np.random.Generator
) -> Floats:
    """Return rows of tuples, in a random order; NULL is NaN."""
    query = sql.query(
        "utility/tuples",
        values={"columns": [sql.column(name) for name in columns], "most": _MOST_TUPLES},
        relations={"tuples": tuples},
    )
    found = np.array(compared.engine.rows(query, "tuples"), dtype=np.float64).reshape(-1, len(columns) + 1)
    found = found[np.lexsort(found.T)]  # the engine's own hash chooses, and must not determine the order
    rows = np.repeat(found[:, :-1], found[:, -1].astype(np.int64), axis=0)
    return rows[chosen.permutation(len(rows))[:MOST_ROWS]]


def _drawn(compared: Comparable, one: Dimension, labels: Integers, chosen: np.random.Generator) -> Integers:
    """Return a place for each label, drawn by the shares of the values it covers.

    The shares of a label add up to 1. So running sums over all labels go from one integer to the next for
    each of them, and each row looks up a random number in them.
    """
    query = sql.query("utility/spread_of", relations={"spread": one.spread})
    of_label, places, shares = zip(*compared.engine.rows(query, f"shares of the labels of {one.name}"), strict=True)
    numbers, begins = np.unique(np.array(of_label, dtype=np.int64), return_index=True)
    up_to = np.cumsum(np.array(shares, dtype=np.float64))
    ends = np.append(begins[1:], len(up_to)) - 1
    before = np.append(0.0, up_to[ends[:-1]])
    which = np.searchsorted(numbers, labels)
    wanted = before[which] + chosen.random(len(labels)) * (up_to[ends] - before)[which]
    found = np.clip(np.searchsorted(up_to, wanted, side="right"), begins[which], ends[which])
    drawn: Integers = np.array(places, dtype=np.int64)[found]
    return drawn


def _with_numbers(compared: Comparable, places: Sequence[Integers]) -> Records:
    found: list[Floats | None] = []
    for one, own in zip(compared.dimensions, places, strict=True):
        if not one.column.numeric:
            found.append(None)
            continue
        query = sql.query("utility/numbers", relations={"bins": one.bins})
        of_place, numbers = np.array(compared.engine.rows(query, f"numbers of {one.name}"), dtype=np.float64).T
        found.append(_usable(numbers)[np.searchsorted(of_place, own)])
    return Records(tuple(places), tuple(found))


def _usable(numbers: Floats) -> Floats:
    """Return numbers whose squares are finite, too; NaN for the others."""
    found: Floats = np.where(np.abs(numbers) < _LARGEST, numbers, np.nan)
    return found
