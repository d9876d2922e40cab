"""The dependencies of a table to be replaced or removed: columns, constraints, indexes, views, other tables."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.given import REMEMBERING, SCHEMA, WAITING
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources.open_source import Source

ALL_COLUMNS = "*"
Item = TypeVar("Item")
_VALUES = re.compile(r"ENUM\((?:[^')]|'(?:[^']|'')*')*\)")


@dataclass(frozen=True)
class ColumnFacts:
    """A column of the table, from its definition."""

    name: str
    type: str
    default: str | None
    nullable: bool
    comment: str | None
    generated: bool
    collation: str | None


@dataclass(frozen=True)
class ConstraintFacts:
    """A PRIMARY KEY, UNIQUE, CHECK (with its expression) or FOREIGN KEY (with the table and columns it refers to)."""

    kind: str
    columns: tuple[str, ...]
    expression: str | None
    referenced: tuple[str, tuple[str, ...]] | None

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"{self.kind} ({', '.join(self.columns)})"


@dataclass(frozen=True)
class IndexFacts:
    """An index that was made by a statement, not by a constraint."""

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
class ViewFacts:
    """A view of the database."""

    schema: str
    name: str
    definition: str  # its statement, as DuckDB writes it
    comment: str | None
    comments: tuple[tuple[str, str], ...]  # names of its columns, and their comments
    # Schema (if given) and name of each relation that it reads, folded; None if unknown.
    reads: frozenset[tuple[str, str]] | None
    columns: frozenset[str]  # the names of all columns in it, folded; ``*`` if it may read all columns

    def may_read(self, schema: str, name: str) -> bool:
        """Return True if it reads a relation, or may read it."""
        if self.reads is None:
            return _mentions(self.definition, name)
        return (folded(schema), folded(name)) in {(db or folded(schema), table) for db, table in self.reads}

    def again(self, database: str) -> list[exp.Expr]:
        """Return the statements that make it again in another database, which is then the current one.

        DuckDB stores the types of its columns from when it was made, which may include lists of values.
        """
        made: list[exp.Expr] = [
            exp.Command(this="CREATE", expression=f"OR REPLACE {self.definition.removeprefix('CREATE ').rstrip(';')}")
        ]
        view = sql.relation(self.name, self.schema, database)
        if self.comment is not None:
            made.append(exp.Comment(this=view.copy(), kind="VIEW", expression=sql.literal(self.comment)))
        for name, comment in self.comments:
            column = exp.Column(
                this=sql.identifier(name), table=view.this, db=view.args["db"], catalog=view.args["catalog"]
            )
            made.append(exp.Comment(this=column.copy(), kind="COLUMN", expression=sql.literal(comment)))
        return made


@dataclass(frozen=True)
class TableFacts:
    """A table and its dependencies in the database."""

    schema: str
    name: str
    comment: str | None
    columns: tuple[ColumnFacts, ...]
    constraints: tuple[ConstraintFacts, ...]
    indexes: tuple[IndexFacts, ...]  # made by statements
    others: tuple[OtherTable, ...]  # all other tables of the new database
    views: tuple[ViewFacts, ...]  # that read the table, also through other views, each after those that it reads
    macros: tuple[str, ...]  # names of macros that name the table
    triggers: tuple[Trigger, ...]
    lists: tuple[tuple[str, str], ...]  # schema and name of ENUM types that no column of another table has
    listed: frozenset[str]  # these lists in the syntax of column types


def facts_of(source: Source) -> TableFacts:
    """Return the facts of a source's table; refuse a view."""
    engine = source.engine
    schema, name = source.relation.db or engine.current_schema(), source.relation.name
    if engine.kind_of(source.relation) != "TABLE":
        raise UsageError(f"{name!r} is a view, which has no rows of its own: anonymize the table behind it in place.")
    return facts_of_table(engine, schema, name)


def facts_of_table(
    engine: Engine, schema: str, name: str, going: frozenset[tuple[str, str]] = frozenset()
) -> TableFacts:
    """Return the facts of a table; refuse if tables that are not ``going``, or our views, depend on it."""
    here = {"schema": schema, "name": name}
    tables, views = tables_of(engine), views_of(engine)
    columns = engine.rows(sql.statement("in_place/columns", values=here), "columns of the table")
    indexes = engine.rows(sql.statement("in_place/indexes", values=here), "indexes of the table")
    over = _views_over(views, schema, name)
    if ours := [view.name for view in over if any(db == SCHEMA for db, _ in view.reads or ())]:
        raise UsageError(f"View {', '.join(ours)} is a release of {name!r}: drop it, or make it a table.")
    macros = engine.rows(sql.statement("in_place/macros"), "macros of the database")
    types, listed = _lists(engine, going | {(schema, name)}, views, macros)
    collations = _collations(engine, here)
    return TableFacts(
        schema,
        name,
        next(table.comment for table in tables if (table.schema, table.name) == (schema, name)),
        tuple(
            ColumnFacts(name, kind, default, nullable, comment, generated, collations.get(name))
            for name, kind, default, nullable, comment, generated in columns
        ),
        _constraints(engine, here, [name for name, *_ in columns], going),
        tuple(IndexFacts(*row) for row in indexes),
        tuple(table for table in tables if (table.schema, table.name) not in {*going, (schema, name)}),
        over,
        tuple(macro for macro, definition in macros if _mentions(definition, name)),
        tuple(each for each in triggers_of(engine) if (each.schema, folded(each.table)) == (schema, folded(name))),
        types,
        listed,
    )


