"""``--memory-limit``, ``--threads`` and ``--temp-dir``: of every command that opens a source, and of no policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql.cli.options.added_options import with_options
from kanon_sql.engine.duckdb.resources import Resources, using

if TYPE_CHECKING:
    from collections.abc import Callable

_PANEL = "What it may take of this machine"
_OPTIONS = {
    "memory_limit": Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="Memory of the database, such as 300MB or 2GiB (default: 80 % of what there is).",
            rich_help_panel=_PANEL,
        ),
    ],
    "threads": Annotated[
        int | None,
        typer.Option("--threads", metavar="N", help="Threads (default: one for each core).", rich_help_panel=_PANEL),
    ],
    "temp_dir": Annotated[
        Path | None,
        typer.Option(
            "--temp-dir",
            metavar="DIR",
            help="Where what does not fit in memory goes, in a private directory (default: beside a DuckDB file, else "
            "the system's).",
            rich_help_panel=_PANEL,
        ),
    ],
}


def with_resources(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the options for resources too; they hold for all that it opens."""

    def call(asked: dict[str, Any], given: dict[str, Any]) -> None:
        with using(Resources(**asked)):
            command(**given)

    return with_options(command, _OPTIONS, call)
