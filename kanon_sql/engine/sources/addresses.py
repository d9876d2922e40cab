"""What a source is, by how it is written: an address that DuckDB reaches by an extension, or a warehouse.

Addresses are those of SQLite files, MySQL and PostgreSQL servers, objects in stores, and files on the web. What
messages, logs and scripts show of one has no password in it.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from kanon_sql.engine.files import is_in_private_directory, relative_path
from kanon_sql.engine.keys import shown_address, shown_url, without_passwords
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from kanon_sql.engine.warehouse.warehouse import Warehouse

Kind = Literal["sqlite", "mysql", "postgres"]

SQLITE_HEAD = b"SQLite format 3\x00"
_SQLITE = "sqlite:"
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
_ONE_BY_ONE = {"http", "https"}  # which cannot say what files there are
_SETTINGS: dict[Kind, set[str]] = {
    "sqlite": set(),
    "mysql": {
        *("socket", "ssl_mode", "ssl_ca", "ssl_capath", "ssl_cert", "ssl_cipher", "ssl_crl", "ssl_crlpath", "ssl_key"),
    },
    "postgres": {
        *("sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "connect_timeout", "application_name"),
        *("passfile", "target_session_attrs", "gssencmode", "channel_binding", "options"),
    },
}  # fmt: skip


@dataclass(frozen=True)
class DatabaseAddress:
    """A database of another kind, which DuckDB attaches for reading.

    Attributes:
        kind: of database.
        shown: what messages call it: the address without its password.
        name: what it is called once it is attached, if that is free.
        connection: what ATTACH is given: the path, or settings of a connection without the password.
        schema: in which a table is looked for first.
        file: the SQLite file.
        password: of the server; None where the extension looks for it by itself.
        given: what the person wrote, password and all.
    """

    kind: Kind
    shown: str
    name: str
    connection: str
    schema: str | None = None
    file: Path | None = None
    password: str | None = field(default=None, repr=False)
    given: str = field(default="", repr=False)


@dataclass(frozen=True)
class ObjectAddress:
    """Data files that another machine keeps.

    Attributes:
        given: where, as a person wrote it; ``*`` may stand for several, but not on the web.
        shown: the same without what gives access.
        scheme: of the address.
        extension: of DuckDB, which reads it.
    """

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
        """Whether the address itself gives access, so that it must not be shown."""
        return self.given != self.shown


Address = DatabaseAddress | ObjectAddress


def address_of(source: Any) -> Address | None:  # noqa: ANN401 - anything may be handed in
    """Return where a source is, if DuckDB reaches it by an extension; None if it is something else.

    A path is looked into, to tell SQLite: not to be called for a file that is open (see ``open_beside``).
    """
    if (written := written_address(source)) is not None or not isinstance(source, str | os.PathLike):
        return written
    path = Path(str(os.fspath(source)))
    return _sqlite(path, str(path)) if is_sqlite(path) else None


def written_address(source: Any) -> Address | None:  # noqa: ANN401 - as above
    """Return the address that a source is written as; None if it is a path, whatever lies there, or no text."""
    if not isinstance(source, str | os.PathLike):
        return None
    text = str(os.fspath(source))
    if text.startswith(_SQLITE):
        path = Path(_sqlite_path(text))
        if not path.is_file():
            raise SourceError(f"{path} does not exist.")
        return _sqlite(path, text)
    scheme, separator, _ = text.partition("://")
    scheme = scheme.lower()
    if separator and scheme in _SERVERS:
        return _server(scheme, text)
    return _object(scheme, text) if separator and scheme in _OBJECTS else None


def shown_source(source: str) -> str:
    """Return a source as it may be printed: an address without its password, and stdin as ``-``."""
    if is_warehouse(source):
        return without_credentials(source)
    if is_in_private_directory(source):
        return "-"
    return source if (address := written_address(source)) is None else address.shown


def resolved(source: str, directory: Path) -> str:
    """Return a source that is written as seen from a directory, as it is from here; an address stays as it is."""
    path = path_in(source)
    if path is None:
        return source
    found, above = directory / path, glob.escape(str(directory))
    is_plain = found.exists() or above == str(directory) or Path(path).is_absolute() or path != source
    # Where nothing has that name it may be a pattern; what the directory is called is none.
    return f"{_prefix(source)}{_as_path(str(found) if is_plain else f'{above}{os.sep}{path}')}"


def seen_from(directory: Path, source: str) -> str:
    """Return a source as it is written in a directory: the opposite of ``resolved``."""
    path = path_in(source)
    return source if path is None else f"{_prefix(source)}{_as_path(relative_path(Path(path), directory))}"


def path_in(source: str) -> str | None:
    """Return the path in a source, whether or not something is there; None for an address on another machine."""
    if source.startswith(_SQLITE):
        return _sqlite_path(source)
    return None if "://" in source or is_warehouse(source) else source


def _prefix(source: str) -> str:
    return _SQLITE if source.startswith(_SQLITE) else ""


def _as_path(path: str) -> str:
    """Return a path that is not taken for an address: a file may be called spark:x.csv."""
    return path if path_in(path) == path else f"{os.curdir}{os.sep}{path}"


def gives_access(source: str) -> bool:
    """Tell whether a source may have a password, a token or a signature in it, so that it must not be written down.

    Settings of an address that are not known to be harmless may be secrets.
    """
    if path_in(source) is not None:
        return _ACCESS.search(source) is not None  # as in the settings of a connection, which nothing here reads
    text = unquote(unquote(source))
    names = [part.partition("=")[0] for part in re.split(r"[?&;#]", text)[1:] if "=" in part]
    return without_passwords(text) != text or any(name.strip().lower() not in _HARMLESS for name in names)


def is_remote(source: str) -> bool:
    """Tell whether a source is on another machine, from which TAB offers nothing."""
    scheme, separator, _ = source.partition("://")
    return bool(separator) and scheme.lower() in {*_SERVERS, *_OBJECTS}


def is_sqlite(path: Path) -> bool:
    """Tell whether a file is an SQLite database, whatever its suffix."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_HEAD)) == SQLITE_HEAD
    except OSError:  # which is said when it is read
        return False


