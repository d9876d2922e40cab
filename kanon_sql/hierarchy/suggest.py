"""Suggest hierarchies for a column, by its name, values and type, best first.

One statement per column counts the values covered by each ready-made hierarchy.
"""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import resolve_columns
from kanon_sql.engine.sources.open_source import Source, open_source
from kanon_sql.hierarchy.expressions import compared, compared_value, matches_whole
from kanon_sql.hierarchy.formats import read_hierarchy
from kanon_sql.hierarchy.ready import READY, ReadyMade, catalogue
from kanon_sql.hierarchy.rules import BuiltRule, FlatRule, column_facts, facts_query
from kanon_sql.hierarchy.rules.dates import DateRule
from kanon_sql.hierarchy.rules.intervals import IntervalRule
from kanon_sql.hierarchy.rules.texts import MaskRule
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.hierarchy.vocabulary import kinds_of_name, role_of_kind
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.rules import ColumnExtremes
    from kanon_sql.hierarchy.spec import Rule

_ALL = ""
_KNOWN = ("hierarchy", "value", "label")


@dataclass(frozen=True)
class _Present:
    """Values of a column without NULL."""

    values: int
    rows: int
    labels: int | None = None  # distinct labels that a hierarchy gives them at its first level; None if not counted


def _known_rows(entries: Iterable[ReadyMade]) -> list[tuple[str, str, str]]:
    """Return the values of ready-made files and the label above each; prefixes in comparable form."""
    wanted = {entry.name: entry for entry in entries if entry.path is not None}
    return [(name, value, label) for name, entry in sorted(wanted.items()) for value, label in _file_values(entry)]


def _ready_coverage_query(
    source: exp.Table, column: Column, entries: Sequence[ReadyMade], known: exp.Table
) -> exp.Query:
    """Return the query of what hierarchies cover: ``(hierarchy, n_values, n_rows, n_labels)``; the column is ``''``."""
    code = sql.column("code", "coded")
    tables = {"source": source, "known": known}

    def part(name: str, **values: sql.Given) -> exp.Query:
        return sql.query("hierarchy/coverage", part=name, values=values, tables=tables)

    parts = [part("everything")]
    if exact := [sql.literal(entry.name) for entry in entries if entry.path is not None and not entry.prefix]:
        parts.append(part("exact", hierarchies=exact))
    for entry in entries:
        looks = [] if entry.values is None else [matches_whole(entry.values, code)]
        if entry.prefix:
            has = {"n_labels": _labels_of_prefixes(entry, code), "looks": sql.all_of(looks)}
            parts.append(part("begins", hierarchy=entry.name, length=entry.prefix[-1], **has))
        elif looks:
            parts.append(part("looks", hierarchy=entry.name, looks=looks))
    query = sql.union_all(parts).with_("present", as_=part("present", value=sql.column(column.name, "source")))
    return query.with_("coded", as_=part("coded", code=compared_value(sql.column("value"))), copy=False)


def _labels_of_prefixes(entry: ReadyMade, code: exp.Expr) -> exp.Expr:
    """Return the count of labels at the first level: of first characters, if these are a level."""
    if entry.hide:
        return sql.cast(exp.null(), "BIGINT")
    return sql.count_distinct(exp.Left(this=code.copy(), expression=sql.literal(entry.prefix[0])))


def _fits_type(entry: ReadyMade, column: Column) -> bool:
    rule = parse_rule(entry.rule) if entry.rule is not None else None
    if isinstance(rule, BuiltRule) and rule.families:
        return column.family in rule.families
    if column.family != "integer":
        return column.family == "text"
    if rule is not None or entry.prefix:
        return entry.values is not None
    return all(value.isdecimal() for value, _ in _file_values(entry))


@cache
def _file_values(entry: ReadyMade) -> tuple[tuple[str, str], ...]:
    """Return the values of an entry's file without NULL, in comparable form, each with the label above it."""
    assert entry.path is not None  # noqa: S101 - for entries with a file only
    rows = read_hierarchy(entry.path, "value")
    values = (compared(value) if value and entry.prefix else value for value in rows.values)
    return tuple((value, label) for value, label in zip(values, rows.levels[0], strict=True) if value is not None)


