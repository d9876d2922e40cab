"""Questions that count rows: all rows, the rows of each key, and the most frequent key.

The keys of a histogram are known before the table is read, so that their presence reveals no person. A histogram costs
as much as one count, since a row has one key. The exponential mechanism chooses the most frequent key: the counts
themselves are not published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from kanon_sql.dp.condition import SOURCE
from kanon_sql.dp.contributions import counts_of_keys, double_of, row_count
from kanon_sql.dp.mechanisms import CHOICE, above_threshold, choice_bound, choice_scale, choose, with_noise
from kanon_sql.dp.questions.base import CONFIDENCE, Figure, Question, rounded_text, whole
from kanon_sql.dp.questions.numbers import exact_in_range
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import NUMBERS
from kanon_sql.hierarchy.spec import FileRule, LevelsRule, as_given, parse_rule
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    from kanon_sql.dp.account import Number
    from kanon_sql.dp.contributions import QueriedRows
    from kanon_sql.dp.mechanisms import Law
    from kanon_sql.dp.questions.base import Answer, Row
    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.spec import Given


@dataclass(frozen=True, kw_only=True)
class Count(Question):
    """The number of rows, or with ``entity`` and ``max_rows`` 1, the number of people."""

    asks: ClassVar[str] = "count"

    def query(self, queried: QueriedRows) -> exp.Query:
        return row_count(queried)

    def counted(self, queried: QueriedRows) -> str:
        return self.counted_rows(queried, "rows", "once")

    def sensitivity(self, queried: QueriedRows) -> int:
        return queried.most_rows

    def answer(self, rows: Sequence[Row], queried: QueriedRows) -> Answer:
        """Return the number with noise: it changes by at most ``max_rows`` when one person is added or removed."""
        law = self.law(queried)
        ((exact,),) = rows
        (noisy,) = with_noise([whole(exact)], law)
        bound = law.within(CONFIDENCE)
        figures = (Figure(noisy, None, noisy - bound, noisy + bound),)
        accuracy = f"off by {rounded_text(law.expected_error)} on average, by at most {bound:,} in 95 of 100 answers"
        return self.answered(
            queried, figures, accuracy, mechanism=law.name, scale=law.scale, expected_error=law.expected_error
        )


_AS_TEXT = {"text", "integer", "boolean", "date"}
_MOST_BINS = 10_000


@dataclass(frozen=True)
class Keys:
    """Keys: the distinct labels in order, and the label for each key in the result of the query."""

    labels: tuple[str, ...]
    label_of: Mapping[str, str]

    def counts(self, found: Mapping[str | None, int]) -> tuple[list[int], int]:
        """Return the number of rows of each label, and of no label."""
        by_label = dict.fromkeys(self.labels, 0)
        for key, n in found.items():
            if key is not None and key in self.label_of:
                by_label[self.label_of[key]] += n
        return list(by_label.values()), sum(found.values()) - sum(by_label.values())


def _own_text(column: Column) -> exp.Expr:
    if column.family not in _AS_TEXT:
        raise UsageError(
            f"The values of column {column.name} ({column.kind}) are no keys: texts, whole numbers, dates and truth "
            "values are. Give bins of numbers: --bins 0,10,20"
        )
    return sql.cast(sql.column(column.name, SOURCE), "VARCHAR")


def _given_keys(keys: Sequence[str]) -> Keys:
    if not keys or len(set(keys)) < len(keys):
        raise UsageError("Give each key once, and one at least: --keys F,M")
    return Keys(tuple(keys), {key: key for key in keys})


def _level_keys(rule: Given, level: int, column: Column, directory: Path | None = None) -> Keys:
    """Return the labels of a level of a hierarchy file as keys: the labels of other rules depend on the table."""
    parsed = parse_rule(rule, directory)
    if not isinstance(parsed, FileRule | LevelsRule):
        raise UsageError(
            f"The labels of {rule} depend on the values in the table: give a hierarchy file or a ready: one, --keys, "
            "or --bins."
        )
    rows = parsed.read(column.name)
    if not 0 <= level <= len(rows.levels):
        raise UsageError(f"{rule} has the levels 0 to {len(rows.levels)}, and not {level}.")
    labels = rows.values if level == 0 else rows.levels[level - 1]
    label_of = {value: label for value, label in zip(rows.values, labels, strict=True) if value is not None and label}
    return Keys(tuple(dict.fromkeys(label_of.values())), label_of)


def _bin_keys(edges: Sequence[Decimal]) -> Keys:
    """Return bins, each from one edge to below the next, as keys; the query returns their numbers."""
    labels = [f"[{low:f}, {high:f})" for low, high in pairwise(edges)]
    return Keys(tuple(labels), {str(place): label for place, label in enumerate(labels)})


def _bin_of(edges: Sequence[Decimal], column: Column) -> exp.Expr:
    """Return the number of the bin of a value, as a text; NULL outside all bins."""
    if column.family not in NUMBERS:
        raise UsageError(f"Column {column.name} has no numbers to put in bins: give its values with --keys.")
    value = sql.cast(sql.column(column.name, SOURCE), "DOUBLE")
    keys = [sql.cast(exp.null(), "VARCHAR"), *(sql.literal(str(place)) for place in range(len(edges) - 1))]
    below = [exp.LT(this=value.copy(), expression=double_of(edge)) for edge in edges]
    return exp.Case(ifs=[exp.If(this=each, true=key) for each, key in zip(below, keys, strict=True)])


@dataclass(frozen=True, kw_only=True)
class KeyedQuestion(Question):
    """A question about the keys of a column."""

    column: str
    keys: Sequence[str] | None = None  # the values to count separately
    bins: Sequence[Number] | None = None  # or edges of bins of numbers
    # or a hierarchy file, a ready: one, a mapping or a data frame, whose labels are the keys
    hierarchy: Any = None
    level: int | None = None  # of the hierarchy; 0 is the values that it lists
    directory: Path | None = None  # the base directory of a relative hierarchy path

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hierarchy is not None:
            object.__setattr__(self, "hierarchy", as_given(self.hierarchy))
        ways = [name for name in ("keys", "bins", "hierarchy") if getattr(self, name) is not None]
        if len(ways) > 1:
            raise UsageError(f"The keys are given in one way: {' or '.join(ways)}.")
        if (self.hierarchy is None) != (self.level is None):
            raise UsageError("A hierarchy and a level of it go together: --hierarchy FILE --level 1.")

    @property
    def has_keys(self) -> bool:
        return any(given is not None for given in (self.keys, self.bins, self.hierarchy))

    @property
    def key(self) -> str | None:
        """The column whose values are the keys, or are looked up in a hierarchy; None for bins."""
        return self.column if self.bins is None else None

    @staticmethod
    def _edges(bins: Sequence[Number]) -> list[Decimal]:
        found = [exact_in_range(edge, "An edge of a bin") for edge in bins]
        if not 1 < len(found) <= _MOST_BINS or any(low >= high for low, high in pairwise(found)):
            raise UsageError("Bins are given by edges that rise, such as --bins 0,18,65,120.")
        return found

    def known(self, queried: QueriedRows) -> Keys | None:
        if self.keys is not None:
            return _given_keys(self.keys)
        if self.bins is not None:
            return _bin_keys(self._edges(self.bins))
        if self.hierarchy is not None and self.level is not None:
            return _level_keys(self.hierarchy, self.level, queried.column(self.column), self.directory)
        return None

    def query(self, queried: QueriedRows) -> exp.Query:
        column, known = queried.column(self.column), self.known(queried)
        key = _own_text(column) if self.bins is None else _bin_of(self._edges(self.bins), column)
        return counts_of_keys(queried, key, None if known is None else [*known.label_of])

    def counted(self, queried: QueriedRows) -> str:
        return self.counted_rows(queried, "rows", "once, under one of its keys")

    def sensitivity(self, queried: QueriedRows) -> int:
        """Return the number of rows of a person: of all keys together."""
        return queried.most_rows

    def assumes(self, queried: QueriedRows) -> tuple[str, ...]:
        if not self.has_keys:
            return super().assumes(queried)
        return (*super().assumes(queried), "The keys were known without looking at the table.")


def _by_key(rows: Sequence[Row]) -> dict[str | None, int]:
    return {None if key is None else str(key): whole(n) for key, n in rows}


_NULL, _VALUE = "n", "v"  # prefixes of the keys of a map, which cannot be NULL


@dataclass(frozen=True, kw_only=True)
class Histogram(KeyedQuestion):
    """The number of rows by key; if no keys are given, of the keys that many people have, under delta."""

    asks: ClassVar[str] = "histogram of {0.column}"
    needs_delta: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_keys and self.noise == "laplace" and self.delta:
            raise UsageError("The keys are given, so that Laplace noise needs no delta: leave it out.")
        if not self.has_keys and not self.delta:
            raise UsageError(
                "A key could tell by its presence that a person is there: give the keys (--keys F,M, --bins 0,18,65, "
                "or --hierarchy FILE --level 1), or a delta (--delta 1e-6), for those that many people have."
            )
        if not self.has_keys and self.noise == "gaussian":
            raise UsageError("Keys that are not given are found with Laplace noise: leave --noise gaussian out.")

    def prepare(self, queried: QueriedRows) -> None:
        if self.has_keys:
            super().prepare(queried)
        else:
            above_threshold({}, self.sensitivity(queried), *self.price)

    def answer(self, rows: Sequence[Row], queried: QueriedRows) -> Answer:
        """Return the rows of each key with noise: together they change by at most ``max_rows`` with one person."""
        known = self.known(queried)
        if known is None:
            return self._above_threshold(rows, queried)
        counts, other = known.counts(_by_key(rows))
        law = self.law(queried)
        noisy = with_noise([*counts, other], law)
        return self._answered([*known.labels, None], noisy, law, queried, "")

    def _above_threshold(self, rows: Sequence[Row], queried: QueriedRows) -> Answer:
        found = {_NULL if key is None else _VALUE + key: n for key, n in _by_key(rows).items()}
        kept, law, threshold = above_threshold(found, self.sensitivity(queried), *self.price)
        labels = sorted(kept, key=lambda key: (-kept[key], key))
        why = f"; keys with a noisy count below {threshold:,} are left out"
        named = [None if key == _NULL else key.removeprefix(_VALUE) for key in labels]
        return self._answered(named, [kept[key] for key in labels], law, queried, why)

    def _answered(
        self, keys: Sequence[str | None], noisy: Sequence[int], law: Law, queried: QueriedRows, why: str
    ) -> Answer:
        error, bound = law.expected_error, law.within(CONFIDENCE)
        figures = tuple(
            Figure(n, key, n - bound, n + bound, other=self.has_keys and key is None)
            for key, n in zip(keys, noisy, strict=True)
        )
        accuracy = f"each is off by {rounded_text(error)} on average, by at most {bound:,} in 95 of 100 cases{why}"
        mechanism = law.name + (" above a threshold" if why else "")
        return self.answered(
            queried, figures, accuracy, mechanism=mechanism, scale=law.scale, expected_error=error, keyed=True
        )


@dataclass(frozen=True, kw_only=True)
class MostFrequent(KeyedQuestion):
    """The most frequent of the given keys."""

    asks: ClassVar[str] = "most frequent {0.column}"
    has_noise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.has_keys:
            raise UsageError(
                "One of the keys that you give is chosen: --keys F,M, --bins 0,18,65, or --hierarchy FILE --level 1."
            )

    def prepare(self, queried: QueriedRows) -> None:
        choose([0], self.sensitivity(queried), self.price[0], monotone=True)

    def answer(self, rows: Sequence[Row], queried: QueriedRows) -> Answer:
        """Return a key; more rows make it more likely. All counts change in the same direction with one person."""
        known = self.known(queried)
        if known is None:
            raise TypeError("There are no keys")
        counts, _ = known.counts(_by_key(rows))
        sensitivity, (epsilon, _) = self.sensitivity(queried), self.price
        chosen = choose(counts, sensitivity, epsilon, monotone=True)
        scale = choice_scale(sensitivity, epsilon, monotone=True)
        off = math.ceil(choice_bound(len(counts), scale, CONFIDENCE))
        more = f"no other key of the {len(counts):,} has more than {off:,} {queried.unit} more"
        figures = (Figure(None, known.labels[chosen]),)
        return self.answered(
            queried, figures, f"in 95 of 100 answers, {more}", mechanism=CHOICE, scale=scale, keyed=True
        )
