"""Individual risk by record weights: against the negative binomial distribution, its integral, and plain Python."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import create_table, text_columns
from strategies import Case, cases

import kanon_sql as kanon
from kanon_sql.errors import UsageError
from kanon_sql.risks.estimators.weighted import individual_risk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


def mean_reciprocal(members: int, weight: float) -> float:
    """Return the mean of 1/F over the negative binomial distribution of F, term by term."""
    p = members / weight
    chance, total, left = p**members, 0.0, 1.0
    size = members
    while left > 1e-13 and size < 100_000:
        total, left = total + chance / size, left - chance
        chance *= size / (size + 1 - members) * (1 - p)
        size += 1
    return total


def integral(members: int, weight: float, steps: int = 20_000) -> float:
    """Return the integral of ``p^f t^(f - 1) / (1 - (1 - p) t)^f`` by Simpson's rule, with 1 - (1 - p) t = e^-v."""
    p = members / weight
    step = math.log(1 / p) / steps

    def value(v: float) -> float:
        # p^f = e^(f ln p), put together with e^(f v), which is as large
        t = -math.expm1(-v) / (1 - p)
        return t ** (members - 1) * math.exp(members * math.log(p) + (members - 1) * v) / (1 - p)

    inner = sum((4 if place % 2 else 2) * value(place * step) for place in range(1, steps))
    return (value(0) + inner + value(steps * step)) * step / 3


@pytest.mark.parametrize(
    ("members", "weight", "risk"), [(1, 10, 0.255843), (2, 20, 0.082684), (5, 20, 0.058174), (1, 1, 1), (4, 4, 0.25)]
)
def test_worked_numbers(members: int, weight: float, risk: float) -> None:
    assert individual_risk(members, weight) == pytest.approx(risk, abs=5e-7)


@given(st.integers(1, 120), st.floats(1.0001, 60))
@examples(200)
def test_the_risk_is_the_mean_of_a_reciprocal(members: int, each: float) -> None:
    expected = mean_reciprocal(members, members * each)
    assert individual_risk(members, members * each) == pytest.approx(expected, rel=1e-7)


@given(st.integers(1, 80), st.floats(1.001, 1e6))
@examples(50)
def test_the_risk_is_its_integral(members: int, each: float) -> None:
    assert individual_risk(members, members * each) == pytest.approx(integral(members, members * each), rel=1e-6)


@pytest.mark.parametrize("members", [1, 2, 3, 49, 50, 100_000])
def test_the_risk_falls_from_one_over_the_members(members: int) -> None:
    """... without a jump where one form takes over from another."""
    risks = [individual_risk(members, members * each) for each in (1, 1 + 1e-9, 1.5, 1.999999, 2, 2.000001, 10, 1e6)]
    assert risks[0] == 1 / members
    assert risks == sorted(risks, reverse=True)
    assert risks[3] == pytest.approx(risks[5], rel=1e-5)
    assert individual_risk(members, members * (1 - 1e-12)) == 1 / members  # a sum that was rounded


