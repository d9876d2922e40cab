"""A policy of several tables: read, written and refused; and the one that ``kanon init`` writes for a database."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import REPOSITORY
from each import each
from effort import examples
from hospital import make_hospital
from hypothesis import Phase, event, given
from hypothesis import strategies as st
from test_profile_database import databases, person_of

import kanon_sql
from kanon_sql.errors import PolicyError, UsageError
from kanon_sql.policy.policy import parse_policy, read_policy
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.tables import (
    OF_TABLES,
    Rows,
    TablePolicy,
    TablesPolicy,
    Through,
    has_tables,
    parse_tables_policy,
    read_tables_policy,
    tables_policy_text,
    write_tables_policy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

FILE = Path("here/kanon.toml")
AGE = NamedColumns(quasi_identifiers=("age",))
PATIENTS = TablePolicy("patients", "people", "id", columns=AGE)
VISITS = TablePolicy("visits", person="patient", key="id", columns=NamedColumns(quasi_identifiers=("day",)))
TESTS = TablePolicy("tests", person=Through("visit", "visits"))
WHOLE = """
[source]
from = "clinic.duckdb"

[privacy]
k = 7
km = 2

[search]
max_suppressed = "5%"
time_limit = 30

[release]
out = "new.duckdb"
seed = 3
key_file = "pseudonyms.key"

[tables.patients]
rows = "people"
person = "patient_id"
identifying = ["name"]
quasi_identifiers = ["birth_date", "zip"]
sensitive = ["blood"]
insensitive = ["weight"]
proposed = ["zip"]
rest = "drop"
hierarchies = { birth_date = { date = ["year", "decade"] }, zip = "./zips.csv" }

[tables.visits]
person = "patient_id"
key = "visit_id"
quasi_identifiers = ["day"]

[tables.prescriptions]
person = { through = "visit_id", to = "VISITS" }
rest = "keep"

