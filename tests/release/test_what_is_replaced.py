"""``--replace``: what is replaced is a release or a file that no run reads; never the original, by whatever way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

PEOPLE = (
    "SELECT i AS patient_id, 'name ' || i AS name, 1950 + i % 4 AS birth_year, substr('FM', i % 2 + 1, 1) AS sex "
    "FROM range(60) AS r(i)"
)
VISITS = "SELECT i AS visit_id, i % 60 AS patient_id, 'w' || (i % 2) AS ward FROM range(120) AS r(i)"
SET = """[tables.patients]
rows = "people"
person = "patient_id"
identifying = ["name"]
quasi_identifiers = ["birth_year", "sex"]
hierarchies = { birth_year = "intervals:2,4", sex = "flat" }
[tables.visits]
person = "patient_id"
identifying = ["visit_id"]
quasi_identifiers = ["ward"]
hierarchies = { ward = "flat" }
[privacy]
k = 2
"""
OPTIONS = ["--qi", "birth_year,sex", "--id", "name", "--entity", "patient_id", "-k", "2", "--replace"]


def made(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


def rows(path: Path, relation: str) -> int:
    with duckdb.connect(str(path), read_only=True) as connection:
        return len(connection.table(relation).select("name").fetchall())


@pytest.mark.parametrize(
    ("view", "base"),
    [
        ("CREATE VIEW patients AS FROM raw.patients", "raw.patients"),
        ("CREATE VIEW raw.v AS FROM raw.base; CREATE VIEW patients AS FROM raw.v", "raw.base"),
        ("USE raw; CREATE VIEW v AS FROM base; USE main; CREATE VIEW patients AS FROM raw.v", "raw.base"),
        ("CREATE MACRO m() AS TABLE FROM raw.base; CREATE VIEW patients AS FROM m()", "raw.base"),
    ],
)
def test_the_original_behind_a_view_is_not_replaced(
    view: str, base: str, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    """Fails on 0.1.0 for the third one: a bare name is of the schema of its view."""
    visits = f"CREATE TABLE raw.visits AS {VISITS}; CREATE VIEW visits AS FROM raw.visits"
    made(in_tmp / "d.duckdb", f"CREATE SCHEMA raw; CREATE TABLE {base} AS {PEOPLE}", view, visits)
    (in_tmp / "kanon.toml").write_text(SET, encoding="utf-8")
    of_one = kanon("anonymize", "d.duckdb", "patients", *OPTIONS, "--into", base)
    assert of_one.code == 2, of_one.out
    of_several = kanon("anonymize", "d.duckdb", "--policy", "kanon.toml", "--into-schema", "raw", "--replace")
    assert of_several.code == 2, of_several.out
    assert rows(in_tmp / "d.duckdb", base) == 60


def test_a_table_that_is_no_release_is_not_replaced(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    made(in_tmp / "d.duckdb", f"CREATE TABLE patients AS {PEOPLE}; CREATE TABLE mine AS SELECT 1 AS name")
    refused = kanon("anonymize", "d.duckdb", "patients", *OPTIONS, "--into", "mine")
    assert refused.code == 2
    assert "'mine' is a table that the ledger does not know as a release" in refused.err
    assert rows(in_tmp / "d.duckdb", "mine") == 1
    assert kanon("anonymize", "d.duckdb", "patients", *OPTIONS, "--into", "released").code == 0
    assert kanon("anonymize", "d.duckdb", "patients", *OPTIONS, "--into", "Released", "--ignore-ledger").code == 0


@pytest.mark.parametrize("reads", ["'raw.csv'", "read_csv('raw.csv')", "read_csv('*.csv')"])
def test_a_file_behind_a_view_is_not_replaced(reads: str, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    made(in_tmp / "d.duckdb", f"COPY ({PEOPLE}) TO '{in_tmp / 'raw.csv'}'")
    before = (in_tmp / "raw.csv").read_bytes()
    made(in_tmp / "d.duckdb", f"CREATE VIEW patients AS FROM {reads}")
    refused = kanon("anonymize", "d.duckdb", "patients", *OPTIONS, "--out", "raw.csv")
    assert refused.code == 2, refused.out
    assert "patients is a view that may read files" in refused.err
    assert (in_tmp / "raw.csv").read_bytes() == before
    assert kanon("anonymize", "d.duckdb", "patients", *OPTIONS, "--out", "new.csv").code == 0


def test_no_command_writes_over_what_it_reads(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    made(in_tmp / "d.duckdb", f"CREATE TABLE patients AS {PEOPLE}; COPY patients TO '{in_tmp / 'p.csv'}'")
    (in_tmp / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in in_tmp.iterdir()}
    for command in (
        ["init", "d.duckdb", "patients", "--out", "d.duckdb", "--replace"],
        ["init", "p.csv", "--out", "p.csv", "--replace"],
        ["hierarchy", "build", "p.csv", "sex=flat", "--out", "p.csv", "--replace"],
        ["hierarchy", "export", "p.csv", "sex=flat", "--out", "p.csv", "--replace"],
        ["hierarchy", "export", "p.csv", "sex=sex.csv", "--out", "sex.csv", "--replace"],
        ["anonymize", "p.csv", *OPTIONS, "--hierarchy", "sex=sex.csv", "--out", "sex.csv"],
    ):
        ended = kanon(*command)
        assert ended.code == 2, command
        assert "cannot be written by it too" in ended.err, command
    assert {path.name: path.read_bytes() for path in in_tmp.iterdir()} == before


WARDS = """[tables.visits]
person = "patient_id"
quasi_identifiers = ["ward"]
hierarchies = { ward = "flat" }
rest = "drop"
[tables.notes]
rows = "kept"
[tables.persons]
rows = "dropped"
[privacy]
k = 2
"""


def test_numbers_of_people_in_a_kept_table_are_found_by_what_both_refer_to(
    in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    """The table with the key of both is dropped: the numbers mean the same people all the same."""
    made(
        in_tmp / "d.duckdb",
        "CREATE TABLE persons (pid INT PRIMARY KEY, name TEXT)",
        "INSERT INTO persons SELECT i, 'name ' || i FROM range(30) AS r(i)",
        "CREATE TABLE visits (patient_id INT REFERENCES persons (pid), ward TEXT)",
        "INSERT INTO visits SELECT i % 30, 'w' || (i % 2) FROM range(120) AS r(i)",
        "CREATE TABLE notes (who INT REFERENCES persons (pid), note TEXT)",
        "INSERT INTO notes VALUES (0, 'has HIV')",
    )
    (in_tmp / "kanon.toml").write_text(WARDS, encoding="utf-8")
    refused = kanon("anonymize", "d.duckdb", "--policy", "kanon.toml", "--out-dir", "released")
    assert refused.code == 2, refused.out
    assert "notes" in refused.err
    assert "who" in refused.err


def test_a_released_table_is_not_kept_in_a_set(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    made(in_tmp / "d.duckdb", f"CREATE TABLE patients AS {PEOPLE}; CREATE TABLE visits AS {VISITS}")
    made(in_tmp / "d.duckdb", "CREATE TABLE staff AS SELECT i % 3 AS floor FROM range(30) AS r(i)")
    (in_tmp / "kanon.toml").write_text(f'{SET}[tables.staff]\nrows = "kept"\n', encoding="utf-8")
    one = ["anonymize", "d.duckdb", "staff", "--qi", "floor", "--count", "rows", "-k", "3", "--into", "staff_k3"]
    assert kanon(*one).code == 0
    refused = kanon("anonymize", "d.duckdb", "--policy", "kanon.toml", "--into-schema", "released")
    assert refused.code == 1, refused.out
    assert "staff has an earlier release" in refused.err


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT", "TIME WITH TIME ZONE"])
def test_types_that_parquet_does_not_hold_are_refused_in_a_set(
    kind: str, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    made(in_tmp / "d.duckdb", f"CREATE TABLE patients AS {PEOPLE}; CREATE TABLE visits AS {VISITS}")
    made(in_tmp / "d.duckdb", f"CREATE TABLE wards (x {kind})")
    (in_tmp / "kanon.toml").write_text(f'{SET}[tables.wards]\nrows = "kept"\n', encoding="utf-8")
    run = ["anonymize", "d.duckdb", "--policy", "kanon.toml", "--out-dir", "out", "--file-format"]
    refused = kanon(*run, "parquet")
    assert refused.code == 2, refused.out
    assert f"Column 'wards.x' is of type {kind.partition(' WITH')[0]}" in refused.err
    assert kanon(*run, "csv").code == 0
