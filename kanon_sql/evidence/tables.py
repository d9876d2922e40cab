"""``check_tables``: whether released tables keep the promise of a policy of several tables, by themselves.

The tables are joined as a reader joins them, by their keys. What stands in them is taken as it is: nothing of the
tables that they were made from is read, so that labels and numbers of rows cannot be compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import find_column
from kanon_sql.errors import UsageError
from kanon_sql.policy.tables import TablesPolicy, read_tables_policy
from kanon_sql.release.tables.opened import open_released
from kanon_sql.release.tables.verify import ReleasedTables

if TYPE_CHECKING:
    import os

    from kanon_sql.engine.duckdb.connection import Resources
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
        UsageError: a table or a column that is to be checked is not there; or an identifying column is.
    """
    wanted = policy if isinstance(policy, TablesPolicy) else read_tables_policy(policy)
    found = source if source is not None else wanted.out or wanted.out_directory or wanted.source
    if found is None:
        raise UsageError("Name the database that has the released tables.")
    in_schema = wanted.into_schema if schema is None and found == wanted.source else schema
    opened = open_released(found, wanted, in_schema, resources)
    engine = opened.engine
    try:
        outputs = {member.name: member.relation for member in opened.members}
        verification = ReleasedTables(engine, opened, outputs, {}).verified()
        shown = {
            f"{member.name}.{name}": 1
            for member in opened.members
            for name in member.policy.columns.identifying
            if find_column(name, member.source.columns) is not None
        }
        return replace(verification, identifying=tuple(shown))
    finally:
        engine.close()
