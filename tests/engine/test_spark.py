"""Spark as a warehouse: what only it can do wrong. That results are those of DuckDB is in test_engines.py."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from needs import needs

import kanon_sql as kanon
from kanon_sql.engine.keys import shown_url
from kanon_sql.engine.spark.session import kept_as
from kanon_sql.engine.spark.warehouse import from_spark_type
from kanon_sql.errors import ComputationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Ended

ROWS = """
    SELECT i AS id, 20 + (i * 7) % 30 AS age, CASE i % 3 WHEN 0 THEN 'F' WHEN 1 THEN 'M' END AS sex,
           CAST(10000 + 10 * (i % 6) + i % 3 AS {text}) AS zip,
           CASE WHEN i % 5 = 0 THEN 'flu' ELSE 'cough' END AS illness
    FROM {numbers}
"""
ASK: dict[str, Any] = {
    "quasi_identifiers": ["age", "sex", "zip"],
    "identifying": ["id"],
    "sensitive": ["illness"],
    "models": [kanon.KAnonymity(5)],
    "max_suppressed": 0.1,
    "seed": 1,
}


@pytest.fixture(scope="module")
def patients(spark: Any) -> str:
    """A table of 90 patients in Spark."""
    spark.sql(f"CREATE TABLE patients AS {ROWS.format(text='STRING', numbers='range(90) AS numbers(i)')}")
    return "patients"


@pytest.fixture
def in_duckdb() -> Iterator[duckdb.DuckDBPyConnection]:
    """The same table in DuckDB."""
    with duckdb.connect() as connection:
        rows = ROWS.format(text="VARCHAR", numbers="range(90) AS numbers(i)")
        connection.execute(f"CREATE TABLE patients AS {rows}")
        yield connection


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a pandas frame in an order that depends on them alone, as text."""
    return sorted(tuple(map(str, row)) for row in frame.astype(object).where(frame.notna(), None).to_numpy().tolist())


def in_spark(spark: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(map(str, row)) for row in spark.table(table).collect())


def left_in(spark: Any) -> set[str]:
    """Return the names of all tables and views that are in Spark."""
    databases = [database.name for database in spark.catalog.listDatabases()]
    return {table.name for name in databases for table in spark.catalog.listTables(name)}


def test_relaxed_cuts_part_rows_that_are_alike(spark: Any, patients: str, in_duckdb: duckdb.DuckDBPyConnection) -> None:
    ask = {**ASK, "sensitive": [], "rest": "drop", "algorithm": "mondrian", "cut": "relaxed"}
    with kanon.anonymize(in_duckdb, "patients", **ask) as theirs:
        expected = rows_of(theirs.to_pandas())
    with kanon.anonymize(spark, patients, **ask) as release:
        assert rows_of(release.to_pandas()) == expected


def test_a_data_frame_of_spark_comes_back_as_one(spark: Any, patients: str) -> None:
    before = left_in(spark)
    with kanon.anonymize(spark.table(patients).where("age < 40"), **ASK) as release:
        frame = release.to_frame()
        assert frame.count() == release.rows_out
        with pytest.raises(kanon.UsageError, match="no tables"):
            kanon.check(spark.table(patients), "patients", quasi_identifiers=["age"])
        release.to_table("asked", ignore_ledger=True)
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex", "zip"], "sensitive": ["illness"]}
    attacked = kanon.attack(spark.table("asked"), original=spark.table(patients), **asked)
    by_name = kanon.attack(spark, "asked", original=patients, **asked)
    ended = [[(each["attack"], each["succeeded"]) for each in one.summary()["attacks"]] for one in (attacked, by_name)]
    assert ended[0] == ended[1]
    assert frame.columns == ["age", "sex", "zip", "illness"]
    assert min(row["count"] for row in frame.groupBy("age", "sex", "zip").count().collect()) >= 5
    assert patients not in frame._jdf.queryExecution().optimizedPlan().toString()  # noqa: SLF001 - no public way
    assert left_in(spark) - before <= {"asked", "releases"}


def test_a_view_is_replaced_with_the_tables_that_it_reads(spark: Any, patients: str) -> None:
    def own() -> set[str]:
        return {name for name in left_in(spark) if name.startswith("of_seen")}

    with kanon.anonymize(spark, patients, **ASK) as release:
        release.to_view("seen", ignore_ledger=True)
        first, rows = own(), in_spark(spark, "seen")
        release.to_view("seen", replace=True, ignore_ledger=True)
        second = own()
        assert first
        assert second
        assert not first & second
        assert in_spark(spark, "seen") == rows
        release.to_table("seen", replace=True, ignore_ledger=True)
    assert not own()
    assert in_spark(spark, "seen") == rows


