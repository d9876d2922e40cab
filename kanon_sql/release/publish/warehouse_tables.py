"""Relations that are copied to the warehouse before it makes a release, and the release that is copied back.

Lookups and combinations of quasi-identifiers are copied to the warehouse. The tables have the same names as on the
workbench, so that the publishing statement is the same on both sides.

The order of a release must reveal nothing, so all of its rows would have to be labelled and sorted. If many rows of the
source are equal, they are counted first, and only distinct rows are labelled and sorted:

    [the steps before]
    generalized   the distinct rows of the source with their published labels, and the frequency of each
    [too_small]
    repeated      the published rows of them, in their order
    the rest      each as often as it occurs

In this order, source rows with equal published values are adjacent, as without counting.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields, replace
from math import prod
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from kanon_sql.classes.recoding import LabelledCombinations, Local, Multidimensional
from kanon_sql.engine.base import Column
from kanon_sql.engine.equality import looked_up
from kanon_sql.engine.warehouse.warehouse import N, carried_type
from kanon_sql.engine.warehouse.workbench import SENT
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.models.base import RowModel
from kanon_sql.release.publication import GENERALIZED, joined_hierarchies
from kanon_sql.release.statements.local import CombinationColumns
from kanon_sql.release.statements.mondrian import MondrianStatements
from kanon_sql.release.statements.release import (
    generalized_release,
    readable_lookups,
    release_query,
    too_small_query,
)
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.warehouse import Warehouse
    from kanon_sql.engine.warehouse.workbench import Workbench
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.verify.verify import Expected


class Taken:
    """A release that the warehouse makes and the workbench reads in batches, with its own types of columns."""

    def __init__(self, source: Source, publication: Publication) -> None:
        self.bench, self.warehouse, self._made = source.workbench, source.workbench.warehouse, publication
        of_rows = all(isinstance(model, RowModel) and model.entity is None for model in publication.models)
        if self.bench.engine_of(publication.source) is not self.bench and not of_rows:
            raise UsageError(
                "With --search-on warehouse, a release that promises more than rows alike is verified where its table "
                "is: make a table (--into NAME), or leave --search-on out."
            )
        columns = tuple(Column(column.name, carried_type(column)) for column in publication.columns)
        self.publication = replace(publication, columns=columns)
        self.table = self.bench.temporary_name("kanon_release")

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Remove copied tables at the end: by a rollback, or by DROP without transactions."""
        try:
            yield
        finally:
            self.warehouse.forget()

    def make(self) -> None:
        made = carried_query(self.bench, self.warehouse, self._made)
        types = self.publication.published_types
        for column in made.selects:  # cast to text, a CHAR(n) loses its padding, as when the original was read
            if types[column.alias_or_name] == "VARCHAR":
                column.replace(sql.named(sql.cast(column.unalias().copy(), "VARCHAR"), column.alias_or_name))
        self.warehouse.fetch(made, types, self.bench, self.table, "make the release")

    def expected(self, expected: Expected) -> Expected:
        """Return the counts that the release must have; rows that stay in the warehouse are counted there."""
        source = self._made.source
        if (there := self.bench.engine_of(source)) is self.bench:
            return expected
        (rows,) = there.row(sql.select_count(source), "does the table have as many rows as it had?")
        if rows != expected.rows_in:
            raise VerificationError(f"The table has {rows:,} rows and had {expected.rows_in:,} before: run it again.")
        return replace(expected, rows_in=None)


def carried_query(bench: Workbench, warehouse: Warehouse, publication: Publication) -> exp.Select:
    """Copy the relations that a publishing statement joins, and return its query, which reads the source once.

    Spark runs it twice: it draws a sample to divide the sort among tasks.

    The classes that do not satisfy the models were counted on the workbench, from the fetched tuples. Published classes
    are counted again when they are verified.
    """
    there = carry(bench, publication)
    if publication.rules is not None:
        there = replace(there, source=publication.rules.view)
    lookups = readable_lookups(publication.hierarchies)
    if bench.engine_of(publication.source) is not bench:  # the classes are counted there
        return release_query(there, lookups)
    if not publication.recoding.leaves_out_classes:
        query = release_query(there, lookups)
    elif (left_out := _carry_left_out(bench, publication, lookups)) is None:
        query = generalized_release(there, lookups)
    else:
        query = release_query(there, lookups, left_out=left_out)
    query = with_known(query, _never_null(bench, publication))
    if are_repeated(bench, warehouse, publication):
        return repeated_rows(query, [column.name for column in publication.columns])
    return query


def _carry_left_out(bench: Workbench, publication: Publication, lookups: Mapping[str, exp.Table]) -> exp.Table | None:
    """Copy the classes that are left out; return None if there are none."""
    names = publication.quasi_identifiers
    here = bench.temporary_name("kanon_left_out")
    bench.run(sql.create_table(here, too_small_query(publication, lookups), temporary=True), "classes left out")
    kinds = {name: publication.published_types[name] for name in names}
    typed = {
        name: sql.column(name, "source")
        for number, name in enumerate(names)
        if publication.recoding.label_type(number) is None
    }
    (number_of_classes,) = bench.row(sql.select_count(here), "how many classes are left out")
    if number_of_classes:
        bench.send(here, publication.source, kinds, "the classes that are left out", typed)
    bench.run(sql.drop(here), "drop the classes that are left out")
    return here if number_of_classes else None


