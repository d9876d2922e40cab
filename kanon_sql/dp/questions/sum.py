"""The sum of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.dp.answer import CONFIDENCE, Figure, shown
from kanon_sql.dp.contributions import Bounds, total_steps
from kanon_sql.dp.mechanisms import law_of, with_noise
from kanon_sql.dp.questions.base import whole
from kanon_sql.dp.questions.bounded import BoundedQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.dp.answer import Answer
    from kanon_sql.dp.laws import Law
    from kanon_sql.dp.questions.base import Row
    from kanon_sql.dp.rows import Asked


@dataclass(frozen=True, kw_only=True)
class Sum(BoundedQuestion):
    """The sum of the values; of a person with more rows than count, so many times the mean of that person's values."""

    @property
    def words(self) -> str:
        """The question in a few words."""
        return f"sum of {self.column}"

    def query(self, asked: Asked) -> exp.Query:
        """Return the query of the sum."""
        return total_steps(asked, asked.column(self.column), self.in_bounds(asked))

    def counted(self, asked: Asked) -> str:
        """Return what is added up."""
        if asked.person is None:
            return f"the values of all rows; {self.cut_to_bounds}"
        person, most = asked.person.name, asked.most_rows
        several = f"more than {most} rows with {most} times" if most > 1 else "several rows with"
        return (
            f"the values of each {person}, one with {several} the mean of its values: what is above is not counted; "
            f"{self.cut_to_bounds}; rows without {person} are one person"
        )

    def prepare(self, asked: Asked) -> None:
        """Find the noise."""
        self._law(asked, self.in_bounds(asked))

    def answer(self, rows: Sequence[Row], asked: Asked) -> Answer:
        """Return the sum with noise: it changes by ``max_rows`` times the bound that is farther from 0."""
        bounds = self.in_bounds(asked)
        law = self._law(asked, bounds)
        ((exact,),) = rows
        (noisy,) = with_noise([whole(exact)], law)
        bound = law.within(CONFIDENCE)
        value, low, high = (bounds.value(steps) for steps in (noisy, noisy - bound, noisy + bound))
        error, most = bounds.value(law.expected_error), bounds.value(bound)
        return self.told(
            asked,
            figures=(Figure(value, None, low, high),),
            mechanism=law.name,
            scale=bounds.value(law.scale),
            expected_error=error,
            accuracy=f"off by {shown(error)} on average, by at most {shown(most)} in 95 of 100 answers, and by "
            "what is not counted",
        )

    def _law(self, asked: Asked, bounds: Bounds) -> Law:
        return law_of(self.noise, asked.most_rows * bounds.farthest, *self.price)
