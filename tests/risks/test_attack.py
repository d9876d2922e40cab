"""``kanon attack``: linkage, homogeneity and background knowledge, against loops over rows and worked examples."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attack_oracle as oracle
import brute_force
import duckdb
import pandas as pd
import pytest
from conftest import ADULT_QI
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import text_columns
from strategies import HOSTILE_NAMES, TABLE, Case, cases, database_with

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

SENSITIVE = [None, "flu", "", "日本", "it's; --"]
NUMBER = "a number"
NUMBERS = [None, -5, -1, 0, 3, 12]
WAYS: list[dict[str, str]] = [
    {"algorithm": "optimal"},
    {"algorithm": "local"},
    {"algorithm": "mondrian"},
    {"algorithm": "mondrian", "labels": "set"},
    {"algorithm": "mondrian", "labels": "set", "cut": "relaxed"},
    {"algorithm": "mondrian", "cut": "node"},
]


class Drawn:
    """A table with a sensitive column and, at times, a column of numbers among its quasi-identifiers."""

    def __init__(self, case: Case, name: str, sensitive: list[Any], numbers: list[Any] | None) -> None:
        self.case, self.name, self.sensitive, self.numbers = case, name, sensitive, numbers
        self.columns = [*case.columns, *([NUMBER] if numbers is not None else [])]
        self.original = [(*row, *([] if numbers is None else [numbers[place]])) for place, row in enumerate(case.rows)]
        self.upwards: list[Callable[[Any], list[Any]]] = [
            lambda value, tree=tree: brute_force.labels(tree, value)  # type: ignore[misc]
            for tree in case.hierarchies
        ]
        if numbers is not None:
            self.upwards.append(lambda value: [None if value is None else str(value), "*"])

    def load(self) -> duckdb.DuckDBPyConnection:
        """Return a database that has the table."""
        columns = text_columns(self.case.columns, self.case.rows)
        if self.numbers is not None:
            columns[NUMBER] = "BIGINT", self.numbers
        return database_with(columns | {self.name: ("VARCHAR", self.sensitive)})

    def release(self, connection: duckdb.DuckDBPyConnection, table: str) -> oracle.Release:
        """Return what was published."""
        rows = connection.table(table).fetchall()
        places = [connection.table(table).columns.index(name) for name in self.columns]
        told = connection.table(table).columns.index(self.name)
        labels = [tuple(None if row[place] is None else str(row[place]) for place in places) for row in rows]
        return oracle.Release(labels, [row[told] for row in rows])


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    case = draw(cases(max_rows=20))
    name = draw(
        st.sampled_from([name for name in HOSTILE_NAMES if name.casefold() not in map(str.casefold, case.columns)])
    )
    length = len(case.rows)
    sensitive = draw(st.lists(st.sampled_from(SENSITIVE), min_size=length, max_size=length))
    several = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=4, unique=True))
    numbers = (
        draw(st.lists(st.sampled_from(several), min_size=length, max_size=length)) if draw(st.booleans()) else None
    )
    return Drawn(case, name, sensitive, numbers)


def published(
    table: Drawn, connection: duckdb.DuckDBPyConnection, asked: dict[str, Any], way: dict[str, str], into: str, k: int
) -> bool:
    """Publish a release; return whether there is one."""
    try:
        release = kanon.anonymize(
            connection, TABLE, sensitive=[table.name], models=[kanon.KAnonymity(k)],
            max_suppressed=table.case.max_suppressed, seed=1, **asked, **way,
        )  # fmt: skip
    except kanon.NoSolutionError:
        return False
    with release:
        release.to_table(into)
    return True


def asked_of(table: Drawn, directory: str) -> dict[str, Any]:
    hierarchies = table.case.write_hierarchies(Path(directory)) | ({} if table.numbers is None else {NUMBER: "flat"})
    return {"quasi_identifiers": table.columns, "hierarchies": hierarchies}


def by_name(found: kanon.Attacked) -> dict[str, dict[str, Any]]:
    return {attack["attack"]: attack for attack in found.summary()["attacks"]}


@pytest.mark.quick(2)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
@given(table=drawn(), k=st.integers(1, 6))
@examples(15, quick=3)
def test_what_an_attacker_finds_is_what_loops_over_rows_find(way: dict[str, str], table: Drawn, k: int) -> None:
    with tempfile.TemporaryDirectory() as directory, table.load() as connection:
        asked = asked_of(table, directory)
        if not published(table, connection, asked, way, "published", table.case.k):
            return
        release = table.release(connection, "published")
        found = kanon.attack(
            connection, "published", original=connection, original_table=TABLE, sensitive=[table.name],
            models=[kanon.KAnonymity(k)], confidence=0.7, ruled_out=2, **asked,
        )  # fmt: skip
    attacks = by_name(found)
    own = oracle.candidates(table.original, release, table.upwards)
    expected = oracle.linkage(own, release, k)
    assert {name: attacks["linkage"][name] for name in expected} == expected
    assert sum(attacks["linkage"]["sizes"].values()) == len(own) - expected["rows_without_class"]
    assert attacks["linkage"]["succeeded"] == (expected["rows_below_k"] > 0)
    guesses = oracle.homogeneity(own, release, table.sensitive, (7, 10))
    assert {name: attacks["homogeneity"][name] for name in guesses} == guesses
    assert attacks["homogeneity"]["succeeded"] == (guesses["rows_confident"] > 0)
    certain = {str(m): oracle.background(own, release, m) for m in (1, 2)}
    assert attacks["background knowledge"]["rows_certain"] == certain
    values = len(set(table.sensitive))
    success = any(certain[m] and values > int(m) + 1 for m in certain)
    # Where ruling out one value leaves one for everybody, that is no verdict on the release.
    assert attacks["background knowledge"]["succeeded"] == (success if values > 2 else None)
    # What the tool promises, whatever else: nobody is among fewer than k, and every published row is found by somebody.
    if expected["smallest"] is not None:
        assert expected["smallest"] >= table.case.k
    assert {number for numbers in own for number in numbers} == set(range(len(release.labels)))
    assert (found.rows_in, found.rows_out) == (len(table.original), len(release.labels))
    assert found.classes == len(set(release.labels))


INPATIENTS = [
    ("13053", 28, "Russian", "Heart Disease"),
    ("13068", 29, "American", "Heart Disease"),
    ("13068", 21, "Japanese", "Viral Infection"),
    ("13053", 23, "American", "Viral Infection"),
    ("14853", 50, "Indian", "Cancer"),
    ("14853", 55, "Russian", "Heart Disease"),
    ("14850", 47, "American", "Viral Infection"),
    ("14850", 49, "American", "Viral Infection"),
    ("13053", 31, "American", "Cancer"),
    ("13053", 37, "Indian", "Cancer"),
    ("13068", 36, "Japanese", "Cancer"),
    ("13068", 35, "American", "Cancer"),
]
"""Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007, figure 1; figure 2 is its 4-anonymous release."""


@pytest.fixture
def inpatients(in_tmp: Path) -> Path:
    """The inpatient table, its 4-anonymous release and the hierarchies, in the working directory."""
    columns = ["zip", "age", "nationality", "condition"]
    pd.DataFrame(INPATIENTS, columns=columns).to_csv(in_tmp / "inpatients.csv", index=False)
    labels = [("130**", "< 30"), ("1485*", ">= 40"), ("130**", "3*")]
    rows = [(*labels[number // 4], "*", row[3]) for number, row in enumerate(INPATIENTS)]
    pd.DataFrame(rows, columns=columns).to_csv(in_tmp / "published.csv", index=False)
    decades = {"< 30": range(21, 30), "3*": range(30, 40), ">= 40": range(40, 60)}
    (in_tmp / "h").mkdir()
    lines = [f"{age};{label};*\n" for label, ages in decades.items() for age in ages]
    (in_tmp / "h/age.csv").write_text("".join(lines), encoding="utf-8")
    zips = [f"{code};{code[:4]}*;{code[:3]}**;*\n" for code in ("13053", "13068", "14850", "14853")]
    (in_tmp / "h/zip.csv").write_text("".join(zips), encoding="utf-8")
    countries = [f"{name};*\n" for name in ("Russian", "American", "Japanese", "Indian")]
    (in_tmp / "h/nationality.csv").write_text("".join(countries), encoding="utf-8")
    return in_tmp


INPATIENT_ATTACK = ("attack", "published.csv", "--original", "inpatients.csv", "--qi", "zip,age,nationality",
                    "--sensitive", "condition", "--hierarchies", "h")  # fmt: skip


@pytest.mark.thorough
def test_the_inpatients_by_hand(inpatients: Path, kanon: Callable[..., Ended]) -> None:
    """All four of the third class have cancer; the first has two conditions, the second three (one of them twice)."""
    assert inpatients.is_dir()
    ended = kanon(*INPATIENT_ATTACK, "-k", 4, "--ruled-out", 2, "--format", "json")
    assert ended.code == 1, ended.err
    linkage, homogeneity, background, _ = ended.json["attacks"]
    assert linkage["rows_with_one_class"] == 12
    assert (linkage["smallest"], linkage["rows_below_k"], linkage["succeeded"]) == (4, 0, False)
    assert linkage["sizes"] == {"3-4": 12}
    assert (homogeneity["rows_certain"], homogeneity["rows_certain_right"]) == (4, 4)
    assert homogeneity["succeeded"]
    # Five of twelve have cancer, which most have: that is what anybody guesses.
    assert homogeneity["baseline"] == background["baseline"] == pytest.approx(5 / 12)
    assert background["rows_certain"] == {"1": 8, "2": 12}
    assert background["values"] == 3
    assert background["succeeded"]
    # At a confidence of one half: of equals, the first by name, which is right for two of the first class.
    half = kanon(*INPATIENT_ATTACK, "--confidence", 0.5, "--format", "json").json["attacks"][1]
    assert (half["rows_confident"], half["rows_confident_right"]) == (12, 2 + 2 + 4)
    linkage = kanon(*INPATIENT_ATTACK, "-k", 5, "--format", "json").json["attacks"][0]
    assert (linkage["rows_below_k"], linkage["succeeded"]) == (12, True)


@pytest.mark.thorough
def test_what_is_printed_for_people(inpatients: Path, kanon: Callable[..., Ended]) -> None:
    assert inpatients.is_dir()
    ended = kanon(*INPATIENT_ATTACK, "-k", 4)
    assert ended.code == 1
    assert "homogeneity of condition           SUCCEEDS: the value of 4 rows (33.33%) is certain" in ended.out
    assert "guesses the most frequent published value of all is right for 41.7% of the rows" in " ".join(
        ended.out.split()
    )
    assert (
        "linkage                            finds nothing: 0 rows (0.00%) have fewer than 4 candidate rows" in ended.out
    )
    assert "--l 2 or more" in ended.out
    assert "Cancer" not in ended.out + ended.err
    assert "13053" not in ended.out + ended.err


def test_no_attack_succeeds_and_the_code_is_0(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    rows = [(n % 2, f"{'abcd'[n // 2 % 4]}") for n in range(64)]
    pd.DataFrame(rows, columns=["x", "s"]).to_csv(in_tmp / "o.csv", index=False)
    pd.DataFrame(rows[::-1], columns=["x", "s"]).sample(frac=1, random_state=1).to_csv(in_tmp / "r.csv", index=False)
    ended = kanon("attack", "r.csv", "--original", "o.csv", "--qi", "x", "--sensitive", "s", "--hierarchy", "x=flat")
    assert ended.code == 0, ended.out + ended.err
    assert "none of 4 attacks succeeds" in ended.out


def test_rows_of_another_table_find_nothing() -> None:
    original = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": ["p", "p", "q", "q"]})
    release = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": ["q", "q", "p", "p"]})
    found = kanon.attack(
        release, original=original, quasi_identifiers=["a", "b"], hierarchies={"a": "flat", "b": "flat"}
    )
    linkage = by_name(found)["linkage"]
    assert (linkage["rows_without_class"], linkage["smallest"]) == (4, None)
    assert linkage["outcome"] == "not excluded"


@pytest.mark.thorough
def test_rows_that_were_published_several_times_do_not_hide_anyone() -> None:
    """Ten people, each alone, each published five times: "linkage fails" on 0.1.0, and before an adversary found it."""
    original = pd.DataFrame({"age": range(20, 30), "sex": list("FM") * 5})
    release = pd.concat([original] * 5).sample(frac=1, random_state=1)
    asked: dict[str, Any] = {
        "quasi_identifiers": ["age", "sex"], "hierarchies": {"age": "intervals:5", "sex": "flat"},
    }  # fmt: skip
    found = kanon.attack(release, original=original, models=[kanon.KAnonymity(5)], **asked)
    linkage = by_name(found)["linkage"]
    assert (linkage["smallest"], linkage["outcome"], linkage["succeeded"]) == (5, "not excluded", None)
    assert "is it a release of that table" in linkage["found"]
    assert found.summary()["succeeded"] is None
    assert found.endangered


def test_overlapping_ranges_by_hand() -> None:
    """[1-3], [2-5] and NULL beside [1-3]: who is 1 finds one class, who is 2 or 3 two, who is 5 one, NULL one."""
    original = pd.DataFrame({"a": pd.array([1, 2, 3, 5, None, 3], dtype="Int64")})
    release = pd.DataFrame({"a": ["[1-3]"] * 2 + ["[2-5]"] * 2 + [r"{\N, [1-3]}"] * 2})
    found = kanon.attack(release, original=original, quasi_identifiers=["a"], hierarchies={"a": "flat"})
    linkage = by_name(found)["linkage"]
    # 1: [1-3] and {\N, [1-3]}, 4 rows; 2, 3, 3: all 6 rows; 5: 2 rows; NULL: 2 rows.
    assert linkage["sizes"] == {"2": 2, "3-4": 1, "5-9": 3}
    assert linkage["rows_with_one_class"] == 2


def test_more_classes_than_bits_in_a_word() -> None:
    """300 overlapping ranges [n to n+3] of a text in the order of its tree: each value is in four of them."""
    values = [f"{number:03}" for number in range(303)]
    original = pd.DataFrame({"a": [int(value) for value in values]})
    release = pd.DataFrame({"a": [f"[{n}-{n + 3}]" for n in range(300)]})
    found = kanon.attack(release, original=original, quasi_identifiers=["a"], hierarchies={"a": "flat"})
    linkage = by_name(found)["linkage"]
    # The first three values and the last three are in 1, 2 and 3 of them.
    assert linkage["sizes"] == {"1": 2, "2": 2, "3-4": 299}


def test_a_sensitive_value_may_be_written_as_other_tools_write_it() -> None:
    original = pd.DataFrame({"a": ["x"] * 4, "s": [5, 5, 5, 5]})
    release = pd.DataFrame({"a": ["x"] * 4, "s": [5.0, 5.0, 5.0, 5.0]})
    found = kanon.attack(
        release, original=original, quasi_identifiers=["a"], sensitive=["s"], hierarchies={"a": "flat"}
    )
    assert by_name(found)["homogeneity"]["rows_certain_right"] == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--qi", "zip,age", "--hierarchies", "h", "--sensitive", "nothing"), "no column 'nothing'"),
        (("--qi", "zip,age", "--hierarchies", "h", "--sensitive", "age"), "two roles"),
        (("--qi", "zip,age", "--hierarchies", "h", "--confidence", "0"), "confidence"),
        (("--qi", "zip,age", "--hierarchies", "h", "--confidence", "1.1"), "confidence"),
        (("--qi", "zip,age", "--hierarchies", "h", "--ruled-out", "0"), "ruled out"),
        (("--qi", "zip,age", "--hierarchies", "h", "--other", "nowhere.csv"), "nowhere.csv"),
        (("--qi", "zip,age"), "--hierarchy"),
        (("--hierarchies", "h"), "quasi-identifier"),
    ],
)
def test_what_is_wrong_is_said(
    inpatients: Path, kanon: Callable[..., Ended], arguments: tuple[str, ...], said: str
) -> None:
    assert inpatients.is_dir()
    ended = kanon("attack", "published.csv", "--original", "inpatients.csv", *arguments)
    assert ended.code in {2, 3}
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert "13053" not in ended.err


@pytest.mark.thorough
def test_sql_is_what_was_run(inpatients: Path, kanon: Callable[..., Ended]) -> None:
    assert inpatients.is_dir()
    ended = kanon(*INPATIENT_ATTACK, "--sql")
    assert ended.code == 0
    assert "-- the classes of each tuple" in ended.out or "-- the class of each tuple" in ended.out
    assert "-- how far it follows the original" in ended.out


@pytest.mark.thorough
def test_a_policy_names_the_columns(inpatients: Path, kanon: Callable[..., Ended]) -> None:
    (inpatients / "kanon.toml").write_text(
        '[columns]\nquasi_identifiers = ["zip", "age", "nationality"]\nsensitive = ["condition"]\n'
        '[privacy]\nk = 5\n[hierarchies]\ndirectory = "h"\n',
        encoding="utf-8",
    )
    ended = kanon(
        "attack", "published.csv", "--original", "inpatients.csv", "--policy", "kanon.toml", "--format", "json"
    )
    assert ended.code == 1, ended.err
    assert ended.json["attacks"][0]["k"] == 5
    assert ended.json["attacks"][1]["column"] == "condition"


@pytest.mark.thorough
def test_nothing_is_left_in_a_connection() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE o AS SELECT i % 3 AS a, i % 2 AS s FROM range(30) AS t(i)")
        kanon.attack(
            connection, "o", original=connection, original_table="o", quasi_identifiers=["a"], sensitive=["s"],
            hierarchies={"a": "flat"}, others=["o"],
        )  # fmt: skip
        seen = connection.execute("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'kanon%'").fetchall()
        assert seen == []


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS[:4], ids=lambda way: "-".join(way.values()))
def test_adult_is_found_in_no_class_below_k(adult: Path, way: dict[str, str]) -> None:
    """The tool's own releases: nobody is left with fewer than 5, and DuckDB counts the homogeneous classes alike."""
    asked: dict[str, Any] = {
        "quasi_identifiers": ADULT_QI, "sensitive": ["salary-class"], "hierarchies": adult,
    }  # fmt: skip
    with kanon.anonymize(adult / "adult.csv", rest="drop", **asked, **way) as release:
        frame = release.to_pandas()
    found = by_name(kanon.attack(frame, original=adult / "adult.csv", **asked))
    assert found["linkage"]["rows_below_k"] == 0
    assert found["linkage"]["smallest"] >= 5
    assert not found["order"]["succeeded"]
    if way["algorithm"] == "optimal":  # one class for each person: count the release alone
        columns = ", ".join(f'"{column}"' for column in ADULT_QI)
        alike = duckdb.from_df(frame).aggregate('count(*) AS n, count(DISTINCT "salary-class") AS d', columns)
        certain = alike.filter("d = 1").aggregate("sum(n)").fetchall()
        assert [(found["homogeneity"]["rows_certain"],)] == certain
        assert found["linkage"]["rows_with_one_class"] == len(frame)
