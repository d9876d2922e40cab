"""Several tables in place: what is in the new file and what is not, what is refused; failures change nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import files_in
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.errors import JointReleaseError, KanonError, NoSolutionError, SourceError, UsageError, VerificationError
from kanon_sql.evidence.report.tables import report_tables
from kanon_sql.evidence.tables import check_tables
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.tables import TablePolicy, TablesPolicy, Through, write_tables_policy
from kanon_sql.release.tables.anonymize import anonymize_tables
from kanon_sql.release.tables.publish import SeveralTables
from tests.oracles.tables import raw_keys, violations
from tests.release.tables.test_tables_release import (
    databases,
    described,
    make_database,
    raw_values,
    released_rows,
    small_policy,
)
from tests.release.test_in_place import asked_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

SETUP = """
    CREATE SCHEMA elsewhere;
    CREATE TYPE sexes AS ENUM ('women', 'men');
    CREATE SEQUENCE numbers START 5000;
    CREATE TABLE wards (ward VARCHAR PRIMARY KEY, floor INTEGER);
    INSERT INTO wards SELECT 'ward ' || i, 1 + i % 3 FROM range(4) n(i);
    CREATE TABLE patients (
        patient_id INTEGER DEFAULT nextval('numbers') PRIMARY KEY,
        name VARCHAR NOT NULL UNIQUE,
        birth_year INTEGER CHECK (birth_year > 1900),
        sex sexes NOT NULL
    );
    INSERT INTO patients SELECT 700000 + i, 'Patient' || i, 1931 + i * 7 % 60, ['women', 'men'][1 + i % 2]
        FROM range(200) n(i);
    CREATE TABLE visits (
        visit_id BIGINT PRIMARY KEY,
        patient_id INTEGER NOT NULL REFERENCES patients(patient_id),
        day DATE,
        ward VARCHAR DEFAULT 'ward 0' REFERENCES wards(ward),
        UNIQUE (patient_id, visit_id)
    );
    INSERT INTO visits
        SELECT 800000 + i, 700000 + i * 13 % 200, DATE '2025-01-01' + CAST(i * 17 % 300 AS INTEGER), 'ward ' || i % 4
        FROM range(500) n(i);
    CREATE TABLE results (
        id INTEGER PRIMARY KEY,
        visit_id BIGINT REFERENCES visits(visit_id),
        test VARCHAR,
        value DOUBLE DEFAULT 0 CHECK (value >= 0),
        repeats INTEGER REFERENCES results(id)
    );
    INSERT INTO results SELECT 900000 + i, 800000 + i * 7 % 500, 'test ' || i % 3, i / 8, NULL FROM range(800) n(i);
    CREATE TABLE phones AS SELECT patient_id, 'Phone' || patient_id AS phone FROM patients;
    CREATE TABLE elsewhere.left_alone AS SELECT i FROM range(10) n(i);
    CREATE INDEX by_day ON visits(day);
    CREATE UNIQUE INDEX by_patient ON patients(patient_id);
    CREATE UNIQUE INDEX by_name ON patients(name);
    CREATE VIEW per_ward AS SELECT ward, count(*) AS n FROM visits GROUP BY ward;
    CREATE VIEW elsewhere.per_floor AS
        SELECT floor, sum(n) AS n FROM main.per_ward JOIN main.wards USING (ward) GROUP BY floor;
    CREATE VIEW z_last AS SELECT patient_id FROM visits;
    CREATE VIEW a_first AS SELECT patient_id, birth_year FROM main.z_last JOIN patients USING (patient_id);
    CREATE MACRO twice(a) AS a * 2;
    COMMENT ON TABLE visits IS 'who came';
    COMMENT ON COLUMN visits.day IS 'of arrival';
