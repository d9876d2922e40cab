"""Addresses: databases and files that DuckDB reaches by an extension, and warehouses.

Every password and every setting of an address is a secret: no message, log, script or policy file has one.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from kanon_sql.engine.files import is_in_private_directory, relative_path
from kanon_sql.engine.keys import HIDDEN
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.warehouse.warehouse import Warehouse

Kind = Literal["sqlite", "mysql", "postgres"]

SQLITE_HEAD = b"SQLite format 3\x00"
_SQLITE = "sqlite:"
_POSTGRES = ("postgresql://", "postgres://")
_SPARK = ("spark://", "sc://", "spark:")
_SERVERS: dict[str, Kind] = {
    "mysql": "mysql",
    "duckdb+mysql": "mysql",
    "duckdb+postgres": "postgres",
    "duckdb+postgresql": "postgres",
}
EXTENSIONS: dict[Kind, str] = {"mysql": "mysql_scanner", "postgres": "postgres_scanner"}
_OBJECTS = {
    **dict.fromkeys(("http", "https", "hf", "s3", "s3a", "s3n", "gs", "gcs", "r2"), "httpfs"),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), "azure"),
}
_DATABASES = {".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3"}
_ONE_BY_ONE = {"http", "https"}  # which cannot list files
_PASSWORD = re.compile(r"(:/{0,2}[^/:@]*):.*@", re.DOTALL)  # up to the last @: it may have any sign, unescaped
_NAME = r"[?&;#]\s*[^\s/?&;#=]+\s*="  # of a setting; not the ? of a pattern
_SETTING = re.compile(rf"({_NAME})(?:(?!{_NAME}).)*", re.DOTALL)


@dataclass(frozen=True)
class DatabaseAddress:
    """A database that is attached for reading, or an SQLite file."""

    kind: Kind
    shown: str  # the address without secrets
    name: str
    schema: str | None  # where a table is looked for first
    given: str = field(repr=False)
    file: Path | None = None  # of SQLite; else the database is attached by its connection, and maybe a password
    connection: str = field(default="", repr=False)
    shown_connection: str = ""  # without secrets
    password: str | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)  # the password and the values of settings


@dataclass(frozen=True)
class ObjectAddress:
    """Data files on another machine; ``*`` in ``given`` may stand for several, but not on the web."""

    given: str = field(repr=False)
    shown: str
    scheme: str
    extension: str

    @property
    def path(self) -> PurePosixPath:
        text = self.given.partition("?")[0] if self.scheme in _ONE_BY_ONE or self.is_signed else self.given
        return PurePosixPath(text.partition("://")[2])

    @property
    def name(self) -> str:
        return self.path.name or self.shown

    @property
    def is_signed(self) -> bool:
        """True if the address has secrets."""
        return self.given != self.shown


Address = DatabaseAddress | ObjectAddress


def address_of(source: Any) -> Address | None:  # noqa: ANN401 - accepts anything
    """Return the address that a source is, or that of the SQLite file at a path.

    The file is opened: do not call this for a file that DuckDB has open (see ``open_beside``).
    """
    if (written := written_address(source)) is not None or not isinstance(source, str | os.PathLike):
        return written
    path = Path(source)
    return _sqlite(path, str(path)) if head_of(path) == SQLITE_HEAD else None


def written_address(source: Any) -> Address | None:  # noqa: ANN401 - as above
    """Return the address that a source is; None for a path and for what is no text."""
    if not isinstance(source, str | os.PathLike):
        return None
    text = os.fspath(source)
    if text.startswith(_SQLITE):
        path = Path(_sqlite_path(text))
        if not path.is_file():
            raise SourceError(f"{path} does not exist.")
        return _sqlite(path, text)
    scheme = _scheme(text)
    if scheme in _SERVERS:
        return _server(scheme, text)
    return _object(scheme, text) if scheme in _OBJECTS else None


def _scheme(text: str) -> str:
    scheme, separator, _ = text.partition("://")
    return scheme.lower() if separator else ""


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file, by which databases are told apart; none if it cannot be read."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_HEAD))
    except OSError:  # reported when it is opened
        return b""


def without_secrets(source: str) -> str:
    """Return a source without the password of an address, and with ``***`` for the values of its settings."""
    return source if path_in(source) is not None else _SETTING.sub(rf"\1{HIDDEN}", _PASSWORD.sub(r"\1@", source))


def has_secrets(source: str) -> bool:
    return without_secrets(source) != source


def shown_source(source: str) -> str:
    """Return a source as messages have it: without secrets, and stdin as ``-``."""
    return "-" if is_in_private_directory(source) else without_secrets(source)


def resolved(source: str, directory: Path) -> str:
    """Return a source that is written as seen from a directory, as seen from here; addresses stay as they are."""
    path = path_in(source)
    if path is None:
        return source
    found, above = directory / path, glob.escape(str(directory))
    is_plain = found.exists() or above == str(directory) or Path(path).is_absolute() or path != source
    # If nothing has that name it may be a pattern; the name of the directory is none.
    return _prefix(source) + (str(found) if is_plain else f"{above}{os.sep}{path}")


def seen_from(directory: Path, source: str) -> str:
    """Return a source as it is written in a directory: the opposite of ``resolved``."""
    path = path_in(source)
    return source if path is None else _prefix(source) + relative_path(Path(path), directory)


def path_in(source: str) -> str | None:
    """Return the path in a source, whether or not something is there; None for an address on another machine."""
    if source.startswith(_SQLITE):
        return _sqlite_path(source)
    return None if "://" in source or is_warehouse(source) else source


def _prefix(source: str) -> str:
    return _SQLITE if source.startswith(_SQLITE) else ""


def is_remote(source: str) -> bool:
    """Return True if a source is on another machine, from which TAB offers nothing."""
    return _scheme(source) in {*_SERVERS, *_OBJECTS}


def _sqlite_path(text: str) -> str:
    """Return the path behind ``sqlite:``, or behind ``sqlite:///`` as SQLAlchemy writes it."""
    path = text.removeprefix(_SQLITE).removeprefix("///")
    if not path or path.startswith("//"):
        raise UsageError("An SQLite file is written sqlite:PATH.")
    return path


