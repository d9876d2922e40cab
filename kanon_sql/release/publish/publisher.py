"""The one publisher: puts a release under a name, all or nothing.

0. Before any work is done: refuse a name that the release may not have (``check_target``).
1. Make it under a name of kanon's own.
2. Verify it there, by statements of their own.
3. Ask the ledger whether it may be published beside earlier releases.
4. Give it its name, and remember it in the ledger: both or none.

Where anything fails on the way, whatever was made is undone. What differs between destinations is a ``Sink``. Those of
DuckDB's tables, views and data frames are here, the others in ``files`` and ``warehouse``; ``route`` chooses.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sqlglot import exp

from kanon_sql.engine.files import uninterrupted
from kanon_sql.engine.progress import lift_deadlines, timed
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.given import SCHEMA
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
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.warehouse import RelationKind
    from kanon_sql.policy.destination import Kind
    from kanon_sql.release.ledger.ledger import Ledger, LedgerOutcome
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.publish.warehouse_tables import Taken
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.release.verify.verify import Expected

KINDS: dict[Kind, RelationKind] = {"table": "TABLE", "view": "VIEW", "materialized-view": "MATERIALIZED VIEW"}
"""What a database calls them."""
_WITH_CATALOG, _WITH_SCHEMA = 3, 2  # parts of a name
_SECURE_SINCE = 2  # the version of DuckDB whose files have secure views
_WORD = re.compile(r"[^\W\d]\w*")


def target_table(engine: Engine, name: str) -> exp.Table:
    """Return the table of a name, in its schema where the name begins with that of one and a dot."""
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
        raise UsageError(f"{name!r}: names in schema kanon, and names that begin with kanon_, are kept for kanon.")
    return target


def check_target(source: Source, name: str, kind: str, *, replace: bool) -> exp.Table:
    """Return the table or view that a release will be; refuse it before any work is done for it."""
    if source.address is not None:
        raise UsageError(f"{source.address.shown} is only read: give --out FILE instead of a {kind}.")
    if source.setup or (source.frame_kind is not None and not source.in_warehouse):
        raise UsageError(f"{source.name} is not in a database, where a {kind} could be made: give --out FILE.")
    target = target_table(source.engine, name)
    existing = source.engine.kind_of(target)
    schema = source.engine.current_schema()
    if kind != "table":
        source.refuse_prepared("and a view cannot be made of them: make a table or a file.")
        source.refuse_held_out("and a view would show the table with them: make a table or a file.")
    behind = source.engine.relations_behind(source.table)
    if any(_same_relation(target, read, schema) for read in behind):
        raise UsageError(f"{name!r} is the table that is to be anonymized, or one behind it: give another name.")
    if existing is not None and not replace:
        raise UsageError(f"There is a {existing.lower()} {name!r} already: give another name, or add --replace.")
    if kind == "view" and not source.in_warehouse:
        _require_secure_views(source)
    return target


def require_kind(source: Source, kind: Kind) -> None:
    source.holder.require_kind(KINDS[kind])


def _require_secure_views(source: Source) -> None:
    """Raise if the database file is of a format that has no secure views: plain ones show what they leave out."""
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


def _same_relation(one: exp.Table, other: exp.Table, schema: str) -> bool:
    """Return True if two names are of the same relation of the current database, in whose ``schema`` bare names are."""
    names = [(folded(table.db or schema), folded(table.name)) for table in (one, other)]
    return names[0] == names[1]


@dataclass(frozen=True)
class InPlace:
    """What became of a table that was anonymized in place, and of the file that it is in.

    Attributes:
        bytes_after: its size now, or the size that it would have.
        kept: constraints and indexes that stay.
        removed: constraints, defaults, indexes, columns and types that went.
        hierarchies: hierarchies in the database that were left out, since they list values of the table.
        views: views over the table that read labels now.
        siblings: other tables with columns of the names and kinds of types of raw columns, and these columns.
        copies: other tables with the values of raw columns under other names or types, and these columns.
        backup: the copy of the file as it was; None without one.
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
        """Return it as plain values: what ``--format json`` prints."""
        return {
            **asdict(self),
            "file": str(self.file),
            "backup": None if self.backup is None else str(self.backup),
        }


