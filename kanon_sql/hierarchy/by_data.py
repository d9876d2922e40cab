"""Rules of which the data say the bounds: asked first, built then, and marked as chosen by the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.rules.prefixes import PrefixesRule
from kanon_sql.hierarchy.rules.quantiles import QuantileRule

if TYPE_CHECKING:
    from sqlglot import exp

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.rules.base import Facts
    from kanon_sql.hierarchy.spec import BuiltRule


@dataclass(frozen=True)
class Settled:
    """A rule that knows its bounds.

    Attributes:
        rule: with its bounds.
        origin: what the hierarchy is called.
        notes: what a person should know about the bounds.
    """

    rule: BuiltRule
    origin: str
    notes: tuple[str, ...] = ()


def settle(engine: Engine, source: exp.Table, column: Column, rule: BuiltRule, facts: Facts) -> Settled:
    """Return a rule with the bounds that the data ask for, where it does not say them itself."""
    match rule:
        case QuantileRule():
            note = (
                "its bounds were chosen by the data. They are rounded as far as the gaps between values allow, but one "
                "may still be a value of somebody, and other data give other bounds"
            )
            return Settled(rule.settled(engine, source, column), f"{rule} (bounds chosen by the data)", (note,))
        case PrefixesRule() if not rule.lengths:
            found = rule.settled(engine, source, column, facts.longest)
            said = "its prefixes were chosen by the data: give their lengths to have the same for other data"
            return Settled(found, f"{found} (lengths chosen by the data)", (said,))
        case _:
            return Settled(rule, str(rule))
