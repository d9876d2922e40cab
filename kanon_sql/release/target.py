"""The name that a release will have in a database: whether it may have it, and what has it now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

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
        raise UsageError(
            f"{name!r}: names in schema kanon, and names that begin with kanon_, are kept for kanon's own."
        )
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
    behind = source.engine.relations_behind(source.relation)
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
    """Tell whether two names are of the same relation of the current database, in whose ``schema`` bare names are."""
    names = [(folded(table.db or schema), folded(table.name)) for table in (one, other)]
    return names[0] == names[1]
