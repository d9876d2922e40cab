"""A connection to DuckDB: resource limits, the thread that runs its statements, and translated errors.

Statements run on a separate thread while the caller watches deadlines and signals: in some operators DuckDB notices
Ctrl-C late or not at all, and it has no deadlines. The detour costs 0.1 ms a statement.

DuckDB's errors become one or two lines that name the problem, the place and the fix, and quote no cell.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
from sqlglot import exp

from kanon_sql.engine.base import error_of
from kanon_sql.engine.files import PrivateDirectory, is_private, uninterrupted
from kanon_sql.engine.keys import without_passwords
from kanon_sql.engine.progress import check_deadline, having, next_deadline, stopped
from kanon_sql.errors import InUseError, NoRoomError, SourceError, UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

MOST_THREADS = 1024
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}
_LEAST = 10 * 1000**2  # less is never enough: DuckDB itself needs some
_MOST = 1000**5
_FOR_A_THREAD = 125 * 1000**2  # the minimum for each thread in DuckDB's guide


@dataclass(frozen=True)
class Resources:
    """Resource limits of a run; DuckDB's defaults are four fifths of the memory and every core.

    The memory limit is for the database. The process needs some 100 MB more, and a search keeps its knowledge of a
    large lattice outside the database.
    """

    memory_limit: str | None = None  # such as "300MB" or "2GiB"
    threads: int | None = None  # under a memory limit, by default one per 125 MB of it, up to every core
    temp_dir: str | os.PathLike[str] | None = None  # parent of a private directory for spilled data

    def __post_init__(self) -> None:
        size = None if self.memory_limit is None else _bytes(self.memory_limit)
        if self.memory_limit is not None and size is None:
            raise UsageError(f"--memory-limit is a size such as 300MB or 2GiB, not {self.memory_limit!r}.")
        if size is not None and not _LEAST <= size <= _MOST:
            raise UsageError(f"--memory-limit is a size from 10MB to 1000TB, not {self.memory_limit!r}.")
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise UsageError(f"--threads is a number from 1 to {MOST_THREADS:,}, not {self.threads}.")
        if self.temp_dir is not None and not os.fspath(self.temp_dir):
            raise UsageError("--temp-dir is empty: say which directory.")

    @property
    def settings(self) -> dict[str, str | int]:
        """The settings of DuckDB, except the directory.

        Under a memory limit, rows are read in any order, which takes less memory; a release has an order of its own.
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
        return None if self.temp_dir is None else Path(self.temp_dir)


_IN_FORCE: ContextVar[Resources] = ContextVar("kanon_resources")


def using(resources: Resources) -> AbstractContextManager[None]:
    """Use these resources for each source that is opened inside without its own."""
    return having(_IN_FORCE, resources)


def in_force(given: Resources | None) -> Resources:
    return given if given is not None else _IN_FORCE.get(Resources())


def _bytes(text: str) -> float | None:
    """Parse a size in bytes; None if it is not one."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    unit = (1024.0 if match[3] else 1000.0) ** _POWERS[match[2].upper()]
    return float(match[1]) * float(unit)


Result = TypeVar("Result")

# Errors whose text contains only names, paths and settings. The texts of others may quote a cell.
_WITHOUT_CELLS = (
    duckdb.IOException,
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.ParserException,
    duckdb.ConnectionException,
    duckdb.OutOfMemoryException,
    duckdb.PermissionException,
    duckdb.TransactionException,
    duckdb.HTTPException,
    duckdb.ResourceInUseException,
    duckdb.FatalException,
)

# Errors of statements that could have succeeded on other values.
_OF_VALUES = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)
# Messages of a disk that is full, over a quota, or refuses a file as too large.
_FULL = ("No space left on device", "Disk quota exceeded", "File too large")
_FILE = re.compile(r'file \\?"(?P<path>[^"]+?)\\?": (?P<why>[^"]+)')
_EXTENSION = re.compile(r"require[sd]* (?:the )?extension '?(?P<name>\w+)")
_SPILL_LIMIT = "max_temp_directory_size"
_OTHER_ROOM = "Make room there, name a directory on another disk (--temp-dir), or give more memory (--memory-limit)"
_LESS_MEMORY = "Give it more memory (--memory-limit) or fewer threads (--threads)"


def translated(work: Callable[[], Result], title: str, spills_to: Path | None = None) -> Result:
    """Run the work, and translate errors of DuckDB to kanon's, which quote no cell."""
    try:
        return work()
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise _error_of(error, f" while it ran this step: {title}" if title else "", spills_to) from None


