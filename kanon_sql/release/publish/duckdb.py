"""Releases in DuckDB: a table, a view, a data frame."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sqlglot import exp

from kanon_sql.errors import SourceError
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.release.publish.publisher import Sink, verified
from kanon_sql.release.statements.release import release_query
from kanon_sql.release.statements.view import (
    publication_of_view,
    view_lookups,
    view_statements,
    without_dots,
)
from kanon_sql.release.target import check_target
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.published import Watch
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.release.verify.verify import Expected


class TableSink(Sink):
    """A table; another's reader sees the old one or the whole new one."""

    kind: ClassVar[Literal["table", "view"]] = "table"
    target: exp.Table

    def __init__(self, source: Source, publication: Publication, name: str, *, replace: bool) -> None:
        """Begin with nothing made.

        Raises:
            UsageError: the name is taken and may not be replaced.
        """
        super().__init__(source, publication, check_target(source, name, self.kind, replace=replace), name)
        self.staging = _beside(self.target, self.engine)

    @property
    def output(self) -> exp.Table:
        """The relation under another name."""
        return self.staging

    def opened(self) -> AbstractContextManager[None]:
        """Return a transaction."""
        return self.engine.transaction()

    def make(self) -> None:
        """Make the table."""
        query = release_query(self.publication, self.lookups)
        self.engine.run(sql.create_table(self.staging, query), "make the release")

    def take_name(self, rows: int, ledger: Watch | None) -> None:
        """Drop what is replaced, and rename the relation."""
        engine, target, kind = self.engine, self.target, self.kind.upper()
        if existing := engine.kind_of(target):
            engine.run(sql.drop(target, existing), "drop what is replaced")
        if existing == "VIEW" and kind == "TABLE":
            _drop_lookups(engine, target)
        new_name = exp.AlterRename(this=sql.relation(target.name))
        rename = exp.Alter(this=self.staging.copy(), kind=kind, actions=[new_name])
        engine.run(rename, "the verified release takes its name")
        if ledger is not None:
            ledger.remember(self.kind, target, rows)


class ViewSink(TableSink):
    """A view, with hierarchies of its own in the schema ``kanon`` that nothing else changes."""

    kind = "view"

    def make(self) -> None:
        """Make the view and the tables that it joins."""
        for statement in view_statements(self.publication, self.name, self.staging, self.lookups):
            self.engine.run(statement, "make the view and its hierarchies")

    def verify(self, expected: Expected) -> Verification:
        """Return what is found in the view, by its own tables."""
        viewed, lookups = publication_of_view(self.publication, self.name), view_lookups(self.publication, self.name)
        return verified(self.engine, viewed, lookups, self.staging, expected)


class FrameSink(Sink):
    """A data frame.

    Attributes:
        frame: what ``fetch`` made of a relation of DuckDB.
    """

    def __init__(
        self,
        source: Source,
        publication: Publication,
        fetch: Callable[[Any], Any],
        target: exp.Table | Path | None = None,
    ) -> None:
        """Begin with nothing made; a dry run has the target under whose name the ledger checks the release."""
        super().__init__(source, publication, target, "data frame")
        self.staging, self.frame = self.engine.temporary_name("kanon_release"), None
        self._fetch = fetch

    @property
    def output(self) -> exp.Table:
        """A temporary table."""
        return self.staging

    def opened(self) -> AbstractContextManager[None]:
        """Return a context in which all statements see the same rows."""
        return self.engine.snapshot()

    def make(self) -> None:
        """Make the table."""
        query = release_query(self.publication, self.lookups)
        self.engine.run(sql.create_table(self.staging, query, temporary=True), "make the release")

    def complete(self, seconds: dict[str, float]) -> None:  # noqa: ARG002 - fetching is not timed
        """Fetch the rows, and drop the table."""
        self.frame = self.engine.fetched(self.staging, self._fetch)
        self.undo()

    def take_name(self, rows: int, ledger: Watch | None) -> None:
        """Do nothing: a data frame has no name."""

    def undo(self) -> None:
        """Drop the table."""
        with suppress(SourceError):  # in a transaction that failed, and that will be rolled back with it
            self.engine.run(sql.drop(self.staging), "drop the copy that was fetched")


def _drop_lookups(engine: Engine, view: exp.Table) -> None:
    """Drop the hierarchies of a view that is replaced by a table: nothing reads them any more."""
    prefix = sql.literal(f"{without_dots(view.name)}.")
    for (name,) in engine.rows(
        sql.statement("release/lookups_of_view", values={"prefix": prefix}), "hierarchies of the view"
    ):
        engine.run(sql.drop(sql.relation(name, SCHEMA)), "drop the hierarchies of the view that is replaced")


def _beside(target: exp.Table, engine: Engine) -> exp.Table:
    """Return a name in the schema of the target that is not in use."""
    taken = {row[0] for row in engine.rows(sql.statement("catalog/relation_names"), "names in use")}
    return sql.relation(unused_name(f"kanon_unverified_{target.name}", taken), target.db or None)
