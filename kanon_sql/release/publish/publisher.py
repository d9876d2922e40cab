"""The publisher: puts a release under a name, all or nothing.

0. Before any work: refuse a name that the release may not have (``check_target``).
1. The steps of ``PUBLISH``. Make the release under a temporary name; verify it there, by separate statements; check it
   against earlier releases in the ledger; complete all other work.
2. The step of ``RECORD``: give the release its name and remember it in the ledger, both or neither.

If a step of ``PUBLISH`` fails, the release is undone. A ``Sink`` is one kind of destination. The sinks for DuckDB's
tables, views and data frames are here, the others in ``files`` and ``warehouse``; ``route`` chooses.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from sqlglot import exp

from kanon_sql.engine.capabilities import require
from kanon_sql.engine.files import uninterrupted
from kanon_sql.engine.progress import TimedStep, lift_deadlines, silent, take_steps
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.release.ledger.store import entries_of
from kanon_sql.release.publication import forget_replaced, make_replaced
from kanon_sql.release.publish.alike import make_alike, repeated_query
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.release.statements.view import (
    publication_of_view,
    view_lookups,
    view_statements,
    without_dots,
)
from kanon_sql.release.verify.pseudonyms import leave_out
from kanon_sql.release.verify.verify import verify
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.progress import Listener
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.warehouse import RelationKind
    from kanon_sql.policy.destination import Kind
    from kanon_sql.release.ledger.ledger import Ledger, LedgerOutcome
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.publish.warehouse_tables import Taken
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.release.verify.verify import Expected

KINDS: dict[Kind, RelationKind] = {"table": "TABLE", "view": "VIEW", "materialized-view": "MATERIALIZED VIEW"}
"""Their names in SQL."""
_WITH_CATALOG, _WITH_SCHEMA = 3, 2  # parts of a name
_SECURE_SINCE = 2  # the first major version of DuckDB whose files have secure views
_WORD = re.compile(r"[^\W\d]\w*")


def target_table(engine: Engine, name: str) -> exp.Table:
    """Return the table of a name.

    For a name of two parts, the first is the schema if such a schema exists; the current catalog may precede it.
    """
    if not name.strip():
        raise UsageError("The name of the release is empty.")
    ((catalog,),) = engine.rows(exp.select(exp.Anonymous(this="current_database")), "the database we are in")
    schemas = {folded(row[0]) for row in engine.rows(sql.statement("catalog/schemas"), "schemas of the database")}
    parts = name.split(".")
    if len(parts) == _WITH_CATALOG and folded(parts[0]) == folded(catalog):
        parts = parts[1:]
    if len(parts) == _WITH_SCHEMA and folded(parts[0]) in schemas and parts[1]:
        target = sql.relation(parts[1], parts[0])
    elif len(parts) > 1 and all(_WORD.fullmatch(part) for part in parts):
        raise UsageError(f"{name!r} names a schema that is not there. There: {', '.join(sorted(schemas))}.")
    else:
        target = sql.relation(name)
    if folded(target.db) == SCHEMA or folded(target.name).startswith("kanon_"):
        raise UsageError(f"{name!r}: names in schema kanon, and names that start with kanon_, are kept for kanon.")
    return target


def check_target(source: Source, name: str, kind: str, *, replace: bool | None, remembers: bool = True) -> exp.Table:
    """Return the target table or view of a release. Refuse it before any work is done.

    ``replace`` is None for a script, which does not run here: an existing relation of that name does not matter.
    ``remembers`` is False for a release that the ledger does not record, such as one with noise.
    """
    if source.address is not None:
        raise UsageError(f"{source.address.shown} is only read: give --out FILE instead of a {kind}.")
    if source.setup or (source.frame_kind is not None and not source.in_warehouse):
        raise UsageError(f"{source.name} is not in a database, where a {kind} could be made: give --out FILE.")
    target = target_table(source.engine, name)
    schema = source.engine.current_schema()
    if kind != "table":
        source.refuse_prepared("and a view cannot be made of them: make a table or a file.")
        source.refuse_held_out("and a view would show the table with them: make a table or a file.")
    # Bare names refer to relations of the current schema.
    behind = source.engine.relations_behind(source.table)
    if behind is None and source.engine.kind_of(target) is not None:
        raise UsageError(
            f"Whether {source.name} reads from {name!r} cannot be seen in its definition (a macro, a lambda or a query "
            "in a text): give a name that nothing has."
        )
    places = {(folded(read.db or schema), folded(read.name)) for read in behind or ()}
    if (folded(target.db or schema), folded(target.name)) in places:
        raise UsageError(f"{name!r} is the table that is to be anonymized, or one behind it: give another name.")
    if replace is not None:
        require_unused(source.engine, target, name, replace=replace, has_ledger=remembers and source.keeps_tables)
    if kind == "view" and not source.in_warehouse:
        _require_secure_views(source)
    return target


def require_unused(
    engine: DuckDBEngine, target: exp.Table, name: str, *, replace: bool, has_ledger: bool = True
) -> None:
    """Raise if a name is taken, or if the table to be replaced is not a release.

    With a ledger, only a table that it remembers as a release is replaced. Any other table could be the original,
    behind a view, a function, a partition or an inheriting table. A view has no rows to lose, so any view is replaced.
    Without a ledger (``has_ledger`` is False: for a connection, or a release with noise), any table is replaced.
    """
    existing = engine.kind_of(target)
    if existing is None:
        return
    if not replace:
        raise UsageError(f"There is a {existing.lower()} {name!r} already: give another name, or add --replace.")
    if not has_ledger or "VIEW" in existing:
        return
    place = (folded(target.db or engine.current_schema()), folded(target.name))
    if place not in {(folded(entry.target[0] or ""), folded(entry.target[1])) for entry in entries_of(engine)}:
        raise UsageError(
            f"{name!r} is a table that the ledger does not know as a release, and --replace replaces releases only: "
            "drop it first, or give another name."
        )


def require_kind(source: Source, kind: Kind) -> None:
    """Raise if the database has no permanent relations of a kind."""
    if kind == "materialized-view":
        require("a materialized view", source.holder.kind, "A materialized view")
    if source.holder.forgets is not None:
        raise UsageError(f"{source.holder.forgets} Or give --out FILE.")


def _require_secure_views(source: Source) -> None:
    """Raise if the format of the database file has no secure views: plain views show the rows they leave out."""
    version, _ = source.engine.row(sql.statement("catalog/storage_of_database"), "how the file is written")
    written = re.match(r"v(\d+)\.", version or "")  # a database in memory has no version
    if written is None or int(written[1]) >= _SECURE_SINCE:
        return
    file = source.database or "FILE"
    raise UsageError(
        f"{file} is in the format of DuckDB {version.rstrip('+')}, which has no secure views, and readers of any other "
        "view can find out values of the rows that it leaves out. Make a table or a file, or have DuckDB 2.0 change "
        f"the format first: ATTACH '{file}' AS db (STORAGE_VERSION 'v2.0.0'); CREATE SCHEMA db.made; DROP SCHEMA "
        "db.made; older versions of DuckDB cannot read the file then."
    )


@dataclass(frozen=True)
class InPlace:
    """The outcome of an anonymization in place for the tables and their file.

    Attributes:
        bytes_after: the size of the file now, or after a real run.
        kept: constraints and indexes that stay.
        removed: constraints, defaults, indexes, columns and types that were removed.
        hierarchies: hierarchies in the database that were removed because they list values of the tables.
        views: views over the tables that now read labels.
        siblings: other tables, with those of their columns whose name and type family are those of raw columns.
        copies: other tables with the values of raw columns under other names or types, and these columns.
        backup: the copy of the original file, if there is one.
    """

    done: bool
    file: Path
    bytes_before: int
    bytes_after: int
    kept: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    hierarchies: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    siblings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    copies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    backup: Path | None = None

    def summary(self) -> dict[str, Any]:
        """Return the outcome as plain values, as ``--format json`` prints it."""
        return {
            **asdict(self),
            "file": str(self.file),
            "backup": None if self.backup is None else str(self.backup),
        }


@dataclass(frozen=True, kw_only=True)
class PublishedRelease:
    """A release that was made and verified."""

    destination: str  # name of the table, view or schema, or path of the file or directory
    kind: str  # table, view, materialized-view, file, data frame, schema, database, directory, or in place
    seconds: dict[str, float]  # by step of ``PUBLISH`` and ``RECORD``
    ledger: LedgerOutcome | None = None  # the outcome in the ledger of its database; None if there is none
    in_place: InPlace | None = None  # the outcome for the tables and their file, if the release replaced them
    dry_run: bool = False

    @property
    def not_remembered(self) -> str | None:
        """Why the ledger could not remember the release; None if it did, or there is none."""
        return None if self.ledger is None else self.ledger.not_remembered


@dataclass(frozen=True, kw_only=True)
class Published(PublishedRelease):
    """A release of one table that was made and verified: its destination and its verification."""

    verification: Verification


Outcome = TypeVar("Outcome", bound=PublishedRelease)


class Releasing(ABC, Generic[Outcome]):
    """A table, or several together, from which a sink makes a release."""

    published: type[Outcome]
    engine: DuckDBEngine
    names: Sequence[str]  # of the tables

    def begin(self) -> None:
        """Make the relations that the statements of the release read."""

    def end(self) -> None:
        """Drop the relations that ``begin`` and ``query`` made."""

    @abstractmethod
    def query(self, name: str) -> exp.Query:
        """Return the query of the released rows of a table."""

    @abstractmethod
    def table_in(self, name: str, database: str) -> exp.Table:
        """Return the released table in a new database."""

    @abstractmethod
    def verified(self, outputs: Mapping[str, exp.Expr]) -> Any:  # noqa: ANN401 - the verification that is published
        """Verify the released tables; raise if one fails."""


class OneTable(Releasing[Published]):
    """One table. If it is in a warehouse, ``take_over`` lets the warehouse make the release."""

    published, names = Published, ("",)

    def __init__(self, source: Source, publication: Publication, expected: Expected) -> None:
        self.engine, self.source, self.expected = source.engine, source, expected
        self.publication = publication  # with the types that are written
        self.lookups = readable_lookups(publication.hierarchies)
        self.taken: Taken | None = None
        self._recoded = publication
        self._alike: exp.Table | None = None

    def take_over(self) -> None:
        if self.source.in_warehouse:
            from kanon_sql.release.publish.warehouse_tables import Taken

            self.taken = Taken(self.source, self.publication)
            self.publication = self.taken.publication

    def begin(self) -> None:
        recode(self.engine, self._recoded, self.lookups)

    def end(self) -> None:
        if self._alike is not None:
            with suppress(SourceError):  # in a failed transaction, whose rollback drops them
                self.engine.run(sql.drop(self._alike), "drop the different rows")
        forget_recoding(self.engine, self._recoded)

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a context in which all statements see the same rows."""
        return self.engine.snapshot() if self.taken is None else self.taken.opened()

    def query(self, name: str = "") -> exp.Select:  # noqa: ARG002 - it has one table
        if self.taken is not None:
            self.taken.make()
            return exp.select("*").from_(self.taken.table)
        self._alike = make_alike(self.engine, self.publication, self.lookups, self.expected)
        if self._alike is not None:
            return repeated_query(self._alike, self.publication)
        return release_query(self.publication, self.lookups)

    def table_in(self, name: str, database: str) -> exp.Table:  # noqa: ARG002 - it has one table
        """Return the table of a release in a separate database; it has the name of its source."""
        return table_in(self.source, database)

    def verified(self, outputs: Mapping[str, exp.Expr]) -> Verification:
        (output,) = outputs.values()
        expected = self.expected if self.taken is None else self.taken.expected(self.expected)
        return verify(self.engine, self.publication, self.lookups, output, expected)


