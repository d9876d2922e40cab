"""Conditions on single rows (``--where``), in SQL: which rows a question is about.

What a person comes or goes with must be that person's rows alone. So a condition has no subquery, no aggregate, no
window and no function: it compares columns with values and with each other, and joins comparisons by AND, OR and NOT.
It cannot fail at a value of the table either, since an error would tell of that value without being paid for.

Both sides of a comparison are cast to one family of types. DuckDB makes a whole number a DECIMAL(38, 30) where it is
compared with 1.000000000000000000000000000000, and stops at the first value that has no room there: ``--where "age = 30
AND salary > 1.000..."`` would tell, by an error and for nothing, whether there is such a row. Constants that have no
room are as bad: they fail only where a row comes to them.
"""

from __future__ import annotations

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
    from collections.abc import Callable, Sequence

    from kanon_sql.engine.base import Column

_ZONED = "TIMESTAMP WITH TIME ZONE"
_NANOSECONDS = "TIMESTAMP_NS"  # from 1677 to 2262
_NO_SIGN = "UHUGEINT"  # the one type of whole numbers that not all others have a common type with
_LARGEST = 2**127 - 1

MOST_EXPONENT = 290
"""Of what a person gives: beyond, engines have 0, infinity or an error, and the error only where there are rows."""


def alike(sides: Sequence[exp.Expr], columns: Sequence[Column]) -> list[exp.Expr]:
    """Return the sides of a comparison (columns and constants), of one family of types: comparing them cannot fail."""
    named = {column.name: column for column in columns}
    found = [named[side.name] for side in sides if isinstance(side, exp.Column)]
    types, families = {column.type for column in found}, {column.family for column in found}
    constants = [side for side in sides if not isinstance(side, exp.Column)]
    numbers = [_constant(each) for each in constants if each.find(exp.Literal) and not each.find(exp.Cast)]
    if len(types) == 1 and not constants:
        return list(sides)
    if families & NUMBERS or any(number is not None for number in numbers):
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


def _constant(constant: exp.Expr) -> int | Decimal | None:
    """Return a number that a person wrote; None for a text."""
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


SOURCE = "source"
"""The name that the table has in the statements of this package."""

_KNOWN = {"this", "expression", "expressions", "low", "high", "table", "is_string", "to", "quoted"}
_MOMENTS = {"date": "DATE", "timestamp": "TIMESTAMP"}
_WORDS = (
    "compare columns with values (=, <>, <, <=, >, >=, BETWEEN, IN (...), LIKE, IS NULL) and join that by AND, OR and "
    "NOT"
)


def condition(text: str, columns: Sequence[Column], table: str) -> exp.Expr:
    """Return a condition on rows, with names and values as nodes of the tree.

    Raises:
        UsageError: it is no condition, looks at more than one row, could fail at a value, or names no column.
    """
    try:
        parsed = sqlglot.parse_one(text, read="duckdb", into=exp.Condition)
    except SqlglotError:
        raise UsageError(f"The condition of --where cannot be read: {_WORDS}.") from None
    for node in parsed.walk():
        node.comments = None
    return _checked(parsed, columns, table)


def _checked(node: exp.Expr, columns: Sequence[Column], table: str) -> exp.Expr:
    """Return a condition built again from the parts that are known."""
    if node.args.pop("negate", None):  # sqlglot's form of NOT LIKE
        return exp.Not(this=exp.Paren(this=_checked(node, columns, table)))
    _require_known(node)
    for kinds, made in _CONDITIONS:
        if isinstance(node, kinds):
            return made(node, columns, table)
    raise _unknown()


def _joined(node: exp.Expr, columns: Sequence[Column], table: str) -> exp.Expr:
    parts = [_checked(part, columns, table) for part in node.iter_expressions()]
    return type(node)(**dict(zip(("this", "expression"), parts, strict=False)))


def _truth(node: exp.Expr, columns: Sequence[Column], table: str) -> exp.Expr:
    """Return a column of truth values, or one of these, which is a condition by itself."""
    return _side(node, columns, table, {"boolean"})[0]


def _compared(node: exp.Expr, columns: Sequence[Column], table: str) -> exp.Expr:
    left, families = _side(node.this, columns, table)
    left, right = alike([left, _side(node.expression, columns, table, families)[0]], columns)
    return type(node)(this=left, expression=right)


def _between(node: exp.Expr, columns: Sequence[Column], table: str) -> exp.Expr:
    subject, families = _side(node.this, columns, table)
    low, high = (_side(node.args[bound], columns, table, families)[0] for bound in ("low", "high"))
    subject, low, high = alike([subject, low, high], columns)
    return exp.Between(this=subject, low=low, high=high)


