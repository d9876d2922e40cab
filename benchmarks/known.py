"""Seconds of ``kanon known``: every column, pair and triple of the 24 columns of the accounts of ``wide.py``.

    python benchmarks/known.py [--max-columns 3]

As they are made, where nearly every row is alone by some triple; and coarse, with at most eight texts in a column,
where most triples have a few classes that are too small. With rows, and with people, who have two rows each. What is
printed are wall and CPU seconds of the whole process, and who is in a class of fewer than 5.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path

from small import run_process
from wide import ACCOUNTS, make_table

_TEXTS = 8  # of a column of the coarse table
_ROWS = 2  # of each person


def write_tables(where: Path) -> None:
    """Write the accounts, raw and coarse, with the number of a person in each row."""
    make_table(where, "accounts")
    with (where / "accounts.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    most = [max(int(value) for value in column) for column in zip(*rows, strict=True)]
    for name in ("raw", "coarse"):
        with (where / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow([*header, "person"])
            for number, row in enumerate(rows):
                texts = (f"part {int(value) * _TEXTS // (top + 1)}" for value, top in zip(row, most, strict=True))
                table.writerow([*(row if name == "raw" else texts), number // _ROWS])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-columns", default="3", help="columns of the largest subsets (default: 3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        write_tables(where)
        command = ["--qi", ",".join(ACCOUNTS), "--max-columns", arguments.max_columns, "--format", "json"]
        print(f"{'k = 5':<24}{'subsets':>10}{'wall':>10}{'CPU':>10}{'found':>10}{'of':>10}")
        for members, said in (("rows", ["--count", "rows"]), ("people", ["--entity", "person"])):
            for name in ("raw", "coarse"):
                done, cpu, wall = run_process(sys.executable, ["known", f"{name}.csv", *command, *said], where)
                found = json.loads(done.stdout)
                above = found["by_number"][-1]["in_too_small"]
                figures = f"{len(found['subsets']):10,}{wall:10.2f}{cpu:10.2f}{above:10,}{found['members']:10,}"
                print(f"{name + ', ' + members:<24}{figures}", flush=True)


if __name__ == "__main__":
    main()