_SHARE_WITH_NAME = 0.5
_SHARE_WITHOUT_NAME = 0.9
_FEWEST_WITHOUT_NAME = 2
"""Share of a column's values that a suggested hierarchy must cover, and the least number if the name does not agree."""

_COVERS, _NAMED, _SPECIFIC = 1.0, 0.5, 0.1
"""Points for a hierarchy: it covers all values, the name of the column agrees, much of it is used."""
_SECOND_KIND, _AFTER, _WEAK = 0.1, 0.3, 0.05
"""Points against it: it matches only the second kind of the name, another is more common, its values are unspecific."""


@dataclass(frozen=True)
class Suggestion:
    """A hierarchy that fits a column."""

    rule: str  # its rule in the option ``--hierarchy COLUMN=RULE``
    title: str
    covers: bool  # whether it covers every value of the column; NULL maps to the root in any case
    values_missing: int  # distinct values of the column that it does not cover
    rows_missing: int  # rows of the table with such a value
    distinct: int | None  # distinct values of the column without NULL; None if not counted
    by_name: bool  # whether the name of the column supports it
    reason: str
    score: float  # its total points; the rule for the type has 0

    def summary(self) -> dict[str, Any]:
        """Return the suggestion as plain values."""
        return asdict(self)


def suggest_hierarchies(
    source: Any,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    columns: Sequence[str] | None = None,
) -> dict[str, tuple[Suggestion, ...]]:
    """Suggest hierarchies for each column, best first. Nothing is changed.

    ``source`` and ``table`` are as for ``anonymize``. By default, ``columns`` are all except those whose names identify
    a person.
    """
    opened = open_source(source, table)
    with opened.engine:
        return suggestions_for(opened, columns_to_suggest(opened, columns))


def columns_to_suggest(source: Source, names: Sequence[str] | None) -> list[Column]:
    """Return the named columns; by default all but those whose names identify a person."""
    if names:
        return list(dict.fromkeys(resolve_columns(names, source.columns, source.name)))
    kinds = {column: kinds_of_name(column.name) for column in source.columns}
    return [column for column, own in kinds.items() if not own or role_of_kind(own[0]) != "identifying"]


def suggestions_for(source: Source, columns: Sequence[Column]) -> dict[str, tuple[Suggestion, ...]]:
    """Return the hierarchies that fit columns, by column name.

    Costs one scan for the extremes of all columns, and one for the values of each that could have a ready-made
    hierarchy.
    """
    source.bring(columns)
    facts = column_facts(source.engine, source.relation, [(column, None) for column in columns])
    return _suggestions_in(source, columns, facts)


def best_fitting(found: Sequence[Suggestion]) -> Suggestion:
    """Return the best suggestion that covers every value: ``kanon init`` writes it, and ``anonymize`` uses it."""
    return next(suggestion for suggestion in found if suggestion.covers)


def chosen_rules(source: Source, columns: Sequence[Column]) -> dict[str, Rule]:
    facts = column_facts(source.engine, source.relation, [(column, None) for column in columns])
    found = _suggestions_in(source, columns, facts, to_choose=True)
    chosen: dict[str, Rule] = {}
    for column in columns:
        best = best_fitting(found[column.name])
        # Use the rule of a type directly: its numbers may have more digits than the text of a rule allows.
        chosen[column.name] = parse_rule(best.rule) if best.score else chosen_rule(column, facts[column.name])
    return chosen


