"""Coded and readable SQL are two forms of one test: on random nodes they count the same classes and rows."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import brute_force
import duckdb
import pytest
from conftest import ADULT_QI
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from strategies import Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.classes.frequency import roll_up_query
from kanon_sql.classes.measured import Columns, measured_steps, with_steps
from kanon_sql.classes.of_node import listed, node_query, nodes_query, people_query
from kanon_sql.classes.recoding import FullDomain
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.release.publication import GENERALIZED
from kanon_sql.release.statements.release import (
    class_columns,
    generalized_members,
    generalized_query,
    readable_lookups,
    references_of,
)
from kanon_sql.search.full_domain import evidence
from kanon_sql.sql import build as sql
from kanon_sql.sql.build import create_table, relation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kanon_sql.classes.lattice import Node
    from kanon_sql.release.publication import Publication


def readable_node_query(publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Select:
    """Return the test of a node in readable SQL: the same two numbers as the coded ``node_query``."""
    references = references_of(publication)
    n, measured = class_columns(publication.quasi_identifiers, publication.models)
    members = generalized_members(publication, references, lookups)
    steps, classes = measured_steps(members, publication.models, Columns(n, measured))
    met = sql.all_of(model.is_met(sql.column(name)) for name, model in zip(measured, publication.models, strict=True))
    hidden = sql.where(exp.Sum(this=sql.column(n)), sql.negated(met))
    query = (
        exp.select(
            sql.named(sql.count_rows(), "classes"),
            sql.named(exp.Coalesce(this=hidden, expressions=[sql.literal(0)]), "suppressed"),
        )
        .from_("classes")
        .with_(GENERALIZED, as_=generalized_query(publication, lookups))
    )
    return with_steps(query, references.steps, steps, [("classes", classes)])


def coded(release: kanon.Release, node: Node) -> tuple[int, int]:
    frequency = release.prepared.frequency
    return frequency.engine.row(node_query(frequency.relation, frequency.masks(node), release.policy.models))


def readable(release: kanon.Release, node: Node) -> tuple[int, int]:
    publication = replace(release.publication, recoding=FullDomain(node))
    query = readable_node_query(publication, readable_lookups(publication.hierarchies))
    return release.prepared.frequency.engine.row(query)


def rolled_up(release: kanon.Release, below: Node, node: Node) -> tuple[int, int]:
    """Test a node on the frequency set of a node below it."""
    frequency = release.prepared.frequency
    relation = frequency.engine.temporary_name("rolled_up")
    frequency.engine.run(create_table(relation, roll_up_query(frequency, frequency.relation, below), temporary=True))
    return frequency.engine.row(node_query(relation, frequency.masks(node), release.policy.models))


def merged(release: kanon.Release, node: Node, *, people_together: bool) -> tuple[int, int]:
    """Test a node on its own frequency set, in which people need not be told apart any more."""
    frequency = release.prepared.frequency
    relation = frequency.engine.temporary_name("merged")
    query = roll_up_query(frequency, frequency.relation, node, people_together=people_together)
    frequency.engine.run(create_table(relation, query, temporary=True))
    return frequency.engine.row(node_query(relation, frequency.masks(node), release.policy.models, merged=True))


def together(release: kanon.Release, nodes: list[Node]) -> list[tuple[int, int]]:
    """Test several nodes in one statement."""
    frequency = release.prepared.frequency
    query = nodes_query(frequency.relation, frequency.keys, release.policy.models)
    found = frequency.engine.rows(query, parameters=listed([frequency.masks(node) for node in nodes]))
    return [(classes, suppressed) for _, classes, suppressed in sorted(found)]


@pytest.mark.thorough
def test_same_counts_on_random_nodes_of_adult(adult: Path) -> None:
    chosen = random.Random(7)  # noqa: S311 - picks nodes, not secrets
    with kanon.anonymize(
        str(adult / "adult.csv"), quasi_identifiers=ADULT_QI, rest="drop", hierarchies=adult, max_suppressed=1
    ) as release:
        heights = release.prepared.lattice.heights
        for _ in range(25):
            node = tuple(chosen.randint(0, height) for height in heights)
            below = tuple(chosen.randint(0, level) for level in node)
            assert coded(release, node) == readable(release, node) == rolled_up(release, below, node)


@pytest.mark.thorough
@given(cases(), st.data())
@examples(30)
def test_same_counts_as_the_oracle_on_any_node_of_random_tables(case: Case, data: st.DataObject) -> None:
    connection, person = load(case)
    try:
        release = anonymize(case, connection, person)
    except kanon.NoSolutionError:
        return
    with release:
        node = data.draw(st.sampled_from(brute_force.all_nodes(case.hierarchies)))
        below = tuple(data.draw(st.integers(0, level)) for level in node)
        expected = brute_force.evaluate(case.rows, case.hierarchies, node, case.k, case.persons)
        counts = (expected.classes, expected.suppressed) if case.rows else (0, 0)
        assert coded(release, node) == counts
        assert readable(release, node) == counts
        assert rolled_up(release, below, node) == counts
        assert merged(release, node, people_together=False) == counts
        if release.prepared.frequency.has_people_once:
            frequency = release.prepared.frequency
            query = people_query(frequency.relation, frequency.masks(node), case.k)
            assert frequency.engine.row(query) == counts
            assert merged(release, node, people_together=True) == counts
        if case.rows:
            assert together(release, [below, node, below]) == [coded(release, below), counts, coded(release, below)]


_ALIKE = st.builds(lambda bit, more: bit + 62 * more, st.integers(0, 2), st.integers(0, 3))
_TUPLES = st.tuples(st.integers(0, 7), st.integers(0, 1), st.integers(1, 3), st.integers(0, 2), st.none() | _ALIKE)


@pytest.mark.thorough
@given(st.lists(_TUPLES, max_size=40), st.integers(0, 7), st.integers(0, 1), st.integers(1, 5))
@examples(300)
def test_people_whose_numbers_have_one_bit_are_told_apart(
    tuples: list[tuple[int, int, int, int, int | None]], mask: int, other_mask: int, k: int
) -> None:
    """Rows of a frequency set, a person in several of them: the oracle has a set of people for each class."""
    rows: dict[tuple[int, int], int] = defaultdict(int)
    people: dict[tuple[int, int], set[object]] = defaultdict(set)
    for place, (key, other, n, persons, entity) in enumerate(tuples):
        own = key & mask, other & other_mask
        rows[own] += n
        people[own] |= {(place, number) for number in range(persons)} | ({entity} - {None})
    expected = len(rows), sum(rows[own] for own, members in people.items() if len(members) < k)
    engine = DuckDBEngine.in_memory()
    engine.connection.execute(
        "CREATE TABLE tuples (key_0 BIGINT, key_1 BIGINT, n BIGINT, persons BIGINT, entity BIGINT)"
    )
    for one in tuples:
        engine.connection.table("tuples").insert(one)
    assert engine.row(people_query(relation("tuples"), (mask, other_mask), k)) == expected
    classes, suppressed = engine.row(people_query(relation("tuples"), (mask, other_mask), k, probe=True))
    assert classes <= expected[0]
    assert suppressed <= expected[1]
    engine.close()


@pytest.mark.thorough
@given(cases())
@examples(50)
def test_searches_in_which_few_people_are_told_apart_find_the_same(case: Case) -> None:
    connection, person = load(case)
    found = []
    for tuples in (10**9, 0):  # from which they do so
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(evidence, "TUPLES_PER_STATEMENT", tuples)
            try:
                with anonymize(case, connection, person) as release:
                    found.append((release.levels, release.rows_suppressed, release.loss))
            except kanon.NoSolutionError as error:
                found.append(str(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("tuples", [0, 10**9])
def test_people_and_rows_are_required_together(monkeypatch: pytest.MonkeyPatch, tuples: int) -> None:
    """Half of all rows are of a class of 150 rows and two people, which both levels suppress."""
    monkeypatch.setattr(evidence, "TUPLES_PER_STATEMENT", tuples)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i AS pid, ['a1', 'a2'][1 + i % 2] AS a FROM range(150) numbers(i)")
    connection.execute("INSERT INTO t SELECT i % 2, 'b1' FROM range(150) numbers(i)")
    with kanon.anonymize(
        connection,
        table="t",
        quasi_identifiers=["a"],
        rest="drop",
        models=[kanon.KAnonymity(4, entity="pid"), kanon.KAnonymity(76)],
        hierarchies={"a": "mask:right:1"},
        max_suppressed=0.9,
    ) as release:
        assert release.levels == {"a": 1}  # 75 rows of a1 are too few
        assert release.rows_suppressed == 150


@pytest.mark.parametrize("people", [False, True])
def test_a_probe_counts_whole_classes_and_never_more_than_the_test(adult: Path, people: bool) -> None:
    """What a probe finds suppressed is suppressed: it must be a lower bound, or the search would prune the optimum."""
    with kanon.anonymize(
        str(adult / "adult.csv"),
        quasi_identifiers=["age", "education", "occupation"],
        rest="drop",
        models=[kanon.KAnonymity(5, entity="native-country" if people else None)],
        hierarchies=adult,
        max_suppressed=1,
    ) as release:
        frequency = release.prepared.frequency
        for node in [(0, 0, 0), (1, 0, 1), (2, 1, 0), (4, 3, 2)]:
            masks, models = frequency.masks(node), release.policy.models
            classes, suppressed = frequency.engine.row(node_query(frequency.relation, masks, models))
            some, hidden = frequency.engine.row(node_query(frequency.relation, masks, models, probe=True))
            assert 0 <= some <= classes
            assert 0 <= hidden <= suppressed
            if classes > 1000:
                assert classes / 22 < some < classes / 5.5