def test_a_release_that_fails_leaves_nothing(spark: Any, patients: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where there was nothing, nor where a table was to be replaced."""
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW before AS SELECT 1 AS a")

    def fail(*_: object, **__: object) -> None:
        raise kanon.VerificationError("on purpose")

    remembering = "kanon_sql.release.ledger.ledger.Ledger.remember"
    with kanon.anonymize(spark, patients, **ASK) as release:
        release.to_table("kept_as_it_was", ignore_ledger=True)
        before, kept = left_in(spark), in_spark(spark, "kept_as_it_was")
        steps: list[tuple[str, Any, str]] = [
            (remembering, release.to_table, "kept_as_it_was"),
            ("kanon_sql.release.publish.warehouse.verify", release.to_table, "kept_as_it_was"),
            (remembering, release.to_view, "kept_as_it_was"),
            (remembering, release.to_view, "never_made"),
        ]
        for step, publish, name in steps:
            with monkeypatch.context() as patched:
                patched.setattr(step, fail)
                with pytest.raises(kanon.VerificationError, match="on purpose"):
                    publish(name, replace=name == "kept_as_it_was", ignore_ledger=True)
            assert left_in(spark) == before
    assert in_spark(spark, "kept_as_it_was") == kept
    spark.sql("DROP TABLE kept_as_it_was")
    spark.sql("DROP VIEW before")


def test_the_ledger_refuses_what_says_too_much_together(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE joint AS SELECT CASE WHEN i < 6 THEN 'a' ELSE 'b' END AS one, "
        "CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END AS two, i AS id FROM range(12) AS numbers(i)"
    )
    ask: dict[str, Any] = {"rest": "drop", "models": [kanon.KAnonymity(6)], "max_suppressed": 0, "seed": 1}
    ask["hierarchies"] = {"one": "flat", "two": "flat"}  # of equal nodes the first is taken
    with kanon.anonymize(spark, "joint", quasi_identifiers=["one", "two"], **ask) as release:
        release.to_table("joint_one")
    with kanon.anonymize(spark, "joint", quasi_identifiers=["two", "one"], **ask) as release:
        with pytest.raises(kanon.JointReleaseError, match=r"default\.joint_one"):
            release.to_table("joint_two")
        assert "joint_two" not in left_in(spark)
        (mine,) = [each for each in kanon.ledger(spark) if each.entry.name.endswith("joint_one")]
        assert mine.as_it_was is True
        assert mine.source_as_it_was is True
        kanon.forget(spark, mine.entry.number)
        assert mine.entry.number not in [each.entry.number for each in kanon.ledger(spark)]
    with kanon.anonymize(spark, "joint", quasi_identifiers=["two", "one"], **ask) as release:
        release.to_table("joint_two")
        assert "joint_two" in left_in(spark)


def test_a_release_that_was_made_meanwhile_stays_remembered(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark has no locks: the second run sees the first when it remembers, under the same number, and gives way."""
    from dataclasses import replace

    from kanon_sql.release.ledger import ledger

    remember = ledger.remember

    def after_another(engine: Any, entry: Any) -> None:
        remember(engine, replace(entry, target=("default", "of_another_run")))
        remember(engine, entry)

    monkeypatch.setattr(ledger, "remember", after_another)
    spark.sql("CREATE TABLE meanwhile AS SELECT id % 2 AS one FROM range(12)")
    asked: dict[str, Any] = {"quasi_identifiers": ["one"], "rest": "drop", "models": [kanon.KAnonymity(6)], "seed": 1}
    with kanon.anonymize(spark, "meanwhile", **asked) as release:
        with pytest.raises(kanon.JointReleaseError, match="of_another_run, was made while"):
            release.to_table("meanwhile_own")
        assert "meanwhile_own" not in left_in(spark)
        remembered = [each.entry for each in kanon.ledger(spark) if each.entry.source_name.endswith("meanwhile")]
        assert [each.target[1] for each in remembered] == ["of_another_run"]
        kanon.forget(spark, remembered[0].number)


def test_names_and_values_are_what_they_are(spark: Any) -> None:
    from pyspark.sql import types

    names = ['we"ird', "ba`ck", "Größe", "Select", "a.b", "wahr"]
    kinds = [
        types.StringType(),
        types.DecimalType(6, 2),
        types.DateType(),
        types.TimestampType(),
        types.DoubleType(),
        types.BooleanType(),
    ]
    schema = types.StructType([types.StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])
    zone = dt.UTC
    values = [
        (None if i == 0 else ["o'k", "", "ü\n"][i % 3], Decimal(i % 4) / 4, dt.date(1500 + 300 * (i % 2), 1, 1),
         dt.datetime(2020, 1, 1 + i % 2, tzinfo=zone), [0.0, -0.0, math.nan, 1.5][i % 4], [True, False, None][i % 3])
        for i in range(60)
    ]  # fmt: skip
    frame = spark.createDataFrame(values, schema)
    ask: dict[str, Any] = {"quasi_identifiers": names[:5], "sensitive": ["wahr"], "models": [kanon.KAnonymity(3)]}
    zone_before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        for algorithm in ("optimal", "mondrian"):
            with kanon.anonymize(frame, algorithm=algorithm, seed=1, **ask) as release:
                made = release.to_spark()
                grouped = Counter(str(row[:5]) for row in made.collect())
                assert min(grouped.values()) >= 3
                assert grouped.total() == release.rows_out > 0
                assert made.columns == names
        assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone_before)


