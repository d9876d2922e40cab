"""The sum of the largest numbers of a group, on each engine that searches, next to sorting them in Python."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from needs import needs
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render, sum_of_largest

ROWS = [(i % 4, i * i % 13) for i in range(40)] + [(9, 5), (10, 2**40), (10, 2**40)]


def query(how_many: int) -> exp.Select:
    largest = sum_of_largest(sql.column("n"), how_many)
    rest = exp.Sub(this=exp.Sum(this=sql.column("n")), expression=largest)
    return exp.select(sql.column("k"), rest).from_("numbers").group_by("k")


def without_largest(rows: list[tuple[int, int]], how_many: int) -> dict[int, int]:
    groups = defaultdict(list)
    for k, n in rows:
        groups[k].append(n)
    return {k: sum(sorted(found, reverse=True)[how_many:]) for k, found in groups.items()}


@pytest.mark.thorough
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40)), min_size=1), st.integers(1, 5))
def test_duckdb(rows: list[tuple[int, int]], how_many: int) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE numbers (k BIGINT, n BIGINT)")
        connection.executemany("INSERT INTO numbers VALUES (?, ?)", rows)
        found = connection.execute(render(query(how_many), "duckdb")).fetchall()
    assert {k: int(n) for k, n in found} == without_largest(rows, how_many)


def test_postgres(postgres: str) -> None:
    psycopg = needs("psycopg")
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TEMPORARY TABLE numbers (k bigint, n bigint)")
        connection.cursor().executemany("INSERT INTO numbers VALUES (%s, %s)", ROWS)
        for how_many in (1, 2, 5):
            found = connection.execute(render(query(how_many), "postgres")).fetchall()
            assert {k: int(n) for k, n in found} == without_largest(ROWS, how_many)


def test_spark(spark: object) -> None:
    session = spark.newSession()  # type: ignore[attr-defined]
    session.createDataFrame(ROWS, "k BIGINT, n BIGINT").createOrReplaceTempView("numbers")
    for how_many in (1, 5):
        found = session.sql(render(query(how_many), "spark")).collect()
        assert {k: int(n) for k, n in found} == without_largest(ROWS, how_many)


def test_others_do_not_search() -> None:
    with pytest.raises(UsageError, match="Snowflake cannot sum the largest"):
        render(query(2), "snowflake")


@pytest.mark.thorough
def test_a_large_l_is_a_question_like_any_other() -> None:
    """To keep so many numbers for every class is refused by DuckDB, or takes more memory than there is."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 50 AS a, i % 13 AS s FROM range(3000) AS numbers(i)")
        asked: dict[str, Any] = {
            "quasi_identifiers": ["a"],
            "sensitive": ["s"],
            "hierarchies": {"a": "intervals:5,10,20"},
            "choice": "greedy",
        }
        with pytest.raises(kanon.NoSolutionError, match="2000000"):
            kanon.anonymize(
                connection, "t", models=[kanon.RecursiveCLDiversity(c=3, l=2_000_000, sensitive="s")], **asked
            )
        for many in (12, 17):  # of 13 values
            model = kanon.RecursiveCLDiversity(c=30, l=many, sensitive="s")
            if many == 12:
                with kanon.anonymize(connection, "t", models=[model], **asked) as release:
                    assert release.verify().models[-1].holds
            else:
                with pytest.raises(kanon.NoSolutionError):
                    kanon.anonymize(connection, "t", models=[model], **asked)
