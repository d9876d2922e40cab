"""What attacks found, as a report tells it: without figures from which values of the original can be computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.evidence.report.figures import Attacked
from kanon_sql.risks.attacks.order import Order
from kanon_sql.risks.attacks.verdicts import verdicts_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.risks.attacks.verdicts import Attack


def attacked(attacks: Sequence[Attack]) -> tuple[Attacked, ...]:
    """Return the outcomes of attacks for a report."""
    verdicts = verdicts_on(attacks, with_original=False)
    return tuple(
        Attacked(
            verdict.attack,
            verdict.about,
            verdict.outcome,
            verdict.succeeded,
            f"{verdict.found[:1].upper()}{verdict.found[1:]}.",
            verdict.stopped_by,
            _figures(attack),
        )
        for attack, verdict in zip(attacks, verdicts, strict=True)
    )


def _figures(attack: Attack) -> dict[str, Any]:
    """Return the figures of an attack, without those from which values of the original can be computed.

    How the release goes with every order of the original is a function of who has which value: with names in their
    order, a few decimals leave one assignment. How many values a sensitive column of the original has tells whether
    rows that were left out have others.
    """
    figures = attack.figures()
    if isinstance(attack, Order):
        return {name: figures[name] for name in ("reason", "followed", "rows", "z_limit", "error_probability")}
    return {name: figure for name, figure in figures.items() if name != "values"}


def not_attacked(why: str) -> Attacked:
    """Return that labels could not be read, so that nobody was attacked."""
    return Attacked("all attacks", None, "not tested", None, f"Could not be tested: {why}", "", {})
