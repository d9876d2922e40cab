"""Total cost of answers, and the budget of a table: sequential composition, and parallel composition over groups.

A row is in at most one group of a column. So if each answer is about one group of a column, a row pays only for the
answers about its own group, and together they cost as much as the most expensive group (McSherry 2009, theorem 4).
Answers about all rows, and answers about groups of different columns, add up (Dwork & Roth 2014, theorem 3.16).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

Number = Decimal | int | float | str


def exact_decimal(value: Number, what: str) -> Decimal:
    """Return the exact decimal of a number; ``what`` is its name in messages."""
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation:
        raise UsageError(f"{what} is a number, not {str(value)!r}.") from None
    if not found.is_finite():
        raise UsageError(f"{what} is a number, not {value}.")
    return found


def without_zeros(number: Decimal) -> str:
    """Format a number without trailing zeros."""
    return f"{number.normalize():f}"


def short_probability(number: Decimal) -> str:
    """Format a probability near 0."""
    return f"{number.normalize():.3g}" if number else "0"


ZERO = Decimal(0)
_DIGITS = 20  # decimal places in the tables of the budget
_LARGEST = Decimal(10**9)
_PRECISION = 60
_EXACT = Context(prec=4 * _PRECISION)
_LEAST = Decimal(1).scaleb(-_DIGITS)


@dataclass(frozen=True)
class Charge:
    """The cost of an answer for each person it is about."""

    question: str
    epsilon: Decimal
    delta: Decimal = ZERO
    # the column and value of a group of rows, if people in it have no rows outside it
    group: tuple[str, str] | None = None
    entity: str | None = None  # the column of the people that the answer protects; None if each row is a person


@dataclass(frozen=True)
class Spent:
    """A recorded charge: its number in the database, and its time in UTC."""

    number: int
    at: datetime
    charge: Charge


def composed(charges: Iterable[Charge]) -> tuple[Decimal, Decimal]:
    """Return the total epsilon and delta of charges."""
    charges = list(charges)
    return _composed((each.group, each.epsilon) for each in charges), _composed(
        (each.group, each.delta) for each in charges
    )


def _composed(costs: Iterable[tuple[tuple[str, str] | None, Decimal]]) -> Decimal:
    with localcontext(prec=_PRECISION):
        of_all = ZERO
        of_group: dict[tuple[str, str], Decimal] = defaultdict(lambda: ZERO)
        for group, cost in costs:
            if group is None:
                of_all += cost
            else:
                of_group[group] += cost
        dearest: dict[str, Decimal] = {}
        for (column, _), cost in of_group.items():
            dearest[column] = max(dearest.get(column, ZERO), cost)
        return of_all + sum(dearest.values(), ZERO)


def epsilon_of(value: Number) -> Decimal:
    found = _number(value, "epsilon")
    if not 0 < found <= _LARGEST:
        raise UsageError(f"epsilon is a number above 0, such as 0.5; not {value}.")
    return found


def delta_of(value: Number) -> Decimal:
    found = _number(value, "delta")
    if not 0 <= found < 1:
        raise UsageError(f"delta is a probability from 0 to below 1, such as 1e-6; not {value}.")
    return found


def _number(value: Number, what: str) -> Decimal:
    found = exact_decimal(value, what)
    # normalize() will not do: it rounds to 28 digits first, and a number that is too small to 0.
    if abs(found.adjusted()) > _PRECISION or found != found.quantize(_LEAST, context=_EXACT):
        raise UsageError(f"{what} has {_DIGITS} digits after the point at most.")
    return found


@dataclass(frozen=True)
class Limits:
    """The limits for all answers together, and the people that they protect; None keeps the earlier setting."""

    epsilon: Decimal
    delta: Decimal | None = None
    entity: str | None = None


@dataclass(frozen=True)
class Budget:
    """The current budget of a table.

    Attributes:
        epsilon: the most that all answers together may cost.
        delta: the probability that their bounds may fail, for all answers together.
        entity: the column of the people that all answers protect; None if each row is a person.
        spent: the charges, in order.
    """

    table: str
    epsilon: Decimal
    delta: Decimal
    entity: str | None = None
    spent: tuple[Spent, ...] = ()

    @property
    def composed(self) -> tuple[Decimal, Decimal]:
        """The epsilon and delta spent in total."""
        return composed(each.charge for each in self.spent)

    def summary(self) -> dict[str, object]:
        """Return the budget as plain values, as ``--format json`` prints it."""
        epsilon, delta = self.composed
        return {
            "table": self.table,
            "entity": self.entity,
            "epsilon": float(self.epsilon),
            "epsilon_spent": float(epsilon),
            "epsilon_left": float(max(ZERO, self.epsilon - epsilon)),
            "delta": float(self.delta),
            "delta_spent": float(delta),
            "delta_left": float(max(ZERO, self.delta - delta)),
            "spent": [
                {
                    "number": each.number,
                    "at": f"{each.at.isoformat(timespec='seconds')}Z",
                    "question": each.charge.question,
                    "epsilon": float(each.charge.epsilon),
                    "delta": float(each.charge.delta),
                    "group": None if each.charge.group is None else "=".join(each.charge.group),
                }
                for each in self.spent
            ],
        }
