"""What a person should do about a column before it is published: sentences of counts, without a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.policy.profile.shares import percent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kanon_sql.policy.profile.figures import Figures
    from kanon_sql.policy.profile.proposals import Proposal
    from kanon_sql.policy.profile.spelling import Spelling

_ENOUGH = 20  # rows from which on it says something that a value is there once
_ONCE = 0.9  # share of the values that are there once
_OF_ROWS = 0.5  # share of the rows that have such a value
_MOST = 0.8  # share of values that are dates or numbers, from which on the others are taken for mistakes
_FEWEST = 10  # values from which on that can be said: "5 and more" beside 1, 2, 3 and 4 is no mistake
_NO_NUMBERS = frozenset({"postcode", "icd10", "medication", "procedure", "reference", "department"})  # codes and names


def hints_for(figures: Figures, proposal: Proposal) -> tuple[str, ...]:
    """Return what should be done about a column that would be published in some form."""
    if proposal.role == "identifying":
        return ()
    is_quasi = proposal.role == "quasi-identifying"
    found = [*_spoilt(figures.spelling, proposal.kind, is_quasi=is_quasi), *_spelt(figures.spelling)]
    return tuple(found if is_quasi else [*found, *_there_once(figures)])


def _there_once(figures: Figures) -> Iterable[str]:
    """Yield what is said of values that are published as they are, and lead to one row each."""
    once = figures.uniques >= _ENOUGH and figures.uniques >= _ONCE * figures.classes
    if once and figures.uniques >= _OF_ROWS * figures.looked_at:
        yield (
            "nearly every value is there once: whoever knows one finds the row. Round it, make it a quasi-identifier, "
            "or leave the column out"
        )


def _spelt(spelling: Spelling) -> Iterable[str]:
    if spelling.folded < spelling.spellings:
        values = f"{spelling.folded:,} {'value' if spelling.folded == 1 else 'values'}"
        yield (
            f"{spelling.spellings:,} spellings of {values} (capitals, spaces around): make them alike first, or they "
            "count as different and are published so"
        )


def _spoilt(spelling: Spelling, kind: str | None, *, is_quasi: bool) -> Iterable[str]:
    """Yield what is said of text that is nearly all dates or numbers; dates that all are, are still text."""
    if spelling.written < _FEWEST:
        return
    dates = sum(spelling.dates.values())
    others = spelling.written - dates
    if dates >= _MOST * spelling.written:
        ways = len(spelling.dates)
        several = f". They are written in {ways} ways: take one, such as 2024-12-31" if ways > 1 else ""
        fits = ". Then the hierarchy of dates fits" if is_quasi else ""
        if others:
            yield f"{_most(dates, spelling)} dates, {_rest(others)}{several}{fits}"
        elif is_quasi:
            yield f"its values look like dates, but are text{several or ': make them dates'}{fits}"
        return
    others = spelling.written - spelling.numbers
    if others and spelling.numbers >= _MOST * spelling.written and kind not in _NO_NUMBERS:
        fits = ". Then intervals fit" if is_quasi else ""
        yield f"{_most(spelling.numbers, spelling)} numbers, {_rest(others)}{fits}"


def _most(count: int, spelling: Spelling) -> str:
    return f"{percent(count / spelling.written)} of its values look like"


def _rest(others: int) -> str:
    return f"{others:,} {'does' if others == 1 else 'do'} not: mend or empty {'it' if others == 1 else 'them'}"
