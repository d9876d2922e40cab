"""The keys of a histogram: known before anyone looks at the table, so that none tells by its presence who is there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.dp.predicate import SOURCE
from kanon_sql.dp.questions.bounded import number
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.formats import read_levels
from kanon_sql.hierarchy.spec import FileRule, parse_rule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    from kanon_sql.engine.base import Column

_AS_TEXT = {"text", "integer", "boolean", "date"}
_MOST_BINS = 10_000


@dataclass(frozen=True)
class Keys:
    """Keys, and how the rows of each are found.

    Attributes:
        labels: of the keys, in their order, each once.
        label_of: by what the query of the table has as key, the label.
    """

    labels: tuple[str, ...]
    label_of: Mapping[str, str]

    @property
    def wanted(self) -> list[str]:
        """What the query tells apart."""
        return [*self.label_of]

    def counts(self, found: Mapping[str | None, int]) -> tuple[list[int], int]:
        """Return the rows of each label, and those of no label."""
        by_label = dict.fromkeys(self.labels, 0)
        other = 0
        for key, n in found.items():
            label = None if key is None else self.label_of.get(key)
            if label is None:
                other += n
            else:
                by_label[label] += n
        return list(by_label.values()), other


def own_text(column: Column) -> exp.Expr:
    """Return the values of a column as keys.

    Raises:
        UsageError: different texts may stand for one value of it.
    """
    if column.family not in _AS_TEXT:
        raise UsageError(
            f"The values of column {column.name} ({column.kind}) are no keys: texts, whole numbers, dates and truth "
            "values are. Give bins of numbers: --bins 0,10,20"
        )
    return sql.cast(sql.column(column.name, SOURCE), "VARCHAR")


def given_keys(keys: Sequence[str]) -> Keys:
    """Return keys that a person gave: values as texts.

    Raises:
        UsageError: one is given twice, or none is.
    """
    if not keys or len(set(keys)) < len(keys):
        raise UsageError("Give each key once, and one at least: --keys F,M")
    return Keys(tuple(keys), {key: key for key in keys})


def level_keys(rule: str, level: int, column: Column, directory: Path | None = None) -> Keys:
    """Return the labels of a level of a hierarchy file as keys.

    Raises:
        UsageError: it is no file, and so says no labels by itself; or it has no such level.
        HierarchyError: it cannot be read.
    """
    parsed = parse_rule(rule, directory)
    if not isinstance(parsed, FileRule):
        raise UsageError(
            f"The labels of {rule} depend on the values in the table: give a hierarchy file or a ready: one, --keys, "
            "or --bins."
        )
    rows = read_levels(parsed.path, column.name)
    if not 0 <= level <= len(rows.levels):
        raise UsageError(f"{rule} has the levels 0 to {len(rows.levels)}, and not {level}.")
    labels = rows.values if level == 0 else rows.levels[level - 1]
    label_of = {value: label for value, label in zip(rows.values, labels, strict=True) if value is not None and label}
    return Keys(tuple(dict.fromkeys(label_of.values())), label_of)


@dataclass(frozen=True)
class Bins:
    """Bins of numbers, each from one edge to below the next.

    Attributes:
        edges: in their order.
    """

    edges: tuple[Decimal, ...]

    @property
    def keys(self) -> Keys:
        """The bins as keys; the query has their numbers."""
        labels = [f"[{low:f}, {high:f})" for low, high in pairwise(self.edges)]
        return Keys(tuple(labels), {str(place): label for place, label in enumerate(labels)})

    def key(self, column: Column) -> exp.Expr:
        """Return the number of the bin that a value is in, as a text; NULL outside of all.

        Raises:
            UsageError: the column has no numbers.
        """
        if column.family not in {"integer", "decimal", "float"}:
            raise UsageError(f"Column {column.name} has no numbers to put in bins: give its values with --keys.")
        value = sql.cast(sql.column(column.name, SOURCE), "DOUBLE")
        edges = [sql.cast(_plain(edge), "DOUBLE") for edge in self.edges]
        first, *rest = edges
        cases = [exp.If(this=exp.LT(this=value.copy(), expression=first), true=sql.cast(exp.null(), "VARCHAR"))]
        cases += [
            exp.If(this=exp.LT(this=value.copy(), expression=edge), true=sql.literal(str(place)))
            for place, edge in enumerate(rest)
        ]
        return exp.Case(ifs=cases)


def bins_of(edges: Sequence[Decimal | float | str]) -> Bins:
    """Return bins with these edges.

    Raises:
        UsageError: there are not two edges, or they do not rise.
    """
    found = tuple(number(edge, "An edge of a bin") for edge in edges)
    if len(found) < 2 or any(low >= high for low, high in pairwise(found)) or len(found) > _MOST_BINS:  # noqa: PLR2004 - a bin has two edges
        raise UsageError("Bins are given by edges that rise, such as --bins 0,18,65,120.")
    return Bins(found)


def _plain(value: Decimal) -> exp.Expr:
    plain = exp.Literal.number(f"{abs(value):f}")
    return exp.Neg(this=plain) if value < 0 else plain
