"""A step of a local recoding where tables cannot be changed: the table as it is after the step.

The step is ``SET step = number WHERE step IS NULL AND EXISTS (SELECT 1 FROM (classes) AS large WHERE ...)``.
"""

from __future__ import annotations

from sqlglot import exp

from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name


def assigned_number(statement: exp.Update) -> int:
    """Return the number of a step."""
    (assigned,) = statement.expressions
    return int(assigned.expression.name)


def numbered(table: exp.Table, number: int) -> exp.Table:
    """Return the table that a step makes."""
    return sql.relation(f"{table.name}_{number}")


def next_query(statement: exp.Update) -> exp.Select:
    """Return the query of the rows of a table as they are after a step."""
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
