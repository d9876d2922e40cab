"""Verification refuses outputs that are not the release: each is the release with one change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

import kanon_sql as kanon
from kanon_sql.release.statements.release import readable_lookups
from kanon_sql.release.verify.verify import verify
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

PEOPLE = """
CREATE TABLE people AS
SELECT i AS person, 20 + i % 4 AS age, ['a', 'b'][1 + i % 2] AS town, i % 3 AS visits FROM range(10) AS numbers(i)
"""
"""Ages 20 and 21 have three people each, 22 and 23 two."""


@pytest.fixture(params=[None, "person"], ids=["rows", "people"])
def release(request: pytest.FixtureRequest) -> Iterator[tuple[kanon.Release, duckdb.DuckDBPyConnection]]:
    with duckdb.connect() as connection:
        connection.execute(PEOPLE)
        asked = {"quasi_identifiers": ["age", "town"], "insensitive": ["visits"], "hierarchies": {"age": "flat"}}
        asked |= {"identifying": ["person"]} if request.param is None else {"entity": request.param}
        with kanon.anonymize(connection, "people", **asked, k=2, max_suppressed=0.0, seed=1) as made:
            made.to_table("released")
            yield made, connection


def verified(made: kanon.Release, name: str) -> None:
    lookups = readable_lookups(made.publication.hierarchies)
    verify(made.prepared.source.engine, made.publication, lookups, sql.relation(name), made.expected)


def test_the_release_passes(release: tuple[kanon.Release, duckdb.DuckDBPyConnection]) -> None:
    verified(release[0], "released")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("DELETE FROM changed WHERE rowid = (SELECT min(rowid) FROM changed WHERE age = 20)", "it has 9 rows where 10"),
        ("INSERT INTO changed SELECT * FROM changed WHERE rowid = 0", "it has 11 rows where 10"),
        ("UPDATE changed SET age = '20', town = 'a' WHERE age = '22'", "it has 3 classes where 4"),
        ("ALTER TABLE changed ADD COLUMN person BIGINT", "its columns are not those"),
        ("ALTER TABLE changed DROP COLUMN visits", "its columns are not those"),
    ],
)
def test_what_is_not_the_release(
    release: tuple[kanon.Release, duckdb.DuckDBPyConnection], changed: str, said: str
) -> None:
    made, connection = release
    connection.execute("CREATE TABLE changed AS FROM released")
    connection.execute(changed)
    if made.publication.roles.entity is not None and " where " in said:  # people are looked at first
        said = "1 classes have other rows than in the table"
    with pytest.raises(kanon.VerificationError, match=said):
        verified(made, "changed")


@pytest.mark.parametrize("release", ["person"], indirect=True)
def test_classes_that_have_exchanged_rows(release: tuple[kanon.Release, duckdb.DuckDBPyConnection]) -> None:
    """Rows and classes are as many, and each class has k people: but one of 20 is published as 22."""
    made, connection = release
    connection.execute("CREATE TABLE changed AS FROM released")
    connection.execute("UPDATE changed SET age = 22 WHERE rowid = (SELECT min(rowid) FROM changed WHERE age = 20)")
    found = connection.execute("SELECT age, count(*) FROM changed GROUP BY ALL ORDER BY ALL").fetchall()
    assert [n for _, n in found] == [2, 3, 3, 2]
    with pytest.raises(kanon.VerificationError, match="2 classes have other rows than in the table"):
        verified(made, "changed")
