"""In place: what the table keeps, what is refused, and that a failure leaves the file as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import files_in
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from strategies import HOSTILE_NAMES
from test_sql import require_approved

import kanon_sql as kanon
from kanon_sql.errors import JointReleaseError, NoSolutionError, SourceError, UsageError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

ASKED: dict[str, Any] = {
    "identifying": ["name"],
    "quasi_identifiers": ["age", "zip"],
    "sensitive": ["disease"],
    "insensitive": ["id", "ward"],
    "rest": "keep",
    "models": [kanon.KAnonymity(5)],
    "hierarchies": {"age": "intervals:10,20,40", "zip": "flat"},
    "seed": 1,
}
POLICY = """[columns]
identifying = ["name"]
quasi_identifiers = ["age", "zip"]
insensitive = ["id", "ward"]
rest = "keep"
[release]
in_place = true
"""
OPTIONS = [
    "--id", "name", "--qi", "age,zip", "--sensitive", "disease", "--keep", "id,ward", "--rest", "keep",
    "--hierarchy", "age=intervals:10,20,40", "--hierarchy", "zip=flat",
]  # fmt: skip
OF_FILES = [option for option in OPTIONS if option not in {"--keep", "id,ward"}]
"""The same, of tables without a number and a ward."""
SETUP = """
    CREATE SCHEMA "Other One";
    CREATE SEQUENCE numbers START 100;
    CREATE TABLE wards (ward INTEGER PRIMARY KEY, label VARCHAR);
    INSERT INTO wards SELECT i, 'w' || i FROM range(3) n(i);
    CREATE TABLE patients (
        id INTEGER DEFAULT nextval('numbers') PRIMARY KEY,
        name VARCHAR NOT NULL UNIQUE,
        age INTEGER NOT NULL CHECK (age < 200),
        zip VARCHAR DEFAULT '00000',
        disease VARCHAR DEFAULT 'none',
        ward INTEGER REFERENCES wards(ward),
        "cost ""in"" now" DECIMAL(9,2) CHECK ("cost ""in"" now" >= 0),
        stay STRUCT(days INTEGER, notes VARCHAR[])
    );
    INSERT INTO patients SELECT i, 'n' || i, 20 + i, 'z' || i % 2, 'd' || i % 4, i % 3, i / 4, {days: i, notes: ['x']}
        FROM range(60) n(i);
    COMMENT ON TABLE patients IS 'who was here';
    COMMENT ON COLUMN patients.age IS 'in years';
    COMMENT ON COLUMN patients.name IS 'first and last';
    CREATE INDEX by_age ON patients(age);
    CREATE INDEX by_disease ON patients(disease);
    CREATE UNIQUE INDEX by_name ON patients(name);
    CREATE INDEX by_young ON patients((age + 1));
    CREATE TABLE "Other One"."sel ect" AS SELECT i, 'o' || i AS "a""b" FROM range(10) n(i);
    CREATE VIEW diseases AS SELECT disease, count(*) AS n FROM patients GROUP BY disease;
    CREATE VIEW ages AS SELECT age FROM patients;
    CREATE VIEW "Other One".elsewhere AS SELECT * FROM main.diseases;
    CREATE VIEW unrelated AS SELECT * FROM wards;
    CREATE MACRO twice(a) AS a * 2;
