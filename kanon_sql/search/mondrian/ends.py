"""What is known of the places at the ends of a part: lists in one row, ``ends``, that the tuples are joined to.

To join the places of both ends of every column would take longer to plan than all else that a round does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.measures.labels import node_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.measures.labels import Places


def ends_query(known: Sequence[tuple[Places, str]]) -> exp.Select:
    """Return the query of a row with lists of what is known of every place, in their order, for ``at_place``."""
    lists = []
    for column, name in known:
        in_order = exp.Order(this=sql.column(name), expressions=[exp.Ordered(this=sql.column("place"))])
        own = exp.select(exp.ArrayAgg(this=in_order)).from_(column.relation.copy())
        lists.append(sql.named(own.where(sql.column("place") > 0).subquery(), _list_of(column, name)))
    return exp.select(*lists)


def names_of_nodes(column: Places) -> list[str]:
    """Return the names of what is known of the labels above a place."""
    return [name for level in range(1, column.hierarchy.height) for name in (node_name(level), f"leaves_{level}")]


def at_place(column: Places, name: str, place: exp.Expr) -> exp.Expr:
    """Return what is known of a place of a column; NULL at 0."""
    own = sql.column(_list_of(column, name), "ends")
    return exp.Anonymous(this="LIST_EXTRACT", expressions=[own, place.copy()])


def _list_of(column: Places, name: str) -> str:
    return f"{name}_of_{column.number + 1}"
