"""The gate across tables: columns of people, of their events and of views, and tables that are judged."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import duckdb
import pytest

import kanon_sql as kanon_of
from kanon_sql.errors import KanonError

if TYPE_CHECKING:
    from pathlib import Path

PATIENTS = "CREATE TABLE patients AS SELECT i AS patient_id, i % 2 AS sex FROM range(60) r(i)"
VISITS = "CREATE TABLE visits AS SELECT patient_id, patient_id % 30 AS day FROM patients"
POLICY = """[tables.patients]
rows = "people"
person = "patient_id"
quasi_identifiers = ["sex"]
rest = "keep"
hierarchies = {{ sex = "flat" }}
[tables.visits]
person = "{person}"
{identifying}
quasi_identifiers = ["day"]
rest = "keep"
hierarchies = {{ day = "flat" }}
[privacy]
k = {k}
"""


def made(directory: Path, *statements: str, person: str = "patient_id", identifying: str = "", k: int = 5) -> Path:
    path = directory / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    (directory / "kanon.toml").write_text(POLICY.format(person=person, identifying=identifying, k=k))
    return path


def released(path: Path) -> None:
    policy = kanon_of.read_tables_policy(path.parent / "kanon.toml")
    kanon_of.anonymize_tables(path, policy).opened.engine.close()


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (
            (PATIENTS, VISITS, "ALTER TABLE patients ADD COLUMN x INT", "UPDATE patients SET x = patient_id % 30"),
            "patients.x has no role, and the values of visits.day",
        ),
        (
            (
                PATIENTS,
                "CREATE SCHEMA raw; CREATE TABLE raw.v AS SELECT patient_id, patient_id % 30 AS day FROM patients",
                "CREATE VIEW visits AS SELECT v.*, -sex AS x FROM raw.v JOIN patients USING (patient_id)",
            ),
            r"visits: a view computes its columns, and a table its generated ones; without a role: x\.",
        ),
    ],
    ids=["a column of people is that of their events", "a view of events reads a column of people"],
)  # fmt: skip
def test_a_hidden_column_of_another_table_is_not_kept(statements: tuple[str, ...], says: str, tmp_path: Path) -> None:
    path = made(tmp_path, *statements)
    with pytest.raises(KanonError, match=says) as error:
        released(path)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("patient", "visit", "day", "value", "says"),
    [
        ("i % 7", "v % 7", "v % 12", "3 * (v % 7)", "visits.x has no role .* tells the value of results.value"),
        ("i % 6", "v % 7", "3 * (i % 6)", "v % 5", "patients.x has no role .* tells the value of visits.day"),
        ("i // 2", "v % 7", "hash(i) % 9", "v % 5", ""),  # a person is always in one ward
        ("i % 6", "i + 1000", "v % 5", "hash(i) % 4", ""),  # so are the results of a room that one person has
    ],
)
def test_a_column_of_an_earlier_row_tells_a_generalized_one(
    patient: str, visit: str, day: str, value: str, says: str, tmp_path: Path
) -> None:
    """Four visits of each person, with a result each. What the earlier row has was kept and not looked at."""
    rows = "(SELECT v, v // 4 AS i FROM range(480) r(v))"
    path = made(
        tmp_path,
        f"CREATE TABLE patients AS SELECT i AS patient_id, hash(-i) % 3 AS sex, {patient} AS x FROM range(120) r(i)",  # noqa: S608 - the texts above
        f"CREATE TABLE visits AS SELECT v AS visit_id, i AS patient_id, {day} AS day, {visit} AS x FROM {rows}",  # noqa: S608 - the texts above
        f"CREATE TABLE results AS SELECT v AS visit_id, {value} AS value FROM {rows}",  # noqa: S608 - as above
        k=30,
    )
    text = (path.parent / "kanon.toml").read_text().replace("[tables.visits]", '[tables.visits]\nkey = "visit_id"')
    results = (
        '[tables.results]\nperson = { through = "visit_id", to = "visits" }\nquasi_identifiers = ["value"]\n'
        'hierarchies = { value = "flat" }\n[privacy]'
    )
    (path.parent / "kanon.toml").write_text(text.replace("[privacy]", results))
    with pytest.raises(KanonError, match=says) if says else nullcontext():
        released(path)


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("id", "i", ""),
        ("id", "i // 2", "'id' of wards .* called like a key.*: keep a view without it, or drop"),
        ("patient_id", "i", "'patient_id' of wards .* called like a key"),
    ],
)
def test_a_table_that_is_kept_may_have_a_key_of_its_own(column: str, values: str, says: str, tmp_path: Path) -> None:
    """It was refused by its name, with the advice to name it in identifying, which a kept table does not have."""
    path = made(
        tmp_path,
        PATIENTS.replace("patient_id", "id"),
        VISITS.replace("patient_id", "id", 1).replace("id, patient_id %", "id AS patient_id, id %"),
        f"CREATE TABLE wards AS SELECT {values} AS {column}, 'w' || i AS ward FROM range(6) r(i)",  # noqa: S608 - the texts above
    )
    text = (path.parent / "kanon.toml").read_text().replace('person = "patient_id"', 'person = "id"', 1)
    (path.parent / "kanon.toml").write_text(text + '[tables.wards]\nrows = "kept"\n')
    with pytest.raises(KanonError, match=says) if says else nullcontext():
        released(path)


def test_released_tables_with_columns_of_names_are_not_verified(tmp_path: Path) -> None:
    name = "ALTER TABLE visits ADD COLUMN name VARCHAR", "UPDATE visits SET name = 'N' || patient_id"
    path = made(tmp_path, PATIENTS, VISITS, *name)
    found = kanon_of.check_tables(path, tmp_path / "kanon.toml")
    assert not found.holds
    assert [one for one in found.problems() if "name (its name says a person's name)" in one]


def test_released_visits_are_not_people(tmp_path: Path) -> None:
    path = made(tmp_path, "CREATE TABLE visits AS SELECT i AS visit_id, 0 AS day FROM range(60) r(i)")
    (tmp_path / "kanon.toml").write_text(
        '[tables.visits]\nrows = "people"\nperson = "visit_id"\nquasi_identifiers = ["day"]\n'
        'hierarchies = { day = "flat" }\n[privacy]\nk = 5\n'
    )
    found = kanon_of.check_tables(path, tmp_path / "kanon.toml")
    assert not found.holds
    assert "people are to be counted by visit_id, and its name says" in found.problems()[-1]


def test_a_released_table_that_is_kept_shows_no_keys(tmp_path: Path) -> None:
    path = made(tmp_path, PATIENTS, VISITS, "CREATE TABLE wards AS SELECT 'w' || i AS ward FROM range(3) r(i)")
    text = (tmp_path / "kanon.toml").read_text() + '[tables.wards]\nrows = "kept"\n'
    (tmp_path / "kanon.toml").write_text(text)
    with kanon_of.anonymize_tables(path, tmp_path / "kanon.toml") as release:
        release.to_schema("rel")
    assert kanon_of.check_tables(path, tmp_path / "kanon.toml", schema="rel").holds
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP TABLE rel.wards")
        connection.execute("CREATE VIEW rel.wards AS SELECT patient_id FROM visits")
    found = kanon_of.check_tables(path, tmp_path / "kanon.toml", schema="rel")
    assert not found.holds
    assert [one for one in found.problems() if "'patient_id' of wards" in one]


@pytest.mark.parametrize(
    ("view", "holds"),
    [
        ("SELECT patient_id AS x FROM main.visits", False),
        ("SELECT 'w1' AS ward", False),
        ("SELECT day, count(*) AS n FROM rel.visits GROUP BY day", True),
    ],
)
def test_a_kept_view_passes_if_it_shows_released_tables_only(tmp_path: Path, view: str, holds: bool) -> None:
    """Fails before issue 56: a view of raw rows under other names passed."""
    path = made(tmp_path, PATIENTS, VISITS, "CREATE TABLE wards AS SELECT 'w' || i AS ward FROM range(3) r(i)")
    text = (tmp_path / "kanon.toml").read_text() + '[tables.wards]\nrows = "kept"\n'
    (tmp_path / "kanon.toml").write_text(text)
    with kanon_of.anonymize_tables(path, tmp_path / "kanon.toml") as release:
        release.to_schema("rel")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"DROP TABLE rel.wards; CREATE VIEW rel.wards AS {view}")
    found = kanon_of.check_tables(path, tmp_path / "kanon.toml", schema="rel")
    attacked = kanon_of.attack_tables(path, tmp_path / "kanon.toml", schema="rel", original=path)
    said = [one for one in found.problems() if "wards is kept and is a view" in one]
    assert (found.holds, not said) == (holds, holds)
    assert [one for one in attacked.keys.problems() if "wards is kept" in one] == said


def test_files_of_a_release_are_never_the_key_file_or_of_another_format(tmp_path: Path) -> None:
    path, key = made(tmp_path, PATIENTS, VISITS), tmp_path / "key.db"
    key.write_text("0" * 64)
    text = (tmp_path / "kanon.toml").read_text() + f'[release]\nkey_file = "{key}"\n'
    (tmp_path / "kanon.toml").write_text(text)
    with kanon_of.anonymize_tables(path, tmp_path / "kanon.toml") as release:
        with pytest.raises(KanonError, match="is the key file and cannot be the release too"):
            release.to_database(key, replace=True)
        with pytest.raises(KanonError, match=r"o\.csv would hold one table"):
            release.to_database(tmp_path / "o.csv")
    assert key.read_text() == "0" * 64
    assert not (tmp_path / "o.csv").exists()


def test_a_view_is_replaced_by_a_released_table(tmp_path: Path) -> None:
    path = made(tmp_path, PATIENTS, VISITS, "CREATE SCHEMA rel", "CREATE VIEW rel.visits AS SELECT 1 AS a")
    with kanon_of.anonymize_tables(path, tmp_path / "kanon.toml") as release:
        release.to_schema("rel", replace=True)
    assert kanon_of.check_tables(path, tmp_path / "kanon.toml", schema="rel").holds


def test_released_files_are_read_as_they_are_written(tmp_path: Path) -> None:
    odd = "SELECT CASE WHEN i < 3 THEN 'a;b|c' END AS \" lead\" FROM range(5) r(i)"
    path = made(tmp_path, PATIENTS, VISITS, f"CREATE TABLE wards AS {odd}")
    text = (tmp_path / "kanon.toml").read_text() + '[tables.wards]\nrows = "kept"\n'
    (tmp_path / "kanon.toml").write_text(text)
    with kanon_of.anonymize_tables(path, tmp_path / "kanon.toml") as release:
        release.to_directory(tmp_path / "rel")
    file = tmp_path / "rel" / "patients.csv"
    text = file.read_text()
    for encoding in ("utf-8", "utf-8-sig"):
        file.write_text(text, encoding=encoding)
        found = kanon_of.check_tables(tmp_path / "rel", tmp_path / "kanon.toml")
        assert found.holds
        assert found.rows["wards"] == 5
    for content in (b"", b"\n", b"patient_id,\n", text.encode("utf-16")):
        file.write_bytes(content)
        with pytest.raises(KanonError, match=r"patients\.csv is not a CSV file of a release"):
            kanon_of.check_tables(tmp_path / "rel", tmp_path / "kanon.toml")


def test_a_dry_run_refuses_what_the_run_would(tmp_path: Path) -> None:
    path = made(tmp_path, PATIENTS, VISITS)
    with kanon_of.anonymize_tables(path, tmp_path / "kanon.toml") as release:
        for dry_run in (True, False):
            with pytest.raises(KanonError, match="has the tables that are to be anonymized"):
                release.to_schema("main", dry_run=dry_run)
            with pytest.raises(KanonError, match=r"directory .*nodir does not exist"):
                release.to_directory(tmp_path / "nodir" / "x", dry_run=dry_run)
        release.to_schema("rel", dry_run=True)
        release.to_database(tmp_path / "o.duckdb", dry_run=True)
        release.to_directory(tmp_path / "files", dry_run=True)
        release.to_schema("rel")
        with pytest.raises(KanonError, match="has an earlier release"):
            release.to_schema("again", dry_run=True)
    with duckdb.connect(str(path)) as connection:
        schemas = connection.execute("SELECT DISTINCT table_schema FROM information_schema.tables").fetchall()
    assert {name for (name,) in schemas} == {"main", "rel", "kanon"}
    assert {file.name for file in tmp_path.iterdir()} == {"clinic.duckdb", "kanon.toml"}
