"""Equality of written values: a class is what readers of the release see as equal, not what ``=`` calls equal.

SQL treats some values as equal that are written differently: 0.0 and -0.0, texts under a case-insensitive collation,
the intervals of 30 days and of 1 month. A class of such values would have k rows for kanon and single rows for readers.

- Floating-point numbers are published in one form for each value (``published``).
- Quasi-identifiers whose equality differs from what is written are refused (``require_identity``).
- Checks of a table compare the written values (``written``).
- ENUM columns are published as text: their type would name every value, even those of suppressed rows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kanon_sql.engine.base import Column, Engine

_WRITTEN_ONE_WAY = {"UUID", "TIME", "TIME_NS", "TIME WITH TIME ZONE", "BLOB", "BIT", "BIGNUM", "JSON"}

# Parts of types that sqlglot cannot parse, or writes as something else.
_UNREADABLE = re.compile(r'\bTUPLE\(|"NULL"')


def published(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value as published: in the one form of all values that are equal to it."""
    if column.family == "float":
        not_a_number = sql.cast(sql.literal("NaN"), column.type)
        return (
            exp.Case()
            .when(exp.EQ(this=value, expression=sql.literal(0)), sql.literal(0))
            .when(exp.EQ(this=value.copy(), expression=not_a_number), not_a_number.copy())
            .else_(value.copy())
        )
    kind = published_type(column)
    return value if kind == column.type else sql.cast(value, kind)


def comparable(column: Column) -> str:
    """Return how ``sql.same`` compares a column with itself."""
    return sql.SAME_TYPE if column.family == "other" or _is_enum(column) else column.family


def looked_up(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a value of the table as hierarchies store it: ENUM values are texts there."""
    return sql.cast(value, "VARCHAR") if _is_enum(column) else value


def _is_enum(column: Column) -> bool:
    return column.family == "text" and column.type.startswith("ENUM")


def as_text(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a published value as text, to be used beside labels."""
    text = published(value, column)
    return sql.float_as_text(text) if column.family == "float" else sql.cast(text, "VARCHAR")


def published_type(column: Column) -> str:
    """Return the type of a column published unchanged: its own, with any ENUM replaced by text."""
    if column.family == "text":
        return "VARCHAR"
    if "ENUM(" not in column.type:
        return column.type
    if _UNREADABLE.search(column.type):
        raise UsageError(
            f"Column {column.name!r} is of type {column.type.partition('(')[0]} with an ENUM in it, and this type "
            "would name every value, also those of suppressed rows. Cast it to VARCHAR, or take it apart, in a view, "
            "and anonymize the view; or leave it out."
        )
    text, enum = exp.DataType.build("TEXT"), exp.DataType.Type.ENUM
    written = exp.DataType.build(column.type, dialect="duckdb")
    return written.transform(lambda node: text.copy() if node.args.get("this") == enum else node).sql(dialect="duckdb")


def written(value: exp.Expr, column: Column) -> exp.Expr:
    """Return a grouping expression that makes values equal only if they are written the same."""
    alike = column.family not in {"float", "other"} or column.type in _WRITTEN_ONE_WAY
    return value if alike else sql.cast(value, "VARCHAR")


def require_identity(
    engine: Engine, source: exp.Table, columns: Iterable[Column], *, may_be_collated: bool = True
) -> None:
    """Raise unless equal values of these columns are written the same, or can be made so.

    A data file loaded into kanon's own database has no collations, so the check for them can be skipped.
    """
    columns = list(columns)
    for column in columns:
        if column.family == "other" and column.type not in _WRITTEN_ONE_WAY:
            kind = column.type.partition("(")[0]
            raise UsageError(
                f"Column {column.name!r} is of type {kind}, whose equal values can be written in several ways. "
                "Cast it to VARCHAR, or take it apart, in a view, and anonymize the view."
            )
    texts = [column for column in columns if may_be_collated and column.family == "text"]
    if found := collated(engine, source, texts):
        raise UsageError(
            f"Column {found[0]!r} has a collation: texts that are written differently count as equal, and would be "
            "published as one class. Remove it (ALTER TABLE ... ALTER ... TYPE VARCHAR), or use a view with "
            'COLLATE "binary".'
        )


def collated(engine: Engine, source: exp.Table, texts: list[Column]) -> list[str]:
    """Return the names of text columns with a collation other than by characters."""
    if not texts or not engine.has_collations:
        return []
    (everywhere,) = engine.row(
        sql.statement("catalog/setting", values={"name": "default_collation"}), "how text is compared"
    )
    if everywhere.lower() not in {"", "binary"}:
        return [texts[0].name]
    query = exp.select(*(sql.column(column.name) for column in texts)).from_(source.copy()).limit(0)
    copy = make_table(engine, "kanon_columns", query, "collations of the columns")
    (definition,) = engine.row(
        sql.statement("catalog/collations", values={"name": copy.name}), "collations of the columns"
    )
    engine.run(sql.drop(copy), "collations of the columns")
    described = sqlglot.parse_one(definition, read="duckdb")
    return [
        column.name
        for column in described.find_all(exp.ColumnDef)
        if any(constraint.this.name.lower() != "binary" for constraint in column.find_all(exp.CollateColumnConstraint))
    ]
