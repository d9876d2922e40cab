"""Conditions, aggregates and orders, as each dialect has them.

Equality for which NULL is a value, where engines can use it, and EXISTS where it may stand; sums of the largest values,
and queries that name each aggregate once; and the order of a release's rows: a hash, which each engine calls otherwise.
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


# A value of each family of types, as a text or number that every type of the family takes.
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
    """Return a null-safe equality in a form that the engine can hash, where it cannot hash the plain one.

    PostgreSQL compares every row with every other on IS NOT DISTINCT FROM alone. A condition that follows from it and
    can be hashed goes before it: both sides equal with something in the place of NULL. It also takes what it says for
    so rare that it expects no rows where several columns are joined, and then compares all of them with all others;
    that both sides are NULL or none is, it takes for an even chance.
    """
    if capabilities.equality == "as it is" or not isinstance(node, exp.NullSafeEQ):
        return node
    left, right, family = node.this, node.expression, node.meta.get("family")
    if family not in _SOME and capabilities.equality == "by text":
        texts = [exp.Anonymous(this="TO_JSON_STRING", expressions=[side]) for side in (left, right)]
        return exp.EQ(this=texts[0], expression=texts[1])
    if family == sql.SAME_TYPE:  # arrays of PostgreSQL are equal where NULLs are
        return exp.EQ(this=exp.Array(expressions=[left]), expression=exp.Array(expressions=[right]))
    if family not in _SOME:
        return node
    sides = [exp.Coalesce(this=side.copy(), expressions=[_SOME[family].copy()]) for side in (left, right)]
    if capabilities.equality == "hashed":
        nulls = [exp.paren(side.is_(exp.null())) for side in (left, right)]
        alike: exp.Expr = exp.EQ(this=nulls[0], expression=nulls[1])
    else:
        alike = exp.NullSafeEQ(this=left, expression=right)  # without its family, or it would be rewritten again
    return exp.and_(exp.EQ(this=sides[0], expression=sides[1]), alike, copy=False)


def without_filter(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return an aggregate over what a CASE lets through, where aggregates have no FILTER."""
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
    """Move FILTER (WHERE NOT EXISTS ...) of a single aggregate to WHERE: only DuckDB has EXISTS in a SELECT list."""
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
    """Return the sum of the largest so many numbers of a group, as an aggregate; of all where there are fewer.

    Without it they would have to be ranked in a step before, which sorts every group.

    ``number``: never NULL; ``how_many``: at least 1.
    """
    return exp.Anonymous(this=_LARGEST, expressions=[number, sql.literal(how_many)])


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether a node is an aggregate as a whole, with its filter."""
    return isinstance(node, exp.AggFunc | exp.Filter) or (isinstance(node, exp.Anonymous) and node.name == _LARGEST)


def summed(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return what sums the largest numbers in a dialect where a node stands for that."""
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
    """Return a query of groups that names each of its aggregates once, under those that are made from them.

    Bounds repeat them many times, and to read a statement takes as long as to count a small table.

    ``query``: selects columns that it is grouped by, and what is made from aggregates; it becomes part of the answer;
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
    """Tell whether a value is the same in all rows of a group."""
    return isinstance(value, exp.Literal) or (isinstance(value, exp.Column) and value.name in groups)


_SHUFFLE = "kanon_shuffle"


def shuffled(columns: Sequence[exp.Expr], seed: int, *, plain: bool = False) -> exp.Expr:
    """Return what to order a release by, so that its rows stand in an order that says nothing.

    The order is a hash of what is published and of the seed, and of nothing else: neither the order of the source nor
    any value that is not in the release can be learned from it, and the same release comes in the same order however
    many threads made it. Rows that are equal in all columns stand side by side.

    ``columns``: what is published; ``seed``: of the order; ``plain``: whether all of them are numbers, texts, dates or
    truth values, which every engine can hash as they are.
    """
    hashed = exp.Anonymous(this=_SHUFFLE, expressions=[*columns, sql.literal(seed)])
    hashed.meta["plain"] = plain
    return hashed


def ordered(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return the hash of a dialect where a node stands for one."""
    if not isinstance(node, exp.Anonymous) or node.name != _SHUFFLE:
        return node
    *columns, seed = node.expressions
    if capabilities.name == "postgres":
        row = exp.Anonymous(this="ROW", expressions=columns)
        if node.meta.get("plain"):
            return exp.Anonymous(this="HASH_RECORD_EXTENDED", expressions=[row, seed])
        # As text: what hashes a row refuses columns of types without a hash, such as json.
        return exp.Anonymous(this="HASHTEXTEXTENDED", expressions=[sql.cast(row, "VARCHAR"), seed])
    if capabilities.name == "bigquery":
        text = exp.Anonymous(this="TO_JSON_STRING", expressions=[exp.Struct(expressions=node.expressions)])
        return exp.Anonymous(this="FARM_FINGERPRINT", expressions=[text])
    return exp.Anonymous(this=_HASHES[capabilities.name], expressions=node.expressions)


_HASHES = {"duckdb": "HASH", "snowflake": "HASH", "spark": "XXHASH64", "databricks": "XXHASH64"}
"""Functions that hash several values of any types."""
