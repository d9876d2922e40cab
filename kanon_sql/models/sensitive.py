"""The common part of models of a sensitive column: they measure how its values are spread over a class.

A class is given as ``weighed`` rows, one for each sensitive value that it has (NULL is a value like any other)::

    value     the sensitive value, or its code
    n         rows of the class that have it
    class_n   rows of the class
    place     1 for the most frequent value of the class, 2 for the next, ...
    share     the value's share of the whole table, 0 to 1
    values    how many values the whole table has

A model is an aggregate over them. Comparisons allow for ``TOLERANCE``: sums of shares are floating-point numbers, and
a class exactly on the threshold must get the same result in the search and in the release.
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
"""Tolerance of a measure at its threshold."""


@dataclass(frozen=True)
class SensitiveFacts:
    """The coding of a sensitive column for the search."""

    code: str  # the column of the frequency set that holds the code of the value
    shares: exp.Table  # the relation of the values' shares of the table, by code
    values: int
    # the features of the values, if the model uses distances between them; else None
    features: exp.Table | None = None


class Weighed:
    """The columns of ``weighed`` rows, under the names that they have in a query."""

    def __init__(self, names: dict[str, str], values: int | None = None, *, coded: bool = False) -> None:
        """Take the names.

        ``names``: of the columns that are called ``n``, ``class_n``, ``place``, ``share`` and ``values`` above;
        ``values``: number of values in the whole table, if it is known beforehand; ``coded``: whether the query is
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
        return exp.Div(this=as_double(self.n), expression=self.class_n)

    @property
    def rows(self) -> exp.Expr:
        """The rows of the class, as an aggregate."""
        return exp.Sum(this=self.n)


@dataclass(frozen=True, kw_only=True)
class SensitiveModel(PrivacyModel, ABC):
    """A condition on the values of a sensitive column in every class."""

    sensitive: str | None = None  # the column; may be omitted if the policy has only one sensitive column
    facts: SensitiveFacts | None = field(default=None, repr=False, compare=False)  # its coding, once there is one

    compares_shares: ClassVar[bool] = False
    """True if the shares of values in a class are compared with their shares of the table."""

    @property
    def coding(self) -> SensitiveFacts:
        """The coding of its column."""
        if self.facts is None:
            raise TypeError(f"The sensitive column of {self.name} was not coded")
        return self.facts

    @property
    def ranks_values(self) -> bool:
        """True if a search needs the rank of each value in its class."""
        return False

    def about(self, column: str) -> Self:
        return replace(self, sensitive=column)

    def coded(self, facts: SensitiveFacts) -> Self:
        """Return the model with the coding of its column."""
        return replace(self, facts=facts)

    def measure(self, weighed: Weighed) -> exp.Expr:
        """Return the measure of a class as an aggregate over its weighed rows."""
        return self.measured(weighed.columns)

    @abstractmethod
    def most(self, weighed: Weighed) -> exp.Expr:
        """Return an aggregate: of a class that fails the model, the maximum number of rows that could be published.

        No recoding that generalizes less publishes more of them. Its published rows are a union of classes that
        satisfy the model, so the union satisfies the model itself: the number is at least the size of the largest part
        of the class's rows that satisfies it.
        """


def at_least(measure: exp.Expr, threshold: float) -> exp.Expr:
    """Return ``measure >= threshold``, by ``TOLERANCE``."""
    return exp.GTE(this=measure, expression=sql.double(threshold - TOLERANCE))


def as_double(expression: exp.Expr) -> exp.Expr:
    return sql.cast(expression, "DOUBLE")


def total_where(value: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Return the sum of a value over the rows that satisfy a condition; 0 without such rows."""
    return exp.Coalesce(this=sql.where(exp.Sum(this=value), condition), expressions=[sql.literal(0)])


def leniently(threshold: float) -> float:
    """Return a threshold for a bound: on its far side, so the bound excludes nothing that counts as satisfied."""
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
    """Return a threshold that is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{what} must be a whole number of at least 1, not {value!r}.")
    if value > LARGEST:  # no engine counts this far, and comparisons with larger numbers may be wrong
        raise UsageError(f"{what} is more than any table has rows.")
    return value
