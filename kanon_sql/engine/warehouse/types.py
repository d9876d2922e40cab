"""Texts of values as DuckDB and PostgreSQL write them."""

from __future__ import annotations

from sqlglot import exp

from kanon_sql.sql import build as sql

_WITH_DATES = {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}


def as_duckdb_writes(text: exp.Expr, kind: str) -> exp.Expr:
    """Return the text of a value as DuckDB reads it; it would take a time before Christ for one after.

    ``0044-03-15 12:00:00 BC`` is ``0044-03-15 (BC) 12:00:00`` there.

    Args:
        text: as PostgreSQL writes it.
        kind: the type that it will have.
    """
    return _replaced(text, r"^(\S+)(.*) BC$", r"\1 (BC)\2") if kind in _WITH_DATES else text


def as_postgres_writes(text: exp.Expr, kind: str) -> exp.Expr:
    """Return the text of a value of DuckDB's as PostgreSQL reads it: the way back of ``as_duckdb_writes``."""
    return _replaced(text, r"^(\S+) \(BC\)(.*)$", r"\1\2 BC") if kind in _WITH_DATES else text


def _replaced(text: exp.Expr, pattern: str, by: str) -> exp.Expr:
    return exp.Anonymous(this="REGEXP_REPLACE", expressions=[text, sql.literal(pattern), sql.literal(by)])
