"""Seconds by step."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the seconds that the block takes to those of a step, however it ends."""
    begin = time.monotonic()
    try:
        yield
    finally:
        seconds[step] = seconds.get(step, 0.0) + time.monotonic() - begin
