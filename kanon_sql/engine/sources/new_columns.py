"""New columns of [prepare]: expressions of DuckDB's SQL over the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engine.base import find_column, named_once, resolve_columns
from kanon_sql.errors import ComputationError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source

KNOWN_RULES = "rules are trim, lower, null:VALUES, decimal:SIGN, date:FORMAT and cast:TYPE"
_INNER = "prepared"
_UNFIT = (
    "is not one expression that DuckDB reads.",
    "has an alias: the column is called as it stands before the equals sign.",
    "has a part of the kind {}: it is to be a scalar expression over columns.",
    "names a schema: functions and types of DuckDB's own are called without one.",
    "calls {}(), which is not allowed: docs/prepare.md lists the functions that are, which read their arguments alone.",
)
"""By column of sql/prepare/expression.sql, what an error says if it is neither false nor NULL."""


def with_new_columns(
    source: Source, rows: exp.Select, names: Sequence[str], expressions: Mapping[str, str]
) -> tuple[exp.Select, dict[str, tuple[str, ...]]]:
    """Add new columns to the query of the rows, and return the columns that each of these reads.

    Raises:
        UsageError: an expression is not allowed, or cannot be computed for all rows.
    """
    named_once([*names, *expressions], source.name)
    columns = source.engine.columns(rows.subquery())
    query = exp.select(*(sql.column(name, _INNER) for name in names)).from_(rows.subquery(_INNER))
    reads = {}
    for name, text in expressions.items():
        where = f"The expression {text!r} of the new column {name!r}"
        made = _expression(source, text, name, where, columns, expressions)
        # Functions of times of a time zone return what their session has.
        parts = [sql.named(part.copy(), f"part_{n}") for n, part in enumerate(made.find_all(exp.Column, exp.Func))]
        typed = source.engine.columns(exp.select(*parts).from_(rows.subquery(_INNER)).subquery())
        if any(zone in column.type for column in typed for zone in ("TIME ZONE", "TIMESTAMPTZ")):
            raise UsageError(f"{where} has a time of a time zone in it, which differs from place to place.")
        try:
            source.engine.row(exp.select(exp.Count(this=made.copy())).from_(rows.subquery(_INNER)), f"compute {name}")
        except ComputationError:
            raise UsageError(
                f"{where} cannot be computed for all rows: a value does not fit a cast or a function. Where it may be "
                "NULL, write TRY_CAST."
            ) from None
        query = query.select(sql.named(made, name))
        reads[name] = tuple(dict.fromkeys(one.name for one in made.find_all(exp.Column)))
    return query, reads


def _expression(
    source: Source, text: str, name: str, where: str, columns: Sequence[Column], others: Mapping[str, str]
) -> exp.Expr:
    """Parse the expression of a new column, and check that it reads the table alone."""
    try:
        query = exp.select(sqlglot.parse_one(text, read="duckdb"))
        render(query.copy(), "duckdb")
    except (SqlglotError, RecursionError):
        raise UsageError(
            f"{source.name} has no column {name!r}, and {text!r} is neither a rule nor an expression that would make "
            f"one: {KNOWN_RULES}."
        ) from None
    for found in [*query.find_all(exp.Column)]:
        if found.table:
            raise UsageError(f"{where} names a table: write names of columns alone.")
        if find_column(found.name, columns) is None and found.name in others:
            raise UsageError(f"{where} reads the new column {found.name!r}: an expression reads columns of the table.")
        (column,) = resolve_columns([found.name], columns, source.name)
        found.replace(sql.column(column.name, _INNER))
    check = sql.query("prepare/expression", values={"written": render(query.copy(), "duckdb")})
    for found, said in zip(source.engine.row(check, "the expression, as DuckDB parses it"), _UNFIT, strict=True):
        if found:
            raise UsageError(f"{where} {said.format(found)}")
    expression: exp.Expr = query.selects[0].pop()
    return expression