def _error_of(error: duckdb.Error, doing: str, spills_to: Path | None) -> SourceError:
    text = str(error)
    spill_parent = None if spills_to is None else spills_to.parent
    if isinstance(error, duckdb.OutOfMemoryException):
        if _SPILL_LIMIT in text:
            return NoRoomError(
                f"There is no room in {spill_parent or 'the temporary directory'} for what does not fit into memory"
                f"{doing}. {_OTHER_ROOM}."
            )
        used = match[1] if (match := re.search(r"/(\S+ \S+) used\)", text)) else "what there is"
        return NoRoomError(f"DuckDB needs more memory than its limit of {used}{doing}. {_LESS_MEMORY}.")
    if (match := _FILE.search(text)) is not None and any(sign in text for sign in _FULL):
        path, why = Path(match["path"]), next(sign for sign in _FULL if sign in text)
        if spills_to is not None and spills_to in path.parents:
            return NoRoomError(
                f"{spill_parent} took no more of what does not fit into memory{doing} ({why}). {_OTHER_ROOM}."
            )
        return NoRoomError(
            f"{_place(path)} took no more{doing} ({why}). Make room there, or write the release elsewhere."
        )
    needed = _EXTENSION.search(text)
    if needed is not None or isinstance(error, _WITHOUT_CELLS):
        stopped = f"DuckDB stopped{doing}. {first_line(error)}"
        return SourceError(stopped if needed is None else not_installed(needed["name"], "What is read"))
    kind = f"an error of type {type(error).__name__.removesuffix('Exception')}"
    return error_of("DuckDB", doing, kind=kind, of_values=isinstance(error, _OF_VALUES))


def _place(path: Path) -> str:
    """Return the location of a file for messages: the parent of its private directory, or its database."""
    for parent in path.parents:
        if is_private(parent.name):
            return str(parent.parent)
    return str(path.with_suffix("") if path.suffix == ".wal" else path)


def first_line(error: duckdb.Error) -> str:
    """Return the first line of a DuckDB message, without passwords."""
    return without_passwords(str(error).strip().splitlines()[0])


def not_installed(extension: str, what: str) -> str:
    return (
        f"{what} needs DuckDB's extension {extension}, which is not installed here. Install it once, which downloads "
        f"it: python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\". Or let kanon do that: set "
        "KANON_INSTALL_EXTENSIONS=1."
    )


def not_opened(path: Path, error: duckdb.Error, *, writable: bool) -> SourceError:
    text = first_line(error)
    if "lock" in text.lower():
        return InUseError(f"{path} is in use by another process. Close it there, or work on a copy.")
    if isinstance(error, duckdb.ResourceInUseException):
        return InUseError(
            f"{path} is already open in this process; pass that connection instead of the path.", elsewhere=False
        )
    if "not a valid DuckDB" in text:
        return SourceError(f"{path} is not a DuckDB database.")
    denied = next((sign for sign in ("Permission denied", "Read-only file system") if sign in text), None)
    if denied is None:
        return SourceError(f"{path} cannot be opened. {text}")
    if writable:
        return SourceError(
            f"{path} cannot be written ({denied}). Have it made writable, or write the release to a file elsewhere: "
            "--out FILE."
        )
    return SourceError(f"{path} cannot be read ({denied}). Ask its owner, or work as a user who may.")


_LOOKS_UP = 0.2  # longest wait in seconds between checks of a running statement


