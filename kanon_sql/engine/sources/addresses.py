"""Addresses: SQLite databases, files on other machines, and warehouses.

Every password and every setting of an address is a secret: no message, log, script or policy file contains one.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.engine.files import is_in_private_directory, relative_path
from kanon_sql.engine.keys import HIDDEN
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from kanon_sql.engine.warehouse.warehouse import Warehouse

SQLITE_HEAD = b"SQLite format 3\x00"
_SQLITE = "sqlite:"
# By scheme, the DuckDB extension that reads files there.
_OBJECTS = {
    **dict.fromkeys(("http", "https", "gs", "gcs", "r2", "s3", "s3a", "s3n", "hf"), "httpfs"),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), "azure"),
}
_DATABASES = {".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3"}
_ONE_BY_ONE = {"http", "https"}  # cannot list files
_PASSWORD = re.compile(r"(:/{0,2}[^/:@]*):.*@", re.DOTALL)  # up to the last @: it may contain any character, unescaped
_NAME = r"[?&;#]\s*[^\s/?&;#=]+\s*="  # of a setting; not the ? of a pattern
_SETTING = re.compile(rf"({_NAME})(?:(?!{_NAME}).)*", re.DOTALL)


@dataclass(frozen=True)
class DatabaseAddress:
    """An SQLite database, opened read-only."""

    given: str
    shown: str
    file: Path


@dataclass(frozen=True)
class ObjectAddress:
    """Data files on another machine; ``*`` matches several, but not on the web. The address contains no secrets."""

    shown: str
    path: PurePosixPath
    extension: str


Address = DatabaseAddress | ObjectAddress


def place_of(source: Any) -> Address | Path | None:  # noqa: ANN401 - accepts anything
    """Return the address or the path of a source; None for a warehouse and for anything but text.

    Opens no file: if a process closes any descriptor of a file, POSIX drops all its locks on that file.
    """
    if not isinstance(source, str | os.PathLike) or is_warehouse(source):
        return None
    text = os.fspath(source)
    scheme = _scheme(text)
    if text.startswith(_SQLITE):
        return sqlite_at(Path(_split(text)[1] or ""))
    if scheme in _OBJECTS:
        return _object(scheme, text)
    if scheme:
        raise UsageError(
            f"{scheme} sources are not read by kanon: copy the table to a DuckDB file (ATTACH, CREATE TABLE ... AS) "
            "or a Parquet file, or give a connection of DuckDB that has it attached."
        )
    return Path(text)


def sqlite_at(path: Path) -> DatabaseAddress:
    if not path.is_file():
        raise SourceError(f"{path} does not exist.")
    return DatabaseAddress(f"{_SQLITE}{path}", str(path), path)


def _scheme(text: str) -> str:
    scheme, separator, _ = text.partition("://")
    return scheme.lower() if separator else ""


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file, which identify databases; empty if it cannot be read."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_HEAD))
    except OSError:  # reported when it is opened
        return b""


def without_secrets(source: str) -> str:
    """Return a source without the password of an address, and with ``***`` for the values of its settings."""
    if path_in(source) is not None:
        return source
    scheme, _, rest = source.partition("://")
    if "@" in rest.partition("?")[2]:  # either may extend up to there
        return f"{scheme}://{HIDDEN}"
    return _SETTING.sub(rf"\1{HIDDEN}", _PASSWORD.sub(r"\1@", source))


def shown_source(source: str) -> str:
    """Return a source for messages: without secrets, and stdin as ``-``."""
    return "-" if is_in_private_directory(source) else without_secrets(source)


def _split(source: str) -> tuple[str, str | None]:
    """Return the part before the path of a source, and the path; None for an address on another machine."""
    if source.startswith(_SQLITE):
        return _SQLITE, source.removeprefix(_SQLITE).removeprefix("///")  # in SQLAlchemy's form
    return "", None if "://" in source or is_warehouse(source) else source


def path_in(source: str) -> str | None:
    """Return the path in a source, even if nothing exists there; None for an address on another machine."""
    return _split(source)[1]


def resolved(source: str, directory: Path) -> str:
    """Resolve a source relative to a directory; addresses stay unchanged."""
    prefix, path = _split(source)
    if path is None:
        return source
    # If nothing has that name it may be a pattern; the directory's own name is not one.
    above = directory if (directory / path).exists() else Path(glob.escape(str(directory)))
    return f"{prefix}{above / path}"


def seen_from(directory: Path, source: str) -> str:
    """Return a source relative to a directory: the inverse of ``resolved``."""
    prefix, path = _split(source)
    return source if path is None else prefix + relative_path(Path(path), directory)


def is_remote(source: str) -> bool:
    """Return True if a source is on another machine, which has no shell completion."""
    return _scheme(source) in _OBJECTS


def _object(scheme: str, text: str) -> ObjectAddress:
    is_web, shown = scheme in _ONE_BY_ONE, without_secrets(text)
    if shown != text or (is_web and ("?" in text or "@" in text.split("/")[2])):
        raise UsageError(
            f"{shown} has a password or settings, which would be in logs and scripts: make a secret of DuckDB instead "
            "(CREATE PERSISTENT SECRET), and leave them out here; or fetch the file first."
        )
    if is_web and "*" in text:
        raise UsageError(f"{scheme} cannot list files, so that * stands for nothing: name one file.")
    path = PurePosixPath(text.partition("://")[2])
    if path.suffix.lower() in _DATABASES:
        raise UsageError(f"{text} is a database, and only data files are read from there: fetch the file first.")
    return ObjectAddress(text, path, _OBJECTS[scheme])


def warehouse_of(source: Any) -> Literal["postgres", "spark"] | None:  # noqa: ANN401 - as above
    """Return the kind of warehouse of a URL or a connection, without importing its library."""
    if isinstance(source, str):
        if source.startswith(("postgresql://", "postgres://")):
            return "postgres"
        return "spark" if source.startswith(("spark:", "sc://")) else None
    for kind in type(source).__mro__:
        if kind.__module__.partition(".")[0] == "psycopg" and kind.__name__ == "Connection":
            return "postgres"
        if kind.__module__.startswith("pyspark.sql.") and kind.__name__ in {"SparkSession", "DataFrame"}:
            return "spark"
    return None


def is_warehouse(source: Any) -> bool:  # noqa: ANN401 - as above
    return warehouse_of(source) is not None


def open_warehouse(source: Any) -> Warehouse:  # noqa: ANN401 - as above
    if warehouse_of(source) == "spark":
        from kanon_sql.engine.spark.warehouse import SparkWarehouse

        return SparkWarehouse.connect(source)
    from kanon_sql.engine.postgres.warehouse import PostgresWarehouse

    if isinstance(source, str):
        return PostgresWarehouse.connect(source)
    if source.closed:
        raise UsageError("The connection to PostgreSQL is closed.")
    if not source.autocommit:
        raise UsageError("The connection to PostgreSQL must be in autocommit mode: open it with autocommit=True.")
    if source.info.transaction_status:  # 0 is idle
        raise UsageError("The connection to PostgreSQL has a transaction open: commit it or roll it back first.")
    return PostgresWarehouse(source, "the connection")
