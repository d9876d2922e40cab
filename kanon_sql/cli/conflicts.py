"""Options that would be read and then ignored: a person who gives one means something by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.cli.options import refuse_contradictions
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import typer


def check_options(context: typer.Context, apart: Mapping[tuple[str, str], str] | None = None) -> None:
    """Refuse options of a command that would be read and then ignored.

    Args:
        context: of the command, whose parameters are named as everywhere: sql, dialect, output_format, quiet, verbose.
        apart: further pairs of parameters that do not go together, and why.

    Raises:
        UsageError: two options were given that do not go together.
    """
    parameters = context.params
    refuse_contradictions(
        output_format=parameters["output_format"],
        sql=bool(parameters["sql"]),
        dialect=parameters["dialect"],
        quiet=parameters["quiet"],
        verbose=parameters["verbose"],
    )
    given = _given(context)
    for (one, other), reason in (apart or {}).items():
        if one in given and other in given:
            raise UsageError(f"{given[one]} and {given[other]} do not go together: {reason}.")


def _given(context: typer.Context) -> dict[str, str]:
    """Return the parameters that stand on the command line, each with its longest option."""
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name is not None
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name == "COMMANDLINE"
    }
