"""CPU seconds until ``kanon`` does something: the start of the program, and what a small run costs.

    python benchmarks/start.py [--runs 7]

Prints, for each command, the least CPU time (user and system, of the whole process) of several runs. Byte code is
written to a temporary directory first, as an installed package has it. ``imports`` is what ``kanon anonymize`` imports
before it reads its options; ``duckdb, sqlglot, typer`` is the part of it that is not ours.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ANONYMIZE = "anonymize a.duckdb t --qi age --hierarchy age=flat --into released --replace --quiet --ignore-ledger"
KANON = [sys.executable, "-m", "kanon_sql"]
COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "duckdb, sqlglot, typer": [sys.executable, "-c", "import gc; gc.disable(); import duckdb, sqlglot, typer"],
    "kanon --version": [*KANON, "--version"],
    "kanon --help": [*KANON, "--help"],
    "kanon anonymize --help": [*KANON, "anonymize", "--help"],
    "imports of kanon anonymize": [
        *(sys.executable, "-c", "import gc; gc.disable(); from kanon_sql.cli.main import load; load(['anonymize'])"),
    ],
    "kanon anonymize (24 rows)": [*KANON, *ANONYMIZE.split()],
}


def cpu_seconds(command: list[str], where: Path, environment: dict[str, str]) -> float:
    """Return the CPU time that a process takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=where, env=environment, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 - ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(where / "byte_code")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        rows = "CREATE TABLE t AS SELECT i // 6 AS age FROM range(24) AS r(i)"
        table = f"import duckdb; duckdb.connect('a.duckdb').execute({rows!r})"
        subprocess.run([sys.executable, "-c", table], cwd=where, env=environment, check=True)  # noqa: S603 - ours
        for name, command in COMMANDS.items():
            seconds = [cpu_seconds(command, where, environment) for _ in range(runs + 1)][1:]
            print(f"{name:<28}{min(seconds):6.3f} s")


if __name__ == "__main__":
    main()