class Sink(ABC, Generic[Outcome]):
    """A destination of a release, and its name.

    ``target`` is the future relation or file; None for a data frame, a schema, or a database file in place.
    """

    kind: str
    temporary = False  # whether ``make`` makes temporary tables
    outcome: InPlace | None = None

    def __init__(self, released: Releasing[Outcome], target: exp.Table | Path | None, name: str) -> None:
        self.released = released
        self.engine, self.target, self.name = released.engine, target, name

    @property
    @abstractmethod
    def outputs(self) -> Mapping[str, exp.Expr]:
        """The released tables as statements read them before they have their names."""

    def opened(self) -> AbstractContextManager[object]:
        """Return a context in which the release is made and named; after an error it removes the remains."""
        return nullcontext()

    def make(self) -> None:
        for name, target in self.outputs.items():
            made = sql.create_table(cast("exp.Table", target), self.released.query(name), temporary=self.temporary)
            self.engine.run(made, f"make the released {name}" if name else "make the release")

    def verify(self) -> Any:  # noqa: ANN401 - the verification that is published
        return self.released.verified(self.outputs)

    def complete(self) -> None:
        """Complete the remaining work before the release has its name, also in a dry run."""

    @abstractmethod
    def take_name(self, rows: Any, ledger: Ledger | None) -> None:  # noqa: ANN401 - a number, or one for each table
        """Give the verified release of ``rows`` rows its name, and remember it in the ledger."""

    def undo(self) -> None:
        """Remove what ``opened`` does not remove by itself."""


