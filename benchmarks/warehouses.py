"""A whole run where the data lives, as a ratio to a plain copy of the table there; scans of the source are counted.

    python benchmarks/warehouses.py postgres --adult ../shared/data/adult --rows 5000000
    python benchmarks/warehouses.py spark --adult ../shared/data/adult --rows 5000000 --stages

A server is started for it (PostgreSQL with the settings that it has when installed; Spark in local mode). The table is
drawn from Adult as in ``scale.py``: rows with replacement, ages jittered, eight quasi-identifiers, k = 10. The copy is
CREATE TABLE AS SELECT * in the same database; both are repeated, alternating, and the medians are compared. --stages
prints what Spark did for the last run: plans, and the bytes of each stage. --tuples takes a table of ``growth.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

import duckdb
from growth import Shape
from scale import Subject
from spark_stages import Stages

import kanon_sql as kanon

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
from servers import postgres_programs, postgres_server, spark_session

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = "people"
FILE = "people.duckdb"


class Made(Shape):
    """A table of ``growth.py`` as a subject."""

    def make(self, path: Path, rows: int = 0) -> float:  # noqa: ARG002 - it knows how many
        """Make the table."""
        return super().make(path)


class Place(Protocol):
    """Where the table is."""

    source: Any

    def load(self, database: Path) -> None:
        """Load the table from a DuckDB file."""

    def copy(self) -> None:
        """Make a plain copy of the table, and drop it."""

    def drop(self, table: str) -> None:
        """Drop a table."""

    def scans(self) -> int | None:
        """Return how often the table was scanned; None where nobody knows."""


class Postgres:
    """A PostgreSQL server."""

    def __init__(self, url: str) -> None:
        """Connect to it."""
        import psycopg

        self.source = url
        self.connection = psycopg.connect(url, autocommit=True)

    def load(self, database: Path) -> None:
        """Load the table through a file of CSV."""
        with duckdb.connect(str(database), read_only=True) as connection, tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "people.csv"
            described = connection.execute("DESCRIBE people").fetchall()
            connection.execute("COPY people TO $file (HEADER false)", {"file": str(file)})
            types = {"BIGINT": "bigint", "INTEGER": "integer", "VARCHAR": "text"}
            columns = ", ".join(f'"{name}" {types[kind]}' for name, kind, *_ in described)
            self.connection.execute(f"CREATE TABLE people ({columns})")
            with file.open("rb") as rows, self.connection.cursor().copy("COPY people FROM STDIN (FORMAT csv)") as copy:
                while data := rows.read(1 << 20):
                    copy.write(data)
        self.connection.execute("VACUUM ANALYZE people")

    def copy(self) -> None:
        """Make a plain copy of the table, and drop it."""
        self.connection.execute("CREATE TABLE plain_copy AS SELECT * FROM people")
        self.drop("plain_copy")

    def drop(self, table: str) -> None:
        """Drop a table."""
        self.connection.execute(f'DROP TABLE "{table}"')

    def scans(self) -> int:
        """Return how often a process began to scan the table: each parallel worker is one."""
        self.connection.execute("SELECT pg_stat_force_next_flush()")
        row = self.connection.execute("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'people'").fetchone()
        return int(row[0]) if row else 0


class Spark:
    """Spark in local mode."""

    def __init__(self, directory: Path) -> None:
        """Start it."""
        self.source = spark_session(directory / "spark")
        self.directory = directory

    def load(self, database: Path) -> None:
        """Load the table through a Parquet file."""
        file = self.directory / "people.parquet"
        with duckdb.connect(str(database), read_only=True) as connection:
            connection.execute("COPY people TO $file", {"file": str(file)})
        self.source.read.parquet(str(file)).write.saveAsTable(TABLE)

    def copy(self) -> None:
        """Make a plain copy of the table, and drop it."""
        self.source.sql("CREATE TABLE plain_copy AS SELECT * FROM people")
        self.drop("plain_copy")

    def drop(self, table: str) -> None:
        """Drop a table."""
        self.source.sql(f"DROP TABLE {table}")

    def scans(self) -> None:
        """Return nothing: the tests count jobs."""


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that work takes, and what it returns."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def run(place: Place, subject: Subject | Made, algorithm: str) -> dict[str, float]:
    """Return the seconds of each step of a run."""
    policy = replace(subject.policy, algorithm=algorithm)
    release = kanon.anonymize(place.source, TABLE, policy=policy)
    with release:
        release.to_table("released", ignore_ledger=True)
        place.drop("released")
        return {**release.seconds, "tuples": release.prepared.frequency.tuples, "loss": release.loss}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["postgres", "spark"])
    parser.add_argument("--adult", type=Path, required=True, help="the directory of the Adult data")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--algorithm", default="optimal")
    parser.add_argument("--tuples", type=int, help="a table of growth.py instead, with so many distinct tuples")
    parser.add_argument("--stages", action="store_true", help="what Spark did for the last run")
    asked = parser.parse_args()
    subject = Subject(asked.adult) if asked.tuples is None else Made(asked.rows, asked.tuples)
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / FILE
        subject.make(database, asked.rows)
        if asked.engine == "spark":
            measure(Spark(Path(directory)), subject, database, asked)
            return
        programs = postgres_programs()
        if programs is None:
            sys.exit("There is no PostgreSQL server here.")
        with postgres_server(programs, as_installed=True) as url:
            measure(Postgres(url), subject, database, asked)


def measure(place: Place, subject: Subject | Made, database: Path, asked: argparse.Namespace) -> None:
    """Measure one place and print what was found."""
    place.load(database)
    place.copy()  # once for nothing: whatever is read first is read from the disk
    copies, wholes, steps, scans = [], [], [], []
    stages = None
    for _ in range(asked.repeat):
        copies.append(timed(place.copy)[0])
        stages = Stages(place.source) if asked.stages and isinstance(place, Spark) else None
        before = place.scans()
        seconds, found = timed(lambda: run(place, subject, asked.algorithm))
        wholes.append(seconds)
        steps.append(found)
        scans.append(None if before is None else (place.scans() or 0) - before)
    copy, whole = median(copies), median(wholes)
    print(f"{asked.engine}, {asked.rows:,} rows, {asked.algorithm}: {steps[-1]['tuples']:,} tuples")
    print(f"  CREATE TABLE AS SELECT *   {copy:8.2f} s   {copies}")
    print(f"  whole run                  {whole:8.2f} s   {whole / copy:.2f} times the copy   {wholes}")
    for step in (name for name in steps[-1] if name not in {"tuples", "loss"}):
        print(f"    {step:24} {median(each[step] for each in steps):8.2f} s")
    print(f"  loss {steps[-1]['loss']:.4f}; scans of the source (each parallel worker is one): {scans}")
    if stages is not None:
        stages.print()


if __name__ == "__main__":
    main()
