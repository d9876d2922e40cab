"""Searches that end early or could never end: time limit, Ctrl-C, lattices that cannot be listed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import brute_force
import duckdb
import numpy as np
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.search.full_domain import evidence, roll_ups
from kanon_sql.search.prepare import problem_of
from kanon_sql.search.run import search

if TYPE_CHECKING:
    from pathlib import Path


def wide_table(columns: int, rows: int = 3000) -> pd.DataFrame:
    """Return a table of correlated numbers, so that no column can be given up without loss."""
    chosen = np.random.default_rng(1)
    common = chosen.normal(size=(rows, 3))
    return pd.DataFrame(
        {
            f"c{i}": np.clip(50 + common @ chosen.normal(size=3) * 12 + chosen.normal(size=rows) * 8, 0, 99).astype(int)
            for i in range(columns)
        }
    )


@pytest.fixture(scope="module")
def wide() -> tuple[pd.DataFrame, dict[str, str]]:
    """Twenty quasi-identifiers of five levels each: 95 million million nodes."""
    frame = wide_table(20)
    return frame, dict.fromkeys(frame.columns, "intervals:5,10,50")


@pytest.mark.thorough
@pytest.mark.parametrize("max_suppressed", [0, 0.05])
def test_twenty_columns_start_at_once_and_end_in_time(
    wide: tuple[pd.DataFrame, dict[str, str]], max_suppressed: float
) -> None:
    frame, hierarchies = wide
    seen: list[kanon.Progress] = []
    with kanon.anonymize(
        frame,
        quasi_identifiers=list(frame.columns),
        hierarchies=hierarchies,
        max_suppressed=max_suppressed,
        time_limit=15,
        progress=seen.append,
    ) as release:
        assert release.prepared.lattice.size == 5**20
        assert release.spent < 16  # a statement that runs when time is up is stopped
        assert not release.optimal
        assert release.result.stopped == "time limit"
        assert 0 <= release.bound < release.loss < 1
        assert release.gap == pytest.approx(1 - release.bound / release.loss)
        assert release.rows_suppressed <= max_suppressed * len(frame)
        out = release.to_pandas()
    assert out.groupby(list(out.columns), dropna=False).size().min() >= 5
    bounds = [progress.bound for progress in seen if progress.bound is not None]
    assert bounds == sorted(bounds)


@pytest.mark.thorough
@pytest.mark.usefixtures("hears_ctrl_c")
def test_thirty_columns() -> None:
    """Interrupted after a second of search: the release is the best so far."""
    frame = wide_table(30, 500)

    def interrupt_search(progress: kanon.Progress) -> None:
        if progress.doing == "Searching" and progress.nodes_tested is None:
            threading.Timer(1, os.kill, [os.getpid(), signal.SIGINT]).start()

    with kanon.anonymize(
        frame,
        quasi_identifiers=list(frame.columns),
        max_suppressed=0.5,
        time_limit=60,
        progress=interrupt_search,
    ) as release:
        assert release.result.stopped == "interrupt"
        assert release.prepared.frequency.keys > 1
        out = release.to_pandas()
    assert len(out.columns) == 30
    assert out.groupby(list(out.columns), dropna=False).size().min() >= 5


@pytest.mark.thorough
def test_what_is_found_early_is_never_better_than_what_is_proven(wide: tuple[pd.DataFrame, dict[str, str]]) -> None:
    frame, hierarchies = wide
    some = list(frame.columns[:7])
    chosen = {column: hierarchies[column] for column in some}
    asked = {"quasi_identifiers": some, "rest": "drop", "hierarchies": chosen, "max_suppressed": 0.1}
    with kanon.anonymize(frame, **asked) as proven:
        problem = problem_of(proven.prepared, proven.policy)
        early = search(problem, "optimal", deadline=time.monotonic() + 0.3)
        assert proven.optimal
        assert early.bound <= proven.result.cost <= early.cost


@pytest.mark.thorough
@given(cases(), st.integers(1, 3), st.booleans())
@examples(30)
def test_descent_probes_roll_ups_and_tests_together_change_the_way_and_not_the_answer(
    case: Case, price: int, large: bool
) -> None:
    """What large tables and lattices switch on, switched on for small ones, against the exhaustive search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kanon_sql.search.full_domain.optimal._PATIENCE", 3)
        if large:
            patch.setattr(evidence, "TUPLES_PER_STATEMENT", 0)
        else:  # nodes are tested together
            patch.setattr(evidence, "MOST_TOGETHER", 2)
        patch.setattr(evidence, "MIN_TUPLES_PER_CLASS_TO_ROLL_UP", 2)
        patch.setattr(roll_ups, "_SMALL", 0)
        patch.setattr(roll_ups, "_PRICE", price)
        connection, person = load(case)
        try:
            release = anonymize(case, connection, person)
        except kanon.NoSolutionError:
            return
        with release:
            allowed = release.policy.max_suppressed * len(case.rows)
            best = brute_force.best(case.rows, case.hierarchies, case.k, int(allowed + 1e-9), case.persons)
            assert best is not None
            assert release.optimal
            assert release.loss == pytest.approx(float(best.loss), abs=1e-12)


