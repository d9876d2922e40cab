"""Texts by the characters that they begin with: ``abc*``, then ``a*``. The data may say how many characters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.pieces import ROOT, VALUE, distinct_values, root_if_null, text_of
from kanon_sql.hierarchy.rules.base import listed, require, rises
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column, Engine

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
        asked = range(1, min(longest, _LONGEST))
        if not asked:
            return self
        counts = engine.row(prefix_query(asked, column, source), f"prefixes of {column.name}")
        values, *labels = (int(count) for count in counts)
        lengths, last = [], values
        for length, count in sorted(zip(asked, labels, strict=True), reverse=True):
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
                text_of("", exp.Left(this=value.copy(), expression=sql.literal(length)), ROOT)
            )
            for length in self.lengths
        ]


def parse_prefixes(parts: list[str]) -> PrefixesRule:
    """Return the rule that was written after ``prefixes``.

    Raises:
        RuleError: it is written wrong.
    """
    require(len(parts) <= 1, "after the lengths nothing may follow, as in prefixes:3,1")
    return PrefixesRule(tuple(int(length) for length in listed(parts[0])) if parts else ())


def prefix_query(lengths: range, column: Column, source: exp.Table) -> exp.Query:
    """Return the query that counts the texts of a column, and their different prefixes of each length."""
    value = sql.column(VALUE)
    prefixes = [sql.count_distinct(exp.Left(this=value.copy(), expression=sql.literal(length))) for length in lengths]
    query = exp.select(sql.count_distinct(value), *prefixes).from_("present")
    return query.with_("present", as_=distinct_values(column, source))
