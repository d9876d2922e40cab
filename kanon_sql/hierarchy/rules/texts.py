"""Rules that cut texts: codes from the right, texts to a prefix, and files that are looked up by a prefix.

    cut         SW1A 1AA  ->  SW1A1  ->  SW1A  ->  SW  ->  *
    prefixes    abcd      ->  abc*   ->  a*    ->  *
    prefix      E11.9     ->  E11    ->  E10-E14 Diabetes mellitus  ->  IV Endocrine, ...  ->  *

A prefix file has a row per prefix, not per value: codes have many more values than groups. Values and prefixes are
compared in capitals, without dots, hyphens and spaces, so that ``e11.9`` and ``E119`` are one category. A value whose
prefix the file lacks gets no row, and is counted as missing as any other. NULL goes to the root.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.expressions import (
    ROOT,
    VALUE,
    compared,
    compared_value,
    distinct_values_query,
    level_name,
    matches_whole,
    root_if_null,
)
from kanon_sql.hierarchy.ready import READY
from kanon_sql.hierarchy.rules import comma_separated, require, rises, seen_from_here
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.formats.rows import HierarchyRows


@dataclass(frozen=True)
class CutRule:
    """Codes of different lengths without their last characters, in capitals and without dots, hyphens and spaces.

    Attributes:
        counts: how many characters are left out at each level.
        letters: whether at the last level below the root only the letters stay that the code begins with.
    """

    counts: tuple[int, ...]
    letters: bool = False

    def __post_init__(self) -> None:
        rising = bool(self.counts) and rises(self.counts, above=0)
        require(rising, "the numbers of characters to leave out must rise, as in cut:2,3,letters")

    def __str__(self) -> str:
        return f"cut:{','.join([*map(str, self.counts), *(['letters'] if self.letters else [])])}"

    def labels(self, column: Column) -> list[exp.Expr]:
        """Return what is left of a code at each level but the root; of nothing, the root."""
        code = compared_value(sql.column(VALUE), column.family)
        kept = [exp.Sub(this=exp.Length(this=code.copy()), expression=sql.literal(count)) for count in self.counts]
        cut: list[exp.Expr] = [
            exp.Left(this=code.copy(), expression=sql.greatest([length, sql.literal(0)])) for length in kept
        ]
        if self.letters:
            cut.append(
                exp.RegexpReplace(this=cut[-1].copy(), expression=sql.literal("[^A-Z].*$"), replacement=sql.literal(""))
            )
        return [
            exp.Coalesce(this=exp.Nullif(this=label, expression=sql.literal("")), expressions=[sql.literal(ROOT)])
            for label in cut
        ]


def parse_cut(parts: list[str]) -> CutRule:
    words = comma_separated(parts[0]) if len(parts) == 1 else []
    letters = words[-1:] == ["letters"]
    counts = words[:-1] if letters else words
    written = all(re.fullmatch(r"[0-9]+", count) for count in counts)
    require(written, "cut is written with numbers of characters, as in cut:2,3,letters")
    return CutRule(tuple(map(int, counts)), letters)


_LONGEST = 64  # characters whose prefixes are counted
_FEWER = 4  # a level has at most this part of the labels of the one below it


@dataclass(frozen=True)
class PrefixesRule:
    """Texts that begin alike.

    Attributes:
        lengths: characters of the prefix at each level, falling; empty: as the data ask for.
    """

    lengths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require(
            rises(self.lengths[::-1], above=0),
            "the lengths of prefixes must fall and be greater than 0, as in prefixes:3,1",
        )

    def __str__(self) -> str:
        return f"prefixes:{','.join(map(str, self.lengths))}" if self.lengths else "prefixes"

    def settled(self, engine: Engine, source: exp.Table, column: Column, longest: int) -> PrefixesRule:
        """Return the rule with the lengths that the data ask for; with none where no prefix tells texts apart.

        From the longest prefix down, a length becomes a level if it has at most a quarter of the labels of the level
        below it; if none has, the first character is the one level.
        """
        counted_lengths = range(1, min(longest, _LONGEST))
        if not counted_lengths:
            return self
        counts = engine.row(_prefix_query(counted_lengths, column, source), f"prefixes of {column.name}")
        values, *labels = (int(count) for count in counts)
        lengths, last = [], values
        for length, count in sorted(zip(counted_lengths, labels, strict=True), reverse=True):
            if 1 < count <= last // _FEWER:
                lengths.append(length)
                last = count
        if not lengths and 1 < labels[0] < values:
            lengths = [1]
        return replace(self, lengths=tuple(lengths))

    def labels(self) -> list[exp.Expr]:
        value = sql.column(VALUE)
        return [
            root_if_null(value.copy()).else_(
                sql.concatenated("", exp.Left(this=value.copy(), expression=sql.literal(length)), ROOT)
            )
            for length in self.lengths
        ]


def parse_prefixes(parts: list[str]) -> PrefixesRule:
    require(len(parts) <= 1, "after the lengths nothing may follow, as in prefixes:3,1")
    return PrefixesRule(tuple(int(length) for length in comma_separated(parts[0])) if parts else ())


def _prefix_query(lengths: range, column: Column, source: exp.Table) -> exp.Query:
    value = sql.column(VALUE)
    prefixes = [sql.count_distinct(exp.Left(this=value.copy(), expression=sql.literal(length))) for length in lengths]
    query = exp.select(sql.count_distinct(value), *prefixes).from_("present")
    return query.with_("present", as_=distinct_values_query(column, source))


@dataclass(frozen=True)
class PrefixRule:
    """A CSV file of levels that is looked up by the first characters of a value.

    Values are compared in capitals, without dots, hyphens and spaces.

    Attributes:
        path: the file; its values are prefixes.
        lengths: of the prefixes that stand below the file's levels, longest first; the last is looked up.
        hide: whether the prefixes are no levels.
        values: a regular expression for what a value must look like, as it is compared; None: anything.
        name: of a ready-made hierarchy; None for a file of the person's own.
    """

    path: Path
    lengths: tuple[int, ...]
    hide: bool = False
    values: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        falls = bool(self.lengths) and rises(self.lengths[::-1], above=0)
        require(falls, "the lengths of prefixes must fall, as in prefix:3,2:provinces.csv")
        require(not self.hide or len(self.lengths) == 1, "prefixes that are no levels have one length")

    def __str__(self) -> str:
        return f"{READY}{self.name}" if self.name is not None else self.with_path(seen_from_here(self.path))

    def absolute(self) -> str:
        return str(self) if self.name is not None else self.with_path(str(self.path.absolute()))

    def with_path(self, path: str) -> str:
        return f"prefix:{','.join(map(str, self.lengths))}{':hide' if self.hide else ''}:{path}"


def parse_prefix(parts: list[str], directory: Path) -> PrefixRule:
    lengths, *rest = parts or [""]
    hide = rest[:1] == ["hide"] and len(rest) > 1
    file = ":".join(rest[1:] if hide else rest)  # a path may have a colon
    written = bool(file) and all(re.fullmatch(r"[0-9]+", length) for length in comma_separated(lengths))
    require(written, "prefix needs a number of characters and a file, as in prefix:3:codes.csv")
    return PrefixRule(directory / file, tuple(int(length) for length in comma_separated(lengths)), hide)


_PREFIX = "prefix"


def require_prefixes(rule: PrefixRule, rows: HierarchyRows, column: Column) -> None:
    """Raise unless the rows of a file are prefixes that values of the column can have."""
    length = rule.lengths[-1]
    other = sum(value is not None and len(compared(value)) != length for value in rows.values)
    if other:
        raise HierarchyError(
            f"The hierarchy of column {column.name!r} ({rule}): {other:,} of its {len(rows.values):,} values do not "
            f"have {length} characters, dots, hyphens and spaces not counted: the file needs a line per prefix."
        )
    if column.family == "text" or (column.family == "integer" and rule.values is not None):
        return
    raise HierarchyError(
        f"The hierarchy of column {column.name!r} ({rule}) needs text, but the column is {column.type}: cast it to "
        "VARCHAR, with the zeros that a number loses in front."
    )


def prefix_columns(rows: HierarchyRows) -> dict[str, list[str | int | None]]:
    """Return the prefixes of a file as they are compared, and their labels, by the names of columns."""
    lines = [(compared(value), *labels) for value, *labels in _rows_of_file(rows) if value is not None]
    names = [_PREFIX, *(level_name(level) for level in range(1, len(rows.levels) + 1))]
    return {name: [line[place] for line in lines] for place, name in enumerate(names)}


def prefix_values(rows: HierarchyRows) -> exp.Values:
    columns = prefix_columns(rows)
    return sql.values("prefixes", list(columns), zip(*columns.values(), strict=True))


def prefixed_query(
    rule: PrefixRule, rows: HierarchyRows, column: Column, source: exp.Table, prefixes: exp.Expr
) -> exp.Query:
    """Return the query that makes the lookup relation: the values, their prefixes, and the levels of the file.

    ``prefixes`` has the prefixes and their labels, under the alias ``prefixes``.
    """
    levels = [level_name(level) for level in range(1, len(rows.levels) + 1)]
    of_null = next(
        (labels for value, *labels in _rows_of_file(rows) if value is None), [rows.levels[-1][0]] * len(levels)
    )
    code = sql.column("code", "coded")
    shown: list[exp.Expr] = [] if rule.hide else [_first(code, length) for length in rule.lengths]
    labels = [*shown, *(sql.column(level, "prefixes") for level in levels)]
    coded = exp.select(sql.column(VALUE), sql.named(compared_value(sql.column(VALUE)), "code")).from_("present")
    found = (
        exp.select(sql.column(VALUE, "coded"), *_as_levels(labels))
        .from_("coded")
        .join(
            prefixes,
            on=exp.EQ(this=sql.column(_PREFIX, "prefixes"), expression=_first(code, rule.lengths[-1])),
        )
    )
    if rule.values is not None:
        found = found.where(matches_whole(rule.values, code))
    null = [sql.literal(label) for label in [of_null[0]] * len(shown) + of_null]
    null_row = (
        exp.select(sql.column(VALUE), *_as_levels(null)).from_("present").where(sql.column(VALUE).is_(exp.null()))
    )
    query = exp.union(found, null_row, distinct=False)
    return query.with_("present", as_=distinct_values_query(column, source)).with_("coded", as_=coded)


def _rows_of_file(rows: HierarchyRows) -> list[tuple[str | None, ...]]:
    return list(zip(rows.values, *rows.levels, strict=True))


def _first(code: exp.Expr, length: int) -> exp.Expr:
    return exp.Left(this=code.copy(), expression=sql.literal(length))


def _as_levels(labels: list[exp.Expr]) -> list[exp.Expr]:
    return [sql.named(label, level_name(level)) for level, label in enumerate(labels, start=1)]
