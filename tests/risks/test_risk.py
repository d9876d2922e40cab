"""Figures of risk from the classes of a table: against counting in plain Python."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
import sqlglot
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from needs import needs
from rows import create_table, text_columns
from strategies import TABLE, Case, cases, load

import kanon_sql as kanon
from kanon_sql.engine.sources.open_source import open_named, open_source
from kanon_sql.evidence.risk import risk_of
from kanon_sql.risks.estimators.assessment import PRESETS, RiskSettings, threshold_of
from kanon_sql.sql.dialects import render

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rows import Columns

BINS = {"1": 1, "2": 2, "3-4": 4, "5-9": 9, "10-19": 19, "20-49": 49, "50-99": 99, "100+": math.inf}
"""The most members of a class in each bin."""


def class_sizes(rows: Sequence[tuple[Any, ...]], persons: Sequence[Any] | None) -> Counter[tuple[Any, ...]]:
    """Return the members of each class: its rows; or its people, who are one at least."""
    if persons is None:
        return Counter(rows)
    inside: defaultdict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for row, person in zip(rows, persons, strict=True):
        inside[row] |= {person} - {None}
    return Counter({row: max(1, len(people)) for row, people in inside.items()})


def people_where(
    rows: Sequence[tuple[Any, ...]], persons: Sequence[Any], small: Callable[[tuple[Any, ...]], bool]
) -> set[Any]:
    """Return the distinct people with a row in a small class; a class that names nobody is a person of its own."""
    named = {row for row, person in zip(rows, persons, strict=True) if person is not None}
    people = {("named", person) for row, person in zip(rows, persons, strict=True) if person is not None and small(row)}
    return people | {("nobody", row) for row in rows if row not in named and small(row)}


@pytest.mark.thorough
@given(cases(), st.sampled_from(["0.2", "1/3", "0.09", "1", "0.5"]), st.data())
@examples(40)
def test_all_figures_are_what_counting_says(case: Case, threshold: str, data: st.DataObject) -> None:
    connection, person = load(case)
    width = len(case.columns)
    largest = data.draw(st.integers(0, width))
    found = kanon.risk(
        connection, TABLE, quasi_identifiers=case.columns, entity=person, threshold=threshold, subsets=largest
    )
    sizes = class_sizes(case.rows, case.persons)
    members, above = sum(sizes.values()), Fraction(threshold)
    risks = [Fraction(1, size) for size in sizes.values() for _ in range(size)]  # of every member
    assert found.counted == ("rows" if person is None else "people")
    assert (found.members, found.classes) == (members, len(sizes))
    everybody, alone, exposed = members, sum(n == 1 for n in sizes.values()), sum(risk > above for risk in risks)
    if case.persons is not None:
        everybody, alone, exposed = (
            len(people_where(case.rows, case.persons, small))
            for small in (lambda _: True, lambda row: sizes[row] == 1, lambda row: Fraction(1, sizes[row]) > above)
        )
    assert found.people == (None if person is None else everybody)
    assert found.smallest_class == min(sizes.values(), default=None)
    assert found.journalist is None
    assert found.uniqueness is None
    prosecutor = found.prosecutor
    assert (prosecutor.uniques, prosecutor.above_threshold) == (alone, exposed)
    if members:
        assert prosecutor.highest == pytest.approx(float(max(risks)))
        assert prosecutor.average == found.marketer == pytest.approx(float(sum(risks) / members))
        assert prosecutor.share_unique == pytest.approx(alone / everybody)
        assert prosecutor.share_above_threshold == pytest.approx(exposed / everybody)
    else:
        assert [prosecutor.highest, prosecutor.average, found.marketer, prosecutor.share_unique] == [None] * 4
    least = 0
    for one, (name, most) in zip(found.histogram, BINS.items(), strict=True):
        inside = [size for size in sizes.values() if least < size <= most]
        assert (one.name, one.classes, one.members) == (name, len(inside), sum(inside))
        least = most
    check_subsets(found.subsets, case, largest)
    json.dumps(found.summary())
    assert not connection.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone()[0]


def check_subsets(found: Any, case: Case, largest: int) -> None:
    """Compare the classes by each subset of columns with counting."""
    width = len(case.columns)
    places = [s for size in range(1, largest + 1) for s in itertools.combinations(range(width), size)]
    assert (found.largest, found.not_looked_at) == (largest, 2**width - 1 - len(places))
    by_columns = {one.columns: one for one in found.found}
    assert len(by_columns) == len(found.found) == len(places)
    for chosen in places:
        one = by_columns[tuple(case.columns[place] for place in chosen)]
        rows = [tuple(row[place] for place in chosen) for row in case.rows]
        sizes = class_sizes(rows, case.persons)
        uniques, everybody = sum(size == 1 for size in sizes.values()), sum(sizes.values())
        if case.persons is not None:
            uniques = len(people_where(rows, case.persons, lambda row, sizes=sizes: sizes[row] == 1))
            everybody = len(people_where(rows, case.persons, lambda _: True))
        assert (one.classes, one.uniques) == (len(sizes), uniques)
        assert one.smallest_class == min(sizes.values(), default=None)
        assert one.share_unique == (pytest.approx(uniques / everybody) if sizes else None)
    order = [-one.uniques for one in found.found]
    assert order == sorted(order)


@pytest.mark.thorough
@given(cases(max_rows=15), st.data())
@examples(30)
def test_the_journalist_goes_by_the_classes_of_the_population(case: Case, data: st.DataObject) -> None:
    """... which has the rows of the table, more of them, and others; its columns stand in another order."""
    connection, _ = load(case)
    values = [st.sampled_from([*tree, None]) for tree in case.hierarchies]
    everybody = case.rows * data.draw(st.integers(1, 3)) + data.draw(st.lists(st.tuples(*values), max_size=20))
    columns: Columns = {"more": ("BIGINT", list(range(len(everybody))))}
    columns |= reversed(text_columns(case.columns, everybody).items())
    create_table(connection, "in_table", columns)
    found = kanon.risk(
        connection, TABLE, quasi_identifiers=case.columns, population="in_table", threshold=1 / 3, subsets=0
    ).journalist
    sizes = Counter(everybody)
    risks = [Fraction(1, sizes[row]) for row in case.rows]
    assert found is not None
    assert found.above_threshold == sum(risk > Fraction(1, 3) for risk in risks)
    if not risks:
        assert [found.smallest_class, found.highest, found.average, found.share_above_threshold] == [None] * 4
        return
    assert found.smallest_class == 1 / max(risks)
    assert found.highest == pytest.approx(float(max(risks)))
    assert found.average == pytest.approx(float(sum(risks) / len(risks)))
    assert found.share_above_threshold == pytest.approx(found.above_threshold / len(risks))


def test_by_hand() -> None:
    """Seven rows: three of F 30, two of M 30, one of M 40, one of M whose age is NULL.

    Sizes 3, 2, 1, 1: four classes among seven rows. Above 0.4 are the rows of the classes of 2, 1 and 1: four. By sex:
    3 and 4, nobody alone; by age: five of 30, one of 40, one of NULL, so that two are alone.
    """
    frame = pd.DataFrame({"sex": list("FFFMMMM"), "age": [30, 30, 30, 30, 30, 40, None]})
    found = kanon.risk(frame, quasi_identifiers=["sex", "age"], threshold=0.4)
    assert (found.members, found.classes, found.smallest_class) == (7, 4, 1)
    assert (found.prosecutor.highest, found.prosecutor.average, found.marketer) == (1, 4 / 7, 4 / 7)
    assert (found.prosecutor.above_threshold, found.prosecutor.share_above_threshold) == (4, 4 / 7)
    assert (found.prosecutor.uniques, found.prosecutor.share_unique) == (2, 2 / 7)
    assert [(one.name, one.classes, one.members) for one in found.histogram if one.classes] == [
        ("1", 2, 2),
        ("2", 1, 2),
        ("3-4", 1, 3),
    ]
    subsets = [(one.columns, one.classes, one.smallest_class, one.uniques) for one in found.subsets.found]
    assert subsets == [(("age",), 3, 1, 2), (("sex", "age"), 4, 1, 2), (("sex",), 2, 3, 0)]
    assert not any(threshold.met for threshold in found.thresholds)


def test_the_journalist_by_hand() -> None:
    """Three rows: two in a class of 4 of the population, one in a class of 10: 1/4 and (1/4 + 1/4 + 1/10)/3."""
    table = pd.DataFrame({"zip": ["1", "1", "2"]})
    everybody = pd.DataFrame({"zip": ["1"] * 4 + ["2"] * 10 + ["3"]})
    found = kanon.risk(table, quasi_identifiers=["zip"], population=everybody).journalist
    assert found is not None
    assert (found.smallest_class, found.highest) == (4, 0.25)
    assert found.average == pytest.approx(0.2)
    assert (found.above_threshold, found.share_above_threshold) == (2, 2 / 3)


def test_people_are_counted_where_the_table_has_them() -> None:
    """Four rows of one person are one person; a class of rows that name nobody is somebody's."""
    frame = pd.DataFrame({"zip": [1, 1, 1, 1, 2, 2, 3], "who": ["a", "a", "a", "a", "b", "c", None]})
    rows = kanon.risk(frame, quasi_identifiers=["zip"])
    assert (rows.counted, rows.members, rows.prosecutor.uniques) == ("rows", 7, 1)
    people = kanon.risk(frame, quasi_identifiers=["zip"], entity="WHO")
    assert (people.counted, people.members, people.classes, people.prosecutor.uniques) == ("people", 4, 3, 2)
    with pytest.raises(kanon.UsageError, match="no column 'who' to count people by"):
        kanon.risk(frame[["zip"]], quasi_identifiers=["zip"], entity="who")
    policy = kanon.Policy(columns=kanon.NamedColumns(quasi_identifiers=("zip",), entity="who"))
    assert kanon.risk(frame[["zip"]], policy=policy) == rows  # a release of this policy has no such column
    everybody = pd.DataFrame({"zip": [1, 1, 1, 2, 2, 2, 3], "who": ["a", "a", "d", "b", "c", "c", "e"]})
    found = kanon.risk(frame, quasi_identifiers=["zip"], entity="who", population=everybody)
    assert found.journalist is not None  # classes of 2, 2 and 1 people
    assert found.journalist.average == pytest.approx((1 / 2 + 2 / 2 + 1) / 4)


