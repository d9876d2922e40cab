"""A population has values that its table lacks: rules cover both, against brute force in plain Python."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

LIMIT = 0.3


def interval(value: int, width: int, form: str) -> str:
    low = value // width * width
    return f"{low}-{low + width - 1}" if form == "dashes" else f"[{low}, {low + width})"


def steps_at(value: int, bounds: list[int]) -> str:
    if value == 0:
        return "0"
    low, high = next((low, high) for low, high in pairwise(bounds) if low <= value < high)
    return str(low) if high == low + 1 else f"{low}-{high - 1}"


def rounded(value: int, unit: int) -> int:
    """Round half away from zero."""
    return (abs(value) + unit // 2) // unit * unit * (-1 if value < 0 else 1)


@dataclass(frozen=True)
class Case:
    """A rule, the labels that it gives to a value in the presence of all values, and values of both tables."""

    rule: str | None  # None: the one that kanon chooses
    labels: Callable[[Any, list[Any]], list[str]]
    inside: list[Any]
    outside: list[Any]
    kind: str = "VARCHAR"


def masked(value: str, everything: list[str]) -> list[str]:
    longest = max(map(len, everything))
    return [value[:kept].ljust(longest, "*") for kept in range(longest - 1, 0, -1)]


def masked_left(value: str, everything: list[str]) -> list[str]:
    longest = max(map(len, everything))
    return [value[-kept:].rjust(longest, "*") for kept in range(longest - 1, 0, -1)]


def chosen_for_texts(value: str, everything: list[str]) -> list[str]:
    """Texts of one length are codes, as long as all have that length."""
    return masked(value, everything) if len({len(text) for text in everything}) == 1 else []


def intervals(value: int, everything: list[int]) -> list[str]:
    form = "dashes" if min(everything) >= 0 else "brackets"
    return [interval(value, width, form) for width in (5, 10)]


def steps(value: int, _: list[int]) -> list[str]:
    of_levels = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000], [1, 10, 100, 1000, 10000], [1, 100, 10000]
    return [steps_at(value, bounds) for bounds in of_levels]


def tens_and_hundreds(value: int, _: list[int]) -> list[str]:
    return [str(rounded(value, 10)), str(rounded(rounded(value, 10), 100))]


DAYS = [dt.date(2020, 1, 3), dt.date(2020, 1, 9), dt.date(2020, 5, 1)]
OTHER_DAYS = [dt.date(1931, 5, 1), dt.date(2020, 5, 2)]
CASES = {
    "flat": Case("flat", lambda *_: [], ["a", "b", "c"], ["d", "eee"]),
    "mask": Case("mask", masked, ["123", "124", "131"], ["2", "12345"]),
    "mask from the left": Case("mask:left", masked_left, ["123", "223", "131"], ["2", "12323"]),
    "cut": Case(
        "cut:1,2", lambda value, _: [value[:-1] or "*", value[:-2] or "*"], ["AB1", "AB2", "CD1"], ["E", "AB19"]
    ),
    "prefixes": Case(
        "prefixes:2,1", lambda value, _: [f"{value[:2]}*", f"{value[0]}*"], ["abc", "abd", "acc"], ["bcd", "abcd"]
    ),
    "intervals": Case("intervals:5,10", intervals, [20, 21, 26, 31], [-3, 48], "INTEGER"),
    "round": Case("round:1,2", tens_and_hundreds, [12, 17, 44], [-26, 480], "INTEGER"),
    "steps": Case("steps", steps, [0, 3, 12, 14], [1, 1400], "INTEGER"),
    "dates": Case("date:month,year", lambda value, _: [f"{value:%Y-%m}", f"{value:%Y}"], DAYS, OTHER_DAYS, "DATE"),
    "chosen for codes": Case(None, chosen_for_texts, ["123", "124", "131"], ["225", "9"]),
    "chosen for words": Case(None, chosen_for_texts, ["north", "east"], ["south", "up"]),
}


def loss_at(case: Case, rows: list[Any], everybody: list[Any], model: str, level: int) -> float | None:
    """Return the loss of the release at a level, with NULL as a value; None if it is not allowed."""
    values = [value for value in everybody if value is not None]
    paths = {value: [str(value), *case.labels(value, values), "*"] for value in values}
    height = max(len(path) for path in paths.values()) - 1
    paths[None] = [None, *["*"] * height]
    leaves = [value for value in paths if value is not None or None in rows]
    released, population = (Counter(paths[value][level] for value in table) for table in (rows, everybody))
    lost, suppressed = 0.0, 0
    for label, n in released.items():
        if n < 2 or (population[label] < 3 if model == "k-map" else n > 0.5 * population[label]):
            suppressed += n
            lost += n * (len(leaves) > 1)
        elif len(leaves) > 1:
            alike = len(leaves) if label == "*" else sum(paths[leaf][level] == label for leaf in leaves)
            lost += n * (alike - 1) / (len(leaves) - 1)
    return lost / len(rows) if suppressed <= LIMIT * len(rows) else None


def filled(kind: str, rows: list[Any], others: list[Any]) -> duckdb.DuckDBPyConnection:
    """Return a database with a table of some people and one of all."""
    connection = duckdb.connect()
    for table, values in (("ward", rows), ("everybody", rows + others)):
        connection.execute(f"CREATE TABLE {table} (q {kind})")
        connection.executemany(f"INSERT INTO {table} VALUES (?)", [[value] for value in values])  # noqa: S608 - one of two names
    return connection


@pytest.mark.parametrize("name", CASES)
@given(data=st.data(), model=st.sampled_from(["k-map", "presence"]))
@examples(8)
def test_the_optimum_is_that_of_the_labels_of_both(name: str, data: st.DataObject, model: str) -> None:
    """Fails before: a value of the population that its table lacks was in no hierarchy that kanon built."""
    case = CASES[name]
    rows = data.draw(st.lists(st.sampled_from([*case.inside, None]), min_size=4, max_size=12))
    others = data.draw(st.lists(st.sampled_from([*case.inside, *case.outside, None]), min_size=4, max_size=20))
    everybody = [*rows, *others, *case.outside]
    if all(value is None for value in rows):
        return
    models: list[Any] = [kanon.KAnonymity(2)]
    models.append(kanon.KMap(3) if model == "k-map" else kanon.DeltaPresence(0, 0.5))
    values = [value for value in everybody if value is not None]
    heights = range(2 + len(case.labels(values[0], values)))
    losses = [loss for level in heights if (loss := loss_at(case, rows, everybody, model, level)) is not None]
    asked: dict[str, Any] = {
        "quasi_identifiers": ["q"],
        "models": models,
        "population": "everybody",
        "hierarchies": {} if case.rule is None else {"q": case.rule},
        "max_suppressed": LIMIT,
    }
    with filled(case.kind, rows, others + case.outside) as connection:
        if not losses:
            with pytest.raises(kanon.NoSolutionError):
                kanon.anonymize(connection, "ward", **asked)
            return
        with kanon.anonymize(connection, "ward", **asked) as release:
            assert release.optimal
            assert release.loss == pytest.approx(min(losses))
            assert all(found.holds for found in release.verify().models)
            level = (release.levels or {})["q"]
            again = duckdb.connect()
            again.execute(f"CREATE TABLE ward (q {case.kind}); CREATE TABLE everybody (q {case.kind})")
            for table in ("ward", "everybody"):
                again.executemany(f"INSERT INTO {table} VALUES (?)", connection.execute(f"FROM {table}").fetchall())  # noqa: S608 - as above
            labels = Counter(str(label) for (label,) in again.execute(release.sql()).fetchall())
    paths = {value: [str(value), *case.labels(value, values), "*"] for value in values} | {None: ["None", *"*" * 9]}
    possible = Counter(paths[value][level] for value in rows)
    assert labels.items() <= possible.items()
    assert sum(labels.values()) == len(rows) - release.rows_suppressed


def test_bounds_of_the_data_cover_both() -> None:
    """Quantiles are those of both tables together; the outermost groups have no end."""
    with (
        filled("INTEGER", [1, 2, 3, 4], [90, 91, 92, 93, -5, 400]) as connection,
        kanon.anonymize(
            connection,
            "ward",
            quasi_identifiers=["q"],
            models=[kanon.KMap(4)],
            population="everybody",
            hierarchies={"q": "quantiles:2"},
        ) as release,
    ):
        assert release.verify().models[0].holds
        assert release.rows_suppressed == 0


def test_a_file_without_values_of_the_population_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("a;ab;*\nb;ab;*\n")
    everybody = tmp_path / "every body.csv"
    everybody.write_text("q\na\nb\nc\nc\n")
    asked: dict[str, Any] = {"quasi_identifiers": ["q"], "models": [kanon.KMap(2)]}
    asked["hierarchies"] = {"q": str(tmp_path / "q.csv")}
    with filled("VARCHAR", ["a", "b"], ["c", "c"]) as connection:
        for population, command in (("everybody", "SOURCE everybody"), (str(everybody), f"'{everybody}'")):
            with pytest.raises(kanon.HierarchyError) as refused:
                kanon.anonymize(connection, "ward", population=population, **asked)
            assert str(refused.value).startswith("In the population: ")
            assert "no row for 1 value of the column (2 rows" in str(refused.value)
            assert f"Add a line for each; kanon hierarchy check {command} --sql" in str(refused.value)


def test_a_script_reads_the_file_of_a_population(tmp_path: Path) -> None:
    """Fails before: a script did not begin with the statement that reads the population."""
    (tmp_path / "ward.csv").write_text("age\n40\n41\n42\n44\n")
    (tmp_path / "town.csv").write_text("age\n40\n41\n42\n44\n9\n43\n99\n")
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "models": [kanon.KMap(5)]}
    with kanon.anonymize(tmp_path / "ward.csv", population=str(tmp_path / "town.csv"), **asked) as release:
        text = release.sql()
    assert Counter(duckdb.connect().execute(text).fetchall()) == {("40-44",): 4}


def test_measures_and_attacks_read_the_labels_of_both(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Fails before: the hierarchies of a measurement were made from the table alone, and had other labels."""
    codes = [f"{letter}{digit}" for letter in "ab" for digit in range(4)]
    (in_tmp / "ward.csv").write_text("\n".join(["code", *codes]) + "\n")
    (in_tmp / "town.csv").write_text("\n".join(["code", *codes, *(f"{code}0" for code in codes)]) + "\n")
    (in_tmp / "kanon.toml").write_text(
        '[source]\nfrom = "ward.csv"\n[columns]\nquasi_identifiers = ["code"]\n[hierarchies]\ncode = "mask:right"\n'
        '[privacy]\nk = 2\nk_map = 4\npopulation = "town.csv"\n[release]\nout = "out.csv"\n'
    )
    made = kanon("anonymize", "--policy", "kanon.toml", "--format", "json")
    assert made.code == 0, made.err
    assert (in_tmp / "out.csv").read_text().splitlines()[1:].count('"a**"') == 4
    measured = kanon("measure", "--policy", "kanon.toml", "--format", "json")
    assert measured.json["measures"]["loss"] == pytest.approx(made.json["measures"]["loss"])
    attacked = kanon("attack", "--policy", "kanon.toml", "--format", "json")
    assert attacked.code == 0, attacked.err
