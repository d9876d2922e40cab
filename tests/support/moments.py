"""The moments of a piece of work: before each operation on a file and each call of DuckDB, found while it is done.

No step is named here: Python reports operations on files (``sys.addaudithook``), and the connections that kanon opens
are wrapped. Two things can be done with the moments of some work:

- ``states_of``: do it once, and copy the directory at each moment. What is in a copy is what a process leaves that is
  killed at that moment, since nothing that it does afterwards is there.
- ``at_step``: let one step fail, as on a disk that is full; or kill the process there.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NO_ROOM = os.strerror(errno.ENOSPC)
_NO_STEPS = {"interrupt", "query_progress"}
"""What is called while a statement runs."""


@dataclass
class _Watch:
    """What to call before each step of work in a directory: with what it is, and the error that means it failed."""

    directory: Path
    reached: Callable[[str, Exception], None]
    active: bool = True

    def at(self, step: str, error: Exception) -> None:
        if self.active:
            self.active = False  # what is done meanwhile is no step
            try:
                self.reached(step, error)
            finally:
                self.active = True


@dataclass
class _Watches:
    now: _Watch | None = None
    hooked: bool = False


_WATCHES = _Watches()


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    watch = _WATCHES.now
    if watch is None or not watch.active or not (event == "open" or event.startswith(("os.", "shutil.", "tempfile."))):
        return
    paths = [str(each) for each in arguments if isinstance(each, (str, os.PathLike))]
    if any(str(watch.directory) in path for path in paths):
        names = (os.path.relpath(path, watch.directory) for path in paths if os.path.isabs(path))  # noqa: PTH117
        watch.at(f"{event} {' to '.join(names)}", OSError(errno.ENOSPC, NO_ROOM))


@dataclass(frozen=True)
class _Connection:
    """A connection of DuckDB, each call of which is a step."""

    real: duckdb.DuckDBPyConnection

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        if not callable(found) or name in _NO_STEPS:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            watch = _WATCHES.now
            if watch is not None:
                said = " ".join(str(arguments[0]).split())[:80] if arguments else ""
                watch.at(f"{name} {said}".strip(), duckdb.IOException(f"IO Error: Could not write file: {NO_ROOM}"))
            return found(*arguments, **named)

        return call


@contextmanager
def connections_with_steps() -> Iterator[None]:
    """Wrap the connections that are opened inside, so that what they are called for can be watched."""
    plain = duckdb.connect
    duckdb.connect = lambda *given, **named: _Connection(plain(*given, **named))  # type: ignore[assignment]
    try:
        yield
    finally:
        duckdb.connect = plain


@contextmanager
def _watching(directory: Path, reached: Callable[[str, Exception], None]) -> Iterator[None]:
    if not _WATCHES.hooked:
        sys.addaudithook(_heard)  # there for as long as Python runs
        _WATCHES.hooked = True
    _WATCHES.now = _Watch(directory, reached)
    try:
        yield
    finally:
        _WATCHES.now = None


@dataclass
class State:
    """What is in a directory at one or more moments that follow each other.

    Attributes:
        copy: a copy of the directory.
        steps: what would have been done next.
    """

    copy: Path
    steps: list[str] = field(default_factory=list)


def _bytes_of(directory: Path) -> dict[str, bytes | None]:
    return {
        str(file.relative_to(directory)): file.read_bytes() if file.is_file() else None for file in directory.rglob("*")
    }


def states_of(work: Callable[[], object], directory: Path, copies: Path) -> list[State]:
    """Do some work, and return the states of a directory that a kill could leave; the last is that of the end."""
    states: list[State] = []
    last: list[dict[str, bytes | None]] = []

    def reached(step: str, _: Exception | None = None) -> None:
        found = _bytes_of(directory)
        if [found] != last:
            last[:] = [found]
            states.append(State(copies / str(len(states))))
            shutil.copytree(directory, states[-1].copy, symlinks=True)
        states[-1].steps.append(step)

    with _watching(directory, reached):
        work()
    reached("the end")
    return states


@contextmanager
def at_step(number: int, directory: Path, act: Callable[[Exception], object]) -> Iterator[list[str]]:
    """Call ``act`` before the step of a number of what is done inside, with the error that means it failed.

    Yields a list that gets the steps up to that one: threads end in another order each time.
    """
    steps: list[str] = []

    def reached(step: str, error: Exception) -> None:
        if len(steps) <= number:
            steps.append(step)
            if len(steps) > number:
                act(error)

    with _watching(directory, reached):
        yield steps


def fail(error: Exception) -> None:
    """Let a step fail, as on a disk that is full."""
    raise error