def test_people_are_distinct_however_many_classes_they_are_in() -> None:
    """By hand: Ann alone in three towns, Bob and Cem in two others together, Bob alone in one more.

    Records: Ann 3, Bob 2, Cem 1. Two of the three people are alone somewhere; none is counted twice.
    """
    frame = pd.DataFrame({"town": [1, 2, 3, 3, 4, 4, 5], "who": ["Ann"] * 4 + ["Bob", "Cem", "Bob"]})
    everybody = pd.DataFrame({"town": [1, 1, 1, 1, 2, 3, 4, 4, 5, 5], "who": range(10)})
    found = kanon.risk(frame, quasi_identifiers=["town"], entity="who", population=everybody, threshold=0.5)
    assert (found.members, found.people, found.classes) == (6, 3, 5)
    assert (found.prosecutor.uniques, found.prosecutor.share_unique) == (2, 2 / 3)
    assert (found.prosecutor.above_threshold, found.prosecutor.share_above_threshold) == (2, 2 / 3)
    assert found.prosecutor.average == 5 / 6  # of a record: 4 alone, 2 in a class of two
    assert (found.subsets.found[0].uniques, found.subsets.found[0].share_unique) == (2, 2 / 3)
    assert found.journalist is not None  # of 5 classes those of towns 2 and 3 are of one in the population: Ann
    assert (found.journalist.above_threshold, found.journalist.share_above_threshold) == (1, 1 / 3)
    assert found.journalist.average == pytest.approx((1 / 4 + 1 + 1 + 2 / 2 + 1 / 2) / 6)


