"""Figures of risk about classes: attacks and estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from sqlglot import exp

    from kanon_sql.engine.base import Engine


def temporary_table(engine: Engine, name: str, query: exp.Query, title: str) -> exp.Table:
    """Return a new temporary table with the rows of a query; another number is added to a name that is in use."""
    table = engine.temporary_name(name)
    engine.run(sql.create_table(table, query, temporary=True), title)
    return table
