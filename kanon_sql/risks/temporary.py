"""Temporary tables that statements in ``sql/`` make from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import make_table
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Engine

    Joins = Mapping[str, Sequence[tuple[exp.Expr, exp.Expr]]]
    Values = Mapping[str, sql.Given]


class TemporaryTables:
    """Temporary tables, each ``known`` to later statements by the name of the statement that makes it."""

    def __init__(self, engine: Engine, **known: exp.Table) -> None:
        self.engine, self.known = engine, known
        self._made: list[exp.Table] = []

    def query(
        self, statement: str, values: Values | None = None, joins: Joins | None = None, /, **tables: exp.Table
    ) -> exp.Query:
        return sql.query(statement, values=values or {}, joins=joins or {}, tables=self.known | tables)

    def row(self, statement: str, title: str, values: Values | None = None, /, **tables: exp.Table) -> tuple[Any, ...]:
        return self.engine.row(self.query(statement, values, **tables), title)

    def make(
        self,
        statement: str,
        title: str,
        values: Values | None = None,
        joins: Joins | None = None,
        /,
        **tables: exp.Table,
    ) -> exp.Table:
        """Make the table of a statement, and return it; ``tables`` are further ones that the statement names."""
        return self.keep(statement.rpartition("/")[2], self.query(statement, values, joins, **tables), title)

    def keep(self, name: str, query: exp.Query, title: str) -> exp.Table:
        """Make a table of the rows of a query, which later statements know by a name, and return it."""
        table = self.known[name] = make_table(self.engine, f"kanon_{name}", query, title)
        self._made.append(table)
        return table

    def replace(self, name: str, query: exp.Query, title: str) -> None:
        """Replace the table that has a name; the old one is dropped if it was made here."""
        before = self.known[name]
        self.keep(name, query, title)
        if any(one is before for one in self._made):
            self._drop(before)

    def drop(self, *names: str) -> None:
        """Drop tables by their names; without names, drop all that were made."""
        for table in [self.known[name] for name in names] or self._made[::-1]:
            self._drop(table)

    def _drop(self, table: exp.Table) -> None:
        self.engine.run(sql.drop(table), "drop temporary tables")
        self._made = [one for one in self._made if one is not table]
