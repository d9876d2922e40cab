"""Conditions: equality for which NULL is a value, where engines can use it; and EXISTS where it may stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
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
    if family == sql.SAME_TYPE and capabilities.name == "postgres":  # whose arrays are equal where NULLs are
        return exp.EQ(this=exp.Array(expressions=[left]), expression=exp.Array(expressions=[right]))
    if family not in _SOME:
        return node
    some = _SOME[family]
    if family in {"date", "timestamp"} and capabilities.name == "trino":  # which reads no text as a date unasked
        some = sql.cast(some.copy(), family.upper())
    sides = [exp.Coalesce(this=side.copy(), expressions=[some.copy()]) for side in (left, right)]
    if capabilities.name == "postgres":
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


def without_boolean_case(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a CASE of conditions as a condition, where a condition is no value.

    ``CASE a WHEN b THEN c ELSE d END`` is true where ``(a = b AND c) OR (NOT a = b AND d)`` is.
    """
    if capabilities.sqlglot != "tsql" or not isinstance(node, exp.Case) or not _is_condition(node):
        return node
    cases: list[exp.Expr] = []
    before: list[exp.Expr] = []
    for branch in node.args["ifs"]:
        when = branch.this if node.this is None else exp.EQ(this=node.this.copy(), expression=branch.this)
        then = without_boolean_case(branch.args["true"], capabilities)
        cases.append(exp.and_(*(exp.not_(one) for one in before), when, then))
        before = [*before, when] if node.this is None else before  # texts exclude one another
    if (default := node.args.get("default")) is not None:
        cases.append(exp.and_(*(exp.not_(one) for one in before), without_boolean_case(default, capabilities)))
    return exp.paren(exp.or_(*cases))


def _is_condition(node: exp.Expr) -> bool:
    if isinstance(node, exp.Case):
        return any(_is_condition(branch.args["true"]) for branch in node.args["ifs"])
    return isinstance(node.unnest(), exp.Predicate | exp.Connector | exp.Not)


def without_exists(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a query that joins what must not be there, where a subquery cannot read columns from around it."""
    if capabilities.exists or not isinstance(node, exp.Select) or node.args.get("where") is None:
        return node
    condition = node.args["where"].this
    if not isinstance(condition, exp.Not) or not isinstance(condition.this, exp.Exists):
        return node
    inner = condition.this.this
    absent: exp.Expr = inner.args["from_"].this
    same: exp.Expr = inner.args["where"].this
    node.set("where", None)
    return node.join(absent, on=same, join_type="left anti", copy=False)


def conditions_moved(expression: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return an expression in which what is counted FILTER (WHERE NOT EXISTS ...) is counted WHERE NOT EXISTS ...

    Args:
        expression: which may have queries of a single aggregate with such a filter.
        capabilities: of the dialect.
    """
    if capabilities.exists_in_select or expression.find(exp.Exists) is None:
        return expression
    return expression.transform(_moved)


def _moved(node: exp.Expr) -> exp.Expr:
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
