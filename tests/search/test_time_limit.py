"""The time limit: all of the work ends with it, with a release or with a line that says what took long."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import kanon_sql as kanon
from kanon_sql.cli.main import run
from kanon_sql.engine.duckdb.engine import DuckDBEngine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlglot import exp

BEYOND = 1.0
"""Seconds after the limit at which everything has ended."""
SLOW = 1.5
"""Seconds more, for slow machines."""


def wide_table(columns: int, rows: int) -> pd.DataFrame:
    """Return a table of correlated numbers, nearly all rows different."""
    chosen = np.random.default_rng(1)
    common = chosen.normal(size=(rows, 3))
    return pd.DataFrame(
        {
            f"c{i}": np.clip(50 + common @ chosen.normal(size=3) * 12 + chosen.normal(size=rows) * 8, 0, 99).astype(int)
            for i in range(columns)
        }
    )


@pytest.fixture(scope="module")
def wide() -> Iterator[kanon.PreparedTable]:
    """Forty quasi-identifiers, prepared once."""
    frame = wide_table(40, 1500)
    with kanon.prepare(frame, quasi_identifiers=list(frame.columns)) as prepared:
        yield prepared


@pytest.fixture(scope="module")
def long() -> Iterator[kanon.PreparedTable]:
    """Eight quasi-identifiers and 60,000 different tuples, in a lattice that can be listed."""
    frame = wide_table(8, 60_000)
    hierarchies = dict.fromkeys(frame.columns, "intervals:5,20")
    with kanon.prepare(frame, quasi_identifiers=list(frame.columns), hierarchies=hierarchies) as prepared:
        yield prepared


def seconds_of(prepared: kanon.PreparedTable, algorithm: str, limit: float) -> tuple[float, bool]:
    """Return how long an algorithm took with a limit, and whether there is a verified release.

    On a machine that does other work meanwhile, what counts is the time that it gave to us.
    """
    begun, begun_process = time.monotonic(), time.process_time()

    def took() -> float:
        return min(time.monotonic() - begun, time.process_time() - begun_process)

    try:
        release = prepared.anonymize(algorithm=algorithm, time_limit=limit, max_suppressed=0.05)
        release.verify()
    except kanon.TimeLimitError as error:
        assert f"The time limit of {limit:g} seconds ended" in str(error)  # noqa: PT017 - both ends are right
        return took(), False
    return took(), True


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "spolg", "local", "mondrian", "mondrian-plus"])
def test_a_wide_table_ends_in_time(wide: kanon.PreparedTable, algorithm: str) -> None:
    """Fails on 0.1.0 for mondrian and mondrian-plus (6 s of 1): statements between two looks at the clock went on."""
    took, _ = seconds_of(wide, algorithm, 1)
    assert took < 1 + BEYOND + SLOW


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "incognito", "samarati", "datafly", "local", "mondrian-plus"])
def test_a_long_table_ends_in_time(long: kanon.PreparedTable, algorithm: str) -> None:
    """Statements that take long are stopped, in the search and after it."""
    took, _ = seconds_of(long, algorithm, 1)
    assert took < 1 + BEYOND + SLOW


@pytest.mark.thorough
def test_a_release_that_was_found_is_published_in_time(wide: kanon.PreparedTable) -> None:
    """The search leaves time for what comes after it: with some seconds there is a release, not the best one."""
    took, published = seconds_of(wide, "optimal", 20)
    assert published
    assert took < 20


@pytest.mark.thorough
def test_what_is_not_done_in_time_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails on 0.1.0: the limit was that of the search alone, and reading and publishing took what they took."""
    source, target = tmp_path / "wide.duckdb", tmp_path / "out.parquet"
    frame = wide_table(120, 500)
    with duckdb.connect(str(source)) as connection:
        connection.register("frame", frame).execute("CREATE TABLE wide AS FROM frame")
    before = sorted(tmp_path.iterdir())
    begun, begun_process = time.monotonic(), time.process_time()
    asked = [str(source), "wide", "--qi", ",".join(frame.columns), "--time-limit", "1", "-q"]
    for destination in (["--into", "released"], ["--out", str(target)]):
        assert run(["anonymize", *asked, *destination]) == 4
        said = capsys.readouterr()
        assert said.out == ""
        assert "The time limit of 1 seconds ended during this step: " in said.err
        assert "nothing was written" in said.err
    assert min(time.monotonic() - begun, time.process_time() - begun_process) < 2 * (1 + BEYOND + SLOW)
    assert sorted(tmp_path.iterdir()) == before
    with duckdb.connect(str(source), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (1,)


@pytest.mark.thorough
@pytest.mark.parametrize("step", ["make the release", "write the release", "verify the classes of the release"])
def test_a_release_that_is_stopped_while_it_is_published_leaves_nothing(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fails on 0.1.0: no statement but those of the search had a deadline."""
    source, target = tmp_path / "small.duckdb", tmp_path / "out.csv"
    with duckdb.connect(str(source)) as connection:
        connection.register("frame", wide_table(2, 200)).execute("CREATE TABLE small AS FROM frame")
    rows = DuckDBEngine.rows

    def slow(engine: DuckDBEngine, statement: exp.Expr, title: str = "", *others: Any) -> list[tuple[Any, ...]]:
        found = rows(engine, statement, title, *others)
        if title == step:
            time.sleep(max(0.0, begun + 3.1 - time.monotonic()))
        return found

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(DuckDBEngine, "rows", slow)
    destination = ["--into", "released"] if step == "make the release" else ["--out", str(target)]
    begun = time.monotonic()
    code = run(["anonymize", str(source), "small", "--qi", "c0,c1", "--time-limit", "2", "-q", *destination])
    said = capsys.readouterr()
    assert code == 4, said.err
    assert "The time limit of 2 seconds ended" in said.err
    assert sorted(tmp_path.iterdir()) == before
    with duckdb.connect(str(source), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (1,)


@pytest.mark.thorough
def test_a_limit_counts_preparing_searching_and_publishing(tmp_path: Path) -> None:
    """What ``to_file`` may take is what ``anonymize`` left of the limit."""
    frame = wide_table(2, 200)
    with kanon.anonymize(frame, quasi_identifiers=["c0", "c1"], time_limit=60) as release:
        assert 0 < release.spent < 60
        release.spent = 60 * 1.25 + 0.5  # a quarter of the limit more for what comes after the search
        with pytest.raises(kanon.TimeLimitError, match="The time limit of 60 seconds ended"):
            release.to_file(tmp_path / "out.csv")
        assert list(tmp_path.iterdir()) == []
        release.spent = 1
        assert release.to_file(tmp_path / "out.csv").verification.classes > 0
