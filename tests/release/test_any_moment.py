"""Whatever is published: a kill or a failure at any moment leaves what was there or what is new, whole.

No moment is named: all are found while the work is done (``moments``). What a kill leaves is seen at each of them; each
step that changes something fails once; and one process is killed in the middle of each kind of work.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import tables_of
from effort import count
from moments import at_step, connections_with_steps, fail, states_of
from needs import needs

import kanon_sql as kanon
from kanon_sql.engine.files import PrivateDirectory, is_private
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.tables import TablePolicy, TablesPolicy
from kanon_sql.release.tables.anonymize import anonymize_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moments import State

SETUP = """
    SET force_compression = 'uncompressed';
    CREATE TABLE people AS
        SELECT i AS person, 'MARK' || i AS name, i % 30 AS age, 'd' || i % 3 AS diagnosis FROM range(60) n(i);
    CREATE TABLE visits AS SELECT i % 60 AS person, 'w' || i % 2 AS ward FROM range(120) n(i);
    CREATE TABLE other AS SELECT i FROM range(1000) n(i);
    CREATE TABLE there AS SELECT 1 AS old;
"""
RULES = {"age": "intervals:5,10,20"}
SEVERAL = TablesPolicy(
    (
        TablePolicy(
            "people",
            "people",
            "person",
            columns=NamedColumns(identifying=("name",), quasi_identifiers=("age",), sensitive=("diagnosis",)),
            hierarchies=RULES,
        ),
        TablePolicy(
            "visits", person="person", columns=NamedColumns(quasi_identifiers=("ward",)), hierarchies={"ward": "flat"}
        ),
        TablePolicy("other", "kept"),
        TablePolicy("there", "kept"),
    ),
    k=5,
    seed=1,
)


def publish(publication: Callable[[kanon.Release], object], source: str = "people.duckdb") -> Callable[[Path], None]:
    def work(directory: Path) -> None:
        table = "people" if source.endswith("duckdb") else None
        with kanon.anonymize(
            directory / source, table, identifying=["person", "name"], quasi_identifiers=["age"],
            sensitive=["diagnosis"], models=[kanon.KAnonymity(5)], hierarchies=RULES, seed=1,
        ) as release:  # fmt: skip
            publication(release)

    return work


def publish_several(publication: Callable[[Any], object]) -> Callable[[Path], None]:
    def work(directory: Path) -> None:
        with anonymize_tables(directory / "people.duckdb", SEVERAL) as release:
            publication(release)

    return work


def append(directory: Path) -> None:
    kanon.apply(directory / "kanon.lock", directory / "more.csv", append="released")


def ask(directory: Path) -> None:
    from kanon_sql import dp

    dp.ask(directory / "people.duckdb", "people", dp.Count(epsilon="0.75"))


def beside(release: Any, name: str) -> Path:
    return Path(release.prepared.source.database or release.prepared.source.file).with_name(name)


WORK: dict[str, Callable[[Path], None]] = {
    "table": publish(lambda release: release.to_table("released", replace=True)),
    "table with a lock": publish(lambda release: release.to_table("new", lock=beside(release, "new.lock"))),
    "view": publish(lambda release: release.to_view("seen")),
    "file": publish(lambda release: release.to_file(beside(release, "there.csv"), replace=True)),
    "database": publish(lambda release: release.to_file(beside(release, "there.duckdb"), replace=True)),
    "in place": publish(lambda release: release.in_place(backup=False)),
    "in place with a backup": publish(lambda release: release.in_place(backup=beside(release, "before.duckdb"))),
    "file in place": publish(lambda release: release.in_place(backup=False), "people.csv"),
    "several tables": publish_several(lambda release: release.to_schema("released")),
    "several tables, files": publish_several(
        lambda release: release.to_directory(Path(release.opened.place).with_name("files"))
    ),
    "several tables in place": publish_several(lambda release: release.in_place(backup=False)),
    "append": append,
    "ask": ask,
    "clean": lambda directory: kanon.clean(directory / "people.duckdb", drop=["people"]),
}
QUICK = ("table", "file", "in place", "append")
CHANGED = {
    "table with a lock": ["people.duckdb", "new.lock"],
    "file": ["there.csv", "people.duckdb"],
    "database": ["there.duckdb", "people.duckdb"],
    "in place with a backup": ["before.duckdb", "people.duckdb"],
    "file in place": ["people.csv"],
    "several tables, files": ["files", "people.duckdb"],
}
"""What changes, in the order in which it does, where it is not the database alone.

