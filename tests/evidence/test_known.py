"""What is published of people who are known by a few columns: against counting in plain Python."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import TABLE, Case, cases, load

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conftest import Ended


def members_of(rows: Sequence[tuple[Any, ...]], persons: Sequence[Any] | None) -> dict[tuple[Any, ...], int]:
    """Return the members of each class: its rows; or its people, who are one at least."""
    inside: defaultdict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for number, row in enumerate(rows):
        inside[row].append(number if persons is None else persons[number])
    if persons is None:
        return {row: len(numbers) for row, numbers in inside.items()}
    return {row: max(1, len(set(people) - {None})) for row, people in inside.items()}


def in_small(case: Case, subsets: Sequence[Sequence[int]], k: int) -> int:
    """Return how many rows are in a class of fewer than k by some subset; or people, each once.

    Rows that name nobody are one person for each combination of all columns that names nobody.
    """
    hit: set[int] = set()
    for chosen in subsets:
        rows = [tuple(row[place] for place in chosen) for row in case.rows]
        members = members_of(rows, case.persons)
        hit |= {number for number, row in enumerate(rows) if members[row] < k}
    if case.persons is None:
        return len(hit)
    named = {row for row, person in zip(case.rows, case.persons, strict=True) if person is not None}
    return len(
        {
            (True, case.persons[number]) if case.persons[number] is not None else (False, case.rows[number])
            for number in hit
            if case.persons[number] is not None or case.rows[number] not in named
        }
    )


@pytest.mark.thorough
@given(cases(), st.integers(1, 6), st.integers(1, 5))
@examples(40)
def test_every_figure_is_what_counting_says(case: Case, k: int, max_columns: int) -> None:
    connection, person = load(case)
    found = kanon.known(connection, TABLE, quasi_identifiers=case.columns, max_columns=max_columns, k=k, entity=person)
    width = len(case.columns)
    largest = min(max_columns, width)
    assert (found.max_columns, found.columns, found.k) == (largest, tuple(case.columns), k)
    assert found.counted == ("rows" if person is None else "people")
    everything = [list(range(width))]
    assert found.members == in_small(case, everything, 10**9)
    by_columns = {one.columns: one for one in found.subsets}
    so_far: list[tuple[int, ...]] = []
    for size, of_size in enumerate(found.by_number, 1):
        places = list(itertools.combinations(range(width), size))
        so_far += places
        smallest, failing = [], 0
        for chosen in places:
            members = members_of([tuple(row[place] for place in chosen) for row in case.rows], case.persons)
            one = by_columns.pop(tuple(case.columns[place] for place in chosen))
            small = [n for n in members.values() if n < k]
            assert one.smallest_class == min(members.values(), default=None)
            assert (one.classes, one.too_small, one.in_too_small) == (len(members), len(small), sum(small))
            smallest += members.values()
            failing += bool(small)
        assert (of_size.columns, of_size.subsets, of_size.too_small) == (size, len(places), failing)
        assert of_size.smallest_class == min(smallest, default=None)
        assert of_size.in_too_small == in_small(case, so_far, k) == in_small(case, places, k)
        assert of_size.share == (pytest.approx(of_size.in_too_small / found.members) if case.rows else None)
    assert not by_columns
    assert len(found.by_number) == largest
    nameless = case.persons is not None and any(
        not any(person is not None for row, person in zip(case.rows, case.persons, strict=True) if alike(row, one))
        for chosen in itertools.combinations(range(width), largest)
        for one in case.rows
        for alike in [lambda row, one, chosen=chosen: all(row[place] == one[place] for place in chosen)]
    )
    assert found.nameless == nameless
    assert found.holds == (found.smallest_class is None or (found.smallest_class >= k and not nameless))
    json.dumps(found.summary())
    assert not connection.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone()[0]


@pytest.mark.thorough
@given(cases(max_rows=25), st.integers(1, 4))
@examples(15)
def test_no_other_command_is_contradicted(case: Case, k: int) -> None:
    """All columns known is what ``check`` judges; subsets are those of ``measure``."""
    connection, person = load(case)
    width = len(case.columns)
    found = kanon.known(connection, TABLE, quasi_identifiers=case.columns, max_columns=9, k=k, entity=person)
    checked = kanon.check(connection, TABLE, quasi_identifiers=case.columns, k=k, entity=person)
    assert found.holds == checked.holds
    assert (found.smallest_class is None) == (checked.k is None)
    assert found.smallest_class is None or found.smallest_class == max(1, checked.k or 0)  # a class of nobody is one
    measured = kanon.measure(
        connection, TABLE, quasi_identifiers=case.columns, entity=person, subsets=width, threshold=1 / k
    )
    risk = measured.risk
    assert found.members == risk.everybody
    assert found.by_number[-1].in_too_small == risk.prosecutor.above_threshold
    mine = {one.columns: (one.classes, one.smallest_class) for one in found.subsets}
    assert mine == {one.columns: (one.classes, one.smallest_class) for one in risk.subsets.found}


def test_by_hand() -> None:
    """Six rows of three columns.

        a b c
        1 x p      by a: 3, 3; by b: 4, 2; by c: 5, 1
        1 x p      by a, b: (1, x) 2, (1, y) 1, (2, x) 2, (2, y) 1
        1 y p      by a, c: (1, p) 3, (2, p) 2, (2, q) 1
        2 x p      by b, c: (x, p) 3, (x, q) 1, (y, p) 2
        2 x q
        2 y p

    With k = 2 one column leaves the row with q; two columns also both rows with y by a, b.
    """
    frame = pd.DataFrame({"a": [1, 1, 1, 2, 2, 2], "b": list("xxyxxy"), "c": list("ppppqp")})
    found = kanon.known(frame, quasi_identifiers=["a", "b", "c"], max_columns=2, k=2)
    one, two = found.by_number
    assert (one.subsets, one.smallest_class, one.too_small, one.in_too_small) == (3, 1, 1, 1)
    assert (two.subsets, two.smallest_class, two.too_small, two.in_too_small) == (3, 1, 3, 3)
    assert two.share == 0.5
    assert [(each.columns, each.too_small, each.in_too_small) for each in found.subsets] == [
        (("a", "b"), 2, 2),
        (("a", "c"), 1, 1),
        (("b", "c"), 1, 1),
        (("c",), 1, 1),
        (("b",), 0, 0),
        (("a",), 0, 0),
    ]
    assert found.holds is False
    assert kanon.known(frame, quasi_identifiers=["a", "b"], max_columns=1, k=2).holds
    assert kanon.known(frame, quasi_identifiers=["a", "b"], max_columns=1).holds is None


def test_people_with_several_rows_are_counted_once() -> None:
    """Ann has three of the five rows of ward 1: two people. By both columns she is alone in (1, x)."""
    frame = pd.DataFrame(
        {"ward": [1, 1, 1, 1, 1, 2, 2], "day": list("xxxyyyy"), "who": ["Ann", "Ann", "Ann", "Bob", "Cem", "Bob", None]}
    )
    found = kanon.known(frame, quasi_identifiers=["ward", "day"], k=2, entity="who")
    assert (found.counted, found.members, found.max_columns) == ("people", 3, 2)
    one, two = found.by_number
    # By ward: Ann, Bob and Cem; Bob. By day: Ann; Bob and Cem. By both: (1, x) Ann, (1, y) Bob and Cem, (2, y) Bob.
    assert (one.smallest_class, one.too_small, one.in_too_small) == (1, 2, 2)
    assert (two.smallest_class, two.too_small, two.in_too_small) == (1, 1, 2)
    rows = kanon.known(frame, quasi_identifiers=["ward", "day"], k=2, count="rows")
    assert (rows.counted, rows.members, rows.holds) == ("rows", 7, True)


def test_suppressed_cells_and_null_are_values() -> None:
    frame = pd.DataFrame({"a": ["*", "*", None, None, "1"], "b": ["x"] * 5})
    found = kanon.known(frame, quasi_identifiers=["a", "b"], max_columns=1, k=2)
    by_a = next(one for one in found.subsets if one.columns == ("a",))
    assert (by_a.classes, by_a.too_small, by_a.in_too_small) == (3, 1, 1)


@pytest.mark.parametrize("rows", [0, 1])
def test_of_no_row_and_of_one(rows: int) -> None:
    frame = pd.DataFrame({"a": [1] * rows, "b": ["x"] * rows})
    found = kanon.known(frame, quasi_identifiers=["a", "b"], k=1)
    assert found.holds
    assert [one.in_too_small for one in found.by_number] == [0, 0]
    found = kanon.known(frame, quasi_identifiers=["a", "b"], k=2)
    assert found.holds == (not rows)
    assert [one.smallest_class for one in found.by_number] == [1 if rows else None] * 2


@pytest.mark.thorough
def test_rows_of_people_who_have_several_are_not_verified(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """As ``check`` says then: 6 rows of one person in a class are no 6 people."""
    lines = ["patient_id,sex,town", *(f"p{number // 6},{'FM'[number // 12]},A" for number in range(24))]
    (in_tmp / "stays.csv").write_text("\n".join(lines) + "\n")
    ended = kanon("known", "stays.csv", "--qi", "sex,town", "-k", 5)
    checked = kanon("check", "stays.csv", "--qi", "sex,town", "-k", 5, "--id", "patient_id")
    assert (ended.code, checked.code) == (1, 1)
    assert "k = 5 IS NOT VERIFIED" in ended.out
    assert "several rows are of one person" in ended.out
    # ... but fewer rows than k are fewer people than k.
    assert "k = 13 DOES NOT HOLD" in kanon("known", "stays.csv", "--qi", "sex", "-k", 13).out
    assert kanon("known", "stays.csv", "--qi", "sex,town", "-k", 5, "--count", "rows", "--keep", "patient_id").code == 0
    people = kanon("known", "stays.csv", "--qi", "sex,town", "-k", 2, "--entity", "patient_id")
    assert people.code == 0, people.out
    assert "2 people (patient_id)" in people.out


@pytest.mark.thorough
def test_people_of_a_release_are_counted_by_its_original(clinic: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE stays AS SELECT *, id // 2 AS patient FROM patients")
        connection.execute("CREATE TABLE released AS SELECT '*' AS age, sex, '*' AS zip FROM stays")
    roles = ("--qi", "age,sex,zip", "--entity", "patient")
    alone = kanon("known", clinic, "released", *roles, "-k", 20)
    assert alone.code == 1
    assert "k = 20 IS NOT VERIFIED" in re.sub(r"\s+", " ", alone.out)
    assert kanon("check", clinic, "released", *roles, "-k", 20).code == 1
    asked = (*roles, "--original", "stays", "--hierarchy", "age=flat", "--hierarchy", "zip=flat")
    ended = kanon("known", clinic, "released", *asked, "-k", 20, "--format", "json")
    assert ended.code == 0, ended.err
    assert (ended.json["counted"], ended.json["members"], ended.json["smallest_class"]) == ("people", 30, 30)
    assert ended.json["original"] == "stays"
    assert kanon("known", clinic, "released", *asked, "-k", 31).code == 1


@pytest.mark.thorough
def test_the_command(clinic: Path, kanon: Callable[..., Ended]) -> None:
    roles = ("--qi", "age,sex,zip")
    ended = kanon("known", clinic, "patients", *roles, "--max-columns", 1)
    assert ended.code == 0  # nothing is required
    assert "any 1 column of 3 known (3 subsets)" in ended.out
    found = kanon("known", clinic, "patients", *roles, "--max-columns", 2, "-k", 2, "--format", "json")
    assert found.code == 1
    assert [one["columns"] for one in found.json["by_number"]] == [1, 2]
    assert (found.json["holds"], found.json["verified"]) == (False, True)
    assert kanon("known", clinic, "patients", "--qi", "sex", "--keep", "id,name,age,zip", "-k", 30).code == 0
    printed = kanon("known", clinic, "patients", *roles, "--sql")
    assert "-- the combinations as arrays\n" in printed.out
    for dialect in ("postgres", "spark"):
        assert kanon("known", clinic, "patients", *roles, "--sql", "--dialect", dialect).code == 0


def test_a_policy_requires_its_k(clinic: Path, kanon: Callable[..., Ended]) -> None:
    policy = clinic.parent / "kanon.toml"
    policy.write_text(
        '[columns]\nquasi_identifiers = ["sex"]\n'
        'insensitive = ["id", "name", "age", "zip"]\nrest = "drop"\n[privacy]\nk = 31\n'
    )
    assert kanon("known", clinic, "patients", "--policy", policy).code == 1
    assert kanon("known", clinic, "patients", "--policy", policy, "-k", 30).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--qi", "age", "--max-columns", 0), "Known are 1 column or more (--max-columns), not 0"),
        (("--qi", "age", "-k", 0), "k must be a whole number of at least 1"),
        (("--qi", "height"), "height"),
        ((), "quasi-identifier"),
        (("--qi", "age", "--hierarchy", "age=flat"), "name it with --original"),
    ],
)
def test_bad_input_is_refused(
    clinic: Path, kanon: Callable[..., Ended], arguments: tuple[object, ...], message: str
) -> None:
    ended = kanon("known", clinic, "patients", *arguments)
    assert ended.code == 2
    assert message in re.sub(r"\s+", " ", ended.err)
    assert not ended.out


def test_more_subsets_than_can_be_counted_are_refused() -> None:
    """There are 2^24 - 1 subsets of 24 columns; 24 + 276 + 2,024 + 10,626 + 42,504 + 134,596 have up to 6 of them."""
    names = [f"c{place}" for place in range(24)]
    frame = pd.DataFrame([range(24)], columns=names)
    with pytest.raises(kanon.UsageError, match=r"16,777,215 subsets .* max_columns=6 has 190,050"):
        kanon.known(frame, quasi_identifiers=names, max_columns=99)


def test_bad_calls_are_refused() -> None:
    frame = pd.DataFrame({"a": [1]})
    for wrong in (0, -1, 1.5, True, "3"):
        with pytest.raises(kanon.UsageError, match="max_columns"):
            kanon.known(frame, quasi_identifiers=["a"], max_columns=wrong)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_pairs_of_twenty_four_columns() -> None:
    """All pairs of a wide table, of which there are more than stand in one statement."""
    draw = random.Random(24)  # noqa: S311 - a made table
    names = [f"column {place}" for place in range(24)]
    rows = [[draw.choice(["*", None, *"abc"[: 1 + place % 3]]) for place in range(24)] for _ in range(1500)]
    frame = pd.DataFrame(rows, columns=names)
    found = kanon.known(frame, quasi_identifiers=names, max_columns=2, k=43)
    assert [one.subsets for one in found.by_number] == [24, 276]
    tuples = [tuple(row) for row in rows]
    pairs = list(itertools.combinations(range(24), 2))
    sizes = {pair: Counter((row[pair[0]], row[pair[1]]) for row in tuples) for pair in pairs}
    smallest = {(names[one], names[other]): min(sizes[one, other].values()) for one, other in pairs}
    assert {one.columns: one.smallest_class for one in found.subsets if len(one.columns) == 2} == smallest
    small = [row for row in tuples if any(sizes[pair][row[pair[0]], row[pair[1]]] < 43 for pair in pairs)]
    assert 0 < len(small) == found.by_number[1].in_too_small < 1500


@pytest.mark.thorough
def test_enough_people_in_each_class_by_all_columns_are_enough_by_fewer() -> None:
    """One row is left out: who is in its class is open, how many there are at least is not."""
    original = pd.DataFrame({"who": [n // 2 for n in range(40)], "age": [n % 2 * 10 for n in range(40)], "sex": "f"})
    release = original.iloc[1:].drop(columns="who")
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "entity": "who", "original": original}
    hierarchies = {"age": "flat", "sex": "flat"}
    for k, holds in ((19, True), (20, False)):
        found = kanon.known(release, max_columns=1, k=k, hierarchies=hierarchies, **asked)
        checked = kanon.check(release, k=k, hierarchies=hierarchies, **asked)
        assert found.holds is holds, found
        assert checked.holds is holds
