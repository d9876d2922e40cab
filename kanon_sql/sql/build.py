"""Load SQL text as expressions, and bind Python values to them. No other module does either.

A statement with fixed clauses is a file in ``sql/``, or one of several in a file, each of which starts with
``/* name: what it computes``. A statement whose clauses depend on the columns is built from sqlglot expressions with
the helpers below. Names and values become *nodes of the tree*: an identifier stays an identifier whatever its text,
and no text is ever spliced into SQL.

A file can leave open:

- ``$name``: a value, an expression, or a list of them (``SELECT $labels, COUNT(*) AS n FROM rows GROUP BY $labels``).
  An empty list adds nothing, and removes a clause that has nothing else.
- A table, by its name in the file.
- A step (``name AS (...)`` after WITH, or a subquery ``(...) AS name``): other queries can replace it.
- A join: it can be repeated, for example once per column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import sqlglot
from sqlglot import exp

from kanon_sql.sql.names import needs_quotes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Unpack

Value = str | int | float | bool | None
Given = Value | exp.Expr | list[Any]
Steps = Sequence[tuple[str, exp.Query]]

_UNKNOWN_TYPES = {"TIMESTAMPTZ_NS", "NULL"}
"""Single-word types of DuckDB that sqlglot cannot parse. (It cannot parse TUPLE(...) either.)"""


_STATEMENT = re.compile(r"^/\* (\w+): ", re.MULTILINE)
"""The first line of each statement in a file of several."""


@cache
def _script(name: str) -> Mapping[str, str]:
    """Return the statements of a file that has several, by name."""
    _, *found = _STATEMENT.split((data_directory("sql") / f"{name}.sql").read_text(encoding="utf-8"))
    texts = (f"/* {text.rstrip().removesuffix(';')}" for text in found[1::2])
    return dict(zip(found[::2], texts, strict=True))


def text_of(name: str) -> str:
    """Return the text of a statement: ``sql/<name>.sql``, or the statement of that name in a file of several.

    ``release/full_domain`` is a file; ``ledger/record`` is the statement ``record`` of ``sql/ledger.sql``.
    """
    path = data_directory("sql") / f"{name}.sql"
    script, _, own = name.rpartition("/")
    return path.read_text(encoding="utf-8") if path.is_file() else _script(script)[own]


@cache
def _parsed(name: str, part: str | None) -> exp.Expr:
    if part is not None:
        found: exp.Expr = _step(_parsed(name, None), part).this
        return found
    parsed = sqlglot.parse_one(text_of(name), read="duckdb")
    parsed.comments = None
    for count in parsed.find_all(exp.Count):
        count.set("big_int", None)  # a dialect with two such functions would use the other one
    for node in parsed.find_all(exp.Identifier, exp.Literal):
        node.meta.clear()  # its position in the file, which takes a third of the time of a copy
    return parsed


class Bindings(TypedDict, total=False):
    """Replacements for what a file leaves open."""

    values: Mapping[str, Given]  # the value of each placeholder ``$name``; every placeholder needs one
    # the actual tables, by their names in the file; columns are still qualified by that name
    tables: Mapping[str, exp.Table]
    # the actual table or subquery, for tables whose columns the file does not qualify
    relations: Mapping[str, exp.Expr]
    steps: Mapping[str, Steps]  # the named queries that replace each step
    # for each table that the file joins, the relations to join in the same way, each with its condition
    joins: Mapping[str, Sequence[tuple[exp.Expr, exp.Expr]]]
    names: Mapping[str, str]  # new names for names in the file
    part: str  # return only this step, not the whole statement


def statement(name: str, **given: Unpack[Bindings]) -> exp.Expr:
    """Return the statement of a name (see ``text_of``) with its open parts filled in."""
    values, tables, relations = given.get("values", {}), given.get("tables", {}), given.get("relations", {})
    names = given.get("names", {})
    expression = _parsed(name, given.get("part")).copy()
    if (steps_of_file := expression.args.get("with_")) is not None and any(
        isinstance(value, list) for value in values.values()
    ):
        steps_of_file.comments = None  # they explain placeholders, which are filled in now
    # 1. Replaced steps need no values for their placeholders.
    replaced = [(_step(expression, own), queries) for own, queries in given.get("steps", {}).items()]
    repeated = [(_join(expression, own), joined) for own, joined in given.get("joins", {}).items()]
    for step, _ in replaced:
        step.set("this", exp.Null())
    for join, _ in repeated:
        join.set("on", exp.Null())
    # 2. Names and placeholders of the file itself.
    for node in list(expression.find_all(exp.Identifier, exp.Table, exp.Placeholder)):
        if isinstance(node, exp.Placeholder):
            _fill(node, values[node.name])
        elif isinstance(node, exp.Identifier):
            _rename(node, names)
        elif isinstance(node, exp.Table):
            _replace_table(node, tables, relations)
    # 3. The given expressions.
    for join, joined in repeated:
        _repeat(join, joined)
    for step, queries in replaced:
        _put(step, queries)
    return expression


def query(name: str, **given: Unpack[Bindings]) -> exp.Query:
    """Return the query of a name, as ``statement`` does."""
    found = statement(name, **given)
    if not isinstance(found, exp.Query):
        raise TypeError(f"{name} is no query")
    return found


def select(name: str, **given: Unpack[Bindings]) -> exp.Select:
    """Return the SELECT of a name, as ``statement`` does."""
    found = statement(name, **given)
    if not isinstance(found, exp.Select):
        raise TypeError(f"{name} is no SELECT")
    return found


def selected(
    name: str,
    column: str,
    *,
    values: Mapping[str, Value] | None = None,
    columns: Mapping[str, exp.Expr] | None = None,
    part: str | None = None,
) -> exp.Expr:
    """Return the expression named ``column`` in the SELECT of a statement.

    ``name``: of the statement; ``column``: the name; ``values``: of the placeholders; a sum or difference of numbers
    becomes one number; ``columns``: replacements for columns of the file; ``part``: the step of the file that has the
    SELECT, if it is not the last one.
    """
    given_values, given_columns = values or {}, columns or {}
    found = next(one for one in _parsed(name, part).selects if one.alias == column).copy()  # type: ignore[attr-defined]
    for node in list(found.find_all(exp.Placeholder, exp.Column)):
        if isinstance(node, exp.Placeholder):
            number = literal(given_values[node.name])
            sum_of_two = node.parent if isinstance(node.parent, exp.Add | exp.Sub) else None
            node.replace(number)
            if sum_of_two is not None and isinstance(sum_of_two.expression, exp.Literal):
                one, other = float(number.name), float(sum_of_two.expression.name)
                sum_of_two.replace(double(one + other if isinstance(sum_of_two, exp.Add) else one - other))
        elif node.name in given_columns:
            node.replace(given_columns[node.name].copy())
    expression: exp.Expr = found.this.pop()
    return expression


def _step(expression: exp.Expr, name: str) -> exp.Expr:
    return next(node for node in expression.find_all(exp.CTE, exp.Subquery) if node.alias == name)


def _join(expression: exp.Expr, name: str) -> exp.Join:
    return next(node for node in expression.find_all(exp.Join) if node.alias_or_name == name)


def _rename(name: exp.Identifier, names: Mapping[str, str]) -> None:
    if name.name in names:
        name.replace(identifier(names[name.name]))


def _replace_table(table: exp.Table, tables: Mapping[str, exp.Table], relations: Mapping[str, exp.Expr]) -> None:
    if (meant := tables.get(table.name)) is not None:
        table.replace(meant.copy() if meant.name == table.alias_or_name else aliased(meant, table.alias_or_name))
    elif (relation := relations.get(table.name)) is not None:
        table.replace(relation.copy())


def _fill(placeholder: exp.Placeholder, given: Given) -> None:
    """Replace a placeholder by a value, or by several in the list that contains it."""
    if not isinstance(given, list):
        placeholder.replace(literal(given))
        return
    ordered = placeholder.parent if isinstance(placeholder.parent, exp.Ordered) else None
    node = ordered if ordered is not None and not ordered.args.get("nulls_first") else placeholder
    holder, key = node.parent, node.arg_key
    if holder is None or key is None:
        raise TypeError("A list of expressions is no statement")
    if not isinstance(holder.args[key], list):  # a condition
        if given:
            node.replace(literal(given[0]))
        else:
            holder.pop()
        return
    # The name in ``expression AS name`` is needed only in the SELECT list.
    several = [literal(one) if isinstance(holder, exp.Select) else one.unalias().copy() for one in given]
    filled = [one for item in holder.args[key] for one in (several if item is node else [item])]
    holder.set(key, filled)
    if not filled and isinstance(holder, exp.Group | exp.Order):
        holder.pop()


def _repeat(join: exp.Join, joined: Sequence[tuple[exp.Expr, exp.Expr]]) -> None:
    """Replace a join of a file by joins of relations."""
    if (holder := join.parent) is None:
        raise TypeError("A join is no statement")
    made = [
        exp.Join(this=relation.copy(), on=on.copy(), side=join.args.get("side"), kind=join.args.get("kind"))
        for relation, on in joined
    ]
    holder.set("joins", [one for own in holder.args["joins"] for one in (made if own is join else [own])])


def _put(step: exp.Expr, queries: Steps) -> None:
    """Replace a step by queries; remove it if there are none."""
    if not queries:
        step.pop()
        return
    *before, (name, last) = queries
    step.set("this", last)
    if step.alias != name:
        step.set("alias", exp.TableAlias(this=identifier(name)))
    if before and (steps := step.parent) is not None:
        made = [exp.CTE(this=one, alias=exp.TableAlias(this=identifier(own))) for own, one in before]
        steps.set("expressions", [one for own in steps.expressions for one in ([*made, own] if own is step else [own])])


def identifier(name: str) -> exp.Identifier:
    """Return a name as an identifier, quoted unless it is a plain word. Any text becomes a name and nothing else."""
    return exp.Identifier(this=name, quoted=needs_quotes(name))


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a reference to a column, qualified by a table alias if one is given."""
    return exp.Column(this=identifier(name), table=identifier(table) if table else None)


