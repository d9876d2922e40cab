"""Files that take the place of others: whole, on the disk, or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kanon_sql.engine.private_files import private_directory
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def workspace(beside: Path) -> Iterator[Path]:
    """Return a directory of our own on the disk of a file, which is gone afterwards with all that is in it.

    Raises:
        SourceError: none can be made there.
    """
    with private_directory(beside.parent) as private:
        yield private.path


def require_replaceable(path: Path) -> Path:
    """Return the file that a path leads to, which is to be replaced by another.

    Raises:
        UsageError: it has other names, which would keep the old content.
        SourceError: its directory cannot be written to.
    """
    real = path.resolve()
    names = real.stat().st_nlink
    if names > 1:
        raise UsageError(
            f"{path} has {names} names (hard links); the others would keep what is to be removed. Remove them first."
        )
    if not os.access(real, os.W_OK) or not os.access(real.parent, os.W_OK):
        raise SourceError(f"{path} cannot be replaced: the file or its directory is read-only.")
    return real


def require_space(directory: Path, needed: int, what: str) -> None:
    """Raise where a disk has less room than will be needed.

    Raises:
        SourceError: it has less.
    """
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise SourceError(
            f"{what} needs about {needed / 1e6:,.0f} MB in {directory}, where {free / 1e6:,.0f} MB are free. Make "
            "room there; nothing was changed."
        )


def take_place(new: Path, old: Path) -> None:
    """Give a file the name of another, with its owner and permissions: after a crash there is the one or the other.

    Raises:
        SourceError: it cannot be done; the old one is as it was.
    """
    try:
        facts = old.stat()
        new.chmod(facts.st_mode & 0o7777)
        with suppress(PermissionError):  # only root may give files away
            os.chown(new, facts.st_uid, facts.st_gid)
        take_name(new, old)
    except OSError as error:
        raise SourceError(f"{old} cannot be replaced: {error.strerror}. It is as it was.") from None


def take_name(new: Path, name: Path) -> None:
    """Give a file a name, in one step, once all of it is on the disk; what had the name before is gone."""
    sync(new)
    new.replace(name)
    with suppress(OSError):  # it has the name by now; some file systems cannot sync a directory
        sync(name.parent)


def remove_spill_of(database: Path) -> None:
    """Remove what DuckDB itself put beside a database when it did not fit into memory, and left when it was killed.

    Nobody else may have the database open.
    """
    directory = database.with_name(f"{database.name}.tmp")
    with suppress(OSError):
        for file in directory.glob("duckdb_temp_*"):
            file.unlink()
        directory.rmdir()


def require_no_log(*databases: Path) -> None:
    """Raise if there is a log beside a database file, or beside where one is to be: it would be taken for its own.

    Raises:
        SourceError: there is.
    """
    for file in databases:
        log = file.with_name(f"{file.name}.wal")
        if log.exists():
            raise SourceError(
                f"{log} is there: {file.name} is open elsewhere, or was not closed. Close it, or open and close it."
            )


def require_free(path: Path, *, replace: bool) -> None:
    """Raise unless a file can be written under a name, before any work is done for it.

    Raises:
        UsageError: it exists and may not be replaced.
        SourceError: its directory does not exist, or it is one.
    """
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")
    if path.is_dir():
        raise SourceError(f"{path} is a directory: name a file in it.")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already: give another name, or replace it (--replace).")


def write_whole(path: Path, text: str, what: str) -> None:
    """Write a text file, all of it or nothing; line ends are written as they are.

    Args:
        path: of the file.
        text: what is in it.
        what: what it is, at the beginning of a message: ``The report``.

    Raises:
        SourceError: it cannot be written.
    """
    try:
        with workspace(path) as directory:
            partial = directory / "partial"
            partial.write_text(text, encoding="utf-8", newline="")
            take_name(partial, path)
    except OSError as error:
        raise SourceError(f"{what} cannot be written to {path}: {error.strerror}.") from None


def copy_whole(file: Path, target: Path) -> None:
    """Copy a file to another name, all of it on the disk, or not at all.

    Raises:
        SourceError: it cannot be written.
    """
    try:
        with workspace(target) as directory:
            partial = directory / "copy"
            _copy(file, partial)
            take_name(partial, target)
    except OSError as error:
        raise SourceError(f"The backup {target} cannot be written: {error.strerror}. Nothing was changed.") from None


def _copy(file: Path, target: Path) -> None:
    """Copy a file that may be a database which is open.

    Its descriptor is never closed: POSIX takes all locks of a process on a file away when it closes any descriptor of
    it, DuckDB's lock among them, and others could write to a database that is about to be replaced.
    """
    with target.open("wb") as copy, open(os.open(file, os.O_RDONLY), "rb", closefd=False) as original:
        shutil.copyfileobj(original, copy)
    shutil.copystat(file, target)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    if os.name == "nt" and path.is_dir():  # where directories cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
