"""Data about appended rows that a database stores: waiting rows, and the list of batches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.hierarchy.given import SCHEMA, WAITING
from kanon_sql.release.statements.view import without_dots
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine

_MAIN = "main"


@dataclass(frozen=True)
class Batch:
    """Rows that were appended to a release."""

    lock: str  # fingerprint of the release when the lock was written
    rows_new: int  # number of new rows
    rows: str  # their fingerprint
    release: str  # the fingerprint of the release after it


def waiting_table(release: exp.Table) -> exp.Table:
    """Return the table of rows that wait for a release; the release must have a schema."""
    schema = "" if release.db == _MAIN else f"{without_dots(release.db)}."
    return sql.relation(f"{WAITING}{schema}{without_dots(release.name)}", SCHEMA)


def batches_of(engine: DuckDBEngine, release: exp.Table) -> list[Batch]:
    """Return the batches that were appended to a release, in order."""
    if engine.kind_of(sql.relation("appended", SCHEMA)) is None:
        return []
    rows = engine.rows(sql.statement("append/batches", values=_named(release)), "earlier batches")
    return [Batch(*row) for row in rows]


def keep_waiting(engine: Engine, release: exp.Table, rows: exp.Table, number: int) -> None:
    """Replace the rows that wait for a release by ``number`` others.

    The table is also made for zero rows: if two cursors append at the same time, DuckDB lets only one make it.
    """
    waiting = waiting_table(release)
    engine.run(sql.statement("ledger/schema"), "the schema of rows that wait")
    engine.run(sql.drop(waiting), "drop the rows that waited")
    engine.run(sql.create_table(waiting, exp.select("*").from_(rows.copy())), "keep the rows that wait")
    if not number:
        engine.run(sql.drop(waiting), "no rows wait")


def remember_batch(
    engine: Engine, release: exp.Table, batch: Batch, rows_appended: int, rows_waiting: int, *, renewed: bool
) -> None:
    """Remember a batch that was appended to a release. Call it after ``keep_waiting``, which makes the schema.

    If the table is another release now (``renewed``), its earlier batches are forgotten.
    """
    values = {
        **_named(release),
        "made_at": datetime.now(UTC).replace(tzinfo=None).isoformat(sep=" "),
        "lock": batch.lock,
        "rows_new": batch.rows_new,
        "rows_appended": rows_appended,
        "rows_waiting": rows_waiting,
        "batch": batch.rows,
        "fingerprint": batch.release,
    }
    if renewed:
        engine.run(sql.statement("append/forget", values=_named(release)), "forget batches of a release that is gone")
    engine.run(sql.statement("append/create"), "the table of batches")
    engine.run(sql.statement("append/record", values=values), "remember the batch")


def _named(release: exp.Table) -> dict[str, Any]:
    return {"release_schema": release.db, "release_name": release.name}
