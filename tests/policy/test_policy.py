"""kanon.toml holds everything that the options say, and the options go before it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from each import each

import kanon_sql as kanon
from kanon_sql.cli.options.policy_options import RequestedPolicy
from kanon_sql.hierarchy.spec import FileRule, parse_rule
from kanon_sql.policy.algorithms import ALGORITHMS, options_of_others
from kanon_sql.policy.policy import read_policy, write_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

    from kanon_sql.policy.roles import NamedColumns

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


def in_place(policy: kanon.Policy) -> kanon.Policy:
    """Return a policy with the full paths of its files, so that two can be compared wherever they were read."""
    rules = {name: parse_rule(rule, policy.directory) for name, rule in policy.hierarchies.items()}
    return dataclasses.replace(
        policy,
        hierarchies={
            name: str(rule.path.resolve()) if isinstance(rule, FileRule) else str(rule) for name, rule in rules.items()
        },
        hierarchy_directory=policy.hierarchy_directory and policy.hierarchy_directory.resolve(),
        directory=Path(),
    )


@each(
    ("rules", "release"),
    [
        ({}, 'into = "released"\nas = "view"\nreplace = true'),
        ({}, 'out = "released.csv"'),
        ({}, "in_place = true\nbackup = false"),
        ({"directory": "flat"}, 'into = "released"'),
        ({"directory": "mask:right:1,2", "columns": "flat", "Directory": "date:year"}, 'into = "released"'),
        ({"zip": "./flat", "country": "ready:country", "date": "../flat.csv"}, 'into = "released"'),
    ],
)
def test_what_is_written_reads_back_as_the_same_from_anywhere(
    tmp_path: Path, rules: dict[str, str], release: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "flat").write_text("a;*\n", encoding="utf-8")
    apart = "".join(f'{column} = "{rule}"\n' for column, rule in rules.items())
    text = WHOLE.partition("[release]")[0] + f"[hierarchies.columns]\n{apart}\n[release]\nseed = 42\n{release}\n"
    policy, destination = read_policy(write(here / "kanon.toml", text))
    assert policy.hierarchies == {"age": "intervals:10,20", "sex": "sexes.csv", **rules}
    assert policy.hierarchy_directory == here / "trees"
    for elsewhere in (tmp_path / "else" / "where", here):
        elsewhere.mkdir(parents=True, exist_ok=True)
        write_policy(policy, destination, elsewhere / "saved.toml")
        again, destination_again = read_policy(elsewhere / "saved.toml")
        assert in_place(again) == in_place(policy)
        assert again.seed == 42
        assert again.time_limit == 30
        if destination.out is not None:
            assert destination_again.out is not None
            assert destination_again.out.resolve() == destination.out.resolve()
            destination_again = dataclasses.replace(destination_again, out=destination.out)
        assert destination_again == destination


def test_a_policy_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "kanon.toml", tmp_path):
        with pytest.raises(kanon.SourceError, match="cannot be written"):
            write_policy(kanon.Policy(), kanon.Destination(), path)


@pytest.mark.thorough
def test_columns_called_directory_and_columns_have_hierarchies(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS directory, i AS columns FROM range(40) AS numbers(i)")
    write(
        tmp_path / "kanon.toml",
        """
        [columns]
        quasi_identifiers = ["directory", "columns"]
        [hierarchies.columns]
        directory = "intervals:20"
        columns = "flat"
        """,
    )
    ended = kanon(
        "anonymize", tmp_path / "t.duckdb", "--policy", tmp_path / "kanon.toml", "--into", "r",
        "--save-policy", tmp_path / "saved.toml", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    again = kanon(
        "anonymize", tmp_path / "t.duckdb", "t", "--policy", tmp_path / "saved.toml", "--replace", "--format", "json"
    )
    for found in (ended.json, again.json):
        assert {column: hierarchy["origin"] for column, hierarchy in found["hierarchies"].items()} == {
            "directory": "intervals:20",
            "columns": "flat",
        }


@each(
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
        ("[search]\nmax_suppressed = nan\n", "between 0 and 1"),
        ("[search]\nalgorithm = 'magic'\n", "algorithm must be .*Got 'magic'"),
        ("[search]\nmeasure = 'beauty'\n", "measure must be loss, .*Got 'beauty'"),
        ("[search]\ntime_limit = 0\n", "seconds above 0"),
        ("[release]\ninto = 'a'\nout = 'b.csv'\n", "one place"),
        ("[release]\nas = 'index'\n", "as must be table, view or materialized-view"),
        ("[hierarchies]\ndirectory = 3\n", "hierarchies.directory must be a text"),
        ("[hierarchies]\nage = 3\n", "hierarchies.age must be a text"),
        ("[hierarchies.columns]\nage = 3\n", "hierarchies.age must be a text"),
        (
            "[hierarchies]\nage = 'flat'\n[hierarchies.columns]\nage = 'mask'\n",
            "both give a hierarchy for column 'age'",
        ),
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


@pytest.mark.thorough
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
        "anonymize", clinic, "patients", "--policy", policy, "-k", 9, "--out", "stricter.csv", "--format", "json",
        "--ignore-ledger",
    )  # fmt: skip
    assert stricter.code == 0
    assert stricter.json["k"] >= 9
    assert stricter.json["destination"] == "stricter.csv"
    assert kanon("check", clinic, "released", "--policy", policy, "-k", 61).code == 1


@pytest.mark.thorough
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
    same = {"levels", "rows_out", "k", "destination", "seed"}
    assert {name: first.json[name] for name in same} == {name: again.json[name] for name in same}
    # The last digits of a sum depend on the threads that counted.
    assert first.json["measures"] == pytest.approx(again.json["measures"], rel=1e-12)


ROLES = """
[columns]
identifying = ["name"]
quasi_identifiers = ["age", "sex"]
sensitive = ["disease"]
rest = "keep"
{entity}

