"""Steps of 1, 2 and 5, groups of equal counts, and prefixes: against the same in plain Python."""

from __future__ import annotations

import math
import re
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from each import each
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from test_hierarchy_rules import built, labels

from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.hierarchy.rules.bounds import roundest
from kanon_sql.hierarchy.spec import parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


def test_steps_of_counts() -> None:
    found = labels("steps", "INTEGER", [0, 1, 2, 4, 5, 9, 10, 19, 49, 50, 99, 100, 12345])
    assert {value: own for value, own in found.items() if value in {0, 1, 4, 9, 19, 99, 12345}} == {
        0: ["0", "0", "0", "*"],
        1: ["1", "1-9", "1-99", "*"],
        4: ["2-4", "1-9", "1-99", "*"],
        9: ["5-9", "1-9", "1-99", "*"],
        19: ["10-19", "10-99", "1-99", "*"],
        99: ["50-99", "10-99", "1-99", "*"],
        12345: ["10000-19999", "10000-99999", "10000-999999", "*"],
    }
    assert found[None] == ["*", "*", "*", "*"]


def test_steps_of_money_from_100_and_below_zero() -> None:
    found = labels(
        "steps:from=100", "DECIMAL(10, 2)", ["0", "0.01", "99.99", "100", "-100", "-100.01", "-99.99", "250"]
    )
    assert {str(value): own[:3] for value, own in found.items() if value is not None} == {
        "0.00": ["0", "0", "0"],
        "0.01": ["(0, 100)"] * 3,
        "99.99": ["(0, 100)"] * 3,
        "100.00": ["[100, 200)", "[100, 1000)", "[100, 10000)"],
        "250.00": ["[200, 500)", "[100, 1000)", "[100, 10000)"],
        "-99.99": ["(-100, 0)"] * 3,
        "-100.00": ["(-200, -100]", "(-1000, -100]", "(-10000, -100]"],
        "-100.01": ["(-200, -100]", "(-1000, -100]", "(-10000, -100]"],
    }
    assert labels("steps:from=100", "INTEGER", [7, 100])[7] == ["1-99", "1-99", "1-99", "*"]
    assert labels("steps:from=0.1", "DOUBLE", [0.3, 0.1])[0.3] == ["[0.2, 0.5)", "[0.1, 1)", "[0.1, 10)", "*"]


def test_steps_of_what_is_no_number() -> None:
    found = labels("steps", "DOUBLE", [5, "nan", "inf", "-inf", 1e300, None])
    assert Counter(map(tuple, found.values())) == {
        ("[5, 10)", "[1, 10)", "[1, 100)", "*"): 1,
        ("*", "*", "*", "*"): 5,
    }
    assert labels("steps", "INTEGER", [None]) == {None: ["*"] * 4}


@pytest.mark.thorough
def test_steps_of_the_largest_numbers() -> None:
    huge = 10**37 + 1
    assert labels("steps", "HUGEINT", [huge, 3])[huge][0] == f"{10**37}-{2 * 10**37 - 1}"
    assert labels("steps", "HUGEINT", [2**127 - 1, 3])[3][0] == "2-4"
    assert labels("steps", "DECIMAL(38, 2)", [10**35, "0.5"])[Decimal(10**35)][0] == f"[{10**35}, {2 * 10**35})"
    assert labels("quantiles:2", "HUGEINT", [10**37, 10**37 + 2])[10**37][0] == f"<{10**37 + 2}"
    assert (
        labels("quantiles:2", "DECIMAL(38, 37)", ["0." + "1" * 37, "9." + "1" * 37])[Decimal("0." + "1" * 37)][0]
        == "<5"
    )


