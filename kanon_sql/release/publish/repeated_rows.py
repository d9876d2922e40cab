"""A release whose rows are counted before they are made, where many of them are alike.

A release stands in an order that says nothing, for which all of its rows would be labelled and sorted. Where the rows
of the source are alike, this is done to different ones only:

    [what the release is made from]
    generalized   the different rows of the source with the labels that are published, and how often each is there
    [too_small]
    repeated      those of them that are published, in their order
    the rest      each as often as it is there

Sorted like that, rows of the source that are published alike stand side by side, as they do without it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.warehouse.warehouse import N
from kanon_sql.release.publication import GENERALIZED
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.warehouse.warehouse import Warehouse
    from kanon_sql.engine.warehouse.workbench import Workbench
    from kanon_sql.release.publication import Publication

_OFTEN = 4
"""How often a row is there on average at least, if rows are counted first."""
_SOURCE = "source"


def are_repeated(bench: Workbench, warehouse: Warehouse, publication: Publication) -> bool:
    """Tell whether the rows that are published are alike often enough to be counted before they are made.

    There are at most as many different ones as tuples were fetched, times the values of each other column. What a
    warehouse knows of these may be old, which costs time and nothing else.
    """
    tuples = bench.tuples_of(publication.source)
    values = warehouse.numbers_of_values(publication.source)
    if tuples is None or values is None or any(column.family == "other" for column in publication.columns):
        return False
    others = {column.name for column in publication.columns} - {column.name for column in bench.columns(tuples)}
    if not others <= values.keys():
        return False
    total = exp.Coalesce(this=exp.Sum(this=sql.column(N)), expressions=[sql.literal(0)])
    query = exp.select(sql.count_rows(), total).from_(tuples.copy())
    different, rows = bench.row(query, "are many rows alike?")
    return bool(_OFTEN * different * prod(values[name] for name in others) <= rows)


def repeated_rows(query: exp.Select, columns: Sequence[str]) -> exp.Select:
    """Return a query with the same rows in the same order, which makes and sorts each different row once.

    Args:
        query: of a release, whose order is made from its columns; equal values of these are written alike.
        columns: their names.
    """
    query = query.copy()
    steps = query.args["with_"].pop()
    (generalized,) = (step.this for step in steps.expressions if step.alias == GENERALIZED)
    if not isinstance(generalized.args["from_"].this, exp.Table):  # rows that are alike have numbers, and may part
        query.set("with_", steps)
        return query
    n = _count_first(generalized, columns)
    tables = [table.alias_or_name for part in (query, steps) for table in part.find_all(exp.Table)]
    name = unused_name("repeated", tables)
    copies = exp.Table(this=exp.GenerateSeries(start=sql.literal(1), end=sql.column(n, name)))
    rows = exp.select(*(sql.column(column, name) for column in columns)).from_(name).join(copies, join_type="cross")
    rows.set("with_", steps)
    return rows.with_(name, as_=query.select(sql.column(n, GENERALIZED)), recursive=steps.recursive)


def _count_first(generalized: exp.Select, columns: Sequence[str]) -> str:
    """Make different rows of the source be generalized, in their place; return the name of how often each is there."""
    generalized.set("expressions", [value for value in generalized.selects if value.alias_or_name in columns])
    read = dict.fromkeys(column.name for column in generalized.find_all(exp.Column) if column.table == _SOURCE)
    n = unused_name("n", [*columns, *read])
    source = generalized.args["from_"].this
    relation = source.copy()
    relation.set("alias", None)
    counted = exp.select(*map(sql.column, read), sql.named(sql.count_rows(), n)).from_(relation)
    source.replace((counted.group_by(*map(sql.column, read)) if read else counted).subquery(_SOURCE))
    generalized.select(sql.column(n, _SOURCE), copy=False)
    return n
