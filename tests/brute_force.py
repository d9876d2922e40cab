"""An oracle that shares nothing with the package: plain Python over lists, definitions to the letter.

A hierarchy is a dictionary from a value to its labels, level 1 to the root. A table is a list of tuples, one value per
quasi-identifier. NULL is ``None`` and, where the dictionary does not have it, goes to the root; it is a leaf of the
hierarchy where the table has it.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Hierarchy = dict[Any, list[str]]
Node = tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    """What a node does to a table."""

    node: Node
    classes: int
    suppressed: int
    loss: Fraction
    published: Counter[tuple[Any, ...]]


def labels(hierarchy: Hierarchy, value: Any) -> list[Any]:
    """Return a value and its labels upwards."""
    if value not in hierarchy:
        height = len(next(iter(hierarchy.values())))
        return [value, *[root_of(hierarchy)] * height]
    return [value, *hierarchy[value]]


def root_of(hierarchy: Hierarchy) -> str:
    """Return the label that all values share at the top."""
    return next(iter(hierarchy.values()))[-1]


def evaluate(
    rows: list[tuple[Any, ...]], hierarchies: list[Hierarchy], node: Node, k: int, persons: list[Any] | None = None
) -> Outcome:
    """Return what a node does: classes, suppressed rows, loss, and the published tuples with their counts."""
    members: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        members[tuple(labels(h, value)[level] for h, value, level in zip(hierarchies, row, node, strict=True))].append(
            number
        )

    def size(numbers: list[int]) -> int:
        if persons is None:
            return len(numbers)
        return len({persons[number] for number in numbers if persons[number] is not None})

    leaves = [set(h) - {None} | {row[i] for row in rows if row[i] is None} for i, h in enumerate(hierarchies)]
    cost, suppressed, published = Fraction(0), 0, Counter()
    for label, numbers in members.items():
        if size(numbers) < k:
            suppressed += len(numbers)
            cost += len(numbers) * sum(len(own) > 1 for own in leaves)
            continue
        published[label] = len(numbers)
        cost += len(numbers) * sum(
            cell_cost(h, own, level, cell) for h, own, level, cell in zip(hierarchies, leaves, node, label, strict=True)
        )
    cells = len(rows) * len(hierarchies)
    return Outcome(node, len(members), suppressed, cost / cells if cells else Fraction(0), published)


def cell_cost(hierarchy: Hierarchy, leaves: set[Any], level: int, cell: Any) -> Fraction:
    """Return (M - 1)/(N - 1) of a cell: what reads like the root has all leaves under it."""
    if level == 0 or len(leaves) == 1:
        return Fraction(0)
    if cell == root_of(hierarchy):
        return Fraction(1)
    under = sum(labels(hierarchy, leaf)[level] == cell for leaf in leaves)
    return Fraction(under - 1, len(leaves) - 1)


def all_nodes(hierarchies: list[Hierarchy]) -> list[Node]:
    """Return every node of the lattice."""
    heights = [len(next(iter(h.values()))) for h in hierarchies]
    return list(itertools.product(*(range(height + 1) for height in heights)))


def best(
    rows: list[tuple[Any, ...]],
    hierarchies: list[Hierarchy],
    k: int,
    allowed: int,
    persons: list[Any] | None = None,
) -> Outcome | None:
    """Return the outcome of least loss among all nodes that suppress no more than allowed; None if there is none."""
    outcomes = [evaluate(rows, hierarchies, node, k, persons) for node in all_nodes(hierarchies)]
    feasible = [outcome for outcome in outcomes if outcome.suppressed <= allowed]
    return min(feasible, key=lambda outcome: outcome.loss, default=None)
