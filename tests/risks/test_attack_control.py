"""``kanon attack --control``: against loops over rows, examples by hand, releases that leak and some that do not."""

from __future__ import annotations

import itertools
import math
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import ADULT_QI
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import create_table, text_columns

import kanon_sql as kanon
from kanon_sql.risks.attacks.controlled import Controlled
from kanon_sql.risks.attacks.residual import EstimatedShare, Rate, residual_risk, singled_out_by_chance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Ended

# Rates, intervals and risks


def test_a_rate_has_the_interval_of_wilson() -> None:
    """15 of 148 is an example of Newcombe (1998, two-sided intervals for the single proportion, method 3)."""
    found = Rate(15, 148).estimate
    assert (round(found.low, 4), round(found.high, 4)) == (0.0624, 0.1605)
    # Of 0 of 10 the upper end is z^2 / (n + z^2).
    assert Rate(0, 10).estimate == EstimatedShare(0.0, 0.0, pytest.approx(3.8415 / 13.8415, abs=1e-4))
    assert Rate(10, 10).estimate.high == 1.0
    assert Rate(0, 0).estimate == EstimatedShare(0.0, 0.0, 1.0)


def test_a_risk_is_the_share_of_what_the_control_group_leaves_open() -> None:
    found = residual_risk(Rate(80, 100).estimate, Rate(60, 100).estimate)
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert found.low < 0.5 < found.high
    nothing = residual_risk(Rate(10, 100).estimate, Rate(60, 100).estimate)
    assert nothing is not None
    assert (nothing.value, nothing.low) == (0.0, 0.0)
    assert residual_risk(Rate(5, 10).estimate, Rate(10, 10).estimate) is None


def newcombe(first: Rate, second: Rate) -> float:
    """Return the lower end of Newcombe's interval of a difference (1998, method 10), by another way to write it."""

    def wilson(rate: Rate) -> tuple[float, float]:
        n, p, z2 = rate.guesses, rate.right / rate.guesses, 1.959963984540054**2
        root = math.sqrt(z2 * (z2 + 4 * n * p * (1 - p)))
        return (2 * n * p + z2 - root) / (2 * (n + z2)), (2 * n * p + z2 + root) / (2 * (n + z2))

    one, other = first.right / first.guesses, second.right / second.guesses
    low, high = wilson(first)[0], wilson(second)[1]
    return one - other - math.sqrt((one - low) ** 2 + (high - other) ** 2)


