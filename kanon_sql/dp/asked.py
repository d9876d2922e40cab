"""The rows that a question is about: one table, one condition on single rows, and who a person is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.dp.predicate import SOURCE, condition
from kanon_sql.dp.rows import Asked
from kanon_sql.engine.columns import resolve_columns
from kanon_sql.engine.equality import collated
from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.dp.questions.base import Question
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source

_GROUPS = {"text", "integer", "boolean"}


def asked_of(source: Source, question: Question) -> Asked:
    """Return the rows that a question is about.

    Raises:
        UsageError: a column does not exist, or the condition is none.
    """
    columns, name = source.columns, source.name
    conditions: list[exp.Expr] = []
    if question.where is not None:
        conditions.append(exp.paren(condition(question.where, columns, name)))
    group = None
    if question.group is not None:
        named, value = question.group
        (column,) = resolve_columns([named], columns, name)
        if column.family not in _GROUPS:
            raise UsageError(f"Column {column.name} cannot make groups: texts, whole numbers and truth values can.")
        group = (column.name, value)
        conditions.append(_is_in_group(column, value))
    if question.key is not None:
        _require_no_collation(source, question.key)
    person = None
    if question.entity is None and question.max_rows > 1:
        raise UsageError("--max-rows is how many rows of a person count: say with --entity who that is.")
    if question.entity is not None:
        (person,) = resolve_columns([question.entity], columns, name)
    return Asked(source.relation, name, columns, person, question.max_rows, tuple(conditions), group)


def _require_no_collation(source: Source, name: str) -> None:
    """Raise where texts that are written differently count as equal: the first of them names the key of all.

    One person who goes takes that name away, and all rows of the key have another one.

    Raises:
        UsageError: the column has a collation.
    """
    columns = [column for column in resolve_columns([name], source.columns, source.name) if column.family == "text"]
    if collated(source.engine, source.relation, columns):
        raise UsageError(
            f"Column {name} has a collation: texts that are written differently count as one key, whose name would "
            "tell who is there. Remove it (ALTER TABLE ... ALTER ... TYPE VARCHAR), or SET default_collation = ''."
        )


def _is_in_group(column: Column, value: str) -> exp.Expr:
    """Return the condition of a group: texts are compared byte by byte, so that no row is in the groups of two texts.

    A column may have a collation by which two texts are equal. By their digests they never are.
    """
    own = exp.MD5(this=sql.cast(sql.column(column.name, SOURCE), "VARCHAR"))
    return exp.EQ(this=own, expression=exp.MD5(this=sql.literal(value)))
