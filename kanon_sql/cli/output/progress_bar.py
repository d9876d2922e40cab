"""The bar on stderr: what is being done, how far it is, and about how long it will still take.

A search is as far as its bound has come towards the best that is known; it ends where the two meet, or sooner where
time is up. Anything else is as far as the database says of the statement that it runs.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from kanon_sql.cli.output.output import bound_figure, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import RenderableType
    from rich.progress import TaskID

    from kanon_sql.engine import progress


class ProgressBar(Progress):
    """A bar that asks for the newest figures each time that it is drawn."""

    def __init__(self, last: Callable[[], progress.Progress | None], share: Callable[[], float | None]) -> None:
        """Make a bar of the last progress and of the share of the running statement that is done, 0 to 1, if known."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[found]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self._last, self._share, self._pace = last, share, Pace()
        self._only: TaskID | None = None  # it is drawn once before there is one
        super().__init__(*columns, console=Console(stderr=True), transient=True)
        self._only = self.add_task("Working", total=None, found="", left="")

    def get_renderables(self) -> Iterable[RenderableType]:
        self._look()
        return super().get_renderables()

    def _look(self) -> None:
        if self._only is None:
            return
        last = self._last()
        doing = "Working" if last is None else last.doing
        found = "" if last is None else _found(last)
        share = _searched(last) if last is not None and last.best is not None else self._share()
        left = ""
        if share is not None:
            self._pace.note(share, time.monotonic())
            seconds = self._pace.left()
            left = "" if seconds is None else f"about {spoken(seconds)} left"
        total = None if share is None else 1.0
        self.update(self._only, description=doing, total=total, completed=share or 0.0, found=found, left=left)


def _found(last: progress.Progress) -> str:
    if last.best is None or last.bound is None:
        return "" if last.nodes_tested is None else f"{last.nodes_tested:,} tested"
    least = bound_figure(last.bound, last.measure)
    return f"{last.nodes_tested:,} nodes, {last.measure} {figure(last.best)}, none better than {least}"


def _searched(last: progress.Progress) -> float | None:
    if last.best is None or last.bound is None:
        return None
    larger = max(last.bound, last.best)
    return min(last.bound, last.best) / larger if larger else 1.0


_WINDOW = 20.0  # seconds that are looked back on: what was fast long ago says little about what is left
_LEAST = 2.0  # seconds that must have been seen before anything is said
_LONGEST = 24 * 3600.0  # seconds; a pace of nearly nothing says nothing


class Pace:
    """The shares of a step that were done, and when."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def note(self, share: float, now: float) -> None:
        """Note that a share is done at a time in seconds; where it is less than before, another step has begun."""
        if self._seen and share < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, share))
        while now - self._seen[0][0] > _WINDOW:
            self._seen.popleft()

    def left(self) -> float | None:
        """Return how many seconds are left if it goes on like this; None where nothing can be said yet."""
        if not self._seen:
            return None
        (began, first), (now, share) = self._seen[0], self._seen[-1]
        if now - began < _LEAST or share <= first:
            return None
        left = (1 - share) * (now - began) / (share - first)
        return left if left < _LONGEST else None


def spoken(seconds: float) -> str:
    """Return a time as people say it where it is an estimate: 5 s, 40 s, 3 min, 2 h."""
    minute, hour = 60, 3600
    if seconds < minute:
        step = 1 if seconds < 10 else 5  # noqa: PLR2004 - from here on in steps of five
        return f"{max(1, round(seconds / step) * step)} s"
    return f"{round(seconds / minute)} min" if seconds < 1.5 * hour else f"{round(seconds / hour)} h"
