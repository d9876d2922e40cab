"""The one place where SQL text becomes an expression and where Python values enter it.

A statement with a fixed number of clauses is a file in ``sql/``; one that grows with the columns is built from
sqlglot expressions with the helpers below. Names and values become *nodes of the tree*: whatever a table or column is
called, it stays an identifier, and no text is ever spliced into SQL.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from kanon_sql.sql.names import needs_quotes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Value = str | int | float | bool | None

_UNKNOWN_TYPES = {"TIMESTAMPTZ_NS", "NULL"}
"""Types of DuckDB of one word that sqlglot does not read; nor does it read TUPLE(...)."""


@cache
def _parsed(name: str) -> exp.Expr:
    path = data_directory("sql") / f"{name}.sql"
    return sqlglot.parse_one(path.read_text(encoding="utf-8"), read="duckdb")


def statement(
    name: str,
    *,
    values: Mapping[str, Value | exp.Expr] | None = None,
    tables: Mapping[str, exp.Table] | None = None,
) -> exp.Expr:
    """Return the statement in ``sql/<name>.sql`` with its placeholders replaced.

    Args:
        name: file name without its suffix.
        values: what stands for each placeholder ``$name``; every placeholder must be given.
        tables: for tables that the file names, those that are meant.
    """
    given, meant = values or {}, tables or {}

    def replace(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and node.name in meant:
            table = meant[node.name]
            return table.copy() if table.name == node.alias_or_name else aliased(table, node.alias_or_name)
        return literal(given[node.name]) if isinstance(node, exp.Placeholder) else node

    expression = _parsed(name).copy()
    expression.comments = None
    return expression.transform(replace, copy=False)


def query(
    name: str,
    *,
    values: Mapping[str, Value | exp.Expr] | None = None,
    tables: Mapping[str, exp.Table] | None = None,
) -> exp.Query:
    """Return the query in ``sql/<name>.sql`` (see ``statement``)."""
    found = statement(name, values=values, tables=tables)
    if not isinstance(found, exp.Query):
        raise TypeError(f"sql/{name}.sql is no query")
    return found


def identifier(name: str) -> exp.Identifier:
    """Return a name as an identifier, quoted unless it is a plain word: any text is a name and nothing else."""
    return exp.Identifier(this=name, quoted=needs_quotes(name))


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a reference to a column, qualified by a table alias where one is given."""
    return exp.Column(this=identifier(name), table=identifier(table) if table else None)


def relation(name: str, schema: str | None = None, catalog: str | None = None) -> exp.Table:
    """Return a table, qualified by its schema and catalog where they are given."""
    return exp.Table(
        this=identifier(name),
        db=identifier(schema) if schema else None,
        catalog=identifier(catalog) if catalog else None,
    )


def aliased(table: exp.Table, alias: str) -> exp.Table:
    """Return the table under an alias."""
    renamed = table.copy()
    renamed.set("alias", exp.TableAlias(this=identifier(alias)))
    return renamed


def literal(value: Value | exp.Expr) -> exp.Expr:
    """Return a Python value as a literal; an expression is returned as a copy."""
    return value.copy() if isinstance(value, exp.Expr) else exp.convert(value)


def named(expression: exp.Expr, name: str) -> exp.Alias:
    """Return ``expression AS name``."""
    return exp.Alias(this=expression, alias=identifier(name))


def cast(expression: exp.Expr, data_type: str) -> exp.Cast:
    """Return ``CAST(expression AS data_type)``; the type is written as DuckDB writes it."""
    word = data_type.strip('"')
    if word in _UNKNOWN_TYPES:
        named_type = exp.to_identifier(word, quoted=word != data_type)
        return exp.Cast(this=expression, to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=named_type))
    return exp.Cast(this=expression, to=exp.DataType.build(data_type, dialect="duckdb"))


SAME_TYPE = "twins"
"""In the place of a family: both sides have the same type, whatever it is."""


def same(left: exp.Expr, right: exp.Expr, family: str | None = None) -> exp.Expr:
    """Return ``left IS NOT DISTINCT FROM right``: equality for which NULL is a value like any other.

    Args:
        left: one side.
        right: the other.
        family: of the types of both sides, or ``SAME_TYPE``, where it is known: some engines need it to do it fast.
    """
    equal = exp.NullSafeEQ(this=left, expression=right)
    if family is not None:
        equal.meta["family"] = family
    return equal


