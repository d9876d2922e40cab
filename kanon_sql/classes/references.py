"""What sensitive values of a class are compared to, as steps of a readable query: those of the whole table.

shares_1      every value of the column with its share of the table
features_1    what values are compared by, where the distance between them counts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.classes.sensitive_codes import shares_query
from kanon_sql.models.distances import hierarchical_features, ordered_features
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.models.t_closeness import TCloseness
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel


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
                self._shares[name] = self._add("shares", shares_query(table, value(name), rows(), coded=False))
            distance = model.distance if isinstance(model, TCloseness) else None
            if distance not in {"ordered", "hierarchical"} or (name, distance) in self._features:
                continue
            shares = self.shares(model)
            if distance == "ordered":
                query: exp.Query = ordered_features(shares, "value")
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
