"""Views at every later state of the table behind them: k-anonymous, true to their models, and without a raw value.

The oracle computes in plain Python what the view must show of the rows that there are now, given the levels that the
release was made with: what stands in no hierarchy is left out, and so is every class that fails a model.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import plain_models
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import write_hierarchy

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable

    from brute_force import Hierarchy

    from kanon_sql.models.base import PrivacyModel

Row = tuple[Any, ...]
"""City, age, disease and person."""

CITIES: Hierarchy = {
    "Bern": ["West", "Swiss", "*"],
    "Basel": ["West", "Swiss", "*"],
    "Zug": ["East", "Swiss", "*"],
    "Wien": ["Danube", "Austria", "*"],
    "Linz": ["Danube", "Austria", "*"],
}
DISEASES: Hierarchy = {"flu": ["lung", "*"], "cough": ["lung", "*"], "cold": ["head", "*"], None: ["none", "*"]}
WIDTHS = (10, 20)
COLUMNS = ("city", "age", "disease", "person")

_some_rows = st.tuples(
    st.sampled_from([*CITIES, *CITIES, *CITIES, "Paris", "", None]),
    st.sampled_from([21, 21, 24, 24, 33, 38, None]),
    st.sampled_from(["flu", "cough", "cold", None]),
    st.sampled_from([*range(8), None]),
)
_rows = st.tuples(st.lists(_some_rows, min_size=5, max_size=14), st.integers(2, 4)).map(
    # Each row several times, of others: else there are no classes but that of the whole table.
    lambda drawn: [
        (*row[:3], None if row[3] is None else row[3] + 8 * copy) for copy in range(drawn[1]) for row in drawn[0]
    ]
)
_later = st.tuples(
    st.sampled_from([*CITIES, "Paris", "Oslo", "*", "Swiss", None]),
    st.sampled_from([21, 24, 29, 51, 99, -3, None]),
    st.sampled_from(["flu", "cold", "plague", "plague", "lung", None]),
    st.sampled_from([*range(12), None]),
)


def insert(rows: list[Row]) -> Callable[[dict[int, Row]], dict[int, Row]]:
    return lambda there: there | dict(enumerate(rows, start=max(there, default=0) + 1))


def delete(numbers: list[int]) -> Callable[[dict[int, Row]], dict[int, Row]]:
    return lambda there: {number: row for place, (number, row) in enumerate(there.items()) if place not in numbers}


def update(change: tuple[int, int, Row]) -> Callable[[dict[int, Row]], dict[int, Row]]:
    """Return what gives every so-manieth row another value in one column."""
    column, step, values = change
    return lambda there: {
        number: tuple(values[n] if n == column else cell for n, cell in enumerate(row)) if number % step == 0 else row
        for number, row in there.items()
    }


_changes = st.one_of(
    st.lists(_later, min_size=1, max_size=12).map(insert),
    st.tuples(_later, st.integers(1, 6)).map(lambda drawn: insert([drawn[0]] * drawn[1])),
    st.lists(st.integers(0, 40), max_size=25).map(delete),
    st.just(delete(list(range(1000)))),
    st.tuples(st.integers(0, 3), st.integers(1, 4), _later).map(update),
)

MODELS: dict[str, PrivacyModel | None] = {
    "k": None,
    "l": kanon.DistinctLDiversity(l=2),
    "entropy-l": kanon.EntropyLDiversity(l=1.5),
    "recursive": kanon.RecursiveCLDiversity(c=3, l=2),
    "alpha": kanon.AlphaKAnonymity(alpha=0.7),
    "t-equal": kanon.TCloseness(t=0.4),
    "t-ordered": kanon.TCloseness(t=0.3, distance="ordered"),
    "t-hierarchical": kanon.TCloseness(t=0.3, distance="hierarchical"),
    "beta": kanon.BasicBetaLikeness(beta=1.5),
    "enhanced-beta": kanon.EnhancedBetaLikeness(beta=1.5),
    "delta": kanon.DeltaDisclosure(delta=1.5),
}


def judged(name: str, own: list[Any], whole: list[Any]) -> bool:
    """Tell whether the sensitive values of a class satisfy a model, given those of the table as it is now."""
    slack = Fraction(1, 10**9)
    tree = {value: DISEASES.get(value, [f"unknown {value}", "*"]) for value in [*DISEASES, *whole]}
    return {
        "k": lambda: True,
        "l": lambda: plain_models.distinct(own, whole) >= 2,
        "entropy-l": lambda: plain_models.entropy(own, whole) >= 1.5 - 1e-9,
        "recursive": lambda: plain_models.recursive(own, 2) < 3,
        "alpha": lambda: plain_models.alpha(own, whole) <= Fraction(7, 10) + slack,
        "t-equal": lambda: plain_models.equal_distance(own, whole) <= Fraction(4, 10) + slack,
        "t-ordered": lambda: plain_models.ordered_distance(own, whole) <= Fraction(3, 10) + slack,
        "t-hierarchical": lambda: plain_models.hierarchical_distance(own, whole, tree) <= Fraction(3, 10) + slack,
        "beta": lambda: plain_models.basic_beta(own, whole) <= Fraction(3, 2) + slack,
        "enhanced-beta": lambda: plain_models.enhanced_beta(own, whole, 1.5),
        "delta": lambda: plain_models.delta_disclosure(own, whole) <= 1.5 + 1e-9,
    }[name]()


def city_label(city: str | None, level: int, known: set[Any]) -> list[Any]:
    """Return the label of a city, alone; or nothing if it has none."""
    if level == 0:
        return [city]
    if level == len(CITIES["Zug"]):
        return ["*"]
    return [CITIES[city][level - 1] if city in CITIES else "*"] if city in known else []


def age_label(age: int | None, level: int, known: set[Any]) -> list[Any]:
    """Return the label of an age, alone; or nothing if it has none."""
    if level == 0:
        return [None if age is None else str(age)]
    if level > len(WIDTHS) or (age is None and age in known):
        return ["*"]
    if age is None or age not in known:
        return []
    width = WIDTHS[level - 1]
    return [f"{age // width * width}-{age // width * width + width - 1}"]


def shown(
    there: dict[int, Row], levels: dict[str, int], known: list[set[Any]], name: str, k: int, *, people: bool
) -> Counter[Row]:
    """Return what a view must show of the rows that there are."""
    classes: defaultdict[Row, list[Row]] = defaultdict(list)
    for row in there.values():
        if name == "t-hierarchical" and row[2] not in DISEASES:
            continue  # how far it is from others nobody said
        for city in city_label(row[0], levels["city"], known[0]):
            for age in age_label(row[1], levels["age"], known[1]):
                classes[city, age].append(row)
    whole = [row[2] for row in there.values()]
    found: Counter[Row] = Counter()
    for label, rows in classes.items():
        size = len({row[3] for row in rows} - {None}) if people else len(rows)
        if size >= k and judged(name, [row[2] for row in rows], whole):
            found.update((*label, row[2]) for row in rows)
    return found


def put(connection: duckdb.DuckDBPyConnection, there: dict[int, Row], after: dict[int, Row]) -> None:
    """Make the changes between two states."""
    for number in there.keys() - after.keys():
        connection.execute("DELETE FROM visits WHERE id = ?", [number])
    for number in after.keys() - there.keys():
        connection.execute("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", [number, *after[number]])
    for number in there.keys() & after.keys():
        if there[number] != after[number]:
            connection.execute(
                "UPDATE visits SET city = ?, age = ?, disease = ?, person = ? WHERE id = ?", [*after[number], number]
            )


def rows_of(connection: duckdb.DuckDBPyConnection) -> Counter[Row]:
    return Counter(connection.execute("SELECT city, CAST(age AS VARCHAR), disease FROM shown").fetchall())


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("people", [False, True])
def test_a_view_holds_at_every_later_state(name: str, people: bool) -> None:
    @examples(5)
    @given(
        _rows,
        st.lists(_changes, min_size=1, max_size=5),
        st.integers(2, 7),
        st.sampled_from([0, 0.2, 0.5]),
        st.sampled_from(["loss", "precision"]),
    )
    def holds(rows: list[Row], changes: list[Any], k: int, limit: float, measure: str) -> None:
        require_live(name, rows, changes, k, people=people, max_suppressed=limit, measure=measure)

    holds()


def require_live(name: str, rows: list[Row], changes: list[Any], k: int, *, people: bool, **asked: Any) -> None:
    """Raise unless a view of these rows shows what it must, at once and after each change."""
    model = MODELS[name]
    tree = dict.fromkeys([row[0] for row in rows if row[0] not in CITIES and row[0] is not None], ["*"] * 3)
    there = dict(enumerate(rows))
    with duckdb.connect() as connection, tempfile.TemporaryDirectory() as directory:
        connection.execute(
            "CREATE TABLE visits (id INTEGER, city VARCHAR, age INTEGER, disease VARCHAR, person INTEGER)"
        )
        put(connection, {}, there)
        places = Path(directory) / "city.csv", Path(directory) / "disease.csv"
        write_hierarchy(places[0], CITIES | tree)
        write_hierarchy(places[1], DISEASES)
        rules = {"city": str(places[0]), "age": "intervals:10,20"}
        if name == "t-hierarchical":
            rules["disease"] = str(places[1])
        try:
            with kanon.anonymize(
                connection,
                "visits",
                quasi_identifiers=["city", "age"],
                sensitive=["disease"],
                identifying=["id", "person"],
                models=[kanon.KAnonymity(k, entity="person" if people else None), *([model] if model else [])],
                hierarchies=rules,
                count="people" if people else "rows",
                choice="greedy",
                **asked,
            ) as release:
                release.to_view("shown")
                levels = release.levels
        except kanon.NoSolutionError:
            return
        assert levels is not None
        known: list[set[Any]] = [{*CITIES, *tree, None}, {*(row[1] for row in rows), None}]
        for change in [lambda same: same, *changes]:
            after = change(there)
            put(connection, there, after)
            there = after
            assert rows_of(connection) == shown(there, levels, known, name, k, people=people)
