"""What answers cost together: sequential composition, and parallel composition over groups without a row in common.

A row is in one group of a column at most. So of the answers that are each about one group of a column, a row pays for
those of its own group alone, and they cost together what the dearest group does (McSherry 2009, theorem 4); answers
about all rows, and those about groups of different columns, add up (Dwork & Roth 2014, theorem 3.16).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import TYPE_CHECKING

from kanon_sql.dp.numbers import exact
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from kanon_sql.dp.numbers import Number

ZERO = Decimal(0)
_DIGITS = 20  # after the point, as the tables of the budget keep them
_LARGEST = Decimal(10**9)
_PRECISION = 60
_EXACT = Context(prec=4 * _PRECISION)
_LEAST = Decimal(1).scaleb(-_DIGITS)


@dataclass(frozen=True)
class Charge:
    """What an answer costs.

    Attributes:
        question: what was asked, in words.
        epsilon, delta: what it costs whoever it is about.
        group: the column and the value of the rows that it is about, where those have no person in common with others.
        entity: the column that names the people whom it protects; None where each row is a person.
    """

    question: str
    epsilon: Decimal
    delta: Decimal = ZERO
    group: tuple[str, str] | None = None
    entity: str | None = None


@dataclass(frozen=True)
class Spent:
    """A charge that was written down.

    Attributes:
        number: of the charge, in its database.
        at: when, in UTC.
        charge: what it was.
    """

    number: int
    at: datetime
    charge: Charge


def composed(charges: Iterable[Charge]) -> tuple[Decimal, Decimal]:
    """Return the epsilon and the delta that charges cost together."""
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
    """Return an epsilon as an exact number.

    Raises:
        UsageError: it is none: a number above 0.
    """
    found = _number(value, "epsilon")
    if not 0 < found <= _LARGEST:
        raise UsageError(f"epsilon is a number above 0, such as 0.5; not {value}.")
    return found


def delta_of(value: Number) -> Decimal:
    """Return a delta as an exact number.

    Raises:
        UsageError: it is none: a number from 0 to below 1.
    """
    found = _number(value, "delta")
    if not 0 <= found < 1:
        raise UsageError(f"delta is a probability from 0 to below 1, such as 1e-6; not {value}.")
    return found


def _number(value: Number, what: str) -> Decimal:
    found = exact(value, what)
    # Not normalize(): that rounds to 28 digits first, and a number that is too small to nothing.
    if abs(found.adjusted()) > _PRECISION or found != found.quantize(_LEAST, context=_EXACT):
        raise UsageError(f"{what} has {_DIGITS} digits after the point at most.")
    return found
