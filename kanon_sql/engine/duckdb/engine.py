"""DuckDB: the engine that needs no server."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engine.base import Closing, Column, Constraint, Engine, Logged, closed_on_error
from kanon_sql.engine.duckdb.connection import (
    Resources,
    Worker,
    catalog_of,
    connect,
    in_force,
    not_opened,
    storage_options,
    waited,
)
from kanon_sql.engine.files import stamps_of, stamps_of_database
from kanon_sql.engine.keys import loggable, revealed
from kanon_sql.engine.progress import check_deadline
from kanon_sql.engine.time_zones import UTC, zone_in_force
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kanon_sql.engine.base import Cells, Values
    from kanon_sql.engine.files import PrivateDirectory, Stamps
    from kanon_sql.engine.warehouse.warehouse import Warehouse

Result = TypeVar("Result")

_PARSED = 64  # number of parsed statements to cache


class DuckDBEngine(Closing, Engine):
    dialect = "duckdb"
    has_collations = True
    joins_masks = True

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        *,
        owned: bool,
        spill: PrivateDirectory | None = None,
        file: Path | None = None,
    ) -> None:
        """Wrap a connection; if it is ``owned``, closing the engine closes it and removes its spill directory."""
        self.connection = connection
        self.statements = []
        self.is_shared = not owned
        self._owned = owned
        self._temporary = []
        self._attached: dict[Path, str] = {}
        self._parsed_before: dict[int, tuple[exp.Expr, duckdb.Statement]] = {}  # frequent statements, by identity
        self._watched: list[tuple[Callable[[], Stamps], Stamps]] = []
        self._chooses_threads = False
        self._spill = spill
        self._file = None if file is None else (file, catalog_of(file))
        self.is_writable = True
        self._worker = Worker(connection, None if spill is None else spill.path)
        self.time_zone = zone_in_force()
        self._zone_settled = False

    @classmethod
    def in_memory(cls, resources: Resources | None = None) -> Self:
        """Return an engine on an empty database; data that does not fit in memory spills to a private directory."""
        return cls._opened(in_force(resources), None)

    @classmethod
    def from_file(cls, path: Path, *, writable: bool, resources: Resources | None = None) -> DuckDBEngine:
        """Return an engine on a database file, attached to an empty database as the current one.

        Temporary tables belong to the empty database, so that they outlive ``make_writable``. Data that does not fit in
        memory spills to a private directory beside the file, if none was configured and one can be made there.
        """
        with closed_on_error(cls._opened(in_force(resources), path)) as engine:
            engine.reopen(writable=writable)
            engine.require_builtin_functions(str(path))
        return engine

    def require_builtin_functions(self, name: str) -> None:
        """Raise if macros hide functions or operators that statements use."""
        own = {macro for (macro,) in self.rows(sql.statement("catalog/own_functions"), "macros of the database")}
        if not own:
            return
        builtin = self.rows(
            sql.statement("catalog/builtin_functions"), "which of them have names of built-in functions?"
        )
        names = {folded(function) for (function,) in builtin}
        if hiding := sorted(macro for macro in own if folded(macro) in names):
            raise SourceError(
                f"{name} has macros that DuckDB calls in place of its own functions of the same name: "
                f"{', '.join(hiding)}. With them, no class is counted and no row is hidden reliably. Rename them "
                "(CREATE MACRO under another name, then DROP MACRO), or move them into a schema of their own. Nothing "
                "was changed."
            )

    def use_time_zone(self, zone: str) -> None:
        """Set the time zone of labels and texts; for kanon's own connections."""
        self.time_zone = zone
        if zone != UTC:
            self.time_zone, *_ = self._known_time_zone()
        self.run_unlogged(sql.set_time_zone(self.time_zone))

    def _known_time_zone(self) -> tuple[str, str, bool]:
        """Return DuckDB's name of the wanted time zone, the time zone of the session, and whether they are the same."""
        text = render(sql.statement("catalog/time_zone", values={"zone": self.time_zone}), self.dialect)
        found = self._worker.call(lambda: self.connection.execute(text).fetchall(), "the time zone")
        if not found:
            raise UsageError(
                "time_zone must be the name of a time zone that DuckDB knows (pg_timezone_names()), such as UTC or "
                f"Europe/Berlin. Got {self.time_zone!r}."
            )
        (zone,) = found
        return zone

    def require_time_zone(self, columns: Sequence[Column], table: str) -> None:
        """Raise if a table has columns with a time zone, and the user's connection has another time zone set."""
        zoned = [column.name for column in columns if column.is_zoned]
        if not zoned or self._zone_settled:
            return
        if not self._owned:
            self.time_zone, own, is_same = self._known_time_zone()
            if not is_same:
                raise UsageError(
                    f"Column {zoned[0]!r} of {table} is a TIMESTAMP WITH TIME ZONE. Its labels and texts are computed "
                    f"in {self.time_zone}, and the time zone of the connection is {own}. Run SET TimeZone = "
                    f"'{self.time_zone}' on the connection, or give time_zone = '{own}' (in the policy: under "
                    "[release])."
                )
        self._zone_settled = True
        self.statements.append(Logged("The time zone of labels and texts", sql.set_time_zone(self.time_zone), {}))

    @classmethod
    def _opened(cls, resources: Resources, file: Path | None) -> Self:
        connection, spill = connect(resources, None if file is None else file.parent)
        opened = cls(connection, owned=True, spill=spill, file=file)
        with closed_on_error(opened):
            opened.use_time_zone(opened.time_zone)
        opened._chooses_threads = "threads" not in resources.settings
        if file is None:
            opened._names = set()
        return opened

    def work_alone(self, *, alone: bool) -> None:
        """Use one thread, enough for few rows, or all threads; no effect if the number of threads was configured."""
        if self._chooses_threads:
            self.connection.execute("SET threads = 1" if alone else "RESET threads")

    def make_writable(self) -> bool:
        """Reopen the file for writing once other processes have closed it; return True if one changed it.

        Temporary tables stay. This process also closes the file while it waits, so that two waiting processes do not
        block each other forever.
        """
        if self._file is None or self.is_writable:
            return False
        path, name = self._file
        before = stamps_of_database(path)  # no other process writes: the file is open for reading
        self._close_file(name)
        between: Stamps = ()

        def reopened() -> None:
            nonlocal between
            between = stamps_of_database(path)
            self.reopen(writable=True)

        try:
            waited(reopened)
        except SourceError:
            waited(lambda: self.reopen(writable=False))
            raise
        # Ignore changes made by opening the file itself, if there is a write-ahead log.
        return before != between or (len(before) == 1 and before != stamps_of_database(path))

    def attach(self, path: Path) -> str:
        """Attach another database file read-only, once; return its name."""
        file = path.resolve()
        if file in self._attached:  # DuckDB does not attach a file twice
            return self._attached[file]
        self.require_no_transaction("read another file", owned_too=False)
        name = self.unused_database("kanon_attached")
        self._attach_file(path, sql.identifier(name), writable=False)
        self._attached[file] = name
        return name

    def attach_new(self, path: Path, *, like_this: bool = False) -> str:
        """Attach a new database file for writing; return its name until ``detach``.

        With ``like_this`` it gets the storage format of the current database's file, so that the same programs can read
        it.
        """
        self.require_no_transaction("publish", owned_too=False)
        name = self.unused_database("kanon_new")
        written = (
            self.row(sql.statement("catalog/storage_of_database"), "how the file is written") if like_this else None
        )
        options = () if written is None else storage_options(*written)
        self._attach_file(path, sql.identifier(name), writable=True, options=options)
        return name

    def detach(self, name: str) -> None:
        """Detach a database of ``attach_new`` after writing all of it to its file."""
        self.run_unlogged(exp.Command(this="CHECKPOINT", expression=sql.identifier(name)), "write")
        self.run_unlogged(exp.Detach(this=sql.identifier(name)))

    def abandon(self, name: str) -> None:
        """Detach a database of ``attach_new`` that is no longer wanted, if it is still attached."""
        with suppress(duckdb.Error):
            self.run_unlogged(exp.Detach(this=sql.identifier(name)))

    def leave_file(self) -> None:
        """Detach the file, which was replaced by another under its name; temporary tables stay."""
        if self._file is not None:
            self._close_file(self._file[1])
            self._file = None

    def _close_file(self, name: exp.Identifier) -> None:
        self.run_unlogged(exp.Use(this=exp.Table(this=sql.identifier("memory"))))
        self.run_unlogged(exp.Detach(this=name.copy()))

    def has_attached(self, path: Path) -> bool:
        return path.resolve() in self._attached

    def reopen(self, *, writable: bool) -> None:
        if self._file is None:
            return
        path, name = self._file
        self._attach_file(path, name, writable=writable)
        self.is_writable = writable
        self.run_unlogged(exp.Use(this=exp.Table(this=name.copy())))

    def _attach_file(
        self, path: Path, name: exp.Identifier, *, writable: bool, options: Iterable[exp.Expr] = ()
    ) -> None:
        read_only = [] if writable else [exp.AttachOption(this=exp.var("READ_ONLY"))]
        attached = exp.Alias(this=sql.literal(str(path)), alias=name.copy())
        try:
            self.run_unlogged(exp.Attach(this=attached, expressions=[*read_only, *options]))
        except duckdb.Error as error:
            raise not_opened(path, error, writable=writable) from None

    def require_no_transaction(self, then: str, *, owned_too: bool = True) -> None:
        if (owned_too or not self._owned) and self.in_transaction():
            raise UsageError(f"The connection has a transaction open; commit it or roll it back, then {then}.")

    def unused_database(self, wanted: str) -> str:
        """Return a name under which a database can be attached."""
        return unused_name(wanted, [name for (name,) in self.rows(sql.statement("catalog/databases"), "names in use")])

    def log(self, logged: Logged) -> None:
        self.statements.append(logged)
        if self.listener is not None:
            self.listener(logged)

    def run_unlogged(self, statement: exp.Expr, title: str = "") -> None:
        """Run a statement about this connection that no script shows; without a title, errors stay DuckDB's own."""
        text = render(statement, self.dialect)
        self._worker.call(lambda: self.connection.execute(text), title, translate=bool(title))

    def rows(self, statement: exp.Expr, title: str = "", parameters: Values | None = None) -> list[tuple[Any, ...]]:
        check_deadline(title)
        bound = {name: revealed(value) for name, value in (parameters or {}).items()}
        self.log(Logged(title, statement, loggable(parameters or {})))
        text = render(statement, self.dialect) if parameters is None else self._parsed(statement)
        return self._worker.call(lambda: self.connection.execute(text, bound or None).fetchall(), title)

    def load(self, table: exp.Table, columns: Cells, title: str, data_type: str = "VARCHAR") -> None:
        names = {name: f"column_{number}" for number, name in enumerate(columns)}
        lists = [
            sql.named(exp.Explode(this=sql.cast(exp.Placeholder(this=place), f"{data_type}[]")), name)
            for name, place in names.items()
        ]
        create = sql.create_table(table, exp.select(*lists), temporary=True)
        self.rows(create, title, {names[name]: list(column) for name, column in columns.items()})

    def fetched(self, table: exp.Table, fetch: Callable[[duckdb.DuckDBPyRelation], Result]) -> Result:
        """Return the result of ``fetch`` on a table, given as a DuckDB relation."""
        relation = self.connection.sql(render(exp.select("*").from_(table), self.dialect))
        try:
            return fetch(relation)
        except Exception as error:  # noqa: BLE001 - of pandas, polars or Arrow: each has errors of its own
            raise SourceError(
                f"The release cannot be made a data frame ({type(error).__name__}): a column has a type or a value "
                "that data frames do not have. Write it to a file or a table."
            ) from None

    def share_done(self) -> float | None:
        percent = -1.0
        with suppress(duckdb.ConnectionException):  # closed, so nothing runs
            percent = self.connection.query_progress()
        return percent / 100 if percent >= 0 else None

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        described = self.rows(exp.Describe(this=exp.select("*").from_(relation)), "columns of the table")
        return tuple(Column(name, data_type) for name, data_type, *_ in described)

    def constraints(self) -> list[Constraint]:
        """Return the keys and foreign keys of all tables of the database."""
        return [Constraint(*row) for row in self.rows(sql.statement("catalog/constraints"), "keys of the tables")]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        # Checked first: a failed BEGIN would abort the open transaction.
        self.require_no_transaction("publish")
        self.connection.begin()
        try:
            yield
        except BaseException:
            self._worker.settle()
            with suppress(duckdb.Error):
                self.connection.rollback()
            raise
        self._worker.finish(self.connection.commit, "commit")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        # No other process changes a file that was opened here; a transaction of the connection's owner is already a
        # snapshot.
        with nullcontext() if self._owned or self.in_transaction() else self.transaction():
            yield

    def watch(self, files: Callable[[], Iterable[Path]]) -> None:
        """Watch files that are read in place each time they are needed."""
        self._watched.append((lambda: stamps_of(files()), stamps_of(files())))

    def watch_elsewhere(self, query: exp.Expr) -> None:
        """Watch files on another machine, which others may change, by the result of a query about them."""

        def stamps() -> Stamps:
            with suppress(SourceError):
                return tuple(self.rows(query, "have the files changed?"))
            return ()

        self.is_shared = True
        self._watched.append((stamps, stamps()))

    def changed_files(self) -> list[str]:
        return [name for stamps, before in self._watched for name, *_ in set(stamps()) ^ set(before)]

    def in_transaction(self) -> bool:
        first, second = (self.row(sql.statement("catalog/transaction"), "is a transaction open?") for _ in range(2))
        return bool(first == second)

    # Named objects of a database. The workbench of a warehouse looks them up there: see ``Workbench``.

    newest_entries: list[tuple[Any, ...]] | None = None  # of the ledger, as read again by ``alone``

    def current_schema(self) -> str:
        query = exp.select(exp.Anonymous(this="current_schema"))
        return str(self.row(query, "the schema we are in")[0])

    def kind_of(self, relation: exp.Table) -> str | None:
        """Return TABLE or VIEW (or, in a warehouse, MATERIALIZED VIEW); None if the name does not exist."""
        values = {"name": relation.name, "schema": relation.db or None}
        kinds = self.rows(sql.statement("catalog/kind_of_relation", values=values), "is the name taken?")
        return kinds[0][0] if kinds else None

    def definition_of(self, relation: exp.Table, title: str) -> str | None:
        """Return the text of a view; None for other objects."""
        return next((text for (text,) in self._definition(relation, title)), None)

    def fingerprinted_definition(self, view: exp.Table) -> str:
        """Return the text of a view that the ledger hashes.

        Its format must not change, or existing entries become invalid.
        """
        return repr(self._definition(view, "definition of the view"))

    def _definition(self, view: exp.Table, title: str) -> list[tuple[Any, ...]]:
        values = {"name": view.name, "schema": view.db or None}
        return self.rows(sql.statement("catalog/definition_of_view", values=values), title)

    def computed(self, relation: exp.Table) -> set[str]:
        """Return the computed columns: all of a view, and generated ones."""
        values = {"name": relation.name, "schema": relation.db or None, "catalog": relation.catalog or None}
        return {name for (name,) in self.rows(sql.statement("catalog/computed", values=values), "computed columns")}

    def relations_behind(self, relation: exp.Table) -> list[exp.Table] | None:
        """Return a relation and all that a view reads from, at any depth; None if they cannot be determined.

        That is so if sqlglot cannot parse a definition, or it calls a macro or a function that takes names. A bare name
        belongs to the schema of its view, or to the current one.
        """
        found, waiting, unseen = [relation], [relation], list[str]()
        while waiting:
            view = waiting.pop()
            definition = self.definition_of(view, "what a view reads")
            if definition is None:
                continue
            if not unseen:
                macros = self.rows(sql.statement("in_place/macros"), "macros of the database")
                unseen = ["query_table", "query(", *(folded(name) for name, _ in macros)]
            if any(name in folded(definition) for name in unseen):
                return None
            try:
                read = list(sqlglot.parse_one(definition, read=self.dialect).find_all(exp.Table))
            except SqlglotError:
                return None
            read += [sql.relation(table.name, view.db) for table in read if view.db and not table.db]
            new = [table for table in read if table not in found]
            found += new
            waiting += new
        return found

    def alone(self, table: exp.Table, query: exp.Query) -> AbstractContextManager[None]:  # noqa: ARG002 - of a workbench
        """Lock one of kanon's own tables against other runs; a file that is open for writing is not open elsewhere."""
        return nullcontext()

    @property
    def keepers(self) -> list[DuckDBEngine | Warehouse]:
        """Return the databases that keep kanon's own tables: each gets every write."""
        return [self]

    def keeping(self) -> AbstractContextManager[None]:
        """Return a transaction over all keepers."""
        return self.transaction()

    def carried(
        self,
        query: exp.Query,
        source: exp.Table,  # noqa: ARG002 - of a workbench
        typed: Mapping[str, exp.Expr],  # noqa: ARG002 - of a workbench
        title: str,  # noqa: ARG002 - of a workbench
    ) -> exp.Query:
        """Run a query here and return a query of its rows for the database of the source.

        In another database, columns have the types of the expressions ``typed`` over the table ``source``.
        """
        return query

    def copy_rows(
        self,
        table: exp.Table,
        source: exp.Table,
        columns: Sequence[Column],  # noqa: ARG002 - of a workbench
        chosen: exp.Expr,
        title: str,
    ) -> None:
        """Copy the rows of a table (``source``) that meet a condition to a temporary table of this engine."""
        query = exp.select("*").from_(sql.aliased(source, "source")).where(chosen)
        self.run(sql.create_table(table, query, temporary=True), title)

    def names_in_use(self) -> list[str]:
        return [name for (name,) in self.rows(sql.statement("catalog/relation_names"), "names in use")]

    def forget(self) -> None:
        if self._temporary:
            made = self.connection.execute(render(sql.statement("catalog/views_made"), self.dialect)).fetchall()
            views = {name for (name,) in made}
            for table in reversed(self._temporary):
                with suppress(duckdb.Error):
                    kind = "VIEW" if table.name in views else "TABLE"
                    self.connection.execute(render(sql.drop(table, kind), self.dialect))
        self._temporary.clear()
        self._names = None

    def close(self) -> None:
        self._worker.settle()
        try:
            if self._owned:
                self.connection.close()
            else:
                self.forget()
                while self._attached:
                    self.run_unlogged(exp.Detach(this=sql.identifier(self._attached.popitem()[1])))
        finally:
            self._worker.close()
            if self._spill is not None:
                self._spill.remove()

    def _parsed(self, statement: exp.Expr) -> duckdb.Statement:
        """Return a statement parsed by DuckDB; for statements that run hundreds of times with different values."""
        if id(statement) not in self._parsed_before:
            if len(self._parsed_before) >= _PARSED:
                self._parsed_before.clear()
            (parsed,) = self.connection.extract_statements(render(statement, self.dialect))
            self._parsed_before[id(statement)] = (statement, parsed)
        return self._parsed_before[id(statement)][1]