@given(guesses=st.tuples(st.integers(1, 300), st.integers(1, 300)), shares=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_a_risk_excludes_0_where_newcombes_interval_of_the_difference_does(
    guesses: tuple[int, int], shares: tuple[float, float]
) -> None:
    attack, control = (Rate(round(share * n), n) for share, n in zip(shares, guesses, strict=True))
    found = residual_risk(attack.estimate, control.estimate)
    if control.right == control.guesses:
        assert found is None
        return
    assert found is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    low = newcombe(attack, control)
    if abs(low) > 1e-9:
        assert (found.low > 0) == (low > 0)


def exactly_one(weight: float, people: int) -> float:
    return people * weight * (1 - weight) ** (people - 1)


@given(
    weights=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    scale=st.sampled_from([1, 10, 1_000]),
    control_people=st.integers(1, 400),
    more=st.integers(0, 4_000),
)
def test_the_control_rate_of_singling_out_is_never_below_that_of_new_people(
    weights: list[float], scale: int, control_people: int, more: int
) -> None:
    people = control_people + more
    small = [weight / scale for weight in weights]
    in_control = sum(exactly_one(weight, control_people) for weight in small) / len(small)
    by_chance = sum(exactly_one(weight, people) for weight in small) / len(small)
    found = singled_out_by_chance(in_control, people, control_people)
    assert by_chance - 1e-9 <= found <= exactly_one(1 / people, people) + 1e-12


def test_the_control_rate_of_singling_out_is_that_of_a_control_group_of_the_same_size() -> None:
    assert singled_out_by_chance(0.2, 100, 100) == pytest.approx(0.2)
    assert singled_out_by_chance(0.0, 100, 100) == 0.0
    assert singled_out_by_chance(0.9, 100, 100) == pytest.approx(0.99**99)
    # Of two people, and one of the control group: w = 0.25, and 2 w (1 - w) match exactly one; w = 0.5 is the most.
    assert singled_out_by_chance(0.25, 2, 1) == pytest.approx(0.375)
    assert singled_out_by_chance(0.6, 2, 1) == pytest.approx(0.5)


def test_the_risk_of_singling_out_is_a_lower_bound_where_the_control_group_is_smaller() -> None:
    """100 predicates, of which 30 match one person of the original and 20 one of the control group."""
    smaller = Controlled("singling out", None, (), Rate(30, 100), Rate(0, 100), Rate(20, 100), 1_000, 100)
    assert smaller.control_estimate.low == 0.0
    assert smaller.risk is not None
    assert (smaller.risk.value, smaller.risk.low, smaller.succeeded) == (0.0, 0.0, False)
    assert smaller.risk.high > 0.2
    as_large = Controlled("singling out", None, (), Rate(30, 100), Rate(0, 100), Rate(20, 100), 100, 100)
    assert as_large.control_estimate.low == pytest.approx(Rate(20, 100).estimate.low)


# Loops over rows

VALUES = ["a1", "a2", "b1", "b2", "c1"]
CHAINS = {value: [value, value[0], "*"] for value in VALUES}
SECRETS = ["x", "y", None, "it's"]
COLUMNS = ['a"b; DROP TABLE x --', "select", "日本 語"]


@dataclass(frozen=True)
class Tables:
    """An original, a control group and a release: rows of the quasi-identifiers, and of two other columns."""

    width: int
    original: list[tuple[Any, ...]]
    control: list[tuple[Any, ...]]
    release: list[tuple[Any, ...]]

    @property
    def columns(self) -> list[str]:
        return [*COLUMNS[: self.width], "secret", "other"]

    def covers(self, column: int, label: Any, value: Any) -> bool:
        return label in CHAINS[value] if column < self.width else label == value


def scope(original: list[tuple[Any, ...]], control: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the original without the control group, if that is a part of it."""
    rest = Counter(original)
    rest.subtract(Counter(control))
    return list(rest.elements()) if min(rest.values()) >= 0 else original


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    """Draw tables; the release has rows of the original, each label on a level of its own."""
    width = draw(st.integers(1, 3))
    row = st.tuples(
        *(st.sampled_from(VALUES) for _ in range(width)), st.sampled_from(SECRETS), st.sampled_from(["u", "v", "w"])
    )
    original = draw(st.lists(row, min_size=1, max_size=14))
    control = draw(st.lists(row, min_size=1, max_size=8))
    people = scope(original, control) or original
    published = draw(st.lists(st.sampled_from(range(len(people))), min_size=1, unique=True))
    release = []
    for row_of_person in (people[place] for place in published):
        levels = draw(st.lists(st.integers(0, 2), min_size=width, max_size=width))
        labels = [CHAINS[value][level] for value, level in zip(row_of_person, levels, strict=False)]
        release.append((*labels, *row_of_person[width:]))
    return Tables(width, original, control, release)


def connected(table: Tables) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name in ("original", "control", "release"):
        create_table(connection, name, text_columns(table.columns, getattr(table, name)))
    return connection


def hierarchies(directory: str, names: Sequence[str]) -> dict[str, str]:
    path = Path(directory) / "tree.csv"
    path.write_text("\n".join(",".join(chain) for chain in CHAINS.values()), encoding="utf-8")
    return dict.fromkeys(names, str(path))


def candidates(table: Tables, row: tuple[Any, ...], known: Sequence[int]) -> list[tuple[Any, ...]]:
    return [
        released
        for released in table.release
        if all(table.covers(place, released[place], row[place]) for place in known)
    ]


def bounds_of_inference(
    table: Tables, people: list[tuple[Any, ...]], known: Sequence[int], secret: int
) -> tuple[int, int]:
    """Return how many guesses are right for certain, and how many may be: of equally frequent labels one is drawn."""
    low = high = 0
    for row in people:
        found = candidates(table, row, known) or table.release
        often = Counter(released[secret] for released in found)
        right = [table.covers(secret, label, row[secret]) for label, n in often.items() if n == max(often.values())]
        low, high = low + all(right), high + any(right)
    return low, high


def bounds_of_linkability(
    table: Tables, people: list[tuple[Any, ...]], first: Sequence[int], second: Sequence[int]
) -> tuple[int, int]:
    low = high = 0
    for row in people:
        sides = [
            {
                number
                for number, released in enumerate(table.release)
                if all(table.covers(place, released[place], row[place]) for place in known)
            }
            for known in (first, second)
        ]
        both = sides[0] & sides[1]
        low, high = low + (bool(both) and len(sides[0]) == len(sides[1]) == 1), high + bool(both)
    return low, high


def bounds_of_singling_out(table: Tables, people: list[tuple[Any, ...]]) -> tuple[int, int, int]:
    """Return how many rows make a predicate, and how many of these match one person for certain, and may do so."""
    width = len(table.columns)
    found_in = [
        place
        for place in range(width)
        if place < table.width
        or 2 * sum(released[place] in {row[place] for row in people} for released in table.release)
        >= len(table.release)
    ]
    alone: dict[tuple[int, ...], list[int]] = {}
    for size in range(1, min(3, len(found_in)) + 1):
        for subset in itertools.combinations(found_in, size):
            often = Counter(tuple(released[place] for place in subset) for released in table.release)
            alone[subset] = [
                number
                for number, released in enumerate(table.release)
                if often[tuple(released[place] for place in subset)] == 1
            ]

    def worst_first(subset: tuple[int, ...]) -> tuple[int, int, int]:
        often = Counter(tuple(released[place] for place in subset) for released in table.release)
        return -len(alone[subset]), min(often.values()), len(subset)

    chosen = [subset for subset in sorted(alone, key=worst_first) if alone[subset]][:5]
    everything = tuple(found_in)
    often = Counter(tuple(released[place] for place in everything) for released in table.release)
    if len(everything) not in {len(subset) for subset in chosen} and 1 in often.values():
        chosen.append(everything)
        alone[everything] = [
            number
            for number, released in enumerate(table.release)
            if often[tuple(released[place] for place in everything)] == 1
        ]
    low = high = 0
    rows = sorted({number for subset in chosen for number in alone[subset]})
    for number in rows:
        ones = [
            sum(
                all(table.covers(place, table.release[number][place], row[place]) for place in subset) for row in people
            )
            == 1
            for subset in chosen
            if number in alone[subset]
        ]
        low, high = low + all(ones), high + any(ones)
    return len(rows), low, high


def of(found: kanon.Attacked) -> dict[tuple[str, str | None, int], Controlled]:
    """Return the attacks with a control group, by their name, their column, and how many columns are known."""
    return {
        (attack.name, attack.column, sum(map(len, attack.knows))): attack
        for attack in found.attacks
        if isinstance(attack, Controlled)
    }


@given(table=tables(), seed=st.integers(0, 3))
@examples(25, quick=3)
def test_guesses_are_right_where_loops_over_rows_say_so(table: Tables, seed: int) -> None:
    people = scope(table.original, table.control)
    names, width = table.columns, table.width
    with tempfile.TemporaryDirectory() as directory, connected(table) as connection:
        asked: dict[str, Any] = {
            "original": connection, "original_table": "original", "control": "control", "count": "rows",
            "quasi_identifiers": names[:width], "hierarchies": hierarchies(directory, names[:width]),
        }  # fmt: skip
        if not people:
            with pytest.raises(kanon.UsageError, match="nobody is left"):
                kanon.attack(connection, "release", **asked)
            return
        found = of(kanon.attack(connection, "release", seed=seed, **asked))
    # Inference of every column that is not known, by all quasi-identifiers.
    known = range(width)
    inferred = {
        place
        for (name, _, _), attack in found.items()
        if name == "inference"
        for place in [names.index(str(attack.column))]
    }
    for place in inferred:
        attack = found["inference", names[place], width]
        assert (attack.in_release.guesses, attack.control.guesses) == (len(people), len(table.control))
        for rate, rows in ((attack.in_release, people), (attack.control, table.control)):
            low, high = bounds_of_inference(table, rows, known, place)
            assert low <= rate.right <= high
    # Linkability.
    linked = next(attack for (name, *_), attack in found.items() if name == "linkability")
    if width == 1:
        assert linked.reason is not None
    else:
        sources = [[names.index(column) for column in source] for source in linked.knows]
        assert sorted(itertools.chain(*sources)) == list(known)
        for rate, rows in ((linked.in_release, people), (linked.control, table.control)):
            low, high = bounds_of_linkability(table, rows, *sources)
            assert low <= rate.right <= high
    # Singling out: there are at most as many predicates as people of the control group, and of those drawn ones.
    out = found["singling out", None, 0]
    number, low, high = bounds_of_singling_out(table, people)
    most = min(number, len(table.control), len(people))
    assert out.in_release.guesses == most
    assert low - (number - most) <= out.in_release.right <= high


def test_which_guesses_are_right_in_a_table_of_six(tmp_path: Path) -> None:
    """Worked by hand.

    Of six people four are published, k = 2: (A, a: flu, flu), (B, b: cold, flu); the two others are suppressed rows
    like the first two classes. The control group has one person like the first class with flu, and one whom no class
    covers, who is guessed flu, which most have.
    """
    original = [("a1", "flu"), ("a2", "flu"), ("b1", "cold"), ("b2", "flu"), ("a1", "cold"), ("b1", "cold")]
    release = [("a", "flu"), ("a", "flu"), ("b", "cold"), ("b", "flu")]
    control = [("a2", "flu"), ("c1", "cold")]
    connection = duckdb.connect()
    for name, rows in (("original", original), ("release", release), ("control", control)):
        connection.from_df(pd.DataFrame(rows, columns=["zip", "disease"])).create(name)
    found = kanon.attack(
        connection, "release", original=connection, original_table="original", control="control", count="rows",
        quasi_identifiers=["zip"], sensitive=["disease"], hierarchies=hierarchies(str(tmp_path), ["zip"]),
    )  # fmt: skip
    attack = of(found)["inference", "disease", 1]
    # Both a1/a2 flu are right, a1 cold is wrong; of the three of class b one label is drawn.
    assert 2 <= attack.in_release.right <= 5
    assert attack.in_release.guesses == 6
    assert attack.baseline == Rate(3, 6)
    assert attack.control == Rate(1, 2)
    assert found.summary()["control"] == "control"


# Leaks and no leaks


def population(seed: int, people: int, *, distinct: int = 12) -> pd.DataFrame:
    """Return people with four columns that depend on each other, and a fifth one that depends on them."""
    drawn = random.Random(seed)  # noqa: S311 - a test
    rows = []
    for _ in range(people):
        first = min(int(drawn.expovariate(0.35)), distinct - 1)
        second = (first + drawn.randrange(6)) % 8
        third, fourth = drawn.randrange(8), (2 * first + drawn.randrange(4)) % 9
        fifth = (first + second) % 5 if drawn.random() < 0.6 else drawn.randrange(5)
        rows.append([str(value) for value in (first, second, third, fourth, fifth)])
    return pd.DataFrame(rows, columns=["a", "b", "c", "d", "secret"])


def attacked(original: pd.DataFrame, control: pd.DataFrame, release: pd.DataFrame, **more: Any) -> list[Controlled]:
    found = kanon.attack(
        release, original=original, control=control, count="rows", quasi_identifiers=["a", "b", "c", "d"],
        hierarchies=dict.fromkeys("abcd", "flat"), **({"sensitive": ["secret"]} | more),
    )  # fmt: skip
    return [attack for attack in found.attacks if isinstance(attack, Controlled)]


def false_alarms(seeds: int, people: int, control: int) -> tuple[Counter[str], int]:
    """Return how often each attack is found to succeed on releases of other people, and how often it was made."""
    alarms: Counter[str] = Counter()
    made = 0
    for seed in range(seeds):
        groups = [population(3 * seed + number, size) for number, size in enumerate((people, control, people))]
        original, held_out, others = groups
        known = {column: set(original[column]) for column in original.columns}
        release = others[[all(row[column] in known[column] for column in known) for _, row in others.iterrows()]]
        made += 1
        for attack in attacked(original, held_out, release, seed=seed):
            alarms[f"{attack.name} {sum(map(len, attack.knows))}"] += attack.succeeded
    return alarms, made


@pytest.mark.thorough
@pytest.mark.parametrize(("seeds", "control", "most"), [(30, 300, 4), (20, 60, 3)])
def test_false_alarms_are_as_frequent_as_intervals_say(seeds: int, control: int, most: int) -> None:
    """Of 30, 0.75 are expected at 2.5 %, more than 4 happen in 0.08 % of cases; of 20, more than 3 in 0.14 %."""
    alarms, made = false_alarms(seeds, 300, control)
    assert made == seeds
    assert all(number <= most for number in alarms.values()), alarms


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
def test_a_release_that_is_a_copy_is_found_to_leak(seed: int) -> None:
    original, control = population(1_000 + 2 * seed, 400), population(1_001 + 2 * seed, 200)
    found = {(attack.name, sum(map(len, attack.knows))): attack for attack in attacked(original, control, original)}
    assert found["singling out", 0].succeeded
    assert found["inference", 4].succeeded
    risk = found["inference", 4].risk
    assert risk is not None
    assert risk.low > 0.3


@pytest.mark.thorough
def test_a_quarter_of_copied_rows_is_found_and_its_risk_is_about_a_quarter() -> None:
    """A quarter of the released rows are people of the original, the others are not: names tell who is who."""
    original, control, others = population(1, 2_000), population(2, 1_000), population(3, 1_500)
    for number, frame in enumerate((original, control, others)):
        frame["zip"] = [f"{number}{place}" for place in range(len(frame))]
    release = pd.concat([original[:500], others.assign(zip=original["zip"][500:2_000].to_numpy())])
    found = kanon.attack(
        release, original=original, control=control, count="rows", quasi_identifiers=["zip"], sensitive=["secret"],
        hierarchies={"zip": "flat"},
    )  # fmt: skip
    attack = of(found)["inference", "secret", 1]
    assert attack.risk is not None
    # A quarter is guessed from their own rows, the others from rows that have their secret by chance.
    assert attack.risk.low > 0.15
    assert attack.risk.high < 0.35


# People


@pytest.mark.thorough
def test_a_person_is_one_target_and_rows_of_the_control_group_go(tmp_path: Path) -> None:
    rows = [
        (person, f"{'ab'[person % 2]}{stay % 2 + 1}", "flu" if person < 4 else "cold")
        for person in range(8)
        for stay in range(3)
    ]
    frame = pd.DataFrame(rows, columns=["person", "zip", "disease"])
    control, rest = frame[frame.person.isin([0, 5])], frame[~frame.person.isin([0, 5])][["zip", "disease"]]
    found = kanon.attack(
        rest, original=frame, control=control, entity="person", quasi_identifiers=["zip"],
        sensitive=["disease"], hierarchies=hierarchies(str(tmp_path), ["zip"]),
    )  # fmt: skip
    attack = of(found)["inference", "disease", 1]
    assert (attack.people, attack.control_people) == (6, 2)
    assert (attack.in_release.guesses, attack.control.guesses) == (6, 2)
    assert found.rows_in == 18
    assert found.left_out is not None
    assert "6 rows of " in found.left_out


@pytest.mark.thorough
def test_it_is_said_what_was_left_out_of_the_original() -> None:
    frame = pd.DataFrame({"zip": list("aabbcc"), "x": list("uvuvuv")})
    asked: dict[str, Any] = {"original": frame, "count": "rows", "quasi_identifiers": ["zip"]}
    asked["hierarchies"] = {"zip": "flat"}
    part = kanon.attack(frame[1:], control=frame[:1], **asked)
    assert part.rows_in == 5
    assert part.left_out is not None
    assert part.left_out.startswith("1 row of")
    some = kanon.attack(frame, control=pd.DataFrame({"zip": ["a", "a"], "x": ["u", "w"]}), **asked)
    assert some.rows_in == 6
    assert some.left_out is not None
    assert "1 of its 2 rows equal rows of" in some.left_out
    assert "the risk is understated" in some.left_out


def test_several_rows_of_a_person_need_a_column_of_people() -> None:
    frame = pd.DataFrame({"patient_id": [1, 1, 2, 2, 3, 3] * 5, "zip": list("abcdef") * 5, "x": ["u", "v"] * 15})
    with pytest.raises(kanon.UsageError, match="could be in the control group and others in the release"):
        kanon.attack(frame[["zip", "x"]], original=frame, control=frame[:3], quasi_identifiers=["zip"])


# Bad input


@pytest.mark.parametrize(
    ("control", "more", "message"),
    [
        (pd.DataFrame({"zip": [], "x": []}, dtype=object), {}, "has no rows"),
        (pd.DataFrame({"town": ["a"]}), {}, "has no column that"),
        (pd.DataFrame({"zip": ["a"]}), {}, r"has no column 'x'"),
        (pd.DataFrame({"zip": ["a"], "x": ["many"]}), {}, r"1 value in 1 row cannot be read as BIGINT"),
        (pd.DataFrame({"zip": ["a"], "x": [1]}), {"knows": [["zip"], ["x"], ["zip"]]}, "of one source or of two"),
        (pd.DataFrame({"zip": ["a"], "x": [1]}), {"knows": [["zip"], ["zip"]]}, "a column twice"),
        (pd.DataFrame({"zip": ["a"], "x": [1]}), {"knows": [["town"]]}, "town"),
        (pd.DataFrame({"zip": ["a"], "x": [1]}), {"knows": [[]]}, "has no column"),
        (pd.DataFrame({"zip": ["a"], "x": [1]}), {"targets": 0}, "1 or more"),
        (pd.DataFrame({"zip": ["a", "b", "c"], "x": [1, 2, 3]}), {}, "nobody is left"),
        (None, {"seed": 3}, "control=FILE|control"),
    ],
)
def test_bad_input_is_refused(control: pd.DataFrame | None, more: dict[str, Any], message: str) -> None:
    frame = pd.DataFrame({"zip": ["a", "b", "c"], "x": [1, 2, 3]})
    with pytest.raises(kanon.UsageError, match=message):
        kanon.attack(
            frame, original=frame, control=control, count="rows", quasi_identifiers=["zip"],
            hierarchies={"zip": "flat"}, **more,
        )  # fmt: skip


def test_a_value_that_a_hierarchy_lacks_is_said_to_be_of_both_tables(tmp_path: Path) -> None:
    frame = pd.DataFrame({"zip": ["a1", "a2"], "x": ["u", "v"]})
    with pytest.raises(kanon.HierarchyError, match="of the original and of the control group together"):
        kanon.attack(
            frame, original=frame, control=pd.DataFrame({"zip": ["z9"], "x": ["u"]}), count="rows",
            quasi_identifiers=["zip"], hierarchies=hierarchies(str(tmp_path), ["zip"]),
        )  # fmt: skip


# The command


@pytest.mark.thorough
def test_the_command_compares_with_a_control_group(kanon: Callable[..., Ended], tmp_path: Path) -> None:
    original, control = population(11, 300), population(12, 100)
    original.to_csv(tmp_path / "original.csv", index=False)
    control.to_csv(tmp_path / "control.csv", index=False)
    against = ("--original", tmp_path / "original.csv", "--control", tmp_path / "control.csv", "--count", "rows")
    asked = ("attack", tmp_path / "original.csv", *against, "--qi", "a,b,c,d", "--sensitive", "secret")
    ended = kanon(*asked)
    assert ended.code == 1
    assert "inference of secret" in ended.out
    assert "of the control group" in ended.out
    assert "risk" in ended.out
    again = kanon(*asked, "--knows", "a,b", "--knows", "c", "--targets", 50, "--seed", 5, "--format", "json").json
    assert again["control"] == "control.csv"
    by_name = {attack["attack"]: attack for attack in again["attacks"]}
    assert by_name["linkability"]["knows"] == [["a", "b"], ["c"]]
    assert by_name["inference"]["knows"] == [["a", "b", "c"]]
    assert by_name["inference"]["in_release"]["guesses"] == 50
    assert set(by_name["inference"]["risk"]) == {"value", "low", "high"}
    assert kanon("attack", tmp_path / "original.csv", *against[:2], "--qi", "a", "--seed", 3).code == 2


@pytest.mark.thorough
def test_adult_ends_soon(adult: Path) -> None:
    """30,162 rows against 2,000 targets: under 20 seconds were asked for."""
    frame = duckdb.connect().read_csv(str(adult / "adult.csv"), sep=";").df()
    control, rest = frame[::10], frame[[place % 10 != 0 for place in range(len(frame))]]
    begun = time.monotonic()
    found = kanon.attack(
        rest,
        original=rest,
        control=control,
        count="rows",
        quasi_identifiers=ADULT_QI,
        hierarchies=adult,
    )
    assert time.monotonic() - begun < 60
    assert any(isinstance(attack, Controlled) and attack.succeeded for attack in found.attacks)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_guesses_are_the_same_with_any_number_of_threads() -> None:
    table = pd.DataFrame({"age": [20 + row % 40 for row in range(400)]})
    table["illness"] = [f"illness {row * row % 37}" for row in range(400)]  # many are equally frequent
    table[:300].to_csv("t.csv", index=False)
    table[300:].to_csv("apart.csv", index=False)
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": ["illness"], "count": "rows", "k": 2}
    with kanon.anonymize("t.csv", **asked) as release:
        release.to_file("r.csv")
    figures = []
    for threads in (1, 2, 4):
        given = {**asked, "original": "t.csv", "control": "apart.csv", "resources": kanon.Resources(threads=threads)}
        attacks = kanon.attack("r.csv", **given).attacks
        figures.append([attack.figures() for attack in attacks if isinstance(attack, Controlled)])
    assert figures[0]
    assert figures == [figures[0]] * 3


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_the_report_says_what_the_attack_says() -> None:
    """A section, a sentence and an interval for each; the report is on the original without the control group."""
    drawn = random.Random(7)  # noqa: S311 - no secret
    people = 240
    table = pd.DataFrame(
        {
            "person": range(people),
            "age": [drawn.randrange(20, 60) for _ in range(people)],
            "sex": [drawn.choice("fm") for _ in range(people)],
            "illness": [drawn.choice(["flu", "gout", "pox"]) for _ in range(people)],
        }
    )
    table.to_csv("t.csv", index=False)
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "sensitive": ["illness"], "entity": "person", "k": 2}
    with kanon.anonymize("t.csv", **asked, rest="drop", hold_out=0.25) as release:
        release.to_file("r.csv")
        release.held_out_to_file("apart.csv")
    found = kanon.attack("r.csv", original="t.csv", control="apart.csv", **asked)
    of_utility: dict[str, Any] = {"utility": True, "target": "illness"}
    report = kanon.report("t.csv", **asked, rest="drop", release="r.csv", control="apart.csv", **of_utility)
    assert report.rows_in == 180
    assert report.control == "apart.csv"
    guessed = [attack for attack in found.attacks if attack.name in {"singling out", "linkability", "inference"}]
    assert [attack.figures for attack in report.compared] == [attack.figures() for attack in guessed]
    assert len(report.compared) >= 3
    assert report.attacks_said.partition(" attacks")[0] == found.said.partition(" attacks")[0]
    text = report.to_markdown()
    assert "Compared with people who are not in the release" in text
    assert "60 rows of t.csv are of the control group apart.csv" in text
    assert "--control apart.csv" in text
    assert "Predicted were 60 rows of people who are not in the release." in text
    assert "kanon anonymize t.csv" not in text  # that would be a release of all rows
    succeeded = [attack for attack in report.compared if attack.succeeded]
    assert (f"By {len(succeeded)} of" if succeeded else "By none of") in text
    assert kanon.report("t.csv", **asked, rest="drop").compared == ()


@pytest.mark.quick(2)
@pytest.mark.parametrize("people", [(1_000, 100), (1_000, 1_000), (300, 60)])
@pytest.mark.parametrize("guesses", [1, 3, 4, 10, 40])
def test_few_predicates_are_not_called_a_leak_by_chance(people: tuple[int, int], guesses: int) -> None:
    """Predicates that a new person satisfies with probability 1/n match one of n most often: by chance, all of them."""
    n, in_control = people
    weight = 1 / n
    shares = [size * weight * (1 - weight) ** (size - 1) for size in people]

    def likely(right: int, share: float) -> float:
        return math.comb(guesses, right) * share**right * (1 - share) ** (guesses - right)

    wrong = sum(
        likely(right, shares[0]) * likely(by_chance, shares[1])
        for right in range(guesses + 1)
        for by_chance in range(guesses + 1)
        if Controlled(
            "singling out", None, (), Rate(right, guesses), Rate(0, guesses), Rate(by_chance, guesses), n, in_control
        ).succeeded
    )
    assert wrong <= 0.025


def test_exact_interval() -> None:
    """The lower end of 3 of 3 is where three are right with a probability of 2.5 %: the third root of it."""
    assert Rate(3, 3).exact.low == pytest.approx(0.025 ** (1 / 3))
    assert Rate(0, 3).exact.high == pytest.approx(1 - 0.025 ** (1 / 3))
    found = Rate(7, 20).exact
    for end, tail in ((found.low, range(7, 21)), (found.high, range(8))):
        assert sum(math.comb(20, k) * end**k * (1 - end) ** (20 - k) for k in tail) == pytest.approx(0.025)


def test_a_control_group_that_is_in_the_release_is_told() -> None:
    everybody = pd.DataFrame({"age": [n % 30 for n in range(300)], "ill": [str(n * 7 % 8) for n in range(300)]})
    with pytest.raises(kanon.UsageError, match=r"300 rows, and .* without the control group .* has 200"):
        kanon.attack(
            everybody, original=everybody, control=everybody.head(100), quasi_identifiers=["age"], sensitive=["ill"],
            hierarchies={"age": "flat"}, count="rows",
        )  # fmt: skip


@pytest.mark.thorough
def test_people_whom_a_column_takes_for_equal_and_rows_of_nobody_stay_together(tmp_path: Path) -> None:
    """Ann and ANN are one person to a column without case; rows that name nobody are taken out one for one."""
    with duckdb.connect(str(tmp_path / "n.duckdb")) as connection:
        connection.execute("CREATE TABLE t (pid VARCHAR COLLATE NOCASE, age INTEGER)")
        names = [name for n in range(60) for name in (f"Ann{n}", f"ANN{n}")] + [None] * 40
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(name, n % 10) for n, name in enumerate(names)])
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "entity": "pid"}
    with kanon.anonymize(tmp_path / "n.duckdb", "t", **asked, k=2, rest="drop", hold_out=0.2) as release:
        release.held_out_to_file(tmp_path / "apart.parquet")
        rows_in = release.rows_in
        release.to_table("r")
    apart = [row[0] for row in duckdb.read_parquet(str(tmp_path / "apart.parquet")).project("pid").fetchall()]
    named = Counter(name.casefold() for name in apart if name is not None)
    assert set(named.values()) == {2}
    assert None in apart
    assert rows_in == 160 - len(apart)
    found = kanon.attack(tmp_path / "n.duckdb", "r", original="t", control=str(tmp_path / "apart.parquet"), **asked)
    assert found.left_out is not None
    assert found.left_out.startswith(f"{len(apart)} rows of t are of the control group")
    assert f"the attacks are on the {rows_in} others" in found.left_out


def test_a_directory_is_no_file_for_rows_that_are_held_out(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    (tmp_path / "d.csv").mkdir()
    pd.DataFrame({"age": [1, 2, 3, 4] * 5}).to_csv(tmp_path / "t.csv", index=False)
    ended = kanon(
        "anonymize", tmp_path / "t.csv", "--qi", "age", "-k", "2", "--count", "rows", "--out", tmp_path / "r.csv",
        "--hold-out", "0.2", "--control", tmp_path / "d.csv", "--replace",
    )  # fmt: skip
    assert (ended.code, "is a directory" in ended.err) == (2, True)
    assert not (tmp_path / "r.csv").exists()
