"""Whether a run ends well, and leaves its source as it was, when it may not take much memory.

    python benchmarks/limits.py                                        # 10,000,000 rows, 300 MB
    python benchmarks/limits.py --rows 1000000 --memory-limit 150MB
    python benchmarks/limits.py --algorithm optimal --threads 1

A demo table (8 columns, 4 of them quasi-identifiers, nearly every row a tuple of its own: the hard case) is anonymized
into a table and into a Parquet file by each algorithm, each run a process of its own on a copy of the database. For
each: how it ended, seconds, peak memory of the process, whether the rows of the source are what they were (their number
and the sum of their hashes), and what was left beside it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from kanon_sql.cli.commands.demo import make_demo_file

SOURCE, RELEASE = "admissions.duckdb", "released.parquet"
POLICY = (
    *("--entity", "patient_id"),
    *("--id", "name", "--qi", "birth_date,sex,zip,admission_date", "--sensitive", "diagnosis", "--rest", "keep"),
    *("-k", "5", "--max-suppressed", "0.02", "--seed", "1", "-q"),
)


def rows_of(path: Path) -> tuple[int, int]:
    """Return how many rows the source has, and the sum of their hashes."""
    with duckdb.connect(path, read_only=True) as connection:
        found = connection.execute("SELECT count(*), sum(hash(admissions)) FROM admissions").fetchall()
    return found[0]


def main() -> None:
    """Run what was asked for and print a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--memory-limit", default="300MB")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--algorithm", nargs="+", default=["optimal", "local", "mondrian"])
    asked = parser.parse_args()
    limits = ["--memory-limit", asked.memory_limit]
    limits += ["--threads", str(asked.threads)] if asked.threads else []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        made = place / "made.duckdb"
        make_demo_file(made, asked.rows)
        before = rows_of(made)
        for algorithm in asked.algorithm:
            for target in (["--into", "released"], ["--out", RELEASE]):
                work = Path(tempfile.mkdtemp(dir=place))
                shutil.copy(made, work / SOURCE)
                options = [*POLICY, *limits, "--algorithm", algorithm, *target]
                print(algorithm, target[0], *run(work, options), sep=" | ")
                intact = "rows intact" if rows_of(work / SOURCE) == before else "ROWS CHANGED"
                left = sorted(set(os.listdir(work)) - {SOURCE, RELEASE})  # noqa: PTH208 - hidden files too, as names
                print("   ", intact, f"left beside it: {', '.join(left) or 'nothing'}", sep=" | ", flush=True)
                shutil.rmtree(work)


def run(work: Path, arguments: list[str]) -> tuple[str, str, str]:
    """Return how a run ended, its seconds, and its peak memory."""
    command = [sys.executable, "-m", "kanon_sql", "anonymize", SOURCE, "admissions", *arguments]
    begin = time.perf_counter()
    with (work / "said").open("w+") as said:
        process = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=said)  # noqa: S603 - our own
        _, status, usage = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        ended = "finished" if code == 0 else f"exit code {code}: {said.read().strip()}"
    (work / "said").unlink()
    return ended, f"{time.perf_counter() - begin:.0f} s", f"{usage.ru_maxrss / 1024:.0f} MB"


if __name__ == "__main__":
    main()
