"""A PostgreSQL session: its settings, its types as DuckDB types, translated errors, and rows fetched by COPY.

Errors become one or two lines that name the problem, the place and the fix, and quote no cell.
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

# Classes of SQLSTATE whose messages contain only names and settings; others may quote a cell.
_WITHOUT_CELLS = {"08", "25", "28", "2B", "3D", "3F", "40", "42", "55", "57"}
_NO_ROOM, _OF_VALUES = "53", "22"


@contextmanager
def postgres_errors(title: str, deadline: float | None = None) -> Iterator[None]:
    """Translate psycopg errors to kanon's; a cancelled statement with a deadline was stopped by it."""
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
"""Output formats, independent of the settings of the server or the user; JIT costs more than it saves."""
_WORK_MEMORY = "128MB"
"""Minimum memory of a step of a statement before it spills to disk; the default of servers is 4 MB."""
_GATHERING = 0.01
"""Largest planner cost of moving a row from a worker; the default of servers is 0.1.

For several columns, the planner assumes a tenth of all rows as the number of groups. With the default cost, so many
are not worth the workers, and it counts alone: 5,000,000 rows in 3.3 s instead of 2.0 s with two workers.
"""


def current_schema(connection: psycopg.Connection[Any]) -> tuple[str, str]:
    """Return the schema where bare names are looked up and created, and the matching search path.

    It is never the schema of kanon's own tables, although PostgreSQL looks there first for a user of that name.
    Temporary tables come last, so that those of the session hide no table. The system schema is not named, and so
    comes first: of two functions for the same types, the system's is called.
    """
    ((found,),) = tuples(connection, "SELECT pg_catalog.current_schemas(false)")
    schemas = [str(name) for name in found if name not in {"kanon", "pg_catalog"}] or ["public"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in schemas]
    return schemas[0], ", ".join([*quoted, "pg_temp"])


def setting(connection: psycopg.Connection[Any], name: str) -> str:
    ((value,),) = tuples(connection, "SELECT pg_catalog.current_setting(%s)", (name,))
    return str(value)


def tuples(connection: psycopg.Connection[Any], text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query as tuples, whatever row factory the connection has."""
    from psycopg.rows import tuple_row

    with connection.cursor(row_factory=tuple_row) as cursor:
        # Without values the text has no placeholders: a per cent sign stands for itself.
        cursor.execute(text, values or None)
        return [] if cursor.description is None else cursor.fetchall()


def spend_more(connection: psycopg.Connection[Any]) -> None:
    """Allow more memory and parallel workers for the statements of this transaction."""
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
    """Return DuckDB's type for a column; PostgreSQL's name in capitals if there is none.

    A domain has the name of its base type. The ``modifier`` of NUMERIC contains its digits and scale; a collation is
    ``deterministic`` if equal texts under it are written the same.
    """
    if not deterministic:
        return f"{name.upper()} WITH A NONDETERMINISTIC COLLATION"
    if category == "E":
        return "ENUM"
    if name == "json":  # a text that PostgreSQL cannot compare
        return "JSON AS IT IS WRITTEN"
    if name == "numeric" and modifier >= _HEADER:
        digits = (modifier - _HEADER) >> _SCALE_BITS
        scale = (modifier - _HEADER) & _SCALE
        if digits <= _MOST_DIGITS and scale <= digits:  # PostgreSQL 15 also has negative scales
            return f"DECIMAL({digits},{scale})"
    return _TYPES.get(name, name.upper())


BATCH = 64 * 1024 * 1024
"""Size in bytes at which a file is full."""


def batches(messages: Iterable[bytes | bytearray | memoryview], parent: Path) -> Iterator[Path]:
    """Yield files of COPY TO STDOUT messages, which contain whole rows; without rows, one empty file."""
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
