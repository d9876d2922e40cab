"""New rows of a release: what is added between any two states satisfies the models by itself, and the rest waits."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import files_in, tables_of
from effort import count, examples
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon
from kanon_sql import DistinctLDiversity, EntropyLDiversity, KAnonymity
from kanon_sql.cli.main import run
from kanon_sql.engine.base import Column
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.hierarchy.given import build_hierarchy
from kanon_sql.hierarchy.rules import column_facts
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Ended

Row = tuple[Any, ...]
COLUMNS = ["row", "person", "age", "zip", "sex", "disease"]
TYPES = ["INTEGER", "INTEGER", "INTEGER", "VARCHAR", "VARCHAR", "VARCHAR"]
RULES = {"age": "intervals:10,20", "zip": "mask", "sex": "flat"}


def make(path: Path, table: str, rows: Sequence[Row]) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(COLUMNS, TYPES, strict=True))
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE {table} ({columns})")
        for row in rows:
            connection.table(table).insert(row)


def release(path: Path, lock: Path | None, table: str = "visits", **asked: Any) -> kanon.Release:
    said: dict[str, Any] = {
        "quasi_identifiers": ["age", "zip", "sex"],
        "sensitive": ["disease"],
        "insensitive": ["row"],
        "rest": "drop",
        "entity": "person",
        "hierarchies": RULES,
        "k": 2,
        "max_suppressed": 0.5,
    }
    made = kanon.anonymize(path, table, **said | asked)
    made.to_table("released", lock=lock)
    made.close()
    return made


def released(path: Path) -> list[Row]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.sql("SELECT row, age, zip, sex, disease FROM released ORDER BY row").fetchall()


def waiting(path: Path) -> list[Row]:
    with duckdb.connect(str(path), read_only=True) as connection:
        there = connection.sql("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'kanon'").fetchall()
        if ("waiting_released",) not in there:
            return []
        return connection.sql("SELECT row, age, zip, sex, disease FROM kanon.waiting_released ORDER BY row").fetchall()


# By hand

FIRST = [
    (1, 1, 21, "100", "F", "flu"),
    (2, 2, 24, "101", "F", "flu"),
    (3, 3, 35, "200", "M", "cough"),
    (4, 4, 38, "201", "M", "flu"),
]
"""2-anonymous at ages in tens, zips of two characters, and sex as it is."""


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A database with a release of ``FIRST``, and its lock beside it."""
    path = tmp_path / "clinic.duckdb"
    make(path, "visits", FIRST)
    assert release(path, tmp_path / "kanon.lock").levels == {"age": 1, "zip": 1, "sex": 0}
    return path


def append(path: Path, rows: Any, **asked: Any) -> kanon.Appended:
    return kanon.apply(path.with_name("kanon.lock"), rows, append="released", **asked)


@pytest.mark.thorough
def test_rows_wait_until_there_are_enough_new_ones(visits: Path) -> None:
    """A class that is in the release already does not hide one new row: the difference is that row."""
    before = released(visits)
    make(visits, "november", [(5, 5, 23, "102", "F", "asthma"), (6, 6, 39, "205", "M", "flu")])
    found = append(visits, "november")
    assert (found.rows_new, found.rows_waited, found.rows_appended, found.rows_waiting) == (2, 0, 0, 2)
    assert released(visits) == before
    assert [row[0] for row in waiting(visits)] == [5, 6]
    make(visits, "december", [(7, 7, 29, "109", "F", "flu"), (8, 8, 51, "300", "F", "flu")])
    found = append(visits, "december")
    assert (found.rows_new, found.rows_waited, found.rows_appended, found.rows_waiting) == (2, 2, 2, 2)
    assert (found.classes, found.smallest_class, found.k, found.rows_released) == (1, 2, 2, 6)
    assert released(visits) == [*before, (5, "20-29", "10*", "F", "asthma"), (7, "20-29", "10*", "F", "flu")]
    assert [row[0] for row in waiting(visits)] == [6, 8]


@pytest.mark.thorough
def test_rows_of_one_person_do_not_hide_her(visits: Path) -> None:
    make(visits, "november", [(5, 5, 23, "102", "F", "flu"), (6, 5, 24, "103", "F", "flu")])
    assert append(visits, "november").rows_waiting == 2
    # The person counts once together with a new row of hers, and with the rows of another person.
    make(visits, "december", [(7, 5, 25, "104", "F", "flu"), (8, 9, 25, "104", "F", "flu")])
    found = append(visits, "december")
    assert (found.rows_appended, found.smallest_class, found.k, found.rows_waiting) == (4, 4, 2, 0)
    assert waiting(visits) == []


@pytest.mark.thorough
def test_dry_run_changes_nothing(visits: Path) -> None:
    make(visits, "november", [(5, 5, 23, "102", "F", "flu"), (6, 6, 24, "103", "F", "flu")])
    before, files = tables_of(visits), files_in(visits.parent)
    found = append(visits, "november", dry_run=True)
    assert (found.rows_appended, found.rows_released, found.dry_run) == (2, 4, True)
    assert (tables_of(visits), files_in(visits.parent)) == (before, files)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_new_rows_of_a_file_have_the_types_of_the_lock(visits: Path) -> None:
    """The zips of this file alone would be read as numbers, and lose what they begin with."""
    Path("november.csv").write_text(
        "person,row,sex,zip,age,disease,other\n5,5,F,002,23,flu,x\n6,6,F,009,24,007,y\n", encoding="utf-8"
    )
    assert append(visits, "november.csv").rows_appended == 2
    assert released(visits)[-2:] == [(5, "20-29", "00*", "F", "flu"), (6, "20-29", "00*", "F", "007")]


