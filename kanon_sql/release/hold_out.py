"""Hold out rows of a table before the rest is released: a control group for ``attack``.

A share of the people is held out with all their rows; if rows are counted, a share of the rows. They are drawn by MD5
of the seed and of the column of people; if rows are counted, of all columns except sensitive ones. The same seed holds
out the same people of a table in any order of its rows. Rows that are equal in these columns are drawn by position.

The rest is released, verified and counted (rows in, suppressed rows). Held-out rows are written unchanged: they have
names and values of people, and need the same protection as the table.

The difference of two releases shows the people who were held out of one and are in the other. So the ledger refuses a
second release of a table unless both are of the same rows (see ``Ledger._is_of_other_rows``).
"""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import find_column
from kanon_sql.engine.files import private_directory
from kanon_sql.engine.sources.open_source import HeldOut
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.measures.released_labels import never_null
from kanon_sql.measures.sets_and_ranges import text_of
from kanon_sql.release.publish.files import check_file, plain_copy
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.policy import Policy

_FORMATS = {".parquet": "parquet", ".csv": "csv"}
_OWN = ("kanon_position", "kanon_key", "kanon_place")


def held_out(source: Source, policy: Policy, share: float) -> Source:
    """Return a table without a share of its people, or rows, drawn by the seed of the policy (default 0)."""
    if isinstance(share, bool) or not 0 < share < 1:
        raise UsageError(f"The share that is held out is above 0 and below 1, not {share!r}.")
    source.require("hold out", "Holding out rows")
    if policy.prepare:
        raise UsageError(f"The columns of {source.name} are prepared: write a table of them, and hold out of that.")
    engine, entity = source.engine, _entity(source, policy)
    own = unused_names(_OWN, [column.name for column in source.columns])
    split = engine.temporary_name("kanon_split")
    query = sql.query(
        "prepare/held_out",
        values={
            "columns": [sql.column(column.name) for column in source.columns],
            "key": _key(_known(source, policy) if entity is None else [entity]),
            "person": sql.literal(0) if entity is None else sql.column(entity.name),
            "of_people": entity is not None,
            "seed": str(policy.seed or 0),
        },
        tables={"original": source.relation},
        names=dict(zip(_OWN, own, strict=True)),
    )
    engine.run(sql.create_table(split, query, temporary=True), "people in drawn order")
    place = sql.column(own[-1])
    (people,) = engine.row(exp.select(exp.Max(this=place)).from_(split.copy()), "how many people there are")
    number = math.floor(share * (people or 0) + 0.5)
    if not 0 < number < (people or 0):
        what = "rows" if entity is None else "people"
        raise UsageError(f"{source.name} has {people or 0:,} {what}: a share of {share:g} leaves none for one side.")
    tables = []
    for wanted, title, condition in (
        ("kanon_held_out", "rows that are held out", exp.LTE(this=place.copy(), expression=sql.literal(number))),
        ("kanon_rest", "rows that are left", exp.GT(this=place.copy(), expression=sql.literal(number))),
    ):
        rows = exp.select(*(sql.column(column.name) for column in source.columns)).from_(split.copy()).where(condition)
        table = engine.temporary_name(wanted)
        engine.run(sql.create_table(table, rows, temporary=True), title)
        tables.append(table)
    engine.run(sql.drop(split), "drop people in drawn order")
    (held,) = engine.row(sql.select_count(tables[0]), "rows that are held out")
    return replace(source, relation=tables[1], held_out=HeldOut(source, tables[0], held, number if entity else None))


def _known(source: Source, policy: Policy) -> list[Column]:
    """Return the columns by which rows are drawn, without sensitive ones, which the release would then reveal."""
    sensitive = {folded(name) for name in policy.columns.sensitive}
    return [column for column in source.columns if folded(column.name) not in sensitive]


def _entity(source: Source, policy: Policy) -> Column | None:
    if policy.columns.entity is None:
        return None
    entity = find_column(policy.columns.entity, source.columns)
    if entity is None:
        raise UsageError(f"{source.name} has no column {policy.columns.entity!r} that names people.")
    return entity


def _key(columns: list[Column] | tuple[Column, ...]) -> exp.Expr:
    """Return the key that identifies people; for rows, the texts of all values, with NULL unlike any text."""
    if len(columns) == 1:
        return text_of(sql.column(columns[0].name), columns[0])
    parts = [never_null(text_of(sql.column(column.name), column)) for column in columns]
    return exp.Anonymous(this="CONCAT_WS", expressions=[sql.literal("|"), *parts])


def check_control_file(source: Source, path: Path, others: list[Path | None], *, replace: bool) -> None:
    """Refuse a file for held-out rows before any work is done.

    ``others`` are other files to be written.
    """
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"Rows that are held out are written to a file {' or '.join(_FORMATS)}, not to {path}.")
    if path.is_dir():
        raise UsageError(f"{path} is a directory: rows that are held out are written to a file.")
    real = folded(os.path.realpath(path))
    if any(other is not None and folded(os.path.realpath(other)) == real for other in others):
        raise UsageError(f"{path} would be written twice: rows that are held out go to a file of their own.")
    check_file(source, path, replace=replace)


@contextmanager
def writing_held_out(source: Source, path: Path | None, *, replace: bool) -> Iterator[None]:
    """Write the held-out rows to a CSV or Parquet file, which gets its name at the end of the block.

    So there is no file if the release fails. Nothing is written if ``path`` is None.
    """
    if path is None:
        yield
        return
    if source.held_out is None:
        raise UsageError("Nothing was held out: give anonymize() a share, hold_out=0.1.")
    check_control_file(source, path, [], replace=replace)
    with private_directory(path.parent) as private:
        partial = private.path / path.name
        form = _FORMATS[path.suffix.lower()]
        copy = plain_copy(exp.select("*").from_(source.held_out.relation.copy()), partial, form)
        source.engine.run(copy, "write the rows that are held out")
        yield
        try:
            partial.replace(path)
        except OSError as error:
            raise SourceError(
                f"{path} cannot be written ({error.strerror}); the release is there, and the held-out rows are not."
            ) from None
