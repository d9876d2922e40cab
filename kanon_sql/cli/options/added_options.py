"""Options that a decorator adds to a command, so that they are declared once for all commands that take them."""

from __future__ import annotations

import inspect
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql.engine.duckdb.connection import Resources, using

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def with_options(
    command: Callable[..., None],
    options: Mapping[str, Any],
    call: Callable[[dict[str, Any], dict[str, Any]], None],
    gathered: tuple[str, ...] = (),
    after: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Callable[..., None]:
    """Return a command that takes more options.

    Args:
        command: the command.
        options: by parameter, its annotation for typer; each is None if it is not given, or its default.
        call: called with the values of these options, and with the other parameters of the command.
        gathered: parameters of the command that ``call`` fills, and that no person gives.
        after: the parameter of the command that they follow in its help; None: the last one.
        defaults: by parameter, its value if it is not given.
    """

    @wraps(command)
    def extended(**given: Any) -> None:  # noqa: ANN401 - the parameters of any command
        call({name: given.pop(name) for name in options}, given)

    own = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=(defaults or {}).get(name), annotation=option)
        for name, option in options.items()
    ]
    kept = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in own.parameters.items()
        if name not in gathered
    }
    place = len(kept) if after is None else [*kept].index(after) + 1
    parameters = [*[*kept.values()][:place], *added, *[*kept.values()][place:]]
    extended.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]  # what typer reads
    extended.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return extended


_OPTIONS = {
    "memory_limit": Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="Memory of the database, such as 300MB or 2GiB (default: 80 % of what there is).",
        ),
    ],
    "threads": Annotated[
        int | None,
        typer.Option("--threads", metavar="N", help="Threads (default: one for each core)."),
    ],
    "temp_dir": Annotated[
        Path | None,
        typer.Option(
            "--temp-dir",
            metavar="DIR",
            help="Where what does not fit in memory goes, in a private directory (default: beside a DuckDB file, else "
            "the system's).",
        ),
    ],
}


def with_resources(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the options for resources too; they hold for all that it opens."""

    def call(asked: dict[str, Any], given: dict[str, Any]) -> None:
        with using(Resources(**asked)):
            command(**given)

    return with_options(command, _OPTIONS, call)