@pytest.mark.thorough
def test_new_rows_of_a_data_frame_and_of_another_database(visits: Path, tmp_path: Path) -> None:
    frame = pd.DataFrame([(5, 5, 23, "102", "F", "flu"), (6, 6, 24, "103", "F", "flu")], columns=COLUMNS)
    assert append(visits, frame.astype({"age": "int32"})).rows_appended == 2
    make(tmp_path / "other.duckdb", "visits", [(7, 7, 35, "201", "M", "flu"), (8, 8, 35, "202", "M", "flu")])
    assert append(visits, tmp_path / "other.duckdb", table="visits").rows_appended == 2


@pytest.mark.thorough
def test_nothing_new(visits: Path) -> None:
    before = released(visits)
    make(visits, "nothing", [])
    for _ in range(2):
        assert append(visits, "nothing").rows_appended == 0
    assert released(visits) == before


# Random sequences, against plain Python


def label(row: Row, node: Row, steps: Sequence[Row]) -> Row:
    """Return the labels of a row at a node, by the rules above; values are texts where they stand beside labels."""
    _, _, age, zip_code, sex, _ = row
    levels, masked, as_it_is = node

    def value(number: int, own: Any) -> Any:
        return own if own is None or not any(step[number] for step in steps) else str(own)

    width = {1: 10, 2: 20}.get(levels)
    if levels == 0:
        age = value(0, age)
    elif age is None or width is None:
        age = "*"
    else:
        age = f"{age // width * width}-{age // width * width + width - 1}"
    if masked:
        zip_code = "*" if zip_code is None or masked == 3 else zip_code[: 3 - masked].ljust(3, "*")
    return age, zip_code, "*" if as_it_is else sex


def drawn(chance: random.Random, first: int, number: int) -> list[Row]:
    return [
        (
            first + place,
            chance.randrange(first // 2 + 1, first + number + 1) if chance.random() < 0.8 else None,
            chance.choice([*range(0, 60, 3), None]),
            chance.choice(["100", "101", "110", "200", "7", None]),
            chance.choice(["F", "M"]),
            chance.choice(["flu", "cough", "asthma"]),
        )
        for place in range(number)
    ]


def members(rows: Sequence[Row], counts: str) -> int:
    """Return how many people, or rows, there are; a row that names no person is of none."""
    return len(rows) if counts == "rows" else len({row[1] for row in rows} - {None})


@pytest.mark.deeper
@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(8))
def test_what_is_added_between_two_states(seed: int, tmp_path: Path) -> None:
    """A simulation in plain Python says which rows are in each state; every difference of two is k-anonymous."""
    chance = random.Random(seed)  # noqa: S311 - a table for a test
    k, l_values = 2 + seed % 2, 1 + seed // 2 % 2
    counts = ["people", "rows"][seed // 4 % 2]
    path, lock = tmp_path / "clinic.duckdb", tmp_path / "kanon.lock"
    make(path, "visits", drawn(chance, 0, 60))
    diverse = {"models": [kanon.DistinctLDiversity(l_values)], "choice": "greedy"}
    asked: dict[str, Any] = diverse if l_values > 1 else {}
    asked |= {"entity": "person"} if counts == "people" else {"entity": None, "count": "rows"}
    algorithm = chance.choice(["optimal", "local"])
    made = release(path, lock, k=k, max_suppressed=0.9, algorithm=algorithm, **asked)
    steps = made.publication.recoding.nodes

    def satisfies(rows: Sequence[Row]) -> bool:
        return members(rows, counts) >= k and len({row[5] for row in rows}) >= l_values

    people: dict[int, Row] = {}
    states, held = [released(path)], list[Row]()
    for month in range(count(4, quick=2)):
        new = drawn(chance, 1000 * (month + 1), chance.randrange(1, 30))
        people |= {row[0]: row for row in new}
        make(path, f"month_{month}", new)
        found = append(path, f"month_{month}")
        left, published = [*held, *new], list[Row]()
        for node in steps:
            classes: dict[Row, list[Row]] = defaultdict(list)
            for row in left:
                classes[label(row, node, steps)].append(row)
            published += [(row[0], *own, row[5]) for own, rows in classes.items() if satisfies(rows) for row in rows]
            left = [row for rows in classes.values() if not satisfies(rows) for row in rows]
        held = left
        states.append(released(path))
        assert Counter(states[-1]) == Counter([*states[-2], *published])
        assert Counter(waiting(path)) == Counter((row[0], *row[2:]) for row in held)
        assert (found.rows_appended, found.rows_waiting) == (len(published), len(held))
    for place, later in enumerate(states):
        for earlier in states[:place]:
            added: dict[Row, list[Row]] = defaultdict(list)
            for row in (Counter(later) - Counter(earlier)).elements():
                added[row[1:4]].append(people[row[0]])
            assert all(satisfies(rows) for rows in added.values())


# Labels that do not depend on the other values

VALUES: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    **dict.fromkeys(
        ("intervals:5,10", "intervals:5,10:bottom=3:top=40", "intervals:7:origin=3", "steps", "round:1,2"),
        ("INTEGER", st.integers(-99, 99)),
    ),
    "intervals:2.5,5": ("INTEGER", st.integers(-99, 99)),
    **dict.fromkeys(
        ("intervals:5", "steps:from=0.1"), ("DOUBLE", st.floats(-99, 99).map(lambda number: round(number, 2)))
    ),
    **dict.fromkeys(
        ("mask", "mask:left", "mask:right:1,3", "cut:1,2", "prefixes:2,1", "prefixes", "flat"),
        ("VARCHAR", st.text("ab01", min_size=1, max_size=5)),
    ),
    "date:month,year": ("DATE", st.dates(dt.date(1990, 1, 1), dt.date(1999, 1, 1))),
}


def labels_of(rule: Any, kind: str, values: Sequence[Any]) -> tuple[dict[Any, Row], Any]:
    """Return the labels of values by a rule, and the rule that a lock has of it."""
    column = Column("v", kind)
    with DuckDBEngine.in_memory() as engine:
        engine.connection.execute(f"CREATE TABLE t (v {kind})")
        engine.connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
        table = sql.relation("t")
        facts = column_facts(engine, table, [(column, rule)])
        made = build_hierarchy(engine, table, column, rule, facts["v"])
        rows = engine.connection.table(made.relation.name).fetchall()
        return {row[0]: row[1 : made.height + 1] for row in rows}, made.rule


