"""Numbers that a person gives, taken as they are written: 0.1 is a tenth."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from kanon_sql.errors import UsageError

Number = Decimal | int | float | str


def exact(value: Number, what: str) -> Decimal:
    """Return a number as it is written.

    Args:
        value: what a person gave.
        what: it is, for messages.

    Raises:
        UsageError: it is no number, or none that is finite.
    """
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation:
        raise UsageError(f"{what} is a number, not {str(value)!r}.") from None
    if not found.is_finite():
        raise UsageError(f"{what} is a number, not {value}.")
    return found


def plain(number: Decimal) -> str:
    """Return a number for people, without zeros at its end."""
    return f"{number.normalize():f}"


def small(number: Decimal) -> str:
    """Return a probability near 0 for people."""
    return f"{number.normalize():.3g}" if number else "0"
