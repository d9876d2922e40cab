"""Files that are looked up by the first characters of a value: E11.9 -> E11 -> what the file says of E11.

Hierarchies that are looked up by the first characters of a value.

    E11.9  ->  E11  ->  E10-E14 Diabetes mellitus  ->  IV Endocrine, ...  ->  *

The file has a row per prefix, not per value: codes have many more values than groups. Values and prefixes are
compared in capitals, without dots, hyphens and spaces, so that ``e11.9`` and ``E119`` are one category. A value whose
prefix the file lacks gets no row, and is counted as missing as any other. NULL goes to the root.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.expressions import (
    VALUE,
    compared,
    compared_value,
    distinct_values_query,
    level_name,
    matches_whole,
)
from kanon_sql.hierarchy.ready import READY
from kanon_sql.hierarchy.rules import comma_separated, require, rises, seen_from_here
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.formats.rows import HierarchyRows


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
        """Return the rule as text that means the same from any directory."""
        return str(self) if self.name is not None else self.with_path(str(self.path.absolute()))

    def with_path(self, path: str) -> str:
        """Return the rule as text, with its file written as given."""
        return f"prefix:{','.join(map(str, self.lengths))}{':hide' if self.hide else ''}:{path}"


def parse_prefix(parts: list[str], directory: Path) -> PrefixRule:
    """Return the rule that stands after ``prefix:``, with the path of its file from a directory.

    Raises:
        RuleError: it is written wrong.
    """
    lengths, *rest = parts or [""]
    hide = rest[:1] == ["hide"] and len(rest) > 1
    file = ":".join(rest[1:] if hide else rest)  # a path may have a colon
    written = bool(file) and all(re.fullmatch(r"[0-9]+", length) for length in comma_separated(lengths))
    require(written, "prefix needs a number of characters and a file, as in prefix:3:codes.csv")
    return PrefixRule(directory / file, tuple(int(length) for length in comma_separated(lengths)), hide)


_PREFIX = "prefix"


def require_prefixes(rule: PrefixRule, rows: HierarchyRows, column: Column) -> None:
    """Raise unless the rows of a file are prefixes that values of the column can have.

    Raises:
        HierarchyError: a prefix has another length, or the column is no text and may have lost leading zeros.
    """
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
    """Return the prefixes of a file as they are compared, and their labels, by the names that the query calls them."""
    lines = [(compared(value), *labels) for value, *labels in _rows_of_file(rows) if value is not None]
    names = [_PREFIX, *(level_name(level) for level in range(1, len(rows.levels) + 1))]
    return {name: [line[place] for line in lines] for place, name in enumerate(names)}


def prefix_values(rows: HierarchyRows) -> exp.Values:
    """Return the prefixes of a file and their labels as a part of a script that stands alone."""
    columns = prefix_columns(rows)
    return sql.values("prefixes", list(columns), zip(*columns.values(), strict=True))


def prefixed_query(
    rule: PrefixRule, rows: HierarchyRows, column: Column, source: exp.Table, prefixes: exp.Expr
) -> exp.Query:
    """Return the query that makes the lookup relation: the values, their prefixes, and the levels of the file.

    Args:
        rule: says how many characters are looked up.
        rows: of the file.
        column: the column.
        source: its table.
        prefixes: the prefixes and their labels, under the alias ``prefixes``.
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
