"""People of published classes, counted by the original: against the rows that were published, each with its person."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attack_oracle as oracle
import brute_force
import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import example, given
from hypothesis import strategies as st
from rows import text_columns
from strategies import HOSTILE_NAMES, TABLE, Case, cases, database_with

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

MARK = "a mark of each row"
WAYS: list[dict[str, str]] = [
    {"algorithm": "local"},
    {"algorithm": "optimal"},
    {"algorithm": "mondrian"},
    {"algorithm": "mondrian", "labels": "set", "cut": "relaxed"},
]


class Published:
    """A release of a table of people; a mark of each row, which was published, tells who is in which class."""

    def __init__(self, rows: list[oracle.Row], persons: list[Any], published: list[tuple[Any, ...]]) -> None:
        self.rows, self.persons = rows, persons
        self.labels = [tuple(None if label is None else str(label) for label in row[:-1]) for row in published]
        self.who = [persons[row[-1]] for row in published]
        self.classes: defaultdict[oracle.Row, set[Any]] = defaultdict(set)
        for labels, person in zip(self.labels, self.who, strict=True):
            self.classes[labels] |= {person} - {None}

    @property
    def smallest(self) -> int:
        """The fewest people of a class."""
        return min(len(people) for people in self.classes.values())

    def linked(self, upwards: list[Callable[[Any], list[Any]]]) -> list[int | None]:
        """Return for each row of the original of how many people the rows are that it can be; None if it finds none."""
        found = oracle.candidates(self.rows, oracle.Release(self.labels, []), upwards)
        return [len({self.who[number] for number in own} - {None}) if own else None for own in found]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Case, str, list[Any]]:
    case = draw(cases(max_rows=20).filter(lambda case: bool(case.rows)))
    entity = draw(
        st.sampled_from([name for name in HOSTILE_NAMES if name.casefold() not in map(str.casefold, case.columns)])
    )
    people = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, None])
    return case, entity, draw(st.lists(people, min_size=len(case.rows), max_size=len(case.rows)))


def _jagged() -> tuple[Case, str, list[Any]]:
    """Return 15 rows of one person, where ``*`` stands on two levels, and local recoding publishes it from both.

    Read on level 1, where all labels can be, ``*`` of the second column would be "c" and NULL alone. It has as many
    rows as these are, but one row with "x;y" is among them.
    """
    values = [
        ("a", "0", None), *[("a", "x;y", "a")] * 2, ("a", "d", "a"), ("a", "x;y", "b"), ("a", None, "a"),
        ("a", "x;y", None), ("b", "x;y", "a"), ("d", "x;y", None), ("a", "c", "a"), ("a", "x;y", None),
        ("a", None, "a"), (None, "a", None), (" padded ", "c", None), ("a", "x;y", "a"),
    ]  # fmt: skip
    flat: brute_force.Hierarchy = {value: ["*"] for value in ["a", " padded ", "b", "c", "d"]}
    second: brute_force.Hierarchy = {value: ["L1-0", "*"] for value in ["x;y", "a", "b", "d", "e"]}
    second |= {"0": ["L1-1", "*"], "c": ["*", "*"]}
    third: brute_force.Hierarchy = {value: ["L1-0", "L2-0", "*"] for value in "acd"}
    third |= {"b": ["L1-1", "L2-0", "*"], None: ["*", "*", "*"]}
    return Case(["u", "s", "t"], values, [flat, second, third], 4, 1, None), "who", [0] * len(values)


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
@example(table=_jagged(), k=1)
@given(table=tables(), k=st.integers(1, 5))
@examples(8)
def test_people_are_counted_as_they_were_published(  # noqa: PLR0915 - four commands, one truth
    way: dict[str, str], table: tuple[Case, str, list[Any]], k: int
) -> None:
    """Fails on 0.1.0: check refuses the release, measure counts rows, and attack has no figures of people.

    The truth is the person of each published row. Where labels do not tell which rows were published, the truth lies
    between the two figures, and a requirement is only said to hold if it does.
    """
    case, entity, persons = table
    columns = text_columns(case.columns, case.rows)
    columns |= {entity: ("BIGINT", persons), MARK: ("BIGINT", list(range(len(persons))))}
    with tempfile.TemporaryDirectory() as directory, database_with(columns) as connection:
        asked: dict[str, Any] = {
            "quasi_identifiers": case.columns, "hierarchies": case.write_hierarchies(Path(directory)),
        }  # fmt: skip
        try:
            release = kanon.anonymize(
                connection, TABLE, insensitive=[MARK], rest="drop", models=[kanon.KAnonymity(case.k)],
                max_suppressed=case.max_suppressed, seed=1, **asked, **way,
            )  # fmt: skip
        except kanon.NoSolutionError:
            return
        with release:
            release.to_table("published")
        names = connection.table("published").columns
        places = [names.index(name) for name in (*case.columns, MARK)]
        rows = [tuple(row[place] for place in places) for row in connection.table("published").fetchall()]
        if not rows:
            return
        truth = Published([*case.rows], persons, rows)
        asked |= {"models": [kanon.KAnonymity(k)], "entity": entity}
        both: dict[str, Any] = {"original": connection, "original_table": TABLE}
        checked = kanon.check(connection, "published", **asked, **both)
        measured = kanon.measure(connection, "published", **asked, **both)
        attacked = kanon.attack(connection, "published", **asked, **both)
    # check: the figures contain the truth, and what is said of k is true.
    assert checked.smallest_class_people is not None
    assert checked.smallest_class_people_at_most is not None
    assert checked.smallest_class_people <= truth.smallest <= checked.smallest_class_people_at_most
    assert not checked.holds or truth.smallest >= k
    assert not checked.fails or truth.smallest < k
    assert checked.holds or checked.fails or not checked.verified
    if way["algorithm"] in {"optimal", "local"} and checked.smallest_class_people == truth.smallest >= k:
        assert checked.holds
    # measure says the same, and its risk is no smaller than the truth.
    assert measured.people is not None
    assert (measured.people.smallest_class, measured.people.smallest_class_at_most) == (
        checked.smallest_class_people, checked.smallest_class_people_at_most,
    )  # fmt: skip
    assert measured.risk.counted == "people"
    assert measured.risk.prosecutor.highest is not None
    assert measured.risk.prosecutor.highest >= 1 / max(truth.smallest, 1)
    if measured.people.settled:
        assert checked.smallest_class_people == truth.smallest
        sizes = [max(len(people), 1) for people in truth.classes.values()]
        assert measured.risk.members == sum(sizes)
        alone_in_class = {next(iter(people)) for people in truth.classes.values() if len(people) == 1}
        unnamed = sum(not people for people in truth.classes.values())
        assert measured.risk.prosecutor.uniques == len(alone_in_class) + unnamed
    # attack: each row of the original finds rows of so many people.
    upwards = [lambda value, tree=tree: brute_force.labels(tree, value) for tree in case.hierarchies]  # type: ignore[misc]
    linked = truth.linked(upwards)
    found = attacked.summary()["attacks"][0]["people"]
    assert (found["smallest_class"], found["smallest_class_at_most"]) == (
        checked.smallest_class_people, checked.smallest_class_people_at_most,
    )  # fmt: skip
    fewest = min(number for number in linked if number is not None)
    below = [number is not None and number < k for number in linked]
    assert found["smallest"] <= fewest <= found["smallest_at_most"]
    assert found["rows_below_k"] <= sum(below) <= found["rows_below_k"] + found["rows_open"]
    people_below = {person for person, few in zip(persons, below, strict=True) if few} - {None}
    assert found["people_below_k"] <= len(people_below) <= found["people_below_k"] + found["people_open"]
    if measured.people.settled:
        assert (found["rows_open"], found["smallest"]) == (0, fewest)
        assert (found["rows_below_k"], found["people_below_k"]) == (sum(below), len(people_below))


_DISTRICTS = "Berlin;Berlin;*\nMitte;Berlin;*\nUlm;BW;*\nAalen;BW;*\n"
_PARTS = "y1;Y1;*\ny2;Y2;*\nz1;Y9;*\nz2;Y9;*\n"
_OUTSIDE = [("dan", "Ulm", "z1", "f"), ("eve", "Aalen", "z2", "g")]
LEFT_OUT: dict[str, tuple[str, str, list[tuple[Any, ...]], dict[str, Any]]] = {
    # name: both hierarchies, the rows (person, two quasi-identifiers, sensitive value), and settings
    "a value is a label": (
        "Berlin;Germany;*\nMitte;Berlin;*\nPankow;Berlin;*\n",
        "n1;*;*\nn2;*;*\ny1;Y1;*\ny2;Y2;*\n",
        [
            ("ann", "Berlin", "n1", "f"), ("ann", "Berlin", "n2", "g"), ("ann", "Mitte", "n1", "f"),
            ("ann", "Pankow", "n2", "g"), ("bob", "Mitte", "y1", "f"), ("cem", "Mitte", "y2", "f"),
        ],
        {"models": [kanon.KAnonymity(2), kanon.DistinctLDiversity(2)], "choice": "greedy", "count": "rows"},
    ),
    "a city is a district": (
        _DISTRICTS,
        _PARTS,
        [
            ("ann", "Berlin", "y1", "f"), ("ann", "Berlin", "y2", "g"), ("bob", "Mitte", None, "f"),
            ("cem", "Mitte", None, "f"), *_OUTSIDE,
        ],
        {"models": [kanon.KAnonymity(2), kanon.DistinctLDiversity(2)], "choice": "greedy", "count": "rows"},
    ),
    "k counts people": (
        _DISTRICTS,
        _PARTS,
        [
            ("ann", "Berlin", "y1", "f"), ("abe", "Berlin", "y2", "g"), ("bob", "Mitte", None, "f"),
            ("bob", "Mitte", None, "f"), *_OUTSIDE,
        ],
        {"models": [kanon.KAnonymity(2, entity="who")], "entity": "who"},
    ),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("case", LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_rows_that_were_left_out_can_stand_in_for_those_of_a_class(
    case: tuple[str, str, list[tuple[Any, ...]], dict[str, Any]], in_tmp: Path
) -> None:
    """Fails on 0.1.0, which counts rows. On one level the labels fit other rows, that were left out, exactly.

    Read so, the smallest class has 3, 2 and 1 people; it has 1, 1 and 2. (An adversary found these tables.)
    """
    *trees, rows, settings = case
    original = pd.DataFrame(rows, columns=["who", "u", "v", "d"]).assign(mark=range(len(rows)))
    for name, tree in zip("uv", trees, strict=True):
        (in_tmp / f"{name}.csv").write_text(tree, encoding="utf-8")
    asked: dict[str, Any] = {"quasi_identifiers": ["u", "v"], "hierarchies": {"u": "u.csv", "v": "v.csv"}}
    with kanon.anonymize(
        original, sensitive=["d"], insensitive=["mark"], rest="drop", algorithm="local", max_suppressed=0.4, seed=1,
        **asked, **settings,
    ) as release:  # fmt: skip
        published = release.to_pandas()
    people = [{rows[mark][0] for mark in own["mark"]} for _, own in published.groupby(["u", "v"], dropna=False)]
    smallest = min(map(len, people))
    released = published.drop(columns="mark")
    asked |= {"original": original, "entity": "who"}
    checked = kanon.check(released, models=[kanon.KAnonymity(2)], **asked)
    assert checked.smallest_class_people is not None
    assert checked.smallest_class_people_at_most is not None
    assert checked.smallest_class_people <= smallest <= checked.smallest_class_people_at_most
    assert not checked.holds or smallest >= 2
    assert not checked.fails or smallest < 2
    highest = kanon.measure(released, **asked).risk.prosecutor.highest
    assert highest is not None
    assert highest >= 1 / smallest
    linkage = kanon.attack(released, models=[kanon.KAnonymity(2)], **asked).attacks[0]
    assert linkage.succeeded or linkage.open or smallest >= 2


def test_null_on_every_level_leaves_no_doubt_where_each_class_is_whole(in_tmp: Path) -> None:
    """Full domain, level 1: ``*`` is NULL. The one of 45 was left out; she fits ``*`` as well, if that is the root.

    Counted so, the three rows of ``*`` could be of two people: not verified, beside a release that says 3.
    """
    ages = {"ann": None, "bob": None, "cem": None, "dan": 31, "eve": 32, "fay": 33}
    rows = [*((person, age) for person, age in ages.items()), ("gus", 45), ("gus", 45)]
    original = pd.DataFrame(rows, columns=["who", "age"]).astype({"age": "Int64"})
    (in_tmp / "age.csv").write_text("31;3x;*\n32;3x;*\n33;3x;*\n45;4x;*\n", encoding="utf-8")
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "hierarchies": {"age": "age.csv"}, "entity": "who"}
    with kanon.anonymize(original, k=3, max_suppressed=0.25, rest="drop", **asked) as release:
        published = release.to_pandas()
    assert published["age"].value_counts().to_dict() == {"*": 3, "3x": 3}
    checked = kanon.check(published, models=[kanon.KAnonymity(3)], original=original, **asked)
    assert (checked.smallest_class_people, checked.smallest_class_people_at_most, checked.holds) == (3, 3, True)


VISITS = [
    *[("ann", 30, "A")] * 5,
    *[(name, 40, "A") for name in ("bob", "cem", "dan", "eve", "fay", "gil")],
    ("bob", 50, "B"),
]


@pytest.fixture
def visits(in_tmp: Path) -> Path:
    """Five visits of one patient are a class of 5 rows; the other one has 6 patients. One row is suppressed."""
    pd.DataFrame(VISITS, columns=["patient", "age", "town"]).to_csv(in_tmp / "visits.csv", index=False)
    pd.DataFrame([row[1:] for row in VISITS[:11]], columns=["age", "town"]).to_csv(in_tmp / "released.csv", index=False)
    (in_tmp / "kanon.toml").write_text(
        '[columns]\nquasi_identifiers = ["age", "town"]\nentity = "patient"\n[privacy]\nk = 5\n'
        '[hierarchies]\nage = "flat"\ntown = "flat"\n',
        encoding="utf-8",
    )
    return in_tmp


BY_ORIGINAL = ("--original", "visits.csv", "--hierarchy", "age=flat", "--hierarchy", "town=flat")


@pytest.mark.thorough
def test_five_visits_of_one_patient_are_found(visits: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: attack has no --entity; its linkage "fails" where one patient is a class by herself."""
    assert visits.is_dir()
    asked = ("--qi", "age,town", "-k", "5", "--entity", "patient")
    rows = kanon("attack", "released.csv", "--qi", "age,town", "-k", "5", *BY_ORIGINAL)
    assert "linkage  NOT EXCLUDED" in rows.out
    people = kanon("attack", "released.csv", *asked, *BY_ORIGINAL)
    assert people.code == 1
    assert "linkage  SUCCEEDS" in people.out
    assert "1 person" in people.out
    found = kanon("attack", "released.csv", *asked, *BY_ORIGINAL, "--format", "json").json["attacks"][0]
    assert found["succeeded"]
    assert found["rows_below_k"] == 0
    assert found["people"] == {
        "entity": "patient", "smallest_class": 1, "smallest_class_at_most": 1, "smallest": 1, "smallest_at_most": 1,
        "rows_below_k": 5, "rows_open": 0, "people_below_k": 1, "people_open": 0,
    }  # fmt: skip