A release that no ledger knows is refused to be made again beside another; a ledger must know of no release that is not
there. So a file is there first, and its lock last.
"""
REPLACES = ("in place", "in place with a backup", "file in place", "several tables in place", "clean")
"""After what no name is in the bytes of the file."""
REMOVES = re.compile(r"(shutil\.rmtree|os\.rmdir|os\.remove|open) (\.kanon-\w+\.tmp/)*\.kanon-\w+\.tmp$")


def prepare(work: str, directory: Path) -> None:
    """Make what some work is done with."""
    path = directory / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SETUP)
        if work == "file in place":
            connection.table("people").write_csv(str(directory / "people.csv"))
    (directory / "there.csv").write_text("old\n1\n")
    if work == "append":
        publish(lambda release: release.to_table("released", lock=directory / "kanon.lock"))(directory)
        rows = "".join(f"{1000 + i},MARK{1000 + i},3,d1\n" for i in range(12))
        (directory / "more.csv").write_text(f"person,name,age,diagnosis\n{rows}")
    if work == "ask":
        needs("opendp")
        from kanon_sql import dp

        dp.set_budget(path, "people", epsilon=1)


def content_of(directory: Path) -> dict[str, Any]:
    """Return what is in all files but those in private directories; that of databases as it can be read."""
    found: dict[str, Any] = {}
    for file in sorted(directory.rglob("*")):
        name = str(file.relative_to(directory))
        if not file.is_file() or is_private(name.partition(os.sep)[0]) or file.suffix == ".wal":
            continue
        log = file.with_name(f"{file.name}.wal")
        written = file.read_bytes(), log.read_bytes() if log.exists() else b""
        if file.suffix == ".duckdb" and written not in READABLE:
            READABLE[written] = readable(file)
        found[name] = READABLE.get(written, written)
    return found


READABLE: dict[tuple[bytes, bytes], Any] = {}
"""By the bytes of a database and of its log: many moments leave the same."""


def readable(database: Path) -> Any:
    with duckdb.connect(str(database), read_only=True) as connection:
        views = connection.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall()
    return tables_of(database), views


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    READABLE.clear()


def size_of(found: Any) -> Any:
    """Return how many rows a file has, or each table of a database: pseudonyms and times differ between two runs."""
    if found is None:
        return None
    tables, views = found
    if isinstance(tables, bytes):
        return tables.count(b"\n")
    return {table: len(rows) for table, rows in tables.items()}, views


def changed_in(
    now: dict[str, Any], old: dict[str, Any], new: dict[str, Any], part: Callable[[Any], Any] = lambda found: found
) -> list[str]:
    """Return the files and directories that are new already; each other one must be as it was.

    What is new is compared in a ``part`` of what was found.
    """
    assert now.keys() <= old.keys() | new.keys()
    changed: dict[str, set[bool]] = {}
    for name in sorted(old.keys() | new.keys()):
        found = now.get(name)
        if old.get(name) == new.get(name):
            assert found == old[name], f"{name} changed"
        else:
            is_new = found != old.get(name)
            assert not is_new or part(found) == part(new.get(name)), f"{name} is neither what it was nor is to be"
            changed.setdefault(name.partition(os.sep)[0], set()).add(is_new)
    assert all(len(each) == 1 for each in changed.values()), "a part of a directory is new"
    return [name for name, each in changed.items() if each == {True}]


def assert_no_name(work: str, directory: Path) -> None:
    """Assert that the names of people are gone from the file that the work replaces, and from its log."""
    name = "people.csv" if work == "file in place" else "people.duckdb"
    for file in directory.glob(f"{name}*"):
        assert b"MARK" not in file.read_bytes()


def private_in(directory: Path) -> list[str]:
    return [file.name for file in directory.iterdir() if is_private(file.name)]


def states(work: str, directory: Path) -> list[State]:
    """Do some work, and return the states of a directory that a kill could leave."""
    with connections_with_steps():
        return states_of(lambda: WORK[work](directory), directory, directory.with_name("states"))


def orders_of(work: str) -> list[list[str]]:
    """Return what may have changed at a moment of some work."""
    expected = CHANGED.get(work, ["people.duckdb"])
    return [sorted(expected[:number]) for number in range(len(expected) + 1)]


@pytest.fixture
def ready(work: str, tmp_path: Path) -> Path:
    """A directory in which some work can be done."""
    directory = tmp_path / "ready"
    directory.mkdir()
    prepare(work, directory)
    return directory


@pytest.mark.quick(*QUICK)
@pytest.mark.parametrize("work", WORK)
def test_a_kill_at_any_moment(work: str, ready: Path) -> None:
    old = content_of(ready)
    found = states(work, ready)
    new = content_of(ready)
    assert sum(len(state.steps) for state in found) > 20, "its steps were not found"
    orders = orders_of(work)
    last, step = 0, ""
    for state in found:
        before = f"before {state.steps[0]}"
        if private_in(state.copy):
            PrivateDirectory(state.copy).remove()  # any later run begins with it
            assert private_in(state.copy) == [], before
        changed = changed_in(content_of(state.copy), old, new)
        assert changed in orders[last:], before
        for name in changed if orders.index(changed) > last else []:
            # Nothing else changes a file at once.
            assert name in orders[last] or step.endswith(f" to {name}") or step == "commit", before
        last, step = orders.index(changed), state.steps[-1]
        if work in REPLACES and changed == orders[-1]:
            assert_no_name(work, state.copy)
    assert orders[last:] == orders[-1:]


READ = re.compile(r"execute (SELECT|WITH|DESCRIBE|/\*)|extract_statements|sql |close|os\.list")
BEFORE = 2
"""Of so many steps before one that changes a file, those fail too that do not only read."""


def failing_steps(found: list[State]) -> list[int]:
    """Return the numbers of the steps that are to fail; in the quick run only those that change a file."""
    chosen: list[int] = []
    first = len(found[0].steps)  # of opening what is there
    for state in found[1:]:
        steps = [
            number for number, step in enumerate(state.steps, first) if not READ.match(step) and not REMOVES.match(step)
        ]
        first += len(state.steps)
        chosen += [number for number in steps if number >= first - count(BEFORE, quick=1)]
    return chosen[:-1]  # but for the end


@pytest.mark.quick("file")
@pytest.mark.deeper
@pytest.mark.parametrize("work", [work for work in WORK if work not in {"table", "view", "in place", "clean"}])
def test_a_failure_at_any_moment(work: str, ready: Path, tmp_path: Path) -> None:
    at_first = shutil.copytree(ready, tmp_path / "first")
    old = content_of(ready)
    found = states(work, ready)
    steps = [step for state in found for step in state.steps]
    new = content_of(ready)
    for number in failing_steps(found):
        shutil.rmtree(ready)
        shutil.copytree(at_first, ready)
        where = f"at {steps[number]}"
        failed = False
        with connections_with_steps(), at_step(number, ready, fail) as taken:
            try:
                WORK[work](ready)
            except (kanon.KanonError, duckdb.Error, OSError):
                failed = True
        changed = changed_in(content_of(ready), old, new, size_of)
        assert changed in (orders_of(work)[:-1] if failed else orders_of(work)[-1:]), where
        assert REMOVES.match(taken[-1]) or private_in(ready) == [], where


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
@pytest.mark.parametrize("work", WORK)
def test_a_process_that_is_killed(work: str, ready: Path, tmp_path: Path) -> None:
    """Right before the first file changes; then the work can be done."""
    at_first = shutil.copytree(ready, tmp_path / "first")
    old = content_of(ready)
    found = states(work, ready)
    new = content_of(ready)
    number = -1
    for state in found:
        if changed_in(content_of(state.copy), old, new):
            break
        number += len(state.steps)
    shutil.rmtree(ready)
    shutil.copytree(at_first, ready)
    process = os.fork()
    if process == 0:
        try:
            with connections_with_steps(), at_step(number, ready, lambda _: os.kill(os.getpid(), signal.SIGKILL)):
                WORK[work](ready)
        finally:
            os._exit(1)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert content_of(ready) == old
    assert private_in(ready)
    WORK[work](ready)
    assert content_of(ready).keys() == new.keys()
    assert private_in(ready) == []
    if work in REPLACES:
        assert_no_name(work, ready)


# Kills that hit DuckDB itself at work

ROWS = 200_000
KILLS = 6
NEW = ["town", "age", "sex", "diagnosis"]


def anonymize(path: Path) -> None:
    with kanon.anonymize(
        path,
        "people",
        identifying=["name"],
        quasi_identifiers=["town", "age", "sex"],
        sensitive=["diagnosis"],
        models=[kanon.KAnonymity(5)],
        hierarchies={"town": "mask:right", "age": "intervals:5,10,20,40", "sex": "flat"},
        seed=1,
    ) as release:
        release.in_place(backup=False)


def rows_in(path: Path) -> tuple[list[str], Any, Any]:
    """Return the columns of the table, how many rows it has with their hash, and the sum of its neighbour."""
    with duckdb.connect(str(path)) as connection:
        columns = [name for name, *_ in connection.execute("DESCRIBE people").fetchall()]
        rows = connection.execute("SELECT count(*), bit_xor(hash(people)) FROM people").fetchone()
        return columns, rows, connection.execute("SELECT sum(i) FROM other").fetchone()


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
def test_killed_at_random_moments(tmp_path: Path) -> None:
    original, path = tmp_path / "original", tmp_path / "here" / "people.duckdb"
    path.parent.mkdir()
    with duckdb.connect(str(original)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT 'n' || i AS name, lpad(CAST(hash(i) % 10000 AS VARCHAR), 4, '0') AS town, "
            "CAST(hash(i, 1) % 90 AS INTEGER) AS age, CASE WHEN hash(i, 2) % 2 = 0 THEN 'F' ELSE 'M' END AS sex, "
            "'d' || hash(i, 3) % 20 AS diagnosis FROM range($rows) n(i)",
            {"rows": ROWS},
        )
        connection.execute("CREATE TABLE other AS SELECT i FROM range(1000) n(i)")
    # The whole run, for its length and its outcome.
    shutil.copy(original, path)
    old = rows_in(path)
    begin = time.monotonic()
    _, status = os.waitpid(forked(path), 0)
    length = time.monotonic() - begin
    assert status == 0
    new = rows_in(path)
    assert (new[0], new[2]) == (NEW, old[2])
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
        found = rows_in(path)
        outcomes.append(found == new)
        assert found in (old, new)
        if status == 0:  # it was faster than the signal
            assert found == new
    assert outcomes.count(False) > KILLS // 4  # most were killed while they worked
    # What they left beside the file is gone after the next run.
    shutil.copy(original, path)
    anonymize(path)
    assert [file.name for file in path.parent.iterdir()] == ["people.duckdb"]