@pytest.mark.thorough
@pytest.mark.parametrize("rule", VALUES)
@given(data=st.data())
@examples(24, quick=3)
def test_labels_of_a_lock_are_those_of_the_release(rule: str, data: st.DataObject) -> None:
    kind, of_kind = VALUES[rule]
    first = data.draw(st.lists(of_kind, min_size=1, max_size=8), label="first rows")
    later = data.draw(st.lists(st.one_of(st.sampled_from(first), of_kind), max_size=8), label="new rows")
    labels, locked = labels_of(parse_rule(rule), kind, first)
    try:
        again, _ = labels_of(parse_rule(str(locked)), kind, [first[0], *later])
    except kanon.HierarchyError:  # a longer value, or one below those before, down to a negative bound
        size: Callable[[Any], Any] = len if kind == "VARCHAR" else lambda number: -number
        assert max(map(size, later)) > max(map(size, first))
        return
    assert {value: again[value] for value in labels if value in again} == {
        value: labels[value] for value in labels if value in again
    }


# What a lock holds


SECRETS = {"age": range(731_000_011, 731_000_911, 30), "zip": [f"Q{number}X" for number in range(7301, 7331)]}


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["intervals:1000,100000", "steps", "round:3,6", "flat"])
def test_a_lock_holds_no_value(rule: str, tmp_path: Path) -> None:
    """Nor does it where values are published in labels: rules, levels and lengths are all that is needed."""
    path, lock = tmp_path / "clinic.duckdb", tmp_path / "kanon.lock"
    rows = [
        (700_100 + number, 800_100 + number, age, zip_code, "intersex", f"disease {number % 3}")
        for number, (age, zip_code) in enumerate(zip(SECRETS["age"], SECRETS["zip"], strict=True))
    ]
    make(path, "visits", rows)
    release(path, lock, hierarchies={"age": rule, "zip": "mask", "sex": "flat"})
    text = lock.read_text(encoding="utf-8")
    assert "length=6" in text
    held = {str(value) for row in rows for value in row} | {str(row[3])[1:-1] for row in rows}
    assert [value for value in held if value in text] == []


@pytest.mark.thorough
def test_a_lock_is_a_policy_that_leaves_nothing_to_the_data(visits: Path) -> None:
    text = visits.with_name("kanon.lock").read_text(encoding="utf-8")
    assert 'zip = "mask:right:length=3"' in text
    assert 'age = "intervals:10,20:labels=dashes"' in text
    assert 'sex = "flat"' in text
    assert 'from = "clinic.duckdb"' in text


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_stored_hierarchy_and_one_of_a_file(tmp_path: Path) -> None:
    path, lock = tmp_path / "clinic.duckdb", tmp_path / "kanon.lock"
    make(path, "visits", FIRST)
    Path("sex.csv").write_text("F;person\nM;person\nX;person\n", encoding="utf-8")
    Path("zip.csv").write_text(
        "".join(f"{z};{z[0]}-area;*\n" for z in ("100", "101", "102", "200", "201")), encoding="utf-8"
    )
    kanon_hierarchy(path, "zip", "zip.csv")
    asked: dict[str, Any] = {"hierarchies": {"age": "intervals:10,20", "sex": "sex.csv"}}
    assert release(path, lock, **asked).levels == {"age": 1, "zip": 1, "sex": 0}
    make(path, "november", [(5, 5, 23, "102", "X", "flu"), (6, 6, 24, "100", "X", "flu")])
    assert append(path, "november").rows_appended == 2
    assert released(path)[-1] == (6, "20-29", "1-area", "X", "flu")
    # A value that the hierarchy does not have is an error, and so is another hierarchy.
    make(path, "december", [(7, 7, 23, "300", "F", "flu")])
    before = tables_of(path)
    with pytest.raises(kanon.HierarchyError, match=r"'zip' .* has no row for 1 value .* a lock of its own"):
        append(path, "december")
    assert tables_of(path) == before
    Path("zip.csv").write_text(Path("zip.csv").read_text(encoding="utf-8") + "300;3-area;*\n", encoding="utf-8")
    kanon_hierarchy(path, "zip", "zip.csv", replace=True)
    with pytest.raises(kanon.HierarchyError, match=r"'zip' \(in the database\) changed after the release"):
        append(path, "december")


def kanon_hierarchy(path: Path, column: str, file: str, *, replace: bool = False) -> None:
    """Load a hierarchy file into a database."""
    said = ["hierarchy", "load", str(path), "visits", f"{column}={file}", "-q", *(["--replace"] if replace else [])]
    assert run(said) == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_file_that_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    make(path, "visits", FIRST)
    Path("zip.csv").write_text("100;a;*\n101;a;*\n200;b;*\n201;b;*\n", encoding="utf-8")
    assert release(path, Path("kanon.lock"), hierarchies={**RULES, "zip": "zip.csv"}).levels == {
        "age": 1,
        "zip": 1,
        "sex": 0,
    }
    make(path, "november", [(5, 5, 23, "100", "F", "flu"), (6, 6, 24, "101", "F", "flu")])
    for change in (lambda file: file.write_text("100;b;*\n101;a;*\n200;b;*\n201;b;*\n", encoding="utf-8"), Path.unlink):
        change(Path("zip.csv"))
        with pytest.raises(kanon.HierarchyError, match=r"'zip' \(zip.csv\) changed after the release"):
            append(path, "november")


# What is refused


NOVEMBER = [(5, 5, 23, "102", "F", "flu"), (6, 6, 24, "103", "F", "flu")]


