"""Connecting to DuckDB: what it may take of the machine, and where it puts what does not fit into memory."""

from __future__ import annotations

import re
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb
from sqlglot import exp

from kanon_sql.engine.duckdb.failures import first_line
from kanon_sql.engine.private_files import PrivateDirectory
from kanon_sql.engine.timing import check_deadline
from kanon_sql.errors import InUseError, NoRoomError, SourceError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from kanon_sql.engine.duckdb.resources import Resources

Result = TypeVar("Result")

_PATIENCE = 30.0  # seconds for which others may have the database
_PAUSE = 0.05

TAKEN_BY_DUCKDB = {"main", "memory", "system", "temp"}  # names that no attached database can have

# Nothing is downloaded unasked (see extensions.py).
_SETTINGS: dict[str, str | int] = {"autoinstall_known_extensions": "false"}


def connect(resources: Resources, beside: Path | None) -> tuple[duckdb.DuckDBPyConnection, PrivateDirectory]:
    """Return a connection to an empty database, and the private directory that it spills to.

    Args:
        resources: what it may take of the machine.
        beside: the directory to spill to where none was named and one can be made in it.

    Raises:
        NoRoomError: the memory limit is too small for anything.
        SourceError: the directory to spill to cannot be written.
    """
    spill = spill_directory(resources.directory, beside)
    try:
        connection = duckdb.connect(config={**_SETTINGS, "temp_directory": str(spill.path), **resources.settings})
    except duckdb.Error as error:
        spill.remove()
        if isinstance(error, duckdb.OutOfMemoryException):
            raise NoRoomError(
                f"DuckDB cannot start with {resources.memory_limit} of memory: give more (--memory-limit)."
            ) from None
        raise SourceError(f"DuckDB cannot start. {first_line(error)}") from None
    # It is asked how far it is, but must not draw a bar of its own on stdout, which is for data. In Jupyter without
    # ipywidgets it can draw none, and refuses the setting itself (duckdb issue 7590).
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")
    return connection, spill


def waited(opened: Callable[[], Result]) -> Result:
    """Return what opens a database, which other processes may have open for a while.

    Raises:
        InUseError: they have it open for too long.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return opened()
        except InUseError as error:
            if not error.elsewhere or time.monotonic() > end:
                raise
            check_deadline("waiting for a database that another process has open")
            time.sleep(_PAUSE)


def spill_directory(named: Path | None, beside: Path | None) -> PrivateDirectory:
    """Return a private directory where one was named; else beside a file, or in that of the system for such things.

    Raises:
        SourceError: none can be made.
    """
    if named is None and beside is not None:
        with suppress(OSError):
            return PrivateDirectory(beside)
    parent = named or Path(tempfile.gettempdir())
    try:
        return PrivateDirectory(parent)
    except OSError as error:
        raise SourceError(
            f"{parent}, where what does not fit into memory would be put, cannot be written ({error.strerror}): name "
            "a directory that can be (--temp-dir)."
        ) from None


def storage_options(version: str | None, block_size: int) -> list[exp.Expr]:
    """Return how a database file is written, as options of ATTACH."""
    found = re.match(r"v\d+\.\d+\.\d+", version or "")
    options: list[exp.Expr] = [exp.AttachOption(this=exp.var("BLOCK_SIZE"), expression=sql.literal(block_size))]
    if found is not None:
        options.append(exp.AttachOption(this=exp.var("STORAGE_VERSION"), expression=sql.literal(found[0])))
    return options


def catalog_of(file: Path) -> exp.Identifier:
    """Return the name that a database file is attached by: what DuckDB calls it when it is opened by itself."""
    name = file.name.lstrip(".").partition(".")[0] or file.name
    return sql.identifier(f"{name}_db" if name.casefold() in TAKEN_BY_DUCKDB else name)
