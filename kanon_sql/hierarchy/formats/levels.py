"""Levels that Python gives: a mapping, or a data frame of pandas, polars or Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.sources.data_files import frame_kind
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.formats.rows import Line

if TYPE_CHECKING:
    from collections.abc import Iterable


def lines_of(levels: Any) -> tuple[Line, ...]:  # noqa: ANN401 - a mapping, or a data frame
    """Return the lines that a file of these levels would have: a value, and its labels up to the root.

    >>> lines_of({"f": "person", 25: ["20s", "*"]})
    (Line(at='entry 1', value='f', labels=('person',)), Line(at='entry 2', value='25', labels=('20s', '*')))
    """
    if isinstance(levels, Mapping):
        rows: Iterable[Any] = (
            (value, *(labels if isinstance(labels, list | tuple) else [labels])) for value, labels in levels.items()
        )
    else:
        rows = _rows_of_frame(levels)
    lines = []
    for number, row in enumerate(rows, start=1):
        value, *labels = map(_text, row)
        lines.append(Line(f"entry {number:,}", value, tuple(label or "" for label in labels)))
    return tuple(lines)


def _rows_of_frame(frame: Any) -> Iterable[Any]:  # noqa: ANN401 - of a library that need not be installed
    kind = frame_kind(frame)
    if kind == "pandas":
        rows: Iterable[Any] = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    elif kind == "polars":
        rows = frame.lazy().collect().iter_rows()
    elif kind == "arrow":
        rows = zip(*(column.to_pylist() for column in frame.columns), strict=True)
    else:
        raise UsageError(
            "A hierarchy is a rule, a file, a mapping from a value to its label or its list of labels, or a data frame "
            f"whose first column is the value; not {type(frame).__name__}."
        )
    return rows


def _text(cell: Any) -> str | None:  # noqa: ANN401 - any cell
    """Return a value as a file has it; None for a missing one, and NaN."""
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return None
    return str(cell).lower() if isinstance(cell, bool) else str(cell)
