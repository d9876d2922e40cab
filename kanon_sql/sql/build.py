"""The one place where SQL text becomes an expression and where Python values enter it.

A statement whose clauses are fixed is a file in ``sql/``, or one of several in a file, each of which begins with
``/* name: what it computes``. One whose clauses grow with the columns is built from sqlglot expressions with the
helpers below. Names and values become *nodes of the tree*: whatever a table or column is called, it stays an
identifier, and no text is ever spliced into SQL.

What a file leaves open:

- ``$name``: a value, an expression, or a list of them (``SELECT $labels, COUNT(*) AS n FROM rows GROUP BY $labels``).
  An empty list adds nothing; a clause that has nothing else goes with it.
- A table, by the name that it has in the file.
- A step (``name AS (...)`` after WITH, or a subquery ``(...) AS name``): other queries may take its place.
- A join: it may stand for several of its kind, one for each column.
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
"""Types of DuckDB of one word that sqlglot does not read; nor does it read TUPLE(...)."""


_STATEMENT = re.compile(r"^/\* (\w+): ", re.MULTILINE)
"""How a statement of several in a file begins."""


@cache
def _script(name: str) -> Mapping[str, str]:
    """Return the statements of a file that has several, by their names."""
    _, *found = _STATEMENT.split((data_directory("sql") / f"{name}.sql").read_text(encoding="utf-8"))
    texts = (f"/* {text.rstrip().removesuffix(';')}" for text in found[1::2])
    return dict(zip(found[::2], texts, strict=True))


def text_of(name: str) -> str:
    """Return the text of a statement: of ``sql/<name>.sql``, or the one of that name in the file of its directory.

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
        count.set("big_int", None)  # else a dialect with two functions would take the other one
    for node in parsed.find_all(exp.Identifier, exp.Literal):
        node.meta.clear()  # its place in the file: a third of the time that a copy takes
    return parsed


class Bindings(TypedDict, total=False):
    """What a file leaves open, and what is meant."""

    values: Mapping[str, Given]  # what stands for each placeholder ``$name``; every placeholder must be given
    # for tables that the file names, those that are meant; columns are still qualified by its name
    tables: Mapping[str, exp.Table]
    # for tables whose columns the file does not qualify, what is meant: a table, or a subquery
    relations: Mapping[str, exp.Expr]
    steps: Mapping[str, Steps]  # for steps of the file, the queries that take their place, each with its name
    # for a table that the file joins, all that are joined so, each with its condition
    joins: Mapping[str, Sequence[tuple[exp.Expr, exp.Expr]]]
    names: Mapping[str, str]  # for names in the file, other names
    part: str  # the step that is wanted, if not the whole statement


def statement(name: str, **given: Unpack[Bindings]) -> exp.Expr:
    """Return the statement of a name (see ``text_of``) with what it leaves open filled in."""
    values, tables, relations = given.get("values", {}), given.get("tables", {}), given.get("relations", {})
    names = given.get("names", {})
    expression = _parsed(name, given.get("part")).copy()
    if (steps_of_file := expression.args.get("with_")) is not None and any(
        isinstance(value, list) for value in values.values()
    ):
        steps_of_file.comments = None  # they explain the placeholders, which are gone
    # 1. What is replaced as a whole needs no values for its placeholders.
    replaced = [(_step(expression, own), queries) for own, queries in given.get("steps", {}).items()]
    repeated = [(_join(expression, own), joined) for own, joined in given.get("joins", {}).items()]
    for step, _ in replaced:
        step.set("this", exp.Null())
    for join, _ in repeated:
        join.set("on", exp.Null())
    # 2. The names and placeholders of the file itself.
    for node in list(expression.find_all(exp.Identifier, exp.Table, exp.Placeholder)):
        if isinstance(node, exp.Placeholder):
            _fill(node, values[node.name])
        elif isinstance(node, exp.Identifier):
            _rename(node, names)
        elif isinstance(node, exp.Table):
            _replace_table(node, tables, relations)
    # 3. What was given.
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
    """Return the expression that the SELECT of a name calls ``column``.

    ``name``: of the statement; ``column``: the name; ``values``: what stands for each placeholder; a sum or
    difference of numbers becomes one number; ``columns``: what stands for columns of the file; ``part``: the step of
    the file that has the SELECT, if it is not the last one.
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
    """Put a value in the place of a placeholder, or several in the list that it is in."""
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
    # Of ``expression AS name`` the name is for where it is selected.
    several = [literal(one) if isinstance(holder, exp.Select) else one.unalias().copy() for one in given]
    filled = [one for item in holder.args[key] for one in (several if item is node else [item])]
    holder.set(key, filled)
    if not filled and isinstance(holder, exp.Group | exp.Order):
        holder.pop()


def _repeat(join: exp.Join, joined: Sequence[tuple[exp.Expr, exp.Expr]]) -> None:
    """Put joins of relations in the place of the one that a file has."""
    if (holder := join.parent) is None:
        raise TypeError("A join is no statement")
    made = [
        exp.Join(this=relation.copy(), on=on.copy(), side=join.args.get("side"), kind=join.args.get("kind"))
        for relation, on in joined
    ]
    holder.set("joins", [one for own in holder.args["joins"] for one in (made if own is join else [own])])


def _put(step: exp.Expr, queries: Steps) -> None:
    """Put queries in the place of a step; without any, it goes."""
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


Relation = TypeVar("Relation", exp.Table, exp.Subquery, exp.Table | exp.Subquery)


def aliased(table: Relation, alias: str) -> Relation:
    """Return the table under an alias."""
    renamed = table.copy()
    renamed.set("alias", exp.TableAlias(this=identifier(alias)))
    return renamed


def literal(value: Value | exp.Expr) -> exp.Expr:
    """Return a Python value as a literal; an expression is returned as a copy."""
    return value.copy() if isinstance(value, exp.Expr) else exp.convert(value)


def concatenated(*parts: str | exp.Expr, by: str = "") -> exp.Expr:
    """Return texts one after the other, with a text between them; NULL if one of them is NULL."""
    whole, *others = map(literal, parts)
    for part in others:
        for text in (literal(by), part) if by else (part,):
            whole = exp.DPipe(this=whole, expression=text, safe=True)
    return whole


def named(expression: exp.Expr, name: str) -> exp.Alias:
    """Return ``expression AS name``."""
    return exp.Alias(this=expression, alias=identifier(name))


def cast(expression: exp.Expr, data_type: str) -> exp.Cast:
    """Return ``CAST(expression AS data_type)``; the type is written as DuckDB writes it."""
    word = data_type.strip('"')
    if word in _UNKNOWN_TYPES:
        named_type = exp.to_identifier(word, quoted=word != data_type)
        return exp.Cast(this=expression, to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=named_type))
    return exp.Cast(this=expression, to=_type(data_type).copy())


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb")


SAME_TYPE = "same type"
"""In the place of a family: both sides have the same type, whatever it is."""


def same(left: exp.Expr, right: exp.Expr, family: str | None = None) -> exp.Expr:
    """Return ``left IS NOT DISTINCT FROM right``: equality for which NULL is a value like any other.

    ``left``: one side; ``right``: the other; ``family``: of the types of both sides, or ``SAME_TYPE``, where it is
    known: some engines need it to do it fast.
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


