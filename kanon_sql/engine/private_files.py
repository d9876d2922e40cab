"""Private directories: for what does not fit into memory, and for what is written but not finished. Both hold values.

Each is made for its owner alone (mode 0700), locked for as long as its process lives, and removed when it is not needed
any more: at the end, on an error, on a signal. A process that is killed cannot do that; the next one that makes a
directory in the same place takes away what the dead have left, and tells them by their lock, which ends with a process
however it ends. Where a file system has no such locks, or the system has none, nothing is taken away.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kanon_sql.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX, _SUFFIX = ".kanon-", ".tmp"
_NAME = re.compile(r"\.kanon-[a-z0-9_]{8}\.tmp")  # what mkdtemp makes of the two
_PRIVATE = 0o700


class PrivateDirectory:
    """A directory that nobody else reads, and that does not outlast its process.

    Attributes:
        path: where it is.
    """

    def __init__(self, parent: Path) -> None:
        """Make one in a directory, after what dead processes have left there was removed.

        Raises:
            OSError: nothing can be made there.
        """
        self._failure: OSError | None = None
        _uninterrupted(self._make, parent)
        if self._failure is not None:
            raise self._failure

    def _make(self, parent: Path) -> None:
        try:
            _remove_abandoned(parent)
            self.path, lock = _made(parent)
            # At the latest when nobody knows of it any more, or Python ends.
            self._end = weakref.finalize(self, _remove, self.path, lock, os.getpid())
        except OSError as error:
            self._failure = error

    def remove(self) -> None:
        """Remove it with all that is in it; once is enough."""
        _uninterrupted(self._end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def _uninterrupted(work: Callable[..., object], *arguments: object) -> None:
    """Do work to its end: signals reach the first thread alone, and it waits for another one meanwhile."""
    thread = threading.Thread(target=work, args=arguments, name="kanon-private")
    thread.start()
    thread.join()


def private_directory(parent: Path) -> PrivateDirectory:
    """Return a private directory beside a file that is to be written, in the directory that the file will be in.

    Raises:
        SourceError: none can be made there.
    """
    try:
        return PrivateDirectory(parent)
    except OSError as error:
        raise unwritable(parent, error.strerror) from None


def unwritable(directory: Path, why: str | None) -> SourceError:
    """Return the error for a directory in which no file can be made."""
    return SourceError(f"The directory {directory} cannot be written ({why}): say after --out where to write instead.")


def is_private(name: str) -> bool:
    """Tell whether a file name is that of a directory made here."""
    return _NAME.fullmatch(name) is not None


def _made(parent: Path) -> tuple[Path, int | None]:
    """Return a new directory and the descriptor that holds its lock; None where there are no locks."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=parent)).absolute()
        if fcntl is None:
            return path, None
        lock = os.open(path, os.O_RDONLY)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Another process may have found it before it was locked, and have taken it away.
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(lock)):
                return path, lock
        os.close(lock)


def _remove(path: Path, lock: int | None, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the process that works in it
        return
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        with suppress(OSError):
            os.close(lock)


def _remove_abandoned(parent: Path) -> None:
    """Remove the directories in a directory whose processes are dead."""
    if fcntl is None:
        return
    with suppress(OSError):  # one that cannot be listed; what is wrong with it shows when one is made
        for name in os.listdir(parent):  # noqa: PTH208 - names alone: there may be many files
            if is_private(name):
                _remove_if_abandoned(parent / name)


def _remove_if_abandoned(path: Path) -> None:
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # gone, somebody else's, or no directory
        return
    try:
        found = os.fstat(lock)
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _PRIVATE:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # its process lives, or there are no locks to tell
        pass
    finally:
        os.close(lock)
