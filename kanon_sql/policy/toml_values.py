"""Values of a kanon.toml, checked one by one: what a person wrote may be anything."""

from __future__ import annotations

import math
from typing import Any

from kanon_sql.errors import PolicyError, UsageError


def column_names(value: Any, where: str) -> tuple[str, ...]:  # noqa: ANN401 - what a TOML file may hold
    """Return a list of column names.

    Raises:
        PolicyError: it is something else.
    """
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise PolicyError(f'columns.{where} is a list of column names, as in ["age", "sex"].')
    return tuple(value)


def checked(value: Any, kind: type, where: str) -> Any:  # noqa: ANN401 - what a TOML file may hold
    """Return a value of a kind; None stays None.

    Raises:
        PolicyError: it is something else.
    """
    if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
        kinds = {str: "a text", int: "a whole number", bool: "true or false"}
        raise PolicyError(f"{where} must be {kinds[kind]}.")
    return value


def number(value: Any, where: str) -> Any:  # noqa: ANN401 - what a TOML file may hold
    """Return a number; None stays None.

    Raises:
        PolicyError: it is something else.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value)):
        raise PolicyError(f"{where} must be a number.")
    return value


def threshold(value: Any, where: str) -> float:  # noqa: ANN401 - what a TOML file may hold
    """Return a number that must be there.

    Raises:
        PolicyError: it is something else.
    """
    found = number(value, where)
    if found is None:
        raise PolicyError(f"{where} must be a number.")
    return float(found)


def limit(value: Any) -> Any:  # noqa: ANN401 - what a TOML file may hold
    """Return a limit of suppression: a text, or a number.

    Raises:
        PolicyError: it is something else.
    """
    return value if isinstance(value, str) else number(value, "search.max_suppressed")


def one_of(value: Any, allowed: tuple[str, ...], where: str) -> Any:  # noqa: ANN401 - what a TOML file may hold
    """Return one of several words; None stays None.

    Raises:
        PolicyError: it is something else.
    """
    if value is not None and value not in allowed:
        raise PolicyError(f"{where} must be {' or '.join(allowed)}.")
    return value


def require_place(search_on: str) -> None:
    """Raise unless a word says where a search runs.

    Raises:
        UsageError: it says something else.
    """
    if search_on not in {"workbench", "warehouse"}:
        raise UsageError(f"search_on is workbench or warehouse, not {search_on!r}.")