"""
POLICY = TablesPolicy(
    (
        TablePolicy(
            "patients",
            "people",
            "patient_id",
            columns=NamedColumns(identifying=("name",), quasi_identifiers=("birth_year", "sex")),
            hierarchies={"birth_year": "intervals:10,20,40", "sex": "flat"},
        ),
        TablePolicy(
            "visits",
            person="patient_id",
            key="visit_id",
            columns=NamedColumns(quasi_identifiers=("day", "ward")),
            hierarchies={"day": "date:month,quarter,year", "ward": "flat"},
        ),
        TablePolicy(
            "results",
            person=Through("visit_id", "visits"),
            columns=NamedColumns(identifying=("id", "repeats"), quasi_identifiers=("test",), insensitive=("value",)),
            hierarchies={"test": "flat"},
        ),
        TablePolicy("wards", "kept"),
        TablePolicy("phones", "dropped"),
    ),
    k=5,
    max_suppressed=1.0,
    seed=7,
)


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A database whose tables refer to each other, with views and indexes over them."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SETUP)
    return path


@pytest.mark.thorough
def test_the_promise_holds_and_no_raw_value_is_left(clinic: Path) -> None:
    """The promise is counted in plain Python; names, keys and dropped tables are not in the bytes of the file."""
    raw = raw_values(clinic, POLICY)
    assert b"Patient17" in clinic.read_bytes()
    assert b"Phone7000" in clinic.read_bytes()
    with anonymize_tables(clinic, POLICY) as release:
        published = release.in_place(backup=False)
    released = released_rows(clinic, POLICY, "main")
    assert violations(released, described(POLICY), 5, 1) == []
    assert raw_keys(released, described(POLICY), raw) == []
    assert {name: len(rows) for name, rows in released.items()} == published.verification.rows
    assert len(released["patients"]) > 150
    assert len(released["visits"]) > 200
    written = clinic.read_bytes()
    assert not [word for word in (b"Patient", b"Phone", b"phones", b"women', 'men") if word in written]
    assert check_tables(clinic, POLICY).holds
    assert files_in(clinic.parent) == {"clinic.duckdb"}


@pytest.mark.thorough
def test_what_the_tables_keep(clinic: Path) -> None:
    """Keys, references that the promise keeps, NOT NULL, indexes, comments and views; nothing that lists values."""
    with anonymize_tables(clinic, POLICY) as release:
        outcome = release.in_place(backup=False).in_place
    assert outcome is not None
    assert set(outcome.kept) == {
        "patients: PRIMARY KEY (patient_id)",
        "patients: index by_patient",
        "visits: PRIMARY KEY (visit_id)",
        "visits: FOREIGN KEY (patient_id)",
        "visits: FOREIGN KEY (ward)",
        "visits: UNIQUE (patient_id, visit_id)",
        "visits: index by_day",
        "results: FOREIGN KEY (visit_id)",
        "results: CHECK (value)",
    }
    assert set(outcome.removed) == {
        "patients: column name (not published)",
        "patients: UNIQUE (name): name changed",
        "patients: default of patient_id (pseudonyms)",
        "patients: CHECK (birth_year): birth_year changed",
        "patients: index by_name: name changed",
        "results: column id (not published)",
        "results: column repeats (not published)",
        "results: PRIMARY KEY (id): id changed",
        "results: FOREIGN KEY (repeats): repeats changed",
        "table phones (dropped by the policy)",
        "type sexes (lists values)",
    }
    assert set(outcome.views) == {"z_last", "a_first"}
    constraints = asked_of(clinic, "SELECT constraint_text FROM duckdb_constraints() WHERE table_name = 'visits'")
    assert {text for (text,) in constraints} == {
        "PRIMARY KEY(visit_id)",
        "FOREIGN KEY (patient_id) REFERENCES patients(patient_id)",
        "FOREIGN KEY (ward) REFERENCES wards(ward)",
        "UNIQUE(patient_id, visit_id)",
        "NOT NULL",
    }
    with duckdb.connect(str(clinic)) as connection, pytest.raises(duckdb.ConstraintException):
        connection.execute("INSERT INTO visits VALUES (uuid(), uuid(), NULL, NULL)")
    assert asked_of(clinic, "SELECT comment FROM duckdb_tables() WHERE table_name = 'visits'") == [("who came",)]
    (visits,) = asked_of(clinic, "SELECT count(*) FROM visits")
    assert asked_of(clinic, "SELECT sum(n) FROM elsewhere.per_floor") == [visits]
    assert asked_of(clinic, "SELECT count(*) FROM a_first") == [visits]
    assert asked_of(clinic, "SELECT count(*) FROM elsewhere.left_alone") == [(10,)]
    assert asked_of(clinic, "SELECT twice(4)") == [(8,)]
    assert not asked_of(clinic, "SELECT type_name FROM duckdb_types() WHERE NOT internal AND schema_name = 'main'")
    assert len(asked_of(clinic, "SELECT * FROM wards")) == 4


@pytest.mark.thorough
def test_a_dry_run_changes_nothing_and_says_the_same(clinic: Path) -> None:
    before = clinic.read_bytes()
    with anonymize_tables(clinic, POLICY) as release:
        tried = release.in_place(dry_run=True, backup=clinic.with_name("before.duckdb"))
    assert clinic.read_bytes() == before
    assert files_in(clinic.parent) == {"clinic.duckdb"}
    with anonymize_tables(clinic, POLICY) as release:
        done = release.in_place(backup=clinic.with_name("before.duckdb"))
        for again in (lambda: release.in_place(backup=False), release.verified, lambda: release.to_schema("released")):
            with pytest.raises(UsageError, match="the rows that they had are gone"):
                again()
        with pytest.raises(UsageError, match="report of a release in place is not for"):
            report_tables(release, done)
    assert tried.in_place is not None
    assert done.in_place is not None
    assert replace(tried.in_place, done=True, bytes_after=0) == replace(done.in_place, bytes_after=0)
    assert tried.verification == done.verification
    assert asked_of(clinic.with_name("before.duckdb"), "SELECT count(*) FROM phones") == [(200,)]


@pytest.mark.thorough
@given(databases(), st.booleans(), st.integers(1, 3))
@examples(15)
def test_small_databases(
    tmp_path_factory: pytest.TempPathFactory,
    tables: dict[str, list[tuple[Any, ...]]],
    with_people: bool,
    k: int,
) -> None:
    """NULL keys, people without events, events of no person: the promise holds in the file, or it is as it was."""
    file = tmp_path_factory.mktemp("small") / "small.duckdb"
    with make_database(tables) as made:
        made.execute("ATTACH '" + str(file) + "' AS written")
        made.execute("COPY FROM DATABASE memory TO written")
    before = file.read_bytes()
    policy = small_policy(with_people=with_people, k=k, max_suppressed=1.0)
    try:
        with anonymize_tables(file, policy) as release:
            release.in_place(backup=False)
    except NoSolutionError:
        assert file.read_bytes() == before
        return
    assert violations(released_rows(file, policy, "main"), described(policy), k, 1) == []
    if not with_people:
        assert not asked_of(file, "SELECT 1 FROM duckdb_tables() WHERE table_name = 'people'")


def refused(clinic: Path, message: str, kind: type[KanonError] = UsageError, **options: Any) -> None:
    """Try it, and see that nothing was changed."""
    before = clinic.read_bytes()
    with anonymize_tables(clinic, POLICY) as release, pytest.raises(kind, match=message):
        release.in_place(**{"backup": False} | options)
    assert clinic.read_bytes() == before
    assert not [name for name in files_in(clinic.parent) if name.startswith(".kanon")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE VIEW older AS SELECT birth_year + 1 AS next FROM patients", "Views would fail"),
        ("CREATE VIEW names AS SELECT name FROM patients", "Views would fail"),
        ("CREATE VIEW calls AS SELECT phone FROM phones", "Views would fail"),
        ("CREATE VIEW typed AS SELECT 'women'::sexes AS sex", "lists values"),
        ("CREATE TABLE elsewhere.c (y VARCHAR, x VARCHAR AS (y::sexes::VARCHAR))", "named by table c"),
        ("CREATE TABLE elsewhere.c (y VARCHAR CHECK (y::sexes IS NOT NULL))", "named by table c"),
        ("CREATE TABLE elsewhere.c (y VARCHAR DEFAULT ('men'::main.sexes::VARCHAR))", "named by table c"),
    ],
)
def test_what_would_not_work_any_more_is_refused(clinic: Path, statement: str, message: str) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute(statement)
    refused(clinic, message)


@pytest.mark.thorough
def test_a_column_may_be_called_as_a_type(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE elsewhere.c (sexes INTEGER CHECK (sexes > 1), x INTEGER AS (sexes + 1))")
    with anonymize_tables(clinic, POLICY) as release:
        release.in_place(backup=False)
    assert asked_of(clinic, "SELECT * FROM elsewhere.c") == []


@pytest.mark.thorough
def test_a_schema_called_as_the_new_database(clinic: Path) -> None:
    """USE would take the schema of the old file for the new database, and views would be made there."""
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE SCHEMA kanon_new")
    before = clinic.read_bytes()
    with anonymize_tables(clinic, POLICY) as release:
        release.in_place(backup=False, dry_run=True)
        assert clinic.read_bytes() == before
        release.in_place(backup=False)
    (visits,) = asked_of(clinic, "SELECT count(*) FROM visits")
    assert asked_of(clinic, "SELECT count(*) FROM a_first") == [visits]


@pytest.mark.thorough
def test_constraints_in_another_case_and_two_keys_of_one_column(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        for name in ("a_first", "z_last", "elsewhere.per_floor", "per_ward"):
            connection.execute("DROP VIEW " + name)
        connection.execute("DROP TABLE results; DROP TABLE visits; DROP TABLE patients")
        connection.execute(
            """
            CREATE TABLE insured (id INTEGER PRIMARY KEY);
            CREATE TABLE patients (patient_id INTEGER, name VARCHAR, birth_year INTEGER, sex sexes,
                PRIMARY KEY (PATIENT_ID));
            CREATE TABLE visits (visit_id BIGINT UNIQUE, patient_id INTEGER, day DATE, ward VARCHAR,
                FOREIGN KEY (Patient_ID) REFERENCES Patients(PATIENT_id),
                FOREIGN KEY (patient_id) REFERENCES insured(id));
            CREATE TABLE results (id INTEGER, visit_id BIGINT REFERENCES VISITS(VISIT_ID), test VARCHAR, value DOUBLE,
                repeats INTEGER);
            INSERT INTO insured FROM range(100);
            INSERT INTO patients SELECT i, 'n' || i, 1950 + i % 3, 'men' FROM range(100) n(i);
            INSERT INTO visits SELECT i, i % 100, DATE '2025-01-01', 'ward 1' FROM range(300) n(i);
            INSERT INTO results SELECT i, i, 'test 1', 0, NULL FROM range(300) n(i);
            """
        )
    policy = replace(POLICY, tables=(*POLICY.tables, TablePolicy("insured", "dropped")))
    with anonymize_tables(clinic, policy) as release:
        outcome = release.in_place(backup=False).in_place
    assert outcome is not None
    assert set(outcome.kept) == {
        "patients: PRIMARY KEY (patient_id)",
        "visits: UNIQUE (visit_id)",
        "visits: FOREIGN KEY (patient_id)",
        "results: FOREIGN KEY (visit_id)",
    }
    assert "visits: FOREIGN KEY (patient_id): patient_id changed" in outcome.removed
    referred = asked_of(clinic, "SELECT referenced_table FROM duckdb_constraints() WHERE referenced_table IS NOT NULL")
    assert {name.lower() for (name,) in referred} == {"patients", "visits"}


@pytest.mark.thorough
def test_views_and_macros_that_the_policy_drops(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE VIEW calls AS SELECT phone FROM phones")
        connection.execute("CREATE VIEW listed AS SELECT * FROM (VALUES ('Patient17', 'x')) t(a, b)")
        connection.execute("CREATE MACRO all_calls() AS TABLE SELECT phone FROM phones")
    dropped = tuple(TablePolicy(name, "dropped") for name in ("calls", "listed"))
    with anonymize_tables(clinic, replace(POLICY, tables=(*POLICY.tables, *dropped))) as release:
        outcome = release.in_place(backup=False).in_place
    assert outcome is not None
    assert {"view calls (dropped by the policy)", "view listed (dropped by the policy)"} <= set(outcome.removed)
    assert "macro all_calls (not tried)" in outcome.views
    assert b"Patient17" not in clinic.read_bytes()
    assert not asked_of(clinic, "SELECT 1 FROM duckdb_views() WHERE view_name IN ('calls', 'listed')")


@pytest.mark.thorough
def test_other_tables_that_may_hold_raw_values_are_named(clinic: Path, kanon: Callable[..., Ended]) -> None:
    """Those of other schemas, and rows that wait to be appended to a release of one of the tables."""
    asked = ("--id", "name", "--qi", "birth_year,sex", "--rest", "drop", "-k", "5")
    assert (
        kanon("anonymize", clinic, "patients", *asked, "--into", "alone", "--lock", clinic.with_name("l.lock")).code
        == 0
    )
    with duckdb.connect(str(clinic)) as connection:
        connection.execute(
            """
            CREATE TABLE elsewhere.more AS SELECT 1 + i AS patient_id, 'New' || i AS name, 1931 AS birth_year,
                'women'::VARCHAR AS sex FROM range(3) n(i);
            """
        )
    assert kanon("apply", clinic.with_name("l.lock"), clinic, "elsewhere.more", "--append", "alone").code == 0
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("DROP TABLE alone")
    with anonymize_tables(clinic, POLICY) as release:
        done = release.in_place(backup=False, ignore_ledger=True)
    assert done.in_place is not None
    assert set(done.in_place.siblings) == {"elsewhere.more", "kanon.waiting_alone"}
    assert "patient_id" in done.in_place.siblings["kanon.waiting_alone"]


@pytest.mark.thorough
def test_tables_of_several_schemas_are_checked_where_they_are(clinic: Path) -> None:
    policy = replace(POLICY, tables=(*POLICY.tables, TablePolicy("elsewhere.left_alone", "kept")))
    with anonymize_tables(clinic, policy) as release:
        release.in_place(backup=False)
    assert check_tables(clinic, policy).holds


@pytest.mark.thorough
def test_a_table_that_stays_may_not_refer_to_one_that_changes(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE beds (ward VARCHAR, patient INTEGER REFERENCES patients(patient_id))")
    kept = replace(POLICY, tables=(*POLICY.tables, TablePolicy("beds", "kept")))
    with pytest.raises(UsageError, match="patient"):
        anonymize_tables(clinic, kept)
    dropped = replace(POLICY, tables=(*POLICY.tables, TablePolicy("beds", "dropped")))
    with anonymize_tables(clinic, dropped) as release:
        release.in_place(backup=False)
    assert check_tables(clinic, dropped).holds


@pytest.mark.thorough
def test_earlier_releases_are_asked_about_and_forgotten(clinic: Path) -> None:
    with anonymize_tables(clinic, POLICY) as release:
        release.to_schema("released")
    refused(clinic, "has an earlier release", JointReleaseError)
    with anonymize_tables(clinic, POLICY) as release:
        release.in_place(backup=False, ignore_ledger=True)
    assert asked_of(clinic, "SELECT DISTINCT source_name FROM kanon.releases") == [("wards",)]
    assert asked_of(clinic, "SELECT count(*) FROM released.wards") == [(4,)]


@pytest.mark.thorough
def test_hierarchies_in_the_database_go_with_their_columns(clinic: Path, kanon: Callable[..., Ended]) -> None:
    tree = clinic.with_name("tree.csv")
    tree.write_text("test 0;any\ntest 1;any\ntest 2;any\n")
    assert kanon("hierarchy", "load", clinic, "results", f"test={tree}").code == 0
    with anonymize_tables(clinic, POLICY) as release:
        outcome = release.in_place(backup=False).in_place
    assert outcome is not None
    assert outcome.hierarchies == ("hierarchy_test",)
    assert not asked_of(clinic, "SELECT 1 FROM duckdb_tables() WHERE table_name = 'hierarchy_test'")


@pytest.mark.thorough
def test_a_release_that_is_found_wrong_changes_nothing(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise VerificationError("planted")

    monkeypatch.setattr(SeveralTables, "verified", failing)
    refused(clinic, "planted", VerificationError)


@pytest.mark.thorough
def test_backups_that_cannot_be(clinic: Path) -> None:
    taken = clinic.with_name("taken.duckdb")
    taken.write_text("x")
    refused(clinic, "exists already", backup=taken)
    refused(clinic, "the file itself", backup=clinic)
    refused(clinic, "backup=FILE to keep a copy of them, or backup=False", backup=None)
    refused(clinic, "does not exist", SourceError, backup=clinic.parent / "nowhere" / "b.duckdb")


@pytest.mark.thorough
def test_only_a_file_that_is_named_by_its_path(clinic: Path) -> None:
    with (
        duckdb.connect(str(clinic)) as connection,
        anonymize_tables(connection, POLICY) as release,
        pytest.raises(UsageError, match="named by its path"),
    ):
        release.in_place(backup=False)


@pytest.mark.thorough
def test_a_view_cannot_be_replaced(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE VIEW elsewhere.tests AS SELECT visit_id, test FROM results")
    seen = TablePolicy(
        "elsewhere.tests",
        person=Through("visit_id", "visits"),
        columns=NamedColumns(quasi_identifiers=("test",)),
        hierarchies={"test": "flat"},
    )
    left = TablePolicy("elsewhere.left_alone", "kept")
    policy = replace(POLICY, tables=(*POLICY.tables, seen, left))
    with anonymize_tables(clinic, policy) as release, pytest.raises(UsageError, match=r"'elsewhere\.tests' is a view"):
        release.in_place(backup=False)


@pytest.mark.thorough
def test_the_command(clinic: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says what stays and goes, takes a policy that names another place, and combines with what it can."""
    monkeypatch.chdir(clinic.parent)
    write_tables_policy(replace(POLICY, into_schema="released"), "kanon.toml")
    asked = ("anonymize", "clinic.duckdb", "--policy", "kanon.toml", "--in-place")
    for option, message in (
        (("--into-schema", "x"), "one place"),
        (("--sql",), "give --set release.into_schema=NAME"),
        (("--report", "r.html"), "--out FILE --report FILE"),
    ):
        ended = kanon(*asked, *option)
        assert (ended.code, message in ended.err) == (2, True), ended.err
    assert "give --in-place" in kanon(*asked[:-1], "--backup", "b.duckdb").err
    assert "is the policy" in kanon(*asked, "--backup", "kanon.toml").err
    neither = kanon(*asked, "--dry-run")
    assert (neither.code, "--backup FILE" in neither.err, "--no-backup" in neither.err) == (2, True, True)
    tried = kanon(*asked, "--no-backup", "--dry-run")
    assert "would be rewritten" in tried.out
    assert "nothing was changed" in tried.out
    done = kanon(*asked, "--no-backup", "--format", "json").json
    assert done["in_place"]["done"] is True
    assert "table phones (dropped by the policy)" in done["in_place"]["removed"]
    assert not asked_of(clinic, "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'released'")
    assert kanon("check", "clinic.duckdb", "--policy", "kanon.toml", "--schema", "main").code == 0


