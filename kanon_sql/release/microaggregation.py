"""Microaggregation: groups of at least g rows with similar values, each replaced by the group's mean.

**One column, optimal.** Of all partitions of the sorted values into intervals of at least g rows each, the one with the
least sum of squared errors, as a shortest path (Hansen and Mukherjee, "A polynomial algorithm for optimal univariate
microaggregation", IEEE TKDE 15(4), 2003): a node before each value, an edge for each possible group, its error as its
length.

There a group has g to 2g - 1 rows, and rows of equal values may be in two groups. Here they are in one, so that a value
has one mean regardless of the order of rows; with many equal values a group may be larger. If all values differ, it is
the optimum of Hansen and Mukherjee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LARGE = 1e100


def group_starts(values: Sequence[tuple[Any, int]], size: int) -> list[int]:
    """Return the positions of the first values of the groups, in order.

    A group that could be split into two is never better than the two. So a group that ends at a value starts at the
    last value that gives it enough rows, or earlier while the rows added beyond that would not make a second group: at
    most 2 * size - 1 values are tried for each.

    Args:
        values: distinct numbers in ascending order, each with its number of rows.
        size: minimum rows of a group; the table has at least that many.
    """
    numbers = _from_least([value for value, _ in values]).tolist()
    if numbers and numbers[-1] > _LARGE:  # squares would be infinite
        numbers = [number / numbers[-1] for number in numbers]
    weights = [n for _, n in values]
    best: list[float] = [0.0]  # the least error up to each position
    first: list[int] = []  # where the last group of it starts
    for end in range(len(values)):
        least, start = float("inf"), -1
        rows, mean, error, before = 0, 0.0, 0.0, 0  # of the group; the rows in it beyond those that are enough
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


def lost_share(values: Sequence[tuple[Any, int]], starts: Sequence[int]) -> float:
    """Return SSE/SST: the share of the variance of the values that is lost if groups get their means."""
    numbers, weights = _from_least([value for value, _ in values]), np.array([float(n) for _, n in values])
    numbers /= numbers.max() or 1.0
    groups = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))
    total = numbers - (numbers * weights).sum() / weights.sum()
    error = numbers - (np.bincount(groups, numbers * weights) / np.bincount(groups, weights))[groups]
    return float((weights * error**2).sum() / ((weights * total**2).sum() or 1.0))


def _from_least(values: Sequence[Any]) -> NDArray[np.float64]:
    """Return numbers minus the smallest, which is subtracted first: floats would lose digits far from zero."""
    origin = min(values, default=0)
    numbers: NDArray[np.float64] = np.nan_to_num(np.array([float(value - origin) for value in values]))
    return numbers
