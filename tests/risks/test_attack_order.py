"""The order of a release: what follows an order is caught, and what does not is not accused."""

from __future__ import annotations

import itertools
import random
import statistics
from math import erfc, sqrt
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest

import kanon_sql as kanon
from kanon_sql.risks.attacks.order import ERROR_PROBABILITY, Z_LIMIT, Order

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ASKED: dict[str, Any] = {
    "quasi_identifiers": ["age", "sex"],
    "hierarchies": {"age": "intervals:20", "sex": "flat"},
}


def patients(rows: int = 600, seed: int = 1) -> pd.DataFrame:
    """Return people in no order whose ages, names and diseases have nothing to do with each other."""
    draw = random.Random(seed)  # noqa: S311 - a table for a test
    names = [f"name {number:05}" for number in range(rows)]
    draw.shuffle(names)
    return pd.DataFrame(
        {
            "name": names,
            "age": [draw.randrange(20, 80) for _ in range(rows)],
            "sex": [draw.choice("FM") for _ in range(rows)],
            "disease": [draw.choice("abcdefghij") for _ in range(rows)],
            "cost": [draw.randrange(1000) for _ in range(rows)],
        }
    )


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows with ages in steps of twenty, without names: as a release shows them, in the order that they have."""
    shown = frame.drop(columns="name")
    shown["age"] = [f"{age // 20 * 20}-{age // 20 * 20 + 19}" for age in frame["age"]]
    return shown


def order_of(release: Any, original: Any, **asked: Any) -> dict[str, Any]:
    found = kanon.attack(release, original=original, **{**ASKED, **asked}).summary()
    (order,) = [attack for attack in found["attacks"] if attack["attack"] == "order"]
    return order


def test_the_labels_are_those_of_the_hierarchy() -> None:
    assert kanon.measure(labelled(patients()), original=patients(), **ASKED).levels == {"age": 1, "sex": 0}


@pytest.mark.thorough
@pytest.mark.parametrize("column", [None, "name", "age"])
def test_a_release_in_the_order_of_the_original_is_caught(column: str | None) -> None:
    original = patients() if column is None else patients().sort_values(column)
    release = labelled(original)
    order = order_of(release, original)
    assert order["succeeded"]
    assert order["followed"] == ["position"]
    assert order["rows_distinct"] == release.groupby(list(release.columns)).size().eq(1).sum()
    assert order["orders"]["position"]["correlation"] == pytest.approx(1)
    downwards = pd.DataFrame({name: list(release[name])[::-1] for name in release})
    order = order_of(downwards, original)
    assert order["followed"] == ["position"]
    assert order["orders"]["position"]["correlation"] == pytest.approx(-1)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "columns", [["age"], ["disease"], ["cost"], ["age", "sex", "disease", "cost"], ["sex", "cost"], ["disease", "age"]]
)
@pytest.mark.parametrize("upwards", [True, False])
def test_a_release_that_is_sorted_does_not_follow_an_original_that_is_not(columns: list[str], *, upwards: bool) -> None:
    release = labelled(patients()).sample(frac=1, random_state=3).sort_values(columns, kind="stable", ascending=upwards)
    order = order_of(release, patients())
    assert not order["succeeded"]


def test_a_release_that_is_sorted_as_its_original_is_follows_it() -> None:
    """Though it shows what it is sorted by: the remedy is a random order, whatever it is sorted by."""
    original = patients().sort_values("age")
    release = labelled(original).sample(frac=1, random_state=3).sort_values("age", kind="stable")
    assert order_of(release, original)["succeeded"]


@pytest.mark.thorough
def test_random_orders_are_not_accused() -> None:
    """Of 25 shuffles none is, and what is counted is spread as chance spreads it: z has a variance of one."""
    original = patients(300)
    values = []
    for seed in range(25):
        order = order_of(labelled(original.sample(frac=1, random_state=seed)), original)
        assert not order["succeeded"]
        values.append(order["orders"]["position"]["z"])
    assert 0.35 < statistics.pvariance(values, 0) < 2.2  # 99.9 % of chi-square with 25 degrees


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_the_tool_does_not_accuse_itself(algorithm: str) -> None:
    original = patients(500).sort_values("age")
    values = []
    for seed in range(5):
        with kanon.anonymize(
            original, sensitive=["disease"], insensitive=["cost"], rest="drop", algorithm=algorithm, seed=seed, **ASKED
        ) as release:
            order = order_of(release.to_pandas(), original)
        assert not order["succeeded"]
        values += [own["z"] for own in order["orders"].values()]
    assert statistics.pvariance(values, 0) < 3


def test_z_is_what_all_orders_of_a_few_rows_make_it() -> None:
    """Five rows of one class, all different: the deviation of all 120 orders, counted out."""
    original = pd.DataFrame({"age": [20, 33, 21, 39, 25], "sex": "F", "disease": list("vwxyz"), "name": list("qrstu")})
    release = labelled(original.iloc[[1, 0, 3, 2, 4]])

    def together(places: tuple[int, ...]) -> float:
        return sum((row - 2) * (place - 2) for place, row in enumerate(places))

    every = [together(places) for places in itertools.permutations(range(5))]
    order = order_of(release, original)
    found = together((1, 0, 3, 2, 4))
    assert order["orders"]["position"]["z"] == pytest.approx(found / statistics.pstdev(every))
    assert order["orders"]["position"]["correlation"] == pytest.approx(found / 10)


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [20, 2000])
def test_a_release_that_is_the_original_is_caught_however_few_rows_differ(rows: int) -> None:
    """Fails on 0.1.0, and before an adversary found it: 60 different rows have no place of their own in the mean."""
    original = patients(rows)[["age", "disease"]]
    if rows == 20:
        original["disease"] = [f"disease {number}" for number in range(rows)]
    original["age"] = original["age"] // 10 * 10
    order = order_of(original, original, quasi_identifiers=["age"], hierarchies={"age": "intervals:20"})
    assert (order["outcome"], order["rows_in_place"]) == ("succeeds", rows)
    shuffled = original.sample(frac=1, random_state=3)
    order = order_of(shuffled, original, quasi_identifiers=["age"], hierarchies={"age": "intervals:20"})
    assert order["outcome"] == "finds nothing"
    assert order["rows_in_place"] == sum(map(tuple.__eq__, *(f.itertuples(index=False) for f in (shuffled, original))))


@pytest.mark.quick(2)
@pytest.mark.parametrize("diseases", ["uvwxyz", "aabbcc", "aaabbc", "aaaaab"])
def test_the_chance_of_rows_in_place_is_no_smaller_than_in_all_orders(diseases: str) -> None:
    original = pd.DataFrame({"age": [20] * 6, "sex": ["F"] * 6, "disease": list(diseases)})
    for shown in ([*diseases], [*diseases[1:], diseases[0]], [*diseases[::-1]]):
        original["disease"] = list(diseases)
        release = labelled(original.assign(name="", disease=shown))
        (order,) = [each for each in kanon.attack(release, original=original, **ASKED).attacks if each.name == "order"]
        in_place = [sum(map(str.__eq__, way, diseases)) for way in itertools.permutations(diseases)]
        assert isinstance(order, Order)
        found = sum(map(str.__eq__, shown, diseases))
        assert order.rows_in_place == found
        assert order.chance >= sum(number >= found for number in in_place) / len(in_place) - 1e-12
        assert order.reason is not None  # six rows prove nothing


def test_the_limit_keeps_the_error_probability() -> None:
    assert erfc(Z_LIMIT / sqrt(2)) == pytest.approx(ERROR_PROBABILITY)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_view_has_no_order(kanon: Callable[..., Ended]) -> None:
    frame = patients(50)
    with duckdb.connect("p.duckdb") as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE original AS FROM frame")
        shown = labelled(frame)
        connection.register("shown", shown)
        connection.execute("CREATE TABLE released AS FROM shown; CREATE VIEW seen AS FROM released")
        connection.execute('CREATE SCHEMA "an other"; CREATE VIEW "an other"."a view" AS FROM released')
    asked = ("--qi", "age,sex", "--hierarchy", "age=intervals:20", "--hierarchy", "sex=flat", "-k", 1)
    for view in ("seen", "an other.a view"):
        ended = kanon("attack", "p.duckdb", view, "--original", "original", *asked, "--format", "json")
        assert ended.code == 0, ended.out + ended.err
        assert "view" in ended.json["attacks"][-1]["reason"]
    ended = kanon("attack", "p.duckdb", "seen", "--original", "original", *asked)
    assert "not tested: the release is a view" in ended.out
    ended = kanon("attack", "p.duckdb", "released", "--original", "original", *asked)
    assert ended.code == 1
    assert "order    SUCCEEDS: the rows follow position (correlation 1.00)" in ended.out


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_read_in_their_order(in_tmp: Path, suffix: str) -> None:
    original = patients(2000)
    for name, frame in (("original", original), ("released", labelled(original))):
        if suffix == "csv":
            frame.to_csv(in_tmp / f"{name}.csv", index=False)
        else:
            duckdb.from_df(frame).to_parquet(str(in_tmp / f"{name}.parquet"))
    order = order_of(in_tmp / f"released.{suffix}", in_tmp / f"original.{suffix}")
    assert order["orders"]["position"]["correlation"] == pytest.approx(1)
