"""Conditions, aggregates and orders for each dialect.

Covers null-safe equality in a form that engines can hash; EXISTS, moved to where it is allowed; sums of the largest
values; queries that name each aggregate once; and the order of a release's rows, a hash with a different name in each
engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.sql.dialects.capabilities import Capabilities


# For each family of types, a text or number that every type of the family accepts.
_SOME: dict[str, exp.Expr] = {
    "integer": exp.Literal.number(0),
    "decimal": exp.Literal.number(0),
    "float": exp.Literal.number(0),
    "boolean": exp.false(),
    "text": exp.Literal.string(""),
    "date": exp.Literal.string("1970-01-01"),
    "timestamp": exp.Literal.string("1970-01-01"),
}


def null_safe(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a null-safe equality in a form that the engine can hash, if it cannot hash the plain one.

    PostgreSQL compares every pair of rows if IS NOT DISTINCT FROM is the only condition. So a hashable condition that
    follows from it goes first: both sides are equal after a constant replaces NULL. PostgreSQL also estimates IS NOT
    DISTINCT FROM as so rare that it expects no rows from a join on several columns, and then compares all pairs. It
    estimates the condition that both sides or neither are NULL at one half.
    """
    if capabilities.equality == "as it is" or not isinstance(node, exp.NullSafeEQ):
        return node
    left, right, family = node.this, node.expression, node.meta.get("family")
    if family not in _SOME and capabilities.equality == "by text":
        texts = [exp.Anonymous(this="TO_JSON_STRING", expressions=[side]) for side in (left, right)]
        return exp.EQ(this=texts[0], expression=texts[1])
    if family == sql.SAME_TYPE:  # PostgreSQL arrays are equal if they have NULLs in the same places
        return exp.EQ(this=exp.Array(expressions=[left]), expression=exp.Array(expressions=[right]))
    if family not in _SOME:
        return node
    sides = [exp.Coalesce(this=side.copy(), expressions=[_SOME[family].copy()]) for side in (left, right)]
    if capabilities.equality == "hashed":
        nulls = [exp.paren(side.is_(exp.null())) for side in (left, right)]
        alike: exp.Expr = exp.EQ(this=nulls[0], expression=nulls[1])
    else:
        alike = exp.NullSafeEQ(this=left, expression=right)  # has no family, so is not rewritten again
    return exp.and_(exp.EQ(this=sides[0], expression=sides[1]), alike, copy=False)


