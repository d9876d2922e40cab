"""What stands around a table that is to be replaced: columns, constraints, indexes, views, other tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.given import REMEMBERING, SCHEMA
from kanon_sql.release.in_place.views import ViewFacts, macros_over, mentions, views_of, views_over
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources.open_source import Source

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
    collation: str | None


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
    """An index that a statement made, not a constraint."""

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
class Trigger:
    """A trigger of a table."""

    schema: str
    name: str
    table: str
    definition: str


@dataclass(frozen=True)
class TableFacts:
    """A table, and all that stands around it in its database.

    Attributes:
        schema: of the table.
        name: of the table.
        comment: of the table.
        columns: in their order.
        constraints: its own.
        indexes: those that statements made.
        others: all other tables.
        views: those that read the table, directly or by way of other views, each after those that it reads.
        macros: names of those that name the table.
        triggers: of all tables.
        lists: schema and name of types that list values, and are of no column of another table.
        listed: these lists as they stand in the types of columns.
        lookups: names of tables in schema kanon that served views which are gone.
    """

    schema: str
    name: str
    comment: str | None
    columns: tuple[ColumnFacts, ...]
    constraints: tuple[ConstraintFacts, ...]
    indexes: tuple[IndexFacts, ...]
    others: tuple[OtherTable, ...]
    views: tuple[ViewFacts, ...]
    macros: tuple[str, ...]
    triggers: tuple[Trigger, ...]
    lists: tuple[tuple[str, str], ...]
    listed: frozenset[str]
    lookups: tuple[str, ...]


def facts_of(source: Source) -> TableFacts:
    """Return what stands around the table of a source.

    Raises:
        UsageError: it is a view, or other tables or views of ours rest on its rows.
    """
    engine = source.engine
    schema, name = source.relation.db or engine.current_schema(), source.relation.name
    if engine.kind_of(source.relation) != "TABLE":
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
    tables, views = tables_of(engine), views_of(engine)
    columns = engine.rows(sql.statement("in_place/columns", values=here), "columns of the table")
    indexes = engine.rows(sql.statement("in_place/indexes", values=here), "indexes of the table")
    over = views_over(views, schema, name)
    if ours := [view.name for view in over if any(db == SCHEMA for db, _ in view.reads or ())]:
        raise UsageError(
            f"View {', '.join(ours)} is a release of {name!r} that looks its values up: drop it, or publish it as a "
            "table, before the values are gone."
        )
    types, listed = _lists(engine, going | {(schema, name)}, views)
    collations = _collations(engine, here)
    return TableFacts(
        schema,
        name,
        next(table.comment for table in tables if (table.schema, table.name) == (schema, name)),
        tuple(
            ColumnFacts(name, kind, default, nullable, comment, generated, collations.get(name))
            for name, kind, default, nullable, comment, generated in columns
        ),
        _constraints(engine, here, going),
        tuple(IndexFacts(*row) for row in indexes),
        tuple(table for table in tables if (table.schema, table.name) != (schema, name)),
        over,
        tuple(macros_over(engine, name)),
        triggers_of(engine),
        types,
        listed,
        lookups_left(tables, views),
    )


def _constraints(
    engine: Engine, here: dict[str, str], going: frozenset[tuple[str, str]]
) -> tuple[ConstraintFacts, ...]:
    """Return the constraints of a table.

    Raises:
        UsageError: a table that stays has a foreign key to it.
    """
    found = []
    for schema, table, kind, columns, expression, referenced, there, text in engine.rows(
        sql.statement("in_place/constraints", values=here), "constraints of the table"
    ):
        if table == here["name"]:
            refers = (referenced, tuple(there)) if referenced is not None else None
            found.append(ConstraintFacts(kind, tuple(columns), expression, refers, text))
        elif (schema, table) not in going:
            raise UsageError(
                f"Table {schema}.{table} has a foreign key to {here['name']!r} ({', '.join(columns)}), whose rows "
                "would be gone or changed: drop that key, or that table, first."
            )
    return tuple(found)


def _collations(engine: Engine, here: dict[str, str]) -> dict[str, str]:
    """Return the columns of a table that have a collation of their own, and which.

    Raises:
        UsageError: that cannot be told.
    """
    (definition,) = engine.row(sql.statement("in_place/definition", values=here), "collations of the columns")
    if not mentions(definition, "collate"):
        return {}
    try:
        parsed = sqlglot.parse_one(definition, read="duckdb")
    except SqlglotError:
        raise UsageError(
            f"Table {here['name']!r} has columns with collations that cannot be told from its definition: remove them."
        ) from None
    return {
        column.name: constraint.this.sql("duckdb")
        for column in parsed.find_all(exp.ColumnDef)
        for constraint in column.find_all(exp.CollateColumnConstraint)
    }


def triggers_of(engine: Engine) -> tuple[Trigger, ...]:
    """Return the triggers of all tables."""
    rows = engine.rows(sql.statement("in_place/triggers"), "triggers of the database")
    return tuple(Trigger(*row) for row in rows)


def lookups_left(tables: Iterable[OtherTable], views: Sequence[ViewFacts]) -> tuple[str, ...]:
    """Return the names of tables in schema kanon that served views which are gone: they list values."""
    return tuple(
        table.name
        for table in tables
        if table.schema == SCHEMA
        and table.name not in REMEMBERING
        and not table.name.startswith("hierarchy_")
        and not any(mentions(view.definition, table.name) for view in views)
    )


def tables_of(engine: Engine) -> list[OtherTable]:
    """Return all tables of the database."""
    return [
        OtherTable(schema, name, comment, tuple(stored or ()), tuple(referenced or ()))
        for schema, name, comment, stored, referenced in engine.rows(
            sql.statement("in_place/tables"), "tables of the database"
        )
    ]


def _lists(
    engine: Engine, going: frozenset[tuple[str, str]], views: Iterable[ViewFacts]
) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Return the ENUM types that are of no column of a table that stays, and these lists as they stand in types.

    Raises:
        UsageError: a view or a macro needs one of them.
    """
    staying: set[str] = set()
    own: set[str] = set()
    for schema, table, kind, is_table in engine.rows(
        sql.statement("in_place/enum_columns"), "columns that list values"
    ):
        if is_table:
            (own if (schema, table) in going else staying).update(_VALUES.findall(kind))
    texts = {f"view {view.name}": view.definition for view in views}
    macros = engine.rows(sql.statement("in_place/macros"), "macros of the database")
    texts |= {f"macro {name}": definition for name, definition in macros}
    found = []
    for schema, name, labels in engine.rows(sql.statement("in_place/types"), "types that list values"):
        listed = f"ENUM({', '.join(sql.literal(label).sql('duckdb') for label in labels)})"
        if listed in staying:
            continue
        if users := [user for user, text in texts.items() if mentions(text, name)]:
            raise UsageError(
                f"Type {name!r} lists values that are to go, and is named by {', '.join(users)}: change or drop that "
                "first."
            )
        own.add(listed)
        found.append((schema, name))
    return tuple(found), frozenset(own - staying)
