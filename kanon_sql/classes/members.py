"""What classes are made of, and how the columns of the answer are called.

What sensitive values of a class are compared to, as steps of a readable query, is in the whole table:

    shares_1      every value of the column with its share of the table
    features_1    what values are compared by, where the distance between them counts
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kanon_sql.classes.frequency import shares_query
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.models.t_closeness import TCloseness, hierarchical_features, ordered_features
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.classes.packing import Packing
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel, RowModel
    from kanon_sql.models.population import PopulationModel


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
        tuples: members of the class; None where they are not wanted.
        bounds: of each model, the rows of a class that could be published at most; None where they are not wanted.
        kept: whether the answer is kept in a table, for which a sum is wider than it needs to be.
    """

    n: str
    measures: Sequence[str]
    tuples: str | None = None
    bounds: Sequence[str] | None = None
    kept: bool = False


class References:
    """The steps that models compare classes to."""

    def __init__(
        self,
        models: Sequence[PrivacyModel],
        table: exp.Table | exp.Subquery,
        *,
        value: Callable[[str], exp.Expr] = sql.column,
        rows: Callable[[], exp.Expr] = sql.count_rows,
        trees: Mapping[str, Hierarchy] | None = None,
        taken: Iterable[str] = (),
    ) -> None:
        """Make the steps.

        Args:
            models: what is measured; those of rows need nothing.
            table: the whole table.
            value: the value of a sensitive column in it, by the column's name.
            rows: the rows of a group of it, as an aggregate.
            trees: the hierarchies of sensitive columns, where the distance in them counts.
            taken: names that steps must not have.
        """
        self.steps: list[tuple[str, exp.Query]] = []
        self._shares: dict[str, str] = {}
        self._features: dict[tuple[str, str], str] = {}
        self._taken = list(taken)
        for model in models:
            if not isinstance(model, SensitiveModel) or model.sensitive is None:
                continue
            name = model.sensitive
            if name not in self._shares:
                self._shares[name] = self._add("shares", shares_query(table, value(name), rows()))
            distance = model.distance if isinstance(model, TCloseness) else None
            if distance not in {"ordered", "hierarchical"} or (name, distance) in self._features:
                continue
            shares = self.shares(model)
            if distance == "ordered":
                query: exp.Query = ordered_features(shares)
            else:
                tree = (trees or {})[name]
                query = hierarchical_features(shares, "value", "value", tree.readable, tree.height, tree.column.family)
            self._features[name, distance] = self._add("features", query)

    def _add(self, wanted: str, query: exp.Query) -> str:
        name = unused_name(f"{wanted}_{len(self._shares) + 1}", [*self._taken, *(name for name, _ in self.steps)])
        self.steps.append((name, query))
        return name

    def shares(self, model: SensitiveModel) -> exp.Table:
        """Return the step with the values of a model's column."""
        return sql.relation(self._shares[model.sensitive or ""])

    def features(self, model: TCloseness) -> exp.Table:
        """Return the step with the features that a model compares by."""
        return sql.relation(self._features[model.sensitive or "", model.distance or ""])

    @property
    def names(self) -> list[str]:
        """The names of the steps."""
        return [name for name, _ in self.steps]


def with_steps(query: exp.Select, *steps: Iterable[tuple[str, exp.Query]]) -> exp.Select:
    """Return a query with steps before it, in this order."""
    for listed in steps:
        for name, step in listed:
            query = query.with_(name, as_=step)
    return query
