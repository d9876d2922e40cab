"""What can have a budget: one table, under one name, whose columns have the types that somebody gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.sources.addresses import ObjectAddress
from kanon_sql.errors import UsageError
from kanon_sql.release.target import kind_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.sources.open_source import Source


def require_table(source: Source) -> None:
    """Raise unless a source is a table, or a file that says the types of its columns.

    Raises:
        UsageError: it is a view, which would have a budget of its own; or there are two tables that it could be; or
            the types of its columns were guessed from its values.
    """
    if source.file is not None or isinstance(source.address, ObjectAddress):
        _require_types(source)
        return
    if source.frame_kind is not None or source.address is not None:
        return
    if source.warehouse is None:
        _require_current(source)
        _require_lasting(source)
    if kind_of(source.engine, source.relation) != "TABLE":
        raise UsageError(
            f"{source.name} is no table: what is told of a view, or of files read in a query, would be paid for apart "
            "from its table. Name the table, and say with --where which of its rows are meant."
        )


def _require_types(source: Source) -> None:
    """Raise unless files say the types of their columns: one value more could make numbers of a column texts.

    Raises:
        UsageError: they do not.
    """
    called = {
        (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).upper()
        for statement in source.setup
        for node in statement.find_all(exp.Func)
    }
    if "READ_PARQUET" not in called:
        raise UsageError(
            f"The types of the columns of {source.name} are guessed from its values, so that one row could change how "
            "all others are read: write it to a Parquet file, or to a table, with the types that you know."
        )


def _require_current(source: Source) -> None:
    """Raise unless a table is in the database that the connection uses: one of two names would have another budget.

    Raises:
        UsageError: it is in another one.
    """
    if not source.relation.catalog:
        return
    query = exp.select(exp.Anonymous(this="current_database"))
    (current,) = source.engine.row(query, "the database we are in")
    if folded(str(current)) != folded(source.relation.catalog):
        raise UsageError(f"{source.name} is in another database, which keeps its budget: USE that one first.")


def _require_lasting(source: Source) -> None:
    """Raise where a temporary table or view stands before the table of its name, which would pay for other rows.

    Raises:
        UsageError: there is one.
    """
    if source.relation.db:
        return
    listed = source.engine.rows(sql.statement("catalog/tables"), "find the table")
    name = folded(source.relation.name)
    if any(catalog == "temp" and folded(str(listed_name)) == name for catalog, _, listed_name, _ in listed):
        raise UsageError(f"{source.name} is temporary, and its budget would not be: write it to a table first.")
