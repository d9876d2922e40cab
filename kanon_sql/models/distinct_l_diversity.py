"""Distinct l-diversity: every class has at least l different sensitive values (Machanavajjhala et al. 2007).

Monotone, with suppression: a merged class has all values of each of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from kanon_sql.models.options import ModelOption
from kanon_sql.models.sensitive import SensitiveModel, Weighed, checked_count
from kanon_sql.sql import build as sql


@dataclass(frozen=True)
class DistinctLDiversity(SensitiveModel):
    """Every class has at least ``l`` different values of the sensitive column.

    Attributes:
        l: the fewest values that a published class may have.
    """

    l: int  # noqa: E741 - the name that the field has in the literature
    name: ClassVar[str] = "distinct l-diversity"
    letter: ClassVar[str] = "l"
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_count(self.l, "l")

    @property
    def required(self) -> int:
        """The fewest values."""
        return self.l

    @property
    def least_rows(self) -> int:
        """As many rows as values."""
        return self.l

    def measure(self, weighed: Weighed) -> exp.Expr:  # noqa: ARG002 - each weighed row is a value
        """Return the number of values."""
        return sql.count_rows()

    def most(self, weighed: Weighed) -> exp.Expr:  # noqa: ARG002 - the bound holds for every class
        """Return 0: what has too few values has too few in every part of it."""
        return sql.literal(0)

    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return ``measure >= l``."""
        return exp.GTE(this=measure, expression=sql.literal(self.l))

    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the fewest values that a class has."""
        return exp.Min(this=measure)


OPTIONS = (
    ModelOption(
        "l", DistinctLDiversity, ("l",), "L", "A class has L different values of the sensitive column.", whole=("l",)
    ),
)
