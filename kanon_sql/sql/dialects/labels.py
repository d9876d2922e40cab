"""What rules of hierarchies make labels of: exact numbers, parts of dates and of texts, as each dialect has them.

Where a dialect is not known to write the same text as DuckDB, the rule is refused: its rows are written out instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from kanon_sql.sql.dialects.capabilities import Capabilities

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
    """Return a number as a decimal, rounded; NULL where it is none, or has too many digits.

    Raises:
        UsageError: the dialect computes otherwise with such numbers.
    """
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
    """Return a value as text, if the dialect is known to write it as DuckDB does.

    Raises:
        UsageError: it is not.
    """
    if isinstance(node, exp.Cast) and (family := node.meta.get("label_of")) is not None:
        known = _AS_DUCKDB if family in {"float", "decimal", "boolean", "date", "timestamp"} else set()
        if family not in {"text", "integer"} and capabilities.name not in known:
            raise UsageError(f"{capabilities.title} may write values of this type in another way than DuckDB.")
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
    whole, *rest = texts
    for part in rest:
        dashed = exp.DPipe(this=whole, expression=sql.literal("-"), safe=True)
        whole = exp.DPipe(this=dashed, expression=part, safe=True)
    return whole


def part_of_text(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a part of a text, or a text filled up, where a dialect has other functions for it.

    Raises:
        UsageError: it has no regular expressions.
    """
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
