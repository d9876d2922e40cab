"""Columns that are copies of others, by the first rows of a table: the same values, but for spaces and capitals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kanon_sql.engine.base import Column

    Ask = Callable[[exp.Expr, str], Sequence[Sequence[Any]]]

_ROWS = 1_000
_LONGEST = 100  # characters of a value that are looked at
_BITS = 20  # that values have together, at least: fewer may be alike by chance


@dataclass(frozen=True)
class ColumnCopy:
    """A column that has the values of another one in the first rows of a table."""

    name: str
    of: str
    rows: int


def copies_among(
    ask: Ask, relation: exp.Table | exp.Subquery, columns: Sequence[Column], originals: Sequence[Column]
) -> list[ColumnCopy]:
    """Return those of some columns that are copies of one of others; none where rows are too few to tell."""
    if not columns or not originals:
        return []
    both = [*columns, *originals]
    cut = [exp.Left(this=sql.cast(sql.column(one.name), "VARCHAR"), expression=sql.literal(_LONGEST)) for one in both]
    query = exp.select(*(sql.named(text, f"text_{place}") for place, text in enumerate(cut)))
    query = query.from_(relation.copy()).limit(_ROWS)
    rows = ask(query, "the first rows, where columns may be copies")
    if not rows:
        return []
    values = [tuple(map(_plain, texts)) for texts in zip(*rows, strict=True)]
    found = dict(zip(values[len(columns) :], originals, strict=True))
    copies = []
    for place, column in enumerate(columns):
        original, different = found.get(values[place]), len({*values[place]} - {None})
        if original is not None and len(rows) * math.log2(different or 1) >= _BITS:
            copies.append(ColumnCopy(column.name, original.name, len(rows)))
    return copies


def _plain(value: str | None) -> str | float | None:
    if value is None:
        return None
    text = value.strip().casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    return text if math.isnan(number) else number
