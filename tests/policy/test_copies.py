"""Columns that are kept without a role, and are copies of columns that are not published as they are."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from each import each
from rows import released_columns, released_rows

import kanon_sql as kanon
from kanon_sql.errors import UsageError

ROLES: dict[str, Any] = {
    "quasi_identifiers": ["age"],
    "identifying": ["name"],
    "entity": "person",
    "rest": "keep",
    "k": 2,
}
TABLE = """CREATE TABLE t AS SELECT 'p' || i AS person, 'Name ' || i AS name, 20 + i % 7 AS age, 1000 + 37 * i AS pay
FROM range(60) AS r(i)"""


def released(column: str, **settings: Any) -> list[str]:
    with duckdb.connect() as connection:
        connection.execute(TABLE)
        connection.table("t").project(f"*, {column} AS other").create("u")
        asked = ROLES | {"hierarchies": {"age": "intervals:4"}, "publish": {"pay": "round:500"}} | settings
        with kanon.anonymize(connection, "u", **asked) as release:
            return released_columns(release)


@pytest.mark.thorough
@each(
    ("column", "of"),
    [
        ("person", "person"),
        ("upper(name) || ' '", "name"),
        ("' ' || age", "age"),
        ("age::DOUBLE", "age"),
        ("pay", "pay"),
        ("pay || '.0'", "pay"),
    ],
    quick=2,
)
def test_a_copy_is_refused_until_it_has_a_role(column: str, of: str) -> None:
    with pytest.raises(UsageError, match=f"other has no role, and the values of {of} in each of the first 60 rows"):
        released(column)
    assert "other" in released(column, insensitive=["other"])
    assert "other" not in released(column, identifying=["name", "other"])


@each("column", ["age + 1", "CASE WHEN age = 20 THEN 21 ELSE age END", "'a' || age"], quick=2)
def test_what_tells_a_generalized_column_is_refused_until_it_has_a_role(column: str) -> None:
    with pytest.raises(UsageError, match=r"other has no role .* tells the value of age, which is generalized"):
        released(column, k=20)
    assert "other" in released(column, insensitive=["other"], k=20)


@each(
    "column",
    [
        "1",
        "NULL",
        "CASE WHEN name = 'Name 59' THEN 0 ELSE pay END",
    ],
    quick=2,
)
def test_what_is_no_copy_is_kept(column: str) -> None:
    """What tells nothing of a generalized column."""
    assert "other" in released(column)


def test_few_rows_may_be_alike_by_chance() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 2 AS sex, i % 2 AS side FROM range(12) AS r(i)")
        for rows in (12, 0):
            asked: dict[str, Any] = {"quasi_identifiers": ["sex"], "rest": "keep", "k": 2, "count": "rows"}
            with kanon.anonymize(connection, "t", **asked) as release:
                assert len(released_rows(release)) == rows
            connection.execute("DELETE FROM t")
