"""How a whole run scales, as a ratio to a plain copy of the table in the same run.

    python benchmarks/scale.py                            # demo tables of 50,000, 1,000,000 and 10,000,000 rows
    python benchmarks/scale.py --rows 1000000 --repeat 5
    python benchmarks/scale.py --count people
    python benchmarks/scale.py --algorithm mondrian
    python benchmarks/scale.py --algorithm mondrian --adult ../shared/data/adult

Demo tables hold nearly every row as a tuple of its own; k = 5, of rows, or of people, who have up to two rows each.
With --adult the tables are rows drawn from Adult with replacement, their ages jittered by up to three years, with eight
quasi-identifiers and k = 10: rows that are alike, as in most tables of people. --k asks for another k.

For each size: the time of CREATE TABLE AS SELECT *, of one GROUP BY over the quasi-identifiers, and of each step of
kanon's run from hierarchies to verification, each the median of several runs, alternating; their ratio to the copy;
node tests, or rounds of cuts; and the peak memory of a process that does only the copy, and of one that does only the
run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
from sqlglot import exp

from kanon_sql.cli.commands.demo import TABLE as DEMO_TABLE
from kanon_sql.cli.commands.demo import demo_policy, make_demo_file
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.progress import silent
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.release.anonymize import make_release
from kanon_sql.sql import build as sql

ADULT_TABLE = "people"
ADULT_COLUMNS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
DRAW_ADULT = """
    CREATE TABLE people AS
    SELECT adult.* EXCLUDE (row) REPLACE (least(90, greatest(17, age + floor(7 * random())::INTEGER - 3)) AS age)
    FROM (SELECT floor(30162 * random())::INTEGER + 1 AS drawn FROM range($rows))
    JOIN (SELECT row_number() OVER () AS row, * FROM read_csv($file, delim = ';')) AS adult ON row = drawn
"""
STEPS = ("hierarchies", "frequency_set", "search", "measure", "publish", "verify")


@dataclass(frozen=True)
class Subject:
    """What is measured: tables of the demo, or rows drawn from Adult where the directory of it is given."""

    adult: Path | None
    k: int | None = None
    count: str = "rows"

    @property
    def table(self) -> str:
        """Return the table's name."""
        return DEMO_TABLE if self.adult is None else ADULT_TABLE

    @property
    def policy(self) -> Policy:
        """Return what its release must be."""
        if self.adult is None:
            policy = demo_policy(self.k or 5)
            if self.count == "people":
                return policy
            columns = replace(policy.columns, identifying=("patient_id", "name"), entity=None)
            return replace(policy, columns=columns, models=(KAnonymity(self.k or 5),), count="rows")
        columns = NamedColumns(quasi_identifiers=ADULT_COLUMNS, rest="keep")
        return Policy(columns=columns, models=(KAnonymity(self.k or 10),), hierarchy_directory=self.adult, seed=1)

    def make(self, path: Path, rows: int) -> None:
        """Make a database with the table."""
        if self.adult is None:
            make_demo_file(path, rows)
            return
        with duckdb.connect(path, config={"threads": 1}) as connection:
            connection.execute("SELECT setseed(0.5)")
            connection.execute(DRAW_ADULT, {"rows": rows, "file": str(self.adult / "adult.csv")})


def copy_table(path: Path, subject: Subject) -> dict[str, float]:
    """Return the seconds of a plain copy of the table, and of one GROUP BY over its quasi-identifiers."""
    with DuckDBEngine.from_file(path, writable=True) as engine:
        target = sql.relation("plain_copy")
        begin = time.perf_counter()
        engine.run(sql.create_table(target, exp.select("*").from_(sql.relation(subject.table))))
        copied = time.perf_counter()
        columns = [sql.column(name) for name in subject.policy.columns.quasi_identifiers]
        groups = exp.select(sql.named(sql.count_rows(), "n")).from_(subject.table).group_by(*columns).subquery("groups")
        engine.rows(exp.select(sql.count_rows(), exp.Max(this=sql.column("n"))).from_(groups))
        grouped = time.perf_counter()
        engine.run(sql.drop(target))
    return {"copy": copied - begin, "group_by": grouped - copied}