def test_few_rows(spark: Any) -> None:
    ask: dict[str, Any] = {"quasi_identifiers": ["age"], "insensitive": ["kept"], "max_suppressed": 0}
    for rows, k in ((0, 2), (1, 1)):
        frame = spark.range(rows).selectExpr("id AS age", "'x' AS kept")
        with kanon.anonymize(frame, models=[kanon.KAnonymity(k)], **ask) as release:
            assert release.to_spark().count() == rows
            assert len(release.to_pandas()) == rows
    with pytest.raises(kanon.NoSolutionError):
        kanon.anonymize(spark.range(3).selectExpr("id AS age", "'x' AS kept"), models=[kanon.KAnonymity(5)], **ask)


def test_columns_whose_equal_values_are_written_differently_are_refused(spark: Any) -> None:
    frame = spark.range(6).selectExpr(
        "id AS age", "CAST(id % 2 AS STRING) COLLATE UTF8_LCASE AS name", "array(id) AS many"
    )
    for column in ("name", "many"):
        with pytest.raises(kanon.UsageError, match=f"'{column}'"):
            kanon.anonymize(frame, quasi_identifiers=[column], rest="drop")


def test_the_command_line(spark: Any, patients: str, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    place = tmp_path / "visits"
    spark.table(patients).write.parquet(place.as_uri())
    out = tmp_path / "out.csv"
    options = ["--qi", "age,sex,zip", "--id", "id", "--rest", "drop", "-k", 5, "--seed", 1]
    ended = kanon("anonymize", "spark:local[2]", f"parquet.`{place}`", *options, "--out", out, "--format", "json")
    assert ended.code == 0, ended.err
    assert ended.json["rows_in"] == 90
    assert len(out.read_text().splitlines()) == ended.json["rows_out"] + 1
    ended = kanon("check", "spark:local[2]", patients, "--qi", "age,sex,zip", "-k", 5)
    assert ended.code == 1, ended.err
    ended = kanon("anonymize", "spark:local[3]", patients, *options, "--out", out)
    assert ended.code == 2
    assert "in this process already" in ended.err
    ended = kanon("anonymize", "spark:local[2]", "nosuch", *options, "--out", out)
    assert ended.code == 2
    assert "no table or view 'nosuch'" in ended.err


@pytest.mark.thorough
def test_two_programs_in_one_directory(patients: str, spark: Any, in_tmp: Path) -> None:
    """Fails before 0.2.0: the second ended after all its work, where the first left the files of its ledger.

    A catalog in memory has no ledger, and the run says so before it searches.
    """
    place = in_tmp / "visits"
    spark.table(patients).write.parquet(place.as_uri())
    asked = ["--qi", "age,sex,zip", "--id", "id", "--rest", "drop", "-k", "5", "--format", "json"]
    for name in ("one.csv", "two.csv"):
        command = ["anonymize", "spark:local[1]", f"parquet.`{place}`", *asked, "--out", name]
        ended = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "kanon_sql", *command], capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        said = ended.stderr
        assert said.count("ends with this program") == 1
        assert said.index("the ledger compares this one with no earlier one") < said.index("was chosen")
        remembered = json.loads(ended.stdout)["ledger"]
        assert remembered["remembered"] is False
        assert "ends with this program" in remembered["not_remembered"]
    assert not list(in_tmp.glob("spark-warehouse/*"))


def test_files_that_another_program_left_are_in_the_way_of_no_ledger(spark: Any, patients: str) -> None:
    """Fails before 0.2.0: a second program with a session of its own in the same directory ended after all its work."""
    spark.sql("DROP SCHEMA IF EXISTS kanon CASCADE")
    left = Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")) / "kanon.db" / "releases" / "part"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"left")
    asked: dict[str, Any] = {"identifying": ["id"], "quasi_identifiers": ["age", "sex"], "rest": "drop", "k": 5}
    with kanon.anonymize(spark, patients, **asked) as release:
        release.to_table("beside_files_that_were_left")
    assert [each.entry.name for each in kanon.ledger(spark)] == ["default.beside_files_that_were_left"]
    assert left.read_bytes() == b"left"
    spark.sql("DROP TABLE beside_files_that_were_left")
    kanon.forget(spark, "1")