@pytest.mark.thorough
@given(cases())
@examples(60)
def test_nodes_that_are_tested_together_change_nothing_of_the_search(case: Case) -> None:
    connection, person = load(case)
    found = []
    for nodes in (2, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(evidence, "MOST_TOGETHER", nodes)
            try:
                release = anonymize(case, connection, person)
            except kanon.NoSolutionError:
                return
            with release:
                result = release.result
                found.append((result.recoding, result.suppressed, result.cost, result.bound, result.nodes_tested))
    assert found[0] == found[1]


PRESSED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from kanon_sql.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def press_ctrl_c(arguments: list[str], times: int, ready: str) -> tuple[int, str, str]:
    """Run the command line, press Ctrl-C when it says that it is ready, and again; return how it ended."""
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", PRESSED, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if ready in line:
            break
    time.sleep(1)
    for _ in range(times):
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.3)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, "".join(said) + err


@pytest.mark.thorough
def test_ctrl_c_in_the_search_publishes_the_best_so_far(
    tmp_path: Path, wide: tuple[pd.DataFrame, dict[str, str]]
) -> None:
    frame, _ = wide
    duckdb.from_df(frame).to_parquet(str(tmp_path / "wide.parquet"))
    out = tmp_path / "out.parquet"
    hierarchies = [f"--hierarchy={column}=intervals:5,10,50" for column in frame.columns]
    code, _, err = press_ctrl_c(
        [
            "anonymize",
            str(tmp_path / "wide.parquet"),
            "--qi",
            ",".join(frame.columns),
            *hierarchies,
            "--out",
            str(out),
            "-v",
        ],
        1,
        "test node",
    )
    assert code == 0, err
    assert "The search was stopped (interrupt); this is the best release so far." in err
    columns = ", ".join(frame.columns)
    classes = duckdb.read_parquet(str(out)).aggregate(f"{columns}, count(*) AS n", columns)
    assert classes.aggregate("min(n)").fetchall()[0][0] >= 5


@pytest.mark.thorough
def test_ctrl_c_before_the_search_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "slow.duckdb"
    with duckdb.connect(str(path)) as connection:
        # Every look at this view takes long: whoever interrupts does so before anything is found.
        connection.execute(
            "CREATE VIEW slow AS SELECT a.i % 7 AS c FROM range(300000) a(i), range(300000) b(j) "
            "WHERE (a.i * b.j) % 9999991 = 3"
        )
    code, out, err = press_ctrl_c(
        ["anonymize", str(path), "slow", "--qi", "c", "--into", "released", "-v"], 1, "Preparing hierarchies"
    )
    assert code == 130, err
    assert out == ""
    assert "Interrupted; nothing was written." in err
    assert "Traceback" not in err
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
