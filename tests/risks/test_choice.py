"""What the choice of a release gives away: which algorithms take models of sensitive values, and the attack."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from choice import covers_by, outcome
from choice_replays import Asked, Replay, random_table

import kanon_sql as kanon_of
from kanon_sql.errors import UsageError
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.risks.attacks.choice import Tuple, attack_steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

    from kanon_sql.risks.attacks.choice import Choice

FIVE = "ward,diagnosis\nA,flu\nA,flu\nB,asthma\nB,cancer\nB,stroke\n"
ASKED = ["five.csv", "--qi", "ward", "--hierarchy", "ward=flat", "--sensitive", "diagnosis", "-k", 2, "--l", 2]


@pytest.fixture
def five(in_tmp: Path) -> Path:
    (in_tmp / "five.csv").write_text(FIVE)
    return in_tmp


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_who_takes_models_of_sensitive_values(algorithm: str, five: Path, kanon: Callable[..., Ended]) -> None:
    """Mondrian does; the others name it, and take them with the choice greedy, which the output names."""
    del five
    asked = ("anonymize", *ASKED, "--algorithm", algorithm, "--max-suppressed", 0, "--format", "json")
    ended = kanon(*asked, "--out", "one.csv")
    if ALGORITHMS[algorithm].kind == "multidimensional":
        assert (ended.code, json.loads(ended.out)["choice"]) == (0, "all-or-none")
    else:
        assert ended.code == 2
        assert "Use --algorithm mondrian or mondrian-plus" in ended.err
        assert "--set search.choice=greedy" in ended.err
    ended = kanon(*asked, "--choice", "greedy", "--out", "two.csv")
    assert (ended.code, json.loads(ended.out)["choice"]) == (0, "greedy")


def test_mondrian_is_the_default_under_such_models(five: Path, kanon: Callable[..., Ended]) -> None:
    del five
    for more, algorithm, choice in (
        ([], "mondrian", "all-or-none"),
        (["--choice", "greedy"], "optimal", "greedy"),
        (["--l", 1], "mondrian", "all-or-none"),
    ):
        found = json.loads(kanon("anonymize", *ASKED[: -2 if "--l" in more else None], *more, "--format", "json",
                                 "--out", "r.csv", "--replace").out)  # fmt: skip
        assert (found["algorithm"], found["choice"]) == (algorithm, choice)
    found = json.loads(kanon("anonymize", *ASKED[:-2], "--format", "json", "--out", "r.csv", "--replace").out)
    assert (found["algorithm"], found["choice"]) == ("optimal", None)
    with pytest.raises(UsageError, match=r"choice must be all-or-none or greedy\. Got 'none'"):
        kanon_of.Policy(choice="none")


def test_two_people_of_a_ward_are_certain_if_the_choice_is_greedy(five: Path, kanon: Callable[..., Ended]) -> None:
    """By hand: A has one diagnosis, since the wards were not divided, and only flu occurs twice."""
    rows = [line.split(",") for line in (five / "five.csv").read_text().split()[1:]]
    tuples = [Tuple((0 if ward == "A" else 1,), one, 1) for ward, one in rows]
    # Step 1 publishes ward B, step 2 ward A with two other people: of that class, only flu occurs twice.
    everyone = [*tuples, Tuple((2,), "x", 1), Tuple((3,), "y", 1)]
    assert attack_steps(tuples, [(0,)], k=2, values=2) == (0, 0, 0, 0)
    certain, right, below, held_back = attack_steps(everyone, [(7,), (0,)], k=2, values=2)
    assert (certain, right, below, held_back) == (2, 2, 0, 1)
    for choice, outcome_of in (("all-or-none", "finds nothing"), ("greedy", "not excluded")):
        asked = (
            "--algorithm",
            "mondrian",
            "--choice",
            choice,
            "--out",
            "r.csv",
            "--save-policy",
            "p.toml",
            "--replace",
        )
        assert kanon("anonymize", *ASKED, *asked).code == 0
        attacks = json.loads(
            kanon("attack", "r.csv", "--original", "five.csv", "--policy", "p.toml", "--format", "json").out
        )
        assert [one["outcome"] for one in attacks["attacks"] if one["attack"] == "choice"] == [outcome_of]
        (five / "p.toml").unlink()


def test_a_cut_of_nulls_that_failed_is_the_last_one() -> None:
    """An adversary: the same column was cut again at its median, which left one world of thirty."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (NULL, 'flu'), (NULL, 'flu'), ('A', 'asthma'), "
                           "('A', 'cancer'), ('B', 'asthma'), ('B', 'cancer')) people(ward, dx)")  # fmt: skip
        asked: dict[str, Any] = {"quasi_identifiers": ["ward"], "sensitive": ["dx"], "hierarchies": {"ward": "flat"}}
        models = [kanon_of.KAnonymity(2), kanon_of.DistinctLDiversity(2)]
        for choice, classes in (("all-or-none", 1), ("greedy", 2)):
            with kanon_of.anonymize(
                connection, "t", models=models, choice=choice, algorithm="mondrian", **asked
            ) as release:
                assert release.classes == classes