class Worker:
    """The thread that runs the statements of a connection one by one."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, spills_to: Path | None) -> None:
        self._connection = connection
        self._spills_to = spills_to
        self._is_closed = False
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kanon-duckdb")
        # Start the thread now, while nothing runs: the pool loses a thread that is interrupted at its start, and starts
        # another.
        self._pool.submit(lambda: None).result()

    def close(self) -> None:
        self._is_closed = True
        self._pool.shutdown(wait=False)

    def settle(self) -> None:
        """Stop a running statement, if any: DuckDB does not close or roll back a busy connection.

        After an interrupt at a bad moment, the statement may or may not have started; running another task settles
        that.
        """
        try:
            after = self._pool.submit(lambda: None)
        except RuntimeError:  # the thread has ended
            return
        self._wait_for(after)

    def call(self, work: Callable[[], Result], title: str, *, translate: bool = True) -> Result:
        """Return the result of work; stop it at a deadline or an interrupt.

        Without ``translate``, errors stay DuckDB's own, and no deadline stops the work.
        """
        deadline = next_deadline() if translate else None
        try:
            future = self._translated(work, title) if translate else self._submit(work)
            while not future.done() and (deadline is None or time.monotonic() < deadline):
                # Several short waits: a signal received by another thread is noticed only between waits.
                wait_for([future], min(_LOOKS_UP, (deadline or math.inf) - time.monotonic()))
        except BaseException:  # Ctrl-C, or SystemExit, which a handler of SIGTERM raises
            self.settle()
            raise
        in_time = future.done()
        if not in_time:
            future.cancel()
            self._wait_for(future)
        try:
            return future.result()
        except (CancelledError, duckdb.InterruptException):
            if in_time:  # the owner of the connection stopped it
                raise KeyboardInterrupt from None
            raise stopped(title) from None

    def finish(self, work: Callable[[], Any], title: str) -> None:
        """Run work to its end; a signal in the meantime is raised afterwards."""
        with uninterrupted("the output being written is whole"):
            self._translated(work, title).result()

    def _translated(self, work: Callable[[], Result], title: str) -> Future[Result]:
        return self._submit(lambda: translated(work, title, self._spills_to))

    def _submit(self, work: Callable[[], Result]) -> Future[Result]:
        if self._is_closed:
            raise UsageError("The source of this release or table is closed: use it before close().")
        return self._pool.submit(work)

    def _wait_for(self, future: Future[Any]) -> None:
        """Interrupt statements until a future is done."""
        ending: SystemExit | None = None
        while True:
            try:
                while wait_for([future], 0.02).not_done:
                    with suppress(duckdb.ConnectionException):  # closed, so nothing runs
                        self._connection.interrupt()  # repeatedly: an interrupt before the statement starts is lost
            except KeyboardInterrupt:  # a second Ctrl-C changes nothing; the connection is busy until then
                continue
            except SystemExit as error:  # after an interrupt, a signal may end the process
                ending = error
                continue
            if ending is not None:
                raise ending
            return


_PATIENCE, _PAUSE = 30.0, 0.05  # seconds to wait for other processes, and between two tries

TAKEN_BY_DUCKDB = {"main", "memory", "system", "temp"}  # names that no attached database can have


def connect(resources: Resources, beside: Path | None) -> tuple[duckdb.DuckDBPyConnection, PrivateDirectory]:
    """Open an empty database; return the connection and the private directory that it spills to.

    Without a configured directory it spills beside a file if possible.
    """
    with uninterrupted():
        spill = spill_directory(resources.directory, beside)
        try:
            own = {"autoinstall_known_extensions": "false", "temp_directory": str(spill.path)}  # see sources/remote.py
            connection = duckdb.connect(config={**own, **resources.settings})
        except duckdb.Error as error:
            spill.remove()
            if isinstance(error, duckdb.OutOfMemoryException):
                raise NoRoomError(
                    f"DuckDB cannot start with {resources.memory_limit} of memory: give more (--memory-limit)."
                ) from None
            raise SourceError(f"DuckDB cannot start. {first_line(error)}") from None
        # Progress is read through the API. DuckDB must not draw its own bar on stdout, which is for data. In Jupyter
        # without ipywidgets it cannot draw one, and refuses the setting itself (duckdb issue 7590).
        with suppress(duckdb.InvalidInputException):
            connection.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")
        return connection, spill


def waited(opened: Callable[[], Result]) -> Result:
    """Return the result of ``opened``; retry for a while if other processes use the database."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return opened()
        except InUseError as error:
            if not error.elsewhere or time.monotonic() > end:
                raise
            check_deadline("waiting for a database that another process has open")
            time.sleep(_PAUSE)


def spill_directory(named: Path | None, beside: Path | None) -> PrivateDirectory:
    """Return a private directory in the configured one, beside a file, or in the system's."""
    if named is None and beside is not None:
        with suppress(OSError):
            return PrivateDirectory(beside)
    parent = named or Path(tempfile.gettempdir())
    try:
        return PrivateDirectory(parent)
    except OSError as error:
        raise SourceError(
            f"{parent}, where what does not fit into memory would be put, cannot be written ({error.strerror}): name "
            "a directory that can be (--temp-dir)."
        ) from None


def storage_options(version: str | None, block_size: int) -> list[exp.Expr]:
    found = re.match(r"v\d+\.\d+\.\d+", version or "")
    options: list[exp.Expr] = [exp.AttachOption(this=exp.var("BLOCK_SIZE"), expression=sql.literal(block_size))]
    if found is not None:
        options.append(exp.AttachOption(this=exp.var("STORAGE_VERSION"), expression=sql.literal(found[0])))
    return options


def catalog_of(file: Path) -> exp.Identifier:
    """Return the name of a database file once attached, which is the name DuckDB gives it if opened directly."""
    name = file.name.lstrip(".").partition(".")[0] or file.name
    return sql.identifier(f"{name}_db" if name.casefold() in TAKEN_BY_DUCKDB else name)
