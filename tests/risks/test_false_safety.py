"""What an adversary found in an hour: releases of which a command said "safe" and that are not. Each failed before."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest

import kanon_sql as kanon_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

BY_ROWS: dict[str, Any] = {"count": "rows"}


def verdict(found: kanon_of.Attacked, name: str) -> Any:
    return next(one for one in found.verdicts if one.attack == name)


@pytest.mark.parametrize("column", ["iccid", "born"])
def test_json_values_that_differ_are_different_people(in_tmp: Path, kanon: Callable[..., Ended], column: str) -> None:
    """Numbers beyond 64 bits became one float, and dates that are written in several ways one date."""
    born = ("01-01", "1-1", "01-1", "1-01", "01-02")
    lines = [f'{{"iccid": 8949020000123456789{place}, "born": "1980-{day}"}}' for place, day in enumerate(born)]
    (in_tmp / "r.json").write_text("\n".join(lines), encoding="utf-8")
    asked = ("r.json", "--qi", column, "--count", "rows", "--format", "json")
    checked = kanon("check", *asked, "-k", 5)
    assert (checked.code, checked.json["smallest_class"], checked.json["classes"]) == (1, 1, 5)
    assert kanon("measure", *asked).json["risk"]["prosecutor"]["highest"] == 1.0


@pytest.mark.parametrize("entity", [None, "who"])
def test_a_row_that_two_people_can_be_is_found(entity: str | None) -> None:
    """Each person finds 15 rows or more; the row of a, though, is of one of two people, and says what she has."""
    original = pd.DataFrame({"q": ["a"] * 2 + ["b"] * 14, "s": ["HIV", "flu", *"cdefghijklmnop"], "who": range(16)})
    release = original[["q", "s"]].assign(q=["a"] + ["*"] * 15)
    asked: dict[str, Any] = {"quasi_identifiers": ["q"], "hierarchies": {"q": "flat"}, "sensitive": ["s"]}
    asked |= {"entity": entity} if entity else BY_ROWS
    found = kanon_of.attack(release.sample(frac=1, random_state=1), original=original, **asked)
    linkage = found.attacks[0].figures()
    assert (linkage["smallest"], linkage["fewest_fitting"], linkage["rows_fitting_few"]) == (15, 2, 1)
    assert verdict(found, "linkage").outcome == "succeeds"
    assert "1 row of the release can be of fewer than 5" in verdict(found, "linkage").found


@pytest.mark.thorough
def test_the_choice_is_open_where_releases_lose_as_much() -> None:
    """Of 18 assignments, kanon makes this release for six: which of two nodes of one loss it takes is no secret."""
    people = [("b", "x"), ("b", "y"), ("b", "x"), ("a", "x"), ("b", "x"), ("b", "y"), ("a", "y")]
    values = list("wuvwvww")

    def table(world: Any) -> pd.DataFrame:
        return pd.DataFrame([(*who, value) for who, value in zip(people, world, strict=True)], columns=list("abs"))

    asked: dict[str, Any] = {
        "quasi_identifiers": ["a", "b"], "hierarchies": {"a": "flat", "b": "flat"}, "sensitive": ["s"],
        "models": [kanon_of.KAnonymity(2), kanon_of.DistinctLDiversity(l=2)], **BY_ROWS,
    }  # fmt: skip
    greedy: dict[str, Any] = {**asked, "choice": "greedy", "max_suppressed": 0}
    with kanon_of.anonymize(table(values), **greedy) as release:
        released, levels = release.to_pandas(), release.levels
    by_class = sorted(released.itertuples(index=False, name=None), key=str)
    possible = []
    of_classes = sorted(zip([b for _, b in people], values, strict=True))
    assert levels == {"a": 1, "b": 0}
    for world in sorted(set(permutations(values))):
        if sorted(zip([b for _, b in people], world, strict=True)) != of_classes:
            continue  # these values are not those of the published classes
        with kanon_of.anonymize(table(world), **greedy) as other:
            if (
                other.levels == levels
                and sorted(other.to_pandas().itertuples(index=False, name=None), key=str) == by_class
            ):
                possible.append(world)
    certain = [number for number in range(7) if len({world[number] for world in possible}) == 1]
    found = kanon_of.attack(released, original=table(values), algorithm="optimal", **asked)
    one = verdict(found, "choice")
    assert len(possible) == 6
    assert certain
    assert one.outcome == "not excluded"
    assert "optimal" in one.found


def test_the_choice_is_not_tested_where_the_policy_makes_another_release() -> None:
    people = pd.DataFrame([("b", "y", "w"), ("b", "x", "u"), ("a", "x", "u"), ("d", "x", "v"), ("a", "y", "u")],
                          columns=list("abs"))  # fmt: skip
    policy = kanon_of.Policy(
        columns=kanon_of.NamedColumns(quasi_identifiers=("a", "b"), sensitive=("s",), rest="drop"),
        models=(kanon_of.KAnonymity(2), kanon_of.DistinctLDiversity(l=2)), hierarchies={"a": "flat", "b": "flat"},
        max_suppressed=0.4, count="rows", choice="greedy",
    )  # fmt: skip
    found = kanon_of.attack(people.assign(a="*", b="*"), original=people, policy=policy, algorithm="optimal")
    one = verdict(found, "choice")
    assert one.outcome == "not tested"
    assert one.found == "the release is not what this policy makes of this original"


def test_an_entity_on_the_command_line_keeps_its_pseudonyms(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """One person alone is in both wards, as her pseudonym tells; ``--entity`` took the check away."""
    names = ["ann", *"bcdefg", "ann", *"hijklm"]
    hexes = {name: f"{place:032x}" for place, name in enumerate(dict.fromkeys(names))}
    table = pd.DataFrame({"patient": [hexes[name] for name in names], "ward": ["A"] * 7 + ["B"] * 7})
    table.to_csv("r.csv", index=False)
    (in_tmp / "kanon.toml").write_text(
        '[columns]\nquasi_identifiers = ["ward"]\npseudonymize = ["patient"]\nentity = "patient"\n[privacy]\nk = 5\n'
    )
    for said in ((), ("--entity", "patient")):
        checked = kanon("check", "r.csv", "--policy", "kanon.toml", *said)
        assert checked.code == 1, said
        assert "TOO FEW" in checked.out
    # The attack says the same: her pseudonym is the one that is in both wards.
    table.assign(patient=names).to_csv("v.csv", index=False)
    asked = ("--policy", "kanon.toml", "--original", "v.csv", "--hierarchy", "ward=flat")
    found = kanon("attack", "r.csv", *asked, "--format", "json").json["attacks"][0]
    assert (found["outcome"], found["people_tied"], found["fewest_tied"]) == ("succeeds", 1, 1)
    once = table[~table["patient"].eq(hexes["ann"])]
    once.sample(frac=1, random_state=1).to_csv("r.csv", index=False)
    found = kanon("attack", "r.csv", *asked, "--format", "json").json["attacks"][0]
    assert (found["outcome"], found["people_tied"], found["fewest_tied"]) == ("finds nothing", 0, 6)


@pytest.mark.usefixtures("in_tmp")
def test_another_release_that_the_original_contradicts_clears_nothing(kanon: Callable[..., Ended]) -> None:
    """The other release has a row more than the original: the difference of the two is that row."""
    original = pd.DataFrame({"ward": ["A"] * 5 + ["B"] * 5, "s": [*"abcde"] * 2})
    original.to_csv("v.csv", index=False)
    original.sample(frac=1, random_state=3).to_csv("r1.csv", index=False)
    pd.concat([original, pd.DataFrame({"ward": ["A"], "s": ["HIV"]})]).sample(frac=1, random_state=5).to_csv(
        "r2.csv", index=False
    )
    asked = ("--original", "v.csv", "--count", "rows", "--qi", "ward", "--sensitive", "s", "--hierarchy", "ward=flat",
             "-k", 5, "--format", "json")  # fmt: skip
    for one, other in (("r1.csv", "r2.csv"), ("r2.csv", "r1.csv")):
        ended = kanon("attack", one, *asked, "--other", other)
        joint = next(each for each in ended.json["attacks"] if each["attack"] == "joint release")
        assert (joint["outcome"], joint["succeeded"], ended.code) == ("not excluded", None, 1)


def test_a_script_of_boxes_says_that_it_counts_no_classes(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """On a table that changed, it would publish a class of one; it said that it leaves out small ones."""
    pd.DataFrame({"age": range(8)}).to_csv(in_tmp / "t.csv", index=False)
    asked = (
        "anonymize",
        "t.csv",
        "--count",
        "rows",
        "--qi",
        "age",
        "-k",
        4,
        "--hierarchy",
        "age=intervals:4,8",
        "--sql",
    )
    for algorithm, recounts in (("optimal", True), ("mondrian", False)):
        script = kanon(*asked, "--algorithm", algorithm).out
        assert ("leave out classes that are too small" in script) == recounts
        assert ("rows that came or went since are not counted" in script) != recounts


@pytest.fixture
def visits(in_tmp: Path) -> pd.DataFrame:
    """Return twenty visits, each of another cost; all of women in their thirties have one diagnosis."""
    rows = [
        (
            age,
            sex,
            1000 + 37 * (5 * place + visit),
            "HIV" if not place else ["flu", "cold", "flu", "cough", "cold"][visit],
        )
        for place, (age, sex) in enumerate([(35, "F"), (35, "M"), (45, "F"), (45, "M")])
        for visit in range(5)
    ]
    table = pd.DataFrame(rows, columns=["age", "sex", "cost", "diagnosis"])
    with duckdb.connect(str(in_tmp / "v.duckdb")) as connection:
        connection.register("frame", table)
        connection.execute("CREATE TABLE visits AS FROM frame")
    return table


ASKED = (
    "--count",
    "rows",
    "--qi",
    "age,sex",
    "--rest",
    "drop",
    "--hierarchy",
    "age=intervals:10",
    "--hierarchy",
    "sex=flat",
)


@pytest.mark.thorough
def test_rows_that_are_joined_by_another_column_tell_what_one_release_has_alone(
    visits: pd.DataFrame, kanon: Callable[..., Ended]
) -> None:
    """The ledger let the second release go, and no attack succeeded: five people's HIV, by their cost."""
    cost = ("--sensitive", "cost")
    asked = ("anonymize", "v.duckdb", "visits", *ASKED, "-k", 5, "--max-suppressed", 0, *cost)
    assert kanon(*asked, "--into", "fine").code == 0
    coarse = (*asked, "--sensitive", "diagnosis", "--l", "diagnosis=3", "--choice", "greedy", "--into", "coarse")
    refused = kanon(*coarse)
    assert refused.code != 0
    assert "makes the value of diagnosis certain for 5 rows" in " ".join(refused.err.split())
    assert kanon(*coarse, "--ignore-ledger").code == 0
    attack = ("--original", "visits", *ASKED[:4], *ASKED[6:], "-k", 5, "--sensitive", "diagnosis", "--format", "json")
    found = kanon("attack", "v.duckdb", "coarse", *attack, "--other", "fine")
    joint = next(one for one in found.json["attacks"] if one["attack"] == "joint release")
    (known,) = joint["columns"]
    assert (joint["outcome"], known["rows_certain"], known["joined_by"]) == ("succeeds", 5, ["cost"])
    # The brute force: who joins the two by cost sees the diagnoses of each class of the first release.
    with duckdb.connect("v.duckdb") as connection:
        query = "SELECT COUNT(DISTINCT diagnosis) FROM fine JOIN coarse USING (cost) GROUP BY fine.age, fine.sex"
        assert sorted(connection.execute(query).fetchall()) == [(1,), (3,), (3,), (3,)]
    assert len(visits) == 20


