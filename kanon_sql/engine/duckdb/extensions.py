"""Extensions of DuckDB: loaded where they are installed; downloaded only when somebody said that they may be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from kanon_sql.engine.duckdb.failures import first_line, not_installed
from kanon_sql.errors import SourceError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.duckdb.engine import DuckDBEngine

ALLOWS_INSTALLING = "KANON_INSTALL_EXTENSIONS"
"""The environment variable by which somebody allows that extensions are downloaded: 1, true or yes."""


def load_extension(engine: DuckDBEngine, name: str, what: str) -> exp.Expr:
    """Load an extension, and return the statement that does.

    Args:
        engine: that needs it.
        name: of the extension, as DuckDB lists it.
        what: needs it, as the beginning of a message.

    Raises:
        SourceError: it is not installed and may not be, or cannot be downloaded or loaded.
    """
    if not is_installed(engine, name):
        if os.environ.get(ALLOWS_INSTALLING, "").strip().lower() not in {"1", "true", "yes"}:
            raise SourceError(not_installed(name, what))
        _run(engine, "INSTALL", name, f"{what} needs DuckDB's extension {name}, which cannot be downloaded")
    return _run(engine, "LOAD", name, f"{what} needs DuckDB's extension {name}, which cannot be loaded")


def is_installed(engine: DuckDBEngine, name: str) -> bool:
    """Tell whether an extension is on this machine."""
    found = engine.rows(sql.statement("catalog/extension", values={"name": name}), "is the extension there?")
    return any(installed for (installed,) in found)


def _run(engine: DuckDBEngine, verb: str, name: str, wrong: str) -> exp.Expr:
    statement = exp.Command(this=verb, expression=sql.identifier(name))
    try:
        engine.run_unlogged(statement)
    except duckdb.Error as error:
        raise SourceError(f"{wrong}. {first_line(error)}") from None
    return statement
