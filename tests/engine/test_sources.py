"""What can be anonymized: database files, data files, connections, data frames; and what is said of the rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import files_in
from needs import IN_OTHER_FRAMES, needs

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

LAZY = pytest.param("lazy", marks=pytest.mark.thorough)
ROWS = {"city": ["A", "A", "B", "B", None, None], "age": [30, 30, 41, 41, 52, 52]}


@pytest.mark.parametrize(
    "name",
    ["pandas", "pandas with a duplicated index", *IN_OTHER_FRAMES, LAZY],
)
def test_a_frame_comes_back_as_the_same_kind(name: str) -> None:
    frame: Any
    match name:
        case "polars" | "lazy":
            kind = needs("polars").DataFrame
            frame = kind(ROWS).lazy() if name == "lazy" else kind(ROWS)
        case "arrow":
            kind, frame = needs("pyarrow").Table, needs("pyarrow").table(ROWS)
        case _:
            kind, frame = pd.DataFrame, pd.DataFrame(ROWS, index=None if name == "pandas" else [7] * 6)
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
    if ".parquet" in name:
        duckdb.from_df(pd.DataFrame(ROWS)).to_parquet(str(path))
    elif ".json" in name:
        pd.DataFrame(ROWS).to_json(path, orient="records", lines=True)
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


@pytest.mark.thorough
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
        (("oracle://host/db",), "oracle sources are not read by kanon"),
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


# Several files


def parts(directory: Path) -> Path:
    """Write three Parquet files of two rows, by year; each later one has a column more."""
    for year in (2022, 2023, 2024):
        place = directory / f"year={year}"
        place.mkdir(parents=True)
        rows = {"city": ["A", "B"], **{f"new_{later}": [later, later] for later in range(2023, year + 1)}}
        duckdb.from_df(pd.DataFrame(rows)).to_parquet(str(place / "part-0.parquet"))
        (place / "_SUCCESS").touch()
    return directory


@pytest.mark.parametrize("what", ["parts", "parts/", "parts/**/*.parquet", "parts/year=*/*.parquet", "p?rts/*/*.par*t"])
def test_a_directory_and_patterns_name_all_columns_of_all_files(in_tmp: Path, what: str) -> None:
    parts(in_tmp / "parts")
    if what.startswith("p?"):
        what = "p?rts/*/*.parquet"
    asked: dict[str, Any] = {"quasi_identifiers": ["year"], "insensitive": ["city"], "rest": "drop"}
    with kanon.anonymize(what, **asked, models=[kanon.KAnonymity(2)]) as release:
        columns = {column.name: column.type for column in release.prepared.source.columns}
        assert columns == {"city": "VARCHAR", "new_2023": "BIGINT", "new_2024": "BIGINT", "year": "BIGINT"}
        assert release.rows_out == 6
        release.to_file("out.parquet")
    assert sorted(duckdb.read_parquet("out.parquet").project("city").fetchall()) == [("A",)] * 3 + [("B",)] * 3


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_columns_that_only_some_text_files_have(in_tmp: Path, suffix: str) -> None:
    for number, rows in enumerate(({"b": [1, 2], "a": ["x", "y"]}, {"a": ["z"], "c": [3], "b": [7]})):
        frame = pd.DataFrame(rows)
        if suffix == "csv":
            frame.to_csv(f"{number}.csv", index=False)
        else:
            frame.to_json(f"{number}.jsonl", orient="records", lines=True)
    asked: dict[str, Any] = {"quasi_identifiers": ["c"], "insensitive": ["a", "b"], "models": [kanon.KAnonymity(2)]}
    with kanon.anonymize(f"*.{suffix}", **asked, max_suppressed=1) as release:
        assert {column.name for column in release.prepared.source.columns} == {"a", "b", "c"}
        engine = release.prepared.source.engine
        found = engine.connection.table(release.prepared.source.relation.name).select("a, b, c").fetchall()
    assert sorted(found) == [("x", 1, None), ("y", 2, None), ("z", 7, 3)]
    assert in_tmp.is_dir()


@pytest.mark.thorough
def test_a_directory_that_is_no_table(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "empty").mkdir()
    mixed = parts(in_tmp / "mixed")
    (mixed / "notes.csv").write_text("a\n1\n")
    delta = parts(in_tmp / "delta")
    (delta / "_delta_log").mkdir()
    iceberg = parts(in_tmp / "iceberg")
    (iceberg / "metadata").mkdir()
    (iceberg / "metadata" / "v1.metadata.json").write_text("{}")
    for name, says in (
        ("empty", "no data file that is known here"),
        ("mixed", "several kinds (.csv, .parquet): write which are meant, such as mixed/**/*.parquet"),
        ("delta", "rows that were deleted too"),
        ("iceberg", "rows that were deleted too"),
        ("nobody/**/*.parquet", "does not exist"),
    ):
        ended = kanon("profile", name)
        assert ended.code in {2, 3}
        assert says in ended.err
    assert kanon("profile", "mixed/**/*.parquet", "--format", "json").json["rows"] == 6


@pytest.mark.thorough
def test_a_release_does_not_become_a_part_of_its_source(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    parts(in_tmp / "parts")
    asked = ("--qi", "city", "--rest", "drop", "-k", "2", "--seed", "1")
    for source, out in (
        ("parts", "parts/out.parquet"),
        ("parts/**/*.parquet", "parts/year=2022/new.parquet"),
        ("**/*.parquet", "out.parquet"),
        ("parts/year=*/*.parquet", "parts/year=2023/out.parquet"),
    ):
        ended = kanon("anonymize", source, *asked, "--out", out)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert "would be a part of the source" in ended.err
    for source, out in (
        ("parts", "out.parquet"),
        ("parts", "parts/out.csv"),
        ("parts/*/*.parquet", "parts/out.parquet"),
    ):
        assert kanon("anonymize", source, *asked, "--out", out).code == 0, out
    assert kanon("anonymize", "parts/year=*", *asked, "--out", "x.csv").code == 2
    assert kanon("anonymize", "parts", *asked, "--in-place", "--no-backup").code == 2


def test_a_file_that_comes_into_a_directory_meanwhile_is_seen(in_tmp: Path) -> None:
    parts(in_tmp / "parts")
    k2 = [kanon.KAnonymity(2)]
    with kanon.anonymize("parts", quasi_identifiers=["city"], rest="drop", models=k2) as release:
        (in_tmp / "parts" / ".later").mkdir()
        duckdb.sql("SELECT 'A' AS city").to_parquet(str(in_tmp / "parts" / ".later" / "x.parquet"))
        with pytest.raises(kanon.VerificationError, match=r"x\.parquet was changed"):
            release.to_file("out.csv")
