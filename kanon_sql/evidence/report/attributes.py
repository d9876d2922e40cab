"""The columns of a report: the role of each, how it is published, and how far each quasi-identifier was generalized."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.errors import UsageError
from kanon_sql.evidence.measure import quality_against
from kanon_sql.evidence.report.distribution import PEOPLE, distribution_of, original_rows_query
from kanon_sql.evidence.report.figures import Attribute
from kanon_sql.release.statements.release import generalized_query, readable_lookups
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.evidence.measure import Measured
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.release import Release


def attributes_of(
    release: Release, released: Source, handed_out: Source, measured: Measured | None, k: int
) -> tuple[Attribute, ...]:
    """Return the columns of the original in their order.

    Args:
        release: what the policy makes.
        released: its rows.
        handed_out: the rows as they were published.
        measured: what they are worth.
        k: below which numbers of rows are not told.
    """
    roles, publication = release.publication.roles, release.publication
    hierarchies = {hierarchy.column.name: hierarchy for hierarchy in publication.hierarchies}
    types = {column.name: column for column in publication.published_quasi_identifiers}
    left_out = _left_out(release, released)
    attributes, few_before = [], False
    for column in release.prepared.source.columns:
        role, how = _role(release, column)
        attribute = Attribute(column.name, column.kind, role, how)
        if column in roles.quasi_identifiers:
            counts, labels, few = distribution_of(
                released.engine,
                released.relation,
                left_out,
                types[column.name],
                k,
                by_people=roles.entity is not None,
                complete=release.rows_suppressed == 0,
            )
            few_before = few_before or few
            attribute = _generalized(attribute, hierarchies[column.name], measured)
            attribute = replace(
                attribute,
                labels=labels,
                loss=_loss(release, handed_out, measured, column),
                distribution=counts,
                hidden=any(count.rows_in is None for count in counts),
            )
        if attribute.published == "as it is":
            attribute = replace(attribute, rows_alone=_rows_alone(released, publication, column))
        attributes.append(attribute)
    if left_out is not None:
        released.engine.run(sql.drop(left_out), "drop the rows that were left out")
    return tuple(_untold(attribute) if few_before else attribute for attribute in attributes)


def _untold(attribute: Attribute) -> Attribute:
    """Return a column without the numbers of rows that the original has by label."""
    counts = tuple(replace(count, rows_in=None) for count in attribute.distribution)
    return replace(attribute, distribution=counts, hidden=bool(counts))


def _generalized(attribute: Attribute, hierarchy: Hierarchy, measured: Measured | None) -> Attribute:
    levels = {} if measured is None or measured.levels is None else measured.levels
    return replace(
        attribute,
        hierarchy=hierarchy.origin,
        chosen=hierarchy.chosen,
        height=hierarchy.height,
        level=levels.get(attribute.name),
    )


def _role(release: Release, column: Column) -> tuple[str, str]:
    """Return the role of a column, in the words of ISO/IEC 20889 where it has them, and how it is published."""
    roles = release.publication.roles
    if column in roles.quasi_identifiers:
        return "quasi-identifier", "generalized"
    if column in roles.pseudonymized:
        return "direct identifier", "as pseudonyms"
    if column in roles.identifying:
        return "direct identifier" + (", names the person" if column == roles.entity else ""), "not published"
    if column in roles.sensitive:
        return "sensitive attribute", "as it is"
    return "other attribute", "as it is" if column in roles.insensitive else "not published"


def _left_out(release: Release, released: Source) -> exp.Table | None:
    """Return the rows that were left out with the labels that they would have; None where they would have none."""
    publication = release.publication
    if not publication.recoding.leaves_out_classes:
        return None
    of_source = replace(
        publication, source=release.prepared.source.relation, columns=publication.roles.quasi_identifiers
    )
    generalized = generalized_query(of_source, readable_lookups(publication.hierarchies))
    named = publication.roles.entity is not None
    person = sql.named(sql.column(of_source.entity_name, "generalized"), PEOPLE) if named else None
    query = original_rows_query(generalized, released.relation, publication.quasi_identifiers, person, published=False)
    table = released.engine.temporary_name("kanon_left_out")
    released.engine.run(sql.create_table(table, query, temporary=True), "the rows that were left out")
    return table


def _rows_alone(released: Source, publication: Publication, column: Column) -> int:
    """Return how many rows of the output no other is like, in a column and in the labels of all quasi-identifiers."""
    alike = [*publication.published_quasi_identifiers, column]
    groups = [written(sql.column(one.name, "released"), one) for one in alike]
    sizes = exp.select(sql.named(sql.count_rows(), "n")).from_(sql.aliased(released.relation, "released"))
    alone = exp.EQ(this=sql.column("n"), expression=sql.literal(1))
    query = exp.select(sql.where(sql.count_rows(), alone)).from_(sizes.group_by(*groups).subquery("sizes"))
    (rows,) = released.engine.row(query, f"rows that are alone with {column.name}")
    return int(rows)


def _loss(release: Release, handed_out: Source, measured: Measured | None, column: Column) -> float | None:
    """Return the loss of one column, by its own labels; None where they cannot be measured."""
    if measured is not None and measured.losses is not None:
        loss: float | None = measured.losses[column.name]
    else:  # labels of another column could not be read
        policy = release.policy.of_rows()
        rules = {name: rule for name, rule in policy.hierarchies.items() if folded(name) == folded(column.name)}
        alone = replace(policy, hierarchies=rules, columns=replace(policy.columns, quasi_identifiers=(column.name,)))
        try:
            loss = quality_against(release.prepared.source, handed_out, alone)[1].values["loss"]
        except UsageError:
            return None
    return None if loss is None else float(f"{loss:.4g}")  # all digits would tell what a row that was left out had
