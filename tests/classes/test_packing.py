"""Counts side by side: the same classes, measures and bounds as where values are counted one by one."""

from __future__ import annotations

import math
import tempfile
from typing import TYPE_CHECKING, Any

import brute_force
import duckdb
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from strategies import TABLE as HOSTILE
from test_models import Sick, measured, models, sick, with_tree

import kanon_sql as kanon
from kanon_sql.classes import packing
from kanon_sql.classes.of_node import classes_query, listed, node_query, nodes_query
from kanon_sql.classes.packing import pack
from kanon_sql.search.full_domain.roll_ups import RollUps
from kanon_sql.search.prepare import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.search.problem import Problem

TABLE = "patients"
L_DIVERSITY = kanon.DistinctLDiversity(l=2, sensitive="s")


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def problem_about(connection: duckdb.DuckDBPyConnection, *asked: PrivacyModel) -> tuple[kanon.PreparedTable, Problem]:
    """Prepare a table with the quasi-identifier q and the sensitive column s."""
    policy = kanon.Policy(
        columns=kanon.NamedColumns(quasi_identifiers=("q",), sensitive=("s",)),
        models=(kanon.KAnonymity(2), *asked),
        hierarchies={"q": "flat"},
        choice="greedy",
    )
    prepared = kanon.prepare(connection, TABLE, policy=policy)
    return prepared, problem_of(prepared.prepared, policy)


def answers(problem: Problem, query: exp.Select, columns: Sequence[str] = ("*",)) -> list[tuple[Any, ...]]:
    """Return the sorted rows of a query, with the columns in an order."""
    return sorted(problem.frequency.engine.rows(exp.select(*columns).from_(query.subquery("answers"))))


def same(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> bool:
    """Tell whether rows are the same, numbers but for what sums of floating-point numbers differ in by their order."""
    return len(one) == len(other) and all(
        len(left) == len(right) and all(map(_close, left, right)) for left, right in zip(one, other, strict=True)
    )


def _close(left: float, right: float) -> bool:
    return left == right or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.thorough
@given(one=sick(people=False), data=st.data())
@examples(30)
def test_the_same_classes_measures_and_bounds(one: Sick, data: st.DataObject) -> None:
    case = one.case
    asked = data.draw(st.lists(st.sampled_from(models(one.names)), min_size=1, max_size=4, unique_by=id))
    with tempfile.TemporaryDirectory() as directory:
        paths = with_tree(one, directory)
        if not any(getattr(model, "distance", None) == "hierarchical" for model in asked):
            del paths[one.names[0]]
        policy = kanon.Policy(
            columns=kanon.NamedColumns(quasi_identifiers=tuple(case.columns), sensitive=one.names),
            models=(kanon.KAnonymity(case.k), *asked),
            hierarchies=paths,
            choice="greedy",
        )
        prepared = kanon.prepare(one.load(), HOSTILE, policy=policy)
    node = data.draw(st.sampled_from(brute_force.all_nodes(case.hierarchies)))
    below = tuple(data.draw(st.integers(0, level)) for level in node)
    with prepared:
        problem = problem_of(prepared.prepared, policy)
        frequency, masks = problem.frequency, problem.frequency.masks(node)
        side_by_side = pack(frequency, problem.models)
        assert (side_by_side is None) == (not case.rows)
        if side_by_side is None:
            return
        roll_ups = RollUps(frequency, problem.lattice)
        roll_ups.count_side_by_side(side_by_side)
        roll_ups.keep(roll_ups.make(below))
        one_by_one = classes_query(frequency.relation, masks, problem.models, bounds=True)
        names = one_by_one.named_selects
        expected = answers(problem, one_by_one, names)
        tested = answers(problem, node_query(frequency.relation, masks, problem.models, with_sizes=True))
        found = nodes_query(frequency.relation, frequency.keys, problem.models, with_sizes=True)
        two = frequency.engine.rows(found, parameters=listed([frequency.masks(problem.lattice.top), masks]))
        assert same([row[1 : len(tested[0]) + 1] for row in two if row[0] == 1], tested)
        for lower in (problem.lattice.bottom, below):
            source = roll_ups.source(lower).relation
            found = classes_query(source, masks, problem.models, bounds=True, packing=side_by_side)
            assert same(answers(problem, found, names), expected)
            found = node_query(source, masks, problem.models, with_sizes=True, packing=side_by_side)
            assert same(answers(problem, found), tested)
            found = nodes_query(source, frequency.keys, problem.models, with_sizes=True, packing=side_by_side)
            two = frequency.engine.rows(found, parameters=listed([masks, frequency.masks(problem.lattice.top)]))
            assert same([row[1 : len(tested[0]) + 1] for row in two if row[0] == 0], tested)
        # The whole table is one class at the root.
        root = classes_query(
            roll_ups.source(problem.lattice.bottom).relation,
            frequency.masks(problem.lattice.top),
            problem.models,
            packing=side_by_side,
        )
        ((_, rows, k, *whole),) = answers(problem, root)
        assert (rows, k) == (len(case.rows), len(case.rows))
        for model, value in zip(asked, whole, strict=True):
            own = one.values_of(model)
            assert value == pytest.approx(measured(model, own, own), abs=1e-9)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 255, 256, 65_535, 65_536, 131_071])
