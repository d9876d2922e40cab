"""Adult through the command line: figures found by testing all 6,480 nodes (issue and DESIGN.md)."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import ADULT_QI

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


@pytest.mark.quick(2)
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
    said = {"model": "k-anonymity", "letter": "k", "required": 5, "holds": True, "entity": None, "sensitive": None}
    assert model == {**said, "measured": found["k"]}
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


def certainty_penalty_and_loss(rows: list[tuple[str, ...]], adult: Path) -> tuple[float, float]:
    """Return gcp and LM of published rows from their labels alone, as PEERS.md measures others: numbers by width."""
    width = 90 - 17
    penalty = loss = 0.0
    for place, column in enumerate(ADULT_QI):
        with (adult / f"adult_hierarchy_{column}.csv").open(newline="", encoding="utf-8") as file:
            tree = list(csv.reader(file, delimiter=";"))
        leaves = {line[0] for line in tree}
        for label, n in Counter(str(row[place]) for row in rows).items():
            if column == "age":
                low, _, high = label.strip("[]").partition("-")
                share = (int(high or low) - int(low)) / width
                penalty, loss = penalty + n * share, loss + n * share
                continue
            if label.startswith("{"):
                under = set(label[1:-1].split(", "))
                assert under <= leaves
            else:
                under = {line[0] for line in tree if label in line}
            penalty += n * (len(under) / len(leaves) if len(under) > 1 else 0)
            loss += n * (len(under) - 1) / (len(leaves) - 1)
    cells = len(rows) * len(ADULT_QI)
    return penalty / cells, loss / cells


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "k", "penalty", "loss"),
    [
        # The best of PEERS.md, by mosaicrown in 27 and 13 seconds.
        (("mondrian", "--labels", "set"), 5, 0.039, 1),
        (("mondrian", "--labels", "set"), 10, 0.064, 1),
        (("mondrian", "--cut", "node"), 5, 1, 0.061),
        # What PEERS.md asks for.
        (("mondrian-plus",), 5, 1, 0.061),
        (("mondrian-plus",), 10, 1, 0.087),
        (("mondrian-plus", "--labels", "set", "--measure", "gcp"), 5, 0.035, 0.027),
        (("mondrian-plus", "--labels", "set", "--measure", "gcp"), 10, 0.058, 0.045),
        (("mondrian-plus", "--labels", "set", "--measure", "gcp", "--pairs", "1"), 5, 0.029, 0.023),
    ],
)
def test_mondrian_loses_no_more_than_was_asked_for(
    adult: Path, in_tmp: Path, kanon: Callable[..., Ended], asked: tuple[str, ...], k: int, penalty: float, loss: float
) -> None:
    found = kanon(
        "anonymize", adult / "adult.csv", "--qi", ",".join(ADULT_QI), "--sensitive", "salary-class",
        "--hierarchies", adult, "-k", k, "--algorithm", *asked, "--out", "release.parquet", "--format", "json",
    ).json  # fmt: skip
    release = duckdb.read_parquet(str(in_tmp / "release.parquet"))
    rows = release.project(", ".join(f'"{column}"' for column in ADULT_QI)).fetchall()
    assert len(rows) == found["rows_out"] == 30162
    assert min(Counter(rows).values()) >= k
    measured = certainty_penalty_and_loss(rows, adult)
    assert found["measures"]["gcp"] == pytest.approx(measured[0], abs=1e-6)
    assert measured[0] < penalty
    assert measured[1] < loss
