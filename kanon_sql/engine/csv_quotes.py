"""What quotes the values of a CSV file, where the rows that DuckDB looked at misled it.

It takes an apostrophe for one where that too makes even lines: the lines from one value of a single apostrophe to the
next are then one value. And it sees no quotes where the first are after the rows that it looked at, so that they
become part of the values.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.engine.csv_layout import EVERY_LINE, SAMPLE, layout_of, lines_of
from kanon_sql.engine.reading import reading
from kanon_sql.errors import NoRoomError, SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Engine

_QUOTE = '"'
_APOSTROPHE = "'"


def quotes_of(
    engine: Engine,
    files: Sequence[Path],
    pattern: str,
    relation: exp.Table,
    settings: Mapping[str, exp.Expr],
    sample: int,
) -> dict[str, exp.Expr]:
    """Return the setting that names what quotes values, where files were read by something else; none where not.

    Args:
        engine: read them.
        files: what can be looked at twice of what was read.
        pattern: of the files, as DuckDB takes it.
        relation: what they were read into.
        settings: how.
        sample: how many rows DuckDB looked at; -1 for all.
    """
    quote: dict[str, exp.Expr] = {"quote": sql.literal(_QUOTE)}
    apostrophes = any(_apostrophes_quote(engine, file, sample) for file in files)
    if not apostrophes and (not files or sample == -1 or not _has_late_quotes(engine, relation)):
        return {}
    rows = _rows_by(engine, pattern, relation, {**settings, **quote})
    found = engine.row(sql.select_count(relation), "count rows")[0]
    # What was one value by the apostrophes is lines of its own; quotes that are values' own hold no lines together.
    is_better = rows is not None and (rows > found if apostrophes else rows == found)
    return quote if is_better else {}


def _apostrophes_quote(engine: Engine, path: Path, sample: int) -> bool:
    """Tell whether a file was read with apostrophes as quotes; most have none, and are not looked at further."""
    limit = EVERY_LINE if sample == -1 else sample
    with lines_of(engine, path, limit) as lines:
        if not any(_APOSTROPHE in line for line in islice(lines, limit)):
            return False
    return layout_of(engine, path, 0, sample).quote == _APOSTROPHE


def _has_late_quotes(engine: Engine, relation: exp.Table) -> bool:
    """Tell whether there are more rows than DuckDB looked at, and texts that begin with a quote."""
    texts = [sql.column(column.name) for column in engine.columns(relation) if column.family == "text"]
    (rows,) = engine.row(sql.select_count(relation), "count rows")
    if not texts or rows <= SAMPLE:
        return False
    quoted = [exp.Like(this=text, expression=sql.literal(f"{_QUOTE}%")) for text in texts]
    found = exp.LogicalOr(this=exp.or_(*quoted))
    (has,) = engine.row(exp.select(found).from_(relation.copy()), "look for quotes around values")
    return bool(has)


def _rows_by(engine: Engine, pattern: str, relation: exp.Table, settings: Mapping[str, exp.Expr]) -> int | None:
    """Return how many rows there are by other settings; None if they cannot be read so, or have other columns."""
    read = engine.temporary_name("kanon_requoted")
    try:
        engine.run(reading("read_csv", pattern, read, settings), "read by the usual quotes")
    except NoRoomError:
        raise
    except SourceError:
        return None
    names = [[column.name for column in engine.columns(table)] for table in (relation, read)]
    (rows,) = engine.row(sql.select_count(read), "count rows by the usual quotes")
    engine.run(sql.drop(read), "count rows by the usual quotes")
    return int(rows) if names[0] == names[1] else None
