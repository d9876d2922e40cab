"""Files that DuckDB does not read by itself (Excel, SPSS, Stata, SAS, SQLite): a library reads their rows.

The rows are written as lines of JSON, in which a value is a text as DuckDB casts it, and is not there if it is missing.
``python -m kanon_sql.engine.sources.lines FILE LINES [KEY=VALUE ...]`` writes them, for scripts that read them.
"""

from __future__ import annotations

import json
import shlex
from datetime import date, datetime, time, timedelta
from typing import IO, TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.sources.reading import text_reader
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources.layout import Layout

_EXACT = 2**53  # up to which a floating-point number stands for one whole number
_BIGINT = 2**63
_TOGETHER = {frozenset({"BIGINT", "DOUBLE"}): "DOUBLE", frozenset({"DATE", "TIMESTAMP"}): "TIMESTAMP"}


def write_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], lines: IO[str]) -> dict[str, str]:
    """Write rows as lines of JSON; return the type of each column. Rows without any value are no rows."""
    kinds: dict[str, set[str]] = {name: set() for name in names}
    for row in rows:
        texts = {}
        for name, value in zip(names, row, strict=True):
            if value is not None and value != "" and value == value:  # noqa: PLR0124 - NaN and NaT are missing
                kind, texts[name] = _read(value)
                kinds[name].add(kind)
        if texts:
            lines.write(json.dumps(texts) + "\n")
    return {name: _type(found) for name, found in kinds.items()}


def _read(value: Any) -> tuple[str, str]:  # noqa: ANN401, PLR0911 - one line for each kind of value
    """Return the type of a value, and the value as text."""
    match value:
        case bool():
            return "BOOLEAN", "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < _EXACT:
            return "BIGINT", str(int(value))
        case int() if abs(value) < _BIGINT:
            return "BIGINT", str(value)
        case int() | float():
            return "DOUBLE", str(value)
        case datetime() if value.time() == time():
            return "DATE", value.date().isoformat()
        case datetime():
            return "TIMESTAMP", value.isoformat(sep=" ")
        case date() | time():
            return "TIME" if isinstance(value, time) else "DATE", value.isoformat()
        case timedelta():
            seconds = round(value.total_seconds())
            return "VARCHAR", f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        case bytes():
            return "BLOB", value.hex()
    return "VARCHAR", str(value)


def _type(kinds: set[str]) -> str:
    return next(iter(kinds)) if len(kinds) == 1 else _TOGETHER.get(frozenset(kinds), "VARCHAR")


def make_table(
    engine: Engine, relation: exp.Table, lines: Path, types: Mapping[str, str], path: Path, read: Layout
) -> exp.Create:
    """Make a file of lines a table; return the statement, which names the file that a script writes first."""
    reader = text_reader(lines, dict.fromkeys(types, "VARCHAR"), csv=False)
    values = [
        sql.named(exp.Unhex(this=sql.column(name)) if kind == "BLOB" else sql.cast(sql.column(name), kind), name)
        for name, kind in types.items()
    ]
    create = sql.create_table(relation, exp.select(*values).from_(exp.Table(this=reader)), temporary=True)
    engine.run(create, f"read {path.name}")
    words = ("python", "-m", f"{__package__}.lines", str(path), target := f"{path}.jsonl", *read.texts)
    reader.expressions[0].replace(sql.literal(target))
    create.comments = [f"Before this, where kanon-sql is installed: {shlex.join(words)}"]
    return create
