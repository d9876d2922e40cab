"""The script of a release: what is run, for each destination."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_sql import sql
from kanon_sql.destinations import DATABASE, check_file
from kanon_sql.in_place.publish import in_place_statements
from kanon_sql.new_database import database_statements
from kanon_sql.plan import Plan, release_plan
from kanon_sql.publish import readable_lookups, release_query
from kanon_sql.publish_view import require_viewable, view_lookups, view_statements
from kanon_sql.targets import check_target, kind_of
from kanon_sql.written_files import copy_statement, reading_back, spreadsheet_safe

if TYPE_CHECKING:
    from sqlglot import exp

    from kanon_sql.destination import Destination
    from kanon_sql.engine.sources import Source
    from kanon_sql.publication import Publication

_IN_PLACE = "A new database with the release and all else; verified, its file takes the name of the old one"


def plan_of(
    source: Source,
    publication: Publication,
    destination: Destination,
    *,
    stands_alone: bool = False,
    foreign: bool = False,
) -> Plan:
    """Return the statements from source to release.

    Args:
        source: what is anonymized.
        publication: what is published.
        destination: where the release goes; where it does not say, the statement returns its rows.
        stands_alone: whether hierarchies that are stored in the database are written out too.
        foreign: whether it is for another engine than that of the source.
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
    return release_plan(source, publication, make, output, lookups, **title, stands_alone=stands_alone, foreign=foreign)