@dataclass
class _Publishing:
    """A release in the process of publishing: the state of the steps of ``PUBLISH`` and ``RECORD``."""

    sink: Sink[Any]
    ledger: Ledger | None
    verification: Any = None

    def make(self) -> None:
        self.sink.released.begin()
        self.sink.make()

    def verify(self) -> None:
        self.verification = self.sink.verify()

    def compare(self) -> None:
        if self.ledger is not None:
            self.ledger.check(self.sink.outputs, self.sink.target)

    def record(self) -> None:
        self.sink.take_name(self.verification.rows, self.ledger)


PUBLISH: tuple[TimedStep[_Publishing], ...] = (
    TimedStep("publish", _Publishing.make, "Publishing"),
    TimedStep("verify", _Publishing.verify, "Verifying"),
    TimedStep("ledger", _Publishing.compare, needed=lambda own: own.ledger is not None),
    TimedStep("complete", lambda own: own.sink.complete()),
)
"""The steps from a release to its rows, verified under a temporary name."""
RECORD = (TimedStep("record", _Publishing.record),)


def publish(
    sink: Sink[Outcome], ledger: Ledger | None = None, *, dry_run: bool = False, progress: Listener = silent
) -> Outcome:
    """Publish a release at its destination, and return a ``PublishedRelease``; a dry run leaves nothing there."""
    seconds, state = dict[str, float](), _Publishing(sink, ledger)
    with ExitStack() as at_end, sink.opened():
        try:
            take_steps(PUBLISH, state, seconds, progress)
        except BaseException:
            sink.undo()
            raise
        finally:
            sink.released.end()
        if not dry_run:
            lift_deadlines()
            if isinstance(sink.target, Path):  # a transaction reports its own end
                at_end.enter_context(uninterrupted(f"the release is there: {sink.name}"))
            take_steps(RECORD, state, seconds, progress)
    # If a file is replaced, the ledger is in that file.
    known = None if ledger is None or sink.outcome is not None else ledger.outcome(dry_run=dry_run)
    made = {"destination": sink.name, "kind": sink.kind, "verification": state.verification, "seconds": seconds}
    return sink.released.published(**made, ledger=known, in_place=sink.outcome, dry_run=dry_run)


