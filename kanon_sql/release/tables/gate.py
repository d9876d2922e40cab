"""Checks of the gate across several tables, whose rows are joined through the person."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Column
from kanon_sql.errors import UsageError
from kanon_sql.policy.gate import columns_that_tell, copies_in
from kanon_sql.release.tables.opened import PERSON, of_table
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kanon_sql.policy.gate import Finding
    from kanon_sql.release.tables.opened import Member, OpenedTables


def require_nothing_across(opened: OpenedTables, levels: Mapping[str, int]) -> None:
    """Raise if a column without a role copies a hidden column of another table, or determines a generalized one."""
    for member in opened.members:
        if member.roles is not None and (found := next(_found_beside(opened, member, levels), None)) is not None:
            raise UsageError(found.said_of_member(opened.place))


def _found_beside(opened: OpenedTables, member: Member, levels: Mapping[str, int]) -> Iterator[Finding]:
    """Yield what the rows of a table reveal together with the rows that they go through, and that of their person.

    For columns of two tables, each person counts once for a pair of values: a height occurs with the same ward in each
    visit of a person, which would otherwise look like a dependency.
    """
    owners = {own.name: own for own in (*opened.path(member), opened.people or member)}.values()
    columns = [sql.named(of_table(own, one.name), own.names[one.name]) for own in owners for one in own.source.columns]
    ask, together = member.source.holder.rows, opened.rows(member, columns).subquery("together")
    kept, hidden, generalized = _by_role([member], levels)
    their_kept, their_hidden, their_generalized = _by_role([own for own in owners if own is not member], levels)
    yield from copies_in(ask, together, kept, [*hidden, *their_hidden, *generalized, *their_generalized])
    yield from copies_in(ask, together, their_kept, [*hidden, *generalized])
    yield from columns_that_tell(ask, together, kept, generalized)
    for column, told in (*product(kept, their_generalized), *product(their_kept, generalized)):
        pairs = exp.select(*map(sql.column, (PERSON, column.name, told.name))).distinct().from_(together.copy())
        yield from columns_that_tell(ask, pairs.subquery("pairs"), [column], [told])


def _by_role(owners: Sequence[Member], levels: Mapping[str, int]) -> tuple[list[Column], list[Column], list[Column]]:
    """Return the columns of tables by role: kept without a role, hidden, and generalized."""
    kept, hidden, generalized = list[Column](), list[Column](), list[Column]()
    for own in owners:
        if own.roles is not None:
            named = {column: replace(column, name=own.names[column.name]) for column in own.source.columns}
            kept += [named[column] for column in own.roles.without_role]
            hidden += [named[column] for column in (*own.roles.identifying, *own.roles.dropped)]
            generalized += [named[column] for column in own.quasi_identifiers if levels[named[column].name] > 0]
    return kept, hidden, generalized
