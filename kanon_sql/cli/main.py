"""``kanon``: parses the arguments, runs a command and exits with a code."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from kanon_sql.cli import VERSION_LINE
from kanon_sql.cli.commands import COMMANDS, EXAMPLES, GROUPS
from kanon_sql.cli.options.keys import hidden, note_hidden, refuse_twice
from kanon_sql.cli.output import diagnostics
from kanon_sql.cli.output.output import visible
from kanon_sql.errors import NOTHING_WRITTEN, KanonError, SearchInterruptedError, SourceError, on_command_line

_ROOT = "kanon"
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_PLAIN = {int: re.compile(r"[0-9]{1,18}"), float: re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")}
_BARE = {"anonymize": ("--sql", "release"), "demo": ("--sql", "release"), "measure": ("--suda", "3")}
"""For a command, the option that may be given without a value, and its implied value."""


class _PlainValues:
    """Converts values that need no check: missing values, texts, choices, whole numbers, paths.

    typer checks every value with pydantic, which takes a fifth of the start of a small run. It only receives the
    remaining values, including wrong ones, and reports them.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - as typer calls it
        described = param.type_descriptor
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if described.parameter_info.parser is None and not described.is_ranged:
            if described.is_choice and value in (described.choices or ()):
                return value
            kind = described.annotation
            if kind is str or (kind == list[str] and isinstance(value, list | tuple)):
                return value if kind is str else [*value]
            if kind in _PLAIN and _PLAIN[kind].fullmatch(str(value)):
                return kind(value)
            if kind is Path and (not Path(value).exists() or os.access(value, os.R_OK)):
                return Path(value)
        param._runtime_param = None  # noqa: SLF001 - from here on typer reads it
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


class _Readable:
    """Help and conversion of values for commands and groups."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - of typer's own click
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of typer's classes
        for parameter in parameters:
            parameter._runtime_param = _PlainValues()  # noqa: SLF001 - the parser of values of typer
        return parameters

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """Write examples as they can be typed: a long one continues after a backslash."""
        lines = [part for text in (self.epilog or "").split("\n") for part in _example(text, formatter.width)]  # type: ignore[attr-defined]
        formatter.write("\n" + "\n".join(lines).rstrip() + "\n" if lines else "")


_WORDS = re.compile(r"""-\S+(?: (?:"[^"]*"|[^-\s]\S*))?|\S+""")  # of a command: an option with its value, or a word


def _example(text: str, width: int) -> Iterator[str]:
    line = ""
    for piece in _WORDS.findall(text) if text.startswith(" ") else text.split():
        if line and len(line) + len(piece) + 3 > width:
            yield f"{line} \\" if text.startswith(" ") else line
            line = f"      {piece}" if text.startswith(" ") else piece
        else:
            line = f"{line} {piece}" if line else text[: len(text) - len(text.lstrip())] + piece
    yield line


