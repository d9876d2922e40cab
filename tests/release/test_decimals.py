"""Decimal commas: numbers of a CSV file that has them are numbers, and are released with commas."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.engine.sources.layout import DataFile
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

HEIGHTS = ["1,51", "1,58", "1,64", "1,69", "1,72", "1,77"]
COSTS = ["12,5", "0,75", "-3,25", "1000,125", "0,5", "7,75"]
OPTIONS = ["--qi", "height", "--hierarchy", "height=intervals:0.5", "--rest", "keep", "-k", 3, "--count", "rows"]


@pytest.fixture
def table(in_tmp: Path) -> Path:
    # Every line has as many commas as semicolons, and one more.
    lines = [f"{height};{cost};a, b" for height, cost in zip(HEIGHTS, COSTS, strict=True)]
    path = in_tmp / "t.csv"
    path.write_text("\n".join(["height;cost;note", *lines, ""]), encoding="utf-8")
    return path


def costs(path: Path, delimiter: str = ";") -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return sorted(row["cost"] for row in csv.DictReader(file, delimiter=delimiter))


def test_numbers_are_numbers(table: Path) -> None:
    opened = open_source(DataFile(table, decimal_separator=","))
    with opened.engine as engine:
        assert [column.family for column in opened.columns] == ["float", "float", "text"]
        (total,) = engine.row(exp.select(exp.Sum(this=exp.column("cost"))).from_(opened.relation))
    assert total == float(sum(Decimal(cost.replace(",", ".")) for cost in COSTS))


@pytest.mark.thorough
def test_a_release_has_them_too(table: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    options = [*OPTIONS, "--decimal", "comma", "--out", "o.csv", "--save-policy", "kanon.toml", "--report", "r.md"]
    ended = kanon("anonymize", table, *options)
    assert ended.code == 0, ended.err
    assert costs(in_tmp / "o.csv") == sorted(COSTS)
    assert 'decimal_separator = ","' in Path("kanon.toml").read_text(encoding="utf-8")
    for command in ("check", "measure", "attack"):
        ended = kanon(command, "--policy", "kanon.toml")
        assert ended.code == 0, ended.err
    ended = kanon("report", "--policy", "kanon.toml", "--out", "report.md")
    assert ended.code == 0, ended.err
    given = ["--original", table, "--qi", "height", "-k", 3, "--hierarchy", "height=intervals:0.5"]
    ended = kanon("attack", "o.csv", *given, "--decimal", "comma")
    assert ended.code == 0, ended.err
    ended = kanon("measure", "o.csv", *given[:4], *given[6:], "--decimal", "comma")
    assert ended.code == 0, ended.err


@pytest.mark.thorough
def test_told_otherwise(table: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    points = sorted(cost.replace(",", ".") for cost in COSTS)
    stated = [*OPTIONS, "--decimal", ","]
    assert kanon("anonymize", table, *stated, "--out", "a.csv", "--out-decimal", "point").code == 0
    assert costs(in_tmp / "a.csv") == points
    # A comma cannot be both.
    saved = ["--delimiter", "comma", "--save-policy", "b.toml"]
    assert kanon("anonymize", table, *stated, "--out", "b.csv", *saved).code == 0
    assert costs(in_tmp / "b.csv", ",") == points
    # What reads them gets decimal commas from the original only where they can be some.
    given = ["--qi", "height", "-k", 3, "--hierarchy", "height=intervals:0.5", "--original", table, "--decimal", ","]
    for name in ("a.csv", "b.csv"):
        ended = kanon("attack", name, *given)
        assert ended.code == 0, ended.err
    for command in ("check", "measure", "attack"):
        ended = kanon(command, "--policy", "b.toml")
        assert ended.code == 0, ended.err
    both = ["--delimiter", "comma", "--out-decimal", "comma"]
    ended = kanon("anonymize", table, *stated, "--out", "c.csv", *both)
    assert ended.code == 2
    assert "A comma cannot separate values and be the decimal sign too" in ended.err
    assert not (in_tmp / "c.csv").exists()


def test_of_a_table_in_a_database(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 31 AS age, range + 0.25 AS cost, range / 4 AS share FROM range(9)")
    given = ["--qi", "age", "--rest", "keep", "-k", 5, "--count", "rows", "--delimiter", "semicolon"]
    ended = kanon("anonymize", "t.duckdb", *given, "--out", "o.csv", "--out-decimal", "comma")
    assert ended.code == 0, ended.err
    assert costs(in_tmp / "o.csv") == [f"{number},25" for number in range(9)]


def test_missing_numbers_in_quotes(in_tmp: Path) -> None:
    """A column of texts with empty ones is read once more, and numbers that are written so are NULL."""
    lines = "".join(f'"{cost}";"{"" if place % 2 else "x"}"\n' for place, cost in enumerate(["1,5", "", "2,25", ""]))
    (in_tmp / "t.csv").write_text(f"cost;note\n{lines}", encoding="utf-8")
    opened = open_source(DataFile("t.csv", decimal_separator=","))
    with opened.engine as engine:
        found = engine.rows(exp.select(exp.column("cost")).from_(opened.relation))
    assert [None if value is None else float(value) for (value,) in found] == [1.5, None, 2.25, None]


def test_where_a_comma_separates_values(in_tmp: Path) -> None:
    (in_tmp / "t.csv").write_text('cost,note\n"1,5",x\n"2,25",y\n', encoding="utf-8")
    for file in ("t.csv", DataFile("t.csv", decimal_separator=",")):
        opened = open_source(file)
        with opened.engine as engine:
            assert engine.rows(exp.select(exp.column("cost")).from_(opened.relation)) == [(1.5,), (2.25,)]


def test_no_decimal_sign(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    with pytest.raises(UsageError, match=r"decimal_separator must be a decimal sign: point or comma\. Got ';'"):
        DataFile("t.csv", decimal_separator=";")
    (in_tmp / "t.json").write_text('[{"a": 1.5}]', encoding="utf-8")
    ended = kanon("profile", "t.json", "--decimal", "comma")
    assert ended.code == 2
    assert "leave --read decimal_separator" in ended.err


def test_the_script_can_be_run(table: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("anonymize", table, *OPTIONS, "--decimal", ",", "--out", "o.csv", "--sql")
    assert ended.code == 0, ended.err
    duckdb.connect().execute(ended.out)
    assert costs(in_tmp / "o.csv") == sorted(COSTS)


def test_for_spreadsheets(table: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("anonymize", table, *OPTIONS, "--decimal", ",", "--out", "o.csv", "--spreadsheet-safe")
    assert ended.code == 0, ended.err
    assert costs(in_tmp / "o.csv") == sorted(COSTS)


def test_the_library(table: Path, in_tmp: Path) -> None:
    given = {"hierarchies": {"height": "intervals:0.5"}, "rest": "keep", "k": 3, "count": "rows"}
    release = kanon.anonymize(DataFile(table, decimal_separator=","), quasi_identifiers=["height"], **given)  # type: ignore[arg-type]
    release.to_file(in_tmp / "o.csv")
    release.to_file(in_tmp / "p.csv", decimal=".")
    assert costs(in_tmp / "o.csv") == sorted(COSTS)
    assert costs(in_tmp / "p.csv") == sorted(cost.replace(",", ".") for cost in COSTS)
