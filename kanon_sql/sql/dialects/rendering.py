"""Render expressions as text: apply the rules in order, then sqlglot."""

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
"""Key in ``meta`` of a statement: the dialect in which it was written and is valid."""


def rendered(statement: exp.Expr, dialect: str, *, pretty: bool = False) -> list[str]:
    """Return the texts of a statement in a dialect, to be run in order; the last one returns its rows.

    ``statement``: with DuckDB's semantics; ``dialect``: one of ``DIALECTS``; ``pretty``: whether to format it for
    people.
    """
    capabilities = capabilities_of(dialect)
    return [
        made if isinstance(made, str) else render(made, dialect, pretty=pretty)
        for made in statements_of(statement, capabilities)
    ]


def script(statements: Iterable[exp.Expr], dialect: str) -> str:
    """Return statements as a formatted script: each on its own lines, with a semicolon."""
    return "\n\n".join(f"{text};" for statement in statements for text in rendered(statement, dialect, pretty=True))


def clean_up(statements: Iterable[exp.Expr], dialect: str) -> list[str]:
    """Return the statements that drop tables left behind in a dialect without temporary tables."""
    capabilities = capabilities_of(dialect)
    made: dict[str, list[exp.Expr]] = {}
    for statement in statements:
        made |= left_behind(statement, capabilities)
    return [render(drop, dialect) for drops in made.values() for drop in drops]


def render(expression: exp.Expr, dialect: str, *, pretty: bool = False) -> str:
    """Return an expression as text in a dialect. For statements use ``rendered``, which can return several."""
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
"""Node types that sqlglot changes in place when it renders for DuckDB; a statement without them needs no copy."""


def _require_portable(expression: exp.Expr, capabilities: Capabilities) -> None:
    """Raise if an expression uses a DuckDB-only feature: sqlglot would pass it on unchanged, or as something else."""
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
"""Functions without a sqlglot node that have the same name in every dialect or are rewritten."""


def _for_duckdb(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    return summed(ordered(node, capabilities), capabilities)


def _hinted(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a step of a query, marked as materialized if the dialect allows it, since it is read twice."""
    if isinstance(node, exp.CTE):
        hint = node.args.get("materialized")
        node.set("materialized", (hint is not None or None) if capabilities.hints else None)
    return node


# In this order: the output of a rule is the input of the rules after it.
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
