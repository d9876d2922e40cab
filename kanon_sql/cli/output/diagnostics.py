"""stderr: errors, notes and progress."""

from __future__ import annotations

import re
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Self

from kanon_sql.cli.options.keys import recommended
from kanon_sql.cli.output.output import as_called, visible, write
from kanon_sql.errors import NOTHING_WRITTEN, SearchInterruptedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.cli.output.progress_bar import ProgressBar
    from kanon_sql.engine.base import Engine, Logged
    from kanon_sql.engine.progress import Progress

done: ContextVar[str] = ContextVar("done", default=NOTHING_WRITTEN)
"""The outcome if the work ends now. A signal may come as late as during the closing of a database."""
_PATIENCE = 1.0  # seconds of work before a bar is shown


def error(text: str) -> None:
    write(f"error: {_shown(text)}\n", sys.stderr)


def note(text: str) -> None:
    sys.stderr.write(f"{_shown(text)}\n")


def _shown(text: str) -> str:
    """Return a message in which column and file names cannot move the cursor, and addresses show no passwords."""
    from kanon_sql.engine.keys import without_address_passwords  # not at the top: it imports hashlib and secrets

    typed = re.sub(r"(?m)^  kanon (?=\S)", lambda _: f"  {as_called()} ", without_address_passwords(recommended(text)))
    return "\n".join(visible(line.expandtabs()) for line in typed.split("\n"))


@contextmanager
def interrupted_after(what_is_there: str) -> Iterator[None]:
    """Report what is already done if Ctrl-C or a signal interrupts the rest."""
    done.set(what_is_there)
    try:
        yield
    except KeyboardInterrupt:
        raise SearchInterruptedError(f"Interrupted; {what_is_there}.") from None


class Talk:
    """Messages of a command during its work: nothing with ``-q``, each statement with ``-v``, otherwise a progress bar.

    As a context manager, it removes the bar when the block ends.
    """

    def __init__(self, engine: Engine | None = None, *, quiet: bool, verbose: bool) -> None:
        self._quiet, self._verbose = quiet, verbose
        self._bar: ProgressBar | None = None
        self._engine: Engine | None = None
        self._last: Progress | None = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._ended = False
        if engine is not None:
            self.follow(engine)

    def note(self, text: str) -> None:
        """Print a message, unless quiet."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a message that must be known, even if quiet."""
        with self._lock:
            if self._bar is not None:
                self._bar.console.print(_shown(text), markup=False, highlight=False, soft_wrap=True)
            else:
                note(text)

    def follow(self, engine: Engine) -> None:
        """Listen to an engine: show each statement if verbose, otherwise the progress of the running one."""
        self._engine = engine
        engine.listener = self.statement

    def statement(self, logged: Logged) -> None:
        if self._verbose:
            self.note(f"  {logged.title}")

    def __call__(self, progress: Progress) -> None:
        if self._verbose and (self._last is None or self._last.doing != progress.doing):
            self.note(f"{progress.doing} ...")
        self._last = progress

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._quiet and not self._verbose:
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        with self._lock:
            self._ended = True  # the timer may have fired and be about to show a bar that would stay
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()  # a thread that Python ends during an import leaves its locks held

    def _show(self) -> None:
        from kanon_sql.cli.output.progress_bar import ProgressBar

        with self._lock:
            if not self._ended:
                self._bar = ProgressBar(lambda: self._last, self._share_done)
                self._bar.start()

    def _share_done(self) -> float | None:
        """Return the finished share of the running statement; None if it is not known."""
        return None if self._engine is None else self._engine.share_done()
