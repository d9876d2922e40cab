"""A warehouse as the engine of a search: for frequency sets that are not to leave it.

The statements are those of the workbench, rendered in the dialect of the warehouse; what is temporary is temporary
there.
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from kanon_sql.errors import KanonError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kanon_sql.engine.base import Column, Logged
    from kanon_sql.engine.warehouse.warehouse import Warehouse


class WarehouseEngine:
    """Runs the statements of a search in a warehouse.

    Attributes:
        dialect: of the warehouse.
        statements: those of the workbench: there is one log of a run.
        tests_together: whether nodes are better tested several at once.
    """

    has_collations = False

    def __init__(self, warehouse: Warehouse, statements: list[Logged]) -> None:
        """Work in a warehouse.

        Args:
            warehouse: where the statements run.
            statements: the log of the run.
        """
        self._warehouse = warehouse
        self._temporary: list[exp.Table] = []
        self._names: set[str] | None = None
        self.dialect = self._warehouse.dialect
        self.statements = statements
        self.listener: Callable[[Logged], None] | None = None
        self.tests_together = self._warehouse.job_for_each
        self.all_or_nothing = self._warehouse.all_or_nothing

    def run(self, statement: exp.Expr, title: str = "") -> None:
        """Run a statement whose result is not needed."""
        self._warehouse.run(statement, title)

    def rows(
        self,
        statement: exp.Expr,
        title: str = "",
        parameters: Mapping[str, Any] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Return all rows of a query (see ``Engine.rows``)."""
        bound = statement if not parameters else sql.bound(statement, parameters)
        return [tuple(map(_plain, row)) for row in self._warehouse.rows(bound, title)]

    def row(
        self,
        statement: exp.Expr,
        title: str = "",
        parameters: Mapping[str, Any] | None = None,
    ) -> tuple[Any, ...]:
        """Return the single row of a query."""
        (only,) = self.rows(statement, title, parameters)
        return only

    def load(
        self,
        table: exp.Table,
        columns: Mapping[str, Sequence[str | int | None]],
        title: str,
        data_type: Literal["VARCHAR", "BIGINT"] = "VARCHAR",
    ) -> None:
        """Create a temporary table from Python lists of equal length (see ``Engine.load``)."""
        shape = exp.select(*(sql.named(sql.cast(exp.null(), data_type), name) for name in columns)).where(exp.false())
        texts = ([None if cell is None else str(cell) for cell in column] for column in columns.values())
        self._warehouse.upload(table, shape, list(columns), zip(*texts, strict=True), title)

    def share_done(self) -> float | None:
        """Return nothing: a warehouse does not tell."""
        return None

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        """Return the columns of a relation in their order."""
        if not isinstance(relation, exp.Table):
            raise TypeError("Columns of a warehouse are those of its relations")
        return self._warehouse.columns(relation)

    def is_sealed(self, relation: exp.Table) -> bool:  # noqa: ARG002 - of the protocol
        """Tell whether the tuples of a relation may not be read: they are where they are to stay."""
        return False

    def may_read(self, relation: exp.Table) -> bool:  # noqa: ARG002 - as above
        """Tell whether this user may read a table of kanon's own: a search reads none."""
        return True

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context in which all statements take effect together."""
        return self._warehouse.transaction()

    @property
    def is_shared(self) -> bool:
        """Whether others may change tables between two statements."""
        return True

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a context in which all statements see the same rows, as far as the warehouse can do that."""
        return self._warehouse.transaction()

    def watch(self, files: Callable[[], Iterable[Path]]) -> None:
        """Take note of files: there are none."""

    def changed_files(self) -> list[str]:
        """Return nothing: no file is read."""
        return []

    def in_transaction(self) -> bool:
        """Tell whether somebody else's transaction is open: none is."""
        return False

    def temporary_name(self, wanted: str) -> exp.Table:
        """Return a name for a temporary table that is not in use."""
        if self._names is None:
            self._names = {listed.name for listed in self._warehouse.relations()}
        name = unused_name(wanted, self._names)
        self._names.add(name)
        table = sql.relation(name)
        self._temporary.append(table)
        return table

    def forget(self) -> None:
        """Drop every temporary table that was made."""
        for table in reversed(self._temporary):
            with suppress(KanonError):
                self._warehouse.drop(table, "TABLE")
        self._temporary.clear()

    def close(self) -> None:
        """Drop what was made."""
        self.forget()


def _plain(value: Any) -> Any:  # noqa: ANN401 - what a query returns
    """Return a number as DuckDB does: sums of whole numbers are no decimals."""
    if not isinstance(value, Decimal) or not value.is_finite():
        return value
    return int(value) if value == value.to_integral_value() else float(value)
