"""The warehouse: an engine that holds a table that is too large or too sensitive to be moved.

A warehouse must list relations and columns, return the distinct tuples of some columns with their counts (one scan),
and run the statements that publish (one scan). Everything between happens on those tuples on the workbench, an embedded
DuckDB: see ``kanon_sql.engine.warehouse.workbench``. Rows are transferred as texts, and the workbench casts them to the
types of its columns.

For frequency sets that must not leave it, the statements of a search run there too: a warehouse is an engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sqlglot import exp

from kanon_sql.engine.base import Engine
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kanon_sql.engine.base import Cells, Column, Constraint, Logged

RelationKind = Literal["TABLE", "VIEW", "MATERIALIZED VIEW"]

N = "kanon_n"
"""Count column of fetched tuples."""

# DuckDB types, besides those of a family, whose values are transferred unchanged.
_COME_OVER = {"UUID", "TIME", "TIME WITH TIME ZONE", "JSON"}


class Receiver(Protocol):
    """Receives the rows fetched from a warehouse: the workbench."""

    @property
    def spills_to(self) -> Path:
        """The parent directory of private directories."""

    def take(
        self,
        table: exp.Table,
        types: Mapping[str, str],
        rows: exp.Table | None,
        *,
        written: bool = False,
        more: bool = False,
    ) -> None:
        """Create a temporary table from rows with columns ``column_0``, ``column_1`` and so on, or add ``more`` to it.

        None stands for no rows; rows ``written`` by PostgreSQL are texts.
        """


@dataclass(frozen=True)
class ListedRelation:
    schema: str
    name: str
    kind: RelationKind
    is_partition: bool = False
    comment: str | None = None


class Warehouse(Engine, Protocol):
    """Holds tables and runs statements in its own dialect; a search can run there as on the workbench."""

    place: str  # which one, without any password
    schema: str  # for looking up and creating bare names
    given: tuple[Any, ...]  # the ways to open it: a URL, a connection or a session
    temporary_schema: str | None = None  # schema of temporary views, even if other relations have the same name
    tell: Callable[[Logged], None] = lambda _logged: None  # called with every statement before it runs

    # Relations

    def pointed_at(self, source: Any, table: str | None) -> exp.Table | None:  # noqa: ANN401, ARG002 - as open_source
        """Return the relation of a source or table name that is not listed; else None."""
        return None

    def relations(self, schema: str | None = None) -> list[ListedRelation]:
        """Return the tables and views that can be named, without system ones; or those of one schema."""

    def schemas(self) -> list[str]:
        """Return the schemas, without system ones."""

    def constraints(self) -> list[Constraint]:
        """Return the keys and foreign keys of all tables, if the warehouse can declare them."""
        return []

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        """Return the columns of a relation, with DuckDB's types.

        A type keeps its own name if DuckDB does not have it, or if its equal values may be written differently.
        """

    def found(self, relation: exp.Table) -> ListedRelation | None:
        """Return the relation of a name, or None."""
        place = (relation.db or self.schema, relation.name)
        return next((listed for listed in self.relations() if (listed.schema, listed.name) == place), None)

    def kind_of(self, relation: exp.Table) -> RelationKind | None:
        return None if (found := self.found(relation)) is None else found.kind

    def definition_of(self, view: exp.Table) -> str:
        """Return the text of the query of a view."""

    def computed(self, relation: exp.Table) -> set[str]:
        """Return the computed columns: all of a view, and generated ones."""
        is_table = self.kind_of(relation) in {None, "TABLE"}
        return set() if is_table else {column.name for column in self.columns(relation)}

    def numbers_of_values(self, relation: exp.Table) -> Mapping[str, int] | None:  # noqa: ARG002 - PostgreSQL knows
        """Return the numbers of distinct values of columns that are known without a scan; None if they never are."""
        return None

    def names_in_use(self) -> Iterable[str]:
        return (listed.name for listed in self.relations())

    # Statements

    def use_time_zone(self, zone: str) -> None:
        """Set the time zone for labels and texts of instants."""

    def read(self, column: Column) -> exp.Expr:
        """Return a column for transfer: in its own type, or as text if that keeps more.

        0 and -0 are equal and written differently: as text they stay distinct, for checks of the written values.
        """
        value = sql.column(column.name, "source")
        return sql.cast(value, "VARCHAR") if column.family in {"text", "float", "other"} else value

    def fetch(self, query: exp.Query, types: Mapping[str, str], into: Receiver, table: exp.Table, title: str) -> None:
        """Load the rows of a query into a temporary table of the workbench, in batches; ``types`` are DuckDB's."""

    def upload(self, table: exp.Table, shape: exp.Query, rows: Iterable[Sequence[Any]], title: str) -> None:
        """Create a temporary table from rows of texts, with the columns and types of the empty query ``shape``."""

    def load(self, table: exp.Table, columns: Cells, title: str, data_type: str = "VARCHAR") -> None:
        shape = exp.select(*(sql.named(sql.cast(exp.null(), data_type), name) for name in columns)).where(exp.false())
        texts = ([None if cell is None else str(cell) for cell in column] for column in columns.values())
        self.upload(table, shape, zip(*texts, strict=True), title)

    def rename(self, made: exp.Table, target: exp.Table, kind: RelationKind) -> None:
        """Rename a relation; the name must be free."""

    def drop(self, relation: exp.Table, kind: RelationKind) -> None:
        """Drop a relation, or the replacement for a temporary table, if it exists."""
        self.run(sql.drop(relation, kind), "drop temporary tables")

    def undo(self, relation: exp.Table, kind: RelationKind) -> None:
        """Drop a relation made before an error, unless the end of the transaction did."""

    def alone(self, table: exp.Table, query: exp.Query) -> AbstractContextManager[list[tuple[Any, ...]]]:
        """Return a context in which no other run reads or writes one of kanon's own tables, as far as possible.

        The table need not exist. Yields its current rows by a query, whatever snapshot is used for other tables.
        """


