"""One file is the whole job: [source] and [release] of kanon.toml stand for SOURCE and TABLE on the command line."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from each import each

import kanon_sql as kanon
from kanon_sql.policy.policy import parse_policy, policy_text, read_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

POLICY = """
[source]
from = "{source}"
{table}

[columns]
quasi_identifiers = ["age", "sex", "zip"]
sensitive = ["disease"]
{columns}
rest = "drop"

[hierarchies]
age = "intervals:10,20"

[privacy]
k = 3
count = "{count}"

[search]
max_suppressed = 0.1

[release]
seed = 1
{release}
"""
QI = ("--qi", "age,sex,zip")


def write_job(
    path: Path, source: str, release: str, table: str = "", columns: str = "", count: str = "rows"
) -> tuple[str, Path]:
    """Write a policy file with a source, and return how commands name it."""
    text = POLICY.format(source=source, table=table, release=release, columns=columns, count=count)
    path.write_text(text, encoding="utf-8")
    return "--policy", path


def without_seconds(found: Any) -> Any:
    """Return JSON without what differs from run to run: also the last digit of a sum, which depends on its order."""
    if isinstance(found, float):
        return round(found, 12)
    if isinstance(found, dict):
        return {name: without_seconds(value) for name, value in found.items() if name != "seconds"}
    return [without_seconds(value) for value in found] if isinstance(found, list) else found


@pytest.fixture
def job(clinic: Path, in_tmp: Path) -> tuple[str, Path]:
    """The policy file of a table in a database, in a directory beside it."""
    assert clinic.parent == in_tmp
    (in_tmp / "jobs").mkdir()
    return write_job(in_tmp / "jobs" / "kanon.toml", "../clinic.duckdb", 'into = "released"', 'table = "patients"')


@pytest.mark.thorough
def test_a_table_in_a_database(job: tuple[str, Path], kanon: Callable[..., Ended]) -> None:
    """Each command says what it says when source, table, release and original are named; the quick run does two."""
    assert kanon("anonymize", *job).code == 0
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE TABLE another AS SELECT * FROM patients")  # so that none is the only table
    original, released = ("clinic.duckdb", "patients"), ("clinic.duckdb", "released")
    against = ("--original", "patients")
    commands: list[tuple[str, tuple[str, ...], int]] = [
        ("attack", (*released, *against), 0),
        ("compare", (*original, "-k", "3", "--algorithm", "optimal"), 0),
        ("check", released, 0),
        ("measure", (*released, *against), 0),
        ("report", (*original, "--release", "released"), 0),
        ("lattice", original, 0),
    ]
    for verb, named, code in commands:
        options = named[2:] if verb == "compare" else ()
        whole, apart = (kanon(verb, *words, *job, "--format", "json") for words in (options, named))
        assert (whole.code, apart.code) == (code, code), whole.err
        assert without_seconds(whole.json) == without_seconds(apart.json), verb


@pytest.mark.thorough
def test_a_data_file(in_tmp: Path, clinic: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("COPY patients TO 'patients.csv'")
    job = write_job(in_tmp / "kanon.toml", "patients.csv", 'out = "released.csv"')
    (in_tmp / "elsewhere").mkdir()
    monkeypatch.chdir(in_tmp / "elsewhere")  # paths start from the file
    assert kanon("anonymize", *job).code == 0
    assert (in_tmp / "released.csv").exists()
    released, against = "../released.csv", ("--original", "../patients.csv")
    for verb, named in (("check", ()), ("measure", against), ("attack", against)):
        whole = kanon(verb, *job, "--format", "json")
        apart = kanon(verb, released, *named, *job, "--format", "json")
        assert whole.code == apart.code, whole.err
        assert without_seconds(whole.json) == without_seconds(apart.json), verb
    # A release that is named is attacked with the original of the file.
    apart, whole = (kanon("attack", *words, *job, "--format", "json") for words in ((released,), ()))
    assert without_seconds(apart.json) == without_seconds(whole.json)


@pytest.mark.thorough
def test_what_is_named_goes_before_the_file(job: tuple[str, Path], kanon: Callable[..., Ended]) -> None:
    pd.DataFrame({"age": [1, 1], "sex": ["F", "F"], "zip": ["1", "1"], "disease": ["a", "b"]}).to_csv("two.csv")
    ended = kanon("anonymize", "two.csv", *job, "--out", "o.csv", "-k", 2, "--format", "json")
    assert ended.code == 0, ended.err
    assert ended.json["rows_in"] == 2
    assert kanon("check", "o.csv", *job, "-k", 2, "--format", "json").json["rows"] == 2
    assert kanon("measure", "o.csv", *job, "--format", "json").json["original"] is None  # as without [source]
    ended = kanon("anonymize", *job, "--out", "all.csv", "--format", "json")
    assert ended.json["rows_in"] == 60


@pytest.mark.thorough
def test_people_are_counted_by_the_source(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """A release alone does not say how many people it is about; the file names its original too."""
    job = write_job(
        in_tmp / "kanon.toml", clinic.name, 'into = "released"', 'table = "patients"', 'entity = "id"', "people"
    )
    assert kanon("anonymize", *job).code == 0
    found = kanon("check", *job, "--format", "json").json
    assert found["holds"]
    assert found["smallest_class_people"] >= 3
    alone = kanon("check", clinic.name, "released", *job, "--format", "json")
    assert (alone.code, alone.json["holds"]) == (1, False)


@pytest.mark.thorough
def test_in_place(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """The table is the release then, and there is no original."""
    job = write_job(in_tmp / "kanon.toml", clinic.name, "in_place = true\nbackup = false", 'table = "patients"')
    before = kanon("check", *job)
    assert before.code == 1
    assert kanon("anonymize", *job).code == 0
    assert kanon("check", *job, "--format", "json").json["holds"]
    assert kanon("measure", *job, "--format", "json").json["original"] is None
    refused = kanon("attack", *job)
    assert refused.code == 2
    assert "name a backup" in refused.err


@pytest.mark.thorough
def test_the_library(job: tuple[str, Path]) -> None:
    policy = job[1]
    with kanon.anonymize(policy=policy) as release:
        release.to_table("released")
        assert release.rows_in == 60
    assert kanon.check(policy=policy).holds
    measured = kanon.measure(policy=policy)
    assert measured.original == "patients"
    attacked = kanon.attack(policy=policy)
    assert (attacked.table, attacked.original) == ("released", "patients")
    assert kanon.report(policy=policy).published == "released"
    with kanon.prepare(policy=policy) as prepared:
        assert prepared.anonymize().rows_in == 60
    # A policy that is no file says where the table is, and not where its release is.
    named = replace(read_policy(policy)[0], origin=kanon.Origin("clinic.duckdb", "patients"))
    with kanon.anonymize(policy=named) as release:
        assert release.rows_in == 60
    with pytest.raises(kanon.UsageError, match=r"Say which release is meant"):
        kanon.check(policy=named)
    # A release in a file can be checked alone.
    nowhere = policy.with_name("out.toml")
    nowhere.write_text(policy.read_text("utf-8").replace('from = "../clinic.duckdb"\ntable = "patients"', ""), "utf-8")
    with kanon.anonymize("clinic.duckdb", "patients", policy=nowhere) as release:
        release.to_file("jobs/o.csv")
    nowhere.write_text(nowhere.read_text("utf-8").replace('into = "released"', 'out = "o.csv"'), "utf-8")
    assert kanon.check(policy=nowhere).table == "o.csv"
    with pytest.raises(kanon.UsageError, match="Say which table is meant"):
        kanon.anonymize(quasi_identifiers=["age"])


def test_nothing_is_named(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "empty.toml").write_text('[columns]\nquasi_identifiers = ["age"]\n', encoding="utf-8")
    (in_tmp / "nowhere.toml").write_text('[source]\nfrom = "t.csv"\n', encoding="utf-8")
    for verb in ("anonymize", "check", "measure", "attack", "report", "compare", "lattice"):
        more = {"anonymize": ("--out", "o.csv"), "report": ("--out", "r.html")}.get(verb, ())
        for options in ((), ("--policy", "empty.toml")):
            refused = kanon(verb, *options, *more)
            assert refused.code == 2
            assert "Say which table is meant" in refused.err
    for verb in ("check", "measure", "attack"):
        refused = kanon(verb, "--policy", "nowhere.toml")
        assert refused.code == 2
        assert "Say which release is meant" in refused.err


SEEN = [  # from a file in jobs/; as it is from here; and as a file in other/ writes it
    ("a.csv", "jobs/a.csv", "../jobs/a.csv"),
    ("data/*.csv", "jobs/data/*.csv", "../jobs/data/*.csv"),
    ("../up.duckdb", "jobs/../up.duckdb", "../up.duckdb"),
    ("sqlite:x.db", "sqlite:jobs/x.db", "sqlite:../jobs/x.db"),
    ("sqlite:///x.db", "sqlite:jobs/x.db", "sqlite:../jobs/x.db"),
    *(
        (address, address, address)
        for address in (
            "postgresql://reader@host/db",
            "mysql://reader@host/db",
            "duckdb+postgresql://reader@host:5432/db",
            "s3://bucket/k.parquet",
            "https://host/k.parquet",
            "s3://bucket/part-?.parquet",
            "sc://host:15002",
            "spark:",
        )
    ),
]


@each(("written", "here", "elsewhere"), SEEN)
def test_paths_start_from_the_file(written: str, here: str, elsewhere: str) -> None:
    text = f'[source]\nfrom = "{written}"\ntable = "the ward"\n'
    policy, destination = parse_policy(text, Path("jobs/kanon.toml"))
    assert policy.origin == kanon.Origin(here.replace("/", os.sep) if "://" not in here else here, "the ward")
    moved = policy_text(policy, destination, Path("other"))
    assert f'from = "{elsewhere}"\n' in moved
    again = parse_policy(moved, Path("other/kanon.toml"))[0].origin
    assert again is not None
    assert again.table == "the ward"


@each(
    ("section", "says"),
    [
        ('from = "postgresql://me:pass@host/db"', "has a password"),
        ('from = "postgresql://me@host/db?password=pass"', "has a password"),
        ('from = "mysql://me:pass@host/db"', "has a password"),
        ('from = "duckdb+postgresql://me:pass@host/db"', "has a password"),
        ('from = "sc://host/;token=pass"', "has a password"),
        ('from = "https://host/k.parquet?X-Amz-Signature=pass"', "has a password or settings"),
        ('from = "https://me:pass@host/k.parquet"', "has a password"),
        ('from = "postgresql://me@host/db?pass%77ord=pass"', "has a password"),
        ('from = "postgresql://me@host/db?options=-c%20app.secret%3Dpass"', "has a password"),
        ('from = "POSTGRESQL://me:pass@host/db"', "has a password"),
        ('from = " postgresql+psycopg://me:pass@host/db"', "has a password"),
        ('from = "s3://key:pass@bucket/f.csv"', "has a password"),
        ('from = "https://host/f.csv?code=pass"', "has a password"),
        ('from = "sc://host:15002/?token=pass"', "has a password"),
        ('from = "sc://host/;x-key=pass"', "has a password"),
        ('from = "postgresql://me@host/db?sslmode=require"', "settings in it"),
        ('from = "sc://host/;use_ssl=true"', "settings in it"),
        ('from = "t.duckdb"\ntable = ""', "table is empty"),
        ('from = ""', "is empty"),
        ("from = 3", "source.from must be a text"),
        ('from = "t.duckdb"\ntable = ["t"]', "source.table must be a text"),
        ('table = "t"', "and not where it is"),
        ('form = "t.csv"', "has no setting form"),
    ],
)
def test_what_a_source_may_not_be(section: str, says: str) -> None:
    with pytest.raises(kanon.PolicyError, match=says) as refused:
        parse_policy(f"[source]\n{section}\n", Path("kanon.toml"))
    assert "pass@" not in str(refused.value)
    assert "=pass" not in str(refused.value)


def write_ages(path: Path, rows: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("age\n" + "".join(f"{30 + row % 2}\n" for row in range(rows)), encoding="utf-8")


def test_links(in_tmp: Path) -> None:
    """Where the directory of the policy file is a link, .. is not the directory that it is in."""
    write_ages(in_tmp / "t.csv", 20)
    write_ages(in_tmp / "real" / "t.csv", 30)
    (in_tmp / "real" / "deep").mkdir()
    (in_tmp / "link").symlink_to(in_tmp / "real" / "deep")
    kanon.init_policy("t.csv", out="link/kanon.toml", quasi_identifiers=["age"])
    with kanon.prepare(policy="link/kanon.toml") as prepared:
        assert prepared.prepared.frequency.rows == 20
    kanon.init_policy("link/../t.csv", out="kanon.toml", quasi_identifiers=["age"])
    with kanon.prepare(policy="kanon.toml") as prepared:
        assert prepared.prepared.frequency.rows == 30


@pytest.mark.thorough
def test_what_the_directory_is_called_is_no_pattern(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write_ages(in_tmp / "g1" / "t.csv", 20)
    write_ages(in_tmp / "g[1]" / "other.csv", 30)
    text = '[source]\nfrom = "{}"\n[columns]\nquasi_identifiers = ["age"]\n[privacy]\ncount = "rows"\n'
    whole = f"{in_tmp}/g1/*.csv"
    for name, code, rows in (("t.csv", 3, None), ("other.csv", 0, 30), ("o*.csv", 0, 30), (whole, 0, 20)):
        (in_tmp / "g[1]" / "kanon.toml").write_text(text.format(name), encoding="utf-8")
        ended = kanon("compare", "--policy", "g[1]/kanon.toml", "-k", 2, "--algorithm", "optimal", "--format", "json")
        assert ended.code == code, ended.err
        assert rows is None or ended.json["rows"] == rows


@pytest.fixture
def schemas(in_tmp: Path) -> Path:
    """A database with a table of one name in two schemas: 60 people, and 3 people with 20 rows each."""
    with duckdb.connect("schemas.duckdb") as connection:
        connection.execute("CREATE SCHEMA other")
        people = "CREATE TABLE {} AS SELECT i // {} AS id, i % 6 AS age FROM range(60) AS n(i)"
        connection.execute(people.format("people", 1))
        connection.execute(people.format("other.people", 20))
    return in_tmp / "schemas.duckdb"


@pytest.mark.thorough
def test_schemas(schemas: Path, kanon: Callable[..., Ended]) -> None:
    """The table that was named is the one that the file names, whatever else has its name."""
    begun = kanon("init", schemas, "other.people", "--entity", "id", "-k", 3)
    assert begun.code == 0, begun.err
    assert 'from = "schemas.duckdb"\ntable = "other.people"\n' in Path("kanon.toml").read_text("utf-8")
    options = ("--qi", "age", "--entity", "id", "-k", 3, "--max-suppressed", 1)
    ended = kanon("anonymize", schemas, "other.people", *options, "--into", "made", "--save-policy", "saved.toml")
    assert ended.code == 0, ended.err
    found = kanon("check", "--policy", "saved.toml", "--format", "json").json
    named = ("--original", schemas, "--original-table", "other.people", "--policy", "saved.toml")
    assert found == kanon("check", schemas, "made", *named, "--format", "json").json
    assert found["smallest_class_people"] == 3  # each of 6 ages has 10 rows; of main.people they are of 10 people
    assert kanon("report", "--policy", "saved.toml", "--out", "r.html").code == 0


@pytest.mark.thorough
def test_a_release_that_was_not_made(schemas: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(schemas)) as connection:
        connection.execute("CREATE TABLE other.made AS SELECT 1 AS age FROM range(9)")
    Path("kanon.toml").write_text(
        '[source]\nfrom = "schemas.duckdb"\ntable = "people"\n[columns]\nquasi_identifiers = ["age"]\nrest = "drop"\n'
        '[privacy]\ncount = "rows"\n[release]\ninto = "made"\n',
        encoding="utf-8",
    )
    refused = kanon("check", "--policy", "kanon.toml")
    assert refused.code == 2
    assert "The release made was not made yet: there is other.made" in " ".join(refused.err.split())
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    assert kanon("check", "--policy", "kanon.toml", "--format", "json").json["rows"] == 60
    with duckdb.connect(str(schemas)) as connection:
        connection.execute("DROP TABLE other.made")
    # Beside an original in another database, the one of the release is attached.
    Path("copy.duckdb").write_bytes(schemas.read_bytes())
    named = ("--original", "copy.duckdb", "--original-table", "people")
    assert kanon("measure", "--policy", "kanon.toml", *named, "--format", "json").json["rows_in"] == 60
    qualified = Path("kanon.toml").read_text("utf-8").replace('"made"', '"OTHER.made2"')
    Path("kanon.toml").write_text(qualified, encoding="utf-8")
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    assert kanon("check", "--policy", "kanon.toml", "--format", "json").json["rows"] == 60


@pytest.mark.thorough
def test_a_copy_of_a_release_in_place(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """The table that [source] names is the release itself: it is no original of anything."""
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 'x' || i % 4 AS code FROM range(40) AS n(i)")
    (in_tmp / "kanon.toml").write_text(
        '[source]\nfrom = "t.duckdb"\n[columns]\nquasi_identifiers = ["code"]\n[privacy]\ncount = "rows"\n'
        "[release]\nin_place = true\nbackup = false\n",
        encoding="utf-8",
    )
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    for named in ((), ("t.duckdb", "t")):
        refused = kanon("attack", *named, "--policy", "kanon.toml")
        assert refused.code == 2
        assert "name a backup" in refused.err


@pytest.mark.thorough
def test_another_source(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """A note says so when a policy file is used for another table than it names."""
    write_ages(in_tmp / "one.csv", 20)
    write_ages(in_tmp / "two.csv", 30)
    kanon("init", "one.csv", "--qi", "age")
    other = kanon("anonymize", "two.csv", "--policy", "kanon.toml", "--out", "o.csv")
    assert "kanon.toml names another table under [source]" in " ".join(other.err.split())
    same = kanon("anonymize", in_tmp / "one.csv", "--policy", "kanon.toml", "--out", "p.csv")
    assert "another table" not in same.err


@pytest.mark.thorough
def test_the_library_knows_what_a_release_is_of(in_tmp: Path) -> None:
    write_ages(in_tmp / "one.csv", 20)
    kanon.init_policy("one.csv", out="kanon.toml", quasi_identifiers=["age"])
    frame = pd.DataFrame({"age": [1] * 30})
    with kanon.anonymize(frame, policy="kanon.toml") as release:
        assert release.policy.origin is None
    with kanon.prepare("one.csv", policy="kanon.toml") as prepared:
        assert prepared.policy.origin == kanon.Origin("one.csv")


def test_a_password_is_in_no_command(postgres: str, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE ages AS SELECT i % 5 AS age FROM generate_series(0, 99) AS numbers(i)")
    try:
        source = postgres.replace("@", ":hunter2@", 1)
        assert source != postgres
        for verb in ("profile", "init"):
            ended = kanon(verb, source, "ages")
            assert ended.code == 0, ended.err
            assert "hunter2" not in ended.out + ended.err
        assert "hunter2" not in (in_tmp / "kanon.toml").read_text("utf-8")
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("DROP TABLE ages")


@pytest.mark.thorough
def test_save_policy_names_the_source(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "jobs").mkdir()
    ended = kanon(
        *("anonymize", clinic, *QI, "--rest", "drop", "-k", 3, "--count", "rows", "--max-suppressed", 0.1),
        *("--into", "released", "--save-policy", "jobs/kanon.toml", "--report", "r.html"),
    )
    assert ended.code == 0, ended.err
    assert 'from = "../clinic.duckdb"\ntable = "patients"\n' in (in_tmp / "jobs" / "kanon.toml").read_text("utf-8")
    assert kanon("anonymize", "--policy", "jobs/kanon.toml", "--replace").code == 0
    # Whoever reads a report is not to learn how the directories of its author are called.
    assert kanon("report", "--policy", "jobs/kanon.toml", "--out", "again.md").code == 0
    for report in ("r.html", "again.md"):
        text = (in_tmp / report).read_text("utf-8")
        assert "[source]" not in text
        assert str(in_tmp) not in text


@pytest.mark.thorough
def test_init_names_the_source(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "jobs").mkdir()
    begun = kanon("init", clinic.name, "patients", "--entity", "id", "--out", "jobs/kanon.toml")
    assert begun.code == 0, begun.err
    assert "kanon anonymize --policy jobs/kanon.toml" in begun.out
    ended = kanon("anonymize", "--policy", "jobs/kanon.toml")
    assert ended.code == 0, ended.err
    assert "kanon report --policy jobs/kanon.toml --out report.html" in " ".join(ended.err.split())
    assert kanon("report", "--policy", "jobs/kanon.toml", "--out", "report.html").code == 0


def test_init_of_a_frame_names_none(in_tmp: Path) -> None:
    kanon.init_policy(pd.DataFrame({"age": range(50)}), out=in_tmp / "kanon.toml")
    assert read_policy(in_tmp / "kanon.toml")[0].origin is None


@pytest.mark.thorough
def test_a_table_in_postgresql(postgres: str, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE patients AS SELECT i AS id, 20 + i % 40 AS age, substr('FM', 1 + i % 2, 1) AS sex, "
            "cast(10000 + i % 4 AS text) AS zip, 'd' || i % 7 AS disease FROM generate_series(0, 399) AS numbers(i)"
        )
        job = write_job(in_tmp / "kanon.toml", postgres, 'into = "released"', 'table = "patients"')
        try:
            assert kanon("anonymize", *job).code == 0
            assert kanon("check", *job, "--format", "json").json["holds"]
            for verb in ("measure", "attack"):
                found = kanon(verb, *job, "--format", "json")
                assert found.code == 0, found.err
                assert (found.json["table"], found.json["original"]) == ("released", "patients")
            report = kanon("report", *job, "--format", "json")
            assert report.json["published"] == "released"
        finally:
            connection.execute("DROP TABLE IF EXISTS patients, released")