def relation(name: str, schema: str | None = None, catalog: str | None = None) -> exp.Table:
    """Return a table, qualified by its schema and catalog if they are given."""
    return exp.Table(
        this=identifier(name),
        db=identifier(schema) if schema else None,
        catalog=identifier(catalog) if catalog else None,
    )


Relation = TypeVar("Relation", exp.Table, exp.Subquery, exp.Table | exp.Subquery)


def aliased(table: Relation, alias: str) -> Relation:
    renamed = table.copy()
    renamed.set("alias", exp.TableAlias(this=identifier(alias)))
    return renamed


def literal(value: Value | exp.Expr) -> exp.Expr:
    """Return a Python value as a literal; an expression is returned as a copy."""
    return value.copy() if isinstance(value, exp.Expr) else exp.convert(value)


def concatenated(*parts: str | exp.Expr, by: str = "") -> exp.Expr:
    """Return the concatenation of texts with a separator; NULL if one of them is NULL."""
    whole, *others = map(literal, parts)
    for part in others:
        for text in (literal(by), part) if by else (part,):
            whole = exp.DPipe(this=whole, expression=text, safe=True)
    return whole


def named(expression: exp.Expr, name: str) -> exp.Alias:
    """Return ``expression AS name``."""
    return exp.Alias(this=expression, alias=identifier(name))


