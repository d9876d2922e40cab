"""What each algorithm's choice gives away on small random tables: a script, which prints a table in Markdown.

    PYTHONPATH=.:tests/oracles:tests/support python tests/support/measure_choice.py [TABLES] [ALGORITHM,...] [CHOICE]

The same seeds give the same tables of 8 to 20 rows for all algorithms, whatever CHOICE is (greedy by default).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, TextIO

from choice import Outcome, TooManyError, covers_by, outcome
from choice_replays import Asked, Replay, random_table, settings

from kanon_sql.policy.algorithms import ALGORITHMS, GREEDY

if TYPE_CHECKING:
    from collections.abc import Sequence

ASKED = [
    Asked(k, l=diversity, alpha=alpha, max_suppressed=suppressed)
    for diversity, alpha in ((2, None), (3, None), (1, 0.6))
    for k in (2, 3)
    for suppressed in (0, 3)
]


@dataclass
class Found:
    """What was found on many tables.

    Attributes:
        outcomes: of each table that has a release.
        refused: tables without a release, though each of them satisfies the models as a whole.
        too_many: tables with too many possible worlds.
        people: people of the tables that have a release.
        seconds: time that the oracle took.
        worst: seeds of tables with newly certain people.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    refused: int = 0
    too_many: int = 0
    people: int = 0
    seconds: float = 0.0
    worst: list[int] = field(default_factory=list)


def measured(algorithms: Sequence[str], asked: Asked, tables: int, choice: str) -> dict[str, Found]:
    """Return what algorithms give away on the same random tables: the first ones that satisfy the models as a whole."""
    every = {name: Found() for name in algorithms if asked in settings(name, [asked])}
    seed = -1
    for _ in range(tables if every else 0):
        table = None
        while table is None or not asked.met(table.whole):
            seed += 1
            random = Random(seed)  # noqa: S311 - a table, not a secret
            table = random_table(random, values=3 if asked.l == 3 else 2 + seed % 2, rows=(8, 20))
        with Replay(table, asked) as replay:
            for algorithm, found in every.items():
                begin = time.monotonic()
                try:
                    one = outcome(
                        table.people, table.truth, covers_by(table.trees), replay.releases_of(algorithm, choice)
                    )
                except TooManyError:
                    found.too_many += 1
                    continue
                finally:
                    found.seconds += time.monotonic() - begin
                if one is None:
                    found.refused += 1
                    continue
                found.outcomes.append(one)
                found.people += len(table.rows)
                if one.newly_certain:
                    found.worst.append(seed)
    return every


def line(algorithm: str, asked: Asked, found: Found) -> str:
    """Return a row of the table."""
    outcomes = found.outcomes
    model = f"l = {asked.l}" if asked.alpha is None else f"alpha {asked.alpha}"
    certain = sum(one.newly_certain_people for one in outcomes)
    tables = sum(bool(one.newly_certain) for one in outcomes)
    below = sum(one.people_below(asked.l) for one in outcomes) if asked.alpha is None else "-"

    def mean(numbers: list[Fraction]) -> float:
        return float(sum(numbers, Fraction(0)) / max(1, len(numbers)))

    before, after = mean([one.before.largest for one in outcomes]), mean([one.after.largest for one in outcomes])
    highest = float(max((one.before.largest for one in outcomes), default=Fraction(0)))
    over = sum(one.after.largest > one.before.largest for one in outcomes)
    cells = [
        algorithm, model, asked.k, asked.max_suppressed, len(outcomes), found.refused, found.too_many,
        f"{tables} ({100 * tables / max(1, len(outcomes)):.0f} %)", f"{certain} of {found.people}", below, over,
        f"{before:.3f}", f"{after:.3f}", f"{highest:.2f}",
        f"{float(max((one.after.largest for one in outcomes), default=Fraction(0))):.2f}",
        f"{1000 * found.seconds / max(1, len(outcomes)):.0f}",
    ]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


HEAD = [
    "algorithm", "model", "k", "may suppress", "tables", "refused", "too many worlds", "tables with newly certain",
    "newly certain people", "people newly below l values", "tables whose largest posterior grows",
    "mean largest posterior before", "after", "highest before", "after", "ms per table, without preparing it",
]  # fmt: skip


def _say(text: str, stream: TextIO = sys.stdout) -> None:
    stream.write(text + "\n")
    stream.flush()


def main(tables: int, algorithms: list[str], choice: str) -> None:
    _say("| " + " | ".join(HEAD) + " |")
    _say("|---" * len(HEAD) + "|")
    for asked in ASKED:
        for algorithm, found in measured(algorithms, asked, tables, choice).items():
            _say(line(algorithm, asked, found))
            _say(f"{algorithm} {asked}: seeds {found.worst[:12]}", sys.stderr)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 100,
        sys.argv[2].split(",") if len(sys.argv) > 2 else list(ALGORITHMS),
        sys.argv[3] if len(sys.argv) > 3 else GREEDY,
    )
