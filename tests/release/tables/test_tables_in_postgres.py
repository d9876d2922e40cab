"""Tables of PostgreSQL that are released together: the promise by an oracle on what PostgreSQL has, types, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from test_postgres import database, run
from test_tables_release import HOSPITAL, described

from kanon_sql.errors import JointReleaseError, NoRightError, VerificationError
from kanon_sql.evidence.tables import check_tables
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.tables import TablePolicy, TablesPolicy, write_tables_policy
from kanon_sql.release.tables.anonymize import anonymize_tables
from kanon_sql.release.tables.verify import TablesVerification
from tests.oracles.tables import raw_keys, violations

if TYPE_CHECKING:
    from pathlib import Path

psycopg = pytest.importorskip("psycopg")

__all__ = ["database"]  # a fixture

MADE = """
DROP TABLE people;
SELECT setseed(0.5);
CREATE TABLE patients AS SELECT i AS patient_id, 'Name ' || i AS name,
  date '1930-01-01' + (random() * 30000)::int AS birth_date, (ARRAY['f', 'm'])[1 + i % 2] AS sex,
  lpad((i % 30)::text, 5, '0') AS zip FROM generate_series(1, 400) AS numbers(i);
CREATE TABLE visits AS SELECT i AS visit_id, nullif((random() * 405)::int, 7) AS patient_id,
  date '2023-01-01' + (random() * 700)::int AS admission_date, 'ward ' || i % 4 AS ward, 'D' || i % 9 AS diagnosis
  FROM generate_series(1, 900) AS numbers(i);
CREATE TABLE results AS SELECT i AS result_id, nullif((random() * 910)::int, 5) AS visit_id, 'T' || i % 3 AS test,
  random() AS value FROM generate_series(1, 900) AS numbers(i);
CREATE TABLE drugs AS SELECT i AS id, 'drug ' || i AS name FROM generate_series(1, 9) AS numbers(i);
CREATE TABLE prescriptions AS SELECT i AS id, (random() * 900)::int AS visit_id, i % 9 AS drug_id, i % 3 AS dose
  FROM generate_series(1, 500) AS numbers(i)
"""


def rows_of(url: str, table: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        return list(connection.execute(f"TABLE {table}"))


@pytest.mark.parametrize("km", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_hospital(database: str, tmp_path: Path, km: int) -> None:
    """Events of NULL and of visits that are not there among them; a check, and a second release, see it."""
    run(database, *MADE.split(";"))
    policy = TablesPolicy(HOSPITAL, k=4, km=km, max_suppressed=1.0, seed=1)
    with anonymize_tables(database, policy) as release:
        assert release.optimal
        published = release.to_schema("released")
    raw = {name: rows_of(database, name) for name in described(policy)}
    released = {name: rows_of(database, f"released.{name}") for name in described(policy)}
    assert violations(released, described(policy), 4, km) == []
    values = {(name, column): {row[column] for row in rows} for name, rows in raw.items() for column in rows[0]}
    assert raw_keys(released, described(policy), values) == []
    assert {name: len(rows) for name, rows in released.items()} == published.verification.rows
    assert len(released["visits"]) > 450
    assert check_tables(database, policy, schema="released").holds
    with anonymize_tables(database, policy) as release, pytest.raises(JointReleaseError, match="earlier release"):
        release.to_schema("second")
    with anonymize_tables(database, policy) as release:
        release.to_database(tmp_path / "r.duckdb", ignore_ledger=True)
        assert release.to_directory(tmp_path / "files", ignore_ledger=True).verification.holds
    assert check_tables(tmp_path / "files", policy).holds
    assert len(run(database, "SELECT * FROM kanon.releases")) == 15
    run(database, "UPDATE released.visits SET ward = 'hers' WHERE ctid IN (SELECT ctid FROM released.visits LIMIT 1)")
    assert not check_tables(database, policy, schema="released").holds


TYPES = {
    "whole": ("numeric(12,3)", "1.500"),
    "long": ("numeric", "123456789012345678901234567890.25"),
    "real": ("double precision", "'1e-300'"),
    "when": ("timestamptz", "'2020-02-29 12:00:00+02'"),
    "day": ("date", "'0044-03-15 BC'"),
    "bytes": ("bytea", "'\\x00ff41'"),
    "list": ("int[]", "'{1,NULL,3}'"),
    "json": ("jsonb", """'{"a": [1, null]}'"""),
    "mood": ("mood", "'gl''ad'"),
    "span": ("interval", "'1 mon 2 days'"),
    "yes": ("boolean", "true"),
    "wide": ("char(6)", "'ab'"),
    "empty": ("text", "''"),
    "none": ("text", "NULL"),
}


def test_columns_that_stay_have_their_types_and_values(database: str) -> None:
    """In names with quotes and capitals, of reserved words, in another schema."""
    columns = ", ".join(f'"{name}" {kind}' for name, (kind, _) in TYPES.items())
    made = """
