"""Options that would be read and then ignored: a person who gives one means something by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import typer

_EVERYWHERE = {
    ("sql", "output_format"): "--sql prints SQL, which has one format",
    ("quiet", "verbose"): "one says nothing, the other every statement",
}
"""Pairs of parameters of any command that do not go together, and why."""


def check_options(context: typer.Context, apart: Mapping[tuple[str, str], str] | None = None) -> None:
    """Refuse options of a command that would be read and then ignored.

    Args:
        context: of the command, whose parameters are named as everywhere: sql, dialect, output_format, quiet, verbose.
        apart: further pairs of parameters that do not go together, and why.

    Raises:
        UsageError: two options do not go together, or --dialect was given and no SQL is to be printed.
    """
    given = _given(context)
    for (one, other), reason in {**_EVERYWHERE, **(apart or {})}.items():
        if one in given and other in given:
            raise UsageError(f"{given[one]} and {given[other]} do not go together: {reason}.")
    if "dialect" in given and "sql" not in given:
        raise UsageError("--dialect is that of the SQL that is printed: give --sql too, or leave it out.")


def _given(context: typer.Context) -> dict[str, str]:
    """Return the parameters that stand on the command line, each with its longest option."""
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name is not None
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name == "COMMANDLINE"
    }
