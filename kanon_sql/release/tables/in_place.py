"""Tables of one database that are anonymized in place, like one table (``release.in_place``).

The tables are defined again with the constraints that keep their meaning. Tables that the policy drops are removed, and
so are all raw values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.engine.equality import published_type
from kanon_sql.engine.keys import require_apart
from kanon_sql.errors import UsageError
from kanon_sql.release.in_place.facts import facts_of_table, tables_of
from kanon_sql.release.in_place.publish import (
    InPlaceSink,
    TablesInPlace,
    bytes_used,
    check_backup,
    require_room,
    siblings_of,
    telling,
)
from kanon_sql.release.in_place.rewrite import Substitute, require_copyable, rewrite_of
from kanon_sql.release.tables.publish import SeveralTables, publish_tables
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kanon_sql.engine.base import Column
    from kanon_sql.release.in_place.facts import TableFacts
    from kanon_sql.release.in_place.rewrite import Rewrite
    from kanon_sql.release.tables.opened import Member, OpenedTables
    from kanon_sql.release.tables.publish import PublishedTables
    from kanon_sql.release.tables.statements import FoundTables


def put_in_place(found: FoundTables, backup: Path | None, *, dry_run: bool, ignore_ledger: bool) -> PublishedTables:
    """Replace the tables with the release; see ``TablesRelease.in_place``."""
    file, tables = found.opened.file, SeveralTables(found)
    if file is None:
        raise UsageError(
            f"{found.opened.place} is not a DuckDB file named by its path: give the release another place."
        )
    check_backup(file, backup)
    require_apart(found.policy.key_file, [backup], "the backup")
    require_room(file, bytes_used(tables.engine), backup)
    sink = InPlaceSink(_tables_in_place(tables, file), file, backup, dry_run=dry_run)
    return publish_tables(found, sink, ignore=ignore_ledger, dry_run=dry_run)


def _tables_in_place(tables: SeveralTables, file: Path) -> TablesInPlace[PublishedTables]:
    """Return the tables that the release replaces; refuse dependencies that cannot be kept."""
    found, opened = tables.found, tables.opened
    replaced, left_out = _facts(found)

    def leave() -> None:
        found.gone = True

    return TablesInPlace(
        tables,
        str(file),
        {name: opened.place_of(member.relation) for name, member in tables.members.items()},
        lambda new: _rewrite(tables, replaced, left_out, new),
        leave,
        _siblings(found, replaced, left_out),
    )


def _facts(release: FoundTables) -> tuple[dict[str, TableFacts], list[TableFacts]]:
    """Return the facts of the replaced tables by name, and of the removed ones; kept tables stay."""
    engine, opened = release.opened.engine, release.opened
    people = [member for member in opened.members if member.roles is not None]
    if views := [member.name for member in people if engine.kind_of(member.relation) != "TABLE"]:
        raise UsageError(f"{views[0]!r} is a view: name the tables behind it, or give the release another place.")
    gone = [table for table in opened.dropped if engine.kind_of(table) == "TABLE"]
    places = [opened.place_of(table) for table in (*(one.relation for one in people), *gone)]
    going = frozenset(places)
    require_copyable(engine, [table for table in tables_of(engine) if (table.schema, table.name) not in going])
    facts = [facts_of_table(engine, *place, going) for place in places]
    return dict(zip((member.name for member in people), facts, strict=False)), facts[len(people) :]


def _rewrite(tables: SeveralTables, replaced: dict[str, TableFacts], left_out: list[TableFacts], new: str) -> Rewrite:
    engine, opened, rows = tables.engine, tables.opened, tables.found.rows
    substitutes = [
        Substitute(
            replaced[member.name],
            {column.name: column.type for column in rows.published_columns(member)},
            [*_unchanged(tables.found, member)],
            tables.query(member.name),
            {key.column.name: _referred(opened, member, key.column) for key in member.keys},
        )
        for member in opened.members
        if member.name in replaced
    ]
    views = [one for one in opened.dropped if engine.kind_of(one) == "VIEW"]
    with_schemas = [sql.relation(name, schema) for schema, name in map(opened.place_of, views)]
    return rewrite_of(engine, substitutes, new, left_out, with_schemas)


def _siblings(
    release: FoundTables, replaced: dict[str, TableFacts], left_out: list[TableFacts]
) -> dict[str, tuple[str, ...]]:
    """Return remaining tables that may hold raw values by names and types of columns, with these columns."""
    engine = release.opened.engine
    found: dict[str, tuple[str, ...]] = {}
    for member in release.opened.members:
        if member.name in replaced:
            published = {column.name for column in member.published} - {key.column.name for key in member.keys}
            hidden = [column for column in member.source.columns if column.name not in published]
            tells, columns = telling(member.quasi_identifiers, hidden), member.source.columns
            found |= siblings_of(engine, columns, tells, replaced[member.name])
    for facts in left_out:
        columns = tuple(engine.columns(sql.relation(facts.name, facts.schema)))
        found |= siblings_of(engine, columns, telling((), columns), facts)
    return found


def _unchanged(release: FoundTables, member: Member) -> Iterator[str]:
    """Yield the published columns with the values and type of the table."""
    raw, as_they_are = {column.name: column for column in member.published}, release.rows.as_they_are(member)
    for column in release.rows.published_columns(member):
        own = raw[column.name]
        if own.name in as_they_are and column.type == own.type == published_type(own):
            yield own.name


def _referred(opened: OpenedTables, member: Member, column: Column) -> tuple[str, str, str] | None:
    """Return the schema, table and column, folded, that a key refers to if every released row leads there."""
    owner = opened.referred(member)
    if owner is None or column != member.reference:
        return None
    schema, name = opened.place_of(owner.relation)
    return schema, folded(name), folded(owner.key_column.name)
