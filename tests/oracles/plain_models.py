"""Privacy models by their definitions, over plain lists: an oracle that shares nothing with the package.

Every function takes the sensitive values of one class and those of the whole table. Values are compared by ``==``;
None is a value like any other. Thresholds are not looked at here: what is returned is the measure of the class.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

Values = list[Any]


def shares(values: Values) -> dict[Any, Fraction]:
    """Return the share of each value."""
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def distinct(own: Values, whole: Values) -> int:  # noqa: ARG001 - all measures are called alike
    """Return the number of different values."""
    return len(set(own))


def entropy(own: Values, whole: Values) -> float:  # noqa: ARG001 - as above
    """Return exp of the entropy."""
    return math.exp(-sum(float(p) * math.log(p) for p in shares(own).values()))


def recursive(own: Values, l: int) -> float:  # noqa: E741 - its name
    """Return r_1 / (r_l + ... + r_m)."""
    counts = sorted(Counter(own).values(), reverse=True)
    tail = sum(counts[l - 1 :])
    return counts[0] / tail if tail else math.inf


def alpha(own: Values, whole: Values) -> Fraction:  # noqa: ARG001 - as above
    """Return the largest share of a value."""
    return max(shares(own).values())


def equal_distance(own: Values, whole: Values) -> Fraction:
    """Return half the sum of absolute differences."""
    p, q = shares(own), shares(whole)
    return sum((abs(p.get(value, Fraction(0)) - q[value]) for value in q), Fraction(0)) / 2


def ordered_distance(own: Values, whole: Values) -> Fraction:
    """Return the sum of absolute cumulated differences, over m - 1; None comes first."""
    p, q = shares(own), shares(whole)
    order = sorted(q, key=lambda value: (value is not None, 0 if value is None else value))
    if len(order) == 1:
        return Fraction(0)
    total, cumulated = Fraction(0), Fraction(0)
    for value in order:
        cumulated += p.get(value, Fraction(0)) - q[value]
        total += abs(cumulated)
    return total / (len(order) - 1)


def hierarchical_distance(own: Values, whole: Values, tree: dict[Any, list[str]]) -> Fraction:
    """Return Li's distance: at each inner node the mass that must move between its children, times its height over H.

    extra(leaf) = p - q; extra(node) = sum over its children; cost(node) = height/H * min(positive, negative extras).
    """
    p, q = shares(own), shares(whole)
    height = len(next(iter(tree.values())))
    extra: dict[tuple[int, Any], Fraction] = {
        (0, value): p.get(value, Fraction(0)) - q.get(value, Fraction(0)) for value in tree
    }
    above = {value: [value, *labels] for value, labels in tree.items()}
    total = Fraction(0)
    for level in range(1, height + 1):
        children: dict[Any, set[Any]] = {}
        for path in above.values():
            children.setdefault(path[level], set()).add((level - 1, path[level - 1]))
        for label, below in children.items():
            positive = sum((extra[child] for child in below if extra[child] > 0), Fraction(0))
            negative = -sum((extra[child] for child in below if extra[child] < 0), Fraction(0))
            total += Fraction(level, height) * min(positive, negative)
            extra[level, label] = positive - negative
    return total


def basic_beta(own: Values, whole: Values) -> Fraction:
    """Return the largest relative gain of a value; 0 if none gains."""
    p, q = shares(own), shares(whole)
    return max((p[value] - q[value]) / q[value] for value in p)


def enhanced_beta(own: Values, whole: Values, beta: float) -> bool:
    """Tell whether the class satisfies enhanced beta-likeness."""
    p, q = shares(own), shares(whole)
    return all(
        float((p[value] - q[value]) / q[value]) <= min(beta, -math.log(q[value])) + 1e-9
        for value in p
        if p[value] > q[value]
    )


def delta_disclosure(own: Values, whole: Values) -> float:
    """Return the largest |ln(p/q)| over the values of the table."""
    p, q = shares(own), shares(whole)
    return max(abs(math.log(p[value] / q[value])) if value in p else math.inf for value in q)
