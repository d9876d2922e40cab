"""What a run may take of the machine: memory, threads, and a place for what does not fit into memory."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_THREADS = 1024
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}
_LEAST = 10 * 1000**2  # less is never enough: DuckDB itself takes some
_MOST = 1000**5
_FOR_A_THREAD = 125 * 1000**2  # what DuckDB's own guide gives each, at the least


@dataclass(frozen=True)
class Resources:
    """What a run may take of the machine; what is not said is as DuckDB does it: four fifths of the memory, every core.

    The limit is that of the database. The process around it takes some 100 MB more, and a search keeps what it knows of
    a large lattice outside of it.

    Attributes:
        memory_limit: the memory of the database, such as "300MB" or "2GiB".
        threads: how many it works with; under a memory limit, by default one for each 125 MB of it, up to every core.
        temp_dir: a directory in which what does not fit into memory is put, in a private directory that is removed.

    Raises:
        UsageError: a size is not written like one, or is out of range; or so are threads.
    """

    memory_limit: str | None = None
    threads: int | None = None
    temp_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.memory_limit is not None:
            _check_size(self.memory_limit)
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise UsageError(f"--threads is a number from 1 to {MOST_THREADS:,}, not {self.threads}.")
        if self.temp_dir is not None and not os.fspath(self.temp_dir):
            raise UsageError("--temp-dir is empty: say which directory.")

    @property
    def settings(self) -> dict[str, str | int]:
        """The settings of DuckDB that it stands for, but for the directory.

        Who limits memory gets no more threads than it is enough for, and rows are read in any order, which takes less
        of it; a release leaves in an order of its own.
        """
        settings: dict[str, str | int] = {}
        if self.memory_limit is not None:
            settings["memory_limit"] = self.memory_limit
            settings["preserve_insertion_order"] = "false"
            enough_for = int((_bytes(self.memory_limit) or 0) // _FOR_A_THREAD)
            settings["threads"] = max(1, min(enough_for, os.cpu_count() or 1))
        if self.threads is not None:
            settings["threads"] = self.threads
        return settings

    @property
    def directory(self) -> Path | None:
        """The directory for what does not fit into memory, where one was named."""
        return None if self.temp_dir is None else Path(self.temp_dir)


_IN_FORCE: ContextVar[Resources] = ContextVar("kanon_resources")


@contextmanager
def using(resources: Resources) -> Iterator[None]:
    """Let every source that is opened inside, and is not told otherwise, take what is said here."""
    before = _IN_FORCE.set(resources)
    try:
        yield
    finally:
        _IN_FORCE.reset(before)


def in_force(given: Resources | None) -> Resources:
    """Return what was given, else what ``using`` says, else that nothing was said."""
    return given if given is not None else _IN_FORCE.get(Resources())


def _check_size(text: str) -> None:
    size = _bytes(text)
    if size is None:
        raise UsageError(f"--memory-limit is a size such as 300MB or 2GiB, not {text!r}.")
    if not _LEAST <= size <= _MOST:
        raise UsageError(f"--memory-limit is a size from 10MB to 1000TB, not {text!r}.")


def _bytes(text: str) -> float | None:
    """Return a size in bytes; None if it is not written like one."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    unit = (1024.0 if match[3] else 1000.0) ** _POWERS[match[2].upper()]
    return float(match[1]) * float(unit)