def _never_null(bench: Workbench, publication: Publication) -> set[str]:
    """Return the quasi-identifiers that are never NULL in the fetched tuples."""
    tuples = bench.tuples_of(publication.source)
    if tuples is None:
        return set()
    names = publication.quasi_identifiers
    any_null = [exp.LogicalOr(this=sql.column(name).is_(exp.null())) for name in names]
    found = bench.row(exp.select(*any_null).from_(tuples.copy()), "which columns have NULLs")
    return {name for name, has_null in zip(names, found, strict=True) if not has_null}


def with_known(query: exp.Select, never_null: set[str]) -> exp.Select:
    """Replace null-safe equality by a plain = for columns of the source that are never NULL."""

    def plain(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.NullSafeEQ):
            return node
        sides = [node.this, node.expression]
        known = any(
            isinstance(side, exp.Column) and side.table in {"source", GENERALIZED} and side.name in never_null
            for side in sides
        )
        return exp.EQ(this=node.this, expression=node.expression) if known else node

    changed = query.transform(plain)
    if not isinstance(changed, exp.Select):
        raise TypeError("A query became something else")
    return changed


def carry(bench: Workbench, publication: Publication, *, live: bool = False) -> Publication:
    """Copy the relations that a publishing statement joins; ``live`` is for a view, which reads future values too."""
    for hierarchy in joined_hierarchies(publication):
        if hierarchy.stored is None:
            _carry_hierarchy(bench, publication, hierarchy)
    carry_recoding = (_CARRY_OF_VIEW if live else _CARRY).get(type(publication.recoding))
    return publication if carry_recoding is None else carry_recoding(bench, publication)


def on_warehouse(publication: Publication, found: Sequence[Column]) -> Publication:
    """Return a publication with the columns found in a warehouse, which has other names of types."""
    by_name = {column.name: column for column in found}
    return replace(publication, columns=tuple(by_name.get(column.name, column) for column in publication.columns))


def _carry_hierarchy(bench: Workbench, publication: Publication, hierarchy: Hierarchy) -> None:
    """Copy the values that the column has, here and in the population, with their labels."""
    column, relation = hierarchy.column, hierarchy.relation
    levels = [level_name(level) for level in range(1, hierarchy.height + 1)]
    kinds = {VALUE: column.type, **dict.fromkeys(levels, "VARCHAR")}
    present: list[exp.Expr] = []
    tables = [table for table in (publication.source, publication.population) if table is not None]
    for tuples in filter(None, map(bench.tuples_of, tables)):
        own = exp.select("1").from_(sql.aliased(tuples, "source"))
        own = own.where(sql.same(sql.column(column.name, "source"), sql.column(VALUE, SENT)))
        present.append(exp.Exists(this=own))
    only = exp.or_(*present) if len(present) == len(tables) else None
    typed = {VALUE: looked_up(sql.column(column.name, "source"), column)}
    bench.send(relation, publication.source, kinds, f"the hierarchy of {column.name}", typed, parts=[only])


def _carry_combinations(bench: Workbench, publication: Publication) -> Publication:
    """Copy the step of a local recoding at which each combination of quasi-identifiers is published.

    People and sensitive values were used to find the steps, on the workbench: all rows with the same quasi-identifiers
    are published at the same step.
    """
    names = CombinationColumns(publication)
    labels = [*names.labels.values()]
    own = publication.quasi_identifiers
    types = {column.name: column.type for column in publication.columns}
    made = {**dict.fromkeys(labels, "VARCHAR"), names.step: "INTEGER"}
    kinds = {name: types[name] for name in own} | made
    published = sql.column(names.step, SENT).is_(exp.null()).not_()
    typed = {name: sql.column(name, "source") for name in own}
    title = "the step at which each combination of quasi-identifiers is published"
    bench.send(publication.combinations, publication.source, kinds, title, typed, parts=[published], distinct=True)
    return replace(publication, roles=replace(publication.roles, entity=None), models=())


