"""Marginals of three columns, and counting queries over them.

**k-marginals** as in SDNist (NIST, Collaborative Research Cycle), with k = 3: for each choice of three
columns, s = sum over cells of |p - q|, the shares of the rows of the original and of the release in the cell; 0 <= s
<=
2. The score is 1000 (2 - mean s) / 2: 1000 for the same marginals, 0 for marginals without a cell in common. (SDNist
has its own bins for numbers; here a column has bins only if it has more than ``MOST_BINS`` values.) A table with
fewer columns has marginals of two, or of one.

**Query error** (LeFevre et al. 2006): queries count the rows whose values are within a random range of bins in each of
three columns; |estimate - true| / true for those that at least 0.1 % of the rows of the original satisfy. A range of a
column of texts is one of the order of its tree. Suppressed rows are missing in the estimate.

1. The marginals: all choices of three columns, or a sample of ``MOST_MARGINALS`` of them.
2. For each: its cells, their differences, and its share of the queries. Several times as many queries are drawn
   as are needed, because some match too few rows; the release answers those that match enough.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.engine.base import make_table
from kanon_sql.measures.utility.spread import BIN, Comparable, Dimension
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    _Ranges = list[tuple[int, int]]

COLUMNS = 3
MOST_MARGINALS = 100
QUERIES = 1000
LEAST_SHARE = 0.001
_DRAWN = 4  # times as many as are needed


@dataclass(frozen=True)
class Marginal:
    columns: tuple[str, ...]
    difference: float  # the sum of |p - q| over its cells, from 0 to 2

    @property
    def score(self) -> float:
        """From 0 to 1000, which means equal."""
        return 1000 * (2 - self.difference) / 2


@dataclass(frozen=True)
class Marginals:
    """The marginals of three columns, those that differ most first."""

    columns_each: int  # columns of each marginal: 3, or fewer if the table has fewer
    possible: int  # number of choices of columns; more than were compared, if they were sampled
    found: tuple[Marginal, ...]

    @property
    def score(self) -> float:
        """From 0 to 1000, which means equal."""
        return statistics.fmean(one.score for one in self.found)

    def score_with(self, column: str) -> float | None:
        """Return the mean score of the marginals that have a column; None if none of them has it."""
        scores = [one.score for one in self.found if column in one.columns]
        return statistics.fmean(scores) if scores else None


@dataclass(frozen=True)
class QueryErrors:
    queries: int
    median: float  # half of the queries have at most this error
    ninth_decile: float  # nine in ten have at most this error


def marginals_of(
    compared: Comparable, seed: int, tell: Callable[[int, int], None]
) -> tuple[Marginals, QueryErrors | None]:
    """Return the marginals of a release against its original, and the errors of queries over them.

    Both tables have rows. The errors are None if no query matched enough rows.
    """
    drawn = random.Random(seed)  # noqa: S311 - the sample of marginals is no secret
    # 1. The marginals.
    each = min(COLUMNS, len(compared.dimensions))
    possible = math.comb(len(compared.dimensions), each)
    choices = list(itertools.combinations(compared.dimensions, each))
    if possible > MOST_MARGINALS:
        choices = sorted(drawn.sample(choices, MOST_MARGINALS), key=lambda choice: [one.number for one in choice])
    # A stand-in if there are fewer than three columns: one label, spread over one bin.
    padding = compared.engine.temporary_name("kanon_spread_of_no_column")
    ones = {"label": [1], BIN: [1], "share": [1]}
    compared.engine.load(padding, ones, "a column that is not there", "BIGINT")
    found, errors = [], list[float]()
    bins_of = {one.number: sql.query("utility/bins_of", relations={"bins": one.bins}) for one in compared.dimensions}
    bins = {
        number: [own for (own,) in compared.engine.rows(query, "bins of a column")] for number, query in bins_of.items()
    }
    # 2. Each of them.
    for number, choice in enumerate(choices):
        tell(number, len(choices))
        cells = make_table(
            compared.engine, "kanon_cells", _cells_query(compared, choice, padding), "cells of a marginal"
        )
        rows = {"rows_of_original": sql.double(compared.rows_in), "rows_of_release": sql.double(compared.rows_out)}
        difference = sql.query("utility/difference", values=rows, relations={"cells": cells})
        (apart,) = compared.engine.row(difference, "how far apart the cells are")
        found.append(Marginal(tuple(one.name for one in choice), _rounded(min(2.0, apart))))
        wanted = QUERIES * (number + 1) // len(choices) - QUERIES * number // len(choices)
        ranges = [random_ranges(drawn, [bins[one.number] for one in choice]) for _ in range(wanted * _DRAWN)]
        errors += _errors(compared, cells, ranges, wanted)
        compared.engine.run(sql.drop(cells), "drop the cells of a marginal")
    compared.engine.run(sql.drop(padding), "drop the column that is not there")
    found.sort(key=lambda one: (-one.difference, one.columns))
    marginals = Marginals(each, possible, tuple(found))
    if not errors:
        return marginals, None
    ninth_decile = sorted(errors)[math.ceil(0.9 * len(errors)) - 1]
    return marginals, QueryErrors(len(errors), statistics.median(errors), ninth_decile)


def _rounded(value: float) -> float:
    """Return a sum without its last digits, which depend on the engine's order of addition."""
    return round(value, 9)