@pytest.mark.deeper
@given(cases(), st.data())
@examples(60)
def test_a_table_is_weighed_as_in_plain_python(case: Case, data: st.DataObject) -> None:
    number = st.one_of(st.integers(1, 5), st.floats(1, 1000))
    persons = case.persons and [f"{place} {person}" for place, person in enumerate(case.persons)]
    if persons and data.draw(st.booleans()):
        persons = ["nobody" if person is None else str(person) for person in case.persons or []]
    weight_of = {who: data.draw(number) for who in sorted(set(persons or range(len(case.rows))))}
    weights = [float(weight_of[who]) for who in persons or range(len(case.rows))]
    columns: Any = text_columns(case.columns, case.rows)
    columns |= {"a weight": ("DOUBLE", weights)} | ({"who is it": ("TEXT", persons)} if persons else {})
    connection = duckdb.connect()
    create_table(connection, "weighed", columns)
    entity = "who is it" if persons else None
    found = kanon.risk(
        connection,
        "weighed",
        quasi_identifiers=case.columns,
        entity=entity,
        subsets=0,
        threshold=0.2,
        record_weight="A Weight",
    )
    classes: defaultdict[Any, dict[Any, float]] = defaultdict(dict)
    for place, row in enumerate(case.rows):
        classes[row][persons[place] if persons else place] = weights[place]
    sizes = [(len(inside), sum(inside.values())) for inside in classes.values()]
    risks = [integral(f, w, 1000) if w > f * 1.0001 else 1 / f for f, w in sizes for _ in range(f)]
    weighted = found.weighted
    assert weighted is not None
    assert weighted.column == "a weight"
    assert weighted.population == pytest.approx(sum(w for _, w in sizes))
    assert weighted.expected == pytest.approx(sum(risks), rel=1e-3)
    assert weighted.highest == (pytest.approx(max(risks), rel=1e-3) if risks else None)
    assert weighted.average == (pytest.approx(sum(risks) / len(risks), rel=1e-3) if risks else None)
    assert sum(risk > 0.2002 for risk in risks) <= weighted.above_threshold <= sum(risk > 0.1998 for risk in risks)
    assert weighted.uniques == pytest.approx(sum(1 / w for f, w in sizes if f == 1))
    assert found.uniqueness is not None
    assert found.uniqueness.population == max(round(weighted.population), found.members)
    json.dumps(found.summary())
    assert not connection.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone()[0]


SURVEY = pd.DataFrame({"age": [1, 2, 2, 3, 3, 3, 3, 3], "w": [10, 12, 8, 4, 4, 4, 4, 4], "who": [*"abcdefgh"]})


def risk_of(weights: list[Any], **settings: Any) -> kanon.Risk:
    return kanon.risk(SURVEY.assign(w=weights), quasi_identifiers=["age"], record_weight="w", **settings)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1, 1, 1, 1, 1, 1, None, None], "'w' of the pandas table has 2 rows without a weight"),
        (
            [1, 1, 1, 1, 1, 0.5, 0, None],
            "'w' of the pandas table has 1 row without a weight and 2 rows with another value",
        ),
        (["1", "2.5", "x", "NaN", "inf", "-1", "", "1e3"], "'w' of the pandas table has 5 rows with another value"),
        ([True] * 8, "'w' of the pandas table has 8 rows with another value"),
        ([pd.Timestamp("2024-01-01")] * 8, "'w' of the pandas table has 8 rows with another value"),
    ],
)
def test_weights_are_numbers_of_at_least_1(weights: list[Any], said: str) -> None:
    with pytest.raises(UsageError, match=r"Record weights must be numbers of at least 1\. Column " + said):
        risk_of(weights)


def test_a_person_has_one_weight() -> None:
    people = SURVEY.assign(who=["a", "a", "b", "b", "c", "c", None, "d"], w=[1, 2, 3, 3, 4, 5, 6, 7])
    said = "Columns 'who' and 'w' of .* have 1 row without a person and 2 people with several weights"
    with pytest.raises(UsageError, match=said):
        kanon.risk(people, quasi_identifiers=["age"], entity="who", record_weight="w")


def test_settings_that_contradict_are_refused() -> None:
    with pytest.raises(UsageError, match="leave out the sampling fraction"):
        risk_of([1] * 8, sampling_fraction=0.1)
    with pytest.raises(UsageError, match="no column 'weight' of weights in"):
        kanon.risk(SURVEY, quasi_identifiers=["age"], record_weight="weight")


def test_texts_are_numbers_too() -> None:
    """Values of a released CSV file are texts."""
    found = risk_of(["10", "12", " 8", "4", "4.0", "4", "4e0", "4"]).weighted
    assert found == risk_of([10, 12, 8, 4, 4, 4, 4, 4]).weighted


RISKS = (0.255843, 0.082684, 0.058174)
"""Of classes of 1, 2 and 5 members with weights of 10, 20 and 20, by the formulas."""


