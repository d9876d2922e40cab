"""Types: DuckDB's, by the names that each dialect has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from kanon_sql.sql.dialects.capabilities import Capabilities

_T = exp.DataType.Type

# Types that only DuckDB has: the narrowest of SQL that hold all their values.
_WIDER: dict[exp.DType, str] = {
    _T.UTINYINT: "SMALLINT",
    _T.USMALLINT: "INT",
    _T.UINT: "BIGINT",
    _T.UBIGINT: "DECIMAL(20, 0)",
    _T.INT128: "DECIMAL(38, 0)",
    _T.TIMESTAMP_S: "TIMESTAMP",
    _T.TIMESTAMP_MS: "TIMESTAMP",
    _T.TIMESTAMP_NS: "TIMESTAMP",
}
_UNKNOWN = {_T.UINT128, _T.STRUCT, _T.MAP, _T.UNION, _T.BIGNUM, _T.UNKNOWN, _T.USERDEFINED}
"""Types without a counterpart, or one that depends on the engine's settings."""


def typed(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a type of a dialect for one of DuckDB.

    Raises:
        UsageError: the dialect has none.
    """
    if not isinstance(node, exp.DataType):
        return node
    kind = node.this
    if kind in _WIDER:
        return exp.DataType.build(_WIDER[kind])
    names = capabilities.types.get(kind.name)
    if names is not None:
        return exp.DataType.build(names, dialect=capabilities.sqlglot, udt=True)
    if kind in _UNKNOWN or kind.name in capabilities.no_types:
        raise UsageError(
            f"{capabilities.title} has no type that is DuckDB's {node.sql('duckdb')}: cast the column to VARCHAR in a "
            "view, or leave it out."
        )
    return node
