"""The readable query that makes a release from the source, with joins to hierarchies and plain labels.

    generalized   every row of the source with its published labels
    [shares_1, counted_1, ...]   the values that models of sensitive columns compare (see ``references``, ``measured``)
    too_small     the classes that do not satisfy the privacy models
    the rest      rows of generalized whose class is not among them, in a random order

The query is independent of codes and of the search: it counts the classes itself, from the source. ``generalized`` is
the query of the kind of recoding (``full_domain``, ``local``, ``mondrian``). Local and multidimensional recodings need
no count: their published rows are decided before (except in a view, whose table may change).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.measured import Columns, Members, References, measured_steps, with_steps
from kanon_sql.engine.equality import comparable, looked_up
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.models.base import RowModel
from kanon_sql.release.publication import GENERALIZED
from kanon_sql.release.statements import statements_for
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import shuffled
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.release.publication import Publication

TOO_SMALL = "too_small"


def readable_lookups(hierarchies: Sequence[Hierarchy], *, stored: bool = True) -> dict[str, exp.Table]:
    """Return the lookup relation of each quasi-identifier: the stored one, if it exists and ``stored`` allows it."""
    return {hierarchy.column.name: hierarchy.readable if stored else hierarchy.relation for hierarchy in hierarchies}


def release_query(
    publication: Publication,
    lookups: Mapping[str, exp.Table],
    *,
    live: bool = False,
    left_out: exp.Table | None = None,
) -> exp.Select:
    """Return the query whose rows are the release.

    Args:
        publication: the rows and columns to publish.
        lookups: for each quasi-identifier, the relation that holds its hierarchy.
        live: whether the source may change later; if so, the query always counts its classes itself.
        left_out: a table of the classes that do not satisfy the models (see ``too_small_query``), if they were counted
            elsewhere. Then the source is read once.
    """
    published = [sql.column(column.name, GENERALIZED) for column in publication.columns]
    order = release_order(publication, published)
    if not (live or publication.recoding.leaves_out_classes):
        return generalized_release(publication, lookups)
    generalized = generalized_query(publication, lookups)
    if left_out is None:
        suppressed = _too_small(publication, lookups)
    else:
        counted = exp.select(*map(sql.column, publication.quasi_identifiers)).from_(left_out)
        suppressed = [(TOO_SMALL, counted)]
    same_class = sql.all_of(
        sql.same(sql.column(column.name, TOO_SMALL), sql.column(column.name, GENERALIZED), comparable(column))
        for column in publication.published_quasi_identifiers
    )
    released = sql.select(
        "release/full_domain",
        values={"published": published, "same_class": same_class, "order": [order]},
        steps={
            GENERALIZED: [(GENERALIZED, _with_known_values(generalized, publication) if live else generalized)],
            TOO_SMALL: suppressed,
        },
    )
    if left_out is not None:  # it is read once
        released.ctes[0].set("materialized", None)
    return released


def generalized_release(publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Select:
    """Return the query of a release that suppresses nothing."""
    published = [sql.column(column.name, GENERALIZED) for column in publication.columns]
    released = statements_for(publication).released_query(lookups)
    return released.order_by(release_order(publication, published))


def release_order(publication: Publication, published: Sequence[exp.Column]) -> exp.Expr:
    """Return the ORDER BY key of a release, given its columns."""
    plain = all(column.family != "other" for column in publication.columns)
    return shuffled([column.copy() for column in published], publication.seed, plain=plain)


def too_small_query(publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Query:
    """Return the query of the classes of a full-domain recoding that do not satisfy the models, by their labels."""
    # Other columns are not read: each would be fetched from a warehouse.
    read = {*publication.quasi_identifiers, *(model.sensitive for model in publication.models)}
    publication = replace(publication, columns=tuple(column for column in publication.columns if column.name in read))
    generalized = [(GENERALIZED, generalized_query(publication, lookups))]
    return with_steps(exp.select("*").from_(TOO_SMALL), generalized, _too_small(publication, lookups))


def _with_known_values(rows: exp.Select, publication: Publication) -> exp.Select:
    """Remove rows whose sensitive value has no place in the tree in which values are compared.

    Such values appear after a view was made. Their distance from others is unknown, so no class can be judged with
    them, and a class with only such values would not be judged at all.
    """
    for tree in publication.trees_compared:
        own = looked_up(sql.column(tree.column.name, "source"), tree.column)
        value = sql.same(sql.column(VALUE, "tree"), own, tree.column.family)
        known = exp.select("1").from_(sql.aliased(tree.readable, "tree")).where(value)
        rows = rows.where(exp.Exists(this=known))
    return rows


def generalized_query(publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Select:
    """Return the query of all rows with their published labels, and the entity if a model counts people."""
    return statements_for(publication).generalized_query(lookups)


def measure_of_rows(publication: Publication, model: RowModel) -> exp.Expr:
    """Return the measure of a model of rows as an aggregate over the rows of ``generalized``."""
    return model.readable_measure(sql.column(publication.entity_name) if model.entity else None)


def references_of(publication: Publication) -> References:
    """Return the steps that models compare classes with, from the source."""
    taken = [GENERALIZED, TOO_SMALL, publication.source.name]
    return References(publication.models, publication.source, trees=publication.trees, taken=taken)


def generalized_population(publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Select | None:
    """Return the query of the rows of the population with the labels of the release; None if there is none."""
    if publication.population is None:
        return None
    everybody = replace(
        publication,
        source=publication.population,
        columns=publication.roles.quasi_identifiers,
        roles=replace(publication.roles, entity=None),
    )
    return generalized_query(everybody, lookups)


def population_classes(rows: exp.Query | None, classes: Sequence[exp.Expr], n: str) -> exp.Query:
    """Return the query of the classes of the population, with their number of rows."""
    if rows is None:
        raise TypeError("There is no population to compare with")
    counted = exp.select(*(column.copy() for column in classes), sql.named(sql.count_rows(), n))
    return counted.from_(rows.subquery("everybody")).group_by(*(column.unalias().copy() for column in classes))


def generalized_members(publication: Publication, references: References, lookups: Mapping[str, exp.Table]) -> Members:
    """Return the rows of ``generalized`` as the members of classes."""
    classes = tuple(sql.column(name) for name in publication.quasi_identifiers)
    n, _ = class_columns(publication.quasi_identifiers, publication.models)
    everybody = generalized_population(publication, lookups)
    return Members(
        rows=exp.select().from_(GENERALIZED),
        classes=classes,
        n=None,
        populations=lambda _: population_classes(everybody, classes, n),
        measure=lambda model: measure_of_rows(publication, model),
        shares=references.shares,
        features=references.features,
        null_safe=True,
        taken=(GENERALIZED, TOO_SMALL, publication.source.name, *references.names),
    )


def _too_small(publication: Publication, lookups: Mapping[str, exp.Table]) -> list[tuple[str, exp.Query]]:
    """Return the query of the classes that fail some model, after the steps that it needs."""
    values: dict[str, sql.Given]
    if publication.kept is not None:
        labels = [*map(sql.column, publication.quasi_identifiers)]
        same_class = [
            sql.same(sql.column(column.name, "kept"), sql.column(column.name, GENERALIZED), comparable(column))
            for column in publication.published_quasi_identifiers
        ]
        kept = sql.aliased(publication.kept, "kept")
        values = {"labels": labels, "same_class": sql.all_of(same_class)}
        return [
            (TOO_SMALL, sql.select("release/known_subsets", part=TOO_SMALL, values=values, relations={"kept": kept}))
        ]
    of_rows = [model for model in publication.models if isinstance(model, RowModel)]
    if of_rows and len(of_rows) == len(publication.models):
        failed = [sql.negated(model.is_met(measure_of_rows(publication, model))) for model in of_rows]
        values = {"labels": [*map(sql.column, publication.quasi_identifiers)], "fails": exp.or_(*failed)}
        return [(TOO_SMALL, sql.select("release/full_domain", part=TOO_SMALL, values=values))]
    references = references_of(publication)
    columns = Columns(*class_columns(publication.quasi_identifiers, publication.models))
    members = generalized_members(publication, references, lookups)
    steps, classes = measured_steps(members, publication.models, columns)
    measured = zip(publication.models, columns.measures, strict=True)
    failed = [sql.negated(model.is_met(sql.column(name, "classes"))) for model, name in measured]
    labels = [sql.column(name, "classes") for name in publication.quasi_identifiers]
    too_small = sql.select(
        "release/suppression",
        values={"labels": labels, "fails": exp.or_(*failed)},
        relations={"measured": classes.subquery("classes")},
    )
    return [*references.steps, *steps, (TOO_SMALL, too_small)]


def class_columns(quasi_identifiers: Sequence[str], models: Sequence[PrivacyModel]) -> tuple[str, list[str]]:
    """Return names for the rows and measures of a class that differ from all quasi-identifiers."""
    return unused_name("n", quasi_identifiers), [
        unused_name(f"measure_{number}", quasi_identifiers) for number in range(len(models))
    ]