def cast(expression: exp.Expr, data_type: str) -> exp.Cast:
    """Return ``CAST(expression AS data_type)``; the type has DuckDB's name."""
    word = data_type.strip('"')
    if word in _UNKNOWN_TYPES:
        named_type = exp.to_identifier(word, quoted=word != data_type)
        return exp.Cast(this=expression, to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=named_type))
    return exp.Cast(this=expression, to=_type(data_type).copy())


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb")


SAME_TYPE = "same type"
"""Used instead of a family: both sides have the same type, whatever it is."""


def same(left: exp.Expr, right: exp.Expr, family: str | None = None) -> exp.Expr:
    """Return ``left IS NOT DISTINCT FROM right``: equality in which NULL equals NULL.

    ``left``: one side; ``right``: the other; ``family``: of the types of both sides, or ``SAME_TYPE``, if known. Some
    engines need it for a fast comparison.
    """
    equal = exp.NullSafeEQ(this=left, expression=right)
    if family is not None:
        equal.meta["family"] = family
    return equal


def float_as_text(number: exp.Expr) -> exp.Cast:
    """Return a floating-point number as text, in DuckDB's format in every dialect."""
    text = cast(number, "VARCHAR")
    text.meta["family"] = "float"
    return text


def rounded(number: exp.Expr) -> exp.Round:
    """Return a DOUBLE as a whole number, halves away from zero in every dialect."""
    whole = exp.Round(this=number)
    whole.meta["halves"] = "away from zero"
    return whole


