"""A release that leaves out the classes of the search is the one that counts them itself, row for row."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from effort import examples
from hypothesis import given
from strategies import Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.release import left_out

MADE = "classes that are left out"
ROWS = """
CREATE TYPE wards AS ENUM ('a', 'b''', 'C');
CREATE TABLE visits AS
SELECT i AS id, CASE WHEN i % 17 > 0 THEN 20 + i * i % 40 END AS age, ['a', 'b''', 'C'][1 + i % 3]::wards AS ward,
  (1000 + i * i % 7)::VARCHAR AS "group", DATE '2020-01-31' + (i % 90)::INTEGER AS "from",
  [0.0, '-0'::DOUBLE, 'NaN'::DOUBLE, NULL][1 + i % 4] AS weight, (i % 5 / 4)::DECIMAL(4, 2) AS dose
FROM range(3000) AS numbers(i)
"""


def released(source: duckdb.DuckDBPyConnection, many: int, **how: Any) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(left_out, "_MANY_ROWS", many)
        with kanon.anonymize(source, "visits", identifying=["id"], rest="keep", seed=1, **how) as release:
            rows = list(map(str, release.to_arrow().to_pylist()))
            made = [each.title for each in release.prepared.source.engine.statements].count(MADE)
            assert made == (many == 0)
            assert release.rows_suppressed > 0
            return rows


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "columns",
    [["age", "ward"], ["age", "ward", "group"], ["from", "ward"], ["weight", "dose", "from"], ["group", "from", "age"]],
)
@pytest.mark.parametrize("k", [20, 60])
def test_the_release_is_the_same_row_for_row(columns: list[str], k: int) -> None:
    with duckdb.connect() as connection:
        connection.execute(ROWS)
        connection.execute("INSERT INTO visits SELECT -1, 99, 'a', NULL, '1900-01-01', 7, 9")
        how = {"quasi_identifiers": columns, "models": [kanon.KAnonymity(k)], "max_suppressed": 0.2}
        counted, known = (released(connection, many, **how) for many in (10**9, 0))
    assert counted == known


@given(cases(max_rows=25))
@examples(60, quick=5)
def test_small_tables_of_every_kind(case: Case) -> None:
    connection, person = load(case)
    found = []
    for many in (10**9, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(left_out, "_MANY_ROWS", many)
            try:
                with anonymize(case, connection, person, seed=1) as release:
                    found.append([release.to_arrow().to_pylist() for _ in range(2)])  # it can be published twice
            except kanon.NoSolutionError:
                found.append([])
    assert found[0] == found[1]
