"""Which classes a release keeps where k is required of any m columns: found on its labels, and checked on its rows.

The search has found them on codes already. Here they are found again, on the labels that are published, by the same
plan (``kanon_sql.search.full_domain.known_classes``); the release must have as many rows as the search counted. What is
published is then checked by statements that know nothing of either.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Column, make_table
from kanon_sql.engine.equality import comparable
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.release.publication import GENERALIZED
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

_IN_A_SCRIPT = 120  # subsets: the classes by all pairs of 16 columns, or all triples of 9


def make_kept(engine: Engine, publication: Publication, model: KnownSubsets) -> exp.Table:
    """Make the temporary table of the classes that stay, by their labels, and return its name."""
    import numpy as np

    from kanon_sql.search.full_domain.known_classes import Classes, shared_members

    # 1. The classes, with numbers for their labels.
    names = publication.quasi_identifiers
    grouped = [*names, publication.entity_name] if model.entity is not None else names
    numbers = [unused_name(f"number_{place}", grouped) for place in range(len(grouped))]
    n, position = (unused_name(name, grouped) for name in ("n", "position"))
    query = sql.select(
        "release/numbered_classes",
        values={
            "labels": [*map(sql.column, grouped)],
            "numbers": [sql.named(_rank(name), number) for name, number in zip(grouped, numbers, strict=True)],
        },
        steps={GENERALIZED: [(GENERALIZED, generalized_query(publication, readable_lookups(publication.hierarchies)))]},
        names={"n": n, "position": position},
    )
    table = make_table(engine, "kanon_classes", query, "classes of the release, with numbers for labels")
    selected: list[exp.Expr] = [*map(sql.column, [position, *numbers]), sql.column(n)]
    if model.entity is not None:  # rows that name nobody count for no person
        selected.append(sql.column(publication.entity_name).is_(exp.null()))
    found = np.array(engine.rows(exp.select(*selected).from_(table.copy()), "classes as arrays"), dtype=np.int64)
    found = found.reshape(-1, len(selected))
    codes, rows = list(found[:, 1 : 1 + len(names)].T - 1), found[:, 1 + len(numbers)]
    if model.entity is None:
        classes = Classes(codes, rows, rows)
    else:
        named = found[:, -1] == 0
        place = np.arange(len(found))
        classes = Classes(codes, rows, np.zeros_like(rows), (place[named], found[named, len(numbers)]))
    # 2. Those that stay.
    shared = shared_members(classes, model.m, model.required)
    stay = exp.select(exp.Explode(this=sql.cast(exp.Placeholder(this="stay"), "BIGINT[]"))).subquery()
    kept = engine.temporary_name("kanon_kept")
    own = exp.select(*map(sql.column, names)).distinct().from_(table.copy())
    own = own.where(exp.In(this=sql.column(position), query=stay))
    places = found[:, 0][shared > 0].tolist()
    engine.rows(sql.create_table(kept, own, temporary=True), "classes that are kept", {"stay": places})
    engine.run(sql.drop(table), "drop the classes of the release")
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
    """Return the check of a release that a script has: every class by m columns, in one statement.

    None where k is of all columns, or where there are too many subsets for a statement that is read: ``kanon known``
    counts these.
    """
    model, names = known_subsets_of(publication.models), publication.quasi_identifiers
    if model is None or math.comb(len(names), min(model.m, len(names))) > _IN_A_SCRIPT:
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
    return sql.select("verify/known", values={"k": model.required}, steps=steps)


def measured_in(
    engine: Engine, rows: exp.Query, columns: Sequence[Column], model: KnownSubsets, entity: Column | None
) -> ModelResult:
    """Return what was found of the model in a table: every class by m of its quasi-identifiers is counted.

    Args:
        engine: holds the table.
        rows: its quasi-identifiers, and the entity.
        columns: the quasi-identifiers.
        model: what is required.
        entity: the column that names the person; None where rows are counted.
    """
    relation = make_table(engine, "kanon_known", rows, "quasi-identifiers of the release")
    tuples = collect(engine, relation, columns, entity)
    coded = code(tuples)
    subsets = list(itertools.combinations(range(len(columns)), min(model.m, len(columns))))
    found = [(chosen, own) for chosen, own in coded.classes(subsets, model.required) if own.smallest is not None]
    smallest = min((own.smallest for _, own in found if own.smallest is not None), default=None)
    # A class of rows that name nobody counts as one person, of whom it is not known that there is one.
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
