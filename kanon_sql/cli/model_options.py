"""Options that ask for privacy models beyond k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql.models.requirements import REQUIREMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping


def _model_option(name: str, metavar: str, text: str) -> Any:  # noqa: ANN401 - what typer reads
    return typer.Option(f"--{name}", metavar=metavar, help=text, rich_help_panel="Privacy models beyond k")


LOption = Annotated[
    list[str] | None,
    _model_option("l", "[COLUMN=]L", "A class has L different values of the sensitive column."),
]
EntropyLOption = Annotated[
    list[str] | None,
    _model_option("entropy-l", "[COLUMN=]L", "Values as evenly spread in each class as L equally frequent ones."),
]
RecursiveOption = Annotated[
    list[str] | None,
    _model_option(
        "recursive",
        "[COLUMN=]C,L",
        "The most frequent value has under C times the rows of the L-th and rarer ones.",
    ),
]
AlphaOption = Annotated[
    list[str] | None, _model_option("alpha", "[COLUMN=]SHARE", "No value has more than this share of a class.")
]
TOption = Annotated[
    list[str] | None,
    _model_option("t", "[COLUMN=]T", "Values of each class are spread as in the table, but for a distance of T."),
]
DistanceOption = Annotated[
    list[str] | None,
    _model_option(
        "distance",
        "[COLUMN=]KIND",
        "Of --t: equal, ordered (the default for numbers and dates) or hierarchical (by --hierarchy COLUMN=FILE).",
    ),
]
BetaOption = Annotated[
    list[str] | None,
    _model_option("beta", "[COLUMN=]BETA", "No value is over 1 + BETA times as frequent in a class as in the table."),
]
EnhancedBetaOption = Annotated[
    list[str] | None,
    _model_option("enhanced-beta", "[COLUMN=]BETA", "The same, and frequent values gain at most -ln of their share."),
]
DeltaOption = Annotated[
    list[str] | None,
    _model_option("delta", "[COLUMN=]DELTA", "The logarithm of a value's gain or loss of share stays below DELTA."),
]
KMapOption = Annotated[
    str | None, _model_option("k-map", "K", "Each class has K rows in the table that --population names.")
]
PresenceOption = Annotated[
    str | None,
    _model_option("presence", "MIN,MAX", "The share of each class of --population that is in the table."),
]
PopulationOption = Annotated[
    str | None,
    _model_option("population", "TABLE|FILE", "Everybody of whom the table has a part, with the same columns."),
]


def asked_models(context: typer.Context) -> Mapping[str, list[str] | str | None]:
    """Return what was asked for on the command line, by the names of ``REQUIREMENTS`` and "distance"."""
    return {name: context.params.get(name) for name in (*REQUIREMENTS, "distance")}
