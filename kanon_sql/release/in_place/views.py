"""Views and macros that read a table which is to be replaced or to go."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from kanon_sql.engine.base import Engine

ALL = "*"


@dataclass(frozen=True)
class ViewFacts:
    """A view of the database.

    Attributes:
        schema: where it is.
        name: what it is called.
        definition: its statement, as DuckDB writes it.
        comment: of the view.
        comments: names of its columns, and their comments.
        reads: schema (if it says one) and name of each relation that it reads, folded; None where that is not known.
        columns: the names of all columns in it, folded; ``*`` where it may take all that there are.
    """

    schema: str
    name: str
    definition: str
    comment: str | None
    comments: tuple[tuple[str, str], ...]
    reads: frozenset[tuple[str, str]] | None
    columns: frozenset[str]

    def may_read(self, schema: str, name: str) -> bool:
        """Tell whether it reads a relation, or may do so."""
        if self.reads is None:
            return mentions(self.definition, name)
        return (folded(schema), folded(name)) in {(db or folded(schema), table) for db, table in self.reads}

    def again(self, database: str) -> list[exp.Expr]:
        """Return the statements that make it again in another database, which is the current one by then.

        DuckDB keeps the types of its columns with it, as they were when it was made: lists of values among them.
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


def views_of(engine: Engine) -> list[ViewFacts]:
    """Return all views of the database."""
    found = []
    for schema, name, definition, comment, comments in engine.rows(
        sql.statement("in_place/views"), "views of the database"
    ):
        reads, columns = _read_by(definition)
        of_columns = tuple((each["name"], each["comment"]) for each in comments or ())
        found.append(ViewFacts(schema, name, definition, comment, of_columns, reads, columns))
    return found


def views_over(views: Iterable[ViewFacts], schema: str, name: str) -> tuple[ViewFacts, ...]:
    """Return the views that read a table, at any depth, each after those that it reads."""
    waiting, over = list(views), [(schema, name)]
    found: list[ViewFacts] = []
    while more := [view for view in waiting if any(view.may_read(*relation) for relation in over)]:
        found += more
        over += [(view.schema, view.name) for view in more]
        waiting = [view for view in waiting if view not in found]
    ordered: list[ViewFacts] = []
    while found:
        ready = [
            view
            for view in found
            if not any(other is not view and view.may_read(other.schema, other.name) for other in found)
        ]
        ordered += ready or found
        found = [view for view in found if view not in ordered]
    return tuple(ordered)


def macros_over(engine: Engine, name: str) -> list[str]:
    """Return the names of the macros in whose text the name of a table stands."""
    macros = engine.rows(sql.statement("in_place/macros"), "macros of the database")
    return [macro for macro, definition in macros if mentions(definition, name)]


def mentions(text: str, name: str) -> bool:
    """Tell whether a name stands in a text, as a word or in quotes."""
    return re.search(rf"(?<!\w){re.escape(folded(name).replace(chr(34), chr(34) * 2))}(?!\w)", folded(text)) is not None


def try_views(
    old: Engine, opened: Callable[[], AbstractContextManager[Engine]], over: Sequence[ViewFacts], name: str
) -> None:
    """Read every view over a table in the new database; of the others, see whether they still can be bound.

    Args:
        old: the engine of the old database.
        opened: opens the new one.
        over: the views over the table.
        name: of the table.

    Raises:
        UsageError: one fails that does not fail in the old one.
    """
    with opened() as new:
        failing = [(view, _is_read) for view in over if not _is_read(new, view)]
        others = [view for view in views_of(new) if (view.schema, view.name) not in {(v.schema, v.name) for v in over}]
        failing += [(view, _is_bound) for view in others if not _is_bound(new, view)]
    if broken := [view.name for view, works in failing if works(old, view)]:
        raise UsageError(
            f"Views would fail without {name!r} as it was ({', '.join(broken)}): they use columns that are gone, or "
            "take labels for numbers or dates. Change or drop them first. Nothing was changed."
        )


def _is_read(engine: Engine, view: ViewFacts) -> bool:
    """Tell whether all rows of a view can be read."""
    relation = sql.relation(view.name, view.schema)
    try:
        row = unused_name("kanon_row", [column.name for column in engine.columns(relation)])
        hashed = sql.named(exp.Anonymous(this="HASH", expressions=[sql.column(row)]), row)
        every = exp.select(hashed).from_(sql.aliased(relation, row)).subquery("rows")
        engine.row(exp.select(exp.Count(this=sql.column(row))).from_(every), f"does the view {view.name} work?")
    except SourceError:
        return False
    return True


def _is_bound(engine: Engine, view: ViewFacts) -> bool:
    """Tell whether a view can be bound: all that it names is there."""
    try:
        engine.columns(sql.relation(view.name, view.schema))
    except SourceError:
        return False
    return True


def _read_by(definition: str) -> tuple[frozenset[tuple[str, str]] | None, frozenset[str]]:
    """Return what relations and columns a view names; sqlglot does not read all that DuckDB does."""
    parsed: exp.Expr | None = None
    with suppress(SqlglotError):
        parsed = sqlglot.parse_one(definition, read="duckdb")
    if not isinstance(parsed, exp.Create) or parsed.expression is None:
        return None, frozenset({ALL})
    query = parsed.expression
    tables = list(query.find_all(exp.Table))
    reads = frozenset((folded(table.db), folded(table.name)) for table in tables)
    columns = {folded(column.name) for column in query.find_all(exp.Column)}
    columns |= {folded(name.name) for join in query.find_all(exp.Join) for name in join.args.get("using") or ()}
    whole = {folded(table.alias_or_name) for table in tables} & columns  # a row as a value
    if whole or any(isinstance(star.parent, exp.Select) for star in query.find_all(exp.Star)):
        columns.add(ALL)
    return reads, frozenset(columns)
