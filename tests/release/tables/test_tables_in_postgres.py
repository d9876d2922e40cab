"""Tables of PostgreSQL that are released together: the promise by an oracle on what PostgreSQL has, types, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from test_postgres import database, run
from test_tables_release import HOSPITAL, ODD_NAME, databases, described, make_database, small_policy
from test_tables_release import rows_of as rows_of_duckdb

from kanon_sql.engine.keys import same_database
from kanon_sql.engine.postgres.warehouse import PostgresWarehouse
from kanon_sql.errors import (
    ComputationError,
    JointReleaseError,
    NoRightError,
    NoSolutionError,
    SourceError,
    UsageError,
    VerificationError,
)
from kanon_sql.evidence.tables import attack_tables, check_tables
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.tables import TablePolicy, TablesPolicy, write_tables_policy
from kanon_sql.release.tables.anonymize import anonymize_tables
from kanon_sql.release.tables.verify import TablesVerification
from tests.oracles.tables import raw_keys, violations

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

psycopg = needs("psycopg")

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
    run(database, "CREATE VIEW released.all_of_it AS SELECT * FROM patients")
    run(database, 'CREATE TABLE released."Patients" AS SELECT * FROM patients')  # another table there
    # A partition has rows of its own if its table is in another schema.
    run(database, "CREATE TABLE whole (LIKE patients) PARTITION BY LIST (patient_id)")
    run(database, "CREATE TABLE released.part PARTITION OF whole DEFAULT")
    run(database, "CREATE TABLE own PARTITION OF whole FOR VALUES IN (0)")
    checked = check_tables(database, policy, schema="released")
    assert (checked.holds, checked.fails) == (False, False)
    assert (checked.schema, checked.others) == ("released", ("Patients", "all_of_it", "part"))
    assert checked.elsewhere == {"public": len(raw) + 1}, "with the whole, and without its own partition"
    run(database, "DROP TABLE whole")
    with anonymize_tables(database, policy) as release, pytest.raises(JointReleaseError, match="earlier release"):
        release.to_schema("second")
    with anonymize_tables(database, policy) as release:
        release.to_database(tmp_path / "r.duckdb", ignore_ledger=True)
        assert release.to_directory(tmp_path / "files", ignore_ledger=True).verification.holds
    assert check_tables(tmp_path / "files", policy).holds
    assert len(run(database, "SELECT * FROM kanon.releases")) == 15
    run(database, "UPDATE released.visits SET ward = 'hers' WHERE ctid IN (SELECT ctid FROM released.visits LIMIT 1)")
    assert not check_tables(database, policy, schema="released").holds


@pytest.mark.thorough
def test_small_databases(database: str, tmp_path: Path) -> None:
    """Whatever stands in the tables: the promise holds in what is released, and DuckDB releases the same rows."""
    key_file = tmp_path / "key"
    key_file.write_bytes(b"k" * 64)
    made = """