def test_a_sensitive_column_without_a_model_is_not_excluded() -> None:
    """An adversary: it may become certain through one that has a model and goes with it."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES ('A', 'flu', 'x'), ('A', 'flu', 'x'), "
            "('B', 'asthma', 'x'), ('B', 'asthma', 'x'), ('B', 'cancer', 'y')) people(ward, dx, grp)"
        )
        models = (kanon_of.KAnonymity(2), kanon_of.DistinctLDiversity(2, sensitive="dx"))
        policy = kanon_of.Policy(
            columns=kanon_of.NamedColumns((), ("ward",), ("dx", "grp")),
            models=models,
            hierarchies={"ward": "flat"},
            seed=1,
        )
        with kanon_of.anonymize(connection, "t", policy=policy) as release:
            release.to_table("released")
        found = kanon_of.attack(connection, "released", original="t", policy=policy)
        outcomes = {one.about: one.outcome for one in found.verdicts if one.attack == "choice"}
        assert outcomes == {"dx": "finds nothing", "grp": "not excluded"}


def test_sensitive_values_do_not_decide_who_is_held_out() -> None:
    """An adversary: being in the release ruled values out."""
    import duckdb

    found = []
    asked: dict[str, Any] = {"quasi_identifiers": ["ward"], "hierarchies": {"ward": "flat"}, "k": 2, "seed": 1}
    for shift in range(3):
        with duckdb.connect() as connection:
            connection.execute(
                "CREATE TABLE t AS SELECT 'w' || i AS ward, 'd' || (i + ?) % 3 AS dx FROM range(40) r(i)", [shift]
            )
            with kanon_of.anonymize(connection, "t", sensitive=["dx"], hold_out=0.5, **asked) as release:
                held = release.prepared.source.held_out
                assert held is not None
                query = f"SELECT ward FROM {held.relation.sql()} ORDER BY ward"  # noqa: S608 - a name of ours
                found.append(connection.execute(query).fetchall())
    assert found[0] == found[1] == found[2]


LARGE = ("1152921504606846976", "-3458764513820540928")  # of three rows and one, the sum is 0


@pytest.mark.parametrize(
    ("numbers", "type_", "values"),
    [
        ("mean", "DOUBLE", (".7", ".3", "NULL")),
        ("mean", "DOUBLE", (".1", *LARGE)),
        ("mean", "FLOAT", (".5", *LARGE)),
        ("mean", "DECIMAL(6, 2)", (".7", ".3", "NULL")),
        ("mean", "BIGINT", ("3", *LARGE)),
        ("mean", "TIMESTAMP", ("'2020-01-01 00:00:00.7'", "'1999-05-05 10:00:00.3'", "'1969-01-01'")),
        ("mean", "DATE", ("'2020-01-01'", "'1999-05-06'", "'1969-01-01'")),
        ("median", "DOUBLE", (".1", *LARGE)),
    ],
)
def test_a_mean_is_the_same_whoever_has_which_value(numbers: str, type_: str, values: tuple[str, ...]) -> None:
    """An adversary: the rounding of a sum over groups with one sensitive value left 3 of 15 worlds."""
    import duckdb

    places = (0, 1, 0, 1, 1, 0, 2)
    found = set()
    for diagnoses in ("fffaafu", "ffffaau", "aaufffx"):
        for order in ("person", "-person"):
            people = [f"({n}, {values[places[n]]}, '{one}')" for n, one in enumerate(diagnoses)]
            with duckdb.connect() as connection:
                connection.execute(
                    f"CREATE TABLE t AS SELECT CAST(q AS {type_}) AS q, s "  # noqa: S608 - values of this test
                    f"FROM (VALUES {', '.join(people)}) people(person, q, s) ORDER BY {order}"
                )
                with kanon_of.anonymize(
                    connection, "t", quasi_identifiers=["q"], sensitive=["s"], numbers=numbers,
                    models=[kanon_of.KAnonymity(6), kanon_of.DistinctLDiversity(2)],
                ) as release:  # fmt: skip
                    found.add(tuple(map(repr, release.to_pandas()["q"].tolist())))
    assert len(found) == 1, found


def attacked(released: Any, original: Any, policy: Any) -> Choice:
    found = kanon_of.attack(released, original=original, policy=policy)
    (choice,) = [one for one in found.attacks if one.name == "choice"]
    return choice  # type: ignore[return-value]


def test_another_policy_or_original_is_not_tested(five: Path) -> None:
    import pandas as pd

    people = pd.read_csv(five / "five.csv")
    policy = kanon_of.Policy(
        columns=kanon_of.NamedColumns((), ("ward",), ("diagnosis",)), hierarchies={"ward": "flat"}, seed=1,
        models=(kanon_of.KAnonymity(2), kanon_of.DistinctLDiversity(2)),
    )  # fmt: skip
    with kanon_of.anonymize(people, policy=policy) as release:
        released = release.to_pandas()
    assert attacked(released, people, policy).reason is None
    finer = pd.DataFrame({"ward": ["A", "A", "B", "B", "B"], "diagnosis": ["flu", "x", "asthma", "cancer", "stroke"]})
    reason = attacked(released, finer, policy).reason
    assert reason == "the release is not what this policy makes of this original"


@pytest.mark.parametrize("algorithm", ["local", "spolg"])
def test_what_is_certain_is_right_and_newly_certain(algorithm: str) -> None:
    """The oracle goes through all assignments: whoever the attack is certain of, is newly certain."""
    found_any = 0
    for seed in range(12):
        table = random_table(Random(seed), values=2)  # noqa: S311 - a table, not a secret
        asked = Asked(2, l=2)
        if not asked.met(table.whole):
            continue
        with Replay(table, asked) as replay:
            releases_of = replay.releases_of(algorithm)
            judged = outcome(table.people, table.truth, covers_by(table.trees), releases_of)
            steps = replay.steps_of(algorithm)
            frequency = replay.problem.frequency
            rows = frequency.engine.rows(replay.tuples_query(), "all tuples")
        tuples = [Tuple(tuple(keys), value, n) for *keys, value, n in rows]
        certain, right, below, _ = attack_steps(tuples, [frequency.masks(node) for node in steps], 2, 2)
        assert judged is not None
        assert (certain, below) == (right, 0)
        assert certain <= judged.newly_certain_people
        found_any += certain
    assert found_any


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("algorithm", "k", "certain"), [("local", 5, 4950), ("local", 10, 4380), ("spolg", 5, 5035), ("spolg", 10, 4367)]
)
def test_salaries_of_adult_that_are_certain(algorithm: str, k: int, certain: int, adult: Path) -> None:
    """The figures that an attack written by others found (issue 53); all of them are right."""
    known = ("age", "sex", "race", "marital-status")
    policy = kanon_of.Policy(
        columns=kanon_of.NamedColumns((), known, ("salary-class",), rest="drop"),
        models=(kanon_of.KAnonymity(k), kanon_of.DistinctLDiversity(2)),
        hierarchy_directory=adult, algorithm=algorithm, choice="greedy", seed=1,
    )  # fmt: skip
    with kanon_of.anonymize(adult / "adult.csv", policy=policy) as release:
        released = release.to_pandas()
    found = attacked(released, adult / "adult.csv", policy)
    assert (found.rows_certain, found.rows_certain_right) == (certain, certain)