def _constraints(
    engine: Engine, here: dict[str, str], names: Sequence[str], going: frozenset[tuple[str, str]]
) -> tuple[ConstraintFacts, ...]:
    """Return the constraints of a table; refuse if a table that stays has a foreign key to it."""
    found = []
    called = {folded(name): name for name in names}  # a constraint may write a column in another case
    for schema, table, kind, columns, expression, referenced, there in engine.rows(
        sql.statement("in_place/constraints", values=here), "constraints of the table"
    ):
        if table == here["name"]:
            refers = (referenced, tuple(there)) if referenced is not None else None
            own = tuple(called[folded(name)] for name in columns)
            found.append(ConstraintFacts(kind, own, expression, refers))
        elif (schema, table) not in going:
            key = f"a foreign key to {here['name']!r} ({', '.join(columns)})"
            raise UsageError(
                f"Table {schema}.{table} has {key}, whose rows go or change: drop that key or table first."
            )
    return tuple(found)


def _collations(engine: Engine, here: dict[str, str]) -> dict[str, str]:
    """Return the columns of a table that have their own collation, with the collation."""
    (definition,) = engine.row(sql.statement("in_place/definition", values=here), "collations of the columns")
    if not _mentions(definition, "collate"):
        return {}
    try:
        parsed = sqlglot.parse_one(definition, read="duckdb")
    except SqlglotError:
        raise UsageError(
            f"Table {here['name']!r} has columns with collations that its definition does not show: remove them."
        ) from None
    return {
        column.name: constraint.this.sql("duckdb")
        for column in parsed.find_all(exp.ColumnDef)
        for constraint in column.find_all(exp.CollateColumnConstraint)
    }


def triggers_of(engine: Engine) -> tuple[Trigger, ...]:
    return tuple(Trigger(*row) for row in engine.rows(sql.statement("in_place/triggers"), "triggers of the database"))


def lookups_left(tables: Iterable[OtherTable], views: Sequence[ViewFacts]) -> tuple[str, ...]:
    """Return the names of tables in schema kanon whose views are gone: the tables list values."""
    return tuple(
        table.name
        for table in tables
        if table.schema == SCHEMA
        and table.name not in REMEMBERING
        and not table.name.startswith(("hierarchy_", WAITING))
        and not any(_mentions(view.definition, table.name) for view in views)
    )


def tables_of(engine: Engine) -> list[OtherTable]:
    return [
        OtherTable(schema, name, comment, tuple(stored or ()), tuple(referenced or ()))
        for schema, name, comment, stored, referenced in engine.rows(
            sql.statement("in_place/tables"), "tables of the database"
        )
    ]