[hierarchies]
age = "intervals:10,20"
sex = "flat"

[privacy]
k = 4

[search]
max_suppressed = 0.2
"""


def roles(kanon: Callable[..., Ended], clinic: Path, *options: object, entity: str = "") -> tuple[Ended, NamedColumns]:
    """Anonymize by the policy above and by options; return how it ended and the roles as they were saved."""
    file = write(clinic.parent / "roles.toml", ROLES.format(entity=entity))
    saved = clinic.parent / "saved.toml"
    out = ("--out", clinic.parent / "out.csv", "--replace", "--save-policy", saved, "--ignore-ledger")
    ended = kanon("anonymize", clinic, "patients", "--policy", file, *options, *out)
    assert ended.code == 0, ended.err
    return ended, read_policy(saved)[0].columns


def published(clinic: Path) -> list[str]:
    return (clinic.parent / "out.csv").read_text(encoding="utf-8").splitlines()[0].split(",")


@pytest.mark.thorough
def test_roles_of_the_command_line_add_to_those_of_the_file(clinic: Path, kanon: Callable[..., Ended]) -> None:
    """With rest = "keep" a column that lost its role would be published as it is: names, in this table."""
    _, named = roles(kanon, clinic, "--id", "id", "--keep", "zip")
    assert named.identifying == ("name", "id")
    assert published(clinic) == ["age", "sex", "zip", "disease"]
    _, named = roles(kanon, clinic, "--id", "id", "--qi", "zip", "--sensitive", "DISEASE")
    assert (named.identifying, named.quasi_identifiers) == (("name", "id"), ("age", "sex", "zip"))
    assert published(clinic) == ["age", "sex", "zip", "disease"]
    _, named = roles(kanon, clinic, "--qi", "SEX,age", "--keep", "id,zip")
    assert [name.lower() for name in named.quasi_identifiers] == ["age", "sex"]  # the order of the file


@pytest.mark.thorough
def test_a_column_named_on_the_command_line_moves_to_that_role(clinic: Path, kanon: Callable[..., Ended]) -> None:
    _, named = roles(kanon, clinic, "--id", "SEX,id", "--keep", "zip")
    assert (named.identifying, named.quasi_identifiers) == (("name", "SEX", "id"), ("age",))
    assert published(clinic) == ["age", "zip", "disease"]  # and the rule for sex is not in the way
    _, named = roles(kanon, clinic, "--sensitive", "name", "--id", "id", "--keep", "name,zip")
    assert (named.identifying, named.sensitive) == (("id",), ("disease", "name"))
    both = kanon(
        "anonymize", clinic, "--policy", clinic.parent / "roles.toml", "--qi", "age", "--id", "AGE", "--sql", "release"
    )
    assert both.code == 2


@pytest.mark.thorough
def test_another_person_leaves_the_one_of_the_file_identifying(clinic: Path, kanon: Callable[..., Ended]) -> None:
    ended, named = roles(kanon, clinic, "--entity", "id", entity='entity = "zip"')
    assert (named.entity, named.identifying) == ("id", ("name", "zip"))
    assert published(clinic) == ["age", "sex", "disease"]
    assert "people (id)" in ended.out


def test_a_rule_of_the_file_for_a_column_that_never_was_generalized_is_still_a_mistake(
    clinic: Path, kanon: Callable[..., Ended]
) -> None:
    write(clinic.parent / "roles.toml", ROLES.format(entity="").replace('sex = "flat"', 'zip = "mask"'))
    ended = kanon("anonymize", clinic, "--policy", clinic.parent / "roles.toml", "--id", "sex,id", "--out", "x.csv")
    assert ended.code == 2
    assert "'zip', which is not a quasi-identifier" in ended.err


def test_rules_of_the_command_line_go_before_those_of_the_file_in_whatever_case(
    clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    write(in_tmp / "roles.toml", ROLES.format(entity=""))
    ended = kanon(
        "anonymize", clinic, "--policy", "roles.toml", "--id", "id,zip", "--hierarchy", "AGE=flat", "--out", "x.csv",
        "--save-policy", "saved.toml", "--format", "json",
    )  # fmt: skip
    assert ended.json["hierarchies"]["age"] == {"origin": "flat", "chosen": False}
    assert read_policy(in_tmp / "saved.toml")[0].hierarchies == {"sex": "flat", "AGE": "flat"}
    write(in_tmp / "twice.toml", ROLES.format(entity="").replace('sex = "flat"', 'AGE = "flat"'))
    ended = kanon("anonymize", clinic, "--policy", "twice.toml", "--id", "id,zip", "--out", "y.csv")
    assert ended.code == 2
    assert "Two hierarchies are given for column 'age'" in ended.err


def test_rules_keep_their_words_and_files_are_found_from_anywhere(tmp_path: Path) -> None:
    rules = {"a": "ready:us_state", "b": "mask", "c": "c.csv"}
    policy = RequestedPolicy({"hierarchy": [f"{column}={rule}" for column, rule in rules.items()]}).over(
        kanon.Policy(directory=tmp_path)
    )
    assert policy.hierarchies == {**rules, "c": str(Path("c.csv").absolute())}


def test_models_are_kept_and_only_k_is_replaced() -> None:
    @dataclasses.dataclass(frozen=True)
    class Another(kanon.KAnonymity):
        """A model that somebody else wrote."""

        slack: int = 0

    policy = kanon.Policy(models=(Another(3, slack=2), kanon.KAnonymity(2)))
    same = RequestedPolicy({"quasi_identifiers": ["a"]}).over(policy)
    assert same.models == policy.models
    stricter = RequestedPolicy({"k": 7, "entity": "person"}).over(policy)
    assert stricter.models == (Another(7, slack=2, entity="person"), kanon.KAnonymity(7, entity="person"))


def test_a_person_is_named_once() -> None:
    with pytest.raises(kanon.UsageError, match="Several columns are to name the person"):
        kanon.Policy(columns=kanon.NamedColumns(entity="a"), models=(kanon.KAnonymity(2, entity="b"),))
    policy = kanon.Policy(columns=kanon.NamedColumns(entity="a"), models=(kanon.KAnonymity(2),))
    assert policy.models == (kanon.KAnonymity(2, entity="a"),)


OF_SOME_ALGORITHMS = {
    "sample_rate": 0.5,
    "prove": True,
    "choose": "range",
    "cut": "strict",
    "labels": "set",
    "numbers": "mean",
    "pairs": 2,
}


@each("algorithm", ALGORITHMS)
def test_an_algorithm_takes_the_options_that_the_table_says(algorithm: str) -> None:
    others = options_of_others(algorithm)
    assert {*others, *ALGORITHMS[algorithm].options} == set(OF_SOME_ALGORITHMS)
    for option, value in OF_SOME_ALGORITHMS.items():
        given: dict[str, Any] = {"algorithm": algorithm, option: value}
        if option in others:
            with pytest.raises(kanon.UsageError, match=option):
                kanon.Policy(**given)
        else:
            assert getattr(kanon.Policy(**given), option) == value
