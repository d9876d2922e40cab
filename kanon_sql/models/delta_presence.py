"""Delta-presence: it cannot be told whether somebody of the population is in the table (Nergiz, Atzori & Clifton 2007).

``delta_min <= |class in the release| / |class in the population| <= delta_max``, for every class of the population:
one without a row in the release has the ratio 0. So with ``delta_min`` above 0

- every class of the population has rows in the table (``covers``), and no row is suppressed: the ratio of its class in
  the release would be 0. A search then has a suppression limit of 0 (``prepare.problem_of``).
- The ratio of a union of classes of the population is between their ratios. A class of a higher node is such a union:
  where every class of the population keeps to the bounds at a node, it does so at every node above. Where one fails at
  a node, some part of it fails at each node below. So unions keep to the model, and what fails prunes what is below.

With ``delta_min`` 0, classes without a row keep to the model, and rows may be suppressed. Unions keep to it too, but
not those with classes that were suppressed: the model is not monotone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.models.options import ModelOption
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.sensitive import as_double, at_least, at_most, checked_number, infinity
from kanon_sql.sql import build as sql


@dataclass(frozen=True)
class DeltaPresence(PopulationModel):
    """The share of every class of the population that is in the table lies between two bounds.

    Attributes:
        delta_min: from 0; a class that is hardly there tells that somebody is not in the table.
        delta_max: to 1; a class that is there as a whole tells that somebody is.
    """

    delta_min: float
    delta_max: float
    letter: ClassVar[str] = "delta_max"
    monotone: ClassVar[bool] = False

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
        """Whether a class of the population that has no row in the release fails the model."""
        return self.delta_min > 0

    @property
    def required(self) -> float:
        """The largest share; the smallest is ``delta_min``."""
        return self.delta_max

    def compared(self, rows: exp.Expr, in_population: exp.Expr) -> exp.Expr:
        """Return the share of the class of the population that is in the table; infinite if the population lacks it."""
        there = exp.GT(this=in_population.copy(), expression=sql.literal(0))
        return exp.Case().when(there, exp.Div(this=as_double(rows), expression=in_population)).else_(infinity())

    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return ``delta_min <= measure <= delta_max``."""
        return exp.and_(at_least(measure.copy(), self.delta_min), at_most(measure.copy(), self.delta_max))

    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the largest share of a class."""
        return exp.Max(this=measure)


OPTIONS = (
    ModelOption(
        "presence",
        DeltaPresence,
        ("delta_min", "delta_max"),
        "MIN,MAX",
        "The share of each class of --population that is in the table.",
    ),
)
