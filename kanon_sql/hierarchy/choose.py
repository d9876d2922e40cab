"""The hierarchy that the type of a column gives: what is chosen where no ready-made one has all of its values."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.spec import BuiltRule, DateRule, FlatRule, IntervalRule, MaskRule

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.rules.base import Facts

_INTERVALS_AT_FIRST_LEVEL = 16
_LEVELS = 4
_CODE_LENGTHS = range(2, 13)


def chosen_rule(column: Column, facts: Facts) -> BuiltRule:
    """Return a rule for a column.

    Numbers get intervals of 1, 2, 4 and 8 times a round width, about 16 of them at the first level. Dates get
    months, quarters, years and decades (timestamps days before that). Text whose values are all of the same
    length, 2 to 12 characters of ASCII, is a code like a ZIP and is masked from the right. All else is flat: a name
    of two Chinese characters is no code, and its first character no group.
    """
    match column.family:
        case "integer" | "decimal" | "float":
            return _intervals(column, facts)
        case "date":
            return DateRule(("month", "quarter", "year", "decade"))
        case "timestamp":
            return DateRule(("day", "month", "quarter", "year", "decade"))
        case "text" if facts.shortest == facts.longest == facts.most_bytes and facts.longest in _CODE_LENGTHS:
            return MaskRule()
        case _:
            return FlatRule()


def _intervals(column: Column, facts: Facts) -> BuiltRule:
    if facts.minimum is None or facts.maximum is None:
        return FlatRule()
    spread = facts.maximum - facts.minimum
    smallest = Decimal(2) if column.family == "integer" else Decimal("1e-9")
    width = max(smallest, _round_up(spread / _INTERVALS_AT_FIRST_LEVEL)) if spread else smallest
    widths = [width * 2**doubling for doubling in range(_LEVELS) if width * 2**doubling < spread]
    return IntervalRule(tuple(widths)) if widths else FlatRule()


def _round_up(number: Decimal) -> Decimal:
    """Return the smallest of 1, 2 or 5 times a power of ten that is not below the number."""
    power = Decimal(1).scaleb(number.adjusted())
    return next(step * power for step in (Decimal(1), Decimal(2), Decimal(5), Decimal(10)) if step * power >= number)
