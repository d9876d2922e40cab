"""Lattices that cannot be listed: what annealing finds, how it ends, and that it changes no proof."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import brute_force
import numpy as np
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.cli.main import run
from kanon_sql.policy.policy import rows_allowed
from kanon_sql.search.full_domain.annealing import anneal
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.full_domain.optimal import optimal, proofs_of_sets
from kanon_sql.search.prepare import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMNS = 12
MODELS = [kanon.KAnonymity(5)]


def made(rows: int = 400) -> pd.DataFrame:
    """Return correlated columns of whole numbers: with four levels each, 16,777,216 nodes."""
    chosen = np.random.default_rng(5)
    common = chosen.normal(size=(rows, 2))
    values = {f"c{i}": 16 + common @ chosen.normal(size=2) * 4 + chosen.normal(size=rows) * 2 for i in range(COLUMNS)}
    return pd.DataFrame({name: np.clip(column, 0, 31).astype(int) for name, column in values.items()})


@pytest.fixture(scope="module")
def prepared() -> Iterator[kanon.PreparedTable]:
    frame = made()
    rules = dict.fromkeys(frame.columns, "intervals:4,16")
    with kanon.prepare(frame, quasi_identifiers=list(frame.columns), hierarchies=rules, count="rows") as table:
        yield table


def written(frame: pd.DataFrame, out: Path) -> list[str]:
    """Write a made table beside the file of its release, and return the command that makes that."""
    frame.to_csv(out.with_name("made.csv"), index=False)
    chosen = [option for name in frame.columns for option in ("--qi", name, "--hierarchy", f"{name}=intervals:4,16")]
    return ["anonymize", str(out.with_name("made.csv")), *chosen, "--out", str(out)]


def annealed(release: kanon.Release, rounds: int | None = None) -> Evidence:
    """Return the evidence of so many rounds of annealing."""
    evidence = Evidence(problem_of(release.prepared, release.policy))
    evidence.require_top()
    evidence.expect_many()
    for _ in islice(anneal(evidence), rounds):
        pass
    return evidence


@pytest.mark.thorough
@given(cases(), st.sampled_from(["loss", "precision", "discernibility"]))
@examples(40)
def test_what_is_proven_after_annealing_is_what_looking_at_all_nodes_finds(case: Case, measure: str) -> None:
    connection, person = load(case)
    allowed = rows_allowed(case.max_suppressed, len(case.rows))
    found = []
    for listable in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kanon_sql.search.full_domain.optimal.LISTABLE", listable)
            try:
                release = anonymize(case, connection, person, measure=measure)
            except kanon.NoSolutionError:
                return
            with release:
                assert release.optimal
                found.append(release.result.cost)
                if measure == "loss":
                    best = brute_force.best(case.rows, case.hierarchies, case.k, allowed, case.persons)
                    assert best is not None
                    assert release.loss == pytest.approx(float(best.loss), abs=1e-12)
    assert found[0] == found[1]


@given(cases(), st.integers(1, 8), st.integers(0, 30))
@examples(40, quick=3)
def test_optima_of_sets_of_columns_bound_the_whole(case: Case, listable: int, tests: int) -> None:
    """At any time of the search; and in the end they are what looking at all nodes of each set finds."""
    connection, person = load(case)
    allowed = rows_allowed(case.max_suppressed, len(case.rows))
    try:
        release = anonymize(case, connection, person)
    except kanon.NoSolutionError:
        return
    with release, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kanon_sql.search.full_domain.optimal.LISTABLE", listable)
        evidence = Evidence(problem_of(release.prepared, release.policy))
        evidence.require_top()
        evidence.proven = evidence.problem.objective.least
        proofs = proofs_of_sets(evidence)
        for most in (tests, None):
            for proof in proofs:
                list(islice(proof, most))
            assert evidence.bound is not None
            assert release.result.cost is not None
            assert evidence.bound <= release.result.cost
        full, least = evidence.problem.costs.full, Fraction(0)
        for own in evidence.sets:
            columns = [i for i, cost in enumerate(own.problem.costs.weights) if cost or not full[i]]
            rows = [tuple(row[i] for i in columns) for row in case.rows]
            best = brute_force.best(rows, [case.hierarchies[i] for i in columns], case.k, allowed, case.persons)
            assert best is not None
            least += best.loss * len(columns)
        assert evidence.problem.costs.mean(evidence.bound) * len(full) == least


@pytest.mark.thorough
@pytest.mark.parametrize("max_suppressed", [0.05, 0, 1])
def test_more_time_takes_the_same_way_further(prepared: kanon.PreparedTable, max_suppressed: float) -> None:
    """So that no release is worse than one that was found with less time."""

    class EndedError(Exception):
        """The search is stopped."""

    found = []
    with prepared.anonymize(models=MODELS, max_suppressed=max_suppressed, algorithm="datafly") as release:
        for intervals in (20, 60, 200):
            left = iter(range(intervals))

            def stop(*_: object, left: Iterator[int] = left) -> None:
                if next(left, None) is None:
                    raise EndedError

            evidence = Evidence(problem_of(release.prepared, release.policy))
            evidence.require_top()
            evidence.expect_many()
            with pytest.raises(EndedError):
                optimal(evidence, stop)
            found.append(evidence)
    for less, more in pairwise(found):
        assert list(more.tested)[: len(less.tested)] == list(less.tested)
        assert more.best_cost <= less.best_cost


@pytest.mark.thorough
@pytest.mark.parametrize("max_suppressed", [0.05, 0, 1])
def test_it_ends_by_itself_and_is_better_than_a_step_down(prepared: kanon.PreparedTable, max_suppressed: float) -> None:
    """What it ends with has no neighbour that costs less: the neighbours are tested here, one by one."""
    with prepared.anonymize(models=MODELS, max_suppressed=max_suppressed, algorithm="datafly") as release:
        evidence = annealed(release)
        assert evidence.best is not None
        node, suppressed, cost = evidence.best
        assert suppressed <= rows_allowed(max_suppressed, 400)
        heights = evidence.problem.lattice.heights
        for column, level in enumerate(node):
            for other in {max(0, level - 1), min(heights[column], level + 1)} - {level}:
                assert evidence.cost((*node[:column], other, *node[column + 1 :])) >= cost


@pytest.mark.thorough
def test_the_cost_is_that_of_the_release_that_is_published(
    prepared: kanon.PreparedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Estimates guide the search; what is published is measured."""
    monkeypatch.setattr("kanon_sql.search.problem.UNLISTED_SECONDS", 1)
    with prepared.anonymize(models=MODELS, max_suppressed=1) as release:
        out = release.to_pandas()
        frame = made().astype(str)
        classes = out.groupby(list(out.columns), dropna=False)[out.columns[0]].transform("size")
        assert classes.min() >= 5
        lost = 0.0
        leaves = {column: frame[column].nunique() for column in frame.columns}
        for column, level in release.levels.items():
            numbers = frame[column].astype(int)
            groups = [numbers, numbers // 4, numbers // 16, numbers * 0][level]
            covered = numbers.groupby(groups).nunique()
            mean = ((covered[groups].to_numpy() - 1) / (leaves[column] - 1)).reshape(-1)
            published = frame.index.isin(kept_rows(frame, release.levels))
            lost += float(np.where(published, mean, 1.0).mean())
        assert release.loss == pytest.approx(lost / COLUMNS, abs=1e-9)


def kept_rows(frame: pd.DataFrame, levels: dict[str, int]) -> list[int]:
    """Return the rows whose class at these levels has at least five."""
    width = [1, 4, 16, 1000]
    keys = pd.DataFrame({column: frame[column].astype(int) // width[level] for column, level in levels.items()})
    sizes = keys.groupby(list(keys.columns))[keys.columns[0]].transform("size")
    return list(frame.index[sizes >= 5])


@pytest.mark.thorough
def test_without_a_time_limit_such_a_search_ends_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fails on 0.1.0, which searched until Ctrl-C was pressed."""
    monkeypatch.setattr("kanon_sql.search.problem.UNLISTED_SECONDS", 0.5)
    frame = made()
    begin = time.monotonic()
    assert run([*written(frame, tmp_path / "out.csv"), "--max-suppressed", "0.05"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "The lattice has 16,777,216 nodes: without a --set search.time_limit=SECONDS, such a search ends after" in said
    )
    assert time.monotonic() - begin < 30
    out = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert out.groupby(list(out.columns), dropna=False).size().min() >= 5
