"""The report: what it says is so, it has no value that the release has not, and no small number can be found."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import duckdb
import pandas as pd
import pytest

import kanon_sql as kanon
from kanon_sql.evidence.report.attributes import Cell, has_few
from kanon_sql.evidence.report.figures import Attribute
from kanon_sql.evidence.report.gather import report_of
from kanon_sql.evidence.report.words import NOTHING, kind_of_values, technique
from kanon_sql.evidence.report.written import FORMATS
from kanon_sql.evidence.standards.judge import VERDICTS
from kanon_sql.measures.utility.spread import UtilitySettings
from kanon_sql.policy.policy import CHOICE_IS_GREEDY
from kanon_sql.risks.attacks.verdicts import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

    Kanon = Callable[..., Ended]

K = 5
# Two towns with ten streets each, and a hamlet whose two people are left out: its label must not be told.
STREETS = {f"RAWSTREET-{number}": f"Town {number % 2}" for number in range(20)}
HAMLET = {"RAWSTREET-hamlet": "HAMLETLABEL"}
AGES = [7301 + 7 * number % 43 for number in range(40)]
MARKERS = ["IDMARK", "RAWSTREET", "HAMLETLABEL", "SENSMARK", "KEEPMARK", "DROPMARK", "98765", *map(str, AGES)]


@pytest.fixture
def town(in_tmp: Path) -> Path:
    """A table with a marker in every role, and a hierarchy of streets.

    40 people of two towns, aged 7301 to 7343 (no bound of a range is an age); two of the hamlet, 98765 years old; one
    in eight has no age.
    """
    rows = [
        {
            "name": f"IDMARK{number}",
            "street": list(STREETS)[number % 20],
            "age": None if number % 8 == 7 else AGES[number],
            "illness": f"SENSMARK{number % 3}",
            "kept": f"KEEPMARK{number}",
            "dropped": f"DROPMARK{number}",
        }
        for number in range(40)
    ]
    rows += [{**rows[0], "name": f"IDMARK9{n}", "street": "RAWSTREET-hamlet", "age": 98765} for n in range(2)]
    frame = pd.DataFrame(rows).astype({"age": "Int64"})
    with duckdb.connect(str(in_tmp / "town.duckdb")) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    lines = [f"{street};{town};*" for street, town in (STREETS | HAMLET).items()]
    (in_tmp / "streets.csv").write_text("\n".join(lines) + "\n")
    return in_tmp / "town.duckdb"


OPTIONS = [
    *("--id", "name", "--qi", "street,age", "--sensitive", "illness"),
    *("--hierarchy", "street=streets.csv", "--hierarchy", "age=intervals:50", "--max-suppressed", "0.1", "--seed", "3"),
]
KEPT = [*OPTIONS, "--rest", "keep"]
DROPPED = [*OPTIONS, "--rest", "drop"]


def asked(**more: Any) -> dict[str, Any]:
    return {
        "identifying": ["name"],
        "quasi_identifiers": ["street", "age"],
        "sensitive": ["illness"],
        "rest": "drop",
        "hierarchies": {"street": "streets.csv", "age": "intervals:50"},
        "max_suppressed": 0.1,
        "seed": 3,
        **more,
    }


def texts(report: kanon.Report) -> dict[str, str]:
    return {"html": report.to_html(), "markdown": report.to_markdown(), "json": report.to_json()}


def undated(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


@pytest.mark.thorough
def test_what_the_report_says_is_so(town: Path, kanon: Kanon) -> None:
    """By hand: 42 people, of whom the two of the hamlet are left out; streets become towns."""
    assert kanon("anonymize", town, "people", *DROPPED, "--into", "released", "-q").code == 0
    ended = kanon("report", town, "people", *DROPPED, "--release", "released", "--format", "json")
    assert ended.code == 0, ended.err
    found = ended.json
    assert (found["rows_in"], found["rows_out"], found["rows_suppressed"]) == (42, 40, 2)
    assert (found["holds"], found["published"], found["kind"]) == (True, "released", "table")
    with duckdb.connect(str(town), read_only=True) as connection:
        rows = connection.execute("SELECT street, age, count(*) FROM released GROUP BY ALL").fetchall()
        streets = Counter(dict(connection.execute("SELECT street, count(*) FROM released GROUP BY ALL").fetchall()))
    assert found["classes"] == len(rows)
    assert found["smallest_class"] == min(n for *_, n in rows)
    (requirement,) = found["requirements"]
    assert requirement == {
        "model": "k-anonymity",
        "letter": "k",
        "sensitive": None,
        "entity": None,
        "required": K,
        "measured": min(n for *_, n in rows),
        "holds": True,
    }
    attributes = {attribute["name"]: attribute for attribute in found["attributes"]}
    assert {name: attribute["role"] for name, attribute in attributes.items()} == {
        "name": "direct identifier",
        "street": "quasi-identifier",
        "age": "quasi-identifier",
        "illness": "sensitive attribute",
        "kept": "other attribute",
        "dropped": "other attribute",
    }
    after = {count["label"]: count["rows_out"] for count in attributes["street"]["distribution"] if count["rows_out"]}
    assert after == streets
    # Two rows are left out, fewer than k: no number before is told.
    assert [count["rows_in"] for count in attributes["street"]["distribution"]] == [None] * (len(streets) + 1)
    assert found["risk_before"]["prosecutor"]["highest"] == 1.0, "two of a street differ in age"
    assert found["risk_after"]["prosecutor"]["highest"] == 1 / found["smallest_class"]
    assert [point["k"] for point in found["curve"]] == [2, 3, 5, 10, 20]
    assert [point["k"] for point in found["curve"] if point["chosen"]] == [K]
    linkage = next(attack for attack in found["attacks"] if attack["name"] == "linkage")
    assert linkage["succeeded"] is False
    assert linkage["figures"]["rows_without_class"] == 2


@pytest.mark.thorough
def test_the_loss_of_each_column_is_that_of_the_columns_together(town: Path) -> None:
    report = kanon.report(town, "people", **asked())
    losses = [attribute.loss for attribute in report.quasi_identifiers]
    assert report.measures is not None
    assert all(loss is not None for loss in losses)
    assert sum(loss or 0 for loss in losses) / len(losses) == pytest.approx(report.measures["loss"], abs=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"algorithm": "optimal", "choice": "greedy", "models": [kanon.KAnonymity(K), kanon.DistinctLDiversity(2)]},
    ],
)
def test_no_raw_value_is_in_a_report(town: Path, more: dict[str, Any]) -> None:
    """Every role has a marker. Fingerprints and fractions are left out: they may have any digits."""
    report = kanon.report(town, "people", **asked(**more))
    assert report.rows_suppressed == 2
    assert {attribute.level for attribute in report.quasi_identifiers} == {1}
    for kind, text in texts(report).items():
        plain = re.sub(r"\b[0-9a-f]{64}\b|\d+\.\d+", "", text)
        assert [marker for marker in MARKERS if marker in plain] == [], kind


@pytest.mark.thorough
@pytest.mark.parametrize(
    "algorithm", ["local", "spolg", "mondrian", "mondrian-plus", "datafly", "samarati", "incognito"]
)
def test_only_labels_of_the_release_are_in_a_report(town: Path, algorithm: str) -> None:
    """Of recodings that keep values: each label that is told is in the release, and nobody is who is not."""
    settings = asked(algorithm=algorithm, rest="keep")
    report = kanon.report(town, "people", **settings)
    with kanon.anonymize(town, "people", **settings) as release:
        frame = release.to_pandas()
    for attribute in report.quasi_identifiers:
        told = {count.label for count in attribute.distribution if count.kind == "label"}
        assert told - {None} <= set(frame[attribute.name].dropna().astype(str))
        assert sum(count.rows_out for count in attribute.distribution) == len(frame) == report.rows_out
        if not report.rows_suppressed:
            assert all(count.rows_in == count.rows_out for count in attribute.distribution)
    hidden = ["IDMARK", "SENSMARK", "KEEPMARK", "DROPMARK"]
    hidden += ["RAWSTREET", "HAMLETLABEL"] if report.rows_suppressed else []
    for kind, text in texts(report).items():
        assert [marker for marker in hidden if marker in text] == [], kind


@pytest.mark.thorough
def test_the_same_input_gives_the_same_bytes(town: Path) -> None:
    one, other = (texts(kanon.report(town, "people", **asked())) for _ in range(2))
    assert {kind: undated(text) for kind, text in one.items()} == {kind: undated(text) for kind, text in other.items()}


# What was published


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["out.csv", "out.parquet", "out.json", "out.jsonl", "out.duckdb"])
def test_a_published_file_is_proven_to_be_what_the_policy_makes(town: Path, kanon: Kanon, file: str) -> None:
    """Read back in whatever format; NULLs, empty texts and numbers that look like texts among the values."""
    with duckdb.connect(str(town)) as connection:
        connection.execute(
            "UPDATE people SET kept = CASE WHEN name < 'IDMARK2' THEN '' WHEN name < 'IDMARK3' THEN NULL ELSE '007' END"
        )
    assert kanon("anonymize", town, "people", *KEPT, "--out", file, "-q", "--save-policy", "kanon.toml").code == 0
    ended = kanon("report", town, "people", "--policy", "kanon.toml", "--out", "report.html")
    assert ended.code == 0, ended.err
    assert f"-&gt; {file}" not in ended.out
    assert file in ended.out
    text = (town.parent / "report.html").read_text(encoding="utf-8")
    assert f'<bdi class="name">{file}</bdi>' in text
    assert "not published yet" not in text.lower()


@pytest.mark.thorough
def test_a_release_that_is_another_is_refused(town: Path, kanon: Kanon) -> None:
    assert kanon("anonymize", town, "people", *DROPPED, "--into", "released", "-q").code == 0
    with duckdb.connect(str(town)) as connection:
        connection.execute("DELETE FROM released WHERE rowid = 0")
        connection.execute("UPDATE released SET illness = NULL WHERE rowid IN (1, 2)")
    ended = kanon("report", town, "people", *DROPPED, "--release", "released", "--out", "report.html")
    assert ended.code == 1
    assert "3 of the 40 rows that the policy makes are not in it, and 2 rows that are in it are not" in ended.err
    assert "--seed" in ended.err
    assert not (town.parent / "report.html").exists()
    other = kanon("report", town, "people", *KEPT, "--release", "released", "--out", "report.html")
    assert other.code == 1
    assert "it has other columns" in other.err


def test_a_file_with_other_types_is_refused(in_tmp: Path, kanon: Kanon) -> None:
    pd.DataFrame({"age": [1] * 10, "n": range(10)}).to_csv("table.csv", index=False)
    pd.DataFrame({"age": [1] * 10, "n": ["many"] * 10}).to_csv("other.csv", index=False)
    ended = kanon(
        "report", "table.csv", "--qi", "age", "--rest", "keep", "--release", "other.csv", "--out", "report.md"
    )
    assert ended.code == 1
    assert "10 of the 10 rows that the policy makes are not in it" in ended.err
    assert not (in_tmp / "report.md").exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("csv", lambda line, place: line.replace("30,", f"30.{place:03},")),
        ("csv", lambda line, place: line.replace("30,", f"{'0' * place}30,")),
        ("csv", lambda line, _: line.replace("True", "yes")),
        ("jsonl", lambda line, place: line.replace(":30", f":30.{place:03}")),
        ("jsonl", lambda line, _: line.replace(":30", ':"30"')),
    ],
)
def test_what_a_cast_would_lose_is_seen(
    in_tmp: Path, kanon: Kanon, kind: str, change: Callable[[str, int], str]
) -> None:
    """A number for each row, hidden where a reader of numbers does not look: every row could be told from others."""
    pd.DataFrame({"age": [30] * 12, "fit": [True] * 12}).to_csv("table.csv", index=False)
    asked_for = ("table.csv", "--qi", "age,fit", "--rest", "drop")
    assert kanon("anonymize", *asked_for, "--out", f"given.{kind}", "-q").code == 0
    given = in_tmp / f"given.{kind}"
    assert kanon("report", *asked_for, "--release", given, "--out", "good.md").code == 0
    lines = given.read_text(encoding="utf-8").splitlines()
    given.write_text("\n".join(change(line, place) for place, line in enumerate(lines)) + "\n", encoding="utf-8")
    ended = kanon("report", *asked_for, "--release", given, "--out", "bad.md")
    assert (ended.code, "rows that the policy makes are not in it" in ended.err) == (1, True)
    assert not (in_tmp / "bad.md").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("type_", ["DOUBLE", "VARCHAR"])
def test_a_table_of_other_types_is_no_release(in_tmp: Path, kanon: Kanon, type_: str) -> None:
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 30 AS age FROM range(10)")
    assert kanon("anonymize", "t.duckdb", "t", "--qi", "age", "--into", "released", "-q").code == 0
    with duckdb.connect("t.duckdb") as connection:
        connection.execute(f"ALTER TABLE released ALTER age TYPE {type_}")
    ended = kanon("report", "t.duckdb", "t", "--qi", "age", "--release", "released", "--out", "bad.md")
    assert (ended.code, "has other types in 'age'" in ended.err) == (1, True)
    assert not (in_tmp / "bad.md").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["names", "tied"])
def test_pseudonyms_that_cannot_be_made_again_are_looked_at(in_tmp: Path, kanon: Kanon, how: str) -> None:
    """The raw names in their place; or the rows of others tied together."""
    people = [f"person {number}" for number in range(10) for _ in range(2)]
    pd.DataFrame({"name": people, "age": [30, 31] * 10}).to_csv("table.csv", index=False)
    asked_for = ("table.csv", "--pseudonymize", "name", "--qi", "age", "--rest", "drop", "-k", "2", "--count", "rows")
    assert kanon("anonymize", *asked_for, "--out", "given.csv", "-q").code == 0
    assert kanon("report", *asked_for, "--release", "given.csv", "--out", "good.md").code == 0
    given = pd.read_csv("given.csv", dtype=str)
    if how == "names":
        known = dict(zip(given["name"].unique(), sorted(set(people)), strict=True))
        given["name"] = given["name"].map(known)
    else:
        given = given.sort_values("age")
        given["name"] = [f"{place // 2:032x}" for place in range(len(given))]
    given.to_csv("given.csv", index=False)
    ended = kanon("report", *asked_for, "--release", "given.csv", "--out", "bad.md")
    assert ended.code == 1
    assert ("that are no pseudonyms" if how == "names" else "ties other rows together by 'name'") in ended.err
    assert not (in_tmp / "bad.md").exists()


@pytest.mark.thorough
def test_types_and_orders_tell_no_values(in_tmp: Path, kanon: Kanon) -> None:
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE TYPE who AS ENUM ('Marker Alice', 'Marker Bob')")
        connection.execute("CREATE TABLE t AS SELECT 'Marker Bob'::who AS w, 30 AS age, i % 3 AS d FROM range(30) r(i)")
    asked_for = ("t.duckdb", "t", "--id", "w", "--qi", "age", "--sensitive", "d")
    assert kanon("report", *asked_for, "--out", "r.json").code == 0
    text = (in_tmp / "r.json").read_text(encoding="utf-8")
    assert "Marker" not in text
    (order,) = [attack for attack in json.loads(text)["attacks"] if attack["name"] == "order"]
    assert "orders" not in order["figures"]
    assert "Marker" not in kanon("profile", "t.duckdb", "t").out


@pytest.mark.thorough
def test_before_it_is_published_the_report_says_so(town: Path, kanon: Kanon) -> None:
    ended = kanon("report", town, "people", *DROPPED, "--out", "report.md")
    assert ended.code == 0, ended.err
    assert "not published yet" in ended.out
    assert "**Not published yet:**" in (town.parent / "report.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_view_is_reported_on_and_is_no_release(town: Path, kanon: Kanon) -> None:
    assert kanon("anonymize", town, "people", *DROPPED, "--into", "shown", "--as", "view", "-q").code == 0
    found = kanon(
        "report", town, "people", *DROPPED, "--release", "shown", "--out", "report.md", "--format", "json"
    ).json
    assert found["kind"] == "view"
    order = next(attack for attack in found["attacks"] if attack["name"] == "order")
    assert order["succeeded"] is None
    assert "A view is no release" in (town.parent / "report.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_pseudonyms_by_a_key_that_was_drawn_are_not_compared(town: Path, kanon: Kanon) -> None:
    options = [*("--pseudonymize", "kept", "--count", "rows"), *DROPPED]
    assert kanon("anonymize", town, "people", *options, "--into", "released", "-q").code == 0
    ended = kanon("report", town, "people", *options, "--release", "released", "--out", "report.json")
    assert ended.code == 0, ended.err
    found = json.loads((town.parent / "report.json").read_text())
    assert found["pseudonyms"]["key"] == "drawn"
    assert "KEEPMARK" not in json.dumps(found)
    (town.parent / "key").write_bytes(b"0123456789abcdef")
    with_key = [*options, "--key-file", "key"]
    assert kanon("anonymize", town, "people", *with_key, "--out", "keyed.csv", "-q", "--ignore-ledger").code == 0
    assert kanon("report", town, "people", *with_key, "--release", "keyed.csv", "--out", "keyed.html").code == 0
    (town.parent / "key").write_bytes(b"another key than that")
    assert kanon("report", town, "people", *with_key, "--release", "keyed.csv", "--out", "other.html").code == 1


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_people_are_counted_where_the_release_counts_them() -> None:
    """20 people with two rows each; one with six rows of her own, who is left out: six rows, but one person."""
    rows = [{"person": number % 20, "sex": "FM"[number % 2], "town": "A"} for number in range(40)]
    rows += [{"person": 99, "sex": "F", "town": "LONELY"}] * 6
    duckdb.from_df(pd.DataFrame(rows)).to_parquet("visits.parquet")
    report = kanon.report(
        "visits.parquet",
        quasi_identifiers=["sex", "town"],
        hierarchies={"sex": "flat", "town": "flat"},
        models=[kanon.KAnonymity(K, entity="person")],
        max_suppressed=0.2,
    )
    assert report.rows_suppressed == 6
    (requirement,) = report.requirements
    assert (requirement.entity, requirement.measured) == ("person", 10)
    sex = report.quasi_identifiers[0]
    assert [count.rows_in for count in sex.distribution] == [None, None, None], "six rows of one person are few"
    assert "LONELY" not in "".join(texts(report).values())
    assert "of people, named by" in report.to_html()


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_people_of_several_rows_are_counted_once(algorithm: str) -> None:
    """12 people, each alone in two towns before: 24 records, and no figure called people is above 12."""
    rows = [{"person": n, "town": f"T{2 * n + visit}", "sex": "FM"[n % 2]} for n in range(12) for visit in range(2)]
    duckdb.from_df(pd.DataFrame(rows)).to_parquet("visits.parquet")
    report = kanon.report(
        "visits.parquet",
        quasi_identifiers=["town", "sex"],
        hierarchies={"town": "flat", "sex": "flat"} if algorithm != "mondrian" else None,
        models=[kanon.KAnonymity(K, entity="person")],
        algorithm=algorithm,
    )
    before, after = report.risk_before, report.risk_after
    assert (before.people, before.members, before.prosecutor.uniques) == (12, 24, 12)
    assert (after.counted, after.people, after.prosecutor.uniques) == ("people", 12, 0)
    (requirement,) = report.requirements
    assert (report.smallest, after.smallest_class) == (requirement.measured, requirement.measured)
    for text in (report.to_html(), report.to_markdown()):
        assert max(int(n.replace(",", "")) for n in re.findall(r"(\d[\d,]*) people", text)) == 12
        assert "12 people (100.00 %) were alone" in re.sub(r"<[^>]*>|\\\\", "", text).replace("\\", "")
        assert "People before" not in text
        assert "Records before" in text


def test_a_greedy_choice_is_said_wherever_a_model_of_sensitive_values_is(
    in_tmp: Path, request: pytest.FixtureRequest
) -> None:
    """In the output, in JSON, and in a report, whose headline is not green; all or none, and k alone, need no word."""
    command: Kanon = request.getfixturevalue("kanon")
    frame = pd.DataFrame({"age": [20, 30] * 20, "illness": ["flu", "cough", "pox", "gout"] * 10})
    frame.to_csv("people.csv", index=False)
    options = ("people.csv", "--qi", "age", "--sensitive", "illness", "-k", 5, "--algorithm", "mondrian")
    for more, choice in [
        (("--l", "2", "--choice", "greedy"), "greedy"),
        (("--l", "2", "--choice", "all-or-none"), "all-or-none"),
        (("--l", "2"), "all-or-none"),
        (("--choice", "greedy"), None),
    ]:
        greedy = choice == "greedy"
        made = command("anonymize", *options, *more, "--out", "out.csv")
        assert made.code == 0, made.err
        lines = [line for line in made.out.splitlines() if line.startswith("choice ")]
        assert [re.split(r"\s+", line)[1] for line in lines] == (["greedy:"] if greedy else [])
        found = command("anonymize", *options, *more, "--out", "out.json", "--format", "json").json
        assert found["choice"] == choice
        models = (*((kanon.DistinctLDiversity(2),) if "--l" in more else ()), kanon.KAnonymity(5))
        report = kanon.report(
            frame, quasi_identifiers=["age"], sensitive=["illness"], models=models, algorithm="mondrian",
            choice="greedy" if "greedy" in more else "all-or-none",
        )  # fmt: skip
        assert report.choice == choice
        assert (CHOICE_IS_GREEDY in report.notes) == greedy
        badges = BADGE.findall(report.to_html())
        said = [tone for tone, _, text in badges if "knows the algorithm" in html.unescape(text)]
        assert said == (["warn"] if greedy else [])
        for name in ("out.csv", "out.json"):
            (in_tmp / name).unlink()


MARKS = {  # words of a badge, and the tone and mark that agree with them
    "succeeds": ("bad", "!!"),
    "not excluded": ("warn", "!"),
    "finds nothing": ("neutral", NOTHING),
    "not meaningful": ("neutral", NOTHING),
    "not tested": ("neutral", NOTHING),
    "holds": ("good", "✓"),
    "does not hold": ("bad", "!!"),
    "fails": ("bad", "!!"),
    "not known": ("warn", "!"),
    "for a person": ("neutral", NOTHING),
    "not by the quasi-identifiers": ("good", "✓"),
    "All requirements hold": ("good", "✓"),
    "Not all requirements hold": ("bad", "!!"),
}
AGAINST = {"fails", "not known"}
BADGE = re.compile(r'<span class="badge (\w+)"><span aria-hidden="true">(.+?)</span> (.+?)</span>')


@pytest.mark.thorough
def test_every_verdict_agrees_with_its_mark() -> None:
    """Fails before 0.2.0: an attack that "fails" had a check mark, and one that "succeeds" a cross."""
    frame = pd.DataFrame({"age": [20, 30] * 10, "illness": ["flu", "cough", "pox", "gout"] * 5})
    made = kanon.report(frame, quasi_identifiers=["age"], sensitive=["illness"], standards=["gbt-42460:public"])
    assert set(get_args(Outcome)) | set(VERDICTS) <= set(MARKS)
    rule = made.standards[0].rules[0]
    for outcome, holds, verdict in itertools.product(get_args(Outcome), (True, False), VERDICTS):
        report = replace(
            made,
            attacks=tuple(replace(one, outcome=outcome) for one in made.attacks),
            requirements=tuple(replace(one, holds=holds) for one in made.requirements),
            standards=(replace(made.standards[0], rules=(replace(rule, verdict=verdict),)),),
        )
        page = report.to_html()
        badges = [(html.unescape(text), tone, mark) for tone, mark, text in BADGE.findall(page)]
        assert page.count('class="badge ') == len(badges)
        assert {outcome, verdict, "holds" if holds else "does not hold"} <= {text for text, *_ in badges}
        for text, tone, mark in badges:
            if text in MARKS:
                assert (tone, mark) == MARKS[text]
            else:  # a sentence with something that speaks against the release
                assert (tone, mark) in {("warn", "!"), ("bad", "!!")}, text
        first, tone, _ = badges[0]
        all_hold = holds and outcome not in {"succeeds", "not excluded", "not tested"} and verdict not in AGAINST
        assert (first == "All requirements hold", first == "Not all requirements hold") == (all_hold, not holds)
        assert (tone == "good", tone == "bad") == (all_hold, not holds)


@pytest.mark.thorough
def test_an_attack_that_succeeds_is_seen_beside_requirements_that_hold(in_tmp: Path, kanon: Kanon) -> None:
    """Two classes of ten; in one of them everybody has the same illness, of three. The other column has two values."""
    rows = [{"sex": "F", "illness": "flu", "smokes": n % 2} for n in range(10)]
    rows += [{"sex": "M", "illness": ["cough", "gout", "flu"][n % 3], "smokes": n % 2} for n in range(10)]
    pd.DataFrame(rows).to_csv("table.csv", index=False)
    options = ["--qi", "sex", "--hierarchy", "sex=flat"]
    ended = kanon("report", "table.csv", *options, "--sensitive", "illness,smokes", "--out", "report.html")
    assert ended.code == 0, ended.err
    page = (in_tmp / "report.html").read_text(encoding="utf-8")
    assert re.search(r'class="badge warn">.{0,40}</span> Requirements hold; 2 attacks succeed<', page)
    assert "All requirements hold" not in page
    assert "(in kanon.toml: l = { illness = 2 } under [privacy])" in page
    assert "> not meaningful<" in page
    assert "The column has only 2 values" in page
    assert not re.search(r"> (stopped|not tried)<", page)
    assert "background knowledge of illness  --l illness=3 or more" in ended.out
    found = kanon("report", "table.csv", *options, "--sensitive", "illness", "--rest", "drop", "--format", "json").json
    stopped_by = {attack["name"]: attack["stopped_by"] for attack in found["attacks"] if attack["succeeded"]}
    assert stopped_by == {
        "homogeneity": "--l 2 or more (in kanon.toml: l = 2 under [privacy])",
        "background knowledge": "--l 3 or more (in kanon.toml: l = 3 under [privacy])",
    }
    for remedy in ("l = 3", "l = { illness = 3 }"):
        (in_tmp / "kanon.toml").write_text(
            '[columns]\nquasi_identifiers = ["sex"]\nsensitive = ["illness"]\nrest = "drop"\n'
            '[hierarchies]\nsex = "flat"\n'
            f"[privacy]\nk = 5\n{remedy}\n"
            '[search]\nchoice = "greedy"\n'
        )
        found = kanon("report", "table.csv", "--policy", "kanon.toml", "--format", "json").json
        assert not any(attack["succeeded"] for attack in found["attacks"])


@pytest.mark.thorough
def test_columns_published_as_they_are_are_counted_by_rows_that_are_alone() -> None:
    """By hand: two classes of ten. Of amounts ten are alone in F and none in M; a NULL is a value; of grades none."""
    rows = [{"sex": "F", "amount": float(n), "grade": 1} for n in range(10)]
    rows += [{"sex": "M", "amount": None if n < 2 else 7.0, "grade": 1} for n in range(10)]
    report = kanon.report(pd.DataFrame(rows), quasi_identifiers=["sex"], sensitive=["grade"], rest="keep")
    alone = {attribute.name: attribute.rows_alone for attribute in report.attributes}
    assert alone == {"sex": None, "amount": 10, "grade": 0}
    page = re.sub(r"<[^>]*>", "", report.to_html())
    assert "Nearly unique column published: with the value of amount, 50.00 % of the rows" in page
    assert "Columns that are published as they are" in page


@pytest.mark.thorough
def test_the_release_in_place_of_the_original_is_refused(town: Path, kanon: Kanon) -> None:
    options = [*DROPPED, "--save-policy", "kanon.toml", "-q"]
    assert kanon("anonymize", town, "people", *options, "--out", "released.csv").code == 0
    said = "looks like the release"
    ended = kanon("report", "released.csv", "--policy", "kanon.toml", "--out", "report.html")
    assert (ended.code, said in ended.err, "the file that the policy publishes to" in ended.err) == (2, True, True)
    ended = kanon("report", "released.csv", *DROPPED, "--out", "report.html")
    assert (ended.code, said in ended.err, "identifying columns of the policy (name)" in ended.err) == (2, True, True)
    assert "--release" in ended.err
    pd.DataFrame({"sex": ["*"] * 9, "town": ["A"] * 9}).to_csv("hidden.csv", index=False)
    ended = kanon("report", "hidden.csv", "--qi", "sex,town", "--out", "report.html")
    assert (ended.code, "sex has no value but the label *" in ended.err) == (2, True)
    assert not (town.parent / "report.html").exists()


@pytest.mark.parametrize(
    ("rule", "level", "height", "said"),
    [
        ("date:month,quarter,year,decade", 4, 5, "generalized to the decade"),
        ("mask:right", 3, 5, "the last 3 characters hidden"),
        ("mask:left:2,4", 2, 3, "the first 4 characters hidden"),
        ("mask:right:1,2", 1, 3, "the last character hidden"),
        ("intervals:5,10:top=90", 2, 3, "put into ranges of 10"),
        ("cut:2,3,letters", 3, 4, "only the first letters kept"),
        ("cut:2,3,letters", 2, 4, "the last 3 characters left out"),
        ("round:1,2", 2, 3, "rounded to 100"),
        ("truncate:1,2", 2, 3, "truncated to 100"),
        ("quantiles:16,8 (bounds chosen by the data)", 2, 3, "put into 8 groups of similar size"),
        ("prefixes (lengths chosen by the data)", 1, 3, "only the first characters kept"),
        ("ready:postcode_gb", 1, 3, "put into groups of the ready-made list postcode_gb"),
        ("streets.csv", 1, 2, "put into groups that a file lists"),
        ("flat", 1, 1, "hidden: every value is the same label"),
        ("flat", 0, 1, "not generalized: every value as it was"),
        ("intervals:5,10", None, 3, "put into ranges, as far as each group needs"),
    ],
)
def test_techniques_are_told_in_words(rule: str, level: int | None, height: int, said: str) -> None:
    attribute = Attribute("a", "BIGINT", "quasi-identifier", "generalized", rule, height=height, level=level)
    assert technique(attribute) == said
    assert kind_of_values(attribute) == "whole number"


@pytest.mark.thorough
def test_the_original_by_label_is_told_where_enough_rows_were_left_out() -> None:
    """By hand: 30 of A and 30 of B; six of A alone are left out (each with a zip of its own), none of B."""
    rows = [{"town": "AB"[number % 2], "zip": 1} for number in range(60)]
    rows += [{"town": "A", "zip": 2 + number} for number in range(6)]
    report = kanon.report(
        pd.DataFrame(rows),
        quasi_identifiers=["town", "zip"],
        hierarchies={"town": "flat", "zip": "flat"},
        max_suppressed=0.2,
    )
    town, code = report.quasi_identifiers
    assert [(count.label, count.rows_in, count.rows_out) for count in town.distribution] == [
        *(("A", 36, 30), ("B", 30, 30)),
        (None, 0, 0),
    ]
    assert [(count.kind, count.rows_in, count.rows_out) for count in code.distribution] == [
        *(("label", 60, 60), ("left out", 6, 0)),
    ]


# Numbers that are not shown


@pytest.mark.parametrize(
    ("cells", "few"),
    [([0, 0, 0], False), ([7, 0, 9], False), ([5], False), ([3, 0, 9], True), ([4], True), ([], False)],
)
def test_what_is_few_by_hand(cells: list[int], few: bool) -> None:
    assert has_few([Cell(rows, rows) for rows in cells], K) == few
    assert has_few([Cell(100, rows) for rows in cells], K, by_people=True) == few


# What may be handed in


HOSTILE = ["<script>alert(1)</script>", "a\"b'c", "x|y`z*", "]]>&amp;", "select", "\u202eturned", "tab\tnew\nline"]


MODELS = [
    kanon.TCloseness(t=0.5, distance="equal"),
    kanon.EntropyLDiversity(l=1.5),
    kanon.RecursiveCLDiversity(c=4, l=2),
    kanon.AlphaKAnonymity(alpha=0.9),
    kanon.EnhancedBetaLikeness(beta=3),
    kanon.DeltaDisclosure(delta=3),
]


@pytest.mark.thorough
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_models_of_a_sensitive_column_are_reported(town: Path, model: Any) -> None:
    report = kanon.report(
        town, "people", **asked(models=[kanon.KAnonymity(K), model], choice="greedy", max_suppressed=0.5)
    )
    assert [requirement.model for requirement in report.requirements] == ["k-anonymity", model.name]
    assert report.requirements[1].sensitive == "illness"
    assert report.holds
    homogeneity = next(attack for attack in report.attacks if attack.name == "homogeneity")
    assert (homogeneity.about, homogeneity.succeeded) == ("illness", False)
    assert [marker for marker in ("SENSMARK", "HAMLETLABEL") if marker in "".join(texts(report).values())] == []


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_where_no_k_was_asked_for_few_are_fewer_than_five() -> None:
    """k-map: ten of each in the population, of whom six of A, three of B and one of C are in the table."""
    pd.DataFrame({"town": list("ABC") * 10}).to_csv("everybody.csv", index=False)
    pd.DataFrame({"town": list("AAAAAABBBC")}).to_csv("table.csv", index=False)
    report = kanon.report(
        "table.csv",
        quasi_identifiers=["town"],
        hierarchies={"town": "flat"},
        models=[kanon.KMap(10)],
        population="everybody.csv",
    )
    (town,) = report.quasi_identifiers
    assert [(count.kind, count.label, count.rows_out) for count in town.distribution] == [
        *(("label", "A", 6), ("others", None, 4)),
    ]
    assert (report.k, report.smallest_class, report.curve) == (5, 1, ())
    page = report.to_html()
    assert "Some rows are like no other" in page
    assert "Journalist, highest risk (k-map)" in page
    assert "possible" in page


@pytest.mark.thorough
def test_hostile_names_and_labels_are_text() -> None:
    frame = pd.DataFrame({name: [name] * 10 for name in HOSTILE})
    report = kanon.report(frame, quasi_identifiers=HOSTILE, hierarchies=dict.fromkeys(HOSTILE, "flat"))
    page, text = report.to_html(), report.to_markdown()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page + text
    assert "<script" not in re.sub(r"```.*?\n```", "", text, flags=re.DOTALL).replace("\\<", "")
    assert json.loads(report.to_json())["attributes"][0]["name"] == HOSTILE[0]


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_a_table_without_rows_has_a_report(algorithm: str) -> None:
    frame = pd.DataFrame(
        {"age": pd.Series([], dtype="Int64"), "sex": pd.Series([], dtype="string"), "d": pd.Series([], dtype="string")}
    )
    report = kanon.report(frame, quasi_identifiers=["age", "sex"], sensitive=["d"], algorithm=algorithm)
    assert (report.rows_in, report.rows_out, report.classes, report.smallest_class) == (0, 0, 0, None)
    assert report.curve == ()
    for text in texts(report).values():
        assert "no rows" in text or '"rows_in": 0' in text


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_values_of_every_kind_are_compared(kanon: Kanon) -> None:
    with duckdb.connect("all.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE t AS SELECT
              CASE WHEN i % 4 = 0 THEN NULL ELSE i % 2 END AS q,
              CASE i % 5 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN '-inf'::DOUBLE WHEN 2 THEN -0.0 END AS f,
              CASE WHEN i % 3 = 0 THEN 170141183460469231731687303715884105727::HUGEINT END AS h,
              DATE '0001-01-01' + i::INTEGER AS d, ['a', NULL, 'ß' || i] AS l, '' AS e, i % 2 = 0 AS b, 'a,"b' AS c
            FROM range(40) numbers(i)
            """
        )
    options = ["--qi", "q", "--rest", "keep"]
    assert kanon("anonymize", "all.duckdb", "t", *options, "--into", "r", "-q").code == 0
    assert kanon("anonymize", "all.duckdb", "t", *options, "--out", "r.csv", "-q").code == 0
    for release in ("r", "r.csv"):
        ended = kanon("report", "all.duckdb", "t", *options, "--release", release, "--out", f"{release}.html")
        assert ended.code == 0, ended.err


