"""A process that is killed at any moment of an anonymization in place leaves the old table or the new one, whole."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING

import duckdb
import pytest
from effort import count

import kanon_sql as kanon

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 200_000
KILLS = count(25, quick=8)
K = 5
NEW = ["town", "age", "sex", "diagnosis"]


def anonymize(path: Path) -> None:
    with kanon.anonymize(
        path,
        "people",
        identifying=["name"],
        quasi_identifiers=["town", "age", "sex"],
        sensitive=["diagnosis"],
        models=[kanon.KAnonymity(K)],
        hierarchies={"town": "mask:right", "age": "intervals:5,10,20,40", "sex": "flat"},
        seed=1,
    ) as release:
        release.in_place()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of 200,000 people, and a table beside them."""
    path = tmp_path_factory.mktemp("original") / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT 'n' || i AS name, lpad(CAST(hash(i) % 10000 AS VARCHAR), 4, '0') AS town, "
            "CAST(hash(i, 1) % 90 AS INTEGER) AS age, CASE WHEN hash(i, 2) % 2 = 0 THEN 'F' ELSE 'M' END AS sex, "
            "'d' || hash(i, 3) % 20 AS diagnosis FROM range($rows) n(i)",
            {"rows": ROWS},
        )
        connection.execute("CREATE TABLE other AS SELECT i FROM range(1000) n(i)")
    return path


def content_of(path: Path) -> tuple[int, int]:
    """Return how many rows the table has, and a hash of all of them."""
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT sum(i) FROM other").fetchone() == (499_500,)
        found = connection.execute("SELECT count(*), bit_xor(hash(people)) FROM people").fetchone()
    assert found is not None
    return found


def columns_of(path: Path) -> list[str]:
    with duckdb.connect(str(path)) as connection:
        return [name for name, *_ in connection.execute("DESCRIBE people").fetchall()]


def smallest_class(path: Path) -> int:
    with duckdb.connect(str(path)) as connection:
        found = connection.execute(
            "SELECT min(n) FROM (SELECT count(*) AS n FROM people GROUP BY town, age, sex)"
        ).fetchone()
    assert found is not None
    return int(found[0])


def forked(path: Path) -> int:
    """Return the process that anonymizes a database: forked, so that the moments of its life are those of the work."""
    process = os.fork()
    if process == 0:
        try:
            anonymize(path)
            os._exit(0)
        finally:
            os._exit(1)
    return process


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
def test_killed_at_random_moments(original: Path, tmp_path: Path) -> None:
    # The whole run, for its length and its outcome.
    path = tmp_path / "people.duckdb"
    shutil.copy(original, path)
    old = content_of(path)
    begin = time.monotonic()
    _, status = os.waitpid(forked(path), 0)
    length = time.monotonic() - begin
    assert status == 0
    assert columns_of(path) == NEW
    assert smallest_class(path) >= K
    new = content_of(path)
    # Killed at random moments, more of them near the end, where the files change places.
    moments = random.Random(20261121)  # noqa: S311 - moments, not secrets
    outcomes = []
    for number in range(KILLS):
        shutil.copy(original, path)
        process = forked(path)
        share = moments.random() if number % 2 else moments.triangular(0.6, 1.05, 0.95)
        time.sleep(share * length)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        columns = columns_of(path)
        outcomes.append(columns == NEW)
        assert content_of(path) == (new if columns == NEW else old)
        if status == 0:  # it was faster than the signal
            assert columns == NEW
    assert outcomes.count(False) > KILLS // 4  # most were killed while they worked
    # What they left beside the file is gone after the next run.
    shutil.copy(original, path)
    anonymize(path)
    assert [file.name for file in tmp_path.iterdir()] == ["people.duckdb"]
