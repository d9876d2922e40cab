"""Adult through the command line: figures found by testing all 6,480 nodes (issue and DESIGN.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import ADULT_QI

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


@pytest.mark.parametrize(
    ("max_suppressed", "levels", "suppressed", "loss"),
    [
        ("0", [0, 4, 0, 2, 3, 2, 2, 1], 0, 0.660842),
        ("0.01", [0, 3, 0, 1, 3, 1, 1, 2], 273, 0.403491),
        ("0.05", [0, 3, 0, 1, 2, 1, 1, 1], 1248, 0.261757),
        ("1", [0, 3, 0, 0, 2, 1, 0, 1], 3049, 0.227062),
    ],
)
def test_proven_optimum_at_every_suppression_limit(
    adult: Path,
    in_tmp: Path,
    kanon: Callable[..., Ended],
    max_suppressed: str,
    levels: list[int],
    suppressed: int,
    loss: float,
) -> None:
    ended = kanon(
        "anonymize", adult / "adult.csv", "--qi", ",".join(ADULT_QI), "--sensitive", "salary-class",
        "--hierarchies", adult, "-k", 5, "--max-suppressed", max_suppressed, "--out", "release.parquet",
        "--format", "json",
    )  # fmt: skip
    assert ended.code == 0
    found = ended.json
    assert [found["levels"][column] for column in ADULT_QI] == levels
    assert found["rows_suppressed"] == suppressed
    assert found["rows_in"] == 30162
    assert found["rows_out"] == 30162 - suppressed
    assert round(found["measures"]["loss"], 6) == loss
    assert found["optimal"] is True
    assert found["lattice_size"] == 6480
    (model,) = found["models"]
    assert model == {"model": "k-anonymity", "required": 5, "measured": found["k"], "holds": True, "entity": None}
    # The file itself, read by a plain DuckDB.
    columns = ", ".join(f'"{column}"' for column in ADULT_QI)
    release = duckdb.read_parquet(str(in_tmp / "release.parquet"))
    classes = release.aggregate(f"{columns}, count(*) AS n", columns).aggregate("min(n), sum(n), count(*)")
    assert classes.fetchall() == [(found["k"], found["rows_out"], found["classes"])]
    assert found["k"] >= 5


def test_what_independent_implementations_agree_on(adult: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """PEERS.md: with four columns and k = 10, level 1 everywhere has the lowest DM where nothing is suppressed."""
    ended = kanon(
        "anonymize", adult / "adult.csv", "--qi", ",".join(ADULT_QI[:4]), "--rest", "drop", "--hierarchies", adult,
        "-k", 10, "--max-suppressed", 0, "--measure", "discernibility", "--out", "release.csv", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0
    assert set(ended.json["levels"].values()) == {1}
    assert ended.json["measures"]["discernibility"] == 55_170_356
    assert ended.json["optimal"] is True
    columns = ", ".join(f'"{column}"' for column in ADULT_QI[:4])
    squares = duckdb.read_csv(str(in_tmp / "release.csv")).aggregate("count(*) AS n", columns).aggregate("sum(n * n)")
    assert squares.fetchall() == [(55_170_356,)]
