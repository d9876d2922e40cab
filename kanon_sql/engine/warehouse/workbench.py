"""The workbench: an embedded DuckDB with the parts of warehouse tables that statements read.

A table of the warehouse has the same name here. When a statement first reads some of its columns, their distinct tuples
are fetched with their counts, in one scan there; a view repeats each tuple by its count. So every statement for a table
runs here unchanged, with the same result, and the rows stay in the warehouse.

    kanon_tuples_1(age, sex, kanon_n)      fetched
    patients(age, sex)                     the view: each tuple kanon_n times
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import closed_on_error, make_table
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.warehouse.warehouse import (
    N,
    as_duckdb_writes,
    as_postgres_writes,
    carried_query,
    people_query,
    places,
)
from kanon_sql.errors import ComputationError, NoRightError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from kanon_sql.engine.base import Column, Engine, Values
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.warehouse.warehouse import Carried, Warehouse

SCHEMA = "kanon"
SENT = "sent"
"""Name of the table whose rows are sent."""
_TEXT = "VARCHAR"
_HIERARCHY, _LEDGER = "hierarchy_", "releases"
_ROW, _SENT_AT_ONCE = "rowid", 100_000
"""Rows held in memory on the way to the warehouse."""


@dataclass
class Mirror:
    """A relation of the warehouse on the workbench."""

    relation: exp.Table
    columns: tuple[Column, ...]
    brought: frozenset[str] = frozenset()  # names of the columns whose tuples were fetched
    person: Column | None = None  # the column whose values are people, fetched as numbers
    tuples: exp.Table | None = None  # the table of tuples; None before the first fetch
    by_row: bool = False  # fetch single rows, without a count: a table with a key has no equal rows
    sealed: bool = False  # fetching is not allowed

    @property
    def complete(self) -> bool:
        return all(column.name in self.brought for column in self.columns)


class Workbench(DuckDBEngine):
    """An embedded DuckDB beside a warehouse."""

    warehouse: Warehouse
    has_collations = False  # warehouse columns with other collations have no text type here

    @classmethod
    def beside(cls, warehouse: Warehouse, resources: Resources | None = None) -> Self:
        """Return an empty workbench with the schemas of a warehouse, its ledger and its stored hierarchies."""
        with closed_on_error(cls.in_memory(resources)) as engine:
            engine._stand_beside(warehouse)  # noqa: SLF001 - its own
        return engine

    def _stand_beside(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.all_or_nothing, self.is_shared = warehouse.all_or_nothing, True
        warehouse.use_time_zone(self.time_zone)
        self._mirrors: dict[tuple[str, str], Mirror] = {}
        self._seen: dict[int, exp.Expr] = {}  # keeps references, so that no identity is used twice
        self.unreadable: set[tuple[str, str]] = set()
        warehouse.tell, warehouse.statements = self.log, self.statements
        for schema in dict.fromkeys((warehouse.schema, *warehouse.schemas())):
            create = exp.Create(this=exp.Table(db=sql.identifier(schema)), kind="SCHEMA", exists=True)
            self.run_unlogged(create, "schemas of the warehouse")
        current = exp.Table(this=sql.identifier(warehouse.schema), db=sql.identifier("memory"))
        self.run_unlogged(exp.Use(this=current), "the schema of the warehouse")
        for listed in warehouse.relations(SCHEMA):
            if listed.kind == "TABLE":
                own = sql.relation(listed.name, listed.schema)
                try:
                    self._copy_own(own)
                except NoRightError:  # reported if needed: a check of a table needs none of them
                    self.unreadable.add(self._key(own))

    @property
    def spills_to(self) -> Path:
        return Path(tempfile.gettempdir()) if self._spill is None else self._spill.path.parent

    def take(
        self,
        table: exp.Table,
        types: Mapping[str, str],
        rows: exp.Table | None,
        *,
        written: bool = False,
        more: bool = False,
    ) -> None:
        query = _typed(types, rows, written=written)
        insert, create = exp.Insert(this=table.copy(), expression=query), sql.create_table(table, query, temporary=True)
        try:
            self.run_unlogged(insert if more else create, f"take {table.name} from the warehouse")
        except ComputationError:
            self._require_readable(query)
            raise

    def _require_readable(self, query: exp.Select) -> None:
        """Raise if fetched values do not have their expected types."""
        casts = [value.this for value in query.selects]
        lost = [
            exp.Sub(this=exp.Count(this=value.this), expression=exp.Count(this=exp.TryCast(**value.copy().args)))
            for value in casts
        ]
        counted = query.copy().select(*lost, append=False)
        numbers = super().row(counted, "values that the workbench does not have")
        for name, value, number in zip(query.named_selects, casts, numbers, strict=True):
            if number:
                raise ComputationError(
                    f"Column {name!r} has values that are none of the type {value.to.sql(self.dialect)} here, such as "
                    "NaN or times after the year 294246. Make it a text in a view (CAST ... AS TEXT), and take the "
                    "view instead of the table."
                )

    # Relations of the warehouse

    def mirror(self, relation: exp.Table) -> Mirror:
        """Return the mirror of a warehouse relation; make it if there is none."""
        key = self._key(relation)
        if key not in self._mirrors:
            self._mirrors[key] = Mirror(relation.copy(), self.warehouse.columns(relation))
        return self._mirrors[key]

    def kind_of(self, relation: exp.Table) -> str | None:
        """Return the kind of a warehouse relation, and mirror it; None if the name does not exist."""
        kind = self.warehouse.kind_of(relation)
        if kind is not None and folded(relation.db or self.warehouse.schema) != SCHEMA:
            self.mirror(relation)
        return kind

    def definition_of(self, relation: exp.Table, title: str) -> str | None:  # noqa: ARG002 - the warehouse has its own
        return self.warehouse.definition_of(relation) if self.warehouse.kind_of(relation) == "VIEW" else None

    def fingerprinted_definition(self, view: exp.Table) -> str:
        return self.warehouse.definition_of(view)

    def relations_behind(self, relation: exp.Table) -> list[exp.Table]:
        """Return only the relation: relations behind a view cannot be replaced there."""
        return [relation]

    @contextmanager
    def alone(self, table: exp.Table, query: exp.Query) -> Iterator[None]:
        """Lock one of kanon's own tables, as far as the warehouse can, and read its current rows."""
        with self.warehouse.alone(table, query) as rows:
            self.newest_entries = rows
            yield

    @property
    def keepers(self) -> list[DuckDBEngine | Warehouse]:
        """Return the workbench, which has a copy of the ledger, and the warehouse."""
        return [self, self.warehouse]

    @contextmanager
    def keeping(self) -> Iterator[None]:
        with self.warehouse.transaction(), self.transaction():
            yield

    def carried(self, query: exp.Query, source: exp.Table, typed: Mapping[str, exp.Expr], title: str) -> exp.Query:
        """Send the rows of a query to the warehouse, and return the query of them there."""
        table = make_table(self, "kanon_carried", query, title)
        kinds = {column.name: column.type for column in self.columns(table)}
        row = sql.column(_ROW)  # numbered from any start, while the transaction that made it is open
        ends = exp.select(exp.Min(this=row), exp.Max(this=row.copy())).from_(table.copy())
        first, last = self.row(ends, f"the first and the last row of {table.name}")
        parts: list[exp.Expr | None] = [None]
        if first is not None and last - first >= _SENT_AT_ONCE:
            ends_of_batches = ((at, at + _SENT_AT_ONCE - 1) for at in range(first, last + 1, _SENT_AT_ONCE))
            parts = [sql.column(_ROW, SENT).between(*batch) for batch in ends_of_batches]
        self.send(table, source, kinds, title, typed, parts=parts)
        return exp.select(*map(sql.column, kinds)).from_(table.copy())

    def send(
        self,
        table: exp.Table,
        source: exp.Table,
        kinds: Mapping[str, str] | None,
        title: str,
        typed: Mapping[str, exp.Expr] | None = None,
        *,
        name: exp.Table | None = None,
        parts: Sequence[exp.Expr | None] = (None,),
        distinct: bool = False,
    ) -> None:
        """Copy columns of a temporary table to the warehouse, by default under the same name.

        They have the types ``kinds`` (None: all columns, with their types here), or those of the expressions ``typed``
        over the source. ``parts`` are conditions on the rows (``sent``), one for each batch; ``distinct`` sends equal
        rows of a batch once.
        """
        if kinds is None:
            kinds = {column.name: column.type for column in self.columns(table)}
        query = exp.select(*(sql.named(_written(name, kind), name) for name, kind in kinds.items()))
        query = (query.distinct() if distinct else query).from_(sql.aliased(table, SENT))
        to_send = (query if part is None else query.where(part) for part in parts)
        rows = (row for part in to_send for row in self.rows(part, f"{title}, to be carried over"))
        there = {
            name: typed[name].copy() if typed and name in typed else sql.cast(exp.null(), kind)
            for name, kind in kinds.items()
        }
        shape = exp.select(*(sql.named(value, name) for name, value in there.items()))
        self.warehouse.upload(name or table, shape.from_(sql.aliased(source, "source")).where(exp.false()), rows, title)

    def copy_rows(
        self, table: exp.Table, source: exp.Table, columns: Sequence[Column], chosen: exp.Expr, title: str
    ) -> None:
        query, types = carried_query("warehouse/rows", self.warehouse, source, columns)
        self.warehouse.fetch(query.where(chosen), types, self, table, title)

    def rename_mirror(self, made: exp.Table, target: exp.Table) -> None:
        """Rename the mirror of a relation; its fetched tuples stay."""
        self.forget_mirror(target)
        mirror = self._mirrors.pop(self._key(made))
        mirror.relation = target.copy()
        self._mirrors[self._key(target)] = mirror
        if mirror.tuples is not None:
            self.run_unlogged(sql.drop(made, "VIEW"))
            self._show(mirror, mirror.tuples)

    def forget_mirror(self, relation: exp.Table) -> None:
        """Forget the mirror of a relation that was replaced or dropped."""
        mirror = self._mirrors.pop(self._key(relation), None)
        if mirror is not None and mirror.tuples is not None:
            self.run_unlogged(sql.drop(mirror.relation, "VIEW"))
            self.run_unlogged(sql.drop(mirror.tuples))

    def bring(self, relation: exp.Table, columns: Iterable[Column], person: Column | None = None) -> None:
        """Fetch the tuples of some columns now, to avoid further scans; names of people stay there."""
        mirror = self.mirror(relation)
        mirror.person = mirror.person or person
        self._bring(mirror, {column.name for column in columns} | ({person.name} if person is not None else set()))

    def bring_rows(self, relation: exp.Table, columns: Iterable[Column]) -> None:
        """Fetch every single row, in one scan."""
        mirror = self.mirror(relation)
        mirror.by_row = True
        self._bring(mirror, {column.name for column in columns})

    def may_read(self, relation: exp.Table) -> bool:
        return self._key(relation) not in self.unreadable

    def search_there(self, relation: exp.Table) -> None:
        """Keep the tuples of a relation in the warehouse: statements that need them here are refused from now on."""
        self.mirror(relation).sealed = True

    def values_of(self, relation: exp.Table, columns: Sequence[Column]) -> exp.Table:
        """Return a view with the values of each column alone, NULL in all others, in one scan."""
        query, types = carried_query("warehouse/values", self.warehouse, relation, columns)
        table, view = self.temporary_name("kanon_values"), self.temporary_name("kanon_rows")
        self.warehouse.fetch(query, types, self, table, f"values of each column of {relation.name} and their counts")
        mirror = Mirror(view.copy(), tuple(columns), frozenset(types), tuples=table)
        self._mirrors[self._key(view)] = mirror
        self._show(mirror, table)
        return view

    def engine_of(self, relation: exp.Table) -> Engine:
        mirror = self._mirrors.get(self._key(relation))
        return self if mirror is None or not mirror.sealed else self.warehouse

    def temporary_name(self, wanted: str) -> exp.Table:
        """Return a name that no temporary table and no mirrored relation uses: tables keep it when they are sent."""
        mirrored = {mirror.relation.name for mirror in self._mirrors.values()}
        while (table := super().temporary_name(wanted)).name in mirrored:
            pass
        return table

    def tuples_of(self, relation: exp.Table) -> exp.Table | None:
        """Return the table of tuples of a relation, each with ``kanon_n`` rows; None if there is none."""
        mirror = self._mirrors.get(self._key(relation))
        return None if mirror is None or mirror.by_row or mirror.sealed else mirror.tuples

    def _bring(self, mirror: Mirror, names: set[str]) -> None:
        if mirror.sealed:
            raise UsageError(
                f"This needs the tuples of {mirror.relation.name} on the workbench, and --search-on warehouse keeps "
                "them where they are: leave it out."
            )
        if mirror.tuples is not None and names <= mirror.brought:
            return
        wanted = [column for column in mirror.columns if column.name in names | mirror.brought]
        table = self.temporary_name("kanon_tuples")
        person = mirror.person if mirror.person in wanted else None
        if person is not None and not mirror.by_row:
            query, types = people_query(self.warehouse, mirror.relation, wanted, person)
        else:
            what: Carried = "warehouse/rows" if mirror.by_row else "warehouse/tuples"
            query, types = carried_query(what, self.warehouse, mirror.relation, wanted)
        is_of_rows = mirror.by_row or not wanted  # they are counted if no column is named
        title = "rows of {}" if is_of_rows else "distinct tuples of {} and their counts"
        self.warehouse.fetch(query, types, self, table, title.format(mirror.relation.name))
        if mirror.tuples is not None:
            super().rows(sql.drop(mirror.tuples), "tuples of fewer columns")
        mirror.tuples, mirror.brought = table, frozenset(column.name for column in wanted)
        self._show(mirror, table)

    def _show(self, mirror: Mirror, tuples: exp.Table) -> None:
        """Create the view that repeats each tuple by its count."""
        names = [column.name for column in mirror.columns if column.name in mirror.brought]
        rows = exp.select(*map(sql.column, names)).from_(tuples.copy())
        shown = rows if mirror.by_row else sql.repeated(tuples, names or [N], N)
        create = sql.create_view(mirror.relation.copy(), shown, replace=True)
        super().rows(create, f"{mirror.relation.name}: each tuple as often as it is there")

    # Statements

    def rows(self, statement: exp.Expr, title: str = "", parameters: Values | None = None) -> list[tuple[Any, ...]]:
        if parameters is None or id(statement) not in self._seen:
            self._bring_for(statement)
            if parameters is not None:
                self._seen[id(statement)] = statement
        return super().rows(statement, title, parameters)

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        if isinstance(relation, exp.Table) and (mirror := self._mirrors.get(self._key(relation))) is not None:
            return mirror.columns
        return super().columns(relation)

    def _bring_for(self, statement: exp.Expr) -> None:
        """Fetch the columns that a statement names (all for ``*``) of each table that it reads."""
        if all(mirror.complete for mirror in self._mirrors.values()):
            return
        read = {self._key(table) for table in statement.find_all(exp.Table)}
        needed = {key: mirror for key, mirror in self._mirrors.items() if key in read and not mirror.complete}
        if not needed:
            return
        named = {folded(identifier.name) for identifier in statement.find_all(exp.Identifier)}
        whole = {self._key(table) for table in tables_read_whole(statement)}
        for key, mirror in needed.items():
            self._bring(mirror, {one.name for one in mirror.columns if key in whole or folded(one.name) in named})

    def _key(self, relation: exp.Table) -> tuple[str, str]:
        return folded(relation.db or self.warehouse.schema), folded(relation.name)

    def _copy_own(self, relation: exp.Table) -> None:
        """Copy one of kanon's own tables: a stored hierarchy, or the ledger."""
        if not (relation.name.startswith(_HIERARCHY) or relation.name == _LEDGER):
            return
        columns = self.warehouse.columns(relation)
        query, types = carried_query("warehouse/rows", self.warehouse, relation, columns)
        copied = self.temporary_name(relation.name)
        self.warehouse.fetch(query, types, self, copied, f"{SCHEMA}.{relation.name}")
        schema = exp.Create(this=exp.Table(db=sql.identifier(SCHEMA)), kind="SCHEMA", exists=True)
        self.run_unlogged(schema)
        self.run_unlogged(sql.create_table(relation.copy(), exp.select("*").from_(copied)))
        self.run_unlogged(sql.drop(copied))
        if (found := self.warehouse.found(relation)) is not None and found.comment is not None:
            self.run_unlogged(exp.Comment(this=relation.copy(), kind="TABLE", expression=sql.literal(found.comment)))

    def close(self) -> None:
        try:
            super().close()
        finally:
            if (warehouse := getattr(self, "warehouse", None)) is not None:
                warehouse.close()


def _written(name: str, kind: str) -> exp.Expr:
    """Return a value as text for a warehouse."""
    value = sql.column(name, SENT)
    return value if kind == _TEXT else as_postgres_writes(sql.cast(value, _TEXT), kind)


def _typed(types: Mapping[str, str], rows: exp.Table | None, *, written: bool) -> exp.Select:
    """Return the query of fetched rows, with their names and types; optionally in PostgreSQL's format."""
    if rows is None:
        nothing = [sql.named(sql.cast(exp.null(), kind), name) for name, kind in types.items()]
        return exp.select(*nothing).where(exp.false())
    came = zip(map(sql.column, places(types)), types.items(), strict=True)
    values = [
        sql.named(sql.cast(as_duckdb_writes(value, kind) if written else value, kind), name)
        for value, (name, kind) in came
    ]
    return exp.select(*values).from_(rows)


def tables_read_whole(statement: exp.Expr) -> Iterator[exp.Table]:
    """Yield the tables whose columns a statement reads in full: those named directly by a query with ``*``.

    If a ``*`` is around a subquery, only the columns named in it count: no identifier is fetched for it.
    """
    for star in statement.find_all(exp.Star):
        query = star.find_ancestor(exp.Select)
        if isinstance(star.parent, exp.Count) or query is None or _is_named_around(query):
            continue
        for part in (query.args.get("from_"), *(query.args.get("joins") or [])):
            if part is not None and isinstance(part.this, exp.Table):
                yield part.this


def _is_named_around(query: exp.Select) -> bool:
    """Return True if a query is in the FROM of another one that names each column it uses."""
    around, place = query.parent_select, query.parent
    if around is None or query.args.get("distinct") or not isinstance(place, exp.Subquery):
        return False
    if not isinstance(place.parent, exp.From | exp.Join):
        return False
    takes_all = any(isinstance(value, exp.Star) or value.is_star for value in around.expressions)
    return not takes_all or _is_named_around(around)
