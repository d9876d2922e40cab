"""Runs that publish from one database at once: never two that say too much together, never one unremembered."""

from __future__ import annotations

import multiprocessing
import threading
import time
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from effort import count

import kanon_sql as kanon
from kanon_sql.engine.duckdb import connection as opening

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

PAIRS = count(20, quick=3)
COLUMNS = (["a", "b"], ["b", "a"])
"""Of equal nodes the first is taken: these two keep the one column or the other, and leave each row alone together."""


def corners(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE corners AS SELECT i % 2 AS a, i // 2 AS b, i AS s FROM range(4) n(i)")
    return path


def publish(path: Path, number: int, *, as_file: bool, source: Any = None) -> str:
    """Publish one of the two releases; return how that ended."""
    asked: dict[str, Any] = {"quasi_identifiers": COLUMNS[number], "hierarchies": {"a": "flat", "b": "flat"}}
    try:
        with kanon.anonymize(source or path, "corners", sensitive=["s"], rest="drop", seed=1, max_suppressed=0,
                             models=[kanon.KAnonymity(2)], **asked) as release:  # fmt: skip
            if as_file:
                published = release.to_file(path.with_name(f"{path.stem}_{number}.csv"))
            else:
                published = release.to_table(f"r{number}")
    except kanon.JointReleaseError:
        return "refused"
    return "published" if published.not_remembered is None else "not remembered"


def publish_all(paths: list[Path], number: int, together: Any, ended: Any) -> None:
    """In a process of its own: publish from each database, when the other process does too."""
    for pair, path in enumerate(paths):
        together.wait(60)
        try:
            outcome = publish(path, number, as_file=(pair // (number + 1)) % 2 == 0)
        except Exception as error:  # noqa: BLE001 - told to the test, which fails then
            outcome = repr(error)
        ended.put((pair, number, outcome))


@pytest.mark.thorough
def test_of_two_that_start_together_one_is_published_and_remembered(tmp_path: Path) -> None:
    """20 pairs (in the quick run 3) of runs in two processes, to files and to tables.

    Fails on 0.1.0: both are published, and one or none is remembered.
    """
    paths = [corners(tmp_path / f"{pair}.duckdb") for pair in range(PAIRS)]
    context = multiprocessing.get_context("spawn")
    together, ended = context.Barrier(2), context.Queue()
    processes = [context.Process(target=publish_all, args=(paths, number, together, ended)) for number in (0, 1)]
    for process in processes:
        process.start()
    found = {}
    for _ in range(2 * PAIRS):
        pair, number, outcome = ended.get(timeout=120)
        found[pair, number] = outcome
    for process in processes:
        process.join(60)
    assert [sorted([found[pair, 0], found[pair, 1]]) for pair in range(PAIRS)] == [["published", "refused"]] * PAIRS
    for pair, path in enumerate(paths):
        (only,) = kanon.ledger(path)
        number = 0 if found[pair, 0] == "published" else 1
        assert only.entry.quasi_identifiers == COLUMNS[number]
        assert only.as_it_was
        files = [path.with_name(f"{path.stem}_{each}.csv").exists() for each in (0, 1)]
        with duckdb.connect(str(path), read_only=True) as connection:
            tables = [
                bool(connection.execute(f"FROM duckdb_tables() WHERE table_name = 'r{n}'").fetchall()) for n in (0, 1)
            ]
        there = [file or table for file, table in zip(files, tables, strict=True)]
        assert there == [number == 0, number == 1]


@pytest.mark.thorough
def test_in_postgresql_one_waits_for_the_other(postgres: str, tmp_path: Path) -> None:
    """Two connections, each with a snapshot from before the other one published.

    Fails on 0.1.0: both are published.
    """
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS corners, r0, r1; DROP SCHEMA IF EXISTS kanon CASCADE")
        connection.execute(
            "CREATE TABLE corners AS SELECT i % 2 AS a, i / 2 AS b, i AS s FROM generate_series(0, 3) n(i)"
        )
    for pair in range(3):
        together, outcomes = threading.Barrier(2), {}

        def run(number: int, together: threading.Barrier = together, outcomes: dict[int, str] = outcomes) -> None:
            together.wait(60)
            outcomes[number] = publish(tmp_path / "corners.duckdb", number, as_file=False, source=postgres)

        threads = [threading.Thread(target=run, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert sorted(outcomes.values()) == ["published", "refused"], pair
        assert len(kanon.ledger(postgres)) == 1
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS r0, r1; DELETE FROM kanon.releases")


@pytest.fixture
def reader(tmp_path: Path) -> Any:
    """A process that reads a database until it is told to stop."""
    path = corners(tmp_path / "read.duckdb")
    context = multiprocessing.get_context("spawn")
    reads, stop = context.Event(), context.Event()
    process = context.Process(target=read, args=(path, reads, stop))
    process.start()
    assert reads.wait(60)
    yield path, stop
    stop.set()
    process.join(60)


def read(path: Path, reads: Any, stop: Any) -> None:
    with duckdb.connect(str(path), read_only=True):
        reads.set()
        stop.wait(120)


@pytest.mark.thorough
def test_what_cannot_be_remembered_is_not_published_and_said(
    reader: Any, monkeypatch: pytest.MonkeyPatch, kanon: Callable[..., Ended]
) -> None:
    """Another program reads the database all the time. Fails on 0.1.0: published, and ``-q`` says nothing."""
    path, stop = reader
    monkeypatch.setattr(opening, "_PATIENCE", 0.2)
    asked = ("anonymize", path, "corners", "--qi", "a,b", "--sensitive", "s", "--rest", "drop", "-k", 2, "-q",
             "--hierarchy", "a=flat", "--hierarchy", "b=flat", "--out", path.with_name("out.csv"))  # fmt: skip
    refused = kanon(*asked)
    assert (refused.code, path.with_name("out.csv").exists()) == (3, False)
    said = " ".join(refused.err.split())
    assert "in use by another process" in said
    assert "--set run.ignore_ledger=true" in said
    ended = kanon(*asked, "--ignore-ledger", "--format", "json")
    assert ended.code == 0
    assert "The ledger does not know of this release" in ended.err
    assert (ended.json["ledger"]["remembered"], "in use" in ended.json["ledger"]["not_remembered"]) == (False, True)
    # When the other one stops, the run that waits goes on.
    monkeypatch.setattr(opening, "_PATIENCE", 30)
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    assert kanon(*asked, "--replace").code == 0
    assert time.monotonic() - began < 30
