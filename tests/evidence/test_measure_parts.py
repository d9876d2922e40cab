"""``kanon measure`` of tables that were published in parts: sets and ranges of values, read as they are written."""

from __future__ import annotations

import tempfile
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brute_force
import duckdb
import pandas as pd
import pytest
from conftest import ADULT_QI
from effort import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from rows import create_table, text_columns
from strategies import PERSON, TABLE, Case, cases, database_with

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

OF_CELLS = ("loss", "gcp", "precision", "nonuniform_entropy", "ambiguity")
OF_CLASSES = ("discernibility", "average_class_size", "average_rows_per_class")

# Types of numbers and dates: values, and the hierarchies that they may have.
NUMBERS: dict[str, tuple[str, list[Any], list[str]]] = {
    "integer": ("BIGINT", [None, -5, -2, -1, 0, 3, 4, 20, 34, 10**17], ["flat", "intervals:3,9", "round:1"]),
    "decimal": (
        "DECIMAL(6, 2)",
        [None, *map(Decimal, ["-1.50", "-0.25", "0.00", "0.05", "3.00", "12.34"])],
        ["flat", "intervals:0.5,2"],
    ),
    "float": (
        "DOUBLE",
        [None, float("inf"), float("-inf"), float("nan"), -0.0, 0.0, -1e-9, 2.5e-7, 1e22, -3.25, 7.0],
        ["flat"],
    ),
    "date": (
        "DATE",
        [None, *(date(2024, 1, 1) + timedelta(days=days) for days in (0, 1, 30, 31, 32, 400, -90_000))],
        ["flat", "date:month,year"],
    ),
    "timestamp": (
        "TIMESTAMP",
        [None, *(datetime(2024, 1, 1) + timedelta(seconds=s) for s in (0, 0.5, 1, 86_400, 9e6, -1e9))],
        ["flat", "date:day,year"],
    ),
}


@st.composite
def mixed_cases(draw: st.DrawFn) -> tuple[Case, dict[str, tuple[str, str, list[Any]]]]:
    """Draw a case with columns of numbers and dates beside its texts: for each the type, a hierarchy and the values."""
    case = draw(cases(max_rows=20))
    kinds = draw(st.lists(st.sampled_from(list(NUMBERS)), max_size=2, unique=True))
    columns = {}
    for kind in kinds:
        _, values, hierarchies = NUMBERS[kind]
        several = draw(st.lists(st.sampled_from(values), min_size=1, max_size=5, unique_by=repr))
        cells = draw(st.lists(st.sampled_from(several), min_size=len(case.rows), max_size=len(case.rows)))
        columns[f"{kind} column"] = (kind, draw(st.sampled_from(hierarchies)), cells)
    return case, columns


def loaded(
    case: Case, numbers: dict[str, tuple[str, str, list[Any]]], directory: Path
) -> tuple[duckdb.DuckDBPyConnection, dict[str, Any]]:
    """Return a database with the table, and what is asked of a release and of measuring it."""
    columns = text_columns(case.columns, case.rows)
    columns |= {name: (NUMBERS[kind][0], cells) for name, (kind, _, cells) in numbers.items()}
    if case.persons is not None:
        columns[PERSON] = "BIGINT", case.persons
    rules = {name: rule for name, (_, rule, _) in numbers.items()}
    hierarchies = case.write_hierarchies(directory) | rules
    return database_with(columns), {"quasi_identifiers": [*case.columns, *numbers], "hierarchies": hierarchies}


