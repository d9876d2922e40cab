"""By what a change of a file is seen: its place on the disk, its size, its time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from kanon_sql.errors import VerificationError

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


def require_same_database(path: Path, before: Stamps, between: Stamps) -> None:
    """Raise if a database that was open for reading, and is open again, was changed while it was not.

    What opening it writes itself, where there is a log of changes, is not looked at.

    Args:
        path: of the file.
        before: its stamps while it was open.
        between: its stamps just before it was opened again.

    Raises:
        VerificationError: it was changed.
    """
    if before != between or (len(before) == 1 and before != stamps_of_database(path)):
        raise VerificationError(f"Another process changed {path} after it was read; nothing was written. Run it again.")
