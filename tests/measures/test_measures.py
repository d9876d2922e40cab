"""Quality measures against definitions written out in plain Python (FORMULAS.md) and against examples by hand."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Any, get_args

import brute_force
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.measures.cell_measures import CELL_MEASURES
from kanon_sql.measures.class_measures import CLASS_MEASURES
from kanon_sql.policy.policy import Measure, rows_allowed

if TYPE_CHECKING:
    from pathlib import Path


def expected_measures(case: Case, node: brute_force.Node) -> dict[str, Any]:
    """Return every measure of a node by its definition."""
    nodes = brute_force.assigned(case.rows, case.hierarchies, node, case.k, case.persons)
    expected = brute_force.measures(case.rows, case.hierarchies, nodes, case.k)
    heights = [len(next(iter(tree.values()))) for tree in case.hierarchies]
    # That of the node, also where it publishes no row.
    return {**expected, "distortion": sum(g / h for g, h in zip(node, heights, strict=True)) / len(heights)}


@pytest.mark.thorough
@given(cases())
@examples(40)
def test_every_measure_of_a_release_is_what_its_definition_says(case: Case) -> None:
    connection, person = load(case)
    try:
        release = anonymize(case, connection, person)
    except kanon.NoSolutionError:
        return
    with release:
        expected = expected_measures(case, tuple(release.levels[column] for column in case.columns))
        assert release.measures.keys() == expected.keys()
        for name, value in expected.items():
            assert release.measures[name] == pytest.approx(value, abs=1e-8), name


@pytest.mark.thorough
@given(cases(max_rows=15), st.sampled_from([*CELL_MEASURES, *CLASS_MEASURES]))
@examples(50)
def test_optimal_and_incognito_minimize_any_measure(case: Case, measure: str) -> None:
    """No node that suppresses few enough rows is better, by the definition of the measure."""
    connection, person = load(case)
    allowed = rows_allowed(case.max_suppressed, len(case.rows))
    for algorithm in ("optimal", "incognito"):
        try:
            release = anonymize(case, connection, person, algorithm=algorithm, measure=measure)
        except kanon.NoSolutionError:
            return
        with release:
            values = []
            for node in brute_force.all_nodes(case.hierarchies):
                nodes = brute_force.assigned(case.rows, case.hierarchies, node, case.k, case.persons)
                if nodes.count(None) <= allowed:
                    values.append(brute_force.measures(case.rows, case.hierarchies, nodes, case.k)[measure])
            sign = -1 if measure == "precision" else 1
            best = min((sign * value for value in values if value is not None), default=None)
            assert release.optimal
            found = release.measures[measure]
            if best is None:
                assert found is None
            else:
                assert found is not None
                assert sign * found == pytest.approx(best, abs=1e-7)
                assert release.value == pytest.approx(found, abs=1e-7)
                assert release.gap == 0


def test_what_a_policy_may_minimize_is_what_there_is() -> None:
    assert {*get_args(Measure)} == {*CELL_MEASURES, *CLASS_MEASURES}


def test_loss_by_hand(tmp_path: Path) -> None:
    """Six rows, one column, leaves a b c d under A = {a, b, c} and D = {d}, k = 3, one row may go.

    At level 1 the class A has five rows and D has one, which is suppressed. A covers 3 of 4 leaves: a cell costs 2/3.
    The suppressed cell costs 1. The mean is (5 * 2/3 + 1)/6 = 13/18; at the root it would be 1, at level 0 too many
    rows would go.
    """
    (tmp_path / "c.csv").write_text("a;A;*\nb;A;*\nc;A;*\nd;D;*\n", encoding="utf-8")
    frame = pd.DataFrame({"c": ["a", "a", "b", "b", "c", "d"]})
    with kanon.anonymize(
        frame, quasi_identifiers=["c"], hierarchies=tmp_path, models=[kanon.KAnonymity(3)], max_suppressed=0.2
    ) as release:
        assert release.levels == {"c": 1}
        assert release.rows_suppressed == 1
        assert release.loss == pytest.approx(13 / 18, abs=1e-12)
        assert release.measures["discernibility"] == 25 + 6
        assert release.measures["average_class_size"] == pytest.approx(5 / 3)
        # Precision: five cells at level 1 of 2, one suppressed: 1 - (5 * 1/2 + 1)/6.
        assert release.measures["precision"] == pytest.approx(1 - 3.5 / 6)
        # GCP of a category: 3 of 4 leaves cost 3/4; suppressed 1.
        assert release.measures["gcp"] == pytest.approx((5 * 3 / 4 + 1) / 6)


def test_gcp_of_numbers_and_dates_is_their_width_in_the_range_of_the_table(tmp_path: Path) -> None:
    """Ages 20, 22, 25, 29 and 40: the label 20-29 holds 20 to 29, a width of 9 in a range of 20."""
    (tmp_path / "age.csv").write_text(
        "20;20-29;*\n22;20-29;*\n25;20-29;*\n29;20-29;*\n40;40-49;*\n90;90-99;*\n", encoding="utf-8"
    )
    ages = [20, 22, 25, 29, 40, 40]
    days = [
        date(2024, 1, 1),
        date(2024, 1, 11),
        date(2024, 1, 21),
        date(2024, 1, 31),
        date(2024, 2, 10),
        date(2024, 2, 10),
    ]
    for values, hierarchies in [(ages, tmp_path), (days, {"age": "date:month"})]:
        frame = pd.DataFrame({"age": values})
        with kanon.anonymize(
            frame, quasi_identifiers=["age"], hierarchies=hierarchies, models=[kanon.KAnonymity(2)], max_suppressed=0
        ) as release:
            assert release.levels == {"age": 1}
            width = 9 / 20 if values is ages else 30 / 40
            assert release.measures["gcp"] == pytest.approx(4 * width / 6)


def test_gcp_and_loss_agree_where_a_hierarchy_covers_exactly_the_numbers_between_the_extremes() -> None:
    frame = pd.DataFrame({"age": list(range(40)) * 2})
    with kanon.anonymize(
        frame,
        quasi_identifiers=["age"],
        hierarchies={"age": "intervals:5,10,20"},
        models=[kanon.KAnonymity(7)],
        max_suppressed=0,
    ) as release:
        assert release.levels == {"age": 1}
        assert release.measures["gcp"] == pytest.approx(release.loss) == pytest.approx(4 / 39)


def test_a_column_with_one_value_has_nothing_to_lose() -> None:
    frame = pd.DataFrame({"same": ["x"] * 6, "null": pd.array([None] * 6, dtype="Int64"), "c": list("aabbcd")})
    with kanon.anonymize(
        frame, quasi_identifiers=["same", "null", "c"], models=[kanon.KAnonymity(2)], max_suppressed=0.5
    ) as release:
        assert release.levels == {"same": 0, "null": 0, "c": 0}
        assert release.rows_suppressed == 2
        # Two of six rows are suppressed; only the third column loses by that.
        assert release.loss == pytest.approx(2 / 18)
        assert Counter(release.to_pandas()["c"]) == {"a": 2, "b": 2}
