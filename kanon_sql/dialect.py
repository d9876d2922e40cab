"""How expressions are rendered for each dialect: what sqlglot cannot know, in one table.

Statements are written once, as DuckDB means them. Two things have no common form: the order of a release's rows, and
the hint that a common table expression is to be inlined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_SHUFFLE = "kanon_shuffle"


def script(statements: Iterable[exp.Expr], dialect: str) -> str:
    """Return statements as people read and run them: each on lines of its own, with its semicolon."""
    return "\n\n".join(f"{render(statement, dialect, pretty=True)};" for statement in statements)


def shuffled(columns: Sequence[exp.Expr], seed: int) -> exp.Expr:
    """Return what to order a release by, so that its rows stand in an order that says nothing.

    The order is a hash of what is published and of the seed, and of nothing else: neither the order of the source nor
    any value that is not in the release can be learned from it, and the same release comes in the same order however
    many threads made it. Rows that are equal in all columns stand side by side.
    """
    return exp.Anonymous(this=_SHUFFLE, expressions=[*columns, sql.literal(seed)])


def render(expression: exp.Expr, dialect: str, *, pretty: bool = False) -> str:
    """Return the text of an expression in a dialect.

    Raises:
        UsageError: the dialect is not one of ``DIALECTS``.
    """
    if dialect not in _SHUFFLES:
        raise UsageError(f"There is no dialect {dialect!r}. There are: {', '.join(DIALECTS)}.")
    special = expression.find(exp.Anonymous, exp.CTE) is not None
    adapted = expression.transform(_adapt, dialect) if special else expression
    return adapted.sql(dialect, pretty=pretty)


def _adapt(node: exp.Expr, dialect: str) -> exp.Expr:
    if isinstance(node, exp.Anonymous) and node.name == _SHUFFLE:
        *columns, seed = node.expressions
        return _SHUFFLES[dialect](columns, seed)
    if isinstance(node, exp.CTE) and dialect == "spark":
        node.set("materialized", None)
    return node


def _duckdb(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="HASH", expressions=[*columns, seed])


def _postgres(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    row = exp.Anonymous(this="ROW", expressions=columns)
    return exp.Anonymous(this="HASHTEXTEXTENDED", expressions=[sql.cast(row, "VARCHAR"), seed])


def _spark(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="XXHASH64", expressions=[*columns, seed])


_SHUFFLES: dict[str, Callable[[list[exp.Expr], exp.Expr], exp.Expr]] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "spark": _spark,
}

DIALECTS = tuple(_SHUFFLES)
"""Dialects that statements can be rendered in."""
