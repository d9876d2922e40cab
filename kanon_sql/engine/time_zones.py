"""The time zone for labels and texts of a TIMESTAMP WITH TIME ZONE: the policy's, or else UTC.

A value of this type is an instant. Its day and its text depend on a time zone: without one zone for all runs, releases
made in Tokyo and in London would have different labels for the same rows.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from kanon_sql.engine.progress import having

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

UTC = "UTC"
_IN_FORCE: ContextVar[str] = ContextVar("kanon_time_zone", default=UTC)


def computing_in(zone: str) -> AbstractContextManager[None]:
    """Use a time zone for each database that is opened inside."""
    return having(_IN_FORCE, zone)


def zone_in_force() -> str:
    return _IN_FORCE.get()
