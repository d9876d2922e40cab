"""What the gate checks across several tables, whose rows are put together through the person."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.policy.gate import columns_that_tell, copies_in, without_role
from kanon_sql.release.tables.opened import PERSON, of_table
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.base import Column
    from kanon_sql.release.tables.opened import Member, OpenedTables


def require_nothing_across(opened: OpenedTables, levels: Mapping[str, int]) -> None:
    """Raise if a column without a role is a copy of a hidden column of another table, or tells a generalized one.

    A row stands beside the rows that it goes through, and that of its person: what an attacker can put together. Of
    columns of two tables, each person counts once for a pair of values: a height stands beside the same ward in each
    visit of a person, and nothing can be computed from it.

    Args:
        opened: the tables.
        levels: of the quasi-identifiers, by the names that these have where rows are put together.

    Raises:
        UsageError: naming both columns.
    """
    for member in opened.members:
        if member.roles is None:
            continue
        path = (*opened.path(member), *([opened.people] if opened.people else []))
        owners = [member, *{own.name: own for own in path if own is not member}.values()]
        kept = [(own, column) for own in owners if own.roles for column in without_role(own.policy.columns, own.roles)]
        if not kept:
            continue
        hidden = [
            (own, column)
            for own in owners
            if own.roles is not None
            for column in (*own.roles.identifying, *own.roles.dropped)
        ]
        generalized = [
            (own, column) for own in owners for column in own.quasi_identifiers if levels[own.names[column.name]] > 0
        ]
        columns = [
            sql.named(of_table(own, column.name), own.names[column.name])
            for own, column in (*kept, *hidden, *generalized)
        ]
        ask, together = member.source.holder.rows, opened.rows(member, columns).subquery("together")
        own_kept = [_renamed(*one) for one in kept if one[0] is member]
        other_kept = [_renamed(*one) for one in kept if one[0] is not member]
        originals = (*hidden, *generalized)
        found = [
            *copies_in(ask, together, own_kept, [_renamed(*one) for one in originals]),
            *copies_in(ask, together, other_kept, [_renamed(*one) for one in originals if one[0] is member]),
            *columns_that_tell(ask, together, own_kept, [_renamed(*one) for one in generalized if one[0] is member]),
        ]
        for one, other in product(kept, generalized):
            if one[0] is not other[0] and (one[0] is member or other[0] is member):
                column, told = _renamed(*one), _renamed(*other)
                pairs = exp.select(*map(sql.column, (PERSON, column.name, told.name))).distinct().from_(together.copy())
                found += columns_that_tell(ask, pairs.subquery("pairs"), [column], [told])
        if found:
            raise UsageError(found[0].said(opened.place))


def _renamed(own: Member, column: Column) -> Column:
    return replace(column, name=own.names[column.name])
