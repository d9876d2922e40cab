"""``kanon`` as a process: signals, exit codes, and streams that are closed or full."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from kanon_sql.cli import VERSION_LINE
from kanon_sql.errors import NOTHING_WRITTEN, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import ReadableBuffer

_INTERRUPTED = 130
_BY_SIGNAL = 128  # a shell adds the number of the signal that ended a process
_ALLOCATIONS = 200_000  # between two collections: executed statements are kept and scanned each time


class Ending(SystemExit):
    """A signal ended the process. Unlike Ctrl-C, it does not let a search publish its best result."""

    def __init__(self, number: int) -> None:
        super().__init__(_BY_SIGNAL + number)
        self.name = signal.Signals(number).name


def program() -> NoReturn:
    """Run ``main`` as the whole program, with nothing after it."""
    codes: list[object] = []
    atexit.register(_leave, codes)  # handlers run in reverse order: this one is last
    try:
        main()
    except SystemExit as end:
        codes.append(end.code)
        raise


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    gc.set_threshold(_ALLOCATIONS)
    # numpy multiplies no matrices here, and starting threads for that takes longer than most searches.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    hears_ctrl_c = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nohup and & turn it off
    # Ignored signals stay ignored: SIGHUP under nohup. Windows has no SIGHUP.
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ending = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    heard = [*ending, *([signal.SIGINT] if hears_ctrl_c else [])]
    for number in heard:
        # The imports take a quarter of a second. An exception inside one may surface as another one, and there is
        # nothing to clean up yet.
        signal.signal(number, _end_at_once)
    gc.disable()  # modules create many objects and drop none
    run = _loaded(sys.argv[1:])
    gc.freeze()  # excludes them from counts and scans
    gc.enable()
    streams = Streams()
    try:
        if hears_ctrl_c:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in ending:
            signal.signal(number, _end)
        code = run()
        for number in heard:  # the remaining work takes no time and cannot be undone
            signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt:  # a second Ctrl-C during the handling of the first
        code = _INTERRUPTED
    except Ending as asked_to_end:
        code = int(str(asked_to_end.code))
        _error(f"Ended by {asked_to_end.name}; {_done(asked_to_end)}.")
    sys.exit(_exit_code(code, streams.close()))


def _leave(codes: list[object]) -> None:
    """Exit immediately after success: tearing down Python and its libraries takes a tenth of a small run."""
    if codes == [0] and sys.gettrace() is None:  # a tracer still has to write its results
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(0)


def _loaded(arguments: list[str]) -> Callable[[], int]:
    if arguments == ["--version"]:
        return _print_version
    from kanon_sql.cli.main import load, run

    load(arguments)
    return partial(run, arguments)


def _print_version() -> int:
    sys.stdout.write(VERSION_LINE)
    return 0


def _exit_code(code: int, failure: OSError | None) -> int:
    if failure is None or code != 0:
        return code
    _error(f"The results could not be printed (stdout: {failure.strerror}); anything published elsewhere is there.")
    return SourceError.exit_code


def _error(text: str) -> None:
    from kanon_sql.cli.output.diagnostics import error

    error(text)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    # Ignore further signals: a closing terminal sends several, and they would stop the cleanup.
    for other in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(other, signal.SIG_IGN)
    raise Ending(number)


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    by_ctrl_c = number == signal.SIGINT
    said = "Interrupted" if by_ctrl_c else f"Ended by {signal.Signals(number).name}"
    with suppress(OSError):
        os.write(2, f"error: {said}; {NOTHING_WRITTEN}.\n".encode())
    os._exit(_BY_SIGNAL + number)


def _done(ending: Ending) -> str:
    """Return what was done before the signal, if a note was attached on the way up."""
    from kanon_sql.cli.output.diagnostics import done

    notes = getattr(ending, "__notes__", [])
    return str(notes[-1]) if notes else done.get()


class TolerantStream(io.RawIOBase):
    """A raw stream that accepts everything and drops what it cannot write.

    Attributes:
        failure: the reason why something was dropped; None if nothing was, or if the reader of a pipe is gone, like
            ``head`` after its last line.
    """

    def __init__(self, raw: Any, failure: OSError | None = None) -> None:  # noqa: ANN401 - a raw or a buffered stream
        """Write to a stream of bytes; with a ``failure``, drop everything."""
        self._raw = raw
        self._dropping = failure is not None
        self.failure = failure

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return not self._dropping and bool(self._raw.isatty())

    def write(self, data: ReadableBuffer) -> int | None:
        if not self._dropping:
            try:
                written = self._raw.write(data)
                return None if written is None else int(written)
            except BrokenPipeError:
                self._dropping = True
            except OSError as error:
                self._dropping, self.failure = True, error
        return memoryview(data).nbytes


class Streams:
    """Replaces ``sys.stdout`` and ``sys.stderr`` by streams that never fail, if the process is kanon."""

    def __init__(self) -> None:
        _take_closed_descriptors()
        self._stdout = _made_tolerant("stdout", 1)
        self._stderr = _made_tolerant("stderr", 2)

    def close(self) -> OSError | None:
        """Flush the streams; return the reason why results were dropped, or None."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        return self._stdout.failure


def _take_closed_descriptors() -> None:
    """Open closed descriptors among 0, 1 and 2, so that no database gets a number that receives messages."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the smallest free number: this one


def _made_tolerant(name: str, descriptor: int) -> TolerantStream:
    """Return the raw stream below a stream of ``sys`` that drops what it cannot write."""
    stream = getattr(sys, name)
    if stream is None:  # closed before Python started
        closed = OSError(errno.EBADF, os.strerror(errno.EBADF))
        raw = TolerantStream(io.FileIO(descriptor, "wb", closefd=False), closed)
        encoding = "utf-8"
    else:
        raw = TolerantStream(getattr(stream.buffer, "raw", stream.buffer))
        encoding = stream.encoding
    text = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="replace",  # a name that the terminal cannot show must not stop the run
        line_buffering=name == "stderr" or raw.isatty(),
    )
    setattr(sys, name, text)
    return raw
