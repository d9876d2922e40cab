"""--search-on warehouse: the frequency set stays where the table is, and the release is the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ROWS = """
    SELECT
      i AS id,
      concat('n', i // 2) AS name,
      20 + i % 40 AS age,
      CASE i % 3 WHEN 0 THEN 'F' WHEN 1 THEN 'M' END AS sex,
      (i % 50)::DOUBLE / 10 AS weight,
      DATE '2020-01-01' + (i % 300)::INTEGER AS seen,
      CASE WHEN i % 7 = 0 THEN 'flu' WHEN i % 5 = 0 THEN 'cold' ELSE 'cough' END AS disease
    FROM range(600) AS r(i)
"""
QI = ["age", "sex", "weight", "seen"]
NAME = "searched_there"


@dataclass(frozen=True)
class Table:
    """The same rows in DuckDB and in a warehouse."""

    here: Any
    there: Any


@pytest.fixture(scope="module")
def table(postgres: str) -> Table:
    """A table in PostgreSQL."""
    place = postgres
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE {NAME} AS {ROWS}")
    import psycopg

    types = "id bigint, name text, age bigint, sex text, weight double precision, seen date, disease text"
    with psycopg.connect(place, autocommit=True) as server:
        server.execute(f"CREATE TABLE {NAME} ({types})")
        with server.cursor().copy(f"COPY {NAME} FROM STDIN") as copy:
            for row in connection.sql(f"FROM {NAME}").fetchall():
                copy.write_row(row)
    return Table(connection, place)


def release_of(source: Any, **settings: Any) -> kanon.Release:
    entity = next((model.entity for model in settings["models"] if model.entity), None)
    asked = {"identifying": ["id", *([] if entity else ["name"])], "sensitive": ["disease"], "seed": 1}
    asked["choice"] = "greedy"
    return kanon.anonymize(source, NAME, quasi_identifiers=QI, max_suppressed=0.1, **asked, **settings)


CASES = [
    ("optimal", [kanon.KAnonymity(3, entity="name")]),
    (
        "optimal",
        [
            kanon.KAnonymity(3),
            kanon.EntropyLDiversity(1.5, sensitive="disease"),
            kanon.TCloseness(0.3, sensitive="disease"),
        ],
    ),
    ("datafly", [kanon.KAnonymity(3), kanon.DistinctLDiversity(2, sensitive="disease")]),
    ("incognito", [kanon.KAnonymity(5)]),
]


@pytest.mark.parametrize(("algorithm", "models"), CASES, ids=[f"{name}-{models[-1].letter}" for name, models in CASES])
def test_it_is_the_same_release(table: Table, algorithm: str, models: list[Any]) -> None:
    with release_of(table.here, algorithm=algorithm, models=models) as here:
        expected = here.to_arrow().sort_by([(name, "ascending") for name in QI])
        with release_of(table.there, algorithm=algorithm, models=models, search_on="warehouse") as there:
            published = there.to_table("kanons_release", replace=True, ignore_ledger=True)
            of_rows = models == [kanon.KAnonymity(5)]
            rows = None if not of_rows else sorted(map(repr, there.to_arrow().to_pylist()))
            assert there.levels == here.levels
            assert there.rows_suppressed == here.rows_suppressed
            assert there.classes == here.classes
            assert there.measures == pytest.approx(here.measures)
            assert [model.measured for model in published.verification.models] == pytest.approx(
                [model.measured for model in here.verify().models]
            )
    assert rows is None or rows == sorted(map(repr, expected.to_pylist()))


def test_no_tuple_leaves_the_warehouse(table: Table) -> None:
    with release_of(table.there, algorithm="datafly", models=[kanon.KAnonymity(5)], search_on="warehouse") as release:
        release.to_table("kanons_release", replace=True, ignore_ledger=True)
        release.to_table("kanons_release", replace=True, ignore_ledger=True)  # the source can be published again
        fetched = [
            logged.title
            for logged in release.prepared.source.engine.statements
            if f"distinct tuples of {NAME}" in logged.title
        ]
        assert fetched == []
        with pytest.raises(kanon.UsageError, match="keeps them where they are"):
            release.prepared.source.bring(release.prepared.source.columns)
    for algorithm in ("local", "spolg", "mondrian"):
        with pytest.raises(kanon.UsageError, match=f"{algorithm} works on tables that it changes"):
            release_of(table.there, models=[kanon.KAnonymity(5)], algorithm=algorithm, search_on="warehouse")


def test_a_search_leaves_nothing_in_the_session_of_the_caller(table: Table) -> None:
    """What a search counted stayed there after a release was published, and the next search failed."""
    import psycopg

    how: dict[str, Any] = {"algorithm": "datafly", "models": [kanon.KAnonymity(5)], "search_on": "warehouse"}
    left = "SELECT relname FROM pg_class WHERE relname LIKE 'kanon\\_%'"
    with psycopg.connect(table.there, autocommit=True) as connection:
        before = connection.execute(left).fetchall()
        for _ in range(2):
            with release_of(connection, **how) as release:
                release.to_arrow()
                release.to_table("kanons_release", replace=True, ignore_ledger=True)
        assert {*connection.execute(left).fetchall()} <= {*before, ("kanon_release",)}


def test_a_table_of_duckdb_is_searched_where_it_is(clinic: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon(
        "anonymize", clinic, "patients", "--qi", "sex", "--rest", "drop", "--into", "x", "--search-on", "warehouse"
    )
    assert ended.code == 2
    assert "--search-on warehouse is not for a single table" in ended.err


@pytest.mark.thorough
def test_adult_in_a_warehouse_is_searched_there(
    adult: Path, postgres: str, kanon: Callable[..., Ended], tmp_path: Path
) -> None:
    import psycopg

    qi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    with duckdb.connect() as connection, psycopg.connect(postgres, autocommit=True) as server:
        rows = connection.read_csv(str(adult / "adult.csv"), delimiter=";")
        columns = ", ".join(
            f'"{name}" {"bigint" if kind == "BIGINT" else "text"}'
            for name, kind in zip(rows.columns, map(str, rows.types), strict=True)
        )
        server.execute(f"CREATE TABLE adult_there ({columns})")
        with server.cursor().copy("COPY adult_there FROM STDIN") as copy:
            for row in rows.fetchall():
                copy.write_row(row)
    asked = ["--qi", ",".join(qi), "--rest", "keep", "-k", 5, "--hierarchies", adult, "--format", "json", "-q"]
    ended = kanon("anonymize", adult / "adult.csv", *asked, "--out", tmp_path / "x.parquet")
    assert ended.code == 0, ended.err
    here = ended.json
    ended = kanon("anonymize", postgres, "adult_there", *asked, "--into", "x_there", "--search-on", "warehouse")
    assert ended.code == 0, ended.err
    there = ended.json
    for name in ("levels", "rows_in", "rows_out", "classes", "k", "optimal"):
        assert there[name] == here[name], name
    assert there["measures"]["loss"] == pytest.approx(here["measures"]["loss"])
    assert re.search(r"\d", str(there["nodes_tested"]))


def test_spark_tests_several_nodes_in_one_job(spark: Any) -> None:
    """And the release is the same; nothing temporary stays behind."""
    with duckdb.connect() as connection:
        spark.createDataFrame(connection.sql(ROWS).to_arrow_table()).createOrReplaceTempView("tested_together")
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex", "weight"], "rest": "drop", "seed": 1}
    asked |= {"models": [kanon.KAnonymity(7)], "algorithm": "incognito"}
    with kanon.anonymize(spark, "tested_together", search_on="warehouse", **asked) as release:
        titles = [logged.title for logged in release.prepared.source.engine.statements]
        together = [title for title in titles if title.startswith("test nodes ")]
        alone = [title for title in titles if title.startswith("test node ")]
        assert together
        assert len(together) + len(alone) < release.result.nodes_tested
        with kanon.anonymize(spark, "tested_together", **asked) as here:
            assert (release.levels, release.rows_suppressed) == (here.levels, here.rows_suppressed)
            assert release.result.nodes_tested == here.result.nodes_tested
        release.to_table("searched_together", ignore_ledger=True)
        release.to_table("searched_together", replace=True, ignore_ledger=True)
    assert [each.name for each in spark.catalog.listTables() if each.name.startswith("kanon_")] == []
    with pytest.raises(kanon.UsageError, match="local works on tables that it changes"):
        kanon.anonymize(spark, "tested_together", search_on="warehouse", **{**asked, "algorithm": "local"})