def test_values_are_alike_if_they_are_written_alike() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT unnest(['0', '-0', 'nan', '-nan', NULL, NULL])::DOUBLE AS x")
    found = kanon.risk(connection, "t", quasi_identifiers=["x"])
    written = set(connection.execute("SELECT x::VARCHAR FROM t").fetchall())  # 0.0, -0.0, nan, NULL
    assert found.classes == len(written) > 3


def test_thirty_columns_have_their_pairs_looked_at_and_no_more() -> None:
    names = [f"column {place}" for place in range(30)]
    frame = pd.DataFrame({name: [row >> (place % 6) & 1 for row in range(64)] for place, name in enumerate(names)})
    found = kanon.risk(frame, quasi_identifiers=names)
    assert (found.classes, found.prosecutor.uniques) == (64, 64)
    assert (found.subsets.largest, len(found.subsets.found)) == (2, 30 + 435)
    assert found.subsets.not_looked_at == 2**30 - 1 - 465
    # Of two different bits, each of the four combinations has 16 rows; of the same bit, each of two has 32.
    assert Counter(one.smallest_class for one in found.subsets.found) == {32: 30 + 30 // 2 * 4, 16: 435 - 60}


def test_a_column_of_ours_may_be_called_like_one_of_the_table() -> None:
    frame = pd.DataFrame({"value_1": [1, 1, 2], "value_0": [5, 6, 6], "n": [7, 7, 7], "members": [0, 0, 1]})
    found = kanon.risk(frame, quasi_identifiers=list(frame.columns), entity=None, subsets=1)
    assert (found.classes, found.prosecutor.uniques) == (3, 3)
    assert {one.columns[0]: one.uniques for one in found.subsets.found} == {
        "value_1": 1,
        "value_0": 1,
        "n": 0,
        "members": 1,
    }


@pytest.mark.parametrize(
    ("name", "k"),
    [
        ("pdpc-internal", 3),
        ("pdpc-external", 5),
        ("cell-of-five", 5),
        ("us-health", 11),
        ("ema-0070", 12),
        ("cell-of-twenty", 20),
    ],
)
def test_presets_ask_for_the_smallest_class_of_their_source(name: str, k: int) -> None:
    assert threshold_of(name).k == k
    assert threshold_of(name).source
    for size, met in ((k - 1, False), (k, True)):
        frame = pd.DataFrame({"x": [1] * size + [2] * 40})
        found = kanon.risk(frame, quasi_identifiers=["x"], threshold=name)
        (result,) = [one for one in found.thresholds if one.name == name]
        assert (result.met, result.k) == (met, k)
        assert found.prosecutor.above_threshold == (0 if met else size)


@given(st.integers(1, 10**6))
def test_a_threshold_of_one_in_k_is_met_by_k(k: int) -> None:
    for given_as in (f"1/{k}", 1 / k):
        assert threshold_of(given_as).k == k


@pytest.mark.parametrize("threshold", ["0", "1.01", "-1", "ema", "", "1/0", "nan", 0, 2, True, float("nan")])
def test_a_threshold_is_a_risk_or_a_preset(threshold: Any) -> None:
    with pytest.raises(kanon.UsageError, match="pdpc-internal"):
        threshold_of(threshold)


def test_presets_go_from_weak_to_strict() -> None:
    risks = [preset.risk for preset in PRESETS]
    assert risks == sorted(risks, reverse=True)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"subsets": 3}, "here 2"),
        ({"subsets": -1}, "here 2"),
        ({"sampling_fraction": 0}, "sampling fraction"),
        ({"sampling_fraction": 1.5}, "sampling fraction"),
        ({"sampling_fraction": float("nan")}, "sampling fraction"),
        ({"quasi_identifiers": []}, "quasi-identifier"),
        ({"quasi_identifiers": ["c"]}, "no column 'c'"),
        ({"population_table": "t"}, "name the population"),
        ({"population": pd.DataFrame({"a": [1]})}, "no column 'b'"),
        ({"population": pd.DataFrame({"a": [1, 2], "b": [1, 2]})}, "1 classes of the table are not in it"),
        ({"population": pd.DataFrame({"a": [1, 2, 2], "b": [1, 2, 2]})}, None),
        ({"population": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_what_is_wrong_is_said(setting: dict[str, Any], said: str | None) -> None:
    """... and no value of a cell with it."""
    frame = pd.DataFrame({"a": [1, 2, 2], "b": [1, 2, 2]})
    asked = {"quasi_identifiers": ["a", "b"], **setting}
    if said is None:
        assert kanon.risk(frame, **asked).journalist is not None
        return
    with pytest.raises(kanon.KanonError, match=said):
        kanon.risk(frame, **asked)


def test_a_population_of_other_types_is_compared_by_what_is_written(tmp_path: Path) -> None:
    table = pd.DataFrame({"zip": [10115, 10115, 80331], "day": pd.to_datetime(["2024-01-01"] * 3).date})
    (tmp_path / "people.csv").write_text("day,zip\n" + "2024-01-01,10115\n" * 5 + "2024-01-01,80331\n")
    found = kanon.risk(table, quasi_identifiers=["zip", "day"], population=tmp_path / "people.csv").journalist
    assert found is not None
    assert (found.smallest_class, found.average) == (1, pytest.approx((2 / 5 + 1) / 3))


def test_the_sampling_fraction_makes_the_population() -> None:
    frame = pd.DataFrame({"x": [*range(40), *range(100, 130), *range(100, 130)]})
    found = kanon.risk(frame, quasi_identifiers=["x"], sampling_fraction=0.03).uniqueness
    assert found is not None
    assert found.population == 3333  # 100/0.03
    assert found.sampling_fraction == pytest.approx(100 / 3333)
    # Zayatz: 40 uniques, 30 pairs; a class of 2 shows one with 2 * 100/3333 * 3233/3332.
    expected = 40**2 / (40 * 100 / 3333 + 30 * 2 * 100 / 3333 * 3233 / 3332)
    assert found.zayatz.uniques == pytest.approx(expected)
    assert kanon.risk(frame, quasi_identifiers=["x"], sampling_fraction=1).uniqueness.estimate.uniques == 40


def test_people_and_rows_are_samples_of_one_population(tmp_path: Path) -> None:
    """Ten people of three rows each: half of twenty people, and of sixty rows."""
    (tmp_path / "age.csv").write_text("30;*\n31;*\n")
    original = pd.DataFrame({"age": [30, 31, 31] * 10, "who": [row // 3 for row in range(30)]})
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "hierarchies": tmp_path, "sampling_fraction": 0.5}
    release = pd.DataFrame({"age": ["*"] * 30})
    found = kanon.measure(release, original=original, entity="who", **asked)
    assert found.risk_before is not None
    assert (found.risk_before.members, found.risk.members) == (20, 10)  # everybody is in both classes
    assert found.risk_before.uniqueness is not None
    assert found.risk.uniqueness is not None
    assert (found.risk_before.uniqueness.population, found.risk.uniqueness.population) == (40, 40)
    with pytest.raises(kanon.UsageError, match="no column 'whom'"):
        kanon.measure(release, original=original, entity="whom", **asked)


def test_before_and_after(tmp_path: Path) -> None:
    """Ages 20..27 twice, one 28 left out; published in decades: nobody alone in a class of 16."""
    ages = [*range(20, 28), *range(20, 28), 28]
    original = pd.DataFrame({"age": ages, "who": range(17)})
    (tmp_path / "age.csv").write_text("\n".join(f"{age};2*;*" for age in range(20, 29)) + "\n")
    release = pd.DataFrame({"age": ["2*"] * 16})
    found = kanon.measure(
        release, original=original, quasi_identifiers=["age"], hierarchies=tmp_path, entity="who", sampling_fraction=0.1
    )
    assert found.risk_before is not None
    assert (found.risk_before.counted, found.risk.counted) == ("people", "people")
    assert (found.risk_before.classes, found.risk_before.prosecutor.uniques) == (9, 1)
    assert (found.risk.classes, found.risk.smallest_class, found.risk.prosecutor.uniques) == (1, 16, 0)
    assert found.risk_before.uniqueness is not None
    assert found.risk.uniqueness is not None
    assert found.risk_before.uniqueness.population == found.risk.uniqueness.population == 170
    summary = found.summary()["risk"]
    assert summary["before"] == found.risk_before.summary()
    assert summary["after"] == found.risk.summary()


@pytest.mark.thorough
def test_the_statements_are_those_of_other_engines_too() -> None:
    """PostgreSQL's own parser takes each, and sqlglot reads each back from Spark's."""
    frame = pd.DataFrame({"select": ["a", "b"], 'b" -- ': [1.5, None], "who": [1, 2]})
    opened = open_source(frame)
    with opened.engine:
        policy = kanon.Policy(columns=kanon.NamedColumns(quasi_identifiers=("select", 'b" -- '), entity="who"))
        population = open_named(opened, pd.concat([frame, frame]))
        risk_of(opened, policy, RiskSettings(), population)
        asked = [one for one in opened.engine.statements if "class" in one.title or "combinations" in one.title]
    assert len(asked) >= 7
    pglast = needs("pglast")
    for one in asked:
        assert len(pglast.parse_sql(render(one.statement, "postgres"))) == 1
        sqlglot.parse_one(render(one.statement, "spark"), read="spark")
