"""stdout: results, as a table for people or as JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

_WIDTH_WITHOUT_TERMINAL = 110


def print_json(value: Any) -> None:  # noqa: ANN401 - any plain value
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def print_text(text: str) -> None:
    """Print a text as it is."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> None:
    """Print rows under column names; numbers stand on the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for place, column in enumerate(columns):
        numeric = all(isinstance(row[place], int | float) for row in rows if row[place] is not None) and bool(rows)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    _print(table)


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and what belongs to each, in two columns."""
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        print_text(f"{name:<{width}}  {value}")


def _print(renderable: RenderableType) -> None:
    from rich.console import Console

    width = (
        shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns
        if sys.stdout.isatty()
        else _WIDTH_WITHOUT_TERMINAL
    )
    Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False).print(renderable)


def _cell(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4f}"
        case _:
            return str(value)