def _sqlite_path(text: str) -> str:
    """Return the path behind ``sqlite:``; also as SQLAlchemy writes it, with three slashes before the path."""
    rest = text.removeprefix(_SQLITE)
    path = rest.removeprefix("///") if rest.startswith("///") else rest
    if not path or path.startswith("//"):
        raise UsageError("An SQLite file is written sqlite:PATH.")
    return path


def _sqlite(path: Path, given: str) -> DatabaseAddress:
    name = path.name.lstrip(".").partition(".")[0] or "sqlite"
    return DatabaseAddress("sqlite", str(path), name, str(path), schema="main", file=path, given=given)


def _server(scheme: str, text: str) -> DatabaseAddress:
    kind = _SERVERS[scheme]
    wrong = UsageError(
        f"A {scheme} source is written {scheme}://USER@HOST:PORT/DATABASE. A password in it, which is better left to "
        "the environment, has special characters as %40 (for @), %2F (/), %3A (:), %23 (#) and %3F (?)."
    )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # whose text quotes what may be a part of the password
        raise wrong from None
    database = unquote(parts.path.removeprefix("/"))
    if parts.fragment or "/" in parts.path.removeprefix("/") or "@" in parts.path or ":" in (parts.hostname or ""):
        raise wrong
    password, settings = _settings(parts, kind, scheme)
    own = "database" if kind == "mysql" else "dbname"
    named = {
        "host": unquote(parts.hostname or ""),
        "port": "" if port is None else str(port),
        "user": unquote(parts.username or ""),
        own: database,
        **settings,
    }
    user = f"{parts.username}@" if parts.username else ""
    host = f"{parts.hostname or ''}{'' if port is None else f':{port}'}"
    return DatabaseAddress(
        kind,
        f"{scheme}://{user}{host}/{database}",
        database or kind,
        " ".join(f"{name}={_quoted(value, kind)}" for name, value in named.items() if value),
        schema="public" if kind == "postgres" else database or None,
        password=password,
        given=text,
    )


def _settings(parts: SplitResult, kind: Kind, scheme: str) -> tuple[str | None, dict[str, str]]:
    password = None if parts.password is None else unquote(parts.password)
    settings = dict(parse_qsl(parts.query, keep_blank_values=True))
    password = settings.pop("password", settings.pop("passwd", password))
    if unknown := sorted(settings.keys() - _SETTINGS[kind]):
        known = ", ".join(sorted(_SETTINGS[kind]))
        raise UsageError(f"{len(unknown)} settings of a {scheme} source are not known here. Known are {known}.")
    return password or None, settings


