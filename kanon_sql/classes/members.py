"""What classes are made of, and how the columns of the answer are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from kanon_sql.classes.packing import Packing
    from kanon_sql.models.base import RowModel
    from kanon_sql.models.population import PopulationModel
    from kanon_sql.models.sensitive import SensitiveModel
    from kanon_sql.models.t_closeness import TCloseness


@dataclass(frozen=True)
class Members:
    """What classes are made of.

    Attributes:
        rows: the members: a query that selects nothing yet.
        classes: what makes a class, each with its name in the answer.
        n: the rows that a member stands for; None where a member is a row.
        measure: the measure of a model of rows, over the members.
        value: the sensitive value of a member, as a model of that column has it.
        shares: for each sensitive column the relation (value, share, values) of the table's values.
        features: the features of a model that asks for the distance between values.
        populations: for a model that compares with a population, the relation of its classes under the same names, with
            their rows as ``n``.
        null_safe: whether a class may have NULLs in what makes it.
        taken: names that steps must not have, since a step would hide the table that it is made from.
        coded: whether they are rows of the frequency set.
        packing: where its counts stand, if they stand side by side.
    """

    rows: exp.Select
    classes: tuple[exp.Expr, ...]
    n: exp.Expr | None
    measure: Callable[[RowModel], exp.Expr]
    value: Callable[[SensitiveModel], exp.Expr] = field(default=lambda model: sql.column(model.sensitive or ""))
    shares: Callable[[SensitiveModel], exp.Table] = field(default=lambda _: sql.relation("shares"))
    features: Callable[[TCloseness], exp.Table] = field(default=lambda _: sql.relation("features"))
    populations: Callable[[PopulationModel], exp.Query] | None = None
    null_safe: bool = False
    taken: tuple[str, ...] = ()
    coded: bool = False
    packing: Packing | None = None

    @property
    def names(self) -> list[str]:
        """The names of what makes a class."""
        return [column.alias_or_name for column in self.classes]

    def rows_of_members(self) -> exp.Expr:
        """Return the rows of a group of members, as an aggregate."""
        return sql.count_rows() if self.n is None else sql.sum_of(self.n.copy())

    def grouped(self, *selected: exp.Expr, by: Sequence[exp.Expr] = ()) -> exp.Select:
        """Return the query of the members, grouped by class and by something else."""
        query = self.rows.copy().select(*(column.copy() for column in self.classes), *selected, copy=False)
        keys = [column.unalias().copy() for column in self.classes]
        return query.group_by(*keys, *by, copy=False) if keys or by else query


@dataclass(frozen=True)
class Columns:
    """How the columns of the answer are called.

    Attributes:
        n: rows of the class.
        measures: of each model.
        tuples: members of the class; None where nobody asks.
        bounds: of each model, the rows of a class that could be published at most; None where nobody asks.
        kept: whether the answer is kept in a table, for which a sum is wider than it needs to be.
    """

    n: str
    measures: Sequence[str]
    tuples: str | None = None
    bounds: Sequence[str] | None = None
    kept: bool = False
