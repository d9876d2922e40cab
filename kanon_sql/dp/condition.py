"""Conditions on single rows (``--where``), in SQL: they select the rows of a question.

Adding or removing a person may change the rows of that person alone. So a condition has no subquery, no aggregate, no
window and no function: it compares columns with values and with each other, and joins comparisons by AND, OR and NOT.
It also cannot fail at a value of the table, since an error would reveal that value for free.

Both sides of a comparison are cast to one family of types. DuckDB makes a whole number a DECIMAL(38, 30) if it is
compared with 1.000000000000000000000000000000, and stops at the first value that does not fit: ``--where "age = 30 AND
salary > 1.000..."`` would reveal, by an error and for free, whether such a row exists. Constants that do not fit are as
bad: they fail only if there is a row to compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engine.base import resolve_columns
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import NUMBERS
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column

SOURCE = "source"
"""Name of the table in the statements of this package."""
MOST_EXPONENT = 290
"""Largest exponent of a given number. Beyond it, engines have 0, infinity or an error, and the error only if there are
rows.
"""
_LARGEST = 2**127 - 1
_ZONED = "TIMESTAMP WITH TIME ZONE"
_NANOSECONDS = "TIMESTAMP_NS"  # from 1677 to 2262
_NO_SIGN = "UHUGEINT"  # the only whole-number type without a common type with all others

_KNOWN = {"this", "expression", "expressions", "low", "high", "table", "is_string", "to", "quoted"}
_MOMENTS = {"date": "DATE", "timestamp": "TIMESTAMP"}
_WORDS = (
    "compare columns with values (=, <>, <, <=, >, >=, BETWEEN, IN (...), LIKE, IS NULL) and join that by AND, OR and "
    "NOT"
)
_JOINED = (exp.And, exp.Or, exp.Not, exp.Paren)
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Between)


def condition(text: str, columns: Sequence[Column], table: str) -> exp.Expr:
    """Parse a condition on rows, and rebuild it from known parts only.

    Raises:
        UsageError: it is not a condition, reads more than one row, could fail at a value, or names no column.
    """
    try:
        parsed = sqlglot.parse_one(text, read="duckdb", into=exp.Condition)
    except SqlglotError:
        raise _refused(f" cannot be read: {_WORDS}.") from None
    for node in parsed.walk():
        node.comments = None
    return _Condition(columns, table).checked(parsed)


@dataclass(frozen=True)
class _Condition:
    """A condition on the rows of a table with these columns."""

    columns: Sequence[Column]
    table: str

    def checked(self, node: exp.Expr) -> exp.Expr:
        if node.args.pop("negate", None):  # sqlglot's form of NOT LIKE
            return exp.Not(this=exp.Paren(this=self.checked(node)))
        _require_known(node)
        if isinstance(node, _JOINED):
            parts = map(self.checked, node.iter_expressions())
            return type(node)(**dict(zip(("this", "expression"), parts, strict=False)))
        if isinstance(node, exp.Boolean | exp.Column):
            return self._side(node, {"boolean"})[0]
        if isinstance(node, _COMPARED):
            return self._compared(node)
        if isinstance(node, exp.Like | exp.ILike):
            pattern = node.expression
            if not (isinstance(pattern, exp.Literal) and pattern.is_string and "\\" not in pattern.this):
                raise UsageError("The pattern of LIKE in --where is a text without backslashes: 'A%'.")
            return type(node)(this=self._side(node.this, {"text"})[0], expression=pattern.copy())
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null | exp.Boolean):
            wanted = {"boolean"} if isinstance(node.expression, exp.Boolean) else None
            return exp.Is(this=self._side(node.this, wanted)[0], expression=node.expression.copy())
        raise _unknown()

    def _compared(self, node: exp.Expr) -> exp.Expr:
        others = {name: given for name, given in node.args.items() if name != "this" and given}
        if isinstance(node, exp.In) and others.keys() != {"expressions"}:
            raise _unknown()
        subject, families = self._side(node.this)
        sides = [other for given in others.values() for other in (given if isinstance(given, list) else [given])]
        subject, *sides = self._alike([subject, *(self._side(side, families)[0] for side in sides)])
        if isinstance(node, exp.In):
            return exp.In(this=subject, expressions=sides)
        return type(node)(this=subject, **dict(zip(others, sides, strict=True)))

    def _side(self, node: exp.Expr, wanted: set[str] | None = None) -> tuple[exp.Expr, set[str]]:
        """Return one side of a comparison, and the families of types that it can be compared with."""
        if wanted is not None and isinstance(node, exp.Literal) and node.is_string and len(wanted) == 1:
            (family,) = wanted
            if (kind := _MOMENTS.get(family)) is not None:  # DATE may be left out before a date
                return _moment(node.this, kind), wanted
        found, families = self._value(node)
        if wanted is not None and not families & wanted:
            raise _refused(
                f" compares {' or '.join(sorted(wanted))} with values of another type, which could fail at a value of "
                "the table. Texts stand in single quotes, numbers do not, and dates are written DATE '2020-01-31'."
            )
        return found, families

    def _value(self, node: exp.Expr) -> tuple[exp.Expr, set[str]]:
        _require_known(node)
        inner = node.this
        if isinstance(node, exp.Paren):
            return self._value(inner)
        if isinstance(node, exp.Column) and not node.args.get("db") and node.table in {"", SOURCE, self.table}:
            (column,) = resolve_columns([node.name], self.columns, self.table)
            families = NUMBERS if column.family in NUMBERS else {column.family}
            return sql.column(column.name, SOURCE), set(families)
        if isinstance(node, exp.Boolean):
            return exp.Boolean(this=inner), {"boolean"}
        if isinstance(node, exp.Literal):
            return node.copy(), {"text"} if node.is_string else set(NUMBERS)
        if isinstance(node, exp.Neg) and isinstance(inner, exp.Literal) and not inner.is_string:
            return exp.Neg(this=inner.copy()), set(NUMBERS)
        if isinstance(node, exp.Cast) and isinstance(inner, exp.Literal) and inner.is_string:
            for family, kind in _MOMENTS.items():
                if node.to == exp.DataType.build(kind, dialect="duckdb"):
                    return _moment(inner.this, kind), {family}
        raise _unknown()

    def _alike(self, sides: list[exp.Expr]) -> list[exp.Expr]:
        """Return the sides of a comparison cast to one family of types, so that comparing them cannot fail."""
        named = {column.name: column for column in self.columns}
        constants = [side for side in sides if not isinstance(side, exp.Column)]
        found = [named[side.name] for side in sides if isinstance(side, exp.Column)]
        types, families = {column.type for column in found}, {column.family for column in found}
        if len(types) == 1 and not constants:
            return sides
        numbers = [_number(each) for each in constants if each.find(exp.Literal) and not each.find(exp.Cast)]
        if families & NUMBERS or any(number is not None for number in numbers):
            whole = all(isinstance(number, int) for number in numbers)
            if whole and families <= {"integer"} and _NO_SIGN not in types:
                return sides
            return [sql.cast(side, "DOUBLE") for side in sides]
        if families == {"timestamp"}:
            if _ZONED in types and len(types) > 1:
                raise _refused(
                    " compares a time that has a zone with one that has none, which could fail at a value of the "
                    "table: compare columns of one type."
                )
            is_long = [isinstance(side, exp.Column) and named[side.name].type == _NANOSECONDS for side in sides]
            return [sql.cast(side, "TIMESTAMP") if long else side for side, long in zip(sides, is_long, strict=True)]
        if "other" in families:
            kinds = " and ".join(sorted(each.kind for each in found))
            raise _refused(
                f" compares columns of the types {kinds}, which could fail at a value of the table: compare columns of "
                "one type."
            )
        return sides


def _number(constant: exp.Expr) -> int | Decimal | None:
    """Return a number literal; None for a text."""
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
        raise _refused(" has a number that is too large, too small, or none.")
    return number


def _moment(text: str, kind: str) -> exp.Expr:
    try:
        moment = str(date.fromisoformat(text)) if kind == "DATE" else datetime.fromisoformat(text).isoformat(" ")
    except ValueError:
        raise _refused(f" has a {kind} that is none: write it as 2020-01-31.") from None
    return sql.cast(exp.Literal.string(moment), kind)


def _require_known(node: exp.Expr) -> None:
    """Raise if a node has parts that are not rebuilt, so that no part of a condition is lost."""
    if any(value and name not in _KNOWN for name, value in node.args.items()):
        raise _unknown()


def _unknown() -> UsageError:
    return _refused(
        f" may look at one row at a time, by its columns alone: {_WORDS}. Functions and subqueries are not for it."
    )


def _refused(why: str) -> UsageError:
    return UsageError(f"The condition of --where{why}")