def anonymize(path: Path, subject: Subject, max_suppressed: float, algorithm: str) -> dict[str, float]:
    """Return the seconds of each step of a run, and what it found."""
    begin = time.perf_counter()
    source = open_source(str(path), subject.table, writable=True)
    with source.engine:
        policy = replace(subject.policy, max_suppressed=max_suppressed, algorithm=algorithm)
        release = make_release(source, policy, silent)
        release.to_table("released", replace=True)
        total = time.perf_counter() - begin
        source.engine.run(sql.drop(sql.relation("released")))
        found = {
            **release.seconds,
            "total": total,
            "nodes_tested": release.result.nodes_tested,
            "lattice_size": release.prepared.lattice.size,
            "tuples": release.prepared.frequency.tuples,
            "classes": release.classes,
            "loss": release.loss,
            "optimal": release.optimal,
        }
        return found if release.cutting is None else {**found, "rounds": release.cutting["rounds"]}


def in_process(what: str, path: Path, subject: Subject, max_suppressed: float, algorithm: str) -> dict[str, Any]:
    """Return what a process of its own measures, with its peak memory in megabytes."""
    command = [
        sys.executable,
        __file__,
        "--only",
        what,
        "--database",
        str(path),
        "--max-suppressed",
        str(max_suppressed),
        "--algorithm",
        algorithm,
    ]
    command += [] if subject.k is None else ["--k", str(subject.k)]
    command += [] if subject.adult is None else ["--adult", str(subject.adult)]
    command += ["--count", subject.count]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))  # noqa: S603 - this very file


def measure(subject: Subject, rows: int, repeat: int, max_suppressed: float, algorithm: str, directory: Path) -> None:
    """Print the figures of one size."""
    path = directory / f"{subject.table}_{rows}.duckdb"
    subject.make(path, rows)
    plain, ours = [], []
    for _ in range(repeat):
        plain.append(in_process("copy", path, subject, max_suppressed, algorithm))
        ours.append(in_process("anonymize", path, subject, max_suppressed, algorithm))
    copy = median(run["copy"] for run in plain)
    last = ours[-1]
    print(
        f"\n{rows:,} rows, {last['tuples']:,} distinct tuples, median of {repeat}, "
        f"{algorithm}, at most {max_suppressed:.0%} suppressed"
    )
    print(f"{'step':<16}{'seconds':>10}{'x copy':>10}")
    figures = {"copy": copy, "group by": median(run["group_by"] for run in plain)}
    figures |= {step.replace("_", " "): median(run[step] for run in ours) for step in STEPS}
    figures["whole run"] = median(run["total"] for run in ours)
    for step, seconds in figures.items():
        print(f"{step:<16}{seconds:>10.3f}{seconds / copy:>10.2f}")
    work = f"node tests {last['nodes_tested']:.0f} of {last['lattice_size']:,}"
    if "rounds" in last:
        work = f"{last['rounds']:.0f} rounds of cuts"
    print(f"{work}; {last['classes']:,} classes; loss {last['loss']:.4f}; optimal {last['optimal']}")
    print(f"peak memory: copy {max(r['peak'] for r in plain):,.0f} MB, run {max(r['peak'] for r in ours):,.0f} MB")
    path.unlink()


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[50_000, 1_000_000, 10_000_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--max-suppressed", type=float, default=0.02)
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="optimal")
    parser.add_argument("--adult", type=Path, help="the directory of adult.csv and its hierarchies")
    parser.add_argument("--k", type=int)
    parser.add_argument("--count", choices=["rows", "people"], default="rows", help="what k counts in demo tables")
    parser.add_argument("--only", choices=["copy", "anonymize"], help=argparse.SUPPRESS)
    parser.add_argument("--database", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    subject = Subject(arguments.adult, arguments.k, arguments.count)
    if arguments.only:
        found: dict[str, Any] = (
            copy_table(arguments.database, subject)
            if arguments.only == "copy"
            else anonymize(arguments.database, subject, arguments.max_suppressed, arguments.algorithm)
        )
        found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory(prefix="kanon-benchmark-") as directory:
        for rows in arguments.rows:
            measure(subject, rows, arguments.repeat, arguments.max_suppressed, arguments.algorithm, Path(directory))


if __name__ == "__main__":
    main()
