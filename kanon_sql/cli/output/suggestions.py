"""Commands that are printed to be typed next: each on a line of its own, unwrapped, quoted for a shell; and it runs.

What follows a command on its line would be typed too, and a wrapped line would be two commands: so all of them are made
and printed here.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kanon_sql.cli.output.output import print_text, visible
from kanon_sql.engine.sources.addresses import shown_source
from kanon_sql.errors import command_line

if TYPE_CHECKING:
    from kanon_sql.engine.sources.open_source import Source


def command(verb: str, source: str, opened: Source, *options: str) -> str:
    """Return a command on a source that is open.

    Args:
        verb: ``report``, ``hierarchy check``, ...
        source: what the person pointed at.
        opened: the source; its table is named, for there may be more than one by the time that the command is typed.
        options: what follows.
    """
    named = [shown_source(source), *([opened.name] if opened.in_database else [])]
    return as_called() + command_line(verb, named, *options).removeprefix("kanon")


def as_called() -> str:
    """Return what a person types to call this program: its path where a shell would not find it by its name."""
    called = sys.argv[0]
    return shlex.quote(called) if Path(called).name == "kanon" and shutil.which("kanon") is None else "kanon"


def print_command(text: str) -> None:
    """Print a command to be copied."""
    print_text(f"  {visible(text)}")


def free_name(path: Path) -> Path:
    """Return the path of a file that a command can write: it, or one with a number where it is taken."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}_{number}")
    return found
