"""Statements run on a thread of their own while the caller watches the clock and the keyboard.

DuckDB itself notices Ctrl-C late or not at all in some of its operators, and has no deadlines. The detour costs 0.1 ms
a statement.
"""

from __future__ import annotations

import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from kanon_sql.engine.duckdb.failures import translated
from kanon_sql.engine.timing import next_deadline, stopped
from kanon_sql.errors import SearchInterruptedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Result = TypeVar("Result")

_DONE = "what was being written is there, whole"


class Worker:
    """The thread on which the statements of a connection run, one after the other."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, spills_to: Path | None) -> None:
        """Begin to work for a connection.

        Args:
            connection: whose statements are stopped when somebody interrupts.
            spills_to: where it puts what does not fit into memory; None if that is not known.
        """
        self._connection = connection
        self._spills_to = spills_to
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kanon-duckdb")
        # Now, when nothing runs: the pool forgets a thread in whose beginning somebody interrupts, and begins another.
        self._pool.submit(lambda: None).result()

    def close(self) -> None:
        """Let the thread end."""
        self._pool.shutdown(wait=False)

    def settle(self) -> None:
        """Stop what still runs, if anything does: DuckDB refuses to close or to roll back a connection that is busy.

        Who is interrupted at a bad moment does not know whether the statement has begun; what comes after it tells.
        """
        try:
            after = self._pool.submit(lambda: None)
        except RuntimeError:  # the thread has ended
            return
        self._wait_for(after)

    def call(self, work: Callable[[], Result], title: str, *, told: bool = True) -> Result:
        """Return what work comes to; it is stopped at a deadline, and when somebody interrupts.

        Args:
            work: a statement.
            title: what it is for.
            told: whether an error is told in our words; else it is DuckDB's own, and no deadline stops the work.

        Raises:
            DeadlineReachedError: it was stopped because time was up (see ``kanon_sql.engine.timing``).
            SourceError: it failed.
        """
        deadline = next_deadline() if told else None
        try:
            future = self._submit(work, title) if told else self._pool.submit(work)
            while not future.done() and (deadline is None or time.monotonic() < deadline):
                # Not one long wait: a signal that another thread received is only seen between waits.
                wait_for([future], _patience(deadline))
        except BaseException:  # Ctrl-C; or SystemExit, which is what a handler of SIGTERM raises
            self.settle()
            raise
        in_time = future.done()
        if not in_time:
            future.cancel()
            self._wait_for(future)
        try:
            return future.result()
        except (CancelledError, duckdb.InterruptException):
            if in_time:  # whoever owns the connection stopped it
                raise KeyboardInterrupt from None
            raise stopped(title) from None

    def finish(self, work: Callable[[], Any], title: str) -> None:
        """Do work that is not stopped half way; who interrupts it meanwhile is told that it was done.

        Raises:
            SearchInterruptedError: Ctrl-C came meanwhile.
        """
        future = self._submit(work, title)
        came: KeyboardInterrupt | SystemExit | None = None
        while not future.done():
            try:
                wait_for([future], _patience(None))
            except (KeyboardInterrupt, SystemExit) as error:
                came = error if came is None or isinstance(error, SystemExit) else came
        future.result()
        if isinstance(came, SystemExit):
            came.add_note(_DONE)
            raise came
        if came is not None:
            raise SearchInterruptedError(f"Interrupted; {_DONE}.")

    def _submit(self, work: Callable[[], Result], title: str) -> Future[Result]:
        return self._pool.submit(translated, work, title, self._spills_to)

    def _wait_for(self, future: Future[Any]) -> None:
        """Interrupt statements until something is done."""
        ending: SystemExit | None = None
        while True:
            try:
                while wait_for([future], 0.02).not_done:
                    with suppress(duckdb.ConnectionException):  # closed, so that nothing runs
                        self._connection.interrupt()  # again and again: one before the statement has begun is lost
            except KeyboardInterrupt:  # who presses twice means the same; the connection is busy until then
                continue
            except SystemExit as error:  # who first interrupted a search may now end the process
                ending = error
                continue
            if ending is not None:
                raise ending
            return


def _patience(deadline: float | None) -> float:
    """Return how long to wait for a statement before looking up, in seconds."""
    longest = 0.2
    return longest if deadline is None else max(0.0, min(longest, deadline - time.monotonic()))
