"""What quotes the values of a CSV file, where the rows that DuckDB looked at misled it.

It takes an apostrophe for one where that too makes even lines: the lines from one value of a single apostrophe to the
next are then one value. And it sees no quotes where the first are after the rows that it looked at, so that they
become part of the values.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.sources.csv.layout import EVERY_LINE, SAMPLE, layout_of, lines_of
from kanon_sql.engine.sources.reading import reading
from kanon_sql.errors import NoRoomError, SourceError
from kanon_sql.sql import build as sql

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
    (found,) = engine.row(sql.select_count(relation), "count rows")
    may_be_late = files and sample != -1 and found > SAMPLE
    if not apostrophes and not (may_be_late and _has_late_quotes(engine, relation)):
        return {}
    by_quotes = _by_quotes(engine, pattern, relation, {**settings, **quote})
    if by_quotes is None:
        return {}
    # What was one value by the apostrophes is lines of its own; quotes that are values' own hold no lines together.
    rows, begin, end = by_quotes
    return quote if (rows > found and not 0 < begin == end if apostrophes else rows == found) else {}


def _apostrophes_quote(engine: Engine, path: Path, sample: int) -> bool:
    """Tell whether a file was read with apostrophes as quotes; most have none, and are not looked at further."""
    limit = EVERY_LINE if sample == -1 else sample
    with lines_of(engine, path, limit) as lines:
        if not any(_APOSTROPHE in line for line in islice(lines, limit)):
            return False
    return layout_of(engine, path, 0, sample).quote == _APOSTROPHE


def _has_late_quotes(engine: Engine, relation: exp.Table) -> bool:
    """Tell whether there are texts that begin with a quote."""
    texts = [sql.column(column.name) for column in engine.columns(relation) if column.family == "text"]
    if not texts:
        return False
    quoted = [exp.Like(this=text, expression=sql.literal(f"{_QUOTE}%")) for text in texts]
    found = exp.LogicalOr(this=exp.or_(*quoted))
    (has,) = engine.row(exp.select(found).from_(relation.copy()), "look for quotes around values")
    return bool(has)


def _by_quotes(
    engine: Engine, pattern: str, relation: exp.Table, settings: Mapping[str, exp.Expr]
) -> tuple[int, int, int] | None:
    """Return how many rows there are by the usual quotes; None if they cannot be read so, or have other columns.

    And how many values only begin with an apostrophe, and only end with one: as many, where apostrophes do quote values
    that go over several lines, which are taken apart now.
    """
    read = engine.temporary_name("kanon_requoted")
    try:
        engine.run(reading("read_csv", pattern, read, settings), "read by the usual quotes")
    except NoRoomError:
        raise
    except SourceError:
        return None
    columns = [engine.columns(table) for table in (relation, read)]
    halves: list[exp.Expr] = [sql.literal(0), sql.literal(0)]
    for column in columns[1]:
        if column.family == "text":
            begins, ends = (
                exp.Like(this=sql.column(column.name), expression=sql.literal(where))
                for where in (f"{_APOSTROPHE}%", f"%{_APOSTROPHE}")
            )
            for half, (has, lacks) in enumerate(((begins, ends), (ends, begins))):
                only = exp.and_(has.copy(), sql.negated(lacks.copy()))
                halves[half] = exp.Add(this=halves[half], expression=sql.where(sql.count_rows(), only))
    rows, begin, end = engine.row(
        exp.select(sql.count_rows(), *halves).from_(read.copy()), "count rows by the usual quotes"
    )
    engine.run(sql.drop(read), "count rows by the usual quotes")
    own, other = ([column.name for column in of] for of in columns)
    return (int(rows), int(begin), int(end)) if own == other else None
