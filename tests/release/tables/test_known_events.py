"""What several known events leave: arrays against the statements of a release, and the search against all nodes."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from kanon_sql.classes.lattice import Lattice
from kanon_sql.engine.keys import draw_key
from kanon_sql.errors import NoSolutionError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.policy.tables import parse_tables_policy
from kanon_sql.release.tables.anonymize import parts_of
from kanon_sql.release.tables.coded import CodedTables
from kanon_sql.release.tables.known_events import KnownEvents
from kanon_sql.release.tables.opened import OpenedTables, open_policy
from kanon_sql.release.tables.statements import ReleasedRows
from kanon_sql.search.full_domain.several_tables import TablesSearch
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import random

    from kanon_sql.classes.lattice import Node
    from kanon_sql.policy.tables import TablesPolicy
    from kanon_sql.search.full_domain.several_tables import Part

IMPOSSIBLE = float("inf")
KINDS = 1 << 40  # a table's kinds of events are numbered from a multiple of it on
POLICY = """
[privacy]
k = {k}
km = {km}
[search]
max_suppressed = {most}
{people}
[tables.visits]
person = "person"
key = "visit"
quasi_identifiers = ["day", "weight"]
hierarchies = {{ day = "{day}", weight = "{weight}" }}
[tables.tests]
person = {{ through = "visit", to = "visits" }}
key = "test"
insensitive = ["note"]
[tables.results]
person = {{ through = "test", to = "tests" }}
quasi_identifiers = ["result"]
hierarchies = {{ result = "flat" }}
[tables.calls]
person = "person"
quasi_identifiers = ["about"]
hierarchies = {{ about = "flat" }}
"""
PEOPLE = """
[tables.people]
rows = "people"
person = "person"
quasi_identifiers = ["sex"]
hierarchies = { sex = "flat" }
"""

Rows = dict[str, list[tuple[Any, ...]]]


@st.composite
def databases(draw: st.DrawFn) -> Rows:
    """Draw people with events: some have none, some events are of nobody, and many kinds are alike."""
    persons = [f"p{number}" for number in range(draw(st.integers(0, 9)))]
    somebody = st.sampled_from([*persons, *persons, *persons, "nobody", None])
    day, weight = st.sampled_from([None, "ää", "äb", "b'"]), st.sampled_from([None, -0.0, 0.0, 1.5, 2.5])
    result, about = st.sampled_from([None, "*", "x", '"']), st.sampled_from([None, "x", "y"])
    visits = draw(st.lists(st.tuples(somebody, day, weight), max_size=25))
    of_visit = st.sampled_from([None, *range(len(visits) + 1)])
    tests = draw(st.lists(of_visit, max_size=15))
    of_test = st.sampled_from([None, *range(len(tests) + 1)])
    return {
        "people": [(person, draw(st.sampled_from(["f", None]))) for person in persons],
        "visits": [(number, *visit) for number, visit in enumerate(visits)],
        "tests": [(number, visit, "n") for number, visit in enumerate(tests)],
        "results": draw(st.lists(st.tuples(of_test, result), max_size=15)),
        "calls": draw(st.lists(st.tuples(somebody, about), max_size=25)),
    }


def opened(
    rows: Rows,
    k: int,
    km: int,
    most: float = 1.0,
    *,
    with_people: bool = True,
    flat: bool = False,
    weights: random.Random | None = None,
) -> OpenedTables:
    connection = duckdb.connect()
    if with_people:
        connection.execute("CREATE TABLE people (person VARCHAR, sex VARCHAR)")
    connection.execute("CREATE TABLE visits (visit INTEGER, person VARCHAR, day VARCHAR, weight DOUBLE)")
    connection.execute("CREATE TABLE tests (test INTEGER, visit INTEGER, note VARCHAR)")
    connection.execute("CREATE TABLE results (test INTEGER, result VARCHAR)")
    connection.execute("CREATE TABLE calls (person VARCHAR, about VARCHAR)")
    for name in ["people"] * with_people + ["visits", "tests", "results", "calls"]:
        for row in rows[name]:
            connection.table(name).insert(row)
    day, weight = ("flat", "flat") if flat else ("mask:right:1,2", "intervals:2")
    people = PEOPLE if with_people else ""
    text = POLICY.format(k=k, km=km, most=most, people=people, day=day, weight=weight)
    policy = parse_tables_policy(text, Path("kanon.toml"))
    return open_policy(connection, policy if weights is None else weighted(policy, weights))


def weighted(policy: TablesPolicy, draw: random.Random) -> TablesPolicy:
    """Return a policy with weights of tables and columns; at least one of each is above 0."""
    given = (0, 1, 2, Fraction(1, 3), 12)
    tables = []
    for table in policy.tables:
        named = table.columns.quasi_identifiers
        weights = {name: Fraction(draw.choice(given)) for name in named}
        weights |= {name: Fraction(5) for name in named[:1] if not any(weights.values())}
        weight = Fraction(draw.choice(given) if named else 1)
        tables.append(replace(table, weights=weights, weight=weight))
    if not any(table.weight for table in tables if table.columns.quasi_identifiers):
        return policy
    return replace(policy, tables=tuple(tables))


def prepared(tables: OpenedTables) -> tuple[KnownEvents, list[Part]]:
    coded = CodedTables(tables)
    parts = parts_of(coded)
    return KnownEvents(coded, parts), parts


def nodes(tables: OpenedTables) -> list[Node]:
    heights = [hierarchy.height for member in tables.members for hierarchy in member.hierarchies]
    return list(itertools.product(*(range(height + 1) for height in heights)))


def released_rows(tables: OpenedTables, node: Node) -> ReleasedRows:
    names = [hierarchy.column.name for member in tables.members for hierarchy in member.hierarchies]
    rows = ReleasedRows(tables, dict(zip(names, node, strict=True)), draw_key())
    rows.make()
    return rows


def left_by_statements(tables: OpenedTables, node: Node) -> Counter[frozenset[int]]:
    """Return the sets of kinds of events that people have, numbered through the tables; with several events known."""
    rows = released_rows(tables, node)
    sizes = [tables.engine.row(sql.select_count(kinds), "kinds")[0] for kinds in rows.kinds.values()]
    begins = [0, *itertools.accumulate(sizes)]
    events = defaultdict(set)
    for member in tables.events:
        relation, _, _ = rows.left(member)
        for person, event in tables.engine.rows(exp.select("number", "event").from_(relation), "events"):
            if member.hierarchies:
                table, number = divmod(event - 1, KINDS)
                events[person].add(begins[table] + number)
    rows.close()
    return Counter(map(frozenset, events.values()))


def left_on_arrays(known: KnownEvents, node: Node) -> Counter[frozenset[int]]:
    events = defaultdict(set)
    for person, kind in zip(*known.left(node), strict=True):
        events[person].add(int(kind))
    return Counter(map(frozenset, events.values()))


def loss_by_statements(tables: OpenedTables, parts: list[Part], node: Node) -> Fraction | float:
    """Return the mean of the losses of tables, of which each is a mean over its cells; all by their weights.

    A label with M of N leaves loses (M - 1)/(N - 1) of its cell; suppressed rows lose all.
    """
    engine, rows, possible = tables.engine, released_rows(tables, node), True
    losses, of_tables = Fraction(0), Fraction(0)
    for member in tables.members:
        if not member.hierarchies:
            continue
        everything = engine.rows(exp.select("*").from_(tables.raw_rows(member).subquery("raw")), "rows of people")
        names = [own.alias_or_name for own in tables.raw_rows(member).selects]
        relation, joins, has_labels = rows.left(member)
        labels = [sql.column(own.column.name, has_labels) for own in member.hierarchies]
        query = exp.select(*labels, "1").from_(relation)
        for joined, condition in joins:
            query = query.join(joined, on=condition)
        left = engine.rows(query, "labels of what is left")
        weights = [member.policy.weights.get(one.name, Fraction(1)) for one in member.quasi_identifiers]
        total = Fraction(0)
        (limit,) = [one.problem.limit for one in parts if one.name == member.name]
        possible = possible and len(everything) - len(left) <= limit
        for place, own in enumerate(member.hierarchies):
            level = rows.levels[own.column.name]
            column = VALUE if level == 0 else level_name(level)
            paths = [exp.select(VALUE, name).from_(own.relation.copy()) for name in (column, level_name(own.height))]
            lookup, roots = (dict(engine.rows(path, "labels of values")) for path in paths)
            if all(row[names.index(own.column.name)] is not None for row in everything):
                lookup.pop(None, None)
            leaves = Counter(lookup.values())
            full = len(lookup) - 1
            assert len(set(roots.values())) <= 1
            if full < 1:
                continue
            total += weights[place] * (len(everything) - len(left))
            for row in left:
                root = level > 0 and row[place] == own.root
                total += weights[place] * (1 if root else Fraction(leaves[row[place]] - 1, full))
        if everything:
            losses += member.policy.weight * total / (len(everything) * sum(weights))
            of_tables += member.policy.weight
    rows.close()
    return (losses / of_tables if of_tables else Fraction(0)) if possible else IMPOSSIBLE


def loss(parts: list[Part], cost: Any) -> Fraction | float:
    """Return a cost as a loss."""
    return cost if cost == IMPOSSIBLE else Fraction(cost) / max(1, sum(part.whole for part in parts))


@pytest.mark.thorough
@given(databases(), st.integers(1, 3), st.integers(2, 3), st.booleans(), st.randoms(use_true_random=False))
@examples(40)
def test_arrays_leave_what_statements_leave(
    rows: Rows,
    km: int,
    k: int,
    with_people: bool,
    choice: random.Random,
) -> None:
    tables = opened(rows, k, km, with_people=with_people, weights=choice)
    known, parts = prepared(tables)
    everything = nodes(tables)
    for node in choice.sample(everything, 4):
        if km > 1:  # else not all kinds have numbers
            assert left_on_arrays(known, node) == left_by_statements(tables, node)
        cost = known.cost(node)
        assert loss(parts, cost) == loss_by_statements(tables, parts, node)
        # Bounds hold, and a cost that is cut short is above what was asked about.
        below = tuple(choice.randint(0, level) for level in node)
        lower = tuple(choice.randint(0, level) for level in below)
        assert known.least(lower, node) <= known.cost(below)
        if cost and cost != IMPOSSIBLE:
            assert known.cost(node, cost // 2) > cost // 2
    tables.engine.close()


@pytest.mark.thorough
@given(databases(), st.integers(1, 2), st.sampled_from([1.0, 0.3]), st.booleans(), st.randoms(use_true_random=False))
@examples(12)
def test_the_search_finds_what_looking_at_all_nodes_finds(
    rows: Rows,
    km: int,
    most: float,
    with_people: bool,
    choice: random.Random,
) -> None:
    tables = opened(rows, 2, km, most, with_people=with_people, flat=True, weights=choice)
    known, parts = prepared(tables)
    costs = {node: loss_by_statements(tables, parts, node) for node in nodes(tables)}
    search = TablesSearch(parts, Lattice(max(costs)))
    if km > 1:
        search.measure = known
    try:
        search.run()
    except NoSolutionError:
        assert min(costs.values()) == IMPOSSIBLE or len(rows["people"]) < 2
    else:
        assert search.best is not None
        node, cost = search.best
        assert costs[node] == loss(parts, cost) == loss(parts, search.bound) == min(costs.values())
    tables.engine.close()


def test_ties_are_decided_by_the_order_of_labels() -> None:
    """Two have both days, one more has each by itself: of days as frequent the first goes, and NULL is the last."""
    days = [("p0", "b"), ("p0", "a"), ("p1", "a"), ("p2", "b"), ("p1", None), ("p3", None)]
    visits = [(number, person, day, 1.5) for number, (person, day) in enumerate(days)]
    rows: Rows = {
        "people": [(f"p{number}", "f") for number in range(4)],
        "visits": visits,
        "tests": [],
        "results": [],
        "calls": [],
    }
    tables = opened(rows, 2, 2)
    known, _ = prepared(tables)
    node = (0, 0, 0, 0, 0)
    # Kinds: a, b, NULL. p0 keeps b of (a, b), p1 keeps NULL of (a, NULL).
    expected = Counter([frozenset({1}), frozenset({2}), frozenset({1}), frozenset({2})])
    assert left_on_arrays(known, node) == left_by_statements(tables, node) == expected
    tables.engine.close()


def test_what_no_two_people_share_is_bounded_by_the_best_of_it() -> None:
    """Each of three has days of her own pairs: of any two that she has she keeps one, whatever is left out."""
    pairs = itertools.combinations("abc", 2)
    days = [(f"p{number}", day) for number, pair in enumerate(pairs) for day in pair]
    rows: Rows = {
        "people": [(f"p{number}", "f") for number in range(3)],
        "visits": [(number, person, day, 1.5) for number, (person, day) in enumerate(days)],
        "tests": [],
        "results": [],
        "calls": [],
    }
    tables = opened(rows, 2, 2)
    known, parts = prepared(tables)
    node = (0, 0, 0, 0, 0)
    # Of six visits three can be left at most: half of one column, weights having one leaf, in one of two tables.
    assert loss(parts, known.least(node, node)) == Fraction(1, 8)
    assert known.cost(node) >= known.least(node, node)
    tables.engine.close()
