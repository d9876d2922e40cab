"""The budget of a table in PostgreSQL: whoever asks, and however many at once, it is spent once."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from needs import needs

needs("opendp")


from kanon_sql import dp
from kanon_sql.errors import BudgetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKING = """
import sys
import kanon_sql.dp as dp
from kanon_sql.errors import BudgetError
answered = 0
for _ in range(8):
    try:
        dp.ask(sys.argv[1], "people", dp.Count(epsilon="0.1"))
        answered += 1
    except BudgetError:
        pass
print(answered)
"""


@pytest.fixture
def people(postgres: str) -> Iterator[str]:
    """The URL of a database of this test's own, with a table of 50 people."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE dp_budgets")
    url = urlsplit(postgres)._replace(path="/dp_budgets").geturl()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE people AS SELECT i AS id FROM generate_series(1, 50) AS n(i)")
    yield url
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE dp_budgets WITH (FORCE)")


@pytest.mark.thorough
def test_processes_at_once_spend_the_budget_of_postgresql_once(people: str) -> None:
    dp.set_budget(people, "people", epsilon=1)
    command = [sys.executable, "-c", ASKING, people]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]  # noqa: S603 - our own
    answered = [int(process.communicate(timeout=300)[0]) for process in running]
    assert sum(answered) == 10
    assert dp.read_budget(people, "people").composed[0] == 1


@pytest.mark.thorough
def test_a_connection_to_postgresql_pays_too(people: str) -> None:
    import psycopg

    with psycopg.connect(people, autocommit=True) as connection:
        dp.set_budget(connection, "people", epsilon=1)
        dp.ask(connection, "people", dp.Count(epsilon=1))
        with pytest.raises(BudgetError):
            dp.ask(connection, "people", dp.Count(epsilon=1))
    assert dp.read_budget(people, "people").composed[0] == 1


def test_a_view_of_postgresql_has_no_budget(people: str) -> None:
    import psycopg

    with psycopg.connect(people, autocommit=True) as connection:
        connection.execute("CREATE VIEW some_people AS SELECT * FROM people")
        try:
            with pytest.raises(UsageError, match="where"):
                dp.set_budget(people, "some_people", epsilon=1)
        finally:
            connection.execute("DROP VIEW some_people")