def _carry_labels(bench: Workbench, publication: Publication) -> Publication:
    """Copy the labels of the box of each combination of quasi-identifiers.

    The search found the boxes. A warehouse would find them again by a recursive query: in Spark, each round of it is a
    job, and PostgreSQL underestimates its rows so much that it compares each row with each combination.
    """
    recoding = cast("Multidimensional", publication.recoding)
    own = publication.quasi_identifiers
    taken = list(own)

    def name(wanted: str) -> str:
        taken.append(unused_name(wanted, taken))
        return taken[-1]

    labels = tuple(None if kind is None else name(f"label_{number}") for number, kind in enumerate(recoding.types))
    ranks = (name("first_rank"), name("last_rank")) if recoding.cutting.cut == "relaxed" else None
    settings = {entry.name: getattr(recoding, entry.name) for entry in fields(recoding)}
    table = bench.temporary_name("kanon_labels")
    labelled = LabelledCombinations(**settings, labels_table=table, labels=labels, ranks=ranks)
    only = replace(publication, columns=publication.roles.quasi_identifiers)
    query = MondrianStatements(only).labelled_combinations(labels, ranks)
    columns = [*own, *(label for label in labels if label is not None), *(ranks or ())]
    bench.run(sql.create_table(table, query, temporary=True), "the labels of each combination")
    of_labels = [kind for kind in recoding.types if kind is not None]
    made = dict(zip(columns[len(own) :], [*of_labels, *("BIGINT" for _ in ranks or ())], strict=True))
    types = {column.name: column.type for column in publication.columns}
    kinds = {column: types[column] for column in own} | made
    typed = {column: sql.column(column, "source") for column in own}
    bench.send(table, publication.source, kinds, "the labels of each combination of quasi-identifiers", typed)
    bench.run(sql.drop(table), "drop them here")
    return replace(publication, recoding=labelled)


def _carry_boxes(bench: Workbench, publication: Publication) -> Publication:
    """Copy the places of texts, the cuts and the boxes."""
    recoding = cast("Multidimensional", publication.recoding)
    own = {
        order.name: hierarchy.column
        for order, hierarchy in zip(recoding.orders, publication.hierarchies, strict=True)
        if order is not None
    }
    for table in recoding.tables:
        typed = {}
        if table.name in own:  # values of a text column have their warehouse type, such as CHAR(5)
            typed[VALUE] = looked_up(sql.column(own[table.name].name, "source"), own[table.name])
        bench.send(table, publication.source, None, f"{table.name} of the parts", typed)
    return publication


_CARRY: dict[type[Recoding], Callable[[Workbench, Publication], Publication]] = {
    Local: _carry_combinations,
    Multidimensional: _carry_labels,
}
_CARRY_OF_VIEW: dict[type[Recoding], Callable[[Workbench, Publication], Publication]] = {Multidimensional: _carry_boxes}


_OFTEN = 4
"""Minimum average frequency of a row for which rows are counted first."""
_SOURCE = "source"


def are_repeated(bench: Workbench, warehouse: Warehouse, publication: Publication) -> bool:
    """Return True if published rows are equal often enough to be counted before they are made.

    The number of distinct rows is at most the number of fetched tuples, times the values of each other column. The
    warehouse's statistics about these may be outdated, which only costs time.
    """
    tuples = bench.tuples_of(publication.source)
    values = warehouse.numbers_of_values(publication.source)
    if tuples is None or values is None or any(column.family == "other" for column in publication.columns):
        return False
    others = {column.name for column in publication.columns} - {column.name for column in bench.columns(tuples)}
    if not others <= values.keys():
        return False
    total = exp.Coalesce(this=exp.Sum(this=sql.column(N)), expressions=[sql.literal(0)])
    query = exp.select(sql.count_rows(), total).from_(tuples.copy())
    different, rows = bench.row(query, "are many rows alike?")
    return bool(_OFTEN * different * prod(values[name] for name in others) <= rows)


def repeated_rows(query: exp.Select, columns: Sequence[str]) -> exp.Select:
    """Return a query with the same rows in the same order, which makes and sorts each distinct row once.

    The order of the query of a release is computed from its columns, whose equal values are written alike.
    """
    query = query.copy()
    steps = query.args["with_"].pop()
    (generalized,) = (step.this for step in steps.expressions if step.alias == GENERALIZED)
    if not isinstance(generalized.args["from_"].this, exp.Table):  # equal rows have numbers, and may be separated
        query.set("with_", steps)
        return query
    n = _count_first(generalized, columns)
    tables = [table.alias_or_name for part in (query, steps) for table in part.find_all(exp.Table)]
    name = unused_name("repeated", tables)
    copies = exp.Table(this=exp.GenerateSeries(start=sql.literal(1), end=sql.column(n, name)))
    rows = exp.select(*(sql.column(column, name) for column in columns)).from_(name).join(copies, join_type="cross")
    rows.set("with_", steps)
    return rows.with_(name, as_=query.select(sql.column(n, GENERALIZED)), recursive=steps.recursive)


def _count_first(generalized: exp.Select, columns: Sequence[str]) -> str:
    """Generalize only distinct rows of the source, in place; return the name of the column with their frequency."""
    generalized.set("expressions", [value for value in generalized.selects if value.alias_or_name in columns])
    read = dict.fromkeys(column.name for column in generalized.find_all(exp.Column) if column.table == _SOURCE)
    n = unused_name("n", [*columns, *read])
    source = generalized.args["from_"].this
    relation = source.copy()
    relation.set("alias", None)
    counted = exp.select(*map(sql.column, read), sql.named(sql.count_rows(), n)).from_(relation)
    source.replace((counted.group_by(*map(sql.column, read)) if read else counted).subquery(_SOURCE))
    generalized.select(sql.column(n, _SOURCE), copy=False)
    return n
