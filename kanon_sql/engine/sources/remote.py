"""Parquet files on other machines, which DuckDB reads by extensions.

Extensions are loaded if installed, and downloaded only if allowed. Credentials are secrets of DuckDB.
"""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from kanon_sql.engine.duckdb.connection import first_line, not_installed
from kanon_sql.engine.sources.data_files import make_from_file, reader_of, require_names
from kanon_sql.engine.sources.layout import PARQUET
from kanon_sql.engine.sources.reading import FileRead
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.addresses import ObjectAddress
    from kanon_sql.engine.sources.layout import Layout

ALLOWS_INSTALLING = "KANON_INSTALL_EXTENSIONS"
"""The environment variable that allows downloading extensions: 1, true or yes."""


def load_extension(engine: DuckDBEngine, name: str, what: str) -> exp.Expr:
    """Load the extension that ``what`` needs, and return the statement."""
    load = exp.Command(this="LOAD", expression=sql.identifier(name))
    statements = [load]
    if not is_installed(engine, name):
        if os.environ.get(ALLOWS_INSTALLING, "").strip().lower() not in {"1", "true", "yes"}:
            raise SourceError(not_installed(name, what))
        statements.insert(0, exp.Command(this="INSTALL", expression=sql.identifier(name)))
    try:
        for statement in statements:
            engine.run_unlogged(statement)
    except duckdb.Error as error:
        raise SourceError(
            f"{what} needs DuckDB's extension {name}, which cannot be loaded. {first_line(error)}"
        ) from None
    return load


def is_installed(engine: DuckDBEngine, name: str) -> bool:
    found = engine.rows(sql.statement("catalog/extension", values={"name": name}), "is the extension there?")
    return any(installed for (installed,) in found)


def read_objects(
    engine: DuckDBEngine, address: ObjectAddress, relation: exp.Table, layout: Layout
) -> tuple[FileRead, exp.Expr]:
    """Create a view of Parquet files at an address; return how they are read, and the statement to run before.

    An address that ends in a slash includes all Parquet files below.
    """
    pattern = f"{address.shown}**/*.parquet" if address.shown.endswith("/") else address.shown
    reader = reader_of(PurePosixPath(pattern), layout)
    if reader != PARQUET:
        raise UsageError(f"{address.shown} is not Parquet, which alone is read from there: fetch the file first.")
    layout.require_for(reader, address.shown)
    load, place = load_extension(engine, address.extension, address.shown), sql.literal(pattern)
    try:
        create = make_from_file(engine, reader, place, relation, {"union_by_name": True})
        columns = engine.columns(relation)
        engine.watch_elsewhere(sql.statement("files/objects", values={"address": place}))
    except SourceError as error:
        if isinstance(error, NoRoomError):
            raise
        raise SourceError(
            f"{address.shown} cannot be read. Is it there, is it what its suffix says, and may you read it (by CREATE "
            f"PERSISTENT SECRET of DuckDB; PROVIDER credential_chain takes what the store's programs use)? {error}"
        ) from None
    require_names(engine, reader, place, columns, address.path.name)
    return FileRead(create, columns, layout), load
