"""An oracle for utility that shares nothing with the package: loops over rows and cells, and a few lines of numpy."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[Any, ...]
Covers = dict[Any, set[Any]]


def spread_rows(released: Sequence[Row], covers: Sequence[Covers], weigh: Sequence[Counter[Any]]) -> dict[Row, float]:
    """Return how many rows of a release each combination of values has; ``weigh`` has how likely values are."""
    found: dict[Row, float] = defaultdict(float)
    for row in released:
        shares = []
        for label, own, weights in zip(row, covers, weigh, strict=True):
            total = sum(weights[value] for value in own[label])
            shares.append([(value, weights[value] / total) for value in own[label]])
        for cell in itertools.product(*shares):
            found[tuple(value for value, _ in cell)] += float(np.prod([share for _, share in cell]))
    return found


def difference(original: dict[Row, float], released: dict[Row, float], columns: Sequence[int]) -> float:
    """Return the sum over the cells of a marginal of |p - q|."""
    sides = []
    for side in (original, released):
        cells: dict[Row, float] = defaultdict(float)
        for row, n in side.items():
            cells[tuple(row[column] for column in columns)] += n / sum(side.values())
        sides.append(cells)
    own, other = sides
    return sum(abs(own.get(cell, 0.0) - other.get(cell, 0.0)) for cell in {*own, *other})


def answer(rows: dict[Row, float], conditions: dict[int, set[Any]]) -> float:
    """Return how many rows have a value of each set in its column."""
    return sum(n for row, n in rows.items() if all(row[column] in values for column, values in conditions.items()))


def described(columns: Sequence[Sequence[Any]], numeric: Sequence[bool], *, pairs: bool) -> np.ndarray:
    """Return standardized numbers, a column for each other value, and the products of every two of these columns."""
    found = []
    for column, is_number in zip(columns, numeric, strict=True):
        if is_number:
            values = np.array(column, dtype=float)
            found.append((values - values.mean()) / values.std())
        else:
            found += [np.array([value == one for value in column], dtype=float) for one in sorted(set(column))]
    if pairs:
        found += [one * other for one, other in itertools.combinations(found, 2)]
    return np.column_stack(found)


def logistic(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return probabilities of a logistic regression with a penalty of half the sum of squares, by Newton's method."""
    with_one = np.column_stack([features, np.ones(len(features))])
    penalty = np.diag([1.0] * features.shape[1] + [0.0])
    weights = np.zeros(with_one.shape[1])
    for _ in range(100):
        likely = 1 / (1 + np.exp(-with_one @ weights))
        gradient = with_one.T @ (likely - labels) + penalty @ weights
        curvature = (with_one.T * (likely * (1 - likely))) @ with_one + penalty
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-10:
            break
    return 1 / (1 + np.exp(-with_one @ weights))


def tree(features: np.ndarray, labels: np.ndarray, depth: int) -> np.ndarray:
    """Return the share of each leaf of a tree that halves at the cut with the least Gini impurity, at most so deep."""

    def impurity(own: np.ndarray) -> float:
        share = own.mean()
        return float(len(own) * 2 * share * (1 - share))

    likely = np.full(len(labels), labels.mean())
    if depth == 0 or len(set(labels)) == 1:
        return likely
    cuts = [
        (impurity(labels[below]) + impurity(labels[~below]), column, cut)
        for column in range(features.shape[1])
        for cut in sorted(set(features[:, column]))[:-1]
        for below in [features[:, column] <= cut]
    ]
    if not cuts:
        return likely
    _, column, cut = min(cuts)
    for side in (features[:, column] <= cut, features[:, column] > cut):
        likely[side] = tree(features[side], labels[side], depth - 1)
    return likely


def pmse(likely: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean((likely - labels.mean()) ** 2))
