"""What a script says of the table: rules are computed, and no value that only suppressed rows have stands in it."""

from __future__ import annotations

import csv
import stat
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from rows import released_rows

import kanon_sql as kanon
from kanon_sql.policy.policy import Destination
from kanon_sql.sql.dialects import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

INTO = Destination(into="released")
# Only rows that are suppressed have these values.
CANARIES = ("77123", "1804-05-06", "99.125", "Zebulon", "canaryville", "661234")


def by_hand(path: Path) -> Path:
    """100 people in classes of 10 by town and age, and one that is like no other in any column."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """
            CREATE TABLE people AS
            SELECT 'Name ' || i AS name, CAST(30 + i % 10 AS INTEGER) AS age, 'town ' || i % 10 AS town,
              CAST(10000 + i % 10 AS VARCHAR) AS zip, DATE '1980-01-01' + CAST(i % 10 AS INTEGER) AS born,
              20.5 + i % 10 AS weight, CASE WHEN i % 3 = 0 THEN 'flu' ELSE 'cough' END AS disease
            FROM range(100) AS numbers(i)
            UNION ALL
            SELECT 'Zebulon', 661234, 'canaryville', '77123', DATE '1804-05-06', 99.125, 'flu'
            """
        )
    tree = [f"town {i};region {i % 2};*" for i in range(10)] + ["canaryville;region 0;*", "nowhere;region 1;*"]
    path.with_name("town.csv").write_text("\n".join(tree), encoding="utf-8")
    return path


def of(path: Path, algorithm: str = "optimal", **more: Any) -> kanon.Release:
    asked: dict[str, Any] = {
        "quasi_identifiers": ["name", "age", "town", "zip", "born", "weight"],
        "rest": "keep",
        "models": [kanon.KAnonymity(5)],
        "max_suppressed": 0.05,
        "hierarchies": {
            "name": "flat",
            "age": "intervals:5,10",
            "town": str(path.with_name("town.csv")),
            "zip": "mask:right:1,2",
            "born": "date:month,year",
            "weight": "intervals:2.5,5",
        },
    }
    return kanon.anonymize(path, "people", seed=1, algorithm=algorithm, **(asked | more))


@pytest.mark.quick(2)
@pytest.mark.parametrize("algorithm", ["optimal", "local"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_value_that_only_suppressed_rows_have(tmp_path: Path, dialect: str, algorithm: str) -> None:
    """Fails on 0.1.0: scripts for other dialects held every value, and that for DuckDB all rows of a file."""
    with of(by_hand(tmp_path / "people.duckdb"), algorithm) as release:
        assert release.rows_suppressed == 1
        script = release.sql(dialect, INTO)
        assert [canary for canary in CANARIES if canary in script] == []
        assert "Name 1" not in script  # of every person the name became *
        assert "nowhere" not in script
        assert release.script(dialect, INTO).held in ({}, {"town": 10})


@pytest.mark.thorough
def test_a_script_is_no_larger_than_that_for_duckdb_by_much(tmp_path: Path) -> None:
    """Fails on 0.1.0: 15,000 rows made a script of megabytes for BigQuery, and of kilobytes for DuckDB."""
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """
            CREATE TABLE people AS
            SELECT CAST(20 + i * 7919 % 60 AS INTEGER) AS age, 'N' || i AS name,
              CAST(10000 + i * 31 % 9000 AS VARCHAR) AS zip, DATE '1950-01-01' + CAST(i * 37 % 20000 AS INTEGER) AS born
            FROM range(15000) AS numbers(i)
            """
        )
    with kanon.anonymize(path, "people", quasi_identifiers=["age", "name", "zip", "born"], seed=1) as release:
        plain = len(release.sql("duckdb", INTO))
        assert {dialect: size for dialect in DIALECTS if (size := len(release.sql(dialect, INTO))) > 2 * plain} == {}


def rows_of(script: str, path: Path) -> list[tuple[Any, ...]]:
    """Run a script for DuckDB on a copy of the table elsewhere."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS original (READ_ONLY)")
        connection.execute("CREATE TABLE people AS FROM original.people")
        connection.execute(script)
        return sorted(connection.execute("FROM released").fetchall(), key=repr)


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_the_script_without_these_values_makes_the_same_release(tmp_path: Path, algorithm: str) -> None:
    path = by_hand(tmp_path / "people.duckdb")
    with of(path, algorithm) as release:
        expected = sorted(released_rows(release), key=repr)
        assert rows_of(release.sql("duckdb", INTO), path) == expected


