"""Who is found in released tables and in their originals, against an oracle that looks at every person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.errors import NoSolutionError, UsageError
from kanon_sql.evidence.tables import attack_tables, check_tables
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.tables import TablePolicy, TablesPolicy, Through
from kanon_sql.release.tables import found_people
from kanon_sql.release.tables.anonymize import anonymize_tables
from kanon_sql.release.tables.opened import open_released
from kanon_sql.release.tables.verify import ReleasedTables
from tests.oracles.tables import people_found
from tests.release.tables.test_tables_release import databases, described, make_database, rows_of, small_policy

if TYPE_CHECKING:
    from pathlib import Path

Tables = dict[str, list[tuple[Any, ...]]]


def figures(found: tuple[found_people.FoundPeople, ...]) -> list[tuple[int, int | None, int | None, int | None]]:
    return [(one.people, one.alone, one.below_k, one.smallest) for one in found]


def by_oracle(
    connection: duckdb.DuckDBPyConnection, policy: TablesPolicy, schema: str
) -> list[tuple[int, int, int, int | None]]:
    rows = {name: rows_of(connection, f'{schema}."{name}"') for name in described(policy)}
    return [people_found(rows, described(policy), policy.k, m) for m in range(min(policy.km + 1, 3) + 1)]


@pytest.mark.thorough
@examples(40)
@given(databases(), st.booleans(), st.integers(2, 3), st.integers(1, 3), st.booleans())
def test_people_against_the_oracle(tables: Tables, with_people: bool, k: int, km: int, unnamed: bool) -> None:
    policy = small_policy(with_people=with_people, k=k, km=km, max_suppressed=1.0, seed=1)
    if not with_people:
        tables = {name: rows for name, rows in tables.items() if name != "people"} | {"people": []}
    connection = make_database(tables)
    if with_people and unnamed:
        connection.execute("INSERT INTO people VALUES (NULL, 'a1')")
    before = by_oracle(connection, policy, "main")
    opened = open_released(connection, policy, None)
    raw = {member.name: member.relation for member in opened.members}
    assert figures(found_people.found_people(ReleasedTables(opened.engine, opened, raw, {}))) == before
    try:
        with anonymize_tables(connection, policy) as release:
            release.to_schema("released")
    except NoSolutionError:
        return
    attacked = attack_tables(connection, policy, schema="released")
    assert figures(attacked.found_before) == before
    assert figures(attacked.found) == by_oracle(connection, policy, "released")
    outcomes = [verdict.outcome for verdict in attacked.verdicts]
    assert outcomes[: km + 1] == ["finds nothing"] * (km + 1)
    assert outcomes[-1] == "finds nothing"
    assert attacked.endangered == any(one.below_k for one in attacked.found)


SEX_AND_WARD = """
[privacy]
k = 2
[tables.patients]
rows = "people"
person = "person"
quasi_identifiers = ["sex"]
[tables.visits]
person = "person"
quasi_identifiers = ["ward"]
"""


@pytest.fixture
def visited(tmp_path: Path) -> Path:
    """Four women and two men: one woman's two visits are each shared by two, together by her alone."""
    (tmp_path / "kanon.toml").write_text(SEX_AND_WARD, encoding="utf-8")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(
            """
            CREATE TABLE patients AS FROM (VALUES (1, 'f'), (2, 'f'), (3, 'f'), (4, 'f'), (5, 'm'), (6, 'm'))
                patients(person, sex);
            CREATE TABLE visits AS FROM (VALUES (1, 'a'), (1, 'a'), (1, 'b'), (2, 'a'), (3, 'b'), (5, NULL),
                (NULL, 'c'))
                visits(person, ward);
            CREATE SCHEMA released;
            CREATE TABLE released.patients AS FROM patients;
            CREATE TABLE released.visits AS FROM visits WHERE person < 5;
            """
        )
    return tmp_path / "clinic.duckdb"


@pytest.mark.thorough
def test_by_hand(visited: Path) -> None:
    attacked = attack_tables(visited, visited.with_name("kanon.toml"), schema="released")
    assert figures(attacked.found) == [(6, 0, 0, 2), (6, 0, 0, 2), (6, 1, 1, 1)]
    assert figures(attacked.found_before) == [(6, 0, 0, 2), (6, 1, 1, 1), (6, 2, 2, 1)]
    assert [verdict.outcome for verdict in attacked.verdicts] == [
        "finds nothing",
        "finds nothing",
        "succeeds",
        "succeeds",
    ]
    assert "1 of 6 people (16.67%) is among fewer than 2 people, 1 (16.67%) alone" in attacked.verdicts[2].found
    assert "nothing is promised of 2 events (km = 1)" in attacked.verdicts[2].found
    assert "keys that are no pseudonym" in attacked.verdicts[3].found
    assert attacked.summary()["said"] == "2 of 4 attacks succeed"
    with duckdb.connect(str(visited)) as connection:
        connection.execute("CREATE TABLE released.names (name VARCHAR)")
    attacked = attack_tables(visited, visited.with_name("kanon.toml"), schema="released")
    assert "; not looked at, since the policy does not publish it: names (1 table" in attacked.verdicts[3].found


