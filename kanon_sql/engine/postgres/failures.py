"""What PostgreSQL's errors become: one or two lines that say what, where and what to do, and quote no cell."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from kanon_sql.engine.timing import stopped
from kanon_sql.errors import ComputationError, NoRightError, NoRoomError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

# Classes of SQLSTATE whose messages are made from names and settings alone; the others may quote a cell.
_WITHOUT_CELLS = {"08", "25", "28", "2B", "3D", "3F", "40", "42", "55", "57"}
_NO_ROOM, _OF_VALUES = "53", "22"


@contextmanager
def told(title: str) -> Iterator[None]:
    """Make errors of psycopg inside ours.

    Args:
        title: what was being done.

    Raises:
        NoRightError: the user may not do it.
        NoRoomError: the server has no memory or disk for it.
        SourceError: it failed for another reason.
    """
    import psycopg

    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        if "statement timeout" not in str(error):
            raise KeyboardInterrupt from None
        raise StoppedInTimeError(
            f"PostgreSQL stopped at its statement_timeout while it ran this step: {title}."
        ) from None
    except psycopg.Error as error:
        raise _error_of(error, title) from None


@contextmanager
def in_time(title: str, deadline: float | None) -> Iterator[None]:
    """Tell that a statement was stopped because a deadline passed, if it had one.

    Raises:
        DeadlineReachedError: it was stopped.
    """
    try:
        yield
    except StoppedInTimeError:
        if deadline is None:
            raise
        raise stopped(title) from None


class StoppedInTimeError(SourceError):
    """PostgreSQL stopped a statement at its ``statement_timeout``."""


def _error_of(error: psycopg.Error, title: str) -> SourceError:
    state = error.sqlstate or ""
    doing = f" while it ran this step: {title}"
    said = error.diag.message_primary or ""
    if state[:2] == _NO_ROOM:
        return NoRoomError(f"PostgreSQL has no room{doing}. It says: {said}.")
    if state == "42501":
        return NoRightError(
            f"PostgreSQL does not allow this{doing}: {said}. Ask its owner for the right, or work as another user."
        )
    if state[:2] in _WITHOUT_CELLS and said:
        return SourceError(f"PostgreSQL stopped{doing}. It says: {said}.")
    if not state:
        return SourceError(f"The connection to PostgreSQL was lost{doing}. Connect again, and begin anew.")
    return (ComputationError if state[:2] == _OF_VALUES else SourceError)(
        f"PostgreSQL stopped with an error of class {state}{doing}. Its text may quote data and is not shown; "
        "--sql prints the statements, to be run by hand."
    )
