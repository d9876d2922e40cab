"""Files of text, read by DuckDB with nothing guessed: every value as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_LONGEST_LINE = 64 * 1024 * 1024


def text_reader(path: Path, types: Mapping[str, str], *, csv: bool, header: bool = True) -> exp.Anonymous:
    """Return the function that reads a file of text.

    Args:
        path: the file.
        types: of its columns, by name.
        csv: whether it is CSV; else JSON.
        header: whether the first line of CSV has the names.
    """
    text = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=sql.literal(name), expression=sql.literal(kind)) for name, kind in types.items()
        ]
    )
    settings: dict[str, exp.Expr] = {"columns": text}
    if csv:
        settings |= {
            "header": exp.true() if header else exp.false(),
            "auto_detect": exp.false(),
            "delim": sql.literal(","),
            "quote": sql.literal('"'),
            "escape": sql.literal('"'),
            "allow_quoted_nulls": exp.false(),
            # Of 2 MB by itself, which a text of a row may exceed; more is room that is taken as it is needed.
            "max_line_size": sql.literal(_LONGEST_LINE),
            "new_line": sql.literal("\\n"),  # else another end of a line in a name could be taken for that of lines
        }
    named = [exp.EQ(this=exp.var(name), expression=value) for name, value in settings.items()]
    return exp.Anonymous(this="read_csv" if csv else "read_json", expressions=[sql.literal(str(path)), *named])
