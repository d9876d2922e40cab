"""Releases as Excel files: what is in them, what they cannot hold, and that other commands read them."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import files_in
from needs import needs

import kanon_sql
from kanon_sql.engine.sources import excel
from kanon_sql.errors import UsageError

load_workbook = needs("openpyxl").load_workbook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("in_tmp")]

VALUES = """
CREATE TABLE patients AS SELECT
  CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
  ['=1+1', '007', '#N/A', ' x ', '0', '_x0041_', 'a' || chr(13) || chr(10) || 'b', 'TRUE', NULL][1 + i % 9] AS "=text",
  CAST(i AS HUGEINT) AS whole, CAST(i / 8 AS DECIMAL(9, 3)) AS amount, i / 3 AS real, CAST(i / 7 AS FLOAT) AS small,
  DATE '1900-01-01' + CAST(i AS INTEGER) * 20 AS day, i % 3 = 0 AS yes, TIME '00:00:00.125' AS clock,
  CASE WHEN i > 3 THEN TIMESTAMP '2024-01-01' + i * INTERVAL '12 hours' END AS moment,
  CAST('00000000-0000-0000-0000-000000000001' AS UUID) AS tag
FROM range(72) AS numbers(i)
"""


def database(path: Path, statement: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)
    return path


def released(path: Path, **settings: Any) -> None:
    settings = {"quasi_identifiers": ["sex"], "rest": "keep", "k": 5} | settings
    with kanon_sql.anonymize(path, **settings) as release:
        release.to_file("released.xlsx")


def cells(name: str = "released.xlsx") -> list[tuple[Any, ...]]:
    (sheet,) = load_workbook(name).worksheets
    return list(sheet.iter_rows(values_only=True))


def test_values_have_the_types_of_excel_and_texts_are_no_formulas(in_tmp: Path) -> None:
    released(database(in_tmp / "secret source.duckdb", VALUES), insensitive=["tag"])
    header, *rows = cells()
    assert header[:4] == ("sex", "=text", "whole", "amount")
    assert sorted(row[2] for row in rows) == list(range(72))
    assert [row[2] for row in rows] != list(range(72))  # their order is drawn
    by_number = {row[2]: row for row in rows}
    with duckdb.connect("secret source.duckdb", read_only=True) as connection:
        source = connection.execute("FROM patients").fetchall()
        for _, text, whole, amount, real, small, day, yes, clock, moment, _ in source:
            found = by_number[whole]
            assert found[3:5] == (float(amount), real)
            assert abs(found[5] - small) < 1e-6
            assert found[6].date() == day
            assert found[7] is yes
            assert (found[8], found[9]) == (clock, moment)
            if text not in {"_x0041_", "a\r\nb"}:  # openpyxl shows these otherwise
                assert found[1] == text
    (sheet,) = load_workbook("released.xlsx").worksheets
    assert {cell.data_type for row in sheet.iter_rows(max_col=2) for cell in row if cell.value is not None} == {"s"}
    with zipfile.ZipFile("released.xlsx") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    assert all(b"<f>" not in part and b"secret" not in part and b"patients" not in part for part in parts.values())
    assert "_x005F_x0041_" in parts["xl/worksheets/sheet1.xml"].decode()
    assert files_in(in_tmp) == {"secret source.duckdb", "released.xlsx"}


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("9007199254740993", "a number of more than 15 digits"),
        ("CAST('NaN' AS DOUBLE)", "NaN or infinity"),
        ("''", "an empty text"),
        ("CAST('-inf' AS FLOAT)", "NaN or infinity"),
        ("DATE '1899-12-31'", "a date before 1900 or after 9999"),
        ("CAST('infinity' AS TIMESTAMP)", "a date before 1900 or after 9999"),
        ("TIMESTAMP '2024-01-01 00:00:00.000001'", "a time finer than milliseconds"),
        ("repeat('x', 32768)", "a text of more than 32,767 characters"),
        ("[1, 2]", "which excel cannot hold"),
        ("TIMESTAMPTZ '2024-01-01'", "which excel cannot hold"),
        ("INTERVAL '1 day'", "which excel cannot hold"),
    ],
)
def test_what_excel_does_not_have_is_refused_and_nothing_is_left(in_tmp: Path, value: str, what: str) -> None:
    path = database(
        in_tmp / "a.duckdb", "CREATE TABLE t AS SELECT 'F' AS sex, $ AS odd FROM range(9)".replace("$", value)
    )
    with pytest.raises(UsageError, match=rf"Column 'odd' .*{what}"):
        released(path)
    assert files_in(in_tmp) == {"a.duckdb"}


@pytest.mark.thorough
def test_empty_rows_and_too_many_rows_or_columns_are_refused(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(in_tmp / "a.duckdb", "CREATE TABLE t AS SELECT CAST(NULL AS VARCHAR) AS sex FROM range(9)")
    with pytest.raises(UsageError, match="NULL in all columns"):
        released(path)
    path = database(in_tmp / "b.duckdb", VALUES)
    monkeypatch.setattr(excel, "ROWS", 72)
    with pytest.raises(UsageError, match=r"has 72 rows and 11 columns, and a sheet of Excel has 72"):
        released(path, insensitive=["tag"])
    monkeypatch.setattr(excel, "ROWS", 73)
    monkeypatch.setattr(excel, "COLUMNS", 10)
    with pytest.raises(UsageError, match="11 columns, and a sheet"):
        released(path, insensitive=["tag"])
    monkeypatch.setattr(excel, "COLUMNS", 11)
    released(path, insensitive=["tag"])


@pytest.mark.thorough
def test_commands_read_the_release(clinic: Path, kanon: Callable[..., Ended]) -> None:
    roles = ["--id", "id,name", "--qi", "age,sex,zip", "--sensitive", "disease", "-k", "3"]
    made = kanon(
        "anonymize", clinic, *roles, "--out", "released.xlsx", "--save-policy", "kanon.toml", "--report", "a.md"
    )
    assert made.code == 0, made.err
    assert kanon("check", "released.xlsx", "--policy", "kanon.toml").code == 0
    assert kanon("check", "released.xlsx", "--policy", "kanon.toml", "-k", "50").code == 1
    assert kanon("measure", "released.xlsx", "--policy", "kanon.toml").code == 0
    assert "released.xlsx against patients" in kanon("attack", "released.xlsx", "--policy", "kanon.toml").out
    assert kanon("report", "--policy", "kanon.toml", "--out", "b.md").code == 0
    book = load_workbook("released.xlsx")
    book["release"]["D2"] = "another"
    book.save("released.xlsx")
    assert kanon("report", "--policy", "kanon.toml", "--out", "c.md").code == 1
    ledger = kanon("ledger", clinic, "--format", "json").json
    assert [one["as_it_was"] for one in ledger["releases"]] == [False]


def test_an_excel_file_gives_the_release_that_its_table_gives(in_tmp: Path) -> None:
    path = database(in_tmp / "a.duckdb", VALUES.replace("AS tag\n", "AS tag, i % 40 AS age\n"))
    settings: dict[str, Any] = {"quasi_identifiers": ["sex", "age"], "rest": "drop", "k": 4, "max_suppressed": 0.1}
    with duckdb.connect(str(path)) as connection:
        frame = connection.execute("SELECT sex, age FROM patients").df()
    frame.to_excel("a.xlsx", index=False)
    with kanon_sql.anonymize("a.xlsx", **settings) as one, kanon_sql.anonymize(path, **settings) as other:
        assert one.levels == other.levels
        assert sorted(one.to_pandas().itertuples(index=False)) == sorted(other.to_pandas().itertuples(index=False))


def test_what_a_sheet_cannot_be(in_tmp: Path, clinic: Path, kanon: Callable[..., Ended]) -> None:
    roles = ["--qi", "sex", "--rest", "drop", "-k", "3"]
    assert kanon("anonymize", clinic, *roles, "--out", "released.xlsx").code == 0
    before = (in_tmp / "released.xlsx").read_bytes()
    in_place = kanon("anonymize", "released.xlsx", *roles, "--in-place", "--no-backup")
    assert (in_place.code, "may hold more than one table" in in_place.err) == (2, True)
    printed = kanon("anonymize", clinic, *roles, "--out", "other.xlsx", "--sql")
    assert (printed.code, "name a .csv" in printed.err) == (2, True)
    assert (in_tmp / "released.xlsx").read_bytes() == before