def _suggestions_in(
    source: Source, columns: Sequence[Column], facts: Mapping[str, ColumnExtremes], *, to_choose: bool = False
) -> dict[str, tuple[Suggestion, ...]]:
    """Return the suggestions; with ``to_choose``, skip counting a column's values if every entry covers them all."""
    engine = source.engine
    fitting_entries = _candidates(columns)
    known = engine.temporary_name("kanon_ready")
    values = _known_rows(chain.from_iterable(fitting_entries.values()))
    engine.load(known, {name: [row[place] for row in values] for place, name in enumerate(_KNOWN)}, "ready-made values")
    found = {}
    for column in columns:
        ready: list[Suggestion] = []
        if entries := fitting_entries.get(column):
            covered = {_ALL: _Present(0, 0)}
            if not (to_choose and all(entry.has_every_value for entry in entries)):
                query = _ready_coverage_query(source.relation, column, entries, known)
                rows = engine.rows(query, f"which ready-made hierarchies fit {column.name}?")
                covered = {name: _Present(int(values), int(n or 0), labels) for name, values, n, labels in rows}
            ready = _ready_made(column, entries, covered)
        found[column.name] = (*ready, *_by_type(column, facts[column.name], ready))
    return found


def suggestion_statements(source: Source, columns: Sequence[Column]) -> list[exp.Expr]:
    """Return the statements of ``suggestions_for``; the first contains the values of ready-made hierarchies."""
    known, candidates = sql.relation("kanon_ready"), _candidates(columns)
    statements = list(source.setup)
    if rows := _known_rows(chain.from_iterable(candidates.values())):
        query = exp.select(*map(sql.column, _KNOWN)).from_(sql.values("known", list(_KNOWN), rows))
        statements.append(sql.create_table(known.copy(), query, temporary=True))
    if (facts := facts_query(source.relation, [(column, None) for column in columns])) is not None:
        statements.append(facts)
    queries = (_ready_coverage_query(source.relation, column, fitting, known) for column, fitting in candidates.items())
    return [*statements, *queries]


def _candidates(columns: Sequence[Column]) -> dict[Column, list[ReadyMade]]:
    """Return the ready-made hierarchies that may fit columns, by their type and name.

    The name agrees, or it is inconclusive and the values are specific enough. If values are unspecific, such as five
    digits, an entry has words (``names``), one of which must be in the name: any country has postcodes, only one ZIPs.
    """
    fitting = {}
    for column in columns:
        nameless = not kinds_of_name(column.name)
        entries = [
            entry
            for entry in catalogue().values()
            if _fits_type(entry, column)
            and (_is_named(entry, column) or (nameless and entry.path is not None and not entry.weak))
        ]
        if entries:
            fitting[column] = entries
    return fitting


def _ready_made(column: Column, entries: Sequence[ReadyMade], covered: dict[str, _Present]) -> list[Suggestion]:
    present, found = covered[_ALL], []
    for entry in entries:
        by_rule = entry.rule is not None and not entry.weak
        had = present if by_rule else covered.get(entry.name, _Present(0, 0))
        kinds = _kinds_shared(entry, column)
        share = had.values / present.values if present.values else 1.0
        # It does not help if it has several labels at this level, but gives all values the same one.
        helps = had.labels != 1 or len({label for _, label in _file_values(entry)}) == 1
        enough = share >= _SHARE_WITHOUT_NAME and had.values >= _FEWEST_WITHOUT_NAME and helps
        if share >= _SHARE_WITH_NAME if kinds else enough:
            found.append(_suggestion(entry, present, had, kinds))
    return sorted(found, key=lambda suggestion: (-suggestion.score, suggestion.rule))


def _is_named(entry: ReadyMade, column: Column) -> bool:
    letters = _letters(column.name)
    has_word = not entry.names or any(word in letters for word in entry.names)
    return has_word and bool(_kinds_shared(entry, column))


def _kinds_shared(entry: ReadyMade, column: Column) -> list[int]:
    """Return the positions of the kinds of a column's name, best first, that an entry is for."""
    return [place for place, kind in enumerate(kinds_of_name(column.name)) if kind in entry.kinds]


