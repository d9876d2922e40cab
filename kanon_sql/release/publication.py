"""What is published, and how: all that the publishing statements are made from."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Column
from kanon_sql.engine.equality import published, published_type
from kanon_sql.models.t_closeness import TCloseness
from kanon_sql.release.pseudonyms import INNER, OUTER, forget_pseudonyms, make_pseudonyms, require_unprofiled
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    """What is published, and how.

    Attributes:
        source: the relation that is anonymized; where there are pseudonyms or rules, the view of it that has them
            already. In a warehouse, only what makes the release reads that view: see ``PublishedRules.view``.
        columns: the published columns in the order of the source; identifying and dropped ones are not among them, but
            for those that are published as pseudonyms.
        roles: the role of every column of the source.
        hierarchies: of the quasi-identifiers, in their order.
        recoding: how they are generalized.
        models: what every class must satisfy.
        seed: of the order of rows.
        combinations: the temporary table that a local recoding works on.
        trees: the hierarchies of sensitive columns, where a model measures how far apart values are in them.
        population: the table that models compare with.
        pseudonyms: how some identifying columns are published; None if none is.
        rules: how some kept columns are published; None if all are as they are.
        partial: the quasi-identifiers whose lookup relation has the values of published rows only.
        kept: the temporary table of the classes that are published, by their labels, where k is required of any m
            columns; None where the classes tell by themselves.
        spreadsheet_safe: whether a CSV file has an apostrophe before what a spreadsheet would run.
        delimiter: what separates the values of a CSV file.
        encoding: of a CSV file; None is UTF-8.
        decimal: the decimal sign of numbers in a CSV file.
        formats: how dates are written in a CSV file, by column, where that is not as in SQL.
    """

    source: exp.Table
    columns: tuple[Column, ...]
    roles: Roles
    hierarchies: tuple[Hierarchy, ...]
    recoding: Recoding
    models: tuple[PrivacyModel, ...]
    seed: int
    combinations: exp.Table
    trees: dict[str, Hierarchy] = field(default_factory=dict)
    population: exp.Table | None = None
    pseudonyms: Pseudonyms | None = None
    rules: PublishedRules | None = None
    partial: frozenset[str] = frozenset()
    kept: exp.Table | None = None
    spreadsheet_safe: bool = False
    delimiter: str = ","
    encoding: str | None = None
    decimal: str = "."
    formats: Mapping[str, str] = field(default_factory=dict)

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
        """The quasi-identifiers as the release has them: with the types of their labels."""
        types = self.published_types
        return tuple(Column(name, types[name]) for name in self.quasi_identifiers)

    @property
    def entity_name(self) -> str:
        """The entity column inside the publishing query; it is not published."""
        return unused_name("kanon_entity", {column.name for column in self.columns})

    @property
    def published_types(self) -> dict[str, str]:
        """The type of each published column: its own, or that of labels where it is generalized."""
        numbers = {name: number for number, name in enumerate(self.quasi_identifiers)}

        def of_labels(column: Column) -> str | None:
            return self.recoding.label_type(numbers[column.name]) if column.name in numbers else None

        return {column.name: of_labels(column) or published_type(column) for column in self.columns}


def as_published(column: Column, relation: str = "source") -> exp.Expr:
    """Return a column of the source as it is published where it keeps its values."""
    value = sql.column(column.name, relation)
    form = published(value, column)
    return value if form is value else sql.named(form, column.name)


def joined_hierarchies(publication: Publication) -> list[Hierarchy]:
    """Return the hierarchies that the publishing statement and its verification refer to.

    Of a column that is only published as its root, the label is a constant.
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
    """Return, of the quasi-identifiers whose hierarchies are joined, the levels between the values and the root."""
    return {
        hierarchy.column.name: tuple(level for level in levels if 0 < level < hierarchy.height)
        for number, hierarchy in enumerate(publication.hierarchies)
        if _is_joined(levels := publication.recoding.levels_of(number), hierarchy)
    }


# The relations that have pseudonyms and values by rule


def make_replaced(engine: Engine, publication: Publication) -> None:
    """Make the view with columns published by rules, and over it the one with pseudonyms."""
    rules = publication.rules
    if rules is not None:
        secrets = {INNER: rules.key.inner, OUTER: rules.key.outer}
        if rules.keyed:
            require_unprofiled(engine)
        *tables, view = rules.statements()
        title = "values of columns that are published by a rule"
        for table in tables:
            bound = secrets if next(table.find_all(exp.Placeholder), None) is not None else None
            engine.rows(table, title, bound)
            if rules.bench is not None:
                rules.bench.send(table.this, rules.origin, {}, title)
        rules.holder(engine).run(view, "the source with columns published by rules")
    make_pseudonyms(engine, publication.pseudonyms)


@contextmanager
def with_replaced(engine: Engine, publication: Publication) -> Iterator[None]:
    """Have what ``make_replaced`` makes while values are looked at, before the release is made."""
    if publication.rules is None and publication.pseudonyms is None:
        yield
        return
    make_replaced(engine, publication)
    try:
        yield
    finally:
        forget_replaced(engine, publication)


def forget_replaced(engine: Engine, publication: Publication) -> None:
    """Drop what ``make_replaced`` made, and the values that were replaced."""
    forget_pseudonyms(engine, publication.pseudonyms)
    rules = publication.rules
    if rules is not None:
        rules.holder(engine).run(sql.drop(rules.view, "VIEW"), "drop the source with columns published by rules")
        for table in dict.fromkeys(rules.tables.values()):
            engine.run(sql.drop(table), "drop the values of columns that are published by a rule")
