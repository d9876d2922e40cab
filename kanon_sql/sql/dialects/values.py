"""Names, types and numbers as each dialect writes them, refused where it cannot have them.

Floating-point numbers as text have the same digits everywhere, written as DuckDB writes them. All engines write the
shortest decimal that reads back as the same number, but for the point and the exponent: 1.0 is ``1`` in PostgreSQL, and
12345678.0 is ``1.2345678E7`` in Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from kanon_sql.sql.dialects.capabilities import Capabilities


def national(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a text as one of Unicode, where a text without a mark has the letters of one code page."""
    foreign = isinstance(node, exp.Literal) and node.is_string and not node.this.isascii()
    return exp.National(this=node.this) if foreign and capabilities.sqlglot == "tsql" else node


def quoted_name(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a name as a dialect writes it.

    Raises:
        UsageError: no column can be called so there.
    """
    if not isinstance(node, exp.Identifier):
        return node
    name = node.this
    if not name:
        raise UsageError(f"{capabilities.title} has no names of no characters: give the column a name in a view.")
    if any(character in capabilities.not_in_names for character in name):
        raise UsageError(
            f"{capabilities.title} has no column called {name!r}: give it a name of letters, digits and _ in a view."
        )
    return exp.Identifier(this=name, quoted=True) if capabilities.quotes else node


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


def float_text(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return the text of a number as DuckDB writes it, where a node asks for that."""
    if not isinstance(node, exp.Cast) or node.meta.get("family") != "float":
        return node
    write = _WRITTEN.get(capabilities.name)
    return node if write is None else write(node.this)


def without_infinity(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a node without NaN and infinity, where numbers can be neither."""
    if capabilities.sqlglot != "tsql":
        return node
    if isinstance(node, exp.Case):
        node.set("ifs", [branch for branch in node.args["ifs"] if not _is_word(branch.args["true"], "NaN")])
    if _is_word(node, "Infinity"):
        return exp.Literal.number("1.7976931348623157e308")
    return node


def has_a_place(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return whether a number or a date is finite, and the seconds of a date, as a dialect says it."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == "ISFINITE":
        (value,) = node.expressions
        if node.meta.get("family") == "float":  # infinity less infinity is NaN
            return exp.EQ(this=exp.Sub(this=value, expression=value.copy()), expression=sql.literal(0))
        return node if capabilities.name == "postgres" else value.is_(exp.null()).not_()
    if capabilities.name == "spark" and isinstance(node, exp.Extract) and node.this.name.lower() == "epoch":
        return sql.cast(sql.cast(node.expression, "TIMESTAMP WITH TIME ZONE"), "DOUBLE")
    return node


def _is_word(node: exp.Expr, word: str) -> bool:
    return isinstance(node, exp.Cast) and node.to.this in {*exp.DataType.REAL_TYPES} and node.this.name == word


def _replaced(text: exp.Expr, pattern: str, by: str) -> exp.Expr:
    arguments = [text, exp.Literal.string(pattern), exp.Literal.string(by)]
    return exp.Anonymous(this="REGEXP_REPLACE", expressions=arguments)


def _postgres(value: exp.Expr) -> exp.Expr:
    """``1`` is 1.0, ``1e+15`` is 1000000000000000.0; NaN is nan, and Infinity inf."""
    text = sql.cast(value.copy(), "VARCHAR")
    whole = exp.Anonymous(this="TO_CHAR", expressions=[value.copy(), exp.Literal.string("FM9999999999999990.0")])
    size = exp.Abs(this=value.copy())
    in_between = exp.and_(
        exp.GTE(this=size, expression=exp.Literal.number("1e15")),
        exp.LT(this=size.copy(), expression=exp.Literal.number("1e16")),
    )
    dotted = _replaced(text.copy(), "^(-?[0-9]+)$", "\\1.0")
    case = exp.Case().when(exp.EQ(this=value.copy(), expression=sql.cast(exp.Literal.string("NaN"), "DOUBLE")), "'nan'")
    case = case.when(
        exp.EQ(this=size.copy(), expression=sql.cast(exp.Literal.string("Infinity"), "DOUBLE")),
        _replaced(text, "Infinity", "inf"),
    )
    return case.when(in_between, whole).else_(dotted)


def _spark(value: exp.Expr) -> exp.Expr:
    """Spark writes an exponent from 1e7 on and below 1e-3: DuckDB from 1e16 on and below 1e-4."""
    text = sql.cast(value.copy(), "VARCHAR")
    size = exp.Abs(this=value.copy())
    plain_large = exp.and_(
        exp.GTE(this=size, expression=exp.Literal.number("1e7")),
        exp.LT(this=size.copy(), expression=exp.Literal.number("1e16")),
    )
    plain_small = exp.and_(
        exp.GTE(this=size.copy(), expression=exp.Literal.number("1e-4")),
        exp.LT(this=size.copy(), expression=exp.Literal.number("1e-3")),
    )
    digits = sql.cast(sql.cast(value.copy(), "DECIMAL(38, 21)"), "VARCHAR")
    plain = _replaced(_replaced(digits, "0+$", ""), "[.]$", ".0")
    # 1.0E20 -> 1e+20, 1.5E-5 -> 1.5e-05
    short = _replaced(_replaced(text.copy(), "[.]0E", "E"), "E-([0-9])$", "E-0$1")
    signed = _replaced(_replaced(short, "E([0-9])", "e+$1"), "E-", "e-")
    named = _replaced(_replaced(signed, "NaN", "nan"), "Infinity", "inf")
    return exp.Case().when(exp.or_(plain_large, plain_small), plain).else_(named)


def _tsql(value: exp.Expr) -> exp.Expr:
    """CAST would leave six digits of a number: style 3 is all of them."""
    kind = exp.Anonymous(this="NVARCHAR", expressions=[sql.literal(40)])
    return exp.Anonymous(this="CONVERT", expressions=[kind, value, sql.literal(3)])


_WRITTEN: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "postgres": _postgres,
    "spark": _spark,
    "databricks": _spark,
    "tsql": _tsql,
    "sqlserver": _tsql,
}
