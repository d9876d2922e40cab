"""Loss against seconds on tables with many quasi-identifiers, whose lattices no search goes through to the end.

    python benchmarks/wide.py [--algorithm optimal:2 optimal:10 local mondrian ...]
    python benchmarks/wide.py --other /tmp/kanon_0.1.0/bin/python      # and the same with what is installed there

Two made tables: accounts (30,000 rows; 24 columns: six columns of people, six monthly states, bills and payments) and
visits (70,000 rows; 16 columns). Columns depend on each other, and most on a few numbers of each person; trees have
heights of 2 to 7. k = 5, and any share of the rows may be suppressed if nothing else is said. An algorithm may be
followed by a time limit and by options, each after a colon. What is printed is the loss of the release as kanon
measures it, what is proven, and wall and CPU seconds of the whole process.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from small import run_process, write_trees

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 24
ALGORITHMS = [
    "optimal:2",
    "optimal:5",
    "optimal:10",
    "local:10",
    "mondrian",
    "mondrian-plus:15",
    "mondrian-plus:15:numbers=tree",
]

Columns = dict[str, tuple[int, int]]
"""Of each column: its values, which are 0 to so many less one, and the height of its tree."""

ACCOUNTS: Columns = {
    "credit": (80, 4),
    "sex": (2, 1),
    "education": (7, 2),
    "marriage": (4, 2),
    "age": (60, 4),
    "district": (25, 2),
    **{f"state_{month}": (11, 3) for month in range(1, 7)},
    **{f"bill_{month}": (4_000, 7) for month in range(1, 7)},
    **{f"paid_{month}": (1_200, 6) for month in range(1, 7)},
}
VISITS: Columns = {
    "age": (90, 5),
    "sex": (2, 1),
    "origin": (12, 2),
    "town": (300, 4),
    "weight": (9, 2),
    "insurance": (18, 2),
    "admission": (8, 2),
    "discharge": (26, 3),
    "days": (14, 3),
    "specialty": (70, 3),
    "tests": (118, 4),
    "drugs": (75, 4),
    "procedures": (20, 4),
    **{f"diagnosis_{number}": (700, 3) for number in range(1, 4)},
}
SHAPES = {"accounts": (30_000, ACCOUNTS), "visits": (70_000, VISITS)}


def chance(draw: random.Random, share: float) -> bool:
    """Return True in such a share of the cases."""
    return draw.random() < share


def accounts(draw: random.Random) -> Iterator[float]:
    """Yield a person's values, each between 0 and 1: what is owed moves from month to month, and is paid or not."""
    wealth, careless, age = draw.random(), chance(draw, 0.25), draw.betavariate(2, 4)
    yield wealth**2
    yield draw.random()
    yield (wealth + draw.random()) / 2
    yield 0.3 * chance(draw, age + 0.2) + 0.3 * chance(draw, 0.05)
    yield age
    yield draw.random() ** 2
    owed, late = draw.random() ** 2, draw.randrange(3) * careless
    states, bills, payments = [], [], []
    for _ in range(6):
        owed = min(1.0, max(0.0, owed + draw.gauss(0, 0.08)))
        late = max(0, min(8, late + draw.choice((-1, 0, 0, 1)))) if careless else draw.choice((0, 0, 0, 1))
        used = not chance(draw, 0.12)
        states.append((2 + late) / 11 * used)
        bills.append((owed * wealth) ** 1.5 * used)
        payments.append((bills[-1] * draw.random() ** (1 if careless else 3)) ** 0.9)
    yield from (*states, *bills, *payments)


def visits(draw: random.Random) -> Iterator[float]:
    """Yield the values of a stay, each between 0 and 1: what depends on how ill a person is, and on age."""
    age, ill = draw.betavariate(4, 2), draw.random()
    stay, chapter = (ill + draw.random()) / 2, (age + draw.random()) / 2
    yield age
    yield draw.random()
    yield draw.random() ** 4
    yield draw.random() ** 3
    yield draw.random() * chance(draw, 0.05)
    yield draw.random() ** 2 * chance(draw, 0.6)
    yield draw.random() ** 2
    yield ill * draw.random() * chance(draw, 0.4)
    yield stay**2
    yield draw.random() ** 2 * chance(draw, 0.5)
    yield from ((stay + draw.random()) / 2, stay * draw.random(), stay * draw.random() * chance(draw, 0.55))
    yield from (min(1.0, max(0.0, draw.gauss(chapter, spread))) ** 2 for spread in (0.1, 0.2, 0.3))


def make_table(where: Path, name: str, first: int | None = None, seed: int = SEED) -> list[str]:
    """Write a table and the hierarchies of its ``first`` columns, and return the arguments that name them."""
    rows, columns = SHAPES[name]
    draw = random.Random(seed)  # noqa: S311 - a table that is made again must be the same
    person = {"accounts": accounts, "visits": visits}[name]
    with (where / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        for _ in range(rows):
            table.writerow(
                10 + min(values - 1, int(values * share))
                for (values, _), share in zip(columns.values(), person(draw), strict=True)
            )
    known = dict(islice(columns.items(), first))
    return [f"{name}.csv", *write_trees(where, name, known), "--rest", "drop"]


def run(python: str, table: list[str], algorithm: str, max_suppressed: str, where: Path) -> str:
    """Run kanon once, and return what is printed of it."""
    name, *rest = algorithm.split(":")
    search = ["-k", "5", "--max-suppressed", max_suppressed, "--algorithm", name]
    limits = [f"--{each}" if "=" in each else f"--time-limit={each}" for each in rest if each]
    output = ["--format", "json", "--out", "out.csv", "--replace", "--quiet", "--ignore-ledger"]
    done, cpu, wall = run_process(python, ["anonymize", *table, *search, *limits, *output], where)
    if done.returncode:
        return f"{'':>10}{'':>10}{wall:10.2f}{cpu:10.2f}   {done.stderr.decode().strip().splitlines()[-1][:80]}"
    said = json.loads(done.stdout)
    gap = "" if said.get("gap") is None else f"{said['gap']:.1%}"
    return f"{said['measures']['loss']:10.4f}{gap:>10}{wall:10.2f}{cpu:10.2f}{said['rows_suppressed']:10,}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(SHAPES), help="of accounts, visits (default: both)")
    parser.add_argument("--algorithm", nargs="+", default=ALGORITHMS, help="each with :SECONDS, :numbers=tree")
    parser.add_argument("--other", metavar="PYTHON", help="the interpreter of an environment to compare with")
    parser.add_argument("--columns", type=int, help="how many are quasi-identifiers, from the first on (default: all)")
    parser.add_argument("--seed", type=int, default=SEED, help="of the tables")
    parser.add_argument("--max-suppressed", default="1", help="the share of the rows that may be suppressed")
    arguments = parser.parse_args()
    pythons = {"": sys.executable, **({"other": arguments.other} if arguments.other else {})}
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        print(f"{'k = 5':<45}{'loss':>10}{'gap':>10}{'wall':>10}{'CPU':>10}{'left out':>10}")
        for name in arguments.tables:
            table = make_table(where, name, arguments.columns, arguments.seed)
            for python in pythons.values():  # the first run of each does not count: it compiles
                run(python, table, "optimal:1", arguments.max_suppressed, where)
            for algorithm in arguments.algorithm:
                for kind, python in pythons.items():
                    found = run(python, table, algorithm, arguments.max_suppressed, where)
                    print(f"{name}, {algorithm:<29}{kind:<6}{found}", flush=True)


if __name__ == "__main__":
    main()
