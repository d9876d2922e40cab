"""Files on other machines, which DuckDB reads by extensions.

Extensions are loaded if they are installed, and downloaded only if that is allowed. Credentials are secrets of DuckDB.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from kanon_sql.engine.duckdb.connection import first_line, in_force, not_installed, spill_directory
from kanon_sql.engine.sources.data_files import make_from_file, read_file, reader_of, require_names
from kanon_sql.engine.sources.reading import FileRead
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.addresses import ObjectAddress
    from kanon_sql.engine.sources.layout import Layout

ALLOWS_INSTALLING = "KANON_INSTALL_EXTENSIONS"
"""The environment variable that allows to download extensions: 1, true or yes."""


def load_extension(engine: DuckDBEngine, name: str, what: str) -> exp.Expr:
    """Load the extension that ``what`` needs, and return the statement that does."""
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
    engine: DuckDBEngine, address: ObjectAddress, relation: exp.Table, layout: Layout, *, as_text: bool = False
) -> tuple[FileRead, exp.Expr]:
    """Make files at an address a relation; return how it was read, and the statement that must run before.

    Parquet is read where it is, whenever it is needed. Other files are copied here first. An address that ends in a
    slash stands for all Parquet files below.
    """
    is_directory = address.shown.endswith("/")
    pattern = f"{address.shown}**/*.parquet" if is_directory else address.shown
    reader = reader_of(address.path / "all.parquet" if is_directory else address.path, layout)
    layout.require_for(reader, address.shown)
    load, place = load_extension(engine, address.extension, address.shown), sql.literal(pattern)
    try:
        if reader != "read_parquet":
            with _downloaded(engine, address, place) as copy:
                found = read_file(engine, copy, relation, layout, as_text=as_text)
            for read in found.create.find_all(exp.Anonymous):
                if read.name.startswith("read_") and str(copy.parent) in str(read.expressions[0]):
                    read.expressions[0].replace(place.copy())
            return found, load
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


@contextmanager
def _downloaded(engine: DuckDBEngine, address: ObjectAddress, place: exp.Expr) -> Iterator[Path]:
    """Yield a copy of files at an address: the file, or a directory of several; it is deleted on exit."""
    with spill_directory(in_force(None).directory, None) as private:
        objects = engine.rows(sql.statement("files/content", values={"address": place}), "copy the files")
        if not objects:
            raise SourceError("There is no such file.")
        directory, copies = private.path / "copy", []
        for name, content in objects:
            parts = PurePosixPath(str(name).partition("?")[0].rpartition("://")[2]).parts
            copies.append(directory.joinpath(*(part for part in parts if part not in {"..", "/"})))
            copies[-1].parent.mkdir(parents=True, exist_ok=True)
            copies[-1].write_bytes(content)
        copy = copies[0] if len(copies) == 1 else directory
        try:
            yield copy
        except (SourceError, UsageError) as error:
            shown = address.shown if len(copies) == 1 else f"{address.shown}, "
            error.args = tuple(str(part).replace(str(copy), shown) for part in error.args)
            raise
