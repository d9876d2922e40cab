"""Several tables that are released together: the promise by an oracle, the optimum by exhaustive search."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import operator
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon
from kanon_sql.cli.main import run
from kanon_sql.errors import JointReleaseError, NoSolutionError, UsageError
from kanon_sql.evidence.tables import check_tables
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.tables import TablePolicy, TablesPolicy, Through, write_tables_policy
from kanon_sql.release.tables.anonymize import anonymize_tables
from kanon_sql.search.full_domain import evidence
from tests.oracles.tables import Described, raw_keys, violations
from tests.support.hospital import make_hospital

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HOSPITAL = (
    TablePolicy(
        "patients",
        "people",
        "patient_id",
        columns=NamedColumns(identifying=("name",), quasi_identifiers=("birth_date", "sex", "zip")),
        hierarchies={"birth_date": "date:year,decade", "zip": "mask:right:1,2,3,4", "sex": "flat"},
    ),
    TablePolicy(
        "visits",
        person="patient_id",
        key="visit_id",
        columns=NamedColumns(quasi_identifiers=("admission_date", "ward"), sensitive=("diagnosis",)),
        hierarchies={"admission_date": "date:month,quarter,year", "ward": "flat"},
    ),
    TablePolicy(
        "results",
        person=Through("visit_id", "visits"),
        columns=NamedColumns(identifying=("result_id",), quasi_identifiers=("test",), insensitive=("value",)),
        hierarchies={"test": "flat"},
    ),
    TablePolicy(
        "prescriptions",
        person=Through("visit_id", "visits"),
        columns=NamedColumns(identifying=("id",), insensitive=("drug_id", "dose")),
    ),
    TablePolicy("drugs", "kept"),
)


def described(policy: TablesPolicy) -> dict[str, Described]:
    found = {}
    for table in policy.tables:
        person = (table.person.column, table.person.table) if isinstance(table.person, Through) else table.person
        found[table.name] = Described(table.rows, person, table.key, table.columns.quasi_identifiers)
    return {name: table for name, table in found.items() if table.rows != "dropped"}


def rows_of(connection: duckdb.DuckDBPyConnection, table: str) -> list[dict[str, Any]]:
    relation = connection.table(table)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def released_rows(file: Path, policy: TablesPolicy, schema: str = "released") -> dict[str, list[dict[str, Any]]]:
    with duckdb.connect(str(file), read_only=True) as connection:
        return {name: rows_of(connection, f'{schema}."{name}"') for name in described(policy)}


def raw_values(file: Path, policy: TablesPolicy) -> dict[tuple[str, str], set[Any]]:
    with duckdb.connect(str(file), read_only=True) as connection:
        rows = {name: rows_of(connection, f'"{name}"') for name in described(policy)}
    return {
        (name, column): {row[column] for row in rows[name]}
        for name in rows
        for column in (rows[name][0] if rows[name] else {})
    }


@pytest.mark.thorough
@pytest.mark.parametrize("km", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_hospital(tmp_path: Path, km: int) -> None:
    """Nobody, and no m events of anybody, is shared by fewer than k people; no row leads nowhere; no key is raw."""
    file = make_hospital(tmp_path / "hospital.duckdb", 10_000 if km == 1 else 500)
    policy = TablesPolicy(HOSPITAL, k=5, km=km, max_suppressed=1.0, seed=1)
    with anonymize_tables(file, policy) as release:
        assert release.optimal
        published = release.to_schema("released")
    released = released_rows(file, policy)
    assert violations(released, described(policy), 5, km) == []
    assert raw_keys(released, described(policy), raw_values(file, policy)) == []
    assert {name: len(rows) for name, rows in released.items()} == published.verification.rows
    assert set(released["patients"][0]) == {"patient_id", "birth_date", "sex", "zip"}
    assert len(released["visits"]) > 0.5 * 25 * len(released["patients"]) / 10
    assert check_tables(file, policy, schema="released").holds


ODD = "sélect \"'; --"
_VALUES = st.sampled_from([None, "a1", "a2", "b1", "b2"])
_PERSONS = st.one_of(st.none(), st.integers(1, 6))


@st.composite
def databases(draw: st.DrawFn) -> dict[str, list[tuple[Any, ...]]]:
    """Draw people, visits of theirs and of nobody, and drugs of visits; names, values and keys may be NULL."""
    persons = draw(st.lists(st.integers(1, 6), unique=True, max_size=6))
    people = [(person, draw(_VALUES)) for person in persons]
    visits = [
        (draw(_PERSONS), number, draw(_VALUES), draw(st.integers(0, 9))) for number in range(draw(st.integers(0, 12)))
    ]
    drugs = [(draw(st.one_of(st.none(), st.integers(0, 13))), draw(_VALUES)) for _ in range(draw(st.integers(0, 12)))]
    return {"people": people, "visits": visits, "drugs": drugs}


def make_database(tables: dict[str, list[tuple[Any, ...]]]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f'CREATE TABLE people ("select" INTEGER, "{ODD_NAME}" VARCHAR)')
    connection.execute("CREATE TABLE visits (person INTEGER, number INTEGER, ward VARCHAR, cost INTEGER)")
    connection.execute('CREATE TABLE "drugs" ("visit" INTEGER, "Drug" VARCHAR)')
    for name, rows in tables.items():
        for row in rows:
            connection.table(name).insert(row)
    return connection


ODD_NAME = ODD.replace('"', '""')


def small_policy(*, with_people: bool, **settings: Any) -> TablesPolicy:
    people = TablePolicy(
        "people",
        "people",
        "select",
        columns=NamedColumns(quasi_identifiers=(ODD,)),
        hierarchies={ODD: "mask:right:1"},
    )
    visits = TablePolicy(
        "visits",
        person="person",
        key="number",
        columns=NamedColumns(quasi_identifiers=("ward",), insensitive=("cost",)),
        hierarchies={"ward": "mask:right:1"},
    )
    drugs = TablePolicy(
        "drugs",
        person=Through("visit", "visits"),
        columns=NamedColumns(quasi_identifiers=("Drug",)),
        hierarchies={"Drug": "mask:right:1"},
    )
    first = people if with_people else TablePolicy("people", "dropped")
    return TablesPolicy((first, visits, drugs), **settings)


@given(databases(), st.booleans(), st.integers(1, 3), st.integers(1, 2))
@examples(60, quick=5)
def test_small_databases(tables: dict[str, list[tuple[Any, ...]]], with_people: bool, k: int, km: int) -> None:
    """Whatever stands in the tables: the promise holds in what is released, or nothing is."""
    policy = small_policy(with_people=with_people, k=k, km=km, max_suppressed=1.0)
    connection = make_database(tables)
    try:
        with anonymize_tables(connection, policy) as release:
            release.to_schema("released")
    except NoSolutionError:
        schemas = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'released'").fetchone()
        assert schemas == (0,)
        return
    released = {name: rows_of(connection, f"released.{name}") for name in described(policy)}
    assert violations(released, described(policy), k, km) == []


# The optimum

_LABELS = {None: (None, "*", "*"), **{value: (value, value[0] + "*", "*") for value in ("a1", "a2", "b1", "b2")}}


def label(value: str | None, level: int) -> str | None:
    """Return a label of ``mask:right:1``: the value, its first character, the root; NULL goes to the root."""
    return _LABELS[value][level]


def loss_of(value: str | None, level: int, leaves: Sequence[str | None]) -> Fraction:
    """Return LM of a cell: (M - 1) / (N - 1), M of the N leaves having its label; a value as it is costs nothing."""
    if len(leaves) < 2 or level == 0:
        return Fraction(0)
    shown = label(value, level)
    under = len(leaves) if shown == "*" else sum(label(leaf, level) == shown for leaf in leaves)
    return Fraction(under - 1, len(leaves) - 1)


def exhaustive(
    tables: dict[str, list[tuple[Any, ...]]], k: int, limit: Fraction, weights: Sequence[Fraction]
) -> Fraction | None:
    """Return the least loss of any node with one known event, counted in plain Python; None where there is none.

    The loss is the mean of those of tables that have rows, by their weights.
    """
    of_person = dict(tables["people"])
    if not of_person:
        return Fraction(0)  # nobody is there: the release is empty
    visits = [(person, number, ward) for person, number, ward, _ in tables["visits"] if person in of_person]
    by_number = {number: (person, ward) for person, number, ward in visits}
    drugs = [(*by_number[visit], drug) for visit, drug in tables["drugs"] if visit in by_number]
    # The leaves of a hierarchy are the values of the whole column, also where a row leads to no person; NULL is one of
    # people.
    columns = [(of_person.values(), of_person.values())]
    columns.append(([ward for _, _, ward, _ in tables["visits"]], [ward for *_, ward in visits]))
    columns.append(([drug for _, drug in tables["drugs"]], [drug for *_, drug in drugs]))
    leaves = [sorted({*whole} - {None} | {*own}, key=str) for whole, own in columns]
    whole = sum(w for w, rows in zip(weights, (of_person, visits, drugs), strict=True) if rows)
    least: Fraction | None = None
    for p, w, d in itertools.product(range(3), repeat=3):
        classes = Counter(label(value, p) for value in of_person.values())
        left = {person for person, value in of_person.items() if classes[label(value, p)] >= k}
        wards, taken = defaultdict(set), defaultdict(set)
        for person, _, ward in visits:
            wards[label(of_person[person], p), label(ward, w)].add(person)
        for person, ward, drug in drugs:
            taken[label(of_person[person], p), label(ward, w), label(drug, d)].add(person)
        kept_visits = [one for one in visits if len(wards[label(of_person[one[0]], p), label(one[2], w)]) >= k]
        kept_drugs = [
            one for one in drugs if len(taken[label(of_person[one[0]], p), label(one[1], w), label(one[2], d)]) >= k
        ]
        kept = [(len(of_person), len(left)), (len(visits), len(kept_visits)), (len(drugs), len(kept_drugs))]
        if not left or any(before - after > limit * before for before, after in kept):
            continue
        lost = [Fraction(before - after) for before, after in kept]
        lost[0] += sum(loss_of(of_person[person], p, leaves[0]) for person in left)
        lost[1] += sum(loss_of(ward, w, leaves[1]) for *_, ward in kept_visits)
        lost[2] += sum(loss_of(drug, d, leaves[2]) for *_, drug in kept_drugs)
        means = [own / max(1, rows) for own, (rows, _) in zip(lost, kept, strict=True)]
        loss = sum(map(operator.mul, weights, means)) / whole if whole else Fraction(0)
        least = loss if least is None else min(least, loss)
    return least


@pytest.mark.thorough
@given(
    databases(),
    st.integers(1, 3),
    st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)]),
    st.booleans(),
    st.sampled_from([(1, 1, 1), (1, 1, 1), (3, Fraction(1, 2), 1), (0, 1, 5), (1, 0, 0)]),
)
@examples(60)
def test_optimum(
    tables: dict[str, list[tuple[Any, ...]]], k: int, limit: Fraction, large: bool, given: tuple[Any, ...]
) -> None:
    """The loss is the least of all nodes, by exhaustive search over the levels of all tables together.

    With ``large``, what large tables switch on is switched on: a probe of a node before its test, and sketches.
    """
    weights = [*map(Fraction, given)]
    policy = small_policy(with_people=True, k=k, km=1, max_suppressed=float(limit))
    weighted = [replace(table, weight=weight) for table, weight in zip(policy.tables, weights, strict=True)]
    policy = replace(policy, tables=tuple(weighted))
    expected = exhaustive(tables, k, limit, weights)
    with pytest.MonkeyPatch.context() as patch:
        if large:
            for name, few in (("TUPLES_PER_STATEMENT", 0), ("MIN_TUPLES_PER_CLASS_TO_ROLL_UP", 1000)):
                patch.setattr(evidence, name, few)
        try:
            with anonymize_tables(make_database(tables), policy) as release:
                assert release.optimal
                assert expected is not None
                assert release.loss == pytest.approx(float(expected))
        except NoSolutionError:
            assert expected is None


# What a user meets


def one_table(name: str, person: str, **of_policy: Any) -> TablesPolicy:
    table = TablePolicy(
        name, person=person, columns=NamedColumns(quasi_identifiers=("ward",)), hierarchies={"ward": "flat"}
    )
    return TablesPolicy((table,), **{"k": 1, "max_suppressed": 1.0, "seed": 1, **of_policy})


@pytest.mark.parametrize("name", ["classes", "kinds", "events", "counted", "kanon_referred", "kanon_hierarchy_1"])
@pytest.mark.parametrize("person", ["class", "number", "level_1"])
def test_a_table_may_be_called_as_a_step_of_ours(name: str, person: str) -> None:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE made (person INTEGER, ward VARCHAR, "value" INTEGER)')
    connection.execute("INSERT INTO made SELECT 1 + i % 4, 'w' || i % 2, i FROM range(40) numbers(i)")
    connection.execute("ALTER TABLE made RENAME TO $name".replace("$name", name))
    connection.execute("ALTER TABLE $name RENAME person TO $to".replace("$name", name).replace("$to", person))
    policy = one_table(name, person)
    policy = replace(policy, tables=(replace(policy.tables[0], columns=NamedColumns(("value",), ("ward",))),))
    with anonymize_tables(connection, policy) as release:
        assert (release.people_in, release.people_out, release.counts[0].rows_out) == (4, 4, 40)
        assert release.to_schema("released").verification.rows == {name: 40}


@pytest.mark.parametrize(
    "name", ["../outside", "a/b", "a\\b", "c:d", "*", "?", '"', "<", ">", "|", ".hidden", " a", "a\nb"]
)
def test_the_name_of_a_table_that_is_no_name_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    connection = duckdb.connect()
    connection.from_df(pd.DataFrame({"person": range(4), "ward": "x"})).create('"' + name.replace('"', '""') + '"')
    with (
        anonymize_tables(connection, one_table(name, "person")) as release,
        pytest.raises(UsageError, match="cannot be the name of a file"),
    ):
        release.to_directory(tmp_path / "files", format_name="csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_keys_in_another_case_and_a_script_twice() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE p AS SELECT i AS pid FROM range(9) numbers(i)")
    connection.execute("""CREATE TABLE v AS SELECT i AS "Visit_ID", i % 9 AS pid, 'w' || i % 3 AS ward
        FROM range(90) numbers(i)""")
    connection.execute("CREATE TABLE r AS SELECT i % 90 AS visit_id FROM range(190) numbers(i)")
    visits = one_table("v", "PID").tables[0]
    people = TablePolicy("p", "people", "pid")
    results = TablePolicy("r", person=Through("Visit_id", "v"))
    policy = TablesPolicy((people, replace(visits, key="visit_id"), results), k=2, max_suppressed=1.0, seed=1)
    with anonymize_tables(connection, policy) as release:
        scripts = [release.script("one", everything=True).text for _ in range(2)]
        assert "SCHEMA IF NOT EXISTS one" in scripts[0]
        assert scripts[1].count("CREATE TABLE one.v") == scripts[0].count("CREATE TABLE one.v") == 1
        assert release.to_schema("released").verification.rows == {"p": 9, "v": 90, "r": 190}
    raw = "'00000000-0000-8000-b000-000000000001'"
    update = "UPDATE released.p SET pid = $raw WHERE pid = (SELECT min(pid) FROM released.p)"
    connection.execute(update.replace("$raw", raw))
    assert check_tables(connection, policy, schema="released").raw_keys["p.pid"] == 1


def test_persons_of_two_types_are_refused() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE a AS SELECT i AS pid, 'w' AS ward FROM range(9) numbers(i)")
    connection.execute("CREATE TABLE b AS SELECT '0' || i AS pid, 'w' AS ward FROM range(9) numbers(i)")
    policy = one_table("a", "pid")
    both = replace(policy, tables=(*policy.tables, *one_table("b", "pid").tables))
    with pytest.raises(UsageError, match=r"b\.pid is of type VARCHAR and refers to a\.pid, of type BIGINT"):
        anonymize_tables(connection, both)


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    return make_hospital(tmp_path / "clinic.duckdb", 300)


POLICY = TablesPolicy(HOSPITAL, k=5, max_suppressed=1.0, seed=7)


@pytest.mark.thorough
def test_destinations(tmp_path: Path, hospital: Path) -> None:
    """A schema, a file and a directory have the same rows, but for pseudonyms."""
    with anonymize_tables(hospital, POLICY) as release:
        release.to_schema("released")
        release.to_database(tmp_path / "new.duckdb", ignore_ledger=True)
        release.to_directory(tmp_path / "files", format_name="parquet", ignore_ledger=True)
    in_schema = released_rows(hospital, POLICY)
    in_file = released_rows(tmp_path / "new.duckdb", POLICY, "main")
    with duckdb.connect() as connection:
        in_files = {}
        for name in in_schema:
            connection.read_parquet(str(tmp_path / "files" / f"{name}.parquet")).create(name)
            in_files[name] = rows_of(connection, name)
    keys = {"patient_id", "visit_id"}

    def without_keys(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(value for name, value in row.items() if name not in keys) for row in rows)

    for name, rows in in_schema.items():
        assert without_keys(rows) == without_keys(in_file[name]) == without_keys(in_files[name])
    assert check_tables(tmp_path / "new.duckdb", POLICY).holds


@pytest.mark.thorough
@pytest.mark.parametrize("format_name", ["csv", "parquet"])
def test_a_directory_of_files_is_checked(
    tmp_path: Path, hospital: Path, format_name: Literal["csv", "parquet"], capsys: pytest.CaptureFixture[str]
) -> None:
    files = tmp_path / "files"
    with anonymize_tables(hospital, POLICY) as release:
        published = release.to_directory(files, format_name=format_name)
    found = check_tables(files, POLICY)
    assert found.holds
    assert found.promises == published.verification.promises
    write_tables_policy(replace(POLICY, out_directory=files), tmp_path / "kanon.toml")
    for named in ([str(files)], []):
        assert run(["check", *named, "--policy", str(tmp_path / "kanon.toml")]) == 0
    assert "The tables keep the promise" in capsys.readouterr().out
    if format_name == "csv":
        header, *patients = (files / "patients.csv").read_text(encoding="utf-8").splitlines()
        (files / "patients.csv").write_text("\n".join([header, *patients[50:]]) + "\n", encoding="utf-8")
        wrong = check_tables(files, POLICY)
        assert not wrong.holds
        assert wrong.orphans["visits"]
        (files / "patients.csv").unlink()
        assert run(["check", str(files), "--policy", str(tmp_path / "kanon.toml")]) == 2
        assert f"{files} has no file of the table patients: patients.csv or .parquet." in " ".join(
            capsys.readouterr().err.split()
        )


@pytest.mark.thorough
def test_second_release_is_refused(hospital: Path) -> None:
    """Two releases of the same tables say more together than each: the second one needs a decision."""
    with anonymize_tables(hospital, POLICY) as release:
        release.to_schema("released")
        with pytest.raises(JointReleaseError, match="earlier release"):
            release.to_schema("again")
    with duckdb.connect(str(hospital), read_only=True) as connection:
        found = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'again'").fetchone()
    assert found == (0,)


@pytest.mark.thorough
def test_a_table_alone_beside_a_release_of_several_is_refused(hospital: Path) -> None:
    with anonymize_tables(hospital, POLICY) as release:
        release.to_schema("released")
    columns = {"quasi_identifiers": ["sex"], "identifying": ["name"], "rest": "drop", "entity": "patient_id"}
    alone = kanon.anonymize(str(hospital), "patients", **columns)
    with alone, pytest.raises(JointReleaseError) as refused:
        alone.to_table("alone")
    assert "with other tables, which decide which rows it leaves out" in str(refused.value)
    assert "Make one release of the table only; or publish all the same (ignore_ledger=True)" in str(refused.value)
    assert "Put it back" not in str(refused.value)


@pytest.mark.thorough
def test_key_file_joins_releases(tmp_path: Path, hospital: Path) -> None:
    """With a key file pseudonyms are the same in every release; those of persons and of visits never are."""
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    policy = TablesPolicy(HOSPITAL, k=5, max_suppressed=1.0, key_file=key)
    for schema in ("one", "two"):
        with anonymize_tables(hospital, policy) as release:
            release.to_schema(schema, ignore_ledger=True)
    one, two = released_rows(hospital, policy, "one"), released_rows(hospital, policy, "two")
    persons = {row["patient_id"] for row in one["patients"]}
    assert persons == {row["patient_id"] for row in two["patients"]}
    assert not persons & {row["visit_id"] for row in one["visits"]}
    visits = raw_values(hospital, policy)["visits", "visit_id"]
    of_visits = hmac.new(b"k" * 32, b'["visits", "rows"]', "sha256").digest()
    digests = [hashlib.sha256(b"\0\0\0\1" + of_visits + b"%d" % visit).hexdigest() for visit in visits]
    uuids = {f"{own[:8]}-{own[8:12]}-8{own[13:16]}-8{own[17:20]}-{own[20:32]}" for own in digests}
    assert {str(row["visit_id"]) for row in one["visits"]} <= uuids


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            "UPDATE released.visits SET patient_id = NULL WHERE visit_id = (SELECT min(visit_id) FROM released.visits)",
            "no pseudonym",
        ),
        ("INSERT INTO released.patients SELECT * FROM released.patients LIMIT 1", "another row has too"),
        (
            "DELETE FROM released.patients WHERE patient_id = (SELECT min(patient_id) FROM released.visits)",
            "no released row",
        ),
        (
            "UPDATE released.visits SET ward = 'hers' WHERE visit_id = (SELECT min(visit_id) FROM released.visits)",
            "fewer than",
        ),
        (
            "UPDATE released.patients SET zip = '1' WHERE patient_id = (SELECT min(patient_id) FROM released.patients)",
            "fewer than",
        ),
    ],
)
def test_check_finds_what_is_wrong(hospital: Path, spoil: str, message: str) -> None:
    with anonymize_tables(hospital, POLICY) as release:
        release.to_schema("released")
    with duckdb.connect(str(hospital)) as connection:
        connection.execute(spoil)
    found = check_tables(hospital, POLICY, schema="released")
    assert not found.holds
    assert any(message in problem for problem in found.problems())


@pytest.fixture
def three() -> tuple[duckdb.DuckDBPyConnection, TablesPolicy]:
    """Eight people with three visits each, and two results of each visit, released."""
    connection = duckdb.connect()
    connection.execute("""
        CREATE TABLE p AS SELECT i AS pid, 'f' AS sex FROM range(8) numbers(i);
        CREATE TABLE v AS SELECT i AS vid, i % 8 AS pid, ['A', 'B'][1 + i % 2] AS ward FROM range(24) numbers(i);
        CREATE TABLE r AS SELECT i % 24 AS vid, ['x', 'y'][1 + i // 8 % 2] AS test FROM range(48) numbers(i);
    """)
    people = TablePolicy("p", "people", "pid", columns=NamedColumns(quasi_identifiers=("sex",)))
    visits = TablePolicy("v", "events", "pid", key="vid", columns=NamedColumns(quasi_identifiers=("ward",)))
    visits = replace(visits, hierarchies={"ward": "flat"})
    results = TablePolicy("r", "events", Through("vid", "v"), columns=NamedColumns(quasi_identifiers=("test",)))
    results = replace(results, hierarchies={"test": "flat"})
    policy = TablesPolicy((people, visits, results), k=2, max_suppressed=1.0, seed=1)
    with anonymize_tables(connection, policy) as release:
        release.to_schema("released")
    assert check_tables(connection, policy, schema="released").holds
    return connection, policy


TWO_SPELLINGS = """
    ALTER TABLE released.v ALTER vid TYPE VARCHAR;
    INSERT INTO released.v SELECT upper(vid), pid, ward FROM released.v;
"""
RAW_KEYS = "UPDATE released.r SET vid = $raw WHERE rowid IN (SELECT rowid FROM released.r LIMIT 24)"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("spoil", "raw"),
    [
        # A key in two spellings is one key, in two rows: what they refer to twice does not make up for raw keys.
        (TWO_SPELLINGS + RAW_KEYS.replace("$raw", "'00000000-0000-4000-8000-00000000002a'"), 24),
        (
            TWO_SPELLINGS
            + "ALTER TABLE released.r ALTER vid TYPE VARCHAR COLLATE nocase;"
            + RAW_KEYS.replace("$raw", "'raw ' || rowid"),
            24,
        ),
        ("ALTER TABLE released.r ALTER vid TYPE INTEGER USING 1", 48),
    ],
)
def test_check_reads_keys_as_what_they_are(
    three: tuple[duckdb.DuckDBPyConnection, TablesPolicy], spoil: str, raw: int
) -> None:
    connection, policy = three
    connection.execute(spoil)
    found = check_tables(connection, policy, schema="released")
    assert found.raw_keys["r.vid"] == raw
    assert found.orphans["r"] == raw
    assert not found.holds


VISITS = TablePolicy("v", person="pid", columns=NamedColumns(quasi_identifiers=("day",)))


def test_a_row_leads_nowhere_whatever_fields_columns_have() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE p AS SELECT i AS pid, 's' AS sex, {'pid': i} AS own FROM range(4) numbers(i)")
    connection.execute("CREATE TABLE v AS SELECT i AS pid, 'd' AS day FROM range(7) numbers(i)")
    people = TablePolicy("p", "people", "pid", columns=NamedColumns(quasi_identifiers=("sex",), insensitive=("own",)))
    assert check_tables(connection, TablesPolicy((people, VISITS), k=2)).orphans == {"p": 0, "v": 3}


def test_events_of_no_person_are_shared_by_no_people() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE v AS SELECT i AS pid, 'a' AS day FROM range(4) numbers(i)")
    connection.execute("INSERT INTO v VALUES (NULL, 'b')")
    found = check_tables(connection, TablesPolicy((VISITS,), k=3))
    assert [(one.combinations, one.fewest, one.too_rare) for one in found.promises] == [(1, 4, 0), (1, 4, 0)]
    assert found.raw_keys == {"v.pid": 5}


@pytest.mark.thorough
@given(
    st.lists(st.tuples(st.integers(0, 140), st.integers(0, 3), st.integers(0, 2)), max_size=400),
    st.sampled_from([1, 2, 5, 61, 62, 63, 64, 100]),
)
def test_people_who_share_an_event_are_counted_for_any_k(events: list[tuple[int, int, int]], k: int) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE p AS SELECT i AS pid, 's' || i % 2 AS sex FROM range(141) numbers(i)")
    connection.execute("CREATE TABLE v(pid BIGINT, day BIGINT, vid BIGINT)")
    connection.execute("CREATE TABLE r(vid BIGINT, test BIGINT)")
    connection.executemany(
        "INSERT INTO v VALUES (?, ?, ?)", [[-1, 0, -1], *([*own[:2], n] for n, own in enumerate(events))]
    )
    connection.executemany("INSERT INTO r VALUES (?, ?)", [[-2, 0], *([n, own[2]] for n, own in enumerate(events))])
    people = TablePolicy("p", "people", "pid", columns=NamedColumns(quasi_identifiers=("sex",)))
    results = TablePolicy("r", person=Through("vid", "v"), columns=NamedColumns(quasi_identifiers=("test",)))
    found = check_tables(connection, TablesPolicy((people, replace(VISITS, key="vid"), results), k=k)).promises[1]
    share: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for person, day, test in events:
        share[person % 2, day].add(person)
        share[person % 2, day, test].add(person)
    counts = [len(own) for own in share.values()]
    assert (found.combinations, found.fewest) == (len(counts), min(counts, default=None))
    assert found.too_rare == sum(n < k for n in counts)


ONE_LABEL_APART = """
    UPDATE released.$table SET $column = if(rowid = (SELECT min(rowid) FROM released.$table), '$one', '$others');
    $collated;
"""
COLLATED = "ALTER TABLE released.$table ALTER $column TYPE VARCHAR COLLATE "


@pytest.mark.thorough
@pytest.mark.parametrize("km", [1, 2])
@pytest.mark.parametrize(
    ("table", "column", "labels", "collated"),
    [
        ("r", "test", "Qq", COLLATED + "nocase"),
        ("v", "ward", "Qq", COLLATED + "nocase"),
        ("p", "sex", "ée", COLLATED + "noaccent"),
        ("r", "test", "Qq", "SET default_collation = 'nocase'"),
    ],
)
def test_check_compares_labels_as_they_are_written(
    three: tuple[duckdb.DuckDBPyConnection, TablesPolicy], km: int, table: str, column: str, labels: str, collated: str
) -> None:
    """A label that one row has is not shared by others since a collation takes them for the same."""
    connection, policy = three
    spoil = ONE_LABEL_APART.replace("$collated", collated).replace("$table", table).replace("$column", column)
    connection.execute(spoil.replace("$others", labels[1]).replace("$one", labels[0]))
    found = check_tables(connection, replace(policy, km=km), schema="released")
    assert [promise.events for promise in found.promises if promise.too_rare]


@pytest.mark.thorough
def test_a_person_in_two_spellings_is_one(
    tmp_path: Path, three: tuple[duckdb.DuckDBPyConnection, TablesPolicy]
) -> None:
    """... as files of CSV may have it: two rows of one person are not of two people."""
    connection, policy = three
    with anonymize_tables(connection, policy) as release:
        release.to_directory(tmp_path / "files", ignore_ledger=True)
    people = tmp_path / "files" / "p.csv"
    header, first, *_ = people.read_text().splitlines()
    pid, sex = first.split(",")
    people.write_text("\n".join([header, first, f"{pid.upper()},{sex}"]) + "\n")
    found = check_tables(tmp_path / "files", policy)
    assert found.repeated_keys["p.pid"] == 1
    assert found.promises[0].fewest == 1


def test_rows_of_people_that_another_column_names_again_are_refused() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE p AS SELECT i AS id, 'n' || i % 4 AS ssn, 'f' AS sex FROM range(12) numbers(i)")
    columns = NamedColumns(quasi_identifiers=("sex",), identifying=("ssn",))
    policy = TablesPolicy((TablePolicy("p", "people", "id", columns=columns),), k=2, max_suppressed=1.0)
    with pytest.raises(UsageError, match=r"p: people are to be counted by id, .* ssn has repeated values .*person = "):
        anonymize_tables(connection, policy)


@pytest.mark.thorough
def test_people_of_whom_nothing_is_left_are_not_counted() -> None:
    """Without a table of people, a person is in a release by rows alone."""
    connection = duckdb.connect()
    connection.execute("""CREATE TABLE v AS
        SELECT i AS pid, if(i = 0, 'unique', 'w' || i % 2) AS ward FROM range(100) numbers(i)""")
    policy = replace(one_table("v", "pid"), k=5, max_suppressed=0.1)
    with anonymize_tables(connection, policy) as release:
        published = release.to_schema("released")
    assert (release.people_in, release.people_out, published.verification.fewest) == (100, 99, 49)
    connection.execute("CREATE OR REPLACE TABLE v AS SELECT i AS pid, 'x' AS ward FROM range(2) numbers(i)")
    connection.execute("CREATE TABLE u AS SELECT i AS pid FROM range(1, 3) numbers(i)")
    both = TablesPolicy((*policy.tables, TablePolicy("u", "events", "pid")), k=3, max_suppressed=1.0, seed=1)
    with pytest.raises(NoSolutionError, match="Fewer than 3 people would be left in the tables"):
        anonymize_tables(connection, both)


def test_not_all_people_are_left_out_where_the_root_costs_as_much() -> None:
    """Three wards of one person each: all rows suppressed cost 3, and all of them at the root cost 3."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE v AS SELECT i AS pid, 'w' || i AS ward FROM range(3) numbers(i)")
    with anonymize_tables(connection, replace(one_table("v", "pid"), k=2, max_suppressed=1.0)) as release:
        release.to_schema("released")
    assert (release.people_out, release.cost, release.optimal) == (3, 3, True)


