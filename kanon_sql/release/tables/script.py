"""The script of tables that are released together: the statements that made the release, and the lookups they need.

A hierarchy that no rule makes is written out. As in the script of one table (``kanon_sql.release.published_values``),
it has only the values of released rows: readers of the script must not see a value that only suppressed rows have, or
none. Rows with other values have no label there, and lead nowhere. So the release is made again with these lookups, and
the script has the statements of this second release. It must have the same rows. With one event known it always does:
rows without a label are all rows of their person and kind, these were too rare, and fewer are too rare as well. With
more events, leaving out a kind for a person makes other combinations rarer, so the order can matter.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Logged
from kanon_sql.engine.capabilities import require
from kanon_sql.engine.progress import OPENING
from kanon_sql.engine.warehouse.workbench import Workbench
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.lookup_relation import lookup_statement, rule_query
from kanon_sql.release.script import Script, after_all, held_in, logged_script
from kanon_sql.release.tables import publish
from kanon_sql.release.tables.statements import FoundTables, ReleasedRows
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.tables.opened import Member


def tables_script(release: FoundTables, found: slice, schema: str, *, everything: bool) -> Script:
    """Return the script of a release to a schema, whose people and events these logged statements found."""
    engine = release.opened.engine
    if isinstance(engine, Workbench):
        require("the script, of several tables", "PostgreSQL", "A script of tables that are released together")
    known, of_known = _with_published_values(release, found)
    try:
        zone = [one for one in engine.statements[: found.start] if isinstance(one.statement, exp.Set)]
        lookups = list(_lookups(known))
        before = len(engine.statements)
        publish.preview(known, schema)
        tried = [one for one in engine.statements[before:] if _is_of_release(one.statement)]
        made = [*zone, *lookups, *engine.statements[of_known], *tried]
        text = _text([replace(one, step=OPENING) for one in made])  # a script does not have the steps of a run
    finally:
        if known is not release:
            known.rows.close()
    if everything:
        text = after_all(_text(engine.statements[: found.stop]), text)
    return Script(text, held_in(one.statement for one in lookups))


def _with_published_values(release: FoundTables, found: slice) -> tuple[FoundTables, slice]:
    """Make the release with lookups of released values, if some are written out; refuse one with other rows."""
    engine, written = release.opened.engine, []

    def with_published_values(member: Member, column: Column, hierarchy: Hierarchy) -> Hierarchy:
        level = release.rows.levels[hierarchy.column.name]
        if not _is_joined(release, hierarchy) or rule_query(hierarchy, "duckdb", (level,), None) is not None:
            return hierarchy
        written.append(hierarchy.column.name)
        published = engine.temporary_name(hierarchy.relation.name)
        query = release.rows.published_values(member, column, hierarchy)
        title = f"the labels of {hierarchy.column.name} that released rows have"
        engine.run(sql.create_table(published, query, temporary=True), title)
        return replace(hierarchy, relation=published)

    members = tuple(
        replace(
            member,
            hierarchies=tuple(
                with_published_values(member, column, hierarchy)
                for column, hierarchy in zip(member.quasi_identifiers, member.hierarchies, strict=True)
            ),
        )
        for member in release.opened.members
    )
    if not written:
        return release, found
    opened = replace(release.opened, members=members)
    rows = ReleasedRows(opened, release.rows.levels, release.key)
    found_at = len(engine.statements)
    rows.make()
    of_known = slice(found_at, len(engine.statements))
    if not all(_are_alike(release, rows, *pair) for pair in zip(release.opened.members, members, strict=True)):
        raise UsageError(
            "A script holds no values that only suppressed rows have, and without those of "
            f"{', '.join(sorted(written))} it would make another release. Load the hierarchies into the database "
            "(kanon hierarchy load), or use rules in the place of files."
        )
    known = copy(release)
    known.opened, known.rows = opened, rows
    return known, of_known


def _is_joined(release: FoundTables, hierarchy: Hierarchy) -> bool:
    return hierarchy.stored is None and 0 < release.rows.levels[hierarchy.column.name] < hierarchy.height


def _are_alike(release: FoundTables, rows: ReleasedRows, before: Member, now: Member) -> bool:
    """Return True if a table has the same released rows in both."""
    if before.roles is None:
        return True
    first, second = release.rows.released(before, 0), rows.released(now, 0)
    for query in (first, second):
        query.set("order", None)
    engine, title = release.opened.engine, f"rows of {before.name} that the script would not make"
    missing = exp.except_(first, second, distinct=False).subquery("missing")
    (found,) = engine.row(exp.select(sql.count_rows()).from_(missing), title)
    return not found and release.rows.rows_out(before) == rows.rows_out(now)


def _lookups(release: FoundTables) -> Iterator[Logged]:
    """Yield the statements that make the hierarchies that the release joins."""
    for member in release.opened.members:
        for hierarchy in member.hierarchies:
            if _is_joined(release, hierarchy):
                level = release.rows.levels[hierarchy.column.name]
                made = lookup_statement(release.opened.engine, hierarchy, levels=(level,))
                yield Logged(f"the labels of {hierarchy.column.name}", made, {})


def _text(statements: list[Logged]) -> str:
    return logged_script([replace(one, statement=_without_memory(one.statement)) for one in statements])


def _is_of_release(statement: exp.Expr) -> bool:
    """Return True if a statement makes or checks a release; False for statements about the connection."""
    return isinstance(statement, exp.Create) or any(
        one.catalog == publish.MEMORY for one in statement.find_all(exp.Table)
    )


def _without_memory(statement: exp.Expr) -> exp.Expr:
    """Return a statement without the name of the database in which its tables were tried."""
    found = statement.copy()
    for table in found.find_all(exp.Table):
        if table.catalog == publish.MEMORY:
            table.set("catalog", None)
    return found
