"""How the values of a text column are written: spellings of the same, and dates and numbers that some cells spoil.

One cell that is no date makes text of a column of dates, and text has no months and years. The counts are of distinct
values, without spaces around them; values themselves are never told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.policy.profile.patterns import TEXT
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"
_DATES = {
    "dates_with_hyphens": f"[0-9]{{4}}-{_MONTH}-{_DAY}([ T].*)?",
    "dates_with_points": rf"{_DAY}\.{_MONTH}\.[0-9]{{4}}",
    "dates_with_slashes": f"({_DAY}/{_MONTH}|{_MONTH}/{_DAY})/[0-9]{{4}}",
    "dates_year_first": f"[0-9]{{4}}/{_MONTH}/{_DAY}",
    "dates_in_chinese": f"[0-9]{{4}}年{_MONTH}月{_DAY}日",
}
# With a point or a comma for decimals, and a sign between thousands. A code such as 01067 is no number.
_NUMBER = "[-+]?(0|[1-9][0-9]*|[1-9][0-9]{0,2}([., '][0-9]{3})+)([.,][0-9]+)?"


@dataclass(frozen=True)
class Spelling:
    """How the distinct values of a text column are written.

    Attributes:
        spellings: distinct values.
        folded: how many there are if capitals, and spaces around them, do not count.
        written: those that are not empty.
        dates: by a way of writing dates, those that are written so.
        numbers: those that are written like numbers.
    """

    spellings: int = 0
    folded: int = 0
    written: int = 0
    dates: Mapping[str, int] = field(default_factory=dict)
    numbers: int = 0


def spelling_aggregates() -> dict[str, exp.Expr]:
    """Return by name the aggregates over the distinct values of a text column that a ``Spelling`` is made of."""
    text = sql.column(TEXT)
    filled = exp.NEQ(this=text, expression=sql.literal(""))
    return {
        "spellings": exp.Count(this=text.copy()),
        "folded": sql.count_distinct(exp.Lower(this=text.copy())),
        "written": sql.where(sql.count_rows(), filled),
        "numbers": sql.where(sql.count_rows(), _like(_NUMBER)),
        **{name: sql.where(sql.count_rows(), _like(pattern)) for name, pattern in _DATES.items()},
    }


def spelling_of(asked: Mapping[str, Any]) -> Spelling:
    """Return how values are written, from the answers to the aggregates."""
    if "spellings" not in asked:
        return Spelling()
    return Spelling(
        spellings=int(asked["spellings"]),
        folded=int(asked["folded"]),
        written=int(asked["written"]),
        dates={name: int(asked[name]) for name in _DATES if asked[name]},
        numbers=int(asked["numbers"]),
    )


def _like(pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=sql.column(TEXT), expression=sql.literal(f"^({pattern})$"))
