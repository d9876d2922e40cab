"""How many rows there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.dp.answer import CONFIDENCE, Figure, shown
from kanon_sql.dp.contributions import row_count
from kanon_sql.dp.mechanisms import law_of, with_noise
from kanon_sql.dp.questions.base import Question, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.dp.answer import Answer
    from kanon_sql.dp.laws import Law
    from kanon_sql.dp.questions.base import Row
    from kanon_sql.dp.rows import Asked


@dataclass(frozen=True, kw_only=True)
class Count(Question):
    """How many rows, or with ``entity`` and ``max_rows`` 1, how many people."""

    @property
    def words(self) -> str:
        """The question in a few words."""
        return "count"

    def query(self, asked: Asked) -> exp.Query:
        """Return the query of the number."""
        return row_count(asked)

    def counted(self, asked: Asked) -> str:
        """Return what is counted."""
        return self.counted_rows(asked, "rows", "once")

    def prepare(self, asked: Asked) -> None:
        """Find the noise."""
        self._law(asked)

    def answer(self, rows: Sequence[Row], asked: Asked) -> Answer:
        """Return the number with noise: it changes by ``max_rows`` at most when one person comes or goes."""
        law = self._law(asked)
        ((exact,),) = rows
        (noisy,) = with_noise([whole(exact)], law)
        bound = law.within(CONFIDENCE)
        return self.told(
            asked,
            figures=(Figure(noisy, None, noisy - bound, noisy + bound),),
            mechanism=law.name,
            scale=law.scale,
            expected_error=law.expected_error,
            accuracy=f"off by {shown(law.expected_error)} on average, by at most {bound:,} in 95 of 100 answers",
        )

    def _law(self, asked: Asked) -> Law:
        return law_of(self.noise, asked.most_rows, *self.price)
