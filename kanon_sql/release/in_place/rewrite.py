"""The statements of an anonymization in place: a new database with everything of the old one but the raw table.

1. schema      all definitions; then the table is dropped and defined again, in the same transaction, so that nothing
of the old definition is ever written
2. rows        of all other tables, those first that others refer to
3. release     the rows of the release
4. after       indexes and comments

A column is *unchanged* if it is published with the values that it had; rows may be gone. A constraint, a default or a
unique index stays if it is about unchanged columns only: one over labels, or over a column that is not published, would
mean something else or nothing, and its text may hold values. NOT NULL stays wherever the column does, and so does an
index over columns that is not unique.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from kanon_sql.engine.equality import published_type
from kanon_sql.engine.sources.open_source import RELEASES
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.release.in_place.views import ALL
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.hierarchy.lookup_relation import StoredHierarchy
    from kanon_sql.release.in_place.facts import (
        ColumnFacts,
        ConstraintFacts,
        IndexFacts,
        OtherTable,
        TableFacts,
        Trigger,
    )
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
        views: make the views over the table again; one that failed before fails here too, and stays as it is.
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
    """Return the statements that make triggers again, which DuckDB does not copy."""
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


@dataclass(frozen=True)
class Changes:
    """What becomes of a table.

    Attributes:
        table: the table with its release's columns, as a definition under its own name.
        indexes: statements that make its indexes again.
        comments: statements that give it and its columns their comments.
        unchanged: names of columns that are published with their values.
        kept: constraints and indexes that stay.
        removed: constraints, defaults, indexes and types that go, each with the reason.
        views: views over the table that read a column which holds labels now, and macros that name the table.
    """

    table: exp.Create
    indexes: tuple[exp.Expr, ...]
    comments: tuple[exp.Expr, ...]
    unchanged: tuple[str, ...]
    kept: tuple[str, ...]
    removed: tuple[str, ...]
    views: tuple[str, ...]


@dataclass
class _Told:
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def changes_of(facts: TableFacts, publication: Publication, target: exp.Table) -> Changes:
    """Return what becomes of a table when a release takes its place.

    Args:
        facts: what stands around it.
        publication: what is published.
        target: the table as the statements are to name it.
    """
    told = _Told()
    same = unchanged_columns(publication)
    types = publication.published_types
    by_name = {column.name: column for column in facts.columns}
    definitions: list[exp.Expr] = [
        _definition(by_name[name], kind, same, told) for name, kind in types.items() if name in by_name
    ]
    for column in facts.columns:
        if column.name not in types:
            told.removed.append(f"column {column.name} (not published)")
    staying = [constraint for constraint in facts.constraints if _stays(constraint, facts, same, told)]
    definitions += [_constraint(constraint, target) for constraint in staying]
    table = exp.Create(this=exp.Schema(this=target.copy(), expressions=definitions), kind="TABLE")
    made = [_index(index, target, set(types), same, told) for index in facts.indexes]
    indexes = tuple(index for index in made if index is not None)
    told.removed += [f"type {name} (lists values)" for _, name in facts.lists]
    told.removed += [f"trigger {each.name}" for each in facts.triggers if _is_of(each, facts)]
    views = _views_told(facts, same, set(types))
    comments = _comments(facts, set(types), target)
    comments += tuple(
        exp.Comment(
            this=sql.relation(index.name, target.db, target.catalog),
            kind="INDEX",
            expression=sql.literal(index.comment),
        )
        for index in facts.indexes
        if index.comment is not None and f"index {index.name}" in told.kept
    )
    return Changes(table, indexes, comments, tuple(same), tuple(told.kept), tuple(told.removed), views)


def _is_of(trigger: Trigger, facts: TableFacts) -> bool:
    return (trigger.schema, folded(trigger.table)) == (facts.schema, folded(facts.name))


def _views_told(facts: TableFacts, same: list[str], published: set[str]) -> tuple[str, ...]:
    """Return the views and macros over a table that say something else now, each with what that may be.

    That is a view which reads an altered column by its name, with a star, or from such a view.
    """
    altered = {folded(column.name) for column in facts.columns if column.name not in same}
    gone = {folded(column.name) for column in facts.columns if column.name not in published}
    found: dict[str, str] = {}
    for view in facts.views:  # each comes after those that it reads
        reads_one = any(view.may_read(other.schema, other.name) for other in facts.views if other.name in found)
        takes_all = ALL in view.columns and view.may_read(facts.schema, facts.name)
        if view.columns & gone:
            found[view.name] = f"{view.name} (names a column that is gone)"
        elif takes_all or reads_one or view.columns & altered:
            found[view.name] = view.name
    return (*found.values(), *(f"macro {name} (not tried)" for name in facts.macros))


def unchanged_columns(publication: Publication) -> list[str]:
    """Return the names of the published columns whose values are those of the source, in their type."""
    recoded = {
        name
        for number, name in enumerate(publication.quasi_identifiers)
        if publication.recoding.levels_of(number) != (0,)
    }
    replaced = set() if publication.pseudonyms is None else set(publication.pseudonyms.names)
    return [
        column.name
        for column in publication.columns
        if column.name not in recoded | replaced
        and publication.published_types[column.name] == column.type == published_type(column)
    ]


def _definition(column: ColumnFacts, kind: str, same: list[str], told: _Told) -> exp.ColumnDef:
    constraints: list[exp.Expr] = []
    if column.collation is not None and column.name in same:
        constraints.append(exp.ColumnConstraint(kind=exp.CollateColumnConstraint(this=_as_it_is(column.collation))))
    elif column.collation is not None:
        told.removed.append(f"collation of {column.name} (labels)")
    if not column.nullable:
        constraints.append(exp.ColumnConstraint(kind=exp.NotNullColumnConstraint()))
    if column.generated:
        told.removed.append(f"computation of {column.name} (its values are published)")
    elif column.default is not None and column.name in same:
        default = exp.Paren(this=_as_it_is(column.default))
        constraints.append(exp.ColumnConstraint(kind=exp.DefaultColumnConstraint(this=default)))
    elif column.default is not None:
        told.removed.append(f"default of {column.name} (labels)")
    return exp.ColumnDef(this=sql.identifier(column.name), kind=_as_it_is(kind), constraints=constraints)


def _stays(constraint: ConstraintFacts, facts: TableFacts, same: list[str], told: _Told) -> bool:
    what = constraint.name
    if changed := [name for name in constraint.columns if name not in same]:
        told.removed.append(f"{what}: {', '.join(changed)} changed")
        return False
    if constraint.referenced is not None and folded(constraint.referenced[0]) == folded(facts.name):
        told.removed.append(f"{what}: refers to rows that may be suppressed")
        return False
    told.kept.append(what)
    return True


def _constraint(constraint: ConstraintFacts, target: exp.Table) -> exp.Expr:
    columns = [sql.identifier(name) for name in constraint.columns]
    if constraint.kind == "CHECK":
        return exp.CheckColumnConstraint(this=_as_it_is(constraint.expression or ""))
    if constraint.kind == "PRIMARY KEY":
        return exp.PrimaryKey(expressions=columns)
    if constraint.referenced is None:
        return exp.UniqueColumnConstraint(this=exp.Schema(expressions=columns))
    table, there = constraint.referenced
    relation = sql.relation(table, target.db)  # a foreign key stays within its database
    referred = exp.Schema(this=relation, expressions=[sql.identifier(name) for name in there])
    return exp.ForeignKey(expressions=columns, reference=exp.Reference(this=referred))


def _as_it_is(text: str) -> exp.Expr:
    """Return a type or an expression as DuckDB has it, letter for letter: parsed, some would read otherwise."""
    return exp.var(text)


def _index(index: IndexFacts, target: exp.Table, published: set[str], same: list[str], told: _Told) -> exp.Expr | None:
    """Return the statement that makes an index again; None if it goes."""
    made = sqlglot.parse_one(index.text, read="duckdb")
    named = {folded(column.name) for column in made.find_all(exp.Column)}
    if not all(isinstance(ordered.this, exp.Column) for ordered in made.find_all(exp.Ordered)):
        told.removed.append(f"index {index.name}: it is over an expression")
        return None
    allowed = set(same) if index.unique else published
    if changed := sorted(named - {folded(name) for name in allowed}):
        told.removed.append(f"index {index.name}: {', '.join(changed)} changed")
        return None
    for table in made.find_all(exp.Table):
        table.replace(target.copy())
    told.kept.append(f"index {index.name}")
    return made


def _comments(facts: TableFacts, published: set[str], target: exp.Table) -> tuple[exp.Expr, ...]:
    comments: list[exp.Expr] = []
    if facts.comment is not None:
        comments.append(exp.Comment(this=target.copy(), kind="TABLE", expression=sql.literal(facts.comment)))
    for column in facts.columns:
        if column.comment is not None and column.name in published:
            named = exp.Column(this=sql.identifier(column.name), table=sql.identifier(target.name))
            named.set("db", sql.identifier(target.db))
            named.set("catalog", sql.identifier(target.catalog))
            comments.append(exp.Comment(this=named, kind="COLUMN", expression=sql.literal(column.comment)))
    return tuple(comments)
