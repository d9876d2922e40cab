"""How PostgreSQL plans what we ask: no row is compared with every row of another table, whatever it expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from needs import needs
from test_postgres import database, run

import kanon_sql as kanon_of
from kanon_sql.engine.postgres.warehouse import PostgresWarehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

psycopg = needs("psycopg")

__all__ = ["database"]  # a fixture

PEOPLE = """
DROP TABLE people;
CREATE TABLE people AS
SELECT NULLIF(i % 41, 3) AS age, 's' || NULLIF(i % 3, 2) AS sex, (1000 + NULLIF(i * i % 97, 5))::text AS zip,
  'j' || NULLIF(i / 7 % 11, 4) AS job, 'e' || NULLIF(i / 3 % 13, 7) AS education, 'r' || NULLIF(i % 5, 1) AS race
FROM generate_series(1, 20000) AS numbers(i)
"""
ASKED: dict[str, Any] = {
    "quasi_identifiers": ["age", "sex", "zip", "job", "education", "race"],
    "hierarchies": {"age": "intervals:5,10,20,40", "zip": "mask:right:1,2,3"},
    "models": [kanon_of.KAnonymity(20)],
    "max_suppressed": 0.1,
    "seed": 1,
}


def loops(plan: dict[str, Any]) -> Iterator[str]:
    """Yield what each nested loop of a plan goes over again and again."""
    if plan["Node Type"] == "Nested Loop":
        yield plan["Plans"][1]["Node Type"]
    for part in plan.get("Plans", []):
        yield from loops(part)


@pytest.mark.parametrize("holes", [True, False])
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_a_table(database: str, monkeypatch: pytest.MonkeyPatch, algorithm: str, *, holes: bool) -> None:
    run(database, PEOPLE, *([] if holes else ["DELETE FROM people WHERE NOT people IS NOT NULL"]), "ANALYZE people")
    plans = []

    def explained(self: PostgresWarehouse, statement: exp.Expr, title: str) -> None:
        if title == "make the release":
            with self._step(statement.expression, title) as texts:
                plans.extend(self.connection.execute(f"EXPLAIN (FORMAT JSON) {texts[-1]}").fetchall())
        ran(self, statement, title)

    ran = PostgresWarehouse.run
    monkeypatch.setattr(PostgresWarehouse, "run", explained)
    with kanon_of.anonymize(database, "people", algorithm=algorithm, **ASKED) as release:
        release.to_table("released", ignore_ledger=True)
    ((((plan,),)),) = plans
    assert {*loops(plan["Plan"])} <= {"Function Scan"}  # a row is there as often as it was counted


@pytest.mark.parametrize("holes", [True, False])
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_a_view(database: str, algorithm: str, *, holes: bool) -> None:
    run(database, PEOPLE, *([] if holes else ["DELETE FROM people WHERE NOT people IS NOT NULL"]), "ANALYZE people")
    with kanon_of.anonymize(database, "people", algorithm=algorithm, **ASKED) as release:
        release.to_view("released", ignore_ledger=True)
    ((((plan,),)),) = run(database, "EXPLAIN (FORMAT JSON) SELECT * FROM released")
    assert not [*loops(plan["Plan"])]
