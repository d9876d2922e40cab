"""Hierarchies as ARX reads them: no header, ``;`` between labels, ``"`` around what needs it, leaf first, root last.

ARX has no NULL: it knows empty texts, and the text NULL, which it takes for a missing value. NULL is written as an
empty field without quotes, the empty text as ``""``: ARX reads both as empty, and our reader tells them apart. For data
in which ARX finds the word NULL, that word can be written instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.pieces import VALUE, level_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NEEDS_QUOTES = set('";\r\n')
_BEGINS_ANOTHER_FORMAT = ("[", "{", "<", "\ufeff")


def arx_query(relation: exp.Table, height: int) -> exp.Select:
    """Return the query of the rows of a lookup relation, the values as text, in the order of the values."""
    value = sql.cast(sql.column(VALUE, relation.name), "VARCHAR")
    levels = [sql.column(level_name(level)) for level in range(1, height + 1)]
    order = exp.Ordered(this=sql.column(VALUE, relation.name), nulls_first=True)
    return exp.select(sql.named(value, VALUE), *levels).from_(relation.copy()).order_by(order)


def arx_text(rows: Iterable[Sequence[str | None]], null: str = "") -> str:
    """Return rows of a value and its labels as a file of ARX.

    Args:
        rows: the value first (None is NULL), then the label of each level up to the root.
        null: what stands for NULL.

    Raises:
        HierarchyError: a label is empty, which neither ARX nor our reader could tell from one that is missing.
    """
    lines = []
    for number, (value, *labels) in enumerate(rows, start=1):
        if not all(labels):
            raise HierarchyError(
                f"Row {number:,} of the hierarchy has an empty label, which a file cannot tell from one that is "
                "missing: give it a name."
            )
        first = null if value is None else _quoted(value)
        lines.append(";".join([first, *map(_quoted, labels)]))
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str | None) -> str:
    """Return a field, in quotes where it would be read as something else without."""
    plain = text or ""
    safe = plain == plain.strip() and plain.isprintable() and not _NEEDS_QUOTES & set(plain)
    if plain and safe and not plain.startswith(_BEGINS_ANOTHER_FORMAT):
        return plain
    return '"{}"'.format(plain.replace('"', '""'))
