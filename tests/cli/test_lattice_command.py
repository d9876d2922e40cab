"""``kanon lattice`` and the options of ``anonymize`` that say how to search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

FIVE = "age,sex,zip\n34,F,10115\n36,F,10117\n38,M,10115\n52,M,10243\n57,F,10245\n"
RULES = ("--hierarchy", "age=intervals:10,20", "--hierarchy", "sex=flat", "--hierarchy", "zip=mask:right:1,3")
ASKED = ("--qi", "age,sex,zip", *RULES, "-k", 2, "--max-suppressed", 0)


@pytest.fixture
def five(in_tmp: Path) -> Path:
    path = in_tmp / "five.csv"
    path.write_text(FIVE, encoding="utf-8")
    return path


@pytest.mark.thorough
def test_the_minimal_nodes(five: Path, kanon: Callable[..., Ended]) -> None:
    """By hand, (1, 1, 1): 3 ages at (3 - 1)/4, 2 at (2 - 1)/4, 5 sexes at 1, 5 ZIPs at (2 - 1)/3, over 15 cells."""
    found = kanon("lattice", five, *ASKED, "--format", "json").json
    assert [(tuple(node["levels"].values()), node["rows_suppressed"]) for node in found["nodes"]] == [
        ((1, 1, 1), 0),
        ((3, 0, 2), 0),
    ]
    assert found["nodes"][0]["value"] == pytest.approx((3 * 0.5 + 2 * 0.25 + 5 + 5 / 3) / 15)
    assert found["lattice_size"] == 32
    everything = kanon("lattice", five, *ASKED, "--all", "--format", "json").json["nodes"]
    assert [node for node in everything if node["minimal"]] == found["nodes"]
    text = kanon("lattice", five, *ASKED)
    assert text.code == 0
    assert "2 minimal satisfying nodes of 32" in text.out


@pytest.mark.thorough
def test_its_statements_can_be_run_again(five: Path, kanon: Callable[..., Ended]) -> None:
    script = kanon("lattice", five, *ASKED, "--sql").out
    with duckdb.connect() as connection:
        connection.execute(script)
    assert "-- test node (1, 1, 1)" in script


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("-k", 6), 4, "fewer than 6"),
        (("--measure", "beauty"), 2, "--measure"),
        (("--max-suppressed", "some"), 2, "between 0 and 1"),
        (("--sql", "--format", "json"), 2, "--sql"),
    ],
)
def test_what_cannot_be_listed(
    five: Path, kanon: Callable[..., Ended], arguments: tuple[str | int, ...], code: int, says: str
) -> None:
    ended = kanon("lattice", five, "--qi", "age,sex,zip", *RULES, *arguments)
    assert ended.code == code
    assert says in ended.err
    assert ended.out == ""


@pytest.mark.quick(2)
@pytest.mark.parametrize("algorithm", ["optimal", "incognito", "samarati", "samarati-first", "datafly"])
def test_every_algorithm_from_the_command_line(five: Path, kanon: Callable[..., Ended], algorithm: str) -> None:
    found = kanon(
        "anonymize", five, *ASKED, "--algorithm", algorithm, "--out", "o.csv", "--replace", "--format", "json"
    ).json
    assert (found["algorithm"], found["k"] >= 2, found["rows_out"]) == (algorithm, True, 5)
    assert found["optimal"] == (algorithm in {"optimal", "incognito"})
    assert (found["bound"] is None) == (found["gap"] is None) == (not found["optimal"])
    text = kanon("anonymize", five, *ASKED, "--algorithm", algorithm, "--out", "o.csv", "--replace").out
    assert ("proven optimal" if found["optimal"] else f"by {algorithm}: others may be better") in text


@pytest.mark.thorough
def test_settings_of_the_search_in_the_policy_file(five: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    asked = ("anonymize", five, "--qi", "age,sex,zip", *RULES, "-k", 2)
    said = ("--max-suppressed", "k rows", "--algorithm", "datafly", "--measure", "gcp")
    first = kanon(*asked, *said, "--out", "a.csv", "--save-policy", "kanon.toml", "--format", "json").json
    again = kanon("anonymize", five, "--policy", "kanon.toml", "--out", "b.csv", "--format", "json").json
    assert 'max_suppressed = "k rows"' in (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    for name in ("algorithm", "measure", "levels", "rows_suppressed"):
        assert first[name] == again[name]
    assert first["measure"] == "gcp"
