"""Delta-presence over all classes of the population, those without a row in the release too, by brute force."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon

if TYPE_CHECKING:
    from pathlib import Path

Row = tuple[str, str]
Node = tuple[int, int]

A = {"a1": ["a1", "x", "*"], "a2": ["a2", "x", "*"], "a3": ["a3", "y", "*"], "a4": ["a4", "y", "*"]}
B = {"b1": ["b1", "*"], "b2": ["b2", "*"], "b3": ["b3", "*"]}
NODES = list(product(range(3), range(2)))
EVERYBODY = st.lists(
    st.tuples(st.sampled_from(sorted(A)), st.sampled_from(sorted(B)), st.booleans()), min_size=1, max_size=25
)


def generalized(rows: list[Row], node: Node) -> Counter[Row]:
    return Counter((A[a][node[0]], B[b][node[1]]) for a, b in rows)


def failing(released: Counter[Row], everybody: Counter[Row], least: float, most: float) -> int:
    """Return how many classes of the population have too small or too large a share in the release."""
    return sum(not least - 1e-9 <= released[label] / n <= most + 1e-9 for label, n in everybody.items())


def loss(rows: list[Row], node: Node) -> float:
    """Return the mean over all cells of the share of other values that they could have."""
    total = 0.0
    for row in rows:
        for value, level, tree in zip(row, node, (A, B), strict=True):
            alike = sum(labels[level] == tree[value][level] for labels in tree.values())
            total += (alike - 1) / (len(tree) - 1)
    return total / (2 * len(rows))


def rules(directory: Path) -> dict[str, str]:
    """Write both hierarchies into files."""
    for name, tree in (("a", A), ("b", B)):
        (directory / f"{name}.csv").write_text("\n".join(";".join(labels) for labels in tree.values()) + "\n")
    return {name: str(directory / f"{name}.csv") for name in "ab"}


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return rules(tmp_path_factory.mktemp("trees"))


def connected(rows: list[Row], everybody: list[Row]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, listed in (("sample", rows), ("everybody", everybody)):
        connection.register(f"{name}_rows", pd.DataFrame(listed, columns=["a", "b"], dtype="object"))
        connection.execute(f"CREATE TABLE {name} AS SELECT a::VARCHAR AS a, b::VARCHAR AS b FROM {name}_rows")  # noqa: S608 - names and numbers of this test
    return connection


@given(
    EVERYBODY,
    st.sampled_from([0.05, 0.2, 0.5]),
    st.sampled_from([0.5, 0.8, 1.0]),
    st.integers(1, 3),
    st.sampled_from(["optimal", "optimal", "incognito"]),
)
@examples(15)
def test_the_optimum_keeps_every_class_of_the_population_within_the_bounds(
    trees: dict[str, str], drawn: list[tuple[str, str, bool]], least: float, most: float, k: int, algorithm: str
) -> None:
    """Fails on 0.1.0: classes of the population without a row in the release were not looked at.

    With a lower bound above 0 nothing may be suppressed: whoever is suppressed is in a class that has no row.
    """
    everybody = [(a, b) for a, b, _ in drawn]
    rows = [(a, b) for a, b, there in drawn if there]
    if not rows:
        return
    allowed = [
        node
        for node in NODES
        if failing(generalized(rows, node), generalized(everybody, node), least, most) == 0
        and min(generalized(rows, node).values()) >= k
    ]
    asked: dict[str, Any] = {
        "quasi_identifiers": ["a", "b"],
        "models": [kanon.KAnonymity(k), kanon.DeltaPresence(least, most)],
        "population": "everybody",
        "hierarchies": trees,
        "max_suppressed": 0.3,
    }
    with connected(rows, everybody) as connection:
        if not allowed:
            with pytest.raises(kanon.NoSolutionError):
                kanon.anonymize(connection, "sample", algorithm=algorithm, **asked)
            return
        with kanon.anonymize(connection, "sample", algorithm=algorithm, **asked) as release:
            assert tuple((release.levels or {}).values()) in allowed
            assert release.loss == pytest.approx(min(loss(rows, node) for node in allowed))
            assert release.optimal
            assert all(model.holds for model in release.verify().models)


@given(EVERYBODY, st.sampled_from([0, 0.2, 0.5]), st.sampled_from([0.5, 0.8, 1.0]))
@examples(15)
def test_a_check_counts_the_classes_of_the_population(
    drawn: list[tuple[str, str, bool]], least: float, most: float
) -> None:
    """Fails on 0.1.0: a table in which a whole class of the population is missing kept to any lower bound."""
    everybody = [(a, b) for a, b, _ in drawn]
    rows = [(a, b) for a, b, there in drawn if there]
    with connected(rows, everybody) as connection:
        models = [kanon.DeltaPresence(least, most)]
        found = kanon.check(connection, "sample", quasi_identifiers=["a", "b"], models=models, population="everybody")
    released, population = generalized(rows, (0, 0)), generalized(everybody, (0, 0))
    expected = failing(released, population, least, most)
    assert found.models[0].classes_failing == found.classes_failing == expected
    assert found.holds == (expected == 0)
    assert found.classes == len(released)
    shares = [released[label] / n for label, n in population.items() if released[label] or least]
    if shares and min(shares) == 0:
        assert found.models[0].measured == 0


def test_what_was_suppressed_fails_a_check_against_the_population(tmp_path: Path) -> None:
    """Fails on 0.1.0: it published u alone, and everybody knew that nobody of v is in the table.

    Two of four u and one of four v are in the table; k = 2 would suppress v. That has the share 0 then.
    """
    connection = duckdb.connect()
    connection.execute("CREATE TABLE sample AS SELECT unnest(['u', 'u', 'v']) AS q")
    connection.execute("CREATE TABLE everybody AS SELECT unnest(['u', 'u', 'u', 'u', 'v', 'v', 'v', 'v']) AS q")
    (tmp_path / "q.csv").write_text("u;*\nv;*\n")
    asked: dict[str, Any] = {
        "quasi_identifiers": ["q"],
        "models": [kanon.KAnonymity(2), kanon.DeltaPresence(0.2, 0.9)],
        "population": "everybody",
    }
    with kanon.anonymize(
        connection, "sample", hierarchies={"q": str(tmp_path / "q.csv")}, max_suppressed=0.5, **asked
    ) as release:
        assert (release.levels, release.rows_suppressed) == ({"q": 1}, 0)
    connection.execute("CREATE TABLE only_u AS FROM sample WHERE q = 'u'")
    found = kanon.check(connection, "only_u", **asked)
    assert [(model.holds, model.classes_failing) for model in found.models] == [(True, 0), (False, 1)]


def test_a_population_that_is_written_otherwise_is_refused_by_a_check() -> None:
    """A class of the release that a population lacks says nothing about k-map: its values are not those of labels."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE released AS SELECT unnest(['1*', '1*', '2*', NULL]) AS q")
    connection.execute("CREATE TABLE everybody AS SELECT unnest(['11', '12', '21', '22', NULL]) AS q")
    connection.execute("CREATE TABLE generalized AS SELECT left(q, 1) || '*' AS q FROM everybody CROSS JOIN range(2)")
    asked: dict[str, Any] = {"quasi_identifiers": ["q"], "models": [kanon.KMap(2)]}
    with pytest.raises(kanon.UsageError, match="it lacks 2 classes of the table"):
        kanon.check(connection, "released", **asked, population="everybody")
    assert kanon.check(connection, "released", **asked, population="generalized").models[0].holds


def test_a_check_counts_people_by_the_original_beside_a_generalized_population() -> None:
    """The original has ages, the release and the population of a check have their labels."""
    connection = duckdb.connect()
    for name, rows in (("raw", 60), ("everybody", 200)):
        ages = pd.DataFrame({"person": range(rows), "age": [20 + number % 20 for number in range(rows)]})
        connection.from_df(ages).create(name)
        ages["age"] = [f"{age // 5 * 5}-{age // 5 * 5 + 4}" for age in ages["age"]]
        connection.from_df(ages[["age"]]).create(f"{name}_generalized")
    found = kanon.check(
        connection,
        "raw_generalized",
        quasi_identifiers=["age"],
        models=[kanon.KMap(50), kanon.KAnonymity(5)],
        population="everybody_generalized",
        hierarchies={"age": "intervals:5,10"},
        original=connection,
        original_table="raw",
        entity="person",
    )
    assert found.holds
    assert (found.models[0].measured, found.smallest_class_people) == (50, 15)
