"""Empty texts of a CSV file: ``""`` is a text, and nothing between two separators is NULL.

By default DuckDB reads both as NULL. It can keep ``""`` as a text, but then a column of numbers in which a missing
one is written so is a column of texts. So a file is read by default first. If a column of texts has ``""``, it is read
once more, and in columns of numbers, dates or times ``""`` is made NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.sources.csv.layout import layout_of
from kanon_sql.engine.sources.reading import PACKED, read_from
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Column, Engine

_BLOCK = 1 << 22
_OF_TYPES = {"types", "sample_size"}


def empty_texts(
    engine: Engine,
    place: str | exp.Expr,
    relation: exp.Table,
    settings: Mapping[str, exp.Expr],
    sample: int,
    files: Sequence[Path] = (),
) -> exp.Create | None:
    """Return the statement that reads files with their empty texts; None where they have none.

    Args:
        engine: read them.
        place: of the files, as DuckDB takes it.
        relation: what they were read into.
        settings: how.
        sample: how many rows DuckDB looked at; -1 for all.
        files: where they are on this machine, which tells faster whether there may be any.
    """
    columns = engine.columns(relation)
    texts = [column for column in columns if column.family == "text"]
    if not texts or not _has_nulls(engine, relation, texts):
        return None
    layout = layout_of(engine, files[0] if files else sql.literal(place), len(columns), sample)
    quote = settings["quote"].name if "quote" in settings else layout.quote
    if files and not any(_has_twice(file, quote) for file in files):
        return None
    fixed = {**settings, "header": exp.true() if layout.header else exp.false(), "quote": sql.literal(quote)}
    if "delim" not in settings:  # what names it, names what is skipped
        fixed |= {"delim": sql.literal(layout.separator), "skip": sql.literal(layout.skipped)}
    fixed["allow_quoted_nulls"] = exp.false()
    as_written = {name: value for name, value in fixed.items() if name not in _OF_TYPES}
    empty = _columns_with_empty(engine, place, columns, {**as_written, "all_varchar": exp.true()})
    if not any(column in empty for column in texts):
        return None
    others = [column for column in empty if column not in texts]
    if others:
        types = fixed["types"].expressions if "types" in fixed else []
        text = [exp.PropertyEQ(this=sql.literal(one.name), expression=sql.literal("VARCHAR")) for one in others]
        fixed["types"] = exp.Struct(expressions=[*(one.copy() for one in types), *text])
    formats = {"DATE": layout.date_format, "TIMESTAMP": layout.timestamp_format}
    everything = exp.Star(replace=[_value(one, formats.get(one.type)) for one in others]) if others else exp.Star()
    query = exp.select(everything).from_(read_from("read_csv", place, fixed))
    return sql.create_table(relation, query, temporary=True)


def _value(column: Column, written_as: str | None) -> exp.Alias:
    """Return a value that was read as text, as what it is."""
    text: exp.Expr = exp.Nullif(this=sql.column(column.name), expression=sql.literal(""))
    if written_as:
        text = exp.Anonymous(this="strptime", expressions=[text, sql.literal(written_as)])
    return sql.named(sql.cast(text, column.type), column.name)


def _has_nulls(engine: Engine, relation: exp.Table, texts: Sequence[Column]) -> bool:
    some = [exp.Is(this=sql.column(column.name), expression=exp.null()) for column in texts]
    (has,) = engine.row(exp.select(exp.LogicalOr(this=exp.or_(*some))).from_(relation.copy()), "look for empty texts")
    return bool(has)


def _has_twice(path: Path, quote: str) -> bool:
    """Tell whether a file may have a quote right behind another one; what is packed is not looked into."""
    if path.suffix.lower() in PACKED:
        return False
    wanted, rest = quote.encode() * 2, b""
    if not wanted:
        return False
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            if wanted in rest + block:
                return True
            rest = block[-1:]
    return False


def _columns_with_empty(
    engine: Engine, place: str | exp.Expr, columns: Sequence[Column], settings: Mapping[str, exp.Expr]
) -> list[Column]:
    """Return the columns that have an empty text somewhere."""
    has = [
        exp.LogicalOr(this=exp.EQ(this=sql.cast(sql.column(column.name), "VARCHAR"), expression=sql.literal("")))
        for column in columns
    ]
    found = engine.row(exp.select(*has).from_(read_from("read_csv", place, settings)), "look for empty texts")
    return [column for column, one in zip(columns, found, strict=True) if one]
