"""The readable form: the query that makes a release from the source, with joins to hierarchies and plain labels.

    generalized   every row of the source with the labels that are published
    too_small     the classes that do not satisfy the privacy models
    the rest      rows of generalized whose class is not among them, in an order that says nothing

The query stands on its own: it counts the classes itself, from the source, and knows nothing of codes or of the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.dialect import shuffled
from kanon_sql.engine.base import Column
from kanon_sql.hierarchy.build import VALUE, level_name
from kanon_sql.identity import published, published_type
from kanon_sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.hierarchy.lookup import Hierarchy
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.recoding import Recoding
    from kanon_sql.roles import Roles

GENERALIZED = "generalized"
TOO_SMALL = "too_small"


@dataclass(frozen=True)
class Publication:
    """What is published, and how.

    Attributes:
        source: the relation that is anonymized.
        columns: the published columns in the order of the source; identifying and dropped ones are not among them.
        roles: the role of every column of the source.
        hierarchies: of the quasi-identifiers, in their order.
        recoding: how they are generalized.
        models: what every class must satisfy.
        seed: of the order of rows.
    """

    source: exp.Table
    columns: tuple[Column, ...]
    roles: Roles
    hierarchies: tuple[Hierarchy, ...]
    recoding: Recoding
    models: tuple[PrivacyModel, ...]
    seed: int

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return [column.name for column in self.roles.quasi_identifiers]

    @property
    def published_quasi_identifiers(self) -> tuple[Column, ...]:
        """The quasi-identifiers as the release has them: with the types of their labels."""
        types = self.published_types
        return tuple(Column(name, types[name]) for name in self.quasi_identifiers)

    @property
    def entity_name(self) -> str:
        """Name of the entity column inside the publishing query; it is not published."""
        return unused_name("kanon_entity", {column.name for column in self.columns})

    @property
    def published_types(self) -> dict[str, str]:
        """The type of each published column: its own, or text where it is generalized."""
        levels = self.recoding.levels(self.hierarchies)
        return {
            column.name: "VARCHAR" if levels.get(column.name) else published_type(column) for column in self.columns
        }


def readable_lookups(hierarchies: Sequence[Hierarchy], *, stored: bool = True) -> dict[str, exp.Table]:
    """Return the lookup relation of each quasi-identifier: the one in the database, where there is and may be one."""
    return {hierarchy.column.name: hierarchy.readable if stored else hierarchy.relation for hierarchy in hierarchies}


def release_query(publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Select:
    """Return the query whose rows are the release.

    Args:
        publication: what is published.
        lookups: for each quasi-identifier, the relation that holds its hierarchy.
    """
    names = [column.name for column in publication.columns]
    published = [sql.column(name, GENERALIZED) for name in names]
    in_small_class = exp.Exists(
        this=exp.select("1")
        .from_(TOO_SMALL)
        .where(
            *(
                sql.same(sql.column(name, TOO_SMALL), sql.column(name, GENERALIZED))
                for name in publication.quasi_identifiers
            )
        )
    )
    # Inlined, because the engine reads a few columns twice faster than it keeps all of them in between.
    return (
        exp.select(*published)
        .from_(GENERALIZED)
        .where(in_small_class.not_())
        .order_by(shuffled([column.copy() for column in published], publication.seed))
        .with_(GENERALIZED, as_=generalized_query(publication, lookups), materialized=False)
        .with_(TOO_SMALL, as_=_too_small(publication))
    )


def generalized_query(publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Select:
    """Return the query of all rows with their published labels, and the entity where a model counts people."""
    levels = publication.recoding.levels(publication.hierarchies)
    by_name = {hierarchy.column.name: hierarchy for hierarchy in publication.hierarchies}
    query = exp.select().from_(sql.aliased(publication.source, "source"))
    for column in publication.columns:
        level = levels.get(column.name, 0)
        if level == 0:
            query = query.select(_as_published(column))
        elif level == by_name[column.name].height:
            query = query.select(sql.named(sql.literal(by_name[column.name].root), column.name))
        else:
            lookup = lookups[column.name]
            label = sql.column(level_name(level), lookup.name)
            query = query.select(sql.named(label, column.name)).join(
                lookup.copy(), on=sql.same(sql.column(column.name, "source"), sql.column(VALUE, lookup.name))
            )
    entity = publication.roles.entity
    return (
        query if entity is None else query.select(sql.named(sql.column(entity.name, "source"), publication.entity_name))
    )


def _as_published(column: Column) -> exp.Expr:
    value = sql.column(column.name, "source")
    form = published(value, column)
    return value if form is value else sql.named(form, column.name)


def class_measures(publication: Publication) -> list[exp.Expr]:
    """Return the measure of each model as an aggregate over the rows of ``generalized``."""
    entity = sql.column(publication.entity_name)
    return [model.readable_measure(entity.copy() if model.entity else None) for model in publication.models]


def _too_small(publication: Publication) -> exp.Select:
    names = [sql.column(name) for name in publication.quasi_identifiers]
    failed = [
        sql.negated(model.is_met(measure))
        for model, measure in zip(publication.models, class_measures(publication), strict=True)
    ]
    grouped = exp.select(*names).from_(GENERALIZED).group_by(*(name.copy() for name in names))
    return grouped.having(exp.or_(*failed))


def readable_node_query(publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Select:
    """Return the test of a node in readable SQL: the same two numbers as the coded ``node_query``."""
    names = publication.quasi_identifiers
    n = unused_name("n", names)
    measured = [unused_name(f"measure_{number}", names) for number in range(len(publication.models))]
    measures = [sql.named(measure, name) for name, measure in zip(measured, class_measures(publication), strict=True)]
    grouped = exp.select(sql.named(sql.count_rows(), n), *measures).from_(GENERALIZED)
    classes = grouped.group_by(*(sql.column(name) for name in names))
    met = sql.all_of(model.is_met(sql.column(name)) for name, model in zip(measured, publication.models, strict=True))
    hidden = sql.where(exp.Sum(this=sql.column(n)), sql.negated(met))
    return (
        exp.select(
            sql.named(sql.count_rows(), "classes"),
            sql.named(exp.Coalesce(this=hidden, expressions=[sql.literal(0)]), "suppressed"),
        )
        .from_("classes")
        .with_(GENERALIZED, as_=generalized_query(publication, lookups))
        .with_("classes", as_=classes)
    )