def _suggestion(entry: ReadyMade, present: _Present, had: _Present, kinds: list[int]) -> Suggestion:
    missing = _Present(present.values - had.values, present.rows - had.rows)
    share = had.values / present.values if present.values else 1.0
    score = share * (_COVERS if not missing.values else _COVERS / 2)
    if kinds:
        score += _NAMED - _SECOND_KIND * min(kinds[0], 2)
    if entry.path is not None and not entry.prefix:
        score += _SPECIFIC * had.values / len(_file_values(entry))
    if entry.after:
        score -= _AFTER
    if entry.weak:
        score -= _WEAK
    return Suggestion(
        rule=f"{READY}{entry.name}",
        title=entry.title.replace("`", ""),
        covers=not missing.values,
        values_missing=missing.values,
        rows_missing=missing.rows,
        distinct=present.values,
        by_name=bool(kinds),
        reason=_reason(entry, present, missing, named=bool(kinds)),
        score=round(score, 3),
    )


def _reason(entry: ReadyMade, present: _Present, missing: _Present, *, named: bool) -> str:
    if not present.values:
        return "the name of the column; it has no values"
    if entry.rule is not None and entry.values is None:
        return "the name and the type of the column"
    if missing.values:
        has = f"it has {present.values - missing.values:,} of the {present.values:,} values"
    elif present.values == 1:
        has = "it has the one value"
    else:
        has = f"it has all {present.values:,} values"
    return f"the name of the column, and {has}" if named else has


def _by_type(column: Column, facts: ColumnExtremes, ready: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the default rule of a column, unless it is already suggested."""
    rule = chosen_rule(column, facts)
    if any(parse_rule(suggestion.rule) == rule for suggestion in ready):
        return []
    distinct = ready[0].distinct if ready else None
    reason = f"the choice for {column.type} if none is given"
    return [Suggestion(str(rule), "made from the values", True, 0, 0, distinct, False, reason, 0.0)]  # noqa: FBT003 - the fields in their order


_INTERVALS_AT_FIRST_LEVEL = 16
_LEVELS_CHOSEN = 4
_CODE_LENGTHS = range(2, 13)


def chosen_rule(column: Column, facts: ColumnExtremes) -> BuiltRule:
    """Return a rule for a column.

    Numbers get intervals of 1, 2, 4 and 8 times a round width, about 16 of them at the first level; if all are whole,
    such as 0.0 and 1.0, the width is at least 2. Dates get months, quarters, years and decades; timestamps also days.
    Text whose values all have the same length, 2 to 12 ASCII characters, is a code like a ZIP and is masked from the
    right, as are whole numbers if the column's name means a postcode. Everything else is flat: a name of two Chinese
    characters is not a code, and its first character not a group.
    """
    match column.family:
        case "integer" if _are_postcodes(column, facts):
            return MaskRule()
        case "integer" | "decimal" | "float":
            return _chosen_intervals(facts)
        case "date" | "timestamp":
            return DateRule()
        case "text" if facts.shortest == facts.longest == facts.most_bytes and facts.longest in _CODE_LENGTHS:
            return MaskRule()
        case _:
            return FlatRule()


def _are_postcodes(column: Column, facts: ColumnExtremes) -> bool:
    """Return True if all whole numbers have the same length, and the column's name means a postcode."""
    low, high = facts.minimum or Decimal(0), facts.maximum or Decimal(0)
    return low > 0 and low.adjusted() == high.adjusted() and "postcode" in kinds_of_name(column.name)[:1]


def _chosen_intervals(facts: ColumnExtremes) -> BuiltRule:
    if facts.minimum is None or facts.maximum is None:
        return FlatRule()
    spread = facts.maximum - facts.minimum
    smallest = Decimal(2) if facts.whole else Decimal("1e-9")
    width = max(smallest, _round_up(spread / _INTERVALS_AT_FIRST_LEVEL)) if spread else smallest
    widths = [width * 2**doubling for doubling in range(_LEVELS_CHOSEN) if width * 2**doubling < spread]
    return IntervalRule(tuple(widths)) if widths else FlatRule()


def _round_up(number: Decimal) -> Decimal:
    """Return the smallest of 1, 2 or 5 times a power of ten that is not below the number."""
    power = Decimal(1).scaleb(number.adjusted())
    return next(step * power for step in (Decimal(1), Decimal(2), Decimal(5), Decimal(10)) if step * power >= number)


def _letters(name: str) -> str:
    """Return the letters and digits of a name in lower case without accents."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(character for character in plain if character.isalnum())
