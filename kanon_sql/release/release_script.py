"""The script of a release: what is run, for each destination."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.script import lookup_statement, rule_of
from kanon_sql.release.in_place.publish import in_place_statements
from kanon_sql.release.publish.duckdb import DATABASE, check_file
from kanon_sql.release.publish.file_formats import copy_statement, reading_back, spreadsheet_safe
from kanon_sql.release.publish.new_database import database_statements
from kanon_sql.release.published_values import published_values
from kanon_sql.release.script import Plan, joined_hierarchies, levels_joined, release_plan
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.release.statements.view import require_viewable, view_lookups, view_statements
from kanon_sql.release.target import check_target, kind_of
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.policy.destination import Destination
    from kanon_sql.release.publication import Publication
    from kanon_sql.search.prepare import Prepared

_IN_PLACE = "A new database with the release and all else; verified, its file takes the name of the old one"


def release_plan_of(
    prepared: Prepared,
    publication: Publication,
    destination: Destination,
    *,
    stands_alone: bool = False,
    dialect: str = "duckdb",
) -> Plan:
    """Return the statements from source to release; of what they must write out, values of published rows only.

    Args:
        prepared: what is anonymized.
        publication: what is published.
        destination: where the release goes; where it does not say, the statement returns its rows.
        stands_alone: whether the source and all hierarchies are to be found elsewhere than here.
        dialect: of the script: what it cannot say of the rule of a hierarchy is written out.

    Raises:
        UsageError: without the values of rows that are not published the script would make another release.
    """
    # The view that has pseudonyms is made after the hierarchies.
    own = None if publication.pseudonyms is not None else publication.source
    keeps_lookups = destination.into is not None and destination.kind != "table"
    levels = {} if keeps_lookups else levels_joined(publication)
    if not keeps_lookups:
        publication = statements_for(publication).read_only_cut(prepared.source.engine)

    def is_written_out(hierarchy: Hierarchy) -> bool:
        is_there = hierarchy.stored is not None and not stands_alone
        return not is_there and rule_of(hierarchy, dialect, levels.get(hierarchy.column.name), own) is None

    joined = [hierarchy.column.name for hierarchy in joined_hierarchies(publication)]
    written = [
        number
        for number, hierarchy in enumerate(publication.hierarchies)
        if hierarchy.column.name in joined and is_written_out(hierarchy)
    ]
    with published_values(prepared, publication, written) as published:

        def lookup(hierarchy: Hierarchy) -> exp.Create:
            name = hierarchy.column.name
            only = published.conditions.get(name)
            return lookup_statement(
                prepared.source.engine, hierarchy, dialect=dialect, levels=levels.get(name), source=own, only=only
            )

        known = replace(publication, partial=published.partial)
        return plan_of(prepared.source, known, destination, lookup, stands_alone=stands_alone)


def plan_of(
    source: Source,
    publication: Publication,
    destination: Destination,
    lookup: Callable[[Hierarchy], exp.Create],
    *,
    stands_alone: bool = False,
) -> Plan:
    """Return the statements from source to release.

    Args:
        source: what is anonymized.
        publication: what is published.
        destination: where the release goes; where it does not say, the statement returns its rows.
        lookup: returns the statement that makes the lookup relation of a hierarchy.
        stands_alone: whether the source and all hierarchies are to be found elsewhere than here.
    """
    if stands_alone:
        trees = {name: replace(tree, stored=None) for name, tree in publication.trees.items()}
        publication = replace(publication, trees=trees)
    lookups = readable_lookups(publication.hierarchies, stored=not stands_alone)
    query = release_query(publication, lookups)
    make: tuple[exp.Expr, ...] = (query,)
    output: exp.Expr | None = None
    title: dict[str, str] = {}
    if destination.in_place and not stands_alone:
        make, output = in_place_statements(source, publication)
        title = {"title": _IN_PLACE}
    elif destination.out is not None and not stands_alone:
        form = check_file(source, destination.out, replace=True)
        if form == DATABASE:
            make, output = database_statements(source, query, destination.out)
        else:
            if destination.spreadsheet_safe:
                publication = replace(publication, spreadsheet_safe=True)
                query = spreadsheet_safe(query, publication)
            make = (copy_statement(query, destination.out, form),)
            output = reading_back(publication, destination.out, form)
    elif destination.into is not None:
        output = check_target(source, destination.into, destination.kind, replace=True)
        make = (sql.create_table(output.copy(), query),)
        if destination.kind != "table":
            require_viewable(publication)
            materialized = destination.kind == "materialized-view"
            make = view_statements(publication, destination.into, output, lookups, materialized=materialized)
            lookups = view_lookups(publication, destination.into)
        if destination.replace and (existing := kind_of(source.engine, output)):
            make = (sql.drop(output, existing), *make)
    return release_plan(source, publication, make, output, lookups, lookup, **title, stands_alone=stands_alone)