class _Command(_Readable, TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - as above
        note_hidden(self, args)
        left = super().parse_args(ctx, args)
        refuse_twice(ctx)
        return left


class _Group(_Readable, TyperGroup):
    """A group that imports its commands on first use; until then, each is a name and a summary."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of typer
        super().__init__(**settings)
        self._before = "" if self.name == _ROOT else f"{self.name} "
        for path, (_, summary) in COMMANDS.items():
            name = path.removeprefix(self._before)
            if path.startswith(self._before) and " " not in name:
                self.add_command(TyperCommand(name, help=summary))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - as above
        path = self._before + cmd_name
        return _command(path) if path in COMMANDS else super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - as above
        if not args and not ctx.resilient_parsing:  # shows the help
            sys.stdout.write(f"{ctx.get_help()}\n")
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in self.commands.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401 - as above
        from typer._click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=command.get_short_help_str()) for name, command in self.commands.items()]
        options = super(TyperGroup, self).shell_complete(ctx, incomplete)
        return [item for item in found if item.value.startswith(incomplete)] + options


@cache
def root() -> Any:  # noqa: ANN401 - typer's own class of groups
    """Return the group of all commands."""
    app = typer.Typer(
        name=_ROOT,
        cls=_Group,
        help="Anonymize tables in their own database: the release that loses the least, by SQL that anyone can read.",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings=_SETTINGS,
        epilog="Exit codes: 0 done, 1 requirement not met, 2 usage, 3 database or file, 4 no solution, 130 "
        "interrupted, 143 terminated.",
    )
    app.callback()(_global)
    group: Any = get_command(app)
    for name, summary in GROUPS.items():
        group.add_command(_Group(name=name, help=summary, rich_markup_mode=None))
    return group


@cache
def _command(path: str) -> Any:  # noqa: ANN401 - typer's own class of commands
    """Import a command and return it with all of its options."""
    from kanon_sql.cli.options.shared import with_layout, with_resources, with_set, with_time_zone

    module, _, name = COMMANDS[path][0].partition(":")
    shown = "\n".join(["Examples, after kanon demo:", *(f"  {line}" for line in EXAMPLES[path])])
    app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=_SETTINGS)
    made = app.command(path.rpartition(" ")[2], cls=_Command, epilog=shown)
    function = getattr(import_module(f"kanon_sql.cli.commands.{module}"), name)
    made(with_set(with_resources(with_layout(with_time_zone(function)))))
    return get_command(app)


def load(arguments: Sequence[str]) -> None:
    """Import the command that the arguments start with, if there is one."""
    for path in (arguments[0], " ".join(arguments[:2])) if arguments else ():
        if path in COMMANDS:
            _command(path)


def _global(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", is_eager=True, callback=lambda on: _version(on=on)
        ),
    ] = False,
) -> None:
    """Settings of all commands."""


def _version(*, on: bool) -> None:
    if on:
        sys.stdout.write(VERSION_LINE)
        raise typer.Exit


def run(arguments: list[str]) -> int:
    reader = on_command_line.set(True)
    diagnostics.done.set(NOTHING_WRITTEN)
    hidden.set({})
    try:
        return _run(arguments)
    finally:
        on_command_line.reset(reader)


def _run(arguments: list[str]) -> int:
    try:
        result = root().main(args=_with_bare_value(arguments), prog_name=_ROOT, standalone_mode=False)
    except KanonError as error:
        diagnostics.error(str(error))
        return error.exit_code
    except TyperException as error:
        diagnostics.error(_wrong_value(error) or error.format_message().replace(": Value error, ", ": "))
        context = getattr(error, "ctx", None)
        path = _ROOT if context is None else context.command_path
        diagnostics.note(f"{path} --help shows what it takes.")
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the last resort: any error ends in one line and an exit code
        diagnostics.error(_unforeseen(error))
        if {"-v", "--verbose"} & set(arguments):
            import traceback

            traceback.print_exc()
        return SourceError.exit_code
    code = result if isinstance(result, int) else 0
    if code == SearchInterruptedError.exit_code:
        diagnostics.error(f"Interrupted; {diagnostics.done.get()}.")
    return code


def _unforeseen(error: Exception) -> str:
    """Return the message for an unforeseen error, without its text, which may quote data."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror}. -v shows where this happened."
    if isinstance(error, MemoryError):
        return "There is not enough memory. -v shows where this happened."
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return f"This is a bug in kanon: {type(error).__name__} in {where}. -v shows more; please report it."


_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def _wrong_value(error: TyperException) -> str | None:
    """Return the message for a value of the wrong type; None if that of typer is good enough."""
    option = getattr(error, "param", None)
    problems: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    kind = _KINDS.get(str(problems[0]["type"]).partition("_")[0]) if problems else None
    if option is None or kind is None:
        return None
    return f"{option.opts[-1]} takes {kind}, not '{visible(str(problems[0]['input']))}'."


def _with_bare_value(arguments: list[str]) -> list[str]:
    """Return the arguments, with the implied value added to an option without one."""
    bare, value = _BARE.get(arguments[0] if arguments else "", ("", ""))
    return [
        f"{bare}={value}" if argument == bare and not after.isdecimal() else argument
        for argument, after in itertools.zip_longest(arguments, arguments[1:], fillvalue="")
    ]
