"""No raw value is left in the bytes of any file: markers are written, seen on the disk, removed, and looked for again.

Files are written uncompressed, so that the markers stand in them as they are: a search that finds them before the run
would find them after it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

MARKERS = 1_000
ROWS = 2_000  # four of each town: no town can be published under k = 5
ASKED: dict[str, Any] = {
    "identifying": ["name"],
    "count": "rows",  # 500 names for 2,000 rows
    "quasi_identifiers": ["town", "age"],
    "sensitive": ["diagnosis"],
    "insensitive": ["ward"],
    "rest": "keep",
    "models": [kanon.KAnonymity(5)],
    "hierarchies": {"town": "flat", "age": "intervals:10,20,40"},
}
OPTIONS = [
    "--count", "rows", "--id", "name", "--qi", "town,age", "--sensitive", "diagnosis",
    "--keep", "ward", "--rest", "keep",
    "--hierarchy", "town=flat", "--hierarchy", "age=intervals:10,20,40",
]  # fmt: skip


def drawn() -> dict[str, list[str]]:
    """Return 1,000 markers: half of them names, half towns; none is part of another."""
    texts = [f"@{os.urandom(9).hex()}@" for _ in range(MARKERS)]
    return {"name": texts[: MARKERS // 2], "town": texts[MARKERS // 2 :]}


def fill(connection: duckdb.DuckDBPyConnection, markers: dict[str, list[str]]) -> None:
    """Make a table whose names and towns are markers, and which has all that a table can have beside its rows."""
    connection.execute("SET force_compression = 'uncompressed'")
    connection.execute("CREATE TABLE wards (ward INTEGER PRIMARY KEY, floor INTEGER)")
    connection.execute("INSERT INTO wards SELECT i, i % 3 FROM range(10) n(i)")
    connection.execute(
        "CREATE TABLE patients (name VARCHAR NOT NULL, town VARCHAR, age INTEGER, ward INTEGER REFERENCES wards(ward), "
        "diagnosis VARCHAR)"
    )
    connection.execute(
        "INSERT INTO patients SELECT $names[1 + i % 500], $towns[1 + (i * 7) % 500], 20 + i % 60, i % 10, "
        "'d' || i % 4 FROM range($rows) n(i)",
        {"names": markers["name"], "towns": markers["town"], "rows": ROWS},
    )
    connection.execute("CREATE INDEX by_name ON patients(name)")
    connection.execute("CREATE INDEX by_town ON patients(town)")


@pytest.fixture
def markers() -> dict[str, list[str]]:
    return drawn()


@pytest.fixture
def marked(tmp_path: Path, markers: dict[str, list[str]]) -> Path:
    """A database that is full of markers, also in freed blocks."""
    path = tmp_path / "marked.duckdb"
    with duckdb.connect(str(path)) as connection:
        fill(connection, markers)
        connection.execute("CHECKPOINT")
        connection.execute("CREATE TABLE copied AS SELECT * FROM patients")
        connection.execute("DROP TABLE copied")
        connection.execute("UPDATE patients SET age = age + 1")
        connection.execute("CHECKPOINT")
    return path


def found_in(directory: Path, markers: dict[str, list[str]]) -> int:
    """Return how many markers are in the bytes of any file in a directory, or in a directory in it."""
    content = b"".join(file.read_bytes() for file in sorted(directory.rglob("*")) if file.is_file())
    return sum(marker.encode() in content for texts in markers.values() for marker in texts)


@pytest.mark.thorough
def test_in_place_leaves_no_raw_value(marked: Path, markers: dict[str, list[str]]) -> None:
    assert found_in(marked.parent, markers) == MARKERS
    with kanon.anonymize(marked, "patients", **ASKED) as release:
        release.in_place(backup=False)
    assert found_in(marked.parent, markers) == 0
    assert kanon.check(
        marked, "patients", quasi_identifiers=["town", "age"], insensitive=["ward"], models=[kanon.KAnonymity(5)]
    ).holds


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [{"algorithm": "local"}, {"algorithm": "mondrian", "labels": "tree"}])
def test_in_place_by_other_algorithms(marked: Path, markers: dict[str, list[str]], asked: dict[str, Any]) -> None:
    with kanon.anonymize(marked, "patients", **ASKED, **asked) as release:
        release.in_place(backup=False)
    assert found_in(marked.parent, markers) == 0


@pytest.mark.thorough
def test_a_log_is_left_by_a_writer_that_was_killed(tmp_path: Path, markers: dict[str, list[str]]) -> None:
    """The markers are in the log only, which DuckDB keeps beside the file until somebody writes it in."""
    path = tmp_path / "marked.duckdb"
    script = (
        "import sys, json, os, signal; sys.path += sys.argv[2].split(os.pathsep); import duckdb, test_raw_bytes as t;"
        "c = duckdb.connect(sys.argv[1]); c.execute(\"SET checkpoint_threshold = '1GB'\");"
        "t.fill(c, json.load(sys.stdin)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run(  # noqa: S603 - this interpreter, with this text
        [sys.executable, "-c", script, str(path), os.pathsep.join(sys.path)],
        input=json.dumps(markers),
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    assert path.with_name("marked.duckdb.wal").stat().st_size > 0
    assert found_in(tmp_path, markers) == MARKERS
    with kanon.anonymize(path, "patients", **ASKED) as release:
        release.in_place(backup=False)
    assert found_in(tmp_path, markers) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["marked.duckdb"]


@pytest.mark.thorough
def test_what_did_not_fit_into_memory(tmp_path: Path, markers: dict[str, list[str]]) -> None:
    """The run puts rows with markers on the disk while it works, and takes them away."""
    path, spill = tmp_path / "marked.duckdb", tmp_path / "spill"
    spill.mkdir()
    with duckdb.connect(str(path)) as connection:
        fill(connection, markers)
        # The same people again and again, each with a text that no longer fits.
        connection.execute("CREATE TABLE many AS SELECT p.*, repeat(name, 40) AS note FROM patients p, range(100)")
    limits = kanon.Resources(memory_limit="120MB", threads=1, temp_dir=spill)
    asked = {**ASKED, "rest": "drop", "models": [kanon.KAnonymity(1000)]}
    with kanon.anonymize(path, "many", **asked, resources=limits) as release:
        release.prepared.source.engine.connection.execute("CREATE TEMP TABLE copied AS SELECT * FROM many")
        assert bytes_in(spill) > 0
        assert found_in(spill, {"name": markers["name"]}) > 0
        release.prepared.source.engine.connection.execute("DROP TABLE copied")
        release.in_place(backup=False)
    assert [file.name for file in tmp_path.iterdir() if file.name != "spill"] == ["marked.duckdb"]
    assert list(spill.iterdir()) == []
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP TABLE patients")
    kanon.clean(path)
    assert found_in(tmp_path, markers) == 0


def bytes_in(directory: Path) -> int:
    """Return how many bytes the files in a directory have, or in a directory in it."""
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


@pytest.mark.thorough
def test_a_table_and_a_clean_up(marked: Path, markers: dict[str, list[str]], kanon: Callable[..., Ended]) -> None:
    assert kanon("anonymize", marked, "patients", *OPTIONS, "--into", "released").code == 0
    assert found_in(marked.parent, markers) == MARKERS
    assert kanon("clean", marked).code == 0  # the raw table is still there
    assert found_in(marked.parent, markers) == MARKERS
    assert kanon("clean", marked, "--drop", "patients").code == 0
    assert found_in(marked.parent, markers) == 0
    assert kanon("check", marked, "released", "--qi", "town,age", "--keep", "ward", "-k", "5").code == 0


@pytest.mark.quick("local-duckdb")
@pytest.mark.parametrize("suffix", ["duckdb", "parquet", "csv", "json", "jsonl"])
@pytest.mark.parametrize("algorithm", ["optimal", "local"])
def test_files_hold_the_release_and_nothing_else(
    marked: Path, markers: dict[str, list[str]], suffix: str, algorithm: str
) -> None:
    assert found_in(marked.parent, markers) == MARKERS
    out = marked.parent / "out"
    out.mkdir()
    with kanon.anonymize(marked, "patients", **ASKED, algorithm=algorithm) as release:
        release.to_file(out / f"released.{suffix}")
    assert [file.name for file in out.iterdir()] == [f"released.{suffix}"]
    assert found_in(out, markers) == 0


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_data_files_in_place(tmp_path: Path, markers: dict[str, list[str]], suffix: str) -> None:
    path = tmp_path / f"marked.{suffix}"
    with duckdb.connect() as connection:
        fill(connection, markers)
        settings = ", COMPRESSION uncompressed" if suffix == "parquet" else ""
        connection.execute(f"COPY patients TO '{path}' (FORMAT {suffix}{settings})")
    assert found_in(tmp_path, markers) == MARKERS
    with kanon.anonymize(path, **ASKED) as release:
        release.in_place(backup=False)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert found_in(tmp_path, markers) == 0
    assert kanon.check(
        path, quasi_identifiers=["town", "age"], insensitive=["ward"], models=[kanon.KAnonymity(5)]
    ).holds


@pytest.mark.thorough
def test_hierarchies_in_the_database_are_values_too(
    marked: Path, markers: dict[str, list[str]], kanon: Callable[..., Ended]
) -> None:
    assert kanon("hierarchy", "build", marked, "patients", "town=flat").code == 0
    ended = kanon("anonymize", marked, "patients", *OPTIONS, "--in-place", "--no-backup", "--format", "json")
    assert ended.code == 0
    assert found_in(marked.parent, markers) == 0


@pytest.mark.thorough
def test_types_that_list_values_go_with_their_column(marked: Path, markers: dict[str, list[str]]) -> None:
    with duckdb.connect(str(marked)) as connection:
        listed = ", ".join(f"'{town}'" for town in sorted(set(markers["town"])))
        connection.execute(f"CREATE TYPE towns AS ENUM ({listed})")
        connection.execute("CREATE TABLE moved AS SELECT * REPLACE (CAST(town AS towns) AS town) FROM patients")
        connection.execute("DROP TABLE patients")
        connection.execute("ALTER TABLE moved RENAME TO patients")
    with kanon.anonymize(marked, "patients", **ASKED) as release:
        assert release.in_place(backup=False).in_place.removed[-1].startswith("type towns")  # type: ignore[union-attr]
    assert found_in(marked.parent, markers) == 0


@pytest.mark.thorough
def test_nothing_that_is_said_quotes_a_value(
    marked: Path, markers: dict[str, list[str]], kanon: Callable[..., Ended]
) -> None:
    asked = ["anonymize", marked, "patients", *OPTIONS]
    said = [
        kanon(*asked, "--in-place", "--no-backup", "--dry-run", "-v"),
        kanon(*asked, "--in-place", "--no-backup", "--format", "json"),
    ]
    said.append(
        kanon(*asked, "--in-place", "--no-backup")
    )  # a second time: what was there is gone, and that is an error or a release
    text = "".join(ended.out + ended.err for ended in said)
    assert not [marker for texts in markers.values() for marker in texts if marker in text]
