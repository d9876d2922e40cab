"""A session of PostgreSQL: what is set for it, where bare names are looked up, and the rows of a question to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psycopg

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
    """Return what a setting is now."""
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
