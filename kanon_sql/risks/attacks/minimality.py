"""Minimality: what is known of sensitive values by one who knows how the release was chosen (Wong et al. 2007)?

An attacker who knows that the release is the one that loses least under its models knows that every release that loses
less violates them. So assignments of the published values to the people of each class under which a cheaper release
would be allowed are impossible. So are some under which one that loses as much would be: which of them is taken is not
looked at, so that what depends on it is left open. Counted are the rows whose value is the same in all that are left,
of those whose class has several values.

Only for full-domain releases by ``optimal`` without suppressed rows, of few rows: all assignments are gone through.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from math import log, prod
from typing import TYPE_CHECKING, Any, ClassVar

from kanon_sql.models.alpha_k_anonymity import AlphaKAnonymity
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from kanon_sql.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.models.base import PrivacyModel

MOST_ROWS = 40
"""Rows of a table of which assignments are gone through."""
MOST_ASSIGNMENTS = 20_000
"""Assignments that are gone through."""
_ROUNDING = 1e-9

Label = tuple[str | None, ...]
Value = str | None


@dataclass(frozen=True)
class Minimality:
    """What is known of one sensitive column by one who knows the algorithm.

    Attributes:
        assignments: of the published values to the people of each class.
        possible: those of them under which the release is the one that loses least.
        rows_certain: rows whose value is the same in all of these, of classes with several values.
        rows_certain_right: those for which it is the true one.
        rows_open: further rows of which that depends on which of several nodes of equal loss is taken.
        reason: why this was not counted; None if it was.
    """

    column: str
    algorithm: str
    rows: int
    assignments: int = 0
    possible: int = 0
    rows_certain: int = 0
    rows_certain_right: int = 0
    rows_open: int = 0
    reason: str | None = None
    name: ClassVar[str] = "minimality"

    @property
    def succeeded(self) -> bool:
        """Whether a value is certain that the class alone does not tell."""
        return self.rows_certain > 0

    @property
    def open(self) -> bool:
        """Whether it did not succeed for certain, and may have."""
        return not self.succeeded and self.rows_open > 0

    @property
    def stopped_by(self) -> str:
        """What makes it harder: no model of classes does."""
        return "kanon dp release, whose promise holds for one who knows the algorithm; no l, t or alpha stops it"

    def figures(self) -> dict[str, Any]:
        found = dict(vars(self))
        found["not_counted"] = found.pop("reason")
        return found


def minimality(
    people: Sequence[Label],
    values: Sequence[Value],
    released: Sequence[tuple[Label, Value]],
    trees: Sequence[Mapping[str | None, Sequence[str | None]]],
    cost: Callable[[Node], int],
    models: Sequence[PrivacyModel],
    column: str,
    algorithm: str,
) -> Minimality:
    """Return what is known of a column by one who knows the algorithm.

    Args:
        people: the quasi-identifiers of each row of the original.
        values: the sensitive value of each.
        released: the labels and the sensitive value of each row of the release.
        trees: for each quasi-identifier, the labels of each value by level.
        cost: of all rows at a node.
        models: that the release satisfies.
        column: the sensitive column.
        algorithm: that chose the release.
    """

    def untested(reason: str) -> Minimality:
        return Minimality(column, algorithm, len(people), reason=reason)

    if algorithm != "optimal":
        return untested(f"only counted for releases by optimal, not by {algorithm}")
    conditions = [_condition(model, Counter(values)) for model in models]
    if None in conditions:
        return untested("not counted under these models: only under k, l, entropy l, alpha and t with equal distance")
    # 1. The node of the release.
    heights = [len(next(iter(tree.values()))) for tree in trees]
    nodes = list(product(*(range(height) for height in heights)))
    labels = {node: [_label(person, node, trees) for person in people] for node in nodes}
    published = Counter(label for label, _ in released)
    found = [node for node in nodes if Counter(labels[node]) == published]
    if not found:
        return untested("the release is no full-domain recoding of all rows")
    chosen = min(found, key=cost)
    # 2. The nodes that lose less, and those that lose as much; where classes are too small whatever the values are, a
    #    node is never allowed.
    k = max((model.least_rows for model in models), default=1)
    large = [node for node in nodes if node not in found and min(Counter(labels[node]).values(), default=0) >= k]
    cheaper = [node for node in large if cost(node) < cost(chosen)]
    equal = [node for node in large if cost(node) == cost(chosen)]
    # 3. The assignments.
    members: dict[Label, list[int]] = {}
    for number, label in enumerate(labels[chosen]):
        members.setdefault(label, []).append(number)
    in_class: dict[Label, Counter[Value]] = {label: Counter() for label in members}
    for label, value in released:
        in_class[label][value] += 1
    size = prod(_arrangements(counts) for counts in in_class.values())
    if size > MOST_ASSIGNMENTS:
        return untested(
            f"{size:,} assignments of values to people are possible, and {MOST_ASSIGNMENTS:,} are looked at"
        )
    groups = [(members[label], in_class[label]) for label in members]
    worlds = [
        world
        for world in _worlds(groups, len(people))
        if not any(_allowed(labels[node], world, conditions) for node in cheaper)
    ]
    # 4. What is the same in all of them; and in those in which nothing that loses as much would be allowed.
    several = [len(in_class[label]) > 1 for label in labels[chosen]]

    def certain_in(left: Sequence[Sequence[Value]]) -> dict[int, Value]:
        seen = [{world[number] for world in left} for number in range(len(people))]
        return {n: next(iter(known)) for n, known in enumerate(seen) if several[n] and len(known) == 1}

    certain = certain_in(worlds)
    alone = [world for world in worlds if not any(_allowed(labels[node], world, conditions) for node in equal)]
    may_be = len(certain_in(alone)) if alone else sum(several)
    right = sum(values[number] == value for number, value in certain.items())
    return Minimality(
        column, algorithm, len(people), size, len(worlds), len(certain), right, max(0, may_be - len(certain))
    )


def _worlds(groups: Sequence[tuple[list[int], Counter[Value]]], rows: int) -> Iterator[list[Value]]:
    for arranged in product(*(list(_arranged(counts)) for _, counts in groups)):
        world: list[Value] = [None] * rows
        for (members, _), own in zip(groups, arranged, strict=True):
            for number, value in zip(members, own, strict=True):
                world[number] = value
        yield world


def _label(person: Label, node: Node, trees: Sequence[Mapping[str | None, Sequence[str | None]]]) -> Label:
    return tuple(tree[value][level] for value, level, tree in zip(person, node, trees, strict=True))


def _allowed(labels: Sequence[Label], world: Sequence[Value], conditions: Sequence[Any]) -> bool:
    classes: dict[Label, Counter[Value]] = {}
    for label, value in zip(labels, world, strict=True):
        classes.setdefault(label, Counter())[value] += 1
    return all(condition(counts) for counts in classes.values() for condition in conditions)


def _condition(model: PrivacyModel, whole: Counter[Value]) -> Callable[[Counter[Value]], bool] | None:
    """Return whether a class with these values satisfies a model; None where that is not known here."""
    total = whole.total()
    match model:
        case KAnonymity():
            return lambda own: own.total() >= model.k
        case DistinctLDiversity():
            return lambda own: len(own) >= model.l
        case AlphaKAnonymity():
            return lambda own: max(own.values()) / own.total() <= model.alpha + _ROUNDING
        case EntropyLDiversity():
            return lambda own: (
                -sum(n / own.total() * log(n / own.total()) for n in own.values()) >= log(model.l) - _ROUNDING
            )
        case TCloseness(distance="equal"):
            return lambda own: (
                sum(abs(own[value] / own.total() - n / total) for value, n in whole.items()) / 2 <= model.t + _ROUNDING
            )
    return None


def _arrangements(counts: Counter[Value]) -> int:
    """Return in how many ways values can be given to people: people are distinct, equal values are not."""
    ways, left = 1, counts.total()
    for n in counts.values():
        for place in range(n):
            ways = ways * (left - place) // (place + 1)
        left -= n
    return ways


def _arranged(counts: Counter[Value]) -> Iterator[tuple[Value, ...]]:
    if not counts.total():
        yield ()
        return
    for value in [value for value, n in counts.items() if n]:
        counts[value] -= 1
        for rest in _arranged(counts):
            yield (value, *rest)
        counts[value] += 1
