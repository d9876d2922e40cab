"""Homogeneity: whose sensitive value is the same in all rows that the person can be in, or in most of them?

Who is among k people who all have the same disease has that disease, whichever of them she is (Machanavajjhala 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kanon_sql.risks.attacks.guesses import Guesses


@dataclass(frozen=True)
class Homogeneity:
    """What is known of one sensitive column.

    Attributes:
        column: its name.
        confidence: the share of one value among the candidates that counts as known.
        rows: rows of the original.
        rows_certain: rows all whose candidates have one value.
        rows_certain_right: those for which it is the true one.
        rows_confident: rows for which one value has at least that share.
        rows_confident_right: those for which the guess is right.
        rows_open: rows for which that is possible, and not certain: some of their classes may still be ruled out.
    """

    column: str
    confidence: float
    rows: int
    rows_certain: int
    rows_certain_right: int
    rows_confident: int
    rows_confident_right: int
    rows_open: int = 0
    name: str = "homogeneity"

    @property
    def succeeded(self) -> bool:
        """Whether a value is certain, or as sure as the confidence that was asked about."""
        return self.rows_confident > 0

    @property
    def open(self) -> bool:
        """Whether it did not succeed for certain, and the labels leave open whether it did."""
        return not self.succeeded and self.rows_open > 0

    @property
    def stopped_by(self) -> str:
        """What stops it."""
        share = "" if self.confidence == 1 else f"; below a confidence of {self.confidence:g}: --alpha, or --t"
        return f"l-diversity of {self.column}: --l 2 or more{share}"

    def figures(self) -> dict[str, Any]:
        """Return what was found, as plain values."""
        return {
            "column": self.column,
            "confidence": self.confidence,
            "rows": self.rows,
            "rows_certain": self.rows_certain,
            "rows_certain_right": self.rows_certain_right,
            "rows_confident": self.rows_confident,
            "rows_confident_right": self.rows_confident_right,
            "rows_open": self.rows_open,
        }


def homogeneity(guesses: Guesses, rows: int, confidence: float) -> Homogeneity:
    """Return what is known of a column without knowing more than quasi-identifiers."""
    return Homogeneity(
        guesses.column,
        confidence,
        rows,
        guesses.certain,
        guesses.certain_right,
        guesses.confident,
        guesses.confident_right,
        guesses.confident_open,
    )
