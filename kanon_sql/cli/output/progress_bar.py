"""The bar on stderr: the current step, its progress and the estimated remaining time.

The progress of a search is that of its bound towards the best known result; it ends when both meet, or when time is up.
Any other progress is that of the running statement, as the database reports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kanon_sql.cli.output.output import bound_figure, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import RenderableType
    from rich.progress import TaskID

    from kanon_sql.engine import progress


class ProgressBar(Progress):
    """A bar that reads the latest figures each time it is drawn; its times are those of a step."""

    def __init__(self, last: Callable[[], progress.Progress | None], share: Callable[[], float | None]) -> None:
        """Make a bar from the last progress and the finished share of the running statement, 0 to 1, if known."""
        text = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[found]}")
        self._last, self._share = last, share
        self._only: TaskID | None = None  # it is drawn once before a task exists
        super().__init__(
            *text, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
        )
        self._only = self.add_task("Working", total=None, found="")

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
        (task,) = self.tasks
        if doing != task.description or (share or 0.0) < task.completed:
            self.reset(self._only)
        total = None if share is None else 1.0
        self.update(self._only, description=doing, total=total, completed=share or 0.0, found=found)


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