def table_in(source: Source, database: str) -> exp.Table:
    """Return the table of a release in a separate database; it has the name of its source."""
    if source.file is not None:
        name = source.file.stem if source.file.is_file() else "release"
    else:
        name = "release" if source.frame_kind is not None else source.table.name
    return sql.relation(name, "main", database)


def recode(engine: Engine, publication: Publication, lookups: Mapping[str, exp.Table]) -> None:
    """Make pseudonyms, leave out those whose rows identify people, and run the steps of a local recoding."""
    make_replaced(engine, publication)
    for _ in range(0 if publication.pseudonyms is None else publication.pseudonyms.rounds):
        leave_out(engine, publication, lookups)
    for number, statement in enumerate(statements_for(publication).recoding_statements(lookups)):
        engine.run(statement, f"step {number} of the recoding" if number else "combinations of values")


def forget_recoding(engine: Engine, publication: Publication) -> None:
    """Drop the tables of a local recoding, and pseudonyms with their original values."""
    for table in statements_for(publication).working_tables():
        with suppress(SourceError):  # in a failed transaction, whose rollback drops them
            engine.run(sql.drop(table), "drop the combinations of values")
    with suppress(SourceError):
        forget_replaced(engine, publication)


class StagedSink(Sink[Published]):
    """A release of one table that is made as the relation ``staging``."""

    released: OneTable
    staging: exp.Table

    @property
    def outputs(self) -> dict[str, exp.Expr]:
        return {"": self.staging}


