"""SQLite databases, read by Python's sqlite3: nothing has to be downloaded."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import named_once
from kanon_sql.engine.sources.rows import write_rows
from kanon_sql.errors import SourceError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; an error of SQLite becomes one that quotes no value."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise SourceError(f"{path} cannot be read as an SQLite database ({type(error).__name__}).") from None


def tables_of(path: Path) -> list[tuple[Any, ...]]:
    """Return catalog, schema, name and nearness of each table and view."""
    listed = sql.statement("catalog/tables_of_sqlite").sql(dialect="sqlite")
    with _opened(path) as connection:
        return [("", "main", name, 1) for (name,) in connection.execute(listed)]


def read_sqlite(path: Path, table: str, lines: Path) -> dict[str, str]:
    """Write the rows of a table as lines of JSON; return the types of its columns.

    Types are those of the values. A text in a column that was declared as a date or a time of day is one if it is
    written as ISO 8601 has it.
    """
    with _opened(path) as connection, lines.open("w", encoding="utf-8") as written:
        columns = sql.statement("catalog/columns_of_sqlite", values={"table": table}).sql(dialect="sqlite")
        declared = [(name, str(kind).upper()) for name, kind in connection.execute(columns)]
        names = [name for name, _ in declared]
        named_once(names, f"{table} in {path}")
        is_moment = [kind.startswith(("DATE", "TIMESTAMP")) for _, kind in declared]
        query = exp.select(*map(sql.column, names)).from_(sql.relation(table)).sql(dialect="sqlite")
        rows = connection.execute(query)
        return write_rows(
            names,
            (
                [_moment(value) if moment else value for value, moment in zip(row, is_moment, strict=True)]
                for row in rows
            ),
            written,
        )


def _moment(value: Any) -> Any:  # noqa: ANN401 - what SQLite has in a cell
    if not isinstance(value, str):
        return value
    for read in (date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            found = read(value)
            if value in {found.isoformat(), str(found)}:
                return found
    return value
