"""Dates that are not written as in SQL: read as dates, and written as they were read."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

DAYS = ["17.11.1963", "18.11.1963", "01.12.1963"] * 4
ASKED = ["--qi", "born", "--count", "rows", "-k", "4"]


@pytest.fixture
def table(in_tmp: Path) -> Path:
    path = in_tmp / "t.csv"
    path.write_text("born;seen\n" + "".join(f"{day};05.01.2024\n" for day in DAYS), encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def test_dates_in_one_form_get_a_hierarchy_of_dates(table: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Fails before: masked as 1*********."""
    ended = kanon(
        "anonymize", table, *ASKED, "--rest", "drop", "--levels", "born=1", "--out", "o.csv", "--save-policy", "p.toml"
    )
    assert ended.code == 0, ended.err
    assert (
        "born: texts that are dates in one form are read as dates, as by --set prepare.born=date:%d.%m.%Y\n"
        in ended.err
    )
    assert {row["born"] for row in rows_of(in_tmp / "o.csv")} == {"1963-11", "1963-12"}
    assert tomllib.loads(Path("p.toml").read_text(encoding="utf-8"))["prepare"] == {"born": "date:%d.%m.%Y"}
    for command in ("check", "measure"):
        assert kanon(command, "--policy", "p.toml").code == 0
    assert kanon("init", table, "--out", "i.toml").code == 0
    assert 'born = "date:%d.%m.%Y"' in Path("i.toml").read_text(encoding="utf-8")


def test_the_library_does_the_same(table: Path) -> None:
    with (
        pytest.warns(UserWarning, match="texts that are dates in one form"),
        kanon.anonymize(
            table, quasi_identifiers=["born"], levels={"born": 1}, rest="drop", count="rows", k=4
        ) as release,
    ):
        assert set(release.to_pandas()["born"]) == {"1963-11", "1963-12"}
    with (
        pytest.warns(UserWarning, match="texts that are dates in one form"),
        kanon.prepare(table, quasi_identifiers=["born"], rest="drop", count="rows", k=4) as prepared,
    ):
        assert prepared.policy.prepare == {"born": ("date:%d.%m.%Y",)}


@pytest.mark.parametrize("asked", [{"hierarchies": {"born": "mask"}}, {"prepare": {"born": "trim"}}])
def test_what_a_person_decided_stays(table: Path, asked: dict[str, dict[str, str]]) -> None:
    with kanon.anonymize(table, quasi_identifiers=["born"], rest="drop", count="rows", k=4, **asked) as release:  # type: ignore[arg-type]
        assert "born" not in release.policy.prepare or release.policy.prepare["born"] == ("trim",)
        assert release.publication.published_types["born"] == "VARCHAR"


def test_two_forms_that_fit_are_left_to_a_person(in_tmp: Path) -> None:
    (in_tmp / "t.csv").write_text("born\n" + "03/04/1990\n05/06/1991\n" * 4, encoding="utf-8")
    with kanon.anonymize("t.csv", quasi_identifiers=["born"], count="rows", k=4) as release:
        assert release.policy.prepare == {}


def test_a_stated_format_is_that_of_the_release(table: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    stated = ["--read", "dateformat=%d.%m.%Y"]
    options = ["--keep", "seen", "--levels", "born=0", "--out", "o.csv", "--save-policy", "p.toml", "--report", "r.md"]
    ended = kanon("anonymize", table, *ASKED, *stated, *options)
    assert ended.code == 0, ended.err
    rows = rows_of(in_tmp / "o.csv")
    assert sorted(row["born"] for row in rows) == sorted(DAYS)
    assert {row["seen"] for row in rows} == {"05.01.2024"}
    again = kanon(
        "report", "--policy", "p.toml", "--out", "again.md"
    )  # which makes the release once more, and compares
    assert again.code == 0, again.err