def refused(path: Path, rows: Any, match: str, error: type[kanon.KanonError] = kanon.UsageError, **asked: Any) -> None:
    """Raise unless rows are refused with a message, and nothing is changed."""
    before, files = tables_of(path), files_in(path.parent)
    with pytest.raises(error, match=match):
        append(path, rows, **asked)
    assert (tables_of(path), files_in(path.parent)) == (before, files)


@pytest.mark.thorough
def test_the_same_rows_are_not_appended_twice(visits: Path) -> None:
    make(visits, "november", NOVEMBER)
    append(visits, "november")
    refused(visits, "november", r"These 2 rows were appended to released before: .* give again=True")
    make(visits, "copy", NOVEMBER[::-1])
    refused(visits, "copy", "These 2 rows were appended")
    assert append(visits, "copy", again=True).rows_released == 8


@pytest.mark.thorough
def test_rows_that_wait_do_not_count_twice(tmp_path: Path) -> None:
    """By hand: rows 5 and 6 wait for others of their class. Fails before issue 52: with themselves, they were two.

    NULL equals NULL, a row in two copies is new once where one waits, and another row of the class is no copy.
    """
    columns = ["age", "zip", "sex", "disease"]
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (age INTEGER, zip VARCHAR, sex VARCHAR, disease VARCHAR)")
        connection.execute("INSERT INTO visits SELECT 21, '100', 'F', 'flu' FROM range(4)")
    made = kanon.anonymize(
        path, "visits", quasi_identifiers=columns[:3], sensitive=["disease"], count="rows", k=2,
        hierarchies=RULES, levels={"age": 1, "zip": 1, "sex": 0},
    )  # fmt: skip
    with made:
        made.to_table("released", lock=path.with_name("kanon.lock"))
    five, six, other = (23, "102", "F", None), (None, "205", "M", "flu"), (24, "103", "F", None)

    def frame(*rows: Row) -> pd.DataFrame:
        return pd.DataFrame(rows, columns=columns).astype({"age": "Int32", "disease": "string"})

    assert append(path, frame(five, six)).rows_waiting == 2
    before = tables_of(path)
    for rows, said in (
        ((five, other), r"1 new row equals a row that waits .*kanon\.waiting_released, .* give again=True"),
        ((six, six, five, other), "2 new rows equal rows that wait"),
    ):
        with pytest.raises(kanon.UsageError, match=said):
            append(path, frame(*rows))
        with pytest.raises(kanon.UsageError, match=said):
            append(path, frame(*rows), dry_run=True)
    assert tables_of(path) == before
    found = append(path, frame(six, (99, "9", "M", "flu")), again=True)
    assert (found.rows_waited, found.rows_appended, found.rows_waiting) == (2, 2, 2)
    assert append(path, frame(other)).rows_appended == 2  # with the one that waits


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_where_people_count_copies_of_waiting_rows_are_said(visits: Path, kanon: Callable[..., Ended]) -> None:
    """Row 5 alone is one person, in two copies as well; a model that counts how often values are there refuses them."""
    make(visits, "november", [(5, 5, 23, "102", "F", "flu")])
    make(visits, "december", [(5, 5, 23, "102", "F", "flu"), (6, 6, 39, "205", "M", "flu")])
    assert append(visits, "november").rows_waiting == 1
    ended = kanon("apply", "kanon.lock", "december", "--append", "released", "--format", "json")
    assert (ended.json["rows_equal"], ended.json["rows_appended"], ended.json["rows_waiting"]) == (1, 0, 3)
    assert "1 new row equals a row that waited. A class counts each person once" in ended.err
    other = visits.with_name("other.duckdb")
    make(other, "visits", FIRST)
    make(other, "november", [(5, 5, 23, "102", "F", "flu")])
    make(other, "december", [(5, 5, 23, "102", "F", "flu"), (6, 6, 24, "103", "F", "cough")])
    visits.with_name("kanon.lock").unlink()
    entropy = [KAnonymity(2), EntropyLDiversity(1.1, sensitive="disease")]
    release(other, other.with_name("kanon.lock"), k=None, models=entropy, choice="greedy", max_suppressed=1)
    append(other, "november")
    refused(other, "december", "1 new row equals a row that waits")


@pytest.mark.thorough
def test_the_table_itself_holds_no_new_rows(visits: Path) -> None:
    refused(visits, "visits", "visits is the table that released was made of, or has the same rows")
    refused(visits, "released", "has no column 'person'")
    with duckdb.connect(str(visits)) as connection:
        connection.execute("CREATE TABLE copy AS SELECT * FROM visits")
        connection.execute("CREATE VIEW seen AS SELECT disease, * EXCLUDE (disease) FROM copy ORDER BY age")
        connection.execute("INSERT INTO visits VALUES (5, 5, 23, '102', 'F', 'flu')")
    for copy in ("seen", "copy", "VISITS", "main.visits"):
        refused(visits, copy, "is the table that released was made of, or has the same rows")
    with duckdb.connect(str(visits)) as connection, pytest.raises(kanon.UsageError, match="or has the same rows"):
        append(visits, "visits", database=connection)


@pytest.mark.thorough
def test_a_release_that_was_changed(visits: Path) -> None:
    make(visits, "november", NOVEMBER)
    with duckdb.connect(str(visits)) as connection:
        connection.execute("DELETE FROM released WHERE row = 1")
    refused(visits, "november", "released is not the release that the lock was written for")


@pytest.mark.thorough
def test_a_release_that_was_replaced(visits: Path) -> None:
    """The rows that wait for the old one may be in the new one, or not: a person has to say."""
    make(visits, "november", [(8, 8, 23, "102", "F", "flu")])
    make(visits, "december", NOVEMBER)
    append(visits, "november")
    append(visits, "december")
    make(visits, "january", [(9, 9, 50, "900", "F", "flu")])
    assert append(visits, "january").rows_waiting == 1
    with kanon.anonymize(
        visits,
        "visits",
        quasi_identifiers=["age", "zip", "sex"],
        sensitive=["disease"],
        insensitive=["row"],
        rest="drop",
        entity="person",
        hierarchies=RULES,
        k=2,
    ) as made:
        made.to_table("released", replace=True, lock=visits.with_name("kanon.lock"), ignore_ledger=True)
    refused(visits, "december", r"Rows wait for an earlier release of the name released, in kanon.waiting_released")
    with duckdb.connect(str(visits)) as connection:
        connection.execute("DROP TABLE kanon.waiting_released")
    assert append(visits, "december").rows_appended == 2  # it is in this release for the first time
    with duckdb.connect(str(visits)) as connection:
        assert connection.sql("SELECT count(*) FROM kanon.appended").fetchall() == [(1,)]


