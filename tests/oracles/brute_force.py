"""An oracle that shares nothing with the package: plain Python over lists, definitions to the letter.

A hierarchy is a dictionary from a value to its labels, level 1 to the root. A table is a list of tuples, one value per
quasi-identifier. NULL is ``None`` and, where the dictionary does not have it, goes to the root; it is a leaf of the
hierarchy where the table has it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    rows: list[tuple[Any, ...]],
    hierarchies: list[Hierarchy],
    node: Node,
    k: int,
    persons: list[Any] | None = None,
    satisfies: Callable[[list[int]], bool] = lambda _: True,
    weights: Sequence[Fraction] | None = None,
) -> Outcome:
    """Return what a node does: classes, suppressed rows, loss, and the published tuples with their counts.

    What the numbers of a class's rows have to satisfy, beside k, may be said, and how much each column counts.
    """
    weighed = [Fraction(1)] * len(hierarchies) if weights is None else weights
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
        if size(numbers) < k or not satisfies(numbers):
            suppressed += len(numbers)
            cost += len(numbers) * sum(w * (len(own) > 1) for w, own in zip(weighed, leaves, strict=True))
            continue
        published[label] = len(numbers)
        cost += len(numbers) * sum(
            w * cell_cost(h, own, level, cell)
            for w, h, own, level, cell in zip(weighed, hierarchies, leaves, node, label, strict=True)
        )
    cells = len(rows) * sum(weighed)
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
    satisfies: Callable[[list[int]], bool] = lambda _: True,
) -> Outcome | None:
    """Return the outcome of least loss among all nodes that suppress no more than allowed; None if there is none."""
    outcomes = [evaluate(rows, hierarchies, node, k, persons, satisfies) for node in all_nodes(hierarchies)]
    feasible = [outcome for outcome in outcomes if outcome.suppressed <= allowed]
    return min(feasible, key=lambda outcome: outcome.loss, default=None)


def assigned(
    rows: list[tuple[Any, ...]], hierarchies: list[Hierarchy], node: Node, k: int, persons: list[Any] | None = None
) -> list[Node | None]:
    """Return, for each row, the node at which it is published: this one, or None where it is suppressed."""
    published = evaluate(rows, hierarchies, node, k, persons).published
    return [node if label_of(hierarchies, row, node) in published else None for row in rows]


def label_of(hierarchies: list[Hierarchy], row: tuple[Any, ...], node: Node) -> tuple[Any, ...]:
    """Return the labels of a row at a node."""
    return tuple(labels(h, value)[level] for h, value, level in zip(hierarchies, row, node, strict=True))


def measures(
    rows: list[tuple[Any, ...]], hierarchies: list[Hierarchy], nodes: list[Node | None], k: int
) -> dict[str, float | None]:
    """Return every measure by its definition, one cell after the other.

    Args:
        rows: the table.
        hierarchies: of its columns.
        nodes: for each row, the node at which it is published, or None.
        k: the smallest class that was asked for.
    """
    top = tuple(len(next(iter(h.values()))) for h in hierarchies)
    leaves = [set(h) - {None} | {row[i] for row in rows if row[i] is None} for i, h in enumerate(hierarchies)]
    cells = len(rows) * len(hierarchies)
    loss = gcp = precision = Fraction(0)
    bits = all_bits = ambiguity = 0.0
    boxes: Counter[tuple[Node, tuple[Any, ...]]] = Counter()
    classes: Counter[tuple[Any, ...]] = Counter()  # as a reader counts them: labels of several levels may read alike
    for row, own in zip(rows, nodes, strict=True):
        node = top if own is None else own
        label = label_of(hierarchies, row, node)
        if own is not None:
            classes[label] += 1
        boxes[node, label] += 1
        volume = 1
        for place, (tree, there, level, cell) in enumerate(zip(hierarchies, leaves, node, label, strict=True)):
            covers = covered(tree, there, level, cell)
            volume *= len(covers)
            at_root = reads_like_root(tree, level, cell)
            loss += cell_cost(tree, there, level, cell)
            gcp += Fraction(len(covers), len(there)) if len(covers) > 1 else 0
            precision += 1 if at_root else Fraction(level, top[place])
            with_value = sum(other[place] == row[place] for other in rows)
            under = sum(other[place] in covers for other in rows)
            bits += math.log2(under / with_value)
            all_bits += math.log2(len(rows) / with_value)
        ambiguity += volume
    published = sum(classes.values())
    suppressed = len(rows) - published
    used = {node for node in nodes if node is not None}
    return {
        "loss": float(loss / cells) if cells else 0.0,
        "gcp": float(gcp / cells) if cells else 0.0,
        "precision": float(1 - precision / cells) if cells else 1.0,
        "nonuniform_entropy": bits / all_bits if all_bits else 0.0,
        "distortion": None
        if len(used) > 1
        else sum(g / h for g, h in zip(*used, top, strict=True)) / len(top)
        if used
        else 1.0,
        "discernibility": sum(n * n for n in classes.values()) + suppressed * len(rows),
        "average_class_size": published / len(classes) / k if classes else None,
        "average_rows_per_class": published / len(classes) if classes else None,
        "ambiguity": ambiguity / len(rows) if rows else None,
        "kl_divergence": _divergence(rows, hierarchies, leaves, boxes) if rows else None,
    }


def covered(hierarchy: Hierarchy, leaves: set[Any], level: int, cell: Any) -> set[Any]:
    """Return the leaves that a label stands for: all of them where it reads like the root."""
    if reads_like_root(hierarchy, level, cell):
        return leaves
    return {leaf for leaf in leaves if labels(hierarchy, leaf)[level] == cell}


def reads_like_root(hierarchy: Hierarchy, level: int, cell: Any) -> bool:
    """Tell whether a label above the values reads like the root."""
    return level > 0 and bool(cell == root_of(hierarchy))


def _divergence(
    rows: list[tuple[Any, ...]],
    hierarchies: list[Hierarchy],
    leaves: list[set[Any]],
    boxes: Counter[tuple[Node, tuple[Any, ...]]],
) -> float:
    """Return sum p*log2(p/q): q spreads the rows of each box evenly over the tuples that it covers."""
    spread = [
        ([covered(*cell) for cell in zip(hierarchies, leaves, node, label, strict=True)], n)
        for (node, label), n in boxes.items()
    ]
    total = 0.0
    for row, n in Counter(rows).items():
        q = sum(
            rows_in / math.prod(len(cell) for cell in box)
            for box, rows_in in spread
            if all(value in cell for value, cell in zip(row, box, strict=True))
        )
        total += n / len(rows) * math.log2(n / q)
    return total
