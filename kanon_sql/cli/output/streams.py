"""stdout and stderr of a process that may be closed, full, or read by somebody who has seen enough.

A release takes minutes; that nobody reads what is said about it must not undo it, nor change the exit code. So
nothing that is written here ever fails: what cannot be written is dropped, and whether that matters is said at the end.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Patient(io.RawIOBase):
    """A raw stream that takes everything: what cannot be written is dropped.

    Attributes:
        failure: why something was dropped; None if nothing was, or if the reader of a pipe has gone, as ``head``
            does when it has seen enough.
    """

    def __init__(self, raw: Any, failure: OSError | None = None) -> None:  # noqa: ANN401 - a raw or a buffered stream
        """Write to a stream of bytes; with a ``failure``, drop everything."""
        self._raw = raw
        self._dropping = failure is not None
        self.failure = failure

    def writable(self) -> bool:
        """Return True: everything is taken."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor below."""
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        """Tell whether a person reads it."""
        return not self._dropping and bool(self._raw.isatty())

    def write(self, data: ReadableBuffer) -> int | None:
        """Write or drop; return how many bytes are done with."""
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
    """The streams of this process, made patient.

    Used by the process that is ``kanon`` alone; who calls ``run`` keeps the streams that there are.
    """

    def __init__(self) -> None:
        """Take the place of ``sys.stdout`` and ``sys.stderr``."""
        _take_closed_descriptors()
        self._stdout = _made_patient("stdout", 1)
        self._stderr = _made_patient("stderr", 2)

    def close(self) -> OSError | None:
        """Write out what is waiting; return why results were dropped, if they were."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        return self._stdout.failure


def _take_closed_descriptors() -> None:
    """Open what is closed of 0, 1 and 2, so that no database gets a number that something writes messages to."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the smallest number that is free: this one


def _made_patient(name: str, descriptor: int) -> Patient:
    """Return the raw stream below a stream of ``sys`` that drops what cannot be written."""
    stream = getattr(sys, name)
    if stream is None:  # it was closed before Python began
        closed = OSError(errno.EBADF, os.strerror(errno.EBADF))
        raw = Patient(io.FileIO(descriptor, "wb", closefd=False), closed)
        encoding = "utf-8"
    else:
        raw = Patient(getattr(stream.buffer, "raw", stream.buffer))
        encoding = stream.encoding
    text = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="replace",  # a name that the terminal cannot show is no reason to stop
        line_buffering=name == "stderr" or raw.isatty(),
    )
    setattr(sys, name, text)
    return raw
