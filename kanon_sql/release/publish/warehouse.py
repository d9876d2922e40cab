"""Releases of a table in a warehouse: a table or view there, or a Spark data frame.

Differences from other releases (``publisher``):

1. The relations that the publishing statement joins are copied to the warehouse: hierarchies, and search results other
   than levels.
2. The warehouse makes the release from its own rows, in one statement: DuckDB's statement in its own dialect.
3. The classes of the result are verified by the statements that verify any release: on the workbench, which fetches
   them, or in the warehouse with ``--search-on warehouse``.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.release.publish.publisher import KINDS, StagedSink, check_target
from kanon_sql.release.publish.warehouse_tables import carried_query, carry, on_warehouse
from kanon_sql.release.published_rules import rule_check_query
from kanon_sql.release.statements.release import readable_lookups
from kanon_sql.release.statements.view import publication_of_view, view_lookups, view_statements
from kanon_sql.release.verify.verify import verify, verify_rules
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.engine.spark.warehouse import SparkWarehouse
    from kanon_sql.engine.warehouse.warehouse import RelationKind, Warehouse
    from kanon_sql.engine.warehouse.workbench import Workbench
    from kanon_sql.policy.destination import Kind
    from kanon_sql.release.ledger.ledger import Ledger
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.publish.publisher import OneTable
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.release.verify.verify import Expected


class _WarehouseSink(StagedSink):
    """A release that the warehouse of its table makes; its classes are fetched for verification."""

    def __init__(self, released: OneTable, target: exp.Table | None, name: str) -> None:
        super().__init__(released, target, name)
        self.bench, self.publication = released.source.workbench, released.publication
        self.warehouse = self.bench.warehouse

    def verify(self) -> Verification:
        return _verified(self.bench, self.publication, self.staging, self.released.expected)


class RelationSink(_WarehouseSink):
    """A table or a view in the warehouse. Without transactions, it is dropped after an error."""

    target: exp.Table

    def __init__(self, released: OneTable, name: str, *, kind: Kind, replace: bool) -> None:
        super().__init__(released, check_target(released.source, name, kind, replace=replace), name)
        self.kind: Kind = kind
        self.staging = _beside(self.target, self.warehouse)

    @contextmanager
    def opened(self) -> Iterator[None]:
        try:
            with self.warehouse.transaction():
                yield
        except BaseException:
            self.warehouse.undo(self.staging, KINDS[self.kind])
            self.bench.forget_mirror(self.staging)
            raise
        finally:
            self.warehouse.forget()

    def make(self) -> None:
        if self.kind == "table":
            made = sql.create_table(self.staging, carried_query(self.bench, self.warehouse, self.publication))
            self.warehouse.run(made, "make the release")
        else:
            self._make_view()

    def _make_view(self) -> None:
        """Make a view and the tables that it joins.

        The replaced view is dropped first, because it may join tables of the same names. Without transactions, it
        stays until the end, and the new tables get another name.
        """
        there, name = carry(self.bench, self.publication, live=True), self.name
        if (existing := self.warehouse.kind_of(self.target)) is not None:
            if self.warehouse.all_or_nothing:
                self.warehouse.drop(self.target, existing)
            else:
                name = _other_name(self.warehouse, there, name)
        materialized = self.kind == "materialized-view"
        *tables, view = view_statements(there, name, self.staging, self.released.lookups, materialized=materialized)
        for statement in tables:
            self.warehouse.run(statement, "the hierarchies of the view")
        self.warehouse.run(view, "make the view")

    def take_name(self, rows: int, ledger: Ledger | None) -> None:
        with _named(self.bench, self.warehouse, self.staging, self.target, KINDS[self.kind]):
            if ledger is not None:
                ledger.remember("view" if self.kind == "view" else "table", self.target, rows)


class SparkFrameSink(_WarehouseSink):
    """A Spark data frame; raises a UsageError for other sources."""

    kind = "data frame"
    warehouse: SparkWarehouse

    def __init__(self, released: OneTable) -> None:
        from kanon_sql.engine.spark.warehouse import SparkWarehouse

        if not isinstance(released.source.warehouse, SparkWarehouse):
            raise UsageError(f"{released.source.name} is not in Spark: take to_pandas(), to_polars() or to_arrow().")
        super().__init__(released, None, "data frame")
        self.staging, self.frame = self.bench.temporary_name("kanon_release"), None

    @contextmanager
    def opened(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.bench.forget_mirror(self.staging)
            self.warehouse.forget()

    def make(self) -> None:
        made = carried_query(self.bench, self.warehouse, self.publication)
        self.frame = self.warehouse.frame(made, self.staging, "make the release")

    def take_name(self, rows: int, ledger: Ledger | None) -> None:
        """Do nothing: a data frame has no name."""


def _other_name(warehouse: Warehouse, publication: Publication, name: str) -> str:
    """Return the name for the tables of a view while the tables of the replaced view exist."""
    for number in count(2):
        other = f"{name}_{number}"
        tables = [*view_lookups(publication, other).values(), *publication_of_view(publication, other).recoding.tables]
        if all(warehouse.kind_of(table) is None for table in tables):
            return other
    raise AssertionError


def _tables_of_view(warehouse: Warehouse, view: exp.Table) -> list[exp.Table]:
    """Return kanon's own tables that a view reads."""
    with suppress(SqlglotError):  # sqlglot cannot parse everything that a warehouse can
        query = sqlglot.parse_one(warehouse.definition_of(view), read=warehouse.dialect)
        return [sql.relation(table.name, SCHEMA) for table in query.find_all(exp.Table) if folded(table.db) == SCHEMA]
    return []


def _verified(bench: Workbench, publication: Publication, staging: exp.Table, expected: Expected) -> Verification:
    """Fetch and verify the classes of a release, in one scan, and values of columns with rules in another."""
    lookups = readable_lookups(publication.hierarchies)
    columns = bench.mirror(staging).columns
    if (rules := publication.rules) is not None:
        values = bench.values_of(staging, [column for column in columns if column.name in rules.names])
        verify_rules(bench, *rule_check_query(rules, values))
        bench.forget_mirror(values)
        publication = replace(publication, rules=None)
    if (there := bench.engine_of(publication.source)) is not bench:
        return verify(there, publication, lookups, staging, expected)
    about = [model.sensitive for model in publication.models]
    wanted = {*publication.quasi_identifiers, *about, *(publication.pseudonyms.names if publication.pseudonyms else [])}
    bench.bring(staging, [column for column in columns if column.name in wanted])
    return verify(bench, on_warehouse(publication, columns), lookups, staging, expected)


@contextmanager
def _named(
    bench: Workbench, warehouse: Warehouse, staging: exp.Table, target: exp.Table, kind: RelationKind
) -> Iterator[None]:
    """Rename the verified release. Without transactions, the replaced relation is kept aside until all is well."""
    existing = warehouse.kind_of(target)
    if existing is not None and warehouse.all_or_nothing:
        warehouse.drop(target, existing)
    aside = _beside(target, warehouse, "kanon_replaced")
    moved = existing is not None and not warehouse.all_or_nothing
    if existing is not None and moved:
        warehouse.rename(target, aside, existing)
    left = _tables_of_view(warehouse, aside) if moved and existing == "VIEW" else []
    try:
        warehouse.rename(staging, target, kind)
        bench.rename_mirror(staging, target)
        yield
    except BaseException:
        if not warehouse.all_or_nothing:
            warehouse.undo(target, kind)
            bench.forget_mirror(target)
        if existing is not None and moved:
            warehouse.rename(aside, target, existing)
        raise
    if existing is not None and moved:
        warehouse.drop(aside, existing)
        for table in left:
            warehouse.drop(table, "TABLE")


def _beside(target: exp.Table, warehouse: Warehouse, what: str = "kanon_unverified") -> exp.Table:
    """Return an unused name in the schema of the target."""
    for number in count(1):
        name = f"{what}_{target.name}" if number == 1 else f"{what}_{target.name}_{number}"
        if warehouse.kind_of(found := sql.relation(name, target.db or None)) is None:
            return found
    raise AssertionError
