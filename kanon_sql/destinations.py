"""Putting a release where it was asked for: table, view, file or data frame; all or nothing.

A release is made under a name of ours, verified there by statements of their own, and only then takes its name. When
anything fails on the way, whatever was made is gone.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.lookup import levels_columns
from kanon_sql.hierarchy.store import SCHEMA
from kanon_sql.names import unused_name
from kanon_sql.plan import joined_hierarchies
from kanon_sql.publish import Publication, readable_lookups, release_query
from kanon_sql.timing import timed
from kanon_sql.verify import Verification, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb import DuckDBEngine
    from kanon_sql.engine.sources import Source

_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


@dataclass(frozen=True)
class Published:
    """A release that was made and verified.

    Attributes:
        destination: name of the table or view, or path of the file.
        verification: what was found in it.
        seconds: of ``publish`` and ``verify``.
    """

    destination: str
    verification: Verification
    seconds: dict[str, float]


def target_table(engine: Engine, name: str) -> exp.Table:
    """Return the table of a name, in its schema where the name begins with that of one and a dot."""
    schema, dot, rest = name.partition(".")
    schemas = {row[0] for row in engine.rows(sql.statement("schemas"), "schemas of the database")}
    return sql.relation(rest, schema) if dot and rest and schema in schemas else sql.relation(name)


def check_target(source: Source, name: str, kind: str, *, replace: bool) -> exp.Table:
    """Return the table or view that a release will be called, before any work is done for it.

    Raises:
        UsageError: the source is in no database, or something of that name is there and may not be replaced.
    """
    if source.setup or source.frame_kind is not None:
        raise UsageError(f"{source.name} is not in a database, where a {kind} could be made: give --out FILE.")
    target = target_table(source.engine, name)
    existing = _kind_of(source.engine, target)
    if _same_relation(source.engine, target, source.relation):
        raise UsageError(f"{name!r} is the table that is to be anonymized: give the release another name.")
    if existing is not None and not replace:
        raise UsageError(
            f"There is a {existing.lower()} {name!r} already: give another name, or replace it (--replace)."
        )
    return target


def check_file(path: Path, *, replace: bool) -> str:
    """Return the format of a file that a release will be written to, before any work is done for it.

    Raises:
        UsageError: its suffix is not known, or it exists and may not be replaced.
        SourceError: its directory does not exist.
    """
    format_name = _FORMATS.get(path.suffix.lower())
    if format_name is None:
        raise UsageError(f"The format of {path} is not known by its suffix. Known are {', '.join(_FORMATS)}.")
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already: give another name, or replace it (--replace).")
    return format_name


def publish_table(
    source: Source, publication: Publication, name: str, rows_expected: int, *, replace: bool = False
) -> Published:
    """Make a release as a table; another's reader sees the old one or the whole new one."""
    engine = source.engine
    target = check_target(source, name, "table", replace=replace)
    lookups = readable_lookups(publication.hierarchies)
    staging = _beside(target, engine)
    seconds: dict[str, float] = {}
    with engine.transaction():
        with timed(seconds, "publish"):
            engine.run(sql.create_table(staging, release_query(publication, lookups)), "make the release")
        with timed(seconds, "verify"):
            verification = _verified(engine, publication, lookups, staging, rows_expected)
        _take_name(engine, staging, target, "TABLE")
    return Published(name, verification, seconds)


def publish_view(
    source: Source, publication: Publication, name: str, rows_expected: int, *, replace: bool = False
) -> Published:
    """Make a release as a view, with hierarchies of its own in the schema ``kanon`` that nothing else changes."""
    engine = source.engine
    target = check_target(source, name, "view", replace=replace)
    staging = _beside(target, engine)
    lookups = view_lookups(publication, name)
    seconds: dict[str, float] = {}
    with engine.transaction():
        with timed(seconds, "publish"):
            own = readable_lookups(publication.hierarchies)
            for statement in view_statements(publication, name, staging, own):
                engine.run(statement, "make the view and its hierarchies")
        with timed(seconds, "verify"):
            verification = _verified(engine, publication, lookups, staging, rows_expected)
        _take_name(engine, staging, target, "VIEW")
    return Published(name, verification, seconds)


def view_lookups(publication: Publication, view: str) -> dict[str, exp.Table]:
    """Return the tables that keep the hierarchies of a view."""
    return {
        hierarchy.column.name: sql.relation(f"{_without_dots(view)}.{_without_dots(hierarchy.column.name)}", SCHEMA)
        for hierarchy in publication.hierarchies
    }


def _without_dots(name: str) -> str:
    """Return a name in which a dot cannot be mistaken for the one between a view and a column."""
    return name.replace("%", "%25").replace(".", "%2E")


def view_statements(
    publication: Publication, view: str, staging: exp.Table, from_lookups: Mapping[str, exp.Table]
) -> tuple[exp.Expr, ...]:
    """Return the statements that make a view, and the tables that it joins from the lookups that there are."""
    lookups = view_lookups(publication, view)
    statements: list[exp.Expr] = [exp.Create(this=exp.Table(db=sql.identifier(SCHEMA)), kind="SCHEMA", exists=True)]
    for hierarchy in joined_hierarchies(publication):
        table = lookups[hierarchy.column.name]
        rows = exp.select(*levels_columns(hierarchy.height)).from_(from_lookups[hierarchy.column.name].copy())
        statements += [sql.drop(table), sql.create_table(table, rows)]
    return (*statements, sql.create_view(staging, release_query(publication, lookups)))


