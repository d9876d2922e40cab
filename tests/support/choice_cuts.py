"""Mondrian and mondrian-plus on many worlds of one small table, for ``choice_replays.py``.

Which cuts a part has, and in which order they are tried, does not depend on sensitive values: that is found once. Only
whether sides satisfy the models differs from world to world. Parts are sets of tuples, texts with a tree each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from plain_mondrian import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from choice import Row
    from choice_replays import Table

Part = frozenset[int]
"""Numbers of tuples."""
Gained = dict[tuple[int, int], tuple[float, Part, Part]]
"""By pair of parts, what a cut of both together saves, and its sides."""
Judge = Callable[[Part], bool]
"""Whether a side satisfies the models."""
MayTry = Callable[[Part, tuple[Part, ...]], bool]
"""Whether a part may be cut into sides under the choice "all-or-none"; None under "greedy"."""
NEAREST = 2
SMALL = 1e-9


class Cuts:
    """Cuts of parts of a table, which do not depend on sensitive values."""

    def __init__(self, table: Table, k: int) -> None:
        self.table, self.k = table, k
        rows = [own for own, n in zip(table.people.tuples, table.people.counts, strict=True) for _ in range(n)]
        self.columns = [Column([row[number] for row in rows], tree) for number, tree in enumerate(table.trees)]
        self._known: dict[Part, Any] = {}
        self._labels: dict[Part, Row] = {}

    def size(self, part: Iterable[int]) -> int:
        return sum(self.table.people.counts[number] for number in part)

    def values(self, part: Iterable[int], column: int) -> set[Any]:
        return {self.table.people.tuples[number][column] for number in part}

    def place(self, number: int, column: int) -> int:
        return int(self.columns[column].place[self.table.people.tuples[number][column]])

    def label(self, part: Part) -> Row:
        """Return what is published of a part: the lowest label over all of its values."""
        if part not in self._labels:
            values = [self.values(part, number) for number in range(len(self.columns))]
            self._labels[part] = tuple(
                own.above[next(iter(some))][own.level(some)] for own, some in zip(self.columns, values, strict=True)
            )
        return self._labels[part]


class MedianCuts(Cuts):
    """Mondrian: strict cuts at medians, in the column that is widest first."""

    def cuts(self, part: Part) -> list[tuple[Part, Part]]:
        """Return the cuts of a part that leave enough rows on both sides, in the order in which they are tried."""
        if part not in self._known:
            widths = [own.width(self.values(part, n), "range", "tree") for n, own in enumerate(self.columns)]
            found = []
            for column in sorted(range(len(widths)), key=lambda n: -widths[n]):
                if not widths[column] or self.size(part) < 2 * self.k:
                    continue
                places = sorted(self.place(n, column) for n in part for _ in range(self.table.people.counts[n]))
                median = next(p for p in reversed(places) if 2 * sum(q < p for q in places) < len(places))
                if median == places[-1]:
                    median = max(p for p in places if p < median)
                low = frozenset(n for n in part if self.place(n, column) <= median)
                if min(self.size(low), self.size(part - low)) >= self.k:
                    found.append((low, part - low))
            self._known[part] = found
        known: list[tuple[Part, Part]] = self._known[part]
        return known

    def parts(self, met: Judge, may_try: MayTry | None) -> list[Part]:
        waiting, finished = [frozenset(range(len(self.table.people.tuples)))], []
        while waiting:
            part = waiting.pop()
            cuts = self.cuts(part)
            if may_try is not None:  # the first that may be tried, and no other
                cuts = [cut for cut in cuts if may_try(part, cut)][:1]
            sides = next((cut for cut in cuts if all(map(met, cut))), None)
            if sides is None:
                finished.append(part)
            else:
                waiting += sides
        return finished


@dataclass(frozen=True, order=True)
class Cut:
    """A cut of one group of places of a column against all others, in the order in which cuts are preferred."""

    lost: float
    column: int
    from_place: int
    to_place: int
    inside: Part = field(compare=False)


class BestCuts(Cuts):
    """Mondrian-plus: the cut that saves most, at the nodes of trees; then, once, pairs of parts are cut again."""

    def lost(self, part: Part) -> float:
        """Return what the rows of a part lose: the same sums in the same order as the database's."""
        cost: float | None = None
        for number, own in enumerate(self.columns):
            if len(own.leaves) <= 1:
                continue
            level = own.level(self.values(part, number))
            cell = own.above[next(iter(self.values(part, number)))][level]
            under = sum(own.above[leaf][level] == cell for leaf in own.leaves)
            share = 0.0 if level == 0 else 1.0 if level == own.height else (under - 1.0) / (len(own.leaves) - 1)
            cost = share if cost is None else cost + share
        return self.size(part) * (cost or 0.0)

    def cuts(self, part: Part) -> list[Cut]:
        """Return the best cut of each column, the best of all first."""
        if part not in self._known:
            best: dict[int, Cut] = {}
            for cut in self._all_cuts(part) if self.size(part) >= 2 * self.k else ():
                best[cut.column] = min(cut, best.get(cut.column, cut))
            self._known[part] = sorted(best.values())
        known: list[Cut] = self._known[part]
        return known

    def _all_cuts(self, part: Part) -> Iterator[Cut]:
        for column, own in enumerate(self.columns):
            for level in range(own.height):
                groups: dict[Any, set[int]] = {}
                for number in part:
                    groups.setdefault(own.above[self.table.people.tuples[number][column]][level], set()).add(number)
                for label, numbers in groups.items():
                    inside = frozenset(numbers)
                    outside = part - inside
                    if min(self.size(inside), self.size(outside)) < self.k:
                        continue
                    under = [own.place[leaf] for leaf in own.leaves if own.above[leaf][level] == label]
                    lost = self.lost(inside) + self.lost(outside)
                    yield Cut(lost, column, min(under), max(under), inside)

    def parts(self, met: Judge, may_try: MayTry | None) -> list[Part]:
        search = _Search(self, met, may_try)
        search.cut({1: frozenset(range(len(self.table.people.tuples)))})
        if may_try is None:
            search.cut(search.recut_pairs())
        return list(search.finished.values())