@pytest.mark.thorough
def test_a_column_that_both_have_and_that_tells_nothing_stops_no_release(
    visits: pd.DataFrame, kanon: Callable[..., Ended]
) -> None:
    """Where every visit has one cost, it separates no rows of either release."""
    with duckdb.connect("v.duckdb") as connection:
        connection.execute("UPDATE visits SET cost = 7")
    assert len(visits) == 20
    diverse = ("--sensitive", "diagnosis", "--l", "diagnosis=3", "--choice", "greedy")
    for name, more in (("fine", ()), ("coarse", diverse)):
        asked = ("anonymize", "v.duckdb", "visits", *ASKED, "-k", 5, "--max-suppressed", 0, "--sensitive", "cost")
        ended = kanon(*asked, *more, "--into", name)
        assert ended.code == 0, ended.err


def test_who_has_most_rows_of_a_class_has_its_most_frequent_value() -> None:
    """Of 24 rows 20 are of one person and 20 have HIV: at least 16 of hers do, in every assignment."""
    values = ["HIV"] * 20 + ["flu", "cold", "cough", "flu"]
    original = pd.DataFrame(
        {"who": ["ann"] * 20 + [*"bcde"] + [*"fghij"] * 4, "q": ["A"] * 24 + ["B"] * 20, "s": values + ["x", "y"] * 10}
    )
    asked: dict[str, Any] = {
        "quasi_identifiers": ["q"], "hierarchies": {"q": "flat"}, "sensitive": ["s"], "entity": "who",
        "models": [kanon_of.KAnonymity(5)],
    }  # fmt: skip
    released = original[["q", "s"]].sample(frac=1, random_state=2).reset_index(drop=True)
    found = kanon_of.attack(released, original=original, **asked)
    assert found.attacks[1].figures()["people_by_number"] == 1
    assert verdict(found, "homogeneity").outcome == "succeeds"
    assert "of 1 person some row has a value for certain" in verdict(found, "homogeneity").found
    # The others have 4 of 20 rows each, of which ten are x and ten y: nothing follows for them.
    without = kanon_of.attack(
        released[released["q"] == "B"].reset_index(drop=True), original=original[original["q"] == "B"], **asked
    )
    assert without.attacks[1].figures()["people_by_number"] == 0
    assert verdict(without, "homogeneity").outcome == "finds nothing"


