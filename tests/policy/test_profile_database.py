"""What the tables of a database are to each other: keys, references, and how rows reach people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from hospital import make_hospital
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Ended

    from kanon_sql import DatabaseProfile, TableProfile

_DECLARED = """
CREATE SCHEMA care;
CREATE TABLE care.people (number INTEGER PRIMARY KEY, birth_date DATE);
CREATE TABLE care.stays (ward VARCHAR, place INTEGER, person INTEGER REFERENCES care.people (number),
    PRIMARY KEY (ward, place));
CREATE TABLE care.notes (ward VARCHAR, place INTEGER, words VARCHAR,
    FOREIGN KEY (ward, place) REFERENCES care.stays (ward, place));
INSERT INTO care.people VALUES (1, NULL), (2, NULL);
INSERT INTO care.stays VALUES ('a', 1, 1), ('a', 2, NULL), ('b', 1, 2);
INSERT INTO care.notes VALUES ('a', 1, 'x'), ('a', 2, 'y'), (NULL, NULL, 'z');
"""


def by_name(found: DatabaseProfile) -> dict[str, TableProfile]:
    return {table.name: table for table in found.tables}


def references(found: DatabaseProfile) -> set[tuple[Any, ...]]:
    return {(one.table, one.columns, one.to_table, one.to_columns, one.rows, one.unmatched) for one in found.references}


def of_statements(*statements: str) -> DatabaseProfile:
    with duckdb.connect() as connection:
        for statement in statements:
            connection.execute(statement)
        return kanon_sql.profile_database(connection)


def test_a_hospital_without_declared_keys(tmp_path: Path) -> None:
    path = make_hospital(tmp_path / "clinic.duckdb", patients=200)
    found = kanon_sql.profile_database(path)
    tables = by_name(found)
    assert {
        name: (table.rows, table.keys[0].columns, table.persons, table.one_each) for name, table in tables.items()
    } == {
        "drugs": (50, ("id",), (), False),
        "patients": (200, ("patient_id",), (("patient_id",),), True),
        "prescriptions": (600, ("id",), (("visit_id", "visits.patient_id"),), False),
        "results": (900, ("result_id",), (("visit_id", "visits.patient_id"),), False),
        "visits": (500, ("visit_id",), (("patient_id",),), False),
    }
    assert not any(key.declared for table in found.tables for key in table.keys)
    assert references(found) == {
        ("prescriptions", ("drug_id",), "drugs", ("id",), 600, 0),
        ("prescriptions", ("visit_id",), "visits", ("visit_id",), 600, 0),
        ("results", ("visit_id",), "visits", ("visit_id",), 900, 0),
        ("visits", ("patient_id",), "patients", ("patient_id",), 500, 0),
    }
    assert len(found.notes) == 1
    assert "from drugs" in found.notes[0]


def test_declared_keys_of_several_columns_in_a_schema() -> None:
    found = of_statements(_DECLARED)
    tables = by_name(found)
    assert [key.columns for key in tables["care.stays"].keys] == [("ward", "place")]
    assert all(key.declared for table in found.tables for key in table.keys)
    assert references(found) == {
        ("care.notes", ("ward", "place"), "care.stays", ("ward", "place"), 2, 0),
        ("care.stays", ("person",), "care.people", ("number",), 2, 0),
    }
    assert tables["care.people"].persons == (("number",),)
    assert tables["care.people"].one_each
    assert tables["care.notes"].persons == (("ward, place", "care.stays.person", "care.people.number"),)


def test_rows_of_nobody_and_rows_without_a_value_are_counted() -> None:
    found = of_statements(
        "CREATE TABLE patients AS SELECT i AS id FROM range(20) numbers(i)",
        "CREATE TABLE visits AS SELECT i AS id, CASE WHEN i < 5 THEN NULL WHEN i = 7 THEN 99 ELSE i END AS patient_id "
        "FROM range(20) numbers(i)",
    )
    assert references(found) == {("visits", ("patient_id",), "patients", ("id",), 15, 1)}
    assert found.notes == ("visits.patient_id: 1 row of 15 with a value that patients does not have.",)


def test_a_column_of_that_name_with_other_values_refers_to_nothing() -> None:
    found = of_statements(
        "CREATE TABLE wards AS SELECT i AS id FROM range(10) numbers(i)",
        "CREATE TABLE beds AS SELECT i AS id, 5 + i AS ward_id FROM range(10) numbers(i)",
    )
    assert references(found) == set()
    assert by_name(found)["beds"].persons == ()


def test_two_ways_to_a_person_and_a_circle_of_references() -> None:
    found = of_statements(
        "CREATE TABLE patients (id INTEGER PRIMARY KEY, main_visit INTEGER)",
        "CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, patient INTEGER REFERENCES patients (id), "
        "last_order_id INTEGER)",
        "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, visit_id INTEGER REFERENCES visits (visit_id), "
        "ordered_for INTEGER REFERENCES patients (id))",
        "INSERT INTO patients VALUES (1, 1), (2, 2)",
        "INSERT INTO visits VALUES (1, 1, 1), (2, 2, 2)",
        "INSERT INTO orders VALUES (1, 1, 2), (2, 2, 1)",
    )
    tables = by_name(found)
    assert tables["orders"].persons == (("ordered_for", "patients.id"), ("visit_id", "visits.patient", "patients.id"))
    assert ("visits", ("last_order_id",), "orders", ("order_id",), 2, 0) in references(found)
    assert tables["visits"].persons == (
        ("patient", "patients.id"),
        ("last_order_id", "orders.ordered_for", "patients.id"),
    )
    assert tables["orders"].rows_of_others == (2,)
    assert tables["visits"].rows_of_others == (2,)
    ways = "ordered_for -> patients.id; visit_id -> visits.patient -> patients.id"
    said = f"orders: a row reaches a person in 2 ways: {ways}. In 2 rows of 2 they lead to different people"
    assert any(note.startswith(said) for note in found.notes)


def test_ways_that_agree_and_ways_to_other_people() -> None:
    found = of_statements(
        "CREATE TABLE patients AS SELECT i AS patient_id, i // 2 AS mother_patient_id FROM range(8) numbers(i)",
        "CREATE TABLE visits AS SELECT i AS visit_id, i % 8 AS patient_id FROM range(16) numbers(i)",
        "CREATE TABLE beds AS SELECT i AS bed_id, CASE WHEN i > 3 THEN i END AS visit_id, "
        "CASE WHEN i < 12 THEN i % 8 END AS taken_by_patient FROM range(16) numbers(i)",
        "CREATE TABLE bills AS SELECT i AS bill_id, i % 8 AS patient_id, i % 3 AS customer_id FROM range(9) numbers(i)",
    )
    tables = by_name(found)
    assert tables["patients"].persons == (("patient_id",),), "a mother is another person than the row is about"
    assert tables["beds"].persons == (("visit_id", "visits.patient_id"), ("taken_by_patient", "patients.patient_id"))
    assert tables["beds"].rows_of_others == (0,)
    assert tables["bills"].persons == (("patient_id",), ("customer_id",))
    assert tables["bills"].rows_of_others == (None,)
    (of_beds, of_bills) = (note for note in found.notes if " ways: " in note)
    assert of_beds.endswith("They lead to the same person wherever both lead to one.")
    assert "They end at columns that do not refer to each other" in of_bills


@pytest.mark.parametrize("name", ["kundennummer", "kundennr", "patientennummer", "Mitarbeiternummer", "student_no"])
def test_a_number_of_people_in_one_word_is_a_way_to_them(name: str) -> None:
    found = of_statements(f"CREATE TABLE calls AS SELECT i // 3 AS {name}, i AS minutes FROM range(30) r(i)")  # noqa: S608 - the names above
    assert by_name(found)["calls"].persons == ((name,),)


def test_a_temporary_table_does_not_stand_for_a_table_of_its_name() -> None:
    found = of_statements(
        "CREATE TABLE wards AS SELECT i AS id FROM range(10) numbers(i)",
        "CREATE TEMPORARY TABLE wards AS SELECT 1 AS id, 2 AS other FROM range(3)",
    )
    assert {name: (table.rows, table.columns) for name, table in by_name(found).items()} == {"wards": (10, ("id",))}


def test_constraints_in_another_case_than_their_columns() -> None:
    found = of_statements(
        "CREATE TABLE Wards (id INTEGER, PRIMARY KEY (ID))",
        "CREATE TABLE beds (bed_id INTEGER, Ward INTEGER, ward_id INTEGER, FOREIGN KEY (WARD) REFERENCES wARDS (iD))",
        "INSERT INTO Wards VALUES (1), (2)",
        "INSERT INTO beds VALUES (1, 1, 2), (2, 1, 1), (3, NULL, 1)",
    )
    assert by_name(found)["Wards"].keys[0].columns == ("id",)
    assert references(found) == {
        ("beds", ("Ward",), "Wards", ("id",), 2, 0),
        ("beds", ("ward_id",), "Wards", ("id",), 3, 0),
    }


def test_tables_with_one_key_and_none_that_is_called_after_it() -> None:
    found = of_statements(
        "CREATE TABLE lives AS SELECT i AS patient_id FROM range(9) numbers(i)",
        "CREATE TABLE deaths AS SELECT i AS patient_id FROM range(9) numbers(i)",
        "CREATE TABLE papers (paper_id INTEGER, patient_id INTEGER, main_patient_id INTEGER)",
        "INSERT INTO papers VALUES (1, 1, 1), (2, 2, 3), (3, 3, 3), (4, 3, 8)",
    )
    tables = by_name(found)
    assert tables["lives"].one_each
    assert tables["deaths"].one_each
    assert tables["papers"].persons == (("patient_id",), ("main_patient_id",))
    assert tables["papers"].rows_of_others == (2,)


def test_hostile_names_and_types() -> None:
    found = of_statements(
        'CREATE TABLE "order" ("se""lect id" INTEGER, "患者_id" BIGINT, "<b>" JSON, "key" BLOB, note VARCHAR)',
        "INSERT INTO \"order\" VALUES (1, 1, '{}', 'x', NULL), (2, 1, NULL, NULL, NULL)",
        'CREATE TABLE "users; DROP TABLE x" (id UUID, "group" INTEGER)',
        "CREATE TABLE empty (id INTEGER)",
    )
    tables = by_name(found)
    assert [key.columns for key in tables["order"].keys] == [('se"lect id',)]
    assert tables["empty"].keys == ()
    assert tables["empty"].rows == 0


NAMES = ("patients", "visits", "tests", "orders")
SINGULAR = {"patients": "patient", "visits": "visit", "tests": "test", "orders": "order"}
Rows = list[int | None]


@st.composite
def databases(draw: st.DrawFn) -> dict[str, dict[str, Rows]]:
    """Tables with a key ``id``, and columns that are called after keys of others; some have values that are none."""
    tables: dict[str, dict[str, Rows]] = {}
    for name in NAMES:
        rows = draw(st.integers(2, 12))
        tables[name] = {"id": list(range(rows))}
        for other in draw(st.sets(st.sampled_from([one for one in NAMES if one != name]), max_size=2)):
            values = st.one_of(st.none(), st.integers(0, 1), st.integers(0, 12))
            tables[name][f"{SINGULAR[other]}_id"] = draw(st.lists(values, min_size=rows, max_size=rows))
    return tables


def expected_references(tables: dict[str, dict[str, Rows]]) -> set[tuple[Any, ...]]:
    found = set()
    for name, columns in tables.items():
        for other in NAMES:
            values = [value for value in columns.get(f"{SINGULAR[other]}_id", ()) if value is not None]
            unmatched = sum(value not in tables[other]["id"] for value in values)
            if values and unmatched <= len(values) / 10:
                found.add((name, (f"{SINGULAR[other]}_id",), other, ("id",), len(values), unmatched))
    return found


def expected_ways(
    name: str, tables: dict[str, dict[str, Rows]], known: set[tuple[Any, ...]], seen: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    prefix = f"{name}." if seen else ""
    if name == "patients" or "patient_id" in tables[name]:
        yield (f"{prefix}{'id' if name == 'patients' else 'patient_id'}",)
        return
    for table, (column,), to, *_ in known:
        if table == name and to not in (*seen, name):
            for way in expected_ways(to, tables, known, (*seen, name)):
                yield (f"{prefix}{column}", *way)


def person_of(tables: dict[str, dict[str, Rows]], name: str, row: int, way: tuple[str, ...]) -> int | None:
    """Return the number of the person that a way leads to from a row; None where it ends before."""
    at: int | None = row
    for step in way:
        table, _, column = step.rpartition(".")
        if at is None or at >= len(tables[table or name]["id"]):
            return None
        at = tables[table or name][column][at]
    return at


def expected_rows_of_others(
    tables: dict[str, dict[str, Rows]], name: str, ways: tuple[tuple[str, ...], ...], known: set[tuple[Any, ...]]
) -> tuple[int | None, ...]:
    referring = {table for table, (column,), *_ in known if column == "patient_id"}

    def end(way: tuple[str, ...]) -> str:
        table, _, column = way[-1].rpartition(".")
        return "patients" if column == "id" or (table or name) in referring else table or name

    rows = range(len(tables[name]["id"]))
    found = []
    for way in ways[1:]:
        pairs = [(person_of(tables, name, row, ways[0]), person_of(tables, name, row, way)) for row in rows]
        differ = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
        found.append(differ if end(way) == end(ways[0]) else None)
    return tuple(found)


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(databases())
def test_references_and_ways_are_what_plain_python_finds(tables: dict[str, dict[str, Rows]]) -> None:
    with duckdb.connect() as connection:
        for name, columns in tables.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} INTEGER' for column in columns)})")
            connection.append(name, pd.DataFrame(columns, dtype="Int64"))
        found = kanon_sql.profile_database(connection)
    # A column with a value of its own in every row is taken for a key too, where no table is called after it.
    named_after = {one for one in references(found) if one[3] == ("id",)}
    known = expected_references(tables)
    assert named_after == known
    others = {(one.table, one.columns) for one in found.references if one.to_columns != ("id",)}
    if not others:
        for table in found.tables:
            ways = list(expected_ways(table.name, tables, known))
            assert sorted(table.persons) == sorted(ways)
            assert list(map(len, table.persons)) == sorted(map(len, ways))
            assert table.rows_of_others == expected_rows_of_others(tables, table.name, table.persons, known)


@pytest.mark.thorough
def test_releases_are_no_tables_of_their_own(tmp_path: Path) -> None:
    path = make_hospital(tmp_path / "clinic.duckdb", patients=200)
    how: dict[str, Any] = {"quasi_identifiers": ["sex"], "rest": "drop", "models": [kanon_sql.KAnonymity(2)]}
    with kanon_sql.anonymize(path, "patients", **how) as release:
        release.to_table("patients_k2")
    assert "patients_k2" not in by_name(kanon_sql.profile_database(path))


def test_the_same_in_postgresql(postgres: str) -> None:
    import psycopg

    with_types = [
        "CREATE TYPE care.letter AS ENUM ('a', 'b')",
        "CREATE TABLE care.wards (code care.letter)",
        "CREATE TABLE care.beds (ward_code VARCHAR)",
        "INSERT INTO care.wards VALUES ('a'), ('b')",
        "INSERT INTO care.beds VALUES ('a'), ('a'), (NULL)",
    ]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS care CASCADE")
        connection.execute(_DECLARED)
        for statement in with_types:
            connection.execute(statement)
        connection.execute("CREATE TABLE care.bills (bill_id INTEGER, person INTEGER) PARTITION BY RANGE (bill_id)")
        connection.execute("CREATE TABLE care.bills_1 PARTITION OF care.bills FOR VALUES FROM (0) TO (9)")
        connection.execute("INSERT INTO care.bills VALUES (1, 1), (2, 1)")
        try:
            there = kanon_sql.profile_database(postgres)
        finally:
            connection.execute("DROP SCHEMA care CASCADE")
    own = {name: table for name, table in by_name(there).items() if name.startswith("care.")}
    in_one = [
        "CREATE TABLE care.bills (bill_id INTEGER, person INTEGER)",
        "INSERT INTO care.bills VALUES (1, 1), (2, 1)",
    ]
    expected = of_statements(_DECLARED, *with_types, *in_one)
    assert ("care.beds", ("ward_code",), "care.wards", ("code",), 2, 0) in references(expected)
    assert own == by_name(expected)
    assert {one for one in there.references if one.table.startswith("care.")} == set(expected.references)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id\n1\n", encoding="utf-8")
    with pytest.raises(kanon_sql.UsageError, match="DuckDB file or a PostgreSQL database"):
        kanon_sql.profile_database(path)


@pytest.mark.thorough
def test_the_command(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    path = make_hospital(tmp_path / "clinic.duckdb", patients=200)
    shown = kanon("profile", path)
    assert shown.code == 0
    assert "visit_id -> visits.patient_id" in shown.out
    assert "patient_id, one row each" in shown.out
    assert f"profile {path} visits" in shown.out
    as_json = kanon("profile", path, "--format", "json").json
    assert as_json == json.loads(json.dumps(kanon_sql.profile_database(path).summary()))
    script = kanon("profile", path, "--sql").out
    with duckdb.connect(str(path)) as connection:
        assert connection.execute(script).fetchall()
    refused = kanon("profile", path, "--qi", "sex")
    assert refused.code == 2
    assert "has 5 tables, and --qi is for the columns of one" in refused.err
