"""Two sides of a comparison made alike, so that no engine fails at a value when it does that by itself.

DuckDB makes a whole number a DECIMAL(38, 30) where it is compared with 1.000000000000000000000000000000, and stops at
the first value that has no room there: ``--where "age = 30 AND salary > 1.000..."`` would tell, by an error and for
nothing, whether there is such a row. Constants that have no room are as bad: they fail only where a row comes to them.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column

_ZONED = "TIMESTAMP WITH TIME ZONE"
_NANOSECONDS = "TIMESTAMP_NS"  # from 1677 to 2262
_NO_SIGN = "UHUGEINT"  # the one type of whole numbers that not all others have a common type with
_LARGEST = 2**127 - 1

MOST_EXPONENT = 290
"""Of what a person gives: beyond, engines have 0, infinity or an error, and the error only where there are rows."""


def alike(sides: Sequence[exp.Expr], columns: Sequence[Column]) -> list[exp.Expr]:
    """Return the sides of a comparison, all of one family of types, so that comparing them cannot fail.

    Args:
        sides: columns and constants.
        columns: those of the table.

    Raises:
        UsageError: they cannot be compared safely.
    """
    named = {column.name: column for column in columns}
    found = [named[side.name] for side in sides if isinstance(side, exp.Column)]
    types, families = {column.type for column in found}, {column.family for column in found}
    constants = [side for side in sides if not isinstance(side, exp.Column)]
    numbers = [_number(each) for each in constants if each.find(exp.Literal) and not each.find(exp.Cast)]
    if len(types) == 1 and not constants:
        return list(sides)
    if families & {"integer", "decimal", "float"} or any(number is not None for number in numbers):
        whole = all(isinstance(number, int) for number in numbers)
        if whole and families <= {"integer"} and _NO_SIGN not in types:
            return list(sides)
        return [sql.cast(side, "DOUBLE") for side in sides]
    if families == {"timestamp"}:
        return _times(sides, types, named)
    if "other" in families:
        kinds = " and ".join(sorted(each.kind for each in found))
        raise UsageError(
            f"The condition of --where compares columns of the types {kinds}, which could fail at a value of the "
            "table: compare columns of one type."
        )
    return list(sides)


def _times(sides: Sequence[exp.Expr], types: set[str], named: dict[str, Column]) -> list[exp.Expr]:
    if _ZONED in types and len(types) > 1:
        raise UsageError(
            "The condition of --where compares a time that has a zone with one that has none, which could fail at a "
            "value of the table: compare columns of one type."
        )
    return [
        sql.cast(side, "TIMESTAMP") if isinstance(side, exp.Column) and named[side.name].type == _NANOSECONDS else side
        for side in sides
    ]


def _number(constant: exp.Expr) -> int | Decimal | None:
    """Return a number that a person wrote; None for a text.

    Raises:
        UsageError: no engine has it.
    """
    literal = constant.this if isinstance(constant, exp.Neg) else constant
    if not isinstance(literal, exp.Literal) or literal.is_string:
        return None
    text = literal.this
    if text.isascii() and text.isdigit() and int(text) <= _LARGEST:
        return int(text)
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("Infinity")
    if not number.is_finite() or (number and abs(number.adjusted()) > MOST_EXPONENT):
        raise UsageError("The condition of --where has a number that is too large, too small, or none.")
    return number
