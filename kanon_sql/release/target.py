"""The name that a release will have in a database: whether it may have it, and what has it now."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engine.warehouse.workbench import Workbench
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.warehouse import RelationKind
    from kanon_sql.policy.destination import Kind

KINDS: dict[Kind, RelationKind] = {"table": "TABLE", "view": "VIEW", "materialized-view": "MATERIALIZED VIEW"}
"""What a database calls them."""
_WITH_CATALOG, _WITH_SCHEMA = 3, 2  # parts of a name
_SECURE_SINCE = 2  # the version of DuckDB whose files have secure views
_WORD = re.compile(r"[^\W\d]\w*")


def target_table(engine: Engine, name: str) -> exp.Table:
    """Return the table of a name, in its schema where the name begins with that of one and a dot.

    Raises:
        UsageError: the name is empty, is one that is kept for what is made here, or names a schema that is not there.
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
        raise UsageError(
            f"{name!r}: names in schema kanon, and names that begin with kanon_, are kept for kanon's own."
        )
    return target


def check_target(source: Source, name: str, kind: str, *, replace: bool) -> exp.Table:
    """Return the table or view that a release will be called, before any work is done for it.

    Raises:
        UsageError: the source is in no database, or something of that name is there and may not be replaced.
    """
    if source.address is not None:
        raise UsageError(f"{source.address.shown} is only read: give --out FILE instead of a {kind}.")
    if source.setup or (source.frame_kind is not None and not source.in_warehouse):
        raise UsageError(f"{source.name} is not in a database, where a {kind} could be made: give --out FILE.")
    target = target_table(source.engine, name)
    existing = kind_of(source.engine, target)
    ((schema,),) = source.engine.rows(exp.select(exp.Anonymous(this="current_schema")), "the schema we are in")
    behind = _relations_behind(source.engine, source.relation)
    if any(_same_relation(target, read, schema) for read in behind):
        raise UsageError(
            f"{name!r} is the table that is to be anonymized, or one behind it: give the release another name."
        )
    if existing is not None and not replace:
        raise UsageError(
            f"There is a {existing.lower()} {name!r} already: give another name, or replace it (--replace)."
        )
    if kind == "view" and not source.in_warehouse:
        _require_secure_views(source)
    return target


def require_kind(source: Source, kind: Kind) -> None:
    """Raise if there are no relations of a kind where the source is.

    Raises:
        UsageError: there are none.
    """
    if source.warehouse is not None:
        source.warehouse.require_kind(KINDS[kind])
    elif kind == "materialized-view":
        raise UsageError("DuckDB has no materialized views: make a table, or a view.")


def _require_secure_views(source: Source) -> None:
    """Raise if the database file is of a format that has no secure views: plain ones show what they leave out.

    Raises:
        UsageError: it is.
    """
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


def kind_of(engine: Engine, target: exp.Table) -> str | None:
    """Return TABLE or VIEW (or, in a warehouse, MATERIALIZED VIEW) if there is something of that name, else None."""
    if isinstance(engine, Workbench):
        return engine.known(target)
    kinds = engine.rows(
        sql.statement("catalog/kind_of_relation", values={"name": target.name, "schema": target.db or None}),
        "is the name taken?",
    )
    return kinds[0][0] if kinds else None


def _same_relation(one: exp.Table, other: exp.Table, schema: str) -> bool:
    """Tell whether two names are of the same relation of the current database, in whose ``schema`` bare names are."""
    names = [(folded(table.db or schema), folded(table.name)) for table in (one, other)]
    return names[0] == names[1]


def _relations_behind(engine: Engine, relation: exp.Table) -> list[exp.Table]:
    """Return a relation and, where it is a view, all that it reads from, at any depth."""
    if isinstance(engine, Workbench):  # what a view there reads cannot be replaced, or is found out by its name alone
        return [relation]
    found, waiting = [relation], [relation]
    while waiting:
        view = waiting.pop()
        values = {"name": view.name, "schema": view.db or None}
        for (definition,) in engine.rows(
            sql.statement("catalog/definition_of_view", values=values), "what a view reads"
        ):
            with suppress(SqlglotError):  # it does not read all that DuckDB does
                read = sqlglot.parse_one(definition, read=engine.dialect).find_all(exp.Table)
                new = [table for table in read if table not in found]
                found += new
                waiting += new
    return found