@pytest.mark.thorough
def test_the_policy_says_it(clinic: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the policy says is done, with its backup; a place that the command names is the one that counts."""
    monkeypatch.chdir(clinic.parent)
    write_tables_policy(
        replace(POLICY, source="clinic.duckdb", in_place=True, backup=Path("before.duckdb")), "kanon.toml"
    )
    before = clinic.read_bytes()
    assert "give --set release.into_schema=NAME" in kanon("anonymize", "--policy", "kanon.toml", "--sql").err
    assert "--out FILE --report FILE" in kanon("anonymize", "--policy", "kanon.toml", "--report", "r.html").err
    assert kanon("anonymize", "--policy", "kanon.toml", "--out", "elsewhere.duckdb", "--ignore-ledger").code == 0
    assert "give --in-place" in kanon("anonymize", "--policy", "kanon.toml", "--out", "o.duckdb", "--backup", "b").err
    assert kanon("check", "--policy", "kanon.toml").code == 1
    assert kanon("anonymize", "--policy", "kanon.toml", "--dry-run", "--ignore-ledger").code == 0
    assert not Path("before.duckdb").exists()
    done = kanon("anonymize", "--policy", "kanon.toml", "--ignore-ledger", "--format", "json").json
    assert done["in_place"]["done"] is True
    assert kanon("check", "--policy", "kanon.toml").code == 0
    assert asked_of(Path("before.duckdb"), "FROM phones")
    assert before != clinic.read_bytes()