@pytest.mark.thorough
def test_other_columns_and_types(visits: Path) -> None:
    with duckdb.connect(str(visits)) as connection:
        connection.execute("CREATE VIEW without AS SELECT * EXCLUDE (zip) FROM visits")
        connection.execute("CREATE VIEW numbers AS SELECT * REPLACE (CAST(zip AS INTEGER) AS zip) FROM visits")
        connection.execute("CREATE TABLE other AS SELECT age, zip FROM released")
        connection.execute("CREATE VIEW seen AS SELECT * FROM released")
    refused(visits, "without", "without has no column 'zip', which the lock needs")
    refused(visits, "numbers", "Column 'zip' of numbers is INTEGER, and was VARCHAR .* Cast it in a view")
    for table, match in (("other", "other does not have the columns of the release"), ("seen", "seen is a view")):
        with pytest.raises(kanon.UsageError, match=match):
            kanon.apply(visits.with_name("kanon.lock"), "visits", append=table)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("row", "match"),
    [
        ((5, 5, -3, "102", "F", "flu"), "'age' cannot be written with dashes .* Publish|publish a new release"),
        ((5, 5, 23, "1024", "F", "flu"), "'zip' .* is of values of up to 3 characters, and the longest has 4"),
    ],
)
def test_values_that_change_how_labels_are_written(visits: Path, row: Row, match: str) -> None:
    make(visits, "november", [row, *NOVEMBER])
    refused(visits, "november", match, kanon.HierarchyError)


@pytest.mark.thorough
def test_numbers_that_the_release_cannot_hold(visits: Path) -> None:
    """The types of whole numbers may differ; a number that is too large takes everything back."""
    with duckdb.connect(str(visits)) as connection:
        connection.execute("CREATE TABLE november AS SELECT * REPLACE (row::BIGINT + 5000000000 AS row) FROM visits")
    refused(visits, "november", "'row' of november: 4 values in 4 rows cannot be read by 'cast:INTEGER'")


