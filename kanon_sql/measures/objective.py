"""What a search minimizes: a sum over cells, or a number made from the sizes of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.measures.average_class_size import AverageClassSize
from kanon_sql.measures.discernibility import Discernibility

if TYPE_CHECKING:
    from kanon_sql.measures.base import ClassMeasure, Cost
    from kanon_sql.measures.costs import Costs

CLASS_MEASURES: dict[str, ClassMeasure] = {measure.name: measure for measure in (Discernibility(), AverageClassSize())}
"""The measures of class sizes, by name: a search of full-domain recodings can minimize them."""


@dataclass(frozen=True)
class Objective:
    """What is minimized.

    Attributes:
        costs: what cells cost: by the measure that is minimized; or by loss, which then breaks ties in the order of a
            search and is not what its result is compared by.
        of_classes: the measure that is minimized, if it is made from the sizes of classes.
    """

    costs: Costs
    of_classes: ClassMeasure | None = None

    @property
    def name(self) -> str:
        """Name of the measure."""
        return (self.of_classes or self.costs.measure).name

    def value(self, cost: Cost) -> float:
        """Return the measure for a cost."""
        return self.costs.value(cost) if self.of_classes is None else self.of_classes.value(cost)

    @property
    def least(self) -> int:
        """A cost that nothing is below: that of the original table, where cells are what costs."""
        return self.costs.original if self.of_classes is None else 0

    def gap(self, cost: Cost, bound: Cost) -> float:
        """Return how far a bound is below a cost, as a share of the cost: 0 when they are equal."""
        return float((cost - bound) / (cost - self.least)) if cost > bound else 0.0