def test_rows_are_joined_in_postgresql_as_they_are_here(
    postgres: str, visits: pd.DataFrame, kanon: Callable[..., Ended]
) -> None:
    """The same pair of releases in a warehouse: columns by which rows are joined are fetched."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("CREATE TABLE all_visits (age integer, sex text, cost integer, diagnosis text)")
        rows = list(visits.sample(frac=1, random_state=1).itertuples(index=False, name=None))
        server.cursor().executemany("INSERT INTO all_visits VALUES (%s, %s, %s, %s)", rows)
        server.execute(
            "CREATE TABLE fine AS SELECT CASE WHEN age < 40 THEN '30-39' ELSE '40-49' END AS age, sex, cost "
            "FROM all_visits"
        )
        server.execute(
            "CREATE TABLE coarse AS SELECT CASE WHEN age < 40 THEN '30-39' ELSE '40-49' END AS age, '*' AS sex, cost, "
            "diagnosis FROM all_visits ORDER BY random()"
        )
    try:
        asked = (
            "--original",
            "all_visits",
            *ASKED[:4],
            *ASKED[6:],
            "-k",
            5,
            "--sensitive",
            "diagnosis",
            "--format",
            "json",
        )
        found = kanon("attack", postgres, "coarse", *asked, "--other", "fine")
        joint = next(one for one in found.json["attacks"] if one["attack"] == "joint release")
        assert (joint["outcome"], joint["columns"][0]["rows_certain"]) == ("succeeds", 5)
    finally:
        with psycopg.connect(postgres, autocommit=True) as server:
            server.execute("DROP TABLE all_visits, fine, coarse")