def finite(value: exp.Expr, family: str) -> exp.Anonymous:
    """Return whether a number (family ``float``) or a date is finite; it may be NULL for NULL."""
    has_end = exp.Anonymous(this="ISFINITE", expressions=[value])
    has_end.meta["family"] = family
    return has_end


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conjunction of the conditions; TRUE if there are none."""
    listed = list(conditions)
    return exp.and_(*listed, copy=False) if listed else exp.true()


def double(value: float) -> exp.Expr:
    """Return a number as a DOUBLE. It has an exponent: without one it would be a decimal, which rounds."""
    text = repr(float(value))
    return exp.Literal.number(text if "e" in text else f"{text}e0")


def matches(text: exp.Expr, pattern: str) -> exp.Expr:
    """Return ``REGEXP_MATCHES(text, pattern)``."""
    return exp.func("REGEXP_MATCHES", text.copy(), literal(pattern), dialect="duckdb")


def replaced(text: exp.Expr, old: str, new: str) -> exp.Expr:
    """Return ``REPLACE(text, old, new)``."""
    return exp.func("REPLACE", text.copy(), literal(old), literal(new), dialect="duckdb")


def negated(condition: exp.Expr) -> exp.Expr:
    """Return the opposite of a condition that is never NULL; ``a >= b`` becomes ``a < b``."""
    if isinstance(condition, exp.GTE):
        return exp.LT(this=condition.this, expression=condition.expression)
    if isinstance(condition, exp.LTE):
        return exp.GT(this=condition.this, expression=condition.expression)
    return exp.Not(this=exp.Paren(this=condition))


def affirmed(condition: exp.Expr) -> exp.Expr:
    """Return the condition that ``negated`` turned into this one."""
    if isinstance(condition, exp.LT):
        return exp.GTE(this=condition.this, expression=condition.expression)
    if isinstance(condition, exp.GT):
        return exp.LTE(this=condition.this, expression=condition.expression)
    inner: exp.Expr = condition.this.unnest()
    return inner


def bound(expression: exp.Expr, parameters: Mapping[str, Any]) -> exp.Expr:
    """Return an expression with the given values in place of their placeholders."""

    def replaced(node: exp.Expr) -> exp.Expr:
        known = isinstance(node, exp.Placeholder) and node.name in parameters
        return exp.convert(parameters[node.name]) if known else node

    return expression.transform(replaced)


def bits(expression: exp.Expr, mask: int) -> exp.Expr:
    """Return ``expression & mask``."""
    return exp.Paren(this=exp.BitwiseAnd(this=expression, expression=literal(mask)))


def shifted_left(expression: exp.Expr, places: int) -> exp.Expr:
    """Return ``expression << places``; the expression itself if ``places`` is 0."""
    if places == 0:
        return expression
    return exp.Paren(this=exp.BitwiseLeftShift(this=expression, expression=literal(places)))


def shifted_right(expression: exp.Expr, places: int) -> exp.Expr:
    """Return ``expression >> places``; the expression itself if ``places`` is 0."""
    if places == 0:
        return expression
    return exp.Paren(this=exp.BitwiseRightShift(this=expression, expression=literal(places)))


def combined(parts: list[exp.Expr]) -> exp.Expr:
    """Return the bitwise OR of the parts; 0 if there are none."""
    if not parts:
        return literal(0)
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.BitwiseOr(this=whole, expression=part)
    return whole


def log2(number: exp.Expr) -> exp.Expr:
    """Return the logarithm to base 2, computed from natural logarithms, which every dialect has."""
    return exp.Div(this=exp.Ln(this=number), expression=exp.Ln(this=literal(2.0)))


def greatest(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the greatest of at least one value; none may be NULL."""
    first, *others = values
    return exp.Greatest(this=first, expressions=others, ignore_nulls=True) if others else first


