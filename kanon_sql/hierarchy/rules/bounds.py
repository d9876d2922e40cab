"""Numbers cut at bounds, with a label for what lies between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.numbers import is_below, no_number
from kanon_sql.hierarchy.pieces import ROOT
from kanon_sql.hierarchy.rules.base import plain
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from kanon_sql.engine.base import Column


@dataclass(frozen=True)
class Cut:
    """Numbers up to a bound, from where the cut before it ends.

    Attributes:
        bound: where they end.
        with_bound: whether the bound is among them.
        label: what they are called.
    """

    bound: Decimal
    with_bound: bool
    label: str


def label_of_cuts(column: Column, cuts: Sequence[Cut], beyond: str) -> exp.Expr:
    """Return the label of a value: that of the first cut that it is below.

    Args:
        column: the column of numbers.
        cuts: from low to high.
        beyond: the label of numbers above all cuts.
    """
    case = exp.Case().when(no_number(column), sql.literal(ROOT))
    for cut in cuts:
        case = case.when(is_below(column, cut.bound, with_bound=cut.with_bound), sql.literal(cut.label))
    return case.else_(sql.literal(beyond))


def between(low: Decimal, high: Decimal, *, dashed: bool) -> str:
    """Return the label of numbers from a bound to below another: ``20-49`` of whole numbers, else ``[20, 50)``."""
    if not dashed:
        return f"[{plain(low)}, {plain(high)})"
    last = int(high) - 1
    return plain(low) if last == low else f"{plain(low)}-{last}"


@dataclass(frozen=True)
class BoundsRule:
    """Numbers cut at the same bounds whatever their values: a rule of quantiles once the data have said its bounds.

    Attributes:
        origin: the rule that it was made from.
        levels: for each level the bounds, from low to high; those of a level are among those of the level below.
    """

    origin: str
    levels: tuple[tuple[Decimal, ...], ...]

    def __str__(self) -> str:
        return self.origin

    def labels(self, column: Column) -> list[exp.Expr]:
        """Return the label of a value at each level but the root; below and above all bounds it names one only."""
        return [label_of_cuts(column, *_cuts(column, bounds)) for bounds in self.levels]


def _cuts(column: Column, bounds: tuple[Decimal, ...]) -> tuple[list[Cut], str]:
    dashed = column.family == "integer" and bounds[0] >= 0
    cuts = [Cut(bounds[0], with_bound=False, label=f"<{plain(bounds[0])}")]
    for low, high in pairwise(bounds):
        cuts.append(Cut(high, with_bound=False, label=between(low, high, dashed=dashed)))
    return cuts, f">={plain(bounds[-1])}"
