"""stderr: errors, notes and the progress of long work."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from kanon_sql.cli.output import figure, visible
from kanon_sql.errors import SearchInterruptedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from kanon_sql.engine.base import Logged
    from kanon_sql.progress import Progress

_PATIENCE = 1.0  # seconds of work before a bar is shown


def error(text: str) -> None:
    """Say what went wrong."""
    sys.stderr.write(f"error: {_shown(text)}\n")


def note(text: str) -> None:
    """Say something that is worth knowing."""
    sys.stderr.write(f"{_shown(text)}\n")


def _shown(text: str) -> str:
    """Return a message in which the names of columns and files cannot move the cursor."""
    return "\n".join(visible(line.expandtabs()) for line in text.split("\n"))


@contextmanager
def interrupted_after(done: str) -> Iterator[None]:
    """Say what is done already when Ctrl-C, or a signal to end, comes in what is left.

    Raises:
        SearchInterruptedError: Ctrl-C came.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise SearchInterruptedError(f"Interrupted; {done}.") from None
    except SystemExit as ending:
        ending.add_note(done)  # said where the process ends
        raise


class Talk:
    """What a command says while it works: nothing with ``-q``, each statement with ``-v``, else a bar if it takes long.

    Used as a context: the bar goes when the block ends.
    """

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        """Say as much as was asked for."""
        self._quiet, self._verbose = quiet, verbose
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._last: Progress | None = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def note(self, text: str) -> None:
        """Say something, unless quiet."""
        if not self._quiet:
            with self._lock:
                if self._bar is not None:
                    self._bar.console.print(_shown(text), markup=False, highlight=False, soft_wrap=True)
                else:
                    note(text)

    def statement(self, logged: Logged) -> None:
        """Say which statement is run next, if verbose."""
        if self._verbose:
            self.note(f"  {logged.title}")

    def __call__(self, progress: Progress) -> None:
        """Take note of progress: the bar shows it."""
        if self._verbose and (self._last is None or self._last.doing != progress.doing):
            self.note(f"{progress.doing} ...")
        self._last = progress
        with self._lock:
            self._update()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._quiet and not self._verbose:
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Take the bar away."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[found]}"),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("Working", total=None, found="")
            self._bar.start()
            self._update()

    def _update(self) -> None:
        """Show the last piece of progress. A search is as far as its bound has come towards the best that is known."""
        if self._bar is None or self._task is None or self._last is None:
            return
        last = self._last
        if last.best is None or last.bound is None:
            self._bar.update(self._task, description=last.doing, total=None, found="")
            return
        found = (
            f"{last.nodes_tested:,} nodes, {last.measure} {figure(last.best)}, none better than {figure(last.bound)}"
        )
        larger = max(last.bound, last.best)
        done = min(last.bound, last.best) / larger if larger else 1.0
        self._bar.update(self._task, description=last.doing, total=1.0, completed=done, found=found)