def _cells_query(compared: Comparable, choice: tuple[Dimension, ...], padding: exp.Table) -> exp.Query:
    values: dict[str, sql.Given] = {f"{name}_{place}": 1 for name in ("label", "bin") for place in (1, 2, 3)}
    tables = {"release_tuples": compared.released, "original_tuples": compared.original}
    tables |= {f"spread_{place}": padding for place in (1, 2, 3)}
    for place, one in enumerate(choice, start=1):
        values |= {f"label_{place}": sql.column(one.label), f"bin_{place}": sql.column(one.bin)}
        tables[f"spread_{place}"] = one.spread
    return sql.query("utility/cells", values=values, tables=tables)


def random_ranges(drawn: random.Random, bins: list[list[int]]) -> _Ranges:
    """Return a query: a range of bins in each column, each end equally likely; for a missing column, all of it."""
    ends = [sorted((drawn.choice(own), drawn.choice(own))) for own in bins]
    return [(low, high) for low, high in ends] + [(1, 1)] * (COLUMNS - len(ends))


def _errors(compared: Comparable, cells: exp.Table, ranges: list[_Ranges], wanted: int) -> list[float]:
    """Return the relative errors of the first ``wanted`` queries that enough rows satisfy."""
    enough = max(1.0, LEAST_SHARE * compared.rows_in)
    true = _answers(compared, cells, "original", dict(enumerate(ranges)))
    chosen = [query for query in range(len(ranges)) if true.get(query, 0.0) >= enough][:wanted]
    estimated = _answers(compared, cells, "released", {query: ranges[query] for query in chosen})
    return [_rounded(abs(estimated.get(query, 0.0) - true[query]) / true[query]) for query in chosen]


def _answers(compared: Comparable, cells: exp.Table, counted: str, ranges: dict[int, _Ranges]) -> dict[int, float]:
    """Return the results of queries by a count of the cells, without those that no row satisfies."""
    if not ranges:
        return {}
    columns: dict[str, list[int]] = {"query": list(ranges)}
    for place in range(COLUMNS):
        columns[f"low_{place + 1}"] = [query[place][0] for query in ranges.values()]
        columns[f"high_{place + 1}"] = [query[place][1] for query in ranges.values()]
    queries = compared.engine.temporary_name("kanon_queries")
    compared.engine.load(queries, columns, "counting queries", "BIGINT")
    answers = sql.query(
        "utility/answers",
        values={"counted": sql.column(counted, "cells")},
        tables={"queries": queries, "cells": cells},
    )
    found = compared.engine.rows(answers, f"what queries answer by the rows of the {counted}")
    compared.engine.run(sql.drop(queries), "drop the counting queries")
    return {query: float(answer) for query, answer in found}
