"""Private directories, atomic file writes, and detection of file changes (inode, size, mtime).

Private directories contain values: data that does not fit in memory, and unfinished files. Each is accessible to its
owner alone (mode 0700), locked while its process lives, and removed at the end, on an error and on a signal. The lock
of a killed process ends with it, so the next process that makes a directory in the same place removes what it left. On
a system without such locks, nothing is removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias

from kanon_sql.errors import SearchInterruptedError, SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX, _SUFFIX = ".kanon-", ".tmp"
_NAME = re.compile(r"\.kanon-[a-z0-9_]{8}\.tmp")  # the names that mkdtemp makes from the two
_PRIVATE = 0o700
_JSON, _HEAD = re.compile(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{"), 4096


class PrivateDirectory:
    """A directory that no other user can read and that is removed at the end of its process."""

    def __init__(self, parent: Path) -> None:
        """Make one in a directory, after removing those of dead processes there."""
        with uninterrupted():
            _remove_abandoned(parent)
            self.path, lock = _made(parent)
            # At the latest when it is garbage-collected or Python ends.
            self._end = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def remove(self) -> None:
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


@contextmanager
def uninterrupted(done: str = "") -> Iterator[None]:
    """Delay Ctrl-C and other signals until the end of the block.

    Python handles signals in the main thread, between any two steps. One that arrives while DuckDB works in that thread
    would become an error of DuckDB. ``done`` is the result of the block, for the error of a signal that arrived
    meanwhile.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    ended = False
    try:
        for number in filter(None, (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP", "SIGINT"))):
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda number, _: came.append(number))
        yield
        ended = bool(done)
    finally:
        for number in reversed(before):
            signal.signal(number, before[number])
        try:
            for number in sorted(came, key=list(before).index):  # first one that ends the process, then Ctrl-C
                signal.raise_signal(number)
        except KeyboardInterrupt:
            if not ended:
                raise
            raise SearchInterruptedError(f"Interrupted; {done}.") from None
        except SystemExit as ending:
            if ended:
                ending.add_note(done)
            raise


def private_directory(parent: Path) -> PrivateDirectory:
    """Return a private directory in the directory of a file to be written."""
    try:
        return PrivateDirectory(parent)
    except OSError as error:
        raise unwritable(parent, error.strerror) from None


def unwritable(directory: Path, why: str | None) -> SourceError:
    return SourceError(f"The directory {directory} cannot be written ({why}): say after --out where to write instead.")


def copied_stream(stream: IO[bytes], what: str) -> tuple[PrivateDirectory, Path]:
    """Copy a CSV or JSON stream to a private file; messages start with ``what``."""
    try:
        private = PrivateDirectory(Path(tempfile.gettempdir()))
        copy = private.path / what
        with copy.open("wb+") as file:
            shutil.copyfileobj(stream, file)
            file.seek(0)
            is_json = _JSON.match(file.read(_HEAD))
        return private, copy.rename(copy.with_suffix(".json" if is_json else ".csv"))
    except OSError as error:
        raise SourceError(f"{what} cannot be copied to {tempfile.gettempdir()}: {error.strerror}.") from None


def is_in_private_directory(path: str | os.PathLike[str]) -> bool:
    """Return True if a path or address is in a private directory, and so is removed after the run."""
    return is_private(Path(path).parent.name)


def is_private(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _made(parent: Path) -> tuple[Path, int | None]:
    """Return a new directory and the descriptor that holds its lock; None if there are no locks."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=parent)).absolute()
        if fcntl is None:
            return path, None
        # Until it is locked, another process may find and remove it.
        try:
            lock = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(lock)):
                return path, lock
        os.close(lock)


def _remove(path: Path, lock: int | None, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the process that uses it
        return
    with uninterrupted():
        shutil.rmtree(path, ignore_errors=True)
        if lock is not None:
            with suppress(OSError):
                os.close(lock)


def _remove_abandoned(parent: Path) -> None:
    """Remove private directories of dead processes from a directory."""
    if fcntl is None:
        return
    with suppress(OSError):  # one that cannot be listed; making one reports the problem
        for name in os.listdir(parent):  # noqa: PTH208 - names alone: there may be many files
            if is_private(name):
                _remove_if_abandoned(parent / name)


def _remove_if_abandoned(path: Path) -> None:
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # gone, of another user, or not a directory
        return
    try:
        found = os.fstat(lock)
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _PRIVATE:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # its process lives, or there are no locks
        pass
    finally:
        os.close(lock)


@contextmanager
def workspace(beside: Path) -> Iterator[Path]:
    """Yield a private directory on the disk of a file; it is deleted on exit."""
    with private_directory(beside.parent) as private:
        yield private.path


def require_replaceable(path: Path) -> Path:
    """Return the file that a path resolves to, which will be replaced."""
    real = path.resolve()
    names = real.stat().st_nlink
    if names > 1:
        raise UsageError(
            f"{path} has {names} names (hard links); the others would keep the removed data. Remove them first."
        )
    if not os.access(real, os.W_OK) or not os.access(real.parent, os.W_OK):
        raise SourceError(f"{path} cannot be replaced: the file or its directory is read-only.")
    return real


def require_space(directory: Path, needed: int, what: str) -> None:
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise SourceError(
            f"{what} needs about {needed / 1e6:,.0f} MB in {directory}, where {free / 1e6:,.0f} MB are free. Make "
            "room there; nothing was changed."
        )


def take_place(new: Path, old: Path) -> None:
    """Replace an old file by a new one, keeping its owner and permissions; a crash leaves one or the other."""
    try:
        facts = old.stat()
        new.chmod(facts.st_mode & 0o7777)
        with suppress(PermissionError):  # only root may change the owner of a file
            os.chown(new, facts.st_uid, facts.st_gid)
        take_name(new, old)
    except OSError as error:
        raise SourceError(f"{old} cannot be replaced: {error.strerror}. It is as it was.") from None


def take_name(new: Path, name: Path) -> None:
    """Rename a file atomically after writing all of it to disk; replaces a file of that name."""
    sync(new)
    new.replace(name)
    with suppress(OSError):  # already renamed; some file systems cannot sync a directory
        sync(name.parent)


def remove_spill_of(database: Path) -> None:
    """Remove spill files that a killed DuckDB process left beside a database.

    No other process may have the database open.
    """
    directory = database.with_name(f"{database.name}.tmp")
    with suppress(OSError):
        for file in directory.glob("duckdb_temp_*"):
            file.unlink()
        directory.rmdir()


def require_no_log(*databases: Path) -> None:
    """Raise if there is a write-ahead log beside an existing or future database file: DuckDB would apply it."""
    for file in databases:
        log = file.with_name(f"{file.name}.wal")
        if log.exists():
            raise SourceError(
                f"{log} is there: {file.name} is open elsewhere, or was not closed. Close it, or open and close it."
            )


def same_file(one: Path, other: Path) -> bool:
    """Return True if two paths lead to the same file, or would if it existed."""
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return one.resolve() == other.resolve()


def require_parent(path: Path) -> None:
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")


def require_free(path: Path, *, replace: bool) -> None:
    """Raise if no file can be written under a name, before any work is done for it."""
    require_parent(path)
    if path.is_dir():
        raise SourceError(f"{path} is a directory: name a file in it.")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already: give another name, or replace it (--replace).")


def write_whole(path: Path, text: str, what: str) -> None:
    """Write a text file atomically, with line ends unchanged. Messages start with ``what``."""
    try:
        with workspace(path) as directory:
            partial = directory / "partial"
            partial.write_text(text, encoding="utf-8", newline="")
            take_name(partial, path)
    except OSError as error:
        raise SourceError(f"{what} cannot be written to {path}: {error.strerror}.") from None


def back_up(file: Path, target: Path) -> None:
    """Copy a file to a free name, synced to disk, or not at all; only its owner can read the copy."""
    require_no_backup(target)
    try:
        with workspace(target) as directory:
            partial = directory / "copy"
            _copy(file, partial)
            take_name(partial, target)
    except OSError as error:
        raise SourceError(f"The backup {target} cannot be written: {error.strerror}. Nothing was changed.") from None


def require_no_backup(target: Path) -> None:
    """Raise if a backup would be replaced: it may be the only file with the raw rows."""
    if target.exists():
        raise UsageError(f"{target} exists already, and a backup replaces no file: give another name after --backup.")


def _copy(file: Path, target: Path) -> None:
    """Copy a file that may be an open database, and compare both.

    The source descriptor is never closed: if a process closes any descriptor of a file, POSIX drops all its locks on
    that file. DuckDB's lock would go too, and others could write to a database that is about to be replaced.
    """
    with target.open("w+b") as copy, open(os.open(file, os.O_RDONLY), "rb", closefd=False) as original:
        target.chmod(0o600)
        shutil.copyfileobj(original, copy)
        digests = []
        for one in (original, copy):
            one.seek(0)
            digests.append(hashlib.file_digest(one, "sha256").digest())
    if digests[0] != digests[1]:
        raise SourceError("The backup is not the same as the file. Nothing was changed.")


def sync(path: Path) -> None:
    """Sync a file, or the names in a directory, to disk."""
    if os.name == "nt" and path.is_dir():  # directories cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


Stamps: TypeAlias = tuple[tuple[Any, ...], ...]


def stamps_of(files: Iterable[Path]) -> Stamps:
    found = []
    for file in files:
        with suppress(OSError):
            stat = file.stat()
            found.append((str(file), stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(found)


def stamps_of_database(path: Path) -> Stamps:
    """Return the stamps of a DuckDB file, and of its write-ahead log if there is one."""
    return stamps_of([path, path.with_name(f"{path.name}.wal")])


def relative_path(path: Path, directory: Path) -> str:
    """Return a path relative to a directory, with links resolved; absolute if there is none, as to another drive."""
    real = Path(os.path.realpath(path.parent)) / path.name
    try:
        return os.path.relpath(real, os.path.realpath(directory))
    except ValueError:
        return str(real)