@pytest.mark.thorough
def test_means_cannot_be_measured_and_the_report_says_so() -> None:
    frame = pd.DataFrame({"age": [1, 2, 4, 8, 16, 32, 64, 128, 256, 513], "d": list("ababababab")})
    report = kanon.report(frame, quasi_identifiers=["age"], sensitive=["d"], algorithm="mondrian", numbers="mean")
    assert report.measures is None
    assert [attack.succeeded for attack in report.attacks] == [None]
    assert "could not be measured" in report.to_html()


# The command


@pytest.mark.thorough
def test_what_the_command_refuses(town: Path, kanon: Kanon) -> None:
    for arguments, said in [
        ([], "Say where the report should go"),
        (["--out", "report.pdf"], "not known by its suffix"),
        (["--out", "nowhere/report.html"], "does not exist"),
        (["--out", "streets.html", "--release", "streets.html"], "cannot be the report too"),
        (["--out", "report.html", "--release", "nothing"], "no table or view 'nothing'"),
        (["--out", "report.html", "--release", "people"], "is the original"),
        (["--out", "report.html", "--sql"], "do not go together"),
    ]:
        ended = kanon("report", town, "people", *DROPPED, *arguments)
        assert ended.code in {2, 3}, said
        assert said in ended.err
    (town.parent / "report.html").write_text("mine")
    ended = kanon("report", town, "people", *DROPPED, "--out", "report.html")
    assert (ended.code, "exists already" in ended.err) == (2, True)
    assert (town.parent / "report.html").read_text() == "mine"
    assert kanon("report", town, "people", *DROPPED, "--out", "report.html", "--replace").code == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"utility": True}, "kanon measure --utility"),
        pytest.param(
            {"utility": True, "target": "illness"}, "kanon measure --utility", marks=pytest.mark.thorough
        ),  # scikit-learn predicts it
        ({"control": "others.csv"}, "kanon attack --control"),
    ],
)
def test_figures_of_who_has_which_value_are_in_no_report_of_all_or_none(
    more: dict[str, Any], says: str, in_tmp: Path, request: pytest.FixtureRequest
) -> None:
    """An adversary: joint counts of the original left one world of six, and so did how often guesses were right."""
    command: Kanon = request.getfixturevalue("kanon")
    frame = pd.DataFrame({"age": range(40), "illness": ["flu", "cough", "pox", "gout"] * 10})
    for name, rows in (("people.csv", frame[:30]), ("others.csv", frame[30:])):
        rows.to_csv(in_tmp / name, index=False)
    options = [part for name, value in more.items() for part in (f"--{name}", value) if part is not True]
    told = ("report", "people.csv", "--qi", "age", "--sensitive", "illness", "-k", 5, "--format", "json", *options)
    ended = command(*told, "--l", 2)
    assert (ended.code, ended.out) == (2, "")
    assert says in " ".join(ended.err.split())
    assert "--set search.choice=greedy" in ended.err
    called: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": ["illness"], "seed": 1}
    models = (kanon.KAnonymity(5), kanon.DistinctLDiversity(2))
    with pytest.raises(kanon.UsageError, match=says):
        kanon.report("people.csv", **called, models=models, **more)
    for allowed in ((), ("--l", 2, "--choice", "greedy", "--algorithm", "mondrian")):
        assert command(*told, *allowed).code == 0


