"""The engines that the shared suite runs on: each is told how a table gets into it, and how a person names it.

To add one, write a function that yields a ``Place`` and name it in ``PLACES``.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import duckdb
import pandas as pd
import pytest

from kanon_sql.engine.sources import open_source as sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

Rows = "Sequence[Sequence[Any]]"


@dataclass
class Place:
    """An engine with a database of the test's own.

    Attributes:
        name: of the engine.
        source: what ``open_source`` takes.
        typed: what a person types as SOURCE; None where there is nothing to type.
        load: makes a table: its name, the types of its columns as DuckDB names them, and its rows.
        rows: returns the rows of a table or view.
        tables: returns the names of all tables and views that there are, those of schema kanon too.
        kinds: what ``--as`` can make there.
    """

    name: str
    source: Any
    typed: str | None
    load: Callable[[str, Mapping[str, str], Sequence[Sequence[Any]]], None]
    rows: Callable[[str], list[tuple[Any, ...]]]
    tables: Callable[[], set[str]]
    kinds: tuple[str, ...] = ("table", "view")


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def duckdb_place(_request: pytest.FixtureRequest, directory: Path) -> Iterator[Place]:
    """A DuckDB file."""
    path = directory / "place.duckdb"

    def load(table: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE {quoted(table)} ({columns})")
            if rows:
                frame = pd.DataFrame([list(row) for row in rows], columns=list(types), dtype=object)
                connection.register("frame", frame)
                connection.execute(f"INSERT INTO {quoted(table)} FROM frame")

    def read(table: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.execute(f"FROM {quoted(table)}").fetchall()

    def tables() -> set[str]:
        with duckdb.connect(str(path), read_only=True) as connection:
            found = connection.execute("SELECT table_schema, table_name FROM information_schema.tables").fetchall()
        return {f"{schema}.{name}" if schema != "main" else name for schema, name in found}

    duckdb.connect(str(path)).close()
    yield Place("duckdb", str(path), str(path), load, read, tables)


_POSTGRES_TYPES = {"DOUBLE": "double precision", "VARCHAR": "text", "TINYINT": "smallint", "HUGEINT": "numeric"}


@contextmanager
def postgres_place(request: pytest.FixtureRequest, directory: Path) -> Iterator[Place]:
    """A database of PostgreSQL."""
    import psycopg

    server = request.getfixturevalue("postgres")
    database = f"suite_{abs(hash(directory))}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}")
    url = urlsplit(server)._replace(path=f"/{database}").geturl()

    def load(table: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        columns = ", ".join(f"{quoted(name)} {_POSTGRES_TYPES.get(kind, kind)}" for name, kind in types.items())
        with psycopg.connect(url) as connection:
            connection.execute(f"CREATE TABLE {quoted(table)} ({columns})")
            with connection.cursor().copy(f"COPY {quoted(table)} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)

    def read(table: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(url) as connection:
            return connection.execute(f"TABLE {quoted(table)}").fetchall()

    def tables() -> set[str]:
        with psycopg.connect(url, autocommit=True) as connection:
            for _ in range(100):  # the server ends a session, with its temporary views, after the client closed it
                if connection.execute("SELECT 1 FROM pg_class WHERE relpersistence = 't'").fetchone() is None:
                    break
                time.sleep(0.05)
            found = connection.execute(
                "SELECT nspname, relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
                "WHERE relkind IN ('r', 'v', 'm', 'p', 't') AND nspname NOT IN ('pg_catalog', 'information_schema') "
                "AND nspname NOT LIKE 'pg_toast%'"
            ).fetchall()
        return {f"{schema}.{name}" if schema != "public" else name for schema, name in found}

    try:
        yield Place("postgres", url, url, load, read, tables, ("table", "view", "materialized-view"))
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {database} WITH (FORCE)")


_SPARK_TYPES = {"HUGEINT": "DECIMAL(38, 0)"}


@contextmanager
def spark_place(request: pytest.FixtureRequest, _directory: Path) -> Iterator[Place]:
    """A database of Spark's own catalog, in the session of this worker."""
    from kanon_sql.engine.spark.warehouse import SparkWarehouse

    session, database, typed = request.getfixturevalue("spark"), "suite", "spark:suite"
    session.sql(f"CREATE DATABASE {database}")
    session.sql("DROP DATABASE IF EXISTS kanon CASCADE")  # what other tests of this worker left in the ledger
    session.catalog.setCurrentDatabase(database)
    patch = pytest.MonkeyPatch()
    # What a person types would start a Spark of its own: here it names this session.
    patch.setattr(sources, "open_warehouse", lambda _: SparkWarehouse(session, owned=False, url=typed))

    def load(table: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        columns = ", ".join(f"{quoted(name)} {_SPARK_TYPES.get(kind, kind)}" for name, kind in types.items())
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE {quoted(table)} ({columns})")
            if rows:
                frame = pd.DataFrame([list(row) for row in rows], columns=list(types), dtype=object)
                connection.register("frame", frame)
                connection.execute(f"INSERT INTO {quoted(table)} FROM frame")
            arrow = connection.sql(f"FROM {quoted(table)}").to_arrow_table()
        session.createDataFrame(arrow).write.saveAsTable(table)

    def read(table: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in session.table(table).collect()]

    def tables() -> set[str]:
        own = {each.name for each in session.catalog.listTables(database)}
        if not session.catalog.databaseExists("kanon"):
            return own
        return own | {f"kanon.{each.name}" for each in session.catalog.listTables("kanon") if not each.isTemporary}

    try:
        yield Place("spark", session, typed, load, read, tables)
    finally:
        patch.undo()
        session.catalog.setCurrentDatabase("default")
        session.sql(f"DROP DATABASE {database} CASCADE")
        session.sql("DROP DATABASE IF EXISTS kanon CASCADE")


PLACES = {"duckdb": duckdb_place, "postgres": postgres_place, "spark": spark_place}
"""By name, the engines that the suite runs on."""

BESIDE_DUCKDB = [name for name in PLACES if name != "duckdb"]
"""Those that are compared with DuckDB."""


def same(found: Any, expected: Any, *, but: Sequence[str] = (), path: str = "") -> list[str]:
    """Return where two results differ, numbers to nine digits; keys in ``but`` are not looked at."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if expected.keys() != found.keys():
            return [f"{path}: keys {sorted(map(str, expected.keys() ^ found.keys()))}"]
        return [
            difference
            for key, value in expected.items()
            if key not in but
            for difference in same(found[key], value, but=but, path=f"{path}.{key}")
        ]
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        if len(expected) != len(found):
            return [f"{path}: {len(found)} items, not {len(expected)}"]
        return [
            difference
            for number, (one, other) in enumerate(zip(found, expected, strict=True))
            for difference in same(one, other, but=but, path=f"{path}[{number}]")
        ]
    if isinstance(expected, float) and isinstance(found, float | int):
        close = abs(found - expected) <= 1e-9 * max(1.0, abs(expected))
        return [] if close else [f"{path}: {found}, not {expected}"]
    return [] if found == expected else [f"{path}: {found!r}, not {expected!r}"]