ALPHA = [kanon.KAnonymity(2), kanon.AlphaKAnonymity(0.5, sensitive="disease")]


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_a_script_that_would_publish_more_is_refused(tmp_path: Path, dialect: str) -> None:
    """By hand: 8 of the 13 of sex x have flu, and their class fails alpha = 0.5. The 10 of sex y are published.

    Three of the 13 live in towns that none of the 10 lives in, all with flu: without them there are 5 of 10, which
    alpha allows. At level 0 each town and sex is a single row.
    """
    path = tmp_path / "towns.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """
            CREATE TABLE people AS
            SELECT 'n' || i AS town, CASE WHEN i < 8 THEN 'flu' ELSE 'cough' END AS disease, 'x' AS sex
            FROM range(13) AS numbers(i)
            UNION ALL
            SELECT 'n' || (3 + i), CASE WHEN i % 2 = 0 THEN 'flu' ELSE 'cough' END, 'y' FROM range(10) AS numbers(i)
            """
        )
    tree = "".join(f"n{i};north;*\n" for i in range(13))
    path.with_name("town.csv").write_text(tree, encoding="utf-8")
    asked: dict[str, Any] = {"quasi_identifiers": ["town", "sex"], "sensitive": ["disease"], "models": ALPHA}
    asked |= {"hierarchies": {"town": str(path.with_name("town.csv")), "sex": "flat"}, "max_suppressed": 0.7}
    with kanon.anonymize(path, "people", **asked) as release:
        assert (release.levels, release.rows_suppressed) == ({"town": 1, "sex": 0}, 13)
        with pytest.raises(kanon.UsageError, match="holds no values that only suppressed rows have"):
            release.script(dialect, INTO)


@pytest.mark.thorough
def test_values_of_people_whom_pseudonyms_tie_are_not_written_out(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Fails on 0.1.0: the script held the town that only the person who is left out has.

    By hand: Zed alone is in both regions, so both rows of Zed are left out, and no other is from zedtown.
    """
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT 'P' || i AS who, 'town ' || i % 10 AS town FROM range(100) AS numbers(i)"
        )
        connection.execute("INSERT INTO visits VALUES ('Zed', 'town 0'), ('Zed', 'zedtown')")
    tree = [f"town {i};region {i % 2};*" for i in range(10)] + ["zedtown;region 1;*"]
    path.with_name("town.csv").write_text("\n".join(tree), encoding="utf-8")
    asked: dict[str, Any] = {"quasi_identifiers": ["town"], "pseudonymize": ["who"], "entity": "who", "seed": 1}
    asked |= {"models": [kanon.KAnonymity(15)], "max_suppressed": 0.1}
    with kanon.anonymize(path, "visits", **asked, hierarchies={"town": str(path.with_name("town.csv"))}) as release:
        assert (release.levels, release.rows_suppressed) == ({"town": 1}, 2)
        with pytest.raises(kanon.UsageError, match="2 rows are left out because pseudonyms tie them"):
            release.script("duckdb", INTO)
    command: Callable[..., Ended] = request.getfixturevalue("kanon")
    assert command("hierarchy", "load", path, "visits", f"town={path.with_name('town.csv')}").code == 0
    with kanon.anonymize(path, "visits", **asked) as release:
        assert release.rows_suppressed == 2
        assert "zedtown" not in release.sql("duckdb", INTO)


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_materialized_view_is_no_plain_view_in_a_script(tmp_path: Path, dialect: str) -> None:
    """Fails on 0.1.0: DuckDB got a plain view, whose reader can find out values of rows that it leaves out."""
    with of(by_hand(tmp_path / "people.duckdb")) as release:
        where = Destination(into="released", kind="materialized-view")
        if dialect == "postgres":
            assert "CREATE MATERIALIZED VIEW" in release.sql(dialect, where)
            return
        with pytest.raises(kanon.UsageError, match=r"no materialized view|Leave to_view.. out"):
            release.sql(dialect, where)


