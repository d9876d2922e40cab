"""``kanon`` as a process: where it begins and ends, whatever happens to its streams and whoever presses Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    hears_ctrl_c = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nohup and & turn it off
    if hears_ctrl_c:
        # The imports take a quarter of a second; an exception inside one may come out as any other, and there is
        # nothing to clean up yet.
        signal.signal(signal.SIGINT, _end_at_once)
    from kanon_sql.cli import main as command_line
    from kanon_sql.cli.streams import Streams

    streams = Streams()
    try:
        if hears_ctrl_c:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = command_line.run(sys.argv[1:])
        if hears_ctrl_c:  # what is left to do takes no time and cannot be undone
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # again, while the first one was dealt with
        code = _INTERRUPTED
    sys.exit(command_line.ended(code, streams.close()))


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"error: Interrupted; nothing was written.\n")
    os._exit(_INTERRUPTED)
