"""The sentences of a profile: hints on columns, how unique columns make people, and further notes."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_sql.engine.base import written_name
from kanon_sql.measures.shares import in_percent
from kanon_sql.policy.publish_rules import rules_that_help

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kanon_sql.engine.base import Column
    from kanon_sql.policy.profile.figures import ColumnFigures
    from kanon_sql.policy.profile.patterns import Spelling
    from kanon_sql.policy.profile.proposals import Proposal
    from kanon_sql.policy.profile.result import Profile
    from kanon_sql.risks.estimators.subsets import Subsets

_WORTH_SAYING = 0.01  # share that a column identifies together with others
_LISTED = 5
_TRIPLES = 3
_BIRTH = {"birth_date", "birth_year"}
_AS_IT_IS = {"insensitive", "undecided"}  # roles of columns that are published unchanged if a person confirms


def with_uniqueness(proposals: Mapping[str, Proposal], subsets: Subsets | None) -> dict[str, Proposal]:
    """Add to the proposals of quasi-identifiers how many rows they identify, alone or with others."""
    worded = dict(proposals)
    shares = {subset.columns: subset.share_unique or 0.0 for subset in (subsets.found if subsets else ())}
    for name, proposal in proposals.items():
        about = [subset for subset in (subsets.found if subsets else ()) if name in subset.columns]
        if proposal.role != "quasi-identifying" or not about:
            continue
        # Take the subset where the column matters most: it adds nothing to a pair that is unique already.
        worst = max(about, key=lambda subset: shares[subset.columns] - _without(name, subset.columns, shares))
        share = shares[worst.columns]
        if share >= _WORTH_SAYING:
            others = [column for column in worst.columns if column != name]
            together = f"together with {_listed(others)}" if others else "by it alone"
            worded[name] = replace(proposal, reason=f"{proposal.reason}; {in_percent(share)} are unique {together}")
    return worded


def _without(name: str, columns: tuple[str, ...], shares: Mapping[tuple[str, ...], float]) -> float:
    return shares.get(tuple(column for column in columns if column != name), 0.0)


def notes_of(profile: Profile, policy: str | None = None) -> tuple[str, ...]:
    """Return notes in addition to the roles. With a ``policy`` file they name its settings, not options."""
    return tuple(_notes(profile, policy))


def _notes(profile: Profile, policy: str | None) -> Iterable[str]:
    if not profile.rows:
        yield "The table has no rows: the roles are proposed by names and types alone."
    if not profile.quasi_identifiers:
        how = "name the columns with --qi." if policy is None else f"add a column to quasi_identifiers in {policy}."
        none_found = "No quasi-identifier was found: neither names nor values say that others could know a column."
        yield f"{none_found} If you know better, {how}"
    if profile.subsets is not None and profile.subsets.largest < min(_TRIPLES, len(profile.quasi_identifiers)):
        looked_at = f"combinations of up to {profile.subsets.largest} were looked at."
        yield f"There are too many quasi-identifiers for all triples: {looked_at}"
    if profile.sampled:
        yield (
            f"Unique, separation and patterns are of a sample of {profile.rows_looked_at:,} of {profile.rows:,} rows. "
            "In a sample more are unique than in the table: take these figures as upper bounds (--sample 0: all rows)."
        )
    if profile.entity is not None and profile.entity_proposed:
        should = f"should count people ({shlex.join(['--entity', profile.entity])})."
        k = should if policy is None else f"counts people by it (entity in {policy})."
        yield f"{profile.entity} names the person in several rows: k {k}"
    for column in profile.prepared:
        if column.reason is not None:
            rules = " ".join(shlex.join(["--prepare", f"{written_name(column.name)}={rule}"]) for rule in column.rules)
            here = f"read so here; for kanon anonymize, add: {rules}"
            yield f"{column.name}: {column.reason}; {here if policy is None else f'see [prepare] in {policy}.'}"
    yield from profile.undecided
    if profile.trial is not None and profile.trial.refused is not None:
        yield f"kanon anonymize refuses this policy as it is: {profile.trial.refused}"
    yield from _told(profile)
    by_hint: dict[str, list[str]] = {}
    for name, hint in ((one.name, hint) for one in profile.columns for hint in one.hints):
        by_hint.setdefault(hint, []).append(name)
    yield from (f"{', '.join(named)}: {hint}." for hint, named in by_hint.items())


def _told(profile: Profile) -> Iterable[str]:
    """Yield columns that reveal others, starting with those that are published unchanged."""
    columns = {column.name: column for column in profile.columns}
    for found in profile.dependencies:
        one, other = columns[found.column], columns[found.told]
        both = f"{found.column} and {found.told} tell each other"
        arrow = both if found.both_ways else f"{found.column} tells {found.told}"
        pair = {one.role, other.role}
        if "quasi-identifying" in pair and pair & _AS_IT_IS:
            hidden, shown = (one, other) if one.role == "quasi-identifying" else (other, one)
            if hidden.name == found.told or found.both_ways:
                yield f"{arrow}: if {shown.name} is published as it is, it gives {hidden.name} away."
        elif "sensitive" in pair and pair & _AS_IT_IS:
            yield f"{arrow}: one is sensitive, so the other is too, or should be left out."
        elif len(pair) == 1:
            yield f"{arrow}: what one of them hides, the other shows."
    quasi = [column for column in profile.columns if column.role == "quasi-identifying"]
    ages = [column.name for column in quasi if column.kind == "age"]
    births = [column.name for column in quasi if column.kind in _BIRTH]
    if ages and births:
        yield f"{births[0]} and {ages[0]} tell each other: keep one of them."


def _listed(names: list[str]) -> str:
    shown = names[:_LISTED]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


_ENOUGH = 20  # minimum rows for single values to be meaningful
_ONCE = 0.9  # share of the values that occur once
_OF_ROWS = 0.5  # share of the rows that have such a value
_MOST = 0.8  # share of values that are dates or numbers; from there, the others count as mistakes
_FEWEST = 10  # minimum values for that: "5 and more" beside 1, 2, 3 and 4 is not a mistake
NO_NUMBERS = frozenset({"postcode", "icd10", "medication", "procedure", "reference", "department"})  # codes and names


def hints_for(figures: ColumnFigures, proposal: Proposal, column: Column) -> tuple[str, ...]:
    """Return hints about a column that would be published in some form."""
    if proposal.role == "identifying":
        return ()
    is_quasi = proposal.role == "quasi-identifying"
    found = [*_spoilt(figures.spelling, proposal.kind, is_quasi=is_quasi), *_spelt(figures.spelling)]
    return tuple(found if is_quasi else [*found, *_there_once(figures, column)])


def without_rules(hint: str) -> str:
    """Return a hint without the rules that could publish a column, for a policy that has none."""
    return re.sub(r"Publish it by a rule \(--publish: [^)]*\), m", "M", hint)


def _there_once(figures: ColumnFigures, column: Column) -> Iterable[str]:
    """Yield a hint about published values that lead to one row each."""
    once = figures.uniques >= _ENOUGH and figures.uniques >= _ONCE * figures.classes
    if once and figures.uniques >= _OF_ROWS * figures.looked_at:
        rules = rules_that_help(column)
        by_rule = "" if rules is None else f"Publish it by a rule (--publish: {rules}), m"
        yield (
            f"nearly every value is there once: whoever knows one finds the row. {by_rule or 'M'}ake it a "
            "quasi-identifier, or leave the column out"
        )


def _spelt(spelling: Spelling) -> Iterable[str]:
    if spelling.folded < spelling.spellings:
        values = f"{spelling.folded:,} {'value' if spelling.folded == 1 else 'values'}"
        yield (
            f"{spelling.spellings:,} spellings of {values} (capitals, spaces around): make them alike first, or they "
            "count as different and are published so"
        )


def _spoilt(spelling: Spelling, kind: str | None, *, is_quasi: bool) -> Iterable[str]:
    """Yield a hint about texts that are nearly all dates or numbers, or all dates."""
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
    if others and spelling.numbers >= _MOST * spelling.written and kind not in NO_NUMBERS:
        fits = ". Then intervals fit" if is_quasi else ""
        yield f"{_most(spelling.numbers, spelling)} numbers, {_rest(others)}{fits}"


def _most(count: int, spelling: Spelling) -> str:
    return f"{in_percent(count / spelling.written)} of its values look like"


def _rest(others: int) -> str:
    return f"{others:,} {'does' if others == 1 else 'do'} not: correct or empty {'it' if others == 1 else 'them'}"
