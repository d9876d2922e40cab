"""What models of a sensitive column have in common: they measure how its values are spread over a class.

A class is given as ``weighed`` rows, one for each sensitive value that it has (NULL is a value like any other)::

    value     the sensitive value, or its code
    n         rows of the class that have it
    class_n   rows of the class
    place     1 for the most frequent value of the class, 2 for the next, ...
    share     the value's share of the whole table, 0 to 1
    values    how many values the whole table has

A model is an aggregate over them. Comparisons leave ``TOLERANCE``: sums of shares are floating-point numbers, and a
class that lies exactly on the threshold must be judged alike in the search and in the release.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.models.base import PrivacyModel
from kanon_sql.models.k_anonymity import LARGEST
from kanon_sql.sql import build as sql

TOLERANCE = 1e-9
"""How much a measure may be off its threshold."""


@dataclass(frozen=True)
class SensitiveFacts:
    """How a sensitive column is coded for the search."""

    code: str  # the column of the frequency set that holds the code of the value
    shares: exp.Table  # the relation of the values' shares of the table, by code
    values: int  # how many values the table has
    # what the values are compared by, where the distance between values counts; else None
    features: exp.Table | None = None


class Weighed:
    """The columns of ``weighed`` rows, under the names that they have in a query."""

    def __init__(self, names: dict[str, str], values: int | None = None, *, coded: bool = False) -> None:
        """Take the names.

        ``names``: of the columns that are called ``n``, ``class_n``, ``place``, ``share`` and ``values`` above;
        ``values``: how many values the whole table has, where that is known beforehand; ``coded``: whether the query is
        for a search, and not for reading.
        """
        self._names = names
        self.values_of_table = values
        self.coded = coded

    def __getattr__(self, name: str) -> exp.Column:
        """Return a column."""
        return sql.column(self._names[name])

    @property
    def columns(self) -> dict[str, exp.Expr]:
        """The columns, by the names above."""
        return {name: sql.column(named) for name, named in self._names.items()}

    @property
    def share_of_class(self) -> exp.Expr:
        """The value's share of the class."""
        return exp.Div(this=as_double(self.n), expression=self.class_n)

    @property
    def rows(self) -> exp.Expr:
        """The rows of the class, as an aggregate."""
        return exp.Sum(this=self.n)


@dataclass(frozen=True, kw_only=True)
class SensitiveModel(PrivacyModel, ABC):
    """A condition on the values of a sensitive column in every class."""

    sensitive: str | None = None  # the column; may be left out where the policy has only one sensitive column
    facts: SensitiveFacts | None = field(default=None, repr=False, compare=False)  # how it is coded, once it is

    compares_shares: ClassVar[bool] = False
    """Whether the shares that values have of a class are compared with those that they have of the table."""

    @property
    def coding(self) -> SensitiveFacts:
        """How its column is coded."""
        if self.facts is None:
            raise TypeError(f"The sensitive column of {self.name} was not coded")
        return self.facts

    @property
    def ranks_values(self) -> bool:
        """Whether a search needs the rank of each value in its class."""
        return False

    def about(self, column: str) -> Self:
        """Return the model about a sensitive column."""
        return replace(self, sensitive=column)

    def coded(self, facts: SensitiveFacts) -> Self:
        """Return the model, knowing how its column is coded."""
        return replace(self, facts=facts)

    def measure(self, weighed: Weighed) -> exp.Expr:
        """Return the measure of a class as an aggregate over its weighed rows."""
        return self.measured(weighed.columns)

    @abstractmethod
    def most(self, weighed: Weighed) -> exp.Expr:
        """Return an aggregate: rows of a class, of those that do not satisfy the model, that could be published.

        No recoding that generalizes less publishes more of them. Whatever it publishes is a union of classes that
        satisfy the model, so that it satisfies the model itself: the number is at least as large as the largest part of
        the class's rows that does.
        """


def at_least(measure: exp.Expr, threshold: float) -> exp.Expr:
    """Return ``measure >= threshold``, by ``TOLERANCE``."""
    return exp.GTE(this=measure, expression=sql.double(threshold - TOLERANCE))


def as_double(expression: exp.Expr) -> exp.Expr:
    """Return a count as a DOUBLE."""
    return sql.cast(expression, "DOUBLE")


def total_where(value: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Return the sum of a value where a condition holds, 0 if it holds nowhere."""
    return exp.Coalesce(this=sql.where(exp.Sum(this=value), condition), expressions=[sql.literal(0)])


def leniently(threshold: float) -> float:
    """Return a threshold for a bound: on its far side, so that the bound leaves out nothing that is judged to hold."""
    return threshold + 4 * TOLERANCE


def checked_number(value: object, what: str, *, least: float, most: float = math.inf, open_end: bool = False) -> float:
    """Return a threshold that is a number between two bounds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not least <= value <= most or (open_end and value == least):  # type: ignore[operator]  # checked
        bounds = f"{'above' if open_end else 'of at least'} {least:g}" + (
            f" and at most {most:g}" if math.isfinite(most) else ""
        )
        raise UsageError(f"{what} is a number {bounds}, not {value!r}.")
    return float(value)  # type: ignore[arg-type]  # checked above


def checked_count(value: object, what: str) -> int:
    """Return a threshold that is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{what} must be a whole number of at least 1, not {value!r}.")
    if value > LARGEST:  # no engine counts so far, and one that compares with it may be wrong
        raise UsageError(f"{what} is more than any table has rows.")
    return value
