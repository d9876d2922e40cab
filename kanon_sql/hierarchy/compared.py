"""Codes as they are compared: in capitals, without dots, hyphens and spaces."""

from __future__ import annotations

import re

from sqlglot import exp

from kanon_sql.hierarchy.pieces import value_text
from kanon_sql.sql import build as sql

_IGNORED = ".- "


def compared(text: str) -> str:
    """Return a text as it is compared (``compared_value`` in SQL)."""
    return re.sub(f"[{re.escape(_IGNORED)}]", "", text).upper()


def compared_value(value: exp.Expr, family: str = "text") -> exp.Expr:
    """Return the expression of a value of a family of types as it is compared."""
    text = value_text(value, family)
    for character in _IGNORED:
        text = exp.Replace(this=text, expression=sql.literal(character), replacement=sql.literal(""))
    return exp.Upper(this=text)


def matches(pattern: str, code: exp.Expr) -> exp.Expr:
    """Return whether the whole of a value as it is compared matches a regular expression."""
    return exp.RegexpLike(this=code.copy(), expression=sql.literal(f"^({pattern})$"))
