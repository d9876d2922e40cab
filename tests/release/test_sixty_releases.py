"""Sixty releases that no change of the code may change: every algorithm, model, destination and engine.

``snapshots/releases.json`` has, for each, a digest of its published rows (sorted, as CSV) and what ``--format json``
says about it, but for paths, times and versions. A change on purpose is approved with ``--approve``, and its commit
names old and new.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from engines import PLACES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conftest import Ended

    Kanon = Callable[..., Ended]

APPROVED = Path(__file__).parents[1] / "snapshots" / "releases.json"
ROWS = 600
TYPES = {
    "person": "INTEGER",
    "age": "INTEGER",
    "sex": "VARCHAR",
    "zip": "VARCHAR",
    "born": "DATE",
    "height": "DOUBLE",
    "job": "VARCHAR",
    "illness": "VARCHAR",
    "cost": "DECIMAL(9,2)",
    "stay": "INTEGER",
}
BASE = (
    *("--rest", "drop", "--seed", "7", "--format", "json", "-q"),
    *("--hierarchy", "age=intervals:5,10,20", "--hierarchy", "zip=mask", "--hierarchy", "sex=flat"),
)
QI = ("--qi", "age,sex,zip")
MORE = (*QI, "--qi", "job,born", "--hierarchy", "job=jobs.csv", "--hierarchy", "born=date:month,year")
ILL = ("--sensitive", "illness")
OUT = ("--out", "out.csv")
GREEDY = ("--choice", "greedy")

FILES: dict[str, Sequence[str]] = {
    # Algorithms, with and without suppression
    **{f"{name} limit 0": (*QI, "--algorithm", name, "--max-suppressed", "0", *OUT) for name in (
        "optimal", "incognito", "samarati", "samarati-first", "datafly", "local", "spolg", "mondrian", "mondrian-plus"
    )},
    **{f"{name} limit 5 %": (*MORE, "--algorithm", name, "--max-suppressed", "0.05", "-k", "10", *OUT) for name in (
        "optimal", "datafly", "local", "spolg", "mondrian", "mondrian-plus"
    )},
    "mondrian distinct, relaxed": (*MORE, "--algorithm", "mondrian", "--choose", "distinct", "--cut", "relaxed", *OUT),
    "mondrian loss": (*MORE, "--algorithm", "mondrian", "--choose", "loss", *OUT),
    "mondrian random, sets": (*MORE, "--algorithm", "mondrian", "--choose", "random", "--labels", "set", *OUT),
    "mondrian ranges, means": (
        *MORE, "--algorithm", "mondrian", "--labels", "range", "--numbers", "mean", "--qi", "height", *OUT
    ),
    "mondrian-plus tree, no pairs": (*MORE, "--algorithm", "mondrian-plus", "--numbers", "tree", "--pairs", "0", *OUT),
    "spolg sampled": (*MORE, "--algorithm", "spolg", "--sample-rate", "0.3", *OUT),
    # Measures
    **{f"by {measure}": (*MORE, "--measure", measure, *OUT) for measure in (
        "gcp", "precision", "nonuniform_entropy", "discernibility", "average_class_size"
    )},
    # Models
    "l = 3, mondrian": (*QI, *ILL, "--l", "3", *OUT),
    "l = 3, mondrian-plus": (*QI, *ILL, "--l", "3", "--algorithm", "mondrian-plus", *OUT),
    "l = 3, optimal": (*QI, *ILL, "--l", "3", "--algorithm", "optimal", *GREEDY, *OUT),
    "l = 3, local": (*MORE, *ILL, "--l", "3", "--algorithm", "local", *GREEDY, *OUT),
    "entropy-l": (*QI, *ILL, "--entropy-l", "2.5", "--algorithm", "optimal", *GREEDY, *OUT),
    "recursive": (*QI, *ILL, "--recursive", "2,2", "--algorithm", "incognito", "--max-suppressed", "0", *GREEDY, *OUT),
    "alpha": (*QI, *ILL, "--alpha", "0.6", *OUT),
    "t equal": (*QI, *ILL, "--t", "0.3", *OUT),
    "t ordered": (
        *QI, "--sensitive", "stay", "--t", "0.2", "--algorithm", "samarati", "--max-suppressed", "0", *GREEDY, *OUT
    ),
    "t hierarchical": (
        *QI, "--sensitive", "job", "--hierarchy", "job=jobs.csv", "--t", "0.3", "--distance", "hierarchical",
        "--algorithm", "optimal", *GREEDY, *OUT,
    ),
    "beta": (*QI, *ILL, "--beta", "2", "--algorithm", "optimal", *GREEDY, *OUT),
    "enhanced beta": (*QI, *ILL, "--enhanced-beta", "2", "--algorithm", "local", *GREEDY, *OUT),
    "delta": (*QI, *ILL, "--delta", "2", "--algorithm", "optimal", *GREEDY, *OUT),
    "k-map": (*QI, "--k-map", "20", "--population", "people.csv", *OUT),
    "presence": (*QI, "--presence", "0,0.8", "--population", "people.csv", *OUT),
    "known 2": (*MORE, "--known", "2", *OUT),
    # Rules, levels, preparing, people
    "published by rules": (
        *QI, "--publish", "height=round:10", "--publish", "cost=top:90", "--publish", "stay=microaggregate:4",
        "--keep", "height,cost,stay", *OUT,
    ),
    "levels": (*MORE, "--levels", "zip=2..3", "--levels", "sex=0", *OUT),
    "prepared": (*QI, "--prepare", "decade=age // 10", "--qi", "decade", "--hierarchy", "decade=flat", *OUT),
    "people": ("--entity", "person", *QI, "--count", "people", "-k", "4", *OUT),
    "people, mondrian-plus": (
        "--entity", "person", *MORE, "--count", "people", "-k", "4", "--algorithm", "mondrian-plus", *OUT
    ),
    "held out": (*QI, "--hold-out", "0.1", "--control", "control.csv", *OUT),
    # Files
    "tab and comma": (*QI, "--keep", "cost", "--delimiter", "tab", "--out-decimal", "comma", *OUT),
    "parquet": (*QI, "--keep", "cost,height", "--out", "out.parquet"),
    "json": (*QI, "--keep", "cost,height", "--out", "out.json"),
    "excel": (*QI, "--keep", "cost,height", "--out", "out.xlsx"),
}  # fmt: skip
"""Releases of a CSV file, by name: the options beside ``BASE``."""

TABLES: dict[str, tuple[str, Sequence[str]]] = {
    "a table": ("duckdb", (*MORE, "--into", "out")),
    "a view": ("duckdb", (*MORE, "--into", "out", "--as", "view")),
    "in place": ("duckdb", (*QI, "--in-place", "--no-backup")),
    "postgres, a table": ("postgres", (*MORE, "--into", "out")),
    "postgres, a view": ("postgres", (*QI, "--into", "out", "--as", "view")),
    "postgres, mondrian": ("postgres", (*QI, *ILL, "--l", "2", "--into", "out")),
    "postgres, on the warehouse": ("postgres", (*QI, "--search-on", "warehouse", "--into", "out")),
    "spark, a table": ("spark", (*QI, "--into", "out")),
}
"""Releases of a table in a database, by name: the engine, and the options."""


def rows() -> Iterator[list[Any]]:
    drawn = random.Random(20261129)  # noqa: S311 - no secret
    jobs = ["nurse", "doctor", "teacher", "tutor", "cook", "waiter"]
    for number in range(ROWS):
        age = min(99, max(0, round(drawn.gauss(45, 18))))
        born = f"{2024 - age}-{drawn.randint(1, 12):02}-{drawn.randint(1, 28):02}"
        yield [
            *(number * 2 // 3, age, drawn.choice("FM"), f"{drawn.choice([101, 102, 205]):03}{drawn.randint(0, 19):02}"),
            *(born, round(drawn.gauss(171, 9), 1), drawn.choice(jobs)),
            *(drawn.choice(["flu", "flu", "cough", "asthma", "burn"]), f"{drawn.expovariate(0.02):.2f}"),
            min(30, int(drawn.expovariate(0.2))),
        ]


def write_table(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(TYPES), *rows()])


@pytest.fixture
def made(in_tmp: Path) -> Path:
    """A directory with the table, a population four times as large, and a hierarchy."""
    write_table(in_tmp / "in.csv")
    header, *table = (in_tmp / "in.csv").read_text(encoding="utf-8").splitlines()
    (in_tmp / "people.csv").write_text("\n".join([header, *table * 4]) + "\n", encoding="utf-8")
    levels = {"nurse": "health", "doctor": "health", "teacher": "school", "tutor": "school", "cook": "kitchen"}
    lines = [f"{job};{group};*" for job, group in {**levels, "waiter": "kitchen"}.items()]
    (in_tmp / "jobs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return in_tmp


def digest(rows: Sequence[Sequence[Any]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(sorted([[str(value) for value in row] for row in rows]))
    return hashlib.sha256(written.getvalue().encode()).hexdigest()[:16]


def said(found: Any) -> Any:
    """Return what JSON says of a release, without what differs from run to run; numbers to nine digits."""
    if isinstance(found, dict):
        left_out = re.compile(
            "seconds|time|version|path|place|source|table|file|fingerprint|statements|warehouse|destination"
            "|remedies|emptied"
        )
        return {key: said(value) for key, value in found.items() if not left_out.search(key)}
    if isinstance(found, list):
        return [said(value) for value in found]
    return float(f"{found:.9g}") if isinstance(found, float) else found


def require_as_approved(name: str, found: dict[str, Any], request: pytest.FixtureRequest) -> None:
    approved = json.loads(APPROVED.read_text(encoding="utf-8")) if APPROVED.exists() else {}
    if request.config.getoption("--approve"):
        approved[name] = found
        lines = [f"{json.dumps(one)}: {json.dumps(approved[one])}" for one in [*FILES, *TABLES] if one in approved]
        APPROVED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    assert found == json.loads(json.dumps(approved[name]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_release_of_a_file(name: str, made: Path, kanon: Kanon, request: pytest.FixtureRequest) -> None:
    options = FILES[name]
    rows_are_people = () if "people" in options else ("--id", "person", "--count", "rows")
    ended = kanon("anonymize", "in.csv", *BASE, *rows_are_people, *options)
    assert ended.code == 0, ended.err
    out = made / options[options.index("--out") + 1]
    if out.suffix == ".csv":
        delimiter = "\t" if "tab" in options else ","
        with out.open(encoding="utf-8", newline="") as file:
            published = list(csv.reader(file, delimiter=delimiter))
    elif out.suffix == ".xlsx":
        from python_calamine import load_workbook

        published = load_workbook(str(out)).get_sheet_by_index(0).to_python()
    else:
        published = duckdb.sql(f"FROM '{out}'").fetchall()
    require_as_approved(name, {"rows": digest(published), "said": said(ended.json)}, request)


@pytest.mark.thorough
@pytest.mark.parametrize("name", TABLES)
def test_release_of_a_table(name: str, made: Path, kanon: Kanon, request: pytest.FixtureRequest) -> None:
    engine, options = TABLES[name]
    with PLACES[engine](request, made) as place:
        place.load("t", TYPES, list(rows()))
        ended = kanon("anonymize", place.typed, "t", *BASE, "--id", "person", "--count", "rows", *options)
        assert ended.code == 0, ended.err
        published = place.rows("t" if "--in-place" in options else "out")
    require_as_approved(name, {"rows": digest(published), "said": said(ended.json)}, request)


def test_there_are_sixty() -> None:
    assert len(FILES) + len(TABLES) == 60
