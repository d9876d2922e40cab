"""Codes of different lengths, cut from the right: SW1A 1AA -> SW1A1 -> SW1A -> SW."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.compared import compared_value
from kanon_sql.hierarchy.pieces import ROOT, VALUE
from kanon_sql.hierarchy.rules.base import listed, require, rises
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column


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
    words = listed(parts[0]) if len(parts) == 1 else []
    letters = words[-1:] == ["letters"]
    counts = words[:-1] if letters else words
    written = all(re.fullmatch(r"[0-9]+", count) for count in counts)
    require(written, "cut is written with numbers of characters, as in cut:2,3,letters")
    return CutRule(tuple(map(int, counts)), letters)