@pytest.mark.thorough
def test_too_many_combinations(visited: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Released people have four kinds of events, and one combination of two; the originals have five."""
    monkeypatch.setattr(found_people, "MOST_COMBINATIONS", 4)
    attacked = attack_tables(visited, visited.with_name("kanon.toml"), schema="released")
    assert figures(attacked.found) == [(6, 0, 0, 2), (6, 0, 0, 2), (6, 1, 1, 1)]
    assert figures(attacked.found_before) == [(6, 0, 0, 2), *[(6, None, None, None)] * 2]
    assert "in the originals, not counted: 5 combinations of 1 event are too many" in attacked.verdicts[1].found
    monkeypatch.setattr(found_people, "MOST_COMBINATIONS", 0)
    attacked = attack_tables(visited, visited.with_name("kanon.toml"), schema="released")
    assert [verdict.outcome for verdict in attacked.verdicts[:3]] == ["finds nothing", "not tested", "not tested"]


def test_the_release_cannot_be_its_original(visited: Path) -> None:
    policy = visited.with_name("kanon.toml")
    with pytest.raises(UsageError, match="cannot be the same"):
        attack_tables(visited, policy)
    with pytest.raises(UsageError, match="cannot be the same"):
        attack_tables(visited, policy, original=str(visited))
    with pytest.raises(UsageError, match="Name the database that has the released tables"):
        attack_tables(None, policy)
    with pytest.raises(UsageError, match="has no table"):
        attack_tables(visited, policy, schema="released", original=duckdb.connect())


@pytest.mark.thorough
def test_tables_with_the_names_of_steps(tmp_path: Path) -> None:
    """Tables that are called like steps and tables of the statements are counted as any others."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(
            """
            CREATE TABLE known_people AS SELECT i AS person, i % 2 AS sex FROM range(30) numbers(i);
            CREATE TABLE people AS SELECT i AS key, i % 30 AS person, i % 4 AS ward FROM range(60) numbers(i);
            CREATE TABLE events AS SELECT i % 60 AS people, i % 5 AS test FROM range(90) numbers(i);
            CREATE TABLE combinations AS SELECT i % 31 AS person, i % 7 AS drug FROM range(50) numbers(i);
            """
        )
    one = TablePolicy("known_people", "people", "person", columns=NamedColumns(quasi_identifiers=("sex",)))
    others = (
        TablePolicy("people", person="person", key="key", columns=NamedColumns(quasi_identifiers=("ward",))),
        TablePolicy("events", person=Through("people", "people"), columns=NamedColumns(quasi_identifiers=("test",))),
        TablePolicy("combinations", person="person", columns=NamedColumns(quasi_identifiers=("drug",))),
    )
    policy = TablesPolicy((one, *others), k=3, max_suppressed=1.0, seed=1)
    with anonymize_tables(tmp_path / "clinic.duckdb", policy) as release:
        release.to_database(tmp_path / "new.duckdb")
    attacked = attack_tables(tmp_path / "new.duckdb", policy, original=tmp_path / "clinic.duckdb")
    assert check_tables(tmp_path / "new.duckdb", policy).holds
    for place, found in (("clinic.duckdb", attacked.found_before), ("new.duckdb", attacked.found)):
        with duckdb.connect(str(tmp_path / place), read_only=True) as connection:
            assert figures(found) == by_oracle(connection, policy, "main")


@pytest.mark.parametrize("rows", [0, 7])
@pytest.mark.parametrize(
    "people",
    [
        "CREATE TABLE people AS SELECT i AS person, 1 AS sex FROM range(7) numbers(i)",
        "CREATE TABLE people AS SELECT uuid() AS person, 1 AS sex FROM range(7)",
        "CREATE TABLE people AS SELECT DATE '2020-01-01' + i::INTEGER AS person, 1 AS sex FROM range(7) numbers(i)",
    ],
)
def test_people_without_events(rows: int, people: str) -> None:
    """Tables of events without quasi-identifiers say nothing; keys are of any type; there may be no people."""
    connection = duckdb.connect()
    connection.execute(people)
    connection.execute("DELETE FROM people WHERE $rows = 0", {"rows": rows})
    connection.execute(
        """
        CREATE TABLE visits AS SELECT person, 'x' AS note FROM people;
        CREATE SCHEMA released;
        CREATE TABLE released.people AS SELECT person::VARCHAR AS person, 1 AS sex FROM people;
        CREATE TABLE released.visits AS FROM visits LIMIT 0;
        """
    )
    one = TablePolicy("people", "people", "person", columns=NamedColumns(quasi_identifiers=("sex",)))
    visits = TablePolicy("visits", person="person", columns=NamedColumns(insensitive=("note",)))
    attacked = attack_tables(connection, TablesPolicy((one, visits), k=8), schema="released")
    assert figures(attacked.found) == figures(attacked.found_before) == [(rows, 0, rows, rows or None)] * 3