def float_as_text(number: exp.Expr) -> exp.Cast:
    """Return a floating-point number as text; every dialect writes it as DuckDB does."""
    text = cast(number, "VARCHAR")
    text.meta["family"] = "float"
    return text


def finite(value: exp.Expr, family: str) -> exp.Anonymous:
    """Return whether a number (of family ``float``) or a date is finite; of NULL, maybe NULL."""
    has_end = exp.Anonymous(this="ISFINITE", expressions=[value])
    has_end.meta["family"] = family
    return has_end


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conjunction of the conditions; of none, TRUE."""
    listed = list(conditions)
    return exp.and_(*listed, copy=False) if listed else exp.true()


def negated(condition: exp.Expr) -> exp.Expr:
    """Return the opposite of a condition that is never NULL; ``a >= b`` becomes ``a < b``."""
    if isinstance(condition, exp.GTE):
        return exp.LT(this=condition.this, expression=condition.expression)
    if isinstance(condition, exp.LTE):
        return exp.GT(this=condition.this, expression=condition.expression)
    return exp.Not(this=exp.Paren(this=condition))


def bound(expression: exp.Expr, parameters: Mapping[str, Any]) -> exp.Expr:
    """Return an expression with values in the place of those placeholders that are given."""

    def replaced(node: exp.Expr) -> exp.Expr:
        known = isinstance(node, exp.Placeholder) and node.name in parameters
        return exp.convert(parameters[node.name]) if known else node

    return expression.transform(replaced)


def bits(expression: exp.Expr, mask: int) -> exp.Expr:
    """Return ``expression & mask``."""
    return exp.Paren(this=exp.BitwiseAnd(this=expression, expression=literal(mask)))


def shifted_left(expression: exp.Expr, places: int) -> exp.Expr:
    """Return ``expression << places``; without places, the expression itself."""
    if places == 0:
        return expression
    return exp.Paren(this=exp.BitwiseLeftShift(this=expression, expression=literal(places)))


def shifted_right(expression: exp.Expr, places: int) -> exp.Expr:
    """Return ``expression >> places``; without places, the expression itself."""
    if places == 0:
        return expression
    return exp.Paren(this=exp.BitwiseRightShift(this=expression, expression=literal(places)))


def combined(parts: list[exp.Expr]) -> exp.Expr:
    """Return the parts joined by bitwise OR; of none, 0."""
    if not parts:
        return literal(0)
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.BitwiseOr(this=whole, expression=part)
    return whole


def log2(number: exp.Expr) -> exp.Expr:
    """Return the logarithm to base 2, by natural logarithms, which every dialect has."""
    return exp.Div(this=exp.Ln(this=number), expression=exp.Ln(this=literal(2.0)))


def greatest(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the greatest of values that are not NULL, of which there is one at least."""
    first, *others = values
    return exp.Greatest(this=first, expressions=others, ignore_nulls=True) if others else first


