"""What the columns of a published table are, by their names and values, and what is inside of texts.

    kind      what ``kanon profile`` takes a column for
    inside    different values with something in them that looks like an e-mail address, a phone number, a date ...
    shown     different values that are not hidden: neither NULL nor ``*``

A text is looked into as the rule ``redact`` of ``[publish]`` does: what that would replace is found here.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.vocabulary import kinds_of_name, role_of_kind
from kanon_sql.policy.profile.figures import table_figures
from kanon_sql.policy.profile.patterns import has_inner_values, redacted
from kanon_sql.policy.profile.proposals import propose_role
from kanon_sql.release.pseudonyms import not_pseudonyms_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.profile.proposals import ProposedRole

INSIDE = ("email", "mac_address", "url", "ip_address", "reference", "iban", "credit_card", "national_id", "phone")
"""What is looked for inside of texts, in the order of the rule ``redact``."""
DATES = "dates"
_MARKS = {kind: chr(0xE000 + number) for number, kind in enumerate(INSIDE)}  # characters for private use
_TEXT, _MARKED = "text", "marked"
_YEAR = "(1[89]|20)[0-9]{2}"
_MONTHS = (
    "jan|january|januar|janvier|feb|february|februar|février|mar|march|märz|mars|apr|april|avril|may|mai|jun|june|juni"
    "|juin|jul|july|juli|juillet|aug|august|août|sep|sept|september|septembre|oct|october|okt|oktober|octobre|nov"
    "|november|novembre|dec|december|dez|dezember|décembre"
)
_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"
FINER_THAN_A_YEAR = "|".join(
    (
        rf"\b{_YEAR}[-/.]{_MONTH}([-/. T]|\b)",
        rf"\b{_DAY}[-/. ]{{1,2}}{_DAY}[-/. ]{{1,2}}{_YEAR}\b",
        rf"\b{_DAY}[-/.]{_DAY}[-/.][0-9]{{2}}\b",
        rf"\b{_YEAR}[- ]?(q[1-4]|w[0-5]?[0-9]|h[12])\b|\b(q[1-4]|h[12])[- /]?{_YEAR}\b",
        rf"\b({_MONTHS})\.?,? ?([0-9]{{1,2}}(st|nd|rd|th)?,? ?)?('?[0-9]{{2}}|{_YEAR})\b",
        rf"\b{_DAY}(st|nd|rd|th)?[. ]{{1,2}}(of )?({_MONTHS})\b",
        "[0-9]{4}年[0-9]{1,2}月|[0-9]{1,2}月[0-9]{1,2}日",
        rf"\b{_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])\b",
    )
)
"""A date, a month, a week or a quarter, also inside of a text."""
# The pattern of phone numbers is wide: these are ranges that hierarchies make, and dates.
_LABEL = (
    r"[\[(] ?-?[0-9.]+ ?[,;-] ?-?[0-9.]+ ?[\])]|[0-9]{5}-[0-9]{5}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}"
)
_COMPACT_DATE = rf"{_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"
_YEARS = (1000, 2999)
_MOST = 0.8  # share of numbers of eight digits that are dates, from which on they are


@dataclass(frozen=True)
class PublishedColumn:
    """A column of a published table, by its name and values.

    Attributes:
        column: the column.
        kind: what it is taken for; None where nothing says it.
        role: that ``kanon profile`` would propose.
        named: the kinds that its name suggests.
        shown: different values that are not hidden.
        inside: by what is looked for inside of texts, different values that have it.
        not_years: of whole numbers, different values that are no years.
        is_pseudonyms: whether all values are written like the pseudonyms of kanon.
        is_of_states: whether all values are codes of states of the USA.
        is_closed: whether its values cannot be looked into: bytes, lists, JSON.
    """

    column: Column
    kind: str | None
    role: ProposedRole
    named: tuple[str, ...]
    shown: int
    inside: Mapping[str, int] = field(default_factory=dict)
    not_years: int = 0
    is_pseudonyms: bool = False
    is_of_states: bool = False
    is_closed: bool = False

    @property
    def name(self) -> str:
        return self.column.name

    def is_of(self, kinds: tuple[str, ...]) -> bool:
        """Tell whether the column is one of these kinds; ``all`` are those that identify a person.

        What others could know is of its kind by its name, whatever its values: a town is a town if all rows have it.
        What identifies is of its kind unless its values speak against it (a choice between two is no account).
        """
        if self.is_closed or self.is_pseudonyms or not self.shown:
            return False
        if self.role == "identifying" and (self.kind in kinds or ("all" in kinds and self.kind not in _FREE)):
            return True
        by_name = self.named[:1] if self.kind is None else (self.kind,)
        if self.is_of_states and {"city", "region"}.intersection(by_name):
            return False
        return any(kind in kinds and role_of_kind(kind) == "quasi-identifying" for kind in by_name)

    def inside_of(self, kinds: tuple[str, ...]) -> dict[str, int]:
        """Return how many values have something of these kinds inside; a postcode is no phone number."""
        other = {"phone"} if self.kind == "postcode" else set()
        return {kind: n for kind, n in self.inside.items() if kind in _wanted(kinds) - other}

    @property
    def is_unique(self) -> bool:
        """Whether nearly every row has a value of its own, and nothing says what it is."""
        is_open = not (self.is_closed or self.is_pseudonyms)
        return bool(self.shown) and is_open and self.role == "identifying" and self.kind is None

    @property
    def is_free_text(self) -> bool:
        return bool(self.shown) and self.kind in _FREE and self.role == "identifying"


_FREE = frozenset({None, "notes"})


def _wanted(kinds: tuple[str, ...]) -> set[str]:
    return set(INSIDE) if "all" in kinds else set(INSIDE).intersection(kinds)


def published_columns(source: Source) -> tuple[PublishedColumn, ...]:
    """Return what the columns of a table are; no value leaves the database."""
    source.bring(source.columns)
    engine = source.engine
    this_year = dt.datetime.now(tz=dt.UTC).year
    figures = table_figures(engine, source.relation, source.relation, source.columns, this_year)
    found = []
    for column in source.columns:
        own, proposal = figures[column.name], propose_role(column, figures[column.name])
        is_closed = has_inner_values(column) or column.type == "BLOB"
        counts = {} if is_closed else _counts(source, column)
        hex_only = column.family == "text" and own.distinct > 0
        found.append(
            PublishedColumn(
                column=column,
                kind=proposal.kind,
                role=proposal.role,
                named=kinds_of_name(column.name),
                shown=own.distinct if is_closed else counts["shown"],
                inside={name: counts[name] for name in (*INSIDE, DATES) if counts.get(name)},
                not_years=counts.get("not_years", 0),
                is_pseudonyms=hex_only
                and not engine.row(not_pseudonyms_query(source.relation, column.name), "pseudonyms?")[0],
                is_of_states=own.shares.get("us_state", 0) == 1,
                is_closed=is_closed,
            )
        )
    return tuple(found)


def distinct_texts(source: Source, column: Column) -> list[str]:
    """Return the different values of a column as texts."""
    query = sql.query(
        "standards/values",
        values={"value": sql.column(column.name, "source")},
        tables={"source": source.relation},
        part="present",
    )
    return [str(text) for (text,) in source.engine.rows(query, f"labels of {column.name}")]


def _counts(source: Source, column: Column) -> dict[str, int]:
    """Return how many different values of a column are of each sort."""
    text, marked = sql.column(_TEXT), sql.column(_MARKED)
    conditions: dict[str, exp.Expr] = {"shown": exp.Not(this=sql.matches(text, r"^[*\s]*$"))}
    if column.family in {"text", "other"}:
        conditions |= {kind: exp.Contains(this=marked, expression=sql.literal(mark)) for kind, mark in _MARKS.items()}
        is_label = sql.matches(text, f"(?i)^({_LABEL})$")
        conditions["phone"] = exp.and_(conditions["phone"], exp.Not(this=is_label))
        plain = exp.func("REPLACE", text, sql.literal("_"), sql.literal(" "), dialect="duckdb")
        conditions[DATES] = sql.matches(plain, f"(?i)({FINER_THAN_A_YEAR})")
    elif column.family == "integer":
        number = exp.TryCast(this=text.copy(), to=exp.DataType.build("HUGEINT", dialect="duckdb"))
        is_year = exp.Between(this=number, low=sql.literal(_YEARS[0]), high=sql.literal(_YEARS[1]))
        conditions["not_years"] = exp.Not(this=is_year)
        conditions["compact"] = sql.matches(text, f"^({_COMPACT_DATE})$")
    looked_into = redacted(text.copy(), _MARKS) if "phone" in conditions else exp.Null()
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
