"""Columns by their names, as a person writes them."""

from __future__ import annotations

import csv
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kanon_sql.errors import UsageError
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.engine.base import Column


def names(given: Sequence[str]) -> tuple[str, ...]:
    """Return names as they were given.

    Raises:
        UsageError: one text stands where a list of names belongs.
    """
    if isinstance(given, str):
        raise UsageError(f"Give a list of column names, such as [{given!r}], not a text.")
    return tuple(given)


def named_once(names: Iterable[str], source: str) -> None:
    """Raise unless the names of a source's columns are different ones to SQL.

    Raises:
        UsageError: two are the same but for case: DuckDB would rename one, and a role could go to the wrong one.
    """
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.get(folded(name))) is not None:
            raise UsageError(
                f"{source} has two columns that SQL cannot tell apart, {other!r} and {name!r}: rename or drop one."
            )
        seen[folded(name)] = name


def _in_short(names: Sequence[str]) -> str:
    shown = 20
    return ", ".join(names[:shown]) + (f" and {len(names) - shown:,} more" if len(names) > shown else "")


def resolve_columns(names: Iterable[str], columns: Sequence[Column], table: str) -> list[Column]:
    """Return the columns that a person named, compared exactly first, then without regard to case, as SQL does.

    Raises:
        UsageError: a name is of no column.
    """
    resolved = []
    for name in names:
        column = find_column(name, columns)
        if column is None:
            known = [column.name for column in columns]
            meant = "".join(f" Did you mean {close!r}?" for close in get_close_matches(name, known, 1))
            raise UsageError(f"{table} has no column {name!r}. It has: {_in_short(known)}.{meant}")
        resolved.append(column)
    return resolved


def split_names(texts: Iterable[str], columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names in texts that are each a name or a list of names with commas between.

    A column whose own name has a comma in it is found by its full name, and by its name in quotes in a list.

    Raises:
        UsageError: a text could be read both ways.
    """
    names: list[str] = []
    for text in texts:
        parts = _listed(text)
        if find_column(text, columns) is None:
            names.extend(parts)
        elif len(parts) > 1 and any(find_column(part, columns) for part in parts):
            raise UsageError(
                f"{text!r} is a column, and a list of columns too: put the name of the one column in quotes."
            )
        else:
            names.append(text)
    return tuple(names)


def _listed(names: str) -> list[str]:
    try:
        return [part.strip() for part in next(csv.reader([names], skipinitialspace=True), [])] or [names]
    except csv.Error:
        return [names]


def find_column(name: str, columns: Sequence[Column]) -> Column | None:
    """Return the column of a name: the same, or else the same but for case.

    No relation that DuckDB reads has two columns that differ in case only; ``open_source`` sees to those that others
    make.
    """
    exact = [column for column in columns if column.name == name]
    alike = [column for column in columns if folded(column.name) == folded(name)]
    return next(iter([*exact, *alike]), None)
