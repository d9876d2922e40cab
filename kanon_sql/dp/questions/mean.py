"""The mean of a column.

Two sums are asked for together: how far the values are above the lower bound, and how far below the upper one. A row
adds the width of the bounds to both together, so that the pair costs no more than either of them alone; the mean is
``low + width * above / (above + below)``. A sum and a count, each for half of epsilon, would have twice the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from kanon_sql.dp.answer import CONFIDENCE, Figure, shown
from kanon_sql.dp.contributions import Bounds, sides_of_mean
from kanon_sql.dp.mechanisms import law_of, with_noise
from kanon_sql.dp.questions.base import unit_of, whole
from kanon_sql.dp.questions.bounded import BoundedQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.dp.answer import Answer
    from kanon_sql.dp.laws import Law
    from kanon_sql.dp.questions.base import Row
    from kanon_sql.dp.rows import Asked

_EACH = (1 + CONFIDENCE) / 2  # of two numbers, so that both keep to their bounds in 95 of 100 answers


@dataclass(frozen=True, kw_only=True)
class Mean(BoundedQuestion):
    """The mean of the values; a person with more rows than count counts with the mean of that person's values."""

    @property
    def words(self) -> str:
        """The question in a few words."""
        return f"mean of {self.column}"

    def query(self, asked: Asked) -> exp.Query:
        """Return the query of the two sums."""
        return sides_of_mean(asked, asked.column(self.column), self.in_bounds(asked))

    def counted(self, asked: Asked) -> str:
        """Return what the mean is of."""
        if asked.person is None:
            return f"rows with a value; {self.cut_to_bounds}"
        person, most = asked.person.name, asked.most_rows
        several = f"more than {most} rows counts as {most} of them" if most > 1 else "several rows counts as one"
        return (
            f"{unit_of(asked)} with a value: a {person} with {several}, with the mean of its values; "
            f"{self.cut_to_bounds}; rows without {person} are one person"
        )

    def prepare(self, asked: Asked) -> None:
        """Find the noise."""
        self._law(asked, self.in_bounds(asked))

    def answer(self, rows: Sequence[Row], asked: Asked) -> Answer:
        """Return the mean of two sums with noise; the middle of the bounds where these say that there are no rows."""
        bounds = self.in_bounds(asked)
        law = self._law(asked, bounds)
        ((above, below),) = rows
        above, below = with_noise([whole(above), whole(below)], law)
        bound = law.within(_EACH)
        value = _mean(above, below, bounds)
        low, high = _mean(above - bound, below + bound, bounds), _mean(above + bound, below - bound, bounds)
        if above + below <= 2 * bound:  # there may be no rows at all
            low, high = (bounds.value(steps) for steps in (bounds.low, bounds.high))
        error = _error(law.expected_error, above + below, bounds)
        return self.told(
            asked,
            figures=(Figure(value, None, low, high),),
            mechanism=law.name,
            scale=bounds.value(law.scale),
            expected_error=error,
            accuracy=f"off by about {shown(error)} on average; 95 of 100 such intervals have the exact mean of "
            "what is counted",
        )

    def _law(self, asked: Asked, bounds: Bounds) -> Law:
        return law_of(self.noise, asked.most_rows * bounds.width, *self.price)


def _mean(above: int, below: int, bounds: Bounds) -> Decimal:
    """Return the mean that two sums stand for, within the bounds."""
    above, below = max(above, 0), max(below, 0)
    share = Decimal(above) / Decimal(above + below) if above + below else Decimal("0.5")
    return bounds.value(bounds.low + bounds.width * share)


def _error(noise: float, total: int, bounds: Bounds) -> Decimal:
    """Return how far the mean is off if either sum is off by ``noise``, at most the width of the bounds."""
    share = 1.0 if total <= 0 else min(1.0, noise / total)
    return bounds.value(bounds.width * share)