@dataclass(frozen=True)
class Published:
    """A release that was made and verified."""

    destination: str  # name of the table or view, or path of the file
    verification: Verification  # what was found in it
    seconds: dict[str, float]  # of ``publish`` and ``verify``, and of ``ledger`` where there are earlier releases
    ledger: LedgerOutcome | None = None  # what became of it in the ledger of its database; None if there is none
    in_place: InPlace | None = None  # what became of the table and its file, where the release took their place
    dry_run: bool = False

    @property
    def not_remembered(self) -> str | None:
        """Why it could not be written into the ledger; None if it was, or there is none."""
        return None if self.ledger is None else self.ledger.not_remembered


class Sink(ABC):
    """A destination of a release: the relation or the file that it will be, or neither (None), and its name."""

    alike: exp.Table | None = None  # the different rows of the release, if many are alike
    taken: Taken | None = None  # the release, if a warehouse makes it and the workbench takes it over
    is_made_of_rows: bool = False  # ``make`` writes what ``released`` returns

    def __init__(self, source: Source, publication: Publication, target: exp.Table | Path | None, name: str) -> None:
        self.engine: DuckDBEngine = source.engine
        self.publication, self.target, self.name = publication, target, name
        self.lookups = readable_lookups(publication.hierarchies)

    @property
    @abstractmethod
    def output(self) -> exp.Expr:
        """The release as statements read it before it has its name."""

    def opened(self) -> AbstractContextManager[object]:
        """Return a context in which the release is made and named; what is left of it where it fails is undone."""
        return nullcontext()

    @abstractmethod
    def make(self) -> None:
        """Make the release, with the lookups and after the steps of its recoding."""

    def released(self) -> exp.Select:
        """Return the query of the release."""
        if self.alike is not None:
            return repeated_query(self.alike, self.publication)
        return release_query(self.publication, self.lookups)

    def take_over(self, source: Source) -> None:
        """Let a warehouse that has the source make the release."""
        if source.in_warehouse:
            from kanon_sql.release.publish.warehouse_tables import Taken

            self.taken, self.is_made_of_rows = Taken(source, self.publication), False

    @property
    def written(self) -> Publication:
        """What is published, with the types that are written."""
        return self.publication if self.taken is None else self.taken.publication

    def verify(self, expected: Expected) -> Verification:
        wanted = expected if self.taken is None else self.taken.expected(expected)
        return verify(self.engine, self.written, self.lookups, self.output, wanted)

    def complete(self, seconds: dict[str, float]) -> None:  # noqa: B027 - most have nothing left
        """Do what is left to do before the release has its name, in a dry run too."""

    @abstractmethod
    def take_name(self, rows: int, ledger: Ledger | None) -> None:
        """Give the verified release of so many rows its name, and remember it in the ledger."""

    def undo(self) -> None:  # noqa: B027 - most are undone by their context
        """Remove what ``opened`` does not remove by itself."""


def publish(sink: Sink, expected: Expected, ledger: Ledger | None = None, *, dry_run: bool = False) -> Published:
    """Put a release at its destination, and return what was verified; a dry run leaves nothing there."""
    seconds: dict[str, float] = {}
    with ExitStack() as at_end, sink.opened():
        try:
            with timed(seconds, "publish"):
                recode(sink.engine, sink.publication, sink.lookups)
                _make(sink, expected)
            with timed(seconds, "verify"):
                verification = sink.verify(expected)
            if ledger is not None:
                ledger.check(sink.output, sink.target, seconds)
            sink.complete(seconds)
        except BaseException:
            sink.undo()
            raise
        finally:
            forget_recoding(sink.engine, sink.publication)
        if not dry_run:
            lift_deadlines()
            if isinstance(sink.target, Path):  # a table is there when its transaction ends, which says so itself
                at_end.enter_context(uninterrupted(f"the release is there: {sink.name}"))
            sink.take_name(verification.rows, ledger)
    return Published(sink.name, verification, seconds, None if ledger is None else ledger.outcome)


def _make(sink: Sink, expected: Expected) -> None:
    if sink.is_made_of_rows:
        sink.alike = make_alike(sink.engine, sink.publication, sink.lookups, expected)
    try:
        sink.make()
    finally:
        if sink.alike is not None:
            with suppress(SourceError):  # in a transaction that failed, and that will be rolled back with it
                sink.engine.run(sql.drop(sink.alike), "drop the different rows")


