"""Tables of small cases: one test goes through all rows, and names every row that fails."""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from effort import count, is_spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

CASE = type(pytest.param())
DIRECTORIES = ("tmp_path", "in_tmp")


def each(names: str | tuple[str, ...], table: Iterable[Any], *, quick: int | None = None) -> Callable[[Any], Any]:
    """Return the decorator that runs a test for every row of a table, as one case.

    It is written as `pytest.mark.parametrize` is. Fixtures are made once, but for the directory of the test: each row
    has one of its own below it. A failing row does not hide those after it.

    Args:
        names: of the parameters that the table gives.
        table: a row of values for each time that the test is run; just the value if there is one name.
        quick: how many rows the quick run does, spread evenly; all of them if None.
    """
    parameters = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    rows = [row_of(row, len(parameters)) for row in table]
    assert rows, "a table without rows tests nothing"
    wanted = count(len(rows), quick=min(quick or len(rows), len(rows)))
    done = [row for place, row in enumerate(rows) if is_spread(place, len(rows), wanted)]

    def decorate(test: Any) -> Any:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def all_rows(**fixtures: Any) -> None:
            failures = []
            own = {name: path for name, path in fixtures.items() if name in DIRECTORIES}
            for number, row in enumerate(done):
                given = dict(zip(parameters, row, strict=True))
                try:
                    test(**fixtures | directories(own, number) | given)
                except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever it is, it is reported below
                    failures.append(f"{given}:\n{traceback.format_exc(limit=-3)}")
            if failures:
                pytest.fail(f"{len(failures)} of {len(done)} rows:\n\n" + "\n\n".join(failures), pytrace=False)

        others = [each for name, each in signature.parameters.items() if name not in parameters]
        all_rows.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]  # pytest reads it
        return pytest.mark.deeper(all_rows) if quick is not None and quick < len(rows) else all_rows

    return decorate


def row_of(row: Any, length: int) -> tuple[Any, ...]:
    """Return the values of a row; what else `pytest.param` says of it is for people."""
    if isinstance(row, CASE):
        return tuple(row.values)
    return tuple(row) if length > 1 else (row,)


def directories(own: dict[str, Path], number: int) -> dict[str, Path]:
    """Make a directory for a row below that of the test, and go there where the test was in its own."""
    made = {name: path / f"row{number}" for name, path in own.items()}
    for name, path in made.items():
        path.mkdir(exist_ok=True)
        if name == "in_tmp":
            os.chdir(path)
    return made
