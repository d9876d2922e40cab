"""The order of a release's rows: a hash, which every engine has under another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kanon_sql.sql.dialects.capabilities import Capabilities

_SHUFFLE = "kanon_shuffle"


def shuffled(columns: Sequence[exp.Expr], seed: int, *, plain: bool = False) -> exp.Expr:
    """Return what to order a release by, so that its rows stand in an order that says nothing.

    The order is a hash of what is published and of the seed, and of nothing else: neither the order of the source nor
    any value that is not in the release can be learned from it, and the same release comes in the same order however
    many threads made it. Rows that are equal in all columns stand side by side.

    Args:
        columns: what is published.
        seed: of the order.
        plain: whether all of them are numbers, texts, dates or truth values, which every engine can hash as they are.
    """
    hashed = exp.Anonymous(this=_SHUFFLE, expressions=[*columns, sql.literal(seed)])
    hashed.meta["plain"] = plain
    return hashed


def ordered(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return the hash of a dialect where a node stands for one."""
    if isinstance(node, exp.Anonymous) and node.name == _SHUFFLE:
        *columns, seed = node.expressions
        if capabilities.name == "postgres" and node.meta.get("plain"):
            return exp.Anonymous(this="HASH_RECORD_EXTENDED", expressions=[_row(columns), seed])
        return _HASHES[capabilities.name](columns, seed)
    return node


def _duckdb(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="HASH", expressions=[*columns, seed])


def _postgres(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    """Of the row as text: what hashes a row itself refuses columns of types without a hash, such as json."""
    return exp.Anonymous(this="HASHTEXTEXTENDED", expressions=[sql.cast(_row(columns), "VARCHAR"), seed])


def _row(columns: list[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this="ROW", expressions=columns)


def _spark(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="XXHASH64", expressions=[*columns, seed])


def _snowflake(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="HASH", expressions=[*columns, seed])


def _bigquery(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    row = exp.Struct(expressions=[*columns, seed])
    return exp.Anonymous(this="FARM_FINGERPRINT", expressions=[exp.Anonymous(this="TO_JSON_STRING", expressions=[row])])


def _trino(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    row = exp.Anonymous(this="ROW", expressions=[*columns, seed])
    text = exp.Anonymous(this="JSON_FORMAT", expressions=[exp.Cast(this=row, to=exp.DataType.build("JSON"))])
    return exp.Anonymous(this="XXHASH64", expressions=[exp.Anonymous(this="TO_UTF8", expressions=[text])])


def _clickhouse(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    """Of a text, in which NULL is a word: a hash of a NULL is NULL."""
    row = exp.Anonymous(this="tuple", expressions=[*columns, seed])
    return exp.Anonymous(this="cityHash64", expressions=[exp.Anonymous(this="toJSONString", expressions=[row])])


def _tsql(columns: list[exp.Expr], seed: exp.Expr) -> exp.Expr:
    """Of a text without the NULLs; rows that differ in them alone stand in no order, which says nothing either."""
    text = exp.Anonymous(this="CONCAT_WS", expressions=[exp.Literal.string("|"), *columns, seed])
    return exp.Anonymous(this="HASHBYTES", expressions=[exp.Literal.string("SHA2_256"), text])


_HASHES: dict[str, Callable[[list[exp.Expr], exp.Expr], exp.Expr]] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "spark": _spark,
    "databricks": _spark,
    "snowflake": _snowflake,
    "bigquery": _bigquery,
    "trino": _trino,
    "clickhouse": _clickhouse,
    "tsql": _tsql,
    "sqlserver": _tsql,
}
