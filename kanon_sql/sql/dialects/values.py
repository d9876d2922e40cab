"""Write names, types and numbers for each dialect, or refuse those that it cannot have.

Floating-point numbers as text have the same digits in every dialect, in DuckDB's format. All engines write the shortest
decimal that reads back as the same number, but they differ in the point and the exponent: 1.0 is ``1`` in PostgreSQL,
and 12345678.0 is ``1.2345678E7`` in Spark.

Rules make the labels of hierarchies from numbers, parts of dates and of texts. If a dialect is not known to write the
same text as DuckDB, the rule is refused, and its rows are written out instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from kanon_sql.sql.dialects.capabilities import Capabilities


def quoted_name(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a name in the syntax of a dialect."""
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

# DuckDB-only types, and the narrowest SQL types that hold all their values.
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
"""Types without a counterpart, or with one that depends on the engine's settings."""


def typed(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return the type of a dialect for a DuckDB type."""
    if not isinstance(node, exp.DataType):
        return node
    kind = node.this
    if kind in _WIDER:
        return exp.DataType.build(_WIDER[kind])
    names = capabilities.types.get(kind.name)
    if names is not None:
        return exp.DataType.build(names, dialect=capabilities.name, udt=True)
    if kind in _UNKNOWN or kind.name in capabilities.no_types:
        raise UsageError(
            f"{capabilities.title} has no type that is DuckDB's {node.sql('duckdb')}: cast the column to VARCHAR in a "
            "view, or leave it out."
        )
    return node


def float_text(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return the text of a number in DuckDB's format if a node asks for it."""
    if not isinstance(node, exp.Cast) or node.meta.get("family") != "float":
        return node
    write = _WRITTEN.get(capabilities.name)
    return node if write is None else write(node.this)


def has_a_place(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return whether a number or a date is finite, or the seconds of a date, in the syntax of a dialect."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == "ISFINITE":
        (value,) = node.expressions
        if node.meta.get("family") == "float":  # infinity minus infinity is NaN
            return exp.EQ(this=exp.Sub(this=value, expression=value.copy()), expression=sql.literal(0))
        return node if capabilities.name == "postgres" else value.is_(exp.null()).not_()
    if capabilities.name == "spark" and isinstance(node, exp.Extract) and node.this.name.lower() == "epoch":
        return sql.cast(sql.cast(node.expression, "TIMESTAMP WITH TIME ZONE"), "DOUBLE")
    return node


def _replaced(text: exp.Expr, pattern: str, by: str) -> exp.Expr:
    arguments = [text, exp.Literal.string(pattern), exp.Literal.string(by)]
    return exp.Anonymous(this="REGEXP_REPLACE", expressions=arguments)


def _postgres(value: exp.Expr) -> exp.Expr:
    """``1`` is 1.0, ``1e+15`` is 1000000000000000.0; NaN is nan, and Infinity inf."""
    text = sql.cast(value.copy(), "VARCHAR")
    size = exp.Abs(this=value.copy())
    in_between = exp.and_(
        exp.GTE(this=size, expression=exp.Literal.number("1e15")),
        exp.LT(this=size.copy(), expression=exp.Literal.number("1e16")),
    )
    number = exp.Cast(this=text.copy(), to=exp.DataType.build("DECIMAL"))  # of any number of digits
    digits = sql.cast(number, "VARCHAR")  # without an exponent
    whole, dotted = (_replaced(one, "^(-?[0-9]+)$", "\\1.0") for one in (digits, text.copy()))
    case = exp.Case().when(exp.EQ(this=value.copy(), expression=sql.cast(exp.Literal.string("NaN"), "DOUBLE")), "'nan'")
    case = case.when(
        exp.EQ(this=size.copy(), expression=sql.cast(exp.Literal.string("Infinity"), "DOUBLE")),
        _replaced(text, "Infinity", "inf"),
    )
    return case.when(in_between, whole).else_(dotted)


def _spark(value: exp.Expr) -> exp.Expr:
    """Spark writes an exponent from 1e7 up and below 1e-3, DuckDB from 1e16 up and below 1e-4."""
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


_WRITTEN: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "postgres": _postgres,
    "spark": _spark,
    "databricks": _spark,
}


_DATE_PARTS = {"%Y": (("YEAR", 4),), "%Y-%m": (("YEAR", 4), ("MONTH", 2))}
_DATE_PARTS["%Y-%m-%d"] = (*_DATE_PARTS["%Y-%m"], ("DAY", 2))
_ISO = {
    "bigquery": {"isoyear": "ISOYEAR", "week": "ISOWEEK"},
    "snowflake": {"isoyear": "YEAROFWEEKISO", "week": "WEEKISO"},
    "spark": {"isoyear": "YEAROFWEEK"},
    "databricks": {"isoyear": "YEAROFWEEK"},
}
"""Names of the ISO 8601 week and week-numbering year in dialects that have another word for them."""


def exact(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a number as a rounded decimal; NULL if it is not finite or has too many digits."""
    if not isinstance(node, exp.TryCast) or "exact" not in node.meta:
        return node
    digits, places = (int(parameter.name) for parameter in node.to.expressions)
    if node.meta["exact"] != "float":
        return exp.Cast(this=node.this, to=node.to)
    given = node.this
    number = sql.cast(given.copy(), "DOUBLE") if isinstance(given, exp.Cast) else given.copy()
    small_enough = exp.LT(
        this=exp.Abs(this=number), expression=exp.Literal.number(f"1e{digits - places}")
    )  # not for NaN, which is not comparable or is above all
    written: exp.Expr = given.copy()
    if capabilities.name == "postgres":  # its cast keeps 15 digits
        written = sql.cast(written, "VARCHAR")
    if capabilities.name == "bigquery":  # its decimals always have 38 places
        written = exp.Round(this=sql.cast(written, "DECIMAL"), decimals=sql.literal(places))
    return exp.Case().when(small_enough, exp.Cast(this=written, to=node.to))


def number_as_text(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return an exact number as text, with its intended decimal places."""
    if not isinstance(node, exp.Cast) or (places := node.meta.get("places")) is None:
        return node
    if capabilities.name == "bigquery":  # it omits trailing zeros
        return exp.Anonymous(this="FORMAT", expressions=[exp.Literal.string(f"%.{places}f"), node.this])
    return sql.cast(sql.cast(node.this, f"DECIMAL(38, {places})"), "VARCHAR")


def value_as_text(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a value as text if the dialect is known to write it as DuckDB does."""
    if isinstance(node, exp.Cast) and (family := node.meta.get("label_of")) is not None:
        known = _WRITTEN if family in {"float", "decimal", "boolean", "date", "timestamp"} else ()
        if family not in {"text", "integer"} and capabilities.name not in known:
            raise UsageError(f"{capabilities.title} may write values of this type in another way than DuckDB.")
    return node


def halves_away(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a number rounded with halves away from zero; PostgreSQL rounds halves to even."""
    if not isinstance(node, exp.Round) or "halves" not in node.meta or capabilities.name != "postgres":
        return node
    whole = exp.Anonymous(this="TRUNC", expressions=[node.this.copy()])
    rest = exp.Paren(this=exp.Sub(this=exp.paren(node.this), expression=whole))
    twice = exp.Anonymous(this="TRUNC", expressions=[exp.Mul(this=rest, expression=sql.literal(2))])
    return exp.Paren(this=exp.Add(this=whole.copy(), expression=twice))


def in_postgres_pattern(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a pattern match in PostgreSQL's syntax, which differs for the end of a text and for a substring."""
    if capabilities.name != "postgres" or not isinstance(node, exp.RegexpReplace | exp.RegexpLike | exp.RegexpExtract):
        return node
    if isinstance(node.expression, exp.Literal):
        pattern = re.sub(r"\\x\{([0-9A-F]{4})\}", r"\\u\1", node.expression.name)
        node.set("expression", sql.literal(re.sub(r"\\z$", r"\\Z", pattern)))
    if isinstance(node, exp.RegexpExtract):  # of the first group; the replacement is not traversed again
        text = node.this.transform(in_postgres_pattern, capabilities)
        return exp.Anonymous(this="SUBSTRING", expressions=[text, node.expression])
    return node


def part_of_date(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a date as text, or a part of one, in the syntax of a dialect."""
    if isinstance(node, exp.TimeToStr) and (parts := _DATE_PARTS.get(node.args["format"].name)) is not None:
        return _written_date(node.this, parts)
    if not isinstance(node, exp.Extract):
        return node
    word = _ISO.get(capabilities.name, {}).get(node.this.name.lower())
    return node if word is None else exp.Extract(this=exp.var(word), expression=node.expression)


def _written_date(date: exp.Expr, parts: tuple[tuple[str, int], ...]) -> exp.Expr:
    texts: list[exp.Expr] = []
    for word, digits in parts:
        number = exp.Extract(this=exp.var(word), expression=date.copy())
        text = sql.cast(number, "VARCHAR")
        zeros = sql.literal("0")
        padded = exp.Pad(this=text, expression=sql.literal(digits), fill_pattern=zeros, is_left=True)
        if word == "YEAR":  # padding would cut it to its first four digits
            short = exp.LT(this=number.copy(), expression=sql.literal(1000))
            texts.append(exp.Case().when(short, padded).else_(text.copy()))
        else:
            texts.append(padded)
    return sql.concatenated(*texts, by="-")
