"""The time limit: all of the work ends with it, with the best release so far or with a line that says what took long."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Iterator

BEYOND = 1.0
"""Seconds after the limit at which everything has ended."""
SLOW = 1.5
"""Seconds more, for machines that do something else meanwhile."""


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
    """Sixty quasi-identifiers, prepared once."""
    frame = wide_table(60, 1500)
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
    """Return how long an algorithm took to be stopped by its limit, and whether there is a verified release."""
    begun = time.monotonic()
    try:
        release = prepared.anonymize(algorithm=algorithm, time_limit=limit, max_suppressed=0.05)
        release.verify()
    except kanon.TimeLimitError as error:
        assert f"The time limit of {limit:g} seconds ended" in str(error)  # noqa: PT017 - both ends are right
        return time.monotonic() - begun, False
    return time.monotonic() - begun, True


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "spolg", "local", "mondrian", "mondrian-plus"])
def test_a_wide_table_ends_in_time(wide: kanon.PreparedTable, algorithm: str) -> None:
    """Fails on 0.1.0 for mondrian and mondrian-plus (12 s of 1), and for local: what builds statements went on."""
    took, _ = seconds_of(wide, algorithm, 1)
    assert took < 1 + BEYOND + SLOW


@pytest.mark.parametrize("algorithm", ["optimal", "incognito", "samarati", "datafly", "local", "mondrian-plus"])
def test_a_long_table_ends_in_time(long: kanon.PreparedTable, algorithm: str) -> None:
    """Statements that take long are stopped, in the search and after it."""
    took, _ = seconds_of(long, algorithm, 1)
    assert took < 1 + BEYOND + SLOW
