"""Names, types and numbers as each dialect writes them, refused where it cannot have them.

Floating-point numbers as text have the same digits everywhere, written as DuckDB writes them. All engines write the
shortest decimal that reads back as the same number, but for the point and the exponent: 1.0 is ``1`` in PostgreSQL, and
12345678.0 is ``1.2345678E7`` in Spark.

Labels of hierarchies are made by rules of numbers, parts of dates and of texts. Where a dialect is not known to write
the same text as DuckDB, the rule is refused: its rows are written out instead.
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


def national(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a text as one of Unicode, where a text without a mark has the letters of one code page."""
    foreign = isinstance(node, exp.Literal) and node.is_string and not node.this.isascii()
    return exp.National(this=node.this) if foreign and capabilities.sqlglot == "tsql" else node


def quoted_name(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a name as a dialect writes it."""
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
    """Return a type of a dialect for one of DuckDB."""
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


_AS_DUCKDB = {"postgres", "spark", "databricks"}
"""Dialects that write dates, truth values and numbers of any type as DuckDB does."""
_IN_A_WORD = 18  # digits of a whole number of 64 bits
_DATE_PARTS = {"%Y": (("YEAR", 4),), "%Y-%m": (("YEAR", 4), ("MONTH", 2))}
_DATE_PARTS["%Y-%m-%d"] = (*_DATE_PARTS["%Y-%m"], ("DAY", 2))
_ISO = {
    "bigquery": {"isoyear": "ISOYEAR", "week": "ISOWEEK"},
    "snowflake": {"isoyear": "YEAROFWEEKISO", "week": "WEEKISO"},
    "spark": {"isoyear": "YEAROFWEEK"},
    "databricks": {"isoyear": "YEAROFWEEK"},
    "trino": {"isoyear": "YEAR_OF_WEEK"},
    "tsql": {"week": "ISO_WEEK"},
}
"""What dialects call the weeks of ISO 8601, and the years that they count in, where they have another word."""


def exact(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a number as a decimal, rounded; NULL where it is none, or has too many digits."""
    if not isinstance(node, exp.TryCast) or "exact" not in node.meta:
        return node
    digits, places = (int(parameter.name) for parameter in node.to.expressions)
    family = node.meta["exact"]
    if capabilities.sqlglot == "clickhouse":
        if family != "integer" or places or digits > _IN_A_WORD:
            raise UsageError(f"{capabilities.title} computes otherwise with decimals.")
        return sql.cast(node.this, "BIGINT")
    if family != "float":
        return exp.Cast(this=node.this, to=node.to)
    given = node.this
    number = sql.cast(given.copy(), "DOUBLE") if isinstance(given, exp.Cast) else given.copy()
    small_enough = exp.LT(
        this=exp.Abs(this=number), expression=exp.Literal.number(f"1e{digits - places}")
    )  # not of NaN, which is not comparable or above all
    written: exp.Expr = given.copy()
    if capabilities.name == "postgres":  # whose cast keeps 15 digits
        written = sql.cast(written, "VARCHAR")
    if capabilities.name == "bigquery":  # whose decimals all have 38 places
        written = exp.Round(this=sql.cast(written, "DECIMAL"), decimals=sql.literal(places))
    return exp.Case().when(small_enough, exp.Cast(this=written, to=node.to))


def number_as_text(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return an exact number as text, with the decimal places that it is meant to have."""
    if not isinstance(node, exp.Cast) or (places := node.meta.get("places")) is None:
        return node
    if capabilities.name == "bigquery":  # which leaves out zeros at the end
        return exp.Anonymous(this="FORMAT", expressions=[exp.Literal.string(f"%.{places}f"), node.this])
    if capabilities.sqlglot == "clickhouse":
        return sql.cast(node.this, "VARCHAR")
    return sql.cast(sql.cast(node.this, f"DECIMAL(38, {places})"), "VARCHAR")


def value_as_text(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a value as text, if the dialect is known to write it as DuckDB does."""
    if isinstance(node, exp.Cast) and (family := node.meta.get("label_of")) is not None:
        known = _AS_DUCKDB if family in {"float", "decimal", "boolean", "date", "timestamp"} else set()
        if family not in {"text", "integer"} and capabilities.name not in known:
            raise UsageError(f"{capabilities.title} may write values of this type in another way than DuckDB.")
    return node


def halves_away(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a number rounded with halves away from zero; PostgreSQL rounds them to even numbers."""
    if not isinstance(node, exp.Round) or "halves" not in node.meta or capabilities.name != "postgres":
        return node
    whole = exp.Anonymous(this="TRUNC", expressions=[node.this.copy()])
    rest = exp.Paren(this=exp.Sub(this=exp.paren(node.this), expression=whole))
    twice = exp.Anonymous(this="TRUNC", expressions=[exp.Mul(this=rest, expression=sql.literal(2))])
    return exp.Paren(this=exp.Add(this=whole.copy(), expression=twice))


def in_postgres_pattern(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return what looks for a pattern in PostgreSQL, which has other words for the end of a text and for a part."""
    if capabilities.name != "postgres" or not isinstance(node, exp.RegexpReplace | exp.RegexpLike | exp.RegexpExtract):
        return node
    if isinstance(node.expression, exp.Literal):
        pattern = re.sub(r"\\x\{([0-9A-F]{4})\}", r"\\u\1", node.expression.name)
        node.set("expression", sql.literal(re.sub(r"\\z$", r"\\Z", pattern)))
    if isinstance(node, exp.RegexpExtract):  # of the first group; what is put in its place is not gone through again
        text = node.this.transform(in_postgres_pattern, capabilities)
        return exp.Anonymous(this="SUBSTRING", expressions=[text, node.expression])
    return node


def part_of_date(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a date as text, or a part of one, in the words of a dialect."""
    if isinstance(node, exp.TimeToStr) and (parts := _DATE_PARTS.get(node.args["format"].name)) is not None:
        return _written_date(node.this, parts)
    if not isinstance(node, exp.Extract):
        return node
    part, name = node.this.name.lower(), capabilities.sqlglot
    if name == "clickhouse" and part in {"isoyear", "week"}:
        return exp.Anonymous(this="toISOYear" if part == "isoyear" else "toISOWeek", expressions=[node.expression])
    if name == "tsql" and part == "isoyear":  # that of the Thursday of the week
        week = exp.Extract(this=exp.var("ISO_WEEK"), expression=node.expression.copy())
        days = exp.Sub(this=sql.literal(26), expression=week)
        thursday = exp.Anonymous(this="DATEADD", expressions=[exp.var("DAY"), days, node.expression])
        return exp.Anonymous(this="YEAR", expressions=[thursday])
    word = _ISO.get(name, {}).get(part)
    return node if word is None else exp.Extract(this=exp.var(word), expression=node.expression)


def _written_date(date: exp.Expr, parts: tuple[tuple[str, int], ...]) -> exp.Expr:
    texts: list[exp.Expr] = []
    for word, digits in parts:
        number = exp.Extract(this=exp.var(word), expression=date.copy())
        text = sql.cast(number, "VARCHAR")
        zeros = sql.literal("0")
        padded = exp.Pad(this=text, expression=sql.literal(digits), fill_pattern=zeros, is_left=True)
        if word == "YEAR":  # which would be cut to its first four digits
            short = exp.LT(this=number.copy(), expression=sql.literal(1000))
            texts.append(exp.Case().when(short, padded).else_(text.copy()))
        else:
            texts.append(padded)
    return sql.concatenated(*texts, by="-")


def part_of_text(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a part of a text, or a text filled up, where a dialect has other functions for it."""
    name = capabilities.sqlglot
    if isinstance(node, exp.RegexpReplace | exp.RegexpLike) and name in {"tsql", "clickhouse"}:
        raise UsageError(f"{capabilities.title} has no regular expressions, or other ones.")
    write = _TEXTS.get(name, {}).get(type(node))
    if write is None:
        return node
    # What is put in the place of a node is not gone through again.
    for key, value in [*node.args.items()]:
        if isinstance(value, exp.Expr):
            node.set(key, value.transform(part_of_text, capabilities))
    return write(node)


def _left(node: exp.Expr) -> exp.Expr:
    return _substring(node.this, sql.literal(1), node.expression)


def _right(node: exp.Expr) -> exp.Expr:
    length, kept = exp.Length(this=node.this.copy()), node.expression
    first = exp.Add(this=exp.Sub(this=length, expression=kept.copy()), expression=sql.literal(1))
    whole = exp.LTE(this=length.copy(), expression=kept.copy())
    return exp.Case().when(whole, node.this.copy()).else_(_substring(node.this, first))


_OF_CHARACTERS: dict[type[exp.Expr], str] = {
    exp.Left: "leftUTF8",
    exp.Right: "rightUTF8",
    exp.Length: "lengthUTF8",
    exp.Upper: "upperUTF8",
    exp.Pad: "PadUTF8",
}
"""Functions of ClickHouse that count characters; the others count bytes."""


def _of_characters(node: exp.Expr) -> exp.Expr:
    name = _OF_CHARACTERS[type(node)]
    arguments = [node.this, *([] if node.args.get("expression") is None else [node.expression])]
    if isinstance(node, exp.Pad):
        name = f"{'left' if node.args.get('is_left') else 'right'}{name}"
        arguments.append(node.args["fill_pattern"])
    return exp.Anonymous(this=name, expressions=arguments)


def _substring(text: exp.Expr, *places: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="SUBSTR", expressions=[text, *places])


def _padded(node: exp.Expr) -> exp.Expr:
    """Return a text filled up by REPLICATE, and no longer than it may be."""
    length = node.expression
    fill = exp.Anonymous(this="REPLICATE", expressions=[node.args["fill_pattern"], length])
    sides = (fill, node.this) if node.args.get("is_left") else (node.this, fill)
    joined = exp.DPipe(this=sides[0], expression=sides[1])  # CONCAT would make a text of NULL
    return (exp.Right if node.args.get("is_left") else exp.Left)(this=joined, expression=length.copy())


_TEXTS: dict[str, dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]]] = {
    "clickhouse": dict.fromkeys(_OF_CHARACTERS, _of_characters),
    "trino": {exp.Left: _left, exp.Right: _right},
    "tsql": {exp.Pad: _padded},
}