@pytest.mark.thorough
def test_keys_that_are_equal_have_one_pseudonym(tmp_path: Path) -> None:
    """Zero and negative zero are one key, in each of two releases with one key file."""
    (tmp_path / "key").write_bytes(b"k" * 32)
    found = []
    for zero in (0.0, -0.0):
        connection = duckdb.connect()
        connection.execute("CREATE TABLE v AS SELECT (i % 3)::DOUBLE AS pid, 'w' AS ward FROM range(9) numbers(i)")
        connection.execute("UPDATE v SET pid = $zero WHERE pid = 0", {"zero": zero})
        policy = replace(one_table("v", "pid"), k=2, max_suppressed=1.0, key_file=tmp_path / "key")
        with anonymize_tables(connection, policy) as release:
            release.to_schema("released")
        found.append({row[0] for row in connection.execute("SELECT pid FROM released.v").fetchall()})
    assert found[0] == found[1]


@pytest.mark.thorough
def test_script_makes_the_release(hospital: Path) -> None:
    """The script that --sql prints makes the same rows as the release, with a key of one's own."""
    with anonymize_tables(hospital, POLICY) as release:
        script = release.sql("by_script")
        release.to_schema("released")
    with duckdb.connect(str(hospital)) as connection:
        for statement in connection.extract_statements(script):
            connection.execute(statement, {name: name.encode() for name in statement.named_parameters})
    made, published = released_rows(hospital, POLICY, "by_script"), released_rows(hospital, POLICY)
    for name in published:
        columns = [column for column in published[name][0] if column not in {"patient_id", "visit_id"}]
        rows = [Counter(tuple(row[column] for column in columns) for row in found[name]) for found in (made, published)]
        assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("INTEGER", "7, 7, 8, 9"),
        ("INTEGER", "-2147483648, 2147483647, 2147483647, 0"),
        ("BIGINT", "-3, -3, -4, NULL, NULL, -5"),
        ("UBIGINT", "18446744073709551615, 18446744073709551615, 18446744073709551614, 18446744073709551613"),
        ("HUGEINT", "-170141183460469231731687303715884105728, 1, 2, 2"),
        ("VARCHAR", "'7', '7', '07', '8'"),
    ],
)
def test_repeated_keys_are_counted_wherever_numbers_lie(kind: str, keys: str) -> None:
    connection = duckdb.connect()
    made = "CREATE TABLE p AS SELECT CAST(UNNEST([$keys]) AS $kind) AS id, 'f' AS sex"
    connection.execute(made.replace("$keys", keys).replace("$kind", kind))
    columns = NamedColumns(quasi_identifiers=("sex",))
    policy = TablesPolicy((TablePolicy("p", "people", "id", columns=columns),), k=2, max_suppressed=1.0)
    with pytest.raises(UsageError, match="p: 1 of the 4 values of 'id', which is to be its person, are repeated"):
        anonymize_tables(connection, policy)
    connection.execute("CREATE OR REPLACE TABLE p AS SELECT DISTINCT ON (id) id, sex FROM p WHERE NOT id IS NULL")
    with anonymize_tables(connection, policy) as release:
        assert release.people_in == 3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO patients SELECT * FROM patients LIMIT 1", "repeated"),
        ("INSERT INTO visits SELECT * FROM visits LIMIT 1", "repeated"),
        ("UPDATE visits SET visit_id = NULL WHERE visit_id = 1", "without a value"),
        ("CREATE TABLE staff (name VARCHAR)", "says nothing of 1 table"),
        ("ALTER TABLE drugs ADD COLUMN patient_id INTEGER", "called like a key"),
        ("ALTER TABLE visits ALTER patient_id TYPE VARCHAR", "cast one of them"),
        ("ALTER TABLE results ADD COLUMN note VARCHAR", "no role"),
    ],
)
def test_refused(hospital: Path, statement: str, message: str) -> None:
    with duckdb.connect(str(hospital)) as connection:
        connection.execute(statement)
    with pytest.raises(UsageError, match=message):
        anonymize_tables(hospital, POLICY)


@pytest.mark.thorough
def test_rows_of_nobody_are_left_out(hospital: Path) -> None:
    with duckdb.connect(str(hospital)) as connection:
        connection.execute("UPDATE visits SET patient_id = NULL WHERE visit_id = 1")
        connection.execute("UPDATE visits SET patient_id = 100000 WHERE visit_id = 2")
        (results,) = connection.execute("SELECT count(*) FROM results WHERE visit_id IN (1, 2)").fetchone() or (None,)
    with anonymize_tables(hospital, POLICY) as release:
        counts = {one.name: one for one in release.counts}
        assert (counts["visits"].of_nobody, counts["results"].of_nobody) == (2, results)
        release.to_schema("released")
    assert check_tables(hospital, POLICY, schema="released").holds
