"""The cost of a lattice node if the attacker knows several events, computed on arrays; and lower bounds of intervals.

``kanon_sql.release.tables.statements`` defines which rows remain. At a node, both leave out the same rows, round by
round. Rows are fetched once: for each table, how many rows each person has with each combination of codes.

1. Classes of people. Classes of fewer than k people are not released.
2. Items: which kinds of events each person has. Kinds are numbered in the order of their labels, as in the statements,
   because the number decides ties. The row that a row goes through belongs to the same person. It is found once.
3. Rounds. Combinations are listed when events of that number are first checked. Later, some of them are gone.
4. The cost of the remaining rows.

The rounds do not keep the maximum possible, and the rows that remain at a node say little about the nodes below it.
So ``least`` bounds the cost of *any* choice of rows that keeps the promise. Let ``v`` be a node of an interval
``[a, b]``, and let some rows that keep the promise remain at ``v``. Below ``b``, classes and kinds are parts of those
of ``b``: people who share a class and kinds of events at ``v`` also share the classes and kinds of ``b`` that contain
them. So the same rows keep the promise at ``b``, and

- they are among the rows that remain at ``b`` with one event known. Those are the largest set that keeps that promise,
  because the union of two sets that keep it keeps it too;
- for two kinds of which fewer than k people of a class have both (counted among these rows), each person has at most
  one. If all pairs of some kinds of a person are such pairs, the person keeps at most one of these kinds. So partition
  a person's kinds into such cliques: a clique keeps at most the rows of its most valuable kind.

The worth of a remaining row is how much less it costs than a lost row: at ``v`` no more than at ``a``. Any partition
into cliques proves a bound. This one is greedy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from kanon_sql.classes.known_classes import combined_codes, dense
from kanon_sql.engine.base import Column, make_table
from kanon_sql.engine.equality import published
from kanon_sql.engine.progress import check_deadline
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.cell_measures import CELL_MEASURES
from kanon_sql.measures.class_measures import IMPOSSIBLE
from kanon_sql.measures.costs import cell_cost
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from kanon_sql.classes.known_classes import Chosen, Numbers
    from kanon_sql.classes.lattice import Node
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.measures.labels import Labels
    from kanon_sql.release.tables.coded import CodedTables
    from kanon_sql.release.tables.opened import Member
    from kanon_sql.search.full_domain.several_tables import Part

    Worth = NDArray[np.float64]

_KEPT = 20_000_000  # numbers to cache of upper ends of intervals
_BITS = 62  # kinds of a person to put into cliques; the person may keep all others
_ROUNDED = 1e-9  # more than the relative rounding error of a sum of worths


@dataclass(frozen=True)
class _Lookup:
    """The words of the codes of a column, and the labels of each level below the root as numbers in their order."""

    words: list[Numbers]
    numbers: list[Numbers]


@dataclass(frozen=True)
class _Charged:
    """The costs of one column of a table."""

    column: int  # its index among the columns that rows are known by
    place: int  # its index in the lattice
    costs: list[Numbers]  # of the labels of the lookup rows, for each level below the root, in the unit of the measure
    full: int  # the cost of a lost cell in that unit; more than 0
    unit: int  # units of the table in one such unit
    share: float  # the cost of a lost cell, as a share of the most expensive cell of all tables


@dataclass(frozen=True)
class _Rows:
    """The rows of a table: one entry for each combination of a person and codes."""

    part: Part
    person: Numbers
    n: Numbers  # rows with the combination
    codes: list[Numbers]  # for each column that rows are known by, the row in its lookup relation
    lookups: list[_Lookup]
    places: list[int]  # of these columns in the lattice
    charged: list[_Charged]  # its own columns that have a cost
    # the table that rows go through, and the index of the row there; None if rows go through no table
    through: tuple[str, Numbers] | None

    def numbered(self, node: Node) -> tuple[Numbers, int]:
        """Number the labels of each row at a node, in their order. Return the numbers, and one above all of them."""
        codes, sizes = [], []
        for code, lookup, place in zip(self.codes, self.lookups, self.places, strict=True):
            if node[place] < len(lookup.numbers):
                numbers = lookup.numbers[node[place]]
                codes.append(numbers[code])
                sizes.append(int(numbers.max(initial=0)) + 1)
        return dense(*combined_codes(codes, sizes, len(self.n))) if len(self.n) else (self.n, 0)

    def cost(self, node: Node, left: Chosen) -> Cost | float:
        """Return the cost of the table if only the given rows remain; impossible if they are too few."""
        n = np.where(left, self.n, 0)
        rows, total = int(n.sum()), 0
        suppressed = self.part.rows - rows
        if suppressed > self.part.problem.limit:
            return IMPOSSIBLE
        for own in self.charged:
            lost = rows * own.full
            if (level := node[own.place]) < len(own.costs):
                lost = int((n * own.costs[level][self.codes[own.column]]).sum())
            total += own.unit * (lost + suppressed * own.full)
        return self.part.common(total)

    def worth(self, node: Node) -> Worth:
        """Return how much less the rows of each combination cost at a node than lost rows, in most expensive cells."""
        worth = np.zeros(len(self.n), dtype=np.float64)
        for own in self.charged:
            if node[own.place] < len(own.costs):
                worth += own.share * (1 - own.costs[node[own.place]][self.codes[own.column]] / own.full)
        return worth * self.n


@dataclass(frozen=True)
class _Items:
    """The kinds of events of the people who are released at a node, sorted by person and kind."""

    person: Numbers
    kind: Numbers
    group: Numbers  # one for each kind of a class
    through: Numbers  # the item that the item goes through; -1 if there is none
    of_row: Numbers  # the item of each row of all tables of events; -1 for people who are not released
    classes: Numbers  # of all people; -1 for people who are not released


class _Rounds:
    """Leaves out rare kinds, as ``ReleasedRows`` does."""

    def __init__(self, items: _Items, k: int) -> None:
        self.items, self.k = items, k
        self.left = np.ones(len(items.kind), dtype=np.bool_)
        self._kinds = int(items.kind.max(initial=0)) + 1
        self._groups = int(items.group.max(initial=0)) + 1
        self._listed: dict[int, tuple[list[Numbers], Numbers]] = {}
        self._goes_through = np.flatnonzero(items.through >= 0)

    def run(self, most_events: int) -> Iterator[Chosen]:
        """Yield the remaining items after each removal, until nothing more is removed."""
        out = True
        while out:
            out = False
            for events in range(1, most_events + 1):
                check_deadline()
                if self._leave_out(events):
                    out = True
                    yield self.left

    def rare(self, events: int) -> list[Numbers]:
        """Return the combinations of ``events`` events that fewer than k people of a class have, as items."""
        members, key = self.combinations(events)
        few = np.bincount(key)[key] < self.k if len(key) else np.zeros(0, dtype=np.bool_)
        return [own[few] for own in members]

    def combinations(self, events: int) -> tuple[list[Numbers], Numbers]:
        """Return the combinations of the remaining items: their items, and equal numbers for equal ones of a class."""
        if events not in self._listed:
            self._listed[events] = self._list(events)
        members, key = self._listed[events]
        there = self.left[members[0]]
        for own in members[1:]:
            there &= self.left[own]
        if not there.all():
            members, key = [own[there] for own in members], key[there]
            self._listed[events] = members, key
        return members, key

    def _list(self, events: int) -> tuple[list[Numbers], Numbers]:
        items = np.flatnonzero(self.left)
        person, group = self.items.person[items], self.items.group[items]
        ends = np.searchsorted(person, person, side="right")
        members, key, size = [np.arange(len(items))], group, self._groups
        for _ in range(events - 1):
            further = ends[members[-1]] - members[-1] - 1
            before = np.repeat(np.arange(len(further)), further)
            number = np.arange(len(before)) - np.repeat(np.cumsum(further) - further, further)
            another = members[-1][before] + 1 + number
            members = [*(own[before] for own in members), another]
            if len(another):
                key, size = dense(key[before] * self._groups + group[another], size * self._groups)
            else:
                key = another
        return [items[own] for own in members], key

    def _leave_out(self, events: int) -> bool:
        rare = self.rare(events)
        if not len(rare[0]):
            return False
        items = self.items
        people = np.bincount(items.group[self.left], minlength=self._groups)
        order = [people[items.group[own]] * self._kinds + items.kind[own] for own in rare]
        rarest, least = rare[0], order[0]
        for own, rank in zip(rare[1:], order[1:], strict=True):
            rarest, least = np.where(rank < least, own, rarest), np.minimum(rank, least)
        self.left[rarest] = False
        further = self._goes_through
        while len(further):
            further = further[self.left[further]]
            gone = ~self.left[items.through[further]]
            self.left[further[gone]] = False
            if not gone.any():
                break
        return True


@dataclass(frozen=True)
class _Most:
    """An upper bound of the rows that can remain in an interval, by its upper end: see the module docstring."""

    people: Chosen  # which people are released
    of_row: Numbers  # the item of each row of all tables of events; -1 if it cannot remain
    items: int  # their number
    order: Numbers  # the items that can remain, by clique
    begins: Numbers  # the start of each clique in ``order``

    def of_events(self, worth: Worth) -> float:
        """Return the most that events can be worth, given the worth of the rows of each combination."""
        there = self.of_row >= 0
        of_item = np.bincount(self.of_row[there], worth[there], self.items)
        return float(np.maximum.reduceat(of_item[self.order], self.begins).sum()) if len(self.begins) else 0.0


class KnownEvents:
    """The cost of nodes: the ``Measure`` of a search in tables with quasi-identifiers."""

    def __init__(self, coded: CodedTables, parts: Sequence[Part]) -> None:
        self.opened, self.parts, self._coded = coded.opened, parts, coded
        self._begun: tuple[Node, _Rounds] | None = None
        self._rows = self._fetched()
        people = self.opened.people
        self._of_people = self._rows.pop(people.name, None) if people is not None else None
        self._events = list(self._rows.values())
        ends = np.cumsum([0, *(len(own.n) for own in self._events)])
        self._span = {name: slice(*span) for name, span in zip(self._rows, pairwise(ends), strict=True)}
        self._person = _joined([own.person for own in self._events])
        self._most: dict[Node, _Most | None] = {}

    def cost(self, node: Node, most: Cost | float = IMPOSSIBLE) -> Cost | float:
        """Return the exact cost of a node if it is at most ``most``, else some cost above ``most`` or impossible."""
        rounds = self._rounds_at(node)
        self._begun = None  # it continues
        cost = self._cost(node, rounds.items, rounds.left)
        for left in rounds.run(self.opened.policy.km):
            if cost > most or cost == IMPOSSIBLE:  # rows that are left out later add to the cost
                break
            cost = self._cost(node, rounds.items, left)
        return cost

    def left(self, node: Node) -> tuple[Numbers, Numbers]:
        """Return the people and kinds that remain at a node, by their numbers."""
        rounds = self._rounds_at(node)
        self._begun = None
        for _ in rounds.run(self.opened.policy.km):
            pass
        return rounds.items.person[rounds.left], rounds.items.kind[rounds.left]

    def least(self, lower: Node, upper: Node) -> Cost | float:
        """Return a lower bound of the cost of all nodes of an interval."""
        if (most := self._most_of(upper)) is None:
            return IMPOSSIBLE
        worth = most.of_events(_joined([own.worth(lower) for own in self._events]))
        if self._of_people is not None:
            worth += float(self._of_people.worth(lower)[most.people[self._of_people.person]].sum())
        # Costs are whole numbers: round the saving down.
        return max(0, self._everything - math.floor(Fraction(worth * (1 + _ROUNDED)) * self._dearest))

    @cached_property
    def _dearest(self) -> int:
        """The cost of the most expensive cell of all tables."""
        return max(1, *(part.weight * full for part in self.parts for full in part.costs.full))

    @cached_property
    def _everything(self) -> int:
        return sum(part.weight * part.rows * sum(part.costs.full) for part in self.parts)

    def _cost(self, node: Node, items: _Items, left: Chosen) -> Cost | float:
        total: Cost | float = 0
        if self._of_people is not None:
            total += self._of_people.cost(node, items.classes[self._of_people.person] >= 0)
        there = items.of_row >= 0
        there[there] = left[items.of_row[there]]
        for name, own in self._rows.items():
            total += own.cost(node, there[self._span[name]])
        return total

    # 1. Classes

    def _classes(self, node: Node) -> Numbers:
        classes = np.zeros(self._people, dtype=np.int64)
        if self._of_people is not None:
            classes[self._of_people.person], _ = self._of_people.numbered(node)
        members = np.bincount(classes)
        return np.where(members[classes] >= self.opened.policy.k, classes, -1)

    # 2. Items

    def _items(self, node: Node) -> _Items:
        classes = self._classes(node)
        kinds, above = [], 0
        for own in self._events:
            numbers, size = own.numbered(node)
            kinds.append(numbers + above)
            above += size
        kind, person = _joined(kinds), self._person
        there = np.flatnonzero(classes[person] >= 0)
        found, place = np.unique(person[there] * above + kind[there], return_inverse=True)
        of_row = np.full(len(person), -1, dtype=np.int64)
        of_row[there] = place
        person, kind = found // max(1, above), found % max(1, above)
        through = np.full(len(found), -1, dtype=np.int64)
        for name, own in self._rows.items():
            if own.through is not None:
                table, row = own.through
                item = of_row[self._span[name]]
                known = item >= 0
                through[item[known]] = of_row[self._span[table]][row[known]]
        _, group = np.unique(classes[person] * above + kind, return_inverse=True)
        return _Items(person, kind, group, through, of_row, classes)

    # 3. Rounds

    def _rounds_at(self, node: Node) -> _Rounds:
        """Return the rounds of a node after the round of single events, which removes all rare kinds at once."""
        if self._begun is None or self._begun[0] != node:
            rounds = _Rounds(self._items(node), self.opened.policy.k)
            for _ in rounds.run(1):
                pass
            self._begun = node, rounds
        return self._begun[1]

    # What can remain in an interval

    def _most_of(self, node: Node) -> _Most | None:
        """Return what can remain below a node; None if a table has to lose more rows than allowed."""
        self._most[node] = self._most.pop(node) if node in self._most else self._find_most(node)
        if len(self._most) > max(2, _KEPT // max(1, len(self._person))):
            del self._most[next(iter(self._most))]  # the least recently used entry
        return self._most[node]

    def _find_most(self, node: Node) -> _Most | None:
        rounds = self._rounds_at(node)
        items = rounds.items
        worth = _joined([own.worth(node) for own in self._events])
        there = items.of_row >= 0
        of_item = np.bincount(items.of_row[there], worth[there], len(items.kind)).astype(np.float64, copy=False)
        one, other = rounds.rare(2) if self.opened.policy.km > 1 else (items.kind[:0], items.kind[:0])
        clique = _cliques(items, rounds.left, of_item, one, other)
        order = np.argsort(clique, kind="stable")[np.count_nonzero(clique < 0) :]
        begins = np.flatnonzero(np.diff(clique[order], prepend=-1))
        of_row = np.where(there, items.of_row, 0)
        can_be_left = there & rounds.left[of_row] if len(items.kind) else there
        of_row = np.where(can_be_left, of_row, -1)
        most = _Most(items.classes >= 0, of_row, len(items.kind), order, begins)
        tables = []
        if (people := self._of_people) is not None:
            tables.append((people.part, people.n[most.people[people.person]].sum()))
        for name, own in self._rows.items():
            n = np.zeros(len(self._person))
            n[self._span[name]] = own.n
            tables.append((own.part, most.of_events(n)))
        return most if all(part.rows - left <= part.problem.limit for part, left in tables) else None

    # The rows

    def _fetched(self) -> dict[str, _Rows]:
        opened, engine = self.opened, self.opened.engine
        (self._people,) = engine.row(sql.select_count(self._coded.people), "people in the tables")
        lookups: dict[str, _Lookup] = {}
        found: dict[str, _Rows] = {}
        for part in self.parts:
            member = opened.member(part.name)
            for hierarchy in opened.known_with(member):
                if hierarchy.column.name not in lookups:
                    lookups[hierarchy.column.name] = _lookup(engine, hierarchy)
            found[member.name] = self._fetch(part, member, lookups, found)
        return found

    def _fetch(self, part: Part, member: Member, lookups: dict[str, _Lookup], before: dict[str, _Rows]) -> _Rows:
        opened, costs, known = self.opened, part.costs, self.opened.known_with(member)
        names = [own.column.name for own in known]
        codes = {"codes": [sql.column(code) for own in known for code in self._coded.codes(own)]}
        query = sql.query("tables/coded_rows", values=codes, relations={"coded_rows": self._coded.of(member)})
        person, *words, n = _arrays(opened.engine, query, f"the rows of {member.name} as arrays")
        of_words = iter(words)
        codes_of = [[next(of_words) for _ in own.words] for own in known]
        rows = [_places(lookups[name].words, own) for name, own in zip(names, codes_of, strict=True)]
        first = len(part.hierarchies) - len(known)
        charged = []
        for place in part.own_columns:
            if unit := costs.units[place]:
                hierarchy, labels = part.hierarchies[place], part.problem.labels[place]
                of_labels = _costs(opened.engine, hierarchy, labels, lookups[names[place - first]])
                full = costs.full[place] // unit
                share = float(Fraction(part.weight * costs.full[place], self._dearest))
                charged.append(_Charged(place - first, part.columns[place], of_labels, full, unit, share))
        through = None
        if (above := opened.above(member)) is not None:
            whole = before[above.name]
            mine = [person, *rows[len(rows) - len(whole.codes) :]]
            through = above.name, _places([whole.person, *whole.codes], mine)
        of_columns = [lookups[name] for name in names]
        return _Rows(part, person, n, rows, of_columns, list(part.columns[first:]), charged, through)


def _lookup(engine: DuckDBEngine, hierarchy: Hierarchy) -> _Lookup:
    plain = Column(VALUE, hierarchy.column.type)
    labels = [published(sql.column(VALUE), plain), *(sql.column(level_name(n)) for n in range(1, hierarchy.height))]
    words = [sql.column(code_name(word)) for word in range(len(hierarchy.words))]
    ranks = [sql.over(exp.Anonymous(this="DENSE_RANK"), order=[label]) for label in labels]
    numbers = [
        sql.named(exp.Sub(this=rank, expression=sql.literal(1)), f"number_{level}") for level, rank in enumerate(ranks)
    ]
    query = exp.select(*words, *numbers).from_(hierarchy.relation.copy())
    found = _arrays(engine, query, f"the labels of {hierarchy.column.name} in their order")
    return _Lookup(found[: len(words)], found[len(words) :])


def _costs(engine: DuckDBEngine, hierarchy: Hierarchy, labels: Labels, lookup: _Lookup) -> list[Numbers]:
    """Return the cost of the labels of each row of a lookup relation, for each level below the root."""
    words = [sql.column(code_name(placement.number)) for placement in labels.placements]
    cost = sql.named(cell_cost(labels, CELL_MEASURES["loss"], None), "cost")
    query = exp.select(sql.column("level"), *words, cost).from_(labels.relation.copy())
    level_of, *codes, charged = _arrays(engine, query, f"what the labels of {hierarchy.column.name} cost")
    costs = []
    for level in range(hierarchy.height):
        own = level_of == level
        prefixes = [code & word.mask(level) for code, word in zip(lookup.words, hierarchy.words, strict=True)]
        free = np.append(charged[own], 0)  # for NULL, at index -1, where no row of people has it
        costs.append(free[_places([code[own] for code in codes], prefixes)])
    return costs


def _arrays(engine: DuckDBEngine, query: exp.Query, title: str) -> list[Numbers]:
    """Return the columns of a query as arrays of whole numbers."""
    table = make_table(engine, "kanon_fetched", query, title)
    found = engine.fetched(table, lambda relation: relation.fetchnumpy())
    engine.run(sql.drop(table), "drop the fetched rows")
    return [np.ascontiguousarray(column, dtype=np.int64) for column in found.values()]


def _places(known: Sequence[Numbers], wanted: Sequence[Numbers]) -> Numbers:
    """Return the index of each combination of numbers among the known ones, which are distinct."""
    both = [np.unique(np.concatenate(pair), return_inverse=True)[1] for pair in zip(known, wanted, strict=True)]
    key, size = combined_codes(both, [int(own.max(initial=0)) + 1 for own in both], len(both[0]))
    if not len(key):
        return key
    key, size = dense(key, size)
    place = np.full(size, -1, dtype=np.int64)
    place[key[: len(known[0])]] = np.arange(len(known[0]))
    return place[key[len(known[0]) :]]


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def _cliques(items: _Items, left: Chosen, worth: Worth, one: Numbers, other: Numbers) -> Numbers:
    """Return the clique of each remaining item, and -1 for others.

    The items of a person are taken by worth, highest first. Each joins the first clique whose items are all too rare
    together with it. ``one`` and ``other`` are pairs of items of a person that are too rare together.
    """
    rare = np.zeros(len(left), dtype=np.bool_)
    rare[one] = rare[other] = True
    own = np.flatnonzero(rare)
    order = own[np.lexsort((items.kind[own], -worth[own], items.person[own]))]
    person = items.person[order]
    at = np.arange(len(order)) - np.searchsorted(person, person)
    place = np.zeros(len(left), dtype=np.int64)
    place[order] = at
    together = np.zeros(len(left), dtype=np.int64)  # as bits, the items that each item is too rare with
    near = (place[one] < _BITS) & (place[other] < _BITS)
    for this, that in ((one[near], other[near]), (other[near], one[near])):
        np.bitwise_or.at(together, this, np.int64(1) << place[that])
    # A clique has the number of its first item.
    clique = np.where(left, np.arange(len(left)), -1)
    firsts: list[Numbers] = []
    members: list[Numbers] = []
    people = int(items.person.max(initial=-1)) + 1
    for turn in range(min(int(at.max(initial=-1)) + 1, _BITS)):
        waiting = order[at == turn]
        firsts.append(np.zeros(people, dtype=np.int64))
        members.append(np.zeros(people, dtype=np.int64))
        for first, own_members in zip(firsts, members, strict=True):
            person = items.person[waiting]
            joins = (own_members[person] & ~together[waiting]) == 0
            joining, of = waiting[joins], person[joins]
            begins = own_members[of] == 0
            first[of[begins]] = joining[begins]
            clique[joining] = first[of]
            own_members[of] |= np.int64(1) << turn
            waiting = waiting[~joins]
    return clique
