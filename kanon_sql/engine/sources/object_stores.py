"""Data files in object stores and on the web, read by DuckDB's extensions."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from kanon_sql.engine.columns import named_once
from kanon_sql.engine.duckdb.extensions import is_installed, load_extension
from kanon_sql.engine.sources.attached import create_secret
from kanon_sql.engine.sources.csv.empty_texts import empty_texts
from kanon_sql.engine.sources.data_files import raw_names, reader_of
from kanon_sql.engine.sources.reading import PACKED, reading
from kanon_sql.errors import NoRoomError, SourceError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.duckdb.stamps import Stamps
    from kanon_sql.engine.sources.addresses import ObjectAddress

_SECRET = "kanon_access"  # noqa: S105 - the name of a secret, not a password
# What kind of secret an address needs. Others (gcs, r2, http) have no chain that finds them without being told.
_KINDS = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), "azure"),
    "hf": "huggingface",
}
_CHAIN_OF = {"s3": "aws", "azure": "azure", "huggingface": "httpfs"}
"""The extension that finds credentials of a kind where its own programs keep them."""
_AZURE_ACCOUNT = "AZURE_STORAGE_ACCOUNT"


def read_objects(
    engine: DuckDBEngine, address: ObjectAddress, *, as_text: bool = False
) -> tuple[exp.Table, tuple[exp.Expr, ...]]:
    """Make what lies at an address a relation; return it, and the statements that a script begins with to have it.

    Text is read once, into a table; Parquet where it lies, each time that it is needed.

    Args:
        engine: reads it.
        address: of the files; one that ends in a slash stands for all Parquet files below.
        as_text: whether the values of a CSV file are to be taken as they are written.

    Raises:
        SourceError: the extension is not there, or nothing can be read there.
        UsageError: the format is not known by the suffix, or two columns have the same name to SQL.
    """
    pattern = f"{address.given}**/*.parquet" if address.given.endswith("/") else address.given
    path = address.path / "all.parquet" if address.given.endswith("/") else address.path
    reader = reader_of(path)
    setup = [load_extension(engine, address.extension, address.shown), *_access(engine, address)]
    place: exp.Expr = sql.literal(pattern)
    if address.is_signed:  # nobody is to read it in a log or in a script
        variable = unused_name("kanon_address", _variables(engine))
        engine.run_unlogged(_set_variable(variable, pattern))
        setup.append(_set_variable(variable, address.shown))
        place = exp.Anonymous(this="getvariable", expressions=[sql.literal(variable)])
    settings: dict[str, exp.Expr] = {}
    if reader == "read_csv":
        settings = {"all_varchar": exp.true(), "allow_quoted_nulls": exp.false()} if as_text else {}
        settings = settings or {"sample_size": sql.literal(-1)}  # zeros that lead are seen wherever they first come
        packed = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower()) if path.suffix.lower() in PACKED else None
        settings |= {} if packed is None else {"compression": sql.literal(packed)}
    relation = engine.temporary_name("kanon_source")
    create = reading(reader, place, relation, settings | {"union_by_name": exp.true()})
    try:
        engine.run(create, "read the files")
        if reader == "read_csv" and not as_text:
            with_empty = empty_texts(engine, place, relation, settings | {"union_by_name": exp.true()}, -1)
            if with_empty is not None:
                engine.run(sql.drop(relation), "read the files again")
                engine.run(create := with_empty, "read the files again")
        columns = engine.columns(relation)
        if reader == "read_parquet":
            engine.watch_elsewhere(lambda: _stamps(engine, place))
    except NoRoomError:
        raise
    except SourceError as error:
        raise SourceError(
            f"{address.shown} cannot be read. Is it there, is it what its suffix says, and may you read it? {error}"
        ) from None
    named_once(raw_names(engine, reader, place, columns), address.name)
    return relation, (*setup, create)


def _stamps(engine: DuckDBEngine, place: exp.Expr) -> Stamps:
    """Return what is known of the files without reading them; a server that tells nothing is not asked further."""
    with suppress(SourceError):
        return tuple(engine.rows(sql.statement("files/objects", values={"address": place}), "have the files changed?"))
    return ()


def _variables(engine: DuckDBEngine) -> list[str]:
    return [name for (name,) in engine.rows(sql.statement("catalog/variables"), "names in use")]


def _set_variable(name: str, value: str) -> exp.Set:
    item = exp.EQ(this=exp.column(name), expression=sql.literal(value))
    return exp.Set(expressions=[exp.SetItem(this=item, kind="VARIABLE")])


def _access(engine: DuckDBEngine, address: ObjectAddress) -> tuple[exp.Expr, ...]:
    """Let DuckDB find credentials where the programs of a store keep theirs; return the statement that did.

    A secret that the person made goes before that. Where none is found, what is public can still be read.
    """
    kind = _KINDS.get(address.scheme)
    if kind is None or address.is_signed or not is_installed(engine, _CHAIN_OF[kind]):
        return ()
    settings: dict[str, exp.Expr] = {"TYPE": exp.var(kind), "PROVIDER": exp.var("credential_chain")}
    account = os.environ.get(_AZURE_ACCOUNT)
    if kind == "azure" and account:
        settings["ACCOUNT_NAME"] = sql.literal(account)
    create = create_secret(_SECRET, settings)
    with suppress(duckdb.Error, SourceError):
        asked = {"address": address.given, "kind": kind}
        if not engine.rows(sql.statement("files/secret_of", values=asked), "is there a secret for it?"):
            load_extension(engine, _CHAIN_OF[kind], address.shown)
            engine.run_unlogged(create)
            return (exp.Command(this="LOAD", expression=sql.identifier(_CHAIN_OF[kind])), create)
    return ()