def rounded(number: exp.Expr) -> exp.Round:
    """Return a DOUBLE as a whole number, halves away from zero in every dialect."""
    whole = exp.Round(this=number)
    whole.meta["halves"] = "away from zero"
    return whole


def finite(value: exp.Expr, family: str) -> exp.Anonymous:
    """Return whether a number (of family ``float``) or a date is finite; of NULL, maybe NULL."""
    has_end = exp.Anonymous(this="ISFINITE", expressions=[value])
    has_end.meta["family"] = family
    return has_end


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conjunction of the conditions; of none, TRUE."""
    listed = list(conditions)
    return exp.and_(*listed, copy=False) if listed else exp.true()


def double(value: float) -> exp.Expr:
    """Return a number as a DOUBLE: with an exponent, since one without is a decimal, which rounds."""
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
    """Return the condition of which ``negated`` made this one."""
    if isinstance(condition, exp.LT):
        return exp.GTE(this=condition.this, expression=condition.expression)
    if isinstance(condition, exp.GT):
        return exp.LTE(this=condition.this, expression=condition.expression)
    inner: exp.Expr = condition.this.unnest()
    return inner


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


def select_counts(table: exp.Table, values: Iterable[exp.Expr]) -> exp.Select:
    """Return the query for the rows of a table (``source``) and, by expression, its values and distinct values."""
    counts = [count for value in values for count in (exp.Count(this=value), count_distinct(value.copy()))]
    return exp.select(count_rows(), *counts).from_(aliased(table, "source"))


def repeated(table: exp.Table, names: Sequence[str], n: str) -> exp.Select:
    """Return the query of these columns of a table, each row of it as often as its column ``n`` says."""
    copies = exp.Explode(this=exp.Anonymous(this="RANGE", expressions=[column(n)]))
    rows = exp.select(*map(column, names), named(copies, n)).from_(table.copy())
    return exp.select(*(column(name, "repeated") for name in names)).from_(rows.subquery("repeated"))


def qualified(expression: exp.Expr, table: str) -> exp.Expr:
    """Return an expression, changed, all columns of which are those of a table."""
    for found in list(expression.find_all(exp.Column)):
        found.set("table", identifier(table))
    return expression


def as_bytes(text: exp.Expr) -> exp.Expr:
    """Return a text in UTF-8: its bytes, of which no collation takes two for the same."""
    return exp.Encode(this=text, charset=literal("utf-8"))


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


def union_distinct(queries: Sequence[exp.Select]) -> exp.Query:
    """Return each row of some queries once, of which there is at least one."""
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
"""In ``meta`` of rows that are written out: the values of the table that they hold, as texts, by column."""


def written_out(
    names: Sequence[str],
    rows: Sequence[Sequence[Value]],
    types: Sequence[str],
    holds: Mapping[str, frozenset[Value]] | None = None,
) -> exp.Select:
    """Return the query of rows that are written out as texts and read back as their types.

    ``names``: of the columns; ``rows``: the rows; texts and NULL; ``types``: of the columns, as DuckDB writes them;
    ``holds``: the values of the table among them, by column.
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

    Nothing that a reader of a secure view adds is evaluated for a row that the view leaves out; each dialect has its
    own words for it, or none (see ``Capabilities.barrier``).
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

    In a wheel they lie inside the package (``_data/``); in an editable install, which does not see files that
    the build moves, they lie where they are edited: at the top of the repository.
    """
    installed = _PACKAGE / "_data" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind
