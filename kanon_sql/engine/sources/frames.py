"""Data frames: which kind a value is, and its rows as a temporary table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import duckdb
from sqlglot import exp

from kanon_sql.engine.columns import named_once
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.duckdb.engine import DuckDBEngine

FrameKind = Literal["pandas", "polars", "arrow", "spark"]


def frame_kind(value: Any) -> FrameKind | None:  # noqa: ANN401 - asks what kind of value this is
    """Return which kind of data frame a value is, without importing any library for it."""
    kinds: dict[tuple[str, str], FrameKind] = {
        ("pandas", "DataFrame"): "pandas",
        ("polars", "DataFrame"): "polars",
        ("polars", "LazyFrame"): "polars",
        ("pyarrow", "Table"): "arrow",
    }
    return kinds.get((type(value).__module__.partition(".")[0], type(value).__name__))


def read_frame(engine: DuckDBEngine, frame: Any, kind: FrameKind) -> exp.Table:  # noqa: ANN401 - of a library that need not be installed
    """Return a temporary table with the rows of a data frame."""
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    names = frame.column_names if kind == "arrow" else frame.columns
    if not len(names):
        raise UsageError(f"The {kind} table has no columns.")
    named_once([str(name) for name in names], f"The {kind} table")
    try:
        engine.connection.register("kanon_frame", frame)
    except duckdb.Error:
        raise SourceError(f"The {kind} table cannot be read: a column holds values of several types.") from None
    relation = engine.temporary_name("kanon_source")
    copy = exp.select("*").from_(sql.relation("kanon_frame"))
    engine.run(sql.create_table(relation, copy, temporary=True), "read the data frame")
    engine.connection.unregister("kanon_frame")
    return relation
