"""Rows that are alike are counted before PostgreSQL makes a release of them: it is the same, row for row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from needs import needs
from test_postgres import database, run

import kanon_sql as kanon_of
from kanon_sql.release.publish import warehouse_tables as carry

if TYPE_CHECKING:
    from pathlib import Path

needs("psycopg")

__all__ = ["database"]  # a fixture

ALIKE = """
CREATE TABLE alike AS
SELECT i AS id, CASE WHEN i % 17 > 0 THEN 20 + i % 3 * i % 20 END AS age,
  CASE WHEN i % 11 > 1 THEN 's' || i % 2 END AS n, (1000 + i % 3)::text AS zip,
  CASE WHEN i % 2 = 0 THEN 0.0::float8 ELSE '-0'::float8 END AS weight,
  CASE WHEN i % 5 > 0 THEN i % 5 = 1 END AS well, CASE WHEN i % 3 = 0 THEN 'flu' ELSE 'cold' END::char(6) AS source
FROM generate_series(1, 3000) AS numbers(i)
"""
"""Rows of which many are alike; columns are called as parts of our statements are."""
ASKED: dict[str, Any] = {
    "quasi_identifiers": ["age", "n", "zip"],
    "identifying": ["id"],
    "insensitive": ["weight"],
    "rest": "keep",
    "models": [kanon_of.KAnonymity(60)],
    "hierarchies": {"age": "intervals:5,10,20,40", "zip": "mask:right:1,2,3"},
    "max_suppressed": 0.1,
    "seed": 1,
}


def released(url: str, name: str, table: str = "alike", **asked: Any) -> tuple[list[tuple[Any, ...]], str]:
    """Return the rows of a release as they stand, and the statement that made it."""
    with kanon_of.anonymize(url, table, **{**ASKED, **asked}) as release:
        release.to_table(name, ignore_ledger=True)
        logged = release.prepared.source.engine.statements
        (made,) = [each.statement.sql("postgres") for each in logged if each.title == "make the release"]
    return run(url, f"TABLE {name}"), made


@pytest.mark.parametrize(
    ("algorithm", "how"),
    [
        ("optimal", {}),
        ("local", {}),
        ("mondrian", {"cut": "strict"}),
        ("mondrian", {"cut": "node"}),
        ("mondrian", {"cut": "relaxed"}),  # rows that are alike may part
    ],
)
def test_it_is_the_same_release(
    database: str, monkeypatch: pytest.MonkeyPatch, algorithm: str, how: dict[str, str]
) -> None:
    run(database, ALIKE, "ANALYZE alike")
    asked = {"algorithm": algorithm, **how}
    found, made = released(database, "counted", **asked)
    assert made.count("GENERATE_SERIES") == made.count("COUNT(*)") == (how != {"cut": "relaxed"})
    monkeypatch.setattr(carry, "are_repeated", lambda *_: False)
    expected, made = released(database, "sorted", **asked)
    assert "GENERATE_SERIES" not in made
    assert len(found) > 2500
    assert list(map(repr, found)) == list(map(repr, expected))


def test_what_is_not_told_of_columns_is_not_guessed(database: str) -> None:
    """Nobody looked at the columns that are kept; the quasi-identifiers were counted."""
    run(database, ALIKE)
    assert "GENERATE_SERIES" not in released(database, "kept")[1]
    assert "GENERATE_SERIES" in released(database, "dropped", insensitive=[], rest="drop")[1]


def test_rows_that_are_not_alike_are_not_counted(database: str) -> None:
    run(database, ALIKE, "ANALYZE alike")
    assert "GENERATE_SERIES" not in released(database, "with_numbers", identifying=[], insensitive=["id", "weight"])[1]


def test_nothing_may_be_left_of_all_columns(database: str) -> None:
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "n"], "identifying": [], "insensitive": [], "hierarchies": {}}
    run(database, ALIKE, "CREATE TABLE few AS SELECT age, n FROM alike LIMIT 60", "ANALYZE few")
    rows, made = released(database, "of_few", "few", **asked, max_suppressed=0)
    assert rows == [("*", "*")] * 60
    assert "GROUP BY" not in made
    run(database, "TRUNCATE few", "ANALYZE few")
    assert released(database, "of_none", "few", **asked)[0] == []


def test_a_file_has_them_as_well(database: str, tmp_path: Path) -> None:
    run(database, ALIKE, "ANALYZE alike")
    with kanon_of.anonymize(database, "alike", **ASKED) as release:
        release.to_file(tmp_path / "released.csv", ignore_ledger=True)
        release.to_table("released", ignore_ledger=True)
        lines = (tmp_path / "released.csv").read_text().splitlines()
    assert len(lines) - 1 == len(run(database, "TABLE released")) > 2500
