"""Dates truncated to larger and larger units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from sqlglot import exp

from kanon_sql.hierarchy.expressions import DATES, ROOT, VALUE
from kanon_sql.hierarchy.rules import BuiltRule, comma_separated, joined, require, rises
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.rules import ColumnExtremes

DateUnit = Literal["day", "week", "month", "quarter", "year", "decade"]
DATE_UNITS: tuple[DateUnit, ...] = get_args(DateUnit)
_USUAL_UNITS: tuple[DateUnit, ...] = ("month", "quarter", "year", "decade")


@dataclass(frozen=True)
class DateRule(BuiltRule):
    units: tuple[DateUnit, ...] = ()  # empty: month to decade, and for timestamps also day
    families: ClassVar = DATES

    def __post_init__(self) -> None:
        order = [DATE_UNITS.index(unit) for unit in self.units]
        require(rises(order, above=-1), f"date units must go from small to large: {', '.join(DATE_UNITS)}")
        require(
            "week" not in self.units or self.units[-1] == "week",
            "a week can lie in two months, quarters and years, so that week must be the last unit before the root: "
            "leave week out, or the units after it",
        )

    @classmethod
    def parse(cls, parts: list[str]) -> DateRule:
        units = comma_separated(parts[0]) if parts else []
        require(set(units) <= set(DATE_UNITS), f"date units are {', '.join(DATE_UNITS)}")
        require(len(parts) <= 1, "after the units nothing may follow")
        return cls(tuple(unit for unit in DATE_UNITS if unit in units))

    def __str__(self) -> str:
        return f"date:{joined(self.units)}" if self.units else "date"

    @property
    def height(self) -> int:
        return len(self.units or _USUAL_UNITS) + 1

    def bind(
        self, engine: Engine, source: exp.Table, column: Column, facts: ColumnExtremes
    ) -> tuple[DateRule, str, tuple[str, ...]]:
        """Return the rule with the units of the column's type: each value of a DATE is already a day."""
        del engine, source, facts
        day: tuple[DateUnit, ...] = ("day",) if column.family == "timestamp" else ()
        bound = self if self.units else DateRule((*day, *_USUAL_UNITS))
        return bound, str(bound), ()

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        """Return the labels of a date; NULL and infinity have none."""
        del column, facts
        return [_label(unit) for unit in self.units]


def _label(unit: DateUnit) -> exp.Expr:
    label = sql.selected("hierarchy/dates", unit)
    for part in label.find_all(exp.Var):
        part.set("this", part.name.lower())
    return exp.Case().when(sql.finite(sql.column(VALUE), "date"), label).else_(sql.literal(ROOT))
