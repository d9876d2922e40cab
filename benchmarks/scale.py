"""How a whole run scales, as a ratio to a plain copy of the table in the same run.

    python benchmarks/scale.py                            # demo tables of 50,000, 1,000,000 and 10,000,000 rows
    python benchmarks/scale.py --rows 1000000 --repeat 5
    python benchmarks/scale.py --algorithm mondrian

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
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.anonymizer import make_release
from kanon_sql.demo import QUASI_IDENTIFIERS, TABLE, demo_policy, make_demo_file
from kanon_sql.engine.duckdb import DuckDBEngine
from kanon_sql.engine.sources import open_source
from kanon_sql.progress import silent
from kanon_sql.search.run import NAMES

if TYPE_CHECKING:
    from kanon_sql.policy import Algorithm

STEPS = ("hierarchies", "frequency_set", "search", "measure", "publish", "verify")


def copy_table(path: Path) -> dict[str, float]:
    """Return the seconds of a plain copy of the table, and of one GROUP BY over its quasi-identifiers."""
    with DuckDBEngine.from_file(path, writable=True) as engine:
        target = sql.relation("plain_copy")
        begin = time.perf_counter()
        engine.run(sql.create_table(target, exp.select("*").from_(sql.relation(TABLE))))
        copied = time.perf_counter()
        columns = [sql.column(name) for name in QUASI_IDENTIFIERS]
        groups = exp.select(sql.named(sql.count_rows(), "n")).from_(TABLE).group_by(*columns).subquery("groups")
        engine.rows(exp.select(sql.count_rows(), exp.Max(this=sql.column("n"))).from_(groups))
        grouped = time.perf_counter()
        engine.run(sql.drop(target))
    return {"copy": copied - begin, "group_by": grouped - copied}


def anonymize(path: Path, max_suppressed: float, algorithm: Algorithm) -> dict[str, float]:
    """Return the seconds of each step of a run, and what it found."""
    begin = time.perf_counter()
    source = open_source(str(path), TABLE, writable=True)
    with source.engine:
        policy = replace(demo_policy(5), max_suppressed=max_suppressed, algorithm=algorithm)
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


def in_process(what: str, path: Path, max_suppressed: float, algorithm: str) -> dict[str, Any]:
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
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))  # noqa: S603 - this very file


def measure(rows: int, repeat: int, max_suppressed: float, algorithm: str, directory: Path) -> None:
    """Print the figures of one size."""
    path = directory / f"demo_{rows}.duckdb"
    make_demo_file(path, rows)
    plain, ours = [], []
    for _ in range(repeat):
        plain.append(in_process("copy", path, max_suppressed, algorithm))
        ours.append(in_process("anonymize", path, max_suppressed, algorithm))
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
    parser.add_argument("--algorithm", choices=NAMES, default="optimal")
    parser.add_argument("--only", choices=["copy", "anonymize"], help=argparse.SUPPRESS)
    parser.add_argument("--database", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        found: dict[str, Any] = (
            copy_table(arguments.database)
            if arguments.only == "copy"
            else anonymize(arguments.database, arguments.max_suppressed, arguments.algorithm)
        )
        found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory(prefix="kanon-benchmark-") as directory:
        for rows in arguments.rows:
            measure(rows, arguments.repeat, arguments.max_suppressed, arguments.algorithm, Path(directory))


if __name__ == "__main__":
    main()
