"""Make and sort equal rows of a release once, and write each as often as it occurs.

In tables of people, a release has few distinct rows, and sorting dominates large releases: with 100,000,000 rows and
8 GB, it takes two of three minutes. The rows and their order are those of ``release_query``, whose equal rows are
adjacent.

1. Count the possible distinct rows: classes, times the values of each other column.
2. Make each distinct row once, in the order of the release, with its frequency.
3. Publish the rows of that table.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.equality import collated
from kanon_sql.release.statements.release import release_order, release_query
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.verify.verify import Expected

_MANY_ROWS = 250_000
"""For fewer rows, sorting takes no longer than planning this."""
_OFTEN = 8
"""Minimum average frequency of a row for which counting pays off."""


def make_alike(
    engine: DuckDBEngine, publication: Publication, lookups: Mapping[str, exp.Table], expected: Expected
) -> exp.Table | None:
    """Make a temporary table of the distinct rows of a release, for ``repeated_query``; None if most rows differ."""
    if not _are_alike(engine, publication, expected):
        return None
    query = release_query(publication, lookups)
    query.args["order"].pop()
    names = [column.name for column in publication.columns]
    columns = [sql.column(name) for name in names]
    n, first = unused_name("n", names), unused_name("first", names)
    made = sql.select(
        "release/alike",
        values={"columns": columns, "order": [release_order(publication, columns)]},
        relations={"released": query.subquery("released")},
        names={"n": n, "first": first},
    )
    table = engine.temporary_name("kanon_alike")
    engine.run(sql.create_table(table, made, temporary=True), "make the different rows of the release")
    return table


def repeated_query(alike: exp.Table, publication: Publication) -> exp.Select:
    """Return the query of a release whose distinct rows were made."""
    names = [column.name for column in publication.columns]
    return sql.repeated(alike, names, unused_name("n", names))


def _are_alike(engine: DuckDBEngine, publication: Publication, expected: Expected) -> bool:
    """Return True if there are many rows, few distinct ones, and no equal ones that are written in two ways."""
    few = expected.rows // _OFTEN
    if expected.rows < _MANY_ROWS or expected.classes > few:
        return False
    if any(column.family == "other" for column in publication.columns):
        return False
    others = [column for column in publication.columns if column.name not in publication.quasi_identifiers]
    texts = [column for column in others if column.family == "text"]
    if collated(engine, publication.source, texts):
        return False
    if not others:
        return True
    counts = [
        sql.named(exp.ApproxDistinct(this=sql.column(column.name)), f"values_{number}")
        for number, column in enumerate(others)
    ]
    values = engine.row(exp.select(*counts).from_(publication.source.copy()), "how many values do the columns have?")
    return expected.classes * prod(1 + int(number) for number in values) <= few