def with_names(statement: exp.Expr, name_of: Callable[[exp.Table], str | None]) -> exp.Expr:
    """Return a statement with other table names; columns are still qualified by the old ones."""
    found = statement.copy()
    for table in list(found.find_all(exp.Table)):
        if (name := name_of(table)) not in {None, table.name}:
            if isinstance(table.parent, exp.From | exp.Join) and not table.alias:
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            table.set("this", sql.identifier(str(name)))
    return found


def carried_type(column: Column) -> str:
    """Return the type of a column on the workbench."""
    return column.lookup_type if column.family != "other" or column.type in _COME_OVER else "VARCHAR"


Carried = Literal["warehouse/rows", "warehouse/tuples", "warehouse/values"]


def carried_query(
    what: Carried, warehouse: Warehouse, relation: exp.Table, columns: Sequence[Column]
) -> tuple[exp.Query, dict[str, str]]:
    """Return a query over some columns of a relation, and the types of its result."""
    values = [sql.named(warehouse.read(column), column.name) for column in columns]
    types = {column.name: carried_type(column) for column in columns}
    each = [exp.Paren(this=value.unalias().copy()) for value in values]
    query = sql.query(what, values={"values": values, "each": each}, tables={"source": relation})
    return query, types if what == "warehouse/rows" else {**types, N: "BIGINT"}


def people_query(
    warehouse: Warehouse, relation: exp.Table, columns: Sequence[Column], person: Column
) -> tuple[exp.Query, dict[str, str]]:
    """Return the query of distinct tuples with numbers in place of people's names, and the types of its result."""
    query, types = carried_query("warehouse/tuples", warehouse, relation, columns)
    others = [sql.column(name, "tuples") for name in types if name not in {person.name, N}]
    tuples = {"tuples": query.subquery("tuples")}
    numbered = sql.query("warehouse/people", values={"others": others}, relations=tuples, names={"person": person.name})
    del types[person.name]
    return numbered, {**types, person.name: "BIGINT"}


_WITH_DATES = {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}


def as_duckdb_writes(text: exp.Expr, kind: str) -> exp.Expr:
    """Convert a PostgreSQL text to DuckDB's format; without it, DuckDB would read a time before Christ as one after.

    ``0044-03-15 12:00:00 BC`` is ``0044-03-15 (BC) 12:00:00`` there.
    """
    return _replaced(text, r"^(\S+)(.*) BC$", r"\1 (BC)\2") if kind in _WITH_DATES else text


def as_postgres_writes(text: exp.Expr, kind: str) -> exp.Expr:
    """Convert a DuckDB text to PostgreSQL's format: the inverse of ``as_duckdb_writes``."""
    return _replaced(text, r"^(\S+) \(BC\)(.*)$", r"\1\2 BC") if kind in _WITH_DATES else text


def _replaced(text: exp.Expr, pattern: str, by: str) -> exp.Expr:
    return exp.Anonymous(this="REGEXP_REPLACE", expressions=[text, sql.literal(pattern), sql.literal(by)])


def places(names: Iterable[str]) -> list[str]:
    """Return the names of transferred columns."""
    return [f"column_{number}" for number, _ in enumerate(names)]


def plain(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row with DuckDB's types of numbers: sums of whole numbers are not decimals."""
    return tuple(
        (int(value) if value == value.to_integral_value() else float(value))
        if isinstance(value, Decimal) and value.is_finite()
        else value
        for value in row
    )
