"""The time zone in which labels and texts of a TIMESTAMP WITH TIME ZONE are computed: that of the policy, else UTC.

A value of this type is an instant. Its day, and its text, are those of a time zone: without one zone for all runs, a
release made in Tokyo and one made in London would have other labels for the same rows.
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
    """Open each database inside with a time zone."""
    return having(_IN_FORCE, zone)


def zone_in_force() -> str:
    return _IN_FORCE.get()