def recode(engine: Engine, publication: Publication, lookups: Mapping[str, exp.Table]) -> None:
    """Make pseudonyms, leave out those that rows tie too closely, and go through the steps of a local recoding."""
    make_replaced(engine, publication)
    for _ in range(0 if publication.pseudonyms is None else publication.pseudonyms.rounds):
        leave_out(engine, publication, lookups)
    for number, statement in enumerate(statements_for(publication).recoding_statements(lookups)):
        engine.run(statement, f"step {number} of the recoding" if number else "combinations of values")


def forget_recoding(engine: Engine, publication: Publication) -> None:
    """Drop what a local recoding worked on, and pseudonyms with the values that they stand for."""
    for table in statements_for(publication).working_tables():
        with suppress(SourceError):  # in a transaction that failed, and that will be rolled back with it
            engine.run(sql.drop(table), "drop the combinations of values")
    with suppress(SourceError):
        forget_replaced(engine, publication)


class TableSink(Sink):
    """A table; another's reader sees the old one or the whole new one."""

    kind: ClassVar[Literal["table", "view"]] = "table"
    is_made_of_rows = True
    target: exp.Table

    def __init__(self, source: Source, publication: Publication, name: str, *, replace: bool) -> None:
        super().__init__(source, publication, check_target(source, name, self.kind, replace=replace), name)
        # No name of another schema or of temp either: a bare name would mean that table.
        staging = unused_name(f"kanon_unverified_{self.target.name}", self.engine.names_in_use())
        self.staging = sql.relation(staging, self.target.db or None)

    @property
    def output(self) -> exp.Table:
        return self.staging

    def opened(self) -> AbstractContextManager[None]:
        return self.engine.transaction()

    def make(self) -> None:
        self.engine.run(sql.create_table(self.staging, self.released()), "make the release")

    def take_name(self, rows: int, ledger: Ledger | None) -> None:
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
    is_made_of_rows = False

    def make(self) -> None:
        for statement in view_statements(self.publication, self.name, self.staging, self.lookups):
            self.engine.run(statement, "make the view and its hierarchies")

    def verify(self, expected: Expected) -> Verification:
        viewed, lookups = publication_of_view(self.publication, self.name), view_lookups(self.publication, self.name)
        return verify(self.engine, viewed, lookups, self.staging, expected)


class FrameSink(Sink):
    """A data frame, by a temporary table: ``frame`` is what ``fetch`` makes of it.

    A dry run has the target under whose name the ledger checks the release.
    """

    is_made_of_rows = True

    def __init__(
        self,
        source: Source,
        publication: Publication,
        fetch: Callable[[DuckDBEngine, exp.Table], Any],
        target: exp.Table | Path | None = None,
    ) -> None:
        super().__init__(source, publication, target, "data frame")
        self.take_over(source)
        self.staging, self.frame = self.engine.temporary_name("kanon_release"), None
        if self.taken is not None:
            self.staging = self.taken.table
        self._fetch = fetch

    @property
    def output(self) -> exp.Table:
        return self.staging

    def opened(self) -> AbstractContextManager[None]:
        return self.engine.snapshot() if self.taken is None else self.taken.opened()

    def make(self) -> None:
        if self.taken is None:
            self.engine.run(sql.create_table(self.staging, self.released(), temporary=True), "make the release")
        else:
            self.taken.make()

    def complete(self, seconds: dict[str, float]) -> None:  # noqa: ARG002 - fetching is not timed
        self.frame = self._fetch(self.engine, self.staging)
        self.undo()

    def take_name(self, rows: int, ledger: Ledger | None) -> None:
        """Do nothing: a data frame has no name."""

    def undo(self) -> None:
        with suppress(SourceError):  # in a transaction that failed, and that will be rolled back with it
            self.engine.run(sql.drop(self.staging), "drop the copy that was fetched")


def _drop_lookups(engine: Engine, view: exp.Table) -> None:
    """Drop the hierarchies of a view that is replaced by a table: nothing reads them any more."""
    prefix = sql.literal(f"{without_dots(view.name)}.")
    for (name,) in engine.rows(
        sql.statement("release/lookups_of_view", values={"prefix": prefix}), "hierarchies of the view"
    ):
        engine.run(sql.drop(sql.relation(name, SCHEMA)), "drop the hierarchies of the view that is replaced")