def test_a_release_is_weighed_by_its_own_weights_or_by_the_people_of_its_original() -> None:
    released = pd.DataFrame({"age": ["1-2"] * 3 + ["3-4"] * 5})
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "hierarchies": {"age": {1: ["1-2"], 2: ["1-2"], 3: ["3-4"]}}}
    beside: dict[str, Any] = {"original": SURVEY, "record_weight": "w", **asked}
    expected = RISKS[0] + 2 * RISKS[1] + 5 * RISKS[2]
    after = 3 * individual_risk(3, 30) + 5 * RISKS[2]
    for release, entity, weighed in (
        (released.assign(w=SURVEY.w), None, True),  # its own
        (released.assign(w=SURVEY.w), "who", True),
        (released, "who", True),  # of the people that the original names
        (released, None, False),  # nobody knows which row is whose
    ):
        found = kanon.measure(release, entity=entity, **beside)
        assert found.risk_before is not None
        assert found.risk_before.weighted is not None
        assert found.risk_before.weighted.expected == pytest.approx(expected, abs=1e-5)
        assert found.risk_before.weighted.uniques == pytest.approx(0.1)
        assert (found.risk.weighted is not None) == weighed
        if found.risk.weighted is not None:
            assert found.risk.weighted.expected == pytest.approx(after, abs=1e-5)
        assert found.risk.uniqueness is not None
        assert found.risk.uniqueness.population == 50
    with pytest.raises(UsageError, match=r"no column 'weight' of weights in .* nor "):
        kanon.measure(released, **beside | {"record_weight": "weight"})


@pytest.mark.thorough
def test_the_command_prints_a_table_of_both(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    SURVEY.to_csv(in_tmp / "survey.csv", index=False)
    SURVEY.assign(age="*")[["age", "w"]].to_csv(in_tmp / "released.csv", index=False)
    asked = ("--qi", "age", "--record-weight", "w", "--subsets", 0)
    ended = kanon("measure", "survey.csv", *asked)
    assert ended.code == 0, ended.err
    text = " ".join(ended.out.split())
    assert "sum of the weights 50.0000 individual risk, highest 0.2558 individual risk, average 0.0890" in text
    assert "expected re-identifications 0.7121 unique in the population too 0.1000" in text
    assert "members of the population 50" in text
    both = ("--original", "survey.csv", "--hierarchy", "age=flat")
    ended = kanon("measure", "released.csv", *both, *asked)
    assert ended.code == 0, ended.err
    assert "by w original release" in " ".join(ended.out.split())
    SURVEY.assign(age="*")[["age"]].to_csv(in_tmp / "bare.csv", index=False)
    ended = kanon("measure", "bare.csv", *both, *asked)
    assert ended.code == 0, ended.err
    assert "by w original sum of the weights" in " ".join(ended.out.replace("─", "").split())
    ended = kanon("measure", "bare.csv", *asked)
    assert ended.code == 2
    assert "no column 'w' of weights in bare.csv" in ended.err


def test_a_release_is_not_weighed_if_its_people_are_unknown() -> None:
    """... since suppressed rows look like published ones, or since pseudonyms name people, whatever the type is."""
    original = SURVEY.assign(who=range(8))
    twice = pd.concat([original, original.assign(age=3)])
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "hierarchies": {"age": "flat"}, "entity": "who"}
    for table, rows, more, weighed in (
        (original, 7, {}, None),
        (original, 7, {"w": [4.0] * 7}, 7 * individual_risk(7, 28)),  # each row is another person, whoever it is
        (original, 8, {}, 8 * individual_risk(8, 50)),
        (twice, 15, {}, None),
        (twice, 15, {"w": [4.0] * 15}, None),
        (twice, 16, {}, 8 * individual_risk(8, 50)),
        (twice, 16, {"who": [f"p{place % 8}" for place in range(16)]}, None),
    ):
        release = pd.DataFrame({"age": ["*"] * rows, **more})
        found = kanon.measure(release, original=table, record_weight="w", **asked)
        assert found.risk_before is not None
        assert found.risk_before.weighted is not None
        # of records: those of 3 are in one class alone, the others in two
        assert found.risk_before.weighted.population == (50 if table is original else 80)
        assert (found.risk.weighted and found.risk.weighted.expected) == (weighed and pytest.approx(weighed))
