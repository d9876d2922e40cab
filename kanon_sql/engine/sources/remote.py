"""Databases of other kinds and files on other machines, which DuckDB reads by extensions.

Extensions are loaded if they are installed, and downloaded only if that is allowed. A table of a database is copied
once: a release is of one moment, and every comparison is DuckDB's (a server may take ``A`` and ``a`` for the same).
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from kanon_sql.engine.duckdb.connection import first_line, in_force, not_installed, spill_directory
from kanon_sql.engine.keys import HIDDEN
from kanon_sql.engine.sources.data_files import make_from_file, read_file, reader_of, require_names
from kanon_sql.engine.sources.reading import FileRead
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.addresses import DatabaseAddress, ObjectAddress
    from kanon_sql.engine.sources.layout import Layout

ALLOWS_INSTALLING = "KANON_INSTALL_EXTENSIONS"
"""The environment variable that allows to download extensions: 1, true or yes."""
_PASSWORD, _ACCESS = "kanon_password", "kanon_access"


def load_extension(engine: DuckDBEngine, name: str, what: str) -> exp.Expr:
    """Load the extension that ``what`` needs, and return the statement that does."""
    load = exp.Command(this="LOAD", expression=sql.identifier(name))
    statements = [load]
    if not is_installed(engine, name):
        if os.environ.get(ALLOWS_INSTALLING, "").strip().lower() not in {"1", "true", "yes"}:
            raise SourceError(not_installed(name, what))
        statements.insert(0, exp.Command(this="INSTALL", expression=sql.identifier(name)))
    try:
        for statement in statements:
            engine.run_unlogged(statement)
    except duckdb.Error as error:
        raise SourceError(
            f"{what} needs DuckDB's extension {name}, which cannot be loaded. {first_line(error)}"
        ) from None
    return load


def is_installed(engine: DuckDBEngine, name: str) -> bool:
    found = engine.rows(sql.statement("catalog/extension", values={"name": name}), "is the extension there?")
    return any(installed for (installed,) in found)


@contextmanager
def attached(engine: DuckDBEngine, address: DatabaseAddress) -> Iterator[tuple[str, tuple[exp.Expr, ...]]]:
    """Attach a database for reading, and detach it at the end.

    Yields its name, and the statements that attach it, without secrets. The password is a secret of DuckDB until then:
    its errors repeat the text by which a database is attached.
    """
    engine.require_no_transaction("read another database", owned_too=False)
    name = engine.unused_database(address.kind)
    load = load_extension(engine, f"{address.kind}_scanner", address.shown)
    try:
        try:
            if address.password:
                settings = {"TYPE": exp.var(address.kind), "PASSWORD": sql.literal(address.password)}
                engine.run_unlogged(create_secret(_PASSWORD, settings))
            engine.run_unlogged(attach_statement(address, name, secret=True))
        except duckdb.Error as error:
            text = first_line(error)
            for secret in filter(None, (address.password, *address.settings.values())):
                text = text.replace(secret, HIDDEN)
            raise SourceError(f"{address.shown} cannot be opened. {text}") from None
        yield name, (load, attach_statement(address, name))
    finally:
        forget = exp.Command(this="DROP", expression=exp.var(f"TEMPORARY SECRET {_PASSWORD}"))
        for statement in (exp.Detach(this=sql.identifier(name)), forget):
            with suppress(duckdb.Error):  # it was not attached, or has no password
                engine.run_unlogged(statement)


def attach_statement(address: DatabaseAddress, name: str, *, secret: bool = False) -> exp.Attach:
    """Return the statement that attaches a database for reading; with ``secret``, as it is run and never shown."""
    options = [
        exp.AttachOption(this=exp.var("TYPE"), expression=exp.var(address.kind)),
        exp.AttachOption(this=exp.var("READ_ONLY")),
    ]
    if secret and address.password:
        options.append(exp.AttachOption(this=exp.var("SECRET"), expression=sql.identifier(_PASSWORD)))
    place = sql.literal(address.connection(secret=secret))
    return exp.Attach(this=exp.Alias(this=place, alias=sql.identifier(name)), expressions=options)


def create_secret(name: str, settings: Mapping[str, exp.Expr]) -> exp.Create:
    """Return ``CREATE TEMPORARY SECRET name (setting value, ...)``."""
    given = [exp.AttachOption(this=exp.var(setting), expression=value) for setting, value in settings.items()]
    return exp.Create(
        this=exp.Schema(this=sql.relation(name), expressions=given),
        kind="SECRET",
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )


def read_objects(
    engine: DuckDBEngine, address: ObjectAddress, relation: exp.Table, layout: Layout, *, as_text: bool = False
) -> tuple[FileRead, tuple[exp.Expr, ...]]:
    """Make files at an address a relation; return how it was read, and the statements that must run before.

    Parquet is read where it is, whenever it is needed. Other files are copied here first. An address that ends in a
    slash stands for all Parquet files below.
    """
    is_directory = address.given.endswith("/")
    pattern = f"{address.given}**/*.parquet" if is_directory else address.given
    reader = reader_of(address.path / "all.parquet" if is_directory else address.path, layout)
    layout.require_for(reader, address.shown)
    setup = [load_extension(engine, address.extension, address.shown), *_access(engine, address)]
    place: exp.Expr = sql.literal(pattern)
    if address.is_signed:
        taken = [name for (name,) in engine.rows(sql.statement("catalog/variables"), "names in use")]
        variable = unused_name("kanon_address", taken)
        engine.run_unlogged(_set_variable(variable, pattern))
        setup.append(_set_variable(variable, address.shown))
        place = exp.Anonymous(this="getvariable", expressions=[sql.literal(variable)])
    try:
        if reader != "read_parquet":
            with _downloaded(engine, address, place) as copy:
                found = read_file(engine, copy, relation, layout, as_text=as_text)
            for read in found.create.find_all(exp.Anonymous):
                if read.name.startswith("read_") and str(copy.parent) in str(read.expressions[0]):
                    read.expressions[0].replace(place.copy())
            return found, tuple(setup)
        create = make_from_file(engine, reader, place, relation, {"union_by_name": True})
        columns = engine.columns(relation)
        engine.watch_elsewhere(sql.statement("files/objects", values={"address": place}))
    except SourceError as error:
        if isinstance(error, NoRoomError):
            raise
        raise SourceError(
            f"{address.shown} cannot be read. Is it there, is it what its suffix says, and may you read it? {error}"
        ) from None
    require_names(engine, reader, place, columns, address.path.name)
    return FileRead(create, columns, layout), tuple(setup)


@contextmanager
def _downloaded(engine: DuckDBEngine, address: ObjectAddress, place: exp.Expr) -> Iterator[Path]:
    """Yield a copy of files at an address: the file, or a directory of several; it is deleted on exit."""
    with spill_directory(in_force(None).directory, None) as private:
        objects = engine.rows(sql.statement("files/content", values={"address": place}), "copy the files")
        if not objects:
            raise SourceError("There is no such file.")
        directory, copies = private.path / "copy", []
        for name, content in objects:
            parts = PurePosixPath(str(name).partition("?")[0].rpartition("://")[2]).parts
            copies.append(directory.joinpath(*(part for part in parts if part not in {"..", "/"})))
            copies[-1].parent.mkdir(parents=True, exist_ok=True)
            copies[-1].write_bytes(content)
        copy = copies[0] if len(copies) == 1 else directory
        try:
            yield copy
        except (SourceError, UsageError) as error:
            shown = address.shown if len(copies) == 1 else f"{address.shown}, "
            error.args = tuple(str(part).replace(str(copy), shown) for part in error.args)
            raise


def _set_variable(name: str, value: str) -> exp.Set:
    item = exp.EQ(this=exp.column(name), expression=sql.literal(value))
    return exp.Set(expressions=[exp.SetItem(this=item, kind="VARIABLE")])


def _access(engine: DuckDBEngine, address: ObjectAddress) -> tuple[exp.Expr, ...]:
    """Let DuckDB find credentials as the programs of a store do; return the statements that did.

    A secret of the user comes first. Without credentials, public files can still be read.
    """
    kind = address.secret
    if not kind or address.is_signed or not is_installed(engine, address.finder):
        return ()
    settings: dict[str, exp.Expr] = {"TYPE": exp.var(kind), "PROVIDER": exp.var("credential_chain")}
    if kind == "azure" and (account := os.environ.get("AZURE_STORAGE_ACCOUNT")):
        settings["ACCOUNT_NAME"] = sql.literal(account)
    with suppress(duckdb.Error, SourceError):
        values = {"address": address.given, "kind": kind}
        if not engine.rows(sql.statement("files/secret_of", values=values), "is there a secret for it?"):
            load, create = load_extension(engine, address.finder, address.shown), create_secret(_ACCESS, settings)
            engine.run_unlogged(create)
            return (load, create)
    return ()