def test_a_release_that_was_made_already_has_no_such_figures() -> None:
    frame = pd.DataFrame({"age": range(40), "illness": ["flu", "cough", "pox", "gout"] * 10})
    models = (kanon.KAnonymity(5), kanon.DistinctLDiversity(2))
    with kanon.anonymize(frame, quasi_identifiers=["age"], sensitive=["illness"], models=models) as release:
        with pytest.raises(kanon.UsageError, match="could make a person's value certain"):
            report_of(release, utility=UtilitySettings())
        assert kanon.report(release).utility is None


@pytest.mark.thorough
def test_the_sql_of_a_report_is_what_is_run(town: Path, kanon: Kanon) -> None:
    ended = kanon("report", town, "people", *DROPPED, "--sql")
    assert ended.code == 0
    assert "-- the rows that were left out" in ended.out
    assert not list(town.parent.glob("*.html"))


@pytest.mark.thorough
def test_nothing_is_left_in_the_database(town: Path, kanon: Kanon) -> None:
    before = town.read_bytes()
    assert kanon("report", town, "people", *DROPPED, "--out", "report.html").code == 0
    assert town.read_bytes() == before
    assert sorted(path.name for path in town.parent.iterdir()) == ["report.html", "streets.csv", "town.duckdb"]


@pytest.mark.thorough
def test_a_release_of_the_library_has_a_report(town: Path) -> None:
    with duckdb.connect(str(town)) as connection, kanon.anonymize(connection, "people", **asked()) as release:
        report = kanon.report(release)
        assert report.published is None
        release.to_table("released")
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        assert {"people", "released"} <= tables
        assert not any(name.startswith(("kanon_reported", "kanon_left_out")) for name in tables)
    for suffix in FORMATS:
        report.write(town.parent / f"report{suffix}")
    assert json.loads((town.parent / "report.json").read_text(encoding="utf-8"))["rows_out"] == 40


