"""Functions and operators of a PostgreSQL database that fit better than its own: they are never called for these."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from needs import needs

import kanon_sql as kanon
from kanon_sql.errors import SourceError

psycopg = needs("psycopg")

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT_OF_INTEGERS = "CREATE AGGREGATE count(integer) (SFUNC = int8inc_any, STYPE = int8, INITCOND = '100')"
"""Counts a hundred more than there are."""
LESS = (
    "CREATE FUNCTION is_less(a bigint, b numeric) RETURNS boolean LANGUAGE sql AS 'SELECT false';"
    "CREATE OPERATOR < (FUNCTION = is_less, LEFTARG = bigint, RIGHTARG = numeric)"
)


@pytest.fixture
def database(postgres: str, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"own_{abs(hash(request.node.nodeid))}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = urlsplit(postgres)._replace(path=f"/{name}").geturl()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE ward AS SELECT i AS person, i / 4 AS age FROM generate_series(0, 39) AS n(i)")
    yield url
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def classes(url: str) -> int:
    return kanon.check(url, "ward", quasi_identifiers=["age"]).classes


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def publish(url: str) -> None:
    asked = {"quasi_identifiers": ["age"], "identifying": ["person"]}
    with kanon.anonymize(url, "ward", models=[kanon.KAnonymity(8, entity="person")], **asked) as release:
        release.to_view("shown")


@pytest.mark.parametrize(
    ("shadow", "named"),
    [
        (COUNT_OF_INTEGERS, "count"),
        (LESS, "<"),
    ],
)
def test_what_fits_better_is_refused(database: str, shadow: str, named: str) -> None:
    """Fails on 0.1.0: the view counts people with the aggregate, finds a hundred more, and shows every class."""
    run(database, *shadow.split(";"))
    with pytest.raises(SourceError, match=f"fit certain types better: {named}"):
        publish(database)
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM pg_views WHERE viewname LIKE '%shown%'").fetchone() == (0,)


@pytest.mark.parametrize(
    "harmless",
    [
        "CREATE FUNCTION years(a integer) RETURNS integer LANGUAGE sql AS 'SELECT a'",
        "CREATE FUNCTION round(a float8, b integer) RETURNS float8 LANGUAGE sql AS 'SELECT a'",  # none calls it
        "CREATE FUNCTION abs(a integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'",  # that of pg_catalog is called
        "CREATE SCHEMA tools; CREATE FUNCTION tools.count(a integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "CREATE TYPE shade AS ENUM ('red'); CREATE FUNCTION length(a shade) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_what_is_never_called_stays(database: str, harmless: str) -> None:
    run(database, *harmless.split("; "))
    assert classes(database) == 10


def test_a_schema_before_that_of_the_system(database: str) -> None:
    """Fails on 0.1.0: the user's search path puts an aggregate before that of PostgreSQL; classes of 4 have 104."""
    run(
        database,
        "CREATE AGGREGATE count(*) (SFUNC = int8inc, STYPE = int8, INITCOND = '100')",
        "ALTER ROLE tester SET search_path = public, pg_catalog",
    )
    try:
        assert kanon.check(database, "ward", quasi_identifiers=["age"]).smallest_class == 4
    finally:
        run(database, "ALTER ROLE tester RESET search_path")
