"""A publication: the complete input of the publishing statements."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kanon_sql.engine.base import Column
from kanon_sql.engine.equality import published, published_type
from kanon_sql.models.t_closeness import TCloseness
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.base import Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.roles import Roles
    from kanon_sql.release.pseudonyms import Pseudonyms
    from kanon_sql.release.published_rules import PublishedRules

GENERALIZED = "generalized"
"""The step of a publishing statement that has the recoded rows."""


@dataclass(frozen=True)
class Publication:
    """The columns to publish, and how."""

    # The relation to anonymize, or its view with pseudonyms and rules. In a warehouse this stays the table; only the
    # release statement reads ``rules.view``.
    source: exp.Table
    columns: tuple[Column, ...]  # published columns, pseudonyms included, in the order of the source
    roles: Roles
    hierarchies: tuple[Hierarchy, ...]
    recoding: Recoding
    models: tuple[PrivacyModel, ...]
    seed: int  # of the order of rows
    combinations: exp.Table  # the temporary table of a local recoding
    trees: dict[str, Hierarchy] = field(default_factory=dict)  # of sensitive columns whose values a model compares
    population: exp.Table | None = None
    pseudonyms: Pseudonyms | None = None
    rules: PublishedRules | None = None  # for kept columns
    partial: frozenset[str] = frozenset()  # quasi-identifiers whose lookup has only the values of published rows
    kept: exp.Table | None = None  # labels of the published classes, if k is required of any m columns
    spreadsheet_safe: bool = False
    delimiter: str = ","
    encoding: str | None = None  # of a CSV file; None is UTF-8
    decimal: str = "."  # the decimal sign of numbers in a CSV file
    formats: Mapping[str, str] = field(default_factory=dict)  # of dates in a CSV file, by column, if not as in SQL

    @property
    def quasi_identifiers(self) -> list[str]:
        return [column.name for column in self.roles.quasi_identifiers]

    @property
    def trees_compared(self) -> list[Hierarchy]:
        """The hierarchies of sensitive columns in which models compare values."""
        named = [
            model.sensitive
            for model in self.models
            if isinstance(model, TCloseness) and model.distance == "hierarchical"
        ]
        return [self.trees[name] for name in dict.fromkeys(named) if name is not None]

    @property
    def published_quasi_identifiers(self) -> tuple[Column, ...]:
        """The quasi-identifiers in the release, with the types of their labels."""
        types = self.published_types
        return tuple(Column(name, types[name]) for name in self.quasi_identifiers)

    @property
    def entity_name(self) -> str:
        """The entity column inside the publishing query; it is not published."""
        return unused_name("kanon_entity", {column.name for column in self.columns})

    @property
    def published_types(self) -> dict[str, str]:
        """The type of each published column: its own, or that of labels if it is generalized."""
        numbers = {name: number for number, name in enumerate(self.quasi_identifiers)}

        def of_labels(column: Column) -> str | None:
            return self.recoding.label_type(numbers[column.name]) if column.name in numbers else None

        return {column.name: of_labels(column) or published_type(column) for column in self.columns}


def as_published(column: Column, relation: str = "source") -> exp.Expr:
    """Return a column of the source in its published form if it keeps its values."""
    value = sql.column(column.name, relation)
    form = published(value, column)
    return value if form is value else sql.named(form, column.name)


def joined_hierarchies(publication: Publication) -> list[Hierarchy]:
    """Return the hierarchies that the publishing statement and its verification join.

    The label of a column that is only published as its root is a constant.
    """
    generalizing = [
        hierarchy
        for number, hierarchy in enumerate(publication.hierarchies)
        if _is_joined(publication.recoding.levels_of(number), hierarchy)
    ]
    return [*generalizing, *publication.trees_compared]


def _is_joined(levels: Sequence[int], hierarchy: Hierarchy) -> bool:
    return any(levels) and any(level < hierarchy.height for level in levels)


def levels_joined(publication: Publication) -> dict[str, tuple[int, ...]]:
    """Return the levels between value and root of the quasi-identifiers whose hierarchies are joined."""
    return {
        hierarchy.column.name: tuple(level for level in levels if 0 < level < hierarchy.height)
        for number, hierarchy in enumerate(publication.hierarchies)
        if _is_joined(levels := publication.recoding.levels_of(number), hierarchy)
    }


# The relations that have pseudonyms and values by rule


def make_replaced(engine: Engine, publication: Publication) -> None:
    """Make the view with columns published by rules, and over it the view with pseudonyms."""
    for replaced in (publication.rules, publication.pseudonyms):
        if replaced is not None:
            replaced.make(engine)


@contextmanager
def with_replaced(engine: Engine, publication: Publication) -> Iterator[None]:
    """Provide the relations of ``make_replaced`` while values are checked, before the release is made."""
    make_replaced(engine, publication)
    try:
        yield
    finally:
        forget_replaced(engine, publication)


def forget_replaced(engine: Engine, publication: Publication) -> None:
    """Drop the relations of ``make_replaced`` and the replaced values."""
    for replaced in (publication.pseudonyms, publication.rules):
        if replaced is not None:
            replaced.forget(engine)
