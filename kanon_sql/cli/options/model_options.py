"""Options that ask for privacy models beyond k."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from kanon_sql.cli.options.added_options import with_options
from kanon_sql.cli.output.help import PRIVACY

RequestedModels = Mapping[str, list[str] | str | None]
"""What was asked for on the command line, by the names of ``kanon_sql.policy.requirements`` and "distance"."""


def _model_option(name: str, metavar: str, text: str) -> Any:  # noqa: ANN401 - what typer reads
    return typer.Option(f"--{name}", metavar=metavar, help=text, rich_help_panel=PRIVACY)


_OPTIONS = {
    "l": Annotated[
        list[str] | None,
        _model_option("l", "[COLUMN=]L", "A class has L different values of the sensitive column."),
    ],
    "entropy_l": Annotated[
        list[str] | None,
        _model_option("entropy-l", "[COLUMN=]L", "Values as evenly spread in each class as L equally frequent ones."),
    ],
    "recursive": Annotated[
        list[str] | None,
        _model_option(
            "recursive",
            "[COLUMN=]C,L",
            "The most frequent value has under C times the rows of the L-th and rarer ones.",
        ),
    ],
    "alpha": Annotated[
        list[str] | None, _model_option("alpha", "[COLUMN=]SHARE", "No value has more than this share of a class.")
    ],
    "t": Annotated[
        list[str] | None,
        _model_option("t", "[COLUMN=]T", "Values of each class are spread as in the table, but for a distance of T."),
    ],
    "distance": Annotated[
        list[str] | None,
        _model_option(
            "distance",
            "[COLUMN=]KIND",
            "Of --t: equal, ordered (the default for numbers and dates) or hierarchical (by --hierarchy COLUMN=FILE).",
        ),
    ],
    "beta": Annotated[
        list[str] | None,
        _model_option(
            "beta", "[COLUMN=]BETA", "No value is over 1 + BETA times as frequent in a class as in the table."
        ),
    ],
    "enhanced_beta": Annotated[
        list[str] | None,
        _model_option(
            "enhanced-beta", "[COLUMN=]BETA", "The same, and frequent values gain at most -ln of their share."
        ),
    ],
    "delta": Annotated[
        list[str] | None,
        _model_option("delta", "[COLUMN=]DELTA", "The logarithm of a value's gain or loss of share stays below DELTA."),
    ],
    "k_map": Annotated[
        str | None, _model_option("k-map", "K", "Each class has K rows in the table that --population names.")
    ],
    "presence": Annotated[
        str | None,
        _model_option("presence", "MIN,MAX", "The share of each class of --population that is in the table."),
    ],
    "population": Annotated[
        str | None,
        _model_option("population", "TABLE|FILE", "Everybody of whom the table has a part, with the same columns."),
    ],
}


def with_models(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the options for privacy models too, and the population that some compare with.

    The command gets ``models``, which is what was asked for, and ``population``.
    """

    def call(asked: dict[str, Any], given: dict[str, Any]) -> None:
        population = asked.pop("population")
        command(**given, models=asked, population=population)

    return with_options(command, _OPTIONS, call, ("models", "population"))
