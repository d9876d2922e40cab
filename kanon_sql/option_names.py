"""The names of settings in messages: options on the command line; keywords, methods and classes in Python.

A message of the library names options as they are typed (``--max-suppressed``). Where the library was called from
Python, the error shows what does the same there (``max_suppressed``).
"""

from __future__ import annotations

import re
import shlex
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

on_command_line: ContextVar[bool] = ContextVar("kanon_on_command_line", default=False)
"""Whether messages are read by a person who types commands."""

PYTHON_NAMES = {
    "id": "identifying",
    "qi": "quasi_identifiers",
    "in-place": "in_place()",
    "as view": "to_view()",
    "into": "to_table()",
    "into NAME": "to_table(NAME)",
    "out": "to_file()",
    "out FILE": "to_file(FILE)",
    "sql": "sql()",
    "report FILE": "report()",
    "replace": "replace=True",
    "ignore-ledger": "ignore_ledger=True",
    "l": "DistinctLDiversity",
    "alpha": "AlphaKAnonymity",
    "t": "TCloseness",
    "k-map": "KMap",
    "presence": "DeltaPresence",
    "hierarchy": "hierarchies",
    "hierarchy FILE": "hierarchy=FILE",
    "hierarchy COLUMN=FILE": "hierarchies={COLUMN: FILE}",
}
"""The names in Python of options, with or without a value, that are not the same word with underscores."""

_COMMAND = re.compile(r"(?m:^  kanon [^\n]*$)|\bkanon (?:dp |hierarchy )?[a-z-]+ .*?(?=\.?$|\. |; |\))", re.DOTALL)
_WORDS = "optimal|local|loss|keep|drop|relaxed|set|range|gaussian|warehouse|view"
_VALUE = rf"NAME|FILE|COLUMN=FILE|(?:{_WORDS})(?=\W|$)|[A-Z](?:,[A-Z])+(?!\w)|\d+(?:\.\d+|e-?\d+)?(?:,\d+)*"
_OPTION = re.compile(rf"(?<![\w-])(?:--(?P<name>[a-z][a-z-]*)|-(?P<short>k)\b)(?:[ ](?P<value>{_VALUE}))?")


def command_line(verb: str, named: Sequence[str], *options: str) -> str:
    """Return a command, quoted for a shell. In a message it stands on a line of its own, after two spaces.

    Args:
        verb: ``report``, ``dp budget``, ...
        named: the source and the table.
        options: what follows.
    """
    words = [*options, "--", *named] if any(name.startswith("-") for name in named) else [*named, *options]
    return f"kanon {verb} {shlex.join(words)}"


def in_python(message: str) -> str:
    """Return a message with Python's names of the options in it; commands stay as they are typed."""
    parts, end = [], 0
    for command in _COMMAND.finditer(message):
        parts += [_OPTION.sub(_python_name, message[end : command.start()]), command[0]]
        end = command.end()
    return "".join([*parts, _OPTION.sub(_python_name, message[end:])])


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