DROP SCHEMA IF EXISTS released, kanon CASCADE;
DROP TABLE IF EXISTS people, visits, drugs;
CREATE TABLE people ("select" int, "$odd" text);
CREATE TABLE visits (person int, number int, ward text, cost int);
CREATE TABLE drugs (visit int, "Drug" text)
""".replace("$odd", ODD_NAME.replace(";", "$semicolon"))

    @settings(max_examples=15)
    @given(databases(), st.booleans(), st.integers(1, 3), st.integers(1, 2))
    def holds(tables: dict[str, list[tuple[Any, ...]]], with_people: bool, k: int, km: int) -> None:
        run(database, *(one.replace("$semicolon", ";") for one in made.split(";")))
        with psycopg.connect(database) as connection:
            for name, rows in tables.items():
                for row in rows:
                    into = psycopg.sql.SQL("INSERT INTO {} VALUES ({})")
                    values = psycopg.sql.SQL(", ").join(map(psycopg.sql.Literal, row))
                    connection.execute(into.format(psycopg.sql.Identifier(name), values))
        policy = small_policy(with_people=with_people, k=k, km=km, max_suppressed=1.0, seed=1, key_file=key_file)
        beside, names = make_database(tables), list(described(policy))
        try:
            with anonymize_tables(beside, policy) as release:
                release.to_schema("released")
        except NoSolutionError:
            with pytest.raises(NoSolutionError):
                anonymize_tables(database, policy)
            return
        with anonymize_tables(database, policy) as release:
            release.to_schema("released")
        released = {name: rows_of(database, f"released.{name}") for name in names}
        assert violations(released, described(policy), k, km) == []
        for name in names:
            same = rows_of_duckdb(beside, f"released.{name}")
            assert sorted(map(repr, same)) == sorted(map(repr, released[name]))

    holds()


@pytest.mark.thorough
def test_what_leaves_and_when(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that are published and keys leave by one scan; rows that others write after it are not released."""
    fetched: list[tuple[str, ...]] = []
    fetch = PostgresWarehouse.fetch

    def seen(self: PostgresWarehouse, query: Any, types: Any, *others: Any) -> None:
        fetched.append(tuple(types))
        fetch(self, query, types, *others)

    monkeypatch.setattr(PostgresWarehouse, "fetch", seen)
    run(database, *MADE.split(";"))
    policy = TablesPolicy(HOSPITAL, k=4, max_suppressed=1.0)
    with anonymize_tables(database, policy) as release:
        assert sorted(fetched) == [
            ("kanon_n",),  # the number of drugs, which are kept as they are
            ("patient_id", "birth_date", "sex", "zip"),
            ("visit_id", "drug_id", "dose"),
            ("visit_id", "patient_id", "admission_date", "ward", "diagnosis"),
            ("visit_id", "test", "value"),
        ]
        fetched.clear()
        later = "INSERT INTO drugs SELECT i, 'later' FROM generate_series(10, 30) AS numbers(i)"
        run(database, later, "DELETE FROM patients", "UPDATE visits SET ward = 'later'")
        rows = release.to_schema("released").verification.rows
    assert (rows["drugs"], rows["patients"]) == (9, release.people_out)
    assert run(database, "SELECT count(*) FROM released.visits WHERE ward = 'later'") == [(0,)]
    assert run(database, "SELECT count(*) FROM released.drugs") == [(9,)]
    assert not {name for types in fetched for name in types} & {"name", "id", "result_id"}


