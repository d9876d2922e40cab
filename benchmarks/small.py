"""CPU and wall seconds of whole processes on small tables: what a user waits for.

    python benchmarks/small.py [--adult ../shared/data/adult] [--runs 5]
    python benchmarks/small.py --other /tmp/kanon_0.1.0/bin/python      # and the ratio to what is installed there

Adult, and three made tables with the rows, columns, distinct values and heights of well-known ones; k = 5, at most 0,
5 % or any share of the rows suppressed; published as a CSV file, measured and verified. Each figure is the minimum of
several runs; with --other, runs alternate. Then the seconds of each step of the quickest run, as kanon prints them, and
what starting costs. Byte code is written to a temporary directory first, as an installed package has it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

LIMITS = {"0": "0", "5 %": "0.05", "none": "1"}
ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
SHAPES = {
    # name: rows, and of each column the distinct values and the height of its tree
    "accidents": (100_937, [(99, 5), (20, 2), (14, 3), (33, 3), (3, 1), (10, 2), (51, 3), (8, 2)]),
    "donors": (63_441, [(13_000, 5), (97, 4), (5, 1), (8, 2), (53, 1), (800, 4), (85, 4), (130, 4)]),
    "questionnaire": (
        *(73_489, [(90, 4), (40, 3), (30, 3), (2, 1), (9, 2), (12, 2), (15, 2), (9, 2), (20, 2), (11, 2)]),
    ),
}
SEED = 20
DRAWN = {"accidents": (7.5, 0.5), "donors": (24.0, 0.0), "questionnaire": (4.0, 0.5)}
"""How frequent low values are, and how much of a value the columns of a person have in common. Chosen so that 0.1.0
tests about as many nodes of a table as of the one that it stands for (benchmarks/README.md)."""


@dataclass
class Measured:
    """The least seconds of several runs of a command, and the steps of the run with the least CPU time."""

    cpu: float = float("inf")
    wall: float = float("inf")
    steps: dict[str, float] = field(default_factory=dict)


def make_table(where: Path, name: str) -> list[str]:
    """Write a table and the hierarchies of its columns, and return the arguments that name them."""
    rows, columns = SHAPES[name]
    skew, common = DRAWN[name]
    draw = random.Random(SEED)  # noqa: S311 - a table that is made again must be the same
    names = [f"c{place}" for place in range(len(columns))]
    with (where / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        for _ in range(rows):
            person = common * draw.random()
            own = 1 - common
            table.writerow(10 + int(values * (person + own * draw.random()) ** skew) for values, _ in columns)
    return [f"{name}.csv", *write_trees(where, name, dict(zip(names, columns, strict=True)))]


def write_trees(where: Path, name: str, columns: dict[str, tuple[int, int]]) -> list[str]:
    """Write hierarchies of whole numbers from 10, and return the arguments that name them.

    ``columns`` has the number of values of each column, and the height of its tree.
    """
    arguments = []
    for column, (values, height) in columns.items():
        fan = next(fan for fan in range(2, values + 1) if fan**height >= values)
        with (where / f"{name}_{column}.csv").open("w", newline="", encoding="utf-8") as file:
            tree = csv.writer(file, delimiter=";")
            for value in range(values):
                labels = [f"{level}-{value // fan**level}" for level in range(1, height)]
                tree.writerow([10 + value, *labels, "*"])
        arguments += ["--qi", column, "--hierarchy", f"{column}={name}_{column}.csv"]
    return arguments


def of_adult(adult: Path) -> list[str]:
    """Return the arguments that name Adult and the hierarchies of its columns."""
    files = {column: adult.absolute() / f"adult_hierarchy_{column}.csv" for column in ADULT}
    options = [each for column, file in files.items() for each in ("--qi", column, "--hierarchy", f"{column}={file}")]
    return [str(adult.absolute() / "adult.csv"), *options, "--rest", "drop"]


def run(python: str, arguments: list[str], where: Path) -> Measured:
    """Run kanon once, as it is installed there."""
    done, cpu, wall = run_process(python, arguments, where)
    done.check_returncode()
    return Measured(cpu, wall, json.loads(done.stdout)["seconds"] if "json" in arguments else {})


def run_process(
    python: str, arguments: list[str], where: Path
) -> tuple[subprocess.CompletedProcess[bytes], float, float]:
    """Run kanon once, as it is installed there; return how it ended, its CPU seconds and its wall seconds."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(where / "byte_code")}
    for name in ("PYTHONDONTWRITEBYTECODE", *(["PYTHONPATH"] if python != sys.executable else [])):
        environment.pop(name, None)
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [python, "-m", "kanon_sql", *arguments]
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, check=False)  # noqa: S603 - ours
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


def measure(pythons: list[str], arguments: list[str], runs: int, where: Path) -> list[Measured]:
    """Return the least seconds of a command in each environment; the first run of each does not count."""
    least = [Measured() for _ in pythons]
    for turn in range(runs + 1):
        for place, python in enumerate(pythons):
            once = run(python, arguments, where)
            if turn:
                best = least[place]
                steps = once.steps if once.cpu < best.cpu else best.steps
                least[place] = Measured(min(once.cpu, best.cpu), min(once.wall, best.wall), steps)
    return least


def line(name: str, measured: list[Measured]) -> str:
    """Return what is printed of a command."""
    own, *others = measured
    ratios = "".join(f"{other.cpu / own.cpu:8.2f}{other.wall / own.wall:8.2f}" for other in others)
    steps = ", ".join(f"{step.replace('_', ' ')} {seconds:.2f}" for step, seconds in own.steps.items())
    return f"{name:<24}{own.cpu:8.3f}{own.wall:8.3f}{ratios}   {steps}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["adult", *SHAPES], help="of adult, accidents, ... (default: all)")
    parser.add_argument("--adult", type=Path, default=Path("../shared/data/adult"), help="the directory of adult.csv")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--other", metavar="PYTHON", help="the interpreter of an environment to compare with")
    arguments = parser.parse_args()
    pythons = [sys.executable, *([arguments.other] if arguments.other else [])]
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        print(f"{'least seconds':<24}{'CPU':>8}{'wall':>8}" + f"{'ratio':>8}{'ratio':>8}" * (len(pythons) - 1))
        for name in arguments.tables:
            table = of_adult(arguments.adult) if name == "adult" else make_table(where, name)
            for limit, share in LIMITS.items():
                options = ["-k", "5", "--max-suppressed", share, "--format", "json", "--out", "out.csv", "--replace"]
                command = ["anonymize", *table, *options, "--ignore-ledger", "--quiet"]
                measured = measure(pythons, command, arguments.runs, where)
                print(line(f"{name}, {limit}", measured), flush=True)
        for option in ("--version", "--help"):
            print(line(option, measure(pythons, [option], arguments.runs, where)))


if __name__ == "__main__":
    main()