def stepped(value: int, level: int) -> tuple[int, int]:
    """Return the bounds of the step of a positive whole number."""
    power = 10 ** (len(str(value)) - 1)
    if level == 0:
        step = max(step for step in (1, 2, 5) if step * power <= value)
        return step * power, {1: 2, 2: 5, 5: 10}[step] * power
    if level == 1:
        return power, power * 10
    hundred = 100 ** ((len(str(value)) - 1) // 2)
    return hundred, hundred * 100


@pytest.mark.thorough
@given(st.lists(st.integers(-(10**15), 10**15), min_size=1, max_size=20))
@examples(20)
def test_any_number_is_in_its_step(values: list[int]) -> None:
    dashed = min(values) >= 0
    for value, own in labels("steps", "BIGINT", values).items():
        if value is None:
            continue
        for level in range(3):
            low, high = stepped(abs(value), level) if value else (0, 1)
            if value == 0:
                expected = "0"
            elif dashed:
                expected = str(low) if high - low == 1 else f"{low}-{high - 1}"
            else:
                expected = f"[{low}, {high})" if value > 0 else f"({-high}, {-low}]"
            assert own[level] == expected


def bounds(label: str) -> tuple[float, float]:
    """Return the numbers that a label of quantiles stands for, from the first to below the last."""
    if label.startswith("<"):
        return -math.inf, float(label[1:])
    if label.startswith(">="):
        return float(label[2:]), math.inf
    if label.startswith("["):
        low, high = label[1:-1].split(", ")
        return float(low), float(high)
    low, _, high = label.partition("-")
    return float(low), float(high or low) + 1


def test_quantiles_have_equal_counts() -> None:
    """1 to 100: four groups of 25, whose bounds may move by an eighth of a group to be round."""
    hierarchy, found = built("quantiles:4,2", "INTEGER", list(range(1, 101)))
    assert Counter(own[0] for value, own in found.items() if value) == {"<25": 24, "25-49": 25, "50-74": 25, ">=75": 26}
    assert Counter(own[1] for value, own in found.items() if value) == {"<50": 49, ">=50": 51}
    assert found[None] == ["*", "*", "*"]
    assert hierarchy.origin == "quantiles:4,2 (bounds chosen by the data)"
    assert "chosen by the data" in hierarchy.notes[0]


@pytest.mark.thorough
def test_equal_values_stay_together() -> None:
    found = labels("quantiles:4,2", "INTEGER", [*[0] * 60, *range(1, 41)])
    assert found[0] == ["<1", "<1", "*"]
    assert labels("quantiles:4", "INTEGER", [7] * 5) == {None: ["*"], 7: ["*"]}
    assert labels("quantiles:4", "INTEGER", [None]) == {None: ["*"]}
    assert labels("quantiles:2", "DOUBLE", [1, 2, "nan", "inf", None])[1.0] == ["<2", "*"]


def test_a_bound_is_a_round_number_and_not_the_value_of_somebody() -> None:
    values = [41234.51, 38762.12, 55123.99, 27342.17, 61987.45, 33333.33, 48001.02, 72345.67]
    found = labels("quantiles:4", "DECIMAL(10, 2)", values)
    shown = {number for own in found.values() for number in re.findall(r"[\d.]+", own[0])}
    assert shown == {"35000", "45000", "60000"}


@each(
    ("low", "high", "wanted", "expected"),
    [
        ("41", "42", "42", "42"),
        ("18", "23", "21", "20"),
        ("38762.12", "41234.51", "41234.51", "40000"),
        ("-3", "4", "1", "0"),
        ("-8.2", "-7.9", "-7.9", "-8"),
        ("0.12", "0.19", "0.15", "0.15"),
        ("0", "0.0003", "0.0003", "0.0002"),
        ("99999999999999999999999999.1", "99999999999999999999999999.2", "99999999999999999999999999.2", None),
    ],
)
def test_the_roundest_number_of_a_gap(low: str, high: str, wanted: str, expected: str | None) -> None:
    found = roundest(Decimal(low), Decimal(high), Decimal(wanted))
    assert Decimal(low) < found <= Decimal(high)
    assert found == Decimal(expected or high)


@pytest.mark.thorough
@given(
    st.lists(st.one_of(st.none(), st.integers(-1000, 1000), st.integers(0, 3)), min_size=1, max_size=80),
    st.sampled_from([(2,), (4, 2), (8, 4, 2), (6, 3), (16, 4)]),
)
@examples(30)
def test_quantiles_nest_hold_their_values_and_are_about_equal(
    values: list[int | None], groups: tuple[int, ...]
) -> None:
    found = labels(f"quantiles:{','.join(map(str, groups))}", "INTEGER", values)
    numbers = sorted(value for value in values if value is not None)
    for value, (*own, root) in found.items():
        assert root == "*"
        if value is None:
            assert set(own) <= {"*"}
            continue
        outer = (-math.inf, math.inf)
        for label in reversed(own):
            low, high = bounds(label)
            assert low <= value < high
            assert outer[0] <= low < high <= outer[1]
            outer = (low, high)
    # A bound lies where the rows before it come nearest to their share, but for an eighth of a group.
    cuts = sorted(
        {bounds(own[0])[0] for value, own in found.items() if value is not None and len(own) > 1} - {-math.inf}
    )
    for cut in cuts:
        before = sum(number < cut for number in numbers)
        last = max((number for number in numbers if number < cut), default=None)
        before_last = sum(number < last for number in numbers) if last is not None else 0
        shares = [Decimal(i * len(numbers)) / groups[0] for i in range(1, groups[0])]
        slack = Decimal(len(numbers)) / groups[0] / 8
        assert any(before_last < share + slack and before >= share - slack for share in shares)


def test_prefixes_as_listed() -> None:
    found = labels("prefixes:3,1", "VARCHAR", ["abcd", "abce", "ab", "xyz", "", "日本語テキスト", "ab*"])
    assert found == {
        None: ["*", "*", "*"],
        "": ["*", "*", "*"],
        "ab": ["ab*", "a*", "*"],
        "ab*": ["ab**", "a*", "*"],
        "abcd": ["abc*", "a*", "*"],
        "abce": ["abc*", "a*", "*"],
        "xyz": ["xyz*", "x*", "*"],
        "日本語テキスト": ["日本語*", "日*", "*"],
    }


@pytest.mark.thorough
@given(st.lists(st.one_of(st.none(), st.text("ab*", max_size=6)), min_size=1, max_size=40))
@examples(30)
def test_prefixes_that_the_data_choose(values: list[str | None]) -> None:
    """From the longest prefix down, a length is a level if it has at most a quarter of the labels below it."""
    texts = {value for value in values if value is not None}
    lengths, last = [], len(texts)
    for length in range(max(map(len, texts), default=0) - 1, 0, -1):
        count = len({text[:length] for text in texts})
        if 1 < count <= last // 4:
            lengths.append(length)
            last = count
    if not lengths and max(map(len, texts), default=0) > 1 and 1 < len({text[:1] for text in texts}) < len(texts):
        lengths = [1]
    hierarchy, found = built("prefixes", "VARCHAR", values)
    assert hierarchy.height == len(lengths) + 1
    for text, own in found.items():
        assert own == [*("*" if text is None else f"{text[:length]}*" for length in lengths), "*"]
    assert "chosen by the data" in hierarchy.origin


@each(
    ("rule", "says"),
    [
        ("steps:from=3", "a power of ten"),
        ("steps:from=0", "a power of ten"),
        ("steps:from=inf", "a power of ten"),
        ("steps:from=1e30", "at most 18 digits"),
        ("steps:from=x", "a number is expected"),
        ("steps:to=3", "the settings of steps are from= and labels="),
        ("steps:from=1:from=10", "from= is given twice"),
        ("quantiles", "numbers of groups, as in"),
        ("quantiles:16,5", "5 groups cannot be put together from 16"),
        ("quantiles:4,4", "4 groups cannot be put together from 4"),
        ("quantiles:1", "from 2 to 256"),
        ("quantiles:1000", "from 2 to 256"),
        ("quantiles:x", "a number is expected"),
        ("prefixes:1,3", "must fall"),
        ("prefixes:0", "must fall"),
        ("prefixes:3:1", "nothing may follow"),
        ("prefixes:x", "a number is expected"),
    ],
)
def test_a_rule_that_is_written_wrong(rule: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_rule(rule)


@each("rule", ["steps", "steps:from=0.01", "steps:from=100", "quantiles:16,8,4", "prefixes", "prefixes:3,1"])
def test_a_rule_reads_back_as_it_is_written(rule: str) -> None:
    assert str(parse_rule(rule)) == rule


@each(
    ("rule", "kind", "says"),
    [
        ("steps", "VARCHAR", "needs numbers"),
        ("quantiles:4", "DATE", "use a date rule"),
        ("prefixes", "INTEGER", "needs texts, but the column is INTEGER: use mask, or intervals"),
    ],
)
def test_a_rule_for_another_type_is_refused(rule: str, kind: str, says: str) -> None:
    with pytest.raises(HierarchyError, match=says):
        labels(rule, kind, [None])


@pytest.mark.thorough
def test_a_release_by_them_says_that_the_data_chose(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "kanon.toml").write_text(
        '[columns]\nquasi_identifiers = ["age", "zip", "id"]\nrest = "drop"\n[hierarchies]\n'
        "age = { quantiles = [4, 2] }\nzip = { prefixes = true }\nid = { steps = true, from = 10 }\n",
        encoding="utf-8",
    )
    ended = kanon("anonymize", clinic, "--policy", "kanon.toml", "--out", "r.csv", "--format", "json")
    assert ended.code == 0, ended.err
    origins: dict[str, Any] = {column: found["origin"] for column, found in ended.json["hierarchies"].items()}
    assert origins["age"] == "quantiles:4,2 (bounds chosen by the data)"
    assert origins["id"] == "steps:from=10"
    assert "its bounds were chosen by the data" in ended.err
    script = kanon("anonymize", clinic, "--policy", "kanon.toml", "--out", "r.csv", "--sql")
    assert script.code == 0
    built_there = kanon("hierarchy", "build", clinic, "age=quantiles:4,2")
    assert "bounds chosen by the data" in built_there.out
    assert kanon("hierarchy", "show", clinic, "age", "--format", "json").json["origin"] == origins["age"]
