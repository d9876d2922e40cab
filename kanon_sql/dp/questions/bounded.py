"""Questions about a column of numbers between bounds that the person gives."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from kanon_sql.dp.alike import MOST_EXPONENT
from kanon_sql.dp.contributions import Bounds, bounds_of
from kanon_sql.dp.numbers import Number, exact
from kanon_sql.dp.questions.base import Question
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from kanon_sql.dp.rows import Asked


@dataclass(frozen=True, kw_only=True)
class BoundedQuestion(Question):
    """A question about a column of numbers.

    Attributes:
        column: the column; rows without a value do not count.
        bounds: the least and the greatest value that count, from what is known of such values and not from the table:
            values beyond are cut to them.
    """

    column: str
    bounds: tuple[Number, Number]

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = (number(bound, "A bound") for bound in self.bounds)
        if not low < high:
            raise UsageError(f"The bounds {low} and {high} are no interval: give the lower one first, as in 0,100.")
        object.__setattr__(self, "bounds", (low, high))

    @property
    def given(self) -> tuple[Decimal, Decimal]:
        """The bounds as exact numbers."""
        low, high = self.bounds
        return Decimal(low), Decimal(high)

    def in_bounds(self, asked: Asked) -> Bounds:
        """Return the bounds in steps.

        Raises:
            UsageError: the column does not exist or has no numbers.
        """
        return bounds_of(self.given, asked.column(self.column), means=asked.person is not None)

    @property
    def cut_to_bounds(self) -> str:
        """What becomes of values beyond the bounds."""
        low, high = self.given
        return f"values below {low} count as {low}, values above {high} as {high}"

    def assumes(self, asked: Asked) -> tuple[str, ...]:
        """Return what the promise rests on."""
        low, high = self.given
        return (
            *super().assumes(asked),
            f"The bounds {low} and {high} were known without looking at the table; values beyond were cut to them.",
        )


def number(value: Number, what: str) -> Decimal:
    """Return a number that a person gave, as an exact one.

    Raises:
        UsageError: it is none.
    """
    found = exact(value, what)
    if found and abs(found.adjusted()) > MOST_EXPONENT:
        raise UsageError(f"{what} is a number from 1e-{MOST_EXPONENT} to 1e{MOST_EXPONENT} in size, not {value}.")
    return found
