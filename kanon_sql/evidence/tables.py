"""``check_tables``: whether released tables keep the promise of a policy of several tables, by themselves.

The tables are joined as a reader joins them, by their keys. What stands in them is taken as it is: nothing of the
tables that they were made from is read, so that labels and numbers of rows cannot be compared.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import find_column
from kanon_sql.errors import UsageError
from kanon_sql.policy.tables import TablesPolicy, read_tables_policy
from kanon_sql.release.tables.opened import open_released
from kanon_sql.release.tables.verify import ReleasedTables
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.release.tables.opened import Member
    from kanon_sql.release.tables.verify import TablesVerification


def check_tables(
    source: Any,  # noqa: ANN401 - a path or a connection, as ``open_source`` takes them
    policy: TablesPolicy | str | os.PathLike[str],
    *,
    schema: str | None = None,
    resources: Resources | None = None,
) -> TablesVerification:
    """Tell whether tables keep the promise of a policy of several tables.

    Args:
        source: path of a DuckDB file, or of a directory with a CSV or Parquet file of each table; or a DuckDB
            connection; None where the policy names it.
        policy: what is required, or the path of a kanon.toml with ``[tables.NAME]``.
        schema: that has the tables; the one that the policy releases to, or the current one, if not given.
        resources: what may be taken of the machine.

    Raises:
        UsageError: a table or a column that is to be checked is not there.
    """
    wanted = policy if isinstance(policy, TablesPolicy) else read_tables_policy(policy)
    found = source if source is not None else wanted.out or wanted.out_directory or wanted.source
    if found is None:
        raise UsageError("Name the database that has the released tables.")
    in_schema = wanted.into_schema if schema is None and _same_place(found, wanted.source) else schema
    opened = open_released(found, wanted, in_schema, resources)
    engine = opened.engine
    try:
        outputs = {member.name: member.relation for member in opened.members}
        verification = ReleasedTables(engine, opened, outputs, {}).verified()
        shown = [
            f"{member.name}.{name}"
            for member in opened.members
            for name in member.policy.columns.identifying
            if find_column(name, member.source.columns) is not None
        ]
        unforeseen = [name for member in opened.members for name in _unforeseen(member)]
        return replace(
            verification, identifying=tuple(shown), unforeseen=tuple(unforeseen), others=opened.not_in_policy
        )
    finally:
        engine.close()


def _unforeseen(member: Member) -> list[str]:
    """Return the columns of a released table that its policy does not publish, identifying ones apart."""
    columns = member.policy.columns
    if member.roles is None or columns.rest == "keep":
        return []
    named = (*columns.identifying, *columns.quasi_identifiers, *columns.sensitive, *columns.insensitive)
    foreseen = {folded(name) for name in named} | {folded(key.column.name) for key in member.keys}
    return [f"{member.name}.{own.name}" for own in member.source.columns if folded(own.name) not in foreseen]


def _same_place(one: object, other: str | None) -> bool:
    """Tell whether two paths are of one file."""
    if other is None or not isinstance(one, str | os.PathLike):
        return False
    return os.path.realpath(one) == os.path.realpath(other)
