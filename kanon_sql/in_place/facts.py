"""What stands around a table that is to be replaced: columns, constraints, indexes, views, other tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from kanon_sql import sql
from kanon_sql.destinations import kind_of
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.store import SCHEMA
from kanon_sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources import Source

_VALUES = re.compile(r"ENUM\((?:[^')]|'(?:[^']|'')*')*\)")


@dataclass(frozen=True)
class ColumnFacts:
    """A column of the table as its definition has it."""

    name: str
    type: str
    default: str | None
    nullable: bool
    comment: str | None
    generated: bool


@dataclass(frozen=True)
class ConstraintFacts:
    """A constraint of the table: PRIMARY KEY, UNIQUE, CHECK or FOREIGN KEY.

    Attributes:
        kind: which of them.
        columns: its columns.
        expression: what a CHECK asks.
        referenced: the table that a foreign key refers to, and its columns there.
        text: the whole constraint.
    """

    kind: str
    columns: tuple[str, ...]
    expression: str | None
    referenced: tuple[str, tuple[str, ...]] | None
    text: str

    @property
    def name(self) -> str:
        """What it is called where it is told of."""
        return f"{self.kind} ({', '.join(self.columns)})"


@dataclass(frozen=True)
class IndexFacts:
    """An index that somebody made."""

    name: str
    unique: bool
    text: str
    comment: str | None


@dataclass(frozen=True)
class OtherTable:
    """Another table of the database: its name, its stored columns, and the tables of its schema that it refers to."""

    schema: str
    name: str
    comment: str | None
    columns: tuple[str, ...]
    referenced: tuple[str, ...]


@dataclass(frozen=True)
class ViewFacts:
    """A view of the database.

    Attributes:
        schema: where it is.
        name: what it is called.
        definition: its statement.
        reads: schema (if it says one) and name of each relation that it reads, folded.
        columns: the names of all columns in it, folded; ``*`` where it takes all that there are.
    """

    schema: str
    name: str
    definition: str
    reads: frozenset[tuple[str, str]]
    columns: frozenset[str]


@dataclass(frozen=True)
class TableFacts:
    """A table, and all that stands around it in its database.

    Attributes:
        schema: of the table.
        name: of the table.
        comment: of the table.
        columns: in their order.
        constraints: its own.
        indexes: those that somebody made.
        others: all other tables.
        views: those that read the table, directly or by way of other views.
        lists: schema and name of types that list the values of a column of this table, and of no other.
    """

    schema: str
    name: str
    comment: str | None
    columns: tuple[ColumnFacts, ...]
    constraints: tuple[ConstraintFacts, ...]
    indexes: tuple[IndexFacts, ...]
    others: tuple[OtherTable, ...]
    views: tuple[ViewFacts, ...]
    lists: tuple[tuple[str, str], ...]


def facts_of(source: Source) -> TableFacts:
    """Return what stands around the table of a source.

    Raises:
        UsageError: it is a view, or other tables or views of ours rest on its rows.
    """
    engine = source.engine
    schema, name = source.relation.db or _schema(engine), source.relation.name
    if kind_of(engine, source.relation) != "TABLE":
        raise UsageError(f"{name!r} is a view, which has no rows of its own: anonymize the table behind it in place.")
    return facts_of_table(engine, schema, name)


def facts_of_table(
    engine: Engine, schema: str, name: str, going: frozenset[tuple[str, str]] = frozenset()
) -> TableFacts:
    """Return what stands around a table.

    Args:
        engine: on its database.
        schema: where it is.
        name: what it is called.
        going: schema and name of tables that will not be there any more.

    Raises:
        UsageError: other tables or views of ours rest on its rows.
    """
    here = {"schema": schema, "name": name}
    constraints = []
    for in_schema, table, kind, columns, expression, referenced, there, text in engine.rows(
        sql.statement("in_place_constraints", values=here), "constraints of the table"
    ):
        if table != name and (in_schema, table) not in going:
            raise UsageError(
                f"Table {in_schema}.{table} has a foreign key to {name!r} ({', '.join(columns)}), whose rows would be "
                "gone or changed: drop that key, or that table, first."
            )
        if table == name:
            refers = (referenced, tuple(there)) if referenced is not None else None
            constraints.append(ConstraintFacts(kind, tuple(columns), expression, refers, text))
    tables = tables_of(engine)
    columns_found = engine.rows(sql.statement("in_place_columns", values=here), "columns of the table")
    indexes = engine.rows(sql.statement("in_place_indexes", values=here), "indexes of the table")
    views = _views_over(engine, schema, name)
    if ours := [view.name for view in views if any(db == SCHEMA for db, _ in view.reads)]:
        raise UsageError(
            f"View {', '.join(ours)} is a release of {name!r} that looks its values up: drop it, or publish it as a "
            "table, before the values are gone."
        )
    return TableFacts(
        schema,
        name,
        next(table.comment for table in tables if (table.schema, table.name) == (schema, name)),
        tuple(ColumnFacts(*row) for row in columns_found),
        tuple(constraints),
        tuple(IndexFacts(*row) for row in indexes),
        tuple(table for table in tables if (table.schema, table.name) != (schema, name)),
        views,
        _lists(engine, schema, name),
    )


def tables_of(engine: Engine) -> list[OtherTable]:
    """Return all tables of the database."""
    return [
        OtherTable(schema, name, comment, tuple(stored or ()), tuple(referenced or ()))
        for schema, name, comment, stored, referenced in engine.rows(
            sql.statement("in_place_tables"), "tables of the database"
        )
    ]


def _schema(engine: Engine) -> str:
    ((schema,),) = engine.rows(exp.select(exp.Anonymous(this="current_schema")), "the schema we are in")
    return str(schema)


def _views_over(engine: Engine, schema: str, name: str) -> tuple[ViewFacts, ...]:
    """Return the views that read a table, at any depth; one of the same name in another schema counts if it may be."""
    views = [_view(*row) for row in engine.rows(sql.statement("in_place_views"), "views of the database")]
    read = {(folded(schema), folded(name))}
    found: list[ViewFacts] = []
    while more := [
        view
        for view in views
        if view not in found and any((db or own, table) in read for db, table in view.reads for own, _ in read)
    ]:
        found += more
        read |= {(folded(view.schema), folded(view.name)) for view in more}
    return tuple(found)


def _view(schema: str, name: str, definition: str) -> ViewFacts:
    parsed = sqlglot.parse_one(definition, read="duckdb")
    query = parsed.expression if isinstance(parsed, exp.Create) else parsed
    reads = frozenset((folded(table.db), folded(table.name)) for table in query.find_all(exp.Table))
    columns = {folded(column.name) for column in query.find_all(exp.Column)}
    columns |= {"*" for star in query.find_all(exp.Star) if isinstance(star.parent, exp.Select)}
    return ViewFacts(schema, name, definition, reads, frozenset(columns))


def _lists(engine: Engine, schema: str, name: str) -> tuple[tuple[str, str], ...]:
    """Return the ENUM types whose values are those of a column of this table, and of no column of another."""
    own: set[str] = set()
    others: set[str] = set()
    for in_schema, table, kind in engine.rows(sql.statement("in_place_enum_columns"), "columns that list values"):
        (own if (in_schema, table) == (schema, name) else others).update(_VALUES.findall(kind))
    found = []
    for in_schema, type_name, labels in engine.rows(sql.statement("in_place_types"), "types that list values"):
        listed = ", ".join(sql.literal(label).sql("duckdb") for label in labels)
        if f"ENUM({listed})" in own - others:
            found.append((in_schema, type_name))
    return tuple(found)
