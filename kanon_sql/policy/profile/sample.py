"""A part of a large table that is the same whenever it is drawn: the rows whose hash is small.

By the hash of the row, or of the person where people are counted, so that all rows of a person are in it or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column

DEFAULT_ROWS = 500_000
_HEX_DIGITS = 8


def sample_query(
    table: exp.Table,
    columns: Sequence[Column],
    share: float,
    entity: Column | None = None,
    values: Sequence[exp.Expr] = (),
) -> exp.Select:
    """Return the query for about a share of the rows of a table: those whose hash by MD5 is small.

    Args:
        table: the table.
        columns: all of its columns, which make the hash where no person is named.
        share: of the rows, above 0 and below 1.
        entity: the column that names the person.
        values: what is taken of a row, whose alias is ``source``; by default all of it.
    """
    limit = format(int(share * 16**_HEX_DIGITS), f"0{_HEX_DIGITS}x")
    digest = exp.MD5(this=_as_text(columns if entity is None else [entity]))
    chosen = exp.LT(this=exp.Left(this=digest, expression=sql.literal(_HEX_DIGITS)), expression=sql.literal(limit))
    return exp.select(*(values or [exp.Star()])).from_(sql.aliased(table, "source")).where(chosen)


def _as_text(columns: Sequence[Column]) -> exp.Expr:
    """Return the values of a row as one text."""
    whole: exp.Expr | None = None
    for column in columns:
        text = sql.cast(sql.column(column.name, "source"), "VARCHAR")
        part: exp.Expr = exp.Coalesce(this=text, expressions=[sql.literal("")])
        if whole is not None:
            parted = exp.DPipe(this=whole, expression=sql.literal("|"), safe=True)
            part = exp.DPipe(this=parted, expression=part, safe=True)
        whole = part
    return sql.literal("") if whole is None else whole
