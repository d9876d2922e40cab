"""Steps of ``local`` if it cannot visit all nodes: each is chosen by what it would save the others.

Steps are ordered by the loss of rows at them. A node inserted among them publishes rows that would leave at a
later step, or never. Each of these rows saves its loss there (its price) minus its loss at the node.

1. Take all of SPOLG's steps, and note their cost. If all of them would take more than a good half of a time limit,
   some are left out: their rows leave at a later one.
2. Start without steps: each row has the price of all its cells. If tests take long, start with the SPOLG steps
   that publish most.
3. Add a step: anneal from one of the steps, at first of SPOLG's, by the saving of a node. Publish at the best node
   in its place, and at the steps after it again. If all rows cost less then, that is the new sequence.
4. Exchange a step: its rows then have the price of the next one; anneal from its node. Steps take turns. While
   there is room for more steps, exchanging alternates with adding.
5. Stop when neither helped for a while, or time is up. If SPOLG's steps cost less in the end, take those instead.

The loss of a row at a step is approximated by the average loss of rows at its node. The saving of a node ignores
that classes of later steps may become too small: 3 finds that out.
"""

from __future__ import annotations

import math
import random
import time
from typing import TYPE_CHECKING

from kanon_sql.engine.progress import next_deadline, stopped
from kanon_sql.search.full_domain.annealing import walk
from kanon_sql.search.local.spolg import path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.search.local.remaining import Other, Remaining
    from kanon_sql.search.problem import Problem, SearchProgress

_MOST = 18  # steps: each is a rule that people read
_FEW = 8  # steps up to which only new ones are searched, near SPOLG's
_WORTHY = 0.005  # of all rows: the SPOLG steps that publish more
_COLD = 0.00005  # the temperature: good nodes are near, and warmer walks ended farther from them
_IN_VAIN = 2  # times as many tries as there are steps, before the search stops
_TRIES = 60  # at most
_TOGETHER, _READ = 16, 130_000  # nodes tested in one statement, and tuples that it reads, at most
_OF_SPOLG, _LEAST = 0.6, 0.001  # of the time until a limit, at most; seconds, at least
_AT_THE_END = 3  # times as long as measuring SPOLG's steps took: time reserved to measure the best
_SHARE = 1 << 30  # of the cost of all cells of a row: prices are integers, whose sum does not depend on the order


def publish_by_price(remaining: Remaining, progress: SearchProgress | None, found: Sequence[Other]) -> None:
    """Publish at the best steps found when nothing helps any more or time is up; or at those of another algorithm."""
    others = [*found]
    best: list[Node] | None = None
    try:
        # 1. SPOLG's steps. If this is interrupted, the steps taken so far are the result.
        for step in steps_in_time(path(remaining.problem), next_deadline()):
            remaining.publish(step)
        rows = _WORTHY * remaining.problem.frequency.rows
        starts = [step for step, own in zip(remaining.steps, remaining.published, strict=True) if own > rows]
        starts = starts or [remaining.problem.lattice.top]
        most = sorted(zip(remaining.published, remaining.steps, strict=True))[-_MOST:]
        begin = time.monotonic()
        others += remaining.finished("spolg")
        end = _AT_THE_END * (time.monotonic() - begin)
        # 2. to 4.
        first = best = sorted((step for _, step in most), key=sum) if remaining.begins_with_path else []
        for best in _better_and_better(remaining, starts, progress, first):  # noqa: B007 - the last one is used
            if (at := next_deadline()) is not None and at - time.monotonic() < end:
                raise stopped("steps")
    finally:
        # 5. The cheapest steps.
        if best is not None:
            remaining.go(best)
        remaining.take_cheapest(others)


def steps_in_time(steps: Sequence[Node], at: float | None) -> Iterator[Node]:
    """Yield the steps of a path. If all would take too long at the speed so far, skip some, but not the last."""
    begin, place = time.monotonic(), 0
    end = math.inf if at is None else begin + _OF_SPOLG * (at - begin)
    for number in range(len(steps)):
        yield steps[place]
        if place == len(steps) - 1:
            return
        now, left = time.monotonic(), len(steps) - 1 - place
        seconds = left * (now - begin) / (number + 1)
        place += min(left, max(1, math.ceil(seconds / max(end - now, _LEAST))))


def _better_and_better(
    remaining: Remaining, starts: list[Node], progress: SearchProgress | None, best: list[Node]
) -> Iterator[list[Node]]:
    """Yield the best sequence of steps so far, after each try, starting with the given one."""
    draw = random.Random(0)  # noqa: S311 - searches are deterministic
    generalization = remaining.problem.costs.generalization
    remaining.go(best)
    least, in_vain = _cost(remaining), 0
    for number in range(_TRIES):
        if in_vain > _IN_VAIN * (len(best) + 1):
            return
        # 3. Add a step, or 4. exchange one.
        more = len(best) < _MOST and (len(best) < _FEW or number % 2)
        gone = None if more else number % len(best)
        start = best[gone] if gone is not None else draw.choice(starts if len(best) < _FEW else best)
        remaining.go(best)
        savings = _Savings(remaining, gone)
        node = walk(savings, draw, start, _COLD, remaining.neighbours, _COLD)
        if progress is not None:
            progress(remaining.tested, None, None)
        in_vain += 1
        if node == start or savings.estimate(node) >= 0:
            yield best
            continue
        others = [step for place, step in enumerate(best) if place != gone]
        remaining.go(sorted(dict.fromkeys([*others, node]), key=generalization))
        cost = _cost(remaining)
        if cost < least:
            best, least, in_vain = list(remaining.steps), cost, 0
        yield best


def _price(problem: Problem, node: Node) -> int:
    """Return the average cost of a row at a node, as a share of the cost of all its cells."""
    everything = problem.frequency.rows * sum(problem.costs.full)
    return problem.costs.generalization(node) * _SHARE // max(1, everything)


def _cost(remaining: Remaining) -> int:
    """Return the cost of all rows, by the prices of their steps."""
    published = remaining.published
    left = remaining.problem.frequency.rows - sum(published)
    prices = [_price(remaining.problem, step) for step in remaining.steps]
    return sum(rows * price for rows, price in zip(published, prices, strict=True)) + left * _SHARE


class _Savings:
    """Savings of nodes if inserted among the steps, without one of these: walks look for the largest.

    The rows of the removed step are assumed to leave at the next one.
    """

    def __init__(self, remaining: Remaining, gone: int | None) -> None:
        self.problem, self._remaining = remaining.problem, remaining
        self._known: dict[Node, int] = {}
        prices = [*(_price(self.problem, step) for step in remaining.steps), _SHARE]
        if gone is not None:
            prices[gone] = prices[gone + 1]
        remaining.set_prices(prices)

    @property
    def most_together(self) -> int:
        return max(1, min(_TOGETHER, _READ // max(1, self.problem.frequency.tuples)))

    def knows(self, node: Node) -> bool:
        return node in self._known

    def look_ahead(self, nodes: Iterable[Node]) -> None:
        unknown = [node for node in nodes if node not in self._known]
        if not unknown:
            return
        prices = [_price(self.problem, node) for node in unknown]
        found = self._remaining.worth(unknown, prices)
        for node, price, (rows, worth) in zip(unknown, prices, found, strict=True):
            self._known[node] = (rows * price - worth) * sum(self.problem.costs.full) // _SHARE

    def estimate(self, node: Node) -> int:
        self.look_ahead([node])
        return self._known[node]

    def estimate_at_least(self, node: Node) -> float:
        return self._known.get(node, -math.inf)
