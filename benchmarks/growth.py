"""What a search costs by distinct tuples, by quasi-identifiers and by levels: node tests times seconds for each.

    python benchmarks/growth.py                                         # the three tables
    python benchmarks/growth.py tuples --counts 10000 10000000
    python benchmarks/growth.py columns --rows 1000000 --time-limit 60

The tables are made for it. All have the same number of rows, and as many different combinations of values as asked for,
each in equally many rows. Twenty combinations at a time are neighbours: each of their values is one of four that the
hierarchies join at level 2 (pairs at level 1, fours at level 2, eights at level 3, and so on). k is the rows of three
combinations, and at most 2 % is suppressed, so that the optimum is in the middle of the lattice, where tests are dear.

Each line is a process of its own: seconds for a copy of the table, its frequency set and the search; node tests; the
mean of a test (search / tests: probes, roll-ups and the costs of releases are in it); the seconds of the dearest test
there is, that of the bottom of the lattice, which groups the tuples as they are; and the peak memory.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.prepare import problem_of
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE = "people"
DRAWN = """
    CREATE TEMPORARY MACRO drawn(who, number, most) AS (
        4 * floor(most / 4 * (hash(1000 * (who // 20) + number) / 18446744073709551616.0) ** 2)
            + hash(-1000 * who - number) % 4
    )::INTEGER
"""
HEADER = ("tuples", "columns", "height", "lattice", "copy", "frequency", "search", "tests", "each", "dearest", "peak")


@dataclass(frozen=True)
class Shape:
    """A table and its lattice.

    Attributes:
        rows: of the table.
        tuples: distinct combinations of quasi-identifiers, or few less.
        columns: quasi-identifiers.
        height: of each hierarchy: its levels beyond the values themselves.
        values: of each quasi-identifier.
        time_limit: seconds after which the search takes the best so far.
    """

    rows: int
    tuples: int
    columns: int = 8
    height: int = 3
    values: int = 64
    time_limit: float = 120

    @property
    def policy(self) -> Policy:
        """Return what the release must be."""
        names = [f"q{number}" for number in range(self.columns)]
        widths = ",".join(str(2**level) for level in range(1, self.height))
        return Policy(
            columns=NamedColumns(quasi_identifiers=tuple(names), rest="keep"),
            models=(kanon.KAnonymity(3 * self.rows // self.tuples),),
            hierarchies=dict.fromkeys(names, f"intervals:{widths}"),
            max_suppressed=0.02,
            time_limit=self.time_limit,
            seed=1,
        )

    def make(self, path: Path) -> float:
        """Make the table, and return the seconds of a plain copy of it."""
        who = exp.Mod(this=sql.column("range"), expression=sql.literal(self.tuples))
        rows = exp.Table(this=exp.Anonymous(this="range", expressions=[sql.literal(self.rows)]))
        columns = []
        for number, name in enumerate(self.policy.columns.quasi_identifiers):
            drawn = exp.Anonymous(this="drawn", expressions=[who, sql.literal(number), sql.literal(self.values)])
            columns.append(sql.named(drawn, name))
        query = exp.select(sql.named(sql.column("range"), "row"), *columns).from_(rows)
        with duckdb.connect(str(path)) as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute(DRAWN)
            connection.execute(sql.create_table(sql.relation(TABLE), query).sql("duckdb"))
            begin = time.perf_counter()
            connection.execute("CREATE TABLE plain_copy AS SELECT * FROM people")
            seconds = time.perf_counter() - begin
            connection.execute("DROP TABLE plain_copy")
        return seconds


def searched(path: Path, shape: Shape) -> tuple[str, ...]:
    """Return what preparing and searching took, without the time of the copy."""
    with kanon.prepare(str(path), TABLE, policy=shape.policy) as table:
        prepared = table.prepared
        release = table.anonymize()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        evidence = Evidence(problem_of(prepared, shape.policy))
        begin = time.perf_counter()
        evidence.test(prepared.lattice.bottom)
        dearest = time.perf_counter() - begin
    tests, seconds = release.result.nodes_tested, release.seconds["search"]
    return (
        f"{prepared.seconds['frequency_set']:.2f} s",
        f"{seconds:.2f} s" + ("" if release.optimal else " (not proven)"),
        f"{tests}",
        f"{1000 * seconds / tests:,.0f} ms",
        f"{1000 * dearest:,.0f} ms",
        f"{peak:,.0f} MB",
        f"{prepared.frequency.tuples:,}",
        f"{prepared.lattice.size:,}",
    )


def measure(shape: Shape) -> tuple[str, ...]:
    """Return a line of a table."""
    with tempfile.TemporaryDirectory(prefix="kanon-growth-") as directory:
        path = Path(directory) / "people.duckdb"
        with alone() as pool:
            copy = pool.submit(shape.make, path).result()
        with alone() as pool:
            *figures, peak, tuples, lattice = pool.submit(searched, path, shape).result()
    return (tuples, f"{shape.columns}", f"{shape.height}", lattice, f"{copy:.2f} s", *figures, peak)


def alone() -> ProcessPoolExecutor:
    """Return a process of its own, whose peak memory is that of what it does alone."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


def table(title: str, shapes: Iterable[Shape]) -> None:
    """Print a table, line by line as they are measured."""
    print(f"\n{title}\n\n| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}", flush=True)
    for shape in shapes:
        print(f"| {' | '.join(measure(shape))} |", flush=True)


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["tuples", "columns", "levels"])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--counts", type=int, nargs="*", default=[10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--tuples", type=int, default=1_000_000, help="of the tables by columns and by levels")
    parser.add_argument("--time-limit", type=float, default=120)
    asked = parser.parse_args()
    rows, limit = asked.rows, asked.time_limit
    series = {
        "tuples": [Shape(rows, count, time_limit=limit) for count in asked.counts],
        "columns": [Shape(rows, asked.tuples, columns=count, time_limit=limit) for count in (4, 8, 12, 16)],
        "levels": [Shape(rows, asked.tuples, height=height, time_limit=limit) for height in (2, 3, 4, 6)],
    }
    for what, shapes in series.items():
        if asked.what in {None, what}:
            table(f"By {what}, {rows:,} rows:", shapes)


if __name__ == "__main__":
    main()
