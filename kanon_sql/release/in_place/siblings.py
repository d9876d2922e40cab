"""Other tables of a database that hold, or may hold, raw values of a table that is anonymized in place.

A table is one where a column that is not published is there too, or a quasi-identifier beside any other column: the
exact value and what stands beside it lead to a row of the release. Columns are the same by name and kind of type; in
tables with as many rows as the raw one, also by their values, whatever they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.in_place.facts import OtherTable, TableFacts
    from kanon_sql.release.publication import Publication

_ROWS = "a table of as many rows as the raw one?"


def siblings_of(source: Source, publication: Publication, facts: TableFacts) -> dict[str, tuple[str, ...]]:
    """Return other tables that may hold the same raw values by names and types, each with the columns that say so."""
    here = {folded(column.name): column for column in source.columns}
    tells = _telling(source, publication)
    found: dict[str, tuple[str, ...]] = {}
    for other in _others(facts):
        if not {folded(name) for name in other.columns} & here.keys():
            continue
        columns = source.engine.columns(sql.relation(other.name, other.schema))
        same = [c for c in columns if folded(c.name) in here and _is_alike(c, here[folded(c.name)])]
        if tells([folded(column.name) for column in same]):
            found[_shown(other, facts)] = tuple(column.name for column in same)
    return found


def copies_of(
    source: Source, publication: Publication, facts: TableFacts, known: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return other tables that hold the same values under other names or types, each with the columns that do.

    Each table with as many rows as the raw one is scanned once, and the raw one too if there is any.

    Args:
        source: the raw table.
        publication: what is published.
        facts: what stands around the table.
        known: tables that need no second look.
    """
    engine, tells = source.engine, _telling(source, publication)
    others = [other for other in _others(facts) if other.columns and _shown(other, facts) not in known]
    if not others:
        return {}
    rows = _rows(engine, source.relation)
    alike = [other for other in others if _rows(engine, sql.relation(other.name, other.schema)) == rows]
    if not alike:
        return {}
    names = [column.name for column in source.columns]
    by_values = {total: folded(name) for name, total in _totals(engine, source.relation, names).items()}
    found: dict[str, tuple[str, ...]] = {}
    for other in alike:
        totals = _totals(engine, sql.relation(other.name, other.schema), other.columns)
        same = {name: by_values[total] for name, total in totals.items() if total in by_values}
        if tells([*same.values()]):
            found[_shown(other, facts)] = tuple(same)
    return found


def _telling(source: Source, publication: Publication) -> Callable[[Sequence[str]], bool]:
    """Return what tells whether some columns, of folded names, lead to rows of the release or name people."""
    generalized = {folded(column.name) for column in publication.roles.quasi_identifiers}
    replaced = {folded(column.name) for column in publication.roles.identifying}
    hidden = replaced | {folded(c.name) for c in source.columns if c.name not in publication.published_types}
    return lambda columns: bool(hidden & {*columns} or (generalized & {*columns} and len(columns) > 1))


def _others(facts: TableFacts) -> list[OtherTable]:
    """Return the other tables but those of kanon's own: the ledger and hierarchies."""
    return [other for other in facts.others if other.schema != SCHEMA]


def _shown(other: OtherTable, facts: TableFacts) -> str:
    return other.name if other.schema == facts.schema else f"{other.schema}.{other.name}"


def _is_alike(one: Column, other: Column) -> bool:
    return one.type == other.type or one.family == other.family != "other"


def _rows(engine: Engine, relation: exp.Table) -> int:
    (rows,) = engine.row(exp.select(sql.count_rows()).from_(relation.copy()), _ROWS)
    return int(rows)


def _totals(engine: Engine, relation: exp.Table, names: Sequence[str]) -> dict[str, int]:
    """Return for each column a number that is the same where its values are; none where all are one value."""
    hashes = [exp.Anonymous(this="HASH", expressions=[sql.cast(sql.column(name), "VARCHAR")]) for name in names]
    figures = [f(this=hashed.copy()) for hashed in hashes for f in (exp.Sum, exp.Min, exp.Max)]
    row = engine.row(exp.select(*figures).from_(relation.copy()), _ROWS)
    each = zip(names, row[::3], row[1::3], row[2::3], strict=True)
    return {name: int(total) for name, total, least, most in each if total is not None and least != most}