def without_filter(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return an aggregate over a CASE if the dialect has no FILTER."""
    if capabilities.filters or not isinstance(node, exp.Filter):
        return node
    aggregate: exp.Expr = node.this.copy()
    condition = node.expression.this
    counted = aggregate.this
    if isinstance(counted, exp.Star):
        aggregate.set("this", exp.Case().when(condition, sql.literal(1)))
    elif isinstance(counted, exp.Distinct):
        (distinct,) = counted.expressions
        aggregate.set("this", exp.Distinct(expressions=[exp.Case().when(condition, distinct)]))
    else:
        aggregate.set("this", exp.Case().when(condition, counted))
    return aggregate


def condition_moved(node: exp.Expr) -> exp.Expr:
    """Move FILTER (WHERE NOT EXISTS ...) of a single aggregate to WHERE: only DuckDB allows EXISTS in a SELECT list."""
    if not isinstance(node, exp.Select):
        return node
    aggregates = [item for item in node.selects if item.find(exp.AggFunc)]
    if len(aggregates) != 1 or not isinstance(found := aggregates[0].unalias(), exp.Filter):
        return node
    condition = found.expression.this
    if condition.find(exp.Exists) is None:
        return node
    found.replace(found.this)
    return node.where(condition, copy=False)


_LARGEST = "kanon_largest"


def sum_of_largest(number: exp.Expr, how_many: int) -> exp.Expr:
    """Return an aggregate for the sum of the ``how_many`` largest numbers of a group, or of all if there are fewer.

    Without it, a step before would have to rank the numbers, which sorts every group.

    ``number``: never NULL; ``how_many``: at least 1.
    """
    return exp.Anonymous(this=_LARGEST, expressions=[number, sql.literal(how_many)])


def is_aggregate(node: exp.Expr) -> bool:
    """Return True if a node is a whole aggregate, including its filter."""
    return isinstance(node, exp.AggFunc | exp.Filter) or (isinstance(node, exp.Anonymous) and node.name == _LARGEST)


def summed(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return the dialect's sum of the largest numbers if a node stands for one."""
    if not isinstance(node, exp.Anonymous) or node.name != _LARGEST:
        return node
    number, how_many = node.expressions
    if capabilities.name == "duckdb":
        largest = exp.Anonymous(this="MAX", expressions=[number, how_many])
        return exp.Anonymous(this="LIST_SUM", expressions=[largest])
    falling = [exp.Ordered(this=number, desc=True)]
    if capabilities.name == "postgres":
        ranked = exp.Paren(this=exp.ArrayAgg(this=exp.Order(this=number, expressions=falling)))
        first = exp.Bracket(this=ranked, expressions=[exp.Slice(this=sql.literal(1), expression=how_many)])
        rows = exp.Table(this=exp.Anonymous(this="UNNEST", expressions=[first]), alias=_alias("largest", "n"))
        return exp.Subquery(this=exp.select(exp.Sum(this=sql.column("n", "largest"))).from_(rows))
    if capabilities.name == "spark":
        listed = exp.Anonymous(this="COLLECT_LIST", expressions=[number])
        ranking = exp.Anonymous(this="SORT_ARRAY", expressions=[listed, exp.false()])
        most = exp.Anonymous(this="SLICE", expressions=[ranking, sql.literal(1), how_many])
        added = exp.Lambda(this=exp.Add(this=exp.column("a"), expression=exp.column("b")), expressions=_names("a", "b"))
        zero = sql.cast(sql.literal(0), "BIGINT")
        return exp.Anonymous(this="AGGREGATE", expressions=[most, zero, added])
    raise UsageError(f"{capabilities.title} cannot sum the largest numbers of a group.")


def _alias(table: str, column: str) -> exp.TableAlias:
    return exp.TableAlias(this=sql.identifier(table), columns=[sql.identifier(column)])


def _names(*names: str) -> list[exp.Identifier]:
    return [exp.to_identifier(name) for name in names]


def each_once(query: exp.Select, groups: Sequence[str]) -> exp.Select:
    """Return a grouped query that names each of its aggregates once, in a query below the expressions that use them.

    Bounds repeat aggregates many times, and parsing a statement takes as long as counting a small table.

    ``query``: selects the columns that it is grouped by, and expressions of aggregates; it becomes part of the result;
    ``groups``: the names of these columns.
    """
    found: dict[str, exp.Alias] = {}

    def named(node: exp.Expr) -> exp.Expr:
        if not is_aggregate(node):
            return node
        if isinstance(node, exp.Max | exp.Min) and _is_same(node.this, groups):
            value: exp.Expr = node.this.copy()
            return value
        total = found.setdefault(node.sql(), sql.named(node.copy(), unused_name(f"total_{len(found)}", groups)))
        return sql.column(total.alias, "totals")

    made = [
        sql.named(value.unalias().transform(named), value.alias)
        for value in query.selects
        if value.alias_or_name not in groups
    ]
    query.set("expressions", [*(sql.column(name) for name in groups), *found.values()])
    outer = exp.select(*(sql.column(name, "totals") for name in groups), *made, copy=False)
    return outer.from_(query.subquery("totals", copy=False), copy=False)


def _is_same(value: exp.Expr, groups: Sequence[str]) -> bool:
    """Return True if a value is the same in all rows of a group."""
    return isinstance(value, exp.Literal) or (isinstance(value, exp.Column) and value.name in groups)


_SHUFFLE = "kanon_shuffle"


def shuffled(columns: Sequence[exp.Expr], seed: int, *, plain: bool = False) -> exp.Expr:
    """Return the ORDER BY expression of a release, which gives its rows an order that reveals nothing.

    The order is a hash of the published columns and the seed, and of nothing else. It reveals neither the order of the
    source nor an unpublished value, and the same release has the same order with any number of threads. Rows that are
    equal in all columns are adjacent.

    ``columns``: the published columns; ``seed``: of the order; ``plain``: whether all of them are numbers, texts, dates
    or truth values, which every engine can hash directly.
    """
    hashed = exp.Anonymous(this=_SHUFFLE, expressions=[*columns, sql.literal(seed)])
    hashed.meta["plain"] = plain
    return hashed


def ordered(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return the dialect's hash if a node stands for one."""
    if not isinstance(node, exp.Anonymous) or node.name != _SHUFFLE:
        return node
    *columns, seed = node.expressions
    if capabilities.name == "postgres":
        row = exp.Anonymous(this="ROW", expressions=columns)
        if node.meta.get("plain"):
            return exp.Anonymous(this="HASH_RECORD_EXTENDED", expressions=[row, seed])
        # As text: the row hash refuses types without a hash, such as json.
        return exp.Anonymous(this="HASHTEXTEXTENDED", expressions=[sql.cast(row, "VARCHAR"), seed])
    if capabilities.name == "bigquery":
        text = exp.Anonymous(this="TO_JSON_STRING", expressions=[exp.Struct(expressions=node.expressions)])
        return exp.Anonymous(this="FARM_FINGERPRINT", expressions=[text])
    return exp.Anonymous(this=_HASHES[capabilities.name], expressions=node.expressions)


_HASHES = {"duckdb": "HASH", "snowflake": "HASH", "spark": "XXHASH64", "databricks": "XXHASH64"}
"""Functions that hash several values of any types."""
