"""Rows of a release that are alike are made once: it is the same, row for row, whatever it is written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from effort import examples
from hypothesis import given
from rows import released_records, released_rows
from strategies import Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.release.publish import alike

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = """
CREATE TABLE released AS
SELECT i AS id, CASE WHEN i % 17 > 0 THEN 20 + i % 3 * i % 20 END AS first,
  CASE WHEN i % 11 > 1 THEN '=s' || i % 2 END AS n, (1000 + i % 3)::VARCHAR AS "zip 'code'",
  CASE i % 4 WHEN 0 THEN 0.0::DOUBLE WHEN 1 THEN '-0'::DOUBLE WHEN 2 THEN 'NaN'::DOUBLE END AS weight,
  CASE WHEN i % 5 > 0 THEN i % 5 = 1 END AS well, CASE WHEN i % 3 = 0 THEN 'flu' ELSE 'cold' END AS source
FROM range(3000) AS numbers(i)
"""
"""Rows of which many are alike; columns are called as parts of our statements are."""
ASKED: dict[str, Any] = {
    "quasi_identifiers": ["first", "n", "zip 'code'"],
    "identifying": ["id"],
    "insensitive": ["weight"],
    "rest": "keep",
    "models": [kanon.KAnonymity(60)],
    "hierarchies": {"first": "intervals:5,10,20,40", "zip 'code'": "mask:right:1,2,3"},
    "max_suppressed": 0.1,
    "seed": 1,
}
DIVERSE: dict[str, Any] = {"models": [kanon.KAnonymity(60), kanon.DistinctLDiversity(l=2)], "sensitive": ["source"]}
MADE = "make the different rows of the release"


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(ROWS)
        yield connection


def statements(release: kanon.Release) -> list[str]:
    return [each.title for each in release.prepared.source.engine.statements]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("algorithm", "how"),
    [
        ("optimal", {}),
        ("local", {}),
        ("mondrian", {"cut": "strict"}),
        ("mondrian", {"cut": "relaxed"}),  # rows that are alike may part
        ("optimal", {**DIVERSE, "choice": "greedy"}),
        ("mondrian", {**DIVERSE, "choice": "all-or-none"}),
    ],
)
def test_the_release_is_the_same_row_for_row(
    algorithm: str, how: dict[str, Any], connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for often in (10**9, 1):
        monkeypatch.setattr(alike, "_MANY_ROWS", 0)
        monkeypatch.setattr(alike, "_OFTEN", often)
        with kanon.anonymize(connection, "released", **{**ASKED, "algorithm": algorithm, **how}) as release:
            frame = released_records(release)
            assert (MADE in statements(release)) == (often == 1)
            found.append(list(map(str, frame)))  # a NaN is no other one
    assert found[0] == found[1]
    assert not connection.execute("SELECT * FROM duckdb_tables() WHERE table_name LIKE 'kanon_alike%'").fetchall()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.json", "out.duckdb", ""])
def test_every_destination_has_the_same_rows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, found = tmp_path / "people.duckdb", []
    with duckdb.connect(database) as connection:
        connection.execute(ROWS)
        if name == "out.json":  # which has no NaN
            connection.execute("UPDATE released SET weight = 1 WHERE isnan(weight)")
    monkeypatch.setattr(alike, "_OFTEN", 1)
    for many in (10**9, 0):
        monkeypatch.setattr(alike, "_MANY_ROWS", many)
        with kanon.anonymize(database, "released", **ASKED) as release:
            if name:
                release.to_file(tmp_path / name, replace=True, spreadsheet_safe=name == "out.csv")
            else:
                release.to_table("made", replace=True, ignore_ledger=True)
            assert (MADE in statements(release)) == (many == 0)
        if name.endswith(("csv", "json")):
            found.append((tmp_path / name).read_bytes())
            continue
        with duckdb.connect(database if not name else ":memory:" if name == "out.parquet" else tmp_path / name) as made:
            relation = f"'{tmp_path / name}'" if name == "out.parquet" else "made" if not name else "released"
            found.append(repr(made.execute(f"FROM {relation}").fetchall()).encode())
    assert found[0] == found[1]
    assert len(found[0]) > 10_000


@pytest.mark.thorough
@given(cases(max_rows=25))
@examples(60)
def test_small_tables_of_every_kind(case: Case) -> None:
    connection, person = load(case)
    for algorithm in ("optimal", "local"):
        found = []
        for forced in (False, True):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(alike, "_are_alike", lambda *_, forced=forced: forced)
                try:
                    with anonymize(case, connection, person, algorithm=algorithm, seed=1) as release:
                        found.append(released_records(release))
                except kanon.NoSolutionError:
                    found.append([])
        assert found[0] == found[1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ALTER TABLE released ALTER source TYPE VARCHAR[] USING [source]", "one value can be written in two ways"),
        ("ALTER TABLE released ADD COLUMN own INTEGER; UPDATE released SET own = 2 * id", "most rows differ"),
        (
            """ALTER TABLE released ALTER source TYPE VARCHAR COLLATE NOCASE;
            UPDATE released SET source = upper(source) WHERE id % 2 = 0""",
            "texts are equal that are written in two ways",
        ),
    ],
)
def test_rows_are_not_counted(
    change: str, why: str, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alike, "_MANY_ROWS", 0)
    monkeypatch.setattr(alike, "_OFTEN", 1)
    connection.execute(change)
    with kanon.anonymize(connection, "released", **ASKED) as release:
        released_rows(release)
        assert MADE not in statements(release), why
