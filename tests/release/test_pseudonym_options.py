"""Pseudonyms on the command line and in kanon.toml: what is refused, what is kept, what ``kanon check`` says."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import files_in, tables_of

import kanon_sql as kanon
from kanon_sql.errors import UsageError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

KEY = b"a key that nobody knows, 32 byte"
PEOPLE = ("--qi", "age,sex", "--sensitive", "disease", "--rest", "drop", "-k", 4, "--max-suppressed", 0.2)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """A file with a key."""
    path = tmp_path / "pseudonyms.key"
    path.write_bytes(KEY)
    return path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--pseudonymize", "name,age"), 2, "'age' was given two roles: quasi-identifying and identifying"),
        (("--pseudonymize", "name,disease"), 2, "'disease' was given two roles: identifying and sensitive"),
        (("--pseudonymize", "who"), 2, "has no column 'who'"),
        (("--key-file", "good.key"), 2, "A key file is for pseudonyms"),
        (("--pseudonymize", "name", "--key-file", "short.key"), 2, "15 bytes"),
        (("--pseudonymize", "name", "--key-file", "no.key"), 3, "There is no key file"),
        (("--pseudonymize", "name", "--key-file", "."), 3, "is not a file"),
        (("--pseudonymize", "name", "--key-file", "clinic.duckdb"), 2, "cannot be what is anonymized too"),
        (("--pseudonymize", "name", "--key-file", "link"), 2, "cannot be what is anonymized too"),
        (
            ("--pseudonymize", "name", "--save-policy", "good.key", "--replace", "--key-file", "good.key"),
            2,
            "the policy",
        ),
        (("--pseudonymize", "name", "--as", "view"), 2, "A view makes its rows when it is read"),
        (("--pseudonymize", "name", "--as", "view", "--sql"), 2, "A view makes its rows when it is read"),
        (("--pseudonymize", "name", "--sql", "--dialect", "postgres"), 2, "leave --dialect out"),
    ],
)
def test_what_is_refused(
    clinic: Path, in_tmp: Path, kanon: Callable[..., Ended], arguments: tuple[str, ...], code: int, said: str
) -> None:
    (in_tmp / "good.key").write_bytes(KEY)
    (in_tmp / "short.key").write_bytes(KEY[:15])
    (in_tmp / "link").symlink_to(clinic)
    before, files = tables_of(clinic), files_in(in_tmp)
    ended = kanon("anonymize", clinic, "patients", *PEOPLE, "--into", "released", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert (tables_of(clinic), files_in(in_tmp)) == (before, files)
    assert (in_tmp / "good.key").read_bytes() == KEY


def test_the_release_does_not_replace_its_key(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    key = in_tmp / "key.csv"
    key.write_bytes(KEY)
    common = (clinic, "patients", *PEOPLE, "--pseudonymize", "name", "--key-file", key)
    ended = kanon("anonymize", *common, "--out", in_tmp / "key.csv", "--replace")
    assert (ended.code, key.read_bytes()) == (2, KEY)
    with (
        kanon_release(clinic, key_file=key) as release,
        pytest.raises(UsageError, match="cannot be the release too"),
    ):
        release.to_file(key, replace=True)
    assert key.read_bytes() == KEY


def kanon_release(source: Any, **settings: Any) -> kanon.Release:
    return kanon.anonymize(
        source, "patients", quasi_identifiers=["sex"], pseudonymize=["name"], rest="drop", **settings
    )


@pytest.mark.thorough
def test_a_connection_that_profiles_its_statements_is_refused(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("PRAGMA enable_profiling = 'no_output'")
        with pytest.raises(UsageError, match="disable_profiling"):
            kanon_release(connection)
        connection.execute("PRAGMA disable_profiling")
        with kanon_release(connection) as release:
            release.to_table("released")


@pytest.mark.thorough
def test_the_policy_file_keeps_columns_and_the_path_of_the_key(
    clinic: Path, tmp_path: Path, key_file: Path, kanon: Callable[..., Ended]
) -> None:
    policy, apart = tmp_path / "kanon.toml", tmp_path / "elsewhere"
    apart.mkdir()
    first = kanon(
        "anonymize", clinic, "patients", *PEOPLE, "--pseudonymize", "name", "--key-file", key_file, "--into", "first",
        "--save-policy", policy,
    )  # fmt: skip
    assert first.code == 0
    again = kanon(
        "anonymize", clinic, "patients", "--policy", policy, "--into", "second", "--save-policy", apart / "again.toml"
    )
    assert again.code == 0, again.err
    said = tomllib.loads((apart / "again.toml").read_text())
    assert (said["columns"]["pseudonymize"], said["release"]["key_file"]) == (["name"], "../pseudonyms.key")
    tables = tables_of(clinic)
    assert {row[0] for row in tables["main.first"]} == {row[0] for row in tables["main.second"]}
    # A column that the command line gives another role is not pseudonymized any more, and the key is not read.
    key_file.unlink()
    moved = kanon("anonymize", clinic, "patients", "--policy", policy, "--id", "name", "--into", "third")
    assert moved.code == 0, moved.err
    assert "left out" in moved.out
    with duckdb.connect(str(clinic)) as connection:
        assert "name" not in connection.table("third").columns


@pytest.mark.thorough
def test_check_tells_pseudonyms_from_names(clinic: Path, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    policy = tmp_path / "kanon.toml"
    asked = ("anonymize", clinic, "patients", *PEOPLE, "--id", "name", "--pseudonymize", "name", "--into", "released")
    made = kanon(*asked, "--save-policy", policy)
    assert "by a key drawn for this release alone" in made.out
    assert kanon("check", clinic, "released", "--policy", policy).code == 0
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE raw AS FROM released")
        connection.execute("UPDATE raw SET name = 'Ann' WHERE rowid = 0")
        connection.execute("CREATE TABLE one_person AS FROM released")
        connection.execute("UPDATE one_person SET name = (SELECT min(name) FROM released)")
    raw = kanon("check", clinic, "raw", "--policy", policy, "--format", "json")
    assert (raw.code, raw.json["identifying_columns"]) == (1, ["name"])
    tied = kanon("check", clinic, "one_person", "--policy", policy, "--format", "json")
    assert (tied.code, tied.json["identifying_columns"]) == (1, [])
    assert tied.json["pseudonyms"][0]["fewest_alike"] == 1
    assert "TOO FEW" in kanon("check", clinic, "one_person", "--policy", policy).out


def failing(source: Any) -> kanon.Release:
    """Return a release that cannot be published: one person has rows that nobody has."""
    return kanon.anonymize(
        source, "t", quasi_identifiers=["g"], pseudonymize=["who"], models=[kanon.KAnonymity(2)], algorithm="mondrian",
        count="rows",
    )  # fmt: skip


@pytest.mark.thorough
def test_after_a_failed_check_nothing_is_in_the_way_of_another(tmp_path: Path) -> None:
    path = tmp_path / "db.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS FROM (VALUES ('Ann', 1), ('Ann', 2), ('Bob', 1), ('Cy', 2)) t(who, g)")
        connection.execute("CREATE TABLE other AS FROM t")
    with failing(path) as release:
        for _ in range(2):
            for publishing in (
                lambda: release.to_file(tmp_path / "out.duckdb"),
                lambda: release.to_file(tmp_path / "out.csv"),
                lambda: release.in_place(backup=False),
                lambda: release.to_table("released"),
                release.to_pandas,
            ):
                with pytest.raises(VerificationError, match="tie rows"):
                    publishing()
    assert files_in(tmp_path) == {"db.duckdb"}
    assert set(tables_of(path)) == {"main.t", "main.other"}


@pytest.mark.thorough
def test_in_place_and_in_a_database_of_its_own(
    clinic: Path, tmp_path: Path, key_file: Path, kanon: Callable[..., Ended]
) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("ALTER TABLE patients ALTER name SET DEFAULT 'Name of nobody'")
    common = ("anonymize", clinic, "patients", *PEOPLE, "--pseudonymize", "name", "--key-file", key_file)
    assert kanon(*common, "--out", tmp_path / "out.duckdb").code == 0
    refused = kanon(*common, "--in-place", "--backup", key_file)
    assert (refused.code, key_file.read_bytes()) == (2, KEY)
    ended = kanon(*common, "--in-place", "--no-backup")
    assert ended.code == 0, ended.err
    assert "default of name" in ended.out
    assert tables_of(clinic)["main.patients"] == tables_of(tmp_path / "out.duckdb")["main.patients"]
    for file in (clinic, tmp_path / "out.duckdb"):
        assert KEY not in file.read_bytes()
        assert b"Name of nobody" not in file.read_bytes()
