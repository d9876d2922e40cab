"""Which levels a release gets, chosen by the exponential mechanism: better ones are more probable, none is certain.

    score(node) = weight(node) * (rows of the table beyond the first T - 1 of their class)

- ``weight`` says how much the labels of a node keep: 1 less the mean of level / height (Sweeney's precision), in
  hundredths. Levels and heights are those of rules, which know nothing of the data.
- ``T = ceil(k / beta)`` is how many rows a class needs so that about k of them are sampled.

One row more or less changes one class, and the rows beyond T - 1 of it by one at most: each score changes by at most
``SCALE``, and all of them in the same direction. The rows of all classes of at least T, which is what will be published
but for the sample, would change by T when a class reaches that size, and need T times the noise. What is left out of
each class makes finer nodes look a little worse than they are; the errors of the sample do the same to them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.of_node import classes_query
from kanon_sql.errors import UsageError
from kanon_sql.models.counted import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Lattice, Node

SCALE = 100
"""The weight of the table as it is: by how much a score can change when one row comes or goes."""
MOST_NODES = 2_000
"""Nodes to choose from: each is scored by a statement."""


def candidates(lattice: Lattice) -> list[Node]:
    """Return the nodes to choose from: all, or in a large lattice those of some levels of each column.

    Which ones depends on heights alone. Levels are left out of the column that has most of them, the lowest ones last
    but never the root, until the nodes are few enough.

    Raises:
        UsageError: they are too many even with two levels for each column.
    """
    kept = [height + 1 for height in lattice.heights]
    while math.prod(kept) > MOST_NODES:
        largest = max(range(len(kept)), key=lambda column: kept[column])
        if kept[largest] <= 2:  # noqa: PLR2004 - the root and one below it: with less there is nothing to choose
            raise UsageError(
                f"There are too many combinations of levels of {len(kept)} columns to choose from: say which levels "
                "(--levels), or name fewer columns."
            )
        kept[largest] -= 1
    levels = [_spread(height, number) for height, number in zip(lattice.heights, kept, strict=True)]
    return list(product(*levels))


def weight(node: Node, lattice: Lattice) -> int:
    """Return how much of the table the labels of a node keep, from 0 (roots) to ``SCALE`` (the values themselves)."""
    shares = [Fraction(level, height) for level, height in zip(node, lattice.heights, strict=True)]
    return int(SCALE * (1 - sum(shares) / len(shares)))


def scores(frequency: FrequencySet, lattice: Lattice, nodes: Sequence[Node], least: int) -> list[int]:
    """Return the score of each node.

    Args:
        frequency: the frequency set of the table.
        lattice: of its levels.
        nodes: what is scored.
        least: T, the rows that a class needs.
    """
    found = []
    for node in nodes:
        kept = weight(node, lattice)
        rows = frequency.engine.row(_rows_beyond(frequency, node, least), "score levels")[0] if kept else 0
        found.append(kept * int(rows))
    return found


def _rows_beyond(frequency: FrequencySet, node: Node, least: int) -> exp.Select:
    """Return the query of how many rows there are beyond the first ``least - 1`` of each class."""
    classes = classes_query(frequency.relation, frequency.masks(node), ()).subquery("classes")
    first = sql.literal(least - 1)
    beyond = exp.Sum(this=exp.Sub(this=sql.column(N), expression=first))
    enough = exp.GT(this=sql.column(N), expression=first.copy())
    return exp.select(exp.Coalesce(this=beyond, expressions=[sql.literal(0)])).from_(classes).where(enough)


def _spread(height: int, number: int) -> list[int]:
    """Return some levels, as far apart as they can be, from the root down."""
    if number > height:
        return list(range(height + 1))
    return sorted({height - height * place // (number - 1) for place in range(number)})