@pytest.mark.thorough
def test_the_command_says_how_large_a_script_is_and_what_it_holds(
    tmp_path: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails on 0.1.0: nothing was said."""
    monkeypatch.chdir(tmp_path)
    by_hand(tmp_path / "people.duckdb")
    asked = ("anonymize", "people.duckdb", "people", "--qi", "town,age", "--rest", "drop", "-k", 5, "--seed", 1)
    asked = (*asked, "--max-suppressed", 0.05, "--sql", "--dialect", "bigquery", "--hierarchy", "age=intervals:5,10")
    ended = kanon(*asked, "--hierarchy", "town=flat")
    assert ended.code == 0
    assert f"The script has {len(ended.out.encode()):,} bytes and holds no list of values of the table." in ended.err
    ended = kanon(*asked, "-q", "--hierarchy", "town=town.csv", "--algorithm", "mondrian")
    assert ended.code == 0
    assert "values as they are: 11 of town (those of published rows)" in " ".join(ended.err.split())


def test_all_statements_of_a_run_are_said_to_hold_values(
    tmp_path: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails on 0.1.0: nothing was said. The largest weight, which only a suppressed row has, bounds the losses."""
    monkeypatch.chdir(tmp_path)
    by_hand(tmp_path / "people.duckdb")
    asked = (
        "anonymize",
        "people.duckdb",
        "people",
        "--qi",
        "weight",
        "--rest",
        "drop",
        "-k",
        5,
        "-q",
        "--count",
        "rows",
    )
    ended = kanon(*asked, "--max-suppressed", 0.05, "--hierarchy", "weight=quantiles:4,2", "--sql=all")
    assert ended.code == 0, ended.err
    assert "99.125" in ended.out
    assert "can hold values of all rows as they are, suppressed ones too" in " ".join(ended.err.split())


# Lookups in files


def looked_up(path: Path) -> dict[str, Any]:
    """Return settings under which towns are generalized by their file."""
    hierarchies = {"town": str(path.with_name("town.csv")), "age": "intervals:10,20"}
    return {"quasi_identifiers": ["town", "age"], "hierarchies": hierarchies, "models": [kanon.KAnonymity(40)]}


@pytest.mark.thorough
def test_lookups_are_files_that_the_script_loads(tmp_path: Path) -> None:
    path, directory = by_hand(tmp_path / "people.duckdb"), tmp_path / "lookups"
    with of(path, **looked_up(path)) as release:
        assert release.levels is not None
        assert release.levels["town"] == 1
        plain = release.script("duckdb", INTO)
        script = release.script("duckdb", INTO, lookups=directory)
        expected = sorted(released_rows(release), key=repr)
        with pytest.raises(kanon.UsageError, match="exists already"):
            release.script("duckdb", INTO, lookups=directory)
        release.script("duckdb", INTO, lookups=directory, replace=True)
    assert script.held == plain.held == {"town": 10}
    assert "town 1" in plain.text
    assert "town 1" not in script.text
    assert (
        {file.name for file in script.files}
        == {"kanon_hierarchy_town.csv", "README.txt"}
        == {file.name for file in directory.iterdir()}
    )
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in script.files)
    assert "values of the table" in (directory / "README.txt").read_text(encoding="utf-8")
    with (directory / "kanon_hierarchy_town.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert sorted(rows[1:]) == sorted([f"town {i}", f"region {i % 2}"] for i in range(10))
    assert rows_of(script.text, path) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_script_loads_its_lookups_or_says_how(tmp_path: Path, dialect: str) -> None:
    """Fails on 0.1.0: there were no lookups."""
    path, directory = by_hand(tmp_path / "people.duckdb"), tmp_path / "look*/ups"
    directory.parent.mkdir()
    with of(path, **looked_up(path)) as release:
        text = release.script(dialect, INTO, lookups=directory).text
    file = str(directory / "kanon_hierarchy_town.csv")
    if dialect in {"duckdb", "postgres", "spark"}:
        assert f"'{file}'" in text
    else:
        assert f"/* Before this: load {file.replace('*/', '* /')} (CSV," in text


@pytest.mark.thorough
def test_texts_that_a_csv_file_must_quote_come_back(tmp_path: Path) -> None:
    path, directory = tmp_path / "people.duckdb", tmp_path / "lookups"
    towns = ["", 'quo"te', "com,ma", "new\nline", "\\N", "NULL", "it's"]
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people (town VARCHAR)")
        connection.executemany("INSERT INTO people VALUES (?)", [[town] for town in towns * 3] + [[None]] * 3)
    with kanon.anonymize(
        path, "people", quasi_identifiers=["town"], models=[kanon.KAnonymity(3)], algorithm="mondrian", seed=1
    ) as release:
        script = release.script("duckdb", INTO, lookups=directory)
        expected = sorted(released_rows(release), key=repr)
    assert rows_of(script.text, path) == expected
    assert len(set(expected)) == 8


@pytest.mark.thorough
def test_nothing_is_left_of_lookups_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, directory = by_hand(tmp_path / "people.duckdb"), tmp_path / "lookups"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kanon_sql.release.script.take_name", full)
    with of(path, **looked_up(path)) as release, pytest.raises(kanon.SourceError, match="No space left"):
        release.script("postgres", INTO, lookups=directory)
    assert not directory.exists()


def test_lookups_need_a_script(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    path = by_hand(tmp_path / "people.duckdb")
    ended = kanon("anonymize", path, "people", "--qi", "age", "--rest", "drop", "--into", "r", "--lookups", tmp_path)
    assert ended.code == 2
    assert "--sql" in ended.err
