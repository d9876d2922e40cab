"""``check_tables``: whether released tables keep the promise of a policy of several tables, by themselves.

The tables are joined as a reader joins them, by their keys. What stands in them is taken as it is: nothing of the
tables that they were made from is read, so that labels and numbers of rows cannot be compared.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import find_column
from kanon_sql.engine.files import same_file
from kanon_sql.engine.keys import same_database
from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import UsageError
from kanon_sql.policy.gate import entity_names_people, judge_roles
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.tables import TablesPolicy, read_tables_policy
from kanon_sql.release.tables.opened import open_released
from kanon_sql.release.tables.statements import PSEUDONYM_TYPE
from kanon_sql.release.tables.verify import ReleasedTables
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.release.tables.opened import Member, OpenedTables
    from kanon_sql.release.tables.verify import TablesVerification


def check_tables(
    source: Any,  # noqa: ANN401 - a path or a connection, as ``open_source`` takes them
    policy: TablesPolicy | str | os.PathLike[str],
    *,
    schema: str | None = None,
    resources: Resources | None = None,
) -> TablesVerification:
    """Check that released tables keep the promise of a policy of several tables.

    Args:
        source: path of a DuckDB file, or of a directory with a CSV or Parquet file of each table; a DuckDB connection,
            or a PostgreSQL database; None if the policy names it.
        policy: a policy, or the path of a kanon.toml with ``[tables.NAME]``.
        schema: of the tables; by default the one that the policy releases to, or the current one.
        resources: limits of the machine.
    """
    wanted = policy if isinstance(policy, TablesPolicy) else read_tables_policy(policy)
    place, in_schema = released_place(source, wanted, schema)
    with computing_in(wanted.time_zone), open_released(place, wanted, in_schema, resources) as opened:
        return verified_alone(opened)


def released_place(source: object, policy: TablesPolicy, schema: str | None) -> tuple[Any, str | None]:
    """Return the database and the schema of released tables, which the policy names if the call does not."""
    found = source if source is not None else policy.out or policy.out_directory or policy.source
    if found is None:
        raise UsageError("Name the database that has the released tables.")
    return found, policy.into_schema if schema is None and same_place(found, policy.source) else schema


def as_released(opened: OpenedTables) -> ReleasedTables:
    """Return released tables without levels and hierarchies."""
    outputs = {member.name: member.relation for member in opened.members}
    keys_are_texts = any(key.column.type != PSEUDONYM_TYPE for member in opened.members for key in member.keys)
    return ReleasedTables(opened.engine, opened, outputs, {}, keys_are_texts=keys_are_texts)


def verified_alone(opened: OpenedTables, *, promise: bool = True) -> TablesVerification:
    """Verify released tables by themselves; without ``promise``, people are not counted."""
    of_people = [member for member in opened.members if member.roles is not None]
    of_roles = [
        one.said(member.name)
        for member in of_people
        for one in judge_roles(member.source, Policy(columns=member.columns))
        if one.refused
    ]
    return replace(
        as_released(opened).verified(promise=promise),
        identifying=tuple(
            f"{member.name}.{name}"
            for member in opened.members
            for name in member.policy.columns.identifying
            if find_column(name, member.source.columns) is not None
        ),
        unforeseen=tuple(name for member in of_people for name in _unforeseen(member)),
        schema=opened.schema,
        others=opened.not_in_policy,
        elsewhere=opened.elsewhere,
        findings=(*of_roles, *people_refused(opened)),
    )


def people_refused(opened: OpenedTables) -> Iterator[str]:
    """Yield why the columns that the people of tables are counted by do not name people."""
    for member in opened.members:
        if member.roles is not None and isinstance(member.policy.person, str):
            found = entity_names_people(member.source, member.columns, member.reference)
            yield from (one.said(member.name) for one in found if one.refused)


def _unforeseen(member: Member) -> list[str]:
    """Return the columns of a released table that its policy does not publish, without identifying ones."""
    columns = member.policy.columns
    if columns.rest == "keep":
        return []
    named = (*columns.identifying, *columns.quasi_identifiers, *columns.sensitive, *columns.insensitive)
    foreseen = {folded(name) for name in named} | {folded(key.column.name) for key in member.keys}
    return [f"{member.name}.{own.name}" for own in member.source.columns if folded(own.name) not in foreseen]


def same_place(one: object, other: object) -> bool:
    """Return True if two sources are paths of one file, or URLs of one database."""
    if not isinstance(one, str | os.PathLike) or not isinstance(other, str | os.PathLike):
        return False
    if is_warehouse(one) or is_warehouse(other):
        return is_warehouse(one) and is_warehouse(other) and same_database(str(one), str(other))
    return same_file(Path(one), Path(other))
