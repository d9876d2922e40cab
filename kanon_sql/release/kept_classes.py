"""The classes that a release keeps if k is required of any m columns: found on its labels, and checked on its rows.

The classes of a local recoding are found step by step, from the remaining rows, each with its step.

The search already found them on codes. Here they are found again, on the published labels, by the same plan
(``kanon_sql.classes.known_classes``). The release must have as many rows as the search counted. Then independent
statements check the published rows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.recoding import Local
from kanon_sql.engine.base import Column, make_table
from kanon_sql.engine.equality import comparable
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.release.publication import GENERALIZED
from kanon_sql.release.statements.local import CombinationColumns, combinations_query
from kanon_sql.release.statements.release import generalized_query, readable_lookups
from kanon_sql.release.verify.classes import ModelResult
from kanon_sql.risks.estimators.subsets import code
from kanon_sql.risks.estimators.tuples import collect
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.models.known_subsets import KnownSubsets
    from kanon_sql.release.publication import Publication

_IN_A_SCRIPT = 120  # subsets: enough for all pairs of 16 columns, or all triples of 9


@dataclass(frozen=True)
class _Labelled:
    """The input from which classes are made, step by step; a full-domain recoding has one step."""

    given: Mapping[str, sql.Steps]  # the CTEs of ``release/numbered_classes`` to replace
    names: Sequence[str]  # the labels
    steps: Sequence[Sequence[str]]  # the labels of each step
    entity: str  # the person
    n: str  # the number of rows
    step: str | None = None  # the name of the step in the table of classes; None if there is one step


def _labelled(publication: Publication) -> _Labelled:
    lookups, names = readable_lookups(publication.hierarchies), publication.quasi_identifiers
    if not isinstance(publication.recoding, Local):
        rows = {GENERALIZED: [(GENERALIZED, generalized_query(publication, lookups))]}
        return _Labelled(rows, names, [names], publication.entity_name, unused_name("n", names))
    columns = CombinationColumns(publication)
    combinations = {
        GENERALIZED: [(GENERALIZED, combinations_query(publication, lookups, columns))],
        "classes": [("classes", exp.select("*").from_(GENERALIZED))],
    }
    steps = [columns.labels_at(node) for node in publication.recoding.nodes]
    labels = [*names, *columns.labels.values()]
    return _Labelled(combinations, labels, steps, columns.entity, columns.n, columns.step)


def make_kept(engine: Engine, publication: Publication, model: KnownSubsets) -> exp.Table:
    """Make the temporary table of the kept classes, by their labels, and return its name."""
    import numpy as np

    from kanon_sql.classes.known_classes import Classes, shared_members

    # 1. The classes, or the input of all steps, with numbers for their labels.
    labelled = _labelled(publication)
    names = labelled.names
    grouped = [*names, labelled.entity] if model.entity is not None else [*names]
    numbers = [unused_name(f"number_{place}", grouped) for place in range(len(grouped))]
    position, step = unused_name("position", grouped), labelled.step or unused_name("step", grouped)
    query = sql.select(
        "release/numbered_classes",
        values={
            "labels": [*map(sql.column, grouped)],
            "numbers": [sql.named(_rank(name), number) for name, number in zip(grouped, numbers, strict=True)],
        },
        steps=labelled.given,
        names={"n": labelled.n, "position": position},
    )
    table = make_table(engine, "kanon_classes", query, "classes of the release, with numbers for labels")
    selected: list[exp.Expr] = [*map(sql.column, [position, *numbers]), sql.column(labelled.n)]
    if model.entity is not None:  # rows without a person do not count
        selected.append(sql.column(labelled.entity).is_(exp.null()))
    found = np.array(engine.rows(exp.select(*selected).from_(table.copy()), "classes as arrays"), dtype=np.int64)
    found = found.reshape(-1, len(selected))
    codes, rows = found[:, 1 : 1 + len(names)].T - 1, found[:, 1 + len(numbers)]
    everything = Classes(list(codes), rows, rows)
    if model.entity is not None:
        named = np.flatnonzero(found[:, -1] == 0)
        everything = replace(everything, members=np.zeros_like(rows), movers=(named, found[named, len(numbers)]))
    # 2. The kept ones, among the remaining rows at each step.
    steps = np.zeros(len(found), dtype=np.int64)
    for number, labels in enumerate(labelled.steps, start=1):
        left = np.flatnonzero(steps == 0)
        own = everything.some(steps == 0)
        own = replace(own, codes=[own.codes[names.index(label)] for label in labels] or [np.zeros_like(own.n)])
        steps[left[shared_members(own, model.m, model.required) > 0]] = number
    stay = engine.temporary_name("kanon_stay")
    published = np.flatnonzero(steps)
    columns = {position: found[published, 0].tolist(), step: steps[published].tolist()}
    engine.load(stay, columns, "which classes stay", "BIGINT")
    # 3. Their labels.
    kept = engine.temporary_name("kanon_kept")
    query = exp.select(sql.column(step, stay.name)) if labelled.step is not None else exp.select()
    for name in names:
        places = [place for place, labels in enumerate(labelled.steps, start=1) if name in labels]
        label: exp.Expr = sql.column(name, table.name)
        if len(places) < len(labelled.steps):
            label = exp.Case().when(sql.column(step, stay.name).isin(*places), label)
        query = query.select(sql.named(label, name)) if places else query
    same = sql.column(position, stay.name).eq(sql.column(position, table.name))
    query = query.distinct().from_(table.copy()).join(stay.copy(), on=same)
    engine.run(sql.create_table(kept, query, temporary=True), "classes that are kept")
    for made in (table, stay):
        engine.run(sql.drop(made), "drop the classes of the release")
    return kept


def _rank(name: str) -> exp.Expr:
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(name), nulls_first=True)])
    return exp.Window(this=exp.DenseRank(), order=order)


def released_people(publication: Publication, lookups: Mapping[str, exp.Table], output: exp.Expr) -> exp.Select:
    """Return the query of the rows of the source whose class is in a release, with its labels and their person."""
    names = publication.quasi_identifiers
    same_class = [
        sql.same(sql.column(column.name, "released"), sql.column(column.name, GENERALIZED), comparable(column))
        for column in publication.published_quasi_identifiers
    ]
    released = exp.select(*map(sql.column, names)).distinct().from_(output.copy()).subquery("released")
    is_there = exp.Exists(this=exp.select("1").from_(released).where(*same_class))
    query = exp.select(*map(sql.column, [*names, publication.entity_name])).from_(GENERALIZED).where(is_there)
    return query.with_(GENERALIZED, as_=generalized_query(publication, lookups))


def known_check_query(
    publication: Publication, lookups: Mapping[str, exp.Table], output: exp.Expr
) -> exp.Select | None:
    """Return the check of a release for its script: every class by m columns, in one statement.

    None if k is required of all columns, or if there are too many subsets for a readable statement: ``kanon known``
    counts these.
    """
    model, names = known_subsets_of(publication.models), publication.quasi_identifiers
    if model is None or model.subsets(len(names)) > _IN_A_SCRIPT:
        return None
    rows, members = output, sql.count_rows()
    if model.entity is not None:
        rows = released_people(publication, lookups, output).subquery("people")
        members = sql.count_distinct(sql.column(publication.entity_name))
    of_each = [
        exp.select(sql.named(members, "members")).from_(rows.copy()).group_by(*map(sql.column, chosen))
        for chosen in itertools.combinations(names, min(model.m, len(names)))
    ]
    steps = {"classes": [("classes", sql.union_all(of_each))]}
    values: dict[str, sql.Given] = {"k": model.required, "labels": []}  # the labels are in the steps
    return sql.select("verify/known", values=values, steps=steps)


def measured_in(
    engine: Engine, rows: exp.Query, columns: Sequence[Column], model: KnownSubsets, entity: Column | None
) -> ModelResult:
    """Measure the model in a table: count every class by m of its quasi-identifiers."""
    relation = make_table(engine, "kanon_known", rows, "quasi-identifiers of the release")
    tuples = collect(engine, relation, columns, entity)
    coded = code(tuples)
    subsets = list(itertools.combinations(range(len(columns)), min(model.m, len(columns))))
    found = [(chosen, own) for chosen, own in coded.classes(subsets, model.required) if own.smallest is not None]
    smallest = min((own.smallest for _, own in found if own.smallest is not None), default=None)
    # A class of rows without a person counts as one person, who may not exist.
    nameless = entity is not None and any(own.all_members for _, own in found)
    failing = [chosen for chosen, own in found if own.too_small]
    (rows_failing,) = coded.in_too_small([failing], model.required) if failing else (0,)
    coded.drop()
    tuples.drop()
    engine.run(sql.drop(relation), "drop the quasi-identifiers of the release")
    return ModelResult(
        model.name,
        model.required,
        0 if nameless else smallest,
        holds=not failing and not nameless,
        letter=model.letter,
        classes_failing=sum(own.too_small for _, own in found),
        rows_failing=rows_failing,
    )
