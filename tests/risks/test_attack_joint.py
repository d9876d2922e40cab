"""Two releases of one table: each keeps k, and together they may not."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import attack_oracle as oracle
import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from strategies import TABLE
from test_attack import WAYS, Drawn, asked_of, drawn, published

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

CORNERS = pd.DataFrame({"a": ["1", "1", "2", "2"], "b": ["1", "2", "1", "2"], "s": ["flu", "cold", "cough", "flu"]})
"""One row at each corner of a square."""
BY_A = pd.DataFrame({"a": ["2", "1", "1", "2"], "b": "*", "s": ["flu", "flu", "cold", "cough"]})
BY_B = pd.DataFrame({"a": "*", "b": ["1", "2", "1", "2"], "s": ["cough", "cold", "flu", "flu"]})
ASKED: dict[str, Any] = {"quasi_identifiers": ["a", "b"], "hierarchies": {"a": "flat", "b": "flat"}}


def joint_of(found: kanon.Attacked) -> list[dict[str, Any]]:
    return [attack for attack in found.summary()["attacks"] if attack["attack"] == "joint release"]


def test_two_releases_that_leave_single_rows_by_hand() -> None:
    """Each is 2-anonymous, with two values in each class; (1, 1) is in {flu, cold} and in {cough, flu}: it has flu."""
    found = kanon.attack(BY_A, original=CORNERS, others=[BY_B], sensitive=["s"], models=[kanon.KAnonymity(2)], **ASKED)
    assert [attack.succeeded for attack in found.attacks[:2]] == [False, False]  # linkage and homogeneity of the first
    (joint,) = joint_of(found)
    assert joint["succeeded"]
    assert (joint["rows"], joint["groups"], joint["smallest"]) == (4, 4, 1)
    assert (joint["groups_below_k"], joint["rows_below_k"]) == (4, 4)
    # (1, 1): {flu, cold} and {cough, flu} leave flu; (2, 2): {cough, flu} and {cold, flu} leave flu.
    # (1, 2) can have flu or cold by both of her classes; but (1, 1) has the flu of the first one, so hers is the cold.
    assert joint["columns"] == [
        {"column": "s", "least": 2, "rows_certain": 4, "rows_certain_right": 4, "rows_certain_together": 4,
         "rows_alike": 0, "joined_by": ()}
    ]  # fmt: skip


@pytest.mark.thorough
def test_a_release_beside_itself_adds_nothing() -> None:
    found = kanon.attack(BY_A, original=CORNERS, others=[BY_A], models=[kanon.KAnonymity(2)], **ASKED)
    (joint,) = joint_of(found)
    assert (joint["succeeded"], joint["smallest"], joint["groups"]) == (False, 2, 2)


@pytest.mark.thorough
def test_a_release_without_a_column_is_joined_by_the_others() -> None:
    other = BY_B[["b", "s"]]
    (joint,) = joint_of(kanon.attack(BY_A, original=CORNERS, others=[other], models=[kanon.KAnonymity(2)], **ASKED))
    assert (joint["smallest"], joint["rows_below_k"]) == (1, 4)
    with pytest.raises(kanon.UsageError, match="none of the quasi-identifiers"):
        kanon.attack(BY_A, original=CORNERS, others=[BY_B[["s"]]], **ASKED)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("first", "second"),
    [(0, 0), (0, 1), (1, 1), (0, 2), (2, 3), (1, 4)],
    ids=lambda number: "-".join(WAYS[number].values()),
)
@given(table=drawn())
@examples(8)
def test_what_two_releases_leave_is_what_loops_over_rows_leave(first: int, second: int, table: Drawn) -> None:
    k = table.case.k
    with tempfile.TemporaryDirectory() as directory, table.load() as connection:
        asked = asked_of(table, directory)
        for into, way, smallest in (("first", WAYS[first], k), ("second", WAYS[second], k + 1)):
            if not published(table, connection, asked, way, into, smallest):
                return
        releases = [table.release(connection, name) for name in ("first", "second")]
        found = kanon.attack(
            connection, "first", original=connection, original_table=TABLE, others=["second"],
            sensitive=[table.name], models=[kanon.KAnonymity(k)], **asked,
        )  # fmt: skip
    (joint,) = joint_of(found)
    rows = [oracle.candidates(table.original, release, table.upwards) for release in releases]
    classes = [
        [{release.labels[number] for number in own} for own in found_rows]
        for release, found_rows in zip(releases, rows, strict=True)
    ]
    sizes, small = oracle.joint(table.original, *classes, (releases[0], releases[1]), k)
    expected = (len(sizes), min(sizes, default=None), len(small))
    assert (joint["rows"], joint["smallest"], joint["rows_below_k"]) == expected
    # Certain is what the values of both classes leave, at least; and what all of a group have, at most.
    values = [
        [{release.sensitive[number] for number in own} for own in found_rows]
        for release, found_rows in zip(releases, rows, strict=True)
    ]
    left = [a & b for a, b in zip(*values, strict=True)]
    (known,) = joint["columns"]
    assert known["rows_certain"] >= sum(len(own) == 1 for own in left)
    assert known["rows_certain"] == known["rows_certain_right"]
    assert joint["succeeded"] == (expected[2] > 0 or known["rows_certain"] > 0 or known["rows_alike"] > 0)
    if all(len(own) <= 1 for both in classes for own in both):
        groups = Counter((min(a, default=None), min(b, default=None)) for a, b in zip(*classes, strict=True) if a or b)
        assert joint["groups"] == len(groups)
        assert joint["groups_below_k"] == sum(size < k for size in groups.values())


@pytest.mark.thorough
def test_a_row_that_one_release_left_out_is_what_remains() -> None:
    """Five of six were published as (1, *): who subtracts them from the class of six has the sixth, and her value.

    Fails on 0.1.0: nobody is left with fewer than two people, and no value is certain.
    """
    original = pd.DataFrame({"a": [1, 1, 1, 1, 1, 2], "s": ["flu", "cold", "flu", "cold", "flu", "gout"]})
    first = original[original["a"] == 1].assign(a="1")
    second = original.assign(a="*")
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "hierarchies": {"a": "flat"}, "sensitive": ["s"]}
    for one, other in ((first, second), (second, first)):
        found = kanon.attack(one, original=original, others=[other], models=[kanon.KAnonymity(5)], **asked)
        (joint,) = joint_of(found)
        assert (joint["rows"], joint["smallest"], joint["alone"], joint["rows_below_k"]) == (6, 1, 1, 1)
        (known,) = joint["columns"]
        assert (known["rows_certain_right"], known["rows_certain_together"], joint["succeeded"]) == (1, 1, True)


@pytest.mark.thorough
def test_what_remains_may_be_many_people_with_one_value() -> None:
    """Five are left when five are subtracted from ten, enough for k = 5; all of them have gout.

    Fails on 0.1.0: the attack fails.
    """
    original = pd.DataFrame({"a": [1] * 5 + [2] * 5, "s": ["flu", "cold", "flu", "cold", "flu", *["gout"] * 5]})
    first, second = original[original["a"] == 1].assign(a="1"), original.assign(a="*")
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "hierarchies": {"a": "flat"}, "sensitive": ["s"]}
    (joint,) = joint_of(kanon.attack(first, original=original, others=[second], models=[kanon.KAnonymity(5)], **asked))
    assert (joint["rows_below_k"], joint["succeeded"]) == (0, True)
    assert (joint["columns"][0]["rows_certain_together"], joint["columns"][0]["rows_alike"]) == (5, 5)


@pytest.mark.thorough
def test_people_are_counted_once_each() -> None:
    """One person with two rows in two small groups is one person.

    Fails on 0.1.0: rows are counted.
    """
    original = CORNERS.assign(person=[1, 1, 2, 2])
    models = [kanon.KAnonymity(2, entity="person")]
    (joint,) = joint_of(kanon.attack(BY_A, original=original, others=[BY_B], models=models, **ASKED))
    assert (joint["rows_below_k"], joint["people_below_k"], joint["alone"]) == (4, 2, 2)


@pytest.mark.thorough
def test_rows_without_a_person_are_among_no_people() -> None:
    """Two rows whose person is not known, left out by one release, are all that remains of the other.

    Fails on 0.1.0, and before rows without a person were counted: the value of both is the difference of the releases.
    """
    towns = ["A"] * 6 + ["B"] * 6 + ["Z"] * 2
    original = pd.DataFrame(
        {"town": towns, "d": ["x", "y"] * 6 + ["hiv"] * 2, "who": [*map(str, range(12)), None, None]}
    )
    fine, coarse = original[["town", "d"]][:12], original[["d"]].assign(town="*")[["town", "d"]]
    asked: dict[str, Any] = {"quasi_identifiers": ["town"], "sensitive": ["d"], "hierarchies": {"town": "flat"}}
    (joint,) = joint_of(kanon.attack(fine, original=original, others=[coarse], entity="who", k=5, **asked))
    assert (joint["smallest"], joint["groups_below_k"], joint["rows_below_k"], joint["people_below_k"]) == (0, 1, 2, 0)
    (known,) = joint["columns"]
    assert (known["rows_certain_together"], known["rows_certain_right"]) == (2, 2)


@pytest.mark.thorough
def test_people_in_several_classes_count_for_certain_only() -> None:
    """Of 200 overlapping ranges nobody knows who is in which: a person is alike with those who fit the same ranges."""
    original = pd.DataFrame({"a": range(200)})
    narrow = pd.DataFrame({"a": [f"[{n}-{n + 2}]" for n in range(198)]})
    wide = pd.DataFrame({"a": [f"[{n}-{n + 9}]" for n in range(191)]})
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "hierarchies": {"a": "flat"}, "models": [kanon.KAnonymity(5)]}
    (joint,) = joint_of(kanon.attack(narrow, original=original, others=[wide], **asked))
    assert (joint["rows"], joint["smallest"], joint["rows_below_k"]) == (200, 1, 200)
    (joint,) = joint_of(kanon.attack(wide, original=original, others=[wide], **asked))
    assert joint["smallest"] == 1  # as each class of it is, alone


@pytest.mark.thorough
def test_releases_in_a_database_and_in_files(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect("square.duckdb") as connection:
        for name, frame in (("original", CORNERS), ("by_a", BY_A), ("by_b", BY_B)):
            connection.register("frame", frame)
            connection.execute(f"CREATE TABLE {name} AS FROM frame")
        connection.execute("COPY by_b TO 'by_b.csv'; COPY original TO 'original.csv'")
    asked = ("--qi", "a,b", "--hierarchy", "a=flat", "--hierarchy", "b=flat", "-k", 2)
    first = None
    for original, others in (
        (("--original", "original"), ("--other", "by_b")),
        (("--original", "original"), ("--other", "by_b.csv")),
        (("--original", in_tmp / "original.csv"), ("--other", "by_b")),
        (
            ("--original", in_tmp / "square.duckdb", "--original-table", "original"),
            ("--other", "by_b", "--other", "by_a"),
        ),
    ):
        ended = kanon("attack", "square.duckdb", "by_a", *original, *others, *asked, "--format", "json")
        assert ended.code == 1, ended.out + ended.err
        joint = {**ended.json["attacks"][2], "other": None}
        first = first or joint
        assert joint == first
    assert len(ended.json["attacks"]) == 4
    screen = kanon("attack", "square.duckdb", "by_a", "--original", "original", "--other", "by_b", *asked)
    assert "joint release with by_b  SUCCEEDS: 4 rows (100.00%) are left with fewer than 2 rows, 4 alone" in screen.out
    assert "two releases that leave out no row" in screen.out


def test_rows_that_name_nobody_do_not_hide_each_other() -> None:
    """Two rows without a person are all that the second release adds: subtraction shows their values.

    Fails on 0.1.0: rows are counted there, and a person cannot be named.
    """
    rows = [(f"p{number}", "ab"[number % 2], ["flu", "cold", "gout"][number % 3]) for number in range(12)]
    original = pd.DataFrame([*rows, (None, "z", "flu"), (None, "z", "cold")], columns=["who", "a", "s"])
    first, second = original[original["a"] != "z"][["a", "s"]], original[["a", "s"]]
    found = kanon.attack(
        first, original=original, others=[second], entity="who", quasi_identifiers=["a"], sensitive=["s"],
        hierarchies={"a": "flat"}, models=[kanon.KAnonymity(2)],
    )  # fmt: skip
    (joint,) = joint_of(found)
    assert (joint["rows"], joint["groups"], joint["smallest"]) == (14, 3, 0)
    assert (joint["rows_below_k"], joint["people_below_k"], joint["outcome"]) == (2, 0, "succeeds")