def publish_file(
    source: Source, publication: Publication, path: Path, rows_expected: int, *, replace: bool = False
) -> Published:
    """Write a release to a file; it is verified as it can be read back, then takes its name in one step."""
    engine = source.engine
    format_name = check_file(path, replace=replace)
    partial = path.with_name(f".{path.name}.{time.time_ns():x}.partial")
    lookups = readable_lookups(publication.hierarchies)
    seconds: dict[str, float] = {}
    try:
        with timed(seconds, "publish"):
            query = release_query(publication, lookups)
            engine.run(copy_statement(query, partial, format_name), "write the release")
        with timed(seconds, "verify"):
            output = reading_back(publication, partial, format_name)
            verification = _verified(engine, publication, lookups, output, rows_expected)
        try:
            partial.replace(path)
        except OSError as error:
            raise SourceError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
    return Published(str(path), verification, seconds)


def publish_frame(
    engine: DuckDBEngine, publication: Publication, rows_expected: int, fetch: Callable[[Any], Any]
) -> tuple[Any, Published]:
    """Return a release as a data frame, made by ``fetch`` from a relation of DuckDB, and what was verified."""
    staging = engine.temporary_name("kanon_release")
    lookups = readable_lookups(publication.hierarchies)
    seconds: dict[str, float] = {}
    try:
        with timed(seconds, "publish"):
            query = release_query(publication, lookups)
            engine.run(sql.create_table(staging, query, temporary=True), "make the release")
        with timed(seconds, "verify"):
            verification = _verified(engine, publication, lookups, staging, rows_expected)
        frame = fetch(engine.relation(staging))
    finally:
        engine.run(sql.drop(staging), "drop the copy that was fetched")
    return frame, Published("data frame", verification, seconds)


def copy_statement(query: exp.Query, path: Path, format_name: str) -> exp.Copy:
    """Return the statement that writes the rows of a query to a file."""
    settings: list[tuple[str, exp.Expr]] = [("FORMAT", exp.var("json" if format_name == "jsonl" else format_name))]
    settings += [("HEADER", exp.true())] if format_name == "csv" else []
    settings += [("ARRAY", exp.true())] if format_name == "json" else []
    return exp.Copy(
        this=exp.Subquery(this=query),
        kind=False,
        files=[sql.literal(str(path))],
        params=[exp.CopyParameter(this=exp.var(name), expression=value) for name, value in settings],
    )


def reading_back(publication: Publication, path: Path, format_name: str) -> exp.Subquery:
    """Return a file as a subquery: read as text, so that nothing is guessed, then cast to what it must be."""
    types = publication.published_types
    file = sql.literal(str(path))
    if format_name == "parquet":
        reader = exp.Anonymous(this="read_parquet", expressions=[file])
        query = exp.select(*(sql.column(name) for name in types))
    else:
        text = exp.Struct(
            expressions=[exp.PropertyEQ(this=sql.literal(name), expression=sql.literal("VARCHAR")) for name in types]
        )
        settings: dict[str, exp.Expr] = {"columns": text}
        if format_name == "csv":
            settings |= {
                "header": exp.true(),
                "auto_detect": exp.false(),
                "delim": sql.literal(","),
                "quote": sql.literal('"'),
                "escape": sql.literal('"'),
                "allow_quoted_nulls": exp.false(),
            }
        named = [exp.EQ(this=exp.var(name), expression=value) for name, value in settings.items()]
        reader = exp.Anonymous(this="read_csv" if format_name == "csv" else "read_json", expressions=[file, *named])
        query = exp.select(*(sql.named(sql.cast(sql.column(name), kind), name) for name, kind in types.items()))
    return exp.Subquery(this=query.from_(exp.Table(this=reader)), alias=exp.TableAlias(this=sql.identifier("file")))


def _verified(
    engine: Engine,
    publication: Publication,
    lookups: dict[str, exp.Table],
    output: exp.Expr,
    rows_expected: int,
) -> Verification:
    found = [column.name for column in engine.columns(output)]
    return verify(engine, publication, lookups, output, rows_expected=rows_expected, columns_found=found)


def _kind_of(engine: Engine, target: exp.Table) -> str | None:
    """Return TABLE or VIEW if there is something of that name, else None."""
    kinds = engine.rows(
        sql.statement("kind_of_relation", values={"name": target.name, "schema": target.db or None}),
        "is the name taken?",
    )
    return kinds[0][0] if kinds else None


def _same_relation(engine: Engine, one: exp.Table, other: exp.Table) -> bool:
    """Tell whether two names are of the same relation of the current database; SQL does not regard case."""
    ((schema,),) = engine.rows(exp.select(exp.Anonymous(this="current_schema")), "the schema we are in")
    names = [(str(table.db or schema).casefold(), table.name.casefold()) for table in (one, other)]
    return names[0] == names[1]


def _beside(target: exp.Table, engine: Engine) -> exp.Table:
    """Return a name in the schema of the target that is not in use."""
    taken = {row[0] for row in engine.rows(sql.statement("relation_names"), "names in use")}
    return sql.relation(unused_name(f"kanon_unverified_{target.name}", taken), target.db or None)


def _take_name(engine: Engine, staging: exp.Table, target: exp.Table, kind: str) -> None:
    if existing := _kind_of(engine, target):
        engine.run(sql.drop(target, existing), "drop what is replaced")
    rename = exp.Alter(this=staging.copy(), kind=kind, actions=[exp.AlterRename(this=sql.relation(target.name))])
    engine.run(rename, "the verified release takes its name")
