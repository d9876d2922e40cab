"""Errors, and the exit code of the command line for each.

    KanonError
    ├── UsageError ............. 2  the call does not make sense: a column, option or setting is wrong
    │   ├── PolicyError ........ 2  kanon.toml has invalid content
    │   └── UnsuitableError .... 2  an algorithm cannot search under the required privacy models
    ├── SourceError ............ 3  a database, table or file cannot be opened, read or written
    │   ├── HierarchyError ..... 3  a hierarchy does not fit: missing values, two parents, no common root
    │   ├── ComputationError ... 3  a statement cannot compute with a value
    │   ├── InUseError ......... 3  another process, or another connection, has the database open
    │   ├── NoRightError ....... 3  the user of a database may not do what is needed; nothing was kept
    │   └── NoRoomError ........ 3  the memory limit, or a disk, is too small for the work; nothing was kept
    ├── VerificationError ...... 1  a finished release failed the check of its own output; nothing was kept
    ├── JointReleaseError ...... 1  a release and an earlier one reveal too much together; nothing was kept
    ├── BudgetError ............ 1  an answer would cost more privacy than remains in the budget of its table
    ├── NoSolutionError ........ 4  no release can satisfy the requirements
    └── SearchInterruptedError   130  the person stopped the work; nothing was kept

A message gives the problem, its place and the next step, in one or two lines. It has counts and column names, never the
value of a cell: error messages end up in logs, and logs are not anonymized.
"""

from __future__ import annotations

import re
import shlex
from contextvars import ContextVar
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


# Names of settings in messages: options on the command line; keywords, methods and classes in Python.
#
# A message of the library names options as they are typed (``--time-limit``). If the library was called from Python,
# the error shows the equivalent there (``time_limit``).

on_command_line: ContextVar[bool] = ContextVar("kanon_on_command_line", default=False)
"""True if messages are for a person who types commands."""

PYTHON_NAMES = {
    "id": "identifying",
    "qi": "quasi_identifiers",
    "keep": "insensitive",
    "in-place": "in_place()",
    "as view": "to_view()",
    "into": "to_table()",
    "into NAME": "to_table(NAME)",
    "no-backup": "backup=False",
    "out": "to_file()",
    "out FILE": "to_file(FILE)",
    "sql": "sql()",
    "report FILE": "report()",
    "read": "DataFile",
    "out-encoding": "encoding",
    "out-decimal": "decimal",
    "replace": "replace=True",
    "again": "again=True",
    "ignore-ledger": "ignore_ledger=True",
    "utility": "utility=True",
    "l": "DistinctLDiversity",
    "alpha": "AlphaKAnonymity",
    "t": "TCloseness",
    "k-map": "KMap",
    "known": "KnownSubsets",
    "presence": "DeltaPresence",
    "hierarchy": "hierarchies",
    "hierarchy FILE": "hierarchy=FILE",
    "hierarchy COLUMN=FILE": "hierarchies={COLUMN: FILE}",
}
"""The Python names of options, with or without a value, that are not the same word with underscores."""

_COMMAND = re.compile(r"(?m:^  kanon [^\n]*$)|\bkanon (?:dp |hierarchy )?[a-z-]+ .*?(?=\.?$|\. |; |\))", re.DOTALL)
_WORDS = "optimal|local|loss|keep|drop|relaxed|set|range|gaussian|warehouse|view"
_VALUE = rf"NAME|FILE|COLUMN=FILE|(?:{_WORDS})(?=\W|$)|[A-Z](?:,[A-Z])+(?!\w)|\d+(?:\.\d+|e-?\d+)?(?:,\d+)*"
_OPTION = re.compile(rf"(?<![\w-])(?:--(?P<name>[a-z][a-z-]*)|-(?P<short>k)\b)(?:[ ](?P<value>{_VALUE}))?")


def did_you_mean(name: str, known: Iterable[str], shown: Callable[[str], str] = repr) -> str:
    """Return a question about the nearest known name, after a space; empty if none is near.

    >>> did_you_mean("los", ["loss", "gcp"]), did_you_mean("x", ["loss"])
    (" Did you mean 'loss'?", '')
    """
    return "".join(f" Did you mean {shown(near)}?" for near in get_close_matches(name, known, 1))


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: 1 row, 2 rows, 0 classes."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def command_line(verb: str, named: Sequence[str], *options: str) -> str:
    """Return a command, quoted for a shell. In a message it is on its own line, after two spaces.

    Args:
        verb: ``report``, ``dp budget``, ...
        named: the source and the table.
        options: further options.
    """
    is_option = any(name.startswith("-") and name != "-" for name in named)
    words = [*options, "--", *named] if is_option else [*named, *options]
    return f"kanon {verb} {shlex.join(words)}"


