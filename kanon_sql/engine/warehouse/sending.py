"""Rows of the workbench on their way to a warehouse: as texts that it reads, into types that its columns have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.warehouse.types import as_postgres_writes
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.warehouse.workbench import Workbench

SENT = "sent"
"""The name that the table has whose rows are sent."""
_TEXT = "VARCHAR"


def written_rows(
    bench: Workbench,
    table: exp.Table,
    types: Mapping[str, str],
    title: str,
    present: exp.Expr | None = None,
    *,
    distinct: bool = False,
) -> list[tuple[Any, ...]]:
    """Return the rows of a table of the workbench as texts that a warehouse reads.

    Args:
        bench: has the table.
        table: called ``sent`` in the condition.
        types: by name, those of its columns; the columns are taken in this order.
        title: what it is for.
        present: which rows; None for all.
        distinct: whether equal rows are sent once.
    """
    query = exp.select(*(sql.named(_written(name, kind), name) for name, kind in types.items()))
    query = (query.distinct() if distinct else query).from_(sql.aliased(table, SENT))
    return bench.rows(query if present is None else query.where(present), title)


def shape_of(source: exp.Table, types: Mapping[str, str | exp.Expr]) -> exp.Select:
    """Return a query without a row, whose columns have the types that rows are to have in a warehouse.

    Args:
        source: a table there, called ``source``.
        types: by name, a type, or an expression over the table that has it.
    """
    columns = [
        sql.named(kind.copy() if isinstance(kind, exp.Expr) else sql.cast(exp.null(), kind), name)
        for name, kind in types.items()
    ]
    return exp.select(*columns).from_(sql.aliased(source, "source")).where(exp.false())


def _written(name: str, kind: str) -> exp.Expr:
    value = sql.column(name, SENT)
    return value if kind == _TEXT else as_postgres_writes(sql.cast(value, _TEXT), kind)
