"""A release as a view: the requirements, and the tables in the schema ``kanon`` that the view reads."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.errors import NoRightError, UsageError
from kanon_sql.hierarchy.expressions import levels_columns
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.release.publication import GENERALIZED, joined_hierarchies
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import release_query
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import NATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.publication import Publication


NO_VIEW_OF_RULES = (
    "A view makes its rows when it is read, and columns that are published by a rule are made once, for a release: "
    "make a table or a file, or leave --publish out."
)
NO_VIEW_OF_PSEUDONYMS = (
    "A view makes its rows when it is read, and would need the key of pseudonyms in the database: make a table or a "
    "file, or leave --pseudonymize out."
)


def require_viewable(publication: Publication) -> None:
    """Raise if a release cannot be a view because of its pseudonyms, its population, or its recoding."""
    if publication.pseudonyms is not None:
        raise UsageError(NO_VIEW_OF_PSEUDONYMS)
    if publication.rules is not None:
        raise UsageError(NO_VIEW_OF_RULES)
    if publication.population is not None:
        raise UsageError(
            "A view would have to read the population at every look, wherever that is then: make a table or a file."
        )
    statements_for(publication).require_viewable()


def view_lookups(publication: Publication, view: str) -> dict[str, exp.Table]:
    """Return the tables that store the hierarchies of a view."""
    return {
        hierarchy.column.name: sql.relation(f"{without_dots(view)}.{without_dots(hierarchy.column.name)}", SCHEMA)
        for hierarchy in (*publication.hierarchies, *publication.trees_compared)
    }


def publication_of_view(publication: Publication, view: str) -> Publication:
    """Return the publication of a view: its recoding has its own tables in the schema ``kanon``."""

    def own(name: str) -> exp.Table:
        return sql.relation(f"{without_dots(view)}..{name}", SCHEMA)  # two dots: no column has such a name

    return replace(publication, recoding=publication.recoding.of_view(own))


def without_dots(name: str) -> str:
    """Return a name whose dots cannot be confused with the one between a view and a column."""
    return name.replace("%", "%25").replace(".", "%2E")


def with_trees_of(publication: Publication, lookups: Mapping[str, exp.Table]) -> Publication:
    """Return a publication with the hierarchies of sensitive columns that a view stores."""
    trees = {name: replace(tree, stored=lookups.get(name, tree.stored)) for name, tree in publication.trees.items()}
    return replace(publication, trees=trees)


def view_statements(
    publication: Publication,
    view: str,
    staging: exp.Table,
    from_lookups: Mapping[str, exp.Table],
    *,
    materialized: bool = False,
) -> tuple[exp.Expr, ...]:
    """Return the statements that make a view, and the tables that it joins from the existing lookups.

    A materialized view stores only its own rows; every other view is secure.
    """
    lookups = view_lookups(publication, view)
    statements: list[exp.Expr] = [exp.Create(this=exp.Table(db=sql.identifier(SCHEMA)), kind="SCHEMA", exists=True)]
    for hierarchy in joined_hierarchies(publication):
        table = lookups[hierarchy.column.name]
        given = from_lookups.get(hierarchy.column.name, hierarchy.readable)
        rows = exp.select(*levels_columns(hierarchy.height)).from_(given.copy())
        statements += [sql.drop(table), sql.create_table(table, rows)]
    viewed = with_trees_of(publication_of_view(publication, view), lookups)
    for ours, theirs in zip(publication.recoding.tables, viewed.recoding.tables, strict=True):
        statements += [sql.drop(theirs), sql.create_table(theirs, exp.select("*").from_(ours.copy()))]
    create = sql.create_view(staging, release_query(viewed, lookups, live=True), secure=not materialized)
    if materialized:
        create.set("properties", exp.Properties(expressions=[exp.MaterializedProperty()]))
    return (*statements, create)


def hidden_rows(source: Source) -> int | None:
    """Count the rows of the table behind a view that it leaves out because it does not know their values.

    These values appeared after the view was made, and its hierarchies or cuts lack them. The view's own statement
    counts them, up to the step that leaves out classes that are too small.

    Returns:
        None if the source is not a view of kanon's, or the table behind it may not be read.
    """
    view = _definition(source)
    generalized = next((step for step in view.ctes if step.alias == GENERALIZED), None) if view else None
    rows = generalized and next((table for table in generalized.find_all(exp.Table) if table.alias == "source"), None)
    if view is None or not rows:
        return None
    behind = exp.select(sql.count_rows()).from_(sql.relation(rows.name, rows.db or None, rows.catalog or None))
    known = exp.select(sql.count_rows()).from_(sql.relation(GENERALIZED))
    counted = exp.select(exp.Sub(this=behind.subquery(), expression=known.subquery()))
    counted.set("with_", view.args["with_"].copy())
    counted.meta[NATIVE] = source.holder.dialect
    with suppress(NoRightError):
        return int(source.holder.rows(counted, "rows of the table whose values the view does not know")[0][0])
    return None


def _definition(source: Source) -> exp.Select | None:
    """Return the query of a view; None if the source is not a view, or sqlglot cannot parse it."""
    text = source.engine.definition_of(source.relation, "is it a view?")
    with suppress(SqlglotError):
        parsed = None if text is None else sqlglot.parse_one(text, read=source.holder.dialect)
        query = parsed.expression if isinstance(parsed, exp.Create) else parsed
        return query if isinstance(query, exp.Select) else None
    return None
