"""The statements of an anonymization in place: a new database with everything of the old one but the raw table.

1. schema      all definitions; then the table is dropped and defined anew, in the same transaction, so that nothing
of the old definition is ever written
2. rows        of all other tables, those first that others refer to
3. release     the rows of the release
4. after       indexes and comments
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.sources.tables import RELEASES
from kanon_sql.hierarchy.store import SCHEMA
from kanon_sql.release.in_place.changes import Changes, changes_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.hierarchy.lookup_relation import StoredHierarchy
    from kanon_sql.release.in_place.facts import OtherTable, TableFacts, Trigger
    from kanon_sql.release.publication import Publication


@dataclass(frozen=True)
class Rewrite:
    """The statements, by what they are for.

    Attributes:
        target: the table in the new database.
        changes: what becomes of the table.
        schema: run in one transaction.
        rows: of the other tables.
        release: puts the rows of the release into the table.
        after: indexes and comments.
        views: make the views over the table anew; one that failed before fails here too, and stays as it is.
        triggers: those of other tables, after all rows are in.
        hierarchies: names of tables with hierarchies that are left out, since they list values of the table.
    """

    target: exp.Table
    changes: Changes
    schema: tuple[exp.Expr, ...]
    rows: tuple[exp.Expr, ...]
    release: exp.Insert
    after: tuple[exp.Expr, ...]
    views: tuple[exp.Expr, ...]
    triggers: tuple[exp.Expr, ...]
    hierarchies: tuple[str, ...]


def rewrite_of(
    facts: TableFacts, publication: Publication, query: exp.Query, stored: Iterable[StoredHierarchy], old: str, new: str
) -> Rewrite:
    """Return the statements.

    Args:
        facts: what stands around the table.
        publication: what is published.
        query: the query whose rows are the release.
        stored: hierarchies in the database.
        old: the name of the database.
        new: the name of the new one.
    """
    target = sql.relation(facts.name, facts.schema, new)
    changes = changes_of(facts, publication, target)
    own = {folded(column.name) for column in facts.columns}
    hierarchies = [*(tree.relation.name for tree in stored if folded(tree.column) in own), *facts.lookups]
    others = [table for table in facts.others if not (table.schema == SCHEMA and table.name in hierarchies)]
    schema = [definitions(old, new), sql.drop(target)]
    schema += [sql.drop(sql.relation(name, SCHEMA, new)) for name in hierarchies]
    schema += [dropped_type(in_schema, name, new) for in_schema, name in facts.lists]
    rows = copied_rows(others, old, new, without=(facts.schema, facts.name))
    columns = [sql.identifier(name) for name in publication.published_types]
    release = exp.Insert(this=exp.Schema(this=target.copy(), expressions=columns), expression=query)
    after = (*changes.indexes, *changes.comments)
    views = tuple(statement for view in facts.views for statement in view.again(new))
    triggers = [
        each for each in facts.triggers if folded(each.table) != folded(facts.name) or each.schema != facts.schema
    ]
    return Rewrite(
        target,
        changes,
        (*schema, changes.table),
        rows,
        release,
        after,
        views,
        triggers_again(triggers, new),
        tuple(hierarchies),
    )


def definitions(old: str, new: str) -> exp.Expr:
    """Return the statement that copies all definitions of a database to another, and no rows."""
    names = (sql.identifier(name).sql("duckdb") for name in (old, new))
    return exp.Command(this="COPY", expression="FROM DATABASE {} TO {} (SCHEMA)".format(*names))


def in_database(name: str, schema: str | None = None) -> exp.Use:
    """Return the statement that makes a database, or a schema of it, the current one."""
    return exp.Use(this=exp.Table(this=sql.identifier(name)) if schema is None else sql.relation(schema, name))


def triggers_again(triggers: Iterable[Trigger], new: str) -> tuple[exp.Expr, ...]:
    """Return the statements that make triggers anew, which DuckDB does not copy."""
    found: list[exp.Expr] = []
    for trigger in triggers:
        text = trigger.definition.removeprefix("CREATE ").rstrip(";")
        found += [in_database(new, trigger.schema), exp.Command(this="CREATE", expression=text)]
    return tuple(found)


def dropped_type(schema: str, name: str, database: str) -> exp.Drop:
    """Return the statement that drops a type."""
    return sql.drop(sql.relation(name, schema, database), "TYPE")


def copied_rows(
    tables: Sequence[OtherTable], old: str, new: str, without: tuple[str, str] | None = None
) -> tuple[exp.Expr, ...]:
    """Return the statements that copy the rows of tables, those first that others refer to.

    Args:
        tables: the tables.
        old: the database that they are in.
        new: the database that has their definitions.
        without: schema and name of a table whose releases the ledger is to forget: its rows are no more.
    """
    return tuple(_copied(table, old, new, without) for table in in_order(tables))


def _copied(table: OtherTable, old: str, new: str, without: tuple[str, str] | None) -> exp.Insert:
    columns = [sql.identifier(name) for name in table.columns]
    rows = exp.select(*(sql.column(name) for name in table.columns)).from_(sql.relation(table.name, table.schema, old))
    if (table.schema, table.name) == (SCHEMA, RELEASES) and without is not None:
        names = ("source_schema", "source_name")
        about = [
            exp.EQ(this=sql.column(name), expression=sql.literal(value))
            for name, value in zip(names, without, strict=True)
        ]
        rows = rows.where(exp.not_(sql.all_of(about)))
    into = exp.Schema(this=sql.relation(table.name, table.schema, new), expressions=columns)
    return exp.Insert(this=into, expression=rows)


def in_order(tables: Sequence[OtherTable]) -> list[OtherTable]:
    """Return tables so that each comes after those that its foreign keys refer to."""
    ordered: list[OtherTable] = []
    waiting = list(tables)
    while waiting:
        there = {(table.schema, folded(table.name)) for table in waiting}
        ready = [
            table
            for table in waiting
            if not any(
                (table.schema, folded(name)) in there for name in table.referenced if folded(name) != folded(table.name)
            )
        ]
        ordered += ready or waiting  # a circle cannot be defined; nothing would be lost but the order
        waiting = [table for table in waiting if table not in ordered]
    return ordered
