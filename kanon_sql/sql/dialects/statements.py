"""Translate a DuckDB statement to the statements that another dialect needs for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from kanon_sql.sql.dialects.capabilities import Capabilities

Made = exp.Expr | str


def statements_of(statement: exp.Expr, capabilities: Capabilities) -> list[Made]:
    """Return the statements of a dialect that do what a DuckDB statement does."""
    if capabilities.name == "duckdb":
        return [statement]
    if isinstance(statement, exp.Update) and capabilities.changes != "update" and "columns" in statement.meta:
        return _changed(statement, capabilities)
    if isinstance(statement, exp.Set):
        return [_time_zone(statement, capabilities)]
    is_recursive = any(clause.args.get("recursive") for clause in statement.find_all(exp.With))
    before = capabilities.settings if is_recursive else ()
    if isinstance(statement, exp.Create) and _is_temporary(statement):
        return [*before, *_table(statement, capabilities)]
    return [*before, statement]


def _time_zone(statement: exp.Set, capabilities: Capabilities) -> str:
    zone = statement.find(exp.Literal)
    return f"{capabilities.time_zone} {'' if zone is None else zone.sql(capabilities.name)}"


def left_behind(statement: exp.Expr, capabilities: Capabilities) -> dict[str, list[exp.Expr]]:
    """Return the statements that drop the lasting tables and views a statement makes, by kind."""
    if isinstance(statement, exp.Update) and capabilities.changes == "numbered" and "columns" in statement.meta:
        table = statement.this
        return {table.name: [sql.drop(table, "VIEW"), sql.drop(numbered(table, assigned_number(statement)))]}
    if capabilities.temporary == "plain table" and isinstance(statement, exp.Create) and _is_temporary(statement):
        return {statement.this.name: [sql.drop(statement.this)]}
    return {}


def secured(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return the statement that makes a secure view, in the syntax of the dialect; sqlglot omits that part."""
    if not isinstance(node, exp.Create) or not is_secure(node):
        return node
    if capabilities.barrier == "secure view":
        node.set("kind", f"SECURE {node.kind}")
        _qualify_functions(node.expression)
    words: list[exp.Expr] = []
    if capabilities.barrier == "security_barrier":
        words.append(exp.Property(this=exp.var(capabilities.barrier), value=exp.true()))
    node.set("properties", exp.Properties(expressions=words) if words else None)
    return node


_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Neg: "-",
    exp.DPipe: "||",
}
_NO_FUNCTIONS = (exp.Case, exp.Cast, exp.Coalesce, exp.Connector, exp.Exists, exp.If)
"""Nodes that sqlglot classes as functions, but DuckDB does not look up."""


def _qualify_functions(query: exp.Expr) -> None:
    """Qualify each call of a DuckDB function or operator by its schema.

    DuckDB looks up the functions of a view each time that it is read. A bare name could resolve to a macro of the
    reader, who could then count classes as they like.
    """
    for node in reversed(list(query.find_all(exp.Func, *_OPERATORS))):
        if isinstance(node, _NO_FUNCTIONS):
            continue
        place = exp.Dot(this=exp.to_identifier("system"), expression=exp.to_identifier("main"))
        call: exp.Expr = node.copy()
        if (operator := _OPERATORS.get(type(node))) is not None:
            sides = [side for side in (node.this, node.args.get("expression")) if side is not None]
            call = exp.Anonymous(this=exp.to_identifier(operator, quoted=True), expressions=[s.copy() for s in sides])
        node.replace(exp.Dot(this=place, expression=call))


def is_secure(node: exp.Expr) -> bool:
    properties = node.args.get("properties")
    return properties is not None and any(isinstance(each, exp.SecureProperty) for each in properties.expressions)


def _is_temporary(statement: exp.Create) -> bool:
    properties = statement.args.get("properties")
    return statement.kind == "TABLE" and properties is not None and properties.find(exp.TemporaryProperty) is not None


def _table(statement: exp.Create, capabilities: Capabilities) -> list[Made]:
    """Return the statements that make a temporary table from a query, or the dialect's replacement for one."""
    table, query = statement.this, statement.expression
    if capabilities.temporary == "cached view":
        # Each use of a view computes it again unless it is cached.
        view = sql.create_view(table.copy(), query.copy(), temporary=True, replace=True)
        return [view, exp.Cache(this=table.copy())]
    if capabilities.temporary == "table":
        return [statement]
    made = sql.create_table(table.copy(), query.copy())
    made.comments = statement.comments
    return [made]


# Steps of a local recoding


def _changed(statement: exp.Update, capabilities: Capabilities) -> list[Made]:
    """Return statements that make the next table of combinations from the last one, instead of an update."""
    table, number, query = statement.this, assigned_number(statement), next_query(statement)
    made = numbered(table, number)
    if capabilities.changes == "replace":
        is_temporary = capabilities.temporary == "table"
        return [sql.create_table(table.copy(), query, temporary=is_temporary, replace=True)]
    # Each is a table, not a view: a chain of views is read through to its start, and since each step reads the last one
    # twice, a hundred steps would never end.
    last: list[Made] = [sql.drop(numbered(table, number - 1))] if number > 1 else []
    view = sql.create_view(table.copy(), exp.select("*").from_(made), temporary=True, replace=True)
    return [sql.drop(made), sql.create_table(made.copy(), query), view, *last]


def assigned_number(statement: exp.Update) -> int:
    """Return the number of a step."""
    (assigned,) = statement.expressions
    return int(assigned.expression.name)


def numbered(table: exp.Table, number: int) -> exp.Table:
    """Return the table that a step makes."""
    return sql.relation(f"{table.name}_{number}")


def next_query(statement: exp.Update) -> exp.Select:
    """Return the query of the rows of a table after a step."""
    table, columns = statement.this, statement.meta["columns"]
    (assigned,) = statement.expressions
    step = assigned.this.name
    condition = statement.args["where"].this
    left = exp.and_(*(part for part in condition.flatten() if not isinstance(part, exp.Exists)))
    exists = condition.find(exp.Exists)
    large = exists.this.find(exp.Subquery)
    found = unused_name("found", columns)
    classes = large.this.copy().select(sql.named(sql.literal(1), found))
    compared = exists.this.args.get("where")
    same = compared.this.copy() if compared else exp.true()
    is_large = exp.EQ(this=sql.column(found, large.alias), expression=sql.literal(1))
    value = exp.Case().when(exp.and_(_of(left, table), is_large), assigned.expression.copy())
    changed = sql.named(value.else_(sql.column(step, table.name)), step)
    query = exp.select(*(changed if name == step else sql.column(name, table.name) for name in columns))
    return query.from_(table.copy()).join(classes.subquery(large.alias), on=same, join_type="left")


def _of(condition: exp.Expr, table: exp.Table) -> exp.Expr:
    """Return a condition with its columns qualified."""

    def qualified(node: exp.Expr) -> exp.Expr:
        return sql.column(node.name, table.name) if isinstance(node, exp.Column) else node

    return condition.transform(qualified)
