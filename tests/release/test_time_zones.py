"""Labels and texts of a TIMESTAMP WITH TIME ZONE are those of one time zone: of the policy, else UTC.

Days are worked out by ``zoneinfo``. A release used to have the days of the session that made it: two releases of one
table, made in two places, put one row on two days.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import duckdb
import pytest
from each import each
from needs import needs

import kanon_sql as kanon_of
from kanon_sql.errors import JointReleaseError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from conftest import Ended

ZONES = ("UTC", "Asia/Tokyo", "America/New_York")
FIRST = dt.datetime(2024, 1, 1, 13, tzinfo=dt.UTC)
TIMES = [FIRST + dt.timedelta(hours=2 * (number // 6)) for number in range(72)]
VISITS = """
CREATE TABLE visits AS
SELECT i AS id, TIMESTAMPTZ '2024-01-01 13:00:00+00' + INTERVAL (2 * (i // 6)) HOUR AS t, 'd' || i % 2 AS disease,
  TIMESTAMPTZ '2024-01-01 20:00:00+00' AS noted
FROM range(72) AS numbers(i)
"""
ASKED: dict[str, Any] = {
    "quasi_identifiers": ["t"],
    "sensitive": ["disease"],
    "rest": "drop",
    "count": "rows",
    "k": 2,
    "hierarchies": {"t": "date:day,month"},
    "levels": {"t": 1},
    "seed": 1,
}
OPTIONS = (
    *("--qi", "t", "--sensitive", "disease", "--rest", "drop", "--count", "rows", "-k", 2),
    *("--hierarchy", "t=date:day,month", "--levels", "t=1", "--seed", 1),
)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(VISITS)
    return path


def days(zone: str, times: Iterable[dt.datetime] = TIMES) -> Counter[str]:
    return Counter(str(time.astimezone(ZoneInfo(zone)).date()) for time in times)


def labels(path: Path) -> Counter[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return Counter(row["t"] for row in csv.DictReader(file))


def in_table(path: Path, table: str, zone: str = "UTC") -> Counter[str]:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"SET TimeZone = '{zone}'")
        return Counter(str(label) for (label,) in connection.table(table).project("t").fetchall())


@pytest.mark.thorough
def test_a_release_does_not_depend_on_where_it_is_made(visits: Path) -> None:
    made = []
    for zone in ZONES:
        out = visits.with_name(f"{zone.replace('/', '_')}.csv")
        command = ["-m", "kanon_sql", "anonymize", visits, "visits", *OPTIONS[:4], "--rest", "keep", *OPTIONS[6:]]
        asked = [*map(str, command), "--out", str(out), "--id", "id", "--ignore-ledger"]
        place = {**os.environ, "TZ": zone}
        subprocess.run([sys.executable, *asked], check=True, env=place, capture_output=True)  # noqa: S603 - ours
        made.append(out.read_bytes())
        assert labels(out) == days("UTC")
    assert len(set(made)) == 1
    assert b"2024-01-01 20:00:00+00" in made[0]


@each("zone", ZONES, quick=1)
def test_labels_are_those_of_the_time_zone_of_the_policy(zone: str, visits: Path) -> None:
    with kanon_of.anonymize(visits, "visits", time_zone=zone, **ASKED) as release:
        release.to_table("released", replace=True, ignore_ledger=True)
    assert in_table(visits, "released") == days(zone)
    assert len({str(days(each)) for each in ZONES}) == len(ZONES)


@pytest.mark.thorough
def test_option_policy_file_and_library(visits: Path, kanon: Callable[..., Ended]) -> None:
    out, policy = visits.with_name("out.csv"), visits.with_name("kanon.toml")
    job = ("anonymize", visits, "visits", *OPTIONS, "--out", out, "--time-zone", "asia/tokyo", "--save-policy", policy)
    assert kanon(*job).code == 0
    assert labels(out) == days("Asia/Tokyo")
    assert 'time_zone = "asia/tokyo"' in policy.read_text(encoding="utf-8")
    assert kanon("anonymize", "--policy", policy, "--replace").code == 0
    assert labels(out) == days("Asia/Tokyo")
    # The option overrides the file; and both releases together would split classes.
    again = ("anonymize", "--policy", policy, "--replace", "--time-zone", "America/New_York")
    assert kanon(*again, "--ignore-ledger").code == 0
    assert labels(out) == days("America/New_York")


def test_an_unknown_time_zone_is_refused(visits: Path, kanon: Callable[..., Ended]) -> None:
    for name in ("Nowhere/Land", "GMT+2", "+02:00"):  # the second one DuckDB takes, and PostgreSQL for its opposite
        with pytest.raises(UsageError, match="must be the name of a time zone that DuckDB knows"):
            kanon_of.anonymize(visits, "visits", time_zone=name, **ASKED)
    ended = kanon("check", visits, "visits", "--qi", "t", "-k", 2, "--time-zone", "Nowhere/Land")
    assert ended.code == 2
    assert "pg_timezone_names()" in " ".join(ended.err.split())


# A connection that was handed in


@pytest.mark.thorough
def test_a_connection_of_another_time_zone_is_refused_and_stays_as_it_is() -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        connection.execute(VISITS)
        calls: list[Callable[[], Any]] = [
            lambda: kanon_of.anonymize(connection, "visits", **ASKED),
            lambda: kanon_of.prepare(connection, "visits", quasi_identifiers=["t"], rest="drop"),
            lambda: kanon_of.check(connection, "visits", quasi_identifiers=["t"], k=2, count="rows"),
            lambda: kanon_of.risk(connection, "visits", quasi_identifiers=["t"], count="rows"),
            lambda: kanon_of.measure(connection, "visits", quasi_identifiers=["t"], count="rows"),
            lambda: kanon_of.known(connection, "visits", quasi_identifiers=["t"], count="rows"),
            lambda: kanon_of.profile(connection, "visits"),
        ]
        for call in calls:
            with pytest.raises(UsageError) as caught:
                call()
            assert "SET TimeZone = 'UTC'" in str(caught.value)
            assert "time_zone = 'Asia/Tokyo'" in str(caught.value)
        assert connection.execute("SELECT current_setting('TimeZone')").fetchone() == ("Asia/Tokyo",)
        with kanon_of.anonymize(connection, "visits", time_zone="Asia/Tokyo", **ASKED) as release:
            release.to_table("released")
        found = connection.execute("SELECT t FROM released").fetchall()
        assert Counter(label for (label,) in found) == days("Asia/Tokyo")


@each(("own", "wanted"), [("Etc/UTC", "UTC"), ("UTC", "Zulu"), ("Japan", "Asia/Tokyo")], quick=1)
def test_names_of_one_time_zone_are_one(own: str, wanted: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{own}'")
        connection.execute(VISITS)
        with kanon_of.anonymize(connection, "visits", time_zone=wanted, **ASKED) as release:
            release.to_table("released")
        found = connection.execute("SELECT t FROM released").fetchall()
        assert Counter(label for (label,) in found) == days(wanted)


def test_a_table_without_times_of_a_zone_is_no_matter() -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'; CREATE TABLE t AS SELECT i % 3 AS a FROM range(9) AS n(i)")
        assert kanon_of.check(connection, "t", quasi_identifiers=["a"], k=3, count="rows").holds


# What is read later: evidence, ledger, lock, report


@pytest.mark.thorough
def test_evidence_is_computed_in_the_time_zone_of_the_release(visits: Path) -> None:
    with kanon_of.anonymize(visits, "visits", time_zone="Asia/Tokyo", **ASKED) as release:
        release.to_table("released")
    asked: dict[str, Any] = {"original": "visits", "quasi_identifiers": ["t"], "hierarchies": ASKED["hierarchies"]}
    for zone in ("UTC", "America/New_York"):  # where other rows are on a day
        with pytest.raises(UsageError, match="time_zone"):
            kanon_of.measure(visits, "released", time_zone=zone, count="rows", **asked)
    measured = kanon_of.measure(visits, "released", time_zone="Asia/Tokyo", count="rows", **asked)
    assert measured.measures is not None
    assert measured.measures["loss"] == pytest.approx(66 / 72 * 10 / 11)  # of 12 instants, 11 are on one day
    policy = kanon_of.Policy(
        columns=kanon_of.NamedColumns(quasi_identifiers=("t",)),
        hierarchies=ASKED["hierarchies"],
        time_zone="Asia/Tokyo",
    )
    attacked = kanon_of.attack(visits, "released", original="visits", sensitive=["disease"], policy=policy)
    assert "linkage" in {attack["attack"] for attack in attacked.summary()["attacks"]}


@pytest.mark.thorough
def test_the_ledger_knows_the_time_zone(visits: Path, kanon: Callable[..., Ended]) -> None:
    """The days of two time zones together are fewer rows each."""
    asked = {**ASKED, "quasi_identifiers": ["t"], "sensitive": ["noted"]}
    with kanon_of.anonymize(visits, "visits", time_zone="Asia/Tokyo", **asked) as release:
        release.to_table("first")
    with kanon_of.anonymize(visits, "visits", **ASKED) as release:
        with pytest.raises(JointReleaseError) as caught:
            release.to_table("second")
        assert "labels of this release are those of UTC" in str(caught.value)
        assert "Asia/Tokyo" in str(caught.value)
    (entry,) = json.loads(kanon("ledger", visits, "--format", "json").out)["releases"]
    assert entry["policy"]["time_zone"] == "Asia/Tokyo"
    assert (entry["as_it_was"], entry["source_as_it_was"]) == (True, True)
    with kanon_of.anonymize(visits, "visits", time_zone="Asia/Tokyo", **asked) as release:
        release.to_table("second")


@pytest.mark.thorough
def test_new_rows_are_published_in_the_time_zone_of_the_lock(visits: Path, kanon: Callable[..., Ended]) -> None:
    lock = visits.with_name("kanon.lock")
    with kanon_of.anonymize(visits, "visits", time_zone="Asia/Tokyo", **ASKED) as release:
        release.to_table("released", lock=lock)
    assert 'time_zone = "Asia/Tokyo"' in lock.read_text(encoding="utf-8")
    new = [(FIRST + dt.timedelta(days=40), "d0"), (FIRST + dt.timedelta(days=40, hours=1), "d1")] * 3
    with duckdb.connect(str(visits)) as connection:
        connection.execute("CREATE TABLE february (t TIMESTAMPTZ, disease VARCHAR)")
        connection.executemany("INSERT INTO february VALUES (?, ?)", new)
    ended = kanon("apply", lock, "february", "--append", "released")
    assert ended.code == 0, ended.err
    assert in_table(visits, "released") == days("Asia/Tokyo", [*TIMES, *(time for time, _ in new)])
    with duckdb.connect(str(visits)) as connection:
        connection.execute("SET TimeZone = 'UTC'; CREATE TABLE march AS FROM february")
        with pytest.raises(UsageError, match="SET TimeZone = 'Asia/Tokyo'"):
            kanon_of.apply(lock, "march", append="released", database=connection, again=True)


@pytest.mark.thorough
def test_a_report_says_the_time_zone(visits: Path) -> None:
    asked = {**ASKED, "time_zone": "Asia/Tokyo"}
    report = kanon_of.report(visits, "visits", **asked)
    assert report.summary()["search"]["time_zone"] == "Asia/Tokyo"
    assert "Asia/Tokyo" in report.to_html()
    assert 'time_zone = "Asia/Tokyo"' in report.policy
    with duckdb.connect(str(visits)) as connection:
        connection.execute("CREATE TABLE plain AS SELECT i % 4 AS t, 'd' || i % 2 AS disease FROM range(40) AS n(i)")
    plain = {**asked, "hierarchies": {"t": "flat"}, "levels": {}}
    assert kanon_of.report(visits, "plain", **plain).summary()["search"]["time_zone"] is None


# Scripts and views


def test_a_script_sets_the_time_zone(visits: Path) -> None:
    with kanon_of.anonymize(visits, "visits", time_zone="Asia/Tokyo", **ASKED) as release:
        script = release.script("duckdb", kanon_of.Destination(into="scripted")).text
        first = {dialect: release.script(dialect).text for dialect in ("postgres", "spark", "snowflake", "bigquery")}
    assert "SET TIME ZONE 'Asia/Tokyo'" in first["postgres"]
    assert "SET TIME ZONE 'Asia/Tokyo'" in first["spark"]
    assert "ALTER SESSION SET TIMEZONE = 'Asia/Tokyo'" in first["snowflake"]
    assert "SET @@time_zone = 'Asia/Tokyo'" in first["bigquery"]
    with duckdb.connect(str(visits)) as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        connection.execute(script)
    assert in_table(visits, "scripted") == days("Asia/Tokyo")


@each("algorithm", ["optimal", "mondrian"], quick=1)
def test_a_view_shows_the_same_to_readers_of_all_time_zones(algorithm: str, visits: Path) -> None:
    asked = {**ASKED, "algorithm": algorithm}
    if algorithm == "mondrian":
        asked |= {"levels": {}, "k": 20}  # labels are ranges of instants then
    with kanon_of.anonymize(visits, "visits", time_zone="Asia/Tokyo", **asked) as release:
        release.to_view("shown", replace=True, ignore_ledger=True)
    shown = [in_table(visits, "shown", zone) for zone in ZONES]
    assert shown[0] == shown[1] == shown[2]
    assert algorithm == "mondrian" or shown[0] == days("Asia/Tokyo")


def test_texts_with_an_offset_are_of_the_time_zone(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    """A column in which some values have an offset, and others none, is text: which instants these are is not known."""
    source, out = tmp_path / "t.csv", tmp_path / "o.csv"
    job = (
        "anonymize",
        source,
        *("--qi", "t", "--hierarchy", "t=date:day", "--levels", "t=1", "-k", 2, "--count", "rows", "--out", out),
        *("--time-zone", "Asia/Tokyo"),
    )
    source.write_text("t\n" + "2024-01-01 20:00:00+00\n2024-01-02 05:00:00\n" * 4, encoding="utf-8")
    assert "needs dates, but the column is VARCHAR" in kanon(*job).err
    source.write_text("t\n" + "2024-01-01 20:00:00+00\n2024-01-01 23:00:00Z\n" * 4, encoding="utf-8")
    assert kanon(*job).code == 0
    assert labels(out) == {"2024-01-02": 8}


@pytest.mark.thorough
def test_pages_begin_in_the_time_zone_of_the_command(visits: Path) -> None:
    needs("starlette")
    from kanon_sql.engine.time_zones import computing_in
    from kanon_sql.explore.workspace import Workspace

    with computing_in("Asia/Tokyo"):
        workspace = Workspace(str(visits), "visits", None)
    try:
        assert workspace.ready(30)
        assert workspace.base is not None
        assert workspace.base.policy.time_zone == "Asia/Tokyo"
    finally:
        workspace.close()


# Elsewhere


@pytest.mark.thorough
def test_postgresql(postgres: str, kanon: Callable[..., Ended]) -> None:
    import psycopg

    early = "1850-06-01 12:00:00+00"  # when Amsterdam had an offset of 17 minutes and some seconds
    made = VISITS.replace("INTERVAL (2 * (i // 6)) HOUR", "make_interval(hours => 2 * (i / 6))")
    made = made.replace("range(72)", "generate_series(0, 71)")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS visits CASCADE")
        connection.execute(made)
        connection.execute(
            "INSERT INTO visits SELECT 100 + i, %s, 'd0', now() FROM generate_series(1, 4) n(i)", [early]
        )
        times = [*TIMES, *[dt.datetime(1850, 6, 1, 12, tzinfo=dt.UTC)] * 4]
        for search_on in ("workbench", "warehouse"):
            for zone in ("UTC", "Asia/Tokyo", "Europe/Amsterdam"):
                asked = {**ASKED, "time_zone": zone, "search_on": search_on}
                with kanon_of.anonymize(postgres, "visits", **asked) as release:
                    release.to_table("tz_released", replace=True, ignore_ledger=True)
                    release.to_view("tz_shown", replace=True, ignore_ledger=True)
                for reader in ZONES:
                    connection.execute(f"SET TimeZone = '{reader}'")
                    for query in ("SELECT t FROM tz_released", "SELECT t FROM tz_shown"):
                        found = Counter(label for (label,) in connection.execute(query).fetchall())
                        assert found == days(zone, times), (search_on, zone, reader, query)
        connection.execute("DROP VIEW tz_shown; DROP TABLE tz_released, visits; DROP SCHEMA kanon CASCADE")
    ended = kanon("check", postgres, "visits", "--qi", "t", "--time-zone", "Nowhere/Land")
    assert "must be the name of a time zone" in " ".join(ended.err.split())


@pytest.mark.thorough
def test_spark(spark: Any) -> None:
    frame = spark.createDataFrame(
        [(time, f"d{place % 2}") for place, time in enumerate(TIMES)], "t timestamp, disease string"
    )
    before = spark.conf.get("spark.sql.session.timeZone")
    for search_on in ("workbench", "warehouse"):
        for zone in ZONES:
            with kanon_of.anonymize(frame, time_zone=zone, search_on=search_on, **ASKED) as release:
                found = Counter(row["t"] for row in release.to_spark().collect())
                assert found == days(zone), (search_on, zone)
    assert spark.conf.get("spark.sql.session.timeZone") == before


@pytest.mark.thorough
def test_several_tables(visits: Path, kanon: Callable[..., Ended]) -> None:
    policy = visits.with_name("kanon.toml")
    policy.write_text(
        f"""
[source]
from = "{visits}"
[privacy]
k = 7
[search]
max_suppressed = 0.1
[release]
out_directory = "released"
time_zone = "Asia/Tokyo"
[tables.visits]
person = "id"
quasi_identifiers = ["t"]
rest = "drop"
hierarchies = {{ t = "date:day" }}
""",
        encoding="utf-8",
    )
    report = visits.with_name("report.json")
    ended = kanon("anonymize", "--policy", policy, "--report", report, "--ignore-ledger")
    assert ended.code == 0, ended.err
    assert labels(visits.with_name("released") / "visits.csv") == {"2024-01-02": 66}  # without 6 rows of the day before
    assert json.loads(report.read_text(encoding="utf-8"))["time_zone"] == "Asia/Tokyo"
    assert "SET TimeZone = 'Asia/Tokyo'" in kanon("anonymize", "--policy", policy, "--into-schema", "x", "--sql").out
    other = ("--out-dir", visits.with_name("other"), "--time-zone", "UTC", "--ignore-ledger")
    assert kanon("anonymize", "--policy", policy, *other).code == 0
    assert labels(visits.with_name("other") / "visits.csv") == days("UTC")
    assert kanon("check", visits.with_name("released"), "--policy", policy).code == 0