@pytest.mark.thorough
def test_check_counts_the_people_of_a_release(visits: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: with an entity, check refuses every release, and has no --original."""
    assert visits.is_dir()
    screen = kanon("check", "released.csv", "--qi", "age,town", "-k", "5", "--entity", "patient", *BY_ORIGINAL)
    assert screen.code == 1
    assert "released.csv DOES NOT SATISFY the policy" in screen.out
    assert "k = 5 DOES NOT HOLD: smallest class has 1 person (patient of visits.csv)" in screen.out
    assert "the one with the fewest rows has 5 rows" in screen.out
    found = kanon("check", "released.csv", "--policy", "kanon.toml", "--original", "visits.csv", "--format", "json")
    assert found.code == 1
    assert (found.json["k"], found.json["smallest_class"], found.json["smallest_class_people"]) == (1, 5, 1)
    assert (found.json["holds"], found.json["verified"], found.json["classes_failing"]) == (False, True, 1)
    assert found.json["worst_classes"] == [{"model": "k-anonymity", "sensitive": None, "rows": 5, "measured": 1}]
    one = kanon("check", "released.csv", "--qi", "age,town", "-k", "1", "--entity", "patient", *BY_ORIGINAL)
    assert one.code == 0, one.err
    assert "released.csv satisfies the policy" in one.out


def test_what_check_cannot_count_does_not_hold(visits: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: the release of a policy with an entity cannot be checked at all (exit code 2)."""
    assert visits.is_dir()
    screen = kanon("check", "released.csv", "--policy", "kanon.toml")
    assert screen.code == 1
    assert "released.csv IS NOT VERIFIED to satisfy the policy" in screen.out
    assert "k = 5 IS NOT VERIFIED" in screen.out
    assert "--original" in screen.out
    assert " holds" not in screen.out
    assert "satisfies" not in screen.out
    found = kanon("check", "released.csv", "--policy", "kanon.toml", "--format", "json")
    assert found.code == 1
    assert (found.json["holds"], found.json["verified"], found.json["k"]) == (False, False, None)
    assert (found.json["smallest_class"], found.json["smallest_class_people"]) == (5, None)
    # Fewer rows than k are fewer people than k, whoever they are.
    few = kanon("check", "released.csv", "--policy", "kanon.toml", "-k", "6", "--format", "json")
    assert (few.json["holds"], few.json["verified"]) == (False, True)


@pytest.mark.thorough
def test_measure_counts_the_people_of_a_release(visits: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: the release is counted in rows, its highest risk is 0.2, and it "meets" k = 5."""
    assert visits.is_dir()
    asked = ("measure", "released.csv", "--qi", "age,town", "--entity", "patient", *BY_ORIGINAL)
    screen = kanon(*asked)
    assert "the smallest has 5 rows; by people, 1 person (patient)" in screen.out
    found = kanon(*asked, "--format", "json").json
    assert found["people"] == {"entity": "patient", "smallest_class": 1, "smallest_class_at_most": 1, "settled": True}
    after = found["risk"]["after"]
    assert (after["counted"], after["people"], after["smallest_class"]) == ("people", 7, 1)
    assert (after["prosecutor"]["highest"], after["prosecutor"]["uniques"]) == (1.0, 1)
    assert not any(threshold["met"] for threshold in after["thresholds"])


def test_measure_alone_says_that_it_counts_rows(visits: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: rows are counted where a policy counts people, without a word."""
    assert visits.is_dir()
    screen = kanon("measure", "released.csv", "--policy", "kanon.toml")
    assert screen.code == 0
    assert "the smallest has 5 rows, of how many people is not known" in screen.out
    assert "The table has no column patient to count people by" in " ".join(screen.out.split())


@pytest.mark.thorough
def test_rows_to_choose_from_are_counted_on_the_safe_side() -> None:
    """Fails on 0.1.0. Of six rows (three of ann, two of bob, one of cem) three were published, and nobody knows which.

    They may all be of ann, and they may be of three people.
    """
    original = pd.DataFrame({"who": [*["ann"] * 3, *["bob"] * 2, "cem"], "a": [1] * 6})
    release = pd.DataFrame({"a": [1] * 3})
    asked: dict[str, Any] = {
        "original": original, "quasi_identifiers": ["a"], "hierarchies": {"a": "flat"}, "entity": "who",
    }  # fmt: skip
    for k, holds, fails in ((1, True, False), (2, False, False), (3, False, False), (4, False, True)):
        found = kanon.check(release, **asked, models=[kanon.KAnonymity(k)])
        assert (found.smallest_class_people, found.smallest_class_people_at_most) == (1, 3)
        assert (found.holds, found.fails, found.verified) == (holds, fails, holds or fails)
    measured = kanon.measure(release, **asked)
    assert measured.people is not None
    assert (measured.people.smallest_class, measured.people.smallest_class_at_most) == (1, 3)
    assert not measured.people.settled
    assert measured.risk.prosecutor.highest == 1.0
    linked = {k: kanon.attack(release, **asked, models=[kanon.KAnonymity(k)]).attacks[0] for k in (1, 2, 4)}
    assert {k: attack.succeeded for k, attack in linked.items()} == {1: False, 2: False, 4: True}
    assert {k: attack.open for k, attack in linked.items()} == {1: False, 2: True, 4: False}


@pytest.mark.thorough
def test_full_classes_settle_others() -> None:
    """Fails on 0.1.0. {1, 2} covers all, but both rows of 1 must be in the class of 1: the other has two people."""
    original = pd.DataFrame({"who": ["ann", "ann", "bob", "cem"], "a": ["x", "x", "x", "y"], "b": [1, 1, 2, 2]})
    release = pd.DataFrame({"a": ["x", "x", "*", "*"], "b": ["1", "1", "*", "*"]})
    found = kanon.check(
        release, original=original, quasi_identifiers=["a", "b"], hierarchies={"a": "flat", "b": "flat"}, entity="who",
        models=[kanon.KAnonymity(2)],
    )  # fmt: skip
    assert (found.smallest_class_people, found.smallest_class_people_at_most) == (1, 1)
    assert found.classes_failing == 1
    assert found.fails


@pytest.mark.thorough
def test_pseudonyms_of_people_are_counted_as_they_stand() -> None:
    """A release that has the column, as pseudonyms, needs no original. Fails on 0.1.0: attack counts rows there."""
    original = pd.DataFrame({"who": [*["ann"] * 5, *"bcdef"], "a": [1] * 5 + [2] * 5})
    release = original.assign(who=[*["p1"] * 5, "p2", "p3", "p4", "p5", "p6"])
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "entity": "who"}
    checked = kanon.check(release, **asked)
    assert (checked.smallest_class, checked.smallest_class_people, checked.holds) == (5, 1, False)
    # Beside its original it is known to be a release, which must not name people as the original does.
    by_one = {**asked, "models": [kanon.KAnonymity(1)], "original": original}
    assert kanon.check(release, **by_one).holds
    named = kanon.check(original, **by_one)
    assert (named.holds, named.identifying) == (False, ("who",))
    found = kanon.attack(release, original=original, hierarchies={"a": "flat"}, **asked)
    assert found.attacks[0].figures()["people"]["people_below_k"] == 1
    measured = kanon.measure(release, original=original, hierarchies={"a": "flat"}, **asked)
    assert measured.people is not None
    assert (measured.people.smallest_class, measured.smallest_class) == (1, 5)


@pytest.mark.thorough
def test_people_that_cannot_be_counted_are_an_error(visits: Path, kanon: Callable[..., Ended]) -> None:
    assert visits.is_dir()
    asked = ("released.csv", "--qi", "age,town", *BY_ORIGINAL)
    for verb in ("check", "measure", "attack"):
        ended = kanon(verb, *asked, "--entity", "nobody")
        assert ended.code == 2, ended.out
        assert "'nobody'" in ended.err
        assert "Traceback" not in ended.err
    assert "--entity" in kanon("check", *asked).err
    assert kanon("check", "released.csv", "--qi", "age,town", "--hierarchies", "h").code == 2
    # A class with more rows than the original has cannot be of that original.
    pd.DataFrame([(30, "A")] * 6, columns=["age", "town"]).to_csv("more.csv", index=False)
    ended = kanon("check", "more.csv", "--qi", "age,town", "--entity", "patient", *BY_ORIGINAL)
    assert ended.code == 2
    assert "more rows than the original has" in ended.err


def test_the_statements_of_a_check_with_an_original_can_be_read(visits: Path, kanon: Callable[..., Ended]) -> None:
    assert visits.is_dir()
    ended = kanon("check", "released.csv", "--qi", "age,town", "--entity", "patient", *BY_ORIGINAL, "--sql")
    assert ended.code == 0, ended.err
    assert "-- people in each class" in ended.out


@pytest.mark.thorough
def test_nothing_is_left_in_a_connection() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE o AS SELECT i // 2 AS who, i % 3 AS a FROM range(30) AS t(i)")
        connection.execute("CREATE TABLE r AS SELECT a FROM o")
        asked: dict[str, Any] = {"quasi_identifiers": ["a"], "hierarchies": {"a": "flat"}, "entity": "who"}
        for verb in (kanon.check, kanon.measure, kanon.attack):
            verb(connection, "r", original=connection, original_table="o", **asked)
        seen = connection.execute("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'kanon%'").fetchall()
        assert seen == []


@pytest.mark.thorough
def test_numbers_of_rows_under_the_name_of_people_are_not_counted(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0, and before an adversary found it: "k = 5 holds" for a class of five visits of one patient."""
    original = pd.DataFrame({"who": [*["ann"] * 5, *"bcdef"], "a": [1] * 5 + [2] * 5})
    original.to_csv(in_tmp / "visits.csv", index=False)
    asked = ("--qi", "a", "--entity", "who", "-k", 5, "--original", "visits.csv", "--hierarchy", "a=flat")
    for numbers in (range(10), [*"vwxyz", *"bbbbb"]):
        original.assign(who=numbers).to_csv(in_tmp / "released.csv", index=False)
        checked = kanon("check", "released.csv", *asked, "--format", "json").json
        assert (checked["smallest_class_people"], checked["original"], checked["holds"]) == (1, "visits.csv", False)
        measured = kanon("measure", "released.csv", *asked, "--format", "json").json
        assert (measured["people"]["smallest_class"], measured["risk"]["after"]["prosecutor"]["highest"]) == (1, 1.0)
        linkage = kanon("attack", "released.csv", *asked, "--format", "json").json["attacks"][0]
        assert (linkage["succeeded"], linkage["people"]["people_below_k"]) == (True, 1)
    # Pseudonyms, also of a release that has a part of the rows, are counted as they are.
    original.assign(who=[*["p"] * 5, *"qrstu"])[1:].to_csv(in_tmp / "released.csv", index=False)
    checked = kanon("check", "released.csv", *asked, "--format", "json").json
    assert (checked["smallest_class_people"], checked["original"]) == (1, None)


@pytest.mark.thorough
def test_shares_of_people_are_not_known_where_classes_are_not() -> None:
    """Fails before: ann and bob are two people in each class, four together, and a share of four is too small."""
    original = pd.DataFrame({"who": [*["ann"] * 3, *["bob"] * 2], "a": [1, 1, 2, 1, 2]})
    release = pd.DataFrame({"a": ["1", "1", "*", "*"]})
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "hierarchies": {"a": "flat"}, "entity": "who"}
    measured = kanon.measure(
        release, original=original, **asked, population=original.assign(a=["1", "1", "*", "1", "*"])
    )
    assert measured.people is not None
    assert not measured.people.settled
    after = measured.risk
    assert after.people is not None
    assert after.people <= 2
    assert after.prosecutor.above_threshold <= 2
    assert after.prosecutor.uniques <= 2
    assert (after.prosecutor.share_above_threshold, after.prosecutor.share_unique) == (None, None)
    assert after.journalist is not None
    assert (after.journalist.average, after.journalist.share_above_threshold) == (None, None)