class TableSink(StagedSink):
    """A table; concurrent readers see either the old table or the complete new one."""

    kind: Literal["table", "view"] = "table"
    target: exp.Table

    def __init__(self, released: OneTable, name: str, *, replace: bool, remembers: bool) -> None:
        target = check_target(released.source, name, self.kind, replace=replace, remembers=remembers)
        super().__init__(released, target, name)
        # The name must not exist in another schema or in temp either: a bare name would mean that table.
        staging = unused_name(f"kanon_unverified_{self.target.name}", self.engine.names_in_use())
        self.staging = sql.relation(staging, self.target.db or None)

    def opened(self) -> AbstractContextManager[None]:
        return self.engine.transaction()

    def take_name(self, rows: int, ledger: Ledger | None) -> None:
        engine, target, kind = self.engine, self.target, self.kind.upper()
        if existing := engine.kind_of(target):
            engine.run(sql.drop(target, existing), "drop the replaced object")
        if existing == "VIEW" and kind == "TABLE":
            _drop_lookups(engine, target)
        new_name = exp.AlterRename(this=sql.relation(target.name))
        rename = exp.Alter(this=self.staging.copy(), kind=kind, actions=[new_name])
        engine.run(rename, "the verified release takes its name")
        if ledger is not None:
            ledger.remember(self.kind, target, rows)


class ViewSink(TableSink):
    """A view with private hierarchies in the schema ``kanon``, which nothing else changes."""

    kind = "view"

    def make(self) -> None:
        for statement in view_statements(self.released.publication, self.name, self.staging, self.released.lookups):
            self.engine.run(statement, "make the view and its hierarchies")

    def verify(self) -> Verification:
        publication = self.released.publication
        viewed, lookups = publication_of_view(publication, self.name), view_lookups(publication, self.name)
        return verify(self.engine, viewed, lookups, self.staging, self.released.expected)


class FrameSink(StagedSink):
    """A data frame: the result of ``fetch`` on a temporary table.

    It is also the dry run of a table or view. Then ``target`` is the name that the ledger checks.
    """

    kind = "data frame"
    temporary = True

    def __init__(
        self,
        released: OneTable,
        fetch: Callable[[DuckDBEngine, exp.Table], Any],
        target: exp.Table | None = None,
        name: str = "data frame",
    ) -> None:
        super().__init__(released, target, name)
        released.source.require_rows()
        released.take_over()
        self.taken, self.frame, self._fetch = released.taken, None, fetch
        self.staging = self.engine.temporary_name("kanon_release") if self.taken is None else self.taken.table

    def opened(self) -> AbstractContextManager[None]:
        return self.released.snapshot()

    def make(self) -> None:
        if self.taken is None:
            super().make()
        else:
            self.taken.make()

    def complete(self) -> None:
        self.frame = self._fetch(self.engine, self.staging)
        self.undo()

    def take_name(self, rows: int, ledger: Ledger | None) -> None:
        """Do nothing: a data frame has no name."""

    def undo(self) -> None:
        with suppress(SourceError):  # in a failed transaction, whose rollback drops it
            self.engine.run(sql.drop(self.staging), "drop the copy that was fetched")


def _drop_lookups(engine: Engine, view: exp.Table) -> None:
    """Drop the hierarchies of a view that a table replaces: nothing reads them any more."""
    named = sql.statement("release/lookups_of_view", values={"prefix": sql.literal(f"{without_dots(view.name)}.")})
    for (name,) in engine.rows(named, "hierarchies of the view"):
        engine.run(sql.drop(sql.relation(name, SCHEMA)), "drop the hierarchies of the view that is replaced")
