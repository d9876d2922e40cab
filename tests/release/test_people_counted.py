"""Several rows of one person: k counts people, or the run stops, or the output says that rows were counted."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import files_in, tables_of

import kanon_sql as kanon_of
from kanon_sql.errors import UsageError
from kanon_sql.policy.policy import read_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

QI = ["birth_date", "sex", "town"]
FIRST = ["Ann", "Bea", "Cem", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jan"]
LAST = ["Abel", "Boll", "Cruz", "Dorn", "Egan", "Funk", "Gray", "Hahn", "Ivey", "Jung"]


def patients(number: int, *, namesakes: int = 1) -> list[dict[str, Any]]:
    """Return patients: each name belongs to so many of them, who have nothing else in common."""
    draw = random.Random(7)  # noqa: S311 - a test table
    return [
        {
            "patient_id": 1000 + 7 * place,
            "name": f"{FIRST[name % 10]} {LAST[name // 10 % 10]} {name // 100}",
            "first_name": FIRST[name % 10],
            "last_name": f"{LAST[name // 10 % 10]}{name // 100}",
            "uuid_of_it": f"{place:032x}",
            "birth_date": pd.Timestamp(1930, 1, 1) + pd.Timedelta(days=draw.randrange(25_000)),
            "sex": draw.choice("FM"),
            "town": draw.choice(["North", "South", "East"]),
        }
        for place, name in ((place, place // namesakes) for place in range(number))
    ]


def visits(people: list[dict[str, Any]], each: int) -> pd.DataFrame:
    """Return a table with so many rows of each person, each at a hospital, by a doctor, with a diagnosis of its own."""
    draw = random.Random(8)  # noqa: S311 - a test table
    rows = [
        {
            **person,
            "visit_id": number,
            "hospital_id": draw.randrange(4),
            "hospital": draw.choice(["Hill", "Lake", "Park"]),
            "lab_id": draw.randrange(9),
            "doctor_id": draw.randrange(12),
            "diagnosis": draw.choice(["flu", "cough", "burn"]),
        }
        for number, person in enumerate(one for one in people for _ in range(each))
    ]
    draw.shuffle(rows)
    return pd.DataFrame(rows)


@pytest.fixture
def ward(in_tmp: Path) -> Path:
    """A database with 60 patients with 8 visits each; ``rare`` of them are alone in their town."""
    frame = visits(patients(60), 8)
    frame.loc[frame["patient_id"] < 1000 + 7 * 5, "town"] = "Far"
    frame.loc[frame["patient_id"] == 1000, "town"] = "Farther"
    path = in_tmp / "ward.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE visits AS SELECT * REPLACE (birth_date::DATE AS birth_date) FROM frame")
    return path


def members_of_classes(database: Path, released: Path, quasi_identifiers: list[str]) -> list[tuple[int, int]]:
    """Return the rows and the different patients of each published class, found by the number of each visit."""
    with duckdb.connect(str(database), read_only=True) as connection:
        patient_of = dict(connection.execute("SELECT visit_id, patient_id FROM visits").fetchall())
    classes: dict[tuple[str, ...], list[int]] = defaultdict(list)
    with released.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            classes[tuple(row[name] for name in quasi_identifiers)].append(patient_of[int(row["visit_id"])])
    return [(len(rows), len(set(rows))) for rows in classes.values()]


ALL = ["patient_id", "name", "first_name", "last_name", "visit_id", "hospital_id", "hospital", "doctor_id"]
KEEP = [
    *("--keep", "name,first_name,last_name,uuid_of_it,birth_date,visit_id,hospital_id,hospital,doctor_id"),
    *("--rest", "keep"),
]
ASK = ["visits", "--id", "patient_id", "--qi", "sex,town", "--sensitive", "diagnosis", *KEEP, "-k", 5]
# Nothing is generalized where a class of one patient is large enough in rows.
FULL = [*ASK, "--hierarchy", "sex=flat", "--hierarchy", "town=flat", "--max-suppressed", 0.2, "--seed", 1]


def test_visits_without_an_entity_are_refused_with_both_ways_on(ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: 'k = 5 holds', and the classes of Farther are one patient each."""
    before, files = tables_of(ward), files_in(ward.parent)
    ended = kanon("anonymize", ward, *FULL, "--out", "released.csv")
    assert ended.code == 2
    assert "visits: several rows are of one person: patient_id has repeated values (60 in 480 rows)" in ended.err
    assert "--entity patient_id" in ended.err
    assert "--count rows" in ended.err
    assert not ended.out
    assert (tables_of(ward), files_in(ward.parent)) == (before, files)


