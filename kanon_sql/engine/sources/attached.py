"""Databases of other kinds: attached by DuckDB for reading, one table of them copied, and let go.

A table is read once, into a table of the run's own: so the release is that of one moment, whatever others write
meanwhile, and every comparison is DuckDB's (a server may take ``A`` and ``a`` for the same).
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from kanon_sql.engine.duckdb.connect import TAKEN_BY_DUCKDB
from kanon_sql.engine.duckdb.extensions import load_extension
from kanon_sql.engine.duckdb.failures import first_line
from kanon_sql.engine.sources.addresses import EXTENSIONS
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.addresses import DatabaseAddress

OF_THE_SERVER = {"information_schema", "pg_catalog", "performance_schema"}
"""Schemas that servers keep for themselves."""
_PASSWORD = "kanon_password"  # noqa: S105 - the name of a secret, not a password


@contextmanager
def attached(engine: DuckDBEngine, address: DatabaseAddress) -> Iterator[tuple[str, tuple[exp.Expr, ...]]]:
    """Attach a database for reading; it is let go at the end, and its password forgotten.

    Args:
        engine: that attaches it.
        address: of the database.

    Yields:
        What it is called, and the statements that attach it, without a password.

    Raises:
        SourceError: the extension is not there, or the database cannot be opened.
        UsageError: a transaction is open, in which it could not be detached again.
    """
    if engine.is_shared and engine.in_transaction():
        raise UsageError(
            "The connection has a transaction open; commit it or roll it back, then read another database."
        )
    taken = [name for (name,) in engine.rows(sql.statement("catalog/databases"), "names in use")]
    name = unused_name(address.name, [*taken, *TAKEN_BY_DUCKDB])
    try:
        load = connect(engine, address, name)
        yield name, (load, attach_statement(address, name))
    finally:
        with suppress(duckdb.Error):  # it was not attached
            engine.run_unlogged(exp.Detach(this=sql.identifier(name)))
        if address.password is not None:
            with suppress(duckdb.Error):
                engine.run_unlogged(forget_statement())


def connect(engine: DuckDBEngine, address: DatabaseAddress, name: str) -> exp.Expr:
    """Load the extension and attach a database under a name; return the statement that loads the extension.

    Raises:
        SourceError: the extension is not there, or the database cannot be opened.
    """
    load = load_extension(engine, EXTENSIONS[address.kind], address.shown)
    try:
        if address.password is not None:
            engine.run_unlogged(secret_statement(address))
        engine.run_unlogged(attach_statement(address, name, secret=address.password is not None))
    except duckdb.Error as error:
        text = first_line(error)
        if address.password is not None:
            text = text.replace(address.password, "***")
        raise SourceError(f"{address.shown} cannot be opened. {text}") from None
    return load


def attach_statement(address: DatabaseAddress, name: str, *, secret: bool = False) -> exp.Attach:
    """Return the statement that attaches a database for reading; with ``secret``, by the password that is kept."""
    options = [
        exp.AttachOption(this=exp.var("TYPE"), expression=exp.var(address.kind)),
        exp.AttachOption(this=exp.var("READ_ONLY")),
    ]
    if secret:
        options.append(exp.AttachOption(this=exp.var("SECRET"), expression=sql.identifier(_PASSWORD)))
    return exp.Attach(
        this=exp.Alias(this=sql.literal(address.connection), alias=sql.identifier(name)), expressions=options
    )


def secret_statement(address: DatabaseAddress) -> exp.Create:
    """Return the statement by which DuckDB keeps a password until the database is attached; no script shows it."""
    return create_secret(_PASSWORD, {"TYPE": exp.var(address.kind), "PASSWORD": sql.literal(address.password)})


def forget_statement() -> exp.Command:
    """Return the statement by which DuckDB forgets the password that it was given."""
    return exp.Command(this="DROP", expression=exp.var(f"TEMPORARY SECRET {_PASSWORD}"))


def create_secret(name: str, settings: dict[str, exp.Expr]) -> exp.Create:
    """Return ``CREATE TEMPORARY SECRET name (setting value, ...)``."""
    given = [exp.AttachOption(this=exp.var(setting), expression=value) for setting, value in settings.items()]
    return exp.Create(
        this=exp.Schema(this=sql.relation(name), expressions=given),
        kind="SECRET",
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )


def copied(engine: DuckDBEngine, address: DatabaseAddress, table: exp.Table) -> tuple[exp.Table, exp.Create]:
    """Copy a table of an attached database; return the copy and the statement that makes it.

    Raises:
        NoRoomError: there is no room for it.
        SourceError: it cannot be read.
    """
    relation = engine.temporary_name("kanon_source")
    create = sql.create_table(relation, exp.select("*").from_(table.copy()), temporary=True)
    try:
        engine.run(create, "read the table")
    except NoRoomError:
        raise
    except SourceError as error:
        if address.kind != "sqlite":
            raise
        raise SourceError(
            f"{table.name} in {address.shown} cannot be read. If a column has values of another type than it was "
            f"declared with, which SQLite allows, cast it in a view and name that. {error}"
        ) from None
    return relation, create
