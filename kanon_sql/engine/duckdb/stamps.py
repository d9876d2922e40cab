"""By what a change of a file is seen: its place on the disk, its size, its time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Stamps: TypeAlias = tuple[tuple[Any, ...], ...]


def stamps_of(files: Iterable[Path]) -> Stamps:
    """Return the stamps of those files that are there."""
    found = []
    for file in files:
        with suppress(OSError):
            stat = file.stat()
            found.append((str(file), stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(found)


def stamps_of_database(path: Path) -> Stamps:
    """Return the stamps of a DuckDB file, and of the log of changes beside it if there is one."""
    return stamps_of([path, path.with_name(f"{path.name}.wal")])
