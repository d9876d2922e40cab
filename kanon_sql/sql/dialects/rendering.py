"""From an expression to the text of a dialect: the rules in their order, then sqlglot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from kanon_sql.errors import UsageError
from kanon_sql.sql.dialects.capabilities import capabilities_of
from kanon_sql.sql.dialects.expressions import (
    condition_moved,
    null_safe,
    ordered,
    summed,
    without_filter,
)
from kanon_sql.sql.dialects.statements import is_secure, left_behind, secured, statements_of
from kanon_sql.sql.dialects.values import (
    exact,
    float_text,
    halves_away,
    has_a_place,
    in_postgres_pattern,
    number_as_text,
    part_of_date,
    quoted_name,
    typed,
    value_as_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kanon_sql.sql.dialects.capabilities import Capabilities


NATIVE = "native"
"""In ``meta`` of a statement: the dialect that it was written for, and is valid in."""


def rendered(statement: exp.Expr, dialect: str, *, pretty: bool = False) -> list[str]:
    """Return the texts of a statement in a dialect, to be run one after the other; the last one returns its rows.

    ``statement``: as DuckDB means it; ``dialect``: one of ``DIALECTS``; ``pretty``: whether people are to read it.
    """
    capabilities = capabilities_of(dialect)
    return [
        made if isinstance(made, str) else render(made, dialect, pretty=pretty)
        for made in statements_of(statement, capabilities)
    ]


def script(statements: Iterable[exp.Expr], dialect: str) -> str:
    """Return statements as people read and run them: each on lines of its own, with its semicolon."""
    return "\n\n".join(f"{text};" for statement in statements for text in rendered(statement, dialect, pretty=True))


def clean_up(statements: Iterable[exp.Expr], dialect: str) -> list[str]:
    """Return what removes the tables that statements leave behind where there are no temporary ones."""
    capabilities = capabilities_of(dialect)
    made: dict[str, list[exp.Expr]] = {}
    for statement in statements:
        made |= left_behind(statement, capabilities)
    return [render(drop, dialect) for drops in made.values() for drop in drops]


def render(expression: exp.Expr, dialect: str, *, pretty: bool = False) -> str:
    """Return the text of an expression in a dialect; of a statement, ``rendered`` knows whether it is one there."""
    capabilities = capabilities_of(dialect)
    if dialect == "duckdb":
        kinds = set(map(type, expression.walk()))
        special = exp.Anonymous in kinds
        adapted = expression.transform(_for_duckdb, capabilities) if special else expression
        if is_secure(expression):
            adapted = secured(adapted if special else adapted.copy(), capabilities)
        if adapted is not expression:
            return adapted.sql(dialect, pretty=pretty, copy=False)
        part = expression.parent is not None
        return expression.sql(dialect, pretty=pretty, copy=part or pretty or not kinds.isdisjoint(_CHANGED))
    _require_portable(expression, capabilities)
    adapted = expression.transform(condition_moved)
    for rule in _RULES:
        adapted = adapted.transform(rule, capabilities, copy=False)
    try:
        return adapted.sql(dialect, pretty=pretty, unsupported_level=ErrorLevel.RAISE, copy=False)
    except UnsupportedError as error:
        raise UsageError(f"{capabilities.title} cannot say this: {error}.") from None


_CHANGED = {exp.GroupConcat, exp.BitwiseLeftShift}
"""Nodes of our statements that sqlglot changes as it writes them for DuckDB; without one no copy is made for that."""


def _require_portable(expression: exp.Expr, capabilities: Capabilities) -> None:
    """Raise if an expression has what only DuckDB has: sqlglot would pass it on as it is, or as something else."""
    if expression.meta.get(NATIVE) == capabilities.name:
        return
    for node in expression.find_all(exp.Anonymous, *_ONLY_DUCKDB):
        word = node.name if isinstance(node, exp.Anonymous) else node.key.upper()
        if word.lower() not in _EVERYWHERE:
            raise UsageError(f"{capabilities.title} cannot say this: it needs {word}, which is DuckDB's.")


_ONLY_DUCKDB = (exp.Copy, exp.Command, exp.Lambda, exp.List, exp.Unnest, exp.Attach, exp.Pragma)
_EVERYWHERE = {
    "kanon_shuffle",
    "kanon_largest",
    "isfinite",
    "dense_rank",
    "current_schema",
    "current_database",
}
"""Functions that sqlglot has no node for, and that are called so in every dialect or are rewritten."""


def _for_duckdb(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    return summed(ordered(node, capabilities), capabilities)


def _hinted(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a step of a query: kept in between where that may be said, since it is read twice."""
    if isinstance(node, exp.CTE):
        hint = node.args.get("materialized")
        node.set("materialized", (hint is not None or None) if capabilities.hints else None)
    return node


# One after the other, since what a rule puts in the place of a node is for the rules after it.
_RULES = (
    secured,
    _hinted,
    without_filter,
    exact,
    number_as_text,
    value_as_text,
    part_of_date,
    in_postgres_pattern,
    has_a_place,
    float_text,
    halves_away,
    null_safe,
    typed,
    ordered,
    summed,
    quoted_name,
)
