"""A class is what a reader sees as alike: values that SQL calls equal and writes differently are no class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from needs import IN_OTHER_FRAMES, needs

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def release_of(source: Any, table: str | None = None, **settings: Any) -> kanon.Release:
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "hierarchies": {"a": "flat"}, "rest": "keep", **settings}
    return kanon.anonymize(source, table, **asked)


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("values", [["0.0", "0.0", "0.0", "0.0", "-0.0"], ["nan", "nan", "-nan", "nan", "nan"]])
def test_equal_numbers_are_published_in_one_form(
    connection: duckdb.DuckDBPyConnection, kind: str, values: list[str], tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE t (a {kind})")
    for value in values:
        sign, number = ("-", value[1:]) if value.startswith("-") else ("", value)
        connection.execute(f"INSERT INTO t SELECT {sign}(CAST(? AS {kind}))", [number])
    with release_of(connection, "t") as release:
        assert release.levels == {"a": 0}
        release.to_file(tmp_path / "o.csv")
        release.to_table("released")
    assert len(set((tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()[1:])) == 1
    assert connection.sql("SELECT count(DISTINCT CAST(a AS VARCHAR)) FROM released").fetchall() == [(1,)]


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT[]"])
def test_check_compares_what_is_written(connection: duckdb.DuckDBPyConnection, kind: str) -> None:
    value = "0.0::DOUBLE * (CASE WHEN i = 0 THEN -1 ELSE 1 END)"
    number = f"[{value}]" if kind.endswith("[]") else value
    connection.execute(
        "CREATE TABLE t AS SELECT ... AS a FROM range(5) r(i)".replace("...", f"CAST({number} AS {kind})")
    )
    if kind.endswith("[]"):
        with pytest.raises(kanon.UsageError, match="Column 'a' is of type FLOAT"):
            kanon.check(connection, "t", quasi_identifiers=["a"])
    else:
        assert kanon.check(connection, "t", quasi_identifiers=["a"]).smallest_class == 1


@pytest.mark.parametrize("kind", ["INTERVAL", "STRUCT(x DOUBLE)", "DOUBLE[]", "MAP(VARCHAR, DOUBLE)", "VARIANT"])
def test_a_type_whose_equal_values_are_written_differently_is_no_quasi_identifier(
    connection: duckdb.DuckDBPyConnection, kind: str
) -> None:
    connection.execute(f"CREATE TABLE t (a {kind}, b INTEGER)")
    with pytest.raises(kanon.UsageError, match="Cast it to VARCHAR"):
        release_of(connection, "t")
    with release_of(connection, "t", quasi_identifiers=["b"], hierarchies={}) as release:
        assert [column.name for column in release.publication.columns] == ["a", "b"]


def test_a_text_with_a_collation_is_no_quasi_identifier(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute('CREATE TABLE t (a VARCHAR COLLATE nocase, "COLLATE b" VARCHAR)')
    connection.execute("INSERT INTO t SELECT unnest(['bob', 'Bob', 'bOb', 'boB', 'BOB']), 'x'")
    connection.execute('CREATE VIEW seen AS SELECT a, "COLLATE b" FROM t')
    for table in ("t", "seen"):
        for refused in (release_of, kanon.check):
            with pytest.raises(kanon.UsageError, match="Column 'a' has a collation"):
                refused(connection, table, quasi_identifiers=["COLLATE b", "a"])  # type: ignore[operator]
    connection.execute('CREATE VIEW plain AS SELECT a COLLATE "binary" AS a FROM t')
    assert kanon.check(connection, "plain", quasi_identifiers=["a"]).smallest_class == 1
    connection.execute("ALTER TABLE t ALTER a TYPE VARCHAR")
    assert kanon.check(connection, "t", quasi_identifiers=["a"]).smallest_class == 1


def test_a_connection_that_compares_all_text_by_a_collation_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT 'x' AS a FROM range(9)")
    connection.execute("SET default_collation = 'nocase'")
    with pytest.raises(kanon.UsageError, match="collation"):
        release_of(connection, "t")


@pytest.mark.parametrize("kind", ["pandas", *IN_OTHER_FRAMES])
def test_the_type_of_a_column_tells_nothing_of_suppressed_rows(
    connection: duckdb.DuckDBPyConnection, kind: str
) -> None:
    connection.execute("CREATE TYPE city AS ENUM ('Zurich', 'Rarecity')")
    value = "(CASE WHEN i < 99 THEN 'Zurich' ELSE 'Rarecity' END)::city"
    connection.execute(
        "CREATE TABLE t AS SELECT ... AS a, ... AS kept, [...] AS kept_too FROM range(100) r(i)".replace("...", value)
    )
    with release_of(connection, "t", insensitive=["kept"]) as release:
        assert release.rows_suppressed == 1
        release.to_table("released")
        needs({"arrow": "pyarrow"}.get(kind, kind))
        frame = getattr(release, f"to_{kind}")()
    assert "Rarecity" not in str(connection.sql("DESCRIBE released").fetchall())
    if kind == "arrow":
        assert "Rarecity" not in str(frame.schema) + str(frame.to_pydict())
    elif kind == "pandas":
        assert not any(isinstance(own, pd.CategoricalDtype) for own in frame.dtypes)
    else:
        assert "Rarecity" not in str(frame.schema) + str(frame.to_dict(as_series=False))
    categories = pd.DataFrame({"a": pd.Categorical(["x"] * 9, categories=["x", "secret"])})
    with release_of(categories) as release:
        assert "secret" not in str(release.to_frame().a.dtype)


NAMES = {"q": [i % 3 for i in range(60)], "id": ["x"] * 60, "ID": [f"ssn{i}" for i in range(60)]}


@pytest.mark.parametrize("kind", ["pandas", *IN_OTHER_FRAMES])
def test_frames_with_two_names_that_sql_cannot_tell_apart_are_refused(kind: str) -> None:
    frame: Any = pd.DataFrame(NAMES)
    if kind == "polars":
        frame = needs("polars").DataFrame(NAMES)
    elif kind == "arrow":
        frame = needs("pyarrow").table(NAMES)
    with pytest.raises(kanon.UsageError, match="'id' and 'ID'"):
        release_of(frame, quasi_identifiers=["q"], identifying=["ID"], hierarchies={})
    repeated = pd.DataFrame([[1, 2]] * 9, columns=["a", "a"])
    with pytest.raises(kanon.UsageError, match="cannot tell apart"):
        release_of(repeated)


@pytest.mark.parametrize("suffix", ["json", "jsonl", pytest.param("parquet", marks=pytest.mark.thorough)])
def test_files_with_two_names_that_sql_cannot_tell_apart_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data.{suffix}"
    frame = pd.DataFrame(NAMES)
    if suffix == "parquet":
        needs("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=suffix == "jsonl")
    with pytest.raises(kanon.UsageError, match="cannot tell apart"):
        release_of(path, quasi_identifiers=["q"], identifying=["ID"], hierarchies={})


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_name_that_only_looks_like_a_renamed_one_is_taken(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data.{suffix}"
    table = duckdb.sql("SELECT 1 AS phone, 2 AS phone_1 FROM range(9)")
    table.to_parquet(str(path)) if suffix == "parquet" else table.df().to_csv(path, index=False)
    with release_of(path, quasi_identifiers=["phone"], identifying=["phone_1"], hierarchies={}) as release:
        assert [column.name for column in release.publication.columns] == ["phone"]


def test_names_are_folded_as_duckdb_does(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute('CREATE TABLE t AS SELECT 1 AS "straße", 2 AS strasse, 3 AS a FROM range(9)')
    with release_of(connection, "t", identifying=["STRASSE"], insensitive=["STRAßE"]) as release:
        assert [column.name for column in release.publication.columns] == ["straße", "a"]


@pytest.mark.thorough
def test_arrays_are_arrays(tmp_path: Path) -> None:
    """Fails on 0.1.0: a column of VARCHAR[] is shown as VARCHAR, and one of ENUM[2] becomes one text.

    A list in a type names every value of an ENUM, also of suppressed rows: that is text, and the array stays.
    """
    path = tmp_path / "lists.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('glad', 'sad')")
        connection.execute(
            "CREATE TABLE lists AS SELECT i // 5 AS age, ['x'] AS words, [['glad', 'sad']]::mood[][] AS nested, "
            "['glad', 'sad']::mood[2] AS moods, [1.5]::DECIMAL(4, 1)[] AS sums FROM range(20) AS r(i)"
        )
    shown = {column.name: column.type for column in kanon.profile(str(path), "lists").columns}
    assert shown["words"] == "VARCHAR[]"
    assert (shown["moods"], shown["nested"]) == ("ENUM[2]", "ENUM[][]")
    with kanon.anonymize(str(path), "lists", quasi_identifiers=["age"], rest="keep") as release:
        release.to_table("released")
    with duckdb.connect(str(path), read_only=True) as connection:
        described = connection.execute("DESCRIBE released").fetchall()
        assert {name: kind for name, kind, *_ in described} == {
            "age": "BIGINT",
            "words": "VARCHAR[]",
            "nested": "VARCHAR[][]",
            "moods": "VARCHAR[2]",
            "sums": "DECIMAL(4,1)[]",
        }
        assert connection.execute("SELECT DISTINCT moods FROM released").fetchall() == [(("glad", "sad"),)]
    with pytest.raises(kanon.UsageError, match="written in several ways"):
        kanon.anonymize(str(path), "lists", quasi_identifiers=["moods"], rest="drop")
