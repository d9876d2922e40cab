"""``kanon`` as a process: where it begins and ends, whatever happens to its streams and whoever ends it how."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_INTERRUPTED = 130
_BY_SIGNAL = 128  # a shell adds the number of the signal that ended a process
_NOTHING = "nothing was written"


class Ending(SystemExit):
    """A signal asked the process to end. It is no Ctrl-C, which lets a search publish the best that it has.

    Attributes:
        name: of the signal.
    """

    def __init__(self, number: int) -> None:
        """Make it from the number of the signal."""
        super().__init__(_BY_SIGNAL + number)
        self.name = signal.Signals(number).name


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    hears_ctrl_c = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nohup and & turn it off
    # What is ignored stays ignored: SIGHUP under nohup. There is no SIGHUP on Windows.
    asked = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ending = [number for number in asked if signal.getsignal(number) is signal.SIG_DFL]
    heard = [*ending, *([signal.SIGINT] if hears_ctrl_c else [])]
    for number in heard:
        # The imports take a quarter of a second; an exception inside one may come out as any other, and there is
        # nothing to clean up yet.
        signal.signal(number, _end_at_once)
    from kanon_sql.cli import main as command_line
    from kanon_sql.cli.output.diagnostics import error
    from kanon_sql.cli.output.streams import Streams

    streams = Streams()
    try:
        if hears_ctrl_c:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in ending:
            signal.signal(number, _end)
        code = command_line.run(sys.argv[1:])
        for number in heard:  # what is left to do takes no time and cannot be undone
            signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt:  # again, while the first one was dealt with
        code = _INTERRUPTED
    except Ending as asked_to_end:
        code = int(str(asked_to_end.code))
        error(f"Ended by {asked_to_end.name}; {_done(asked_to_end)}.")
    sys.exit(command_line.ended(code, streams.close()))


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    # Nothing else is heard from now on: a terminal that is closed sends several, and they would stop the cleaning up.
    for other in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(other, signal.SIG_IGN)
    raise Ending(number)


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    by_ctrl_c = number == signal.SIGINT
    said = "Interrupted" if by_ctrl_c else f"Ended by {signal.Signals(number).name}"
    with suppress(OSError):
        os.write(2, f"error: {said}; {_NOTHING}.\n".encode())
    os._exit(_BY_SIGNAL + number)


def _done(ending: Ending) -> str:
    """Return what was done before it: where something was, it was noted on the way up."""
    notes = getattr(ending, "__notes__", [])
    return str(notes[-1]) if notes else _NOTHING