@pytest.mark.thorough
def test_people_are_counted_in_every_published_class(ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: there is no ``smallest_class_people``. By brute force over the published rows."""
    ended = kanon("anonymize", ward, *FULL, "--entity", "patient_id", "--out", "released.csv", "--format", "json")
    assert ended.code == 0, ended.err
    classes = members_of_classes(ward, ward.parent / "released.csv", ["sex", "town"])
    assert min(people for _, people in classes) >= 5
    found = ended.json
    assert found["smallest_class_people"] == found["k"] == min(people for _, people in classes)
    assert found["smallest_class"] == min(rows for rows, _ in classes)
    assert (found["counted"], found["entity"], found["count"]) == ("people", "patient_id", "people")
    text = kanon("anonymize", ward, *FULL, "--entity", "patient_id", "--out", "again.csv").out
    people, rows = found["smallest_class_people"], found["smallest_class"]
    assert f"smallest class has {people} people (patient_id); the one of fewest rows has {rows} rows" in text


@pytest.mark.thorough
def test_rows_that_were_asked_for_are_called_rows(ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: there is no ``--count``. The release has classes of one patient, and says what it counted."""
    asked = ("anonymize", ward, *FULL, "--count", "rows")
    ended = kanon(*asked, "--out", "released.csv", "--report", "report.json", "--format", "json")
    assert ended.code == 0, ended.err
    classes = members_of_classes(ward, ward.parent / "released.csv", ["sex", "town"])
    assert min(people for _, people in classes) == 1
    found = ended.json
    assert (found["counted"], found["count"], found["entity"]) == ("rows", "rows", None)
    assert found["smallest_class"] == min(rows for rows, _ in classes)
    assert found["smallest_class_people"] is None
    assert "counted      rows, not people" in kanon(*asked, "--out", "again.csv").out
    kanon(*asked, "--out", "third.csv", "--report", "report.md")
    page = (ward.parent / "report.md").read_text().replace("\n", " ")
    assert "Nobody is alone" not in page
    assert "cannot tell which of them is hers" not in page
    assert "a class may be of one person" in page
    report = (ward.parent / "report.json").read_text()
    assert "k counts rows, not people" in report
    assert '"smallest_class_people": null' in report


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["html", "md"])
def test_the_report_says_both(ward: Path, kanon: Callable[..., Ended], suffix: str) -> None:
    """Fails on 0.1.0: the first page has people or rows."""
    ended = kanon(
        *("anonymize", ward, *FULL, "--entity", "patient_id", "--out", "released.csv", "--report", f"report.{suffix}")
    )
    assert ended.code == 0, ended.err
    classes = members_of_classes(ward, ward.parent / "released.csv", ["sex", "town"])
    text = (ward.parent / f"report.{suffix}").read_text()
    assert "people in the smallest class" in text
    assert "rows in the smallest class" in text
    assert f"{min(people for _, people in classes)} people" in text
    assert "Nobody is alone in a class" in text.replace("\n", " ")
    assert "k counts rows" not in text


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command",
    [
        ("anonymize", *ASK, "--into", "released"),
        ("anonymize", *ASK, "--into", "released", "--as", "view"),
        ("anonymize", *ASK, "--in-place", "--no-backup"),
        ("anonymize", *ASK, "--in-place", "--no-backup", "--dry-run"),
        ("anonymize", *ASK, "--sql"),
        ("report", *ASK, "--out", "report.html"),
        ("compare", "visits", "--qi", "sex,town", "-k", "5"),
        ("lattice", "visits", "--qi", "sex,town", "-k", "5"),
    ],
    ids=lambda command: " ".join(map(str, [command[0], *command[-2:]])),
)
def test_every_command_that_promises_k_has_the_same_rule(
    ward: Path, kanon: Callable[..., Ended], command: tuple[object, ...]
) -> None:
    """Fails on 0.1.0: each of them counts rows."""
    name, *rest = command
    before, files = tables_of(ward), files_in(ward.parent)
    ended = kanon(name, ward, *rest)
    assert ended.code == 2
    assert "--entity patient_id" in ended.err
    assert (tables_of(ward), files_in(ward.parent)) == (before, files)
    if "--in-place" not in rest:
        assert kanon(name, ward, *rest, "--count", "rows").code == 0
        assert kanon(name, ward, *rest, "--entity", "patient_id", *_replacing(name)).code == 0


