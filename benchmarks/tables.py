"""Seconds of a database that is released together, as a ratio to a plain copy of all of its tables in the same run.

    python benchmarks/tables.py [--patients 10000 100000 1000000] [--km 1 2] [--most-of-two 10000]

The hospital of ``tests/support/hospital.py``: patients, with ten events each in three tables of which two have
quasi-identifiers, and drugs; k = 5, and as many rows suppressed as it takes. Each run is a process of its own, which
writes a new schema of the same file; what is printed are wall seconds of the copy, of the whole run with imports, its
steps, and its peak memory. With more than one known event only up to ``--most-of-two`` patients are tried.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from hospital import make_hospital

TABLES = ("patients", "visits", "results", "prescriptions", "drugs")
POLICY = """
[privacy]
k = 5
km = {km}
[search]
max_suppressed = 1.0
[release]
seed = 1
[tables.patients]
rows = "people"
person = "patient_id"
identifying = ["name"]
quasi_identifiers = ["birth_date", "sex", "zip"]
hierarchies = { birth_date = "date:year,decade", zip = "mask:right:1,2,3,4", sex = "flat" }
[tables.visits]
rows = "events"
person = "patient_id"
key = "visit_id"
quasi_identifiers = ["admission_date", "ward"]
sensitive = ["diagnosis"]
hierarchies = { admission_date = "date:month,quarter,year", ward = "flat" }
[tables.results]
rows = "events"
person = { through = "visit_id", to = "visits" }
identifying = ["result_id"]
quasi_identifiers = ["test"]
insensitive = ["value"]
hierarchies = { test = "flat" }
[tables.prescriptions]
rows = "events"
person = { through = "visit_id", to = "visits" }
identifying = ["id"]
insensitive = ["drug_id", "dose"]
[tables.drugs]
rows = "kept"
"""


def copied(file: Path) -> float:
    """Return the seconds of a plain copy of all tables into another schema of the file."""
    begun = time.perf_counter()
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE SCHEMA copies")
        for table in TABLES:
            connection.execute(f"CREATE TABLE copies.{table} AS FROM main.{table}")
        connection.execute("CHECKPOINT")
    seconds = time.perf_counter() - begun
    with duckdb.connect(str(file)) as connection:
        connection.execute("DROP SCHEMA copies CASCADE")
    return seconds


def released(file: Path, policy: Path) -> tuple[float, dict[str, float], float]:
    """Return the seconds of a run, those of its steps, and its peak memory in GB."""
    command = [sys.executable, "-m", "kanon_sql", "anonymize", str(file), "--policy", str(policy)]
    command += ["--into-schema", "released", "--replace", "--ignore-ledger", "--format", "json", "-q"]
    begun = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own program
    seconds = time.perf_counter() - begun
    return seconds, json.loads(done.stdout)["seconds"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--km", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--most-of-two", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for patients in arguments.patients:
            file = make_hospital(Path(directory) / f"hospital_{patients}.duckdb", patients)
            copy = min(copied(file) for _ in range(3))
            for km in arguments.km:
                if km > 1 and patients > arguments.most_of_two:
                    continue
                policy = Path(directory) / f"{km}.toml"
                policy.write_text(POLICY.replace("{km}", str(km)), encoding="utf-8")
                seconds, steps, memory = released(file, policy)
                copies = f"copy {copy:.2f} s, run {seconds:.2f} s = {seconds / copy:.1f} copies"
                shown = ", ".join(f"{name} {value:.2f}" for name, value in steps.items())
                print(f"{patients:,} patients, km {km}: {copies}; {shown}; {memory:.2f} GB", flush=True)


if __name__ == "__main__":
    main()
