"""k-anonymity: every published row is like at least k - 1 others (Samarati 2001; Sweeney 2002).

Monotone, with suppression: the size of a merged class is at least that of each of its parts, whether it counts
rows or distinct entities. So a class that reached k keeps it upwards, and suppressed rows only become fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.models.base import ENTITY, PERSONS, N, RowModel
from kanon_sql.sql import build as sql

LARGEST = 2**62
"""The largest k: no engine counts this far, and comparisons with larger numbers may be wrong."""


@dataclass(frozen=True)
class KAnonymity(RowModel):
    """Every class has at least ``k`` members.

    Attributes:
        entity: the column that identifies the person of a row. With it, members are distinct people, not
            rows; a row without a name (NULL) counts for no person.
    """

    k: int
    entity: str | None = None
    name: ClassVar[str] = "k-anonymity"
    letter: ClassVar[str] = "k"
    monotone: ClassVar[bool] = True
    file: ClassVar[str] = "models/k_anonymity"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise UsageError(f"k must be a whole number of at least 1, not {self.k!r}.")
        if self.k > LARGEST:
            raise UsageError("k is more than any table has rows.")

    @property
    def required(self) -> int:
        return self.k

    @property
    def least_rows(self) -> int:
        """The smallest class that may be published: a person has at least one row."""
        return self.k

    def counting(self, entity: str) -> KAnonymity:
        return replace(self, entity=entity)

    def coded_measure(self, *, merged: bool = False) -> exp.Expr:
        """Return the members of a class: rows; or people with one tuple, plus distinct people with several.

        Counting distinct people takes five times as long as counting their rows, if each has one.
        """
        if self.entity is None:
            return exp.Sum(this=sql.column(N))
        entity = sql.column(ENTITY)
        movers = exp.Count(this=entity) if merged else sql.count_distinct(entity)
        return exp.Add(this=exp.Sum(this=sql.column(PERSONS)), expression=movers)

    def readable_measure(self, entity: exp.Expr | None) -> exp.Expr:
        """Return the members of a class: its rows, or the distinct people in it."""
        return self.measured({}) if entity is None else sql.count_distinct(entity)

    def measure_of(self, rows: exp.Expr) -> exp.Expr:
        return rows

    def combined_measure(self, n: exp.Expr, entity: exp.Expr | None) -> exp.Expr:
        """Return the members of a class: its rows, or the distinct people in it."""
        return exp.Sum(this=n) if entity is None else sql.count_distinct(entity)
