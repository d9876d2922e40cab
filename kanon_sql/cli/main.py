"""``kanon``: reads the arguments, runs a command, ends with an exit code."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from kanon_sql import __version__
from kanon_sql.cli import diagnostics
from kanon_sql.cli.anonymize import anonymize_command
from kanon_sql.cli.check import check_command
from kanon_sql.cli.demo import demo_command
from kanon_sql.cli.hierarchy import hierarchy_app
from kanon_sql.cli.hierarchy_store import build_command, load_command
from kanon_sql.errors import KanonError, SearchInterruptedError

app = typer.Typer(
    name="kanon",
    help="Anonymize tables where they live: a release that loses least, as SQL that anyone can read.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 requirement not met, 2 usage, 3 database or file, 4 no solution, 130 interrupted.",
)
app.command("demo")(demo_command)
hierarchy_app.command("load")(load_command)
hierarchy_app.command("build")(build_command)
app.add_typer(hierarchy_app, name="hierarchy")
app.command("anonymize")(anonymize_command)
app.command("check")(check_command)

_SQL_OF_RELEASE = {"anonymize", "demo"}


@app.callback()
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
        sys.stdout.write(f"kanon-sql {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Return the exit code of a command line."""
    try:
        result = app(args=_with_sql_value(arguments), prog_name="kanon", standalone_mode=False)
        code = result if isinstance(result, int) else 0
        if code == SearchInterruptedError.exit_code:
            diagnostics.error("Interrupted; nothing was written.")
    except KanonError as error:
        diagnostics.error(str(error))
        return error.exit_code
    except TyperException as error:
        if text := error.format_message():  # it is empty where the help was asked for and printed
            diagnostics.error(text)
            diagnostics.note(f"{_command_path(error)} --help shows what it takes.")
        return error.exit_code
    except BrokenPipeError:  # the reader of stdout (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _command_path(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return "kanon" if context is None else str(context.command_path)


def _with_sql_value(arguments: list[str]) -> list[str]:
    """Return the arguments with a bare ``--sql`` of commands that make a release written out as ``--sql=release``."""
    if not arguments or arguments[0] not in _SQL_OF_RELEASE:
        return arguments
    return ["--sql=release" if argument == "--sql" else argument for argument in arguments]


if __name__ == "__main__":
    main()
