"""The rules of a standard, each with its verdict on a published table and the figures behind it.

Results are counts and names of columns, never a value. A rule that cannot be checked does not hold: its verdict is
``for a person``, or ``not known`` if a further setting would make it known.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from kanon_sql.errors import counted
from kanon_sql.evidence.standards.columns import DATES, columns_of_release, distinct_texts
from kanon_sql.evidence.standards.labels import tells_old_age, tells_small_area
from kanon_sql.policy.publish_rules import NUMBERS
from kanon_sql.policy.standards import PARTS_OF_YEARS, standard_named
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.evidence.standards.columns import PublishedColumn
    from kanon_sql.policy.standards import Mark, Standard, StandardRule

Verdict = Literal["holds", "fails", "not known", "for a person"]
VERDICTS: tuple[Verdict, ...] = ("holds", "fails", "not known", "for a person")

_WORDS_OF_COUNTS = {
    *("n", "freq", "frequency", "count", "counts", "cases", "deaths", "births", "events", "people", "persons"),
    *("patients", "total", "number", "admissions", "visits"),
}


@dataclass(frozen=True)
class CheckedRule:
    """A rule of a standard and its result for a table, without a value of the table.

    ``cannot`` describes the limits of the check.
    """

    id: str
    text: str
    source: str
    verdict: Verdict
    measured: str
    required: str
    cannot: str


@dataclass(frozen=True)
class CheckedStandard:
    """A standard and the results of its rules; ``mark`` tells if the ``source`` itself was read."""

    name: str
    title: str
    source: str
    mark: Mark
    rules: tuple[CheckedRule, ...]

    @property
    def holds(self) -> bool:
        """True if every rule that can be checked holds; rules for a person are left to a person."""
        return all(rule.verdict in {"holds", "for a person"} for rule in self.rules)

    @property
    def cited(self) -> str:
        """The source, and a remark if the rules were read in other documents instead."""
        if self.mark == "primary":
            return self.source
        return f"{self.source} (read {'partly ' if self.mark == 'partly secondary' else ''}in secondary sources)"

    def of(self, verdict: Verdict) -> tuple[CheckedRule, ...]:
        """Return the rules with a verdict."""
        return tuple(rule for rule in self.rules if rule.verdict == verdict)

    @property
    def tally(self) -> str:
        """The number of rules that can be checked, and their results, as a sentence."""
        person = len(self.of("for a person"))
        counts = [
            (len(self.of("holds")), "holds", "hold"),
            (len(self.of("fails")), "fails", "fail"),
            (len(self.of("not known")), "is not known", "are not known"),
        ]
        parts = [f"{n:,} {one if n == 1 else several}" for n, one, several in counts if n]
        checked, rules = len(self.rules) - person, counted(len(self.rules), "rule")
        said = f"{checked} of {rules} can be checked here: {', '.join(parts) or 'none'}"
        return f"{said}; {person} for a person" if person else said

    def summary(self) -> dict[str, Any]:
        """Return the standard as plain values."""
        return {**asdict(self), "rules": [vars(rule) for rule in self.rules], "holds": self.holds}


@dataclass(frozen=True)
class Facts:
    """The basis of verdicts, in addition to the columns of the table."""

    rows: int
    # lower bound of the members of the smallest class; None if it is not known, for the reason ``unknown``
    smallest: int | None = None
    # upper bound; None if ``smallest`` is exact
    at_most: int | None = None
    members: Literal["people", "rows"] = "rows"
    unknown: str = ""
    rows_by_choice: bool = False  # True if rows were counted although they may belong to fewer people
    # for each sensitive column, the fewest distinct values in any class; None if not known
    fewest_values: Mapping[str, int | None] | None = None
    policy: bool | None = None  # True if the policy is satisfied; None if no policy was given
    # columns of the table that the policy calls identifying, and the one that names the person
    naming: tuple[str, ...] = ()
    classes: bool = False  # True if quasi-identifiers were named, so there are classes


Found = tuple[Verdict, str, str]
"""A verdict, the measured result and the requirement."""


def check_standards(source: Source, names: Sequence[str], facts: Facts) -> tuple[CheckedStandard, ...]:
    """Check a table against the rules of some standards."""
    judge = _Judge(source, columns_of_release(source), facts)
    return tuple(judge.standard(standard_named(name)) for name in names)


@dataclass(frozen=True)
class _Judge:
    source: Source
    columns: tuple[PublishedColumn, ...]
    facts: Facts

    def standard(self, standard: Standard) -> CheckedStandard:
        rules = []
        for rule in standard.rules:
            verdict, measured, required = getattr(self, f"check_{rule.check}")(rule)
            rules.append(CheckedRule(rule.id, rule.text, rule.source, verdict, measured, required, rule.cannot))
        return CheckedStandard(standard.name, standard.title, standard.source, standard.mark, tuple(rules))

    def check_person(self, _rule: StandardRule) -> Found:
        return "for a person", "", ""

    def check_gone(self, rule: StandardRule) -> Found:
        """Judge a rule that some kinds of columns, and similar values inside texts, must be removed."""
        against: dict[str, int] = {}
        doubts: dict[str, int] = {}
        for column in self.columns:
            if not column.shown or column.is_closed:
                continue
            if self.is_against(column, rule):
                against[column.name] = column.shown
            elif inside := sum(column.inside_of(rule.kinds).values()):
                against[column.name] = min(inside, column.shown)
            elif self.is_doubtful(column, rule):
                doubts[column.name] = column.shown
        found = self.of_values(against, doubts, "none")
        return ("for a person", "none found", "none") if rule.person and found[0] == "holds" else found

    def is_against(self, column: PublishedColumn, rule: StandardRule) -> bool:
        """Return True if a column is one of those that must be removed."""
        if column.is_pseudonyms or column.words.intersection(rule.not_words):
            return False
        about_people = rule.unique and column.name in self.facts.naming
        if column.is_of_states and {column.kind, column.by_name} & {"city", "region"} and not about_people:
            return False  # towns generalized to states, or towns that are written like states: for a person
        return (
            about_people
            or column.is_of(rule.kinds)
            or bool(column.words.intersection(rule.words))
            or (rule.unique and column.is_unique)
        )

    def is_doubtful(self, column: PublishedColumn, rule: StandardRule) -> bool:
        """Return True if a person must review a column."""
        if column.words.intersection(rule.not_words):
            return False
        return (
            column.may_be_of((*rule.kinds, *rule.doubtful))
            or (rule.unique and (column.is_pseudonyms or column.may_be_codes))
            or (rule.free_text and column.is_free_text)
        )

    def check_zip(self, rule: StandardRule) -> Found:
        """Judge the ZIP codes: columns that are postcodes by name or values."""
        against, doubts = {}, {}
        for column in self.about(rule.kinds):
            is_number = column.column.family in NUMBERS
            labels = distinct_texts(self.source, column.column)
            tells = [tells_small_area(text, rule.restricted, is_number=is_number) for text in labels]
            against[column.name], doubts[column.name] = tells.count(True), tells.count(None)
        return self.of_values(against, doubts, "three digits, 000 for small areas")

    def check_dates(self, rule: StandardRule) -> Found:
        """Judge dates: by format in any column; in columns of dates by name, all but years, decades and sets of years.

        Words and small numbers, such as days since an event, are for a person, except in a column of months or days.
        """
        against, doubts = {}, {}
        about = {column.name for column in self.about(rule.kinds)}
        for column in self.columns:
            found = column.inside.get(DATES, 0)
            if column.name in about and not column.is_closed:
                small = 0 if column.words.intersection(PARTS_OF_YEARS) else column.small
                found = max(found, column.not_years - small if column.kind != "time" else 0)
                doubts[column.name] = column.not_years
            elif column.words.intersection(PARTS_OF_YEARS):
                doubts[column.name] = column.not_years
            against[column.name] = found
        return self.of_values(against, doubts, "years only")

    def check_ages(self, rule: StandardRule) -> Found:
        """Judge ages and years of birth."""
        this_year = dt.datetime.now(tz=dt.UTC).year
        against, doubts = {}, {}
        for column in self.about(rule.kinds):
            year = None if "age" in (column.kind, column.by_name) else this_year
            tells = [tells_old_age(text, this_year=year) for text in distinct_texts(self.source, column.column)]
            against[column.name], doubts[column.name] = tells.count(True), tells.count(None)
        return self.of_values(against, doubts, "90 or older as one class")

    def about(self, kinds: Sequence[str]) -> list[PublishedColumn]:
        """Return the columns with values that are of some kinds, by name or values."""
        return [
            column
            for column in self.columns
            if column.shown
            and not column.is_closed
            and not column.is_pseudonyms
            and {column.kind, column.by_name} & set(kinds)
        ]

    def of_values(self, against: Mapping[str, int], doubts: Mapping[str, int], required: str) -> Found:
        """Return the verdict from numbers of forbidden values and of values for a person, by column."""
        if found := {name: n for name, n in against.items() if n}:
            return "fails", _counts(found, "value"), required
        if closed := [column.name for column in self.columns if column.is_closed and column.shown]:
            return "not known", f"{', '.join(closed)}: bytes or nested values are not looked into", required
        if found := {name: n for name, n in doubts.items() if n}:
            return "for a person", f"to look at: {_counts(found, 'value')}", required
        return "holds", "none", required

    def check_class(self, rule: StandardRule) -> Found:
        """Judge the size of the smallest class and its risk."""
        return self.smallest_class(rule.k, 1 / rule.k if rule.risk is None else rule.risk)

    def smallest_class(self, k: int, risk: float) -> Found:
        """Judge the smallest class: the risk of its people is one divided by its size."""
        required = f"{k} or more: risk {_risk(risk)} at most"
        if not self.facts.rows:
            return "holds", "there are no rows", required
        smallest = self.facts.smallest
        if smallest is None:
            return "not known", self.facts.unknown, required
        at_most = smallest if self.facts.at_most is None else self.facts.at_most
        if at_most > smallest:
            measured = f"at least {smallest:,} {self.facts.members} in the smallest class, and at most {at_most:,}"
        else:
            measured = f"{smallest:,} {self.facts.members} in the smallest class: risk {_risk(_largest(smallest))}"
        if at_most < k or _largest(at_most) > risk:
            return "fails", measured, required
        if smallest < k or _largest(smallest) > risk:
            return "not known", measured, required
        return self.of_members(measured, required)

    def of_members(self, measured: str, required: str) -> Found:
        """Return the verdict on classes that are large enough, if people were counted."""
        if self.facts.members == "people":
            return "holds", measured, required
        # A column may name people, by name or values, and repeat values.
        columns = (one for one in self.columns if one.shown and one.is_of({"all"}) and one.distinctness < 1)
        if people := next((column.name for column in columns), ""):
            said = f"rows were counted, and {people} may name people with several rows each (--entity)"
            return "not known", said, required
        if self.facts.rows_by_choice:
            return "for a person", f"{measured}; rows were counted, and may be of fewer people", required
        return "holds", measured, required

    def check_distinct(self, rule: StandardRule) -> Found:
        """Judge the fewest values of each sensitive column in any class."""
        required = f"{rule.least} values or more"
        if not self.facts.rows:
            return "holds", "there are no rows", required
        fewest = self.facts.fewest_values
        if not fewest:
            return "for a person", "no column was named as sensitive (--sensitive)", required
        measured = ", ".join(f"{name}: {'not known' if n is None else f'{n:,}'}" for name, n in fewest.items())
        known = [n for n in fewest.values() if n is not None]
        if any(n < rule.least for n in known):
            return "fails", measured, required
        return "holds" if len(known) == len(fewest) else "not known", measured, required

    def check_cells(self, rule: StandardRule) -> Found:
        """Judge the classes of the quasi-identifiers; without quasi-identifiers, the cells of a table of counts.

        It is a table of counts if a column has such a name, and no two rows agree in all columns without numbers. Other
        columns with small numbers are for a person.
        """
        numbers = [column for column in self.columns if column.column.family in NUMBERS and not column.is_closed]
        counts = [column for column in numbers if column.by_name == "count" or column.words & _WORDS_OF_COUNTS]
        others = [column.name for column in self.columns if column not in numbers]
        if self.facts.classes or not counts or not others or self.combinations(others) < self.facts.rows:
            return self.smallest_class(rule.least, 1 / rule.least)
        small = [self.is_small(column, rule.least) for column in numbers]
        query = sql.query("standards/cells", values={"small": small}, tables={"source": self.source.relation})
        cells = self.source.engine.row(query, "small cells")
        found = {column.name: int(n) for column, n in zip(numbers, cells, strict=True) if n}
        required = f"{rule.least} or more"
        if against := {column.name: found[column.name] for column in counts if column.name in found}:
            return "fails", _counts(against, "small cell"), required
        if found:
            return "for a person", f"to look at: {_counts(found, 'small number')}", required
        return "holds", "no small cell", required

    def is_small(self, column: PublishedColumn, least: int) -> exp.Expr:
        """Count the rows in which a column has a number above 0 that is smaller than a cell may be."""
        cell = sql.column(column.name, "source")
        above = exp.GT(this=cell, expression=sql.literal(0))
        return sql.where(sql.count_rows(), exp.and_(above, exp.LT(this=cell.copy(), expression=sql.literal(least))))

    def combinations(self, names: Sequence[str]) -> int:
        values = {"others": [sql.column(name, "source") for name in names]}
        query = sql.query("standards/combinations", values=values, tables={"source": self.source.relation})
        return int(self.source.engine.row(query, "combinations of the other columns")[0])

    def check_policy(self, _rule: StandardRule) -> Found:
        """Judge if a threshold was set and met: the requirements of the policy."""
        required = "a policy that holds"
        if self.facts.policy is None:
            return "not known", "no policy was given: name quasi-identifiers (--qi) and k, or a policy file", required
        return ("holds", "the policy holds", required) if self.facts.policy else ("fails", "it does not", required)


def _counts(found: Mapping[str, int], what: str) -> str:
    return ", ".join(f"{name}: {counted(n, what)}" for name, n in found.items())


def _largest(members: int) -> float:
    """Return the risk of the people in a class; it is 1 if the class has no known person."""
    return 1 / members if members else 1.0


def _risk(risk: float) -> str:
    return f"{risk:.3g}"
