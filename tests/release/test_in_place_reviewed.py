"""In place: what a hostile reviewer found; each was a raw value that was left, or something lost in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import kanon_sql as kanon
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ASKED: dict[str, Any] = {
    "identifying": ["name"],
    "quasi_identifiers": ["age", "town"],
    "sensitive": ["disease"],
    "insensitive": ["id"],
    "rest": "keep",
    "models": [kanon.KAnonymity(5)],
    "hierarchies": {"age": "intervals:10,20,40", "town": "flat"},
    "max_suppressed": 0,
}
ROWS = (
    "SELECT i AS id, 'NM' || i AS name, 20 + i % 40 AS age, 'TOWN' || (i % 30) AS town, 'd' || i % 4 AS disease "
    "FROM range(120) n(i)"
)


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """A database with a table of 120 people of 30 towns, four of each, written so that its values can be seen."""
    path = tmp_path / "ward.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET force_compression = 'uncompressed'")
        connection.execute(f"CREATE TABLE patients AS {ROWS}")
    return path


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET force_compression = 'uncompressed'")
        for statement in statements:
            connection.execute(statement)


def asked_of(path: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(query).fetchall()


def in_place(path: Path, table: str = "patients", **asked: Any) -> kanon.InPlace:
    with kanon.anonymize(path, table, **{**ASKED, **asked}) as release:
        outcome = release.in_place(backup=False).in_place
    assert outcome is not None
    return outcome


def is_left(path: Path, text: str) -> bool:
    return any(text.encode() in file.read_bytes() for file in path.parent.rglob("*") if file.is_file())


# Raw values


@pytest.mark.thorough
@pytest.mark.parametrize("query", ["SELECT town, disease FROM patients", "SELECT * FROM patients"])
def test_a_view_over_a_list_of_values(ward: Path, query: str) -> None:
    change(
        ward,
        "CREATE TYPE towns AS ENUM (SELECT DISTINCT town FROM patients)",
        "ALTER TABLE patients ALTER town TYPE towns",
        f"CREATE VIEW seen AS {query}",
        "COMMENT ON VIEW seen IS 'by town'",
        "COMMENT ON COLUMN seen.disease IS 'of each'",
    )
    assert is_left(ward, "TOWN7")
    with kanon.anonymize(ward, "patients", **{**ASKED, "identifying": [], "quasi_identifiers": ["age", "town", "name"],
                         "hierarchies": {**ASKED["hierarchies"], "name": "flat"}}) as release:  # fmt: skip
        outcome = release.in_place(backup=False).in_place
    assert outcome is not None
    assert "type towns (lists values)" in outcome.removed
    assert not is_left(ward, "TOWN7")
    assert asked_of(ward, "SELECT count(*) FROM seen") == [(120,)]
    assert asked_of(ward, "SELECT comment FROM duckdb_views() WHERE view_name = 'seen'") == [("by town",)]
    comments = "SELECT comment FROM duckdb_columns() WHERE table_name = 'seen' AND column_name = 'disease'"
    assert asked_of(ward, comments) == [("of each",)]


@pytest.mark.thorough
def test_a_list_of_values_that_no_column_has(ward: Path) -> None:
    change(ward, "CREATE TYPE towns AS ENUM (SELECT DISTINCT town FROM patients)")
    assert "type towns (lists values)" in in_place(ward).removed
    assert not is_left(ward, "TOWN7")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "user", ["CREATE MACRO m(a) AS a::towns", "CREATE VIEW w AS SELECT enum_range(NULL::towns)::VARCHAR[] AS x"]
)
def test_a_list_of_values_that_something_needs(ward: Path, user: str) -> None:
    change(ward, "CREATE TYPE towns AS ENUM (SELECT DISTINCT town FROM patients)", user)
    with pytest.raises(UsageError, match="Type 'towns' lists values"):
        in_place(ward)


@pytest.mark.thorough
def test_a_list_of_values_of_two_tables_that_go(ward: Path) -> None:
    change(
        ward,
        "CREATE TYPE towns AS ENUM (SELECT DISTINCT town FROM patients)",
        "CREATE TABLE other AS SELECT town::towns AS town FROM patients",
        "ALTER TABLE patients ALTER town TYPE towns",
        "CREATE TABLE stays AS SELECT 1 AS a",
    )
    kanon.clean(ward, drop=["patients", "other"])
    assert not is_left(ward, "TOWN7")
    assert asked_of(ward, "SELECT * FROM stays") == [(1,)]


@pytest.mark.thorough
def test_lookups_of_a_view_that_is_gone(ward: Path, kanon: Callable[..., Ended]) -> None:
    options = ["--id", "name", "--qi", "age,town", "--sensitive", "disease", "--rest", "drop"]
    assert kanon("anonymize", ward, "patients", *options, "--into", "shown", "--as", "view").code == 0
    change(ward, "DROP VIEW shown")
    dropped = ward.with_name("dropped.duckdb")
    dropped.write_bytes(ward.read_bytes())
    ended = kanon(
        "anonymize", ward, "patients", *options, "--in-place", "--no-backup", "--ignore-ledger", "--format", "json"
    )
    assert ended.code == 0, ended.err
    assert any(name.startswith("shown.") for name in ended.json["in_place"]["hierarchies"])
    assert kanon("clean", dropped, "--drop", "patients").code == 0
    assert not is_left(ward, "TOWN7")


@pytest.mark.thorough
@pytest.mark.parametrize("role", ["quasi_identifiers", "identifying"])
def test_hierarchies_of_all_columns(ward: Path, kanon: Callable[..., Ended], role: str) -> None:
    change(ward, "UPDATE patients SET town = CASE WHEN id = 0 THEN 'RARETOWN' ELSE 'TOWN' || id % 2 END")
    assert kanon("hierarchy", "build", ward, "patients", "town=flat").code == 0
    asked = {"quasi_identifiers": ["town"], "identifying": ["name"], "hierarchies": None, "max_suppressed": "1 rows"}
    asked["insensitive"] = ["id", "age"]
    if role == "identifying":
        asked |= {"quasi_identifiers": ["age"], "identifying": ["name", "town"], "insensitive": ["id"]}
    outcome = in_place(ward, **asked)
    assert outcome.hierarchies == ("hierarchy_town",)
    assert not is_left(ward, "RARETOWN")


@pytest.mark.thorough
def test_what_a_killed_duckdb_left(ward: Path) -> None:
    spill = ward.with_name("ward.duckdb.tmp")
    spill.mkdir()
    (spill / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"TOWN7")
    in_place(ward)
    assert not spill.exists()


# What else is in the database


@pytest.mark.thorough
def test_triggers(ward: Path) -> None:
    change(
        ward,
        "CREATE TABLE o (id INTEGER)",
        "CREATE TABLE audit (id INTEGER)",
        "CREATE TRIGGER noted AFTER INSERT ON o FOR EACH ROW INSERT INTO audit VALUES (NEW.id)",
        "CREATE TRIGGER own AFTER INSERT ON patients FOR EACH ROW INSERT INTO audit VALUES (NEW.id)",
        "INSERT INTO o VALUES (1)",
    )
    assert "trigger own" in in_place(ward).removed
    assert asked_of(ward, "SELECT trigger_name FROM duckdb_triggers()") == [("noted",)]
    assert asked_of(ward, "SELECT * FROM audit") == [(1,)]  # it did not fire when its table was copied
    kanon.clean(ward)
    change(ward, "INSERT INTO o VALUES (2)")
    assert asked_of(ward, "SELECT id FROM audit ORDER BY id") == [(1,), (2,)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE MACRO who() AS TABLE SELECT name, age FROM patients", "CREATE VIEW v AS SELECT * FROM who()"),
        ("CREATE VIEW v AS SELECT count(name) AS n FROM query_table('patients')",),
        ("CREATE VIEW v AS SELECT 1 AS row, CAST(age AS INTEGER) + 1 AS a FROM patients",),
    ],
)
def test_views_that_would_fail(ward: Path, statements: tuple[str, ...]) -> None:
    change(ward, *statements)
    with pytest.raises(UsageError, match="would fail"):
        in_place(ward)


@pytest.mark.thorough
def test_views_that_are_told(ward: Path) -> None:
    change(
        ward,
        "CREATE TABLE staff (name VARCHAR)",
        "CREATE VIEW a1 AS SELECT disease FROM patients",
        "CREATE VIEW gone AS SELECT * FROM staff WHERE name IN (SELECT name FROM patients)",
        "CREATE VIEW row_of_it AS SELECT patients FROM patients",
        "CREATE VIEW c1 AS SELECT * FROM patients",
        "CREATE VIEW b1 AS SELECT * FROM c1",
        "CREATE VIEW a2 AS SELECT count(*) AS n FROM patients, b1",
        "CREATE MACRO oldest() AS (SELECT max(age) FROM patients)",
    )
    told = in_place(ward).views
    assert set(told) == {
        "gone (names a column that is gone)", "row_of_it", "c1", "b1", "a2", "macro oldest (not tried)",
    }  # fmt: skip


@pytest.mark.thorough
def test_a_view_that_is_not_understood(ward: Path) -> None:
    change(
        ward,
        "CREATE VIEW elsewhere AS SELECT list_transform([1], lambda x: x + 1) AS y",
        "CREATE VIEW here AS SELECT list_transform([disease], lambda x: x || '!') AS y FROM patients",
    )
    assert in_place(ward).views == ("here",)
    assert asked_of(ward, "SELECT * FROM elsewhere") == [([2],)]
    kanon.clean(ward)
    assert asked_of(ward, "SELECT count(*) FROM here") == [(120,)]


@pytest.mark.thorough
def test_collations(ward: Path) -> None:
    change(ward, "ALTER TABLE patients ADD COLUMN note VARCHAR COLLATE NOCASE DEFAULT 'Y'")
    in_place(ward)
    assert asked_of(ward, "SELECT count(*) FROM patients WHERE note = 'y'") == [(120,)]


@pytest.mark.thorough
def test_foreign_keys_in_another_case(ward: Path) -> None:
    change(
        ward,
        "CREATE TABLE zz (i INTEGER PRIMARY KEY)",
        "CREATE TABLE aa (i INTEGER REFERENCES ZZ(I))",
        "INSERT INTO zz VALUES (1)",
        "INSERT INTO aa VALUES (1)",
    )
    in_place(ward)
    kanon.clean(ward)
    assert asked_of(ward, "SELECT * FROM aa") == [(1,)]
    change(ward, "CREATE TABLE p (id INTEGER PRIMARY KEY, age INTEGER)", "CREATE TABLE c (id INTEGER REFERENCES P(ID))")
    with pytest.raises(UsageError, match="c has a foreign key to 'p'"):
        in_place(ward, "p", identifying=[], quasi_identifiers=["age"], sensitive=[], hierarchies=None)


@pytest.mark.thorough
def test_a_foreign_key_to_itself(ward: Path) -> None:
    change(
        ward,
        "CREATE TABLE tree (i INTEGER PRIMARY KEY, p INTEGER REFERENCES tree(i))",
        "INSERT INTO tree VALUES (1, NULL)",
        "INSERT INTO tree VALUES (2, 1)",
    )
    with pytest.raises(UsageError, match="'tree' has a foreign key to itself"):
        in_place(ward)
    with pytest.raises(UsageError, match="'tree' has a foreign key to itself"):
        kanon.clean(ward)


@pytest.mark.thorough
def test_comments_of_indexes(ward: Path) -> None:
    change(ward, "CREATE INDEX by_age ON patients(age)", "COMMENT ON INDEX by_age IS 'often asked'")
    in_place(ward)
    assert asked_of(ward, "SELECT comment FROM duckdb_indexes()") == [("often asked",)]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["main.duckdb", "a.b.duckdb", "kanon_new.duckdb", "patients.duckdb", "temp.duckdb"])
def test_names_of_files(ward: Path, name: str, kanon: Callable[..., Ended]) -> None:
    path = ward.with_name(name)
    path.write_bytes(ward.read_bytes())
    change(path, 'CREATE SCHEMA "new"', 'CREATE VIEW "new".v AS SELECT disease FROM main.patients')
    options = [
        "--id",
        "name",
        "--qi",
        "age,town",
        "--sensitive",
        "disease",
        "--keep",
        "id",
        "--rest",
        "keep",
        "--seed",
        "1",
    ]
    asked = ["anonymize", path, "patients", *options, "--in-place", "--no-backup"]
    script = kanon(*asked, "--sql").out
    with duckdb.connect(str(path)) as connection:
        connection.execute(script)
    made = asked_of(path.with_name(f"{path.stem}.new.duckdb"), "SELECT * FROM patients")
    assert kanon(*asked).code == 0
    assert asked_of(path, "SELECT * FROM patients") == made


# Errors


@pytest.mark.thorough
def test_a_directory_that_cannot_be_synced(ward: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kanon_sql.engine import files

    as_it_is = files.sync

    def sync(path: Path) -> None:
        if path.is_dir():
            raise OSError(22, "Invalid argument")
        as_it_is(path)

    monkeypatch.setattr(files, "sync", sync)
    in_place(ward)
    assert "name" not in [name for name, *_ in asked_of(ward, "DESCRIBE patients")]


def test_a_backup_that_would_be_taken_for_the_log(ward: Path) -> None:
    with kanon.anonymize(ward, "patients", **ASKED) as release, pytest.raises(UsageError, match="cannot be the file"):
        release.in_place(backup=ward.with_name("ward.duckdb.wal"))