def _sqlite(path: Path, given: str) -> DatabaseAddress:
    return DatabaseAddress("sqlite", str(path), path.name, "main", given, path)


def _server(scheme: str, text: str) -> DatabaseAddress:
    kind = _SERVERS[scheme]
    wrong = UsageError(
        f"A {scheme} source is written {scheme}://USER@HOST:PORT/DATABASE?SETTING=VALUE. A password in it, which is "
        "better left to the environment, has special characters as %40 (for @), %2F (/), %3A (:), %23 (#) and %3F (?)."
    )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # its text may quote a part of the password
        raise wrong from None
    path, host = parts.path.removeprefix("/"), unquote(parts.hostname or "")
    settings = dict(parse_qsl(parts.query, keep_blank_values=True))
    is_wrong = parts.fragment or "/" in path or "@" in path or ":" in host
    if is_wrong or not all(setting.isidentifier() for setting in settings):
        raise wrong
    password = settings.pop("password", settings.pop("passwd", unquote(parts.password or "")))
    database = unquote(path)
    named = {
        "host": host,
        "port": "" if port is None else str(port),
        "user": unquote(parts.username or ""),
        "database" if kind == "mysql" else "dbname": database,
    }
    return DatabaseAddress(
        kind,
        without_secrets(text),
        database or kind,
        "public" if kind == "postgres" else database or None,
        text,
        connection=_connection(kind, named | settings),
        shown_connection=_connection(kind, named | dict.fromkeys(settings, HIDDEN)),
        password=password or None,
        secrets=(password, *settings.values()),
    )


def _connection(kind: Kind, settings: Mapping[str, str]) -> str:
    """Return settings of a connection as the extension reads them."""
    quote = '"' if kind == "mysql" else "'"
    escaped = {name: value.replace("\\", "\\\\").replace(quote, f"\\{quote}") for name, value in settings.items()}
    return " ".join(f"{name}={quote}{value}{quote}" for name, value in escaped.items() if value)


def _object(scheme: str, text: str) -> ObjectAddress:
    if scheme in _ONE_BY_ONE:
        if "@" in text.split("/")[2]:
            raise UsageError(
                f"A password in a {scheme} address would be in logs and scripts: make a secret of DuckDB instead "
                "(CREATE PERSISTENT SECRET ... TYPE http), and leave it out here."
            )
        if "*" in text.partition("?")[0]:
            raise UsageError(f"{scheme} cannot list files, so that * stands for nothing: name one file.")
    found = ObjectAddress(text, without_secrets(text), scheme, _OBJECTS[scheme])
    if found.path.suffix.lower() in _DATABASES:
        raise UsageError(f"{found.shown} is a database, and only data files are read from there: fetch the file first.")
    return found


def is_warehouse(source: Any) -> bool:  # noqa: ANN401 - as above
    """Return True for the URL of a warehouse or a connection to it; no library is imported for that."""
    return is_postgres(source) or _is_spark(source)


def is_postgres(source: Any) -> bool:  # noqa: ANN401 - as above
    if isinstance(source, str):
        return source.startswith(_POSTGRES)
    kinds = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).__mro__]
    return ("psycopg", "Connection") in kinds


def _is_spark(source: Any) -> bool:  # noqa: ANN401 - as above
    if isinstance(source, str):
        return source.startswith(_SPARK)
    names = {"SparkSession", "DataFrame"}
    return any(kind.__module__.startswith("pyspark.sql.") and kind.__name__ in names for kind in type(source).__mro__)


def open_warehouse(source: Any) -> Warehouse:  # noqa: ANN401 - as above
    if _is_spark(source):
        from kanon_sql.engine.spark.warehouse import spark_of

        return spark_of(source)
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
