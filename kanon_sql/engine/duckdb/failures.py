"""What DuckDB's errors become: one or two lines that say what, where and what to do, and quote no cell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from kanon_sql.engine.duckdb.passwords import without_passwords
from kanon_sql.engine.private_files import is_private
from kanon_sql.errors import ComputationError, InUseError, NoRoomError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

# Errors whose text DuckDB writes from names, paths and settings alone. The others may quote a cell.
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

# Errors of a statement that would have run on other values.
_OF_VALUES = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)
# What a disk says that takes no more: full, over a quota, over the size of a file.
_FULL = ("No space left on device", "Disk quota exceeded", "File too large")
_FILE = re.compile(r'file \\?"(?P<path>[^"]+?)\\?": (?P<why>[^"]+)')
_EXTENSION = re.compile(r"require[sd]* (?:the )?extension '?(?P<name>\w+)")
_SPILL_LIMIT = "max_temp_directory_size"
_OTHER_ROOM = "Make room there, name a directory on another disk (--temp-dir), or give more memory (--memory-limit)"
_LESS_MEMORY = "Give it more memory (--memory-limit) or fewer threads (--threads)"


def translated(work: Callable[[], Result], title: str, spills_to: Path | None = None) -> Result:
    """Do the work; an error of DuckDB becomes one of ours that quotes no cell.

    Args:
        work: what to do.
        title: what it is for.
        spills_to: the private directory for what does not fit into memory.

    Raises:
        NoRoomError: the memory limit, or a disk, was too small for it.
        SourceError: it failed for another reason.
    """
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
    kind = type(error).__name__.removesuffix("Exception")
    return (ComputationError if isinstance(error, _OF_VALUES) else SourceError)(
        f"DuckDB stopped with an error of type {kind}{doing}. Its text may quote data and is not shown; "
        "--sql prints the statements, to be run by hand."
    )


def _place(path: Path) -> str:
    """Return what to call the place of a file: where its private directory stood, or the database whose log it is."""
    for parent in path.parents:
        if is_private(parent.name):
            return str(parent.parent)
    return str(path.with_suffix("") if path.suffix == ".wal" else path)


def first_line(error: duckdb.Error) -> str:
    """Return the first line of what DuckDB says, without the passwords in it."""
    return without_passwords(str(error).strip().splitlines()[0])


def not_installed(extension: str, what: str) -> str:
    """Return what to say when an extension of DuckDB is needed and not there."""
    return (
        f"{what} needs DuckDB's extension {extension}, which is not installed here. Install it once, which downloads "
        f"it: python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\". Or let kanon do that: set "
        "KANON_INSTALL_EXTENSIONS=1."
    )


def not_opened(path: Path, error: duckdb.Error, *, writable: bool) -> SourceError:
    """Return the error to raise when a database file cannot be attached."""
    text = first_line(error)
    if "lock" in text.lower():
        return InUseError(f"{path} is in use by another process. Close it there, or work on a copy.")
    if isinstance(error, duckdb.ResourceInUseException):
        return InUseError(
            f"{path} is already open in this process; pass that connection instead of the path.", elsewhere=False
        )
    return SourceError(_why_not_opened(path, text, writable=writable))


def _why_not_opened(path: Path, text: str, *, writable: bool) -> str:
    if "not a valid DuckDB" in text:
        return f"{path} is not a DuckDB database."
    denied = next((sign for sign in ("Permission denied", "Read-only file system") if sign in text), None)
    if denied is not None and writable:
        return (
            f"{path} cannot be written ({denied}). Have it made writable, or write the release to a file elsewhere: "
            "--out FILE."
        )
    if denied is not None:
        return f"{path} cannot be read ({denied}). Ask its owner, or work as a user who may."
    return f"{path} cannot be opened. {text}"
