"""Ages, years and ZIP codes that a published label reveals."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

OLD = 90
"""The age from which all people must be one class (45 CFR 164.514(b)(2)(i)(C))."""

_FILLING = r"*xX?#_•"
HIDDEN = (
    rf"[{_FILLING}\s.-]*|(?i:[\[(<]?(redacted|removed|suppressed|hidden|deleted|masked|anonymi[sz]ed)[\])>]?"
    "|n/?a|nan|none|null|unknown)"
)
"""Texts that replace a hidden value; valid for DuckDB too."""

_HIDDEN = re.compile(HIDDEN)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_YEAR = re.compile(r"(?<![0-9])[12][0-9]{3}(?![0-9])")
_MASKED = re.compile(rf"([0-9]+)([{_FILLING}]+)")
_MASKED_DAY = re.compile(rf"([-/.][{_FILLING}]+)+$")
_AND_MORE = re.compile(
    r"\+|>|≥|∞|older|over|more|above|after|later|since|inf|und mehr|et plus|y más|以上", re.IGNORECASE
)
_MORE_THAN = re.compile(r"(>(?!=)|over|above|older than|more than|after)\s*[0-9]", re.IGNORECASE)
_AND_LESS = re.compile(r"<|≤|younger|under|less|below|before|earlier|until|以下", re.IGNORECASE)
_LESS_THAN = re.compile(r"(<(?!=)|under|below|before|younger than|less than)\s*[0-9]", re.IGNORECASE)
_DECADE = re.compile(r"[0-9]0(s|er)\b")
_ZIP = re.compile(rf"(?P<shown>[0-9]*)[{_FILLING}\s.-]*")
_SHOWN_DIGITS = 3


class Range(NamedTuple):
    """The lowest and the highest whole number that a label stands for."""

    low: float
    high: float


def is_hidden(label: str) -> bool:
    """Return True if a label shows nothing of a value: ``*``, ``[redacted]``, or filling characters."""
    return _HIDDEN.fullmatch(label) is not None


def range_of(label: str, *, years: bool = False) -> Range | None:
    """Return the numbers that a label stands for, or its years; None if it has none that can be read.

    ``85``, ``80-89``, ``[80, 90)``, ``90+``, ``>= 90``, ``>89``, ``<18``, ``1940s``, ``88, 91``, ``9*``, ``80-<90``.
    """
    if is_hidden(label):
        return Range(-math.inf, math.inf)
    text = _MASKED_DAY.sub("", label.strip()) if years else label.strip()
    if masked := _MASKED.fullmatch(text):
        shown, hidden = masked[1], len(masked[2])
        return Range(float(shown + "0" * hidden), float(shown + "9" * hidden))
    found = sorted({float(number) for number in (_YEAR if years else _NUMBER).findall(text)})
    if not found or "*" in text:
        return None
    low, high = found[0], found[-1]
    if _DECADE.search(text):
        high += 9
    if text.startswith("(") or _MORE_THAN.search(text):
        low += 1  # excludes the bound
    if (text.endswith(")") and text.startswith(("[", "(")) and len(found) > 1) or _LESS_THAN.search(text):
        high -= 1
    if len(found) > 1:
        return Range(min(low, high), high)
    if _AND_LESS.search(text):
        return Range(-math.inf, high)
    return Range(low, math.inf) if _AND_MORE.search(text) else Range(low, max(low, high))


def tells_old_age(label: str, *, this_year: int | None = None) -> bool | None:
    """Return True if a label reveals an age over 89, unless it is one class of all who are 90 or older.

    With ``this_year``, the label is a year of birth, or contains one. None if the label has no number.
    """
    found = range_of(label, years=this_year is not None)
    if found is None:
        return None
    ages = found if this_year is None else Range(this_year - found.high, this_year - found.low)
    if ages.high < OLD:
        return False
    if ages.low == ages.high:
        return this_year is not None or ages.low != OLD  # the number 90 stands for all older ages
    return ages.high < math.inf or ages.low > OLD


def tells_small_area(label: str, restricted: Collection[str], *, is_number: bool) -> bool | None:
    """Return True if a label of a ZIP code has more than three of its digits, or those of a restricted area.

    ``is_number`` says that leading zeros are lost: a number of three digits may be the three digits shown, or five
    digits without two zeros. The result is then None.
    """
    if is_hidden(label):
        return False
    found = _ZIP.fullmatch(label.strip())
    if found is None:
        return True
    shown = found["shown"].zfill(_SHOWN_DIGITS) if is_number else found["shown"]
    if len(shown) > _SHOWN_DIGITS or shown in restricted:
        return True
    return None if is_number and not shown.startswith("0") else False