[tables."care.wards"]
rows = "kept"
"""


def test_what_a_file_says() -> None:
    policy = parse_tables_policy(WHOLE, FILE)
    patients, visits, prescriptions, wards = policy.tables
    assert patients == TablePolicy(
        "patients",
        "people",
        "patient_id",
        columns=NamedColumns(("name",), ("birth_date", "zip"), ("blood",), ("weight",), "drop", proposed=("zip",)),
        hierarchies={"birth_date": "date:year,decade", "zip": "./zips.csv"},
    )
    assert (visits.rows, visits.person, visits.key) == ("events", "patient_id", "visit_id")
    assert prescriptions.person == Through("visit_id", "visits")  # as its section is called
    assert wards == TablePolicy("care.wards", "kept")
    assert (policy.k, policy.km, policy.max_suppressed, policy.time_limit, policy.seed) == (7, 2, 0.05, 30, 3)
    assert (policy.source, policy.out, policy.key_file) == (
        "here/clinic.duckdb",
        Path("here/new.duckdb"),
        Path("here/pseudonyms.key"),
    )
    assert policy.path(prescriptions) == (prescriptions, visits)
    assert policy.path(patients) == (patients,)


def test_a_policy_is_written_as_it_is_read(in_tmp: Path) -> None:
    policy = parse_tables_policy(WHOLE, FILE)
    assert parse_tables_policy(tables_policy_text(policy, FILE.parent), FILE) == policy
    write_tables_policy(policy, in_tmp / "elsewhere.toml")
    moved = read_tables_policy(in_tmp / "elsewhere.toml")
    assert moved.tables[0].hierarchies == {"birth_date": "date:year,decade", "zip": "here/zips.csv"}
    assert moved.key_file == in_tmp / "here/pseudonyms.key"
    assert tomllib.loads((in_tmp / "elsewhere.toml").read_text())["source"]["from"] == "here/clinic.duckdb"


def test_the_example_of_the_page_is_a_policy_with_every_setting() -> None:
    page = (REPOSITORY / "docs/policy.md").read_text(encoding="utf-8").partition("## Several tables")[2]
    block = page.partition("```toml\n")[2].partition("```")[0]
    policy = parse_tables_policy(block, FILE)
    assert [table.rows for table in policy.tables] == ["people", "events", "events", "kept", "dropped"]
    own = [field.name for field in fields(TablePolicy) if field.name not in {"hierarchy_directory", "levels"}]
    for name in [*OF_TABLES, "tables", "source", *own]:
        named = {"source": "from", "columns": "quasi_identifiers", "name": "tables", "directory": "directory"}.get(
            name, name
        )
        assert named in page, name


NAMES = st.text(min_size=1, max_size=6).filter(lambda text: text.strip() == text and text.isprintable())


@st.composite
def policies(draw: st.DrawFn) -> TablesPolicy:
    """Tables of events that go through those before them, beside people or not, and tables of nobody."""
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique_by=str.casefold))
    columns = draw(st.lists(NAMES, min_size=4, max_size=6, unique_by=str.casefold))
    person, key, reference, *known = columns
    rule = draw(st.sampled_from([{}, {known[0]: "mask:right"}, {known[0]: "./file.csv"}]))
    first: Rows = draw(st.sampled_from(["people", "events"]))
    known_by = NamedColumns(quasi_identifiers=tuple(known), rest=draw(st.sampled_from(["keep", "drop", None])))
    tables = [TablePolicy(names[0], first, person, columns=known_by, hierarchies=rule)]
    for name in names[1:]:
        above = draw(st.sampled_from([None, *(table.name for table in tables if table.key is not None)]))
        kept: Rows = draw(st.sampled_from(["kept", "dropped"]))
        way = person if above is None else Through(reference, above)
        event = TablePolicy(name, "events", way, key, columns=NamedColumns(sensitive=tuple(known)))
        tables.append(draw(st.sampled_from([event, TablePolicy(name, kept)])))
    places: dict[str, Any] = draw(
        st.sampled_from(
            [
                {}, {"into_schema": "s"}, {"out": Path("x/o.duckdb")}, {"out_directory": Path("x/d")},
                {"in_place": True}, {"in_place": True, "backup": False},
                {"in_place": True, "backup": Path("x/b.duckdb")},
            ]
        )
    )  # fmt: skip
    return TablesPolicy(
        tuple(tables),
        k=draw(st.integers(1, 99)),
        km=draw(st.integers(1, 3)),
        max_suppressed=draw(st.sampled_from([0, 0.1, "25 rows", "k rows"])),
        time_limit=draw(st.sampled_from([None, 1, 2.5])),
        seed=draw(st.sampled_from([None, 0, -3])),
        key_file=draw(st.sampled_from([None, Path("x/key")])),
        source=draw(st.sampled_from([None, "x/clinic.duckdb"])),
        directory=Path("x"),
        **places,
    )


@given(policies())
def test_any_policy_is_written_as_it_is_read(policy: TablesPolicy) -> None:
    text = tables_policy_text(policy, Path("x"))
    assert parse_tables_policy(text, Path("x/kanon.toml")) == policy
    assert has_tables(tomllib.loads(text))


@each(
    ("make", "said"),
    [
        (lambda: TablesPolicy((PATIENTS,), km=0), "1 to 3. Got 0"),
        (lambda: TablesPolicy((PATIENTS,), km=4), "1 to 3. Got 4"),
        (lambda: TablesPolicy((PATIENTS,), km=True), "1 to 3. Got True"),
        (lambda: TablesPolicy((PATIENTS,), k=0), "k must be a whole number of at least 1"),
        (lambda: TablesPolicy((PATIENTS,), max_suppressed=2), "max_suppressed must be between 0 and 1"),
        (lambda: TablesPolicy((PATIENTS,), algorithm="local"), "search.algorithm is not for a policy of several"),
        (lambda: TablesPolicy((PATIENTS,), time_limit=0), "time_limit must be a number of seconds above 0"),
        (lambda: TablesPolicy((PATIENTS,), source=" "), "[source] from is empty"),
        (lambda: TablesPolicy((PATIENTS,), source="postgresql://me:hunter2@host/db"), "has a password"),
        (lambda: TablesPolicy((PATIENTS,), into_schema=" "), "into_schema must be the name of a schema. Got ' '"),
        (lambda: TablesPolicy((PATIENTS,), into_schema="s", out=Path("o.duckdb")), "goes to one place"),
        (lambda: TablesPolicy((PATIENTS,), into_schema="s", in_place=True), "goes to one place"),
        (lambda: TablesPolicy((PATIENTS,), backup=Path("b.duckdb")), "are for a release in place"),
        (lambda: TablesPolicy(()), "No table has rows of people or their events"),
        (lambda: TablesPolicy((TablePolicy("wards", "kept"),)), "No table has rows of people or their events"),
        (lambda: TablesPolicy((TablePolicy("visits", person="id"),)), "No table has a quasi-identifier"),
        (lambda: TablesPolicy((PATIENTS, TablePolicy("PATIENTS", "kept"))), "'patients' is in the policy twice"),
        (lambda: TablesPolicy((PATIENTS, TablePolicy("staff", "people", "id"))), "is said of patients and staff"),
        (lambda: TablesPolicy((PATIENTS, TESTS)), "there is no [tables.visits]"),
        (
            lambda: TablesPolicy((PATIENTS, TablePolicy("visits", "kept"), TESTS)),
            "visit goes through visits, the rows of which are kept, and so about nobody",
        ),
        (
            lambda: TablesPolicy((PATIENTS, TablePolicy("visits", person="patient"), TESTS)),
            "visit goes through visits, which has no key: say with key which of its columns tests.visit has the values",
        ),
        (
            lambda: TablesPolicy((PATIENTS, TablePolicy("visits", person=Through("patient", "patients")))),
            'each row of which is a person: write person = "patient", where that column has the values of patients.id',
        ),
        (
            lambda: TablesPolicy((
                PATIENTS,
                TablePolicy("a", person=Through("b_id", "b"), key="id"),
                TablePolicy("b", person=Through("a_id", "A"), key="id"),
            )),
            "goes round in a circle: a -> b -> a",
        ),
        (lambda: TablePolicy("t", person=None), "it is not said how a row reaches its person"),
        (lambda: TablePolicy("t", "people"), "it is not said how a row reaches its person"),
        (lambda: TablePolicy("t", "people", Through("a", "b")), "each row is a person, and so person is the column"),
        (lambda: TablePolicy("t", "people", "id", key="id"), "so its key is the column of the person: leave key out"),
        (lambda: TablePolicy("t", "rows", "id"), "rows is people or events or kept or dropped, not 'rows'"),  # type: ignore[arg-type]
        (lambda: TablePolicy("t", "kept", "id"), "the table has no person"),
        (lambda: TablePolicy("t", "dropped", key="id"), "the table has no key"),
        (lambda: TablePolicy("t", "kept", columns=AGE), "the table has no quasi_identifiers"),
        (lambda: TablePolicy("t", "kept", columns=NamedColumns(rest="keep")), "the table has no rest"),
        (lambda: TablePolicy("t", "kept", hierarchies={"a": "flat"}), "the table has no hierarchies"),
        (lambda: TablePolicy("t", person="Age", columns=AGE), "'age' names the person, and becomes a pseudonym"),
        (lambda: TablePolicy("t", person="id", key="AGE", columns=AGE), "'age' is the key, and becomes a pseudonym"),
        (lambda: TablePolicy("t", person=Through("AGE", "b"), columns=AGE), "'age' refers to b, and becomes"),
        (lambda: TablePolicy("t", person="a", columns=NamedColumns(("a",))), "leave it out of identifying"),
        (lambda: TablePolicy("t", person="a", columns=NamedColumns(sensitive=("a",))), "leave it out of sensitive"),
        (lambda: TablePolicy("t", person="a", columns=NamedColumns(insensitive=("a",))), "leave it out of insensitive"),
        (lambda: TablePolicy("t", person="a", key="A"), "'A' is the key and the way to the person"),
        (lambda: TablePolicy("t", person=Through("a", "b"), key="a"), "'a' is the key and the way to the person"),
        (lambda: TablePolicy("t", person="a", hierarchies={"b": "flat"}), "'b' has a hierarchy and is no quasi-ident"),
        (lambda: TablePolicy("t", person="a", columns=NamedColumns(entity="a")), "entity is not for a policy"),
        (lambda: TablePolicy("t", person="a", publish={"b": "hash"}), "publish is not for a policy of several"),
        (lambda: TablePolicy("t", person="a", levels={"b": 1}), "levels is not for a policy of several"),
        (lambda: TablePolicy("t", person="a", prepare={"b": "trim"}), "prepare is not for a policy of several"),
        (lambda: TablePolicy("t", "kept", prepare={"b": "trim"}), "prepare is not for a policy of several"),
        (lambda: TablePolicy("t", person="a", hierarchy_directory=Path("d")), "hierarchy_directory is not for a"),
        (lambda: TablePolicy("t", person="a", columns=NamedColumns(pseudonymize=("b",))), "pseudonymize is not for a"),
        (lambda: TablePolicy("t", person="a", columns=AGE, weight=-1), "[tables.t] The weight of the table must be"),  # type: ignore[arg-type]
        (lambda: TablePolicy("t", person="a", weight=2), "a weight is given for a table that has no quasi-identifier"),  # type: ignore[arg-type]
        (lambda: TablePolicy("t", "kept", weight=2), "the table has no weight"),  # type: ignore[arg-type]
        (lambda: TablePolicy("t", person="a", columns=AGE, weights={"b": 1}), "[tables.t] A weight is given for"),
        (lambda: TablePolicy("t", person="a", columns=AGE, weights={"age": 0}), "weight of each quasi-identifier is 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(make: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        make()
    assert said in str(raised.value)
    assert "hunter2" not in str(raised.value)


TABLE = '[tables.t]\nperson = "id"\nquasi_identifiers = ["age"]\n'


def test_weights_are_written_as_they_are_read() -> None:
    other = '[tables.u]\nperson = "id"\nquasi_identifiers = ["a", "b"]\nweight = 0.5\nweights = { a = 3 }'
    text = f"{TABLE}weight = 0\n{other}"
    policy = parse_tables_policy(text, FILE)
    assert policy.weights == {"t": 0, "u": Fraction(1, 2), "u.a": 3}
    assert parse_tables_policy(tables_policy_text(policy, FILE.parent), FILE) == policy


@each(
    ("text", "said"),
    [
        ("[columns]\nrest = 'keep'", "there is no section [tables.NAME]: this is a policy of one table"),
        ("tables = 3", "tables is a section for each table"),
        ("[tables]\nt = 3", "tables is a section for each table"),
        (
            f"{TABLE}[columns]\nrest = 'keep'",
            "[columns] is not for a policy of several tables: give each table its own, under [tables.NAME]",
        ),
        (f"{TABLE}[hierarchies]\na = 'flat'", "[hierarchies] is not for a policy of several tables"),
        (f"{TABLE}[publish]\na = 'round:1'", "[publish] is not for a policy of several tables"),
        (f"{TABLE}[prepare]\na = 'trim'", "[prepare] is not for a policy of several tables"),
        (f"{TABLE}[other]\na = 1", "[other] is not a section. Sections are source, privacy, search, release, tables"),
        (f"search = 1\n{TABLE}", "[search] is not a section"),
        (f"{TABLE}[privacy]\nl = 2", "privacy.l is not for a policy of several tables"),
        (f"{TABLE}[privacy]\nknown = 2", "privacy.known is not for a policy of several tables"),
        (f"{TABLE}[privacy]\nkk = 2", "[privacy] has no setting kk"),
        (f"{TABLE}[search]\nalgorithm = 'local'", "search.algorithm is not for a policy of several tables"),
        (f"{TABLE}[release]\ninto = 'x'", "release.into is not for a policy of several tables"),
        (f"{TABLE}[source]\ntable = 'x'", "source.table is not for a policy of several tables"),
        (f"{TABLE}entity = 'x'", "[tables.t] entity is not for a policy of several tables"),
        (f"{TABLE}pseudonymize = ['x']", "[tables.t] pseudonymize is not for a policy of several tables"),
        (
            f"{TABLE}publish = {{ a = 'round:1' }}",
            "[tables.t] publish is not for a policy of several tables",
        ),
        (f"{TABLE}weight = 'x'", "[tables.t] The weight of the table must be a number from 0 on"),
        (f"{TABLE}weight = 0", "The weight of each table with quasi-identifiers is 0: at least one must be above 0"),
        (f"{TABLE}weights = 3", "tables.t.weights is a table with a value for each column"),
        (f"{TABLE}keys = 'x'", "[tables.t] there is no setting keys"),
        ("[tables.care.stays]\nperson = 'id'", 'a table of the schema care is written [tables."care.stays"]'),
        (f"{TABLE}rest = 'all'", "tables.t.rest must be keep or drop"),
        (f"{TABLE}sensitive = 'x'", "tables.t.sensitive is a list of column names"),
        (f"{TABLE}key = 3", "tables.t.key must be a text"),
        (f"{TABLE}hierarchies = 'flat'", "tables.t.hierarchies has a rule for each column"),
        (f"{TABLE}hierarchies = {{ age = {{ widths = 3 }} }}", "tables.t.hierarchies.age"),
        ("[tables.t]\nperson = { through = 'a' }", 'tables.t.person is a column, or { through = "COLUMN", to'),
        ("[tables.t]\nperson = ['a']", "tables.t.person must be a text"),
        ("[tables.t]\nrows = 3\nperson = 'a'", "rows is people or events or kept or dropped, not 3"),
        (f"{TABLE}[privacy]\nkm = 1.5", "km must be the number of events that an attacker may know, 1 to 3. Got 1.5"),
        (f"{TABLE}[search]\ntime_limit = 'x'", "time_limit must be a number of seconds above 0"),
        (f"{TABLE}[release]\nout = 3", "out must be the path of a file. Got 3"),
        (f"{TABLE}[source]\nfrom = ''", "[source] from is empty"),
        (f'{TABLE}[tables.a]\nrows = ""\n[tables.b]\nrows = ""', "not decided what the rows of a, b are"),
        ("[tables", "cannot be read as TOML"),
    ],
)
def test_what_a_file_cannot_say(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_tables_policy(text, FILE)
    assert str(FILE) in str(raised.value)
    assert said in str(raised.value)


def test_two_kinds_of_file_are_told_apart(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "several.toml").write_text(WHOLE, encoding="utf-8")
    (in_tmp / "one.toml").write_text("[columns]\nrest = 'drop'\n", encoding="utf-8")
    assert has_tables("several.toml")
    assert not has_tables(in_tmp / "one.toml")
    with pytest.raises(PolicyError, match="There is no policy file"):
        has_tables("none.toml")
    with pytest.raises(PolicyError, match="is a policy of several tables"):
        read_policy(in_tmp / "several.toml")
    with pytest.raises(PolicyError, match="is a policy of several tables"):
        parse_policy(f"{WHOLE}[columns]\nrest = 'keep'\n", FILE)
    with pytest.raises(PolicyError, match="this is a policy of one table"):
        kanon_sql.read_tables_policy("one.toml")
    ended = kanon("measure", "--policy", "several.toml")
    assert ended.code == 2
    assert "is for kanon anonymize, check, attack." in " ".join(ended.err.split())


# kanon init


def decided(path: Path, rows: str = "kept") -> TablesPolicy:
    text = path.read_text(encoding="utf-8")
    of_people = text.replace('rows = ""\nperson', 'rows = "events"\nperson')
    return parse_tables_policy(of_people.replace('rows = ""', f'rows = "{rows}"'), path)


def database(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.thorough
def test_the_policy_of_a_hospital(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    make_hospital(in_tmp / "clinic.duckdb", patients=200)
    ended = kanon("init", "clinic.duckdb", "-k", "7")
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "cannot be used yet: decide what the rows of drugs are, as the comments in it say. Then:" in said
    assert "kanon anonymize --policy kanon.toml" in said
    assert "visits.patient_id refers to patients.patient_id (by names and values): 500 rows of 500 with a value" in said
    assert "Not published until you decide: prescriptions.drug_id, prescriptions.dose" in said
    with pytest.raises(PolicyError, match="not decided what the rows of drugs are"):
        read_tables_policy("kanon.toml")
    policy = decided(in_tmp / "kanon.toml")
    assert {table.name: (table.rows, table.person, table.key) for table in policy.tables} == {
        "drugs": ("kept", None, None),
        "patients": ("people", "patient_id", None),
        "prescriptions": ("events", Through("visit_id", "visits"), None),
        "results": ("events", Through("visit_id", "visits"), None),
        "visits": ("events", "patient_id", "visit_id"),
    }
    known = {table.name: table.columns.quasi_identifiers for table in policy.tables}
    assert known["patients"] == ("birth_date", "sex", "zip")
    assert known["visits"] == ("admission_date", "ward")
    for table in policy.tables:
        assert table.columns.proposed == table.columns.quasi_identifiers
        assert set(table.hierarchies) == set(table.columns.quasi_identifiers)
        assert not table.columns.sensitive, "what would be published as it is waits"
        assert not table.columns.insensitive
    assert "patient_id" not in {name for table in policy.tables for name in table.columns.identifying}
    assert (policy.k, policy.km, policy.into_schema) == (7, 1, "released")
    assert policy.source == str(in_tmp / "clinic.duckdb")
    again = kanon("init", "clinic.duckdb")
    assert again.code == 2
    assert "--replace" in again.err
    found = kanon("init", "clinic.duckdb", "--replace", "--format", "json").json
    assert found["undecided"] == ["drugs"]
    assert found["tables"][2]["person"] == {"through": "visit_id", "to": "visits"}
    assert kanon("init", "clinic.duckdb", "--out", "never.toml", "--sql").code == 0
    assert not (in_tmp / "never.toml").exists()


def person_by_policy(policy: TablesPolicy, tables: dict[str, dict[str, Any]], name: str, row: int) -> Any:
    """Return the person that a policy leads to from a row, in plain Python; None where it ends before."""
    table = policy.table(name)
    while table is not None and isinstance(through := table.person, Through):
        above = policy.table(through.table)
        assert above is not None
        assert above.key is not None
        keys, value = tables[above.name][above.key], tables[table.name][through.column][row]
        if value is None or value not in keys:
            return None
        table, row = above, keys.index(value)
    assert table is not None
    return tables[table.name][str(table.person)][row]


@pytest.mark.thorough
@examples(25, deadline=None, phases=[Phase.generate])
@given(databases())
def test_the_policy_leads_to_the_person_that_the_first_way_leads_to(
    tmp_path_factory: pytest.TempPathFactory, tables: dict[str, dict[str, Any]]
) -> None:
    file = tmp_path_factory.mktemp("init") / "kanon.toml"
    with duckdb.connect() as connection:
        for name, columns in tables.items():
            columns["birth_year"] = [1950 + row for row in columns["id"]]
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} INTEGER' for column in columns)})")
            connection.append(name, pd.DataFrame(columns, dtype="Int64"))
        profiles = {table.name: table for table in kanon_sql.profile_database(connection).tables}
        try:
            kanon_sql.init_tables_policy(connection, out=file)
        except UsageError as error:
            assert "by several of its columns" in str(error) or "by two of its keys" in str(error)  # noqa: PT017
            event("refused")
            return
    policy = decided(file)
    assert {table.name for table in policy.tables if table.rows == "kept"} == {
        name for name, table in profiles.items() if not table.persons
    }
    for name, profile in profiles.items():
        for row in range(len(tables[name]["id"])) if profile.persons else ():
            person = person_of(tables, name, row, profile.persons[0])
            assert person is None or person == person_by_policy(policy, tables, name, row)
            event(f"{len(profile.persons[0])} steps, {person is not None}")


@pytest.mark.thorough
@each("option", ["--qi", "--sensitive", "--entity", "--prepare", "--standard"])
def test_options_about_columns_are_for_one_table(in_tmp: Path, kanon: Callable[..., Ended], option: str) -> None:
    make_hospital(in_tmp / "clinic.duckdb", patients=20)
    value = {"--prepare": "sex=trim", "--standard": "hipaa-safe-harbor"}.get(option, "sex")
    ended = kanon("init", "clinic.duckdb", option, value)
    assert ended.code == 2
    assert f"{option} is for the columns of one: name it after clinic.duckdb" in " ".join(ended.err.split())
    assert not (in_tmp / "kanon.toml").exists()


@pytest.mark.thorough
def test_other_ways_are_said_and_other_references_are_left_out(in_tmp: Path) -> None:
    path = database(
        in_tmp / "clinic.duckdb",
        "CREATE TABLE patients (id INTEGER PRIMARY KEY, birth_date DATE, mother_patient_id INTEGER)",
        "CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, patient INTEGER REFERENCES patients (id), visit_date DATE)",
        "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, visit_id INTEGER REFERENCES visits (visit_id), "
        "ordered_for INTEGER REFERENCES patients (id), sex VARCHAR)",
        "INSERT INTO patients VALUES (1, '1950-01-01', 2), (2, '1960-01-01', NULL)",
        "INSERT INTO visits VALUES (1, 1, '2020-01-01'), (2, 2, '2020-01-02')",
        "INSERT INTO orders VALUES (1, 1, 2, 'f'), (2, 2, 1, 'm')",
    )
    found = kanon_sql.init_tables_policy(path, out=in_tmp / "kanon.toml")
    policy = read_tables_policy(in_tmp / "kanon.toml")
    patients, visits, orders = (policy.table(name) for name in ("patients", "visits", "orders"))
    assert patients is not None
    assert visits is not None
    assert orders is not None
    assert (patients.rows, patients.person) == ("people", "id")
    assert "mother_patient_id" in patients.columns.identifying
    assert (visits.person, visits.key) == ("patient", None), "nothing goes through it"
    assert orders.person == "ordered_for"
    assert set(orders.columns.identifying) >= {"order_id", "visit_id"}
    note = next(one for one in found.tables if one.table.name == "orders").notes[0]
    assert note.startswith("orders: a row reaches a person in 2 ways: ordered_for -> patients.id; visit_id -> visits")
    assert "In 2 rows of 2 they lead to different people" in note
    assert note in (in_tmp / "kanon.toml").read_text(encoding="utf-8").replace("\n# ", " ")


@pytest.mark.thorough
def test_people_who_may_be_others_wait_for_a_decision(in_tmp: Path) -> None:
    """Patient 1 is not employee 1; visits of a patient_id that the table of patients does not have are hers by name."""
    path = database(
        in_tmp / "clinic.duckdb",
        "CREATE TABLE patients AS SELECT i AS patient_id, 1950 + i AS birth_year FROM range(30) numbers(i)",
        "CREATE TABLE visits AS SELECT 20 + i % 20 AS patient_id, 1950 + i % 9 AS birth_year FROM range(60) numbers(i)",
        "CREATE TABLE shifts (shift_id INTEGER PRIMARY KEY, employee_id INTEGER)",
        "CREATE TABLE swaps (shift_id INTEGER REFERENCES shifts (shift_id), sex VARCHAR)",
        "INSERT INTO shifts SELECT i, i % 9 FROM range(60) numbers(i)",
        "INSERT INTO swaps SELECT i, 'f' FROM range(60) numbers(i)",
    )
    found = kanon_sql.init_tables_policy(path, out=in_tmp / "kanon.toml")
    assert {one.table.name: one.rows for one in found.tables} == {
        "patients": "people",
        "shifts": "undecided",
        "swaps": "undecided",
        "visits": "events",
    }
    with pytest.raises(PolicyError, match="not decided what the rows of shifts, swaps are"):
        read_tables_policy(in_tmp / "kanon.toml")
    shifts = decided(in_tmp / "kanon.toml", "events").table("shifts")
    assert shifts is not None
    assert (shifts.person, shifts.key) == ("employee_id", "shift_id")
    text = (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    assert "# shifts reaches people by employee_id, and other tables by patients.patient_id: nothing says that" in text
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE a AS SELECT i % 9 AS employee_id, i AS age FROM range(30) numbers(i)")
        connection.execute("CREATE TABLE b AS SELECT i % 9 AS patient_id, i AS age FROM range(30) numbers(i)")
        connection.execute("CREATE TABLE c AS FROM b")
        alone = kanon_sql.init_tables_policy(connection, out=in_tmp / "other.toml")
    assert {one.table.name: one.rows for one in alone.tables} == {"a": "undecided", "b": "events", "c": "events"}


@pytest.mark.thorough
def test_a_row_that_has_the_key_of_the_row_above_goes_where_that_goes(in_tmp: Path) -> None:
    """``details`` has one row for each visit, under the number of the visit; ``words`` refer to these numbers."""
    path = database(
        in_tmp / "clinic.duckdb",
        "CREATE TABLE patients AS SELECT i AS patient_id, 1950 + i AS birth_year FROM range(9) numbers(i)",
        "CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, patient_id INTEGER)",
        "CREATE TABLE details (visit_id INTEGER PRIMARY KEY REFERENCES visits (visit_id), size INTEGER)",
        "CREATE TABLE words (detail INTEGER REFERENCES details (visit_id), sex VARCHAR)",
        "INSERT INTO visits SELECT i, i % 9 FROM range(30) numbers(i)",
        "INSERT INTO details SELECT i, i FROM range(30) numbers(i)",
        "INSERT INTO words SELECT i, 'f' FROM range(30) numbers(i)",
    )
    kanon_sql.init_tables_policy(path, out=in_tmp / "kanon.toml")
    policy = read_tables_policy(in_tmp / "kanon.toml")
    ways = {table.name: (table.person, table.key) for table in policy.tables}
    assert ways == {
        "patients": ("patient_id", None),
        "visits": ("patient_id", "visit_id"),
        "details": (Through("visit_id", "visits"), None),
        "words": (Through("detail", "visits"), None),
    }


@pytest.mark.thorough
@each(
    ("statements", "said"),
    [
        (
            (
                "CREATE TABLE patients (patient_id INTEGER PRIMARY KEY)",
                "CREATE TABLE stays (ward VARCHAR, place INTEGER, patient_id INTEGER, PRIMARY KEY (ward, place))",
                "CREATE TABLE notes (ward VARCHAR, place INTEGER, FOREIGN KEY (ward, place) REFERENCES stays)",
            ),
            "notes reaches its person by notes (ward, place), which refers to a key of several columns of stays",
        ),
        (
            ("CREATE TABLE a (x INTEGER)", "CREATE TABLE b (y INTEGER)"),
            "No way to a person was found from any table",
        ),
        (
            (
                "CREATE TABLE patients (id INTEGER PRIMARY KEY, number INTEGER UNIQUE)",
                "CREATE TABLE visits (of_whom INTEGER REFERENCES patients (id))",
                "CREATE TABLE tests (of_whom INTEGER REFERENCES patients (number))",
            ),
            "Other tables refer to patients by several of its columns",
        ),
        (
            (
                "CREATE TABLE patients (patient_id INTEGER PRIMARY KEY)",
                "CREATE TABLE visits (id INTEGER PRIMARY KEY, number INTEGER UNIQUE, patient_id INTEGER)",
                "CREATE TABLE notes (visit INTEGER REFERENCES visits (id))",
                "CREATE TABLE tests (visit INTEGER REFERENCES visits (number))",
            ),
            "notes and tests refer to visits by two of its keys, id and number",
        ),
    ],
)
def test_databases_that_no_policy_can_be_written_for(
    in_tmp: Path, kanon: Callable[..., Ended], statements: tuple[str, ...], said: str
) -> None:
    database(in_tmp / "clinic.duckdb", *statements)
    ended = kanon("init", "clinic.duckdb")
    assert ended.code == 2
    assert said in " ".join(ended.err.split())
    assert not (in_tmp / "kanon.toml").exists()


@pytest.mark.thorough
def test_hostile_names_and_a_schema(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    database(
        in_tmp / "clinic.duckdb",
        "CREATE SCHEMA released",
        'CREATE TABLE released."a # ""b""" AS SELECT 1 AS x',
        'CREATE TABLE "select" AS SELECT i AS patient_id, 1950 + i AS birth_year FROM range(9) numbers(i)',
        "CREATE TABLE \"it's {a}\n[b]\" AS SELECT i % 9 AS patient_id, 'f' AS sex, "
        "DATE '1930-01-01' + (900 * i)::INTEGER AS directory "
        "FROM range(30) numbers(i)",
    )
    ended = kanon("init", "clinic.duckdb")
    assert ended.code == 0, ended.err
    policy = decided(in_tmp / "kanon.toml", "dropped")
    assert {table.name: table.rows for table in policy.tables} == {
        "it's {a}\n[b]": "events",
        "select": "people",
        'released.a # "b"': "dropped",
    }
    assert policy.into_schema == "released_2"
    assert "directory" in {name for table in policy.tables for name in table.hierarchies}, "a column, not a directory"


@pytest.mark.thorough
def test_a_database_of_tables_without_rows_or_quasi_identifiers(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    database(
        in_tmp / "empty.duckdb",
        "CREATE TABLE patients (patient_id INTEGER, birth_date DATE)",
        "CREATE TABLE visits (patient_id INTEGER)",
    )
    assert kanon("init", "empty.duckdb").code == 0
    assert {table.rows for table in read_tables_policy("kanon.toml").tables} == {"events"}, "no row, no row for each"
    database(in_tmp / "bare.duckdb", "CREATE TABLE a (patient_id INTEGER)", "CREATE TABLE b (patient_id INTEGER)")
    ended = kanon("init", "bare.duckdb", "--replace")
    assert ended.code == 0
    assert "cannot be used yet: name a quasi-identifier in one of the tables" in " ".join(ended.out.split())
    with pytest.raises(PolicyError, match="No table has a quasi-identifier"):
        read_tables_policy("kanon.toml")


def test_a_connection_is_named_by_the_command(in_tmp: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE patients AS SELECT i AS patient_id, i AS age FROM range(9) numbers(i)")
        connection.execute("CREATE TABLE visits AS SELECT i % 9 AS patient_id, i AS age FROM range(30) numbers(i)")
        kanon_sql.init_tables_policy(connection, out=in_tmp / "kanon.toml")
    policy = read_tables_policy(in_tmp / "kanon.toml")
    assert policy.source is None
    assert [table.rows for table in policy.tables] == ["people", "events"]
    with pytest.raises(UsageError, match="Only a DuckDB file or a PostgreSQL database"):
        kanon_sql.init_tables_policy(in_tmp / "t.csv", out=in_tmp / "other.toml")


@pytest.mark.thorough
def test_the_policy_of_a_database_in_postgresql(postgres: str, in_tmp: Path) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS clinic CASCADE")
        connection.execute("CREATE SCHEMA clinic")
        connection.execute(
            "CREATE TABLE clinic.patients AS SELECT i AS patient_id, i AS age FROM generate_series(1, 9) i"
        )
        connection.execute(
            "CREATE TABLE clinic.visits AS SELECT i % 9 + 1 AS patient_id, i AS age FROM generate_series(1, 30) i"
        )
        try:
            kanon_sql.init_tables_policy(postgres, out=in_tmp / "kanon.toml")
        finally:
            connection.execute("DROP SCHEMA clinic CASCADE")
    policy = decided(in_tmp / "kanon.toml")
    own = {table.name: table for table in policy.tables if table.name.startswith("clinic.")}
    assert {name: (table.rows, table.person) for name, table in own.items()} == {
        "clinic.patients": ("people", "patient_id"),
        "clinic.visits": ("events", "patient_id"),
    }
    assert own["clinic.visits"].columns.quasi_identifiers == ("age",)
