"""Published rows of a batch become rows of the release; the others wait."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Column, Logged
from kanon_sql.errors import SourceError, VerificationError, counted
from kanon_sql.release.append.lock import print_of_release
from kanon_sql.release.append.store import batches_of, keep_waiting, remember_batch, waiting_table
from kanon_sql.release.publish.publisher import StagedSink
from kanon_sql.release.statements.release import release_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kanon_sql.policy.roles import NamedColumns
    from kanon_sql.release.append.store import Batch
    from kanon_sql.release.ledger.ledger import Ledger
    from kanon_sql.release.publish.publisher import OneTable

_ROW = Column("kanon_row", "BIGINT")
"""The number of a row in a batch (``sql/append.sql``)."""


class AppendSink(StagedSink):
    """An existing table that receives the rows of a batch."""

    kind = "table"
    temporary = True
    target: exp.Table

    def __init__(  # noqa: PLR0913 - each counts other rows
        self,
        released: OneTable,
        target: exp.Table,
        columns: NamedColumns,  # with the roles of the lock
        batch: Batch,  # with the fingerprint of the release when the new rows were read
        *,
        batches: int,  # number of batches then
        waiting: int,  # rows that waited then
        suppressed: int,
        renewed: bool,
        dry_run: bool,
    ) -> None:
        super().__init__(released, target, target.name)
        source, self.publication = released.source, released.publication
        self.columns, self.batch, self.batches, self.rows_waited = columns, batch, batches, waiting
        self.suppressed, self.renewed, self.dry_run = suppressed, renewed, dry_run
        self.rows = source.relation
        self.waiting = [column.name for column in source.columns if column != _ROW]
        self.staging = self.engine.temporary_name("kanon_release")
        self.still_waiting = self.engine.temporary_name("kanon_waiting")

    def opened(self) -> AbstractContextManager[None]:
        return self.engine.transaction()

    def make(self) -> None:
        if self.engine.is_shared:  # else no one else has the file
            self._require_same()
        super().make()

    def _require_same(self) -> None:
        """Raise if another cursor of the connection appended rows in the meantime."""
        engine, waiting = self.engine, waiting_table(self.target)
        (rows,) = (0,) if engine.kind_of(waiting) is None else engine.row(sql.select_count(waiting), "do they wait?")
        found = (print_of_release(engine, self.target, self.columns), len(batches_of(engine, self.target)), rows)
        if found != (self.batch.release, self.batches, self.rows_waited):
            raise _failed(f"{self.target.name} was changed while the new rows were read. Run it again")

    def complete(self) -> None:
        """Set the waiting rows apart."""
        engine = self.engine
        engine.run(sql.create_table(self.still_waiting, self._waiting_query(), temporary=True), "the rows that wait")
        (waiting,) = engine.row(sql.select_count(self.still_waiting), "how many rows wait?")
        if waiting != self.suppressed:
            raise _failed(f"{counted(waiting, 'row')} would wait, and {self.suppressed:,} are not published")
        if self.dry_run:
            engine.statements.append(Logged("append the batch (not run)", self._insert(), {}))
            self.undo()

    def take_name(self, rows: int, ledger: Ledger | None) -> None:
        """Append the rows, store the waiting rows, and remember both."""
        engine = self.engine
        count = sql.select_count(self.target)
        (before,) = engine.row(count, "how many rows does the release have?")
        engine.run(self._insert(), "append the batch")
        (after,) = engine.row(count, "how many rows does it have now?")
        if after - before != rows:
            raise _failed(f"the release got {counted(after - before, 'row')}, and {rows:,} were made")
        if ledger is not None:
            ledger.remember("table", self.target, rows, written=self.staging)
        keep_waiting(engine, self.target, self.still_waiting, self.suppressed)
        batch = replace(self.batch, release=print_of_release(engine, self.target, self.columns))
        remember_batch(engine, self.target, batch, rows, self.suppressed, renewed=self.renewed)
        self.undo()

    def _insert(self) -> exp.Expr:
        names = [sql.column(column.name) for column in self.publication.columns]
        relations = {"release": self.target, "batch": self.staging}
        return sql.statement("append/insert", values={"columns": names}, relations=relations)

    def _waiting_query(self) -> exp.Select:
        """Return the query of the rows of the batch whose class is not published."""
        publication = self.publication
        compared = {*publication.quasi_identifiers, *(model.sensitive for model in publication.models)}
        columns = tuple(column for column in publication.columns if column.name in compared)
        numbered = replace(publication, source=self.rows, columns=(*columns, _ROW), rules=None)
        released = release_query(numbered, self.released.lookups)
        released.set("order", None)
        numbers = exp.select(sql.column(_ROW.name)).from_(released.subquery("released"))
        return sql.select(
            "append/still_waiting",
            values={"columns": [sql.column(name) for name in self.waiting]},
            relations={"batch": self.rows},
            steps={"published": [("published", numbers)]},
        )

    def undo(self) -> None:
        with suppress(SourceError):  # in a failed transaction, whose rollback drops it
            for table in (self.staging, self.still_waiting):
                self.engine.run(sql.drop(table), "drop the copy of the batch")


def _failed(why: str) -> VerificationError:
    return VerificationError(f"Appending failed its own check, and nothing was changed: {why}.")
