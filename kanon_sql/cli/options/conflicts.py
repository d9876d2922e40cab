"""Options that would be read and then ignored: a person who gives one means something by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.engine.keys import require_apart
from kanon_sql.errors import UsageError
from kanon_sql.release.statements.view import NO_VIEW_OF_PSEUDONYMS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import typer

    from kanon_sql.policy.destination import Destination
    from kanon_sql.policy.policy import Policy


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
    given = given_options(context)
    for (one, other), reason in (apart or {}).items():
        if one in given and other in given:
            raise UsageError(f"{given[one]} and {given[other]} do not go together: {reason}.")


def given_options(context: typer.Context) -> dict[str, str]:
    """Return the parameters that stand on the command line, each with its longest option."""
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name is not None
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name == "COMMANDLINE"
    }


def check_key_file(policy: Policy, destination: Destination, save_policy: Path | None) -> None:
    """Refuse what cannot be done with pseudonyms, before any work is done for it.

    Raises:
        UsageError: the key file is something else too, or pseudonyms are to be in a view.
    """
    require_apart(policy.key_file, [destination.out], "the release")
    require_apart(policy.key_file, [destination.backup], "the backup")
    require_apart(policy.key_file, [save_policy], "the policy")
    if policy.columns.pseudonymize and destination.into is not None and destination.kind == "view":
        raise UsageError(NO_VIEW_OF_PSEUDONYMS)


def refuse_contradictions(*, output_format: str, sql: bool, dialect: str | None, quiet: bool, verbose: bool) -> None:
    """Raise where one option makes another one meaningless.

    Raises:
        UsageError: two of them were given.
    """
    if quiet and verbose:
        raise UsageError("-q says nothing and -v says more: leave one of them out.")
    if sql and output_format == "json":
        raise UsageError("--sql prints SQL, which is no JSON: leave --format json out, or --sql.")
    if not sql and dialect not in {None, "duckdb"}:
        raise UsageError("--dialect is for the SQL that --sql prints: add --sql, or leave --dialect out.")
