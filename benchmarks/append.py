"""Seconds of appending new rows to a release of a million, as ratios to a plain copy of the new rows in the same run.

    python benchmarks/append.py [--rows 100000 1000000]

The release has three quasi-identifiers, k = 5 and people counted. What is timed is ``kanon.apply`` with all that
belongs to it: the fingerprint of the release, the classes of the batch, publishing, verification, rows that wait.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import duckdb

import kanon_sql as kanon

ROWS = """
    SELECT
      i + $first AS id,
      20 + CAST(hash(i + $first) % 60 AS INTEGER) AS age,
      ['F', 'M'][1 + CAST(hash(i * 7 + $first) % 2 AS INTEGER)] AS sex,
      CAST(10000 + hash(i * 13 + $first) % 900 AS VARCHAR) AS zip,
      ['flu', 'cold', 'asthma', 'cough'][1 + CAST(hash(i * 17 + $first) % 4 AS INTEGER)] AS diagnosis
    FROM range($number) AS numbers(i)
"""
ASKED = {
    "quasi_identifiers": ["age", "sex", "zip"],
    "sensitive": ["diagnosis"],
    "entity": "id",
    "hierarchies": {"age": "intervals:5,10,20,40", "sex": "flat", "zip": "mask"},
}


def main() -> None:
    """Print a line for each kind of recoding and each number of new rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    sizes = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "clinic.duckdb"
        copied = {}
        with duckdb.connect(str(path)) as connection:
            for place, rows in enumerate([1_000_000, *sizes]):
                made = connection.sql(ROWS, params={"first": 10_000_000 * place, "number": rows})
                made.create(f"rows_{place}")
                begun = time.perf_counter()
                connection.table(f"rows_{place}").create("copy")
                copied[place] = time.perf_counter() - begun
                connection.execute("DROP TABLE copy")
        for algorithm in ("optimal", "local"):
            lock = path.with_name(f"{algorithm}.lock")
            with kanon.anonymize(path, "rows_0", **ASKED, k=5, algorithm=algorithm) as release:
                release.to_table(algorithm, lock=lock, ignore_ledger=True)
            for place, rows in enumerate(sizes, start=1):
                begun = time.perf_counter()
                found = kanon.apply(lock, f"rows_{place}", append=algorithm, ignore_ledger=True)
                seconds = time.perf_counter() - begun
                print(
                    f"{algorithm:<8} {rows:>10,} new rows: {seconds:6.2f} s, {seconds / copied[place]:5.1f} copies; "
                    f"{found.rows_waiting:,} wait"
                )


if __name__ == "__main__":
    main()
