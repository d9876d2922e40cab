"""Weights: how much the loss of a column, or of a table in a set, counts among others. The default is 1.

A column of weight 0 may be generalized freely. Weights are exact: ``3``, ``0.5`` and ``"1/3"`` are fractions.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

from kanon_sql.errors import UsageError
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FORM = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?|[0-9]{1,9}/[0-9]{1,9}")


def weight_of(given: Any, of: str) -> Fraction:  # noqa: ANN401 - any value of a TOML file or a call
    """Return the weight of a column or a table, or raise a UsageError that names it."""
    if isinstance(given, int | Fraction) and not isinstance(given, bool) and given >= 0:
        return Fraction(given)
    text = "" if isinstance(given, bool) else str(given).replace(" ", "")
    try:
        return Fraction(text if _FORM.fullmatch(text) else "")
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"The weight of {of} must be a number from 0 on, with at most 9 digits before and after the point, or a "
            f"fraction such as 1/3. Got {given!r}."
        ) from None


def weights_of(given: Mapping[str, Any], quasi_identifiers: Sequence[str]) -> dict[str, Fraction]:
    """Return the weights of columns as fractions. They must be of quasi-identifiers, with at least one above 0."""
    found = {column: weight_of(value, f"column {column!r}") for column, value in given.items()}
    known = {folded(name) for name in quasi_identifiers}
    if other := next((column for column in found if folded(column) not in known), None):
        raise UsageError(f"A weight is given for column {other!r}, which is not a quasi-identifier.")
    if found and not any(column_weights(found, quasi_identifiers)):
        raise UsageError("The weight of each quasi-identifier is 0: at least one must be above 0.")
    return found


def column_weights(given: Mapping[str, Fraction], columns: Iterable[str]) -> tuple[int, ...]:
    """Return the weights of columns as the smallest whole numbers in the same proportion; 1 if no weights are given.

    >>> column_weights({"zip": Fraction(3, 2), "sex": Fraction(0)}, ["age", "sex", "zip"])
    (2, 0, 3)
    """
    named = {folded(column): weight for column, weight in given.items()}
    return in_proportion([named.get(folded(column), Fraction(1)) for column in columns])


def in_proportion(weights: Sequence[Fraction]) -> tuple[int, ...]:
    """Return fractions as the smallest whole numbers in the same proportion."""
    common = lcm(*(weight.denominator for weight in weights))
    numbers = [int(weight * common) for weight in weights]
    shared = gcd(*numbers) or 1
    return tuple(number // shared for number in numbers)


def stated_weights(weights: Mapping[str, Fraction]) -> dict[str, int | str]:
    """Return weights for kanon.toml and JSON: whole numbers, and other fractions as text."""
    return {
        name: weight.numerator if weight.denominator == 1 else str(weight) for name, weight in sorted(weights.items())
    }


def in_json(weights: Mapping[str, int | str]) -> dict[str, Any]:
    """Return the JSON entry of stated weights: empty if all columns count the same by default."""
    return {"weights": weights} if weights else {}


def weights_said(weights: Mapping[str, int | str]) -> str:
    """Return stated weights as a line of a result.

    >>> weights_said({"sex": 0, "zip": "3/2"})
    'sex 0, zip 3/2; 1 for all others'
    """
    return f"{', '.join(f'{name} {weight}' for name, weight in weights.items())}; 1 for all others"