def test_a_field_has_room_for_all_rows_of_the_table(connection: duckdb.DuckDBPyConnection, rows: int) -> None:
    """All rows but the first have one value, and all of them are in one class: the next field must not be touched."""
    connection.execute(
        "CREATE TABLE patients AS SELECT 'x' AS q, CASE WHEN i = 0 THEN 'b' ELSE 'a' END AS s "
        "FROM range($1) AS numbers(i) UNION ALL SELECT 'x', value FROM (VALUES ('c'), ('d')) AS few(value) "
        "WHERE $1 > 4",
        [rows],
    )
    prepared, problem = problem_about(connection, kanon.AlphaKAnonymity(alpha=0.9, sensitive="s"), L_DIVERSITY)
    with prepared:
        frequency = problem.frequency
        side_by_side = pack(frequency, problem.models)
        assert side_by_side is not None
        roll_ups = RollUps(frequency, problem.lattice)
        roll_ups.count_side_by_side(side_by_side)
        query = classes_query(
            roll_ups.source(problem.lattice.bottom).relation,
            frequency.masks(problem.lattice.bottom),
            problem.models,
            packing=side_by_side,
        )
        ((_, n, _, largest, different),) = answers(problem, query)
    more = 2 if rows > 4 else 0
    assert n == rows + more
    assert largest == pytest.approx(max(rows - 1, 1) / n)
    assert different == min(rows, 2) + more


@pytest.mark.thorough
def test_columns_of_many_values_are_counted_one_by_one(connection: duckdb.DuckDBPyConnection) -> None:
    """Their counts would need more numbers than it is worth to add; the search is the same."""
    connection.execute("CREATE TABLE patients AS SELECT i // 10 AS q, i // 2 AS s FROM range(600) AS numbers(i)")
    for distance in ("equal", "ordered"):
        model = kanon.TCloseness(t=0.5, distance=distance, sensitive="s")
        prepared, problem = problem_about(connection, model)
        with prepared:
            assert pack(problem.frequency, problem.models) is None
    with kanon.anonymize(
        connection,
        "patients",
        quasi_identifiers=["q"],
        sensitive=["s"],
        hierarchies={"q": "flat"},
        models=[kanon.KAnonymity(2), kanon.DistinctLDiversity(l=5, sensitive="s")],
        algorithm="local",
        choice="greedy",
    ) as release:
        assert release.rows_suppressed == 0
        assert release.loss == 0  # ten rows of each q have five values
        assert release.verify().models[1].holds


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "local", "spolg"])
@pytest.mark.parametrize("large", [False, True])
def test_the_release_is_the_same_however_values_are_counted(
    monkeypatch: pytest.MonkeyPatch, large: bool, algorithm: str, connection: duckdb.DuckDBPyConnection
) -> None:
    """Also where the table is so large that nodes are rolled up; and no relation of a search is left behind."""
    if large:
        monkeypatch.setattr("kanon_sql.search.full_domain.evidence.TUPLES_PER_STATEMENT", 1)
        monkeypatch.setattr("kanon_sql.search.full_domain.roll_ups._SMALL", 1)
        monkeypatch.setattr("kanon_sql.search.full_domain.roll_ups._PRICE", 1)
    connection.execute("SELECT setseed(0.7)")
    connection.execute(
        "CREATE TABLE patients AS SELECT (random() * 30)::INTEGER AS a, (random() * 30)::INTEGER AS b, "
        "(random() * 6)::INTEGER AS s FROM range(2000)"
    )
    found = []
    for side_by_side in (True, False):
        monkeypatch.setattr(packing, "_SEVERAL", 0 if side_by_side else 10**9)
        monkeypatch.setattr(packing, "_MOST", 16 if side_by_side else 0)
        with kanon.anonymize(
            connection,
            TABLE,
            quasi_identifiers=["a", "b"],
            sensitive=["s"],
            hierarchies={"a": "intervals:5,10,20", "b": "intervals:5,10,20"},
            models=[
                kanon.KAnonymity(3),
                kanon.EntropyLDiversity(l=3, sensitive="s"),
                kanon.TCloseness(t=0.2, distance="ordered", sensitive="s"),
            ],
            max_suppressed=0.1,
            algorithm=algorithm,
            choice="greedy",
        ) as release:
            counted = [
                logged.title for logged in release.prepared.source.engine.statements if "counts for" in logged.title
            ]
            assert bool(counted) == side_by_side
            left = connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
            assert not [name for (name,) in left if name.startswith(("kanon_counts", "kanon_adding", "kanon_rows"))]
            found.append((release.result.recoding, release.loss, release.rows_suppressed, release.classes))
    assert found[0] == found[1]
