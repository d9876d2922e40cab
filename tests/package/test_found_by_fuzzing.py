"""What the fuzz test found: types, values and names that a release was wrong for, or an error said nothing of."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from each import each
from needs import needs

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def table_of(connection: duckdb.DuckDBPyConnection, kind: str, *values: str) -> None:
    """Make a table with nine rows of each value: as ``x``, beside a column ``a`` that is the same for all."""
    connection.execute(f"CREATE OR REPLACE TABLE t (a INTEGER, x {kind})")
    for value in values:
        connection.execute(f"INSERT INTO t SELECT 1, {value} FROM range(9)")  # noqa: S608 - written in this file


def release_of(connection: duckdb.DuckDBPyConnection, **settings: Any) -> kanon.Release:
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "rest": "keep", "max_suppressed": 0, **settings}
    return kanon.anonymize(connection, "t", **asked)


# Hierarchies


@pytest.mark.thorough
@each(
    ("kind", "value", "rule"),
    [
        ("DECIMAL(38,0)", "'99999999999999999999999999999999999999'", "round:1,2"),
        ("DECIMAL(38,38)", "'0.99999999999999999999999999999999999999'", "intervals:1000:origin=-3"),
        ("DECIMAL(38,37)", "'9.9999999999999999999999999999999999999'", "intervals:0.5:bottom=0:top=10"),
    ],
)
def test_a_rule_that_has_no_digits_left_is_refused(
    connection: duckdb.DuckDBPyConnection, kind: str, value: str, rule: str
) -> None:
    table_of(connection, kind, value, "0")
    with pytest.raises(kanon.HierarchyError, match=r"hierarchy of column 'x' .* cannot be computed: the column is DEC"):
        release_of(connection, quasi_identifiers=["x"], hierarchies={"x": rule})
    with release_of(connection, quasi_identifiers=["x"]) as release:
        assert release.rows_out == 18


# Releases of nothing


@pytest.mark.thorough
@each("limit", [1, "k rows", "18 rows"])
def test_an_empty_table_is_no_release_of_a_table_that_has_rows(
    connection: duckdb.DuckDBPyConnection, limit: float | str
) -> None:
    table_of(connection, "VARCHAR", "'secret'", "'secret'")
    models = [kanon.KAnonymity(50), kanon.EntropyLDiversity(l=1.5)]
    asked: dict[str, Any] = {"sensitive": ["x"], "models": models, "max_suppressed": limit}
    for algorithm in ("optimal", "datafly", "local"):
        with pytest.raises(kanon.NoSolutionError):
            release_of(connection, **asked, algorithm=algorithm, choice="greedy")
    with pytest.raises(kanon.NoSolutionError):
        release_of(connection, **asked, algorithm="mondrian", choice="all-or-none")


# Files


def test_the_end_of_a_line_in_a_name_is_none_of_the_file(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    connection.execute('CREATE TABLE t AS SELECT i % 2 AS "a\rb" FROM range(20) r(i)')
    with release_of(connection, quasi_identifiers=["a\rb"]) as release:
        assert release.to_file(tmp_path / "o.csv").verification.rows == 20


@pytest.mark.thorough
@each("suffix", ["csv", "json", "parquet"])
def test_a_tuple_does_not_come_back_from_a_file(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, suffix: str
) -> None:
    table_of(connection, "TUPLE(INTEGER, VARCHAR)", "row(1, 'secret')")
    with release_of(connection) as release:
        with pytest.raises(kanon.UsageError, match=r"Column 'x' is of type TUPLE, which .* cannot hold"):
            release.to_file(tmp_path / f"o.{suffix}")
        release.to_table("released", replace=True)
    assert connection.sql("SELECT DISTINCT x FROM released").fetchall() == [((1, "secret"),)]


def test_an_enum_in_a_type_that_cannot_be_written_anew_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    """It would be published with the type, which names the values of suppressed rows too."""
    table_of(connection, "TUPLE(ENUM('secret', 'b'))", "row('b')")
    with (
        pytest.raises(kanon.UsageError, match="Column 'x' is of type TUPLE with an ENUM in it") as error,
        release_of(connection) as release,
    ):
        release.to_table("released")
    assert "secret" not in str(error.value)


@pytest.mark.thorough
@each("kind", ["TIMESTAMPTZ_NS", '"NULL"'])
@each("suffix", ["csv", "json"])
def test_types_that_sqlglot_does_not_read_are_carried(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str, suffix: str
) -> None:
    table_of(connection, kind, "NULL")
    with release_of(connection) as release:
        assert release.to_file(tmp_path / f"o.{suffix}").verification.rows == 9


NOT_IN_JSON = [
    ("DOUBLE", "'nan'", "NaN or infinity"),
    ("FLOAT", "'-inf'", "NaN or infinity"),
    ("STRUCT(y DOUBLE[])", "{'y': [1, 'inf'::DOUBLE]}", "NaN or infinity"),
    ("JSON", "'[NaN]'", "NaN or infinity"),
    ("JSON", "'null'", "null of JSON"),
    ("DECIMAL(4,4)", "0.5", "DECIMAL"),
    ("DECIMAL(18,3)", "'999999999999999.999'", "more than 15 digits"),
    ("HUGEINT", "'170141183460469231731687303715884105727'", "more than 15 digits"),
]


@pytest.mark.thorough
@each(
    ("kind", "value", "says", "suffix", "quasi"),
    [(*row, suffix, quasi) for row, suffix, quasi in product(NOT_IN_JSON, ["json", "jsonl"], [False, True])],
    quick=8,
)
def test_what_json_does_not_have_is_refused(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str, value: str, says: str, suffix: str, *, quasi: bool
) -> None:
    """DuckDB writes it all the same, and others cannot read it, or read something else."""
    table_of(connection, kind, value)
    may_be_quasi = not kind.startswith(("STRUCT", "JSON"))
    asked = {"quasi_identifiers": ["x"], "hierarchies": {"x": "flat"}} if may_be_quasi and quasi else {}
    with release_of(connection, **asked) as release, pytest.raises(kanon.UsageError, match=says) as error:
        release.to_file(tmp_path / f"o.{suffix}")
    assert "'x'" in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
@each(
    ("kind", "value"),
    [
        ("DOUBLE", "1e300"),
        ("STRUCT(y DOUBLE, z VARCHAR)", "{'y': 1, 'z': ':NaN'}"),
        ("DECIMAL(18,3)", "'123456789012.345'"),
        ("DECIMAL(38,20)", "0.00000000000012345"),
        ("JSON", "'{\"x\": null}'"),
        ("JSON", "'\"\"'"),
        ("HUGEINT", "12"),
    ],
)
def test_what_json_has_is_written(connection: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str, value: str) -> None:
    table_of(connection, kind, value)
    with release_of(connection) as release:
        release.to_file(tmp_path / "o.json")
    assert len(json.loads((tmp_path / "o.json").read_text())) == 9


@pytest.mark.thorough
@each("suffix", ["json", "csv"])
def test_json_as_a_quasi_identifier(connection: duckdb.DuckDBPyConnection, tmp_path: Path, suffix: str) -> None:
    """Two texts that differ in white space are two values in a table and one in a file of JSON."""
    table_of(connection, "JSON", "'\"x\"'", "'{\"a\": 1}'", "'{\"a\":1}'", "'\"\"'")
    with release_of(connection, quasi_identifiers=["x"]) as release:
        if suffix == "csv":
            assert release.to_file(tmp_path / "o.csv").verification.classes == 4
        else:
            with pytest.raises(kanon.UsageError, match="Column 'x' is of type JSON, which a file of JSON has without"):
                release.to_file(tmp_path / "o.json")


# Data frames


@pytest.mark.thorough
@each(("kind", "value"), [("TIMETZ", "'12:00:00+01'"), ("BIT", "'0101'")])
@each("frame", ["pandas", "polars", "arrow"])
def test_what_a_data_frame_would_change_is_refused(
    connection: duckdb.DuckDBPyConnection, kind: str, value: str, frame: str
) -> None:
    table_of(connection, kind, value)
    with release_of(connection) as release:
        with pytest.raises(kanon.UsageError, match=r"Column 'x' is of type .*, which a data frame cannot hold"):
            getattr(release, f"to_{frame}")()
        assert release.verify().rows == 9


@pytest.mark.thorough
@each(
    ("frame", "kind", "value"),
    [
        ("pandas", "HUGEINT", "'12345678901234567'"),
        ("pandas", "DECIMAL(18,3)", "'999999999999999.999'"),
        pytest.param("polars", "HUGEINT", f"'{-(2**127)}'", marks=pytest.mark.thorough),
        pytest.param("arrow", "UHUGEINT", f"'{2**128 - 1}'", marks=pytest.mark.thorough),
    ],
)
def test_numbers_that_a_data_frame_would_change_are_refused(
    connection: duckdb.DuckDBPyConnection, frame: str, kind: str, value: str
) -> None:
    needs({"arrow": "pyarrow"}.get(frame, frame))
    table_of(connection, kind, value)
    with release_of(connection) as release, pytest.raises(kanon.UsageError, match="Column 'x' has numbers of more"):
        getattr(release, f"to_{frame}")()
    table_of(connection, kind, "12")
    with release_of(connection) as release:
        assert len(getattr(release, f"to_{frame}")()) == 9


@pytest.mark.thorough
def test_what_polars_does_not_take_is_an_error_of_ours(connection: duckdb.DuckDBPyConnection) -> None:
    needs("polars")
    table_of(connection, "UNION(number INTEGER, text VARCHAR)", "union_value(text := 'secret')")
    with release_of(connection) as release, pytest.raises(kanon.SourceError, match="cannot be made a data frame"):
        release.to_polars()


# Views


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("algorithm", "choice"), [("optimal", "greedy"), ("mondrian", "greedy"), ("mondrian", "all-or-none")]
)
def test_a_sensitive_value_that_no_tree_knows_is_not_in_a_view(
    connection: duckdb.DuckDBPyConnection, algorithm: str, choice: str
) -> None:
    """A class of it has no distance from the table, and what is not judged must not be shown: not even one row was."""
    connection.execute("CREATE TABLE t AS SELECT i % 2 AS a, (i // 2) % 3 AS s FROM range(48) r(i)")
    models = [kanon.KAnonymity(2), kanon.TCloseness(t=0.2, distance="hierarchical")]
    how = {"algorithm": algorithm, "choice": choice}
    with release_of(connection, sensitive=["s"], models=models, hierarchies={"s": "flat"}, **how) as release:
        release.to_view("v")
    assert connection.sql("SELECT count(*) FROM v").fetchall() == [(48,)]
    connection.execute("INSERT INTO t VALUES (1, 99), (5, 99)")
    found = connection.sql("SELECT a, s, count(*) FROM v GROUP BY ALL HAVING s = 99 OR a = 5").fetchall()
    assert found == []
    assert connection.sql("SELECT count(*) FROM v").fetchall() == [(48,)]
    connection.execute("UPDATE t SET s = 99 WHERE a = 1")
    assert connection.sql("SELECT count(*) FROM v WHERE s = 99").fetchall() == [(0,)]
