"""A table as a question sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.dp.predicate import SOURCE
from kanon_sql.engine.columns import resolve_columns
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column


@dataclass(frozen=True)
class Asked:
    """A table as a question sees it.

    Attributes:
        relation: how statements refer to it.
        name: what messages call it.
        columns: of it.
        person: the column that names people; None where each row is a person of its own.
        most_rows: how many rows of a person count.
        conditions: on the rows.
        group: the column and the value of its rows, where they are a group.
    """

    relation: exp.Table
    name: str
    columns: tuple[Column, ...]
    person: Column | None
    most_rows: int
    conditions: tuple[exp.Expr, ...]
    group: tuple[str, str] | None

    def column(self, name: str) -> Column:
        """Return a column by its name.

        Raises:
            UsageError: there is none.
        """
        (found,) = resolve_columns([name], self.columns, self.name)
        return found

    def rows(self, *expressions: exp.Expr, there: Column | None = None) -> exp.Select:
        """Return the query of expressions over the rows, whose table is called ``source``.

        Args:
            expressions: each with its name.
            there: a column without which a row does not count.
        """
        conditions = list(self.conditions)
        if there is not None:
            conditions.append(sql.negated(exp.Is(this=sql.column(there.name, SOURCE), expression=exp.null())))
        query = exp.select(*expressions).from_(sql.aliased(self.relation, SOURCE))
        return query.where(*(each.copy() for each in conditions)) if conditions else query