def _like(node: exp.Expr, columns: Sequence[Column], table: str) -> exp.Expr:
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string and "\\" not in pattern.this):
        raise UsageError("The pattern of LIKE in --where is a text without backslashes: 'A%'.")
    return type(node)(this=_side(node.this, columns, table, {"text"})[0], expression=pattern.copy())


def _is(node: exp.Expr, columns: Sequence[Column], table: str) -> exp.Expr:
    if isinstance(node.expression, exp.Null):
        return exp.Is(this=_side(node.this, columns, table)[0], expression=exp.null())
    if isinstance(node.expression, exp.Boolean):
        subject = _side(node.this, columns, table, {"boolean"})[0]
        return exp.Is(this=subject, expression=exp.Boolean(this=node.expression.this))
    raise _unknown()


def _in(node: exp.Expr, columns: Sequence[Column], table: str) -> exp.Expr:
    if not node.expressions or any(node.args.get(part) is not None for part in ("query", "unnest", "field")):
        raise _unknown()
    subject, families = _side(node.this, columns, table)
    listed = [_side(value, columns, table, families)[0] for value in node.expressions]
    subject, *listed = alike([subject, *listed], columns)
    return exp.In(this=subject, expressions=listed)


_CONDITIONS: tuple[tuple[tuple[type[exp.Expr], ...], Callable[..., exp.Expr]], ...] = (
    ((exp.And, exp.Or, exp.Not, exp.Paren), _joined),
    ((exp.Boolean, exp.Column), _truth),
    ((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ), _compared),
    ((exp.Is,), _is),
    ((exp.In,), _in),
    ((exp.Between,), _between),
    ((exp.Like, exp.ILike), _like),
)


def _side(
    node: exp.Expr, columns: Sequence[Column], table: str, wanted: set[str] | None = None
) -> tuple[exp.Expr, set[str]]:
    """Return one side of a comparison, and the families of types that it can be compared with."""
    if wanted is not None and isinstance(node, exp.Literal) and node.is_string and len(wanted) == 1:
        (family,) = wanted
        if (kind := _MOMENTS.get(family)) is not None:  # DATE need not be written where a date is meant
            return sql.cast(exp.Literal.string(_moment(node.this, kind)), kind), wanted
    found, families = _value(node, columns, table)
    if wanted is not None and not families & wanted:
        raise UsageError(
            f"The condition of --where compares {' or '.join(sorted(wanted))} with values of another type, which could "
            "fail at a value of the table. Texts stand in single quotes, numbers do not, and dates are written DATE "
            "'2020-01-31'."
        )
    return found, families


def _value(node: exp.Expr, columns: Sequence[Column], table: str) -> tuple[exp.Expr, set[str]]:
    _require_known(node)
    if isinstance(node, exp.Paren):
        return _value(node.this, columns, table)
    if isinstance(node, exp.Column) and not node.args.get("db") and node.table in {"", SOURCE, table}:
        (column,) = resolve_columns([node.name], columns, table)
        families = NUMBERS if column.family in NUMBERS else {column.family}
        return sql.column(column.name, SOURCE), set(families)
    if isinstance(node, exp.Boolean):
        return exp.Boolean(this=node.this), {"boolean"}
    return _literal(node)


def _literal(node: exp.Expr) -> tuple[exp.Expr, set[str]]:
    if isinstance(node, exp.Literal):
        return node.copy(), {"text"} if node.is_string else set(NUMBERS)
    inner = node.this
    if isinstance(node, exp.Neg) and isinstance(inner, exp.Literal) and not inner.is_string:
        return exp.Neg(this=inner.copy()), set(NUMBERS)
    if isinstance(node, exp.Cast) and isinstance(inner, exp.Literal) and inner.is_string:
        for kind, family in (("DATE", "date"), ("TIMESTAMP", "timestamp")):
            if node.to == exp.DataType.build(kind, dialect="duckdb"):
                return sql.cast(exp.Literal.string(_moment(inner.this, kind)), kind), {family}
    raise _unknown()


def _moment(text: str, kind: str) -> str:
    try:
        return str(date.fromisoformat(text)) if kind == "DATE" else datetime.fromisoformat(text).isoformat(" ")
    except ValueError:
        raise UsageError(f"The condition of --where has a {kind} that is none: write it as 2020-01-31.") from None


def _require_known(node: exp.Expr) -> None:
    """Raise where a node has more than what is built of it again, so that nothing of a condition is lost."""
    if any(value and name not in _KNOWN for name, value in node.args.items()):
        raise _unknown()


def _unknown() -> UsageError:
    return UsageError(
        f"The condition of --where may look at one row at a time, by its columns alone: {_WORDS}. Functions and "
        "subqueries are not for it."
    )
