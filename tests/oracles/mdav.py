"""MDAV as Domingo-Ferrer and Torra (2005) have it, row by row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def textbook_mdav(rows: Sequence[Sequence[float]], size: int) -> set[frozenset[int]]:
    """Return the groups of rows, as sets of their places."""
    columns = list(zip(*rows, strict=True))
    means = [sum(column) / len(rows) for column in columns]
    deviations = [
        math.sqrt(sum((value - mean) ** 2 for value in column) / len(rows)) or 1.0
        for column, mean in zip(columns, means, strict=True)
    ]
    points = [
        [(value - mean) / deviation for value, mean, deviation in zip(row, means, deviations, strict=True)]
        for row in rows
    ]
    left = set(range(len(rows)))
    groups = set()

    def farthest_from_centroid() -> int:
        centroid = [sum(points[row][place] for row in left) / len(left) for place in range(len(columns))]
        return max(left, key=lambda row: math.dist(points[row], centroid))

    def group_around(center: int) -> None:
        nearest = sorted(left, key=lambda row: math.dist(points[row], points[center]))[:size]
        left.difference_update(nearest)
        groups.add(frozenset(nearest))

    while len(left) >= 3 * size:
        r = farthest_from_centroid()
        s = max(left, key=lambda row: math.dist(points[row], points[r]))
        group_around(r)
        group_around(s)
    if len(left) >= 2 * size:
        group_around(farthest_from_centroid())
    groups.add(frozenset(left))
    return groups
