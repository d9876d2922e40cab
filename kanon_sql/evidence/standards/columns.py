"""Kinds of the columns of a published table, by names and values, and patterns inside their texts.

    kind      the kind that ``kanon profile`` detects
    inside    distinct values that contain a pattern such as an e-mail address, a phone number, a date ...
    shown     distinct values that are not hidden: neither NULL nor ``*``

Texts are searched as the rule ``redact`` of ``[publish]`` searches them: everything that it would replace is found.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.evidence.standards.labels import HIDDEN
from kanon_sql.hierarchy.vocabulary import kinds_of_name, parts_of_name, role_of_kind
from kanon_sql.policy.profile.figures import table_figures
from kanon_sql.policy.profile.patterns import BY_KIND, has_inner_values, redacted
from kanon_sql.policy.profile.proposals import propose_role
from kanon_sql.release.pseudonyms import not_pseudonyms_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.profile.figures import ColumnFigures
    from kanon_sql.policy.profile.proposals import ProposedRole

INSIDE = ("email", "mac_address", "url", "ip_address", "reference", "iban", "credit_card", "national_id", "phone")
"""The kinds to search for inside texts, in the order of the rule ``redact``."""
DATES = "dates"
_MARKS = {kind: chr(0xE000 + number) for number, kind in enumerate(INSIDE)}  # characters for private use
_TEXT, _MARKED = "text", "marked"
_YEAR = "(1[89]|20)[0-9]{2}"
_FULL_MONTHS = (
    "january|januar|janvier|enero|gennaio|janeiro|januari|february|februar|février|febrero|febbraio|fevereiro|februari"
    "|march|märz|maerz|marzo|março|maart|april|avril|abril|aprile|mayo|maggio|maio|june|juni|juin|junio|giugno|junho"
    "|july|juli|juillet|julio|luglio|julho|august|août|agosto|augustus|september|septembre|septiembre|settembre|setembro"
    "|october|oktober|octobre|octubre|ottobre|outubro|november|novembre|noviembre|novembro|december|dezember|décembre"
    "|diciembre|dicembre|dezembro"
)
_MONTHS = (
    f"{_FULL_MONTHS}|jan|janv|ene|feb|febr|févr|fév|mar|mars|mär|mrz|apr|avr|abr|may|mai|jun|jul|juil|aug|ago|sep|sept"
    "|oct|okt|nov|dec|déc|dez|dic"
)
_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"
_START, _ALONE, _ORDINAL = "(^|[^0-9.])", "(^|[^0-9A-Za-z.])", "(st|nd|rd|th)?"
_OF = "( of | de | d'|[-/ .,]{0,2})"
_QUARTER = (
    "(q[1-4]|w[0-5]?[0-9]|h[12]|m(0[1-9]|1[0-2])|[1-4](st|nd|rd|th)?[. ]{0,2}(quarter|quartal|trimestre|trimester))"
)
_WEEK = "(week|weeks|kw|woche|semaine|semana|settimana)"
FINER_THAN_A_YEAR = "|".join(
    (
        rf"{_START}{_YEAR}[-/ ]{{1,2}}{_MONTH}([-/. T]|\b)",
        rf"{_START}{_YEAR}\. ?{_MONTH}\. ?{_DAY}\b",
        rf"{_START}{_DAY}[-/. ]{{1,2}}{_DAY}[-/. ]{{1,2}}{_YEAR}\b",
        rf"{_START}{_MONTH}[-/.]{_YEAR}\b",
        rf"{_ALONE}{_DAY}/{_DAY}/[0-9]{{2}}\b|{_ALONE}{_DAY}\.[01]?[0-9]\.[0-9]{{2}}\b",
        rf"{_ALONE}[0-3][0-9]-[01][0-9]-[0-9]{{2}}\b|^ *[0-9]{{2}}-[01][0-9]-[0-3][0-9] *$",
        rf"{_ALONE}{_DAY}{_ORDINAL}{_OF}({_MONTHS})\.?{_OF}('?[0-9]{{2}}|{_YEAR})\b",
        rf"{_ALONE}{_YEAR}[-/ ]{{0,3}}{_QUARTER}\b|{_ALONE}{_QUARTER}{_OF}('?[0-9]{{2}}|{_YEAR})\b",
        rf"{_ALONE}[1-4][qht]('?[0-9]{{2}}|{_YEAR})\b|{_ALONE}t[1-4][ -]?{_YEAR}\b",
        rf"{_ALONE}{_WEEK}[ -]?[0-9]{{1,2}}{_OF}{_YEAR}\b|{_ALONE}{_YEAR}[- ,]{{1,2}}{_WEEK}[ -]?[0-9]{{1,2}}\b",
        rf"{_ALONE}({_MONTHS})\.?,? ?([0-9]{{1,2}}{_ORDINAL},? ?)?{_OF}('[0-9]{{2}}|{_YEAR})\b",
        rf"{_ALONE}{_YEAR}[-/ ]({_MONTHS})\b|{_ALONE}({_MONTHS})-[0-9]{{2}}\b",
        rf"{_ALONE}({_FULL_MONTHS}) [0-9]{{1,2}}{_ORDINAL}\b",
        rf"{_ALONE}{_DAY}{_ORDINAL}[. ]{{1,2}}(of )?({_FULL_MONTHS})\b",
        "[0-9]{4}年 ?第?[0-9]{1,2}(月|季)|[0-9]{1,2}月[0-9]{1,2}日",
        rf"{_ALONE}{_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(T?[0-9]{{4,6}})?\b",
    )
)
"""A date, a month, a week or a quarter, also inside a text."""
_YEARS = rf"{_YEAR}(\.0+)?s?"
YEARS_ONLY = (
    rf"[\[({{<>=≤≥ ]*{_YEARS}( ?(-|\x{{2013}}|to|,|;) ?{_YEARS})*[\])}}+ ]*|[12][0-9*]{{0,3}}\*+|{_YEAR}([-/.][*x]+)+"
    rf"|({_YEAR} or|or) (earlier|later|before|after)|{HIDDEN}"
)
"""Years, decades, ranges and sets of years, and hidden values: everything that a column of dates may contain."""
# The pattern of phone numbers is wide: it also matches ranges of hierarchies, numbers and dates.
_NUMBER = "[<>=≤≥+]* ?-?[0-9][0-9.,]*"
_LABEL = (
    rf"[\[(] ?{_NUMBER} ?[,;-] ?{_NUMBER} ?[\])]|[0-9]{{5}}-[0-9]{{5}}|{_NUMBER} (-|to) {_NUMBER}|{_NUMBER}"
    rf"|[0-9]+\.[0-9]{{2}}-[0-9]+\.[0-9]{{2}}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}"
)
_COMPACT_DATE = rf"{_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])([0-9]{{6}})?"
_SMALL = r"-?[0-9]{1,3}(\.[0-9]+)?|[^0-9]*"
_NAMES_A_MONTH = rf"\b({_MONTHS}|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b"
_LONG_NUMBER = "[0-9]{5}"
_HEXADECIMAL = "[0-9a-f-]{16,}"  # with a letter: pseudonyms, hashes and UUIDs, whose digits are not dates
_MOST = 0.8  # minimum share of values with a pattern that decides a column
_CODES = 20  # minimum distinct values that may be codes of people ...
_OF_ROWS = 0.1  # ... if they are at least this share of the rows; people have up to ten rows each
_NEARLY_EACH = 0.5  # distinct values divided by rows; from there, a few of them may be codes too


@dataclass(frozen=True)
class PublishedColumn:
    """A column of a published table, by name and values. Counts are of distinct values."""

    column: Column
    kind: str | None  # the detected kind; None if there is none
    role: ProposedRole  # the role that ``kanon profile`` would propose
    named: tuple[str, ...]  # the kinds that its name suggests; ``words`` are those of its name
    words: frozenset[str]
    shown: int  # values that are not hidden
    # by kind, the number of values that contain it
    inside: Mapping[str, int] = field(default_factory=dict)
    looks: frozenset[str] = frozenset()  # the kinds that most of its values match as a whole
    # values that are more than years, decades, or ranges or sets of years; ``small`` are those among them that are
    # words or numbers of up to three digits
    not_years: int = 0
    small: int = 0
    long_numbers: int = 0
    distinctness: float = 0.0  # values divided by rows that have one
    is_pseudonyms: bool = False  # True if all values are written like the pseudonyms of kanon
    is_of_states: bool = False
    is_closed: bool = False  # True if kanon cannot inspect its values: bytes, lists, JSON

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def by_name(self) -> str | None:
        """The first kind that its name suggests."""
        return next(iter(self.named), None)

    def is_of(self, kinds: Container[str]) -> bool:
        """Return True if the column is one of these kinds; ``all`` are those that identify a person.

        A name alone decides on a kind that others could know: a town is a town even if all rows have the same one. For
        a kind that identifies, the values must not contradict: a choice among few values is not an account unless it
        has long numbers.
        """
        if any(kind in kinds for kind in self.looks):
            return True
        if self.role == "identifying" and self.kind not in _FREE:
            return "all" in kinds or self.kind in kinds or any(kind in kinds for kind in self.named)
        if self.by_name is None:
            return False
        if role_of_kind(self.by_name) == "identifying":
            return self.long_numbers > 0 and self.may_be_of(kinds)
        return self.by_name in kinds and role_of_kind(self.by_name) == "quasi-identifying"

    def may_be_of(self, kinds: Container[str]) -> bool:
        """Return True if its name suggests one of these kinds, whatever its values."""
        if self.by_name is None:
            return False
        identifying = [kind for kind in self.named if role_of_kind(kind) == "identifying"]
        return self.by_name in kinds or any(kind in kinds or "all" in kinds for kind in identifying)

    @property
    def is_unique(self) -> bool:
        """True if nearly every row has a distinct value and no kind was detected."""
        return self.role == "identifying" and self.kind in {None, "reference"}

    @property
    def may_be_codes(self) -> bool:
        """True if it has so many values that they may be codes of people, who may have several rows.

        Other rules judge columns that others could know about and columns that identify.
        """
        if self.kind is not None and role_of_kind(self.kind) not in {"sensitive", "insensitive"}:
            return False
        many = self.shown >= _CODES and self.distinctness >= _OF_ROWS
        few_rows = self.shown > 1 and self.distinctness >= _NEARLY_EACH
        return self.by_name == "reference" or many or few_rows

    @property
    def is_free_text(self) -> bool:
        return self.kind in _FREE and self.role == "identifying"

    def inside_of(self, kinds: Container[str]) -> dict[str, int]:
        """Return how many values contain these kinds. A postcode is not a phone number."""
        other = {"phone"} if self.kind == "postcode" else set()
        return {
            kind: n
            for kind, n in self.inside.items()
            if kind != DATES and kind not in other and (kind in kinds or "all" in kinds)
        }


_FREE = frozenset({None, "notes"})


def columns_of_release(source: Source) -> tuple[PublishedColumn, ...]:
    """Return the kinds of the columns of a table; no value leaves the database."""
    source.bring(source.columns)
    this_year = dt.datetime.now(tz=dt.UTC).year
    figures = table_figures(source.engine, source.relation, source.relation, source.columns, this_year)
    return tuple(_published(source, column, figures[column.name]) for column in source.columns)


def _published(source: Source, column: Column, own: ColumnFigures) -> PublishedColumn:
    proposal = propose_role(column, own)
    is_closed = has_inner_values(column) or column.type == "BLOB"
    counts = {} if is_closed else _counts(source, column)
    is_text = column.family == "text"
    # The kinds that most values of a text match, if the pattern alone is enough.
    kinds = {kind for kind, share in own.shares.items() if share >= _MOST} if is_text else set()
    others = (
        not is_text
        or not own.distinct
        or source.engine.row(not_pseudonyms_query(source.relation, column.name), "pseudonyms?")[0]
    )
    return PublishedColumn(
        column=column,
        kind=proposal.kind,
        role=proposal.role,
        named=kinds_of_name(column.name),
        words=frozenset(parts_of_name(column.name)),
        shown=own.distinct if is_closed else counts["shown"],
        inside={name: counts[name] for name in (*INSIDE, DATES) if counts.get(name)},
        looks=frozenset(one for one in kinds if one in BY_KIND and BY_KIND[one].alone and one != "reference"),
        **{name: counts.get(name, 0) for name in ("not_years", "small", "long_numbers")},
        distinctness=own.distinctness,
        is_pseudonyms=not others,
        is_of_states=own.shares.get("us_state", 0) == 1,
        is_closed=is_closed,
    )


def distinct_texts(source: Source, column: Column) -> list[str]:
    """Return the distinct values of a column as texts."""
    query = sql.query(
        "standards/values",
        values={"value": sql.column(column.name, "source")},
        tables={"source": source.relation},
        part="present",
    )
    return [str(text) for (text,) in source.engine.rows(query, f"labels of {column.name}")]


def _counts(source: Source, column: Column) -> dict[str, int]:
    """Return how many distinct values of a column are of each sort."""
    text, marked = sql.column(_TEXT), sql.column(_MARKED)
    conditions: dict[str, exp.Expr] = {"shown": exp.Not(this=sql.matches(text, f"^({HIDDEN})$"))}
    plain = exp.Anonymous(
        this="TRANSLATE", expressions=[text.copy(), sql.literal("_\u2013\u2014\u2011"), sql.literal(" ---")]
    )
    not_years = exp.Not(this=sql.matches(text, f"(?i)^ *({YEARS_ONLY}) *$"))
    is_small = exp.and_(sql.matches(text, f"^({_SMALL})$"), exp.Not(this=sql.matches(text, f"(?i)({_NAMES_A_MONTH})")))
    conditions |= {"not_years": not_years, "small": exp.and_(not_years.copy(), is_small)}
    conditions["long_numbers"] = sql.matches(text, _LONG_NUMBER)
    is_text = column.family in {"text", "other"}
    if is_text:
        conditions |= {kind: exp.Contains(this=marked, expression=sql.literal(mark)) for kind, mark in _MARKS.items()}
        is_label = sql.matches(text, f"(?i)^({_LABEL})$")
        is_code = exp.and_(sql.matches(text, f"(?i)^({_HEXADECIMAL})$"), sql.matches(text, "(?i)[a-f]"))
        conditions["phone"] = exp.and_(conditions["phone"], exp.Not(this=is_label))
        conditions[DATES] = sql.matches(plain, f"(?i)({FINER_THAN_A_YEAR})")
        for kind in ("phone", "national_id", "credit_card", DATES):
            conditions[kind] = exp.and_(conditions[kind], exp.Not(this=exp.Paren(this=is_code.copy())))
    elif column.family == "integer":
        conditions["compact"] = sql.matches(text, f"^({_COMPACT_DATE})$")
    # Other dashes become plain ones, but nothing else changes: the search inside texts uses "_" itself.
    dashed = exp.Anonymous(this="TRANSLATE", expressions=[text.copy(), sql.literal("\u2013\u2014"), sql.literal("--")])
    looked_into = redacted(dashed, _MARKS) if is_text else exp.Null()
    query = sql.query(
        "standards/values",
        values={
            "counts": [sql.named(sql.where(sql.count_rows(), one), name) for name, one in conditions.items()],
            "marked": looked_into,
            "value": sql.column(column.name, "source"),
        },
        tables={"source": source.relation},
    )
    counts = dict(zip(conditions, map(int, source.engine.row(query, f"what is in {column.name}")), strict=True))
    compact = counts.pop("compact", 0)
    if compact and compact >= _MOST * counts["shown"]:
        counts[DATES] = compact
    if column.family in {"date", "timestamp"}:
        counts[DATES] = counts["shown"]
    return counts
