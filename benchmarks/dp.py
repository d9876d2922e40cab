"""What an answer of ``kanon dp`` costs in time, as a multiple of a plain copy of the table in the same run.

python benchmarks/dp.py --rows 10000000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import duckdb

from kanon_sql import dp

QUESTIONS: dict[str, dp.Question] = {
    "count": dp.Count(epsilon=1),
    "count of people": dp.Count(epsilon=1, entity="person"),
    "sum": dp.Sum(column="cost", bounds=(0, 1000), epsilon=1),
    "sum of people": dp.Sum(column="cost", bounds=(0, 1000), epsilon=1, entity="person", max_rows=3),
    "mean of people": dp.Mean(column="cost", bounds=(0, 1000), epsilon=1, entity="person", max_rows=3),
    "histogram": dp.Histogram(column="ward", keys=["1", "2", "3"], epsilon=1),
    "histogram of people": dp.Histogram(column="ward", keys=["1", "2", "3"], epsilon=1, entity="person", max_rows=3),
    "frequent keys": dp.Histogram(column="ward", delta="1e-6", epsilon=1),
    "quantile": dp.Quantile(column="cost", bounds=(0, 1000), epsilon=1),
    "quantile of people": dp.Quantile(column="cost", bounds=(0, 1000), epsilon=1, entity="person", max_rows=3),
}


def main() -> None:
    """Time each question once the table is in memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "table.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "CREATE TABLE visits AS SELECT i % (CAST($rows AS BIGINT) // 4) AS person, hash(i) % 200 AS ward, "
                "(hash(i + 1) % 100000) / 100.0 AS cost, 'note ' || i AS note FROM range($rows) AS r(i)",
                {"rows": arguments.rows},
            )
            dp.set_budget(connection, "visits", epsilon=1000, delta="0.1")
            copy = min(_seconds(lambda: _copied(connection)) for _ in range(arguments.repeat))
            print(f"{arguments.rows:,} rows; a copy takes {copy:.2f} s")
            for name, question in QUESTIONS.items():
                taken = min(
                    _seconds(lambda asked=question: dp.ask(connection, "visits", asked))  # type: ignore[misc]  # bound now
                    for _ in range(arguments.repeat)
                )
                print(f"{name:22} {taken:7.2f} s  {taken / copy:5.2f} copies")


def _copied(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE OR REPLACE TABLE copied AS SELECT * FROM visits")


def _seconds(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]  # a function
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