@pytest.mark.thorough
@pytest.mark.parametrize("labels", ["tree", "set", "range"])
@pytest.mark.parametrize("cut", ["strict", "relaxed", "node"])
@given(mixed=mixed_cases(), choose=st.sampled_from(["range", "distinct", "random"]), by_file=st.integers(0, 9))
@examples(8)
def test_before_publishing_and_after_the_measures_agree(
    labels: str,
    cut: str,
    mixed: tuple[Case, dict[str, tuple[str, str, list[Any]]]],
    choose: str,
    by_file: int,
) -> None:
    case, numbers = mixed
    if by_file == 0:  # a header alone, with a tab in its only name, reads as two names as well
        assume(case.rows or not any("\t" in column for column in case.columns))
    if labels == "tree":  # else a label may be written like a value
        assume(not any(brute_force.root_of(tree) in tree for tree in case.hierarchies))
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        connection, asked = loaded(case, numbers, directory)
        person = PERSON if case.persons is not None and cut != "relaxed" else None
        try:
            release = kanon.anonymize(
                connection, TABLE, models=[kanon.KAnonymity(case.k, entity=person)], rest="drop", seed=1,
                count="rows" if person is None else "people", max_suppressed=case.max_suppressed,
                algorithm="mondrian", labels=labels, cut=cut, choose=choose,
                **asked,
            )  # fmt: skip
        except kanon.NoSolutionError:
            return
        with release:
            before = release.measures
            published: Any = release.to_table("published")
            if by_file == 0:
                release.to_file(directory / "published.csv")
        asked |= {"original": connection, "original_table": TABLE, "models": [kanon.KAnonymity(case.k)]}
        if by_file == 0:
            found = kanon.measure(directory / "published.csv", **asked)
        else:
            found = kanon.measure(connection, "published", **asked)
        connection.close()
    assert found.classes == published.verification.classes
    for measure in OF_CELLS:
        assert found.measures[measure] == pytest.approx(before[measure], abs=1e-8), measure
    for measure in OF_CLASSES:
        assert found.measures[measure] == pytest.approx(before[measure]), measure
    if None not in (before["kl_divergence"], found.measures["kl_divergence"]):
        assert found.measures["kl_divergence"] == pytest.approx(before["kl_divergence"], abs=1e-8)


TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", date: "DATE"}


def measured(original: list[Any], release: list[Any], hierarchy: str | Path = "flat", k: int = 2) -> kanon.Measured:
    """Measure a column against its original."""
    asked: dict[str, Any] = {
        "quasi_identifiers": ["c"],
        "hierarchies": {"c": hierarchy},
        "models": [kanon.KAnonymity(k)],
    }
    kind = next(TYPES[type(value)] for value in original if value is not None)
    with duckdb.connect() as connection:
        create_table(connection, "original", {"c": (kind, original)})
        create_table(connection, "release", {"c": ("VARCHAR", release)})
        return kanon.measure(connection, "release", original=connection, original_table="original", **asked)


def test_a_set_of_values_with_commas_and_backslashes_by_hand() -> None:
    r"""Leaves "a, b", "c\", "\N", "" and "d", of which the set has the first four: M = 4 of N = 5, on level 1 of 1.

    Entropy: of the eight rows in sets, two have each value: 8 log2(8/2); at the root 8 log2(10/2) + 2 log2(10/2).
    """
    original = [value for value in ("a, b", "c\\", "\\N", "", "d") for _ in range(2)]
    found = measured(original, [r"{, \\N, a\, b, c\\}"] * 8 + ["d"] * 2)
    assert found.levels == {"c": None}
    expected = {
        "loss": 8 * (3 / 4) / 10,
        "gcp": 8 * (4 / 5) / 10,
        "precision": 1 - 8 / 10,
        "nonuniform_entropy": 8 * log2(4) / (10 * log2(5)),
        "distortion": None,
        "discernibility": 64 + 4,
        "average_class_size": 5 / 2,
        "average_rows_per_class": 5,
        "ambiguity": (8 * 4 + 2) / 10,
        "kl_divergence": None,
    }
    assert found.measures == pytest.approx(expected, abs=1e-7)


