"""What Mondrian publishes of a part, and what that is worth, by definition and by hand."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from plain_mondrian import (
    KINDS,
    Column,
    Part,
    Row,
    Table,
    as_number,
    by_value,
    parts_of,
    publish,
    released,
    tables,
    written,
)
from rows import released_rows
from strategies import TABLE, database_with

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from plain_mondrian import Part, Row, Table

# What is published of a part


_INNER: dict[str, list[Callable[[Any], Any]]] = {
    "flat": [],
    "intervals:5,10": [lambda value: value // 5, lambda value: value // 10],
    "date:month,year": [lambda value: (value.year, value.month), lambda value: value.year],
}
"""Levels between the values and the root."""


def ends(values: list[Any], column: Column) -> tuple[Any, Any]:
    """Return the lowest and the highest value; of numbers, those that are not NULL."""
    those = {value for value in values if value is not None or column.tree is not None}
    return (
        (min(those, key=column.place.__getitem__), max(those, key=column.place.__getitem__)) if those else (None, None)
    )


def covered(values: list[Any], column: Column, labels: str) -> set[Any]:
    """Return the leaves that the label of a part stands for."""
    low, high = ends(values, column)
    if len(set(values)) == 1 or (column.tree is not None and labels == "set"):
        return set(values)
    if column.tree is not None and labels == "tree":
        level = column.level(set(values))
        if column.above[low][level] == column.above[low][-1]:
            return set(column.leaves)
        return {leaf for leaf in column.leaves if column.above[leaf][level] == column.above[low][level]}
    between = {leaf for leaf, place in column.place.items() if column.place[low] <= place <= column.place[high]}
    return between | ({None} & set(values))


def label(values: list[Any], column: Column, asked: dict[str, str]) -> Any:
    """Return what is written of a part in a column where some part has several values."""
    texts = {value: str(value) for value in set(values) if value is not None}
    low, high = ends(values, column)
    if column.tree is None and asked["numbers"] != "range":
        if len(set(values)) == 1 and isinstance(low, int | float) and asked["numbers"] == "mean":
            return float(low)
        return middle([value for value in values if value is not None], asked["numbers"])
    if len(set(values)) == 1:
        return texts.get(values[0])
    special = {value: texts[value].replace("\\", "\\\\").replace(",", "\\,") for value in texts} | {None: "\\N"}
    if column.tree is not None and asked["labels"] == "set":
        return "{" + ", ".join(special[value] for value in sorted(set(values), key=by_value)) + "}"
    if column.tree is not None and asked["labels"] == "tree":
        return column.above[low][column.level(set(values))]
    between = "-" if any(isinstance(end, int | float) for end in (low, high)) else " to "
    low_end, high_end = (special[end].replace(" to ", " \\to ") for end in (low, high))
    text = f"[{low_end}{between}{high_end}]" if low is not high and low != high else texts[low]  # NaN != NaN
    return f"{{\\N, {text}}}" if column.tree is None and None in values else text


def middle(values: list[Any], numbers: str) -> Any:
    """Return the mean or the lower median of values."""
    if numbers == "median":
        return sorted(values, key=by_value)[(len(values) - 1) // 2] if values else None
    finite = [number for value in values if (number := as_number(value)) is not None]
    if not finite:
        return None
    mean = sum(map(Fraction, finite)) / len(finite)
    if not isinstance(values[0], dt.date):
        return float(mean)
    if isinstance(values[0], dt.datetime):
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=round(mean * 10**6))
    return dt.date.fromordinal(math.floor(mean / 86_400))


def measured(table: Table, parts: list[Part], labels: str) -> dict[str, float | None]:
    """Return measures by their definitions, one cell after the other."""
    columns, rows = table.columns(), len(table.rows)
    loss = gcp = precision = Fraction(0)
    bits = all_bits = ambiguity = divergence = 0.0
    boxes = []
    for part in parts:
        box = [covered([row[n] for row in part.rows], column, labels) for n, column in enumerate(columns)]
        boxes.append((len(part.rows), box))
        ambiguity += len(part.rows) * math.prod(map(len, box)) / rows
        for number, (column, cover) in enumerate(zip(columns, box, strict=True)):
            values, leaves = [row[number] for row in part.rows], len(column.place)
            loss += len(values) * (Fraction(len(cover) - 1, leaves - 1) if leaves > 1 else 0)
            gcp += len(values) * penalty(cover, column)
            precision += len(values) * share_of_height(set(values), column, table.rules[number], labels)
            under = sum(column.rows[leaf] for leaf in cover)
            bits += sum(math.log2(under / column.rows[value]) for value in values)
            all_bits += sum(math.log2(rows / column.rows[value]) for value in values)
    classes: Counter[Row] = Counter()  # parts that are written alike are one
    for part in parts:
        classes[part.published] += len(part.rows)
    tuples = Counter(row[: len(columns)] for row in table.rows)
    for combination, n in tuples.items():
        density = sum(
            size / math.prod(map(len, box)) for size, box in boxes if all(map(set.__contains__, box, combination))
        )
        divergence += n / rows * math.log2(n / density)
    cells = rows * len(columns)
    return {
        "loss": float(loss / cells),
        "gcp": float(gcp / cells),
        "precision": float(1 - precision / cells),
        "nonuniform_entropy": bits / all_bits if all_bits else 0.0,
        "ambiguity": ambiguity,
        "kl_divergence": divergence,
        "discernibility": sum(n * n for n in classes.values()),
        "average_rows_per_class": rows / len(classes),
    }


def penalty(cover: set[Any], column: Column) -> Fraction:
    """Return what the global certainty penalty charges for a label."""
    if column.tree is not None:
        return Fraction(len(cover), len(column.leaves)) if len(cover) > 1 else Fraction(0)
    numbers = [Fraction(number) for value in cover if (number := as_number(value)) is not None]
    return (max(numbers) - min(numbers)) / Fraction(column.range) if numbers and column.range else Fraction(0)


def share_of_height(values: set[Any], column: Column, rule: str, labels: str) -> Fraction:
    """Return how far up the hierarchy the lowest label over some values is."""
    if len(values) == 1:
        return Fraction(0)
    if column.tree is not None:
        level = column.level(values)
        at_root = column.above[next(iter(values))][level] == column.above[next(iter(values))][-1]
        return Fraction(1) if at_root and labels == "tree" else Fraction(level, column.height)
    inner = _INNER[rule]
    lowest = next((n for n, up in enumerate(inner, 1) if None not in values and len(set(map(up, values))) == 1), None)
    return Fraction(1) if lowest is None else Fraction(lowest, len(inner) + 1)


@pytest.mark.thorough
@given(tables(), written)
@examples(12)
def test_every_label_is_what_the_part_has_and_covers_each_value(table: Table, asked: dict[str, str]) -> None:
    with released(table, table.connection(), **asked) as release:
        parts = parts_of(release, table.names, table.rows)
        for number, column in enumerate(table.columns()):
            values = [[row[number] for row in part.rows] for part in parts]
            written = any(len(set(own)) > 1 for own in values)
            for own, part in zip(values, parts, strict=True):
                expected = label(own, column, asked) if written else own[0]
                found = part.published[number]
                if isinstance(expected, float):
                    assert found == pytest.approx(expected, nan_ok=True)
                elif isinstance(expected, dt.datetime):  # a mean of seconds as DOUBLE, rounded to microseconds
                    assert abs(found - expected) <= dt.timedelta(microseconds=1)
                else:
                    assert found == expected
                assert set(own) <= covered(own, column, asked["labels"])


_FINITE = tuple(kind for kind in KINDS if kind != "odd")


@given(tables(kinds=_FINITE), written)
@examples(12)
def test_measures_are_what_their_definitions_say(table: Table, asked: dict[str, str]) -> None:
    with released(table, table.connection(), **asked) as release:
        expected = measured(table, parts_of(release, table.names, table.rows), asked["labels"])
        has_texts = any(column.tree is not None for column in table.columns())
        assert release.measures["kl_divergence"] is not None or asked["cut"] == "relaxed" or has_texts
        for name, value in expected.items():
            if name != "kl_divergence" or release.measures[name] is not None:
                assert release.measures[name] == pytest.approx(value, abs=1e-7), name


@pytest.mark.thorough
def test_an_end_that_is_infinite_is_as_far_as_the_values_of_the_table() -> None:
    """Finite values go from 0 to 10: what is labelled [-inf-10] and [5-inf] is no narrower than [0-10] and [5-10]."""
    for ends_of_part, expected in (([-math.inf, 10.0], 1.0), ([5.0, math.inf], 0.5), ([-math.inf, math.inf], 1.0)):
        frame = pd.DataFrame({"x": [0.0, 10.0, *ends_of_part], "y": ["a", "a", "b", "b"]})
        rules = {"x": "flat", "y": "flat"}
        with kanon.anonymize(frame, quasi_identifiers=["y", "x"], hierarchies=rules, models=[kanon.KAnonymity(2)],
                             algorithm="mondrian", choose="distinct") as release:  # fmt: skip
            assert release.classes == 2
            assert release.measures["gcp"] == pytest.approx((2 * 1 + 2 * expected) / 8)


# By hand


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("asked", "young", "old"),
    [
        ({}, ("[20-23]", "a"), ("[30-34]", "south")),
        ({"labels": "set"}, ("[20-23]", "a"), ("[30-34]", "{b, c}")),
        ({"labels": "range"}, ("[20-23]", "a"), ("[30-34]", "[b to c]")),
        ({"numbers": "mean"}, (21.5, "a"), (32.0, "south")),
        ({"numbers": "median"}, (20, "a"), (30, "south")),
    ],
)
def test_labels_by_hand(tmp_path: Path, asked: dict[str, str], young: tuple[Any, ...], old: tuple[Any, ...]) -> None:
    """Both columns span all there is; age, the first, is cut at its median 23. b and c have a row each: a is last."""
    (tmp_path / "where.csv").write_text("a;north;*\nb;south;*\nc;south;*\n")
    frame = pd.DataFrame({"age": [20, 23, 30, 34], "where": ["a", "a", "b", "c"]})
    rules = {"age": "flat", "where": str(tmp_path / "where.csv")}
    found = publish(frame, "age,where", hierarchies=rules, models=[kanon.KAnonymity(2)], **asked)
    assert sorted(map(repr, found)) == sorted(map(repr, [young, young, old, old]))


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    ("values", "asked", "label"),
    [
        ([34, None, 20], {}, "{\\N, [20-34]}"),
        ([20, None, 20], {}, "{\\N, 20}"),
        ([-5, -7, 3], {}, "[-7-3]"),
        ([34, None, 21, 20], {"numbers": "mean"}, 25.0),
        ([34, None, 20], {"numbers": "median"}, 20),
        ([dt.date(2024, 3, 2), dt.date(2024, 1, 31)], {}, "[2024-01-31 to 2024-03-02]"),
        ([dt.date(2024, 1, 2), dt.date(2024, 1, 5)], {"numbers": "mean"}, dt.date(2024, 1, 3)),
        ([dt.date(2024, 1, 2), dt.date(2024, 1, 5)], {"numbers": "median"}, dt.date(2024, 1, 2)),
        (["x,y", "b\\c", None, "d", "d"], {"labels": "set"}, "{\\N, b\\\\c, d, x\\,y}"),
        (["d", None, "d"], {"labels": "range"}, "[\\N to d]"),
        (["a to b", "a to b", "x,y"], {"labels": "range"}, "[x\\,y to a \\to b]"),
        (["d", None, "d"], {"labels": "set"}, "{\\N, d}"),
        (["d", None, "d"], {}, "*"),
        ([None, None], {}, None),
        ([1.5, -0.0, 0.0], {}, "[0.0-1.5]"),
    ],
)
def test_the_label_of_a_single_part_by_hand(values: list[Any], asked: dict[str, Any], label: Any) -> None:
    types = {str: "VARCHAR", int: "BIGINT", dt.date: "DATE", float: "DOUBLE"}
    kind = next((types[type(value)] for value in values if value is not None), "BIGINT")
    connection = database_with({"x": (kind, values)})
    with kanon.anonymize(connection, TABLE, quasi_identifiers=["x"], hierarchies={"x": "flat"}, algorithm="mondrian",
                         models=[kanon.KAnonymity(len(values))], **asked) as release:  # fmt: skip
        assert released_rows(release) == [(label,)] * len(values)


# Other ways to cut and to publish
