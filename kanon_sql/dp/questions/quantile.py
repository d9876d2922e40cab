"""A quantile of a column, by the exponential mechanism over values between the bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from kanon_sql.dp.answer import CONFIDENCE, Figure
from kanon_sql.dp.contributions import Bounds, bounds_of, counts_of_keys, in_steps
from kanon_sql.dp.mechanisms import choice_bound, choice_scale, choose
from kanon_sql.dp.numbers import Number, plain
from kanon_sql.dp.questions.base import unit_of, whole
from kanon_sql.dp.questions.bounded import BoundedQuestion, number
from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.dp.answer import Answer
    from kanon_sql.dp.questions.base import Row
    from kanon_sql.dp.rows import Asked

_MOST = 10_000  # intervals between candidates, where nobody says how fine the answer is to be
_MOST_ASKED = 100_000
_PARTS = 10_000  # a quantile is taken to four digits


@dataclass(frozen=True, kw_only=True)
class Quantile(BoundedQuestion):
    """The value below which a share of the values lies.

    Attributes:
        share: from 0 to 1; 0.5 is the median.
        step: between the values that can be the answer; as fine as 10,000 of them allow, if nobody says.
    """

    share: Number = "0.5"
    step: Number | None = None

    has_noise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        share = number(self.share, "A quantile")
        if not 0 <= share <= 1 or share * _PARTS != (share * _PARTS).to_integral_value():
            raise UsageError(f"A quantile is a share from 0 to 1 with four digits at most, not {self.share}.")
        object.__setattr__(self, "share", share)
        if self.step is not None and number(self.step, "A step") <= 0:
            raise UsageError(f"A step is a number above 0, not {self.step}.")

    @property
    def words(self) -> str:
        """The question in a few words."""
        return f"quantile {plain(Decimal(self.share))} of {self.column}"

    @property
    def _parts(self) -> int:
        return int(Decimal(self.share) * _PARTS)

    def in_bounds(self, asked: Asked) -> Bounds:
        """Return the bounds in steps."""
        step = None if self.step is None else number(self.step, "A step")
        bounds = bounds_of(self.given, asked.column(self.column), step)
        if step is not None and bounds.width > _MOST_ASKED:
            raise UsageError(f"There are {bounds.width:,} steps of {step} between the bounds: ask for fewer.")
        return bounds

    def _gap(self, bounds: Bounds) -> int:
        """Return the steps from one candidate to the next."""
        return 1 if self.step is not None else math.ceil(bounds.width / _MOST)

    def query(self, asked: Asked) -> exp.Query:
        """Return the query of the rows by where they lie: at a candidate (an even number) or behind it."""
        column, bounds = asked.column(self.column), self.in_bounds(asked)
        gap = self._gap(bounds)
        distance = exp.paren(exp.Sub(this=in_steps(column, bounds), expression=sql.literal(bounds.low)))
        quotient = exp.Div(this=sql.cast(distance, "DOUBLE"), expression=sql.cast(sql.literal(gap), "DOUBLE"))
        candidate = exp.Mul(this=sql.literal(2), expression=sql.cast(exp.Floor(this=quotient), "BIGINT"))
        behind = exp.GT(this=exp.Mod(this=distance.copy(), expression=sql.literal(gap)), expression=sql.literal(0))
        after = exp.Case(ifs=[exp.If(this=behind, true=sql.literal(1))], default=sql.literal(0))
        place = sql.cast(exp.Add(this=candidate, expression=after), "VARCHAR")
        return counts_of_keys(asked, place, there=column)

    def counted(self, asked: Asked) -> str:
        """Return what is counted."""
        rows = self.counted_rows(asked, "rows with a value", "once, with one of its values")
        return f"{rows}; {self.cut_to_bounds}"

    def prepare(self, asked: Asked) -> None:
        """Try the mechanism on nothing."""
        choose([0], self._sensitivity(asked), self.price[0])

    def _sensitivity(self, asked: Asked) -> int:
        return asked.most_rows * max(self._parts, _PARTS - self._parts)

    def answer(self, rows: Sequence[Row], asked: Asked) -> Answer:
        """Return one of the candidates: the fewer rows it is away from the quantile, the likelier.

        The score of a candidate is ``-|(1 - share) * rows below - share * rows above|``; a row that comes or goes
        changes it by ``max(share, 1 - share)`` at most (Smith 2011).
        """
        bounds = self.in_bounds(asked)
        gap = self._gap(bounds)
        candidates = bounds.width // gap + 1
        scores = self._scores({int(place): whole(n) for place, n in rows}, candidates)
        sensitivity = self._sensitivity(asked)
        epsilon, _ = self.price
        chosen = choose(scores, sensitivity, epsilon)
        scale = choice_scale(sensitivity, epsilon)
        off = math.ceil(choice_bound(candidates, scale, CONFIDENCE) / _PARTS)
        return self.told(
            asked,
            figures=(Figure(bounds.value(bounds.low + gap * chosen)),),
            mechanism="exponential mechanism (permute and flip)",
            scale=scale / _PARTS,
            accuracy=f"in 95 of 100 answers, at most {off:,} {unit_of(asked)} more lie on the wrong side of it than of "
            f"the best of {candidates:,} candidates",
        )

    def _scores(self, counts: Mapping[int, int], candidates: int) -> list[int]:
        places = [counts.get(place, 0) for place in range(2 * candidates)]
        up_to = [0, *accumulate(places)]
        total = up_to[-1] + sum(n for place, n in counts.items() if place >= 2 * candidates)
        return [
            -abs((_PARTS - self._parts) * up_to[2 * each] - self._parts * (total - up_to[2 * each + 1]))
            for each in range(candidates)
        ]