def in_python(message: str) -> str:
    """Return a message with Python's names of the options in it; commands stay unchanged."""
    return outside_commands(message, lambda part: _OPTION.sub(_python_name, part))


def in_policy_file(message: str) -> str:
    """Return a message with settings of kanon.toml in place of options, which a table of a set does not have."""

    def setting(option: re.Match[str]) -> str:
        name, value = option["name"] or option["short"], option["value"]
        key = PYTHON_NAMES.get(name, name.replace("-", "_"))
        return key if value is None else f'{key} = "{value}"'

    return outside_commands(message, lambda part: _OPTION.sub(setting, part))


def outside_commands(message: str, change: Callable[[str], str]) -> str:
    """Change a message except for the commands in it."""
    parts, end = [], 0
    for command in _COMMAND.finditer(message):
        parts += [change(message[end : command.start()]), command[0]]
        end = command.end()
    return "".join([*parts, change(message[end:])])


def _python_name(option: re.Match[str]) -> str:
    name, value = option["name"] or option["short"], option["value"]
    if value is not None and (whole := PYTHON_NAMES.get(f"{name} {value}")):
        return whole
    keyword = PYTHON_NAMES.get(name, name.replace("-", "_"))
    if value is None:
        return keyword
    if keyword[0].isupper():
        return f"{keyword} {value}"
    if "," in value:
        items = value.split(",")
        return f"{keyword}=[{', '.join(items if items[0][0].isdigit() else [f'{item!r}' for item in items])}]"
    return f"{keyword}={value if value.isupper() or value[0].isdigit() else repr(value)}"


class KanonError(Exception):
    """Base class of all errors that kanon-sql raises on purpose."""

    exit_code: ClassVar[int] = 3

    def __str__(self) -> str:
        """Return the message; it names options on the command line, and keywords of the library elsewhere."""
        message = super().__str__()
        return message if on_command_line.get() else in_python(message)


class UsageError(KanonError):
    """The call does not make sense: an unknown column, two roles for one column, a setting out of range."""

    exit_code: ClassVar[int] = 2


class PolicyError(UsageError):
    """A policy file cannot be read or has invalid content."""


class UnsuitableError(UsageError):
    """A search or its result does not suit the requirements: privacy models, the size of the lattice, roles."""


class SourceError(KanonError):
    """A database, table or file cannot be opened, read or written."""

    exit_code: ClassVar[int] = 3


class HierarchyError(SourceError):
    """A generalization hierarchy is not a tree over the values of its column."""


class ComputationError(SourceError):
    """A statement cannot compute with a value, such as a number that has too many digits."""


class InUseError(SourceError):
    """A database file is open elsewhere and cannot be opened here now.

    Attributes:
        elsewhere: True if another process has it open, which may close it.
    """

    def __init__(self, text: str, *, elsewhere: bool = True) -> None:
        """Store the message and ``elsewhere``."""
        super().__init__(text)
        self.elsewhere = elsewhere


class NoRightError(SourceError):
    """The user of a database may not do what is needed."""


class NoRoomError(SourceError):
    """The memory limit, or a disk, is too small for the work."""


class VerificationError(KanonError):
    """A finished release failed the check of its own output and was removed."""

    exit_code: ClassVar[int] = 1


class JointReleaseError(KanonError):
    """A release would reveal too much together with an earlier one of the same table; it was removed."""

    exit_code: ClassVar[int] = 1


class BudgetError(KanonError):
    """An answer would cost more privacy than remains in the budget of its table; the table was not queried."""

    exit_code: ClassVar[int] = 1


class NoSolutionError(KanonError):
    """No release of this table can satisfy the requirements."""

    exit_code: ClassVar[int] = 4


class TimeLimitError(KanonError):
    """The time limit ended before a release was published; nothing was written."""

    exit_code: ClassVar[int] = 4


class SearchInterruptedError(KanonError):
    """The person stopped the work before there was anything to publish."""

    exit_code: ClassVar[int] = 130


NOTHING_WRITTEN = "nothing was written"
"""The default outcome of work that is stopped."""
