"""``mondrian-plus``: the cuts that save most, of each part and of pairs of parts, over arrays.

A round cuts every part where that saves most: at any place of any column, or (``mondrian``) only at the median of
each column. It goes through the columns one by one:

1. Groups: the tuples of each part in the order of their places. Tuples of one place form a group; in a column with a
   tree, so do tuples under one label.
2. Summaries of the groups before and after each group, by one running minimum, maximum or union over all parts at
   once: values of later parts are shifted so that they do not affect earlier ones.
3. Cuts: of numbers and ranges, up to a group against all after it; at the nodes of a tree, and of NULLs, the group
   against all others. Cuts that leave too few rows on a side are dropped.
4. The loss of both sides: the cut after which a part loses least wins.
5. If the models check more than row counts, a statement checks the sides of these cuts (``all_or_none``). If the cut
   of a part fails, the column counts as tried without success.

The summary of a group holds the first and last of its places in each column and, if texts are written as sets, its
values as bits. It is kept as two arrays with one column per group, so one call handles all quasi-identifiers.
Entries are picked by ``take``, which is several times as fast as an index.

Greedy cuts separate rows that later turn out to belong together. Each pass over pairs of parts

1. puts the parts in the order of the tree of cuts, and in blocks of neighbours;
2. finds for every part the few others of its block that are cheapest to merge with it;
3. cuts every such pair where that saves most, like a part;
4. keeps the cuts that reduce the loss and are the best for both of their parts;
5. makes them. A side with enough rows for two parts is cut further.

Two boxes with the same cut send their rows into the same two boxes, so a release assigns rows to boxes as before.
Every pass shifts the blocks by half a block, so no border separates the same two parts for good. Blocks cost little:
with all pairs of Adult in one block, five passes save 18 % at k = 5 instead of 15 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from kanon_sql.engine.progress import check_deadline
from kanon_sql.hierarchy.lookup_relation import WORD_BITS
from kanon_sql.measures.labels import PART, node_name
from kanon_sql.models.base import N
from kanon_sql.search.mondrian.all_or_none import forbid
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from kanon_sql.measures.labels import Places
    from kanon_sql.search.mondrian.parts import Parts
    from kanon_sql.search.problem import SearchProgress

    Numbers = NDArray[np.int64]
    Costs = NDArray[np.float64]
    Truths = NDArray[np.bool_]
    Array = NDArray[Any]
    Cuts = NDArray[np.void]

BLOCK = 512  # parts in a block: all pairs within a block are compared
_NEAREST = 2  # partners per part whose pairs are cut: a third saves a thousandth of the loss in a sixth more time
_LEAST_GAIN = 0.002  # share of the loss: a pass that gains less is the last
_SMALL = 1e-9  # gains up to this count as 0
_READ = 1_000_000  # tuples fetched by one statement
_SLAB = 32_768  # pairs of parts, or their tuples, processed together: their summaries stay in the cache
_BOTH = 2  # parts of a pair
_TABLE = 256  # places of a column up to which its costs are tabulated for all pairs of ends
_SHORT = 4  # entries of a group up to which all groups are merged together, entry by entry
_NO_END = np.iinfo(np.int32).max
_ROW = "tuple_row"
_CUT = np.dtype([("part", "i8"), ("column", "i8"), ("low", "i8"), ("high", "i8"), ("lost", "f8")])
"""The best cut of a part: places low to high of a column (numbered from 1), and the loss of both sides."""


@dataclass(frozen=True)
class _Known:
    """Summaries of tuples, groups or parts: one column each in both arrays."""

    # for some quasi-identifiers, the least place and the negated greatest place: the summary of several is the minimum
    ends: Array
    bits: Numbers  # values as bits, of several quasi-identifiers in one word
    size: int  # more than any place

    def take(self, which: Numbers) -> _Known:
        return replace(self, ends=self.ends.take(which, axis=1), bits=self.bits.take(which, axis=1))

    def where(self, condition: Truths) -> _Known:
        """Return the summaries, empty where the condition does not hold."""
        return replace(self, ends=np.where(condition, self.ends, _NO_END), bits=np.where(condition, self.bits, 0))

    def with_(self, other: _Known) -> _Known:
        return replace(self, ends=np.minimum(self.ends, other.ends), bits=self.bits | other.bits)

    def pairs(self, ones: slice, others: slice) -> _Known:
        """Return the merged summaries of each of some groups with each of others: arrays of three dimensions."""
        ends = np.minimum(self.ends[:, ones, None], self.ends[:, None, others])
        return replace(self, ends=ends, bits=self.bits[:, ones, None] | self.bits[:, None, others])

    def of_groups(self, starts: Numbers) -> _Known:
        ends, bits = _merged(np.minimum, self.ends, starts), _merged(np.bitwise_or, self.bits, starts)
        return replace(self, ends=ends, bits=bits)

    def up_to(self, parts: Numbers, longest: int) -> _Known:
        """Return the running summary of the groups of each part. No part has more than ``longest`` groups.

        ``parts`` never falls.
        """
        span = 2 * self.size + 2
        fits = span * (int(np.abs(parts).max()) + 1) < _NO_END
        moved = (parts * -span).astype(np.int32 if fits else np.int64)
        ends = np.minimum.accumulate(self.ends + moved, axis=1)
        ends -= moved
        if not len(self.bits):
            return replace(self, ends=ends)
        bits, step = self.bits.copy(), 1
        while step < longest:
            bits[:, step:] |= np.where(parts[step:] == parts[:-step], bits[:, :-step], 0)
            step *= 2
        return replace(self, ends=ends, bits=bits)

    def from_end(self) -> _Known:
        return replace(self, ends=self.ends[:, ::-1], bits=self.bits[:, ::-1])


@dataclass(frozen=True)
class _ArrayColumn:
    number: int  # number in the cuts, from 1
    places: Numbers
    null: int | None  # the place that is cut from all others; None if there is none
    # for each level, the first and the last place under the label of a place; if cuts are made at nodes
    nodes: tuple[tuple[Numbers, Numbers], ...] | None
    # cost of a row of each group in this column; None if every row costs the same
    cost: Callable[[_Known], Costs] | None


@dataclass(frozen=True)
class _Groups:
    """The groups of one column: rows of a part at one place, by part and place."""

    part: Numbers
    place: Numbers
    rows: Numbers
    up_to: Numbers  # rows of each group and those before it
    total: Numbers
    known: _Known
    # ... of each and those before it.
    before: _Known
    # ... of each and those after it.
    after: _Known


@dataclass(frozen=True)
class _Neighbours:
    """Runs of neighbouring groups: their starts, rows and summaries."""

    begins: Numbers
    rows: Numbers
    known: _Known


@dataclass(frozen=True)
class _State:
    """The current parts. Each round replaces the whole state, so a search that is stopped keeps the previous one."""

    part: Numbers  # of each tuple
    working: Truths  # of each tuple, whether its part may be cut
    tried: Truths  # of each column and tuple, whether its part was tried there without success
    made: tuple[tuple[Cuts, Numbers], ...] = ()  # cuts, and numbers of insides; an outside has the next number
    numbers: int = 1  # part numbers in use
    rounds: int = 0


class BestCuts:
    """A table in parts, its tuples in arrays."""

    def __init__(self, parts: Parts) -> None:
        """Read the tuples and the places of their values."""
        self.k, self.tables = parts.problem.k, parts
        names = [*(column.place for column in parts.places), N]
        row = sql.column("rowid")
        some = exp.Between(this=row, low=exp.Placeholder(this="first"), high=exp.Placeholder(this="last"))
        query = exp.select(sql.named(row.copy(), _ROW), *names).from_(parts["kanon_placed"].copy()).where(some)
        found = [np.zeros((0, len(names) + 1), dtype=np.int64)]
        for first in range(0, parts.problem.frequency.tuples, _READ):
            rows = parts.rows("the tuples as arrays", lambda: query, first=first, last=first + _READ - 1)
            found.append(np.array(rows, dtype=np.int64).reshape(-1, len(names) + 1))
        values = np.concatenate(found).T
        self.row, self.n, self.places = values[0].copy(), values[-1].copy(), values[1:-1].astype(np.int32)
        tuples = _Tuples(len(self.n))
        self.columns = self._columns(parts, tuples)
        self.known = tuples.known()
        self.looked_at = np.zeros((2, 0), dtype=np.int64), np.zeros(0, dtype=_CUT)  # compared pairs, their best cuts
        whole = np.ones(len(self.n), dtype=np.int64)
        self.state = _State(whole, whole.astype(bool), np.zeros(self.places.shape, dtype=bool))

    def search(self, progress: SearchProgress | None) -> None:
        """Cut until no part can be cut; then cut pairs of parts again, in ``pairs`` passes."""
        self._cut(progress)
        if self.tables.problem.is_all_or_none:  # a cut of a pair that succeeds reveals values of its first parts
            return
        for number in range(self.tables.cutting.pairs):
            more = self._recut(number)
            self._cut(progress)
            if not more:
                return

    def write(self) -> None:
        """Write the parts and the cuts to the tables of the search."""
        parts, made = self.tables, self.state.made
        self._write_parts(np.arange(len(self.row)), self.state.part)
        parts.insert("kanon_finished", "tuples with their parts", self._parts_query)
        inside = np.concatenate([np.zeros(0, dtype=np.int64), *(numbers for _, numbers in made)])
        cuts = np.concatenate([np.zeros(0, dtype=_CUT), *(own for own, _ in made)])
        self._write_cuts(cuts, inside=inside, outside=inside + 1)
        position = sql.named(sql.cast(exp.null(), "BIGINT"), "position")
        names = (PART, "column_number", "from_place", "to_place", position, "inside", "outside")
        query = exp.select(*names).from_(parts["kanon_best"].copy())
        parts.insert("kanon_cuts_made", "cuts that were made", lambda: query)
        parts.rounds, parts.all_finished = self.state.rounds, True

    def _write_parts(self, entries: Numbers, part: Numbers) -> None:
        self.tables.load("kanon_part_of", {_ROW: self.row[entries].tolist(), PART: part.tolist()}, "parts of tuples")

    def _parts_query(self) -> exp.Select:
        """Return the tuples with the parts that were written."""
        tuples, own = (self.tables[name] for name in ("kanon_placed", "kanon_part_of"))
        same = exp.EQ(this=sql.column(_ROW, own.name), expression=sql.column("rowid", tuples.name))
        others = [sql.column(name, tuples.name) for name in self.tables.tuple_names()]
        query = exp.select(sql.column(PART, own.name), *others).from_(tuples.copy())
        return query.join(own.copy(), on=same)

    def _write_cuts(self, cuts: Cuts, **more: Numbers) -> None:
        named = {"column_number": "column", "from_place": "low", "to_place": "high"}
        columns = {PART: cuts["part"], **{name: cuts[own] for name, own in named.items()}, **more}
        listed = {name: column.tolist() for name, column in columns.items()}
        self.tables.load("kanon_best", listed, "cuts that save most")

    # Summaries and costs of columns

    def _columns(self, parts: Parts, tuples: _Tuples) -> list[_ArrayColumn]:
        found = []
        for places, own in zip(parts.places, self.places, strict=True):
            levels = range(1, places.hierarchy.height) if not places.ordered else ()
            labels = [name for level in levels for name in (node_name(level), f"leaves_{level}")]
            query = exp.select("place", "number", *labels).from_(places.relation.copy()).order_by("place")
            rows = parts.engine.rows(query, f"places of {places.hierarchy.column.name} as an array")
            size = max((row[0] for row in rows), default=0) + 1
            nodes = tuple(_by_place(rows, size, 2 + 2 * level) for level in range(len(levels)))
            by_node = not places.ordered and parts.cutting.cut == "node"
            alone = None if by_node or places.ordered else places.null
            ends = tuple((first, first + leaves - 1) for first, leaves in nodes)
            cost = _times(_weight(parts, places), self._cost(parts, places, own, rows, nodes, tuples))
            found.append(_ArrayColumn(places.number + 1, own, alone, ends if by_node else None, cost))
        return found

    def _cost(
        self,
        parts: Parts,
        places: Places,
        own: Numbers,
        rows: Sequence[tuple[float | None, ...]],
        nodes: Sequence[tuple[Numbers, Numbers]],
        tuples: _Tuples,
    ) -> Callable[[_Known], Costs] | None:
        """Return the cost of a label as a function of summaries; add the column to the summaries of tuples."""
        leaves, measure, written = places.labels.leaves, parts.problem.objective.name, parts.cutting.labels
        if leaves <= 1:
            return None
        size = int(own.max(initial=0)) + 1

        def share(number: NDArray[np.int64]) -> Costs:
            if measure == "loss":
                return (number - 1.0) / (leaves - 1)
            return np.where(number > 1, number / leaves, 0.0)

        if not places.ordered and written == "set" and leaves <= WORD_BITS:
            place, mask = tuples.add_bits(own - 1, leaves)
            return lambda known: share(np.bitwise_count(known.bits[place] & mask).astype(np.int64))
        if places.ordered and measure == "gcp":
            return self._width(places, own, rows, tuples)
        shares = [(first, share(under)) for first, under in nodes]

        def of_tree(low: Array, high: Array) -> Costs:
            cost = np.ones(low.shape)
            for first, costs in reversed(shares):
                cost = np.where(first[low] == first[high], costs[low], cost)
            return np.where(low == high, 0.0, cost)

        def of_places(low: Array, high: Array) -> Costs:
            return (high - low) / (leaves - 1) if places.ordered else share(high - low + 1)

        by_tree = not places.ordered and written == "tree"
        return self._of_ends(tuples.add_ends(own, own, size), size, of_tree if by_tree else of_places)

    def _width(
        self, places: Places, own: Numbers, rows: Sequence[tuple[float | None, ...]], tuples: _Tuples
    ) -> Callable[[_Known], Costs] | None:
        """Return the cost of a range of numbers. NULL and infinite values are ignored."""
        lower, upper = places.labels.lower, places.labels.upper
        if lower is None or upper is None or lower == upper:
            return None
        half = upper / 2 - lower / 2
        size = max(int(row[0] or 0) for row in rows) + 1
        number = np.full(size + 1, np.nan)
        for place, value, *_ in rows:
            number[int(place or 0)] = np.nan if value is None else value
        has_none = np.isnan(number)[own]
        ends = tuples.add_ends(np.where(has_none, size, own), np.where(has_none, -1, own), size)

        def width(low: Array, high: Array) -> Costs:
            found = (number[high] / 2 - number[low] / 2) / half
            return np.where((low == size) | (high < 0) | (high == size), 0.0, found)

        return self._of_ends(ends, size + 1, width)

    @staticmethod
    def _of_ends(ends: int, size: int, cost: Callable[[Array, Array], Costs]) -> Callable[[_Known], Costs]:
        """Return the cost of a label by the ends in a summary, which are below ``size``. Small sizes use a table."""
        if size > _TABLE:
            return lambda known: cost(known.ends[ends], -known.ends[ends + 1])
        table = cost(*np.divmod(np.arange(size * size), size))
        return lambda known: table.take(known.ends[ends] * size - known.ends[ends + 1])

    # Cuts

    def _cut(self, progress: SearchProgress | None) -> None:
        while True:
            before = self.state
            entries = np.flatnonzero(before.working)
            part = before.part[entries]
            cuts = self._best(entries, part, before.tried)
            if not len(cuts):
                self.state = replace(before, working=np.zeros(len(self.n), dtype=bool), rounds=before.rounds + 1)
                return
            allowed, failed = self._judged(entries, part, cuts)
            if not allowed.all():
                before = replace(before, tried=self._tried(before, cuts[~allowed], failed))
            made = cuts[allowed]
            inside = before.numbers + 1 + 2 * np.arange(len(made), dtype=np.int64)
            working = np.zeros(len(self.n), dtype=bool)
            working[entries[_of(cuts["part"], part) >= 0]] = True
            self.state = replace(self._applied(before, made, inside), working=working, rounds=before.rounds + 1)
            if progress is not None:
                progress(self.state.rounds, None, None)

    def _judged(self, entries: Numbers, part: Numbers, cuts: Cuts) -> tuple[Truths, Array]:
        """Return which cuts of tuples in parts are allowed, and the parts whose failed cut forbids any other."""
        parts = self.tables
        if parts.problem.only_counts_rows or not len(cuts):
            return np.ones(len(cuts), dtype=bool), np.zeros(0, dtype=np.int64)
        is_cut = _of(cuts["part"], part) >= 0
        self._write_parts(entries[is_cut], part[is_cut])
        parts.make("kanon_tuples", "tuples of parts that could be cut", self._parts_query)
        self._write_cuts(cuts)
        given = {"at_null": exp.false(), "position": sql.cast(exp.null(), "BIGINT"), "allowed": exp.true()}
        values = [sql.named(value, name) for name, value in given.items()]
        round_query = exp.select("*", *values).from_(parts["kanon_best"].copy())
        parts.make("kanon_round", "cuts of the round", lambda: round_query)
        failing = forbid(parts)
        allowed = exp.select(PART).from_(parts["kanon_round"].copy()).where(sql.column("allowed"))
        found = [parts.rows("cuts that are allowed", lambda: allowed)]
        if failing is not None:
            found.append(parts.rows("parts whose cut failed", lambda: exp.select(PART).from_(failing.copy())))
        own, *others = (np.array(rows, dtype=np.int64).reshape(-1) for rows in found)
        return np.isin(cuts["part"], own), np.concatenate([np.zeros(0, dtype=np.int64), *others])

    def _tried(self, before: _State, cuts: Cuts, failed: Array) -> Truths:
        """Return the columns tried after cuts that are not made. Parts that failed have every column tried."""
        which = _of(cuts["part"], before.part)
        entries = np.flatnonzero(which >= 0)
        tried = before.tried.copy()
        tried[cuts["column"][which[entries]] - 1, entries] = True
        tried[:, np.isin(before.part, failed)] = True
        return tried

    def _applied(self, before: _State, cuts: Cuts, inside: Numbers) -> _State:
        """Return the parts after cuts, in the order of their parts. ``inside`` holds the numbers of their insides."""
        which = _of(cuts["part"], before.part)
        entries = np.flatnonzero(which >= 0)
        which = which[entries]
        own, cut = self.places[cuts["column"][which] - 1, entries], cuts[which]
        part, tried, working = before.part.copy(), before.tried, np.zeros(len(self.n), dtype=bool)
        part[entries] = inside[which] + ((own < cut["low"]) | (own > cut["high"]))
        working[entries] = True
        if tried.any():
            tried = tried.copy()
            tried[:, entries] = False
        numbers = int(inside.max(initial=before.numbers - 1)) + 1
        return _State(part, working, tried, (*before.made, (cuts, inside)), numbers, before.rounds)

    def _best(self, entries: Numbers, part: Numbers, tried: Truths | None = None) -> Cuts:
        """Return the cut of each part after which it loses least, in the order of parts. The first of equal cuts wins.

        ``tried``: of each column and tuple, whether its part was tried there without success.
        """
        names, first, index = np.unique(part, return_index=True, return_inverse=True)
        one = entries[first]
        totals = np.bincount(index, weights=self.n[entries], minlength=len(names)).astype(np.int64)
        large = totals[index] >= 2 * self.k
        entries, index = entries[large], index[large].astype(np.int64)
        if not len(entries):
            return np.zeros(0, dtype=_CUT)
        cuts = np.concatenate([self._best_in(column, entries, index, totals) for column in self.columns])
        if tried is not None:
            cuts = cuts[~tried[cuts["column"] - 1, one[cuts["part"]]]]
        cuts = _least(cuts)
        cuts["part"] = names[cuts["part"]]
        return cuts

    def _best_in(self, column: _ArrayColumn, entries: Numbers, index: Numbers, totals: Numbers) -> Cuts:
        """Return the best cut of each part in one column; parts by the ``index`` of their rows in ``totals``."""
        check_deadline("cuts that save most")
        # 1. and 2. Groups, and the summaries before and after each.
        groups = self._groups(column, entries, index, totals)
        # 3. Cuts.
        number, place = column.number, groups.place
        each = _Neighbours(np.arange(len(place)), groups.rows, groups.known)
        if column.nodes is None:
            found = [self._prefixes(number, groups)]
            if column.null is not None:
                found.append(self._alone(number, groups, each, place, place, column.null))
            return _least(np.concatenate(found))
        found = [self._alone(number, groups, each, place, place)]
        for first, last in column.nodes:
            each = self._united(groups, each, first[place])
            found.append(self._alone(number, groups, each, first[place], last[place]))
        return _least(np.concatenate(found))

    def _groups(self, column: _ArrayColumn, entries: Numbers, index: Numbers, totals: Numbers) -> _Groups:
        own = column.places.take(entries)
        order = _order(own)
        order = order.take(_order(index.take(order)))
        own, index, entries = own.take(order), index.take(order), entries.take(order)
        starts = _starts(own, index)
        part = index.take(starts)
        up_to = np.cumsum(self.n.take(entries)).take(np.append(starts[1:], len(entries)) - 1)
        rows = np.diff(up_to, prepend=0)
        known = self.known.take(entries).of_groups(starts)
        first = _starts(part)
        sizes = np.diff(np.append(first, len(part)))
        longest = int(sizes.max())
        before = known.up_to(part, longest)
        after = known.from_end().up_to(-part[::-1], longest).from_end()
        up_to -= np.repeat(up_to[first] - rows[first], sizes)
        return _Groups(part, own.take(starts), rows, up_to, totals.take(part), known, before, after)

    def _prefixes(self, number: int, groups: _Groups) -> Cuts:
        """Return the cuts of each group and all before it against all after it."""
        rest = groups.total - groups.up_to
        allowed = (groups.up_to >= self.k) & (rest >= self.k)
        if not self.tables.cutting.every_cut:  # only the median; the last group has nothing after it
            is_last = rest == np.append(groups.rows[1:], 0)
            allowed &= 2 * (groups.up_to - groups.rows) < groups.total
            allowed &= (2 * groups.up_to >= groups.total) | is_last
        cut = np.flatnonzero(allowed)
        inside, outside = groups.before.take(cut), groups.after.take(cut + 1)
        lost = groups.up_to[cut] * self._cost_of(inside) + rest[cut] * self._cost_of(outside)
        return _cuts(groups.part[cut], number, 0, groups.place[cut], lost)

    def _united(self, groups: _Groups, each: _Neighbours, low: Numbers) -> _Neighbours:
        """Merge neighbouring groups that share one ``low``."""
        begins = _starts(low[each.begins], groups.part[each.begins])
        return _Neighbours(each.begins[begins], np.add.reduceat(each.rows, begins), each.known.of_groups(begins))

    def _alone(
        self,
        number: int,
        groups: _Groups,
        each: _Neighbours,
        low: Numbers,
        high: Numbers,
        only: int | None = None,
    ) -> Cuts:
        """Return the cuts of neighbouring groups, or of the group at one place, against all others of their part."""
        part = groups.part
        others = groups.total[each.begins] - each.rows
        allowed = (each.rows >= self.k) & (others >= self.k)
        cut = np.flatnonzero(allowed if only is None else allowed & (low[each.begins] == only))
        begun, following = each.begins[cut], np.append(each.begins[1:], len(part))[cut]
        has_before = (begun > 0) & (part[begun - 1] == part[begun])
        next_one = np.minimum(following, len(part) - 1)
        has_after = (following < len(part)) & (part[next_one] == part[begun])
        before, after = groups.before.take(np.maximum(begun - 1, 0)), groups.after.take(next_one)
        outside = before.where(has_before).with_(after.where(has_after))
        lost = each.rows[cut] * self._cost_of(each.known.take(cut)) + others[cut] * self._cost_of(outside)
        return _cuts(part[begun], number, low[begun], high[begun], lost)

    def _cost_of(self, known: _Known) -> Costs:
        """Return the cost of a row of each group in all columns."""
        total = np.zeros(known.ends.shape[1:])
        for column in self.columns:
            if column.cost is not None:
                total += column.cost(known)
        return total

    # Pairs of parts

    def _recut(self, number: int) -> bool:
        """Cut the pairs of parts once, as ``recut_pairs``. Return True if another pass may be worth it."""
        before = self.state
        if not len(before.part):
            return False
        # 1. The parts in the order of the tree, and their loss.
        names, index = np.unique(before.part, return_inverse=True)
        entries = np.argsort(index, kind="stable")
        sizes = np.bincount(index)
        starts = np.cumsum(sizes) - sizes
        rows = np.add.reduceat(self.n[entries], starts)
        known = self.known.take(entries).of_groups(starts)
        lost = rows * self._cost_of(known)
        # 2. Pairs that could be merged at little cost.
        blocks = _blocks(names, before.made, number % 2 * BLOCK // 2)
        pairs = np.concatenate([self._nearest(block, names, rows, known, lost) for block in blocks], axis=1)
        pairs = pairs[:, np.lexsort((names[pairs[1]], names[pairs[0]]))]
        # 3. The best cut of each. For pairs that were compared before, it is known.
        known_pairs, known_cuts = self.looked_at
        many = int(max(names[pairs].max(initial=0), known_pairs.max(initial=0))) + 1
        place = _of(known_pairs[0] * many + known_pairs[1], names[pairs[0]] * many + names[pairs[1]])
        new, again = np.flatnonzero(place < 0), np.flatnonzero(place >= 0)
        of_cut = _of(known_cuts["part"], place[again])
        found = [known_cuts[of_cut[of_cut >= 0]]]
        found[0]["part"] = again[of_cut >= 0]
        slab = np.cumsum(sizes[pairs[:, new]].sum(axis=0)) // _SLAB
        for some in np.split(new, np.flatnonzero(np.diff(slab)) + 1):
            tuples, of_pair = _members_of(pairs[:, some], starts, sizes)
            cuts = self._best(entries[tuples], some[of_pair])
            found.append(cuts[self._judged(entries[tuples], some[of_pair], cuts)[0]])
        cuts = np.concatenate(found)
        cuts = cuts[np.argsort(cuts["part"], kind="stable")]
        self.looked_at = names[pairs], cuts
        # 4. Cuts that reduce the loss and are the best for both parts.
        one, other = pairs[:, cuts["part"]]
        gain = lost[one] + lost[other] - cuts["lost"]
        better = _mutual(names[one], names[other], gain, np.flatnonzero(gain > _SMALL))
        if not len(better):
            return False
        # 5. The new sides.
        better = better[np.argsort(names[one[better]], kind="stable")]
        inside = before.numbers + 1 + 2 * np.arange(len(better), dtype=np.int64)
        both, new = np.tile(cuts[better], _BOTH), np.tile(inside, _BOTH)
        both["part"] = np.concatenate([names[one[better]], names[other[better]]])
        by_part = np.argsort(both["part"], kind="stable")
        self.state = self._applied(before, both[by_part], new[by_part])
        return float(gain[better].sum()) > _LEAST_GAIN * float(lost.sum())

    def _nearest(self, block: Numbers, names: Numbers, rows: Numbers, known: _Known, lost: Costs) -> Numbers:
        """Return, for each part of a block, the pairs that add the least loss if merged."""
        check_deadline("pairs that could be merged at little cost")
        own, n, apart = known.take(block), rows.take(block), lost.take(block)
        more = np.full((len(block), len(block)), np.inf)
        some = max(1, _SLAB // max(1, 4 * len(block)))
        for begin in range(0, len(block), some):
            one, other = slice(begin, begin + some), slice(begin, len(block))
            both = n[one, None] + n[other]
            together = both * self._cost_of(own.pairs(one, other))
            more[one, other] = (together - (apart[one, None] + apart[other])) / both
        more[np.tril_indices(len(block))] = np.inf
        near = []
        for weighed in (more, more.T):
            most = np.partition(weighed, min(_NEAREST, len(block)) - 1, axis=1)[:, min(_NEAREST, len(block)) - 1]
            part, with_part = np.nonzero((weighed <= most[:, None]) & np.isfinite(weighed))
            ones, others = (part, with_part) if weighed is more else (with_part, part)
            order = np.lexsort((names[block[others]], names[block[ones]], weighed[part, with_part], part))
            begins = _starts(part[order])
            rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
            chosen = order[rank < _NEAREST]
            near.append(ones[chosen] * len(block) + others[chosen])
        ones, others = np.divmod(np.unique(np.concatenate(near)), max(1, len(block)))
        return np.stack([block[ones], block[others]])


class _Tuples:
    """Summaries of tuples, built column by column."""

    def __init__(self, tuples: int) -> None:
        self._tuples, self._size = tuples, 0
        self._ends: list[Numbers] = []
        self._words: list[Numbers] = []
        self._used: list[int] = []  # bits of each word

    def known(self) -> _Known:
        ends = np.array(self._ends, dtype=np.int32).reshape(len(self._ends), self._tuples)
        bits = np.array(self._words, dtype=np.int64).reshape(len(self._words), self._tuples)
        return _Known(ends, bits, self._size)

    def add_ends(self, low: Numbers, high: Numbers, size: int) -> int:
        """Add the places of a column, which are at most ``size``. Return their index."""
        self._size = max(self._size, size + 1)
        self._ends += [low, -high]
        return len(self._ends) - 2

    def add_bits(self, values: Numbers, leaves: int) -> tuple[int, np.int64]:
        """Add values from 0 as bits. Return the word that has room for them, and their mask."""
        place = next((place for place, bits in enumerate(self._used) if bits + leaves <= WORD_BITS), None)
        if place is None:
            place = len(self._used)
            self._used.append(0)
            self._words.append(np.zeros(self._tuples, dtype=np.int64))
        shift = self._used[place]
        self._words[place] |= np.left_shift(np.int64(1), values + shift)
        self._used[place] += leaves
        return place, np.int64(((1 << leaves) - 1) << shift)


def _weight(parts: Parts, places: Places) -> float:
    """Return the cost of a lost cell of a column, as a share of the cost in the column that weighs most."""
    full = parts.problem.costs.full
    return float(Fraction(full[places.number], max(1, *full)))


def _times(weight: float, cost: Callable[[_Known], Costs] | None) -> Callable[[_Known], Costs] | None:
    if weight == 1 or cost is None:
        return cost
    return (lambda known: weight * cost(known)) if weight else None


def _merged(merge: np.ufunc, values: Array, starts: Numbers) -> Array:
    """Return ``merge.reduceat`` of each row of an array. Short groups take a tenth of its time."""
    many = values.shape[1]
    if many > _SHORT * len(starts) or not len(values):
        reduced: Array = merge.reduceat(values, starts, axis=1)
        return reduced
    sizes = np.diff(np.append(starts, many))
    found = values.take(starts, axis=1)
    for place in range(1, _SHORT):
        longer = np.flatnonzero(sizes > place)
        found[:, longer] = merge(found.take(longer, axis=1), values.take(starts[longer] + place, axis=1))
    long = np.flatnonzero(sizes > _SHORT)
    if len(long):
        both = np.stack([starts[long], starts[long] + sizes[long]], axis=1).reshape(-1)
        found[:, long] = merge.reduceat(values, both[both < many], axis=1)[:, ::2]  # skip the entries between groups
    return found


def _by_place(rows: Sequence[tuple[float | None, ...]], size: int, column: int) -> tuple[Numbers, Numbers]:
    """Return two columns of rows, by the place in their first column."""
    found = np.zeros((2, size), dtype=np.int64)
    for row in rows:
        found[:, int(row[0] or 0)] = int(row[column] or 0), int(row[column + 1] or 0)
    return found[0], found[1]


def _order(numbers: Numbers) -> Numbers:
    """Return a stable argsort of small numbers. Narrow types are sorted faster."""
    short = np.uint16 if int(numbers.max(initial=0)) <= np.iinfo(np.uint16).max else np.int64
    return np.argsort(numbers.astype(short), kind="stable")


def _starts(*keys: Numbers) -> Numbers:
    """Return the start of each run of equal keys."""
    differ = np.ones(len(keys[0]), dtype=bool)
    differ[1:] = False
    for key in keys:
        differ[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(differ)


def _of(names: Numbers, wanted: Numbers) -> Numbers:
    """Return the index of each wanted number among sorted numbers, or -1."""
    if not len(names):
        return np.full(len(wanted), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    return np.where(names[place] == wanted, place, -1)


def _cuts(part: Numbers, column: int, low: Numbers | int, high: Numbers, lost: Costs) -> Cuts:
    found = np.zeros(len(part), dtype=_CUT)
    found["part"], found["column"], found["low"], found["high"], found["lost"] = part, column, low, high, lost
    return found


def _least(cuts: Cuts) -> Cuts:
    """Return the cut of each part that loses least, in the order of parts. The first of equal cuts wins."""
    return cuts[_first_of_each(cuts["part"], [cuts[name] for name in ("lost", "column", "low", "high")])]


def _first_of_each(part: Numbers, keys: Sequence[Array]) -> Numbers:
    """Return the index of the first entry of each part by keys (the first most significant), in order of parts."""
    order = np.lexsort((*reversed(keys), part))
    return order[_starts(part[order])]


def _blocks(names: Numbers, made: Sequence[tuple[Cuts, Numbers]], shift: int) -> list[Numbers]:
    """Return the parts in blocks of neighbours in the tree of cuts: in the order of their paths from the whole table.

    A path has a letter for each cut. A part cut from two others has the path of the first.
    """
    paths: dict[int, str] = {1: ""}
    for cuts, inside in made:
        for own, side in zip(cuts["part"].tolist(), inside.tolist(), strict=True):
            for place, letter in enumerate("ab"):
                paths.setdefault(side + place, paths[own] + letter)
    parts = names.tolist()
    order = np.array(sorted(range(len(parts)), key=lambda place: (paths[parts[place]], parts[place])), dtype=np.int64)
    block = (np.arange(1, len(order) + 1) + shift) // BLOCK
    return [order[block == number] for number in np.unique(block)]


def _members_of(pairs: Numbers, starts: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the indexes of the tuples of both parts of each pair, and the number of the pair, from 0."""
    both = pairs.T.reshape(-1)
    counts = sizes[both]
    before = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) - np.repeat(before - starts[both], counts)
    return places, np.repeat(np.repeat(np.arange(pairs.shape[1]), 2), counts)


def _mutual(one: Numbers, other: Numbers, gain: Costs, gained: Numbers) -> Numbers:
    """Return the pairs with a gain that are the best pair of both of their parts."""
    members = np.concatenate([one[gained], other[gained]])
    twice = np.tile(gained, 2)
    first = _first_of_each(members, [-gain[twice], one[twice], other[twice]])
    pairs, counts = np.unique(twice[first], return_counts=True)
    best: Numbers = pairs[counts == _BOTH]
    return best
