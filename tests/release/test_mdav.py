"""``mdav``: columns that are microaggregated together, by the textbook where all rows differ."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from oracles.mdav import textbook_mdav
from rows import released_rows

import kanon_sql as kanon
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.release import microaggregation, published_rules
from kanon_sql.release.microaggregation import lost_shares, mdav_groups
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROLES: dict[str, Any] = {"quasi_identifiers": ["g"], "insensitive": ["place"], "rest": "keep"}
SETTINGS = ROLES | {"models": [kanon.KAnonymity(1)]}
TOGETHER = {"a": "mdav:3", "b": "mdav:3", "c": "mdav:3"}


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (place INTEGER, g INTEGER, a DOUBLE, b INTEGER, c DECIMAL(9,2))")
        yield connection


def fill(connection: duckdb.DuckDBPyConnection, rows: Sequence[Sequence[Any]]) -> None:
    connection.executemany("INSERT INTO t VALUES (?, 1, ?, ?, ?)", [[place, *row] for place, row in enumerate(rows)])


def released(connection: duckdb.DuckDBPyConnection, publish: dict[str, str]) -> list[tuple[Any, ...]]:
    with kanon.anonymize(connection, "t", **SETTINGS, publish=publish) as release:
        return [tuple(row) for _, *row in sorted(released_rows(release, "place", *"abc"), key=lambda row: row[0])]


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_groups_are_those_of_the_textbook_where_all_rows_differ(size: int, columns: int) -> None:
    drawn = random.Random(f"{size} {columns}")  # noqa: S311 - no secret
    for rows in (*range(size, 4 * size + 2), 40, 83):
        tuples = sorted(tuple(drawn.gauss(1e6 * column, 10**column) for column in range(columns)) for _ in range(rows))
        groups: dict[int, set[int]] = {}
        for place, number in enumerate(mdav_groups([(*values, 1) for values in tuples], size)):
            groups.setdefault(number, set()).add(place)
        assert set(map(frozenset, groups.values())) == textbook_mdav(tuples, size)


@pytest.mark.parametrize("weights", [(1, 2, 3), (1, 9), (1, 1, 1, 40)])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_groups_have_enough_rows_where_tuples_repeat(weights: tuple[int, ...], size: int) -> None:
    drawn = random.Random(f"{weights} {size}")  # noqa: S311 - no secret
    for _ in range(60):
        # The last column is constant; in a small grid many distances are equal.
        grid = {(drawn.randint(0, 4), drawn.randint(0, 4), 7) for _ in range(drawn.randint(1, 25))}
        tuples = [(*values, drawn.choice(weights)) for values in sorted(grid)]
        if sum(weight for *_, weight in tuples) < size:
            continue
        groups = mdav_groups(tuples, size)
        rows: Counter[int] = Counter()
        for number, (*_, weight) in zip(groups, tuples, strict=True):
            rows[number] += weight
        assert min(rows.values()) >= size
        assert all(0 <= lost <= 1 + 1e-12 for lost in lost_shares(tuples, groups))
        assert lost_shares(tuples, groups)[2] == 0


def test_lost_shares_of_an_example_by_hand() -> None:
    # 0, 2 | 6, 8: mean 4, SST 16 + 4 + 4 + 16, SSE 1 + 1 + 1 + 1. With 2 twice: mean 3.6, SST 12.96 + 2 * 2.56 + 5.76 +
    # 19.36, SSE of 0, 2, 2 is 8 / 3.
    assert lost_shares([(0, 1), (2, 1), (6, 1), (8, 1)], [0, 0, 1, 1]) == [pytest.approx(4 / 40)]
    assert lost_shares([(0, 1), (2, 2), (6, 1), (8, 1)], [0, 0, 1, 1]) == [pytest.approx((8 / 3 + 2) / 43.2)]


def test_published_values_are_the_means_of_groups(connection: duckdb.DuckDBPyConnection) -> None:
    drawn = random.Random(0)  # noqa: S311 - no secret
    known = [(drawn.gauss(0, 1), drawn.randint(-9, 9), drawn.randint(0, 999) / 100) for _ in range(30)]
    rows = [*known, *known[:4], (None, None, None)]
    fill(connection, rows)
    found = released(connection, TOGETHER)
    assert found[-1] == (None, None, None)
    groups: dict[Any, list[int]] = {}
    for place, means in enumerate(found[:-1]):
        groups.setdefault(means, []).append(place)
    assert min(map(len, groups.values())) >= 3
    for means, places in groups.items():
        for column, mean in enumerate(means):
            assert math.isclose(mean, sum(float(rows[place][column]) for place in places) / len(places), abs_tol=1e-12)
    assert found[:4] == found[30:34]  # equal tuples
    connection.execute("CREATE TABLE turned AS FROM t ORDER BY place DESC")
    connection.execute("DROP TABLE t")
    connection.execute("ALTER TABLE turned RENAME TO t")
    assert released(connection, TOGETHER) == found


@pytest.mark.thorough
def test_columns_with_another_size_are_other_groups(connection: duckdb.DuckDBPyConnection) -> None:
    fill(connection, [(float(place), place % 4, place % 5) for place in range(20)])
    both = released(connection, {"a": "mdav:3", "b": "mdav:3"})
    found = released(connection, {"a": "mdav:3", "b": "mdav:3", "c": "microaggregate:8"})
    assert [row[:2] for row in found] == [row[:2] for row in both]
    assert len({row[2] for row in found}) == 2
    with pytest.raises(UsageError, match="column 'c' alone has this rule"):
        released(connection, {"a": "mdav:3", "b": "mdav:3", "c": "mdav:4"})


@pytest.mark.thorough
def test_what_cannot_be_grouped_is_refused(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not released(connection, TOGETHER)
    fill(connection, [(1.0, 1, 1), (2.0, 2, 2)])
    with pytest.raises(
        UsageError, match="'a' and 'b' and 'c' have values in 2 rows, and mdav:3 makes groups of 3 rows"
    ):
        released(connection, TOGETHER)
    fill(connection, [(1.0, None, 1), (2.0, 2, None), (3.0, 3, 3)])
    with pytest.raises(UsageError, match="2 rows have NULL in some of the columns 'a' and 'b' and 'c', and not in all"):
        released(connection, TOGETHER)
    connection.execute("DELETE FROM t WHERE b IS NULL OR c IS NULL")
    monkeypatch.setattr(microaggregation, "MOST_TUPLES", 2)
    with pytest.raises(
        UsageError, match="have 3 different tuples of values, and mdav:3 puts no more than 2 into groups"
    ):
        released(connection, TOGETHER)


def test_a_value_that_is_no_mean_does_not_slip_through(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(connection, [(float(place), place % 4, place % 5) for place in range(20)])
    monkeypatch.setattr(
        published_rules, "_expression", lambda ruled, _: sql.cast(sql.column(ruled.column.name, "source"), "DOUBLE")
    )
    with pytest.raises(VerificationError):
        released(connection, {"a": "mdav:3", "b": "mdav:3"})


def test_a_group_that_lost_rows_since_gets_no_means(connection: duckdb.DuckDBPyConnection) -> None:
    fill(connection, [(float(place), place, place) for place in range(6)])
    with kanon.anonymize(connection, "t", **SETTINGS, publish=TOGETHER) as release:
        script = release.sql().split("\n\n")
        connection.execute("DELETE FROM t WHERE place = 5")
    connection.execute(next(part for part in script if "kanon_microaggregated AS" in part))
    values, means = zip(
        *connection.execute("SELECT value_2, mean_2 FROM kanon_microaggregated").fetchall(), strict=True
    )
    assert len(values) == 3  # one of the two groups has two rows now
    assert means == (sum(values) / 3,) * 3
