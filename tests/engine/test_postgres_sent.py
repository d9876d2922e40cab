"""What is sent to PostgreSQL for a while: its names are nobody else's, and nothing of it stays."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from needs import needs
from sqlglot import exp
from test_postgres import database, run

import kanon_sql as kanon_of
from kanon_sql.release.publish.warehouse_tables import carried_query

psycopg = needs("psycopg")

__all__ = ["database"]  # a fixture

ALGORITHMS = ["optimal", "local", "mondrian"]
TREES = {"age": "intervals:5,10,20,40", "zip": "mask:right:1,2,3"}
FORCED: dict[str, Any] = {
    "quasi_identifiers": ["age", "sex", "zip"],
    "hierarchies": TREES,
    "models": [kanon_of.KAnonymity(12)],
    "rest": "drop",
    "seed": 1,
}
"""What cannot be met without hierarchies, nor without leaving out some class."""


def released(url: str, name: str, **asked: Any) -> list[tuple[Any, ...]]:
    """Return the sorted rows of a release, and require that nothing else came into being."""
    before = set(run(url, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"))
    with kanon_of.anonymize(url, "people", **FORCED, **asked) as release:
        release.to_table(name, ignore_ledger=True)
    after = set(run(url, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"))
    assert after - before == {(name,)}
    return sorted(map(repr, run(url, f"TABLE {name}")))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_tables_with_our_names_are_not_read(database: str, algorithm: str) -> None:
    expected = released(database, "alone", algorithm=algorithm, max_suppressed=0.2)
    with kanon_of.anonymize(database, "people", **FORCED, algorithm=algorithm, max_suppressed=0.2) as release:
        release.to_table("asked", ignore_ledger=True)
        logged = release.prepared.source.engine.statements
    ours = {
        table.name
        for each in logged
        if each.dialect == "postgres"
        for table in each.statement.find_all(exp.Table)
        if table.name.startswith("kanon_") and not table.db and "unverified" not in table.name
    }
    assert ours  # some are sent
    for name in ours:
        run(database, f'CREATE TABLE "{name}" AS SELECT 1 AS somebodys')
    assert released(database, "beside_them", algorithm=algorithm, max_suppressed=0.2) == expected
    for name in ours:
        assert run(database, f'TABLE "{name}"') == [(1,)]


def test_a_table_with_our_name_is_read(database: str) -> None:
    before = "people"
    names = {"left_out": "optimal", "hierarchy_age": "optimal", "combinations": "local", "labels": "mondrian"}
    for name, algorithm in names.items():
        run(database, f"ALTER TABLE {before} RENAME TO kanon_{name}")
        before = f"kanon_{name}"
        with kanon_of.anonymize(database, before, **FORCED, algorithm=algorithm, max_suppressed=0.2) as release:
            made = release.to_table("released", replace=True, ignore_ledger=True)
            assert made.verification.rows + release.rows_suppressed == 400
        assert run(database, "SELECT count(*) FROM released") == [(made.verification.rows,)]


def test_two_runs_do_not_wait_for_each_other(database: str) -> None:
    """The first has sent its tables and is not at its end when the second runs, which may wait for half a second."""
    impatient = f"{database}?options=-c%20lock_timeout%3D500"
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(kanon_of.anonymize(database, "people", **FORCED, max_suppressed=0.2))
        warehouse = first.prepared.source.engine.warehouse
        stack.enter_context(warehouse.transaction())
        carried_query(first.prepared.source.engine, warehouse, first.publication)
        assert released(impatient, "second", max_suppressed=0.2)


def test_long_names_of_columns_stay_apart(database: str) -> None:
    """63 bytes are the longest that a name can have: with anything before them, they are cut off."""
    long, longer = "a" * 62 + "1", "a" * 62 + "2"
    run(
        database,
        "CREATE TABLE long AS SELECT age AS first, zip AS second FROM people",
        f"ALTER TABLE long RENAME COLUMN first TO {long}",
        f"ALTER TABLE long RENAME COLUMN second TO {longer}",
    )
    with kanon_of.anonymize(
        database,
        "long",
        quasi_identifiers=[long, longer],
        hierarchies={long: TREES["age"], longer: TREES["zip"]},
        models=[kanon_of.KAnonymity(12)],
        seed=1,
    ) as release:
        release.to_table("released", ignore_ledger=True)
        assert sum(release.levels.values()) > 0
    assert run(database, "SELECT count(*) FROM released") == [(400,)]
