"""Rules that cut texts: codes from the right (SW1A 1AA -> SW1A1 -> SW1A -> SW), texts to a prefix (abc*, then a*)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.expressions import (
    ROOT,
    VALUE,
    compared_value,
    concatenated,
    distinct_values_query,
    root_if_null,
)
from kanon_sql.hierarchy.rules import comma_separated, require, rises
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column, Engine


@dataclass(frozen=True)
class CutRule:
    """Codes of different lengths without their last characters, in capitals and without dots, hyphens and spaces.

    Attributes:
        counts: how many characters are left out at each level.
        letters: whether at the last level below the root only the letters stay that the code begins with.
    """

    counts: tuple[int, ...]
    letters: bool = False

    def __post_init__(self) -> None:
        rising = bool(self.counts) and rises(self.counts, above=0)
        require(rising, "the numbers of characters to leave out must rise, as in cut:2,3,letters")

    def __str__(self) -> str:
        return f"cut:{','.join([*map(str, self.counts), *(['letters'] if self.letters else [])])}"

    def labels(self, column: Column) -> list[exp.Expr]:
        """Return what is left of a code at each level but the root; of nothing, the root."""
        code = compared_value(sql.column(VALUE), column.family)
        kept = [exp.Sub(this=exp.Length(this=code.copy()), expression=sql.literal(count)) for count in self.counts]
        cut: list[exp.Expr] = [
            exp.Left(this=code.copy(), expression=sql.greatest([length, sql.literal(0)])) for length in kept
        ]
        if self.letters:
            cut.append(
                exp.RegexpReplace(this=cut[-1].copy(), expression=sql.literal("[^A-Z].*$"), replacement=sql.literal(""))
            )
        return [
            exp.Coalesce(this=exp.Nullif(this=label, expression=sql.literal("")), expressions=[sql.literal(ROOT)])
            for label in cut
        ]


def parse_cut(parts: list[str]) -> CutRule:
    """Return the rule that stands after ``cut:``.

    Raises:
        RuleError: it is written wrong.
    """
    words = comma_separated(parts[0]) if len(parts) == 1 else []
    letters = words[-1:] == ["letters"]
    counts = words[:-1] if letters else words
    written = all(re.fullmatch(r"[0-9]+", count) for count in counts)
    require(written, "cut is written with numbers of characters, as in cut:2,3,letters")
    return CutRule(tuple(map(int, counts)), letters)


_LONGEST = 64  # characters that the data are asked about
_FEWER = 4  # a level has at most this part of the labels of the one below it


@dataclass(frozen=True)
class PrefixesRule:
    """Texts that begin alike.

    Attributes:
        lengths: characters of the prefix at each level, falling; empty: as the data ask for.
    """

    lengths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require(
            rises(self.lengths[::-1], above=0),
            "the lengths of prefixes must fall and be greater than 0, as in prefixes:3,1",
        )

    def __str__(self) -> str:
        return f"prefixes:{','.join(map(str, self.lengths))}" if self.lengths else "prefixes"

    def settled(self, engine: Engine, source: exp.Table, column: Column, longest: int) -> PrefixesRule:
        """Return the rule with the lengths that the data ask for; with none where no prefix tells texts apart.

        From the longest prefix down, a length becomes a level if it has at most a quarter of the labels of the level
        below it; if none has, the first character is the one level.
        """
        counted_lengths = range(1, min(longest, _LONGEST))
        if not counted_lengths:
            return self
        counts = engine.row(prefix_query(counted_lengths, column, source), f"prefixes of {column.name}")
        values, *labels = (int(count) for count in counts)
        lengths, last = [], values
        for length, count in sorted(zip(counted_lengths, labels, strict=True), reverse=True):
            if 1 < count <= last // _FEWER:
                lengths.append(length)
                last = count
        if not lengths and 1 < labels[0] < values:
            lengths = [1]
        return replace(self, lengths=tuple(lengths))

    def labels(self) -> list[exp.Expr]:
        """Return the label of a value at each level but the root."""
        value = sql.column(VALUE)
        return [
            root_if_null(value.copy()).else_(
                concatenated("", exp.Left(this=value.copy(), expression=sql.literal(length)), ROOT)
            )
            for length in self.lengths
        ]


def parse_prefixes(parts: list[str]) -> PrefixesRule:
    """Return the rule that was written after ``prefixes``.

    Raises:
        RuleError: it is written wrong.
    """
    require(len(parts) <= 1, "after the lengths nothing may follow, as in prefixes:3,1")
    return PrefixesRule(tuple(int(length) for length in comma_separated(parts[0])) if parts else ())


def prefix_query(lengths: range, column: Column, source: exp.Table) -> exp.Query:
    """Return the query that counts the texts of a column, and their different prefixes of each length."""
    value = sql.column(VALUE)
    prefixes = [sql.count_distinct(exp.Left(this=value.copy(), expression=sql.literal(length))) for length in lengths]
    query = exp.select(sql.count_distinct(value), *prefixes).from_("present")
    return query.with_("present", as_=distinct_values_query(column, source))
