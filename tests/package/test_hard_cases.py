"""Cases that once went wrong: sources and destinations that are the same, transactions, types, proofs cut short."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from each import each
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.search.full_domain import optimal
from kanon_sql.search.prepare import problem_of
from kanon_sql.search.run import search

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("CREATE TABLE t AS SELECT i % 3 AS a, i % 2 AS b, i AS id FROM range(60) r(i)")
        yield opened


def release_of(source: Any, table: str | None = None, **settings: Any) -> kanon.Release:
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "rest": "drop", **settings}
    return kanon.anonymize(source, table, **asked)


# What is there already


def test_an_open_transaction_of_the_caller_is_left_as_it_is(connection: duckdb.DuckDBPyConnection) -> None:
    connection.begin()
    connection.execute("INSERT INTO t VALUES (1, 1, 60)")
    with release_of(connection, "t") as release, pytest.raises(kanon.UsageError, match="transaction open"):
        release.to_table("released")
    connection.commit()
    assert connection.sql("SELECT count(*) FROM t").fetchall() == [(61,)]
    with release_of(connection, "t") as release:
        release.to_table("released")


@each("name", ["data.csv", "d*.csv"])
def test_a_release_never_overwrites_the_file_it_is_made_from(tmp_path: Path, name: str) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a\n" + "1\n" * 9, encoding="utf-8")
    before = data.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    with release_of(tmp_path / name) as release:
        for out in (data, link):
            with pytest.raises(kanon.UsageError, match="is the source: write"):
                release.to_file(out, replace=True)
    assert data.read_bytes() == before


def test_a_release_never_replaces_a_table_behind_its_source(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE VIEW seen AS SELECT * FROM t")
    connection.execute("CREATE VIEW seen_twice AS SELECT a FROM seen WHERE a IN (SELECT a FROM main.t)")
    with release_of(connection, "seen_twice") as release:
        for name in ("T", "seen", "seen_twice"):
            with pytest.raises(kanon.UsageError, match="or one behind it"):
                release.to_table(name, replace=True)
    assert connection.sql("SELECT count(*) FROM t").fetchall() == [(60,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT list_transform([a], lambda x: x)[1] AS a FROM t",  # sqlglot does not read it
        "SELECT a FROM rows_of()",
        "SELECT a FROM query_table('t')",
    ],
)
def test_a_release_replaces_nothing_that_its_view_may_read(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    connection.execute("CREATE MACRO rows_of() AS TABLE SELECT * FROM t")
    connection.execute(f"CREATE VIEW seen AS {query}")
    with release_of(connection, "seen") as release:
        with pytest.raises(kanon.UsageError, match="cannot be seen in its definition"):
            release.to_table("t", replace=True)
        assert release.to_table("new").verification.rows == 60
    assert connection.sql("SELECT count(*) FROM t").fetchall() == [(60,)]


def test_hierarchies_of_a_replaced_view_do_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as opened:
        opened.execute("CREATE TABLE t AS SELECT i AS a FROM range(60) r(i)")
    with release_of(path, hierarchies={"a": "intervals:20"}) as release:
        release.to_view("v")
        assert kept_in_kanon(path, release) == ["v.a"]
        release.to_table("v", replace=True)
        assert kept_in_kanon(path, release) == []


def kept_in_kanon(path: Path, release: kanon.Release) -> list[str]:
    rows = release.prepared.source.engine.connection.sql(
        "SELECT database_name, table_name FROM duckdb_tables() WHERE schema_name = 'kanon'"
    ).fetchall()
    return [name for database, name in rows if database == path.stem and name != "releases"]


def test_a_file_of_that_name_is_meant_and_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "data[1].csv").write_text("a\n" + "1\n" * 9, encoding="utf-8")
    (tmp_path / "data1.csv").write_text("a\n" + "2\n" * 9, encoding="utf-8")
    with release_of(tmp_path / "data[1].csv") as release:
        assert set(release.to_pandas().a) == {1}


@pytest.mark.thorough
def test_a_script_that_replaces_can_be_run(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as opened:
        opened.execute("CREATE TABLE t AS SELECT i AS a FROM range(60) r(i)")
        opened.execute("CREATE VIEW old AS SELECT 1")
    with release_of(path, "t", hierarchies={"a": "intervals:20"}) as release:
        script = release.sql(destination=kanon.Destination(into="old", replace=True))
    with duckdb.connect(str(path)) as opened:
        opened.execute(script).fetchall()
        assert opened.sql("SELECT count(*), count(DISTINCT a) FROM old").fetchall() == [(60, 3)]


# Types and values


@pytest.mark.thorough
@each(
    ("value", "rule"),
    [("30", "intervals:5"), ("DATE '2024-01-01'", "date:year"), ("TIMESTAMP '2024-01-01 10:00:00'", "date:day")],
)
def test_a_column_with_one_value_beside_another(connection: duckdb.DuckDBPyConnection, value: str, rule: str) -> None:
    connection.execute(
        "CREATE OR REPLACE TABLE c AS SELECT CASE WHEN i > 5 THEN ... END AS a, i % 2 AS b FROM range(40) r(i)".replace(
            "...", value
        )
    )
    with release_of(
        connection, "c", quasi_identifiers=["a", "b"], hierarchies={"a": rule}, max_suppressed=0
    ) as release:
        assert release.levels["a"] in {0, 2}
        assert release.to_table("released", replace=True).verification.rows == 40


@pytest.mark.thorough
@each("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_infinite_dates_go_to_the_root(connection: duckdb.DuckDBPyConnection, kind: str) -> None:
    connection.execute(
        "CREATE OR REPLACE TABLE c AS SELECT CAST(CASE WHEN i = 0 THEN 'infinity' "
        "ELSE '202' || (i % 4) || '-01-01' END AS ...) AS a FROM range(40) r(i)".replace("...", kind)
    )
    with release_of(connection, "c", hierarchies={"a": "date:year"}, max_suppressed=0.1) as release:
        assert release.rows_suppressed == 1
        assert 0 <= (release.measures["gcp"] or 0) <= 1


@pytest.mark.thorough
@each(
    "value",
    [
        "1e300 * (i - 20)",
        "1e-12 * i",
        "(i * 12345678901234567890123456789)::DECIMAL(38, 0)",
        "1.7e308 * (i - 19.5) / 20",
    ],
)
def test_gcp_of_very_large_and_very_small_numbers(connection: duckdb.DuckDBPyConnection, value: str) -> None:
    """Every class holds the smallest and the largest value: all cells are as wide as the column."""
    connection.execute("CREATE OR REPLACE TABLE c AS SELECT ... AS a FROM range(40) r(i)".replace("...", value))
    with release_of(connection, "c", hierarchies={"a": "flat"}) as release:
        assert release.measures["gcp"] == 1


def test_what_parquet_cannot_hold_is_refused(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    connection.execute(
        "CREATE TABLE c AS SELECT (170141183460469231731687303715884105727 - i % 2)::HUGEINT AS a FROM range(20) r(i)"
    )
    with release_of(connection, "c") as release:
        with pytest.raises(kanon.UsageError, match="Column 'a' is of type HUGEINT, which parquet cannot hold"):
            release.to_file(tmp_path / "o.parquet")
        release.to_file(tmp_path / "o.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]
    assert len(set((tmp_path / "o.csv").read_text(encoding="utf-8").split())) == 3


def test_what_a_data_frame_cannot_hold_is_an_error_without_values(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE OR REPLACE TABLE c AS SELECT DATE '5000000-03-15' AS a FROM range(20) r(i)")
    with release_of(connection, "c", hierarchies={"a": "flat"}) as release, pytest.raises(kanon.SourceError) as error:
        release.to_pandas()
    assert "5000000" not in str(error.value)


def test_a_csv_file_is_checked_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a\n1.0\n1.0\n1.0\n1.00\n1\n", encoding="utf-8")
    assert kanon.check(path, quasi_identifiers=["a"], models=[kanon.KAnonymity(2)]).classes == 3


def test_a_file_that_is_not_utf8_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("a,city\n1,Zürich\n".encode("latin-1"))
    with pytest.raises(kanon.SourceError, match="is not UTF-8"):
        release_of(path)


# People


def test_k_is_people_where_people_are_counted(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE visits AS SELECT i % 10 AS person, 1 AS a FROM range(100) r(i)")
    asked: dict[str, Any] = {"models": [kanon.KAnonymity(5, entity="person")]}
    with release_of(connection, "visits", **asked) as release:
        before = release.summary()
        after = release.summary(release.to_table("released"))
    checked = kanon.check(connection, "visits", quasi_identifiers=["a"], **asked)
    for summary in (before, after, checked.summary()):
        assert (summary["k"], summary["smallest_class"]) == (10, 100)
    # The release does not name people: what cannot be counted does not hold. The table that it was made from tells.
    alone = kanon.check(connection, "released", quasi_identifiers=["a"], **asked)
    assert (alone.holds, alone.verified, alone.k, alone.smallest_class) == (False, False, None, 100)
    by_original = kanon.check(
        connection, "released", original=connection, original_table="visits", quasi_identifiers=["a"], **asked
    )
    assert (by_original.holds, by_original.k, by_original.smallest_class) == (True, 10, 100)


def test_the_column_that_people_are_counted_by_may_be_there(connection: duckdb.DuckDBPyConnection) -> None:
    policy = kanon.Policy(columns=kanon.NamedColumns(identifying=("id", "b"), quasi_identifiers=("a",), entity="id"))
    assert kanon.check(connection, "t", policy=policy).identifying == ("b",)


@pytest.mark.thorough
def test_names_of_steps_and_of_tables_do_not_mix(connection: duckdb.DuckDBPyConnection) -> None:
    """The statements of the script and of the check name steps; tables of these names are read and made as others."""
    connection.execute("CREATE TABLE generalized AS SELECT * FROM t")
    models = [kanon.KAnonymity(3, entity="id")]
    for source, target in (
        ("t", "in_source"),
        ("in_source_t", "in_output"),
        ("generalized", "too_small"),
        ("t", "classes"),
    ):
        if source == "in_source_t":
            connection.execute("CREATE TABLE in_source_t AS SELECT * FROM t")
        with release_of(connection, source, quasi_identifiers=["a"], models=models) as release:
            script = release.sql(destination=kanon.Destination(into=target))
            for statement in connection.extract_statements(script):
                answer = connection.execute(statement).fetchall()
        assert answer[0][:2] == (3, 60)
        assert answer[0][-1] == 0
        connection.execute(f"DROP TABLE {target}")


# Statements


def test_every_statement_is_shown_the_loading_of_files_among_them(tmp_path: Path) -> None:
    path, levels = tmp_path / "d.duckdb", tmp_path / "h.csv"
    levels.write_text("".join(f"{i};low;*\n" for i in range(3)), encoding="utf-8")
    with duckdb.connect(str(path)) as opened:
        opened.execute("CREATE TABLE t AS SELECT i % 3 AS a FROM range(60) r(i)")
    with release_of(path, hierarchies={"a": levels}) as release:
        searched = release.statements_run()
        release.to_table("released")
        assert release.statements_run().startswith(searched)
    with duckdb.connect(str(path)) as opened:
        opened.execute(searched)


@pytest.mark.thorough
def test_a_release_can_be_measured_again_after_it_was_published(tmp_path: Path) -> None:
    """The file was read; to publish, it is opened for writing, and what was prepared stays."""
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as opened:
        opened.execute("CREATE TABLE t AS SELECT i % 3 AS a FROM range(60) r(i)")
    with release_of(path) as release:
        release.to_table("released")
        frequency = release.prepared.frequency
        rows = frequency.engine.rows(exp.select("*").from_(frequency.relation))
    assert len(rows) == 3


# Proofs


@dataclass(frozen=True)
class Stubborn(kanon.KAnonymity):
    """A model that is not monotone."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "monotone", False)


def test_no_proof_for_a_model_that_is_not_monotone(connection: duckdb.DuckDBPyConnection) -> None:
    for algorithm in ("incognito", "samarati"):
        with pytest.raises(kanon.UsageError, match=f"{algorithm} relies"):
            release_of(connection, "t", models=[Stubborn(5)], algorithm=algorithm)


def deep(name: str) -> str:
    return f"{name};{name}1;{name}2;{name}3;*"


@pytest.fixture
def frame(tmp_path: Path) -> dict[str, Any]:
    """A table whose constant columns are lowered for free at the end of the search."""
    paths = {}
    for column in ("a", "b"):
        paths[column] = tmp_path / f"{column}.csv"
        paths[column].write_text(deep("x") + "\n" + deep("y"), encoding="utf-8")
    table = pd.DataFrame({"a": ["x"] * 60, "b": ["x"] * 60, "c": [i % 40 for i in range(60)]})
    rules = {**paths, "c": "intervals:2,4,8,16"}
    return {"source": table, "quasi_identifiers": ["a", "b", "c"], "hierarchies": rules, "max_suppressed": 0}


@pytest.mark.thorough
@pytest.mark.parametrize("step", ["split", "lower_for_free", "_tighten"])
@pytest.mark.parametrize("visit", [1, 2, 4])
@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_at_any_moment_proves_nothing_that_is_not_so(
    frame: dict[str, Any], monkeypatch: pytest.MonkeyPatch, step: str, visit: int
) -> None:
    with release_of(**frame) as complete:
        best = complete.loss
    visits = 0
    plain = getattr(optimal, step)

    def pressed(*arguments: Any) -> Any:
        nonlocal visits
        visits += 1
        if visits == visit:
            signal.raise_signal(signal.SIGINT)
        return plain(*arguments)

    monkeypatch.setattr(optimal, step, pressed)
    with release_of(**frame) as release:
        assert release.bound <= best + 1e-12 <= release.loss + 2e-12
        assert release.optimal == (release.loss == pytest.approx(best))


@each("limit", [1e-9, 0.002, 0.01, 0.02, 0.03], quick=2)
def test_a_search_always_ends_with_a_release(frame: dict[str, Any], limit: float) -> None:
    with release_of(**frame) as release:
        problem = problem_of(release.prepared, release.policy)
        found = search(problem, "optimal", deadline=time.monotonic() + limit)
        assert found.bound <= found.cost
        assert release.result.cost <= found.cost


def test_summaries_are_json(connection: duckdb.DuckDBPyConnection) -> None:
    with release_of(connection, "t") as release:
        assert json.loads(json.dumps(release.summary()))["k"] == 20
