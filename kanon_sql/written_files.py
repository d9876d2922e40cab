"""Files that a release is written to: the statement that writes one, and the query that reads it back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.publication import Publication


# Types whose values would not come back as they were.
_NOT_IN_PARQUET = re.compile(r"\b(U?HUGEINT|INTERVAL|VARIANT|TIME WITH TIME ZONE)\b|\bUNION\(")
_NOT_IN_TEXT = re.compile(r"\bVARIANT\b|\b(UNION|MAP)\(")


def require_types(publication: Publication, format_name: str) -> None:
    """Raise unless a format can hold the types of the published columns.

    Raises:
        UsageError: it would change their values.
    """
    unknown = _NOT_IN_PARQUET if format_name == "parquet" else _NOT_IN_TEXT
    for name, kind in publication.published_types.items():
        if unknown.search(kind):
            raise UsageError(
                f"Column {name!r} is of type {kind.partition('(')[0]}, which {format_name} cannot hold unchanged: cast "
                "it in a view (to DECIMAL, BIGINT or VARCHAR), drop it, or write another format."
            )


def copy_statement(query: exp.Query, path: Path, format_name: str) -> exp.Copy:
    """Return the statement that writes the rows of a query to a file."""
    settings: list[tuple[str, exp.Expr]] = [("FORMAT", exp.var("json" if format_name == "jsonl" else format_name))]
    settings += [("HEADER", exp.true())] if format_name == "csv" else []
    settings += [("ARRAY", exp.true())] if format_name == "json" else []
    return exp.Copy(
        this=exp.Subquery(this=query),
        kind=False,
        files=[sql.literal(str(path))],
        params=[exp.CopyParameter(this=exp.var(name), expression=value) for name, value in settings],
    )


def reading_back(publication: Publication, path: Path, format_name: str) -> exp.Subquery:
    """Return a file as a subquery: read as text, so that nothing is guessed, then cast to what it must be."""
    types = publication.published_types
    file = sql.literal(str(path))
    if format_name == "parquet":
        reader = exp.Anonymous(this="read_parquet", expressions=[file])
        query = exp.select(*(sql.column(name) for name in types))
    else:
        text = exp.Struct(
            expressions=[exp.PropertyEQ(this=sql.literal(name), expression=sql.literal("VARCHAR")) for name in types]
        )
        settings: dict[str, exp.Expr] = {"columns": text}
        if format_name == "csv":
            settings |= {
                "header": exp.true(),
                "auto_detect": exp.false(),
                "delim": sql.literal(","),
                "quote": sql.literal('"'),
                "escape": sql.literal('"'),
                "allow_quoted_nulls": exp.false(),
            }
        named = [exp.EQ(this=exp.var(name), expression=value) for name, value in settings.items()]
        reader = exp.Anonymous(this="read_csv" if format_name == "csv" else "read_json", expressions=[file, *named])
        query = exp.select(*(sql.named(sql.cast(sql.column(name), kind), name) for name, kind in types.items()))
    return exp.Subquery(this=query.from_(exp.Table(this=reader)), alias=exp.TableAlias(this=sql.identifier("file")))
