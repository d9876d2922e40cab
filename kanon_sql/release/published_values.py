"""The values of a table that occur in published rows.

A hierarchy without a rule is copied into the script with only these values. A value that no published row has must not
be shown to readers of the script. The script has no label for it, and leaves its rows out. So these rows are missing
from the suppressed classes that they were in. Under some models, a failing class fails with fewer rows too; under
others, it may then pass. For those, the release is made again without these values, and must be the same.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import TUPLES, key_name
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.costs import Objective
from kanon_sql.measures.quality import STEP
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import KnownSubsets
from kanon_sql.models.l_diversity import DistinctLDiversity
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.problem import Problem
from kanon_sql.search.run import remaining_of
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.release.publication import Publication
    from kanon_sql.search.prepare import Prepared

_FAIL_WITH_FEWER = (KAnonymity, DistinctLDiversity, KnownSubsets)
"""Models under which a failing class also fails with any fewer rows; the last one has a table of passing classes."""


@contextmanager
def published_values(prepared: Prepared, publication: Publication, columns: Sequence[int]) -> Iterator[PublishedValues]:
    """Yield the values of some quasi-identifiers that published rows have; their tuples are dropped at the end."""
    _require_all_published(publication, columns)
    published = PublishedValues(prepared, publication)
    try:
        if columns and not publication.recoding.is_partition:  # a partition leaves no row out
            published.find(columns)
        yield published
    finally:
        published.close()


def _require_all_published(publication: Publication, columns: Sequence[int]) -> None:
    """Raise if people with rare signatures are left out, and the script would need their values to find them."""
    pseudonyms = publication.pseudonyms
    is_cut = publication.recoding.is_partition
    if pseudonyms is not None and pseudonyms.rows_left_out and (columns or is_cut):
        ways = (
            "Use --algorithm optimal or local"
            if is_cut
            else "Load the hierarchy into the database (kanon hierarchy load), or use a rule in the place of the file"
        )
        raise UsageError(
            f"A script holds no values that only suppressed rows have, and {pseudonyms.rows_left_out:,} rows are left "
            f"out because pseudonyms tie them: the script would need their values to find them. {ways}."
        )


class PublishedValues:
    """The values of some quasi-identifiers that published rows have, as conditions on their lookup relations.

    Attributes:
        conditions: by column, the condition on rows of its lookup relation.
        partial: the columns that have other values too.
    """

    def __init__(self, prepared: Prepared, publication: Publication) -> None:
        self.conditions: dict[str, exp.Expr] = {}
        self.partial: frozenset[str] = frozenset()
        self._prepared, self._publication = prepared, publication
        self._tables: list[exp.Table] = []

    def find(self, columns: Sequence[int]) -> None:
        """Publish the tuples of the frequency set again, and find the values of some quasi-identifiers."""
        publication, frequency = self._publication, self._prepared.frequency
        names = [publication.hierarchies[number].column.name for number in columns]
        if frequency.engine is not self._prepared.source.engine:
            raise UsageError(
                f"The script would write out values of {', '.join(names)}, and which of them are published is not "
                "known here: search on the workbench (without --search-on), or use a rule in the place of a file."
            )
        rows = self._publish(frequency.relation)
        self.conditions = {name: self._is_published(number) for name, number in zip(names, columns, strict=True)}
        self.partial = frozenset(
            name for name, number in zip(names, columns, strict=True) if self._has_others(number, self.conditions[name])
        )
        if self.partial and not all(isinstance(model, _FAIL_WITH_FEWER) for model in publication.models):
            self._require_same(columns, rows)

    def close(self) -> None:
        for table in self._tables:
            self._prepared.source.engine.run(sql.drop(table), "drop the tuples that are published")

    def _publish(self, relation: exp.Table) -> list[tuple[Node, int]]:
        """Make a table of the tuples of a frequency set, each with the step that publishes it; count them."""
        prepared, recoding = self._prepared, self._publication.recoding
        frequency = replace(prepared.frequency, relation=relation)
        models, objective = prepared.coded(self._publication.models), Objective(prepared.costs_of("loss"))
        problem = Problem(frequency, prepared.lattice, models, objective, prepared.labels, frequency.rows)
        remaining = remaining_of(Evidence(problem))
        self._tables.append(remaining.relation)
        for node in recoding.nodes:
            remaining.publish(node)
        remaining.close()
        return list(zip(remaining.steps, remaining.published, strict=True))

    def _is_published(self, number: int) -> exp.Expr:
        """Return the condition that the value of a lookup row is in a published tuple, or in one of a population."""
        published = sql.column(STEP, TUPLES).is_(exp.null()).not_()
        found: exp.Expr = exp.Exists(this=self._tuples_of(self._tables[0], number).where(published))
        if self._prepared.population is not None:
            _, everybody = self._prepared.population
            found = exp.paren(exp.or_(found, exp.Exists(this=self._tuples_of(everybody.relation, number))))
        return found

    def _tuples_of(self, relation: exp.Table, number: int) -> exp.Select:
        """Return the query of the tuples that have the value of a row of a lookup relation."""
        lookup = self._publication.hierarchies[number].relation.name
        same = [
            exp.EQ(
                this=sql.bits(sql.column(key_name(place.key), TUPLES), place.mask(0)),
                expression=sql.shifted_left(sql.column(code_name(place.number), lookup), place.shift),
            )
            for place in self._prepared.frequency.placements
            if place.column == number
        ]
        return exp.select(sql.literal(1)).from_(sql.aliased(relation, TUPLES)).where(*same)

    def _has_others(self, number: int, is_published: exp.Expr) -> bool:
        """Return True if the table has values of a column that no published row has."""
        engine, lookup = self._prepared.source.engine, self._publication.hierarchies[number]
        here = exp.Exists(this=self._tuples_of(self._prepared.frequency.relation, number))
        others = exp.select(sql.count_rows()).from_(lookup.relation.copy()).where(here, is_published.copy().not_())
        (found,) = engine.row(others, f"values of {lookup.column.name} that are not published")
        return bool(found)

    def _require_same(self, columns: Sequence[int], rows: list[tuple[Node, int]]) -> None:
        """Raise unless the release is the same without the tuples with a value that no published row has."""
        frequency, engine = self._prepared.frequency, self._prepared.source.engine
        names = [*map(key_name, range(frequency.keys)), *frequency.counted]
        known = exp.select(*(sql.column(name, TUPLES) for name in names)).from_(sql.aliased(frequency.relation, TUPLES))
        for number in columns:
            hierarchy = self._publication.hierarchies[number]
            there = self._tuples_of(frequency.relation, number).args["where"].this
            labelled = exp.select(sql.literal(1)).from_(hierarchy.relation.copy())
            labelled = labelled.where(self.conditions[hierarchy.column.name].copy(), there.copy())
            known = known.where(exp.Exists(this=labelled))
        relation = engine.temporary_name("kanon_known")
        engine.run(sql.create_table(relation, known, temporary=True), "tuples whose values the script knows")
        self._tables.append(relation)
        if self._publish(relation) != rows:
            raise UsageError(
                f"A script holds no values that only suppressed rows have, and without those of "
                f"{', '.join(sorted(self.partial))} some classes that fail would satisfy the models: it would make "
                "another release. Use a rule in the place of the file for these columns, or k-anonymity alone."
            )