@pytest.mark.thorough
@pytest.mark.parametrize("column", ["ward", "patient_id"])
def test_what_is_changed_on_the_way_is_found(database: str, monkeypatch: pytest.MonkeyPatch, column: str) -> None:
    """The tables are verified as they were written: a label or a key that is another one there is seen.

    What they were to replace is there as before.
    """
    run(database, *MADE.split(";"))
    policy = TablesPolicy(HOSPITAL, k=4, max_suppressed=1.0)
    with anonymize_tables(database, policy) as release:
        release.to_schema("released")
    before = [rows_of(database, f"released.{name}") for name in described(policy)]
    upload = PostgresWarehouse.upload

    def spoiled(warehouse: PostgresWarehouse, table: Any, shape: Any, rows: Any, title: str) -> None:
        names, (first, *others) = shape.named_selects, rows
        if "ward" in names:
            value = {"ward": "hers", "patient_id": "00000000-0000-4000-8000-000000000001"}[column]
            first = tuple(value if name == column else own for name, own in zip(names, first, strict=True))
        upload(warehouse, table, shape, [first, *others], title)

    monkeypatch.setattr(PostgresWarehouse, "upload", spoiled)
    for into, replace in (("released", True), ("other", False)):
        with anonymize_tables(database, policy) as release, pytest.raises(VerificationError, match="taken back"):
            release.to_schema(into, replace=replace, ignore_ledger=True)
    assert [rows_of(database, f"released.{name}") for name in described(policy)] == before
    assert run(database, "SELECT nspname FROM pg_namespace WHERE nspname = 'other'") == []
    assert run(database, "SELECT count(*) FROM kanon.releases") == [(5,)]


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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_many_rows_go_there_in_parts(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(database, *MADE.split(";"))
    monkeypatch.setattr("kanon_sql.engine.warehouse.workbench._SENT_AT_ONCE", 7)
    policy = TablesPolicy(HOSPITAL, k=4, max_suppressed=1.0)
    with anonymize_tables(database, policy) as release:
        assert release.to_schema("released").verification.rows["patients"] == release.people_out


@pytest.mark.thorough
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


@pytest.mark.thorough
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
    single = kanon("anonymize", database, "patients", "--qi", "sex,zip", "--rest", "drop", "--into", "alone")
    assert single.code == 1
    assert "it was released with other tables" in single.err
    assert "Forgotten: 1 (released.patients), 2" in kanon("ledger", database, "--forget", "3").out
    assert run(database, "SELECT * FROM kanon.releases") == []
    scripted = kanon("anonymize", database, "--policy", file, "--into-schema", "other", "--sql")
    assert scripted.code == 2
    assert "leave --sql out" in scripted.err
    assert run(database, "SELECT nspname FROM pg_namespace WHERE nspname = 'other'") == []


@pytest.mark.thorough
def test_the_url_of_the_policy_is_that_of_the_database(database: str) -> None:
    """With a password, or of another user: the schema of the policy has the release, and the rest the originals."""
    run(database, *MADE.split(";"))
    policy = TablesPolicy(HOSPITAL, k=4, max_suppressed=1.0, source=database, into_schema="released")
    with anonymize_tables(None, policy) as release:
        release.to_schema("released")
    for url in (database, database.replace("tester@", "tester:secret@"), database.replace("tester@", "")):
        if url.startswith("postgresql://tester"):
            assert check_tables(url, policy).holds
            assert attack_tables(url, policy).found[0].below_k == 0
        assert same_database(url, database)
    for one, other in [("clinic", "ward"), ("?host=/a", "?host=/b"), ("", "")]:
        assert not same_database(f"postgresql://me@db{'/' * bool(one)}{one}", f"postgresql://you@db/{other}"), one
    assert same_database("postgresql://me@db", "postgresql://me@db")
    assert not same_database("postgresql://me@db", "postgresql://you@db")  # databases of their names


def small(name: str, **people: Any) -> TablesPolicy:
    columns = NamedColumns(quasi_identifiers=("sex",))
    return TablesPolicy((TablePolicy(name, "people", "id", columns=columns, **people),), k=2, max_suppressed=1.0)


PEOPLE = "CREATE TABLE $name AS SELECT i AS id, i % 2 AS sex FROM generate_series(1, $n) AS numbers(i)"


def made(name: str, n: int) -> str:
    return PEOPLE.replace("$name", name).replace("$n", str(n))


@pytest.mark.thorough
def test_names_that_differ_in_case_only(database: str) -> None:
    """PostgreSQL tells them apart; a policy does where it must."""
    run(
        database,
        "DROP TABLE people",
        'CREATE SCHEMA "S"',
        "CREATE SCHEMA s",
        made('"S".p', 6),
        made("s.p", 8),
        made("public.visitors", 4),
    )
    for name, n, into in [("s.p", 8, "one"), ("S.p", 6, "two"), ("VISITORS", 4, "three")]:
        with anonymize_tables(database, small(name, hierarchies={"sex": "flat"})) as release:
            assert release.to_schema(into, ignore_ledger=True).verification.rows == {name: n}
        assert check_tables(database, small(name), schema=into).rows == {name: n}
    with pytest.raises(UsageError, match="names 2 tables"):
        anonymize_tables(database, small("S.P"))
    run(database, made('"Visitors"', 6))
    with pytest.raises(UsageError, match=r"Visitors\. Its name .* views in another schema"):
        anonymize_tables(database, small("visitors"))
    run(database, "CREATE SCHEMA shown", 'CREATE VIEW shown.visitors AS TABLE "Visitors"')
    with anonymize_tables(database, small("shown.visitors", hierarchies={"sex": "flat"})) as release:
        assert release.people_in == 6


@pytest.mark.thorough
def test_views_can_be_among_the_tables(database: str) -> None:
    """Of a table with values that DuckDB does not have, for example: the message names its column."""
    values = "SELECT i AS id, i % 2 AS sex, (ARRAY['NaN', '1.5'])[1 + i % 2]::numeric(6, 2) AS x"
    rows = " FROM generate_series(1, 6) AS numbers(i)"
    run(database, "DROP TABLE people", "CREATE TABLE raw AS " + values + rows)
    columns = NamedColumns(quasi_identifiers=("sex",), insensitive=("x",))
    raw = TablePolicy("raw", "people", "id", columns=columns, hierarchies={"sex": "flat"})
    with pytest.raises(ComputationError, match=r"Column 'x' .* NaN"):
        anonymize_tables(database, TablesPolicy((raw,), k=2))
    for kind in ("VIEW", "MATERIALIZED VIEW"):
        run(database, "CREATE $kind texts AS SELECT id, sex, x::text AS x FROM raw".replace("$kind", kind))
        first = TablePolicy("texts", "people", "id", columns=columns, hierarchies={"sex": "flat"})
        with anonymize_tables(database, TablesPolicy((first, TablePolicy("raw", "dropped")), k=2)) as release:
            release.to_schema("released", replace=True, ignore_ledger=True)
        assert run(database, "SELECT DISTINCT x FROM released.texts ORDER BY x") == [("1.50",), ("NaN",)]
        run(database, "DROP $kind texts".replace("$kind", kind))


@pytest.mark.thorough
def test_names_of_schemas_that_cannot_be(database: str) -> None:
    policy = small("p", hierarchies={"sex": "flat"})
    run(database, "DROP TABLE people", made("p", 6))
    with anonymize_tables(database, policy) as release, pytest.raises(UsageError, match="63 bytes"):
        release.to_schema("ä" * 32)
    with (
        anonymize_tables(database, policy) as release,
        pytest.raises(SourceError, match=r'Ambiguous reference.*"Temp"'),
    ):
        release.to_schema("Temp")
    assert (
        run(database, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ä%' OR nspname IN ('Temp', 'kanon')") == []
    )
    with anonymize_tables(database, policy) as release:
        release.to_schema("ä" * 31)


@pytest.mark.parametrize("destination", [["--into", "part"], ["--into-schema", "public"]])
def test_a_partition_of_the_original_is_not_replaced(
    database: str, destination: list[str], in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    """Rows of a partition are rows of its table: what replaced it dropped them."""
    run(
        database,
        "CREATE SCHEMA raw",
        "CREATE TABLE raw.part (patient_id INT, name TEXT, birth_year INT) PARTITION BY RANGE (birth_year)",
        "CREATE TABLE part PARTITION OF raw.part DEFAULT",
        "INSERT INTO raw.part SELECT i, 'name', 1950 + i % 2 FROM generate_series(0, 59) AS r(i)",
    )
    (in_tmp / "kanon.toml").write_text(
        '[tables."raw.part"]\nperson = "patient_id"\nidentifying = ["name"]\nquasi_identifiers = ["birth_year"]\n'
        '[tables."raw.part".hierarchies]\nbirth_year = "flat"\n[privacy]\nk = 2\n'
    )
    one = ["raw.part", "--entity", "patient_id", "--id", "name", "--qi", "birth_year", "-k", "2"]
    what = one if destination[0] == "--into" else ["--policy", "kanon.toml"]
    refused = kanon("anonymize", database, *what, *destination, "--replace")
    assert refused.code == 2, refused.out
    assert "the ledger does not know as a release" in refused.err
    assert run(database, "SELECT count(*) FROM raw.part") == [(60,)]


@pytest.mark.parametrize("kind", ["money", "xml", "point", "tsvector", "macaddr", "oid", "int4range", "mood[]", "inet"])
def test_types_that_duckdb_lacks_are_written_to_files(
    database: str, kind: str, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    """Was a ParseError: their values are texts on the workbench."""
    run(
        database,
        "DROP TABLE people",
        "CREATE TYPE mood AS ENUM ('sad', 'well')",
        "CREATE TABLE patients AS SELECT i AS id, i % 2 AS sex FROM generate_series(0, 59) AS r(i)",
        f"CREATE TABLE wards (x {kind})",
        "INSERT INTO wards VALUES (NULL)",
    )
    (in_tmp / "kanon.toml").write_text(
        '[tables.patients]\nperson = "id"\nquasi_identifiers = ["sex"]\n[tables.patients.hierarchies]\nsex = "flat"\n'
        '[tables.wards]\nrows = "kept"\n[privacy]\nk = 2\n'
    )
    ended = kanon("anonymize", database, "--policy", "kanon.toml", "--out-dir", "files")
    assert ended.code == 0, ended.err
    assert (in_tmp / "files" / "wards.csv").read_text().splitlines()[0] == "x"
