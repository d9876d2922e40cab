"""What can be anonymized: database files, data files, connections, data frames; and what is said of the rest."""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import files_in

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ROWS = {"city": ["A", "A", "B", "B", None, None], "age": [30, 30, 41, 41, 52, 52]}


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (pd.DataFrame(ROWS), pd.DataFrame),
        (pd.DataFrame(ROWS, index=[7, 7, 7, 7, 7, 7]), pd.DataFrame),
        (pl.DataFrame(ROWS), pl.DataFrame),
        (pl.DataFrame(ROWS).lazy(), pl.DataFrame),
        (pa.table(ROWS), pa.Table),
    ],
    ids=["pandas", "pandas with a duplicated index", "polars", "lazy polars", "arrow"],
)
def test_a_frame_comes_back_as_the_same_kind(frame: Any, kind: type) -> None:
    with kanon.anonymize(frame, quasi_identifiers=["city", "age"], models=[kanon.KAnonymity(2)]) as release:
        out = release.to_frame()
        assert isinstance(out, kind)
        assert release.rows_out == 6
        with pytest.raises(kanon.UsageError, match="is not in a database"):
            release.to_table("released")
    if kind is pd.DataFrame:
        assert list(out.index) == [0, 1, 2, 3, 4, 5]
        assert sorted(out["city"].astype(object).where(out["city"].notna(), "NULL")) == [
            "A",
            "A",
            "B",
            "B",
            "NULL",
            "NULL",
        ]


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.parquet", "data.json", "data.jsonl", "data.csv.gz"])
def test_data_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    relation = duckdb.from_arrow(pa.table(ROWS))
    if ".parquet" in name:
        relation.write_parquet(str(path))
    elif ".json" in name:
        pl.DataFrame(ROWS).write_ndjson(path)
    else:
        pd.DataFrame(ROWS).to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    with kanon.anonymize(path, quasi_identifiers=["city", "age"], models=[kanon.KAnonymity(2)]) as release:
        assert release.rows_out == 6
        assert release.to_pandas().shape == (6, 2)
    with pytest.raises(kanon.UsageError, match="has no tables"):
        kanon.anonymize(path, "t", quasi_identifiers=["city"])


def test_a_csv_whose_first_rows_mislead_about_a_type(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["code,x", *["1,2"] * 30_000, "A7,2"]), encoding="utf-8")
    with kanon.anonymize(path, quasi_identifiers=["code"], rest="drop", max_suppressed=0.5) as release:
        assert release.rows_in == 30_001
        assert release.rows_suppressed == 1


def test_a_connection_with_temporary_tables_views_and_attached_databases(clinic: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TEMP TABLE mine AS SELECT i % 2 AS c FROM range(10) r(i)")
        connection.execute("CREATE VIEW seen AS SELECT c + 1 AS c FROM mine")
        connection.execute("CREATE SCHEMA other").execute("CREATE TABLE other.mine AS SELECT 1 AS c FROM range(8) r(i)")
        connection.execute(f"ATTACH '{clinic}' AS attached (READ_ONLY)")
        for name, rows in [
            ("mine", 10),
            ("seen", 10),
            ("other.mine", 8),
            ("attached.main.patients", 60),
            ("patients", 60),
        ]:
            with kanon.anonymize(
                connection, name, quasi_identifiers=["c" if rows < 60 else "sex"], rest="drop"
            ) as release:
                assert release.rows_in == rows
        with kanon.anonymize(connection, "mine", quasi_identifiers=["c"]) as release:
            release.to_table("released")
        assert connection.table("released").aggregate("count(*)").fetchall() == [(10,)]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("none.duckdb",), "none.duckdb does not exist"),
        (("none.csv",), "none.csv does not exist"),
        (("notes.md",), "neither a DuckDB database nor a data file"),
        (("junk.duckdb",), "is not a DuckDB database"),
        (("lite.db",), "is an SQLite database"),
        (("postgresql://host/db",), "postgresql sources are not supported by this version"),
        (("clinic.duckdb", "nobody"), "has no table or view 'nobody'. There: patients"),
        (("empty.duckdb",), "has 0 tables"),
        (("broken.parquet",), "cannot be read|DuckDB stopped"),
    ],
)
@pytest.mark.usefixtures("clinic")
def test_what_cannot_be_opened_is_said_in_one_line(
    in_tmp: Path, kanon: Callable[..., Ended], given: tuple[str, ...], says: str
) -> None:
    (in_tmp / "notes.md").write_text("# notes", encoding="utf-8")
    (in_tmp / "junk.duckdb").write_text("not a database at all", encoding="utf-8")
    (in_tmp / "broken.parquet").write_text("PAR1 but not really", encoding="utf-8")
    sqlite3.connect(in_tmp / "lite.db").execute("CREATE TABLE t (c)").connection.commit()
    duckdb.connect(str(in_tmp / "empty.duckdb")).close()
    before = files_in(in_tmp)
    ended = kanon("anonymize", *given, "--qi", "c", "--out", "out.csv")
    assert ended.code in {2, 3}
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert re.search(says, ended.err)
    assert files_in(in_tmp) == before


def test_a_database_that_another_process_writes_to(clinic: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(clinic)):
        ended = kanon("anonymize", clinic, "--qi", "sex", "--rest", "drop", "--sql")
        assert ended.code == 3
        assert "already open in this process; pass that connection" in ended.err


def test_a_file_name_is_a_name_whatever_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "it's; DROP TABLE x --.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    with kanon.anonymize(path, quasi_identifiers=["city", "age"], models=[kanon.KAnonymity(2)]) as release:
        out = tmp_path / "o\"u't.parquet"
        release.to_file(out)
        assert out.exists()
        assert path.name.replace("'", "''") in release.sql()


def test_something_that_is_no_table() -> None:
    with pytest.raises(kanon.UsageError, match="Cannot read a dict"):
        kanon.anonymize({"a": [1]}, quasi_identifiers=["a"])
    with pytest.raises(kanon.UsageError, match="A data frame has no tables"):
        kanon.anonymize(pd.DataFrame(ROWS), "t", quasi_identifiers=["age"])