# As it is published


@pytest.mark.thorough
@pytest.mark.parametrize("where", [["--into", "released"], ["--out", "released.csv"], ["--into", "v", "--as", "view"]])
def test_a_report_is_written_as_the_release_is_published(town: Path, kanon: Kanon, where: list[str]) -> None:
    options = [*KEPT, *where, "--asked-by", "The <board>", "--report", "report.json", "-q"]
    ended = kanon("anonymize", town, "people", *options)
    assert ended.code == 0, ended.err
    found = json.loads((town.parent / "report.json").read_text(encoding="utf-8"))
    assert (found["published"], found["asked_by"], found["rows_out"]) == (where[1], "The <board>", 40)
    assert found["search"]["seed"] == 3
    (town.parent / "again.toml").write_text(found["policy"], encoding="utf-8")
    again = kanon("report", town, "people", "--policy", "again.toml", "--format", "json")
    assert again.code == 0, again.err
    assert again.json["fingerprints"]["rows of the release"] == found["fingerprints"]["rows of the release"]
    assert again.json["published"] == where[1]


@pytest.mark.thorough
def test_in_place_figures_are_of_the_original_that_is_gone(town: Path, kanon: Kanon) -> None:
    ended = kanon("anonymize", town, "people", *DROPPED, "--in-place", "--no-backup", "--report", "report.html", "-q")
    assert ended.code == 0, ended.err
    page = (town.parent / "report.html").read_text(encoding="utf-8")
    assert "took the place of its table" in page
    assert "42" in page
    assert [marker for marker in MARKERS if re.search(rf"(?<![\w.]){marker}", page)] == []
    with duckdb.connect(str(town), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchone() == (40,)


def test_what_does_not_go_with_a_report_is_refused(town: Path, kanon: Kanon) -> None:
    for arguments, said in [
        (["--into", "r", "--asked-by", "me"], "give --set run.report=FILE too"),
        (["--into", "r", "--report", "r.txt"], "not known by its suffix"),
        (["--out", "r.json", "--report", "r.json"], "cannot be the report too"),
        (["--sql", "--report", "r.html"], "do not go together"),
        (["--in-place", "--no-backup", "--dry-run", "--report", "r.html"], "do not go together"),
    ]:
        ended = kanon("anonymize", town, "people", *DROPPED, *arguments)
        assert (ended.code, said in ended.err) == (2, True), ended.err
    assert sorted(path.name for path in town.parent.iterdir()) == ["streets.csv", "town.duckdb"]