def least(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the least of values that are not NULL, of which there is one at least."""
    first, *others = values
    return exp.Least(this=first, expressions=others, ignore_nulls=True) if others else first


def count_rows() -> exp.Count:
    """Return ``COUNT(*)``."""
    return exp.Count(this=exp.Star())


def select_count(table: exp.Table) -> exp.Select:
    """Return ``SELECT COUNT(*) FROM table``."""
    return exp.select(count_rows()).from_(table.copy())


def count_distinct(expression: exp.Expr) -> exp.Count:
    """Return ``COUNT(DISTINCT expression)``; NULLs are not counted."""
    return exp.Count(this=exp.Distinct(expressions=[expression]))


def sum_of(expression: exp.Expr) -> exp.Expr:
    """Return the sum of whole numbers as a BIGINT: kept in a table, a wider type would cost twice the memory."""
    return cast(exp.Sum(this=expression), "BIGINT")


def where(aggregate: exp.Expr, condition: exp.Expr) -> exp.Filter:
    """Return ``aggregate FILTER (WHERE condition)``."""
    return exp.Filter(this=aggregate, expression=exp.Where(this=condition))


def over(
    aggregate: exp.Expr,
    *,
    by: Iterable[str | exp.Expr] = (),
    order: Iterable[str | exp.Expr] = (),
    running: bool = False,
) -> exp.Window:
    """Return ``aggregate OVER (PARTITION BY ... ORDER BY ...)``; a running one is of the rows up to the current one."""

    def terms(given: Iterable[str | exp.Expr]) -> list[exp.Expr]:
        return [column(term) if isinstance(term, str) else term.copy() for term in given]

    window = exp.Window(this=aggregate, partition_by=terms(by))
    if ordered := [term if isinstance(term, exp.Ordered) else exp.Ordered(this=term) for term in terms(order)]:
        window.set("order", exp.Order(expressions=ordered))
    if running:
        frame = {"start": "UNBOUNDED", "start_side": "PRECEDING", "end": "CURRENT ROW"}
        window.set("spec", exp.WindowSpec(kind="ROWS", **frame))
    return window


def union_all(queries: Sequence[exp.Query]) -> exp.Query:
    """Return the rows of all queries, of which there is at least one."""
    union, *rest = queries
    for query in rest:
        union = exp.union(union, query, distinct=False, copy=False)
    return union


def values(name: str, columns: Sequence[str], rows: Iterable[Iterable[Value | exp.Expr]]) -> exp.Values:
    """Return ``(VALUES ...) AS name(columns)``."""
    tuples = [exp.Tuple(expressions=[literal(cell) for cell in row]) for row in rows]
    alias = exp.TableAlias(this=identifier(name), columns=[identifier(column) for column in columns])
    return exp.Values(expressions=tuples, alias=alias)


HOLDS = "holds"
"""In ``meta`` of rows that are written out: the values of the table that they hold, as texts, by column."""


def written_out(
    names: Sequence[str],
    rows: Sequence[Sequence[Value]],
    types: Sequence[str],
    holds: Mapping[str, frozenset[Value]] | None = None,
) -> exp.Select:
    """Return the query of rows that are written out as texts and read back as their types.

    Args:
        names: of the columns.
        rows: the rows; texts and NULL.
        types: of the columns, as DuckDB writes them.
        holds: the values of the table among them, by column.
    """
    if not rows:
        nothing = [named(cast(exp.null(), kind), name) for name, kind in zip(names, types, strict=True)]
        return exp.select(*nothing).where(exp.false())
    typed = [named(cast(column(name, "lines"), kind), name) for name, kind in zip(names, types, strict=True)]
    lines = values("lines", names, rows)
    lines.meta[HOLDS] = dict(holds or {})
    return exp.select(*typed).from_(lines)


def create_table(name: exp.Table, query: exp.Query, *, temporary: bool = False) -> exp.Create:
    """Return ``CREATE [TEMPORARY] TABLE name AS query``."""
    properties = exp.Properties(expressions=[exp.TemporaryProperty()]) if temporary else None
    return exp.Create(this=name, kind="TABLE", expression=query, properties=properties)


def create_view(name: exp.Table, query: exp.Query, *, temporary: bool = False, secure: bool = False) -> exp.Create:
    """Return ``CREATE [TEMPORARY] [SECURE] VIEW name AS query``.

    Nothing that a reader of a secure view adds is evaluated for a row that the view leaves out; each dialect has its
    own words for it, or none (see ``Capabilities.barrier``).
    """
    said = [exp.TemporaryProperty()] * temporary + [exp.SecureProperty()] * secure
    properties = exp.Properties(expressions=said) if said else None
    return exp.Create(this=name, kind="VIEW", expression=query, properties=properties)


def drop(name: exp.Table, kind: str = "TABLE") -> exp.Drop:
    """Return ``DROP <kind> IF EXISTS name``."""
    return exp.Drop(tables=[name.copy()], kind=kind, exists=True)


_PACKAGE = Path(__file__).parent.parent


def data_directory(kind: str) -> Path:
    """Return the directory of the shipped files of a kind: ``sql`` or ``hierarchies``.

    In a wheel they lie inside the package (``_data/``); in an editable install, which does not see files that
    the build moves, they lie where they are edited: at the top of the repository.
    """
    installed = _PACKAGE / "_data" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind
