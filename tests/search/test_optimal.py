"""The search finds the proven optimum: compared with an exhaustive one that shares nothing with it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import brute_force
import pytest
from effort import examples
from hypothesis import example, given
from rows import released_columns, released_rows
from strategies import HOSTILE_NAMES, TABLE, Case, anonymize, cases, database_with, load

import kanon_sql as kanon
from kanon_sql.policy.policy import rows_allowed


@given(cases())
@examples(75, quick=5)
@example(Case(["n"], [("a",)], [{"a": ["*"]}], 1, 0, None))
@example(Case(["n"], [("a",)], [{"a": ["*"]}], 2, 1, None))
@example(Case(["n", "value"], [], [{"a": ["*"]}, {"b": ["x", "*"]}], 5, 0, None))
@example(Case(["select"], [(None,)] * 4, [{"a": ["*"]}], 3, 0, [1, 2, 3, None]))
@example(
    Case(
        ["n"],
        [("a",), ("a",), ("b",)],
        [{"a": ["x", "*"], "b": ["x", "*"], "c": ["y", "*"], None: ["x", "*"]}],
        3,
        0,
        None,
    )
)
@example(Case(["a"], [("a",), ("b",)] * 3, [{"a": ["*"], "b": ["*"]}], 2, 0, [1, 1, 1, 2, 2, 3]))
def test_same_optimum_and_same_release_as_the_exhaustive_search(case: Case) -> None:
    connection, person = load(case)
    allowed = rows_allowed(case.max_suppressed, len(case.rows))
    top = brute_force.evaluate(
        case.rows, case.hierarchies, brute_force.all_nodes(case.hierarchies)[-1], case.k, case.persons
    )
    if case.rows and top.suppressed:
        # Even one class for all is too small: then nothing may be published, however much may be suppressed.
        with pytest.raises(kanon.NoSolutionError):
            anonymize(case, connection, person)
        return
    best = brute_force.best(case.rows, case.hierarchies, case.k, allowed, case.persons)
    assert best is not None
    with anonymize(case, connection, person) as release:
        node = tuple(release.levels[column] for column in case.columns)
        ours = brute_force.evaluate(case.rows, case.hierarchies, node, case.k, case.persons)
        assert release.optimal
        assert ours.loss == best.loss
        assert ours.suppressed <= allowed
        assert release.loss == pytest.approx(float(best.loss), abs=1e-12)
        assert release.rows_suppressed == ours.suppressed
        assert release.classes == len(ours.published)
        # ... and what comes out is what the oracle publishes at that node, row for row.
        assert released_columns(release) == case.columns
        assert Counter(released_rows(release)) == ours.published


@pytest.mark.thorough
@given(cases(max_rows=12))
@examples(12)
def test_without_limit_on_time_or_with_one_that_is_not_reached_the_answer_is_the_same(case: Case) -> None:
    connection, person = load(case)
    try:
        with anonymize(case, connection, person) as free:
            loss = free.loss
    except kanon.NoSolutionError:
        return
    with anonymize(case, connection, person, time_limit=60) as limited:
        assert limited.optimal
        assert limited.loss == loss


@pytest.mark.thorough
def test_every_hostile_name_at_once() -> None:
    columns = list(dict.fromkeys(HOSTILE_NAMES))
    connection = database_with({name: ("BIGINT", [0, 1] * 10) for name in columns})
    with kanon.anonymize(connection, TABLE, quasi_identifiers=columns, models=[kanon.KAnonymity(10)]) as release:
        assert release.levels == dict.fromkeys(columns, 0)
        assert released_columns(release) == columns
    assert connection.execute('SELECT count(*) FROM "the ""table"').fetchone() == (20,)


@pytest.mark.parametrize(
    ("fraction", "rows", "allowed"),
    [(0.29, 100, 29), (0.07, 100, 7), (0.01, 30162, 301), (1, 7, 6), (0, 7, 0), (0.1, 0, 0), (1e-5, 10**6, 10)],
)
def test_rows_allowed_are_counted_as_a_person_would(fraction: float, rows: int, allowed: int) -> None:
    """0.29 * 100 is 28.999999999999996 in floating point; a person who says 29 % means 29 rows."""
    assert rows_allowed(fraction, rows) == allowed
    if fraction < 1:  # all rows are never allowed: an empty table is no release
        assert Fraction(allowed) <= Fraction(str(fraction)) * rows < allowed + 1
