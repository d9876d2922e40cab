"""kanon.toml holds everything that the options say, and the options go before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import kanon_sql as kanon
from kanon_sql.policy import read_policy, write_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

WHOLE = """
[columns]
identifying = ["name", "id"]
quasi_identifiers = ["age", "sex"]
sensitive = ["disease"]
rest = "drop"
entity = "id"

[hierarchies]
directory = "trees"
age = "intervals:10,20"
sex = "sexes.csv"

[privacy]
k = 7

[search]
algorithm = "optimal"
measure = "loss"
max_suppressed = 0.1
time_limit = 30

[release]
into = "released"
as = "view"
seed = 42
replace = true
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_is_read(tmp_path: Path) -> None:
    policy, destination = read_policy(write(tmp_path / "kanon.toml", WHOLE))
    assert policy == kanon.Policy(
        columns=kanon.NamedColumns(("name", "id"), ("age", "sex"), ("disease",), (), "drop", "id"),
        models=(kanon.KAnonymity(7, entity="id"),),
        hierarchies={"age": "intervals:10,20", "sex": "sexes.csv"},
        hierarchy_directory=tmp_path / "trees",
        max_suppressed=0.1,
        time_limit=30,
        seed=42,
        directory=tmp_path,
    )
    assert destination == kanon.Destination(into="released", kind="view", replace=True)


def test_what_is_written_reads_back_as_the_same_from_anywhere(tmp_path: Path) -> None:
    policy, destination = read_policy(write(tmp_path / "kanon.toml", WHOLE))
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)
    write_policy(policy, destination, elsewhere / "saved.toml")
    again, destination_again = read_policy(elsewhere / "saved.toml")
    assert destination_again == destination
    assert (again.columns, again.models, again.max_suppressed) == (policy.columns, policy.models, policy.max_suppressed)
    assert again.hierarchy_directory is not None
    assert again.hierarchy_directory.resolve() == (tmp_path / "trees").resolve()
    assert (again.directory / again.hierarchies["sex"]).resolve() == (tmp_path / "sexes.csv").resolve()
    assert again.hierarchies["age"] == "intervals:10,20"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[columns\n", "cannot be read as TOML"),
        ("[colums]\n", r"\[colums\] is not a section"),
        ("columns = 3\n", r"\[columns\] is not a section"),
        ("[columns]\nquasi = ['a']\n", r"\[columns\] has no setting quasi"),
        ("[columns]\nquasi_identifiers = 'age'\n", "is a list of column names"),
        ("[columns]\nrest = 'throw'\n", "columns.rest must be keep or drop"),
        ("[privacy]\nk = '5'\n", "privacy.k must be a whole number"),
        ("[privacy]\nk = true\n", "privacy.k must be a whole number"),
        ("[privacy]\nk = 0\n", "k must be a whole number of at least 1"),
        ("[search]\nmax_suppressed = 1.5\n", "between 0 and 1"),
        ("[search]\nmax_suppressed = nan\n", "must be a number"),
        ("[search]\nalgorithm = 'magic'\n", "no algorithm 'magic'"),
        ("[search]\nmeasure = 'beauty'\n", "no measure 'beauty'"),
        ("[search]\ntime_limit = 0\n", "greater than 0"),
        ("[release]\ninto = 'a'\nout = 'b.csv'\n", "one place"),
        ("[release]\nas = 'index'\n", "release.as must be table or view"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path / "kanon.toml", text)
    with pytest.raises(kanon.PolicyError, match=says) as caught:
        read_policy(path)
    assert str(path) in str(caught.value)


def test_a_policy_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(kanon.PolicyError, match="There is no policy file"):
        read_policy(tmp_path / "none.toml")


def test_anonymize_and_check_by_one_file(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write(in_tmp / "sexes.csv", "F;*\nM;*\n")
    policy = write(
        in_tmp / "kanon.toml",
        """
        [columns]
        identifying = ["name", "id"]
        quasi_identifiers = ["age", "sex"]
        sensitive = ["disease"]
        rest = "drop"

        [hierarchies]
        age = "intervals:10,20"
        sex = "sexes.csv"

        [privacy]
        k = 4

        [search]
        max_suppressed = 0.1

        [release]
        into = "released"
        """,
    )
    made = kanon("anonymize", clinic, "patients", "--policy", policy, "--format", "json")
    assert made.code == 0
    assert made.json["hierarchies"]["sex"]["origin"] == "sexes.csv"
    assert made.json["hierarchies"]["age"] == {"origin": "intervals:10,20", "chosen": False}
    assert kanon("check", clinic, "released", "--policy", policy).code == 0
    raw = kanon("check", clinic, "patients", "--policy", policy, "--format", "json")
    assert raw.code == 1
    assert raw.json["identifying_columns"] == ["name", "id"]
    # The command line goes before the file.
    stricter = kanon(
        "anonymize", clinic, "patients", "--policy", policy, "-k", 9, "--out", "stricter.csv", "--format", "json"
    )
    assert stricter.code == 0
    assert stricter.json["k"] >= 9
    assert stricter.json["destination"] == "stricter.csv"
    assert kanon("check", clinic, "released", "--policy", policy, "-k", 61).code == 1


@pytest.mark.usefixtures("in_tmp")
def test_options_can_be_saved_as_a_policy(clinic: Path, kanon: Callable[..., Ended]) -> None:
    first = kanon(
        "anonymize", clinic, "patients", "--id", "name,id", "--qi", "age,sex", "--sensitive", "disease",
        "--rest", "drop",
        "--hierarchy", "age=intervals:10,20", "-k", 4, "--max-suppressed", 0.1, "--seed", 9, "--out", "a.csv",
        "--save-policy", "saved.toml", "--format", "json",
    )  # fmt: skip
    again = kanon("anonymize", clinic, "patients", "--policy", "saved.toml", "--replace", "--format", "json")
    assert first.code == again.code == 0
    same = {"levels", "rows_out", "k", "measures", "destination", "seed"}
    assert {name: first.json[name] for name in same} == {name: again.json[name] for name in same}


def test_a_person_is_named_once() -> None:
    with pytest.raises(kanon.UsageError, match="Several columns are to name the person"):
        kanon.Policy(columns=kanon.NamedColumns(entity="a"), models=(kanon.KAnonymity(2, entity="b"),))
    policy = kanon.Policy(columns=kanon.NamedColumns(entity="a"), models=(kanon.KAnonymity(2),))
    assert policy.models == (kanon.KAnonymity(2, entity="a"),)
