"""How numbers and names are written in reports."""

from __future__ import annotations

import math

from kanon_sql.risks.attacks.verdicts import counted

NOTHING = "\N{EN DASH}"
"""Stands where there is no figure."""
_LEAST_SHARE, _LARGE = 0.0001, 1000


def shown(text: str) -> str:
    r"""Return a text with characters that cannot be seen, or turn the writing, spelled out, as in ``\x1b``."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def verb(number: int, one: str, many: str | None = None) -> str:
    """Return a verb that fits a number: 1 succeeds, 2 succeed."""
    return one if number == 1 else many or one.removesuffix("s")


def members(number: int, *, people: bool) -> str:
    """Return a number of members of a class: rows, or people where they are counted."""
    return counted(number, "person", "people") if people else counted(number, "row")


def measured(value: float | None, model: str, *, people: bool) -> str:
    """Return what a privacy model measured, with its unit where it has one."""
    if value is None:
        return "no rows"
    if model == "k-anonymity":
        return members(int(value), people=people)
    if model == "distinct l-diversity":
        return counted(int(value), "value")
    if model == "k-map" and not math.isinf(value):
        return f"{counted(int(value), 'row')} of the population"
    return number(value)


def percent(part: float) -> str:
    """Return a share as people write it; one that is not 0 is not written as 0."""
    if 0 < part < _LEAST_SHARE:
        return "< 0.01 %"
    return f"{part:.2%}".replace("%", " %")


def number(value: float | None) -> str:
    """Return a threshold or a measure: a whole number as it is, another with four digits; a dash for none."""
    if value is None:
        return NOTHING
    if math.isinf(value):
        return "no bound"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.4g}"


def decimals(value: float | None) -> str:
    """Return a figure between 0 and 1 with four decimals, a larger one with one; a dash for none."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= _LARGE else f"{value:.4f}"