def _replacing(command: object) -> list[str]:
    return [] if command in {"compare", "lattice"} else ["--replace"]


def anonymized(frame: pd.DataFrame, identifying: list[str], **asked: Any) -> kanon_of.Release:
    settings = {"quasi_identifiers": QI, "rest": "drop", "models": [kanon_of.KAnonymity(2)], "max_suppressed": 1.0}
    return kanon_of.anonymize(frame, identifying=identifying, **{**settings, **asked})


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("named", "kept", "says"),
    [
        ([], ["patient_id"], "its name says that it numbers people"),
        (["patient_id", "name"], ["patient_id"], "with entity patient_id"),
        (["name"], ["patient_id"], "patient_id has repeated values"),
    ],
    ids=["dropped number", "number and name", "name"],
)
def test_rows_of_one_person_are_recognized(named: list[str], kept: list[str], says: str) -> None:
    """Fails on 0.1.0: all of these are published with k counted in rows."""
    frame = visits(patients(80), 2)
    columns = {*named, *kept, *QI, "diagnosis", "hospital_id"}
    table = frame[[name for name in frame if name in columns]].copy()
    with pytest.raises(UsageError, match=says):
        anonymized(table, named)
    with anonymized(table, named, count="rows") as release:
        assert release.summary()["counted"] == "rows"


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("named", "kept", "warned"),
    [
        (["name"], [], ["name"]),
        (["first_name", "last_name"], [], ["first_name", "last_name"]),
        (["hospital_id"], ["lab_id", "doctor_id"], ["hospital_id"]),
        (["doctor_id"], [], []),
        (["lab_id"], [], ["lab_id"]),
        (["hospital"], [], ["hospital"]),
        (["stamp_q"], [], ["stamp_q"]),
        (["patient_id"], [], []),
        (["name"], ["person_no"], []),
        (["patient_id"], ["visit_id"], []),
        (["birth_year"], [], ["birth_year"]),
        (["born"], [], ["born"]),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, list) else str(value),
)
def test_what_repeats_by_chance_or_names_something_else_stops_nothing(
    named: list[str], kept: list[str], warned: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One row of each patient; three of them have each name. Fails on 0.1.0, which does not warn where it warns."""
    frame = visits(patients(300, namesakes=3), 1)
    frame["stamp_q"] = frame["town"].map({"North": "4a", "South": "7c", "East": "9d"})
    frame["birth_year"] = frame["birth_date"].dt.year
    frame["person_no"] = range(len(frame))
    frame["born"] = frame["birth_date"]
    table = frame[[*dict.fromkeys([*named, *kept, *QI])]].copy()
    if "patient_id" in named:
        table["patient_id"] = table["patient_id"].astype("Int64").where(table.index % 10 > 0)  # NULL names nobody
    with anonymized(table, named) as release:
        repeated = release.summary()["findings"]
    assert [name for one in repeated for name in one["columns"]] == warned
    assert all(not one["refused"] for one in repeated)
    assert capsys.readouterr() == ("", "")  # the library never prints


@pytest.mark.thorough
def test_the_warning_is_on_stderr(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: nothing is said of names that repeat."""
    visits(patients(300, namesakes=3), 1)[["name", *QI]].to_csv(in_tmp / "people.csv", index=False)
    asked = ("anonymize", "people.csv", "--id", "name", "--qi", ",".join(QI), "-k", 2, "--out", "out.csv")
    ended = kanon(*asked)
    assert ended.code == 0, ended.err
    assert "name has repeated values (100 in 300 rows)" in ended.err
    assert "They count as different people" in ended.err
    assert "name the column of people with --entity" in ended.err
    found = kanon(*asked, "--replace", "-q", "--format", "json")
    assert not found.err
    assert [one["columns"] for one in found.json["findings"]] == [["name"]]


@pytest.mark.thorough
def test_count_is_a_setting_of_the_policy(ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: there is no such setting."""
    saved = ward.parent / "rows.toml"
    ended = kanon("anonymize", ward, *ASK, "--count", "rows", "--out", "one.csv", "--save-policy", saved)
    assert ended.code == 0, ended.err
    assert 'count = "rows"' in saved.read_text()
    assert read_policy(saved)[0].count == "rows"
    assert kanon("anonymize", ward, "visits", "--policy", saved, "--out", "two.csv").code == 0
    # The command line goes before the file.
    named = kanon(
        *("anonymize", ward, "visits", "--policy", saved, "--entity", "patient_id", "--out", "three.csv"),
        *("--format", "json"),
    )
    assert named.json["counted"] == "people"
    refused = kanon("anonymize", ward, "visits", "--policy", saved, "--count", "people", "--out", "four.csv")
    assert refused.code == 2
    assert "--entity patient_id" in refused.err


@pytest.mark.parametrize("where", ["options", "file", "both"])
def test_rows_of_a_named_person_are_a_contradiction(ward: Path, kanon: Callable[..., Ended], where: str) -> None:
    """Fails on 0.1.0: there is no such setting."""
    file = ward.parent / "kanon.toml"
    count = 'count = "rows"' if where == "file" else ""
    columns = 'quasi_identifiers = ["sex"]\nrest = "drop"\nentity = "patient_id"'
    file.write_text(f"[columns]\n{columns}\n[privacy]\n{count}\n")
    asked = {
        "options": ("--qi", "sex", "--rest", "drop", "--entity", "patient_id", "--count", "rows"),
        "file": ("--policy", file),
        "both": ("--policy", file, "--count", "rows"),
    }[where]
    ended = kanon("anonymize", ward, "visits", *asked, "--out", "released.csv")
    assert ended.code == 2
    assert "patient_id names the person, and people are counted by it" in ended.err
    assert not (ward.parent / "released.csv").exists()


@pytest.mark.thorough
def test_the_library_takes_an_entity_and_a_count(ward: Path) -> None:
    """Fails on 0.1.0: ``anonymize()`` has neither."""
    asked: dict[str, Any] = {"quasi_identifiers": ["sex"], "rest": "drop"}
    with kanon_of.anonymize(ward, "visits", **asked, entity="patient_id") as release:
        assert release.summary()["smallest_class_people"] >= 5
    with kanon_of.anonymize(ward, "visits", **asked, count="rows") as release:
        assert release.summary()["counted"] == "rows"
    with kanon_of.prepare(ward, "visits", **asked, count="rows") as table:
        assert table.compare(algorithms=["optimal"], k=[5]).summary()["counted"] == "rows"
    with pytest.raises(UsageError, match="several rows are of one person"):
        kanon_of.prepare(ward, "visits", **asked)
    with pytest.raises(UsageError, match="names the person"):
        kanon_of.anonymize(ward, "visits", **asked, entity="patient_id", count="rows")
    with pytest.raises(UsageError, match=r"count must be people or rows\. Got 'visits'"):
        kanon_of.anonymize(ward, "visits", **asked, count="visits")  # type: ignore[arg-type]


def test_a_file_that_counts_something_else_is_refused(ward: Path, kanon: Callable[..., Ended]) -> None:
    (ward.parent / "kanon.toml").write_text('[columns]\nquasi_identifiers = ["sex"]\n[privacy]\ncount = "visits"\n')
    ended = kanon("anonymize", ward, "visits", "--policy", "kanon.toml", "--out", "released.csv")
    assert ended.code == 2
    assert "count must be people or rows. Got" in ended.err


@pytest.mark.thorough
def test_a_table_without_candidates_costs_no_scan(ward: Path) -> None:
    """Where nothing may name people, where people are named, and where rows are meant, nothing is read."""
    titles = []
    for asked in ({"entity": "patient_id"}, {"count": "rows"}):
        with kanon_of.anonymize(ward, "visits", quasi_identifiers=["sex"], rest="drop", **asked) as release:  # type: ignore[arg-type]
            titles += [logged.title for logged in release.prepared.source.engine.statements]
    with kanon_of.anonymize(pd.DataFrame({"sex": ["F", "M"] * 9}), quasi_identifiers=["sex"]) as release:
        titles += [logged.title for logged in release.prepared.source.engine.statements]
    assert not [title for title in titles if "repeat" in title]
    once = visits(patients(20), 1)[["name", "sex"]]
    with kanon_of.anonymize(once, identifying=["name"], quasi_identifiers=["sex"]) as release:
        asked_of = [logged.title for logged in release.prepared.source.engine.statements]
    assert asked_of.count("do columns that number people repeat?") == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_have_the_same_rule(in_tmp: Path, kanon: Callable[..., Ended], suffix: str) -> None:
    """Fails on 0.1.0: rows are counted."""
    frame = visits(patients(40), 3)[["patient_id", *QI]]
    path = in_tmp / f"visits.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        duckdb.from_df(frame).to_parquet(str(path))
    ended = kanon("anonymize", path, "--id", "patient_id", "--qi", ",".join(QI), "--out", "out.csv")
    assert ended.code == 2
    assert "patient_id has repeated values (40 in 120 rows)" in ended.err
    assert "--entity patient_id" in ended.err
    assert not (in_tmp / "out.csv").exists()


@pytest.mark.thorough
def test_postgresql_has_the_same_rule(postgres: str, ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: rows are counted. The names are compared where the table is."""
    with duckdb.connect(str(ward), read_only=True) as connection:
        rows = connection.execute("SELECT patient_id, name, birth_date, sex, town FROM visits").fetchall()
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("CREATE TABLE stays (patient_id integer, name text, birth_date date, sex text, town text)")
        server.cursor().executemany("INSERT INTO stays VALUES (%s, %s, %s, %s, %s)", rows)
    try:
        for table, option, ways in (("stays", "rest", "--entity patient_id"), ("stays", "rest", "--count rows")):
            for where in ("workbench", "warehouse"):
                asked = ("anonymize", postgres, table, "--id", "name", "--qi", "sex,town", f"--{option}", "drop")
                ended = kanon(*asked, "--search-on", where, "--into", "released")
                assert ended.code == 2, ended.err
                assert ways in ended.err
        assert kanon(*asked, "--count", "rows", "--out", ward.parent / "rows.csv").code == 0
    finally:
        with psycopg.connect(postgres, autocommit=True) as server:
            server.execute("DROP TABLE IF EXISTS released, stays CASCADE")


@pytest.mark.thorough
def test_spark_has_the_same_rule(spark: Any) -> None:
    """Fails on 0.1.0: rows are counted."""
    rows = [
        (one["patient_id"], one["birth_date"].date(), one["sex"], one["town"]) for one in patients(30) for _ in range(3)
    ]
    frame = spark.createDataFrame(rows, "patient_id INT, birth_date DATE, sex STRING, town STRING")
    asked: dict[str, Any] = {"quasi_identifiers": ["sex", "town"], "identifying": ["patient_id"], "rest": "drop"}
    with pytest.raises(UsageError, match="patient_id has repeated values"):
        kanon_of.anonymize(frame, **asked)
    with kanon_of.anonymize(frame, **asked, entity="patient_id") as release:
        assert release.summary()["counted"] == "people"


@pytest.mark.thorough
def test_the_first_release_that_anybody_sees_counts_people(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: the sample table has no patient_id. People are counted here by hand-written generalization."""
    found = kanon("demo", "--rows", 5000, "--format", "json").json
    assert (found["counted"], found["entity"]) == ("people", "patient_id")
    ALL = "'*' || ''"  # noqa: N806 - a constant
    steps = {
        "birth_date": ["birth_date", None, None, None, "year(birth_date) // 10", ALL, ALL],
        "sex": ["sex", ALL],
        "zip": ["zip", "zip[:4]", "zip[:3]", "zip[:1]", ALL],
        "admission_date": [
            None,
            None,
            "4 * year(admission_date) + quarter(admission_date)",
            "year(admission_date)",
            ALL,
            ALL,
        ],
    }
    labels = [steps[name][level] for name, level in found["levels"].items()]
    assert None not in labels, "write the level down here"
    with duckdb.connect(str(in_tmp / "kanon_demo.duckdb"), read_only=True) as connection:
        classes = connection.execute(
            f"""
            SELECT count(*), count(DISTINCT patient_id) FROM (SELECT *, admission_date AS stay FROM admissions)
            GROUP BY {", ".join(f"({label})" for label in labels)}
            HAVING count(DISTINCT patient_id) >= 5
            """  # noqa: S608 - a test
        ).fetchall()
        people = connection.execute(
            """
            SELECT count(*), max(n), max(different)
            FROM (
                SELECT count(*) AS n, count(DISTINCT (name, birth_date, sex, zip)) AS different
                FROM admissions GROUP BY patient_id
            )
            """
        ).fetchone()
    assert people == (4000, 2, 1)
    assert (found["classes"], found["rows_out"]) == (len(classes), sum(rows for rows, _ in classes))
    assert found["smallest_class_people"] == min(number for _, number in classes)
    assert found["smallest_class"] == min(rows for rows, _ in classes)
    assert any(rows > number for rows, number in classes)


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("number", "type_"),
    [
        ("patient_id", "DOUBLE"),
        ("patient_id", "TIMESTAMP"),
        ("health_card", "VARCHAR"),
        *((name, "VARCHAR") for name in ("bene_id", "chart_no", "inpatient_no", "outpatient_no", "nhs_no")),
    ],
)
def test_a_column_called_identifying_is_looked_at_whatever_its_name_and_type(
    ward: Path, number: str, type_: str
) -> None:
    """Fails on 0.1.0: each class is one patient, and k = 5 holds."""
    value = {"TIMESTAMP": "epoch_ms(patient_id * 1000)", "DATE": "(DATE '2000-01-01' + patient_id::INTEGER)"}
    with duckdb.connect(str(ward)) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT {value.get(type_, 'patient_id')}::{type_} AS {number}, birth_date, sex, town "  # noqa: S608 - names and numbers of this test
            "FROM visits"
        )
    with pytest.raises(UsageError, match=rf"{number} has repeated values \(60 in 480 rows\)"):
        kanon_of.anonymize(ward, "t", identifying=[number], quasi_identifiers=QI, k=5)


@pytest.mark.thorough
@pytest.mark.parametrize("number", ["file_no", "code", "hospital_no", "geheim", "health_no"])
def test_a_repeated_column_called_identifying_is_noted_where_nothing_can_be_compared(
    ward: Path, kanon: Callable[..., Ended], number: str
) -> None:
    """Fails on 0.1.0: nothing is said."""
    with duckdb.connect(str(ward)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT patient_id AS {number}, town FROM visits")  # noqa: S608 - names and numbers of this test
    ended = kanon("anonymize", ward, "t", "--id", number, "--qi", "town", "-k", 5, "--out", "out.csv")
    assert ended.code == 0, ended.err
    assert f"{number} has repeated values (60 in 480 rows)" in ended.err


def test_an_entity_that_is_another_one_in_each_row_names_no_people(ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: 'smallest class has 5 people (visit_id)', and classes are one patient."""
    asked = ("visits", "--qi", "sex,town", "-k", 5, "--entity", "visit_id")
    for command in (
        ("anonymize", ward, *asked, "--rest", "drop", "--out", "released.csv"),
        ("check", ward, *asked),
        ("measure", ward, *asked),
    ):
        ended = kanon(*command)
        assert ended.code == {"anonymize": 2, "check": 1, "measure": 0}[command[0]]
        said = " ".join((ended.err + ended.out).split())
        assert "people are to be counted by visit_id, and its name says that it numbers events" in said
        assert "--entity patient_id" in said
        assert "--count rows" in said
        assert "IS NOT VERIFIED" in said or command[0] != "check"
    assert not (ward.parent / "released.csv").exists()


@pytest.mark.thorough
def test_check_does_not_verify_rows_of_people_who_repeat(ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: 'visits satisfies the policy', where each class is one patient."""
    asked = ("check", ward, "visits", "--qi", "birth_date,sex,town", "--keep", ",".join(ALL), "-k", 5)
    ended = kanon(*asked)
    assert ended.code == 1
    assert "visits IS NOT VERIFIED to satisfy the policy" in ended.out
    assert "k = 5 IS NOT VERIFIED" in ended.out
    assert "patient_id has repeated values (60 in 480 rows)" in ended.out
    assert "--entity patient_id" in ended.out
    assert "--count rows" in ended.out
    found = kanon(*asked, "--format", "json")
    assert (found.code, found.json["holds"], found.json["verified"], found.json["k"]) == (1, False, False, None)
    assert ["patient_id"] in [one["columns"] for one in found.json["findings"]]
    assert "DOES NOT SATISFY" in kanon(*asked[:-1], 9).out  # eight rows are no nine people
    assert kanon(*asked, "--count", "rows").code == 0
    assert "smallest class has 1 person" in kanon(*asked, "--entity", "patient_id").out
    (ward.parent / "rows.toml").write_text(
        '[columns]\nquasi_identifiers = ["birth_date", "sex", "town"]\n'
        f"insensitive = {ALL}\n[privacy]\nk = 5\ncount = 'rows'\n"
    )
    assert kanon("check", ward, "visits", "--policy", "rows.toml").code == 0
    settings: dict[str, Any] = {"quasi_identifiers": QI, "insensitive": ALL, "k": 5}
    assert not kanon_of.check(ward, "visits", **settings).verified
    assert kanon_of.check(ward, "visits", **settings, count="rows").holds


@pytest.mark.thorough
def test_measure_says_that_people_repeat(ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: thresholds are met by rows, and nothing is said."""
    released = ("--rest", "drop", "--count", "rows", "--max-suppressed", 0, "--into", "released")
    assert kanon("anonymize", ward, "visits", "--qi", "birth_date,sex,town", "-k", 5, *released).code == 0
    of_table = ("measure", ward, "visits", "--qi", "birth_date,sex,town", "--keep", ",".join(ALL))
    of_release = ("measure", ward, "released", "--original", "visits", "--qi", "birth_date,sex,town")
    for asked in (of_table, of_release):
        ended = kanon(*asked)
        assert ended.code == 0, ended.err
        text = " ".join(ended.out.split())
        assert "No threshold is known to be met: several rows are of one person: patient_id" in text
        assert "--entity patient_id" in text
        found = kanon(*asked, "--format", "json").json
        risk = found["risk"].get("after", found["risk"])
        assert risk["people_repeat"] == ["patient_id"]
        assert {one["name"]: one["met"] for one in risk["thresholds"]}["pdpc-external"] is None
        assert not [one for one in risk["thresholds"] if one["met"]]
        for settled in (["--count", "rows"], ["--entity", "patient_id"]):
            assert "several rows are of one person" not in kanon(*asked, *settled).out
        assert "not verified" not in kanon(*asked, "--count", "rows").out
    assert kanon_of.risk(ward, "visits", quasi_identifiers=QI).people_repeat == ("patient_id",)
    assert kanon_of.risk(ward, "visits", quasi_identifiers=QI, count="rows").people_repeat == ()
    assert kanon_of.measure(ward, "visits", quasi_identifiers=QI).refusal is not None
    alone = kanon("measure", ward, "released", "--qi", "birth_date,sex,town", "--format", "json").json
    assert alone["risk"]["people_repeat"] == []  # nothing there tells


@pytest.mark.thorough
def test_attack_does_not_exclude_linkage_where_people_repeat(ward: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: 'none of 4 attacks succeeds', exit code 0, where each class is one patient."""
    released = ("--sensitive", "diagnosis", "--rest", "drop", "--count", "rows", "--into", "released")
    assert kanon("anonymize", ward, "visits", "--qi", "birth_date,sex,town", "-k", 5, *released).code == 0
    asked = ("attack", ward, "released", "--original", "visits", "--qi", "birth_date,sex,town")
    ended = kanon(*asked)
    assert ended.code == 1
    assert "NOT EXCLUDED" in ended.out
    assert "several rows are of one person" in ended.out
    assert "--entity patient_id" in ended.out
    linkage = kanon(*asked, "--format", "json").json["attacks"][0]
    assert (linkage["attack"], linkage["outcome"], linkage["succeeded"]) == ("linkage", "not excluded", None)
    assert kanon(*asked, "--count", "rows").code == 0
    by_people = kanon(*asked, "--entity", "patient_id", "--format", "json").json["attacks"][0]
    assert (by_people["outcome"], by_people["people"]["smallest"]) == ("succeeds", 1)
    of_python: dict[str, Any] = {"original": "visits", "quasi_identifiers": QI}
    assert kanon_of.attack(ward, "released", **of_python).endangered
    assert not kanon_of.attack(ward, "released", **of_python, count="rows").endangered


@pytest.mark.thorough
def test_people_who_are_spelled_in_several_ways_are_noted(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: one patient is five people, and nothing is said."""
    spellings = ["u@x.org", "U@X.ORG", " u@x.org", "U@x.org", "u@x.org "]
    table = pd.DataFrame({"email": [*spellings, *(f"{place}@x.org" for place in range(5))], "town": ["A", "B"] * 5})
    duckdb.from_df(table).to_parquet(str(in_tmp / "t.parquet"))
    asked = ("--qi", "town", "--entity", "email", "-k", 2)
    for command in (("anonymize", "t.parquet", *asked, "--out", "out.csv"), ("check", "t.parquet", *asked)):
        ended = kanon(*command)
        assert ended.code == 0, ended.err
        assert "email has 10 values, 6 if case, outer spaces" in ended.err
        assert "write one person in one way" in ended.err
    duckdb.from_df(table.assign(email=range(10)).astype({"email": str})).to_parquet(str(in_tmp / "t.parquet"))
    assert "outer spaces" not in kanon("check", "t.parquet", *asked).err


def test_people_without_a_name_are_noted(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0, and before an adversary found it: each class is one named person, and "k = 2 holds"."""
    names = [f"p{place}" if place % 2 else "  "[: place % 3] for place in range(10)]
    table = pd.DataFrame({"email": names, "town": ["A", "A", "B", "B", "C"] * 2})
    duckdb.from_df(table).to_parquet(str(in_tmp / "t.parquet"))
    asked = ("--qi", "town", "--hierarchy", "town=flat", "--entity", "email", "-k", 2)
    for command in (("anonymize", "t.parquet", *asked, "--out", "out.csv"), ("check", "t.parquet", *asked)):
        noted = kanon(*command).err
        assert "email has 8 values, 5 if case, outer spaces, blanks and NaN do not count" in noted
    named = table.assign(email=[name if name.strip() else None for name in names])
    duckdb.from_df(named).to_parquet(str(in_tmp / "t.parquet"))
    assert "blanks" not in kanon("check", "t.parquet", *asked).err


@pytest.mark.thorough
def test_people_who_are_not_a_number_are_noted(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    """Fails before: NaN is a person of each class that has one, without a word."""
    with duckdb.connect(str(in_tmp / "t.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT CASE WHEN i < 3 THEN 'nan'::DOUBLE ELSE i END AS who, 'A' AS town "
            "FROM range(9) AS numbers(i)"
        )
    asked = ("--qi", "town", "--hierarchy", "town=flat", "--entity", "who", "-k", 2)
    for command in (
        ("anonymize", "t.duckdb", "t", *asked, "--out", "out.csv"),
        ("check", "t.duckdb", "t", *asked[:2], *asked[4:]),
    ):
        assert "who has 7 values, 6 if case, outer spaces, blanks and NaN do not count" in kanon(*command).err


@pytest.mark.thorough
def test_sensitive_values_of_several_spellings_are_noted(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    """Fails before: "l = 2 holds" for a class of which all have flu, written in two ways, and nothing is said."""
    table = pd.DataFrame({"town": ["A"] * 6, "illness": ["flu", "Flu", "flu ", None, "cold", ""]})
    duckdb.from_df(table).to_parquet(str(in_tmp / "t.parquet"))
    asked = ("--qi", "town", "--hierarchy", "town=flat", "--sensitive", "illness", "-k", 2, "--rest", "drop")
    diverse = ("--l", 2, "--choice", "greedy")
    said = "illness has values that differ in case or in spaces around them alone (6 for 4 values)"
    assert said in kanon("anonymize", "t.parquet", *asked, *diverse, "--out", "out.csv").err
    duckdb.from_df(table.assign(illness=[*"abcdef"])).to_parquet(str(in_tmp / "t.parquet"))
    assert "in spaces" not in kanon("anonymize", "t.parquet", *asked, *diverse, "--out", "b.csv").err
