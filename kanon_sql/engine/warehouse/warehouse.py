"""The warehouse: the engine that holds a table which is too large, or too well kept, to be carried elsewhere.

Little is needed of it: which relations and columns there are, the distinct tuples of some columns with their
counts (one scan), and to run the statements that publish (one scan). Everything between is done on the workbench, an
embedded DuckDB, on those tuples: see ``kanon_sql.engine.warehouse.workbench``. Rows go there as texts that it reads,
into types that its columns have.

For frequency sets that are not to leave it, the statements of a search run there too: a warehouse is an engine.
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
"""Column of fetched tuples: how many rows have them."""

# Types of DuckDB, but for those of a family, whose values come over unchanged.
_COME_OVER = {"UUID", "TIME", "TIME WITH TIME ZONE", "JSON"}


class Receiver(Protocol):
    """Takes the rows that are fetched from a warehouse: the workbench."""

    @property
    def spills_to(self) -> Path:
        """The directory in which private ones may be made."""

    def take(
        self,
        table: exp.Table,
        types: Mapping[str, str],
        rows: exp.Table | None,
        *,
        written: bool = False,
        more: bool = False,
    ) -> None:
        """Make rows with columns ``column_0``, ``column_1`` and so on a temporary table, or add ``more`` to it.

        None stands for no rows; those that PostgreSQL has ``written`` are texts.
        """


@dataclass(frozen=True)
class ListedRelation:
    schema: str
    name: str
    kind: RelationKind
    is_partition: bool = False
    comment: str | None = None


class Warehouse(Engine, Protocol):
    """Holds tables and runs statements in its own dialect; a search may run there as on the workbench."""

    place: str  # which one it is, without any password
    schema: str  # where a bare name is looked up and made
    given: tuple[Any, ...]  # what it may be opened by: a URL, a connection or a session
    temporary_schema: str | None = None  # where temporary views are found, whatever has the same name
    tell: Callable[[Logged], None] = lambda _logged: None  # called with every statement before it is run

    # Relations

    def pointed_at(self, source: Any, table: str | None) -> exp.Table | None:  # noqa: ANN401, ARG002 - as open_source
        """Return the relation that a source is, or that a table names, if it is not listed; else None."""
        return None

    def relations(self, schema: str | None = None) -> list[ListedRelation]:
        """Return the tables and views that a person may name, but for those of the system; or those of one schema."""

    def schemas(self) -> list[str]:
        """Return the schemas, but for those of the system."""

    def constraints(self) -> list[Constraint]:
        """Return the keys and foreign keys of all tables, if they can be declared."""
        return []

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        """Return the columns of a relation, with the types that DuckDB has for theirs.

        A type that DuckDB does not have, or of which equal values may be written in several ways, goes by its own name.
        """

    def found(self, relation: exp.Table) -> ListedRelation | None:
        """Return what there is under a name, if anything."""
        place = (relation.db or self.schema, relation.name)
        return next((listed for listed in self.relations() if (listed.schema, listed.name) == place), None)

    def kind_of(self, relation: exp.Table) -> RelationKind | None:
        return None if (found := self.found(relation)) is None else found.kind

    def definition_of(self, view: exp.Table) -> str:
        """Return the text of the query of a view."""

    def computed(self, relation: exp.Table) -> set[str]:
        """Return the columns that are computed: all of a view, and generated ones."""
        is_table = self.kind_of(relation) in {None, "TABLE"}
        return set() if is_table else {column.name for column in self.columns(relation)}

    def numbers_of_values(self, relation: exp.Table) -> Mapping[str, int] | None:  # noqa: ARG002 - PostgreSQL knows
        """Return how many values columns have, as far as that is known without a scan; None if it never is."""
        return None

    def names_in_use(self) -> Iterable[str]:
        return (listed.name for listed in self.relations())

    # Statements

    def use_time_zone(self, zone: str) -> None:
        """Compute labels and texts of instants in a time zone from now on."""

    def read(self, column: Column) -> exp.Expr:
        """Return a column as it is carried over: in its own type, or as text if that says more.

        0 and -0 are equal and written differently: as text they stay apart, for checks of what is written.
        """
        value = sql.column(column.name, "source")
        return sql.cast(value, "VARCHAR") if column.family in {"text", "float", "other"} else value

    def fetch(self, query: exp.Query, types: Mapping[str, str], into: Receiver, table: exp.Table, title: str) -> None:
        """Make the rows of a query a temporary table of the workbench, in batches; ``types`` are those of DuckDB."""

    def upload(self, table: exp.Table, shape: exp.Query, rows: Iterable[Sequence[Any]], title: str) -> None:
        """Make rows of texts a temporary table with the columns and types of ``shape``, a query without rows."""

    def load(self, table: exp.Table, columns: Cells, title: str, data_type: str = "VARCHAR") -> None:
        shape = exp.select(*(sql.named(sql.cast(exp.null(), data_type), name) for name in columns)).where(exp.false())
        texts = ([None if cell is None else str(cell) for cell in column] for column in columns.values())
        self.upload(table, shape, zip(*texts, strict=True), title)

    def rename(self, made: exp.Table, target: exp.Table, kind: RelationKind) -> None:
        """Give a relation its name; there is nothing of that name."""

    def drop(self, relation: exp.Table, kind: RelationKind) -> None:
        """Drop a relation, or what stands for a temporary table, if it is there."""
        self.run(sql.drop(relation, kind), "drop what is not needed any more")

    def undo(self, relation: exp.Table, kind: RelationKind) -> None:
        """Drop what was made before an error, if the end of the transaction did not."""

    def alone(self, table: exp.Table, query: exp.Query) -> AbstractContextManager[list[tuple[Any, ...]]]:
        """Return a context in which no other run reads or writes a table of kanon's own, as far as that can be.

        The table need not be there. Yields the rows of a query of it as they are then, whatever snapshot other tables
        are read in.
        """


def with_names(statement: exp.Expr, name_of: Callable[[exp.Table], str | None]) -> exp.Expr:
    """Return a statement with other names of tables; columns are still qualified by the old ones."""
    found = statement.copy()
    for table in list(found.find_all(exp.Table)):
        if (name := name_of(table)) not in {None, table.name}:
            if isinstance(table.parent, exp.From | exp.Join) and not table.alias:
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            table.set("this", sql.identifier(str(name)))
    return found


def carried_type(column: Column) -> str:
    """Return the type that a column has on the workbench."""
    return column.lookup_type if column.family != "other" or column.type in _COME_OVER else "VARCHAR"


Carried = Literal["warehouse/rows", "warehouse/tuples", "warehouse/values"]


def carried_query(
    what: Carried, warehouse: Warehouse, relation: exp.Table, columns: Sequence[Column]
) -> tuple[exp.Query, dict[str, str]]:
    """Return a query over some columns of a relation, and the types of what it returns."""
    values = [sql.named(warehouse.read(column), column.name) for column in columns]
    types = {column.name: carried_type(column) for column in columns}
    each = [exp.Paren(this=value.unalias().copy()) for value in values]
    query = sql.query(what, values={"values": values, "each": each}, tables={"source": relation})
    return query, types if what == "warehouse/rows" else {**types, N: "BIGINT"}


def people_query(
    warehouse: Warehouse, relation: exp.Table, columns: Sequence[Column], person: Column
) -> tuple[exp.Query, dict[str, str]]:
    """Return the query of distinct tuples in which people are numbers, not names, and the types of what it returns."""
    query, types = carried_query("warehouse/tuples", warehouse, relation, columns)
    others = [sql.column(name, "tuples") for name in types if name not in {person.name, N}]
    tuples = {"tuples": query.subquery("tuples")}
    numbered = sql.query("warehouse/people", values={"others": others}, relations=tuples, names={"person": person.name})
    del types[person.name]
    return numbered, {**types, person.name: "BIGINT"}


_WITH_DATES = {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}


def as_duckdb_writes(text: exp.Expr, kind: str) -> exp.Expr:
    """Return a text of PostgreSQL as DuckDB reads it; it would take a time before Christ for one after.

    ``0044-03-15 12:00:00 BC`` is ``0044-03-15 (BC) 12:00:00`` there.
    """
    return _replaced(text, r"^(\S+)(.*) BC$", r"\1 (BC)\2") if kind in _WITH_DATES else text


def as_postgres_writes(text: exp.Expr, kind: str) -> exp.Expr:
    """The way back of ``as_duckdb_writes``."""
    return _replaced(text, r"^(\S+) \(BC\)(.*)$", r"\1\2 BC") if kind in _WITH_DATES else text


def _replaced(text: exp.Expr, pattern: str, by: str) -> exp.Expr:
    return exp.Anonymous(this="REGEXP_REPLACE", expressions=[text, sql.literal(pattern), sql.literal(by)])


def places(names: Iterable[str]) -> list[str]:
    """Return the names under which columns are carried over."""
    return [f"column_{number}" for number, _ in enumerate(names)]


def plain(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row with its numbers as DuckDB has them: sums of whole numbers are no decimals."""
    return tuple(
        (int(value) if value == value.to_integral_value() else float(value))
        if isinstance(value, Decimal) and value.is_finite()
        else value
        for value in row
    )
