"""Cells of a CSV file that a spreadsheet would run as formulas."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import kanon_sql as library
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

RUN = ["=1+1", "+1", "-2", "@SUM(A1)", "\tx", "\rx", "'=1", "''-1", "="]
QUIET = ["plain", "", None, "a=b", "'quoted'", "1-2", " =1", "'"]


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """A table whose texts and names are formulas, and whose numbers are negative."""
    path = tmp_path / "ward.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE ward (age INTEGER, town VARCHAR, "=note" VARCHAR, "-cost" INTEGER)')
        values = RUN + QUIET
        rows = [(-(n % 2), "=A1" if n % 2 else "B", values[n % len(values)], -n) for n in range(2 * len(values))]
        connection.executemany("INSERT INTO ward VALUES (?, ?, ?, ?)", rows)
    return path


def cells(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, rows


def is_run(cell: str) -> bool:
    return cell[:1] in set("=+-@\t\r\n")


ASKED = ["--qi", "age,town", "--rest", "keep", "-k", 5, "--seed", 1, "--hierarchy", "town=flat", "--ignore-ledger"]


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_no_text_is_run(ward: Path, tmp_path: Path, kanon: Callable[..., Ended], algorithm: str) -> None:
    """Fails on 0.1.0: there is no such option, and the cells are formulas.

    Numbers stay numbers, and each text can be told from each other one: without the first apostrophe of those that
    would be run without all of them, they are what they were.
    """
    plain, safe = tmp_path / "plain.csv", tmp_path / "safe.csv"
    asked = ["anonymize", ward, "ward", *ASKED, "--algorithm", algorithm]
    assert kanon(*asked, "--out", plain).code == 0
    ended = kanon(*asked, "--out", safe, "--spreadsheet-safe")
    assert ended.code == 0, ended.err
    before, header = cells(plain), cells(safe)[0]
    assert any(is_run(row[2]) for row in before[1])
    assert header == ["age", "town", "'=note", "'-cost"]
    assert sorted(int(row[3]) for row in cells(safe)[1]) == list(range(-2 * len(RUN + QUIET) + 1, 1))
    for row in cells(safe)[1]:
        assert not any(is_run(text) for text in (row[1], row[2]))
    back = [[c[1:] if is_run(c.lstrip("'")) and c[:1] == "'" else c for c in row] for row in cells(safe)[1]]
    assert sorted(back) == sorted(before[1])
    assert kanon("check", safe, "--qi", "age,town", "-k", 5).code == 0


@pytest.mark.thorough
def test_the_library_and_the_policy_have_it(ward: Path, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0."""
    asked: dict[str, Any] = {
        "quasi_identifiers": ["age"],
        "insensitive": ["town"],
        "rest": "keep",
        "models": [library.KAnonymity(5)],
    }
    with library.anonymize(str(ward), "ward", **asked) as release:
        release.to_file(tmp_path / "safe.csv", spreadsheet_safe=True)
        assert cells(tmp_path / "safe.csv")[0][2] == "'=note"
        with pytest.raises(UsageError, match="no CSV file"):
            release.to_file(tmp_path / "safe.parquet", spreadsheet_safe=True)
    policy = tmp_path / "kanon.toml"
    out = tmp_path / "by_policy.csv"
    given = ["anonymize", ward, "ward", *ASKED, "--out", out, "--spreadsheet-safe", "--save-policy", policy]
    assert kanon(*given).code == 0
    assert "spreadsheet_safe = true" in policy.read_text()
    out.unlink()
    assert kanon("anonymize", ward, "ward", "--policy", policy, "--ignore-ledger").code == 0
    assert cells(out)[0][2] == "'=note"
    reported = kanon("report", ward, "ward", "--policy", policy, "--out", tmp_path / "report.html")
    assert reported.code == 0, reported.err
    # Another destination on the command line is not the file that the policy means.
    assert kanon("anonymize", ward, "ward", "--policy", policy, "--into", "made", "--ignore-ledger").code == 0


@pytest.mark.parametrize("destination", [["--into", "x"], ["--out", "x.parquet"], ["--in-place", "--no-backup"]])
def test_other_destinations_are_refused(ward: Path, kanon: Callable[..., Ended], destination: list[str]) -> None:
    ended = kanon("anonymize", ward, "ward", *ASKED, *destination, "--spreadsheet-safe")
    assert (ended.code, "--spreadsheet-safe is for a CSV file" in " ".join(ended.err.split())) == (2, True)


@pytest.mark.thorough
def test_the_script_writes_the_same(ward: Path, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0."""
    out = tmp_path / "safe.csv"
    script = kanon("anonymize", ward, "ward", *ASKED[:-1], "--out", out, "--spreadsheet-safe", "--sql").out
    with duckdb.connect(str(ward), read_only=True) as connection:
        connection.execute(script)
    assert not any(is_run(row[2]) for row in cells(out)[1])
