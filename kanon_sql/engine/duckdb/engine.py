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

_PARSED = 64  # statements that are kept, as DuckDB parsed them


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
        """Wrap a connection; one that is ``owned`` is closed with the engine, and the directory to spill to removed."""
        self.connection = connection
        self.statements = []
        self.is_shared = not owned
        self._owned = owned
        self._temporary = []
        self._attached: dict[Path, str] = {}
        self._parsed_before: dict[int, tuple[exp.Expr, duckdb.Statement]] = {}  # what is run often, by identity
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
        """Return an engine on an empty database; what does not fit in memory spills to a private directory."""
        return cls._opened(in_force(resources), None)

    @classmethod
    def from_file(cls, path: Path, *, writable: bool, resources: Resources | None = None) -> DuckDBEngine:
        """Return an engine on a database file, which becomes the current database of an empty one.

        Temporary tables belong to the empty one, so that they outlive ``make_writable``. What does not fit in memory
        spills to a private directory beside the file, if no other was named and one can be made there.
        """
        with closed_on_error(cls._opened(in_force(resources), path)) as engine:
            engine.reopen(writable=writable)
            engine.require_builtin_functions(str(path))
        return engine

    def require_builtin_functions(self, name: str) -> None:
        """Raise if macros would be called in place of the functions and operators that statements mean."""
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
        """Compute labels and texts in a time zone from now on; for a connection of our own."""
        self.time_zone = zone
        if zone != UTC:
            self.time_zone, *_ = self._known_time_zone()
        self.run_unlogged(sql.set_time_zone(self.time_zone))

    def _known_time_zone(self) -> tuple[str, str, bool]:
        """Return the wanted time zone as DuckDB writes its name, that of the session, and whether both are one."""
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
        """Raise if a table has columns of a time zone, and its connection, which is not ours, has another one set."""
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
        """Work with one thread from now on, or with all, unless threads were given: few rows need one."""
        if self._chooses_threads:
            self.connection.execute("SET threads = 1" if alone else "RESET threads")

    def make_writable(self) -> bool:
        """Open the file again for writing, once other processes closed it; return True if one changed it meanwhile.

        Temporary tables stay. While this process waits, it has closed the file too: two processes that wait for each
        other do not wait forever.
        """
        if self._file is None or self.is_writable:
            return False
        path, name = self._file
        before = stamps_of_database(path)  # no other process writes: it is open for reading
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
        # What opening it writes itself, where there is a log of changes, is not looked at.
        return before != between or (len(before) == 1 and before != stamps_of_database(path))

    def attach(self, path: Path) -> str:
        """Attach another database file for reading, once; return its name."""
        file = path.resolve()
        if file in self._attached:  # DuckDB does not attach a file twice
            return self._attached[file]
        self.require_no_transaction("read another file", owned_too=False)
        name = self.unused_database("kanon_attached")
        self._attach_file(path, sql.identifier(name), writable=False)
        self._attached[file] = name
        return name

    def attach_new(self, path: Path, *, like_this: bool = False) -> str:
        """Attach a new database file for writing; return the name that it has until ``detach``.

        With ``like_this`` it is written as the file of the current database is, so that the same programs read it.
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
        """Detach a database that ``attach_new`` made, all of it written to its file."""
        self.run_unlogged(exp.Command(this="CHECKPOINT", expression=sql.identifier(name)), "write")
        self.run_unlogged(exp.Detach(this=sql.identifier(name)))

    def abandon(self, name: str) -> None:
        """Detach a database that ``attach_new`` made and that is not wanted, if it is still attached."""
        with suppress(duckdb.Error):
            self.run_unlogged(exp.Detach(this=sql.identifier(name)))

    def leave_file(self) -> None:
        """Detach the file, under whose name another one lies now; temporary tables stay."""
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
        """Return the name that a database can be attached by."""
        return unused_name(wanted, [name for (name,) in self.rows(sql.statement("catalog/databases"), "names in use")])

    def log(self, logged: Logged) -> None:
        self.statements.append(logged)
        if self.listener is not None:
            self.listener(logged)

    def run_unlogged(self, statement: exp.Expr, title: str = "") -> None:
        """Run a statement about this connection, which no script shows; without a title, an error is DuckDB's own."""
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
        """Return what ``fetch`` makes of a table as a relation of DuckDB's own."""
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
        with suppress(duckdb.ConnectionException):  # closed, so that nothing runs
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
        # Checked first: a failed BEGIN would abort the transaction that is open.
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
        # No other process changes a file that was opened here; a transaction of its owner is a snapshot already.
        with nullcontext() if self._owned or self.in_transaction() else self.transaction():
            yield

    def watch(self, files: Callable[[], Iterable[Path]]) -> None:
        """Watch files that are read where they lie, each time that they are needed."""
        self._watched.append((lambda: stamps_of(files()), stamps_of(files())))

    def watch_elsewhere(self, query: exp.Expr) -> None:
        """Watch files on another machine, whose rows others may change, by what a query tells of them, if anything."""

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

    # What a database keeps. Where the engine is the workbench of a warehouse, that is there: see ``Workbench``.

    newest_entries: list[tuple[Any, ...]] | None = None  # of the ledger, where it was read again by ``alone``

    def current_schema(self) -> str:
        query = exp.select(exp.Anonymous(this="current_schema"))
        return str(self.row(query, "the schema we are in")[0])

    def kind_of(self, relation: exp.Table) -> str | None:
        """Return TABLE or VIEW (or, in a warehouse, MATERIALIZED VIEW); None if there is nothing of that name."""
        values = {"name": relation.name, "schema": relation.db or None}
        kinds = self.rows(sql.statement("catalog/kind_of_relation", values=values), "is the name taken?")
        return kinds[0][0] if kinds else None

    def definition_of(self, relation: exp.Table, title: str) -> str | None:
        """Return the text of a view; None for what is none."""
        return next((text for (text,) in self._definition(relation, title)), None)

    def fingerprinted_definition(self, view: exp.Table) -> str:
        """Return the text whose hash the ledger keeps of a view: its form stays, for the entries that there are."""
        return repr(self._definition(view, "definition of the view"))

    def _definition(self, view: exp.Table, title: str) -> list[tuple[Any, ...]]:
        values = {"name": view.name, "schema": view.db or None}
        return self.rows(sql.statement("catalog/definition_of_view", values=values), title)

    def computed(self, relation: exp.Table) -> set[str]:
        """Return the columns that are computed: all of a view, and generated ones."""
        values = {"name": relation.name, "schema": relation.db or None, "catalog": relation.catalog or None}
        return {name for (name,) in self.rows(sql.statement("catalog/computed", values=values), "computed columns")}

    def relations_behind(self, relation: exp.Table) -> list[exp.Table] | None:
        """Return a relation and, if it is a view, all that it reads from, at any depth; None if that cannot be known.

        It is not known of a definition that sqlglot does not read, or that calls a macro or a function of names. A bare
        name is of the schema of its view, or of the current one.
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
        """Keep other runs from a table of kanon's own; a file that is open for writing is open here alone."""
        return nullcontext()

    @property
    def keepers(self) -> list[DuckDBEngine | Warehouse]:
        """Where tables of kanon's own are kept: what is written to one is written to all."""
        return [self]

    def keeping(self) -> AbstractContextManager[None]:
        """Return a transaction of all keepers."""
        return self.transaction()

    def carried(
        self,
        query: exp.Query,
        source: exp.Table,  # noqa: ARG002 - of a workbench
        typed: Mapping[str, exp.Expr],  # noqa: ARG002 - of a workbench
        title: str,  # noqa: ARG002 - of a workbench
    ) -> exp.Query:
        """Return a query with the rows of one that is run here for the database that has the source.

        In another database, columns have the types of the expressions ``typed`` over the table, called ``source``.
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
        """Make those rows of a table, called ``source``, that meet a condition a temporary table of this engine."""
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
        """Return a statement that is run hundreds of times, often with other values for placeholders, as DuckDB's."""
        if id(statement) not in self._parsed_before:
            if len(self._parsed_before) >= _PARSED:
                self._parsed_before.clear()
            (parsed,) = self.connection.extract_statements(render(statement, self.dialect))
            self._parsed_before[id(statement)] = (statement, parsed)
        return self._parsed_before[id(statement)][1]
