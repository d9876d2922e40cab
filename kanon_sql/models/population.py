"""What models have in common that compare a class with the same class of a larger table, the population.

The population is a table with the same quasi-identifiers, of which the table that is anonymized is a part. Its values
are generalized by the same hierarchies; a row of it whose value no hierarchy knows is in no class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, kw_only=True)
class PopulationModel(ABC):
    """A condition on every class and the same class of the population.

    Attributes:
        population: the frequency set of the population, once there is one: with the keys of that of the table.
    """

    population: exp.Table | None = field(default=None, repr=False, compare=False)

    entity: ClassVar[None] = None
    sensitive: ClassVar[None] = None

    @property
    @abstractmethod
    def name(self) -> str:
        """As it is called in reports."""

    @property
    @abstractmethod
    def letter(self) -> str:
        """The name of its threshold."""

    @property
    @abstractmethod
    def required(self) -> int | float:
        """The threshold."""

    @property
    @abstractmethod
    def monotone(self) -> bool:
        """Whether a class that satisfies the model still does after it was merged with any other."""

    @property
    def unites(self) -> bool:
        """Whether a union of classes that satisfy the model satisfies it; classes of the population come along."""
        return True

    @property
    def covers(self) -> bool:
        """Whether a class of the population that has no row in the release fails the model."""
        return False

    @property
    def least_rows(self) -> int:
        """Rows that a class has at least that satisfies the model."""
        return 1

    def counting(self, entity: str) -> Self:  # noqa: ARG002 - a model of rows takes it
        """Return the model: rows are compared."""
        return self

    def coded(self, population: exp.Table) -> Self:
        """Return the model, knowing the frequency set of the population."""
        return replace(self, population=population)

    @abstractmethod
    def compared(self, rows: exp.Expr, in_population: exp.Expr) -> exp.Expr:
        """Return the measure of a class from its rows and those of its class of the population, 0 if it has none."""

    @abstractmethod
    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return the condition that a class of this measure satisfies the model."""

    @abstractmethod
    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the aggregate that picks the measure of the worst class."""