def test_a_range_of_negative_numbers_by_hand(tmp_path: Path) -> None:
    """-5, -3, -2 and 0, 4: [-5--2] has three of five leaves, a width of 3 in 9, and the label N of level 1 covers it.

    [0-4] has two leaves and a width of 4; L is its label on level 1. Suppressed rows are in both measures in full.
    """
    tree = "-5;N;*\n-3;N;*\n-2;N;*\n0;L;*\n4;L;*\n"
    (tmp_path / "c.csv").write_text(tree, encoding="utf-8")
    found = measured([-5, -3, -2, 0, 4, 4], ["[-5--2]"] * 3 + ["[0-4]"] * 2, str(tmp_path / "c.csv"))
    assert found.rows_suppressed == 1
    assert found.measures["loss"] == pytest.approx((3 * 2 / 4 + 2 * 1 / 4 + 1) / 6)
    assert found.measures["gcp"] == pytest.approx((3 * 3 / 9 + 2 * 4 / 9 + 1) / 6)
    assert found.measures["precision"] == pytest.approx(1 - (5 * 1 / 2 + 1) / 6)
    assert found.measures["ambiguity"] == pytest.approx((3 * 3 + 2 * 2 + 5) / 6)


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("original", "labels", "leaves"),
    [
        ([None, 20, 21, 34], ["{\\N, [20-34]}"] * 4, [4] * 4),
        ([None, 20, 21, 34], ["{\\N, 20}"] * 2 + ["[21-34]"] * 2, [2] * 4),
        ([None, "a", "b", "b"], ["{\\N, a}"] * 2 + ["b"] * 2, [2, 2, 1, 1]),
        ([None, "a", "a", "b", "b", "b"], ["[\\N to a]"] * 3 + ["b"] * 3, [2, 2, 2, 1, 1, 1]),  # fewest rows first
        ([1e-05, 2.5e22, float("inf")], ["[1e-05-2.5e+22]"] * 2 + ["inf"], [2, 2, 1]),
        ([-1e-05, -1e-07, 3.0], ["[-1e-05--1e-07]"] * 2 + ["3.0"], [2, 2, 1]),
        ([date(2024, 1, 31), date(2024, 2, 1), date(2024, 3, 2)], ["[2024-01-31 to 2024-03-02]"] * 3, [3] * 3),
        (["a to", "b", "b"], ["[a to to b]"] * 3, [2] * 3),
    ],
)
def test_what_a_label_stands_for(original: list[Any], labels: list[str], leaves: list[int]) -> None:
    found = measured(original, labels)
    assert found.measures["ambiguity"] == pytest.approx(sum(leaves) / len(leaves))
    several = [several for several in leaves if several > 1]
    assert found.measures["precision"] == pytest.approx(1 - len(several) / len(leaves))


def test_a_range_of_null_and_another_text_costs_what_it_stands_for() -> None:
    """NULL has a place of its own in the order of texts; of numbers it is beside them and has no width."""
    found = measured([None, 20, 21, 30], ["{\\N, [20-21]}"] * 3 + ["30"])
    assert found.measures["gcp"] == pytest.approx(3 * (1 / 10) / 4)
    assert found.measures["loss"] == pytest.approx(3 * (2 / 3) / 4)


@pytest.mark.thorough
def test_a_text_that_reads_both_ways_is_a_value_where_the_original_has_so_many() -> None:
    original = ["{a, b}"] * 3 + ["a"] * 2 + ["b"] * 2
    found = measured(original, ["{a, b}"] * 3 + ["a"] * 2 + ["b"] * 2)
    assert (found.levels, found.measures["loss"]) == ({"c": 0}, 0)
    found = measured(original, ["{a, b}"] * 4)  # three rows are missing
    assert found.levels == {"c": None}
    assert found.measures["loss"] == pytest.approx((4 * 1 / 2 + 3) / 7)
    # Too many for the value, and for the set: some are the one, and some the other.
    found = measured(original, ["{a, b}"] * 7)
    assert found.measures["loss"] == pytest.approx(1 / 2)


