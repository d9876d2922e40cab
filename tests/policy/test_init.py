"""``kanon init``: policy files that say what the profile says, read back, and work at once."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pytest
from profile_tables import TEN, Table, frame

import kanon_sql as kanon
from kanon_sql.engine.base import written_name
from kanon_sql.policy.policy import read_policy
from kanon_sql.release import proposal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

HOSTILE = [
    'a"b; DROP TABLE x --',
    "select",
    "columns",
    "directory",
    "Geschlecht\n# x = 1",
    "emoji 🙂",
    "a.b = 'c'",
    " ",
]


@pytest.mark.thorough
@pytest.mark.parametrize("table", TEN, ids=lambda table: table.name)
def test_the_policy_of_kanon_init_works_at_once(table: Table, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    table.write(in_tmp / "t.csv")
    begun = kanon("init", "t.csv")
    assert begun.code == 0, begun.err
    assert "kanon anonymize --policy kanon.toml" in begun.out
    ended = kanon("anonymize", "--policy", "kanon.toml", "--format", "json")
    assert ended.code == 0, ended.err
    assert ended.json["k"] >= 5
    published = pd.read_csv(in_tmp / "t_k5.csv")
    profile = kanon("profile", "t.csv", "--format", "json").json
    known = {column["name"] for column in profile["columns"] if column["role"] == "quasi-identifying"}
    assert set(published.columns) == known


@pytest.mark.thorough
def test_the_policy_says_what_the_profile_says(in_tmp: Path) -> None:
    path = TEN[0].write(in_tmp / "t.csv")
    found = kanon.init_policy(path, out=in_tmp / "p.toml", k=7, sensitive=["icd10_code"])
    policy, destination = read_policy(in_tmp / "p.toml")
    assert policy.columns.entity == found.entity == "patient_id"
    assert policy.columns.quasi_identifiers == found.quasi_identifiers
    assert policy.columns.sensitive == ("icd10_code",), "a person named it; what the profile proposes waits"
    assert not policy.columns.insensitive
    assert policy.columns.proposed == found.quasi_identifiers
    assert {*policy.columns.identifying, "patient_id"} == set(found.of_role("identifying"))
    assert set(policy.hierarchies) == set(found.quasi_identifiers)
    assert policy.k == 7
    assert destination.out == in_tmp / "t_k7.csv"
    text = (in_tmp / "p.toml").read_text(encoding="utf-8")
    reasons = [column.reason for column in found.columns if column.name != "patient_id"]
    assert all(f"# {reason}" in text for reason in reasons)
    decided = tomllib.loads(text.replace("# l = {", "l = {").replace("# decide: ", ""))  # all can be taken in
    assert set(decided["privacy"]["l"]) == set(found.of_role("sensitive")) == set(decided["columns"]["sensitive"])
    assert decided["columns"]["insensitive"] == [*found.of_role("insensitive")]


@pytest.mark.thorough
def test_a_policy_that_is_there_is_kept(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    TEN[0].write(in_tmp / "t.csv")
    (in_tmp / "kanon.toml").write_text("mine", encoding="utf-8")
    ended = kanon("init", "t.csv")
    assert ended.code == 2
    assert "--replace" in ended.err
    assert (in_tmp / "kanon.toml").read_text(encoding="utf-8") == "mine"
    assert kanon("init", "t.csv", "--replace").code == 0
    assert read_policy(in_tmp / "kanon.toml")[0].columns.quasi_identifiers
    assert kanon("init", "t.csv", "--out", "no/where.toml").code == 3
    assert kanon("init", "t.csv", "--out", ".").code == 3
    assert {path.name for path in in_tmp.iterdir()} == {"t.csv", "kanon.toml"}


def test_the_release_gets_a_name_that_is_free(in_tmp: Path) -> None:
    with duckdb.connect(str(in_tmp / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 30 AS age FROM range(90) AS r(i)")
        connection.execute("CREATE TABLE T_K5 AS SELECT 1 AS x")
    kanon.init_policy(in_tmp / "d.duckdb", "t", out=in_tmp / "kanon.toml")
    assert read_policy(in_tmp / "kanon.toml")[1].into == "t_k5_2"


def test_a_hierarchy_in_the_database_is_left_to_it(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(in_tmp / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 30 AS age, i % 7 AS city FROM range(90) AS r(i)")
    assert kanon("hierarchy", "build", "d.duckdb", "t", "age=intervals:3,9").code == 0
    assert kanon("init", "d.duckdb", "t").code == 0
    assert set(read_policy(in_tmp / "kanon.toml")[0].hierarchies) == {"city"}


@pytest.mark.thorough
def test_without_a_hierarchy_anonymize_takes_what_init_writes(in_tmp: Path) -> None:
    """Fails on 0.1.0: it masked ZIP codes by every character and made intervals of its own for ages."""
    table = frame(
        zip=lambda row: f"{90210 + row % 40}", sex=lambda row: "FM"[row % 2], age=lambda row: 20 + row % 60,
        country=lambda row: ["DE", "FR", "PL"][row % 3], seen=lambda row: f"word {row % 4}",
    )  # fmt: skip
    named = list(table.columns)
    table.to_csv(in_tmp / "t.csv", index=False)
    kanon.init_policy(in_tmp / "t.csv", out=in_tmp / "p.toml", quasi_identifiers=named)
    assert read_policy(in_tmp / "p.toml")[0].hierarchies["zip"] == "ready:postcode_us"
    with (
        kanon.anonymize(in_tmp / "t.csv", quasi_identifiers=named) as chosen,
        kanon.anonymize(in_tmp / "t.csv", policy=in_tmp / "p.toml") as written,
    ):
        of_both = [
            {hierarchy.column.name: (hierarchy.origin, hierarchy.height) for hierarchy in found.publication.hierarchies}
            for found in (chosen, written)
        ]
        assert of_both[0] == of_both[1]
        assert all(hierarchy.chosen for hierarchy in chosen.publication.hierarchies)
        assert (chosen.levels, chosen.loss) == (written.levels, written.loss)


def test_a_table_without_quasi_identifiers_says_so(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    frame(x=lambda row: row % 9).to_csv(in_tmp / "t.csv", index=False)
    begun = kanon("init", "t.csv")
    assert begun.code == 0
    assert "No quasi-identifier was found" in begun.out
    assert "add a column to quasi_identifiers in kanon.toml. Then:" in begun.out.replace("\n", " ")
    ended = kanon("anonymize", "t.csv", "--policy", "kanon.toml")
    assert ended.code == 2
    assert "quasi-identifier" in ended.err


@pytest.mark.thorough
def test_a_table_without_rows_gets_a_policy_that_fails_for_no_type(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """All columns of a file with a header alone are text; with rows the same file has dates and numbers."""
    (in_tmp / "t.csv").write_text("birth_date,age,zip,diagnosis\n", encoding="utf-8")
    ended = kanon("init", "t.csv", "--out", "my roles.toml")
    assert ended.code == 0
    assert "kanon anonymize" not in ended.out
    assert "kanon init t.csv --out 'my roles.toml' --replace" in ended.out
    policy, _ = read_policy(in_tmp / "my roles.toml")
    assert policy.columns.quasi_identifiers == ("birth_date", "age", "zip")
    assert not policy.hierarchies
    frame(
        birth_date=lambda row: f"1980-01-{row % 3 + 1:02d}", age=lambda row: row % 4,
        zip=lambda row: f"0{row % 5}", diagnosis=lambda row: f"d{row % 3}",
    ).to_csv(in_tmp / "t.csv", index=False)  # fmt: skip
    assert kanon("anonymize", "t.csv", "--policy", "my roles.toml", "-q").code == 0


def test_the_entity_that_is_written_is_not_asked_for_again(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    table = frame(patient_id=lambda row: f"p{row % 20}", city=lambda row: f"c{row % 4}")
    table.rename(columns={"patient_id": "Patient ID"}).to_csv(in_tmp / "t.csv", index=False)
    ended = kanon("init", "t.csv")
    assert "--entity" not in ended.out
    assert "k counts people by it (entity in kanon.toml)" in ended.out.replace("\n", " ")
    assert read_policy(in_tmp / "kanon.toml")[0].columns.entity == "Patient ID"


def test_a_hierarchy_that_lacks_a_value_is_told(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Four of the five are in the ready-made one."""
    states = ["ledig", "verheiratet", "geschieden", "verwitwet", "keine Angabe im Amt"]
    frame(**{"Familien Stand": lambda row: states[row % 5]}).to_csv(in_tmp / "t.csv", index=False)
    assert kanon("init", "t.csv", "--qi", "Familien Stand").code == 0
    text = (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    assert '"Familien Stand" = "flat"' in text
    command = "kanon hierarchy suggest t.csv --qi 'Familien Stand'"
    assert f"#   ready:marital_status fits but for 1 of 5 values: {command} tells how to list them\n" in text
    assert "Amt" not in text
    ended = kanon("hierarchy", "suggest", "t.csv", "--qi", "Familien Stand")
    assert "kanon hierarchy check" in ended.out


@pytest.mark.thorough
def test_the_file_names_no_document_that_is_elsewhere(in_tmp: Path) -> None:
    for table in TEN:
        kanon.init_policy(table.write(in_tmp / "t.csv"), out=in_tmp / "kanon.toml", replace=True)
        assert "docs/" not in (in_tmp / "kanon.toml").read_text(encoding="utf-8")


def hostile(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        columns = ", ".join(
            f'i % {5 + place} AS "{name.replace(chr(34), 2 * chr(34))}"' for place, name in enumerate(HOSTILE)
        )
        connection.execute(f'CREATE TABLE "my ""table" AS SELECT {columns} FROM range(300) AS r(i)')  # noqa: S608 - a test


@pytest.mark.thorough
def test_hostile_names_end_in_a_policy_that_reads_back(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    hostile(in_tmp / "h.duckdb")
    known = [argument for name in HOSTILE for argument in ("--qi", written_name(name))]
    ended = kanon("init", "h.duckdb", 'my "table', *known)
    assert ended.code == 0, ended.err
    policy, destination = read_policy(in_tmp / "kanon.toml")
    assert policy.columns.quasi_identifiers == tuple(HOSTILE)
    assert set(policy.hierarchies) == set(HOSTILE)
    assert destination.into == 'my "table_k5'
    assert kanon("anonymize", "h.duckdb", 'my "table', "--policy", "kanon.toml", "-q").code == 0
    for verb in (["profile"], ["profile", "--format", "json"]):
        assert kanon(verb[0], "h.duckdb", 'my "table', *verb[1:]).code == 0


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trials take their time, on a busy machine too."""
    monkeypatch.setattr(proposal, "SECONDS_OF_A_SEARCH", 300.0)
    monkeypatch.setattr(proposal, "SECONDS_OF_A_TRIAL", 300.0)


def crowd() -> pd.DataFrame:
    """Return a table of few people who differ in much: its best release by one level for all rows loses a lot."""
    towns = {"08001": "North", "08002": "South", "08003": "Harbour", "08004": "Hill"}
    zips = list(towns)
    return frame(
        240,
        birth_year=lambda row: 1950 + (row * row) % 47,
        sex=lambda row: "FM"[row % 2],
        zip=lambda row: zips[row * 7 % 11 % 4],
        town=lambda row: towns[zips[row * 7 % 11 % 4]],
        occupation=lambda row: f"job {row * 5 % 13}",
        nationality=lambda row: ["DE", "FR", "PL", "IT"][row % 17 % 4],
    )


def test_the_policy_says_what_its_release_loses(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Each figure in the file is what the command then gives."""
    crowd().to_csv(in_tmp / "t.csv", index=False)
    begun = kanon("init", "t.csv", "--format", "json")
    assert begun.code == 0, begun.err
    trial, text = begun.json["trial"], (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    assert (trial["rows"], trial["sampled"], trial["refused"]) == (240, False, None)
    assert set(trial["losses"]) == {"optimal", "local"}
    assert '\nalgorithm = "local"' in text
    assert f"optimal loses {trial['losses']['optimal']:.2f}, local loses {trial['losses']['local']:.2f}" in text
    run = ["anonymize", "--policy", "kanon.toml", "--dry-run", "--format", "json"]
    for algorithm, loss in trial["losses"].items():
        assert kanon(*run, "--algorithm", algorithm).json["measures"]["loss"] == pytest.approx(loss)
    policy, _ = read_policy(in_tmp / "kanon.toml")
    assert set(trial["without"]) == set(policy.columns.quasi_identifiers)
    all_columns = kanon(*run, "--algorithm", "optimal").json["measures"]["loss"]
    for name, (before, loss) in trial["without"].items():
        others = [one for one in policy.columns.quasi_identifiers if one != name]
        named = [word for other in others for word in ("--qi", other)]
        ended = kanon(
            "anonymize", "t.csv", *named, "--rest", "drop", "--max-suppressed", "2%", *run[3:], "--out", "x.csv"
        )
        assert ended.json["measures"]["loss"] == pytest.approx(loss), ended.err
        own = all_columns * len(trial["without"]) - before * (len(trial["without"]) - 1)
        assert -1e-9 <= own <= 1 + 1e-9
        assert (f"; left out, the other columns lose {loss:.2f} instead of {before:.2f}" in text) == (
            loss < before - 0.05
        )


def test_small_classes_are_not_proposed_beside_sensitive_values(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """A class of five people gives a sensitive value away more often than one of fifty."""
    crowd().assign(diagnosis="flu").to_csv(in_tmp / "t.csv", index=False)
    assert kanon("init", "t.csv", "--sensitive", "diagnosis").code == 0
    text = (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    assert read_policy(in_tmp / "kanon.toml")[0].algorithm == "optimal"
    assert "# local is not chosen, since sensitive columns are published" in text
    assert '\n# algorithm = "local"' in text


def test_classes_that_overlap_are_not_proposed_for_several_rows_of_a_person(
    in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    """What init proposes, check can verify afterwards."""
    visits = crowd().assign(patient=range(240))
    pd.concat([visits, visits.assign(occupation="job 1")]).to_csv(in_tmp / "t.csv", index=False)
    assert kanon("init", "t.csv", "--entity", "patient").code == 0
    text = (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    assert "# local is not chosen, since several rows are about one person" in text
    assert read_policy(in_tmp / "kanon.toml")[0].algorithm == "optimal"
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    assert kanon("check", "--policy", "kanon.toml").code == 0


def test_of_two_columns_that_say_the_same_one_is_published(in_tmp: Path) -> None:
    crowd().to_csv(in_tmp / "t.csv", index=False)
    found = kanon.init_policy(in_tmp / "t.csv", out=in_tmp / "kanon.toml")
    policy, _ = read_policy(in_tmp / "kanon.toml")
    assert "zip" in policy.columns.quasi_identifiers, "it has groups; the town has none"
    assert "town" in policy.columns.identifying
    (town,) = [column for column in found.columns if column.name == "town"]
    assert town.reason == "zip says the same, and is published instead"
    kanon.init_policy(in_tmp / "t.csv", out=in_tmp / "both.toml", quasi_identifiers=["town"])
    policy, _ = read_policy(in_tmp / "both.toml")
    assert {"zip", "town"} <= set(policy.columns.quasi_identifiers), "a person named one of them"


def test_init_says_why_anonymize_would_refuse(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    frame(3, age=lambda row: 20 + 10 * row, sex=lambda row: "FM"[row % 2]).to_csv(in_tmp / "t.csv", index=False)
    begun = kanon("init", "t.csv")
    assert begun.code == 0, begun.err
    refused = kanon("anonymize", "--policy", "kanon.toml")
    assert refused.code == 4
    assert "kanon anonymize refuses this policy as it is: " in begun.out
    said = " ".join(begun.out.split())
    assert " ".join(refused.err.removeprefix("error: ").split())[:60] in said
