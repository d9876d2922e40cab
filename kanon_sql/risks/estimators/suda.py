"""SUDA2: scores of rows by how few values make them unique (Elliot, Manning & Ford 2002; Manning, Haglin & Keane 2008).

A *minimal sample unique* of a row is a set of at most M of the A quasi-identifiers by which no other row has its
values, if the row is not unique by a part of the set. One of s columns adds ``prod_{i=s}^{M} (A - i)`` to the score of
the row: the fewer values make a row unique, the more likely it is unique in the population too. M is at most A - 1,
because otherwise a factor would be 0.

A row that is unique by some columns is unique by all. Among these rows, subsets are counted by size, the smallest
first: a set is minimal if no part of it was found before. If people are counted, a row is the record of one person in
one class.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError, counted
from kanon_sql.risks.estimators.subsets import TOGETHER, code, require_countable, subsets_up_to, values_of
from kanon_sql.risks.estimators.tuples import PERSON, N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.risks.estimators.subsets import CodedTuples, Places
    from kanon_sql.risks.estimators.tuples import Tuples

DEFAULT_COLUMNS = 3


@dataclass(frozen=True)
class Suda:
    """The scores of all rows together; scores of single rows would show an attacker which rows to look for.

    Attributes:
        max_columns: M, columns of the largest minimal sample uniques.
        scored: rows that have a score; or distinct people.
        share_scored: the same as a share of all rows, or people; None for a table without rows.
        highest: the highest score of a row.
        average: the mean score of all rows, or records of people; None for a table without rows.
        minimal_uniques: minimal sample uniques of 1, 2, ... columns, of all rows together.
        contributions: for each quasi-identifier, the share of all scores by minimal sample uniques with it. A minimal
            sample unique counts for each of its columns. None if no row has a score.
    """

    max_columns: int
    scored: int
    share_scored: float | None
    highest: int
    average: float | None
    minimal_uniques: tuple[int, ...]
    contributions: dict[str, float | None]


def suda_scores(tuples: Tuples, max_columns: int, members: int, everybody: int) -> Suda:
    """Score the rows of a table of ``members`` rows or records; ``everybody`` is the number of rows or people."""
    names = [column.name for column in tuples.columns]
    width = len(names)
    if width == 1:
        raise UsageError("SUDA scores (--suda) need at least 2 quasi-identifiers. Got 1.")
    largest = min(max_columns, width - 1)
    require_countable(largest, width, "--suda")
    weights = {size: math.prod(range(width - largest, width - size + 1)) for size in range(1, largest + 1)}
    coded = code(tuples)
    found, (scored, highest, total) = _count(coded, weights)
    coded.drop()
    by_size = [sum(n for places, n in found.items() if len(places) == size) for size in weights]
    scores = [sum(n * weights[len(own)] for own, n in found.items() if place in own) for place in range(width)]
    return Suda(
        largest,
        scored,
        scored / everybody if everybody else None,
        highest,
        total / members if members else None,
        tuple(by_size),
        {name: own / total if total else None for name, own in zip(names, scores, strict=True)},
    )


def _count(coded: CodedTuples, weights: dict[int, int]) -> tuple[dict[Places, int], tuple[int, int, float]]:
    """Count the rows that each subset is a minimal sample unique of; also scored rows, the highest and the sum."""
    tuples, width = coded.tuples, len(coded.tuples.columns)
    engine, person = tuples.engine, sql.column(PERSON)
    is_alone: exp.Expr = sql.sum_of(sql.column(N)).eq(1)
    if tuples.counts_people:  # rows that name nobody count as nobody in a class of others
        is_alone = sql.same(exp.Min(this=person), exp.Max(this=person.copy()), sql.SAME_TYPE)
    nobody = sql.cast(exp.Null(), "BIGINT")
    values = {"is_alone": is_alone, "person": exp.Max(this=person) if tuples.counts_people else nobody}
    query = sql.query(
        "risks/uniques", values=values | {"values": values_of(range(width))}, tables={"coded": coded.relation}
    )
    tables = {"coded": coded.relation, "uniques": make_table(engine, "kanon_uniques", query, "rows that are unique")}
    columns = [sql.named(sql.cast(exp.Null(), "BIGINT"), name) for name in ("subset", "number", "score")]
    empty = exp.select(*columns).where(exp.false())
    minimal = tables["minimal"] = make_table(engine, "kanon_minimal", empty, "minimal sample uniques")
    subsets = subsets_up_to(max(weights), width)
    numbers = {places: number for number, places in enumerate(subsets, 1)}
    for size, score in weights.items():  # a statement reads the results of those of smaller subsets
        of_size = [places for places in subsets if len(places) == size]
        for begin in range(0, len(of_size), TOGETHER):
            each = []
            for places in of_size[begin : begin + TOGETHER]:
                inside = [numbers[own] for less in range(1, size) for own in itertools.combinations(places, less)]
                own: dict[str, Any] = values | {
                    "values": values_of(places),
                    "subset": numbers[places],
                    "score": score,
                    "inside": [sql.literal(number) for number in inside or [0]],
                }
                each.append(sql.query("risks/minimal_uniques", values=own, tables=tables))
            title = f"minimal sample uniques of {counted(size, 'column')}"
            engine.run(exp.insert(sql.union_all(each), minimal.copy()), title)
    by_subset = engine.rows(sql.query("risks/minimal_by_subset", tables=tables), "minimal sample uniques by subset")
    scored, highest, total = engine.row(sql.query("risks/scores", tables=tables), "scores of SUDA2")
    for table in (minimal, tables["uniques"]):
        engine.run(sql.drop(table), "drop the minimal sample uniques")
    found = {subsets[int(number) - 1]: int(n) for number, n in by_subset}
    return found, (int(scored), int(highest or 0), float(total or 0))
