"""k-map: every published class is at least k rows in a population table (Sweeney 2001).

Weaker than k-anonymity: whoever attacks does not know who of the population is in the table. Monotone, with
suppression: a class of the population only grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from kanon_sql.models.options import ModelOption
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.sensitive import checked_count
from kanon_sql.sql import build as sql


@dataclass(frozen=True)
class KMap(PopulationModel):
    """Every class has at least ``k`` rows in the population.

    Attributes:
        k: the fewest rows of the population.
    """

    k: int
    name: ClassVar[str] = "k-map"
    letter: ClassVar[str] = "k"
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_count(self.k, "k of k-map")

    @property
    def required(self) -> int:
        """The fewest rows of the population."""
        return self.k

    def compared(self, rows: exp.Expr, in_population: exp.Expr) -> exp.Expr:  # noqa: ARG002 - the rows do not matter
        """Return the rows of the population."""
        return in_population

    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return ``measure >= k``."""
        return exp.GTE(this=measure, expression=sql.literal(self.k))

    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the fewest rows of a class in the population."""
        return exp.Min(this=measure)


OPTIONS = (
    ModelOption("k_map", KMap, ("k",), "K", "Each class has K rows in the table that --population names.", ("k",)),
)