def test_a_lock_that_cannot_be_read_or_moved(visits: Path) -> None:
    lock = visits.with_name("kanon.lock")
    make(visits, "november", NOVEMBER)
    text = lock.read_text(encoding="utf-8")
    for old, new, match in (("version = 1", "version = 2", "another version"), ("steps = ", "stages = ", "no steps")):
        assert old in text
        lock.write_text(text.replace(old, new, 1), encoding="utf-8")
        refused(visits, "november", match, kanon.PolicyError)
    for wrong in ("", "[privacy]\nk = 5\n", "k = ["):
        lock.write_text(wrong, encoding="utf-8")
        refused(visits, "november", "is no lock|cannot be read as a lock", kanon.PolicyError)
    lock.write_text(text.replace("clinic.duckdb", "moved.duckdb"), encoding="utf-8")
    visits.rename(visits.with_name("moved.duckdb"))
    assert append(visits, "november").rows_appended == 2
    lock.unlink()
    with pytest.raises(kanon.PolicyError, match=r"There is no lock .*kanon.lock"):
        append(visits, "november")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (
            {"algorithm": "mondrian"},
            "mondrian cuts the values of this table into parts: use algorithm='optimal' or local",
        ),
        (
            {"models": [kanon.TCloseness(0.9)], "choice": "greedy"},
            "t-closeness, equal distance compares a class with rows outside of it",
        ),
        ({"entity": None, "count": "rows", "identifying": ["person"], "pseudonymize": ["person"]}, "Pseudonyms tie"),
        ({"hierarchies": {**RULES, "age": "quantiles:2"}}, r"'age' \(quantiles:2 .* were chosen by the values"),
        ({"publish": {"row": "microaggregate:2"}}, "compares rows with one"),
    ],
)
def test_releases_that_have_no_lock(asked: dict[str, Any], match: str, tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    make(path, "visits", FIRST)
    before = tables_of(path)
    with pytest.raises(kanon.UnsuitableError, match=match):
        release(path, tmp_path / "kanon.lock", **asked)
    assert (tables_of(path), files_in(tmp_path)) == (before, {"clinic.duckdb"})


@pytest.mark.thorough
def test_a_table_that_was_released_in_another_way(visits: Path) -> None:
    """The ledger knows the table of the new rows: beside its own release, what is appended may say too much."""
    rows = [(10 + a * 2 + b, 10 + a * 2 + b, 20 + a, f"10{b}", "F", "flu") for a in (0, 1) for b in (0, 1)]
    make(visits, "november", rows)
    asked: dict[str, Any] = {"quasi_identifiers": ["zip"], "hierarchies": {"zip": "flat"}, "rest": "drop"}
    with kanon.anonymize(visits, "november", **asked, insensitive=["age"], entity="person", k=2) as made:
        made.to_table("by_zip")
    refused(visits, "november", "this one leaves 4 people of november among fewer than 2", kanon.JointReleaseError)
    assert append(visits, "november", ignore_ledger=True).rows_appended == 4


@pytest.mark.thorough
def test_what_the_ledger_says(visits: Path) -> None:
    make(visits, "november", NOVEMBER)
    append(visits, "november")
    one, two = kanon.ledger(visits)
    assert (one.as_it_was, one.appended, two.appended) == (False, 1, 1)
    assert (two.entry.source_name, two.entry.name, two.entry.rows_out) == ("november", "released", 2)
    with duckdb.connect(str(visits)) as connection:
        connection.execute("DELETE FROM released WHERE row = 5")
    assert [each.appended for each in kanon.ledger(visits)] == [None, None]


@pytest.mark.thorough
def test_rows_that_wait_stay_when_a_file_is_cleaned(visits: Path) -> None:
    make(visits, "november", [(5, 5, 23, "102", "F", "flu")])
    append(visits, "november")
    cleaned = kanon.clean(visits)
    assert [row[0] for row in waiting(visits)] == [5]
    assert cleaned.waiting == cleaned.summary()["waiting"] == {"kanon.waiting_released": 1}


@pytest.mark.thorough
def test_rows_that_wait_are_named_and_go_if_they_are_dropped(visits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails before 0.2.0: clean --drop left raw rows in the file, and did not say so."""
    make(visits, "november", [(5, 5, 23, "102", "F", "scurvy-scurvy-scurvy")])
    append(visits, "november")
    assert run(["clean", str(visits), "--drop", "november"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "1 raw row in kanon.waiting_released: kept until a batch takes them, or --drop kanon.waiting_released" in told
    )
    assert b"scurvy-scurvy" in visits.read_bytes()
    assert run(["clean", str(visits), "--drop", "kanon.waiting_released"]) == 0
    told = capsys.readouterr().out
    assert "waiting_released" in told
    assert "raw row" not in told
    assert b"scurvy-scurvy" not in visits.read_bytes()
    make(visits, "december", [(6, 6, 23, "102", "F", "flu")])
    assert append(visits, "december").rows_waiting == 1


# Elsewhere


@pytest.mark.thorough
def test_a_connection(tmp_path: Path) -> None:
    lock = tmp_path / "kanon.lock"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS row, i % 20 AS age FROM range(40) n(i)")
        asked: dict[str, Any] = {"quasi_identifiers": ["age"], "insensitive": ["row"], "count": "rows", "k": 4}
        with kanon.anonymize(connection, "visits", hierarchies={"age": "intervals:5"}, **asked) as made:
            made.to_table("released", lock=lock)
        connection.execute('CREATE SCHEMA "new rows"')
        connection.execute('CREATE TABLE "new rows"."of ""May""" AS SELECT 100 + i AS row, i AS age FROM range(6) n(i)')
        with pytest.raises(kanon.UsageError, match="does not name the database of its release: give database=FILE"):
            kanon.apply(lock, 'new rows.of "May"', append="released")
        found = kanon.apply(lock, 'new rows.of "May"', append="released", database=connection)
        assert (found.rows_appended, found.rows_waiting) == (5, 1)
        assert connection.sql("SELECT row FROM kanon.waiting_released").fetchall() == [(105,)]
        assert connection.sql("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchall() == [(0,)]


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_columns_that_are_prepared_and_published_by_rules(tmp_path: Path) -> None:
    """Rows that wait are prepared once; rules of columns that are kept are those of the release."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """
            CREATE TABLE visits AS
            SELECT i AS id, ' F ' AS "select", '1,5' AS dose, i * 7 AS cost FROM range(6) AS numbers(i)
            """
        )
        connection.execute("CREATE TABLE one AS SELECT 10 AS id, 'M' AS \"select\", '2,5' AS dose, 104 AS cost")
        connection.execute("CREATE TABLE two AS SELECT 11 AS id, 'M ' AS \"select\", '3,5' AS dose, 96 AS cost")
    asked: dict[str, Any] = {
        "quasi_identifiers": ["select"],
        "hierarchies": {"select": "flat"},
        "identifying": ["id"],
        "insensitive": ["dose", "cost"],
        "prepare": {"select": "trim", "dose": "decimal:,"},
        "publish": {"cost": "round:10"},
        "k": 2,
    }
    with kanon.anonymize(path, "visits", **asked) as made:
        assert made.levels == {"select": 0}
        made.to_table("released", lock="kanon.lock")
    assert append(path, "one").rows_waiting == 1
    assert append(path, "two").rows_appended == 2
    with duckdb.connect(str(path)) as connection:
        found = connection.sql("SELECT * FROM released WHERE \"select\" = 'M' ORDER BY dose").fetchall()
    assert found == [("M", 2.5, 100), ("M", 3.5, 100)]


@pytest.mark.thorough
def test_names_identify_people_where_no_entity_is_named(tmp_path: Path) -> None:
    """A name that waits and comes again is of one person: counted in rows, a class would be hers alone."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'Name ' || i AS name, i // 4 AS age FROM range(40) n(i)")
        connection.execute("CREATE TABLE one AS SELECT 'Eve' AS name, 3 AS age")
        connection.execute("CREATE TABLE two AS SELECT 'Eve' AS name, 4 AS age UNION ALL SELECT 'Name 1', 4")
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "identifying": ["name"], "k": 2}
    with kanon.anonymize(path, "visits", hierarchies={"age": "flat"}, **asked) as made:
        made.to_table("released", lock=tmp_path / "kanon.lock")
    assert append(path, "one").rows_waiting == 1
    refused(path, "two", r"Several of the new rows and of those that wait have the same name, .* \(entity\)")


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_command_line(visits: Path, kanon: Callable[..., Ended]) -> None:
    make(visits, "november", [*NOVEMBER, (7, 7, 51, "300", "M", "flu")])
    before = tables_of(visits)
    named = ("apply", "kanon.lock", "november", "--append", "released")
    tried = kanon(*named, "--dry-run")
    assert tried.code == 0
    assert "Dry run" in tried.out
    script = kanon(*named, "--sql")
    assert "INSERT INTO main.released BY NAME" in script.out
    assert tables_of(visits) == before
    done = kanon(*named, "--format", "json")
    assert (done.code, done.json["rows_appended"], done.json["rows_waiting"]) == (0, 2, 1)
    again = kanon(*named)
    assert (again.code, again.out) == (2, "")
    assert "give --again" in again.err
    shown = kanon(*named, "--again")
    assert "3 new and 1 that waited: 4 appended" not in shown.out  # two rows of one person are one person
    assert "3 new and 1 that waited: 2 appended" in shown.out
    assert "k = 2 holds in each: the worst one has 2 people" in shown.out
    missing = kanon("apply", "kanon.lock", "november", "--append", "relesed")
    assert missing.code == 2
    assert "Traceback" not in missing.err


@pytest.mark.usefixtures("in_tmp")
@pytest.mark.parametrize("choice", ["greedy", None])
def test_the_choice_of_an_append_is_in_json(choice: str | None, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    path = tmp_path / "clinic.duckdb"
    make(path, "visits", FIRST)
    asked = {} if choice is None else {"models": [DistinctLDiversity(2)], "choice": choice}
    release(path, tmp_path / "kanon.lock", algorithm="optimal", **asked)
    make(path, "november", NOVEMBER)
    named = ("apply", "kanon.lock", "november", "--append", "released", "--dry-run")
    assert kanon(*named, "--format", "json").json["choice"] == choice
    assert ("\nchoice " in kanon(*named).out) == (choice == "greedy")


@pytest.mark.thorough
def test_a_local_recoding_by_hand(tmp_path: Path) -> None:
    """Each row is published at the first step at which the rows of the batch that are left are enough."""
    path = tmp_path / "clinic.duckdb"
    make(path, "visits", [*FIRST, (9, 9, 21, "900", "M", "flu"), (10, 10, 38, "901", "M", "flu")])
    made = release(path, tmp_path / "kanon.lock", algorithm="local", hierarchies={**RULES, "age": "intervals:10,40"})
    steps = [step["levels"] for step in made.steps or ()]
    assert steps == [{"age": 1, "zip": 1, "sex": 0}, {"age": 2, "zip": 1, "sex": 0}]
    make(
        path,
        "november",
        [
            (11, 11, 22, "105", "F", "flu"),  # with the next one at the first step
            (12, 12, 22, "106", "F", "flu"),
            (13, 13, 2, "105", "F", "flu"),  # with the next one at the second step
            (14, 14, 33, "105", "F", "flu"),
            (15, 15, 2, "105", "M", "flu"),  # alone
        ],
    )
    found = append(path, "november")
    assert (found.rows_appended, found.rows_waiting, found.levels) == (4, 1, None)
    assert [row[1:4] for row in released(path) if row[0] > 10] == [
        *[("20-29", "10*", "F")] * 2,
        *[("0-39", "10*", "F")] * 2,
    ]
    assert [row[0] for row in waiting(path)] == [15]


# Found by an adversary


@pytest.mark.thorough
def test_a_type_that_lists_its_values_is_not_in_the_lock(tmp_path: Path) -> None:
    """Nor is it in a message: an ENUM would name the values of suppressed rows, too."""
    path, lock = tmp_path / "clinic.duckdb", tmp_path / "kanon.lock"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """
            CREATE TABLE visits AS
            SELECT
              i AS person,
              20 + i % 3 AS age,
              CAST(['flu', 'cough'][1 + i % 2] AS ENUM ('flu', 'cough', 'rare')) AS disease
            FROM range(20) AS numbers(i)
            """
        )
        connection.execute("CREATE TABLE one AS SELECT person + 100 AS person, age, disease FROM visits")
        connection.execute(
            "CREATE TABLE two AS SELECT person + 200 AS person, age, CAST(disease AS VARCHAR) AS disease FROM visits"
        )
        ages = "CAST(CAST(age AS VARCHAR) AS ENUM ('20', '21', '22')) AS age"
        connection.table("two").project(f"person, {ages}, disease").create("three")
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": ["disease"], "rest": "drop", "entity": "person"}
    with kanon.anonymize(path, "visits", **asked, hierarchies={"age": "intervals:10"}, k=2) as made:
        made.to_table("released", lock=lock)
    assert "rare" not in lock.read_text(encoding="utf-8")
    assert [append(path, rows).rows_appended for rows in ("one", "two")] == [20, 20]
    refused(path, "three", "Column 'age' of three is VARCHAR, and was BIGINT")


@pytest.mark.thorough
def test_another_cursor_appends_meanwhile(tmp_path: Path) -> None:
    """The rows of the one or of the other wait, and none are lost."""
    lock = tmp_path / "kanon.lock"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS id, 20 + i % 3 AS age FROM range(40) AS numbers(i)")
        for first, table in ((100, "one"), (200, "two")):
            connection.sql("SELECT $f + i AS id, 20 + i % 3 AS age FROM range(5) AS n(i)", params={"f": first}).create(
                table
            )
        asked: dict[str, Any] = {"quasi_identifiers": ["age"], "insensitive": ["id"], "count": "rows", "k": 3}
        with kanon.anonymize(connection, "visits", hierarchies={"age": "flat"}, **asked) as made:
            made.to_table("released", lock=lock)
        done = []

        def meanwhile(progress: kanon.Progress) -> None:
            if progress.doing == "Publishing" and not done:
                done.append(kanon.apply(lock, "two", append="released", database=connection.cursor()))

        with pytest.raises(kanon.VerificationError, match="released was changed while the new rows were read"):
            kanon.apply(lock, "one", append="released", database=connection, progress=meanwhile)
        assert done[0].rows_waiting == 5
        found = kanon.apply(lock, "one", append="released", database=connection)
        assert (found.rows_waited, found.rows_appended, found.rows_waiting) == (5, 8, 2)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_dates_of_a_file_are_read_alike_in_all_files(tmp_path: Path) -> None:
    """A file in which no day is beyond 12 would have other months than one in which one is."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS id, DATE '2024-11-01' + i::INT AS v FROM range(20) n(i)")
    asked: dict[str, Any] = {"quasi_identifiers": ["v"], "insensitive": ["id"], "count": "rows", "k": 5}
    with kanon.anonymize(path, "visits", hierarchies={"v": "date:month,year"}, **asked) as made:
        made.to_table("released", lock="kanon.lock")
    for name, dates in (("a", ["11/13/2024", *["11/03/2024"] * 5]), ("b", ["11/03/2024"] * 6)):
        lines = "".join(f"{100 + place},{date}\n" for place, date in enumerate(dates))
        Path(f"{name}.csv").write_text(f"id,v\n{lines}", encoding="utf-8")
        refused(path, f"{name}.csv", f"'v' of {name}.csv: .* cannot be read by 'date:%Y-%m-%d'")
    Path("c.csv").write_text(
        "id,v\n" + "".join(f"{100 + day},2024-11-0{day}\n" for day in range(1, 7)), encoding="utf-8"
    )
    assert append(path, "c.csv").rows_appended == 6


@pytest.mark.thorough
def test_a_clock_that_goes_back(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, year in enumerate((2030, 2020, 2025)):
        make(visits, f"batch_{place}", [(n, n, 23, "102", "F", "flu") for n in range(10 * place + 10, 10 * place + 12)])
        clock = type(
            "Clock", (dt.datetime,), {"now": classmethod(lambda cls, zone, year=year: cls(year, 1, 1, tzinfo=zone))}
        )
        monkeypatch.setattr("kanon_sql.release.append.store.datetime", clock)
        assert append(visits, f"batch_{place}").rows_appended == 2


@pytest.mark.thorough
def test_a_lock_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    make(path, "visits", FIRST)
    before = tables_of(path)
    for lock in (Path("/proc/kanon.lock"), tmp_path / "not there" / "kanon.lock", tmp_path):
        with pytest.raises(kanon.SourceError, match=r"No lock can be written to /proc|does not exist|is a directory"):
            release(path, lock)
    assert tables_of(path) == before


@pytest.mark.thorough
def test_the_release_itself_holds_no_new_rows(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS id, 20 + i % 4 AS age FROM range(13) AS numbers(i)")
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "insensitive": ["id"], "count": "rows", "k": 4}
    with kanon.anonymize(path, "visits", hierarchies={"age": "flat"}, **asked, max_suppressed=0.9) as made:
        assert made.rows_suppressed > 0
        made.to_table("released", lock=tmp_path / "kanon.lock")
    refused(path, "released", "released is the release itself: name new rows", again=True)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_lock_replaces_nothing_but_a_lock(visits: Path, kanon: Callable[..., Ended]) -> None:
    """Not the database, nor its log, a policy or a hierarchy."""
    Path("zip.csv").write_text("100;a;*\n101;a;*\n200;b;*\n201;b;*\n", encoding="utf-8")
    Path("kanon.toml").write_text("[privacy]\nk = 2\n", encoding="utf-8")
    named = ("anonymize", visits, "visits", "--qi", "age,zip,sex", "--entity", "person", "--sensitive", "disease")
    named += (
        "-k",
        "2",
        "--max-suppressed",
        "0.5",
        "--rest",
        "drop",
        "--hierarchy",
        "zip=zip.csv",
        "--policy",
        "kanon.toml",
    )
    before, files = tables_of(visits), {file: Path(file).read_bytes() for file in files_in(visits.parent)}
    for lock in (visits, f"{visits}.wal", "zip.csv", "kanon.toml"):
        ended = kanon(*named, "--into", "other", "--replace", "--lock", lock)
        assert (ended.code, ended.out) == (2, "")
        assert "give another name after --lock" in ended.err
        assert (tables_of(visits), {file: Path(file).read_bytes() for file in files}) == (before, files)
    assert kanon(*named, "--into", "other", "--replace", "--lock", "kanon.lock").code == 0
    assert kanon("apply", "kanon.lock", "visits", "--append", "other", "--again").code == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_times_of_a_file(tmp_path: Path) -> None:
    """A file that DuckDB writes can be appended, however many digits its seconds have; JSON is read by guesses."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        all_rows = connection.sql(
            "SELECT i AS id, 20 AS age, TIMESTAMP '2024-01-01 10:00:00.5' AS t FROM range(9) n(i)"
        )
        all_rows.create("visits")
        times = ["2024-01-01 10:00:00.5", "2024-01-01 11:00:00", "2024-01-01T12:00:00.25", "2024-01-02"]
        rows = ", ".join(f"({50 + place}, 20, '{time}')" for place, time in enumerate(times))
        connection.sql(f"FROM (VALUES {rows}) v(id, age, t)").write_csv("new_1.csv")
        all_rows.project("id + 90 AS id, age, t - INTERVAL '500 milliseconds' AS t").limit(3).write_csv("new_2.csv")
        connection.execute("COPY (SELECT id + 100 AS id, age, t FROM visits) TO 'new.json'")
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "insensitive": ["id", "t"], "count": "rows", "k": 3}
    with kanon.anonymize(path, "visits", hierarchies={"age": "flat"}, **asked) as made:
        made.to_table("released", lock="kanon.lock")
    refused(path, "new.json", "How dates are written in new.json is guessed from its values")
    assert append(path, "new_*.csv").rows_appended == 7
    with duckdb.connect(str(path)) as connection:
        found = connection.sql("SELECT t FROM released WHERE id BETWEEN 50 AND 89 ORDER BY id").fetchall()
    assert found == [(dt.datetime.fromisoformat(time),) for time in times]


@pytest.mark.thorough
def test_a_table_without_rows(tmp_path: Path) -> None:
    """Its release may have levels; a local one has no steps, and every row would wait for ever."""
    path = tmp_path / "clinic.duckdb"
    make(path, "visits", [])
    with pytest.raises(kanon.UnsuitableError, match="No row was published, so that no step says"):
        release(path, tmp_path / "kanon.lock", algorithm="local")
    release(path, tmp_path / "kanon.lock")
    make(path, "nothing", [])
    make(path, "november", NOVEMBER)
    assert append(path, "nothing").rows_appended == 0
    assert append(path, "november").rows_new == 2
