"""Rows that come by COPY, in files of a bounded size that lie in a private directory and are gone once read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.engine.private_files import private_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

BATCH = 64 * 1024 * 1024
"""Bytes after which a file is full."""


def batches(messages: Iterable[bytes | bytearray | memoryview], parent: Path) -> Iterator[Path]:
    """Yield one file after the other; there is one at least, which is empty where there are no rows.

    Args:
        messages: of COPY TO STDOUT: each has whole rows.
        parent: where the private directory is made.
    """
    with private_directory(parent) as private:
        rows = iter(messages)
        path, more = private.path / "rows.csv", True
        while more:
            more = _write(path, rows)
            yield path
            path.unlink()


def _write(path: Path, rows: Iterator[bytes | bytearray | memoryview]) -> bool:
    """Write rows to a file until it is full; tell whether there may be more."""
    size = 0
    with path.open("wb") as file:
        for row in rows:
            size += file.write(row)
            if size >= BATCH:
                return True
    return False
