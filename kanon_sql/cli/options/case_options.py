"""The options of a case, and the runner of judges: it opens the tables, judges them, and prints notes and results."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.policy_options import RequestedPolicy, preparing
from kanon_sql.cli.options.shared import check_options, with_options
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import print_json, print_sql
from kanon_sql.evidence.case import Tables, open_case
from kanon_sql.release.script import logged_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from kanon_sql.evidence.case import Case, Judged, Wants

_TABLE: dict[str, Any] = {
    "source": shared.NamedSourceArgument,
    "table": shared.TableArgument,
    "quasi_identifiers": shared.QiOption,
    "entity": shared.EntityOption,
    "count": shared.CountOption,
    "prepare": shared.PrepareOption,
    "hierarchy": shared.HierarchyOption,
    "hierarchies": shared.HierarchiesOption,
    "policy_file": shared.PolicyOption,
}
_CASE: dict[str, Any] = {
    **_TABLE,
    "original": shared.OriginalOption,
    "original_table": shared.OriginalTableOption,
    "insensitive": shared.KeepOption,
    "k": shared.KOption,
}


def with_table(**more: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:  # noqa: ANN401 - a type of typer
    """Return a decorator that adds options for a table, its policy, the format of results, and ``more`` to a command.

    The command reads the values in ``context.params``. Options that it already has are not added.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command).parameters
        first = {name: option for name, option in {**_TABLE, **more}.items() if name not in own}
        last = with_options(command, shared.OUTPUT, lambda _, given: command(**given), defaults=shared.OUTPUT_DEFAULTS)
        return with_options(last, first, lambda _, given: last(**given), after="context")

    return decorated


with_case = partial(with_table, **_CASE)
"""The same with the options of a case, for ``run_judge``."""


class Printed(Protocol):
    def summary(self) -> dict[str, Any]:
        """Return the result as plain values."""


Found = TypeVar("Found", bound="Judged")
Result = TypeVar("Result", bound=Printed)


def run_judge(
    context: typer.Context,
    wants: Wants,
    judge: Callable[[Case, Talk], Found],
    show: Callable[[Found], None],
    failed: Callable[[Found], bool],
    *,
    requested: RequestedPolicy | None = None,
    script: Callable[[Case], str | None] = lambda _: None,
    **tables: Any,  # noqa: ANN401 - see Tables
) -> None:
    """Judge the tables of the command line, and print the result. Exits with code 1 if it failed.

    ``script`` returns the output of --sql if it is not the executed statements; ``tables`` are further ones.
    """
    check_options(context)
    said = context.params
    requested = requested or RequestedPolicy(said)
    base, in_file = requested.read()
    named = Tables(said["source"], said["table"], said["original"], said["original_table"], **tables)
    of_original = said["hierarchy"] and "sensitive" not in said  # that of a sensitive column needs no original
    by_original = said["hierarchies"] or said["original_table"] or of_original
    talk = Talk(quiet=said["quiet"], verbose=said["verbose"])
    with (
        open_case(
            named,
            requested.over(base),
            in_file,
            preparing(said["prepare"]),
            wants,
            by_original=bool(by_original),
            watch=talk.follow,
        ) as case,
        talk,
    ):
        if said["sql"] and (text := script(case)) is not None:
            print_sql(text)
            return
        result = judge(case, talk)
        for note in result.notes:
            talk.note(note)
        if said["sql"]:
            print_sql(logged_script(case.original.engine.statements, said["dialect"]))
            return
    end_with(result, show, said["output_format"], failed=failed(result))


def end_with(result: Result, show: Callable[[Result], None], output_format: str, *, failed: bool = False) -> None:
    """Print a result as JSON or by its own function. Exits with code 1 if it failed."""
    if output_format == "json":
        print_json(result.summary())
    else:
        show(result)
    if failed:
        raise typer.Exit(1)
