"""Fingerprints of rows, views and files: they show a change without storing values.

The fingerprint of rows is a hash of the sum of hashes of the distinct rows, so their order does not matter. It detects
changes by accident or by hand, not an attacker who searches for another table with the same sum. The fingerprint of a
release is that of its classes: labels, the number of rows with each, and their sensitive values. MD5 is the same in
every version of DuckDB. It is slow, so it is computed for distinct rows only. The quick fingerprint uses the engine's
own hash, which may differ between versions. Then rows seem changed, which only costs an unnecessary check.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import shuffled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy

_NUMBER = "number"
NOT_TAKEN = "not taken: the tuples stayed in their warehouse"


def of_rows(engine: Engine, relation: exp.Expr, names: Sequence[str], title: str, members: Sequence[str] = ()) -> str:
    """Return the fingerprint of columns of a relation.

    ``names`` are columns with few distinct rows, such as labels of classes. ``members`` may have many: each class has
    the sum of their hashes, so that no grouping by both is needed.
    """
    others = [name for name in members if name not in names]
    own = sql.aliased(exp.select("*").from_(relation.copy()).subquery(), "released")
    columns = [sql.column(name, "released") for name in names]
    places = [f"column_{number}" for number in range(len(columns))]
    classes = exp.select(
        *(sql.named(column, place) for column, place in zip(columns, places, strict=True)),
        sql.named(sql.count_rows(), N),
        *([sql.named(exp.Sum(this=sql.column(_NUMBER, "members")), _NUMBER)] if others else []),
    )
    classes = classes.from_(own).group_by(*(column.copy() for column in columns))
    if others:
        # One row of ``members`` for each row of the release.
        hashed = _hash_of([sql.column(name) for name in others])
        known = exp.select(*map(sql.column, others), sql.named(hashed, _NUMBER)).from_(relation.copy())
        known = known.group_by(*map(sql.column, others))
        alike = [sql.same(sql.column(name, "released"), sql.column(name, "members"), sql.SAME_TYPE) for name in others]
        classes = classes.join(known.subquery("members"), on=sql.all_of(alike))
    of_class = _hash_of([sql.column(name) for name in [*places, N, *([_NUMBER] if others else [])]])
    query = exp.select(sql.count_rows(), _total(of_class)).from_(classes.subquery("classes"))
    return _hashed(repr([list(names), *([others] if others else []), *engine.row(query, title)]).encode())


def quick(engine: Engine, relation: exp.Expr, lists: Sequence[Sequence[str]], title: str) -> list[str]:
    """Return the quick fingerprints of several lists of columns of a relation, in one scan."""
    totals = [_total(shuffled([sql.column(name) for name in names], 0)) for names in lists]
    query = exp.select(sql.count_rows(), *totals).from_(relation.copy())
    rows, *found = engine.row(query, title)
    return [_hashed(repr([list(names), rows, total]).encode()) for names, total in zip(lists, found, strict=True)]


def of_source(engine: Engine, source: exp.Table, names: Sequence[str]) -> str:
    """Return the quick fingerprint of some columns; ``NOT_TAKEN`` if the tuples stay in their warehouse."""
    if engine.engine_of(source) is not engine:
        return NOT_TAKEN
    (found,) = quick(engine, source, [names], "fingerprint of the table")
    return found


def of_hierarchy(engine: Engine, hierarchy: Hierarchy) -> str:
    """Return the fingerprint of the values of a hierarchy and of their labels."""
    names = [VALUE, *map(level_name, range(1, hierarchy.height + 1))]
    return of_rows(engine, hierarchy.relation, names, f"fingerprint of the hierarchy of {hierarchy.column.name}")


def of_view(engine: DuckDBEngine, view: exp.Table) -> str:
    return _hashed(engine.fingerprinted_definition(view).encode())


def of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash_of(columns: Sequence[exp.Expr]) -> exp.Expr:
    row = exp.Concat(expressions=[_with_length(column) for column in columns], safe=True)
    return exp.Anonymous(this="MD5_NUMBER_LOWER", expressions=[row])


def _total(number: exp.Expr) -> exp.Expr:
    return sql.cast(exp.Coalesce(this=exp.Sum(this=number), expressions=[sql.literal(0)]), "VARCHAR")


def _hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _with_length(value: exp.Expr) -> exp.Expr:
    """Return a value as text with its length, so that different rows have different texts; NULL is a dash."""
    text = sql.cast(value, "VARCHAR")
    length = sql.cast(exp.Length(this=text.copy()), "VARCHAR")
    return (
        exp.Case()
        .when(value.is_(exp.null()), sql.literal("-"))
        .else_(exp.Concat(expressions=[length, sql.literal(":"), text], safe=True))
    )
