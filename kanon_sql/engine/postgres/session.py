"""A session of PostgreSQL: its settings, its types as DuckDB has them, its errors as ours, and rows that come by COPY.

Errors become one or two lines that say what, where and what to do, and quote no cell.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import error_of, lost
from kanon_sql.engine.files import private_directory
from kanon_sql.engine.progress import stopped
from kanon_sql.errors import NoRightError, NoRoomError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import psycopg

# Classes of SQLSTATE whose messages are made from names and settings alone; the others may quote a cell.
_WITHOUT_CELLS = {"08", "25", "28", "2B", "3D", "3F", "40", "42", "55", "57"}
_NO_ROOM, _OF_VALUES = "53", "22"


@contextmanager
def postgres_errors(title: str, deadline: float | None = None) -> Iterator[None]:
    """Make errors of psycopg inside ours; a statement with a deadline was stopped because that passed."""
    import psycopg

    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        if "statement timeout" not in str(error):
            raise KeyboardInterrupt from None
        if deadline is not None:
            raise stopped(title) from None
        raise SourceError(f"PostgreSQL stopped at its statement_timeout while it ran this step: {title}.") from None
    except psycopg.Error as error:
        raise _error_of(error, title) from None


def _error_of(error: psycopg.Error, title: str) -> SourceError:
    state = error.sqlstate or ""
    doing = f" while it ran this step: {title}"
    said = error.diag.message_primary or ""
    if state[:2] == _NO_ROOM:
        return NoRoomError(f"PostgreSQL has no room{doing}. It says: {said}.")
    if state == "42501":
        return NoRightError(
            f"PostgreSQL does not allow this{doing}: {said}. Ask its owner for the right, or work as another user."
        )
    if not state:
        return lost("PostgreSQL", doing)
    says = said if state[:2] in _WITHOUT_CELLS else ""
    return error_of(
        "PostgreSQL", doing, says=says, kind=f"an error of class {state}", of_values=state[:2] == _OF_VALUES
    )


SESSION = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "client_min_messages": "warning",
    "application_name": "kanon-sql",
    "jit": "off",
}
"""How values are written to us, whatever the settings of the server or of the user; JIT costs more than it gives."""
_WORK_MEMORY = "128MB"
"""What a step of a statement of ours may use at least before it goes to disk; the default of servers is 4 MB."""
_GATHERING = 0.01
"""What the planner may think at most that a row costs on its way from a worker; the default of servers is 0.1.

It takes a tenth of all rows for the number of groups where there are several columns, finds that so many are not worth
the workers, and counts alone: 5,000,000 rows in 3.3 s that two workers help to count in 2.0 s.
"""


def current_schema(connection: psycopg.Connection[Any]) -> tuple[str, str]:
    """Return where a bare name is looked up and made, and the search path for that.

    Never in the schema that is kept for kanon's own tables: it would be for a user of that name, whose own schema
    PostgreSQL looks into first. And in that of temporary tables last: those of the session hide no table. The schema
    of the system is not named, and so comes first: of two functions for the same types, its own is called.
    """
    ((found,),) = tuples(connection, "SELECT pg_catalog.current_schemas(false)")
    schemas = [str(name) for name in found if name not in {"kanon", "pg_catalog"}] or ["public"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in schemas]
    return schemas[0], ", ".join([*quoted, "pg_temp"])


def setting(connection: psycopg.Connection[Any], name: str) -> str:
    ((value,),) = tuples(connection, "SELECT pg_catalog.current_setting(%s)", (name,))
    return str(value)


def tuples(connection: psycopg.Connection[Any], text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query as tuples, whatever its owner wants a connection to make of rows."""
    from psycopg.rows import tuple_row

    with connection.cursor(row_factory=tuple_row) as cursor:
        # Without values nothing in the text is a placeholder: a per cent sign is one.
        cursor.execute(text, values or None)
        return [] if cursor.description is None else cursor.fetchall()


def spend_more(connection: psycopg.Connection[Any]) -> None:
    """Let the statements of this transaction have more memory, and workers that help them."""
    connection.execute(
        "SELECT set_config('work_mem', %s, true) WHERE pg_size_bytes(current_setting('work_mem')) < pg_size_bytes(%s)",
        (_WORK_MEMORY, _WORK_MEMORY),
    )
    connection.execute(
        "SELECT set_config('parallel_tuple_cost', least(%s, current_setting('parallel_tuple_cost')::float8)::text, "
        "true)",
        (_GATHERING,),
    )


_TYPES = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "VARCHAR",
    "character varying": "VARCHAR",
    "character": "VARCHAR",
    "bpchar": "VARCHAR",
    "name": "VARCHAR",
    "date": "DATE",
    "timestamp without time zone": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
    "time without time zone": "TIME",
    "uuid": "UUID",
}
_HEADER, _SCALE_BITS, _SCALE = 4, 16, 0x7FF
_MOST_DIGITS = 38


def from_postgres_type(name: str, category: str, modifier: int, deterministic: bool) -> str:
    """Return the type that DuckDB has for a column; PostgreSQL's name in capitals if it has none.

    A domain goes by the name of its type. The ``modifier`` of NUMERIC has its digits and scale; a ``deterministic``
    collation is one under which equal texts are written alike.
    """
    if not deterministic:
        return f"{name.upper()} WITH A NONDETERMINISTIC COLLATION"
    if category == "E":
        return "ENUM"
    if name == "json":  # a text that PostgreSQL compares with no other one
        return "JSON AS IT IS WRITTEN"
    if name == "numeric" and modifier >= _HEADER:
        digits = (modifier - _HEADER) >> _SCALE_BITS
        scale = (modifier - _HEADER) & _SCALE
        if digits <= _MOST_DIGITS and scale <= digits:  # PostgreSQL 15 has negative scales too
            return f"DECIMAL({digits},{scale})"
    return _TYPES.get(name, name.upper())


BATCH = 64 * 1024 * 1024
"""Bytes after which a file is full."""


def batches(messages: Iterable[bytes | bytearray | memoryview], parent: Path) -> Iterator[Path]:
    """Yield files of the messages of COPY TO STDOUT, which have whole rows each; without rows, one empty file."""
    with private_directory(parent) as private:
        rows = iter(messages)
        path, size = private.path / "rows.csv", BATCH
        while size >= BATCH:
            size = 0
            with path.open("wb") as file:
                while size < BATCH and (row := next(rows, None)) is not None:
                    size += file.write(row)
            yield path
            path.unlink()