@pytest.mark.thorough
def test_beside_sets_a_value_is_a_value_however_labels_are_called(tmp_path: Path) -> None:
    """``x`` is also the label of x and y. Nobody who writes sets writes it."""
    (tmp_path / "c.csv").write_text("x;x;*\ny;x;*\nz;Z;*\nw;Z;*\n", encoding="utf-8")
    found = measured(["x", "x", "y", "z"], ["x", "x", "{y, z}", "{y, z}"], str(tmp_path / "c.csv"))
    assert found.measures["loss"] == pytest.approx(2 * (1 / 3) / 4)


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("original", "release"),
    [
        (["a", "b"], ["{a, c}", "b"]),  # no value
        (["a", "b", "b"], ["{a, b}"] * 2 + ["{a,b}"]),  # no separator
        (["a", "b", "c"], ["{a\\, b}"] * 2),  # an escaped one
        (["a", "b", "b"], ["[b to a]"] * 2),  # the other way round
        (["a", "b"], ["{\\N, a}"]),  # there is no NULL
        ([1, 2], ["{\\N, [1-2]}"]),
        ([1, 2, 3], ["[1-4]"]),
        ([1, 2, 3], ["[2-1]"]),
        ([1, 2, 3], ["{1, 2}"]),  # numbers have ranges
        ([1, 2, 3, 3], ["[1-2]"] * 3),  # two rows are there
        (["a", "b", "c", "c"], ["{a, b}"] * 3),
        (["a", "b"], ["{", "}"]),
        (["a", "b"], ["{}", "[]"]),
        (["a", "b"], ["[ to ]", "[to]"]),
        ([1, 2], ["[-]", "{\\N, }"]),
    ],
)
def test_what_stands_for_nothing_is_refused(original: list[Any], release: list[str]) -> None:
    with pytest.raises(kanon.UsageError, match="neither values of the original nor labels"):
        measured(original, release)


@pytest.mark.thorough
def test_means_cannot_be_measured() -> None:
    frame = pd.DataFrame({"c": [1, 2, 4, 20, 31, 33]})
    asked: dict[str, Any] = {"quasi_identifiers": ["c"], "hierarchies": {"c": "flat"}}
    model = kanon.KAnonymity(3)
    for numbers in ("mean", "median"):
        with kanon.anonymize(frame, algorithm="mondrian", numbers=numbers, models=[model], **asked) as release:
            published = release.to_pandas()
        with pytest.raises(kanon.UsageError, match="means and medians of several values cannot be measured"):
            kanon.measure(published, original=frame, **asked)
    with pytest.raises(kanon.UsageError) as texts:
        measured(["a", "b"], ["c"])
    assert "mean" not in str(texts.value)
    # 1.5 is not the whole number that a cast makes of it.
    with pytest.raises(kanon.UsageError, match="means"):
        measured([1, 2, 2], ["1.5"] * 2)
    assert measured([1, 2, 2], ["2.0"] * 2).levels == {"c": 0}


def test_no_message_has_a_value() -> None:
    with pytest.raises(kanon.UsageError) as said:
        measured(["secret", "b", "b"], ["{hidden, secret}"] * 3)
    assert "secret" not in str(said.value)
    assert "hidden" not in str(said.value)


@pytest.mark.thorough
def test_adult_after_publishing(adult: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """A text file of sets and ranges says the same as the parts did."""
    columns = ",".join(ADULT_QI)
    made = kanon(
        "anonymize", adult / "adult.csv", "--qi", columns, "--rest", "drop", "--hierarchies", adult, "-k", 10,
        "--algorithm", "mondrian", "--labels", "set", "--out", "release.csv", "--format", "json",
    )  # fmt: skip
    assert made.code == 0, made.err
    ended = kanon(
        "measure", in_tmp / "release.csv", "--original", adult / "adult.csv", "--qi", columns, "--hierarchies", adult,
        "-k", 10, "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    expected = {name: made.json["measures"][name] for name in (*OF_CELLS, *OF_CLASSES)}
    assert {name: ended.json["measures"][name] for name in expected} == pytest.approx(expected, abs=1e-8)
