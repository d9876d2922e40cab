"""``kanon``: reads the arguments, runs a command, ends with an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from kanon_sql import __version__
from kanon_sql.cli.commands.anonymize import anonymize_command
from kanon_sql.cli.commands.attack import attack_command
from kanon_sql.cli.commands.check import check_command
from kanon_sql.cli.commands.clean import clean_command
from kanon_sql.cli.commands.compare import compare_command
from kanon_sql.cli.commands.demo import demo_command
from kanon_sql.cli.commands.dp import (
    budget_command,
    count_command,
    histogram_command,
    mean_command,
    most_frequent_command,
    quantile_command,
    sum_command,
)
from kanon_sql.cli.commands.dp_release import release_command
from kanon_sql.cli.commands.hierarchy import check_command as fit_command
from kanon_sql.cli.commands.hierarchy import list_command, show_command
from kanon_sql.cli.commands.hierarchy_export import export_command
from kanon_sql.cli.commands.hierarchy_store import build_command, load_command
from kanon_sql.cli.commands.hierarchy_suggest import suggest_command
from kanon_sql.cli.commands.lattice import lattice_command
from kanon_sql.cli.commands.ledger import ledger_command
from kanon_sql.cli.commands.measure import measure_command
from kanon_sql.cli.commands.profile import init_command, profile_command
from kanon_sql.cli.commands.report import report_command
from kanon_sql.cli.options.dp_options import with_question
from kanon_sql.cli.options.examples import epilog
from kanon_sql.cli.options.model_options import with_models
from kanon_sql.cli.options.policy_options import with_policy
from kanon_sql.cli.options.resources import with_resources
from kanon_sql.cli.output import diagnostics
from kanon_sql.cli.output.output import visible
from kanon_sql.errors import KanonError, SearchInterruptedError, SourceError, on_command_line


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - a context of typer's own click
        return _flags_without_type(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - as above
        return _flags_without_type(super().get_params(ctx))


def _flags_without_type(parameters: list[Any]) -> list[Any]:
    """Leave the type of a flag out of the help: it takes no value."""
    for parameter in parameters:
        if getattr(parameter, "is_bool_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


app = typer.Typer(
    name="kanon",
    cls=_Group,
    help="Anonymize tables where they live: a release that loses least, as SQL that anyone can read.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 requirement not met, 2 usage, 3 database or file, 4 no solution, 130 interrupted, "
    "143 terminated.",
)
hierarchy_app = typer.Typer(
    cls=_Group,
    help="Generalization hierarchies: list, show, check, suggest, load, build and export them.",
    no_args_is_help=True,
)
dp_app = typer.Typer(
    cls=_Group,
    help="Differential privacy: noisy answers and releases that say nearly the same whoever is in the table.",
    no_args_is_help=True,
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo_command,
    "profile": profile_command,
    "init": init_command,
    "anonymize": with_policy(anonymize_command),
    "check": with_models(check_command),
    "measure": measure_command,
    "attack": attack_command,
    "report": with_policy(report_command),
    "ledger": ledger_command,
    "clean": clean_command,
    "lattice": with_models(lattice_command),
    "compare": with_models(compare_command),
}
_HIERARCHY_COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_command,
    "show": show_command,
    "check": fit_command,
    "suggest": suggest_command,
    "load": load_command,
    "build": build_command,
    "export": export_command,
}
_DP_COMMANDS: dict[str, Callable[..., None]] = {
    "budget": budget_command,
    "count": with_question(count_command),
    "sum": with_question(sum_command),
    "mean": with_question(mean_command),
    "quantile": with_question(quantile_command),
    "histogram": with_question(histogram_command),
    "most-frequent": with_question(most_frequent_command),
    "release": release_command,
}
for name, command in _COMMANDS.items():
    app.command(name, cls=_Command, epilog=epilog(name))(with_resources(command))
for name, command in _HIERARCHY_COMMANDS.items():
    hierarchy_app.command(name, cls=_Command, epilog=epilog(f"hierarchy {name}"))(with_resources(command))
for name, command in _DP_COMMANDS.items():
    dp_app.command(name, cls=_Command, epilog=epilog(f"dp {name}"))(with_resources(command))
app.add_typer(hierarchy_app, name="hierarchy")
app.add_typer(dp_app, name="dp")

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


def run(arguments: list[str]) -> int:
    """Return the exit code of a command line."""
    reader = on_command_line.set(True)
    try:
        return _run(arguments)
    finally:
        on_command_line.reset(reader)


def _run(arguments: list[str]) -> int:
    try:
        result = app(args=_with_sql_value(arguments), prog_name="kanon", standalone_mode=False)
    except KanonError as error:
        diagnostics.error(str(error))
        return error.exit_code
    except TyperException as error:
        if text := error.format_message():  # it is empty where the help was asked for and printed
            diagnostics.error(_wrong_value(error) or text.replace(": Value error, ", ": "))
            diagnostics.note(f"{_command_path(error)} --help shows what it takes.")
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the last resort: whatever it is, a person gets one line and an exit code
        diagnostics.error(_unforeseen(error))
        if {"-v", "--verbose"} & set(arguments):
            traceback.print_exc()
        return SourceError.exit_code
    code = result if isinstance(result, int) else 0
    if code == SearchInterruptedError.exit_code:
        diagnostics.error("Interrupted; nothing was written.")
    return code


def ended(code: int, failure: OSError | None) -> int:
    """Return the exit code of a process, given that of its command and why its results could not be printed."""
    if failure is None or code != 0:
        return code
    diagnostics.error(f"The results could not be printed (stdout: {failure.strerror}); what was published is there.")
    return SourceError.exit_code


def _unforeseen(error: Exception) -> str:
    """Return what to say about an error that nobody thought of: not its text, which may quote data."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror}. -v shows where this happened."
    if isinstance(error, MemoryError):
        return "There is not enough memory. -v shows where this happened."
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return f"This is a bug in kanon: {type(error).__name__} in {where}. -v shows more; please report it."


_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def _wrong_value(error: TyperException) -> str | None:
    """Return what to say of a value that is not of its option's kind; None where typer says it well enough."""
    option = getattr(error, "param", None)
    problems: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    kind = _KINDS.get(str(problems[0]["type"]).partition("_")[0]) if problems else None
    if option is None or kind is None:
        return None
    return f"{option.opts[-1]} takes {kind}, not '{visible(str(problems[0]['input']))}'."


def _command_path(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return "kanon" if context is None else str(context.command_path)


def _with_sql_value(arguments: list[str]) -> list[str]:
    """Return the arguments with a bare ``--sql`` of commands that make a release written out as ``--sql=release``."""
    if not arguments or arguments[0] not in _SQL_OF_RELEASE:
        return arguments
    return ["--sql=release" if argument == "--sql" else argument for argument in arguments]
