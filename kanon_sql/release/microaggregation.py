"""Microaggregation: groups of at least g rows with values close to each other, of which each gets the mean.

**One column, optimal.** Of all partitions of the sorted values into intervals of at least g rows each, the one with the
least sum of squared errors, as a shortest path (Hansen and Mukherjee, "A polynomial algorithm for optimal univariate
microaggregation", IEEE TKDE 15(4), 2003): a node before each value, an edge for each possible group, its error as its
length.

There a group has g to 2g - 1 rows, and rows of equal values may be in two groups. Here they are in one, so that a value
has one mean whatever order rows have; with many equal values a group may be larger. If all values differ, it is the
optimum of Hansen and Mukherjee.

**Several columns, MDAV** (Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation", Data Mining and Knowledge Discovery 11(2), 2005), on values with mean 0 and standard deviation 1 in
each column. While 3g rows or more remain: r is the row farthest from their centroid, s the one farthest from r; r with
the g - 1 rows nearest to it is a group, s with those nearest to it another. Of 2g to 3g - 1 rows, the one farthest from
the centroid makes a group so, and the others are the last one; fewer rows are one group.

Here too, rows of equal values are in one group: tuples of values are farthest and nearest, a group takes whole tuples
until it has g rows, and if it leaves fewer than g rows, it takes them too. Ties are broken by the order in which tuples
are given. If all tuples differ, these are the groups of MDAV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST_TUPLES = 100_000
"""Different tuples that MDAV takes: of 3 columns, in groups of 5, about half a minute; twice as many take four times as
long, and smaller groups longer."""


_LARGE = 1e100


def group_starts(values: Sequence[tuple[Any, int]], size: int) -> list[int]:
    """Return the places of the first values of the groups, in their order.

    A group that could be split into two is never the best. So the groups that end at a value begin at the last value
    from which on there are enough rows, or before it as long as the rows before it are too few: at most 2 * size - 1
    values are looked at for each.

    Args:
        values: numbers in ascending order, each once, with how many rows have it.
        size: rows of a group at least; there are as many.
    """
    numbers = _from_least([value for value, _ in values]).tolist()
    if numbers and numbers[-1] > _LARGE:  # squares would be infinite
        numbers = [number / numbers[-1] for number in numbers]
    weights = [n for _, n in values]
    best: list[float] = [0.0]  # up to each place, the least error
    first: list[int] = []  # where the last group of it starts
    for end in range(len(values)):
        least, start = float("inf"), -1
        rows, mean, error, before = 0, 0.0, 0.0, 0  # of the group; rows of it before those that are enough
        for place in range(end, -1, -1):
            weight = weights[place]
            if rows >= size:
                before += weight
                if before >= size:
                    break
            # Welford's update: sums of squares would lose all digits of small errors far from the origin.
            rows += weight
            distance = numbers[place] - mean
            mean += distance * weight / rows
            error += distance * weight * (numbers[place] - mean)
            if rows >= size and best[place] + error < least:
                least, start = best[place] + error, place
        best.append(least)
        first.append(start)
    starts: list[int] = []
    end = len(values) - 1
    while end >= 0:
        end = first[end]
        starts.append(end)
        end -= 1
    return starts[::-1]


def mdav_groups(tuples: Sequence[tuple[Any, ...]], size: int) -> list[int]:
    """Return the number of the group of each tuple.

    Args:
        tuples: different tuples of numbers, each with how many rows have it at its end.
        size: rows of a group at least; there are as many.
    """
    points, weights = _scaled(tuples)
    means = (points * weights).sum(axis=1, keepdims=True) / weights.sum()
    deviations = np.sqrt((weights * (points - means) ** 2).sum(axis=1, keepdims=True) / weights.sum())
    points = (points - means) / np.where(deviations > 0, deviations, 1)
    groups = np.zeros(len(tuples), dtype=np.int64)
    places = np.arange(len(tuples))  # of points that are in no group yet
    number = 0
    while len(places):
        rows = weights.sum()
        center = (points * weights).sum(axis=1) / rows
        for _ in range(2 if rows >= 3 * size else 1):  # around r, and around s
            center = points[:, np.argmax(_distances(points, center))]
            taken = _nearest(_distances(points, center), weights, size)
            groups[places[taken]] = number
            number += 1
            left = ~taken
            points, weights, places = points.compress(left, axis=1), weights[left], places[left]
            if not len(places):
                break
    found: list[int] = groups.tolist()
    return found


def _nearest(distances: NDArray[np.float64], weights: NDArray[np.float64], size: int) -> NDArray[np.bool_]:
    """Return which points are a group: the nearest ones, as many as have enough rows; all, if those left have not."""
    taken = np.ones(len(distances), dtype=np.bool_)
    if weights.sum() < 2 * size:
        return taken
    last = min(size, len(distances)) - 1
    near = np.flatnonzero(distances <= np.partition(distances, last)[last])
    near = near[np.argsort(distances[near], kind="stable")]
    near = near[: np.searchsorted(np.cumsum(weights[near]), size) + 1]
    if weights.sum() - weights[near].sum() >= size:
        taken[:] = False
        taken[near] = True
    return taken


def _distances(points: NDArray[np.float64], center: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances: column by column, which is several times as fast as all at once."""
    squared = np.zeros(points.shape[1])
    for numbers, middle in zip(points, center, strict=True):
        difference = numbers - middle
        difference *= difference
        squared += difference
    return squared


def lost_shares(tuples: Sequence[tuple[Any, ...]], groups: Sequence[int]) -> list[float]:
    """Return SSE/SST of each column: the share of its variance that is lost where groups get their means."""
    points, weights = _scaled(tuples)
    shares = []
    for numbers in points:
        total = numbers - (numbers * weights).sum() / weights.sum()
        means = np.bincount(groups, numbers * weights) / np.bincount(groups, weights)
        error = numbers - means[list(groups)]
        shares.append(float((weights * error**2).sum() / ((weights * total**2).sum() or 1.0)))
    return shares


def _scaled(tuples: Sequence[tuple[Any, ...]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the columns of tuples, each from 0 to 1, and how many rows have each tuple."""
    *columns, weights = zip(*tuples, strict=True)
    points = []
    for values in columns:
        numbers = _from_least(values)
        points.append(numbers / (numbers.max() or 1.0))
    return np.array(points), np.array(weights, dtype=np.float64)


def _from_least(values: Sequence[Any]) -> NDArray[np.float64]:
    """Return numbers less the least of them, which is subtracted first: floats would lose digits far from zero."""
    origin = min(values, default=0)
    numbers: NDArray[np.float64] = np.nan_to_num(np.array([float(value - origin) for value in values]))
    return numbers
