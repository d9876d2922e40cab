"""Minimality (Wong et al. 2007): one who knows the algorithm, against that algorithm run on every possible table."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

PEOPLE = [("p", "y"), ("p", "x"), ("q", "y"), ("q", "y"), ("q", "x")]
VALUES = ["c", "c", "b", "b", "c"]
HIERARCHIES = {"a": "flat", "b": "flat"}
ASKED: dict[str, Any] = {
    "quasi_identifiers": ["a", "b"],
    "sensitive": ["s"],
    "hierarchies": HIERARCHIES,
    "models": [kanon.KAnonymity(2), kanon.DistinctLDiversity(l=2)],
}


def table(values: tuple[str, ...] | list[str]) -> pd.DataFrame:
    return pd.DataFrame([(*person, value) for person, value in zip(PEOPLE, values, strict=True)], columns=list("abs"))


def minimality_of(found: kanon.Attacked) -> Any:
    return next(attack for attack in found.attacks if attack.name == "minimality")


@pytest.mark.thorough
def test_one_who_knows_the_algorithm_knows_all_values() -> None:
    """Fails on 0.1.0: no attack knew the algorithm, and l = 2 "holds" in this release.

    Of ten assignments of the published values, the algorithm makes this release for one alone.
    """
    with kanon.anonymize(table(VALUES), max_suppressed=0, **ASKED) as release:
        assert release.levels == {"a": 1, "b": 1}
        assert all(model.holds for model in release.verify().models)
        released = release.to_pandas()
    possible = []
    worlds = sorted(set(permutations(VALUES)))
    for world in worlds:
        with kanon.anonymize(table(world), max_suppressed=0, **ASKED) as other:
            if other.levels == {"a": 1, "b": 1}:
                possible.append(world)
    assert possible == [tuple(VALUES)]
    attack = minimality_of(kanon.attack(released, original=table(VALUES), algorithm="optimal", **ASKED))
    assert attack.succeeded
    assert (attack.assignments, attack.possible) == (len(worlds), len(possible)) == (10, 1)
    assert (attack.rows_certain, attack.rows_certain_right) == (5, 5)


@pytest.mark.thorough
def test_other_assignments_are_left_where_no_cheaper_release_depends_on_them() -> None:
    """Where k alone rules out every cheaper release, all assignments are possible and nothing is certain."""
    people = pd.DataFrame([("p", "x", "b"), ("p", "y", "c"), ("q", "x", "b"), ("r", "y", "c")], columns=list("abs"))
    asked = ASKED | {"models": [kanon.KAnonymity(3), kanon.DistinctLDiversity(l=2)]}
    with kanon.anonymize(people, max_suppressed=0, **asked) as release:
        released = release.to_pandas()
    attack = minimality_of(kanon.attack(released, original=people, algorithm="optimal", **asked))
    assert not attack.succeeded
    assert attack.assignments == attack.possible == 6
    assert not any(found.name == "minimality" for found in kanon.attack(released, original=people, **asked).attacks)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("algorithm", "models", "reason"),
    [
        ("datafly", ASKED["models"], "by optimal, not by datafly"),
        ("optimal", [kanon.KAnonymity(2), kanon.RecursiveCLDiversity(c=3, l=2)], "not counted under these models"),
    ],
)
def test_what_is_not_counted_is_said(algorithm: str, models: list[Any], reason: str) -> None:
    asked = ASKED | {"models": models}
    released = table(VALUES).assign(a="*", b="*")
    attack = minimality_of(kanon.attack(released, original=table(VALUES), algorithm=algorithm, **asked))
    assert not attack.succeeded
    assert reason in attack.reason
    large = pd.concat([table(VALUES)] * 10)
    attack = minimality_of(kanon.attack(large, original=large, algorithm="optimal", **ASKED))
    assert "at most 40 rows" in attack.reason


@pytest.mark.thorough
def test_the_command_takes_the_algorithm_of_the_policy(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: "no attack succeeds"."""
    policy = tmp_path / "kanon.toml"
    policy.write_text(
        '[columns]\nquasi_identifiers = ["a", "b"]\nsensitive = ["s"]\n'
        '[hierarchies]\na = "flat"\nb = "flat"\n[privacy]\nk = 2\nl = 2\n[search]\nmax_suppressed = 0\n'
    )
    source, out = tmp_path / "people.csv", tmp_path / "out.csv"
    table(VALUES).to_csv(source, index=False)
    assert kanon("anonymize", source, "--policy", policy, "--out", out, "-q").code == 0
    ended = kanon("attack", out, "--original", source, "--policy", policy)
    assert ended.code == 1
    said = " ".join(ended.out.split())
    assert "minimality of s SUCCEEDS: 5 rows (100.00%) of classes with several values are certain" in said
    assert "1 of 10 assignments of values are possible" in said