def test_errors_quote_no_cell_and_no_java(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    spark.sql("CREATE OR REPLACE VIEW broken AS SELECT CAST(CONCAT('secret', id) AS INT) AS age FROM range(9)")
    with pytest.raises(ComputationError, match="CAST_INVALID_INPUT") as told:
        kanon.anonymize(spark, "broken", quasi_identifiers=["age"])
    assert "secret" not in str(told.value)
    assert "java" not in str(told.value).lower()
    assert "SQLQueryContextLogger" not in capfd.readouterr().err
    spark.sql("DROP VIEW broken")


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_ends_the_job(spark: Any) -> None:
    spark.sql(
        "CREATE OR REPLACE VIEW slow AS SELECT id AS age FROM range(1, 9, 1, 1) "
        "WHERE java_method('java.lang.Thread', 'sleep', id * 10000L) IS NULL"
    )
    timer = threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kanon.anonymize(spark, "slow", quasi_identifiers=["age"])
    assert time.monotonic() - began < 20  # the job itself would take minutes
    for _ in range(50):
        if not spark.sparkContext.statusTracker().getActiveJobsIds():
            break
        time.sleep(0.1)
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    spark.sql("DROP VIEW slow")


@pytest.mark.thorough
def test_no_server_is_told_in_one_line() -> None:
    needs("grpc")
    with pytest.raises(kanon.SourceError, match=r"sc://127\.0\.0\.1:1 cannot be reached") as told:
        kanon.anonymize("sc://127.0.0.1:1/;token=hidden", "x", quasi_identifiers=["a"])
    assert "hidden" not in str(told.value)


def test_a_run_scans_the_source_twice(spark: Any, patients: str) -> None:
    """Once for the tuples, once for the release: by the plans of Spark, in which a scan is of a relation of files."""
    with kanon.anonymize(spark, patients, count="rows", **ASK) as release:
        statements = release.prepared.source.engine.statements
        in_spark: list[str] = []
        sql_of_session = spark.sql

        def noting(text: str) -> Any:
            frame = sql_of_session(text)
            plan = frame._jdf.queryExecution().optimizedPlan().toString()  # noqa: SLF001 - no public way
            in_spark.extend(line for line in plan.splitlines() if f".{patients}[" in line and "Relation" in line)
            return frame

        made = [logged for logged in statements if logged.dialect == "spark" and patients in logged.statement.sql()]
        assert [logged.title for logged in made] == [f"distinct tuples of {patients} and their counts"]
        release.prepared.source.warehouse.session.sql = noting
        try:
            release.to_pandas()
        finally:
            del release.prepared.source.warehouse.session.sql
    assert len(in_spark) == 1


@pytest.mark.parametrize(
    ("spark_type", "expected"),
    [
        ("int", "INTEGER"),
        ("decimal(10,2)", "DECIMAL(10,2)"),
        ("varchar(5)", "VARCHAR"),
        ("char(5)", "VARCHAR"),
        ("timestamp", "TIMESTAMP WITH TIME ZONE"),
        ("timestamp_ntz", "TIMESTAMP"),
        ("string collate UTF8_LCASE", "STRING WITH COLLATION UTF8_LCASE"),
        ("array<int>", "ARRAY<INT>"),
    ],
)
def test_types(spark_type: str, expected: str) -> None:
    assert from_spark_type(spark_type) == expected


def test_names_of_our_own_tables_stay_apart() -> None:
    names = ["a.b", "a_2e_b", "a__b", "A.b", "a_.b", "a._b", "ü.b", "hierarchy_age"]
    kept = [kept_as(name) for name in names]
    assert len(set(kept)) == len(names)
    assert all(name.isascii() and name.replace("_", "").isalnum() and name == name.lower() for name in kept)
    assert kept_as("hierarchy_age") == "hierarchy_age"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sc://me:pw@host:15002/;token=abc;user_id=x", "sc://host:15002"),
        ("sc://host/;token=abc", "sc://host"),
        ("spark://host:7077?spark.my.password=x", "spark://host:7077"),
        ("spark:local[2]?spark.my.password=x", "spark:local[2]"),
    ],
)
def test_a_place_has_no_secrets(url: str, place: str) -> None:
    assert shown_url(url) == place
