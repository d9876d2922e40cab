"""Rules that shorten texts: masks, codes from the right, prefixes, and files that are looked up by a prefix.

    mask        12345     ->  1234*  ->  123**  ->  12***  ->  1****  ->  *
    cut         SW1A 1AA  ->  SW1A1  ->  SW1A  ->  SW  ->  *
    prefixes    abcd      ->  abc*   ->  a*    ->  *
    prefix      E11.9     ->  E11    ->  E10-E14 Diabetes mellitus  ->  IV Endocrine, ...  ->  *

A prefix file has a row per prefix, not per value: codes have many more values than groups. Values and prefixes are
compared in capitals, without dots, hyphens and spaces, so that ``e11.9`` and ``E119`` are one category. A value whose
prefix is not in the file gets no row, and counts as missing. NULL maps to the root.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from sqlglot import exp

from kanon_sql.engine.equality import published
from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.expressions import (
    VALUE,
    compared,
    compared_value,
    distinct_values_query,
    level_name,
    matches_whole,
    value_text,
)
from kanon_sql.hierarchy.rules import (
    BuiltRule,
    FlatRule,
    ListedRule,
    comma_separated,
    joined,
    require,
    rises,
    suffix_of,
    whole_numbers,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.formats.rows import HierarchyRows
    from kanon_sql.hierarchy.rules import ColumnExtremes


def _part(name: str, text: exp.Expr, **values: int) -> exp.Expr:
    """Return a label that is a part of a text."""
    return sql.selected("hierarchy/texts", name, values=values, columns={"text": text})


def _are_numbers(words: list[str]) -> bool:
    return all(re.fullmatch(r"[0-9]+", word) for word in words)


@dataclass(frozen=True)
class MaskRule(BuiltRule):
    """Characters replaced by ``*``, from one side."""

    side: Literal["right", "left"] = "right"  # the side where masking starts
    counts: tuple[int, ...] = ()  # number of masked characters at each level; empty: one more at each level
    # length of all labels, and the limit for values; None for the length of the longest value
    length: int | None = None
    needs: ClassVar = "longest"

    def __post_init__(self) -> None:
        require(rises(self.counts, above=0), "the numbers of masked characters must rise, as in mask:right:1,2,4")
        require(self.length is None or self.length > 0, "the length of labels must be greater than 0")

    @classmethod
    def parse(cls, parts: list[str]) -> MaskRule:
        side: Literal["right", "left"] = "left" if parts and parts[0] == "left" else "right"
        counts = parts[1:] if parts and parts[0] in {"left", "right"} else parts
        length = counts.pop().removeprefix("length=") if counts and counts[-1].startswith("length=") else None
        require(
            (length is None or re.fullmatch(r"[0-9]{1,4}", length) is not None)
            and len(counts) <= 1
            and all(_are_numbers(comma_separated(part)) for part in counts),
            "mask is written mask, mask:left or mask:right, and may say how many characters to mask at each level, and "
            "how long the longest value can be, as in mask:right:1,2,4:length=5",
        )
        return cls(side, whole_numbers(counts), None if length is None else int(length))

    def __str__(self) -> str:
        return f"mask:{self.side}{f':{joined(self.counts)}' if self.counts else ''}{suffix_of(length=self.length)}"

    @property
    def height(self) -> int | None:
        return len(self.counts) + 1 if self.counts else None

    def settled(self, column: Column, facts: ColumnExtremes) -> MaskRule:
        del column
        return self if self.length is not None else replace(self, length=max(1, facts.longest))

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        """Return the first (last) characters, padded with ``*`` to the common length."""
        length = facts.longest if self.length is None else self.length
        if facts.longest > length:
            raise HierarchyError(
                f"The hierarchy of column {column.name!r} ({self}) is of values of up to {length} characters, and the "
                f"longest has {facts.longest}: give the length of the longest, or leave length out."
            )
        value = published(sql.column(VALUE), column)  # -0.0 is 0.0
        text = value if column.family == "text" else value_text(value, column.family)
        kept = [length - count for count in self.counts or range(1, length) if count < length]
        return [_part("masked_" + self.side, text, length=length, kept=number) for number in kept]


@dataclass(frozen=True)
class CutRule(BuiltRule):
    """Codes of different lengths without their last characters, in capitals and without dots, hyphens and spaces."""

    counts: tuple[int, ...]  # number of characters dropped at each level
    letters: bool = False  # whether the last level below the root keeps only the leading letters of the code

    def __post_init__(self) -> None:
        rising = bool(self.counts) and rises(self.counts, above=0)
        require(rising, "the numbers of characters to leave out must rise, as in cut:2,3,letters")

    @classmethod
    def parse(cls, parts: list[str]) -> CutRule:
        words = comma_separated(parts[0]) if len(parts) == 1 else []
        letters = words[-1:] == ["letters"]
        counts = words[:-1] if letters else words
        require(_are_numbers(counts), "cut is written with numbers of characters, as in cut:2,3,letters")
        return cls(tuple(map(int, counts)), letters)

    def __str__(self) -> str:
        return f"cut:{joined(self.counts)}{',letters' if self.letters else ''}"

    @property
    def height(self) -> int:
        return len(self.counts) + self.letters + 1

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        """Return the rest of a code at each level; the root if nothing remains."""
        del facts
        code = compared_value(sql.column(VALUE), column.family)
        cut: list[exp.Expr] = []
        for count in self.counts:
            kept = exp.Sub(this=exp.Length(this=code.copy()), expression=sql.literal(count))
            cut.append(exp.Left(this=code.copy(), expression=sql.greatest([kept, sql.literal(0)])))
        if self.letters:
            others, nothing = sql.literal("[^A-Z].*$"), sql.literal("")
            cut.append(exp.RegexpReplace(this=cut[-1].copy(), expression=others, replacement=nothing))
        return [sql.selected("hierarchy/texts", "cut", columns={"text": label}) for label in cut]


_LONGEST = 64  # longest prefix, in characters, that is counted
_FEWER = 4  # a level has at most this part of the labels of the one below it


@dataclass(frozen=True)
class PrefixesRule(BuiltRule):
    """Texts grouped by their first characters."""

    lengths: tuple[int, ...] = ()  # prefix length at each level, decreasing; empty: chosen from the data
    families: ClassVar = frozenset({"text"})
    needs: ClassVar = "longest"

    def __post_init__(self) -> None:
        require(
            rises(self.lengths[::-1], above=0),
            "the lengths of prefixes must fall and be greater than 0, as in prefixes:3,1",
        )

    @classmethod
    def parse(cls, parts: list[str]) -> PrefixesRule:
        require(len(parts) <= 1, "after the lengths nothing may follow, as in prefixes:3,1")
        return cls(whole_numbers(parts))

    def __str__(self) -> str:
        return f"prefixes:{joined(self.lengths)}" if self.lengths else "prefixes"

    def settled(self, column: Column, facts: ColumnExtremes) -> BuiltRule:
        del column, facts
        return self if self.lengths else FlatRule()  # no length was worth a level

    def bind(
        self, engine: Engine, source: exp.Table, column: Column, facts: ColumnExtremes
    ) -> tuple[PrefixesRule, str, tuple[str, ...]]:
        """Return the rule with lengths from the data; without lengths if no prefix distinguishes texts.

        From the longest prefix down, a length becomes a level if it has at most a quarter of the labels of the level
        below it. If none has, the first character is the only level.
        """
        if self.lengths:
            return self, str(self), ()
        lengths: list[int] = []
        if counted := range(1, min(facts.longest, _LONGEST)):
            counts = engine.row(_prefix_query(counted, column, source), f"prefixes of {column.name}")
            values, *labels = (int(count) for count in counts)
            last = values
            for length, count in sorted(zip(counted, labels, strict=True), reverse=True):
                if 1 < count <= last // _FEWER:
                    lengths.append(length)
                    last = count
            if not lengths and 1 < labels[0] < values:
                lengths = [1]
        found = replace(self, lengths=tuple(lengths))
        note = "its prefixes were chosen by the data: give their lengths to have the same for other data"
        return found, f"{found} (lengths chosen by the data)", (note,)

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        del column, facts
        return [_part("prefix", sql.column(VALUE), length=length) for length in self.lengths]


def _prefix_query(lengths: range, column: Column, source: exp.Table) -> exp.Query:
    value = sql.column(VALUE)
    prefixes = [sql.count_distinct(exp.Left(this=value.copy(), expression=sql.literal(length))) for length in lengths]
    query = exp.select(sql.count_distinct(value), *prefixes).from_("present")
    return query.with_("present", as_=distinct_values_query(column, source))


@dataclass(frozen=True)
class PrefixRule(ListedRule):
    """A CSV file of levels that is looked up by the first characters of a value.

    Values are compared in capitals, without dots, hyphens and spaces.
    """

    lengths: tuple[int, ...]  # of the prefixes below the file's levels, longest first; the last is looked up
    hide: bool = False  # whether the prefixes are not levels
    values: str | None = None  # a regular expression for values in comparable form; None: anything

    def __post_init__(self) -> None:
        falls = bool(self.lengths) and rises(self.lengths[::-1], above=0)
        require(falls, "the lengths of prefixes must fall, as in prefix:3,2:provinces.csv")
        require(not self.hide or len(self.lengths) == 1, "prefixes that are no levels have one length")

    @classmethod
    def parse(cls, parts: list[str], directory: Path) -> PrefixRule:
        lengths, *rest = parts or [""]
        hide = rest[:1] == ["hide"] and len(rest) > 1
        file = ":".join(rest[1:] if hide else rest)  # a path may contain a colon
        is_written = bool(file) and _are_numbers(comma_separated(lengths))
        require(is_written, "prefix needs a number of characters and a file, as in prefix:3:codes.csv")
        return cls(directory / file, whole_numbers([lengths]), hide)

    def with_path(self, path: str) -> str:
        return f"prefix:{joined(self.lengths)}{':hide' if self.hide else ''}:{path}"


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
    """Return the prefixes of a file in comparable form, and their labels, by column name."""
    lines = [(compared(value), *labels) for value, *labels in rows.rows if value is not None]
    names = ["prefix", *(level_name(level) for level in range(1, len(rows.levels) + 1))]
    return {name: [line[place] for line in lines] for place, name in enumerate(names)}


def prefixed_query(
    rule: PrefixRule, rows: HierarchyRows, column: Column, source: exp.Table, prefixes: exp.Expr
) -> exp.Query:
    """Return the query that makes the lookup relation: the values, their prefixes, and the levels of the file.

    ``prefixes`` has the prefixes and their labels, under the alias ``prefixes``.
    """
    of_null = next((labels for value, *labels in rows.rows if value is None), [rows.root] * rows.height)
    code = sql.column("code", "coded")
    shown = () if rule.hide else rule.lengths
    labels: list[exp.Expr] = [exp.Left(this=code.copy(), expression=sql.literal(length)) for length in shown]
    labels += [sql.column(level_name(level), "prefixes") for level in range(1, rows.height + 1)]
    null = [sql.literal(label) for label in [of_null[0]] * len(shown) + of_null]
    return sql.query(
        "hierarchy/prefixed",
        values={
            "code": compared_value(sql.column(VALUE)),
            "labels": _as_levels(labels),
            "labels_of_null": _as_levels(null),
            "length": rule.lengths[-1],
            "matches": [] if rule.values is None else [matches_whole(rule.values, code)],
        },
        relations={"prefixes": prefixes},
        steps={"present": [("present", distinct_values_query(column, source))]},
    )


def _as_levels(labels: list[exp.Expr]) -> list[exp.Expr]:
    return [sql.named(label, level_name(level)) for level, label in enumerate(labels, start=1)]
