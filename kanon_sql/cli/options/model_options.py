"""Options that ask for privacy models beyond k: made from what each model declares in its own file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from kanon_sql.cli.options.added_options import with_options
from kanon_sql.cli.output.help import PRIVACY
from kanon_sql.models.options import model_options

RequestedModels = Mapping[str, list[str] | str | None]
"""What was typed on the command line, by the names in ``kanon_sql.models.options``."""


def _options() -> dict[str, Any]:
    """Return the options for typer, by the names of the parameters."""
    options = {}
    for name, option in model_options().items():
        options[name] = _option(name, option.metavar, option.text, of_columns=option.names_column)
        if (variant := option.variant) is not None:
            options[variant.name] = _option(variant.name, variant.metavar, variant.text, of_columns=option.names_column)
    text = "Everybody of whom the table has a part, with the same columns."
    options["population"] = _option("population", "TABLE|FILE", text, of_columns=False)
    return options


def _option(name: str, metavar: str, text: str, *, of_columns: bool) -> Any:  # noqa: ANN401 - what typer reads
    """Return an option; one that may name a column can be given several times."""
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        metavar=f"[COLUMN=]{metavar}" if of_columns else metavar,
        help=text,
        rich_help_panel=PRIVACY,
    )
    return Annotated[list[str] | None, option] if of_columns else Annotated[str | None, option]


def with_models(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the options for privacy models too, and the population that some compare with.

    The command gets ``models``, which is what was asked for, and ``population``.
    """

    def call(asked: dict[str, Any], given: dict[str, Any]) -> None:
        population = asked.pop("population")
        command(**given, models=asked, population=population)

    return with_options(command, _options(), call, ("models", "population"))