CREATE TYPE mood AS ENUM ('gl''ad', 'sad');
CREATE SCHEMA "Ward ""A"" x";
CREATE TABLE "Ward ""A"" x"."Select" ("User" uuid, "Group" text);
CREATE TABLE "Ward ""A"" x"."referred" ("User" uuid, "number" int, $columns);
INSERT INTO "Ward ""A"" x"."Select" SELECT ('00000000-0000-4000-8000-00000000000' || i)::uuid, 'a'
  FROM generate_series(1, 6) AS numbers(i);
INSERT INTO "Ward ""A"" x"."referred" SELECT "User", 1, $values FROM "Ward ""A"" x"."Select"
"""
    values = ", ".join(value for _, value in TYPES.values())
    run(database, *made.replace("$columns", columns).replace("$values", values).split(";"))
    kept = tuple(TYPES)
    policy = TablesPolicy(
        (
            TablePolicy('Ward "A" x.Select', "people", "User", columns=NamedColumns(quasi_identifiers=("Group",))),
            TablePolicy(
                'Ward "A" x.referred',
                person="User",
                columns=NamedColumns(quasi_identifiers=("number",), insensitive=kept),
                hierarchies={"number": "flat"},
            ),
        ),
        k=3,
        max_suppressed=1.0,
    )
    with anonymize_tables(database, policy) as release:
        release.to_schema('out "now" x')
    before, after = '"Ward ""A"" x"."referred"', '"out ""now"" x"."referred"'
    kinds = """SELECT array_agg(format_type(atttypid, atttypmod) ORDER BY attname) FROM pg_attribute
               WHERE attrelid = '$table'::regclass AND attnum > 1"""
    ((was,),), ((kinds_now,),) = (run(database, kinds.replace("$table", table)) for table in (before, after))
    assert kinds_now == was
    texts = ", ".join(f'"{name}"::text' for name in ("number", *kept))
    rows = "SELECT $texts FROM $table".replace("$texts", texts)
    assert run(database, rows.replace("$table", before)) == run(database, rows.replace("$table", after))
    keys = 'SELECT "User" FROM $table'
    raw, pseudonyms = ({row[0] for row in run(database, keys.replace("$table", table))} for table in (before, after))
    assert len(pseudonyms) == 6
    assert not pseudonyms & raw
    assert {key.version for key in pseudonyms} == {8}
    spoiled = """UPDATE $after SET "User" = '00000000-0000-4000-8000-000000000001'"""
    run(database, spoiled.replace("$after", after))
    assert not check_tables(database, policy, schema='out "now" x').holds


def test_a_release_that_does_not_hold_leaves_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(database, *MADE.split(";"))

    def refuse(_: TablesVerification) -> None:
        raise VerificationError("planted")

    monkeypatch.setattr(TablesVerification, "require", refuse)
    policy = TablesPolicy(HOSPITAL, k=4, max_suppressed=1.0)
    with anonymize_tables(database, policy) as release, pytest.raises(VerificationError, match="planted"):
        release.to_schema("released")
    assert run(database, "SELECT nspname FROM pg_namespace WHERE nspname IN ('released', 'kanon')") == []
    assert run(database, "SELECT relname FROM pg_class WHERE relname LIKE 'kanon%'") == []


def test_many_rows_go_there_in_parts(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(database, *MADE.split(";"))
    monkeypatch.setattr("kanon_sql.engine.warehouse.workbench._SENT_AT_ONCE", 7)
    policy = TablesPolicy(HOSPITAL, k=4, max_suppressed=1.0)
    with anonymize_tables(database, policy) as release:
        assert release.to_schema("released").verification.rows["patients"] == release.people_out


def test_a_user_who_may_not_write_the_ledger(database: str, tmp_path: Path) -> None:
    """A release that cannot be remembered is none, as of one table."""
    rights = "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"
    run(database, *MADE.split(";"), "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN", rights)
    policy = TablesPolicy(HOSPITAL, k=4, max_suppressed=1.0)
    for to in ("schema", "files"):
        with anonymize_tables(database.replace("tester@", "reader@"), policy) as release, pytest.raises(NoRightError):
            _ = release.to_schema("released") if to == "schema" else release.to_directory(tmp_path / "files")
    assert list(tmp_path.iterdir()) == []
    run(database, "DROP OWNED BY reader", "DROP ROLE reader")


def test_the_command_line(database: str, tmp_path: Path, kanon: Any) -> None:
    run(database, *MADE.split(";"))
    policy = TablesPolicy(HOSPITAL, k=4, max_suppressed=1.0)
    file = tmp_path / "clinic.toml"
    write_tables_policy(policy, file)
    ended = kanon("anonymize", database, "--policy", file, "--into-schema", "released", "--report", tmp_path / "r.html")
    assert ended.code == 0
    assert "k = 4 holds in the output" in ended.out
    assert kanon("check", database, "--policy", file, "--schema", "released").code == 0
    assert kanon("attack", database, "--policy", file, "--schema", "released").code in {0, 1}
    scripted = kanon("anonymize", database, "--policy", file, "--into-schema", "other", "--sql")
    assert scripted.code == 2
    assert "leave --sql out" in scripted.err
    assert run(database, "SELECT nspname FROM pg_namespace WHERE nspname = 'other'") == []
