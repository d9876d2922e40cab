"""Which ages, years and ZIP codes a published label tells."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

OLDEST = 89
"""The highest age that may be published by itself (45 CFR 164.514(b)(2)(i)(C))."""

_NUMBER = re.compile(r"(?<![0-9.])-?[0-9]+(?:\.[0-9]+)?|(?<=[0-9])-[0-9]+(?:\.[0-9]+)?")
_YEAR = re.compile(r"(?<![0-9])[12][0-9]{3}(?![0-9])")
_MASKED = re.compile(r"([0-9]+)([*xX?]+)")
_AND_MORE = re.compile(
    r"\+|>|≥|∞|older|over|more|above|after|later|since|inf|und mehr|et plus|y más|以上", re.IGNORECASE
)
_AND_LESS = re.compile(r"<|≤|younger|under|less|below|before|earlier|until|以下", re.IGNORECASE)
_HIDDEN = re.compile(r"[*xX?\s.-]*")
_ZIP = re.compile(r"(?P<shown>[0-9]*)[*xX?\s.-]*")
_SHOWN_DIGITS = 3


class Range(NamedTuple):
    """The lowest and the highest number that a label stands for."""

    low: float
    high: float


def is_hidden(label: str) -> bool:
    """Tell whether a label has nothing of a value: ``*``, or no characters but those that stand for others."""
    return _HIDDEN.fullmatch(label) is not None


def range_of(label: str, *, years: bool = False) -> Range | None:
    """Return the numbers that a label stands for, or the years in it; None where it has none.

    ``85``, ``80-89``, ``[80, 90)``, ``90+``, ``>= 90``, ``<18``, ``1940s``, ``88, 91``, ``9*``.
    """
    if is_hidden(label):
        return Range(-math.inf, math.inf)
    if masked := _MASKED.fullmatch(label.strip()):
        shown, hidden = masked[1], len(masked[2])
        return Range(float(shown + "0" * hidden), float(shown + "9" * hidden))
    if "*" in label:
        return None
    found = [float(text.lstrip("-")) for text in (_YEAR if years else _NUMBER).findall(label)]
    if not found:
        return None
    low, high = min(found), max(found)
    if years and re.search(r"[0-9]0s\b", label):
        high += 9
    if label.rstrip().endswith(")") and label.lstrip().startswith(("[", "(")) and len(found) > 1:
        high -= 1  # the bound is not in it, and ages and years are whole numbers
    if _AND_LESS.search(label):
        return Range(-math.inf, high)
    return Range(low, math.inf) if _AND_MORE.search(label) else Range(low, high)


def tells_old_age(label: str, *, this_year: int | None = None) -> bool | None:
    """Tell whether a label gives away an age over 89, but for one class of all who are 90 or older.

    With ``this_year``, the label is a year of birth, or has one. None where the label has no number.
    """
    found = range_of(label, years=this_year is not None)
    if found is None:
        return None
    ages = found if this_year is None else Range(this_year - found.high, this_year - found.low)
    if ages.high <= OLDEST:
        return False
    if ages.low == ages.high:
        return this_year is not None or ages.low != OLDEST + 1  # the number 90 stands for all who are older
    return ages.high < math.inf or ages.low > OLDEST + 1


def tells_small_area(label: str, restricted: Collection[str], *, is_number: bool) -> bool:
    """Tell whether a label of a ZIP code has more than three of its digits, or those of a restricted area.

    ``is_number`` says that zeros in front are lost: a number below 1,000 stands for three digits.
    """
    found = _ZIP.fullmatch(label.strip())
    if found is None:
        return True
    shown = found["shown"].zfill(_SHOWN_DIGITS) if is_number else found["shown"]
    return len(shown) > _SHOWN_DIGITS or shown in restricted