"""


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    """A database with a table that has all that a table can have around it."""
    path = tmp_path / "hospital.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SETUP)
    return path


def asked_of(path: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(query).fetchall()


def change(path: Path, statement: str) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)


def in_place(path: Path, table: str = "patients", **how: Any) -> kanon.Published:
    asked = {**ASKED, **how.pop("asked", {})}
    with kanon.anonymize(path, table, **asked) as release:
        return release.in_place(**{"backup": False} | how)


@pytest.mark.thorough
def test_the_table_keeps_what_still_makes_sense(hospital: Path) -> None:
    before = asked_of(hospital, "SELECT disease, ward, stay.days FROM patients")
    outcome = in_place(hospital).in_place
    assert outcome is not None
    (definition,) = asked_of(hospital, "SELECT sql, comment FROM duckdb_tables() WHERE table_name = 'patients'")
    assert definition[1] == "who was here"
    columns = asked_of(
        hospital,
        "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns() "
        "WHERE table_name = 'patients' ORDER BY column_index",
    )
    assert columns == [
        ("id", "INTEGER", False, None),
        ("age", "VARCHAR", False, "in years"),
        ("zip", "VARCHAR", True, None),
        ("disease", "VARCHAR", True, None),
        ("ward", "INTEGER", True, None),
        ('cost "in" now', "DECIMAL(9,2)", True, None),
        ("stay", 'STRUCT("days" INTEGER, notes VARCHAR[])', True, None),
    ]
    constraints = asked_of(
        hospital,
        "SELECT constraint_type, constraint_column_names FROM duckdb_constraints() "
        "WHERE table_name = 'patients' AND constraint_type <> 'NOT NULL' ORDER BY ALL",
    )
    assert constraints == [("CHECK", ['cost "in" now']), ("FOREIGN KEY", ["ward"]), ("PRIMARY KEY", ["id"])]
    indexes = asked_of(hospital, "SELECT index_name FROM duckdb_indexes() ORDER BY 1")
    assert indexes == [("by_age",), ("by_disease",)]
    assert set(outcome.kept) == {
        "PRIMARY KEY (id)", 'CHECK (cost "in" now)', "FOREIGN KEY (ward)", "index by_age", "index by_disease",
    }  # fmt: skip
    assert {text.split(":")[0] for text in outcome.removed} == {
        "column name (not published)", "CHECK (age)", "UNIQUE (name)", "index by_name", "index by_young",
    }  # fmt: skip
    assert outcome.views == ("ages",)
    after = asked_of(hospital, "SELECT disease, ward, stay.days FROM patients")
    assert sorted(map(str, after)) == sorted(map(str, before))
    sizes = asked_of(hospital, "SELECT count(*) FROM patients GROUP BY age, zip")
    assert min(size for (size,) in sizes) >= 5
    # Defaults and sequences go on where they were.
    change(hospital, "INSERT INTO patients (age, zip) VALUES ('x', 'y')")
    assert asked_of(hospital, "SELECT id, disease FROM patients WHERE age = 'x'") == [(100, "none")]


@pytest.mark.thorough
def test_everything_else_is_as_it_was(hospital: Path) -> None:
    queries = {
        "tables": "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE table_name <> 'patients' ORDER BY 2",
        "views": "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
        "macros": "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
        "rows": 'SELECT * FROM "Other One"."sel ect"',
        "wards": "SELECT * FROM wards",
    }
    before = {name: asked_of(hospital, query) for name, query in queries.items()}
    assert in_place(hospital).verification.rows == 60
    assert {name: asked_of(hospital, query) for name, query in queries.items()} == before
    assert asked_of(hospital, 'SELECT count(*) FROM "Other One".elsewhere') == [(4,)]


@pytest.mark.thorough
def test_programs_that_read_the_old_file_read_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS old (STORAGE_VERSION 'v1.0.0', BLOCK_SIZE 16384)")
        connection.execute("CREATE TABLE old.people AS SELECT i % 3 AS age FROM range(30) n(i)")
    how = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = 'old'"
    block = "SELECT block_size FROM pragma_database_size()"
    before = asked_of(path, how), asked_of(path, block)
    assert before == ([("v1.0.0+",)], [(16384,)])
    with kanon.anonymize(path, quasi_identifiers=["age"]) as release:
        release.in_place(backup=False)
    assert (asked_of(path, how), asked_of(path, block)) == before
    kanon.clean(path)
    assert (asked_of(path, how), asked_of(path, block)) == before


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.thorough
@examples(20, quick=2)
@given(
    names=st.lists(st.sampled_from(HOSTILE_NAMES), min_size=7, max_size=7, unique_by=str.casefold),
    stem=st.sampled_from(["plain", "memory", "kanon_new", 'a"b', "se lect", "temp", "x.y", "ünï"]),
)
def test_hostile_names(names: list[str], stem: str) -> None:
    schema, table, other, qi, sensitive, kept, index = names
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"{stem}.duckdb"
        in_schema, of_table = quoted(schema), f"{quoted(schema)}.{quoted(table)}"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE SCHEMA {in_schema}")
            connection.execute(f"CREATE TABLE {in_schema}.{quoted(other)} ({quoted(kept)} INTEGER PRIMARY KEY)")
            connection.execute(f"INSERT INTO {in_schema}.{quoted(other)} SELECT range FROM range(3)")  # noqa: S608 - quoted, as a person would
            connection.execute(
                f"CREATE TABLE {of_table} ({quoted(qi)} INTEGER, {quoted(sensitive)} VARCHAR NOT NULL DEFAULT 'x''y', "
                f"{quoted(kept)} INTEGER REFERENCES {in_schema}.{quoted(other)} ({quoted(kept)}))"
            )
            connection.execute(f"INSERT INTO {of_table} SELECT i, 'd' || i % 4, i % 3 FROM range(40) n(i)")  # noqa: S608 - names and numbers of this test
            connection.execute(f"CREATE INDEX {quoted(index)} ON {of_table} ({quoted(qi)}, {quoted(sensitive)})")
            connection.execute(f"COMMENT ON COLUMN {of_table}.{quoted(qi)} IS 'it''s'")
            connection.execute(f"CREATE VIEW {in_schema}.kanonless AS SELECT {quoted(sensitive)} FROM {of_table}")  # noqa: S608 - names and numbers of this test
        asked = {"quasi_identifiers": [qi], "sensitive": [sensitive], "rest": "keep", "hierarchies": {qi: "flat"}}
        with kanon.anonymize(path, f"{schema}.{table}", **asked, models=[kanon.KAnonymity(2)]) as release:
            outcome = release.in_place(backup=False).in_place
        assert outcome is not None
        assert len(outcome.kept) == 2  # the foreign key and the index
        assert asked_of(path, f"SELECT count(*), min({quoted(qi)}) FROM {of_table}") == [(40, "*")]  # noqa: S608 - names and numbers of this test
        assert asked_of(path, f"SELECT count(*) FROM {in_schema}.{quoted(other)}") == [(3,)]  # noqa: S608 - names and numbers of this test
        assert asked_of(path, f"SELECT count(*) FROM {in_schema}.kanonless") == [(40,)]  # noqa: S608 - names and numbers of this test
        assert asked_of(path, "SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL") == [("it's",)]
        assert files_in(Path(directory)) == {path.name}


@pytest.mark.thorough
def test_permissions_and_links_are_kept(hospital: Path) -> None:
    hospital.chmod(0o640)
    link = hospital.with_name("link.duckdb")
    link.symlink_to(hospital)
    in_place(link)
    assert link.is_symlink()
    assert hospital.stat().st_mode & 0o777 == 0o640
    assert "name" not in [name for name, *_ in asked_of(hospital, "DESCRIBE patients")]


@pytest.mark.thorough
def test_the_backup_is_the_file_as_it_was(hospital: Path) -> None:
    before = asked_of(hospital, "SELECT * FROM patients ORDER BY id")
    backup = hospital.with_name("before.duckdb")
    hospital.chmod(0o644)
    in_place(hospital, backup=backup)
    assert asked_of(backup, "SELECT * FROM patients ORDER BY id") == before
    assert os.name == "nt" or backup.stat().st_mode & 0o777 == 0o600
    assert files_in(hospital.parent) == {"before.duckdb", "hospital.duckdb"}


@pytest.mark.thorough
def test_a_dry_run_shows_everything_and_changes_nothing(hospital: Path, kanon: Callable[..., Ended]) -> None:
    before = hospital.read_bytes()
    asked = ["anonymize", hospital, "patients", *OPTIONS, "--in-place"]
    ended = kanon(*asked, "--dry-run", "--backup", hospital.with_name("b.duckdb"))
    assert ended.code == 0
    assert "nothing was changed" in ended.out
    assert "index by_age" in ended.out
    assert hospital.read_bytes() == before
    assert files_in(hospital.parent) == {"hospital.duckdb"}
    shown = kanon(*asked, "--no-backup", "--dry-run", "--format", "json").json["in_place"]
    done = kanon(*asked, "--no-backup", "--format", "json").json["in_place"]
    assert (shown["done"], done["done"]) == (False, True)
    for name in ("kept", "removed", "views", "hierarchies", "bytes_before"):
        assert shown[name] == done[name]


@pytest.mark.thorough
def test_a_release_is_of_no_use_afterwards(hospital: Path) -> None:
    with kanon.anonymize(hospital, "patients", **ASKED) as release:
        release.in_place(backup=False)
        for again in (
            lambda: release.in_place(backup=False),
            release.to_pandas,
            release.verify,
            lambda: release.to_table("x"),
        ):
            with pytest.raises(UsageError, match="in place"):
                again()


@pytest.mark.thorough
def test_policy_file(hospital: Path, kanon: Callable[..., Ended]) -> None:
    policy = hospital.with_name("kanon.toml")
    policy.write_text(POLICY + 'backup = "before.duckdb"\n')
    assert kanon("anonymize", hospital, "patients", "--policy", policy).code == 0
    assert files_in(hospital.parent) == {"before.duckdb", "hospital.duckdb", "kanon.toml"}


def test_its_statements_are_approved(hospital: Path, request: pytest.FixtureRequest) -> None:
    with kanon.anonymize(hospital, "patients", **ASKED) as release:
        script = release.sql(destination=kanon.Destination(in_place=True))
    require_approved(script.replace(str(hospital.parent), "DIRECTORY"), "in-place.duckdb.sql", request)


@pytest.mark.thorough
def test_the_script_makes_the_same_database(hospital: Path, kanon: Callable[..., Ended]) -> None:
    asked = ["anonymize", hospital, "patients", *OPTIONS, "--seed", "1", "--in-place", "--no-backup"]
    script = kanon(*asked, "--sql").out
    with duckdb.connect(str(hospital)) as connection:
        connection.execute(script)
    made = asked_of(hospital.with_name("hospital.new.duckdb"), "SELECT * FROM patients")
    assert kanon(*asked).code == 0
    assert asked_of(hospital, "SELECT * FROM patients") == made


# What is refused; and the file is as it was


def refused(path: Path, what: str, error: type[kanon.KanonError] = UsageError, **how: Any) -> None:
    content, names = path.read_bytes(), files_in(path.parent)
    with pytest.raises(error, match=what):
        in_place(path, **how)
    assert path.read_bytes() == content
    assert files_in(path.parent) == names


@pytest.mark.thorough
def test_a_foreign_key_of_another_table(hospital: Path) -> None:
    change(hospital, "CREATE TABLE visits (patient INTEGER REFERENCES patients(id))")
    refused(hospital, "visits has a foreign key")


@pytest.mark.thorough
def test_a_view_that_would_fail(hospital: Path) -> None:
    change(hospital, "CREATE VIEW named AS SELECT name FROM patients")
    change(hospital, "CREATE VIEW over_it AS SELECT * FROM named")
    change(hospital, "CREATE VIEW summed AS SELECT sum(age) AS total FROM patients")
    refused(hospital, r"would fail without 'patients' as it was \(named, summed, over_it\)")
    change(hospital, "DROP VIEW over_it")
    change(hospital, "DROP VIEW named")
    change(hospital, "DROP VIEW summed")
    in_place(hospital)


@pytest.mark.thorough
def test_definitions_are_carried_over_as_they_are(hospital: Path) -> None:
    change(
        hospital,
        "CREATE TABLE odd (age INTEGER, zip VARCHAR, name VARCHAR, disease VARCHAR DEFAULT ('d' || chr(39)), "
        "seen TIMESTAMP DEFAULT current_timestamp, code UUID DEFAULT gen_random_uuid(), half DOUBLE DEFAULT (7 // 2), "
        "tags VARCHAR[] DEFAULT ['x', 'y'], CHECK (regexp_matches(disease, '^[a-z''\"]+') OR disease ILIKE 'd%'), "
        "CHECK (half ** 2 >= 0 AND list_contains(tags, 'x')), CHECK (CASE WHEN half > 9 THEN half < 99 END))",
    )
    change(hospital, "INSERT INTO odd (age, zip, name) SELECT i, 'z', 'n' || i FROM range(30) n(i)")
    defaults = (
        "SELECT column_name, column_default FROM duckdb_columns() WHERE table_name = 'odd' AND column_default <> ''"
    )
    checks = "SELECT constraint_text FROM duckdb_constraints() WHERE table_name = 'odd' ORDER BY ALL"
    change(hospital, "CREATE INDEX odd_one ON odd((half ** 2), (lower(disease)))")
    before = asked_of(hospital, defaults), asked_of(hospital, checks)
    assert len(before[1]) == 3
    outcome = in_place(hospital, "odd", asked={"insensitive": []}).in_place
    assert outcome is not None
    assert "index odd_one: it is over an expression" in outcome.removed
    assert (asked_of(hospital, defaults), asked_of(hospital, checks)) == before


@pytest.mark.thorough
def test_a_definition_that_would_read_otherwise(hospital: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kanon_sql.release.in_place.rewrite._as_it_is", lambda text: exp.var(text.replace(">= 0", ">= -1"))
    )
    refused(hospital, "cannot be carried over unchanged .CHECK")


@pytest.mark.thorough
def test_a_view_that_failed_before_stays(hospital: Path) -> None:
    change(hospital, "CREATE VIEW broken AS SELECT p.age, u.label FROM patients p JOIN unrelated u USING (ward)")
    change(hospital, "DROP VIEW unrelated")
    in_place(hospital)
    assert asked_of(hospital, "SELECT count(*) FROM duckdb_views() WHERE view_name = 'broken'") == [(1,)]


@pytest.mark.thorough
def test_a_view_of_ours(hospital: Path) -> None:
    with kanon.anonymize(hospital, "patients", **{**ASKED, "rest": "drop"}) as release:
        release.to_view("seen")
    refused(hospital, "seen is a release of 'patients'", ignore_ledger=True)


@pytest.mark.thorough
def test_a_view_as_the_source(hospital: Path) -> None:
    change(hospital, "CREATE VIEW all_of_them AS SELECT * FROM patients")
    content = hospital.read_bytes()
    with pytest.raises(UsageError, match="is a view"):
        in_place(hospital, "all_of_them", asked={"rest": "drop"})
    assert hospital.read_bytes() == content


@pytest.mark.thorough
def test_a_connection_and_a_data_frame(hospital: Path) -> None:
    with duckdb.connect(str(hospital)) as connection, kanon.anonymize(connection, "patients", **ASKED) as release:
        with pytest.raises(UsageError, match="by its path"):
            release.in_place(backup=False)
        frame = connection.execute("SELECT * FROM patients").df()
    with kanon.anonymize(frame, **ASKED) as release, pytest.raises(UsageError, match="by its path"):
        release.in_place(backup=False)


@pytest.mark.thorough
def test_other_names_of_the_file(hospital: Path) -> None:
    other = hospital.with_name("other.duckdb")
    os.link(hospital, other)
    refused(hospital, "hard links")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes to read-only directories")
def test_a_read_only_directory(hospital: Path) -> None:
    hospital.parent.chmod(0o500)
    try:
        refused(hospital, "read-only", SourceError)
    finally:
        hospital.parent.chmod(0o700)


@pytest.mark.thorough
def test_another_process_has_the_file(
    hospital: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kanon_sql.engine.duckdb.connection._PATIENCE", 0.2)
    program = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    command = [sys.executable, "-c", program, str(hospital)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holding:  # noqa: S603 - ours
        assert holding.stdout is not None
        holding.stdout.readline()
        content = hospital.read_bytes()
        try:
            ended = kanon("anonymize", hospital, "patients", *OPTIONS, "--in-place", "--no-backup")
            cleaned = kanon("clean", hospital)
        finally:
            holding.kill()
    for each in (ended, cleaned):
        assert each.code == 3
        assert "another process" in each.err
    assert hospital.read_bytes() == content


@pytest.mark.thorough
def test_backups_that_cannot_be(hospital: Path) -> None:
    taken = hospital.with_name("taken.duckdb")
    taken.write_bytes(b"mine")
    refused(hospital, "exists already", backup=taken)
    refused(hospital, "the file itself", backup=hospital)
    refused(hospital, "does not exist", SourceError, backup=hospital.parent / "nowhere" / "b.duckdb")
    refused(hospital, "is a directory", SourceError, backup=hospital.parent)
    refused(hospital, "backup=FILE to keep a copy of them, or backup=False", backup=None)


@pytest.mark.thorough
def test_a_second_run_does_not_replace_the_raw_rows_by_a_release(hospital: Path, kanon: Callable[..., Ended]) -> None:
    """Fails before 0.2.0: --replace let the backup of a second run replace that of the first one."""
    policy = hospital.with_name("kanon.toml")
    policy.write_text(POLICY + 'backup = "before.duckdb"\nreplace = true\n')
    asked = ("anonymize", hospital, "patients", "--policy", policy)
    assert kanon(*asked).code == 0
    again = kanon(*asked, "--replace")
    assert (again.code, "a backup replaces no file" in again.err) == (2, True)
    assert asked_of(hospital.with_name("before.duckdb"), "SELECT count(name) FROM patients") == [(60,)]


def test_a_backup_is_compared_with_the_file(hospital: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(original: Any, copy: Any) -> None:
        copy.write(original.read()[:1000])

    monkeypatch.setattr("kanon_sql.engine.files.shutil.copyfileobj", half)
    refused(hospital, "not the same as the file", SourceError, backup=hospital.with_name("before.duckdb"))


@pytest.mark.thorough
def test_the_command_decides_for_a_policy_file_that_does_not(hospital: Path, kanon: Callable[..., Ended]) -> None:
    policy = hospital.with_name("kanon.toml")
    policy.write_text(POLICY)
    asked = ("anonymize", hospital, "patients", "--policy", policy)
    neither = kanon(*asked)
    assert (neither.code, "--no-backup" in neither.err) == (2, True)
    assert kanon(*asked, "--no-backup").code == 0


@pytest.mark.thorough
def test_no_room(hospital: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kanon_sql.engine.files.shutil.disk_usage", lambda _: _Disk())
    refused(hospital, "0 MB are free", SourceError)


class _Disk:
    free = 1000


@pytest.mark.thorough
def test_a_release_that_fails_its_check(hospital: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise VerificationError("The release has a class of 1 row.")

    monkeypatch.setattr("kanon_sql.release.publish.publisher.verify", failing)
    refused(hospital, "class of 1", VerificationError)


def test_no_solution(hospital: Path) -> None:
    refused(hospital, "61", NoSolutionError, asked={"models": [kanon.KAnonymity(61)]})


@pytest.mark.thorough
def test_the_ledger_is_asked(hospital: Path) -> None:
    change(hospital, "CREATE TABLE square AS SELECT i % 2 AS a, i // 2 AS b, i AS s FROM range(4) n(i)")
    flat = {"hierarchies": {"a": "flat", "b": "flat"}, "sensitive": ["s"], "models": [kanon.KAnonymity(2)], "seed": 1}
    with kanon.anonymize(hospital, "square", quasi_identifiers=["a", "b"], max_suppressed=0, **flat) as release:
        release.to_table("first")
    content = hospital.read_bytes()
    with (
        kanon.anonymize(hospital, "square", quasi_identifiers=["b", "a"], max_suppressed=0, **flat) as release,
        pytest.raises(JointReleaseError, match="first"),
    ):
        release.in_place(backup=False)
    assert asked_of(hospital, "SELECT a, b FROM square ORDER BY s") == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert hospital.read_bytes() == content
    with kanon.anonymize(hospital, "square", quasi_identifiers=["b", "a"], max_suppressed=0, **flat) as release:
        release.in_place(backup=False, ignore_ledger=True)
    assert kanon.ledger(hospital) == []  # what it remembered was about rows that are gone


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--in-place", "--no-backup", "--into", "x"], "--in-place"),
        (["--in-place", "--no-backup", "--out", "x.csv"], "--in-place"),
        (["--backup", "x", "--into", "y"], "give --in-place"),
        (["--no-backup", "--into", "y"], "give --in-place"),
        (["--in-place"], "add --backup FILE to keep a copy of them, or --no-backup"),
        (["--in-place", "--dry-run"], "add --backup FILE"),
        (["--in-place", "--backup", "x", "--no-backup"], "do not go together"),
        (["--dry-run"], "--into"),
        (["--in-place", "--no-backup", "--as", "view"], "--as"),
        (["--in-place", "--no-backup", "--dry-run", "--sql"], "--sql"),
    ],
)
def test_options_that_do_not_go_together(
    hospital: Path, kanon: Callable[..., Ended], options: list[str], what: str
) -> None:
    ended = kanon("anonymize", hospital, "patients", *OPTIONS, *options)
    assert ended.code == 2
    assert what in ended.err


# Data files


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_data_files(tmp_path: Path, kanon: Callable[..., Ended], suffix: str) -> None:
    path = tmp_path / f"people.{suffix}"
    with duckdb.connect() as connection:
        rows = "SELECT 'n' || i AS name, 20 + i AS age, 'z' || i % 2 AS zip, 'd' AS disease FROM range(60) AS r(i)"
        kind = "json" if suffix == "jsonl" else suffix
        connection.execute(f"COPY ({rows}) TO '{path}' (FORMAT {kind})")
    content = path.read_bytes()
    asked = ["anonymize", path, *OF_FILES, "--in-place"]
    assert kanon(*asked, "--no-backup", "--dry-run").code == 0
    assert path.read_bytes() == content
    assert kanon(*asked, "--backup", tmp_path / "before").code == 0
    assert (tmp_path / "before").read_bytes() == content
    assert files_in(tmp_path) == {"before", path.name}
    assert kanon("check", path, "--qi", "age,zip").code == 0
    assert b"n17" not in path.read_bytes()


def test_a_csv_file_is_written_in_place_as_it_was(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    path = tmp_path / "german.csv"
    lines = [f"{30 + i % 2};{i},5;2{i % 3}.11.1990;grün" for i in range(20)]
    text = "alter;einkommen;tag;farbe\n" + "".join(f"{line}\n" for line in lines)
    path.write_text(text, encoding="cp1252")
    asked = ("--qi", "alter", "--hierarchy", "alter=flat", "--rest", "keep", "-k", "2", "--read", "encoding=cp1252")
    assert kanon("anonymize", path, *asked, "--in-place", "--no-backup").code == 0
    header, *found = path.read_text(encoding="cp1252").replace('"', "").splitlines()
    assert header == "alter;einkommen;tag;farbe"
    assert sorted(found) == sorted(lines)


def test_several_files_at_once(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    for number in range(2):
        (tmp_path / f"{number}.csv").write_text("name,age,zip,disease\n" + "a,20,z,d\n" * 10)
    ended = kanon("anonymize", tmp_path / "*.csv", *OPTIONS, "--in-place", "--no-backup")
    assert ended.code == 2
    assert "not one file" in ended.err


# kanon clean


@pytest.mark.thorough
def test_clean_leaves_a_table_out(hospital: Path, kanon: Callable[..., Ended]) -> None:
    shown = kanon("clean", hospital, "--drop", "wards", "--sql")
    assert shown.code == 2
    assert "patients has a foreign key to 'wards'" in shown.err
    ended = kanon("clean", hospital, "--drop", "wards", "--drop", "patients")
    assert ended.code == 2
    assert "would fail without" in ended.err
    for view in ("diseases", "ages", "unrelated", '"Other One".elsewhere'):
        change(hospital, f"DROP VIEW {view}")
    ended = kanon("clean", hospital, "--drop", "wards", "--drop", "main.PATIENTS", "--format", "json")
    assert ended.code == 0, ended.err
    assert sorted(ended.json["dropped"]) == ["patients", "wards"]
    assert asked_of(hospital, "SELECT table_name FROM duckdb_tables()") == [("sel ect",)]
    assert kanon("clean", hospital, "--drop", "nobody").code == 2
    assert files_in(hospital.parent) == {"hospital.duckdb"}


@pytest.mark.thorough
def test_a_schema_called_as_the_new_database(hospital: Path) -> None:
    """USE would take the schema of the old file for the new database, and make views there, by a dry run too."""
    change(hospital, "CREATE SCHEMA kanon_new")
    content = hospital.read_bytes()
    in_place(hospital, dry_run=True)
    assert hospital.read_bytes() == content
    in_place(hospital)
    kanon.clean(hospital)
    assert asked_of(hospital, "SELECT schema_name FROM duckdb_views() WHERE view_name = 'diseases'") == [("main",)]


@pytest.mark.thorough
def test_a_type_in_the_definition_of_another_table(hospital: Path) -> None:
    """The type lists values of the table, and would be gone: the other table could not be read any more."""
    change(hospital, "CREATE TYPE kinds AS ENUM ('F', 'M')")
    change(hospital, "ALTER TABLE patients ADD COLUMN kind kinds")
    change(hospital, "CREATE TABLE settings (y VARCHAR, x VARCHAR AS (y::kinds::VARCHAR))")
    refused(hospital, "named by table settings", asked={"insensitive": ["id", "ward", "kind"]})
    with pytest.raises(UsageError, match="named by table settings"):
        kanon.clean(hospital, drop=["patients"])


@pytest.mark.thorough
def test_clean_keeps_everything(hospital: Path) -> None:
    names = "SELECT schema_name, table_name, sql, comment FROM duckdb_tables() ORDER BY ALL"
    before = asked_of(hospital, names), asked_of(hospital, "SELECT * FROM patients ORDER BY id")
    cleaned = kanon.clean(hospital, backup=hospital.with_name("b.duckdb"))
    assert cleaned.tables == 3
    assert (asked_of(hospital, names), asked_of(hospital, "SELECT * FROM patients ORDER BY id")) == before
    assert asked_of(hospital.with_name("b.duckdb"), "SELECT * FROM patients ORDER BY id") == before[1]


# --out FILE.duckdb


@pytest.mark.thorough
def test_a_database_of_its_own(hospital: Path, kanon: Callable[..., Ended]) -> None:
    out = hospital.with_name("released.duckdb")
    asked = ["anonymize", hospital, "patients", *OPTIONS, "--out", out, "--seed", "1"]
    script = kanon(*asked, "--sql").out
    assert kanon(*asked).code == 0
    tables = "SELECT schema_name, table_name FROM duckdb_tables()"
    assert asked_of(out, tables) == [("main", "patients")]
    assert asked_of(out, "SELECT count(*) FROM duckdb_views() WHERE NOT internal") == [(0,)]
    rows = asked_of(out, "SELECT * FROM patients")
    assert kanon("check", out, "--qi", "age,zip", "--keep", "id,ward").code == 0
    assert kanon(*asked).code == 2  # it is there
    out.unlink()
    with duckdb.connect(str(hospital)) as connection:
        connection.execute(script)
    assert asked_of(out, "SELECT * FROM patients") == rows
    assert kanon(*asked, "--replace").code == 0
    *_, remembered = kanon("ledger", hospital, "--format", "json").json["releases"]
    assert remembered["destination"] == str(out)
    assert remembered["as_it_was"] is True
    assert kanon("anonymize", hospital, "patients", *OPTIONS, "--out", hospital, "--replace").code == 2
    assert files_in(hospital.parent) == {"hospital.duckdb", "released.duckdb"}


@pytest.mark.thorough
def test_a_database_from_a_data_frame(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        frame = connection.execute("SELECT i % 3 AS age, 'z' AS zip FROM range(30) n(i)").df()
    with kanon.anonymize(frame, quasi_identifiers=["age", "zip"]) as release:
        release.to_file(tmp_path / "released.duckdb")
    assert asked_of(tmp_path / "released.duckdb", "SELECT count(*) FROM release") == [(30,)]


@pytest.mark.thorough
def test_a_log_beside_the_new_database(hospital: Path, kanon: Callable[..., Ended]) -> None:
    out = hospital.with_name("released.duckdb")
    out.with_name("released.duckdb.wal").write_bytes(b"of something else")
    ended = kanon("anonymize", hospital, "patients", *OPTIONS, "--out", out)
    assert ended.code == 3
    assert not out.exists()
