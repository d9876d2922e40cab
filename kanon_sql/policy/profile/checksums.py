"""Numbers that check themselves: bank accounts modulo 97 (ISO 13616) and payment cards by Luhn (ISO/IEC 7812-1).

Asked in a statement of its own, of columns whose values look like such numbers already.
"""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column

_FIRST, _PIECE = 9, 7  # digits whose remainder is taken at a time: they fit a number of 64 bits with what went before
_LONGEST_IBAN = 34
_LONGEST_CARD = 19
_TEN = 10


def checksum_query(table: exp.Table, column: Column, kind: str) -> exp.Select:
    """Return the query that counts distinct values of a column whose check digits are right.

    Args:
        table: the table.
        column: of it.
        kind: ``iban`` or ``credit_card``.
    """
    text: exp.Expr = exp.Upper(this=sql.cast(sql.column(column.name, "source"), "VARCHAR"))
    for ignored in " -":
        text = exp.Replace(this=text, expression=sql.literal(ignored), replacement=sql.literal(""))
    values = exp.select(sql.named(text, "text")).distinct().from_(sql.aliased(table, "source")).subquery("present")
    digits = exp.select(sql.named(_iban_digits() if kind == "iban" else sql.column("text"), "digits")).from_(values)
    right = _mod_97_is_1() if kind == "iban" else _luhn_is_0()
    return exp.select(sql.named(sql.where(sql.count_rows(), right), "n")).from_(digits.subquery("numbers"))


def _iban_digits() -> exp.Expr:
    """Return an account number with its first four characters at the end, and each letter as two digits from 10."""
    text = sql.column("text")
    rest = exp.Substring(this=text, start=sql.literal(5))
    turned: exp.Expr = exp.DPipe(this=rest, expression=exp.Left(this=text.copy(), expression=sql.literal(4)), safe=True)
    for place, letter in enumerate(ascii_uppercase):
        turned = exp.Replace(this=turned, expression=sql.literal(letter), replacement=sql.literal(str(_TEN + place)))
    return turned


def _mod_97_is_1() -> exp.Expr:
    """Return whether the digits are 1 modulo 97: the remainder of the first digits, put before the next ones."""
    remainder = _mod_97(_digits(1, _FIRST))
    for start in range(_FIRST + 1, 2 * _LONGEST_IBAN + 1, _PIECE):
        more = exp.DPipe(this=sql.cast(remainder, "VARCHAR"), expression=_digits(start, _PIECE), safe=True)
        remainder = _mod_97(more)
    return exp.EQ(this=remainder, expression=sql.literal(1))


def _mod_97(digits: exp.Expr) -> exp.Expr:
    number = exp.TryCast(this=digits, to=exp.DataType.build("BIGINT", dialect="duckdb"))
    return exp.Mod(this=number, expression=sql.literal(97))


def _digits(start: int, length: int) -> exp.Expr:
    return exp.Substring(this=sql.column("digits"), start=sql.literal(start), length=sql.literal(length))


def _luhn_is_0() -> exp.Expr:
    """Return whether the digits from the last one, every second of them doubled, sum up to a multiple of ten."""
    padded = exp.Pad(
        this=sql.column("digits"), expression=sql.literal(_LONGEST_CARD), fill_pattern=sql.literal("0"), is_left=True
    )
    total: exp.Expr = sql.literal(0)
    for place in range(1, _LONGEST_CARD + 1):
        one = exp.Substring(this=padded.copy(), start=sql.literal(place), length=sql.literal(1))
        digit: exp.Expr = exp.TryCast(this=one, to=exp.DataType.build("INTEGER", dialect="duckdb"))
        if (_LONGEST_CARD - place) % 2:  # doubled; 12 is 1 + 2, as 12 - 9 is
            doubled = exp.Mul(this=digit, expression=sql.literal(2))
            over = exp.GT(this=digit.copy(), expression=sql.literal(4))
            less = exp.Case().when(over, sql.literal(9)).else_(sql.literal(0))
            digit = exp.Paren(this=exp.Sub(this=doubled, expression=less))
        total = exp.Add(this=total, expression=digit)
    return exp.EQ(this=exp.Mod(this=exp.Paren(this=total), expression=sql.literal(_TEN)), expression=sql.literal(0))
