"""Trace the columns of a view, and generated columns, to columns of tables, by the texts that made them.

Names are compared, not scopes: columns of two tables with one name count as one. A column that cannot be traced is made
of ``UNKNOWN``: its view has a text that sqlglot cannot read, it has no name of its own there, or a macro, a field of a
struct or UNPIVOT makes it.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.errors import KanonError
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.warehouse import Warehouse

UNKNOWN = ""
_EVERYTHING = "*"
_VIEWS = {"VIEW", "MATERIALIZED VIEW"}


def made_of(source: Source) -> tuple[Callable[[str], set[str]], set[str]]:
    """Return a function from a column to all columns that it is made of, itself among them; and the relations read.

    All names are folded.
    """
    known, relations, definitions = _read_by(source)
    reads: defaultdict[str, list[exp.Expr | None]] = defaultdict(list)
    if source.preparation is not None:
        for name, columns in source.preparation.reads.items():
            reads[folded(name)] += map(exp.column, columns)
    for definition in definitions:
        for name, expression in _named_in(definition):
            reads[folded(name)].append(expression)
    named = known | {*reads}

    def behind(name: str) -> set[str]:
        found, left = set[str](), [folded(name), *([_EVERYTHING] if _EVERYTHING in reads else [])]
        while left:
            if (one := left.pop()) not in found:
                found |= {one} if one in named else {one, UNKNOWN}
                left += (name for expression in reads.get(one, ()) for name in _columns_of(expression, named))
        return found

    return behind, relations


def _read_by(source: Source) -> tuple[set[str], set[str], list[exp.Expr]]:
    """Return the columns of the tables and files that a relation reads, the names of these, and all texts of views."""
    holder, known, seen = source.holder, {folded(column.name) for column in source.columns}, dict[str, str]()
    definitions, waiting = list[exp.Expr](), [source.table]
    if holder.kind_of(source.table) in _VIEWS:
        known = set()
    while waiting:
        relation = waiting.pop()
        if relation.sql() in seen:
            continue
        seen[relation.sql()] = folded(relation.name)
        if relation is not source.table and _is_stored(relation, holder):
            with suppress(KanonError):  # then its columns cannot be traced
                known |= {folded(column.name) for column in holder.columns(relation.copy())}
        for text in holder.definitions(relation) if relation.name else ():
            definitions.append(_parsed(text, holder.dialect))
            waiting += definitions[-1].find_all(exp.Table)
    return known, {*seen.values()}, definitions


def _is_stored(relation: exp.Table, holder: DuckDBEngine | Warehouse) -> bool:
    """Return True if a relation is a table or a file; not if it is a view, a macro or a name of the query alone."""
    if not isinstance(relation.this, exp.Identifier):
        return not isinstance(relation.this, exp.Anonymous)
    kind = holder.kind_of(relation)
    return "." in relation.name if kind is None else kind not in _VIEWS


def _parsed(text: str, dialect: str) -> exp.Expr:
    """Return a text as sqlglot reads it; a command if it cannot."""
    try:
        return sqlglot.parse_one(text, read=dialect)
    except SqlglotError:
        return exp.Command(this=text)


def _columns_of(expression: exp.Expr | None, named: set[str]) -> list[str]:
    """Return the names of the columns in an expression; of a field of a struct, that of the struct."""
    if expression is None:
        return [UNKNOWN]
    columns = [{folded(part.name) for part in column.parts} & named for column in expression.find_all(exp.Column)]
    return [name for names in columns for name in (names or {UNKNOWN})]


def _named_in(definition: exp.Expr) -> Iterator[tuple[str, exp.Expr | None]]:
    """Yield the names that a text gives, each with an expression that it stands for; None if that is unknown.

    >>> view = sqlglot.parse_one("CREATE VIEW v (a) AS SELECT 2024 - age AS born FROM people", read="duckdb")
    >>> [(name, str(expression)) for name, expression in _named_in(view)]
    [('born', '2024 - age'), ('a', '2024 - age AS born')]
    """
    if isinstance(definition, exp.Command):
        yield _EVERYTHING, None
    for column in definition.find_all(exp.ColumnDef):
        yield from ((column.name, constraint) for constraint in column.constraints)
    for alias in definition.find_all(exp.Alias):
        yield alias.alias, alias.this
    for union in definition.find_all(exp.SetOperation):
        names, right = union.left.named_selects, _selected(union.right)
        if _selected(union.left) is not None:
            yield from _listed(names, right)
        elif names != union.right.named_selects:  # of two stars alone, columns of one name are taken for one
            yield _EVERYTHING, None
    for listed in definition.find_all(exp.TableAlias):
        yield from _listed([column.name for column in listed.columns], _selected_by(listed.parent))
    query = definition.args.get("expression")
    if isinstance(definition.this, exp.Schema) and isinstance(query, exp.Query):
        yield from _listed([column.name for column in definition.this.expressions], _selected(query))


def _selected_by(relation: exp.Expr | None) -> exp.Expr | list[exp.Expr] | None:
    """Return what the columns of an aliased relation stand for; all of VALUES, UNNEST or a series."""
    query = None if relation is None else relation.this
    if isinstance(query, exp.Query) and query.find(exp.Table):
        return _selected(query)
    return None if isinstance(query, exp.Identifier | exp.Anonymous) else relation


def _listed(names: list[str], selected: exp.Expr | list[exp.Expr] | None) -> Iterator[tuple[str, exp.Expr | None]]:
    """Yield names with the expressions at their places, or with a single one of all."""
    for place, name in enumerate(names):
        if isinstance(selected, list):
            yield name, selected[place] if place < len(selected) else None
        else:
            yield name, selected


def _selected(query: exp.Expr) -> list[exp.Expr] | None:
    """Return the expressions that a query selects; None if a star stands for some."""
    query = query.unnest() if isinstance(query, exp.Subquery) else query
    if isinstance(query, exp.SetOperation):
        return _selected(query.left)
    if not isinstance(query, exp.Select) or any(one.find(exp.Star, exp.Columns) for one in query.selects):
        return None
    return list(query.selects)
