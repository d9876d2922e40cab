"""A made hospital: five tables, one person in several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from pathlib import Path

_ROWS = """
CREATE TEMPORARY MACRO drawn(row_number, what, n) AS CAST(hash(row_number, what) % n AS INTEGER);
CREATE TABLE patients AS
    SELECT i + 1 AS patient_id, 'Name ' || drawn(i, 'n', 5000) AS name,
        DATE '1930-01-01' + drawn(i, 'b', 30000) AS birth_date, ['f', 'm'][1 + drawn(i, 's', 2)] AS sex,
        lpad(CAST(drawn(i, 'z', 300) AS TEXT), 5, '0') AS zip
    FROM range($patients) numbers(i);
CREATE TABLE visits AS
    SELECT i + 1 AS visit_id, 1 + drawn(i, 'v', $patients) AS patient_id,
        DATE '2023-01-01' + drawn(i, 'd', 700) AS admission_date, 'ward ' || drawn(i, 'w', 9) AS ward,
        'D' || drawn(i, 'g', 40) AS diagnosis
    FROM range($patients * 5 // 2) numbers(i);
CREATE TABLE results AS
    SELECT i + 1 AS result_id, 1 + drawn(i, 'r', $patients * 5 // 2) AS visit_id, 'T' || drawn(i, 't', 12) AS test,
        drawn(i, 'x', 1000) / 10 AS value
    FROM range($patients * 9 // 2) numbers(i);
CREATE TABLE drugs AS SELECT i + 1 AS id, 'drug ' || i AS name FROM range(50) numbers(i);
CREATE TABLE prescriptions AS
    SELECT i + 1 AS id, 1 + drawn(i, 'p', $patients * 5 // 2) AS visit_id, 1 + drawn(i, 'u', 50) AS drug_id,
        1 + drawn(i, 'o', 3) AS dose
    FROM range($patients * 3) numbers(i);
"""


def make_hospital(path: Path, patients: int = 10_000) -> Path:
    """Write a DuckDB file with patients, ten events for each in three tables, and the drugs that these name."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(_ROWS.replace("$patients", str(patients)))
    return path