class _Search:
    """Cuts of one world: parts have numbers, by which ties are broken, and paths in the tree of cuts."""

    def __init__(self, cuts: BestCuts, met: Judge, may_try: MayTry | None) -> None:
        self.cuts, self.met, self.may_try = cuts, met, may_try
        self.finished: dict[int, Part] = {}
        self.paths = {1: ""}
        self.numbers = 1

    def cut(self, open_parts: dict[int, Part]) -> None:
        """Cut parts round by round."""
        tried: dict[int, int] = dict.fromkeys(open_parts, 0)
        while open_parts:
            following: dict[int, Part] = {}
            made = 0
            for number in sorted(open_parts):
                part = open_parts[number]
                own = self.cuts.cuts(part)[tried[number] :]
                if not own:
                    self.finished[number] = part
                    continue
                sides = (own[0].inside, part - own[0].inside)
                may = self.may_try is None or self.may_try(part, sides)
                if may and self.may_try is not None and not all(map(self.met, sides)):
                    self.finished[number] = part
                    continue
                if not may or not all(map(self.met, sides)):
                    tried[number] += 1
                    following[number] = part
                    continue
                for place, side in enumerate(sides):
                    new = self.numbers + 1 + 2 * made + place
                    following[new], tried[new] = side, 0
                    self.paths[new] = self.paths[number] + "ab"[place]
                made += 1
            self.numbers += 2 * made
            open_parts = following

    def recut_pairs(self) -> dict[int, Part]:
        """Cut pairs again; return new sides that may be cut further, which are finished no more."""
        gained = self._gained()
        # Those that are the best for both of their parts.
        first: dict[int, tuple[float, int, int]] = {}
        for (one, other), (gain, _, _) in gained.items():
            for member in (one, other):
                first[member] = min((-gain, one, other), first.get(member, (-gain, one, other)))
        mutual = sorted(pair for pair in gained if first[pair[0]][1:] == pair == first[pair[1]][1:])
        again: dict[int, Part] = {}
        for number, (one, other) in enumerate(mutual):
            del self.finished[one], self.finished[other]
            for place, side in enumerate(gained[one, other][1:]):
                new = self.numbers + 1 + 2 * number + place
                self.paths[new] = min(self.paths[one], self.paths[other]) + "ab"[place]
                (again if self.cuts.size(side) >= 2 * self.cuts.k else self.finished)[new] = side
        self.numbers += 2 * len(mutual)
        return again

    def _near(self, lost: dict[int, float]) -> set[tuple[int, int]]:
        """Return pairs that could be merged at little cost: for each part, the nearest ones."""
        order = sorted(self.finished, key=lambda number: (self.paths[number], number))
        weighed = []
        for place, one in enumerate(order):
            for other in order[place + 1 :]:
                both = self.finished[one] | self.finished[other]
                apart = lost[one] + lost[other]
                weighed.append(((self.cuts.lost(both) - apart) / self.cuts.size(both), (one, other)))
        near = set()
        for side in (0, 1):
            seen: dict[int, int] = {}
            for _, pair in sorted(weighed):
                seen[pair[side]] = seen.get(pair[side], 0) + 1
                if seen[pair[side]] <= NEAREST:
                    near.add(pair)
        return near

    def _gained(self) -> Gained:
        """Return the pairs of which a cut saves something."""
        lost = {number: self.cuts.lost(part) for number, part in self.finished.items()}
        gained = {}
        for one, other in self._near(lost):
            both = self.finished[one] | self.finished[other]
            best = next(iter(self.cuts.cuts(both)), None)
            if best is None or not (self.met(best.inside) and self.met(both - best.inside)):
                continue
            gain = lost[one] + lost[other] - best.lost
            if gain > SMALL:
                gained[one, other] = (gain, best.inside, both - best.inside)
        return gained
