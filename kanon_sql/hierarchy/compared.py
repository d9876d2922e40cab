"""Codes as they are compared: in capitals, without dots, hyphens and spaces."""

from __future__ import annotations

import re

from sqlglot import exp

from kanon_sql import sql

_IGNORED = ".- "


def compared(text: str) -> str:
    """Return a text as it is compared (``compared_value`` in SQL)."""
    return re.sub(f"[{re.escape(_IGNORED)}]", "", text).upper()


def compared_value(value: exp.Expr) -> exp.Expr:
    """Return the expression of a value as it is compared."""
    text: exp.Expr = sql.cast(value, "VARCHAR")
    for character in _IGNORED:
        text = exp.Replace(this=text, expression=sql.literal(character), replacement=sql.literal(""))
    return exp.Upper(this=text)


def matches(pattern: str, code: exp.Expr) -> exp.Expr:
    """Return whether the whole of a value as it is compared matches a regular expression."""
    return exp.RegexpLike(this=code.copy(), expression=sql.literal(f"^({pattern})$"))
