"""What attacks found, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.attacks.background import Background
from kanon_sql.attacks.homogeneity import Homogeneity
from kanon_sql.attacks.joint import Joint
from kanon_sql.attacks.linkage import Linkage
from kanon_sql.attacks.order import Order
from kanon_sql.reporting.figures import Attacked
from kanon_sql.reporting.remedies import remedy
from kanon_sql.reporting.words import counted, share

if TYPE_CHECKING:
    from kanon_sql.attacks.base import Attack


def attacked(attack: Attack, *, only_sensitive: bool = True) -> Attacked:
    """Return the outcome of an attack for a report.

    Args:
        attack: the attack.
        only_sensitive: whether no more than one column is called sensitive.
    """
    about, meaningless = None, None
    match attack:
        case Linkage():
            found = _linkage(attack)
        case Homogeneity():
            found, about = _homogeneity(attack), attack.column
        case Background():
            found, about, meaningless = _background(attack), attack.column, _meaningless(attack)
            if meaningless is not None:
                found = "Who can rule out all values but one knows the last, with or without a release."
        case Order():
            found = _order(attack)
        case Joint():
            found, about = _joint(attack), attack.other
        case _:
            raise TypeError(attack)
    untested = meaningless is not None or (isinstance(attack, Order) and attack.reason is not None)
    succeeded = None if untested else attack.succeeded
    stopped_by = remedy(attack, only_sensitive=only_sensitive)
    return Attacked(attack.name, about, succeeded, found, stopped_by, _figures(attack), meaningless)


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
    return Attacked("all attacks", None, None, f"Could not be tested: {why}", "", {})


def _meaningless(found: Background) -> str | None:
    """Return why ruling out values says nothing: the column has no more of them than are left after it."""
    if found.values > min(found.rows_certain) + 1:
        return None
    return f"the column has only {counted(found.values, 'value')}" if found.values else "the column has no values"


def _linkage(found: Linkage) -> str:
    said = f"{share(found.rows_below_k, found.rows)} of the original find fewer than {found.k} rows of the output"
    if found.smallest is not None:
        said += f"; the fewest that any finds are {found.smallest:,}"
    if found.rows_without_class:
        said += f"; {share(found.rows_without_class, found.rows)} find none, and are known to be left out"
    return f"{said}."


def _homogeneity(found: Homogeneity) -> str:
    if not found.rows_confident:
        return "For no row of the original is the value certain."
    said = f"For {share(found.rows_certain, found.rows)} of the original the value is certain"
    return f"{said}, and for {found.rows_certain_right:,} of them it is right."


def _background(found: Background) -> str:
    certain = [
        f"for {share(rows, found.rows)} after ruling out {counted(ruled_out, 'value')}"
        for ruled_out, rows in found.rows_certain.items()
    ]
    return f"The value is certain {', '.join(certain)}."


def _order(found: Order) -> str:
    if found.reason is not None:
        return f"Not tested: {found.reason}."
    if found.succeeded:
        return f"The rows follow {counted(len(found.followed), 'order')} of the original: {', '.join(found.followed)}."
    return f"The rows follow none of {counted(len(found.orders), 'order')} of the original."


def _joint(found: Joint) -> str:
    small = share(found.classes.rows_below_k, found.rows)
    who = "rows" if found.classes.people_below_k is None else "people"
    said = f"Beside the other release, {small} of the original are left with fewer than {found.k} {who}"
    said += f", {found.classes.alone:,} alone"
    for known in found.known:
        said += f"; the value of {known.column} is certain for {share(known.rows_certain, found.rows)}"
    return f"{said}."
