"""What the gate checks across several tables, whose rows are put together through the person."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_sql.errors import UsageError
from kanon_sql.policy.gate import columns_that_tell, copies_in, without_role
from kanon_sql.release.tables.opened import of_table
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.base import Column
    from kanon_sql.release.tables.opened import Member, OpenedTables


def require_nothing_across(opened: OpenedTables, levels: Mapping[str, int]) -> None:
    """Raise if a column without a role is a copy of a hidden column of another table, or tells a generalized one.

    A row stands beside the rows that it goes through, and that of its person: what an attacker can put together.

    Args:
        opened: the tables.
        levels: of the quasi-identifiers, by the names that these have where rows are put together.

    Raises:
        UsageError: naming both columns.
    """
    for member in opened.members:
        kept = [] if member.roles is None else without_role(member.policy.columns, member.roles)
        if not kept:
            continue
        owners = {own.name: own for own in (*opened.path(member), *([opened.people] if opened.people else []))}
        hidden = [
            (own, column)
            for own in owners.values()
            if own.roles is not None and own is not member
            for column in (*own.roles.identifying, *own.roles.dropped)
        ]
        generalized = [
            (own, column)
            for own in owners.values()
            for column in own.quasi_identifiers
            if levels[own.names[column.name]] > 0
        ]
        own_columns = [(member, column) for column in kept]
        columns = [
            sql.named(of_table(own, column.name), own.names[column.name])
            for own, column in (*own_columns, *hidden, *generalized)
        ]
        rows = opened.rows(member, columns)
        asked = [_renamed(*one) for one in own_columns]
        holder = member.source.holder
        together = rows.subquery("together")
        found = [
            *copies_in(holder.rows, together, asked, [_renamed(*one) for one in (*hidden, *generalized)]),
            *columns_that_tell(holder.rows, together, asked, [_renamed(*one) for one in generalized]),
        ]
        if found:
            raise UsageError(found[0].said(opened.place))


def _renamed(own: Member, column: Column) -> Column:
    return replace(column, name=own.names[column.name])
