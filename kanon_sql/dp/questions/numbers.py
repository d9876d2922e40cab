"""Questions about a column of numbers between given bounds: sum, mean, quantile.

The mean needs two sums together: how far the values are above the lower bound, and how far below the upper one. A
row adds the width of the bounds to both together, so that the pair costs no more than either of them alone; the mean is
``low + width * above / (above + below)``. A sum and a count, each for half of epsilon, would have twice the variance.

A quantile is chosen by the exponential mechanism over values between the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from kanon_sql.dp.account import Number, exact_decimal, without_zeros
from kanon_sql.dp.condition import MOST_EXPONENT
from kanon_sql.dp.contributions import Bounds, bounds_in_steps, counts_of_keys, in_steps, sides_of_mean, total_steps
from kanon_sql.dp.mechanisms import CHOICE, choice_bound, choice_scale, choose, with_noise
from kanon_sql.dp.questions.base import CONFIDENCE, Figure, Question, rounded_text, whole
from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.dp.contributions import QueriedRows
    from kanon_sql.dp.questions.base import Answer, Row


@dataclass(frozen=True, kw_only=True)
class BoundedQuestion(Question):
    """A question about a column of numbers."""

    column: str  # the column; rows without a value do not count
    # the least and the greatest value that count; they must come from general knowledge, not from the table. Values
    # beyond them are clamped.
    bounds: tuple[Number, Number]

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = (exact_in_range(bound, "A bound") for bound in self.bounds)
        if not low < high:
            raise UsageError(f"The bounds {low} and {high} are no interval: give the lower one first, as in 0,100.")
        object.__setattr__(self, "bounds", (low, high))

    @property
    def given(self) -> tuple[Decimal, Decimal]:
        low, high = self.bounds
        return Decimal(low), Decimal(high)

    def in_bounds(self, queried: QueriedRows) -> Bounds:
        return bounds_in_steps(self.given, queried.column(self.column), means=queried.person is not None)

    @property
    def cut_to_bounds(self) -> str:
        low, high = self.given
        return f"values below {low} count as {low}, values above {high} as {high}"

    def assumes(self, queried: QueriedRows) -> tuple[str, ...]:
        low, high = self.given
        return (
            *super().assumes(queried),
            f"The bounds {low} and {high} were known without looking at the table; values beyond were cut to them.",
        )


def exact_in_range(value: Number, what: str) -> Decimal:
    found = exact_decimal(value, what)
    if found and abs(found.adjusted()) > MOST_EXPONENT:
        raise UsageError(f"{what} is a number from 1e-{MOST_EXPONENT} to 1e{MOST_EXPONENT} in size, not {value}.")
    return found


@dataclass(frozen=True, kw_only=True)
class Sum(BoundedQuestion):
    """The sum of the values; a person with more rows than ``max_rows`` contributes ``max_rows`` times their mean."""

    asks: ClassVar[str] = "sum of {0.column}"

    def query(self, queried: QueriedRows) -> exp.Query:
        return total_steps(queried, queried.column(self.column), self.in_bounds(queried))

    def counted(self, queried: QueriedRows) -> str:
        if queried.person is None:
            return f"the values of all rows; {self.cut_to_bounds}"
        person, most = queried.person.name, queried.most_rows
        several = f"more than {most} rows with {most} times" if most > 1 else "several rows with"
        return (
            f"the values of each {person}, one with {several} the mean of its values: further values are not counted; "
            f"{self.cut_to_bounds}; rows without {person} are one person"
        )

    def answer(self, rows: Sequence[Row], queried: QueriedRows) -> Answer:
        """Return the sum with noise: it changes by ``max_rows`` times the bound that is farther from 0."""
        bounds = self.in_bounds(queried)
        law = self.law(queried)
        ((exact,),) = rows
        (noisy,) = with_noise([whole(exact)], law)
        bound = law.within(CONFIDENCE)
        value, low, high = (bounds.value(steps) for steps in (noisy, noisy - bound, noisy + bound))
        error, most = bounds.value(law.expected_error), bounds.value(bound)
        off = f"off by {rounded_text(error)} on average, by at most {rounded_text(most)} in 95 of 100 answers"
        return self.answered(
            queried,
            (Figure(value, None, low, high),),
            f"{off}, and by what is not counted",
            mechanism=law.name,
            scale=bounds.value(law.scale),
            expected_error=error,
        )

    def sensitivity(self, queried: QueriedRows) -> int:
        return queried.most_rows * self.in_bounds(queried).farthest


_EACH = (1 + CONFIDENCE) / 2  # for each of two numbers, so that both stay within their bounds in 95 of 100 answers


@dataclass(frozen=True, kw_only=True)
class Mean(BoundedQuestion):
    """The mean of the values; a person with more rows than ``max_rows`` contributes the mean of their values."""

    asks: ClassVar[str] = "mean of {0.column}"

    def query(self, queried: QueriedRows) -> exp.Query:
        return sides_of_mean(queried, queried.column(self.column), self.in_bounds(queried))

    def counted(self, queried: QueriedRows) -> str:
        if queried.person is None:
            return f"rows with a value; {self.cut_to_bounds}"
        person, most = queried.person.name, queried.most_rows
        several = f"more than {most} rows counts as {most} of them" if most > 1 else "several rows counts as one"
        return (
            f"{queried.unit} with a value: a {person} with {several}, with the mean of its values; "
            f"{self.cut_to_bounds}; rows without {person} are one person"
        )

    def answer(self, rows: Sequence[Row], queried: QueriedRows) -> Answer:
        """Return the mean from two noisy sums; the middle of the bounds if the sums allow that there are no rows."""
        bounds = self.in_bounds(queried)
        law = self.law(queried)
        ((above, below),) = rows
        above, below = with_noise([whole(above), whole(below)], law)
        bound = law.within(_EACH)
        value = _mean(above, below, bounds)
        low, high = _mean(above - bound, below + bound, bounds), _mean(above + bound, below - bound, bounds)
        if above + below <= 2 * bound:  # there may be no rows at all
            low, high = (bounds.value(steps) for steps in (bounds.low, bounds.high))
        total = above + below  # each sum is off by its noise; the mean at most by the width of the bounds
        error = bounds.value(bounds.width * (1.0 if total <= 0 else min(1.0, law.expected_error / total)))
        off = f"off by about {rounded_text(error)} on average"
        return self.answered(
            queried,
            (Figure(value, None, low, high),),
            f"{off}; 95 of 100 such intervals have the exact mean of the counted values",
            mechanism=law.name,
            scale=bounds.value(law.scale),
            expected_error=error,
        )

    def sensitivity(self, queried: QueriedRows) -> int:
        return queried.most_rows * self.in_bounds(queried).width


def _mean(above: int, below: int, bounds: Bounds) -> Decimal:
    """Return the mean from two sums, clamped to the bounds."""
    above, below = max(above, 0), max(below, 0)
    share = Decimal(above) / Decimal(above + below) if above + below else Decimal("0.5")
    return bounds.value(bounds.low + bounds.width * share)


_MOST = 10_000  # intervals between candidates, if no step is given
_MOST_ASKED = 100_000
_PARTS = 10_000  # a quantile has four digits


@dataclass(frozen=True, kw_only=True)
class Quantile(BoundedQuestion):
    """The value below which a share of the values lies.

    Attributes:
        share: from 0 to 1; 0.5 is the median.
        step: between the values that can be the answer; by default as fine as 10,000 of them allow.
    """

    share: Number = "0.5"
    step: Number | None = None

    has_noise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        share = exact_in_range(self.share, "A quantile")
        if not 0 <= share <= 1 or share * _PARTS != (share * _PARTS).to_integral_value():
            raise UsageError(f"A quantile is a share from 0 to 1 with four digits at most, not {self.share}.")
        object.__setattr__(self, "share", share)
        if self.step is not None and exact_in_range(self.step, "A step") <= 0:
            raise UsageError(f"A step is a number above 0, not {self.step}.")

    @property
    def words(self) -> str:
        return f"quantile {without_zeros(Decimal(self.share))} of {self.column}"

    @property
    def _parts(self) -> int:
        return int(Decimal(self.share) * _PARTS)

    def in_bounds(self, queried: QueriedRows) -> Bounds:
        step = None if self.step is None else exact_in_range(self.step, "A step")
        bounds = bounds_in_steps(self.given, queried.column(self.column), step)
        if step is not None and bounds.width > _MOST_ASKED:
            raise UsageError(f"There are {bounds.width:,} steps of {step} between the bounds: ask for fewer.")
        return bounds

    def _gap(self, bounds: Bounds) -> int:
        return 1 if self.step is not None else math.ceil(bounds.width / _MOST)

    def query(self, queried: QueriedRows) -> exp.Query:
        """Return the query of the number of rows by position: at a candidate (an even number) or after it (odd)."""
        column, bounds = queried.column(self.column), self.in_bounds(queried)
        gap = self._gap(bounds)
        distance = exp.paren(exp.Sub(this=in_steps(column, bounds), expression=sql.literal(bounds.low)))
        quotient = exp.Div(this=sql.cast(distance, "DOUBLE"), expression=sql.cast(sql.literal(gap), "DOUBLE"))
        candidate = exp.Mul(this=sql.literal(2), expression=sql.cast(exp.Floor(this=quotient), "BIGINT"))
        behind = exp.GT(this=exp.Mod(this=distance.copy(), expression=sql.literal(gap)), expression=sql.literal(0))
        after = exp.Case(ifs=[exp.If(this=behind, true=sql.literal(1))], default=sql.literal(0))
        place = sql.cast(exp.Add(this=candidate, expression=after), "VARCHAR")
        return counts_of_keys(queried, place, there=column)

    def counted(self, queried: QueriedRows) -> str:
        rows = self.counted_rows(queried, "rows with a value", "once, with one of its values")
        return f"{rows}; {self.cut_to_bounds}"

    def prepare(self, queried: QueriedRows) -> None:
        choose([0], self.sensitivity(queried), self.price[0])

    def sensitivity(self, queried: QueriedRows) -> int:
        return queried.most_rows * max(self._parts, _PARTS - self._parts)

    def answer(self, rows: Sequence[Row], queried: QueriedRows) -> Answer:
        """Return one of the candidates; fewer rows between it and the quantile make it more likely.

        The score of a candidate is ``-|(1 - share) * rows below - share * rows above|``; adding or removing a row
        changes it by at most ``max(share, 1 - share)`` (Smith 2011).
        """
        bounds = self.in_bounds(queried)
        gap = self._gap(bounds)
        candidates = bounds.width // gap + 1
        scores = self._scores({int(place): whole(n) for place, n in rows}, candidates)
        sensitivity = self.sensitivity(queried)
        epsilon, _ = self.price
        chosen = choose(scores, sensitivity, epsilon)
        scale = choice_scale(sensitivity, epsilon)
        off = math.ceil(choice_bound(candidates, scale, CONFIDENCE) / _PARTS)
        accuracy = (
            f"in 95 of 100 answers, at most {off:,} {queried.unit} more lie on the wrong side of it than of the "
            f"best of {candidates:,} candidates"
        )
        figures = (Figure(bounds.value(bounds.low + gap * chosen)),)
        return self.answered(queried, figures, accuracy, mechanism=CHOICE, scale=scale / _PARTS)

    def _scores(self, counts: Mapping[int, int], candidates: int) -> list[int]:
        places = [counts.get(place, 0) for place in range(2 * candidates)]
        up_to = [0, *accumulate(places)]
        total = up_to[-1] + sum(n for place, n in counts.items() if place >= 2 * candidates)
        return [
            -abs((_PARTS - self._parts) * up_to[2 * each] - self._parts * (total - up_to[2 * each + 1]))
            for each in range(candidates)
        ]
