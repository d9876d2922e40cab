"""DuckDB: the engine that needs no server."""

from __future__ import annotations

import shutil
import tempfile
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import duckdb
from sqlglot import exp

from kanon_sql import sql
from kanon_sql.dialect import render
from kanon_sql.engine.base import Column, DeadlineReachedError, Logged
from kanon_sql.errors import ComputationError, SourceError, UsageError
from kanon_sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

Result = TypeVar("Result")

_RENDERED = 64  # texts of statements that are kept
_TAKEN_BY_DUCKDB = {"memory", "system", "temp"}  # names that no attached database can have

# Errors whose text DuckDB writes from names, paths and settings alone. The others may quote a cell.
_WITHOUT_CELLS = (
    duckdb.IOException,
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.ParserException,
    duckdb.ConnectionException,
    duckdb.OutOfMemoryException,
    duckdb.PermissionException,
    duckdb.TransactionException,
    duckdb.HTTPException,
    duckdb.ResourceInUseException,
)

# Errors of a statement that would have run on other values.
_OF_VALUES = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)


class DuckDBEngine:
    """A DuckDB connection.

    Statements run on a thread of their own while the caller watches the clock and the keyboard: DuckDB itself notices
    Ctrl-C late or not at all in some of its operators, and has no deadlines. The detour costs 0.1 ms a statement.
    """

    dialect = "duckdb"

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, owned: bool) -> None:
        """Wrap a connection; one that is ``owned`` is closed with the engine."""
        self.connection = connection
        self.statements: list[Logged] = []
        self.listener: Callable[[Logged], None] | None = None
        self._owned = owned
        self._temporary: list[exp.Table] = []
        self._attached: dict[Path, str] = {}
        self._rendered_before: dict[int, tuple[exp.Expr, str]] = {}  # of statements that are run often, by identity
        self._names: set[str] | None = None  # that temporary tables must not take; asked for once
        self._spill_directory: str | None = None
        self._file: tuple[Path, exp.Identifier] | None = None
        if owned:  # DuckDB would draw a bar of its own on stdout when a statement takes long; stdout is for data
            connection.execute("SET enable_progress_bar = false")
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kanon-duckdb")

    @classmethod
    def in_memory(cls) -> DuckDBEngine:
        """Return an engine on an empty database; what does not fit in memory spills to a private directory."""
        directory = tempfile.mkdtemp(prefix="kanon-")
        engine = cls(duckdb.connect(config={"temp_directory": directory}), owned=True)
        engine._spill_directory = directory
        return engine

    @classmethod
    def from_file(cls, path: Path, *, writable: bool) -> DuckDBEngine:
        """Return an engine on a database file, which becomes the current database of an empty one.

        Temporary tables belong to the empty one, so that they outlive ``make_writable``.

        Raises:
            SourceError: the file is missing, locked by another process or not a DuckDB database.
        """
        engine = cls(duckdb.connect(config={"temp_directory": f"{path}.tmp"}), owned=True)
        name = path.stem if path.stem.casefold() not in _TAKEN_BY_DUCKDB else f"{path.stem}_database"
        engine._file = (path, sql.identifier(name))
        try:
            engine._attach(writable=writable)
        except SourceError:
            engine.close()
            raise
        return engine

    def make_writable(self) -> None:
        """Open the file again, for writing; temporary tables stay.

        Raises:
            SourceError: another process has the file open.
        """
        if self._file is None:
            return
        _, name = self._file
        self._execute(exp.Use(this=exp.Table(this=sql.identifier("memory"))))
        self._execute(exp.Detach(this=name.copy()))
        try:
            self._attach(writable=True)
        except SourceError:
            self._attach(writable=False)
            raise

    def attach(self, path: Path) -> str:
        """Attach another database file, for reading, if it is not yet; return the name that it has from now on.

        Raises:
            SourceError: the file is missing, locked by another process or not a DuckDB database.
            UsageError: a transaction is open, in which it could not be detached again.
        """
        file = path.resolve()
        if file in self._attached:  # DuckDB does not attach a file twice
            return self._attached[file]
        if not self._owned and self.in_transaction():
            raise UsageError(
                "The connection has a transaction open; commit it or roll it back, then read another file."
            )
        taken = [name for (name,) in self.rows(sql.statement("databases"), "names in use")]
        name = unused_name("kanon_attached", taken)
        self._attach_file(path, sql.identifier(name), writable=False)
        self._attached[file] = name
        return name

    def _attach(self, *, writable: bool) -> None:
        if self._file is None:
            return
        path, name = self._file
        self._attach_file(path, name, writable=writable)
        self._execute(exp.Use(this=exp.Table(this=name.copy())))

    def _attach_file(self, path: Path, name: exp.Identifier, *, writable: bool) -> None:
        options = [] if writable else [exp.AttachOption(this=exp.var("READ_ONLY"))]
        attached = exp.Alias(this=sql.literal(str(path)), alias=name.copy())
        try:
            self._execute(exp.Attach(this=attached, expressions=options))
        except duckdb.Error as error:
            raise SourceError(_why_not_opened(path, error)) from None

    def _execute(self, statement: exp.Expr) -> None:
        """Run a statement that is about this connection and not about its data: no script shows it."""
        self.connection.execute(render(statement, self.dialect))

    def run(self, statement: exp.Expr, title: str = "") -> None:
        """Run a statement whose result is not needed."""
        self.rows(statement, title)

    def rows(
        self,
        statement: exp.Expr,
        title: str = "",
        parameters: Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> list[tuple[Any, ...]]:
        """Return all rows of a query (see ``Engine.rows``)."""
        bound = dict(parameters or {})
        logged = Logged(title, statement, bound)
        self.statements.append(logged)
        if self.listener is not None:
            self.listener(logged)
        text = render(statement, self.dialect) if parameters is None else self._rendered(statement)
        return self._call(lambda: self.connection.execute(text, bound or None).fetchall(), title, deadline)

    def row(
        self,
        statement: exp.Expr,
        title: str = "",
        parameters: Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> tuple[Any, ...]:
        """Return the single row of a query."""
        (only,) = self.rows(statement, title, parameters, deadline)
        return only

    def load(
        self,
        table: exp.Table,
        columns: Mapping[str, Sequence[str | int | None]],
        title: str,
        data_type: Literal["VARCHAR", "BIGINT"] = "VARCHAR",
    ) -> None:
        """Create a temporary table from Python lists of equal length (see ``Engine.load``)."""
        names = {name: f"column_{number}" for number, name in enumerate(columns)}
        lists = [
            sql.named(exp.Explode(this=sql.cast(exp.Placeholder(this=place), f"{data_type}[]")), name)
            for name, place in names.items()
        ]
        create = sql.create_table(table, exp.select(*lists), temporary=True)
        self.rows(create, title, {names[name]: list(column) for name, column in columns.items()})

    def fetched(self, table: exp.Table, fetch: Callable[[duckdb.DuckDBPyRelation], Result]) -> Result:
        """Return the rows of a table in the form that is wanted: what ``fetch`` makes of a relation of DuckDB's own.

        Raises:
            SourceError: a value or a type of the table does not exist in that form.
        """
        relation = self.connection.sql(render(exp.select("*").from_(table), self.dialect))
        try:
            return fetch(relation)
        except (duckdb.Error, ArithmeticError, NotImplementedError, ValueError) as error:
            raise SourceError(
                f"The release cannot be made a data frame ({type(error).__name__}): a column has a type or a value "
                "that data frames do not have. Write it to a file or a table."
            ) from None

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        """Return the columns of a relation in their order."""
        described = self.rows(exp.Describe(this=exp.select("*").from_(relation)), "columns of the table")
        return tuple(Column(name, data_type) for name, data_type, *_ in described)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the statements inside take effect together, or not at all."""
        # Asked first: a failed BEGIN would abort the transaction that is open.
        if self.in_transaction():
            raise UsageError("The connection has a transaction open; commit it or roll it back, then publish.")
        self.connection.begin()
        try:
            yield
        except BaseException:
            with suppress(duckdb.Error):
                self.connection.rollback()
            raise
        self._call(self.connection.commit, "commit", None)

    def in_transaction(self) -> bool:
        """Tell whether a transaction is open, which only the owner of the connection can have begun."""
        first, second = (self.row(sql.statement("transaction"), "is a transaction open?") for _ in range(2))
        return bool(first == second)

    def temporary_name(self, wanted: str) -> exp.Table:
        """Return a name for a temporary table that no other table has."""
        if self._names is None:
            self._names = {name for (name,) in self.rows(sql.statement("relation_names"), "names in use")}
        name = unused_name(wanted, self._names)
        self._names.add(name)
        table = sql.relation(name)
        self._temporary.append(table)
        return table

    def forget(self) -> None:
        """Drop every temporary table and view that this engine made."""
        if self._temporary:
            made = self.connection.execute(render(sql.statement("views_made"), self.dialect)).fetchall()
            views = {name for (name,) in made}
            for table in reversed(self._temporary):
                with suppress(duckdb.Error):
                    kind = "VIEW" if table.name in views else "TABLE"
                    self.connection.execute(render(sql.drop(table, kind), self.dialect))
        self._temporary.clear()
        self._names = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop what was made; close the connection if it was opened here."""
        try:
            if self._owned:
                self.connection.close()
            else:
                self.forget()
                while self._attached:
                    self._execute(exp.Detach(this=sql.identifier(self._attached.popitem()[1])))
        finally:
            self._worker.shutdown(wait=False)
            if self._spill_directory is not None:
                shutil.rmtree(self._spill_directory, ignore_errors=True)

    def _rendered(self, statement: exp.Expr) -> str:
        """Return the text of a statement that is run hundreds of times, often with other values for placeholders."""
        if id(statement) not in self._rendered_before:
            if len(self._rendered_before) >= _RENDERED:
                self._rendered_before.clear()
            self._rendered_before[id(statement)] = (statement, render(statement, self.dialect))
        return self._rendered_before[id(statement)][1]

    def _call(self, work: Callable[[], Result], title: str, deadline: float | None) -> Result:
        future = self._worker.submit(_translated, work, title)
        try:
            while not future.done() and (deadline is None or time.monotonic() < deadline):
                # Not one long wait: a signal that another thread received is only seen between waits.
                wait_for([future], _patience(deadline))
        except KeyboardInterrupt:
            self._stop(future)
            raise
        in_time = future.done()
        if not in_time:
            self._stop(future)
        try:
            return future.result()
        except (CancelledError, duckdb.InterruptException):
            if in_time:  # whoever owns the connection stopped it
                raise KeyboardInterrupt from None
            raise DeadlineReachedError from None

    def _stop(self, future: Future[Any]) -> None:
        while True:
            try:
                future.cancel()
                while not future.done():  # again and again: an interrupt before the statement has begun is lost
                    self.connection.interrupt()
                    wait_for([future], 0.02)
            except KeyboardInterrupt:  # who presses twice means the same; the connection is busy until then
                continue
            return


def _translated(work: Callable[[], Result], title: str) -> Result:
    """Do the work; an error of DuckDB becomes one of ours that quotes no cell."""
    try:
        return work()
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        doing = f" while it ran this step: {title}" if title else ""
        if isinstance(error, _WITHOUT_CELLS):
            raise SourceError(f"DuckDB stopped{doing}. {_first_line(error)}") from None
        kind = type(error).__name__.removesuffix("Exception")
        raise (ComputationError if isinstance(error, _OF_VALUES) else SourceError)(
            f"DuckDB stopped with an error of type {kind}{doing}. Its text may quote data and is not shown; "
            "--sql prints the statements, to be run by hand."
        ) from None


def _patience(deadline: float | None) -> float:
    """Return how long to wait for a statement before looking up, in seconds."""
    longest = 0.2
    return longest if deadline is None else max(0.0, min(longest, deadline - time.monotonic()))


def _first_line(error: duckdb.Error) -> str:
    return str(error).strip().splitlines()[0]


def _why_not_opened(path: Path, error: duckdb.Error) -> str:
    text = _first_line(error)
    if "lock" in text.lower():
        return f"{path} is in use by another process. Close it there, or work on a copy."
    if isinstance(error, duckdb.ResourceInUseException):
        return f"{path} is already open in this process; pass that connection instead of the path."
    if "not a valid DuckDB" in text:
        return f"{path} is not a DuckDB database."
    return f"{path} cannot be opened. {text}"
