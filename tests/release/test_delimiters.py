"""A CSV file comes back as it came: with the delimiter of the table that was read, or the one that was asked for."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pytest

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

NAMES = ["Alter", "Ort; Kreis", "Krankheit, Stand"]
ROWS = [
    [str(age), town, disease]
    for age in (31, 32, 35, 38)
    for town, disease in (("Ulm", "Grippe"), ("Ulm, Ost", ""), ('"Auf der; Au"', "a|b\tc"))
]
SIGNS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}


def write(path: Path, delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([NAMES, *ROWS])


def write_tree(directory: Path) -> None:
    """Write a hierarchy whose labels have commas."""
    (directory / "tree.csv").write_text("".join(f"{age};[30, 40);*\n" for age in range(30, 40)), encoding="utf-8")


def read(path: Path, delimiter: str) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def released(rows: list[list[str]]) -> list[list[str]]:
    """Return what is expected: ages as decades, sorted, since a release has its rows in no order."""
    return sorted(["[30, 40)", *others] for _, *others in rows)


@pytest.mark.thorough
@pytest.mark.parametrize("given", SIGNS.values(), ids=SIGNS)
@pytest.mark.parametrize("asked", [None, "semicolon", "tab"])
def test_delimiters(given: str, asked: str | None, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write_tree(in_tmp)
    write(in_tmp / "t.csv", given)
    options = ["--qi", "Alter", "--hierarchy", "Alter=tree.csv", "--keep", "Ort; Kreis", "--rest", "keep"]
    options += ["-k", 6, "--count", "rows"]
    options += [] if asked is None else ["--delimiter", asked]
    ended = kanon("anonymize", "t.csv", *options, "--out", "o.csv", "--save-policy", "kanon.toml")
    assert ended.code == 0, ended.err
    sign = given if asked is None else SIGNS[asked]
    header, *rows = read(in_tmp / "o.csv", sign)
    assert header == NAMES
    assert sorted(rows) == released(ROWS)
    # What reads it guesses the delimiter: labels such as [30, 40) are in quotes.
    judged = ["--qi", "Alter", "--keep", "Ort; Kreis", "-k", 6, "--count", "rows"]
    checked = kanon("check", "o.csv", *judged, "--format", "json")
    assert (checked.code, checked.json["rows"], checked.json["classes"]) == (0, len(ROWS), 1)
    # A report proves a file whatever its delimiter; and the policy repeats the release.
    assert kanon("report", "--policy", "kanon.toml", "--out", "r.html").code == 0
    before = (in_tmp / "o.csv").read_bytes()
    assert kanon("anonymize", "--policy", "kanon.toml", "--replace", "--seed", 1).code == 0
    assert sorted(read(in_tmp / "o.csv", sign)[1:]) == sorted(rows)
    assert len((in_tmp / "o.csv").read_bytes()) == len(before)


@pytest.mark.thorough
def test_one_column(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Its labels have commas, and nothing else separates anything."""
    write_tree(in_tmp)
    (in_tmp / "t.csv").write_text("age\n" + "".join(f"{age}\n" for age in range(30, 40)), encoding="utf-8")
    for name, sign in SIGNS.items():
        ended = kanon(
            *("anonymize", "t.csv", "--qi", "age", "--hierarchy", "age=tree.csv", "-k", 5, "--count", "rows"),
            *("--out", "o.csv", "--replace", "--delimiter", name),
        )
        assert ended.code == 0, ended.err
        assert read(in_tmp / "o.csv", sign) == [["age"], *[["[30, 40)"]] * 10]
        assert kanon("check", "o.csv", "--qi", "age", "-k", 10, "--count", "rows").code == 0


def test_tsv_and_spreadsheets(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write_tree(in_tmp)
    (in_tmp / "t.csv").write_text("age;says\n" + "".join(f"{age};=1+1\n" for age in range(30, 40)), encoding="utf-8")
    options = ["--qi", "age", "--hierarchy", "age=tree.csv", "--rest", "keep", "-k", 5, "--count", "rows"]
    assert kanon("anonymize", "t.csv", *options, "--out", "o.tsv", "--spreadsheet-safe").code == 0
    assert read(in_tmp / "o.tsv", "\t") == [["age", "says"], *[["[30, 40)", "'=1+1"]] * 10]
    script = kanon("anonymize", "t.csv", *options, "--out", "o2.csv", "--sql")
    assert "DELIMITER ';'" in script.out
    assert "FORCE_QUOTE" in script.out


def test_what_a_delimiter_may_not_be(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "t.csv").write_text("age\n30\n31\n", encoding="utf-8")
    options = ["--qi", "age", "-k", 2, "--count", "rows"]
    for more, says in (
        (["--out", "o.csv", "--delimiter", "x"], "comma, semicolon, tab or pipe"),
        (["--out", "o.parquet", "--delimiter", "tab"], "o.parquet is no CSV file, and --delimiter is for a CSV file"),
    ):
        refused = kanon("anonymize", "t.csv", *options, *more)
        assert refused.code == 2
        assert says in " ".join(refused.err.split())
    # What the policy file says of a CSV file is not about a Parquet file on the command line.
    (in_tmp / "kanon.toml").write_text('[release]\nout = "o.csv"\ndelimiter = "|"\n', encoding="utf-8")
    assert kanon("anonymize", "t.csv", *options, "--policy", "kanon.toml", "--out", "o.parquet").code == 0


def test_the_library(tmp_path: Path) -> None:
    write_tree(tmp_path)
    write(tmp_path / "t.csv", ";")
    asked: dict[str, Any] = {"quasi_identifiers": ["Alter"], "hierarchies": {"Alter": str(tmp_path / "tree.csv")}}
    with kanon.anonymize(
        tmp_path / "t.csv", k=6, count="rows", insensitive=["Ort; Kreis"], rest="keep", **asked
    ) as release:
        for name, given, sign in (("a.csv", None, ";"), ("b.csv", "|", "|"), ("c.tsv", None, "\t")):
            release.to_file(tmp_path / name, delimiter=given)
            assert read(tmp_path / name, sign)[0] == NAMES
        with pytest.raises(kanon.UsageError, match="is no CSV file"):
            release.to_file(tmp_path / "d.json", delimiter="|")