def least(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the least of at least one value; none may be NULL."""
    first, *others = values
    return exp.Least(this=first, expressions=others, ignore_nulls=True) if others else first


def count_rows() -> exp.Count:
    """Return ``COUNT(*)``."""
    return exp.Count(this=exp.Star())


def select_count(table: exp.Table) -> exp.Select:
    """Return ``SELECT COUNT(*) FROM table``."""
    return exp.select(count_rows()).from_(table.copy())


def select_counts(table: exp.Table, values: Iterable[exp.Expr]) -> exp.Select:
    """Return the query that counts rows of a table (``source``) and values and distinct values of expressions."""
    counts = [count for value in values for count in (exp.Count(this=value), count_distinct(value.copy()))]
    return exp.select(count_rows(), *counts).from_(aliased(table, "source"))


def repeated(table: exp.Table, names: Sequence[str], n: str) -> exp.Select:
    """Return the query for columns of a table that repeats each row ``n`` times; ``n`` is a column."""
    copies = exp.Explode(this=exp.Anonymous(this="RANGE", expressions=[column(n)]))
    rows = exp.select(*map(column, names), named(copies, n)).from_(table.copy())
    return exp.select(*(column(name, "repeated") for name in names)).from_(rows.subquery("repeated"))


def qualified(expression: exp.Expr, table: str) -> exp.Expr:
    """Qualify all columns of an expression by a table, in place, and return it."""
    for found in list(expression.find_all(exp.Column)):
        found.set("table", identifier(table))
    return expression


def as_bytes(text: exp.Expr) -> exp.Expr:
    """Return the UTF-8 bytes of a text. No collation makes different bytes equal."""
    return exp.Encode(this=text, charset=literal("utf-8"))


def count_distinct(expression: exp.Expr) -> exp.Count:
    """Return ``COUNT(DISTINCT expression)``; NULLs are not counted."""
    return exp.Count(this=exp.Distinct(expressions=[expression]))


def sum_of(expression: exp.Expr) -> exp.Expr:
    """Return the sum of whole numbers as a BIGINT: a wider type would double the memory of a stored table."""
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
    """Return ``aggregate OVER (PARTITION BY ... ORDER BY ...)``; a running one covers rows up to the current one."""

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
    """Return the rows of all queries; there is at least one query."""
    union, *rest = queries
    for query in rest:
        union = exp.union(union, query, distinct=False, copy=False)
    return union


def union_distinct(queries: Sequence[exp.Select]) -> exp.Query:
    """Return the distinct rows of all queries; there is at least one query."""
    first, *rest = queries
    union: exp.Query = first.distinct()
    for query in rest:
        union = exp.union(union, query, distinct=True, copy=False)
    return union


def values(name: str, columns: Sequence[str], rows: Iterable[Iterable[Value | exp.Expr]]) -> exp.Values:
    """Return ``(VALUES ...) AS name(columns)``."""
    tuples = [exp.Tuple(expressions=[literal(cell) for cell in row]) for row in rows]
    alias = exp.TableAlias(this=identifier(name), columns=[identifier(column) for column in columns])
    return exp.Values(expressions=tuples, alias=alias)


HOLDS = "holds"
"""Key in ``meta`` of literal rows: the values of the table that they contain, as texts, by column."""


def written_out(
    names: Sequence[str],
    rows: Sequence[Sequence[Value]],
    types: Sequence[str],
    holds: Mapping[str, frozenset[Value]] | None = None,
) -> exp.Select:
    """Return a query of literal rows, written as texts and cast to their types.

    ``names``: of the columns; ``rows``: texts and NULL; ``types``: of the columns, as DuckDB writes them; ``holds``:
    the values of the table among them, by column.
    """
    if not rows:
        nothing = [named(cast(exp.null(), kind), name) for name, kind in zip(names, types, strict=True)]
        return exp.select(*nothing).where(exp.false())
    typed = [named(cast(column(name, "lines"), kind), name) for name, kind in zip(names, types, strict=True)]
    lines = values("lines", names, rows)
    lines.meta[HOLDS] = dict(holds or {})
    return exp.select(*typed).from_(lines)


def create_table(name: exp.Table, query: exp.Query, *, temporary: bool = False, replace: bool = False) -> exp.Create:
    """Return ``CREATE [OR REPLACE] [TEMPORARY] TABLE name AS query``."""
    properties = exp.Properties(expressions=[exp.TemporaryProperty()]) if temporary else None
    return exp.Create(this=name, kind="TABLE", replace=replace, expression=query, properties=properties)


def create_view(
    name: exp.Table, query: exp.Query, *, temporary: bool = False, secure: bool = False, replace: bool = False
) -> exp.Create:
    """Return ``CREATE [OR REPLACE] [TEMPORARY] [SECURE] VIEW name AS query``.

    A secure view never evaluates expressions of its readers on rows that it leaves out. Each dialect has its own syntax
    for it, or none (see ``Capabilities.barrier``).
    """
    said = [exp.TemporaryProperty()] * temporary + [exp.SecureProperty()] * secure
    properties = exp.Properties(expressions=said) if said else None
    return exp.Create(this=name, kind="VIEW", replace=replace, expression=query, properties=properties)


def set_time_zone(zone: str) -> exp.Set:
    """Return ``SET TimeZone = 'zone'``."""
    assigned = exp.EQ(this=exp.var("TimeZone"), expression=literal(zone))
    return exp.Set(expressions=[exp.SetItem(this=assigned)])


def drop(name: exp.Table, kind: str = "TABLE") -> exp.Drop:
    """Return ``DROP <kind> IF EXISTS name``."""
    return exp.Drop(tables=[name.copy()], kind=kind, exists=True)


_PACKAGE = Path(__file__).parent.parent


def data_directory(kind: str) -> Path:
    """Return the directory of the shipped files of a kind: ``sql``, ``hierarchies`` or ``standards``.

    In a wheel they are inside the package (``_data/``). An editable install does not see files that the build moves, so
    there they are at the top of the repository.
    """
    installed = _PACKAGE / "_data" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind
