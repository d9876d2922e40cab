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

from kanon_sql import sql
from kanon_sql.bookkeeping.store import RELEASES
from kanon_sql.hierarchy.store import SCHEMA
from kanon_sql.in_place.changes import Changes, changes_of
from kanon_sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.hierarchy.lookup import StoredHierarchy
    from kanon_sql.in_place.facts import OtherTable, TableFacts
    from kanon_sql.publication import Publication


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
        hierarchies: names of those that are left out, since they list values of the table.
    """

    target: exp.Table
    changes: Changes
    schema: tuple[exp.Expr, ...]
    rows: tuple[exp.Expr, ...]
    release: exp.Insert
    after: tuple[exp.Expr, ...]
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
    recoded = {folded(name) for name in publication.quasi_identifiers} - {folded(name) for name in changes.unchanged}
    hierarchies = [tree.relation.name for tree in stored if folded(tree.column) in recoded]
    others = [table for table in facts.others if not (table.schema == SCHEMA and table.name in hierarchies)]
    names = exp.Tuple(expressions=[sql.identifier(old), sql.identifier(new)])
    everything = "FROM DATABASE {} TO {} (SCHEMA)".format(*(name.sql("duckdb") for name in names.expressions))
    schema: list[exp.Expr] = [exp.Command(this="COPY", expression=everything), sql.drop(target)]
    schema += [sql.drop(sql.relation(name, SCHEMA, new)) for name in hierarchies]
    schema += [sql.drop(sql.relation(name, in_schema, new), "TYPE") for in_schema, name in facts.lists]
    rows = [_copied(table, facts, old, new) for table in _in_order(others)]
    columns = [sql.identifier(name) for name in publication.published_types]
    release = exp.Insert(this=exp.Schema(this=target.copy(), expressions=columns), expression=query)
    after = (*changes.indexes, *changes.comments)
    return Rewrite(target, changes, (*schema, changes.table), tuple(rows), release, after, tuple(hierarchies))


def _copied(table: OtherTable, facts: TableFacts, old: str, new: str) -> exp.Insert:
    """Return the statement that copies the rows of another table; of the ledger, not those about the old rows."""
    columns = [sql.identifier(name) for name in table.columns]
    rows = exp.select(*(sql.column(name) for name in table.columns)).from_(sql.relation(table.name, table.schema, old))
    if (table.schema, table.name) == (SCHEMA, RELEASES):
        about = [
            exp.EQ(this=sql.column("source_schema"), expression=sql.literal(facts.schema)),
            exp.EQ(this=sql.column("source_name"), expression=sql.literal(facts.name)),
        ]
        rows = rows.where(exp.not_(sql.all_of(about)))
    into = exp.Schema(this=sql.relation(table.name, table.schema, new), expressions=columns)
    return exp.Insert(this=into, expression=rows)


def _in_order(tables: Sequence[OtherTable]) -> list[OtherTable]:
    """Return tables so that each comes after those that its foreign keys refer to."""
    ordered: list[OtherTable] = []
    waiting = list(tables)
    while waiting:
        there = {(table.schema, table.name) for table in waiting}
        ready = [
            table
            for table in waiting
            if not any((table.schema, name) in there for name in table.referenced if name != table.name)
        ]
        ordered += ready or waiting  # a circle cannot be defined; nothing would be lost but the order
        waiting = [table for table in waiting if table not in ordered]
    return ordered
