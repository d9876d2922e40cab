"""Anonymization in place: the statements that make a new database with everything from the old one but the raw tables.

1. schema      all definitions; then the tables are dropped and defined again, in the same transaction, so that nothing
of the old definitions is ever written
2. rows        of all other tables, in the order of their foreign keys
3. releases    the rows of the release
4. after       indexes and comments

A column is *unchanged* if it is published with its original values; rows may be missing. A constraint, a default or a
unique index stays if it involves unchanged columns only. Over labels or an unpublished column it would mean something
else or nothing, and its text may hold values. NOT NULL stays with its column, and so does an index that is not unique.
In tables that are released together, keys are *pseudonyms*, which are as unique as the keys were: unique constraints
stay, and a foreign key stays if the release promises that the rows it refers to exist.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from kanon_sql.engine.equality import published_type
from kanon_sql.engine.sources.open_source import RELEASES
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.given import SCHEMA, stored_hierarchies
from kanon_sql.release.in_place.facts import (
    ALL_COLUMNS,
    in_order_of_reading,
    in_turn,
    lookups_left,
    tables_of,
    triggers_of,
    views_of,
)
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Engine
    from kanon_sql.release.in_place.facts import (
        ColumnFacts,
        ConstraintFacts,
        IndexFacts,
        OtherTable,
        TableFacts,
        ViewFacts,
    )
    from kanon_sql.release.publication import Publication


@dataclass(frozen=True)
class Substitute:
    """The replacement of a table."""

    facts: TableFacts  # the table and its dependencies
    types: Mapping[str, str]  # names and types of the published columns, in order
    unchanged: Sequence[str]  # names of columns that are published with their original values
    query: exp.Query
    # Columns with a pseudonym for each value. For each, the folded schema, table and column that it refers to if all of
    # these values exist there; otherwise None.
    pseudonyms: Mapping[str, tuple[str, str, str] | None] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, str]:
        return _place(self.facts)


@dataclass(frozen=True)
class Replaced:
    """A table in the new database, with its changes."""

    facts: TableFacts  # of the old one
    target: exp.Table  # the new one
    release: exp.Insert  # inserts the rows of the release
    table: exp.Create  # the table with the columns of the release, as a definition under its own name
    indexes: tuple[exp.Expr, ...]  # statements that make its indexes again
    comments: tuple[exp.Expr, ...]  # statements that set the comments of the table and its columns
    unchanged: Sequence[str]  # names of columns that are published with their original values
    constraints: tuple[ConstraintFacts, ...]  # those that stay
    kept: tuple[str, ...]  # constraints and indexes that stay, as text
    removed: tuple[str, ...]  # removed columns, constraints, defaults, indexes and triggers, each with the reason
    views: tuple[str, ...]  # views that read a column that now holds labels, and macros that name the table


@dataclass(frozen=True)
class Rewrite:
    """The statements by purpose, in the order in which they run."""

    new: str  # the name of the new database
    schema: tuple[exp.Expr, ...]  # run in one transaction
    copied: tuple[OtherTable, ...]  # the other tables
    rows: tuple[exp.Expr, ...]  # inserts the rows of these
    tables: tuple[Replaced, ...]  # replaced tables, each after those that it refers to
    left_out: tuple[TableFacts, ...]  # tables that are removed
    views_left_out: tuple[exp.Table, ...]  # views that are removed
    views: tuple[ViewFacts, ...]  # the views over any of them, each after those that it reads
    triggers: tuple[exp.Expr, ...]  # triggers of other tables, made after all rows are in
    hierarchies: tuple[str, ...]  # tables of hierarchies that are removed because they list values of the tables
    types: tuple[tuple[str, str], ...]  # schemas and names of types that are removed for the same reason

    @property
    def after(self) -> list[exp.Expr]:
        return [made for one in self.tables for made in (*one.indexes, *one.comments)]

    @property
    def views_again(self) -> list[exp.Expr]:
        """Statements that make the views again; one that failed before fails here too, and stays as it was."""
        return [statement for view in self.views for statement in view.again(self.new)]

    def statements(self, old: Path, database: str) -> tuple[exp.Expr, ...]:
        """Return all statements, starting with attaching a file beside the old one; ``database`` is the old one."""
        file = old.with_name(f"{old.stem}.new{old.suffix}")
        attach = exp.Attach(this=exp.Alias(this=sql.literal(str(file)), alias=sql.identifier(self.new)))
        releases = [one.release for one in self.tables]
        made = (attach, exp.Transaction(), *self.schema, exp.Commit(), *self.rows, *releases, *self.after)
        if not (self.views or self.triggers):
            return made
        return (*made, in_database(self.new), *self.views_again, *self.triggers, in_database(database))


def substitute_of(facts: TableFacts, publication: Publication, query: exp.Query) -> Substitute:
    """Return the replacement of the single table of a publication."""
    return Substitute(facts, publication.published_types, _unchanged_columns(publication), query)


def rewrite_of(
    engine: Engine,
    substitutes: Sequence[Substitute],
    new: str,
    left_out: Sequence[TableFacts] = (),
    views_left_out: Sequence[exp.Table] = (),
) -> Rewrite:
    """Return the statements that make the database ``new`` from the current one.

    If tables are replaced by substitutes, hierarchies that list their values are removed too, and the ledger forgets
    their releases. If tables are only left out, everything else stays.
    """
    tables, old = tables_of(engine), current_database(engine)
    stored = stored_hierarchies(engine).values() if substitutes else ()
    facts = [*(one.facts for one in substitutes), *left_out]
    by_place = {one.place: one for one in substitutes}
    going = {_place(one) for one in facts}
    own = {folded(column.name) for one in facts for column in one.columns}
    hierarchies = [tree.relation.name for tree in stored if folded(tree.column) in own]
    hierarchies += lookups_left(tables, views_of(engine))
    referred_first = in_order([table for table in tables if _place(table) in going])
    replaced = [
        _replaced(by_place[_place(table)], by_place, going, new)
        for table in referred_first
        if _place(table) in by_place
    ]
    names = (sql.identifier(name).sql("duckdb") for name in (old, new))
    schema: list[exp.Expr] = [exp.Command(this="COPY", expression="FROM DATABASE {} TO {} (SCHEMA)".format(*names))]
    schema += [sql.drop(sql.relation(view.name, view.db, new), "VIEW") for view in views_left_out]
    schema += [sql.drop(sql.relation(table.name, table.schema, new)) for table in reversed(referred_first)]
    schema += [sql.drop(sql.relation(name, SCHEMA, new)) for name in hierarchies]
    types = tuple(dict.fromkeys(name for one in facts for name in one.lists))
    schema += [sql.drop(sql.relation(name, in_schema, new), "TYPE") for in_schema, name in types]
    schema += [one.table for one in replaced]
    staying = [
        table
        for table in tables
        if _place(table) not in going and not (table.schema == SCHEMA and table.name in hierarchies)
    ]
    without = [(one.schema, one.name) for one in facts] if substitutes else ()
    rows = tuple(_copied(table, old, new, without) for table in in_order(staying))
    triggers = [each for each in triggers_of(engine) if (each.schema, folded(each.table)) not in going]
    gone = {(view.db, folded(view.name)) for view in views_left_out}
    over = dict.fromkeys(view for one in facts for view in one.views if (view.schema, folded(view.name)) not in gone)
    views = in_order_of_reading([*over])
    again: list[exp.Expr] = []
    for each in triggers:  # DuckDB does not copy triggers
        text = each.definition.removeprefix("CREATE ").rstrip(";")
        again += [in_database(new, each.schema), exp.Command(this="CREATE", expression=text)]
    made = (tuple(schema), tuple(staying), rows, tuple(replaced), tuple(left_out), tuple(views_left_out), tuple(views))
    return Rewrite(new, *made, tuple(again), tuple(hierarchies), types)


def _place(table: TableFacts | OtherTable) -> tuple[str, str]:
    return table.schema, folded(table.name)


def in_database(name: str, schema: str | None = None) -> exp.Use:
    return exp.Use(this=exp.Table(this=sql.identifier(name)) if schema is None else sql.relation(schema, name))


def _copied(table: OtherTable, old: str, new: str, without: Collection[tuple[str, str]]) -> exp.Insert:
    """Return the statement that copies a table; the ledger is copied without releases of replaced tables."""
    columns = [sql.identifier(name) for name in table.columns]
    rows = exp.select(*(sql.column(name) for name in table.columns)).from_(sql.relation(table.name, table.schema, old))
    if (table.schema, table.name) == (SCHEMA, RELEASES):
        names = ("source_schema", "source_name")
        for place in without:
            about = [
                exp.EQ(this=sql.column(name), expression=sql.literal(value))
                for name, value in zip(names, place, strict=True)
            ]
            rows = rows.where(exp.not_(sql.all_of(about)))
    into = exp.Schema(this=sql.relation(table.name, table.schema, new), expressions=columns)
    return exp.Insert(this=into, expression=rows)


def in_order(tables: Sequence[OtherTable]) -> list[OtherTable]:
    """Sort tables so that each comes after those that its foreign keys refer to."""

    def refers(table: OtherTable, other: OtherTable) -> bool:
        return (
            other is not table and other.schema == table.schema and folded(other.name) in map(folded, table.referenced)
        )

    return in_turn(tables, refers)


def _replaced(
    one: Substitute, others: Mapping[tuple[str, str], Substitute], going: set[tuple[str, str]], new: str
) -> Replaced:
    facts, types = one.facts, one.types
    target = sql.relation(facts.name, facts.schema, new)
    into = exp.Schema(this=target.copy(), expressions=[sql.identifier(name) for name in types])
    by_name = {column.name: column for column in facts.columns}
    kept: list[str] = []
    removed: list[str] = []
    definitions: list[exp.Expr] = [
        _definition(by_name[name], kind, one, removed) for name, kind in types.items() if name in by_name
    ]
    removed += [f"column {column.name} (not published)" for column in facts.columns if column.name not in types]
    staying = []
    for constraint in facts.constraints:
        if (why := _goes(constraint, one, others, going)) is None:
            staying.append(constraint)
            kept.append(constraint.name)
        else:
            removed.append(f"{constraint.name}: {why}")
    definitions += [_constraint(constraint, target) for constraint in staying]
    indexes = []
    for index in facts.indexes:
        made, why = _index(index, target, set(types), [*one.unchanged, *one.pseudonyms])
        if why is None:
            indexes.append(made)
            kept.append(f"index {index.name}")
        else:
            removed.append(f"index {index.name}: {why}")
    removed += [f"trigger {each.name}" for each in facts.triggers]
    return Replaced(
        facts,
        target,
        release=exp.Insert(this=into, expression=one.query),
        table=exp.Create(this=exp.Schema(this=target.copy(), expressions=definitions), kind="TABLE"),
        indexes=tuple(indexes),
        comments=_comments(facts, set(types), target, kept),
        unchanged=one.unchanged,
        constraints=tuple(staying),
        kept=tuple(kept),
        removed=tuple(removed),
        views=_altered_views(facts, one.unchanged, set(types)),
    )


def _altered_views(facts: TableFacts, same: Sequence[str], published: set[str]) -> tuple[str, ...]:
    """Return macros over a table, and views that read an altered column: by its name, a star, or such a view."""
    altered = {folded(column.name) for column in facts.columns if column.name not in same}
    gone = {folded(column.name) for column in facts.columns if column.name not in published}
    found: dict[str, str] = {}
    for view in facts.views:  # each comes after those that it reads
        reads_one = any(view.may_read(other.schema, other.name) for other in facts.views if other.name in found)
        takes_all = ALL_COLUMNS in view.columns and view.may_read(facts.schema, facts.name)
        if view.columns & gone:
            found[view.name] = f"{view.name} (names a column that is gone)"
        elif takes_all or reads_one or view.columns & altered:
            found[view.name] = view.name
    return (*found.values(), *(f"macro {name} (not tried)" for name in facts.macros))


def _unchanged_columns(publication: Publication) -> list[str]:
    """Return the names of the published columns with the values and type of the source."""
    recoded = {
        name
        for number, name in enumerate(publication.quasi_identifiers)
        if publication.recoding.levels_of(number) != (0,)
    }
    replaced = set() if publication.pseudonyms is None else set(publication.pseudonyms.names)
    replaced |= set() if publication.rules is None else set(publication.rules.names)
    return [
        column.name
        for column in publication.columns
        if column.name not in recoded | replaced
        and publication.published_types[column.name] == column.type == published_type(column)
    ]


def _definition(column: ColumnFacts, kind: str, one: Substitute, removed: list[str]) -> exp.ColumnDef:
    constraints: list[exp.Expr] = []
    stays = column.name in one.unchanged
    now = "pseudonyms" if column.name in one.pseudonyms else "labels"
    if column.collation is not None and stays:
        constraints.append(exp.ColumnConstraint(kind=exp.CollateColumnConstraint(this=_as_it_is(column.collation))))
    elif column.collation is not None:
        removed.append(f"collation of {column.name} ({now})")
    if not column.nullable:
        constraints.append(exp.ColumnConstraint(kind=exp.NotNullColumnConstraint()))
    if column.generated:
        removed.append(f"computation of {column.name} (its values are published)")
    elif column.default is not None and stays:
        default = exp.Paren(this=_as_it_is(column.default))
        constraints.append(exp.ColumnConstraint(kind=exp.DefaultColumnConstraint(this=default)))
    elif column.default is not None:
        removed.append(f"default of {column.name} ({now})")
    return exp.ColumnDef(this=sql.identifier(column.name), kind=_as_it_is(kind), constraints=constraints)


def _goes(
    constraint: ConstraintFacts,
    one: Substitute,
    others: Mapping[tuple[str, str], Substitute],
    going: set[tuple[str, str]],
) -> str | None:
    """Return why a constraint is removed; None if it stays."""
    place = there = None
    if constraint.referenced is not None:
        table, there = constraint.referenced
        place = one.facts.schema, folded(table)
    if place is not None and place in others and there is not None and len(there) == 1:
        promised = one.pseudonyms.get(constraint.columns[0])
        if promised == (*place, folded(there[0])):
            return None
    is_unique = constraint.kind in {"PRIMARY KEY", "UNIQUE"}
    stay = {*one.unchanged, *(one.pseudonyms if is_unique else ())}
    if changed := [name for name in constraint.columns if name not in stay]:
        return f"{', '.join(changed)} changed"
    return "refers to rows that may be suppressed" if place is not None and place in going else None


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
    """Return a type or an expression exactly as DuckDB writes it: some would be parsed differently."""
    return exp.var(text)


def _index(
    index: IndexFacts, target: exp.Table, published: set[str], same: Sequence[str]
) -> tuple[exp.Expr, str | None]:
    """Return the statement that makes an index again, and why it is removed; None if it stays."""
    made = sqlglot.parse_one(index.text, read="duckdb")
    named = {folded(column.name) for column in made.find_all(exp.Column)}
    if not all(isinstance(ordered.this, exp.Column) for ordered in made.find_all(exp.Ordered)):
        return made, "it is over an expression"
    allowed = set(same) if index.unique else published
    if changed := sorted(named - {folded(name) for name in allowed}):
        return made, f"{', '.join(changed)} changed"
    for table in made.find_all(exp.Table):
        table.replace(target.copy())
    return made, None


def _comments(facts: TableFacts, published: set[str], target: exp.Table, kept: Sequence[str]) -> tuple[exp.Expr, ...]:
    place = {"db": sql.identifier(target.db), "catalog": sql.identifier(target.catalog)}
    said: list[tuple[str, exp.Expr, str | None]] = [("TABLE", target.copy(), facts.comment)]
    for column in facts.columns:
        if column.name in published:
            named = exp.Column(this=sql.identifier(column.name), table=sql.identifier(target.name), **place)
            said.append(("COLUMN", named.copy(), column.comment))
    said += [
        ("INDEX", sql.relation(index.name, target.db, target.catalog), index.comment)
        for index in facts.indexes
        if f"index {index.name}" in kept
    ]
    return tuple(
        exp.Comment(this=what, kind=kind, expression=sql.literal(comment))
        for kind, what, comment in said
        if comment is not None
    )


# Running them


def current_database(engine: Engine) -> str:
    (name,) = engine.row(exp.select(exp.Anonymous(this="current_database")), "the database we are in")
    return str(name)


def require_copyable(engine: Engine, tables: Iterable[OtherTable]) -> None:
    """Raise if a table to be copied refers to itself: DuckDB checks each row against the rows that existed before."""
    for table in tables:
        if folded(table.name) in map(folded, table.referenced):
            rows = exp.select(sql.literal(1)).from_(sql.relation(table.name, table.schema)).limit(1)
            if engine.rows(rows, "has the table rows?"):
                raise UsageError(f"Table {table.name!r} has a foreign key to itself: drop that key first.")


def run_rewrite(engine: Engine, rewrite: Rewrite, old: str) -> None:
    """Run the statements; ``old`` is the current database at the end."""
    _copy_definitions(engine, rewrite.schema)
    for statement in rewrite.rows:
        engine.run(statement, "rows of another table")
    for one in rewrite.tables:
        engine.run(one.release, "make the release")
    for statement in rewrite.after:
        engine.run(statement, "indexes and comments")
    try:
        engine.run(in_database(rewrite.new), "views and triggers name other objects")
        for statement in rewrite.views_again:
            with suppress(SourceError):  # one that failed before stays as it was; the others are tried below
                engine.run(statement, "a view over the table")
        _make_triggers(engine, rewrite.triggers)
    finally:
        engine.run(in_database(old), "back to the table")


def _copy_definitions(engine: Engine, statements: Sequence[exp.Expr]) -> None:
    """Copy all definitions in one transaction, so that definitions dropped in it are never written."""
    try:
        with engine.transaction():
            for statement in statements:
                engine.run(statement, "definitions of the new database")
    except SourceError as error:
        why = (
            "DuckDB cannot copy every definition, such as a type that is another name of an ENUM. Nothing was changed."
        )
        raise SourceError(f"{error} {why}") from None


def _make_triggers(engine: Engine, statements: Sequence[exp.Expr]) -> None:
    """Make triggers again; refuse if one names a removed column."""
    try:
        for statement in statements:
            engine.run(statement, "triggers")
    except SourceError:
        why = "it uses a column that is gone, or takes labels for numbers. Change or drop it first"
        raise UsageError(f"A trigger of another table cannot be made again: {why}. Nothing was changed.") from None


def require_no_lists(new: Engine, listed: frozenset[str]) -> None:
    """Raise if a view that could not be made again has a list of values in its columns that was to be removed."""
    found = new.rows(sql.statement("in_place/enum_columns"), "lists of values in the new database")
    if left := sorted({name for _, name, kind, _ in found if any(each in kind for each in listed)}):
        raise UsageError(
            f"{', '.join(left)} cannot be read, and lists values that are to go: drop it first. Nothing was changed."
        )
