"""Background knowledge: whose sensitive value is certain for one who can rule some values out?

The worst case: the attacker rules out values that are not the true one, and just those among the candidates. With at
most m + 1 different values among them, m are enough. Where the whole table has no more than m + 1 values, ruling out m
of them says everything without a release; that is no success of the attack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kanon_sql.risks.attacks.guesses import Guesses


@dataclass(frozen=True)
class Background:
    """What is known of one sensitive column by one who can rule out values.

    Attributes:
        column: its name.
        values: its different values in the original.
        rows: rows of the original.
        rows_certain: for each number of values that are ruled out, rows whose value is certain then.
        rows_open: ... rows for which that is possible, and not certain: some of their classes may still be ruled out.
    """

    column: str
    values: int
    rows: int
    rows_certain: dict[int, int]
    rows_open: dict[int, int]
    name: str = "background knowledge"

    @property
    def succeeded(self) -> bool:
        """Whether some row is certain after ruling out values that do not leave one for everybody."""
        return self._says_something(self.rows_certain)

    @property
    def open(self) -> bool:
        """Whether it did not succeed for certain, and the labels leave open whether it did."""
        return not self.succeeded and self._says_something(self.rows_open)

    @property
    def meaningless(self) -> bool:
        """Whether each number of values that is ruled out leaves one for everybody, with or without a release."""
        return self.values <= min(self.rows_certain) + 1

    @property
    def stopped_by(self) -> str:
        """What stops it."""
        most = max(self.rows_certain)
        diverse = f"l-diversity of {self.column}: --l {most + 2} or more"
        return diverse if self.values >= most + 2 else f"{diverse}, which its {self.values:,} different values rule out"

    def figures(self) -> dict[str, Any]:
        """Return what was found, as plain values."""
        return {
            "column": self.column,
            "values": self.values,
            "rows": self.rows,
            "rows_certain": {str(ruled_out): rows for ruled_out, rows in self.rows_certain.items()},
            "rows_open": {str(ruled_out): rows for ruled_out, rows in self.rows_open.items()},
        }

    def _says_something(self, found: dict[int, int]) -> bool:
        return any(rows for ruled_out, rows in found.items() if ruled_out + 1 < self.values)


def background(guesses: Guesses, rows: int, ruled_out: int) -> Background:
    """Return what is known of a column after ruling out 1, 2, ... values."""
    numbers = range(1, ruled_out + 1)
    certain, possible = (
        {m: sum(n for different, n in by.items() if different <= m + 1) for m in numbers}
        for by in (guesses.by_different, guesses.by_fewest)
    )
    still_open = {m: possible[m] - certain[m] for m in numbers}
    return Background(guesses.column, guesses.values, rows, certain, still_open)
