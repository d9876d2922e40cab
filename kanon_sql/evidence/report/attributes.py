"""The columns of a report: role, form of publication, generalization and rows by label of each column.

Rows by label, in the output and before, are counted in a way that reveals no small number of rows of the original.

The output itself is no secret. The additional rows of the original are those that were left out: few people who stand
out. The number of these rows by label is shown if in every column every label has none of them, or at least k;
otherwise no label of any column shows it. It must be all or nothing: numbers hidden one by one can be computed from the
numbers shown, from other columns that follow from this one, and from the rule that chose them.

Rows left out whose label is not in the output are counted together, without their label. Labels of fewer than k rows of
the output, and those beyond the first 20, are counted together too. If people are counted, k is people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.errors import UsageError
from kanon_sql.evidence.measure import quality_against
from kanon_sql.evidence.report.figures import Attribute, LabelCount
from kanon_sql.evidence.report.proof import original_rows_query
from kanon_sql.measures.sets_and_ranges import text_of
from kanon_sql.release.statements.release import generalized_query, readable_lookups
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.evidence.measure import Measured
    from kanon_sql.policy.roles import Roles
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.release import Release

_MOST = 20
"""Labels of a column that are shown one by one."""
_PEOPLE = "kanon_people"
"""The column of people in a table of rows that were left out."""


def attributes_of(
    release: Release, released: Source, handed_out: Source, measured: Measured | None, k: int
) -> tuple[Attribute, ...]:
    """Return the columns of the original in their order; numbers of rows below ``k`` are not shown.

    ``released`` are the rows that the policy makes, ``handed_out`` the published ones, ``measured`` their measures
    against the original.
    """
    roles, publication = release.publication.roles, release.publication
    hierarchies = {hierarchy.column.name: hierarchy for hierarchy in publication.hierarchies}
    types = {column.name: column for column in publication.published_quasi_identifiers}
    levels = {} if measured is None or measured.levels is None else measured.levels
    left_out = _left_out(release, released)
    by_rule = {} if publication.rules is None else {one.column.name: one for one in publication.rules.columns}
    as_published = {one.name: one for one in publication.columns}
    attributes, few_before = [], False
    for column in release.prepared.source.columns:
        name, ruled = column.name, by_rule.get(column.name)
        attribute = Attribute(name, column.kind, *role_of(roles, column))
        if column in roles.quasi_identifiers:
            counts, labels, few = _distribution(
                released,
                left_out,
                types[name],
                k,
                by_people=roles.entity is not None,
                complete=release.rows_suppressed == 0,
            )
            few_before = few_before or few
            attribute = replace(
                attribute,
                hierarchy=hierarchies[name].origin,
                chosen=hierarchies[name].chosen,
                height=hierarchies[name].height,
                level=levels.get(name),
                labels=labels,
                loss=_loss(release, handed_out, measured, column),
                distribution=counts,
                hidden=any(count.rows_in is None for count in counts),
            )
        if ruled is not None:
            attribute = replace(attribute, published="by a rule", rule=ruled.text)
        if attribute.published == "as it is" or (ruled is not None and not ruled.is_keyed):
            attribute = replace(attribute, rows_alone=_rows_alone(released, publication, as_published[name]))
        attributes.append(attribute)
    if left_out is not None:
        released.engine.run(sql.drop(left_out), "drop the rows that were left out")
    if not few_before:
        return tuple(attributes)
    # Then no number of rows of the original by label is shown.
    untold = [tuple(replace(count, rows_in=None) for count in one.distribution) for one in attributes]
    return tuple(replace(one, distribution=n, hidden=bool(n)) for one, n in zip(attributes, untold, strict=True))


def role_of(roles: Roles, column: Column) -> tuple[str, str]:
    """Return the role of a column, in terms of ISO/IEC 20889 if it has them, and its form of publication."""
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
    """Return the rows that were left out with the labels that they would have; None if they would have none."""
    publication = release.publication
    if not publication.recoding.leaves_out_classes:
        return None
    of_source = replace(
        publication, source=release.prepared.source.relation, columns=publication.roles.quasi_identifiers
    )
    generalized = generalized_query(of_source, readable_lookups(publication.hierarchies))
    named = publication.roles.entity is not None
    person = sql.named(sql.column(of_source.entity_name, "generalized"), _PEOPLE) if named else None
    query = original_rows_query(generalized, released.relation, publication.quasi_identifiers, person, published=False)
    table = released.engine.temporary_name("kanon_left_out")
    released.engine.run(sql.create_table(table, query, temporary=True), "the rows that were left out")
    return table


def _rows_alone(released: Source, publication: Publication, column: Column) -> int:
    """Count the rows of the output that no other row equals in a column and in the labels of all quasi-identifiers."""
    alike = [*publication.published_quasi_identifiers, column]
    values = {"alike": [written(sql.column(one.name, "released"), one) for one in alike]}
    query = sql.query("report/rows_alone", values=values, tables={"released": released.relation})
    (rows,) = released.engine.row(query, f"rows that are alone with {column.name}")
    return int(rows)


def _loss(release: Release, handed_out: Source, measured: Measured | None, column: Column) -> float | None:
    """Return the loss of one column, by its own labels; None if they cannot be measured."""
    if measured is not None and measured.losses is not None:
        loss: float | None = measured.losses[column.name]
    else:  # labels of another column could not be read
        policy = release.policy.of_rows()
        rules = {name: rule for name, rule in policy.hierarchies.items() if folded(name) == folded(column.name)}
        one = replace(policy.columns, quasi_identifiers=(column.name,))
        alone = replace(policy, hierarchies=rules, weights={}, columns=one)
        try:
            loss = quality_against(release.prepared.source, handed_out, alone)[1].values["loss"]
        except UsageError:
            return None
    return None if loss is None else float(f"{loss:.4g}")  # more digits would reveal rows that were left out


@dataclass(frozen=True)
class Cell:
    """Rows left out of a label, and the number of their people; for several labels, a lower bound."""

    rows: int = 0
    people: int = 0

    def __add__(self, other: Cell) -> Cell:
        return Cell(self.rows + other.rows, max(self.people, other.people))


def has_few(cells: Sequence[Cell], k: int, *, by_people: bool = False) -> bool:
    """Return True if rows of some label were left out, but fewer than k, or (``by_people``) of fewer than k people."""
    return any(0 < (cell.people if by_people else cell.rows) < k for cell in cells)


def _distribution(
    released: Source,
    left_out: exp.Table | None,
    column: Column,
    k: int,
    *,
    by_people: bool,
    complete: bool,
) -> tuple[tuple[LabelCount, ...], int, bool]:
    """Return rows by label of a published quasi-identifier, how many labels it has, and True if some were few before.

    ``complete`` is True if no row was left out, ``by_people`` if those rows are counted by people.
    """
    values = {"label": text_of(sql.column(column.name, "released"), column)}
    counted = sql.query("report/by_label", values=values, tables={"released": released.relation})
    found: list[tuple[str | None, int]] = released.engine.rows(counted, f"rows by label of {column.name}")
    large = sorted((row for row in found if row[1] >= k), key=lambda row: -row[1])
    shown = large if len(large) == len(found) and len(large) <= _MOST else large[: _MOST - 1]
    shown.sort(key=lambda row: natural_order(row[0]))
    others = sum(rows for _, rows in found) - sum(rows for _, rows in shown)
    if left_out is None:
        counts = [LabelCount("label", label, rows, rows if complete else None) for label, rows in shown]
        if len(shown) < len(found):
            counts.append(LabelCount("others", None, others, others if complete else None))
        return tuple(counts), len(found), False
    cells = _left_out_cells(released, left_out, column, [label for label, _ in shown], by_people=by_people)
    outs = [*(rows for _, rows in shown), others, 0]
    labels = [*(label for label, _ in shown), None, None]
    kinds: list[Literal["label", "others", "left out"]] = ["label" for _ in shown]
    kinds += ["others", "left out"]
    # If no label is counted with others, it is known that none was left out there.
    kept = [place for place, kind in enumerate(kinds) if kind != "others" or len(shown) < len(found)]
    counts = [LabelCount(kinds[place], labels[place], outs[place], outs[place] + cells[place].rows) for place in kept]
    few = has_few([cells[place] for place in kept], k, by_people=by_people)
    return tuple(counts if any(cell.rows for cell in cells) else counts[:-1]), len(found), few


def _left_out_cells(
    released: Source,
    left_out: exp.Table,
    column: Column,
    shown: Sequence[str | None],
    *,
    by_people: bool,
) -> list[Cell]:
    """Return the rows left out of each label that is shown, of other labels of the output, and of none of them."""
    own = sql.column(column.name, "left_out")
    values = {
        "label": text_of(own, column),
        "person": sql.column(_PEOPLE, "left_out") if by_people else exp.null(),
        "same": sql.same(sql.column(column.name, "released"), own),
    }
    tables = {"released": released.relation, "left_out": left_out}
    query = sql.query("report/left_out_by_label", values=values, tables=tables)
    places = {label: place for place, label in enumerate(shown)}
    cells = [Cell()] * (len(shown) + 2)
    title = f"rows left out by label of {column.name}"
    for label, is_published, rows, people_of in released.engine.rows(query, title):
        place = places.get(label, len(shown)) if is_published else len(shown) + 1
        cells[place] += Cell(rows, people_of)
    return cells


def natural_order(label: str | None) -> tuple[bool, list[tuple[bool, float, str]]]:
    """Return the sort key of a label: numbers in it as numbers, NULL last."""
    parts = re.split(r"(\d+)", label or "")
    return label is None, [(not part.isdecimal(), float(part) if part.isdecimal() else 0.0, part) for part in parts]