def _lists(
    engine: Engine, going: frozenset[tuple[str, str]], views: Iterable[ViewFacts], macros: Iterable[tuple[str, str]]
) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Return the ENUM types that no column of a remaining table has, and their lists as written in types.

    Refuse if a view, a macro or the definition of another table needs one of them.
    """
    staying: set[str] = set()
    own: set[str] = set()
    for schema, table, kind, is_table in engine.rows(
        sql.statement("in_place/enum_columns"), "columns that list values"
    ):
        if is_table:
            (own if (schema, table) in going else staying).update(_VALUES.findall(kind))
    texts = {f"view {view.name}": view.definition for view in views}
    texts |= {f"macro {name}": definition for name, definition in macros}
    expressions = [
        (table, text)
        for schema, table, text in engine.rows(sql.statement("in_place/expressions"), "expressions of tables")
        if (schema, table) not in going
    ]
    found = []
    for schema, name, labels in engine.rows(sql.statement("in_place/types"), "types that list values"):
        listed = f"ENUM({', '.join(sql.literal(label).sql('duckdb') for label in labels)})"
        if listed in staying:
            continue
        users = [user for user, text in texts.items() if _mentions(text, name)]
        users += sorted({f"table {table}" for table, text in expressions if _casts_to(text, name)})
        if users:
            raise UsageError(
                f"Type {name!r} lists values that go, and is named by {', '.join(users)}: change or drop that."
            )
        own.add(listed)
        found.append((schema, name))
    return tuple(found), frozenset(own - staying)


# Views and macros


def views_of(engine: Engine) -> list[ViewFacts]:
    found = []
    for schema, name, definition, comment, comments in engine.rows(
        sql.statement("in_place/views"), "views of the database"
    ):
        reads, columns = _read_by(definition)
        of_columns = tuple((each["name"], each["comment"]) for each in comments or ())
        found.append(ViewFacts(schema, name, definition, comment, of_columns, reads, columns))
    return found


def _views_over(views: Iterable[ViewFacts], schema: str, name: str) -> tuple[ViewFacts, ...]:
    """Return the views that read a table, directly or through others, each after those that it reads."""
    waiting, over = list(views), [(schema, name)]
    found: list[ViewFacts] = []
    while more := [view for view in waiting if any(view.may_read(*relation) for relation in over)]:
        found += more
        over += [(view.schema, view.name) for view in more]
        waiting = [view for view in waiting if view not in found]
    return tuple(in_order_of_reading(found))


def in_order_of_reading(views: Sequence[ViewFacts]) -> list[ViewFacts]:
    return in_turn(views, lambda view, other: other is not view and view.may_read(other.schema, other.name))


def in_turn(waiting: Sequence[Item], comes_after: Callable[[Item, Item], bool]) -> list[Item]:
    """Sort items; those in a cycle keep their order."""
    found: list[Item] = []
    while waiting:
        found += [one for one in waiting if not any(comes_after(one, other) for other in waiting)] or waiting
        waiting = [one for one in waiting if one not in found]
    return found


def _mentions(text: str, name: str) -> bool:
    """Return True if a text contains a name, as a word or in quotes."""
    return re.search(rf"(?<!\w){re.escape(folded(name).replace(chr(34), chr(34) * 2))}(?!\w)", folded(text)) is not None


def _casts_to(expression: str, name: str) -> bool:
    """Return True if an expression, as DuckDB writes it, casts to a type."""
    written = re.escape(folded(name).replace(chr(34), chr(34) * 2))
    return re.search(rf"\bas (?:\S+\.)?\"?{written}\"?(?!\w)", folded(expression)) is not None


def try_views(
    old: Engine, opened: Callable[[], AbstractContextManager[Engine]], over: Sequence[ViewFacts], tables: Sequence[str]
) -> None:
    """Read every view over tables in the new database, and bind all others; refuse if one that worked before fails."""
    with opened() as new:
        read = {(view.schema, view.name) for view in over}
        others = [view for view in views_of(new) if (view.schema, view.name) not in read]
        failing = [view for view in (*over, *others) if not _works(new, view, is_read=view in over)]
    if broken := [view.name for view in failing if _works(old, view, is_read=view in over)]:
        as_before = f"{', '.join(map(repr, tables))} as {'it was' if len(tables) == 1 else 'they were'}"
        raise UsageError(
            f"Views would fail without {as_before} ({', '.join(broken)}): they use columns that are gone, or take "
            "labels for numbers or dates. Change or drop them first. Nothing was changed."
        )


def _works(engine: Engine, view: ViewFacts, *, is_read: bool) -> bool:
    """Return True if everything that a view names exists, and its rows can be read."""
    relation = sql.relation(view.name, view.schema)
    try:
        columns = engine.columns(relation)
        if is_read:
            row = unused_name("kanon_row", [column.name for column in columns])
            hashed = sql.named(exp.Anonymous(this="HASH", expressions=[sql.column(row)]), row)
            every = exp.select(hashed).from_(sql.aliased(relation, row)).subquery("rows")
            engine.row(exp.select(exp.Count(this=sql.column(row))).from_(every), f"does the view {view.name} work?")
    except SourceError:
        return False
    return True


def _read_by(definition: str) -> tuple[frozenset[tuple[str, str]] | None, frozenset[str]]:
    """Return the relations and columns that a view names; sqlglot cannot parse everything that DuckDB can."""
    parsed: exp.Expr | None = None
    with suppress(SqlglotError):
        parsed = sqlglot.parse_one(definition, read="duckdb")
    if not isinstance(parsed, exp.Create) or parsed.expression is None:
        return None, frozenset({ALL_COLUMNS})
    query = parsed.expression
    tables = list(query.find_all(exp.Table))
    reads = frozenset((folded(table.db), folded(table.name)) for table in tables)
    columns = {folded(column.name) for column in query.find_all(exp.Column)}
    columns |= {folded(name.name) for join in query.find_all(exp.Join) for name in join.args.get("using") or ()}
    whole = {folded(table.alias_or_name) for table in tables} & columns  # a row used as a value
    if whole or any(isinstance(star.parent, exp.Select) for star in query.find_all(exp.Star)):
        columns.add(ALL_COLUMNS)
    return reads, frozenset(columns)
