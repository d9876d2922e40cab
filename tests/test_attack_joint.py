"""Two releases of one table: each keeps k, and together they may not."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import attack_oracle as oracle
import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from strategies import TABLE
from test_attack import WAYS, Drawn, asked_of, drawn, published

import kanon_sql as kanon
from kanon_sql import sql
from kanon_sql.attacks.joint import JointClasses, joint_classes
from kanon_sql.engine.duckdb import DuckDBEngine

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
    # (1, 2): {flu, cold} and {cold, flu} leave two; (2, 1): {cough, flu} in both leave two; (2, 2): {cough, flu} and
    # {cold, flu} leave flu.
    assert joint["columns"] == [{"column": "s", "rows_certain": 2, "rows_certain_right": 2}]


def test_a_release_beside_itself_adds_nothing() -> None:
    found = kanon.attack(BY_A, original=CORNERS, others=[BY_A], models=[kanon.KAnonymity(2)], **ASKED)
    (joint,) = joint_of(found)
    assert (joint["succeeded"], joint["smallest"], joint["groups"]) == (False, 2, 2)


def test_a_release_without_a_column_is_joined_by_the_others() -> None:
    other = BY_B[["b", "s"]]
    (joint,) = joint_of(kanon.attack(BY_A, original=CORNERS, others=[other], models=[kanon.KAnonymity(2)], **ASKED))
    assert (joint["smallest"], joint["rows_below_k"]) == (1, 4)
    with pytest.raises(kanon.UsageError, match="none of the quasi-identifiers"):
        kanon.attack(BY_A, original=CORNERS, others=[BY_B[["s"]]], **ASKED)


@pytest.mark.parametrize(
    ("first", "second"),
    [(0, 0), (0, 1), (1, 1), (0, 2), (2, 3), (1, 4)],
    ids=lambda number: "-".join(WAYS[number].values()),
)
@given(table=drawn())
@settings(max_examples=8)
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
    expected = oracle.joint(*classes, k)
    assert (joint["rows"], joint["smallest"], joint["rows_below_k"]) == expected
    values = [
        [{release.sensitive[number] for number in own} for own in found_rows]
        for release, found_rows in zip(releases, rows, strict=True)
    ]
    left = [a & b for a, b in zip(*values, strict=True)]
    certain = sum(len(own) == 1 for own in left)
    right = sum(own == {value} for own, value in zip(left, table.sensitive, strict=True))
    assert joint["columns"] == [{"column": table.name, "rows_certain": certain, "rows_certain_right": right}]
    assert joint["succeeded"] == (expected[2] > 0 or certain > 0)
    if all(len(own) <= 1 for both in classes for own in both):
        groups = Counter((min(a), min(b)) for a, b in zip(*classes, strict=True) if a and b)
        assert joint["groups"] == len(groups)
        assert joint["groups_below_k"] == sum(size < k for size in groups.values())


def test_more_people_than_bits_in_a_word() -> None:
    """200 overlapping ranges against 200 wider ones: who is n shares a range with n - 2 to n + 2."""
    original = pd.DataFrame({"a": range(200)})
    narrow = pd.DataFrame({"a": [f"[{n}-{n + 2}]" for n in range(198)]})
    wide = pd.DataFrame({"a": [f"[{n}-{n + 9}]" for n in range(191)]})
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "hierarchies": {"a": "flat"}, "models": [kanon.KAnonymity(5)]}
    (joint,) = joint_of(kanon.attack(narrow, original=original, others=[wide], **asked))
    # 0 and 199 share one with three people, 1 and 198 with four, all others with five.
    assert (joint["rows"], joint["smallest"], joint["rows_below_k"]) == (200, 3, 4)


def test_classes_of_two_full_domain_releases_from_any_relation() -> None:
    """What a ledger asks: rows of the original with their labels in both releases; NULL is a value."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE people AS FROM (VALUES ('x', NULL, 'p', 2), ('x', NULL, 'q', 1), ('y', 1, 'p', 4), "
            "('y', 1, 'p', 1), (NULL, 1, 'q', 3)) AS t(a, b, c, n)"
        )
        engine = DuckDBEngine(connection, owned=False)
        people = sql.exp.select("*").from_("people")
        weighted = joint_classes(engine, people, ["a", "b"], ["c"], 3, n="n")
        assert weighted == JointClasses(groups=4, smallest=1, groups_below_k=2, rows_below_k=3)
        assert joint_classes(engine, people, ["a", "b"], ["c"], 2) == JointClasses(4, 1, 3, 3)
        empty = joint_classes(engine, people.where("FALSE"), ["a"], ["c"], 2)
        assert empty == JointClasses(0, None, 0, 0)
        engine.close()


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
    assert "joint release with by_b  SUCCEEDS: 4 rows (100.00%) are left with fewer than 2 people" in screen.out
    assert "another choice of levels" in screen.out
