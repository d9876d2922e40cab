"""``local`` where it cannot go through all nodes: what it publishes, and that it is never worse than simpler ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from rows import released_rows
from strategies import Case, anonymize, cases, load
from test_annealing import MODELS, kept_rows, made, written

import kanon_sql as kanon
from kanon_sql.cli.main import run
from kanon_sql.engine.progress import DeadlineReachedError
from kanon_sql.search.local import priced
from kanon_sql.search.local.remaining import Remaining
from kanon_sql.search.prepare import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kanon_sql.classes.lattice import Node


@pytest.fixture(scope="module")
def prepared() -> Iterator[kanon.PreparedTable]:
    frame = made(2000)
    rules = dict.fromkeys(frame.columns, "intervals:4,16")
    with kanon.prepare(frame, quasi_identifiers=list(frame.columns), hierarchies=rules, count="rows") as table:
        yield table


def assert_replayed(release: kanon.Release) -> None:
    """Go through the steps again: at each, those rows are published whose class among the rows left has five."""
    left = made(2000)
    for step in release.summary()["steps"]:
        published = kept_rows(left, step["levels"])
        assert step["rows"] == len(published)
        left = left.drop(published)
    assert len(left) == release.rows_suppressed


@pytest.mark.thorough
@pytest.mark.parametrize("max_suppressed", [0.05, 0, 1])
def test_it_loses_less_than_the_others(
    prepared: kanon.PreparedTable, max_suppressed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 0.1.0 it lost nearly everything, since it went through the 10,000 nodes next to the bottom."""
    monkeypatch.setattr("kanon_sql.search.problem.UNLISTED_SECONDS", 1)
    asked = {"models": MODELS, "max_suppressed": max_suppressed}
    with (
        prepared.anonymize(algorithm="local", **asked) as local,
        prepared.anonymize(algorithm="spolg", **asked) as spolg,
        prepared.anonymize(algorithm="optimal", **asked) as optimal,
    ):
        assert local.loss < spolg.loss
        assert local.loss < optimal.loss
        assert local.rows_suppressed <= max_suppressed * 2000
        assert local.summary()["instead"] is None
        out = local.to_pandas()
        assert len(out) == 2000 - local.rows_suppressed
        assert out.groupby(list(out.columns), dropna=False).size().min() >= 5
        assert len(local.summary()["steps"]) <= 20
        assert_replayed(local)


@pytest.mark.thorough
def test_what_a_node_would_save_is_what_its_rows_would_lose_at_later_steps(prepared: kanon.PreparedTable) -> None:
    """Counted by hand: rows whose price is higher than the node's, in classes of five."""
    with prepared.anonymize(models=MODELS, max_suppressed=1, algorithm="spolg") as release:
        problem = problem_of(release.prepared, release.policy)
    remaining = Remaining(problem)
    frame, top = made(2000), problem.lattice.top
    low, high = (tuple(max(0, level - less) for level in top) for less in (2, 1))
    remaining.publish(high)
    remaining.set_prices([40, 100])
    first = kept_rows(frame, dict(zip(frame.columns, high, strict=True)))
    for price, price_of_row in ((50, {100}), (30, {40, 100})):
        left = frame if 40 in price_of_row else frame.drop(first)
        saved = kept_rows(left, dict(zip(frame.columns, low, strict=True)))
        worth = sum(40 if row in set(first) else 100 for row in saved)
        assert remaining.worth([low], [price]) == [(len(saved), worth)]
        assert remaining.worth([problem.lattice.bottom, low], [101, price]) == [(0, 0), (len(saved), worth)]
    remaining.close()


@pytest.mark.thorough
def test_the_same_search_takes_the_same_steps(prepared: kanon.PreparedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priced, "_TRIES", 12)
    asked = {"models": MODELS, "max_suppressed": 1, "algorithm": "local"}
    with prepared.anonymize(**asked) as one, prepared.anonymize(**asked) as other:
        assert one.summary()["steps"] == other.summary()["steps"]


@pytest.mark.thorough
@given(cases())
@examples(40)
def test_tables_of_every_kind(case: Case) -> None:
    """The release holds, and loses no more than SPOLG's and the best node alone."""
    connection, person = load(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kanon_sql.search.local.remaining._NODES", 0)
        try:
            local = anonymize(case, connection, person, algorithm="local")
        except kanon.NoSolutionError:
            return
        with local, anonymize(case, connection, person, algorithm="spolg") as spolg:
            assert local.loss <= spolg.loss + 1e-12
            assert local.rows_suppressed <= case.max_suppressed * len(case.rows) + 1e-9
            assert all(model.holds for model in local.verify().models)
            out = released_rows(local)
            assert len(out) == len(case.rows) - local.rows_suppressed


@pytest.mark.thorough
def test_what_spolg_found_is_taken_and_named_where_it_loses_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(priced, "_TRIES", 0)
    frame, out = made(), tmp_path / "out.csv"
    asked = ["--algorithm", "local", "--max-suppressed", "1", "-k", "5", "--count", "rows"]
    arguments = [*written(frame, out), *asked]
    assert run(arguments) == 0
    assert "what spolg found, which loses less" in " ".join(capsys.readouterr().out.split())
    assert run([*arguments, "--format", "json", "--replace"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["instead"] == "spolg"
    assert said["measures"]["loss"] < 1
    published = pd.read_csv(out, dtype=str)
    assert len(published) == len(frame) - said["rows_suppressed"]
    assert published.groupby(list(published.columns), dropna=False).size().min() >= 5


@pytest.mark.thorough
def test_a_step_whose_statement_ended_when_the_search_was_stopped_is_taken_back(
    prepared: kanon.PreparedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, calls = Remaining.publish, iter(range(10**6))

    def stopped_once(self: Remaining, node: Node) -> int:
        tuples = publish(self, node)
        if tuples and next(calls) == 3:
            self.steps.pop()
            self.tuples += tuples
            raise DeadlineReachedError
        return tuples

    monkeypatch.setattr(Remaining, "publish", stopped_once)
    with prepared.anonymize(models=MODELS, max_suppressed=1, algorithm="local") as release:
        assert release.result.stopped == "time limit"
        out = release.to_pandas()
        assert out.groupby(list(out.columns), dropna=False).size().min() >= 5
        assert_replayed(release)


@pytest.mark.thorough
def test_stopped_early_it_publishes_what_it_has(prepared: kanon.PreparedTable) -> None:
    losses = []
    for looks in (1, 12, 25):
        left = iter(range(looks))

        def stop(progress: kanon.Progress, left: Iterator[int] = left) -> None:
            if progress.nodes_tested is not None and next(left, None) is None:
                raise DeadlineReachedError

        asked = {"models": MODELS, "max_suppressed": 1, "algorithm": "local"}
        with prepared.anonymize(progress=stop, **asked) as release:
            assert release.result.stopped == "time limit"
            losses.append(release.loss)
            assert_replayed(release)
    assert losses[0] >= losses[1] >= losses[2]
    assert losses[2] < losses[0]


def test_a_path_that_takes_too_long_is_taken_in_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step takes a second: of 99 in 10 seconds few are taken, the last among them, and none twice."""
    now = 0.0
    monkeypatch.setattr(priced.time, "monotonic", lambda: now)
    path = [(level,) for level in range(100)]
    taken = []
    for step in priced.steps_in_time(path, 10.0):
        taken.append(step)
        now += 1
    assert len(taken) <= 8
    assert taken[-1] == path[-1]
    assert taken == sorted(set(taken))
    assert list(priced.steps_in_time(path, None)) == list(priced.steps_in_time(path, now + 10_000)) == path
