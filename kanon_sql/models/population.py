"""k-map and delta-presence: models that compare a class with the same class of a larger table, the population.

The population is a table with the same quasi-identifiers. The table to anonymize is a part of it. Its values
are generalized by the same hierarchies; a row of it with a value that is in no hierarchy is in no class.

**k-map**: every published class is at least k rows in the population (Sweeney 2001). Weaker than k-anonymity: an
attacker does not know which people of the population are in the table. Monotone, with suppression: a class of the
population only grows.

**Delta-presence**: nobody learns whether a person of the population is in the table (Nergiz, Atzori &
Clifton 2007). ``delta_min <= |class in the release| / |class in the population| <= delta_max``, for every class of the
population: one without a row in the release has the ratio 0. So with ``delta_min`` above 0

- every class of the population has rows in the table (``covers``), and no row is suppressed: the ratio of its class in
  the release would be 0. A search then has a suppression limit of 0 (``prepare.problem_of``).
- The ratio of a union of classes of the population is between their ratios. A class of a higher node is such a union:
  if every class of the population satisfies the bounds at a node, it does so at every node above. If one fails at
  a node, some part of it fails at each node below. So unions satisfy the model, and a failing node prunes all nodes
  below.

With ``delta_min`` 0, classes without a row satisfy the model, and rows may be suppressed. Unions satisfy it too, but
not unions with classes that were suppressed: the model is not monotone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from kanon_sql.errors import UsageError
from kanon_sql.models.base import PrivacyModel
from kanon_sql.models.options import ModelOption
from kanon_sql.models.sensitive import checked_count, checked_number

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, kw_only=True)
class PopulationModel(PrivacyModel):
    """A condition on every class and the same class of the population."""

    # the frequency set of the population, once it exists, with the same keys as that of the table
    population: exp.Table | None = field(default=None, repr=False, compare=False)

    @property
    def covers(self) -> bool:
        """True if a class of the population that has no row in the release fails the model."""
        return False

    def coded(self, population: exp.Table) -> Self:
        """Return the model with the frequency set of the population."""
        return replace(self, population=population)

    def compared(self, rows: exp.Expr, in_population: exp.Expr) -> exp.Expr:
        """Return the measure of a class from its rows and those of its class of the population, NULL if it has none."""
        return self.measured({"n": rows, "measure": in_population})


@dataclass(frozen=True)
class KMap(PopulationModel):
    """Every class has at least ``k`` rows in the population.

    Attributes:
        k: minimum number of rows in the population.
    """

    k: int
    name: ClassVar[str] = "k-map"
    file: ClassVar[str] = "models/k_map"
    letter: ClassVar[str] = "k"
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_count(self.k, "k of k-map")

    @property
    def required(self) -> int:
        return self.k


@dataclass(frozen=True)
class DeltaPresence(PopulationModel):
    """The share of every class of the population that is in the table lies between two bounds.

    Attributes:
        delta_min: at least 0. A small share shows that a person is not in the table.
        delta_max: at most 1. A large share shows that a person is in it.
    """

    delta_min: float
    delta_max: float
    file: ClassVar[str] = "models/delta_presence"
    letter: ClassVar[str] = "delta_max"

    def __post_init__(self) -> None:
        checked_number(self.delta_min, "delta_min", least=0, most=1)
        checked_number(self.delta_max, "delta_max", least=0, most=1)
        if self.delta_min > self.delta_max:
            raise UsageError("delta_min must not be above delta_max.")

    @property
    def name(self) -> str:
        """With its lower bound: the threshold is the upper one."""
        return f"delta-presence ({self.delta_min:g}, delta_max)"

    @property
    def covers(self) -> bool:
        """True if a class of the population that has no row in the release fails the model."""
        return self.delta_min > 0

    @property
    def required(self) -> float:
        return self.delta_max


OPTIONS = (
    ModelOption("k_map", KMap, ("k",), "K", "Each class has K rows in the table that --population names.", ("k",)),
    ModelOption(
        "presence",
        DeltaPresence,
        ("delta_min", "delta_max"),
        "MIN,MAX",
        "The share of each class of --population that is in the table.",
    ),
)
