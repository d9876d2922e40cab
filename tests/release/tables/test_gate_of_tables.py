"""The gate across tables: columns of people, of their events and of views, and tables that are judged."""

from __future__ import annotations

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
            r"visits: x has no role and is made of patients\.sex",
        ),
    ],
    ids=["a column of people is that of their events", "a view of events reads a column of people"],
)  # fmt: skip
def test_a_hidden_column_of_another_table_is_not_kept(statements: tuple[str, ...], says: str, tmp_path: Path) -> None:
    path = made(tmp_path, *statements)
    with pytest.raises(KanonError, match=says) as error:
        released(path)
    assert error.value.exit_code == 2


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