def _quoted(value: str, kind: Kind) -> str:
    """Return a value as the extension reads it in the settings of a connection."""
    quote = '"' if kind == "mysql" else "'"
    escaped = value.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{quote}{escaped}{quote}"


def _object(scheme: str, text: str) -> ObjectAddress:
    if scheme in _ONE_BY_ONE:
        try:
            parts = urlsplit(text)
            name, password = parts.username, parts.password
        except ValueError:
            raise UsageError(f"This is no {scheme} address: write {scheme}://HOST/FILE.parquet.") from None
        if name is not None or password is not None:
            raise UsageError(
                f"A password in a {scheme} address would be in logs and scripts: make a secret of DuckDB instead "
                "(CREATE PERSISTENT SECRET ... TYPE http), and leave it out here."
            )
        if "*" in parts.path:
            raise UsageError(f"{scheme} cannot list files, so that * stands for nothing: name one file.")
    found = ObjectAddress(text, shown_address(text), scheme, _OBJECTS[scheme])
    if found.path.suffix.lower() in _DATABASES:
        raise UsageError(
            f"{found.shown} is a database: fetch the file, then name it here. Data files are read from there."
        )
    return found


_POSTGRES = ("postgresql://", "postgres://")
_SPARK = ("spark://", "sc://", "spark:")
_ACCESS = re.compile(r"\b(password|passwd|\w*token)\s*=", re.IGNORECASE)
_HARMLESS = {
    *("host", "hostaddr", "port", "user", "dbname", "database", "socket", "connect_timeout", "application_name"),
    *("sslmode", "ssl_mode", "sslrootcert", "ssl_ca", "ssl_capath", "target_session_attrs", "gssencmode"),
    *("channel_binding", "use_ssl", "user_id", "user_agent", "session_id"),
}


def is_warehouse(source: Any) -> bool:  # noqa: ANN401 - asks what kind of value this is
    """Tell whether a source is a warehouse: its URL, or a connection to it; no library is imported for that."""
    if isinstance(source, str):
        return source.startswith((*_POSTGRES, *_SPARK))
    return _is_postgres(source) or _is_spark(source)


def is_postgres(source: Any) -> bool:  # noqa: ANN401 - as above
    """Tell whether a source is a PostgreSQL database: its URL, or a connection to it."""
    return source.startswith(_POSTGRES) if isinstance(source, str) else _is_postgres(source)


def without_credentials(source: str) -> str:
    """Return a SOURCE as it may be shown: a URL without its password or token."""
    if source.startswith(_POSTGRES):
        return shown_url(source)
    return source.partition(";")[0] if source.startswith(_SPARK) else source


def open_warehouse(source: Any) -> Warehouse:  # noqa: ANN401 - as above
    if _is_spark(source) or (isinstance(source, str) and source.startswith(_SPARK)):
        from kanon_sql.engine.spark.warehouse import spark_of

        return spark_of(source)
    from kanon_sql.engine.postgres.warehouse import PostgresWarehouse

    if isinstance(source, str):
        return PostgresWarehouse.connect(source)
    if source.closed:
        raise UsageError("The connection to PostgreSQL is closed.")
    if not source.autocommit:
        raise UsageError(
            "The connection to PostgreSQL is not in autocommit mode; open it with autocommit=True, so that a release "
            "can be made in one transaction."
        )
    if source.info.transaction_status:  # 0 is idle
        raise UsageError("The connection to PostgreSQL has a transaction open: commit it or roll it back first.")
    return PostgresWarehouse(source, "the connection")


def _is_postgres(source: Any) -> bool:  # noqa: ANN401 - as above
    return any(
        kind.__module__.partition(".")[0] == "psycopg" and kind.__name__ == "Connection"
        for kind in type(source).__mro__
    )


def _is_spark(source: Any) -> bool:  # noqa: ANN401 - as above
    return any(
        kind.__module__.startswith("pyspark.sql.") and kind.__name__ in {"SparkSession", "DataFrame"}
        for kind in type(source).__mro__
    )
