"""The help of a command: its arguments, its options in panels, its examples; no line is longer than the window."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import typer

PRIVACY = "Privacy"
_ARGUMENTS, _OPTIONS, _OUTPUT = "Arguments", "Options", "Output"
_PANELS: dict[str, tuple[str, ...]] = {
    _ARGUMENTS: (),
    _OPTIONS: (),  # what most people need first: all options that are in no other panel
    "Files": ("--read", "--encoding", "--decimal"),
    "Roles": ("--keep", "--prepare", "--count", "--pseudonymize", "--key-file", "--hierarchies", "--publish"),
    PRIVACY: ("--max-suppressed",),  # and those of the privacy models
    "Search": ("--algorithm", "--choice", "--measure", "--levels", "--time-limit", "--search-on", "--seed", "--set"),
    "Algorithms local and spolg": ("--prove",),
    "Algorithm spolg": ("--sample-rate",),
    "Algorithms mondrian and mondrian-plus": ("--choose", "--cut", "--labels", "--numbers", "--pairs"),
    "Utility": ("--utility", "--target", "--spread"),
    "Destination": (
        *("--as", "--lock", "--spreadsheet-safe", "--delimiter", "--out-encoding", "--out-decimal"),
        *("--in-place", "--backup", "--no-backup", "--dry-run", "--replace"),
        *("--report", "--asked-by", "--ignore-ledger"),
    ),
    _OUTPUT: ("--time-zone", "--dialect", "--lookups", "--format", "--quiet", "--verbose", "--help"),
    "Machine": ("--memory-limit", "--threads", "--temp-dir"),
}
"""The panels of a help in their order, and the options that stand in each unless a command says otherwise."""
_WIDEST = 100  # characters of a line, however wide the window is
_NARROWEST = 50
_INDENT = 26  # where the texts begin
_GAP = 2
_LONGEST = 40  # characters of an option with its choices; more choices are listed in the text
_WORDS = re.compile(r"""-\S+(?: (?:"[^"]*"|[^-\s]\S*))?|\S+""")  # of a command: an option with its value, or a word
_NUMBERS = {"int": "N", "int range": "N", "float": "X"}


def panels(command: Any, context: typer.Context) -> dict[str, list[Any]]:  # noqa: ANN401 - typer's own command class
    """Return the parameters of a command that its help shows, by panel; what only this command has comes second."""
    usual = {option: panel for panel, options in _PANELS.items() for option in options}
    found: dict[str, list[Any]] = {_ARGUMENTS: [], _OPTIONS: []}
    for parameter in command.get_params(context):
        panel = parameter.rich_help_panel or usual.get(max(parameter.opts, key=len), _OPTIONS)
        if parameter.param_type_name == "argument":
            panel = _ARGUMENTS
        if not parameter.hidden:
            found.setdefault(panel, []).append(parameter)
    if len(found.get(_OUTPUT, ())) == 1:  # --help alone: of a group
        found[_OPTIONS] += found.pop(_OUTPUT)
    order = [*_PANELS]
    ranked = sorted(found, key=lambda panel: order.index(panel) if panel in _PANELS else 1.5)
    return {panel: found[panel] for panel in ranked if found[panel]}


def help_of(command: Any, context: typer.Context) -> str:  # noqa: ANN401 - as above
    """Return the help of a command or of a group."""
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [_filled(f"Usage: {re.sub('[{}]', '', usage)}", width, indent=7)]
    parts += [_filled(line, width) for line in (command.help or "").strip().split("\n")]
    for panel, parameters in panels(command, context).items():
        parts += ["", _heading(f"{panel}:")]
        for parameter in parameters:
            parts += _item(*_described(parameter, context), width)
    if commands := getattr(command, "commands", None):
        parts += ["", _heading("Commands:")]
        column = _GAP + max(map(len, commands)) + _GAP
        for name, inner in commands.items():
            parts += _item(name, inner.help, width, column)
    if command.epilog:
        parts.append("")
        parts += [line for text in command.epilog.split("\n") for line in _example(text, width)]
    parts.insert(1, "")
    return "\n".join(parts) + "\n"


def _described(parameter: Any, context: typer.Context) -> tuple[str, str]:  # noqa: ANN401 - typer's own parameter class
    """Return how a parameter is written, and what it means; the choices of an option stand where there is room."""
    text = parameter.get_help_record(context)[1] or ""
    if parameter.param_type_name == "argument":
        return parameter.display_name_raw, text.removesuffix("[required]")
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.is_flag:
        return names, text
    takes = parameter.metavar or parameter.display_type(context).strip("<>")
    if parameter.metavar is None and len(names) + len(takes) > _LONGEST:
        text = f"{text} One of: {', '.join(takes.split('|'))}."
        takes = max(parameter.opts, key=len).lstrip("-").upper()
    return f"{names} {_NUMBERS.get(takes, takes)}", text


def _item(name: str, text: str, width: int, column: int = _INDENT) -> Iterator[str]:
    """Return the lines of a name and its text, which begins on a line of its own where the name is too long."""
    lines = textwrap.wrap(text, width - column, break_long_words=False, break_on_hyphens=False) or [""]
    if len(name) + 2 * _GAP > column:
        yield f"  {name}"
    else:
        yield f"  {name:<{column - _GAP}}{lines.pop(0)}".rstrip()
    yield from (f"{'':{column}}{line}" for line in lines)


def _filled(text: str, width: int, indent: int = 0) -> str:
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _example(text: str, width: int) -> Iterator[str]:
    """Return the lines of an example, which can be typed as they are: a long one goes on after a backslash."""
    if not text.startswith(" "):
        yield _filled(text, width)
        return
    line = ""
    for piece in _WORDS.findall(text):
        if line and len(line) + len(piece) + 3 > width:
            yield f"{line} \\"
            line = f"      {piece}"
        else:
            line = f"{line} {piece}" if line else f"  {piece}"
    yield line


def _heading(text: str) -> str:
    is_window = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\033[1m{text}\033[0m" if is_window else text
