"""Prefix codes: a tree numbered so that an ancestor is a bit prefix.

Among its siblings a label of level ``l`` has an ordinal, counted from 0 in the order of the smallest value under
each. The code of a value is the ordinals on its way from the root to the leaf, each in a field as wide as the
largest family at its level needs:

    value            level 1      level 2        ordinals   code (level 2 | level 1 | value)
    Bachelors        Undergrad    Higher         0, 0, 0    0 0 00
    Masters          Graduate     Higher         0, 1, 0    0 1 00

so that clearing the fields below level ``l`` leaves the same bits for two values exactly if they share their
label at level ``l``. Fields fill words of 62 bits, which a signed BIGINT holds without touching its sign; a
column that needs more has its code in several words.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from kanon_sql.hierarchy.build import VALUE, level_name
from kanon_sql.sql import build as sql

WORD_BITS = 62
"""Bits of a word of codes."""


@dataclass(frozen=True)
class Field:
    """The bits of a word that tell apart the labels of one level under their parent."""

    level: int
    shift: int
    bits: int

    @property
    def mask(self) -> int:
        """The field's bits within its word."""
        return ((1 << self.bits) - 1) << self.shift


@dataclass(frozen=True)
class CodeWord:
    """One word of the codes of a column: the fields in it, lowest level first."""

    fields: tuple[Field, ...]

    @property
    def bits(self) -> int:
        """How many bits of the word are in use."""
        return sum(field.bits for field in self.fields)

    def mask(self, level: int) -> int:
        """Return the bits that are left when a value is generalized to a level."""
        return sum(field.mask for field in self.fields if field.level >= level)


def code_name(word: int) -> str:
    """Return the name of the lookup column that holds a word of the code (from 0): ``code``, ``code_2``, ..."""
    return "code" if word == 0 else f"code_{word + 1}"


def code_words(children: tuple[int, ...]) -> tuple[CodeWord, ...]:
    """Return the layout of a column's codes.

    Args:
        children: for each level from 0 to below the root, the largest number of its labels under one parent.
    """
    words: list[CodeWord] = []
    fields: list[Field] = []
    used = 0
    for level, siblings in enumerate(children):
        bits = max(0, siblings - 1).bit_length()
        if used + bits > WORD_BITS:
            words.append(CodeWord(tuple(fields)))
            fields, used = [], 0
        if bits:
            fields.append(Field(level, used, bits))
            used += bits
    words.append(CodeWord(tuple(fields)))
    return tuple(words)


def coded_query(levels: exp.Table, height: int, words: tuple[CodeWord, ...]) -> exp.Query:
    """Return the query that adds the codes to a relation of values and levels."""
    needed = [field.level for word in words for field in word.fields]
    everything = [sql.column(VALUE), *(sql.column(level_name(level)) for level in range(1, height + 1))]
    qualified = [sql.column(column.name, "levels") for column in everything]
    # 3. The ordinals side by side.
    codes = [
        sql.named(
            sql.cast(
                sql.combined(
                    [sql.shifted_left(sql.column(_ordinal(field.level)), field.shift) for field in word.fields]
                ),
                "BIGINT",
            ),
            code_name(number),
        )
        for number, word in enumerate(words)
    ]
    query = exp.select(*qualified, *codes).from_("leaves AS levels")
    for level in needed:
        if level > 0:
            own = sql.column(level_name(level), _family(level))
            condition = sql.same(sql.column(level_name(level), "levels"), own)
            query = query.join(_family(level), on=condition, copy=False)
    # 2. The ordinal of each value among those of its label ...
    leaves = exp.select(*everything).from_(levels.copy())
    if 0 in needed:
        leaves = leaves.select(sql.named(_numbered(level_name(1), VALUE), _ordinal(0)))
    query = query.with_("leaves", as_=leaves, copy=False)
    # 1. ... and of each label among its siblings, in the order of the smallest value under each.
    for level in needed:
        if level > 0:
            labels = exp.select(
                sql.column(level_name(level)),
                sql.named(exp.Min(this=sql.column(level_name(level + 1))), "parent"),
                sql.named(exp.Min(this=sql.column(VALUE)), "smallest"),
            )
            grouped = labels.from_(levels.copy()).group_by(sql.column(level_name(level))).subquery("labels")
            numbered = sql.named(_numbered("parent", "smallest"), _ordinal(level))
            family = exp.select(sql.column(level_name(level)), numbered).from_(grouped)
            query = query.with_(_family(level), as_=family, copy=False)
    return query


def _ordinal(level: int) -> str:
    return f"ordinal_{level}"


def _family(level: int) -> str:
    return f"labels_{level}"


def _numbered(within: str, by: str) -> exp.Expr:
    """Return the number of a row among those with the same parent, from 0."""
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(by), nulls_first=True)])
    window = exp.Window(this=exp.RowNumber(), partition_by=[sql.column(within)], order=order)
    return sql.cast(exp.Sub(this=window, expression=sql.literal(1)), "BIGINT")
